"""A page about an attack, for the custodian alone: what it found, and what to do about it.

NOT PRIVATE. The page is no part of a release and says so at its top.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sfumato.attacks.outcome import WARNING, InversionOutcome
from sfumato.report.page import templates, write_page
from sfumato.sections import Block, Facts, Grid, Listing, Picture, Section, Text
from sfumato.sections.drawing import ACCENT, FILL, INK

__all__ = ["inversion_page", "save_inversion"]

#: What each way of guessing knows.
KNOWS = {
    "most frequent": "nothing about the person: always names the most frequent value",
    "target alone": "the target of the person, and how it goes with the column in the population",
    "model": "the target, the known columns and the model, which is taken at its word",
    "model and errors": "the same, and how often the model errs (its confusion matrix)",
    "model without the column": "the same about a model that was made without the column",
}
SOURCES = {
    "train": "in the private table itself, exactly: the worst case. Whoever publishes such figures "
    "beside a model has made a second release that nobody paid for",
    "public": "in a public table",
    "dp": "in the private table, with the noise that publishing them would need",
}


def inversion_page(outcome: InversionOutcome) -> str:
    """Return a page about an attack. Not private."""
    return (
        templates()
        .get_template("attack.html")
        .render(
            title=f"Can {outcome.sensitive} be guessed from a model of {outcome.target}?",
            lead="A model inversion, tried by the custodian on the private data.",
            warning=WARNING,
            sections=(_found(outcome), _tried(outcome), _meaning(outcome), _advice(outcome)),
        )
    )


def save_inversion(outcome: InversionOutcome, path: str | Path) -> Path:
    """Write a page about an attack. Not private: for the custodian's eyes.

    Parameters
    ----------
    outcome
        What the attack found.
    path
        The file; an older one is replaced.
    """
    return write_page(Path(path), inversion_page(outcome))


def _found(outcome: InversionOutcome) -> Section:
    """Tell what was found, in sentences and in a picture."""
    size = (6.0, 0.9 + 0.34 * len(outcome.guesses))
    picture = Picture(
        "guesses",
        lambda figure: _bars(figure, outcome),
        "The share of records whose value is guessed right, by what is known. The line is at "
        "what is reached without knowing anything about a person.",
        size,
    )
    blocks: tuple[Block, ...] = (*map(Text, outcome.sentences()), picture)
    return Section("found", "What was found", blocks, "the private table and the release")


def _bars(figure: Any, outcome: InversionOutcome) -> None:
    axis = figure.subplots()
    shown = outcome.guesses[::-1]
    colours = [ACCENT if item.name.startswith("model and") else INK for item in shown]
    margins = [100 * item.margin for item in shown]
    axis.barh(
        range(len(shown)), [100 * item.right for item in shown],
        xerr=margins, color=colours, height=0.6, ecolor=FILL,
    )  # fmt: skip
    axis.set_yticks(range(len(shown)), [item.name for item in shown])
    axis.axvline(100 * outcome["most frequent"].right, color=FILL, linewidth=1)
    axis.set_xlim(0, 100)
    axis.set_xlabel("guessed right, %")


def _tried(outcome: InversionOutcome) -> Section:
    """List the ways of guessing with their figures."""
    others = {item.name: item for item in outcome.others}
    head = ("way", "knows", "right", "± by chance", *(("right of others",) if others else ()))
    rows = tuple(
        (
            item.name,
            KNOWS[item.name],
            f"{100 * item.right:.1f} %",
            f"{100 * item.margin:.1f} %",
            *((f"{100 * others[item.name].right:.1f} %",) if others else ()),
        )
        for item in outcome.guesses
    )
    quality = outcome.quality
    facts = [
        ("guessed", f"{outcome.sensitive}, {outcome.values:,} {_values(outcome)}"),
        ("known of a person", ", ".join((outcome.target, *outcome.known))),
        ("not known", ", ".join(outcome.unknown) or "—"),
        ("shares and errors", f"counted {SOURCES[outcome.source]}"),
        ("records", f"{outcome.guesses[0].rows:,}"),
        (f"{quality.what} of the model", f"{quality.model:.3f}"),
    ]
    if quality.without is not None:
        facts.append((f"{quality.what} of a model without the column", _refitted(quality.without)))
    blocks: tuple[Block, ...] = (
        Grid(head, rows, numbers=tuple(range(2, len(head)))),
        Facts(tuple(facts)),
    )
    return Section("tried", "What was tried", blocks, "the private table and the release")


def _values(outcome: InversionOutcome) -> str:
    return "parts that its numbers were cut into" if outcome.parts else "values"


def _refitted(without: float) -> str:
    return f"{without:.3f}, fitted once by the same method with fresh noise"


def _meaning(outcome: InversionOutcome) -> Section:
    """Say what differential privacy promises about this, and what it does not."""
    points = (
        "What is promised is that the model would be nearly the same without any one person. So "
        "the attack is right about people who are not in the data as often as about those who are: "
        "try it with rows that the model was not made of (--others).",
        f"What is not promised is that nobody can guess {outcome.sensitive}. Where it goes with "
        f"{outcome.target} and other columns, whoever knows those can guess it, with or without "
        "this model. That is a fact about the population.",
        "More noise need not help: a model that is dominated by the noise on one column says "
        "little but that column's value, and its errors then tell the rest.",
    )
    return Section("meaning", "What it means", (Listing(points),), "docs/attacks.md")


def _advice(outcome: InversionOutcome) -> Section:
    """Say what to do."""
    points = [
        f"If nobody needs {outcome.sensitive} in the model, leave it out of the schema: the model "
        "then gives nothing away about it, at a price that is told above.",
        "Do not publish the model's errors on the private data, its accuracy included, unless they "
        "are paid for like any other figure.",
        f"Noise on the coefficients of {outcome.sensitive} alone (sensitive and ratio of "
        "FunctionalRegression) is the weaker remedy: it costs accuracy and still gives something "
        "away.",
    ]
    return Section("advice", "What to do", (Listing(tuple(points)),), "docs/attacks.md")
