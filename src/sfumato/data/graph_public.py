"""What is public about a graph: its nodes. Its edges, and how many there are, are private."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.graph_names import Labels, Mask, Names, check_labels, places_of
from sfumato.data.public import Public
from sfumato.engines.coding import Generator
from sfumato.engines.memory_graph import MemoryGraph
from sfumato.noise.exact import briefly
from sfumato.privacy.guarantee import Relation, Unit
from sfumato.privacy.parameters import Flag

if TYPE_CHECKING:
    from sfumato.data.graph import Graph

__all__ = ["MOST_NODES", "GraphPublic"]

MOST_NODES = 2**24
"""The most nodes of a graph."""


@dataclass(frozen=True, kw_only=True)
class GraphPublic(Public):
    """What is public about a graph.

    Parameters
    ----------
    nodes
        How many nodes there are.
    labels
        What they are called, whole numbers first and then texts, each kind sorted; `None` for 0,
        1, 2, …
    named_by_edges
        Whether the node set was taken from the private data. It is then not protected, and every
        guarantee says so.
    rows_about
        A public guess at the number of edges, for plans.
    unit, relation, contribution, rows
        An edge, added or removed.
    """

    kind = "graph"
    made_by = "sf.Graph(edges, nodes=…)"
    read_by = "sf.read_graph(path, nodes=…)"
    __repr__ = Public.__repr__

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
        Flag()("named_by_edges", self.named_by_edges)
        if type(self.nodes) is not int or not 0 <= self.nodes <= MOST_NODES:
            raise ValueError(f"a graph has 0 to {MOST_NODES} nodes; got {briefly(self.nodes)}")
        if not isinstance(self.labels, tuple | None):
            raise ValueError(f"labels must be a tuple, or None; got {briefly(self.labels)}")
        if self.labels is not None and len(self.labels) != self.nodes:
            raise ValueError(f"{self.nodes} nodes have as many labels; got {len(self.labels)}")
        if self.labels is not None:
            # An order of another kind could be that in which edges name the nodes.
            check_labels(self.labels)

    @classmethod
    def example(cls, relation: Relation | None, max_rows: int | None) -> GraphPublic:
        """Return five nodes; an edge is added or removed, whatever else is asked for."""
        if relation is Relation.REPLACE_ONE or max_rows is not None:
            raise ValueError(
                "in a graph one edge is added or removed: leave relation and max_rows out"
            )
        return cls(nodes=5)

    @property
    def most_edges(self) -> int:
        """The number of pairs of nodes."""
        return comb(self.nodes, 2)

    @property
    def allowed(self) -> str:
        """What an end of an edge must be, in words."""
        if self.named_by_edges:
            return "a text or a whole number"
        if self.labels is None:
            return f"a whole number from 0 to {self.nodes - 1}"
        shown = ", ".join(repr(label) for label in self.labels[:8])
        return f"one of {shown}" + (", …" if self.nodes > 8 else "")

    @property
    def excludes(self) -> str:
        """What no guarantee covers, in words; empty where the nodes were declared."""
        if not self.named_by_edges:
            return ""
        return "which nodes there are, and which have an edge: they were taken from the data"

    def places(self, names: Names) -> tuple[NDArray[np.int64], Mask]:
        """Return the number of the node that each name stands for, and where there is one."""
        if self.labels is not None:
            return places_of(names, self.labels)
        known = names.whole & (names.wholes >= 0) & (names.wholes < self.nodes)
        return np.where(known, names.wholes, 0), known

    def label(self, node: int) -> str:
        """Return what a node is called."""
        return str(node if self.labels is None else self.labels[node])

    def brief(self) -> str:
        """Return the number of nodes and the unit."""
        return f"nodes={self.nodes}, unit={self.unit}"

    def facts(self) -> list[tuple[str, object]]:
        """Return the nodes, and what is public about data of any kind."""
        named = [("node set", "taken from the data, not protected")] if self.named_by_edges else []
        return [("nodes", f"{self.nodes:,}"), *named, *super().facts()]

    def assumptions(self) -> tuple[str, ...]:
        """Return what a guarantee takes as public knowledge, in words."""
        words = (
            f"the {self.nodes} nodes, but not who is joined to whom nor how many edges there are"
        )
        if self.named_by_edges:
            words += " (the nodes were taken from the data and declared public by the custodian)"
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
