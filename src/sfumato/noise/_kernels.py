"""The compiled inner loops of the exact samplers.

A kernel reads a tape of random words from its first word on and fills its output block by block.
When the tape or the table of digits is too short for the next block, the kernel stops *before* that
block and says what it needs; the caller prolongs the tape or the table and calls again. What comes
out is therefore a function of the tape alone: not of the length of any buffer, nor of the machine.
No kernel touches floating point, except `accept`, whose intervals are rounded outward and which
leaves undecided what they do not settle.

Sixty-four coins are thrown at a time, one in each bit ("lane") of a word, and `width` words side by
side, so that the compiler can use the vector instructions of whatever machine it runs on.
"""

from __future__ import annotations

import math
import sys

import numpy as np

from sfumato.compiling import compiled, uncounted

if sys.byteorder != "little":
    raise ImportError("sfumato.noise reads words as bytes and needs a little-endian machine")

DONE, NEED_WORDS, NEED_DIGITS, OVERFLOW = 0, 1, 2, 3

#: Words side by side in a full block.
WIDTH = 64

#: Digits compared by all lanes at once; after them about one lane in a word is still open.
COMMON_ROUNDS = 6

#: Words whose few open lanes share random words, as long as no two are in the same place.
SHARING = 4

_NONE = np.uint64(0)
_ALL = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
_LARGEST = np.int64(0x7FFF_FFFF_FFFF_FFFF)


@compiled(uncounted)
def _settle(tape, position, digits, ends, first, lanes):  # type: ignore[no-untyped-def]
    """Throw the coins of the open lanes of one word, from digit `first` on.

    Returns the position on the tape, a status, and the lanes that came up heads.
    """
    heads = _NONE
    turn = first
    while lanes != _NONE:
        if turn >= digits.size:
            return position, (DONE if ends else NEED_DIGITS), heads
        if position >= tape.size:
            return position, NEED_WORDS, heads
        word = tape[position]
        position += 1
        digit = digits[turn]
        turn += 1
        # Heads is "random number below p": decided where a random bit differs from p's digit.
        heads |= lanes & digit & ~word
        lanes &= ~(word ^ digit)
    return position, DONE, heads


@compiled(uncounted)
def throw(tape, position, digits, ends, heads, lanes):  # type: ignore[no-untyped-def]
    """Throw one coin in every lane of `heads`; `lanes` is scratch space of the same length.

    Returns the position on the tape and a status.
    """
    width = heads.size
    rounds = min(COMMON_ROUNDS, digits.size)
    if position + rounds * width > tape.size:
        return position, NEED_WORDS
    for w in range(width):
        heads[w] = _NONE
        lanes[w] = _ALL
    for turn in range(rounds):
        words = tape[position : position + width]
        if digits[turn] != _NONE:
            for w in range(width):
                heads[w] |= lanes[w] & ~words[w]
                lanes[w] &= words[w]
        else:
            for w in range(width):
                lanes[w] &= ~words[w]
        position += width
    return _finish(tape, position, digits, ends, heads, lanes)


@compiled(uncounted)
def _finish(tape, position, digits, ends, heads, lanes):  # type: ignore[no-untyped-def]
    """Settle the lanes that the common rounds left open, a few words at a time."""
    width = heads.size
    status = DONE
    for start in range(0, width, SHARING):
        stop = min(start + SHARING, width)
        together = _NONE
        clash = _NONE
        for w in range(start, stop):
            clash |= together & lanes[w]
            together |= lanes[w]
        if clash == _NONE:
            position, status, settled = _settle(
                tape, position, digits, ends, COMMON_ROUNDS, together
            )
            for w in range(start, stop):
                heads[w] |= lanes[w] & settled
            if status != DONE:
                return position, status
        else:
            for w in range(start, stop):
                position, status, settled = _settle(
                    tape, position, digits, ends, COMMON_ROUNDS, lanes[w]
                )
                heads[w] |= settled
                if status != DONE:
                    return position, status
    return position, DONE


@compiled(lambda tape, masks, ends, out, done: 64 + 16 * out.size)
def coins(tape, masks, ends, out, done):  # type: ignore[no-untyped-def]
    """Fill the words of `out` from index `done` on with coins.

    Returns a status, the words used, and the words of `out` that are done.
    """
    used = np.int64(0)
    digits = masks[0]
    lanes = np.empty(WIDTH, np.uint64)
    while done < out.size:
        stop = min(done + WIDTH, out.size)
        position, status = throw(tape, used, digits, ends, out[done:stop], lanes[: stop - done])
        if status != DONE:
            return status, used, done
        used, done = position, stop
    return DONE, used, done


@compiled(uncounted)
def _transpose(planes, group):  # type: ignore[no-untyped-def]
    """Turn eight planes of bits into bytes: byte m of word k becomes the byte of lane 8m + k."""
    base = 8 * group
    for step in range(3):
        distance = 1 << step
        shift = np.uint64(distance)
        mask = np.uint64(0x5555555555555555)
        if step == 1:
            mask = np.uint64(0x3333333333333333)
        elif step == 2:
            mask = np.uint64(0x0F0F0F0F0F0F0F0F)
        for index in range(8):
            if index & distance == 0:
                low = planes[base + index]
                high = planes[base + index + distance]
                for w in range(low.size):
                    swap = ((low[w] >> shift) ^ high[w]) & mask
                    high[w] ^= swap
                    low[w] ^= swap << shift


@compiled(uncounted)
def _sign_digits(planes, digit_planes, signs, nonzero, carry):  # type: ignore[no-untyped-def]
    """Turn the digits of G into two's complement of X: G + 1, or ~G = -(G + 1), or 0."""
    width = signs.size
    for w in range(width):
        carry[w] = ~signs[w]
    for index in range(digit_planes):
        plane = planes[index]
        for w in range(width):
            flipped = plane[w] ^ signs[w]
            plane[w] = (flipped ^ carry[w]) & nonzero[w]
            carry[w] &= flipped
    for index in range(digit_planes, planes.shape[0]):
        plane = planes[index]
        for w in range(width):
            plane[w] = (signs[w] | carry[w]) & nonzero[w]
            carry[w] = _NONE


@compiled(uncounted)
def _clear(planes, first):  # type: ignore[no-untyped-def]
    """Set the planes from index `first` on to zero."""
    for index in range(first, planes.shape[0]):
        for w in range(planes.shape[1]):
            planes[index, w] = _NONE


@compiled(uncounted)
def _spread(planes, out):  # type: ignore[no-untyped-def]
    """Write the transposed planes to `out` as 64-bit integers, lowest byte first."""
    lanes = 8 * planes[0].size * 8
    groups = planes.shape[0] // 8
    octets = planes.reshape(-1).view(np.uint8)
    highest = octets[(groups - 1) * lanes : groups * lanes].view(np.int8)
    if groups == 1:
        for index in range(out.size):
            out[index] = highest[index]
    elif groups == 2:
        lowest = octets[:lanes]
        for index in range(out.size):
            out[index] = (np.int64(highest[index]) << 8) | np.int64(lowest[index])
    else:
        for index in range(out.size):
            out[index] = highest[index]
        for group in range(groups - 2, -1, -1):
            octet = octets[group * lanes : (group + 1) * lanes]
            for index in range(out.size):
                out[index] = (out[index] << 8) | np.int64(octet[index])


@compiled(uncounted)
def _lengthen(tape, position, digits, ends, step, signed, tails, out):  # type: ignore[no-untyped-def]
    """Add `step` to the size of every lane in `tails`, again and again while its coin is heads."""
    width = tails.size
    for w in range(width):
        lanes = tails[w]
        while lanes != _NONE:
            for lane in range(64):
                if (lanes >> np.uint64(lane)) & np.uint64(1) == _NONE:
                    continue
                index = (lane % 8) * (8 * width) + 8 * w + lane // 8
                if index >= out.size:
                    continue
                value = out[index]
                if value > _LARGEST - step or value < step - _LARGEST:
                    return position, OVERFLOW
                if value > 0 or not signed:
                    out[index] = value + step
                elif value < 0:
                    out[index] = value - step
            position, status, lanes = _settle(tape, position, digits, ends, 0, lanes)
            if status != DONE:
                return position, status
    return position, DONE


@compiled(
    lambda tape, digits, ends, out, done, signed, width: out.size + len(digits) * (64 + 16 * width)
)
def geometric(tape, digits, ends, out, done, signed, width):  # type: ignore[no-untyped-def]
    """Fill `out` from index `done` on with geometric or (`signed`) two-sided geometric numbers.

    The rows of `digits` are those of 1 - tanh(1/2s), of the tail e^(-2^K/s), and of the K
    binary digits 1/(1 + e^(2^i/s)), i = 0, 1, …

    Returns a status, the words used, and the entries of `out` that are done.
    """
    digit_planes = digits.shape[0] - 2
    planes = np.empty(((digit_planes + 2 + 7) // 8 * 8, width), np.uint64)
    signs = np.empty(width, np.uint64)
    nonzero = np.empty(width, np.uint64)
    tails = np.empty(width, np.uint64)
    lanes = np.empty(width, np.uint64)
    used = np.int64(0)
    while done < out.size:
        block = out[done : min(done + 64 * width, out.size)]
        position = used
        if signed:
            if position + width > tape.size:
                return NEED_WORDS, used, done
            for w in range(width):
                signs[w] = tape[position + w]
            position, status = throw(tape, position + width, digits[0], ends, nonzero, lanes)
            if status != DONE:
                return status, used, done
        for index in range(digit_planes):
            position, status = throw(tape, position, digits[2 + index], ends, planes[index], lanes)
            if status != DONE:
                return status, used, done
        position, status = throw(tape, position, digits[1], ends, tails, lanes)
        if status != DONE:
            return status, used, done
        if signed:
            _sign_digits(planes, digit_planes, signs, nonzero, lanes)
        else:
            _clear(planes, digit_planes)
        for group in range(planes.shape[0] // 8):
            _transpose(planes, group)
        _spread(planes, block)
        position, status = _lengthen(
            tape, position, digits[1], ends, np.int64(1) << digit_planes, signed, tails, block
        )
        if status != DONE:
            return status, used, done
        used = position
        done += block.size
    return DONE, used, done


#: An outcome of `filter_coins` that the interval did not settle.
UNDECIDED = 2

_RECIPROCAL_FACTORIALS = np.array([1.0 / math.factorial(order) for order in range(14)])
_POWERS = np.array([2.0**-halvings for halvings in range(64)])


@compiled(lambda exponents, words, margin, outcome: 32 * exponents.size)
def filter_coins(exponents, words, margin, outcome):  # type: ignore[no-untyped-def]
    """Settle coins of probability e⁻ˣ by an interval; write 1, 0, or UNDECIDED.

    The exponential is computed by + and × alone, so that its error can be proved: x = k·ln 2 + r
    with |r| < 0.36 and r right to 2⁻⁴⁶ for x < 40, a Taylor series of degree 13 (error below 2⁻⁵⁷),
    rounding below 2⁻⁴⁸, and an exact power of two. With the 2⁻⁴² that the exponent itself may be
    off, the relative error is below 2⁻⁴⁰; `margin` must be larger than that.

    Returns how many coins are undecided.
    """
    undecided = 0
    step = 2.0**-53
    for index in range(exponents.size):
        x = exponents[index]
        low = 0.0
        high = 2.0**-56  # e⁻⁴⁰ is below it
        if x < 40.0:
            halvings = np.int64(x * 1.4426950408889634 + 0.5)
            r = halvings * 0.6931471805599453 - x
            series = _RECIPROCAL_FACTORIALS[13]
            for order in range(12, -1, -1):
                series = series * r + _RECIPROCAL_FACTORIALS[order]
            p = series * _POWERS[halvings]
            low = p * (1.0 - margin)
            high = p * (1.0 + margin)
        # The random number lies in [number, number + step).
        number = np.float64(np.int64(words[index] >> np.uint64(11))) * step
        if number + step <= low:
            outcome[index] = 1
        elif number >= high:
            outcome[index] = 0
        else:
            outcome[index] = UNDECIDED
            undecided += 1
    return undecided
