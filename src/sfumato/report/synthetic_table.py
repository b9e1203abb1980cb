"""The page of a synthetic table: its use, what the model joins, each column, what was counted.

Everything here is a function of the release; nothing is compared with the private data.
"""

from __future__ import annotations

from sfumato.report.blocks import Block, Commands, Gallery, Grid, Listing, Picture, Section, Text
from sfumato.report.declared import declared
from sfumato.report.drawing import inlined
from sfumato.report.table_pictures import column_picture, fits_a_picture, pair_picture
from sfumato.tabular.joined import Join
from sfumato.tabular.synthetic import NoisyTable, SyntheticTable, part_words

#: More than these do not help a reader.
MOST_COLUMNS = 16
MOST_PAIRS = 4
MOST_LINES = 60
#: Pairs that tell less than this about each other (in nats) are as good as independent.
LEAST_TOLD = 0.002


def sections(release: SyntheticTable) -> tuple[Section, ...]:
    """Return the sections for a synthetic table."""
    parts = [_use(release), _network(release), _columns(release)]
    pairs = _pairs(release)
    if pairs is not None:
        parts.append(pairs)
    if release.tables:
        parts.append(_measured(release))
    return (*parts, declared(release.public))


def _use(release: SyntheticTable) -> Section:
    """Say what the rows are good for, and what they are not."""
    points = (
        "synthetic.csv has the columns and types of the private table and opens in any program "
        "that reads tables; codebook.csv says what every value stands for.",
        "Each row is made up. No row belongs to anybody, and a row that looks like somebody's "
        "says nothing about them.",
        "Counts, averages and comparisons are as good as the model: best for single columns and "
        "for columns that it joins. What depends on many columns at once, on rare combinations, "
        "or on columns that it does not join may be far off.",
        "Standard errors worked out from these rows know nothing of the noise. Where a figure "
        "matters, use the model's own count with its margin, or ask the custodian to release it as "
        "a table of its own.",
        "Further rows may be drawn, as many and as often as wanted: that costs no privacy.",
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
        inlined("network", release.plot),
        "The columns of the table and which of them the model joins, wider lines for those that "
        "tell more about each other.",
    )
    blocks: list[Block] = [
        Text(
            "The model holds these columns together. What two columns tell about each other is "
            "their mutual information in the model, in nats: 0 for columns that have nothing to "
            "do with each other, and a little above 0 from the noise alone."
        ),
        picture,
    ]
    if found:
        head = ("given", "column") if kind == "directed" else ("column", "column")
        rows = tuple(
            (names[join.first], names[join.second], _told(join)) for join in found[:MOST_LINES]
        )
        blocks.append(Grid((*head, "tell about each other"), rows, numbers=(2,)))
    if len(found) > MOST_LINES:
        blocks.append(Text(f"{len(found) - MOST_LINES} more pairs are joined."))
    return Section("network", "What the model joins", tuple(blocks), "network.json and the model")


def _told(join: Join) -> str:
    return "not worked out" if join.information is None else f"{join.information:.3f}"


def _columns(release: SyntheticTable) -> Section:
    """Draw each column on its own."""
    names = release.public.columns
    shown = names[:MOST_COLUMNS]
    blocks: list[Block] = [
        Text(
            "Bars are the model's counts of rows; the published rows follow them up to chance. "
            "The thin lines are the margins of the noise: 19 times in 20 the noise on the measured "
            "count is no larger. Where a column has none, it was not counted by itself. Margins "
            "say nothing about where the model is too simple, nor how the data were collected."
        ),
        Gallery(tuple(column_picture(release, name) for name in shown)),
    ]
    if len(shown) < len(names):
        drawn = f"Drawn are {len(shown)} of {len(names)} columns; synthetic.csv holds all."
        blocks.append(Text(drawn))
    return Section("columns", "The columns, one by one", tuple(blocks), "the model")


def _pairs(release: SyntheticTable) -> Section | None:
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
        "Of the pairs that the model joins, these tell most about each other. Every line of a "
        "picture adds up to 100 %."
    )
    return Section("pairs", "How columns go together", (intro, Gallery(pictures)), "the model")


def _measured(release: SyntheticTable) -> Section:
    """List what was counted, and how noisy it is."""
    rows = tuple(_measured_row(release, table) for table in release.tables[:MOST_LINES])
    blocks: list[Block] = [
        Text(
            f"All that the model knows of the data: noisy counts of about {release.total:,.0f} "
            "rows. The noise is given as its standard deviation on one cell."
        ),
        Grid(("table", "columns", "cells", "noise on a cell"), rows, numbers=(2, 3)),
    ]
    if len(release.tables) > MOST_LINES:
        blocks.append(Text(f"{len(release.tables) - MOST_LINES} more are in network.json."))
    return Section("measured", "What was counted", tuple(blocks), "network.json, transcript.json")


def _measured_row(release: SyntheticTable, table: NoisyTable) -> tuple[str, ...]:
    columns = part_words(release.public, table.columns, table.levels)
    return (table.label, columns, f"{table.cells:,}", f"± {table.deviation:,.4g}")
