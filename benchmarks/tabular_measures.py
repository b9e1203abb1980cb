"""How far synthetic rows or released tables are from the true ones: the measures of the papers.

NOT PRIVATE: everything here looks at the private table. Marginals are counted by the project's own
engine, in a synthetic table with as many rows as the true one, as the papers do; baselines that
release marginals instead of rows are asked for their counts.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sfumato as sf
from sfumato import noise
from sfumato.engines.memory import CodeTable, code_type

Sets = tuple[tuple[int, ...], ...]


@functools.cache
def sets_of(columns: int, ways: int, most: int | None = None) -> Sets:
    """Return all combinations of `ways` of the columns, or a fixed random choice of `most`."""
    every = tuple(combinations(range(columns), ways))
    if most is None or len(every) <= most:
        return every
    chosen = noise.generator(ways).choice(len(every), most, replace=False)
    return tuple(every[index] for index in sorted(chosen))


def drawn(release: Any, rows: int, seed: int | None = None) -> NDArray[np.int64]:
    """Return the codes of synthetic rows, shape (rows, columns)."""
    codes: NDArray[np.int64] = release.model.draw(rows, noise.generator(seed))
    return codes


def counted(codes: NDArray[Any], sizes: Sequence[int]) -> CodeTable:
    """Return an engine that counts in synthetic codes."""
    return CodeTable([codes[:, i].astype(code_type(s)) for i, s in enumerate(sizes)], sizes)


class Truth:
    """A private table whose marginals are counted once.

    Parameters
    ----------
    table
        The table.
    most
        Of more combinations of columns than this, a fixed random choice is used.
    """

    def __init__(self, table: sf.Table, most: int | None = None) -> None:
        self.table = table
        self.most = most
        self.sizes = table.public.sizes
        self.rows = table.counts.rows
        self._shares: dict[int, tuple[NDArray[np.float64], NDArray[np.intp]]] = {}

    def sets(self, ways: int) -> Sets:
        """Return the combinations of `ways` columns that are compared."""
        return sets_of(len(self.sizes), ways, self.most)

    def _flat(self, tables: Sequence[NDArray[Any]]) -> NDArray[np.float64]:
        """Return tables of counts as shares, one behind the other."""
        shares = []
        for table in tables:
            total = table.sum()
            # A released table without any count says nothing: it is read as the uniform one.
            share = table / total if total > 0 else np.full(table.shape, 1 / table.size)
            shares.append(share.ravel())
        return np.concatenate(shares)

    def shares(self, ways: int) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """Return the true marginals one behind the other, and where each begins."""
        if ways not in self._shares:
            tables = self.table.counts.marginals(self.sets(ways))
            ends = np.cumsum([table.size for table in tables])
            starts = np.concatenate([[0], ends[:-1]]).astype(np.intp)
            self._shares[ways] = self._flat(tables), starts
        return self._shares[ways]

    def distances(self, tables: Sequence[NDArray[Any]], ways: int) -> NDArray[np.float64]:
        """Return the total variation distance of every combination of `ways` columns."""
        true, starts = self.shares(ways)
        return 0.5 * np.add.reduceat(np.abs(true - self._flat(tables)), starts)

    def of_codes(self, codes: NDArray[Any], ways: int) -> NDArray[np.float64]:
        """Return the distances of synthetic rows."""
        return self.distances(counted(codes, self.sizes).marginals(self.sets(ways)), ways)

    def of_counts(self, release: Any, ways: int) -> NDArray[np.float64]:
        """Return the distances of a release that is asked for its counts."""
        if getattr(release, "sets", None) == self.sets(ways):
            return self.distances(release.tables, ways)
        names = self.table.public.columns
        wanted = [[names[column] for column in columns] for columns in self.sets(ways)]
        return self.distances([release.counts(columns) for columns in wanted], ways)

    def uniform(self, ways: int) -> float:
        """Return the mean distance of answering with uniform marginals."""
        tables = [np.ones([self.sizes[c] for c in columns]) for columns in self.sets(ways)]
        return float(self.distances(tables, ways).mean())

    def information(self, release: Any) -> float:
        """Return Σ I(child; parents) over a network of one child a part, in the data, in bits."""
        columns = self.table.public.schema.columns
        total = 0.0
        for part in release.network.parts:
            view = self.table.counts.recode(
                [
                    (column, columns[column].coding.levels[level] if level else None)
                    for column, level in zip(part.columns, part.levels, strict=True)
                ]
            )
            if len(part.columns) > 1:
                (table,) = view.marginals([tuple(range(len(part.columns)))])
                total += mutual_information(table.reshape(table.shape[0], -1))
        return total

    def by_overlap(
        self, distances: NDArray[np.float64], release: Any, ways: int
    ) -> dict[int, tuple[int, float]]:
        """Return for each overlap with the network's tables how many marginals, and their error."""
        parts = [set(part.columns) for part in release.network.parts]
        groups: dict[int, list[float]] = defaultdict(list)
        for columns, distance in zip(self.sets(ways), distances, strict=True):
            groups[max(len(part.intersection(columns)) for part in parts)].append(distance)
        return {k: (len(found), float(np.mean(found))) for k, found in sorted(groups.items())}


def mutual_information(table: NDArray[Any]) -> float:
    """Return the mutual information of the two sides of a table of counts, in bits."""
    joint = table / table.sum()
    product = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    there = joint > 0
    return float((joint[there] * np.log2(joint[there] / product[there])).sum())
