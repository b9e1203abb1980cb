"""Synthesizer, MST and AIM: the suite, and what is special to them."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from math import sqrt
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato import noise
from sfumato.audit import Pair, examine
from sfumato.data.table import TablePublic
from sfumato.mechanisms.graphical import GraphicalModel
from sfumato.privacy.door import rebuild_from_transcript
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import ZCDP, PureDP
from sfumato.privacy.program import Ask, DoesNotFollow
from sfumato.privacy.record import record, replay
from sfumato.privacy.transcript import Transcript
from sfumato.tabular import synthesizer
from sfumato.tabular.allocation import plan_shares, tolerate_noise
from sfumato.tabular.candidates import Pool, candidate_pool
from sfumato.tabular.counting_method import TOTAL
from sfumato.tabular.growing_model import LARGEST, GrowingModel, one_way_counts
from sfumato.tabular.one_way import shares_by_size
from sfumato.tabular.queries import FARTHEST, GRID, Dependence, Distances
from sfumato.tabular.synthesizer import DependenceCount
from tests.audit.mutants import Leak, geometric
from tests.method_suite import MethodSuite
from tests.tabular import tables


def pairs_of(values):
    """Return a table of two columns that say the same."""
    frame = pl.DataFrame({"x": values, "y": values}, schema={"x": pl.String, "y": pl.String})
    return sf.Table(frame, sf.Schema.from_dict({"x": ["a", "b"], "y": ["a", "b"]}))


class GrownSuite(MethodSuite):
    def audited_public(self):
        return self.data().public

    def data(self):
        return tables.table(tables.made(60))

    def neighbours(self):
        return tables.row_pairs()

    def fact(self, release):
        return np.concatenate([release.model.marginal((c,)) for c in range(3)])


class TestSynthesizer(GrownSuite):
    name = "table.Synthesizer"
    # A loss spread over many outputs shows too little in so few samples.
    sampled = False
    random_neighbours = 80
    options = {"rounds": 2}  # noqa: RUF012


class TwoColumns:
    """Two columns of two values: few outputs, so that samples show most of the loss."""

    def data(self):
        return pairs_of(["a", "b"] * 20)

    def neighbours(self):
        return [(pairs_of([]), pairs_of(["b"])), (pairs_of(["a"] * 6), pairs_of(["a"] * 7))]

    def fact(self, release):
        return release.model.marginal((0, 1)).ravel()


class TestSynthesizerOfTwoColumns(TwoColumns, GrownSuite):
    random_neighbours = 50
    name = "table.Synthesizer"
    options = {"rounds": 0}  # noqa: RUF012


class TestSynthesizerUnderReplacement(GrownSuite):
    name = "table.Synthesizer"
    sampled = False
    options = {"rounds": 2}  # noqa: RUF012

    def data(self):
        return tables.table(tables.made(60), relation="replace_one")

    def neighbours(self):
        return tables.replaced_pairs()


class TestGaussianSynthesizer(GrownSuite):
    name = "table.Synthesizer"
    sampled = False
    options = {"delta": "1/100", "rounds": 2}  # noqa: RUF012


class TestMST(GrownSuite):
    name = "table.MST"
    sampled = False
    random_neighbours = 80


class TestMSTOfTwoColumns(TwoColumns, GrownSuite):
    random_neighbours = 50
    name = "table.MST"


class TestMSTUnderReplacement(TestSynthesizerUnderReplacement):
    name = "table.MST"
    options = {}  # noqa: RUF012


class TestAIM(GrownSuite):
    name = "table.AIM"
    sampled = False
    random_neighbours = 80
    options = {"rounds": 2}  # noqa: RUF012


class TestAIMOfTwoColumns(TwoColumns, GrownSuite):
    random_neighbours = 50
    name = "table.AIM"
    options = {"rounds": 2}  # noqa: RUF012


class TestGaussianAIM(GrownSuite):
    name = "table.AIM"
    sampled = False
    options = {"delta": "1/100", "ways": 2, "rounds": 2}  # noqa: RUF012


METHODS = [sf.Synthesizer(epsilon=1, rounds=3), sf.MST(epsilon=1), sf.AIM(epsilon=1, rounds=3)]


def correlated(rows=4000, relation="add_remove"):
    """Return a table whose columns a, b, c hang together and d does not."""
    generator = noise.generator(4)
    a = generator.integers(0, 4, rows)
    b = np.where(generator.random(rows) < 0.9, a, generator.integers(0, 4, rows))
    c = np.where(generator.random(rows) < 0.9, (a + b) % 3, generator.integers(0, 3, rows))
    d = generator.integers(0, 2, rows)
    schema = sf.Schema.from_dict(
        {"a": [0, 1, 2, 3], "b": [0, 1, 2, 3], "c": [0, 1, 2], "d": [0, 1]}, relation=relation
    )
    return sf.Table(pl.DataFrame({"a": a, "b": b, "c": c, "d": d}), schema)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_with_a_huge_epsilon_the_truth_comes_out(method):
    data = correlated()
    exact = type(method)(**{**method.parameters(), "epsilon": 10**6})
    release = exact.release(data)
    for columns in [("a",), ("d",), ("a", "b")]:
        counts = data.counts.marginals([data.public.schema.indices(columns)])[0]
        assert np.abs(release.counts(columns) - counts).sum() / 2 < 0.02 * 4000


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_scores_move_no_further_than_declared(method, relation):
    moved = 2 if relation == "replace_one" else 1
    rows = tables.made(300)
    other = [*rows[1:], (0, "blue", 40, True)] if moved == 2 else rows[1:]
    here, there = (tables.table(part, relation=relation) for part in (rows, other))
    seen = 0
    for seed in range(3):
        with noise.seeded(seed):
            script = record(method, here)
        for step, change in script.changes(replay(method, there, script)):
            if step.label.startswith("choice"):
                seen += 1
                assert change.measured <= change.allowed
                assert change.allowed in {moved * GRID * weight for weight in (1, 2, 3)}
    assert seen


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_everything_is_spent_and_nothing_more(method):
    release = method.release(correlated())
    assert sum(Fraction(entry.cost["epsilon"]) for entry in release.transcript) == 1


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
@pytest.mark.parametrize("rows", [0, 1])
def test_no_rows_and_one_row_are_tables_like_any_other(method, rows):
    release = method.release(tables.table(tables.made(rows)))
    assert release.sample(10, generator=noise.generator(1)).height == 10


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
@pytest.mark.parametrize("columns", [{"x": ["only"]}, {"x": ["p", "q"]}, {"x": ["p"], "y": ["q"]}])
def test_one_column_and_columns_of_one_value(method, relation, columns):
    schema = sf.Schema.from_dict(columns, relation=relation)
    frame = pl.DataFrame({name: [values[0]] * 5 for name, values in columns.items()})
    release = method.release(sf.Table(frame, schema))
    assert set(release.sample(4, generator=noise.generator(1)).columns) == set(columns)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
@pytest.mark.parametrize("epsilon", ["1e-6", "1e6"])
def test_extreme_budgets(method, epsilon):
    extreme = type(method)(**{**method.parameters(), "epsilon": epsilon})
    release = extreme.release(tables.table(tables.made(30)))
    assert np.isfinite(release.total)


def test_the_number_of_rows_is_asked_for_only_where_it_is_private():
    method = sf.Synthesizer(epsilon=1)
    private = [entry.label for entry in method.release(correlated()).transcript]
    public = [
        entry.label for entry in method.release(correlated(relation="replace_one")).transcript
    ]
    assert private[0] == TOTAL
    assert TOTAL not in public


def grid_of(values, relation="add_remove"):
    """Return rows in which all pairs of so many values occur equally often, and a maker."""
    codes = list(range(values + 1))
    schema = sf.Schema.from_dict({"x": codes, "y": codes}, relation=relation)
    rows = 15 * [(x, y) for x in range(values) for y in range(values)]

    def table(rows):
        frame = pl.DataFrame(rows, schema={"x": pl.Int64, "y": pl.Int64}, orient="row")
        return sf.Table(frame, schema)

    return rows, table


def dependence_of(table):
    """Return the exact figure of a table's pairs."""
    return int(Dependence(Pool(((0, 1),), table.public.sizes)).answer(table)[0])


def test_a_row_of_new_values_changes_the_dependence_almost_by_its_bound():
    rows, table = grid_of(6)
    apart = dependence_of(table([*rows, (6, 6)])) - dependence_of(table(rows))
    bound = Dependence(Pool(((0, 1),), (7, 7))).moves
    assert dependence_of(table(rows)) == 0
    # 4·n/(n + 1) rows in steps of the grid, rounded down.
    assert apart == GRID * 4 * 540 // 541
    assert 0.9 * bound < apart <= bound


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 1)), max_size=12),
    st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 1)),
)
def test_one_row_changes_the_dependence_by_no_more_than_declared(rows, row):
    schema = sf.Schema.from_dict({"a": [0, 1, 2], "b": [0, 1, 2], "c": [0, 1]})
    query = Dependence(Pool(((0, 1), (0, 2), (1, 2)), (3, 3, 2)))

    def figure(rows):
        types = dict.fromkeys("abc", pl.Int64)
        table = sf.Table(pl.DataFrame(rows, schema=types, orient="row"), schema)
        return int(query.answer(table)[0])

    assert abs(figure([*rows, row]) - figure(rows)) <= query.moves


def test_dependence_is_exact_where_products_of_counts_exceed_64_bits():
    counts = np.array([2**31, 0, 1, 2**31], dtype=np.int64)
    engine = SimpleNamespace(rows=2**32 + 1, count_batch=lambda sets: counts)
    found = Dependence(Pool(((0, 1),), (2, 2))).answer(SimpleNamespace(counts=engine))
    n, (a, b, c, d) = 2**32 + 1, (int(value) for value in counts)
    # In a table of two by two all four cells are equally far from independence.
    assert int(found[0]) == GRID * 4 * abs(n * a - (a + b) * (a + c)) // n
    assert b == 0 and d


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_columns_that_depend_more_get_more_tables_and_noise_moves_no_figure_far(relation):
    assert tolerate_noise(0.2, 0.01) == pytest.approx(1)
    assert tolerate_noise(0.02, 0.01) < 0.4 < 1 < tolerate_noise(0.6, 0.01) < 2
    assert tolerate_noise(-5, 0.01) == pytest.approx(sqrt(0.1))
    assert tolerate_noise(50, 0.01) == pytest.approx(2)
    assert abs(tolerate_noise(0.8, 2.0) - 1) < 0.02
    sizes = (9, 9, 9, 9, 9)
    limit, kind = PureDP(1), Relation(relation)
    rounds = [
        plan_shares(sizes, 4_000, limit, kind, tolerance=tolerance)[1].number
        for tolerance in (0.3, 1.0, 2.0)
    ]
    assert rounds[0] < rounds[1] < rounds[2]


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
@pytest.mark.parametrize("loss", [PureDP(1), ZCDP("0.1")])
def test_the_dependence_costs_what_it_takes_and_is_left_out_where_noise_would_hide_it(
    relation, loss
):
    kind, sizes = Relation(relation), (4, 5, 6)

    def planned(rows):
        return DependenceCount.plan(sizes, rows, loss, kind)

    assert planned(10) is None
    assert DependenceCount.plan((30, 30), 8_999, PureDP(100), kind) is None
    assert DependenceCount.plan((30, 30), 9_000, PureDP(100), kind) is not None
    assert DependenceCount.plan((500, 1), 10**6, loss, kind) is None
    few, many = planned(1_000 if relation == "add_remove" else 2_000), planned(10**6)
    assert few is not None and many is not None
    assert many.share == Fraction(1, 1000) < few.share <= Fraction(30, 1000)
    assert many.deviation < 0.05 < few.deviation <= 0.25
    moved = few.query.moves * (1 if relation == "add_remove" else 2)
    if isinstance(loss, ZCDP):
        assert few.noise.squared_sensitivity == moved**2
    else:
        assert few.noise.sensitivity == moved


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
@pytest.mark.parametrize("more", [{}, {"delta": "1/100", "noise": "gaussian"}])
def test_replay_holds_the_dependence_to_its_bound_and_catches_too_small_a_one(
    relation, more, monkeypatch
):
    rows, table = grid_of(6, relation)
    if relation == "add_remove":
        here, there = table([*rows, (6, 6)]), table(rows)
    else:
        here, there = table([*rows, (6, 6)]), table([*rows, (0, 0)])
    method = sf.Synthesizer(epsilon=60, **more)

    def held():
        with noise.seeded(3):
            script = record(method, here)
        changes = script.changes(replay(method, there, script))
        return {step.label: change.holds for step, change in changes}

    found = held()
    assert found.pop("dependence") and all(found.values())
    monkeypatch.setattr(Dependence, "moves", property(lambda self: GRID // 4))
    assert not held()["dependence"]


def test_what_hangs_together_is_found():
    with noise.seeded(5):
        release = sf.Synthesizer(epsilon=2, rounds=2).release(correlated())
    tables_of_two = [set(table.columns) for table in release.tables if len(table.columns) > 1]
    assert any({0, 1} <= columns for columns in tables_of_two)


@pytest.mark.parametrize("loss", [PureDP, lambda epsilon: ZCDP(Fraction(epsilon) ** 2 / 2)])
def test_more_rows_and_more_budget_bring_more_rounds(loss):
    sizes = (16, 7, 16, 14, 2, 5)

    def rounds(rows, epsilon):
        return plan_shares(sizes, rows, loss(epsilon), Relation.ADD_REMOVE)[1].number

    assert rounds(100, "0.1") == 0
    counted = [rounds(rows, "0.1") for rows in (100, 10_000, 50_000, 10**6)]
    assert counted == sorted(counted)
    # As many as columns, at least 8; under Gaussian noise twice as many as columns.
    assert counted[-1] == (8 if loss is PureDP else 12)
    assert rounds(1_000, 1) > rounds(1_000, "0.1")


@pytest.mark.parametrize("limit", [PureDP(1), ZCDP("0.1")])
def test_shares_of_a_release_add_up_to_one(limit):
    for rows in (10, 10**4, 10**7):
        share, rounds = plan_shares((2, 9, 40), rows, limit, Relation.REPLACE_ONE)
        assert share + rounds.number * (rounds.choice + rounds.table) == 1
    assert sum(shares_by_size((2, 9, 40), gaussian=isinstance(limit, ZCDP))) == 1


def test_all_pairs_of_many_columns_are_offered():
    sizes = (2,) * 130 + (30,) * 20
    rounds = plan_shares(sizes, 10**6, PureDP(1), Relation.ADD_REMOVE)[1]
    assert len(synthesizer._offer(sizes, rounds).sets) == 150 * 149 // 2


def test_one_large_column_does_not_forbid_tables_of_the_others():
    for sizes in [(2, 9, 5, 4), (2, 9, 5, 4, 600)]:
        share, rounds = plan_shares(sizes, 50_000, PureDP(1), Relation.ADD_REMOVE)
        assert share < Fraction(1, 2)
        assert rounds.joint or rounds.number >= 5


@pytest.mark.parametrize("loss", [PureDP, ZCDP])
def test_wide_tables_get_as_many_more_tables_as_it_takes_to_join_their_columns(loss):
    def rounds(columns):
        return plan_shares((4,) * columns, 20_000, loss("0.5"), Relation.ADD_REMOVE)[1].number

    assert rounds(60) > rounds(24) > rounds(12) > 0


def test_where_noise_allows_there_are_tables_enough_to_join_all_columns():
    def rounds(epsilon):
        return plan_shares((24,) * 20, 20_000, PureDP(epsilon), Relation.ADD_REMOVE)[1].number

    assert rounds(1) < rounds(3) < 12 < 19 == rounds(4) <= rounds(5)


def test_with_a_delta_noise_is_the_smaller_one_of_as_many_tables_as_there_will_be():
    def measure(columns, rows):
        names = {f"c{i}": list(range(16)) for i in range(columns)}
        public = TablePublic.of(sf.Schema.from_dict(names, rows_about=rows))
        return type(sf.Synthesizer(epsilon="0.1", delta=1e-9).counted_loss(public))

    # Few rows: columns get everything, and share it by themselves.
    assert measure(16, 5_000) is PureDP
    assert measure(16, 50_000) is ZCDP
    assert measure(40, 5_000) is ZCDP
    assert measure(6, 50_000) is PureDP
    assert measure(16, None) is ZCDP


def test_few_columns_are_measured_in_one_table_where_that_has_least_noise():
    def rounds(sizes, epsilon, loss=PureDP):
        return plan_shares(sizes, 10_000, loss(epsilon), Relation.ADD_REMOVE)[1]

    found = rounds((16, 16, 2, 2), 3)
    assert found.joint and found.number == 1 and found.choice == 0 and found.cells == 1024
    assert not rounds((16, 16, 16, 16, 2, 2), 3).joint
    # Its noise may change no more than a part of the rows.
    assert rounds((16, 16, 2, 2), "0.4").joint
    assert not rounds((16, 16, 2, 2), "0.2").joint
    asked = plan_shares((16, 16, 2, 2), 10_000, PureDP(3), Relation.ADD_REMOVE, 3)[1]
    assert not asked.joint and asked.number == 3
    # Gaussian noise grows more slowly with the number of tables: it takes a smaller table.
    assert rounds((5, 5, 5, 5), 1).joint
    assert not rounds((5, 5, 5, 5), 1, ZCDP).joint
    generator = noise.generator(4)
    x, y = generator.integers(0, 3, (2, 20_000))
    frame = pl.DataFrame({"x": x, "y": y, "sum": (x + y) % 3})
    schema = sf.Schema.from_dict({name: [0, 1, 2] for name in frame.columns})
    with noise.seeded(8):
        release = sf.Synthesizer(epsilon=1).release(sf.Table(frame, schema))
    # No two of the columns say anything about each other, and all three together everything.
    assert [t.columns for t in release.tables if len(t.columns) > 1] == [(0, 1, 2)]
    assert not any(entry.label.startswith("choice") for entry in release.transcript)
    assert sum(Fraction(entry.cost["epsilon"]) for entry in release.transcript) == 1
    truth = np.bincount(9 * x + 3 * y + (x + y) % 3, minlength=27) / 20_000
    assert np.abs(release.model.marginal((0, 1, 2)).ravel() - truth).sum() < 0.02


def test_rare_values_share_a_code_and_keep_their_frequencies():
    generator = noise.generator(9)
    rows = 50_000
    word = np.minimum(generator.geometric(0.1, rows) - 1, 299)
    schema = sf.Schema.from_dict({"word": list(range(300)), "even": [0, 1], "third": [0, 1, 2]})
    frame = pl.DataFrame({"word": word, "even": word % 2, "third": word % 3})
    with noise.seeded(2):
        release = sf.Synthesizer(epsilon=1).release(sf.Table(frame, schema))
    bins = release.model.bins[0]
    assert 30 < bins.size < 100
    assert (bins.groups[:20] == np.arange(20)).all()
    truth = np.bincount(word, minlength=300) / rows
    alone = release.model.marginal((0,))
    # 300 cells of noise of scale 1/(0.99 · 0.15 · √300/(√300 + √2 + √3)) ≈ 8.
    assert np.abs(alone - truth).sum() / 2 < 300 * 8 / 2 / rows
    joint = release.model.marginal((0, 1))
    assert joint.sum(axis=1) == pytest.approx(alone)
    # A frequent value is known to be even or odd.
    assert (joint[np.arange(10), np.arange(10) % 2] > 0.9 * alone[:10]).all()
    drawn = release.sample(20_000, seed=3)
    shares = np.bincount(drawn["word"].to_numpy().astype(int), minlength=300) / 20_000
    assert np.abs(shares - alone).sum() / 2 < 0.05


def test_tables_of_focus_are_measured_and_the_target_is_preferred():
    data = correlated()
    method = sf.Synthesizer(epsilon=2, focus=[("d", "c"), ("b", "d")], rounds=2)
    measured = [table.columns for table in method.release(data).tables if len(table.columns) > 1]
    assert measured == [(2, 3), (1, 3)]
    assert not any(e.label.startswith("choice") for e in method.release(data).transcript)
    preferred = sf.Synthesizer(epsilon=2, target="c")
    costs = {e.cost["epsilon"] for e in preferred.release(data).transcript}
    assert costs
    with pytest.raises(ValueError, match="unknown"):
        sf.Synthesizer(epsilon=1, target="unknown").release(data)
    wide = sf.Schema.from_dict({name: [f"v{i}" for i in range(999)] for name in "xy"})
    with pytest.raises(ValueError, match="at most 524,288 are allowed"):
        sf.Synthesizer(epsilon=1, focus=[("x", "y")]).plan(TablePublic.of(wide))


def test_where_nothing_can_be_joined_columns_are_measured_again():
    schema = sf.Schema.from_dict({"a": [0, 1], "b": [0, 1]})
    frame = pl.DataFrame({"a": [0] * 5000, "b": [1] * 5000})
    with noise.seeded(2):
        release = sf.Synthesizer(epsilon="0.01", rounds=1).release(sf.Table(frame, schema))
    assert [entry.label for entry in release.transcript] == [
        TOTAL, "column: a", "column: b", "column again: a", "column again: b",
    ]  # fmt: skip
    assert sum(Fraction(entry.cost["epsilon"]) for entry in release.transcript) == Fraction(1, 100)


def test_a_pool_takes_small_tables_first_and_stops_where_it_is_told():
    pool = candidate_pool((2, 3, 4, 1), 12, most_sets=100, most_cells=1000)
    assert pool.sets == ((0, 1), (0, 2), (1, 2))
    assert candidate_pool((2, 3, 4), 12, most_sets=2, most_cells=1000).sets == ((0, 1), (0, 2))
    assert candidate_pool((2, 3, 4), 12, most_sets=9, most_cells=14).sets == ((0, 1), (0, 2))
    assert candidate_pool((5,), 12, most_sets=9, most_cells=14).sets == ()


def test_a_transcript_of_another_method_is_refused():
    data = correlated()
    transcript = sf.Synthesizer(epsilon=1, rounds=2).release(data).transcript
    with pytest.raises(DoesNotFollow):
        rebuild_from_transcript(sf.Synthesizer(epsilon=1, rounds=3), data.public, transcript)
    longer = Transcript((*transcript.entries, *_renamed(transcript.entries[:1])))
    with pytest.raises(DoesNotFollow, match="is not one of the method"):
        rebuild_from_transcript(sf.Synthesizer(epsilon=1, rounds=2), data.public, longer)


def _renamed(entries):
    return tuple(replace(entry, label=f"{entry.label} again") for entry in entries)


def test_a_release_rebuilt_from_its_transcript_is_the_same():
    data = correlated()
    method = sf.Synthesizer(epsilon=1)
    release = method.release(data)
    again = rebuild_from_transcript(method, data.public, release.transcript)
    for mine, theirs in zip(release.model.graph.tables, again.model.graph.tables, strict=True):
        assert np.array_equal(mine, theirs)


def test_a_plan_tells_how_many_tables_and_how_much_noise():
    schema = sf.Schema.from_dict({"a": (0, 100, 16), "b": ["x", "y"]}, rows_about=10**6)
    public = TablePublic.of(schema)
    steps = sf.Synthesizer(epsilon=1).plan(public).steps
    first = [step.what.split()[0] for step in steps]
    # Of two columns there is one table, and nothing to choose.
    assert first == ["the", "how", "column:", "column:", "1"]
    assert "estimates" in str(sf.Synthesizer(epsilon=1).plan(public))
    chosen = sf.Synthesizer(epsilon=1, rounds=1).plan(public).steps
    assert [s.what.split()[0] for s in chosen] == ["the", "column:", "column:", "which", "1"]
    # Each line is true to what is released; where the number of rows is public, exactly.
    known = sf.Schema.from_dict(
        {"a": (0, 100, 16), "b": ["x", "y"]}, rows_about=1, relation="replace_one"
    )
    data = sf.Table(pl.DataFrame({"a": [5], "b": ["x"]}), known)
    released = {t.label: t.deviation for t in sf.Synthesizer(epsilon=1).release(data).tables}
    planned = sf.Synthesizer(epsilon=1).plan(data.public).steps
    for label, deviation in released.items():
        (step,) = [step for step in planned if step.what == label]
        assert step.figures["standard_deviation"] == pytest.approx(deviation)
    assert len(released) == 2
    many = sf.Schema.from_dict(
        {f"c{i}": list(range(2 + 98 * (i == 0))) for i in range(13)}, rows_about=9
    )
    (line,) = [
        s for s in sf.Synthesizer(epsilon=1).plan(TablePublic.of(many)).steps if "13" in s.what
    ]
    assert " between ± " in line.noise
    assert {"ways_1", "ways_2", "ways_3"} <= set(steps[-1].figures)
    unknown = sf.Schema.from_dict({"a": (0, 100, 16), "b": ["x", "y"]})
    assert "rows_about" in str(sf.Synthesizer(epsilon=1).plan(TablePublic.of(unknown)))


@pytest.mark.parametrize("name", ["choice 1", TOTAL, "table 1: b", "column: b"])
@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_a_column_may_be_called_like_anything(method, name):
    schema = sf.Schema.from_dict({name: [0, 1], "b": [0, 1], "c": [0, 1]})
    frame = pl.DataFrame({name: [0, 1] * 50, "b": [0, 1] * 50, "c": [1, 1] * 50})
    method.release(sf.Table(frame, schema))


def test_many_columns_of_one_value_beside_a_few_others():
    names = {f"k{number}": ["same"] for number in range(60)}
    schema = sf.Schema.from_dict({"a": [0, 1, 2], "b": [0, 1, 2], **names})
    frame = pl.DataFrame(
        {"a": [0, 1] * 500, "b": [0, 1] * 500, **{n: ["same"] * 1000 for n in names}}
    )
    for method in METHODS:
        assert method.release(sf.Table(frame, schema)).total == pytest.approx(1000, abs=100)


@pytest.mark.parametrize("seed", [1000115, 1574, 7, 8])
def test_hardly_any_rows_and_hardly_any_budget_still_end_in_a_model(seed):
    generator = noise.generator(seed)
    sizes = (7, 7, 7, 3, 3)
    schema = sf.Schema.from_dict({f"c{i}": list(range(size)) for i, size in enumerate(sizes)})
    frame = pl.DataFrame({f"c{i}": generator.integers(0, s, 50) for i, s in enumerate(sizes)})
    with noise.seeded(seed):
        release = sf.Synthesizer(epsilon="0.1", rounds=17).release(sf.Table(frame, schema))
    assert release.model.marginal((0, 3)).sum() == pytest.approx(1.0)


def test_columns_of_too_many_values_are_refused_before_anything_is_spent():
    schema = sf.Schema.from_dict({"a": (0, 10**7), "b": [0, 1]})
    table = sf.Table(pl.DataFrame({"a": [5], "b": [1]}), schema)
    binned = [
        sf.Synthesizer(epsilon=1, binner="declared"),
        sf.Independent(epsilon=1, binner="declared"),
    ]
    for method in (*METHODS[1:], *binned):
        with pytest.raises(ValueError, match="fewer bins"):
            method.release(table)
    assert sf.Synthesizer(epsilon=1).release(table).sample(3).height == 3


def test_a_choice_of_what_was_not_offered_is_refused():
    data = correlated()
    method = sf.MST(epsilon=1)
    transcript = method.release(data).transcript
    for forged in (-1, 99):
        entries = tuple(
            replace(entry, outputs=(forged,)) if entry.label == "choice 1" else entry
            for entry in transcript
        )
        with pytest.raises(DoesNotFollow, match="the output of 'choice 1' is impossible"):
            rebuild_from_transcript(method, data.public, Transcript(entries))


def test_no_rows_that_are_public_stay_no_rows():
    table = tables.table([], relation="replace_one")
    for method in METHODS:
        assert method.release(table).total == 0


class Greedy(sf.Synthesizer):
    """A mutant: rounds are even or odd as the number of rows, which a query of its own tells."""

    def program(self, public, budget):
        leak = Leak()
        yield Ask(budget, geometric((1,), Fraction(self.epsilon) / 2), leak, "rows")
        rounds = leak.found[0].counts.rows % 2 + 1
        half = replace(self, epsilon=Fraction(self.epsilon) / 2, rounds=rounds)
        yield from sf.Synthesizer.program(half, public, budget)


def test_replay_catches_a_number_of_rounds_read_off_the_data():
    here, there = tables.table(tables.made(400)), tables.table(tables.made(401))
    assert not examine(Greedy(epsilon=1), Pair("one more row", here, there)).passed


@pytest.mark.parametrize("said", [np.nan, np.inf, -np.inf, -0.25, 1e12])
def test_no_fit_makes_a_score_overflow(monkeypatch, said):
    """Scores are whole numbers that one record moves by its grid steps, whatever a fit came to."""
    public = tables.table([]).public
    growing = GrowingModel(public, PureDP(1), Relation.ADD_REMOVE)
    for asked in one_way_counts(growing, range(len(public.sizes)), Fraction(1)):
        growing.learn(asked, np.full(asked.shape, 2**40))
    monkeypatch.setattr(GraphicalModel, "joint", lambda model: np.full(public.sizes, said))
    pool = candidate_pool(public.sizes, 100, most_sets=20, most_cells=10_000)
    expected = growing.estimates(pool)
    assert expected.min() >= 0 and expected.max() <= GRID * LARGEST
    budget = SimpleNamespace(take=lambda loss, label: None)
    ask = growing.choose(budget, 1, pool, np.arange(len(pool.sets)), Fraction(1)).query
    counts = np.full(int(pool.starts[-1]), 5, dtype=np.int64)
    more = counts.copy()
    more[pool.starts[:-1]] += 1
    exact = [
        min(sum(abs(GRID * 5 - int(cell)) for cell in expected[low:high]), FARTHEST)
        for low, high in pairwise(pool.starts.tolist())
    ]
    assert ask.scores(counts).tolist() == exact
    assert np.abs(ask.scores(more) - ask.scores(counts)).max() <= GRID


def test_a_distance_that_no_fit_has_is_cut_and_stays_one_that_a_record_moves_little():
    pool = candidate_pool((2, 2), 100, most_sets=20, most_cells=100)
    ask = Distances(
        pool=pool,
        offered=np.arange(1),
        expected=lambda: np.full(4, FARTHEST // 4 + GRID, dtype=np.int64),
        handicap=np.zeros(1, dtype=np.int64),
        weights=np.ones(1, dtype=np.int64),
    )
    counts = np.zeros(4, dtype=np.int64)
    scores = [int(ask.scores(counts + np.array([n, 0, 0, 0]))[0]) for n in range(9)]
    assert scores[0] == FARTHEST and scores[-1] < FARTHEST
    assert max(abs(a - b) for a, b in pairwise(scores)) <= GRID


def test_a_delta_never_means_more_noise():
    few = sf.Schema.from_dict({name: list(range(9)) for name in "abcd"}, rows_about=10**4)
    many = sf.Schema.from_dict({f"c{i}": list(range(9)) for i in range(40)}, rows_about=10**4)
    for schema, measure in [(few, PureDP), (many, ZCDP)]:
        public = TablePublic.of(schema)
        method = sf.Synthesizer(epsilon=1, delta=1e-9)
        assert isinstance(method.record_budget(public)[0], measure)
        assert isinstance(method.guarantee(public).also[0], measure)
        gaussian = replace(method, noise="gaussian")
        assert isinstance(gaussian.record_budget(public)[0], ZCDP)
    with pytest.raises(ValueError, match="needs a delta"):
        sf.Synthesizer(epsilon=1, noise="gaussian").plan(TablePublic.of(few))
    with pytest.raises(ValueError, match="give at least rounds=1"):
        sf.Synthesizer(epsilon=1, rounds=0, focus=[("a", "b")]).plan(TablePublic.of(few))
