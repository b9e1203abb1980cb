"""Names, categories, notes and file names that try to command a terminal or a page."""

import csv
import io
import json
import random
import re
import sqlite3
import xml.etree.ElementTree as ElementTree
from functools import cache, wraps

import numpy as np
import pytest
from bed_reader import to_bed

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
    f"$\\frac{{{CLAIM}$",
)
NASTY = "".join(INJECTIONS)
#: Of as many bytes as the name of a file may have, with an ending.
FILE = NASTY.replace("/", "")[:80]
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


def assert_harmless_page(place):
    """Fail if a page commands a browser, or if it shows nothing of what was smuggled in."""
    page = place.read_text(encoding="utf-8")
    assert_harmless(page)
    page = page.replace("_", " ")
    assert f"<b>{CLAIM}" not in page and f"&lt;b&gt;{CLAIM}" in page


def _walk(command, path=()):
    if not hasattr(command, "commands"):
        return {" ".join(path)}
    return {
        found for name, inner in command.commands.items() for found in _walk(inner, (*path, name))
    }


@cache
def commands():
    """Return every command of the command line."""
    import typer

    from sfumato.cli.main import app

    return _walk(typer.main.get_command(app))


COVERED = set()


def covers(*names):
    """Say of which commands a test shows an injection; it fails if it does not."""
    COVERED.update(names)

    def decorate(test):
        @wraps(test)
        def wrapped(*args, shown, **others):
            test(*args, shown=shown, **others)
            assert set(names) <= shown.commands

        return wrapped

    return decorate


def test_every_command_is_tried_with_injections():
    assert commands() == COVERED


@pytest.fixture
def shown(run):
    """Run a command that shows something of a file, as words and as JSON."""

    def call(*words, code=0, json_too=True):
        told = run(*words)
        assert told.code == code, told.err
        assert_harmless(told.out, told.err)
        if CLAIM in (told.out + told.err).replace("_", " "):
            call.commands |= {" ".join(words[:1]), " ".join(map(str, words[:2]))} & commands()
        if json_too:
            again = run(*words, "--json")
            assert again.code == code, again.err
            assert_harmless(again.out, again.err)
        return told

    call.commands = set()
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


#: The same as the name of a column that an option can name.
SAID = ONE_LINE.replace(",", "")


@pytest.fixture
def nasty_rows(tmp_path):
    """Rows for a regression, one of whose columns and whose categories are injections."""
    draw = random.Random(1)
    rows = io.StringIO()
    writer = csv.writer(rows, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerow([SAID, "group", "y" + SAID])
    writer.writerows(
        [draw.choice(INJECTIONS[:4]), draw.choice("ab"), draw.randrange(10)] for _ in range(200)
    )
    (tmp_path / "t.csv").write_text(rows.getvalue(), encoding="utf-8")
    values = ", ".join(map(quoted, INJECTIONS[:4]))
    (tmp_path / "t.schema.toml").write_text(
        f"""\
[table]
unit = "row"

[columns.{quoted(SAID)}]
kind = "category"
values = [{values}]

[columns.group]
kind = "category"
values = ["a", "b"]

[columns.{quoted("y" + SAID)}]
kind = "number"
low = 0
high = 10
bins = 5
""",
        encoding="utf-8",
    )
    return ("t.csv", "--target", "y" + SAID)


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


@covers("table plan", "table rehearse", "table ask")
def test_a_table_is_planned_released_checked_and_reported_harmlessly(shown, nasty_table, tmp_path):
    words = (nasty_table, "--epsilon", "1", "--method", "marginals")
    shown("table", "plan", *words)
    shown("table", "release", *words, "--out", "o", json_too=False)
    shown("verify", "o")
    shown("report", "o")
    shown("table", "evaluate", nasty_table, "o")
    shown("table", "rehearse", *words, "--out", f"r{FILE}", json_too=False)
    assert_harmless((tmp_path / "o" / "README.txt").read_text(encoding="utf-8"))
    assert_harmless_page(tmp_path / "o" / "report.html")
    question = {ONE_LINE: [INJECTIONS[0]]}
    shown("table", "ask", nasty_table, "--epsilon", "1", "--question", json.dumps(question))


@covers("table network", "table evaluate")
def test_a_synthetic_table_is_shown_harmlessly(shown, nasty_table):
    words = ("table", "release", nasty_table, "--epsilon", "1", "--method", "independent")
    shown(*words, "--out", "s", "--no-report", json_too=False)
    shown("table", "network", "s", "--out", f"n{FILE}.svg")
    ElementTree.parse(nasty_table.parent / f"n{FILE}.svg")
    shown("table", "evaluate", nasty_table, "s", "--predict", f'"{ONE_LINE}"')


@covers("table schema")
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


@covers("table release", "verify", "report")
@covers(*(f"ledger {name}" for name in ("create", "show", "history", "rebind", "check")))
def test_a_folder_and_a_ledger_with_a_nasty_name_are_shown_harmlessly(shown, run, nasty_table):
    name = FILE
    shown("ledger", "create", name, "--allow-epsilon", "2", "--unit", "row", json_too=False)
    words = ("table", "release", nasty_table, "--epsilon", "1", "--method", "marginals")
    shown(*words, "--ledger", name, "--out", f"o{name}", json_too=False)
    shown("ledger", "show", name)
    shown("ledger", "history", name)
    shown("verify", f"o{name}", "--ledger", name)
    shown("report", f"o{name}")
    shown("ledger", "check", name, f"o{name}")
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


@covers(
    "points schema",
    "points plan",
    "points rehearse",
    "points release",
    "points query",
    "points map",
    "points evaluate",
)
def test_points_are_shown_harmlessly(shown, tmp_path):
    lines = [f"{ONE_LINE.replace(',', '')},y", *(f"{n % 7},{n % 5}" for n in range(100))]
    (tmp_path / "p.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "p.schema.toml").write_text(
        f'[points]\nunit = "point"\n\n[axes]\n{quoted(ONE_LINE)} = [0, 7]\ny = [0, 5]\n',
        encoding="utf-8",
    )
    axes = ("--axis", f"{ONE_LINE.replace('=', '')}=0:7", "--axis", "y=0:5")
    shown("points", "schema", "--unit", "point", *axes)
    words = ("p.csv", "--epsilon", "1", "--method", "uniformgrid", "--cells", "2")
    shown("points", "plan", *words)
    shown("points", "plan", f"{FILE}.csv", *words[1:], code=ExitCode.USAGE)
    shown("points", "rehearse", *words, "--out", f"r{FILE}", json_too=False)
    shown("points", "release", *words, "--out", "o", "--report", json_too=False)
    shown("verify", "o")
    shown("points", "query", "o", "--box", "0:1,0:1")
    shown("points", "map", "o", "--out", f"m{FILE}.html", json_too=False)
    shown("points", "map", "o", "--out", f"m{FILE}.svg", json_too=False)
    ElementTree.parse(tmp_path / f"m{FILE}.svg")
    shown("points", "evaluate", "p.csv", "o", "--queries", "5")
    shown("points", "evaluate", f"{FILE}.csv", "o", code=ExitCode.USAGE)
    for page in (f"m{FILE}.html", "o/report.html"):
        assert_harmless_page(tmp_path / page)


@covers(
    "sequences schema",
    "sequences plan",
    "sequences rehearse",
    "sequences release",
    "sequences top",
    "sequences sample",
    "sequences evaluate",
)
def test_sequences_are_shown_harmlessly(shown, tmp_path):
    symbol = ONE_LINE.replace(" ", "_")
    (tmp_path / "s.txt").write_text(f"a {symbol} a\n" * 60, encoding="utf-8")
    (tmp_path / "s.schema.toml").write_text(
        f'[sequences]\nunit = "sequence"\nalphabet = ["a", {quoted(symbol)}]\n', encoding="utf-8"
    )
    (tmp_path / "symbols").write_text(f"a\n{symbol}\n", encoding="utf-8")
    shown("sequences", "schema", "--unit", "sequence", "--alphabet-file", "symbols")
    words = ("s.txt", "--epsilon", "9")
    shown("sequences", "plan", *words)
    shown("sequences", "plan", f"{FILE}.txt", *words[1:], code=ExitCode.USAGE)
    shown("sequences", "rehearse", *words, "--out", f"r{FILE}", json_too=False)
    place = f"o{FILE}"
    shown("sequences", "release", *words, "--out", place, "--report", json_too=False)
    shown("sequences", "top", place, "-k", "3")
    shown("sequences", "sample", place, "--rows", "30")
    shown("sequences", "evaluate", "s.txt", place)
    shown("sequences", "evaluate", f"{FILE}.txt", place, code=ExitCode.USAGE)
    shown("verify", place)
    assert_harmless_page(tmp_path / place / "report.html")


#: The same as the name of a node, in a file where these stand between two.
NODE = re.sub("[ ,;]", "_", ONE_LINE)


@pytest.fixture
def nasty_graph(tmp_path):
    """A graph of a node whose name is an injection, with its nodes."""
    names = [NODE, *"bcdefgh"]
    (tmp_path / "people.txt").write_text("\n".join(names) + "\n", encoding="utf-8")
    (tmp_path / "groups.txt").write_text(
        "".join(f"{name}\t{ONE_LINE}\n" for name in names), encoding="utf-8"
    )
    edges = [(NODE, "b"), (NODE, "c"), *zip("bcdefg", "cdefgh", strict=True)]
    (tmp_path / "g.txt").write_text(
        "".join(f"{one}\t{other}\n" for one, other in edges), encoding="utf-8"
    )
    return ("g.txt", "--nodes", "people.txt", "--epsilon", "1")


@covers(*(f"graph {name}" for name in ("degrees", "plan", "rehearse", "release", "evaluate")))
def test_a_graph_is_shown_harmlessly(shown, nasty_graph, tmp_path):
    shown("graph", "degrees", *nasty_graph, "--out", f"o{FILE}", json_too=False)
    shown("verify", f"o{FILE}")
    shown("graph", "evaluate", "g.txt", f"o{FILE}", "--picture", f"e{FILE}.svg")
    of_a_node = ("--method", "graphstatistic", "--expression", "degree(v)")
    words = (*nasty_graph, *of_a_node, "--node", NODE)
    shown("graph", "plan", *words)
    shown("graph", "rehearse", *words, "--out", f"r{FILE}", json_too=False)
    shown("graph", "release", *words, "--out", f"p{FILE}", "--report", json_too=False)
    assert_harmless_page(tmp_path / f"p{FILE}" / "report.html")
    (tmp_path / "bad.txt").write_text(f"b\t{NODE}{NODE}\n", encoding="utf-8")
    shown("graph", "degrees", "bad.txt", *nasty_graph[1:], "--out", "q", code=ExitCode.DATA)


@covers("graph count", "graph stats")
def test_statistics_of_a_graph_are_shown_harmlessly(shown, nasty_graph, tmp_path):
    shown("graph", "count", *nasty_graph, "--out", f"c{FILE}", json_too=False)
    formula = ("--expression", "degree(v)", "--node", NODE)
    words = ("graph", "stats", *nasty_graph, *formula, "--out", f"s{FILE}", "--report")
    shown(*words, json_too=False)
    assert_harmless_page(tmp_path / f"s{FILE}" / "report.html")
    for wrong in (("--expression", NASTY), ("--expression", "degree(v)", "--node", NASTY)):
        shown("graph", "stats", *nasty_graph, *wrong, "--out", "t", code=ExitCode.USAGE)
    (tmp_path / "groups.txt").write_text(f"{ONE_LINE}\t{ONE_LINE}\n", encoding="utf-8")
    grouped = ("--expression", "edges", "--groups", "groups.txt", "--out", "t")
    shown("graph", "stats", *nasty_graph, *grouped, code=ExitCode.DATA)


@covers("graph synthesize", "graph sample", "graph spectrum", "graph compare")
def test_synthetic_graphs_and_spectra_are_shown_harmlessly(shown, nasty_graph, tmp_path):
    places = {name: f"{name}{FILE}" for name in ("degrees", "kronecker", "spectrum")}
    for keep in ("degrees", "kronecker"):
        words = ("--keep", keep, "--out", places[keep])
        shown("graph", "synthesize", *nasty_graph, *words, json_too=False)
    shown("graph", "spectrum", *nasty_graph, "-k", "2", "--out", places["spectrum"], json_too=False)
    for ending in ("csv", "txt", "graphml"):
        shown("graph", "sample", places["degrees"], "--out", f"s{FILE}.{ending}", json_too=False)
    ElementTree.parse(tmp_path / f"s{FILE}.graphml")
    for name, place in places.items():
        shown("verify", place)
        shown("report", place)
        assert_harmless((tmp_path / place / "report.html").read_text(encoding="utf-8"))
        shown("graph", "compare", "g.txt", place, "--picture", f"{name}{FILE}.svg")
        ElementTree.parse(tmp_path / f"{name}{FILE}.svg")
    shown("graph", "synthesize", *nasty_graph, f"--{NASTY}", "--out", "x", code=ExitCode.USAGE)
    shown("graph", "spectrum", *nasty_graph, f"--{NASTY}=1", "--out", "x", code=2)
    shown("graph", "compare", FILE, places["degrees"], code=ExitCode.USAGE)


@covers("collect plan", "collect perturb", "collect aggregate", "collect report")
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
    place = f"t{FILE}.json"
    tally = ("collect", "aggregate", "survey.json", "reports.jsonl", "--out", place)
    shown(*tally, json_too=False)
    shown("collect", "report", "survey.json", place, "--out", "r.html", json_too=False)
    assert_harmless_page(tmp_path / "r.html")


@covers(*(f"regress {name}" for name in ("plan", "rehearse", "fit", "predict", "evaluate")))
def test_a_model_is_shown_harmlessly(shown, nasty_rows, tmp_path):
    words = (*nasty_rows, "--epsilon", "5", "--method", "functionalregression")
    shown("regress", "plan", *words)
    shown("regress", "plan", f"{FILE}.csv", *words[1:], code=ExitCode.USAGE)
    shown("regress", "rehearse", *words, json_too=False)
    shown("regress", "fit", *words, "--out", "o", "--report", json_too=False)
    shown("regress", "predict", "o", "t.csv")
    shown("regress", "evaluate", "t.csv", "o")
    assert_harmless_page(tmp_path / "o" / "report.html")


@covers("attack inversion")
def test_an_attack_is_shown_harmlessly(shown, nasty_rows, tmp_path):
    words = (*nasty_rows, "--epsilon", "5", "--method", "functionalregression")
    shown("regress", "fit", *words, "--out", "o", "--no-report", json_too=False)
    guess = ("attack", "inversion", "t.csv", "o")
    shown(*guess, "--sensitive", SAID)
    shown(*guess, "--sensitive", "group", "--known", SAID, "--out", f"a{FILE}.html", json_too=False)
    shown(*guess, "--sensitive", SAID, "--out", "a.html", json_too=False)
    assert_harmless_page(tmp_path / "a.html")
    for wrong in (("--sensitive", NASTY), ("--sensitive", "group", "--known", NASTY)):
        shown(*guess, *wrong, code=ExitCode.USAGE)
    shown(*guess, "--sensitive", "group", "--pi", "dp", "--pi-epsilon", NASTY, code=ExitCode.USAGE)


@covers("attack membership", "attack traits", "attack identity")
def test_attacks_on_genomes_are_shown_harmlessly(shown, tmp_path):
    trait, site = re.sub("\t", " ", ONE_LINE), "rs1"
    head = "Disease/Trait\tStrongest SNP-Risk Allele\tRisk Allele Frequency\tp-Value\t"
    rows = f"{head}OR or beta\t95% CI (text)\n{trait}\t{site}-C\t0.3\t1E-9\t9\t[NR]\n"
    (tmp_path / "c.tsv").write_text(rows, encoding="utf-8")
    share = f'trait,prevalence\n"{trait.replace(chr(34), chr(34) * 2)}",0.1\n'
    (tmp_path / "p.csv").write_text(share, encoding="utf-8")
    name = f"{FILE}.csv"
    (tmp_path / name).write_text(f"{site}-C\n0\n1\n2\n0\n", encoding="utf-8")
    model = ("--catalogue", "c.tsv", "--prevalence", "p.csv")
    for attack in ("traits", "identity"):
        shown("attack", attack, name, *model, "--out", f"{attack}.html")
        shown("attack", attack, name, *model, "--released", f"n{name}", code=ExitCode.USAGE)
    assert_harmless_page(tmp_path / "traits.html")
    (tmp_path / "f.csv").write_text("site,frequency\nrs1-C,0.5\n", encoding="utf-8")
    released = f"{FILE[:40]}<b>{CLAIM}.csv"
    (tmp_path / released).write_text("site,frequency\nrs1-C,0.4\n", encoding="utf-8")
    words = ("attack", "membership", name, "--others", name, "--reference", "f.csv")
    words = (*words, "--reference-people", "4", "--released", released, "--out", "m.html")
    shown(*words)
    assert_harmless_page(tmp_path / "m.html")
    shown(*words, "--epsilons", NASTY, code=ExitCode.USAGE)


@covers("gwas plan", "gwas rehearse", "gwas release", "gwas evaluate")
def test_genotypes_are_shown_harmlessly(shown, tmp_path):
    # Names of sites are printable and hold no blanks; markup is both.
    site = f"[red]{CLAIM}[/red]<b>{CLAIM}</b>".replace(" ", "_")
    with np.errstate(all="ignore"):
        to_bed(
            tmp_path / "study.bed",
            np.tile(np.arange(3, dtype=np.int8), (6, 1)),
            properties={"pheno": [2, 1] * 3, "allele_1": ["A"] * 3, "allele_2": ["G"] * 3},
        )
    lines = [f"1\t{name}\t0\t{n}\tA\tG\n" for n, name in enumerate((site, "rs1", "rs2"), 1)]
    (tmp_path / "study.bim").write_text("".join(lines), encoding="utf-8")
    words = ("study", "--epsilon", "9", "--method", "allelefrequencies")
    shown("gwas", "plan", *words)
    shown("gwas", "plan", FILE, *words[1:], code=ExitCode.USAGE)
    shown("gwas", "rehearse", *words, "--rows-about", "6", "--out", f"r{FILE}", json_too=False)
    place = f"o{FILE}"
    shown("gwas", "release", *words, "--out", place, "--report", json_too=False)
    shown("gwas", "evaluate", "study", place)
    shown("gwas", "evaluate", FILE, place, code=ExitCode.DATA)
    shown("verify", place)
    assert_harmless_page(tmp_path / place / "report.html")


KINDS = ("table", "regress", "points", "sequences", "graph", "gwas")


@covers(*(f"{kind} methods" for kind in KINDS))
def test_a_method_that_is_not_there_is_named_harmlessly(shown):
    for kind in KINDS:
        shown(kind, "methods", NASTY, code=ExitCode.USAGE)
    words = ("table", "plan", "--epsilon", "1", "--method")
    shown(*words, NASTY, code=ExitCode.USAGE)
    shown(*words, "privbayes", f"--{NASTY}", "1", code=ExitCode.USAGE)


@covers("audit")
def test_an_audit_is_shown_harmlessly(shown, nasty_table, tmp_path):
    words = ("audit", "majority", "--epsilon", "1", "--trials", "100")
    shown(*words, "--picture", f"a{FILE}.svg", json_too=False)
    words = ("audit", "marginals", "--epsilon", "1", "--trials", "100")
    shown(*words, "--schema", tmp_path / "table.schema.toml")


@covers("keygen")
def test_a_key_is_shown_harmlessly(shown, nasty_table):
    shown("keygen", f"k{FILE}.pem", json_too=False)
    words = ("table", "release", nasty_table, "--epsilon", "1", "--key", f"k{FILE}.pem")
    shown(*words, "--out", "o", "--no-report", json_too=False)
    shown("verify", "o", "--key", f"k{FILE}.pub", json_too=False)
    shown("verify", "o", "--key", f"none{FILE}.pub", code=ExitCode.VERIFICATION)


@covers("demo")
def test_a_demo_is_shown_harmlessly(shown):
    shown("demo", "--out", f"d{FILE}", json_too=False)


@covers("ledger recover")
def test_what_is_recovered_is_shown_harmlessly(shown, nasty_table, tmp_path):
    import sfumato as sf

    name = f"l{FILE}"
    shown("ledger", "create", name, "--allow-epsilon", "2", "--unit", "row", json_too=False)
    table = sf.read_table(nasty_table, schema=tmp_path / "table.schema.toml")
    sf.Marginals(epsilon=1).release(table, ledger=sf.Ledger.open(tmp_path / name))
    shown("ledger", "recover", name)
    shown("ledger", "recover", name, "--out", f"o{FILE}", "--report", json_too=False)
    assert_harmless_page(tmp_path / f"o{FILE}" / "report.html")


def test_a_traceback_that_was_asked_for_is_shown_harmlessly(run, nasty_table, monkeypatch):
    def fail(*_, **__):
        raise ValueError(NASTY)

    monkeypatch.setenv("SFUMATO_TRACEBACK", "1")
    monkeypatch.setattr("sfumato.data.table.read_table", fail)
    told = run("table", "release", nasty_table, "--epsilon", "1", "--out", "o")
    assert told.code == ExitCode.UNEXPECTED and CLAIM in told.err
    assert FORBIDDEN.search(told.err) is None
