"""Private genotypes: what is read, what is public, and what is refused."""

import gzip

import numpy as np
import pandas as pd
import polars as pl
import pytest
from bed_reader import to_bed
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.data.genotypes_public import GenotypesPublic
from sfumato.data.public import Public
from sfumato.data.sites import Sites, read_sites
from sfumato.engines import genotype_kernels, packed_genotypes
from sfumato.engines.packed_genotypes import pack_calls
from sfumato.privacy.guarantee import Relation

CALLS = np.array([[0, 1, 2], [2, -1, 0], [1, 1, 1], [2, 2, 0], [0, 0, -1]])
GROUPS = ["case", "control", "case", "case", "control"]
SITES = Sites.of(["rs1", "rs2", "rs3"], [1, 1, 2], [10, 20, 5], "ACG", "TGA")


def counts(calls, groups):
    """Return the counts of all calls, of shape (sites, groups, 4)."""
    calls, groups = np.asarray(calls), np.asarray(groups)
    return np.array(
        [
            [
                [((column == call) & (groups == group)).sum() for call in (0, 1, 2, -1)]
                for group in ("case", "control")
            ]
            for column in calls.T
        ]
    )


def test_calls_are_counted_by_group():
    study = sf.Genotypes(CALLS, GROUPS)
    np.testing.assert_array_equal(study.counts.calls(), counts(CALLS, GROUPS))
    np.testing.assert_array_equal(study.counts.group_sizes(), [3, 2])


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 140), st.integers(1, 9))
def test_counts_are_those_of_plain_loops(seed, people, sites):
    random = np.random.default_rng(seed)
    calls = random.integers(-1, 3, (people, sites))
    groups = random.choice(["case", "control"], people)
    engine = sf.Genotypes(calls, groups).counts
    np.testing.assert_array_equal(engine.calls(), counts(calls, groups))
    some = random.integers(0, sites, 3)
    np.testing.assert_array_equal(engine.calls(some), counts(calls[:, some], groups))
    pairs = random.integers(0, sites, (4, 2))
    for (one, two), table in zip(pairs, engine.pairs(pairs), strict=True):
        for first, a in enumerate((0, 1, 2, -1)):
            for second, b in enumerate((0, 1, 2, -1)):
                assert table[first, second] == ((calls[:, one] == a) & (calls[:, two] == b)).sum()


def test_compiled_and_interpreted_loops_agree():
    random = np.random.default_rng(1)
    words = random.integers(0, 2**63, (7, 5), dtype=np.uint64)
    masks = random.integers(0, 2**63, (2, 5), dtype=np.uint64) & genotype_kernels.LOWER
    pairs = random.integers(0, 7, (6, 2))
    values = random.integers(-9, 9, 160)
    for kernel, arguments, shape in (
        (genotype_kernels.count_calls, (words, masks), (7, 2, 4)),
        (genotype_kernels.count_pairs, (words, pairs, masks[0]), (6, 4, 4)),
        (genotype_kernels.sum_products, (words, values), (7, 4)),
    ):
        found = [np.zeros(shape, dtype=np.int64) for _ in range(2)]
        kernel.compiled(*arguments, found[0])
        kernel.interpreted(*arguments, found[1])
        np.testing.assert_array_equal(*found)
        assert found[0].any()


def test_small_blocks_give_the_same_counts(monkeypatch):
    study = sf.Genotypes(CALLS, GROUPS)
    whole = study.counts.calls()
    monkeypatch.setattr(packed_genotypes, "BLOCK", 8)
    np.testing.assert_array_equal(study.counts.calls(), whole)


@pytest.mark.parametrize("kind", [np.int8, np.int64, np.float32, object])
def test_a_call_is_read_the_same_in_every_type(kind):
    study = sf.Genotypes(CALLS.astype(kind), GROUPS)
    np.testing.assert_array_equal(study.counts.calls(), counts(CALLS, GROUPS))


@pytest.mark.parametrize("kind", [np.uint8, np.int64, np.float64, object])
def test_masked_calls_are_missing(kind):
    hidden = np.where(CALLS < 0, 1, CALLS).astype(kind)
    study = sf.Genotypes(np.ma.array(hidden, mask=CALLS < 0), GROUPS)
    np.testing.assert_array_equal(study.counts.calls(), counts(CALLS, GROUPS))


def test_rows_with_masks_are_refused():
    rows = [np.ma.array(row, mask=row < 0) for row in CALLS]
    with pytest.raises(sf.DataError, match=r"masked.*np\.ma\.stack"):
        sf.Genotypes(rows, GROUPS)


@pytest.mark.parametrize("kind", [np.uint8, np.uint64, np.int16])
def test_a_large_number_is_no_missing_call(kind):
    calls = np.where(CALLS < 0, 0, CALLS).astype(kind)
    calls[1, 2] = np.iinfo(kind).max
    with pytest.raises(sf.DataError, match="column 'site3', row 2: a call must be"):
        sf.Genotypes(calls, GROUPS)


def test_missing_calls_in_frames_do_not_change_how_others_are_read():
    columns = {f"s{n}": [None if c < 0 else int(c) for c in CALLS[:, n]] for n in range(3)}
    for frame in (pl.DataFrame(columns), pd.DataFrame(columns)):
        study = sf.Genotypes(frame, GROUPS)
        assert study.public.sites.names == "s0 s1 s2"
        np.testing.assert_array_equal(study.counts.calls(), counts(CALLS, GROUPS))


@pytest.mark.parametrize(
    "groups",
    [
        [1, 0, 1, 1, 0],
        [True, False, True, True, False],
        ["1", "0", "1", "1", "0"],
        [1.0, 0.0, 1.0, 1.0, 0.0],
        [" Case", "CONTROL", "case", "case", "control"],
        pd.Series([1, 0, 1, 1, 0]),
    ],
)
def test_phenotypes_are_read_alike(groups):
    study = sf.Genotypes(CALLS, groups)
    np.testing.assert_array_equal(study.counts.group_sizes(), [3, 2])


def test_numbers_are_read_in_steps_between_their_bounds():
    study = sf.Genotypes(CALLS, [0, 10, 5, 7.5, 2.5], bounds=(0, 10))
    assert study.counts.numbers.tolist() == [-1000, 1000, 0, 500, -500]
    np.testing.assert_array_equal(study.counts.sums()[0], [-1000 + -500, 0, 1000 + 500, 0])
    with pytest.raises(sf.DataError, match="row 2: a phenotype must be a number from 0 to 9"):
        sf.Genotypes(CALLS, [0, 10, 5, 7.5, 2.5], bounds=(0, 9))


def test_no_error_shows_a_value():
    for bad in (CALLS + 100, CALLS.astype(str)):
        with pytest.raises(sf.DataError) as caught:
            sf.Genotypes(bad, GROUPS)
        assert "a call must be 0, 1, 2 or missing" in str(caught.value)
        assert "10" not in str(caught.value)
    with pytest.raises(sf.DataError) as caught:
        sf.Genotypes(CALLS, ["case", "secret", "case", "case", "case"])
    assert "secret" not in str(caught.value) and "row 2" in str(caught.value)


def test_a_missing_phenotype_is_refused_or_dropped():
    groups = ["case", None, "case", "case", "control"]
    with pytest.raises(sf.DataError, match="row 2: a participant has no phenotype"):
        sf.Genotypes(CALLS, groups)
    study = sf.Genotypes(CALLS, groups, unknown_phenotype="drop")
    np.testing.assert_array_equal(study.counts.group_sizes(), [3, 1])
    with pytest.raises(ValueError, match="public, and dropping"):
        sf.Genotypes(CALLS, groups, unknown_phenotype="drop", relation="replace_one")


def test_a_participant_who_is_there_twice_is_refused():
    with pytest.raises(sf.DataError, match="row 4: a participant is there twice"):
        sf.Genotypes(CALLS, GROUPS, person=["a", "b", "c", "a", "e"])


def test_missing_calls_can_be_refused():
    with pytest.raises(sf.DataError, match="column 'site2', row 2: a call must be 0, 1 or 2"):
        sf.Genotypes(CALLS, GROUPS, missing="refuse")


def test_sizes_are_public_only_where_declared():
    assert sf.Genotypes(CALLS, GROUPS).public.rows is None
    replaced = sf.Genotypes(CALLS, GROUPS, relation="replace_one").public
    assert (replaced.rows, replaced.cases) == (5, None)
    public = sf.Genotypes(CALLS, GROUPS, relation="replace_one", groups="public").public
    assert public.sizes == (3, 2)
    with pytest.raises(ValueError, match="need relation"):
        sf.Genotypes(CALLS, GROUPS, groups="public")


def test_a_site_at_which_nobody_differs_stays():
    study = sf.Genotypes(np.zeros((4, 2)), ["case", "control"] * 2)
    assert len(study.public.sites) == 2


def test_the_public_part_goes_through_plain_files():
    schema = {"age": (0, 120, 3), "ancestry": ["a", "b"]}
    frame = pl.DataFrame({"age": [1, 50, 119, 3, 4], "ancestry": list("abaab")})
    study = sf.Genotypes(CALLS, GROUPS, covariates=frame, covariate_schema=schema, sites=SITES)
    assert Public.from_json(study.public.to_json()) == study.public
    assert study.public.strata(["ancestry"]) == [("a",), ("b",)]
    covariates = [study.public.covariates.index("ancestry")]
    np.testing.assert_array_equal(study.counts.group_sizes(covariates), [3, 0, 0, 2])


def test_nothing_private_is_shown():
    study = sf.Genotypes(CALLS, GROUPS, rows_about=10)
    for text in (repr(study), study._repr_html_(), repr(study.counts)):
        assert "5" not in text.replace("rs", "")
    with pytest.raises(TypeError, match="pickled"):
        study.__reduce__()


def test_the_digest_depends_on_calls_groups_and_declarations():
    key = b"0" * 16
    plain = sf.Genotypes(CALLS, GROUPS).digest(key)
    assert sf.Genotypes(CALLS, GROUPS, rows_about=7).digest(key) == plain
    others = [
        sf.Genotypes(CALLS, GROUPS, missing="reference"),
        sf.Genotypes(CALLS, GROUPS[::-1]),
        sf.Genotypes(np.where(CALLS == 2, 1, CALLS), GROUPS),
    ]
    assert len({plain, *(other.digest(key) for other in others)}) == 4


# Sites


def test_sites_are_distinct_and_well_formed():
    with pytest.raises(ValueError, match="site 2 has the name of an earlier one"):
        Sites.of(["rs1", "rs1"])
    with pytest.raises(ValueError, match="position of site 1"):
        Sites.of(["rs1"], [1], [-4])
    with pytest.raises(ValueError, match="effect allele of site 1"):
        Sites.of(["rs1"], [1], [4], ["A/C"], ["G"])
    with pytest.raises(ValueError, match="without blanks"):
        Sites.of(["rs 1"])
    with pytest.raises(ValueError, match="at least one site"):
        Sites.of([])
    assert SITES.take(np.array([2, 0])).names == "rs3 rs1"


# Files


def write_plink(folder, calls=CALLS, **properties):
    """Write PLINK files; bed-reader counts the first allele."""
    known = {
        "fid": ["0"] * len(calls),
        "iid": [f"p{n}" for n in range(len(calls))],
        "pheno": [2, 1, 2, 2, 1][: len(calls)],
        "chromosome": ["1", "1", "2"],
        "sid": ["rs1", "rs2", "rs3"],
        "bp_position": [10, 20, 5],
        "allele_1": ["A", "C", "G"],
        "allele_2": ["T", "G", "A"],
    }
    values = np.where(calls < 0, -127, calls).astype(np.int8)
    to_bed(folder / "study.bed", values, properties={**known, **properties})
    return folder / "study"


def test_plink_files_are_read(tmp_path):
    study = sf.read_plink(write_plink(tmp_path))
    np.testing.assert_array_equal(study.counts.calls(), counts(CALLS, GROUPS))
    assert study.public.sites == SITES
    plain = sf.Genotypes(CALLS, GROUPS, sites=SITES)
    assert study.digest(b"0" * 16) == plain.digest(b"0" * 16)


def test_a_public_list_decides_sites_and_alleles(tmp_path):
    listed = Sites.of(["rs3", "rs1"], [2, 1], [5, 10], "GT", "AA")
    study = sf.read_plink(write_plink(tmp_path), sites=listed)
    found = study.counts.calls()
    expected = counts(CALLS, GROUPS)
    np.testing.assert_array_equal(found[0], expected[2])
    np.testing.assert_array_equal(found[1], expected[0][:, [2, 1, 0, 3]])
    other = Sites.of(["rs1"], [1], [10], ["C"], ["G"])
    with pytest.raises(sf.DataError, match="not those of the public list"):
        sf.read_plink(tmp_path / "study", sites=other)


def test_a_listed_site_that_a_bim_file_lacks_is_refused(tmp_path):
    listed = Sites.of(["rs3", "new", "rs1"], [2, 3, 1], [5, 9, 10], "GAT", "ACA")
    with pytest.raises(sf.DataError, match=r"'new': study\.bim does not hold the site.*take the"):
        sf.read_plink(write_plink(tmp_path), sites=listed)


def test_a_public_list_for_files_has_both_alleles(tmp_path):
    prefix = write_plink(tmp_path)
    vcf = write_vcf(tmp_path / "study.vcf", LINES)
    for effects, others in ("AC?", "TGA"), ("ACG", "TG?"):
        listed = Sites.of(["rs1", "rs2", "rs3"], [1, 1, 2], [10, 20, 5], effects, others)
        with pytest.raises(sf.DataError, match="'rs3': the public list of sites lacks an allele"):
            sf.read_plink(prefix, sites=listed)
        with pytest.raises(sf.DataError, match="'rs3': the public list of sites lacks an allele"):
            sf.read_vcf(vcf, GROUPS, sites=listed)
    np.testing.assert_array_equal(
        sf.Genotypes(CALLS, GROUPS, sites=["a", "b", "c"]).counts.calls(), counts(CALLS, GROUPS)
    )


@pytest.mark.parametrize("nobody", ["0", "."])
def test_an_allele_that_nobody_carries_needs_no_letter_in_a_bim_file(tmp_path, nobody):
    calls = np.column_stack([np.zeros(5, int), np.zeros(5, int), CALLS[:, 2]])
    prefix = write_plink(tmp_path, calls, allele_1=[nobody, nobody, "G"], allele_2=["T", "C", "A"])
    found = sf.read_plink(prefix, sites=SITES).counts.calls()
    # Nobody has an A at rs1, and everybody has two C at rs2.
    np.testing.assert_array_equal(found[0], [[3, 0, 0, 0], [2, 0, 0, 0]])
    np.testing.assert_array_equal(found[1], [[0, 0, 3, 0], [0, 0, 2, 0]])
    other = Sites.of(["rs1"], [1], [10], ["C"], ["G"])
    with pytest.raises(sf.DataError, match="not those of the public list"):
        sf.read_plink(prefix, sites=other)


def write_fam(prefix, phenotypes):
    lines = [f"0 p{n} 0 0 0 {text}\n" for n, text in enumerate(phenotypes)]
    prefix.with_suffix(".fam").write_text("".join(lines))


def test_phenotypes_of_fam_files_are_compared_as_numbers(tmp_path):
    prefix = write_plink(tmp_path)
    write_fam(prefix, ["2.0", "1.0", "2", "02", "1"])
    np.testing.assert_array_equal(sf.read_plink(prefix).counts.group_sizes(), [3, 2])
    write_fam(prefix, ["2", "1.0", "-9.0", "0.0", "NA"])
    study = sf.read_plink(prefix, unknown_phenotype="drop")
    np.testing.assert_array_equal(study.counts.group_sizes(), [1, 1])
    write_fam(prefix, ["0.5", "-9.0", "-9", "1", "0"])
    study = sf.read_plink(prefix, bounds=(-10, 10), unknown_phenotype="drop")
    np.testing.assert_array_equal(study.counts.group_sizes(), [3])
    for text in ("37", "case", "true", "1.5", "inf"):
        write_fam(prefix, ["2", "1", text, "2", "1"])
        with pytest.raises(sf.DataError, match="column 'phenotype', row 3: the sixth") as caught:
            sf.read_plink(prefix, unknown_phenotype="drop")
        assert "37" not in str(caught.value)
        # A phenotype from elsewhere makes the column unused.
        sf.read_plink(prefix, phenotype=GROUPS)


def test_plink_files_that_do_not_fit_are_refused(tmp_path):
    prefix = write_plink(tmp_path)
    bim = prefix.with_suffix(".bim")
    text = bim.read_text()
    bim.write_text(text.replace("rs2", "rs1"))
    with pytest.raises(sf.DataError, match="name of an earlier one"):
        sf.read_plink(prefix)
    bim.write_text(text + "2 rs4 0 9 A C\n")
    with pytest.raises(sf.DataError, match="does not hold 4 sites"):
        sf.read_plink(prefix)
    bim.write_text(text.replace("rs2", ""))
    with pytest.raises(sf.DataError, match="line 2: a site has 6 fields"):
        sf.read_plink(prefix)
    bim.unlink()
    with pytest.raises(sf.DataError, match=r"no file study\.bim"):
        sf.read_plink(prefix)


def test_people_of_plink_files_are_distinct_and_have_a_phenotype(tmp_path):
    with pytest.raises(sf.DataError, match="row 2: a participant is there twice"):
        sf.read_plink(write_plink(tmp_path, iid=["p0", "p0", "p2", "p3", "p4"]))
    prefix = write_plink(tmp_path, pheno=[2, -9, 2, 2, 1])
    with pytest.raises(sf.DataError, match="row 2: a participant has no phenotype"):
        sf.read_plink(prefix)
    study = sf.read_plink(prefix, unknown_phenotype="drop")
    np.testing.assert_array_equal(study.counts.group_sizes(), [3, 1])
    with pytest.raises(sf.DataError, match="a call is missing"):
        sf.read_plink(prefix, unknown_phenotype="drop", missing="refuse")


def test_a_file_that_changes_is_refused(tmp_path):
    study = sf.read_plink(write_plink(tmp_path))
    study.counts.calls()
    with open(tmp_path / "study.bed", "ab") as file:
        file.write(b"x")
    with pytest.raises(sf.DataError, match="was changed"):
        study.counts.calls()


def test_covariates_are_matched_by_participant(tmp_path):
    frame = pl.DataFrame({"iid": ["p4", "p3", "p2", "p1", "p0"], "sex": list("fmfmf")})
    study = sf.read_plink(
        write_plink(tmp_path), covariates=frame, covariate_schema={"sex": ["f", "m"]}
    )
    np.testing.assert_array_equal(study.counts.group_sizes([0]), [2, 1, 1, 1])
    with pytest.raises(sf.DataError, match="row 1: a participant has no row"):
        sf.read_plink(
            tmp_path / "study", covariates=frame[:4], covariate_schema={"sex": ["f", "m"]}
        )


HEAD = """##fileformat=VCFv4.2
##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">
##FORMAT=<ID=DP,Number=1,Type=Integer,Description="Depth">
##contig=<ID=1>
##contig=<ID=2>
#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\t"""


def write_vcf(path, lines):
    text = HEAD + "\t".join(f"p{n}" for n in range(5)) + "\n" + "\n".join(lines) + "\n"
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def vcf_line(where, alleles, calls):
    words = {0: "0/0", 1: "0|1", 2: "1/1", -1: "./."}
    return "\t".join([*where, *alleles, ".", ".", ".", "GT", *(words[int(c)] for c in calls)])


LINES = [
    vcf_line(("1", "10", "rs1"), ("T", "A"), CALLS[:, 0]),
    # The reference allele is the effect allele here.
    vcf_line(("1", "20", "."), ("C", "G"), [1, -1, 1, 0, 2]),
    vcf_line(("2", "5", "other-name"), ("A", "G"), CALLS[:, 2]),
    vcf_line(("2", "7", "unlisted"), ("C", "G,T"), [0, 0, 0, 0, 0]),
]


def test_vcf_files_are_read(tmp_path):
    phenotype = dict(zip([f"p{n}" for n in range(5)], GROUPS, strict=True))
    for name in ("study.vcf", "study.vcf.gz"):
        study = sf.read_vcf(write_vcf(tmp_path / name, LINES), phenotype, sites=SITES)
        np.testing.assert_array_equal(study.counts.calls(), counts(CALLS, GROUPS))


def test_a_listed_site_that_a_vcf_file_lacks_is_refused(tmp_path):
    with pytest.raises(sf.DataError, match=r"'rs2': a\.vcf does not hold the site.*, nor 1 other"):
        sf.read_vcf(write_vcf(tmp_path / "a.vcf", LINES[:1]), GROUPS, sites=SITES)


def test_a_vcf_line_at_a_listed_place_with_other_alleles_is_not_the_site(tmp_path):
    other = vcf_line(("2", "5", "."), ("A", "T"), [2, 2, 2, 2, 2])
    several = vcf_line(("2", "5", "."), ("C", "T,A"), [0, 0, 0, 0, 0])
    path = write_vcf(tmp_path / "a.vcf", [*LINES[:2], other, several, LINES[2]])
    study = sf.read_vcf(path, GROUPS, sites=SITES)
    np.testing.assert_array_equal(study.counts.calls(), counts(CALLS, GROUPS))
    with pytest.raises(sf.DataError, match=r"'rs3': .* does not hold the site"):
        sf.read_vcf(write_vcf(tmp_path / "b.vcf", [*LINES[:2], other]), GROUPS, sites=SITES)
    three = vcf_line(("2", "5", "."), ("A", "G,T"), [0, 0, 0, 0, 0])
    with pytest.raises(sf.DataError, match="'rs3': the site has more than two alleles"):
        sf.read_vcf(write_vcf(tmp_path / "c.vcf", [*LINES[:2], three]), GROUPS, sites=SITES)


def test_a_vcf_line_without_an_alternative_is_every_listed_site_there(tmp_path):
    sites = Sites.of(["a", "b", "c"], [1, 1, 1], [10, 10, 10], "ACT", "TTC")
    line = vcf_line(("1", "10", "."), ("T", "."), [0, 0, -1, 0, 0])
    found = sf.read_vcf(write_vcf(tmp_path / "a.vcf", [line]), GROUPS, sites=sites).counts.calls()
    np.testing.assert_array_equal(found[0], [[2, 0, 0, 1], [2, 0, 0, 0]])
    np.testing.assert_array_equal(found[1], found[0])
    np.testing.assert_array_equal(found[2], [[0, 0, 2, 1], [0, 0, 2, 0]])


def vcf_words(words, form="GT"):
    return "\t".join(["1", "10", "rs1", "T", "A", ".", ".", ".", form, *words])


def test_genotypes_of_one_or_two_alleles_are_read_each_by_itself(tmp_path):
    sites = SITES.take(np.array([0]))
    for words in (["0", "1", ".", "./1", "0|1"], ["0/0", "1/1", "./.", ".", "1/0"]):
        path = write_vcf(tmp_path / "a.vcf", [vcf_words(words)])
        found = sf.read_vcf(path, ["case"] * 5, sites=sites).counts.calls()[0]
        np.testing.assert_array_equal(found, [[1, 1, 1, 2], [0, 0, 0, 0]])


@pytest.mark.parametrize("word", ["0/2", "2", "0/0/1", "0/0/."])
def test_other_genotypes_of_vcf_files_are_refused(tmp_path, word):
    path = write_vcf(tmp_path / "a.vcf", [LINES[1], vcf_words(["0/0", word, "0", ".", "0/1"])])
    with pytest.raises(sf.DataError, match=r"'rs1': data line 2 of .* one or two") as caught:
        sf.read_vcf(path, GROUPS, sites=SITES)
    assert word not in str(caught.value).replace("line 2", "")


def test_a_vcf_line_without_genotypes_is_refused(tmp_path):
    path = write_vcf(tmp_path / "a.vcf", [vcf_words("01234", "DP")])
    with pytest.raises(sf.DataError, match=r"'rs1': data line 1 of .* has no genotypes \(GT\)"):
        sf.read_vcf(path, GROUPS, sites=SITES)


def test_vcf_files_that_do_not_fit_are_refused(tmp_path):
    three = vcf_line(("2", "5", "rs3"), ("A", "G,T"), CALLS[:, 2])
    with pytest.raises(sf.DataError, match="column 'rs3': the site has more than two alleles"):
        sf.read_vcf(write_vcf(tmp_path / "a.vcf", [three]), GROUPS, sites=SITES)
    with pytest.raises(sf.DataError, match="column 'rs1': the site is there twice"):
        sf.read_vcf(write_vcf(tmp_path / "b.vcf", [LINES[0]] * 2), GROUPS, sites=SITES)
    strange = vcf_line(("1", "10", "rs1"), ("T", "C"), CALLS[:, 0])
    with pytest.raises(sf.DataError, match="not those of the public list"):
        sf.read_vcf(write_vcf(tmp_path / "c.vcf", [strange]), GROUPS, sites=SITES)
    with pytest.raises(sf.DataError, match="row 3: a participant has no phenotype"):
        sf.read_vcf(
            write_vcf(tmp_path / "d.vcf", LINES),
            {"p0": "case", "p1": "case", "p3": "case", "p4": "case"},
            sites=SITES,
        )
    with pytest.raises(TypeError, match="sites"):
        sf.read_vcf(tmp_path / "d.vcf", GROUPS)
    (tmp_path / "no.vcf").write_text("hello\n")
    with pytest.raises(sf.DataError, match="not a VCF file"):
        sf.read_vcf(tmp_path / "no.vcf", GROUPS, sites=SITES)


def test_lists_of_sites_are_read(tmp_path):
    write_plink(tmp_path)
    assert read_sites(tmp_path / "study.bim") == SITES


def test_packed_calls_are_those_of_plink(tmp_path):
    write_plink(tmp_path)
    content = (tmp_path / "study.bed").read_bytes()
    assert content[3:] == pack_calls(np.ascontiguousarray(CALLS.T.astype(np.int8))).tobytes()


def test_examples_and_rehearsals_need_no_data():
    public = GenotypesPublic.example(Relation.REPLACE_ONE, None)
    assert public.sizes == (4, 4)
    release = sf.rehearse(sf.AlleleFrequencies(epsilon=1), public, rows=30)
    assert not release.guarantee.private


def test_one_ledger_takes_releases_of_different_sites(tmp_path):
    study = sf.Genotypes([[0, 1], [2, 1], [1, 0]], [1, 0, 1])
    ledger = sf.Ledger.create(tmp_path / "study.ledger", allow=sf.PureDP(3), unit="participant")
    for site in ("site1", "site2"):
        sf.AlleleFrequencies(epsilon=1, sites=[site]).release(study, ledger=ledger)
    assert ledger.spent == sf.PureDP(2)
    other = sf.Genotypes([[0, 1], [2, 1], [1, 1]], [1, 0, 1])
    with pytest.raises(ValueError, match="not the data"):
        sf.AlleleFrequencies(epsilon=1, sites=["site1"]).release(other, ledger=ledger)
