"""A synthetic table says what its model says, and publishes rows that anybody can draw again."""

import io
import json
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.data.table import TablePublic
from sfumato.privacy.saved import load, verify
from sfumato.tabular.dependence import joins, pairs_of
from sfumato.tabular.model import Network, Part
from sfumato.tabular.pictures import places, separate_boxes
from sfumato.tabular.synthetic import MOST_ROWS, NoisyTable, SyntheticTable
from tests.tabular import tables
from tests.tabular.fixed import FixedModel, FixedSynthesis

CHAIN = Network(True, (Part((0,), (0,)), Part((1, 0), (0, 0)), Part((2, 1, 0), (0, 0, 0))))
ALONE = Network(False, tuple(Part((column,), (0,)) for column in range(3)))


def joint():
    return np.random.default_rng(4).random((3, 4, 2))


def synthetic(total=500.0, network=None, measured=(), **options):
    public = TablePublic.of(tables.schema(**options))
    return SyntheticTable(public, FixedModel(joint(), network), total, measured)


@pytest.fixture(scope="module")
def release():
    return FixedSynthesis(epsilon=1).release(tables.table(tables.made(2000)))


def test_counts_are_the_models_probabilities_times_the_total():
    counts = synthetic().counts(["left", "colour"])
    share = joint().sum(axis=1).T / joint().sum()
    np.testing.assert_allclose(counts, 500 * share)


def test_a_marginal_names_the_values_and_the_margin_where_it_was_measured():
    measured = [
        NoisyTable("a", (0, 1), (0, 0), 12, 3.0),
        NoisyTable("b", (0, 2), (0, 0), 6, 3.0),
        NoisyTable("c", (1, 2), (1, 0), 4, 0.5),
    ]
    made = synthetic(measured=measured)
    frame = made.marginal(["colour"])
    assert frame.columns == ["colour", "count", "margin"]
    assert frame["colour"].to_list() == ["red", "green", "blue"]
    # Two cells are added up in the smaller of the two tables that hold the column.
    assert frame["margin"].to_list() == pytest.approx([1.96 * 3 * 2**0.5] * 3, rel=1e-3)
    # A generalised column does not tell the counts of its values.
    assert made.margin(["size"]) == pytest.approx(1.96 * 3 * 3**0.5, rel=1e-3)
    assert made.marginal(["colour", "size", "left"])["margin"].null_count() == 24


@pytest.mark.parametrize("columns", [[], ["size", "size"], ["height"]])
def test_a_marginal_of_no_columns_of_the_table_is_refused(columns):
    with pytest.raises(ValueError, match=r"name one or more|there is no column"):
        synthetic().marginal(columns)


def test_a_column_called_count_keeps_its_name():
    schema = sf.Schema.from_dict({"count": ["a", "b"]})
    made = SyntheticTable(TablePublic.of(schema), FixedModel([1, 3]), 40.0)
    assert made.marginal(["count"]).columns == ["count", "count_", "margin"]


def test_rows_have_the_custodians_columns_and_types_in_any_backend():
    generator = np.random.default_rng(1)
    frame = synthetic().sample(50, generator=generator)
    assert frame.schema == {"colour": pl.String, "size": pl.Int64, "left": pl.Boolean}
    assert frame.height == 50
    assert synthetic().sample().height == 500
    assert synthetic().sample(0).height == 0
    assert list(synthetic().sample(5, backend="pandas").columns) == ["colour", "size", "left"]


def test_rows_follow_the_model():
    made = synthetic()
    frame = made.sample(20_000, generator=np.random.default_rng(2))
    seen = frame["colour"].value_counts().sort("colour")["count"].to_numpy() / 20_000
    expected = made.counts(["colour"])[[2, 1, 0]] / 500
    # Six standard deviations of a share: false alarms below one in ten million.
    assert np.abs(seen - expected).max() < 6 * np.sqrt(0.25 / 20_000)


def test_negative_numbers_of_rows_are_refused():
    with pytest.raises(ValueError, match="must not be negative"):
        synthetic().sample(-1)


@pytest.mark.parametrize(
    ("total", "options", "rows"),
    [
        (12.4, {}, 12),
        (-3.0, {}, 0),
        (1e12, {}, MOST_ROWS),
        (1e12, {"rows_about": MOST_ROWS}, 2 * MOST_ROWS),
        (300.0, {"rows_about": 10}, 300),
    ],
)
def test_an_absurd_total_is_not_drawn(total, options, rows):
    assert synthetic(total=total, **options).rows == rows


def test_a_model_of_another_table_is_refused():
    public = TablePublic.of(tables.schema())
    with pytest.raises(ValueError, match="sizes"):
        SyntheticTable(public, FixedModel(np.ones((2, 2))), 10.0)
    with pytest.raises(ValueError, match="finite"):
        SyntheticTable(public, FixedModel(joint()), float("nan"))


def test_the_published_rows_can_be_drawn_again(release, tmp_path):
    release.save(tmp_path / "r")
    assert verify(tmp_path / "r").passed
    again = load(tmp_path / "r")
    assert again.files() == release.files()
    rows = pl.read_csv(tmp_path / "r" / "synthetic.csv")
    assert rows.columns == ["colour", "size", "left"] and rows.height == round(release.total)


def test_two_releases_publish_different_rows(release):
    other = FixedSynthesis(epsilon=1).release(tables.table(tables.made(2000)))
    assert other.files()["synthetic.csv"] != release.files()["synthetic.csv"]


def changed(release, rows, column="colour", value="green"):
    """Return the published files with some rows of one column changed."""
    files = release.files()
    frame = pl.read_csv(io.BytesIO(files["synthetic.csv"]))
    values = frame[column].to_list()
    for row in range(rows):
        values[row] = value if values[row] != value else "blue"
    frame = frame.with_columns(pl.Series(column, values))
    return {**files, "synthetic.csv": frame.write_csv().encode()}


def test_not_one_row_may_be_another_than_was_drawn(release):
    assert release.agrees(changed(release, 0))
    assert not release.agrees(changed(release, 1))
    assert not release.agrees(changed(release, 20))


def edited(release, name, edit):
    return {**release.files(), name: edit(release.files()[name])}


@pytest.mark.parametrize(
    ("name", "edit"),
    [
        ("synthetic.csv", lambda content: content.replace(b"colour", b"color", 1)),
        ("synthetic.csv", lambda content: content.replace(b"colour,size", b"size,colour", 1)),
        ("synthetic.csv", lambda content: content + b"red,3,true\n"),
        ("synthetic.csv", lambda content: content.rsplit(b"\n", 2)[0] + b"\n"),
        ("synthetic.csv", lambda content: content.replace(b"true", b"perhaps", 1)),
        ("synthetic.csv", lambda content: b""),
        ("codebook.csv", lambda content: content.replace(b"red", b"rot", 1)),
        ("network.json", lambda content: content.replace(b"false", b"true", 1)),
        ("network.json", lambda content: content.replace(b'"cells": 24', b'"cells": 23', 1)),
    ],
)
def test_other_columns_types_rows_and_networks_disagree(release, name, edit):
    assert release.agrees(release.files())
    files = edited(release, name, edit)
    assert files[name] != release.files()[name]
    assert not release.agrees(files)
    assert not release.agrees({k: v for k, v in release.files().items() if k != name})


def test_last_digits_of_figures_do_not_disagree(release):
    files = release.files()
    before, value, after = re.split(rb"(?<=\"total\": )([0-9.]+)", files["network.json"])
    value = float(value)
    for other, agrees in ((value + 0.001, True), (value + 0.002, False), (value + 5e-10, False)):
        told = before + repr(round(other, 10)).encode() + after
        assert release.agrees({**files, "network.json": told}) is agrees


def test_the_network_is_published_with_one_line_a_part(release):
    text = release.files()["network.json"].decode()
    assert json.loads(text)["parts"] == [{"columns": ["colour", "size", "left"], "levels": [0] * 3}]
    assert '    {"table": "everything", ' in text


def test_the_words_say_what_was_measured_and_which_columns_are_joined(release):
    words = release.words()
    assert "24 cells" in words and "colour × size × left" in words
    assert f"{release.rows:,} rows with" in words
    directed = synthetic(network=CHAIN).words()
    assert "size given colour; left given size, colour" in directed
    assert "no column depends on another" in synthetic(network=ALONE).words()


def test_the_words_name_what_was_counted_together_and_what_stands_alone():
    everything = Network(False, (Part((0, 1, 2), (0, 0, 0)),))
    measured = [
        NoisyTable("a", (0,), (0,), 3, 3.0),
        NoisyTable("b", (0, 1), (0, 0), 12, 3.0),
        NoisyTable("c", (0, 1), (0, 0), 12, 1.0),
    ]
    made = synthetic(network=everything, measured=measured)
    words = made.words()
    assert "Modelled jointly: colour × size. left is outside the model" in words
    assert "no one row changes it by much" in words and "recognised" not in words
    assert made.together == (Part((0, 1), (0, 0)),) and made.alone == (2,)
    assert synthetic(network=CHAIN).alone == ()
    child = Network(True, (Part((1,), (0,)), Part((0,), (0,)), Part((2, 1), (0, 0))))
    assert "left given size. colour is outside the model" in synthetic(network=child).words()


def test_the_words_name_a_few_groups_and_count_the_others():
    names = [f"c{number}" for number in range(11)]
    public = TablePublic.of(sf.Schema.from_dict({name: ["a", "b"] for name in names}))

    def words(pairs):
        class Paired:
            sizes = public.sizes
            network = Network(False, ())

        measured = [NoisyTable("t", (0, i + 1), (0, 0), 4, 1.0) for i in range(pairs)]
        return SyntheticTable(public, Paired(), 10.0, measured).words()

    assert "c0 × c6, and 1 more such group (network.json lists all)." in words(7)
    assert "and 2 more such groups (" in words(8) and "c9 and c10 are outside the model" in words(8)
    assert "c5, c6, c7, c8, c9 and c10 are outside the model: in these" in words(4)
    assert "c4, c5, c6, c7, c8, c9 and 1 more column are outside the model" in words(3)


@pytest.mark.parametrize(
    ("columns", "spread"),
    [
        ({"a": ["x", "y"], "b": {"kind": "integer", "low": 0, "high": 3}}, ""),
        ({"a": (0, 10, 2)}, "Numbers are spread evenly within their bins. "),
        (
            {
                "a": {"kind": "integer", "low": 0, "high": 9, "bins": 2},
                "b": {"kind": "date", "low": "2020-01-01", "high": "2020-01-08", "bins": 2},
            },
            "Numbers and dates are spread evenly within their bins. ",
        ),
    ],
)
def test_the_words_say_how_rows_are_unlike_true_ones(columns, spread):
    public = TablePublic.of(sf.Schema.from_dict(columns))
    words = SyntheticTable(public, FixedModel(np.ones(public.sizes)), 10.0).words()
    assert words.endswith(f". {spread}These rows may contain combinations of values that are "
                          "impossible in reality.")  # fmt: skip
    assert ("within their bins" in words) == bool(spread)


def test_the_network_file_explains_its_entries(release):
    document = json.loads(release.files()["network.json"])
    explained = [line.partition(":")[0] for line in document.pop("meaning")]
    assert set(document) | {"levels"} == set(explained)


def test_pairs_of_a_network_are_named_once():
    assert pairs_of(CHAIN) == [(0, 1), (1, 2), (0, 2)]
    assert pairs_of(Network(False, (Part((2, 0), (0, 0)), Part((0, 2, 1), (0, 0, 0))))) == [
        (0, 2),
        (0, 1),
        (1, 2),
    ]
    assert pairs_of(Network(True, (Part((1, 0, 0, 1), (0, 1, 2, 0)),))) == [(0, 1)]


def test_joined_pairs_are_ranked_by_what_they_tell():
    table = np.array([[[8.0, 8], [1, 1]], [[1, 1], [8, 8]]])
    found = joins(FixedModel(table))
    assert (found[0].first, found[0].second) == (0, 1)
    assert found[0].information > 0.1
    assert found[1].information == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("network", [CHAIN, ALONE, None])
def test_the_picture_shows_every_column(network, tmp_path):
    synthetic(network=network).plot().savefig(tmp_path / "n.svg", metadata={"Date": None})
    assert (tmp_path / "n.svg").stat().st_size > 1000


def test_the_columns_can_be_drawn_one_by_one():
    measured = [NoisyTable("a", (0,), (0,), 3, 3.0)]
    figure = synthetic(measured=measured).plot("columns")
    assert [axis.get_title() for axis in figure.axes] == ["colour", "size", "left"]
    with pytest.raises(ValueError, match="'network' or 'columns'"):
        synthetic().plot("rows")


def test_a_picture_of_many_columns_shows_those_that_tell_most(tmp_path):
    names = [f"column {number} $x^$ of very many" for number in range(44)]
    public = TablePublic.of(sf.Schema.from_dict({name: ["a", "b"] for name in names}))

    class Chained:
        sizes = public.sizes
        network = Network(False, tuple(Part((i, i + 1), (0, 0)) for i in range(43)))

        def marginal(self, columns):
            return np.array([[0.4, 0.1], [0.1, 0.4]])

    picture = SyntheticTable(public, Chained(), 10.0).plot()
    picture.savefig(tmp_path / "n.svg")
    assert "4 more columns are not drawn" in "".join(t.get_text() for t in picture.axes[0].texts)


def test_nodes_of_a_path_are_laid_out_along_it():
    spots = places(4, [(0, 1), (1, 2), (2, 3)], [1.0, 1.0, 1.0])
    assert list(np.argsort(spots[:, 0])) in ([0, 1, 2, 3], [3, 2, 1, 0])
    np.testing.assert_array_equal(spots, places(4, [(0, 1), (1, 2), (2, 3)], [1.0, 1.0, 1.0]))
    assert places(1, [], []).tolist() == [[0.5, 0.5]]


def test_boxes_are_pushed_apart():
    halves = np.full((5, 2), (3.0, 1.0))
    spots = separate_boxes(np.array([[0.0, 0], [0, 0], [1, 0.5], [1, 1], [40, 40]]), halves)
    apart = np.abs(spots[:, None] - spots[None, :]) + 10 * np.eye(5)[:, :, None]
    assert ((apart[:, :, 0] > 5.99) | (apart[:, :, 1] > 1.99)).all()
    assert spots[4].tolist() == [40, 40]


def test_the_release_gets_a_page_of_its_own(release, tmp_path):
    page = Path(sf.save_report(release, tmp_path / "page.html")).read_text(encoding="utf-8")
    for words in (
        "How to use it",
        "Connections in the model",
        "The measured tables",
        "Each row is synthetic",
    ):
        assert words in page
    assert "A release of a synthetic table" in page
