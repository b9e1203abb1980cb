"""Where the nodes of a drawn network go.

Nodes that are joined come close and all others keep their distance: the places minimise the stress
of Kamada and Kawai (1989) by majorisation (Gansner, Koren and North, 2004); then boxes that overlap
are pushed apart. The same network is always drawn alike.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["places", "separated"]

Floats = NDArray[np.float64]

#: Rounds of majorisation, and of pushing; pictures do not change visibly long before.
ROUNDS = 300


def places(nodes: int, edges: Sequence[tuple[int, int]], lengths: Sequence[float]) -> Floats:
    """Return a place for each node in a box of width and height one.

    Parameters
    ----------
    nodes
        How many nodes there are.
    edges
        The pairs that are joined.
    lengths
        How long each edge should be drawn, relative to the others.
    """
    if nodes <= 1:
        return np.full((nodes, 2), 0.5)
    wanted = _distances(nodes, edges, lengths)
    angles = 2 * np.pi * np.arange(nodes) / nodes
    found = wanted.max() / 2 * np.column_stack([np.cos(angles), np.sin(angles)])
    weights = np.where(wanted > 0, 1 / np.maximum(wanted, 1e-9) ** 2, 0.0)
    inverse = np.linalg.pinv(np.diag(weights.sum(axis=1)) - weights)
    for _ in range(ROUNDS):
        apart = np.linalg.norm(found[:, None] - found[None, :], axis=2)
        pull = np.where(apart > 1e-12, weights * wanted / np.maximum(apart, 1e-12), 0.0)
        found = inverse @ ((np.diag(pull.sum(axis=1)) - pull) @ found)
    return _in_box(found)


def _distances(nodes: int, edges: Sequence[tuple[int, int]], lengths: Sequence[float]) -> Floats:
    """Return how far apart each two nodes should be: the shortest way along the edges."""
    apart = np.full((nodes, nodes), np.inf)
    np.fill_diagonal(apart, 0.0)
    for (first, second), length in zip(edges, lengths, strict=True):
        apart[first, second] = apart[second, first] = min(apart[first, second], length)
    for middle in range(nodes):
        apart = np.minimum(apart, apart[:, middle, None] + apart[None, middle, :])
    known = apart[np.isfinite(apart)]
    # What nothing joins stands a little outside.
    return np.where(np.isfinite(apart), apart, 0.5 * known.max() + 1.0)


def _in_box(found: Floats) -> Floats:
    """Turn places so that the longer side lies flat, and scale them to a box."""
    centred = found - found.mean(axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    # A decomposition fixes its axes up to their signs; the first node decides.
    turned = centred @ axes.T
    turned *= np.where(turned[0] > 1e-9, -1.0, 1.0)
    spread = turned.max(axis=0) - turned.min(axis=0)
    # A network that is a mere line lies in the middle.
    low = np.where(spread > 1e-9, turned.min(axis=0), turned.min(axis=0) - 0.5)
    return np.asarray((turned - low) / np.where(spread > 1e-9, spread, 1.0))


def separated(spots: Floats, halves: Floats) -> Floats:
    """Return the centres of boxes moved as little as it takes until no two overlap.

    Parameters
    ----------
    spots
        The centres.
    halves
        Half the width and half the height of each box, and of the gap around it.
    """
    moved = spots.copy()
    room = halves[:, None] + halves[None, :]
    for _ in range(ROUNDS):
        apart = moved[:, None] - moved[None, :]
        over = np.where(np.all(np.abs(apart) < room, axis=2)[:, :, None], room - np.abs(apart), 0)
        over[np.diag_indices(len(moved))] = 0.0
        if over.max(initial=0.0) <= 1e-3:
            break
        # Along the axis of the smaller overlap; of two at one place the first goes left and down.
        side = np.argmin(over, axis=2)
        order = np.sign(np.arange(len(moved))[:, None] - np.arange(len(moved))[None, :])
        direction = np.where(np.abs(apart) > 1e-9, np.sign(apart), order[:, :, None])
        for axis in (0, 1):
            push = np.where(side == axis, over[:, :, axis] * direction[:, :, axis], 0.0)
            moved[:, axis] += 0.5 * push.sum(axis=1)
    return moved
