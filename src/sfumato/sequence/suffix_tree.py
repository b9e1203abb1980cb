"""SuffixTree: a private prediction suffix tree, grown by PrivTree."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np

from sfumato import noise as randomness
from sfumato.data.sequences import SequencesPublic
from sfumato.mechanisms.privtree import TreeSplits, grow_tree
from sfumato.privacy.budget import Budget
from sfumato.privacy.loss import Number
from sfumato.privacy.parameters import SHARE, OneOf, OrNone, Whole, parameter
from sfumato.privacy.plan import Plan, PlanStep
from sfumato.privacy.program import FINISH, Ask, Program
from sfumato.sequence.combining import Noisy, combined
from sfumato.sequence.context_tree import MOST_CELLS, ContextTree
from sfumato.sequence.generation import extended
from sfumato.sequence.model import SequenceModel
from sfumato.sequence.queries import ContextFrontier, Followers
from sfumato.sequence.sequence_method import (
    SequenceMethod,
    exact_share,
    leaf_noise,
    margin,
    slice_epsilon,
)
from sfumato.sequence.shrinkage import clipped, shrunk
from sfumato.sequence.suffix_model import SuffixModel

__all__ = ["SuffixTree"]

#: The names of measurements in transcripts.
SPLITS, HISTOGRAMS, LEAVES = "splits", "histograms", "leaves"
#: The histograms of the first levels are measured by themselves where they are split: sums over
#: all leaves below them would be noisier. These are their weights, and that of the leaves.
UPPER = {"symbols": Fraction(1), "pairs": Fraction(2)}
LEAF_WEIGHT = Fraction(13)
#: No context has more symbols than this, unless more are asked for.
MOST_LEVELS = 100


@dataclass(frozen=True, kw_only=True)
class SuffixTree(SequenceMethod[SequenceModel]):
    """Release a prediction suffix tree: a Markov model whose contexts are as long as data allow.

    Parameters
    ----------
    epsilon
        Privacy loss for one unit of the sequences (sequence or person).
    longest
        The length limit, if it is declared: only the first so many symbols of a sequence are used,
        its end counted as one. By default it is chosen privately, so that about 19 of 20 sequences
        are used whole.
    limit_share
        The share of epsilon that this choice takes.
    largest_limit
        The largest limit that may be chosen.
    tree_share
        The share of what is left that decides which contexts are split; by default a fifth, or
        one part in β = symbols + 1 where that is more or the published repair is asked for.
    threshold
        A context is split if its score, the number of followers other than the most frequent one,
        clearly exceeds this.
    levels
        The most symbols a context may have; by default as many as the limit, and 100 at most.
    variant
        `"tight"` for the smallest noise on splits that is proved, `"paper"` for the published one.
    repair
        `"shrink"` draws noisy histograms towards those of shorter contexts, as far as noise
        commands; `"clip"` sets negative counts to 0, as published.

    Notes
    -----
    Privacy: one sequence is at most `longest` symbols, each on one path from the root and in one
    leaf. Splits are PrivTree's with sensitivity `longest`; the histograms of all leaves, of the
    root, and of the contexts of one symbol get geometric noise of that L1 sensitivity each; under
    replace-one a sequence counts as one removed and one added (docs/proofs/suffix-tree.md).
    """

    proof: ClassVar[str] = "suffix-tree.md"
    example: ClassVar[dict[str, Any]] = {"levels": 2, "largest_limit": 8}
    former_names: ClassVar[dict[str, str]] = {"noise": "variant"}

    tree_share: Number | None = parameter(OrNone(SHARE), None)
    threshold: int = parameter(Whole(0, 2**53), 0)
    levels: int | None = parameter(OrNone(Whole(0, 2**20)), None)
    variant: Literal["tight", "paper"] = parameter(OneOf(("tight", "paper")), "tight")
    repair: Literal["shrink", "clip"] = parameter(OneOf(("shrink", "clip")), "shrink")

    def check(self, public: SequencesPublic) -> None:
        """Raise where not even the contexts of one symbol have room."""
        super().check(public)
        cells = (public.symbols + 2) * (public.symbols + 1)
        if cells > MOST_CELLS:
            raise ValueError(
                f"an alphabet of {public.symbols:,} symbols has {cells:,} pairs of neighbours, of "
                f"which {MOST_CELLS:,} are allowed; group symbols that are alike"
            )

    def shares(self, public: SequencesPublic) -> tuple[Fraction, Fraction]:
        """Return the shares of tree and histograms of what is left of the budget."""
        even = Fraction(1, public.symbols + 1)
        if self.tree_share is not None:
            tree = exact_share(self.tree_share)
        else:
            tree = even if self.repair == "clip" else max(even, Fraction(1, 5))
        return tree, 1 - tree

    def _splits(self, public: SequencesPublic, limit: int) -> TreeSplits:
        """Return the primitive that decides which contexts are split."""
        epsilon, relation = self.record_epsilon(public)
        return TreeSplits(
            epsilon=epsilon * self.left() * self.shares(public)[0],
            fan_out=public.symbols + 1,
            # A context is what came before some symbol, the start included: at most `limit` long.
            levels=min(limit, MOST_LEVELS if self.levels is None else self.levels),
            sensitivity=limit,
            threshold=self.threshold,
            relation=relation,
            noise=self.variant,
        )

    def plan(self, public: SequencesPublic) -> Plan:
        """Return what tree and histograms will cost, and how much noise they get."""
        self.check(public)
        epsilon, relation = self.record_epsilon(public)
        limit, each = self.per_limit()
        tree, leaves = (self.left() * share for share in self.shares(public))
        splits = self._splits(public, limit)
        weighed = sum(UPPER.values(), LEAF_WEIGHT) if self.repair == "shrink" else LEAF_WEIGHT
        noise = leaf_noise((1,), limit, epsilon * leaves * LEAF_WEIGHT / weighed, relation)
        # P(|Laplace(λ)| > 3λ) = e^−3 < 1/20.
        reach, off = 3 * float(splits.scale), margin(noise)
        steps = (
            *self.limit_steps(public),
            PlanStep(
                what="which contexts are split",
                loss=self.working_loss().share(tree),
                noise=f"Laplace, scale {float(splits.scale):,.4g}{each}",
                error=f"scores count as off by at most {reach:,.4g}{each}, 19 times in 20",
                figures={"margin": reach, "decay": float(splits.decay)},
            ),
            PlanStep(
                what="what follows each context",
                loss=self.working_loss().share(leaves),
                noise=f"± {noise.standard_deviation:,.4g} (1 s.d.) a count{each}",
                error=f"± {off:,.4g} a count{each}",
                figures={"margin": off, "standard_deviation": noise.standard_deviation},
            ),
        )
        notes = (
            "How many contexts there will be depends on the data and cannot be told before.",
            *self._limit_notes(),
        )
        return Plan(
            method=self.name,
            guarantee=self.guarantee(public),
            steps=steps,
            notes=notes,
            sizes=self.sizes(public),
        )

    def _limit_notes(self) -> tuple[str, ...]:
        if self.longest is not None:
            return (f"Of each sequence the first {self.longest:,} symbols are used, its end "
                    "counted as one.",)  # fmt: skip
        return (
            "Noise grows with the length limit; declare `longest` where a good one is known, and "
            "nothing is spent on it.",
        )

    def program(self, public: SequencesPublic, budget: Budget) -> Program[SequenceModel]:
        """Ask level by level which contexts are split, then what follows them."""
        limit, (splits, histograms) = yield from self.take_slices(
            budget, [SPLITS, HISTOGRAMS], self.shares(public)
        )
        tree = ContextTree(public.symbols)
        root = ContextFrontier.of(tree, limit)
        yield from grow_tree(splits, root, self._splits(public, limit), SPLITS)
        tree.finish()
        queries = self._histograms(tree, limit)
        weights = [UPPER.get(label, LEAF_WEIGHT) for label in queries]
        parts = histograms.split(list(queries), weights)
        noises = [
            leaf_noise(query.shape, limit, slice_epsilon(part), part.relation)
            for part, query in zip(parts, queries.values(), strict=True)
        ]
        measured = yield [
            Ask(part, noise, query, label)
            for part, noise, (label, query) in zip(parts, noises, queries.items(), strict=True)
        ]
        yield FINISH
        *upper, leaves = [
            Noisy(values.astype(np.float64), noise.standard_deviation)
            for values, noise in zip(measured, noises, strict=True)
        ]
        return SequenceModel(
            public,
            self._model(tree, limit, leaves, upper),
            limit=limit,
            deviation=leaves.deviation,
            origin="suffix tree",
        )

    def _histograms(self, tree: ContextTree, limit: int) -> dict[str, Followers]:
        """Return what is asked of a whole tree: about its upper contexts, and lastly its leaves."""
        # The last level is never split.
        upper = list(UPPER)[: len(tree.levels) - 1] if self.repair == "shrink" else []
        nodes = {label: {level: tree.levels[level]} for level, label in enumerate(upper)}
        nodes[LEAVES] = {level: ~split for level, split in enumerate(tree.levels)}
        return {label: Followers(tree, limit, chosen) for label, chosen in nodes.items()}

    def _model(
        self, tree: ContextTree, limit: int, leaves: Noisy, upper: list[Noisy]
    ) -> SuffixModel:
        """Return the model that noisy histograms make."""
        if self.repair == "clip":
            return SuffixModel(tree.children(), clipped(tree, leaves.counts))
        counts, variances = combined(tree, leaves, upper)
        histograms = shrunk(tree, counts, variances) * (leaves.deviation or 1.0)
        # The seed is public and always the same; drawing is post-processing.
        return extended(SuffixModel(tree.children(), histograms), limit, randomness.generator(0))
