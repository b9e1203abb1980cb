"""What programs may ask of a client: the vocabulary of its queries.

Each is a frozen public value, answered where the client's own value is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.graph import Graph
from sfumato.mechanisms.pair_response import pair_positions
from sfumato.privacy.program import Query

__all__ = ["JoinedPairs", "Own", "OwnCombination", "OwnPart"]


@dataclass(frozen=True)
class Own(Query):
    """All that a client holds, or what each of many clients holds, in the order of the clients."""

    def answer(self, data: Any) -> Any:
        """Return the number of an answer, the numbers of several, or bits."""
        return data.input


@dataclass(frozen=True)
class OwnPart(Query):
    """The answer to one of several questions.

    Parameters
    ----------
    place
        The number of the question.
    """

    place: int

    def answer(self, data: Any) -> Any:
        """Return the number of the answer, or those of many clients."""
        held = data.input
        if isinstance(held, np.ndarray):
            return np.ascontiguousarray(held[:, self.place])
        return held[self.place]


@dataclass(frozen=True)
class OwnCombination(Query):
    """All answers together, as one out of all combinations.

    Parameters
    ----------
    sizes
        How many answers each question has.
    """

    sizes: tuple[int, ...]

    def answer(self, data: Any) -> Any:
        """Return the number of the combination, or those of many clients."""
        held = data.input
        codes = np.ravel_multi_index(tuple(np.asarray(held).T), self.sizes)
        return np.ascontiguousarray(codes, np.int64) if isinstance(held, np.ndarray) else int(codes)


@dataclass(frozen=True)
class JoinedPairs(Query):
    """Which pairs of nodes are joined, of a graph whose people would each tell their own."""

    def answer(self, data: Graph) -> NDArray[np.int64]:
        """Return the positions of the edges in the line of all pairs, rising."""
        return pair_positions(data.counts.pairs(), data.public.nodes)
