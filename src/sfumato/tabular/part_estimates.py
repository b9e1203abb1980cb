"""What a model expects of many sets of columns, part by part.

Columns that no table joins, directly or through others, are independent in a model. The shares of a
set of columns are therefore products of those of its parts. A single column is known exactly; what
lies within one part is counted in rows that are drawn from the model. Nothing private comes here.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.compiling import compiled
from sfumato.engines.batch_counts import count_tables
from sfumato.mechanisms.graphical import GraphicalModel
from sfumato.mechanisms.graphical.layout import running
from sfumato.tabular.candidates import Pool, Set

__all__ = ["estimate_shares"]

Floats = NDArray[np.float64]


def estimate_shares(
    pool: Pool, model: GraphicalModel, rows: int, generator: np.random.Generator
) -> Floats:
    """Return the share of every cell of a pool.

    Parameters
    ----------
    pool
        The sets of columns.
    model
        The model.
    rows
        How many rows are drawn.
    generator
        What they are drawn by.
    """
    columns, firsts = pool.members
    sizes = np.asarray(pool.sizes, dtype=np.int64)
    # Where the table of each member's group starts, the member that stands for its group, and how
    # far one value of the member is from the next in that table. At first all are alone.
    begins = running(pool.sizes)[columns]
    leaders = np.arange(columns.size) - np.repeat(firsts[:-1], np.diff(firsts))
    strides = np.ones(columns.size, dtype=np.int64)
    groups = _group_members(pool, model.parts)
    counted = Pool(tuple(sorted({group for group, _ in groups})), pool.sizes)
    place = dict(zip(counted.sets, counted.starts + sizes.sum(), strict=False))
    for group, members in groups:
        begins[members] = place[group]
        leaders[members] = leaders[members[0]]
        below = np.cumprod([1, *(pool.sizes[column] for column in group[:0:-1])])
        strides[members] = below[::-1]
    values = np.concatenate([*model.one_way(), _count_drawn(counted, model, rows, generator)])
    return np.asarray(
        multiply_parts(values, sizes[columns], firsts, leaders, begins, strides, pool.starts)
    )


def _group_members(pool: Pool, parts: NDArray[np.int64]) -> list[tuple[Set, NDArray[np.int64]]]:
    """Return the columns of a set that lie in one part, where they are several, and their places.

    Parameters
    ----------
    pool
        The sets.
    parts
        The part of each column.
    """
    columns, firsts = pool.members
    owners = np.repeat(np.arange(len(pool.sets)), np.diff(firsts))
    keys = owners * (int(parts.max(initial=0)) + 1) + parts[columns]
    order = np.argsort(keys, kind="stable")
    begins = np.flatnonzero(np.concatenate([[True], np.diff(keys[order]) != 0]))
    several = np.flatnonzero(np.diff(np.concatenate([begins, [order.size]])) > 1)
    ends = np.concatenate([begins, [order.size]])
    return [
        (tuple(columns[members].tolist()), members)
        for members in (order[ends[group] : ends[group + 1]] for group in several.tolist())
    ]


def _count_drawn(
    pool: Pool, model: GraphicalModel, rows: int, generator: np.random.Generator
) -> Floats:
    """Return the share of every cell of a pool in rows that are drawn from a model."""
    if not pool.sets:
        return np.zeros(0)
    # Counted as if there were no other columns.
    among = np.unique(pool.members[0]).tolist()
    numbers = {column: number for number, column in enumerate(among)}
    sets = tuple(tuple(numbers[column] for column in columns) for columns in pool.sets)
    drawn = model.draw(rows, generator, among)
    sizes = tuple(pool.sizes[column] for column in among)
    return count_tables(sets, sizes, [drawn[:, column] for column in among]) / rows


def _multiply_arrays(
    values: Any, sizes: Any, firsts: Any, leaders: Any, begins: Any, strides: Any, starts: Any
) -> Any:
    """Do as `multiply_parts`, a set at a time."""
    shares = np.empty(starts[-1])
    for number, (first, last) in enumerate(pairwise(firsts.tolist())):
        shape, leading = sizes[first:last], leaders[first:last]
        table = np.ones(())
        for leader in np.unique(leading):
            own = np.where(leading == leader, shape, 1)
            begin = begins[first + leader]
            table = table * values[begin : begin + own.prod()].reshape(own)
        shares[starts[number] : starts[number + 1]] = table.reshape(-1)
    return shares


@compiled(
    lambda values, sizes, firsts, leaders, begins, strides, starts: (
        32 * firsts.size + int(starts[-1]) // 32
    ),
    interpreted=_multiply_arrays,
)
def multiply_parts(
    values: Any, sizes: Any, firsts: Any, leaders: Any, begins: Any, strides: Any, starts: Any
) -> Any:
    """Return for each cell of each set the product of the cells of its groups.

    Parameters
    ----------
    values
        The cells of the tables of all groups.
    sizes
        The domain size of each member of each set.
    firsts
        Where the members of each set start, and the end.
    leaders
        For each member, which member of its set stands for its group: the first one of it.
    begins
        Where the table of the group starts.
    strides
        How far one value of the member is from the next in that table.
    starts
        Where the cells of each set start, and the end.
    """
    shares = np.empty(starts[-1])
    digits = np.empty(sizes.size, dtype=np.int64)
    places = np.empty(sizes.size, dtype=np.int64)
    for number in range(firsts.size - 1):
        first, last = firsts[number], firsts[number + 1]
        for member in range(first, last):
            digits[member] = 0
            places[member] = begins[member]
        for cell in range(starts[number], starts[number + 1]):
            share = 1.0
            for member in range(first, last):
                if first + leaders[member] == member:
                    share *= values[places[member]]
            shares[cell] = share
            member = last - 1
            while member >= first:
                leader = first + leaders[member]
                digits[member] += 1
                places[leader] += strides[member]
                if digits[member] < sizes[member]:
                    break
                places[leader] -= sizes[member] * strides[member]
                digits[member] = 0
                member -= 1
    return shares
