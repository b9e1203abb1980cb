"""Neighbouring points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sfumato.audit.neighbours import Pair, PairMaker, register
from sfumato.data.points import Points
from sfumato.data.points_public import PointsPublic
from sfumato.engines.memory_points import MemoryPoints
from sfumato.engines.point_intake import TakenPoints
from sfumato.privacy.guarantee import Relation

Place = list[int]


def points_of(public: PointsPublic, places: Sequence[Sequence[int]]) -> Points:
    """Return points at the given places of the public grid."""
    grid = np.array(places, dtype=np.int64).reshape(len(places), public.dimensions)
    known = public.relation is Relation.REPLACE_ONE
    own = replace(public, rows=len(places)) if known else public
    return Points._of(own, TakenPoints(MemoryPoints(grid, public.axes), 0))


def _mix_points(public: PointsPublic, points: int) -> list[Place]:
    """Return points that run through the halves of every axis, out of step and at all depths."""
    top = 1 << public.bits
    return [
        [((row * (axis + 3) * top) // 13 + row) % top for axis in range(public.dimensions)]
        for row in range(points)
    ]


def point_pairs(public: PointsPublic) -> list[Pair]:
    """Return points that differ in one unit: empty and one, all in one place and one elsewhere.

    A unit of up to m points adds all m of them, in one place, which moves counts furthest, and
    once spread over the box.
    """
    first = [0] * public.dimensions
    last = [(1 << public.bits) - 1] * public.dimensions
    mixed = _mix_points(public, 12)
    if public.relation is Relation.REPLACE_ONE:
        return _replace_one(public, first, last, mixed)
    unit = public.contribution
    added = [
        ("empty, and one", [], [last] * unit),
        ("all in one place, and one more there", [first] * 8, [first] * unit),
        ("all in one place, and one in the far corner", [first] * 8, [last] * unit),
        ("mixed, and one", mixed, [last] * unit),
    ]
    if unit > 1:
        spread = _mix_points(public, unit)
        added.append(("all in one place, and one person all over", [first] * 8, spread))
    return [
        Pair(name, points_of(public, here), points_of(public, here + more))
        for name, here, more in added
    ]


def _replace_one(public: PointsPublic, first: Place, last: Place, mixed: list[Place]) -> list[Pair]:
    """Return pairs of which one point was moved."""
    moved = [
        ("one point, moved to the far corner", [first], [last]),
        ("all in one place, one moved to the far corner", [first] * 8, [first] * 7 + [last]),
        ("mixed, one moved", mixed, [*mixed[1:], last]),
    ]
    return [
        Pair(name, points_of(public, here), points_of(public, there)) for name, here, there in moved
    ]


def random_point_pair(public: PointsPublic, generator: Any) -> Pair:
    """Return random points, half of them crowded, and a neighbour that differs in one unit."""

    def drawn(points: int) -> list[Place]:
        # A crowd shares its first bits, as many as the generator says.
        depth = int(generator.integers(0, public.bits + 1))
        shape = (points, public.dimensions)
        wide = generator.integers(0, 1 << public.bits, shape)
        near = generator.integers(0, 1 << (public.bits - depth), shape)
        crowded = generator.integers(0, 2, (points, 1)) == 1
        places: list[Place] = np.where(crowded, near, wide).tolist()
        return places

    here = drawn(int(generator.integers(1, 15)))
    if public.relation is Relation.REPLACE_ONE:
        place = int(generator.integers(0, len(here)))
        there = [*here[:place], *drawn(1), *here[place + 1 :]]
        return Pair("random, one moved", points_of(public, here), points_of(public, there))
    unit = drawn(int(generator.integers(1, public.contribution + 1)))
    return Pair("random, and one", points_of(public, here), points_of(public, here + unit))


register("points", PairMaker(point_pairs, random_point_pair))
