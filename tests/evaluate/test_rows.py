"""Comparisons of rows by their values, on tables where the answer is known."""

import json
from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.evaluate.rows import PARTS, CategoryColumn, NumberColumn, compare_rows
from sfumato.evaluate.table import average_total_variation
from sfumato.evaluate.values import group_column, read_rows

COLUMNS = {
    "gain": {"kind": "number", "low": 0, "high": 100_000, "bins": 16, "missing": "code"},
    "since": (date(2020, 1, 1), date(2020, 12, 31), 12),
    "sex": ["f", "m"],
    "rich": ["no", "yes"],
}
SCHEMA = sf.Schema.from_dict(COLUMNS)


def frame(rows=2000, seed=3):
    """Nine gains in ten are zero; whoever has another one is rich, but for one in ten."""
    generator = np.random.default_rng(seed)
    gain = np.where(np.arange(rows) % 10 == 0, 1 + np.arange(rows) % 4000, 0)
    rich = np.where((gain > 0) ^ (generator.random(rows) < 0.1), "yes", "no")
    days = generator.integers(0, 366, rows).tolist()
    return pl.DataFrame(
        {
            "gain": pl.Series(gain).cast(pl.Float64),
            "since": [date(2020, 1, 1) + timedelta(days=day) for day in days],
            "sex": generator.choice(["f", "m"], rows),
            "rich": rich,
        }
    )


@pytest.fixture(scope="module")
def truth():
    return frame()


@pytest.fixture(scope="module")
def spoiled(truth):
    """The same rows, each gain spread over the bin that it was counted in."""
    width = 100_000 / 16
    spread = np.random.default_rng(1).random(truth.height) * width
    binned = (truth["gain"] / width).floor() * width
    return truth.with_columns(gain=binned + pl.Series(spread))


def shuffle(rows):
    return rows.select(pl.col(name).shuffle(seed=n) for n, name in enumerate(rows.columns))


def column(outcome, name):
    (found,) = [column for column in outcome.columns if column.name == name]
    return found


def test_the_same_rows_have_no_distance_and_the_best_score(truth):
    outcome = compare_rows(truth, truth, schema=SCHEMA)
    first = outcome.scores[0]
    assert first.distances == (0, 0, 0) and first.k_marginal == 1000 and first.within == (1, 1, 1)
    gain = column(outcome, "gain")
    assert gain.truth == gain.released
    assert outcome.rows == truth.height and len(outcome.columns) == 4


def test_figures_are_those_of_the_values(truth):
    gain = column(compare_rows(truth, truth, schema=SCHEMA), "gain").truth
    values = truth["gain"].to_numpy()
    assert gain.mean == pytest.approx(values.mean())
    assert gain.quantiles == tuple(
        np.quantile(values, [0.05, 0.25, 0.5, 0.75, 0.95], method="inverted_cdf")
    )
    assert gain.zeros == gain.frequent == 0.9 and gain.missing == 0


def test_a_column_that_bins_call_perfect_is_found_by_its_values(truth, spoiled):
    outcome = compare_rows(truth, spoiled, schema=SCHEMA)
    tables = [sf.Table(rows, SCHEMA) for rows in (truth, spoiled)]
    assert average_total_variation(*tables, ways=1) == 0
    worst = outcome.columns[0]
    assert isinstance(worst, NumberColumn) and worst.name == "gain"
    assert worst.total_variation == pytest.approx(0.9)
    assert worst.truth.zeros == 0.9 and worst.released.zeros == 0
    assert worst.truth.quantiles[2] == 0 and worst.released.quantiles[2] > 1000
    assert worst.frequent == "0" and worst.released.frequent == 0
    assert "gain" in outcome.pairs[0].columns
    assert outcome.scores[0].k_marginal < outcome.scores[1].k_marginal
    assert "no better" in outcome.reading() and "not as good as" in outcome.reading()


def test_the_score_is_that_of_sdnist(truth, spoiled):
    outcome = compare_rows(truth, spoiled, schema=SCHEMA)
    sides = [read_rows(rows, SCHEMA, bounded=False) for rows in (truth, spoiled)]
    groups = [group_column(c.coding, *sides, number) for number, c in enumerate(SCHEMA.columns)]
    apart = []
    for first in range(4):
        for second in range(first):
            shares = [
                pl.DataFrame({"a": one, "b": two})
                .group_by("a", "b")
                .len(name)
                .with_columns(pl.col(name) / truth.height)
                for name, one, two in (
                    ("t", groups[first].truth, groups[second].truth),
                    ("r", groups[first].released, groups[second].released),
                )
            ]
            both = shares[0].join(shares[1], on=["a", "b"], how="full").fill_null(0.0)
            apart.append((both["t"] - both["r"]).abs().sum())
    assert outcome.scores[0].k_marginal == pytest.approx((2 - np.mean(apart)) * 500)


def test_shuffled_columns_keep_columns_and_lose_pairs(truth):
    shuffled = shuffle(truth)
    outcome = compare_rows(truth, shuffled, schema=SCHEMA)
    first, baseline, *parts = outcome.scores
    assert first.distances[0] == baseline.distances[0] == 0
    assert set(outcome.pairs[0].columns) == {"gain", "rich"}
    # In 9 % of rows somebody has a gain and is rich; of independent columns it were .1 · .18.
    assert outcome.pairs[0].total_variation == pytest.approx(2 * (0.09 - 0.018), abs=0.03)
    assert abs(first.k_marginal - baseline.k_marginal) < 30
    assert [score.rows for score in parts] == [round(2000 * part) for part in PARTS]
    scores = [score.k_marginal for score in parts]
    assert scores == sorted(scores) and scores[0] < 950


def test_groups_keep_a_frequent_value_apart_and_rare_categories_together():
    values = [0.0] * 50 + [0.25 * number for number in range(1, 51)]
    names = [f"v{number % 40 if number < 80 else 0}" for number in range(100)]
    rows = pl.DataFrame({"x": values, "name": names})
    schema = sf.Schema.from_dict({"x": (0, 100, 4), "name": [f"v{n}" for n in range(40)]})
    sides = [read_rows(rows, schema, bounded=False)] * 2
    numbers, categories = (
        group_column(c.coding, *sides, place) for place, c in enumerate(schema.columns)
    )
    assert numbers.labels[0] == "0" and (numbers.truth == 0).sum() == 50
    assert numbers.labels[1].startswith("0 – ") and numbers.labels[-1].startswith("> ")
    assert len(categories.labels) == 20 and categories.labels[0] == "v0"
    assert categories.labels[-1] == "all other values" and (categories.truth == 19).sum() == 42


def test_missing_values_and_dates_are_told(truth):
    gone = truth.with_columns(
        gain=pl.when(pl.int_range(pl.len()) % 4 == 0).then(None).otherwise(pl.col("gain")),
        since=pl.lit(date(2020, 2, 29)),
    )
    outcome = compare_rows(gone, truth, schema=SCHEMA)
    gain, since = column(outcome, "gain"), column(outcome, "since")
    assert (gain.truth.missing, gain.released.missing) == (0.25, 0)
    assert {label: share for label, share, _ in gain.groups}["(missing)"] == 0.25
    assert since.frequent == "2020-02-29" and since.truth.frequent == 1
    document = json.loads(json.dumps(outcome.to_json(), allow_nan=False))
    told = {item["column"]: item for item in document["columns"]}
    assert told["since"]["truth"]["quantile_50"] == "2020-02-29"
    assert told["gain"]["released"]["mean"] == pytest.approx(truth["gain"].mean())


def test_categories_tell_their_largest_differences(truth):
    women = truth.with_columns(sex=pl.lit("f"))
    sex = column(compare_rows(truth, women, schema=SCHEMA), "sex")
    share = (truth["sex"] == "f").mean()
    assert isinstance(sex, CategoryColumn)
    shares = {value: (truth, released) for value, truth, released in sex.differences}
    assert shares == {"f": (pytest.approx(share), 1), "m": (pytest.approx(1 - share), 0)}
    assert f"m {100 * (1 - share):.1f} → 0.0 %" in sex.words()


@pytest.mark.parametrize("target", ["rich", "gain"])
def test_a_rule_learnt_from_spoiled_rows_is_worse(truth, target):
    pytest.importorskip("sklearn")
    shuffled = shuffle(truth)
    outcome = compare_rows(truth, shuffled, schema=SCHEMA, target=target).classification
    assert outcome.rows == 400 and target in outcome.words()
    assert outcome.private_error < outcome.error


def test_contributions_are_bounded_as_declared():
    rows = pl.DataFrame({"who": ["a", "a", "b"], "x": [1.0, 9.0, 3.0]})
    schema = sf.Schema.from_dict({"x": (0, 10, 2)}, unit="person", person="who", max_rows=1)
    outcome = compare_rows(rows, rows.select("x"), schema=schema)
    assert outcome.rows == 2 and outcome.scores[0].rows == 3
    assert outcome.columns[0].truth.mean == 2
    assert outcome.scores[0].k_marginal is None and "no pairs" in outcome.reading()
    assert outcome.pairs == () and outcome.scores[0].cells()[2] == "—"


def test_an_empty_table_can_be_compared(truth):
    outcome = compare_rows(truth.clear(), truth, schema=SCHEMA)
    assert outcome.rows == 0 and column(outcome, "gain").truth.mean is None
    json.dumps(outcome.to_json(), allow_nan=False)
    assert outcome.blocks()


def test_very_many_pairs_are_compared_in_part(truth, spoiled, monkeypatch):
    monkeypatch.setattr("sfumato.evaluate.rows.MOST_TABLES", (5, 2, 2))
    outcome = compare_rows(truth, spoiled, schema=SCHEMA)
    assert len(outcome.pairs) + outcome.left_out == 6 and outcome.left_out >= 4
    assert f"{outcome.left_out} were left out" in outcome.blocks()[2].words


def test_wrong_wishes_are_refused(truth):
    with pytest.raises(ValueError, match="pass schema="):
        compare_rows(truth, truth)
    with pytest.raises(ValueError, match="there is no column"):
        compare_rows(truth, truth, schema=SCHEMA, target="wealth")


def test_the_page_is_marked_and_holds_nothing_from_outside(truth, spoiled, tmp_path):
    page = compare_rows(truth, spoiled, schema=SCHEMA).save_page(tmp_path / "page.html")
    text = page.read_text(encoding="utf-8")
    assert "NOT PRIVATE" in text and "Not to be published" in text
    assert text.count("<svg") == 4 + 4
    assert "K-marginal" in text and "90.0 %" in text
    for mark in ("<script", "<link", "src=", 'href="http'):
        assert mark not in text.replace('xlink:href="#', "")


@pytest.mark.parametrize("inside", ["page.html", "deeper/page.html"])
def test_no_page_is_written_into_a_release_folder(truth, tmp_path, inside):
    (tmp_path / "certificate.json").write_text("{}")
    (tmp_path / "deeper").mkdir()
    outcome = compare_rows(truth, truth, schema=SCHEMA)
    with pytest.raises(ValueError, match="inside the release folder"):
        outcome.save_page(tmp_path / inside)
    assert not (tmp_path / inside).exists()
