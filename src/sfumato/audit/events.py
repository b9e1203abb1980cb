"""From scores to a bound that can be believed.

An event "the score exceeds t" is chosen on one half of the samples and tested on the other, so that
Clopper–Pearson intervals are honest. If P(event | here) ≥ p and P(event | there) ≤ q at some
confidence, any (ε, δ) that holds has e^ε ≥ (p − δ)/q.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Floats = NDArray[np.float64]


def lower(successes: int, trials: int, risk: float) -> float:
    """Return a lower Clopper–Pearson bound that is wrong with probability at most `risk`."""
    return float(stats.beta.ppf(risk, successes, trials - successes + 1)) if successes else 0.0


def upper(successes: int, trials: int, risk: float) -> float:
    """Return an upper Clopper–Pearson bound that is wrong with probability at most `risk`."""
    if successes == trials:
        return 1.0
    return float(stats.beta.ppf(1 - risk, successes + 1, trials - successes))


def loss_shown(p: float, q: float, delta: float) -> float:
    """Return the ε that probabilities p and q of one event show at a given δ."""
    return math.log((p - delta) / q) if p > delta and q > 0 else 0.0


@dataclass(frozen=True)
class Event:
    """A set of outputs: those whose score exceeds a threshold.

    Parameters
    ----------
    score
        The name of the score.
    threshold
        The threshold.
    """

    score: str
    threshold: float


def best_threshold(
    here: Floats, there: Floats, *, risk: float, delta: float
) -> tuple[float, float]:
    """Return the threshold whose event shows the largest loss on these samples, and that loss."""
    if np.isnan(here).any() or np.isnan(there).any():
        return 0.0, -math.inf
    candidates = np.unique(np.concatenate([here, there]))
    if candidates.size > 400:
        # Finer in the tails, where large ratios live.
        ranks = np.unique(
            np.concatenate(
                [
                    np.linspace(0, candidates.size - 1, 200),
                    np.geomspace(1, candidates.size, 100) - 1,
                    candidates.size - np.geomspace(1, candidates.size, 100),
                ]
            ).astype(int)
        )
        candidates = candidates[ranks]
    # Events are "at least": a threshold just below each candidate.
    hits = here.size - np.searchsorted(np.sort(here), candidates, side="left")
    misses = there.size - np.searchsorted(np.sort(there), candidates, side="left")
    p = np.where(hits > 0, stats.beta.ppf(risk, np.maximum(hits, 1), here.size - hits + 1), 0.0)
    q = np.where(
        misses < there.size,
        stats.beta.ppf(1 - risk, misses + 1, np.maximum(there.size - misses, 1)),
        1.0,
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        shown = np.where(p > delta, np.log(np.maximum(p - delta, 1e-300) / q), -np.inf)
    best = int(np.argmax(shown))
    return float(candidates[best]), float(shown[best])
