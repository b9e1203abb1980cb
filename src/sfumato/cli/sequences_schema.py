"""`sfumato sequences schema`: what is public about sequences, declared without reading any."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.exits import ExitCode, Refusal
from sfumato.cli.options import (
    RelationChoice,
    RelationOption,
    RowsAboutOption,
    SchemaOption,
    WrittenSchemaOption,
    parse_names,
    refuse_taken,
    schema_path,
)
from sfumato.cli.schema_files import (
    answer_with_schema,
    lines_of,
    read_document,
    read_list,
    refuse_others,
    section,
)
from sfumato.cli.screen import JsonOption, Screen, answering

if TYPE_CHECKING:
    from sfumato.data.sequences import Sequences, SequencesPublic

#: What the section [sequences] of a schema file may hold.
FACTS = ("unit", "max_sequences", "relation", "rows_about", "alphabet")
#: Where a file says whose a sequence is: in the first field of its line.
FIRST = "first"


class SequenceUnit(StrEnum):
    """Whose contribution is protected."""

    SEQUENCE = "sequence"
    PERSON = "person"


FileArgument = Annotated[
    Path,
    typer.Argument(
        metavar="FILE", help="The private sequences, one per line: plain text, .gz or .xz."
    ),
]
SymbolSeparatorOption = Annotated[
    str | None,
    typer.Option(metavar="CHAR", help="The separator of symbols; blanks and tabs by default."),
]
SkipLinesOption = Annotated[
    int,
    typer.Option(metavar="N", help="The number of lines to skip at the start of FILE.", min=0),
]


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
        refuse_taken(out)
        declared = _public(
            alphabet=_symbols(alphabet, alphabet_file), unit=unit.value,
            max_sequences=max_sequences, relation=relation.value, rows_about=rows_about,
        )  # fmt: skip
        answer_with_schema(screen, declared, schema_text(declared), out)


def _symbols(text: str | None, path: Path | None) -> tuple[str, ...]:
    """Return the symbols that options name, or a file lists one per line."""
    if (text is None) == (path is None):
        raise Refusal(ExitCode.USAGE, "give the symbols with --alphabet or --alphabet-file")
    if text is not None:
        return parse_names(text, what="symbols", example='left,"up, then down"')
    assert path is not None
    return tuple(read_list(path).splitlines())


def _public(*, max_sequences: int | None, alphabet: Any, **facts: Any) -> SequencesPublic:
    """Return the public part that is declared, or say what does not fit."""
    from sfumato.data.sequences import SequencesPublic

    bounded = facts["unit"] == "person"
    if bounded and max_sequences is None:
        raise ValueError(
            'unit "person" needs a bound: set max_sequences to the most sequences used per person; '
            "the first field of each line is then the person's identifier"
        )
    if not bounded and max_sequences is not None:
        raise ValueError('max_sequences needs unit "person"')
    return SequencesPublic(
        alphabet=tuple(alphabet),
        contribution=1 if max_sequences is None else max_sequences,
        **facts,
    )


def schema_text(public: SequencesPublic) -> str:
    """Return the text of a schema file."""
    facts = {
        "unit": str(public.unit),
        "max_sequences": public.contribution if public.unit.value == "person" else None,
        "relation": str(public.relation),
        "rows_about": public.rows_about,
        "alphabet": list(public.alphabet),
    }
    return "\n".join([*lines_of("sequences", facts), ""])


def read_declared(path: Path) -> SequencesPublic:
    """Return what a schema file declares about sequences."""
    document = read_document(path)
    facts = section(path, document, "sequences", FACTS)
    refuse_others(path, document, ("sequences",))
    if "unit" not in facts:
        raise Refusal(
            ExitCode.DATA,
            f"{path.name}: [sequences] must state the unit: can one person have several sequences? "
            'No: unit = "sequence". Yes: unit = "person", with max_sequences',
        )
    if not isinstance(facts.get("alphabet"), list):
        raise Refusal(
            ExitCode.DATA, f'{path.name}: [sequences] needs a list: alphabet = ["a", "b"]'
        )
    told: dict[str, Any] = {
        "max_sequences": None,
        "relation": "add_remove",
        "rows_about": None,
        **facts,
    }
    try:
        return _public(**told)
    except (TypeError, ValueError) as error:
        raise Refusal(ExitCode.DATA, f"{path.name}: {error}") from None


@dataclass(frozen=True)
class SchemaOptions:
    """What is public about sequences."""

    schema: SchemaOption = None


@dataclass(frozen=True)
class ReadingOptions:
    """How private sequences are read."""

    separator: SymbolSeparatorOption = None
    skip_lines: SkipLinesOption = 0


def read_public(screen: Screen, file: Path | None, options: SchemaOptions) -> SequencesPublic:
    """Return what is public about sequences, from their schema alone.

    Where their number is public, a plan takes it to be what was declared.
    """
    declared = read_declared(schema_path(options.schema, file, kind="sequences"))
    if declared.relation.value == RelationChoice.REPLACE_ONE:
        return replace(declared, rows=declared.rows_about)
    return declared


def read_private(
    screen: Screen, file: Path, options: SchemaOptions, reading: ReadingOptions
) -> Sequences:
    """Read the private sequences."""
    declared = read_declared(schema_path(options.schema, file, kind="sequences"))
    return read_sequences_as(screen, file, declared, reading.separator, reading.skip_lines)


def read_sequences_as(
    screen: Screen, file: Path, declared: SequencesPublic, separator: str | None, skip_lines: int
) -> Sequences:
    """Read private sequences of which a schema or a release says what is public."""
    from sfumato.data.sequences import read_sequences

    bounded = declared.unit.value == "person"
    with screen.working(f"reading {file.name}"):
        return read_sequences(
            file,
            declared.alphabet,
            separator=separator,
            skip_lines=skip_lines,
            unit=str(declared.unit),
            relation=str(declared.relation),
            person=FIRST if bounded else None,
            max_sequences=declared.contribution if bounded else None,
            rows_about=declared.rows_about,
        )
