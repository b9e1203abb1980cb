"""Reports, counted: how many support each answer, and how many there are.

A tally is all that estimation needs. It takes the same room however many reports are added, tallies
of parts of a survey add up, and one can be written to a file and taken up again. It holds nothing
but reports, which are private already.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.privacy.registry import resolve

__all__ = ["Tally", "count_supported", "whole_counts"]


@dataclass(frozen=True, eq=False)
class Tally:
    """How many reports support each answer.

    Parameters
    ----------
    design
        The design the reports were made with.
    counts
        How many reports support each answer, as whole numbers.
    reports
        How many reports there are.

    Examples
    --------
    >>> from sfumato.local import RandomizedResponse
    >>> survey = RandomizedResponse(epsilon=1, answers=["yes", "no"])
    >>> day = Tally.empty(survey).add(["yes", "no", "yes"])
    >>> (day + day).counts.tolist(), (day + day).reports
    ([4, 2], 6)
    """

    design: Any
    counts: NDArray[np.int64]
    reports: int

    def __post_init__(self) -> None:
        found = np.array(self.counts)
        if found.ndim != 1 or found.dtype.kind not in "iu" or (found < 0).any():
            raise ValueError("the counts of a tally must be whole numbers of at least 0")
        if len(found) != len(self.design.answers):
            raise ValueError(
                f"a tally needs one count for each of the {len(self.design.answers)} answers; got "
                f"{len(found)}"
            )
        if type(self.reports) is not int or self.reports < 0:
            raise ValueError("the number of reports must be a whole number of at least 0")
        if (found > self.reports).any():
            raise ValueError("the count of an answer exceeds the number of reports")
        whole = count_supported(self.design, self.reports)
        if whole is not None and int(found.sum()) != whole:
            raise ValueError(
                f"{self.reports} reports of this design support {whole} answers in all; the counts "
                f"add up to {int(found.sum())}"
            )
        found = found.astype(np.int64)
        found.flags.writeable = False
        object.__setattr__(self, "counts", found)

    def __repr__(self) -> str:
        return f"Tally({self.design.name!r}, {len(self.counts)} answers, {self.reports} reports)"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Tally)
            and self.design == other.design
            and self.reports == other.reports
            and np.array_equal(self.counts, other.counts)
        )

    @classmethod
    def empty(cls, design: Any) -> Tally:
        """Return the tally of no reports.

        Parameters
        ----------
        design
            The design.
        """
        if not hasattr(design, "answers"):
            raise ValueError(
                f"{design.name} collects numbers and has no answers to count; use its support and "
                "mean instead"
            )
        return cls(design, np.zeros(len(design.answers), dtype=np.int64), 0)

    def add(self, reports: Any) -> Tally:
        """Return the tally with more reports in it.

        Parameters
        ----------
        reports
            Reports of this design: a list of what `perturb` returned, or what `perturb_all` did.
        """
        if isinstance(reports, str | bytes | dict):
            raise ValueError("reports must be a list; put a single report into a list")
        found = reports if hasattr(reports, "__len__") else list(reports)
        supported = np.asarray(self.design.support(found), dtype=np.int64)
        return replace(self, counts=self.counts + supported, reports=self.reports + len(found))

    def __add__(self, other: Tally) -> Tally:
        """Return the tally of both."""
        if not isinstance(other, Tally):
            return NotImplemented
        if self.design != other.design:
            raise ValueError(
                "only tallies of the same design can be added; these have different designs"
            )
        return replace(
            self, counts=self.counts + other.counts, reports=self.reports + other.reports
        )

    def to_json(self) -> dict[str, Any]:
        """Return a plain document."""
        return {
            "design": self.design.name,
            "parameters": self.design.parameters(),
            "counts": self.counts.tolist(),
            "reports": self.reports,
        }

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Tally:
        """Return the tally that `to_json` wrote."""
        try:
            design = resolve(document["design"]).from_parameters(document["parameters"])
            counts, reports = document["counts"], document["reports"]
        except (KeyError, TypeError) as error:
            raise ValueError(f"the tally is incomplete: {error}") from None
        return cls(design, whole_counts(counts, (len(design.answers),)), reports)


def count_supported(design: Any, reports: int) -> int | None:
    """Return how many answers so many reports support in all; None where that varies.

    Parameters
    ----------
    design
        The design.
    reports
        How many reports there are.
    """
    match design.primitive.kind:
        case "randomised response" | "matrix response":
            return reports
        case "subset response":
            return reports * int(design.primitive.size)
        case _:
            return None


def whole_counts(given: Any, shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Return counts of a file as an array, or refuse what are none.

    Parameters
    ----------
    given
        Lists of whole numbers.
    shape
        The shape that they must have.
    """
    found = np.array(given, dtype=object)
    if found.shape != shape:
        raise ValueError(f"this part of a tally must have {' × '.join(map(str, shape))} counts")
    if not all(type(count) is int and 0 <= count < 1 << 63 for count in found.ravel().tolist()):
        raise ValueError("the counts of a tally must be whole numbers of at least 0")
    return found.astype(np.int64)
