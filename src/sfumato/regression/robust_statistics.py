"""Sums over rows that are clipped to a box, and the noise on them.

Every entry of a row is clipped to ± a public threshold in whole units; the upper triangle of
Σ z zᵀ, the products Σ u z and the square Σ u² are whole numbers, weighed by whole numbers and
measured by one primitive (docs/proofs/robust-regression.md). A box is public.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.laplace import GeometricNoise
from sfumato.privacy.guarantee import Relation
from sfumato.regression.bayesian import Statistics
from sfumato.regression.queries import RowSums
from sfumato.regression.robust_sensitivity import Parts, joint, sparse
from sfumato.regression.rows import ANSWER, ROW, RowRule

__all__ = ["Box", "published_split"]

Floats = NDArray[np.float64]
Integers64 = NDArray[np.int64]

#: Whole weights are so large that rounding them hardly matters, and no larger than the limit.
FINE, LARGEST_WEIGHT = 32, 2**20


def published_split(shares: Parts) -> Parts:
    """Return in which proportion published noise scales make the statistics share the loss.

    The published bounds are twice the true ones for the matrix, and for the products twice what a
    record adds, so that these two get half the weight that their shares say.
    """
    return Parts(shares.matrix / 2, shares.products / 2, shares.square)


@dataclass(frozen=True)
class Box:
    """Which statistics are measured, and how they are weighed. Public.

    Parameters
    ----------
    dimension
        p, how many features there are.
    filled
        How many entries of a row may differ from 0.
    entry
        The threshold of an entry, in units of 1/`ROW`.
    weights
        The whole weights of an entry of the matrix, of a product and of the square.
    """

    dimension: int
    filled: int
    entry: int
    weights: tuple[int, int, int]

    @classmethod
    def of(cls, dimension: int, filled: int, entry: int, split: Parts) -> Box:
        """Return the box in which the parts share the loss as a split says.

        Parameters
        ----------
        dimension, filled, entry
            As in the box.
        split
            Shares of the three statistics; only their proportions count.
        """
        if not 1 <= entry <= ROW or not 1 <= filled <= dimension:
            raise ValueError(
                f"a threshold must be from 1 to {ROW} units and rows filled by 1 to {dimension} "
                f"entries; got {entry} and {filled}"
            )
        one = cls(dimension, filled, entry, (1, 1, 1)).parts(filled)
        rates = [
            split.matrix / one.matrix,
            split.products / one.products,
            split.square / one.square,
        ]
        if min(rates) <= 0:
            raise ValueError("every statistic needs a share of the loss above 0")
        unit = min(FINE / min(rates), LARGEST_WEIGHT / max(rates))
        first, second, third = (max(1, round(rate * unit)) for rate in rates)
        return cls(dimension, filled, entry, (first, second, third))

    def parts(self, entries: int) -> Parts:
        """Return A, D and C for rows of which so many entries are not 0."""
        matrix, products, square = self.weights
        return Parts(
            Fraction(matrix * entries * (entries + 1) // 2 * self.entry**2),
            Fraction(products * entries * self.entry * ANSWER),
            Fraction(square * ANSWER**2),
        )

    def sensitivity(self, relation: Relation) -> Fraction:
        """Return a bound on how far one record moves the weighed statistics in L1."""
        dense = joint(self.parts(self.dimension), relation)
        return min(dense, sparse(self.parts(self.filled), relation))

    def noise(self, epsilon: Fraction, relation: Relation) -> GeometricNoise:
        """Return the noise on the weighed statistics."""
        size = self.dimension * (self.dimension + 1) // 2 + self.dimension + 1
        return GeometricNoise(
            shape=(size,), sensitivity=self.sensitivity(relation), epsilon=epsilon
        )

    @property
    def _each(self) -> Integers64:
        """The weight of every number that is measured, in order."""
        triangle = self.dimension * (self.dimension + 1) // 2
        return np.repeat(np.array(self.weights, dtype=np.int64), [triangle, self.dimension, 1])

    def query(self, rule: RowRule) -> RowSums:
        """Return which sums are asked for, of rows clipped to the box."""
        return RowSums(
            rule=rule,
            parts=("matrix", "products", "square"),
            weights=self._each,
            entry=self.entry,
        )

    def read(self, noisy: Integers64, noise: GeometricNoise, records: float) -> Statistics:
        """Return noisy statistics of rows in thresholds and answers of 1.

        Parameters
        ----------
        noisy
            What the primitive said.
        noise
            The noise on it.
        records
            How many records there are, about.
        """
        p = self.dimension
        # Very wide noise is said in whole numbers of any size.
        found = np.asarray(noisy, dtype=np.float64) / self._each
        triangle = p * (p + 1) // 2
        xx = np.zeros((p, p))
        xx[np.triu_indices(p)] = found[:triangle] / self.entry**2
        xx = xx + np.triu(xx, 1).T
        xy = found[triangle:-1] / (self.entry * ANSWER)
        return Statistics(xx, xy, float(found[-1]) / ANSWER**2, records, self.scales(noise))

    def scales(self, noise: GeometricNoise) -> tuple[float, float, float]:
        """Return the Laplace scales of the noise, for rows in thresholds and answers of 1."""
        matrix, products, square = self.weights
        scale = float(noise.scale)
        return (
            scale / matrix / self.entry**2,
            scale / products / (self.entry * ANSWER),
            scale / square / ANSWER**2,
        )
