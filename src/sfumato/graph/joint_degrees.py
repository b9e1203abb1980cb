"""Joint degrees that a simple graph can have: test, and graphs that have them.

The number of edges between nodes of degree k and of degree l fixes how many nodes of each degree
there are. A simple graph has them if and only if those numbers are whole, and no two degrees are
joined by more edges than there are pairs of their nodes (Stanton and Pinar, "Constructing and
sampling graphs with a prescribed joint degree distribution", 2012). Post-processing: nothing here
may see a private value.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.graph.dk_series import JointDegrees, joint_degrees
from sfumato.graph.rewiring import ordered_pairs, rewire
from sfumato.graph.stub_matching import MIXING, realise_graph

__all__ = [
    "RepairedJoint",
    "is_joint_graphical",
    "joint_graph",
    "nodes_by_degree",
    "repair_joint",
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
        Joint degrees that a simple graph can have (see `repair_joint`).
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
    pairs = deal_edges(rows, columns, joint.edges, np.diff(begin))
    return rewire(pairs, nodes, generator, steps=MIXING * len(pairs), keep="joint")


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


# Repair of noisy joint degrees, so that a simple graph can have them.
#
# Post-processing: nothing here may see a private value.


class RepairedJoint(NamedTuple):
    """Joint degrees that a graph can have, and Σ |change| by which they differ from those given."""

    joint: JointDegrees
    moved: float


def repair_joint(low: ArrayLike, high: ArrayLike, weights: ArrayLike, nodes: int) -> RepairedJoint:
    """Return joint degrees that a simple graph on so many nodes can have, close to those given.

    Degrees outside 1 … nodes − 1 and negative weights are dropped; more ends of edges than the
    nodes can hold are scaled down; weights are rounded so that their sum is kept. Then every degree
    gets a whole number of nodes, and ends of edges are moved between degrees until they fit.

    Parameters
    ----------
    low, high, weights
        The number of edges between nodes of degree `low` and `high`, in either order, whole or not;
        what is given twice is added up.
    nodes
        The number of nodes.

    Examples
    --------
    >>> repair_joint([1, 2, 3], [3, 3, 3], [1.2, 1.9, 3.1], 5).joint
    JointDegrees(low=array([1, 2, 3]), high=array([3, 3, 3]), edges=array([1, 2, 3]))
    """
    cells = _collect_weights(low, high, weights)
    rounded = _round_edges(cells, nodes)
    joint = JointTable(rounded, nodes).repair()
    kept = {
        (one, two): count for one, two, count in zip(*(row.tolist() for row in joint), strict=True)
    }
    moved = sum(abs(kept.pop(cell, 0) - weight) for cell, weight in cells.items())
    return RepairedJoint(joint, float(moved + sum(kept.values())))


def _collect_weights(
    low: ArrayLike, high: ArrayLike, weights: ArrayLike
) -> dict[tuple[int, int], float]:
    """Return the weight of each pair of degrees, checked and added up, in order."""
    one, two = np.asarray(low), np.asarray(high)
    weight = np.asarray(weights, dtype=np.float64)
    if one.shape != two.shape or one.shape != weight.shape or one.ndim != 1:
        raise ValueError("low, high and weights must be rows of the same length")
    if len(one) and (one.dtype.kind not in "iu" or two.dtype.kind not in "iu"):
        raise ValueError("degrees must be whole numbers")
    if not np.isfinite(weight).all():
        raise ValueError("weights must be finite; one is infinite or not a number")
    cells: dict[tuple[int, int], float] = defaultdict(float)
    order = np.lexsort((np.maximum(one, two), np.minimum(one, two)))
    for least, most, value in zip(
        np.minimum(one, two)[order].tolist(),
        np.maximum(one, two)[order].tolist(),
        weight[order].tolist(),
        strict=True,
    ):
        cells[least, most] += value
    return dict(cells)


def _round_edges(cells: dict[tuple[int, int], float], nodes: int) -> dict[tuple[int, int], int]:
    """Return whole numbers of edges that so many nodes can hold, with the sum nearly kept."""
    kept = {
        cell: weight
        for cell, weight in cells.items()
        if weight > 0 and cell[0] >= 1 and cell[1] < nodes
    }
    needed = sum(weight * (1 / least + 1 / most) for (least, most), weight in kept.items())
    scale = min(1.0, nodes / needed) if needed else 1.0
    rounded, total, given = {}, 0, 0.0
    for cell, weight in kept.items():
        # The fraction that one cell loses is carried to the next.
        given += weight * scale
        count = max(round(given - total), 0)
        total += count
        if count:
            rounded[cell] = count
    return rounded


# Numbers of edges between degrees on their way to being possible.
#
# Degree k has `count[k]` nodes and so k · count[k] ends of edges; its residual is how many of them
# are missing. The table is possible once all residuals are 0 and no two degrees are joined by more
# edges than there are pairs of their nodes. Post-processing: nothing here may see a private value.


#: How often residuals are resolved before what is left is settled by building a graph.
ROUNDS = 12

#: How many ways of moving an end are looked at before it is given up.
LOOKS = 64


class JointTable:
    """A table of joint degrees that is being repaired.

    Parameters
    ----------
    cells
        The number of edges between degrees k ≤ l, positive.
    nodes
        How many nodes there may be.
    """

    def __init__(self, cells: dict[tuple[int, int], int], nodes: int) -> None:
        self._rows: dict[int, dict[int, int]] = defaultdict(dict)
        self._ends: dict[int, int] = defaultdict(int)
        self._nodes = nodes
        for (low, high), edges in cells.items():
            self._add(low, high, edges)
        self._count = self._counts()

    def repair(self) -> JointDegrees:
        """Return joint degrees that a graph can have."""
        for _ in range(ROUNDS):
            self._make_even()
            self._cut()
            self._relabel()
            self._join()
            self._part()
            if not any(self._missing(degree) for degree in self._count):
                return self._joint()
            self._give_way()
        self._cut()
        return self._build_joint()

    def _counts(self) -> dict[int, int]:
        """Return how many nodes each degree has: the closest whole number the nodes allow."""
        count = {degree: ends // degree for degree, ends in sorted(self._ends.items())}
        spare = self._nodes - sum(count.values())
        for degree in count:
            # Rounding may have put a few more ends on low degrees than there are nodes.
            taken = min(max(-spare, 0), count[degree])
            count[degree] -= taken
            spare += taken
        part = {degree: self._ends[degree] / degree - count[degree] for degree in count}
        upward = sorted((d for d in count if part[d] >= 0.5), key=lambda d: (-part[d], d))
        for degree in upward[: max(spare, 0)]:
            count[degree] += 1
        return count

    def _missing(self, degree: int) -> int:
        """Return how many ends of edges are missing at a degree; negative: too many."""
        return degree * self._count[degree] - self._ends[degree]

    def _room(self, one: int, two: int) -> int:
        """Return how many more edges two degrees can have between them."""
        count = self._count
        most = count[one] * (count[one] - 1) // 2 if one == two else count[one] * count[two]
        return most - self._rows[one].get(two, 0)

    def _add(self, one: int, two: int, edges: int) -> None:
        """Change the number of edges between two degrees."""
        total = self._rows[one].get(two, 0) + edges
        for here, there in ((one, two), (two, one)):
            self._ends[here] += edges
            if total:
                self._rows[here][there] = total
            else:
                self._rows[here].pop(there, None)

    def _make_even(self) -> None:
        """Make the number of ends of edges even, by one node of an odd degree more or less."""
        if sum(degree * count for degree, count in self._count.items()) % 2 == 0:
            return
        spare = self._nodes - sum(self._count.values())
        best: tuple[int, int, int] | None = None
        for degree, count in self._count.items():
            for step in (-1, 1):
                if degree % 2 == 0 or count + step < 0 or (step > 0 and spare < 1):
                    continue
                missing = self._missing(degree)
                worse = abs(missing + step * degree) - abs(missing)
                if best is None or worse < best[0]:
                    best = (worse, degree, step)
        assert best is not None  # an odd sum has an odd term, and that node can go
        self._count[best[1]] += best[2]

    def _cut(self) -> None:
        """Take away the edges between two degrees that are more than there are pairs of nodes."""
        for one in list(self._rows):
            for two in list(self._rows[one]):
                room = self._room(one, two)
                if one <= two and room < 0:
                    self._add(one, two, room)

    def _sorted(self, sign: int) -> list[int]:
        """Return the degrees with missing ends (1) or with too many (−1), rising."""
        return sorted(degree for degree in self._count if sign * self._missing(degree) > 0)

    def _relabel(self) -> None:
        """Move ends from degrees that have too many to the closest ones that miss some."""
        givers = self._sorted(-1)
        for taker in reversed(self._sorted(1)):
            for giver in list(islice(_closest(givers, taker), LOOKS)):
                self._move(giver, taker)
                if not self._missing(giver):
                    del givers[bisect_left(givers, giver)]
                if not self._missing(taker):
                    break

    def _move(self, giver: int, taker: int) -> None:
        """Turn edges giver–other into edges taker–other, largest numbers first."""
        for other in sorted(self._rows[giver], key=lambda d: (-self._rows[giver][d], d)):
            while True:
                amount = min(
                    self._missing(taker),
                    -self._missing(giver),
                    self._rows[giver].get(other, 0),
                    self._room(taker, other),
                )
                if amount <= 0:
                    break
                self._add(giver, other, -amount)
                self._add(taker, other, amount)

    def _join(self) -> None:
        """Add edges between degrees that miss ends, over an edge between others where it must."""
        takers = sorted(self._sorted(1), key=lambda d: (-self._missing(d), d))
        for place, one in enumerate(takers):
            for two in takers[place + 1 :]:
                amount = min(self._missing(one), self._missing(two), self._room(one, two))
                if amount > 0:
                    self._add(one, two, amount)
                if not self._missing(one):
                    break
            amount = min(self._missing(one) // 2, self._room(one, one))
            if amount > 0:
                self._add(one, one, amount)
        takers = self._sorted(1)
        while takers:
            one = takers[-1]
            two = one if self._missing(one) >= 2 else (takers[-2] if len(takers) > 1 else 0)
            if not two or not self._break_up(one, two):
                return
            takers = self._sorted(1)

    def _break_up(self, one: int, two: int) -> bool:
        """Turn an edge i–j into the edges one–i and two–j."""
        looks = 0
        for i in sorted(self._rows, reverse=True):
            if self._count.get(i, 0) and self._room(one, i) > 0:
                for j in sorted(self._rows[i], reverse=True):
                    looks += 1
                    if looks > LOOKS * LOOKS:
                        return False
                    # Only where the edge that goes was itself between the two does it make room.
                    if i != two and self._room(two, j) <= 0:
                        continue
                    self._add(i, j, -1)
                    if self._room(one, i) > 0:
                        self._add(one, i, 1)
                        if self._room(two, j) > 0:
                            self._add(two, j, 1)
                            return True
                        self._add(one, i, -1)
                    self._add(i, j, 1)
        return False

    def _part(self) -> None:
        """Take edges away between degrees with too many ends, or join their other ends instead."""
        for one in self._sorted(-1):
            for two in sorted(self._rows[one], reverse=True):
                if one == two:
                    amount = min(-self._missing(one) // 2, self._rows[one][one])
                else:
                    amount = min(-self._missing(one), -self._missing(two), self._rows[one][two])
                if amount > 0:
                    self._add(one, two, -amount)
        givers = self._sorted(-1)
        while givers:
            one = givers[-1]
            two = one if self._missing(one) <= -2 else (givers[-2] if len(givers) > 1 else 0)
            if not two or not self._bypass(one, two):
                return
            givers = self._sorted(-1)

    def _bypass(self, one: int, two: int) -> bool:
        """Turn edges one–i and two–j into an edge i–j."""
        for i in list(islice(self._rows[one], LOOKS)):
            for j in list(islice(self._rows[two], LOOKS)):
                self._add(one, i, -1)
                if self._rows[two].get(j, 0) > 0:
                    self._add(two, j, -1)
                    if self._room(i, j) > 0:
                        self._add(i, j, 1)
                        return True
                    self._add(two, j, 1)
                self._add(one, i, 1)
        return False

    def _give_way(self) -> None:
        """Let go of nodes whose ends find no place, and of edges that find none."""
        for degree in self._sorted(1):
            fewer = -(-self._missing(degree) // degree)
            self._count[degree] = max(self._count[degree] - fewer, 0)
        for degree in self._sorted(-1):
            for other in sorted(self._rows[degree], reverse=True):
                amount = min(-self._missing(degree), self._rows[degree].get(other, 0))
                if amount > 0:
                    self._add(degree, other, -(amount // 2 if other == degree else amount))

    def _cells(self) -> Iterator[tuple[int, int, int]]:
        """Yield the degrees and numbers of edges, in order."""
        for one in sorted(self._rows):
            for two in sorted(self._rows[one]):
                if one <= two:
                    yield one, two, self._rows[one][two]

    def _joint(self) -> JointDegrees:
        """Return the table."""
        cells = np.array(list(self._cells()), dtype=np.int64).reshape(-1, 3)
        return JointDegrees(cells[:, 0].copy(), cells[:, 1].copy(), cells[:, 2].copy())

    def _build_joint(self) -> JointDegrees:
        """Return the joint degrees of a graph with as many edges between the groups of nodes.

        Its nodes have the degree that their group's ends come to, so the table is possible.
        """
        joint = self._joint()
        degrees = np.array(sorted(self._count), dtype=np.int64)
        count = np.array([self._count[degree] for degree in degrees.tolist()], dtype=np.int64)
        rows, columns = np.searchsorted(degrees, joint.low), np.searchsorted(degrees, joint.high)
        return joint_degrees(deal_edges(rows, columns, joint.edges, count), int(count.sum()))


def _closest(givers: list[int], degree: int) -> Iterator[int]:
    """Yield sorted degrees by how close they are to one."""
    above = bisect_left(givers, degree)
    below = above - 1
    while below >= 0 or above < len(givers):
        if above >= len(givers) or (
            below >= 0 and degree - givers[below] <= givers[above] - degree
        ):
            yield givers[below]
            below -= 1
        else:
            yield givers[above]
            above += 1


# Edges between groups of nodes, spread evenly over the nodes of each group.
#
# Post-processing: nothing here may see a private value.


def deal_edges(rows: Integers, columns: Integers, edges: Integers, count: Integers) -> Integers:
    """Return a simple graph with `edges[i]` edges between groups rows[i] and columns[i].

    Ends of edges are dealt to the nodes of a group in turn, so that all nodes of a group get the
    same number of them, up to 1, and nearly the same share of every kind of edge.

    Parameters
    ----------
    rows, columns, edges
        No pair of groups twice, and between none more edges than there are pairs of their nodes.
    count
        How many nodes each group has; they are numbered in a row.

    Notes
    -----
    Between groups of x and y nodes edge t joins node t mod x to node t + ⌊t / lcm(x, y)⌋ mod y.
    These pairs are different for t < xy: within one lcm by the Chinese remainder theorem, and from
    one to the next because the difference of the two numbers modulo gcd(x, y) changes. Within a
    group degrees differ by at most 1, and such degrees are always graphical.
    """
    begin = np.append(0, np.cumsum(count))
    turn = np.zeros(len(count), dtype=np.int64)
    left, right = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    for row, column, many in zip(rows.tolist(), columns.tolist(), edges.tolist(), strict=True):
        if row == column:
            share, more = divmod(2 * many, int(count[row]))
            wanted = np.full(count[row], share, dtype=np.int64)
            wanted[(turn[row] + np.arange(more)) % count[row]] += 1
            inner = realise_graph(wanted)
            left.append(begin[row] + inner[:, 0])
            right.append(begin[row] + inner[:, 1])
            turn[row] += 2 * many
            continue
        each = np.arange(many)
        whole = int(np.lcm(count[row], count[column]))
        # Whole rounds serve all nodes alike; the last one begins where the turn is.
        shift = each // whole - (many - 1) // whole
        left.append(begin[row] + (turn[row] + each) % count[row])
        right.append(begin[column] + (turn[column] + each + shift) % count[column])
        turn[row] += many
        turn[column] += many
    return ordered_pairs(np.concatenate(left), np.concatenate(right))
