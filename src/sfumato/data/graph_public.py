"""What is public about a graph: its nodes. Its edges, and how many there are, are private."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.public import Public
from sfumato.engines.coding import Generator
from sfumato.engines.memory_graph import MemoryGraph
from sfumato.engines.reading import EXACT, UNREADABLE, series_of
from sfumato.noise.exact import briefly
from sfumato.privacy.guarantee import Relation, Unit
from sfumato.privacy.parameters import Flag

if TYPE_CHECKING:
    import polars as pl

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
            raise ValueError("the unit of a graph is one edge; a person with d edges is d units")
        if self.relation is not Relation.ADD_REMOVE:
            raise ValueError("the relation of a graph is add_remove: one edge is added or removed")
        Flag()("named_by_edges", self.named_by_edges)
        if type(self.nodes) is not int or not 0 <= self.nodes <= MOST_NODES:
            raise ValueError(
                f"a graph must have 0 to {MOST_NODES} nodes; got {briefly(self.nodes)}"
            )
        if not isinstance(self.labels, tuple | None):
            raise ValueError(f"labels must be a tuple, or None; got {briefly(self.labels)}")
        if self.labels is not None and len(self.labels) != self.nodes:
            raise ValueError(f"{self.nodes} nodes need as many labels; got {len(self.labels)}")
        if self.labels is not None:
            # An order of another kind could be that in which edges name the nodes.
            check_labels(self.labels)

    @classmethod
    def example(cls, relation: Relation | None, max_rows: int | None) -> GraphPublic:
        """Return five nodes; an edge is added or removed, whatever else is asked for."""
        if relation is Relation.REPLACE_ONE or max_rows is not None:
            raise ValueError(
                "the relation of a graph is fixed (one edge added or removed); leave relation "
                "and max_rows out"
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
        return f"nodes={self.nodes}, unit='{self.unit}'"

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

    def make_synthetic(self, rows: int, generator: Generator) -> Graph:
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


# The names of nodes: how one value is read as a name, and in which order names are published.
#
# A name is a whole number or a text. Which of them a value is depends on that value alone: on no
# other name, on no other edge, and not on the type that a column came to have because of another
# edge. The published order is a function of the set of names.


Labels = tuple[int | str, ...]
Mask = NDArray[np.bool_]

#: How a whole number of at most 64 bits is written; the decimals are those of a column of doubles.
_WHOLE = r"^(-?(?:0|[1-9][0-9]{0,18}))(?:\.0+)?$"


@dataclass(frozen=True)
class Names:
    """A column read as names of nodes.

    Parameters
    ----------
    wholes
        The names that are whole numbers, 0 elsewhere.
    whole
        Where they are.
    texts
        The names that are texts, null elsewhere. What is neither names no node.
    """

    wholes: NDArray[np.int64]
    whole: Mask
    texts: pl.Series

    @classmethod
    def read(cls, series: pl.Series) -> Names:
        """Read a column of any type.

        A text loses the blanks around it. `7`, `-7` and `7.0` are whole numbers; `007`, `+7` and
        what has more than 64 bits are texts. A double is a whole number below 2**53 if it is one,
        and names no node beyond; any other double is the text Python writes for it. Times, truth
        values and lists name no node.
        """
        import polars as pl

        kind = series.dtype
        if kind in (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32):
            wholes = series.cast(pl.Int64)
            return cls._of(wholes, pl.repeat(None, len(series), dtype=pl.String, eager=True))
        if kind.is_float():
            return cls._of(*_from_floats(series.cast(pl.Float64)))
        return cls._of(*_from_text(_as_text(series)))

    @classmethod
    def _of(cls, wholes: pl.Series, texts: pl.Series) -> Names:
        whole = np.asarray(wholes.is_not_null().to_numpy(), dtype=np.bool_)
        return cls(wholes.fill_null(0).to_numpy().astype(np.int64), whole, texts)

    @property
    def none(self) -> Mask:
        """Where there is no name."""
        return ~self.whole & np.asarray(self.texts.is_null().to_numpy(), dtype=np.bool_)


def _from_floats(series: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Return the whole numbers among doubles, and the others as Python writes them."""
    import polars as pl

    near = series.is_finite() & (series.abs() < EXACT)
    whole = (near & (series == series.floor())).fill_null(False)
    broken = (near & ~whole).fill_null(False)
    wholes = pl.select(pl.when(whole).then(series)).to_series().cast(pl.Int64)
    texts = pl.repeat(None, len(series), dtype=pl.String, eager=True)
    if broken.any():
        written = series_of(series.filter(broken).to_list()).str.strip_chars()
        texts = texts.scatter(broken.arg_true(), written)
    return wholes, texts


def _from_text(series: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Return the whole numbers among texts, and the other names."""
    import polars as pl

    text = series.str.strip_chars()
    wholes = text.str.extract(_WHOLE, 1).cast(pl.Int64, strict=False)
    named = wholes.is_null() & (text != "") & (text != UNREADABLE)
    return wholes, pl.select(pl.when(named.fill_null(False)).then(text)).to_series()


def _as_text(series: pl.Series) -> pl.Series:
    """Return a column that holds neither small whole numbers nor doubles as text."""
    import polars as pl

    kind = series.dtype
    if kind == pl.String:
        return series
    if kind == pl.Binary:
        return series_of(series.to_list())
    if isinstance(kind, pl.Decimal):
        # All of a column have as many decimals as the one that has most.
        text = series.cast(pl.String)
        return text.str.replace(r"(\.[0-9]*?)0+$", "$1").str.replace(r"\.$", "")
    if kind in (pl.Categorical, pl.Enum) or kind.is_numeric():
        return series.cast(pl.String)
    return pl.repeat(None, len(series), dtype=pl.String, eager=True)


def labels_of(names: Iterable[Any]) -> Labels:
    """Return declared names in order: whole numbers first, then texts by their characters.

    Raises
    ------
    ValueError
        If one is no name, or two are the same.
    """
    plain = [name.item() if hasattr(name, "item") else name for name in names]
    if not all(isinstance(name, str | int) and not isinstance(name, bool) for name in plain):
        raise ValueError("names of nodes must be text or whole numbers")
    found = Names.read(series_of(plain))
    if found.none.any():
        raise ValueError(
            "the name of a node must be text that is not empty and that UTF-8 can hold"
        )
    labels = labels_in(found)
    if len(labels) != len(plain):
        raise ValueError(
            "every node must be listed once; 7, '7' and '7.0' are the same name, and blanks "
            "around a name are ignored"
        )
    return labels


def labels_in(*columns: Names) -> Labels:
    """Return all names that occur in some columns, in order."""
    import polars as pl

    wholes = np.unique(np.concatenate([names.wholes[names.whole] for names in columns]))
    # Sorted by bytes of UTF-8, which is the order of the characters.
    texts = pl.concat([names.texts for names in columns]).drop_nulls().unique().sort()
    return (*wholes.tolist(), *texts.to_list())


def _split(labels: Labels) -> tuple[Labels, Labels]:
    """Return ordered labels in two parts: those before the first text, and the others."""
    first = next((at for at, name in enumerate(labels) if isinstance(name, str)), len(labels))
    return labels[:first], labels[first:]


def check_labels(labels: Labels) -> None:
    """Raise `ValueError` unless names are what `labels_of` returns."""
    import polars as pl

    wholes, texts = _split(labels)
    right = all(type(name) is int and -(2**63) <= name < 2**63 for name in wholes)
    right = right and all(isinstance(name, str) for name in texts)
    if right:
        series = pl.Series(texts, dtype=pl.String)
        read = Names.read(series)
        right = not (read.whole | read.none).any() and bool((read.texts == series).all())
        ordered = np.array(wholes, dtype=np.int64)
        right = right and bool((ordered[1:] > ordered[:-1]).all())
        right = right and series.is_sorted() and series.n_unique() == len(series)
    if not right:
        raise ValueError(
            "labels must be sorted and distinct: whole numbers first, then texts by their "
            "characters"
        )


def places_of(names: Names, labels: Labels) -> tuple[NDArray[np.int64], Mask]:
    """Return the place of each name among ordered labels, and whether it is among them."""
    import polars as pl

    numbers, texts = _split(labels)
    first = len(numbers)
    places = np.zeros(len(names.whole), dtype=np.int64)
    known = np.zeros(len(names.whole), dtype=np.bool_)
    if numbers:
        wholes = np.array(numbers, dtype=np.int64)
        places = np.minimum(np.searchsorted(wholes, names.wholes), first - 1)
        known = names.whole & (wholes[places] == names.wholes)
    if texts:
        codes = names.texts.replace_strict(
            list(texts), list(range(first, len(labels))), default=None, return_dtype=pl.Int64
        )
        found = np.asarray(codes.is_not_null().to_numpy(), dtype=np.bool_)
        places = np.where(found, codes.fill_null(0).to_numpy(), places)
        known = known | found
    return places.astype(np.int64), known
