"""From edge lists, matrices and other libraries' graphs to two columns of ends.

Nothing here decides what a node is: an end is only read, and named by its row where it cannot be.
What a source is follows from its type and from what is declared, never from its shape or values.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.frames import columns_of, is_relation, names_of
from sfumato.engines.errors import DataError, Problem, without_values
from sfumato.engines.files import DAMAGED, TableFile
from sfumato.engines.reading import series_of

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Ends", "ends_of", "file_ends"]

LEFT, RIGHT = "first node", "second node"


@dataclass(frozen=True)
class Ends:
    """The two ends of every edge as they were given, and the nodes that came along with them.

    Parameters
    ----------
    left, right
        One value for each edge.
    own
        The node set, where the source has one of its own: how many, or their labels.
    lines
        The line of each edge in its file, from 1; `None` where edges are numbered by themselves.
    """

    left: pl.Series
    right: pl.Series
    own: int | tuple[Any, ...] | None = None
    lines: NDArray[np.intp] | None = None

    def row(self, edge: int) -> int:
        """Return where an edge, counted from 0, is found."""
        return edge + 1 if self.lines is None else int(self.lines[edge])


def ends_of(source: Any, *, adjacency: bool = False) -> Ends:
    """Return the ends of the edges of anything that holds a graph.

    Parameters
    ----------
    source
        As for `Graph`.
    adjacency
        Whether it is a matrix with an entry for each two nodes.
    """
    if adjacency:
        return _from_matrix(source)
    module = type(source).__module__.split(".")[0]
    if isinstance(source, str | bytes | Path):
        raise DataError(
            Problem(
                wrong="a graph needs edges; got a path",
                remedy="Read a file with read_graph(path, nodes=…).",
            )
        )
    if module == "igraph":
        return _from_igraph(source)
    if hasattr(source, "nodes") and hasattr(source, "is_multigraph"):
        return _from_networkx(source)
    if hasattr(source, "tocoo"):
        return _from_matrix(source)
    # The class is asked: a lazy frame would begin to work out its columns.
    if is_relation(source) or any(hasattr(type(source), n) for n in ("columns", "column_names")):
        return _from_frame(source)
    return _from_pairs(source)


def _from_networkx(graph: Any) -> Ends:
    pairs = [(left, right) for left, right in graph.edges()]
    return Ends(*_columns(pairs), own=tuple(graph.nodes()))


def _from_igraph(graph: Any) -> Ends:
    import polars as pl

    left, right = map(pl.Series, np.array(graph.get_edgelist(), np.int64).reshape(-1, 2).T)
    if "name" not in graph.vs.attributes():
        return Ends(left, right, own=graph.vcount())
    own = tuple(graph.vs["name"])
    names = series_of(list(own))
    return Ends(names.gather(left), names.gather(right), own=own)


def _from_matrix(matrix: Any) -> Ends:
    """Return the places of the entries that are not 0.

    Each stored entry is one record: it names an edge, or is 0 and names none. No entry is negative,
    so that entries at the same place cannot cancel, whether SciPy adds them up or not.
    """
    import polars as pl

    if hasattr(matrix, "tocoo"):
        entries = matrix.tocoo()
        left, right, weights = entries.row, entries.col, np.asarray(entries.data)
    elif isinstance(matrix, np.ndarray) and matrix.ndim == 2:
        left, right = (ends.ravel() for ends in np.indices(matrix.shape))
        weights = np.asarray(matrix).ravel()
    else:
        raise DataError(
            Problem(
                wrong=(
                    "an adjacency matrix must be a two-dimensional NumPy array or a "
                    "SciPy sparse matrix"
                ),
                remedy="Give such a matrix, or leave adjacency=True out and give a list of edges.",
            )
        )
    if matrix.shape[0] != matrix.shape[1]:
        raise DataError(
            Problem(
                wrong=f"an adjacency matrix must be square; this one is {matrix.shape}",
                remedy="Give a square matrix, or a list of edges.",
            )
        )
    if weights.dtype.kind not in "biuf":
        raise DataError(
            Problem(
                wrong="an adjacency matrix must hold numbers",
                remedy="Give a matrix of 0 and 1, such as (matrix != 0).",
            )
        )
    # NaN is not among the numbers from 0 on either.
    wrong = np.flatnonzero(~(weights >= 0))
    if len(wrong):
        raise DataError(
            Problem(
                row=int(left[wrong[0]]) + 1,
                more=len(wrong) - 1,
                wrong="an entry of the adjacency matrix is negative or not a number",
                remedy="Give a matrix of 0 and 1, such as (matrix != 0).",
            )
        )
    first, second = (np.asarray(end)[weights != 0].astype(np.int64) for end in (left, right))
    return Ends(pl.Series(first), pl.Series(second), own=int(matrix.shape[0]))


def _from_frame(frame: Any) -> Ends:
    names = names_of(frame)
    if len(names) != 2:
        raise DataError(
            Problem(
                wrong="a frame of edges must have two columns, one per end; this one has "
                f"{len(names)}",
                remedy="Select the two columns that hold the nodes.",
            )
        )
    if is_relation(frame):
        from sfumato.engines.duckdb import read_relation

        columns = read_relation(frame, names)
    else:
        columns = columns_of(frame, names)
    return Ends(columns[names[0]], columns[names[1]])


def _from_pairs(source: Any) -> Ends:
    import polars as pl

    if isinstance(source, np.ndarray) and source.dtype.kind in "iu":
        array = source.reshape(-1, 2) if source.size == 0 else source
        if array.ndim == 2 and array.shape[1] == 2:
            left, right = np.ascontiguousarray(array.T)
            return Ends(pl.Series(left), pl.Series(right))
    try:
        pairs = [tuple(pair) for pair in source]
    except TypeError:
        pairs = [()]
    wrong = [number for number, pair in enumerate(pairs, start=1) if len(pair) != 2]
    if wrong:
        raise DataError(
            Problem(
                row=wrong[0],
                more=len(wrong) - 1,
                wrong="an edge must be a pair of nodes",
                remedy="Give an array of shape (edges, 2) or a list of pairs; leave weights out. "
                "For an adjacency matrix set adjacency=True.",
            )
        )
    return Ends(*_columns(pairs))


def _columns(pairs: Sequence[tuple[Any, Any]]) -> tuple[pl.Series, pl.Series]:
    left, right = ([pair[end] for pair in pairs] for end in (0, 1))
    return series_of(left), series_of(right)


def file_ends(path: Path, *, columns: Sequence[str] | None, comment: str, skip_lines: int) -> Ends:
    """Return the ends of the edges of a file.

    Parameters
    ----------
    path
        An edge list: on each line two nodes with blanks, tabs, a comma or a semicolon between
        them, whatever follows not looked at; plain, .gz or .xz. Or, with `columns`, a table.
    columns
        The two columns of a CSV or Parquet file that name the nodes.
    comment
        Lines that begin with this are not looked at.
    skip_lines
        How many lines at the start of an edge list are not looked at either.
    """
    if columns is not None:
        if len(columns) != 2 or isinstance(columns, str):
            raise ValueError(f"columns must be two names, one per end of an edge; got {columns!r}")
        file = TableFile(path)
        missing = [name for name in columns if name not in file.names()]
        if missing:
            raise DataError(
                Problem(
                    field=missing[0],
                    wrong=f"{path.name} has no column with this name",
                    remedy="Give the names of the two columns that hold the ends of the edges.",
                )
            )
        table = file.read(list(columns))
        return Ends(table[columns[0]], table[columns[1]])
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {str(path)!r}")
    return _edge_list(path, comment, skip_lines)


def _edge_list(path: Path, comment: str, skip_lines: int) -> Ends:
    import polars as pl

    def read() -> pl.Series:
        data = _unpack(path)
        if not data.strip():
            return pl.Series([], dtype=pl.String)
        # No line holds the separator or a quote, so that each is one field.
        frame = pl.read_csv(
            io.BytesIO(data),
            has_header=False,
            separator="\x01",
            quote_char=None,
            infer_schema=False,
            truncate_ragged_lines=False,
        )
        return frame.to_series().fill_null("").str.strip_chars()

    failures = (pl.exceptions.PolarsError, *DAMAGED)
    lines = without_values(read, failures, lambda: _unreadable(path))
    skipped = (lines == "") | lines.str.starts_with(comment) if comment else lines == ""
    skipped = skipped | (pl.int_range(len(lines), eager=True) < skip_lines)
    parts = lines.str.extract_groups(r"^([^\s,;]+)[\s,;]+([^\s,;]+)").struct.unnest()
    left, right = (parts.to_series(end) for end in (0, 1))
    wrong = np.flatnonzero((~skipped & left.is_null()).to_numpy())
    if len(wrong):
        raise DataError(
            Problem(
                row=int(wrong[0]) + 1,
                more=len(wrong) - 1,
                wrong=f"a line of {path.name} does not hold two nodes",
                remedy="Write two nodes on each line, with a blank, a tab or a comma between "
                f"them; lines that begin with {comment!r} are skipped. Skip other lines "
                "at the start with skip_lines (--skip-lines).",
            )
        )
    kept = np.flatnonzero((~skipped).to_numpy())
    return Ends(left.filter(~skipped), right.filter(~skipped), lines=kept + 1)


def _unpack(path: Path) -> bytes:
    import gzip
    import lzma

    suffix = path.suffix.lower()
    if suffix == ".gz":
        return gzip.decompress(path.read_bytes())
    return lzma.decompress(path.read_bytes()) if suffix == ".xz" else path.read_bytes()


def _unreadable(path: Path) -> Problem:
    return Problem(
        wrong=f"{path.name} cannot be read as an edge list: it must be text in UTF-8, plain or "
        "packed as .gz or .xz",
        remedy="It may be damaged or of another encoding; write it again.",
    )
