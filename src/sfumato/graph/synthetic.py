"""A release of synthetic graphs: a model, made of noisy numbers alone, that graphs are drawn from.

Everything here is post-processing of what was released. The published graph is drawn with bits that
follow from the transcript, so that anybody can draw it again.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np

from sfumato import noise
from sfumato.data.frames import ToFrame
from sfumato.data.graph_public import GraphPublic
from sfumato.graph.degrees import DegreeRelease, degree_picture
from sfumato.graph.sampled import Pairs, SampledGraph
from sfumato.privacy.arguments import choose_generator
from sfumato.privacy.canonical import canonical
from sfumato.privacy.figures import shorten_figures
from sfumato.privacy.file_comparison import Differences, compare
from sfumato.privacy.plan import PlanStep, Size
from sfumato.privacy.release import Release
from sfumato.sections import Section

if TYPE_CHECKING:
    import polars as pl

__all__ = ["GraphModel", "SyntheticGraph", "drawn_sizes", "most_edges"]

#: The graph that is published unasked has at most this many edges, or twice the declared guess.
MOST_EDGES = 2**24
#: The files of a release.
EDGES, MODEL = "edges.csv", "model.json"


@runtime_checkable
class GraphModel(Protocol):
    """What graphs are drawn from: public numbers, and a law.

    Attributes
    ----------
    kind
        What it is, in a word or two.
    named
        Whether node i of a drawn graph stands for node i of the private one. Where it stands for
        nobody in particular, drawn nodes are shuffled and have no labels.
    """

    kind: ClassVar[str]
    named: ClassVar[bool]

    @property
    def nodes(self) -> int:
        """How many nodes a drawn graph has."""

    def draw(self, generator: np.random.Generator) -> Pairs:
        """Return the edges of a graph: two nodes a row, the smaller first, sorted, each once."""

    def document(self) -> dict[str, Any]:
        """Return the model as a plain document."""

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Self:
        """Return the model that `document` wrote."""

    def words(self) -> str:
        """Return what the model keeps and what it does not, in a few plain sentences."""


class SyntheticGraph(Release, ToFrame):
    """A model of a private graph, from which any number of graphs is drawn.

    Parameters
    ----------
    public
        What is public about the private graph.
    model
        The model.
    moved
        How far what was said had to be moved, in all, before any graph could have it; `None` where
        nothing had to be repaired.
    notes
        Sentences that the method adds, made of public and released facts.
    """

    kind = "synthetic graph"

    def __init__(
        self,
        public: GraphPublic,
        model: GraphModel,
        *,
        moved: float | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        if model.named and model.nodes != public.nodes:
            raise ValueError(f"{public.nodes} nodes are declared; the model has {model.nodes}")
        self.public = public
        self.model = model
        self.moved = moved
        self.notes = tuple(notes)

    def sample(
        self, *, seed: int | None = None, generator: np.random.Generator | None = None
    ) -> SampledGraph:
        """Return a graph drawn from the model.

        Parameters
        ----------
        seed
            A whole number, for a graph that can be drawn again; fresh otherwise.
        generator
            A NumPy generator in place of a seed.

        Notes
        -----
        Privacy: post-processing of the release; it costs nothing, however often it is done.
        """
        return _draw_graph(self.public, self.model, choose_generator(seed, generator))

    @cached_property
    def graph(self) -> SampledGraph:
        """The graph of edges.csv, drawn with bits that follow from the transcript.

        It is drawn from the model as it is published, so that it follows from what is written.
        """
        return self._draw_from(self._document)

    def _draw_from(self, document: dict[str, Any]) -> SampledGraph:
        """Return the graph that a published model gives."""
        told = {name: document[name] for name in self.model.document()}
        return _draw_graph(self.public, type(self.model).from_document(told), self._generator())

    def _generator(self) -> np.random.Generator:
        seed = int.from_bytes(bytes.fromhex(self.transcript.digest())[:16], "big")
        return noise.generator(seed)

    @cached_property
    def _document(self) -> dict[str, Any]:
        moved = None if self.moved is None else float(self.moved)
        document = {"kind": self.model.kind, "moved": moved, **self.model.document()}
        return dict(shorten_figures(document))

    def to_polars(self) -> pl.DataFrame:
        """Return the edges of edges.csv as a Polars frame; `sample` draws other graphs."""
        return self.graph.to_polars()

    def files(self) -> dict[str, bytes]:
        """Return the edges of one graph, and the model, from which more of them can be drawn."""
        return {EDGES: self.graph.csv(), MODEL: canonical(self._document) + b"\n"}

    def differences(self, files: dict[str, bytes]) -> Differences:
        """Return how published files differ; the graph is the one that the told model draws."""
        own = self.files()
        rest = {name: content for name, content in files.items() if name != MODEL}
        found = compare({MODEL: own[MODEL]}, {MODEL: files.get(MODEL, b"")})
        if found.figures:
            # On another machine the last digits of the model may differ, and then the graph does.
            own = {**own, EDGES: self._draw_from(json.loads(files[MODEL])).csv()}
        return found + compare({EDGES: own[EDGES]}, rest, exactly=True)

    def words(self) -> str:
        """Return what this release is, in a few plain sentences."""
        sentences = [
            f"A synthetic graph of {self.graph.nodes:,} nodes and {self.graph.edges:,} edges, "
            "sampled from a model that was fitted to noisy numbers only; beyond them its edges "
            "reveal nothing about the edges of the private graph.",
            self.model.words(),
        ]
        if self.moved is not None:
            sentences.append(
                f"The noisy numbers were moved by {self.moved:,.4g} in total, so that a graph "
                "with these numbers exists."
            )
        if not self.model.named:
            sentences.append("Its nodes do not correspond to those of the private graph.")
        sentences.append("More graphs can be sampled from it without further privacy loss.")
        return " ".join([*sentences, *self.notes])

    def summary(self) -> dict[str, Any]:
        """Return the model and the size of the published graph, for programs."""
        return {
            "model": self.model.kind,
            "nodes": self.graph.nodes,
            "edges": self.graph.edges,
            "moved": self.moved,
        }

    def sections(self) -> tuple[Section, ...]:
        """Return what its page shows."""
        from sfumato.graph.pages import synthetic_sections

        return synthetic_sections(self)

    def plot(self) -> Any:
        """Return a figure: which share of the nodes of the graph has at least so many edges."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(5.5, 3.8), layout="constrained")
        axis = figure.subplots()
        degrees = np.sort(self.graph.degrees).astype(np.float64)
        degree_picture(axis, DegreeRelease(degrees, margin=0.0))
        axis.set_title(f"{self.graph.nodes:,} nodes, {self.graph.edges:,} edges", fontsize=10)
        return figure


def most_edges(public: GraphPublic) -> int:
    """Return how many edges a drawn graph has at most, from public facts.

    With very much noise the number of edges may be absurd, so it is held to 2²⁴, or to twice the
    declared guess where that is more, and to the number of pairs of nodes.
    """
    return min(public.most_edges, max(MOST_EDGES, 2 * (public.rows_about or 0)))


def drawn_sizes(public: GraphPublic, steps: Sequence[PlanStep]) -> tuple[Size, ...]:
    """Return what a drawn graph is made of, as far as it is public.

    Where there is more noise than edges, noise is what is drawn.

    Parameters
    ----------
    public
        The nodes, and how many edges are declared.
    steps
        The plan, with the margin of the number of edges.
    """
    margins = [step.figures["margin"] for step in steps if step.what == "the number of edges"]
    edges = (public.rows_about or 0) + max(margins, default=0.0)
    return (
        Size(public.nodes, "nodes"),
        Size(int(min(edges, most_edges(public))), "edges"),
    )


def _draw_graph(
    public: GraphPublic, model: GraphModel, generator: np.random.Generator
) -> SampledGraph:
    """Return a graph drawn from a model, with the labels of its nodes where they have any."""
    pairs = model.draw(generator)
    if model.named:
        return SampledGraph(model.nodes, pairs, public.labels)
    return SampledGraph(model.nodes, generator.permutation(model.nodes)[pairs])
