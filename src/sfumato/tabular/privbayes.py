"""PrivBayes: a Bayesian network chosen privately, and its tables measured privately."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import Any, ClassVar

import numpy as np

from sfumato import noise
from sfumato.data.table import TablePublic
from sfumato.data.table_queries import Marginal, View, see_through
from sfumato.mechanisms.choose import Choose, choose_within
from sfumato.mechanisms.count_noise import CountNoise, count_noise
from sfumato.privacy.budget import Budget
from sfumato.privacy.canonical import digest
from sfumato.privacy.guarantee import Basis, Guarantee, Relation
from sfumato.privacy.loss import ZCDP, Number, pure_within
from sfumato.privacy.parameters import SHARE, Flag, OneOf, OrNone, Positive, Whole, parameter
from sfumato.privacy.plan import Plan
from sfumato.privacy.program import FINISH, Ask, Program
from sfumato.privacy.registry import find_published
from sfumato.tabular.agreement import holds
from sfumato.tabular.binning import BinningMethod
from sfumato.tabular.counting_method import rows_about
from sfumato.tabular.encoding import ENCODINGS, Encoding
from sfumato.tabular.network_model import MeasuredTable, NetworkModel
from sfumato.tabular.noisy_tables import common_total
from sfumato.tabular.parents import ParentSet
from sfumato.tabular.queries import NodeScores, Scoring
from sfumato.tabular.scores import (
    LARGEST_TOTAL,
    STEPS,
    Assignment,
    Independence,
    Information,
    Score,
)
from sfumato.tabular.structure import (
    MOST_CELLS,
    CellGrowth,
    DegreeGrowth,
    NetworkGrowth,
    Node,
    WorkingColumns,
)
from sfumato.tabular.synthetic import NoisyTable, SyntheticTable

#: Up to this degree score F is as quick as R, and tells more at the same noise.
QUICK_DEGREE = 4
#: The ratio of a circle's circumference to its diameter, for the mean of Gaussian noise.
PI = Fraction(355, 113)

Repairs = ("consistent", "project", "clip", "graphical")


@dataclass(frozen=True, kw_only=True)
class PrivBayes(BinningMethod):
    """Release a synthetic table drawn from a Bayesian network.

    Parameters
    ----------
    epsilon
        Privacy loss for one unit of the table (row or person).
    delta
        If given, noise is Gaussian and the guarantee is (epsilon, delta); otherwise the guarantee
        is pure.
    score
        Score of dependence between columns: `"F"` (binary columns only), `"R"`, or `"I"`, mutual
        information, which under add/remove needs `rows_about` in the schema. `"auto"` uses F if it
        is fast to compute and R otherwise.
    encoding
        How columns enter the network. `"hierarchical"`: as they are, and as parents also at coarser
        levels. `"vanilla"`: as they are. `"binary"` and `"gray"`: as bits.
    theta
        Limit on the size of tables: the average count of a cell is at least this many times its
        noise. 6 by default.
    network_share
        Share of the budget for choosing the network; 3/10 by default.
    degree
        Number of parents of a column, instead of `theta`; for binary columns only.
    cells
        Maximum number of cells of a table, instead of `theta`.
    repair
        How noisy tables are repaired. `"consistent"`: they are made consistent and non-negative.
        `"project"`: they are made non-negative. `"clip"`: they are clipped and rescaled, as
        published. `"graphical"`: a graphical model is fitted to all of them.
    variant
        `"published"` is the algorithm of the thesis: half of the budget for the network, theta 3,
        the exponential mechanism with the sensitivities given there, and clipping. Its proof holds
        only under replace-one, where the number of rows is public.
    accept_unproven
        Must be true for the published variant under add/remove, where it is not private.
    binner
        Where bins come from, for columns of numbers or dates with more than 32 values. `"auto"`:
        ranges with many records are halved repeatedly, down to single values, and counted; the
        tables of several columns use at most 32 bins of them, and synthetic values follow the finer
        counts within a bin. `"declared"`: from the schema. `"uniform"`: bins of equal width, at no
        privacy loss. `"quantile"`: bins with about equal numbers of records. `"privtree"`: halved
        repeatedly, without finer counts; categories are grouped along their taxonomy.
    bins
        Maximum number of bins per column, 32 by default; 16 for `"uniform"` and `"quantile"`.
    bins_share
        Share of the budget for the bins of all columns. Default: for k such columns with `"auto"`
        k/(k + 10), at most 2/5; with `"quantile"` and `"privtree"` 1/10.

    Notes
    -----
    Privacy: each choice has its slice, with scores whose sensitivity is proved for the integers
    computed; a record falls into one cell of each of m tables, which get 1/m of the rest each;
    the number of rows is public or measured (docs/proofs/privbayes.md, docs/proofs/scores.md).

    References
    ----------
    Zhang, Cormode, Procopiuc, Srivastava, Xiao. PrivBayes: private data release via Bayesian
    networks. ACM Transactions on Database Systems 42(4), 2017.
    """

    proof: ClassVar[str] = "privbayes.md"
    example: ClassVar[dict[str, Any]] = {"cells": 6}
    former_names: ClassVar[dict[str, str]] = {"split": "network_share"}
    #: The share of the budget that the number of rows gets where it is private and needed.
    rows_share: ClassVar[Fraction] = Fraction(1, 100)

    score: str = parameter(OneOf(("auto", "I", "F", "R")), "auto")
    encoding: str = parameter(OneOf(tuple(ENCODINGS)), "hierarchical")
    theta: Number | None = parameter(OrNone(Positive()), None)
    network_share: Number | None = parameter(OrNone(SHARE), None)
    degree: int | None = parameter(OrNone(Whole(0)), None)
    cells: int | None = parameter(OrNone(Whole(1)), None)
    repair: str | None = parameter(OrNone(OneOf(Repairs)), None)
    variant: str = parameter(OneOf(("proved", "published")), "proved")
    accept_unproven: bool = parameter(Flag(), False)

    def __post_init__(self) -> None:
        super().__post_init__()
        pinned = {
            "delta": self.delta,
            "theta": self.theta,
            "network_share": self.network_share,
            "repair": self.repair,
        }
        given = [name for name, value in pinned.items() if value is not None]
        if self.published and given:
            raise ValueError(
                f"the published variant fixes {', '.join(pinned)}; leave {given[0]} out, or use "
                "variant='proved'"
            )
        if self.published and self.binner not in ("auto", "declared"):
            raise ValueError(
                "the published variant uses columns as declared; leave binner out, or use "
                "variant='proved'"
            )
        if self.degree is not None and self.cells is not None:
            raise ValueError("give degree or cells, not both")

    @property
    def published(self) -> bool:
        """Whether this is the variant of the thesis."""
        return self.variant == "published"

    @property
    def _binner(self) -> str:
        return "declared" if self.published else self.binner

    def guarantee(self, public: TablePublic) -> Guarantee:
        """Return the promise; the published variant has none under add/remove."""
        promise = super().guarantee(public)
        return promise if self._proved(public) else replace(promise, basis=Basis.PUBLISHED)

    def _proved(self, public: TablePublic) -> bool:
        return not self.published or public.rows is not None

    def check(self, public: TablePublic) -> None:
        """Raise where the parameters do not fit the columns."""
        super().check(public)
        if not self._proved(public) and not self.accept_unproven:
            raise ValueError(
                "the published variant releases the exact number of rows, so it is not private "
                "under add/remove; use variant='proved', declare relation = \"replace_one\", or "
                "set accept_unproven=True for a comparison without a privacy guarantee"
            )
        if self.counts_rows(public) and self.network_part + self.rows_share >= 1:
            raise ValueError(
                f"network_share must leave a share for the tables: the network takes "
                f"{float(self.network_part):.4g} and the number of rows "
                f"{float(self.rows_share):.4g}; choose a smaller one"
            )
        columns = self.columns(self.about(public))
        if not columns.binary and self.degree is not None:
            raise ValueError(
                "degree is for binary columns; give cells instead, or encoding='binary' or 'gray'"
            )
        if not columns.binary and self.score == "F":
            raise ValueError(
                "score F is for binary columns; use score R, or encoding='binary' or 'gray'"
            )
        if self.score == "I" and public.rows is None and not public.rows_about:
            raise ValueError(
                "score I needs rows_about in the schema under add/remove; use score R instead"
            )
        largest = max((sizes[0] for sizes in columns.sizes), default=1)
        if largest > MOST_CELLS:
            raise ValueError(
                f"a column has {largest:,} values; at most {MOST_CELLS:,} are allowed; declare "
                "fewer bins, or use encoding='binary' or 'gray'"
            )

    def columns(self, public: TablePublic) -> WorkingColumns:
        """Return the columns that the network is made of."""
        return _columns(self.encoding, public)

    @property
    def _theta(self) -> Fraction:
        return Fraction(self.theta if self.theta is not None else 3 if self.published else 6)

    @property
    def network_part(self) -> Fraction:
        """The share of the budget that chooses the network, where there is a choice."""
        if self.network_share is not None:
            return Fraction(self.network_share)
        return Fraction(1, 2) if self.published else Fraction(3, 10)

    @property
    def _repair(self) -> str:
        return self.repair or ("clip" if self.published else "consistent")

    def useful_cells(self, public: TablePublic, rows: int, tables: int, share: Fraction) -> int:
        """Return how many cells a table may have so that its average count is θ times its noise.

        Parameters
        ----------
        public
            What is public about the table.
        rows
            The number of rows, public or noisy.
        tables, share
            How many tables there are, and their share of the budget.
        """
        limit, relation = self.record_budget(public)
        each = limit.share(share / tables)
        moved = 2 if relation is Relation.REPLACE_ONE else 1
        if isinstance(each, ZCDP):
            # The mean of |noise| is σ√(2/π), σ² = moved/2ρ.
            return isqrt(int(Fraction(rows) ** 2 * PI * each.rho / (moved * self._theta**2)))
        return int(rows * pure_within(each) / (moved * self._theta))

    def growth(self, public: TablePublic, rows: int | None) -> NetworkGrowth | None:
        """Return how the network may grow; None where no column can have a parent.

        Parameters
        ----------
        public
            What is public about the table.
        rows
            The number of rows, public or noisy; it is not looked at if degree or cells is given.
        """
        columns = self.columns(public)
        number = len(columns.members)
        if number < 2:
            return None
        share = 1 - self.network_part - (self.rows_share if self.counts_rows(public) else 0)
        if columns.binary:
            degree = self._degree(public, rows, number, share)
            return DegreeGrowth.cap_growth(number, degree) if degree else None
        limit = self.cells
        if limit is None:
            assert rows is not None
            limit = self.useful_cells(public, rows, number, share)
        growth = CellGrowth.cap_growth(columns.sizes, limit, rows or rows_about(public) or 0)
        return growth if growth.possible else None

    def _degree(self, public: TablePublic, rows: int | None, number: int, share: Fraction) -> int:
        """Return the largest degree k whose d − k tables of 2^(k+1) cells are within the rule."""
        if self.degree is not None:
            return self.degree
        found = 0
        for degree in range(1, min(number, MOST_CELLS.bit_length() - 1)):
            most = self.cells
            if most is None:
                assert rows is not None
                most = self.useful_cells(public, rows, number - degree, share)
            if 2 ** (degree + 1) <= most:
                found = degree
        return found

    def needs_rows(self, public: TablePublic) -> bool:
        """Tell whether the size of the tables depends on the number of rows."""
        several = len(self.columns(public).members) > 1
        return self.degree is None and self.cells is None and several

    def counts_rows(self, public: TablePublic) -> bool:
        """Tell whether the number of rows is measured: where it is private and needed."""
        return public.rows is None and self.needs_rows(public) and not self.published

    def scoring(self, public: TablePublic, growth: NetworkGrowth) -> Score:
        """Return the score."""
        letter = self.score
        if letter == "auto":
            quick = isinstance(growth, DegreeGrowth) and growth.degree <= QUICK_DEGREE
            letter = "F" if quick else "R"
        if letter == "I":
            if public.rows is not None or self.published:
                return Information()
            return Information(
                most_rows=min(max(2 * (public.rows_about or 0), 2), LARGEST_TOTAL - 1)
            )
        return Assignment() if letter == "F" else Independence()

    def choice(
        self,
        public: TablePublic,
        score: Score,
        candidates: Sequence[Node],
        share: Fraction,
        rows: int | None,
    ) -> Choose:
        """Return the private choice of one candidate.

        Parameters
        ----------
        public
            What is public about the table.
        score
            The score.
        candidates
            What may be chosen.
        share
            The share of the budget.
        rows
            The number of rows where it is public, or disclosed; None otherwise.
        """
        limit, relation = self.record_budget(public)
        columns = self.columns(public)
        smaller = 2 if columns.binary else max(map(columns.smaller, candidates))
        if self.published and isinstance(score, Independence):
            sensitivity = STEPS * (3 + Fraction(2, max(rows or 0, 1)))
        else:
            sensitivity = score.sensitivity(rows, smaller)
            if rows is None and relation is Relation.REPLACE_ONE:
                # Only a synthetic table does not tell its rows: one is removed, and one added.
                sensitivity *= 2
        choice = choose_within(limit.share(share), len(candidates), sensitivity)
        return replace(choice, law="exponential") if self.published else choice

    def root(self, public: TablePublic) -> int:
        """Return the first column of the network: any, by a rule that looks at names alone."""
        number = len(self.columns(public).members)
        seed = int(digest("\n".join(public.columns).encode())[:12], 16)
        return int(noise.generator(seed).integers(0, number)) if number else 0

    def _table_program(self, public: TablePublic, budget: Budget) -> Program[SyntheticTable]:
        # A table without bits has nothing but its rows to be counted.
        view = View(tuple(self.columns(public).encoding.recodings) or ((0, None),))
        return (yield from see_through(view, self._network_program(public, budget)))

    def _network_program(self, public: TablePublic, budget: Budget) -> Program[SyntheticTable]:
        """Ask for the number of rows where it is needed, the network, and its tables."""
        spent = Fraction(0)
        rows = public.rows
        if rows is None and (self.published or self.needs_rows(public)):
            added = (
                find_published("privbayes:DisclosedCount")()
                if self.published
                else self.rows_noise(public)
            )
            told = yield Ask(budget, added, Marginal(()), "rows")
            rows = int(told[0]) if self.published else max(1, int(told[0]))
            spent = Fraction(0) if self.published else self.rows_share
        growth = self.growth(public, rows)
        columns = self.columns(public)
        if growth is None:
            nodes = [Node(column, ()) for column in range(len(columns.members))]
        else:
            exact = rows if self.published else public.rows
            cost, nodes = yield from self._choose_network(public, growth, exact, budget)
            spent += cost
        labels, tables = yield from self._measure_tables(public, growth, nodes, 1 - spent, budget)
        yield FINISH
        total = self._total(public, rows, tables)
        shape = NetworkModel(
            columns, nodes, total, self._repair, published=self.published, rules=public.rules
        )
        model, notes = shape.model(tables)
        noisy = [
            self._noisy_table(columns, label, table)
            for label, table in zip(labels, tables, strict=True)
        ]
        return SyntheticTable(public, model, total, noisy, notes)

    def rows_noise(self, public: TablePublic) -> CountNoise:
        """Return the noise on the number of rows, where it is private and needed."""
        limit, relation = self.record_budget(public)
        return count_noise((1,), limit.share(self.rows_share), relation)

    def _choose_network(
        self, public: TablePublic, growth: NetworkGrowth, rows: int | None, budget: Budget
    ) -> Program[tuple[Fraction, list[Node]]]:
        """Ask for one column after another; return the share of the budget it took, and them."""
        columns = self.columns(public)
        score = self.scoring(public, growth)
        scoring = Scoring(columns, score)
        nodes = [Node(self.root(public), ())]
        steps = len(columns.members) - 1
        spent = Fraction(0)
        while len(nodes) <= steps:
            candidates = growth.candidates(nodes)
            if len(candidates) == 1:
                nodes.append(candidates[0])
                continue
            # A step without a choice leaves its share to those that follow.
            share = self.network_part / steps
            if not self.published:
                share = (self.network_part - spent) / (steps + 1 - len(nodes))
            choice = self.choice(public, score, candidates, share, rows)
            label = f"column {len(nodes) + 1} with its parents"
            chosen = yield Ask(budget, choice, NodeScores(scoring, candidates), label)
            nodes.append(candidates[chosen])
            spent += share
        return self.network_part if self.published else spent, nodes

    def _measure_tables(
        self,
        public: TablePublic,
        growth: NetworkGrowth | None,
        nodes: Sequence[Node],
        share: Fraction,
        budget: Budget,
    ) -> Program[tuple[list[str], list[MeasuredTable]]]:
        """Ask for the tables of a network, with equal shares of what is left."""
        columns = self.columns(public)
        limit, relation = self.record_budget(public)
        keep_all = self.published and not isinstance(growth, DegreeGrowth)
        places = table_places(nodes, keep_all=keep_all)
        each = limit.share(share / len(places))
        noises = [count_noise(columns.shape(item) or (1,), each, relation) for item in places]
        labels = [
            f"table {number}: {self._words(public, columns, item)}"
            for number, item in enumerate(places, start=1)
        ]
        told = yield [
            Ask(budget, added, Marginal(columns.derive_columns(item)), label)
            for added, item, label in zip(noises, places, labels, strict=True)
        ]
        return labels, [
            MeasuredTable(item, np.asarray(values, np.float64), added.standard_deviation)
            for item, values, added in zip(places, told, noises, strict=True)
        ]

    def _words(self, public: TablePublic, columns: WorkingColumns, places: ParentSet) -> str:
        """Return the columns of a table in words."""
        words = []
        for column, level in places:
            name = public.columns[columns.source(column)]
            bit = columns.encoding.columns[columns.members[column][0]].bit
            if bit is not None:
                name += f" bit {bit}"
            words.append(f"{name} level {level}" if level else name)
        return " × ".join(words) or "rows"

    def _total(
        self, public: TablePublic, rows: int | None, tables: Sequence[MeasuredTable]
    ) -> float:
        """Return the number of rows: public, disclosed, or what the tables tell together."""
        if public.rows is not None:
            return float(public.rows)
        if self.published and rows is not None:
            return float(rows)
        values = [table.values for table in tables]
        return common_total(values, [1.0] * len(values))

    def _noisy_table(self, columns: WorkingColumns, label: str, table: MeasuredTable) -> NoisyTable:
        """Return what the reader of a release is told about a table."""
        levels = [-1 if columns.encoding.bits else level for _, level in table.places]
        return NoisyTable(
            label,
            tuple(columns.source(column) for column, _ in table.places),
            tuple(levels),
            table.values.size,
            table.deviation,
        )

    def _plan_table(self, public: TablePublic) -> Plan:
        from sfumato.tabular.privbayes_plan import plan_of

        return plan_of(self, public, rows_about(public))


@lru_cache(maxsize=8)
def _columns(encoding: str, public: TablePublic) -> WorkingColumns:
    return WorkingColumns.of(Encoding.of(encoding, public))


def table_places(nodes: Sequence[Node], *, keep_all: bool = False) -> list[ParentSet]:
    """Return the tables of a network: one for each node, unless another table tells it.

    Parameters
    ----------
    nodes
        The network.
    keep_all
        Keep those that another one tells, as was published for columns of any size.
    """
    every: list[ParentSet] = [((node.child, 0), *node.parents) for node in nodes]
    if not every:
        return [()]
    if keep_all:
        return every
    # A later node holds a column that earlier ones do not, so it is never told by them.
    return [
        places
        for number, places in enumerate(every)
        if not any(holds(later, places) for later in every[number + 1 :])
    ]
