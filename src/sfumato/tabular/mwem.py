"""MWEM: the worst marginal is chosen, measured and learned, round by round."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import comb, log, prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.data.table import TablePublic
from sfumato.data.table_queries import Marginal
from sfumato.mechanisms.choose import Choose, choose_within
from sfumato.mechanisms.count_noise import CountNoise, count_noise
from sfumato.privacy.budget import Budget
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import Loss, Number
from sfumato.privacy.parameters import SHARE, OneOf, OrNone, Whole, parameter
from sfumato.privacy.plan import Plan, PlanStep, Size
from sfumato.privacy.program import FINISH, Ask, Program
from sfumato.privacy.progress import track
from sfumato.tabular.candidates import Pool
from sfumato.tabular.constrained import legal_cells
from sfumato.tabular.counting_method import TOTAL, TableMethod, count_step, mean_absolute
from sfumato.tabular.marginals import MOST_TABLES
from sfumato.tabular.queries import GRID, Distances, PoolTable
from sfumato.tabular.simple_models import DenseModel, Floats, spread, sum_to
from sfumato.tabular.synthetic import NoisyTable, SyntheticTable

#: The most combinations of values that are held as weights.
MOST_CELLS = 2**22
#: The most cells of all tables to choose from.
MOST_CANDIDATE_CELLS = 2**24
#: A noisy total above this is taken for this; far above any table, far below what overflows.
LARGEST_TOTAL = 2**40


@dataclass(frozen=True, kw_only=True)
class MWEM(TableMethod[SyntheticTable]):
    """Release a synthetic table by multiplicative weights (MWEM); for small domains.

    Weights on all combinations of values are uniform at first. In every round the marginal with the
    largest error is chosen privately and measured, and the weights are updated.

    Parameters
    ----------
    epsilon
        Privacy loss for one unit of the table (row or person).
    delta
        If given, noise is Gaussian and the guarantee is (epsilon, delta); otherwise the guarantee
        is pure.
    ways
        Number of columns per marginal.
    rounds
        Number of marginals to measure. Default: twice the number of columns, at most all marginals.
    selection_share
        Share of the budget of a round for its choice; 1/2 in the paper.
    answer
        `"last"`: the weights after the last round are released. `"average"`: their mean over all
        rounds, as the bound of the paper requires.

    Notes
    -----
    Privacy: a score is the distance between private and learned counts, in L1, so one record
    changes it by at most 1 (2 under replace-one); the chosen marginal is measured like any table of
    counts; the losses of choices and measurements add up (docs/proofs/mwem.md). Hardt, Ligett and
    McSherry (2012).
    """

    proof: ClassVar[str] = "mwem.md"
    example: ClassVar[dict[str, Any]] = {"rounds": 2}
    former_names: ClassVar[dict[str, str]] = {"selection": "selection_share"}

    ways: int = parameter(Whole(1), 2)
    rounds: int | None = parameter(OrNone(Whole(1, 10_000)), None)
    selection_share: Number = parameter(SHARE, Fraction(3, 10))
    answer: str = parameter(OneOf(("last", "average")), "last")

    def check(self, public: TablePublic) -> None:
        """Raise where the domain, or the tables to choose from, are too large."""
        super().check(public)
        cells = prod(public.sizes)
        if cells > MOST_CELLS:
            raise ValueError(
                f"the columns together have {cells:,} combinations of values; at most "
                f"{MOST_CELLS:,} are allowed; declare fewer columns or fewer bins"
            )
        live = [size for size in public.sizes if size > 1]
        tables = comb(len(live), min(self.ways, len(live)))
        if tables > MOST_TABLES:
            raise ValueError(
                f"ways = {self.ways} of {len(live)} columns gives {tables:,} tables; at most "
                f"{MOST_TABLES:,} are allowed; choose fewer ways"
            )
        together = int(Rounds(self, public).pool.cells.sum())
        if together > MOST_CANDIDATE_CELLS:
            raise ValueError(
                f"the tables to choose from have {together:,} cells; at most "
                f"{MOST_CANDIDATE_CELLS:,} are allowed; choose fewer ways"
            )

    def plan(self, public: TablePublic) -> Plan:
        """Return what choices and measurements cost, and the noise of each."""
        self.check(public)
        rounds = Rounds(self, public)
        working = self.working_loss()
        steps = []
        total = self.total_noise(public)
        if total is not None:
            steps.append(
                count_step(TOTAL, working.share(self.total_share(public)), [total], public)
            )
        if rounds.choice is not None:
            steps.append(rounds.choice_step(working.share(rounds.choice_share * rounds.number)))
        widest = max(rounds.noises, key=lambda noise: prod(noise.shape))
        spent = working.share(rounds.table_share * rounds.number)
        steps.append(count_step(f"{rounds.number} tables, each", spent, [widest], public))
        return Plan(
            method=self.name,
            guarantee=self.guarantee(public),
            steps=tuple(steps),
            notes=(
                "Which tables are measured is decided round by round; the values of the others "
                "are not known in advance.",
                *self._size_notes(public),
            ),
            sizes=(Size(prod(public.sizes), "model cells"), *self.drawn_sizes(public)),
        )

    def program(self, public: TablePublic, budget: Budget) -> Program[SyntheticTable]:
        """Ask for the number of rows, and then for the worst table of each round."""
        rounds, total = Rounds(self, public), float(public.rows or 0)
        noise = self.total_noise(public)
        if noise is not None:
            part = budget.take(self.total_share(public), TOTAL)
            told = yield Ask(part, noise, Marginal(()), TOTAL)
            total = float(told[0])
        rows = min(max(total, 0.0), float(LARGEST_TOTAL))
        weights, tables = Weights(public.sizes), list[NoisyTable]()
        if public.rules:
            weights.forbid(~legal_cells(public.rules))
        mean = np.zeros_like(weights.cells)
        for number in track(range(1, rounds.number + 1), "learning"):
            chosen = 0
            if rounds.choice is not None:
                label = f"choice {number}"
                part = budget.take(rounds.choice_share, label)
                chosen = yield Ask(part, rounds.choice, rounds.scores(weights, rows), label)
            label, noise = f"table {number}", rounds.noises[chosen]
            part = budget.take(rounds.table_share, label)
            noisy = yield Ask(part, noise, PoolTable(rounds.pool, chosen), label)
            if number == rounds.number:
                yield FINISH
            columns = rounds.pool.sets[chosen]
            levels, cells = (0,) * len(columns), prod(noise.shape)
            tables.append(NoisyTable(label, columns, levels, cells, noise.standard_deviation))
            # Without any rows there are no shares; the weights stay as they are.
            if rows > 0:
                weights.learn(columns, noisy / rows)
            if self.answer == "average":
                mean += weights.cells / rounds.number
        model = DenseModel(public.sizes, mean if self.answer == "average" else weights.cells)
        return SyntheticTable(public, model, total, tables)


class Rounds:
    """The rounds as they are planned: candidates, primitives and shares. Public.

    Parameters
    ----------
    method
        The method.
    public
        What is public about the table.
    """

    def __init__(self, method: MWEM, public: TablePublic) -> None:
        self.method = method
        self.public = public
        self.limit, self.relation = method.record_budget(public)

    @cached_property
    def pool(self) -> Pool:
        """The tables to choose from."""
        live = [column for column, size in enumerate(self.public.sizes) if size > 1] or [0]
        sets = combinations(live, min(self.method.ways, len(live)))
        return Pool(tuple(sets), self.public.sizes)

    @property
    def candidates(self) -> int:
        """How many there are."""
        return len(self.pool.sets)

    @property
    def number(self) -> int:
        """How many tables are measured."""
        if self.method.rounds is not None:
            return self.method.rounds
        return min(2 * len(self.public.sizes), self.candidates)

    @property
    def _round(self) -> Fraction:
        """The share of the budget that one round gets."""
        return (1 - self.method.total_share(self.public)) / self.number

    @property
    def choice_share(self) -> Fraction:
        """The share of one choice; nothing where there is only one candidate."""
        alone = self.candidates == 1
        return Fraction(0) if alone else self._round * Fraction(self.method.selection_share)

    @property
    def table_share(self) -> Fraction:
        """The share of one measurement."""
        return self._round - self.choice_share

    @cached_property
    def choice(self) -> Choose | None:
        """The choice of a round, if there is one."""
        if self.candidates == 1:
            return None
        share: Loss = self.limit.share(self.choice_share)
        # One record moves an L1 distance by 1, a replaced one by 2, here in steps of the grid.
        moved = Fraction(GRID * (2 if self.relation is Relation.REPLACE_ONE else 1))
        return choose_within(share, self.candidates, moved)

    @cached_property
    def noises(self) -> list[CountNoise]:
        """The noise on each candidate, if it is chosen."""
        share = self.limit.share(self.table_share)
        return [count_noise((cells,), share, self.relation) for cells in self.pool.cells.tolist()]

    @cached_property
    def _handicap(self) -> NDArray[np.int64]:
        """What noise alone adds to a measured table, in steps of the grid."""
        sums = [GRID * prod(noise.shape) * mean_absolute(noise) for noise in self.noises]
        return np.array([round(min(value, 2.0**50)) for value in sums], dtype=np.int64)

    def scores(self, weights: Weights, rows: float) -> Distances:
        """Return the question how wrong weights are about each candidate, beyond what noise adds.

        Parameters
        ----------
        weights
            What was learned.
        rows
            The number of rows they stand for.
        """

        def expected() -> NDArray[np.int64]:
            model = weights.model()
            learned = [model.marginal(columns).ravel() for columns in self.pool.sets]
            return np.rint(GRID * rows * np.concatenate(learned)).astype(np.int64)

        every = np.arange(self.candidates)
        return Distances(self.pool, every, expected, self._handicap, np.ones_like(every))

    def choice_step(self, loss: Loss) -> PlanStep:
        """Return the line of a plan about all choices."""
        assert self.choice is not None
        # P(a choice falls short by t) ≤ candidates · exp(−rate · t), solved for 1/20.
        short = log(20 * self.candidates) / float(self.choice.rate) / GRID
        return PlanStep(
            what=f"{self.number} choices among {self.candidates} tables",
            loss=loss,
            noise=self.choice.law,
            error=f"a chosen table is at most {short:,.4g} rows less wrong than the worst, 19 "
            "times in 20",
            figures={"margin": short, "candidates": float(self.candidates)},
        )


# A table of weights that learns noisy marginals one after another.
#
# Multiplicative weights (Hardt and Rothblum, 2010): a cell's weight is multiplied by the
# exponential of how much more the measured marginal has in its place than the weights have. Public
# repair: it may be given what a primitive said, never a private count.


#: Step of an update: the factor of a cell is exp(step · (measured − held)), both as shares. Up to 2
#: the squared distance to one marginal never grows (relative smoothness 1 with the entropy).
STEP = 2.0
#: Everything measured so far is gone through this often in a round, and twice in a large table.
PASSES, FEWEST_PASSES = 10, 2
#: From so many cells on there are fewer passes.
LARGE = 2**18


@dataclass(frozen=True)
class Learned:
    """A measured marginal: its columns, and its shares of the total, which noise may make negative.

    Parameters
    ----------
    columns
        Its columns, increasing.
    shares
        The noisy counts over the noisy total, flat.
    """

    columns: tuple[int, ...]
    shares: Floats


@dataclass
class Weights:
    """Probabilities of all cells, uniform at first.

    Parameters
    ----------
    sizes
        The domain size of each column.
    """

    sizes: tuple[int, ...]
    cells: Floats = field(init=False)
    learned: list[Learned] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        number = prod(self.sizes)
        self.cells = np.full(number, 1.0 / number)

    def forbid(self, cells: NDArray[np.bool_]) -> None:
        """Take all weight from cells that cannot occur; updates give them none."""
        self.cells[cells] = 0.0
        self.cells /= self.cells.sum()

    def model(self) -> DenseModel:
        """Return the weights as they are now."""
        return DenseModel(self.sizes, self.cells)

    def learn(self, columns: tuple[int, ...], shares: NDArray[np.float64]) -> None:
        """Take in one more measured marginal, and go through all of them again."""
        self.learned.append(Learned(columns, np.asarray(shares, dtype=np.float64).reshape(-1)))
        passes = min(PASSES, max(FEWEST_PASSES, PASSES * LARGE // self.cells.size))
        for _ in range(passes):
            for known in self.learned:
                self._update(known)

    def _update(self, known: Learned) -> None:
        """Multiply every cell by the factor of its place in a marginal; they sum to 1 again."""
        keep = [column in known.columns for column in range(len(self.sizes))]
        held = sum_to(self.cells, self.sizes, keep)
        # Shares of a tiny noisy total can be absurd; a factor of e^±30 has said all there is.
        factors = np.exp(np.clip(STEP * (known.shares - held), -30.0, 30.0))
        factors /= held @ factors
        spread_out, shape = spread(factors, self.sizes, keep)
        cube = self.cells.reshape(shape)
        cube *= spread_out
