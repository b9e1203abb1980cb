"""The trees over the codes of one column along which its bins are split.

Numbers and dates are halved again and again; categories follow their declared taxonomy. A tree is
public, and so is which nodes were split: a primitive said it.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.engines.coding import Categories, Coding
from sfumato.engines.coding.taxonomy import Taxonomy

__all__ = ["CodeTree", "Node", "Nodes", "prune"]

#: A node: a stretch of the tree's order, from its first place up to and without its last.
Node = tuple[int, int]
Nodes = NDArray[np.int64]


class CodeTree:
    """A public tree over the proper codes of a column.

    Parameters
    ----------
    order
        The codes, in an order in which every node is a stretch of them.
    groups
        The children of each node that has any, for a tree that is declared; `None` for one that
        halves the order.
    roots
        Into how many equal stretches the order is cut before anything is asked.
    """

    def __init__(
        self,
        order: NDArray[np.intp],
        groups: dict[Node, tuple[Node, ...]] | None = None,
        roots: int = 1,
    ) -> None:
        self.order = order
        self._groups = groups
        ends = [len(order) * number // roots for number in range(roots + 1)]
        self.roots: list[Node] = [(a, b) for a, b in pairwise(ends) if a < b]

    @classmethod
    def of(cls, coding: Coding, apart: Sequence[int] = (), roots: int = 1) -> CodeTree:
        """Return the tree of a coding: its taxonomy, or halves of halves of its other codes.

        Parameters
        ----------
        coding
            The coding.
        apart
            Codes of numbers or dates that are left out of the tree.
        roots
            Into how many equal stretches numbers and dates are cut before anything is asked.
        """
        if isinstance(coding, Categories) and coding.taxonomy is not None:
            return _taxonomy_tree(coding.taxonomy, coding.values)
        codes = np.arange(coding.proper, dtype=np.intp)
        return cls(np.delete(codes, np.asarray(apart, dtype=np.intp)), roots=roots)

    @property
    def size(self) -> int:
        """The number of codes."""
        return len(self.order)

    @property
    def fan_out(self) -> int:
        """The largest number of children of a node."""
        if self._groups is None:
            return 2
        return max(map(len, self._groups.values()))

    @property
    def levels(self) -> int:
        """How many splits lead from the root to the deepest single code."""
        if self._groups is None:
            return max(((last - first - 1).bit_length() for first, last in self.roots), default=0)
        return _height(self._groups, (0, self.size))

    def children(self, nodes: Nodes) -> tuple[Nodes, NDArray[np.intp]]:
        """Return the children of some nodes in order, and the place of each one's parent."""
        if self._groups is None:
            middle = nodes.sum(axis=1) // 2
            halves = np.stack([nodes[:, 0], middle, middle, nodes[:, 1]], axis=1).reshape(-1, 2)
            return halves, np.repeat(np.arange(len(nodes)), 2)
        below = [self._groups[first, last] for first, last in nodes.tolist()]
        flat = [child for members in below for child in members]
        places = np.repeat(np.arange(len(below)), [len(members) for members in below])
        return np.array(flat, dtype=np.int64).reshape(-1, 2), places

    @property
    def root(self) -> Nodes:
        """The nodes of the first level that can be split."""
        several = [root for root in self.roots if root[1] - root[0] > 1]
        return np.array(several, dtype=np.int64).reshape(-1, 2)

    def descend(self, nodes: Nodes, split: NDArray[np.bool_]) -> tuple[Nodes, NDArray[np.intp]]:
        """Return the children of the nodes that were split, and the place of each one's parent.

        A single code cannot be split, and is left out.
        """
        chosen = np.flatnonzero(split)
        children, places = self.children(nodes[chosen])
        several = children[:, 1] - children[:, 0] > 1
        return children[several], chosen[places[several]]

    def inner(self, levels: Sequence[NDArray[np.bool_]]) -> dict[Node, tuple[Node, ...]]:
        """Return the nodes that were split, each after its parent, with their children.

        Parameters
        ----------
        levels
            Which nodes of each level were split.
        """
        found: dict[Node, list[Node]] = {}
        nodes = self.root
        for split in levels:
            parents = [(first, last) for first, last in nodes[split].tolist()]
            found.update((parent, []) for parent in parents)
            children, places = self.children(nodes[split])
            for place, (first, last) in zip(places.tolist(), children.tolist(), strict=True):
                found[parents[place]].append((first, last))
            nodes, _ = self.descend(nodes, split)
        return {node: tuple(members) for node, members in found.items()}

    def group_codes(self, leaves: Sequence[Node]) -> NDArray[np.intp]:
        """Return the bin of each code, for leaves in order that cover every code once."""
        bins = np.empty(self.size, dtype=np.intp)
        for number, (first, last) in enumerate(leaves):
            bins[self.order[first:last]] = number
        return bins


def _taxonomy_tree(taxonomy: Taxonomy, values: Sequence[Any]) -> CodeTree:
    """Return the tree of a taxonomy; values that it does not name hang from the root."""
    codes = {value: code for code, value in enumerate(values)}
    order: list[int] = []
    groups: dict[Node, tuple[Node, ...]] = {}

    def visit(member: Any) -> Node:
        first = len(order)
        if not isinstance(member, tuple):
            order.append(codes[member])
            return first, first + 1
        inside = tuple(visit(inner) for inner in member)
        node = (first, len(order))
        # A group of one is that one.
        if len(inside) > 1:
            groups[node] = inside
        return node

    members = [visit(member) for member in taxonomy]
    named = set(order)
    rest = [code for code in range(len(values)) if code not in named]
    members += [(place, place + 1) for place in range(len(order), len(values))]
    order += rest
    if len(members) > 1:
        groups[0, len(order)] = tuple(members)
    return CodeTree(np.array(order, dtype=np.intp), groups)


def _height(groups: dict[Node, tuple[Node, ...]], node: Node) -> int:
    """Return the number of levels of splits below a node; nesting is bounded by the schema."""
    return 1 + max(_height(groups, inner) for inner in groups[node]) if node in groups else 0


def prune(tree: CodeTree, inner: dict[Node, tuple[Node, ...]], most: int) -> list[Node]:
    """Return the leaves of a grown tree in order, at most so many where that is possible.

    Parameters
    ----------
    tree
        The tree.
    inner
        The nodes that were split, each after its parent, with their children.
    most
        Splits are taken back until no more leaves than this are left. The split of a single root
        is not: one with more children than this keeps them.

    Notes
    -----
    Privacy: a function of the splits alone. The deepest splits go first: they are the narrowest,
    and a chain of chance splits, of which a node without records starts one in four times, ends
    deep.
    """
    roots = set(tree.roots)
    parents = {child: node for node, members in inner.items() for child in members}
    depths: dict[Node, int] = {}
    for node in inner:
        depths[node] = 0 if node in roots else depths[parents[node]] + 1
    split = dict(inner)
    leaves = {*roots, *parents} - set(split)
    waiting = [(-depths[node], node) for node in split if leaves.issuperset(split[node])]
    heapq.heapify(waiting)
    while len(leaves) > most and waiting:
        _, node = heapq.heappop(waiting)
        if roots == {node}:
            continue
        leaves.difference_update(split.pop(node))
        leaves.add(node)
        above = parents.get(node)
        if above is not None and leaves.issuperset(split[above]):
            heapq.heappush(waiting, (-depths[above], above))
    return sorted(leaves)
