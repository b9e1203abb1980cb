"""Pairs of neighbouring data on which promises are tried: the nastiest that are known.

Each kind of data registers how its pairs are made, in a module `…_pairs.py` of this folder. A pair
differs in one unit under its own relation; that it does is tested, because an audit of a pair that
is too far apart proves nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Pair:
    """Two neighbouring data sets.

    Parameters
    ----------
    name
        What they are, in words.
    here, there
        The private data; synthetic, so that nothing of them needs hiding.
    """

    name: str
    here: Any
    there: Any

    def turned(self) -> Pair:
        """Return the pair the other way round."""
        return Pair(f"{self.name}, turned", self.there, self.here)


@dataclass(frozen=True)
class PairMaker:
    """How the neighbours of a kind of data are made.

    Parameters
    ----------
    canonical
        Returns the nastiest pairs that are known, from a public part.
    random
        Returns some pair, from a public part and a NumPy generator.
    """

    canonical: Callable[[Any], Sequence[Pair]]
    random: Callable[[Any, Any], Pair]


_makers: dict[str, PairMaker] = {}


def register(kind: str, maker: PairMaker) -> None:
    """Register how the neighbours of a kind of data are made."""
    _makers[kind] = maker


def _maker(public: Any) -> PairMaker:
    # The makers live in modules of this folder and are imported when an audit needs them.
    for module in sorted(Path(__file__).parent.glob("*_pairs.py")):
        import_module(f"sfumato.audit.{module.stem}")
    if public.kind not in _makers:
        raise ValueError(f"no canonical neighbours are known for data of the kind {public.kind!r}")
    return _makers[public.kind]


def canonical_pairs(public: Any) -> list[Pair]:
    """Return the canonical pairs of data with this public part."""
    return list(_maker(public).canonical(public))


def random_pair(public: Any, generator: Any) -> Pair:
    """Return a random pair of data with this public part.

    Parameters
    ----------
    public
        The public part.
    generator
        A NumPy generator.
    """
    return _maker(public).random(public, generator)
