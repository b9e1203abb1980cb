"""Junction trees: from the sets of columns that tables join to a tree of cliques.

Public arithmetic on declared sizes and on sets that are already public. Sets are bit masks inside,
because thousands of trees are tried while a model grows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

__all__ = ["JunctionTree", "cliques_of", "columns_in", "junction_tree", "mask_of"]

Set = tuple[int, ...]


def mask_of(columns: Iterable[int]) -> int:
    """Return a set of columns as a bit mask."""
    mask = 0
    for column in columns:
        mask |= 1 << column
    return mask


def columns_in(mask: int) -> Set:
    """Return the columns of a bit mask, increasing."""
    columns = []
    while mask:
        low = mask & -mask
        columns.append(low.bit_length() - 1)
        mask ^= low
    return tuple(columns)


def cliques_of(sizes: Sequence[int], masks: Iterable[int]) -> list[int]:
    """Return the maximal cliques of a chordal graph in which every given set is a clique.

    Columns are eliminated greedily, the one first whose clique has the fewest cells; that is
    rarely far from the best order (Koller and Friedman, 2009, section 9.4.3).

    Parameters
    ----------
    sizes
        The domain size of each column.
    masks
        The sets that must lie within one clique, as bit masks.
    """
    near = [1 << column for column in range(len(sizes))]
    for mask in masks:
        for column in columns_in(mask):
            near[column] |= mask
    left = set(range(len(sizes)))
    costs = {column: _product(near[column], sizes) for column in left}
    cliques: list[int] = []
    while left:
        column = min(left, key=lambda candidate: (costs[candidate], candidate))
        clique = near[column]
        if not any(clique & ~other == 0 for other in cliques):
            cliques.append(clique)
        left.remove(column)
        others = clique & ~(1 << column)
        for other in columns_in(others):
            near[other] = (near[other] | others) & ~(1 << column)
            costs[other] = _product(near[other], sizes)
    return cliques


def _product(mask: int, sizes: Sequence[int]) -> int:
    return prod(sizes[column] for column in columns_in(mask))


@dataclass(frozen=True)
class JunctionTree:
    """A tree of cliques: any column's cliques hang together.

    Parameters
    ----------
    sizes
        The domain size of each column.
    cliques
        The columns of each clique, increasing; the root comes first.
    parents
        For each clique but the first the number of an earlier one it hangs on.
    """

    sizes: tuple[int, ...]
    cliques: tuple[Set, ...]
    parents: tuple[int, ...]

    def separator(self, clique: int) -> Set:
        """Return the columns a clique shares with its parent."""
        if clique == 0:
            return ()
        above = set(self.cliques[self.parents[clique]])
        return tuple(column for column in self.cliques[clique] if column in above)

    def shape(self, columns: Set) -> tuple[int, ...]:
        """Return the sizes of some columns."""
        return tuple(self.sizes[column] for column in columns)

    @cached_property
    def cells(self) -> int:
        """The number of cells of all cliques."""
        return sum(prod(self.shape(clique)) for clique in self.cliques)

    def holder(self, columns: Iterable[int]) -> int | None:
        """Return the smallest clique that holds some columns, or `None`."""
        wanted = set(columns)
        holders = [i for i, clique in enumerate(self.cliques) if wanted <= set(clique)]
        return min(holders, key=lambda i: (prod(self.shape(self.cliques[i])), i), default=None)


def junction_tree(sizes: Sequence[int], sets: Iterable[Iterable[int]]) -> JunctionTree:
    """Return a junction tree in which every given set lies within one clique.

    Cliques that share nothing are joined by an empty separator, so there is always one tree.
    """
    masks = sorted(cliques_of(sizes, (mask_of(columns) for columns in sets)), key=columns_in)
    order, parents = [masks[0]], [-1]
    # For each clique that is left: the most columns it shares with one in the tree, and the first
    # such clique.
    left = {mask: ((mask & masks[0]).bit_count(), 0) for mask in masks[1:]}
    # Prim: the heaviest separators first (Jensen and Jensen, 1994).
    while left:
        # Of those that share most, the first one: `left` keeps the order of the cliques.
        best = max(left, key=lambda mask: left[mask][0])
        parents.append(left.pop(best)[1])
        order.append(best)
        for mask, (shared, _) in left.items():
            if (mask & best).bit_count() > shared:
                left[mask] = (mask & best).bit_count(), len(order) - 1
    return JunctionTree(
        sizes=tuple(sizes),
        cliques=tuple(columns_in(mask) for mask in order),
        parents=tuple(parents),
    )
