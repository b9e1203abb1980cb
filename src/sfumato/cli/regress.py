"""`sfumato regress`: from a private table to a model of one column by the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato import catalogue
from sfumato.cli import regress_predict, table_schema
from sfumato.cli.exits import EPILOG, ExitCode, Refusal
from sfumato.cli.kind import Kind, MethodChoice, add_commands
from sfumato.cli.options import DeltaOption
from sfumato.cli.screen import print_table
from sfumato.privacy.registry import command_name

if TYPE_CHECKING:
    from rich.console import Console

    from sfumato.data.table import TablePublic
    from sfumato.regression.model import RegressionModel

#: Every method of this place in the package is about regressions.
REGRESSIONS = tuple(
    name
    for name, place in sorted(catalogue.METHODS.items())
    if place.startswith("sfumato.regression.")
)
#: These release something else than one model.
BESIDES = ("table.ManyResponses",)
#: The method for numbers and the one for classes, where none is named.
DEFAULT, LOGISTIC = "table.LinearRegression", "table.FunctionalRegression"
#: How many coefficients are printed.
MOST_PRINTED = 30


@dataclass(frozen=True, kw_only=True)
class RegressParameters:
    """What is explained, and how a class of it is named."""

    target: Annotated[
        str, typer.Option(metavar="NAME", help="The column to predict from the others.")
    ]
    delta: DeltaOption = None
    positive: Annotated[
        list[str] | None,
        typer.Option(
            metavar="VALUE",
            help="A value of the target that counts as positive; makes the model logistic. Repeat "
            "for more.",
        ),
    ] = None


def _default(typed: Mapping[str, Any]) -> str:
    return LOGISTIC if "positive" in typed else DEFAULT


def _read(typed: dict[str, Any], public: TablePublic, method: str) -> dict[str, Any]:
    """Return values as the schema reads them: yes, 1 and t of a true/false column are `true`."""
    import polars as pl

    from sfumato.engines.coding import Booleans
    from sfumato.engines.reading import Truth

    target, positive = typed["target"], typed.get("positive")
    coding = public.schema[target].coding if target in public.columns else None
    if positive is None or not isinstance(coding, Booleans):
        return typed
    truth = Truth.read(pl.Series(positive, dtype=pl.String))
    strange = [word for word, bad in zip(positive, truth.unreadable, strict=True) if bad]
    if strange:
        raise Refusal(
            ExitCode.USAGE,
            f"{target!r} is true or false (yes and 1 are read as true, no and 0 as false); "
            f"--positive {strange[0]!r} is neither",
        )
    return {**typed, "positive": [coding.label(int(value)) for value in truth.values]}


def _show_coefficients(console: Console, made: RegressionModel) -> None:
    """Print what each column adds, in its own units."""
    import numpy as np

    found = made.coefficients
    deviations = np.zeros(len(found.names)) if found.deviations is None else found.deviations
    # The constant is stored last; a reader begins with it.
    order = [len(found.names) - 1, *range(len(found.names) - 1)]
    rows = []
    for place in order[:MOST_PRINTED]:
        column, value = found.names[place]
        # The first category of a column adds exactly nothing.
        sure = f" ± {deviations[place]:,.2g}" if deviations[place] else ""
        rows.append((column, made.per(column, value), f"{found.adds[place]:+,.4g}{sure}"))
    adds = f"adds to {made.target}" if made.positive is None else "adds to the log odds"
    print_table(console, ("column", "for", adds), rows)
    if len(found.names) > MOST_PRINTED:
        console.print(f"{len(found.names) - MOST_PRINTED:,} more are in coefficients.csv.")
    console.print(made.how_sure(), soft_wrap=not console.is_terminal)


REGRESS = Kind(
    name="regress",
    methods={command_name(name): name for name in REGRESSIONS if name not in BESIDES},
    method_help=f"The fitting method; {command_name(DEFAULT)} by default, and "
    f"{command_name(LOGISTIC)} with --positive.",
    choice=MethodChoice(default=_default, parameters=RegressParameters, read=_read),
    options=table_schema.SchemaOptions,
    reading=table_schema.ReadingOptions,
    file="The private table: CSV (.gz, .xz) or Parquet.",
    unread="The private table; not read: only the schema beside the file is.",
    read_public=partial(table_schema.read_public, fine_grid=True),
    read_private=partial(table_schema.read_private, fine_grid=True),
    help=(
        "Show the privacy loss and the noise of a model. Reads the schema only.",
        "Fit a model to synthetic data of the same shape. Free: no private data are read.",
        "Release a regression of one column on the others: book the loss, fit with noise, save.",
    ),
    verb="fit",
    figures=_show_coefficients,
)

app = typer.Typer(
    help="Regressions: plan, rehearse and fit a model of one column on the others, and predict.",
    epilog=EPILOG,
    no_args_is_help=True,
)
add_commands(app, REGRESS)
app.command("predict", epilog=EPILOG)(regress_predict.predict)
app.command("evaluate", epilog=EPILOG)(regress_predict.evaluate)
