"""The hot loops of counting small tables 64 rows at a time.

A value of a column is a string of bits, one for each row;
the rows that have several values are the bits that all their strings share.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.compiling import compiled, uncounted

__all__ = ["complete", "count_words", "look_up_sums", "pack", "sum_up"]


def _compile_ones(function: Any) -> Any:
    """Return the machine's instruction that counts bits."""
    from numba import types
    from numba.extending import intrinsic

    @intrinsic  # type: ignore[untyped-decorator]
    def ones(context: Any, word: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.ctpop(arguments[0])

        return types.int64(types.uint64), code

    return ones


@compiled(uncounted, make=_compile_ones)
def _ones(word: Any) -> int:
    """Return how many bits of a word are set."""
    return int(word).bit_count()


def _pack_values(words: Any, codes: Any, first: int, size: int) -> None:
    """Set the bits of the rows that have each value, one value at a time."""
    for value in range(1 if size == 2 else 0, size):
        bits = np.packbits(codes == value, bitorder="little")
        words[first + value].view(np.uint8)[: bits.size] = bits


@compiled(
    lambda words, codes, first, size: size * (16 + codes.size // 512), interpreted=_pack_values
)
def pack(words: Any, codes: Any, first: int, size: int) -> None:
    """Set the bits of the rows that have each value but the first.

    Parameters
    ----------
    words
        The strings of bits of all values, all zero; value v of the column is `first` + v.
    codes
        The code of each row.
    first
        Where the strings of the column start.
    size
        The domain size of the column.
    """
    if size == 2:
        for place in range(words.shape[1]):
            word = np.uint64(0)
            low = 64 * place
            for bit in range(min(64, codes.size - low)):
                word |= np.uint64(codes[low + bit]) << np.uint64(bit)
            words[first + 1, place] = word
    else:
        for row in range(codes.size):
            words[first + codes[row], row >> 6] |= np.uint64(1) << np.uint64(row & 63)


@compiled(
    uncounted,
    interpreted=lambda before, bits: np.bitwise_count(before[: bits.size] & bits).sum(),
)
def _count_common_bits(before: Any, bits: Any) -> Any:
    """Return how many bits two strings share."""
    found = 0
    for place in range(bits.size):
        found += _ones(before[place] & bits[place])
    return found


def _keep_all_common_bits(before: Any, bits: Any, after: Any) -> Any:
    """Write the bits that two strings share, and return how many they are."""
    after[: bits.size] = before[: bits.size] & bits
    return np.bitwise_count(after[: bits.size]).sum()


@compiled(uncounted, interpreted=_keep_all_common_bits)
def _keep_common_bits(before: Any, bits: Any, after: Any) -> Any:
    """Write the bits that two strings share, and return how many they are."""
    found = 0
    for place in range(bits.size):
        both = before[place] & bits[place]
        after[place] = both
        found += _ones(both)
    return found


@compiled(lambda counts, words, *_: counts.size * (12 + words.shape[1] // 128))
def count_words(
    counts: Any,
    words: Any,
    firsts: Any,
    sizes: Any,
    last: Any,
    lengths: Any,
    starts: Any,
    parent: Any,
    stack: Any,
    stack_starts: Any,
    stack_cells: Any,
) -> None:
    """Count the cells of every table in which no column has its first value.

    Tables come in lexicographic order and each after the one without its last column, whose
    strings of bits are on the stack. The first table is the one of no columns, which is left out.

    Parameters
    ----------
    counts
        The cells of all tables; added to.
    words, firsts
        The strings of bits of the values, and where those of each column start.
    sizes
        The domain size of each column.
    last, lengths
        The last column of each table, and how many columns it has.
    starts
        Where each table starts in `counts`.
    parent
        Whether the next table begins with all columns of this one.
    stack, stack_starts, stack_cells
        Scratch: strings of bits, where those of tables of each length start, and to which cell
        of its table each string belongs.
    """
    block = stack.shape[1]
    here = np.zeros(stack_starts.size, dtype=np.int64)
    for low in range(0, words.shape[1], block):
        width = min(block, words.shape[1] - low)
        stack[0, :width] = ~np.uint64(0)
        stack_cells[0] = 0
        here[0] = 1
        for table in range(1, lengths.size):
            length, column = lengths[table], last[table]
            size = sizes[column]
            kept, shorter = stack_starts[length], stack_starts[length - 1]
            for number in range(shorter, shorter + here[length - 1]):
                before = stack[number]
                cell = stack_cells[number] * size
                for value in range(1, size):
                    bits = words[firsts[column] + value, low : low + width]
                    if parent[table]:
                        found = _keep_common_bits(before, bits, stack[kept])
                        stack_cells[kept] = cell + value
                        kept += 1
                    else:
                        found = _count_common_bits(before, bits)
                    counts[starts[table] + cell + value] += found
            here[length] = kept - stack_starts[length]


@compiled(lambda cells, sizes: cells.size * sizes.size)
def sum_up(cells: Any, sizes: Any) -> None:
    """Put the sum over all values of a column where its first value was, for every column.

    Parameters
    ----------
    cells
        The table of all columns, flat; changed.
    sizes
        The domain size of each column.
    """
    below = cells.size
    for size in sizes:
        stretch = below
        below //= size
        for first in range(0, cells.size, stretch):
            for value in range(1, size):
                for inner in range(first, first + below):
                    cells[inner] += cells[inner + value * below]


@compiled(lambda counts, *_: 4 * counts.size)
def look_up_sums(
    counts: Any,
    sums: Any,
    strides: Any,
    sizes: Any,
    last: Any,
    lengths: Any,
    starts: Any,
    parent: Any,
    stack: Any,
    stack_starts: Any,
    stack_cells: Any,
) -> None:
    """Look up what `count_words` counts, from the sums of a whole table over all its columns.

    Parameters
    ----------
    counts, sizes, last, lengths, starts, parent, stack_starts, stack_cells
        As for `count_words`.
    sums
        The table of all columns, flat, in which the first value of a column stands for all.
    strides
        How far apart two values of each column lie in it.
    stack
        Scratch: places in the table.
    """
    here = np.zeros(stack_starts.size, dtype=np.int64)
    stack[0], stack_cells[0], here[0] = 0, 0, 1
    for table in range(1, lengths.size):
        length, column = lengths[table], last[table]
        kept, shorter = stack_starts[length], stack_starts[length - 1]
        for number in range(shorter, shorter + here[length - 1]):
            cell = stack_cells[number] * sizes[column]
            for value in range(1, sizes[column]):
                place = stack[number] + value * strides[column]
                counts[starts[table] + cell + value] = sums[place]
                if parent[table]:
                    stack[kept], stack_cells[kept] = place, cell + value
                    kept += 1
        here[length] = kept - stack_starts[length]


@compiled(lambda counts, order, members, *_: 2 * counts.size * members.shape[1])
def complete(
    counts: Any, order: Any, members: Any, lengths: Any, sizes: Any, starts: Any, without: Any
) -> None:
    """Fill in the cells in which some column has its first value.

    They follow from the table without that column, less the column's other values. Column after
    column, the cells are filled in which it is the last one with its first value; what is written
    into others on the way is overwritten when the turn of a later column comes.

    Parameters
    ----------
    counts
        The cells of all tables.
    order
        The tables, those of fewer columns first.
    members, lengths
        The columns of each table, and how many they are.
    sizes
        The domain size of each column.
    starts
        Where each table starts in `counts`.
    without
        For each table and each of its columns the table of the others.
    """
    for table in order:
        above, below, lowest = 1, 1, 0
        for place in range(lengths[table] - 1, -1, -1):
            lowest += below
            below *= sizes[members[table, place]]
        for place in range(lengths[table]):
            size = sizes[members[table, place]]
            below //= size
            # The first cell in which no later column has its first value.
            lowest -= below
            other = starts[without[table, place]]
            if size == 2 and lowest == below - 1:
                # One cell at a time: columns of two values.
                here, there = starts[table] + lowest, other + lowest
                for outer in range(above):
                    left = counts[there + outer * below]
                    counts[here + outer * 2 * below] = left - counts[here + (2 * outer + 1) * below]
                above *= 2
                continue
            for outer in range(above):
                first = starts[table] + outer * size * below
                for inner in range(lowest, below):
                    left = counts[other + outer * below + inner]
                    for value in range(1, size):
                        left -= counts[first + value * below + inner]
                    counts[first + inner] = left
            above *= size
