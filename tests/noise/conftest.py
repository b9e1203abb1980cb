"""Shared yardsticks for samplers: each has a false-alarm rate of at most one in a million."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import chdtrc

from sfumato import noise

FALSE_ALARM = 1e-6

Law = Callable[[NDArray[np.float64]], NDArray[np.float64]]


class Yardstick:
    """Compares draws of integers with a law given by its probabilities or cumulative function."""

    def chi_square_fits(self, draws: NDArray[np.int64], probabilities: dict[int, float]) -> bool:
        """Compare counts with probabilities; what is not listed is one more cell."""
        values, counts = np.unique(draws, return_counts=True)
        observed = dict(zip(values.tolist(), counts.tolist(), strict=True))
        cells = [
            (observed.get(value, 0), p * draws.size)
            for value, p in probabilities.items()
            if p * draws.size >= 20
        ]
        seen = sum(cell[0] for cell in cells)
        expected = sum(cell[1] for cell in cells)
        rest = (draws.size - seen, draws.size - expected)
        if rest[1] >= 20:
            cells.append(rest)
        elif rest[0] > 100:
            return False
        statistic = sum((count - mean) ** 2 / mean for count, mean in cells)
        return bool(chdtrc(len(cells) - 1, statistic) >= FALSE_ALARM)

    def cumulative_fits(self, draws: NDArray[np.int64], cumulative: Law) -> bool:
        """Compare cumulative functions; Massart's constant makes the false-alarm rate exact."""
        values, counts = np.unique(draws, return_counts=True)
        empirical = np.cumsum(counts) / draws.size
        exact_after = cumulative(values.astype(np.float64))
        exact_before = cumulative(values.astype(np.float64) - 1)
        before = np.concatenate([[0.0], empirical[:-1]])
        distance = max(np.abs(empirical - exact_after).max(), np.abs(before - exact_before).max())
        return bool(distance <= math.sqrt(math.log(2 / FALSE_ALARM) / (2 * draws.size)))

    def frequency_fits(self, heads: int, throws: int, p: float) -> bool:
        """Compare a number of heads with its binomial law, by Hoeffding's inequality in KL form."""
        rate = heads / throws
        divergence = 0.0
        if rate > 0:
            divergence += rate * math.log(rate / p)
        if rate < 1:
            divergence += (1 - rate) * math.log((1 - rate) / (1 - p))
        return 2 * math.exp(-throws * divergence) >= FALSE_ALARM


@pytest.fixture
def yardstick() -> Yardstick:
    return Yardstick()


@pytest.fixture
def seeded_noise(request: pytest.FixtureRequest) -> Iterator[noise.Bits]:
    """Draw from a stream that depends on nothing but the name of the test."""
    with noise.seeded(request.node.name) as source:
        yield source
