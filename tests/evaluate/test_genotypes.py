"""Comparisons of releases of genotypes with the private ones."""

import polars as pl
import pytest

import sfumato as sf
from sfumato.evaluate.genotypes import evaluate
from tests.genomics import made


@pytest.mark.parametrize(
    "method",
    [
        sf.AlleleFrequencies(epsilon="1e7"),
        sf.AlleleFrequencies(epsilon="1e7", counts="genotypes", sites=["rs4", "rs2"]),
        sf.Association(epsilon="1e7"),
        sf.Association(epsilon="1e7", test="trend"),
        sf.FrequencySpectrum(epsilon="1e7"),
        sf.LinkageDisequilibrium(epsilon="1e7", pairs=[["rs1", "rs3"], ["rs4", "rs2"]]),
    ],
)
def test_without_noise_nothing_differs(method):
    study = made.study(200)
    found = evaluate(study, method.release(study))
    for item in found.errors:
        assert item.absolute.max() < 1e-6
    assert found.to_json()["private"] is False
    assert found.blocks()


def test_a_number_is_compared_too():
    study = made.study(300, numbers=True)
    found = evaluate(study, sf.Association(epsilon="1e7").release(study))
    assert all(item.absolute.max() < 1e-3 for item in found.errors)


def test_strata_are_compared_too():
    frame = pl.DataFrame({"ancestry": ["north", "south"] * 50})
    study = made.study(100, covariates=frame, covariate_schema=made.COVARIATES)
    for method in (sf.AlleleFrequencies, sf.Association):
        release = method(epsilon="1e7", strata=["ancestry"]).release(study)
        found = evaluate(study, release)
        assert found.errors[0].absolute.max() < 1e-6


def test_recovered_sites_are_counted():
    study = made.replaced_study(400)
    found = evaluate(study, sf.TopSNPs(epsilon=1000, count=1).release(study))
    assert (found.recovered, found.chosen) == (1, 1)


def test_margins_are_told():
    study = made.study(400)
    with sf.noise.seeded(1):
        found = evaluate(study, sf.AlleleFrequencies(epsilon=1).release(study))
    assert 0.5 <= found.errors[0].within <= 1


def test_another_phenotype_is_refused():
    release = sf.AlleleFrequencies(epsilon=1).release(made.study())
    with pytest.raises(ValueError, match="different kinds of phenotype"):
        evaluate(made.study(numbers=True), release)
    with pytest.raises(TypeError, match="a release of genotypes"):
        evaluate(made.study(), object())
