from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.engines import SequenceCounts
from sfumato.engines.memory_sequences import MemorySequences

A, B, END, START = 0, 1, 2, 3

sequences = st.lists(st.lists(st.integers(0, 1), max_size=6), max_size=6)


def marked(sequence, longest):
    return [START, *[*sequence, END][:longest]]


def occurrences(texts, string) -> int:
    k = len(string)
    return sum(
        list(text[i : i + k]) == list(string) for text in texts for i in range(len(text) - k + 1)
    )


@settings(deadline=None)
@given(sequences, st.none() | st.integers(1, 5))
def test_ngrams_and_followers_agree_with_looking_everywhere(data, longest):
    engine = MemorySequences(data, alphabet=2, longest=longest)
    texts = [marked(sequence, longest) for sequence in data]
    strings = [s for k in (1, 2, 3) for s in product((A, B), repeat=k)]
    strings += [(START, *s) for s in strings] + [(*s, END) for s in strings] + [(START,), (END,)]
    assert engine.ngrams(strings).tolist() == [occurrences(texts, s) for s in strings]
    contexts = [s for s in strings if END not in s] + [()]
    for context, row in zip(contexts, engine.followers(contexts), strict=True):
        if context:
            assert row.tolist() == [occurrences(texts, (*context, x)) for x in (A, B, END)]
        else:
            assert row.tolist() == [occurrences(texts, (x,)) for x in (A, B, END)]


def test_the_worked_example_of_a_prediction_suffix_tree():
    data = [[B], [A, B], [A, A, B], [A, A, A, B]]
    engine = MemorySequences(data, alphabet=2)
    found = engine.followers([(START,), (START, A)])
    assert found.tolist() == [[3, 1, 0], [2, 1, 0]]
    assert engine.ngrams([(A, B)]).tolist() == [3]


def test_strings_longer_than_64_bits_are_counted_exactly():
    long = [i % 1000 for i in range(30)]
    almost = [*long[:-1], 7]
    engine = MemorySequences([long, almost, long], alphabet=1000)
    assert engine.ngrams([long, almost, long[:-1], [1] * 30]).tolist() == [2, 1, 3, 0]


def test_no_sequences_and_empty_ones():
    assert MemorySequences([], alphabet=2).followers([(), (A,)]).tolist() == [[0, 0, 0]] * 2
    engine = MemorySequences([[], []], alphabet=2)
    assert engine.rows == 2
    assert engine.followers([(START,)]).tolist() == [[0, 0, 2]]
    assert isinstance(engine, SequenceCounts)


def test_a_string_over_two_sequences_is_refused():
    engine = MemorySequences([[A], [B]], alphabet=2)
    for string in [(A, END, START), (END, A), (A, START)]:
        with pytest.raises(ValueError, match="only first"):
            engine.ngrams([string])
    with pytest.raises(ValueError, match="outside 0 to 1"):
        MemorySequences([[A], [9]], alphabet=2)
