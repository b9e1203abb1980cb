"""A design of local collection: how clients randomise their answers, and what reports tell.

A client calls `perturb`. The collector, who sees reports only, calls `support`: how many reports
speak for each answer. A report speaks for the true answer with probability p and for any other one
with probability q < p, both exact, so that shares and their variances follow. Nothing at the
collector's side may ever ask for an answer.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.local.client_data import AnswerPublic, AnswersPublic, OwnAnswer, OwnAnswers
from sfumato.local.law import law_of
from sfumato.local.queries import Own
from sfumato.local.reports import Estimate, Reports
from sfumato.local.scores import share_ends
from sfumato.mechanisms.local_response import LocalResponse
from sfumato.privacy import door
from sfumato.privacy.arguments import LedgerLike
from sfumato.privacy.budget import Budget
from sfumato.privacy.loss import PureDP
from sfumato.privacy.method import LocalMethod
from sfumato.privacy.parameters import Constraint, is_list, parameter, read_text
from sfumato.privacy.plan import Plan, PlanStep, Size
from sfumato.privacy.program import Ask, Program

# The possible answers of a question, as a parameter of designs.


#: The most answers that a design takes.
MOST_ANSWERS = 1 << 24


@dataclass(frozen=True)
class Answers(Constraint):
    """The possible answers, or how many there are."""

    allowed = "a non-empty list of distinct answers, or how many there are"

    def parse(self, value: Any) -> tuple[str, ...]:
        """Return the answers; where only their number is given they are called 0, 1, 2, …."""
        if isinstance(value, int) and not isinstance(value, bool):
            if not 1 <= value <= MOST_ANSWERS:
                raise ValueError
            return tuple(map(str, range(value)))
        if not is_list(value):
            raise TypeError
        answers = tuple(read_text(answer) for answer in value)
        if not answers or len(set(answers)) != len(answers) or len(answers) > MOST_ANSWERS:
            raise ValueError
        return answers


__all__ = ["Answers", "Design", "Variances"]


class Variances(NamedTuple):
    """The variance of an estimated share.

    Parameters
    ----------
    sample
        Around the share among the clients who reported: what the randomisation adds.
    population
        Around the share in the population that the clients were drawn from.
    """

    sample: float
    population: float


@dataclass(frozen=True, kw_only=True)
class Design(LocalMethod[Any, Any]):
    """What all designs have.

    Parameters
    ----------
    epsilon
        Privacy loss for one answer replaced by any other.
    answers
        The possible answers, or how many there are.
    """

    kind: ClassVar[str] = "report"
    proof: ClassVar[str] = "local-designs.md"
    example: ClassVar[dict[str, Any]] = {"answers": ("yes", "no", "no answer")}

    answers: Any = parameter(Answers())

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_parameters()
        if not self.tells:
            raise ValueError(
                f"epsilon is so small that reports of {self.k:,} answers would hold no "
                "information; use a larger epsilon or fewer answers"
            )

    def _check_parameters(self) -> None:
        """Raise `ValueError` where parameters do not fit one another."""

    @property
    @abstractmethod
    def primitive(self) -> LocalResponse:
        """What randomises an answer."""

    @property
    def k(self) -> int:
        """How many answers there are."""
        return len(self.answers)

    @property
    @abstractmethod
    def p(self) -> Fraction:
        """The probability that a report speaks for the true answer, exactly."""

    @property
    @abstractmethod
    def q(self) -> Fraction:
        """The probability that a report speaks for another answer, exactly."""

    @property
    def tells(self) -> bool:
        """Whether reports speak for the true answer more often than for others."""
        return self.p > self.q

    @property
    def matrix(self) -> NDArray[np.float64] | None:
        """The probability of report i for answer j, where reports are answers; else None."""
        return None

    @property
    @abstractmethod
    def bits(self) -> float:
        """How many bits a report has at most."""

    @property
    def realised_epsilon(self) -> float:
        """The loss that the realised probabilities cost, never more than epsilon."""
        if self.k == 1:
            return 0.0
        ratio = self._ratio()
        loss = math.log(ratio.numerator) - math.log(ratio.denominator)
        # The ratio is at most e^ε in whole numbers; only the logarithm can round beyond it.
        return min(loss, float(self.exact_epsilon()))

    @abstractmethod
    def _ratio(self) -> Fraction:
        """Return the largest ratio of the probabilities of one report for two answers."""

    @property
    def pairs(self) -> tuple[Fraction, Fraction] | None:
        """How likely a report speaks for the true answer and a given other one, and for two others.

        None where that differs from pair to pair.
        """
        return None

    @property
    def public(self) -> AnswerPublic:
        """What is public about each report."""
        return AnswerPublic(self.answers)

    def exact_epsilon(self) -> Fraction:
        """Return epsilon as a fraction."""
        loss = self.loss()
        assert isinstance(loss, PureDP)
        return loss.epsilon

    def own(self, value: Any) -> OwnAnswer | OwnAnswers:
        """Return one client's answer, or the numbers of many clients' answers, as private data."""
        if isinstance(value, np.ndarray):
            return OwnAnswers(value, self.answers)
        return OwnAnswer(value, self.public)

    def plan(self, public: AnswerPublic) -> Plan:
        """Return how often a report speaks for the truth, and what a thousand reports tell."""
        step = PlanStep(
            what="one report",
            loss=self.loss(),
            noise=self._words(),
            error="see estimate: it depends on how many report",
            figures=self._figures(),
        )
        sizes = (Size(self.k, "answers"),)
        return Plan(method=self.name, guarantee=self.guarantee(public), steps=(step,), sizes=sizes)

    def _figures(self) -> dict[str, float]:
        """Return the same as numbers."""
        return {"truth": float(self.p), "other": float(self.q)}

    def _words(self) -> str:
        """Return what happens to an answer, in words."""
        return (
            f"a report speaks for the truth with probability {float(self.p):.3g}, for any other "
            f"answer with {float(self.q):.3g}"
        )

    def program(self, public: AnswerPublic, budget: Budget) -> Program[Any]:
        """Ask for one report, or for one of each of many clients."""
        said = yield Ask(budget, self.primitive, Own(), "report")
        return Reports(self, said) if isinstance(public, AnswersPublic) else self._plain([said])[0]

    def _plain(self, said: list[Any]) -> list[Any]:
        """Return what the primitive said as plain JSON."""
        return [list(one) if isinstance(one, tuple) else one for one in said]

    def _said(self, plain: list[Any]) -> list[Any]:
        """Return plain JSON as the primitive says it."""
        return [tuple(one) if isinstance(one, list) else one for one in plain]

    def perturb_all(self, codes: ArrayLike, ledger: LedgerLike = None) -> Reports:
        """Return one report of each of many clients, drawn independently.

        Parameters
        ----------
        codes
            The number of each client's answer, from 0, in the order of `answers`.
        ledger
            Where the loss is booked. No client makes more than one of the reports, so that it is
            epsilon for each.
        """
        reports: Reports = door.perturb(self, np.asarray(codes), ledger)
        return reports

    def encode(self, reports: Iterable[Any]) -> Reports:
        """Return plain reports as compact ones, or raise `ValueError` where one is malformed.

        Parameters
        ----------
        reports
            What `perturb` returned on the clients.
        """
        return Reports(self, self.primitive.rows(self._said(list(reports))))

    def decode(self, rows: NDArray[Any]) -> list[Any]:
        """Return the rows of compact reports as plain ones."""
        return self._plain(self.primitive.plain(rows))

    def support(self, reports: Reports | Iterable[Any]) -> NDArray[np.int64]:
        """Return how many reports speak for each answer.

        Parameters
        ----------
        reports
            What `perturb_all` or `encode` returned, or plain reports.
        """
        compact = reports if isinstance(reports, Reports) else self.encode(reports)
        if compact.design != self:
            raise ValueError("the reports were made by another design")
        counts = np.zeros(self.k, dtype=np.int64)
        self._count(compact.rows, counts)
        return counts

    @abstractmethod
    def _count(self, rows: NDArray[Any], counts: NDArray[np.int64]) -> None:
        """Add to each answer's count how many reports speak for it."""

    def variance(self, share: float | Fraction, n: int) -> Variances:
        """Return the variance of an answer's estimated share.

        Parameters
        ----------
        share
            The share of clients who hold the answer.
        n
            How many report.
        """
        p, q, held = self.p, self.q, Fraction(share)
        noise = (held * p * (1 - p) + (1 - held) * q * (1 - q)) / (n * (p - q) ** 2)
        return Variances(float(noise), float(noise + held * (1 - held) / n))

    def variances(self, shares: ArrayLike, n: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the variances of all estimated shares, for the sample and for the population.

        Parameters
        ----------
        shares
            The share of clients who hold each answer.
        n
            How many report.
        """
        held = np.asarray(shares, dtype=np.float64)
        p, q = self.p, self.q
        one, other = float(p * (1 - p)), float(q * (1 - q))
        sample = (held * one + (1 - held) * other) / (n * float(p - q) ** 2)
        return sample, sample + held * (1 - held) / n

    def estimate(self, reports: Reports | Iterable[Any]) -> list[Estimate]:
        """Return how many people hold each answer, estimated from all reports.

        Parameters
        ----------
        reports
            What `perturb` returned on the clients, or `perturb_all`.

        Notes
        -----
        Privacy: post-processing of reports that are already private.
        """
        compact = reports if isinstance(reports, Reports) else self.encode(reports)
        total = len(compact)
        counts = self.counts(self.support(compact), total)
        margins = np.zeros(self.k)
        if total:
            low, high = share_ends(law_of(self), counts / total, total, 1.96, population=False).T
            margins = np.maximum(counts - total * low, total * high - counts)
        return [
            Estimate(answer, float(count), float(margin))
            for answer, count, margin in zip(self.answers, counts, margins, strict=True)
        ]

    def counts(self, support: NDArray[Any], total: int) -> NDArray[np.float64]:
        """Return the unbiased estimate of how many clients hold each answer.

        Parameters
        ----------
        support
            How many reports speak for each answer.
        total
            How many reports there are.
        """
        p, q = self.p, self.q
        # The numerator is exact: for many reports and a small ε it is a difference of near equals.
        low = float(q * total - round(q * total))
        return np.asarray((support - round(q * total) - low) / float(p - q), dtype=np.float64)
