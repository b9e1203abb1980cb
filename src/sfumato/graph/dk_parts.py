"""What the ways to measure a dK series share: their shape, and an estimate of the edges."""

from __future__ import annotations

from fractions import Fraction
from typing import Protocol

import numpy as np

from sfumato.data.graph import GraphPublic
from sfumato.graph.synthetic import SyntheticGraph, most_edges
from sfumato.mechanisms.laplace import GeometricNoise
from sfumato.privacy.budget import Budget
from sfumato.privacy.loss import Loss
from sfumato.privacy.plan import PlanStep
from sfumato.privacy.program import Program

__all__ = ["MOST_BINS", "DKPart", "combine_estimates", "noise_of"]

#: The most bins of a histogram that are measured, all of them with noise.
MOST_BINS = 2**16
#: Noise of a smaller standard deviation is none: it is 0 for certain.
NOTHING = 1e-9


class DKPart(Protocol):
    """One way to measure a dK series and to draw graphs from what was said."""

    def check(self, public: GraphPublic) -> None:
        """Raise `ValueError` where the parameters do not fit the public part."""

    def steps(self, public: GraphPublic) -> tuple[PlanStep, ...]:
        """Return the lines of the plan."""

    def program(self, public: GraphPublic, budget: Budget) -> Program[SyntheticGraph]:
        """Ask for what tells the series, and return the release."""


def noise_of(loss: Loss, shape: tuple[int, ...], sensitivity: int) -> GeometricNoise:
    """Return geometric noise that spends the ε of a slice, whatever its δ."""
    epsilon: Fraction = loss.epsilon  # type: ignore[union-attr]
    return GeometricNoise(shape=shape, sensitivity=Fraction(sensitivity), epsilon=epsilon)


def combine_estimates(estimates: list[tuple[float, float]], public: GraphPublic) -> int:
    """Return a whole number of edges from several noisy ones.

    Parameters
    ----------
    estimates
        Each with its standard deviation, which weighs it.
    public
        The public part, for what is possible.
    """
    exact = [value for value, deviation in estimates if deviation < NOTHING]
    if exact:
        mean = exact[0]
    else:
        weights = [deviation**-2 for _, deviation in estimates]
        total = sum(value * weight for (value, _), weight in zip(estimates, weights, strict=True))
        mean = total / sum(weights)
    return int(np.rint(min(max(mean, 0), most_edges(public))))
