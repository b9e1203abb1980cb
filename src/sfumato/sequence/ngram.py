"""NGram: noisy counts of variable-length n-grams, and the Markov model they make."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from sfumato.data.sequences import SequencesPublic
from sfumato.mechanisms.count_noise import margin
from sfumato.mechanisms.laplace import GeometricNoise
from sfumato.privacy.budget import Budget
from sfumato.privacy.parameters import Whole, parameter
from sfumato.privacy.plan import Plan, PlanStep
from sfumato.privacy.program import FINISH, Ask, Program
from sfumato.sequence.context_tree import MOST_CELLS, GramTree
from sfumato.sequence.model import SequenceModel
from sfumato.sequence.queries import GramCounts
from sfumato.sequence.sequence_method import SequenceMethod, leaf_noise

__all__ = ["NGram"]


def _label(length: int) -> str:
    return f"strings of {length}"


@dataclass(frozen=True, kw_only=True)
class NGram(SequenceMethod[SequenceModel]):
    """Release noisy counts of frequent n-grams as a Markov model; a baseline for `SuffixTree`.

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
    grams
        Maximum length of an n-gram; the end of a sequence counts as a symbol.

    Notes
    -----
    Chen, Acs and Castelluccia, *Differentially private sequential data publication via
    variable-length n-grams*, CCS 2012, with the same budget for every length.

    Privacy: a sequence of at most `longest` symbols contains at most `longest` n-grams of one
    length, so the counts of a level have that L1 sensitivity, and twice that under replace-one;
    each level gets an equal share, and noisy counts alone determine what is expanded
    (docs/proofs/ngram.md).
    """

    proof: ClassVar[str] = "ngram.md"
    example: ClassVar[dict[str, Any]] = {"grams": 2, "largest_limit": 8}

    grams: int = parameter(Whole(1, 100), 5)

    def check(self, public: SequencesPublic) -> None:
        """Raise where the alphabet is too large."""
        super().check(public)
        if public.symbols + 1 > MOST_CELLS:
            raise ValueError(
                f"the alphabet has {public.symbols:,} symbols; at most {MOST_CELLS:,} are allowed; "
                "merge similar symbols"
            )

    def _noise(self, cells: int, limit: int, public: SequencesPublic) -> GeometricNoise:
        epsilon, relation = self.record_epsilon(public)
        return leaf_noise((cells,), limit, epsilon * self.left() / self.grams, relation)

    def _tree(self, limit: int, public: SequencesPublic) -> GramTree:
        # A string without occurrences is expanded with probability about 1/|alphabet|: of its
        # children, one on average.
        scale = float(self._noise(1, limit, public).scale)
        return GramTree(public.symbols, scale * math.log(max(public.symbols, 2) / 2))

    def plan(self, public: SequencesPublic) -> Plan:
        """Return what each length will cost and how much noise it gets."""
        self.check(public)
        limit, each = self.per_limit()
        noise = self._noise(1, limit, public)
        off = margin(noise)
        loss = self.working_loss().share(self.left() / self.grams)
        steps = [
            PlanStep(
                what=_label(length),
                loss=loss,
                noise=f"± {noise.standard_deviation:,.4g} (1 s.d.) per count{each}",
                error=f"± {off:,.4g} per count{each}",
                figures={"margin": off, "standard_deviation": noise.standard_deviation},
            )
            for length in range(1, self.grams + 1)
        ]
        return Plan(
            method=self.name,
            guarantee=self.guarantee(public),
            steps=(*self.limit_steps(public), *steps),
            notes=(
                "The number of counted strings depends on the data and is not known in advance.",
            ),
            sizes=self.sizes(public) if self.grams > 1 else (),
        )

    def program(self, public: SequencesPublic, budget: Budget) -> Program[SequenceModel]:
        """Ask length by length for the counts of the strings that were expanded."""
        labels = [_label(length) for length in range(1, self.grams + 1)]
        limit, slices = yield from self.find_limit_and_split(
            budget, labels, [Fraction(1)] * self.grams
        )
        tree = self._tree(limit, public)
        for length, (label, part) in enumerate(zip(labels, slices, strict=True), 1):
            if tree.frontier == 0:
                break
            noise = self._noise(tree.frontier, limit, public)
            tree.add((yield Ask(part, noise, GramCounts(tree, limit, length), label)))
        yield FINISH
        return SequenceModel(
            public,
            tree.model(),
            limit=limit,
            deviation=self._noise(1, limit, public).standard_deviation,
            origin="tree of n-grams",
        )
