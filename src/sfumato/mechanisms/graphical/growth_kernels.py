"""How large a model would become if one more table were joined to it, for thousands of tables.

The same greedy elimination as in `junction`, compiled. Public arithmetic on sizes and sets, made of
products alone, which every platform rounds alike: a verifier elsewhere must come to the same sets.

Columns that nothing joins are eliminated apart from each other, so a table changes only the parts
of the model that it touches; the others are counted once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.compiling import compiled, uncounted

__all__ = ["count_grown_cells", "joinable"]

WORD = 64


def _compile_lowest_bit(function: Any) -> Any:
    """Return the machine's instruction that finds the lowest bit."""
    from numba import types
    from numba.extending import intrinsic

    @intrinsic  # type: ignore[untyped-decorator]
    def lowest_bit(context: Any, word: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.cttz(arguments[0], context.get_constant(types.boolean, True))

        return types.int64(types.uint64), code

    return lowest_bit


@compiled(uncounted, make=_compile_lowest_bit)
def _lowest_bit(word: Any) -> int:
    """Return the place of the lowest bit of a word that is not zero."""
    return (int(word) & -int(word)).bit_length() - 1


@compiled(uncounted)
def _cells(mask: Any, sizes: Any) -> float:
    """Return the product of the sizes of a set of columns, in the order of the columns."""
    cells = 1.0
    for place in range(mask.size):
        word = mask[place]
        while word:
            cells *= sizes[WORD * place + _lowest_bit(word)]
            word &= word - np.uint64(1)
    return cells


@compiled(uncounted)
def _count_eliminated_cells(near: Any, costs: Any, part: Any, sizes: Any, most: float) -> Any:
    """Return the cells of all maximal cliques of a greedy elimination.

    Parameters
    ----------
    near
        The neighbours of each column and itself, as bits; used up.
    costs
        The cells of each column's neighbours and itself; used up.
    part
        The columns that are eliminated, increasing; nothing else is near them.
    sizes
        The domain size of each column.
    most
        It may stop as soon as there are more cells than this.
    """
    words = near.shape[1]
    left = part.copy()
    rest = np.zeros(words, dtype=np.uint64)
    for column in part:
        rest[column // WORD] |= np.uint64(1) << np.uint64(column % WORD)
    cliques = np.empty((left.size, words), dtype=np.uint64)
    found = 0
    total = 0.0
    for remaining in range(left.size, 0, -1):
        # The first of the cheapest; `left` stays in order.
        place = 0
        for other in range(1, remaining):
            if costs[left[other]] < costs[left[place]]:
                place = other
        best = left[place]
        inside = False
        for clique in range(found):
            inside = True
            for word in range(words):
                if near[best, word] & ~cliques[clique, word]:
                    inside = False
                    break
            if inside:
                break
        if not inside:
            cliques[found] = near[best]
            found += 1
            total += costs[best]
            if total > most:
                return total
        complete = True
        for word in range(words):
            complete &= near[best, word] == rest[word]
        if complete:
            # All that is left is within this clique.
            return total
        for other in range(place, remaining - 1):
            left[other] = left[other + 1]
        beside, bit = best // WORD, np.uint64(1) << np.uint64(best % WORD)
        rest[beside] &= ~bit
        near[best, beside] &= ~bit
        for word in range(words):
            others = near[best, word]
            while others:
                one = WORD * word + _lowest_bit(others)
                others &= others - np.uint64(1)
                for inner in range(words):
                    near[one, inner] |= near[best, inner]
                near[one, beside] &= ~bit
                costs[one] = _cells(near[one], sizes)
    return total


@compiled(uncounted)
def _parts(near: Any) -> Any:
    """Return for each column the number of the connected part it is in."""
    columns = near.shape[0]
    parts = np.full(columns, -1)
    waiting = np.empty(columns, dtype=np.int64)
    found = 0
    for first in range(columns):
        if parts[first] >= 0:
            continue
        parts[first] = found
        waiting[0], count = first, 1
        while count:
            count -= 1
            column = waiting[count]
            for other in range(columns):
                if near[column, other] and parts[other] < 0:
                    parts[other] = found
                    waiting[count] = other
                    count += 1
        found += 1
    return parts


@compiled(lambda near, sizes, members, starts, *_: 4 * starts.size * near.size)
def _count_grown_cells(
    near: Any, sizes: Any, members: Any, starts: Any, most: float, bounded: bool
) -> Any:
    """Return for each set the cells of the model after it was joined.

    What is more than `most` need not be exact, and neither what is not more if it is `bounded`
    from above already.
    """
    columns = sizes.size
    masks = np.zeros((columns, (columns + WORD - 1) // WORD), dtype=np.uint64)
    for one in range(columns):
        for other in range(columns):
            if near[one, other]:
                masks[one, other // WORD] |= np.uint64(1) << np.uint64(other % WORD)
    costs = np.array([_cells(masks[column], sizes) for column in range(columns)])
    parts = _parts(near)
    many = parts.max() + 1
    work, work_costs = masks.copy(), costs.copy()
    part_cells, part_products = np.empty(many), np.ones(many)
    for part in range(many):
        inside = np.flatnonzero(parts == part)
        part_cells[part] = _count_eliminated_cells(work, work_costs, inside, sizes, np.inf)
        for column in inside:
            part_products[part] *= sizes[column]
    unchanged = 0.0
    for part in range(many):
        unchanged += part_cells[part]
    result = np.empty(starts.size - 1)
    touched = np.empty(many, dtype=np.bool_)
    joined = np.zeros(masks.shape[1], dtype=np.uint64)
    for number in range(result.size):
        inside = members[starts[number] : starts[number + 1]]
        joined[:] = 0
        for column in inside:
            joined[column // WORD] |= np.uint64(1) << np.uint64(column % WORD)
        fresh = False
        for column in inside:
            for word in range(joined.size):
                fresh |= (joined[word] & ~masks[column, word]) != 0
        if not fresh:
            # Sets that lie within what is joined change nothing.
            result[number] = unchanged
            continue
        touched[:] = False
        for column in inside:
            touched[parts[column]] = True
        others, product = unchanged, 1.0
        for part in range(many):
            if touched[part]:
                others -= part_cells[part]
                product *= part_products[part]
        if bounded and others + product <= most:
            result[number] = others + product
            continue
        count = 0
        within = np.empty(columns, dtype=np.int64)
        for one in range(columns):
            if touched[parts[one]]:
                within[count] = one
                count += 1
                work[one] = masks[one]
                work_costs[one] = costs[one]
        for column in inside:
            for word in range(joined.size):
                work[column, word] |= joined[word]
            work_costs[column] = _cells(work[column], sizes)
        result[number] = others + _count_eliminated_cells(
            work, work_costs, within[:count], sizes, most - others
        )
    return result


def count_grown_cells(near: Any, sizes: Any, members: Any, starts: Any) -> Any:
    """Return for each set the cells of the model after it was joined.

    Parameters
    ----------
    near
        Which columns the model already joins, as a matrix with a true diagonal.
    sizes
        The domain size of each column, as floats.
    members, starts
        The columns of all sets one after another, and where each set starts.
    """
    return _count_grown_cells(near, sizes, members, starts, np.inf, False)


def joinable(near: Any, sizes: Any, members: Any, starts: Any, most: float) -> Any:
    """Return for each set of columns of two or more values whether it leaves the model small.

    The cliques of a part have no more cells than all combinations of its columns: by the last
    column of size s ≥ 2 that is taken in, a clique of all columns grows s times, and any other
    adds at most s/2 times all combinations of the columns before it. So most sets need no
    elimination while the model is small.

    Parameters
    ----------
    near, sizes, members, starts
        As for `count_grown_cells`.
    most
        The most cells of the model.
    """
    return _count_grown_cells(near, sizes, members, starts, most, True) <= most
