"""K-norm noise on second moments, fitted with a ridge as large as the noise asks for.

The same is measured as in `sfumato.regression.knorm`; it is fitted as AdaSSP is, which leaves
weights alone that are large beside the noise in every direction. Post-processing only.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from sfumato.regression.adassp import lifted
from sfumato.regression.estimator import LinearFit, Setting
from sfumato.regression.knorm import SQUARE, KNormEstimator

__all__ = ["RidgedKNormEstimator"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class RidgedKNormEstimator(KNormEstimator):
    """K-norm noise on second moments and a ridge.

    Parameters
    ----------
    matrix, profile, answer_bound
        As in `KNormEstimator`.
    ridge
        The smallest eigenvalue that the noisy matrix is lifted to, in multiples of √p and of the
        noise on a square.
    """

    matrix: bool = True
    ridge: float = 1.0

    @property
    def name(self) -> str:
        """What it is called, in words."""
        return "K-norm noise on second moments, and a ridge"

    def _fitted(self, setting: Setting, noisy: Floats) -> LinearFit:
        """Return the weights, from the noisy weighed sums of rows of length at most 1."""
        if not self.matrix:
            return super()._fitted(setting, noisy)
        size = setting.dimension
        linear, beside = self._beside(size, setting.relation)
        matrix = np.zeros((size, size))
        matrix[np.triu_indices(size)] = noisy[size:] / beside
        matrix = matrix + np.triu(matrix, 1).T
        # The noise on a square, from that on a sum Σ y·x.
        deviation = self.deviation(setting) * linear / SQUARE
        floor = self.ridge * sqrt(size) * deviation
        return LinearFit(lifted(matrix, noisy[:size] / linear, floor))
