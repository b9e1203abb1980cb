"""Random graphs with given degrees and a given number of edges between groups of nodes.

Post-processing: nothing here may see a private value. It is the configuration model with groups: a
degree-corrected block model in which degrees and block counts are met, not only expected.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.graph.stubs import ordered_pairs

__all__ = ["block_graph"]

Integers = NDArray[np.int64]

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
    from sfumato.graph.block_matching_kernels import mended

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
    kept = mended(
        owner, place_group.astype(np.int64), places, starts, len(degrees), PASSES, TRIES, generator
    )
    pairs = owner.reshape(-1, 2)[kept]
    return ordered_pairs(pairs[:, 0], pairs[:, 1])
