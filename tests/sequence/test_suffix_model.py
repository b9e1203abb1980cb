from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import noise
from sfumato.sequence.context_tree import ContextTree
from sfumato.sequence.generation import extend_model, generate
from sfumato.sequence.model import most_frequent
from sfumato.sequence.suffix_model import SuffixModel
from sfumato.sequence.suffix_tree import (
    Noisy,
    clip_histograms,
    combine_histograms,
    on_simplex,
    shrink_histograms,
)

A, B, START = 0, 1, 2


def tree_of(*steps, alphabet=2):
    """Return a tree from what each level said."""
    tree = ContextTree(alphabet)
    for step in steps:
        tree.descend(np.array(step, dtype=bool))
    tree.finish()
    return tree


def example():
    """Return the model of $B&, $AB&, $AAB&, $AAAB& whose root and context A are split."""
    children = tree_of([1], [1, 0]).children()
    histograms = [
        [6, 4, 4], [3, 3, 0], [0, 0, 4], [3, 1, 0], [1, 2, 0], [0, 0, 0], [2, 1, 0],
    ]  # fmt: skip
    return SuffixModel(children, np.array(histograms, dtype=float))


def random_model(seed, nodes=3, alphabet=2):
    generator = np.random.default_rng(seed)
    tree = ContextTree(alphabet)
    for _ in range(nodes):
        tree.descend(generator.random(int(tree.askable.sum())) < 0.6)
    tree.finish()
    children = tree.children()
    histograms = generator.integers(0, 4, (len(children), alphabet + 1)).astype(float)
    histograms[0] += 1
    return SuffixModel(children, histograms)


def test_the_worked_example():
    model = example()
    assert model.count((A, B)) == 3
    assert model.count((A,)) == 6 and model.count((A, A)) == 3 and model.count((A, A, B)) == 2
    assert model.sequences == 4 and model.depth == 2
    assert list(model.contexts()) == [(), (A,), (B,), (START,), (A, A), (B, A), (START, A)]
    np.testing.assert_allclose(model.after((START, A)), [2 / 3, 1 / 3, 0])
    np.testing.assert_allclose(model.after((B, A, A)), [1 / 3, 2 / 3, 0])
    # Where the symbols run out at an inner node, the inner node answers.
    np.testing.assert_allclose(model.after((A,)), [1 / 2, 1 / 2, 0])


def test_a_histogram_without_mass_says_what_the_shorter_context_says():
    np.testing.assert_allclose(example().after((B, A)), [1 / 2, 1 / 2, 0])
    empty = SuffixModel(example().children, np.zeros((7, 3)))
    np.testing.assert_allclose(empty.after((A, A)), [1 / 3] * 3)
    assert empty.count((A,)) == 0 and most_frequent(empty, 5) == []


def test_a_root_alone_works():
    model = SuffixModel(np.full((1, 3), -1, dtype=np.int32), np.array([[6.0, 2.0, 4.0]]))
    assert model.count((A, B)) == pytest.approx(6 * 2 / 12)
    assert model.sequences == 4 and model.depth == 0
    symbols, lengths = generate(model, 20_000, 50, noise.generator(1))
    # Lengths are geometric with mean 2 and standard deviation √6; six deviations of the mean.
    assert abs(lengths.mean() - 2) < 6 * np.sqrt(6 / 20_000)
    assert abs((symbols == A).mean() - 3 / 4) < 0.02


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.integers(1, 40))
def test_best_first_search_agrees_with_looking_everywhere(seed, count):
    model = random_model(seed)
    strings = [s for k in range(1, 9) for s in product(range(2), repeat=k)]
    counts = {string: model.count(string) for string in strings}
    found = most_frequent(model, count)
    for string, value in found:
        assert value == pytest.approx(model.count(string))
    values = [value for _, value in found]
    assert values == sorted(values, reverse=True)
    # Nothing that was left out is more frequent than the last one given.
    left = [counts[string] for string in strings if string not in dict(found)]
    if len(found) == count:
        assert max(left, default=0) <= values[-1] + 1e-9
    for length in (1, 3, 6):
        best = sorted((counts[s] for s in strings if len(s) == length), reverse=True)
        found = most_frequent(model, 4, length)
        assert [value for _, value in found] == pytest.approx([b for b in best[:4] if b > 0])
        assert all(len(string) == length for string, _ in found)


def test_top_strings_are_asked_for_by_positive_numbers():
    for wrong in ({"count": 0}, {"count": 1, "length": 0}):
        with pytest.raises(ValueError, match="at least"):
            most_frequent(example(), **wrong)
    with pytest.raises(ValueError, match="at least one symbol"):
        example().count(())


def test_long_strings_are_found_without_looking_at_all_beginnings(monkeypatch):
    flat = SuffixModel(np.full((1, 5), -1, dtype=np.int32), np.ones((1, 5)))
    found = most_frequent(flat, 3, 200)
    assert [string[-2:] for string, _ in found] == [(0, 0), (0, 1), (0, 2)]
    assert len(most_frequent(random_model(5), 500, 60)) == 500
    with pytest.raises(ValueError, match="at most 100,000"):
        most_frequent(flat, 100_001)
    for count, length in ((1, 10**9), (100, 10**5), (100_000, 100)):
        with pytest.raises(ValueError, match="fewer or shorter"):
            most_frequent(flat, count, length)
    monkeypatch.setattr("sfumato.sequence.model.MOST_SYMBOLS", 50)
    with pytest.raises(ValueError, match="fewer or shorter"):
        most_frequent(flat, 100)


def test_sequences_are_drawn_from_the_model_and_halt_at_the_cap():
    model = example()
    symbols, lengths = generate(model, 30_000, 40, noise.generator(2))
    ends = np.cumsum(lengths)
    texts = [symbols[e - n : e].tolist() for e, n in zip(ends[:5000], lengths[:5000], strict=True)]
    # The end follows B alone, and B follows everything: A…AB.
    assert all(text[-1] == B and B not in text[:-1] for text in texts)
    # $ gives B with 1/4, then $A gives B with 1/3, then AA gives B with 2/3 every time.
    shares = np.bincount(lengths, minlength=4)[1:4] / 30_000
    np.testing.assert_allclose(shares, [1 / 4, 1 / 4, 1 / 3], atol=6 * np.sqrt(0.25 / 30_000))
    endless = SuffixModel(np.full((1, 3), -1, dtype=np.int32), np.array([[1.0, 1.0, 0.0]]))
    _, lengths = generate(endless, 100, 7, noise.generator(3))
    assert (lengths == 7).all()
    _, lengths = generate(endless, 100, 0, noise.generator(3))
    assert (lengths == 0).all()
    assert len(generate(endless, 0, 5, noise.generator(3))[1]) == 0


def test_sequences_cross_the_blocks_in_which_numbers_are_drawn(monkeypatch):
    whole = generate(example(), 500, 9, np.random.default_rng(4))
    monkeypatch.setattr("sfumato.sequence.generation.BLOCK", 64)
    pieces = generate(example(), 500, 9, np.random.default_rng(4))
    # Generators give the same numbers in pieces; sequences are cut off in none of them.
    assert len(whole[1]) == len(pieces[1]) == 500
    np.testing.assert_array_equal(whole[1][:100], pieces[1][:100])
    assert whole[1].sum() == len(whole[0]) and pieces[1].sum() == len(pieces[0])


def test_what_was_cut_is_counted_again_as_far_as_sequences_were_cut():
    # Of 100 sequences over one symbol half end after each; three were kept of each.
    children = tree_of([1], alphabet=1).children()
    closed = SuffixModel(children, np.array([[100.0, 100.0], [50.0, 50.0], [50.0, 50.0]]))
    assert extend_model(closed, 3, noise.generator(1)).symbols[0] == 100
    # 50 + 25 + 12.5 symbols and the ends 50 + 25 (of length 0 and 1 and 2): 12.5 are cut open.
    root, start = [87.5, 87.5], [50.0, 50.0]
    cut = SuffixModel(children, np.array([root, [37.5, 37.5], start]))
    assert extend_model(cut, 3, noise.generator(1)).symbols[0] == pytest.approx(100, rel=0.02)


def test_projection_keeps_totals_and_leaves_nothing_negative():
    rows = np.array([[5.0, -3.0, 1.0], [1.0, 1.0, 1.0], [-1.0, -2.0, -3.0]])
    totals = np.array([3.0, 3.0, 0.0])
    projected = on_simplex(rows, totals)
    np.testing.assert_allclose(projected, [[3, 0, 0], [1, 1, 1], [0, 0, 0]], atol=1e-12)


def test_without_noise_nothing_is_shrunk():
    tree = tree_of([1], [1, 1], [0, 1, 0, 0])
    generator = np.random.default_rng(5)
    leaves = generator.integers(0, 50, (int(tree.leaves().sum()), 3)).astype(float)
    counts, variances = combine_histograms(tree, Noisy(leaves, 0.0), [])
    np.testing.assert_allclose(
        shrink_histograms(tree, counts, variances), tree.summed(leaves), atol=1e-9
    )
    np.testing.assert_allclose(clip_histograms(tree, leaves), tree.summed(leaves))


def test_combining_agrees_with_least_squares():
    tree = tree_of([1], [1, 0], [0, 1])
    generator = np.random.default_rng(6)
    leaves = generator.normal(size=(int(tree.leaves().sum()), 3))
    upper = [
        Noisy(generator.normal(size=(1, 3)), 0.5),
        Noisy(generator.normal(size=(1, 3)), 2.0),
    ]
    found, variances = combine_histograms(tree, Noisy(leaves, 1.0), upper)
    # Every node as a sum of leaves, and the measurements that there are of it.
    design = tree.summed(np.eye(len(leaves)))
    split = np.flatnonzero(~tree.leaves())
    rows = np.vstack([np.eye(len(leaves)), design[split[:1]] / 0.5, design[split[1:2]] / 2.0])
    values = np.vstack([leaves, upper[0].counts / 0.5, upper[1].counts / 2.0])
    best = np.linalg.lstsq(rows, values, rcond=None)[0]
    np.testing.assert_allclose(found, design @ best, atol=1e-9)
    exact = np.linalg.inv(rows.T @ rows)
    assert variances[0] == pytest.approx(float(design[0] @ exact @ design[0]))


def test_shrinking_beats_clipping_where_contexts_are_alike():
    """Children that say what their parent says, under noise as large as their counts."""
    generator = np.random.default_rng(7)
    tree = tree_of([1], [1] * 9, alphabet=9)
    chances = generator.dirichlet(np.ones(10))
    truth = np.outer(generator.integers(50, 400, int(tree.leaves().sum())), chances)
    errors = {"clip": 0.0, "shrink": 0.0}
    for _ in range(5):
        noisy = truth + generator.laplace(scale=30, size=truth.shape)
        counts, variances = combine_histograms(tree, Noisy(noisy, 30 * np.sqrt(2)), [])
        for name, found in (
            ("clip", clip_histograms(tree, noisy)),
            ("shrink", shrink_histograms(tree, counts, variances)),
        ):
            leaves = found[tree.leaves()]
            shares = leaves / np.maximum(leaves.sum(axis=1, keepdims=True), 1e-9)
            errors[name] += float(np.abs(shares - chances).sum())
    assert errors["shrink"] < errors["clip"] / 2
