"""`sfumato collect perturb | aggregate`: the respondent's side, and the collector's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.exits import ExitCode, Refusal
from sfumato.cli.screen import JsonOption, Screen, answering

if TYPE_CHECKING:
    from sfumato.local.survey import Survey
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
        asked = read_survey(survey)
        if table is not None:
            if ledger is not None:
                raise Refusal(
                    ExitCode.USAGE,
                    (
                        "--ledger belongs to one person and cannot be used with --table; "
                        "leave one of them out"
                    ),
                )
            if memory is not None:
                raise Refusal(
                    ExitCode.USAGE,
                    (
                        "--memory belongs to one person and cannot be used with --table; "
                        "leave one of them out"
                    ),
                )
            screen.note(TRYING_OUT)
            with screen.working("randomising"):
                lines = _many(asked, table)
        else:
            kept = Path("sfumato-memory.json") if memory is None else memory
            lines = [_one(screen, asked, answer or [], kept, ledger)]
        _give(screen, lines, out)


def _one(
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
    known = {part.name for item in survey.items for part in item.parts}
    known |= {item.name for item in survey.items if not item.parts}
    if set(given) - known:
        raise Refusal(ExitCode.USAGE, f"the questions are {', '.join(sorted(known))}")
    return Respondent(memory, book).answer(survey, _read_numbers(survey, given))


def _read_numbers(survey: Survey, given: dict[str, str]) -> dict[str, Any]:
    """Return answers with numbers where numbers are asked; what is none stays text."""
    numbers = {item.name for item in survey.items if item.bounds}
    numbers |= {part.name for item in survey.items for part in item.parts if part.edges}
    typed: dict[str, Any] = dict(given)
    for name in numbers & set(given):
        try:
            typed[name] = float(given[name])
        except ValueError:
            raise Refusal(
                ExitCode.DATA, f"{name}: the answer must be a number; it is not shown"
            ) from None
    return typed


def _many(survey: Survey, table: Path) -> list[str]:
    """Return the lines of all rows of a table."""
    import polars as pl

    from sfumato.local.respondent import lines_of

    numbers = [item.name for item in survey.items if item.bounds]
    numbers += [part.name for item in survey.items for part in item.parts if part.edges]
    try:
        if table.suffix.lower() == ".parquet":
            frame = pl.read_parquet(table)
        else:
            frame = pl.read_csv(table, infer_schema=False)
            _check_numbers(frame, [name for name in numbers if name in frame.columns])
            frame = frame.with_columns(
                pl.col(name).cast(pl.Float64) for name in numbers if name in frame.columns
            )
    except pl.exceptions.PolarsError:
        raise Refusal(ExitCode.DATA, f"{table.name} cannot be read as a table") from None
    try:
        return list(lines_of(survey, frame))
    except ValueError as error:
        raise Refusal(ExitCode.DATA, f"{table.name}: {error}") from None


def _check_numbers(frame: Any, names: list[str]) -> None:
    """Refuse what is no number where one is asked, by its column and row and never by its value."""
    import polars as pl

    for name in names:
        wrong = frame[name].cast(pl.Float64, strict=False).is_null() & frame[name].is_not_null()
        if wrong.any():
            raise Refusal(
                ExitCode.DATA,
                f"column {name!r}, row {wrong.arg_max()}: the answer must be a number; it is not "
                "shown (rows are counted from 0)",
            )


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
        asked = read_survey(survey)
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
    for path in tallies + paths:
        try:
            if path in tallies:
                tally = tally + SurveyTally.read(survey, path)
            else:
                tally = tally.add(_lines(path), skip=skip)
        except ValueError as error:
            raise Refusal(ExitCode.DATA, f"{path.name}: {error}") from None
    return tally


def _lines(path: Path) -> Iterator[str]:
    """Return the lines of a file one after another; of one too long, no more than tells so."""
    from sfumato.local.wire import LONGEST

    with path.open(encoding="utf-8", errors="replace") as file:
        while line := file.readline(LONGEST + 1):
            yield line
            while line and not line.endswith("\n"):
                line = file.readline(LONGEST)


def read_survey(path: Path) -> Survey:
    """Read a survey file; whatever is wrong with it is an error of the data."""
    from sfumato.local.survey import Survey

    if not path.is_file():
        raise FileNotFoundError(f"there is no survey file {str(path)!r}")
    try:
        return Survey.read(path)
    except ValueError as error:
        raise Refusal(ExitCode.DATA, f"{path.name}: {error}") from None
