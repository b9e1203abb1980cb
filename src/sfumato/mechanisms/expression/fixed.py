"""A unit statistic with noise of a public scale, for data of any kind."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.mechanisms.expression.noises import Noise, geometric
from sfumato.mechanisms.laplace import GeometricNoise
from sfumato.privacy.program import Query

__all__ = ["FixedStatistic"]


@dataclass(frozen=True)
class FixedStatistic:
    """A statistic that one record changes by little: geometric noise of a public scale.

    Parameters
    ----------
    count
        What is counted: a query whose answer is whole numbers of the declared shape.
    sensitivity
        By how many steps one record changes it at most, in the L1 norm.
    entries
        The number of entries of a vector; `None` for one number.
    step
        What one step of the counts stands for.
    """

    count: Query
    sensitivity: int
    entries: int | None = None
    step: Fraction = Fraction(1)

    needs_delta = False

    @property
    def spread(self) -> float:
        """The scale of the noise at ε = 1."""
        return float(self.sensitivity * self.step)

    def primitive(self, epsilon: Fraction, delta: Fraction | None) -> GeometricNoise:
        """Return geometric noise of scale sensitivity/ε."""
        entries = 1 if self.entries is None else self.entries
        return GeometricNoise(
            shape=(entries,), sensitivity=Fraction(self.sensitivity), epsilon=epsilon
        )

    def given(self, data: Any, primitive: Any) -> Any:
        """Return the counts. Private."""
        return np.asarray(self.count.answer(data), dtype=np.int64).reshape(primitive.shape)

    def read(self, primitive: Any, said: Any) -> Any:
        """Return the noisy number or array."""
        if self.entries is not None:
            return np.asarray(said) if self.step == 1 else np.asarray(said) * float(self.step)
        value = int(said[0]) * self.step
        return int(value) if self.step == 1 else value

    def noise(self, primitive: Any) -> Noise:
        """Return the public law of the noise."""
        return geometric(primitive, self.step)
