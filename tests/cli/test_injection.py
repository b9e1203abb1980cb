"""Names, categories, notes and file names that try to command a terminal or a page."""

import csv
import io
import json
import random
import re
import sqlite3

import pytest

from sfumato.cli.exits import ExitCode
from sfumato.privacy.escaping import escape

CLAIM = "ALL CHECKS PASSED"
#: One of each kind: sequences of ESC and of the eighth bit, a title, controls that overwrite, lines
#: of their own, directions of writing, markup of Rich and of HTML.
INJECTIONS = (
    f"\x1b[2J\x1b[H\x1b[32m{CLAIM}\x1b[0m",
    f"\x9b2J\x9bH{CLAIM}",
    f"\x1b]0;{CLAIM}\x07",
    f"\rok  {CLAIM}",
    f"x\b\b\b\x7f{CLAIM}",
    f"x\nok  {CLAIM}",
    f"x\x0b\x0c\x85ok  {CLAIM}",
    f"x\u2028ok  {CLAIM}",
    f"\u202e{CLAIM[::-1]}\u202c",
    f"\u2067\u061c\u200f{CLAIM}",
    f"[red]{CLAIM}[/red]",
    f"<b>{CLAIM}</b>",
)
NASTY = "".join(INJECTIONS)
#: The same for places where a newline or a carriage return ends a record.
ONE_LINE = re.sub("[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]", "", NASTY)
FORBIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ud800-\udfff]"
)


def quoted(text):
    """Return a text as TOML and JSON write it."""
    return json.dumps(text).replace("\x7f", "\\u007f")


def assert_harmless(*texts):
    """Fail if a text commands a terminal, or if a smuggled line stands at the margin."""
    for text in texts:
        assert FORBIDDEN.search(text) is None
        assert not re.search(rf"^(ok  )?{CLAIM}", text, re.MULTILINE)


@pytest.fixture
def shown(run):
    """Run a command that shows something of a file, as words and as JSON."""

    def call(*words, code=0, json_too=True):
        told = run(*words)
        assert told.code == code, told.err
        assert_harmless(told.out, told.err)
        if json_too:
            again = run(*words, "--json")
            assert again.code == code, again.err
            assert_harmless(again.out, again.err)
        return told

    return call


@pytest.fixture
def nasty_table(tmp_path):
    """A table whose column and categories are injections, with its schema."""
    rows = io.StringIO()
    writer = csv.writer(rows, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerow([ONE_LINE, "group", "level"])
    draw = random.Random(1)
    writer.writerows(
        [draw.choice(INJECTIONS), draw.choice("ab"), draw.choice("cd")] for _ in range(200)
    )
    path = tmp_path / "table.csv"
    path.write_text(rows.getvalue(), encoding="utf-8")
    values = ", ".join(map(quoted, INJECTIONS))
    (tmp_path / "table.schema.toml").write_text(
        f"""\
[table]
unit = "row"
rows_about = 200

[columns.{quoted(ONE_LINE)}]
kind = "category"
values = [{values}]

[columns.group]
kind = "category"
values = ["a", "b"]

[columns.level]
kind = "category"
values = ["c", "d"]
""",
        encoding="utf-8",
    )
    return path


@pytest.mark.parametrize("text", INJECTIONS)
def test_what_is_escaped_can_be_shown_and_is_still_told_apart(text):
    assert FORBIDDEN.search(escape(text)) is None and "\n" not in escape(text)
    assert escape(escape(text)) == escape(text)
    assert escape("a\tb\nc\x1b", lines=True) == "a\tb\nc\\u001b"
    assert len({escape(item) for item in INJECTIONS}) == len(INJECTIONS)


def test_letters_of_all_languages_stay_as_they_are():
    for text in ("Đặng Ngân", "می\u200cخواهم", "שלום", "👩\u200d⚕️", "a\u00a0b", "ε ≤ 1"):
        assert escape(text) == text


def test_on_a_terminal_only_the_program_sets_colours():
    from rich.table import Table
    from rich.text import Text

    from sfumato.cli.console import EscapingConsole

    file = io.StringIO()
    console = EscapingConsole(file=file, force_terminal=True, width=4000, _environ={})
    grid = Table(NASTY)
    grid.add_row(Text(NASTY, style="bold red"))
    console.print(NASTY, style="green")
    console.print(grid)
    console.out(NASTY, highlight=False)
    text = file.getvalue()
    assert "\x1b[32m" in text
    assert_harmless(re.sub("\x1b\\[[0-9;]*m", "", text).replace(f"\nok  {CLAIM}", ""))
    assert f"[red]{CLAIM}[/red]" in text
    with pytest.raises(TypeError, match="only text and tables"):
        console.print(object())


def test_a_table_is_planned_released_checked_and_reported_harmlessly(shown, nasty_table, tmp_path):
    words = (nasty_table, "--epsilon", "1", "--method", "marginals")
    shown("table", "plan", *words)
    shown("table", "release", *words, "--out", "o", json_too=False)
    shown("verify", "o")
    shown("report", "o")
    shown("table", "evaluate", nasty_table, "o")
    page = (tmp_path / "o" / "report.html").read_text(encoding="utf-8")
    assert_harmless(page, (tmp_path / "o" / "README.txt").read_text(encoding="utf-8"))
    assert f"<b>{CLAIM}" not in page and f"&lt;b&gt;{CLAIM}" in page


def test_a_synthetic_table_is_shown_harmlessly(shown, nasty_table):
    words = ("table", "release", nasty_table, "--epsilon", "1", "--method", "independent")
    shown(*words, "--out", "s", "--no-report", json_too=False)
    shown("table", "network", "s")


def test_a_draft_of_a_schema_is_harmless_and_reads_back(shown, nasty_table, tmp_path):
    from sfumato.data.toml import read

    told = shown("table", "schema", nasty_table, "--unit", "row")
    draft = tmp_path / "draft.toml"
    draft.write_text(told.out, encoding="utf-8")
    column = read(draft).columns[0]
    assert column.name == ONE_LINE


def test_the_object_of_a_verification_is_harmless_when_it_is_printed(nasty_table, tmp_path):
    import sfumato as sf

    table = sf.read_table(nasty_table, schema=tmp_path / "table.schema.toml")
    release = sf.Marginals(epsilon=1).release(table)
    release.save(tmp_path / "o")
    shown = [sf.verify(tmp_path / "o"), release, release.guarantee, release.plan, release.words()]
    assert_harmless(*map(str, shown), *map(repr, shown[:2]))


def test_a_crafted_certificate_cannot_write_on_the_screen(shown, nasty_table, tmp_path):
    words = ("table", "release", nasty_table, "--epsilon", "1", "--method", "marginals")
    shown(*words, "--out", "o", "--no-report", json_too=False)
    place = tmp_path / "o" / "certificate.json"
    honest = json.loads(place.read_text(encoding="utf-8"))
    for name in ("method", "time", "code", "kind", "versions", "ledger", "guarantee", "files"):
        crafted = dict(honest)
        crafted[name] = {
            "versions": {"sfumato": NASTY},
            "ledger": {"reference": NASTY, "identity": NASTY, "entry": 1, "head": NASTY},
            "guarantee": {**honest["guarantee"], "public": [NASTY], "ledger": NASTY},
            "files": {**honest["files"], ONE_LINE.replace("/", ""): "0" * 64},
        }.get(name, NASTY)
        place.write_text(json.dumps(crafted), encoding="utf-8")
        shown("verify", "o", code=ExitCode.VERIFICATION)
        shown("report", "o", code=ExitCode.VERIFICATION)


def test_a_folder_and_a_ledger_with_a_nasty_name_are_shown_harmlessly(shown, run, nasty_table):
    name = NASTY.replace("/", "")[:80]
    shown("ledger", "create", name, "--allow-epsilon", "2", "--unit", "row", json_too=False)
    words = ("table", "release", nasty_table, "--epsilon", "1", "--method", "marginals")
    shown(*words, "--ledger", name, "--out", f"o{name}", json_too=False)
    shown("ledger", "show", name)
    shown("ledger", "history", name)
    shown("verify", f"o{name}", "--ledger", name)
    shown("report", f"o{name}")
    shown("table", "plan", f"{name}.csv", "--epsilon", "1", code=ExitCode.USAGE)
    shown("verify", f"none{name}", code=ExitCode.VERIFICATION)
    shown(*words, "--ledger", name, "--out", "p", "--epsilon", "3", code=ExitCode.BUDGET)
    reason = ("--reason", NASTY)
    shown("ledger", "rebind", name, nasty_table, *reason, json_too=False)
    shown("ledger", "history", name)


def test_a_ledger_whose_events_were_written_by_somebody_else_is_shown_harmlessly(shown, tmp_path):
    shown("ledger", "create", "b.ledger", "--allow-epsilon", "2", "--unit", "row", json_too=False)
    with sqlite3.connect(tmp_path / "b.ledger") as books:
        (table,) = books.execute("SELECT name FROM sqlite_master WHERE type='table'").fetchone()
        (body,) = books.execute(f"SELECT body FROM {table}").fetchone()
        event = json.loads(body)
        books.execute("DROP TRIGGER IF EXISTS no_update")
        for (trigger,) in books.execute(
            "SELECT name FROM sqlite_master WHERE type='trigger'"
        ).fetchall():
            books.execute(f"DROP TRIGGER {trigger}")
        crafted = json.dumps({**event, "unit": NASTY, "identity": NASTY})
        books.execute(f"UPDATE {table} SET body = ?", (crafted,))
    books.close()
    shown("ledger", "show", "b.ledger", code=ExitCode.LEDGER)


def test_a_wrong_command_line_is_repeated_harmlessly(shown, nasty_table):
    shown("table", "plan", nasty_table, f"--{NASTY}", code=ExitCode.USAGE)
    shown("table", "plan", nasty_table, NASTY, code=ExitCode.USAGE)
    shown(NASTY, code=ExitCode.USAGE)
    shown("table", "plan", nasty_table, "--epsilon", NASTY, code=ExitCode.USAGE)


def test_a_schema_that_is_wrong_is_quoted_harmlessly(shown, nasty_table, tmp_path):
    place = tmp_path / "table.schema.toml"
    good = place.read_text(encoding="utf-8")
    for old, new in (
        ('kind = "category"', f"kind = {quoted(NASTY)}"),
        ('unit = "row"', f"unit = {quoted(NASTY)}"),
        ("[table]", f"[table]\n{quoted(NASTY)} = 1"),
        ('values = ["a", "b"]', f"values = [{quoted(NASTY)}, {quoted(NASTY)}]"),
        ("[columns.group]", f"[columns.{quoted(NASTY)}]"),
    ):
        place.write_text(good.replace(old, new), encoding="utf-8")
        words = ("table", "release", nasty_table, "--epsilon", "1", "--out", "o")
        shown(*words, code=ExitCode.DATA)


def test_points_are_shown_harmlessly(shown, tmp_path):
    lines = [f"{ONE_LINE.replace(',', '')},y", *(f"{n % 7},{n % 5}" for n in range(100))]
    (tmp_path / "p.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "p.schema.toml").write_text(
        f'[points]\nunit = "point"\n\n[axes]\n{quoted(ONE_LINE)} = [0, 7]\ny = [0, 5]\n',
        encoding="utf-8",
    )
    words = ("p.csv", "--epsilon", "1", "--method", "uniformgrid", "--set", "cells=2")
    shown("points", "plan", *words)
    shown("points", "release", *words, "--out", "o", json_too=False)
    shown("verify", "o")
    shown("points", "query", "o", "--box", "0:1,0:1")
    shown("points", "map", "o", "--out", "m.html", json_too=False)
    for page in ("m.html", "o/report.html"):
        assert_harmless((tmp_path / page).read_text(encoding="utf-8"))


def test_sequences_are_shown_harmlessly(shown, tmp_path):
    symbol = ONE_LINE.replace(" ", "_")
    (tmp_path / "s.txt").write_text(f"a {symbol} a\n" * 60, encoding="utf-8")
    (tmp_path / "s.schema.toml").write_text(
        f'[sequences]\nunit = "sequence"\nalphabet = ["a", {quoted(symbol)}]\n', encoding="utf-8"
    )
    words = ("s.txt", "--epsilon", "9")
    shown("sequences", "plan", *words)
    shown("sequences", "release", *words, "--out", "o", json_too=False)
    shown("sequences", "top", "o", "-k", "3")
    shown("sequences", "sample", "o", "--rows", "3")
    shown("verify", "o")
    assert_harmless((tmp_path / "o" / "report.html").read_text(encoding="utf-8"))


def test_a_graph_is_shown_harmlessly(shown, tmp_path):
    node = ONE_LINE.replace(" ", "_")
    (tmp_path / "people.txt").write_text(f"{node}\nb\nc\n", encoding="utf-8")
    (tmp_path / "g.txt").write_text("b\tc\n", encoding="utf-8")
    words = ("g.txt", "--nodes", "people.txt", "--epsilon", "1", "--out", "o")
    shown("graph", "degrees", *words, json_too=False)
    shown("verify", "o")
    (tmp_path / "bad.txt").write_text(f"b\t{node}{node}\n", encoding="utf-8")
    shown("graph", "degrees", "bad.txt", *words[1:-1], "p", code=ExitCode.DATA)


def test_a_survey_is_shown_harmlessly(shown, tmp_path):
    answers = ", ".join(map(quoted, INJECTIONS[:4]))
    (tmp_path / "survey.toml").write_text(
        f"""\
[survey]
name = {quoted(NASTY)}
epsilon = 2
respondents_about = 500

[[question]]
name = {quoted(ONE_LINE)}
ask = {quoted(NASTY)}
answers = [{answers}]
""",
        encoding="utf-8",
    )
    shown("collect", "plan", "survey.toml")
    shown("collect", "plan", "survey.toml", "--out", "survey.json", json_too=False)
    mine = ("--answer", f"{ONE_LINE}={INJECTIONS[0]}")
    report = shown("collect", "perturb", "survey.json", *mine, json_too=False).out
    (tmp_path / "reports.jsonl").write_text(report * 3, encoding="utf-8")
    tally = ("collect", "aggregate", "survey.json", "reports.jsonl", "--out", "tally.json")
    shown(*tally, json_too=False)
    shown("collect", "report", "survey.json", "tally.json", "--out", "r.html", json_too=False)
    assert_harmless((tmp_path / "r.html").read_text(encoding="utf-8"))


def test_a_model_is_shown_harmlessly(shown, tmp_path):
    name = ONE_LINE.replace(",", "")
    lines = [f"{name},y", *(f"{n % 10},{n % 3}" for n in range(200))]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    numbers = 'kind = "number"\nlow = 0\nhigh = 10\nbins = 5\n'
    (tmp_path / "t.schema.toml").write_text(
        f'[table]\nunit = "row"\n\n[columns.{quoted(name)}]\n{numbers}\n[columns.y]\n{numbers}',
        encoding="utf-8",
    )
    words = ("t.csv", "--target", "y", "--epsilon", "5", "--method", "functionalregression")
    shown("regress", "plan", *words)
    shown("regress", "fit", *words, "--out", "o", json_too=False)
    shown("regress", "predict", "o", "t.csv")
    shown("regress", "evaluate", "t.csv", "o")
    assert_harmless((tmp_path / "o" / "report.html").read_text(encoding="utf-8"))


def test_a_traceback_that_was_asked_for_is_shown_harmlessly(run, nasty_table, monkeypatch):
    def fail(*_, **__):
        raise ValueError(NASTY)

    monkeypatch.setenv("SFUMATO_TRACEBACK", "1")
    monkeypatch.setattr("sfumato.data.table.read_table", fail)
    told = run("table", "release", nasty_table, "--epsilon", "1", "--out", "o")
    assert told.code == ExitCode.UNEXPECTED and CLAIM in told.err
    assert FORBIDDEN.search(told.err) is None
