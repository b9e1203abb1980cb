"""The shape of a tree that halves axes: public, since it is made of what a primitive said.

A node of level k is a string of k·h bits, one a halving; its 2^h children append h bits. Nodes are
numbered level by level, and the children of one node follow each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

__all__ = ["TreeShape", "children"]

Floats = NDArray[np.float64]


def children(
    prefixes: NDArray[np.uint64], split: NDArray[np.bool_], halvings: int
) -> NDArray[np.uint64]:
    """Return the children of the nodes of a level that split, in order.

    Parameters
    ----------
    prefixes
        The nodes of the level.
    split
        Which of them split.
    halvings
        How many halvings a child adds.
    """
    last = np.arange(1 << halvings, dtype=np.uint64)
    parents = prefixes[split] << np.uint64(halvings)
    found: NDArray[np.uint64] = (parents[:, None] | last).ravel()
    return found


class TreeShape:
    """A tree of cells, rebuilt from which nodes split.

    Parameters
    ----------
    splits
        For each level which of its nodes split, the root first. Nodes of a level that is missing
        do not split.
    halvings
        How many halvings lead from a node to its children.
    axes
        Which axis each successive halving splits.
    """

    def __init__(
        self, splits: Sequence[NDArray[np.bool_]], halvings: int, axes: Sequence[int]
    ) -> None:
        self.halvings = halvings
        self.axes = tuple(axes)
        self.prefixes: list[NDArray[np.uint64]] = [np.zeros(1, dtype=np.uint64)]
        self.splits: list[NDArray[np.bool_]] = []
        for split in splits:
            level = np.asarray(split, dtype=np.bool_)
            if level.shape != self.prefixes[-1].shape:
                raise ValueError(
                    f"level {len(self.splits)} has {self.prefixes[-1].size} nodes; got answers "
                    f"for {level.size}"
                )
            self.splits.append(level)
            if not level.any():
                break
            self.prefixes.append(children(self.prefixes[-1], level, halvings))
        if len(self.splits) < len(self.prefixes):
            self.splits.append(np.zeros(self.prefixes[-1].size, dtype=np.bool_))
        if (self.levels - 1) * halvings > len(self.axes):
            raise ValueError(f"a tree of {self.levels} levels has more halvings than the domain")

    @property
    def fan_out(self) -> int:
        """How many children an inner node has."""
        return 1 << self.halvings

    @property
    def levels(self) -> int:
        """How many levels there are, the root's included."""
        return len(self.prefixes)

    @cached_property
    def split(self) -> NDArray[np.bool_]:
        """Which nodes split, level by level."""
        return np.concatenate(self.splits)

    @cached_property
    def starts(self) -> NDArray[np.intp]:
        """The number of the first node of each level, and of one after the last."""
        return np.cumsum([0, *(len(level) for level in self.prefixes)], dtype=np.intp)

    @property
    def nodes(self) -> int:
        """How many nodes there are."""
        return int(self.starts[-1])

    @cached_property
    def leaves(self) -> NDArray[np.intp]:
        """The numbers of the leaves, increasing."""
        return np.flatnonzero(~self.split)

    @cached_property
    def first_children(self) -> NDArray[np.int64]:
        """The number of the first child of each node; −1 for a leaf."""
        first = np.full(self.nodes, -1, dtype=np.int64)
        inner = np.flatnonzero(self.split)
        first[inner] = 1 + self.fan_out * np.arange(inner.size)
        return first

    @cached_property
    def parents(self) -> NDArray[np.intp]:
        """The number of the parent of each node; 0 for the root itself."""
        above = np.repeat(np.flatnonzero(self.split), self.fan_out)
        return np.append(np.zeros(1, dtype=np.intp), above)

    def level(self, number: int) -> slice:
        """Return where the nodes of a level are."""
        return slice(int(self.starts[number]), int(self.starts[number + 1]))

    def inner(self, number: int) -> NDArray[np.intp]:
        """Return the numbers of the nodes of a level that split."""
        numbers: NDArray[np.intp] = self.starts[number] + np.flatnonzero(self.splits[number])
        return numbers

    def sums(self, leaf_values: NDArray[np.float64]) -> Floats:
        """Return for every node the sum over its leaves.

        Parameters
        ----------
        leaf_values
            One value a leaf, in the order of `leaves`.
        """
        nodes = np.zeros(self.nodes)
        nodes[self.leaves] = leaf_values
        for level in range(self.levels - 2, -1, -1):
            below = nodes[self.level(level + 1)].reshape(-1, self.fan_out)
            nodes[self.inner(level)] = below.sum(axis=1)
        return nodes

    @cached_property
    def finest(self) -> NDArray[np.int64]:
        """How often each axis is halved at most."""
        return np.bincount(np.array(self.axes, dtype=np.int64))

    @cached_property
    def sides(self) -> Floats:
        """The sides of a node of each level, in units of the finest cells; (levels, axes)."""
        halved = np.zeros((self.levels, self.finest.size), dtype=np.int64)
        for level in range(1, self.levels):
            gone = self.axes[: level * self.halvings]
            halved[level] = np.bincount(np.array(gone), minlength=self.finest.size)
        return np.asarray(2.0 ** (self.finest - halved))

    @cached_property
    def offsets(self) -> Floats:
        """How far each child's corner is from its parent's, by the parent's level.

        Shape (levels, fan-out, axes), in units of the finest cells.
        """
        moved = np.zeros((self.levels, self.fan_out, self.finest.size))
        number = np.arange(self.fan_out)
        for level in range(self.levels - 1):
            side = self.sides[level].copy()
            first = level * self.halvings
            for place, axis in enumerate(self.axes[first : first + self.halvings]):
                side[axis] /= 2
                bit = (number >> (self.halvings - 1 - place)) & 1
                moved[level, :, axis] += bit * side[axis]
        return moved
