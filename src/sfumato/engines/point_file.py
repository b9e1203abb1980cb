"""Sorting keys that may be more than fit into memory.

Keys are sorted in runs as they come and written to a file; then the runs are cut at the same keys,
and what lies between two cuts is gathered from all of them and sorted in memory. Every file is a
temporary one without a name, gone with its last user. What lies in memory is bounded whatever the
keys are: many equal ones are only counted.
"""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Iterable, Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

__all__ = ["KeyFile", "sorted_keys"]

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

    def mapped(self) -> Keys:
        """Return all keys, mapped into memory; an empty file cannot be mapped."""
        self._file.flush()
        if self.keys == 0:
            return np.zeros(0, dtype=np.uint64)
        # The map keeps the file, though the file object is closed.
        whole = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        return np.frombuffer(whole, dtype=np.uint64)


def sorted_keys(chunks: Iterable[Keys]) -> Keys:
    """Return keys in increasing order, mapped into memory from a file without a name.

    Parameters
    ----------
    chunks
        The keys, some at a time.
    """
    with KeyFile() as file, KeyFile() as whole:
        runs = [_Run(file, run) for run in _runs(chunks)]
        for piece in _merged(runs):
            whole.write(piece)
        return whole.mapped()


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


def _merged(runs: list[_Run]) -> Iterator[Keys]:
    """Yield all keys of sorted runs in increasing order, some at a time."""
    places = [0] * len(runs)
    for cut in _cuts(runs):
        before = [run.below(cut, "left") for run in runs]
        after = [run.below(cut, "right") for run in runs]
        yield _gathered(runs, places, before)
        equal = sum(after) - sum(before)
        for first in range(0, equal, RUN):
            yield np.full(min(RUN, equal - first), cut, dtype=np.uint64)
        places = after
    yield _gathered(runs, places, [len(run) for run in runs])


def _cuts(runs: list[_Run]) -> Keys:
    """Return keys between which there are not many more than one run's number of others."""
    samples = np.sort(np.concatenate([run.samples for run in runs]))
    return np.unique(samples[RUN // SPACING :: max(1, RUN // SPACING)])


def _gathered(runs: list[_Run], first: list[int], last: list[int]) -> Keys:
    """Return a part of every run, sorted together."""
    parts = [run.part(a, b) for run, a, b in zip(runs, first, last, strict=True) if b > a]
    together = np.concatenate([np.zeros(0, dtype=np.uint64), *parts])
    together.sort()
    return together
