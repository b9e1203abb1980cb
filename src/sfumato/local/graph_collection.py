"""A graph that nobody holds: every pair is told by randomised response, by one of its two ends.

`EdgeResponse` is one person's side. Here all reports are drawn in one go, for rehearsals, for
comparisons, and for a custodian who wants what a collection would have given. The variant as it was
published tells the true number of edges, and promises nothing (docs/proofs/graph-collection.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from sfumato.data.graph import Graph, GraphPublic
from sfumato.local.collected_graph import USUAL, CollectedGraph
from sfumato.local.pair_estimates import MOST_DENSE, PairEstimates
from sfumato.local.queries import JoinedPairs
from sfumato.mechanisms.pair_response import RandomizedPairs
from sfumato.privacy.budget import Budget
from sfumato.privacy.guarantee import Basis
from sfumato.privacy.loss import PureDP
from sfumato.privacy.method import Method
from sfumato.privacy.parameters import Flag, OneOf, parameter
from sfumato.privacy.plan import Plan, PlanStep, Size
from sfumato.privacy.program import FINISH, Ask, Program
from sfumato.privacy.registry import find_published

__all__ = ["GraphCollection", "laplace_epsilon"]

#: The label of the reports in transcripts.
PAIRS = "pairs"
#: Steps in which the loss of rounded Laplace noise is written, from below.
STEPS = 2**40


def laplace_epsilon(epsilon: Fraction) -> Fraction:
    """Return what thresholded Laplace noise of scale 1/ε really costs, ln(2e^(ε/2) − 1), or less.

    Parameters
    ----------
    epsilon
        The ε it is used with.
    """
    half = float(epsilon) / 2
    # = ε/2 + ln(2 − e^(−ε/2)), without overflow.
    exact = half + math.log1p(-math.expm1(-half))
    lower = Fraction(math.floor(exact * (1 - 1e-12) * STEPS), STEPS)
    return lower if lower > 0 else epsilon / 2


@dataclass(frozen=True, kw_only=True)
class GraphCollection(Method[Graph, CollectedGraph]):
    """Collect a graph by randomised response on every pair of nodes, one report per pair.

    Parameters
    ----------
    epsilon
        Privacy loss for one edge.
    mechanism
        `"response"`: each pair is reported truthfully with probability e^ε/(1 + e^ε), which is
        optimal. `"laplace"`: rounded Laplace noise of scale 1/ε, for comparison.
    variant
        `"proved"`, or `"published"`, which uses the true number of edges and is not private.
    accept_unproven
        Must be true for the published variant, which is not private.

    Notes
    -----
    Privacy: one edge is one pair, which is reported once and flipped with probability 1/(1 + e^ε);
    the number of edges is estimated from the reports (docs/proofs/graph-collection.md).
    """

    kind: ClassVar[str] = "graph"
    proof: ClassVar[str] = "graph-collection.md"
    former_names: ClassVar[dict[str, str]] = {"noise": "mechanism"}

    mechanism: str = parameter(OneOf(("response", "laplace")), "response")
    variant: str = parameter(OneOf(("proved", "published")), "proved")
    accept_unproven: bool = parameter(Flag(), False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.variant == "published" and not self.accept_unproven:
            raise ValueError(
                "variant='published' releases the true number of edges and is not private; use "
                "variant='proved', or set accept_unproven=True for a comparison without a privacy "
                "guarantee"
            )

    @property
    def basis(self) -> Basis:
        """Proved, but for the published variant."""
        return Basis.PROVED if self.variant == "proved" else Basis.PUBLISHED

    def primitive(self, public: GraphPublic) -> RandomizedPairs:
        """Return the law of the reports."""
        loss = self.loss()
        assert isinstance(loss, PureDP)
        epsilon = loss.epsilon if self.mechanism == "response" else laplace_epsilon(loss.epsilon)
        return RandomizedPairs(nodes=public.nodes, epsilon=epsilon)

    def check(self, public: GraphPublic) -> None:
        """Raise where the graph is too large for a matrix."""
        super().check(public)
        if public.nodes > MOST_DENSE:
            raise ValueError(
                f"GraphCollection is for at most {MOST_DENSE:,} nodes; got {public.nodes:,}"
            )
        self.primitive(public).require_feasible()

    def plan(self, public: GraphPublic) -> Plan:
        """Return how often a pair is told falsely, and how well edges will be counted."""
        self.check(public)
        primitive = self.primitive(public)
        off = PairEstimates(primitive, primitive.encode(np.zeros(0, dtype=np.int64)))
        step = PlanStep(
            what=f"{primitive.size:,} pairs of nodes",
            loss=self.loss(),
            noise=f"each is reported falsely with probability {primitive.flip:.3g}",
            error=(
                f"edges ± {off.edges.deviation:,.4g}, a degree ± "
                f"{off.deviation * math.sqrt(max(public.nodes - 1, 0)):,.4g} (1 s.d.)"
            ),
            figures={"flip": primitive.flip, "margin": USUAL * off.edges.deviation},
        )
        sizes = (Size(primitive.size, "collected pairs"),)
        return Plan(method=self.name, guarantee=self.guarantee(public), steps=(step,), sizes=sizes)

    def program(self, public: GraphPublic, budget: Budget) -> Program[CollectedGraph]:
        """Ask for all pairs at once."""
        pairs = self.primitive(public)
        if self.variant == "published":
            collect = find_published("randomized_response:collect_graph")
            printed: CollectedGraph = yield from collect(public, pairs, budget)
            return printed
        said = yield Ask(budget, pairs, JoinedPairs(), PAIRS)
        yield FINISH
        told = PairEstimates(pairs, said)
        note = (
            "All counts are unbiased: one that is small beside its margin may be negative, and "
            "says little."
        )
        return CollectedGraph(
            public, told.edges, told.degrees, told.triangles(), told.stars(2), notes=(note,)
        )
