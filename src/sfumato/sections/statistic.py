"""The page of a statistic that was written as a formula: of a graph, or of a table.

Everything here is a function of the release; nothing is compared with the private data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.sections import Block, Commands, Facts, Grid, Listing, Picture, Section, Text
from sfumato.sections.declared import declared_sections
from sfumato.sections.drawing import ACCENT, FILL, INK, shorten

if TYPE_CHECKING:
    from sfumato.mechanisms.expression.release import StatisticRelease

#: How many entries of a vector are listed, those with the largest values.
MOST_ENTRIES = 20
#: Standard errors on either side within which the truth is 19 times in 20.
USUAL = 1.96


def statistic_sections(release: StatisticRelease) -> tuple[Section, ...]:
    """Return the sections for a statistic."""
    declared = declared_sections(release.provenance.public)
    return (_statistic(release), _units(release), _use(release), *declared)


def _statistic(release: StatisticRelease) -> Section:
    """Tell the value, and how far off it may be as far as that is public."""
    words = Text(
        "Noise was added to the parts of the formula, and its value was computed from these: it "
        "is an estimate. " + _trust(release)
    )
    vector = bool(np.ndim(release.value))
    blocks: list[Block] = [words, Facts(_figures(release, vector))]
    if vector and len(release.entries):
        caption = "All entries, from the largest to the smallest."
        blocks += [Picture("statistic", lambda f: _ordered(f, release), caption, (5.5, 2.6))]
        blocks += [_largest(release)]
    elif not vector and release.standard_error is not None:
        caption = (
            "The estimate. 19 times in 20 the noise moves it no further than the thin line; two "
            "times in three no further than the thick one."
        )
        blocks += [Picture("statistic", lambda f: _interval(f, release), caption, (5.5, 1.3))]
    source = "entries.csv, statistic.json" if vector else "statistic.json"
    return Section("statistic", "The statistic", tuple(blocks), source)


def _trust(release: StatisticRelease) -> str:
    if release.standard_error is not None and release.estimated:
        return (
            "The scale of the noise depends on the data and is private; a share of the budget was "
            "spent on measuring it, so the standard error is itself a noisy estimate."
        )
    if release.standard_error is not None:
        return (
            "The scale of the noise is public, so the standard error is given. It covers the "
            "noise only, not how well the data represent a population."
        )
    if release.following:
        return "The scale of the noise depends on the data, so it is private and not released."
    return "The error could not be computed, so no standard error is given."


def _figures(release: StatisticRelease, vector: bool) -> tuple[tuple[str, str], ...]:
    facts = [("formula", release.expression)]
    if vector:
        facts.append(("entries", f"{len(release.entries):,}"))
    else:
        facts.append(("value", f"{release.value:,.6g}"))
    middle = " (the middle one)" if vector else ""
    if release.standard_error is not None and np.size(release.standard_error):
        error = float(np.median(release.standard_error))
        facts.append((f"standard error{middle}", f"± {error:,.4g}"))
    if release.bias is not None and np.any(release.bias):
        facts.append((f"mean error{middle}", f"{float(np.median(release.bias)):,.4g}"))
    return tuple(facts)


def _largest(release: StatisticRelease) -> Grid:
    """List the entries with the largest values."""
    value = np.asarray(release.value)
    order = np.argsort(-value, kind="stable")[:MOST_ENTRIES]
    errors = release.standard_error
    head = ("entry", "value", *(() if errors is None else ("standard error",)))
    rows = tuple(
        (
            release.entries[at],
            f"{value[at]:,.6g}",
            *(() if errors is None else (f"± {np.broadcast_to(errors, value.shape)[at]:,.4g}",)),
        )
        for at in order.tolist()
    )
    return Grid(head, rows, numbers=tuple(range(1, len(head))))


def _units(release: StatisticRelease) -> Section:
    """List what was measured, with its noise."""
    rows = []
    for name, value in release.measured.items():
        if np.ndim(value):
            rows.append((name, f"{len(value):,} numbers, in statistic.json"))
        else:
            rows.append((name, f"{value:,}" if isinstance(value, int) else f"{float(value):,.6g}"))
    words = Text(
        "The noisy measurements. A number below zero, or larger than is possible, is noise. The "
        "plan below shows the privacy loss of each."
    )
    blocks = (words, Grid(("part of the formula", "measured"), tuple(rows), numbers=(1,)))
    return Section("units", "What it was computed from", blocks, "statistic.json")


def _use(release: StatisticRelease) -> Section:
    points = (
        "Other formulas of the same parts cost nothing further: the parts are released already.",
        "A quotient is uncertain where its denominator is small beside the noise on it.",
    )
    name = next(iter(release.measured), "1")
    # A reader pastes it into a shell: nothing in a name may end the text or be run.
    text = "FORMULA" if set(name) & set("\"'$`\\!\r\n") else name
    command = f"python -c \"import sfumato as sf; print(sf.load('THIS-FOLDER').also('{text}'))\""
    return Section(
        "use", "How to use it", (Listing(points), Commands((command,))), "statistic.json"
    )


def _interval(figure: Any, release: StatisticRelease) -> None:
    """Draw a number with one and two standard errors on either side."""
    axis = figure.subplots()
    value, error = float(release.value), float(release.standard_error)  # type: ignore[arg-type]
    for reach, width in ((USUAL, 1.2), (1.0, 5.0)):
        axis.plot([value - reach * error, value + reach * error], [0, 0], color=FILL, lw=width)
    axis.plot([value], [0], "o", color=ACCENT, markersize=6)
    axis.set_yticks([])
    axis.spines["left"].set_visible(False)
    axis.set_xlabel(shorten(release.expression, 60))


def _ordered(figure: Any, release: StatisticRelease) -> None:
    """Draw the entries of a vector in order of size."""
    axis = figure.subplots()
    axis.plot(np.arange(1, len(release.entries) + 1), np.sort(release.value)[::-1], color=INK, lw=1)
    axis.set_xlabel("entries, the largest first")
    axis.set_ylabel(shorten(release.expression, 40))
