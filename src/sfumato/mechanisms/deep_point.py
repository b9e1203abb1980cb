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
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato import noise
from sfumato.mechanisms.nested_boxes import NestedBoxes, choose_level
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
