"""Subset selection: a report is a set of d answers, likelier to hold the true one than not.

All sets of d answers that hold the truth are equally likely, and so are all others
(docs/proofs/local-designs.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.local_response import (
    Codes,
    LocalResponse,
    log_fraction,
    require_rows,
    smallest_unsigned,
)
from sfumato.noise.choices import Choices, feed
from sfumato.noise.expansions import WORD, lies

__all__ = ["SubsetResponse"]


@dataclass(frozen=True, kw_only=True)
class SubsetResponse(LocalResponse):
    """Say a set of d answers: e^ε times as likely if it holds the true one.

    Parameters
    ----------
    answers, epsilon
        As for every response.
    size
        How many answers a set has, d.

    Notes
    -----
    A report is a tuple of rising numbers; those of many clients are the rows of an array.

    Privacy: sets that hold the truth are at most e^ε times as likely as those that do not
    (docs/proofs/local-designs.md).
    """

    kind: ClassVar[str] = "subset response"

    size: int

    def _check_parameters(self) -> None:
        if not 1 <= self.size <= self.answers:
            raise ValueError(f"a set has from 1 to {self.answers} answers; got {self.size}")

    @property
    def threshold(self) -> int:
        """How many words out of 2⁶⁴ put the true answer into the set."""
        return WORD - lies(self.size, self.answers - self.size, self.epsilon)

    @property
    def truth(self) -> Fraction:
        """The probability p that the set holds the true answer."""
        return Fraction(self.threshold, WORD)

    @property
    def other(self) -> Fraction:
        """The probability q that the set holds another answer: d − p others among k − 1."""
        return (self.size - self.truth) / max(1, self.answers - 1)

    def contrasts(self) -> Sequence[tuple[Fraction, Fraction]]:
        """Return how likely a set is that holds the truth and one that does not, but for a factor.

        There are (k − d)/d times as many of the others.
        """
        others = self.answers - self.size
        return [(self.truth * others, (1 - self.truth) * self.size)] if others else []

    def draw(self, value: int, choices: Choices) -> tuple[int, ...]:
        """Throw a coin for the true answer, then choose the others (Floyd's algorithm)."""
        held = self.size == self.answers or choices.coin(self.threshold)
        others = self.answers - 1
        chosen: set[int] = set()
        for last in range(others - self.size + held, others):
            drawn = choices.uniform(last + 1)
            chosen.add(last if drawn in chosen else drawn)
        named = {other + (other >= value) for other in chosen}
        return tuple(sorted(named | {value} if held else named))

    def draw_all(self, values: Codes) -> NDArray[Any]:
        """Return the sets of many clients; half a word is read for each answer in a set."""
        from sfumato.mechanisms.local_kernels import subsets

        said = np.empty((values.size, self.size), dtype=smallest_unsigned(self.answers - 1))
        if self.size == self.answers:
            said[:] = np.arange(self.answers)
            return said
        feed(
            subsets,
            values.size,
            values,
            said,
            np.uint64(self.threshold),
            self.answers - 1,
            np.zeros(-(-self.answers // 64), dtype=np.uint64),
        )
        return said

    def _of_a_kind(self, held: bool) -> int:
        """Return how many sets hold a given answer, or do not."""
        return math.comb(self.answers - 1, self.size - held)

    def probability(self, value: int, report: tuple[int, ...]) -> Fraction:
        """Return the exact probability of a set."""
        held = value in report
        return (self.truth if held else 1 - self.truth) / self._of_a_kind(held)

    def log_law(self, value: int, report: tuple[int, ...]) -> float:
        """Return the log-probability of a set."""
        held = value in report
        share = self.truth if held else 1 - self.truth
        return log_fraction(share) - math.log(self._of_a_kind(held))

    def outputs(self) -> Iterator[tuple[int, ...]]:
        """Return every set."""
        return combinations(range(self.answers), self.size)

    def rows(self, reports: Sequence[tuple[int, ...]]) -> NDArray[Any]:
        """Return sets as the rows of an array."""
        for number, report in enumerate(reports):
            if not self._proper(report):
                raise ValueError(
                    f"report {number} must name {self.size} rising numbers from 0 to "
                    f"{self.answers - 1}"
                )
        kind = smallest_unsigned(self.answers - 1)
        return np.array(reports, dtype=kind).reshape(-1, self.size)

    def _proper(self, report: Any) -> bool:
        """Tell whether something is the report of a set."""
        if not isinstance(report, tuple) or len(report) != self.size:
            return False
        if not all(type(answer) is int for answer in report):
            return False
        rising = all(here < there for here, there in pairwise(report))
        return rising and report[0] >= 0 and report[-1] < self.answers

    def check_rows(self, rows: NDArray[Any]) -> None:
        """Raise unless an array has a set in each row."""
        require_rows(rows, smallest_unsigned(self.answers - 1), self.size)
        rising = bool((rows[:, 1:] > rows[:, :-1]).all())
        if not rising or rows.max(initial=0) >= self.answers:
            raise ValueError(f"a set has rising numbers from 0 to {self.answers - 1}")

    def plain(self, rows: NDArray[Any]) -> list[tuple[int, ...]]:
        """Return the rows of an array as sets."""
        return [tuple(row) for row in rows.tolist()]

    def telling(self, value: int, neighbour: int) -> tuple[int, ...]:
        """Return a set that holds one answer and, where there is room, not the other."""
        rest = [answer for answer in range(self.answers) if answer not in (value, neighbour)]
        others = rest + [neighbour] * (neighbour != value)
        return tuple(sorted([value, *others[: self.size - 1]]))
