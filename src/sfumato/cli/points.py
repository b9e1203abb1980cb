"""`sfumato points`: from private points to a map of noisy counts."""

from __future__ import annotations

import typer

from sfumato.cli import points_evaluate, points_map, points_query, points_release, points_schema
from sfumato.cli.exits import EPILOG

app = typer.Typer(
    help="Points: declare a schema, plan, rehearse, release, query, draw and evaluate.",
    epilog=EPILOG,
    no_args_is_help=True,
)
app.command("schema", epilog=EPILOG)(points_schema.schema)
app.command("plan", epilog=EPILOG)(points_release.plan)
app.command("rehearse", epilog=EPILOG)(points_release.rehearse)
app.command("release", epilog=EPILOG)(points_release.release)
app.command("query", epilog=EPILOG)(points_query.query)
app.command("map", epilog=EPILOG)(points_map.draw)
app.command("evaluate", epilog=EPILOG)(points_evaluate.evaluate)
