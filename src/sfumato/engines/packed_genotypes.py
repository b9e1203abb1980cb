"""Genotypes in two bits per call, in memory or in a mapped file, read in blocks of sites.

Nobody but a query may look at what is counted here. Memory is bounded: a block of sites at a time
is copied out of a mapped file, whatever the number of sites is.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from sfumato.engines.errors import DataError, Problem
from sfumato.engines.genotype_kernels import (
    CALLS,
    count_calls,
    count_pairs,
    sum_products,
)
from sfumato.engines.recall import Recalling

__all__ = ["NO_GROUP", "CallFile", "PackedGenotypes", "pack_calls"]

Integers64 = NDArray[np.int64]

#: The group of people who are not counted.
NO_GROUP = 255
#: About how many bytes of calls are looked at at a time.
BLOCK = 2**25


@dataclass(frozen=True)
class CallFile:
    """A file of calls that is mapped into memory, as it was when it was opened.

    Parameters
    ----------
    path
        The file.
    size, time
        Its bytes, and when it was last written to.
    """

    path: Path
    size: int
    time: int

    @classmethod
    def of(cls, path: Path) -> CallFile:
        """Return a file as it is now."""
        found = os.stat(path)
        return cls(path, found.st_size, found.st_mtime_ns)

    def require_unchanged(self) -> None:
        """Raise where the file was written to: two answers would be about different data."""
        if CallFile.of(self.path) != self:
            raise DataError(
                Problem(
                    wrong=f"{self.path.name} was changed after it was opened",
                    remedy="Open it again once nothing writes to it.",
                )
            )


def pack_calls(calls: NDArray[np.int8]) -> NDArray[np.uint8]:
    """Return calls 0, 1, 2 and −1, one site per row, in two bits each.

    Parameters
    ----------
    calls
        The copies of the effect allele, of shape (sites, people); −1 where a call is missing.
    """
    sites, people = calls.shape
    codes = np.array([3, 2, 0, 1], dtype=np.uint8)[calls]
    padded = np.zeros((sites, -(-people // 4) * 4), dtype=np.uint8)
    padded[:, :people] = codes
    four = padded.reshape(sites, -1, 4)
    return np.asarray(
        four[:, :, 0] | four[:, :, 1] << 2 | four[:, :, 2] << 4 | four[:, :, 3] << 6, dtype=np.uint8
    )


class PackedGenotypes(Recalling):
    """Calls of two bits, and the group and number of every participant. Private.

    Parameters
    ----------
    packed
        The calls, of shape (rows, bytes), four people in a byte.
    rows
        The row of every site; −1 for a site without calls, which are all missing.
    flipped
        For every site, whether its rows count the other allele.
    groups
        The group of every participant; `NO_GROUP` for those who are not counted.
    group_count
        How many groups there are.
    numbers
        The phenotype of every participant in whole steps, where it is a number.
    codes, sizes
        The covariates of every participant, of shape (covariates, participants), and how many
        codes each covariate has.
    file
        The file that the calls are mapped from, if they are.
    """

    __slots__ = (
        "__weakref__",
        "_codes",
        "_file",
        "_flipped",
        "_groups",
        "_numbers",
        "_packed",
        "_rows",
        "_sizes",
        "group_count",
    )

    def __init__(
        self,
        packed: NDArray[np.uint8],
        rows: Integers64,
        flipped: NDArray[np.bool_],
        groups: NDArray[np.uint8],
        group_count: int,
        *,
        numbers: Integers64 | None = None,
        codes: NDArray[np.uint8] | None = None,
        sizes: Sequence[int] = (),
        file: CallFile | None = None,
    ) -> None:
        super().__init__()
        self._packed = packed
        self._rows = rows
        self._flipped = flipped
        self._groups = groups
        self.group_count = group_count
        self._numbers = numbers
        empty = np.zeros((0, len(groups)), dtype=np.uint8)
        self._codes = empty if codes is None else codes
        self._sizes = tuple(sizes)
        self._file = file

    def __reduce__(self) -> NoReturn:
        raise TypeError("private genotypes cannot be pickled; save a release of them instead")

    def __repr__(self) -> str:
        return f"PackedGenotypes({len(self._rows)} sites)"

    @property
    def sites(self) -> int:
        """How many sites there are."""
        return len(self._rows)

    @property
    def people(self) -> int:
        """How many participants are counted. Private under add/remove."""
        return int((self._groups != NO_GROUP).sum())

    def only(self, sites: Integers64) -> PackedGenotypes:
        """Return the same people with some of the sites."""
        return PackedGenotypes(
            self._packed,
            self._rows[sites],
            self._flipped[sites],
            self._groups,
            self.group_count,
            numbers=self._numbers,
            codes=self._codes,
            sizes=self._sizes,
            file=self._file,
        )

    def blocks_of_bytes(self) -> Iterator[bytes]:
        """Yield everything that is counted, as bytes in a fixed order, for a digest."""
        yield self._groups.tobytes()
        yield self._codes.tobytes()
        if self._numbers is not None:
            yield self._numbers.astype("<i8").tobytes()
        for part, words in self._blocks():
            yield self._flipped[part].tobytes()
            yield words.astype("<u8", copy=False).tobytes()

    def _cells(self, covariates: Sequence[int]) -> tuple[Integers64, int]:
        """Return the cell of every participant, −1 for none, and how many cells there are."""
        cells = self._groups.astype(np.int64)
        many = self.group_count
        for number in covariates:
            cells = cells * self._sizes[number] + self._codes[number]
            many *= self._sizes[number]
        return np.where(self._groups == NO_GROUP, -1, cells), many

    def _masks(self, covariates: Sequence[int]) -> NDArray[np.uint64]:
        """Return the members of every group, or of every combination with covariates."""
        cells, many = self._cells(covariates)
        members = cells == np.arange(many)[:, None]
        padded = np.zeros((many, self._words * 32), dtype=np.uint8)
        padded[:, : members.shape[1]] = members
        # Each member sets the lower of two bits.
        pairs = np.stack([padded, np.zeros_like(padded)], axis=2).reshape(many, -1)
        return np.packbits(pairs, axis=1, bitorder="little").view(np.uint64)

    @property
    def _words(self) -> int:
        return -(-len(self._groups) // 32)

    def _blocks(self, sites: Integers64 | None = None) -> Iterator[tuple[slice, Any]]:
        """Yield the calls of consecutive sites, a block at a time."""
        if self._file is not None:
            self._file.require_unchanged()
        rows = self._rows if sites is None else self._rows[sites]
        width = self._packed.shape[1]
        height = max(1, BLOCK // max(8 * self._words, 1))
        for low in range(0, len(rows), height):
            part = slice(low, min(low + height, len(rows)))
            wanted = rows[part]
            octets = np.zeros((len(wanted), 8 * self._words), dtype=np.uint8)
            steady = wanted[0] >= 0 and (np.diff(wanted) == 1).all()
            if steady:
                octets[:, :width] = self._packed[wanted[0] : wanted[-1] + 1]
            else:
                octets[:, :width] = self._packed[np.maximum(wanted, 0)] if len(self._packed) else 0
                octets[wanted < 0] = 0x55
            yield part, octets.view(np.uint64)
            self._forget()

    def _forget(self) -> None:
        """Let the pages of a mapped file go that were read, where the system can."""
        mapped = getattr(self._packed, "_mmap", None)
        if mapped is not None and hasattr(mmap, "MADV_DONTNEED"):
            mapped.madvise(mmap.MADV_DONTNEED)

    def group_sizes(self, covariates: Sequence[int] = ()) -> Integers64:
        """Return how many participants each cell has: groups first, then covariates."""
        cells, many = self._cells(covariates)
        return np.bincount(cells[cells >= 0], minlength=many).astype(np.int64)

    def calls(self, sites: Integers64 | None = None, covariates: Sequence[int] = ()) -> Integers64:
        """Return how many participants of each cell have each call.

        Parameters
        ----------
        sites
            Which sites; by default all.
        covariates
            The covariates whose values are counted apart.

        Returns
        -------
        counts
            Of shape (sites, cells, 4): 0, 1, 2 copies of the effect allele, and missing.
        """
        masks = self._masks(covariates)
        many = self.sites if sites is None else len(sites)
        counts = np.zeros((many, len(masks), CALLS), dtype=np.int64)
        for part, words in self._blocks(sites):
            count_calls(words, masks, counts[part])
        self._flip(counts, sites)
        return counts

    def pairs(self, pairs: Integers64) -> Integers64:
        """Return how many participants have each pair of calls.

        Parameters
        ----------
        pairs
            The two sites of each pair, of shape (pairs, 2).

        Returns
        -------
        counts
            Of shape (pairs, 4, 4): 0, 1, 2 copies and missing at the first and the second site.
        """
        masks = self._masks(())
        everyone = np.bitwise_or.reduce(masks, axis=0)
        counts = np.zeros((len(pairs), CALLS, CALLS), dtype=np.int64)
        sites, places = np.unique(pairs, return_inverse=True)
        words = np.concatenate([block for _, block in self._blocks(sites)])
        count_pairs(words, places.reshape(-1, 2).astype(np.int64), everyone, counts)
        first, second = self._flipped[pairs[:, 0]], self._flipped[pairs[:, 1]]
        counts[first] = counts[first][:, [2, 1, 0, 3], :]
        counts[second] = counts[second][:, :, [2, 1, 0, 3]]
        return counts

    def sums(self, sites: Integers64 | None = None) -> Integers64:
        """Return the sum of the phenotype over the participants with each call.

        Returns
        -------
        sums
            Of shape (sites, 4): 0, 1, 2 copies of the effect allele, and missing.
        """
        values = np.where(self._groups == NO_GROUP, 0, self.numbers)
        many = self.sites if sites is None else len(sites)
        sums = np.zeros((many, CALLS), dtype=np.int64)
        for part, words in self._blocks(sites):
            sum_products(words, values, sums[part])
        self._flip(sums, sites)
        return sums

    @property
    def numbers(self) -> Integers64:
        """The phenotype of every participant in whole steps. Private."""
        if self._numbers is None:
            raise ValueError("the phenotype is not a number")
        return self._numbers

    def scaled_moments(self, scale: int) -> Integers64:
        """Return scale times the number of participants, Σy and Σ⌊y²/scale⌋ of their phenotypes."""
        own = self.numbers[self._groups != NO_GROUP]
        return np.array([scale * len(own), own.sum(), (own**2 // scale).sum()], dtype=np.int64)

    def _flip(self, counts: Integers64, sites: Integers64 | None) -> None:
        """Exchange no copies and two copies at the sites whose rows count the other allele."""
        flipped = self._flipped if sites is None else self._flipped[sites]
        if flipped.any():
            counts[flipped] = counts[flipped][..., [2, 1, 0, 3]]
