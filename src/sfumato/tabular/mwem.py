"""MWEM: the worst marginal is chosen, measured and learned, round by round."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import comb, log, prod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.data.table import Table, TablePublic
from sfumato.mechanisms.choose import Choose, choose_within
from sfumato.mechanisms.count_noise import CountNoise, count_noise
from sfumato.privacy.budget import Budget
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import Loss, Number
from sfumato.privacy.parameters import SHARE, OneOf, OrNone, Whole, parameter
from sfumato.privacy.plan import Plan, PlanStep, Size
from sfumato.privacy.primitive import Primitive
from sfumato.privacy.progress import track
from sfumato.privacy.transcript import Transcript
from sfumato.tabular.counting_method import (
    TOTAL,
    TableMethod,
    count_step,
    mean_absolute,
    require_planned,
)
from sfumato.tabular.marginals import MOST_TABLES
from sfumato.tabular.multiplicative_weights import Weights
from sfumato.tabular.simple_models import DenseModel
from sfumato.tabular.synthetic import NoisyTable, SyntheticTable

#: The most combinations of values that are held as weights.
MOST_CELLS = 2**22
#: The most cells of all tables to choose from.
MOST_CANDIDATE_CELLS = 2**24
#: The weights' counts are rounded to this fraction of a row before they meet private ones.
GRID = 16
#: A noisy total above this is taken for this; far above any table, far below what overflows.
LARGEST_TOTAL = 2**40


@dataclass(frozen=True, kw_only=True)
class MWEM(TableMethod[SyntheticTable]):
    """Release a synthetic table learned by multiplicative weights, for small domains.

    Weights on all combinations of values start out uniform. In every round the marginal that they
    get most wrong is chosen privately, measured with noise, and learned.

    Parameters
    ----------
    epsilon
        Privacy loss for one unit of the table (row or person).
    delta
        If given, Gaussian noise and an (epsilon, delta) guarantee.
    ways
        How many columns each marginal has.
    rounds
        How many marginals are measured; by default twice the number of columns, or all there are.
    selection
        The share of a round that its choice gets; 1/2 in the paper.
    answer
        `"last"` releases the weights after the last round; `"average"` the mean over all rounds, as
        the paper's bound needs.

    Notes
    -----
    Privacy: a score is the distance between private and learned counts, in L1, so one record moves
    it by at most 1 (2 under replace-one); the chosen marginal is measured as any table of counts;
    choices and measurements add up (docs/proofs/mwem.md). Hardt, Ligett and McSherry (2012).
    """

    proof: ClassVar[str] = "mwem.md"

    ways: int = parameter(Whole(1), 2)
    rounds: int | None = parameter(OrNone(Whole(1, 10_000)), None)
    selection: Number = parameter(SHARE, Fraction(3, 10))
    answer: str = parameter(OneOf(("last", "average")), "last")

    def check(self, public: TablePublic) -> None:
        """Raise where the domain, or the tables to choose from, are too large."""
        super().check(public)
        cells = prod(public.sizes)
        if cells > MOST_CELLS:
            raise ValueError(
                f"the columns together have {cells:,} combinations of values, of which "
                f"{MOST_CELLS:,} are allowed; declare fewer columns or fewer bins"
            )
        live = [size for size in public.sizes if size > 1]
        tables = comb(len(live), min(self.ways, len(live)))
        if tables > MOST_TABLES:
            raise ValueError(
                f"ways = {self.ways} of {len(live)} columns gives {tables:,} tables, of which "
                f"{MOST_TABLES:,} are allowed; choose other ways"
            )
        candidates, sizes = self._course(public).candidates, public.sizes
        together = sum(prod(sizes[column] for column in columns) for columns in candidates)
        if together > MOST_CANDIDATE_CELLS:
            raise ValueError(
                f"the tables to choose from have {together:,} cells, of which "
                f"{MOST_CANDIDATE_CELLS:,} are allowed; choose fewer ways"
            )

    def _course(self, public: TablePublic) -> _Course:
        return _Course(self, public)

    def plan(self, public: TablePublic) -> Plan:
        """Return what choices and measurements cost, and the noise of each."""
        self.check(public)
        course = self._course(public)
        working = self.working_loss()
        steps = []
        total = self.total_noise(public)
        if total is not None:
            steps.append(
                count_step(TOTAL, working.share(self.total_share(public)), [total], public)
            )
        if course.choice is not None:
            steps.append(course.choice_step(working.share(course.choice_share * course.rounds)))
        widest = max(course.noises, key=lambda noise: prod(noise.shape))
        spent = working.share(course.table_share * course.rounds)
        steps.append(count_step(f"{course.rounds} tables, each", spent, [widest], public))
        return Plan(
            method=self.name,
            guarantee=self.guarantee(public),
            steps=tuple(steps),
            notes=(
                "Which tables are measured is decided round by round; what the others will say "
                "cannot be told before.",
                *self._size_notes(public),
            ),
            sizes=(Size(prod(public.sizes), "model cells"), *self.drawn_sizes(public)),
        )

    def _measure(self, data: Table, budget: Budget) -> None:
        course = self._course(data.public)
        total = float(data.public.rows or 0)
        noise = self.total_noise(data.public)
        if noise is not None:
            part = budget.take(self.total_share(data.public), TOTAL)
            count = data.counts.marginals([()])[0].reshape(1)
            total = float(part.measure(noise, count, label=TOTAL)[0])
        state = course.start(total)
        tables = data.counts.marginals(course.candidates)
        for number in track(range(course.rounds), "learning"):
            chosen = 0
            if course.choice is not None:
                part = budget.take(course.choice_share, f"choice {number + 1}")
                scores = course.scores(tables, state)
                chosen = part.measure(course.choice, scores, label=f"choice {number + 1}")
            part = budget.take(course.table_share, f"table {number + 1}")
            noise = course.noises[chosen]
            noisy = part.measure(noise, tables[chosen].reshape(-1), label=f"table {number + 1}")
            if number + 1 < course.rounds:
                state.learn(course.candidates[chosen], noisy)

    def _build(self, public: TablePublic, transcript: Transcript) -> SyntheticTable:
        course = self._course(public)
        total = float(transcript[TOTAL][0] if public.rows is None else public.rows)
        chosen = [
            0 if course.choice is None else int(transcript[f"choice {number + 1}"])
            for number in range(course.rounds)
        ]
        if any(not 0 <= number < len(course.candidates) for number in chosen):
            raise ValueError("the transcript chooses a table that is no candidate")
        labels, primitives = zip(*course.steps(chosen), strict=True)
        require_planned(transcript, labels, primitives)
        state = course.start(total)
        mean = np.zeros_like(state.weights.cells)
        for number, candidate in enumerate(chosen):
            state.learn(course.candidates[candidate], transcript[f"table {number + 1}"])
            if self.answer == "average":
                mean += state.weights.cells / course.rounds
        cells = mean if self.answer == "average" else state.weights.cells
        return SyntheticTable(
            public, DenseModel(public.sizes, cells), total, course.measured(chosen)
        )


class _Course:
    """The public course of the rounds: candidates, primitives and shares.

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
    def candidates(self) -> tuple[tuple[int, ...], ...]:
        """The tables to choose from."""
        live = [column for column, size in enumerate(self.public.sizes) if size > 1] or [0]
        return tuple(combinations(live, min(self.method.ways, len(live))))

    @property
    def rounds(self) -> int:
        """How many tables are measured."""
        if self.method.rounds is not None:
            return self.method.rounds
        return min(2 * len(self.public.sizes), len(self.candidates))

    @property
    def _round(self) -> Fraction:
        """The share of the budget that one round gets."""
        return (1 - self.method.total_share(self.public)) / self.rounds

    @property
    def choice_share(self) -> Fraction:
        """The share of one choice; nothing where there is only one candidate."""
        alone = len(self.candidates) == 1
        return Fraction(0) if alone else self._round * Fraction(self.method.selection)

    @property
    def table_share(self) -> Fraction:
        """The share of one measurement."""
        return self._round - self.choice_share

    @cached_property
    def choice(self) -> Choose | None:
        """The choice of a round, if there is one."""
        if len(self.candidates) == 1:
            return None
        share: Loss = self.limit.share(self.choice_share)
        # One record moves an L1 distance by 1, a replaced one by 2, here in steps of the grid.
        moved = Fraction(GRID * (2 if self.relation is Relation.REPLACE_ONE else 1))
        return choose_within(share, len(self.candidates), moved)

    @cached_property
    def noises(self) -> list[CountNoise]:
        """The noise on each candidate, if it is chosen."""
        share = self.limit.share(self.table_share)
        sizes = self.public.sizes
        return [
            count_noise((prod(sizes[column] for column in columns),), share, self.relation)
            for columns in self.candidates
        ]

    @cached_property
    def _expected(self) -> NDArray[np.int64]:
        """What noise alone adds to a measured table, in steps of the grid: a handicap."""
        sums = [GRID * prod(noise.shape) * mean_absolute(noise) for noise in self.noises]
        return np.array([round(min(value, 2.0**50)) for value in sums], dtype=np.int64)

    def start(self, total: float) -> _State:
        """Return weights that have learned nothing yet."""
        return _State(Weights(self.public.sizes), min(max(total, 0.0), float(LARGEST_TOTAL)))

    def scores(self, tables: list[NDArray[np.int64]], state: _State) -> NDArray[np.int64]:
        """Return how wrong the weights are about each candidate, beyond what noise would add.

        Privacy: the learned counts are rounded to whole steps of the grid first; the distances to
        the private counts are then sums of whole numbers.
        """
        model = state.weights.model()
        scores = -self._expected
        for number, (columns, table) in enumerate(zip(self.candidates, tables, strict=True)):
            learned = np.rint(GRID * state.total * model.marginal(columns)).astype(np.int64)
            scores[number] += np.abs(GRID * table - learned).sum()
        return scores

    def steps(self, chosen: list[int]) -> Iterator[tuple[str, Primitive]]:
        """Return the labels and primitives of a run that chose these candidates."""
        total = self.method.total_noise(self.public)
        if total is not None:
            yield TOTAL, total
        for number, candidate in enumerate(chosen):
            if self.choice is not None:
                yield f"choice {number + 1}", self.choice
            yield f"table {number + 1}", self.noises[candidate]

    def measured(self, chosen: list[int]) -> list[NoisyTable]:
        """Return what was measured, for the reader."""
        return [
            NoisyTable(
                f"table {number + 1}",
                self.candidates[candidate],
                (0,) * len(self.candidates[candidate]),
                prod(self.noises[candidate].shape),
                self.noises[candidate].standard_deviation,
            )
            for number, candidate in enumerate(chosen)
        ]

    def choice_step(self, loss: Loss) -> PlanStep:
        """Return the line of a plan about all choices."""
        assert self.choice is not None
        # P(a choice falls short by t) ≤ candidates · exp(−rate · t), solved for 1/20.
        short = log(20 * len(self.candidates)) / float(self.choice.rate) / GRID
        return PlanStep(
            what=f"{self.rounds} choices among {len(self.candidates)} tables",
            loss=loss,
            noise=self.choice.law,
            error=f"a chosen table is at most {short:,.4g} rows less wrong than the worst, 19 "
            "times in 20",
            figures={"margin": short, "candidates": float(len(self.candidates))},
        )


@dataclass
class _State:
    """What has been learned: weights, and the number of rows they stand for."""

    weights: Weights
    total: float

    def learn(self, columns: tuple[int, ...], noisy: NDArray[np.int64]) -> None:
        """Learn a measured table."""
        # Without any rows there are no shares; the weights stay as they are.
        if self.total > 0:
            self.weights.learn(columns, noisy / self.total)
