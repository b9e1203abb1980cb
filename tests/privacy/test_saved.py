import json

import numpy as np
import pytest

from sfumato.privacy import keys
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.loss import PureDP
from sfumato.privacy.saved import NotARelease, load, verify
from sfumato.privacy.transcript import Entry, Transcript
from tests.privacy.toy import NoisyTally, Tally, TallyPublic


@pytest.fixture(autouse=True)
def _no_key(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("SFUMATO_KEY", raising=False)


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


def test_a_missing_or_added_file_is_caught(folder):
    (folder / "extra.csv").write_text("1")
    assert "extra.csv is not part" in str(verify(folder))
    (folder / "extra.csv").unlink()
    (folder / "counts.csv").unlink()
    assert "counts.csv is missing" in str(verify(folder))


def test_a_report_may_be_added(folder):
    (folder / "report.html").write_text("<p>")
    outcome = verify(folder)
    assert outcome.passed and "not certified" in str(outcome)


def test_a_rewritten_certificate_with_more_epsilon_than_paid_is_caught(folder):
    place = folder / "certificate.json"
    document = json.loads(place.read_text())
    document["parameters"]["epsilon"] = "1/2"
    place.write_text(json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n")
    assert "states another loss" in str(verify(folder))


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
    assert "does not fit" in str(verify(folder))


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
    place.write_text(json.dumps({**document, "method": "os.system"}))
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
    with pytest.raises(TypeError, match="may not say"):
        Transcript((entry,)).to_files()
