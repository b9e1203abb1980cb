"""Two simple models: independent columns, and a whole table of probabilities.

They are made of released figures or of nothing but the schema; whatever is computed from them is
free. Neither may ever be given a private count.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from math import prod

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.projection import project_simplex
from sfumato.tabular.model import Network, Part

__all__ = ["DenseModel", "ProductModel", "SignedModel", "clip_counts", "probabilities"]

Floats = NDArray[np.float64]

#: Neighbouring columns of a dense table are summed as one group up to so many combinations.
GROUP = 64
#: Passes over all cells go in runs of at least so many.
RUN = 256
#: Tables over several groups are kept for the next question while they are so small.
KEPT = 2**18


def clip_counts(counts: Floats, total: float) -> Floats:
    """Return noisy counts with negatives set to 0, rescaled to a total; uniform if all vanish."""
    kept = np.maximum(counts, 0.0)
    mass = float(kept.sum())
    if mass <= 0.0:
        return np.full(counts.shape, total / counts.size)
    return np.asarray(kept * (total / mass))


def probabilities(counts: Floats, total: float, *, clip: bool = False) -> Floats:
    """Return the distribution closest to noisy counts of a known or estimated total.

    Parameters
    ----------
    counts
        The noisy counts, of any shape.
    total
        What they should sum to; where it is not positive nothing is known, and the answer is
        uniform.
    clip
        Clip negatives and rescale, as is often published; else project in the Euclidean sense,
        which leaves no floor of mass in empty cells.
    """
    if total <= 0.0:
        return np.full(counts.shape, 1.0 / counts.size)
    repaired = clip_counts(counts, total) if clip else project_simplex(counts, total)
    return np.asarray(repaired / repaired.sum())


class ProductModel:
    """Columns that know nothing of each other.

    Parameters
    ----------
    columns
        The probabilities of the codes of each column.
    """

    def __init__(self, columns: Sequence[Floats]) -> None:
        self.columns = tuple(np.asarray(column, dtype=np.float64) for column in columns)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The domain size of each column."""
        return tuple(column.size for column in self.columns)

    @property
    def network(self) -> Network:
        """Every column by itself."""
        return Network(False, tuple(Part((i,), (0,)) for i in range(len(self.columns))))

    def marginal(self, columns: tuple[int, ...]) -> Floats:
        """Return the product of the columns' probabilities, axes in the order given."""
        joint = np.ones(())
        for column in columns:
            joint = np.multiply.outer(joint, self.columns[column])
        return joint

    def draw(self, rows: int, generator: np.random.Generator) -> NDArray[np.int64]:
        """Return the codes of some rows, each column drawn on its own."""
        codes = np.empty((rows, len(self.columns)), dtype=np.int64)
        for number, column in enumerate(self.columns):
            codes[:, number] = _draw_numbers(column, rows, generator)
        return codes


class DenseModel:
    """A probability for every combination of values.

    Parameters
    ----------
    sizes
        The domain size of each column.
    cells
        The probabilities, flat, the last column varying fastest.
    """

    def __init__(self, sizes: tuple[int, ...], cells: Floats) -> None:
        self.sizes = tuple(sizes)
        self.cells = np.asarray(cells, dtype=np.float64).reshape(prod(sizes))
        self._groups = _groups(self.sizes)
        self._kept: dict[tuple[int, ...], Floats] = {}

    @property
    def network(self) -> Network:
        """All columns together."""
        columns = tuple(range(len(self.sizes)))
        return Network(False, (Part(columns, (0,) * len(columns)),))

    def marginal(self, columns: tuple[int, ...]) -> Floats:
        """Return the probabilities of all combinations of some columns, axes in the order given."""
        return self._summed(columns)

    def _summed(self, columns: tuple[int, ...]) -> Floats:
        """Return the table summed to some columns, in the order given."""
        wanted = set(columns)
        groups = tuple(i for i, group in enumerate(self._groups) if wanted & set(group))
        held = [column for i in groups for column in self._groups[i]]
        table = self._over(groups, held)
        # A whole pass over the cells is made once for each set of groups; the rest is small.
        kept = sum_to(table, [self.sizes[column] for column in held], [c in wanted for c in held])
        order = sorted(columns)
        shaped = kept.reshape([self.sizes[column] for column in order])
        return np.array(np.transpose(shaped, [order.index(column) for column in columns]))

    def _over(self, groups: tuple[int, ...], held: list[int]) -> Floats:
        """Return the table summed to whole groups of columns, flat."""
        if groups not in self._kept:
            inside = set(held)
            table = sum_to(self.cells, self.sizes, [c in inside for c in range(len(self.sizes))])
            if table.size > KEPT:
                return table
            self._kept[groups] = table
        return self._kept[groups]

    def draw(self, rows: int, generator: np.random.Generator) -> NDArray[np.int64]:
        """Return the codes of some rows."""
        codes = np.empty((rows, len(self.sizes)), dtype=np.int64)
        rest = _draw_numbers(self.cells, rows, generator)
        for column in reversed(range(len(self.sizes))):
            rest, codes[:, column] = np.divmod(rest, self.sizes[column])
        return codes


class SignedModel(DenseModel):
    """A noisy table whose marginals are clipped one by one, after they were summed.

    Clipping after summing keeps the noise unbiased for as long as possible, but the marginals need
    not agree with each other; rows are drawn from the projection of the table.

    Parameters
    ----------
    sizes
        The domain size of each column.
    counts
        The noisy counts, flat, negatives included.
    total
        What a marginal is rescaled to sum to, before it is made a probability.
    legal
        Which cells a row can be in; all by default. The others have no weight.
    """

    def __init__(
        self,
        sizes: tuple[int, ...],
        counts: Floats,
        total: float,
        legal: NDArray[np.bool_] | None = None,
    ) -> None:
        super().__init__(sizes, counts if legal is None else np.where(legal, counts, 0.0))
        self.total = total
        self._legal = (
            None if legal is None or legal.all() else DenseModel(sizes, legal.astype(np.float64))
        )

    def marginal(self, columns: tuple[int, ...]) -> Floats:
        """Return the clipped and rescaled sums of some columns, axes in the order given."""
        summed = self._summed(columns)
        if self._legal is None:
            return probabilities(summed, self.total, clip=True)
        return self._within(summed, self._legal._summed(columns) > 0, clip=True)

    def draw(self, rows: int, generator: np.random.Generator) -> NDArray[np.int64]:
        """Return the codes of some rows, from the projection of the whole table."""
        if self._legal is None:
            projected = probabilities(self.cells, self.total)
        else:
            projected = self._within(self.cells, self._legal.cells > 0, clip=False)
        return DenseModel(self.sizes, projected).draw(rows, generator)

    def _within(self, counts: Floats, legal: NDArray[np.bool_], *, clip: bool) -> Floats:
        """Return probabilities of the cells that a row can be in, and 0 of the others."""
        found = np.zeros_like(counts)
        found[legal] = probabilities(counts[legal], self.total, clip=clip)
        return found


def sum_to(table: Floats, sizes: Sequence[int], keep: Sequence[bool]) -> Floats:
    """Return a flat table of the given sizes summed to the columns that are kept, flat.

    The last few columns are summed in a second step, so that the first, over all cells, adds up
    long runs: many axes of size 2 are slow.
    """
    cut = tail_of(sizes)
    rest = prod(sizes[cut:])
    heads = _sum_table(table, [*sizes[:cut], rest], [*keep[:cut], True])
    return _sum_table(heads, [heads.size // rest, *sizes[cut:]], [True, *keep[cut:]])


def spread(factors: Floats, sizes: Sequence[int], keep: Sequence[bool]) -> tuple[Floats, list[int]]:
    """Return what a flat table of all columns is multiplied by, and the shape it is seen in.

    Parameters
    ----------
    factors
        One factor for each combination of the columns that are kept, flat.
    sizes, keep
        The sizes of all columns, and which of them are kept.
    """
    cut = tail_of(sizes)
    heads = _runs(sizes[:cut], keep[:cut])
    rest = prod(sizes[cut:])
    kept = prod(size for size, held in zip(sizes[:cut], keep[:cut], strict=True) if held)
    tails = _runs(sizes[cut:], keep[cut:])
    small = factors.reshape([kept, *(size if held else 1 for held, size in tails)])
    whole = np.broadcast_to(small, [kept, *(size for _, size in tails)])
    return (
        whole.reshape([*(size if held else 1 for held, size in heads), rest]),
        [*(size for _, size in heads), rest],
    )


def tail_of(sizes: Sequence[int]) -> int:
    """Return from which column on the cells of a table make a run that is worth its loop."""
    cells, cut = 1, len(sizes)
    while cut > 0 and cells < RUN:
        cut -= 1
        cells *= sizes[cut]
    return cut


def _runs(sizes: Sequence[int], keep: Sequence[bool]) -> list[tuple[bool, int]]:
    """Return neighbouring columns of the same fate as one axis each."""
    return [
        (kept, prod(size for _, size in run))
        for kept, run in groupby(zip(keep, sizes, strict=True), key=lambda pair: pair[0])
    ]


def _sum_table(table: Floats, sizes: Sequence[int], keep: Sequence[bool]) -> Floats:
    axes = _runs(sizes, keep)
    cube = table.reshape([size for _, size in axes])
    gone = tuple(axis for axis, (kept, _) in enumerate(axes) if not kept)
    return np.asarray(cube.sum(axis=gone)).reshape(-1) if gone else table.reshape(-1)


def _groups(sizes: Sequence[int]) -> list[tuple[int, ...]]:
    """Return neighbouring columns in groups of few combinations."""
    groups: list[list[int]] = [[]]
    cells = 1
    for column, size in enumerate(sizes):
        if groups[-1] and cells * size > GROUP:
            groups.append([])
            cells = 1
        groups[-1].append(column)
        cells *= size
    return [tuple(group) for group in groups]


def _draw_numbers(weights: Floats, rows: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """Return numbers drawn with probabilities in proportion to non-negative weights."""
    cumulative = np.cumsum(weights)
    places = np.searchsorted(cumulative, generator.random(rows) * cumulative[-1], side="right")
    # A draw that rounding puts at the very end belongs to the last number of positive weight.
    last = int(np.flatnonzero(weights > 0)[-1])
    return np.asarray(np.minimum(places, last), dtype=np.int64)
