"""Randomised response on every pair of nodes: is there an edge or not, told truly or not.

What is said is a whole noisy graph. It is kept small: as bits, or as the gaps between the pairs
that are said to be joined, whichever suits the public figures; never as a matrix. Which of the two
it is may not depend on the graph (docs/proofs/edge-response.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.noise.flips import flip_words
from sfumato.privacy.loss import Loss, Measure, PureDP, convert
from sfumato.privacy.primitive import Change, Primitive

__all__ = ["GAPS_FROM", "RandomizedPairs", "ones_in", "pair_positions", "pairs_at"]

Positions = NDArray[np.int64]
Said = NDArray[np.uint8]

#: From this ε on, at which fewer than one pair in sixteen is turned over, gaps are written.
GAPS_FROM = Fraction(11, 4)
#: Pairs that are thrown at a time where gaps are written: 4 MiB of bits.
CHUNK = 1 << 25
#: The most pairs, the most bytes of bits, and the most pairs turned over that are written as gaps.
MOST_PAIRS, MOST_BYTES, MOST_FLIPS = 1 << 37, 1 << 29, 1 << 28

#: How many bits of a byte are 1.
_ONES = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(axis=1, dtype=np.int64)


def pair_positions(pairs: NDArray[Any], nodes: int) -> Positions:
    """Return the positions of pairs low < high in the line (0, 1), (0, 2), …, (1, 2), ….

    Parameters
    ----------
    pairs
        An array of shape (pairs, 2); sorted pairs have sorted positions.
    nodes
        The number of nodes.
    """
    low, high = np.asarray(pairs, dtype=np.int64).reshape(-1, 2).T
    return np.asarray(low * (nodes - 1) - low * (low - 1) // 2 + high - low - 1, dtype=np.int64)


def pairs_at(positions: Positions, nodes: int) -> NDArray[np.int64]:
    """Return the pairs at sorted positions; the inverse of `pair_positions`."""
    from sfumato.mechanisms.pair_kernels import pairs_of

    return np.asarray(pairs_of(positions, nodes), dtype=np.int64)


@dataclass(frozen=True, kw_only=True)
class RandomizedPairs(Primitive):
    """Say of every pair of nodes whether it is joined, truly with probability e^ε/(1 + e^ε).

    Parameters
    ----------
    nodes
        The public number of nodes.
    epsilon
        The loss for one pair.

    Notes
    -----
    The input is the sorted positions of the joined pairs, as `pair_positions` gives them. The
    output is an array of bytes that `positions` reads.

    Privacy: every pair is turned over independently with probability 1/(1 + e^ε), so that an
    output's probability is ∝ e^(−ε·pairs turned over), and one pair changes it by at most e^ε
    (docs/proofs/edge-response.md).
    """

    kind: ClassVar[str] = "randomised pairs"

    nodes: int
    epsilon: Fraction

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.epsilon <= 0:
            raise ValueError("epsilon must be positive")

    @property
    def size(self) -> int:
        """The number of pairs."""
        return comb(self.nodes, 2)

    @property
    def flip(self) -> float:
        """The probability that a pair is turned over, p = 1/(1 + e^ε)."""
        return self._odds / (1 + self._odds)

    @property
    def contrast(self) -> float:
        """The chance of the truth less that of its contrary, 1 − 2p = tanh(ε/2)."""
        return -math.expm1(-float(self.epsilon)) / (1 + self._odds)

    @property
    def _odds(self) -> float:
        """How much less likely it is to be turned over than to be told truly, e^−ε."""
        return math.exp(-float(self.epsilon))

    @property
    def gaps(self) -> bool:
        """Whether gaps are written, and not bits; decided by ε alone."""
        return self.epsilon >= GAPS_FROM

    def require_feasible(self) -> None:
        """Raise where so many pairs are not drawn, or what is said would be too large."""
        most = math.isqrt(2 * MOST_PAIRS)
        if self.size > MOST_PAIRS:
            raise ValueError(
                f"randomised response on pairs is for at most {most:,} nodes; got {self.nodes:,}"
            )
        large = self.flip * self.size > MOST_FLIPS if self.gaps else self.size > 8 * MOST_BYTES
        if large:
            raise ValueError(
                f"randomised response on {self.nodes:,} nodes with this epsilon gives a noisy "
                f"graph of about {self.flip * self.size:,.0f} edges, which is too large; use a "
                "larger epsilon or fewer nodes"
            )

    def cost(self, measure: Measure) -> Loss:
        """Return ε, or what ε-DP implies in another measure."""
        return convert(PureDP(self.epsilon), measure)

    def check(self, value: Any) -> None:
        """Raise unless the input is the sorted positions of pairs, each at most once."""
        if not isinstance(value, np.ndarray) or value.dtype != np.int64 or value.ndim != 1:
            raise ValueError("the input of randomised pairs must be a line of int64 positions")
        inside = not len(value) or (value[0] >= 0 and value[-1] < self.size)
        if not inside or not (value[1:] > value[:-1]).all():
            raise ValueError(f"positions must be sorted, distinct and from 0 to {self.size - 1}")

    def sample(self, value: Positions) -> Said:
        """Return the noisy graph, as bits or gaps."""
        from sfumato.mechanisms.pair_kernels import toggle

        if self.gaps:
            return self._sample_gaps(value)
        words = flip_words(self.size, exponent=self.epsilon)
        toggle(words, value, 0)
        return words.view(np.uint8)[: -(-self.size // 8)].copy()

    def _sample_gaps(self, value: Positions) -> Said:
        """Throw the pairs chunk by chunk, and write down where the joined ones are."""
        from sfumato.mechanisms.pair_kernels import toggle

        written, last = [], -1
        for first in range(0, self.size, CHUNK):
            many = min(CHUNK, self.size - first)
            words = flip_words(many, exponent=self.epsilon)
            inside = slice(*np.searchsorted(value, (first, first + many)))
            toggle(words, value[inside], first)
            joined = first + _ones(words.view(np.uint8), many)
            written.append(_gaps(joined, last))
            last = int(joined[-1]) if len(joined) else last
        return np.concatenate(written) if written else np.zeros(0, dtype=np.uint8)

    def encode(self, value: Positions) -> Said:
        """Return positions as an output says them."""
        if self.gaps:
            return _gaps(value, -1)
        from sfumato.mechanisms.pair_kernels import toggle

        words = np.zeros(-(-self.size // 64), dtype=np.uint64)
        toggle(words, value, 0)
        return words.view(np.uint8)[: -(-self.size // 8)].copy()

    def positions(self, output: Said) -> Positions:
        """Return the sorted positions of the pairs that an output says are joined."""
        from sfumato.mechanisms.pair_kernels import MORE, read_gaps

        self.require_output(output)
        if not self.gaps:
            return _ones(output, self.size)
        found = np.empty(int((output < MORE).sum()), dtype=np.int64)
        if read_gaps(output, found, self.size) != len(found):
            raise ValueError(
                "the randomised pairs are damaged: they contain pairs that do not exist"
            )
        return found

    def require_output(self, output: Any) -> None:
        """Raise unless something has the type, and for bits the length, of an output."""
        if not isinstance(output, np.ndarray) or output.dtype != np.uint8 or output.ndim != 1:
            raise ValueError("randomised pairs are a line of bytes")
        if self.gaps:
            return
        if len(output) != -(-self.size // 8):
            raise ValueError(f"{self.size} pairs are {-(-self.size // 8)} bytes; got {len(output)}")
        if self.size % 8 and int(output[-1]) >> self.size % 8:
            raise ValueError(
                "the randomised pairs are damaged: they contain pairs that do not exist"
            )

    def check_output(self, output: Any) -> None:
        """Raise unless an output says pairs in the one way in which they are written."""
        if not np.array_equal(self.encode(self.positions(output)), output):
            raise ValueError("the randomised pairs are not written as such pairs are")

    def log_probability(self, value: Positions, output: Said) -> float:
        """Return the log-probability of an output: N·ln(1 − p) − ε·(pairs turned over)."""
        # ln(1 − p) = −ln(1 + e^−ε).
        truth = -math.log1p(self._odds)
        return self.size * truth - float(self.epsilon * self._turned(value, output))

    def _turned(self, value: Positions, output: Said) -> int:
        """Return how many pairs an output turns over."""
        if not self.gaps:
            self.require_output(output)
            return ones_in(self.encode(value) ^ output)
        said = self.positions(output)
        both = len(np.intersect1d(value, said, assume_unique=True))
        return len(value) + len(said) - 2 * both

    def change(self, value: Positions, neighbour: Positions) -> Change:
        """Count the pairs in which two graphs differ."""
        apart = len(np.setxor1d(value, neighbour, assume_unique=True))
        return Change(Fraction(apart), Fraction(1), "pairs that differ")

    def concentrated_loss(self, value: Positions, neighbour: Positions) -> float:
        """Return what ε-DP implies for each of the pairs that differ."""
        return float(self.change(value, neighbour).measured * self.epsilon**2) / 2

    def extremes(self, value: Positions, neighbour: Positions) -> list[Said]:
        """Return the two graphs themselves: saying one of them attains the bound."""
        return [self.encode(value), self.encode(neighbour)]


def _gaps(positions: Positions, last: int) -> Said:
    """Return positions behind the last one written, as gaps."""
    from sfumato.mechanisms.pair_kernels import write_gaps

    if not len(positions):
        return np.zeros(0, dtype=np.uint8)
    # A gap of g takes a byte, and at most g/128 + 1 further ones; only the first can be long.
    room = len(positions) + (int(positions[-1]) - last) // 64 + 16
    out = np.empty(room, dtype=np.uint8)
    return out[: write_gaps(positions, last, out)].copy()


def _ones(packed: Said, size: int) -> Positions:
    """Return the places of the ones among the first so many bits, a piece at a time."""
    found = []
    for first in range(0, len(packed), CHUNK // 8):
        piece = packed[first : first + CHUNK // 8]
        many = min(8 * len(piece), size - 8 * first)
        loose = np.unpackbits(piece, count=many, bitorder="little").view(np.bool_)
        found.append(8 * first + np.flatnonzero(loose))
    return np.concatenate(found) if found else np.zeros(0, dtype=np.int64)


def ones_in(packed: Said) -> int:
    """Return how many bits are 1."""
    return int(_ONES @ np.bincount(packed, minlength=256))
