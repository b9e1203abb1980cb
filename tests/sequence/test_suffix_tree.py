import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, target
from hypothesis import strategies as st

import sfumato as sf
from sfumato import noise
from sfumato.audit import examine
from sfumato.data.sequences import SequencesPublic
from sfumato.mechanisms.privtree import TreeSplits
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.loss import PureDP
from sfumato.privacy.record import record, replay
from sfumato.sequence.context_tree import ContextTree
from sfumato.sequence.suffix_tree import SuffixTree, balance_histograms
from tests.sequence import made
from tests.sequence.suites import ReplacedSuite, SequenceAuditSuite, SequenceSuite, check_persons


class TestSuffixTree(SequenceSuite):
    name = "sequences.SuffixTree"
    random_neighbours = 80


class TestSuffixTreeOfOneHistogram(SequenceAuditSuite):
    name = "sequences.SuffixTree"
    options = {"longest": 1, "levels": 0, "tree_share": "1/100"}  # noqa: RUF012


class TestSuffixTreeUnderReplacement(ReplacedSuite):
    """Small data reach no default threshold; at 0 the coins of the tree are audited."""

    name = "sequences.SuffixTree"
    options = {"longest": 4, "threshold": 0}  # noqa: RUF012


def test_an_audit_finds_coins_of_the_tree_that_fall_too_steeply(monkeypatch):
    suite, rate = TestSuffixTreeUnderReplacement(), TreeSplits._wanted_rate.fget
    monkeypatch.setattr(TreeSplits, "_wanted_rate", property(lambda splits: 10 * rate(splits)))
    findings = [examine(suite.method(1), pair, seeds=(0, 1)) for pair in suite.pairs()]
    assert not all(finding.passed for finding in findings)


@pytest.mark.parametrize("options", [{"longest": 4}, {"largest_limit": 16}])
def test_the_loss_for_a_whole_person_is_within_epsilon(options):
    check_persons(SuffixTree(epsilon=1, **options))


TEXTS = st.lists(st.text("ab", max_size=9), max_size=10)


@pytest.mark.parametrize(
    "options",
    [
        {"longest": 5, "tree_share": "1/2", "threshold": 0},
        {"longest": 5, "tree_share": "1/2", "variant": "paper", "repair": "clip"},
        {"largest_limit": 16, "limit_share": "1/2"},
    ],
)
@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
@settings(max_examples=25, deadline=None)
@given(texts=TEXTS, data=st.data())
def test_random_neighbours_stay_within_epsilon(options, relation, texts, data):
    added, other = (data.draw(st.text("ab", max_size=9)) for _ in range(2))
    place = data.draw(st.integers(0, len(texts)))
    there = [*texts[:place], added, *texts[place:]]
    here = texts if relation == "add_remove" else [*texts[:place], other, *texts[place:]]
    method = SuffixTree(epsilon=1, **options)
    with noise.seeded(len(texts)):
        script = record(method, made.sequences(here, relation=relation))
    mirror = replay(method, made.sequences(there, relation=relation), script)
    assert all(change.holds for _, change in script.changes(mirror))
    loss = abs(script.loss_against(mirror))
    # Hypothesis climbs towards pairs that lose more.
    target(loss)
    assert loss <= 1 + 1e-9


def test_with_a_huge_budget_the_worked_example_comes_out():
    data = made.sequences(made.EXAMPLE, "AB")
    release = SuffixTree(epsilon=10**6, longest=5, levels=2).release(data)
    assert release.frequency("AB") == pytest.approx(3, abs=0.01)
    known = {"A": 6, "B": 4, "AA": 3, "AAA": 1, "AAB": 2}
    for string, count in known.items():
        assert release.frequency(string) == pytest.approx(count, abs=0.01)
    model = release.model
    expected = {
        (): [6, 4, 4], (2,): [3, 1, 0], (0,): [3, 3, 0], (1,): [0, 0, 4],
        (2, 0): [2, 1, 0], (0, 0): [1, 2, 0], (1, 0): [0, 0, 0],
    }  # fmt: skip
    for context, histogram in zip(model.contexts(), model.histograms, strict=True):
        if context in expected:
            np.testing.assert_allclose(histogram, expected[context], atol=0.01)
    assert release.total == pytest.approx(4)


@pytest.mark.parametrize("repair", ["shrink", "clip"])
def test_with_a_huge_budget_the_truth_comes_out(repair):
    texts = made.made(300)
    data = made.sequences(texts)
    release = SuffixTree(epsilon=10**6, longest=9, repair=repair).release(data)
    contexts = list(release.model.contexts())
    # The engine writes the start behind the end.
    asked = [tuple(3 if symbol == 2 else symbol for symbol in context) for context in contexts]
    truth = data.counts.followers(asked)
    np.testing.assert_allclose(release.model.histograms, truth, atol=0.01)


def test_children_sum_to_their_parents_and_every_token_is_in_one_leaf():
    data = made.sequences(made.made(40))
    release = SuffixTree(epsilon=10**6, longest=3, repair="clip").release(data)
    tree = ContextTree(2)
    for split in release.transcript.steps("splits"):
        tree.descend(split)
    tree.finish()
    leaves = release.transcript["leaves"]
    tokens = sum(min(len(text) + 1, 3) for text in made.made(40))
    assert leaves.sum() == tokens
    model = release.model
    for node in range(model.nodes):
        children = model.children[node][model.children[node] >= 0]
        if len(children):
            np.testing.assert_allclose(
                model.histograms[children].sum(axis=0), model.histograms[node], atol=1e-6
            )
            scores = model.histograms.sum(axis=1) - model.histograms.max(axis=1)
            assert (scores[children] <= scores[node] + 1e-9).all()


def test_one_more_sequence_adds_its_length_to_the_leaves():
    texts = made.made(20)
    method = SuffixTree(epsilon=10**6, longest=5, levels=2, repair="clip")
    for added, tokens in (("", 1), ("abab", 5), ("ababa", 5), ("ab", 3)):
        with noise.seeded(1):
            before = method.release(made.sequences(texts)).transcript["leaves"]
        with noise.seeded(1):
            after = method.release(made.sequences([*texts, added])).transcript["leaves"]
        assert np.abs(after - before).sum() == tokens


def test_a_sequence_of_the_length_limit_is_kept_closed_and_a_longer_one_is_cut_open():
    for text, ends in (("abab", 1), ("ababa", 0)):
        release = SuffixTree(epsilon=10**6, longest=5, levels=0).release(made.sequences([text]))
        assert release.transcript["leaves"].tolist() == [[2 + (not ends), 2, ends]]


def test_shares_and_noise_are_as_documented():
    public = made.sequences([]).public
    wide = SequencesPublic(alphabet=tuple(range(17)), unit="sequence", relation="add_remove")
    assert SuffixTree(epsilon=1).shares(public)[0] == Fraction(1, 3)
    assert SuffixTree(epsilon=1).shares(wide)[0] == Fraction(1, 5)
    assert SuffixTree(epsilon=1, repair="clip").shares(wide)[0] == Fraction(1, 18)
    # λ = (2β − 1)/(β − 1)·l/ε_T and scale l/ε_H of the published method, at ε = 1.6 and l = 20.
    plan = SuffixTree(epsilon="1.6", longest=20, repair="clip", variant="paper").plan(wide)
    splits, leaves = plan.steps
    assert splits.figures["margin"] / 3 == pytest.approx(463.2, abs=0.1)
    assert splits.figures["decay"] == pytest.approx(1338.9, abs=0.2)
    scale = leaves.figures["standard_deviation"] / math.sqrt(2)
    assert scale == pytest.approx(13.24, abs=0.01)


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_by_default_an_average_child_scores_four_scales_of_the_noise(relation):
    public = SequencesPublic(alphabet=tuple("abc"), unit="sequence", relation=relation)
    method = SuffixTree(epsilon=2, longest=5, tree_share="1/2")
    scale = 5 * (1 if relation == "add_remove" else 2)
    assert method._splits(public, 5).threshold == 4 * 4 * scale
    assert SuffixTree(epsilon=2, longest=5, repair="clip")._splits(public, 5).threshold == 0
    assert SuffixTree(epsilon=2, longest=5, threshold=7)._splits(public, 5).threshold == 7


def test_the_symbols_of_few_sequences_over_many_symbols_are_not_given_away_for_pairs():
    draw = np.random.default_rng(3)
    texts = [draw.geometric(0.1, 6).clip(1, 40).tolist() for _ in range(1000)]
    data = sf.Sequences(texts, range(1, 41))
    truth = np.bincount(np.concatenate(texts), minlength=41)[1:]
    errors = {None: 0.0, 0: 0.0}
    for threshold in errors:
        for seed in range(4):
            with noise.seeded(seed):
                model = SuffixTree(epsilon=1, longest=7, threshold=threshold).release(data)
            found = np.array([model.frequency([symbol]) for symbol in range(1, 41)])
            errors[threshold] += np.abs(found - truth).sum()
    assert errors[None] < 0.9 * errors[0]


def test_a_declared_limit_costs_nothing():
    data = made.sequences(made.made(10))
    labels = [entry.label for entry in SuffixTree(epsilon=1, longest=3).release(data).transcript]
    assert "length limit" not in labels
    chosen = SuffixTree(epsilon=1).release(data)
    (entry,) = [entry for entry in chosen.transcript if entry.label == "length limit"]
    assert entry.signature["epsilon"] == "1/20"


@pytest.mark.parametrize("epsilon", ["1e-6", 1, 1000])
@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
@pytest.mark.parametrize(
    ("texts", "alphabet"),
    [([], "ab"), (["a"], "a"), ([""], "a"), ([""] * 50, "ab"), (["ab" * 30] * 9, "ab")],
)
def test_corner_cases_are_released_and_drawn(epsilon, relation, texts, alphabet, tmp_path):
    data = made.sequences(texts, alphabet, relation=relation)
    for longest in (None, 1):
        release = SuffixTree(epsilon=epsilon, longest=longest, largest_limit=1024).release(data)
        assert np.isfinite(release.model.histograms).all()
        assert all(0 <= len(row) <= 7 for row in release.sample(20, longest=7))
        assert release.agrees(release.files())
        assert sum(release.predict("").values()) == pytest.approx(1)


@pytest.mark.parametrize("epsilon", ["1e-300", "1e-12", 1e9])
def test_extreme_budgets_work_or_are_refused_before_they_cost(epsilon, tmp_path):
    ledger = Ledger.create(tmp_path / "a.ledger", allow=PureDP(10**301), unit="sequence")
    data = made.sequences(made.made(10))
    try:
        release = SuffixTree(epsilon=epsilon).release(data, ledger=ledger)
    except ValueError:
        assert ledger.history() == []
    else:
        assert np.isfinite(release.model.symbols).all()
        release.save(tmp_path / "out")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"longest": 0}, "longest must be a whole number from 1 to"),
        ({"tree_share": 1}, "tree_share must be greater than 0 and less than 1"),
        ({"limit_share": 0}, "limit_share must be greater than 0"),
        ({"threshold": -1}, "threshold must be a whole number from 0"),
        ({"levels": -1}, "levels must be"),
        ({"variant": "none"}, "variant must be one of 'tight', 'paper'; got 'none'"),
        ({"repair": "hide"}, "repair must be one of 'shrink', 'clip'; got 'hide'"),
    ],
)
def test_bad_parameters_say_what_is_allowed(options, message):
    with pytest.raises(ValueError, match=message):
        SuffixTree(epsilon=1, **options)


def test_an_alphabet_that_has_no_room_for_pairs_is_refused():
    public = SequencesPublic(alphabet=tuple(range(6000)), unit="sequence", relation="add_remove")
    with pytest.raises(ValueError, match="merge similar symbols"):
        SuffixTree(epsilon=1).plan(public)


def test_a_tree_that_would_grow_too_large_stops():
    tree = ContextTree(2, most_cells=30)
    assert tree.descend(np.array([True])).tolist() == [True]
    assert tree.parents.tolist() == [0, 0]
    assert tree.descend(np.array([True, True])).tolist() == [True, True, False]
    assert tree.nodes == 10
    assert not tree.descend(np.array([True, False, False, False])).any()
    assert len(tree.parents) == 0 and tree.frontier == 0
    assert tree.children()[0].tolist() == [1, 2, 3]
    assert tree.children()[2].tolist() == [7, 8, 9]


def test_symbols_are_contexts_as_often_as_they_occur():
    draw = np.random.default_rng(4)
    texts = [draw.integers(0, 6, draw.integers(1, 9)).tolist() for _ in range(3000)]
    data = sf.Sequences(texts, range(6))
    with noise.seeded(2):
        model = SuffixTree(epsilon=3, longest=9).release(data).model
    assert model.children[0, 0] > 0
    contexts = model.histograms[model.children[0]].sum(axis=1)
    # Nothing is cut: every sequence has a start and an end.
    np.testing.assert_allclose(contexts, model.histograms[0], rtol=0.02)


def test_what_agrees_already_stays_as_it_is():
    data = made.sequences(made.made(200))
    release = SuffixTree(epsilon=10**6, longest=4, repair="clip").release(data)
    tree = ContextTree(2)
    for split in release.transcript.steps("splits"):
        tree.descend(split)
    tree.finish()
    exact = tree.summed(release.transcript["leaves"].astype(np.float64))
    np.testing.assert_allclose(balance_histograms(tree, exact, 0.0), exact, rtol=1e-9, atol=1e-9)


def test_under_replacement_the_total_is_public():
    data = made.sequences(made.made(40), relation="replace_one")
    assert SuffixTree(epsilon=1).release(data).total == 40


def test_names_are_public():
    assert sf.SuffixTree is SuffixTree
