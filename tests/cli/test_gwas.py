"""`sfumato gwas`: studies on the command line."""

import numpy as np
import pytest
from bed_reader import to_bed

import sfumato as sf
from sfumato.cli.exits import ExitCode
from sfumato.cli.gwas import DEFAULT, GWAS

PUBLIC = ("--relation", "replace_one", "--groups", "public")
ABOUT = ("--rows-about", "400", "--cases-about", "200")


@pytest.fixture
def study(tmp_path):
    """Four hundred participants with an association at the third of eight sites."""
    random = np.random.default_rng(1)
    case = np.arange(400) < 200
    shares = np.full((400, 8), 0.3)
    shares[case, 2] = 0.7
    properties = {
        "fid": ["0"] * 400,
        "iid": [f"p{n}" for n in range(400)],
        "pheno": np.where(case, 2, 1),
        "chromosome": ["1"] * 8,
        "sid": [f"rs{n}" for n in range(8)],
        "bp_position": [1_000_000 * n for n in range(1, 9)],
        "allele_1": ["A"] * 8,
        "allele_2": ["G"] * 8,
    }
    to_bed(tmp_path / "study.bed", random.binomial(2, shares).astype("int8"), properties=properties)
    return tmp_path / "study"


def test_every_method_for_genotypes_is_offered_and_the_default_is_one_of_them():
    assert DEFAULT in GWAS.methods.values()
    assert {"allelefrequencies", "association", "topsnps"} <= set(GWAS.methods)


def test_a_plan_reads_the_list_of_sites_only(run, study):
    study.with_suffix(".bed").unlink()
    study.with_suffix(".fam").unlink()
    told = run("gwas", "plan", study, "--epsilon", "2", "--count", "3", *PUBLIC, *ABOUT)
    assert told.code == 0 and "3 choices among 8 sites by distance" in told.out
    told = run(
        "gwas", "plan", "--site-list", study.with_suffix(".bim"), "--epsilon", "1",
        "--method", "allelefrequencies",
    )  # fmt: skip
    assert told.code == 0 and "allele counts at 8 sites" in told.out


def test_a_plan_asks_for_no_sizes_that_are_public(run, study):
    words = ("gwas", "plan", study, "--epsilon", "1", "--method", "allelefrequencies")
    told = run(*words, *PUBLIC, "--rows-about", "400")
    assert told.code == 0 and "sizes of the groups" not in told.out
    assert "sizes of the groups" in run(*words, "--rows-about", "400").out


def test_a_study_is_released_verified_and_evaluated(run, study):
    words = ("gwas", "release", study, "--epsilon", "30", "--count", "2", *PUBLIC, "--out", "o")
    assert run(*words, "--report").code == 0
    release = sf.load(study.parent / "o")
    assert release.table["rsid"][0] == "rs2"
    assert run("verify", "o").code == 0
    document = run("gwas", "evaluate", study.with_suffix(".bed"), "o", "--json").document
    assert document["private"] is False and document["chosen"] == 2
    assert run("gwas", "evaluate", study, "o").code == 0


@pytest.mark.parametrize(
    ("method", "further"),
    [
        ("allelefrequencies", ("--sites", '["rs1", "rs2"]')),
        ("association", ("--test", "trend")),
        ("frequencyspectrum", ()),
        ("linkagedisequilibrium", ("--pairs", '[["rs1", "rs2"]]')),
    ],
)
def test_every_release_can_be_evaluated(run, study, method, further):
    words = ("gwas", "release", study, "--epsilon", "5", "--method", method, *further)
    assert run(*words, "--out", "o").code == 0
    told = run("gwas", "evaluate", study, "o")
    assert told.code == 0 and "within margin" in told.out


def test_a_rehearsal_needs_no_private_file(run, study):
    study.with_suffix(".bed").unlink()
    told = run("gwas", "rehearse", study, "--epsilon", "1", *PUBLIC, *ABOUT, "--count", "2")
    assert told.code == 0 and "not a private release" in told.out


def test_phenotypes_come_from_a_table(run, study):
    lines = ["iid,phenotype", *(f"p{n},{n / 400}" for n in range(400))]
    (study.parent / "traits.csv").write_text("\n".join(lines) + "\n")
    words = ("gwas", "release", study, "--epsilon", "5", "--method", "association")
    told = run(*words, "--bounds", "0:1", "--phenotype", "traits.csv", "--out", "o")
    assert told.code == 0 and "linear test" in told.out
    assert run("gwas", "evaluate", study, "o", "--phenotype", "traits.csv").code == 0
    (study.parent / "traits.csv").write_text("name,phenotype\na,1\n")
    told = run(*words, "--bounds", "0:1", "--phenotype", "traits.csv", "--out", "p")
    assert told.code == ExitCode.DATA and "no column 'iid'" in told.err


def test_what_is_missing_is_named(run, study):
    told = run("gwas", "plan", "--epsilon", "1")
    assert told.code == ExitCode.USAGE and "--site-list" in told.err
    told = run("gwas", "plan", study, "--epsilon", "1", "--bounds", "zero")
    assert told.code == ExitCode.USAGE and "LOW:HIGH" in told.err
    told = run("gwas", "release", "a.vcf", "--epsilon", "1", "--out", "o")
    assert told.code == ExitCode.USAGE and "--site-list" in told.err
    told = run("gwas", "plan", study, "--epsilon", "1", "--score", "distance", "--count", "2")
    assert told.code == ExitCode.USAGE and "public numbers of cases" in told.err
