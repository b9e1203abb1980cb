"""Compiled loops behind `select`: they filter, and never decide what floats cannot certify.

Scores arrive as int64 or float64. The distance of a candidate from the best score, times the rate,
is its gap; its coin comes up heads with probability exp(−gap). Every float here is either exact or
one side of an outward-rounded interval, and only IEEE additions, multiplications and divisions are
used (no library exponential), so that the same random words lead to the same answer, and to the
same number of words read, on every machine.

A level is an integer that is certainly at most gap/ln 2, so exp(−gap) ≤ 2^−level.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sfumato.compiling import compiled, uncounted

TAIL, HEAD, UNDECIDED = 0, 1, 2

#: Candidates that share random words: one lane for each bit of a word.
LANES = 64
#: No block waits for more zero bits than this; a rarer coin is settled on its own.
DEEPEST_SHARED_LEVEL = 128
#: Words one block may read.
WORDS_FOR_A_BLOCK = DEEPEST_SHARED_LEVEL
#: Below this level sharing words leaves too many lanes alive to pay.
SHALLOW_LEVEL = 5

_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_ONE = np.uint64(1)
_EXPONENT = np.int64(0x7FF0000000000000)
_MAGNITUDE = np.int64(0x7FFFFFFFFFFFFFFF)
_LOWEST = np.int64(-0x8000000000000000)
_LARGEST_FLOAT = float(np.finfo(np.float64).max)
_SMALLEST_NORMAL = float(np.finfo(np.float64).tiny)
_LN2 = 0.6931471805599453
# ln 2 = _LN2_HIGH + _LN2_LOW with 32 trailing zero bits in the first part (fdlibm's split).
_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10
_LOG2_E = 1.4426950408889634
#: Exponents beyond this are settled by the bound exp(−60) < 2^−80 alone.
_DEEP = 60.0
_DEEP_BOUND = 2.0**-80
_INVERSE_FACTORIALS = np.array([1.0 / math.factorial(k) for k in range(13)])
# A byte that begins with z zeros lets pass the levels up to z, that is the depths below z + 1.
_DEPTH_REACHED = np.array([float(9 - byte.bit_length()) for byte in range(256)])
#: Relative slack of one product or difference of rounded numbers; one rounding errs by 2^−53.
_SLACK = 2.0**-49
#: Relative slack of `_exp_of_minus`.
_EXP_SLACK = 2.0**-46


@compiled(lambda patterns, peaks: 4 * patterns.size)
def peaks_of_floats(patterns, peaks):  # type: ignore[no-untyped-def]
    """Write the largest key of each block of 64 scores; return whether all scores are finite.

    `patterns` are the bits of the floats as int64. A key is an int64 that is ordered as the floats
    are, because integer maxima are what the compiler turns into vector code without reordering.
    """
    size = patterns.size
    infinite = np.int64(0)
    for block in range(peaks.size):
        start = block * LANES
        peak = _LOWEST
        for i in range(start, min(start + LANES, size)):
            pattern = patterns[i]
            infinite |= np.int64((pattern & _EXPONENT) == _EXPONENT)
            key = pattern ^ ((pattern >> 63) & _MAGNITUDE)
            peak = max(peak, key)
        peaks[block] = peak
    return infinite == 0


@compiled(lambda scores, peaks: scores.size)
def peaks_of_integers(scores, peaks):  # type: ignore[no-untyped-def]
    """Write the largest score of each block of 64."""
    size = scores.size
    for block in range(peaks.size):
        start = block * LANES
        peak = _LOWEST
        for i in range(start, min(start + LANES, size)):
            peak = max(peak, scores[i])
        peaks[block] = peak


def _compile_distance(function: Callable[..., Any]) -> Callable[..., Any]:
    """Choose the distance of floats or of integers when a kernel is compiled."""
    from numba import types, uint64
    from numba.extending import overload

    @overload(function, inline="always")
    def choose(top, score):  # type: ignore[no-untyped-def]
        if isinstance(score, types.Float):
            return lambda top, score: min(top - score, _LARGEST_FLOAT)
        return lambda top, score: float(uint64(top) - uint64(score))  # wraps to the true difference

    return function


@compiled(uncounted, make=_compile_distance)
def _distance(top: Any, score: Any) -> float:
    """Return top − score within a relative error of 2^−53, or the largest float on overflow."""
    if isinstance(score, float):
        return min(float(top) - float(score), _LARGEST_FLOAT)
    return float(int(top) - int(score))


@compiled(uncounted, inline="always")
def _level(distance, rate_in_bits, cap):  # type: ignore[no-untyped-def]
    """Return min(cap, an integer that is at most gap/ln 2)."""
    return np.int64(min(distance * rate_in_bits, cap))


@compiled(uncounted)
def _exp_of_minus(x):  # type: ignore[no-untyped-def]
    """Return exp(−x) for 0 ≤ x ≤ 60 within a relative error of 2^−46.

    x = n·ln 2 − r with |r| < 0.35: the reduction errs by less than 2^−50, thirteen terms of the
    series leave 0.35^14/14! < 2^−57, and Horner's rule adds at most a few units of 2^−52.
    """
    n = math.floor(x * _LOG2_E + 0.5)
    r = n * _LN2_LOW - (x - n * _LN2_HIGH)
    total = 1.0 / 6227020800.0
    for k in range(12, -1, -1):
        total = total * r + _INVERSE_FACTORIALS[k]
    return math.ldexp(total, -int(n))


@compiled(uncounted)
def _settle(distance, rate_low, rate_high, zeros, word):  # type: ignore[no-untyped-def]
    """Compare a uniform number with exp(−gap), given its first zero bits and the next 64 bits."""
    if distance == 0.0:
        return HEAD
    low = distance * rate_low * (1.0 - _SLACK)
    high = distance * rate_high * (1.0 + _SLACK) + _SMALLEST_NORMAL
    if distance == _LARGEST_FLOAT:  # the difference of two floats may have been cut by half
        high *= 2.0
    high = min(high, _LARGEST_FLOAT)
    slack = (high + zeros) * _SLACK
    low = max(low - zeros * _LN2 - slack, 0.0)
    high = max(high - zeros * _LN2 + slack, 0.0)
    uniform = float(word >> np.uint64(11)) * 2.0**-53
    if low > _DEEP:
        return TAIL if uniform >= _DEEP_BOUND else UNDECIDED
    middle = _exp_of_minus(low)
    # exp(−high) ≥ exp(−low)·(1 − (high − low)); a negative bound settles nothing and is harmless.
    if uniform + 2.0**-53 <= middle * (1.0 - (high - low) * (1.0 + _SLACK) - _EXP_SLACK):
        return HEAD
    if uniform >= middle * (1.0 + _EXP_SLACK):
        return TAIL
    return UNDECIDED


@compiled(lambda scores, top, rate_low, rate_high, indices, *_: 32 * indices.size)
def settle(  # type: ignore[no-untyped-def]
    scores, top, rate_low, rate_high, indices, zeros, words, outcomes
):
    """Settle the coins of some candidates, one word each, or say that floats cannot."""
    for j in range(indices.size):
        distance = _distance(top, scores[indices[j]])
        outcomes[j] = _settle(distance, rate_low, rate_high, zeros[j], words[j])


@compiled(lambda scores, top, rate_in_bits, levels, counts: 8 * scores.size)
def count_levels(scores, top, rate_in_bits, levels, counts):  # type: ignore[no-untyped-def]
    """Write the level of every candidate, at most counts.size − 1, count levels, find the last."""
    cap = float(counts.size - 1)
    for i in range(scores.size):
        levels[i] = _level(_distance(top, scores[i]), rate_in_bits, cap)
    deepest = 0
    for i in range(scores.size):
        counts[levels[i]] += 1
        # A level as it is stored would wrap when it is counted on.
        deepest = max(deepest, int(levels[i]))
    return deepest


@compiled(uncounted, inline="always")
def _wait(words, position, live, count):  # type: ignore[no-untyped-def]
    """Give every live lane `count` more bits and keep the lanes that saw only zeros.

    Bits are unbiased, so a set bit may stand for a zero: that saves the negation.
    """
    for _ in range(count):
        if live == 0:
            break
        live &= words[position]
        position += 1
    return live, position


@compiled(uncounted, inline="always")
def _emit(live, start, waited, count, indices, zeros):  # type: ignore[no-untyped-def]
    """Append the live lanes of a block to the survivors."""
    lane = 0
    while live != 0:
        if live & _ONE:
            indices[count] = start + lane
            zeros[count] = waited
            count += 1
        live >>= _ONE
        lane += 1
    return count


@compiled(uncounted)
def _emit_one_by_one(  # type: ignore[no-untyped-def]
    scores, top, rate_in_bits, start, octets, flags, count, indices, zeros
):
    """Append to the survivors the lanes whose own byte begins with as many zeros as their level.

    This is for a block with likely candidates, which would make the unlikely ones expensive if all
    waited together. Levels are cut at 8; what follows those zeros in a byte is thrown away.
    """
    lanes = min(LANES, scores.size - start)
    for lane in range(lanes):  # without branches, so that it becomes vector code
        depth = min(_distance(top, scores[start + lane]) * rate_in_bits, 8.5)
        flags[lane] = depth < _DEPTH_REACHED[octets[lane]]
    for lane in range(lanes):
        if flags[lane]:
            indices[count] = start + lane
            zeros[count] = _level(_distance(top, scores[start + lane]), rate_in_bits, 8.0)
            count += 1
    return count


@compiled(lambda scores, *_: 128 + 16 * scores.size)
def survivors(  # type: ignore[no-untyped-def]
    scores, top, rate_in_bits, peaks, block, words, indices, zeros
):
    """Draw the zero bits with which the uniform number of every head must begin.

    Start at `block` and stop when the blocks, the words or the room for survivors run out. Return
    the next block, the number of words read and the number of survivors written: candidates whose
    uniform number begins with `zeros` zero bits and has not been looked at further. `peaks` are
    the largest scores of the blocks.
    """
    flags = np.empty(LANES, dtype=np.bool_)
    position = 0
    count = 0
    while (
        block < peaks.size
        and position + WORDS_FOR_A_BLOCK <= words.size
        and count + LANES <= indices.size
    ):
        start = block * LANES
        level = _level(_distance(top, peaks[block]), rate_in_bits, float(DEEPEST_SHARED_LEVEL))
        if level < SHALLOW_LEVEL:
            octets = words[position : position + 8].view(np.uint8)
            position += 8
            count = _emit_one_by_one(
                scores, top, rate_in_bits, start, octets, flags, count, indices, zeros
            )
        else:
            live = _ALL >> np.uint64(max(0, start + LANES - scores.size))
            live, position = _wait(words, position, live, level)
            count = _emit(live, start, level, count, indices, zeros)
        block += 1
    return block, position, count


def _draw_with_dictionary(size: int, words: Any, places: Any, values: Any, chosen: Any) -> int:
    """Draw as `draw_distinct`, with what the shuffle has changed in a dictionary."""
    position = 0
    changed: dict[int, int] = {}
    for i in range(chosen.size):
        bound = size - i
        mask = (1 << (bound - 1).bit_length()) - 1
        while True:
            if position == words.size:
                return -1
            drawn = int(words[position]) & mask
            position += 1
            if drawn < bound:
                break
        place = i + drawn
        chosen[i] = changed.get(place, place)
        changed[place] = changed.get(i, i)
    return position


@compiled(
    lambda size, words, places, values, chosen: 8 * chosen.size, interpreted=_draw_with_dictionary
)
def draw_distinct(size, words, places, values, chosen):  # type: ignore[no-untyped-def]
    """Draw distinct indices below `size`, uniformly and in order, by a sparse Fisher–Yates shuffle.

    The position of an array 0, 1, 2, … that the shuffle has changed is kept in `places`, what
    stands there in `values`. Return the number of words read, or −1 when they did not suffice.
    """
    position = 0
    for i in range(chosen.size):
        bound = np.uint64(size - i)
        mask = bound - _ONE
        for shift in (1, 2, 4, 8, 16, 32):
            mask |= mask >> np.uint64(shift)
        while True:
            if position == words.size:
                return -1
            drawn = words[position] & mask
            position += 1
            if drawn < bound:
                break
        place = i + np.int64(drawn)
        here, there = i, place
        for j in range(i):
            if places[j] == i:
                here = values[j]
            if places[j] == place:
                there = values[j]
        chosen[i] = there
        # The place is rewritten: an older note about it must not be found again.
        for j in range(i):
            if places[j] == place:
                places[j] = -1
        places[i] = place
        values[i] = here
    return position
