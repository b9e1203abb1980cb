"""Drawing stochastic Kronecker graphs exactly, in time proportional to their edges.

Everything here is public; the generator is the caller's.
"""

from __future__ import annotations

from math import comb

import numpy as np
from numpy.typing import NDArray

from sfumato.graph.kronecker_moments import Initiator

__all__ = ["kronecker_pairs"]

Integers = NDArray[np.int64]


def kronecker_pairs(
    initiator: Initiator, generator: np.random.Generator, nodes: int | None = None
) -> Integers:
    """Return the edges of one graph: low < high, sorted, in time proportional to their number.

    Parameters
    ----------
    initiator
        The initiator.
    generator
        Draws the graph.
    nodes
        How many of the nodes the graph takes, at random and numbered at random; by default all,
        numbered by their digits.

    Notes
    -----
    Exactly the model: pairs that are joined with the same probability form a class, of which there
    are few; how many of a class are joined is binomial, and which ones is a uniform choice.
    (Ramani, Eikmeier & Gleich, "Coin-flipping, ball-dropping, and grass-hopping", 2019.)
    """
    from sfumato.graph.kronecker_kernels import unranked

    digits, orders = _classes(initiator.power)
    # Of two nodes the one with 0 in the first digit that differs is the lower.
    sizes = orders << (digits[:, 1] - 1)
    entries = np.array([initiator.a, initiator.b, initiator.c])
    chances = np.prod(entries[None, :] ** digits, axis=1)
    joined = generator.binomial(sizes, np.minimum(chances, 1.0)).astype(np.int64)
    pairs: Integers = unranked(digits, orders, *_distinct(joined, sizes, generator))
    if nodes is not None:
        pairs = generator.permutation(initiator.nodes)[pairs]
        pairs = pairs[(pairs < nodes).all(axis=1)]
    width = initiator.nodes
    keys = np.sort(pairs.min(axis=1) * width + pairs.max(axis=1))
    return np.stack([keys // width, keys % width], axis=1)


def _classes(power: int) -> tuple[Integers, Integers]:
    """Return the classes of pairs of nodes: in how many digits both are 0, differ, both are 1.

    With it the number of orders in which these can come.
    """
    counts = [
        (zeros, apart, power - zeros - apart)
        for apart in range(1, power + 1)
        for zeros in range(power - apart + 1)
    ]
    orders = [comb(power, apart) * comb(power - apart, zeros) for zeros, apart, _ in counts]
    return np.array(counts, dtype=np.int64).reshape(-1, 3), np.array(orders, dtype=np.int64)


def _distinct(
    many: Integers, sizes: Integers, generator: np.random.Generator
) -> tuple[Integers, Integers]:
    """Return `many` different numbers below `sizes` for each class, and the class of each."""
    # Of a class that is more than half full, those that are left out are drawn.
    drawn = np.minimum(many, sizes - many)
    offsets = np.cumsum(sizes) - sizes
    keys = np.zeros(0, dtype=np.int64)
    missing = drawn
    while missing.any():
        # Never more than are missing, so that every set of the right size is as likely.
        which = np.repeat(np.arange(len(sizes)), missing)
        fresh = offsets[which] + generator.integers(0, sizes[which])
        # Sorted and compared by hand, which is many times faster than hashing them.
        keys = np.sort(np.concatenate([keys, fresh]))
        keys = keys[np.append(True, keys[1:] != keys[:-1])[: len(keys)]]
        missing = drawn - np.bincount(
            np.searchsorted(offsets, keys, side="right") - 1, minlength=len(sizes)
        )
    which = np.searchsorted(offsets, keys, side="right") - 1
    full = many > drawn
    parts = [keys[~full[which]]]
    for number in np.flatnonzero(full):
        left_out = np.ones(sizes[number], dtype=np.bool_)
        left_out[keys[which == number] - offsets[number]] = False
        parts.append(offsets[number] + np.flatnonzero(left_out))
    keys = np.concatenate(parts)
    which = np.searchsorted(offsets, keys, side="right") - 1
    return which.astype(np.int64), keys - offsets[which]
