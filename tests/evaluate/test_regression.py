"""How good a regression is, against figures worked out apart."""

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.evaluate.regression import WARNING, ClassErrors, NumberErrors, evaluate
from sfumato.regression.design import Design, Response
from sfumato.regression.model import RegressionModel
from sfumato.regression.rows import answering

SCHEMA = sf.Schema.from_dict(
    {
        "x": {"kind": "real", "low": -1, "high": 1},
        "y": {"kind": "real", "low": -2, "high": 2, "missing": "code"},
        "big": bool,
    }
)


def frame(rows=400):
    draw = np.random.default_rng(1)
    x = draw.uniform(-1, 1, rows)
    y = np.clip(x + draw.normal(0, 0.3, rows), -2, 2)
    return pl.DataFrame({"x": x, "y": y, "big": draw.random(rows) < 0.5 + 0.45 * x})


def number_model(table, weights=(0.5, 0.0, 0.0), **options):
    design = Design.of(table.public, answering(table.public, "y"))
    return RegressionModel(table.public, design, np.array(weights), **options)


def test_errors_of_numbers():
    data = frame()
    table = sf.Table(data, SCHEMA)
    # A sum of 0.5 x stands for y = x.
    outcome = evaluate(table, number_model(table))
    assert isinstance(outcome, NumberErrors)
    x, y = data["x"].to_numpy(), data["y"].to_numpy()
    assert outcome.error == pytest.approx(np.sqrt(np.mean((x - y) ** 2)), rel=1e-3)
    assert outcome.absolute_error == pytest.approx(np.abs(x - y).mean(), rel=1e-3)
    assert outcome.guess_error == pytest.approx(y.std(), rel=1e-3)
    features = np.column_stack([x, 2 * data["big"].to_numpy() - 1.0, np.ones(len(x))])
    fitted = features @ np.linalg.lstsq(features, y, rcond=None)[0]
    assert outcome.private_error == pytest.approx(np.sqrt(np.mean((fitted - y) ** 2)), rel=1e-3)
    assert outcome.private_error <= outcome.error < outcome.guess_error
    assert outcome.explained == pytest.approx(1 - np.var(x - y) / np.var(y), abs=0.02)
    from scipy.stats import spearmanr

    assert outcome.spearman == pytest.approx(spearmanr(x, y).statistic, abs=1e-3)
    assert outcome.covered is None
    document = outcome.to_json()
    assert document["private"] is False and document["warning"] == WARNING


def test_missing_targets_are_not_judged_and_intervals_are_tried():
    data = frame().with_columns(
        y=pl.when(pl.int_range(pl.len()) % 4 == 0).then(None).otherwise(pl.col("y"))
    )
    table = sf.Table(data, SCHEMA)
    sure = number_model(table, covariance=np.zeros((4, 4)), deviation=0.15)
    outcome = evaluate(table, sure)
    assert outcome.rows == 300
    # 0.15 of half the range is 0.3, the true spread: 95 % ± 3.5 % with certainty enough.
    assert outcome.covered == pytest.approx(0.95, abs=0.06)


def test_constant_predictions_and_no_rows():
    table = sf.Table(frame(), SCHEMA)
    flat = evaluate(table, number_model(table, weights=(0.0, 0.0, 0.1)))
    assert flat.spearman == 0 and flat.explained < 0.01
    nobody = sf.Table(frame().head(0), SCHEMA)
    assert evaluate(nobody, number_model(nobody)).rows == 0
    assert evaluate(nobody, class_model(nobody)).rows == 0


def class_model(table, weights=(1.0, 0.0, 0.0)):
    response = Response.classes(table.public, "big", ("true",))
    design = Design.of(table.public, response)
    extra = np.zeros(design.dimension)
    extra[0] = weights[0]
    return RegressionModel(table.public, design, extra, positive=("true",))


def test_errors_of_classes():
    data = frame()
    table = sf.Table(data, SCHEMA)
    outcome = evaluate(table, class_model(table))
    assert isinstance(outcome, ClassErrors)
    x, big = data["x"].to_numpy(), data["big"].to_numpy()
    assert outcome.error == pytest.approx(np.mean((x > 0) != big), abs=0.005)
    assert outcome.majority_error == pytest.approx(min(big.mean(), 1 - big.mean()))
    pairs = (x[big][:, None] > x[~big]).mean()
    assert outcome.ranked == pytest.approx(pairs, abs=1e-3)
    # The likeliest weights need not make the fewest mistakes.
    assert outcome.private_error <= outcome.error + 0.03
    assert outcome.to_json()["private"] is False
    same = sf.Table(data.with_columns(big=pl.lit(True)), SCHEMA)
    assert evaluate(same, class_model(same)).ranked == 0.5


def test_classes_that_can_be_told_apart_fully_have_a_fit_all_the_same():
    data = frame().with_columns(big=pl.col("x") > 0.1)
    table = sf.Table(data, SCHEMA)
    assert evaluate(table, class_model(table)).private_error < 0.01


def test_another_schema_is_refused():
    table = sf.Table(frame(), SCHEMA)
    other = sf.Table(frame().drop("big"), sf.Schema(columns=SCHEMA.columns[:2]))
    with pytest.raises(ValueError, match="not that of the release"):
        evaluate(other, number_model(table))
