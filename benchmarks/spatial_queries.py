"""Random boxes and their true counts, for the spatial benchmarks."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

__all__ = ["BANDS", "errors", "random_boxes", "true_counts"]

Floats = NDArray[np.float64]

#: Query set → the share of the domain's volume that its boxes cover, uniform between these.
BANDS = {"small": (0.0001, 0.001), "medium": (0.001, 0.01), "large": (0.01, 0.1)}
#: Relative errors are taken to this share of all points where a true count is less.
FLOOR = 0.001


def random_boxes(
    bounds: list[tuple[float, float]], band: str, count: int, generator: np.random.Generator
) -> Floats:
    """Return boxes of shape (count, axes, 2).

    The volume is uniform in the band, the ratio of two sides log-uniform in [1/4, 4] (with more
    than two axes each side has a log-uniform factor in [1/2, 2], scaled to the volume), and the
    place uniform. Boxes that do not fit into the domain are drawn anew.
    """
    axes = len(bounds)
    low, high = np.array(bounds).T
    found: list[Floats] = []
    while sum(map(len, found)) < count:
        fraction = generator.uniform(*BANDS[band], count)
        if axes == 2:
            turn = generator.uniform(-np.log(2), np.log(2), count)
            factors = np.exp(np.stack([turn, -turn], axis=1))
        else:
            factors = np.exp(generator.uniform(-np.log(2), np.log(2), (count, axes)))
            factors /= np.exp(np.log(factors).mean(axis=1, keepdims=True))
        sides = fraction[:, None] ** (1 / axes) * factors
        sides = sides[(sides <= 1).all(axis=1)]
        start = generator.random(sides.shape) * (1 - sides)
        edges = np.stack([start, start + sides], axis=2)
        found.append(low[:, None] + edges * (high - low)[:, None])
    return np.concatenate(found)[:count]


def true_counts(values: Floats, boxes: Floats) -> NDArray[np.int64]:
    """Return how many points lie in each box, by looking at those within its first side."""
    ordered = values[np.argsort(values[:, 0])]
    first = np.searchsorted(ordered[:, 0], boxes[:, 0, 0], side="left")
    last = np.searchsorted(ordered[:, 0], boxes[:, 0, 1], side="left")
    counts = np.zeros(len(boxes), dtype=np.int64)
    _scan(np.ascontiguousarray(ordered.T), boxes, first, last, counts)
    return counts


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def _scan(columns: Any, boxes: Any, first: Any, last: Any, counts: Any) -> None:
    axes = columns.shape[0]
    for box in range(counts.size):
        total = 0
        if axes == 1:
            total = last[box] - first[box]
        elif axes == 2:
            low, high = boxes[box, 1, 0], boxes[box, 1, 1]
            for i in range(first[box], last[box]):
                total += (columns[1, i] >= low) & (columns[1, i] < high)
        else:
            for i in range(first[box], last[box]):
                inside = True
                for axis in range(1, axes):
                    value = columns[axis, i]
                    if value < boxes[box, axis, 0] or value >= boxes[box, axis, 1]:
                        inside = False
                        break
                total += inside
        counts[box] = total


def errors(answers: Floats, truth: NDArray[np.int64], points: int) -> tuple[float, float]:
    """Return the mean relative and the mean absolute error."""
    absolute = np.abs(answers - truth)
    return float((absolute / np.maximum(truth, FLOOR * points)).mean()), float(absolute.mean())
