import gc

import numpy as np
import pytest

from sfumato.sequence.context_tree import ContextTree, GramTree
from sfumato.sequence.length_limit import QUANTILE
from sfumato.sequence.queries import (
    CandidateCounts,
    Candidates,
    ContextFrontier,
    Followers,
    GramCounts,
    LengthSurplus,
)
from tests.sequence import made

#: With the end counted their lengths are 1 to 4; cut to 2 symbols they read &, A&, AA, BA.
TEXTS = ["", "A", "AAB", "BAA"]


@pytest.fixture
def data():
    return made.sequences(TEXTS, "AB")


def test_a_surplus_is_that_over_the_share(data):
    surplus = [LengthSurplus(longest, QUANTILE).answer(data) for longest in range(1, 6)]
    assert surplus == [20 * count - 19 * 4 for count in (1, 2, 2, 4, 4)]


def test_contexts_are_scored_level_by_level_and_asked_again_later(data):
    tree = ContextTree(2)
    root = ContextFrontier.of(tree, 2)
    # A four times, B once, the end twice.
    assert root.answer(data).scores.tolist() == [3]
    below = root.descend(np.array([True]))
    # A is followed by the end, A; B by A; what begins with the start is not asked about.
    assert below.answer(data).scores.tolist() == [1, 0]
    assert below.blank().scores.shape == below.parents.shape == (2,)
    tree.finish()
    leaves = Followers(tree, 2, {1: ~tree.levels[1]})
    assert leaves.shape == (3, 3)
    assert leaves.answer(data).tolist() == [[1, 0, 1], [1, 0, 0], [2, 1, 1]]
    assert Followers(tree, 2, {0: tree.levels[0]}).answer(data).tolist() == [[4, 1, 2]]
    assert root.answer(data).scores.tolist() == [3]


def test_strings_are_counted_in_their_order(data):
    tree = GramTree(2, 3.0)
    first = GramCounts(tree, 2, 1)
    assert first.answer(data).tolist() == [4, 1, 2]
    tree.add(np.array([4, 1, 2]))
    assert GramCounts(tree, 2, 2).answer(data).tolist() == [1, 0, 1]
    with pytest.raises(ValueError, match="too late"):
        first.answer(data)


def test_candidates_make_room_for_their_extensions(data):
    candidates = Candidates(2)
    before = CandidateCounts(candidates, 2, 0)
    assert before.answer(data).tolist() == [4, 1]
    candidates.take(0)
    assert candidates.strings == [(1,), (0, 0), (0, 1)]
    assert CandidateCounts(candidates, 2, 1).answer(data).tolist() == [1, 1, 0]
    with pytest.raises(ValueError, match="too late"):
        before.answer(data)


@pytest.mark.parametrize(
    "query",
    [
        lambda: ContextFrontier.of(ContextTree(2), 2),
        lambda: GramCounts(GramTree(2, 3.0), 2, 1),
        lambda: CandidateCounts(Candidates(2), 2, 0),
    ],
)
def test_what_an_engine_keeps_of_a_walk_ends_with_the_program(data, query):
    asked = query()
    asked.answer(data)
    assert len(data.counts._kept) == 1
    del asked
    gc.collect()
    assert len(data.counts._kept) == 0
