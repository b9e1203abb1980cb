"""Synthetic graphs with the degrees, the joint degrees or the triples of a private one.

The dK series of Mahadevan, Krioukov, Fall and Vahdat tells of a graph how many nodes have each
degree (1K), how many edges join each two degrees (2K), and how many wedges and triangles there are
by degree (3K); Wang and Wu made noise of it. What they published leaks which degrees occur: here
is what holds, and theirs beside it to compare with.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from sfumato.data.graph import Graph, GraphPublic
from sfumato.graph.dk_joint import JointHistogram
from sfumato.graph.dk_one import DegreeHistogram, SortedPart
from sfumato.graph.dk_parts import DKPart
from sfumato.graph.dk_three import TripleHistogram
from sfumato.graph.dk_two import MOST_GROUPS, GroupedDegrees
from sfumato.graph.synthetic import SyntheticGraph, drawn_sizes
from sfumato.privacy.budget import Budget
from sfumato.privacy.guarantee import Basis
from sfumato.privacy.loss import ApproxDP, Loss, Number, PureDP
from sfumato.privacy.method import Method
from sfumato.privacy.parameters import DELTA, SHARE, Flag, OneOf, OrNone, Whole, parameter
from sfumato.privacy.plan import Plan
from sfumato.privacy.program import Program
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
    """Release synthetic graphs with about the degrees or the joint degrees of a private graph.

    Parameters
    ----------
    epsilon
        Privacy loss for one edge.
    order
        What is kept: 1 the degrees, 2 also how many edges join nodes of few and of many edges, 3
        also wedges and triangles (experimental).
    mechanism
        How it is measured. Order 1: `"sorted"`, the degrees in order, or `"histogram"`. Order 2:
        `"grouped"`, edges between groups of nodes of about the same degree, or `"smooth"`, every
        two degrees. Order 3: `"smooth"`. By default the first that is named.
    delta
        Needed by the smooth mechanisms, and by them alone.
    cap
        For histograms and smooth mechanisms: nodes with more edges count as having so many. By
        default what there can be, 100 or 12.
    degree_share
        The share of ε for the degrees: 9/10 in `"sorted"` and `"histogram"` (the rest counts the
        edges), 3/4 in `"grouped"` (the rest counts edges between groups).
    groups
        The most groups of the mechanism `"grouped"`.
    variant
        `"published"` is DP-1K (order 1) or DP-2K (order 2) as printed, with noise on the degrees
        that occur and on no others.
    accept_unproven
        Needed for the published variant, which is not private.

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
                f"order {self.order} is measured by {' or '.join(map(repr, MODES[self.order]))}; "
                f"got mechanism = {self.mechanism!r}"
            )
        self._check_variant()
        needs_delta = self._chosen == "smooth" or (self._published and self.order == 2)
        if needs_delta and self.delta is None:
            raise ValueError("noise that follows the graph costs a delta as well; say delta=…")
        if not needs_delta and self.delta is not None:
            raise ValueError(f"the mode {self._chosen!r} has a pure loss; leave delta out")
        self._refuse_idle("cap", self._chosen in ("histogram", "smooth"))
        self._refuse_idle("degree_share", self._chosen in DEGREE_SHARE)
        self._refuse_idle("groups", self._chosen == "grouped")

    def _check_variant(self) -> None:
        if not self._published:
            return
        if self.order == 3 or self.mechanism != "auto":
            raise ValueError("the published variant is of order 1 or 2, and has no other mode")
        if not self.accept_unproven:
            raise ValueError(
                f"the published DP-{self.order}K is not private: it tells which degrees occur; use "
                "variant='proved', or set accept_unproven=True for a comparison that promises "
                "nothing"
            )

    def _refuse_idle(self, name: str, used: bool) -> None:
        """Refuse a parameter that would make no difference."""
        if getattr(self, name) is not None and not used:
            raise ValueError(f"{name} is of no use in the mode {self._chosen!r}; leave it out")

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
