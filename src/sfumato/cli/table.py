"""`sfumato table`: from a private table to a release of counts or of synthetic rows."""

from __future__ import annotations

import typer

from sfumato.cli import table_ask, table_evaluate, table_network, table_release, table_schema
from sfumato.cli.exits import EPILOG

app = typer.Typer(
    help="Tables: draft a schema, plan, rehearse, release, draw, ask and evaluate.",
    epilog=EPILOG,
    no_args_is_help=True,
)
app.command("schema", epilog=EPILOG)(table_schema.schema)
app.command("plan", epilog=EPILOG)(table_release.plan)
app.command("rehearse", epilog=EPILOG)(table_release.rehearse)
app.command("release", epilog=EPILOG)(table_release.release)
app.command("network", epilog=EPILOG)(table_network.network)
app.command("ask", epilog=EPILOG)(table_ask.ask)
app.command("evaluate", epilog=EPILOG)(table_evaluate.evaluate)
