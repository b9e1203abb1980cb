"""Tests of association and effects: private, and right."""

import itertools

import numpy as np
import polars as pl
import pytest
from scipy import stats

import sfumato as sf
from sfumato.genomics import statistics
from tests.genomics import made
from tests.method_suite import AuditSuite, MethodSuite


class AssociationSuite(MethodSuite):
    name = "genotypes.Association"

    def data(self):
        return made.study()

    def audited_public(self):
        return made.study(0).public

    def neighbours(self):
        return made.added_pairs()

    def fact(self, release):
        return release.statistic


class TestAssociation(AssociationSuite):
    pass


class Replaced(AssociationSuite):
    sampled = False

    def data(self):
        return made.replaced_study()

    def audited_public(self):
        return made.replaced_study(8).public

    def neighbours(self):
        return made.replaced_pairs()


class TestTrendCounts(Replaced):
    options = {"test": "trend", "delta": "1e-5"}  # noqa: RUF012


class TestAllelicStatistic(Replaced):
    options = {"measure": "statistic"}  # noqa: RUF012


class TestTrendStatistic(Replaced):
    options = {"measure": "statistic", "test": "trend", "sites": ["rs2", "rs3"]}  # noqa: RUF012


class TestNumbers(AssociationSuite):
    sampled = False

    def data(self):
        return made.study(numbers=True)

    def audited_public(self):
        return made.study(8, numbers=True).public

    def neighbours(self):
        one = {"numbers": True, "seed": 3}
        return [(made.study(8, **one), made.study(8, **one))]


class TestReplacedNumbers(AuditSuite):
    name = "genotypes.Association"
    options = {"delta": "1e-5"}  # noqa: RUF012
    sampled = False

    def audited_public(self):
        return made.study(8, numbers=True, relation="replace_one").public


class TestReplacedNumbersPure(AuditSuite):
    name = "genotypes.Association"
    sampled = False

    def audited_public(self):
        return made.study(8, numbers=True, relation="replace_one").public


def genotype_counts(people):
    """Return all ways in which people have 0, 1 and 2 copies."""
    return [(a, b, people - a - b) for a in range(people + 1) for b in range(people + 1 - a)]


def replaced(counts):
    """Return all counts with one participant replaced."""
    for gone, come in itertools.permutations(range(3), 2):
        if counts[gone]:
            found = list(counts)
            found[gone] -= 1
            found[come] += 1
            yield tuple(found)


@pytest.mark.parametrize("test", ["allelic", "trend"])
@pytest.mark.parametrize("sizes", [(1, 1), (1, 4), (2, 2), (2, 5), (3, 3), (5, 4), (6, 3), (6, 6)])
def test_sensitivities_are_those_of_all_tables(test, sizes):
    tables = list(itertools.product(*(genotype_counts(size) for size in sizes)))
    compute = getattr(statistics, f"{test}_statistic")
    cases, controls = (np.array([table[group] for table in tables]) for group in (0, 1))
    values = dict(zip(tables, compute(cases, controls).tolist(), strict=True))
    largest = max(
        abs(value - values[neighbour])
        for (own, other), value in values.items()
        for neighbour in [(new, other) for new in replaced(own)]
        + [(own, new) for new in replaced(other)]
    )
    assert largest == pytest.approx(float(statistics.statistic_sensitivity(test, sizes)), rel=1e-12)


def test_the_published_allelic_sensitivities():
    found = [
        float(statistics.allelic_sensitivity(sizes)) for sizes in ((5, 5), (50, 50), (20, 100))
    ]
    assert found == pytest.approx([6.6667, 7.8431, 14.2574], abs=5e-5)


def test_without_noise_the_tests_are_those_of_the_textbook():
    study = made.replaced_study(200)
    calls, phenotype = made.made(200)
    copies = np.where(calls < 0, 1, calls)
    case = np.array(phenotype) == "case"
    sites = {"measure": "statistic", "epsilon": "1e9"}
    allelic = sf.Association(**sites).release(study).statistic
    trend = sf.Association(test="trend", **sites).release(study).statistic
    for site in range(4):
        own, other = copies[case, site].sum(), copies[~case, site].sum()
        table = [[own, 2 * case.sum() - own], [other, 2 * (~case).sum() - other]]
        expected = stats.chi2_contingency(table, correction=False).statistic
        assert allelic[site] == pytest.approx(expected, rel=1e-4)
        correlation = np.corrcoef(case, copies[:, site])[0, 1]
        assert trend[site] == pytest.approx(200 * correlation**2, rel=1e-4)


def test_without_noise_effects_are_log_odds_ratios():
    calls, phenotype = made.made(400)
    copies = np.where(calls < 0, 1, calls)
    case = np.array(phenotype) == "case"
    release = sf.Association(epsilon="1e9").release(made.study(400))
    own, other = copies[case, 0].mean() / 2, copies[~case, 0].mean() / 2
    ratio = own / (1 - own) / (other / (1 - other))
    table = release.table
    assert table["beta"][0] == pytest.approx(np.log(ratio), rel=1e-6)
    assert table["odds_ratio"][0] == pytest.approx(ratio, rel=1e-6)
    plain = np.sqrt(1 / (400 * own * (1 - own)) + 1 / (400 * other * (1 - other)))
    assert table["standard_error"][0] == pytest.approx(plain, rel=1e-4)


def test_without_noise_a_number_is_regressed():
    calls, _ = made.made(300)
    copies = np.where(calls < 0, 1, calls)
    release = sf.Association(epsilon="1e9").release(made.study(300, numbers=True))
    fit = stats.linregress(copies[:, 0], np.linspace(0, 10, 300))
    assert release.table["beta"][0] == pytest.approx(fit.slope, rel=1e-2)
    assert release.table["standard_error"][0] == pytest.approx(fit.stderr, rel=2e-2)


def test_strata_remove_confounding():
    random = np.random.default_rng(5)
    south = np.arange(4000) % 2 == 0
    case = random.random(4000) < np.where(south, 0.7, 0.3)
    calls = random.binomial(2, np.where(south, 0.7, 0.3))[:, None]
    study = sf.Genotypes(
        calls,
        case,
        covariates=pl.DataFrame({"ancestry": np.where(south, "south", "north")}),
        covariate_schema=made.COVARIATES,
    )
    plain = sf.Association(epsilon=1000).release(study)
    within = sf.Association(epsilon=1000, strata=["ancestry"]).release(study)
    assert plain.statistic[0] > 100 > 15 > within.statistic[0]


def test_z_has_the_variance_one_without_association_whatever_the_noise():
    random = np.random.default_rng(6)
    found = []
    for seed in range(300):
        calls = random.binomial(2, 0.4, (200, 4))
        study = sf.Genotypes(calls, np.arange(200) < 100)
        with sf.noise.seeded(seed):
            found.append(sf.Association(epsilon=1).release(study).effects.z)
    # 1200 values of a heavy-tailed law: the variance is within 0.2 of 1 but once in 10^6.
    assert np.var(found) == pytest.approx(1, abs=0.25)


def test_the_file_has_the_columns_of_the_standard(tmp_path):
    release = sf.Association(epsilon=1).release(made.study())
    head = release.files()["summary_statistics.tsv"].decode().splitlines()[0].split("\t")
    assert head[:9] == [
        "chromosome", "base_pair_location", "effect_allele", "other_allele", "beta",
        "standard_error", "effect_allele_frequency", "p_value", "rsid",
    ]  # fmt: skip


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="public numbers of cases"):
        sf.Association(epsilon=1, measure="statistic").plan(made.study().public)
    with pytest.raises(ValueError, match="leave test and strata out"):
        sf.Association(epsilon=1, test="trend").plan(made.study(numbers=True).public)
    with pytest.raises(ValueError, match="neither strata nor delta"):
        sf.Association(epsilon=1, measure="statistic", delta="1e-6").plan(
            made.replaced_study().public
        )
