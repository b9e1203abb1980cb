"""What is public about a graph: its nodes. Its edges, and how many there are, are private."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.data.public import Public
from sfumato.engines.coding import Categories, Coding, Generator, Integers
from sfumato.engines.memory_graph import MemoryGraph
from sfumato.privacy.guarantee import Relation, Unit

if TYPE_CHECKING:
    from sfumato.data.graph import Graph

__all__ = ["MOST_NODES", "GraphPublic"]

MOST_NODES = 2**24
"""The most nodes of a graph."""

Labels = tuple[str, ...] | tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class GraphPublic(Public):
    """What is public about a graph.

    Parameters
    ----------
    nodes
        How many nodes there are.
    labels
        What they are called, in order; `None` for 0, 1, 2, …
    named_by_edges
        Whether the node set is that of all nodes some edge names, declared public all the same.
    rows_about
        A public guess at the number of edges, for plans.
    unit, relation, contribution, rows
        An edge, added or removed.
    """

    kind = "graph"

    unit: Unit = Unit.EDGE
    relation: Relation = Relation.ADD_REMOVE
    nodes: int
    labels: Labels | None = None
    named_by_edges: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.unit is not Unit.EDGE or self.contribution != 1:
            raise ValueError(
                "what is protected in a graph is one edge; a person with d edges is d of them"
            )
        if self.relation is not Relation.ADD_REMOVE:
            raise ValueError("two graphs are neighbours if one edge is added or removed")
        if type(self.nodes) is not int or not 0 <= self.nodes <= MOST_NODES:
            raise ValueError(f"a graph has 0 to {MOST_NODES} nodes; got {self.nodes!r}")
        if self.labels is not None and len(self.labels) != self.nodes:
            raise ValueError(f"{self.nodes} nodes have as many labels; got {len(self.labels)}")

    @property
    def most_edges(self) -> int:
        """The number of pairs of nodes."""
        return comb(self.nodes, 2)

    @property
    def coding(self) -> Coding | None:
        """How an end of an edge is read; `None` without nodes."""
        if self.nodes == 0:
            return None
        if self.labels is None:
            return Integers(low=0, high=self.nodes - 1)
        return Categories(values=self.labels)

    def label(self, node: int) -> str:
        """Return what a node is called."""
        return str(node if self.labels is None else self.labels[node])

    def assumptions(self) -> tuple[str, ...]:
        """Return what a guarantee takes as public knowledge, in words."""
        words = (
            f"the {self.nodes} nodes, but not who is joined to whom nor how many edges there are"
        )
        if self.named_by_edges:
            words += " (the nodes were taken from the edges and declared public by the custodian)"
        return (words, *super().assumptions())

    def made_up(self, rows: int, generator: Generator) -> Graph:
        """Return a graph on these nodes with random edges, for rehearsals.

        Privacy: a function of what is public and of the generator.
        """
        from sfumato.data.graph import Graph

        if rows < 0:
            raise ValueError(f"rows must not be negative; got {rows}")
        if self.nodes < 2:
            return Graph._of(self, MemoryGraph(np.zeros((0, 2), dtype=np.int64), nodes=self.nodes))
        ends = [
            np.asarray(generator.integers(np.zeros(rows, dtype=np.int64), self.nodes - less))
            for less in (0, 1)
        ]
        # The second end skips the first, so that no edge is a loop.
        ends[1] = ends[1] + (ends[1] >= ends[0])
        return Graph._of(self, MemoryGraph(np.stack(ends, axis=1), nodes=self.nodes))

    def _document(self) -> dict[str, Any]:
        labels = None if self.labels is None else list(self.labels)
        return {"nodes": self.nodes, "labels": labels, "named_by_edges": self.named_by_edges}

    @classmethod
    def _from_document(cls, document: dict[str, Any]) -> GraphPublic:
        labels = document["labels"]
        return cls(
            nodes=document["nodes"],
            labels=None if labels is None else tuple(labels),
            named_by_edges=document["named_by_edges"],
            rows_about=document["rows_about"],
        )
