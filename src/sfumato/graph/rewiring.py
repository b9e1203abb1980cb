"""Rewiring graphs: at random, and towards a number of triangles or counts of triples.

Rewiring keeps the degree of every node, and the joint degrees where asked. Post-processing: nothing
here may see a private value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.graph.dk_series import Triples, triangle_count, triples

__all__ = ["rewire", "toward_triangles", "toward_triples"]

Integers = NDArray[np.int64]

#: The steps towards a number of triangles are taken in so many parts, until one leaves more than
#: this share of what was missing.
CHUNKS = 16
STALLED = 0.75


def rewire(
    pairs: Integers,
    nodes: int,
    generator: np.random.Generator,
    *,
    steps: int,
    keep: Keep = "degrees",
) -> Integers:
    """Return a graph rewired at random.

    Parameters
    ----------
    pairs, nodes
        The graph.
    generator
        Where random numbers come from.
    steps
        How many exchanges of two edges' ends are proposed; those that would make a loop or a second
        edge are not made. Ten or twenty for each edge mix well.
    keep
        What stays as it is: the degrees of all nodes, or also the joint degrees.
    """
    from sfumato.graph.edge_set_kernels import edge_set
    from sfumato.graph.rewiring_kernels import swap_ends

    pairs = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    if not len(pairs):
        return pairs
    table = edge_set(pairs[:, 0].copy(), pairs[:, 1].copy(), nodes)
    ends = pairs.astype(np.int32).ravel()
    swap_ends(ends, table, *_alike(ends, nodes, keep), check_steps(steps), generator)
    return ordered_pairs(ends[::2], ends[1::2])


def toward_triangles(
    pairs: Integers,
    nodes: int,
    target: float,
    generator: np.random.Generator,
    *,
    steps: int,
    keep: Keep = "degrees",
    heat: float = 2.0,
) -> Integers:
    """Return a graph with close to `target` triangles, rewired from one with the same degrees.

    Parameters
    ----------
    pairs, nodes
        The graph.
    target
        How many triangles are wanted. More than the degrees allow, or than are found: as many as
        were found.
    generator
        Where random numbers come from.
    steps
        How many exchanges are proposed at most; it ends as soon as the target is met.
    keep
        What stays as it is: the degrees of all nodes, or also the joint degrees.
    heat
        Once steps that lead closer are hardly found any more, the rest are annealed from this
        temperature, in triangles, down to 0.
    """
    from sfumato.graph.rewiring_kernels import steer_triangles

    wanted = int(np.rint(np.clip(target, 0, 2.0**62)))
    stubs = Stubs.of(pairs, nodes)
    first, last = stubs.stands_in(keep)
    if not len(stubs.mate):
        return stubs.pairs()
    triangles, left = triangle_count(pairs, nodes), check_steps(steps)
    some, warmth = -(-left // CHUNKS), 0.0
    while left and triangles != wanted:
        missing = abs(wanted - triangles)
        triangles, _ = steer_triangles(
            stubs.owner,
            stubs.mate,
            stubs.starts,
            stubs.ends,
            stubs.table,
            first,
            last,
            triangles,
            wanted,
            some,
            float(warmth),
            generator,
        )
        left -= some
        some = min(some, left)
        if abs(wanted - triangles) > STALLED * missing:
            # Hardly any closer: all steps that are left go into annealing.
            some, warmth = left, heat
    return stubs.pairs()


def toward_triples(
    pairs: Integers,
    nodes: int,
    target: Triples,
    generator: np.random.Generator,
    *,
    steps: int,
    heat: float = 0.1,
) -> Integers:
    """Return a graph whose wedges and triangles by degree are close to given counts.

    Made smaller is Σ (count − wanted)² over all kinds of wedges and triangles. The joint degrees
    are kept; kinds with a degree that the graph has not are left out of account.

    Parameters
    ----------
    pairs, nodes
        The graph.
    target
        The counts that are wanted.
    generator
        Where random numbers come from.
    steps
        How many exchanges of two edges' ends are proposed.
    heat
        How warm it is at first, in mean changes of the distance by one exchange; it falls to 0.
    """
    from sfumato.graph.triple_kernels import refine_triples

    stubs = Stubs.of(pairs, nodes)
    first, last = stubs.stands_in("joint")
    kinds, kind = np.unique(stubs.degrees, return_inverse=True)
    if len(stubs.mate):
        keys, counts = surplus(triples(pairs, nodes), target, kinds)
        refine_triples(
            stubs.owner,
            stubs.mate,
            stubs.starts,
            stubs.ends,
            stubs.table,
            first,
            last,
            keys,
            counts,
            kind.astype(np.int64),
            len(kinds),
            check_steps(steps),
            float(heat),
            generator,
        )
    return stubs.pairs()


def _alike(ends: NDArray[np.int32], nodes: int, keep: Keep) -> tuple[Any, Any, Any]:
    """Return the places of ends by the degree of their node, and where those of each node's are."""
    degrees = np.bincount(ends, minlength=nodes)
    if check_keep(keep) == "degrees":
        none = np.zeros(nodes, dtype=np.int32)
        return np.zeros(0, dtype=np.int32), none, none
    places = np.argsort(degrees[ends], kind="stable")
    ordered = degrees[ends[places]]
    first = np.searchsorted(ordered, degrees, side="left")
    last = np.searchsorted(ordered, degrees, side="right")
    return places.astype(np.int32), first.astype(np.int32), last.astype(np.int32)


# A graph as stubs that are joined in pairs: what rewiring works on.
#
# Post-processing: of a private graph nothing here may be published.


#: What rewiring keeps: the degree of every node, or also the joint degrees.
Keep = Literal["degrees", "joint"]


@dataclass(frozen=True, kw_only=True)
class Stubs:
    """The stubs of a graph whose nodes are numbered by rising degree; rewiring changes the arrays.

    Parameters
    ----------
    nodes
        The node of the graph that each number here stands for.
    starts
        Node v has the stubs starts[v] … starts[v + 1] − 1.
    owner, mate, ends
        For each stub its node, the stub it is joined to, and the node of that.
    table
        The set of the edges.
    """

    nodes: Integers
    starts: Integers
    owner: NDArray[np.int32]
    mate: NDArray[np.int32]
    ends: NDArray[np.int32]
    table: Integers

    @classmethod
    def of(cls, pairs: Integers, nodes: int) -> Self:
        """Return the stubs of a graph."""
        from sfumato.graph.rewiring_kernels import join_stubs

        pairs = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
        degrees = np.bincount(pairs.ravel(), minlength=nodes)
        order = np.argsort(degrees, kind="stable").astype(np.int64)
        rank = np.empty(nodes, dtype=np.int64)
        rank[order] = np.arange(nodes)
        starts = np.append(0, np.cumsum(degrees[order])).astype(np.int64)
        numbered = rank[pairs]
        left, right = np.ascontiguousarray(numbered[:, 0]), np.ascontiguousarray(numbered[:, 1])
        owner, mate, ends, table = join_stubs(left, right, starts)
        return cls(nodes=order, starts=starts, owner=owner, mate=mate, ends=ends, table=table)

    @property
    def degrees(self) -> Integers:
        """The degree of each node, rising."""
        return np.diff(self.starts)

    def stands_in(self, keep: Keep) -> tuple[Integers, Integers]:
        """Return for each node which stubs may stand in for one of its own: first and last + 1."""
        degrees = self.degrees
        if check_keep(keep) == "degrees":
            return np.zeros_like(degrees), np.full_like(degrees, self.starts[-1])
        low = np.searchsorted(degrees, degrees, side="left")
        high = np.searchsorted(degrees, degrees, side="right")
        return self.starts[low], self.starts[high]

    def pairs(self) -> Integers:
        """Return the edges of the graph, sorted, with its own names of nodes."""
        once = self.mate > np.arange(len(self.mate))
        return ordered_pairs(self.nodes[self.owner[once]], self.nodes[self.ends[once]])


def ordered_pairs(left: Any, right: Any) -> Integers:
    """Return edges as rows low < high, sorted."""
    low, high = np.minimum(left, right), np.maximum(left, right)
    order = np.lexsort((high, low))
    return np.stack([low[order], high[order]], axis=1).astype(np.int64)


def check_keep(keep: Keep) -> Keep:
    """Refuse what is not a thing to keep."""
    if keep not in ("degrees", "joint"):
        raise ValueError(f'keep must be "degrees" or "joint"; got {keep!r}')
    return keep


def check_steps(steps: int) -> int:
    """Refuse a negative number of steps."""
    if steps < 0:
        raise ValueError(f"steps must be at least 0; got {steps}")
    return int(steps)


# How many more triples of nodes a graph has than wanted, as a table that rewiring keeps.
#
# Post-processing: nothing here may see a private value.


def surplus(have: Triples, wanted: Triples, degrees: Integers) -> tuple[Integers, Integers]:
    """Return keys of kinds of triples, and how many more there are of each than wanted.

    Parameters
    ----------
    have, wanted
        The two counts.
    degrees
        The degrees that the graph has, rising; kinds with any other are left out.
    """
    from sfumato.graph.edge_set_kernels import sum_amounts

    keys, counts = [], []
    for side, sign in ((have, 1), (wanted, -1)):
        for rows, numbers, base in (
            (side.wedge_degrees, side.wedges, 0),
            (side.triangle_degrees, side.triangles, len(degrees)),
        ):
            known = np.isin(rows, degrees).all(axis=1)
            kinds = np.searchsorted(degrees, rows[known])
            key = ((base + kinds[:, 0]) * len(degrees) + kinds[:, 1]) * len(degrees) + kinds[:, 2]
            keys.append(key.astype(np.int64))
            counts.append(sign * numbers[known])
    table: tuple[Integers, Integers] = sum_amounts(np.concatenate(keys), np.concatenate(counts))
    return table
