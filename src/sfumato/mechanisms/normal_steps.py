"""Normal noise on several vectors of integers, one after another, for one price.

What is asked in a step may depend on what was said in the steps before. Between neighbours not each
vector but all of them together are bounded: however the earlier noise fell, the squared distances
of all steps add up to at most Δ². This module may never let a step be repeated or left out of that
sum. Proof: docs/proofs/normal-steps.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.normal import NormalNoise
from sfumato.privacy.loss import Loss, Measure
from sfumato.privacy.primitive import Change, StatefulPrimitive, require_array

__all__ = ["NormalSteps"]

Integers64 = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class NormalSteps(StatefulPrimitive):
    """Add normal noise of one width to vectors of integers that are asked one after another.

    Parameters
    ----------
    lengths
        The public length of the vector of each step.
    squared_sensitivity
        A bound Δ² on the sum of the squared L2 distances of the inputs of all steps between
        neighbouring data, whatever was said.
    mu_squared
        The Gaussian loss μ² of all steps together; the noise has standard deviation Δ/μ.

    Notes
    -----
    Privacy: given what was said before, the log-likelihood ratio of a step is a normal number
    whose variance is the squared distance over σ². These variances add up to at most μ², so all
    steps together tell no more than one normal number does, μ-GDP (docs/proofs/normal-steps.md).
    """

    kind: ClassVar[str] = "normal noise in steps"

    lengths: tuple[int, ...]
    squared_sensitivity: Fraction
    mu_squared: Fraction

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.lengths or min(self.lengths) < 1:
            raise ValueError("there must be at least one step, and every vector must have an entry")
        if self.squared_sensitivity <= 0 or self.mu_squared <= 0:
            raise ValueError("squared_sensitivity and mu_squared must be positive")

    def noise(self, step: int) -> NormalNoise:
        """Return the noise of one step, as wide as if it were the only one."""
        return NormalNoise(
            shape=(self.lengths[step],),
            squared_sensitivity=self.squared_sensitivity,
            mu_squared=self.mu_squared,
        )

    @property
    def standard_deviation(self) -> float:
        """The standard deviation of the noise on one entry."""
        return self.noise(0).standard_deviation

    def cost(self, measure: Measure) -> Loss:
        """Return μ², or what it implies; it has no pure cost."""
        return self.noise(0).cost(measure)

    def check(self, value: Any) -> None:
        """Raise unless the input is an int64 vector; each step checks the length of its own."""
        if not isinstance(value, np.ndarray) or value.dtype != np.int64 or value.ndim != 1:
            raise ValueError("the input of a step must be a one-dimensional int64 array")

    def start(self) -> NormalRun:
        """Return a run; it hides nothing but how many steps were taken."""
        return NormalRun(self)

    def check_output(self, value: Any, before: Sequence[Any], output: Any) -> None:
        """Raise unless an output is a vector of the length of its step."""
        require_array(output, np.int64, (self.lengths[len(before)],))

    def is_stopped(self, outputs: Sequence[Any]) -> bool:
        """Tell whether all steps were taken."""
        return len(outputs) >= len(self.lengths)

    def log_probability(self, values: Sequence[Integers64], outputs: Sequence[Integers64]) -> float:
        """Return the log-probability of all steps."""
        if len(values) != len(outputs) or len(values) > len(self.lengths):
            return -math.inf
        return math.fsum(
            self.noise(step).log_probability(value, output)
            for step, (value, output) in enumerate(zip(values, outputs, strict=True))
        )

    def change(self, values: Sequence[Integers64], neighbours: Sequence[Integers64]) -> Change:
        """Measure the squared L2 distance of the inputs of all steps."""
        allowed = self.noise(0).squared_sensitivity
        if len(values) != len(neighbours):
            return Change(math.inf, allowed, "squared L2 of all steps", power=2)
        total = sum(
            (
                Fraction(self.noise(step).change(value, neighbour).measured)
                for step, (value, neighbour) in enumerate(zip(values, neighbours, strict=True))
            ),
            Fraction(0),
        )
        return Change(total, allowed, "squared L2 of all steps", power=2)

    def concentrated_loss(
        self, values: Sequence[Integers64], neighbours: Sequence[Integers64]
    ) -> float:
        """Return the sum of ‖a − b‖²/2σ² over the steps, which the law gives for these inputs."""
        return math.fsum(
            self.noise(step).concentrated_loss(value, neighbour)
            for step, (value, neighbour) in enumerate(zip(values, neighbours, strict=True))
        )


class NormalRun:
    """One run of normal noise in steps."""

    def __init__(self, steps: NormalSteps) -> None:
        self._steps = steps
        self._taken = 0

    @property
    def done(self) -> bool:
        """Whether all steps were taken."""
        return self._taken == len(self._steps.lengths)

    def step(self, value: Integers64) -> Integers64:
        """Return the input of the next step plus noise."""
        if self.done:
            raise ValueError("all steps of this run were taken")
        noise = self._steps.noise(self._taken)
        noise.check(value)
        self._taken += 1
        return noise.sample(value)
