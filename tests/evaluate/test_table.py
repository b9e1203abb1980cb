import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.evaluate.table import (
    WARNING,
    average_total_variation,
    evaluate,
    total_variation,
)

COLUMNS = {"age": (0, 40, 4), "sex": ["f", "m"], "smoker": ["no", "yes"]}


@pytest.fixture(scope="module")
def table():
    generator = np.random.default_rng(3)
    frame = pl.DataFrame(
        {
            "age": generator.integers(0, 40, 500),
            "sex": generator.choice(["f", "m"], 500),
            "smoker": generator.choice(["no", "yes"], 500),
        }
    )
    return sf.Table(frame, sf.Schema.from_dict(COLUMNS))


def test_total_variation_is_half_the_sum_of_absolute_differences_of_shares():
    assert total_variation(np.array([1, 3]), np.array([30.0, 10.0])) == pytest.approx(0.5)


def test_total_variation_of_tables_that_share_no_cell_is_one():
    assert total_variation(np.array([5, 0]), np.array([0, 2])) == 1.0


def test_total_variation_with_an_empty_table():
    nothing, something = np.zeros(3), np.array([0, 1, 2])
    assert total_variation(nothing, nothing) == 0.0
    assert total_variation(nothing, something) == 1.0
    assert total_variation(something, nothing) == 1.0


def test_total_variation_refuses_tables_of_different_shapes():
    with pytest.raises(ValueError, match="one shape"):
        total_variation(np.zeros(3), np.zeros(4))


def test_a_release_without_noise_is_at_distance_zero(table):
    release = sf.Marginals(epsilon=10**6).release(table)
    outcome = evaluate(table, release)
    assert [s.average for s in outcome.summaries] == pytest.approx([0, 0, 0], abs=1e-9)
    assert average_total_variation(table, release, ways=2) == pytest.approx(0, abs=1e-9)


def test_more_noise_is_further_away(table):
    near = average_total_variation(table, sf.Marginals(epsilon=100).release(table), ways=2)
    far = average_total_variation(table, sf.Marginals(epsilon="0.01").release(table), ways=2)
    assert near < far <= 1


def test_tables_that_are_not_released_are_counted_as_missing(table):
    release = sf.Marginals(epsilon=10, tables=[("age", "sex"), ("smoker",)]).release(table)
    outcome = evaluate(table, release, ways=(1, 2, 3))
    assert [len(s.distances) for s in outcome.by_ways] == [3, 1, 0]
    assert [s.missing for s in outcome.by_ways] == [0, 2, 1]
    assert outcome.by_ways[2].average is None and outcome.by_ways[2].worst is None
    assert outcome.released.distances[0].name == "age × sex"


def test_a_release_is_compared_in_the_columns_that_it_used(table):
    release = sf.Marginals(epsilon=10, tables=[("age", "sex")]).release(table)
    outcome = evaluate(table, release, ways=(1, 2))
    assert [len(s.distances) for s in outcome.by_ways] == [2, 1]
    assert [s.missing for s in outcome.by_ways] == [0, 0]


def test_the_document_says_that_it_is_not_private(table):
    release = sf.Histogram(epsilon=10).release(table)
    document = evaluate(table, release).to_json()
    assert document["private"] is False
    assert document["warning"] == WARNING and "Not private" in WARNING


def test_a_release_with_another_schema_is_refused(table):
    other = sf.Table(
        pl.DataFrame({"age": [1], "sex": ["f"], "smoker": ["no"]}),
        sf.Schema.from_dict({**COLUMNS, "age": (0, 40, 8)}),
    )
    with pytest.raises(ValueError, match="not that of the release"):
        evaluate(table, sf.Marginals(epsilon=1).release(other))


def test_ways_must_fit_the_columns(table):
    with pytest.raises(ValueError, match="from 1 to the number of columns, 3"):
        evaluate(table, sf.Marginals(epsilon=1).release(table), ways=(4,))
