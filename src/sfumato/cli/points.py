"""`sfumato points`: from private points to a map of noisy counts."""

from __future__ import annotations

import typer

from sfumato.cli import points_results, points_schema
from sfumato.cli.exits import EPILOG
from sfumato.cli.kind import Kind, MethodChoice, add_commands
from sfumato.cli.methods import methods_for

#: The method that is used unless another is named.
DEFAULT = "points.PrivTree"

POINTS = Kind(
    name="points",
    methods=methods_for("points"),
    method_help="The release method; privtree by default.",
    choice=MethodChoice(default=lambda typed: DEFAULT),
    options=points_schema.SchemaOptions,
    reading=points_schema.ReadingOptions,
    file="The private points: CSV (.gz, .xz) or Parquet.",
    unread="The private points; not read: only the schema beside the file is.",
    read_public=points_schema.read_public,
    read_private=points_schema.read_private,
    help=(
        "Show the privacy loss and the expected error of a release. Reads the schema only.",
        "Run the whole release on synthetic points. Free: no private data are read.",
        "Release the points: book the loss, add noise, certify and save cells with counts.",
    ),
)

app = typer.Typer(
    help="Points: declare a schema, plan, rehearse, release, query, draw and evaluate.",
    epilog=EPILOG,
    no_args_is_help=True,
)
app.command("schema", epilog=EPILOG)(points_schema.schema)
add_commands(app, POINTS)
app.command("query", epilog=EPILOG)(points_results.query)
app.command("map", epilog=EPILOG)(points_results.draw_map)
app.command("evaluate", epilog=EPILOG)(points_results.evaluate)
