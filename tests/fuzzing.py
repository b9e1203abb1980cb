"""Bad files for every reader: small good ones, damaged by a mutator that knows their form.

`tests/corpus/good` holds a small good file for every reader that reads text; what is binary or
certified (Parquet, releases, ledgers, keys, surveys) is made from them by the command line. A case
is a number: it chooses the reader, the command and the damage, so that every failure can be made
again. `tests/test_bad_files.py` tries a few hundred cases, `benchmarks/fuzz.py` as many as wanted.

The private files hold canaries: texts and numbers that may appear in nothing a command shows or
leaves behind.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import lzma
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

CORPUS = Path(__file__).parent / "corpus"
LIMIT = 5.0
"""Seconds of processor time after which a command counts as hanging."""
WAITING = 60.0
"""And of waiting, on a machine that has other things to do."""
CANARIES = ("QZCANARYZQ", "73519264")
"""A text and a number that stand in private files and must be shown nowhere."""

HUGE = ("1" + "0" * 30, "1" + "0" * 5000, "9223372036854775808", "-9223372036854775809", "16777217")
SCALARS = (
    "0", "-1", "1", "2", "0.1", "-0.0", "1e308", "1e-308", "5e-324", "1e400", "1000000",
    "1048576", "10000000", "true", "false", *HUGE,
)  # fmt: skip
TOML_VALUES = (
    *SCALARS, "inf", "-inf", "nan", "[]", "[[]]", "{}", "{a = {b = 1}}", '""', '" "', '"\\u0000"',
    '"\\u001b[2J"', '"\\u202e"', '"=1+1"', '"(missing)"', '"row"', '"person"', '"0.5"', '"inf"',
    "1979-05-27", "0001-01-01", "9999-12-31", "07:32:00", "1979-05-27T07:32:00Z", "[1, 'a', 2.0]",
    "[nan]", "[inf, inf]", "[1, 1]", "['a', 'a']", "[true, false]", "'" + "x" * 10_000 + "'",
    "[" * 60 + "]" * 60, "[" * 3000 + "]" * 3000, "[[1, 2], [3]]", "[-1e308, 1e308]", "0x7f",
)  # fmt: skip
JSON_VALUES = (
    *SCALARS, "NaN", "Infinity", "null", "[]", "[[]]", "{}", '{"a": {"b": 1}}', '""', '"\\u0000"',
    '"\\u001b[2J"', '"\\ud800"', '"1/0"', '"1e9999999"', '"nan"', '[1, "a", 2.0]',
    "[" * 60 + "]" * 60, "[" * 100_000, '"' + "x" * 10_000 + '"', '"../../x"',
    '{"integer": "1"}', '{"array": "a00000"}',
)  # fmt: skip
CELLS = (
    "", " ", "NA", "nan", "inf", "-inf", "1e400", "1e308", *HUGE, "-1", "0.5", "1,2", '"', '""',
    '"a', 'a"b', "\0", "\x1b[2J", "=1+1", "x" * 10_000, "２", "1_000", "0x10", "9999-12-31",
    "0000-00-00", "2021-02-30", "true", "Delft", "home", "\ufeff", "\u2028", *CANARIES,
)  # fmt: skip
BYTES = (
    b"\0", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\r", b"\n", b"\r\n", b'"',
    b"\x1b[2J", b"\t", b",", b"\xf4\x90\x80\x80", b"[" * 3000, b"{" * 3000, b"9" * 5000,
    b"\xe2\x80\xa8",
)  # fmt: skip


class Hang(BaseException):
    """A command took longer than any bad file is worth."""


Damage = Callable[[bytes, random.Random], bytes]


def damage_bytes(content: bytes, draw: random.Random) -> bytes:
    """Flip, cut, repeat or insert bytes anywhere."""
    place = draw.randrange(len(content) + 1)
    match draw.randrange(9):
        case 0 if place < len(content):
            return (
                content[:place]
                + bytes([content[place] ^ 1 << draw.randrange(8)])
                + (content[place + 1 :])
            )
        case 1:
            return content[:place]
        case 2:
            return content[:place] + content[place + draw.randrange(1, 40) :]
        case 3:
            return content[:place] + content[max(0, place - draw.randrange(1, 80)) :]
        case 4:
            return draw.choice((b"\xef\xbb\xbf", b"\xff\xfe", b"\n", b"\0", b"#")) + content
        case 5:
            ending = draw.choice((b"\r\n", b"\r", b"\n\r", b"\n\n"))
            return content.replace(b"\n", ending, draw.choice((1, 3, -1)))
        case 6:
            return draw.choice((b"", b"\n", b"\0" * 100, b"\xff" * 100, content * 3))
        case 7:
            return content.decode("utf-8", "replace").encode("utf-16")
    return content[:place] + draw.choice(BYTES) + content[place:]


def damage_lines(content: bytes, draw: random.Random) -> bytes:
    """Repeat, drop, join or exchange lines."""
    lines = content.split(b"\n")
    first, second = draw.randrange(len(lines)), draw.randrange(len(lines))
    match draw.randrange(5):
        case 0:
            lines.insert(second, lines[first])
        case 1:
            del lines[first]
        case 2:
            lines[first], lines[second] = lines[second], lines[first]
        case 3:
            lines[first] = lines[first] * draw.choice((2, 1000))
        case _:
            lines[first : first + 1] = [lines[first]] * 500
    return b"\n".join(lines)


def damage_toml(content: bytes, draw: random.Random) -> bytes:
    """Give a key, a part of its value or a heading another meaning."""
    if draw.random() < 0.15:
        return draw.choice((damage_bytes, damage_lines))(content, draw)
    lines = content.decode().split("\n")
    number = draw.choice([i for i, line in enumerate(lines) if line.strip()])
    line = lines[number]
    key, sign, value = line.partition(" = ")
    if not sign:
        name = draw.choice(("table", "columns", "points", "axes", "a.b", "columns.age.x", '""'))
        lines[number] = draw.choice((f"[{name}]", f"[[{name}]]", f"{line}\n{line}", f"[{line}]"))
        return "\n".join(lines).encode()
    match draw.randrange(8):
        case 0 | 1 | 2 | 3:
            lines[number] = f"{key} = {draw.choice(TOML_VALUES)}"
        case 4 | 5:
            places = list(re.finditer(r'"[^"]*"|-?[\d.]+|true|false', value))
            if places:
                start, end = draw.choice(places).span()
                value = value[:start] + draw.choice(TOML_VALUES) + value[end:]
            lines[number] = f"{key} = {value}"
        case 6:
            lines[number] = f"{draw.choice(('kind', 'unit', 'low', 'x', key + 'x'))} = {value}"
        case _:
            lines[number] = draw.choice(
                ("", f"{line}\n{line}", f"{key} = [{value}]", f"{key}.a = {value}")
            )
    return "\n".join(lines).encode()


def damage_json(content: bytes, draw: random.Random) -> bytes:
    """Replace a value of a document, or drop or add one."""
    try:
        document = json.loads(content)
    except ValueError:
        return damage_bytes(content, draw)
    if draw.random() < 0.15 or not isinstance(document, dict | list) or not document:
        return draw.choice((damage_bytes, damage_lines))(content, draw)
    where = document
    while True:
        key = draw.choice(list(where) if isinstance(where, dict) else range(len(where)))
        inner = where[key]
        if not isinstance(inner, dict | list) or not inner or draw.random() < 0.2:
            break
        where = inner
    mark = "@damaged@"
    match draw.randrange(6):
        case 0:
            del where[key]
        case 1 if isinstance(where, dict):
            where[draw.choice(("", "x", "kind", "__class__"))] = mark
        case 2 if isinstance(where, list):
            where.append(inner)
        case _:
            where[key] = mark
    text = json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False)
    return (text.replace(f'"{mark}"', draw.choice(JSON_VALUES)) + "\n").encode("utf-8", "replace")


def damage_fields(content: bytes, draw: random.Random) -> bytes:
    """Replace, add or drop fields of a file that has one record a line."""
    kind = draw.random()
    if kind < 0.3:
        return draw.choice((damage_bytes, damage_lines))(content, draw)
    lines = content.decode().split("\n")
    number = 0 if draw.random() < 0.2 else draw.randrange(len(lines))
    mark = "," if "," in lines[0] else " "
    fields = lines[number].split(mark)
    place = draw.randrange(len(fields))
    if kind < 0.85:
        fields[place] = draw.choice(CELLS)
    elif kind < 0.9:
        fields.insert(place, draw.choice(CELLS))
    elif kind < 0.95:
        del fields[place]
    else:
        mark = draw.choice((";", "\t", "|", ",,", " , "))
    lines[number] = mark.join(fields)
    return "\n".join(lines).encode("utf-8", "replace")


def damage_packed(suffix: str) -> Damage:
    """Return what damages a compressed file: its bytes, or what is packed in it."""
    pack = {".gz": gzip.compress, ".xz": lzma.compress}[suffix]
    unpack = {".gz": gzip.decompress, ".xz": lzma.decompress}[suffix]

    def damage(content: bytes, draw: random.Random) -> bytes:
        if draw.random() < 0.5:
            return damage_bytes(content, draw)
        return bytes(pack(damage_fields(unpack(content), draw)))

    return damage


def damage_archive(content: bytes, draw: random.Random) -> bytes:
    """Damage the bytes of an NPZ archive, or those of a member."""
    if draw.random() < 0.3:
        return damage_bytes(content, draw)
    written = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(written, "w") as new:
        members = old.infolist()
        hit = draw.choice(members).filename if members else ""
        for member in members:
            inner = old.read(member)
            new.writestr(member, damage_bytes(inner, draw) if member.filename == hit else inner)
        if not members or draw.random() < 0.1:
            new.writestr(draw.choice(("a.npy", "../x", "a00000.npy.npy")), b"x")
    return written.getvalue()


@dataclass(frozen=True)
class Reader:
    """One kind of file that the package reads.

    Parameters
    ----------
    name
        What it is called in tallies.
    file
        The good file, within the folder of `prepare`.
    damage
        What makes a bad one of it.
    commands
        Command lines that read it; `OUT` stands for a place that is free.
    release
        The saved release that the file belongs to, whose certificate is renewed for half of the
        bad files, since otherwise nothing beyond their hashes would be read.
    public
        Whether the file holds nothing private, and may be quoted.
    """

    name: str
    file: str
    damage: Damage
    commands: tuple[str, ...]
    release: str = ""
    public: bool = False


_TABLE = "table release {} --schema table.schema.toml --epsilon 1 --out OUT --no-report"
_POINTS = "points release {} --schema points.schema.toml --epsilon 1 --out OUT --no-report"
_STEPS = "sequences release {} --schema steps.schema.toml --epsilon 1 --out OUT --no-report"
_MINE = "--answer smoking=daily --answer stress=no --answer sleep=7 --answer age=40"
_GRAPH = "graph count {} --nodes 15 --epsilon 1 --out OUT --no-report"
_TABLE_FILE = (
    f"{_TABLE} --method independent",
    f"{_TABLE} --method histogram --columns town,smokes --engine duckdb",
    "table schema {} --out OUT",
    "table schema {}",
    "table evaluate {} table-release --schema table.schema.toml",
    "regress fit {} --schema table.schema.toml --target children --epsilon 1 --out OUT --no-report",
    "regress predict model {}",
    "ledger rebind table.ledger {} --schema table.schema.toml --reason corrected",
)


def grown_files(reader: Reader) -> list[Path]:
    """Return the files that once reached new code of a reader, found by `benchmarks/guided.py`."""
    return sorted((CORPUS / "grown" / place_of(reader.name)).glob("*"))


def place_of(name: str) -> str:
    """Return the folder of a reader's files."""
    return re.sub(r"\W+", "-", name)


def _reading(name: str, file: str, damage: Damage, *commands: str, public: bool = False) -> Reader:
    lines = tuple(words.format(file) for words in commands)
    return Reader(name, file, damage, lines, public=public)


def readers() -> list[Reader]:
    """Return every reader of the package."""
    found = [
        _reading(
            "schema of a table", "table.schema.toml", damage_toml,
            "table plan --schema {} --epsilon 1", "table plan --schema {} --epsilon 1 --json",
            "table plan --schema {} --epsilon 1 --method marginals --ways 2",
            "table plan --schema {} --epsilon 1 --method privbayes",
            "regress plan --schema {} --epsilon 1 --target children",
            "table rehearse --schema {} --epsilon 1 --method independent",
            _TABLE.format("table.csv").replace("table.schema.toml", "{}") + " --method independent",
        ),
        _reading(
            "schema of points", "points.schema.toml", damage_toml,
            "points plan --schema {} --epsilon 1",
            "points plan --schema {} --epsilon 1 --method uniformgrid",
            "points plan --schema {} --epsilon 1 --method adaptivegrid --json",
            _POINTS.format("points.csv").replace("points.schema.toml", "{}")
            + " --method uniformgrid",
        ),
        _reading(
            "schema of sequences", "steps.schema.toml", damage_toml,
            "sequences plan --schema {} --epsilon 1",
            "sequences plan --schema {} --epsilon 1 --method ngram --json",
            _STEPS.format("steps.txt").replace("steps.schema.toml", "{}"),
        ),
        _reading(
            "questionnaire", "survey.toml", damage_toml,
            "collect plan {}", "collect plan {} --json", "collect plan {} --out OUT",
        ),
        _reading("table, CSV", "table.csv", damage_fields, *_TABLE_FILE),
        _reading("table, Parquet", "table.parquet", damage_bytes, *_TABLE_FILE),
        _reading("table, CSV in gzip", "table.csv.gz", damage_packed(".gz"), *_TABLE_FILE[:3]),
        _reading("table, CSV in xz", "table.csv.xz", damage_packed(".xz"), *_TABLE_FILE[:3]),
        _reading(
            "points, CSV", "points.csv", damage_fields, f"{_POINTS} --method uniformgrid",
            f"{_POINTS} --method privtree", f"{_POINTS} --method uniformgrid --engine duckdb",
            "points evaluate {} points-release",
        ),
        _reading(
            "points, Parquet", "points.parquet", damage_bytes, f"{_POINTS} --method uniformgrid",
        ),
        _reading(
            "boxes", "boxes.csv", damage_fields, "points query points-release --boxes {}",
            public=True,
        ),
        _reading(
            "sequences", "steps.txt", damage_fields, _STEPS, f"{_STEPS} --json",
            "sequences evaluate {} steps-release",
        ),
        _reading(
            "alphabet", "symbols.txt", damage_fields,
            "sequences schema --unit sequence --alphabet-file {}", public=True,
        ),
        _reading(
            "edge list", "friends.txt", damage_fields, _GRAPH, f"{_GRAPH} --json",
            "graph evaluate {} graph-release", "graph degrees {} --nodes nodes.txt --epsilon 1 "
            "--out OUT --no-report",
        ),
        _reading(
            "edges, CSV", "friends.csv", damage_fields, f"{_GRAPH} --columns a,b",
        ),
        _reading(
            "nodes", "nodes.txt", damage_fields, "graph plan --nodes {} --epsilon 1",
            "graph count friends.txt --nodes {} --epsilon 1 --out OUT --no-report", public=True,
        ),
        _reading(
            "survey", "survey.json", damage_json, "collect aggregate {} reports.txt --out OUT",
            f"collect perturb {{}} {_MINE} --memory OUT", "collect report {} tally.json",
        ),
        _reading(
            "answers", "answers.csv", damage_fields, "collect perturb survey.json --table {}",
        ),
        _reading(
            "reports", "reports.txt", damage_json, "collect aggregate survey.json {} --out OUT",
            "collect aggregate survey.json {} --out OUT --skip-wrong",
        ),
        _reading(
            "tally", "tally.json", damage_json, "collect report survey.json {}",
            "collect aggregate survey.json --tally {} --out OUT",
        ),
        _reading(
            "memory", "memory.json", damage_json,
            f"collect perturb survey.json {_MINE} --memory {{}}",
        ),
        _reading(
            "ledger", "table.ledger", damage_json, "ledger show {}", "ledger history {}",
            _TABLE.format("table.csv") + " --ledger {} --method independent",
            "verify table-release --ledger {}",
        ),
        _reading(
            "private key", "id.key", damage_bytes,
            _TABLE.format("table.csv") + " --key {} --method independent",
        ),
        _reading("public key", "id.pub", damage_bytes, "verify signed-release --key {}"),
    ]  # fmt: skip
    for kind in ("table", "points", "steps", "graph"):
        folder = f"{kind}-release"
        for file, damage in (
            ("certificate.json", damage_json), ("public.json", damage_json),
            ("transcript.json", damage_json), ("transcript.npz", damage_archive),
        ):  # fmt: skip
            found.append(
                Reader(
                    f"release of {kind}, {file}", f"{folder}/{file}", damage,
                    (f"verify {folder}", f"verify {folder} --json", f"report {folder}"), folder,
                )
            )  # fmt: skip
    return found


@dataclass(frozen=True)
class Ending:
    """How a command ended: its exit code (`None`: it hung), both streams, and its seconds."""

    code: int | None
    shown: str
    seconds: float


def run(words: list[str], *, limit: float | None = None) -> Ending:
    """Run the command line in this process, with an alarm if there is a limit."""
    from sfumato.cli.main import main

    out, err = io.StringIO(), io.StringIO()
    kept, sys.argv = sys.argv, ["sfumato", *words]
    begun, code = time.process_time(), 0
    try:
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            _alarm(limit),
        ):
            main()
    except SystemExit as ending:
        code = int(ending.code or 0)
    except Hang:
        return Ending(None, out.getvalue() + err.getvalue(), time.process_time() - begun)
    finally:
        sys.argv = kept
    return Ending(code, out.getvalue() + err.getvalue(), time.process_time() - begun)


@contextlib.contextmanager
def _alarm(limit: float | None) -> Iterator[None]:
    """Raise `Hang` after some seconds of work, or many of waiting."""
    if limit is None:
        yield
        return

    def ring(*_: object) -> None:
        raise Hang

    # Processor time: a busy machine makes no command hang.
    clocks = (
        (signal.ITIMER_PROF, signal.SIGPROF, limit),
        (signal.ITIMER_REAL, signal.SIGALRM, WAITING),
    )
    before = [signal.signal(number, ring) for _, number, _ in clocks]
    for clock, _, seconds in clocks:
        signal.setitimer(clock, seconds)
    try:
        yield
    finally:
        for (clock, number, _), handler in zip(clocks, before, strict=True):
            signal.setitimer(clock, 0)
            signal.signal(number, handler)


def prepare(folder: Path) -> None:
    """Fill a folder with a good file for every reader; it must be the current one."""
    import polars as pl

    for file in (CORPUS / "good").iterdir():
        shutil.copy(file, folder / file.name)
    for name in ("table", "points"):
        pl.read_csv(f"{name}.csv", try_parse_dates=True).write_parquet(f"{name}.parquet")
    Path("table.csv.gz").write_bytes(gzip.compress(Path("table.csv").read_bytes()))
    Path("table.csv.xz").write_bytes(lzma.compress(Path("table.csv").read_bytes()))
    commands = (
        "keygen id.key",
        "ledger create table.ledger --allow-epsilon 100000 --unit person",
        _TABLE.format("table.csv").replace("OUT", "table-release")
        + " --ledger table.ledger --method independent",
        _TABLE_FILE[5].format("table.csv").replace("OUT", "model"),
        _POINTS.format("points.csv").replace("OUT", "points-release")
        + " --method uniformgrid --cells 4",
        _STEPS.format("steps.txt").replace("OUT", "steps-release"),
        _GRAPH.format("friends.txt").replace("OUT", "graph-release"),
        _GRAPH.format("friends.txt").replace("OUT", "signed-release") + " --key id.key",
        "collect plan survey.toml --out survey.json",
        "collect perturb survey.json --table answers.csv --out reports.txt",
        f"collect perturb survey.json {_MINE} --memory memory.json --out more.txt",
        "collect aggregate survey.json reports.txt --out tally.json",
    )
    for command in commands:
        ending = run(command.split())
        if ending.code != 0:
            raise RuntimeError(f"sfumato {command}: {ending.shown}")


@dataclass(frozen=True)
class Finding:
    """A case that did not end as it must, and why."""

    case: int
    reader: str
    command: str
    wrong: str
    shown: str

    def __str__(self) -> str:
        where = f"case {self.case}, {self.reader}\n  sfumato {self.command}"
        return f"{self.wrong}: {where}\n  {self.shown}"


def bad_file(case: int, reader: Reader, content: bytes) -> bytes:
    """Return the damaged file of a case; some are damaged twice."""
    draw = random.Random(f"{reader.name} {case}")
    damaged = reader.damage(content, draw)
    # What is damaged already may have lost its form.
    if draw.random() < 0.15:
        with contextlib.suppress(Exception):
            damaged = reader.damage(damaged, draw)
    return damaged


def try_case(case: int, reader: Reader) -> tuple[Ending, Finding | None]:
    """Damage the reader's file by the number of the case and run a command."""
    content = bad_file(case, reader, Path(reader.file).read_bytes())
    return try_file(content, reader, random.Random(f"{case} {reader.name}"), case)


def try_file(
    content: bytes, reader: Reader, draw: random.Random, case: int = 0
) -> tuple[Ending, Finding | None]:
    """Put something in the place of the reader's file, run a command, restore all files."""
    command = draw.choice(reader.commands)
    place = Path(reader.file)
    certificate = Path(reader.release, "certificate.json")
    good, sealed = place.read_bytes(), certificate.read_bytes() if reader.release else b""
    kept = _kept()
    place.write_bytes(content)
    if reader.release and draw.random() < 0.7:
        _certify(certificate, place)
    try:
        return _judged(case, reader, command)
    finally:
        if reader.release:
            certificate.write_bytes(sealed)
        for strange in _kept().keys() - kept.keys():
            strange.unlink()
        for name, old in kept.items():
            name.write_bytes(old)
        place.write_bytes(good)


def _kept() -> dict[Path, bytes]:
    """Return what commands go on writing: ledgers, their witnesses, what respondents remember."""
    found = [*Path().glob("table.ledger*"), *Path().glob("table.ledger*/*"), Path("memory.json")]
    found += Path("sfumato").rglob("*")
    return {place: place.read_bytes() for place in found if place.is_file()}


def _certify(certificate: Path, changed: Path) -> None:
    """Renew the hash of a file in an unsigned certificate, and its own."""
    from sfumato.privacy.canonical import canonical, digest

    try:
        document = json.loads(certificate.read_bytes())
        if changed != certificate:
            document["files"][changed.name] = digest(changed.read_bytes())
        seals = ("digest", "signature")
        body = canonical({name: item for name, item in document.items() if name not in seals})
        document["digest"] = digest(body)
        text = json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False)
    except (ValueError, TypeError, AttributeError, RecursionError):
        return
    certificate.write_bytes(text.encode("utf-8", "replace") + b"\n")


def _judged(case: int, reader: Reader, command: str) -> tuple[Ending, Finding | None]:
    """Run the command of a case and judge how it ended and what it left behind."""
    free = Path("free")
    with tempfile.TemporaryDirectory() as spill:
        before, tempfile.tempdir = tempfile.tempdir, spill
        try:
            ending = run(command.replace("OUT", str(free)).split(), limit=LIMIT)
        finally:
            tempfile.tempdir = before
        draft = command.startswith("table schema")
        left = _texts(Path(spill)) + ("" if draft else _texts(free))
    if free.is_dir():
        shutil.rmtree(free)
    free.unlink(missing_ok=True)
    Path(f"{free}.lock").unlink(missing_ok=True)
    wrong = ""
    if ending.code is None or ending.seconds > LIMIT:
        wrong = "hang"
    elif ending.code == 1:
        wrong = "unexpected"
    elif "Traceback" in ending.shown:
        wrong = "traceback"
    shown = "" if command.endswith("table schema " + reader.file) else ending.shown
    if not reader.public and any(canary in shown + left for canary in CANARIES):
        wrong = "canary"
    if not wrong:
        return ending, None
    return ending, Finding(case, reader.name, command, wrong, ending.shown.strip()[-400:])


def _texts(place: Path) -> str:
    """Return all that files of a folder, or a file, hold."""
    files = [place] if place.is_file() else [file for file in place.rglob("*") if file.is_file()]
    return "".join(file.read_bytes().decode("latin-1") for file in files)


@contextlib.contextmanager
def workshop() -> Iterator[Path]:
    """Make and enter a folder with a good file for every reader."""
    home = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        kept = {name: os.environ.pop(name, None) for name in ("XDG_CONFIG_HOME", "SFUMATO_KEY")}
        os.environ["XDG_CONFIG_HOME"] = folder
        try:
            prepare(Path(folder))
            yield Path(folder)
        finally:
            os.chdir(home)
            del os.environ["XDG_CONFIG_HOME"]
            os.environ.update({name: value for name, value in kept.items() if value is not None})
