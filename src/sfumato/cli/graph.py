"""`sfumato graph`: from private edges between public nodes to statistics of the graph."""

from __future__ import annotations

import typer

from sfumato.cli import graph_count, graph_release
from sfumato.cli.exits import EPILOG

app = typer.Typer(
    help="Graphs: plan, rehearse and release statistics that hide any one edge.",
    epilog=EPILOG,
    no_args_is_help=True,
)
app.command("count", epilog=EPILOG)(graph_count.count)
app.command("plan", epilog=EPILOG)(graph_release.plan)
app.command("rehearse", epilog=EPILOG)(graph_release.rehearse)
app.command("release", epilog=EPILOG)(graph_release.release)
