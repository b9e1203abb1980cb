"""Small tables and their neighbours."""

import numpy as np
import polars as pl

from sfumato.data.schema import Schema
from sfumato.data.table import Table

COLUMNS = {"colour": ["red", "green", "blue"], "size": (0, 40, 4), "left": [False, True]}


def schema(**options):
    return Schema.from_dict(COLUMNS, **options)


def frame(rows):
    return pl.DataFrame(
        {
            "who": [row[0] for row in rows],
            "colour": [row[1] for row in rows],
            "size": [row[2] for row in rows],
            "left": [row[3] for row in rows],
        },
        schema={"who": pl.Int64, "colour": pl.String, "size": pl.Int64, "left": pl.Boolean},
    )


def made(rows, seed=0):
    generator = np.random.default_rng(seed)
    colours = generator.choice(["red", "green", "blue"], rows, p=[0.6, 0.3, 0.1])
    return [
        (int(i // 2), str(colour), int(generator.integers(0, 41)), bool(generator.random() < 0.3))
        for i, colour in enumerate(colours)
    ]


def table(rows, **options):
    return Table(frame(rows), schema(**options))


def single(values, rows, **options):
    """A table of one column, of which every row holds the first value."""
    only = pl.DataFrame({"only": [values[0]] * rows}, schema={"only": pl.String})
    return Table(only, Schema.from_dict({"only": values}, **options))


def row_pairs():
    """Neighbours under add/remove of one row: empty and one, all equal and one different, any."""
    equal = [(0, "red", 5, True)] * 6
    rows = made(30)
    return [
        (table([]), table([(0, "blue", 40, False)])),
        (table(equal), table([*equal, (1, "green", 30, False)])),
        (table(equal), table([*equal, equal[0]])),
        (table(rows), table(rows[:7] + rows[8:])),
    ]


def replaced_pairs():
    """Neighbours under replacement of one row."""
    options = {"relation": "replace_one"}
    equal = [(0, "red", 5, True)] * 6
    rows = made(30)
    return [
        (table(equal, **options), table([*equal[1:], (1, "green", 30, False)], **options)),
        (table(rows, **options), table([rows[1], *rows[1:]], **options)),
        (table([equal[0]], **options), table([(0, "blue", 0, False)], **options)),
    ]


def person_pairs():
    """Neighbours that differ in all rows of one person, who has more than are let in."""
    options = {"unit": "person", "person": "who", "max_rows": 3}
    rows = made(20)
    person = [(99, "blue", 40, True)] * 5
    mixed = [*rows[:5], person[0], *rows[5:9], *person[1:], *rows[9:]]
    return [
        (table(rows, **options), table([*rows, *person], **options)),
        (table(rows, **options), table(mixed, **options)),
        (table([], **options), table(person, **options)),
    ]
