"""Pictures of released tables, one column or one pair of columns at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.data.table import TablePublic
from sfumato.sections import Picture
from sfumato.sections.drawing import ACCENT, FILL, INK, PALE, SHADES, SOFT, shorten

#: More bars than these cannot be told apart in a picture, nor more values in one of a pair.
MOST_VALUES = 32
MOST_IN_PAIR = 24
#: Cells carry their figures where there is room for them.
MOST_FIGURES = 72


class TableRelease(Protocol):
    """A release that answers with counts for combinations of columns."""

    public: TablePublic

    def counts(self, columns: Sequence[str]) -> NDArray[np.float64]:
        """Return released counts, one axis a column."""

    def marginal(self, columns: Sequence[str]) -> Any:
        """Return a frame of values, counts and margins, in this order."""


def _counts_and_margin(release: TableRelease, name: str) -> tuple[NDArray[np.float64], float]:
    """Return the counts of one column and the margin of their noise; 0 where none is known."""
    frame = release.marginal([name])
    # By place: a column may itself be called count.
    return frame[:, 1].to_numpy(), float(frame[0, 2] or 0.0)


def column_picture(release: TableRelease, name: str) -> Picture:
    """Draw the counts of one column with the margins of their noise.

    Of very many values the most frequent are drawn, and one bar for all others together.
    """
    counts, size = _counts_and_margin(release, name)
    texts = [shorten(text) for text in release.public.labels(name)]
    shown = _most_frequent(counts)
    hidden = len(counts) - len(shown)
    labels = [texts[place] for place in shown]
    bars, rest = counts[shown], 0.0
    if hidden:
        rest = float(counts.sum() - bars.sum())
        labels.append(f"({hidden} others)")
    height = 0.75 + 0.21 * len(labels)
    more = f"; the {hidden} least frequent values are drawn as one bar" if hidden else ""
    largest = int(np.argmax(counts))
    spread = f"counts ± {size:,.4g}; " if size else ""
    caption = (
        f"{name}: {spread}most often {texts[largest]}, about {counts[largest]:,.0f} rows{more}."
    )
    return Picture(
        f"column {name}",
        lambda figure: _bars(figure, name, labels, bars, size, rest=rest),
        caption,
        (4.2, height),
    )


def _most_frequent(counts: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the values to draw one by one, in the order of the schema."""
    if len(counts) <= MOST_VALUES:
        return np.arange(len(counts))
    # One bar is left for all others; of equal counts the first declared is taken.
    return np.sort(np.argsort(-counts, kind="stable")[: MOST_VALUES - 1])


def _bars(
    figure: Any,
    name: str,
    labels: list[str],
    counts: NDArray[np.float64],
    size: float,
    *,
    rest: float,
) -> None:
    """Draw one bar a count, and a paler one for the rest if there is a label left for it."""
    axis = figure.subplots()
    places = np.arange(len(labels))
    single = places[: len(counts)]
    axis.barh(single, counts, color=FILL, height=0.72)
    if len(labels) > len(counts):
        # A sum of many counts has another margin than each of them, so none is drawn.
        axis.barh(places[-1:], [rest], color=SHADES[1], height=0.72)
    if size:
        axis.errorbar(
            counts, single, xerr=np.array([np.minimum(size, counts), np.full(len(counts), size)]),
            fmt="none", ecolor=ACCENT, elinewidth=1.1, capsize=2, capthick=1.1,
        )  # fmt: skip
    axis.set_yticks(places, labels)
    axis.invert_yaxis()
    axis.set_xlim(left=0)
    axis.spines["left"].set_visible(False)
    axis.tick_params(axis="y", length=0)
    axis.grid(axis="x", color=PALE, linewidth=0.8)
    axis.set_axisbelow(True)
    axis.set_title(shorten(name, 40), loc="left", fontsize=10.5, fontweight="bold", color=INK)


def fits_a_picture(release: TableRelease, pair: tuple[int, int]) -> bool:
    """Tell whether a pair of columns has few enough values to be drawn."""
    return all(1 < release.public.sizes[column] <= MOST_IN_PAIR for column in pair)


def pair_picture(release: TableRelease, pair: tuple[int, int]) -> Picture:
    """Draw how one column is spread within each value of the other."""
    sizes = release.public.sizes
    down, across = (
        release.public.columns[column] for column in sorted(pair, key=lambda c: (-sizes[c], c))
    )
    counts = release.counts([down, across])
    # A line whose whole count drowns in its noise has no shares worth drawing.
    known = counts.sum(axis=1) > _counts_and_margin(release, down)[1]
    totals = np.where(known, counts.sum(axis=1), 1.0)
    shares = np.where(known[:, None], counts / totals[:, None], np.nan)
    texts = tuple([shorten(v, 14) for v in release.public.labels(c)] for c in (down, across))
    blank = int((~known).sum())
    lines = "1 line" if blank == 1 else f"{blank} lines"
    left = "is" if blank == 1 else "are"
    note = f" {lines} with too few rows to tell from noise {left} left blank." if blank else ""
    return Picture(
        f"pair {down} {across}",
        lambda figure: _heat(figure, shares, texts, (down, across)),
        f"{across} within each value of {down}.{note}",
        (max(3.0, 1.9 + 0.42 * shares.shape[1]), 1.3 + 0.25 * shares.shape[0]),
    )


def _heat(
    figure: Any,
    shares: NDArray[np.float64],
    texts: tuple[list[str], ...],
    names: tuple[str, str],
) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    axis = figure.subplots()
    top = 1.3 * max(float(np.nanmax(shares, initial=0.0)), 1e-9)
    shades = LinearSegmentedColormap.from_list("sfumato", SHADES)
    axis.pcolormesh(
        np.ma.masked_invalid(shares), cmap=shades, vmin=0, vmax=top, edgecolors="white", linewidth=1
    )
    axis.set_yticks(np.arange(shares.shape[0]) + 0.5, texts[0])
    turned = max(map(len, texts[1])) > 5
    axis.set_xticks(
        np.arange(shares.shape[1]) + 0.5, texts[1],
        rotation=40 if turned else 0, ha="right" if turned else "center",
    )  # fmt: skip
    axis.invert_yaxis()
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)
    axis.set_ylabel(shorten(names[0], 30), color=SOFT)
    axis.set_title(shorten(names[1], 30), loc="left", fontsize=10.5, fontweight="bold", color=INK)
    if shares.size <= MOST_FIGURES:
        for (line, column), share in np.ndenumerate(shares):
            if not np.isnan(share):
                colour = "white" if share > 0.5 * top else INK
                axis.text(
                    column + 0.5, line + 0.5, f"{100 * share:.0f}",
                    ha="center", va="center", fontsize=7.5, color=colour,
                )  # fmt: skip
