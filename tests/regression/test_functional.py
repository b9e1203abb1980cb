"""The functional mechanism: its suite, its bounds by enumeration, and worked examples."""

from itertools import product

import numpy as np
import polars as pl
import pytest

from sfumato import noise
from sfumato.data.schema import Schema
from sfumato.data.table import Table, TablePublic
from sfumato.privacy.guarantee import Relation
from sfumato.regression.design import UNIT, Design, Response
from sfumato.regression.functional import Columns, FunctionalRegression, minimiser
from sfumato.regression.queries import FeatureSums
from tests.method_suite import AuditSuite, MethodSuite
from tests.tabular import tables

LEFT = {"target": "left", "positive": ["true"]}


class FunctionalSuite(MethodSuite):
    name = "table.FunctionalRegression"
    options = LEFT
    sampled = False

    def audited_public(self):
        return self.data().public

    def data(self):
        return tables.table(tables.made(60))

    def neighbours(self):
        return tables.row_pairs()

    def fact(self, release):
        return release.transcript["coefficients"]


class TestLogistic(FunctionalSuite):
    pass


class TestLogisticUnderReplacement(FunctionalSuite):
    def data(self):
        return tables.table(tables.made(60), relation="replace_one")

    def neighbours(self):
        return tables.replaced_pairs()


class TestConstantAlone(AuditSuite):
    """One column and two coefficients, of which samples see everything."""

    name = "table.FunctionalRegression"
    options = LEFT

    def audited_public(self):
        return TablePublic.of(Schema.from_dict({"left": bool}))


COUNTS = [(s, b, c) for s in range(4) for b in range(3) for c in range(2) if 0 < s + 2 * b < 5]


def records(singles, blocks, constants):
    """Return the features of every record whose entries are corners or 0."""
    block = [(1, 0, 0), (0, 1, 0), (0, 0, 1)]
    for choice in product(*[[(-1,), (0,), (1,)]] * singles, *[block] * blocks):
        yield np.array([*(value for part in choice for value in part), *[1] * constants])


def coefficients(features, slope):
    """Return the linear coefficients and those of the products of one record."""
    rows, columns = np.triu_indices(len(features))
    products = features[rows] * features[columns] * np.where(rows == columns, 1, 2)
    return np.concatenate([slope * features, products])


@pytest.mark.parametrize("counts", COUNTS, ids=str)
def test_no_two_records_are_further_apart_than_the_bounds_say(counts):
    bounds, found = Columns(*counts), list(records(*counts))
    for objective, slopes in ((bounds.linear, (-2, 0, 2)), (bounds.logistic, (-4, 4))):
        rows = np.array([coefficients(features, slope) for features in found for slope in slopes])
        added = np.abs(rows).sum(axis=1).max()
        replaced = max(np.abs(rows - row).sum(axis=1).max() for row in rows)
        assert objective(Relation.ADD_REMOVE) == added
        assert replaced <= objective(Relation.REPLACE_ONE) <= replaced + 1


def test_the_bounds_are_those_of_numbers_alone_in_the_literature():
    # d = 13: (d + 1)² and (d + 2)²/8, against 390 and 81.25 as first published.
    assert Columns(13, 0, 0).linear(Relation.REPLACE_ONE) == 196
    assert Columns(13, 0, 0).logistic(Relation.REPLACE_ONE) / 8 == 28.125


def numbers(relation="replace_one", **columns):
    """Return a table of numbers from −1 to 1."""
    schema = {name: {"kind": "real", "low": -1, "high": 1} for name in columns}
    return Table(pl.DataFrame(columns), Schema.from_dict(schema, relation=relation))


def test_without_noise_the_model_is_the_least_squares_fit():
    data = numbers(a=[1.0, 0, 1, -1, 0.5], b=[0.0, 1, 1, 0.25, -0.5], y=[0.9, 0.1, 1.0, -0.8, 0.3])
    method = FunctionalRegression(epsilon=10**9, target="y", add_ridge=False)
    with noise.seeded(1):
        release = method.release(data)
    features = np.array([[1.0, 0, 1], [0, 1, 1], [1, 1, 1], [-1, 0.25, 1], [0.5, -0.5, 1]])
    wanted, *_ = np.linalg.lstsq(features, np.array([0.9, 0.1, 1.0, -0.8, 0.3]), rcond=None)
    assert release.weights == pytest.approx(wanted, abs=2e-3)
    frame = pl.DataFrame({"a": [1.0], "b": [0.0]})
    assert release.predict(frame) == pytest.approx([wanted[0] + wanted[2]], abs=3e-3)


def test_the_minimum_of_worked_objectives():
    linear = minimiser(np.array([[2.0, 1], [1, 2]]), np.array([-4.0, -2]), np.zeros(2))
    assert linear == pytest.approx([1, 0])
    logistic = minimiser(np.array([[2.0, 1], [1, 2]]) / 8, np.array([-1.0, 0]), np.zeros(2))
    assert logistic == pytest.approx([8 / 3, -4 / 3])
    # Nothing rises: no direction is left.
    assert minimiser(-np.eye(2), np.ones(2), np.zeros(2)).tolist() == [0, 0]
    # A flat direction, as of a column that is there twice, is left out.
    assert minimiser(np.ones((2, 2)), np.array([-2.0, -2]), np.zeros(2)) == pytest.approx([0.5] * 2)


def test_sums_of_products_are_exact():
    data = tables.table(tables.made(5000))
    response = Response.classes(data.public, "left", ("true",))
    design = Design.of(data.public, response)
    i, j = np.triu_indices(design.dimension)
    weights = np.ones(i.size + design.dimension, dtype=np.int64)
    found = FeatureSums(design=design, rows=i, columns=j, weights=weights).answer(data)
    x, y = (
        np.concatenate(parts).astype(int).astype(object)
        for parts in zip(*design.blocks(data), strict=True)
    )
    assert (found == np.concatenate([x.T @ y, (x.T @ x)[i, j]])).all()
    assert found[-1] == data.counts.rows * UNIT**2


def test_the_ratio_divides_the_noise_on_sensitive_columns():
    data = numbers(a=[0.5], b=[0.5], y=[0.5])
    method = FunctionalRegression(
        epsilon=1, target="y", sensitive=["b"], ratio="1/2", intercept=False
    )
    layout = method.layout(data.public)
    # a, b, a², ab, b²: what touches b weighs half.
    assert layout.weights.tolist() == [2, 1, 2, 1, 1]
    # (1 − γ)(d − k + 1)² + γ(d + 1)² = 6.5 at d = 2, k = 1, γ = 1/2; weights are doubled.
    assert layout.sensitivity == 13 * UNIT**2
    even = FunctionalRegression(epsilon=1, target="y", ratio="1/2", intercept=False)
    assert even.layout(data.public).sensitivity == 9 * UNIT**2


def test_what_does_not_fit_is_refused_before_anything_is_spent():
    data = tables.table(tables.made(10))
    for options, words in (
        ({"target": "nobody"}, "no column 'nobody'"),
        ({"target": "left"}, "numbers or dates"),
        ({"target": "left", "positive": ["maybe"]}, "values of 'left'"),
        ({"target": "left", "positive": ["true", "false"]}, "not all"),
        ({"target": "left", "positive": ["true"], "sensitive": ["left"]}, "sensitive"),
    ):
        with pytest.raises(ValueError, match=words):
            FunctionalRegression(epsilon=1, **options).release(data)
    for ratio in (0, 2, "1/1001"):
        with pytest.raises(ValueError, match="ratio must be"):
            FunctionalRegression(epsilon=1, target="left", ratio=ratio)


def test_a_model_tells_classes_apart():
    generator = np.random.default_rng(1)
    height = generator.uniform(-1, 1, 4000)
    smokes = np.where(generator.random(4000) < 0.5, "no", "yes")
    tall = height + 0.3 * (smokes == "yes") > 0.1
    frame = pl.DataFrame({"height": height, "smokes": smokes, "tall": tall})
    schema = {"height": {"kind": "real", "low": -1, "high": 1}, "smokes": ["no", "yes"]}
    data = Table(frame, Schema.from_dict({**schema, "tall": bool}))
    method = FunctionalRegression(epsilon=1, target="tall", positive=["true"])
    # Of 4,000 seeded records nine in ten are told apart with room to spare.
    with noise.seeded(2):
        release = method.release(data)
    assert (release.predict(frame) == tall).mean() > 0.9
    likely = release.probability(frame)
    assert likely[tall].mean() > likely[~tall].mean() + 0.1
    assert "whether tall is true" in release.words()


def test_sums_over_very_many_records_do_not_wrap_around(monkeypatch):
    """One record more moves what is measured by what one record may, at every number of them."""
    public = TablePublic.of(
        Schema.from_dict({"here": {"kind": "real", "low": 0, "high": 1}, "left": bool})
    )
    layout = FunctionalRegression(epsilon=1, **LEFT, sensitive=["here"], ratio="1/1000").layout(
        public
    )

    def weighed(rows):
        every = np.full(layout.weights.size, rows * UNIT**2, dtype=np.int64)
        monkeypatch.setattr(FeatureSums, "sums", lambda query, data: every)
        return layout.query.answer(None)

    for rows in (2**25, 2**61 // (4 * 1000 * UNIT**2), 2**63 // (4 * 1000 * UNIT**2), 2**32):
        moved = np.abs(weighed(rows + 1) - weighed(rows)).sum()
        assert 0 < moved <= layout.sensitivity
