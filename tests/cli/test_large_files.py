"""Public files that a command reads whole are refused when they are too large, before memory is."""

import json
import os

import pytest

from sfumato.cli.exits import ExitCode
from sfumato.local.wire import LONGEST
from sfumato.privacy.documents import LARGEST_DOCUMENT

HUGE = 40 * 2**30


@pytest.fixture
def huge(tmp_path, little_memory):
    """A sparse file of 40 GiB."""
    place = tmp_path / "huge.txt"
    place.touch()
    os.truncate(place, HUGE)
    return place


@pytest.fixture
def histogram(run, tmp_path):
    """A release of points, to be asked for boxes."""
    (tmp_path / "p.csv").write_text("x,y\n1,1\n", encoding="utf-8")
    (tmp_path / "p.schema.toml").write_text(
        '[points]\nunit = "point"\n\n[axes]\nx = [0, 7]\ny = [0, 5]\n', encoding="utf-8"
    )
    words = ("points", "release", "p.csv", "--epsilon", "1", "--method", "uniformgrid")
    assert run(*words, "--cells", "2", "--out", "o", "--no-report").code == 0
    return "o"


def test_a_list_that_is_too_large_is_refused_unread(run, huge, histogram, tmp_path):
    (tmp_path / "g.txt").write_text("0\t1\n", encoding="utf-8")
    spend = ("--epsilon", "1", "--out", "p")
    for words in (
        ("graph", "degrees", "g.txt", "--nodes", huge, *spend),
        (
            *("graph", "stats", "g.txt", "--nodes", "2", "--expression", "triangles"),
            *("--groups", huge, *spend),
        ),
        ("sequences", "schema", "--unit", "sequence", "--alphabet-file", huge),
        ("points", "query", histogram, "--boxes", huge),
    ):
        told = run(*words)
        assert told.code == ExitCode.DATA, (words, told.err)
        assert f"huge.txt: it has more than {LARGEST_DOCUMENT // 2**20} MiB" in told.err
        assert not (tmp_path / "p").exists()


def test_a_list_that_is_no_text_is_refused(run, histogram, tmp_path):
    (tmp_path / "list").write_bytes(b"\xff\xfe")
    for words in (
        ("sequences", "schema", "--unit", "sequence", "--alphabet-file", "list"),
        ("points", "query", histogram, "--boxes", "list"),
    ):
        told = run(*words)
        assert told.code == ExitCode.DATA and "not a text file in UTF-8" in told.err


def test_a_byte_order_mark_is_no_symbol(run, tmp_path):
    (tmp_path / "symbols").write_bytes("\ufeffa\r\nb\r\n".encode())
    words = ("sequences", "schema", "--unit", "sequence", "--alphabet-file", "symbols", "--json")
    assert run(*words).document["schema"]["alphabet"] == ["a", "b"]


def test_a_box_that_no_csv_reader_takes_is_an_error_of_the_data(run, histogram, tmp_path):
    (tmp_path / "boxes.csv").write_text(f"x_from\n{'1' * 200_000}\n", encoding="utf-8")
    told = run("points", "query", histogram, "--boxes", "boxes.csv")
    assert told.code == ExitCode.DATA and "not a CSV file" in told.err


def test_a_key_and_a_witness_are_read_with_a_limit(run, patients, ledger, huge, tmp_path):
    huge.chmod(0o600)
    words = ("table", "release", patients, "--epsilon", "1", "--ledger", ledger, "--out", "o")
    told = run(*words, "--key", huge)
    assert told.code == ExitCode.USAGE and "MiB" in told.err
    (witness,) = (tmp_path / "config").rglob("*.json")
    os.truncate(witness, HUGE)
    told = run("ledger", "show", ledger)
    assert told.code == ExitCode.LEDGER and "is damaged" in told.err


def test_a_report_without_an_end_is_one_wrong_line(run, huge, tmp_path):
    (tmp_path / "survey.toml").write_text(
        '[survey]\nname = "a"\nepsilon = 2\n\n[[question]]\nname = "b"\nanswers = ["c", "d"]\n',
        encoding="utf-8",
    )
    assert run("collect", "plan", "survey.toml", "--out", "survey.json").code == 0
    report = run("collect", "perturb", "survey.json", "--answer", "b=c").out
    (tmp_path / "reports").write_text(
        report + "x" * (3 * LONGEST) + "\n" + report + "y" * (LONGEST + 1), encoding="utf-8"
    )
    words = ("collect", "aggregate", "survey.json", "reports", "--out", "tally.json")
    told = run(*words)
    assert told.code == ExitCode.DATA and "longer than" in told.err
    assert run(*words, "--skip-wrong").code == 0
    tally = json.loads((tmp_path / "tally.json").read_text(encoding="utf-8"))
    assert tally["lines"] == 2 and tally["wrong"] == 2
