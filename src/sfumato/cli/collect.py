"""`sfumato collect`: surveys by randomised response, from the plan to the report.

What respondents and collectors run in between is in `sfumato.cli.collect_reports`.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli import collect_reports
from sfumato.cli.collect_reports import SurveyArgument, read_survey
from sfumato.cli.exits import EPILOG, ExitCode, Refusal
from sfumato.cli.options import refuse_unwritable
from sfumato.cli.screen import JsonOption, answering, print_table

if TYPE_CHECKING:
    from rich.console import Console

    from sfumato.local.questionnaire import Questionnaire
    from sfumato.local.survey import Item
    from sfumato.local.survey_plan import ItemPlan, SurveyPlan
    from sfumato.local.survey_tally import SurveyTally

app = typer.Typer(
    help="Surveys by randomised response: plan, perturb, aggregate and report.",
    epilog=EPILOG,
    no_args_is_help=True,
)


@app.command(epilog=EPILOG)
def plan(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="The questionnaire, a TOML file.", show_default=False),
    ],
    margin: Annotated[
        float,
        typer.Option(
            metavar="SHARE",
            help="The margin of error wanted for each share; 0.02 is 2 percentage points.",
            min=0.0,
        ),
    ] = 0.02,
    respondents: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="The expected number of respondents; by default respondents_about.",
            min=1,
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.json", help="Write the survey file for clients.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show the privacy loss and the margin of each question. Reads no answers."""
    with answering(as_json) as screen:
        from sfumato.local.survey_plan import plan_survey

        if out is not None and out.exists():
            raise Refusal(ExitCode.USAGE, f"{out} exists; a survey file is never overwritten")
        asked = _read_questionnaire(file)
        many = asked.respondents if respondents is None else respondents
        found = plan_survey(asked.survey(), many)
        document = _plan_document(found, margin)
        if out is not None:
            document["written"] = str(found.survey.save(out))
        screen.answer(document, lambda console: _show_plan(console, found, margin, out))


def _read_questionnaire(path: Path) -> Questionnaire:
    """Read a questionnaire; whatever is wrong with it is an error of the data."""
    from sfumato.local.questionnaire import Questionnaire

    if not path.is_file():
        raise FileNotFoundError(f"there is no questionnaire {str(path)!r}")
    try:
        return Questionnaire.read(path)
    except ValueError as error:
        raise Refusal(ExitCode.DATA, str(error)) from None


def _plan_document(found: SurveyPlan, margin: float) -> dict[str, Any]:
    """Return the plan for programs."""
    questions = [
        {
            "name": plan.item.name,
            "answers": None if plan.item.bounds else len(plan.item.answers),
            "epsilon": str(plan.item.epsilon),
            "permanent": plan.item.permanent,
            "design": type(plan.item.design).__name__,
            "bits": round(plan.item.design.bits, 3),
            "margin": plan.margin(found.respondents),
            "respondents_needed": plan.respondents(margin),
            "reason": plan.reason,
            "deviations": plan.designs,
        }
        for plan in found.items
    ]
    return {
        "survey": found.survey.identity,
        "name": found.survey.name,
        "share": found.survey.share,
        "epsilon": str(found.survey.epsilon),
        "respondents": found.respondents,
        "wanted_margin": margin,
        "respondents_needed": max(plan.respondents(margin) for plan in found.items),
        "epsilon_after_10_times": str(found.repeated(10)),
        "questions": questions,
        "written": None,
    }


def _show_plan(console: Console, found: SurveyPlan, margin: float, out: Path | None) -> None:
    """Print the plan for people."""
    wrap = not console.is_terminal
    survey = found.survey
    console.print(
        f"{survey.name}: ε = {survey.epsilon} for all answers of one respondent, {survey.share}",
        soft_wrap=wrap,
    )
    head = ("question", "answers", "ε", "design", "bits", f"± with {found.respondents:,}")
    rows = [
        (*_cells(plan, found.respondents), f"{plan.respondents(margin):,}") for plan in found.items
    ]
    print_table(console, (*head, f"for ± {margin:g}"), rows)
    for plan in found.items:
        console.print(f"{plan.item.name}: {plan.reason}", style="dim", soft_wrap=wrap)
    console.print()
    needed = max(plan.respondents(margin) for plan in found.items)
    console.print(
        "Margins hold 19 times in 20 and are worst cases: for a share near one half, and for the "
        "mean of numbers that lie at both ends of their range. They hold for the population that "
        "the respondents represent.",
        soft_wrap=wrap,
    )
    console.print(
        f"For a margin of ± {100 * margin:g} points, or of as many hundredths of the range of a "
        f"number, on every question {needed:,} people must answer.",
        soft_wrap=wrap,
    )
    console.print(
        f"A respondent who answers ten times spends ε = {found.repeated(10)}: permanent questions "
        "are charged once, others each time.",
        soft_wrap=wrap,
    )
    if out is not None:
        console.print(f"The survey file for clients is {out}", soft_wrap=True)


def _cells(plan: ItemPlan, respondents: int) -> tuple[str, ...]:
    item = plan.item
    return (
        item.name + (" (permanent)" if item.permanent else ""),
        "a mean" if item.bounds else f"{len(item.answers):,}",
        str(item.epsilon),
        type(item.design).__name__,
        f"{item.design.bits:.0f}",
        _margin_words(plan, plan.margin(respondents)),
    )


def _margin_words(plan: ItemPlan, margin: float) -> str:
    """Return a margin as people read it: points of a share, or the unit of a number."""
    if plan.item.bounds is None:
        return f"{100 * margin:.3g} points"
    low, high = plan.item.bounds
    return f"{margin * (high - low):.3g} ({100 * margin:.3g} % of its range)"


app.command("perturb", epilog=EPILOG)(collect_reports.perturb)
app.command("aggregate", epilog=EPILOG)(collect_reports.aggregate)


class EstimatorChoice(StrEnum):
    """How shares are estimated."""

    INVERSE = "inverse"
    PROJECT = "project"
    EM = "em"


@app.command(epilog=EPILOG)
def report(
    survey: SurveyArgument,
    tally: Annotated[Path, typer.Argument(metavar="TALLY", help="From `collect aggregate`.")],
    level: Annotated[
        float, typer.Option(metavar="SHARE", help="The coverage of each interval.")
    ] = 0.95,
    estimator: Annotated[
        EstimatorChoice,
        typer.Option(help="inverse is unbiased; project and em give shares from 0 to 1."),
    ] = EstimatorChoice.PROJECT,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="Write a report, as .html.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show the shares of all answers with their intervals. Free: it reads reports only."""
    with answering(as_json) as screen:
        from sfumato.local.survey_tally import SurveyTally

        if not 0 < level < 1:
            raise Refusal(ExitCode.USAGE, f"--level must be between 0 and 1; got {level}")
        refuse_unwritable(out, (".html",))
        asked = read_survey(survey)
        try:
            found = SurveyTally.read(asked, tally)
        except ValueError as error:
            raise Refusal(ExitCode.DATA, f"{tally.name}: {error}") from None
        document = _report_document(found, level, estimator.value)
        if out is not None:
            from sfumato.report.local_shares import survey_page

            with screen.working("drawing the page"):
                page = survey_page(found, level=level, estimator=estimator.value)
            out.write_text(page, encoding="utf-8")
            document["written"] = str(out)
        screen.answer(
            document, lambda console: _show_report(console, found, level, estimator.value, out)
        )


def _report_document(tally: SurveyTally, level: float, estimator: Any) -> dict[str, Any]:
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


def _show_report(
    console: Console, tally: SurveyTally, level: float, estimator: Any, out: Path | None
) -> None:
    """Print all estimates for people."""
    survey = tally.survey
    console.print(f"{survey.name}: {tally.lines:,} respondents, ε = {survey.epsilon} for each")
    for item in survey.items:
        console.print()
        console.print(f"{item.name}: {item.ask}", style="bold", soft_wrap=not console.is_terminal)
        if not tally.reports[item.name]:
            console.print("no answers")
        elif item.bounds is not None:
            mean = tally.mean(item.name)
            console.print(f"mean {mean.mean:.4g} ± {mean.margin:.3g} (19 times in 20)")
        else:
            rows = [
                (answer, f"{100 * share:.1f} %", f"{100 * low:.1f} – {100 * high:.1f} %")
                for answer, share, low, high in _lines(tally, item, level, estimator)
            ]
            print_table(console, ("answer", "share", f"{100 * level:g} % interval"), rows)
    if out is not None:
        console.print(f"The page is in {out}", soft_wrap=True)
