import os
import pickle
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.engines import SequenceCounts
from sfumato.engines.memory_sequences import MemorySequences, children_of, symbol_type

A, B, END, START = 0, 1, 2, 3

sequences = st.lists(st.lists(st.integers(0, 1), max_size=6), max_size=6)
limits = st.none() | st.integers(1, 5)


def marked(sequence, longest):
    return [START, *[*sequence, END][:longest]]


def engine_of(data, longest=None, alphabet=2) -> MemorySequences:
    engine = MemorySequences.of(data, alphabet=alphabet)
    return engine if longest is None else engine.cut(longest)


def occurrences(texts, string) -> int:
    k = len(string)
    return sum(
        list(text[i : i + k]) == list(string) for text in texts for i in range(len(text) - k + 1)
    )


def followers(texts, context) -> list[int]:
    return [occurrences(texts, (*context, x)) for x in (A, B, END)]


@settings(deadline=None)
@given(sequences, limits)
def test_ngrams_and_followers_agree_with_looking_everywhere(data, longest):
    engine = engine_of(data, longest)
    texts = [marked(sequence, longest) for sequence in data]
    strings = [s for k in (1, 2, 3) for s in product((A, B), repeat=k)]
    strings += [(START, *s) for s in strings] + [(*s, END) for s in strings] + [(START,), (END,)]
    assert engine.ngrams(strings).tolist() == [occurrences(texts, s) for s in strings]
    contexts = [s for s in strings if END not in s] + [()]
    for context, row in zip(contexts, engine.followers(contexts), strict=True):
        assert row.tolist() == followers(texts, context)


@settings(deadline=None)
@given(sequences, limits, st.data())
def test_contexts_grow_to_the_left_as_looking_everywhere_says(data, longest, draw):
    texts = [marked(sequence, longest) for sequence in data]
    walk, frontier = engine_of(data, longest).contexts(), [()]
    for _ in range(4):
        assert walk.contexts == len(frontier)
        assert walk.histograms().tolist() == [followers(texts, context) for context in frontier]
        split = [c[:1] != (START,) and draw.draw(st.booleans()) for c in frontier]
        walk.descend(np.array(split, dtype=bool))
        chosen = [c for c, yes in zip(frontier, split, strict=True) if yes]
        frontier = [(x, *c) for c in chosen for x in (A, B, START)]


@settings(deadline=None)
@given(sequences, limits, st.data())
def test_strings_grow_to_the_right_as_looking_everywhere_says(data, longest, draw):
    texts = [marked(sequence, longest) for sequence in data]
    walk, frontier = engine_of(data, longest).grams(), [()]
    for _ in range(4):
        assert walk.strings == len(frontier)
        expected = [
            occurrences(texts, s) if s else sum(len(text) - 1 for text in texts) for s in frontier
        ]
        assert walk.counts().tolist() == expected
        expand = [s[-1:] != (END,) and draw.draw(st.booleans()) for s in frontier]
        walk.descend(np.array(expand, dtype=bool))
        chosen = [s for s, yes in zip(frontier, expand, strict=True) if yes]
        frontier = [(*s, x) for s in chosen for x in (A, B, END)]


@settings(deadline=None)
@given(sequences, limits, st.lists(st.lists(st.integers(0, 1), max_size=4), max_size=8))
def test_suffixes_say_what_follows_in_whatever_order_they_are_asked(data, longest, strings):
    texts = [marked(sequence, longest) for sequence in data]
    suffixes = engine_of(data, longest).suffixes()
    for string in strings:
        assert suffixes.followers(string).tolist() == followers(texts, string)


@settings(deadline=None)
@given(sequences, limits)
def test_lengths_are_counted_with_the_end_and_without_the_start(data, longest):
    lengths = [len(marked(sequence, longest)) - 1 for sequence in data]
    candidates = np.array([0, 1, 2, 2, 5, 100])
    expected = [sum(length <= candidate for length in lengths) for candidate in candidates]
    assert engine_of(data, longest).lengths(candidates).tolist() == expected


def test_the_worked_example_of_a_prediction_suffix_tree():
    engine = MemorySequences.of([[B], [A, B], [A, A, B], [A, A, A, B]], alphabet=2)
    walk = engine.contexts()
    assert walk.histograms().tolist() == [[6, 4, 4]]
    walk.descend(np.array([True]))
    assert walk.histograms().tolist() == [[3, 3, 0], [0, 0, 4], [3, 1, 0]]
    walk.descend(np.array([True, False, False]))
    assert walk.histograms().tolist() == [[1, 2, 0], [0, 0, 0], [2, 1, 0]]
    found = engine.followers([(START,), (START, A)])
    assert found.tolist() == [[3, 1, 0], [2, 1, 0]]
    assert engine.ngrams([(A, B)]).tolist() == [3]


def test_children_add_up_to_their_parent_and_every_symbol_is_in_one_leaf():
    generator = np.random.default_rng(3)
    lengths = generator.geometric(0.2, 500) - 1
    engine = MemorySequences(generator.integers(0, 5, lengths.sum()), lengths, alphabet=5).cut(9)
    walk, leaves = engine.contexts(), 0
    tokens = int(walk.histograms().sum())
    for level in range(4):
        before = walk.histograms()
        split = before.sum(axis=1) > 40
        split[5::6] &= level == 0
        leaves += int(before[~split].sum())
        walk.descend(split)
        sums = walk.histograms().reshape(-1, 6, 6).sum(axis=1)
        assert (sums == before[split]).all()
    assert leaves + int(walk.histograms().sum()) == tokens == len(engine.text) - 500


def test_a_sequence_as_long_as_the_limit_keeps_its_end_and_a_longer_one_loses_it():
    engine = engine_of([[A, A], [A, A, A], [], [A]], 3)
    assert engine.text.tolist() == [START, A, A, END, START, A, A, A, START, END, START, A, END]
    assert engine.cut(3) is engine
    assert engine.cut(1).text.tolist() == [START, A, START, A, START, END, START, A]


def test_one_symbol_more_changes_all_leaves_by_the_length_of_the_sequence():
    mixed = [[A, B, A], [], [B]]
    for extra in ([], [A], [A, B, B, A, B, A]):
        here = engine_of(mixed, 4).contexts().histograms().sum()
        there = engine_of([*mixed, extra], 4).contexts().histograms().sum()
        assert there - here == min(len(extra) + 1, 4)


def test_strings_longer_than_64_bits_are_counted_exactly():
    long = [i % 1000 for i in range(30)]
    almost = [*long[:-1], 7]
    engine = MemorySequences.of([long, almost, long], alphabet=1000)
    assert engine.ngrams([long, almost, long[:-1], [1] * 30]).tolist() == [2, 1, 3, 0]
    assert engine.suffixes().followers(long[:-1])[[7, long[-1]]].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("alphabet", "kind"),
    [(1, np.uint8), (254, np.uint8), (255, np.uint16), (65534, np.uint16), (65535, np.uint32)],
)
def test_symbols_and_markers_take_as_few_bytes_as_they_can(alphabet, kind):
    assert symbol_type(alphabet) is kind
    engine = MemorySequences.of([[alphabet - 1, 0], []], alphabet=alphabet)
    assert engine.text.dtype == kind
    walk = engine.grams()
    walk.descend(np.array([True]))
    counts = walk.counts()
    assert counts.sum() == 4
    assert counts[-1] == 2
    assert engine.cut(1).suffixes().followers(())[-1] == 1


def test_no_sequences_and_empty_ones():
    empty = MemorySequences.of([], alphabet=2)
    assert empty.followers([(), (A,)]).tolist() == [[0, 0, 0]] * 2
    assert empty.lengths(np.array([1, 2])).tolist() == [0, 0]
    assert empty.suffixes().followers((A,)).tolist() == [0, 0, 0]
    for walk, read in [(empty.contexts(), "histograms"), (empty.grams(), "counts")]:
        walk.descend(np.array([True]))
        assert not getattr(walk, read)().any()
        walk.descend(np.zeros(3, dtype=bool))
        assert len(getattr(walk, read)()) == 0
    engine = MemorySequences.of([[], []], alphabet=2)
    assert engine.rows == 2
    assert engine.followers([(START,)]).tolist() == [[0, 0, 2]]
    assert engine.cut(1).lengths(np.array([1])).tolist() == [2]
    assert isinstance(engine, SequenceCounts)


def test_what_cannot_be_asked_is_refused():
    engine = MemorySequences.of([[A], [B]], alphabet=2)
    for string in [(A, END, START), (END, A), (A, START)]:
        with pytest.raises(ValueError, match="only first"):
            engine.ngrams([string])
    with pytest.raises(ValueError, match="outside 0 to 1"):
        MemorySequences.of([[A], [9]], alphabet=2)
    with pytest.raises(ValueError, match="add up"):
        MemorySequences(np.array([A]), np.array([2]), alphabet=2)
    with pytest.raises(ValueError, match="1 to"):
        MemorySequences.of([], alphabet=0)
    with pytest.raises(ValueError, match="at least 1"):
        engine.cut(0)
    with pytest.raises(ValueError, match="ascending"):
        engine.lengths(np.array([2, 1]))
    with pytest.raises(ValueError, match="0 to 1"):
        engine.suffixes().followers((END,))
    for walk in (engine.contexts(), engine.grams()):
        with pytest.raises(ValueError, match="shape"):
            walk.descend(np.array([True, True]))
        walk.descend(np.array([True]))
        with pytest.raises(ValueError, match="cannot be"):
            walk.descend(np.array([False, False, True]))


def test_nothing_private_is_shown_or_pickled():
    engine = MemorySequences.of([[A, B]] * 7, alphabet=2)
    for part in (engine, engine.contexts(), engine.grams(), engine.suffixes()):
        assert "7" not in repr(part)
        with pytest.raises(TypeError, match="cannot be pickled"):
            pickle.dumps(part)
    with pytest.raises(ValueError, match="read-only"):
        engine.text[0] = 1


@pytest.mark.skipif(not os.environ.get("SFUMATO_DATA"), reason="SFUMATO_DATA is not set")
def test_msnbc_is_read_and_cut_as_published():
    from sfumato.data.sequences import read_sequences

    path = Path(os.environ["SFUMATO_DATA"], "sequences", "msnbc990928.seq.xz")
    data = read_sequences(path, range(1, 18), skip_lines=7)
    engine = data.counts
    assert engine.rows == 989_818
    assert len(engine.text) - 2 * engine.rows == 4_698_794
    assert engine.rows - engine.lengths(np.array([20]))[0] == 31_606
    short = engine.cut(20)
    assert int((short.text == 17).sum()) == 989_818 - 31_606


def test_more_children_than_numbers_are_refused_before_any_wraps_around():
    first, many = children_of(np.array([True, False, True]), 5)
    assert first.tolist() == [0, -1, 5] and many == 10
    with pytest.raises(ValueError, match="split fewer"):
        children_of(np.ones(2**11, dtype=bool), 2**20)
