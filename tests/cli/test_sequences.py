import random
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.cli.exits import ExitCode
from sfumato.cli.sequences import DEFAULT, SEQUENCES

SCHEMA = """\
[sequences]
unit = "sequence"
rows_about = 300
alphabet = ["home", "news", "mail"]
"""


@pytest.fixture
def visits(tmp_path):
    """A few hundred sequences with a heading, and their schema beside."""
    draw = random.Random(2)
    lines = ["what was opened"]
    for _ in range(300):
        length = draw.choice([1, 2, 4])
        lines.append(" ".join(draw.choices(["home", "news", "mail"], [5, 3, 1], k=length)))
    path = tmp_path / "visits.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "visits.schema.toml").write_text(SCHEMA, encoding="utf-8")
    return path


@pytest.fixture
def released(run, visits):
    words = ("sequences", "release", visits, "--epsilon", "5", "--skip-lines", "1", "--out", "o")
    assert run(*words, "--no-report").code == 0
    return visits.parent / "o"


def test_every_method_for_sequences_is_offered_and_the_default_is_one_of_them():
    assert DEFAULT in SEQUENCES.methods.values()
    assert "topstrings" in SEQUENCES.methods


def test_a_schema_is_declared_without_data_and_read_back(run, tmp_path):
    from sfumato.data.declarations import read_public

    words = ("sequences", "schema", "--alphabet", 'a,"b, c"', "--unit", "person")
    told = run(*words, "--max-sequences", "3")
    document = run(*words, "--max-sequences", "3", "--out", "x.toml", "--json").document
    assert told.code == 0 and (tmp_path / "x.toml").read_text() == told.out
    declared = read_public(tmp_path / "x.toml", "sequences")
    assert declared.to_json() == document["schema"]
    assert declared.alphabet == ("a", "b, c") and declared.contribution == 3
    again = run(*words, "--max-sequences", "3", "--out", "x.toml")
    assert again.code == ExitCode.USAGE and "never overwritten" in again.err


def test_an_alphabet_may_come_from_a_file(run, tmp_path):
    (tmp_path / "symbols.txt").write_text("left\nright\n", encoding="utf-8")
    words = ("sequences", "schema", "--unit", "sequence", "--alphabet-file", "symbols.txt")
    assert run(*words, "--json").document["schema"]["alphabet"] == ["left", "right"]
    both = run(*words, "--alphabet", "a,b")
    assert both.code == ExitCode.USAGE


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "--alphabet"),
        (("--alphabet", "a,a"), "a"),
        (("--alphabet", "a,b", "--max-sequences", "2"), "unit"),
    ],
)
def test_a_declaration_that_cannot_be_is_refused(run, options, words):
    told = run("sequences", "schema", "--unit", "sequence", *options)
    assert told.code == ExitCode.USAGE and words in told.err
    assert run("sequences", "schema", "--unit", "person", "--alphabet", "a").code == ExitCode.USAGE


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (SCHEMA.replace('unit = "sequence"\n', ""), "must state the unit"),
        (SCHEMA.replace("alphabet", "letters"), "'letters'"),
        (SCHEMA.replace('["home", "news", "mail"]', '"abc"'), "needs a list"),
        (SCHEMA.replace("[sequences]", "[points]"), "this file describes points"),
    ],
)
def test_a_schema_file_that_is_wrong_is_an_error_of_the_data(run, visits, text, words):
    (visits.parent / "visits.schema.toml").write_text(text, encoding="utf-8")
    told = run("sequences", "plan", visits, "--epsilon", "1")
    assert told.code == ExitCode.DATA and words in told.err


def test_a_plan_and_a_rehearsal_read_the_schema_only(run, visits):
    visits.unlink()
    plan = run("sequences", "plan", visits, "--epsilon", "1", "--json").document
    assert plan["plan"]["method"] == DEFAULT
    words = ("sequences", "rehearse", visits, "--epsilon", "1", "--rows", "50", "--json")
    assert "rehearsal" in run(*words).document["guarantee"]["caveat"]


def test_a_release_is_booked_saved_reported_and_verified(run, visits):
    book = visits.parent / "visits.ledger"
    assert run("ledger", "create", book, "--allow-epsilon", "2", "--unit", "sequence").code == 0
    words = ("sequences", "release", visits, "--epsilon", "1", "--ledger", book)
    document = run(*words, "--skip-lines", "1", "--out", "o", "--json").document
    assert document["kind"] == "sequence model" and document["contexts"] >= 1
    assert document["left"] == {"measure": "pure", "epsilon": "1"}
    page = (Path(__file__).parents[2] / "docs" / "sequences.md").read_text(encoding="utf-8")
    assert all(f"`{path.name}`" in page for path in (visits.parent / "o").iterdir())
    assert run("verify", "o", "--ledger", book).code == 0
    rebind = ("ledger", "rebind", book, visits, "--reason", "a late visit")
    assert run(*rebind, "--skip-lines", "1").code == 0


def test_a_symbol_that_was_not_declared_is_named_by_its_line_and_never_shown(run, visits):
    told = run("sequences", "release", visits, "--epsilon", "1", "--out", "o")
    assert told.code == ExitCode.DATA
    assert "line 1" in told.err and "opened" not in told.err
    assert not (visits.parent / "o").exists()


def test_persons_are_told_by_the_first_field(run, visits):
    text = SCHEMA.replace('"sequence"', '"person"\nmax_sequences = 2')
    (visits.parent / "visits.schema.toml").write_text(text, encoding="utf-8")
    lines = [f"p{number % 40} home news" for number in range(200)]
    visits.write_text("\n".join(lines) + "\n", encoding="utf-8")
    words = ("sequences", "release", visits, "--epsilon", "1", "--out", "o", "--no-report")
    document = run(*words, "--json").document
    assert document["guarantee"]["unit"] == "person"
    assert sf.load("o").public.contribution == 2


def test_frequent_strings_are_listed(run, released):
    document = run("sequences", "top", released, "-k", "4", "--json").document
    assert len(document["strings"]) == 4 and document["strings"][0]["string"] == ["home"]
    told = run("sequences", "top", released, "-k", "3", "--length", "2")
    assert told.code == 0 and "home home" in told.out
    told = run("sequences", "top", released, "-k", "3", "--length", "100000")
    assert told.code == ExitCode.USAGE and "fewer or shorter" in told.err
    assert len(told.err.splitlines()) < 5


def test_sequences_are_drawn_into_a_file_or_shown(run, released, tmp_path):
    words = ("sequences", "sample", released, "--rows", "5", "--seed", "1")
    shown = run(*words)
    assert shown.code == 0 and len(shown.out.splitlines()) == 5
    document = run(*words, "--out", "s.txt", "--json").document
    assert document["rows"] == 5 and "sequences" not in document
    assert (tmp_path / "s.txt").read_text() == shown.out
    again = run(*words, "--out", "s.txt")
    assert again.code == ExitCode.USAGE and "exists" in again.err
    given = run(*words, "--json").document["sequences"]
    assert [" ".join(sequence) for sequence in given] == shown.out.splitlines()
    bad = run(*words, "--separator", "o")
    assert bad.code == ExitCode.USAGE and "holds 'o'" in bad.err


def test_an_evaluation_is_marked_as_not_private(run, visits, released):
    words = ("sequences", "evaluate", visits, released, "--skip-lines", "1", "--top", "5")
    told = run(*words, "--json")
    assert told.code == 0 and "Not private" in told.err and told.document["private"] is False
    shown = run(*words)
    assert "Not private" in shown.out and "5 most frequent strings" in shown.out


def test_a_list_of_strings_has_no_counts_and_nothing_to_draw_from(run, visits):
    words = ("sequences", "release", visits, "--epsilon", "5", "--skip-lines", "1", "--out", "t")
    told = run(*words, "--method", "topstrings", "--strings", "6")
    assert told.code == 0
    listed = run("sequences", "top", "t", "-k", "2", "--json").document["strings"]
    assert len(listed) == 2 and listed[0]["count"] is None
    assert "This release holds no frequencies" in run("sequences", "top", "t").out
    told = run("sequences", "sample", "t", "--rows", "3")
    assert told.code == ExitCode.USAGE and "frequent strings" in told.err
    told = run("sequences", "evaluate", visits, "t", "--skip-lines", "1", "--top", "4", "--json")
    assert told.document["length_distance"] is None
