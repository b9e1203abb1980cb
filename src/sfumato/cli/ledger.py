"""`sfumato ledger`: the durable account of one data set."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.declared import Declared, declared_data, declared_graph
from sfumato.cli.exits import EPILOG, ExitCode, Refusal
from sfumato.cli.graph_data import ColumnsOption, CommentOption, Layout, SkipLinesOption
from sfumato.cli.options import (
    EngineChoice,
    EngineOption,
    RelationChoice,
    SchemaOption,
    SeparatorOption,
    schema_path,
)
from sfumato.cli.screen import JsonOption, answering

if TYPE_CHECKING:
    from rich.console import Console

    from sfumato.privacy.guarantee import Unit
    from sfumato.privacy.ledger import Ledger
    from sfumato.privacy.loss import Loss

app = typer.Typer(
    help="The account of a data set: what may be spent, what was, and on what.",
    epilog=EPILOG,
    no_args_is_help=True,
)

MaybeNodesOption = Annotated[
    str | None, typer.Option(metavar="N|named|FILE", help="FILE is a graph with these nodes.")
]
LedgerPath = Annotated[Path, typer.Argument(metavar="PATH", help="The file of the ledger.")]


def allowed_loss(epsilon: str | None, delta: str | None, rho: str | None) -> Loss:
    """Return the loss that three options stand for, or say which go together."""
    from sfumato.privacy.loss import ZCDP, ApproxDP, PureDP

    if (epsilon is None) == (rho is None) or (rho is not None and delta is not None):
        raise Refusal(
            ExitCode.USAGE,
            "say what may be spent in all: --allow-epsilon 3, or --allow-epsilon 3 --allow-delta "
            "1e-6, or --allow-rho 0.5",
        )
    if rho is not None:
        return ZCDP(rho)
    assert epsilon is not None
    return PureDP(epsilon) if delta is None else ApproxDP(epsilon, delta)


@app.command(epilog=EPILOG)
def create(
    path: LedgerPath,
    unit: Annotated[
        str,
        typer.Option(help="Whose contribution is protected: person, row, …", show_default=False),
    ],
    allow_epsilon: Annotated[
        str | None, typer.Option(help="The ε that all releases together may reach.")
    ] = None,
    allow_delta: Annotated[
        str | None, typer.Option(help="The δ, for releases with Gaussian noise.")
    ] = None,
    allow_rho: Annotated[
        str | None, typer.Option(help="The ρ of zero-concentrated privacy, instead of ε.")
    ] = None,
    relation: Annotated[
        RelationChoice, typer.Option(help="What a neighbouring data set is.")
    ] = RelationChoice.ADD_REMOVE,
    as_json: JsonOption = False,
) -> None:
    """Open the account of a data set. If one person can have several rows, the unit is person."""
    with answering(as_json) as screen:
        from sfumato.privacy.ledger import Ledger

        allow = allowed_loss(allow_epsilon, allow_delta, allow_rho)
        made = Ledger.create(path, allow=allow, unit=unit, relation=relation.value)
        screen.answer(_state(made), lambda console: _show(console, made))


@app.command(epilog=EPILOG)
def show(path: LedgerPath, as_json: JsonOption = False) -> None:
    """Show what is allowed, spent and left, after checking the whole chain."""
    with answering(as_json) as screen:
        from sfumato.privacy.ledger import Ledger

        found = Ledger.open(path)
        found.check()
        screen.answer(_state(found), lambda console: _show(console, found))


@app.command(epilog=EPILOG)
def history(path: LedgerPath, as_json: JsonOption = False) -> None:
    """List all bookings, the oldest first."""
    with answering(as_json) as screen:
        from sfumato.privacy.ledger import Ledger

        found = Ledger.open(path)
        found.check()
        document = {
            **_state(found),
            "entries": [entry.to_json() for entry in found.history()],
            "bindings": _bindings(found),
        }
        screen.answer(document, lambda console: _show_history(console, found))


@app.command(epilog=EPILOG)
def rebind(
    path: Annotated[Path, typer.Argument(metavar="LEDGER", help="The file of the ledger.")],
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The private data, as for the release of them.")
    ],
    reason: Annotated[
        str,
        typer.Option(
            metavar="TEXT",
            help="Why these are still the data of the same people. It is kept for ever and must "
            "not hold a private value.",
            show_default=False,
        ),
    ],
    schema: SchemaOption = None,
    nodes: MaybeNodesOption = None,
    columns: ColumnsOption = None,
    comment: CommentOption = "#",
    engine: EngineOption = EngineChoice.AUTO,
    separator: SeparatorOption = None,
    skip_lines: SkipLinesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Accept that the data of a ledger, or their schema, changed. What was spent keeps counting."""
    with answering(as_json) as screen:
        from sfumato.privacy.ledger import Ledger

        if not reason.strip():
            raise Refusal(ExitCode.USAGE, "--reason must say why the data are still the same")
        found = Ledger.open(path)
        if found.unit.value == "edge":
            declared = _graph(schema, nodes, Layout(columns, comment, skip_lines))
        elif nodes is not None or columns is not None:
            raise Refusal(
                ExitCode.LEDGER,
                f"{found.name} protects any one {found.unit}; --nodes and --columns are for graphs",
            )
        else:
            declared = declared_data(schema_path(schema, file, kind="table"))
        _refuse_other_unit(found, declared.unit)
        data = declared.read(screen, file, engine, separator, skip_lines or 0)
        found.rebind(data.digest, reason=reason)
        document = {**_state(found), "bindings": _bindings(found)}
        screen.answer(document, lambda console: _show_rebound(console, found))


def _graph(schema: Path | None, nodes: str | None, layout: Layout) -> Declared:
    """Return how the graph of a ledger is read."""
    if nodes is None or schema is not None:
        raise Refusal(
            ExitCode.USAGE, "a graph has no schema, only its nodes: name them with --nodes"
        )
    return declared_graph(nodes, layout)


def _refuse_other_unit(ledger: Ledger, unit: Unit | None) -> None:
    """Raise for a schema under which nothing could ever be booked in the ledger."""
    if unit is not None and unit is not ledger.unit:
        raise Refusal(
            ExitCode.LEDGER,
            f"{ledger.name} protects any one {ledger.unit}, and the schema any one {unit}; "
            "correct the unit in the schema",
        )


def _bindings(ledger: Ledger) -> list[dict[str, str]]:
    """Return when and why a ledger was bound to data, as plain documents."""
    return [{"time": binding.time, "reason": binding.reason} for binding in ledger.bindings()]


def _show_rebound(console: Console, ledger: Ledger) -> None:
    console.print(
        f"{ledger.name} now belongs to the data as they are. What was spent keeps counting.",
        soft_wrap=True,
    )
    _show(console, ledger)


def _state(ledger: Ledger) -> dict[str, Any]:
    """Return the state of a ledger as a plain document."""
    return {
        "ledger": str(ledger.path),
        "identity": ledger.identity,
        "unit": str(ledger.unit),
        "relation": str(ledger.relation),
        "allowed": ledger.allow.to_json(),
        "spent": ledger.spent.to_json(),
        "left": ledger.remaining.to_json(),
        "bookings": len(ledger.history()),
        "head": ledger.head,
    }


def _show(console: Console, ledger: Ledger) -> None:
    from rich.table import Table

    grid = Table.grid(padding=(0, 2))
    grid.add_row("ledger", str(ledger.path))
    grid.add_row("protects", f"any one {ledger.unit} {ledger.relation.words}")
    grid.add_row("allowed", str(ledger.allow))
    grid.add_row("spent", str(ledger.spent))
    grid.add_row("left", str(ledger.remaining))
    grid.add_row("bookings", str(len(ledger.history())))
    console.print(grid)


def _show_history(console: Console, ledger: Ledger) -> None:
    from rich import box
    from rich.table import Table

    grid = Table("entry", "time (UTC)", "method", "charged", "ended", box=box.SIMPLE_HEAD)
    for entry in ledger.history():
        note = f" ({entry.note})" if entry.note else ""
        status = f"{entry.status}{note}"
        time = entry.time[:16].replace("T", " ")
        grid.add_row(entry.reference, time, entry.method, str(entry.charged), status)
    console.print(grid)
    for binding in ledger.bindings():
        reason = f": {binding.reason}" if binding.reason else ""
        console.print(f"bound to its data {binding.time}{reason}", style="dim")
    console.print(f"{ledger.spent} of {ledger.allow} spent")
