"""The loops of local collection, compiled by Numba; imported when many reports are drawn.

A kernel that draws reads a tape of random words and stops *before* a report for which the tape is
too short, so that what comes out is a function of the stream of words alone. Words are compared
with public whole numbers; nothing here touches floating point.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

__all__ = [
    "draw_graded",
    "draw_hashed",
    "draw_randomized",
    "draw_windowed",
    "hadamard",
    "pieces",
    "place_bits",
    "spread_rows",
    "subsets",
]

_ONE = np.uint64(1)
_SIX = np.uint64(6)


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def draw_randomized(
    tape: Any, done: int, codes: Any, said: Any, threshold: Any, others: Any, fence: Any
) -> Any:
    """Draw answers of randomised response: a word for the coin, on tails one for the answer."""
    used = 0
    size = tape.size
    while done < codes.size:
        if used >= size:
            return used, done
        code = codes[done]
        if tape[used] < threshold:
            said[done] = code
            used += 1
        else:
            place = used + 1
            while place < size and tape[place] > fence:
                place += 1
            if place >= size:
                return used, done
            other = np.int64(tape[place] % others)
            said[done] = other + (other >= code)
            used = place + 1
        done += 1
    return used, done


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def spread_rows(dense: Any, rows: Any, width: int) -> None:
    """Cut a stream of bits into rows of `width`, each beginning with a word of its own."""
    words = rows.shape[1]
    rest = width & 63
    last = ~np.uint64(0) if rest == 0 else (_ONE << np.uint64(rest)) - _ONE
    for row in range(rows.shape[0]):
        start = row * width
        for place in range(words):
            bit = start + 64 * place
            word = bit >> 6
            shift = np.uint64(bit & 63)
            found = dense[word] >> shift
            if shift != 0 and word + 1 < dense.size:
                found |= dense[word + 1] << (np.uint64(64) - shift)
            rows[row, place] = found & last if place == words - 1 else found


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def place_bits(rows: Any, codes: Any, coins: Any) -> None:
    """Put coin i at the place of answer i in row i."""
    for row in range(codes.size):
        code = np.uint64(codes[row])
        place = np.int64(code >> _SIX)
        mask = _ONE << (code & np.uint64(63))
        coin = (coins[row >> 6] >> np.uint64(row & 63)) & _ONE
        rows[row, place] = (rows[row, place] & ~mask) | (mask * coin)


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def draw_hashed(
    tape: Any,
    done: int,
    codes: Any,
    said: Any,
    threshold: Any,
    width: Any,
    fence: Any,
    rest: Any,
    rest_fence: Any,
) -> Any:
    """Draw reports of local hashing: the step, the coin, and the place inside or outside."""
    used = 0
    size = tape.size
    while done < codes.size:
        if used + 3 > size:
            return used, done
        step = tape[used]
        inside = tape[used + 1] < threshold
        limit = fence if inside else rest_fence
        place = used + 2
        while place < size and tape[place] > limit:
            place += 1
        if place >= size:
            return used, done
        spot = tape[place] % width if inside else width + tape[place] % rest
        said[done, 0] = step
        said[done, 1] = spot - step * np.uint64(codes[done])
        used = place + 1
        done += 1
    return used, done


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def subsets(
    tape: Any, done: int, codes: Any, said: Any, threshold: Any, others: int, member: Any
) -> Any:
    """Draw sets by Floyd's algorithm: a word for the coin, then half a word for each other answer.

    A half x is taken for a number below b if the lower half of x·b is at least 2³² mod b; the upper
    half is then uniform (Lemire, 2019). `member` is scratch space, a bit for every answer.
    """
    used = 0
    length = 2 * tape.size
    low_half = np.uint64(0xFFFFFFFF)
    up = np.uint64(32)
    size = said.shape[1]
    while done < codes.size:
        if used >= tape.size:
            return used, done
        held = tape[used] < threshold
        place = 2 * used + 2
        code = codes[done]
        complete = True
        for last in range(others - size + held, others):
            bound = np.uint64(last + 1)
            drawn = np.int64(-1)
            while drawn < 0 and place < length:
                word = tape[place >> 1]
                product = (word >> up if place & 1 else word & low_half) * bound
                place += 1
                rest = product & low_half
                if rest >= bound or rest >= (_ONE << up) % bound:
                    drawn = np.int64(product >> up)
            if drawn < 0:
                complete = False
                break
            drawn += drawn >= code
            if (member[drawn >> 6] >> np.uint64(drawn & 63)) & _ONE:
                drawn = last + (last >= code)
            member[drawn >> 6] |= _ONE << np.uint64(drawn & 63)
        if not complete:
            member[:] = 0
            return used, done
        if held:
            member[code >> 6] |= _ONE << np.uint64(code & 63)
        _emit(member, said[done])
        used = (place + 1) >> 1
        done += 1
    return used, done


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _emit(member: Any, row: Any) -> None:
    """Write the answers whose bits are 1 in rising order, and clear the bits."""
    column = 0
    for word in range(member.size):
        left = member[word]
        member[word] = 0
        while left != 0:
            row[column] = 64 * word + _lowest(left)
            left &= left - _ONE
            column += 1


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _lowest(word: Any) -> Any:
    """Return the place of the lowest 1 of a word."""
    lowest = word & (~word + _ONE)
    return _ones(lowest - _ONE)


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _ones(word: Any) -> Any:
    """Return how many bits of a word are 1."""
    word = word - ((word >> _ONE) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + (
        (word >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def hadamard(tape: Any, done: int, codes: Any, said: Any, threshold: Any, mask: Any) -> Any:
    """Draw numbers of Hadamard response: the coin, and the bits that do not decide."""
    used = 0
    while done < codes.size:
        if used + 2 > tape.size:
            return used, done
        speaks = tape[used] < threshold
        rest = tape[used + 1] & mask
        row = np.uint64(codes[done] + 1)
        lowest = row & (~row + _ONE)
        below = rest & (lowest - _ONE)
        number = ((rest - below) << _ONE) | below
        if ((_ones(row & number) & 1) == 0) != speaks:
            number |= lowest
        said[done] = number
        used += 2
        done += 1
    return used, done


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def pieces(tape: Any, done: int, codes: Any, said: Any, lasts: Any) -> Any:
    """Draw the row of each client's column: the first whose last word is not below a random one."""
    used = 0
    rows = lasts.shape[1]
    while done < codes.size:
        if used >= tape.size:
            return used, done
        word = tape[used]
        used += 1
        column = lasts[codes[done]]
        low, high = 0, rows - 1
        while low < high:
            middle = (low + high) >> 1
            if column[middle] < word:
                low = middle + 1
            else:
                high = middle
        said[done] = low
        done += 1
    return used, done


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def draw_graded(tape: Any, done: int, codes: Any, said: Any, least: Any, rise: Any) -> Any:
    """Throw a coin for each client that is the likelier the larger its number is."""
    used = 0
    while done < codes.size:
        if used >= tape.size:
            return used, done
        said[done] = tape[used] < least + rise * np.uint64(codes[done])
        used += 1
        done += 1
    return used, done


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def draw_windowed(
    tape: Any,
    done: int,
    codes: Any,
    said: Any,
    threshold: Any,
    window: Any,
    fence: Any,
    steps: Any,
    steps_fence: Any,
) -> Any:
    """Draw a place inside the window that begins at each client's number, or outside it."""
    used = 0
    size = tape.size
    while done < codes.size:
        if used + 2 > size:
            return used, done
        inside = tape[used] < threshold
        limit = fence if inside else steps_fence
        place = used + 1
        while place < size and tape[place] > limit:
            place += 1
        if place >= size:
            return used, done
        code = np.uint64(codes[done])
        if inside:
            said[done] = code + tape[place] % window
        else:
            other = tape[place] % steps
            said[done] = other if other < code else other + window
        used = place + 1
        done += 1
    return used, done
