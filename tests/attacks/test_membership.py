"""Membership inference on frequencies: worked numbers, power, calibration, the bound under DP."""

from math import log, sqrt, tanh

import numpy as np
import pytest

from sfumato import noise
from sfumato.attacks.detection import Detection
from sfumato.attacks.frequency_files import read_frequencies, read_shares, read_study
from sfumato.attacks.group_frequencies import GroupFrequencies, align, perturb_network
from sfumato.attacks.membership import MembershipInference, MembershipOutcome, membership_scores
from sfumato.data.errors import DataError
from sfumato.genomics.calls import Calls
from sfumato.genomics.trait_network import SiteNode, TraitNetwork
from tests.genomics.table19 import network

NAMES = ("rs1", "rs2", "rs3")
#: Standard errors on either side that hold the truth but for 1 of a million cases.
RARE = 4.9


def group(*values, people=50, **further):
    return GroupFrequencies(NAMES, np.array(values), people, **further)


def people(draw, frequencies, many):
    names = tuple(f"rs{at}" for at in range(len(frequencies)))
    return Calls(names, draw.binomial(2, frequencies, (many, len(frequencies))))


@pytest.fixture(scope="module")
def cohort():
    """100 members, 300 others and a reference of 300 people at 4,000 independent sites."""
    draw = np.random.default_rng(8)
    frequencies = draw.uniform(0.05, 0.95, 4000)
    members, others, reference = (people(draw, frequencies, many) for many in (100, 300, 300))
    return members, others, GroupFrequencies.of(reference)


class TestStatistics:
    """Scores of single people."""

    def test_homers_statistic_by_hand(self):
        calls = Calls(NAMES, np.array([[2, 0, 1], [2, -1, 1]]))
        found = membership_scores(
            calls, group(0.9, 0.2, 0.5), group(0.5, 0.5, 0.5), statistic="homer"
        )
        distances = [0.4, 0.3, 0.0]
        expected = [np.mean(d) / (np.std(d) / sqrt(len(d))) for d in (distances, [0.4, 0.0])]
        assert found == pytest.approx(expected)

    def test_the_likelihood_ratio_by_hand(self):
        released, reference = group(0.9, 0.2, 0.5), group(0.5, 0.5, 0.5, people=10**9)
        found = membership_scores(Calls(NAMES, np.array([[2, 0, 1], [1, -1, 0]])), released,
                                  reference)  # fmt: skip
        first = 2 * log(0.9 / 0.5) + 2 * log(0.8 / 0.5)
        second = log(0.9 / 0.5) + log(0.1 / 0.5)
        assert found == pytest.approx([first, second], rel=1e-6)

    def test_noise_draws_the_group_towards_the_reference(self):
        calls = Calls(NAMES, np.array([[2, 0, 1]]))
        reference = group(0.5, 0.5, 0.5, people=10**9)
        scores = [
            membership_scores(calls, group(0.9, 0.2, 0.5, noise=deviation), reference)[0]
            for deviation in (0.0, 0.05, 5.0)
        ]
        # The variance of a frequency of 50 people is 0.25/100: a noise of 0.05 halves the weight.
        half = 2 * log(0.7 / 0.5) + 2 * log(0.65 / 0.5)
        assert scores[1] == pytest.approx(half, rel=1e-6)
        assert scores[0] > scores[1] > scores[2] > 0 and scores[2] < 0.01

    def test_alleles_are_matched_and_turned(self):
        calls = Calls(("rs1-G", "rs2-A", "rs9"), np.array([[2, 1, 0]]))
        released = GroupFrequencies(("rs2-A", "rs1-C", "rs7"), np.array([0.3, 0.2, 0.9]), 10)
        reference = GroupFrequencies(("rs1-G", "rs2"), np.array([0.6, 0.4]), 10)
        counts, shares = align(calls, {"released": released, "reference": reference})
        assert counts.tolist() == [[1, 0]]
        assert shares["released"].tolist() == [0.3, 0.2]
        assert shares["reference"] == pytest.approx([0.4, 0.4])
        with pytest.raises(ValueError, match="no site in common"):
            align(Calls(("rs5",), np.array([[0]])), {"released": released})

    def test_what_cannot_be_scored_is_refused(self):
        calls = Calls(NAMES, np.array([[1, 0, 1]]), bits=True)
        with pytest.raises(ValueError, match="bits"):
            membership_scores(calls, group(0.1, 0.1, 0.1), group(0.1, 0.1, 0.1))
        with pytest.raises(ValueError, match="statistic must be one of"):
            membership_scores(calls, group(1, 1, 1), group(1, 1, 1), statistic="t")
        with pytest.raises(ValueError, match="statistics must be among"):
            MembershipInference(statistics=("t",))


class TestDetection:
    """Areas, advantages and curves."""

    def test_areas_and_curves_of_a_few_scores(self):
        found = Detection.of([3, 2, 2, 1], [2, 1, 0, 0])
        # Of 16 pairs 12 are in order and 3 are ties.
        assert found.area == pytest.approx(13.5 / 16)
        assert found.false.tolist() == [0, 0, 0.25, 0.5, 1]
        assert found.true.tolist() == [0, 0.25, 0.75, 1, 1]
        perfect = Detection.of([3.0, 4, 5, 6], [0.0, 1, 2, 2])
        assert (perfect.area, perfect.advantage, perfect.found) == (1, 1, (1, 1))
        assert perfect.area_margin == 0

    def test_guessing_has_no_advantage_on_average(self):
        draw = np.random.default_rng(4)
        found = [Detection.of(draw.random(40), draw.random(40)) for _ in range(400)]
        for figures, middle in (([one.advantage for one in found], 0.0),
                                ([one.area for one in found], 0.5)):  # fmt: skip
            error = np.std(figures) / sqrt(len(figures))
            assert abs(np.mean(figures) - middle) < RARE * error
        # Margins hold about 19 times in 20: with 400 trials at least 17.
        inside = [abs(one.area - 0.5) <= one.area_margin for one in found]
        assert np.mean(inside) > 0.88

    def test_too_few_people_are_refused(self):
        with pytest.raises(ValueError, match="at least two members"):
            Detection.of([1.0], [1.0, 2.0])
        with pytest.raises(ValueError, match="at least two others"):
            Detection.of([1.0, 2.0], [np.nan, 2.0])


class TestAttack:
    """Members of simulated groups."""

    def test_exact_frequencies_reveal_members_and_noise_hides_them(self, cohort):
        members, others, reference = cohort
        exact = GroupFrequencies.of(members)
        with noise.seeded(3):
            releases = {"exact": exact, "ε = 1": exact.with_noise(1)}
        outcome = MembershipInference().run(members, others, releases, reference)
        ratio, homer = (outcome["exact", name].detection
                        for name in ("likelihood_ratio", "homer"))  # fmt: skip
        # Theory: the scores of members are higher by √(K/n)/√(1 + …) standard deviations, over 3.
        assert ratio.area > 0.99 and homer.area > 0.97
        for name in ("likelihood_ratio", "homer"):
            row = outcome["ε = 1", name]
            chance = sqrt(401 / (12 * 100 * 300))
            assert abs(row.detection.area - 0.5) < RARE * chance
            assert row.bound == pytest.approx(tanh(0.5)) and row.sites == 4000
            assert row.detection.advantage <= row.bound + RARE / 1.96 * (
                row.detection.advantage_margin
            )
        assert "reveal who took part" in outcome.verdict()
        assert "With noise the attack does no better than guessing." in outcome.verdict()
        assert "an advantage above 46.2 % (ε = 1)" in outcome.verdict()

    def test_people_outside_the_group_are_not_found(self, cohort):
        _, others, reference = cohort
        # Half of the others against the other half: nobody is in the group.
        stranger = GroupFrequencies.of(people(np.random.default_rng(1), np.full(4000, 0.5), 100))
        for statistic in ("likelihood_ratio", "homer"):
            scores = membership_scores(others, stranger, reference, statistic=statistic)
            found = Detection.of(scores[:150], scores[150:])
            assert abs(found.area - 0.5) < RARE * sqrt(301 / (12 * 150 * 150))

    def test_more_noise_gives_a_smaller_area(self, cohort):
        members, others, reference = cohort
        exact = GroupFrequencies.of(members)
        with noise.seeded(5):
            releases = {str(e): exact.with_noise(e) for e in (10_000, 1000, 100, 10)}
        attack = MembershipInference(statistics=("likelihood_ratio",))
        outcome = attack.run(members, others, {"exact": exact, **releases}, reference)
        areas = [row.detection.area for row in outcome.rows]
        assert areas == sorted(areas, reverse=True) and areas[0] - areas[-1] > 0.3
        assert "still does better than guessing" in outcome.verdict()
        assert "The guarantee at ε = 10000 excludes no attack." in outcome.verdict()

    def test_an_outcome_describes_itself(self, cohort):
        members, others, reference = cohort
        outcome = MembershipInference().run(
            members, others, {"exact": GroupFrequencies.of(members)}, reference
        )
        assert isinstance(outcome, MembershipOutcome)
        document = outcome.to_json()
        assert document["private"] is False and document["attack"] == "membership"
        assert document["rows"][0]["found"]["0.01"] > 0.5
        grid = outcome.grid()
        assert grid.rows[0][1] == "guessing" and len(grid.rows) == 3
        (axis,) = outcome.plot().axes
        assert len(axis.lines) == 3


class TestFrequencies:
    """Released frequencies and their noise."""

    def test_frequencies_of_people_leave_missing_calls_out(self):
        calls = Calls(NAMES, np.array([[2, -1, 0], [1, -1, -1]]))
        assert GroupFrequencies.of(calls).values == pytest.approx([0.75, 0.5, 0])
        with pytest.raises(ValueError, match="bits"):
            GroupFrequencies.of(Calls(NAMES, np.array([[1, 0, 1]]), bits=True))

    @pytest.mark.parametrize("epsilon", [1, "0.2"])
    def test_noise_has_the_scale_that_the_sensitivity_demands(self, epsilon):
        many = 100_000
        exact = GroupFrequencies(tuple(map(str, range(many))), np.full(many, 0.5), 50)
        with noise.seeded(9):
            noisy = exact.with_noise(epsilon)
        scale = 2 * many / float(epsilon)
        counts = np.abs(100 * (noisy.values - exact.values))
        # The absolute value has mean and deviation `scale`; 10 % off is 30 standard errors away.
        assert abs(counts.mean() / scale - 1) < RARE / sqrt(many) < 0.1 / 4
        assert noisy.noise == pytest.approx(sqrt(2) * scale / 100)
        assert noisy.epsilon == float(epsilon)
        assert np.allclose(100 * noisy.values, np.rint(100 * noisy.values))

    @pytest.mark.parametrize(("published", "scale"), [(True, 0.004), (False, 0.002)])
    def test_the_noise_of_studies_is_the_printed_scale_or_half_of_it(self, published, scale):
        many = 20_000
        nodes = tuple(SiteNode(f"rs{at}", "A", (0,), (0.5,), (0.3,)) for at in range(many))
        with noise.seeded(12):
            noisy = perturb_network(TraitNetwork(("t",), (0.1,), nodes), 2, 5_000_000,
                                    published=published)  # fmt: skip
        # K = 20,000, ε = 2 and n = 5,000,000: 2K/(εn) as printed, K/(εn) as is needed.
        for group, truth in (("cases", 0.5), ("controls", 0.3)):
            shares = np.array([getattr(site, group)[0] for site in noisy.sites])
            change = np.abs(shares - truth).mean()
            assert abs(change / scale - 1) < RARE / sqrt(many) < 0.1 / 2

    def test_files_are_read(self, tmp_path):
        path = tmp_path / "f.csv"
        path.write_text(
            "trait,snp,effect_allele,cases,controls\nx,rs1,C,0.6,-0.1\nx,rs2,,0.5,0.2\n"
        )
        found = read_frequencies(path, group="controls", people=20, epsilon=1.0)
        assert found.names == ("rs1-C", "rs2") and found.values.tolist() == [-0.1, 0.2]
        assert read_study(path) == {"x": {"rs1-C": (0.6, -0.1), "rs2": (0.5, 0.2)}}
        path.write_text("site,allele,frequency\nrs1,C,0.7\n")
        assert read_shares(path, key="site", value="frequency") == {"rs1-C": 0.7}
        assert read_frequencies(path, people=5).values.tolist() == [0.7]

    def test_the_file_of_a_release_is_read_with_its_margins(self, tmp_path):
        path = tmp_path / "frequencies.csv"
        path.write_text(
            "site,chromosome,effect_allele,other_allele,group,frequency,margin\n"
            "rs1,1,C,T,cases,0.6,0.196\nrs1,1,C,T,controls,0.3,0.098\n"
            "rs2,1,?,?,cases,0.5,0.196\nrs2,1,?,?,controls,0.2,0.098\n"
        )
        found = read_frequencies(path, group="controls", people=20)
        assert found.names == ("rs1-C", "rs2") and found.values.tolist() == [0.3, 0.2]
        assert found.noise == pytest.approx(0.05, rel=1e-3)
        assert read_frequencies(path, group="cases", people=20, noise=0.3).noise == 0.3
        expected = {"rs1-C": (0.6, 0.3), "rs2": (0.5, 0.2)}
        assert read_study(path, trait="asthma") == {"asthma": expected}

    def test_bad_files_and_figures_are_refused(self, tmp_path):
        path = tmp_path / "f.csv"
        path.write_text("site,cases\nrs1,0.5\nrs2,secret\n")
        with pytest.raises(DataError, match="column 'cases', row 2") as refusal:
            read_frequencies(path, group="cases", people=5)
        assert "secret" not in str(refusal.value)
        path.write_text("site,cases,controls\nrs1,0.5,0.2\n")
        with pytest.raises(ValueError, match="cases, controls; a group must be chosen"):
            read_frequencies(path, people=5)
        with pytest.raises(ValueError, match="there is no group 'x'"):
            read_frequencies(path, group="x", people=5)
        with pytest.raises(ValueError, match="no column 'trait'"):
            read_study(path)
        assert read_study(path, trait="t") == {"t": {"rs1": (0.5, 0.2)}}
        for text, said in (
            ("site,x\nrs1,1\n", "no column 'cases'"),
            ("site,group\nrs1,cases\n", "no column 'frequency'"),
            ("site,frequency\n", "no rows"),
            ("site,frequency\nrs1,0.5\nrs1,0.6\n", "2 frequencies of rs1"),
        ):
            path.write_text(text)
            with pytest.raises(DataError, match=said):
                read_frequencies(path, people=5)
        path.write_text("site,frequency\nrs1,0.5\n")
        with pytest.raises(DataError, match="cases and of controls"):
            read_study(path)
        for wrong, said in (
            ({"values": np.array([0.5])}, "3 sites and 1 frequencies"),
            ({"values": np.full(3, np.nan)}, "finite"),
            ({"people": 0}, "at least 1"),
            ({"noise": -1.0}, "negative"),
        ):
            given = {"values": np.full(3, 0.5), "people": 10, **wrong}
            with pytest.raises(ValueError, match=said):
                GroupFrequencies(NAMES, **given)
        for epsilon in (0, -1, "x"):
            with pytest.raises(ValueError, match="epsilon"):
                group(0.5, 0.5, 0.5).with_noise(epsilon)
        with pytest.raises(ValueError, match="people"):
            perturb_network(network(), 1, 0)
