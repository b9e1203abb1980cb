"""Released regressions: own units, predictions, intervals, files."""

import numpy as np
import polars as pl
import pytest

from sfumato.data.schema import Schema
from sfumato.data.table import Table
from sfumato.regression.design import INTERCEPT, Design
from sfumato.regression.knorm_regression import KNormRegression
from sfumato.regression.model import OFFSET, RegressionModel, fine_features, own_units
from sfumato.regression.rows import answering
from tests.regression import made

COLUMNS = {
    **made.COLUMNS,
    "pressure": {"kind": "real", "low": 80, "high": 240, "bits": 10, "missing": "code"},
    "visits": {"kind": "integer", "low": 0, "high": 12},
}


def frame(rows=30, seed=0):
    generator = np.random.default_rng(seed)
    pressures = [None if i % 7 == 0 else float(generator.uniform(80, 240)) for i in range(rows)]
    return made.frame(made.made(rows, seed)).with_columns(
        pressure=pl.Series(pressures, dtype=pl.Float64),
        visits=pl.Series(generator.integers(0, 13, rows)),
    )


def model(*, intercept=True, **options):
    public = Table(frame(1), Schema.from_dict(COLUMNS)).public
    design = Design.of(public, answering(public, "cost"), intercept=intercept)
    weights = np.random.default_rng(1).normal(size=design.dimension) / 10
    return RegressionModel(public, design, weights, **options)


def by_hand(coef, data):
    """Return what the coefficients in own units add up to."""
    found = []
    for row in data.iter_rows(named=True):
        total = coef[INTERCEPT, ""] + coef["ward", row["ward"]] + coef["age", ""] * row["age"]
        total += coef["smokes", "true"] * row["smokes"] + coef["visits", ""] * row["visits"]
        if row["pressure"] is None:
            total += coef["pressure", "(missing)"]
        else:
            total += coef["pressure", ""] * row["pressure"]
        found.append(total)
    return np.array(found)


@pytest.mark.parametrize("options", [{}, {"offset": 0.1}, {"intercept": False, "offset": -0.2}])
def test_coefficients_in_own_units_add_up_to_the_prediction(options):
    made_up, data = model(**options), frame()
    # The grids of age and pressure are 0.4 and 0.16 wide.
    np.testing.assert_allclose(made_up.predict(data), by_hand(made_up.coef, data), atol=0.05)


def test_places_of_categories_are_told_by_the_step():
    data = made.table(made.made(9))
    method = KNormRegression(epsilon=1, target="cost", categories="places")
    release = method.release(data)
    rows = [("north", 50.0, False, 0.0), ("south", 50.0, False, 0.0), ("west", 50.0, False, 0.0)]
    predicted = release.predict(made.frame(rows))
    np.testing.assert_allclose(np.diff(predicted), release.coef["ward", ""], atol=1e-9)


def test_predictions_stay_within_the_declared_bounds():
    wild = model(offset=100.0)
    assert (wild.predict(frame()) == 10).all()


def test_intervals_hold_what_they_say():
    made_up = model(deviation=0.1, covariance=np.diag(np.full(10, 1e-4)))
    data = frame(4000)
    codes = [
        Table(data, Schema.from_dict(COLUMNS)).counts.codes(column)
        for column in made_up.design.columns
    ]
    features = fine_features(made_up.public, made_up.design, codes, 4000)
    generator = np.random.default_rng(2)
    weights = made_up.weights + 1e-2 * generator.normal(size=(4000, 9))
    offsets = 1e-2 * generator.normal(size=4000)
    truth = (features * weights).sum(axis=1) + offsets + 0.1 * generator.normal(size=4000)
    for level in (0.5, 0.95):
        found = made_up.interval(data, level)
        held = (found.low <= 10 * truth) & (10 * truth <= found.high)
        # 4,000 draws: the share is off by 5 s.d. less than once in a million.
        assert abs(held.mean() - level) < 5 * np.sqrt(level * (1 - level) / 4000)
    with pytest.raises(ValueError, match="level must lie"):
        made_up.interval(data, 1.0)
    with pytest.raises(ValueError, match="gives no intervals"):
        model().interval(data)


def test_an_offset_is_published_where_there_is_no_intercept():
    without, within = model(intercept=False, offset=0.25), model(offset=0.25)
    assert f'{OFFSET},"",0.25' in without.files()["weights.csv"].decode()
    assert OFFSET not in within.files()["weights.csv"].decode()
    assert without.agrees(without.files()) and not without.agrees(within.files())
    assert "A model that predicts cost" in without.words()


def test_a_release_without_intercept_is_saved_and_read(tmp_path):
    from sfumato.privacy.saved import load, verify

    method = KNormRegression(epsilon=1, target="cost", intercept=False)
    release = method.release(made.table(made.made(20)))
    folder = release.save(tmp_path / "out")
    assert verify(folder).passed
    data = made.frame(made.made(5))
    np.testing.assert_array_equal(load(folder).predict(data), release.predict(data))


def test_coefficients_are_told_in_own_units_and_with_how_sure_they_are():
    spread = np.diag(np.linspace(1e-4, 1e-3, 10))
    made_up = model(deviation=0.1, covariance=spread)
    told = made_up.coefficients
    assert dict(zip(told.names, told.adds.tolist(), strict=True)) == pytest.approx(made_up.coef)
    # By draws: the same map, of weights that are normal around those released.
    generator = np.random.default_rng(3)
    both = np.append(made_up.weights, 0.0) + generator.normal(size=(4000, 10)) * np.sqrt(
        spread.diagonal()
    )
    drawn = [
        list(own_units(made_up.public, made_up.design, one[:-1], one[-1], (0.0, 10.0)).values())
        for one in both
    ]
    # 4,000 draws: a standard deviation is off by 5.6 % (5 s.d.) less than once in a million.
    seen = np.std(drawn, axis=0)
    assert seen == pytest.approx(told.deviations, rel=0.056)
    # Categories are against the first that was declared, which adds nothing, surely.
    assert told.adds[told.names.index(("ward", "north"))] == 0
    assert told.deviations[told.names.index(("ward", "north"))] == 0
    assert made_up.per("ward", "south") == "south instead of north"


def test_a_file_of_coefficients_is_checked_and_must_be_there():
    made_up = model(deviation=0.1, covariance=np.diag(np.full(10, 1e-4)))
    files = made_up.files()
    head = files["coefficients.csv"].decode().splitlines()[0]
    assert head == "column,value,adds,standard_deviation"
    assert made_up.agrees(files)
    assert not made_up.agrees({"weights.csv": files["weights.csv"]})
    assert not made_up.agrees({"coefficients.csv": files["coefficients.csv"]})
    table = pl.read_csv(files["coefficients.csv"])
    for name in ("adds", "standard_deviation"):
        wrong = table.with_columns(pl.col(name) * 1.001).write_csv().encode()
        assert not made_up.agrees({**files, "coefficients.csv": wrong})
    assert not made_up.agrees({**files, "coefficients.csv": b"nonsense"})
    assert not model().agrees(files)
