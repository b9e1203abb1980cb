"""`sfumato sequences top | sample`: frequent strings and synthetic sequences. Reads no data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.exits import ExitCode, Refusal
from sfumato.cli.options import ReleaseArgument
from sfumato.cli.releasing import load_release
from sfumato.cli.screen import JsonOption, Screen, answering, print_table

if TYPE_CHECKING:
    from rich.console import Console

    from sfumato.data.alphabet import Symbol
    from sfumato.data.sequences import SequencesPublic
    from sfumato.sequence.frequent_strings import FrequentStrings
    from sfumato.sequence.model import SequenceModel

Counted = list[tuple[tuple["Symbol", ...], float | None]]


def top(
    release: ReleaseArgument,
    number: Annotated[
        int, typer.Option("-k", "--number", metavar="K", help="How many strings.", min=1)
    ] = 20,
    length: Annotated[
        int | None,
        typer.Option(metavar="N", help="Only strings of this many symbols.", min=1),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the most frequent strings of symbols, by the release. Costs no privacy."""
    with answering(as_json) as screen:
        from sfumato.sequence.frequent_strings import FrequentStrings
        from sfumato.sequence.model import SequenceModel

        made: SequenceModel | FrequentStrings = load_release(
            screen,
            release,
            (SequenceModel, FrequentStrings),
            "only a release of sequences has frequent strings",
        )
        with screen.working("looking for frequent strings"):
            found = _frequent(made, number, length)
        document = {
            "strings": [{"string": list(string), "count": count} for string, count in found]
        }
        screen.answer(document, lambda console: _show(console, made.public, found))


def sample(
    release: ReleaseArgument,
    rows: Annotated[
        int | None,
        typer.Option(
            help="How many sequences; by default as many as the release estimates.", min=0
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
        int | None, typer.Option(help="A seed, to draw the same sequences again.", min=0)
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Draw synthetic sequences, one per line, from a release. Costs no privacy."""
    with answering(as_json) as screen:
        from sfumato import noise
        from sfumato.sequence.model import SequenceModel

        _refuse_folder(out)
        made: SequenceModel = load_release(
            screen, release, SequenceModel, "only a model of sequences can be drawn from"
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
    from sfumato.sequence.published import string_text

    rows = []
    for place, (string, count) in enumerate(found, start=1):
        text = string_text(public, public.codes(string))
        rows.append((str(place), text, "—" if count is None else f"{count:,.1f}"))
    print_table(console, ("", "string", "occurs about"), rows, right=(0, 2))
    if any(count is None for _, count in found):
        console.print("How often they occur is not part of this release.", style="dim")


def _refuse_folder(out: Path | None) -> None:
    """Refuse, before any work, a file that could not be written."""
    if out is not None and (out.exists() or not out.parent.is_dir()):
        told = f"{out} exists" if out.exists() else f"there is no folder {out.parent}"
        raise Refusal(ExitCode.USAGE, f"{told}; choose another file with --out")


def _refuse_separator(public: SequencesPublic, separator: str) -> None:
    """Refuse a separator that stands inside symbols, so that lines could not be read again."""
    if len(separator) != 1 or separator in "\r\n":
        raise Refusal(ExitCode.USAGE, "--separator is one character, and no line break")
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
