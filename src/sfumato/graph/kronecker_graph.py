"""Synthetic graphs from a stochastic Kronecker model that was fitted to private counts."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from sfumato.data.graph import Graph, GraphPublic
from sfumato.graph.kronecker import (
    Features,
    Initiator,
    KroneckerModel,
    expected_features,
    fit_initiator,
    power_of,
)
from sfumato.graph.kronecker_fit import DECIMALS
from sfumato.graph.summary import GraphSummary, SummaryRelease
from sfumato.graph.synthetic import MOST_EDGES, SyntheticGraph, drawn_sizes
from sfumato.privacy.budget import Budget
from sfumato.privacy.loss import PureDP
from sfumato.privacy.method import Method
from sfumato.privacy.parameters import SHARE, OneOf, parameter
from sfumato.privacy.plan import Plan
from sfumato.privacy.program import FINISH, Program

__all__ = ["KroneckerGraph", "summary_features"]


@dataclass(frozen=True, kw_only=True)
class KroneckerGraph(Method[Graph, SyntheticGraph]):
    """Release a stochastic Kronecker model of a graph, and a graph that is drawn from it.

    Parameters
    ----------
    epsilon
        Privacy loss for one edge. A twentieth of it counts the edges.
    triangle_share
        The share of the rest that counts the triangles; what is left is for the degrees, which
        tell the paths of two edges and the stars of three.
    size
        `"declared"`: drawn graphs have as many nodes as the private one, taken at random from the
        words of the model; `"power"`: all of them, a power of two, as published.

    Notes
    -----
    Privacy: the edges, the sorted degrees and the triangles are measured as `GraphSummary` does;
    fitting and drawing see what was said alone (docs/proofs/kronecker.md).
    """

    kind: ClassVar[str] = "graph"
    proof: ClassVar[str] = "kronecker.md"

    triangle_share: Fraction = parameter(SHARE, Fraction(1, 2))
    size: str = parameter(OneOf(("declared", "power")), "declared")

    @property
    def _summary(self) -> GraphSummary:
        """What is measured, for the whole of ε."""
        epsilon = PureDP(self.epsilon).epsilon
        return GraphSummary(epsilon=epsilon, triangle_share=self.triangle_share)

    def check(self, public: GraphPublic) -> None:
        """Raise unless the data are a graph."""
        super().check(public)
        self._summary.check(public)

    def plan(self, public: GraphPublic) -> Plan:
        """Return the plan: the edges, the degrees and the triangles."""
        self.check(public)
        steps = self._summary.plan(public).steps
        sizes = drawn_sizes(public, steps)
        return Plan(method=self.name, guarantee=self.guarantee(public), steps=steps, sizes=sizes)

    def program(self, public: GraphPublic, budget: Budget) -> Program[SyntheticGraph]:
        """Ask for the summary, and fit a model to it."""
        features = summary_features((yield from self._summary.program(public, budget)))
        yield FINISH
        nodes = public.nodes if self.size == "declared" else 1 << power_of(public.nodes)
        fitted = _held(fit_initiator(features, nodes), public)
        return SyntheticGraph(public, KroneckerModel(nodes, fitted), notes=_notes(features))


def summary_features(summary: SummaryRelease) -> Features:
    """Return the counts that a summary of a graph tells; those it cannot tell are not positive.

    Paths and stars are read off the repaired degrees. They need not be whole numbers, and of a
    degree below 1 there is no path, below 2 no star.
    """
    degrees = summary.degrees
    paths = np.where(degrees > 1, degrees * (degrees - 1) / 2, 0.0)
    stars = np.where(degrees > 2, paths * (degrees - 2) / 3, 0.0)
    return Features(
        float(summary.edges.possible),
        float(paths.sum()),
        float(stars.sum()),
        float(summary.triangles.possible),
    )


def _held(initiator: Initiator, public: GraphPublic) -> Initiator:
    """Return an initiator whose graphs can be drawn, however much noise there was.

    The whole graph has no more edges on average than 2^24, or four times the declared guess.
    """
    most = max(MOST_EDGES, 4 * (public.rows_about or 0))
    edges = expected_features(initiator).edges
    if edges <= most:
        return initiator
    smaller = initiator.scaled(most / edges)
    a, b, c = (round(entry, DECIMALS) for entry in (smaller.a, smaller.b, smaller.c))
    return Initiator(a, b, c, initiator.power)


def _notes(features: Features) -> tuple[str, ...]:
    """Return what a reader should know about the fit."""
    words = {
        "edges": "edges",
        "hairpins": "paths of two edges",
        "tripins": "stars of three edges",
        "triangles": "triangles",
    }
    missing = [words[name] for name, count in features._asdict().items() if count < 0.5]
    if not missing:
        return ()
    return (
        f"The noisy number of {' and that of '.join(missing)} was not positive and was left out "
        "of the fit.",
    )
