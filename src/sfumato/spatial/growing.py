"""A tree of cells over private points while it grows: what PrivTree asks about.

It holds the engine and the public frontier; the scores it returns are private counts. What it
keeps of a run is only what was said.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.engines.counts import Integers64, PointCounts
from sfumato.spatial.tree_shape import children

__all__ = ["GrowingCells"]


class GrowingCells:
    """The frontier of a tree whose nodes are cells, scored by how many points they hold.

    Parameters
    ----------
    counts
        The engine. Private.
    halvings
        How many halvings lead from a node to its children.
    """

    def __init__(self, counts: PointCounts, halvings: int) -> None:
        self.splits: list[NDArray[np.bool_]] = []
        self._counts = counts
        self._halvings = halvings
        self._prefixes = np.zeros(1, dtype=np.uint64)
        self._parents = np.zeros(1, dtype=np.intp)

    @property
    def parents(self) -> NDArray[np.intp]:
        """For each cell of the frontier, its parent's place in the frontier before. Public."""
        return self._parents

    def scores(self) -> Integers64:
        """Return the number of points in each cell of the frontier. Private."""
        return self._counts.cells(self._prefixes, len(self.splits) * self._halvings)

    def descend(self, split: NDArray[np.bool_]) -> None:
        """Go on to the children of the cells that are split."""
        self.splits.append(split)
        self._parents = np.repeat(np.flatnonzero(split), 1 << self._halvings)
        self._prefixes = children(self._prefixes, split, self._halvings)
