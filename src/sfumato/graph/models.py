"""Models that synthetic graphs are drawn from: degrees, and what may be known beside them.

Everything here is public. A model is made of whole numbers, so that the graph which somebody draws
from it with the same random bits is the same everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.graph.rewiring import ordered_pairs, toward_triangles
from sfumato.graph.sampled import Pairs
from sfumato.graph.stub_matching import match_graph

__all__ = ["BlockModel", "ClusteredModel", "DegreeModel", "rewiring_steps"]

Integers = NDArray[np.int64]

#: How many exchanges are proposed for each edge on the way to triangles or triples that are wanted.
STEPS_PER_EDGE = 200
#: With very much noise there are millions of edges and triangles that no graph has: no more
#: neighbours than this are looked at, which takes a few minutes.
MOST_WORK = 2**31


def _runs(degrees: Integers) -> list[list[int]]:
    """Return sorted degrees as a list of [degree, nodes]."""
    values, nodes = np.unique(degrees, return_counts=True)
    runs: list[list[int]] = np.stack([values, nodes], axis=1).tolist()
    return runs


def _from_runs(runs: list[list[int]]) -> Integers:
    """Return the sorted degrees that `_runs` wrote."""
    table = np.array(runs, dtype=np.int64).reshape(-1, 2)
    return np.repeat(table[:, 0], table[:, 1])


def rewiring_steps(degrees: Integers) -> int:
    """Return how many exchanges are proposed: 200 for each edge, if the work is not too much.

    An exchange looks at the neighbours of the end that has fewer of them, of two ends that may be
    any: on average at Σ_k P(d ≥ k)², d being the degree at a random end of a random edge.

    Examples
    --------
    >>> rewiring_steps(np.array([2, 2, 2]))
    600
    """
    ends, squares, above = int(degrees.sum()), 0, 0
    runs = _runs(degrees[degrees > 0])
    lower = [0, *(degree for degree, _ in runs)]
    # In whole numbers of any size: the steps, and so the graph, are the same everywhere.
    for (degree, nodes), less in zip(reversed(runs), reversed(lower[:-1]), strict=True):
        above += degree * nodes
        squares += (degree - less) * above**2
    return min(STEPS_PER_EDGE * ends // 2, MOST_WORK * ends**2 // max(squares, 1))


@dataclass(frozen=True, eq=False)
class DegreeModel:
    """Graphs with given degrees, all of them about equally likely.

    Parameters
    ----------
    degrees
        The degrees of all nodes, which some simple graph has; their order says nothing.
    """

    kind: ClassVar[str] = "degrees"
    named: ClassVar[bool] = False

    degrees: Integers

    def __post_init__(self) -> None:
        object.__setattr__(self, "degrees", np.sort(self.degrees))

    @property
    def nodes(self) -> int:
        """How many nodes there are."""
        return len(self.degrees)

    def draw(self, generator: np.random.Generator) -> Pairs:
        """Return the edges of a graph with exactly these degrees."""
        return match_graph(self.degrees, generator)

    def document(self) -> dict[str, Any]:
        """Return the model as a plain document: how many nodes have each degree."""
        return {"degrees": _runs(self.degrees)}

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Self:
        """Return the model that `document` wrote."""
        return cls(_from_runs(document["degrees"]))

    def words(self) -> str:
        """Return what the model keeps."""
        return (
            f"It keeps how many edges nodes have ({_mean(self.degrees):.3g} on average, "
            f"{self.degrees.max(initial=0):,} at most), and nothing else: which nodes are joined "
            "is random."
        )


@dataclass(frozen=True, eq=False)
class ClusteredModel:
    """Graphs with given degrees, and about so many triangles.

    Parameters
    ----------
    degrees
        The degrees of all nodes, which some simple graph has; their order says nothing.
    triangles
        How many triangles are aimed at; a graph that cannot have them has as many as were found.
    """

    kind: ClassVar[str] = "degrees and triangles"
    named: ClassVar[bool] = False

    degrees: Integers
    triangles: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "degrees", np.sort(self.degrees))

    @property
    def nodes(self) -> int:
        """How many nodes there are."""
        return len(self.degrees)

    def draw(self, generator: np.random.Generator) -> Pairs:
        """Return the edges of a graph with these degrees and close to so many triangles."""
        pairs = match_graph(self.degrees, generator)
        steps = rewiring_steps(self.degrees)
        return toward_triangles(pairs, self.nodes, self.triangles, generator, steps=steps)

    def document(self) -> dict[str, Any]:
        """Return the model as a plain document."""
        return {"degrees": _runs(self.degrees), "triangles": self.triangles}

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Self:
        """Return the model that `document` wrote."""
        return cls(_from_runs(document["degrees"]), int(document["triangles"]))

    def words(self) -> str:
        """Return what the model keeps."""
        return (
            f"It keeps how many edges nodes have ({_mean(self.degrees):.3g} on average, "
            f"{self.degrees.max(initial=0):,} at most) and aims at {self.triangles:,} triangles; "
            "everything else is random."
        )


@dataclass(frozen=True, eq=False)
class BlockModel:
    """Graphs with given degrees and a given number of edges between groups of nodes.

    Parameters
    ----------
    degrees, groups
        The degree and the group of every node, in the public order of the nodes.
    blocks
        How many edges join groups a ≤ b, at [a, b].
    """

    kind: ClassVar[str] = "degrees and blocks"
    named: ClassVar[bool] = True

    degrees: Integers
    groups: Integers
    blocks: Integers

    @property
    def nodes(self) -> int:
        """How many nodes there are."""
        return len(self.degrees)

    def draw(self, generator: np.random.Generator) -> Pairs:
        """Return the edges of a graph with these degrees and blocks."""
        return block_graph(self.degrees, self.groups, self.blocks, generator)

    def document(self) -> dict[str, Any]:
        """Return the model as a plain document."""
        return {
            "degrees": self.degrees.tolist(),
            "groups": self.groups.tolist(),
            "blocks": self.blocks.tolist(),
        }

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Self:
        """Return the model that `document` wrote."""
        degrees, groups, blocks = (
            np.array(document[name], dtype=np.int64) for name in ("degrees", "groups", "blocks")
        )
        return cls(degrees, groups, blocks.reshape(len(blocks), len(blocks)))

    def words(self) -> str:
        """Return what the model keeps."""
        many = len(self.blocks)
        return (
            f"It keeps about how many edges each node has ({_mean(self.degrees):.3g} on average, "
            f"{self.degrees.max(initial=0):,} at most), and how many edges join nodes of few and "
            f"of many edges, in {many} group{'s' * (many != 1)}; everything else is random. Node "
            "by node, it stands for the nodes of the private graph."
        )


def _mean(degrees: Integers) -> float:
    return float(degrees.mean()) if len(degrees) else 0.0


# Random graphs with given degrees and a given number of edges between groups of nodes.
#
# Post-processing: nothing here may see a private value. It is the configuration model with groups:
# a degree-corrected block model in which degrees and block counts are met, not only expected.


#: How often all edges are looked through for loops and repetitions.
PASSES = 50
#: How many exchanges are tried for each of them in one pass.
TRIES = 40


def block_graph(
    degrees: Integers, groups: Integers, blocks: Integers, generator: np.random.Generator
) -> Integers:
    """Return a random graph with these degrees and these numbers of edges between groups.

    The stubs of a group are dealt out at random to its edges. Loops and repeated edges exchange an
    end with another edge of the same group, which keeps degrees and blocks; the few that are left
    where hardly any graph fits are left out.

    Parameters
    ----------
    degrees, groups
        The degree and the group of each node, groups being numbered from 0.
    blocks
        How many edges join groups a ≤ b, at [a, b]; entries below the diagonal are 0. The ends in
        a group are as many as its nodes have edges.
    generator
        Where random numbers come from.

    Examples
    --------
    >>> degrees, groups = np.array([2, 2, 2, 2]), np.array([0, 0, 1, 1])
    >>> block_graph(degrees, groups, np.array([[0, 4], [0, 0]]), np.random.default_rng(1)).tolist()
    [[0, 2], [0, 3], [1, 2], [1, 3]]
    """
    from sfumato.graph.block_matching_kernels import mend_edges

    many = len(blocks)
    stubs = np.repeat(np.arange(len(degrees)), degrees)
    ends = blocks.sum(axis=0) + blocks.sum(axis=1)
    held = np.bincount(groups[stubs], minlength=many)
    if not np.array_equal(ends, held):
        raise ValueError("the edges of a group must have as many ends as its nodes have edges")
    first, second = np.triu_indices(many)
    counts = blocks[first, second]
    # Places 2e and 2e + 1 are the ends of edge e; each belongs to a group.
    place_group = np.stack([np.repeat(first, counts), np.repeat(second, counts)], axis=1).ravel()
    places = np.argsort(place_group, kind="stable").astype(np.int64)
    mixed = generator.permutation(stubs)
    owner = np.empty(len(stubs), dtype=np.int64)
    owner[places] = mixed[np.argsort(groups[mixed], kind="stable")]
    starts = np.append(0, np.cumsum(ends)).astype(np.int64)
    kept = mend_edges(
        owner, place_group.astype(np.int64), places, starts, len(degrees), PASSES, TRIES, generator
    )
    pairs = owner.reshape(-1, 2)[kept]
    return ordered_pairs(pairs[:, 0], pairs[:, 1])
