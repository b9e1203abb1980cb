"""`sfumato sequences top | sample | evaluate`: what a release tells, and how good it is.

Only `evaluate` reads private data; what it shows is not private.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.exits import ExitCode, Refusal
from sfumato.cli.options import OwnSchemaOption, ReleaseArgument
from sfumato.cli.releasing import load_release, show_comparison
from sfumato.cli.screen import JsonOption, Screen, answering, print_table
from sfumato.cli.sequences_schema import (
    FileArgument,
    SkipLinesOption,
    SymbolSeparatorOption,
    read_declared,
    read_sequences_as,
)

if TYPE_CHECKING:
    from rich.console import Console

    from sfumato.data.alphabet import Symbol
    from sfumato.data.sequences import Sequences, SequencesPublic
    from sfumato.evaluate.sequences import SequenceEvaluation
    from sfumato.sequence.frequent_strings import FrequentStrings
    from sfumato.sequence.model import SequenceModel

#: Which top lists are compared unless it is said otherwise.
TOP = (50, 100, 200)
Counted = list[tuple[tuple["Symbol", ...], float | None]]


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
        from sfumato.sequence.frequent_strings import FrequentStrings
        from sfumato.sequence.model import SequenceModel

        made: SequenceModel | FrequentStrings = load_release(
            screen,
            release,
            (SequenceModel, FrequentStrings),
            "frequent strings need a release of sequences",
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


def evaluate(
    file: FileArgument,
    release: ReleaseArgument,
    schema: OwnSchemaOption = None,
    top: Annotated[
        list[int] | None,
        typer.Option(
            metavar="K", help="Compare the K most frequent strings; repeat for more.", min=1
        ),
    ] = None,
    separator: SymbolSeparatorOption = None,
    skip_lines: SkipLinesOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Compare a release with the private sequences. NOT PRIVATE: for the custodian's eyes only."""
    with answering(as_json) as screen:
        from sfumato.sequence.frequent_strings import FrequentStrings
        from sfumato.sequence.model import SequenceModel

        made: SequenceModel | FrequentStrings = load_release(
            screen,
            release,
            (SequenceModel, FrequentStrings),
            "this comparison needs a release of sequences",
        )
        declared = made.public if schema is None else read_declared(schema)
        sequences = read_sequences_as(screen, file, declared, separator, skip_lines)
        with screen.working("comparing"):
            outcome = _compare(sequences, made, tuple(top or TOP))
        show_comparison(
            screen, outcome.to_json(), lambda console: _show_evaluation(console, outcome)
        )


def _compare(
    sequences: Sequences, made: SequenceModel | FrequentStrings, top: tuple[int, ...]
) -> SequenceEvaluation:
    """Return how far a release is from the truth; from a list of strings nothing can be drawn."""
    from sfumato.evaluate.sequences import (
        SequenceEvaluation,
        evaluate_sequences,
        precision,
        top_strings,
    )
    from sfumato.sequence.frequent_strings import FrequentStrings

    if not isinstance(made, FrequentStrings):
        return evaluate_sequences(sequences, made, top=top)
    truth, answer = top_strings(sequences, max(top)), made.top()
    precisions = {k: precision(truth[:k], answer[:k]) for k in top}
    return SequenceEvaluation(precisions, None)


def _show_evaluation(console: Console, outcome: SequenceEvaluation) -> None:
    """Print how far a release is from the truth."""
    wrap = not console.is_terminal
    for number, share in outcome.precisions.items():
        console.print(
            f"Of the {number:,} most frequent strings, the release lists {100 * share:.1f} %.",
            soft_wrap=wrap,
        )
    if outcome.length_distance is not None:
        console.print(
            f"Lengths of sequences: {100 * outcome.length_distance:.2f} % of the sequences would "
            "have to change their length to match the true distribution.",
            soft_wrap=wrap,
        )
