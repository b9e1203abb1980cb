"""`sfumato graph`: from private edges between public nodes to statistics and made-up graphs."""

from __future__ import annotations

import typer

from sfumato.cli import (
    graph_compare,
    graph_count,
    graph_degrees,
    graph_evaluate,
    graph_release,
    graph_spectrum,
    graph_stats,
    graph_synthesize,
)
from sfumato.cli.exits import EPILOG

app = typer.Typer(
    help="Graphs: plan, rehearse, release and evaluate statistics and made-up graphs that hide any "
    "one edge.",
    epilog=EPILOG,
    no_args_is_help=True,
)
app.command("count", epilog=EPILOG)(graph_count.count)
app.command("degrees", epilog=EPILOG)(graph_degrees.degrees)
app.command("stats", epilog=EPILOG)(graph_stats.stats)
app.command("synthesize", epilog=EPILOG)(graph_synthesize.synthesize)
app.command("sample", epilog=EPILOG)(graph_synthesize.sample)
app.command("spectrum", epilog=EPILOG)(graph_spectrum.spectrum)
app.command("plan", epilog=EPILOG)(graph_release.plan)
app.command("rehearse", epilog=EPILOG)(graph_release.rehearse)
app.command("release", epilog=EPILOG)(graph_release.release)
app.command("evaluate", epilog=EPILOG)(graph_evaluate.evaluate)
app.command("compare", epilog=EPILOG)(graph_compare.compare)
