"""`sfumato ledger`: the durable account of one data set."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.exits import EPILOG, ExitCode, Refusal
from sfumato.cli.graph import GRAPH
from sfumato.cli.graph_data import ColumnsOption, CommentOption, SkipLinesOption
from sfumato.cli.kind import take_options
from sfumato.cli.options import (
    EngineChoice,
    EngineOption,
    RelationChoice,
    ReportOption,
    SchemaOption,
    SeparatorOption,
)
from sfumato.cli.points import POINTS
from sfumato.cli.schemas import find_kind, schema_path
from sfumato.cli.screen import JsonOption, Screen, answering, print_table
from sfumato.cli.sequences import SEQUENCES
from sfumato.cli.table import TABLE

if TYPE_CHECKING:
    from rich.console import Console

    from sfumato.privacy.ledger import Ledger
    from sfumato.privacy.loss import Loss

app = typer.Typer(
    help="Ledgers: the privacy loss that is allowed, spent and left for a data set.",
    epilog=EPILOG,
    no_args_is_help=True,
)

MaybeNodesOption = Annotated[
    str | None, typer.Option(metavar="N|named|FILE", help="The nodes, if FILE is a graph.")
]
LedgerPath = Annotated[Path, typer.Argument(metavar="PATH", help="The ledger file.")]


def allowed_loss(epsilon: str | None, delta: str | None, rho: str | None) -> Loss:
    """Return the loss that three options stand for, or say which go together."""
    from sfumato.privacy.loss import ZCDP, ApproxDP, PureDP

    if (epsilon is None) == (rho is None) or (rho is not None and delta is not None):
        raise Refusal(
            ExitCode.USAGE,
            "declare what may be spent in total: --allow-epsilon 3, or --allow-epsilon 3 "
            "--allow-delta 1e-6, or --allow-rho 0.5",
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
        typer.Option(help="The unit that is protected: person, row, …", show_default=False),
    ],
    allow_epsilon: Annotated[
        str | None, typer.Option(help="The total ε allowed for all releases.")
    ] = None,
    allow_delta: Annotated[
        str | None, typer.Option(help="The total δ allowed, for Gaussian noise.")
    ] = None,
    allow_rho: Annotated[
        str | None, typer.Option(help="The total ρ of zero-concentrated DP, instead of ε.")
    ] = None,
    relation: Annotated[
        RelationChoice, typer.Option(help="The neighbouring relation.")
    ] = RelationChoice.ADD_REMOVE,
    as_json: JsonOption = False,
) -> None:
    """Create the ledger of a data set. If one person can have several rows, the unit is person."""
    with answering(as_json) as screen:
        from sfumato.privacy.ledger import Ledger

        allow = allowed_loss(allow_epsilon, allow_delta, allow_rho)
        made = Ledger.create(path, allow=allow, unit=unit, relation=relation.value)
        screen.answer(_state(made), lambda console: _show(console, made))


@app.command(epilog=EPILOG)
def show(path: LedgerPath, as_json: JsonOption = False) -> None:
    """Check the whole chain, then show the loss that is allowed, spent and left."""
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
def check(
    path: LedgerPath,
    releases: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[RELEASE]…", help="Saved releases that must be booked in this ledger."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Check a ledger: every event, every sum, and whether it is the newest copy."""
    with answering(as_json) as screen:
        from sfumato.privacy.ledger import Ledger

        found = Ledger.open(path)
        found.check()
        for folder in releases or ():
            _refuse_unbooked(found, folder)
        document = {
            **_state(found),
            "releases": [str(folder) for folder in releases or ()],
            "witnesses": [str(file) for file in found.witnesses()],
            "setbacks": [list(pair) for pair in found.setbacks()],
        }
        screen.answer(document, lambda console: _show_checked(console, found, releases or []))


@app.command(epilog=EPILOG)
def recover(
    path: LedgerPath,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="A new or empty folder to save the release in."),
    ] = None,
    entry: Annotated[
        int | None,
        typer.Option(metavar="N", help="The entry to recover; needed if there are several."),
    ] = None,
    discard: Annotated[
        bool, typer.Option("--discard", help="Discard the kept transcript of the entry instead.")
    ] = False,
    key: Annotated[
        Path | None, typer.Option(metavar="PATH", help="The private key that signs the release.")
    ] = None,
    report: ReportOption = False,
    as_json: JsonOption = False,
) -> None:
    """List releases that were booked but never saved, or save one. Needs no data."""
    with answering(as_json) as screen:
        from sfumato.cli.releasing import add_report, offer_report, show_release, usable_key
        from sfumato.cli.reserve import reserve_folder
        from sfumato.privacy.ledger import Ledger

        found = Ledger.open(path)
        if out is None and not discard:
            screen.answer(_kept(found), lambda console: _show_kept(console, found))
            return
        number = _choose_entry(found, entry)
        if discard:
            found.discard(number)
            screen.answer(_kept(found), lambda console: _show_kept(console, found))
            return
        assert out is not None
        signing = usable_key(key)
        with reserve_folder(out):
            made = found.recover(number)
            made.save(out, key=signing)
        if report:
            add_report(screen, out)
        document = {"release": str(out), "entry": number, "guarantee": made.guarantee.to_json()}

        def show(console: Console) -> None:
            show_release(console, made, out)
            if not report:
                offer_report(console, out)

        screen.answer(document, show)


def _choose_entry(ledger: Ledger, number: int | None) -> int:
    """Return the entry that is meant, which must be one that is kept."""
    kept = [entry.number for entry in ledger.unsaved()]
    if number is None and len(kept) == 1:
        return kept[0]
    if number is None or number not in kept:
        listed = ", ".join(map(str, kept)) or "none"
        asked = "choose one with --entry" if number is None else f"entry {number} is not kept"
        raise Refusal(
            ExitCode.USAGE, f"{asked}; entries of {ledger.name} that can be recovered: {listed}"
        )
    return number


def _kept(ledger: Ledger) -> dict[str, Any]:
    """Return what was paid for and not saved, as a plain document."""
    kept = ledger.unsaved()
    numbers = {entry.number for entry in kept}
    lost = [
        entry.to_json()
        for entry in ledger.history()
        if entry.status == "booked" and entry.number not in numbers
    ]
    return {
        "ledger": str(ledger.path),
        "recoverable": [entry.to_json() for entry in kept],
        "unfinished": lost,
    }


def _show_kept(console: Console, ledger: Ledger) -> None:
    document = _kept(ledger)
    for entry in document["recoverable"]:
        console.print(
            f"{entry['reference']} {entry['time']} {entry['method']}: save it with `sfumato ledger "
            f"recover {ledger.path} --entry {entry['number']} --out NEW-FOLDER`",
            soft_wrap=True,
        )
    for entry in document["unfinished"]:
        console.print(
            f"{entry['reference']} {entry['time']} {entry['method']}: spent, with nothing to "
            "recover: it is still running, or it stopped before the measurement was complete",
            soft_wrap=True,
        )
    if not document["recoverable"]:
        console.print("Every release is saved.")


def _refuse_unbooked(ledger: Ledger, folder: Path) -> None:
    """Raise unless a saved release is booked in the ledger, so that it is not an older copy."""
    from sfumato.privacy.saved import load

    stated = load(folder).provenance.ledger
    if stated is None or stated["identity"] != ledger.identity:
        raise Refusal(ExitCode.LEDGER, f"{folder} is not booked in {ledger.name}")
    if not ledger.contains(stated["head"]):
        raise Refusal(
            ExitCode.LEDGER,
            f"{ledger.path} does not hold {stated['reference']}, the entry of {folder}: this "
            "ledger is an older copy, or its end was cut off. Do not use it; restore a newer copy",
        )


def _show_checked(console: Console, ledger: Ledger, releases: list[Path]) -> None:
    _show(console, ledger)
    console.print("Every event is unchanged, and every sum is correct.", soft_wrap=True)
    for file in ledger.witnesses():
        console.print(f"The ledger is not older than its witness {file} records.", soft_wrap=True)
    if not ledger.witnesses():
        console.print(
            ("No witness of this ledger is kept, so an older copy would not be recognised."),
            soft_wrap=True,
        )
    for folder in releases:
        console.print(f"It holds the entry that paid for {folder}.", soft_wrap=True)
    for before, after in ledger.setbacks():
        console.print(f"The clock went back: {before} was followed by {after}.", soft_wrap=True)


@app.command(epilog=EPILOG)
def rebind(
    path: Annotated[Path, typer.Argument(metavar="LEDGER", help="The ledger file.")],
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="The private data, as given to the release command."),
    ],
    reason: Annotated[
        str,
        typer.Option(
            metavar="TEXT",
            help="The reason why these are still the data of the same people. It is stored "
            "permanently and must not contain private values.",
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
    """Accept that the data of a ledger, or their schema, changed. What was spent still counts."""
    with answering(as_json) as screen:
        from sfumato.privacy.ledger import Ledger

        if not reason.strip():
            raise Refusal(
                ExitCode.USAGE, "--reason must state why the data still belong to the same people"
            )
        found = Ledger.open(path)
        options = {
            "nodes": nodes, "columns": columns, "comment": comment, "engine": engine,
            "separator": separator, "skip_lines": skip_lines,
        }  # fmt: skip
        if found.unit.value == "edge":
            data = _read_graph(screen, file, schema, options)
        else:
            place = schema_path(schema, file, kind="table")
            data = _read_by_schema(screen, found, file, place, options)
        found.rebind(data.digest, reason=reason)
        document = {**_state(found), "bindings": _bindings(found)}
        screen.answer(document, lambda console: _show_rebound(console, found))


def _read_graph(screen: Screen, file: Path, schema: Path | None, options: dict[str, Any]) -> Any:
    """Read the graph of a ledger."""
    if options["nodes"] is None or schema is not None:
        raise Refusal(ExitCode.USAGE, "a graph has no schema; give its nodes with --nodes")
    return GRAPH.read_private(screen, file, take_options(GRAPH.options, options), None)


def _read_by_schema(
    screen: Screen, ledger: Ledger, file: Path, schema: Path, options: dict[str, Any]
) -> Any:
    """Read data of the kind that their schema declares, if they can be booked in the ledger."""
    if options["nodes"] is not None or options["columns"] is not None:
        raise Refusal(
            ExitCode.LEDGER,
            f"{ledger.name} protects any one {ledger.unit}; --nodes and --columns are for graphs",
        )
    kind = {item.name: item for item in (TABLE, POINTS, SEQUENCES)}[find_kind(schema)]
    if options["skip_lines"] and kind is not SEQUENCES:
        raise Refusal(ExitCode.USAGE, "--skip-lines is for files of sequences and graphs")
    declared = kind.options(schema=schema)
    unit = kind.read_public(screen, file, declared).unit
    if unit is not ledger.unit:
        raise Refusal(
            ExitCode.LEDGER,
            f"{ledger.name} protects any one {ledger.unit}, and the schema any one {unit}; "
            "correct the unit in the schema",
        )
    given = {**options, "skip_lines": options["skip_lines"] or 0}
    return kind.read_private(screen, file, declared, take_options(kind.reading, given))


def _bindings(ledger: Ledger) -> list[dict[str, str]]:
    """Return when and why a ledger was bound to data, as plain documents."""
    return [{"time": binding.time, "reason": binding.reason} for binding in ledger.bindings()]


def _show_rebound(console: Console, ledger: Ledger) -> None:
    console.print(
        (
            f"{ledger.name} is now bound to the current data. The privacy loss already spent "
            "still counts."
        ),
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
        "bookings": ledger.bookings,
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
    grid.add_row("bookings", str(ledger.bookings))
    console.print(grid)


def _show_history(console: Console, ledger: Ledger) -> None:
    rows = []
    for entry in ledger.history():
        note = f" ({entry.note})" if entry.note else ""
        status = f"{entry.status}{note}"
        time = entry.time[:16].replace("T", " ")
        rows.append((entry.reference, time, entry.method, str(entry.charged), status))
    print_table(console, ("entry", "time (UTC)", "method", "charged", "ended"), rows)
    for binding in ledger.bindings():
        reason = f": {binding.reason}" if binding.reason else ""
        console.print(f"bound to its data {binding.time}{reason}", style="dim")
    console.print(f"{ledger.spent} of {ledger.allow} spent")
