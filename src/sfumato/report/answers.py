"""The page of a session: every question with its answer."""

from __future__ import annotations

from sfumato.report.blocks import Block, Grid, Picture, Section, Text
from sfumato.report.drawing import inlined
from sfumato.tabular.questions import Answers

#: More answers than this do not fit a picture that can be read.
MOST_DRAWN = 40


def sections(release: Answers) -> tuple[Section, ...]:
    """Return the sections for a session of questions."""
    rows = tuple(
        (text, f"{answer.count:,}", f"± {answer.margin:,.4g}") for text, answer in release.answers
    )
    blocks: list[Block] = [
        Text(
            "The margin is that of the noise: 19 times in 20 the noise on an answer is no larger. "
            "A count may come out below zero; it then stands for a count near zero."
        ),
        Grid(("question", "answer", "margin"), rows, numbers=(1, 2)),
    ]
    if 0 < len(rows) <= MOST_DRAWN:
        caption = "The answers with the margins of their noise."
        blocks.append(Picture(inlined("answers", release.plot), caption))
    return (Section("answers", "The answers", tuple(blocks), "answers.csv"),)
