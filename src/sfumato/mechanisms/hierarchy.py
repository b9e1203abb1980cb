"""Complete trees of range sums over ordered cells, and their consistent least-squares repair.

The shape of a tree is public. `sums` is the query that a primitive measures; everything after it is
public repair and may be given what a primitive returned, never a private value.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

Scalar = TypeVar("Scalar", np.int64, np.float64)

__all__ = ["Hierarchy", "average_range_variance", "optimal_fan_out"]


@dataclass(frozen=True, kw_only=True)
class Hierarchy:
    """A tree in which every node has `fan_out` children, over `leaves` cells.

    Parameters
    ----------
    leaves
        The public number of cells.
    fan_out
        Children of a node, at least 2.

    Notes
    -----
    The number of leaves is thought of as raised to fan_out^height; nodes that hold only such
    padding are publicly 0 and are neither stored nor measured. Nodes are stored level by level
    from the root, left to right. One unit is counted once a level: the L1 sensitivity of all
    node sums is `levels` under add/remove.

    Examples
    --------
    >>> tree = Hierarchy(leaves=5, fan_out=2)
    >>> tree.levels, tree.widths, tree.size
    (4, (1, 2, 3, 5), 11)
    >>> tree.sums([1, 2, 3, 4, 5]).tolist()
    [15, 10, 5, 3, 7, 5, 1, 2, 3, 4, 5]
    """

    leaves: int
    fan_out: int

    def __post_init__(self) -> None:
        if self.leaves < 1:
            raise ValueError(f"leaves must be at least 1; got {self.leaves!r}")
        if self.fan_out < 2:
            raise ValueError(f"fan_out must be at least 2; got {self.fan_out!r}")

    @cached_property
    def height(self) -> int:
        """The number of edges from the root to a leaf: the least h with fan_out^h ≥ leaves."""
        height, reach = 0, 1
        while reach < self.leaves:
            height, reach = height + 1, reach * self.fan_out
        return height

    @property
    def levels(self) -> int:
        """The number of levels, which is the L1 sensitivity of `sums` under add/remove."""
        return self.height + 1

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """How many nodes each level has, from the root to the leaves."""
        blocks = (self.fan_out ** (self.height - level) for level in range(self.levels))
        return tuple(-(-self.leaves // block) for block in blocks)

    @property
    def size(self) -> int:
        """The number of nodes."""
        return sum(self.widths)

    @cached_property
    def _borders(self) -> tuple[int, ...]:
        """Where each level begins in the flat order, and the end of the last."""
        return (0, *np.cumsum(self.widths).tolist())

    def split(self, nodes: NDArray[Scalar]) -> list[NDArray[Scalar]]:
        """Return the levels of a flat array of nodes, as views, from the root to the leaves."""
        if nodes.shape != (self.size,):
            raise ValueError(f"nodes must have the shape ({self.size},); got {nodes.shape}")
        return [
            nodes[start:end] for start, end in zip(self._borders, self._borders[1:], strict=False)
        ]

    def sums(self, counts: ArrayLike) -> NDArray[np.int64]:
        """Return the sums of all nodes, level by level from the root."""
        cells = np.asarray(counts)
        if cells.shape != (self.leaves,) or not np.issubdtype(cells.dtype, np.integer):
            raise ValueError(f"counts must be {self.leaves} integers in one dimension")
        levels = [cells.astype(np.int64)]
        for _ in range(self.height):
            levels.append(self._children_sums(levels[-1]))
        return np.concatenate(levels[::-1])

    def infer(
        self, measured: ArrayLike, variances: Sequence[float] | None = None
    ) -> NDArray[np.float64]:
        """Return the consistent node values closest to the measured ones.

        Parameters
        ----------
        measured
            One noisy value a node, in the order of `sums`.
        variances
            The noise variance of each level from the root, `inf` for a level that was not
            measured (the leaves must be); all equal by default.

        Notes
        -----
        This is ordinary (weighted) least squares under "a parent is the sum of its children", in
        linear time. With equal variances and a full tree it is the two passes of Hay, Rastogi,
        Miklau and Suciu (2010, Theorem 3): bottom-up, a node is averaged with the sum of its
        children by inverse variance; top-down, what a parent has over its children is shared
        among them in proportion to their variances.

        Examples
        --------
        >>> Hierarchy(leaves=2, fan_out=2).infer([10, 3, 4]).tolist()
        [9.0, 4.0, 5.0]
        """
        noisy = self.split(np.asarray(measured, dtype=np.float64))
        estimates, spreads = self._upward(noisy, self._check_variances(variances))
        consistent = [estimates[0]]
        for level in range(1, self.levels):
            estimate, spread = estimates[level], spreads[level]
            missing = consistent[-1] - self._children_sums(estimate)
            share = spread / self._over_children(self._children_sums(spread), spread.size)
            consistent.append(estimate + share * self._over_children(missing, spread.size))
        return np.concatenate(consistent)

    def leaf_values(self, nodes: ArrayLike) -> NDArray[np.float64]:
        """Return the last level of a flat array of nodes: one value a cell."""
        return self.split(np.asarray(nodes, dtype=np.float64))[-1].copy()

    def range_sums(
        self, consistent: ArrayLike, lows: ArrayLike, highs: ArrayLike
    ) -> NDArray[np.float64]:
        """Return the answers to ranges low ≤ cell < high of consistent nodes.

        Parameters
        ----------
        consistent
            What `infer` returned; all ways of covering a range then give the same answer.
        lows, highs
            Integer borders, 0 ≤ low ≤ high ≤ leaves.

        Examples
        --------
        >>> tree = Hierarchy(leaves=4, fan_out=2)
        >>> tree.range_sums(tree.infer(tree.sums([1, 2, 3, 4])), [0, 1], [4, 3]).tolist()
        [10.0, 5.0]
        """
        low, high = np.asarray(lows), np.asarray(highs)
        if not np.all((low >= 0) & (low <= high) & (high <= self.leaves)):
            raise ValueError(f"ranges must satisfy 0 <= low <= high <= {self.leaves}")
        running = np.concatenate([[0.0], np.cumsum(self.leaf_values(consistent))])
        answers: NDArray[np.float64] = running[high] - running[low]
        return answers

    def _children_sums(self, level: NDArray[Scalar]) -> NDArray[Scalar]:
        """Return the sum over the children of each node one level up."""
        sums: NDArray[Scalar] = np.add.reduceat(level, np.arange(0, level.size, self.fan_out))
        return sums

    def _over_children(self, level: NDArray[np.float64], width: int) -> NDArray[np.float64]:
        """Return each node's value once for every child it has."""
        return np.repeat(level, self.fan_out)[:width]

    def _check_variances(self, variances: Sequence[float] | None) -> list[float]:
        """Return one variance a level, or say what is allowed."""
        levels = [1.0] * self.levels if variances is None else [float(v) for v in variances]
        if len(levels) != self.levels:
            raise ValueError(f"variances must be given for {self.levels} levels; got {len(levels)}")
        if not all(variance > 0 for variance in levels) or not np.isfinite(levels[-1]):
            raise ValueError("variances must be positive, and finite for the leaves")
        return levels

    def _upward(
        self, noisy: list[NDArray[np.float64]], variances: list[float]
    ) -> tuple[list[NDArray[np.float64]], list[NDArray[np.float64]]]:
        """Return each node's best estimate from its own subtree, and that estimate's variance."""
        estimates = [noisy[-1]]
        spreads = [np.full(noisy[-1].size, variances[-1])]
        for level in range(self.height - 1, -1, -1):
            below, spread = self._children_sums(estimates[0]), self._children_sums(spreads[0])
            own = variances[level]
            weight = 0.0 if np.isinf(own) else spread / (own + spread)
            estimates.insert(0, below + weight * (noisy[level] - below))
            spreads.insert(0, spread * (1.0 - weight))
        return estimates, spreads


def average_range_variance(leaves: int, fan_out: int) -> float:
    """Return the variance of a range query, averaged over all ranges, after `Hierarchy.infer`.

    Parameters
    ----------
    leaves, fan_out
        The public shape of the tree; padding counts as measured, which is a slight overestimate.

    Notes
    -----
    In units of 1/ε², with Laplace noise of scale levels/ε on every node. Let P_k average over the
    blocks of level k. The normal matrix Σ_k f^(h−k)·P_k has the eigenvalue
    (f^(h−k+1) − 1)/(f − 1) on what P_k adds to P_(k−1), hence the covariance of the cells is
    Σ_k (P_k − P_(k−1))·(f − 1)/(f^(h−k+1) − 1), and its trace against the workload of ranges needs
    only the workload's block sums.
    """
    tree = Hierarchy(leaves=leaves, fan_out=fan_out)
    total, previous = 0.0, 0.0
    for level in range(tree.levels):
        block = fan_out ** (tree.height - level)
        projected = _workload_block_sum(leaves, block) / block
        total += (projected - previous) * (fan_out - 1) / (fan_out * block - 1)
        previous = projected
    ranges = leaves * (leaves + 1) / 2
    return 2.0 * tree.levels**2 * total / ranges


def optimal_fan_out(leaves: int, candidates: Iterable[int] = range(2, 33)) -> int:
    """Return the fan-out with the least average variance of a range query.

    Parameters
    ----------
    leaves
        The public number of cells.
    candidates
        The fan-outs to choose from.

    Examples
    --------
    >>> optimal_fan_out(4096)
    8
    """
    return min(candidates, key=lambda fan_out: average_range_variance(leaves, fan_out))


def _workload_block_sum(cells: int, block: int) -> float:
    """Return Σ over pairs (i, j) in one block of the number of ranges that hold both i and j."""
    start = np.arange(0, cells, block, dtype=np.float64)
    end = np.minimum(start + block, cells)
    # Cells are numbered from 1; a pair i ≤ j lies in i·(cells + 1 − j) ranges. Summed over i ≤ j:
    # Σ_j (cells + 1 − j)·(2·(i's before j in the block) + j).
    first = _power_sums(end, 1) - _power_sums(start, 1)
    second = _power_sums(end, 2) - _power_sums(start, 2)
    third = _power_sums(end, 3) - _power_sums(start, 3)
    before = start * (start + 1)
    # 2·Σ_{start<i<j} i + j = j² − start·(start + 1).
    whole = (cells + 1) * (second - before * (end - start)) - (third - before * first)
    return float(whole.sum())


def _power_sums(upper: NDArray[np.float64], power: int) -> NDArray[np.float64]:
    """Return Σ_{i=1}^{upper} i^power for power 1, 2 or 3."""
    triangle = upper * (upper + 1) / 2
    if power == 1:
        return triangle
    if power == 2:
        return triangle * (2 * upper + 1) / 3
    return triangle**2
