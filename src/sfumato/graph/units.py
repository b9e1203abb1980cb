"""What formulas about graphs may name: unit statistics, public numbers and well-known formulas.

The words follow social network analysis: an edge joins two nodes, a wedge is a pair of neighbours
of one node, a triangle is a wedge whose ends are joined.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import comb, isqrt
from typing import Any

import numpy as np

from sfumato.data.graph import GraphPublic
from sfumato.graph.queries import BlockCounts, EdgeCount, NodeDegrees
from sfumato.graph.shapes import Shape
from sfumato.graph.unit_queries import (
    ClusteringAt,
    Degree,
    GroupEnds,
    MeanClustering,
    NodeClustering,
    NodeTriangles,
    ShapeCount,
    TrianglesAt,
    WedgesAt,
    clustering_change,
)
from sfumato.graph.unit_statistics import FollowingStatistic
from sfumato.mechanisms.expression.fixed import FixedStatistic
from sfumato.mechanisms.expression.reading import Argument, Vocabulary
from sfumato.mechanisms.expression.terms import Item, Ratio, Term, Total, Unit
from sfumato.noise.exact import briefly

__all__ = ["MOST_GROUPS", "graph_vocabulary", "runs_over_nodes"]

#: The most groups of a public partition.
MOST_GROUPS = 1000
#: With so few groups, counts between each two of them give modularity the smaller error; with more,
#: counts of what leaves each group do, since fewer noisy numbers add up.
FEW_GROUPS = 3
#: The vectors with one entry for each node.
NODE_VECTORS = ("degrees", "node_clustering", "node_triangles")

Arguments = tuple[Argument, ...]


def graph_vocabulary(
    public: GraphPublic,
    *,
    node: Argument | None = None,
    groups: Sequence[Any] | None = None,
    noise: str = "auto",
    approximate: bool = False,
) -> Vocabulary:
    """Return what names mean for a graph.

    Parameters
    ----------
    public
        The public part of the graph.
    node
        What `v` stands for.
    groups
        The public group of each node, in order.
    noise
        `"smooth"` for smooth bounds where a ladder would do; `"told"` for smooth bounds and noise
        of a finite variance, whose scale is told.
    approximate
        Whether there is a δ, so that smooth bounds get Laplace noise.
    """
    names = _Names(public, node, groups, noise, approximate)
    # A certificate states both, used or not.
    if node is not None:
        names._place("node", (node,))
    if groups is not None:
        names._grouping  # noqa: B018
    return names.vocabulary()


def runs_over_nodes(term: Term) -> bool:
    """Tell whether a term is a vector with one entry for each node.

    Parameters
    ----------
    term
        A term of a formula about a graph.
    """
    if isinstance(term, Unit):
        return term.text in NODE_VECTORS
    # A vector is joined with numbers and with vectors over the same things.
    return term.length is not None and any(runs_over_nodes(part) for part in term.parts)


@dataclass(frozen=True)
class _Names:
    """The names of formulas about one graph."""

    public: GraphPublic
    node: Argument | None
    groups: Sequence[Any] | None
    noise: str
    approximate: bool

    def vocabulary(self) -> Vocabulary:
        """Return what each name means."""
        bare: dict[str, Callable[[], Term | Argument]] = {
            "blocks": self._blocks,
            "degrees": self._degrees,
            "density": lambda: self._edges() / max(self.public.most_edges, 1),
            "edges": self._edges,
            "group_ends": lambda: self._group_ends,
            "mean_clustering": self._mean_clustering,
            "mean_degree": lambda: 2 * self._edges() / max(self.public.nodes, 1),
            "modularity": self._modularity,
            "node_clustering": self._node_clustering,
            "node_triangles": self._node_triangles,
            "nodes": lambda: self.public.nodes,
            "transitivity": lambda: Ratio(
                3 * self._shape("triangles", Shape("triangle", 3)),
                self._shape("wedges", Shape("star", 2)),
                share=True,
            ),
            "v": self._v,
        }
        return {
            **{name: _without(name, meaning) for name, meaning in bare.items()},
            "block": self._block,
            "cliques": lambda given: self._sized("cliques", "clique", given),
            "clustering": self._clustering_at,
            "degree": self._degree,
            "k_triangles": lambda given: self._sized("k_triangles", "k-triangle", given),
            "stars": lambda given: self._sized("stars", "star", given),
            "triangles": self._triangles,
            "wedges": self._wedges,
        }

    def _v(self) -> Argument:
        if self.node is None:
            raise ValueError("the formula uses v; pass node=…")
        return self.node

    def _place(self, name: str, given: Arguments) -> int:
        """Return the number of the node that is named."""
        (label,) = _exactly(name, given, 1, "one node")
        labels = self.public.labels
        if labels is None:
            if str(label).isdecimal() and int(label) < self.public.nodes:
                return int(label)
            allowed = f"a number from 0 to {self.public.nodes - 1}" if self.public.nodes else "none"
            raise ValueError(f"{name} needs a node, {allowed}; got {briefly(label)}")
        places = [i for i, own in enumerate(labels) if own == label or str(own) == str(label)]
        if not places:
            raise ValueError(f"{name} needs a node; there is no node {briefly(label)}")
        return places[0]

    def _edges(self) -> Unit:
        return Unit("edges", None, FixedStatistic(EdgeCount(), 1))

    def _degree(self, given: Arguments) -> Unit:
        place = self._place("degree", given)
        text = f"degree({self.public.label(place)})"
        return Unit(text, None, FixedStatistic(Degree(place), 1))

    def _degrees(self) -> Unit:
        nodes = self._some_nodes("degrees")
        return Unit("degrees", nodes, FixedStatistic(NodeDegrees(), 2, nodes))

    def _some_nodes(self, name: str) -> int:
        if self.public.nodes == 0:
            raise ValueError(f"{name} has one entry per node, and the graph has no nodes")
        return self.public.nodes

    @property
    def _usual(self) -> float:
        """A public guess at how many neighbours two nodes have in common."""
        return float(max(isqrt(self.public.nodes), 1))

    def _following(self, text: str, **known: Any) -> Unit:
        """Return a unit whose noise follows the graph."""
        entries = known.get("entries")
        rungs = entries is None and self.noise == "auto"
        if entries is not None and not self.approximate and known["cap"] > 0:
            raise ValueError(
                f"{text} is a vector whose noise scale is private, which requires delta; pass "
                "delta=…, or measure one node at a time"
            )
        statistic = FollowingStatistic(
            **{"usual": self._usual, **known},
            ladder=rungs,
            approximate=self.approximate and not rungs,
            finite=self.noise == "told",
        )
        return Unit(text, entries, statistic)

    def _shape(self, text: str, shape: Shape) -> Unit:
        """Return the number of subgraphs of a shape."""
        shape.require_countable(self.public.nodes)
        return self._following(
            text,
            count=ShapeCount(shape),
            cap=shape.global_sensitivity(self.public.nodes),
            usual=self._usual if shape.size == 3 else 2 * self._usual,
        )

    def _sized(self, name: str, kind: str, given: Arguments) -> Unit:
        (size,) = _exactly(name, given, 1, "its size")
        if not isinstance(size, int):
            raise ValueError(f"{name} needs its size, a whole number; got {size!r}")
        return self._shape(f"{name}({size})", Shape(kind, size))

    def _triangles(self, given: Arguments) -> Unit:
        if not given:
            return self._shape("triangles", Shape("triangle", 3))
        place = self._place("triangles", given)
        return self._following(
            f"triangles({self.public.label(place)})",
            count=TrianglesAt(place),
            cap=max(self.public.nodes - 2, 0),
        )

    def _wedges(self, given: Arguments) -> Unit:
        if not given:
            return self._shape("wedges", Shape("star", 2))
        place = self._place("wedges", given)
        return self._following(
            f"wedges({self.public.label(place)})",
            count=WedgesAt(place),
            cap=max(self.public.nodes - 2, 0),
        )

    def _clustering_at(self, given: Arguments) -> Unit:
        place = self._place("clustering", given)
        return self._following(
            f"clustering({self.public.label(place)})",
            count=ClusteringAt(place),
            cap=int(self.public.nodes > 2),
            whole=False,
            usual=2 / self._usual,
        )

    @property
    def _most_clustering(self) -> Fraction:
        """The global sensitivity of all clustering coefficients together."""
        nodes = self.public.nodes
        return clustering_change(nodes - 2) if nodes > 2 else Fraction(0)

    def _mean_clustering(self) -> Unit:
        nodes = self._some_nodes("mean_clustering")
        return self._following(
            "mean_clustering",
            count=MeanClustering(),
            cap=self._most_clustering / nodes,
            whole=False,
            usual=self._usual / nodes,
        )

    def _node_clustering(self) -> Unit:
        return self._following(
            "node_clustering",
            count=NodeClustering(),
            cap=self._most_clustering,
            entries=self._some_nodes("node_clustering"),
            whole=False,
        )

    def _node_triangles(self) -> Unit:
        return self._following(
            "node_triangles",
            count=NodeTriangles(),
            cap=3 * max(self.public.nodes - 2, 0),
            entries=self._some_nodes("node_triangles"),
            usual=3 * self._usual,
        )

    @cached_property
    def _grouping(self) -> tuple[list[Argument], np.ndarray[Any, np.dtype[np.int64]]]:
        """The groups, sorted, and the number of the group of each node."""
        groups = self._group_list()
        if groups is None or len(groups) != self.public.nodes:
            raise ValueError(
                f"groups must give the public group of each of the {self.public.nodes} nodes; pass "
                "groups=[…]"
            )
        names = sorted(set(groups), key=str)
        if not 1 <= len(names) <= MOST_GROUPS:
            raise ValueError(
                f"the number of groups must be from 1 to {MOST_GROUPS}; got {len(names)}"
            )
        numbers = {name: number for number, name in enumerate(names)}
        return names, np.array([numbers[name] for name in groups], dtype=np.int64)

    def _group_list(self) -> Sequence[Any] | None:
        """Return the groups in the order of the nodes, if every node is in one."""
        if not self.groups or not isinstance(self.groups[0], tuple):
            return self.groups
        found = {str(node): group for node, group in self.groups}
        labels = [self.public.label(node) for node in range(self.public.nodes)]
        unknown = sorted(found.keys() - set(labels))
        if unknown:
            raise ValueError(f"groups has a node that is not declared: {briefly(unknown[0])}")
        return [found[label] for label in labels if label in found]

    def _blocks(self) -> Unit:
        return self._block_counts

    @cached_property
    def _block_counts(self) -> Unit:
        """The numbers of edges inside and between groups; an edge is in one of them."""
        names, member = self._grouping
        many = len(names)
        entries = comb(many + 1, 2)
        return Unit("blocks", entries, FixedStatistic(BlockCounts(member, many), 1, entries))

    def _block(self, given: Arguments) -> Term:
        wanted = _exactly("block", given, 2, "two groups")
        names, _ = self._grouping
        texts = [str(name) for name in names]
        if any(str(name) not in texts for name in wanted):
            raise ValueError(f"the groups are {', '.join(texts)}; got {given!r}")
        first, second = sorted(texts.index(str(name)) for name in wanted)
        return self._item(first, second, len(names))

    def _item(self, first: int, second: int, many: int) -> Item:
        # Pairs (a, b) with a ≤ b in lexicographic order.
        return Item(self._blocks(), first * many - first * (first + 1) // 2 + second)

    @cached_property
    def _group_ends(self) -> Unit:
        """For each group the ends of edges inside it, then for each the edges that leave it.

        An edge is inside one group, where it has two ends, or leaves two: it counts for 2.
        """
        names, member = self._grouping
        many = len(names)
        return Unit("group_ends", 2 * many, FixedStatistic(GroupEnds(member, many), 2, 2 * many))

    def _modularity(self) -> Term:
        """Return Σ_c e_c/m − Σ_c (D_c/2m)², with D_c the sum of the degrees in group c."""
        many = len(self._grouping[0])
        half = Fraction(1, 2)
        if many <= FEW_GROUPS:
            total: Term = Total(self._blocks())
            inside: list[Term] = [self._item(group, group, many) for group in range(many)]
            degrees = [2 * inside[group] for group in range(many)]
            for low, high in combinations(range(many), 2):
                between = self._item(low, high, many)
                degrees[low], degrees[high] = degrees[low] + between, degrees[high] + between
        else:
            unit = self._group_ends
            total = half * Total(unit)
            inside = [half * Item(unit, group) for group in range(many)]
            degrees = [Item(unit, group) + Item(unit, many + group) for group in range(many)]
        squares = _add_terms([sums**2 for sums in degrees])
        # Divided twice instead of by a square: it takes no writing out of all products.
        return _add_terms(inside) / total - squares / (4 * total) / total


def _add_terms(terms: list[Term]) -> Term:
    """Return a sum, halves first: formulas are walked down, and this one is not deep."""
    if len(terms) == 1:
        return terms[0]
    middle = len(terms) // 2
    return _add_terms(terms[:middle]) + _add_terms(terms[middle:])


def _without(name: str, meaning: Callable[[], Any]) -> Callable[[Arguments], Any]:
    """Return a name that takes no arguments."""

    def found(given: Arguments) -> Any:
        if given:
            raise ValueError(f"{name} takes no arguments; got {given!r}")
        return meaning()

    return found


def _exactly(name: str, given: Arguments, many: int, what: str) -> Arguments:
    if len(given) != many:
        raise ValueError(f"{name} needs {what} in brackets; got {len(given)} arguments")
    return given
