"""The release of one number about a graph, and the number that many methods ask for: its edges."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sfumato.graph.queries import EdgeCount
from sfumato.mechanisms.count_noise import margin
from sfumato.mechanisms.laplace import GeometricNoise
from sfumato.privacy.budget import Budget
from sfumato.privacy.canonical import canonical
from sfumato.privacy.loss import Loss
from sfumato.privacy.plan import PlanStep
from sfumato.privacy.program import Ask
from sfumato.privacy.release import Release
from sfumato.sections import Section

__all__ = ["EDGES", "NumberRelease", "ask_edges", "edge_noise", "edge_step"]

#: The label of the number of edges in transcripts, and of its slice.
EDGES = "edges"


class NumberRelease(Release):
    """One noisy whole number.

    Parameters
    ----------
    what
        What is counted, in words.
    value
        The noisy number; it may be negative or too large, as noise is.
    margin
        The 95 % margin of its noise where that is public; `None` where the noise follows the data.
    largest
        The largest value it could have on these nodes. Public.
    note
        What else a reader must know, in a sentence.
    """

    kind = "number"

    def __init__(
        self, what: str, value: int, *, margin: float | None, largest: int, note: str = ""
    ) -> None:
        self.what = what
        self.value = value
        self.margin = margin
        self.largest = largest
        self.note = note

    @property
    def possible(self) -> int:
        """The value moved into the range that is possible, which biases it near the ends."""
        return min(max(self.value, 0), self.largest)

    def files(self) -> dict[str, bytes]:
        """Return the number as a small JSON document."""
        document = {"what": self.what, "value": str(self.value), "possible": str(self.possible)}
        if self.margin is not None:
            document["margin"] = f"{self.margin:.6g}"
        if self.note:
            document["note"] = self.note
        return {"number.json": canonical(document) + b"\n"}

    def words(self) -> str:
        """Return the number in a sentence."""
        off = (
            "the scale of its noise depends on the graph, so it is private"
            if self.margin is None
            else f"± {self.margin:,.4g}, 19 times in 20"
        )
        told = f"The graph has about {self.possible:,} {self.what} ({off})."
        return f"{told} {self.note}" if self.note else told

    def summary(self) -> dict[str, Any]:
        """Return the number, the nearest possible one and its margin, for programs."""
        return {
            "what": self.what,
            "value": self.value,
            "possible": self.possible,
            "margin": self.margin,
        }

    def sections(self) -> tuple[Section, ...]:
        """Return what its page shows."""
        from sfumato.graph.pages import number_sections

        return number_sections(self)

    def plot(self) -> Any:
        """Return a figure with the number and its margin."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(5, 1.4), layout="constrained")
        axis = figure.subplots()
        error = None if self.margin is None else [self.margin]
        axis.barh([self.what], [float(self.possible)], xerr=error, color="#4c72b0")
        axis.set_xlabel("how many")
        axis.spines[["top", "right"]].set_visible(False)
        return figure


def edge_noise(loss: Loss) -> GeometricNoise:
    """Return the noise on the number of edges that spends the ε of a loss: one edge counts once."""
    epsilon: Fraction = loss.epsilon  # type: ignore[union-attr]
    return GeometricNoise(shape=(1,), sensitivity=Fraction(1), epsilon=epsilon)


def edge_step(loss: Loss) -> PlanStep:
    """Return the line of a plan for the number of edges."""
    noise = edge_noise(loss)
    return PlanStep(
        what="the number of edges",
        loss=loss,
        noise=f"± {noise.standard_deviation:.4g} (1 s.d.)",
        error=f"± {margin(noise):,.4g}",
        figures={"margin": margin(noise)},
    )


def ask_edges(budget: Budget) -> Ask:
    """Return the request for the number of edges; it spends the whole slice."""
    return Ask(budget, edge_noise(budget.remaining), EdgeCount(), EDGES)
