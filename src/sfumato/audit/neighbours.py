"""Pairs of neighbouring data on which promises are tried: the nastiest that are known.

Each kind of data registers how its pairs are made. A pair differs in one unit under its own
relation; that it does is tested, because an audit of a pair that is too far apart proves nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Pair:
    """Two neighbouring data sets.

    Parameters
    ----------
    name
        What they are, in words.
    here, there
        The private data; made up, so that nothing of them needs hiding.
    """

    name: str
    here: Any
    there: Any

    def turned(self) -> Pair:
        """Return the pair the other way round."""
        return Pair(f"{self.name}, turned", self.there, self.here)


Maker = Callable[[Any, Any], Sequence[Pair]]
_makers: dict[str, Maker] = {}


def register(kind: str) -> Callable[[Maker], Maker]:
    """Register how the canonical pairs of a kind of data are made from a method and public part."""

    def kept(maker: Maker) -> Maker:
        _makers[kind] = maker
        return maker

    return kept


def canonical_pairs(method: Any, public: Any) -> list[Pair]:
    """Return the canonical pairs for a method and data with this public part."""
    # The makers live in one module each and are imported when an audit needs them.
    from sfumato.audit import report_pairs, table_pairs  # noqa: F401

    if public.kind not in _makers:
        raise ValueError(f"no canonical neighbours are known for data of the kind {public.kind!r}")
    return list(_makers[public.kind](method, public))
