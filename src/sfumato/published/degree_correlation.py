"""DP-1K and DP-2K: noise on the bins that are occupied, and on no others.

Wang and Wu, "Preserving Differential Privacy in Degree-Correlation based Graph Generation", 2013
(Wang's dissertation of 2015, chapter 3).

Printed: Laplace noise on how many nodes have each degree gives ε-DP (DP-1K), smooth noise on how
many edges join each two degrees (ε, δ)-DP (DP-2K). Which bins get noise is not said; the sizes of
the published graphs fit those that are occupied.

It fails because which degrees occur is then told as it is. Two nodes, joined or not: no output is
possible on both graphs, so the loss is infinite at ε = 1, and δ is 1. The bound of DP-2K is too
small besides (docs/refuted.md: dp-1k, dp-2k, joint-degrees). `DKGraph` has noise on every bin of a
public range.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.data.graph import GraphPublic
from sfumato.graph.degree_repair import graphical, shares
from sfumato.graph.joint_degrees import nodes_by_degree, repair_joint
from sfumato.graph.joint_models import JointModel
from sfumato.graph.models import DegreeModel
from sfumato.graph.synthetic import SyntheticGraph
from sfumato.noise.private_scale import perturb_laplace
from sfumato.privacy.budget import Budget
from sfumato.privacy.loss import ApproxDP, Loss, Measure, PureDP, convert
from sfumato.privacy.plan import PlanStep
from sfumato.privacy.primitive import Change, Primitive, require_array, require_wholes
from sfumato.privacy.program import FINISH, Ask, Program
from sfumato.published.queries import OccupiedDegrees, OccupiedInput, OccupiedJointDegrees

__all__ = ["OccupiedBins", "PublishedDegrees", "PublishedJoint"]

Integers = NDArray[np.int64]

#: The label in transcripts.
OCCUPIED = "occupied bins"
#: With very much noise the published sizes are absurd; no graph is drawn with more nodes or edges.
MOST = 2**20


@dataclass(frozen=True, kw_only=True)
class OccupiedBins(Primitive):
    """Say which bins are occupied, and add Laplace noise to what is in them: not private.

    Parameters
    ----------
    nodes
        How many nodes the graph has; a degree is less than that.
    degrees
        How many degrees name a bin: one, or two for the ends of an edge.
    epsilon, delta
        What the paper says that it costs; δ is 0 for plain noise.

    Notes
    -----
    Privacy: none. An output that names a bin has probability 0 on a neighbour that does not occupy
    it.
    """

    kind: ClassVar[str] = "noise on occupied bins"

    nodes: int
    degrees: int
    epsilon: Fraction
    delta: Fraction

    def cost(self, measure: Measure) -> Loss:
        """Return what the paper claims."""
        claimed: Loss = PureDP(self.epsilon)
        if self.delta:
            claimed = ApproxDP(self.epsilon, self.delta)
        return convert(claimed, measure)

    def check(self, value: Any) -> None:
        """Raise unless the input is one of occupied bins."""
        if not isinstance(value, OccupiedInput) or len(value.bins) != len(value.counts):
            raise ValueError("the input must be an OccupiedInput(bins, counts, scale)")

    def sample(self, value: OccupiedInput) -> tuple[Any, Any]:
        """Return the bins and their noisy counts, rounded."""
        if not value.bins:
            return np.zeros((0, self.degrees), dtype=np.int64), np.zeros(0, dtype=object)
        noisy = perturb_laplace(value.counts, value.scale, grid_exponent=0)
        return np.array(value.bins, dtype=np.int64), np.array(noisy, dtype=object)

    def check_output(self, output: Any) -> None:
        """Raise unless an output is an increasing list of bins and a whole number for each."""
        bins, noisy = output
        require_wholes(noisy, np.shape(noisy)[:1])
        require_array(bins, np.int64, (len(noisy), self.degrees))
        if bins.min(initial=0) < 0 or bins.max(initial=0) >= max(self.nodes, 1):
            raise ValueError(f"a degree in a graph of {self.nodes} nodes is less than that")
        named = list(map(tuple, bins.tolist()))
        if any(before >= after for before, after in pairwise(named)):
            raise ValueError("each bin is named once, in increasing order")
        if any(list(ends) != sorted(ends) for ends in named):
            raise ValueError("the smaller degree of a bin comes first")

    def log_probability(self, value: OccupiedInput, output: tuple[Any, Any]) -> float:
        """Return the log-probability of an output: −∞ where other bins are named."""
        bins, noisy = output
        if tuple(map(tuple, bins.tolist())) != value.bins:
            return -math.inf
        scale = float(value.scale)
        return math.fsum(
            _log_mass(float(int(said) - true), scale)
            for said, true in zip(noisy, value.counts, strict=True)
        )

    def change(self, value: OccupiedInput, neighbour: OccupiedInput) -> Change:
        """Tell that nothing hides which bins are occupied."""
        norm = "whether the same bins are occupied"
        return Change(0 if value.bins == neighbour.bins else math.inf, 1, norm)


def _log_mass(apart: float, scale: float) -> float:
    """Return the log-probability that scale·Laplace is rounded to `apart`."""
    if abs(apart) < 0.5:
        return math.log(-math.expm1(-0.5 / scale))
    return -(abs(apart) - 0.5) / scale + math.log(-math.expm1(-1 / scale) / 2)


def _step(what: str, loss: Loss) -> PlanStep:
    return PlanStep(
        what=what, loss=loss, noise="Laplace, on occupied bins only", error="not private"
    )


def _positive(noisy: Any) -> Integers:
    """Return noisy counts as whole numbers of at least 0, of a sum that can be drawn."""
    counts = np.array([max(min(int(x), 2**40), 0) for x in noisy], dtype=np.int64)
    return counts if counts.sum() <= MOST else shares(counts, MOST)


@dataclass(frozen=True)
class PublishedDegrees:
    """DP-1K as published: Laplace noise of scale 4/ε on the degrees that occur.

    Parameters
    ----------
    loss
        What the paper says that it costs.
    """

    loss: PureDP

    def check(self, public: GraphPublic) -> None:
        """Accept every graph."""

    def steps(self, public: GraphPublic) -> tuple[PlanStep, ...]:
        """Return the line of the plan."""
        return (_step("how many nodes have each degree that occurs", self.loss),)

    def program(self, public: GraphPublic, budget: Budget) -> Program[SyntheticGraph]:
        """Ask for the bins that are occupied; graphs have as many nodes as were said."""
        primitive = OccupiedBins(
            nodes=public.nodes, degrees=1, epsilon=self.loss.epsilon, delta=Fraction(0)
        )
        query = OccupiedDegrees(4 / self.loss.epsilon)
        bins, noisy = yield Ask(budget, primitive, query, OCCUPIED)
        yield FINISH
        degrees = np.repeat(bins[:, 0], _positive(noisy))
        if degrees.sum() > 2 * MOST:
            degrees = degrees[np.cumsum(degrees) <= 2 * MOST]
        found = graphical(degrees)
        return SyntheticGraph(public, DegreeModel(found.degrees), moved=found.moved)


@dataclass(frozen=True)
class PublishedJoint:
    """DP-2K as published: smooth noise on the pairs of degrees that occur.

    Parameters
    ----------
    loss
        What the paper says that it costs.
    """

    loss: ApproxDP

    def check(self, public: GraphPublic) -> None:
        """Accept every graph."""

    def steps(self, public: GraphPublic) -> tuple[PlanStep, ...]:
        """Return the line of the plan."""
        return (_step("the edges between nodes of each two degrees that occur", self.loss),)

    def program(self, public: GraphPublic, budget: Budget) -> Program[SyntheticGraph]:
        """Ask for the bins that are occupied; graphs have as many nodes as these take."""
        primitive = OccupiedBins(
            nodes=public.nodes, degrees=2, epsilon=self.loss.epsilon, delta=self.loss.delta
        )
        bins, noisy = yield Ask(budget, primitive, OccupiedJointDegrees(self.loss), OCCUPIED)
        yield FINISH
        counts = _positive(noisy)
        low, high = bins[:, 0], bins[:, -1]
        # As many nodes as all degrees could take.
        room = int((counts / np.maximum(low, 1) + counts / np.maximum(high, 1)).sum()) + 2
        found = repair_joint(low, high, counts, room + int(high.max(initial=0)) + 1)
        degrees, ends = nodes_by_degree(found.joint)
        nodes = int((ends // np.maximum(degrees, 1)).sum())
        model = JointModel(found.joint, nodes, exact=False)
        return SyntheticGraph(public, model, moved=found.moved)
