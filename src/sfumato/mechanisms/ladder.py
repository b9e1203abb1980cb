"""The ladder: a whole number released with noise as wide as its own data ask for, at pure ε.

Around the true value lie rungs: the value itself, then I₀ integers on each side, then I₁ on each
side, and so on, where I_t bounds the local sensitivity of every data set within t steps. An integer
on rung t is said with probability ∝ e^(−εt/2). The widths are as private as the data; they are an
input here, never part of the public signature. Proof: docs/proofs/ladder.md. Zhang, Cormode,
Procopiuc, Srivastava and Xiao, *Private Release of Graph Statistics using Ladder Functions*,
SIGMOD 2015.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato import noise
from sfumato.noise.bits import bits
from sfumato.noise.expansions import exponential
from sfumato.privacy.loss import Loss, Measure, PureDP, convert
from sfumato.privacy.primitive import Change, Primitive, require_whole

__all__ = ["LadderInput", "LadderNoise", "ladder_quantile"]

#: How far a float sum of weights may be from the truth, relatively, for up to this many rungs.
_MARGIN = 2.0**-30
_RUNGS_OF_MARGIN = 2**20
#: Caps of more bits, and smaller rates, are beyond what that margin is proved for.
_FLOAT_BITS, _FLOAT_RATE = 1024, Fraction(1, 2**512)
#: Bits with which the weights are first enclosed where floats cannot tell.
_FIRST_BITS = 256


class LadderInput(NamedTuple):
    """A private whole number with its private ladder.

    Parameters
    ----------
    value
        The number.
    rungs
        The widths I₀, I₁, …: whole numbers from 0 to the cap. Every further rung is as wide as
        the cap. I₀ bounds the change of the value between neighbours, and I_t of one of them is at
        most I_{t+1} of the other.
    """

    value: int
    rungs: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class LadderNoise(Primitive):
    """Say a whole number near the true one, with a probability that falls from rung to rung.

    Parameters
    ----------
    epsilon
        The pure loss.
    cap
        A public bound on the global sensitivity, a whole number; no rung is wider. With 0 the
        value is the same for all data, and it is said as it is.

    Notes
    -----
    Privacy: between neighbours no integer moves by more than one rung, so the exponential
    mechanism with rate ε/2 is ε-DP (docs/proofs/ladder.md).
    """

    kind: ClassVar[str] = "ladder noise"

    epsilon: Fraction
    cap: int

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.epsilon <= 0:
            raise ValueError(f"epsilon must be positive and finite; got {self.epsilon!r}")
        if type(self.cap) is not int or self.cap < 0:
            raise ValueError(f"cap must be a whole number of at least 0; got {self.cap!r}")

    @property
    def rate(self) -> Fraction:
        """The loss of one rung, ε/2."""
        return self.epsilon / 2

    def cost(self, measure: Measure) -> Loss:
        """Return ε, or what ε-DP implies in another measure."""
        return convert(PureDP(self.epsilon), measure)

    def check(self, value: Any) -> None:
        """Raise unless the input is a whole number with whole widths."""
        if not isinstance(value, LadderInput) or type(value.value) is not int:
            raise ValueError("the input of ladder noise is a LadderInput with a whole number")
        if any(type(width) is not int for width in value.rungs):
            raise ValueError("the widths of rungs are whole numbers")

    def sample(self, value: LadderInput) -> int:
        """Return an integer, its rung chosen by the weights of the rungs."""
        widths = self._widths(value)
        if self.cap == 0:
            return value.value
        rung = _choose_rung(widths, self.cap, self.rate)
        if rung == 0:
            return value.value
        below, width = sum(widths[: rung - 1]), self.cap
        if rung <= len(widths):
            width = widths[rung - 1]
        else:
            # All rungs of the tail together; among them it is geometric.
            below += self.cap * int(noise.geometric(None, scale=1 / self.rate))
        distance = below + 1 + noise.uniform_integers(bound=width)
        return value.value + (
            distance if noise.bernoulli(probability=Fraction(1, 2)) else -distance
        )

    def check_output(self, output: Any) -> None:
        """Raise unless an output is a whole number."""
        require_whole(output)

    def log_probability(self, value: LadderInput, output: int) -> float:
        """Return −(ε/2)·(rung of the output) − ln Z."""
        widths = self._widths(value)
        if self.cap == 0:
            return 0.0 if output == value.value else -math.inf
        weights, largest = _float_weights(widths, self.cap, float(self.rate))
        log_total = largest + math.log(math.fsum(weights))
        return -float(self.rate) * _Ladder(value.value, widths, self.cap).rung(output) - log_total

    def change(self, value: LadderInput, neighbour: LadderInput) -> Change:
        """Measure by how many rungs any integer moves at most."""
        norm = "rungs"
        if self.cap == 0:
            same = value.value == neighbour.value
            return Change(0 if same else math.inf, 1, norm)
        ladders = [
            _Ladder(given.value, self._widths(given), self.cap) for given in (value, neighbour)
        ]
        steps = max(len(ladder.ends) for ladder in ladders) + 3
        # A rung changes only behind its ends; in the tails, of one width, everything repeats.
        ends = {end for ladder in ladders for end in ladder.borders(steps)}
        moves = (abs(ladders[0].rung(end) - ladders[1].rung(end)) for end in ends)
        return Change(max(moves), 1, norm)

    def extremes(self, value: LadderInput, neighbour: LadderInput) -> list[int]:
        """Return the integers near both values whose rungs differ most."""
        if self.cap == 0:
            return [value.value]
        ladders = [
            _Ladder(given.value, self._widths(given), self.cap) for given in (value, neighbour)
        ]
        ends = sorted({end for ladder in ladders for end in ladder.borders(len(ladder.ends) + 2)})
        difference = [ladders[0].rung(end) - ladders[1].rung(end) for end in ends]
        return [ends[int(np.argmax(difference))], ends[int(np.argmin(difference))]]

    def _widths(self, value: LadderInput) -> tuple[int, ...]:
        """Return the widths cut to the public range, which keeps their order."""
        return tuple(min(max(width, 0), self.cap) for width in value.rungs)


class _Ladder:
    """The rungs around a value. Private."""

    def __init__(self, value: int, widths: tuple[int, ...], cap: int) -> None:
        self.value = value
        self.cap = cap
        self.ends = list(accumulate(widths))

    def rung(self, output: int) -> int:
        """Return on which rung an integer lies; 0 is the value itself."""
        distance = abs(output - self.value)
        if distance == 0:
            return 0
        last = self.ends[-1] if self.ends else 0
        if distance <= last:
            return bisect_left(self.ends, distance) + 1
        return len(self.ends) + -(-(distance - last) // self.cap)

    def borders(self, steps: int) -> list[int]:
        """Return the last integer of each rung and the first of the next, on both sides."""
        last = self.ends[-1] if self.ends else 0
        further = [last + self.cap * i for i in range(1, max(steps - len(self.ends), 0) + 1)]
        distances = [0, *self.ends, *further]
        return [
            self.value + sign * (distance + more)
            for distance in distances
            for more in (0, 1)
            for sign in (1, -1)
        ]


def ladder_quantile(value: LadderInput, probability: float, *, epsilon: Fraction, cap: int) -> int:
    """Return how far the released number is off at most, with a given probability. Private.

    Parameters
    ----------
    value
        The private ladder.
    probability
        Greater than 0 and less than 1; one half gives the median error.
    epsilon, cap
        As for `LadderNoise`.

    Notes
    -----
    The result depends on the private widths: it is for the custodian's eyes, not for a release.
    """
    if not 0 < probability < 1:
        raise ValueError(f"probability must be greater than 0 and less than 1; got {probability}")
    if cap == 0:
        return 0
    rate = float(epsilon) / 2
    weights, _ = _float_weights(value.rungs, cap, rate)
    shares = weights / math.fsum(weights)
    reached = np.cumsum(shares)
    rung = int(np.searchsorted(reached, probability))
    if rung == 0:
        return 0
    below = sum(value.rungs[: rung - 1])
    missing = probability - float(reached[rung - 1])
    if rung <= len(value.rungs):
        return below + max(1, math.ceil(Fraction(missing / shares[rung]) * value.rungs[rung - 1]))
    # In the tail each rung holds the share 1 − e^(−ε/2) of what is left.
    left = missing / max(float(shares[-1]), 1e-300)
    whole = math.floor(math.log1p(-min(left, 1 - 1e-15)) / -rate)
    inside = (left + math.expm1(-rate * whole)) / (math.exp(-rate * whole) * -math.expm1(-rate))
    return below + cap * whole + max(1, math.ceil(Fraction(inside) * cap))


def _float_weights(
    widths: tuple[int, ...], cap: int, rate: float
) -> tuple[NDArray[np.float64], float]:
    """Return the weight of each rung, of the tail last, over the largest; and its logarithm."""
    logs = np.array(
        [0.0, *(math.log(2 * width) if width else -math.inf for width in widths), math.log(2 * cap)]
    )
    logs -= rate * np.arange(len(logs))
    logs[-1] -= math.log(-math.expm1(-rate))
    largest = float(logs.max())
    return np.exp(logs - largest), largest


def _choose_rung(widths: tuple[int, ...], cap: int, rate: Fraction) -> int:
    """Return a rung with probability proportional to its weight, exactly; the tail is the last.

    A uniform number is compared with the cumulative weights. Floats decide where it is further
    from every border than their rounding; otherwise both are enclosed ever more closely.
    """
    word = int(bits().words(1)[0])
    if cap.bit_length() > _FLOAT_BITS or rate < _FLOAT_RATE:
        return _decide_rung(widths, cap, rate, word)
    weights, _ = _float_weights(widths, cap, float(rate))
    cumulative = np.cumsum(weights)
    total = float(cumulative[-1])
    margin = _MARGIN * max(1.0, len(widths) / _RUNGS_OF_MARGIN)
    low = word / 2.0**64 * total * (1 - margin)
    high = (word + 1) / 2.0**64 * total * (1 + margin)
    rung = int(np.searchsorted(cumulative, low))
    before = float(cumulative[rung - 1]) if rung else 0.0
    if before * (1 + margin) < low and high < float(cumulative[rung]) * (1 - margin):
        return rung
    return _decide_rung(widths, cap, rate, word)


def _decide_rung(widths: tuple[int, ...], cap: int, rate: Fraction, word: int) -> int:
    """Decide in integers, going on from the first 64 bits of the uniform number."""
    number, length = word, 64
    # Enough that 1 − e^(−ε/2) is not enclosed by zero.
    size = _FIRST_BITS + rate.denominator.bit_length()
    while True:
        below, above = _enclose_weights(widths, cap, rate, size)
        # number/2^length ≤ u < (number + 1)/2^length, and u·total is compared with the sums.
        low, high = number * below[-1], (number + 1) * above[-1]
        rung = bisect_left(above, -(-low >> length)) if low else 0
        for guess in (rung, rung + 1):
            if guess < len(below):
                before = above[guess - 1] << length if guess else 0
                if before <= low and high <= below[guess] << length:
                    return guess
        number = number << 64 | int(bits().words(1)[0])
        length += 64
        size *= 2


def _enclose_weights(
    widths: tuple[int, ...], cap: int, rate: Fraction, size: int
) -> tuple[list[int], list[int]]:
    """Return bounds on the cumulative weights, in units of 2^−size."""
    low = exponential(rate).prefix(size)
    high = low + 1
    power_low = power_high = 1 << size
    below, above = [power_low], [power_high]
    for width in widths:
        power_low = power_low * low >> size
        power_high = (power_high * high >> size) + 1
        below.append(below[-1] + 2 * width * power_low)
        above.append(above[-1] + 2 * width * power_high)
    power_low = power_low * low >> size
    power_high = (power_high * high >> size) + 1
    one = 1 << size
    below.append(below[-1] + 2 * cap * (power_low << size) // (one - low))
    above.append(above[-1] + -(-2 * cap * (power_high << size) // (one - high)))
    return below, above
