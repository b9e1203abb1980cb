"""`sfumato sequences evaluate`: compare a release with the private sequences. Not private."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.options import OwnSchemaOption, ReleaseArgument
from sfumato.cli.releasing import load_release, show_comparison
from sfumato.cli.screen import JsonOption, answering
from sfumato.cli.sequences_schema import (
    FileArgument,
    SkipLinesOption,
    SymbolSeparatorOption,
    read_declared,
    read_sequences_as,
)

if TYPE_CHECKING:
    from rich.console import Console

    from sfumato.data.sequences import Sequences
    from sfumato.evaluate.sequences import SequenceEvaluation
    from sfumato.sequence.frequent_strings import FrequentStrings
    from sfumato.sequence.model import SequenceModel

#: Which top lists are compared unless it is said otherwise.
TOP = (50, 100, 200)


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
            "only a release of sequences is compared with sequences",
        )
        declared = made.public if schema is None else read_declared(schema)
        sequences = read_sequences_as(screen, file, declared, separator, skip_lines)
        with screen.working("comparing"):
            outcome = _compare(sequences, made, tuple(top or TOP))
        show_comparison(screen, outcome.to_json(), lambda console: _show(console, outcome))


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


def _show(console: Console, outcome: SequenceEvaluation) -> None:
    """Print how far a release is from the truth."""
    wrap = not console.is_terminal
    for number, share in outcome.precisions.items():
        console.print(
            f"Of the {number:,} most frequent strings, the release lists {100 * share:.1f} %.",
            soft_wrap=wrap,
        )
    if outcome.length_distance is not None:
        console.print(
            f"Lengths of sequences: {100 * outcome.length_distance:.2f} % would have to be of "
            "another length for their distribution to be the true one.",
            soft_wrap=wrap,
        )
