"""What every attack on genomic releases returns: sentences, a table, a curve. Not private."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from sfumato.evaluate.warning import WARNING
from sfumato.sections import Grid

__all__ = ["POPULATION_REMARK", "GenomicOutcome"]

#: What differential privacy can and cannot do about attacks on people outside the study.
POPULATION_REMARK = (
    "This attack works on people who need not be in any study. Differential privacy limits what a "
    "participant's own record adds to a release; it does not and cannot prevent inference from "
    "facts about the population. The success of this attack on a differentially private release "
    "does not violate the guarantee."
)


@dataclass(frozen=True)
class GenomicOutcome(ABC):
    """The outcome of an attack on genomic releases. Not private."""

    #: The command that runs the attack, and the name of its page.
    attack: ClassVar[str]
    #: The heading of the page, and what the picture shows.
    title: ClassVar[str]
    caption: ClassVar[str]

    @abstractmethod
    def sentences(self) -> tuple[str, ...]:
        """Return what was found, one finding per sentence, with the conclusion last."""

    @abstractmethod
    def grid(self) -> Grid:
        """Return the figures as a table."""

    @abstractmethod
    def facts(self) -> tuple[tuple[str, str], ...]:
        """Return what the attacker has and what was tried."""

    @abstractmethod
    def meaning(self) -> tuple[str, ...]:
        """Return what the figures mean, and what differential privacy guarantees about them."""

    @abstractmethod
    def figures(self) -> dict[str, Any]:
        """Return the figures for programs."""

    @abstractmethod
    def draw(self, figure: Any) -> None:
        """Draw the curve on an empty figure of Matplotlib."""

    def words(self) -> str:
        """Return what was found, in plain sentences."""
        return " ".join(self.sentences())

    def to_json(self) -> dict[str, Any]:
        """Return a plain document, which states that it is not private."""
        return {
            "private": False,
            "warning": WARNING,
            "attack": self.attack,
            **self.figures(),
            "words": self.words(),
        }

    def plot(self) -> Any:
        """Return a figure of Matplotlib with the curve."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(5.5, 4.0), layout="constrained")
        self.draw(figure)
        return figure
