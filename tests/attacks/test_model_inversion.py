"""Model inversion on made-up people: against brute force, baselines, and what it says."""

from itertools import product

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato import noise
from sfumato.attacks import ModelInversion
from sfumato.attacks.additive import additive
from sfumato.attacks.knowledge import Values
from sfumato.attacks.outcome import Inversion, InversionOutcome, Quality
from sfumato.evaluate.warning import WARNING
from sfumato.mechanisms.expression.release import StatisticRelease
from sfumato.report.model_inversion import inversion_page, save_inversion
from sfumato.tabular.classifier import Classifier, Task

SCHEMA = sf.Schema.from_dict(
    {
        "age": {"kind": "real", "low": 0, "high": 100},
        "married": bool,
        "town": ["a", "b", "c"],
        "rich": bool,
    }
)


def people(rows=1500, seed=1):
    draw = np.random.default_rng(seed)
    age, married = draw.uniform(0, 100, rows), draw.random(rows) < 0.45
    town = draw.choice(["a", "b", "c"], rows, p=[0.2, 0.3, 0.5])
    score = 2.5 * married - 1.5 + (age - 50) / 40 + 0.8 * (town == "b")
    rich = draw.random(rows) < 1 / (1 + np.exp(-score))
    return pl.DataFrame({"age": age, "married": married, "town": town, "rich": rich})


@pytest.fixture(scope="module")
def table():
    return sf.Table(people(), SCHEMA)


@pytest.fixture(scope="module")
def model(table):
    with noise.seeded(1):
        return sf.FunctionalRegression(epsilon=20, target="rich", positive=["true"]).release(table)


def test_a_model_is_taken_apart_into_sums(table, model):
    sums = additive(model).sums(table)
    assert ((sums > 0) == model.predict(people())).all()
    likely = model.probability(people())
    assert 0.5 + 0.5 * np.tanh(sums / 2) == pytest.approx(likely)


def test_guesses_are_those_of_adding_up_all_records_that_agree(table, model):
    # Known: the age. Unknown: the town. Guessed: married. All from their definition.
    frame, rows = people(), 1500
    married, rich = frame["married"].to_numpy(), frame["rich"].to_numpy()
    said = {
        (z, t): model.predict(frame.with_columns(married=pl.lit(z), town=pl.lit(t)))
        for z, t in product([False, True], ["a", "b", "c"])
    }
    truth_said = model.predict(frame)
    shares = frame["town"].value_counts(normalize=True)
    town_share = dict(zip(shares["town"], shares["proportion"], strict=True))
    pi = {
        (y, out): np.mean(rich[truth_said == out] == y) for y, out in product([False, True], [0, 1])
    }
    scores = np.zeros((rows, 2))
    for row, z in product(range(rows), [False, True]):
        scores[row, int(z)] = np.mean(married == z) * sum(
            town_share[t] * pi[bool(rich[row]), int(said[z, t][row])] for t in "abc"
        )
    attack = ModelInversion(sensitive="married", known=["age"])
    assert (attack.guesses(table, model) == scores.argmax(axis=1)).all()
    sampled = ModelInversion(sensitive="married", known=["age"], combinations=1, samples=20_000)
    assert np.mean(sampled.guesses(table, model) != scores.argmax(axis=1)) < 0.01


def test_a_column_that_the_model_does_not_look_at_is_guessed_as_the_most_frequent_value(table):
    with noise.seeded(1):
        release = sf.FunctionalRegression(epsilon=1, target="rich", positive=["true"]).release(
            table
        )
    blind = type(release)(
        release.public, release.design, np.zeros_like(release.weights), positive=("true",)
    )
    guesses = ModelInversion(sensitive="town").guesses(table, blind)
    assert (guesses == 2).all()


def test_an_outcome_compares_with_what_needs_no_model(table, model):
    outcome = ModelInversion(sensitive="married").run(
        table, model, others=sf.Table(people(seed=2), SCHEMA)
    )
    frame = people()
    assert outcome["most frequent"].right == pytest.approx(1 - frame["married"].mean())
    alone = np.mean(frame["married"].to_numpy() == frame["rich"].to_numpy())
    assert outcome["target alone"].right == pytest.approx(alone)
    assert outcome["model without the column"].right == outcome["most frequent"].right
    assert outcome.gain > 0.05 and outcome.through_model.right <= 1
    assert outcome.known == ("age", "town") and outcome.unknown == ()
    assert outcome.quality.what == "accuracy" and outcome.quality.without is not None
    assert outcome.quality.without < outcome.quality.model
    document = outcome.to_json()
    assert document["private"] is False and document["warning"] == WARNING
    assert [item["name"] for item in document["others"]] == [
        item["name"] for item in document["guesses"]
    ]
    for words in ("married", "rich", "not in the data", "without married"):
        assert words in outcome.words()


def test_where_nothing_is_given_away_it_says_so(table, model):
    # Towns say little about being rich.
    outcome = ModelInversion(sensitive="town", known=[]).run(table, model, dropped=False)
    assert "no better than always guessing the most frequent value" in outcome.words()
    assert "not a significant difference" in outcome.words()
    assert outcome.verdict().startswith("Verdict: this attack does not infer town")
    assert outcome.quality.without is None


def test_what_the_attacker_knows_may_be_public_or_paid_for(table, model):
    public = sf.Table(people(400, seed=9), SCHEMA)
    told = ModelInversion(sensitive="married", pi="public").run(table, model, public=public)
    exact = ModelInversion(sensitive="married").run(table, model)
    assert told.source == "public" and told.gain == pytest.approx(exact.gain, abs=0.1)
    with noise.seeded(3):
        paid = ModelInversion(sensitive="married", pi="dp", epsilon=100).run(table, model)
        little = ModelInversion(sensitive="married", pi="dp", epsilon="1/1000").attacker(
            table, model
        )
    assert paid.gain == pytest.approx(exact.gain, abs=0.05)
    # With so much noise the shares are anything, and still shares.
    assert little.prior.sum() == pytest.approx(1) and (little.prior >= 0).all()
    assert little.knowledge.confusion.sum(axis=0) == pytest.approx([1, 1])


def test_numbers_are_cut_into_parts(table):
    with noise.seeded(2):
        model = sf.FunctionalRegression(epsilon=20, target="age").release(table)
    outcome = ModelInversion(sensitive="married").run(table, model)
    assert outcome.quality.what == "R²"
    assert outcome.through_model.right >= outcome["most frequent"].right - 0.01
    ages = ModelInversion(sensitive="age", values=4).run(
        table,
        sf.FunctionalRegression(epsilon=20, target="rich", positive=["true"]).release(table),
    )
    assert "age was cut into 4 intervals" in ages.words() and "25 to 50" in ages.words()
    assert outcome.target_parts[0].startswith("0 to ") and "age was cut into" in outcome.words()
    assert ages.values == 4 and 0.2 < ages.through_model.right < 0.6
    groups = Values.of(SCHEMA_PUBLIC, 0, 4)
    assert groups.labels == ("0 to 25", "25 to 50", "50 to 75", "75 to 100")
    assert groups.groups[groups.middles].tolist() == [0, 1, 2, 3]


SCHEMA_PUBLIC = sf.Table(people(2), SCHEMA).public


def test_many_ordered_values_are_put_together_and_the_reserved_ones_stay_apart():
    from sfumato.data.table import TablePublic

    public = TablePublic.of(
        sf.Schema.from_dict(
            {
                "visits": {"kind": "integer", "low": 0, "high": 99, "missing": "code"},
                "size": (0.0, 10.0, 20),
            }
        )
    )
    visits = Values.of(public, 0, 3)
    assert visits.labels == ("0 to 33", "34 to 66", "67 to 99", "(missing)")
    assert visits.groups[[0, 33, 34, 99, 100]].tolist() == [0, 0, 1, 2, 3]
    assert Values.of(public, 1, 2).labels == ("0 to 5", "5 to 10")


def test_a_classifier_can_be_attacked(table):
    task = Task.of(table.public, "rich", ("true",))
    weights = np.linspace(-1, 1, task.features.dimension)
    rule = Classifier(table.public, task, weights, "By hand.")
    assert ((additive(rule).sums(table) > 0) == rule.predict(people())).all()
    outcome = ModelInversion(sensitive="married").run(table, rule, dropped=False)
    assert outcome.target == "rich" and outcome.quality.what == "accuracy"


def test_records_without_a_target_are_left_out():
    schema = sf.Schema.from_dict(
        {
            "married": bool,
            "pay": {"kind": "real", "low": 0, "high": 1, "missing": "code"},
        }
    )
    draw = np.random.default_rng(1)
    married = draw.random(300) < 0.5
    pay = [None if i % 3 == 0 else float(0.3 + 0.4 * m) for i, m in enumerate(married)]
    table = sf.Table(pl.DataFrame({"married": married, "pay": pay}), schema)
    from sfumato.regression.design import Design
    from sfumato.regression.model import RegressionModel
    from sfumato.regression.rows import answering

    design = Design.of(table.public, answering(table.public, "pay"))
    model = RegressionModel(table.public, design, np.array([0.4, 0.0]))
    outcome = ModelInversion(sensitive="married").run(table, model, dropped=False)
    assert outcome.guesses[0].rows == 200
    assert outcome["model and errors"].right == 1


def test_what_does_not_fit_is_refused(table, model):
    with pytest.raises(ValueError, match="pi must be one of"):
        ModelInversion(sensitive="married", pi="guess")
    with pytest.raises(ValueError, match="give it with pi='dp'"):
        ModelInversion(sensitive="married", epsilon=1)
    with pytest.raises(ValueError, match="must be positive"):
        ModelInversion(sensitive="married", pi="dp", epsilon=0)
    with pytest.raises(ValueError, match="values must be at least 2"):
        ModelInversion(sensitive="married", values=1)
    for options, words in (
        ({"sensitive": "nobody"}, "no column 'nobody'"),
        ({"sensitive": "rich"}, "the target of the model"),
        ({"sensitive": "married", "known": ["married"]}, "leave it out of known"),
        ({"sensitive": "married", "pi": "public"}, "needs public=TABLE"),
    ):
        with pytest.raises(ValueError, match=words):
            ModelInversion(**options).run(table, model)
    with pytest.raises(ValueError, match="needs a release of a regression or a classifier"):
        additive(StatisticRelease.__new__(StatisticRelease))


def test_a_page_for_the_custodian(table, model, tmp_path):
    outcome = ModelInversion(sensitive="married", known=["age"]).run(table, model)
    page = inversion_page(outcome)
    for words in ("Do not publish", "Can married be guessed", "What to do", WARNING, "<svg"):
        assert words in page.replace("&#39;", "'")
    assert "script" not in page
    path = save_inversion(outcome, tmp_path / "attack.html")
    assert path.read_text(encoding="utf-8") == page


@pytest.mark.parametrize(
    ("alone", "through", "told", "verdict"),
    [
        (0.6, 0.7, "10.0 percentage points more often than by the best", "itself helps to infer"),
        (0.6, 0.61, "not significantly different", "reveals no more about married than rich does"),
        (0.7, 0.6, "10.0 percentage points more often than through", "reveals no more about"),
    ],
)
def test_sentences_are_those_a_custodian_can_act_on(alone, through, told, verdict):
    rights = {"most frequent": 0.5, "target alone": alone, "model": 0.5}
    rights |= {"model and errors": through, "model without the column": 0.5}
    outcome = InversionOutcome(
        sensitive="married",
        target="rich",
        values=2,
        known=(),
        unknown=(),
        source="train",
        quality=Quality("accuracy", 0.8, 0.7),
        guesses=tuple(Inversion(name, right, 2000) for name, right in rights.items()),
    )
    assert told in outcome.words() and verdict in outcome.verdict()
    assert "fresh noise" in outcome.words()
    assert outcome.to_json()["verdict"] == outcome.sentences()[-1]
