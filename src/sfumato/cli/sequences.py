"""`sfumato sequences`: from private sequences to a model of what follows what."""

from __future__ import annotations

import typer

from sfumato.cli import sequences_results, sequences_schema
from sfumato.cli.exits import EPILOG
from sfumato.cli.kind import Kind, MethodChoice, add_commands
from sfumato.cli.methods import methods_for

#: The method that is used unless another is named.
DEFAULT = "sequences.SuffixTree"

SEQUENCES = Kind(
    name="sequences",
    methods=methods_for("sequences"),
    method_help="The release method; suffixtree by default.",
    choice=MethodChoice(default=lambda typed: DEFAULT),
    options=sequences_schema.SchemaOptions,
    reading=sequences_schema.ReadingOptions,
    file="The private sequences, one per line: plain text, .gz or .xz.",
    unread="The private sequences; not read: only the schema beside the file is.",
    read_public=sequences_schema.read_public,
    read_private=sequences_schema.read_private,
    help=(
        "Show the privacy loss and the expected error of a release. Reads the schema only.",
        "Run the whole release on synthetic sequences. Free: no private data are read.",
        "Release the sequences: book the loss, add noise, certify and save a model of them.",
    ),
)

app = typer.Typer(
    help="Sequences: declare a schema, plan, rehearse, release, list, sample and evaluate.",
    epilog=EPILOG,
    no_args_is_help=True,
)
app.command("schema", epilog=EPILOG)(sequences_schema.schema)
add_commands(app, SEQUENCES)
app.command("top", epilog=EPILOG)(sequences_results.top)
app.command("sample", epilog=EPILOG)(sequences_results.sample)
app.command("evaluate", epilog=EPILOG)(sequences_results.evaluate)
