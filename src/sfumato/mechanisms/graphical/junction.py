"""Junction trees: from the sets of columns that tables join to a tree of cliques.

Public arithmetic on declared sizes and on sets that are already public. Sets are bit masks inside,
because thousands of trees are tried while a model grows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heapify, heappop, heappush
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
    costs = [_product(mask, sizes) for mask in near]
    waiting = [(cost, column) for column, cost in enumerate(costs)]
    heapify(waiting)
    cliques: list[int] = []
    # The cliques that hold each column: no others can hold a clique of it.
    holding: list[list[int]] = [[] for _ in sizes]
    left = [True] * len(sizes)
    while waiting:
        cost, column = heappop(waiting)
        if not left[column] or cost != costs[column]:
            continue
        left[column] = False
        clique = near[column]
        members = columns_in(clique)
        if not any(clique & ~other == 0 for other in holding[column]):
            cliques.append(clique)
            for member in members:
                holding[member].append(clique)
        others = clique & ~(1 << column)
        for other in members:
            if other != column:
                near[other] = (near[other] | others) & ~(1 << column)
                costs[other] = _product(near[other], sizes)
                heappush(waiting, (costs[other], other))
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
    holding: dict[int, list[int]] = {}
    for number, mask in enumerate(masks):
        for column in columns_in(mask):
            holding.setdefault(column, []).append(number)
    order: list[int] = []
    parents: list[int] = []
    # For each clique the most columns it shares with one in the tree, and the first such clique.
    shared, above = [0] * len(masks), [0] * len(masks)
    above[0] = -1
    left = [True] * len(masks)
    waiting = [(0, number) for number in range(len(masks))]
    # Prim: the heaviest separators first (Jensen and Jensen, 1994); of those that share most, the
    # first one.
    while waiting:
        most, best = heappop(waiting)
        if not left[best] or -most != shared[best]:
            continue
        left[best] = False
        order.append(masks[best])
        parents.append(above[best])
        for number in {n for column in columns_in(masks[best]) for n in holding[column] if left[n]}:
            common = (masks[number] & masks[best]).bit_count()
            if common > shared[number]:
                shared[number], above[number] = common, len(order) - 1
                heappush(waiting, (-common, number))
    return JunctionTree(
        sizes=tuple(sizes),
        cliques=tuple(columns_in(mask) for mask in order),
        parents=tuple(parents),
    )
