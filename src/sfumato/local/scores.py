"""Score intervals: all values under which an estimate is no more than z deviations off.

The variance is taken at the value that is asked about, not at the estimate. So an interval never
shrinks to a point because few reports happen to agree. Post-processing of reports.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from sfumato.local.law import AnyLaw, Floats
from sfumato.local.simplex import on_simplex

__all__ = ["normal_quantile", "require_level", "score_ends", "share_ends", "share_intervals"]


def require_level(level: float) -> float:
    """Return a level of confidence, or raise `ValueError`."""
    if not 0 < level < 1:
        raise ValueError(f"level must be greater than 0 and less than 1; got {level!r}")
    return level


def normal_quantile(level: float, statements: int = 1) -> float:
    """Return the two-sided normal quantile at which several statements hold at once.

    Parameters
    ----------
    level
        How often all statements shall hold together.
    statements
        How many there are; by Bonferroni's inequality each may fail that much more rarely.
    """
    return NormalDist().inv_cdf(1 - (1 - require_level(level)) / (2 * statements))


def share_intervals(
    law: AnyLaw, unbiased: Floats, reports: int, z: float, *, population: bool
) -> Floats:
    """Return the two ends of an interval for each share along a last axis, cut to 0 and 1.

    Parameters
    ----------
    law, unbiased, reports, z, population
        As for `share_ends`.
    """
    if reports == 0:
        return np.stack([np.zeros(law.shape), np.ones(law.shape)], axis=-1)
    return np.clip(share_ends(law, unbiased, reports, z, population=population), 0.0, 1.0)


def share_ends(
    law: AnyLaw, unbiased: Floats, reports: int, z: float, *, population: bool
) -> Floats:
    """Return the two ends of a score interval for each share along a last axis.

    Parameters
    ----------
    law
        The law of the reports.
    unbiased
        The unbiased shares.
    reports
        How many reports there are, at least one.
    z
        The normal quantile.
    population
        Whether the shares of the population are meant, and not those of the clients who reported.

    Notes
    -----
    Where a share is t, n times the variance of its estimate is A·(1 − t) + B·t for the sample: A
    where nobody holds the answer and B where all do. For the population t(1 − t) is added. In A the
    other answers are held as estimated, mixed with one more report that holds all alike.
    """
    if unbiased.size == 1:
        return np.ones((*law.shape, 2))
    inside = (reports * on_simplex(unbiased) + 1 / unbiased.size) / (reports + 1)
    nobody, everybody = law.spread_beside(inside), law.spread_sure()
    quadratic = (nobody, everybody - nobody + population, -float(population))
    correction = law.weight() / (2 * reports)
    return score_ends(unbiased, z * z / reports, quadratic, correction)


def score_ends(
    estimates: Floats,
    part: float,
    quadratic: tuple[Floats | float, Floats | float, float],
    correction: Floats | float,
) -> Floats:
    """Return the two ends of each score interval along a last axis.

    Parameters
    ----------
    estimates
        The unbiased estimates x of shares.
    part
        z²/n, with the normal quantile z and the number n of reports.
    quadratic
        (A, B, C) with n times the variance A + B·t + C·t² where the truth is t, and C ≤ 0.
    correction
        The correction for continuity c: by half a report's weight the estimate is moved towards
        the value that is asked about (Yates, 1934).

    Notes
    -----
    The ends solve (x ∓ c − t)² = (A + B·t + C·t²)·z²/n, the lower one with x − c and the upper one
    with x + c. The estimate itself is always inside.
    """
    constant, slope, curve = quadratic
    ends = []
    for sign in (-1, 1):
        x = estimates + sign * correction
        inside = part * (constant + slope * x + curve * x * x)
        inside = inside + part * part * (slope * slope / 4 - constant * curve)
        wide = np.sqrt(np.maximum(inside, 0.0))
        end = (x + part * slope / 2 + sign * wide) / (1 - part * curve)
        # A share is from 0 to 1: what is seen cannot be far above it if it is not above 0.
        if sign < 0:
            ends.append(np.minimum(np.where(x <= 0, 0.0, end), estimates))
        else:
            ends.append(np.maximum(np.where(x >= 1, 1.0, end), estimates))
    return np.stack(ends, axis=-1)
