"""Small tables for linear models, and their neighbours."""

import numpy as np
import polars as pl

from sfumato.data.schema import Schema
from sfumato.data.table import Table

COLUMNS = {
    "ward": ["north", "south", "west"],
    "age": {"kind": "real", "low": 0, "high": 100, "bits": 8},
    "smokes": [False, True],
    "cost": {"kind": "real", "low": -10, "high": 10, "bits": 8, "missing": "code"},
}
TYPES = {
    "who": pl.Int64,
    "ward": pl.String,
    "age": pl.Float64,
    "smokes": pl.Boolean,
    "cost": pl.Float64,
}
LOWEST = ("north", 0.0, False, -10.0)
HIGHEST = ("west", 100.0, True, 10.0)
HIGH = ("west", 66.0, True, 10.0)


def schema(**options):
    return Schema.from_dict(COLUMNS, **options)


def frame(rows):
    """Rows of a ward, an age, a habit and a cost; every two belong to one person."""
    return pl.DataFrame(
        [(number // 2, *row) for number, row in enumerate(rows)], schema=TYPES, orient="row"
    )


def table(rows, **options):
    return Table(frame(rows), schema(**options))


def made(rows, seed=0, noise=1.0):
    """Return rows whose cost is 0.1 a year from 50 on, 2 for smokers and −1 in the west."""
    generator = np.random.default_rng(seed)
    wards = generator.choice(["north", "south", "west"], rows)
    ages = generator.uniform(10, 90, rows)
    smokes = generator.random(rows) < 0.4
    costs = 0.1 * (ages - 50) + 2.0 * smokes - 1.0 * (wards == "west")
    costs = np.clip(costs + noise * generator.normal(size=rows), -10, 10)
    return [
        (str(ward), float(age), bool(habit), float(cost))
        for ward, age, habit, cost in zip(wards, ages, smokes, costs, strict=True)
    ]


def row_pairs():
    """Neighbours under add/remove of one row: empty and one, all equal and one different, any."""
    rows = made(30)
    return [
        (table([]), table([HIGH])),
        (table([LOWEST] * 6), table([LOWEST] * 6 + [HIGHEST])),
        (table([LOWEST] * 6), table([LOWEST] * 7)),
        (table(rows), table([*rows, ("south", 50.0, False, None)])),
        (table(rows), table(rows[:7] + rows[8:])),
    ]


def replaced_pairs():
    """Neighbours under replacement of one row."""
    options = {"relation": "replace_one"}
    rows = made(30)
    return [
        # A row that is just not too long, with one answer and with the opposite one.
        (table([("west", 66.0, True, -10.0)], **options), table([HIGH], **options)),
        (table([LOWEST], **options), table([HIGHEST], **options)),
        (table([LOWEST] * 6, **options), table([LOWEST] * 5 + [HIGHEST], **options)),
        (table(rows, **options), table([("west", 0.0, False, None), *rows[1:]], **options)),
        (table(rows, **options), table([rows[1], *rows[1:]], **options)),
    ]


def person_pairs():
    """Neighbours that differ in the rows of one person, who has as many as are let in."""
    options = {"unit": "person", "person": "who", "max_rows": 2}
    rows = made(20)
    return [
        (table(rows, **options), table([*rows, HIGHEST, HIGHEST], **options)),
        (table([], **options), table([HIGHEST, LOWEST], **options)),
    ]
