"""`sfumato regress evaluate`: compare what a model predicts with private rows. Not private."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.cli.options import (
    EngineChoice,
    EngineOption,
    ReleaseArgument,
    SeparatorOption,
)
from sfumato.cli.releasing import rebuilt
from sfumato.cli.screen import JsonOption, answering
from sfumato.cli.table_options import FileArgument, read_private

if TYPE_CHECKING:
    from rich.console import Console

    from sfumato.evaluate.regression import ClassErrors, NumberErrors
    from sfumato.regression.model import RegressionModel


def evaluate(
    file: FileArgument,
    release: ReleaseArgument,
    engine: EngineOption = EngineChoice.AUTO,
    separator: SeparatorOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare predictions with the truth of private rows. NOT PRIVATE: for the custodian only."""
    with answering(as_json) as screen:
        from sfumato.evaluate.regression import WARNING
        from sfumato.evaluate.regression import evaluate as compare
        from sfumato.regression.model import RegressionModel

        made: RegressionModel = rebuilt(
            screen, release, RegressionModel, "only regressions are compared with rows here"
        )
        table = read_private(screen, file, made.public.schema, engine, separator)
        with screen.working("comparing"):
            outcome = compare(table, made)
        if as_json:
            screen.note(WARNING, style="bold red")
        screen.answer(outcome.to_json(), lambda console: show_errors(console, outcome, WARNING))


def show_errors(console: Console, outcome: NumberErrors | ClassErrors, warning: str) -> None:
    """Print how good predictions are, with the label they must carry."""
    from sfumato.evaluate.regression import ClassErrors

    wrap = not console.is_terminal
    console.print(warning, style="bold red", soft_wrap=wrap)
    lines = _class_lines(outcome) if isinstance(outcome, ClassErrors) else _number_lines(outcome)
    for line in lines:
        console.print(line, soft_wrap=wrap)


def _number_lines(outcome: NumberErrors) -> list[str]:
    lines = [
        f"Predicting {outcome.target} for {outcome.rows:,} private rows: off by "
        f"{outcome.error:,.4g} (root mean square) and {outcome.absolute_error:,.4g} on average; "
        f"guessing the mean is off by {outcome.guess_error:,.4g}, the best model of its kind, "
        f"without noise, by {outcome.private_error:,.4g}.",
        f"It explains {100 * outcome.explained:.1f} % of the variance; ranks of predictions and "
        f"truth have a correlation of {outcome.spearman:.3f}.",
    ]
    if outcome.covered is not None:
        lines.append(f"Of its 95 % intervals {100 * outcome.covered:.1f} % hold the truth.")
    return lines


def _class_lines(outcome: ClassErrors) -> list[str]:
    return [
        f"Predicting {outcome.target} for {outcome.rows:,} private rows: "
        f"{100 * outcome.error:.1f} % wrong; {100 * outcome.majority_error:.1f} % by guessing what "
        f"is more frequent, {100 * outcome.private_error:.1f} % by a model without noise.",
        f"Of a positive and another row the positive one is taken to be likelier in "
        f"{100 * outcome.ranked:.1f} % of the cases.",
    ]
