"""dK-2 with noise that follows the graph: every bin of a public grid of degrees.

The noise has the scale of a smooth bound, which is private: what is kept of the noisy bins is
decided by a guess at that scale which is paid for, never by the scale itself. Proof:
docs/proofs/dk-graphs.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.data.graph import GraphPublic
from sfumato.graph import dk_bounds
from sfumato.graph.dk_parts import MOST_BINS, joined_estimate, noise_of
from sfumato.graph.joint_degrees import repaired_joint
from sfumato.graph.joint_models import JointModel
from sfumato.graph.margins import margin
from sfumato.graph.number import EDGES, ask_edges, edge_noise, edge_step
from sfumato.graph.queries import JointDegreeTable, WidestPair
from sfumato.graph.synthetic import SyntheticGraph
from sfumato.mechanisms.smooth import SmoothLaplace
from sfumato.privacy.budget import Budget
from sfumato.privacy.loss import ApproxDP
from sfumato.privacy.plan import PlanStep
from sfumato.privacy.program import FINISH, Ask, Program

__all__ = [
    "JointHistogram",
    "counted",
    "parts_of",
    "require_bins",
    "scale_step",
    "table_step",
    "threshold",
]

Integers = NDArray[np.int64]

#: The labels in transcripts, and of the slices.
WIDEST = "widest pair"
JOINT = "joint degrees"
#: The share of ε that tells the number of edges, and the share that tells the scale of the noise.
SMALL_SHARE = Fraction(1, 20)
#: So many empty bins are expected to pass for occupied ones.
PHANTOMS = 10
#: Noisy numbers are cut to this, beyond which nothing is possible.
LARGEST_COUNT = 2**53


def parts_of(loss: ApproxDP, small: int) -> list[ApproxDP]:
    """Return some small pure parts of a loss, and the rest with all of its δ."""
    part = ApproxDP(loss.epsilon * SMALL_SHARE, 0)
    rest = ApproxDP(loss.epsilon * (1 - small * SMALL_SHARE), loss.delta)
    return [part] * small + [rest]


def counted(noisy: Any) -> NDArray[np.float64]:
    """Return integers of any size as floats, cut to what is possible."""
    return np.array([float(min(max(int(x), -LARGEST_COUNT), LARGEST_COUNT)) for x in noisy])


def threshold(bound: Fraction, primitive: SmoothLaplace) -> float:
    """Return what few of the empty bins exceed if the smooth bound is this one."""
    bins = primitive.dimension
    scale = float(bound * primitive.calibration.factor)
    return scale * max(math.log(bins / (2 * PHANTOMS)), 0.0)


def scale_step(what: str, loss: ApproxDP) -> PlanStep:
    """Return the line of a plan for what tells the scale of the noise."""
    noise = noise_of(loss, (1,), 1)
    return PlanStep(
        what=f"{what}, which tells how large the noise is",
        loss=loss,
        noise=f"± {noise.standard_deviation:.4g} (1 s.d.)",
        error=f"± {margin(noise):,.4g}",
        figures={"margin": margin(noise)},
    )


def table_step(what: str, loss: ApproxDP) -> PlanStep:
    """Return the line of a plan for all bins of a table."""
    return PlanStep(
        what=what,
        loss=loss,
        noise="smooth, Laplace",
        error="follows the graph, so it is private; rare degrees are lost in it",
    )


def require_bins(bins: int, cap: int, most: int) -> None:
    """Raise where a cap makes more bins than are measured; `most` is the largest that does not."""
    if bins > MOST_BINS:
        raise ValueError(
            f"at most {MOST_BINS:,} bins are measured, all of them with noise; cap = {cap} needs "
            f"{bins:,}; choose a cap of at most {most}"
        )


class JointAnswers(NamedTuple):
    """The noisy number of edges, the noisy widest pair, and all noisy bins."""

    edges: int
    widest: int
    table: NDArray[np.float64]


@dataclass(frozen=True)
class JointHistogram:
    """How many edges join nodes of each two degrees up to a public one, all bins with noise.

    Parameters
    ----------
    loss
        What may be spent, for one edge.
    cap
        Nodes of more edges are counted as having so many.
    """

    loss: ApproxDP
    cap: int

    def check(self, public: GraphPublic) -> None:
        """Refuse more bins than are measured, and a loss too small for any smooth bound."""
        most = self.most(public)
        require_bins(most * (most + 1) // 2, self.cap, 361)
        self._bound(public, 0)

    def most(self, public: GraphPublic) -> int:
        """Return the largest degree that is told apart."""
        return max(min(self.cap, public.nodes - 1), 1)

    def _bins(self, public: GraphPublic) -> Integers:
        """Return the bins: two degrees a row, the smaller first."""
        first, second = np.triu_indices(self.most(public))
        return np.stack([first + 1, second + 1], axis=1).astype(np.int64)

    def _primitive(self, public: GraphPublic) -> SmoothLaplace:
        *_, rest = parts_of(self.loss, 2)
        many = self.most(public)
        return SmoothLaplace(
            epsilon=rest.epsilon,
            delta=rest.delta,
            dimension=many * (many + 1) // 2,
            grid_exponent=0,
        )

    def _bound(self, public: GraphPublic, wide: int) -> Fraction:
        """Return the smooth bound of a graph whose widest pair has so many edges."""
        return dk_bounds.joint_bound(public.nodes, wide, self._primitive(public).beta)

    def steps(self, public: GraphPublic) -> tuple[PlanStep, ...]:
        """Return the lines of the plan."""
        edges, wide, rest = parts_of(self.loss, 2)
        many = self.most(public)
        return (
            edge_step(edges),
            scale_step("the most edges of two nodes", wide),
            table_step(f"the edges between nodes of degrees 1 to {many:,}, two by two", rest),
        )

    def ask(self, public: GraphPublic, budget: Budget) -> Program[JointAnswers]:
        """Ask for the number of edges, the widest pair, and all bins."""
        edges, wide, rest = parts_of(self.loss, 2)
        edge_count = yield ask_edges(budget.take(edges, EDGES))
        widest = yield Ask(budget.take(wide, WIDEST), noise_of(wide, (1,), 1), WidestPair(), WIDEST)
        primitive = self._primitive(public)
        table = JointDegreeTable(self.most(public), primitive.beta)
        noisy = yield Ask(budget.take(rest, JOINT), primitive, table, JOINT)
        return JointAnswers(int(edge_count[0]), int(widest[0]), counted(noisy))

    def model(self, public: GraphPublic, said: JointAnswers) -> tuple[JointModel, float]:
        """Return the model of what was said, and how far that had to be moved."""
        noisy = said.table
        deviation = edge_noise(parts_of(self.loss, 2)[0]).standard_deviation
        edges = joined_estimate([(float(said.edges), deviation)], public)
        wide = min(max(said.widest, 0), max(2 * public.nodes - 4, 0))
        kept = noisy > threshold(self._bound(public, wide), self._primitive(public))
        bins, weights = self._bins(public)[kept], noisy[kept]
        if weights.sum() > edges:
            weights = weights * (edges / weights.sum())
        rest = max(edges - float(weights.sum()), 0.0)
        # What is lost in the noise: the edges left over join the nodes left over, all alike.
        nodes = max(public.nodes - float((weights[:, None] / bins).sum()), 1.0)
        mean = min(max(round(2 * rest / nodes), 1), self.most(public))
        low, high = np.append(bins[:, 0], mean), np.append(bins[:, 1], mean)
        found = repaired_joint(low, high, np.append(weights, rest), public.nodes)
        return JointModel(found.joint, public.nodes), found.moved

    def program(self, public: GraphPublic, budget: Budget) -> Program[SyntheticGraph]:
        """Ask, and return graphs with about these joint degrees."""
        said = yield from self.ask(public, budget)
        yield FINISH
        model, moved = self.model(public, said)
        return SyntheticGraph(public, model, moved=moved)
