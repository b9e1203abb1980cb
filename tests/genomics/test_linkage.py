"""Linkage disequilibrium of pairs of sites: private, and right."""

import numpy as np
import pytest

import sfumato as sf
from tests.genomics import made
from tests.method_suite import AuditSuite, MethodSuite


class TestLinkageDisequilibrium(MethodSuite):
    name = "genotypes.LinkageDisequilibrium"
    options = {"pairs": [["rs1", "rs2"], ["rs4", "rs2"]]}  # noqa: RUF012

    def data(self):
        return made.study()

    def audited_public(self):
        return made.study(0).public

    def neighbours(self):
        return made.added_pairs()

    def fact(self, release):
        return release.tables


class TestGaussian(AuditSuite):
    name = "genotypes.LinkageDisequilibrium"
    options = {"pairs": [["rs1", "rs2"], ["rs4", "rs2"]], "delta": "1e-5"}  # noqa: RUF012
    sampled = False

    def audited_public(self):
        return made.replaced_study(8).public


def linked(people, share):
    """Return calls at two sites, the second equal to the first for a share of people."""
    random = np.random.default_rng(1)
    first = random.binomial(2, 0.4, people)
    second = np.where(random.random(people) < share, first, random.binomial(2, 0.4, people))
    return np.stack([first, second], axis=1)


def test_without_noise_r_is_the_correlation_of_genotypes():
    calls = linked(500, 0.8)
    study = sf.Genotypes(calls, np.arange(500) < 250, sites=["a", "b"])
    release = sf.LinkageDisequilibrium(epsilon="1e6", pairs=[["a", "b"]]).release(study)
    assert release.r[0] == pytest.approx(np.corrcoef(calls.T)[0, 1], abs=1e-9)


def test_margins_hold_about_nineteen_times_in_twenty():
    calls = linked(2000, 0.5)
    study = sf.Genotypes(calls, np.arange(2000) < 1000, sites=["a", "b"])
    true = np.corrcoef(calls.T)[0, 1]
    held = []
    for seed in range(200):
        with sf.noise.seeded(seed):
            release = sf.LinkageDisequilibrium(epsilon=1, pairs=[["a", "b"]]).release(study)
        held.append(abs(release.r[0] - true) <= release.margins[0])
    # 200 margins of 95 %: below 86 % once in 10^6 at most.
    assert np.mean(held) > 0.86


def test_pairs_are_two_known_sites():
    with pytest.raises(ValueError, match="pairs of sites"):
        sf.LinkageDisequilibrium(epsilon=1, pairs=[["rs1", "rs2", "rs3"]])
    with pytest.raises(ValueError, match="no site 'rs9'"):
        sf.LinkageDisequilibrium(epsilon=1, pairs=[["rs1", "rs9"]]).plan(made.study().public)
    with pytest.raises(ValueError, match="leave sites out"):
        sf.LinkageDisequilibrium(epsilon=1, pairs=[["rs1", "rs2"]], sites=["rs1"]).plan(
            made.study().public
        )
