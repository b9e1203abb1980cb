"""The page of a survey: the share of each answer with its interval, and how it was asked.

Everything here is a function of reports that were randomised before they were collected.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.local.estimation import Estimator
from sfumato.local.shares import Shares
from sfumato.local.survey import Item
from sfumato.local.survey_answers import SurveyAnswers
from sfumato.local.survey_tally import SurveyTally
from sfumato.report.page import templates
from sfumato.sections import Beside, Block, Facts, Grid, Listing, Picture, Section, Text
from sfumato.sections.drawing import FILL, INK, shorten

__all__ = ["survey_page"]

#: Answers that are drawn at most; a table lists them all.
MOST_DRAWN = 40


def survey_page(
    tally: SurveyTally, *, level: float = 0.95, estimator: Estimator = "project"
) -> str:
    """Return one self-contained HTML page about a survey.

    Parameters
    ----------
    tally
        All reports, counted.
    level
        How often an interval shall hold the true share.
    estimator
        How shares are estimated.
    """
    survey = tally.survey
    sections = [
        _question(tally, item, place, level, estimator) for place, item in enumerate(survey.items)
    ]
    if survey.share == "joint":
        sections.append(_joint(tally))
    sections += [_table(tally, *pair) for pair in survey.tables]
    return (
        templates()
        .get_template("survey.html")
        .render(
            title=survey.name,
            lead=_lead(tally),
            headline=(
                ("respondents", f"{tally.lines:,}"),
                ("ε for each", str(survey.epsilon)),
                ("questions", str(len(survey.items))),
            ),
            sections=(*sections, _reading(level), _asked(tally)),
            survey=survey.identity,
        )
    )


def _lead(tally: SurveyTally) -> str:
    """Return what one line of reports tells of one person, in odds."""
    items = tally.survey.items
    if tally.survey.share == "sample":
        items = (max(items, key=lambda item: item.epsilon),)
    method = SurveyAnswers.to(items)
    promised = method.guarantee(method.public).words()
    return (
        "Every answer was randomised before it left the respondent's device. For what one "
        f"respondent sent each time they answered: {promised}"
    )


def _question(
    tally: SurveyTally, item: Item, place: int, level: float, estimator: Estimator
) -> Section:
    """Return the estimates of one question."""
    many = tally.reports[item.name]
    source = f"{many:,} reports by {type(item.design).__name__}, ε = {item.epsilon}"
    blocks: tuple[Block, ...]
    if not many:
        blocks = (Text("Nobody answered it."),)
    elif item.bounds is not None:
        mean = tally.mean(item.name)
        blocks = (
            Text(item.ask),
            Text(f"The mean is about {mean.mean:.4g} ± {mean.margin:.3g}, 19 times in 20."),
        )
    else:
        found = tally.shares(item.name, estimator)
        blocks = (Text(item.ask), _shares(found, f"question-{place}", level))
    return Section(f"question-{place}", item.name, blocks, source)


def _shares(found: Shares, name: str, level: float) -> Block:
    """Return the table of shares, with a picture beside it."""
    lines = found.lines(level)
    rows = tuple(
        (
            line.answer,
            f"{100 * line.share:.1f} %",
            f"{100 * line.low:.1f} – {100 * line.high:.1f} %",
        )
        for line in lines
    )
    grid = Grid(("answer", "share", f"{100 * level:g} % interval"), rows, numbers=(1, 2))
    shown = sorted(lines, key=lambda line: -line.share)[:MOST_DRAWN]
    shown = [line for line in lines if line in shown]

    def draw(figure: Any) -> None:
        axis = figure.subplots()
        places = np.arange(len(shown))[::-1]
        shares = np.array([100 * line.share for line in shown])
        ends = np.array([[100 * line.low, 100 * line.high] for line in shown]).T
        axis.barh(places, shares, color=FILL, height=0.7)
        axis.hlines(places, *ends, color=INK, linewidth=1.2)
        axis.set_yticks(places, [shorten(line.answer) for line in shown])
        axis.set_xlabel("share, %")

    caption = "Shares of the answers; lines are the intervals."
    return Beside(grid, Picture(name, draw, caption, (4.6, 0.7 + 0.24 * len(shown))))


def _joint(tally: SurveyTally) -> Section:
    """Return the shares of each question of a joint survey."""
    table = tally.joint()
    blocks: list[Block] = []
    for name, answers in table.questions.items():
        shares = table.margin([name])
        rows = tuple(
            (answer, f"{100 * share:.1f} %") for answer, share in zip(answers, shares, strict=True)
        )
        blocks.append(Grid((name, "share"), rows, numbers=(1,)))
    return Section("each", "Each question alone", tuple(blocks), "sums over the joint answers")


def _table(tally: SurveyTally, first: str, second: str) -> Section:
    """Return the table of two questions."""
    title, source = f"{first} and {second}", "pairs of reports of the same respondents"
    if not tally.lines:
        return Section(f"table-{first}-{second}", title, (Text("Nobody answered."),), source)
    table = tally.table(first, second)
    off = table.deviations()
    columns = table.questions[second]
    rows = tuple(
        (
            answer,
            *(
                f"{100 * share:.1f} ± {196 * wide:.1f} %"
                for share, wide in zip(table.estimates[place], off[place], strict=True)
            ),
        )
        for place, answer in enumerate(table.questions[first])
    )
    numbers = tuple(range(1, len(columns) + 1))
    grid = Grid((f"{first} \\ {second}", *columns), rows, numbers=numbers)
    words = Text("The share of people who gave each pair of answers, 19 times in 20 within ±.")
    return Section(f"table-{first}-{second}", title, (words, grid), source)


def _reading(level: float) -> Section:
    """Say how the figures are to be read."""
    points = (
        f"An interval holds the true share in the population {100 * level:g} times in 100, if the "
        "respondents were drawn from it by chance.",
        "An answer whose interval begins at 0 may be held by nobody: the noise alone can make it "
        "look held.",
        "More respondents make the intervals narrower: four times as many halve them.",
        "Nothing here tells whether people answered truthfully, nor why others did not answer.",
    )
    return Section("reading", "How to read it", (Listing(points),), "the laws of the reports")


def _asked(tally: SurveyTally) -> Section:
    """Say how each question was asked and what it cost."""
    rows = tuple(
        (
            item.name,
            item.ask,
            type(item.design).__name__,
            str(item.epsilon),
            "once" if item.permanent else "each time",
        )
        for item in tally.survey.items
    )
    facts = Facts(
        (
            ("survey", f"{tally.survey.name} ({tally.survey.identity})"),
            ("how ε is shared", tally.survey.share),
            ("lines that could not be read", f"{tally.wrong:,}"),
        )
    )
    grid = Grid(("question", "asked", "design", "ε", "is paid"), rows)
    return Section("asked", "How it was asked", (facts, grid), "the survey file")
