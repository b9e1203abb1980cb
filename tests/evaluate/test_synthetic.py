"""Comparisons of released rows with the private table, on tables where the answer is known."""

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.evaluate import paired_counts
from sfumato.evaluate import table as tables
from sfumato.evaluate.association import associations, cramers_v
from sfumato.evaluate.classifiers import mistakes, train_and_test
from sfumato.evaluate.ranges import ordered_columns, range_errors
from sfumato.evaluate.table import average_total_variation, evaluate
from tests.tabular.fixed import FixedSynthesis

COLUMNS = {"age": (0, 40, 4), "sex": ["f", "m"], "smoker": ["no", "yes"], "height": (0, 9)}


def frame(rows, seed=3):
    generator = np.random.default_rng(seed)
    age = generator.integers(0, 40, rows)
    return pl.DataFrame(
        {
            "age": age,
            "sex": generator.choice(["f", "m"], rows),
            # Whoever is over twenty smokes, but for one in ten.
            "smoker": np.where((age >= 20) ^ (generator.random(rows) < 0.1), "yes", "no"),
            "height": generator.integers(0, 10, rows),
        }
    )


def made(rows, seed=3):
    return sf.Table(frame(rows, seed), sf.Schema.from_dict(COLUMNS))


@pytest.fixture(scope="module")
def table():
    return made(3000)


@pytest.fixture(scope="module")
def release(table):
    return FixedSynthesis(epsilon=10**6).release(table)


def test_rows_without_noise_are_as_far_as_their_drawing_makes_them(table, release):
    outcome = evaluate(table, release, ways=(1, 2, 3))
    assert [len(s.distances) for s in outcome.by_ways] == [4, 6, 4]
    # The expected distance of drawn shares over c cells is at most √(c/(2πn)); 24 cells here.
    assert all(0 < s.average < 3 * np.sqrt(80 / (2 * np.pi * 3000)) for s in outcome.by_ways)
    assert outcome.released.what == "the tables of the model"


def test_two_ways_of_counting_the_distance_agree(table, release):
    direct = []
    for name, other in [("age", "sex"), ("age", "smoker"), ("sex", "smoker")]:
        columns = table.public.schema.indices([name, other])
        (truth,) = table.counts.marginals([columns])
        (rows,) = paired_counts.side_of(release).marginals([columns])
        direct.append(tables.total_variation(truth, rows))
    outcome = evaluate(table, release, ways=(2,))
    found = {d.columns: d.total_variation for d in outcome.by_ways[0].distances}
    assert direct == [found["age", "sex"], found["age", "smoker"], found["sex", "smoker"]]


def test_batches_do_not_change_the_distances(table, release, monkeypatch):
    whole = average_total_variation(table, release, ways=2)
    monkeypatch.setattr(paired_counts, "BATCH", 10)
    assert average_total_variation(table, release, ways=2) == whole


def test_very_many_tables_are_compared_in_part(table, release, monkeypatch):
    monkeypatch.setattr(tables, "MOST_SETS", 2)
    (summary,) = evaluate(table, release, ways=(2,)).by_ways
    assert len(summary.distances) + summary.left_out == 6
    assert 1 <= len(summary.distances) <= 2


def test_tables_that_are_too_large_are_left_out_and_counted(table, release, monkeypatch):
    monkeypatch.setattr(tables, "MOST_CELLS", 16)
    (summary,) = evaluate(table, release, ways=(2,)).by_ways
    assert summary.left_out == 3 and len(summary.distances) == 3


def test_rows_made_by_others_are_compared_alike(table):
    assert average_total_variation(table, table, ways=3) == 0.0
    assert average_total_variation(table, made(3000, seed=4), ways=1) > 0


def test_an_association_is_one_where_a_column_decides_and_zero_where_it_tells_nothing():
    assert cramers_v(np.array([[5, 0], [0, 7], [0, 1]])) == pytest.approx(1.0)
    assert cramers_v(np.array([[2, 4], [3, 6]])) == pytest.approx(0.0, abs=1e-12)
    assert cramers_v(np.array([[2, 4], [0, 0]])) == 0.0
    assert cramers_v(np.zeros((2, 2))) == 0.0


def test_cramers_v_is_scipys():
    from scipy.stats.contingency import association

    counts = np.array([[5, 9, 2], [7, 1, 4]])
    assert cramers_v(counts) == pytest.approx(association(counts, method="cramer"))


def test_associations_of_a_faithful_release_are_close_and_of_a_careless_one_are_not(table, release):
    near = associations(table, release)
    assert near.average_error < 0.05
    strong = {pair.columns: pair for pair in near.pairs}["age", "smoker"]
    assert strong.truth > 0.7 and strong.error < 0.05
    shuffled = frame(3000).with_columns(pl.col("smoker").shuffle(seed=1))
    careless = associations(table, sf.Table(shuffled, sf.Schema.from_dict(COLUMNS)))
    assert careless.worst.columns == ("age", "smoker") and careless.worst.error > 0.5


def test_ranges_are_drawn_over_ordered_columns_and_counted_exactly(table):
    assert ordered_columns(table.public) == (0, 3)
    outcome = range_errors(table, table, queries=200)
    assert len(outcome.queries) == 200
    assert {item.columns for item in outcome.queries} == {("age",), ("height",), ("age", "height")}
    assert outcome.average == outcome.median == 0.0
    assert all(0 <= item.truth <= 3000 for item in outcome.queries)
    assert any(item.truth == 3000 for item in outcome.queries)


def test_a_relative_error_is_judged_by_the_larger_of_the_count_and_a_thousandth(table):
    half = sf.Table(frame(3000).head(1500), sf.Schema.from_dict(COLUMNS))
    outcome = range_errors(table, half, queries=100)
    for item in outcome.queries:
        assert item.relative == pytest.approx(abs(item.truth - item.released) / max(item.truth, 3))
    assert 0.3 < outcome.median < 0.7


def test_the_same_ranges_are_asked_of_two_releases(table, release):
    other = FixedSynthesis(epsilon=1).release(table)
    first, second = (range_errors(table, item, queries=50) for item in (release, other))
    assert [q.truth for q in first.queries] == [q.truth for q in second.queries]


def test_a_table_without_ordered_columns_has_no_ranges():
    plain = sf.Table(pl.DataFrame({"sex": ["f", "m"]}), {"sex": ["f", "m"]})
    outcome = range_errors(plain, plain)
    assert outcome.queries == () and outcome.average is None and outcome.median is None


@pytest.mark.parametrize("rule", ["svm", "logistic"])
def test_a_rule_learnt_from_faithful_rows_is_as_good_as_one_from_private_rows(table, release, rule):
    pytest.importorskip("sklearn")
    outcome = train_and_test(table, release, target="smoker", rule=rule)
    assert outcome.rows == 600
    # Nobody can do better than one error in ten; 600 rows tell it within 5 standard deviations.
    assert abs(outcome.error - 0.1) < 0.062 and abs(outcome.private_error - 0.1) < 0.062
    assert outcome.majority_error > 0.4


def test_a_test_on_other_rows_uses_all_private_rows_to_learn(table, release):
    pytest.importorskip("sklearn")
    fresh = made(400, seed=9)
    outcome = train_and_test(
        table, release, target="age", positive=["[20, 30)", "[30, 40]"], test=fresh
    )
    assert outcome.rows == 400 and outcome.error < 0.2


def test_rows_of_one_class_leave_one_guess(table):
    lonely = frame(50).with_columns(smoker=pl.lit("no"))
    outcome = train_and_test(
        table, sf.Table(lonely, sf.Schema.from_dict(COLUMNS)), target="smoker", rule="logistic"
    )
    assert 0.3 < outcome.error < 0.7


def test_wrong_wishes_are_refused(table, release):
    with pytest.raises(ValueError, match="rule must be"):
        train_and_test(table, release, target="smoker", rule="magic")
    with pytest.raises(ValueError, match="positive must hold"):
        train_and_test(table, release, target="smoker", positive=["perhaps"])
    with pytest.raises(ValueError, match="there is no column"):
        evaluate(table, release, predict=["wealth"])
    with pytest.raises(ValueError, match="this release holds tables"):
        evaluate(table, sf.Marginals(epsilon=1).release(table), predict=["sex"])


def test_the_whole_evaluation_says_that_it_is_not_private(table, release):
    pytest.importorskip("sklearn")
    document = evaluate(table, release, queries=20, predict=["smoker"]).to_json()
    assert document["private"] is False and "Not private" in document["warning"]
    for part in (document["associations"], document["ranges"], *document["classifications"]):
        assert part["private"] is False


def test_an_empty_table_can_be_evaluated():
    nobody = made(0)
    release = FixedSynthesis(epsilon=1).release(nobody)
    outcome = evaluate(nobody, release, queries=10, predict=["sex"])
    assert outcome.classifications[0].rows == 0
    assert all(s.average == 1.0 for s in outcome.by_ways) or release.rows == 0


def test_a_released_rule_is_tested_on_private_rows(table):
    rule = sf.PrivateERM(epsilon=100, target="smoker", positive=["yes"]).release(table)
    outcome = mistakes(table, rule)
    yes = frame(3000)["smoker"] == "yes"
    wrong = rule.predict(frame(3000)) != yes.to_numpy()
    assert outcome.error == pytest.approx(wrong.mean()) and outcome.rows == 3000
    assert outcome.majority_error == pytest.approx(min(yes.mean(), 1 - yes.mean()))
    assert outcome.to_json()["private"] is False
    assert mistakes(made(0), rule).rows == 0
