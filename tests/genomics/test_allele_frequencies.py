"""Allele frequencies: private, and right."""

import numpy as np
import pytest

import sfumato as sf
from tests.genomics import made
from tests.method_suite import AuditSuite, MethodSuite


class FrequencySuite(MethodSuite):
    name = "genotypes.AlleleFrequencies"

    def data(self):
        return made.study()

    def audited_public(self):
        return made.study(0).public

    def neighbours(self):
        return made.added_pairs()

    def fact(self, release):
        return release.measured.counts


class TestAlleleFrequencies(FrequencySuite):
    pass


class TestGenotypeCounts(FrequencySuite):
    options = {"counts": "genotypes", "sites": ["rs2", "rs4"]}  # noqa: RUF012
    sampled = False


class TestReplaced(FrequencySuite):
    sampled = False

    def data(self):
        return made.replaced_study()

    def audited_public(self):
        return made.replaced_study(8).public

    def neighbours(self):
        return made.replaced_pairs()


class TestReplacedGroups(AuditSuite):
    name = "genotypes.AlleleFrequencies"
    sampled = False

    def audited_public(self):
        return made.study(8, relation="replace_one").public


class TestGaussian(TestReplaced):
    options = {"delta": "1e-6"}  # noqa: RUF012

    def audited_public(self):
        return made.replaced_study(8).public


class TestGaussianGenotypes(TestReplaced):
    options = {"delta": "1e-6", "counts": "genotypes"}  # noqa: RUF012


class TestStrata(AuditSuite):
    name = "genotypes.AlleleFrequencies"
    options = {"strata": ["ancestry"]}  # noqa: RUF012
    sampled = False

    def audited_public(self):
        import polars as pl

        frame = pl.DataFrame({"ancestry": ["north", "south"] * 4})
        return made.study(8, covariates=frame, covariate_schema=made.COVARIATES).public


def exact(calls, group, phenotype):
    """Return the frequency of the effect allele, missing calls as one copy."""
    own = np.array(calls)[np.array(phenotype) == group]
    return np.where(own < 0, 1, own).mean(axis=0) / 2


@pytest.mark.parametrize("options", [{}, {"relation": "replace_one", "groups": "public"}])
def test_without_noise_frequencies_are_exact(options):
    calls, phenotype = made.made()
    release = sf.AlleleFrequencies(epsilon="1e6").release(made.study(**options))
    for number, group in enumerate(("case", "control")):
        expected = exact(calls, group, phenotype)
        np.testing.assert_allclose(release.frequencies[number, 0], expected, atol=1e-9)


def test_genotype_counts_leave_missing_calls_out():
    calls, _ = made.made()
    release = sf.AlleleFrequencies(epsilon="1e6", counts="genotypes").release(made.study())
    own = calls[:30]
    expected = [own[:, j][own[:, j] >= 0].mean() / 2 for j in range(4)]
    np.testing.assert_allclose(release.frequencies[0, 0], expected, atol=1e-9)
    table = release.table.filter(release.table["group"] == "cases")
    assert table["missing"].to_list() == (own < 0).sum(axis=0).tolist()


def test_margins_hold_about_nineteen_times_in_twenty():
    calls, phenotype = made.made(400)
    study = made.study(400)
    expected = exact(calls, "case", phenotype)
    held = []
    for seed in range(100):
        with sf.noise.seeded(seed):
            release = sf.AlleleFrequencies(epsilon=2).release(study)
        off = np.abs(release.frequencies[0, 0] - expected)
        held += (off <= release.margins[0, 0]).tolist()
    # 400 margins, 95 % each, dependent by fours: below 88 % once in 10^6 at most.
    assert 0.88 < np.mean(held) < 1


def test_the_panel_alone_is_published():
    release = sf.AlleleFrequencies(epsilon=1, sites=["rs3"]).release(made.study())
    assert release.public.sites.names == "rs3"
    assert release.table["site"].unique().to_list() == ["rs3"]


def test_an_unknown_site_or_covariate_is_refused():
    with pytest.raises(ValueError, match="no site 'rs9'"):
        sf.AlleleFrequencies(epsilon=1, sites=["rs9"]).release(made.study())
    with pytest.raises(ValueError, match="no covariate 'age'"):
        sf.AlleleFrequencies(epsilon=1, strata=["age"]).release(made.study())


def test_public_sizes_are_not_paid_for():
    plan = sf.AlleleFrequencies(epsilon=1).plan(made.replaced_study().public)
    assert len(plan.steps) == 1
    assert len(sf.AlleleFrequencies(epsilon=1).plan(made.study().public).steps) == 2


def test_the_guarantee_says_that_public_groups_are_not_covered():
    guarantee = sf.AlleleFrequencies(epsilon=1).guarantee(made.replaced_study().public)
    assert "case or a control" in guarantee.words()
