"""What a plan says of tables of one column, beside what is then released."""

import json

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato import noise
from sfumato.tabular.allocation import MOST_ONE_WAY

ROWS = 6_000
#: The noisy number of rows, and of bins, decide the share of the columns.
ABOUT = 0.05
TOWNS = [f"town {i}" for i in range(300)]
COLUMNS = {
    "age": (0, 99),
    "sex": ["f", "m"],
    "town": TOWNS,
    "cost": {"kind": "number", "low": 0, "high": 9_999, "decimals": 0},
}
WIDE = {f"c{i}": [0, 1, 2, 3] for i in range(14)}
PERSON = {"unit": "person", "person": "who", "max_rows": 2}
REPLACE = {"relation": "replace_one"}
GAUSSIAN = {"delta": "1e-9", "noise": "gaussian"}

CASES = {
    "declared": (COLUMNS, {}, {"binner": "declared"}),
    "auto": (COLUMNS, {}, {}),
    "auto, small epsilon": (COLUMNS, {}, {"epsilon": "0.02"}),
    "uniform": (COLUMNS, {}, {"binner": "uniform"}),
    "privtree": (COLUMNS, {}, {"binner": "privtree"}),
    "gaussian": (COLUMNS, {}, GAUSSIAN),
    "person": (COLUMNS, PERSON, {}),
    "person, gaussian": (COLUMNS, PERSON, GAUSSIAN),
    "replace one": (COLUMNS, REPLACE, {}),
    "replace one, gaussian": (COLUMNS, REPLACE, GAUSSIAN),
    "many columns": (WIDE, {}, {}),
    "many columns, gaussian": (WIDE, {}, GAUSSIAN),
}


def table(columns, options):
    chance = np.random.default_rng(1)
    values = {
        "age": chance.integers(0, 100, ROWS),
        "sex": chance.choice(["f", "m"], ROWS),
        "town": chance.choice(TOWNS, ROWS),
        "cost": np.where(chance.random(ROWS) < 0.8, 0, chance.integers(0, 10_000, ROWS)),
        "who": np.arange(ROWS) // 2,
        **{name: chance.integers(0, 4, ROWS) for name in WIDE},
    }
    frame = pl.DataFrame(values).select([*columns, *(["who"] if "person" in options else [])])
    return sf.Table(frame, sf.Schema.from_dict(columns, rows_about=ROWS, **options))


def planned(plan, table_name, cells):
    """Return the line of a plan that is about a released table."""
    if table_name.endswith(", counts"):
        return next(step for step in plan.steps if step.what.startswith("counts of the parts"))
    named = [step for step in plan.steps if step.what == table_name]
    return named[0] if named else next(s for s in plan.steps if "tables of one column" in s.what)


@pytest.mark.parametrize("method", [sf.Synthesizer, sf.Independent])
@pytest.mark.parametrize("case", CASES)
def test_a_plan_is_true_to_the_tables_of_one_column(case, method):
    columns, options, parameters = CASES[case]
    if method is sf.Independent:
        parameters = {key: value for key, value in parameters.items() if key != "noise"}
    data = table(columns, options)
    made = method(**{"epsilon": 1, **parameters})
    plan = made.plan(data.public)
    with noise.seeded(1):
        release = made.release(data)
    found = [
        item
        for item in json.loads(release.files()["network.json"])["measured"]
        if len(item["columns"]) == 1
    ]
    assert {name for item in found for name in item["columns"]} == set(columns)
    binned = made.columns_to_bin(data.public)
    exact = made.binner in ("declared", "uniform") or not binned
    for item in found:
        step = planned(plan, item["table"], item["cells"])
        deviation, said = item["standard_deviation"], step.figures["standard_deviation"]
        if item["table"].endswith(", counts"):
            assert deviation == pytest.approx(said, rel=1e-4)
        elif exact:
            # Between the bounds of the plan, which are one where nothing noisy decides.
            least = step.figures.get("least_standard_deviation", said)
            assert least * (1 - ABOUT) <= deviation <= said * (1 + ABOUT)
        else:
            # There may be fewer bins than planned, with more noise on each and less in all, unless
            # they leave room for a round, which takes up to a fifth of what columns had.
            cells = step.figures["cells"]
            assert item["cells"] <= cells
            assert item["cells"] * deviation <= (1 + ABOUT) / MOST_ONE_WAY * cells * said
