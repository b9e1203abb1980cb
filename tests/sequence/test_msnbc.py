"""A million click streams: the numbers that are published, or better."""

import os
from pathlib import Path

import numpy as np
import pytest

from sfumato import noise
from sfumato.data.sequences import read_sequences
from sfumato.sequence.ngram import NGram
from sfumato.sequence.suffix_tree import SuffixTree
from sfumato.sequence.top_strings import TopStrings

FILE = "sequences/msnbc990928.seq.xz"
#: How many strings are looked for.
COUNT = 100

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def clicks():
    folder = os.environ.get("SFUMATO_DATA")
    if folder is None or not (Path(folder) / FILE).exists():
        pytest.skip(f"SFUMATO_DATA holds no {FILE}")
    return read_sequences(Path(folder) / FILE, list(range(1, 18)), skip_lines=7)


@pytest.fixture(scope="module")
def frequent(clicks):
    """Return the truly most frequent strings, from a tree of exact counts grown best first."""
    import heapq

    suffixes = clicks.counts.suffixes()
    heap = [(-int(n), (code,)) for code, n in enumerate(suffixes.followers(())[:-1])]
    heapq.heapify(heap)
    found = []
    while len(found) < COUNT:
        count, string = heapq.heappop(heap)
        found.append((tuple(code + 1 for code in string), -count))
        for code, n in enumerate(suffixes.followers(string)[:-1]):
            heapq.heappush(heap, (-int(n), (*string, code)))
    return found


def test_the_truth_is_the_known_one(clicks, frequent):
    assert frequent[49][1] == 80_422 and frequent[99][1] == 37_011
    assert clicks.counts.rows == 989_818
    whole = int(clicks.counts.lengths(np.array([20], dtype=np.int64))[0])
    assert clicks.counts.rows - whole == 31_606


@pytest.mark.parametrize(
    ("epsilon", "least", "most"), [("0.05", 0.80, 0.0675), ("0.8", 0.887, 0.0253)]
)
def test_the_suffix_tree_finds_the_frequent_strings_and_the_lengths(
    clicks, frequent, epsilon, least, most
):
    strings = {string for string, _ in frequent}
    lengths = clicks.counts.lengths(np.arange(1, 60, dtype=np.int64))
    true = np.diff(lengths, prepend=0) / clicks.counts.rows
    precisions, distances = [], []
    for seed in range(2):
        with noise.seeded(seed):
            release = SuffixTree(epsilon=epsilon, longest=20).release(clicks)
        found = {string for string, _ in release.top(COUNT)}
        precisions.append(len(found & strings) / COUNT)
        drawn = release.sample(50_000, generator=noise.generator(seed))
        shares = np.bincount([min(len(row), 59) for row in drawn], minlength=60)[:59] / 50_000
        distances.append(np.abs(shares - true).sum() / 2)
    assert np.mean(precisions) >= least - 0.01
    assert np.mean(distances) <= most


def test_the_suffix_tree_is_ahead_of_the_baselines(clicks, frequent):
    strings = {string for string, _ in frequent}
    precision = {}
    for kind, options in ((SuffixTree, {}), (NGram, {}), (TopStrings, {"strings": COUNT})):
        with noise.seeded(3):
            release = kind(epsilon="0.2", longest=20, **options).release(clicks)
        found = release.top(COUNT)
        found = [entry[0] for entry in found] if kind is not TopStrings else found
        precision[kind.__name__] = len(set(found) & strings) / COUNT
    assert precision["SuffixTree"] > precision["NGram"] > precision["TopStrings"]
