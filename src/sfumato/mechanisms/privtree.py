"""PrivTree: which nodes of a tree are split, with noise that does not grow with its depth.

A node of score c at depth j is split with probability P(Laplace(λ) > θ − b), where
b = max(c − j·δ, θ − δ): the score loses δ with every level, and below θ − δ it does not matter any
more. One coin a node decides, and nothing but its outcome is said; no score, and no noisy score,
ever leaves. Proof: docs/proofs/privtree.md. Zhang, Xiao and Xie, *PrivTree*, SIGMOD 2016.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from sfumato import noise
from sfumato.mechanisms.laplace import LARGEST_COUNT
from sfumato.privacy.budget import Budget
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import Loss, Measure, PureDP, convert
from sfumato.privacy.primitive import Change, StatefulPrimitive, require_array
from sfumato.privacy.program import Program, Query, Start, Step
from sfumato.privacy.rounding import exp_down, log_up, round_down

__all__ = [
    "MOST_NODES",
    "Frontier",
    "FrontierQuery",
    "Noise",
    "TreeSplits",
    "grow_tree",
    "kappa",
]

Noise = Literal["tight", "paper"]
Bits = NDArray[np.bool_]

#: No tree asks about more nodes than this; where it would, it stops growing.
MOST_NODES = 2**22
#: No node has more children than this.
LARGEST_FAN_OUT = 2**32
#: The rate 1/λ is rounded down to this many significant bits.
_RATE_BITS = 20
#: Exponents are whole multiples of 2^−k, with k in this range.
_LEAST_BITS, _MOST_BITS = 16, 56
#: Terms of κ are rounded up to a multiple of one over this.
_UNITS = 2**90
#: Numerators of exponents stay below this, inside 64 bits.
_LARGEST_NUMERATOR = 2**61


@dataclass(frozen=True, eq=False)
class Frontier:
    """The nodes of one level that may be split.

    Parameters
    ----------
    parents
        For each of them, the place of its parent in the frontier before. Public.
    scores
        The score of each. Private.
    """

    parents: NDArray[np.intp]
    scores: NDArray[np.int64]


@lru_cache
def kappa(gamma: Fraction) -> Fraction:
    """Return an upper bound on κ(γ) = 1 + Σ_{j≥0} 1/(2·e^{jγ} − 1).

    Parameters
    ----------
    gamma
        The loss of score per level in units of the noise, δ/λ; positive.

    Notes
    -----
    The sum is taken to the first term below 2⁻⁶⁰; as 2x − 1 ≥ x for x ≥ 1, the others are below
    the geometric series e^{−jγ}, and are bounded by it.

    Examples
    --------
    >>> from sfumato.privacy.rounding import log_up
    >>> [round(float(kappa(log_up(Fraction(children)))), 6) for children in (2, 4, 8, 16)]
    [2.606695, 2.185597, 2.075658, 2.034345]
    """
    if gamma <= 0:
        raise ValueError(f"gamma must be positive; got {gamma}")
    base = exp_down(gamma)
    total, power = 2 * _UNITS, Fraction(1)
    while power < 2**60:
        # Rounded down, and the terms up, so that the fractions stay short.
        power = round_down(power * base, 30)
        total += math.ceil(_UNITS / (2 * power - 1))
    # Σ_{i>j} e^{−iγ} = e^{−jγ}/(e^γ − 1), where e^{jγ} ≥ power and e^γ ≥ base.
    return Fraction(total, _UNITS) + 1 / power / (base - 1)


@dataclass(frozen=True, kw_only=True)
class TreeSplits(StatefulPrimitive):
    """Tell, level by level, which nodes of a tree are split.

    Parameters
    ----------
    epsilon
        The pure loss of the whole tree, however deep it grows.
    fan_out
        The largest number of children of a node; δ = λ·ln(fan_out), so that a node without records
        has fewer than one child that splits again, on average.
    levels
        After how many levels the run stops.
    sensitivity
        How many paths from the root, each a unit of score at every node, one record moves.
    threshold
        The public threshold θ on the score.
    relation
        What a neighbour is.
    noise
        `"tight"` for λ = κ(ln fan_out)·sensitivity/ε, `"paper"` for the larger published constant.

    Notes
    -----
    Privacy: along a path the scores lose at least δ a level, so that the losses of the splits are
    a convergent series, Σ ≤ κ(δ/λ)/λ; in the other direction only the leaf speaks, with 1/λ. A
    replaced record does both (docs/proofs/privtree.md).
    """

    kind: ClassVar[str] = "tree splits"

    epsilon: Fraction
    fan_out: int
    levels: int
    sensitivity: int = 1
    threshold: int = 0
    relation: Relation = Relation.ADD_REMOVE
    noise: Noise = "tight"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.epsilon <= 0:
            raise ValueError(f"epsilon must be positive and finite; got {self.epsilon!r}")
        # With more children δ would leave the 64 bits in which scores are compared.
        if not 2 <= self.fan_out <= LARGEST_FAN_OUT or self.levels < 0 or self.sensitivity < 1:
            raise ValueError(
                f"fan_out must be from 2 to {LARGEST_FAN_OUT}, levels at least 0 and sensitivity "
                f"at least 1; got {self.fan_out!r}, {self.levels!r} and {self.sensitivity!r}"
            )
        if abs(self.threshold) > LARGEST_COUNT:
            raise ValueError(f"threshold must be at most {LARGEST_COUNT} in size")
        if self.noise not in ("tight", "paper"):
            raise ValueError(f"noise must be 'tight' or 'paper'; got {self.noise!r}")

    @cached_property
    def bits(self) -> int:
        """The k of the grid 2^−k on which exponents lie."""
        wanted = self._wanted_rate
        size = wanted.numerator.bit_length() - wanted.denominator.bit_length()
        return min(max(_RATE_BITS - size, _LEAST_BITS), _MOST_BITS)

    @cached_property
    def rate(self) -> Fraction:
        """1/λ, rounded down to the grid."""
        return Fraction(math.floor(self._wanted_rate * 2**self.bits), 2**self.bits)

    @property
    def scale(self) -> Fraction:
        """The scale λ of the noise.

        A rate that is rounded to nothing (all coins are fair then) counts as one step of the grid.
        """
        return 1 / max(self.rate, Fraction(1, 2**self.bits))

    @cached_property
    def gamma(self) -> Fraction:
        """δ/λ: the logarithm of the fan-out, rounded up to the grid."""
        return Fraction(math.ceil(log_up(Fraction(self.fan_out)) * 2**self.bits), 2**self.bits)

    @property
    def decay(self) -> Fraction:
        """How much score a level takes off, δ."""
        return self.gamma * self.scale

    @property
    def _wanted_rate(self) -> Fraction:
        # ln β itself: rounding γ up, as `gamma` does, only makes κ smaller.
        exact = log_up(Fraction(self.fan_out))
        constant = kappa(exact)
        if self.noise == "paper":
            constant = Fraction(2 * self.fan_out - 1, self.fan_out - 1)
        if self.relation is Relation.REPLACE_ONE:
            constant += 1
        return self.epsilon / (constant * self.sensitivity)

    def cost(self, measure: Measure) -> Loss:
        """Return ε, or what ε-DP implies in another measure."""
        return convert(PureDP(self.epsilon), measure)

    def check(self, value: Any) -> None:
        """Raise unless one level is given: a whole-number score and a parent for every node."""
        if not isinstance(value, Frontier) or value.scores.dtype != np.int64:
            raise ValueError("a level of a tree is a Frontier with int64 scores")
        if value.scores.ndim != 1 or value.scores.shape != value.parents.shape:
            raise ValueError("a level has one score and one parent for every node")

    def start(self) -> TreeSplitsRun:
        """Return a run; it has no hidden state but its depth."""
        return TreeSplitsRun(self)

    def exponents(self, scores: NDArray[np.int64], depth: int) -> tuple[NDArray[np.int64], Bits]:
        """Return |b − θ|/λ in units of 2^−k, and whether b > θ. Private.

        Scores are cut, which moves no two of them further apart, so that 64 bits hold them.
        """
        rate = int(self.rate * 2**self.bits)
        decay = int(self.gamma * 2**self.bits)
        largest = _LARGEST_NUMERATOR // max(rate, 1)
        above = np.clip(np.clip(scores, -(2**61), 2**61) - self.threshold, -largest, largest)
        # Deeper than this every cut score is below the clamp, whatever it was: δ is below 2^61
        # in these units, since k ≤ 56 and ln β < 32.
        lost = min(depth * decay, 2 * _LARGEST_NUMERATOR)
        signed = np.maximum(above * rate - lost, -decay)
        return np.abs(signed), signed > 0

    def split_probabilities(self, scores: NDArray[np.int64], depth: int) -> NDArray[np.float64]:
        """Return the probability that nodes of these scores are split, as floats."""
        return np.exp(self._logs(scores, depth)[0])

    def _logs(
        self, scores: NDArray[np.int64], depth: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return ln P(split) and ln P(not split)."""
        numerators, above = self.exponents(scores, depth)
        exponents = numerators / 2.0**self.bits
        small = -math.log(2) - exponents
        large = np.log1p(-np.exp(-exponents) / 2)
        return np.where(above, large, small), np.where(above, small, large)

    def check_output(self, value: Any, before: Sequence[Any], output: Any) -> None:
        """Raise unless an output is one bit for each node of the level."""
        require_array(output, np.bool_, value.scores.shape)

    def is_stopped(self, outputs: Sequence[Any]) -> bool:
        """Tell whether the last level has been asked."""
        return len(outputs) >= self.levels

    def log_probability(self, values: Sequence[Frontier], outputs: Sequence[Bits]) -> float:
        """Return the log-probability of all splits."""
        if len(values) != len(outputs) or len(values) > self.levels:
            return -math.inf
        total = 0.0
        for depth, (value, split) in enumerate(zip(values, outputs, strict=True)):
            if len(value.scores) != len(split):
                return -math.inf
            yes, no = self._logs(value.scores, depth)
            total += math.fsum(np.where(split, yes, no))
        return total

    def change(self, values: Sequence[Frontier], neighbours: Sequence[Frontier]) -> Change:
        """Measure along how many paths the scores move, by one unit each.

        That many are needed as the largest sum of changes over nodes none of which is above
        another, counted for rises and falls apart.
        """
        norm = "paths of unit changes"
        if len(values) != len(neighbours) or any(
            not np.array_equal(value.parents, other.parents)
            for value, other in zip(values, neighbours, strict=True)
        ):
            return Change(math.inf, self.sensitivity, norm)
        if not (_descending(values) and _descending(neighbours)):
            return Change(math.inf, self.sensitivity, norm + " of scores that fall with depth")
        moves = [
            other.scores - value.scores for value, other in zip(values, neighbours, strict=True)
        ]
        parents = [value.parents for value in values]
        up = _paths([np.maximum(move, 0) for move in moves], parents)
        down = _paths([np.maximum(-move, 0) for move in moves], parents)
        # A replaced record may move as many paths up as down; otherwise each is one of them.
        measured = max(up, down) if self.relation is Relation.REPLACE_ONE else up + down
        return Change(measured, self.sensitivity, norm)


class TreeSplitsRun:
    """One run of `TreeSplits`.

    Parameters
    ----------
    primitive
        The public signature.
    """

    def __init__(self, primitive: TreeSplits) -> None:
        self._primitive = primitive
        self._depth = 0

    def __repr__(self) -> str:
        return f"TreeSplitsRun(depth={self._depth})"

    @property
    def done(self) -> bool:
        """Whether the last level has been asked."""
        return self._depth >= self._primitive.levels

    def step(self, value: Frontier) -> Bits:
        """Tell which nodes of the next level are split."""
        if self.done:
            raise RuntimeError(
                "the run has stopped; start a new one, which has its own privacy loss"
            )
        numerators, above = self._primitive.exponents(value.scores, self._depth)
        self._depth += 1
        # P(Laplace(1) > x) = e^−x/2 for x ≥ 0; below, one minus that.
        rare = noise.bernoulli_exp_array(numerators, denominator=2**self._primitive.bits)
        rare &= noise.bernoulli(len(rare), probability=Fraction(1, 2))
        return rare ^ above


class FrontierQuery(Query):
    """The scores of the nodes of one level of a tree that may be split.

    The answer is a `Frontier`. Private state, such as which records are where, stays with the
    engine.
    """

    @property
    @abstractmethod
    def parents(self) -> NDArray[np.intp]:
        """For each node that may be split now, its parent's place in the frontier before."""

    @abstractmethod
    def descend(self, split: Bits) -> Self:
        """Return the query for the children of the nodes that were split."""

    def blank(self) -> Frontier:
        """Return a level without scores."""
        return Frontier(self.parents, np.zeros(len(self.parents), dtype=np.int64))


def grow_tree(
    budget: Budget, root: FrontierQuery, splits: TreeSplits, label: str
) -> Program[list[Bits]]:
    """Grow a tree level by level, and return which nodes of each level were split.

    Parameters
    ----------
    budget
        The slice that is spent.
    root
        The query for the first level.
    splits
        The primitive.
    label
        The name in the transcript, whose steps are the levels.

    Notes
    -----
    Privacy: where the tree ends follows from what was said: at nodes that did not split, after
    `levels` levels, or before a level with which `MOST_NODES` nodes would have been asked.
    """
    run = yield Start(budget, splits, label)
    level, levels, asked = root, list[Bits](), 0
    while not run.done and len(level.parents):
        asked += len(level.parents)
        if asked > MOST_NODES:
            break
        levels.append((yield Step(run, level)))
        level = level.descend(levels[-1])
    return levels


def _descending(levels: Sequence[Frontier]) -> bool:
    """Tell whether no score exceeds that of its parent."""
    return all(
        bool((level.scores <= before.scores[level.parents]).all())
        for before, level in pairwise(levels)
    )


def _paths(moves: Sequence[NDArray[np.int64]], parents: Sequence[NDArray[np.intp]]) -> int:
    """Return the least number of root paths that cover non-negative weights on the nodes."""
    if not moves:
        return 0
    below = np.zeros(len(moves[-1]), dtype=np.int64)
    for level in range(len(moves) - 1, 0, -1):
        needed = np.maximum(moves[level], below)
        below = np.zeros(len(moves[level - 1]), dtype=np.int64)
        np.add.at(below, parents[level], needed)
    return int(np.maximum(moves[0], below).sum())
