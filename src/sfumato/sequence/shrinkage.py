"""Histograms of a suffix tree from noisy ones: each is drawn towards its parent's.

What a longer context says is mostly what its parent, the context without its first symbol, says;
how much contexts of a level really differ is estimated from all of them, and what exceeds the
noise of a node is kept. Everything here is a function of noisy histograms and of the public level
of their noise. Empirical Bayes: James and Stein 1961, Morris 1983.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.sequence.context_tree import ContextTree

__all__ = ["clipped", "on_simplex", "shrunk"]

Floats = NDArray[np.float64]

#: How much the estimate of the spread of a level trusts nodes with much signal: they all have
#: spreads of their own, however little noise they have.
OWN_SPREAD = 0.1


def clipped(tree: ContextTree, leaves: Floats) -> Floats:
    """Return the histograms of all nodes as they are published: sums, then negatives set to 0."""
    return np.maximum(tree.summed(leaves), 0.0)


def on_simplex(rows: Floats, totals: Floats) -> Floats:
    """Return the closest rows without negative entries that have given totals.

    Parameters
    ----------
    rows
        One vector a row.
    totals
        The sum that each row shall have, not negative.
    """
    ordered = -np.sort(-rows, axis=1)
    excess = np.cumsum(ordered, axis=1) - totals[:, None]
    places = np.arange(1, rows.shape[1] + 1)
    kept = np.maximum((ordered - excess / places > 0).sum(axis=1), 1)
    shift = excess[np.arange(len(rows)), kept - 1] / kept
    return np.asarray(np.maximum(rows - shift[:, None], 0.0))


@dataclass(frozen=True)
class _Level:
    """What is known about the nodes of one level.

    Parameters
    ----------
    chances
        The estimated probabilities of what comes next.
    doubt
        The variance of each of them.
    """

    chances: Floats
    doubt: Floats

    def below(self, split: NDArray[np.bool_], fan_out: int) -> _Level:
        """Return what children are expected to be: what their parents are."""
        places = np.repeat(np.flatnonzero(split), fan_out)
        return _Level(self.chances[places], self.doubt[places])


def shrunk(tree: ContextTree, counts: Floats, variances: Floats) -> Floats:
    """Return non-negative histograms of all nodes, each drawn towards its parent's.

    Parameters
    ----------
    tree
        The shape.
    counts
        The noisy histograms of all nodes, one a row.
    variances
        The variance of the noise on the cells of each; 0 for no noise.

    Notes
    -----
    A child of total T has a prior of mean T·q and variance T²·(φ·q·(1 − q) + doubt in q), q its
    parent's probabilities, cell by cell; φ is one number a level, found by moments. The mean of the
    posterior is put on the simplex, and a little of q is mixed in, less the larger T is in units of
    the noise: V/(T² + V), V the variance of a cell.
    """
    totals = np.maximum(counts.sum(axis=1), 0.0)
    estimates = np.empty_like(counts)
    begin, level = 0, _Level(np.zeros((0, 0)), np.zeros((0, 0)))
    for depth, split in enumerate(tree.levels):
        part = slice(begin, begin + len(split))
        if depth == 0:
            level = _root(counts[part], variances[part])
        else:
            prior = level.below(tree.levels[depth - 1], tree.fan_out)
            level = _posterior(counts[part], variances[part], prior)
        estimates[part] = level.chances * totals[part, None]
        begin += len(split)
    return estimates


def _root(counts: Floats, variances: Floats) -> _Level:
    """Return what the root says, by itself."""
    total = max(float(counts.sum()), 0.0)
    cells = counts.shape[1]
    if total == 0.0:
        return _Level(np.full((1, cells), 1 / cells), np.full((1, cells), 1 / cells))
    chances = on_simplex(counts, np.array([total])) / total
    return _Level(chances, np.full((1, cells), float(variances[0]) / total**2))


def _posterior(counts: Floats, variances: Floats, prior: _Level) -> _Level:
    """Return what the nodes of a level say, with what their parents said before."""
    q, noise = prior.chances, variances[:, None]
    totals = counts.sum(axis=1)
    # T² without what noise adds to it; 0 where a node has no total to speak of.
    squares = np.maximum(totals**2 - counts.shape[1] * variances, 0.0)[:, None]
    squares[totals <= 0] = 0.0
    apart = counts - totals[:, None] * q
    spread = _spread(apart, noise, squares, prior)
    variance = squares * (spread * q * (1 - q) + prior.doubt)
    weights = np.divide(variance, variance + noise, out=np.zeros_like(q), where=variance > 0)
    kept = np.maximum(totals, 0.0)
    estimate = on_simplex(kept[:, None] * q + weights * apart, kept)
    known = (squares > 0)[:, 0]
    chances = np.where(known[:, None], estimate / np.where(kept > 0, kept, 1.0)[:, None], q)
    share = np.divide(variances, kept**2 + variances, out=np.zeros_like(kept), where=known)[:, None]
    doubt = np.divide(weights * noise, squares, out=spread * q * (1 - q) + prior.doubt,
                      where=squares > 0)  # fmt: skip
    return _Level((1 - share) * chances + share * q, doubt)


def _spread(apart: Floats, noise: Floats, squares: Floats, prior: _Level) -> float:
    """Return how much the nodes of a level differ from their parents, φ, between 0 and 1.

    For each node the squared distance from the parent, without what noise and doubt add to it,
    estimates φ·T²·Σq(1 − q); a weighted regression through 0 pools the nodes.
    """
    q, cells = prior.chances, apart.shape[1]
    added = noise * (1 + cells * q * q - 2 * q) + squares * prior.doubt
    found = (apart**2 - added).sum(axis=1)
    expected = (squares * q * (1 - q)).sum(axis=1)
    spreads = (cells * noise[:, 0]) ** 2 + (squares * prior.doubt).sum(axis=1) ** 2
    spreads = spreads + (OWN_SPREAD * expected) ** 2
    usable = expected > 0
    if not usable.any():
        return 0.0
    found, expected, spreads = found[usable], expected[usable], spreads[usable]
    slope = float((found * expected / spreads).sum() / (expected**2 / spreads).sum())
    return min(max(slope, 0.0), 1.0)
