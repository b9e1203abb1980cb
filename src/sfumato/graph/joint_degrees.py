"""Joint degrees that a simple graph can have: test, and graphs that have them.

The number of edges between nodes of degree k and of degree l fixes how many nodes of each degree
there are. A simple graph has them if and only if those numbers are whole, and no two degrees are
joined by more edges than there are pairs of their nodes (Stanton and Pinar, "Constructing and
sampling graphs with a prescribed joint degree distribution", 2012). Post-processing: nothing here
may see a private value.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.graph.dk_series import JointDegrees
from sfumato.graph.joint_dealing import dealt
from sfumato.graph.joint_repair import RepairedJoint, repaired_joint
from sfumato.graph.rewiring import rewired
from sfumato.graph.stub_matching import MIXING

__all__ = [
    "RepairedJoint",
    "is_joint_graphical",
    "joint_graph",
    "nodes_by_degree",
    "repaired_joint",
]

Integers = NDArray[np.int64]


def nodes_by_degree(joint: JointDegrees) -> tuple[Integers, Integers]:
    """Return the degrees that occur, rising, and how many ends of edges nodes of each have.

    Degree k has so many nodes as k goes into its ends; where it does not go, no graph is meant.
    """
    ends = np.concatenate([joint.low, joint.high])
    degrees, where = np.unique(ends, return_inverse=True)
    total = np.zeros(len(degrees), dtype=np.int64)
    np.add.at(total, where, np.concatenate([joint.edges, joint.edges]))
    return degrees, total


def is_joint_graphical(joint: JointDegrees, nodes: int) -> bool:
    """Tell whether some simple graph on so many nodes has these joint degrees."""
    low, high, edges = (np.asarray(array, dtype=np.int64) for array in joint)
    if not len(edges):
        return True
    keys = low * (int(high.max()) + 1) + high
    if (low < 1).any() or (high < low).any() or (edges < 0).any() or (np.diff(keys) <= 0).any():
        return False
    degrees, ends = nodes_by_degree(JointDegrees(low, high, edges))
    if (ends % degrees).any() or (ends // degrees).sum() > nodes:
        return False
    count = ends // degrees
    left = count[np.searchsorted(degrees, low)]
    right = count[np.searchsorted(degrees, high)]
    most = np.where(low == high, left * (left - 1) // 2, left * right)
    return bool((edges <= most).all())


def joint_graph(
    joint: JointDegrees, nodes: int, generator: np.random.Generator, *, exact: bool = True
) -> Integers:
    """Return a random graph with given joint degrees.

    Nodes are numbered by rising degree from the first one; those left over have no edge.

    Parameters
    ----------
    joint
        Joint degrees that a simple graph can have (see `repaired_joint`).
    nodes
        The number of nodes.
    generator
        Where random numbers come from.
    exact
        Give exactly these joint degrees. False is the pseudograph of Mahadevan et al.: ends of
        edges are dealt to nodes at random, and then loops and second edges are deleted.
    """
    if not is_joint_graphical(joint, nodes):
        raise ValueError(
            f"no simple graph on {nodes} nodes has these joint degrees; "
            "repair them with repaired_joint() first"
        )
    used = joint.edges > 0
    joint = JointDegrees(joint.low[used], joint.high[used], joint.edges[used])
    degrees, ends = nodes_by_degree(joint)
    begin = np.append(0, np.cumsum(ends // np.maximum(degrees, 1)))
    if not exact:
        return _pseudograph(joint, degrees, begin, generator)
    rows, columns = np.searchsorted(degrees, joint.low), np.searchsorted(degrees, joint.high)
    pairs = dealt(rows, columns, joint.edges, np.diff(begin))
    return rewired(pairs, nodes, generator, steps=MIXING * len(pairs), keep="joint")


def _pseudograph(
    joint: JointDegrees, degrees: Integers, begin: Integers, generator: np.random.Generator
) -> Integers:
    """Deal the ends of edges to nodes at random; delete loops and repeats."""
    size = int(joint.edges.sum())
    kind = np.repeat(np.concatenate([joint.low, joint.high]), np.tile(joint.edges, 2))
    # A random order of the ends within each degree: its nodes take `degree` of them each.
    order = np.lexsort((generator.random(2 * size), kind))
    node = np.empty(2 * size, dtype=np.int64)
    node[order] = np.repeat(np.arange(begin[-1]), np.repeat(degrees, np.diff(begin)))
    pairs = np.sort(np.stack([node[:size], node[size:]], axis=1), axis=1)
    return np.unique(pairs[pairs[:, 0] < pairs[:, 1]], axis=0).reshape(-1, 2)
