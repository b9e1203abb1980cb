"""A graph as stubs that are joined in pairs: what rewiring works on.

Post-processing: of a private graph nothing here may be published.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

__all__ = ["Keep", "Stubs", "checked_keep", "checked_steps", "ordered_pairs"]

Integers = NDArray[np.int64]

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
        from sfumato.graph.rewiring_kernels import joined_stubs

        pairs = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
        degrees = np.bincount(pairs.ravel(), minlength=nodes)
        order = np.argsort(degrees, kind="stable").astype(np.int64)
        rank = np.empty(nodes, dtype=np.int64)
        rank[order] = np.arange(nodes)
        starts = np.append(0, np.cumsum(degrees[order])).astype(np.int64)
        numbered = rank[pairs]
        left, right = np.ascontiguousarray(numbered[:, 0]), np.ascontiguousarray(numbered[:, 1])
        owner, mate, ends, table = joined_stubs(left, right, starts)
        return cls(nodes=order, starts=starts, owner=owner, mate=mate, ends=ends, table=table)

    @property
    def degrees(self) -> Integers:
        """The degree of each node, rising."""
        return np.diff(self.starts)

    def stands_in(self, keep: Keep) -> tuple[Integers, Integers]:
        """Return for each node which stubs may stand in for one of its own: first and last + 1."""
        degrees = self.degrees
        if checked_keep(keep) == "degrees":
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


def checked_keep(keep: Keep) -> Keep:
    """Refuse what is not a thing to keep."""
    if keep not in ("degrees", "joint"):
        raise ValueError(f'keep must be "degrees" or "joint"; got {keep!r}')
    return keep


def checked_steps(steps: int) -> int:
    """Refuse a negative number of steps."""
    if steps < 0:
        raise ValueError(f"steps must be at least 0; got {steps}")
    return int(steps)
