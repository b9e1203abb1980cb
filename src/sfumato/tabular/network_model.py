"""From the noisy tables of a network to a model that rows are drawn from.

Public repair: everything here is a function of released figures and of the schema.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.graphical import Measured, fit
from sfumato.mechanisms.graphical.junction import junction_tree
from sfumato.tabular.agreement import Cells, agreeing, holds, summed_to
from sfumato.tabular.directed import LEAST_VALID, Conditional, DecodedModel, DirectedModel
from sfumato.tabular.fitted import FittedModel
from sfumato.tabular.model import Model
from sfumato.tabular.parents import ParentSet
from sfumato.tabular.simple_models import clipped
from sfumato.tabular.structure import Node, WorkingColumns

__all__ = ["MeasuredTable", "NetworkModel"]

Floats = NDArray[np.float64]

#: The most cells of all cliques of a graphical model together.
MOST_CLIQUE_CELLS = 2**18
#: The first share of the total that smoothing spreads evenly; it is doubled at most so often.
FIRST_SHARE, MOST_DOUBLINGS = 0.01, 12
#: Where a bit is looked at together with earlier bits of its column, its table has at most so many


@dataclass(frozen=True, eq=False)
class MeasuredTable:
    """A noisy table of counts of some working columns.

    Parameters
    ----------
    places
        The columns with their levels, in the order of the axes.
    values
        The noisy counts.
    deviation
        The standard deviation of the noise on a cell.
    """

    places: ParentSet
    values: Floats
    deviation: float


@dataclass(frozen=True)
class NetworkModel:
    """How a network and its noisy tables become a model.

    Parameters
    ----------
    columns
        The working columns.
    nodes
        The network, in the order of choice.
    total
        The number of rows, public or estimated.
    repair
        `"consistent"`, `"project"`, `"clip"` or `"graphical"`.
    published
        Whether a cell of the parents without counts gives a uniform child, and whether bits that
        no code has are only thrown away; otherwise the child's own distribution is taken, and
        such bits are never drawn.
    """

    columns: WorkingColumns
    nodes: Sequence[Node]
    total: float
    repair: str
    published: bool = False

    def model(self, tables: Sequence[MeasuredTable]) -> tuple[Model, tuple[str, ...]]:
        """Return a model of the table's columns, and what should be said about it."""
        if self.repair == "graphical":
            fitted = self._graphical(tables)
            if fitted is not None:
                return fitted, ()
            note = "The tables join too many columns for a graphical model; they were made "
            return self._directed(tables, "consistent"), (note + "consistent instead.",)
        return self._directed(tables, self.repair), ()

    def _directed(self, tables: Sequence[MeasuredTable], repair: str) -> Model:
        """Return the Bayesian network that repaired tables give."""
        repaired = self._repaired(tables, repair)
        if not self.columns.encoding.bits:
            return self._network(repaired)
        if not self.published:
            return DecodedModel(self.columns.encoding, self._network(repaired, mask=True))
        decoded = DecodedModel(self.columns.encoding, self._network(repaired))
        share = FIRST_SHARE
        for _ in range(MOST_DOUBLINGS):
            if decoded.valid_share() >= LEAST_VALID:
                return decoded
            smooth = [
                Cells(table.places, table.values + share * self.mass / table.values.size)
                for table in repaired
            ]
            decoded = DecodedModel(self.columns.encoding, self._network(smooth))
            share *= 2
        if decoded.valid_share() >= LEAST_VALID:
            return decoded
        return DecodedModel(self.columns.encoding, self._network(repaired, mask=True))

    @property
    def mass(self) -> float:
        """What the tables sum to: the total, or 1 where it is not positive."""
        return self.total if self.total > 0.0 else 1.0

    def _repaired(self, tables: Sequence[MeasuredTable], repair: str) -> list[Cells]:
        """Return tables without negative counts, all of one total."""
        if self.total <= 0.0:
            flat = [np.ones(self.columns.shape(table.places)) for table in tables]
            return [
                Cells(table.places, one / one.size) for table, one in zip(tables, flat, strict=True)
            ]
        if repair == "clip":
            return [Cells(table.places, clipped(table.values, self.total)) for table in tables]
        noisy = [Cells(t.places, t.values, self._possible(t.places)) for t in tables]
        rounds = {} if repair == "consistent" else {"rounds": 0}
        values = agreeing(self.columns, noisy, self.total, **rounds)
        return [Cells(one.places, value) for one, value in zip(noisy, values, strict=True)]

    def _possible(self, places: ParentSet) -> NDArray[np.bool_] | None:
        """Return which cells of a table some row can fall into; None if all."""
        if self.columns.encoding.total:
            return None
        return self.columns.encoding.possible(self.columns.derived(places))

    def _network(self, tables: Sequence[Cells], *, mask: bool = False) -> DirectedModel:
        """Return the network over the table's columns, or over their bits."""
        conditionals = []
        seen: list[int] = []
        for node in self.nodes:
            conditional = self._conditional(node, tables)
            if mask:
                conditional = self._masked(conditional, seen)
            seen.append(node.child)
            conditionals.append(conditional)
        encoding, columns = self.columns.encoding, self.columns
        if encoding.bits:
            levels = [[np.arange(2)] for _ in encoding.columns]
            return DirectedModel(encoding.sizes, conditionals, levels)
        # Columns of the table instead of working columns; one with a single value stands alone.
        named = [
            Conditional(
                columns.source(item.child),
                tuple((columns.source(column), level) for column, level in item.parents),
                item.probabilities,
            )
            for item in conditionals
        ]
        known = {item.child for item in named}
        single = [
            Conditional(column, (), np.ones(1))
            for column in range(len(encoding.sources))
            if column not in known
        ]
        levels = [[encoding.columns[c].recoding for c in group] for group in encoding.groups]
        return DirectedModel(encoding.sources, [*named, *single], levels)

    def _conditional(self, node: Node, tables: Sequence[Cells]) -> Conditional:
        """Return the distribution of a child given its parents, from a table that tells it."""
        places = ((node.child, 0), *node.parents)
        holders = (table for table in tables if holds(table.places, places))
        table = min(holders, key=lambda table: prod(table.values.shape))
        counts = summed_to(self.columns, table, places)
        return Conditional.of(node.child, node.parents, counts, uniform=self.published)

    def _masked(self, item: Conditional, seen: Sequence[int]) -> Conditional:
        """Return a bit's distribution without what no code continues, given its earlier bits."""
        encoding = self.columns.encoding
        source = encoding.columns[item.child].source
        earlier = [bit for bit in seen if encoding.columns[bit].source == source]
        possible = encoding.possible((item.child, *earlier))
        if possible.all():
            return item
        held = {column for column, _ in item.parents}
        more = tuple((bit, 0) for bit in earlier if bit not in held)
        parents = (*item.parents, *more)
        axes = [0, *(1 + [column for column, _ in parents].index(bit) for bit in earlier)]
        order = np.argsort(axes)
        # The mask with its axes in the order of the table, and a single cell along all others.
        shape = [2 if axis in axes else 1 for axis in range(1 + len(parents))]
        mask = np.transpose(possible, order).reshape(shape)
        table = item.probabilities.reshape(*item.probabilities.shape, *[1] * len(more))
        masked = np.broadcast_to(table, (2,) * (1 + len(parents))) * mask
        sums = masked.sum(axis=0)
        # Where only an impossible bit had any weight, the possible one takes its place.
        only = np.broadcast_to(mask / np.maximum(mask.sum(axis=0), 1), masked.shape)
        with np.errstate(divide="ignore", invalid="ignore"):
            given = np.where(sums > 0.0, masked / sums, only)
        return Conditional(item.child, parents, given)

    def _graphical(self, tables: Sequence[MeasuredTable]) -> Model | None:
        """Return the graphical model that fits all tables; None where it would be too large."""
        columns, encoding = self.columns, self.columns.encoding
        bits = encoding.bits
        measured = [
            Measured(
                tuple(c if bits else columns.source(c) for c, _ in table.places),
                table.values,
                table.deviation,
                tuple(columns.level(c, level) if level else None for c, level in table.places),
            )
            for table in tables
            if table.places
        ]
        if not measured:
            return None
        sizes = encoding.sizes if bits else encoding.sources
        tree = junction_tree(sizes, [item.columns for item in measured])
        if tree.cells > MOST_CLIQUE_CELLS:
            return None
        fitted = FittedModel(fit(sizes, measured, max(self.total, 1.0), tree=tree))
        if not bits:
            return fitted
        decoded = DecodedModel(encoding, fitted)
        return decoded if decoded.valid_share() >= LEAST_VALID else None
