"""`sfumato sequences plan | rehearse | release`: before, without, and with spending."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.cli.methods import SetOption
from sfumato.cli.options import (
    EpsilonOption,
    KeyOption,
    LedgerOption,
    MadeUpOption,
    OutOption,
    RehearsalOption,
    ReportOption,
    SchemaOption,
    schema_path,
)
from sfumato.cli.releasing import opened_ledger, planned, rehearsed, released, usable_key
from sfumato.cli.screen import JsonOption, answering
from sfumato.cli.sequences_methods import MethodOption, chosen_method
from sfumato.cli.sequences_schema import (
    FileArgument,
    MaybeFileArgument,
    SkipLinesOption,
    SymbolSeparatorOption,
    read_declared,
    read_private,
    read_public,
)

if TYPE_CHECKING:
    from sfumato.privacy.release import Release


def plan(
    epsilon: EpsilonOption,
    file: MaybeFileArgument = None,
    schema: SchemaOption = None,
    method: MethodOption = None,
    further: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what a release would cost and how good it would be. Reads the schema only."""
    with answering(as_json) as screen:
        public = read_public(schema, file)
        recipe = chosen_method(public, method=method, epsilon=epsilon, further=further)
        planned(screen, recipe, public)


def rehearse(
    epsilon: EpsilonOption,
    file: MaybeFileArgument = None,
    schema: SchemaOption = None,
    method: MethodOption = None,
    further: SetOption = None,
    rows: MadeUpOption = None,
    out: RehearsalOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run the whole release on made-up sequences. Free: no private data are read."""
    with answering(as_json) as screen:
        public = read_public(schema, file)
        recipe = chosen_method(public, method=method, epsilon=epsilon, further=further)
        rehearsed(screen, recipe, public, rows=rows, out=out, facts=_facts)


def release(
    file: FileArgument,
    epsilon: EpsilonOption,
    out: OutOption,
    schema: SchemaOption = None,
    method: MethodOption = None,
    further: SetOption = None,
    ledger: LedgerOption = None,
    key: KeyOption = None,
    report: ReportOption = True,
    separator: SymbolSeparatorOption = None,
    skip_lines: SkipLinesOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Release the sequences: book the loss, add noise, certify and save a model of them."""
    with answering(as_json) as screen:
        # Whatever can be refused is refused before anything is spent.
        signing = usable_key(key)
        book = opened_ledger(screen, ledger)
        declared = read_declared(schema_path(schema, file, kind="sequences"))
        sequences = read_private(screen, file, declared, separator, skip_lines)
        recipe = chosen_method(sequences.public, method=method, epsilon=epsilon, further=further)
        released(
            screen, recipe, sequences,
            out=out, book=book, signing=signing, report=report, facts=_facts,
        )  # fmt: skip


def _facts(made: Release) -> dict[str, Any]:
    """Return what only a release of its kind can tell."""
    from sfumato.sequence.frequent_strings import FrequentStrings
    from sfumato.sequence.model import SequenceModel

    if isinstance(made, SequenceModel):
        return {
            "total": round(made.total, 3),
            "limit": made.limit,
            "contexts": made.model.nodes,
            "standard_deviation": made.deviation,
        }
    if isinstance(made, FrequentStrings):
        return {"limit": made.limit, "strings": len(made.strings)}
    return {}
