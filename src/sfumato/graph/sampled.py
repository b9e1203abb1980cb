"""A graph that was drawn from a release: public, and handed to whatever library is at hand.

Nothing here has seen a private edge, so everything may be looked at, saved and passed on.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.frames import ToFrame
from sfumato.data.graph_public import Labels
from sfumato.engines.errors import importing
from sfumato.engines.memory_graph import MemoryGraph

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Pairs", "SampledGraph", "check_pairs"]

Pairs = NDArray[np.int64]
"""Edges: int64 of shape (edges, 2), the smaller node first, sorted, each once."""

#: What a file may be called.
SUFFIXES = (".csv", ".txt", ".tsv", ".parquet", ".graphml")


@dataclass(frozen=True, eq=False)
class SampledGraph(ToFrame):
    """A synthetic graph.

    Parameters
    ----------
    nodes
        How many nodes it has, 0, 1, 2, …
    pairs
        Its edges: two nodes a row, the smaller first, sorted, each once.
    labels
        What the nodes are called, where the release tells which of them is which; `None` where
        they stand for nobody.
    """

    nodes: int
    pairs: Pairs
    labels: Labels | None = None

    def __post_init__(self) -> None:
        pairs = check_pairs(self.pairs, self.nodes)
        pairs.flags.writeable = False
        object.__setattr__(self, "pairs", pairs)
        if self.labels is not None and len(self.labels) != self.nodes:
            raise ValueError(f"{self.nodes} nodes need {self.nodes} labels; got {len(self.labels)}")

    def __repr__(self) -> str:
        return f"SampledGraph(nodes={self.nodes}, edges={self.edges})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SampledGraph):
            return NotImplemented
        return (
            self.nodes == other.nodes
            and self.labels == other.labels
            and np.array_equal(self.pairs, other.pairs)
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def edges(self) -> int:
        """How many edges it has."""
        return len(self.pairs)

    @property
    def degrees(self) -> NDArray[np.int64]:
        """How many edges each node has."""
        return np.bincount(self.pairs.ravel(), minlength=self.nodes).astype(np.int64)

    @property
    def counts(self) -> MemoryGraph:
        """The engine that counts triangles and other subgraphs in it."""
        return MemoryGraph(self.pairs, nodes=self.nodes)

    @property
    def names(self) -> Labels:
        """What the nodes are called; their numbers where they have no labels."""
        return tuple(range(self.nodes)) if self.labels is None else self.labels

    def to_networkx(self) -> Any:
        """Return it as a NetworkX graph, all nodes in it."""
        networkx = _library("networkx", "NetworkX")
        graph = networkx.Graph()
        names = self.names
        graph.add_nodes_from(names)
        graph.add_edges_from((names[low], names[high]) for low, high in self.pairs.tolist())
        return graph

    def to_igraph(self) -> Any:
        """Return it as an igraph graph; labels become the vertex attribute `name`."""
        igraph = _library("igraph", "igraph")
        graph = igraph.Graph(n=self.nodes, edges=self.pairs.tolist(), directed=False)
        if self.labels is not None:
            graph.vs["name"] = [str(label) for label in self.labels]
        return graph

    def to_scipy(self) -> Any:
        """Return the symmetric 0/1 matrix in compressed sparse rows."""
        return self.counts.adjacency

    def to_frame(self, backend: str = "polars") -> Any:
        """Return the edges as a frame with the columns `source` and `target`.

        Parameters
        ----------
        backend
            `"polars"`, `"pandas"` or `"pyarrow"`.
        """
        from sfumato.data.frames import to_backend

        return to_backend(self.to_polars(), backend)

    def to_polars(self) -> pl.DataFrame:
        """Return the edges as a Polars frame."""
        import polars as pl

        columns: dict[str, Any] = dict(zip(("source", "target"), self.pairs.T, strict=True))
        if self.labels is None:
            return pl.DataFrame(columns)
        whole = all(isinstance(label, int) for label in self.labels)
        names = pl.Series(self.labels if whole else list(map(str, self.labels)))
        return pl.DataFrame([names.gather(ends).alias(name) for name, ends in columns.items()])

    def csv(self) -> bytes:
        """Return the edges as CSV."""
        buffer = io.BytesIO()
        self.to_polars().write_csv(buffer)
        return buffer.getvalue()

    def write(self, path: str | Path) -> Path:
        """Write the edges to a file.

        Parameters
        ----------
        path
            What it is called says what it is: `.csv` and `.parquet` have the columns `source` and
            `target`; `.txt` and `.tsv` have two nodes a line with a tab between them, as edge
            lists in archives do; `.graphml` needs NetworkX. Nodes without an edge are in `.graphml`
            alone.
        """
        place = Path(path)
        match place.suffix:
            case ".csv":
                place.write_bytes(self.csv())
            case ".txt" | ".tsv":
                self.to_polars().write_csv(place, separator="\t", include_header=False)
            case ".parquet":
                self.to_polars().write_parquet(place)
            case ".graphml":
                _library("networkx", "NetworkX").write_graphml(self.to_networkx(), place)
            case other:
                raise ValueError(
                    f"the file name of a graph must end in {', '.join(SUFFIXES)}; got {other!r}"
                )
        return place


def check_pairs(pairs: Any, nodes: int) -> Pairs:
    """Return the edges of a simple graph in order, or say what is wrong with them.

    Parameters
    ----------
    pairs
        Two nodes a row, in any order.
    nodes
        How many nodes there are.
    """
    ends = np.asarray(pairs)
    if ends.size == 0:
        return np.zeros((0, 2), dtype=np.int64)
    if ends.ndim != 2 or ends.shape[1] != 2 or ends.dtype.kind not in "iu":
        raise ValueError("edges must be whole numbers of shape (edges, 2)")
    if int(ends.min()) < 0 or int(ends.max()) >= nodes:
        raise ValueError(f"nodes are numbered 0 to {nodes - 1}; an edge has another number")
    keys = ends.min(axis=1).astype(np.int64) * nodes + ends.max(axis=1)
    if (np.diff(keys) <= 0).any():
        keys = np.sort(keys)
    if (np.diff(keys) == 0).any() or (ends[:, 0] == ends[:, 1]).any():
        raise ValueError("edges must be distinct, and none may join a node to itself")
    return np.stack([keys // nodes, keys % nodes], axis=1)


def _library(module: str, name: str) -> Any:
    """Return an optional library, or say how to install it."""
    with importing(name, "graphs"):
        return import_module(module)
