"""Identity inference: worked weights, calibration of the ratio, table 22's curve, new traits."""

from functools import partial
from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.attacks.group_frequencies import perturb_network
from sfumato.attacks.identity import IdentityInference
from sfumato.genomics.calls import Calls
from sfumato.genomics.trait_network import SiteNode, TraitNetwork
from tests.genomics.table19 import CARRIERS, PEOPLE, network

RARE = 4.9
KNOWN = ("jaw osteonecrosis", "green eyes")
RECORDS = {"rs1934951-T": [1, 1, 0], "rs12913832-A": [1, 0, 0]}
NAMES = tuple(f"{site.name}-{site.allele}" for site in network().sites)
FREQUENCIES = dict(zip(NAMES, np.array(CARRIERS) / PEOPLE, strict=True))


def test_the_published_weights_of_three_records():
    found = IdentityInference(method="likelihood").posterior(network(), RECORDS, KNOWN)
    assert found == pytest.approx([0.615177, 0.244307, 0.140516], abs=2e-6)


def test_the_likelihood_ratio_of_three_records():
    model = network()
    chances = model.state_chances()
    places = [NAMES.index(name) for name in RECORDS]
    assert chances[places, 1] == pytest.approx([0.148832, 0.307720], abs=2e-6)
    found = IdentityInference(population="model").posterior(model, RECORDS, KNOWN)
    assert found == pytest.approx([0.837325, 0.147810, 0.014865], abs=2e-6)


def test_the_table_itself_gives_the_denominator_with_one_half_added():
    found = IdentityInference().posterior(network(), RECORDS, KNOWN)
    jaw, eyes = 0.634855, 0.715752
    first, second = 2.5 / 4, 1.5 / 4
    weights = np.array([jaw / first * eyes / second, jaw / first * (1 - eyes) / (1 - second),
                        (1 - jaw) / (1 - first) * (1 - eyes) / (1 - second)])  # fmt: skip
    assert found == pytest.approx(weights / weights.sum(), abs=2e-6)


@given(st.lists(st.lists(st.integers(-1, 1), min_size=9, max_size=9), min_size=1, max_size=8),
       st.sets(st.sampled_from(network().traits)),
       st.sampled_from(["likelihood", "likelihood_ratio"]))  # fmt: skip
@settings(max_examples=40, deadline=None)
def test_posteriors_sum_to_one_and_equal_records_share(rows, known, method):
    calls = Calls(NAMES, np.array([*rows, rows[0]]), bits=True)
    found = IdentityInference(method=method).posterior(network(), calls, tuple(known))
    assert found.sum() == pytest.approx(1) and found[0] == pytest.approx(found[-1])
    if not known:
        assert found == pytest.approx(np.full(len(found), 1 / len(found)))


def test_a_missing_call_says_nothing():
    records = {"rs1934951-T": [1, None], "rs12913832-A": [1, 1]}
    found = IdentityInference(population="model").posterior(network(), records, KNOWN)
    assert found[0] / found[1] == pytest.approx(0.634855 / 0.148832, rel=1e-5)


def test_an_unknown_co_parent_has_its_prevalence():
    chances = network().state_chances(("osteoarthritis",))[NAMES.index("rs12982744-C")]
    table = network().table("rs12982744")
    assert chances == pytest.approx(0.9 * table[1, 0] + 0.1 * table[1, 1])


def test_a_new_trait_is_the_mixture_over_records():
    model, attack = network(), IdentityInference(population="model")
    calls = {**RECORDS, "rs9394152-C": [1, 0, 0], "rs73717741-G": [1, 0, 0]}
    weights = attack.posterior(model, calls, KNOWN)
    chances = model.posterior(model.states(calls))[:, model.trait_place("COPD")]
    found = attack.infer_trait(model, calls, KNOWN, "COPD")
    assert found == pytest.approx(weights @ chances) and found > 0.25


def toy():
    case, control = (0.7, 0.9, 0.5), (0.2, 0.4, 0.1)
    nodes = tuple(SiteNode(f"rs{at}", "A", (0,), (case[at],), (control[at],)) for at in range(3))
    return TraitNetwork(("t",), (0.1,), nodes), {f"rs{at}": control[at] for at in range(3)}


@pytest.mark.parametrize(("method", "calibrated"), [("likelihood_ratio", True),
                                                    ("likelihood", False)])  # fmt: skip
def test_only_the_likelihood_ratio_is_a_posterior(method, calibrated):
    model, population = toy()
    attack = IdentityInference(method=method, population=population)
    draw = np.random.default_rng(7)
    trials = 3000
    own, squares = np.empty(trials), np.empty(trials)
    for trial in range(trials):
        background = draw.random((10, 3)) < np.array(list(population.values()))
        target = draw.random((1, 3)) < np.array([0.7, 0.9, 0.5])
        calls = Calls(tuple(population), np.vstack([background, target]).astype(int), bits=True)
        posterior = attack.posterior(model, calls, ("t",))
        own[trial], squares[trial] = posterior[-1], (posterior**2).sum()
    # For a true posterior the mean probability of the true record is the mean of Σ p².
    difference = own - squares
    apart = abs(difference.mean()) / (difference.std() / sqrt(trials))
    assert (apart < RARE) == calibrated
    assert own.mean() == pytest.approx(0.472 if calibrated else 0.237, abs=0.02)


def table_22(method, runs, model=None):
    draw = np.random.default_rng(22)

    def background():
        bits = draw.random((PEOPLE, len(NAMES))) < np.array(list(FREQUENCIES.values()))
        return Calls(NAMES, bits.astype(int), bits=True)

    attack = IdentityInference(method=method, population=FREQUENCIES)
    networks = {"published": network(), **({} if model is None else {"noisy": model})}
    return attack.simulate(networks, background, runs=runs, generator=draw)


def test_the_curve_of_table_22_and_that_of_the_ratio():
    runs = 250
    published, ratio = table_22("likelihood", runs), table_22("likelihood_ratio", runs)
    expected = {"likelihood": (0.0725, 0.1512, 0.2472, 0.3601, 0.4897, 0.6353),
                "likelihood_ratio": (0.146, 0.298, 0.455, 0.610, 0.759, 0.899)}  # fmt: skip
    deviations = {"likelihood": (0.0345, 0.0749, 0.1194, 0.1664, 0.2161, 0.2704),
                  "likelihood_ratio": (0.058, 0.106, 0.149, 0.185, 0.211, 0.234)}  # fmt: skip
    for outcome in (published, ratio):
        means = [row.mean for row in outcome.rows]
        assert means == sorted(means) and len(means) == 6
        for row in outcome.rows:
            # The reference is itself a mean over 1,500 runs.
            error = deviations[row.method][row.known - 1] * sqrt(1 / runs + 1 / 1500)
            assert row.mean == pytest.approx(expected[row.method][row.known - 1], abs=RARE * error)
            assert row.guess == pytest.approx(1 / 86)
            assert row.mean > 4 * row.guess
    for one, other in zip(published.rows, ratio.rows, strict=True):
        assert other.mean > 1.3 * one.mean
        if one.new_trait is not None:
            assert other.new_trait > one.new_trait > one.new_trait_guess
    assert published.rows[-1].new_trait is None and ratio.rows[-1].rank < 2


def test_noise_blunts_the_attack_for_small_studies():
    outcome = table_22("likelihood", 100,
                       partial(perturb_network, network(), "0.2", 20, published=True))  # fmt: skip
    exact, noisy = (outcome[name, "likelihood", 6].mean for name in ("published", "noisy"))
    # 0.635 and 0.16, with deviations of 0.27 and 0.25 over 100 runs.
    assert exact > 0.5 and noisy < 0.3


def test_people_of_a_table_are_found_by_their_traits():
    draw = np.random.default_rng(3)
    model = network()
    many = 120
    traits = draw.random((many, 6)) < 0.4
    bits = np.empty((many, 9), dtype=np.int8)
    for place, site in enumerate(model.sites):
        chance = model.table(site.name)[tuple(traits[:, at].astype(int) for at in site.parents)]
        bits[:, place] = draw.random(many) < chance[:, 1]
    truth = {name: traits[:, at].astype(int) for at, name in enumerate(model.traits)}
    outcome = IdentityInference().run(model, Calls(NAMES, bits, bits=True), truth)
    assert not outcome.simulated and outcome.rows[0].targets == int(traits.any(axis=1).sum())
    assert outcome["published", "likelihood_ratio", 3].mean > 2 / many
    assert [row.known for row in outcome.rows] == sorted(row.known for row in outcome.rows)


def test_an_outcome_describes_itself():
    outcome = table_22("likelihood_ratio", 5)
    document = outcome.to_json()
    assert document["private"] is False and document["rows"][0]["guess"] == pytest.approx(1 / 86)
    assert len(outcome.grid().rows) == 6 and "anonymous" in outcome.verdict()
    assert "does not violate the guarantee" in outcome.meaning()[0]
    (axis,) = outcome.plot().axes
    assert axis.get_ylabel() == "probability of the true record"


def test_many_sets_of_traits_are_sampled():
    few, all_sets = (IdentityInference(most_sets=most, population=FREQUENCIES)
                     for most in (3, 20))  # fmt: skip
    background = Calls(NAMES, np.zeros((20, 9), dtype=int), bits=True)
    rows = [attack.simulate(network(), background, runs=3).rows for attack in (few, all_sets)]
    assert [row.known for row in rows[0]] == [1, 2, 3, 4, 5, 6]
    assert rows[0][5].mean == pytest.approx(rows[1][5].mean)
    one = IdentityInference(sizes=(2, 6)).simulate(network(), background, runs=3)
    assert [row.known for row in one.rows] == [2, 6]


def test_no_better_than_guessing_is_said_so():
    flat = TraitNetwork(("t",), (0.1,), (SiteNode("rs1", "A", (0,), (0.5,), (0.5,)),))
    background = Calls(("rs1",), np.array([[0], [1]] * 10), bits=True)
    attack = IdentityInference(population={"rs1": 0.5})
    outcome = attack.simulate(flat, background, runs=20)
    assert "no better than guessing" in outcome.verdict()


@pytest.mark.parametrize(
    ("run", "said"),
    [
        (lambda: IdentityInference(method="x"), "method must be one of"),
        (lambda: IdentityInference(population="x"), "population must be"),
        (lambda: IdentityInference(most_sets=0), "most_sets"),
        (lambda: IdentityInference(sizes=(0,)), "sizes must be positive"),
        (lambda: IdentityInference(sizes=(7,)).simulate(network(), RECORDS, runs=1), "no target"),
        (lambda: IdentityInference(population={"rs0": 0.5}).posterior(network(), RECORDS, KNOWN),
         "no frequency of rs9394152-C"),
        (lambda: IdentityInference().posterior(network(), RECORDS, ("x",)), "no trait 'x'"),
        (lambda: IdentityInference().run(network(), RECORDS, {"height": [0, 1, 2]}), "0 or 1"),
        (lambda: IdentityInference().run(network(), RECORDS, {"height": [0, 0, 0]}), "no record"),
        (lambda: IdentityInference().simulate(network(), RECORDS, runs=0), "runs"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(run, said):
    with pytest.raises(ValueError, match=said):
        run()
