"""The values of a column that an attack tells apart: its own, or a few groups of very many.

Values are declared by the schema: which there are is public.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sfumato.data.table import TablePublic
from sfumato.engines.coding import MISSING, OTHER, Booleans, Categories, Coding, Numbers, Reals

__all__ = ["Values"]

Places = NDArray[np.intp]


@dataclass(frozen=True)
class Values:
    """The values of one column, very many of them in groups of neighbours.

    Parameters
    ----------
    column
        The number of the column in the schema.
    groups
        Which value each code counts as.
    middles
        The code that stands for each value.
    labels
        What each value is called.
    """

    column: int
    groups: Places
    middles: Places
    labels: tuple[str, ...]

    @property
    def size(self) -> int:
        """How many values there are."""
        return len(self.labels)

    @property
    def cut(self) -> bool:
        """Whether neighbours were put together."""
        return self.size < len(self.groups)

    @classmethod
    def of(cls, public: TablePublic, column: int, most: int) -> Values:
        """Return the values of a column.

        Parameters
        ----------
        public
            What is public about the table.
        column
            The number of the column.
        most
            Of more ordered values than this, neighbours are put together into so many groups.
        """
        coding = public.schema.columns[column].coding
        if coding.proper <= most or isinstance(coding, Booleans | Categories):
            every = np.arange(coding.size, dtype=np.intp)
            return cls(column, every, every, coding.labels)
        # Group g begins at code ⌈g·proper/most⌉.
        proper = (np.arange(coding.proper, dtype=np.int64) * most // coding.proper).astype(np.intp)
        firsts = np.searchsorted(proper, np.arange(most + 1))
        extra = np.arange(coding.proper, coding.size, dtype=np.intp)
        groups = np.concatenate([proper, most + extra - coding.proper])
        middles = np.concatenate([(firsts[:-1] + firsts[1:] - 1) // 2, extra])
        labels = [_label(coding, a, b - 1) for a, b in pairwise(firsts.tolist())]
        labels += [OTHER] * (coding.outside == "other") + [MISSING] * (coding.missing == "code")
        return cls(column, groups, middles.astype(np.intp), tuple(labels))


def _label(coding: Coding, first: int, last: int) -> str:
    """Return what the codes from one to another are called together."""
    if isinstance(coding, Reals):
        low, high = coding.edge(np.array([first, last + 1])).tolist()
        return f"{low:.4g} to {high:.4g}"
    if isinstance(coding, Numbers):
        return f"{coding.edges[first]:.4g} to {coding.edges[last + 1]:.4g}"
    begin, end = coding.label(int(first)), coding.label(int(last))
    return f"{begin.split(' to ')[0]} to {end.split(' to ')[-1]}"
