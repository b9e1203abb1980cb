"""`sfumato attack membership | traits | identity`: files in, a table, a document and a page out."""

import numpy as np
import pytest

from sfumato.cli.exits import ExitCode
from tests.genomics.table19 import PREVALENCE, ROWS

CATALOGUE = ("Disease/Trait", "Strongest SNP-Risk Allele", "Risk Allele Frequency", "p-Value",
             "OR or beta", "95% CI (text)")  # fmt: skip


@pytest.fixture
def files(tmp_path):
    """Write a catalogue, prevalences, a population frequency, calls and truth."""
    lines = ["\t".join(CATALOGUE)]
    lines += [f"{trait}\t{site}-{allele}\t{f}\t1E-9\t{ratio}\t[NR]"
              for trait, site, allele, f, ratio, _ in ROWS]  # fmt: skip
    (tmp_path / "catalogue.tsv").write_text("\n".join(lines) + "\n")
    shares = [f"{trait},{share}" for trait, share in PREVALENCE.items()]
    (tmp_path / "prevalence.csv").write_text("\n".join(["trait,prevalence", *shares]) + "\n")
    (tmp_path / "population.csv").write_text("site,allele,frequency\nrs12982744,C,0.79\n")
    draw = np.random.default_rng(1)
    sites = list(dict.fromkeys(f"{site}" for _, site, *_ in ROWS))
    calls = draw.binomial(2, 0.3, (40, len(sites)))
    rows = [",".join(sites), *(",".join(map(str, row)) for row in calls)]
    (tmp_path / "calls.csv").write_text("\n".join(rows) + "\n")
    traits = draw.integers(0, 2, (40, 2))
    rows = ["COPD,height", *(",".join(map(str, row)) for row in traits)]
    (tmp_path / "truth.csv").write_text("\n".join(rows) + "\n")
    released = ["trait,site,allele,cases,controls", "height,rs7853377,G,0.6,0.3"]
    (tmp_path / "released.csv").write_text("\n".join(released) + "\n")
    return tmp_path


@pytest.fixture
def groups(tmp_path):
    """Write calls of members, others and a reference, as CSV and as arrays."""
    draw = np.random.default_rng(2)
    frequencies = draw.uniform(0.1, 0.9, 300)
    names = [f"rs{at}" for at in range(300)]
    for name, many in (("members", 20), ("others", 60), ("reference", 60)):
        calls = draw.binomial(2, frequencies, (many, 300)).astype(np.int8)
        rows = [",".join(names), *(",".join(map(str, row)) for row in calls)]
        (tmp_path / f"{name}.csv").write_text("\n".join(rows) + "\n")
        np.save(tmp_path / f"{name}.npy", calls)
        if name == "members":
            shares = calls.mean(axis=0) / 2
            rows = [f"{site},{share}" for site, share in zip(names, shares, strict=True)]
            (tmp_path / "f.csv").write_text("\n".join(["site,cases", *rows]) + "\n")
    (tmp_path / "sites.csv").write_text("\n".join(["snp", *names]) + "\n")
    return tmp_path


MEMBERSHIP = ("attack", "membership", "members.csv", "--others", "others.csv", "--reference",
              "reference.csv")  # fmt: skip
MODEL = ("--catalogue", "catalogue.tsv", "--prevalence", "prevalence.csv")


def test_membership_before_and_after_privacy(run, groups):
    shown = run(*MEMBERSHIP, "--epsilons", "0.5,5", "--out", "page.html")
    assert shown.code == 0, shown.err
    for told in ("Not private", "guessing", "exact", "ε = 0.5", "ε = 5", "likelihood ratio",
                 "homer", "reveal who took part"):  # fmt: skip
        assert told in shown.out
    page = (groups / "page.html").read_text(encoding="utf-8")
    assert "Do not publish" in page and "tanh" in page and "<svg" in page
    document = run(*MEMBERSHIP, "--epsilons", "1", "--json").document
    assert document["private"] is False and len(document["rows"]) == 4
    assert document["rows"][0]["area"] > 0.9 and document["rows"][2]["epsilon"] == 1


def test_membership_from_arrays_and_released_files(run, groups):
    words = ("attack", "membership", "members.npy", "--others", "others.npy", "--reference",
             "reference.npy", "--sites", "sites.csv")  # fmt: skip
    exact = run(*words, "--json").document["rows"]
    assert exact == run(*MEMBERSHIP, "--json").document["rows"]
    released = run(*words, "--released", "f.csv", "--group", "cases", "--people", "20",
                   "--released-epsilon", "2", "--json").document["rows"]  # fmt: skip
    assert released[2]["release"] == "f.csv" and released[2]["epsilon"] == 2
    assert released[2]["area"] == pytest.approx(exact[0]["area"])
    other = run(*words[:-3], "f.csv", "--reference-people", "9", "--sites", "sites.csv")
    assert other.code == 0


def test_traits_with_truth_release_and_noise(run, files):
    words = ("attack", "traits", "calls.csv", *MODEL, "--population", "population.csv")
    shown = run(*words, "--truth", "truth.csv", "--released", "released.csv", "--epsilons", "2",
                "--people", "50", "--out", "page.html")  # fmt: skip
    assert shown.code == 0, shown.err
    for told in ("Not private", "COPD", "published", "released.csv", "ε = 2", "loss by guessing"):
        assert told in shown.out
    assert "Associations: 10. Traits: 6. Sites: 9." in shown.err
    page = (files / "page.html").read_text(encoding="utf-8")
    assert "does not violate the guarantee" in page
    (files / "wide.csv").write_text("site,allele,cases,controls\nrs7853377,G,0.6,0.3\n")
    one, other = (run(*words, *more, "--json").document["rows"][6:]
                  for more in (("--released", "released.csv"),
                               ("--released", "wide.csv", "--study", "height")))  # fmt: skip
    assert [row["bits"] for row in one] == [row["bits"] for row in other]
    document = run(*words, "--infer", "COPD", "--evidence", "own_sites", "--cpt", "lemma7",
                   "--json").document  # fmt: skip
    assert [row["trait"] for row in document["rows"]] == ["COPD"]
    assert "not a probability distribution" in document["model"]
    coded = run(*words, "--coding", "dosage", "--json").document
    assert coded["rows"][0]["bits"] != document["rows"][0]["bits"]


def test_identity_simulated_and_of_the_table(run, files):
    words = ("attack", "identity", "calls.csv", *MODEL, "--runs", "20")
    shown = run(*words, "--epsilons", "0.2", "--people", "20", "--out", "page.html")
    assert shown.code == 0, shown.err
    assert "likelihood ratio" in shown.out and "traits known" in shown.out
    assert "anonymous" in (files / "page.html").read_text(encoding="utf-8")
    document = run(*words, "--method", "likelihood", "--json").document
    assert document["simulated"] is True and document["rows"][0]["records"] == 41
    known = run(*words, "--truth", "truth.csv", "--json").document
    assert known["simulated"] is False and known["rows"][0]["records"] == 40


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        ((*MEMBERSHIP, "--out", "x.pdf"), ExitCode.USAGE, ".html"),
        ((*MEMBERSHIP, "--epsilons", "0"), ExitCode.USAGE, "epsilon"),
        ((*MEMBERSHIP, "--epsilons", "1e99"), ExitCode.USAGE, "1e-15 to 1e15"),
        ((*MEMBERSHIP, "--released-epsilon", "1"), ExitCode.USAGE, "--released"),
        ((*MEMBERSHIP[:2], "members.npy", *MEMBERSHIP[3:]), ExitCode.USAGE, "--sites"),
        ((*MEMBERSHIP[:2], "nobody.csv", *MEMBERSHIP[3:]), ExitCode.USAGE, "nobody.csv"),
        ((*MEMBERSHIP, "--released", "sites.csv"), ExitCode.DATA, "no column"),
    ],
)
def test_membership_that_makes_no_sense_is_refused(words, code, told, run, groups):
    wrong = run(*words)
    assert wrong.code == code and told in wrong.err


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("traits", "calls.csv", *MODEL, "--epsilons", "1"), ExitCode.USAGE, "--people"),
        (("traits", "calls.csv", *MODEL, "--infer", "nobody"), ExitCode.USAGE, "no trait 'nobody'"),
        (("traits", "calls.csv", *MODEL, "--bits"), ExitCode.DATA, "0 or 1"),
        (("traits", "catalogue.tsv", *MODEL), ExitCode.DATA, "a call must be"),
        (("identity", "calls.csv", *MODEL, "--truth", "calls.csv"), ExitCode.DATA, "0 or 1"),
        (("identity", "calls.csv", "--catalogue", "calls.csv", *MODEL[2:]), ExitCode.DATA,
         "no column 'disease/trait'"),
    ],
)  # fmt: skip
def test_an_attack_that_makes_no_sense_is_refused(words, code, told, run, files):
    wrong = run("attack", *words)
    assert wrong.code == code and told in wrong.err


def test_the_page_is_never_written_into_a_release(run, groups):
    (groups / "release").mkdir()
    (groups / "release" / "certificate.json").write_text("{}")
    wrong = run(*MEMBERSHIP, "--out", "release/page.html")
    assert wrong.code == ExitCode.USAGE and "not private" in wrong.err
