"""How published files differ from those that follow, in words."""

import io
import zipfile

import pytest

from sfumato.privacy.file_comparison import compare, surplus


def archive(**members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as packed:
        for name, content in members.items():
            packed.writestr(zipfile.ZipInfo(name), content)
    return buffer.getvalue()


def test_files_that_are_missing_too_many_or_no_text_are_named():
    own = {"a.csv": b"1", "b.csv": b"2", "same": b"\xff"}
    told = {"b.csv": b"\xff", "c.csv": b"3", "same": b"\xff"}
    assert compare(own, told).wrong == (
        "a.csv is missing",
        "b.csv is not text",
        "c.csv is not a file of such a release",
    )


@pytest.mark.parametrize(
    ("name", "told", "own", "found"),
    [
        ("t.npz", b"no archive", archive(a="1"), "t.npz does not say what such a release says"),
        ("t.json", b"{", b"{}", "t.json does not say what such a release says"),
        (
            "t.npz",
            archive(a="1", b="2"),
            archive(a="1"),
            "t.npz holds 'b', which nothing refers to",
        ),
        ("t.npz", archive(a="2"), archive(a="1"), "'a' in t.npz is not written in its one form"),
        ("t.npz", archive(a="1"), archive(a="1", b="2"), "t.npz is not packed in its one form"),
    ],
)
def test_what_does_not_follow_is_named(name, told, own, found):
    assert surplus(name, told, own) == found
