"""A graphical model: a distribution over rows, held by the marginals of the cliques of a tree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.graphical.elimination import Factor, eliminate
from sfumato.mechanisms.graphical.junction import JunctionTree, Set

__all__ = ["GraphicalModel", "draw_stratified"]

Floats = NDArray[np.float64]


class GraphicalModel:
    """The distribution of largest entropy that has given marginals on the cliques of a tree.

    Parameters
    ----------
    tree
        The junction tree.
    tables
        The probabilities of each clique, one axis a column; neighbours agree on what they share.
    potentials
        The log-potentials it was fitted with, from which a larger model can start.
    """

    def __init__(
        self, tree: JunctionTree, tables: Sequence[Floats], potentials: Sequence[Floats]
    ) -> None:
        self.tree = tree
        self.tables = tuple(tables)
        self.potentials = tuple(potentials)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The domain size of each column."""
        return self.tree.sizes

    @property
    def cliques(self) -> tuple[Set, ...]:
        """The columns of each clique."""
        return self.tree.cliques

    @cached_property
    def _factors(self) -> list[Factor]:
        """Each clique given what it shares with its parent; their product is the distribution."""
        factors: list[Factor] = []
        for number, (clique, table) in enumerate(zip(self.cliques, self.tables, strict=True)):
            separator = self.tree.separator(number)
            if not separator:
                factors.append((clique, table))
                continue
            gone = tuple(i for i, column in enumerate(clique) if column not in separator)
            below = table.sum(axis=gone, keepdims=True)
            given = np.divide(table, below, out=np.zeros_like(table), where=below > 0)
            factors.append((clique, given))
        return factors

    def joint(self) -> Floats:
        """Return the probabilities of all combinations of the columns of more than one value."""
        whole, there = np.ones(()), list[int]()
        for number, (clique, table) in enumerate(self._factors):
            separator = self.tree.separator(number)
            fresh = [c for c in clique if c not in separator and self.sizes[c] > 1]
            kept = [column for column in there if column in separator]
            # Columns of one value are left out: arrays have a most number of axes.
            inside = [column for column in clique if self.sizes[column] > 1]
            table = table.reshape([self.sizes[column] for column in inside])
            table = np.transpose(table, [inside.index(column) for column in (*fresh, *kept)])
            shape = [self.sizes[column] for column in fresh]
            shape += [self.sizes[column] if column in separator else 1 for column in there]
            whole = table.reshape(shape) * whole
            there = fresh + there
        return np.transpose(whole, np.argsort(there))

    def marginal(self, columns: Sequence[int]) -> Floats:
        """Return the probabilities of all combinations of some columns, axes in the order given."""
        wanted = tuple(columns)
        holder = self.tree.holder(wanted)
        if holder is not None:
            clique, table = self.cliques[holder], self.tables[holder]
            summed = table.sum(axis=tuple(i for i, c in enumerate(clique) if c not in wanted))
            kept = [column for column in clique if column in wanted]
            return np.asarray(np.transpose(summed, [kept.index(column) for column in wanted]))
        return eliminate(self._subtree(wanted), wanted, self.sizes)

    def _subtree(self, wanted: Set) -> list[Factor]:
        """Return the factors that matter: cliques below which nothing is asked sum to one."""
        needed = [False] * len(self.cliques)
        for column in wanted:
            # The clique nearest to the root that holds it; all above it are needed too.
            number: int = next(i for i, clique in enumerate(self.cliques) if column in clique)
            while number >= 0 and not needed[number]:
                needed[number] = True
                number = self.tree.parents[number]
        return [factor for factor, used in zip(self._factors, needed, strict=True) if used]

    @cached_property
    def parts(self) -> NDArray[np.int64]:
        """For each column a number that it shares with those it depends on, and with no others."""
        parts = np.zeros(len(self.sizes), dtype=np.int64)
        for number, clique in enumerate(self.cliques):
            separator = self.tree.separator(number)
            parts[list(clique)] = parts[separator[0]] if separator else number
        return parts

    def one_way(self) -> list[Floats]:
        """Return the probabilities of the values of each column."""
        found: dict[int, Floats] = {}
        for clique, table in zip(self.cliques, self.tables, strict=True):
            for axis, column in enumerate(clique):
                if column not in found:
                    others = tuple(other for other in range(len(clique)) if other != axis)
                    found[column] = table.sum(axis=others)
        return [found[column] for column in range(len(self.sizes))]

    def draw(
        self, rows: int, generator: np.random.Generator, among: Iterable[int] | None = None
    ) -> NDArray[np.int64]:
        """Return the codes of some rows, shape (rows, columns).

        If `among` is given, only the parts of these columns are drawn; all others are 0.

        Clique after clique, what is new in it is drawn given what is there. The draws of rows
        that agree so far are stratified: every combination comes up as often as expected, to the
        nearest row, so that a sample is closer to the model than independent rows would be.
        """
        codes = np.zeros((len(self.sizes), rows), dtype=np.int64)
        drawn_parts = set(self.parts[slice(None) if among is None else list(among)].tolist())
        for number, clique in enumerate(self.cliques):
            if self.parts[clique[0]] not in drawn_parts:
                continue
            separator = self.tree.separator(number)
            fresh = tuple(column for column in clique if column not in separator)
            if not fresh:
                continue
            order = [clique.index(column) for column in (*separator, *fresh)]
            table = np.transpose(self.tables[number], order)
            table = table.reshape(prod(self.tree.shape(separator)), -1)
            given = np.zeros(rows, dtype=np.int64)
            for column in separator:
                given = given * self.sizes[column] + codes[column]
            drawn = draw_stratified(table, given, generator)
            # Looked up: dividing every row is slow.
            parts = np.unravel_index(np.arange(table.shape[1]), self.tree.shape(fresh))
            for column, part in zip(fresh, parts, strict=True):
                np.take(part, drawn, out=codes[column])
        return codes.T


def draw_stratified(
    weights: Floats, given: NDArray[np.int64], generator: np.random.Generator
) -> NDArray[np.int64]:
    """Draw a code for each row from the row of `weights` that `given` names.

    Rows with the same `given` are spread evenly over the unit interval, in random order, so each
    has the right law by itself and together they miss no frequency by more than a row.
    """
    from sfumato.mechanisms.graphical.draw_kernels import spread_evenly

    weights = np.maximum(weights, 0.0)
    empty = weights.sum(axis=1) <= 0
    # What nothing was released about follows the whole, or else all values alike.
    weights[empty] = weights.sum(axis=0) if weights.sum() > 0 else 1.0
    cumulative = np.cumsum(weights, axis=1)
    cumulative /= cumulative[:, -1:]
    # A fresh random order each time: rows that come early in one clique must not in the next.
    order = generator.permutation(given.size)
    return np.asarray(spread_evenly(cumulative, given, order, generator.random(given.size)))
