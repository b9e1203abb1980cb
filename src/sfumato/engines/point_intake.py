"""Taking points in: coordinates put on a public grid, problems collected, contributions bounded.

The same code serves every source, chunk by chunk, so that they cannot disagree about a point. Each
point's place on the grid is a function of that point and of the public bounds alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.engines.coding import Encoded, Fault, Reals
from sfumato.engines.intake import Intake, Recipe, within_bound
from sfumato.engines.memory_points import MemoryPoints, Weaving

if TYPE_CHECKING:
    import polars as pl

    from sfumato.engines.duckdb import Folder

__all__ = ["Coordinates", "TakenPoints", "stream_points", "take_points"]

Columns = Mapping[str, "pl.Series"]


class LeftOut(Fault):
    """Rows that the public rule for points outside the bounds leaves out."""


@dataclass(frozen=True, kw_only=True)
class Coordinates(Reals):
    """The numbers of one axis on a grid, with a rule for what lies outside the bounds.

    Parameters
    ----------
    low, high
        The declared bounds.
    bits
        How often the axis can be halved; at most 32.
    """

    kind = "coordinate"
    outsides = ("refuse", "drop", "clamp")

    def encode(self, series: pl.Series) -> Encoded:
        """Return the step of every value of an axis, and what has none."""
        found = self._read(series)
        beyond = LeftOut if self.outside == "drop" else Fault
        faults = [
            Fault(
                "the value is missing", "Fill it in, or leave the row out.", _where(found.missing)
            ),
            Fault("the value is not a number", "Correct it.", _where(found.unreadable)),
            beyond(
                f"the value is outside the bounds ({self.allowed})",
                'Correct it, declare wider bounds from public knowledge, or outside = "clamp" or '
                '"drop".',
                _where(found.outside & (self.outside != "clamp")),
            ),
        ]
        return Encoded(found.codes, tuple(fault for fault in faults if len(fault.rows)))


def _where(mask: NDArray[Any]) -> NDArray[np.int64]:
    return np.flatnonzero(mask).astype(np.int64)


@dataclass(frozen=True)
class TakenPoints:
    """Points taken in, and how many were dropped. Both private."""

    points: MemoryPoints
    dropped: int


@dataclass
class PointIntake(Intake):
    """The state of taking points in, over their chunks."""

    dropped: int = 0
    _left_out: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))

    def encode(
        self, columns: Mapping[str, pl.Series]
    ) -> tuple[list[NDArray[Any]], pl.Series | None]:
        """Return the steps of the next points that the public rule lets in, and whose they are."""
        self._left_out = np.zeros(len(next(iter(columns.values()))), dtype=np.bool_)
        codes, persons = super().encode(columns)
        if self._left_out.any():
            inside = ~self._left_out
            codes = [column[inside] for column in codes]
            persons = None if persons is None else persons.filter(inside)
            self.dropped += int(self._left_out.sum())
        return codes, persons

    def _noted(self, name: str, encoded: Encoded) -> Encoded:
        """Put rows that are left out aside, and remember the faults."""
        for fault in encoded.faults:
            if isinstance(fault, LeftOut):
                self._left_out[fault.rows] = True
        faults = tuple(fault for fault in encoded.faults if not isinstance(fault, LeftOut))
        return super()._noted(name, Encoded(encoded.codes, faults))


def take_points(columns: Columns, recipe: Recipe, weaving: Weaving) -> TakenPoints:
    """Take in points that are in memory.

    Parameters
    ----------
    columns
        Every needed column, all of the same length.
    recipe
        What to take: one coding of the kind `Coordinates` an axis, and how much of one person.
    weaving
        How coordinates become keys.
    """
    intake = PointIntake(recipe)
    codes, persons = intake.encode(columns)
    intake.finish()
    dropped = intake.dropped
    if persons is not None and recipe.max_rows is not None:
        kept = within_bound(persons, recipe.max_rows)
        codes = [column[kept] for column in codes]
        dropped += int(len(kept) - kept.sum())
    keys = weaving.keys(codes)
    keys.sort()
    return TakenPoints(MemoryPoints.of_keys(keys, weaving), dropped)


def stream_points(
    chunks: Iterable[Columns], recipe: Recipe, weaving: Weaving, folder: Folder
) -> TakenPoints:
    """Take in points that come chunk by chunk and may be more than fit into memory.

    Parameters
    ----------
    chunks
        Every needed column of the next rows, in file order.
    recipe, weaving
        As for `take_points`.
    folder
        Where persons are kept until contributions are bounded.
    """
    from sfumato.engines.point_file import sorted_keys

    intake = PointIntake(recipe)
    if recipe.person is None:
        keys = sorted_keys(_woven(chunks, intake, weaving))
        return TakenPoints(MemoryPoints.of_keys(keys, weaving), intake.dropped)
    return _bounded(chunks, intake, weaving, folder)


def _woven(
    chunks: Iterable[Columns], intake: PointIntake, weaving: Weaving
) -> Iterator[NDArray[np.uint64]]:
    """Yield the keys of each chunk; at the end raise if any value had no place."""
    for columns in chunks:
        codes, _ = intake.encode(columns)
        yield weaving.keys(codes)
    intake.finish()


def _bounded(
    chunks: Iterable[Columns], intake: PointIntake, weaving: Weaving, folder: Folder
) -> TakenPoints:
    """Take in points of persons: whose each is, is kept on disk until all have been seen."""
    from sfumato.engines.duckdb import Bound
    from sfumato.engines.point_file import KeyFile, sorted_keys

    most = intake.recipe.max_rows
    assert most is not None
    with KeyFile() as file:
        bound = Bound(folder.path / "persons.duckdb")
        try:
            for columns in chunks:
                codes, persons = intake.encode(columns)
                assert persons is not None
                bound.add(persons, file.keys)
                file.write(weaving.keys(codes))
            intake.finish()
            keep = bound.within(most, file.keys)
        finally:
            bound.close()
        keys = sorted_keys(file.kept(keep))
    dropped = intake.dropped + int(len(keep) - np.count_nonzero(keep))
    return TakenPoints(MemoryPoints.of_keys(keys, weaving), dropped)
