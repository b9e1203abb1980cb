"""The default linear regression: its suite, what it chooses, and that it says why."""

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato import noise
from sfumato.audit import Pair, canonical_pairs, examine
from sfumato.mechanisms.objective import ObjectivePerturbation
from sfumato.regression import linear_regression
from sfumato.regression.intervals import IntervalChoice
from sfumato.regression.linear_regression import LinearRegression
from sfumato.regression.objective_regression import ObjectiveEstimator
from sfumato.regression.preparation import FEATURE_TAILS, RESPONSE_TAILS
from sfumato.regression.rows import ROW
from sfumato.regression.tail_queries import ShellCounts
from tests.method_suite import MethodSuite
from tests.regression import made

SMALL = {
    "target": "cost",
    "response": "declared",
    "features": "declared",
    "bound": 3,
    "radius": 1,
    "rows": "clip",
}


class DefaultSuite(MethodSuite):
    """Scales are declared, so that every budget has the same steps."""

    name = "table.LinearRegression"
    options = SMALL
    sampled = False

    @pytest.fixture(autouse=True)
    def few_made_up_tables(self, monkeypatch):
        # Which estimator is chosen does not matter here, and noisy counts ask for many choices.
        monkeypatch.setattr("sfumato.regression.estimator_choice.SEARCHED", range(1))
        monkeypatch.setattr("sfumato.regression.estimator_choice.COMPARED", range(6, 7))

    def audited_public(self):
        return self.data().public

    def data(self):
        return made.table(made.made(40), relation="replace_one")

    def neighbours(self):
        return made.replaced_pairs()

    def pairs(self):
        return [
            *canonical_pairs(self.audited_public())[:1],
            *(Pair(f"pair {number}", *pair) for number, pair in enumerate(self.neighbours()[:3])),
        ]

    def halve_noise(self, monkeypatch):
        super().halve_noise(monkeypatch)
        monkeypatch.setattr(
            ObjectivePerturbation, "scale", property(lambda p: p.reach / p.noise / 2)
        )

    def halve_sensitivity(self, monkeypatch):
        # Rows of length 2 where 1 is declared.
        super().halve_sensitivity(monkeypatch)
        monkeypatch.setattr("sfumato.regression.rows.ROW", 2 * ROW)

    def fact(self, release):
        return release.weights


class TestDefault(DefaultSuite):
    pass


class TestDefaultCounted(DefaultSuite):
    """The number of records is private: it is counted first, and the choice follows the count."""

    def data(self):
        return made.table(made.made(40))

    def neighbours(self):
        return made.row_pairs()


def examine_paid(monkeypatch, delta, relation):
    """Return the audit of paid scales and tails on equal records and one at the declared edge."""
    monkeypatch.setattr("sfumato.regression.estimator_choice.SEARCHED", range(1))
    monkeypatch.setattr("sfumato.regression.estimator_choice.COMPARED", range(6, 7))
    usual = [("south", 50.0, False, 0.0)] * 59
    other = usual[:1] if relation == "replace_one" else []
    with_edge, without = ([*usual, *more] for more in ([("west", 100.0, True, 10.0)], other))
    pair = Pair("edge", *(made.table(rows, relation=relation) for rows in (without, with_edge)))
    method = LinearRegression(
        epsilon=1, delta=delta, target="cost", response="paid", features="paid"
    )
    return examine(method, pair, seeds=(0,))


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
@pytest.mark.parametrize("delta", [None, "1e-6"])
def test_paid_scales_and_tails_are_private_for_a_record_at_the_edge(monkeypatch, delta, relation):
    assert examine_paid(monkeypatch, delta, relation).passed


COUNT_SHELLS, SCORE = ShellCounts.answer, IntervalChoice.scores
FAULTS = {
    "shells counted three times": (
        ShellCounts,
        "answer",
        lambda query, data: 3 * COUNT_SHELLS(query, data),
    ),
    "shells that hold those beyond": (
        ShellCounts,
        "answer",
        lambda query, data: np.cumsum(COUNT_SHELLS(query, data)[::-1])[::-1].astype(np.int64),
    ),
    "scores that move twice as far": (IntervalChoice, "scores", lambda *given: 2 * SCORE(*given)),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_an_audit_finds_faults_of_scales_and_tails(monkeypatch, fault):
    place, name, wrong = FAULTS[fault]
    monkeypatch.setattr(place, name, wrong)
    assert not examine_paid(monkeypatch, None, "replace_one").passed


def count_everywhere(shells, numbers, records):
    """Return the counts of shells where a record counts in every column: the fault."""
    pairs = zip(shells, numbers, strict=True)
    counts = [np.bincount(number, minlength=one.ends.size + 1)[1:] for one, number in pairs]
    return np.concatenate(counts).astype(np.int64)


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_a_record_that_is_far_out_in_every_column_costs_no_more(monkeypatch, relation):
    monkeypatch.setattr("sfumato.regression.estimator_choice.SEARCHED", range(1))
    monkeypatch.setattr("sfumato.regression.estimator_choice.COMPARED", range(6, 7))
    names = [f"x{number}" for number in range(5)]
    columns = {name: {"kind": "real", "low": 0, "high": 100} for name in (*names, "cost")}
    schema = sf.Schema.from_dict(columns, relation=relation)
    usual = [50.0] * 59
    tables = [
        sf.Table(pl.DataFrame(dict.fromkeys(columns, values)), schema)
        for values in (usual, [*usual[relation == "replace_one" :], 100.0])
    ]
    method = LinearRegression(epsilon=1, target="cost", response="paid", features="paid")
    pair = Pair("edge", *tables)
    assert examine(method, pair, seeds=(0,)).passed
    monkeypatch.setattr("sfumato.regression.tail_queries.count_farthest", count_everywhere)
    assert not examine(method, pair, seeds=(0,)).passed


def large(rows=4000, **options):
    schema = {
        **made.COLUMNS,
        "age": {"kind": "real", "low": 0, "high": 100},
        "cost": {"kind": "real", "low": -10, "high": 10},
    }
    return sf.Table(made.frame(made.made(rows)), sf.Schema.from_dict(schema, **options))


@pytest.mark.parametrize("delta", [None, 1e-6])
def test_weights_are_found(delta):
    data = large(relation="replace_one")
    with noise.seeded(3):
        release = LinearRegression(epsilon=5, delta=delta, target="cost").release(data)
    coef = release.coef
    # The truth is 0.1 a year and 2 for smokers; the seed is fixed.
    assert coef["age", ""] == pytest.approx(0.1, abs=0.02)
    assert coef["smokes", "true"] == pytest.approx(2, abs=0.5)
    told = release.predict(pl.DataFrame({"ward": ["north"], "age": [90.0], "smokes": [True]}))
    assert told[0] == pytest.approx(6, abs=1.2)


def test_the_choice_follows_the_public_size():
    few, many = (made.table(made.made(rows), relation="replace_one").public for rows in (30, 3000))
    method = LinearRegression(epsilon=1, target="cost")
    chosen = [method._candidate(public, float(public.rows)) for public in (few, many)]
    assert chosen[0] != chosen[1]
    # The same again, from scratch.
    linear_regression.find_fit.cache_clear()
    assert method._candidate(few, 30.0) == chosen[0]


def test_a_plan_says_what_was_chosen_and_when_a_delta_does_harm():
    public = large(500, relation="replace_one").public
    words = str(LinearRegression(epsilon=1, target="cost").plan(public))
    assert "Chosen on synthetic tables of about 512 records" in words and "without noise" in words
    unknown = large(500).public
    assert "counted first" in str(LinearRegression(epsilon=1, target="cost").plan(unknown))
    small = LinearRegression(epsilon="0.001", target="cost").plan(public)
    assert "no model is worth its price" in str(small)


def test_what_the_custodian_fixes_is_kept():
    public = large(500, relation="replace_one").public
    method = LinearRegression(
        epsilon=1, target="cost", bound=2, radius=3, rows="clip", response="paid", features="paid"
    )
    candidate = method._candidate(public, 500.0)
    assert (candidate.radius, candidate.shape) == (3.0, "clip")
    preparation = method.preparation(public)
    assert (preparation.response, preparation.features) == ("paid", "paid")


def test_order_can_be_the_goal():
    data = large(2000, relation="replace_one")
    with noise.seeded(4):
        release = LinearRegression(epsilon=1, target="cost", goal="order").release(data)
    frame = made.frame(made.made(500, seed=9))
    ranks = [np.argsort(np.argsort(v)) for v in (release.predict(frame), frame["cost"].to_numpy())]
    assert np.corrcoef(*ranks)[0, 1] > 0.8


def test_what_does_not_fit_is_refused_before_anything_is_spent():
    data = made.table(made.made(5))
    for options, words in (
        ({"target": "nobody"}, "no column 'nobody'"),
        ({"target": "ward"}, "numbers or dates"),
        ({"target": "cost", "goal": "truth"}, "goal must be"),
    ):
        with pytest.raises(ValueError, match=words):
            LinearRegression(epsilon=1, **options).release(data)


def skewed(rows, seed):
    """Return a table whose numbers have long tails, and whose target is often 0 and then grows."""
    generator = np.random.default_rng(seed)
    staff = np.exp(generator.normal(4, 1.6, rows))
    region = generator.integers(0, 3, rows)
    sales = 20 * np.minimum(np.log1p(staff), 7) + 30 * region + generator.gamma(0.5, 40, rows)
    sales = np.where(generator.random(rows) < 0.2, 0, sales)
    return pl.DataFrame({"staff": staff, "region": [f"r{r}" for r in region], "sales": sales})


@pytest.mark.parametrize("delta", [None, 1e-6])
def test_more_budget_makes_no_model_worse_and_no_sibling_is_ahead(delta):
    columns = {
        "staff": {"kind": "real", "low": 0, "high": 50_000, "outside": "clamp"},
        "region": ["r0", "r1", "r2"],
        "sales": {"kind": "real", "low": 0, "high": 2_000, "outside": "clamp"},
    }
    data = sf.Table(skewed(6000, 1), sf.Schema.from_dict(columns, relation="replace_one"))
    test = skewed(4000, 2)
    truth = test["sales"].to_numpy()

    def left(method, epsilon):
        """Return the share of the variance that models leave, the mean of five."""
        found = []
        for seed in range(5):
            with noise.seeded(seed):
                model = method(epsilon=epsilon, delta=delta, target="sales").release(data)
            found.append(np.mean((model.predict(test) - truth) ** 2) / np.var(truth))
        return np.mean(found)

    low, middle, high = (left(LinearRegression, epsilon) for epsilon in (0.2, 1, 5))
    # The mean of the target leaves 1. Little can be told of it; the laws allow for five draws.
    assert max(low, middle, high) < 1
    assert middle < 1.02 * low and high < 1.02 * middle
    sibling = sf.ObjectiveRegression if delta is None else sf.AdaSSP
    assert high < 1.05 * left(sibling, 5)


def test_tails_are_paid_for_where_noise_would_not_hide_them():
    public = made.table([], rows_about=10_000).public

    def prepared(epsilon, **options):
        return LinearRegression(epsilon=epsilon, target="cost", **options).preparation(public)

    # Noise hides 2·√5·√2·20/ε records; a sixth of all may be hidden.
    assert RESPONSE_TAILS not in prepared(0.07).shares
    assert RESPONSE_TAILS in prepared(0.08).shares
    # Tails of features are never left unseen where their scales are paid for.
    assert FEATURE_TAILS in prepared(0.07, features="paid").shares
    # Without them an estimator cuts where its own method does.
    found = LinearRegression(epsilon=0.07, target="cost").estimator(public)
    assert found.residual_bound == ObjectiveEstimator().residual_bound
