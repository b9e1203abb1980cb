"""A forger who recomputes every hash finds no room in a saved release, place by place."""

import json
import os
import shutil
from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from sfumato.data.graph import Graph
from sfumato.data.graph_public import GraphPublic
from sfumato.data.points_public import PointsPublic
from sfumato.data.schema import Schema
from sfumato.data.sequences_public import SequencesPublic
from sfumato.engines.coding import Categories, Integers, Numbers
from sfumato.mechanisms.bingham import BinghamDirection
from sfumato.mechanisms.laplace import GeometricNoise
from sfumato.privacy import certificate
from sfumato.privacy.canonical import canonical
from sfumato.privacy.file_comparison import compare
from sfumato.privacy.parameters import Whole
from sfumato.privacy.saved import pretty, verify
from sfumato.published.degree_correlation import OccupiedBins
from sfumato.published.robust_regression import PublishedStatistics
from tests.privacy.smuggling import is_caught, read_folder, write_folder
from tests.tabular import tables

ADA = "Ada Lovelace, 36, HIV"


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Return two tables of a larger one, a session, a number, a spectrum."""
    home = tmp_path_factory.mktemp("saved")
    table = tables.table(tables.made(300))
    ring = Graph([(node, (node + 1) % 20) for node in range(20)], nodes=20)
    session = sf.Questions(epsilon=1).open(table)
    session.ask({"colour": "red"})
    made = {
        "tables": sf.Marginals(epsilon=1, tables=[("colour",), ("size",)]).release(table),
        "session": session.close(),
        "number": sf.SubgraphCount(epsilon="0.001").release(ring),
        "spectrum": sf.Spectrum(epsilon=3, k=2).release(ring),
    }
    return {name: release.save(home / name) for name, release in made.items()}


@pytest.fixture(autouse=True)
def _no_key(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("SFUMATO_KEY", raising=False)


@pytest.fixture
def copied(folders, tmp_path):
    """Return a copy of a saved number."""
    return shutil.copytree(folders["number"], tmp_path / "copy")


def elsewhere(document):
    document["versions"]["numpy"] = "9.9.9"


# --- the file system ------------------------------------------------------------------------------


def test_a_link_is_no_file_of_a_release(copied, tmp_path):
    """The text of a link has room for 4,095 bytes, and what it leads to may never end."""
    os.symlink(f"{ADA}/" * 20, copied / "report.html")
    assert "report.html is not a plain file" in str(verify(copied))
    (copied / "report.html").unlink()
    assert verify(copied).passed
    for name in ("README.txt", "certificate.json"):
        (copied / name).rename(tmp_path / name)
        os.symlink(tmp_path / name, copied / name)
        assert is_caught(copied)
        (copied / name).unlink()
        (tmp_path / name).rename(copied / name)
    assert verify(copied).passed


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no named pipes")
def test_a_pipe_does_not_make_the_check_wait(copied):
    os.mkfifo(copied / "report.html")
    assert "report.html is not a plain file" in str(verify(copied))


# --- what is stated without proof -----------------------------------------------------------------


@pytest.mark.parametrize(
    "versions",
    [
        {"numpy": "2026.adalovelace.hivpositive"},
        {"numpy": "2.0+adalovelace36"},
        {"machine": "adalovelace-hiv"},
    ],
)
def test_versions_are_numbers_and_machines_known_ones(folders, tmp_path, versions):
    files, document = read_folder(folders["number"])
    document["versions"] |= versions
    write_folder(tmp_path, files, document)
    assert "unknown entry" in str(verify(tmp_path))


def test_the_platform_is_always_named(folders, tmp_path):
    files, document = read_folder(folders["number"])
    document["versions"] = {}
    write_folder(tmp_path, files, document)
    assert "lacks python" in str(verify(tmp_path))


@pytest.mark.parametrize(
    ("own", "told"),
    [("3.11.2+", "3.11.2"), ("2.4.0.dev3+g12ab.d2026", "2.4.0.dev3"), ("1.26.4", "1.26.4")],
)
def test_what_a_distributor_adds_to_a_version_is_left_out(own, told):
    assert certificate.public_version(own) == told


def test_every_platform_has_a_name_that_verifies():
    for machine, system in (("x86_64", "linux"), ("AMD64", "win32"), ("mips", "sunos5")):
        assert certificate.MACHINE.fullmatch(certificate._machine(machine.lower(), system))
    assert certificate._machine("arm64", "freebsd14") == "arm64-freebsd"


def test_the_name_of_a_ledger_is_that_of_a_file(folders):
    _, document = read_folder(folders["number"])
    for name in (f"{ADA}/" * 4, "患" * 200):
        reference = {"identity": "0" * 32, "entry": 1, "reference": f"{name}#1", "head": "0" * 64}
        document["ledger"] = reference
        with pytest.raises(ValueError, match="ledger"):
            certificate.check_forms(document)


# --- the public part ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["tables", "session"])
def test_a_column_that_is_not_used_may_not_be_declared(folders, tmp_path, name):
    files, document = read_folder(folders[name])
    public = json.loads(files["public.json"])
    columns = public["schema"]["columns"]
    columns["note"] = {"kind": "category", "values": [ADA, "Charles Babbage, 79"]}
    public["schema"]["order"].append("note")
    files["public.json"] = pretty(public)
    write_folder(tmp_path, files, document)
    assert "public.json declares more than such a release uses" in str(verify(tmp_path))


def test_flags_and_numbers_of_a_public_part_are_such():
    flags = ("yes", {"x": ADA}, 1, 0, "")
    for other in flags:
        with pytest.raises(ValueError, match="True or False"):
            GraphPublic(nodes=3, named_by_edges=other)
        with pytest.raises(ValueError, match="True or False"):
            PointsPublic(bounds=((0, 1),), geographic=other, unit="point", relation="add_remove")
    for about in (0.5, True, 10**400, ADA):
        with pytest.raises(ValueError, match="rows_about"):
            GraphPublic(nodes=3, rows_about=about)
    for bound in (2.0, True):
        with pytest.raises(ValueError, match="max_sequences must be a whole number"):
            SequencesPublic(
                alphabet=("a",), unit="person", relation="add_remove", contribution=bound
            )
    with pytest.raises(ValueError, match="person"):
        Schema.from_dict({"a": ["x", "y"]}, unit="person", person={"x": ADA})
    with pytest.raises(ValueError, match="decimals"):
        Numbers.equal(0, 10, 2, decimals=1e-300)
    with pytest.raises(ValueError, match="whole number"):
        Integers(low=False, high=3)
    with pytest.raises(ValueError, match="values must be a list"):
        Categories(values="ab")


def test_a_whole_parameter_has_at_most_54_bits():
    assert Whole(1).parse(2**53) == 2**53
    with pytest.raises(ValueError, match="levels"):
        sf.PrivTree(epsilon=1, levels=10**400)


# --- the transcript -------------------------------------------------------------------------------


def _forms(signature):
    return {
        name: float(value) if type(value) is int else [float(item) for item in value]
        for name, value in signature.items()
        if type(value) is int or (isinstance(value, list) and value and type(value[0]) is int)
    }


@pytest.mark.parametrize("part", [0, 0.0, -0.0])
def test_a_slice_is_written_in_one_way(folders, tmp_path, part):
    """For Python False, 0, 0.0 and −0.0 are the same: two bits a slice."""
    files, document = read_folder(folders["tables"])
    transcript = json.loads(files["transcript.json"])
    assert transcript["slices"]
    for cut in transcript["slices"]:
        cut["part"] = part
    files["transcript.json"] = canonical(transcript)
    write_folder(tmp_path, files, document)
    assert "is not one of the method" in str(verify(tmp_path))


def test_a_signature_is_written_in_one_way(folders, tmp_path):
    files, document = read_folder(folders["tables"])
    transcript = json.loads(files["transcript.json"])
    changed = 0
    for entry in transcript["entries"]:
        forms = _forms(entry["signature"])
        changed += len(forms)
        entry["signature"] |= forms
    assert changed
    files["transcript.json"] = canonical(transcript)
    write_folder(tmp_path, files, document)
    assert "otherwise than the transcript" in str(verify(tmp_path))


def test_small_numbers_are_not_said_as_large_ones():
    primitive = GeometricNoise(shape=(2,), sensitivity=1, epsilon=1)
    primitive.check_output(np.array([1, 2]))
    for said in ([1, 2], [1, 2**70]):
        with pytest.raises(ValueError, match="64 bits"):
            primitive.check_output(np.array(said, dtype=object))
    # Noise this wide is drawn in numbers of any size, small ones among them.
    wide = GeometricNoise(shape=(2,), sensitivity=1, epsilon=Fraction(1, 10**15))
    wide.check_output(np.array([1, 2**70], dtype=object))


def test_the_least_integer_is_no_entry_of_a_direction():
    primitive = BinghamDirection(dimension=2, epsilon=1, sensitivity=1)
    primitive.check_output(np.array([2**20, 0]))
    with pytest.raises(ValueError, match="in size"):
        primitive.check_output(np.array([-(2**63), 0]))


def _bins(*named, degrees=1):
    return np.array(named, dtype=np.int64).reshape(-1, degrees)


@pytest.mark.parametrize(
    ("bins", "noisy"),
    [
        (_bins(1, 3), [5]),
        (_bins(1), [5, 6]),
        (_bins(1, 4), [5, 6]),
        (_bins(-1, 3), [5, 6]),
        (_bins(3, 1), [5, 6]),
        (_bins(1, 1), [5, 6]),
        (_bins((1, 3), degrees=2), [5]),
        (_bins((1, 2, 3), degrees=3), [5]),
        (_bins(1).astype(np.float64), [5]),
        (_bins(1), 5),
        ([[1]], [5]),
    ],
)
def test_occupied_bins_are_as_many_and_such_as_the_graph_can_have(bins, noisy):
    primitive = OccupiedBins(nodes=4, degrees=1, epsilon=1, delta=0)
    primitive.check_output((_bins(0, 3), np.array([5, -(2**70)], dtype=object)))
    primitive.check_output((_bins(), np.array([], dtype=object)))
    with pytest.raises((TypeError, ValueError)):
        primitive.check_output((bins, np.array(noisy, dtype=object)))
    with pytest.raises(ValueError, match="unpack"):
        primitive.check_output((_bins(0), np.array([5], dtype=object), ADA))


def test_a_bin_of_two_degrees_names_the_smaller_first():
    primitive = OccupiedBins(nodes=4, degrees=2, epsilon=1, delta=0)
    said = np.array([5], dtype=object)
    primitive.check_output((_bins((1, 3), degrees=2), said))
    with pytest.raises(ValueError, match="smaller"):
        primitive.check_output((_bins((3, 1), degrees=2), said))


@pytest.mark.parametrize(("statistics", "told"), [(5, 5), (7, 5), (6, 4), (6, 6), (0, 0)])
def test_published_statistics_are_as_many_as_their_features_give(statistics, told):
    primitive = PublishedStatistics(dimension=2, epsilon=1)
    primitive.check_output((np.zeros(6), np.zeros(5)))
    with pytest.raises(ValueError, match="shape"):
        primitive.check_output((np.zeros(statistics), np.zeros(told)))
    with pytest.raises(ValueError, match="unpack"):
        primitive.check_output((np.zeros(6), np.zeros(5), np.zeros(1)))


# --- figures of another platform ------------------------------------------------------------------


def test_a_figure_that_differs_is_written_as_figures_are():
    own = {"a.csv": b"count\n163.714\n5e-05\n"}
    for honest in (b"count\n163.715\n5e-05\n", b"count\n163.714\n5.00000001e-05\n"):
        assert not compare(own, {"a.csv": honest}).wrong
    for forged in (b"163.714001e-0000000", b"1.63715e+02", b"163.7150", b"0.0163715e4"):
        assert compare(own, {"a.csv": b"count\n" + forged + b"\n5e-05\n"}).wrong, forged
    assert compare(own, {"a.csv": b"count\n163.714\n0.0000500000001\n"}).wrong


def test_drawn_rows_and_words_are_not_figures(folders, tmp_path):
    for name in ("synthetic.csv", "points.csv"):
        assert compare({name: b"size\n12.345\n"}, {name: b"size\n12.346\n"}).wrong
    files, document = read_folder(folders["number"])
    elsewhere(document)
    write_folder(tmp_path, files, document)
    assert verify(tmp_path).passed
    text = files["README.txt"].decode()
    assert "ε = 0.001" in text
    files["README.txt"] = text.replace("ε = 0.001", "ε = 0.0").encode()
    write_folder(tmp_path, files, document)
    assert "README.txt is not what the transcript gives" in str(verify(tmp_path))


def test_a_spectrum_from_elsewhere_has_no_spare_digits(folders, tmp_path):
    files, document = read_folder(folders["spectrum"])
    elsewhere(document)
    write_folder(tmp_path, files, document)
    assert verify(tmp_path).passed
    head, first, *rest = files["eigenvalues.csv"].decode().split("\n")
    number, value, *more = first.split(",")
    spare = ",".join([number, f"{float(value):.12f}3636", *more])
    forged = {**files, "eigenvalues.csv": "\n".join([head, spare, *rest]).encode()}
    write_folder(tmp_path, forged, document)
    assert is_caught(tmp_path)
    lines = files["eigenvectors.csv"].decode().split("\n")
    for number in range(1, 21):
        node, *cells = lines[number].split(",")
        lines[number] = ",".join([node, *(f"{float(cell) + 2e-7:.8f}" for cell in cells)])
    forged = {**files, "eigenvectors.csv": "\n".join(lines).encode()}
    write_folder(tmp_path, forged, document)
    assert is_caught(tmp_path)


# --- the page -------------------------------------------------------------------------------------


def test_a_picture_from_elsewhere_calls_nobody(copied):
    sf.save_report(copied)
    place = copied / "report.html"
    page = place.read_text().replace("; Matplotlib ", "; Matplotlib 9", 1)
    place.write_text(page)
    assert verify(copied).passed
    assert 'style="fill: none' in page and 'xlink:href="#' in page
    forgeries = [
        page.replace('style="fill: none', f'style="fill: url({address}); stroke: none', 1)
        for address in ("//ada.example/x", "http://ada.example", "ada.svg", "&#47;&#47;ada")
    ]
    forgeries += [
        page.replace('style="fill: none', "style=\"background: image-set('//a' 1x)", 1),
        page.replace('style="fill: none', r'style="fill: \75rl(ada.svg)', 1),
        page.replace('xlink:href="#', 'xlink:href="//ada.example/#', 1),
        page.replace('xlink:href="#', 'xlink:href="ada.svg#', 1),
        page.replace("; Matplotlib 9", "; Matplotlib 9.adalovelace.hiv", 1),
    ]
    for forged in forgeries:
        assert forged != page
        place.write_text(forged)
        assert not verify(copied).passed
