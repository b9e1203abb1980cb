"""TopStrings: frequent strings chosen one after another by private choices."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.data.sequences import Sequences, SequencesPublic
from sfumato.engines.counts import Suffixes
from sfumato.mechanisms.choose import Choose
from sfumato.privacy.budget import Budget
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.parameters import Whole, parameter
from sfumato.privacy.plan import Plan, PlanStep
from sfumato.privacy.transcript import Transcript
from sfumato.sequence.frequent_strings import FrequentStrings
from sfumato.sequence.sequence_method import SequenceMethod, slice_epsilon

__all__ = ["TopStrings"]

#: The most candidates of one choice.
MOST_CANDIDATES = 2**22

String = tuple[int, ...]


def _label(place: int) -> str:
    return f"string {place + 1}"


class _Candidates:
    """The strings that may be chosen next: public, as they follow from what was chosen."""

    def __init__(self, alphabet: int) -> None:
        self.alphabet = alphabet
        self.strings: list[String] = [(symbol,) for symbol in range(alphabet)]

    def take(self, place: int) -> String:
        """Replace a candidate by its extensions, which come last, and return it."""
        string = self.strings.pop(place)
        self.strings += [(*string, symbol) for symbol in range(self.alphabet)]
        return string


@dataclass(frozen=True, kw_only=True)
class TopStrings(SequenceMethod[FrequentStrings]):
    """Release a list of frequent strings, chosen one by one: a baseline for `SuffixTree`.

    Parameters
    ----------
    epsilon
        Privacy loss for one unit of the sequences (sequence or person).
    longest
        The length limit, if it is declared; by default it is chosen privately.
    limit_share
        The share of epsilon that this choice takes.
    largest_limit
        The largest limit that may be chosen.
    strings
        How many strings are chosen.

    Notes
    -----
    The first candidates are the single symbols; a string that is chosen makes room for its
    extensions by one symbol, which are not more frequent than it.

    Privacy: a sequence of at most `longest` symbols changes the count of a string by at most that,
    and all counts in one direction when it is added; each choice gets an equal share
    (docs/proofs/top-strings.md).
    """

    proof: ClassVar[str] = "top-strings.md"

    strings: int = parameter(Whole(1, 100_000), 100)

    def check(self, public: SequencesPublic) -> None:
        """Raise where there would be too many candidates."""
        super().check(public)
        most = public.symbols * (self.strings + 1)
        if most > MOST_CANDIDATES:
            raise ValueError(
                f"{self.strings:,} strings over {public.symbols:,} symbols have {most:,} "
                f"candidates, of which {MOST_CANDIDATES:,} are allowed; choose fewer strings"
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
                f"Strings whose counts are less than {short:,.4g}{each} apart cannot be told "
                "apart: unless the most frequent strings occur more often than that, the list may "
                "hold strings that are rare or do not occur. No counts are told.",
            ),
        )

    def _measure(self, data: Sequences, budget: Budget) -> None:
        labels = [_label(place) for place in range(self.strings)]
        limit, cut, slices = self.slices(data, budget, labels, [Fraction(1)] * self.strings)
        candidates, suffixes = _Candidates(data.public.symbols), cut.suffixes()
        counts = _extensions(suffixes, ())
        for label, part in zip(labels, slices, strict=True):
            choice = self._choice(len(counts), limit, slice_epsilon(part), part.relation)
            place = int(part.measure(choice, counts, label=label))
            chosen = candidates.take(place)
            counts = np.concatenate([np.delete(counts, place), _extensions(suffixes, chosen)])

    def _build(self, public: SequencesPublic, transcript: Transcript) -> FrequentStrings:
        candidates = _Candidates(public.symbols)
        chosen = [candidates.take(int(transcript[_label(place)])) for place in range(self.strings)]
        return FrequentStrings(public, chosen, limit=self.limit(transcript))


def _extensions(suffixes: Suffixes, string: String) -> NDArray[np.int64]:
    """Return how often each extension of a string by one symbol occurs. Private."""
    return np.asarray(suffixes.followers(string)[:-1], dtype=np.int64)
