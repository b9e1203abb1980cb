"""`sfumato table plan | rehearse | release`: before, without, and with spending."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.cli.methods import SetOption
from sfumato.cli.options import (
    DeltaOption,
    EngineChoice,
    EngineOption,
    EpsilonOption,
    KeyOption,
    LedgerOption,
    MadeUpOption,
    OutOption,
    RehearsalOption,
    ReportOption,
    SchemaOption,
    SeparatorOption,
    schema_path,
)
from sfumato.cli.releasing import opened_ledger, planned, rehearsed, released, usable_key
from sfumato.cli.screen import JsonOption, answering
from sfumato.cli.table_methods import MethodOption, chosen_method
from sfumato.cli.table_options import (
    ColumnsOption,
    FileArgument,
    MaybeFileArgument,
    PositiveOption,
    TableOption,
    TargetOption,
    WaysOption,
    read_private,
    read_public,
    read_schema,
)

if TYPE_CHECKING:
    from sfumato.privacy.release import Release


def plan(
    epsilon: EpsilonOption,
    file: MaybeFileArgument = None,
    schema: SchemaOption = None,
    delta: DeltaOption = None,
    method: MethodOption = None,
    tables: TableOption = None,
    ways: WaysOption = None,
    columns: ColumnsOption = None,
    target: TargetOption = None,
    positive: PositiveOption = None,
    further: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what a release would cost and how good it would be. Reads the schema only."""
    with answering(as_json) as screen:
        public = read_public(schema, file)
        recipe = chosen_method(
            public,
            method=method, epsilon=epsilon, delta=delta, tables=tables, ways=ways, columns=columns,
            target=target, positive=positive, further=further,
        )  # fmt: skip
        planned(screen, recipe, public)


def rehearse(
    epsilon: EpsilonOption,
    file: MaybeFileArgument = None,
    schema: SchemaOption = None,
    delta: DeltaOption = None,
    method: MethodOption = None,
    tables: TableOption = None,
    ways: WaysOption = None,
    columns: ColumnsOption = None,
    target: TargetOption = None,
    positive: PositiveOption = None,
    further: SetOption = None,
    rows: MadeUpOption = None,
    out: RehearsalOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run the whole release on made-up data of the same shape. Free: no private data are read."""
    with answering(as_json) as screen:
        public = read_public(schema, file)
        recipe = chosen_method(
            public,
            method=method, epsilon=epsilon, delta=delta, tables=tables, ways=ways, columns=columns,
            target=target, positive=positive, further=further,
        )  # fmt: skip
        rehearsed(screen, recipe, public, rows=rows, out=out, facts=_own_facts)


def release(
    file: FileArgument,
    epsilon: EpsilonOption,
    out: OutOption,
    schema: SchemaOption = None,
    delta: DeltaOption = None,
    method: MethodOption = None,
    tables: TableOption = None,
    ways: WaysOption = None,
    columns: ColumnsOption = None,
    target: TargetOption = None,
    positive: PositiveOption = None,
    further: SetOption = None,
    ledger: LedgerOption = None,
    key: KeyOption = None,
    report: ReportOption = True,
    engine: EngineOption = EngineChoice.AUTO,
    separator: SeparatorOption = None,
    as_json: JsonOption = False,
) -> None:
    """Release the table: book the loss, add noise, repair, certify and save."""
    with answering(as_json) as screen:
        # Whatever can be refused is refused before anything is spent.
        signing = usable_key(key)
        book = opened_ledger(screen, ledger)
        declared = read_schema(schema_path(schema, file, kind="table"))
        table = read_private(screen, file, declared, engine, separator)
        recipe = chosen_method(
            table.public,
            method=method, epsilon=epsilon, delta=delta, tables=tables, ways=ways, columns=columns,
            target=target, positive=positive, further=further,
        )  # fmt: skip
        released(
            screen, recipe, table,
            out=out, book=book, signing=signing, report=report, facts=_own_facts,
        )  # fmt: skip


def _own_facts(made: Release) -> dict[str, Any]:
    """Return what only a release of its kind can tell."""
    from sfumato.tabular.noisy_tables import NoisyTables
    from sfumato.tabular.synthetic import SyntheticTable

    if isinstance(made, NoisyTables):
        names = made.public.columns
        tables = [[names[column] for column in columns] for columns in made.sets]
        return {"total": round(made.total, 3), "tables": tables}
    if isinstance(made, SyntheticTable):
        names = made.public.columns
        parts = [[names[column] for column in part.columns] for part in made.network.parts]
        network = {"directed": made.network.directed, "parts": parts}
        return {"total": round(made.total, 3), "rows": made.rows, "network": network}
    return {}
