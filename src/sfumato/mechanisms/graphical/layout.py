"""How a junction tree lies in flat arrays: where each clique starts, and the maps between cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.graphical.junction import JunctionTree, Set

__all__ = ["Layout", "cell_map", "layout_of"]

Recodings = Sequence[NDArray[Any] | None]


def cell_map(
    sizes: Sequence[int], clique: Set, columns: Set, shape: Sequence[int], recodings: Recodings = ()
) -> NDArray[np.int32]:
    """Return for each cell of a clique the cell of a smaller table that it belongs to.

    Parameters
    ----------
    sizes
        The domain size of each column.
    clique
        The columns of the clique.
    columns
        The columns of the table, all of them in the clique.
    shape
        The shape of the table.
    recodings
        For each axis of the table what each code of its column becomes; `None` or nothing: itself.
    """
    total = np.zeros([sizes[column] for column in clique], dtype=np.int32)
    stride = prod(shape)
    for axis, column in enumerate(columns):
        stride //= shape[axis]
        recoding = recodings[axis] if recodings else None
        codes = np.arange(sizes[column]) if recoding is None else np.asarray(recoding)
        place = clique.index(column)
        view = [1] * len(clique)
        view[place] = sizes[column]
        total += (codes * stride).astype(np.int32).reshape(view)
    return np.ascontiguousarray(total.reshape(-1))


@dataclass(frozen=True)
class Layout:
    """The arrays that the kernels walk through.

    Parameters
    ----------
    starts
        Where each clique starts, and the end.
    parents
        The parent of each clique.
    separator_starts
        Where the separator above each clique starts, and the end.
    child_map, parent_map
        For each cell of a clique its cell of the separator above it, and for each cell of its
        parent the same.
    parent_map_starts
        Where the parent's map for each clique starts.
    """

    starts: NDArray[np.int64]
    parents: NDArray[np.int64]
    separator_starts: NDArray[np.int64]
    child_map: NDArray[np.int32]
    parent_map: NDArray[np.int32]
    parent_map_starts: NDArray[np.int64]

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """All of them, in the order in which kernels take them."""
        return (
            self.starts,
            self.parents,
            self.separator_starts,
            self.child_map,
            self.parent_map,
            self.parent_map_starts,
        )


def running(lengths: Sequence[int]) -> NDArray[np.int64]:
    """Return where each of several stretches starts, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def layout_of(tree: JunctionTree) -> Layout:
    """Return the arrays of a junction tree."""
    sizes = tree.sizes
    child_maps, parent_maps = [], [np.zeros(0, dtype=np.int32)]
    for number, clique in enumerate(tree.cliques):
        separator = tree.separator(number)
        shape = tree.shape(separator)
        child_maps.append(cell_map(sizes, clique, separator, shape))
        if number:
            above = tree.cliques[tree.parents[number]]
            parent_maps.append(cell_map(sizes, above, separator, shape))
    separators = [prod(tree.shape(tree.separator(i))) for i in range(len(tree.cliques))]
    return Layout(
        starts=running([prod(tree.shape(clique)) for clique in tree.cliques]),
        parents=np.asarray(tree.parents, dtype=np.int64),
        separator_starts=running(separators),
        child_map=np.concatenate(child_maps),
        parent_map=np.concatenate(parent_maps),
        parent_map_starts=running([part.size for part in parent_maps])[:-1],
    )
