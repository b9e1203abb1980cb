"""What the ways to measure a dK series share: their shape, and the number of edges."""

from __future__ import annotations

from fractions import Fraction
from typing import Protocol

import numpy as np

from sfumato.data.graph import Graph, GraphPublic
from sfumato.graph.margins import margin
from sfumato.graph.synthetic import SyntheticGraph, most_edges
from sfumato.mechanisms.laplace import GeometricNoise
from sfumato.privacy.budget import Budget
from sfumato.privacy.loss import Loss
from sfumato.privacy.plan import PlanStep
from sfumato.privacy.transcript import Transcript

__all__ = [
    "EDGES",
    "MOST_BINS",
    "DKPart",
    "edge_noise",
    "edge_step",
    "joined_estimate",
    "measure_edges",
    "noise_of",
]

#: The label of the number of edges in transcripts, and of its slice.
EDGES = "edges"
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

    def measure(self, data: Graph, budget: Budget) -> None:
        """Measure the graph through primitives paid from the budget."""

    def build(self, public: GraphPublic, transcript: Transcript) -> SyntheticGraph:
        """Return the release, from what is public and from what the primitives said."""


def noise_of(loss: Loss, shape: tuple[int, ...], sensitivity: int) -> GeometricNoise:
    """Return geometric noise that spends the ε of a slice, whatever its δ."""
    epsilon: Fraction = loss.epsilon  # type: ignore[union-attr]
    return GeometricNoise(shape=shape, sensitivity=Fraction(sensitivity), epsilon=epsilon)


def edge_noise(loss: Loss) -> GeometricNoise:
    """Return the noise on the number of edges: one edge counts once."""
    return noise_of(loss, (1,), 1)


def edge_step(loss: Loss) -> PlanStep:
    """Return the line of a plan for the number of edges."""
    noise = edge_noise(loss)
    return PlanStep(
        what="the number of edges",
        loss=loss,
        noise=f"± {noise.standard_deviation:.4g} (1 s.d.)",
        error=f"± {margin(noise):,.4g}",
        figures={"margin": margin(noise)},
    )


def measure_edges(data: Graph, budget: Budget) -> None:
    """Measure the number of edges, and spend the whole slice."""
    edges = np.array([data.counts.edges], dtype=np.int64)
    budget.measure(edge_noise(budget.remaining), edges, label=EDGES)


def joined_estimate(estimates: list[tuple[float, float]], public: GraphPublic) -> int:
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
