"""PrivGene: a linear classifier by a private genetic search."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato import noise
from sfumato.data.table import TablePublic
from sfumato.mechanisms.choose import Choose, ChooseSeveral
from sfumato.privacy.budget import Budget
from sfumato.privacy.canonical import canonical
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.parameters import Whole, parameter
from sfumato.privacy.plan import Plan, PlanStep, Size
from sfumato.privacy.program import Ask, Program
from sfumato.tabular.classifier import Classifier, ClassifyingMethod, direction
from sfumato.tabular.queries import Records, RuleScores

Floats = NDArray[np.float64]

LAST = "winner"


@dataclass(frozen=True, kw_only=True)
class PrivGene(ClassifyingMethod):
    """Release a linear classifier found by a private genetic search.

    Parameters
    ----------
    epsilon
        Privacy loss for one unit of the table.
    target
        The column to predict.
    positive
        The values of the target that are positive; all others are negative.
    rounds
        Number of generations. Each gets an equal share of epsilon.
    population
        Number of candidates per generation.
    parents
        Number of candidates chosen as parents of the next generation.

    Notes
    -----
    Privacy: candidates are made from what is public and from earlier choices; the number of
    records that a candidate gets wrong changes by at most 1, all in one direction when a record is
    added, so each round is a private choice of ε/rounds (docs/proofs/privgene.md).
    """

    proof: ClassVar[str] = "privgene.md"
    example: ClassVar[dict[str, Any]] = {"rounds": 2, "population": 8, "parents": 2}

    rounds: int = parameter(Whole(1, 1000), 8)
    population: int = parameter(Whole(2, 10_000), 200)
    parents: int = parameter(Whole(2, 1000), 10)

    def check(self, public: TablePublic) -> None:
        """Raise where the target is unknown or more are to breed than there are."""
        super().check(public)
        if self.parents > self.population:
            raise ValueError(
                f"parents must be at most the population of {self.population}; got {self.parents}"
            )

    def choices(self, public: TablePublic) -> dict[str, Choose | ChooseSeveral]:
        """Return the choices of all rounds, by their labels; the last one chooses the winner."""
        limit, relation = self.record_budget(public)
        share = limit.share(Fraction(1, self.rounds)).epsilon  # type: ignore[union-attr]
        common: dict[str, Any] = {
            "candidates": self.population,
            "sensitivity": Fraction(1),
            "epsilon": share,
            "monotone": relation is Relation.ADD_REMOVE,
        }
        breeding: dict[str, Choose | ChooseSeveral] = {
            f"parents {number}": ChooseSeveral(count=self.parents, **common)
            for number in range(1, self.rounds)
        }
        return {**breeding, LAST: Choose(**common)}

    def plan(self, public: TablePublic) -> Plan:
        """Return how far below the best of its generation the winner may fall."""
        self.check(public)
        last = self.choices(public)[LAST]
        short = math.log(20 * self.population) / float(last.rate)
        step = PlanStep(
            what=f"{self.rounds} generations of {self.population}",
            loss=self.loss(),
            noise="exponential mechanism, then permute-and-flip",
            error=f"the winner makes at most {short:,.4g} more mistakes than the best of the last "
            "generation, 19 times in 20; the error of that one is not known in advance",
            figures={"margin": short},
        )
        candidates = self.task(public).features.dimension * self.population
        return Plan(
            method=self.name,
            guarantee=self.guarantee(public),
            steps=(step,),
            sizes=(Size(candidates, "candidate weights"),),
        )

    def _first(self, public: TablePublic) -> Floats:
        """Return the candidates of the first generation, one a column."""
        shape = (self.task(public).features.dimension, self.population)
        return np.asarray(self._generator(public, []).uniform(-1.0, 1.0, shape))

    def _next(self, public: TablePublic, candidates: Floats, chosen: list[list[int]]) -> Floats:
        """Return the generation that the latest choice leads to."""
        # Mutations become smaller from round to round.
        reach = 1.0 - len(chosen) / self.rounds
        parents = candidates[:, chosen[-1]]
        return _breed(parents, self.population, reach, self._generator(public, chosen))

    def _generator(self, public: TablePublic, chosen: list[list[int]]) -> Any:
        """Return a generator that what is public and what was chosen determine."""
        facts = [self.parameters(), public.to_json(), chosen]
        return noise.generator(int.from_bytes(hashlib.sha256(canonical(facts)).digest()[:8]))

    def program(self, public: TablePublic, budget: Budget) -> Program[Classifier]:
        """Ask which candidates breed, generation after generation, and which one wins."""
        choices, task = self.choices(public), self.task(public)
        records, candidates = Records(task), self._first(public)
        chosen = list[list[int]]()
        for part, (label, choice) in zip(budget.split(list(choices)), choices.items(), strict=True):
            scores = RuleScores(records, direction(candidates))
            told = yield Ask(part, choice, scores, label)
            if label != LAST:
                chosen.append(told.tolist())
                candidates = self._next(public, candidates, chosen)
        winner = candidates[:, told]
        about = (
            f"Its weights are the winner of {self.rounds} generations of {self.population} "
            "candidates, chosen by chance but the likelier the fewer mistakes they made."
        )
        return Classifier(public, task, winner, about)


def _breed(parents: Floats, population: int, reach: float, generator: Any) -> Floats:
    """Return the parents and their children.

    A child takes the weights before a random place from one parent and the rest from another, and
    one of its weights moves by at most the reach.
    """
    dimension, count = parents.shape
    children = population - count
    mothers = generator.integers(0, count, children)
    fathers = generator.integers(0, count, children)
    cuts = generator.integers(0, dimension + 1, children)
    first = np.arange(dimension)[:, None] < cuts[None, :]
    crossed = np.where(first, parents[:, mothers], parents[:, fathers])
    places = generator.integers(0, dimension, children)
    crossed[places, np.arange(children)] += reach * generator.uniform(-1.0, 1.0, children)
    return np.concatenate([parents, crossed], axis=1)
