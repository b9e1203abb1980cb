import numpy as np
import polars as pl
import pytest

from sfumato.privacy.ledger import BudgetExceeded, Ledger
from sfumato.privacy.loss import PureDP

pytest.importorskip("sklearn")
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sfumato.sklearn import PrivateNaiveBayes

SCHEMA = {"age": (0, 100, 10), "smokes": ["no", "yes"], "ill": ["no", "yes"]}


def population(rows=4000, seed=0):
    generator = np.random.default_rng(seed)
    ill = generator.random(rows) < 0.4
    age = np.clip(generator.normal(np.where(ill, 65, 40), 12), 0, 99).round()
    smokes = generator.random(rows) < np.where(ill, 0.6, 0.2)
    words = np.array(["no", "yes"])
    return pl.DataFrame({"age": age, "smokes": words[smokes.astype(int)]}), words[ill.astype(int)]


def estimator(**options):
    return PrivateNaiveBayes(**{"epsilon": 1, "schema": SCHEMA, "target": "ill", **options})


def test_it_learns_with_a_modest_budget():
    X, y = population()
    fresh, truth = population(seed=1)
    model = estimator().fit(X, y)
    assert model.score(fresh, truth) > 0.85
    assert "ε = 1 for any one row" in str(model.guarantee_)
    np.testing.assert_allclose(model.predict_proba(fresh).sum(axis=1), 1)


def test_fit_books_and_is_refused_when_nothing_is_left(tmp_path):
    X, y = population(200)
    ledger = Ledger.create(tmp_path / "a.ledger", allow=PureDP(1))
    estimator(ledger=ledger).fit(X, y)
    assert [entry.kind for entry in ledger.history()] == ["fit"]
    with pytest.raises(BudgetExceeded):
        estimator(ledger=ledger).fit(X, y)


def test_it_works_in_pipelines_and_with_pandas_and_clone():
    X, y = population(800)
    model = make_pipeline(FunctionTransformer(), estimator(epsilon=10))
    assert clone(model).fit(X.to_pandas(), y).score(X.to_pandas(), y) > 0.7
    scores = cross_val_score(estimator(epsilon=10), X.to_pandas(), y, cv=3)
    assert scores.mean() > 0.7


def test_what_is_learned_is_a_function_of_the_release(tmp_path):
    X, y = population(300)
    model = estimator().fit(X, y)
    from sfumato.privacy.saved import load, verify

    folder = model.release_.save(tmp_path / "out")
    assert verify(folder).passed
    again = load(folder)
    np.testing.assert_allclose(again.counts(["age", "ill"]), model.release_.counts(["age", "ill"]))


def test_bad_input_is_refused_before_anything_is_spent(tmp_path):
    X, y = population(50)
    ledger = Ledger.create(tmp_path / "a.ledger", allow=PureDP(1))
    with pytest.raises(ValueError, match="same number of rows"):
        estimator(ledger=ledger).fit(X, y[:-1])
    with pytest.raises(ValueError, match="weight"):
        estimator(ledger=ledger, target="weight").fit(X, y)
    assert ledger.history() == []


@pytest.mark.parametrize("values", [[0, 1], [False, True], ["no", "yes"]])
def test_classes_keep_the_type_of_the_target(values):
    X, y = population(600)
    typed = np.array([values[int(answer == "yes")] for answer in y])
    schema = {**SCHEMA, "ill": values if values != [False, True] else bool}
    model = PrivateNaiveBayes(epsilon=10, schema=schema, target="ill").fit(X, typed)
    assert model.classes_.tolist() == values
    assert model.score(X, typed) > 0.7


def test_a_target_that_is_no_category_is_refused_before_it_costs(tmp_path):
    X, y = population(50)
    ledger = Ledger.create(tmp_path / "a.ledger", allow=PureDP(1))
    with pytest.raises(ValueError, match="must be a category"):
        estimator(target="age", ledger=ledger).fit(X, y)
    assert ledger.history() == []


def test_a_feature_whose_values_are_to_be_found_is_refused_before_it_costs(tmp_path):
    X, y = population(50)
    ledger = Ledger.create(tmp_path / "a.ledger", allow=PureDP(1))
    schema = {**SCHEMA, "age": "discover"}
    with pytest.raises(ValueError, match="cannot find the values of 'age'"):
        estimator(schema=schema, ledger=ledger).fit(X, y)
    assert ledger.history() == []
