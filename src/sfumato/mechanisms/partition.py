"""Choosing a partition of ordered cells into runs in which counts are alike.

The candidates are all partitions of 2^k cells into aligned runs ("buckets") of 1, 2, 4, … cells,
that is all prunings of the binary tree over the cells. One is drawn by the exponential mechanism
with the weight of a branching process as base measure. Only the partition is said, never a cost.
Proof: docs/proofs/dawa.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.laplace import check_integers, cut, l1_distance
from sfumato.noise.bernoulli import below
from sfumato.noise.bits import bits
from sfumato.noise.expansions import Expansion, Interval
from sfumato.privacy.loss import Loss, Measure, PureDP, convert
from sfumato.privacy.primitive import Change, Primitive

__all__ = ["DyadicPartition", "bucket_starts"]

#: A node that nothing speaks for or against is split with the probability 2 to the minus this.
SPLIT_BITS = 2
SPLIT_SHARE = Fraction(1, 1 << SPLIT_BITS)
#: Counts are cut to this, so that sums of 2^20 of them stay inside 64 bits.
LARGEST_CELL = 2**40
#: The most cells.
MOST_CELLS = 2**22
#: Tests widen the interval of every coin by this, to send coins to the integers.
WIDEN = 0.0

#: s and 1 − s as decimals, which hold them exactly.
_SPLIT, _KEEP = Decimal("0.25"), Decimal("0.75")

Bounds = tuple[Decimal, Decimal]


def bucket_starts(lengths: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Return the first cell of every bucket, from the logarithms of their lengths.

    Parameters
    ----------
    lengths
        log₂ of the number of cells of each bucket, in order.

    Examples
    --------
    >>> bucket_starts(np.array([1, 0, 0])).tolist()
    [0, 2, 3]
    """
    sizes = np.left_shift(np.int64(1), lengths.astype(np.int64))
    starts: NDArray[np.int64] = np.cumsum(sizes) - sizes
    return starts


#: Beyond this the filter's floats would overflow.
LARGEST_EPSILON = Fraction(10**100)


@dataclass(frozen=True, kw_only=True)
class DyadicPartition(Primitive):
    """Choose a partition of ordered cells into aligned runs of 2^j cells with similar counts.

    Parameters
    ----------
    cells
        How many cells there are, a power of two.
    sensitivity
        A bound Δ on the L1 distance of the counts of neighbouring data.
    epsilon
        The loss.

    Notes
    -----
    The cost of a bucket is the least L1 distance of its counts from a constant, Σ|x_j − median|, a
    whole number; the cost of a partition is the sum. The partition P is said with probability
    proportional to s^splits·(1 − s)^(buckets of more than one cell)·exp(−ε·cost(P)/2Δ), s = 1/4.

    Privacy: no cost of a partition changes by more than the counts do in L1, so that the weight of
    each and the sum of all weights change by a factor of at most e^(ε/2) (docs/proofs/dawa.md).
    """

    kind: ClassVar[str] = "dyadic partition"

    cells: int
    sensitivity: Fraction
    epsilon: Fraction

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.cells <= MOST_CELLS or self.cells & (self.cells - 1):
            raise ValueError(
                f"cells must be a power of two of at most {MOST_CELLS}; got {self.cells!r}"
            )
        if self.sensitivity <= 0 or not 0 < self.epsilon <= LARGEST_EPSILON:
            raise ValueError(
                f"sensitivity and epsilon must be positive, epsilon at most 10**100; "
                f"got {self.epsilon!r}"
            )

    @property
    def rate(self) -> Fraction:
        """The factor of the costs in the exponent."""
        return self.epsilon / (2 * self.sensitivity)

    def cost(self, measure: Measure) -> Loss:
        """Return ε, or what ε-DP implies in another measure."""
        return convert(PureDP(self.epsilon), measure)

    def check(self, value: Any) -> None:
        """Raise unless the input is an int64 count for each cell."""
        check_integers(value, (self.cells,))

    def _weighed(self, value: NDArray[np.int64]) -> _Weighed:
        return _Weighed(value, self.rate)

    def sample(self, value: NDArray[np.int64]) -> NDArray[np.int8]:
        """Return the logarithms of the lengths of the buckets, in order."""
        weighed = self._weighed(value)
        # What each cell is told by the bucket that begins with it; −1 where none begins.
        told = np.full(self.cells, -1, dtype=np.int8)
        frontier = np.ones(1, dtype=np.int64)
        for level in range(self.cells.bit_length() - 1, -1, -1):
            split = weighed.splits(frontier) if level else np.zeros(frontier.size, dtype=np.bool_)
            # Node v of a level is its v − 2^depth-th, and begins with that many runs of 2^level.
            first = (frontier << level) - self.cells
            told[first[~split]] = level
            parents = 2 * frontier[split]
            frontier = np.stack([parents, parents + 1], axis=1).reshape(-1)
        return told[told >= 0]

    def check_output(self, output: Any) -> None:
        """Raise unless an output holds the lengths of an aligned partition."""
        if not isinstance(output, np.ndarray) or output.dtype != np.int8:
            raise ValueError("a partition is an array of int8 lengths")
        if not self._possible(output):
            raise ValueError("these are not the lengths of an aligned partition")

    def log_probability(self, value: NDArray[np.int64], output: NDArray[Any]) -> float:
        """Return the log-probability of a partition."""
        lengths = np.asarray(output)
        if not self._possible(lengths):
            return -math.inf
        weighed = self._weighed(value)
        level = lengths.astype(np.int64)
        nodes = (bucket_starts(lengths) + self.cells) >> level
        cost = int(weighed.costs[nodes].sum())
        inner, large = len(lengths) - 1, int((level > 0).sum())
        weight = inner * weighed.split + large * weighed.keep - float(self.rate * cost)
        return weight - float(weighed.logs[1])

    def _possible(self, lengths: NDArray[Any]) -> bool:
        """Tell whether lengths are those of an aligned partition."""
        if lengths.ndim != 1 or lengths.size == 0 or lengths.dtype.kind not in "iu":
            return False
        if lengths.min() < 0 or lengths.max() >= self.cells.bit_length():
            return False
        sizes = np.left_shift(np.int64(1), lengths.astype(np.int64))
        aligned = bucket_starts(lengths) % sizes == 0
        return bool(aligned.all()) and int(sizes.sum()) == self.cells

    def change(self, value: NDArray[np.int64], neighbour: NDArray[np.int64]) -> Change:
        """Measure the L1 distance of two inputs."""
        return Change(l1_distance(cut(value), cut(neighbour)), self.sensitivity, "L1")

    def extremes(
        self, value: NDArray[np.int64], neighbour: NDArray[np.int64]
    ) -> list[NDArray[np.int8]]:
        """Return partitions into buckets of one size: one of them tells costs apart well."""
        depth = self.cells.bit_length()
        return [np.full(self.cells >> level, level, dtype=np.int8) for level in range(depth)]


class _Weighed:
    """The nodes of the tree over private cells, with their costs and weights. Private.

    Parameters
    ----------
    value
        The counts.
    rate
        The factor of the costs in the exponent.
    """

    def __init__(self, value: NDArray[np.int64], rate: Fraction) -> None:
        from sfumato.mechanisms.partition_kernels import deviations, weigh

        cells = value.size
        self.rate = rate
        self.costs = np.zeros(2 * cells, dtype=np.int64)
        deviations(np.clip(value, -LARGEST_CELL, LARGEST_CELL), self.costs)
        self.logs = np.zeros(2 * cells)
        self.errors = np.zeros(2 * cells)
        self.keep = math.log1p(-float(SPLIT_SHARE))
        self.split = math.log(float(SPLIT_SHARE))
        weigh(self.costs, float(rate), self.keep, self.split, self.logs, self.errors)

    def splits(self, nodes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Throw the coins of some nodes: which of them are split."""
        from sfumato.mechanisms.partition_kernels import SPLIT, UNDECIDED, decide

        words = bits().words(nodes.size)
        # Below a node of cost 0 nothing costs anything: it is split with probability s.
        split: NDArray[np.bool_] = words >> np.uint64(64 - SPLIT_BITS) == 0
        telling = np.flatnonzero(self.costs[nodes])
        outcome = np.empty(telling.size, dtype=np.uint8)
        decide(
            nodes[telling],
            words[telling],
            self.costs,
            float(self.rate),
            self.keep,
            self.split,
            self.logs,
            self.errors,
            WIDEN,
            outcome,
        )
        for index in np.flatnonzero(outcome == UNDECIDED):
            place = telling[index]
            bucket = below(int(words[place]), self._expansion(int(nodes[place])))
            outcome[index] = 1 - bucket
        split[telling] = outcome == SPLIT
        return split

    def _expansion(self, node: int) -> Expansion:
        """Return the binary digits of the probability that a node is a bucket."""

        def enclose(count: int) -> Interval:
            digits = count // 3 + 20
            while True:
                low, high = _Exact(self.costs, self.rate, digits).bucket_share(node)
                scale = Decimal(1 << count)
                down, up = _context(digits, ROUND_FLOOR), _context(digits, ROUND_CEILING)
                lower = int(down.to_integral_value(down.multiply(low, scale)))
                upper = int(up.to_integral_value(up.multiply(high, scale)))
                if upper - lower <= 4:
                    return lower, upper
                digits *= 2

        return Expansion(enclose)


def _context(digits: int, rounding: str) -> Context:
    """Return decimal arithmetic with directed rounding and no practical limit of exponents."""
    return Context(prec=digits, rounding=rounding, Emin=MIN_EMIN, Emax=MAX_EMAX)


class _Exact:
    """Weights of partitions as pairs of decimals that enclose them.

    Parameters
    ----------
    costs
        The costs of all nodes.
    rate
        The factor of the costs in the exponent.
    digits
        How many digits are carried.
    """

    def __init__(self, costs: NDArray[np.int64], rate: Fraction, digits: int) -> None:
        self._costs = costs
        self._rate = rate
        self._down = _context(digits, ROUND_FLOOR)
        self._up = _context(digits, ROUND_CEILING)
        self._known: dict[int, Bounds] = {}

    def _bucket(self, node: int) -> Bounds:
        """Enclose (1 − s)·e^(−rate·cost)."""
        cost = int(self._costs[node])
        if cost not in self._known:
            down, up = self._down, self._up
            exponent = self._rate * cost
            top, bottom = Decimal(-exponent.numerator), Decimal(exponent.denominator)
            # The exponential of a context is right to half a unit, whatever the rounding.
            low = max(down.next_minus(down.exp(down.divide(top, bottom))), Decimal(0))
            high = up.next_plus(up.exp(up.divide(top, bottom)))
            self._known[cost] = down.multiply(low, _KEEP), up.multiply(high, _KEEP)
        return self._known[cost]

    def _parts(self, node: int) -> Bounds:
        """Enclose s·Z(left)·Z(right)."""
        left, right = self._total(2 * node), self._total(2 * node + 1)
        low = self._down.multiply(self._down.multiply(left[0], right[0]), _SPLIT)
        high = self._up.multiply(self._up.multiply(left[1], right[1]), _SPLIT)
        return low, high

    def _total(self, node: int) -> Bounds:
        """Enclose Z; the recursion is as deep as the tree."""
        if self._costs[node] == 0:
            return Decimal(1), Decimal(1)
        bucket, parts = self._bucket(node), self._parts(node)
        return self._down.add(bucket[0], parts[0]), self._up.add(bucket[1], parts[1])

    def bucket_share(self, node: int) -> Bounds:
        """Enclose the probability that a node is a bucket, given that it is reached."""
        bucket, parts = self._bucket(node), self._parts(node)
        low = self._down.divide(bucket[0], self._up.add(bucket[0], parts[1]))
        high = self._up.divide(bucket[1], self._down.add(bucket[1], parts[0]))
        return low, high
