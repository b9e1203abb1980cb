"""Small points and their neighbours, for the methods that count on grids."""

import numpy as np

from sfumato.data.points import Points
from tests.method_suite import MethodSuite

SQUARE = [(0.0, 1.0), (-2.0, 6.0)]
#: Boxes whose counts stand for a release, whatever its cells are.
BOXES = np.array(
    [
        [(0.0, 1.0), (-2.0, 6.0)],
        [(0.0, 0.5), (-2.0, 2.0)],
        [(0.11, 0.83), (0.7, 5.3)],
        [(0.0, 0.1), (-2.0, -1.5)],
    ]
)


def made(rows: int) -> np.ndarray:
    """Return points of which half are crowded into a corner."""
    generator = np.random.default_rng(5)
    share = generator.random((rows, 2))
    share[: rows // 2] *= 0.05
    lows, highs = np.array(SQUARE).T
    return lows + share * (highs - lows)


def points(values, **options) -> Points:
    return Points(np.asarray(values, dtype=np.float64).reshape(-1, 2), SQUARE, **options)


def added_pairs() -> list:
    """Return neighbours under add/remove: the corner, a crowd, the only point there is."""
    rows = made(30)
    corner = np.array([[1.0, 6.0]])
    return [
        (points(rows), points(np.concatenate([rows, corner]))),
        (points(rows), points(rows[1:])),
        (points([]), points(corner)),
        (points(np.repeat(corner, 20, axis=0)), points(np.repeat(corner, 21, axis=0))),
    ]


def replaced_pairs() -> list:
    """Return neighbours under replace-one: a point moved far, into a crowd, and out of it."""
    rows, corner = made(30), np.array([[1.0, 6.0]])
    crowd = np.repeat(corner, 20, axis=0)
    pairs = [
        (rows, np.concatenate([rows[1:], corner])),
        (np.array([[0.0, -2.0]]), corner),
        (crowd, np.concatenate([crowd[1:], [[0.0, -2.0]]])),
    ]
    return [
        (points(one, relation="replace_one"), points(other, relation="replace_one"))
        for one, other in pairs
    ]


def by_hand(cells, boxes):
    """Count boxes cell by cell, in proportion to the volume."""
    edges = cells.boxes
    answers = []
    for box in boxes:
        low = np.maximum(edges[:, :, 0], box[:, 0])
        high = np.minimum(edges[:, :, 1], box[:, 1])
        share = np.maximum(high - low, 0) / (edges[:, :, 1] - edges[:, :, 0])
        answers.append(float((cells.counts * share.prod(axis=1)).sum()))
    return answers


class GridMethodSuite(MethodSuite):
    def audited_public(self):
        return self.data().public

    def data(self):
        return points(made(60))

    def neighbours(self):
        return added_pairs()

    def fact(self, release):
        return release.count(BOXES)


class ReplacedGridMethodSuite(GridMethodSuite):
    sampled = False

    def data(self):
        return points(made(60), relation="replace_one")

    def neighbours(self):
        return replaced_pairs()
