"""Four ways to see the columns of a table: as bits, as Gray bits, whole, and in levels.

An encoding is a function of the schema alone. It says which derived columns a synthesiser works
with (for `counts.recode`), how codes drawn for them become codes of the table again, and which
combinations of derived columns no code has. It is public and never sees data.

References
----------
J. Zhang. Algorithms for Synthetic Data Release under Differential Privacy. PhD thesis, Nanyang
Technological University, 2016, section 3.4.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.data.table import TablePublic

__all__ = ["ENCODINGS", "Derived", "Encoding"]

Codes = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Derived:
    """A column derived from one column of the table.

    Parameters
    ----------
    source
        The column of the table.
    level
        The level of the source's taxonomy; 0 is the column as it is declared.
    size
        The number of values.
    recoding
        The value of each code of the source.
    bit
        Which bit of the code it is, 0 the most significant; `None` if it is no bit.
    """

    source: int
    level: int
    size: int
    recoding: Codes
    bit: int | None = None


class Encoding:
    """The derived columns of a table under one encoding.

    Parameters
    ----------
    name
        `"binary"`: each code in bits, most significant first. `"gray"`: the same in Gray code, in
        which neighbouring codes differ in one bit. `"vanilla"`: each column whole.
        `"hierarchical"`: each column at every level of its taxonomy.
    levels
        For each column of the table the group of every code at each level; level 0 is the codes.
    """

    def __init__(self, name: str, levels: Sequence[Sequence[Codes]]) -> None:
        if name not in ENCODINGS:
            raise ValueError(f"encoding must be one of {', '.join(ENCODINGS)}; got {name!r}")
        self.name = name
        self.sources = tuple(len(column[0]) for column in levels)
        derive = ENCODINGS[name]
        self.columns: tuple[Derived, ...] = tuple(
            derived for source, column in enumerate(levels) for derived in derive(source, column)
        )

    @classmethod
    def of(cls, name: str, public: TablePublic) -> Encoding:
        """Return the encoding of the tables that a schema describes."""
        if name == "hierarchical":
            return cls(name, [column.coding.levels for column in public.schema.columns])
        return cls(name, [(np.arange(size, dtype=np.intp),) for size in public.sizes])

    def __repr__(self) -> str:
        return f"Encoding({self.name!r}, sources={self.sources}, sizes={self.sizes})"

    @property
    def bits(self) -> bool:
        """Whether every derived column is a bit."""
        return self.name in ("binary", "gray")

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of values of each derived column."""
        return tuple(column.size for column in self.columns)

    @cached_property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """For each column of the table its derived columns: its bits, or its levels."""
        members: list[list[int]] = [[] for _ in self.sources]
        for number, column in enumerate(self.columns):
            members[column.source].append(number)
        return tuple(map(tuple, members))

    @property
    def level_sizes(self) -> tuple[tuple[int, ...], ...]:
        """For each column of the table the sizes of its levels; of its bits, if it has bits."""
        return tuple(tuple(self.columns[c].size for c in group) for group in self.groups)

    @property
    def recodings(self) -> tuple[tuple[int, Codes | None], ...]:
        """What `counts.recode` takes to count in the derived columns."""
        return tuple(
            (column.source, None if column.level == 0 and column.bit is None else column.recoding)
            for column in self.columns
        )

    def column(self, source: int, level: int = 0) -> int:
        """Return the number of the derived column that is a source at some level.

        With bits, `level` is the number of the bit.
        """
        return self.groups[source][level]

    def encode(self, codes: NDArray[np.integer]) -> NDArray[np.intp]:
        """Return the derived columns of codes of the table, both of shape (rows, columns)."""
        derived = np.empty((len(codes), len(self.columns)), dtype=np.intp)
        for number, column in enumerate(self.columns):
            derived[:, number] = column.recoding[codes[:, column.source]]
        return derived

    def decode(self, derived: NDArray[np.integer]) -> NDArray[np.intp]:
        """Return the codes of the table, given those of the derived columns.

        Parameters
        ----------
        derived
            Array of shape (rows, derived columns). Of a column in levels only level 0 is read.

        Returns
        -------
        codes
            Array of shape (rows, columns of the table). Bits that no code has give a number
            outside the column's domain; see `valid`.
        """
        codes = np.zeros((len(derived), len(self.sources)), dtype=np.intp)
        for source, group in enumerate(self.groups):
            if not self.bits:
                codes[:, source] = derived[:, group[0]]
                continue
            digit = np.zeros(len(derived), dtype=np.intp)
            for number in group:
                # In Gray code a bit says whether the binary digit differs from the one before.
                bit = derived[:, number].astype(np.intp)
                digit = digit ^ bit if self.name == "gray" else bit
                codes[:, source] = 2 * codes[:, source] + digit
        return codes

    def valid(self, derived: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Return which rows of derived columns decode to codes within all domains."""
        within = self.decode(derived) < np.array(self.sources)
        return np.asarray(within.all(axis=1), dtype=np.bool_)

    @property
    def total(self) -> bool:
        """Whether every row of derived columns decodes to codes within all domains."""
        return not self.bits or all(size & (size - 1) == 0 for size in self.sources)

    def possible(self, columns: Sequence[int]) -> NDArray[np.bool_]:
        """Return which cells of a table of derived columns some row of codes falls into.

        Parameters
        ----------
        columns
            The derived columns, in the order of the table's axes.
        """
        cells = np.ones([self.columns[c].size for c in columns], dtype=np.bool_)
        for source in {self.columns[c].source for c in columns}:
            axes = [a for a, c in enumerate(columns) if self.columns[c].source == source]
            there = np.zeros([cells.shape[axis] for axis in axes], dtype=np.bool_)
            there[tuple(self.columns[columns[axis]].recoding for axis in axes)] = True
            others = [axis for axis in range(cells.ndim) if axis not in axes]
            cells &= np.expand_dims(there, tuple(others))
        return cells


def _bits(source: int, codes: Codes, written: Codes) -> list[Derived]:
    """Return the bits of a column, given how each code is written as a number."""
    width = (len(codes) - 1).bit_length()
    return [Derived(source, 0, 2, (written >> (width - 1 - bit)) & 1, bit) for bit in range(width)]


def _binary(source: int, levels: Sequence[Codes]) -> list[Derived]:
    return _bits(source, levels[0], levels[0])


def _gray(source: int, levels: Sequence[Codes]) -> list[Derived]:
    return _bits(source, levels[0], levels[0] ^ (levels[0] >> 1))


def _vanilla(source: int, levels: Sequence[Codes]) -> list[Derived]:
    return _hierarchical(source, levels[:1])


def _hierarchical(source: int, levels: Sequence[Codes]) -> list[Derived]:
    return [
        Derived(source, level, int(groups.max()) + 1, groups) for level, groups in enumerate(levels)
    ]


ENCODINGS: dict[str, Callable[[int, Sequence[Codes]], list[Derived]]] = {
    "binary": _binary,
    "gray": _gray,
    "vanilla": _vanilla,
    "hierarchical": _hierarchical,
}
"""The encodings by name, each the derived columns of one column of the table."""
