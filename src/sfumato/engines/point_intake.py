"""Taking points in: coordinates put on a public grid, problems collected, contributions bounded.

The same code serves every source, chunk by chunk, so that they cannot disagree about a point. Each
point's place on the grid is a function of that point and of the public bounds alone.
"""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.engines.coding import Encoded, Fault, Reals
from sfumato.engines.intake import Intake, IntakeRules, within_bound
from sfumato.engines.memory_points import MemoryPoints, MortonOrder

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
            Fault("the value is missing", "Fill it in, or remove the row.", _where(found.missing)),
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

    def _note_fault(self, name: str, encoded: Encoded) -> Encoded:
        """Put rows that are left out aside, and remember the faults."""
        for fault in encoded.faults:
            if isinstance(fault, LeftOut):
                self._left_out[fault.rows] = True
        faults = tuple(fault for fault in encoded.faults if not isinstance(fault, LeftOut))
        return super()._note_fault(name, Encoded(encoded.codes, faults))


def take_points(columns: Columns, rules: IntakeRules, morton: MortonOrder) -> TakenPoints:
    """Take in points that are in memory.

    Parameters
    ----------
    columns
        Every needed column, all of the same length.
    rules
        What to take: one coding of the kind `Coordinates` an axis, and how much of one person.
    morton
        How coordinates become keys.
    """
    intake = PointIntake(rules)
    codes, persons = intake.encode(columns)
    intake.finish()
    dropped = intake.dropped
    if persons is not None and rules.max_rows is not None:
        kept = within_bound(persons, rules.max_rows)
        codes = [column[kept] for column in codes]
        dropped += int(len(kept) - kept.sum())
    keys = morton.keys(codes)
    keys.sort()
    return TakenPoints(MemoryPoints.of_keys(keys, morton), dropped)


def stream_points(
    chunks: Iterable[Columns], rules: IntakeRules, morton: MortonOrder, folder: Folder
) -> TakenPoints:
    """Take in points that come chunk by chunk and may be more than fit into memory.

    Parameters
    ----------
    chunks
        Every needed column of the next rows, in file order.
    rules, morton
        As for `take_points`.
    folder
        Where persons are kept until contributions are bounded.
    """
    intake = PointIntake(rules)
    if rules.person is None:
        keys = sort_keys(_morton_keys(chunks, intake, morton))
        return TakenPoints(MemoryPoints.of_keys(keys, morton), intake.dropped)
    return _bound_contributions(chunks, intake, morton, folder)


def _morton_keys(
    chunks: Iterable[Columns], intake: PointIntake, morton: MortonOrder
) -> Iterator[NDArray[np.uint64]]:
    """Yield the keys of each chunk; at the end raise if any value had no place."""
    for columns in chunks:
        codes, _ = intake.encode(columns)
        yield morton.keys(codes)
    intake.finish()


def _bound_contributions(
    chunks: Iterable[Columns], intake: PointIntake, morton: MortonOrder, folder: Folder
) -> TakenPoints:
    """Take in points of persons: whose each is, is kept on disk until all have been seen."""
    from sfumato.engines.duckdb import Bound

    most = intake.rules.max_rows
    assert most is not None
    with KeyFile() as file:
        bound = Bound(folder.path / "persons.duckdb")
        try:
            for columns in chunks:
                codes, persons = intake.encode(columns)
                assert persons is not None
                bound.add(persons, file.keys)
                file.write(morton.keys(codes))
            intake.finish()
            keep = bound.within(most, file.keys)
        finally:
            bound.close()
        keys = sort_keys(file.kept(keep))
    dropped = intake.dropped + int(len(keep) - np.count_nonzero(keep))
    return TakenPoints(MemoryPoints.of_keys(keys, morton), dropped)


# Sorting keys that may be more than fit into memory.
#
# Keys are sorted in runs as they come and written to a file; then the runs are cut at the same
# keys, and what lies between two cuts is gathered from all of them and sorted in memory. Every
# file is a temporary one without a name, gone with its last user. What lies in memory is bounded
# whatever the keys are: many equal ones are only counted.


RUN = 2**22
"""Keys that are sorted at once (32 MiB)."""

SPACING = 2**12
"""Of the keys of a run, each so-manieth is remembered, to cut the runs by."""

Keys = NDArray[np.uint64]


class KeyFile:
    """A temporary file of keys without a name."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="sfumato-")  # noqa: SIM115
        self.keys = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self._file.close()

    def write(self, keys: Keys) -> None:
        """Append keys."""
        self._file.write(keys.data.cast("B") if len(keys) else b"")
        self.keys += len(keys)

    def read(self, first: int, count: int) -> Keys:
        """Return `count` keys from the given place on."""
        self._file.seek(8 * first)
        found: Keys = np.frombuffer(self._file.read(8 * count), dtype=np.uint64)
        return found

    def kept(self, keep: NDArray[np.bool_]) -> Iterator[Keys]:
        """Yield the keys that are to be kept, chunk by chunk."""
        for first in range(0, self.keys, RUN):
            yield self.read(first, RUN)[keep[first : first + RUN]]

    def map_keys(self) -> Keys:
        """Return all keys, mapped into memory; an empty file cannot be mapped."""
        self._file.flush()
        if self.keys == 0:
            return np.zeros(0, dtype=np.uint64)
        # The map keeps the file, though the file object is closed.
        whole = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        return np.frombuffer(whole, dtype=np.uint64)


def sort_keys(chunks: Iterable[Keys]) -> Keys:
    """Return keys in increasing order, mapped into memory from a file without a name.

    Parameters
    ----------
    chunks
        The keys, some at a time.
    """
    with KeyFile() as file, KeyFile() as whole:
        runs = [_Run(file, run) for run in _runs(chunks)]
        for piece in _merge_runs(runs):
            whole.write(piece)
        return whole.map_keys()


def _runs(chunks: Iterable[Keys]) -> Iterator[Keys]:
    """Yield the keys sorted in runs, all but the last of the same length."""
    buffer = np.empty(RUN, dtype=np.uint64)
    filled = 0
    for chunk in chunks:
        rest = chunk
        while len(rest):
            part = rest[: RUN - filled]
            buffer[filled : filled + len(part)] = part
            filled, rest = filled + len(part), rest[len(part) :]
            if filled == RUN:
                buffer.sort()
                yield buffer
                filled = 0
    last = buffer[:filled]
    last.sort()
    yield last


class _Run:
    """A sorted run of keys in a file, and each so-manieth of its keys."""

    def __init__(self, file: KeyFile, keys: Keys) -> None:
        self._file = file
        self._first = file.keys
        self._length = len(keys)
        self.samples = keys[::SPACING].copy()
        file.write(keys)

    def below(self, key: Any, side: Any) -> int:
        """Return how many keys are less than a key (`left`), or not greater (`right`)."""
        block = max(int(np.searchsorted(self.samples, key, side=side)) - 1, 0)
        start = block * SPACING
        keys = self.part(start, min(start + SPACING, self._length))
        return start + int(np.searchsorted(keys, key, side=side))

    def part(self, first: int, last: int) -> Keys:
        """Return the keys from one place to before another."""
        return self._file.read(self._first + first, last - first)

    def __len__(self) -> int:
        return self._length


def _merge_runs(runs: list[_Run]) -> Iterator[Keys]:
    """Yield all keys of sorted runs in increasing order, some at a time."""
    places = [0] * len(runs)
    for cut in _cuts(runs):
        before = [run.below(cut, "left") for run in runs]
        after = [run.below(cut, "right") for run in runs]
        yield _gather_parts(runs, places, before)
        equal = sum(after) - sum(before)
        for first in range(0, equal, RUN):
            yield np.full(min(RUN, equal - first), cut, dtype=np.uint64)
        places = after
    yield _gather_parts(runs, places, [len(run) for run in runs])


def _cuts(runs: list[_Run]) -> Keys:
    """Return keys between which there are not many more than one run's number of others."""
    samples = np.sort(np.concatenate([run.samples for run in runs]))
    return np.unique(samples[RUN // SPACING :: max(1, RUN // SPACING)])


def _gather_parts(runs: list[_Run], first: list[int], last: list[int]) -> Keys:
    """Return a part of every run, sorted together."""
    parts = [run.part(a, b) for run, a, b in zip(runs, first, last, strict=True) if b > a]
    together = np.concatenate([np.zeros(0, dtype=np.uint64), *parts])
    together.sort()
    return together
