"""TopStrings: frequent strings chosen one after another by private choices."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

from sfumato.data.sequences import SequencesPublic
from sfumato.mechanisms.choose import Choose
from sfumato.privacy.budget import Budget
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.parameters import Whole, parameter
from sfumato.privacy.plan import Plan, PlanStep
from sfumato.privacy.program import Ask, Program
from sfumato.sequence.frequent_strings import FrequentStrings
from sfumato.sequence.queries import CandidateCounts, Candidates
from sfumato.sequence.sequence_method import SequenceMethod, slice_epsilon

__all__ = ["TopStrings"]

#: The most candidates of one choice.
MOST_CANDIDATES = 2**22


def _label(place: int) -> str:
    return f"string {place + 1}"


@dataclass(frozen=True, kw_only=True)
class TopStrings(SequenceMethod[FrequentStrings]):
    """Release a list of frequent strings, chosen one by one; a baseline for `SuffixTree`.

    Parameters
    ----------
    epsilon
        Privacy loss for one unit of the sequences (sequence or person).
    longest
        Length limit: only the first `longest` symbols of a sequence are used; its end counts as a
        symbol. By default the limit is chosen privately.
    limit_share
        Share of epsilon for the private choice of the length limit.
    largest_limit
        Largest length limit that may be chosen.
    strings
        Number of strings to choose.

    Notes
    -----
    The first candidates are the single symbols. Each chosen string adds its extensions by one
    symbol to the candidates; they are at most as frequent.

    Privacy: a sequence of at most `longest` symbols changes the count of a string by at most that,
    and all counts in one direction when it is added; each choice gets an equal share
    (docs/proofs/top-strings.md).
    """

    proof: ClassVar[str] = "top-strings.md"
    example: ClassVar[dict[str, Any]] = {"strings": 3, "largest_limit": 8}
    small: ClassVar[str] = "at most 100,000 strings, and 2^22 candidates"

    strings: int = parameter(Whole(1, 100_000), 100)

    def check(self, public: SequencesPublic) -> None:
        """Raise where there would be too many candidates."""
        super().check(public)
        most = public.symbols * (self.strings + 1)
        if most > MOST_CANDIDATES:
            raise ValueError(
                f"{self.strings:,} strings over {public.symbols:,} symbols have {most:,} "
                f"candidates; at most {MOST_CANDIDATES:,} are allowed; choose fewer strings"
            )

    def trial(self) -> TopStrings:
        """Return a method that chooses a few strings, which shows all that can go wrong."""
        return replace(self, strings=min(self.strings, 3))

    def _choice(self, candidates: int, limit: int, epsilon: Fraction, relation: Relation) -> Choose:
        return Choose(
            candidates=candidates,
            sensitivity=Fraction(limit),
            epsilon=epsilon,
            monotone=relation is Relation.ADD_REMOVE,
        )

    def plan(self, public: SequencesPublic) -> Plan:
        """Return what the choices will cost and how far they may fall short."""
        self.check(public)
        limit, each = self.per_limit()
        epsilon, relation = self.record_epsilon(public)
        most = public.symbols * self.strings
        primitive = self._choice(most, limit, epsilon * self.left() / self.strings, relation)
        # P(a choice falls short by t) ≤ candidates · exp(−rate · t), solved for 1/20.
        short = math.log(20 * most) / float(primitive.rate)
        step = PlanStep(
            what=f"{self.strings} choices among up to {most:,} strings",
            loss=self.working_loss().share(self.left()),
            noise="permute-and-flip",
            error=f"each at most {short:,.4g} occurrences short of the best{each}, 19 times in 20",
            figures={"margin": short},
        )
        return Plan(
            method=self.name,
            guarantee=self.guarantee(public),
            steps=(*self.limit_steps(public), step),
            notes=(
                f"Strings whose counts are less than {short:,.4g}{each} apart cannot be "
                "distinguished: unless the most frequent strings occur more often than that, the "
                "list may hold strings that are rare or do not occur. No counts are released.",
            ),
        )

    def program(self, public: SequencesPublic, budget: Budget) -> Program[FrequentStrings]:
        """Ask for one string after another."""
        labels = [_label(place) for place in range(self.strings)]
        limit, slices = yield from self.find_limit_and_split(
            budget, labels, [Fraction(1)] * self.strings
        )
        candidates = Candidates(public.symbols)
        for choices, (label, part) in enumerate(zip(labels, slices, strict=True)):
            choice = self._choice(
                len(candidates.strings), limit, slice_epsilon(part), part.relation
            )
            query = CandidateCounts(candidates, limit, choices)
            candidates.take(int((yield Ask(part, choice, query, label))))
        return FrequentStrings(public, [string for _, string in candidates.chosen], limit=limit)
