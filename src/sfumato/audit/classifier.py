"""A classifier that tells two mechanisms' outputs apart: regularised logistic regression.

As in DP-Sniper (Bichsel et al., 2021), the learned posterior orders the outputs by how much
likelier they are here than there, and its upper tail is the event that shows the most.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: Newton's steps; the problem is convex and small.
STEPS = 25
PENALTY = 1e-3


class Logistic:
    """Logistic regression on standardised features, their signs and their sizes.

    Parameters
    ----------
    here, there
        Features of outputs on either data set.
    """

    def __init__(self, here: Floats, there: Floats) -> None:
        both = np.concatenate([here, there])
        self.centre = np.median(both, axis=0)
        spread = np.mean(np.abs(both - self.centre), axis=0)
        self.scale = np.where(spread > 0, spread, 1.0)
        matrix = self._design(both)
        labels = np.concatenate([np.ones(len(here)), np.zeros(len(there))])
        self.weights = _fit(matrix, labels)

    def _design(self, features: Floats) -> Floats:
        standard = np.clip((features - self.centre) / self.scale, -30, 30)
        signs = np.sign(standard)
        squashed = standard / (1 + np.abs(standard))
        parts = [np.ones((len(standard), 1)), standard, squashed, signs, np.abs(squashed)]
        return np.concatenate(parts, axis=1)

    def score(self, features: Floats) -> Floats:
        """Return the log-odds that outputs were said on the first data set."""
        return np.asarray(self._design(features) @ self.weights, dtype=np.float64)


def _fit(matrix: Floats, labels: Floats) -> Floats:
    """Return the weights of penalised logistic regression, by Newton's method."""
    weights = np.zeros(matrix.shape[1])
    identity = np.eye(matrix.shape[1]) * PENALTY * len(matrix)
    for _ in range(STEPS):
        odds = 1 / (1 + np.exp(-np.clip(matrix @ weights, -30, 30)))
        gradient = matrix.T @ (labels - odds) - identity @ weights
        curvature = (matrix * (odds * (1 - odds))[:, None]).T @ matrix + identity
        step = np.linalg.solve(curvature, gradient)
        weights += step
        if np.abs(step).max() < 1e-8:
            break
    return weights
