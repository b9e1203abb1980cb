"""From scores to a bound that can be believed.

An event "the score exceeds t" is chosen on one half of the samples and tested on the other, so that
Clopper–Pearson intervals are honest. If P(event | here) ≥ p and P(event | there) ≤ q at some
confidence, any (ε, δ) that holds has e^ε ≥ (p − δ)/q.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Floats = NDArray[np.float64]
Counts = NDArray[np.intp]


#: Bounds for all numbers of successes are worked out once for up to this many trials.
MOST_TABULATED = 4096


def lower(successes: int, trials: int, risk: float) -> float:
    """Return a lower Clopper–Pearson bound that is wrong with probability at most `risk`."""
    return float(_lower(np.array([successes]), trials, risk)[0])


def upper(successes: int, trials: int, risk: float) -> float:
    """Return an upper Clopper–Pearson bound that is wrong with probability at most `risk`."""
    return float(_upper(np.array([successes]), trials, risk)[0])


def _lower(successes: Counts, trials: int, risk: float) -> Floats:
    found: Floats = stats.beta.ppf(risk, np.maximum(successes, 1), trials - successes + 1)
    return np.where(successes > 0, found, 0.0)


def _upper(successes: Counts, trials: int, risk: float) -> Floats:
    found: Floats = stats.beta.ppf(1 - risk, successes + 1, np.maximum(trials - successes, 1))
    return np.where(successes < trials, found, 1.0)


@lru_cache(maxsize=8)
def _bounds(trials: int, risk: float) -> tuple[Floats, Floats]:
    """Return the lower and the upper bound for every number of successes."""
    successes = np.arange(trials + 1)
    return _lower(successes, trials, risk), _upper(successes, trials, risk)


def _both(hits: Counts, trials: int, misses: Counts, others: int, risk: float) -> Any:
    """Return lower bounds for the hits and upper ones for the misses."""
    if max(trials, others) > MOST_TABULATED:
        return _lower(hits, trials, risk), _upper(misses, others, risk)
    return _bounds(trials, risk)[0][hits], _bounds(others, risk)[1][misses]


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


def best_thresholds(
    here: Floats, there: Floats, *, risk: float, deltas: Sequence[float]
) -> list[tuple[float, float]]:
    """Return for each δ the threshold whose event shows the largest loss there, and that loss."""
    if np.isnan(here).any() or np.isnan(there).any():
        return [(0.0, -math.inf) for _ in deltas]
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
    p, q = _both(hits, here.size, misses, there.size, risk)
    found = []
    for delta in deltas:
        with np.errstate(divide="ignore", invalid="ignore"):
            shown = np.where(p > delta, np.log(np.maximum(p - delta, 1e-300) / q), -np.inf)
        best = int(np.argmax(shown))
        found.append((float(candidates[best]), float(shown[best])))
    return found
