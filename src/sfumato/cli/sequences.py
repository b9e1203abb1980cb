"""`sfumato sequences`: from private sequences to a model that tells what follows what."""

from __future__ import annotations

import typer

from sfumato.cli import sequences_evaluate, sequences_release, sequences_schema, sequences_top
from sfumato.cli.exits import EPILOG

app = typer.Typer(
    help="Sequences: declare a schema, plan, rehearse, release, list, sample and evaluate.",
    epilog=EPILOG,
    no_args_is_help=True,
)
app.command("schema", epilog=EPILOG)(sequences_schema.schema)
app.command("plan", epilog=EPILOG)(sequences_release.plan)
app.command("rehearse", epilog=EPILOG)(sequences_release.rehearse)
app.command("release", epilog=EPILOG)(sequences_release.release)
app.command("top", epilog=EPILOG)(sequences_top.top)
app.command("sample", epilog=EPILOG)(sequences_top.sample)
app.command("evaluate", epilog=EPILOG)(sequences_evaluate.evaluate)
