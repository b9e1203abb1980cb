"""Trait inference: worked posteriors, evidence as published and exact, calibration, outcome."""

from math import sqrt

import numpy as np
import pytest

from sfumato import noise
from sfumato.attacks.group_frequencies import perturb_network
from sfumato.attacks.traits import TraitInference
from sfumato.genomics.calls import Calls
from sfumato.genomics.trait_network import TraitNetwork
from tests.genomics.table19 import PREVALENCE, network

RARE = 4.9


def draw_people(model, many, seed):
    """Draw traits and alleles from the model itself."""
    draw = np.random.default_rng(seed)
    traits = draw.random((many, len(model.traits))) < np.array(model.prevalence)
    bits = np.empty((many, len(model.sites)), dtype=np.int8)
    for place, site in enumerate(model.sites):
        chance = model.table(site.name)[tuple(traits[:, at].astype(int) for at in site.parents)]
        bits[:, place] = draw.random(many) < chance[:, 1]
    names = tuple(f"{site.name}-{site.allele}" for site in model.sites)
    return Calls(names, bits, bits=True), {
        name: traits[:, at].astype(int) for at, name in enumerate(model.traits)
    }


def test_a_genotype_with_missing_sites_and_counts():
    person = {"rs9394152-C": 2, "rs73717741-G": 1, "rs10928927-C": 0, "rs2395029-G": None}
    found = TraitInference(traits=("COPD", "liver injury")).posterior(network(), person)
    assert found[0] == pytest.approx([0.18245, 0.00008], rel=1e-4)
    turned = {"rs9394152-T": 0, "rs73717741-A": 1, "rs10928927-G": 2}
    assert TraitInference(traits=("COPD",)).posterior(network(), turned)[0, 0] == pytest.approx(
        0.18245, rel=1e-4
    )


def test_no_site_in_common_returns_the_prior():
    found = TraitInference().posterior(network(), {"rs0": [0, 1]})
    assert found == pytest.approx(np.tile(list(PREVALENCE.values()), (2, 1)))


def test_published_evidence_leaves_out_what_a_co_parent_explains():
    calls = {"rs12982744-C": [2], "rs7853377-G": [2]}
    place = network().trait_place("osteoarthritis")
    full, own = (TraitInference(evidence=name).posterior(network(), calls)[0]
                 for name in ("all", "own_sites"))  # fmt: skip
    alone = network().posterior(network().states({"rs12982744-C": [2]}))[0]
    assert own[place] == pytest.approx(alone[place]) and full[place] > own[place] + 0.003
    # Under the published product all traits decouple, and both are the same.
    product = network(cpt="lemma7")
    full, own = (TraitInference(evidence=name).posterior(product, calls)
                 for name in ("all", "own_sites"))  # fmt: skip
    assert full == pytest.approx(own)


def test_posteriors_are_calibrated_on_people_of_the_model():
    model, many = network(), 20_000
    calls, truth = draw_people(model, many, 3)
    outcome = TraitInference().run(model, calls, truth=truth)
    posterior = outcome.posteriors["published"]
    for place, trait in enumerate(model.traits):
        errors = posterior[:, place] - truth[trait]
        assert abs(errors.mean()) < RARE * errors.std() / sqrt(many) + 1e-4
        row = outcome["published", trait]
        assert row.log_loss < row.guessing_log_loss + 1e-3
        # In expectation the information equals the fall of the loss.
        gain = row.guessing_log_loss - row.log_loss
        assert gain == pytest.approx(row.bits, abs=0.03)
    assert outcome["published", "height"].detection.area > 0.95
    assert outcome["published", "height"].bits > 0.2


def test_releases_are_compared_and_noise_costs_accuracy():
    model = network()
    calls, truth = draw_people(model, 2000, 5)
    with noise.seeded(2):
        noisy = perturb_network(model, "0.2", 20)
    outcome = TraitInference(traits=("COPD", "height")).run(
        {"published": model, "ε = 0.2": noisy}, calls, truth=truth
    )
    assert len(outcome.rows) == 4 and outcome.people == 2000
    for trait in ("COPD", "height"):
        exact, private = outcome["published", trait], outcome["ε = 0.2", trait]
        assert private.log_loss > exact.log_loss and private.prevalence == exact.prevalence
    document = outcome.to_json()
    assert document["private"] is False and document["rows"][0]["detection"]["area"] > 0.5
    assert "ε = 0.2" in outcome.verdict() and "loss by guessing" in outcome.grid().head
    assert "does not violate the guarantee" in outcome.meaning()[0]
    (axis,) = outcome.plot().axes
    assert len(axis.lines) == 3


def test_without_the_truth_and_without_evidence():
    outcome = TraitInference().run(network(), {"rs0": [0, 1]})
    assert "nothing" in outcome.verdict() and outcome.rows[0].detection is None
    assert len(outcome.grid().head) == 7
    empty = TraitInference().run(network(), Calls(("rs9394152",), np.zeros((0, 1))))
    assert empty.people == 0 and empty.rows[0].mean == PREVALENCE["COPD"]


def test_certain_traits_are_shown_without_warnings():
    certain = TraitNetwork(("a", "b"), (0.0, 1.0), ())
    outcome = TraitInference().run(certain, {"rs0": [0, 1]}, truth={"a": [0, 0], "b": [1, 1]})
    assert [row.bits for row in outcome.rows] == [0, 0]
    assert outcome.plot() and outcome.rows[0].log_loss == pytest.approx(0)
    assert perturb_network(certain, 1, 10) == certain


@pytest.mark.parametrize(
    ("run", "said"),
    [
        (lambda: TraitInference(evidence="some"), "evidence must be one of"),
        (lambda: TraitInference(traits=("x",)).posterior(network(), {"rs0": [0]}), "no trait 'x'"),
        (lambda: TraitInference().run(network(), {"rs0": [0]}, truth={"COPD": [2]}), "0 or 1"),
        (lambda: TraitInference().run(network(), {"rs0": [0]}, truth={"COPD": [0, 1]}),
         "2 people; there are calls of 1"),
        (lambda: TraitInference().run(network(), {"rs0": [0]}, truth={"x": [0]}), "no trait 'x'"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(run, said):
    with pytest.raises(ValueError, match=said):
        run()
