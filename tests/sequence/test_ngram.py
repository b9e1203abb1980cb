from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, target
from hypothesis import strategies as st

from sfumato import noise
from sfumato.privacy.record import record, replay
from sfumato.sequence.context_tree import GramTree
from sfumato.sequence.ngram import NGram
from tests.sequence import made
from tests.sequence.suites import ReplacedSuite, SequenceAuditSuite, SequenceSuite, check_persons


class TestNGram(SequenceSuite):
    name = "sequences.NGram"
    random_neighbours = 80
    options = {"longest": 4, "grams": 3}  # noqa: RUF012


class TestNGramOfOneLength(SequenceAuditSuite):
    name = "sequences.NGram"
    random_neighbours = 80
    options = {"longest": 4, "grams": 1}  # noqa: RUF012


class TestNGramUnderReplacement(ReplacedSuite):
    name = "sequences.NGram"
    options = {"longest": 2, "grams": 2}  # noqa: RUF012


def test_the_loss_for_a_whole_person_is_within_epsilon():
    check_persons(NGram(epsilon=1, longest=4, grams=2))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text("ab", max_size=9), max_size=10), st.text("ab", max_size=9))
def test_random_neighbours_stay_within_epsilon(texts, added):
    method = NGram(epsilon=1, longest=5, grams=3)
    with noise.seeded(len(texts)):
        script = record(method, made.sequences(texts))
    mirror = replay(method, made.sequences([*texts, added]), script)
    assert all(change.holds for _, change in script.changes(mirror))
    loss = abs(script.loss_against(mirror))
    target(loss)
    assert loss <= 1 + 1e-9


def test_with_a_huge_budget_the_truth_comes_out():
    release = NGram(epsilon=10**6, longest=9, grams=5).release(made.sequences(made.EXAMPLE, "AB"))
    for string, count in {"A": 6, "B": 4, "AB": 3, "AAB": 2, "AAAB": 1, "BA": 0}.items():
        assert release.frequency(string) == pytest.approx(count, abs=0.01)
    assert release.total == pytest.approx(4, abs=0.01)
    # Sequences begin as any symbol does: n-grams know no start.
    assert release.predict("")["A"] == pytest.approx(6 / 14, abs=0.01)


def test_every_length_gets_its_share_of_noise():
    release = NGram(epsilon=1, longest=4, grams=4).release(made.sequences(made.made(200)))
    signatures = [entry.signature for entry in release.transcript]
    assert {signature["epsilon"] for signature in signatures} == {"1/4"}
    assert {signature["sensitivity"] for signature in signatures} == {"4"}
    replaced = made.sequences(made.made(200), relation="replace_one")
    again = NGram(epsilon=1, longest=4, grams=4).release(replaced)
    assert {entry.signature["sensitivity"] for entry in again.transcript} == {"8"}
    (step, *_) = NGram(epsilon=1, longest=4, grams=4).plan(replaced.public).steps
    assert step.loss.epsilon == Fraction(1, 4)


def test_a_context_whose_suffix_was_not_expanded_is_found_all_the_same():
    tree = GramTree(2, 5.0)
    for counts in ([9, 1, 9], [2, 7, 0], [1, 2, 3]):
        tree.add(np.array(counts))
    # Of A, B, & the first is expanded; of AA, AB, A& the second, and its suffix B is not.
    expanded = [[True], [True, False, False], [False, True, False], [False] * 3]
    assert [level.tolist() for level in tree.levels] == expanded
    assert tree.frontier == 0
    model = tree.model()
    np.testing.assert_allclose(model.after((0, 1)), [1 / 6, 1 / 3, 1 / 2])
    np.testing.assert_allclose(model.after((1, 1)), [9 / 19, 1 / 19, 9 / 19])
    np.testing.assert_allclose(model.after((1,)), model.after(()))


def test_a_level_that_would_be_too_large_ends_the_tree():
    tree = GramTree(2, 0.0, most_cells=5)
    tree.add(np.array([9, 9, 9]))
    assert not tree.levels[-1].any()
    assert tree.frontier == 0 and tree.model().nodes == 1


@pytest.mark.parametrize("epsilon", ["1e-6", 1, 1000])
@pytest.mark.parametrize(("texts", "alphabet"), [([], "ab"), ([""], "a"), (["ab" * 30] * 9, "ab")])
def test_corner_cases_are_released_and_drawn(epsilon, texts, alphabet):
    data = made.sequences(texts, alphabet)
    for longest in (None, 1):
        release = NGram(epsilon=epsilon, longest=longest, largest_limit=64).release(data)
        assert all(len(row) <= 7 for row in release.sample(20, longest=7))
        assert release.agrees(release.files())
