"""The pages of releases of tables: tables of counts, synthetic rows, answers to questions.

Everything here is a function of the release; nothing is compared with the private data.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.data.table import TablePublic
from sfumato.engines.coding import OTHER
from sfumato.sections import Block, Commands, Gallery, Grid, Listing, Picture, Section, Text
from sfumato.sections.declared import declared_columns
from sfumato.sections.drawing import ACCENT, FILL, INK, PALE, SHADES, SOFT, shorten
from sfumato.tabular.tree import mutual_information

if TYPE_CHECKING:
    from sfumato.tabular.dependence import Join
    from sfumato.tabular.found_values import FoundValues
    from sfumato.tabular.noisy_tables import NoisyTables
    from sfumato.tabular.questions import Answers
    from sfumato.tabular.synthetic import NoisyTable, SyntheticTable

#: More than these do not help a reader.
MOST_COLUMNS = 16
MOST_PAIRS = 4
MOST_LINES = 60
#: Pairs that tell less than this about each other (in nats) are as good as independent.
LEAST_TOLD = 0.002
#: More answers than this do not fit a picture that can be read.
MOST_ANSWERS = 40


def counts_sections(release: NoisyTables) -> tuple[Section, ...]:
    """Return the sections for released tables."""
    found = [_columns(release)]
    pairs = _pairs(release)
    if pairs is not None:
        found.append(pairs)
    return (*found, _tables(release), *_known_columns(release))


def _covered(release: NoisyTables) -> list[str]:
    """Return the columns that some released table holds."""
    numbers = sorted({column for columns in release.sets for column in columns})
    return [release.public.columns[number] for number in numbers]


def _columns(release: NoisyTables) -> Section:
    """Draw each column on its own."""
    covered = _covered(release)
    shown = covered[:MOST_COLUMNS]
    pictures = tuple(column_picture(release, name) for name in shown)
    blocks: list[Block] = [
        Text(
            "Bars are released counts of rows. The thin lines are the margins of the noise: 19 "
            "times in 20 the noise on a count, before the tables were adjusted to agree, is no "
            "larger. Margins say nothing about how the data were collected."
        ),
        Gallery(pictures),
    ]
    if len(shown) < len(covered):
        drawn = f"{len(shown)} of {len(covered)} columns are drawn; marginals.csv has all of them."
        blocks.append(Text(drawn))
    return Section("columns", "The columns, one by one", tuple(blocks), "marginals.csv, added up")


def _pairs(release: NoisyTables) -> Section | None:
    """Draw the pairs of columns that tell most about each other."""
    names = release.public.columns
    held = sorted({pair for columns in release.sets for pair in combinations(columns, 2)})
    drawable = [pair for pair in held if fits_a_picture(release, pair)]
    told = {
        pair: mutual_information(release.counts([names[pair[0]], names[pair[1]]]))
        for pair in drawable
    }
    telling = [pair for pair in drawable if told[pair] >= LEAST_TOLD]
    if not telling:
        return None
    chosen = sorted(telling, key=lambda pair: (-told[pair], pair))[:MOST_PAIRS]
    pictures = tuple(pair_picture(release, pair) for pair in chosen)
    intro = (
        f"Of {len(held)} released pair{'s' * (len(held) != 1)} of columns, these have the "
        "strongest association (by the mutual information of the released counts; noise alone "
        "makes it a little larger than it is). Every line of a picture adds up to 100 %."
    )
    return Section(
        "pairs", "Associations of columns", (Text(intro), Gallery(pictures)), "marginals.csv"
    )


def _tables(release: NoisyTables) -> Section:
    """List the released tables with their largest and smallest cells."""
    rows = [_table_row(release, number) for number in range(min(len(release.sets), MOST_LINES))]
    blocks: list[Block] = [
        Grid(
            ("table", "cells", "margin of a cell", "largest cell", "smallest cell"),
            tuple(rows),
            numbers=(1, 2),
        )
    ]
    if len(release.sets) > MOST_LINES:
        shown = (
            f"{MOST_LINES} of {len(release.sets)} tables are shown; marginals.csv has all of them."
        )
        blocks.append(Text(shown))
    total = Text(
        f"All tables have one total of about {release.total:,.0f} rows. A count below its margin "
        "cannot be distinguished from zero."
    )
    source = "counts: marginals.csv; margins: the noise that transcript.json records"
    return Section("tables", "The tables", (total, *blocks), source)


def _table_row(release: NoisyTables, number: int) -> tuple[str, ...]:
    columns = [release.public.columns[column] for column in release.sets[number]]
    table = release.tables[number]
    return (
        " × ".join(columns),
        f"{table.size:,}",
        f"± {release.cell_margin(number):,.4g}",
        _cell(release, columns, table, int(np.argmax(table))),
        _cell(release, columns, table, int(np.argmin(table))),
    )


def _cell(release: NoisyTables, columns: list[str], table: Any, place: int) -> str:
    """Return a cell in words: its values and its count."""
    index = np.unravel_index(place, table.shape)
    values = [
        release.public.labels(name)[int(code)] for name, code in zip(columns, index, strict=True)
    ]
    return f"{', '.join(values)}: {float(table[index]):,.0f}"


def synthetic_sections(release: SyntheticTable) -> tuple[Section, ...]:
    """Return the sections for a synthetic table."""
    parts = [_use(release), _network(release), _model_columns(release)]
    pairs = _model_pairs(release)
    if pairs is not None:
        parts.append(pairs)
    if release.tables:
        parts.append(_measured(release))
    return (*parts, *_known_columns(release))


def _known_columns(release: NoisyTables | SyntheticTable) -> tuple[Section, ...]:
    """Say what was declared about the columns, and what was found where nothing was."""
    if not release.discovered:
        return (declared_columns(release.public),)
    return (_found(release.discovered), declared_columns(release.provenance.public))


def _found(discovered: Sequence[FoundValues]) -> Section:
    """List the values that were found, with their noisy counts."""
    blocks: list[Block] = [
        Text(
            "The values of these columns were not declared. Frequent values were found with a part "
            f"of the privacy loss; all others count as {OTHER}. These counts have noise of their "
            "own and differ from those of the released tables."
        )
    ]
    for known in discovered:
        order = np.argsort(-known.counts, kind="stable")
        rows = tuple((known.values[i], f"{known.counts[i]:,}") for i in order[:MOST_LINES])
        blocks.append(Grid((known.column, "noisy count"), rows, numbers=(1,)))
        more = f"Shown are {len(rows)} of {len(known.values):,} values found in {known.column}. "
        dropped = f"{known.surplus:,} further ones of smaller counts count as {OTHER}. "
        blocks.append(
            Text(
                more * (len(rows) < len(known.values))
                + dropped * (known.surplus > 0)
                + f"A value of {known.column} was found if its noisy count exceeded "
                f"{known.selection.reach:,}."
            )
        )
    title = "Values that were found"
    return Section("found", title, tuple(blocks), "transcript.json; codebook.csv")


def _use(release: SyntheticTable) -> Section:
    """Say what the rows are good for, and what they are not."""
    points = (
        "synthetic.csv has the columns and types of the private table and opens in any program "
        "that reads tables; codebook.csv gives the meaning of every value.",
        "Each row is synthetic. No row belongs to a person, and a row that resembles a person's "
        "own reveals nothing about that person.",
        "Counts, averages and comparisons are as good as the model: best for single columns and "
        "for columns that it connects. Results that depend on many columns at once, on rare "
        "combinations, or on columns that it does not connect may be far off.",
        "Standard errors computed from these rows do not include the noise. Where a figure "
        "matters, use the model's own count with its margin, or ask the custodian to release it "
        "as a table of its own.",
        "Any number of further rows can be sampled without further privacy loss.",
    )
    commands = (
        "python -c \"import sfumato as sf; print(sf.load('THIS-FOLDER').sample(1000))\"",
        "sfumato table network THIS-FOLDER",
    )
    blocks: tuple[Block, ...] = (Listing(points), Commands(commands))
    return Section("use", "How to use it", blocks, "synthetic.csv, codebook.csv")


def _network(release: SyntheticTable) -> Section:
    """Draw which columns the model joins, and list the pairs."""
    names, found = release.public.columns, release.joins
    kind = "directed" if release.network.directed else "joined"
    picture = Picture(
        "network",
        release.plot,
        "The columns of the table and the connections of the model; wider lines mean a stronger "
        "association.",
    )
    blocks: list[Block] = [
        Text(
            "The model connects these columns. The association of two columns is their mutual "
            "information in the model, in nats: 0 for independent columns; noise alone makes it "
            "slightly larger than 0."
        ),
        picture,
    ]
    if found:
        head = ("given", "column") if kind == "directed" else ("column", "column")
        rows = tuple(
            (names[join.first], names[join.second], _told(join)) for join in found[:MOST_LINES]
        )
        blocks.append(Grid((*head, "strength of association"), rows, numbers=(2,)))
    if len(found) > MOST_LINES:
        blocks.append(Text(f"{len(found) - MOST_LINES} more pairs are connected."))
    return Section(
        "network", "Connections in the model", tuple(blocks), "network.json and the model"
    )


def _told(join: Join) -> str:
    return "not computed" if join.information is None else f"{join.information:.3f}"


def _model_columns(release: SyntheticTable) -> Section:
    """Draw each column on its own."""
    names = release.public.columns
    shown = names[:MOST_COLUMNS]
    blocks: list[Block] = [
        Text(
            "Bars are the model's counts of rows; the published rows agree with them up to "
            "sampling error. The thin lines are the margins of the noise: 19 times in 20 the "
            "noise on the measured count is no larger. Where a column has none, it was not "
            "counted by itself. Margins say nothing about where the model is too simple, nor how "
            "the data were collected."
        ),
        Gallery(tuple(column_picture(release, name) for name in shown)),
    ]
    if len(shown) < len(names):
        drawn = f"{len(shown)} of {len(names)} columns are drawn; synthetic.csv has all of them."
        blocks.append(Text(drawn))
    return Section("columns", "The columns, one by one", tuple(blocks), "the model")


def _model_pairs(release: SyntheticTable) -> Section | None:
    """Draw the joined pairs that tell most about each other."""
    telling = [
        (join.first, join.second)
        for join in release.joins
        if (join.information or 0.0) >= LEAST_TOLD
        and fits_a_picture(release, (join.first, join.second))
    ]
    if not telling:
        return None
    pictures = tuple(pair_picture(release, pair) for pair in telling[:MOST_PAIRS])
    intro = Text(
        "Of the pairs that the model connects, these have the strongest association. Every line "
        "of a picture adds up to 100 %."
    )
    return Section("pairs", "Associations of columns", (intro, Gallery(pictures)), "the model")


def _measured(release: SyntheticTable) -> Section:
    """List what was counted, and how noisy it is."""
    rows = tuple(_measured_row(release, table) for table in release.tables[:MOST_LINES])
    blocks: list[Block] = [
        Text(
            "All measurements on which the model is based: noisy counts of about "
            f"{release.total:,.0f} rows. The noise is given as its standard deviation on one cell."
        ),
        Grid(("table", "columns", "cells", "noise on a cell"), rows, numbers=(2, 3)),
    ]
    if len(release.tables) > MOST_LINES:
        blocks.append(Text(f"{len(release.tables) - MOST_LINES} more are in network.json."))
    return Section(
        "measured", "The measured tables", tuple(blocks), "network.json, transcript.json"
    )


def _measured_row(release: SyntheticTable, table: NoisyTable) -> tuple[str, ...]:
    from sfumato.tabular.synthetic import part_words

    columns = part_words(release.public, table.columns, table.levels)
    return (table.label, columns, f"{table.cells:,}", f"± {table.deviation:,.4g}")


def answers_sections(release: Answers) -> tuple[Section, ...]:
    """Return the sections for a session of questions."""
    rows = tuple(
        (text, f"{answer.count:,}", f"± {answer.margin:,.4g}") for text, answer in release.answers
    )
    blocks: list[Block] = [
        Text(
            "The margin is that of the noise: 19 times in 20 the noise on an answer is no larger. "
            "A noisy count may be below zero; the true count is then near zero."
        ),
        Grid(("question", "answer", "margin"), rows, numbers=(1, 2)),
    ]
    if 0 < len(rows) <= MOST_ANSWERS:
        caption = "The answers with the margins of their noise."
        blocks.append(Picture("answers", release.plot, caption))
    return (Section("answers", "The answers", tuple(blocks), "answers.csv"),)


# Pictures of released tables, one column or one pair of columns at a time.


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
