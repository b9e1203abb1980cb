"""The page of released tables of counts: columns one by one, how they go together, every table.

Everything here is a function of the release; nothing is looked up anywhere else.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from sfumato.report.blocks import Block, Gallery, Grid, Section, Text
from sfumato.report.declared import declared
from sfumato.report.table_pictures import column_picture, fits_a_picture, pair_picture
from sfumato.tabular.noisy_tables import NoisyTables
from sfumato.tabular.tree import mutual_information

#: More than these do not help a reader.
MOST_COLUMNS = 16
MOST_PAIRS = 4
MOST_TABLES = 60
#: Pairs that tell less than this about each other (in nats) are as good as independent.
LEAST_TOLD = 0.002


def sections(release: NoisyTables) -> tuple[Section, ...]:
    """Return the sections for released tables."""
    found = [_columns(release)]
    pairs = _pairs(release)
    if pairs is not None:
        found.append(pairs)
    return (*found, _tables(release), declared(release.public))


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
        drawn = f"Drawn are {len(shown)} of {len(covered)} columns; marginals.csv holds all."
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
        f"Of {len(held)} released pair{'s' * (len(held) != 1)} of columns, these tell most about "
        "each other (by the mutual information of the released counts; noise alone makes it a "
        "little larger than it is). Every line of a picture adds up to 100 %."
    )
    return Section(
        "pairs", "How columns go together", (Text(intro), Gallery(pictures)), "marginals.csv"
    )


def _tables(release: NoisyTables) -> Section:
    """List the released tables with their largest and smallest cells."""
    rows = [_table_row(release, number) for number in range(min(len(release.sets), MOST_TABLES))]
    blocks: list[Block] = [
        Grid(
            ("table", "cells", "margin of a cell", "largest cell", "smallest cell"),
            tuple(rows),
            numbers=(1, 2),
        )
    ]
    if len(release.sets) > MOST_TABLES:
        shown = f"Shown are {MOST_TABLES} of {len(release.sets)} tables; marginals.csv holds all."
        blocks.append(Text(shown))
    total = Text(
        f"All tables have one total of about {release.total:,.0f} rows. A count below its margin "
        "cannot be told from zero."
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
