import json
import subprocess
import sys
import zipfile
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from sfumato import noise
from sfumato.mechanisms.laplace import GeometricNoise
from sfumato.privacy import certificate, door, keys, saved
from sfumato.privacy.canonical import digest
from sfumato.privacy.certificate import seal
from sfumato.privacy.door import MeasurementFailed
from sfumato.privacy.figures import round_figures
from sfumato.privacy.file_comparison import compare
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.loss import PureDP
from sfumato.privacy.program import DoesNotFollow
from sfumato.privacy.saved import NotARelease, load, pretty, verify
from sfumato.privacy.transcript import Entry, Transcript
from tests.privacy.toy import Asker, NoisyTally, Tally, TallyPublic


@pytest.fixture(autouse=True)
def _no_key(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("SFUMATO_KEY", raising=False)


def reseal(folder, document):
    """Write a forged certificate as a forger without a key would: with a digest that fits."""
    body = {name: item for name, item in document.items() if name not in ("digest", "signature")}
    (folder / "certificate.json").write_bytes(pretty(seal(body, None)))


@pytest.fixture
def release():
    return NoisyTally(epsilon=1).release(Tally([0, 1, 1], TallyPublic(3)))


@pytest.fixture
def folder(release, tmp_path):
    return release.save(tmp_path / "out")


def test_a_saved_release_verifies_and_loads(release, folder):
    outcome = verify(folder)
    assert outcome.passed, str(outcome)
    assert "changes the odds" in str(outcome)
    np.testing.assert_array_equal(load(folder).counts, release.counts)


def test_every_changed_byte_is_caught(folder):
    for place in sorted(folder.iterdir()):
        original = place.read_bytes()
        for position in {0, len(original) // 2, len(original) - 1}:
            changed = bytearray(original)
            changed[position] ^= 1
            place.write_bytes(bytes(changed))
            try:
                caught = not verify(folder).passed
            except NotARelease:
                caught = True
            assert caught, f"byte {position} of {place.name}"
        place.write_bytes(original)
    assert verify(folder).passed


class TestFormerWords:
    """Folders saved before sentences and values of parameters were reworded (former.zip)."""

    @pytest.fixture
    def former(self, tmp_path):
        with zipfile.ZipFile(Path(__file__).with_name("former.zip")) as packed:
            packed.extractall(tmp_path)
        return tmp_path

    @pytest.mark.parametrize(
        ("name", "once"),
        [
            ("independent", "Whatever is done with this release, having one row's data"),
            ("adassp", "A rule that guesses"),
            ("collection", "of which every pair was told"),
        ],
    )
    def test_they_verify_and_load(self, former, name, once):
        assert once in " ".join((former / name / "README.txt").read_text("utf-8").split())
        verified = verify(former / name)
        assert verified, str(verified)
        assert once not in load(former / name).words()

    def test_a_former_value_is_read_and_a_former_claim_is_not_repeated(self, former):
        assert load(former / "adassp").provenance.method.variant == "paper"
        shown = str(load(former / "collection").guarantee)
        assert shown.startswith("claimed, not proved: ε = 3 for any one edge")

    def test_what_a_paper_printed_verifies_in_a_process_that_has_not_made_it(self, former):
        code = "import sys, sfumato as sf; v = sf.verify(sys.argv[1]); print(v); sys.exit(not v)"
        place = str(former / "collection")
        done = subprocess.run([sys.executable, "-c", code, place], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr

    @pytest.mark.parametrize(
        ("before", "after"),
        [
            # In neither wording, and a mixture of both.
            ("Counted were", "Measured were"),
            ("made-up rows in the columns", "synthetic rows with the columns"),
        ],
    )
    def test_no_other_word_passes(self, former, before, after):
        folder = former / "independent"
        text = (folder / "README.txt").read_text("utf-8")
        assert before in text
        (folder / "README.txt").write_text(text.replace(before, after), "utf-8")
        document = json.loads((folder / "certificate.json").read_text("utf-8"))
        document["files"]["README.txt"] = digest((folder / "README.txt").read_bytes())
        reseal(folder, document)
        assert "does not match such a release" in str(verify(folder))


def test_a_missing_or_added_file_is_caught(folder):
    (folder / "extra.csv").write_text("1")
    assert "extra.csv is not part" in str(verify(folder))
    (folder / "extra.csv").unlink()
    (folder / "counts.csv").unlink()
    assert "counts.csv is missing" in str(verify(folder))


def test_a_page_that_is_not_the_release_s_is_caught(folder):
    (folder / "report.html").write_text("<p>")
    assert not verify(folder).passed
    assert verify(folder, report=False).passed


def test_a_rewritten_certificate_with_more_epsilon_than_paid_is_caught(folder):
    place = folder / "certificate.json"
    document = json.loads(place.read_text())
    document["parameters"]["epsilon"] = "1/2"
    reseal(folder, document)
    assert "spends ε = 1 where ε = 0.5 is left" in str(verify(folder))


@pytest.mark.parametrize(
    ("place", "lie"),
    [
        (("guarantee", "caveat"), ""),
        (("guarantee", "statement"), "ε = 0 for everyone"),
        (("guarantee", "loss", "epsilon"), "1/1000"),
        (("guarantee", "ledger"), "patients.ledger#1"),
        (("plan", "notes"), ["perfect"]),
        (("kind",), "something else"),
    ],
)
def test_a_resealed_certificate_that_lies_is_caught(tmp_path, place, lie):
    with noise.seeded(1):
        seeded = NoisyTally(epsilon=1).release(Tally([0], TallyPublic(3)))
    folder = seeded.save(tmp_path / "seeded")
    document = json.loads((folder / "certificate.json").read_text())
    inner = document
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = lie
    reseal(folder, document)
    outcome = verify(folder)
    assert not outcome.passed
    with pytest.raises(NotARelease, match="does not verify"):
        load(folder)


def test_rewritten_or_added_files_with_new_hashes_are_caught(folder):
    document = json.loads((folder / "certificate.json").read_text())
    for name, content in (("README.txt", b"All is well."), ("raw.csv", b"0,1,1")):
        original = (folder / name).read_bytes() if (folder / name).exists() else None
        (folder / name).write_bytes(content)
        forged = {**document, "files": {**document["files"], name: digest(content)}}
        reseal(folder, forged)
        assert not verify(folder).passed, name
        if original is None:
            (folder / name).unlink()
        else:
            (folder / name).write_bytes(original)
    reseal(folder, document)
    assert verify(folder).passed


def test_signatures(release, tmp_path):
    public = keys.generate(tmp_path / "key.pem")
    folder = release.save(tmp_path / "signed", key=tmp_path / "key.pem")
    assert keys.fingerprint(public) in str(verify(folder))
    assert verify(folder, key=keys.public_path(tmp_path / "key.pem")).passed
    keys.generate(tmp_path / "other.pem")
    outcome = verify(folder, key=keys.public_path(tmp_path / "other.pem"))
    assert not outcome.passed and "another key" in str(outcome)
    place = folder / "certificate.json"
    document = json.loads(place.read_text())
    document["time"] = "2000-01-01T00:00:00+00:00"
    place.write_text(json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n")
    assert "does not match the certificate" in str(verify(folder))


def test_an_unsigned_release_fails_when_a_key_is_required(folder, tmp_path):
    keys.generate(tmp_path / "key.pem")
    assert not verify(folder, key=keys.public_path(tmp_path / "key.pem")).passed


def test_the_custodians_own_key_is_found(release, tmp_path):
    keys.generate(keys.default_path())
    assert "signed by key" in str(verify(release.save(tmp_path / "own")))


def test_verification_against_the_ledger(tmp_path):
    ledger = Ledger.create(tmp_path / "a.ledger", allow=PureDP(2))
    other = Ledger.create(tmp_path / "b.ledger", allow=PureDP(2))
    data = Tally([0, 1, 1], TallyPublic(3))
    folder = NoisyTally(epsilon=1).release(data, ledger=ledger).save(tmp_path / "out")
    assert verify(folder, ledger=ledger).passed
    assert "not booked in b.ledger" in str(verify(folder, ledger=other))


def test_a_release_that_borrows_another_ones_entry_is_caught(tmp_path):
    ledger = Ledger.create(tmp_path / "a.ledger", allow=PureDP(2))
    data = Tally([0, 1, 1], TallyPublic(3))
    method = NoisyTally(epsilon=1)
    honest = method.release(data, ledger=ledger).save(tmp_path / "honest")
    entry = json.loads((honest / "certificate.json").read_text())
    for number, unbooked in enumerate((method, NoisyTally(epsilon=50))):
        folder = unbooked.release(data).save(tmp_path / f"forged{number}")
        document = json.loads((folder / "certificate.json").read_text())
        document["ledger"] = entry["ledger"]
        document["guarantee"]["ledger"] = entry["guarantee"]["ledger"]
        document["guarantee"]["statement"] = document["guarantee"]["statement"].replace(
            "not composed with other releases", "composed in a.ledger#1"
        )
        files = {path.name: path.read_bytes() for path in folder.iterdir()}
        # A forger has the program too, and so its text for what is claimed.
        claimed = saved._files(saved._rebuild(document, files))["README.txt"]
        (folder / "README.txt").write_bytes(claimed)
        document["files"]["README.txt"] = digest((folder / "README.txt").read_bytes())
        reseal(folder, document)
        assert verify(folder).passed
        assert "was booked for another" in str(verify(folder, ledger=ledger))


def test_the_readme_explains_every_file_in_lines_that_fit_a_screen(release, folder):
    text = (folder / "README.txt").read_text(encoding="utf-8")
    lines = text.splitlines()
    for path in folder.iterdir():
        (line,) = (line for line in lines if line.startswith(f"  {path.name}  "))
        assert line.removeprefix(f"  {path.name}").strip()
    assert max(map(len, lines)) <= 90
    assert "Open report.html first;" in text
    for told in (release.words(), release.guarantee.words()):
        assert told in " ".join(text.split())


def test_saving_over_something_is_refused(release, folder):
    with pytest.raises(FileExistsError, match="not empty"):
        release.save(folder)


def test_a_folder_that_is_no_release(tmp_path):
    with pytest.raises(NotARelease, match=r"holds no certificate\.json"):
        verify(tmp_path)


def test_a_certificate_cannot_name_a_file_outside_or_a_class_of_its_choosing(folder):
    place = folder / "certificate.json"
    document = json.loads(place.read_text())
    evil = {**document, "files": {"../secret": "0"}}
    place.write_text(json.dumps(evil))
    with pytest.raises(NotARelease, match="outside"):
        verify(folder)
    reseal(folder, {**document, "method": "os.system"})
    assert "unknown to this version" in str(verify(folder))


@pytest.mark.parametrize(
    "output",
    [
        7,
        -(2**80),
        True,
        None,
        "text",
        0.1,
        (1, (2, 3)),
        np.arange(6).reshape(2, 3),
        np.array([True, False]),
        np.array([2**70, -1], dtype=object),
        np.array([], dtype=np.float64),
    ],
)
def test_transcript_round_trip(output):
    entry = Entry("x", ("a",), {"kind": "k"}, {"measure": "pure", "epsilon": "1"}, (output,))
    back = Transcript.from_files(Transcript((entry,)).to_files())["x"]
    if isinstance(output, np.ndarray):
        np.testing.assert_array_equal(back, output)
        assert back.dtype == output.dtype
    else:
        assert back == output and type(back) is type(output)


def test_a_primitive_may_not_say_an_object():
    entry = Entry("x", (), {}, {}, (object(),))
    with pytest.raises(TypeError, match="cannot return"):
        Transcript((entry,)).to_files()


def test_a_release_made_on_another_platform_verifies(tmp_path, monkeypatch):
    import zipfile

    ledger = Ledger.create(tmp_path / "a.ledger", allow=PureDP(2))
    original = zipfile.ZipInfo.__init__

    def elsewhere(self, *arguments, **options):
        original(self, *arguments, **options)
        self.create_system = 0

    with monkeypatch.context() as patch:
        patch.setattr(zipfile.ZipInfo, "__init__", elsewhere)
        data = Tally([0, 1, 1], TallyPublic(3))
        folder = NoisyTally(epsilon=1).release(data, ledger=ledger).save(tmp_path / "out")
    assert verify(folder, ledger=ledger).passed, str(verify(folder, ledger=ledger))


@pytest.mark.parametrize(
    "hostile",
    [
        b"[" * 100_000,
        b"{}",
        b"null",
        b'{"files": [1, 2]}',
        b'{"files": NaN}',
        "{'a'}".encode("utf-16"),
    ],
)
def test_a_hostile_certificate_is_no_release(folder, hostile):
    (folder / "certificate.json").write_bytes(hostile)
    with pytest.raises(NotARelease):
        verify(folder)


def test_huge_figures_in_a_transcript_are_refused_and_not_computed(folder):
    document = json.loads((folder / "certificate.json").read_text())
    text = (folder / "transcript.json").read_text()
    forged = text.replace('"epsilon":"1"', '"epsilon":"1e99999999"')
    assert forged != text
    (folder / "transcript.json").write_text(forged)
    document["files"]["transcript.json"] = digest(forged.encode())
    reseal(folder, document)
    assert not verify(folder).passed


def test_a_transcript_that_unpacks_to_too_much_is_not_read(folder, monkeypatch):
    from sfumato.privacy import transcript

    monkeypatch.setattr(transcript, "LARGEST_BYTES", 10)
    assert "unpacks to more than 10 bytes" in str(verify(folder))


def test_saving_through_a_link_and_into_an_empty_folder(release, tmp_path, monkeypatch):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert verify(release.save(tmp_path / "link")).passed
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    release.save(".")
    assert verify(".").passed
    assert verify(release.save(tmp_path / ("x" * 250))).passed


def test_a_transcript_has_the_same_bytes_everywhere():
    said = (np.arange(-3, 300), np.array([[True, False, True]]), np.array([0.5]), 7)
    entry = Entry("x", ("a",), {"kind": "k"}, {"measure": "pure", "epsilon": "1"}, said)
    files = Transcript((entry,)).to_files()
    # No date, compression, platform or version of NumPy goes into it.
    assert digest(files["transcript.json"])[:16] == "df5f93f817e9b03b"
    assert digest(files["transcript.npz"])[:16] == "ed4a9fa274bb9746"
    with np.load(folder_of(files)) as archive:
        assert [archive[name].dtype.str for name in archive] == ["<i2", "|u1", "<f8"]
    back = Transcript.from_files(files).steps("x")
    for ours, theirs in zip(said, back, strict=True):
        np.testing.assert_array_equal(ours, theirs)
        assert np.asarray(ours).dtype == np.asarray(theirs).dtype


def folder_of(files):
    """Return the archive as a file."""
    import io

    return io.BytesIO(files["transcript.npz"])


@pytest.mark.parametrize(
    ("output", "found"),
    [
        (np.zeros(4, dtype=np.int64), "shape"),
        (np.zeros(3, dtype=np.float64), "int64"),
        (np.array([2**2000, 0, 0], dtype=object), "bits"),
        ("Ada", "int64"),
        (None, "int64"),
    ],
)
def test_what_a_primitive_cannot_say_does_not_follow(output, found):
    method, public = NoisyTally(epsilon=1), TallyPublic(3)
    honest = method.release(Tally([0], public)).transcript
    door.rebuild_from_transcript(method, public, honest)
    (entry,) = honest
    with pytest.raises(DoesNotFollow, match=found):
        door.rebuild_from_transcript(
            method, public, Transcript((replace(entry, outputs=(output,)),))
        )
    with pytest.raises(DoesNotFollow, match="2 outputs"):
        door.rebuild_from_transcript(
            method, public, Transcript((replace(entry, outputs=entry.outputs * 2),))
        )


def test_every_primitive_declares_what_it_may_say():
    import sfumato.cli.audit  # noqa: F401
    from sfumato.catalogue import METHODS
    from sfumato.privacy import primitive
    from sfumato.privacy.registry import resolve

    for name in METHODS:
        resolve(name)
    assert len(primitive._kinds) > 25
    for kind in primitive._kinds.values():
        assert kind.check_output is not primitive.Primitive.check_output, kind


def test_a_session_is_asked_again_and_a_failed_question_leaves_no_trace(tmp_path, monkeypatch):
    session = Asker(epsilon=1).open(Tally([0, 1, 1], TallyPublic(3)))
    session.ask(1)
    with monkeypatch.context() as patch:
        patch.setattr(GeometricNoise, "sample", lambda *_: 1 / 0)
        with pytest.raises(MeasurementFailed):
            session.ask(2)
    left = session.remaining
    session.ask(0)
    assert session.remaining.epsilon < left.epsilon == Fraction(1, 2)
    folder = session.close().save(tmp_path / "out")
    assert verify(folder).passed, str(verify(folder))
    document = json.loads((folder / "transcript.json").read_text())
    assert [entry["label"] for entry in document["entries"]] == ["0 1", "1 0"]
    assert len(document["slices"]) == 2


def test_figures_are_alike_in_the_last_digit_that_is_published_and_no_more():
    def apart(own, told):
        lines = ["name,figure", f"a,{own}", "b,1.23456789", "c,100.001", ""]
        mine = "\n".join(lines).encode()
        theirs = mine.replace(f"a,{own}\n".encode(), f"a,{told}\n".encode())
        found = compare({"f.csv": mine}, {"f.csv": theirs})
        exact = compare({"f.csv": mine}, {"f.csv": theirs}, exactly=True)
        assert mine == theirs or exact.wrong
        return not found.wrong

    for own, told in (("0.1", "0.100000001"), ("2.5", "2.501"), ("1.23456788", "1.23456789")):
        assert apart(own, told) and apart(told, own), (own, told)
    for own, told in (
        ("2", "3"),
        ("2.5", "2.50"),
        ("2.5", "2.6"),
        ("2.5", "2.5000000001"),
        ("0.1", "0.100000003"),
        ("2.5", "Ada"),
        ("0", "-0"),
        ("2.5", "2.5 "),
        ("5", "5,5"),
    ):
        assert not apart(own, told), (own, told)
    many = "\n".join(f"0.{number}" for number in range(100_000_001, 100_000_101))
    other = "\n".join(f"0.{number}" for number in range(100_000_002, 100_000_102))
    assert compare({"f": many.encode()}, {"f": other.encode()}).wrong


@pytest.mark.parametrize(
    ("value", "size", "digits", "kept"),
    [(1.23456789e-7, 1.0, 8, 1e-7), (123.456789123, 123.0, 8, 123.45679), (-1e-12, 5.0, 8, 0.0)],
)
def test_figures_are_rounded_to_digits_of_their_size(value, size, digits, kept):
    (found,) = round_figures([value], size, digits)
    assert found == kept and np.signbit(found) == np.signbit(kept)


@pytest.mark.parametrize(
    ("place", "lie", "found"),
    [
        (("files", "counts.csv"), 5, "files and versions of the certificate must be texts"),
        (("versions", "numpy"), None, "files and versions of the certificate must be texts"),
        (("public", "kind"), 5, "the public part of the certificate must state its kind"),
        (("epsilon",), 1, "the certificate has missing or unknown parts"),
        (("files",), [], "files of the certificate has the wrong type"),
    ],
)
def test_a_certificate_has_its_parts_each_of_its_type(folder, place, lie, found):
    document = json.loads((folder / "certificate.json").read_text())
    *above, name = place
    part = document[above[0]] if above else document
    part[name] = lie
    with pytest.raises(ValueError, match=f"^{found}$"):
        certificate.read(json.dumps(document).encode())


def test_a_certificate_of_more_bytes_than_any_is_not_read(monkeypatch):
    monkeypatch.setattr(certificate, "LARGEST", 3)
    with pytest.raises(ValueError, match=r"^the certificate has more than the allowed 3 bytes$"):
        certificate.read(b"null")


@pytest.mark.parametrize(
    ("lie", "found"),
    [
        ({"entry": True}, "the ledger entry of the certificate has no number"),
        ({"entry": 2}, "the ledger entry of the certificate has two numbers"),
        ({"reference": "a.ledger"}, "reference in the ledger entry of the certificate is malf"),
        ({"reference": "é" * 200 + "#1"}, "the name of the ledger is longer than that of a fi"),
        ({"more": "1"}, "the ledger entry of the certificate has missing or unknown entries"),
    ],
)
def test_the_ledger_entry_of_a_certificate_has_one_form(tmp_path, lie, found):
    ledger = Ledger.create(tmp_path / "a.ledger", allow=PureDP(2))
    release = NoisyTally(epsilon=1).release(Tally([0], TallyPublic(3)), ledger=ledger)
    folder = release.save(tmp_path / "out")
    document = json.loads((folder / "certificate.json").read_text())
    certificate.check_forms(document)
    with pytest.raises(ValueError, match=f"^{found}"):
        certificate.check_forms({**document, "ledger": {**document["ledger"], **lie}})


def test_a_release_whose_entry_the_ledger_does_not_hold_is_caught(tmp_path):
    ledger = Ledger.create(tmp_path / "a.ledger", allow=PureDP(2))
    release = NoisyTally(epsilon=1).release(Tally([0], TallyPublic(3)), ledger=ledger)
    folder = release.save(tmp_path / "out")
    document = json.loads((folder / "certificate.json").read_text())
    for lie in ({"entry": 7, "reference": "a.ledger#7"}, {"head": "0" * 64}):
        reseal(folder, {**document, "ledger": {**document["ledger"], **lie}})
        outcome = verify(folder, ledger=ledger)
        assert not outcome and not outcome.to_json()["passed"]
        assert "a.ledger does not hold entry" in str(outcome)


@pytest.mark.parametrize("marks", [("approved",), ("rehearsed", "seeded"), ("seeded",) * 2])
def test_marks_that_no_door_makes_are_caught(folder, marks):
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    transcript = Transcript.from_files(files)
    for mark in marks:
        transcript = transcript.with_mark(mark)
    document = json.loads(files["certificate.json"])
    for name, content in transcript.to_files().items():
        (folder / name).write_bytes(content)
        document["files"][name] = digest(content)
    reseal(folder, document)
    assert "BAD rebuild: the transcript has an unknown mark" in str(verify(folder))


def test_a_release_without_its_public_part_cannot_be_rebuilt(folder):
    document = json.loads((folder / "certificate.json").read_text())
    del document["files"]["public.json"]
    (folder / "public.json").unlink()
    reseal(folder, document)
    with pytest.raises(NotARelease, match=r"BAD rebuild: public\.json is missing; the release"):
        load(folder)
