"""`sfumato table plan | rehearse | release`: before, without, and with spending."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.reserve import reserved
from sfumato.cli.screen import JsonOption, Screen, answering
from sfumato.cli.table_methods import MethodOption, SetOption, chosen_method
from sfumato.cli.table_options import (
    ColumnsOption,
    DeltaOption,
    EngineChoice,
    EngineOption,
    EpsilonOption,
    FileArgument,
    MaybeFileArgument,
    PositiveOption,
    SchemaOption,
    SeparatorOption,
    TableOption,
    TargetOption,
    WaysOption,
    read_private,
    read_public,
    read_schema,
    schema_path,
)

if TYPE_CHECKING:
    from rich.console import Console

    from sfumato.privacy.ledger import Ledger
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
        from sfumato.cli.words import plan_document, show_plan

        public = read_public(schema, file)
        recipe = chosen_method(
            public,
            method=method, epsilon=epsilon, delta=delta, tables=tables, ways=ways, columns=columns,
            target=target, positive=positive, further=further,
        )  # fmt: skip
        planned = recipe.plan(public)
        screen.answer(plan_document(planned), lambda console: show_plan(console, planned))


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
    rows: Annotated[
        int | None,
        typer.Option(help="How many rows to make up; by default rows_about of the schema.", min=0),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Save the rehearsal here, marked as not private."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Run the whole release on made-up data of the same shape. Free: no private data are read."""
    with answering(as_json) as screen:
        from sfumato.rehearsal import rehearse as run

        public = read_public(schema, file)
        recipe = chosen_method(
            public,
            method=method, epsilon=epsilon, delta=delta, tables=tables, ways=ways, columns=columns,
            target=target, positive=positive, further=further,
        )  # fmt: skip
        with reserved(out):
            with screen.working("rehearsing"):
                made = run(recipe, public, rows=rows)
            if out is not None:
                made.save(out)
        screen.answer(_document(made, out), lambda console: _show(console, made, out))


def release(
    file: FileArgument,
    epsilon: EpsilonOption,
    out: Annotated[Path, typer.Option(metavar="DIR", help="A new folder for the release.")],
    schema: SchemaOption = None,
    delta: DeltaOption = None,
    method: MethodOption = None,
    tables: TableOption = None,
    ways: WaysOption = None,
    columns: ColumnsOption = None,
    target: TargetOption = None,
    positive: PositiveOption = None,
    further: SetOption = None,
    ledger: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="The ledger of the data, in which the loss is booked."),
    ] = None,
    key: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH", help="The private key that signs; by default yours, if you have one."
        ),
    ] = None,
    report: Annotated[bool, typer.Option(help="Add report.html to the release.")] = True,
    engine: EngineOption = EngineChoice.AUTO,
    separator: SeparatorOption = None,
    as_json: JsonOption = False,
) -> None:
    """Release the table: book the loss, add noise, repair, certify and save."""
    with answering(as_json) as screen:
        # Whatever can be refused is refused before anything is spent.
        signing = usable_key(key)
        book = opened_ledger(screen, ledger)
        declared = read_schema(schema_path(schema, file))
        table = read_private(screen, file, declared, engine, separator)
        recipe = chosen_method(
            table.public,
            method=method, epsilon=epsilon, delta=delta, tables=tables, ways=ways, columns=columns,
            target=target, positive=positive, further=further,
        )  # fmt: skip
        with reserved(out):
            with screen.working("releasing"):
                made = recipe.release(table, ledger=book)
            made.save(out, key=signing)
        page = reported(screen, out) if report else None
        document = {**_document(made, out), "report": None if page is None else str(page)}
        if book is not None:
            document["left"] = book.remaining.to_json()

        def show(console: Console) -> None:
            _show(console, made, out)
            if book is not None:
                console.print(f"Left in {book.name}: {book.remaining}", soft_wrap=True)

        screen.answer(document, show)


def usable_key(key: Path | None) -> Path | None:
    """Return the key that will sign, after seeing that it can."""
    from sfumato.privacy import keys

    found = key if key is not None else keys.find_key()
    if found is not None:
        keys.load_private(found)
    return found


def opened_ledger(screen: Screen, path: Path | None) -> Ledger | None:
    """Open the ledger, or say what it means to do without."""
    from sfumato.privacy.ledger import Ledger

    if path is not None:
        return Ledger.open(path)
    screen.note(
        "Without --ledger nobody keeps the sum: losses of several releases of the same data add up."
    )
    return None


def reported(screen: Screen, out: Path) -> Path:
    """Add the report to a saved release."""
    from sfumato.report.page import save_report

    with screen.working("drawing the report"):
        return save_report(out)


def _document(made: Release, out: Path | None) -> dict[str, Any]:
    """Return a release for programs; its data are in its files."""
    origin = made.provenance
    return {
        "release": None if out is None else str(out),
        "kind": made.kind,
        "method": origin.method.name,
        "parameters": origin.method.parameters(),
        "guarantee": made.guarantee.to_json(),
        "ledger": origin.ledger,
        **_own_facts(made),
        "words": made.words(),
    }


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


def _show(console: Console, made: Release, out: Path | None) -> None:
    """Print what was released and what is promised."""
    wrap = not console.is_terminal
    console.print(made.words(), soft_wrap=wrap)
    console.print()
    console.print(made.guarantee.words(), soft_wrap=wrap, style="bold")
    if out is not None:
        console.print()
        console.print(f"Saved in {out}", soft_wrap=True)
