from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from sfumato import noise
from sfumato.audit import Pair, examine
from sfumato.data.schema import Schema
from sfumato.data.table import TablePublic
from sfumato.mechanisms.choose import Choose
from sfumato.privacy.door import rebuild_from_transcript
from sfumato.privacy.program import DoesNotFollow
from sfumato.privacy.record import record, replay
from sfumato.tabular.counting_method import TOTAL
from sfumato.tabular.mwem import MWEM, Rounds, Weights
from sfumato.tabular.queries import GRID
from tests.method_suite import MethodSuite
from tests.tabular import tables


class MWEMSuite(MethodSuite):
    name = "table.MWEM"
    # A choice loses its whole share only on pairs made for it; the measurements come close alone.
    options = {"rounds": 1, "selection_share": "1/5"}  # noqa: RUF012

    def audited_public(self):
        return self.data().public

    def data(self):
        return tables.table(tables.made(60))

    def neighbours(self):
        return tables.row_pairs()

    def fact(self, release):
        return release.model.cells


class TestMWEM(MWEMSuite):
    pass


class TestMWEMUnderReplacement(MWEMSuite):
    sampled = False
    options = {"rounds": 2, "selection_share": "1/5", "answer": "average"}  # noqa: RUF012

    def data(self):
        return tables.table(tables.made(60), relation="replace_one")

    def neighbours(self):
        return tables.replaced_pairs()


class TestGaussianMWEM(MWEMSuite):
    sampled = False
    options = {"delta": "1/100", "rounds": 1, "selection_share": "1/5"}  # noqa: RUF012


def test_every_choice_and_every_table_gets_its_share():
    release = MWEM(epsilon=1, rounds=2, selection_share="1/2").release(
        tables.table(tables.made(30))
    )
    labels = [entry.label for entry in release.transcript]
    assert labels == [TOTAL, "choice 1", "table 1", "choice 2", "table 2"]
    costs = [entry.cost["epsilon"] for entry in release.transcript]
    assert [Fraction(cost) for cost in costs] == [Fraction(1, 20)] + [Fraction(19, 80)] * 4


@pytest.mark.parametrize(("relation", "moved"), [("add_remove", 1), ("replace_one", 2)])
def test_scores_move_no_further_than_declared(relation, moved):
    method = MWEM(epsilon=1, rounds=3)
    options = {"relation": relation}
    rows = tables.made(30)
    other = [*rows[1:], (0, "blue", 40, True)] if moved == 2 else rows[1:]
    here, there = tables.table(rows, **options), tables.table(other, **options)
    seen = 0
    for seed in range(5):
        with noise.seeded(seed):
            script = record(method, here)
        for step, change in script.changes(replay(method, there, script)):
            if step.label.startswith("choice"):
                assert change.allowed == moved * GRID
                assert change.measured <= moved * GRID
                seen += 1
    assert seen == 15


def test_the_choice_uses_the_law_that_its_measure_allows():
    data = tables.table(tables.made(20))
    for delta, law in ((None, "permute-and-flip"), ("1e-6", "exponential")):
        release = MWEM(epsilon=1, delta=delta, rounds=1).release(data)
        signatures = [e.signature for e in release.transcript if e.label == "choice 1"]
        assert [signature["law"] for signature in signatures] == [law]


def test_the_choice_finds_the_table_that_is_most_wrong():
    # Colour and size go together; hand does not.
    rows = [(i, *(("red", 5), ("blue", 35))[i % 2], i % 4 < 2) for i in range(400)]
    release = MWEM(epsilon=10_000, rounds=1).release(tables.table(rows))
    assert release.tables[0].columns == (0, 1)


def test_with_a_huge_budget_all_pairs_are_learned():
    data = tables.table(tables.made(500))
    release = MWEM(epsilon=10**6, rounds=12).release(data)
    for pair in combinations(range(3), 2):
        names = [data.public.columns[column] for column in pair]
        truth = data.counts.marginals([pair])[0]
        assert np.abs(release.counts(names) - truth).sum() / 2 < 0.03 * 500


def test_a_single_candidate_is_not_chosen_but_measured():
    release = MWEM(epsilon=1, ways=3).release(tables.table(tables.made(20)))
    assert [entry.label for entry in release.transcript] == [TOTAL, "table 1"]


def test_learning_never_moves_away_from_what_was_measured():
    generator = np.random.default_rng(0)
    weights = Weights((3, 2, 4))
    wanted = generator.dirichlet(np.ones(6))
    far = []
    for _ in range(5):
        far.append(np.abs(weights.model().marginal((0, 1)).ravel() - wanted).sum())
        weights.learn((0, 1), wanted)
        assert weights.cells.sum() == pytest.approx(1)
    assert far == sorted(far, reverse=True)
    assert far[-1] < 0.1 * far[0]
    # Columns that were not measured stay uniform.
    np.testing.assert_allclose(weights.model().marginal((2,)), 0.25)


def test_the_average_is_the_mean_of_the_iterates():
    data = tables.table(tables.made(60))
    with noise.seeded(1):
        average = MWEM(epsilon=1, rounds=2, answer="average").release(data)
    with noise.seeded(1):
        last = MWEM(epsilon=1, rounds=2).release(data)
    weights = Weights(data.public.sizes)
    sets = Rounds(MWEM(epsilon=1), data.public).pool.sets
    iterates = []
    for number in (1, 2):
        chosen = sets[last.transcript[f"choice {number}"]]
        weights.learn(chosen, last.transcript[f"table {number}"] / last.total)
        iterates.append(weights.cells.copy())
    np.testing.assert_allclose(last.model.cells, iterates[1])
    np.testing.assert_allclose(average.model.cells, np.mean(iterates, axis=0))


def test_domains_that_are_too_large_are_refused_before_anything_is_spent():
    public = TablePublic.of(Schema.from_dict({f"c{i}": [False, True] for i in range(23)}))
    with pytest.raises(ValueError, match="8,388,608 combinations of values; at most 4,194,304"):
        MWEM(epsilon=1).check(public)
    many = TablePublic.of(Schema.from_dict({f"c{i}": [False, True] for i in range(20)}))
    with pytest.raises(ValueError, match="gives 184,756 tables; at most 20,000 are allowed"):
        MWEM(epsilon=1, ways=10).check(many)


def test_a_wrong_candidate_in_a_transcript_is_refused():
    release = MWEM(epsilon=1, rounds=1).release(tables.table(tables.made(20)))
    method = MWEM(epsilon=1, rounds=2)
    with pytest.raises(DoesNotFollow):
        rebuild_from_transcript(method, release.public, release.transcript)


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
@pytest.mark.parametrize("values", [["x", "y"], ["x"]])
def test_no_rows_one_row_one_column_one_value(relation, values):
    for rows in (0, 1):
        data = tables.single(values, rows, relation=relation)
        release = MWEM(epsilon="1/10").release(data)
        assert release.counts(["only"]).sum() == pytest.approx(release.total)


@pytest.mark.parametrize("epsilon", ["1e-12", 1e9])
def test_extreme_budgets_give_finite_weights(epsilon):
    release = MWEM(epsilon=epsilon, rounds=3).release(tables.table(tables.made(10)))
    assert np.isfinite(release.model.cells).all()
    assert release.model.cells.sum() == pytest.approx(1)


def test_replay_fails_scores_that_declare_half_of_what_they_move(monkeypatch):
    original = Choose.__post_init__

    def halved(primitive):
        original(primitive)
        object.__setattr__(primitive, "sensitivity", primitive.sensitivity / 2)

    monkeypatch.setattr(Choose, "__post_init__", halved)
    rows = [(0, "red", 5, True)] * 6
    pair = Pair("equal rows", tables.table(rows), tables.table(rows[1:]))
    findings = examine(MWEM(epsilon=1, rounds=1), pair)
    assert not findings.passed
