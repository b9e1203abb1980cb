import numpy as np
import pytest

from sfumato import noise
from sfumato.data.sequences import Sequences
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.record import record
from sfumato.sequence.length_limit import candidates, search
from sfumato.sequence.suffix_tree import SuffixTree


def test_candidates_are_all_short_limits_and_then_longer_and_longer_ones():
    found = candidates(2**20)
    assert found[:17] == (*range(1, 17), 18) and found[-1] == 2**20
    assert len(found) < 120
    assert candidates(1) == (1,) and candidates(17) == (*range(1, 17), 17)


def limits(data, runs, **options):
    method = SuffixTree(epsilon=1, levels=0, **options)
    found = []
    for seed in range(runs):
        with noise.seeded(seed):
            step = record(method, data)[0]
        found.append(candidates(method.largest_limit)[len(step.outputs) - 1])
    return found


def test_the_limit_keeps_about_nineteen_of_twenty_sequences():
    lengths = np.random.default_rng(1).geometric(0.1, 20_000)
    data = Sequences([[0] * int(length - 1) for length in lengths], [0])
    # The 95 % quantile is 29; one of 20 runs may be off by 5 % of the sequences.
    assert all(22 <= limit <= 40 for limit in limits(data, 20))


@pytest.mark.parametrize("texts", [[], ["a"], ["ab"] * 30])
def test_few_sequences_end_the_search_early(texts):
    found = limits(Sequences(texts, "ab"), 40)
    assert np.median(found) <= 4


def test_one_answer_moves_as_declared():
    for relation, most in ((Relation.ADD_REMOVE, 19), (Relation.REPLACE_ONE, 20)):
        primitive = search(noise.exact("1/10"), relation)
        assert primitive.sensitivity == most and primitive.threshold < 0
        assert not primitive.monotone
