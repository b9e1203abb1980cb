"""A point that lies deep among private points, if a test says that they lie close enough together.

The exponential mechanism over the points of a grid that are at least so deep, each with its depth
for a score. Which points these are depends on the data; a noisy test first makes sure that it
hardly matters. Where the test fails nothing is said but that (propose, test, release). This module
may never let floating point decide, and never say how the test came out but by its noisy answer.
Proof: docs/proofs/tukey-em.md.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato import noise
from sfumato.privacy.loss import ApproxDP, Loss, Measure, PureDP, Unpriced, convert
from sfumato.privacy.primitive import Change, Primitive, require_within
from sfumato.privacy.rounding import exp_down, log_up

__all__ = ["DeepPoint"]

Integers64 = NDArray[np.int64]

#: The largest domain: coordinates stay far within 64 bits.
LARGEST_BOUND = 2**48
#: A larger rate would change nothing but the length of numbers.
LARGEST_RATE = Fraction(64)
#: Factors are kept in units of 2 to the minus this.
FACTOR_BITS = 128


@lru_cache(maxsize=64)
def _growing(eta: Fraction, rate: Fraction, most: Fraction, points: int) -> tuple[int, ...]:
    """Return lower bounds of η·e^min(r·g, most) for g = 0, …, points, in small units."""
    grown = (exp_down(min(rate * g, most)) for g in range(points + 1))
    return tuple(math.floor(eta * factor * 2**FACTOR_BITS) for factor in grown)


@dataclass(frozen=True, kw_only=True)
class DeepPoint(Primitive):
    """Say a grid point that lies deep among private points, or that there is no telling one.

    Parameters
    ----------
    points, dimension
        The public shape of the input: how many points, of how many coordinates.
    bound
        The public domain: whole coordinates from −bound to bound.
    moved
        How many points differ at most between neighbouring data.
    epsilon, delta
        The loss. With a delta of 0 every point of the domain can be said and nothing is tested.
    test_share
        The share of epsilon that the test costs.

    Notes
    -----
    The output is None, or a point as int64 coordinates.

    Privacy: (ε, δ)-DP, and ε-DP without a δ (docs/proofs/tukey-em.md).
    """

    kind: ClassVar[str] = "deep point"

    points: int
    dimension: int
    bound: int
    moved: int
    epsilon: Fraction
    delta: Fraction
    test_share: Fraction = Fraction(1, 2)

    def __post_init__(self) -> None:
        super().__post_init__()
        if min(self.points, self.dimension, self.bound, self.moved) < 1:
            raise ValueError("points, dimension, bound and moved must be whole numbers from 1")
        if self.bound > LARGEST_BOUND:
            raise ValueError(f"bound must be at most {LARGEST_BOUND}; got {self.bound}")
        if self.epsilon <= 0 or not 0 <= self.delta < 1 or not 0 < self.test_share < 1:
            raise ValueError("epsilon must be positive, delta and test_share shares of 1")

    @property
    def tested(self) -> bool:
        """Whether there is a test: where there is a delta to fail with."""
        return self.delta > 0

    @property
    def level(self) -> int:
        """How deep a point must be to be said: a quarter of all points; any without a test."""
        return max(self.points // 4, 1) if self.tested else 0

    @property
    def _slack(self) -> Fraction:
        """What the choice may lose beyond its rate, and δ with which it may fail: at most 1/2."""
        choice = self.epsilon * (1 - self.test_share)
        return min(self.delta, choice / 8, Fraction(1, 2))

    @property
    def rate(self) -> Fraction:
        """The factor r of the depth in the exponent."""
        if not self.tested:
            return min(self.epsilon / (2 * self.moved), LARGEST_RATE)
        own = self.epsilon * (1 - self.test_share) - self._slack
        return min(own / (2 * self.moved), LARGEST_RATE)

    @property
    def scale(self) -> Fraction:
        """The scale 1/ε₁ of the noise in the test."""
        return 1 / (self.epsilon * self.test_share)

    @cached_property
    def threshold(self) -> int:
        """What a noisy distance must reach, so that one of 0 does with probability at most δ."""
        own = 1 / self.scale
        # P(noise ≥ τ) = e^(−ε₁τ)/(1 + e^(−ε₁)), solved for τ.
        return max(math.ceil(log_up(1 / (self.delta * (1 + exp_down(-own)))) / own), 1)

    @property
    def _factors(self) -> tuple[int, ...]:
        """Lower bounds of η·e^(r·g) for g = 0, 1, …, in units of 2^−FACTOR_BITS.

        They need not grow beyond what makes up for the smallest box in the whole domain.
        """
        eta = self._slack / 2 * exp_down(-self.rate * (2 * self.moved - 1))
        most = log_up(Fraction(2 * self.bound + 1)) * self.dimension + log_up(4 / self._slack)
        most += self.rate * (2 * self.moved - 1) + 1
        return _growing(eta, self.rate, most, self.points)

    def distance(self, boxes: NestedBoxes) -> int:
        """Return through how many neighbours the choice stays the same, 0 where it does not.

        Private; one neighbour further it differs by at most 1.
        """
        low, high = 0, boxes.deepest // self.moved + 1
        # It holds for all numbers of steps below the distance and for none from there on.
        while low < high:
            middle = (low + high) // 2
            if self._safe(boxes, middle):
                low = middle + 1
            else:
                high = middle
        return low

    def _safe(self, boxes: NestedBoxes, steps: int) -> bool:
        """Tell whether the points just outside weigh little, even so many steps away.

        It holds where V(t − s − ks) ≤ η·e^(r(b − t))·V(b + ks) for a b ≥ t, with s points moved in
        a step and k steps.
        """
        away = steps * self.moved
        outside = boxes.volume(self.level - self.moved - away) << FACTOR_BITS
        inside = boxes.volumes[self.level + away :]
        pairs = zip(self._factors, inside, strict=False)
        return any(outside <= factor * volume for factor, volume in pairs)

    def cost(self, measure: Measure) -> Loss:
        """Return (ε, δ), or what ε-DP implies where there is no δ."""
        if not self.tested:
            return convert(PureDP(self.epsilon), measure)
        if measure is not ApproxDP:
            raise Unpriced(f"a deep point with a delta has no {measure.name} loss")
        return ApproxDP(self.epsilon, self.delta)

    def check(self, value: Any) -> None:
        """Raise unless the input is an int64 array of the declared shape."""
        if not isinstance(value, np.ndarray) or value.dtype != np.int64:
            raise ValueError("the input of a deep point must be an int64 array")
        if value.shape != (self.points, self.dimension):
            raise ValueError("the input must hold the declared number of points and coordinates")

    def sample(self, value: Integers64) -> Integers64 | None:
        """Return a point, or None where the test fails."""
        boxes = NestedBoxes(value, self.bound)
        if self.tested:
            drawn = int(noise.discrete_laplace(None, scale=self.scale))
            if self.distance(boxes) + drawn < self.threshold:
                return None
        above = choose_level(boxes.shells(self.level), self.rate)
        return boxes.draw(self.level + above)

    def passing(self, value: Integers64) -> float:
        """Return the probability that the test is passed, for audits."""
        if not self.tested:
            return 1.0
        missing = self.threshold - self.distance(NestedBoxes(value, self.bound))
        own = float(1 / self.scale)
        if missing > 0:
            return math.exp(-own * missing) / (1 + math.exp(-own))
        return 1 - math.exp(own * (missing - 1)) / (1 + math.exp(-own))

    def check_output(self, output: Any) -> None:
        """Raise unless an output is a point within the bounds, or None where a test may fail."""
        if output is None and self.tested:
            return
        require_within(output, (self.dimension,), self.bound)

    def log_probability(self, value: Integers64, output: Integers64 | None) -> float:
        """Return the log-probability of a point, or of none."""
        passing = self.passing(value)
        if output is None:
            return math.log1p(-passing) if passing < 1 else -math.inf
        boxes = NestedBoxes(value, self.bound)
        depth = boxes.depth(output)
        if passing == 0 or depth < self.level:
            return -math.inf
        shells, rate = boxes.shells(self.level), float(self.rate)
        logs = [math.log(many) + rate * i for i, many in enumerate(shells) if many]
        most = max(logs)
        whole = most + math.log(math.fsum(math.exp(log - most) for log in logs))
        return math.log(passing) + rate * (depth - self.level) - whole

    def change(self, value: Integers64, neighbour: Integers64) -> Change:
        """Count the points that are in one input and not in the other."""
        here = Counter(map(tuple, value.tolist()))
        there = Counter(map(tuple, neighbour.tolist()))
        return Change((here - there).total(), self.moved, "points moved")

    def extremes(self, value: Integers64, neighbour: Integers64) -> list[Integers64]:
        """Return points in the middle of each input and at the edge of what can be said."""
        found = []
        for points in (value, neighbour):
            boxes = NestedBoxes(points, self.bound)
            for level in (self.level, boxes.deepest):
                found += [boxes.corner(level, high=False), boxes.corner(level, high=True)]
        return found


# Boxes of grid points that lie deep among private points: how many they hold, and draws from them.
#
# A grid point is k deep if in each coordinate at least k of the points are at most as large, and
# at least k at least as large. Points that are k deep form a box, and the boxes are nested. All is
# counted in whole numbers of any size; floating point only serves audits.


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
        return np.array(_decode_point(place, outer, inner), dtype=np.int64)


def _decode_point(
    place: int, outer: list[tuple[int, int]], inner: list[tuple[int, int]]
) -> list[int]:
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
        found = _settle_part(drawn, bits, bounds)
        if found is not None:
            return live[found]
        drawn = (drawn << bits) + int(noise.uniform_integers(None, bound=1 << bits))
        bits *= 2


def _settle_part(drawn: int, bits: int, bounds: list[tuple[int, int]]) -> int | None:
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
