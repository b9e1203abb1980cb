"""How many edges the nodes of a graph have, in order and without their names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.data.graph import Graph, GraphPublic
from sfumato.graph.degrees import DegreeRelease
from sfumato.graph.queries import SortedDegrees
from sfumato.mechanisms.count_noise import count_noise, margin
from sfumato.mechanisms.isotonic import repair_sorted_counts
from sfumato.mechanisms.laplace import GeometricNoise
from sfumato.privacy.budget import Budget
from sfumato.privacy.loss import Loss
from sfumato.privacy.method import Method
from sfumato.privacy.plan import Plan, PlanStep, Size
from sfumato.privacy.program import FINISH, Ask, Program

__all__ = ["DegreeSequence", "ask_degrees", "degree_noise", "degree_step", "repair_degrees"]

#: The label of the sorted degrees in transcripts.
DEGREES = "degrees"


@dataclass(frozen=True, kw_only=True)
class DegreeSequence(Method[Graph, DegreeRelease]):
    """Release the sorted degrees of all nodes, denoised by isotonic regression.

    Parameters
    ----------
    epsilon
        Privacy loss for one edge.

    Notes
    -----
    Privacy: one edge raises two degrees by 1, and so two entries of the sorted degrees: geometric
    noise of scale 2/ε is ε-DP, and isotonic regression sees the noisy sequence alone
    (docs/proofs/degrees.md).
    """

    kind: ClassVar[str] = "graph"
    proof: ClassVar[str] = "degrees.md"

    def plan(self, public: GraphPublic) -> Plan:
        """Return the plan."""
        self.check(public)
        limit, _ = self.record_budget(public)
        return Plan(
            method=self.name,
            guarantee=self.guarantee(public),
            steps=(degree_step(public, limit, self.loss()),),
            sizes=(Size(public.nodes, "nodes"),),
        )

    def program(self, public: GraphPublic, budget: Budget) -> Program[DegreeRelease]:
        """Ask for the sorted degrees, and repair them."""
        loss = budget.remaining
        noisy = yield ask_degrees(public, budget)
        yield FINISH
        return repair_degrees(public, noisy, loss)


def degree_noise(public: GraphPublic, loss: Loss) -> GeometricNoise:
    """Return the noise on the sorted degrees that spends a loss: one edge moves two of them."""
    noise = count_noise((public.nodes,), loss, public.relation, moves=2)
    assert isinstance(noise, GeometricNoise)
    return noise


def degree_step(public: GraphPublic, loss: Loss, told: Loss) -> PlanStep:
    """Return the line of a plan for the sorted degrees."""
    noise = degree_noise(public, loss)
    return PlanStep(
        what=f"the degrees of {public.nodes:,} nodes, sorted",
        loss=told,
        noise=f"± {noise.standard_deviation:.4g} (1 s.d.) on each",
        error=f"± {margin(noise):,.4g} at most, 19 times in 20; less where many degrees are alike",
        figures={"margin": margin(noise)},
    )


def ask_degrees(public: GraphPublic, budget: Budget) -> Ask:
    """Return the request for the sorted degrees; it spends the whole slice."""
    return Ask(budget, degree_noise(public, budget.remaining), SortedDegrees(), DEGREES)


def repair_degrees(public: GraphPublic, noisy: NDArray[np.int64], loss: Loss) -> DegreeRelease:
    """Return the closest sequence of degrees to the noisy one that is in order and possible."""
    degrees = repair_sorted_counts(noisy, largest=max(public.nodes - 1, 0))
    return DegreeRelease(degrees, margin=margin(degree_noise(public, loss)))
