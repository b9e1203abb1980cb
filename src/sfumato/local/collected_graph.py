"""What is told of a graph that was collected pair by pair: counts, and how far they are off."""

from __future__ import annotations

import csv
import io
import math
from typing import Any

import numpy as np

from sfumato.data.graph_public import GraphPublic
from sfumato.local.pair_estimates import Floats, Guess, NodeCounts
from sfumato.privacy.figures import figure
from sfumato.privacy.release import Release

__all__ = ["USUAL", "CollectedGraph"]

#: Figures of published files agree up to this.
TOLERANCE = 1e-6
#: 19 times in 20 noise is no further off than this many standard deviations.
USUAL = 1.96


class CollectedGraph(Release):
    """Counts of a graph and of each of its nodes.

    Parameters
    ----------
    public
        What is public about the graph.
    edges
        The number of edges.
    degrees, triangles, stars
        At each node, and in all; a star has two edges.
    notes
        What else a reader must know, in sentences.
    """

    kind = "collected graph"

    def __init__(
        self,
        public: GraphPublic,
        edges: Guess,
        degrees: NodeCounts,
        triangles: NodeCounts,
        stars: NodeCounts,
        *,
        notes: tuple[str, ...] = (),
    ) -> None:
        self.public = public
        self.edges = edges
        self.degrees = degrees
        self.triangles = triangles
        self.stars = stars
        self.notes = notes

    def _columns(self) -> list[Floats]:
        kinds = (self.degrees, self.triangles, self.stars)
        return [column for kind in kinds for column in (kind.values, kind.deviations)]

    def _totals(self) -> list[tuple[str, Guess]]:
        return [
            ("edges", self.edges),
            ("triangles", self.triangles.total),
            ("2-stars", self.stars.total),
        ]

    def files(self) -> dict[str, bytes]:
        """Return the counts of the graph and of its nodes, each with its standard deviation."""
        totals = [
            [name, _figure(guess.value), _figure(guess.deviation)] for name, guess in self._totals()
        ]
        names = ("degree", "triangles", "2-stars")
        head = ["node", *(word for name in names for word in (name, f"{name} ±"))]
        rows = [
            [self.public.label(node), *map(_figure, figures)]
            for node, figures in enumerate(zip(*self._columns(), strict=True))
        ]
        return {
            "counts.csv": _csv([["what", "count", "±"], *totals]),
            "nodes.csv": _csv([head, *rows]),
        }

    def words(self) -> str:
        """Return what is known of the whole graph."""
        told = "; ".join(f"{name}: {_guess_words(guess)}" for name, guess in self._totals())
        return " ".join(
            (
                f"A graph of {self.public.nodes:,} nodes, with each pair collected by randomised "
                f"response. {told}.",
                *self.notes,
            )
        )

    def plot(self) -> Any:
        """Return a figure of the degrees, each with its margin."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(6, 2.6), layout="constrained")
        axis = figure.subplots()
        order = np.argsort(self.degrees.values)
        off = USUAL * np.nan_to_num(self.degrees.deviations[order])
        axis.errorbar(
            np.arange(len(order)), self.degrees.values[order], yerr=off,
            fmt="o", markersize=2, elinewidth=0.4, color="#4c72b0",
        )  # fmt: skip
        axis.set_xlabel("nodes, by their estimated degree")
        axis.set_ylabel("degree")
        axis.spines[["top", "right"]].set_visible(False)
        return figure


def _figure(value: float) -> str:
    return "" if math.isnan(value) else figure(value)


def _guess_words(guess: Guess) -> str:
    if math.isnan(guess.deviation):
        return f"{guess.value:,.4g}"
    return f"{guess.value:,.4g} ± {USUAL * guess.deviation:,.4g} (19 times in 20)"


def _csv(rows: list[list[str]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()
