"""A statistic of a graph written as a formula over unit statistics.

Wang, Wu, Zhu and Xiang, *Preserving Differential Privacy in Complex Network Statistics*, call it
divide and conquer: what is hard to hide as a whole is made of parts that are easy to hide.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from sfumato.data.graph import Graph, GraphPublic
from sfumato.graph.units import graph_vocabulary, runs_over_nodes
from sfumato.mechanisms.expression.method import FormulaMethod
from sfumato.mechanisms.expression.parameters import Groups, Name
from sfumato.mechanisms.expression.reading import Vocabulary
from sfumato.privacy.loss import ApproxDP, Loss, Number, PureDP
from sfumato.privacy.parameters import DELTA, Flag, OneOf, OrNone, parameter

__all__ = ["GraphStatistic"]

#: The share of a unit's ε that tells the scale of its noise, where a standard error is asked for.
ERROR_SHARE = Fraction(1, 5)


@dataclass(frozen=True, kw_only=True)
class GraphStatistic(FormulaMethod[Graph]):
    """Release a graph statistic given as a formula.

    Parameters
    ----------
    epsilon
        Privacy loss for one edge, shared among the units of the formula.
    expression
        The formula, with `+ - * / **`, numbers, brackets and `choose2`, `choose3`, `share`, `sum`,
        `mean`, `sqrt`, `log`, `exp`, `abs`. Units: `edges`, `degree(v)`, `degrees`, `triangles`,
        `triangles(v)`, `wedges`, `wedges(v)`, `stars(k)`, `cliques(k)`, `k_triangles(k)`,
        `clustering(v)`, `mean_clustering`, `node_triangles`, `node_clustering`, `blocks`,
        `block(a, b)`, `group_ends`. The public number of `nodes`. Formulas by name: `density`,
        `mean_degree`, `transitivity`, `modularity`.
    delta
        Required by vectors with smooth sensitivity (`node_triangles`, `node_clustering`). With
        `mechanism="smooth"` and a delta, single numbers get Laplace instead of Cauchy noise.
    node
        The node that `v` stands for in the formula.
    groups
        The public group of each node, for `blocks`, `block(a, b)`, `group_ends` and `modularity`: a
        dictionary by node, or a list in the order of the nodes. Nodes with names are in sorted
        order, as in `public.labels`, however they were declared.
    split
        How ε is split over the units: `"equal"`, `"optimal"` (for the values in `guess`), or a
        dictionary of weights by unit.
    guess
        Public guesses of the values of the units. They must not be derived from the private graph.
    mechanism
        `"auto"` uses the ladder mechanism where there is one; `"smooth"` uses smooth sensitivity
        instead.
    standard_error
        Whether to spend budget on a standard error where the noise scale is private: a fifth of the
        ε of each such unit releases a noisy estimate of that scale.
    floor
        Smallest allowed denominator. Denominators are assumed to be positive.
    between
        A public range to which the value is clipped.

    Notes
    -----
    Privacy: the units are measured with parts of ε that add up, each by a primitive whose
    sensitivity, ladder or smooth bound is proved for one edge; all else is post-processing
    (docs/proofs/expressions.md).
    """

    kind: ClassVar[str] = "graph"
    proof: ClassVar[str] = "expressions.md"
    example: ClassVar[dict[str, Any]] = {"expression": "edges ** 2"}
    small: ClassVar[str] = "numbers, at most as many as a formula has groups"
    former_names: ClassVar[dict[str, str]] = {"noise": "mechanism"}

    delta: Number | None = parameter(OrNone(DELTA), None)
    node: Any = parameter(OrNone(Name()), None)
    groups: Any = parameter(OrNone(Groups()), None)
    mechanism: str = parameter(OneOf(("auto", "smooth")), "auto")
    standard_error: bool = parameter(Flag(), False)

    def loss(self) -> Loss:
        """Return ε, or (ε, δ)."""
        if self.delta is None:
            return PureDP(self.epsilon)
        return ApproxDP(self.epsilon, self.delta)

    def check(self, public: GraphPublic) -> None:
        """Raise where the formula does not fit the nodes, or the budget the formula."""
        super().check(public)
        units = self._term(public, self.expression).units
        if self.delta is not None and not any(unit.statistic.needs_delta for unit in units):
            raise ValueError("no unit of this formula uses delta; leave delta out")
        if self.standard_error and all(plan.scale is None for plan in self._plans(public)):
            raise ValueError(
                "all noise scales of this formula are public, so the release includes its "
                "standard error anyway; leave standard_error out"
            )

    @property
    def _error_share(self) -> Fraction | None:
        return ERROR_SHARE if self.standard_error else None

    def _vocabulary(self, public: GraphPublic) -> Vocabulary:
        return graph_vocabulary(
            public,
            node=self.node,
            groups=self.groups,
            noise="told" if self.standard_error else self.mechanism,
            approximate=self.delta is not None,
        )

    def _entries(self, public: GraphPublic, many: int) -> tuple[str, ...]:
        """Return the names of the nodes where there is an entry for each."""
        if runs_over_nodes(self._term(public, self.expression)):
            return tuple(public.label(place) for place in range(many))
        return super()._entries(public, many)
