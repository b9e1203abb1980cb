"""`sfumato regress`: from a private table to a model of one column by the others."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato import catalogue
from sfumato.cli.exits import EPILOG, ExitCode, Refusal
from sfumato.cli.kind import Evaluation, Kind, MethodChoice, add_commands, add_evaluation
from sfumato.cli.options import DeltaOption, ReleaseArgument, SeparatorOption, refuse_unwritable
from sfumato.cli.releasing import load_release
from sfumato.cli.schemas import BySchema, SchemaOptions
from sfumato.cli.screen import JsonOption, Screen, answering, print_table
from sfumato.cli.table_schema import TABLES, ReadingOptions, read_file
from sfumato.privacy.registry import command_name

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray
    from rich.console import Console

    from sfumato.data.table import Table, TablePublic
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
#: How the name of the written file may end.
ENDINGS = (".csv", ".parquet")
#: How many significant digits predictions have.
DIGITS = 6


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


def _read_public(screen: Screen, file: Path | None, options: SchemaOptions) -> TablePublic:
    """Return what is public about a table whose numbers are read fine_grid."""
    from sfumato.data.table import TablePublic

    return TablePublic.of(TABLES.read_public(screen, file, options).schema.use_fine_grid())


REGRESS = Kind(
    name="regress",
    methods={command_name(name): name for name in REGRESSIONS if name not in BESIDES},
    method_help=f"The fitting method; {command_name(DEFAULT)} by default, and "
    f"{command_name(LOGISTIC)} with --positive.",
    choice=MethodChoice(default=_default, parameters=RegressParameters, read=_read),
    options=SchemaOptions,
    reading=ReadingOptions,
    file="The private table: CSV (.gz, .xz) or Parquet.",
    unread="The private table; not read: only the schema beside the file is.",
    read_public=_read_public,
    read_private=BySchema("table", partial(read_file, fine_grid=True)).read_private,
    help=(
        "Show the privacy loss and the noise of a model. Reads the schema only.",
        "Fit a model to synthetic data of the same shape. Free: no private data are read.",
        "Release a regression of one column on the others: book the loss, fit with noise, save.",
    ),
    verb="fit",
    figures=_show_coefficients,
)


def _models() -> tuple[type[Any], ...]:
    from sfumato.regression.model import RegressionModel

    return (RegressionModel,)


def _compare(table: Table, made: RegressionModel, options: Any) -> Any:
    from sfumato.evaluate.regression import evaluate

    return evaluate(table, made)


EVALUATION = Evaluation(
    help="Compare predictions with the truth of private rows. NOT PRIVATE: for the custodian only.",
    data="table",
    releases=_models,
    needs="this comparison needs a release of a regression",
    reading=ReadingOptions,
    read=TABLES.read_known,
    compare=_compare,
)


def predict(
    release: ReleaseArgument,
    rows: Annotated[
        Path,
        typer.Argument(
            metavar="ROWS",
            help="The rows to predict: CSV (.gz, .xz) or Parquet, with the columns of the model.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The .csv or .parquet file to write, rows and predictions; by default the "
            "predictions are printed.",
        ),
    ] = None,
    level: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Add intervals that contain this share of the targets, such as 0.95; only for "
            "models with a known uncertainty.",
        ),
    ] = None,
    separator: SeparatorOption = None,
    as_json: JsonOption = False,
) -> None:
    """Predict the target of new rows by a released model. Costs nothing, however often."""
    with answering(as_json) as screen:
        from sfumato.regression.model import RegressionModel

        refuse_unwritable(out, ENDINGS)
        if out is not None and out.exists():
            raise Refusal(ExitCode.USAGE, f"{out} exists; choose another file with --out")
        made: RegressionModel = load_release(
            screen, release, RegressionModel, "predictions need a release of a regression"
        )
        with screen.working("predicting"):
            frame = _read_rows(made, rows, separator)
            found = _predict(made, frame, level)
        _refuse_taken_names(frame, found)
        document: dict[str, Any] = {
            "rows": found.height,
            "written": None if out is None else str(out),
        }
        if out is not None:
            _write_rows(frame.hstack(found.get_columns()), out)
        else:
            document["predictions"] = found.to_dicts()
        screen.answer(document, lambda console: _show_predictions(console, found, out))


def _read_rows(made: RegressionModel, path: Path, separator: str | None) -> pl.DataFrame:
    """Return the new rows, as text where they are in a CSV file."""
    import polars as pl

    from sfumato.engines.errors import DataError, Problem
    from sfumato.engines.files import TableFile

    file = TableFile(path, separator)
    names = file.names()
    if len(set(names)) != len(names):
        raise DataError(
            Problem(
                wrong="the table has several columns with the same name",
                remedy="Give every column a name of its own.",
            )
        )
    return pl.DataFrame(file.read(names))


def _predict(made: RegressionModel, frame: pl.DataFrame, level: float | None) -> pl.DataFrame:
    """Return the predictions, one row each."""
    import polars as pl

    name = f"predicted {made.target}"
    found = {name: made.predict(frame)}
    if made.positive is not None:
        found[f"probability of {' or '.join(made.positive[:4])}"] = made.probability(frame)
    if level is not None:
        interval = made.interval(frame, level)
        found |= {f"{name} low": interval.low, f"{name} high": interval.high}
    return pl.DataFrame({column: _round(values) for column, values in found.items()})


def _round(values: NDArray[Any]) -> Any:
    """Return numbers to six significant digits; more would be noise."""
    import polars as pl

    column = pl.Series(values)
    return column.round_sig_figs(DIGITS) if column.dtype.is_float() else column


def _refuse_taken_names(frame: pl.DataFrame, found: pl.DataFrame) -> None:
    taken = sorted(set(frame.columns) & set(found.columns))
    if taken:
        raise Refusal(ExitCode.DATA, f"the rows already have a column {taken[0]!r}; rename it")


def _write_rows(frame: pl.DataFrame, out: Path) -> None:
    if out.suffix.lower() == ".parquet":
        frame.write_parquet(out)
    else:
        frame.write_csv(out)


def _show_predictions(console: Console, found: pl.DataFrame, out: Path | None) -> None:
    if out is not None:
        console.print(f"{found.height:,} rows with predictions are in {out}", soft_wrap=True)
        return
    buffer = io.BytesIO()
    found.write_csv(buffer)
    console.out(buffer.getvalue().decode("utf-8"), highlight=False, end="")


app = typer.Typer(
    help="Regressions: plan, rehearse and fit a model of one column on the others, and predict.",
    epilog=EPILOG,
    no_args_is_help=True,
)
add_commands(app, REGRESS)
app.command("predict", epilog=EPILOG)(predict)
add_evaluation(app, REGRESS, EVALUATION)
