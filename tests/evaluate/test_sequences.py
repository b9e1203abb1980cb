import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.evaluate.sequences import (
    WARNING,
    Truncate,
    evaluate_sequences,
    length_distance,
    precision,
    strings_of,
    top_strings,
)


def every_string(sequences) -> Counter:
    return Counter(
        tuple(s[i:j]) for s in sequences for i in range(len(s)) for j in range(i + 1, len(s) + 1)
    )


@settings(deadline=None)
@given(st.lists(st.text("abc", max_size=7), max_size=6), st.integers(1, 12), st.integers(1, 9))
def test_top_strings_are_those_of_counting_every_string(sequences, k, longest):
    data = sf.Sequences(sequences, "abc")
    cut = [s[:longest] for s in sequences]
    for found, counted in [
        (top_strings(data, k), every_string(sequences)),
        (Truncate(data, longest).top(k), every_string(cut)),
    ]:
        assert [item.count for item in found] == sorted(counted.values(), reverse=True)[:k]
        assert all(counted[item.string] == item.count for item in found)
        assert len({item.string for item in found}) == len(found)


def test_strings_of_any_length_and_ties_in_the_order_of_the_alphabet():
    data = sf.Sequences([[7] * 60, [5]], [7, 5])
    assert max(len(item.string) for item in top_strings(data, 50)) == 50
    tied = top_strings(sf.Sequences(["ba", "ab"], "ba"), 3)
    assert [item.string for item in tied] == [("b",), ("a",), ("b", "a")]
    with pytest.raises(ValueError, match="at least 1"):
        top_strings(data, 0)


def test_precision_is_the_share_of_the_truth_that_is_named():
    truth = top_strings(sf.Sequences(["aabb"], "ab"), 2)
    assert precision(truth, [("a",), ("b",)]) == 1
    assert precision(truth, ["a", "bb"]) == 0.5
    assert precision([], ["a"]) == 1


def test_answers_are_strings_with_or_without_an_estimate():
    assert strings_of([("a", "b"), (("a",), 2.5), (1, 2), ((1,), 0.5)]) == [
        ("a", "b"),
        ("a",),
        (1, 2),
        (1,),
    ]


def test_length_distance_is_half_the_sum_of_differences():
    data = sf.Sequences(["", "a", "aa", "aaaa"], "a")
    assert length_distance(data, ["b", "bb", "", "bbbb"]) == 0
    assert length_distance(data, [["a"]] * 5) == 0.75
    assert length_distance(data, sf.Sequences(["a"], "a")) == 0.75
    assert length_distance(data, []) == 1
    assert length_distance(sf.Sequences([], "a"), []) == 0


def test_cutting_moves_long_sequences_to_the_limit():
    data = sf.Sequences(["", "a", "aa", "aaa", "aaaa"], "a")
    cut = Truncate(data, 3)
    # Two symbols and the end are three; three symbols and the end are cut to three symbols.
    assert cut.lengths().tolist() == [1, 1, 1, 2]
    assert length_distance(data, cut) == pytest.approx(0.2)


class Model:
    def __init__(self, public):
        self.public = public

    def top(self, k):
        return [(("a",), 3.0), (("b",), 2.0), (("b", "b"), 1.0)][:k]

    def sample(self, rows=None, *, generator):
        return [["a"]] * rows


def test_a_release_is_compared_and_the_figures_say_that_they_are_not_private():
    data = sf.Sequences(["ab", "a", "a"], "ab")
    result = evaluate_sequences(data, Model(data.public), top=(1, 3))
    assert result.precisions == {1: 1.0, 3: pytest.approx(2 / 3)}
    assert result.length_distance == pytest.approx(1 / 3)
    document = result.to_json()
    assert document["private"] is False
    assert document["warning"] == WARNING
    with pytest.raises(ValueError, match="another alphabet"):
        evaluate_sequences(data, Model(sf.Sequences([], "abc").public))


@pytest.mark.skipif(not os.environ.get("SFUMATO_DATA"), reason="SFUMATO_DATA is not set")
def test_the_true_strings_of_msnbc_and_what_cutting_costs():
    path = Path(os.environ["SFUMATO_DATA"], "sequences", "msnbc990928.seq.xz")
    data = sf.read_sequences(path, range(1, 18), skip_lines=7)
    truth = top_strings(data, 200)
    assert [truth[k - 1].count for k in (50, 100, 200)] == [80_422, 37_011, 19_309]
    assert max(len(item.string) for item in truth) == 44
    cut = Truncate(data, 20)
    answer = cut.top(200)
    found = [precision(truth[:k], answer[:k]) for k in (50, 100, 200)]
    assert found == [0.9, 0.87, 0.745]
    assert np.isclose(length_distance(data, cut), 0.0285, atol=5e-5)
