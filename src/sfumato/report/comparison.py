"""A page that compares released rows with the private ones, for the custodian alone.

NOT PRIVATE. The page is no part of a release, says so in large words, and is never written into
the folder of one, where somebody might publish it by mistake.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from sfumato.evaluate.rows import CategoryColumn, NumberColumn, Pair, RowComparison
from sfumato.evaluate.warning import WARNING
from sfumato.privacy import certificate as certificates
from sfumato.report.page import templates, write_page
from sfumato.sections import Block, Gallery, Grid, Listing, Picture, Section, Text
from sfumato.sections.drawing import ACCENT, FILL, INK, SHADES, shorten

__all__ = ["comparison_page", "refuse_release_folder", "save_comparison"]

#: How many columns are drawn, the worst first.
MOST_DRAWN = 12
SOURCE = "the private table and the released rows"


def comparison_page(outcome: RowComparison) -> str:
    """Return a page about released rows beside the private ones. Not private."""
    released = outcome.scores[0].rows
    return (
        templates()
        .get_template("comparison.html")
        .render(
            title="Synthetic rows beside the private ones",
            lead=f"{released:,} synthetic rows, {outcome.rows:,} private rows, "
            f"{len(outcome.columns):,} columns.",
            warning=WARNING,
            sections=tuple(_sections(outcome)),
        )
    )


def save_comparison(outcome: RowComparison, path: str | Path) -> Path:
    """Write a page about released rows beside the private ones. Not private.

    Parameters
    ----------
    outcome
        What the comparison found.
    path
        The file; an older one is replaced. A path inside a release folder is refused.
    """
    refuse_release_folder(Path(path))
    return write_page(Path(path), comparison_page(outcome))


def refuse_release_folder(path: Path) -> None:
    """Refuse a file in a folder with a certificate, or anywhere below one."""
    # Not where a link at the path leads: the page would replace the link.
    inside = path.parent.resolve()
    for folder in (inside, *inside.parents):
        if (folder / certificates.NAME).is_file():
            raise ValueError(
                f"{path} is inside the release folder {folder}, which is there to be published; "
                "this page is not private: write it somewhere else"
            )


def _sections(outcome: RowComparison) -> list[Section]:
    """Return what the page shows."""
    parts: list[tuple[str, str, list[Block]]] = [
        ("score", "The score and what it means", _score_blocks(outcome)),
        ("columns", "Columns, the worst first", _column_blocks(outcome)),
    ]
    if outcome.pairs:
        parts.append(
            ("pairs", f"The worst pairs of columns{outcome.among()}", _pair_blocks(outcome))
        )
    if outcome.classification is not None:
        words: list[Block] = [Text(outcome.classification.words())]
        parts.append(("prediction", "Train on synthetic rows, test on private ones", words))
    return [Section(name, title, tuple(blocks), SOURCE) for name, title, blocks in parts]


def _score_blocks(outcome: RowComparison) -> list[Block]:
    points = (
        "Distance (total variation): the share of rows that would have to move to turn one table "
        "into the other. 1-, 2- and 3-way are averages over tables of so many columns.",
        "K-marginal score (NIST, SDNist): 1,000 times 1 minus the average distance of all pairs of "
        "columns. It depends on the table: read it beside the baselines, which were computed from "
        "the same private rows in the same run.",
        "True columns, shuffled independently: every column is perfect and no dependence is left. "
        "Rows that score no better have lost what joins the columns.",
        "Parts of the true rows: the error of a random sample, which protects nobody in it.",
        "Numbers and dates are cut into about twenty groups at the quantiles of the private rows; "
        "a value that one row in twenty has is a group of its own. Of categories the nineteen "
        "most frequent values stay apart.",
    )
    return [
        Text(outcome.reading()),
        outcome.score_block(),
        Listing(points),
        *outcome.violation_blocks(),
    ]


def _column_blocks(outcome: RowComparison) -> list[Block]:
    drawn = outcome.columns[:MOST_DRAWN]
    return [
        Text(
            "Figures of numbers and dates are computed from their values, in the units of the "
            "column. Most frequent: the most frequent private value, and its share on both sides."
        ),
        *outcome.column_blocks(),
        Gallery(tuple(_picture_column(column) for column in drawn)),
    ]


def _picture_column(column: NumberColumn | CategoryColumn) -> Picture:
    """Draw the groups of a column on both sides."""

    def draw(figure: Any) -> None:
        axis = figure.subplots()
        places = np.arange(len(column.groups))
        labels, truth, released = zip(*column.groups, strict=True)
        for shift, shares, colour, name in (
            (-0.2, truth, FILL, "true"),
            (0.2, released, ACCENT, "synthetic"),
        ):
            percent = [100 * share for share in shares]
            axis.barh(places + shift, percent, height=0.4, color=colour, label=name)
        axis.set_yticks(places, [shorten(label) for label in labels], fontsize=7)
        axis.invert_yaxis()
        axis.set_xlabel("% of rows")
        axis.set_title(shorten(column.name, 30), loc="left", fontweight="bold", color=INK)
        figure.legend(loc="outside upper right", ncols=2, frameon=False, fontsize=7)

    return Picture(
        f"column {column.name}",
        draw,
        f"{column.name}: distance {100 * column.total_variation:.2f} %.",
        (3.6, 1.1 + 0.17 * len(column.groups)),
    )


def _pair_blocks(outcome: RowComparison) -> list[Block]:
    lines = tuple((pair.name, f"{100 * pair.total_variation:.2f} %") for pair in outcome.pairs)
    pictures = [_picture_pair(pair) for pair in outcome.pictured]
    return [Grid(("pair", "distance"), lines, numbers=(1,)), *pictures]


def _picture_pair(pair: Pair) -> Picture:
    """Draw the true and the synthetic table of two columns side by side."""

    def draw(figure: Any) -> None:
        from matplotlib.colors import LinearSegmentedColormap, PowerNorm

        shades = LinearSegmentedColormap.from_list("sfumato", SHADES)
        top = max(float(pair.truth.max()), float(pair.released.max()), 1e-9)
        # By the square root: most cells are small beside the largest.
        norm = PowerNorm(0.5, 0, 100 * top)
        axes = figure.subplots(1, 2, sharey=True)
        turned = 90 if max(map(len, pair.labels[1])) > 3 else 0
        down, across = ([shorten(label, 14) for label in labels] for labels in pair.labels)
        for axis, shares, name in zip(axes, (pair.truth, pair.released), ("true", "synthetic"),
                                      strict=True):  # fmt: skip
            mesh = axis.pcolormesh(100 * shares, cmap=shades, norm=norm)
            axis.set_title(name, loc="left", fontweight="bold", color=INK)
            axis.set_xticks(np.arange(len(across)) + 0.5, across, rotation=turned, fontsize=6)
            axis.set_xlabel(shorten(pair.columns[1], 30))
        axes[0].set_yticks(np.arange(len(down)) + 0.5, down, fontsize=6)
        axes[0].set_ylabel(shorten(pair.columns[0], 30))
        axes[0].invert_yaxis()
        figure.colorbar(mesh, ax=axes, label="% of rows")

    return Picture(
        f"pair {pair.name}",
        draw,
        f"{pair.name}: distance {100 * pair.total_variation:.2f} %. Shares of all rows in each "
        "cell, true on the left, synthetic on the right.",
        (7.6, 1.8 + 0.16 * len(pair.labels[0])),
    )
