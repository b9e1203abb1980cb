"""From the noisy tables of a network to a model that rows are drawn from.

Public repair: everything here is a function of released figures and of the schema.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import noise
from sfumato.data.allowed import Rules
from sfumato.engines.memory import code_type
from sfumato.mechanisms.graphical import Measured, fit
from sfumato.mechanisms.graphical.elimination import Factor, TooLarge, eliminate
from sfumato.mechanisms.graphical.junction import junction_tree
from sfumato.mechanisms.graphical.model import draw_stratified
from sfumato.tabular.agreement import Cells, agreeing, holds, sum_to
from sfumato.tabular.constrained import structural_zeros
from sfumato.tabular.encoding import Encoding
from sfumato.tabular.model import FittedModel, Model, Network, Part
from sfumato.tabular.parents import ParentSet
from sfumato.tabular.simple_models import clip_counts
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
    rules
        The constraints: tables without bits give no weight to what they forbid.
    """

    columns: WorkingColumns
    nodes: Sequence[Node]
    total: float
    repair: str
    published: bool = False
    rules: Rules | None = None

    def model(self, tables: Sequence[MeasuredTable]) -> tuple[Model, tuple[str, ...]]:
        """Return a model of the table's columns, and what should be said about it."""
        if self.repair == "graphical":
            fitted = self._graphical(tables)
            if fitted is not None:
                return fitted, ()
            note = "The tables join too many columns for a graphical model; they were made "
            return self._build_directed(tables, "consistent"), (note + "consistent instead.",)
        return self._build_directed(tables, self.repair), ()

    def _build_directed(self, tables: Sequence[MeasuredTable], repair: str) -> Model:
        """Return the Bayesian network that repaired tables give."""
        repaired = self._repair_tables(tables, repair)
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

    def _repair_tables(self, tables: Sequence[MeasuredTable], repair: str) -> list[Cells]:
        """Return tables without negative counts, all of one total."""
        if self.total <= 0.0:
            flat = [np.ones(self.columns.shape(table.places)) for table in tables]
            return [
                Cells(table.places, one / one.size) for table, one in zip(tables, flat, strict=True)
            ]
        if repair == "clip":
            return [Cells(table.places, clip_counts(table.values, self.total)) for table in tables]
        noisy = [Cells(t.places, t.values, self._possible(t.places)) for t in tables]
        rounds = {} if repair == "consistent" else {"rounds": 0}
        values = agreeing(self.columns, noisy, self.total, **rounds)
        return [Cells(one.places, value) for one, value in zip(noisy, values, strict=True)]

    def _possible(self, places: ParentSet) -> NDArray[np.bool_] | None:
        """Return which cells of a table some row can fall into; None if all."""
        columns = self.columns
        if self.rules and not columns.encoding.bits:
            levels = {columns.source(c): columns.level(c, level) for c, level in places}
            even = self.rules.see(levels).even([columns.source(c) for c, _ in places])
            return even > 0
        if columns.encoding.total:
            return None
        return columns.encoding.possible(columns.derive_columns(places))

    def _network(self, tables: Sequence[Cells], *, mask: bool = False) -> DirectedModel:
        """Return the network over the table's columns, or over their bits."""
        conditionals = []
        seen: list[int] = []
        for node in self.nodes:
            conditional = self._conditional(node, tables)
            if mask:
                conditional = self._mask_impossible(conditional, seen)
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
        counts = sum_to(self.columns, table, places)
        return Conditional.of(node.child, node.parents, counts, uniform=self.published)

    def _mask_impossible(self, item: Conditional, seen: Sequence[int]) -> Conditional:
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
        zeros = structural_zeros(self.rules) if self.rules and not bits else []
        joined = [*(item.columns for item in measured), *(columns for columns, _ in zeros)]
        tree = junction_tree(sizes, joined)
        if tree.cells > MOST_CLIQUE_CELLS:
            return None
        fitted = FittedModel(fit(sizes, measured, max(self.total, 1.0), tree=tree, zeros=zeros))
        if not bits:
            return fitted
        decoded = DecodedModel(encoding, fitted)
        return decoded if decoded.valid_share() >= LEAST_VALID else None


# A Bayesian network with its tables: rows are drawn from parents to children.
#
# A model is made of released figures alone. A parent may be held at a coarser level of its
# taxonomy. Marginals are exact where variable elimination stays small, and else those of a large
# sample that is always the same.


Codes = NDArray[np.intp]

#: The most cells of a table within variable elimination.
MOST_CELLS = 2**20
#: Rows of the sample that answers where elimination grows too large.
SAMPLE = 2**20
#: Rows that are drawn at once where some may be thrown away.
BATCH = 2**16
#: A model of bits must give valid codes at least this often.
LEAST_VALID = 0.02


@dataclass(frozen=True, eq=False)
class Conditional:
    """One column given its parents.

    Parameters
    ----------
    child
        The column.
    parents
        Columns that were drawn before, and the level at which each is looked at.
    probabilities
        With axes (child, parents …): for each cell of the parents a distribution of the child.
    """

    child: int
    parents: tuple[tuple[int, int], ...]
    probabilities: Floats

    @classmethod
    def of(
        cls,
        child: int,
        parents: Sequence[tuple[int, int]],
        counts: Floats,
        *,
        uniform: bool = False,
    ) -> Conditional:
        """Return the distribution of a child that a table of non-negative counts gives.

        Parameters
        ----------
        child, parents
            As for the class; the counts have the axes (child, parents …).
        counts
            Non-negative counts.
        uniform
            A cell of the parents without counts gives a uniform child; otherwise the child's own
            distribution.
        """
        across = tuple(range(1, counts.ndim))
        alone = counts.sum(axis=across)
        mass = float(alone.sum())
        flat = np.full(len(alone), 1.0 / len(alone))
        spare = flat if uniform or mass <= 0.0 else alone / mass
        sums = counts.sum(axis=0)
        shaped = spare.reshape(-1, *[1] * len(across))
        with np.errstate(divide="ignore", invalid="ignore"):
            given = counts / sums
        return cls(child, tuple(parents), np.where(sums > 0.0, given, shaped))


class DirectedModel:
    """A Bayesian network over columns.

    Parameters
    ----------
    sizes
        The domain size of each column.
    conditionals
        One for each column, in an order in which rows can be drawn.
    levels
        For each column the group of every code at each level; level 0 is the codes.
    """

    def __init__(
        self,
        sizes: Sequence[int],
        conditionals: Sequence[Conditional],
        levels: Sequence[Sequence[Codes]],
    ) -> None:
        self.sizes = tuple(int(size) for size in sizes)
        self.conditionals = tuple(conditionals)
        self._levels = tuple(tuple(groups) for groups in levels)
        if sorted(item.child for item in conditionals) != list(range(len(self.sizes))):
            raise ValueError("a network needs one distribution for each of its columns")

    @property
    def network(self) -> Network:
        """Every column with its parents."""
        return Network(
            True,
            tuple(
                Part(
                    (item.child, *(column for column, _ in item.parents)),
                    (0, *(level for _, level in item.parents)),
                )
                for item in self.conditionals
            ),
        )

    def draw(self, rows: int, generator: np.random.Generator) -> NDArray[np.int64]:
        """Return the codes of some rows, shape (rows, columns)."""
        codes = np.zeros((rows, len(self.sizes)), dtype=np.int64)
        for item in self.conditionals:
            cell = np.zeros(rows, dtype=np.int64)
            for column, level in item.parents:
                groups = self._levels[column][level]
                cell = cell * (int(groups.max()) + 1) + groups[codes[:, column]]
            table = item.probabilities.reshape(len(item.probabilities), -1).T
            codes[:, item.child] = draw_stratified(table, cell, generator)
        return codes

    def marginal(self, columns: tuple[int, ...], given: Sequence[Factor] = ()) -> Floats:
        """Return the probabilities of all combinations of some columns, axes in the order given.

        Parameters
        ----------
        columns
            The columns asked for.
        given
            Further tables, by which the distribution is weighted.
        """
        try:
            exact = self._eliminate(columns, given)
        except TooLarge:
            exact = self._sample_marginal(columns, given)
        mass = float(exact.sum())
        return exact / mass if mass > 0.0 else np.full(exact.shape, 1.0 / exact.size)

    def _sample_marginal(self, columns: tuple[int, ...], given: Sequence[Factor]) -> Floats:
        """Return the marginal of the sample."""
        codes = self._sample
        weights = np.ones(SAMPLE)
        for held, table in given:
            weights *= table[tuple(codes[column] for column in held)]
        shape = tuple(self.sizes[column] for column in columns)
        return tally_codes([codes[column] for column in columns], shape, weights)

    @cached_property
    def _sample(self) -> list[NDArray[Any]]:
        """The codes of many rows, always the same, column by column."""
        rows = self.draw(SAMPLE, noise.generator(SAMPLE))
        return [rows[:, c].astype(code_type(size)) for c, size in enumerate(self.sizes)]

    def _eliminate(self, columns: tuple[int, ...], given: Sequence[Factor]) -> Floats:
        """Return the exact marginal, up to a factor, or raise `TooLarge`."""
        wanted = {*columns, *(column for held, _ in given for column in held)}
        factors: list[Factor] = []
        # Columns that no one asks for and that have no children asked for sum to one.
        for item in reversed(self.conditionals):
            if item.child in wanted:
                wanted.update(column for column, _ in item.parents)
                factors.append(self._factor(item))
        if not factors:
            return np.ones(())
        return eliminate([*factors, *given], columns, self.sizes, most_cells=MOST_CELLS)

    def _factor(self, item: Conditional) -> Factor:
        """Return a conditional table with all parents as they are declared."""
        held = (item.child, *(column for column, _ in item.parents))
        cells = prod(self.sizes[column] for column in held)
        if cells > MOST_CELLS:
            raise TooLarge(f"a table of {cells:,} cells would be needed")
        table = item.probabilities
        for axis, (column, level) in enumerate(item.parents, start=1):
            if level:
                table = np.take(table, self._levels[column][level], axis=axis)
        return held, table


def tally_codes(
    codes: Sequence[NDArray[Any]], shape: tuple[int, ...], weights: Floats | None = None
) -> Floats:
    """Return how often each combination of codes occurs, or its weight."""
    cells = np.zeros(len(codes[0]) if codes else SAMPLE, dtype=np.int64)
    for column, size in zip(codes, shape, strict=True):
        cells = cells * size + column
    counts = np.bincount(cells, weights=weights, minlength=prod(shape))
    return np.asarray(counts, dtype=np.float64).reshape(shape)


class DecodedModel:
    """A model of the bits of a table's codes, as a model of the codes.

    Bits that no code has are thrown away: the distribution is the one of the bits, given that all
    of them are valid.

    Parameters
    ----------
    encoding
        The bits.
    bits
        A model of them.
    """

    def __init__(self, encoding: Encoding, bits: Model) -> None:
        self.encoding = encoding
        self.bits = bits
        self.sizes = tuple(encoding.sources)

    @property
    def network(self) -> Network:
        """Which columns the network of bits joins: each bit's column with its parents' columns."""
        network = self.bits.network
        parts: dict[Part, None] = {}
        for part in network.parts:
            sources = dict.fromkeys(self.encoding.columns[bit].source for bit in part.columns)
            parts[Part(tuple(sources), (0,) * len(sources))] = None
        return Network(network.directed, tuple(parts))

    def valid_share(self, rows: int = 2**14) -> float:
        """Return about how often the bits are valid, from a sample that is always the same."""
        if self.encoding.total:
            return 1.0
        return float(self.encoding.valid(self.bits.draw(rows, noise.generator(rows))).mean())

    def draw(self, rows: int, generator: np.random.Generator) -> NDArray[np.int64]:
        """Return the codes of some rows, drawn again until all are valid."""
        if not rows:
            return np.zeros((0, len(self.sizes)), dtype=np.int64)
        parts: list[NDArray[np.int64]] = []
        missing = rows
        while missing > 0:
            bits = self.bits.draw(max(BATCH, missing), generator)
            good = bits[self.encoding.valid(bits)] if not self.encoding.total else bits
            parts.append(np.asarray(self.encoding.decode(good[:missing]), dtype=np.int64))
            missing -= len(parts[-1])
        return np.concatenate(parts)

    def marginal(self, columns: tuple[int, ...]) -> Floats:
        """Return the probabilities of all combinations of some columns, axes in the order given."""
        groups = [self.encoding.groups[column] for column in columns]
        held = tuple(bit for group in groups for bit in group)
        shape = tuple(self.sizes[column] for column in columns)
        if self.encoding.total:
            table = self.bits.marginal(held)
        elif isinstance(self.bits, DirectedModel):
            table = self.bits.marginal(held, self._validity)
        else:
            return tally_codes([self._sample[:, column] for column in columns], shape) / SAMPLE
        # Look up the cell of every code's bits.
        index = []
        for place, group in enumerate(groups):
            along = [1] * len(columns)
            along[place] = self.sizes[columns[place]]
            index += [self.encoding.columns[bit].recoding.reshape(along) for bit in group]
        cells = table[tuple(index)] if index else table
        cells = np.broadcast_to(cells, shape)
        mass = float(cells.sum())
        return np.array(cells / mass if mass > 0.0 else np.full(shape, 1.0 / prod(shape)))

    @cached_property
    def _validity(self) -> list[Factor]:
        """For each column with bits that no code has, which of its bits are valid."""
        return [
            (group, self.encoding.possible(group).astype(np.float64))
            for group, size in zip(self.encoding.groups, self.sizes, strict=True)
            if size & (size - 1)
        ]

    @cached_property
    def _sample(self) -> NDArray[np.int64]:
        """The codes of many rows, always the same."""
        return self.draw(SAMPLE, noise.generator(SAMPLE))
