"""`sfumato regress predict`: what a released model says about new rows. Reads no private data."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.exits import ExitCode, Refusal
from sfumato.cli.options import ReleaseArgument, SeparatorOption, refuse_unwritable
from sfumato.cli.releasing import rebuilt
from sfumato.cli.screen import JsonOption, answering

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray
    from rich.console import Console

    from sfumato.regression.model import RegressionModel

#: How the name of the written file may end.
ENDINGS = (".csv", ".parquet")
#: How many significant digits predictions have.
DIGITS = 6


def predict(
    release: ReleaseArgument,
    rows: Annotated[
        Path,
        typer.Argument(
            metavar="ROWS",
            help="The rows to predict: CSV (.gz, .xz) or Parquet, with the columns that explain.",
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
            help="Also tell between which numbers a target lies, as with 0.95 of 19 rows in 20; "
            "for models that know how sure they are.",
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
        made: RegressionModel = rebuilt(
            screen, release, RegressionModel, "only a regression predicts"
        )
        with screen.working("predicting"):
            frame = _read(made, rows, separator)
            found = _predicted(made, frame, level)
        _refuse_taken_names(frame, found)
        document: dict[str, Any] = {
            "rows": found.height,
            "written": None if out is None else str(out),
        }
        if out is not None:
            _write(frame.hstack(found.get_columns()), out)
        else:
            document["predictions"] = found.to_dicts()
        screen.answer(document, lambda console: _show(console, found, out))


def _read(made: RegressionModel, path: Path, separator: str | None) -> pl.DataFrame:
    """Return the new rows, as text where they are in a CSV file."""
    import polars as pl

    from sfumato.engines.errors import DataError, Problem
    from sfumato.engines.files import TableFile

    file = TableFile(path, separator)
    names = file.names()
    if len(set(names)) != len(names):
        raise DataError(
            Problem(
                wrong="the table has several columns of one name",
                remedy="Give every column a name of its own.",
            )
        )
    return pl.DataFrame(file.read(names))


def _predicted(made: RegressionModel, frame: pl.DataFrame, level: float | None) -> pl.DataFrame:
    """Return the predictions, one row each."""
    import polars as pl

    name = f"predicted {made.target}"
    found = {name: made.predict(frame)}
    if made.positive is not None:
        found[f"probability of {' or '.join(made.positive[:4])}"] = made.probability(frame)
    if level is not None:
        interval = made.interval(frame, level)
        found |= {f"{name} low": interval.low, f"{name} high": interval.high}
    return pl.DataFrame({column: _rounded(values) for column, values in found.items()})


def _rounded(values: NDArray[Any]) -> Any:
    """Return numbers to six significant digits; more would be noise."""
    import polars as pl

    column = pl.Series(values)
    return column.round_sig_figs(DIGITS) if column.dtype.is_float() else column


def _refuse_taken_names(frame: pl.DataFrame, found: pl.DataFrame) -> None:
    taken = sorted(set(frame.columns) & set(found.columns))
    if taken:
        raise Refusal(ExitCode.DATA, f"the rows have a column {taken[0]!r} already; rename it")


def _write(frame: pl.DataFrame, out: Path) -> None:
    if out.suffix.lower() == ".parquet":
        frame.write_parquet(out)
    else:
        frame.write_csv(out)


def _show(console: Console, found: pl.DataFrame, out: Path | None) -> None:
    if out is not None:
        console.print(f"{found.height:,} rows with predictions are in {out}", soft_wrap=True)
        return
    buffer = io.BytesIO()
    found.write_csv(buffer)
    console.out(buffer.getvalue().decode("utf-8"), highlight=False, end="")
