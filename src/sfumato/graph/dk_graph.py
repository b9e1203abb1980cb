"""Synthetic graphs with the degrees, the joint degrees or the triples of a private one.

The dK series of Mahadevan, Krioukov, Fall and Vahdat tells of a graph how many nodes have each
degree (1K), how many edges join each two degrees (2K), and how many wedges and triangles there are
by degree (3K); Wang and Wu made noise of it. What they published leaks which degrees occur: here
is what holds, and theirs beside it to compare with.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.data.graph import Graph, GraphPublic
from sfumato.graph import dk_bounds
from sfumato.graph.dk_one import DegreeHistogram, SortedPart
from sfumato.graph.dk_parts import MOST_BINS, DKPart, combine_estimates, noise_of
from sfumato.graph.dk_series import Triples, triangle_kinds, wedge_kinds
from sfumato.graph.dk_two import MOST_GROUPS, GroupedDegrees
from sfumato.graph.joint_degrees import repair_joint
from sfumato.graph.joint_models import JointModel, TripleModel
from sfumato.graph.number import EDGES, ask_edges, edge_noise, edge_step
from sfumato.graph.queries import JointDegreeTable, LargestDegree, TripleTable, WidestPair
from sfumato.graph.synthetic import SyntheticGraph, drawn_sizes
from sfumato.mechanisms.count_noise import margin
from sfumato.mechanisms.smooth import SmoothLaplace
from sfumato.privacy.budget import Budget
from sfumato.privacy.guarantee import Basis
from sfumato.privacy.loss import ApproxDP, Loss, Number, PureDP
from sfumato.privacy.method import Method
from sfumato.privacy.parameters import DELTA, SHARE, Flag, OneOf, OrNone, Whole, parameter
from sfumato.privacy.plan import Plan, PlanStep
from sfumato.privacy.program import FINISH, Ask, Program
from sfumato.privacy.registry import find_published

__all__ = ["DKGraph"]

#: What each order can be measured by; the first is the default.
MODES = {1: ("sorted", "histogram"), 2: ("grouped", "smooth"), 3: ("smooth",)}
#: The share of ε that is for the degrees, where something else is counted beside them.
DEGREE_SHARE = {
    "sorted": Fraction(9, 10),
    "histogram": Fraction(9, 10),
    "grouped": Fraction(3, 4),
}
#: The published variant of each order that has one.
PUBLISHED = {1: "degree_correlation:PublishedDegrees", 2: "degree_correlation:PublishedJoint"}
#: Degrees up to this are told apart, if nothing is said.
USUAL_CAP = {2: 100, 3: 12}


@dataclass(frozen=True, kw_only=True)
class DKGraph(Method[Graph, SyntheticGraph]):
    """Release synthetic graphs that approximate the degrees or joint degrees of a private graph.

    Parameters
    ----------
    epsilon
        Privacy loss for one edge.
    order
        What is preserved. 1: the degrees. 2: also the joint degrees, the number of edges between
        nodes of any two degrees. 3: also wedges and triangles (experimental).
    mechanism
        What is measured. Order 1: `"sorted"` (the sorted degrees) or `"histogram"` (the number of
        nodes of each degree). Order 2: `"grouped"` (edges between groups of nodes of similar
        degree) or `"smooth"` (edges between any two degrees). Order 3: `"smooth"`. `"auto"` picks
        the first one listed for the order.
    delta
        Required by the smooth mechanisms, refused by the others.
    cap
        For `"histogram"` and `"smooth"`: a larger degree counts as this degree. Default: the
        largest possible degree (histogram), 100 (order 2), 12 (order 3).
    degree_share
        Share of ε for the degrees. Default: 9/10 for `"sorted"` and `"histogram"` (the rest is for
        the number of edges), 3/4 for `"grouped"` (the rest is for edges between groups).
    groups
        Largest number of groups for the mechanism `"grouped"`.
    variant
        `"published"` is DP-1K (order 1) or DP-2K (order 2) as printed. It adds noise only to
        degrees that occur, so it is not private.
    accept_unproven
        Must be true for the published variant, which is not private.

    Notes
    -----
    Privacy: one edge moves two sorted degrees, or two of the nodes' degrees, by 1, and one count
    of edges between public groups by 1; it moves at most 4 entries of the histogram; joint degrees
    and triples have smooth bounds and noise on every bin (docs/proofs/dk-graphs.md). Drawing
    graphs is post-processing.
    """

    kind: ClassVar[str] = "graph"
    proof: ClassVar[str] = "dk-graphs.md"
    former_names: ClassVar[dict[str, str]] = {"mode": "mechanism"}

    order: int = parameter(Whole(1, 3), 2)
    mechanism: str = parameter(OneOf(("auto", "sorted", "histogram", "grouped", "smooth")), "auto")
    delta: Number | None = parameter(OrNone(DELTA), None)
    cap: int | None = parameter(OrNone(Whole(1)), None)
    degree_share: Fraction | None = parameter(OrNone(SHARE), None)
    groups: int | None = parameter(OrNone(Whole(1, MOST_GROUPS)), None)
    variant: str = parameter(OneOf(("proved", "published")), "proved")
    accept_unproven: bool = parameter(Flag(), False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.mechanism not in ("auto", *MODES[self.order]):
            raise ValueError(
                f"mechanism of order {self.order} must be "
                f"{' or '.join(map(repr, MODES[self.order]))}; got {self.mechanism!r}"
            )
        self._check_variant()
        needs_delta = self._chosen == "smooth" or (self._published and self.order == 2)
        if needs_delta and self.delta is None:
            raise ValueError(
                "the noise scale of this mechanism is private, which requires delta; pass delta=…"
            )
        if not needs_delta and self.delta is not None:
            raise ValueError(f"mechanism {self._chosen!r} has a pure privacy loss; leave delta out")
        self._refuse_idle("cap", self._chosen in ("histogram", "smooth"))
        self._refuse_idle("degree_share", self._chosen in DEGREE_SHARE)
        self._refuse_idle("groups", self._chosen == "grouped")

    def _check_variant(self) -> None:
        if not self._published:
            return
        if self.order == 3 or self.mechanism != "auto":
            raise ValueError("the published variant needs order 1 or 2, and mechanism 'auto'")
        if not self.accept_unproven:
            raise ValueError(
                f"the published DP-{self.order}K is not private: it reveals which degrees occur; "
                "use variant='proved', or set accept_unproven=True for a comparison without a "
                "privacy guarantee"
            )

    def _refuse_idle(self, name: str, used: bool) -> None:
        """Refuse a parameter that would make no difference."""
        if getattr(self, name) is not None and not used:
            raise ValueError(f"{name} has no effect with mechanism {self._chosen!r}; leave it out")

    @property
    def _published(self) -> bool:
        return self.variant == "published"

    @property
    def _chosen(self) -> str:
        """The mode that is used; the published variants have none of ours."""
        if self._published:
            return "published"
        return MODES[self.order][0] if self.mechanism == "auto" else self.mechanism

    @property
    def basis(self) -> Basis:
        """Proved, but for the published variants."""
        return Basis.PUBLISHED if self._published else Basis.PROVED

    def loss(self) -> Loss:
        """Return ε, or (ε, δ)."""
        if self.delta is None:
            return PureDP(self.epsilon)
        return ApproxDP(self.epsilon, self.delta)

    def check(self, public: GraphPublic) -> None:
        """Raise where there would be too many bins."""
        super().check(public)
        self._part(public).check(public)

    def _part(self, public: GraphPublic) -> DKPart:
        """Return the way in which the graph is measured."""
        limit, _ = self.record_budget(public)
        if self._published:
            printed: DKPart = find_published(PUBLISHED[self.order])(limit)
            return printed
        share = self.degree_share or DEGREE_SHARE.get(self._chosen)
        if isinstance(limit, ApproxDP):
            cap = self.cap or USUAL_CAP[self.order]
            return JointHistogram(limit, cap) if self.order == 2 else TripleHistogram(limit, cap)
        assert isinstance(limit, PureDP)
        match self._chosen:
            case "histogram":
                assert share is not None
                return DegreeHistogram(limit, share, self.cap)
            case "sorted":
                assert share is not None
                return SortedPart(limit, share)
            case _:
                assert share is not None
                return GroupedDegrees(limit, share, self.groups or MOST_GROUPS)

    def plan(self, public: GraphPublic) -> Plan:
        """Return the plan."""
        self.check(public)
        steps = self._part(public).steps(public)
        sizes = drawn_sizes(public, steps)
        return Plan(method=self.name, guarantee=self.guarantee(public), steps=steps, sizes=sizes)

    def program(self, public: GraphPublic, budget: Budget) -> Program[SyntheticGraph]:
        """Ask for what tells the series, and return graphs that have it."""
        return self._part(public).program(public, budget)


# dK-3 with noise that follows the graph: wedges and triangles by the degrees of their nodes.
#
# Experimental: one edge can change them by about six times the square of the largest degree.
# Proof: docs/proofs/dk-graphs.md.


#: The labels in transcripts, and of the slices.
LARGEST = "largest degree"
TRIPLES = "triples"


@dataclass(frozen=True)
class TripleHistogram:
    """Joint degrees, and how many wedges and triangles there are by the degrees of their nodes.

    Parameters
    ----------
    loss
        What may be spent, for one edge; one half is for the joint degrees.
    cap
        Nodes of more edges are counted as having so many.
    """

    loss: ApproxDP
    cap: int

    @property
    def _joint(self) -> JointHistogram:
        return JointHistogram(self.loss.share(Fraction(1, 2)), self.cap)

    @property
    def _losses(self) -> tuple[ApproxDP, ApproxDP]:
        """What the largest degree and the triples may spend."""
        small, rest = parts_of(self.loss.share(Fraction(1, 2)), 1)
        return small, rest

    def check(self, public: GraphPublic) -> None:
        """Refuse more bins than are measured, and a loss too small for any smooth bound."""
        self._joint.check(public)
        most = self._most(public)
        require_bins(_wedge_bins(most) + _triangle_bins(most), self.cap, 46)
        self._bound(public, 0)

    def _most(self, public: GraphPublic) -> int:
        """Return the largest degree that is told apart; a wedge has a centre of 2 at least."""
        return max(self._joint.most(public), 2)

    def _primitive(self, public: GraphPublic) -> SmoothLaplace:
        most = self._most(public)
        return SmoothLaplace(
            epsilon=self._losses[1].epsilon,
            delta=self._losses[1].delta,
            dimension=_wedge_bins(most) + _triangle_bins(most),
            grid_exponent=0,
        )

    def _bound(self, public: GraphPublic, degree: int) -> Fraction:
        """Return the smooth bound of a graph of this largest degree."""
        return dk_bounds.triple_bound(public.nodes, degree, self._primitive(public).beta)

    def steps(self, public: GraphPublic) -> tuple[PlanStep, ...]:
        """Return the lines of the plan."""
        small, rest = self._losses
        return (
            *self._joint.steps(public),
            scale_step("the largest degree", small),
            table_step("wedges and triangles by the degrees of their nodes (experimental)", rest),
        )

    def program(self, public: GraphPublic, budget: Budget) -> Program[SyntheticGraph]:
        """Ask for joint degrees, the largest degree, and all bins of wedges and triangles.

        Graphs have about these joint degrees, and are rewired towards these triples.
        """
        small, rest = self._losses
        joint = yield from self._joint.ask(public, budget)
        largest = yield Ask(
            budget.take(small, LARGEST), noise_of(small, (1,), 1), LargestDegree(), LARGEST
        )
        primitive, most = self._primitive(public), self._most(public)
        query = TripleTable(most, primitive.beta)
        noisy = cut_to_possible((yield Ask(budget.take(rest, TRIPLES), primitive, query, TRIPLES)))
        yield FINISH
        base, moved = self._joint.model(public, joint)
        degree = min(max(int(largest[0]), 0), max(public.nodes - 1, 0))
        least = threshold(self._bound(public, degree), primitive)
        counts = np.where(noisy > least, noisy, 0).astype(np.int64)
        wedges, triangles = np.split(counts, [_wedge_bins(most)])
        target = Triples(
            wedge_kinds(most)[wedges > 0],
            wedges[wedges > 0],
            triangle_kinds(most)[triangles > 0],
            triangles[triangles > 0],
        )
        return SyntheticGraph(public, TripleModel(base, target), moved=moved)


def _wedge_bins(most: int) -> int:
    """Return how many kinds of wedges there are: a centre of 2 … most, two ends of 1 … most."""
    return (most - 1) * most * (most + 1) // 2


def _triangle_bins(most: int) -> int:
    """Return how many kinds of triangles there are: three degrees of 2 … most."""
    return (most - 1) * most * (most + 1) // 6


# dK-2 with noise that follows the graph: every bin of a public grid of degrees.
#
# The noise has the scale of a smooth bound, which is private: what is kept of the noisy bins is
# decided by a guess at that scale which is paid for, never by the scale itself. Proof:
# docs/proofs/dk-graphs.md.


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


def cut_to_possible(noisy: Any) -> NDArray[np.float64]:
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
        error="depends on the graph, so it is private; rare degrees are lost in it",
    )


def require_bins(bins: int, cap: int, most: int) -> None:
    """Raise where a cap makes more bins than are measured; `most` is the largest that does not."""
    if bins > MOST_BINS:
        raise ValueError(
            f"cap = {cap} needs {bins:,} bins; at most {MOST_BINS:,} are allowed; choose a cap of "
            f"at most {most}"
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
        return JointAnswers(int(edge_count[0]), int(widest[0]), cut_to_possible(noisy))

    def model(self, public: GraphPublic, said: JointAnswers) -> tuple[JointModel, float]:
        """Return the model of what was said, and how far that had to be moved."""
        noisy = said.table
        deviation = edge_noise(parts_of(self.loss, 2)[0]).standard_deviation
        edges = combine_estimates([(float(said.edges), deviation)], public)
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
        found = repair_joint(low, high, np.append(weights, rest), public.nodes)
        return JointModel(found.joint, public.nodes), found.moved

    def program(self, public: GraphPublic, budget: Budget) -> Program[SyntheticGraph]:
        """Ask, and return graphs with about these joint degrees."""
        said = yield from self.ask(public, budget)
        yield FINISH
        model, moved = self.model(public, said)
        return SyntheticGraph(public, model, moved=moved)
