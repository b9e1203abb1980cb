"""The plan: what a method may spend on what, and how good it will be, before anything is spent.

A plan is made from public facts and declared figures alone. Where an error cannot be told without
the data, it says why not.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sfumato.privacy.escaping import escape
from sfumato.privacy.figures import figure
from sfumato.privacy.guarantee import Guarantee
from sfumato.privacy.loss import Loss
from sfumato.privacy.notebook import show_table

#: From so many bytes of files or of memory on, a plan states how much room a release takes.
LARGE_FILES, LARGE_MEMORY = 80 * 10**6, 400 * 10**6


class Rate(NamedTuple):
    """Bytes of files and of memory for one of many things, and how to have fewer of them."""

    files: float
    memory: float
    remedy: str


#: What releases are made of, with rates that were measured with 10^5 to 10^7 of each.
RATES = {
    "cells": Rate(80, 400, "To reduce this, use fewer bins or fewer columns per table."),
    "grid cells": Rate(60, 200, "To reduce this, use fewer cells along each axis or fewer levels."),
    "pairs of symbols": Rate(10, 320, "To reduce this, group symbols."),
    "model cells": Rate(2, 210, "To reduce this, use fewer columns or fewer bins."),
    "synthetic values": Rate(8, 50, "To reduce this, use fewer columns."),
    "declared values": Rate(40, 450, "To reduce this, use fewer bins or values per column."),
    "nodes": Rate(3, 150, "To reduce this, use fewer nodes."),
    "edges": Rate(14, 330, "To reduce this, use fewer edges."),
    "pairs of nodes": Rate(0.2, 6, "To reduce this, use fewer nodes."),
    "collected pairs": Rate(0.2, 31, "To reduce this, use fewer nodes."),
    "noisy pairs": Rate(1, 85, "To reduce this, use fewer nodes, or mechanism='response'."),
    "eigenvector entries": Rate(25, 60, "To reduce this, use fewer eigenvectors."),
    "sums": Rate(8, 440, "To reduce this, use fewer columns or fewer values per column."),
    "sites": Rate(190, 2500, "To reduce this, declare a smaller panel of sites."),
    "answers": Rate(1, 80, "To reduce this, use fewer answers."),
    "candidate weights": Rate(0, 30, "To reduce this, use a smaller population or fewer features."),
}


class Size(NamedTuple):
    """How many things of a kind a release is made of, as far as that is public."""

    number: int
    what: str

    @property
    def rate(self) -> Rate:
        """How much room one of them takes."""
        return RATES[self.what]


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
    """The privacy loss and the expected error of a release, in advance.

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
    sizes
        What the release is made of, as far as its number is public and can be large.
    """

    method: str
    guarantee: Guarantee
    steps: tuple[PlanStep, ...]
    notes: tuple[str, ...] = ()
    sizes: tuple[Size, ...] = ()

    def __post_init__(self) -> None:
        if self.size_note:
            object.__setattr__(self, "notes", (*self.notes, self.size_note))

    @property
    def size_note(self) -> str:
        """How much room a large release takes, in words; empty for one that is not large."""
        files = sum(size.number * size.rate.files for size in self.sizes)
        memory = sum(size.number * size.rate.memory for size in self.sizes)
        if files < LARGE_FILES and memory < LARGE_MEMORY:
            return ""
        # The largest says what to do; those that hardly count are not named.
        told = sorted(self.sizes, key=lambda size: -size.number * size.rate.memory)
        told = [size for size in told if size.number * size.rate.memory >= memory / 10]
        named = " and ".join(f"{size.number:,} {size.what}" for size in told)
        return (
            f"{named} take about {_bytes_words(files)} of files and {_bytes_words(memory)} of "
            f"memory while they are released. {told[0].rate.remedy}"
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

    def __repr__(self) -> str:
        steps = len(self.steps)
        return f"<Plan of {self.method}: {self.guarantee}; {steps} step{'s' * (steps != 1)}>"

    def _repr_html_(self) -> str:
        rows: list[tuple[object, ...]] = [
            (step.what, step.loss, step.noise, step.error) for step in self.steps
        ]
        rows += [("note", "", "", note) for note in self.notes]
        head = ("what", "loss", "noise", "expected error")
        return show_table(f"Plan of {self.method}: {self.guarantee}", head, rows)

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
