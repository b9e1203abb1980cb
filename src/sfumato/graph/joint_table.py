"""Numbers of edges between degrees on their way to being possible.

Degree k has `count[k]` nodes and so k · count[k] ends of edges; its residual is how many of them
are missing. The table is possible once all residuals are 0 and no two degrees are joined by more
edges than there are pairs of their nodes. Post-processing: nothing here may see a private value.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from itertools import islice

import numpy as np

from sfumato.graph.dk_series import JointDegrees, joint_degrees

__all__ = ["JointTable"]

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

    def repaired(self) -> JointDegrees:
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
        return self._built()

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

    def _built(self) -> JointDegrees:
        """Return the joint degrees of a graph with as many edges between the groups of nodes.

        Its nodes have the degree that their group's ends come to, so the table is possible.
        """
        from sfumato.graph.joint_dealing import dealt

        joint = self._joint()
        degrees = np.array(sorted(self._count), dtype=np.int64)
        count = np.array([self._count[degree] for degree in degrees.tolist()], dtype=np.int64)
        rows, columns = np.searchsorted(degrees, joint.low), np.searchsorted(degrees, joint.high)
        return joint_degrees(dealt(rows, columns, joint.edges, count), int(count.sum()))


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
