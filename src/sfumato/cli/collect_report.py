"""`sfumato collect report`: the shares of all answers, with intervals, and a page of them."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.collect_reports import SurveyArgument, read_survey
from sfumato.cli.exits import ExitCode, Refusal
from sfumato.cli.options import refuse_unwritable
from sfumato.cli.screen import JsonOption, answering

if TYPE_CHECKING:
    from rich.console import Console

    from sfumato.local.survey import Item
    from sfumato.local.survey_tally import SurveyTally


class EstimatorChoice(StrEnum):
    """How shares are estimated."""

    INVERSE = "inverse"
    PROJECT = "project"
    EM = "em"


def report(
    survey: SurveyArgument,
    tally: Annotated[Path, typer.Argument(metavar="TALLY", help="From `collect aggregate`.")],
    level: Annotated[
        float, typer.Option(metavar="SHARE", help="How often an interval shall hold.")
    ] = 0.95,
    estimator: Annotated[
        EstimatorChoice,
        typer.Option(help="inverse is unbiased; project and em give shares that are possible."),
    ] = EstimatorChoice.PROJECT,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="Write a page of it.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show the shares of all answers with their intervals. Free: it reads reports only."""
    with answering(as_json) as screen:
        from sfumato.local.survey_tally import SurveyTally

        if not 0 < level < 1:
            raise Refusal(ExitCode.USAGE, f"level is between 0 and 1; got {level}")
        refuse_unwritable(out, (".html",))
        asked = read_survey(survey)
        try:
            found = SurveyTally.read(asked, tally)
        except ValueError as error:
            raise Refusal(ExitCode.DATA, f"{tally.name}: {error}") from None
        document = _document(found, level, estimator.value)
        if out is not None:
            from sfumato.report.local_shares import survey_page

            with screen.working("drawing the page"):
                page = survey_page(found, level=level, estimator=estimator.value)
            out.write_text(page, encoding="utf-8")
            document["written"] = str(out)
        screen.answer(document, lambda console: _show(console, found, level, estimator.value, out))


def _document(tally: SurveyTally, level: float, estimator: Any) -> dict[str, Any]:
    """Return all estimates for programs."""
    questions: dict[str, Any] = {}
    for item in tally.survey.items:
        if not tally.reports[item.name]:
            questions[item.name] = {"reports": 0}
        elif item.bounds is not None:
            mean = tally.mean(item.name)
            margin = None if mean.margin != mean.margin else mean.margin
            questions[item.name] = {"mean": mean.mean, "margin": margin}
        else:
            lines = _lines(tally, item, level, estimator)
            questions[item.name] = {
                "reports": tally.reports[item.name],
                "shares": [
                    {"answer": answer, "share": share, "low": low, "high": high}
                    for answer, share, low, high in lines
                ],
            }
    return {
        "survey": tally.survey.identity,
        "lines": tally.lines,
        "wrong": tally.wrong,
        "level": level,
        "estimator": str(estimator),
        "questions": questions,
        "written": None,
    }


def _lines(
    tally: SurveyTally, item: Item, level: float, estimator: Any
) -> list[tuple[str, float, float, float]]:
    """Return the share of each answer with the ends of its interval."""
    found = tally.shares(item.name, estimator)
    return [(line.answer, line.share, line.low, line.high) for line in found.lines(level)]


def _show(
    console: Console, tally: SurveyTally, level: float, estimator: Any, out: Path | None
) -> None:
    """Print all estimates for people."""
    from rich import box
    from rich.table import Table

    survey = tally.survey
    console.print(f"{survey.name}: {tally.lines:,} respondents, ε = {survey.epsilon} for each")
    for item in survey.items:
        console.print()
        console.print(f"{item.name}: {item.ask}", style="bold", soft_wrap=not console.is_terminal)
        if not tally.reports[item.name]:
            console.print("nobody answered it")
        elif item.bounds is not None:
            mean = tally.mean(item.name)
            console.print(f"mean {mean.mean:.4g} ± {mean.margin:.3g} (19 times in 20)")
        else:
            grid = Table("answer", "share", f"{100 * level:g} % interval", box=box.SIMPLE_HEAD)
            for answer, share, low, high in _lines(tally, item, level, estimator):
                grid.add_row(
                    answer, f"{100 * share:.1f} %", f"{100 * low:.1f} – {100 * high:.1f} %"
                )
            console.print(grid)
    if out is not None:
        console.print(f"The page is in {out}", soft_wrap=True)
