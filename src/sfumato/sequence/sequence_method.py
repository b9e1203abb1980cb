"""What all methods for sequences share: the length limit, and the slices behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, TypeVar

from sfumato.data.sequences import Sequences, SequencesPublic
from sfumato.mechanisms.laplace import GeometricNoise
from sfumato.privacy.budget import Budget
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import Number, PureDP
from sfumato.privacy.method import Method
from sfumato.privacy.parameters import SHARE, OrNone, Whole, parameter
from sfumato.privacy.plan import PlanStep, Size
from sfumato.privacy.program import Program
from sfumato.privacy.release import Release
from sfumato.sequence import length_limit

__all__ = [
    "LARGEST_LIMIT",
    "SequenceMethod",
    "exact_share",
    "leaf_noise",
    "slice_epsilon",
]

#: No sequence is ever longer than this.
LARGEST_LIMIT = 2**31

ReleaseT = TypeVar("ReleaseT", bound=Release)


@dataclass(frozen=True, kw_only=True)
class SequenceMethod(Method[Sequences, ReleaseT]):
    """A method for sequences whose length is limited first.

    Parameters
    ----------
    epsilon
        Privacy loss for one unit of the sequences (sequence or person).
    longest
        Length limit: only the first `longest` symbols of a sequence are used; its end counts as a
        symbol. By default the limit is chosen privately, so that about 19 of 20 sequences are used
        whole.
    limit_share
        Share of epsilon for the private choice of the length limit.
    largest_limit
        Largest length limit that may be chosen. A generous value costs almost no accuracy.
    """

    kind: ClassVar[str] = "sequences"

    longest: int | None = parameter(OrNone(Whole(1, LARGEST_LIMIT)), None)
    limit_share: Number = parameter(SHARE, Fraction(1, 20))
    largest_limit: int = parameter(Whole(1, LARGEST_LIMIT), 2**20)

    def left(self) -> Fraction:
        """Return the share of the budget that is left once the limit is known."""
        return 1 - exact_share(self.limit_share) if self.longest is None else Fraction(1)

    def find_limit_and_split(
        self, budget: Budget, names: Sequence[str], weights: Sequence[Fraction]
    ) -> Program[tuple[int, list[Budget]]]:
        """Return the length limit, declared or chosen, and slices of what is left of the budget.

        Parameters
        ----------
        budget
            The whole budget; if the limit is chosen, that is paid here.
        names, weights
            The slices, and their weights among each other.
        """
        total = sum(weights, Fraction(0))
        shares = [self.left() * weight / total for weight in weights]
        if self.longest is not None:
            return self.longest, budget.split(names, shares)
        first, *parts = budget.split(
            [length_limit.LABEL, *names], [exact_share(self.limit_share), *shares]
        )
        limit = yield from length_limit.find_limit(first, self.largest_limit)
        return limit, parts

    def record_epsilon(self, public: SequencesPublic) -> tuple[Fraction, Relation]:
        """Return ε for one sequence, and its relation."""
        limit, relation = self.record_budget(public)
        assert isinstance(limit, PureDP)
        return limit.epsilon, relation

    def sizes(self, public: SequencesPublic) -> tuple[Size, ...]:
        """Return what is counted once contexts of one symbol are; deeper ones the data decide."""
        return (Size((public.symbols + 2) * (public.symbols + 1), "pairs of symbols"),)

    def limit_steps(self, public: SequencesPublic) -> list[PlanStep]:
        """Return the line of a plan for the choice of the limit, if it is chosen."""
        if self.longest is not None:
            return []
        epsilon, relation = self.record_epsilon(public)
        share = exact_share(self.limit_share)
        off = length_limit.limit_margin(epsilon * share, self.largest_limit, relation)
        return [
            PlanStep(
                what=f"the length limit, up to {self.largest_limit:,}",
                loss=self.working_loss().share(share),
                noise="sparse vector",
                error=f"at most {off:,.4g} sequences off the 95 % aimed at, 19 times in 20",
                figures={"margin": off},
            )
        ]

    def per_limit(self) -> tuple[int, str]:
        """Return the limit for which a plan gives figures, and what to say of them."""
        if self.longest is None:
            return 1, " for each symbol of the limit"
        return self.longest, ""


def slice_epsilon(budget: Budget) -> Fraction:
    """Return what is left of a slice of a pure budget."""
    left = budget.remaining
    assert isinstance(left, PureDP)
    return left.epsilon


def exact_share(share: Number) -> Fraction:
    """Return a parsed share as the fraction it is."""
    assert isinstance(share, Fraction)
    return share


def leaf_noise(
    cells: tuple[int, ...], limit: int, epsilon: Fraction, relation: Relation
) -> GeometricNoise:
    """Return noise for counts of which one sequence moves `limit` by 1 each, in all.

    Parameters
    ----------
    cells
        The shape of the counts.
    limit
        The length limit: how many counts one added or removed sequence moves by 1.
    epsilon
        The whole slice.
    relation
        What a neighbour is; a replaced sequence is one removed and one added.
    """
    moves = limit * (2 if relation is Relation.REPLACE_ONE else 1)
    return GeometricNoise(shape=cells, sensitivity=Fraction(moves), epsilon=epsilon)
