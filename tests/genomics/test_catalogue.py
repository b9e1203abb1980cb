"""Reading a catalogue: orientation, missing effects, duplicates, strands, frequencies in cases."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.data.errors import DataError
from sfumato.genomics.catalogue import (
    TraitAssociation,
    case_frequency,
    odds_ratio,
    read_catalogue,
)
from sfumato.genomics.codings import encode_counts, state_probabilities
from sfumato.genomics.site_names import is_ambiguous, split_name
from tests.genomics.table19 import ROWS

FILE = Path(os.environ.get("SFUMATO_DATA", "")) / "genomics" / "gwas_catalog_2012-04.tsv.xz"
OLD = ("Disease/Trait", "Strongest SNP-Risk Allele", "Risk Allele Frequency", "p-Value",
       "OR or beta", "95% CI (text)")  # fmt: skip
NEW = ("DISEASE/TRAIT", "STRONGEST SNP-RISK ALLELE", "RISK ALLELE FREQUENCY", "P-VALUE",
       "OR or BETA", "95% CI (TEXT)")  # fmt: skip


def write(path, *records, header=OLD):
    lines = ["\t".join(fields) for fields in (header, *records)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def association(**changes):
    given = {"trait": "t", "site": "rs1", "allele": "C", "control_frequency": 0.3}
    return TraitAssociation(**{**given, "odds_ratio": 2.0, **changes})


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]} {row[1]}")
def test_case_frequencies_are_those_of_the_literature(row):
    # The fifth is printed with two digits.
    margin = 6e-3 if row[5] == 0.63 else 5e-4
    assert case_frequency(row[4], row[3]) == pytest.approx(row[5], abs=margin)
    assert odds_ratio(case_frequency(row[4], row[3]), row[3]) == pytest.approx(row[4])


@given(st.floats(0.01, 100), st.floats(1e-4, 1 - 1e-4))
def test_an_odds_ratio_survives_the_way_to_a_frequency_and_back(ratio, control):
    case = case_frequency(ratio, control)
    if 1e-6 < case < 1 - 1e-6:
        assert odds_ratio(case, control) == pytest.approx(ratio, rel=1e-6)


@given(st.floats(0.01, 100), st.floats(0.001, 0.999))
def test_flipping_twice_is_the_identity_and_flipping_once_tells_the_same(ratio, control):
    one = association(odds_ratio=ratio, control_frequency=control)
    twice = one.flip().flip()
    assert (twice.allele, twice.alternate) == ("C", "not C")
    assert twice.odds_ratio == pytest.approx(ratio)
    assert twice.control_frequency == pytest.approx(control)
    assert one.flip().case_frequency == pytest.approx(1 - one.case_frequency, abs=1e-9)
    assert one.orient().case_frequency >= one.orient().control_frequency - 1e-12


def test_extreme_frequencies_are_clipped():
    assert case_frequency(np.inf, 0.3) == 1 - 1e-6
    assert case_frequency(2, [0.0, 1.0]) == pytest.approx([2e-6, 1 - 1e-6], rel=1e-5)
    assert case_frequency(5, 0.0, clip=0.01) == pytest.approx(0.05 / 1.04)
    with pytest.raises(ValueError, match="positive"):
        case_frequency(0, 0.5)


@pytest.mark.parametrize(
    ("changes", "said"),
    [({"control_frequency": 1.2}, "from 0 to 1; got 1.2"), ({"odds_ratio": 0}, "positive; got 0"),
     ({"control_frequency": float("nan")}, "from 0 to 1")],
)  # fmt: skip
def test_an_association_that_cannot_be_is_refused(changes, said):
    with pytest.raises(ValueError, match=said):
        association(**changes)


def test_an_association_is_expressed_for_the_other_allele():
    other = association().express("G")
    assert (other.allele, other.alternate) == ("G", "C")
    assert other.case_frequency == pytest.approx(1 - association().case_frequency)
    assert association().express("C") == association()
    with pytest.raises(ValueError, match="alleles C and T; got G"):
        association(alternate="T").express("G")


@pytest.mark.parametrize("header", [OLD, NEW])
def test_records_are_read_with_the_names_of_then_and_now(tmp_path, header):
    path = write(
        tmp_path / "c.tsv",
        ("Asthma", "rs1-C ", "0.25", "3E-7", "   1.50", "[1.2-1.9] "),
        ("Asthma", "rs2-g", "38.1 %", "1E-400", ".5", "[0.4-0.6]"),
        ("Asthma", "rs3-A", "0.26 (EA+AA)", "NS", "1.2", "[NR]"),
        header=header,
    )
    found = read_catalogue(path)
    assert found.records == 3 and found.flipped == 1 and not found.skipped
    first, second, third = found.associations
    assert (first.site, first.allele, first.odds_ratio) == ("rs1", "C", 1.5)
    assert first.minus_log10_p == pytest.approx(6.523, abs=1e-3)
    assert (second.allele, second.alternate, second.odds_ratio) == ("not G", "G", 2.0)
    assert second.control_frequency == pytest.approx(1 - 0.381)
    assert second.minus_log10_p == pytest.approx(400)
    assert third.control_frequency == 0.26 and third.minus_log10_p is None


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({1: "rs1-?"}, "state no risk allele"),
        ({1: "2-SNP haplotype-1"}, "name no single site"),
        ({1: "rs1-C + rs2-T"}, "name no single site"),
        ({4: "NR"}, "state no odds ratio"),
        ({4: "Pending"}, "state no odds ratio"),
        ({4: "    .00"}, "state no odds ratio"),
        ({2: "NR"}, "state no allele frequency"),
        ({2: "(GC)"}, "state no allele frequency"),
        ({2: "38.1"}, "state an allele frequency above 1"),
        ({5: "[0.1-0.3] mg/dl increase"}, "state an effect in units, not an odds ratio"),
        ({5: "[NR] % variance"}, "state an effect in units, not an odds ratio"),
    ],
)
def test_records_without_a_usable_odds_ratio_are_left_out_and_counted(tmp_path, changes, why):
    record = ["Asthma", "rs1-C", "0.25", "3E-7", "1.5", "[1.2-1.9]"]
    for place, text in changes.items():
        record[place] = text
    found = read_catalogue(write(tmp_path / "c.tsv", record))
    assert found.associations == () and dict(found.skipped) == {why: 1}
    assert why in found.words()


def test_percent_is_an_explicit_choice_and_remarks_are_no_units(tmp_path):
    record = ("Asthma", "rs1-C", "38.1", "3E-7", "1.5", "[1.2-1.9] (European-Americans)")
    path = write(tmp_path / "c.tsv", record)
    (one,) = read_catalogue(path, frequencies="percent").associations
    assert one.control_frequency == pytest.approx(0.381)


def test_every_number_may_be_read_as_an_odds_ratio_as_published(tmp_path):
    record = ("HDL", "rs1-C", "0.3", "3E-7", "0.1", "[0.1-0.3] mg/dl increase")
    (one,) = read_catalogue(write(tmp_path / "c.tsv", record), effects="all").associations
    assert one.odds_ratio == 10 and one.allele == "not C"


DUPLICATES = (
    ("Asthma", "rs1-C", "0.2", "3E-7", "2", "[1-4]"),
    ("Asthma", "rs1-C", "0.4", "3E-9", "8", "[4-16]"),
)


def test_duplicates_keep_the_lowest_p_or_are_pooled_or_refused(tmp_path):
    path = write(tmp_path / "c.tsv", *DUPLICATES)
    lowest, pooled = read_catalogue(path), read_catalogue(path, duplicates="pool")
    assert lowest.associations[0].odds_ratio == 8
    assert dict(lowest.skipped) == {"repeat a trait and site": 1}
    assert pooled.associations[0].odds_ratio == pytest.approx(4)
    assert pooled.associations[0].control_frequency == pytest.approx(0.3)
    with pytest.raises(DataError, match="several records"):
        read_catalogue(path, duplicates="refuse")


def test_pooling_weights_by_the_stated_intervals_and_turns_the_other_allele(tmp_path):
    # The standard error of the second is half that of the first, so its weight is four times.
    path = write(tmp_path / "c.tsv", DUPLICATES[0],
                 ("Asthma", "rs1-G", "0.5", "3E-9", "0.125", "[0.0884-0.1768]"))  # fmt: skip
    (one,) = read_catalogue(path, duplicates="pool").associations
    assert one.odds_ratio == pytest.approx(2 ** (1 / 5) * 8 ** (4 / 5), rel=1e-3)
    assert one.allele == "C" and one.control_frequency == pytest.approx(0.2 / 5 + 0.5 * 4 / 5)


def test_strands_are_turned_flagged_and_a_third_allele_is_left_out(tmp_path):
    path = write(
        tmp_path / "c.tsv",
        ("a", "rs1-A", "0.2", "3E-7", "2", ""),
        ("b", "rs1-G", "0.2", "3E-7", "2", ""),
        ("c", "rs1-T", "0.2", "3E-7", "2", ""),  # A on the other strand.
        ("a", "rs2-C", "0.2", "3E-7", "2", ""),
        ("b", "rs2-G", "0.2", "3E-7", "2", ""),  # The other allele, or the other strand.
        ("c", "rs2-A", "0.2", "3E-7", "2", ""),
    )
    found = read_catalogue(path)
    assert [one.allele for one in found.associations] == ["A", "G", "A", "C", "G"]
    assert found.ambiguous == ("rs2",)
    assert dict(found.skipped) == {"name a third allele of the site": 1}
    declared = read_catalogue(path, alleles={"rs1": ("A", "G"), "rs2": ("C", "T")})
    # G of rs2 is C on the other strand, and A is T.
    assert [one.allele for one in declared.associations] == ["A", "G", "A", "C", "C", "T"]
    assert declared.ambiguous == ()


def test_old_files_with_other_dashes_are_read(tmp_path):
    path = write(tmp_path / "c.tsv", DUPLICATES[0])
    path.write_bytes(path.read_bytes().replace(b"[1-4]", b"[1.07\x961.14]"))
    assert read_catalogue(path).associations[0].standard_error == pytest.approx(0.0162, abs=1e-4)


def test_a_file_that_is_no_catalogue_is_refused(tmp_path):
    (tmp_path / "a.tsv").write_text("x\ty\n1\t2\n")
    with pytest.raises(DataError, match="no column 'disease/trait'"):
        read_catalogue(tmp_path / "a.tsv")
    path = write(tmp_path / "c.tsv", ("Asthma", "rs1-C"))
    with pytest.raises(DataError, match="row 1: the record has 2 fields, the header 6"):
        read_catalogue(path)
    (tmp_path / "b.tsv").write_text("")
    with pytest.raises(DataError, match="no column"):
        read_catalogue(tmp_path / "b.tsv")
    for name in ("duplicates", "effects", "frequencies"):
        with pytest.raises(ValueError, match=f"{name} must be one of"):
            read_catalogue(path, **{name: "x"})


def test_a_trait_that_is_not_there_gets_a_suggestion(tmp_path):
    found = read_catalogue(write(tmp_path / "c.tsv", DUPLICATES[0]))
    assert found.of_traits(["Asthma"]) == found.associations and found.sites == ("rs1",)
    with pytest.raises(ValueError, match="did you mean 'Asthma'"):
        found.of_traits(["Astma"])


@pytest.mark.skipif(not FILE.is_file(), reason="SFUMATO_DATA names no folder with the catalogue")
def test_the_catalogue_of_april_2012():
    found = read_catalogue(FILE)
    assert found.records == 7795
    assert len(found.associations) + sum(found.skipped.values()) == 7795
    # Nearly all numbers below 1 are regression coefficients, not odds ratios.
    assert found.flipped <= 5 and read_catalogue(FILE, effects="all").flipped > 1500
    assert all(one.odds_ratio >= 1 for one in found.associations)


def test_codings_of_the_worked_example():
    for coding, share in (("allele", 0.41), ("carrier", 1 - 0.59**2), ("homozygous", 0.41**2)):
        assert state_probabilities(0.41, coding) == pytest.approx([1 - share, share])
    dosage = state_probabilities([0.41, 0.1], "dosage")
    assert dosage[0] == pytest.approx([0.59**2, 2 * 0.41 * 0.59, 0.41**2])
    assert dosage.sum(axis=-1) == pytest.approx(1)
    counts = np.array([0, 1, 2, -1], dtype=np.int8)
    assert encode_counts(counts, "allele").tolist() == [0, 1, 1, -1]
    assert encode_counts(counts, "homozygous").tolist() == [0, 0, 1, -1]
    assert encode_counts(counts, "dosage").tolist() == [0, 1, 2, -1]
    with pytest.raises(ValueError, match="coding must be one of"):
        state_probabilities(0.5, "haplotype")


def test_names_of_sites():
    assert split_name("rs12-C") == ("rs12", "C") and split_name(" rs12 ") == ("rs12", None)
    assert is_ambiguous(("A", "T")) and not is_ambiguous(("A", "not A"))
