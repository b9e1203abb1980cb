"""What the primitives of local collection share: one answer in, one randomised report out.

Each runs where the answer is. The same law serves one client, in plain Python and one random word
at a time, and many clients at once, each with words of its own, in compiled loops. Probabilities
are exact fractions, and no floating point decides anything (docs/proofs/local-designs.md).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.noise.choices import Choices, WordChoices
from sfumato.noise.expansions import GUARD_BITS, enclose_exponential
from sfumato.privacy.loss import Loss, Measure, PureDP, convert
from sfumato.privacy.primitive import Change, Primitive

__all__ = [
    "Codes",
    "LocalResponse",
    "NumberedResponse",
    "log_fraction",
    "require_rows",
    "smallest_unsigned",
    "within",
]

#: The answers of many clients, as numbers.
Codes = NDArray[np.int64]


def log_fraction(share: Fraction) -> float:
    """Return the logarithm of a probability, right to a few units in the last place.

    Parameters
    ----------
    share
        A fraction from 0 to 1.
    """
    if share == 0:
        return -math.inf
    if 2 * share > 1:
        return math.log1p(-float(1 - share))
    return math.log(share.numerator) - math.log(share.denominator)


@lru_cache(maxsize=1024)
def within(ratio: Fraction, epsilon: Fraction) -> bool:
    """Tell whether a ratio is at most e^ε, certainly.

    Parameters
    ----------
    ratio
        At least 1.
    epsilon
        The positive ε.
    """
    size = ratio.numerator.bit_length() + GUARD_BITS
    while True:
        # e^ε is irrational, so that one of the two is settled in the end.
        low, high = enclose_exponential(epsilon, size)
        if ratio.denominator << size >= high * ratio.numerator:
            return True
        if ratio.denominator << size < low * ratio.numerator:
            return False
        size *= 2


def smallest_unsigned(largest: int) -> np.dtype[Any]:
    """Return the narrowest type of whole numbers that holds 0 to `largest`."""
    return np.min_scalar_type(largest)


def require_rows(rows: Any, kind: np.dtype[Any], *width: int) -> None:
    """Raise unless this is an array with a row for each client, of the declared type and width."""
    if not isinstance(rows, np.ndarray) or rows.dtype != kind or not rows.ndim:
        raise ValueError(f"the reports of many are rows of the type {kind}")
    if rows.shape[1:] != width:
        raise ValueError(f"the rows of reports have the shape {width}")


@dataclass(frozen=True, kw_only=True)
class LocalResponse(Primitive):
    """A primitive that randomises one answer, or the answers of many clients, one report each.

    Parameters
    ----------
    answers
        How many answers there are, k.
    epsilon
        The loss for one answer replaced by any other.

    Notes
    -----
    The input is the number of an answer, or an int64 array with one for each client. A report is
    plain (a whole number, or a tuple of them); the reports of many are the rows of an array.

    Privacy: probabilities are rounded to words of 64 bits. That no report costs more than ε, in
    either direction, is checked exactly when a response is made; where ε is too small for that, it
    is refused.
    """

    answers: int
    epsilon: Fraction

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.epsilon <= 0:
            raise ValueError("epsilon must be positive")
        if self.answers < 1:
            raise ValueError("there must be an answer")
        self._check_parameters()
        for shares in self.contrasts():
            low, high = sorted(shares)
            if low <= 0 or not within(high / low, self.epsilon):
                raise ValueError(
                    f"epsilon is too small for {self.inputs:,} inputs: with probabilities out of "
                    f"2^64 the privacy loss would exceed epsilon = {float(self.epsilon):.3g}; use "
                    "a larger epsilon"
                )

    def _check_parameters(self) -> None:
        """Raise `ValueError` for parameters of its own that cannot be."""

    @abstractmethod
    def contrasts(self) -> Sequence[tuple[Fraction, Fraction]]:
        """Return, for each kind of report, its likelihoods for two answers that it sets apart.

        Their ratios are all that the probabilities of a report have for two answers, besides 1.
        """

    @abstractmethod
    def draw(self, value: int, choices: Choices) -> Any:
        """Return the report of one client, by the choices it makes."""

    @abstractmethod
    def draw_all(self, values: Codes) -> NDArray[Any]:
        """Return the reports of many clients, each independent of the others."""

    @abstractmethod
    def probability(self, value: int, report: Any) -> Fraction:
        """Return the exact probability of a report."""

    @abstractmethod
    def outputs(self) -> Iterator[Any]:
        """Return every possible report; only for small domains."""

    @abstractmethod
    def rows(self, reports: Sequence[Any]) -> NDArray[Any]:
        """Return plain reports as the rows of an array, or raise `ValueError`."""

    @abstractmethod
    def plain(self, rows: NDArray[Any]) -> list[Any]:
        """Return the rows of an array as plain reports."""

    @abstractmethod
    def check_rows(self, rows: NDArray[Any]) -> None:
        """Raise `ValueError` unless the rows of an array are reports."""

    def check_output(self, output: Any) -> None:
        """Raise unless an output is a report, or the reports of many as the rows of an array."""
        if isinstance(output, np.ndarray):
            self.check_rows(output)
        else:
            self.rows([output])

    def cost(self, measure: Measure) -> Loss:
        """Return ε, or what ε-DP implies in another measure."""
        return convert(PureDP(self.epsilon), measure)

    @property
    def inputs(self) -> int:
        """How many different inputs one client may have."""
        return self.answers

    def check(self, value: Any) -> None:
        """Raise unless the input is the number of an answer, or an array of such numbers."""
        if isinstance(value, np.ndarray):
            numbers = value.dtype == np.int64 and value.ndim == 1
            # Read without a sign, a negative number is beyond every bound.
            inside = numbers and (not value.size or value.view(np.uint64).max() < self.inputs)
        else:
            inside = type(value) is int and 0 <= value < self.inputs
        if not inside:
            raise ValueError(f"the answer must be a number from 0 to {self.inputs - 1}")

    def sample(self, value: int | Codes) -> Any:
        """Return the report of one client, or the reports of many."""
        if isinstance(value, np.ndarray):
            return self.draw_all(value)
        return self.draw(value, WordChoices())

    def log_law(self, value: int, report: Any) -> float:
        """Return the log-probability of the report of one client."""
        return log_fraction(self.probability(value, report))

    def log_probability(self, value: int | Codes, output: Any) -> float:
        """Return the log-probability of a report, or of the reports of many."""
        if isinstance(value, np.ndarray):
            pairs = zip(value.tolist(), self.plain(output), strict=True)
            return math.fsum(self.log_law(code, report) for code, report in pairs)
        return self.log_law(value, output)

    def change(self, value: int | Codes, neighbour: int | Codes) -> Change:
        """Count the clients whose answers differ; any difference of one answer is allowed."""
        apart = int(np.count_nonzero(np.asarray(value) != np.asarray(neighbour)))
        return Change(Fraction(apart), Fraction(1), "clients whose answers differ")

    @abstractmethod
    def telling(self, value: int, neighbour: int) -> Any:
        """Return a report that speaks for one answer against another as strongly as any."""

    def extremes(self, value: int | Codes, neighbour: int | Codes) -> list[Any]:
        """Return the reports that attain the bound, in both directions."""
        if isinstance(value, np.ndarray):
            pairs = list(zip(value.tolist(), np.asarray(neighbour).tolist(), strict=True))
            return [
                self.rows([self.telling(here, there) for here, there in pairs]),
                self.rows([self.telling(there, here) for here, there in pairs]),
            ]
        assert isinstance(neighbour, int)
        return [self.telling(value, neighbour), self.telling(neighbour, value)]


@dataclass(frozen=True, kw_only=True)
class NumberedResponse(LocalResponse):
    """A response whose reports are whole numbers from 0 on."""

    @property
    def reports(self) -> int:
        """How many different reports there are: as many as answers, as a rule."""
        return self.answers

    def outputs(self) -> Iterator[int]:
        """Return every report."""
        return iter(range(self.reports))

    def rows(self, reports: Sequence[int]) -> NDArray[Any]:
        """Return reports as an array, in the narrowest type that holds them."""
        for number, report in enumerate(reports):
            if type(report) is not int or not 0 <= report < self.reports:
                raise ValueError(
                    f"report {number} must be a whole number from 0 to {self.reports - 1}; got "
                    f"{report!r}"
                )
        return np.array(reports, dtype=smallest_unsigned(self.reports - 1))

    def plain(self, rows: NDArray[Any]) -> list[int]:
        """Return an array as a list of reports."""
        numbers: list[int] = rows.tolist()
        return numbers

    def check_rows(self, rows: NDArray[Any]) -> None:
        """Raise unless an array holds reports, in the narrowest type."""
        require_rows(rows, smallest_unsigned(self.reports - 1))
        if rows.max(initial=0) >= self.reports:
            raise ValueError(f"reports are whole numbers from 0 to {self.reports - 1}")
