"""The command `sfumato` and its groups.

Nothing heavy is imported here or by the modules of the groups: a command imports what it needs when
it runs, so that help and completion answer at once.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from sfumato.cli import (
    attack,
    audit,
    collect,
    demo,
    graph,
    gwas,
    keygen,
    ledger,
    points,
    regress,
    report,
    sequences,
    table,
    verify,
)
from sfumato.cli.exits import EPILOG, ExitCode, Failure
from sfumato.cli.screen import write_json
from sfumato.privacy.escaping import escape

ORDER = (
    "demo", "table", "regress", "points", "sequences", "graph", "gwas", "collect",
    "ledger", "verify", "report", "audit", "attack", "keygen",
)  # fmt: skip


@contextmanager
def _escaping_usage_errors() -> Iterator[None]:
    """Escape what an error of the command line repeats of it: a file name may hold anything."""
    try:
        yield
    except Exception as wrong:
        if hasattr(wrong, "format_message") and isinstance(getattr(wrong, "message", None), str):
            wrong.message = escape(wrong.message)  # type: ignore[attr-defined]
        raise


class Answering(TyperGroup):
    """The outermost group: with `--json` a wrong command line, too, is answered in JSON."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the commands in the order in which a custodian needs them."""
        return sorted(self.commands, key=ORDER.index)

    def make_context(self, *words: Any, **extra: Any) -> Any:
        """Read the command line."""
        with _escaping_usage_errors():
            return super().make_context(*words, **extra)

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was read."""
        with _escaping_usage_errors():
            return super().invoke(ctx)

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run the command line."""
        words = list(sys.argv[1:] if args is None else args)
        try:
            return super().main(
                words, prog_name, complete_var, standalone_mode, windows_expand_args, **extra
            )
        except SystemExit as ending:
            wrong = ending.__context__
            if ending.code == ExitCode.USAGE and "--json" in words:
                told = getattr(wrong, "format_message", None)
                if told is not None:
                    write_json(Failure(ExitCode.USAGE, str(told())).to_json())
            raise


app = typer.Typer(
    name="sfumato",
    cls=Answering,
    help="Publish statistics, synthetic data and models of private data with differential privacy.",
    epilog=EPILOG,
    no_args_is_help=True,
    rich_markup_mode="rich",
    # A traceback with local variables would print private data.
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(table.app, name="table")
app.add_typer(regress.app, name="regress")
app.add_typer(points.app, name="points")
app.add_typer(sequences.app, name="sequences")
app.add_typer(gwas.app, name="gwas")
app.add_typer(graph.app, name="graph")
app.add_typer(collect.app, name="collect")
app.command("verify", epilog=EPILOG)(verify.verify)
app.command("report", epilog=EPILOG)(report.report)
app.add_typer(ledger.app, name="ledger")
app.command("audit", epilog=EPILOG)(audit.audit)
app.add_typer(attack.app, name="attack")
app.command("keygen", epilog=EPILOG)(keygen.keygen)
app.command("demo", epilog=EPILOG)(demo.demo)


def _version(wanted: bool) -> None:
    if wanted:
        from sfumato import __version__

        typer.echo(f"sfumato {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_version, is_eager=True),
    ] = False,
) -> None:
    """Publish statistics, synthetic data and models of private data with differential privacy."""


def main() -> None:
    """Run the command line."""
    app(prog_name="sfumato")
