"""Which design to collect with: the exact variances compared, the choice told in a sentence.

Everything here is public: the number of answers, epsilon, and how many report.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from sfumato.local.design import Design
from sfumato.local.hadamard import HadamardResponse
from sfumato.local.local_hash import LocalHash
from sfumato.local.mean_response import MeanResponse, NumberDesign, PiecewiseMean
from sfumato.local.randomized import RandomizedResponse
from sfumato.local.subset import SubsetSelection
from sfumato.local.unary import UnaryEncoding

__all__ = ["Choice", "best_design", "best_mean"]

Goal = Literal["mean", "largest variance"]

#: Beyond so many answers sets and rows of bits are longer than the two words of a hash.
LONG = 1024
#: By how much more a design of shorter reports may vary and still be taken.
INDIFFERENT = Fraction(1, 1000)


@dataclass(frozen=True)
class Choice:
    """A design, and why it was chosen.

    Parameters
    ----------
    design
        The design.
    reason
        Why, in a sentence.
    deviations
        For every design that was compared, the standard deviation of a share.
    """

    design: Any
    reason: str
    deviations: dict[str, float]


def best_design(
    answers: int | Sequence[str], epsilon: Any, n: int = 1000, *, goal: Goal = "mean"
) -> Choice:
    """Return the design of least variance for a list of answers.

    Parameters
    ----------
    answers
        The possible answers, or how many there are.
    epsilon
        Privacy loss for one answer replaced by any other.
    n
        How many people report; it scales all designs alike.
    goal
        `"mean"` for the mean variance over all answers, whatever the shares are; or
        `"largest variance"` for that of the share that varies most.
    """
    if goal not in ("mean", "largest variance"):
        raise ValueError(f"goal must be 'mean' or 'largest variance'; got {goal!r}")
    given = answers if isinstance(answers, int) else list(answers)
    compared = [design for design in _designs(given, epsilon) if design is not None]
    variances = {design.name: _variance(design, goal) / n for design in compared}
    least = min(variances.values())
    near = [item for item in compared if variances[item.name] <= least * (1 + INDIFFERENT)]
    best = min(near, key=lambda item: round(item.bits, 6))
    deviations = {
        name.partition(".")[2]: float(variance) ** 0.5 for name, variance in variances.items()
    }
    return Choice(best, _reason(best, deviations, n, goal), deviations)


def _designs(answers: int | list[str], epsilon: Any) -> list[Design | None]:
    """Return the designs that suit so many answers."""
    first = LocalHash(epsilon=epsilon, answers=answers)
    kinds: list[type[Design]] = [RandomizedResponse, HadamardResponse]
    if first.k <= LONG:
        kinds += [SubsetSelection, UnaryEncoding]
    made: list[Design | None] = [kind(epsilon=epsilon, answers=answers) for kind in kinds]
    if first.k <= LONG:
        made.append(UnaryEncoding(epsilon=epsilon, answers=answers, symmetric=True))
    return [*made, first]


def _variance(design: Design, goal: Goal) -> Fraction:
    """Return the variance of a share of the sample, times the number of reports."""
    p, q = design.p, design.q
    one, other = p * (1 - p), q * (1 - q)
    if goal == "mean":
        # The shares of k answers add up to 1, whatever they are.
        return (one + (design.k - 1) * other) / (design.k * (p - q) ** 2)
    return max(one, other) / (p - q) ** 2


def _reason(best: Design, deviations: dict[str, float], n: int, goal: Goal) -> str:
    """Return why a design was chosen, in a sentence."""
    kind = type(best).__name__
    others = {name: value for name, value in deviations.items() if name != kind}
    second = min(others, key=lambda name: others[name])
    least = deviations[kind]
    apart = others[second] / least if least else 1.0
    what = "on average over the answers" if goal == "mean" else "for the share that varies most"
    beside = (
        f"{second} has {others[second]:.3g}"
        if apart > 1 + float(INDIFFERENT)
        else f"{second} is as good, and its reports are not shorter"
    )
    return (
        f"for {best.k:,} answers, epsilon {float(best.exact_epsilon()):g} and {n:,} reports "
        f"{kind} has a standard deviation of {least:.3g} {what}, with {best.bits:.0f} bits a "
        f"report; {beside}"
    )


def best_mean(low: Any, high: Any, epsilon: Any) -> NumberDesign:
    """Return the design for numbers whose largest variance is least.

    Parameters
    ----------
    low, high
        The declared bounds.
    epsilon
        Privacy loss for one number replaced by any other.
    """
    designs = [kind(epsilon=epsilon, low=low, high=high) for kind in (MeanResponse, PiecewiseMean)]

    def worst(design: NumberDesign) -> float:
        """Return the largest variance that one report has."""
        middle = (design.low + design.high) / 2
        return max(design.variance(at, 1).sample for at in (design.low, middle, design.high))

    return min(designs, key=worst)
