"""Made-up points for tests of trees: crowds along roads, persons, and how far answers are off."""

import numpy as np

from sfumato.data.points import Points
from tests.spatial.grid_suite import SQUARE


def road_like(rows: int, seed: int = 0) -> np.ndarray:
    """Return points of the unit square that lie in two regions, in towns and along roads."""
    generator = np.random.default_rng(seed)
    parts = []
    for middle, share in (((0.25, 0.85), 0.6), ((0.75, 0.15), 0.4)):
        many = round(rows * share)
        towns = np.array(middle) + generator.uniform(-0.15, 0.15, (60, 2))
        sizes = generator.pareto(1.2, 60) + 0.1
        spread = generator.uniform(0.002, 0.02, 60)
        here = generator.choice(60, round(many * 0.6), p=sizes / sizes.sum())
        parts.append(towns[here] + generator.normal(size=(len(here), 2)) * spread[here][:, None])
        ends = generator.integers(0, 60, (2, 200))
        road = generator.integers(0, 200, round(many * 0.3))
        along = generator.random((len(road), 1))
        line = towns[ends[0, road]] * (1 - along) + towns[ends[1, road]] * along
        parts.append(line + generator.normal(size=line.shape) * 0.0005)
        left = many - len(here) - len(road)
        parts.append(np.array(middle) + generator.uniform(-0.15, 0.15, (left, 2)))
    return np.clip(np.concatenate(parts), 0, 1)


def random_boxes(number: int, least: float, most: float, seed: int = 1) -> np.ndarray:
    """Return boxes of the unit square with a share of its area between two bounds."""
    generator = np.random.default_rng(seed)
    area, aspect = generator.uniform(least, most, number), 4.0 ** generator.uniform(-1, 1, number)
    sides = np.minimum(np.stack([np.sqrt(area * aspect), np.sqrt(area / aspect)], axis=1), 1)
    low = generator.random((number, 2)) * (1 - sides)
    return np.stack([low, low + sides], axis=2)


def relative_error(release, values: np.ndarray, boxes: np.ndarray) -> float:
    """Return the mean of |answer − truth| / max(truth, a thousandth of all points)."""
    truth = np.array(
        [((values >= box[:, 0]) & (values < box[:, 1])).all(axis=1).sum() for box in boxes]
    )
    apart = np.abs(release.count(boxes) - truth)
    return float((apart / np.maximum(truth, len(values) / 1000)).mean())


def of_persons(values, who, most: int = 3) -> Points:
    return Points(
        np.asarray(values, dtype=np.float64).reshape(-1, 2),
        SQUARE,
        unit="person",
        person=np.asarray(who),
        max_points=most,
    )


def person_pairs(most: int = 3) -> list:
    """Return neighbours of which one has a further person with as many points as are let in."""
    place, other = [0.9, 5.0], [0.1, -1.0]
    crowd = [place] * 24
    return [
        (
            of_persons(crowd, range(24), most),
            of_persons([*crowd, *[place] * most], [*range(24), *[99] * most], most),
        ),
        (
            of_persons([other], [0], most),
            of_persons([other, *[place] * most], [0, *[99] * most], most),
        ),
    ]
