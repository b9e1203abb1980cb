"""The length limit: how many symbols of a sequence are used, declared or chosen privately.

Noise grows with the limit, since one sequence is as many symbols as it is long; so the limit may
not be read off the data. It is declared, or found by the sparse vector technique: candidates are
tried from the shortest on, until one keeps about 19 of 20 sequences whole. Where there are too few
sequences to tell, that ends early, at a short limit and little noise; a choice among all candidates
at once would end anywhere, mostly at limits without use (docs/proofs/suffix-tree.md).
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

from sfumato.mechanisms.laplace import LARGEST_COUNT
from sfumato.mechanisms.quantile import quantile_sensitivity
from sfumato.mechanisms.sparse_vector import AboveThreshold
from sfumato.privacy.budget import Budget
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import pure_within
from sfumato.privacy.program import Program, Start, Step
from sfumato.sequence.queries import LengthSurplus

__all__ = ["LABEL", "QUANTILE", "candidates", "find_limit", "limit_margin", "search"]

#: The share of sequences that are to be kept whole.
QUANTILE = Fraction(19, 20)
#: The name of the search in transcripts.
LABEL = "length limit"
#: Up to here every limit is a candidate; then each is an eighth longer than the one before.
FINE = 16
#: By how many scales of its hidden noise the threshold is lowered.
LOWERED = 3


@lru_cache(maxsize=64)
def candidates(largest: int) -> tuple[int, ...]:
    """Return the public candidates for a limit, from 1 to the largest one."""
    found = list(range(1, min(FINE, largest) + 1))
    while found[-1] < largest:
        found.append(min(found[-1] + found[-1] // 8, largest))
    return tuple(found)


def search(epsilon: Fraction, relation: Relation) -> AboveThreshold:
    """Return the primitive that tells the first candidate that is long enough."""
    sensitivity = quantile_sensitivity(QUANTILE, relation)
    blank = AboveThreshold(threshold=0, sensitivity=sensitivity, positives=1, epsilon=epsilon)
    # Even the longest limit exceeds 19 of 20 by one of 20; where the hidden noise is larger than
    # that, a threshold of 0 might never be reached.
    below = min(math.ceil(LOWERED * blank.threshold_scale), LARGEST_COUNT)
    return replace(blank, threshold=-below)


def limit_margin(epsilon: Fraction, largest: int, relation: Relation) -> float:
    """Return by how many sequences the limit misses the quantile at most, 19 times in 20.

    Parameters
    ----------
    epsilon
        The pure loss of the search.
    largest
        The largest candidate.
    relation
        What a neighbour is.
    """
    primitive = search(epsilon, relation)
    # P(|Laplace(s)| > s·ln(40·m)) ≤ 1/40m; the hidden noise, and each of m fresh ones.
    hidden = float(primitive.threshold_scale) * (math.log(40) + LOWERED)
    fresh = float(primitive.query_scale) * math.log(40 * len(candidates(largest)))
    return (hidden + fresh) / QUANTILE.denominator


def find_limit(budget: Budget, largest: int) -> Program[int]:
    """Return the limit that keeps about 19 of 20 sequences whole, and spend the whole slice.

    Parameters
    ----------
    budget
        The slice that is spent.
    largest
        The largest candidate. Public.

    Notes
    -----
    Privacy: the answers 20·#{length ≤ c} − 19·n move by at most 19 when a sequence is added or
    removed, and by 20 when it is replaced; ε-DP by the sparse vector technique, however many
    candidates are tried (docs/proofs/suffix-tree.md).
    """
    primitive = search(pure_within(budget.remaining), budget.relation)
    run = yield Start(budget, primitive, LABEL)
    for candidate in candidates(largest):
        if (yield Step(run, LengthSurplus(candidate, QUANTILE))):
            break
    return candidate
