"""How a total loss is best shared among questions: arithmetic on public figures only.

Plans are compared where all answers are equally common. The probabilities here are rounded to
doubles; they choose a design, whose own probabilities are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import exp, prod

import numpy as np

from sfumato.local.choice import LONG
from sfumato.local.law import PureLaw
from sfumato.local.subset import best_size
from sfumato.noise.exact import exact

__all__ = ["MOST_COMBINATIONS", "best_kind", "best_sharing", "mean_variances"]

#: The most combinations of answers that are collected as one answer.
MOST_COMBINATIONS = 1 << 16
#: Beyond this ε all designs tell the truth as far as doubles can see.
_LARGE = 300.0


def _laws(k: int, epsilon: Fraction | float) -> dict[str, PureLaw]:
    """Return the law of each kind of design, the one that is preferred first."""
    lie = Fraction(exp(-min(float(epsilon), _LARGE)))
    truth = 1 / (1 + (k - 1) * lie)
    laws = {"RandomizedResponse": PureLaw(k, truth, lie * truth, Fraction(0), Fraction(0))}
    if k > 2:
        # Local hashing has the same p and q; its reports do not grow with k.
        p, q = Fraction(1, 2), lie / (1 + lie)
        laws["UnaryEncoding"] = PureLaw(k, p, q, p * q, q * q)
    if 2 < k <= LONG and (d := best_size(k, exact(min(float(epsilon), _LARGE)))) > 1:
        p = d / (d + (k - d) * lie)
        both = p * (d - 1) * (d - 2) + (1 - p) * d * (d - 1)
        pairs = p * (d - 1) / (k - 1), both / ((k - 1) * (k - 2))
        laws["SubsetSelection"] = PureLaw(k, p, (d - p) / (k - 1), *pairs)
    return laws


def _spread(law: PureLaw) -> float:
    """Return n times the variance of a share in the population, answers equally common."""
    return float(law.spread(np.array([1 / law.k]), population=True)[0])


def _best(k: int, epsilon: Fraction | float) -> tuple[str, PureLaw]:
    """Return the kind of design with the smallest variance, and its law."""
    return min(_laws(k, epsilon).items(), key=lambda item: _spread(item[1]))


def best_kind(k: int, epsilon: Fraction | float, *, sums: bool = False) -> str:
    """Return which design has the smallest variance for k equally common answers.

    Parameters
    ----------
    k
        How many answers there are.
    epsilon
        The loss.
    sums
        Whether sums of shares are wanted, whose variance is not known for local hashing.
    """
    kind = _best(k, epsilon)[0]
    return "LocalHash" if kind == "UnaryEncoding" and k > LONG and not sums else kind


def mean_variances(
    sizes: Sequence[int], epsilon: Fraction | float, *, tables: bool = False
) -> dict[str, float]:
    """Return n times the mean variance in the population for each way to share epsilon.

    Parameters
    ----------
    sizes
        How many answers each question has.
    epsilon
        The total loss for one record.
    tables
        Whether the cells of the table of all questions count, or each question's shares.
    """
    total, many, cells = float(epsilon), len(sizes), prod(sizes)
    found: dict[str, float] = {}
    if tables:
        found["split"] = _split_table(sizes, total / many)
        if cells <= MOST_COMBINATIONS:
            found["joint"] = _spread(_best(cells, total)[1])
        return found
    weights = np.array(sizes) / sum(sizes)
    found["split"] = float(weights @ [_spread(_best(k, total / many)[1]) for k in sizes])
    # Each question is told by one in `many` of those who report.
    found["sample"] = many * float(weights @ [_spread(_best(k, total)[1]) for k in sizes])
    if cells <= MOST_COMBINATIONS:
        law = _best(cells, total)[1]
        found["joint"] = float(weights @ [_joint_margin(law, k) for k in sizes])
    return found


def _split_table(sizes: Sequence[int], epsilon: float) -> float:
    """Return n times the variance of one cell, every question with randomised response."""
    cells = prod(sizes)
    product = 1.0
    for k in sizes:
        law = _laws(k, epsilon)["RandomizedResponse"]
        q = float(law.q)
        product *= ((1 - q) ** 2 + (k - 1) * q**2) / law.gap**2 if k > 1 else 1.0
    return product / cells - 1 / cells**2


def _joint_margin(law: PureLaw, k: int) -> float:
    """Return n times the variance of one of a question's k shares, summed over combinations."""
    members = np.zeros(law.k)
    members[: law.k // k] = 1.0
    return law.spread_along(members, np.full(law.k, 1 / law.k), population=True)


def best_sharing(sizes: Sequence[int], epsilon: Fraction | float, *, tables: bool = False) -> str:
    """Return the way to share epsilon that has the smallest mean variance.

    Parameters
    ----------
    sizes, epsilon, tables
        As for `mean_variances`.
    """
    found = mean_variances(sizes, epsilon, tables=tables)
    return min(found, key=lambda how: found[how])
