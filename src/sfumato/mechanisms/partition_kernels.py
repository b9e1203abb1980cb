"""The hot loops of choosing a partition, compiled by Numba.

Imported only when a partition is drawn. Nodes of the binary tree over 2^k cells are numbered as a
heap: the root is 1, the children of v are 2v and 2v + 1, and the cells are the last 2^k. Costs are
exact integers. Logarithms of weights are floats with a proved bound on their error; no coin is
decided by them unless every number within the bound decides it alike.
"""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np

__all__ = ["BUCKET", "SPLIT", "UNDECIDED", "decide", "deviations", "weigh"]

BUCKET, SPLIT, UNDECIDED = 0, 1, 2

#: A bound on the relative error of a few roundings, and of the functions below.
SLACK = 2.0**-42

#: e⁻⁶⁰ is below 2⁻⁸⁶: to all that is decided here it is nothing.
FAR = 60.0
_RECIPROCAL_FACTORIALS = np.array([1.0 / math.factorial(order) for order in range(14)])
_POWERS = np.array([2.0**-halvings for halvings in range(96)])


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _exponential(x: float) -> float:
    """Return e⁻ˣ for 0 ≤ x ≤ 60, by + and × alone, so that its error can be proved.

    x = k·ln 2 − r with |r| < 0.36 and r right to 2⁻⁴⁶; a Taylor series of degree 13 (error below
    2⁻⁵⁷), rounding below 2⁻⁴⁸, and an exact power of two: a relative error below 2⁻⁴⁵.
    """
    halvings = np.int64(x * 1.4426950408889634 + 0.5)
    r = halvings * 0.6931471805599453 - x
    series = _RECIPROCAL_FACTORIALS[13]
    for order in range(12, -1, -1):
        series = series * r + _RECIPROCAL_FACTORIALS[order]
    result: float = series * _POWERS[halvings]
    return result


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _log_of_one_plus(y: float) -> float:
    """Return ln(1 + y) for 0 ≤ y ≤ 1, by +, × and ÷ alone.

    It is 2·(z + z³/3 + z⁵/5 + …) with z = y/(2 + y) ≤ 1/3; after 17 terms what is left out is below
    3⁻³⁵/17 < 2⁻⁵⁹, and all terms are positive, so that rounding stays below 2⁻⁴⁷ of the sum.
    """
    z = y / (2.0 + y)
    square = z * z
    series = 0.0
    for order in range(33, 0, -2):
        series = series * square + 1.0 / order
    result: float = 2.0 * z * series
    return result


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def deviations(values: Any, costs: Any) -> None:
    """Write the least L1 deviation from a constant of the cells below every node.

    Parameters
    ----------
    values
        The cells; they are sorted, block by block, on the way.
    costs
        One entry a node, written to.
    """
    size = values.size
    costs[0] = 0
    for cell in range(size):
        costs[size + cell] = 0
    merged = np.empty_like(values)
    length = 1
    while length < size:
        node = size // (2 * length)
        for start in range(0, size, 2 * length):
            left, right, end = start, start + length, start + 2 * length
            middle = right
            for place in range(start, end):
                if right >= end or (left < middle and values[left] <= values[right]):
                    merged[place] = values[left]
                    left += 1
                else:
                    merged[place] = values[right]
                    right += 1
            # With a median in the middle, the deviation is the upper half minus the lower.
            total = np.int64(0)
            for place in range(middle, end):
                total += merged[place]
            for place in range(start, middle):
                total -= merged[place]
            costs[node] = total
            node += 1
        values, merged = merged, values
        length *= 2


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def weigh(costs: Any, rate: float, keep: float, split: float, logs: Any, errors: Any) -> None:
    """Write the logarithm of the total weight of all partitions below every node.

    Z(v) = (1 − s)·e^(−rate·cost(v)) + s·Z(2v)·Z(2v + 1), and 1 for a node of cost 0, below which
    nothing costs anything.

    Parameters
    ----------
    costs
        The cost of every node.
    rate, keep, split
        The rate, ln(1 − s) and ln s, each right to one rounding.
    logs, errors
        ln Z of every node, and a bound on its absolute error; written to.
    """
    for node in range(costs.size - 1, 0, -1):
        if costs[node] == 0:
            logs[node] = 0.0
            errors[node] = 0.0
            continue
        bucket = keep - rate * costs[node]
        parts = split + logs[2 * node] + logs[2 * node + 1]
        larger = max(bucket, parts)
        apart = abs(bucket - parts)
        extra = _log_of_one_plus(_exponential(apart)) if apart < FAR else 0.0
        logs[node] = larger + extra
        # ln(e^a + e^b) moves no further than the larger of the moves of a and b.
        wrong = max(-SLACK * bucket, errors[2 * node] + errors[2 * node + 1] - SLACK * parts)
        errors[node] = wrong + SLACK * (1.0 - larger)


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def decide(
    nodes: Any,
    words: Any,
    costs: Any,
    rate: float,
    keep: float,
    split: float,
    logs: Any,
    errors: Any,
    widen: float,
    outcome: Any,
) -> None:
    """Throw the coin of each node: is it a bucket, or is it split?

    The random number lies in [u, u + 2⁻⁵³], u being the first 53 bits of the word.

    Parameters
    ----------
    nodes, words
        Nodes of positive cost that are not cells, and a random word for each.
    costs, rate, keep, split, logs, errors
        As for `weigh`.
    widen
        A further bound on the error of the probability; tests send coins to the integers by it.
    outcome
        BUCKET, SPLIT or UNDECIDED for each; written to.
    """
    step = 2.0**-53
    for index in range(nodes.size):
        node = nodes[index]
        bucket = keep - rate * costs[node]
        parts = split + logs[2 * node] + logs[2 * node + 1]
        odds = bucket - parts
        wrong = errors[2 * node] + errors[2 * node + 1] - 2.0 * SLACK * (bucket + parts)
        low = _logistic(odds - wrong) * (1.0 - 8.0 * SLACK) - widen
        # Where the probability is too small for a float, no first digits rule it out.
        high = max(_logistic(odds + wrong) * (1.0 + 8.0 * SLACK), 2.0**-60) + widen
        number = np.float64(np.int64(words[index] >> np.uint64(11))) * step
        if number + step <= low:
            outcome[index] = BUCKET
        elif number >= high:
            outcome[index] = SPLIT
        else:
            outcome[index] = UNDECIDED


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _logistic(odds: float) -> float:
    """Return 1/(1 + e^−odds), with a relative error below 2⁻⁴¹, or 0 where it is below 2⁻⁸⁶."""
    if odds <= -FAR:
        return 0.0
    if odds >= FAR:
        return 1.0
    small = _exponential(abs(odds))
    result: float = (small if odds < 0.0 else 1.0) / (1.0 + small)
    return result
