"""Which sets of parents a column may have: the largest whose table stays within a limit.

A parent may be taken at a coarser level of its taxonomy, where it has fewer values. A set is
maximal if no column can be added to it and none of its columns taken at a finer level without
exceeding the limit. Sizes and limit are public, so the sets are; nothing here may see data.

References
----------
J. Zhang. Algorithms for Synthetic Data Release under Differential Privacy. PhD thesis, Nanyang
Technological University, 2016, section 3.4.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np

__all__ = [
    "ParentSet",
    "TooManyParentSets",
    "count_parent_sets",
    "maximal_parent_sets",
    "sample_parent_sets",
]

ParentSet = tuple[tuple[int, int], ...]
"""Columns with the level each is taken at, in the order of the columns."""


class TooManyParentSets(ValueError):
    """There are more maximal sets than were asked for at most."""


def maximal_parent_sets(
    sizes_by_level: Sequence[Sequence[int]], limit: int, *, most: int | None = None
) -> list[ParentSet]:
    """Return all maximal sets of columns whose sizes multiply to at most a limit.

    Parameters
    ----------
    sizes_by_level
        For each column its number of values at each level, level 0 (the finest) first. A column
        that may not be generalised has level 0 alone.
    limit
        The most combinations of values of a set. Below 1 there is no set at all; from 1 on there
        is at least one, if only the empty one.
    most
        The most sets to return.

    Raises
    ------
    TooManyParentSets
        If there are more than `most`; `count_parent_sets` says how many, and
        `sample_parent_sets` takes some of them.

    Notes
    -----
    Floor division loses nothing here: ⌊⌊t/a⌋/b⌋ = ⌊t/(ab)⌋ for whole numbers.
    """
    sizes = _check_sizes(sizes_by_level)
    # The limits that are met once the last columns are decided, from the last column to the first.
    limits: list[set[int]] = [{int(limit)}]
    for levels in reversed(sizes):
        limits.append({left // size for left in limits[-1] for size in (1, *levels)})
    found: dict[int, list[ParentSet]] = {left: [()] if left >= 1 else [] for left in limits.pop()}
    for column, levels in enumerate(sizes):
        found = {left: _extend_sets(found, column, levels, left) for left in limits.pop()}
        if most is not None:
            _refuse_more(found, most)
    return found[int(limit)]


def _extend_sets(
    found: dict[int, list[ParentSet]], column: int, levels: tuple[int, ...], limit: int
) -> list[ParentSet]:
    """Return the maximal sets of the columns so far, given those without the last one."""
    sets: list[ParentSet] = []
    used: set[ParentSet] = set()
    for level, size in enumerate(levels):
        for others in found[limit // size]:
            # A finer level of this column goes with the same others already.
            if others not in used:
                used.add(others)
                sets.append((*others, (column, level)))
    sets.extend(others for others in found[limit] if others not in used)
    return sets


def _refuse_more(found: dict[int, list[ParentSet]], most: int) -> None:
    """Refuse to go on, since no set without a column is lost when it is added."""
    if max(map(len, found.values())) > most:
        raise TooManyParentSets(
            f"there are more than {most} maximal parent sets; lower the limit, allow fewer levels "
            "or offer fewer columns"
        )


def count_parent_sets(sizes_by_level: Sequence[Sequence[int]], limit: int) -> int:
    """Return how many maximal sets there are, without listing them.

    Parameters
    ----------
    sizes_by_level, limit
        As for `maximal_parent_sets`.
    """
    return _Completions(_check_sizes(sizes_by_level), int(limit)).total


def sample_parent_sets(
    sizes_by_level: Sequence[Sequence[int]], limit: int, most: int, generator: np.random.Generator
) -> list[ParentSet]:
    """Return all maximal sets, or so many of them as are wanted at most, spread over all.

    Parameters
    ----------
    sizes_by_level, limit
        As for `maximal_parent_sets`.
    most
        The most sets to return. If there are more, they are cut in their order into `most` equal
        stretches, and one set is drawn from each.
    generator
        Draws them; it must not have seen the data.
    """
    completions = _Completions(_check_sizes(sizes_by_level), int(limit))
    total = completions.total
    if total <= most:
        return maximal_parent_sets(sizes_by_level, limit)
    starts = [total * stretch // most for stretch in range(most + 1)]
    shares = generator.random(most)
    return [
        completions.at(first + int(share * (after - first)))
        for (first, after), share in zip(pairwise(starts), shares.tolist(), strict=True)
    ]


State = tuple[int, Fraction | None]
"""The combinations of values of a set so far, and the least factor that enlarges it."""


class _Completions:
    """In how many ways a choice for the first columns can be completed to a maximal set.

    A set with p combinations is maximal if and only if p·r exceeds the limit for the least factor
    r by which one column, taken one level finer or added at its coarsest, enlarges it. So choices
    need only be told apart by p and r.
    """

    def __init__(self, sizes: list[tuple[int, ...]], limit: int) -> None:
        self._limit = limit
        self._choices = [_choices(levels) for levels in sizes]
        reached: list[set[State]] = [{(1, None)}]
        for column in range(len(sizes)):
            after = {new for state in reached[-1] for _, new in self._next(column, state)}
            reached.append(after)
        last = {s: int(s[1] is None or s[0] * s[1] > limit) for s in reached.pop()}
        self._ways = [last]
        for column in reversed(range(len(sizes))):
            ahead = self._ways[0]
            ways = {s: sum(ahead[n] for _, n in self._next(column, s)) for s in reached.pop()}
            self._ways.insert(0, ways)

    def _next(self, column: int, state: State) -> Iterator[tuple[int, State]]:
        """Yield each level that still fits, and the state it leads to; the last is left out."""
        cells, least = state
        for level, (size, factor) in enumerate(self._choices[column]):
            if cells * size <= self._limit:
                yield level, (cells * size, _smaller(least, factor))

    @property
    def total(self) -> int:
        """The number of maximal sets."""
        return self._ways[0][1, None] if self._limit >= 1 else 0

    def at(self, place: int) -> ParentSet:
        """Return the set at some place in their order."""
        state: State = (1, None)
        chosen: list[tuple[int, int]] = []
        for column, choices in enumerate(self._choices):
            for level, new in self._next(column, state):
                ways = self._ways[column + 1][new]
                if place < ways:
                    if level < len(choices) - 1:
                        chosen.append((column, level))
                    state = new
                    break
                place -= ways
        return tuple(chosen)


def _choices(levels: tuple[int, ...]) -> list[tuple[int, Fraction | None]]:
    """Return the size of each level and of leaving out, and what one step finer multiplies."""
    sizes = (*levels, 1)
    steps: list[Fraction | None] = [None]
    steps += [Fraction(finer, size) for finer, size in pairwise(sizes)]
    return list(zip(sizes, steps, strict=True))


def _smaller(left: Fraction | None, right: Fraction | None) -> Fraction | None:
    """Return the smaller of two factors, of which `None` is infinite."""
    if left is None or right is None:
        return right if left is None else left
    return min(left, right)


def _check_sizes(sizes_by_level: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
    """Return the sizes as integers, or say what is wrong with them."""
    sizes = [tuple(int(size) for size in levels) for levels in sizes_by_level]
    for column, levels in enumerate(sizes):
        finer_first = all(a > b for a, b in pairwise(levels))
        if not levels or min(levels) < 1 or not finer_first:
            raise ValueError(
                f"column {column} needs one or more sizes from 1, each level smaller than the one "
                f"before; got {levels}"
            )
    return sizes
