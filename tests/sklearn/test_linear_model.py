"""Linear models of arrays: scikit-learn's own checks, what is learned, what is refused."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator

from sfumato import noise
from sfumato.privacy.ledger import BudgetExceeded, Ledger
from sfumato.privacy.loss import ApproxDP, PureDP
from sfumato.privacy.saved import load, verify
from sfumato.sklearn import PrivateLinearClassifier, PrivateLinearRegression, cost_of_folds
from sfumato.sklearn.arrays import limits

FRESH = "each fit draws fresh noise; two fits of the same rows differ"
UNDECLARED = "the check uses other classes than those declared; they are never read off the data"
NO_DEFAULT = "epsilon and what is public have no defaults"
#: The checks of scikit-learn that do not apply, and why.
EXEMPT = {
    "check_parameters_default_constructible": NO_DEFAULT,
    "check_fit_idempotent": FRESH,
    "check_supervised_y_2d": FRESH,
    "check_regressors_int": FRESH,
    "check_regressor_data_not_an_array": FRESH,
    "check_classifier_data_not_an_array": UNDECLARED,
    "check_classifiers_classes": UNDECLARED,
    "check_estimators_dtypes": UNDECLARED,
    "check_fit2d_1feature": UNDECLARED,
    "check_classifiers_one_label": "of ten rows with one label noise may guess the other",
}
#: What both kinds of model share.
QUICK = {"bounds": (-200, 200), "method": "KNormRegression"}


def regression(**options):
    return PrivateLinearRegression(
        **{"epsilon": 5, "target_bounds": (-500, 500), **QUICK, **options}
    )


def classifier(**options):
    return PrivateLinearClassifier(**{"epsilon": 5, "classes": (0, 1), **QUICK, **options})


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", [regression(), classifier()], ids=["numbers", "classes"])
def test_scikit_learn_finds_no_fault_but_those_listed(model):
    results = check_estimator(model, on_skip=None, on_fail=None)
    failed = {
        result["check_name"]: result["exception"]
        for result in results
        if result["status"] == "failed"
    }
    assert not set(failed) - set(EXEMPT), failed
    assert sum(result["status"] == "passed" for result in results) > 35


def made(rows=3000, seed=1):
    generator = np.random.default_rng(seed)
    X = generator.uniform(-1, 1, (rows, 3))
    y = 4 + X @ np.array([3.0, -2.0, 0.5]) + generator.normal(0, 0.3, rows)
    return X, y


KNOWN = {"bounds": (-1, 1), "target_bounds": (-6, 14)}


def test_weights_come_in_the_units_of_the_columns():
    X, y = made()
    with noise.seeded(2):
        model = PrivateLinearRegression(epsilon=4, **KNOWN, method="ObjectiveRegression")
        model.fit(X, y)
    known = LinearRegression().fit(X, y)
    # Seeded; the noise moves weights by a few hundredths.
    np.testing.assert_allclose(model.coef_, known.coef_, atol=0.3)
    assert model.intercept_ == pytest.approx(known.intercept_, abs=0.3)
    inside = np.clip(X @ model.coef_ + model.intercept_, -6, 14)
    np.testing.assert_allclose(model.predict(X), inside, atol=1e-3)
    assert model.score(X, y) > 0.9


def test_classes_are_told_apart():
    X, y = made()
    labels = np.where(y > 4, "high", "low")
    for method in ("ObjectiveRegression", "FunctionalRegression"):
        with noise.seeded(2):
            model = PrivateLinearClassifier(
                epsilon=4, bounds=(-1, 1), classes=("low", "high"), method=method
            ).fit(X, labels)
        assert model.score(X, labels) > 0.85
        assert set(model.predict(X)) == {"low", "high"}


def test_every_fit_is_booked_and_the_release_is_like_any_other(tmp_path):
    X, y = made(200)
    ledger = Ledger.create(tmp_path / "a.ledger", allow=PureDP(2), unit="row")
    model = regression(epsilon=1, ledger=ledger)
    for _ in range(2):
        model.fit(X, y)
    assert ledger.spent == PureDP(2)
    with pytest.raises(BudgetExceeded):
        model.fit(X, y)
    model.release_.save(tmp_path / "release")
    assert verify(tmp_path / "release")
    assert load(tmp_path / "release").coef == model.release_.coef
    assert model.guarantee_.loss == PureDP(1)


def test_cloning_pipelines_and_folds():
    X, y = made(300)
    model = PrivateLinearRegression(epsilon=2, delta=1e-6, **KNOWN, method="AdaSSP")
    copy = clone(model)
    assert copy.get_params() == model.get_params() and copy is not model
    pipeline = make_pipeline(FunctionTransformer(np.tanh), model).fit(X, y)
    assert pipeline.predict(X).shape == (300,)
    assert cross_val_score(model, X, y, cv=3).shape == (3,)
    assert cost_of_folds(model, 3) == ApproxDP(4, "2e-6")
    assert cost_of_folds(regression(epsilon=1), 5) == PureDP(4)
    with pytest.raises(ValueError, match="at least 2"):
        cost_of_folds(model, 1)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"bounds": None}, "bounds must be given"),
        ({"bounds": (1, 0)}, "low < high"),
        ({"bounds": (0, float("nan"))}, "must be finite"),
        ({"bounds": ([0, 0], 1)}, "one number for each of the 3 columns"),
        ({"target_bounds": 3}, "target_bounds must be"),
        ({"epsilon": 0}, "epsilon must be"),
        ({"bounds": [(0, 1), (0, 1)]}, "a list of 3 pairs"),
        ({"bounds": [(0, 1), (5, 2), (0, 1)]}, "column 1 must be finite with low < high"),
        ({"method": "PrivBayes"}, "must be a regression: one of AdaSSP, "),
        ({"method": "Linear"}, "KNormRegression, LinearRegression, .* 'Linear' is none"),
        ({"method": "FunctionalRegression", "delta": 1e-6}, "leave delta out"),
        ({"method": "AdaSSP"}, "needs a delta"),
        ({"options": {"bound": -1}}, "bound must be"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_booked(tmp_path, options, words):
    X, y = made(30)
    ledger = Ledger.create(tmp_path / "a.ledger", allow=PureDP(9), unit="row")
    with pytest.raises(ValueError, match=words):
        regression(ledger=ledger, **options).fit(X, y)
    assert ledger.spent == PureDP(0)


def test_an_undeclared_class_names_its_row_and_not_its_value():
    X, _ = made(4)
    with pytest.raises(ValueError, match="row 2 holds another") as caught:
        classifier(classes=("a", "b")).fit(X, ["a", "b", "secret", "a"])
    assert "secret" not in str(caught.value)
    with pytest.raises(ValueError, match="two different values"):
        classifier(classes=("a", "a")).fit(X, ["a", "a", "a", "a"])


def test_intervals_are_told_by_methods_that_know_them():
    X, y = made(400)
    model = PrivateLinearRegression(epsilon=2, **KNOWN, method="RobustLinearRegression").fit(X, y)
    low, high = model.predict_interval(X)
    assert (low < high).all()
    with pytest.raises(ValueError, match="gives no intervals"):
        regression().fit(X, y).predict_interval(X)


@pytest.mark.parametrize(
    ("bounds", "count", "pairs"),
    [
        ((0, 1), 3, [(0, 1)] * 3),
        ((0, 1), 1, [(0, 1)]),
        ([(0, 120), (0, 1), (0, 1), (0, 80)], 4, [(0, 120), (0, 1), (0, 1), (0, 80)]),
        ([(0, 5), (10, 80)], 2, [(0, 5), (10, 80)]),
        (np.array([[0, 5], [10, 80]]), 2, [(0, 5), (10, 80)]),
        ((np.array([0, 10]), np.array([5, 80])), 2, [(0, 5), (10, 80)]),
        (([0, 1, 2], 9), 3, [(0, 9), (1, 9), (2, 9)]),
        ([(0, 5)], 1, [(0, 5)]),
    ],
)
def test_bounds_are_one_pair_for_all_or_a_pair_a_column(bounds, count, pairs):
    assert limits(bounds, count, "bounds") == pairs


@pytest.mark.parametrize("kind", ["list", "array", "polars", "pandas"])
def test_text_among_numbers_is_named_by_its_place_alone(kind):
    rows = [[1.0, "2"], [3.0, "SECRETAGE"], [5.0, "6"]]
    made_of = {
        "list": lambda: rows,
        "array": lambda: np.array(rows, dtype=object),
        "polars": lambda: pl.DataFrame({"a": [1, 3, 5], "b": ["2", "SECRETAGE", "6"]}),
        "pandas": lambda: pl.DataFrame({"a": [1, 3, 5], "b": ["2", "SECRETAGE", "6"]}).to_pandas(),
    }
    X = made_of[kind]()
    with pytest.raises(ValueError, match=r"column (1|'b'), row 1 .* holds text") as caught:
        regression().fit(X, [1, 2, 3])
    assert "SECRET" not in str(caught.value) and caught.value.__context__ is None
    with pytest.raises(ValueError, match=r"the target must be numbers; row 0") as caught:
        regression().fit([[1.0], [2.0], [3.0]], ["SECRET", 1.0, 2.0])
    assert "SECRET" not in str(caught.value)


SECRET = 4711.25
STAMP = np.datetime64("2020-01-01")
ODD = {
    "complex": (np.array([[SECRET + 1j], [2.0]]), [1.0, 2.0], "Complex data not supported"),
    "complex target": ([[1.0], [2.0]], [SECRET + 1j, 2.0], "Complex data not supported"),
    "one axis": ([SECRET, 2.0], [1.0, 2.0], "two axes"),
    "text in lists": ([[["4711"]], [["x4711"]]], [1.0, 2.0], "two axes"),
    "records": (np.array([("x4711",)] * 2, dtype=[("a", "U6")]).reshape(2, 1), [1, 2], "records"),
    "one text": ("4711", [1.0, 2.0], "two axes"),
    "text twice": (
        pd.DataFrame([["x4711", 1], [2, 3]], columns=["a", "a"]), [1.0, 2.0], "holds text",
    ),
    "too large": ([[4711 * 10**400], [1]], [1.0, 2.0], "double precision"),
    "dates": (np.array([[STAMP], [STAMP]]), [1.0, 2.0], "dates or durations"),
    "a frame of dates": (pd.DataFrame({"a": [STAMP, STAMP]}), [1.0, 2.0], "dates or durations"),
    "spans": ([[1.0], [2.0]], np.array([1, 2], dtype="m8[s]"), "dates or durations"),
}  # fmt: skip


@pytest.mark.parametrize("kind", ODD)
def test_what_is_no_number_is_refused_without_a_value(kind):
    # Dates would be counts of a unit that the finest of all rows decides.
    X, y, words = ODD[kind]
    with pytest.raises(ValueError, match=words) as caught:
        regression().fit(X, y)
    assert "4711" not in str(caught.value) and "4.711" not in str(caught.value)


def test_labels_that_make_all_others_complex_are_refused_without_a_value():
    with pytest.raises(ValueError, match="Complex data not supported") as caught:
        classifier().fit([[1.0], [2.0]], [4711, 1j])
    assert "4711" not in str(caught.value) and "4.711" not in str(caught.value)


def test_classes_that_one_label_could_merge_are_refused():
    # 2.0**53 makes floats of all labels, among which 2**53 and 2**53 + 1 are one.
    model = classifier(classes=(2**53, 2**53 + 1))
    with pytest.raises(ValueError, match=r"less than 2\*\*53; give them as text"):
        model.fit([[1.0], [2.0], [3.0]], [2**53, 2**53 + 1, 2.0**53])


def test_masked_values_are_refused_and_not_used():
    features = np.ma.masked_array([[0.0], [1.0]], mask=[[False], [True]])
    with pytest.raises(ValueError, match="must not be masked"):
        PrivateLinearRegression(epsilon=1, **KNOWN).fit(features, [0.0, 1.0])
