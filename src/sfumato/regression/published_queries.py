"""What the published robust regression asks of a table, and what no other method may ask.

Rows are centred by their exact means and clipped at multiples of exact standard deviations, and all
of these leave as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.data.table import Table
from sfumato.privacy.program import Query
from sfumato.regression.bayesian import Statistics
from sfumato.regression.design import UNIT, Design
from sfumato.regression.robust_sensitivity import Parts

__all__ = ["PublishedInput", "PublishedSums", "normalised", "published_scales"]

Floats = NDArray[np.float64]


def normalised(rows: Floats) -> Floats:
    """Return rows less their means, brought to a length of 1; a row of zeros stays one."""
    if not len(rows):
        return rows
    centred = rows - rows.mean(axis=0)
    lengths = np.linalg.norm(centred, axis=1, keepdims=True)
    return np.asarray(centred / np.where(lengths > 0, lengths, 1.0))


def published_scales(
    dimension: int, rows: float, answers: float, shares: Parts, epsilon: float
) -> tuple[float, float, float]:
    """Return the published scales of noise for thresholds of rows and answers."""
    p = dimension
    return (
        p * (p + 1) * rows**2 / (float(shares.matrix) * epsilon),
        2 * p * rows * answers / (float(shares.products) * epsilon),
        answers**2 / (float(shares.square) * epsilon),
    )


class PublishedInput(NamedTuple):
    """Exact statistics, the scale of the noise on each, and what leaves as it is. All private."""

    statistics: tuple[float, ...]
    scales: tuple[float, ...]
    told: tuple[float, ...]


@dataclass(frozen=True)
class PublishedSums(Query):
    """Statistics of rows that are centred and clipped by what is private about all of them.

    Parameters
    ----------
    design
        How records become features.
    epsilon
        What it is said to cost.
    shares
        Shares of ε of the three statistics.
    rows, answers
        Thresholds in private standard deviations.
    """

    design: Design
    epsilon: Fraction
    shares: Parts
    rows: float
    answers: float

    def answer(self, data: Table) -> PublishedInput:
        """Return the statistics, with means and thresholds."""
        blocks = list(self.design.blocks(data))
        p = self.design.dimension
        x = np.concatenate([part / UNIT for part, _ in blocks] or [np.zeros((0, p))])
        y = np.concatenate([part / UNIT for _, part in blocks] or [np.zeros(0)])
        means = x.mean(axis=0) if len(x) else np.zeros(p)
        middle = float(y.mean()) if len(y) else 0.0
        lengths = np.linalg.norm(x - means, axis=1)
        usual = float(lengths.mean()) if len(x) else 0.0
        rows, answers = normalised(x), y - middle
        bound = self.rows * float(rows.std(ddof=1)) if rows.size > 1 else 0.0
        other = self.answers * float(answers.std(ddof=1)) if len(y) > 1 else 0.0
        true = Statistics.of(np.clip(rows, -bound, bound), np.clip(answers, -other, other))
        scales = published_scales(p, bound, other, self.shares, float(self.epsilon))
        upper = true.xx[np.triu_indices(p)]
        flat = (*upper.tolist(), *true.xy.tolist(), true.yy)
        every = np.repeat(scales, [upper.size, p, 1])
        told = (*means.tolist(), middle, usual, float(len(y)))
        return PublishedInput(flat, tuple(every.tolist()), told)
