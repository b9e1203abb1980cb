"""`sfumato collect`: surveys by randomised response, from the plan to the report.

`perturb` is run by respondents, all other commands by the collector.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.exits import EPILOG, ExitCode, Refusal
from sfumato.cli.options import refuse_unwritable
from sfumato.cli.schemas import refuse_bad
from sfumato.cli.screen import JsonOption, Screen, answering, print_table

if TYPE_CHECKING:
    from rich.console import Console

    from sfumato.local.survey import Survey
    from sfumato.local.survey_plan import ItemPlan, SurveyPlan
    from sfumato.local.survey_tally import SurveyTally

#: What is said wherever answers come from a table.
TRYING_OUT = (
    "A table is for trying a survey with synthetic people: true answers must be randomised where "
    "they are given. Every row is randomised afresh, permanent questions too."
)

SurveyArgument = Annotated[
    Path,
    typer.Argument(metavar="SURVEY", help="The survey file, from `collect plan`."),
]

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
        from sfumato.local.questionnaire import Questionnaire
        from sfumato.local.survey_plan import plan_survey

        if out is not None and out.exists():
            raise Refusal(ExitCode.USAGE, f"{out} exists; a survey file is never overwritten")
        asked: Questionnaire = _read_file(file, "questionnaire", Questionnaire.read)
        many = asked.respondents if respondents is None else respondents
        found = plan_survey(asked.survey(), many)
        written = None if out is None else str(found.survey.save(out))
        document = {**found.to_json(margin), "written": written}
        screen.answer(document, lambda console: _show_plan(console, found, margin, out))


def _read_file(path: Path, what: str, read: Callable[[Path], Any]) -> Any:
    """Read a file of a survey; whatever is wrong with it is an error of the data."""
    if not path.is_file():
        raise FileNotFoundError(f"there is no {what} {str(path)!r}")
    return refuse_bad(read, path)


def _naming(path: Path, read: Callable[..., Any], *arguments: Any) -> Any:
    """Return what is read of a file; a refusal begins with its name."""
    try:
        return read(*arguments)
    except ValueError as error:
        raise Refusal(ExitCode.DATA, f"{path.name}: {error}") from None


def _read_survey(path: Path) -> Survey:
    from sfumato.local.survey import Survey

    survey: Survey = _read_file(path, "survey file", lambda file: _naming(file, Survey.read, file))
    return survey


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
    console.print(
        "Margins hold 19 times in 20 and are worst cases: for a share near one half, and for the "
        "mean of numbers that lie at both ends of their range. They hold for the population that "
        "the respondents represent.",
        soft_wrap=wrap,
    )
    console.print(
        f"For a margin of ± {100 * margin:g} points, or of as many hundredths of the range of a "
        f"number, on every question {found.needed(margin):,} people must answer.",
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


@app.command(epilog=EPILOG)
def perturb(
    survey: SurveyArgument,
    answer: Annotated[
        list[str] | None,
        typer.Option(
            metavar="QUESTION=ANSWER", help="Your answer to one question; repeat for each question."
        ),
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Synthetic people, one per row, in a CSV or Parquet file."
        ),
    ] = None,
    memory: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The file that keeps your permanent reports; by default sfumato-memory.json.",
        ),
    ] = None,
    ledger: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="Your own ledger, where the privacy loss is booked."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Append the reports to this file.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Randomise the answers of one respondent, or, to try a survey, of synthetic people."""
    with answering(as_json) as screen:
        if (table is None) == (not answer):
            raise Refusal(
                ExitCode.USAGE,
                (
                    "give your answers with --answer QUESTION=ANSWER, or synthetic people with "
                    "--table FILE"
                ),
            )
        asked = _read_survey(survey)
        if table is not None:
            for option, given in (("--ledger", ledger), ("--memory", memory)):
                if given is not None:
                    raise Refusal(
                        ExitCode.USAGE,
                        f"{option} belongs to one person and cannot be used with --table; "
                        "leave one of them out",
                    )
            screen.note(TRYING_OUT)
            with screen.working("randomising"):
                lines = _perturb_table(asked, table)
        else:
            kept = Path("sfumato-memory.json") if memory is None else memory
            lines = [_perturb_answers(screen, asked, answer or [], kept, ledger)]
        _give(screen, lines, out)


def _perturb_answers(
    screen: Screen, survey: Survey, answers: list[str], memory: Path, ledger: Path | None
) -> str:
    """Return the line of one respondent."""
    from sfumato.local.respondent import Respondent
    from sfumato.privacy.ledger import Ledger

    book = None
    if ledger is None:
        screen.note(
            "No --ledger given: the cumulative privacy loss of your answers is not tracked."
        )
    else:
        book = Ledger.open(ledger)
    given = {}
    for text in answers:
        name, sign, value = text.partition("=")
        if not sign:
            raise Refusal(ExitCode.USAGE, "--answer must have the form QUESTION=ANSWER")
        if name in given:
            raise Refusal(ExitCode.USAGE, f"{name!r} has two answers; give one")
        given[name] = value
    if memory.exists() and any(item.permanent for item in survey.items):
        screen.note(
            f"Permanent reports that {memory} holds are sent again, whatever the new answers are. "
            "This file belongs to one person; other people on this machine must use their own "
            "file, with --memory."
        )
    if set(given) - set(survey.questions):
        known = ", ".join(sorted(survey.questions))
        raise Refusal(ExitCode.USAGE, f"the questions are {known}")
    return Respondent(memory, book).answer(survey, refuse_bad(survey.read_answers, given))


def _perturb_table(survey: Survey, table: Path) -> list[str]:
    """Return the lines of all rows of a table."""
    from sfumato.local.respondent import lines_of, read_people

    frame = refuse_bad(read_people, survey, table)
    return list(_naming(table, lambda: list(lines_of(survey, frame))))


def _give(screen: Screen, lines: list[str], out: Path | None) -> None:
    """Add lines to a file, or answer with them."""
    document: dict[str, Any] = {"lines": len(lines), "written": None if out is None else str(out)}
    text = "".join(f"{line}\n" for line in lines)
    if out is None:
        document["reports"] = lines
        screen.answer(document, lambda console: console.out(text, highlight=False, end=""))
        return
    with out.open("a", encoding="utf-8") as file:
        file.write(text)
    many = "1 line was" if len(lines) == 1 else f"{len(lines):,} lines were"
    screen.answer(document, lambda console: console.print(f"{many} added to {out}", soft_wrap=True))


@app.command(epilog=EPILOG)
def aggregate(
    survey: SurveyArgument,
    out: Annotated[Path, typer.Option(metavar="FILE.json", help="The tally to write.")],
    reports: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE…", help="Files of reports, one per line."),
    ] = None,
    tally: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE.json", help="Your own earlier tally to add to."),
    ] = None,
    skip_wrong: Annotated[
        bool, typer.Option("--skip-wrong", help="Skip lines that cannot be read.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Count lines of reports, in constant memory, and add earlier tallies up."""
    with answering(as_json) as screen:
        asked = _read_survey(survey)
        if out.exists():
            raise Refusal(ExitCode.USAGE, f"{out} exists; a tally is never overwritten")
        lines, tallies = reports or [], tally or []
        if not lines and not tallies:
            raise Refusal(
                ExitCode.USAGE, "give files of reports, or an earlier tally with --tally FILE"
            )
        if len({path.resolve() for path in lines + tallies}) != len(lines + tallies):
            raise Refusal(
                ExitCode.USAGE,
                "a file is given twice, and its reports would count twice; give each file once",
            )
        with screen.working("counting reports"):
            found = _count(asked, lines, tallies, skip=skip_wrong)
        found.save(out)
        document = {
            "tally": str(out),
            "lines": found.lines,
            "wrong": found.wrong,
            "reports": found.reports,
        }
        left = f"; {found.wrong:,} could not be read" if found.wrong else ""
        if len(lines) + len(tallies) > 1:
            screen.note(
                "Lines are counted, not people: a person who sent two lines counts twice, and "
                "asking the same people again does not reduce the margins. Keep one tally per "
                "round of a survey."
            )
        screen.answer(
            document,
            lambda console: console.print(
                f"{found.lines:,} lines were counted{left}; the tally is in {out}", soft_wrap=True
            ),
        )


def _count(survey: Survey, paths: list[Path], tallies: list[Path], *, skip: bool) -> SurveyTally:
    """Return the tally of all files; what respondents sent is never taken for a tally."""
    from sfumato.local.survey_tally import SurveyTally

    tally = SurveyTally.empty(survey)
    for path in tallies:
        tally = _naming(
            path, lambda whole, file: whole + SurveyTally.read(survey, file), tally, path
        )
    for path in paths:
        tally = _naming(path, lambda whole, file: whole.add(_lines(file), skip=skip), tally, path)
    return tally


def _lines(path: Path) -> Iterator[str]:
    """Return the lines of a file one after another; of one too long, no more than tells so."""
    from sfumato.local.wire import LONGEST

    with path.open(encoding="utf-8", errors="replace") as file:
        while line := file.readline(LONGEST + 1):
            yield line
            while line and not line.endswith("\n"):
                line = file.readline(LONGEST)


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
        asked = _read_survey(survey)
        found: SurveyTally = _naming(tally, SurveyTally.read, asked, tally)
        document = {**found.estimates(level, estimator.value), "written": None}
        if out is not None:
            from sfumato.report.local_shares import survey_page

            with screen.working("drawing the page"):
                page = survey_page(found, level=level, estimator=estimator.value)
            out.write_text(page, encoding="utf-8")
            document["written"] = str(out)
        screen.answer(
            document, lambda console: _show_report(console, found, level, estimator.value, out)
        )


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
                (
                    line.answer,
                    f"{100 * line.share:.1f} %",
                    f"{100 * line.low:.1f} – {100 * line.high:.1f} %",
                )
                for line in tally.shares(item.name, estimator).lines(level)
            ]
            print_table(console, ("answer", "share", f"{100 * level:g} % interval"), rows)
    if out is not None:
        console.print(f"The page is in {out}", soft_wrap=True)
