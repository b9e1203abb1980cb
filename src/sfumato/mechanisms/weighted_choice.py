"""The exponential mechanism over groups of equal candidates, without listing them.

Group i holds `weights[i]` candidates that share one score; it is chosen with probability
proportional to weights[i]·exp(rate·score_i), exactly. Floating point only proposes: a group is
drawn by integer proposal weights and accepted by a coin whose probability is bounded outward, with
as many digits as it takes. Nothing here may round a score, a weight or a rate.

Time depends on the private scores, through the rejections and the digits that a coin needs.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sfumato import noise

__all__ = ["group_log_probabilities", "weighted_choice"]

#: Proposal weights are counted in units of 2 to the minus this of the heaviest group, or in larger
#: ones where the sum of all of them would not fit into 62 bits.
_UNIT_BITS = 40
_SUM_BITS = 61
#: Proposals lie above the truth by this part, far more than the rounding of a float logarithm.
_MARGIN = 2.0**-20
#: More groups than this are refused: proposals would be mostly rejected.
_MOST_GROUPS = 1 << 30
#: Bits and decimal digits with which a coin is first flipped.
_COIN_BITS = 96
_COIN_DIGITS = 40
#: No factor in front of the exponential of a coin exceeds e to this: 63·ln 2 + 40·ln 2 < 72.
_LARGEST_LOG_FACTOR = 72


def group_log_probabilities(
    scores: NDArray[np.int64], weights: NDArray[np.int64], rate: Fraction
) -> NDArray[np.float64]:
    """Return the log-probability of each group, in floating point, for audits.

    Parameters
    ----------
    scores, weights, rate
        As for `weighted_choice`.
    """
    logs = _log_weights(scores, weights, float(rate))
    logs -= logs.max()
    return np.asarray(logs - math.log(math.fsum(np.exp(logs))), dtype=np.float64)


def weighted_choice(
    scores: NDArray[np.int64], weights: NDArray[np.int64], *, rate: Fraction
) -> int:
    """Return group i with probability proportional to weights[i]·exp(rate·scores[i]), exactly.

    Parameters
    ----------
    scores
        The private score of each group.
    weights
        How many candidates each group holds, positive.
    rate
        The public factor of the scores.

    Notes
    -----
    Let m be the heaviest group, B = 40 (less for more than two million groups) and
    v_i = 1 + ⌊2^B·(1 + 2^−20)·(weight of i)/(weight of m)⌋ in floats. Group i is proposed with
    probability ∝ v_i and accepted with probability 2^B·(true ratio of the weights of i and m)/v_i,
    at most 1, so that an accepted group has exactly the right law whatever the floats were; they
    only have to be right within the margin.

    Privacy: if no score changes by more than Δ between neighbours and the weights of candidates are
    public, the choice of a candidate is 2·rate·Δ-DP.
    """
    if scores.size == 0 or scores.shape != weights.shape or scores.size > _MOST_GROUPS:
        raise ValueError(f"from 1 to {_MOST_GROUPS} groups are needed, each with score and weight")
    if int(weights.min()) < 1:
        raise ValueError("every group must hold at least one candidate")
    logs = _log_weights(scores, weights, float(rate))
    heaviest = int(np.argmax(logs))
    unit_bits = min(_UNIT_BITS, _SUM_BITS - scores.size.bit_length())
    ratios = np.exp(logs - logs[heaviest]) * (1 + _MARGIN) * 2.0**unit_bits
    proposals = 1 + np.floor(ratios).astype(np.int64)
    ends = np.cumsum(proposals)
    while True:
        drawn = int(noise.uniform_integers(None, bound=int(ends[-1])))
        group = int(np.searchsorted(ends, drawn, side="right"))
        factor = Fraction(int(weights[group]), int(weights[heaviest]))
        factor *= Fraction(2**unit_bits, int(proposals[group]))
        exponent = rate * (int(scores[group]) - int(scores[heaviest]))
        if _coin(factor, exponent):
            return group


def _log_weights(
    scores: NDArray[np.int64], weights: NDArray[np.int64], rate: float
) -> NDArray[np.float64]:
    """Return ln(weight) + rate·(score − best score), in floating point."""
    gaps = (scores - scores.max()).astype(np.float64)
    logs: NDArray[np.float64] = np.log(weights.astype(np.float64)) + rate * gaps
    return logs


def _coin(factor: Fraction, exponent: Fraction) -> bool:
    """Return True with probability factor·e^exponent, which must be at most 1."""
    # A factor is below e^72 (weights below 2^63, proposals in units of 2^40), so that all but 72 of
    # a long way down can be walked first, by coins that nearly always end the walk at once.
    far = max(0, math.floor(-exponent) - _LARGEST_LOG_FACTOR)
    if far and not noise.bernoulli_exp(None, exponent=far):
        return False
    exponent += far
    bits, digits = _COIN_BITS, _COIN_DIGITS
    drawn = int(noise.uniform_integers(None, bound=1 << bits))
    while True:
        low, high = _exponential_bounds(exponent, digits)
        if factor * low > 1:
            raise ArithmeticError("a proposal lay below the truth; no choice was made")
        # The uniform number lies in [drawn, drawn + 1]/2^bits.
        if drawn + 1 <= factor * low * 2**bits:
            return True
        if drawn >= factor * high * 2**bits:
            return False
        drawn = (drawn << bits) + int(noise.uniform_integers(None, bound=1 << bits))
        bits, digits = 2 * bits, 2 * digits


def _exponential_bounds(exponent: Fraction, digits: int) -> tuple[Fraction, Fraction]:
    """Return numbers below and above e^exponent that share about so many digits."""
    bounds = []
    for rounding in (ROUND_FLOOR, ROUND_CEILING):
        context = Context(prec=digits, rounding=rounding, Emin=-(10**9), Emax=10**9)
        rounded = context.divide(Decimal(exponent.numerator), Decimal(exponent.denominator))
        # Decimal.exp rounds half-even whatever the context says; one step outward bounds it.
        value = context.exp(rounded)
        outward = context.next_minus if rounding == ROUND_FLOOR else context.next_plus
        bounds.append(Fraction(outward(value)))
    return bounds[0], bounds[1]
