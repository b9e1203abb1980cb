"""What one report says about one answer: the posterior, and a guess of the true answer.

Nothing here costs anything: a guess is made of a report that is private already, and of a prior
that is public. Errors of guesses are computed exactly, by summing over all reports there can be.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from sfumato.local.law import Floats, check_matrix

__all__ = ["Guess", "check_prior", "confusion", "guess_answers", "guesses", "posterior"]

#: How an answer is guessed: drawn from the posterior, or the likeliest one.
Guess = Literal["posterior", "map"]


def check_prior(prior: ArrayLike | None, k: int) -> Floats:
    """Return a prior over k answers, or raise `ValueError`; equal chances where none is given.

    Parameters
    ----------
    prior
        The chance of each answer; they are brought to sum 1.
    k
        How many answers there are.
    """
    if prior is None:
        return np.full(k, 1 / k)
    found = np.asarray(prior, dtype=np.float64)
    if found.shape != (k,) or not np.isfinite(found).all() or (found < 0).any():
        raise ValueError(f"prior must be {k} probabilities, one per answer, none negative")
    if not found.sum() > 0:
        raise ValueError("prior must give at least one answer a positive probability")
    return np.asarray(found / found.sum())


def posterior(matrix: ArrayLike, prior: ArrayLike | None = None) -> Floats:
    """Return for each report (row) how likely each answer (column) is the true one.

    Parameters
    ----------
    matrix
        The probability of each report (row) given each true answer (column).
    prior
        The chance of each answer before the report; equal by default. A report that cannot occur
        under it leaves the prior as it is.
    """
    chances = check_matrix(matrix)
    before = check_prior(prior, chances.shape[1])
    joint = chances * before
    seen = joint.sum(axis=1, keepdims=True)
    return np.where(seen > 0, joint / np.where(seen > 0, seen, 1.0), before)


def guesses(matrix: ArrayLike, prior: ArrayLike | None = None, how: Guess = "map") -> Floats:
    """Return for each report (row) the probability that each answer (column) is guessed.

    Parameters
    ----------
    matrix, prior
        As for `posterior`.
    how
        `"posterior"` draws from the posterior; `"map"` takes the likeliest answer, the first of
        equally likely ones.
    """
    after = posterior(matrix, prior)
    if how == "posterior":
        return after
    if how != "map":
        raise ValueError(f"how must be one of 'posterior', 'map'; got {how!r}")
    # Equal up to rounding counts as equal, so that the first one wins on every machine.
    best = after >= after.max(axis=1, keepdims=True) * (1 - 1e-12)
    chosen = np.zeros_like(after)
    chosen[np.arange(len(after)), best.argmax(axis=1)] = 1.0
    return chosen


def confusion(matrix: ArrayLike, prior: ArrayLike | None = None, how: Guess = "map") -> Floats:
    """Return the probability that each answer (row) is guessed where each (column) is true.

    Parameters
    ----------
    matrix, prior, how
        As for `guesses`.
    """
    return np.asarray(guesses(matrix, prior, how).T @ check_matrix(matrix))


def guess_answers(
    matrix: ArrayLike,
    reports: ArrayLike,
    prior: ArrayLike | None = None,
    how: Guess = "map",
    *,
    generator: Any = None,
) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return a guess of the true answer behind each report, as its number.

    Parameters
    ----------
    matrix, prior, how
        As for `guesses`.
    reports
        The number of each report, a row of the matrix.
    generator
        Where draws from the posterior come from; by default fresh.

    Notes
    -----
    Privacy: post-processing. However good the guess, the design bounds what it can tell.
    """
    chosen = guesses(matrix, prior, how)
    numbers = np.asarray(reports)
    if numbers.size and (numbers.min() < 0 or numbers.max() >= len(chosen)):
        raise ValueError(f"a report must be a number from 0 to {len(chosen) - 1}")
    if how == "map":
        return np.asarray(chosen.argmax(axis=1)[numbers], dtype=np.int64)
    if generator is None:
        from sfumato import noise

        generator = noise.generator()
    ladder = np.cumsum(chosen, axis=1)[numbers]
    drawn = generator.random(len(numbers))[:, None] * ladder[:, -1:]
    return np.asarray((drawn >= ladder).sum(axis=1), dtype=np.int64)
