"""The spectrum of minor-allele frequencies: private, and right."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.audit import canonical_pairs
from tests.genomics import made
from tests.method_suite import AuditSuite, MethodSuite


class SpectrumSuite(MethodSuite):
    name = "genotypes.FrequencySpectrum"
    options = {"knots": 3}  # noqa: RUF012

    def data(self):
        return made.study()

    def audited_public(self):
        return made.study(0).public

    def neighbours(self):
        return made.added_pairs()

    def fact(self, release):
        return release.sites


class TestFrequencySpectrum(SpectrumSuite):
    # Samples are drawn where the number of participants is public.
    sampled = False


class TestReplaced(AuditSuite):
    name = "genotypes.FrequencySpectrum"
    options = {"knots": 3, "sites": ["rs1"]}  # noqa: RUF012
    random_neighbours = 50

    def audited_public(self):
        return made.replaced_study(8).public

    def pairs(self):
        # The pair that moves the spectrum most comes first.
        found = canonical_pairs(self.audited_public())
        return sorted(found, key=lambda pair: "nobody with a copy" not in pair.name)


class TestGaussian(TestReplaced):
    options = {"knots": 3, "delta": "1e-5"}  # noqa: RUF012
    sampled = False


def test_without_noise_the_spectrum_is_exact():
    random = np.random.default_rng(1)
    calls = random.binomial(2, random.random(50), (100, 50))
    study = sf.Genotypes(calls, np.arange(100) < 50, relation="replace_one")
    release = sf.FrequencySpectrum(epsilon="1e6").release(study)
    copies = calls.sum(axis=0)
    minor = np.minimum(copies, 200 - copies)
    # A site between two knots counts for both, in proportion.
    hats = np.maximum(0, 1 - np.abs(minor[:, None] - 10 * np.arange(11)) / 10)
    np.testing.assert_allclose(release.sites, hats.sum(axis=0), atol=1e-9)
    assert release.frequencies[-1] == pytest.approx(0.5)
    assert release.sites.sum() == pytest.approx(50)


def test_noise_does_not_grow_with_the_number_of_people():
    margins = []
    for people in (100, 1000):
        public = made.study(people, relation="replace_one").public
        margins.append(sf.FrequencySpectrum(epsilon=1).plan(public).steps[-1].figures["margin"])
    assert margins[1] == pytest.approx(margins[0] / 10, rel=0.1)


def test_a_cohort_without_participants_has_a_spectrum():
    study = sf.Genotypes(np.zeros((0, 3), dtype=np.int8), [], relation="replace_one")
    release = sf.FrequencySpectrum(epsilon=1).release(study, ledger=None)
    assert np.isfinite(release.frequencies).all()
