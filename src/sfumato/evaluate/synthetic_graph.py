"""How much of a private graph a synthetic one keeps, figure by figure.

NOT PRIVATE. Every figure here is computed from the private edges without noise: it is for the
custodian's eyes, costs no budget because it may not leave the house, and is never part of a
release, a certificate or a report.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.graph import Graph
from sfumato.engines.memory_graph import MemoryGraph
from sfumato.evaluate.graph_metrics import GraphMetrics, eigenpairs, graph_metrics
from sfumato.evaluate.warning import WARNING
from sfumato.graph.dk_series import JointDegrees, joint_degrees
from sfumato.graph.eigen import captured_share, cosines
from sfumato.graph.sampled import SampledGraph
from sfumato.graph.synthetic import SyntheticGraph
from sfumato.sections import Grid, Text

__all__ = [
    "WARNING",
    "Distances",
    "GraphComparison",
    "Subspaces",
    "compare",
    "degree_distances",
    "joint_degree_distance",
    "published_graph",
]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

#: The metrics that are listed side by side, and what they are called.
LISTED = {
    "joined_nodes": "nodes with an edge",
    "edges": "edges",
    "mean_degree": "average degree",
    "assortativity": "assortativity",
    "clustering": "average clustering",
    "transitivity": "transitivity",
    "triangles": "triangles",
    "path_length": "path length",
    "connected_path_length": "path length, connected pairs",
    "diameter": "diameter",
    "largest_eigenvalue": "largest eigenvalue",
    "modularity": "modularity",
}


@dataclass(frozen=True)
class Distances:
    """How far two graphs are apart in their degrees. Not private.

    Parameters
    ----------
    degrees
        Half of Σ_k |p(k) − q(k)| over the shares of nodes of degree k: from 0 to 1.
    degree_shift
        By how much a degree is off on average, both lists in order: the least that nodes must be
        moved from one distribution to the other.
    joint_degrees
        Half of Σ |p − q| over the shares of edges by the degrees of both ends: from 0 to 1. Large
        degrees hardly ever meet exactly, so it is near 1 soon.
    grouped_joint_degrees
        The same with degrees in groups 1, 2–3, 4–7, 8–15, …
    """

    degrees: float
    degree_shift: float
    joint_degrees: float
    grouped_joint_degrees: float

    def to_json(self) -> dict[str, float]:
        """Return a plain document."""
        return dict(self.__dict__)


@dataclass(frozen=True)
class Subspaces:
    """The leading eigenvectors of two graphs on the same nodes. Not private.

    Parameters
    ----------
    cosines
        |cos| of the angle between the eigenvectors of each rank.
    principal_cosines
        The cosines of the principal angles between the two subspaces, from the largest.
    captured
        The share of the subspace that the other one holds, ‖UᵀV‖²_F/k.
    """

    cosines: tuple[float, ...]
    principal_cosines: tuple[float, ...]
    captured: float

    def to_json(self) -> dict[str, Any]:
        """Return a plain document."""
        return {
            "cosines": list(self.cosines),
            "principal_cosines": list(self.principal_cosines),
            "captured": self.captured,
        }


@dataclass(frozen=True)
class GraphComparison:
    """A synthetic graph beside the private one. Not private.

    Parameters
    ----------
    original, synthetic
        What each of them is like.
    distances
        How far their degrees are apart.
    subspaces
        How their leading eigenvectors lie; `None` where the nodes of the synthetic graph stand for
        nobody in particular.
    """

    original: GraphMetrics
    synthetic: GraphMetrics
    distances: Distances
    subspaces: Subspaces | None

    def rows(self) -> list[tuple[str, float | None, float | None]]:
        """Return what is listed, in order: what it is, the original's, the synthetic one's."""
        sides = [_list_metrics(metrics) for metrics in (self.original, self.synthetic)]
        return [(words, sides[0][name], sides[1][name]) for name, words in LISTED.items()]

    def to_json(self) -> dict[str, Any]:
        """Return a plain document, which says that it is not private."""
        return {
            "private": False,
            "warning": WARNING,
            "original": self.original.to_json(),
            "synthetic": self.synthetic.to_json(),
            "distances": self.distances.to_json(),
            "subspaces": None if self.subspaces is None else self.subspaces.to_json(),
        }

    def blocks(self) -> list[Text | Grid]:
        """Return the same for people."""
        rows = tuple(
            (what, _figure(truth), _figure(drawn), _off(truth, drawn))
            for what, truth, drawn in self.rows()
        )
        apart = self.distances
        blocks: list[Text | Grid] = [
            Grid(("", "private graph", "synthetic graph", "off by"), rows, (1, 2, 3)),
            Text(
                f"Degrees: {apart.degrees:.1%} of the nodes would have to change their degree; a "
                f"degree is off by {apart.degree_shift:.3g} on average, both sequences sorted."
            ),
            Text(
                f"Edges by the degrees of their ends: {apart.joint_degrees:.1%} would have to "
                f"change, {apart.grouped_joint_degrees:.1%} with degrees grouped as 1, 2–3, 4–7, …."
            ),
        ]
        if self.subspaces is not None:
            turned = ", ".join(f"{cosine:.2f}" for cosine in self.subspaces.cosines)
            captured = f"{self.subspaces.captured:.1%} of their subspace is captured"
            blocks.append(Text(f"Leading eigenvectors: {captured} (cosines {turned})."))
        return blocks


def _figure(value: float | None) -> str:
    if value is None:
        return "—"
    return f"{value:,.0f}" if value == round(value) else f"{value:,.4g}"


def _off(truth: float | None, drawn: float | None) -> str:
    """Return by which part of the truth a figure is off; nothing where there is no truth."""
    if truth is None or drawn is None or truth == 0:
        return "—"
    return f"{abs(drawn - truth) / abs(truth):.1%}"


def compare(
    data: Graph,
    synthetic: SyntheticGraph | SampledGraph,
    *,
    eigenvalues: int = 5,
    isolated: bool = True,
    sources: int | None = None,
    matched: bool | None = None,
) -> GraphComparison:
    """Compare a synthetic graph with the private one. Not private.

    Parameters
    ----------
    data
        The private graph.
    synthetic
        A release, whose published graph is taken, or a graph that was drawn from it.
    eigenvalues
        How many of the largest eigenvalues and of their eigenvectors.
    isolated, sources
        As for `graph_metrics`.
    matched
        Whether node i of one graph stands for node i of the other, so that eigenvectors can be
        compared; by default where the release says so.

    Notes
    -----
    Privacy: none. The result is for the custodian's eyes and must not be published.
    """
    drawn = published_graph(synthetic)
    named = _has_named_nodes(synthetic) if matched is None else matched
    if named and drawn.nodes != data.public.nodes:
        raise ValueError(
            f"the synthetic graph has {drawn.nodes:,} nodes and the private one "
            f"{data.public.nodes:,}: they cannot be matched"
        )
    mine, theirs = data.counts, drawn.counts
    metrics = [
        graph_metrics(
            graph.pairs(), graph.nodes, isolated=isolated, eigenvalues=eigenvalues, sources=sources
        )
        for graph in (mine, theirs)
    ]
    shares, shift = degree_distances(_degrees(mine, isolated), _degrees(theirs, isolated))
    joint = [joint_degrees(graph.pairs(), graph.nodes) for graph in (mine, theirs)]
    distances = Distances(
        shares,
        shift,
        joint_degree_distance(*joint),
        joint_degree_distance(*joint, grouped=True),
    )
    subspaces = _subspaces(mine, theirs, eigenvalues) if named else None
    return GraphComparison(metrics[0], metrics[1], distances, subspaces)


def published_graph(synthetic: SyntheticGraph | SampledGraph) -> SampledGraph:
    """Return the graph itself: that of edges.csv, for a release."""
    return synthetic.graph if isinstance(synthetic, SyntheticGraph) else synthetic


def _has_named_nodes(synthetic: SyntheticGraph | SampledGraph) -> bool:
    """Tell whether the nodes of a synthetic graph stand for those of the private one."""
    if isinstance(synthetic, SyntheticGraph):
        return synthetic.model.named
    return synthetic.labels is not None


def degree_distances(first: Integers, second: Integers) -> tuple[float, float]:
    """Return the total variation and the average shift between two lists of degrees."""
    size = int(max(first.max(initial=0), second.max(initial=0))) + 1
    shares = [np.bincount(side, minlength=size) / max(len(side), 1) for side in (first, second)]
    apart = shares[0] - shares[1]
    return float(np.abs(apart).sum() / 2), float(np.abs(np.cumsum(apart)[:-1]).sum())


def joint_degree_distance(
    first: JointDegrees, second: JointDegrees, *, grouped: bool = False
) -> float:
    """Return the total variation between the shares of edges by the degrees of their ends.

    Parameters
    ----------
    first, second
        The edges of two graphs by degrees. An empty one is at distance 1 from all others.
    grouped
        Whether degrees with the same number of binary digits are taken as one.
    """
    if min(first.edges.sum(), second.edges.sum()) == 0:
        return float(first.edges.sum() != second.edges.sum())
    ends = [np.concatenate(side) for side in ((first.low, second.low), (first.high, second.high))]
    if grouped:
        ends = [np.frexp(side.astype(np.float64))[1].astype(np.int64) for side in ends]
    keys = ends[0] * (int(ends[1].max()) + 1) + ends[1]
    kinds, where = np.unique(keys, return_inverse=True)
    shares = []
    for part, side in zip(np.split(where, [len(first.low)]), (first, second), strict=True):
        counts = np.bincount(part, weights=side.edges, minlength=len(kinds))
        shares.append(counts / counts.sum())
    return float(np.abs(shares[0] - shares[1]).sum() / 2)


def _degrees(graph: MemoryGraph, isolated: bool) -> Integers:
    degrees = graph.degrees()
    return degrees if isolated else degrees[degrees > 0]


def _list_metrics(metrics: GraphMetrics) -> dict[str, float | None]:
    """Return the metrics that are listed, by name."""
    inner = {
        "path_length": metrics.paths.length,
        "connected_path_length": metrics.paths.connected_length,
        "diameter": metrics.paths.diameter,
    }
    return {name: inner[name] if name in inner else getattr(metrics, name) for name in LISTED}


def _subspaces(first: MemoryGraph, second: MemoryGraph, many: int) -> Subspaces:
    """Return how the leading eigenvectors of two graphs lie to one another."""
    vectors = [eigenpairs(graph, many)[1] for graph in (first, second)]
    principal = np.linalg.svd(vectors[0].T @ vectors[1], compute_uv=False)
    return Subspaces(
        tuple(cosines(*vectors).tolist()),
        tuple(np.clip(principal, 0.0, 1.0).tolist()),
        captured_share(*vectors),
    )
