"""The network of traits and sites: worked numbers, brute force over all traits, no underflow."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.genomics.catalogue import TraitAssociation
from sfumato.genomics.elimination import Factor, calibrate, elimination_order
from sfumato.genomics.trait_network import TABLES, SiteNode, TraitNetwork
from tests.genomics.table19 import CARRIERS, PEOPLE, PREVALENCE, associations, network, only

SHARED_SITE = "rs12982744"


def random_network(draw, cpt, coding, *, traits=6, sites=9):
    nodes = []
    for place in range(sites):
        parents = tuple(draw.permutation(traits)[: draw.integers(1, 4)].tolist())
        case, control = draw.uniform(0.05, 0.95, (2, len(parents)))
        nodes.append(SiteNode(f"rs{place}", "A", parents, tuple(case), tuple(control),
                              draw.uniform(0.1, 0.9)))  # fmt: skip
    names = tuple(f"t{place}" for place in range(traits))
    return TraitNetwork(names, tuple(draw.uniform(0.02, 0.7, traits)), tuple(nodes), cpt, coding)


def brute_force(model, states):
    """Return the weight of the states and the posterior of each trait, by enumeration."""
    total, shares = 0.0, np.zeros(len(model.traits))
    for traits in product((0, 1), repeat=len(model.traits)):
        weight = np.prod([p if t else 1 - p for t, p in zip(traits, model.prevalence, strict=True)])
        for site, state in zip(model.sites, states, strict=True):
            if state >= 0:
                column = tuple(traits[parent] for parent in site.parents)
                weight *= model.table(site.name)[(*column, state)]
        total += weight
        shares += weight * np.array(traits)
    return total, shares / total


class TestTables:
    """The three conditional tables."""

    def test_one_trait_gives_the_frequencies_in_every_form(self):
        for cpt in TABLES:
            table = network(cpt=cpt).table("rs9394152")
            case = 0.41 * 22.22 / (0.41 * 22.22 + 0.59)
            assert table == pytest.approx(np.array([[0.59, 0.41], [1 - case, case]]))

    def test_the_published_product_is_no_distribution(self):
        table = network(cpt="lemma7").table(SHARED_SITE)
        # Axes: osteoarthritis, height, state; the last state is C.
        assert table[..., 1] == pytest.approx(
            np.array([[0.4633, 0.0333], [0.7182, 0.0515]]), abs=5e-5
        )
        assert table[..., 0] == pytest.approx(
            np.array([[0.7429, 1.7772], [0.1036, 0.2480]]), abs=5e-5
        )
        assert table.sum(axis=-1) == pytest.approx(
            np.array([[1.2061, 1.8104], [0.8218, 0.2995]]), abs=5e-5
        )

    def test_the_normalised_product(self):
        table = network().table(SHARED_SITE)
        assert table[..., 1] == pytest.approx(
            np.array([[0.3841, 0.0184], [0.8739, 0.1721]]), abs=5e-5
        )
        assert table.sum(axis=-1) == pytest.approx(np.ones((2, 2)))

    def test_odds_without_any_trait_are_the_background(self):
        table = network(cpt="log_odds").table(SHARED_SITE)
        assert table[0, 0, 1] == pytest.approx(0.79)
        odds = table[..., 1] / table[..., 0]
        assert odds[1, 0] / odds[0, 0] == pytest.approx(11.11)
        assert odds[0, 1] / odds[0, 0] == pytest.approx(1 / 33.33)

    def test_forms_agree_where_all_backgrounds_agree(self):
        node = SiteNode("rs1", "A", (0, 1, 2), (0.6, 0.5, 0.2), (0.3,) * 3, 0.3)
        tables = [TraitNetwork(("a", "b", "c"), (0.1,) * 3, (node,), cpt).table("rs1")
                  for cpt in ("lemma7_normalised", "log_odds")]  # fmt: skip
        assert tables[0] == pytest.approx(tables[1])

    @pytest.mark.parametrize("coding", ["allele", "carrier", "homozygous", "dosage"])
    @pytest.mark.parametrize("cpt", ["lemma7_normalised", "log_odds"])
    def test_states_sum_to_one(self, cpt, coding):
        model = random_network(np.random.default_rng(3), cpt, coding)
        for site in model.sites:
            assert model.table(site.name).sum(axis=-1) == pytest.approx(1)

    def test_three_traits_by_the_formula_of_odds(self):
        case, control, f = (0.6, 0.5, 0.2), (0.3, 0.4, 0.5), 0.35
        node = SiteNode("rs1", "A", (0, 1, 2), case, control, f)
        table = TraitNetwork(("a", "b", "c"), (0.1,) * 3, (node,)).table("rs1")
        for traits in product((0, 1), repeat=3):
            odds = np.prod([(c if t else n) / (1 - (c if t else n))
                            for t, c, n in zip(traits, case, control, strict=True)])  # fmt: skip
            odds /= (f / (1 - f)) ** 2
            assert table[(*traits, 1)] == pytest.approx(odds / (1 + odds))

    def test_the_published_product_is_flagged(self):
        published = network(cpt="lemma7")
        assert not published.is_distribution and "not a probability" in published.words()
        assert network().is_distribution and "not a probability" not in network().words()
        alone = TraitNetwork.of(associations()[:3], PREVALENCE, cpt="lemma7")
        assert alone.is_distribution


class TestInference:
    """Exact posteriors."""

    @pytest.mark.parametrize(
        ("bits", "posterior"),
        [((1, 1, 1), 0.79652), ((1, 1, 0), 0.18245), ((1, 0, 0), 0.018409),
         ((0, 0, 0), 0.00084330)],
    )  # fmt: skip
    def test_three_sites_of_one_trait(self, bits, posterior):
        model = network()
        seen = dict(zip(("rs9394152", "rs73717741", "rs10928927"), bits, strict=True))
        found = model.posterior(only(model, **seen))[0, 0]
        assert found == pytest.approx(posterior, rel=1e-4)

    @pytest.mark.parametrize(("coding", "posterior"), [("allele", 0.1076), ("carrier", 0.0744)])
    def test_the_coding_changes_the_posterior(self, coding, posterior):
        model = network(coding=coding)
        assert model.posterior(only(model, rs9394152=1))[0, 0] == pytest.approx(posterior, abs=5e-5)

    @pytest.mark.parametrize(
        ("trait", "site", "place", "present", "absent", "mean"),
        [
            ("COPD", "rs9394152", 0, 0.1076, 0.0054, 0.0751),
            ("COPD", "rs73717741", 1, 0.2621, 0.0290, 0.0701),
            ("COPD", "rs10928927", 2, 0.2020, 0.0142, 0.0584),
            ("liver injury", "rs2395029", 3, 0.0011, 2.5e-5, 1.5e-4),
            ("jaw osteonecrosis", "rs1934951", 4, 0.2389, 0.0240, 0.0923),
            ("green eyes", "rs12913832", 8, 0.3721, 0.0657, 0.1991),
        ],
    )
    def test_the_reproducible_rows_of_table_20(self, trait, site, place, present, absent, mean):
        model = network()
        one, zero = (model.posterior(only(model, **{site: bit}))[0, model.trait_place(trait)]
                     for bit in (1, 0))  # fmt: skip
        assert one == pytest.approx(present, abs=1e-4) and zero == pytest.approx(absent, abs=1e-4)
        carriers = CARRIERS[place]
        average = (carriers * one + (PEOPLE - carriers) * zero) / PEOPLE
        assert average == pytest.approx(mean, abs=1e-4)

    def test_means_of_table_21_where_table_20_errs(self):
        model = network()
        for site, place, mean in (("rs7853377", 6, 0.0303), ("rs7567288", 7, 0.0258)):
            one, zero = (model.posterior(only(model, **{site: bit}))[0, model.trait_place("height")]
                         for bit in (1, 0))  # fmt: skip
            average = (CARRIERS[place] * one + (PEOPLE - CARRIERS[place]) * zero) / PEOPLE
            assert average == pytest.approx(mean, abs=1e-4)

    @pytest.mark.parametrize("coding", ["allele", "carrier", "dosage"])
    @pytest.mark.parametrize("cpt", TABLES)
    def test_elimination_matches_brute_force(self, cpt, coding):
        draw = np.random.default_rng(11)
        for _ in range(6):
            model = random_network(draw, cpt, coding)
            states = draw.integers(-1, 3 if coding == "dosage" else 2, (3, 9)).astype(np.int8)
            found = model.posterior(states)
            for row, seen in zip(found, states, strict=True):
                total, shares = brute_force(model, seen)
                assert row == pytest.approx(shares, abs=1e-12)
                sites = {site.name: int(state) for site, state
                         in zip(model.sites, seen, strict=True) if state >= 0}  # fmt: skip
                assert model.log_probability(sites) == pytest.approx(np.log(total))

    def test_the_published_product_decouples_the_traits(self):
        model = random_network(np.random.default_rng(5), "lemma7", "allele")
        states = np.random.default_rng(6).integers(0, 2, (4, 9)).astype(np.int8)
        odds = np.array(model.prevalence) / (1 - np.array(model.prevalence)) * np.ones((4, 1))
        for place, site in enumerate(model.sites):
            for parent, case, control in zip(site.parents, site.cases, site.controls, strict=True):
                ratio = np.where(states[:, place], case / control, (1 - case) / (1 - control))
                odds[:, parent] *= ratio
        assert model.posterior(states) == pytest.approx(odds / (1 + odds))

    def test_a_co_parent_explains_an_allele_away(self):
        model = network()
        alone = model.posterior(only(model, rs12982744=1))[0]
        with_height = model.posterior(only(model, rs12982744=1, rs7853377=1))[0]
        place = model.trait_place("osteoarthritis")
        assert with_height[place] > alone[place] * 1.04

    def test_conditional_probabilities_are_ratios_of_joints(self):
        model = network()
        sites, traits = {SHARED_SITE: 1, "rs9394152": 0}, {"height": True}
        joint = model.log_probability(sites, traits)
        given_sites = model.probability(traits=traits, given_sites=sites)
        assert given_sites == pytest.approx(np.exp(joint - model.log_probability(sites)))
        both = model.probability(traits={"height": True}, given_sites=sites)
        neither = model.probability(traits={"height": False}, given_sites=sites)
        assert both + neither == pytest.approx(1)
        same = model.probability(traits={"height": True}, given_traits={"height": False})
        assert same == 0
        total = sum(model.probability({SHARED_SITE: bit}, given_traits=traits) for bit in (0, 1))
        assert total == pytest.approx(1)

    def test_known_traits_change_other_posteriors_and_stay_known(self):
        model, seen = network(), only(network(), rs12982744=1)
        found = model.posterior(seen, known={"height": True})[0]
        assert found[model.trait_place("height")] == 1
        place = model.trait_place("osteoarthritis")
        assert found[place] > model.posterior(seen)[0, place]

    @given(st.permutations(range(9)))
    @settings(max_examples=25, deadline=None)
    def test_the_order_of_sites_does_not_matter(self, order):
        model, states = network(), np.array([[1, 0, 1, 1, 0, 1, 0, 1, 1]], dtype=np.int8)
        turned = TraitNetwork(model.traits, model.prevalence,
                              tuple(model.sites[at] for at in order))  # fmt: skip
        assert turned.posterior(states[:, order]) == pytest.approx(model.posterior(states))

    def test_without_any_call_the_prior_is_left_and_certain_traits_stay(self):
        model = network()
        assert model.posterior(only(model))[0] == pytest.approx(list(PREVALENCE.values()))
        certain = {**PREVALENCE, "COPD": 0.0, "height": 1.0}
        fixed = TraitNetwork.of(associations(), certain, population={"rs12982744-C": 0.79})
        found = fixed.posterior(np.ones((1, 9), dtype=np.int8))[0]
        assert (found[0], found[fixed.trait_place("height")]) == (0, 1)
        assert fixed.log_probability(traits={"COPD": True}) == -np.inf
        with pytest.raises(ValueError, match="probability 0"):
            fixed.posterior(np.ones((1, 9)), known={"COPD": True})
        with pytest.raises(ValueError, match="probability 0"):
            fixed.probability({SHARED_SITE: 1}, given_traits={"COPD": True})

    def test_ten_thousand_sites_do_not_underflow(self):
        draw = np.random.default_rng(2)
        nodes = tuple(SiteNode(f"rs{at}", "A", (0, 1) if at % 2 else (0,), (0.36,) * (1 + at % 2),
                               (0.33,) * (1 + at % 2), 0.33) for at in range(10_000))  # fmt: skip
        model = TraitNetwork(("a", "b"), (0.1, 0.1), nodes)
        states = (draw.random((2, 10_000)) < 0.33).astype(np.int8)
        found = model.posterior(states)
        logs = np.zeros((2, 2, 2)) + np.log(
            np.multiply.outer([0.9, 0.1], [0.9, 0.1])
        )  # The same by adding logarithms.
        for place, site in enumerate(model.sites):
            table = np.log(model.table(site.name))[..., :]
            chosen = np.moveaxis(table, -1, 0)[states[:, place]]
            logs += chosen if chosen.ndim == 3 else chosen[:, :, None]
        weights = np.exp(logs - logs.max(axis=(1, 2), keepdims=True))
        weights /= weights.sum(axis=(1, 2), keepdims=True)
        assert logs.max() < -5000
        assert found[:, 0] == pytest.approx(weights[:, 1].sum(axis=1))
        assert found[:, 1] == pytest.approx(weights[:, :, 1].sum(axis=1))


class TestElimination:
    """Messages along the tree of eliminated variables."""

    def test_a_long_chain_needs_small_tables(self):
        scopes = [(at, at + 1) for at in range(199)]
        _, tables = elimination_order(200, scopes)
        assert max(map(len, tables.values())) == 2
        draw = np.random.default_rng(1)
        shared = [Factor(scope, draw.normal(size=(2, 2, 2))) for scope in scopes]
        evidence, posterior = calibrate(draw.normal(size=(2, 200, 2)), shared)
        assert np.isfinite(evidence).all() and ((posterior > 0) & (posterior < 1)).all()

    def test_a_clique_that_is_too_large_is_refused_before_it_is_made(self):
        scopes = [(a, b) for a in range(25) for b in range(a + 1, 25)]
        shared = [Factor(scope, np.zeros((1, 2, 2))) for scope in scopes]
        with pytest.raises(ValueError, match="over 25 traits at once"):
            calibrate(np.zeros((1, 25, 2)), shared)

    def test_people_in_blocks_get_what_they_get_together(self, monkeypatch):
        draw = np.random.default_rng(4)
        single, shared = draw.normal(size=(7, 4, 2)), [
            Factor(scope, draw.normal(size=(7, 2, 2))) for scope in ((0, 1), (1, 2), (0, 2))
        ]  # fmt: skip
        together = calibrate(single, shared)
        monkeypatch.setattr("sfumato.genomics.elimination.MOST_NUMBERS", 8)
        for one, other in zip(calibrate(single, shared), together, strict=True):
            assert one == pytest.approx(other)


class TestBuilding:
    """What a network is made of, and what is refused."""

    def test_the_other_allele_of_a_shared_site_is_turned(self):
        site = next(site for site in network().sites if site.name == SHARED_SITE)
        assert site.allele == "C" and site.cases == pytest.approx((0.9456, 0.0431), abs=5e-5)
        assert site.controls == pytest.approx((0.61, 0.60)) and site.population == 0.79
        given = TraitNetwork.of(associations(), PREVALENCE, population={"rs12982744-G": 0.21})
        assert given.table(SHARED_SITE) == pytest.approx(network().table(SHARED_SITE))

    def test_released_frequencies_replace_the_published_and_keep_the_allele(self):
        model = network().with_frequencies("height", {"rs12982744-G": (0.3, 0.9), "rs7567288": (
            1.4, -0.2)}, clip=0.01)  # fmt: skip
        site = next(site for site in model.sites if site.name == SHARED_SITE)
        assert site.cases == pytest.approx((0.9456, 0.7), abs=1e-4) and site.allele == "C"
        other = next(site for site in model.sites if site.name == "rs7567288")
        assert (other.cases, other.controls) == ((0.99,), (0.01,))

    @pytest.mark.parametrize(
        ("make", "said"),
        [
            (lambda: network(cpt="noisy_or"), "cpt must be one of"),
            (lambda: network(coding="x"), "coding must be one of"),
            (lambda: TraitNetwork.of(associations(), PREVALENCE), "frequency in the population"),
            (lambda: TraitNetwork.of(associations(), {}), "prevalence of 'COPD' is missing"),
            (lambda: TraitNetwork.of(associations(), {**PREVALENCE, "COPD": 2},
                                     population="controls"), "from 0 to 1; got 2"),
            (lambda: TraitNetwork.of(associations(), PREVALENCE, population="people"),
             'must be "controls"'),
            (lambda: TraitNetwork.of(associations(), PREVALENCE, population={SHARED_SITE: 7}),
             "population frequency of rs12982744"),
            (lambda: TraitNetwork.of(2 * associations(), PREVALENCE, population="controls"),
             "two associations"),
            (lambda: network().trait_place("hieght"), "did you mean 'height'"),
            (lambda: network().posterior(np.ones((1, 3))), "9 columns"),
            (lambda: network().posterior(np.full((1, 9), 2)), "from 0 to 1"),
            (lambda: network().log_probability({"rs0": 1}), "no site 'rs0'"),
            (lambda: network().with_frequencies("COPD", {"rs0": (0.5, 0.5)}), "none of the"),
            (lambda: network().states({"rs12982744-A": [1]}), "does not fit a site"),
            (lambda: network().with_frequencies("height", {"rs12982744-A": (0.5, 0.5)}),
             "rs12982744: a count of the allele A"),
            (lambda: TraitNetwork(("t",), (0.1,), (SiteNode("rs1", "A", (0,), (1.0,), (0.5,)),)),
             "between 0 and 1"),
            (lambda: TraitNetwork(("t",), (0.1,), (SiteNode("rs1", "A", (1,), (0.5,), (0.5,)),)),
             "places of its traits"),
        ],
    )  # fmt: skip
    def test_what_does_not_fit_is_refused(self, make, said):
        with pytest.raises(ValueError, match=said):
            make()

    def test_a_site_of_too_many_traits_is_refused(self):
        many = [TraitAssociation(trait=f"t{at}", site="rs1", allele="A", control_frequency=0.3,
                                 odds_ratio=2) for at in range(17)]  # fmt: skip
        with pytest.raises(ValueError, match="17 traits; at most 16"):
            TraitNetwork.of(many, {one.trait: 0.1 for one in many}, population="controls")
