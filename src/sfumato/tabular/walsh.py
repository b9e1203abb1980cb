"""Walsh–Hadamard coefficients of tables of counts, and the tables they give back.

The codes of a column are written in binary (natural code, padded to a power of two). For a set β of
bits the coefficient f̂_β = Σ_x (−1)^⟨β,x⟩ c(x) is a sum of ±1 over the records, a whole number; the
marginal on some columns is made of the coefficients whose bits lie in these columns. Everything
here is arithmetic: who calls it with private counts adds noise before anything is said.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from math import comb, prod
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["Coefficients", "bits_of", "transform"]

Columns = tuple[int, ...]
Number = TypeVar("Number", np.int64, np.float64)

#: Beyond so many kinds of neighbours the number of changed coefficients is bounded, not counted.
MOST_KINDS = 20_000


def bits_of(size: int) -> int:
    """Return how many bits the codes of a domain need."""
    return (size - 1).bit_length()


def transform(vectors: NDArray[Number]) -> NDArray[Number]:
    """Return the Walsh–Hadamard transform of vectors whose length is a power of two.

    Parameters
    ----------
    vectors
        Array of shape (vectors, 2^bits); integers stay exact. Applied twice it multiplies by
        2^bits.
    """
    count, length = vectors.shape
    done = vectors
    half = 1
    while half < length:
        pairs = done.reshape(count, -1, 2, half)
        done = np.empty_like(pairs)
        np.add(pairs[:, :, 0], pairs[:, :, 1], out=done[:, :, 0])
        np.subtract(pairs[:, :, 0], pairs[:, :, 1], out=done[:, :, 1])
        half *= 2
    return done.reshape(count, length)


@dataclass(frozen=True)
class Coefficients:
    """Which coefficients all marginals of up to `ways` columns are made of, and their order.

    The coefficient of no bits, the number of records, is not among them. The others come by the
    set of columns their bits touch, smaller sets first; within one set by the codes of its columns,
    none of them 0, the last varying fastest.

    Parameters
    ----------
    sizes
        The domain size of each column.
    ways
        How many columns a marginal has at most.
    """

    sizes: tuple[int, ...]
    ways: int

    @cached_property
    def bits(self) -> tuple[int, ...]:
        """How many bits each column needs; a column of one value needs none."""
        return tuple(bits_of(size) for size in self.sizes)

    @property
    def live(self) -> Columns:
        """The columns with more than one value."""
        return tuple(column for column, bits in enumerate(self.bits) if bits)

    @property
    def number_of_sets(self) -> int:
        """How many sets of columns there are, before they are listed."""
        return sum(comb(len(self.live), size) for size in range(1, self.ways + 1))

    @property
    def count(self) -> int:
        """How many coefficients there are, before they are listed."""
        return sum(self._symmetric([2 ** self.bits[column] - 1 for column in self.live])) - 1

    def _symmetric(self, values: Sequence[int]) -> list[int]:
        """Return the elementary symmetric polynomials of degree 0 to `ways`."""
        sums = [1] + [0] * self.ways
        for value in values:
            for degree in range(self.ways, 0, -1):
                sums[degree] += value * sums[degree - 1]
        return sums

    @cached_property
    def most_changed(self) -> int:
        """How many coefficients can change, by 2 each, when one record is replaced by another.

        If the two records differ in the columns Z, the signs (−1)^⟨β,x⟩(−1)^⟨β,y⟩ of the bits of
        one column add up, without β = 0, to −1 in Z and to 2^bits − 1 elsewhere; summed over all β
        they are a symmetric polynomial of these numbers, and (number − sum)/2 coefficients change.
        """
        classes: dict[int, int] = defaultdict(int)
        for column in self.live:
            classes[self.bits[column]] += 1
        if prod(number + 1 for number in classes.values()) > MOST_KINDS:
            return self.count
        least = self.count + 1
        for differing in product(*(range(number + 1) for number in classes.values())):
            values = [
                value
                for (bits, number), apart in zip(classes.items(), differing, strict=True)
                for value in [-1] * apart + [2**bits - 1] * (number - apart)
            ]
            least = min(least, sum(self._symmetric(values)))
        return (self.count + 1 - least) // 2

    @cached_property
    def sets(self) -> tuple[Columns, ...]:
        """The sets of columns that coefficients touch, in their order."""
        sizes = range(1, min(self.ways, len(self.live)) + 1)
        return tuple(columns for size in sizes for columns in combinations(self.live, size))

    @cached_property
    def _places(self) -> dict[Columns, int]:
        """Where the coefficients of each set begin."""
        places, place = {}, 0
        for columns in self.sets:
            places[columns] = place
            place += prod(2 ** self.bits[column] - 1 for column in columns)
        return places

    def of_tables(self, tables: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
        """Return all coefficients, from the table of counts of each of `sets`."""
        found = np.empty(self.count, dtype=np.int64)
        for (sizes, bits), members in self._by_shape(self.sets).items():
            padded = np.zeros((len(members), *(2**b for b in bits)), dtype=np.int64)
            inside = (slice(None), *(slice(size) for size in sizes))
            padded[inside] = np.stack([tables[number] for number in members])
            spectrum = transform(padded.reshape(len(members), -1)).reshape(padded.shape)
            touched = spectrum[(slice(None), *(slice(1, None) for _ in bits))]
            flat = touched.reshape(len(members), -1)
            starts = [self._places[self.sets[number]] for number in members]
            found[np.add.outer(starts, np.arange(flat.shape[1]))] = flat
        return found

    def _by_shape(
        self, sets: Sequence[Columns]
    ) -> dict[tuple[tuple[int, ...], tuple[int, ...]], list[int]]:
        """Return the numbers of sets that have the same sizes, which are computed together."""
        members: dict[tuple[tuple[int, ...], tuple[int, ...]], list[int]] = defaultdict(list)
        for number, columns in enumerate(sets):
            sizes = tuple(self.sizes[column] for column in columns)
            members[sizes, tuple(self.bits[column] for column in columns)].append(number)
        return members

    def tables(
        self, sets: Sequence[Columns], total: float, coefficients: NDArray[np.float64]
    ) -> list[NDArray[np.float64]]:
        """Return the marginals that coefficients give, the padding cut off.

        Parameters
        ----------
        sets
            The columns of each marginal, increasing, at most `ways` of them.
        total
            The coefficient of no bits: the number of records.
        coefficients
            All others, in the order of this class.
        """
        known = np.concatenate([[total], coefficients])
        answers: list[NDArray[np.float64]] = [np.empty(0)] * len(sets)
        for (sizes, bits), members in self._by_shape(sets).items():
            where = self._where([sets[number] for number in members], bits)
            spectrum = known[where.reshape(len(members), -1)]
            cells = transform(spectrum) / 2.0 ** sum(bits)
            padded = cells.reshape(where.shape)
            for number, table in zip(members, padded, strict=True):
                answers[number] = np.array(table[tuple(slice(size) for size in sizes)])
        return answers

    def _where(self, sets: Sequence[Columns], bits: tuple[int, ...]) -> NDArray[np.intp]:
        """Return where the coefficients of marginals of one shape lie, after the total."""
        where = np.zeros((len(sets), *(2**b for b in bits)), dtype=np.intp)
        live = [axis for axis, b in enumerate(bits) if b]
        for size in range(1, len(live) + 1):
            for axes in combinations(live, size):
                starts = [self._places[tuple(columns[axis] for axis in axes)] for columns in sets]
                block = [2 ** bits[axis] - 1 if axis in axes else 1 for axis in range(len(bits))]
                inside = [slice(1, None) if axis in axes else slice(1) for axis in range(len(bits))]
                order = 1 + np.add.outer(starts, np.arange(prod(block)))
                where[(slice(None), *inside)] = order.reshape(len(sets), *block)
        return where
