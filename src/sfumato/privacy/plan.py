"""The plan: what a method may spend on what, and how good it will be, before anything is spent.

A plan is made from public facts and declared figures alone. Where an error cannot be told without
the data, it says why not.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sfumato.privacy.escaping import escape
from sfumato.privacy.figures import figure
from sfumato.privacy.guarantee import Guarantee
from sfumato.privacy.loss import Loss

#: From so many cells on a plan states how much room a release takes.
MANY_CELLS = 10**6
#: Bytes of files and of memory for each cell, as measured with tables of 10^6 and 10^7 cells.
FILE_BYTES, MEMORY_BYTES = 80, 400


@dataclass(frozen=True, kw_only=True)
class PlanStep:
    """One line of a plan.

    Parameters
    ----------
    what
        What is measured, in words.
    loss
        What it may cost, for one unit.
    noise
        The noise it gets, in words of a count or of the statistic.
    error
        The error to expect, or why it cannot be told.
    figures
        The same as numbers, for programs.
    """

    what: str
    loss: Loss
    noise: str
    error: str
    figures: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a release will cost and how good it will be.

    Parameters
    ----------
    method
        The method's name.
    guarantee
        What the release will promise.
    steps
        What is measured, line by line.
    notes
        What else a custodian should know before spending.
    cells
        How many counts the release will publish, a line each; 0 where it publishes something else.
    """

    method: str
    guarantee: Guarantee
    steps: tuple[PlanStep, ...]
    notes: tuple[str, ...] = ()
    cells: int = 0

    def __post_init__(self) -> None:
        if self.size_note:
            object.__setattr__(self, "notes", (*self.notes, self.size_note))

    @property
    def size_note(self) -> str:
        """How much room a large release takes, in words; empty for one that is not large."""
        if self.cells < MANY_CELLS:
            return ""
        return (
            f"{self.cells:,} cells take about {_bytes_words(FILE_BYTES * self.cells)} of files and "
            f"{_bytes_words(MEMORY_BYTES * self.cells)} of memory while they are released. Fewer "
            "bins, or fewer columns together, take less."
        )

    def __str__(self) -> str:
        rows = [("what", "loss", "noise", "expected error")]
        rows += [
            (escape(step.what), str(step.loss), escape(step.noise), escape(step.error))
            for step in self.steps
        ]
        widths = [max(len(row[column]) for row in rows) for column in range(4)]
        lines = [f"Plan of {self.method}: {self.guarantee}", ""]
        for number, row in enumerate(rows):
            cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            lines.append("  " + "  ".join(cells).rstrip())
            if number == 0:
                lines.append("  " + "  ".join("-" * width for width in widths))
        lines += ["", *(f"  {escape(note)}" for note in self.notes)] if self.notes else []
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Return a plain document."""
        return {
            "method": self.method,
            "steps": [
                {
                    "what": step.what,
                    "loss": step.loss.to_json(),
                    "noise": step.noise,
                    "error": step.error,
                    "figures": {name: figure(value) for name, value in step.figures.items()},
                }
                for step in self.steps
            ],
            "notes": list(self.notes),
        }


def _bytes_words(size: float) -> str:
    """Return a number of bytes as a person would say it."""
    return f"{size / 1e9:,.1f} GB" if size >= 1e9 else f"{size / 1e6:,.0f} MB"
