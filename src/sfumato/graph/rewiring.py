"""Rewiring graphs: at random, and towards a number of triangles or counts of triples.

Rewiring keeps the degree of every node, and the joint degrees where asked. Post-processing: nothing
here may see a private value.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.graph.dk_series import Triples, triangle_count, triples
from sfumato.graph.stubs import Keep, Stubs, checked_keep, checked_steps, ordered_pairs
from sfumato.graph.triple_surplus import surplus

__all__ = ["rewired", "toward_triangles", "toward_triples"]

Integers = NDArray[np.int64]

#: The steps towards a number of triangles are taken in so many parts, until one leaves more than
#: this share of what was missing.
CHUNKS = 16
STALLED = 0.75


def rewired(
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
    from sfumato.graph.rewiring_kernels import swapped

    pairs = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    if not len(pairs):
        return pairs
    table = edge_set(pairs[:, 0].copy(), pairs[:, 1].copy(), nodes)
    ends = pairs.astype(np.int32).ravel()
    swapped(ends, table, *_alike(ends, nodes, keep), checked_steps(steps), generator)
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
    from sfumato.graph.rewiring_kernels import steered

    wanted = int(np.rint(np.clip(target, 0, 2.0**62)))
    stubs = Stubs.of(pairs, nodes)
    first, last = stubs.stands_in(keep)
    if not len(stubs.mate):
        return stubs.pairs()
    triangles, left = triangle_count(pairs, nodes), checked_steps(steps)
    some, warmth = -(-left // CHUNKS), 0.0
    while left and triangles != wanted:
        missing = abs(wanted - triangles)
        triangles, _ = steered(
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
    from sfumato.graph.triple_kernels import refined

    stubs = Stubs.of(pairs, nodes)
    first, last = stubs.stands_in("joint")
    kinds, kind = np.unique(stubs.degrees, return_inverse=True)
    if len(stubs.mate):
        keys, counts = surplus(triples(pairs, nodes), target, kinds)
        refined(
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
            checked_steps(steps),
            float(heat),
            generator,
        )
    return stubs.pairs()


def _alike(ends: NDArray[np.int32], nodes: int, keep: Keep) -> tuple[Any, Any, Any]:
    """Return the places of ends by the degree of their node, and where those of each node's are."""
    degrees = np.bincount(ends, minlength=nodes)
    if checked_keep(keep) == "degrees":
        none = np.zeros(nodes, dtype=np.int32)
        return np.zeros(0, dtype=np.int32), none, none
    places = np.argsort(degrees[ends], kind="stable")
    ordered = degrees[ends[places]]
    first = np.searchsorted(ordered, degrees, side="left")
    last = np.searchsorted(ordered, degrees, side="right")
    return places.astype(np.int32), first.astype(np.int32), last.astype(np.int32)
