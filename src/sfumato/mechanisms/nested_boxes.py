"""Boxes of grid points that lie deep among private points: how many they hold, and draws from them.

A grid point is k deep if in each coordinate at least k of the points are at most as large, and at
least k at least as large. Points that are k deep form a box, and the boxes are nested. All is
counted in whole numbers of any size; floating point only serves audits.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sfumato import noise

__all__ = ["NestedBoxes", "choose_level"]

Integers64 = NDArray[np.int64]

#: Bits of the random number that chooses a level, at first; doubled where they do not decide.
_BITS = 128


class NestedBoxes:
    """The boxes of points at least k deep, for every k. Private.

    Parameters
    ----------
    points
        One point a row, of whole numbers.
    bound
        The public domain: every coordinate from −bound to bound. Points beyond count as its ends.
    """

    def __init__(self, points: Integers64, bound: int) -> None:
        self.many, self.dimension = points.shape
        self.bound = bound
        ordered = np.sort(np.clip(points, -bound, bound), axis=0)
        # The k-th smallest and the k-th largest number of each coordinate, k = 1, 2, …
        low, high = ordered, ordered[::-1]
        filled = int(np.searchsorted(-(low <= high).all(axis=1).astype(np.int8), 0, side="left"))
        ends = np.full((1, self.dimension), bound, dtype=np.int64)
        self._low: Integers64 = np.concatenate([-ends, low[:filled]])
        self._high: Integers64 = np.concatenate([ends, high[:filled]])
        widths = (self._high - self._low + 1).tolist()
        self.volumes: list[int] = [math.prod(row) for row in widths]

    @property
    def deepest(self) -> int:
        """How deep the deepest grid points are."""
        return len(self.volumes) - 1

    def volume(self, level: int) -> int:
        """Return how many grid points are at least so deep; all of them for level 0 and below."""
        return 0 if level > self.deepest else self.volumes[max(level, 0)]

    def depth(self, point: Integers64) -> int:
        """Return how deep a grid point of the domain is."""
        inside = ((self._low <= point) & (point <= self._high)).all(axis=1)
        return int(inside.sum()) - 1

    def shells(self, level: int) -> list[int]:
        """Return how many points are exactly level, level + 1, … deep."""
        volumes = self.volumes[max(level, 0) :]
        return [here - deeper for here, deeper in zip(volumes, [*volumes[1:], 0], strict=True)]

    def corner(self, level: int, *, high: bool) -> Integers64:
        """Return the lowest or the highest point that is at least so deep."""
        found: Integers64 = (self._high if high else self._low)[level].copy()
        return found

    def draw(self, level: int) -> Integers64:
        """Return a point that is exactly so deep, every one as likely as any other.

        The shell between two boxes is cut into parts: in part j the first j coordinates lie in the
        inner box, the next one in the outer but not in the inner, the others in the outer box.
        """
        outer = list(zip(self._low[level].tolist(), self._high[level].tolist(), strict=True))
        if level == self.deepest:
            # There is nothing inside: an empty box at the ends of the domain.
            inner = [(high + 1, high) for _, high in outer]
        else:
            after = level + 1
            inner = list(zip(self._low[after].tolist(), self._high[after].tolist(), strict=True))
        place = int(noise.uniform_integers(None, bound=self.shells(level)[0]))
        return np.array(_decoded(place, outer, inner), dtype=np.int64)


def _decoded(place: int, outer: list[tuple[int, int]], inner: list[tuple[int, int]]) -> list[int]:
    """Return the point with a number among those of the outer box that are not in the inner one."""
    size = len(outer)
    wide = [high - low + 1 for low, high in outer]
    narrow = [high - low + 1 for low, high in inner]
    for turn in range(size):
        sizes = [*narrow[:turn], wide[turn] - narrow[turn], *wide[turn + 1 :]]
        part = math.prod(sizes)
        if place >= part:
            place -= part
            continue
        found = []
        for axis, length in enumerate(sizes):
            place, step = divmod(place, length)
            if axis < turn:
                found.append(inner[axis][0] + step)
            elif axis > turn:
                found.append(outer[axis][0] + step)
            else:
                # Steps below the inner interval first, then those above it.
                below = inner[axis][0] - outer[axis][0]
                jump = narrow[axis] if step >= below else 0
                found.append(outer[axis][0] + step + jump)
        return found
    raise ArithmeticError("a point was numbered beyond the last one")


def choose_level(weights: list[int], rate: Fraction) -> int:
    """Return i with probability proportional to weights[i]·exp(rate·i), exactly.

    Parameters
    ----------
    weights
        Whole numbers of any size, not negative, one at least positive.
    rate
        The public rate, not negative.

    Notes
    -----
    A random number is compared with sums of lower and of upper bounds. Where they do not agree on
    the answer it is drawn on with more digits, and the bounds are computed anew: what is returned
    is what the exact sums would have given.
    """
    live = [i for i, weight in enumerate(weights) if weight > 0]
    logs = [math.log(weights[i]) + float(rate) * (i - live[-1]) for i in live]
    heaviest = live[max(range(len(live)), key=logs.__getitem__)]
    bits, drawn = _BITS, int(noise.uniform_integers(None, bound=1 << _BITS))
    while True:
        bounds = [_relative(weights, i, heaviest, rate, bits) for i in live]
        found = _settled(drawn, bits, bounds)
        if found is not None:
            return live[found]
        drawn = (drawn << bits) + int(noise.uniform_integers(None, bound=1 << bits))
        bits *= 2


def _settled(drawn: int, bits: int, bounds: list[tuple[int, int]]) -> int | None:
    """Return which part of the whole a random number falls into, if the bounds can tell.

    The number U lies in [drawn, drawn + 1]/2^bits; part i is chosen where U times the whole is at
    least what the parts before it add up to and less than that and its own.
    """
    low, high = sum(low for low, _ in bounds), sum(high for _, high in bounds)
    before_low = before_high = 0
    for number, (own_low, own_high) in enumerate(bounds):
        after_low, after_high = before_low + own_low, before_high + own_high
        if (drawn + 1) * high <= after_low << bits:
            # Certainly before the end of this part: it is the one, if certainly past its start.
            return number if drawn * low >= before_high << bits else None
        before_low, before_high = after_low, after_high
    return None


def _relative(
    weights: list[int], here: int, heaviest: int, rate: Fraction, bits: int
) -> tuple[int, int]:
    """Return whole bounds of weights[here]·e^(rate·(here − heaviest))/weights[heaviest]·4^bits."""
    exponent = rate * (here - heaviest)
    scale = 1 << (2 * bits)
    ratio = Fraction(weights[here], weights[heaviest]) * scale
    if ratio == 0 or exponent * 7 < -5 * (ratio.__floor__().bit_length() + bits):
        # e^(−5/7) < 1/2: what is left is far less than one.
        return 0, 1
    ends = []
    for rounding in (ROUND_FLOOR, ROUND_CEILING):
        context = Context(prec=bits, rounding=rounding, Emin=-(10**9), Emax=10**9)
        rounded = context.divide(Decimal(exponent.numerator), Decimal(exponent.denominator))
        # Decimal.exp rounds half-even whatever the context says; one step outward bounds it.
        value = context.exp(rounded)
        outward = context.next_minus if rounding == ROUND_FLOOR else context.next_plus
        ends.append(ratio * Fraction(outward(value)))
    return math.floor(ends[0]), math.ceil(ends[1])
