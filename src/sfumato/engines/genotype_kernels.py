"""The hot loops of counting genotypes, 32 people at a time.

A call has two bits, as in PLINK's .bed files: 00 two copies of the effect allele, 10 one, 11 none,
01 missing. A word of 64 bits holds the calls of 32 people at one site. A mask has the lower of the
two bits of every member of a group.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.compiling import compiled
from sfumato.engines.bit_kernels import _ones

__all__ = ["CALLS", "LOWER", "count_calls", "count_pairs", "sum_products"]

#: What is counted of a site: 0, 1 and 2 copies of the effect allele, and missing calls.
CALLS = 4
#: The lower bits of all calls of a word.
LOWER = np.uint64(0x5555555555555555)


def _count_all_calls(words: Any, masks: Any, counts: Any) -> None:
    """Count with operations on whole arrays."""
    low, high = words & LOWER, (words >> np.uint64(1)) & LOWER
    for group in range(masks.shape[0]):
        mask = masks[group]
        none = np.bitwise_count(low & high & mask).sum(axis=1)
        one = np.bitwise_count(high & ~low & mask).sum(axis=1)
        missing = np.bitwise_count(low & ~high & mask).sum(axis=1)
        everyone = np.bitwise_count(mask).sum()
        counts[:, group, 0] = none
        counts[:, group, 1] = one
        counts[:, group, 2] = everyone - none.astype(np.int64) - one - missing
        counts[:, group, 3] = missing


@compiled(
    lambda words, masks, counts: 64 + words.size * masks.shape[0] // 64,
    interpreted=_count_all_calls,
)
def count_calls(words: Any, masks: Any, counts: Any) -> None:
    """Count the calls of each site in each group.

    Parameters
    ----------
    words
        The calls, of shape (sites, words).
    masks
        The members of each group, of shape (groups, words).
    counts
        Is set: of shape (sites, groups, 4), for 0, 1, 2 copies and missing.
    """
    lower = np.uint64(0x5555555555555555)
    shift = np.uint64(1)
    sizes = np.zeros(masks.shape[0], dtype=np.int64)
    for group in range(masks.shape[0]):
        for place in range(masks.shape[1]):
            sizes[group] += _ones(masks[group, place])
    for site in range(words.shape[0]):
        for group in range(masks.shape[0]):
            none = 0
            one = 0
            missing = 0
            for place in range(words.shape[1]):
                word = words[site, place]
                mask = masks[group, place]
                low = word & lower
                high = (word >> shift) & lower
                none += _ones(low & high & mask)
                one += _ones(high & ~low & mask)
                missing += _ones(low & ~high & mask)
            counts[site, group, 0] = none
            counts[site, group, 1] = one
            counts[site, group, 2] = sizes[group] - none - one - missing
            counts[site, group, 3] = missing


def _decode(words: Any) -> Any:
    """Return calls as 0, 1, 2 and 3 for missing, one person per column."""
    octets = words.view(np.uint8)
    codes = (octets[:, :, None] >> np.array([0, 2, 4, 6], dtype=np.uint8)) & 3
    return np.array([2, 3, 1, 0], dtype=np.int64)[codes.reshape(words.shape[0], -1)]


def _count_all_pairs(words: Any, pairs: Any, mask: Any, counts: Any) -> None:
    """Count with operations on whole arrays."""
    inside = _decode(mask[None, :].copy())[0] == 3
    for number in range(pairs.shape[0]):
        one, two = _decode(words[pairs[number]])[:, inside]
        counts[number] = np.bincount(4 * one + two, minlength=16).reshape(4, 4)


@compiled(lambda words, pairs, mask, counts: pairs.shape[0] * (64 + mask.size * 8),
          interpreted=_count_all_pairs)  # fmt: skip
def count_pairs(words: Any, pairs: Any, mask: Any, counts: Any) -> None:
    """Count the pairs of calls at two sites.

    Parameters
    ----------
    words
        The calls, of shape (sites, words).
    pairs
        The two sites of each pair, of shape (pairs, 2).
    mask
        Who is counted.
    counts
        Is set: of shape (pairs, 4, 4), for 0, 1, 2 copies and missing at each of the two sites.
    """
    lower = np.uint64(0x5555555555555555)
    shift = np.uint64(1)
    for number in range(pairs.shape[0]):
        for first in range(4):
            for second in range(4):
                counts[number, first, second] = 0
        for place in range(mask.size):
            members = mask[place]
            one = words[pairs[number, 0], place]
            two = words[pairs[number, 1], place]
            low, high = one & lower, (one >> shift) & lower
            low_two, high_two = two & lower, (two >> shift) & lower
            for first in range(4):
                if first == 0:
                    own = low & high & members
                elif first == 1:
                    own = high & ~low & members
                elif first == 2:
                    own = ~(low | high) & members
                else:
                    own = low & ~high & members
                counts[number, first, 0] += _ones(own & low_two & high_two)
                counts[number, first, 1] += _ones(own & high_two & ~low_two)
                counts[number, first, 2] += _ones(own & ~(low_two | high_two))
                counts[number, first, 3] += _ones(own & low_two & ~high_two)


def _sum_all_products(words: Any, values: Any, sums: Any) -> None:
    """Sum with operations on whole arrays."""
    calls = _decode(words)[:, : values.size]
    for call in range(4):
        sums[:, call] = (calls == call) @ values


@compiled(lambda words, values, sums: 64 + words.shape[0] * values.size,
          interpreted=_sum_all_products)  # fmt: skip
def sum_products(words: Any, values: Any, sums: Any) -> None:
    """Sum a whole number over the people with each call.

    Parameters
    ----------
    words
        The calls, of shape (sites, words).
    values
        The number of each person, 0 for those who do not count.
    sums
        Is set: of shape (sites, 4), for 0, 1, 2 copies and missing.
    """
    for site in range(words.shape[0]):
        for call in range(4):
            sums[site, call] = 0
        for person in range(values.size):
            word = words[site, person >> 5]
            code = (word >> np.uint64(2 * (person & 31))) & np.uint64(3)
            if code == 3:
                sums[site, 0] += values[person]
            elif code == 2:
                sums[site, 1] += values[person]
            elif code == 0:
                sums[site, 2] += values[person]
            else:
                sums[site, 3] += values[person]
