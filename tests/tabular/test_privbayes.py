"""PrivBayes: its promise in both relations, its rules of size, its limits, its published form."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import polars as pl
import pytest

from sfumato import noise
from sfumato.audit import canonical_pairs, examine, random_pair
from sfumato.data.schema import Schema
from sfumato.data.table import Table, TablePublic
from sfumato.mechanisms.choose import Choose
from sfumato.mechanisms.laplace import GeometricNoise
from sfumato.privacy.door import rebuild_from_transcript
from sfumato.privacy.guarantee import Basis
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.loss import PureDP
from sfumato.privacy.program import DoesNotFollow
from sfumato.privacy.record import record
from sfumato.tabular import structure
from sfumato.tabular.parents import maximal_parent_sets
from sfumato.tabular.privbayes import PrivBayes, table_places
from sfumato.tabular.scores import STEPS, Assignment, Independence
from sfumato.tabular.structure import CellGrowth, DegreeGrowth, Node
from tests.method_suite import MethodSuite
from tests.tabular import tables

BITS = tuple("abcde")


def binary(rows, columns=BITS, **options):
    """A table of binary columns."""
    values = np.asarray(rows, dtype=np.int64).reshape(-1, len(columns))
    frame = pl.DataFrame({name: values[:, i] == 1 for i, name in enumerate(columns)})
    return Table(frame, Schema.from_dict({name: [False, True] for name in columns}, **options))


def correlated(rows, columns=5, seed=0):
    """Binary columns of which each copies the one before, most of the time."""
    generator = np.random.default_rng(seed)
    values = generator.integers(0, 2, (rows, columns))
    for column in range(1, columns):
        same = generator.random(rows) < 0.85
        values[same, column] = values[same, column - 1]
    return values


def public(sizes, rows=None, **options):
    columns = {f"c{i}": [str(v) for v in range(size)] for i, size in enumerate(sizes)}
    relation = "add_remove" if rows is None else "replace_one"
    return TablePublic.of(Schema.from_dict(columns, relation=relation, **options), rows)


class PrivBayesSuite(MethodSuite):
    name = "table.PrivBayes"

    def audited_public(self):
        return self.data().public

    def data(self):
        return tables.table(tables.made(60))

    def neighbours(self):
        return tables.row_pairs()

    def fact(self, release):
        return release.model.marginal((0, 1, 2)).ravel()

    def test_exact_replay_finds_nothing_on_random_neighbours(self):
        # A few pairs: a run has many steps, and each choice is an integral.
        for seed in range(20 if self.sampled else 8):
            pair = random_pair(self.audited_public(), np.random.default_rng(seed))
            findings = examine(self.method(), pair, seeds=(seed,))
            assert findings.passed, findings

    def halve_sensitivity(self, monkeypatch):
        super().halve_sensitivity(monkeypatch)
        original = Choose.__post_init__

        def halved(primitive):
            original(primitive)
            object.__setattr__(primitive, "sensitivity", primitive.sensitivity / 2)

        monkeypatch.setattr(Choose, "__post_init__", halved)


class TestPrivBayes(PrivBayesSuite):
    # Tables of few rows would have no parents; a fixed size makes the network a matter of choice.
    options = {"cells": 8}  # noqa: RUF012


class TestPrivBayesThatCountsItsRows(PrivBayesSuite):
    sampled = False


class TestPrivBayesUnderReplacement(PrivBayesSuite):
    sampled = False
    options = {"cells": 8, "repair": "project"}  # noqa: RUF012

    def data(self):
        return tables.table(tables.made(60), relation="replace_one")

    def neighbours(self):
        return tables.replaced_pairs()


class TestGaussianPrivBayes(PrivBayesSuite):
    sampled = False
    options = {"delta": "1/100", "cells": 8, "encoding": "vanilla"}  # noqa: RUF012


class TestPrivBayesOnBits(PrivBayesSuite):
    sampled = False
    options = {"encoding": "gray", "degree": 1, "network_share": "1/5"}  # noqa: RUF012


class TestPublishedPrivBayesUnderReplacement(PrivBayesSuite):
    sampled = False
    options = {"variant": "published", "encoding": "binary", "degree": 1}  # noqa: RUF012

    def data(self):
        return tables.table(tables.made(60), relation="replace_one")

    def neighbours(self):
        return tables.replaced_pairs()

    def test_exact_replay_finds_nothing_and_comes_close_to_the_promise(self):
        # Half of the budget goes to choices, which lose little on any one pair.
        largest = 0.0
        for pair in self.pairs():
            findings = examine(self.method(), pair)
            assert findings.passed, findings
            largest = max(largest, findings.largest)
        assert 0.5 <= largest <= 1 + 1e-9


# Choices alone: what halving the sensitivity of the scores does.


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
@pytest.mark.parametrize("score", ["F", "R", "I"])
@pytest.mark.parametrize("delta", [None, "1/100"])
def test_choices_keep_their_declarations_on_random_neighbours(relation, score, delta):
    schema = Schema.from_dict(
        {name: [False, True] for name in "abcd"}, relation=relation, rows_about=10
    )
    facts = TablePublic.of(schema)
    method = PrivBayes(epsilon=1, delta=delta, score=score, degree=2)
    for seed in range(8):
        pair = random_pair(facts, np.random.default_rng(seed))
        findings = examine(method, pair, seeds=(seed,))
        assert findings.passed, findings


@pytest.mark.parametrize("score", [Assignment, Independence])
def test_half_the_sensitivity_of_a_score_is_found_out(monkeypatch, score):
    honest = score.sensitivity
    monkeypatch.setattr(
        score, "sensitivity", lambda self, rows, smaller: honest(self, rows, smaller) / 2
    )
    facts = TablePublic.of(Schema.from_dict({name: [False, True] for name in "abc"}))
    method = PrivBayes(epsilon=1, score=score.letter, degree=1)
    pairs = [
        *canonical_pairs(facts),
        *(random_pair(facts, np.random.default_rng(seed)) for seed in range(40)),
    ]
    assert any(not examine(method, pair).passed for pair in pairs)


# Sizes.


@pytest.mark.parametrize(
    ("rows", "columns", "theta", "degrees"),
    [
        (21574, 16, 3, [1, 2, 3, 5, 6, 7]),
        (21574, 16, 4, [1, 2, 3, 4, 5, 6]),
        (47461, 23, 3, [2, 3, 4, 5, 6, 7]),
        (47461, 23, 4, [1, 2, 3, 5, 6, 7]),
    ],
)
def test_the_degrees_of_the_thesis(monkeypatch, rows, columns, theta, degrees):
    # The published table does not ask what can be counted.
    monkeypatch.setattr(structure, "MOST_CANDIDATES", 2**40)
    monkeypatch.setattr(structure, "MOST_DEGREE_CELLS", 2**60)
    facts = public([2] * columns, rows)
    found = []
    for epsilon in ("0.05", "0.1", "0.2", "0.4", "0.8", "1.6"):
        method = PrivBayes(epsilon=epsilon, theta=theta, network_share="1/2")
        growth = method.growth(facts, rows)
        assert isinstance(growth, DegreeGrowth)
        found.append(growth.degree)
    assert found == degrees


def test_the_degree_jumps_at_the_threshold_and_without_any_it_is_none():
    facts = public([2] * 16, 13440)
    method = PrivBayes(epsilon="0.1", variant="published")
    assert method.growth(facts, 13440).degree == 2
    assert method.growth(facts, 13439).degree == 1
    assert method.growth(facts, 10) is None


@pytest.mark.parametrize(
    ("rows", "columns", "cells"),
    [(45222, 15, [12, 25, 50, 100, 200, 401]), (38000, 14, [11, 22, 45, 90, 180, 361])],
)
def test_the_table_sizes_of_the_thesis(rows, columns, cells):
    facts = public([16] * columns, rows)
    found = [
        PrivBayes(epsilon=epsilon, variant="published").useful_cells(
            facts, rows, columns, Fraction(1, 2)
        )
        for epsilon in ("0.05", "0.1", "0.2", "0.4", "0.8", "1.6")
    ]
    assert found == cells


def test_a_column_gets_parents_once_two_columns_fit_into_a_table():
    facts = public([16] * 15, 45222)
    # 16·16 = 256 cells, which nε/(4dθ) reaches at ε = 1.02.
    method = PrivBayes(epsilon="1.01", variant="published", encoding="vanilla")
    assert method.growth(facts, 45222) is None
    method = PrivBayes(epsilon="1.02", variant="published", encoding="vanilla")
    assert method.growth(facts, 45222).limit == 256


def test_gaussian_tables_are_sized_by_their_mean_noise():
    facts = public([4] * 6)
    method = PrivBayes(epsilon=1, delta="1e-9", theta=2)
    cells = method.useful_cells(facts, 10_000, 6, Fraction(7, 10))
    rho = float(method.working_loss().rho) * 0.7 / 6
    deviation = math.sqrt(1 / (2 * rho))
    assert cells == int(10_000 / (2 * deviation * math.sqrt(2 / math.pi)))


def test_growth_is_cut_back_by_public_sizes_alone():
    assert DegreeGrowth.cap_growth(16, 6).degree == 6
    assert DegreeGrowth.cap_growth(5, 30).degree == 4
    assert DegreeGrowth.cap_growth(60, 6).degree < 3
    assert CellGrowth.cap_growth(((16,),) * 40, 2**30).limit < 2**22


def test_where_there_are_too_many_sets_of_parents_some_maximal_ones_are_offered():
    levels = ((4, 2), (3,), (8, 4, 2), (2,), (5, 3), (2,), (6, 2))
    for limit in (8, 24, 100):
        every = maximal_parent_sets(levels, limit)
        some = structure._some_of(levels, limit, 30)
        assert len(set(some)) == len(some) <= 30 and set(some) <= set(every)
        assert some == structure._some_of(levels, limit, 30)
        held = {column for places in some for column, _ in places}
        assert held == set(range(len(levels)))
    wide = CellGrowth.cap_growth(((8, 4, 2),) * 70, 64)
    found = wide.candidates([Node(column, ()) for column in range(40)])
    assert len(set(found)) == len(found) < 2**14
    assert found == wide.candidates([Node(column, ()) for column in range(40)])


def test_candidates_of_a_network_by_degree():
    growth = DegreeGrowth(5, 2)
    nodes = [Node(3, ())]
    assert list(growth.candidates(nodes)) == [Node(c, ((3, 0),)) for c in (0, 1, 2, 4)]
    nodes += [Node(1, ((3, 0),)), Node(0, ((1, 0), (3, 0)))]
    pairs = list(combinations((0, 1, 3), 2))
    candidates = growth.candidates(nodes)
    assert len(candidates) == 6 and candidates[5] == list(candidates)[5] == candidates[-1]
    assert list(candidates) == [
        Node(child, tuple((c, 0) for c in pair)) for child in (2, 4) for pair in pairs
    ]


def test_candidates_of_a_network_by_cells_use_coarser_levels():
    growth = CellGrowth(((4, 2), (3,), (8, 4, 2)), 24)
    candidates = growth.candidates([Node(0, ()), Node(2, ())])
    # 24/3 = 8 cells for the parents: {C0}, {A1 C1}, {A0 C2}.
    assert set(candidates) == {
        Node(1, ((2, 0),)),
        Node(1, ((0, 1), (2, 1))),
        Node(1, ((0, 0), (2, 2))),
    }
    alone = CellGrowth(((4, 2), (3,), (8, 4, 2)), 2)
    assert alone.candidates([Node(0, ())]) == [Node(1, ()), Node(2, ())]
    assert not alone.possible and growth.possible


def test_tables_that_another_one_tells_are_not_measured():
    nodes = [Node(0, ()), Node(1, ((0, 0),)), Node(2, ((0, 1), (1, 0))), Node(3, ((0, 1),))]
    assert table_places(nodes) == [
        ((1, 0), (0, 0)),
        ((2, 0), (0, 1), (1, 0)),
        ((3, 0), (0, 1)),
    ]
    assert len(table_places(nodes, keep_all=True)) == 4
    assert table_places([]) == [()]


# Scales.


def script(method, data):
    with noise.seeded(1):
        return record(method, data)


def test_scales_and_rates_under_replacement_are_those_of_the_thesis():
    data = binary(correlated(1000), relation="replace_one")
    steps = list(script(PrivBayes(epsilon=1, variant="published", score="F", degree=2), data))
    choices = [step.primitive for step in steps if isinstance(step.primitive, Choose)]
    noises = [step.primitive for step in steps if isinstance(step.primitive, GeometricNoise)]
    # d − k tables with noise of scale 4(d − k)/ε, and an exponent of ε/(4(d − 1)S) in F.
    assert len(noises) == 3 and all(one.scale == 12 for one in noises)
    assert all(one.law == "exponential" for one in choices)
    # One in a hundred of n·F = 10 rows: the odds are e^{10/16}.
    odds = math.exp(float(choices[0].rate) * Assignment.steps * 10)
    assert odds == pytest.approx(1.868246, abs=1e-6)
    plain = list(script(PrivBayes(epsilon=1, variant="published", score="R", degree=2), data))
    assert plain[0].primitive.sensitivity == STEPS * (3 + Fraction(2, 1000))
    tight = list(script(PrivBayes(epsilon=1, score="R", degree=2), data))
    assert tight[0].primitive.sensitivity == math.ceil(2 * STEPS * Fraction(999, 1000))


def test_scales_under_add_remove_are_half_as_large():
    data = binary(correlated(1000))
    steps = list(script(PrivBayes(epsilon=1, degree=2, network_share="1/2"), data))
    noises = [step.primitive for step in steps if isinstance(step.primitive, GeometricNoise)]
    # No number of rows is needed where the degree is given: (d − k)/ε₂.
    assert [one.scale for one in noises] == [6, 6, 6]
    counted = list(script(PrivBayes(epsilon=1, network_share="1/2"), data))
    assert counted[0].label == "rows" and counted[0].primitive.epsilon == Fraction(1, 100)


def test_without_parents_everything_goes_to_the_tables():
    data = binary(correlated(100))
    steps = list(script(PrivBayes(epsilon=1, degree=0), data))
    assert [step.primitive.scale for step in steps] == [5] * 5


def test_choices_under_concentrated_loss_are_exponential_and_cost_their_share():
    data = binary(correlated(500))
    method = PrivBayes(epsilon=1, delta="1e-9", degree=1)
    steps = list(script(method, data))
    choices = [step.primitive for step in steps if isinstance(step.primitive, Choose)]
    assert {one.law for one in choices} == {"exponential"}
    spent = sum(one.epsilon**2 / 8 for one in choices)
    share = method.working_loss().rho * Fraction(3, 10)
    assert spent <= share and float(spent) == pytest.approx(float(share), rel=1e-9)


# What comes out.


def distance(data, release, ways):
    """The mean total variation of all marginals of a number of columns."""
    columns = range(len(data.public.sizes))
    sets = list(combinations(columns, ways))
    truths = data.counts.marginals(sets)
    return np.mean(
        [
            0.5 * np.abs(truth / truth.sum() - release.model.marginal(columns)).sum()
            for columns, truth in zip(sets, truths, strict=True)
        ]
    )


@pytest.mark.parametrize("encoding", ["hierarchical", "vanilla", "binary", "gray"])
@pytest.mark.parametrize("repair", ["consistent", "project", "clip", "graphical"])
def test_with_a_huge_budget_and_all_parents_the_truth_comes_out(encoding, repair):
    data = tables.table(tables.made(400))
    release = PrivBayes(epsilon=10**9, cells=2**12, encoding=encoding, repair=repair).release(data)
    assert distance(data, release, 3) < 0.01
    assert release.total == pytest.approx(400, abs=0.01)


def test_one_parent_and_mutual_information_give_a_maximum_spanning_tree():
    data = binary(correlated(4000, 6), "abcdef", relation="replace_one")
    release = PrivBayes(epsilon=10**9, degree=1, score="I").release(data)
    counts = {
        pair: table / table.sum()
        for pair, table in zip(
            combinations(range(6), 2),
            data.counts.marginals(list(combinations(range(6), 2))),
            strict=True,
        )
    }

    def bits(joint):
        plain = np.outer(joint.sum(axis=1), joint.sum(axis=0))
        return float((joint * np.log2(joint / plain)).sum())

    weights = {pair: bits(joint) for pair, joint in counts.items()}
    # Kruskal: the largest weights that close no circle.
    root = list(range(6))

    def top(column):
        return column if root[column] == column else top(root[column])

    best = 0.0
    for pair in sorted(weights, key=weights.get, reverse=True):
        one, other = top(pair[0]), top(pair[1])
        if one != other:
            root[one] = other
            best += weights[pair]
    found = sum(
        weights[tuple(sorted(part.columns))]
        for part in release.network.parts
        if len(part.columns) == 2
    )
    assert found == pytest.approx(best)


def test_what_a_network_misses_is_its_total_correlation_less_its_information():
    data = binary(correlated(3000, 4), "abcd", relation="replace_one")
    release = PrivBayes(epsilon=10**9, degree=1).release(data)
    (counts,) = data.counts.marginals([(0, 1, 2, 3)])
    truth = counts / counts.sum()
    model = release.model.marginal((0, 1, 2, 3))
    held = truth > 0

    def entropy(columns):
        gone = tuple(c for c in range(4) if c not in columns)
        cells = truth.sum(axis=gone)
        cells = cells[cells > 0]
        return -float((cells * np.log2(cells)).sum())

    total = sum(entropy((c,)) for c in range(4)) - entropy((0, 1, 2, 3))
    told = sum(
        entropy(part.columns[:1]) + entropy(part.columns[1:]) - entropy(part.columns)
        for part in release.network.parts
        if len(part.columns) > 1
    )
    missed = float((truth[held] * np.log2(truth[held] / model[held])).sum())
    assert missed == pytest.approx(total - told, abs=1e-3)


def test_every_child_comes_after_its_parents_and_no_table_exceeds_its_limit():
    data = tables.table(tables.made(300))
    for seed in range(5):
        with noise.seeded(seed):
            release = PrivBayes(epsilon=1, cells=12).release(data)
        seen = set()
        for part in release.network.parts:
            child, *parents = part.columns
            assert set(parents) <= seen
            seen.add(child)
        assert seen == {0, 1, 2}
        assert all(table.cells <= 12 for table in release.tables)


@pytest.mark.parametrize("encoding", ["binary", "gray"])
def test_invalid_codes_are_never_drawn(encoding):
    columns = {"x": [str(i) for i in range(5)], "y": [str(i) for i in range(11)], "z": ["0", "1"]}
    frame = pl.DataFrame({name: [values[0]] * 40 for name, values in columns.items()})
    for options in ({}, {"relation": "replace_one"}):
        variant = {"variant": "published"} if options else {}
        data = Table(frame, Schema.from_dict(columns, **options))
        release = PrivBayes(epsilon="0.01", encoding=encoding, degree=1, **variant).release(data)
        rows = release.model.draw(2000, noise.generator(1))
        assert (rows < np.array([5, 11, 2])).all() and (rows >= 0).all()
        assert release.model.marginal((1, 0)).shape == (11, 5)
        assert release.sample(10).columns == ["x", "y", "z"]


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
@pytest.mark.parametrize("rows", [0, 1, 2])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"cells": 8},
        {"encoding": "gray", "degree": 2, "score": "F"},
        {"delta": "1e-6"},
        {"repair": "graphical"},
    ],
)
def test_hardly_any_rows_are_as_good_as_many(relation, rows, options):
    data = tables.table(tables.made(rows), relation=relation)
    release = PrivBayes(epsilon=1, **options).release(data)
    assert release.model.marginal((0, 1, 2)).sum() == pytest.approx(1)
    if relation == "replace_one":
        assert release.total == rows and len(release.sample()) == rows


@pytest.mark.parametrize(
    "columns", [{"a": ["x"]}, {"a": ["x", "y"]}, {"a": ["x"], "b": ["x", "y"]}]
)
@pytest.mark.parametrize("encoding", ["hierarchical", "binary"])
@pytest.mark.parametrize("variant", ["proved", "published"])
def test_one_column_and_columns_of_one_value(columns, encoding, variant):
    frame = pl.DataFrame({name: ["x"] * 30 for name in columns})
    data = Table(frame, Schema.from_dict(columns, relation="replace_one"))
    release = PrivBayes(epsilon=100, encoding=encoding, variant=variant).release(data)
    assert release.model.sizes == tuple(len(values) for values in columns.values())
    first = release.model.marginal(tuple(range(len(columns)))).ravel()
    assert first[0] > 0.9
    # One table gets everything: 2/ε a cell.
    assert len(release.tables) == 1
    assert len(release.sample(5)) == 5


@pytest.mark.parametrize(
    ("epsilon", "encoding"), [("1e-6", "hierarchical"), ("1e6", "hierarchical"), ("1e6", "gray")]
)
def test_extreme_budgets(epsilon, encoding):
    data = tables.table([(0, "red", 5, True)] * 50)
    release = PrivBayes(epsilon=epsilon, encoding=encoding).release(data)
    peak = release.model.marginal((0, 2)).max()
    assert peak > 0.99 if epsilon == "1e6" else peak <= 1
    assert np.isfinite(release.total)


def test_a_tiny_theta_is_capped_and_a_huge_one_leaves_no_parents():
    data = binary(correlated(200))
    assert len(PrivBayes(epsilon=1, theta="1e-9").release(data).tables) == 1
    assert len(PrivBayes(epsilon=1, theta="1e9").release(data).tables) == 5


def test_consistent_tables_agree_better_than_projected_ones():
    data = binary(correlated(2000, 8), "abcdefgh", relation="replace_one")

    def spread(repair):
        with noise.seeded(4):
            release = PrivBayes(epsilon=1, degree=2, repair=repair).release(data)
        return distance(data, release, 2)

    assert spread("consistent") < 1.2 * spread("project")
    assert spread("consistent") < spread("clip")


def test_more_budget_brings_rows_nearer_to_the_data():
    data = binary(correlated(3000))
    near = [distance(data, PrivBayes(epsilon=e).release(data), 3) for e in ("1/50", 10)]
    assert near[1] < 0.02 < near[0]


# The published variant.


def test_the_published_variant_is_proved_under_replacement_alone(tmp_path):
    method = PrivBayes(epsilon=1, variant="published")
    replaced = binary(correlated(50), relation="replace_one")
    assert method.guarantee(replaced.public).basis is Basis.PROVED
    added = binary(correlated(50))
    with pytest.raises(ValueError, match="not private under add/remove"):
        method.release(added)
    accepted = PrivBayes(epsilon=1, variant="published", accept_unproven=True)
    release = accepted.release(added)
    assert release.guarantee.basis is Basis.PUBLISHED and not release.guarantee.private
    assert release.total == 50
    ledger = Ledger.create(tmp_path / "a.ledger", allow=PureDP(5), unit="row")
    with pytest.raises(ValueError, match="proof of privacy does not hold"):
        accepted.release(added, ledger=ledger)
    assert ledger.spent == PureDP(0)


def test_an_audit_refutes_the_published_variant_under_add_remove():
    facts = TablePublic.of(Schema.from_dict({name: [False, True] for name in "abc"}))
    method = PrivBayes(epsilon=1, variant="published", accept_unproven=True)
    for pair in canonical_pairs(facts):
        findings = examine(method, pair)
        assert findings.largest == math.inf
        assert any("rows" in fault for fault in findings.faults)


def test_the_published_variant_fixes_what_the_thesis_fixes():
    for name, value in (
        ("theta", 6),
        ("network_share", "1/4"),
        ("repair", "clip"),
        ("delta", "1e-9"),
    ):
        with pytest.raises(ValueError, match=f"leave {name} out"):
            PrivBayes(epsilon=1, variant="published", **{name: value})


def test_clipping_leaves_half_a_scale_in_every_empty_cell():
    # E[max(0, X)] of geometric noise is half its mean absolute value.
    data = binary(np.zeros((0, 5)), relation="add_remove")
    masses = []
    for seed in range(200):
        with noise.seeded(seed):
            scripted = record(PrivBayes(epsilon=1, degree=4), data)
        table = list(scripted)[-1].outputs[0]
        masses.append(np.maximum(table, 0).sum() / table.size)
    scale = 1 / 0.7
    expected = 0.5 / math.sinh(1 / scale)
    # 6,400 cells; six standard deviations of their mean.
    assert np.mean(masses) == pytest.approx(expected, abs=6 * scale / math.sqrt(6400))


# Refusals and plans.


def test_refusals_name_what_to_do():
    data = tables.table(tables.made(10))
    for options, words in (
        ({"degree": 2}, "give cells instead"),
        ({"score": "F"}, "score F is for binary columns"),
        ({"score": "I"}, "rows_about"),
    ):
        with pytest.raises(ValueError, match=words):
            PrivBayes(epsilon=1, **options).release(data)
    with pytest.raises(ValueError, match="degree or cells"):
        PrivBayes(epsilon=1, degree=1, cells=4)
    with pytest.raises(ValueError, match="score must be one of"):
        PrivBayes(epsilon=1, score="G")


def test_a_transcript_of_another_method_is_refused():
    data = binary(correlated(40))
    release = PrivBayes(epsilon=1, degree=1).release(data)
    with pytest.raises(DoesNotFollow):
        rebuild_from_transcript(PrivBayes(epsilon=1, degree=2), data.public, release.transcript)


def test_the_plan_tells_sizes_noise_and_errors():
    known = PrivBayes(epsilon=1).plan(public([2] * 16, 21574))
    network, measured = known.steps
    assert "degree 5" in measured.what and "64 cells" in measured.what
    # 2·11/0.7, and √2 for the deviation.
    assert measured.figures["standard_deviation"] == pytest.approx(44.4, abs=0.1)
    ways = [measured.figures[f"ways_{k}"] for k in (1, 2, 3)]
    assert ways == sorted(ways) and 0 < ways[0] < 0.02
    assert network.loss == PureDP("0.3") and "15 choices" in network.noise
    unknown = PrivBayes(epsilon=1).plan(public([2] * 16))
    assert [step.loss for step in unknown.steps] == [PureDP("0.01"), PureDP("0.3"), PureDP("0.69")]
    assert "rows_about" in str(unknown)
    about = PrivBayes(epsilon=1).plan(public([4] * 6, rows_about=10_000))
    assert "cells" in about.steps[-1].what and "ways_3" in about.steps[-1].figures
    none = PrivBayes(epsilon="0.01").plan(public([4] * 6, 100))
    assert none.steps[0].error == "no column is given a parent"
    assert none.steps[1].loss == PureDP("0.01")


def test_a_made_up_table_that_does_not_tell_its_rows_is_priced_as_two_changes():
    facts = public([2] * 4, 50)
    untold = TablePublic.of(facts.schema)
    method = PrivBayes(epsilon=1, degree=1, score="R")
    candidates = [Node(0, ((1, 0),)), Node(2, ((1, 0),))]
    one = method.choice(untold, Independence(), candidates, Fraction(1, 2), None)
    assert one.sensitivity == 4 * STEPS
    told = method.choice(facts, Independence(), candidates, Fraction(1, 2), 50)
    assert told.sensitivity == math.ceil(2 * STEPS * Fraction(49, 50))
