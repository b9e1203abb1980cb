"""Statistics of tables written as formulas."""

from fractions import Fraction
from typing import ClassVar

import numpy as np
import polars as pl
import pytest

from sfumato import noise
from sfumato.data.schema import Schema
from sfumato.data.table import Table
from sfumato.privacy.record import record, replay
from sfumato.tabular.statistic import TableStatistic
from tests.method_suite import MethodSuite
from tests.tabular import tables

ROWS = [(0, "red", 5, True), (1, "red", 15, False), (2, "blue", 40, False), (3, "green", 0, True)]
FALSE, TRUE = tables.schema()["left"].coding.labels
#: The middles of the four bins of ten of the column of sizes.
SUM = 5 + 15 + 35 + 5


class TestPower(MethodSuite):
    name = "table.TableStatistic"
    options: ClassVar = {"expression": "rows ** 2 / 100"}

    def data(self):
        return tables.table(tables.made(60))

    def audited_public(self):
        return self.data().public

    def neighbours(self):
        return tables.row_pairs()

    def fact(self, release):
        parts = [release.value, *release.measured.values()]
        return np.concatenate([np.atleast_1d(part).astype(float) for part in parts])


class TestShareOfRed(TestPower):
    options: ClassVar = {"expression": "share(count(colour, 'red'), rows)"}
    sampled = False


class TestMeanUnderReplacement(TestPower):
    options: ClassVar = {"expression": "total(size) / rows"}
    sampled = False

    def data(self):
        return tables.table(tables.made(60), relation="replace_one")

    def neighbours(self):
        return tables.replaced_pairs()


class TestMeanOfAGroup(TestPower):
    options: ClassVar = {"expression": "total(size, colour, 'blue') / count(colour, 'blue')"}
    sampled = False


def released(expression, rows=ROWS, *, epsilon=10**6, **options):
    with noise.seeded(1):
        method = TableStatistic(epsilon=epsilon, expression=expression)
        return method.release(tables.table(rows, **options))


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("rows", 4),
        ("count(colour, 'red') / rows", 0.5),
        (f"count(colour, 'red', left, {TRUE!r})", 1),
        ("total(size)", SUM),
        ("total(size) / known(size)", SUM / 4),
        ("total(size, colour, 'red') / count(colour, 'red')", 10),
        ("sum(share(counts(colour), rows) ** 2)", 0.25 + 1 / 16 + 1 / 16),
        ("sqrt(rows)", 2),
    ],
)
@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_with_a_huge_budget_the_truth_comes_out(expression, value, relation):
    if relation == "replace_one" and expression in ("rows", "sqrt(rows)"):
        with pytest.raises(ValueError, match="has no unit to measure"):
            released(expression, relation=relation)
        return
    assert released(expression, relation=relation).value == pytest.approx(value, abs=1e-3)


def sensitivity(expression, relation, columns=None):
    schema = Schema.from_dict(columns or tables.COLUMNS, relation=relation)
    frame = {name: [] for name in schema.names}
    data = Table(pl.DataFrame(frame, schema=dict.fromkeys(frame, pl.String)), schema)
    (plan,) = TableStatistic(epsilon=1, expression=expression)._plans(data.public)
    return plan.primitive.sensitivity * plan.unit.statistic.step


def test_sensitivities_follow_the_declared_ranges():
    ages = {"age": {"kind": "integer", "low": 18, "high": 30}, "sex": ["f", "m"]}
    assert sensitivity("total(age)", "add_remove", ages) == 30
    assert sensitivity("total(age) / 7", "replace_one", ages) == 12
    # A row that leaves the group takes all of its age with it.
    assert sensitivity("total(age, sex, 'f')", "replace_one", ages) == 30
    assert sensitivity("counts(sex)", "add_remove", ages) == 1
    assert sensitivity("mean(counts(sex))", "replace_one", ages) == 2
    assert sensitivity("count(sex, 'f')", "replace_one", ages) == 1
    below = {"change": {"kind": "integer", "low": -40, "high": 10}}
    assert sensitivity("total(change)", "add_remove", below) == 40
    assert sensitivity("total(change)", "replace_one", below) == 50


def test_bins_stand_for_their_middles_on_a_fine_public_grid():
    thirds = {"x": {"kind": "number", "edges": [0, 0.1, 0.7, 1.3]}}
    found = sensitivity("total(x)", "add_remove", thirds)
    assert float(found) == pytest.approx(1.0, rel=1e-8)
    assert found.denominator & (found.denominator - 1) == 0


@pytest.mark.parametrize(
    "expression",
    [
        "total(size) / rows",
        f"total(size, left, {FALSE!r}) / count(left, {FALSE!r})",
        "sum(counts(colour) ** 2)",
    ],
)
@pytest.mark.parametrize("options", [{}, {"relation": "replace_one"}])
def test_declared_sensitivities_hold_on_neighbours(expression, options):
    method = TableStatistic(epsilon=1, expression=expression)
    for here, there in tables.replaced_pairs() if options else tables.row_pairs():
        with noise.seeded(1):
            script = record(method, here)
        assert all(change.holds for _, change in script.changes(replay(method, there, script)))


def test_a_person_of_several_rows_pays_for_all_of_them():
    method = TableStatistic(epsilon=1, expression="total(size) / rows")
    options = {"unit": "person", "person": "who", "max_rows": 3}
    data = tables.table(tables.made(20), **options)
    assert [plan.loss.epsilon for plan in method._plans(data.public)] == [Fraction(1, 6)] * 2
    assert [step.loss.epsilon for step in method.plan(data.public).steps] == [Fraction(1, 2)] * 2


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        ("total(colour)", "needs a column of numbers"),
        ("count(colour, 'pink')", "has the values red, green, blue"),
        ("count(colour)", "a value after each column"),
        ("count()", "needs columns"),
        ("total(weight)", "unknown name 'weight'"),
        ("total('weight')", "weight"),
        ("colour", "is a name where a number is needed"),
        ("size(1)", "write total"),
        ("count(colour, 'red', colour, 'blue')", "twice"),
        ("total(size, size, '[0, 10)')", "condition on size itself"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_spent(expression, says):
    with pytest.raises((ValueError, KeyError), match=says):
        TableStatistic(epsilon=1, expression=expression).plan(tables.table(ROWS).public)


@pytest.mark.parametrize("epsilon", ["1e-6", 1000])
def test_empty_tables_and_any_budget(epsilon):
    found = released("total(size) / rows + sum(counts(colour)) ** 2", [], epsilon=epsilon)
    assert np.isfinite(found.value)
