"""Means of numbers that nobody tells: one bit from each client, or a place near its number."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.local.client_data import Bound, NumberPublic, OwnNumber, step_of
from sfumato.local.design import Variances
from sfumato.local.queries import Own
from sfumato.local.reports import MeanEstimate, Reports
from sfumato.local.scores import normal_quantile, score_ends
from sfumato.mechanisms.local_number import BitOfNumber, NumberResponse, PlaceOfNumber
from sfumato.noise.expansions import enclose_exponential
from sfumato.privacy import door
from sfumato.privacy.arguments import LedgerLike
from sfumato.privacy.budget import Budget
from sfumato.privacy.loss import PureDP
from sfumato.privacy.method import LocalMethod
from sfumato.privacy.parameters import Whole, parameter
from sfumato.privacy.plan import Plan, PlanStep
from sfumato.privacy.program import Ask, Program

__all__ = ["MeanResponse", "NumberDesign", "PiecewiseMean"]

#: How often a margin shall hold.
LEVEL = 0.95
#: Reports that are added up in machine words at a time: squares are below 2⁴², their sum below 2⁶².
BLOCK = 1 << 20


@dataclass(frozen=True, kw_only=True)
class NumberDesign(LocalMethod[OwnNumber, Any]):
    """What the designs for numbers share.

    Parameters
    ----------
    epsilon
        Privacy loss for one number replaced by any other.
    low, high
        Declared bounds. A number outside is replaced by the nearer bound.
    steps
        Number of steps of the public grid to which numbers are rounded. A number is read as the
        nearest one, so that the mean is off by at most half a step.
    """

    kind: ClassVar[str] = "number"
    proof: ClassVar[str] = "local-designs.md"
    example: ClassVar[dict[str, Any]] = {"low": 0, "high": 1, "steps": 16}
    small: ClassVar[str] = "one number"

    low: Any = parameter(Bound())
    high: Any = parameter(Bound())
    steps: Any = parameter(Whole(1, 1 << 20), 1 << 16)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.low >= self.high:
            raise ValueError(f"low must be less than high; got {self.low} and {self.high}")
        _ = self.primitive

    @property
    @abstractmethod
    def primitive(self) -> NumberResponse:
        """What randomises a number."""

    @property
    def public(self) -> NumberPublic:
        """What is public about each report."""
        return NumberPublic(self.low, self.high, self.steps)

    @property
    def bits(self) -> float:
        """How many bits a report has."""
        return math.log2(self.primitive.reports)

    def exact_epsilon(self) -> Fraction:
        """Return epsilon as a fraction."""
        loss = self.loss()
        assert isinstance(loss, PureDP)
        return loss.epsilon

    @property
    def realised_epsilon(self) -> float:
        """The loss that the realised probabilities cost, never more than epsilon."""
        law = self.primitive
        report = law.telling(0, self.steps)
        ratio = law.probability(0, report) / law.probability(self.steps, report)
        loss = math.log(ratio.numerator) - math.log(ratio.denominator)
        return min(loss, float(self.exact_epsilon()))

    def own(self, value: Any) -> OwnNumber:
        """Return one client's number, or an array of many clients' numbers, as private data."""
        return OwnNumber(value, self.public)

    def plan(self, public: NumberPublic) -> Plan:
        """Return how far one report is off, at worst."""
        worst = math.sqrt(max(self.variance(end, 1).sample for end in (self.low, self.high)))
        step = PlanStep(
            what="one report",
            loss=self.loss(),
            noise=f"one report alone gives the number with a standard deviation of {worst:.3g}",
            error="see estimate: it falls with the root of how many report",
            figures={"deviation": worst},
        )
        return Plan(method=self.name, guarantee=self.guarantee(public), steps=(step,))

    def program(self, public: NumberPublic, budget: Budget) -> Program[Any]:
        """Ask for one report, or for one of each of many clients."""
        said = yield Ask(budget, self.primitive, Own(), "report")
        return Reports(self, said) if isinstance(said, np.ndarray) else said

    def perturb_all(self, values: ArrayLike, ledger: LedgerLike = None) -> Reports:
        """Return one report of each of many clients, drawn independently.

        Parameters
        ----------
        values
            The number of each client.
        ledger
            Where the loss is booked: epsilon for each client.
        """
        reports: Reports = door.perturb(self, np.asarray(values), ledger)
        return reports

    def encode(self, reports: Iterable[Any]) -> Reports:
        """Return plain reports as compact ones, or raise `ValueError` where one is malformed."""
        return Reports(self, self.primitive.rows(list(reports)))

    def decode(self, rows: NDArray[Any]) -> list[Any]:
        """Return the rows of compact reports as plain ones."""
        return self.primitive.plain(rows)

    def support(self, reports: Reports | Iterable[Any]) -> NDArray[Any]:
        """Return the sum of all reports and the sum of their squares, which add up over parts.

        Both are Python's whole numbers, which have no largest one.

        Parameters
        ----------
        reports
            What `perturb_all` or `encode` returned, or plain reports.
        """
        from sfumato.mechanisms.local_counting import powers

        compact = reports if isinstance(reports, Reports) else self.encode(reports)
        if compact.design != self:
            raise ValueError("the reports were made by another design")
        sums = np.array([0, 0], dtype=object)
        for start in range(0, len(compact), BLOCK):
            part = np.zeros(2, dtype=np.int64)
            powers(compact.rows[start : start + BLOCK], part)
            sums += part.astype(object)
        return sums

    def variance(self, value: Any, n: int) -> Variances:
        """Return the variance of the estimated mean where every client holds the same number.

        Parameters
        ----------
        value
            The number.
        n
            How many report.
        """
        unit = (self.high - self.low) / self.steps
        spread = self.primitive.spread(step_of(value, self.public)) * unit**2 / n
        return Variances(float(spread), float(spread))

    def estimate(self, reports: Reports | Iterable[Any]) -> MeanEstimate:
        """Return the mean of the clients' numbers, estimated from all reports.

        Parameters
        ----------
        reports
            What `perturb` returned on the clients, or `perturb_all`.

        Notes
        -----
        Privacy: post-processing of reports that are already private.
        """
        compact = reports if isinstance(reports, Reports) else self.encode(reports)
        return self.mean(self.support(compact), len(compact))

    def mean(self, sums: NDArray[Any], total: int) -> MeanEstimate:
        """Return the estimated mean, from the sums of `support`.

        Parameters
        ----------
        sums
            The sum of all reports and that of their squares.
        total
            How many reports there are.
        """
        if total < 1:
            raise ValueError("a mean needs at least one report")
        start, slope = self.primitive.line()
        unit = (self.high - self.low) / self.steps
        first, second = int(sums[0]), int(sums[1])
        mean = self.low + unit * (Fraction(first, total) - start) / slope
        if total == 1:
            return MeanEstimate(float(mean), math.nan)
        return MeanEstimate(float(mean), self._margin(first, second, total) * float(unit))

    def _margin(self, first: int, second: int, total: int) -> float:
        """Return the margin of a mean in steps, from the scatter of the reports.

        Parameters
        ----------
        first, second
            The sum of all reports and that of their squares.
        total
            How many reports there are, at least two.

        Notes
        -----
        Numbers whose mean is m make reports that vary at least as those of clients who all hold m
        do, so that the scatter is never taken as less: few reports may agree by chance.
        """
        from scipy.special import stdtrit

        start, slope = self.primitive.line()
        scatter = float(Fraction(second * total - first**2, total * (total - 1)) / slope**2)
        mean = round((Fraction(first, total) - start) / slope)
        least = float(self.primitive.spread(min(max(mean, 0), self.steps)))
        # Student's quantile: the scatter of few reports is itself uncertain.
        quantile = float(stdtrit(total - 1, (1 + LEVEL) / 2))
        return quantile * math.sqrt(max(scatter, least) / total)


@dataclass(frozen=True, kw_only=True)
class MeanResponse(NumberDesign):
    """Collect a mean from one random bit per person.

    Parameters
    ----------
    epsilon
        Privacy loss for one number replaced by any other.
    low, high
        Declared bounds. A number outside is replaced by the nearer bound.
    steps
        Number of steps of the public grid to which numbers are rounded.

    Notes
    -----
    Privacy: the bit is 1 with a probability that runs from 1/(e^ε + 1) to e^ε/(e^ε + 1) as the
    number runs from low to high; ε-DP (Duchi, Jordan and Wainwright, 2013;
    docs/proofs/local-designs.md).

    Examples
    --------
    >>> survey = MeanResponse(epsilon=1, low=0, high=24)
    >>> survey.perturb(7.5) in (0, 1)
    True
    """

    @cached_property
    def primitive(self) -> BitOfNumber:
        """What randomises a number."""
        return BitOfNumber(answers=self.steps, epsilon=self.exact_epsilon())

    def _margin(self, first: int, second: int, total: int) -> float:
        """Return the margin in steps: the farther end of the score interval for a share of ones."""
        share, z = np.array([first / total]), normal_quantile(LEVEL)
        # The variance of a bit is λ(1 − λ), whatever the numbers are.
        low, high = score_ends(share, z * z / total, (0.0, 1.0, -1.0), 1 / (2 * total))[0]
        slope = float(self.primitive.line()[1])
        return float(max(share[0] - low, high - share[0]) / slope)


@dataclass(frozen=True, kw_only=True)
class PiecewiseMean(NumberDesign):
    """Collect a mean by the piecewise mechanism: each report is likely to be near the true number.

    Parameters
    ----------
    epsilon
        Privacy loss for one number replaced by any other.
    low, high
        Declared bounds. A number outside is replaced by the nearer bound.
    steps
        Number of steps of the public grid to which numbers are rounded.

    Notes
    -----
    Its variance is lower than that of `MeanResponse` from about ε = 1.3.

    Privacy: places in a window that begins at the number are at most e^ε times as likely as all
    others; the window has e^(−ε/2) times as many places as there are steps (the piecewise
    mechanism of Wang et al., 2019, on a grid; docs/proofs/local-designs.md).

    Examples
    --------
    >>> survey = PiecewiseMean(epsilon=3, low=0, high=24)
    >>> 0 <= survey.perturb(7.5) < survey.primitive.reports
    True
    """

    @cached_property
    def primitive(self) -> PlaceOfNumber:
        """What randomises a number."""
        epsilon = self.exact_epsilon()
        window = max(1, enclose_exponential(epsilon / 2, 64)[0] * self.steps >> 64)
        return PlaceOfNumber(answers=self.steps, epsilon=epsilon, window=window)
