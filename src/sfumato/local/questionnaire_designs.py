"""Which design collects a question of a questionnaire: one that was named, or the best."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sfumato.local.choice import best_design, best_mean
from sfumato.local.design import Design
from sfumato.local.hadamard import HadamardResponse
from sfumato.local.local_hash import LocalHash
from sfumato.local.matrix_response import LaplaceResponse
from sfumato.local.mean_response import MeanResponse, NumberDesign, PiecewiseMean
from sfumato.local.randomized import RandomizedResponse
from sfumato.local.subset import SubsetSelection
from sfumato.local.unary import UnaryEncoding
from sfumato.noise.exact import briefly, exact

__all__ = ["DESIGNS", "MEANS", "design_for", "mean_design", "reason_for"]

#: The designs for a list of answers, by the names that a questionnaire gives them.
DESIGNS: dict[str, type[Design]] = {
    kind.__name__: kind
    for kind in (
        RandomizedResponse,
        UnaryEncoding,
        SubsetSelection,
        HadamardResponse,
        LocalHash,
        LaplaceResponse,
    )
}
#: The designs for the mean of a number.
MEANS: dict[str, type[NumberDesign]] = {
    kind.__name__: kind for kind in (MeanResponse, PiecewiseMean)
}


def design_for(name: str, answers: tuple[str, ...], epsilon: Fraction, respondents: int) -> Design:
    """Return the design of a question.

    Parameters
    ----------
    name
        What the questionnaire calls it; `"auto"` for the one of least mean variance.
    answers
        The possible answers.
    epsilon
        What the question may cost.
    respondents
        About how many report.
    """
    if name == "auto":
        design: Design = best_design(answers, epsilon, respondents).design
        return design
    if name not in DESIGNS:
        raise ValueError(f"design must be one of auto, {', '.join(DESIGNS)}; got {briefly(name)}")
    return DESIGNS[name](epsilon=epsilon, answers=answers)


def mean_design(name: str, epsilon: Fraction, bounds: tuple[float, float]) -> NumberDesign:
    """Return the design of a number of which the mean is wanted.

    Parameters
    ----------
    name
        What the questionnaire calls it; `"auto"` for the one whose largest variance is least.
    epsilon
        What the question may cost.
    bounds
        From where to where the number goes.
    """
    low, high = map(exact, bounds)
    if name == "auto":
        return best_mean(low, high, epsilon)
    if name not in MEANS:
        raise ValueError(f"the design of a mean is auto, {' or '.join(MEANS)}; got {briefly(name)}")
    return MEANS[name](epsilon=epsilon, low=low, high=high)


def reason_for(design: Any, respondents: int) -> str:
    """Return how a design compares with the others, in a sentence."""
    if isinstance(design, NumberDesign):
        return f"{type(design).__name__}: {design.plan(design.public).steps[0].noise}"
    choice = best_design(design.answers, design.exact_epsilon(), respondents)
    if type(choice.design) is type(design):
        return choice.reason
    return f"{type(design).__name__} as the questionnaire wants it; {choice.reason}"
