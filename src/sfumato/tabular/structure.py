"""Which columns a Bayesian network joins, and what may be chosen.

What may be chosen depends on public sizes and on what was chosen before, on nothing else.

References
----------
Zhang, Cormode, Procopiuc, Srivastava, Xiao. PrivBayes: private data release via Bayesian networks.
ACM Transactions on Database Systems 42(4), 2017.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations
from math import comb, prod
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato import noise
from sfumato.tabular.encoding import Encoding
from sfumato.tabular.parents import ParentSet, TooManyParentSets, maximal_parent_sets

__all__ = ["CellGrowth", "DegreeGrowth", "NetworkGrowth", "Node", "WorkingColumns"]

Codes = NDArray[np.intp]

#: The most cells of one table.
MOST_CELLS = 2**22
#: The most cells of all tables of a network together.
MOST_TABLES_CELLS = 2**25
#: About the most candidates of a network, all choices together.
MOST_CANDIDATES = 2**19
#: The most cells that all candidates of a network by degree have together.
MOST_DEGREE_CELLS = 2**27
#: About the most cells of all tables that are scored for a network by cells.
MOST_SCORED = 2**31
#: About the most rows times tables that are counted for a network by cells.
MOST_COUNTED = 2**33


class Node(NamedTuple):
    """A column of the network with its parents.

    Parameters
    ----------
    child
        The working column.
    parents
        Working columns with the level each is taken at, increasing.
    """

    child: int
    parents: ParentSet


@dataclass(frozen=True)
class WorkingColumns:
    """The columns a network is made of: those of the table with a choice of values, or their bits.

    Parameters
    ----------
    encoding
        How the table is seen.
    members
        For each working column the derived columns of the encoding that are its levels, finest
        first.
    """

    encoding: Encoding
    members: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, encoding: Encoding) -> WorkingColumns:
        """Return the working columns of an encoding."""
        if encoding.bits:
            return cls(encoding, tuple((number,) for number in range(len(encoding.columns))))
        groups = zip(encoding.groups, encoding.sources, strict=True)
        return cls(encoding, tuple(group for group, size in groups if size > 1))

    @cached_property
    def sizes(self) -> tuple[tuple[int, ...], ...]:
        """For each working column its number of values at each level."""
        columns = self.encoding.columns
        return tuple(tuple(columns[member].size for member in group) for group in self.members)

    @property
    def binary(self) -> bool:
        """Whether every working column has two values."""
        return all(sizes[0] == 2 for sizes in self.sizes)

    def source(self, column: int) -> int:
        """Return the column of the table that a working column comes from."""
        return self.encoding.columns[self.members[column][0]].source

    def derive_columns(self, places: ParentSet) -> tuple[int, ...]:
        """Return the derived columns that are some working columns at some levels."""
        return tuple(self.members[column][level] for column, level in places)

    def shape(self, places: ParentSet) -> tuple[int, ...]:
        """Return the sizes of some working columns at some levels."""
        return tuple(self.sizes[column][level] for column, level in places)

    def level(self, column: int, level: int) -> Codes:
        """Return the group at some level of every value of a working column."""
        if not level:
            return np.arange(self.sizes[column][0])
        return self.encoding.columns[self.members[column][level]].recoding

    def coarser(self, column: int, fine: int, coarse: int) -> Codes:
        """Return the group at a coarser level of every group at a finer one."""
        groups = np.zeros(self.sizes[column][fine], dtype=np.intp)
        groups[self.level(column, fine)] = self.level(column, coarse)
        return groups

    def smaller(self, node: Node) -> int:
        """Return the number of values of a node's child or parents, whichever is less."""
        return min(self.sizes[node.child][0], prod(self.shape(node.parents)))

    def cells(self, node: Node) -> int:
        """Return the number of cells of a node's table."""
        return self.sizes[node.child][0] * prod(self.shape(node.parents))


class NetworkGrowth(Protocol):
    """How a network may grow."""

    def candidates(self, nodes: Sequence[Node]) -> Sequence[Node]:
        """Return what may be added to a network with at least one node."""


@dataclass(frozen=True)
class DegreeGrowth:
    """Every binary column gets as many parents as there are, up to a degree.

    Parameters
    ----------
    columns
        How many working columns there are.
    degree
        The most parents of a column, at least 1.
    """

    columns: int
    degree: int

    @classmethod
    def cap_growth(cls, columns: int, degree: int) -> DegreeGrowth:
        """Return growth by the largest degree that stays within what can be counted.

        A network of degree k over d columns has about C(d+1, k+2) candidates.
        """
        degree = min(degree, columns - 1)
        most = min(MOST_CELLS, MOST_TABLES_CELLS // columns)
        while degree > 1 and not _within(columns, degree, most):
            degree -= 1
        return cls(columns, degree)

    def candidates(self, nodes: Sequence[Node]) -> Sequence[Node]:
        """Return every column that is left with every set of parents."""
        used = sorted(node.child for node in nodes)
        size = min(self.degree, len(used))
        sets = [tuple((c, 0) for c in chosen) for chosen in combinations(used, size)]
        left = [column for column in range(self.columns) if column not in set(used)]
        return _Pairs(left, sets)


def _within(columns: int, degree: int, most_cells: int) -> bool:
    """Tell whether a network of some degree can be scored: few tables, and not too large ones."""
    candidates, cells = comb(columns + 1, degree + 2), 2 ** (degree + 1)
    # Up to the middle degree there are more candidates with every step; beyond it there are fewer
    # again, of tables that are far larger.
    return (
        cells <= most_cells
        and candidates <= MOST_CANDIDATES
        and candidates * cells <= MOST_DEGREE_CELLS
    )


class _Pairs(Sequence[Node]):
    """Every child with every set of parents, made when they are looked at.

    Parameters
    ----------
    children, sets
        The children and the sets of parents.
    """

    def __init__(self, children: Sequence[int], sets: Sequence[ParentSet]) -> None:
        self._children = children
        self._sets = sets

    def __len__(self) -> int:
        return len(self._children) * len(self._sets)

    def __iter__(self) -> Iterator[Node]:
        return (Node(child, parents) for child in self._children for parents in self._sets)

    def __getitem__(self, place: Any) -> Any:
        child, parents = divmod(range(len(self))[place], len(self._sets))
        return Node(self._children[child], self._sets[parents])


@dataclass(frozen=True)
class CellGrowth:
    """Every column gets a largest set of parents whose table stays within a number of cells.

    Parameters
    ----------
    sizes
        For each working column its number of values at each level.
    limit
        The most cells of a table.
    rows
        About how many rows there are, public or noisy: of many, fewer candidates can be counted.
    """

    sizes: tuple[tuple[int, ...], ...]
    limit: int
    rows: int = 0

    @classmethod
    def cap_growth(
        cls, sizes: tuple[tuple[int, ...], ...], limit: int, rows: int = 0
    ) -> CellGrowth:
        """Return growth by a limit that stays within what can be counted."""
        return cls(sizes, min(limit, MOST_CELLS, MOST_TABLES_CELLS // len(sizes)), rows)

    @property
    def possible(self) -> bool:
        """Whether any column can have a parent at all."""
        return any(
            child[0] * parent[-1] <= self.limit
            for one, child in enumerate(self.sizes)
            for other, parent in enumerate(self.sizes)
            if one != other
        )

    def candidates(self, nodes: Sequence[Node]) -> list[Node]:
        """Return every column that is left with every largest set of parents that fits.

        Where these are too many to score, a fixed lot decides which are offered.
        """
        used = sorted(node.child for node in nodes)
        levels = tuple(self.sizes[column] for column in used)
        left = [child for child in range(len(self.sizes)) if child not in set(used)]
        candidates = []
        for child in left:
            limit = self.limit // self.sizes[child][0]
            # Where not even the child alone fits, it stands alone nevertheless.
            sets = _offer_sets(levels, limit, self._most(len(used), len(left))) or ((),)
            candidates += [
                Node(child, tuple((used[place], level) for place, level in chosen))
                for chosen in sets
            ]
        return candidates

    def _most(self, used: int, left: int) -> int:
        """Return how many sets of parents a child is offered at most."""
        choices = len(self.sizes) * left
        counted = min(MOST_CANDIDATES // 2, MOST_COUNTED // max(self.rows, 1))
        cells = MOST_SCORED // max(self.limit, 1)
        # Every column should have its turn as a parent, unless the tables are very large.
        return max(1, min(cells // choices, max(counted // choices, used)))


@lru_cache(maxsize=256)
def _offer_sets(
    levels: tuple[tuple[int, ...], ...], limit: int, most: int
) -> tuple[ParentSet, ...]:
    """Return all maximal sets of parents, or some of them where there are too many to score."""
    try:
        return tuple(maximal_parent_sets(levels, limit, most=most))
    except TooManyParentSets:
        return _some_of(levels, limit, most)


def _some_of(levels: tuple[tuple[int, ...], ...], limit: int, tries: int) -> tuple[ParentSet, ...]:
    """Return maximal sets of parents by a fixed lot: every column has its turn to be in one first.

    A set is filled in random order, each column as fine as fits or as coarse as can be, and then
    made as fine as the limit allows.
    """
    generator = noise.generator(len(levels))
    smallest = min(sizes[-1] for sizes in levels)
    found: dict[ParentSet, None] = {}
    for number in range(tries):
        first = number % len(levels)
        coins = generator.random(len(levels))
        order = [first, *(int(c) for c in generator.permutation(len(levels)) if c != first)]
        chosen: dict[int, int] = {}
        left = limit
        for column in order:
            sizes = levels[column]
            if sizes[-1] <= left:
                finest = next(level for level, size in enumerate(sizes) if size <= left)
                fine = coins[column] < 0.5 or column == first
                chosen[column] = finest if fine else len(sizes) - 1
                left //= sizes[chosen[column]]
            if left < smallest:
                break
        found[_refine_set(levels, chosen, limit)] = None
    return tuple(found)


def _refine_set(
    levels: tuple[tuple[int, ...], ...], chosen: dict[int, int], limit: int
) -> ParentSet:
    """Return a set with every column taken as fine as the limit allows, one after another."""
    cells = prod(levels[column][level] for column, level in chosen.items())
    places = []
    for column, level in sorted(chosen.items()):
        sizes = levels[column]
        others = cells // sizes[level]
        while level and others * sizes[level - 1] <= limit:
            level -= 1
        cells = others * sizes[level]
        places.append((column, level))
    return tuple(places)
