"""`sfumato collect plan`: what a questionnaire will cost and tell, and the survey file of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.exits import ExitCode, Refusal
from sfumato.cli.screen import JsonOption, answering

if TYPE_CHECKING:
    from rich.console import Console

    from sfumato.local.questionnaire import Questionnaire
    from sfumato.local.survey_plan import ItemPlan, SurveyPlan

QuestionnaireArgument = Annotated[
    Path,
    typer.Argument(metavar="FILE", help="The questionnaire, a TOML file.", show_default=False),
]


def plan(
    file: QuestionnaireArgument,
    margin: Annotated[
        float,
        typer.Option(
            metavar="SHARE",
            help="The wanted margin of error of each share: 0.02 for 2 points.",
            min=0.0,
        ),
    ] = 0.02,
    respondents: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="How many will answer; by default respondents_about.", min=1
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.json", help="Write the survey file for clients.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show what each question costs and tells, and how many must answer. Reads no answers."""
    with answering(as_json) as screen:
        from sfumato.local.survey_plan import planned

        if out is not None and out.exists():
            raise Refusal(ExitCode.USAGE, f"{out} exists; a survey file is never overwritten")
        asked = read_questionnaire(file)
        many = asked.respondents if respondents is None else respondents
        found = planned(asked.survey(), many)
        document = _document(found, margin)
        if out is not None:
            document["written"] = str(found.survey.save(out))
        screen.answer(document, lambda console: _show(console, found, margin, out))


def read_questionnaire(path: Path) -> Questionnaire:
    """Read a questionnaire; whatever is wrong with it is an error of the data."""
    from sfumato.local.questionnaire import Questionnaire

    if not path.is_file():
        raise FileNotFoundError(f"there is no questionnaire {str(path)!r}")
    try:
        return Questionnaire.read(path)
    except ValueError as error:
        raise Refusal(ExitCode.DATA, str(error)) from None


def _document(found: SurveyPlan, margin: float) -> dict[str, Any]:
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


def _show(console: Console, found: SurveyPlan, margin: float, out: Path | None) -> None:
    """Print the plan for people."""
    from rich import box
    from rich.table import Table

    wrap = not console.is_terminal
    survey = found.survey
    console.print(
        f"{survey.name}: ε = {survey.epsilon} for all answers of one respondent, {survey.share}",
        soft_wrap=wrap,
    )
    head = ("question", "answers", "ε", "design", "bits", f"± with {found.respondents:,}")
    grid = Table(*head, f"for ± {margin:g}", box=box.SIMPLE_HEAD)
    for plan in found.items:
        grid.add_row(*_cells(plan, found.respondents), f"{plan.respondents(margin):,}")
    console.print(grid)
    for plan in found.items:
        console.print(f"{plan.item.name}: {plan.reason}", style="dim", soft_wrap=wrap)
    console.print()
    needed = max(plan.respondents(margin) for plan in found.items)
    console.print(
        "Margins hold 19 times in 20, for people like those who answer, whatever the answers are: "
        "of a share that is about one half, of the mean of the most uneven numbers.",
        soft_wrap=wrap,
    )
    console.print(
        f"For a margin of ± {100 * margin:g} points, or of as many hundredths of the range of a "
        f"number, on every question {needed:,} people must answer.",
        soft_wrap=wrap,
    )
    console.print(
        f"Whoever answers ten times has spent ε = {found.repeated(10)}: permanent questions cost "
        "once, others each time.",
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
