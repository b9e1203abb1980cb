"""Marginals: noisy counts for a set of combinations of columns."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any

from sfumato.data.table import TablePublic
from sfumato.privacy.parameters import NameSets, OrNone, Whole, parameter
from sfumato.tabular.counting_method import CountingMethod

#: More tables than this are neither useful nor finished today.
MOST_TABLES = 20_000


@dataclass(frozen=True, kw_only=True)
class Marginals(CountingMethod):
    """Release consistent k-way tables of counts.

    Parameters
    ----------
    epsilon
        Privacy loss for one unit of the table (row or person).
    delta
        If given, noise is Gaussian and the guarantee is (epsilon, delta); otherwise the guarantee
        is pure.
    repair
        How negative counts are removed. `"consistent"`: by non-negative tables that agree with each
        other. `"clip"`: each table is clipped and rescaled separately, the Laplace baseline of the
        literature.
    tables
        The combinations of columns to release, such as `[("age", "sex"), ("income",)]`. Default:
        all combinations of `ways` columns.
    ways
        Number of columns per table if `tables` is not given.

    Notes
    -----
    Privacy: a record falls into one cell of each of m tables, and each table gets 1/m of the
    budget: geometric noise of scale m/ε per cell, or discrete Gaussian noise of variance m/2ρ
    (docs/proofs/marginals.md).
    """

    tables: Any = parameter(OrNone(NameSets()), None)
    ways: int = parameter(Whole(1), 2)

    def uses(self, public: TablePublic) -> tuple[str, ...] | None:
        """Return the columns of all tables."""
        if self.tables is None:
            return None
        return tuple(dict.fromkeys(name for names in self.tables for name in names))

    def sets(self, public: TablePublic) -> tuple[tuple[int, ...], ...]:
        """Return the columns of each table, increasing."""
        if self.tables is not None:
            return tuple(tuple(sorted(public.schema.indices(names))) for names in self.tables)
        columns = range(len(public.columns))
        size = min(self.ways, len(columns))
        if comb(len(columns), size) > MOST_TABLES:
            raise ValueError(
                f"ways = {self.ways} of {len(columns)} columns gives {comb(len(columns), size):,} "
                f"tables; at most {MOST_TABLES:,} are allowed; name the ones you need in `tables`"
            )
        return tuple(combinations(columns, size))
