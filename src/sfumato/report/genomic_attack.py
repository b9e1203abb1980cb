"""A page about an attack on genomic releases, which a study group can show its ethics board.

NOT PRIVATE. The page is no part of a release, states so at its top, and is never written into the
folder of one, where somebody might publish it by mistake.
"""

from __future__ import annotations

from pathlib import Path

from sfumato.attacks.genomic_outcome import GenomicOutcome
from sfumato.evaluate.warning import WARNING
from sfumato.report.comparison import refuse_release_folder
from sfumato.report.page import templates, write_page
from sfumato.sections import Block, Facts, Listing, Picture, Section, Text

__all__ = ["genomic_attack_page", "save_genomic_attack"]

SOURCE = "the genotypes of the custodian and the released statistics"


def genomic_attack_page(outcome: GenomicOutcome) -> str:
    """Return a page about an attack. Not private."""
    picture = Picture(outcome.attack, outcome.draw, outcome.caption, (6.0, 4.2))
    found: tuple[Block, ...] = (*map(Text, outcome.sentences()), picture)
    sections = (
        Section("found", "What was found", found, SOURCE),
        Section("tried", "What was tried", (outcome.grid(), Facts(outcome.facts())), SOURCE),
        Section("meaning", "What it means", (Listing(outcome.meaning()),),
                "docs/genomic-attacks.md"),
    )  # fmt: skip
    return (
        templates()
        .get_template("attack.html")
        .render(
            title=outcome.title,
            lead="An attack on released genomic statistics, tried by the custodian and compared "
            "with guessing.",
            warning=WARNING,
            sections=sections,
        )
    )


def save_genomic_attack(outcome: GenomicOutcome, path: str | Path) -> Path:
    """Write a page about an attack. Not private: for the custodian and the ethics board.

    Parameters
    ----------
    outcome
        What the attack found.
    path
        The file; an older one is replaced. A path inside a release folder is refused.
    """
    refuse_release_folder(Path(path))
    return write_page(Path(path), genomic_attack_page(outcome))
