"""A transcript that nobody of ours wrote, or that another method asked for, is refused."""

import io
import json
import zipfile
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from sfumato.mechanisms.sparse_vector import AboveThreshold
from sfumato.privacy import door
from sfumato.privacy.loss import PureDP
from sfumato.privacy.primitive import plain, require_whole
from sfumato.privacy.program import DoesNotFollow, Prompter, require_same
from sfumato.privacy.transcript import Entry, Transcript, settle_output
from tests.privacy.toy import Asker, NoisyTally, Tally, TallyPublic

COST = PureDP(1).to_json()
ENTRY = Entry("x", (), {"kind": "k"}, COST, (1,))


def packed(member):
    """An archive of arrays with one member of these bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a00000.npy", member)
    return buffer.getvalue()


def rewritten(output, **changes):
    """The files of a transcript with one output, as somebody changed them."""
    files = Transcript((replace(ENTRY, outputs=(output,)),)).to_files()
    document = json.loads(files["transcript.json"])
    for name, value in changes.items():
        if name in document:
            document[name] = value
        else:
            document["entries"][0]["outputs"][0][name] = value
    return {**files, "transcript.json": json.dumps(document).encode()}


def test_labels_name_one_measurement_each():
    assert "x" in Transcript((ENTRY,)) and "y" not in Transcript((ENTRY,))
    with pytest.raises(ValueError, match=r"^two measurements carry the same label$"):
        Transcript((ENTRY, ENTRY))


@pytest.mark.parametrize(
    ("output", "settled"),
    [
        (Fraction(1, 3), Fraction(1, 3)),
        (np.int8(-3), -3),
        (np.bool_(True), True),
        (np.float32(0.5), 0.5),
    ],
)
def test_numbers_are_settled_as_plain_ones(output, settled):
    found = settle_output(output)
    assert found == settled and type(found) is type(settled)
    back = Transcript.from_files(Transcript((replace(ENTRY, outputs=(output,)),)).to_files())
    assert back["x"] == settled


@pytest.mark.parametrize("size", [2**7, 2**8, 2**15, 2**16, 2**31, 2**32, 2**63])
def test_arrays_at_the_ends_of_each_width_come_back(size):
    for array in (np.array([-size, size - 1]), np.array([0, size], dtype=np.uint64)):
        files = Transcript((replace(ENTRY, outputs=(array,)),)).to_files()
        back = Transcript.from_files(files)["x"]
        np.testing.assert_array_equal(back, array)
        assert back.dtype == array.dtype


@pytest.mark.parametrize("text", [np.array(["a"]), np.array([1j])])
def test_no_array_of_texts_or_complex_numbers_is_said(text):
    with pytest.raises(TypeError, match="cannot return a ndarray"):
        settle_output(text)


NUMBERS = np.array([1, 2])


@pytest.mark.parametrize(
    ("files", "found"),
    [
        (rewritten(1, format=0), "in a format this version does not read"),
        (
            {**rewritten(1), "transcript.json": b"[]"},
            "in a format this version does not read",
        ),
        (rewritten(NUMBERS, type="<U1"), "an array of an unknown kind"),
        (rewritten(NUMBERS, shape=[-2]), "an array of an unknown kind"),
        (rewritten(NUMBERS, shape=[2.0]), "an array of an unknown kind"),
        (rewritten(np.array([True]), shape=[9]), "of another size than it states"),
        (
            {**rewritten(NUMBERS), "transcript.npz": packed(b"\x93NUMPY\x02\x00")},
            "holds an array in an unknown form",
        ),
    ],
)
def test_files_that_are_no_transcript_are_refused(files, found):
    with pytest.raises(ValueError, match=found):
        Transcript.from_files(files)


def test_an_output_of_an_unknown_kind_is_refused():
    files = rewritten(1)
    changed = files["transcript.json"].replace(b'"integer"', b'"formula"')
    assert changed != files["transcript.json"]
    with pytest.raises(ValueError, match="an output of an unknown kind"):
        Transcript.from_files({**files, "transcript.json": changed})


def test_a_signature_holds_plain_public_values_alone():
    assert plain({"a": (0.1, Fraction(1, 3), None)}) == {"a": ["0.1", "1/3", None]}
    with pytest.raises(TypeError, match=r"^a public signature may not hold a ndarray$"):
        plain([np.zeros(2)])


def test_a_whole_number_is_one_of_a_declared_range_and_size():
    require_whole(-(2**1024) + 1)
    require_whole(3, 0, 3)
    for strange in (2**1024, True, 1.0, np.int64(1)):
        with pytest.raises(ValueError, match="not a whole number of at most 1024 bits"):
            require_whole(strange)
    for outside in (-1, 4):
        with pytest.raises(ValueError, match="not a whole number from 0 to 3"):
            require_whole(outside, 0, 3)


@pytest.mark.parametrize(
    ("found", "given", "words"),
    [
        ([ENTRY], [], "the measurement 'x' is missing in the transcript"),
        ([], [ENTRY], "the measurement 'x' is not one of the method"),
        (
            [ENTRY],
            [replace(ENTRY, cost=PureDP(2).to_json())],
            "the cost of 'x' is not that of the method",
        ),
        (
            [ENTRY],
            [replace(ENTRY, outputs=(1, 2))],
            "'x' holds more outputs than the method uses",
        ),
    ],
)
def test_a_transcript_holds_what_its_method_asks_and_no_more(found, given, words):
    with pytest.raises(DoesNotFollow) as caught:
        require_same(Transcript(tuple(found)), Transcript(tuple(given)))
    assert str(caught.value) == words


def test_a_run_takes_the_steps_of_its_transcript_and_no_others():
    primitive = AboveThreshold(threshold=5, sensitivity=1, positives=1, epsilon=Fraction(1))
    entry = Entry("x", (), primitive.signature(), COST, (False, "maybe"))
    run = Prompter(iter([entry])).start("x", (), primitive)
    assert run.step(3) is False and not run.done
    with pytest.raises(DoesNotFollow, match=r"the output of 'x' is impossible: .* yes or no"):
        run.step(3)
    short = Prompter(iter([replace(entry, outputs=(False,))])).start("x", (), primitive)
    short.step(3)
    with pytest.raises(DoesNotFollow, match="'x' takes more steps than the transcript holds"):
        short.step(3)


def test_a_session_has_numbered_labels_and_is_neither_run_nor_released_at_once():
    method, public = Asker(epsilon=1), TallyPublic(3)
    data = Tally([0, 1, 1], public)
    session = method.open(data)
    assert repr(session) == "Session('tally.Asker', 0 asked, open)"
    session.ask(1)
    transcript = session.close().transcript
    assert repr(session) == "Session('tally.Asker', 1 asked, closed)"
    (entry,) = transcript
    moved = Transcript((replace(entry, label="1 1"),), transcript.slices)
    with pytest.raises(DoesNotFollow, match=r"^'1 1' is not the label of question 0$"):
        door.rebuild_from_transcript(method, public, moved)
    for call in (method.release, lambda data: method.program(data.public, None)):
        with pytest.raises(TypeError, match=r"^Asker answers questions; call open, then ask$"):
            call(data)
    with pytest.raises(NotImplementedError, match=r"^Asker declares no example of questions$"):
        method.example_questions(public)


def test_a_release_that_no_method_made_says_so():
    release = NoisyTally(epsilon=1).release(Tally([0], TallyPublic(3)))
    loose = type(release)(release.counts)
    assert repr(loose) == "<tally>"
    with pytest.raises(RuntimeError, match="was not made by a method of sfumato"):
        _ = loose.provenance
