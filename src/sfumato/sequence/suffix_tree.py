"""SuffixTree: a private prediction suffix tree, grown by PrivTree."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato import noise as randomness
from sfumato.data.sequences import SequencesPublic
from sfumato.mechanisms.count_noise import margin
from sfumato.mechanisms.laplace import LARGEST_COUNT
from sfumato.mechanisms.privtree import TreeSplits, grow_tree
from sfumato.privacy.budget import Budget
from sfumato.privacy.loss import Number
from sfumato.privacy.parameters import SHARE, OneOf, OrNone, Whole, parameter
from sfumato.privacy.plan import Plan, PlanStep
from sfumato.privacy.program import FINISH, Ask, Program
from sfumato.sequence.context_tree import MOST_CELLS, ContextTree
from sfumato.sequence.generation import extend_model
from sfumato.sequence.model import SequenceModel
from sfumato.sequence.queries import ContextFrontier, Followers
from sfumato.sequence.sequence_method import SequenceMethod, exact_share, leaf_noise, slice_epsilon
from sfumato.sequence.suffix_model import SuffixModel

__all__ = ["SuffixTree"]

#: The names of measurements in transcripts.
SPLITS, HISTOGRAMS, LEAVES = "splits", "histograms", "leaves"
#: The histograms of the first levels are measured by themselves where they are split: sums over
#: all leaves below them would be noisier. These are their weights, and that of the leaves. The
#: noise on symbols grows by the inverse of their share once the root is split, so it may not be
#: small: with 4 of 17 an ε four times as large makes up for the split.
UPPER = {"symbols": Fraction(4), "pairs": Fraction(3)}
LEAF_WEIGHT = Fraction(13)
#: Rounds of scaling that balance contexts with symbols.
BALANCE_ROUNDS = 30
#: By default a context is split if an average child of it would have a score of this many times the
#: scale of the noise on one count: the noise exceeds that with a probability of e⁻⁴, 2 %. Of 1/2,
#: 2, 4, 8 and 16, those from 4 on had about the same errors on six sets (benchmarks/laws.py).
CHILD_SCORE = 4
#: No context has more symbols than this, unless more are asked for.
MOST_LEVELS = 100


@dataclass(frozen=True, kw_only=True)
class SuffixTree(SequenceMethod[SequenceModel]):
    """Release a prediction suffix tree: a Markov model with contexts of variable length.

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
        Largest length limit that may be chosen.
    tree_share
        Share of the remaining budget for deciding which contexts are split. Default: the larger of
        1/5 and 1/β, where β = symbols + 1; 1/β with `repair="clip"`.
    threshold
        A context is split if its score clearly exceeds this. The score is the number of following
        symbols other than the most frequent one. Default: 4·β times the scale of the noise on the
        count of one following symbol, since the counts of smaller contexts would be noise; 0 with
        `repair="clip"`.
    levels
        Maximum number of symbols in a context. Default: the length limit, and at most 100.
    variant
        Noise on splits: `"tight"`, the smallest that is proved, or `"paper"`, as published.
    repair
        `"shrink"`: noisy histograms are shrunk towards those of shorter contexts, the more the
        larger the noise. `"clip"`: negative counts are set to 0, as published.

    Notes
    -----
    Privacy: one sequence has at most `longest` symbols, each on one path from the root and in one
    leaf. Splits are PrivTree's with sensitivity `longest`; the histograms of all leaves, of the
    root, and of the contexts of one symbol get geometric noise of that L1 sensitivity each; under
    replace-one a sequence counts as one removed and one added (docs/proofs/suffix-tree.md).
    """

    proof: ClassVar[str] = "suffix-tree.md"
    example: ClassVar[dict[str, Any]] = {"levels": 2, "largest_limit": 8}
    former_names: ClassVar[dict[str, str]] = {"noise": "variant"}

    tree_share: Number | None = parameter(OrNone(SHARE), None)
    threshold: int | None = parameter(OrNone(Whole(0, 2**53)), None)
    levels: int | None = parameter(OrNone(Whole(0, 2**20)), None)
    variant: Literal["tight", "paper"] = parameter(OneOf(("tight", "paper")), "tight")
    repair: Literal["shrink", "clip"] = parameter(OneOf(("shrink", "clip")), "shrink")

    def check(self, public: SequencesPublic) -> None:
        """Raise where not even the contexts of one symbol have room."""
        super().check(public)
        cells = (public.symbols + 2) * (public.symbols + 1)
        if cells > MOST_CELLS:
            raise ValueError(
                f"an alphabet of {public.symbols:,} symbols has {cells:,} pairs of neighbours; at "
                f"most {MOST_CELLS:,} are allowed; merge similar symbols"
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
        tree, histograms = (epsilon * self.left() * share for share in self.shares(public))
        threshold = self.threshold
        if threshold is None:
            noise = leaf_noise((1,), limit, histograms, relation)
            least = CHILD_SCORE * (public.symbols + 1) * noise.scale
            threshold = 0 if self.repair == "clip" else min(round(least), LARGEST_COUNT)
        return TreeSplits(
            epsilon=tree,
            fan_out=public.symbols + 1,
            # A context is what came before some symbol, the start included: at most `limit` long.
            levels=min(limit, MOST_LEVELS if self.levels is None else self.levels),
            sensitivity=limit,
            threshold=threshold,
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
                noise=f"± {noise.standard_deviation:,.4g} (1 s.d.) per count{each}",
                error=f"± {off:,.4g} per count{each}",
                figures={"margin": off, "standard_deviation": noise.standard_deviation},
            ),
        )
        notes = (
            "The number of contexts depends on the data and is not known in advance.",
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
        limit, (splits, histograms) = yield from self.find_limit_and_split(
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
            return SuffixModel(tree.children(), clip_histograms(tree, leaves.counts))
        counts, variances = combine_histograms(tree, leaves, upper)
        noise = 1.0 if leaves.deviation else 0.0
        histograms = balance_histograms(tree, shrink_histograms(tree, counts, variances), noise)
        histograms = histograms * (leaves.deviation or 1.0)
        # The seed is public and always the same; drawing is post-processing.
        return extend_model(
            SuffixModel(tree.children(), histograms), limit, randomness.generator(0)
        )


# One estimate from noisy histograms of the leaves of a tree and of its uppermost nodes.
#
# Least squares over all histograms in which a node is the sum of its children: a pass up weighs
# what was measured against what the children sum to, a pass down hands each family what its parent
# knows better (Hay and others 2010, for trees of any shape). Everything here is public.


Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Noisy:
    """Noisy histograms.

    Parameters
    ----------
    counts
        One histogram a row.
    deviation
        The standard deviation of the noise on each cell.
    """

    counts: Floats
    deviation: float


def combine_histograms(
    tree: ContextTree, leaves: Noisy, upper: Sequence[Noisy]
) -> tuple[Floats, Floats]:
    """Return histograms of all nodes, each the sum of its children's, and variances of their cells.

    Parameters
    ----------
    tree
        The shape.
    leaves
        Of all leaves, level by level.
    upper
        Of the split nodes of the first levels, level by level; none, one or more.

    Returns
    -------
    histograms, variances
        In units of the noise on leaves, or of 1 where that has none. The variances are those of
        the pass up: slightly too large below nodes that were measured.
    """
    unit = leaves.deviation or 1.0
    counts = tree.summed(leaves.counts / unit)
    variances = tree.summed(np.full(len(leaves.counts), 1.0 if leaves.deviation else 0.0))
    if not leaves.deviation:
        return counts, variances
    parts = _parts(tree)
    for depth in range(len(tree.levels) - 2, -1, -1):
        split = tree.levels[depth]
        summed = _families(tree, counts[parts[depth + 1]])
        spread = _families(tree, variances[parts[depth + 1]])
        if depth < len(upper):
            own = (upper[depth].deviation / unit) ** 2
            weight = own / (own + spread)
            summed = weight[:, None] * summed + (1 - weight[:, None]) * upper[depth].counts / unit
            spread = weight * spread
        counts[parts[depth]][split] = summed
        variances[parts[depth]][split] = spread
    for depth in range(1, len(tree.levels)):
        split = tree.levels[depth - 1]
        here = counts[parts[depth]]
        missing = counts[parts[depth - 1]][split] - _families(tree, here)
        shares = variances[parts[depth]].reshape(-1, tree.fan_out)
        shares = shares / shares.sum(axis=1, keepdims=True)
        here += (missing[:, None, :] * shares[:, :, None]).reshape(here.shape)
    return counts, variances


def _parts(tree: ContextTree) -> list[slice]:
    """Return where the nodes of each level lie."""
    ends = np.cumsum([0, *(len(level) for level in tree.levels)])
    return [slice(begin, end) for begin, end in pairwise(ends.tolist())]


def _families(tree: ContextTree, values: Floats) -> Floats:
    """Return the sums over the children of each node, from the values of a level."""
    return np.asarray(values.reshape(-1, tree.fan_out, *values.shape[1:]).sum(axis=1))


# Histograms of a suffix tree from noisy ones: each is drawn towards its parent's.
#
# What a longer context says is mostly what its parent, the context without its first symbol, says;
# how much contexts of a level really differ is estimated from all of them, and what exceeds the
# noise of a node is kept. Everything here is a function of noisy histograms and of the public
# level of their noise. Empirical Bayes: James and Stein 1961, Morris 1983.


#: How much the estimate of the spread of a level trusts nodes with much signal: they all have
#: spreads of their own, however little noise they have.
OWN_SPREAD = 0.1


def clip_histograms(tree: ContextTree, leaves: Floats) -> Floats:
    """Return the histograms of all nodes as they are published: sums, then negatives set to 0."""
    return np.maximum(tree.summed(leaves), 0.0)


def on_simplex(rows: Floats, totals: Floats) -> Floats:
    """Return the closest rows without negative entries that have given totals.

    Parameters
    ----------
    rows
        One vector a row.
    totals
        The sum that each row shall have, not negative.
    """
    ordered = -np.sort(-rows, axis=1)
    excess = np.cumsum(ordered, axis=1) - totals[:, None]
    places = np.arange(1, rows.shape[1] + 1)
    kept = np.maximum((ordered - excess / places > 0).sum(axis=1), 1)
    shift = excess[np.arange(len(rows)), kept - 1] / kept
    return np.asarray(np.maximum(rows - shift[:, None], 0.0))


@dataclass(frozen=True)
class _Level:
    """What is known about the nodes of one level.

    Parameters
    ----------
    chances
        The estimated probabilities of what comes next.
    doubt
        The variance of each of them.
    """

    chances: Floats
    doubt: Floats

    def below(self, split: NDArray[np.bool_], fan_out: int) -> _Level:
        """Return what children are expected to be: what their parents are."""
        places = np.repeat(np.flatnonzero(split), fan_out)
        return _Level(self.chances[places], self.doubt[places])


def shrink_histograms(tree: ContextTree, counts: Floats, variances: Floats) -> Floats:
    """Return non-negative histograms of all nodes, each drawn towards its parent's.

    Parameters
    ----------
    tree
        The shape.
    counts
        The noisy histograms of all nodes, one a row.
    variances
        The variance of the noise on the cells of each; 0 for no noise.

    Notes
    -----
    A child of total T has a prior of mean T·q and variance T²·(φ·q·(1 − q) + doubt in q), q its
    parent's probabilities, cell by cell; φ is one number a level, found by moments. The mean of the
    posterior is put on the simplex, and a little of q is mixed in, less the larger T is in units of
    the noise: V/(T² + V), V the variance of a cell.
    """
    totals = np.maximum(counts.sum(axis=1), 0.0)
    estimates = np.empty_like(counts)
    begin, level = 0, _Level(np.zeros((0, 0)), np.zeros((0, 0)))
    for depth, split in enumerate(tree.levels):
        part = slice(begin, begin + len(split))
        if depth == 0:
            level = _root(counts[part], variances[part])
        else:
            prior = level.below(tree.levels[depth - 1], tree.fan_out)
            level = _posterior(counts[part], variances[part], prior)
        estimates[part] = level.chances * totals[part, None]
        begin += len(split)
    return estimates


def balance_histograms(tree: ContextTree, histograms: Floats, noise: float) -> Floats:
    """Return histograms whose contexts and symbols occur equally often, as they do in sequences.

    Parameters
    ----------
    tree
        The shape.
    histograms
        Not negative, of all nodes, one a row.
    noise
        The standard deviation of the noise on a cell of a leaf.

    Notes
    -----
    A symbol is the last one of a context as often as it occurs, but for the last ones of sequences
    that were cut, as many as starts exceed ends. The root knows how often symbols occur better than
    the contexts do, whose noise would add up in what is drawn symbol by symbol. The leaves are
    scaled in turns (iterative proportional fitting): those that end in a symbol, so that they add
    up to its number; and each symbol over all leaves.
    """
    split = np.concatenate(tree.levels)
    if not split[0]:
        return histograms
    ends = [np.zeros(1, dtype=np.intp), np.arange(tree.fan_out)]
    for depth in range(2, len(tree.levels)):
        ends.append(np.repeat(ends[-1][tree.levels[depth - 1]], tree.fan_out))
    ending = np.concatenate(ends)[~split]
    leaves, root = histograms[~split], histograms[0]
    first = _ending_sums(leaves, ending)
    # Of sequences that were cut the end is missing: as many as starts exceed ends beyond noise.
    cut = max(float(first[-1] - root[-1]) - noise * math.sqrt(tree.fan_out), 0.0)
    behind = on_simplex((root[:-1] - first[:-1])[None, :], np.array([cut]))[0]
    wanted = np.append(np.maximum(root[:-1] - behind, 0.0), root[-1] + cut)
    for _ in range(BALANCE_ROUNDS):
        leaves = leaves * _ratio(wanted, _ending_sums(leaves, ending))[ending, None]
        leaves *= _ratio(root, leaves.sum(axis=0))
    return tree.summed(leaves)


def _ending_sums(leaves: Floats, ending: NDArray[np.intp]) -> Floats:
    """Return how often each symbol, lastly the start, is the last one of a context."""
    sums = np.bincount(ending, weights=leaves.sum(axis=1), minlength=leaves.shape[1])
    return np.asarray(sums, dtype=np.float64)


def _ratio(wanted: Floats, found: Floats) -> Floats:
    """Return what brings sums to their wanted values; 1 where nothing can."""
    return np.divide(wanted, found, out=np.ones_like(wanted), where=found > 0)


def _root(counts: Floats, variances: Floats) -> _Level:
    """Return what the root says, by itself."""
    total = max(float(counts.sum()), 0.0)
    cells = counts.shape[1]
    if total == 0.0:
        return _Level(np.full((1, cells), 1 / cells), np.full((1, cells), 1 / cells))
    chances = on_simplex(counts, np.array([total])) / total
    return _Level(chances, np.full((1, cells), float(variances[0]) / total**2))


def _posterior(counts: Floats, variances: Floats, prior: _Level) -> _Level:
    """Return what the nodes of a level say, with what their parents said before."""
    q, noise = prior.chances, variances[:, None]
    totals = counts.sum(axis=1)
    # T² without what noise adds to it; 0 where a node has no total to speak of.
    squares = np.maximum(totals**2 - counts.shape[1] * variances, 0.0)[:, None]
    squares[totals <= 0] = 0.0
    apart = counts - totals[:, None] * q
    spread = _spread(apart, noise, squares, prior)
    variance = squares * (spread * q * (1 - q) + prior.doubt)
    weights = np.divide(variance, variance + noise, out=np.zeros_like(q), where=variance > 0)
    kept = np.maximum(totals, 0.0)
    estimate = on_simplex(kept[:, None] * q + weights * apart, kept)
    known = (squares > 0)[:, 0]
    chances = np.where(known[:, None], estimate / np.where(kept > 0, kept, 1.0)[:, None], q)
    share = np.divide(variances, kept**2 + variances, out=np.zeros_like(kept), where=known)[:, None]
    doubt = np.divide(weights * noise, squares, out=spread * q * (1 - q) + prior.doubt,
                      where=squares > 0)  # fmt: skip
    return _Level((1 - share) * chances + share * q, doubt)


def _spread(apart: Floats, noise: Floats, squares: Floats, prior: _Level) -> float:
    """Return how much the nodes of a level differ from their parents, φ, between 0 and 1.

    For each node the squared distance from the parent, without what noise and doubt add to it,
    estimates φ·T²·Σq(1 − q); a weighted regression through 0 pools the nodes.
    """
    q, cells = prior.chances, apart.shape[1]
    added = noise * (1 + cells * q * q - 2 * q) + squares * prior.doubt
    found = (apart**2 - added).sum(axis=1)
    expected = (squares * q * (1 - q)).sum(axis=1)
    spreads = (cells * noise[:, 0]) ** 2 + (squares * prior.doubt).sum(axis=1) ** 2
    spreads = spreads + (OWN_SPREAD * expected) ** 2
    usable = expected > 0
    if not usable.any():
        return 0.0
    found, expected, spreads = found[usable], expected[usable], spreads[usable]
    slope = float((found * expected / spreads).sum() / (expected**2 / spreads).sum())
    return min(max(slope, 0.0), 1.0)
