"""Histogram: one noisy table over chosen columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sfumato.data.table import TablePublic
from sfumato.privacy.parameters import Names, OrNone, parameter
from sfumato.tabular.counting_method import CountingMethod


@dataclass(frozen=True, kw_only=True)
class Histogram(CountingMethod):
    """Release the joint counts of some columns in one table.

    Parameters
    ----------
    epsilon
        Privacy loss for one unit of the table (row or person).
    delta
        If given, noise is Gaussian and the guarantee is (epsilon, delta); otherwise the guarantee
        is pure.
    columns
        The columns of the table. Default: all columns.

    Notes
    -----
    Privacy: a record falls into one cell, so the counts have L1 sensitivity 1 (2 under replace-one)
    and geometric noise of scale 1/ε (2/ε) gives ε-DP (docs/proofs/marginals.md).
    """

    columns: Any = parameter(OrNone(Names()), None)

    def uses(self, public: TablePublic) -> tuple[str, ...] | None:
        """Return the columns to count."""
        return None if self.columns is None else tuple(self.columns)

    def sets(self, public: TablePublic) -> tuple[tuple[int, ...], ...]:
        """Return the columns of the one table, increasing."""
        if self.columns is None:
            return (tuple(range(len(public.columns))),)
        return (tuple(sorted(public.schema.indices(self.columns))),)
