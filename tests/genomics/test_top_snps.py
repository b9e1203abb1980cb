"""The choice of the most associated sites: private, and right."""

import itertools
from collections import deque
from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from sfumato.audit import Pair, canonical_pairs, examine
from sfumato.genomics.distance_kernels import association_distances
from sfumato.genomics.queries import AssociationDistances
from sfumato.genomics.statistics import PER_UNIT, critical_differences, threshold_of
from sfumato.privacy.guarantee import Basis
from tests.genomics import made
from tests.genomics.suites import ChoosingSuite
from tests.genomics.test_association import genotype_counts, replaced
from tests.method_suite import MethodSuite

PUBLISHED = {"variant": "published", "accept_unproven": True}


class TopSuite(ChoosingSuite, MethodSuite):
    name = "genotypes.TopSNPs"
    options = {"count": 2, "p_value": "0.05"}  # noqa: RUF012

    def data(self):
        return made.replaced_study()

    def audited_public(self):
        return made.replaced_study(8).public

    def neighbours(self):
        return made.replaced_pairs()

    def pairs(self):
        # The pair on which choices lose most comes first.
        found = canonical_pairs(self.audited_public())
        return sorted(found, key=lambda pair: "other way" not in pair.name)

    def fact(self, release):
        return np.append(release.statistic, release.sites.index(["rs1"] if "rs1" in
                         release.sites.names.split() else []).sum())  # fmt: skip


class TestTopSNPs(TopSuite):
    # Samples are drawn of a variant whose loss shows in one number.
    sampled = False
    random_neighbours = 50


class TestMostlyStatistics(ChoosingSuite):
    name = "genotypes.TopSNPs"
    options = {"count": 1, "p_value": "0.05", "statistics_share": "9/10", "sites": ["rs1"]}  # noqa: RUF012
    random_neighbours = 30

    def audited_public(self):
        return made.replaced_study(8).public


class TestNoisyStatistic(ChoosingSuite):
    name = "genotypes.TopSNPs"
    options = {"count": 1, "score": "chi_squared", "statistics_share": "9/10"}  # noqa: RUF012
    sampled = False
    random_neighbours = 30

    def audited_public(self):
        return made.replaced_study(8).public


class TestGaussian(TopSuite):
    options = {"count": 2, "p_value": "0.05", "delta": "1e-5"}  # noqa: RUF012
    sampled = False


class TestDifference(TopSuite):
    options = {"count": 2, "score": "difference", "statistics_share": "1/2"}  # noqa: RUF012
    sampled = False

    def data(self):
        return made.study()

    def audited_public(self):
        return made.study(0).public

    def neighbours(self):
        return made.added_pairs()


class TestReplacedDifference(ChoosingSuite):
    name = "genotypes.TopSNPs"
    options = {"count": 2, "score": "difference", "statistics_share": "4/5"}  # noqa: RUF012
    sampled = False
    random_neighbours = 30

    def audited_public(self):
        return made.replaced_study(8).public


def steps_to(targets, states):
    """Return the least number of replaced participants from each state to a target."""
    found = {state: 0 for state in states if state in targets}
    waiting = deque(found)
    while waiting:
        own, other = state = waiting.popleft()
        for new in itertools.chain(
            ((new, other) for new in replaced(own)), ((own, new) for new in replaced(other))
        ):
            if new not in found:
                found[new] = found[state] + 1
                waiting.append(new)
    return found


@pytest.mark.parametrize("sizes", [(1, 4), (2, 2), (3, 5), (5, 2), (5, 5)])
@pytest.mark.parametrize("threshold", [1500, 3841, 6000])
def test_distances_are_those_of_a_search_through_all_tables(sizes, threshold):
    cases, controls = sizes
    states = list(itertools.product(*(genotype_counts(size) for size in sizes)))

    def is_significant(state, sign):
        own, other = (counts[1] + 2 * counts[2] for counts in state)
        total, both = cases + controls, own + other
        difference = sign * (controls * own - cases * other)
        if both in (0, 2 * total) or difference <= 0:
            return False
        below = cases * controls * both * (2 * total - both)
        return Fraction(2 * total * difference**2, below) >= Fraction(threshold, PER_UNIT)

    expected = dict.fromkeys(states, -(10**9))
    for sign in (1, -1):
        inside = {state for state in states if is_significant(state, sign)}
        reaching = steps_to(inside, states)
        leaving = steps_to(set(states) - inside, states)
        for state in states:
            score = -reaching.get(state, cases + controls + 1)
            if state in inside:
                score = leaving[state] - 1
            expected[state] = max(expected[state], score)
    own, other = (np.array([state[group] for state in states]) for group in (0, 1))
    scores = np.zeros(len(states), dtype=np.int64)
    association_distances(own, other, critical_differences(sizes, threshold), scores)
    assert dict(zip(states, scores.tolist(), strict=True)) == expected


def test_compiled_and_interpreted_distances_agree():
    random = np.random.default_rng(2)
    cases, controls = (random.multinomial(50, [0.5, 0.3, 0.2], 300) for _ in range(2))
    critical = critical_differences((50, 50), threshold_of(1e-3))
    found = []
    for run in (association_distances.compiled, association_distances.source):
        scores = np.zeros(300, dtype=np.int64)
        run(cases, controls, critical, scores)
        found.append(scores)
    np.testing.assert_array_equal(*found)
    assert found[0].max() >= 0 > found[0].min()


def test_a_neighbour_changes_a_distance_by_one_at_most():
    for pair in canonical_pairs(made.replaced_study(8).public):
        query = AssociationDistances((4, 4), threshold_of(0.05))
        assert np.abs(query.answer(pair.here) - query.answer(pair.there)).max() <= 1


def test_with_much_budget_the_associated_site_is_first():
    for study in (made.replaced_study(400), made.study(400)):
        release = sf.TopSNPs(epsilon=1000, count=3).release(study)
        assert release.table["rsid"][0] == "rs1"
        assert release.ranked


def test_sites_are_chosen_once_and_from_the_panel():
    for seed in range(20):
        with sf.noise.seeded(seed):
            release = sf.TopSNPs(epsilon="1/10", count=3, sites=["rs2", "rs3", "rs4"]).release(
                made.replaced_study()
            )
        assert sorted(release.table["rsid"]) == ["rs2", "rs3", "rs4"]


def test_the_published_release_is_refuted_by_replay():
    # One case who decides which of two sites is ahead.
    options = {"relation": "replace_one", "groups": "public"}
    rows = [("case", (2, 0, 0, 0)), ("case", (0, 2, 0, 0)), ("case", (2, 0, 0, 0))]
    rows += [("control", (0, 0, 0, 0))] * 3
    here = made.people(rows, **options)
    there = made.people([*rows[:2], ("case", (0, 2, 0, 0)), *rows[3:]], **options)
    method = sf.TopSNPs(epsilon=1, count=1, **PUBLISHED)
    assert method.basis is Basis.PUBLISHED
    findings = examine(method, Pair("who is ahead", here, there))
    assert not findings.passed
    assert findings.largest == float("inf")
    proved = examine(sf.TopSNPs(epsilon=1, count=1), Pair("who is ahead", here, there))
    assert proved.passed


def test_the_published_release_must_be_accepted_and_is_not_booked(tmp_path):
    with pytest.raises(ValueError, match="accept_unproven"):
        sf.TopSNPs(epsilon=1, count=1, variant="published").plan(made.replaced_study().public)
    ledger = sf.Ledger.create(
        tmp_path / "a.ledger", allow=sf.PureDP(5), unit="participant", relation="replace_one"
    )
    with pytest.raises(ValueError, match="published"):
        sf.TopSNPs(epsilon=1, count=1, **PUBLISHED).release(made.replaced_study(), ledger=ledger)
    assert sf.TopSNPs(epsilon=1, count=1, **PUBLISHED).release(made.replaced_study()).table.height


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="at most the 4 sites"):
        sf.TopSNPs(epsilon=1, count=5).plan(made.study().public)
    with pytest.raises(ValueError, match="public numbers of cases"):
        sf.TopSNPs(epsilon=1, count=1, score="distance").plan(made.study().public)
    with pytest.raises(ValueError, match="cases and controls"):
        sf.TopSNPs(epsilon=1, count=1).plan(made.study(numbers=True).public)
