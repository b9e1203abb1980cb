"""`sfumato sequences`: from private sequences to a model of what follows what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.exits import EPILOG, ExitCode, Refusal
from sfumato.cli.kind import Evaluation, Kind, MethodChoice, add_commands, add_evaluation
from sfumato.cli.methods import methods_for
from sfumato.cli.options import (
    OwnSchemaOption,
    RelationChoice,
    RelationOption,
    ReleaseArgument,
    RowsAboutOption,
    WrittenSchemaOption,
    parse_names,
)
from sfumato.cli.releasing import load_release
from sfumato.cli.schemas import (
    BySchema,
    SchemaOptions,
    answer_with_schema,
    read_list,
    refuse_taken,
)
from sfumato.cli.screen import JsonOption, Screen, answering, print_table

if TYPE_CHECKING:
    from rich.console import Console

    from sfumato.data.alphabet import Symbol
    from sfumato.data.sequences import Sequences, SequencesPublic
    from sfumato.sequence.frequent_strings import FrequentStrings
    from sfumato.sequence.model import SequenceModel

#: The method that is used unless another is named.
DEFAULT = "sequences.SuffixTree"
#: Where a file says whose a sequence is: in the first field of its line.
FIRST = "first"
#: Which top lists are compared unless it is said otherwise.
TOP = (50, 100, 200)
Counted = list[tuple[tuple["Symbol", ...], float | None]]

app = typer.Typer(
    help="Sequences: declare a schema, plan, rehearse, release, list, sample and evaluate.",
    epilog=EPILOG,
    no_args_is_help=True,
)


class SequenceUnit(StrEnum):
    """Whose contribution is protected."""

    SEQUENCE = "sequence"
    PERSON = "person"


@app.command(epilog=EPILOG)
def schema(
    unit: Annotated[
        SequenceUnit,
        typer.Option(
            help="Can one person have several sequences? No: sequence. Yes: person, with "
            "--max-sequences; the first field of each line is then the person's identifier."
        ),
    ],
    alphabet: Annotated[
        str | None,
        typer.Option(
            metavar="SYMBOLS", help="All symbols that may occur, as a,b,c: public knowledge."
        ),
    ] = None,
    alphabet_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A public file with one symbol per line instead."),
    ] = None,
    max_sequences: Annotated[
        int | None,
        typer.Option(metavar="M", help="The most sequences used per person.", min=1),
    ] = None,
    relation: RelationOption = RelationChoice.ADD_REMOVE,
    rows_about: RowsAboutOption = None,
    out: WrittenSchemaOption = None,
    as_json: JsonOption = False,
) -> None:
    """Declare what is public about sequences. No data are read."""
    with answering(as_json) as screen:
        from sfumato.data.declarations import declare_sequences, write_sequences

        refuse_taken(out)
        declared = declare_sequences(
            alphabet=_symbols(alphabet, alphabet_file), unit=unit.value,
            max_sequences=max_sequences, relation=relation.value, rows_about=rows_about,
        )  # fmt: skip
        answer_with_schema(screen, declared, write_sequences(declared), out)


def _symbols(text: str | None, path: Path | None) -> tuple[str, ...]:
    """Return the symbols that options name, or a file lists one per line."""
    if (text is None) == (path is None):
        raise Refusal(ExitCode.USAGE, "give the symbols with --alphabet or --alphabet-file")
    if text is not None:
        return parse_names(text, what="symbols", example='left,"up, then down"')
    assert path is not None
    return tuple(read_list(path).splitlines())


@dataclass(frozen=True)
class ReadingOptions:
    """How private sequences are read."""

    separator: Annotated[
        str | None,
        typer.Option(metavar="CHAR", help="The separator of symbols; blanks and tabs by default."),
    ] = None
    skip_lines: Annotated[
        int,
        typer.Option(metavar="N", help="The number of lines to skip at the start of FILE.", min=0),
    ] = 0


def _read_file(file: Path, public: SequencesPublic, reading: ReadingOptions) -> Sequences:
    """Read private sequences."""
    from sfumato.data.sequences import read_sequences

    bounded = public.unit.value == "person"
    return read_sequences(
        file,
        public.alphabet,
        separator=reading.separator,
        skip_lines=reading.skip_lines,
        unit=str(public.unit),
        relation=str(public.relation),
        person=FIRST if bounded else None,
        max_sequences=public.contribution if bounded else None,
        rows_about=public.rows_about,
    )


BY_SCHEMA = BySchema("sequences", _read_file)
SEQUENCES = Kind(
    name="sequences",
    methods=methods_for("sequences"),
    method_help="The release method; suffixtree by default.",
    choice=MethodChoice(default=lambda typed: DEFAULT),
    options=SchemaOptions,
    reading=ReadingOptions,
    file="The private sequences, one per line: plain text, .gz or .xz.",
    unread="The private sequences; not read: only the schema beside the file is.",
    read_public=BY_SCHEMA.read_public,
    read_private=BY_SCHEMA.read_private,
    help=(
        "Show the privacy loss and the expected error of a release. Reads the schema only.",
        "Run the whole release on synthetic sequences. Free: no private data are read.",
        "Release the sequences: book the loss, add noise, certify and save a model of them.",
    ),
)
add_commands(app, SEQUENCES)


@app.command(epilog=EPILOG)
def top(
    release: ReleaseArgument,
    number: Annotated[
        int,
        typer.Option("-k", "--number", metavar="K", help="The number of strings to list.", min=1),
    ] = 20,
    length: Annotated[
        int | None,
        typer.Option(metavar="N", help="Only strings of this many symbols.", min=1),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the most frequent strings of symbols, by the release. Costs no privacy."""
    with answering(as_json) as screen:
        made: SequenceModel | FrequentStrings = load_release(
            screen, release, _listing(), "frequent strings need a release of sequences"
        )
        with screen.working("looking for frequent strings"):
            found = _frequent(made, number, length)
        document = {
            "strings": [{"string": list(string), "count": count} for string, count in found]
        }
        screen.answer(document, lambda console: _show(console, made.public, found))


@app.command(epilog=EPILOG)
def sample(
    release: ReleaseArgument,
    rows: Annotated[
        int | None,
        typer.Option(
            help="The number of sequences; by default the number that the release estimates.", min=0
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The text file to write; by default they are printed."),
    ] = None,
    separator: Annotated[
        str, typer.Option(metavar="CHAR", help="The separator of symbols; a blank by default.")
    ] = " ",
    seed: Annotated[
        int | None, typer.Option(help="A seed that makes the sequences repeatable.", min=0)
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Draw synthetic sequences, one per line, from a release. Costs no privacy."""
    with answering(as_json) as screen:
        from sfumato import noise
        from sfumato.sequence.model import SequenceModel

        _refuse_folder(out)
        made: SequenceModel = load_release(
            screen,
            release,
            SequenceModel,
            "sequences can be drawn only from a release that is a model of sequences",
        )
        _refuse_separator(made.public, separator)
        generator = None if seed is None else noise.generator(seed)
        with screen.working("drawing"):
            drawn = made.sample(rows, generator=generator)
        _give(screen, drawn, separator, out)


def _frequent(made: SequenceModel | FrequentStrings, number: int, length: int | None) -> Counted:
    """Return the most frequent strings with their counts, where the release tells counts."""
    from sfumato.sequence.model import SequenceModel

    if isinstance(made, SequenceModel):
        return [(tuple(string), count) for string, count in made.top(number, length)]
    every = [string for string in made.top() if length is None or len(string) == length]
    return [(string, None) for string in every[:number]]


def _show(console: Console, public: SequencesPublic, found: Counted) -> None:
    """Print strings with their counts."""
    from sfumato.sequence.files import string_text

    rows = []
    for place, (string, count) in enumerate(found, start=1):
        text = string_text(public, public.codes(string))
        rows.append((str(place), text, "—" if count is None else f"{count:,.1f}"))
    print_table(console, ("", "string", "occurs about"), rows, right=(0, 2))
    if any(count is None for _, count in found):
        console.print("This release holds no frequencies.", style="dim")


def _refuse_folder(out: Path | None) -> None:
    """Refuse, before any work, a file that could not be written."""
    if out is not None and (out.exists() or not out.parent.is_dir()):
        told = f"{out} exists" if out.exists() else f"there is no folder {out.parent}"
        raise Refusal(ExitCode.USAGE, f"{told}; choose another file with --out")


def _refuse_separator(public: SequencesPublic, separator: str) -> None:
    """Refuse a separator that stands inside symbols, so that lines could not be read again."""
    if len(separator) != 1 or separator in "\r\n":
        raise Refusal(ExitCode.USAGE, "--separator must be one character, and not a line break")
    if any(separator in str(symbol) for symbol in public.alphabet):
        raise Refusal(ExitCode.USAGE, f"a symbol holds {separator!r}; choose another --separator")


def _give(
    screen: Screen, drawn: Sequence[Sequence[Symbol]], separator: str, out: Path | None
) -> None:
    """Write sequences to a file, or answer with them."""
    document: dict[str, Any] = {"rows": len(drawn), "written": None if out is None else str(out)}
    if out is None:
        document["sequences"] = [list(sequence) for sequence in drawn]
    lines = "".join(f"{separator.join(map(str, sequence))}\n" for sequence in drawn)
    if out is not None:
        out.write_text(lines, encoding="utf-8")

    def show(console: Console) -> None:
        if out is None:
            console.out(lines, highlight=False, end="")
        else:
            console.print(f"{len(drawn):,} sequences are in {out}", soft_wrap=True)

    screen.answer(document, show)


@dataclass(frozen=True)
class Compared:
    """What of a release is compared with the private sequences."""

    schema: OwnSchemaOption = None
    top: Annotated[
        list[int] | None,
        typer.Option(
            metavar="K", help="Compare the K most frequent strings; repeat for more.", min=1
        ),
    ] = None


def _listing() -> tuple[type[Any], ...]:
    """Return the releases that list frequent strings."""
    from sfumato.sequence.frequent_strings import FrequentStrings
    from sfumato.sequence.model import SequenceModel

    return (SequenceModel, FrequentStrings)


def _compare(sequences: Sequences, made: SequenceModel | FrequentStrings, options: Compared) -> Any:
    from sfumato.evaluate.sequences import evaluate_sequences

    return evaluate_sequences(sequences, made, top=tuple(options.top or TOP))


EVALUATION = Evaluation(
    help="Compare a release with the private sequences. NOT PRIVATE: for the custodian's eyes "
    "only.",
    data="sequences",
    releases=_listing,
    needs="this comparison needs a release of sequences",
    options=Compared,
    reading=ReadingOptions,
    read=BY_SCHEMA.read_known,
    compare=_compare,
)
add_evaluation(app, SEQUENCES, EVALUATION)
