"""A release of synthetic rows: a model of the table, made of noisy tables of counts alone.

Everything here is post-processing of what was released. The published rows are drawn with bits
that follow from the transcript, so that anybody can draw them again.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato import noise
from sfumato.data.frames import ToFrame
from sfumato.data.table import TablePublic
from sfumato.engines.coding import Numbers
from sfumato.engines.memory import code_type
from sfumato.privacy.arguments import choose_generator, read_names
from sfumato.privacy.release import Release
from sfumato.sections import Section
from sfumato.tabular.constrained import LegalModel
from sfumato.tabular.dependence import Join, joins
from sfumato.tabular.files import DECIMALS, codebook, csv, free_name, values_of
from sfumato.tabular.found_values import say_found
from sfumato.tabular.model import Model, Network, Part

if TYPE_CHECKING:
    import polars as pl

__all__ = ["NoisyTable", "SyntheticTable"]

#: The most cells of a marginal that is asked for.
MOST_CELLS = 2**25
#: Where no number of rows was declared, no more rows than this are drawn unasked.
MOST_ROWS = 1_000_000
#: More parts than this are not listed in a sentence.
MOST_NAMED = 6
#: What the entries of network.json are, for whoever opens it.
MEANING = (
    "directed: whether each part is a column (the first) given the others, in the order in which "
    "rows are drawn; otherwise each part is a set of columns that the model holds together",
    "total: the number of rows, as far as the release tells",
    "parts: what the model is made of; columns are held together there because they were counted "
    "together, or because the tables that were counted overlap",
    "measured: the tables that were counted, with the standard deviation of the noise on a cell",
    "levels: one for each column; 0 is the column as it is declared, more is a coarser level of "
    "its taxonomy, less is a part of its codes or bins of them",
)


@dataclass(frozen=True)
class NoisyTable:
    """One table of counts that was measured for a synthetic release.

    Parameters
    ----------
    label
        Its name in the transcript.
    columns
        The columns it holds.
    levels
        For each of them the level of its taxonomy; 0 is the column as it is declared. A part of
        a column that is no level, such as one bit of its codes, is negative.
    cells
        How many cells it has.
    deviation
        The standard deviation of the noise on a cell.
    """

    label: str
    columns: tuple[int, ...]
    levels: tuple[int, ...]
    cells: int
    deviation: float

    def margin(self, sizes: tuple[int, ...], wanted: frozenset[int]) -> float | None:
        """Return the 95 % margin of the noise on a count of some of its columns.

        `None` where it does not hold them as they are declared.
        """
        plain = [c for c, level in zip(self.columns, self.levels, strict=True) if level == 0]
        if not wanted <= set(plain):
            return None
        added = self.cells / prod(sizes[column] for column in wanted)
        return 1.959963984540054 * self.deviation * math.sqrt(added)


class SyntheticTable(Release, ToFrame):
    """A model of a table, from which rows are drawn.

    Parameters
    ----------
    public
        What is public about the table.
    model
        A distribution over the codes of its columns.
    total
        The number of rows, as far as the release tells.
    tables
        What was measured, for the reader.
    notes
        Sentences about the model that its method adds, made of public and released facts.
    """

    kind = "synthetic table"

    def __init__(
        self,
        public: TablePublic,
        model: Model,
        total: float,
        tables: Sequence[NoisyTable] = (),
        notes: Sequence[str] = (),
    ) -> None:
        if not math.isfinite(total):
            raise ValueError(f"total must be finite; got {total}")
        if model.sizes != public.sizes:
            raise ValueError(
                f"the model has domain sizes {model.sizes}; the schema has {public.sizes}"
            )
        self.public = public
        self.model = LegalModel(model, public.rules) if public.rules else model
        self.total = max(float(total), 0.0)
        self.tables = tuple(tables)
        self.notes = tuple(notes)

    @property
    def network(self) -> Network:
        """Which columns the model joins."""
        return self.model.network

    @property
    def together(self) -> tuple[Part, ...]:
        """What is kept together: each column with its parents, or columns counted together.

        In a network without directions these are the measured tables of two or more columns, each
        once. The parts of the model may be larger, since tables that overlap are joined in them.
        """
        found = [part for part in self.network.parts if len(set(part.columns)) > 1]
        if not self.network.directed:
            counted = [
                Part(table.columns, table.levels)
                for table in self.tables
                if len(set(table.columns)) > 1
            ]
            found = counted or found
        return tuple(dict.fromkeys(found))

    @property
    def alone(self) -> tuple[int, ...]:
        """The columns that neither the model nor a constraint joins with others."""
        joined = {column for part in self.together for column in part.columns}
        joined |= set(self.public.rules.columns)
        return tuple(number for number in range(len(self.public.columns)) if number not in joined)

    @cached_property
    def joins(self) -> tuple[Join, ...]:
        """The pairs of columns that the model holds together, the most telling first."""
        return joins(self.model)

    @property
    def rows(self) -> int:
        """How many rows are published: the noisy total, within reason.

        With very much noise the total may be absurd, so it is held to a million, or to twice the
        number of rows that was declared where that is more.
        """
        declared = self.public.rows if self.public.rows is not None else self.public.rows_about
        return min(round(self.total), max(MOST_ROWS, 2 * (declared or 0)))

    def counts(self, columns: str | Sequence[str]) -> NDArray[np.float64]:
        """Return the model's counts as an array with one axis a column, in the order asked for."""
        columns = read_names(columns)
        if not columns or len(set(columns)) != len(columns):
            raise ValueError("columns must name one or more columns, each once")
        wanted = self.public.schema.indices(columns)
        cells = prod(self.public.sizes[column] for column in wanted)
        if cells > MOST_CELLS:
            raise ValueError(
                f"these columns have {cells:,} combinations of values; at most {MOST_CELLS:,} are "
                "allowed; name fewer columns"
            )
        return self.total * self.model.marginal(wanted)

    def margin(self, columns: str | Sequence[str]) -> float | None:
        """Return the 95 % margin of the noise on a count, `None` where none was measured.

        19 times in 20 the noise that was added to the count, in the measured table that tells it
        best, is no larger. It says nothing about where the model is too simple.
        """
        wanted = frozenset(self.public.schema.indices(read_names(columns)))
        margins = [table.margin(self.public.sizes, wanted) for table in self.tables]
        return min((size for size in margins if size is not None), default=None)

    def marginal(self, columns: str | Sequence[str], *, backend: str = "polars") -> Any:
        """Return the model's counts for a combination of columns as a frame.

        Parameters
        ----------
        columns
            One or more columns.
        backend
            `"polars"`, `"pandas"` or `"pyarrow"`.

        Returns
        -------
        frame
            The columns' values; `count`, the probability in the model times the total; and
            `margin`, as `margin()` says, missing where the combination was not measured. Where a
            column is called so itself, they are `count_` and `margin_`.
        """
        import polars as pl

        from sfumato.data.frames import to_backend

        columns = read_names(columns)
        counts = self.counts(columns)
        size = self.margin(columns)
        shown = None if size is None else round(size, DECIMALS)
        taken = set(columns)
        margins = pl.Series(free_name("margin", taken), [shown], pl.Float64)
        frame = pl.DataFrame(
            [
                *values_of(self.public, columns, counts.shape),
                pl.Series(free_name("count", taken), np.round(counts.ravel(), DECIMALS)),
                margins.extend_constant(shown, counts.size - 1),
            ]
        )
        return to_backend(frame, backend)

    def sample(
        self,
        rows: int | None = None,
        *,
        seed: int | None = None,
        generator: np.random.Generator | None = None,
        backend: str = "polars",
    ) -> Any:
        """Return synthetic rows in the custodian's own columns and types.

        Parameters
        ----------
        rows
            How many; by default as many as are published.
        seed
            A whole number, for rows that can be drawn again; fresh otherwise.
        generator
            A NumPy generator in place of a seed.
        backend
            `"polars"`, `"pandas"` or `"pyarrow"`.

        Notes
        -----
        Privacy: post-processing of the release; it costs nothing, however often it is done.
        """
        if rows is None:
            rows = self.rows
        if rows < 0:
            raise ValueError(f"rows must not be negative; got {rows}")
        generator = choose_generator(seed, generator)
        return self.public.frame(self.model.draw(rows, generator), generator, backend)

    @cached_property
    def _published(self) -> tuple[NDArray[np.unsignedinteger[Any]], pl.DataFrame]:
        """The published rows, as codes and as they are written."""
        seed = int.from_bytes(bytes.fromhex(self.transcript.digest())[:16], "big")
        generator = noise.generator(seed)
        codes = self.model.draw(self.rows, generator)
        narrow = codes.astype(code_type(max(self.public.sizes)))
        return narrow, self.public.frame(codes, generator)

    @property
    def published(self) -> pl.DataFrame:
        """The rows of synthetic.csv, drawn with bits that follow from the transcript."""
        return self._published[1]

    def to_polars(self) -> pl.DataFrame:
        """Return the rows of synthetic.csv as a Polars frame; `sample` draws others."""
        return self.published

    @property
    def published_codes(self) -> NDArray[np.unsignedinteger[Any]]:
        """The codes of the published rows, shape (rows, columns)."""
        return self._published[0]

    @cached_property
    def _files(self) -> dict[str, bytes]:
        return {
            "synthetic.csv": csv(self.published),
            "codebook.csv": codebook(self.public),
            "network.json": _lines(self._network_document()),
        }

    def files(self) -> dict[str, bytes]:
        """Return synthetic rows as CSV, a codebook of the columns, and what the model joins."""
        return dict(self._files)

    def _network_document(self) -> dict[str, Any]:
        """Return the network and the measured tables as a plain document."""
        names = self.public.columns
        return {
            "meaning": list(MEANING),
            "directed": self.network.directed,
            "total": round(self.total, DECIMALS),
            "parts": [
                {"columns": [names[column] for column in part.columns], "levels": list(part.levels)}
                for part in self.network.parts
            ],
            "measured": [
                {
                    "table": table.label,
                    "columns": [names[column] for column in table.columns],
                    "levels": list(table.levels),
                    "cells": table.cells,
                    "standard_deviation": float(f"{table.deviation:.6g}"),
                }
                for table in self.tables
            ],
        }

    def words(self) -> str:
        """Return what this release is, in a few plain sentences."""
        names = self.public.columns
        sentences = [
            f"A synthetic table: {self.rows:,} rows with {len(names)} "
            f"column{'s' * (len(names) != 1)}, for a table of about {self.total:,.0f} rows.",
            "The rows are sampled from a model that was fitted to noisy counts only, so that no "
            f"one {self.public.unit} changes it by much.",
        ]
        if self.tables:
            sentences.append(self._measured_words())
        sentences += [self._dependence_words(), self._limit_words()]
        sentences.extend([*self.notes, *say_found(self.discovered)])
        return " ".join(sentences)

    def _measured_words(self) -> str:
        """Say how much was counted, and how noisy the counts are."""
        cells = sum(table.cells for table in self.tables)
        low = min(table.deviation for table in self.tables)
        high = max(table.deviation for table in self.tables)
        spread = f"{low:.4g}" if f"{low:.4g}" == f"{high:.4g}" else f"{low:.4g} to {high:.4g}"
        number = len(self.tables)
        return (
            f"{number} table{'s' * (number != 1)} ({cells:,} cells in total) "
            f"{'was' if number == 1 else 'were'} measured; the noise on a cell has a standard "
            f"deviation of {spread} rows."
        )

    def _dependence_words(self) -> str:
        """Say which columns depend on each other in the model, and which on none."""
        joined, directed = self.together, self.network.directed
        if not joined:
            return "In the model no column depends on another."
        listed = [
            part_words(self.public, part.columns, part.levels, directed=directed)
            for part in joined[:MOST_NAMED]
        ]
        more = len(joined) - len(listed)
        groups = "1 more such group" if more == 1 else f"{more} more such groups"
        tail = f", and {groups} (network.json lists all)" if more else ""
        what = "Columns depend on others as follows" if directed else "Modelled jointly"
        return (
            f"{what}: {'; '.join(listed)}{tail}. {self._alone_words()}Any other association in "
            "the data is kept only as far as these explain it."
        )

    def _alone_words(self) -> str:
        """Name the columns that go with no other; nothing where there are none."""
        names = [self.public.columns[column] for column in self.alone]
        if not names:
            return ""
        if len(names) == 1:
            return (
                f"{names[0]} is outside the model: in these rows it is independent of all "
                "other columns. "
            )
        if len(names) > MOST_NAMED:
            more = len(names) - MOST_NAMED
            names = [*names[:MOST_NAMED], f"{more} more column{'s' * (more != 1)}"]
        listed = f"{', '.join(names[:-1])} and {names[-1]}"
        return (
            f"{listed} are outside the model: in these rows they are independent of all other "
            "columns. "
        )

    def _limit_words(self) -> str:
        """Say what rows of a model are not: true to single values or to impossible ones."""
        binned = {
            "dates" if column.coding.kind == "date" else "numbers"
            for column in self.public.schema.columns
            # Numbers and dates may have a code each.
            if isinstance(column.coding, Numbers)
            or getattr(column.coding, "bins", None) is not None
        }
        spread = " and ".join(sorted(binned, reverse=True))
        unreal = "These rows may contain combinations of values that are impossible in reality."
        if self.public.schema.constraints:
            listed = "; ".join(one.words() for one in self.public.schema.constraints)
            unreal = (
                f"All rows satisfy the declared constraints: {listed}. Other combinations of "
                "values may be impossible in reality."
            )
        if not spread:
            return unreal
        return f"{spread.capitalize()} are spread evenly within their bins. {unreal}"

    def summary(self) -> dict[str, Any]:
        """Return the total, the rows and the network of the model, for programs."""
        names = self.public.columns
        parts = [[names[column] for column in part.columns] for part in self.network.parts]
        network = {"directed": self.network.directed, "parts": parts}
        return {"total": round(self.total, 3), "rows": self.rows, "network": network}

    def sections(self) -> tuple[Section, ...]:
        """Return what its page shows."""
        from sfumato.tabular.pages import synthetic_sections

        return synthetic_sections(self)

    def plot(self, what: str = "network") -> Any:
        """Return a figure of the release.

        Parameters
        ----------
        what
            `"network"`: the columns the model joins; `"columns"`: the counts of each column.
        """
        from sfumato.tabular.pictures import network_picture, one_way_picture

        if what == "network":
            return network_picture(self)
        if what == "columns":
            return one_way_picture(self, range(len(self.public.columns)))
        raise ValueError(f"what must be 'network' or 'columns'; got {what!r}")


def part_words(
    public: TablePublic,
    columns: Sequence[int],
    levels: Sequence[int],
    *,
    directed: bool = False,
) -> str:
    """Return a part of a model in words: columns together, or the first given the others."""
    named = [
        public.columns[column] + (f" (level {level})" if level > 0 else "")
        for column, level in zip(columns, levels, strict=True)
    ]
    named = list(dict.fromkeys(named))
    if len(named) > MOST_NAMED:
        named = [*named[:MOST_NAMED], f"{len(named) - MOST_NAMED} more columns"]
    if not directed or len(named) == 1:
        return " × ".join(named)
    return f"{named[0]} given {', '.join(named[1:])}"


def _lines(document: dict[str, Any]) -> bytes:
    """Return a document as JSON with one line a fact, and one an element of a list."""
    lines = []
    for name, value in document.items():
        if isinstance(value, list) and value:
            items = ",\n    ".join(json.dumps(item, ensure_ascii=False) for item in value)
            lines.append(f"  {json.dumps(name)}: [\n    {items}\n  ]")
        else:
            lines.append(f"  {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}")
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode()
