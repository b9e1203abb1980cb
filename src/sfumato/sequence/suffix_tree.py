"""SuffixTree: a private prediction suffix tree, grown by PrivTree."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato import noise as randomness
from sfumato.data.sequences import Sequences, SequencesPublic
from sfumato.engines.counts import SequenceCounts
from sfumato.mechanisms.privtree import TreeSplits, grow
from sfumato.privacy.budget import Budget
from sfumato.privacy.loss import Number
from sfumato.privacy.parameters import SHARE, OneOf, OrNone, Whole, parameter
from sfumato.privacy.plan import Plan, PlanStep
from sfumato.privacy.transcript import Transcript
from sfumato.sequence.combining import Noisy, combined
from sfumato.sequence.context_tree import MOST_CELLS, ContextTree
from sfumato.sequence.generation import extended
from sfumato.sequence.model import SequenceModel
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


class _Growing:
    """The contexts of the private sequences while the tree grows. Private."""

    def __init__(self, counts: SequenceCounts, tree: ContextTree) -> None:
        self._walk = counts.contexts()
        self._tree = tree
        self._histograms = self._walk.histograms()
        self._leaves: list[NDArray[np.int64]] = []
        #: The histograms of what was split, for the first levels. Private.
        self.upper: list[NDArray[np.int64]] = []

    @property
    def parents(self) -> NDArray[np.intp]:
        """Where the parent of each askable context was in the frontier before."""
        return self._tree.parents

    def scores(self) -> NDArray[np.int64]:
        """Return how often something else than the most frequent symbol follows each context."""
        asked = self._histograms[self._tree.askable]
        return np.asarray(asked.sum(axis=1) - asked.max(axis=1, initial=0), dtype=np.int64)

    def descend(self, split: NDArray[np.bool_]) -> None:
        """Keep the histograms of what is not split and go on to the children of what is."""
        whole = self._tree.descend(split)
        self._leaves.append(self._histograms[~whole])
        if len(self.upper) < len(UPPER) and whole.any():
            self.upper.append(self._histograms[whole])
        self._walk.descend(whole)
        self._histograms = self._walk.histograms()

    def leaves(self) -> NDArray[np.int64]:
        """Return the histograms of all leaves, once the tree is grown."""
        left = self._histograms if self._tree.frontier else self._histograms[:0]
        self._tree.finish()
        return np.concatenate([*self._leaves, left])


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
    noise
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

    tree_share: Number | None = parameter(OrNone(SHARE), None)
    threshold: int = parameter(Whole(0, 2**53), 0)
    levels: int | None = parameter(OrNone(Whole(0, 2**20)), None)
    noise: Literal["tight", "paper"] = parameter(OneOf(("tight", "paper")), "tight")
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

    def _levels(self, limit: int) -> int:
        # A context is what came before some symbol, the start included: at most `limit` long.
        return min(limit, MOST_LEVELS if self.levels is None else self.levels)

    def plan(self, public: SequencesPublic) -> Plan:
        """Return what tree and histograms will cost, and how much noise they get."""
        self.check(public)
        epsilon, relation = self.record_epsilon(public)
        limit, each = self.per_limit()
        tree, leaves = (self.left() * share for share in self.shares(public))
        splits = TreeSplits(
            epsilon=epsilon * tree,
            fan_out=public.symbols + 1,
            levels=self._levels(limit),
            sensitivity=limit,
            threshold=self.threshold,
            relation=relation,
            noise=self.noise,
        )
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

    def _measure(self, data: Sequences, budget: Budget) -> None:
        public = data.public
        limit, counts, (splits, histograms) = self.slices(
            data, budget, [SPLITS, HISTOGRAMS], self.shares(public)
        )
        tree = ContextTree(public.symbols)
        growing = _Growing(counts, tree)
        grow(
            splits,
            growing,
            fan_out=public.symbols + 1,
            levels=self._levels(limit),
            sensitivity=limit,
            threshold=self.threshold,
            noise=self.noise,
            label=SPLITS,
        )
        private = {LEAVES: growing.leaves(), **dict(zip(UPPER, growing.upper, strict=False))}
        weights = self._weights(tree)
        parts = histograms.split(list(weights), list(weights.values()))
        for label, part in zip(weights, parts, strict=True):
            values = private[label]
            primitive = leaf_noise(values.shape, limit, slice_epsilon(part), part.relation)
            part.measure(primitive, values, label=label)

    def _build(self, public: SequencesPublic, transcript: Transcript) -> SequenceModel:
        limit = self.limit(transcript)
        tree = ContextTree(public.symbols)
        # Without levels nothing was asked.
        for split in transcript.steps(SPLITS) if SPLITS in transcript else ():
            tree.descend(split)
        tree.finish()
        measured = self._measured(public, limit, tree, transcript)
        leaves = measured.pop(LEAVES)
        if self.repair == "clip":
            model = SuffixModel(tree.children(), clipped(tree, leaves.counts))
        else:
            counts, variances = combined(tree, leaves, list(measured.values()))
            histograms = shrunk(tree, counts, variances) * (leaves.deviation or 1.0)
            # The seed is public and always the same; drawing is post-processing.
            model = extended(
                SuffixModel(tree.children(), histograms), limit, randomness.generator(0)
            )
        return SequenceModel(
            public, model, limit=limit, deviation=leaves.deviation, origin="suffix tree"
        )

    def _weights(self, tree: ContextTree) -> dict[str, Fraction]:
        """Return the weights of the histograms that are measured, once the tree is known."""
        if self.repair == "clip":
            return {LEAVES: Fraction(1)}
        # The last level is never split.
        upper = list(UPPER.items())[: len(tree.levels) - 1]
        return {**dict(upper), LEAVES: LEAF_WEIGHT}

    def _measured(
        self, public: SequencesPublic, limit: int, tree: ContextTree, transcript: Transcript
    ) -> dict[str, Noisy]:
        """Return the noisy histograms, each with the noise it got."""
        epsilon, relation = self.record_epsilon(public)
        weights = self._weights(tree)
        whole = epsilon * self.left() * self.shares(public)[1] / sum(weights.values())
        found = {}
        for label, weight in weights.items():
            noise = leaf_noise((1,), limit, whole * weight, relation)
            values = transcript[label].astype(np.float64)
            found[label] = Noisy(values, noise.standard_deviation)
        return found
