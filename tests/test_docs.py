"""The documentation does what it says: its examples are run and its links lead somewhere.

On each page, in order and in one empty folder: a python block is run and prints what the text block
after it shows; the commands of a console block are run, print what is shown below them, and fail
where an error is shown; a toml block with a title becomes the file of that name, and one without is
part of a valid schema. In what is shown, "…" stands for anything. Two comments before a block speak
to this test: `<!-- not run: why -->`, and `<!-- numbers vary -->` where noise decides them. Where a
page drafts a schema, the test does the custodian's part and confirms another one.
"""

from __future__ import annotations

import inspect
import random
import re
import shlex
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from pkgutil import resolve_name
from types import ModuleType

import pytest

from tests.method_suite import MethodSuite

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
TEXTS = [
    *PAGES,
    *(ROOT / name for name in ("CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md")),
    *sorted((ROOT / "docs" / "proofs").glob("*.md")),
]

FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"-?\d+(?:[.,]\d+)*")
RULE = re.compile(r"[-─━═]{2,}")

SCHEMA = """\
[table]
unit = "person"
person = "patient"
max_rows = 2
rows_about = 10000

[columns.age]
kind = "number"
low = 0
high = 120
bins = 12
decimals = 0

[columns.sex]
kind = "category"
values = ["f", "m"]

[columns.ward]
kind = "category"
values = ["medicine", "paediatrics", "surgery"]

[columns.nights]
kind = "number"
edges = [0, 1, 3, 7, 14, 30]
decimals = 0
outside = "clamp"
"""


@dataclass(frozen=True)
class Block:
    """A fenced block of a page, with what its comments say of it."""

    line: int
    language: str
    title: str | None
    body: str
    run: bool
    exact: bool


def blocks(text: str) -> Iterator[Block]:
    for found in FENCE.finditer(text):
        words = found["info"].split()
        title = re.search(r'title="([^"]+)"', found["info"])
        comments = re.search(r"(?:<!--[^\n]*-->\s*)*\Z", text[: found.start()])
        assert comments is not None
        yield Block(
            line=text.count("\n", 0, found.start()) + 1,
            language=words[0] if words else "",
            title=title[1] if title else None,
            body=found["body"],
            run=re.search(r"<!-- not run: \S[^\n]*-->", comments[0]) is None,
            exact="<!-- numbers vary -->" not in comments[0],
        )


def agrees(shown: str, said: str, *, exact: bool) -> bool:
    """Tell whether what was said holds what is shown, up to layout and what is left out."""
    shown, said = (" ".join(RULE.sub("--", text).split()) for text in (shown, said))
    if not exact:
        shown, said = NUMBER.sub("0", shown), NUMBER.sub("0", said)
    pattern = ".*?".join(re.escape(part) for part in re.split(r"\s*…\s*", shown))
    return re.search(pattern, said) is not None


@dataclass(frozen=True)
class Command:
    """A command of a console block, and what is shown below it."""

    words: list[str]
    shown: str

    @property
    def fails(self) -> bool:
        """Whether the page shows an error."""
        return any(line.startswith("sfumato: ") for line in self.shown.splitlines())


def commands(body: str) -> Iterator[Command]:
    text = body.replace("\\\n", " ")
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        line, _, shown = part.partition("\n")
        yield Command(shlex.split(line), shown)


class Reader:
    """Follows a page in a folder of its own, as its reader would."""

    def __init__(self, folder: Path, module: ModuleType, capsys, monkeypatch) -> None:
        self.folder = folder
        self.module = module
        self.printed = ""
        self._capsys = capsys
        self._monkeypatch = monkeypatch

    def read(self, text: str, name: str = "a page") -> None:
        """Follow all blocks of a page, and say at which line one went wrong."""
        for block in blocks(text):
            try:
                self.follow(block)
            except Exception as error:
                error.add_note(f"{name}, line {block.line}")
                raise

    def follow(self, block: Block) -> None:
        if not block.run:
            return
        if block.language == "python":
            self.execute(block)
        elif block.language == "console":
            for command in commands(block.body):
                self.order(command, block)
        elif block.language == "toml" and block.title:
            (self.folder / block.title).write_text(block.body, encoding="utf-8")
        elif block.language == "toml":
            self.declare(block.body)
        elif block.language == "text":
            assert agrees(block.body, self.printed, exact=block.exact), self.printed
        else:
            assert not block.language, f"say why {block.language} is not run"

    def execute(self, block: Block) -> None:
        lines = "\n" * block.line + block.body
        code = compile(lines, self.module.__name__, "exec", dont_inherit=True)
        self._capsys.readouterr()
        exec(code, self.module.__dict__)
        self.printed = self._capsys.readouterr().out

    def order(self, command: Command, block: Block) -> None:
        from sfumato.cli.main import main

        assert command.words[0] == "sfumato", "only commands of sfumato are run"
        drafted = self.drafted(command)
        if drafted is not None:
            drafted.unlink(missing_ok=True)
        self._monkeypatch.setattr(sys, "argv", command.words)
        self._capsys.readouterr()
        with pytest.raises(SystemExit) as ending:
            main()
        said = self._capsys.readouterr()
        assert bool(ending.value.code) == command.fails, (command.words, said)
        both = (f"{said.out}\n{said.err}", f"{said.err}\n{said.out}")
        assert any(agrees(command.shown, text, exact=block.exact) for text in both), both[0]
        if drafted is not None:
            # The custodian's part: what is not public is replaced, the question is answered.
            drafted.write_text(SCHEMA, encoding="utf-8")

    def drafted(self, command: Command) -> Path | None:
        """Return the schema file that a command drafts."""
        if command.words[1:3] != ["table", "schema"] or "--out" not in command.words:
            return None
        return self.folder / command.words[command.words.index("--out") + 1]

    def declare(self, text: str) -> None:
        """See that part of a schema is valid in a schema."""
        from sfumato.data.schema import Schema

        whole = {"table": {"unit": "row"}, "columns": {"left": {"kind": "boolean"}}}
        Schema.from_json({**whole, **tomllib.loads(text)})


@pytest.fixture
def reader(tmp_path, monkeypatch, capsys):
    """Return a reader with a made-up table and its schema, and nothing else at home."""
    draw = random.Random(1)
    lines = ["patient,age,sex,ward,nights"]
    for _ in range(5_000):
        patient, age, nights = draw.randrange(10_000), draw.randrange(105), draw.randrange(40)
        ward = "paediatrics" if age < 16 else "medicine" if nights > 7 else "surgery"
        lines.append(f"{patient},{age},{'fm'[patient % 2]},{ward},{nights}")
    (tmp_path / "patients.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "patients.schema.toml").write_text(SCHEMA, encoding="utf-8")
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("SFUMATO_KEY", raising=False)
    module = ModuleType("page_of_the_documentation")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return Reader(tmp_path, module, capsys, monkeypatch)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_example_of_a_page_works(page, reader):
    reader.read(page.read_text(encoding="utf-8"), page.name)


@pytest.mark.slow
def test_the_method_of_the_documentation_passes_the_suite_of_every_method(reader, tmp_path):
    reader.read((ROOT / "docs" / "methods.md").read_text(encoding="utf-8"))
    suites = [
        thing
        for thing in vars(reader.module).values()
        if isinstance(thing, type) and issubclass(thing, MethodSuite) and thing is not MethodSuite
    ]
    assert suites
    for suite in suites:
        for name in (name for name in dir(suite) if name.startswith("test_")):
            folder = tmp_path / name
            folder.mkdir()
            with pytest.MonkeyPatch.context() as patch:
                fixtures = {"tmp_path": folder, "monkeypatch": patch}
                test = getattr(suite(), name)
                test(**{word: fixtures[word] for word in inspect.signature(test).parameters})


@pytest.mark.parametrize(
    ("page", "wrong"),
    [
        ("```python\n1 / 0\n```\n", "division"),
        ("```python\nprint(1)\n```\n\n```text\n2\n```\n", "1"),
        ("```console\n$ sfumato verify nowhere\n```\n", "nowhere"),
        ("```console\n$ sfumato ledger show --help\nsfumato: refuses\n```\n", "show"),
        ("```console\n$ rm patients.csv\n```\n", "only commands"),
        ('```toml\n[columns.age]\nkind = "nonsense"\n```\n', "kind must be"),
        ("```r\nread.csv()\n```\n", "say why"),
    ],
)
def test_a_page_that_is_wrong_is_found(page, wrong, reader):
    with pytest.raises((AssertionError, ValueError, ZeroDivisionError), match=wrong):
        reader.read(page)


def anchor(heading: str) -> str:
    """Return the anchor of a heading, as GitHub and MkDocs make it."""
    return re.sub(r"[^\w\- ]", "", heading.replace("`", "").strip().lower()).replace(" ", "-")


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_a_page_leads_somewhere(page):
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith(("https://", "mailto:")):
            continue
        name, _, place = target.partition("#")
        goal = (page.parent / name).resolve() if name else page
        assert goal.exists(), target
        if place:
            headings = re.findall(r"^#+ (.+)$", FENCE.sub("", goal.read_text()), re.MULTILINE)
            assert place in map(anchor, headings), target


def test_the_site_shows_every_page():
    listed = re.findall(r":\s*(\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    docs = ROOT / "docs"
    assert sorted(listed) == sorted(p.relative_to(docs).as_posix() for p in docs.rglob("*.md"))


def test_the_architecture_names_modules_and_functions_that_exist():
    text = FENCE.sub("", (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8"))
    for name in set(re.findall(r"`((?:\w+/)+\w+\.py)`", text)):
        assert (ROOT / "src" / "sfumato" / name).is_file() or (ROOT / name).is_file(), name
    pairs = re.findall(r"`([\w/]+)\.py`: ((?:`[\w.]+`(?:, )?)+)", text)
    assert len(pairs) > 50
    for place, listed in pairs:
        before = ""
        for name in re.findall(r"`([\w.]+)`", listed):
            # In `Survey.read`, `.save` the second name is of the same class.
            whole = before.partition(".")[0] + name if name.startswith(".") else name
            assert resolve_name(f"sfumato.{place.replace('/', '.')}:{whole}") is not None, whole
            before = whole


def test_the_guide_to_methods_names_files_queries_and_primitives_that_exist():
    whole = (ROOT / "docs" / "methods.md").read_text(encoding="utf-8")
    text = FENCE.sub("", whole)
    # The guide writes two modules of its own, with their test and proof.
    for name in set(re.findall(r"`((?:\w+/)+\w+\.(?:py|md|json))`", text)):
        places = (ROOT / folder / name for folder in ("src/sfumato", "src", "."))
        own = re.search("most.frequent|median_queries", name)
        assert own or any(place.is_file() for place in places), name
    table = text.partition("| kind | module `sfumato.…` |")[2].partition("\n\n")[0]
    place, found = "", 0
    for line in table.splitlines()[2:]:
        _, kind, module, queries, *_ = line.split("|")
        # A line without a module goes on with the one above it.
        place = module.strip(" `") or place
        for name in re.findall(r"`(\w+)`", queries):
            assert resolve_name(f"sfumato.{place}:{name}") is not None, (kind, name)
            found += 1
    table = text.partition("| primitive | module `sfumato.mechanisms.…` |")[2].partition("\n\n")[0]
    for line in table.splitlines()[2:]:
        _, primitives, modules, *_ = line.split("|")
        places = [
            at if at.startswith("sfumato.") else f"sfumato.mechanisms.{at}"
            for at in re.findall(r"`([\w.]+)`", modules)
        ]
        if "…" in modules:
            places += [
                f"sfumato.mechanisms.local_{name}" for name in ("subset", "hadamard", "matrix")
            ]
        for name in re.findall(r"`(\w+)`", primitives):
            assert any(hasattr(import_module(place), name) for place in places), name
            found += 1
    assert found > 90


def test_the_reference_names_everything_public_in_its_own_words():
    from sfumato import local, noise
    from sfumato.catalogue import LOCAL_METHODS, PACKAGES, PUBLIC_NAMES

    text = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    rows = r"^\| `(?:sf\.local|sf|noise)\.(\w+)[^`]*` \| (.+) \|$"
    said = dict(re.findall(rows, text, re.MULTILINE))
    packages = {name: f"sfumato.{name}" for name in PACKAGES}
    places = packages | PUBLIC_NAMES | LOCAL_METHODS
    assert set(said) | set(local.__all__) == {*places, *noise.__all__, *local.__all__}
    for name, place in places.items():
        sentence = inspect.getdoc(resolve_name(place)).partition("\n")[0]
        assert said[name] == sentence.replace("|", r"\|")


@pytest.mark.parametrize(
    ("page", "method", "options"),
    [("README.md", "Synthesizer", {}), ("docs/tables.md", "Marginals", {"ways": 1})],
)
def test_every_file_of_a_saved_release_is_explained(page, method, options, reader, tmp_path):
    import sfumato as sf

    stays = sf.read_table("patients.csv", schema="patients.schema.toml")
    folder = getattr(sf, method)(epsilon=1, **options).release(stays).save("saved")
    sf.save_report(folder)
    text = (ROOT / page).read_text(encoding="utf-8")
    explained = re.findall(
        r"`([\w.]+)`", "\n".join(re.findall(r"^\| (.+?) \|", text, re.MULTILINE))
    )
    assert {path.name for path in folder.iterdir()} <= set(explained)
