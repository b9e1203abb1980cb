"""`sfumato regress predict | evaluate`: what a released model predicts, and how well."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.exits import ExitCode, Refusal
from sfumato.cli.options import (
    EngineChoice,
    EngineOption,
    ReleaseArgument,
    SeparatorOption,
    refuse_unwritable,
)
from sfumato.cli.releasing import load_release, show_comparison
from sfumato.cli.screen import JsonOption, answering
from sfumato.cli.table_schema import FileArgument, read_declared

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray
    from rich.console import Console

    from sfumato.evaluate.regression import ClassErrors, NumberErrors
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
            frame = _read(made, rows, separator)
            found = _predict(made, frame, level)
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


def evaluate(
    file: FileArgument,
    release: ReleaseArgument,
    engine: EngineOption = EngineChoice.AUTO,
    separator: SeparatorOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare predictions with the truth of private rows. NOT PRIVATE: for the custodian only."""
    with answering(as_json) as screen:
        from sfumato.evaluate.regression import evaluate as compare
        from sfumato.regression.model import RegressionModel

        made: RegressionModel = load_release(
            screen, release, RegressionModel, "this comparison needs a release of a regression"
        )
        table = read_declared(screen, file, made.public.schema, engine, separator)
        with screen.working("comparing"):
            outcome = compare(table, made)
        show_comparison(screen, outcome.to_json(), lambda console: show_errors(console, outcome))


def show_errors(console: Console, outcome: NumberErrors | ClassErrors) -> None:
    """Print how good predictions are."""
    from sfumato.evaluate.regression import ClassErrors

    wrap = not console.is_terminal
    lines = _class_lines(outcome) if isinstance(outcome, ClassErrors) else _number_lines(outcome)
    for line in lines:
        console.print(line, soft_wrap=wrap)


def _number_lines(outcome: NumberErrors) -> list[str]:
    lines = [
        f"Predicting {outcome.target} for {outcome.rows:,} private rows: off by "
        f"{outcome.error:,.4g} (root mean square) or {outcome.absolute_error:,.4g} on average; "
        f"guessing the mean is off by {outcome.guess_error:,.4g}, the best model of its kind, "
        f"without noise, by {outcome.private_error:,.4g}.",
        f"It explains {100 * outcome.explained:.1f} % of the variance; ranks of predictions and "
        f"truth have a correlation of {outcome.spearman:.3f}.",
    ]
    if outcome.covered is not None:
        lines.append(
            f"The 95 % intervals contain the truth for {100 * outcome.covered:.1f} % of the rows."
        )
    return lines


def _class_lines(outcome: ClassErrors) -> list[str]:
    return [
        f"Predicting {outcome.target} for {outcome.rows:,} private rows: "
        f"{100 * outcome.error:.1f} % wrong; {100 * outcome.majority_error:.1f} % by guessing what "
        f"is more frequent, {100 * outcome.private_error:.1f} % by a model without noise.",
        f"Of a positive and another row the positive one is taken to be likelier in "
        f"{100 * outcome.ranked:.1f} % of the cases.",
    ]
