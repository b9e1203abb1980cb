"""Every mistake that is known must be caught: by replay, by samples, or by both."""

import math

import pytest

from sfumato.audit import Pair, canonical_pairs, examine, sample_loss
from sfumato.privacy.loss import PureDP
from sfumato.tabular.histogram import Histogram
from tests.audit import mutants


def replay_finds(method, public):
    return [examine(method, pair) for pair in canonical_pairs(public)]


@pytest.mark.parametrize(
    ("mutant", "relation", "words", "largest"),
    [
        (mutants.HalfSensitivity, "add_remove", "declared is 0.5", 2.0),
        (mutants.OneUnderReplacement, "replace_one", "declared is 1", 2.0),
        (mutants.OccupiedCellsOnly, "add_remove", "on the neighbour", math.inf),
        (mutants.DomainOffTheData, "add_remove", "on the neighbour", math.inf),
        (mutants.ParallelPartsOfOneUnit, "add_remove", "a transcript has a loss of 2", 2.0),
    ],
)
def test_replay_refutes_the_mutant_and_names_the_step(mutant, relation, words, largest):
    found = replay_finds(mutant(epsilon=1), mutants.public(relation=relation))
    assert max(findings.largest for findings in found) == pytest.approx(largest)
    assert any(words in fault for findings in found for fault in findings.faults)


def test_replay_finds_nothing_in_the_method_the_mutants_were_made_from():
    for relation in ("add_remove", "replace_one"):
        found = replay_finds(Histogram(epsilon=1), mutants.public(relation=relation))
        assert all(findings.passed for findings in found)


@pytest.mark.slow
def test_a_sampler_that_disagrees_with_its_law_passes_replay_and_fails_samples():
    method = mutants.HalfScaleHistogram(epsilon=1)
    public = mutants.public()
    assert all(findings.passed for findings in replay_finds(method, public))
    pair = canonical_pairs(public)[0]
    result = sample_loss(method, pair, trials=4000, confidence=0.999, seed=1)
    assert result.bound > 1


@pytest.mark.parametrize(
    "mechanism", [mutants.with_size_of_the_data, mutants.with_true_empty_cells]
)
def test_samples_refute_what_does_not_come_through_the_door(mechanism):
    public = mutants.public()
    pair = canonical_pairs(public)[0]
    result = sample_loss(mechanism, pair, trials=1000, claimed=PureDP(1), seed=2)
    assert result.bound > 1


@pytest.mark.slow
def test_samples_refute_the_vanilla_sparse_vector():
    # Six queries that stay below and rise by one, then one that passes and falls by one.
    pair = Pair("seven queries", [0] * 6 + [3], [1] * 6 + [2])
    result = sample_loss(
        mutants.vanilla_sparse_vector, pair, trials=30_000, claimed=PureDP(1), seed=3
    )
    assert result.bound > 1


@pytest.mark.slow
def test_samples_refute_the_binary_sparse_vector():
    pair = Pair("sixteen queries", [1] * 8 + [1] * 8, [0] * 8 + [2] * 8)
    result = sample_loss(mutants.binary_sparse_vector, pair, trials=6000, claimed=PureDP(1), seed=4)
    assert result.bound > 1


@pytest.mark.slow
def test_halving_the_noise_shows_twice_the_loss():
    from sfumato import noise

    pair = Pair("zero and one", 0, 1)
    honest = sample_loss(
        lambda data: data + noise.discrete_laplace(None, scale=1),
        pair,
        trials=20_000,
        claimed=PureDP(1),
        seed=5,
    )
    halved = sample_loss(
        lambda data: data + noise.discrete_laplace(None, scale="1/2"),
        pair,
        trials=20_000,
        claimed=PureDP(1),
        seed=5,
    )
    assert 0.85 < honest.bound <= 1 and not honest.refuted
    assert halved.bound > 1.6 and halved.refuted
