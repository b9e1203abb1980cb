"""What a folder from anybody may make `verify` read: stated sizes, and no more."""

import io
import os
import zipfile

import pytest

import sfumato as sf
from sfumato.privacy import certificate as certificates
from sfumato.privacy.saved import LARGEST_PAGE, LARGEST_RELEASE, NotARelease, verify
from tests.privacy.smuggling import read_folder, write_folder
from tests.privacy.toy import NoisyTally, Tally, TallyPublic


@pytest.fixture(autouse=True)
def _no_key(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("SFUMATO_KEY", raising=False)


@pytest.fixture
def folder(tmp_path):
    made = NoisyTally(epsilon=1).release(Tally([0, 1, 1], TallyPublic(3)))
    return made.save(tmp_path / "out")


def test_the_limits_hold_every_release_that_can_be_made():
    assert certificates.LARGEST == 2**26
    assert LARGEST_RELEASE == 2**32 and LARGEST_PAGE == 2**27


@pytest.mark.parametrize("name", ["transcript.npz", "transcript.json", "certificate.json"])
def test_a_sparse_file_of_40_gib_is_refused_unread(folder, little_memory, name):
    os.truncate(folder / name, 40 * 2**30)
    with pytest.raises(NotARelease, match=rf"{name} has 42,949,672,960 bytes, more than the"):
        verify(folder)


def test_a_sparse_page_is_refused_unread(folder, little_memory):
    (folder / "report.html").touch()
    os.truncate(folder / "report.html", 40 * 2**30)
    outcome = verify(folder)
    assert not outcome.passed and "report.html has 42,949,672,960 bytes" in str(outcome)


def test_files_may_not_be_too_large_together(folder, monkeypatch):
    names = [place for place in folder.iterdir() if place.name != "certificate.json"]
    largest = max(place.stat().st_size for place in names)
    monkeypatch.setattr("sfumato.privacy.saved.LARGEST_RELEASE", largest + 1)
    with pytest.raises(NotARelease, match="more than the"):
        verify(folder)


def bomb(size):
    """An archive whose only member unpacks to many zeros."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a00000.npy", bytes(size))
    return buffer.getvalue()


def lying(shape):
    """An archive with an array whose header states more numbers than follow."""
    header = f"{{'descr': '<i8', 'fortran_order': False, 'shape': ({shape},), }}".ljust(117) + "\n"
    member = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + bytes(24)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a00000.npy", member)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("archive", "words"),
    [(bomb(2**26), "is compressed"), (lying(10**10), "another size"), (lying(10**30), "another")],
    ids=["bomb", "more than memory", "more than 64 bits"],
)
def test_an_archive_cannot_ask_for_more_memory_than_it_has(folder, little_memory, archive, words):
    files, document = read_folder(folder)
    files["transcript.npz"] = archive
    write_folder(folder, files, document)
    outcome = verify(folder)
    assert not outcome.passed and words in str(outcome)


def test_booleans_cannot_ask_for_more_memory_than_they_have():
    from sfumato.privacy.transcript import _widen_array

    with pytest.raises(ValueError, match="another size"):
        _widen_array(bytes_of_booleans(), "|b1", (10**12,))


def bytes_of_booleans():
    import numpy as np

    return np.zeros(2, dtype=np.uint8)


@pytest.mark.parametrize("name", ["epsilon", "delta"])
def test_a_number_of_thousands_of_digits_is_refused(name):
    given = {"epsilon": "1", "delta": "0.001", name: "0.5" + "0" * 3000 + "1"}
    with pytest.raises(ValueError, match=f"{name} must be .* at most 200 digits"):
        sf.Marginals(**given)
