"""Designs beside each other, exactly: no report is drawn.

Which design is better depends on what is asked. `compare` evaluates the shares' variance or the
error of guessing single answers by summing over all reports there can be, and asserts no order.
It sees no data, only designs and a public prior.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from sfumato.local.law import Floats, MatrixLaw, check_matrix, law_of
from sfumato.local.posterior import Guess, check_prior, confusion
from sfumato.local.shares import Of, is_population

__all__ = ["Compared", "compare", "loss_of_guesses", "variance_of_shares"]

Loss = Literal["shares", "zero-one", "squared"]


@dataclass(frozen=True, eq=False)
class Compared:
    """One design in a comparison.

    Parameters
    ----------
    name
        What it is called.
    by_answer
        The variance of each answer's share, or the error of guessing where it is the true one.
    average
        The mean over answers of the variances, or the mean over the prior of the errors.
    """

    name: str
    by_answer: Floats
    average: float


def variance_of_shares(
    design: Any, n: int, shares: ArrayLike | None = None, of: Of = "population"
) -> Floats:
    """Return the exact variance of the unbiased share of each answer.

    Parameters
    ----------
    design
        A design, or a design matrix.
    n
        How many people report.
    shares
        The true shares; equal ones by default.
    of
        Whether the shares are those of the `"sample"` or of the `"population"`.
    """
    if n < 1:
        raise ValueError(f"n must be at least 1; got {n!r}")
    law = _law(design)
    at = check_prior(shares, law.shape[0])
    return np.asarray(law.spread(at, population=is_population(of)) / n)


def loss_of_guesses(
    design: Any,
    prior: ArrayLike | None = None,
    loss: Loss = "zero-one",
    guess: Guess = "posterior",
    values: Sequence[float] | None = None,
) -> Floats:
    """Return the exact expected loss of guessing, for each true answer.

    Parameters
    ----------
    design
        A design, or a design matrix.
    prior
        The chance of each answer; equal by default.
    loss
        `"zero-one"`, or `"squared"` for the squared distance of the answers' values.
    guess
        `"posterior"` for a draw from the posterior, `"map"` for the likeliest answer.
    values
        The number each answer stands for; by default 1, 2, 3, ….
    """
    matrix = outcomes_of(design)
    k = matrix.shape[1]
    guessed = confusion(matrix, prior, guess)
    if loss == "zero-one":
        return np.asarray(1 - np.diagonal(guessed))
    if loss != "squared":
        raise ValueError(f"loss must be one of 'shares', 'zero-one', 'squared'; got {loss!r}")
    numbers = np.asarray(range(1, k + 1) if values is None else values, dtype=np.float64)
    if numbers.shape != (k,):
        raise ValueError(f"values must be {k} numbers, one for each answer")
    return np.asarray((guessed * (numbers[:, None] - numbers[None, :]) ** 2).sum(axis=0))


def compare(
    designs: Mapping[str, Any] | Sequence[Any],
    k: int | None = None,
    epsilon: Any = None,
    n: int | None = None,
    *,
    prior: ArrayLike | None = None,
    loss: Loss = "shares",
    guess: Guess = "posterior",
    of: Of = "population",
    values: Sequence[float] | None = None,
) -> list[Compared]:
    """Return designs with their exact errors, the best on average first.

    Parameters
    ----------
    designs
        Designs or design matrices by name, or a list of designs, or of kinds of design (classes)
        that are made with `epsilon` for `k` answers.
    k, epsilon
        For kinds of design: how many answers there are, and the loss.
    n
        How many people report; needed for the loss `"shares"`.
    prior
        The chance of each answer, or the true shares; equal by default.
    loss
        `"shares"` for the variance of estimated shares; `"zero-one"` or `"squared"` for the
        error of guessing single answers.
    guess
        How single answers are guessed: `"posterior"` or `"map"`.
    of
        For `"shares"`: whether those of the `"sample"` or of the `"population"` are meant.
    values
        For `"squared"`: the number each answer stands for.
    """
    if loss == "shares" and n is None:
        raise ValueError("n must be given: the variance of shares depends on how many report")
    found = []
    for name, design in _name_designs(designs, k, epsilon).items():
        if loss == "shares":
            assert n is not None
            errors = variance_of_shares(design, n, prior, of)
            average = float(errors.mean())
        else:
            errors = loss_of_guesses(design, prior, loss, guess, values)
            average = float(check_prior(prior, len(errors)) @ errors)
        found.append(Compared(name, errors, average))
    return sorted(found, key=lambda item: item.average)


def _law(design: Any) -> Any:
    """Return the law of a design or of a design matrix."""
    if hasattr(design, "answers"):
        return law_of(design)
    return MatrixLaw(np.asarray(design, dtype=np.float64))


def _name_designs(
    designs: Mapping[str, Any] | Sequence[Any], k: int | None, epsilon: Any
) -> dict[str, Any]:
    """Return the designs by name; kinds of design are made."""
    pairs = (
        list(designs.items())
        if isinstance(designs, Mapping)
        else [(_name(design, place), design) for place, design in enumerate(designs, 1)]
    )
    made: dict[str, Any] = {}
    for name, design in pairs:
        if isinstance(design, type):
            if k is None or epsilon is None:
                raise ValueError(f"k and epsilon must be given to make a {design.__name__}")
            design = design(epsilon=epsilon, answers=[str(number) for number in range(k)])
        made[name if name not in made else f"{name} ({len(made) + 1})"] = design
    if not made:
        raise ValueError("designs must name at least one design")
    return made


def _name(design: Any, place: int) -> str:
    """Return what a design is called in a list."""
    if isinstance(design, type):
        return design.__name__
    return type(design).__name__ if hasattr(design, "answers") else f"matrix {place}"


# All reports that a design can make, with their exact probabilities, for small designs.
#
# Public: it looks at a design, never at an answer.


#: The most reports, times answers, that are listed.
MOST_OUTCOMES = 1 << 20


def outcomes_of(design: Any) -> Floats:
    """Return the probability of every report (row) given every true answer (column).

    Parameters
    ----------
    design
        A design, or a matrix that is returned as it is once it is checked.

    Notes
    -----
    Where reports are answers this is the design matrix. Otherwise every report is listed, which is
    refused where there are too many: a unary report of 17 answers is one of 131,072.
    """
    if not hasattr(design, "answers"):
        return check_matrix(design)
    if design.matrix is not None:
        return check_matrix(design.matrix)
    primitive = design.primitive
    most = MOST_OUTCOMES // design.k
    reports = list(islice(primitive.outputs(), most + 1))
    if len(reports) > most:
        raise ValueError(
            f"{type(design).__name__} of {design.k:,} answers has too many possible reports for "
            "this loss; compare fewer answers, or use loss='shares'"
        )
    found = [
        [float(primitive.probability(answer, report)) for answer in range(design.k)]
        for report in reports
    ]
    return check_matrix(found)
