"""The variational fit that the published results rest on, step by step: public post-processing.

Mean-field automatic differentiation variational inference with the settings of the published code:
one draw a step, a step of 0.001 over the root of the last ten squared gradients, 5,000 steps. No
coordinate can move by more than about 1.6 in so few, so the fit has not converged, and that is what
keeps it sane: with 60,000 steps it explains the noise. It is here to reproduce what was published
(Nieminen, 2017; Honkela and others, 2018); nothing of ours depends on it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.regression.bayesian import RATE, SHAPE, Statistics

__all__ = ["advi_compat"]

Floats = NDArray[np.float64]

STEPS, STEP, WINDOW, OFFSET = 5000, 1e-3, 10, 0.1


def advi_compat(
    problems: Sequence[Statistics], generator: np.random.Generator, *, steps: int = STEPS
) -> Floats:
    """Return the weights that the published fit ends with, a row a problem.

    Parameters
    ----------
    problems
        Statistics of one dimension each; they are fitted side by side.
    generator
        Where the draws come from.
    steps
        How many steps are made.
    """
    xx = np.stack([problem.xx for problem in problems])
    xy = np.stack([problem.xy for problem in problems])
    yy = np.array([problem.yy for problem in problems])
    records = np.array([problem.records for problem in problems])
    many, p = xy.shape
    # The mean u and log-deviation w of (log λ₀, log λ, β).
    state = np.zeros((2, many, p + 2))
    seen = np.zeros((WINDOW, *state.shape))
    gradient = np.empty_like(state)
    for step in range(steps):
        draw = generator.standard_normal((many, p + 2))
        width = np.exp(state[1])
        place = state[0] + width * draw
        # Far out the exponentials overflow in the original too; they are cut where nothing changes.
        prior, noise = np.exp(np.clip(place[:, :2].T, -500, 500))
        weights = place[:, 2:]
        product = np.einsum("kij,kj->ki", xx, weights)
        rest = ((product - 2 * xy) * weights).sum(axis=1) + yy
        size = (weights**2).sum(axis=1)
        gradient[0, :, 0] = SHAPE - RATE * prior + p / 2 - prior * size / 2
        gradient[0, :, 1] = SHAPE - RATE * noise + records / 2 - noise * rest / 2
        gradient[0, :, 2:] = -prior[:, None] * weights - noise[:, None] * (product - xy)
        gradient[1] = gradient[0] * draw * width + 1
        seen[step % WINDOW] = gradient**2
        state += STEP * gradient / np.sqrt(seen.sum(axis=0) + OFFSET)
    return state[0, :, 2:]
