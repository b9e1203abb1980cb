"""Reports of many clients, kept small; and what they tell of one answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from sfumato.local.design import Design

__all__ = ["Estimate", "MeanEstimate", "Reports"]


@dataclass(frozen=True, eq=False)
class Reports:
    """Reports of one design, a row each.

    Parameters
    ----------
    design
        How they were made.
    rows
        The reports, as the design's primitive keeps them.
    """

    design: Design | Any
    rows: NDArray[Any]

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"Reports({len(self):,} of {self.design.name!r})"

    def __getitem__(self, part: slice) -> Reports:
        return Reports(self.design, self.rows[part])

    def plain(self) -> list[Any]:
        """Return the reports as plain JSON values, as `perturb` returns them."""
        plain: list[Any] = self.design.decode(self.rows)
        return plain

    def joined(self, other: Reports) -> Reports:
        """Return these reports and those of others, by the same design."""
        if self.design != other.design:
            raise ValueError("reports of different designs cannot be counted together")
        return Reports(self.design, np.concatenate([self.rows, other.rows]))


@dataclass(frozen=True)
class Estimate:
    """How many people hold an answer, as far as the reports tell.

    Parameters
    ----------
    answer
        The answer.
    count
        The unbiased estimate; it can be negative.
    margin
        19 times in 20 the randomisation alone puts the estimate no further off.
    """

    answer: str
    count: float
    margin: float


@dataclass(frozen=True)
class MeanEstimate:
    """The mean of clients' numbers, as far as the reports tell.

    Parameters
    ----------
    mean
        The unbiased estimate; it can lie beyond the bounds.
    margin
        19 times in 20 the mean of the population that the clients were drawn from is no further
        off; not a number for a single report.
    """

    mean: float
    margin: float
