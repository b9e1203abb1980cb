import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, target
from hypothesis import strategies as st

from sfumato import noise
from sfumato.data.table import Table
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.loss import ZCDP, ApproxDP, PureDP
from sfumato.privacy.record import record, replay
from sfumato.privacy.saved import verify
from sfumato.tabular.histogram import Histogram
from sfumato.tabular.marginals import Marginals
from sfumato.tabular.statistic import TableStatistic
from tests.method_suite import MethodSuite
from tests.tabular import tables


class TableSuite(MethodSuite):
    def audited_public(self):
        return self.data().public

    def data(self):
        return tables.table(tables.made(60))

    def neighbours(self):
        return tables.row_pairs()

    def fact(self, release):
        return np.concatenate([table.ravel() for table in release.tables])


class TestMarginals(TableSuite):
    name = "table.Marginals"


class TestMarginalsUnderReplacement(TableSuite):
    name = "table.Marginals"
    sampled = False

    def data(self):
        return tables.table(tables.made(60), relation="replace_one")

    def neighbours(self):
        return tables.replaced_pairs()


class TestMarginalsForPersons(TableSuite):
    name = "table.Marginals"
    sampled = False
    options = {"tables": [("colour", "left"), ("size",)]}  # noqa: RUF012

    def data(self):
        return tables.table(tables.made(60), unit="person", person="who", max_rows=3)

    def neighbours(self):
        return []

    def test_the_loss_for_a_whole_person_is_within_epsilon(self):
        method = self.method()
        worst = 0.0
        for here, there in tables.person_pairs():
            for seed in range(20):
                with noise.seeded(seed):
                    script = record(method, here)
                loss = script.loss_against(replay(method, there, script))
                worst = max(worst, abs(loss))
        # Three equal rows of one person use up the whole of it, so the check could have failed.
        assert 0.9 < worst <= 1 + 1e-9


class TestGaussianMarginals(TableSuite):
    name = "table.Marginals"
    # A large δ, at which samples can show what Gaussian noise loses.
    options = {"delta": "1/100", "ways": 1}  # noqa: RUF012


class TestHistogram(TableSuite):
    name = "table.Histogram"


class TestHistogramUnderReplacement(TableSuite):
    name = "table.Histogram"
    options = {"columns": ["left", "colour"]}  # noqa: RUF012
    sampled = False

    def data(self):
        return tables.table(tables.made(60), relation="replace_one")

    def neighbours(self):
        return tables.replaced_pairs()


ROWS = st.lists(
    st.tuples(
        st.integers(0, 4),
        st.sampled_from(["red", "green", "blue"]),
        st.integers(0, 40),
        st.booleans(),
    ),
    max_size=12,
)


@settings(max_examples=150, deadline=None)
@given(ROWS, st.data())
def test_random_neighbours_stay_within_epsilon(rows, data):
    added = data.draw(ROWS.filter(bool))[0]
    place = data.draw(st.integers(0, len(rows)))
    method = Marginals(epsilon=1)
    with noise.seeded(len(rows)):
        script = record(method, tables.table(rows))
    mirror = replay(method, tables.table([*rows[:place], added, *rows[place:]]), script)
    assert all(change.holds for _, change in script.changes(mirror))
    loss = abs(script.loss_against(mirror))
    # Hypothesis climbs towards pairs that lose more.
    target(loss)
    assert loss <= 1 + 1e-9


def test_every_table_gets_its_share_of_noise():
    release = Marginals(epsilon=1).release(tables.table(tables.made(10)))
    signatures = [entry.signature for entry in release.transcript]
    assert [signature["epsilon"] for signature in signatures] == ["1/3"] * 3
    assert [noise.scale for noise in release.noises] == [Fraction(3)] * 3
    replaced = Marginals(epsilon=1).release(tables.table(tables.made(10), relation="replace_one"))
    assert [noise.scale for noise in replaced.noises] == [Fraction(6)] * 3


def test_gaussian_noise_states_both_figures_and_books_either(tmp_path):
    method = Histogram(epsilon=1, delta="1e-9")
    data = tables.table(tables.made(10))
    guarantee = method.guarantee(data.public)
    assert guarantee.loss == ApproxDP(1, "1e-9")
    (rho,) = guarantee.also
    assert rho.approximate("1e-9").epsilon <= 1
    concentrated = Ledger.create(tmp_path / "rho.ledger", allow=ZCDP(1))
    method.release(data, ledger=concentrated)
    assert concentrated.spent == rho
    approximate = Ledger.create(tmp_path / "delta.ledger", allow=ApproxDP(2, "1e-8"))
    method.release(data, ledger=approximate)
    assert approximate.spent == ApproxDP(1, "1e-9")
    pure = Ledger.create(tmp_path / "pure.ledger", allow=PureDP(5))
    with pytest.raises(ValueError, match="pure"):
        method.release(data, ledger=pure)


def test_tables_agree_and_hold_no_negative_count():
    release = Marginals(epsilon="1/10").release(tables.table(tables.made(40)))
    assert all((table >= 0).all() for table in release.tables)
    totals = [table.sum() for table in release.tables]
    np.testing.assert_allclose(totals, totals[0], atol=1e-6)
    for name in ("colour", "size", "left"):
        index = release.public.schema.index(name)
        shared = [
            table.sum(axis=tuple(a for a, c in enumerate(columns) if c != index))
            for columns, table in zip(release.sets, release.tables, strict=True)
            if index in columns
        ]
        np.testing.assert_allclose(shared[0], shared[1], atol=1e-6)


def test_under_replacement_the_total_is_the_public_number_of_rows():
    release = Marginals(epsilon=1).release(tables.table(tables.made(40), relation="replace_one"))
    assert release.total == pytest.approx(40)


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_clipped_tables_are_rescaled_one_by_one(relation):
    data = tables.table(tables.made(40), relation=relation)
    with noise.seeded(3):
        release = Marginals(epsilon="1/5", repair="clip").release(data)
    noisy = [entry.outputs[0].astype(float) for entry in release.transcript]
    # All cells have the same noise, so a table's sum is as precise as its cells are few.
    total = 40.0
    if relation == "add_remove":
        weights = [1 / table.size for table in noisy]
        total = np.average([table.sum() for table in noisy], weights=weights)
    assert any((table < 0).any() for table in noisy)
    for table, released in zip(noisy, release.tables, strict=True):
        kept = np.maximum(table, 0)
        np.testing.assert_allclose(released, kept * total / kept.sum())
    assert "need not agree" in release.words()
    assert release.sample(10).height == 10


def test_clipping_without_noise_is_exact():
    data = tables.table(tables.made(500))
    release = Marginals(epsilon=10**6, ways=3, repair="clip").release(data)
    np.testing.assert_allclose(release.tables[0], data.counts.marginals([(0, 1, 2)])[0], atol=1e-6)


def test_with_a_huge_budget_the_truth_comes_out():
    data = tables.table(tables.made(500))
    release = Marginals(epsilon=10**6).release(data)
    for columns, table in zip(release.sets, release.tables, strict=True):
        np.testing.assert_allclose(table, data.counts.marginals([columns])[0], atol=1e-5)


def test_counts_come_in_the_order_asked_for():
    data = tables.table(tables.made(500))
    release = Marginals(epsilon=10**6).release(data)
    here, there = release.counts(["size", "colour"]), release.counts(["colour", "size"])
    np.testing.assert_array_equal(here, there.T)
    frame = release.marginal(["left", "colour"])
    assert frame.columns == ["left", "colour", "count", "margin"]
    assert frame["count"].sum() == pytest.approx(500, abs=0.1)


def test_a_combination_that_was_not_released_is_named_with_what_there_is():
    release = Marginals(epsilon=1, tables=[("colour",), ("left",)]).release(
        tables.table(tables.made(10))
    )
    with pytest.raises(ValueError, match="contains colour × left; the released tables are"):
        release.counts(["colour", "left"])
    with pytest.raises(ValueError, match="there is no column 'size'"):
        release.counts(["size"])
    assert release.sample(3).columns == ["colour", "left"]


def test_synthetic_rows_have_the_custodians_columns_and_the_right_dependence():
    rows = [(i, "red" if i % 2 else "blue", 5 if i % 2 else 35, True) for i in range(400)]
    data = tables.table(rows)
    release = Marginals(epsilon=100).release(data)
    frame = release.sample(1000, generator=noise.generator(3))
    assert frame.columns == ["colour", "size", "left"]
    Table(frame, tables.schema())
    small = frame.filter(frame["size"] < 10)
    # Rows follow the tree of tables: all small ones are red, up to what noise put elsewhere.
    assert (small["colour"] == "red").mean() > 0.95
    assert release.sample(7, generator=noise.generator(3)).equals(
        release.sample(7, generator=noise.generator(3))
    )
    assert len(release.sample(4, backend="pandas")) == 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tables": []}, "tables must be a non-empty list"),
        ({"tables": 3}, "tables must be"),
        ({"tables": [("colour", "colour")]}, "tables must be"),
        ({"tables": [("colour", "left"), ("left", "colour")]}, "tables must be"),
        ({"ways": 0}, "ways must be a whole number of at least 1; got 0"),
        ({"ways": 1.5}, "ways must be"),
        ({"repair": "hide"}, "repair must be one of 'consistent', 'clip'; got 'hide'"),
        ({"delta": 0}, "delta must be greater than 0 and less than 1"),
        ({"delta": 1}, "delta must be"),
        ({"delta": -1e-9}, "delta must be"),
    ],
)
def test_bad_parameters_say_what_is_allowed(options, message):
    with pytest.raises(ValueError, match=message):
        Marginals(epsilon=1, **options)


def test_an_unknown_column_is_refused_before_anything_is_spent(tmp_path):
    ledger = Ledger.create(tmp_path / "a.ledger", allow=PureDP(5))
    with pytest.raises(ValueError, match="weight"):
        Histogram(epsilon=1, columns=["weight"]).release(tables.table([]), ledger=ledger)
    assert ledger.history() == []


def test_tables_that_are_too_large_are_refused_before_anything_is_spent():
    from sfumato.data.schema import Schema
    from sfumato.data.table import TablePublic

    columns = {f"c{i}": [str(j) for j in range(100)] for i in range(5)}
    public = TablePublic.of(Schema.from_dict(columns))
    with pytest.raises(ValueError, match="10,000,000,000 cells"):
        Histogram(epsilon=1).check(public)


def test_one_row_no_rows_and_one_column():
    for rows in ([], [(0, "red", 1, True)]):
        assert Marginals(epsilon=1).release(tables.table(rows)).total >= 0
    from sfumato.data.schema import Schema

    single = Table(tables.frame(tables.made(5)), Schema.from_dict({"left": [False, True]}))
    assert Marginals(epsilon=1).release(single).counts(["left"]).shape == (2,)


@pytest.mark.parametrize("epsilon", ["1e-300", "1e-12", 1e9, 1e300])
@pytest.mark.parametrize("delta", [None, "1e-12"])
def test_extreme_budgets_work_or_are_refused_before_they_cost(epsilon, delta, tmp_path):
    ledger = Ledger.create(tmp_path / "a.ledger", allow=ApproxDP(10**301, "1/10"))
    try:
        release = Marginals(epsilon=epsilon, delta=delta).release(
            tables.table(tables.made(10)), ledger=ledger
        )
    except ValueError:
        assert ledger.history() == []
    else:
        assert np.isfinite(release.total)
        release.save(tmp_path / "out")


def test_columns_whose_names_hold_the_sign_do_not_collide():
    frame = tables.frame(tables.made(20)).rename({"left": "colour × size"})
    columns = {**tables.COLUMNS, "colour × size": [False, True]}
    del columns["left"]
    method = Marginals(epsilon=1, tables=[("colour", "size"), ("colour × size",)])
    assert len(method.release(Table(frame, columns)).sets) == 2


@pytest.mark.parametrize("hidden", ["", "NaN"])
def test_blanked_counts_do_not_agree(hidden):
    release = Marginals(epsilon=1).release(tables.table(tables.made(20)))
    files = release.files()
    lines = files["marginals.csv"].decode().splitlines()
    fields = lines[1].split(",")
    fields[-2] = hidden
    lines[1] = ",".join(fields)
    assert release.agrees(release.files())
    assert not release.agrees({**files, "marginals.csv": "\n".join(lines).encode()})


def test_the_plan_knows_its_error_before_it_is_spent():
    public = tables.table([], rows_about=1000).public
    plan = Marginals(epsilon=1).plan(public)
    assert "of all rows misplaced" in str(plan)
    draws = []
    with noise.seeded(1):
        for _ in range(300):
            script = record(Marginals(epsilon=1), tables.table([]))
            draws.append([np.abs(step.outputs[0]).mean() for step in script])
    promised = [2 * 1000 * s.figures["total_variation"] / s.figures["cells"] for s in plan.steps]
    np.testing.assert_allclose(np.mean(draws, axis=0), promised, rtol=0.1)


def test_margins_hold_nineteen_times_in_twenty():
    with noise.seeded(4):
        data = tables.table([])
        draws = [record(Histogram(epsilon=1), data)[0].outputs[0] for _ in range(200)]
    margin = Histogram(epsilon=1).plan(data.public).steps[0].figures["margin"]
    share = np.mean(np.abs(np.array(draws)) <= margin)
    # 4800 draws; geometric noise is a step function, so the true share lies between 95 and 98.2 %.
    assert 0.935 < share < 0.995


@pytest.mark.parametrize("ways", [1, 2])
def test_columns_may_be_called_count_and_margin(ways, tmp_path):
    import polars as pl

    frame = pl.DataFrame({"count": ["x", "y"] * 9, "margin": ["u", "v"] * 9, "table": ["t"] * 18})
    columns = {"count": ["x", "y"], "margin": ["u", "v"], "table": ["t"]}
    release = Marginals(epsilon=1, ways=ways).release(Table(frame, columns))
    assert release.marginal(["count"]).columns == ["count", "count_", "margin"]
    text = release.files()["marginals.csv"].decode()
    assert "count,x" in text and "margin,u" in text
    assert release.plot().axes
    assert verify(release.save(tmp_path / "out")).passed


def test_labels_are_one_to_one_whatever_columns_are_called():
    import polars as pl

    names = ["a × b", '["a \\u00d7 b"]', "a", "b"]
    frame = pl.DataFrame({name: ["x"] * 3 for name in names})
    release = Marginals(epsilon=1, ways=1).release(Table(frame, {n: ["x", "y"] for n in names}))
    assert len(release.sets) == 4


def test_too_many_tables_are_refused_before_they_are_listed():
    from sfumato.data.schema import Schema
    from sfumato.data.table import TablePublic

    public = TablePublic.of(Schema.from_dict({f"c{i}": [False, True] for i in range(60)}))
    with pytest.raises(ValueError, match="ways = 30 of 60 columns gives"):
        Marginals(epsilon=1, ways=30).plan(public)


@pytest.mark.parametrize("epsilon", [1 / 3, 0.1 + 0.2, 2.0000000000000004])
@pytest.mark.parametrize("delta", [1e-6, 1.1e-9])
def test_any_float_of_epsilon_and_delta_adds_up(epsilon, delta):
    release = Histogram(epsilon=epsilon, delta=delta).release(tables.table(tables.made(5)))
    assert release.guarantee.private


def test_columns_are_named_once():
    release = Marginals(epsilon=1).release(tables.table([]))
    for columns in ([], ["left", "left"]):
        with pytest.raises(ValueError, match="each once"):
            release.counts(columns)


@pytest.mark.parametrize(
    "method",
    [
        Marginals(epsilon=1, tables=[("colour",), ("colour", "left")]),
        Histogram(epsilon=1, columns=["left", "colour"]),
        TableStatistic(epsilon=1, expression="count(colour, 'red') / known(left)"),
    ],
    ids=lambda method: type(method).__name__,
)
def test_only_the_columns_that_are_used_are_published(method, tmp_path):
    ledger = Ledger.create(tmp_path / "a.ledger", allow=PureDP(3), unit="row")
    data = tables.table(tables.made(50))
    folder = method.release(data, ledger=ledger).save(tmp_path / "out")
    published = b"".join(place.read_bytes() for place in folder.iterdir())
    assert b"colour" in published and b"size" not in published.replace(b"sizes", b"")
    assert json.loads((folder / "public.json").read_bytes())["schema"]["order"] == [
        "colour",
        "left",
    ]
    # To the ledger it is the same table as ever: a release of all columns goes to the same one.
    assert verify(folder, ledger=ledger).passed
    whole = Marginals(epsilon=1).release(data, ledger=ledger).save(tmp_path / "whole")
    assert verify(whole, ledger=ledger).passed
    key = b"k" * 32
    assert data.only(["left"]).digest(key) == data.digest(key)


def test_a_column_that_does_not_exist_is_refused_before_anything_is_spent(tmp_path):
    ledger = Ledger.create(tmp_path / "a.ledger", allow=PureDP(3), unit="row")
    with pytest.raises(ValueError, match="there is no column 'colr'"):
        Histogram(epsilon=1, columns=["colr"]).release(tables.table(tables.made(5)), ledger=ledger)
    assert ledger.history() == []
