"""Rows of bounded length: exact bounds, one record at a time, exact sums."""

import gc
import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.data.schema import Schema
from sfumato.data.table import Table, TablePublic
from sfumato.regression import row_kernels
from sfumato.regression import rows as module
from sfumato.regression.design import Design
from sfumato.regression.functional import FunctionalRegression
from sfumato.regression.knorm_regression import KNormRegression
from sfumato.regression.model import fine_features
from sfumato.regression.objective_regression import ObjectiveRegression
from sfumato.regression.rows import ANSWER, ROW, RowRule, Rows, answering, fine_values, numeric
from tests.regression import made


def rule_of(public, target="cost", *, intercept=True, **options):
    design = Design.of(public, answering(public, target), intercept=intercept)
    options = {"centre": np.zeros(design.dimension), "spread": np.ones(design.dimension)} | options
    return RowRule(design=design, **options)


def whole(rows):
    """Return all rows, one a record, and all answers."""
    blocks = list(rows.blocks())
    if not blocks:
        return np.zeros((0, rows.dimension)), np.zeros(0)
    return (
        np.concatenate([x.T for x, _ in blocks]).astype(np.int64),
        np.concatenate([y for _, y in blocks]).astype(np.int64),
    )


def many_columns(rows, columns, seed=0, bits=16):
    generator = np.random.default_rng(seed)
    names = [f"x{number}" for number in range(columns)] + ["cost"]
    frame = pl.DataFrame({name: generator.uniform(-1, 1, rows) for name in names})
    real = {"kind": "real", "low": -1, "high": 1, "bits": bits}
    return Table(frame, Schema.from_dict(dict.fromkeys(names, real)))


@pytest.mark.parametrize("shape", ["weigh", "clip", "unit"])
@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.integers(0, 2**32), st.integers(-28, 28), st.integers(1, 9))
def test_no_row_is_longer_and_no_answer_larger_than_declared(shape, seed, power, columns):
    generator = np.random.default_rng(seed)
    data = many_columns(50, columns, seed, bits=int(generator.integers(1, 17)))
    size = columns + 1
    rule = rule_of(
        data.public,
        centre=generator.uniform(-1, 1, size),
        spread=2.0 ** generator.uniform(-1, 1, size),
        radius=2.0**power,
        shape=shape,
        response_centre=float(generator.uniform(-1, 1)),
        response_bound=float(2.0 ** generator.uniform(-5, 1)),
    )
    x, y = whole(Rows(rule, data))
    assert (x**2).sum(axis=1).max() <= ROW**2
    assert np.abs(y).max() <= ANSWER
    if power < -2 or shape == "unit":
        # Rows that are brought to a length of 1 keep all of it but for whole units.
        assert np.sqrt((x**2).sum(axis=1)).min() >= ROW - size - 1


def test_rows_are_what_the_rule_says():
    rows = [("west", 75.0, True, 5.0), ("north", 0.0, False, -10.0)]
    data = made.table(rows)
    rule = rule_of(data.public, radius=2.0, shape="clip", response_bound=0.5)
    x, y = whole(Rows(rule, data))
    features = fine_features(
        data.public, rule.design, [data.counts.codes(c) for c in rule.design.columns], 2
    )
    np.testing.assert_array_equal(x, np.trunc(features / 2 * ROW))
    assert abs(y[0] - ANSWER) <= 20 and y[1] == -ANSWER


def test_weighing_divides_the_answer_by_the_same_length():
    data = made.table([made.HIGHEST, ("south", 50.0, False, 4.0)])
    weighed = rule_of(data.public, radius=0.5)
    clipped = rule_of(data.public, radius=0.5, shape="clip")
    (x, y), (same, full) = whole(Rows(weighed, data)), whole(Rows(clipped, data))
    np.testing.assert_array_equal(x, same)
    features = fine_features(
        data.public, weighed.design, [data.counts.codes(c) for c in weighed.design.columns], 2
    )
    lengths = np.linalg.norm(features, axis=1) / 0.5
    np.testing.assert_allclose(y, full / lengths, atol=2)


def test_a_missing_answer_makes_a_row_of_zeros():
    data = made.table([("west", 75.0, True, None), made.HIGHEST])
    for shape in ("weigh", "clip", "unit"):
        x, y = whole(Rows(rule_of(data.public, shape=shape), data))
        assert not x[0].any() and y[0] == 0
        assert x[1].any() and y[1] > 0


@pytest.mark.parametrize("shape", ["weigh", "clip", "unit"])
def test_a_row_depends_on_its_own_record_alone(shape, monkeypatch):
    """Shuffled, shortened, or in blocks of any size: the same bits."""
    generator = np.random.default_rng(7)
    rows = made.made(700, seed=7)
    rule = rule_of(
        made.table([]).public,
        centre=generator.uniform(-1, 1, 6),
        spread=generator.uniform(0.1, 1, 6),
        shape=shape,
    )
    x, y = whole(Rows(rule, made.table(rows)))
    for order in (generator.permutation(700), np.arange(1, 700), np.arange(0, 700, 3)):
        other, answers = whole(Rows(rule, made.table([rows[i] for i in order])))
        np.testing.assert_array_equal(other, x[order])
        np.testing.assert_array_equal(answers, y[order])
    monkeypatch.setattr(module, "BLOCK_RECORDS", 13)
    again, _ = whole(Rows(rule, made.table(rows)))
    np.testing.assert_array_equal(again, x)


def test_sums_are_exact(monkeypatch):
    data = made.table(made.made(500))
    rule = rule_of(data.public)
    x, y = whole(Rows(rule, data))
    weights = np.random.default_rng(0).normal(size=6)
    left = np.trunc(np.clip(y - x @ weights, -300, 300)).astype(np.int64)
    for kept in (module.KEPT, 0):
        monkeypatch.setattr(module, "KEPT", kept)
        rows = Rows(rule, data)
        for _ in range(2):
            moments = rows.moments()
            np.testing.assert_array_equal(moments.xx, x.T @ x)
            np.testing.assert_array_equal(moments.xy, x.T @ y)
            assert moments.yy == int(y @ y)
            # A residual on the edge of two whole numbers may fall to either in another order.
            found = rows.residual_xy(weights, 300)
            assert np.abs(found - x.T @ left).max() <= ROW
    assert not Rows(rule, made.table([])).moments().xx.any()


def test_residuals_of_strange_weights_are_cut():
    rows = Rows(rule_of(made.table([]).public), made.table([made.HIGHEST]))
    for strange in (np.inf, -np.inf, 1e300, np.nan):
        found = rows.residual_xy(np.full(6, strange), 10)
        assert np.abs(found).max() <= 10 * ROW
    for bound in (0, 2**20 + 1):
        with pytest.raises(ValueError, match="bound must be"):
            rows.residual_xy(np.zeros(6), bound)


def test_rules_that_could_overflow_are_refused():
    public = made.table([]).public
    for bad in (
        {"spread": np.full(6, 1e-12)},
        {"radius": 0.0},
        {"radius": float("nan")},
        {"response_bound": 1e12},
        {"response_centre": 1.5},
        {"centre": np.full(6, np.nan)},
        {"shape": "round"},
        {"centre": np.zeros(5)},
    ):
        with pytest.raises(ValueError, match="must"):
            rule_of(public, **bad)


def test_weights_of_rows_become_weights_of_features():
    """Whatever the rule: xᵀw, not shortened, is what the features and the offset give."""
    generator = np.random.default_rng(1)
    columns = {
        **{name: made.COLUMNS[name] for name in ("ward", "smokes", "cost")},
        "age": {"kind": "real", "low": 0, "high": 100, "bits": 6, "missing": "code"},
    }
    frame = made.frame([*made.made(40), made.HIGHEST]).with_columns(
        age=pl.when(pl.int_range(41) % 5 == 0).then(None).otherwise(pl.col("age"))
    )
    data = Table(frame, Schema.from_dict(columns))
    for intercept in (True, False):
        size = 6 + intercept
        rule = rule_of(
            data.public,
            intercept=intercept,
            centre=generator.uniform(-1, 1, size),
            spread=generator.uniform(0.1, 1, size),
            radius=1000.0,
            shape="clip",
            response_bound=0.3,
        )
        weights = generator.normal(size=size)
        x, _ = whole(Rows(rule, data))
        told = data.counts.codes(rule.design.response.column) < 256
        codes = [data.counts.codes(column) for column in rule.design.columns]
        converted = rule.to_design(data.public) @ weights
        features = fine_features(data.public, rule.design, codes, data.counts.rows)
        found = features @ converted[:-1] + converted[-1]
        # Rows are cut to units of 1/4096, a thousandth of them: the radius.
        np.testing.assert_allclose(found[told], 0.3 * (x @ weights)[told] / ROW, atol=0.01)


def test_numbers_are_as_fine_as_they_are_declared():
    data = many_columns(10, 2)
    (first, _) = rule_of(data.public).design.factors
    values = fine_values(data.public, first)
    assert len(np.unique(values)) == 2**16
    assert numeric(data.public, rule_of(data.public).design).tolist() == [True, True, False]


def test_bounds_that_are_one_double_are_refused_before_anything_is_paid():
    column = {"kind": "integer", "low": 17 * 10**17, "high": 17 * 10**17 + 99}
    # Their places would be no numbers, and a row of them is never shortened.
    real = {"kind": "real", "low": 0, "high": 1}
    public = TablePublic.of(Schema.from_dict({"stamp": column, "a": real, "y": real}))
    for method in (
        KNormRegression(epsilon=1, target="y"),
        ObjectiveRegression(epsilon=1, target="y"),
        FunctionalRegression(epsilon=1, target="y"),
    ):
        with pytest.raises(ValueError, match="double precision"):
            method.check(public)


def test_what_is_no_number_makes_a_row_of_zeros():
    block = np.array([[np.nan, np.inf, 0.5], [0.5, 0.5, 0.5]])
    x, y = np.ones((2, 3), dtype=np.int16), np.ones(3, dtype=np.int16)
    row_kernels.shorten(block, np.ones(3), 1, 4096.0, 4096.0, x, y, np.empty(3))
    assert x[:, :2].any() == np.False_ and y.tolist() == [0, 0, 4096]
    assert x[:, 2].tolist() == [2048, 2048]


def fused(a, b, c):
    """Return a·b + c rounded once, as a fused instruction would."""
    return float(Fraction(a) * Fraction(b) + Fraction(c))


def rows_of_two(fuse, pairs):
    """Return the first entries of rows of two features, computed one operation after another."""
    found = []
    for a, b in pairs:
        total = fuse(b, b, fuse(a, a, 0.0))
        factor = ROW / math.sqrt(total) if math.sqrt(total) > 1 else float(ROW)
        found.append((int(a * factor), int(b * factor)))
    return found


def telling_rows():
    """Return rows that a fused multiplication and addition would truncate otherwise.

    The first entry lies at the border of two whole numbers: a unit in the last place of the length
    decides on which side.
    """
    generator, found = np.random.default_rng(3), []
    while len(found) < 12:
        b = float(generator.uniform(1, 4))
        share = float(generator.integers(1, ROW)) / ROW
        a = share * b / math.sqrt(1 - share**2)
        for _ in range(40):
            a = math.nextafter(a, 0)
        near = [(math.ldexp(round(math.ldexp(a, 52)) + step, -52), b) for step in range(80)]
        plain, merged = (rows_of_two(way, near) for way in (lambda x, y, z: x * y + z, fused))
        found += [pair for pair, p, m in zip(near, plain, merged, strict=True) if p != m][:1]
    return found


@pytest.mark.parametrize("many", [1, 3, 4, 7, 8, 16, 33, 100])
def test_the_compiler_merges_no_product_with_a_sum(many):
    """Rows at every place of a block, in a vector lane or the rest of the loop: each bit alike."""
    pairs = telling_rows()
    for pair, plain, merged in zip(
        pairs,
        rows_of_two(lambda x, y, z: x * y + z, pairs),
        rows_of_two(fused, pairs),
        strict=True,
    ):
        assert plain != merged
        block = np.repeat(np.array(pair)[:, None], many, axis=1)
        x, y = np.empty((2, many), dtype=np.int16), np.empty(many, dtype=np.int16)
        row_kernels.shorten(
            block, np.zeros(many), row_kernels.CLIP, float(ROW), float(ANSWER), x, y, np.empty(many)
        )
        assert {tuple(row) for row in x.T.tolist()} == {plain}


@pytest.mark.parametrize("many", [1, 3, 4, 7, 8, 16, 33, 100])
def test_residuals_are_not_merged_either(many):
    """Residuals beside a whole number: rounding the product decides how they are truncated."""
    generator, told = np.random.default_rng(5), 0
    for _ in range(2000):
        weight = float(generator.uniform(-1, 1))
        feature = int(generator.integers(-ROW, ROW))
        answer = round(weight * feature) + int(generator.integers(-3, 4))
        weight = math.nextafter((answer - 1) / feature, 2.0) if feature else 0.0
        plain = int(answer - weight * feature)
        if plain == int(fused(-weight, feature, answer)):
            continue
        told += 1
        x = np.full((1, many), feature, dtype=np.int16)
        y, scratch = np.full(many, answer, dtype=np.int16), np.empty(many)
        row_kernels.write_clipped_residuals(x, y, np.array([weight]), 4096.0, scratch)
        assert set(scratch.tolist()) == {float(plain)}
    assert told >= 10


def test_rows_are_kept_for_one_rule_and_one_table_and_go_with_the_rule():
    data, other = made.table(made.made(20)), made.table(made.made(20, seed=1))
    rule = rule_of(data.public)
    x, _ = whole(Rows(rule, data))
    assert rule in data.counts._kept
    again, _ = whole(Rows(rule, data))
    assert (again == x).all()
    assert (whole(Rows(rule, other))[0] != x).any()
    assert (whole(Rows(rule, data))[0] == x).all()
    del rule
    gc.collect()
    assert not len(data.counts._kept) and not len(other.counts._kept)
