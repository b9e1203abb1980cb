"""What estimates the weights of a linear model from rows of bounded length.

An estimator has public settings only. It asks, and fits from what primitives said; `rehearse` does
the same to synthetic public rows, for choosing settings before anything is spent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.privacy.budget import Budget
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import Loss
from sfumato.privacy.plan import PlanStep
from sfumato.privacy.program import Program
from sfumato.regression.intervals import Tails
from sfumato.regression.rows import RowRule

__all__ = ["DEFAULT_BOUND", "Estimator", "LinearFit", "Said", "Setting", "answer_bound"]

Floats = NDArray[np.float64]

#: What primitives said, by label.
Said = Mapping[str, Any]
#: Where answers are cut if neither the custodian nor the estimator says so, in standard deviations.
DEFAULT_BOUND = 2.0


@dataclass(frozen=True)
class Setting:
    """What an estimator knows before it measures. Public, or made of what primitives said.

    Parameters
    ----------
    dimension
        How many features there are.
    relation
        What a neighbour is, for one record.
    limit
        The slice of the budget that it may spend.
    records
        How many records there are, as it is public or was noisily counted; for fitting only. In
        a plan it may be unknown.
    tails
        How far answers reach, where it was asked.
    """

    dimension: int
    relation: Relation
    limit: Loss
    records: float | None = None
    tails: Tails | None = None


@dataclass(frozen=True, eq=False)
class LinearFit:
    """Weights of rows. Public.

    Parameters
    ----------
    weights
        w, such that an answer in units of `ANSWER` is about xᵀw for a row x in units of `ROW`.
    covariance
        How uncertain the weights are, all things considered; None where it is not known.
    deviation
        The standard deviation of what the model leaves of an answer; None where not known.
    notes
        What a reader of the release should know of the fit, in sentences.
    """

    weights: Floats
    covariance: Floats | None = None
    deviation: float | None = None
    notes: tuple[str, ...] = ()


class Estimator(Protocol):
    """A way to find the weights: a frozen dataclass of public settings.

    Beside what is here an estimator may have a number `answer_bound`: where answers are best cut,
    in standard deviations of the response (see `answer_bound`).
    """

    @property
    def name(self) -> str:
        """What it is called, in words."""

    @property
    def needs_delta(self) -> bool:
        """Whether its budget must be one with a delta."""

    def check(self, setting: Setting) -> None:
        """Raise `ValueError` where it does not fit the setting; costs nothing."""

    def steps(self, setting: Setting) -> tuple[PlanStep, ...]:
        """Return what is measured, for plans; losses are those of the slice, for one record."""

    def fit(self, rule: RowRule, setting: Setting, budget: Budget) -> Program[LinearFit]:
        """Ask what `budget` pays for about the rows of a rule, and return the weights."""

    def rehearse(self, setting: Setting, x: Floats, y: Floats, generator: Any) -> LinearFit:
        """Return the weights that synthetic public rows would have got.

        Parameters
        ----------
        setting
            As for `fit`.
        x, y
            Rows (one a record) of length at most 1, and answers from −1 to 1.
        generator
            Draws ordinary floating-point noise of the same law.
        """


def answer_bound(estimator: Estimator) -> float:
    """Return where an estimator would have answers cut, in standard deviations."""
    return float(getattr(estimator, "answer_bound", DEFAULT_BOUND))
