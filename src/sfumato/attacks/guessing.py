"""The likeliest value of a sensitive column, given a model's output and a person's record.

An attacker adds up the probability of all records that agree with what is known (Fredrikson, Lantz,
Jha, Lin, Page and Ristenpart, 2014). A linear model sees a record through one sum, so that it is
enough to know the law of what the unknown columns add to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

__all__ = ["SumLaw", "likeliest", "output_chances"]

Floats = NDArray[np.float64]

#: Combinations of unknown values that are all tried; of more a sample is drawn.
MOST_COMBINATIONS = 2**16


@dataclass(frozen=True)
class SumLaw:
    """The law of what the columns that are not known add to a sum.

    Parameters
    ----------
    sums
        What they may add, in increasing order.
    below
        The probability of adding at most that much; one entry more, the first of which is 0.
    """

    sums: Floats
    below: Floats

    @classmethod
    def of(
        cls,
        adds: Sequence[Floats],
        priors: Sequence[Floats],
        *,
        most: int = MOST_COMBINATIONS,
        samples: int = 10_000,
        generator: np.random.Generator,
    ) -> SumLaw:
        """Return the law of a sum of independent columns.

        Parameters
        ----------
        adds, priors
            What each value of each unknown column adds, and how likely it is.
        most
            Up to so many combinations of values are all tried; of more a sample is drawn.
        samples
            How many combinations are drawn then.
        generator
            Draws them.
        """
        if prod(len(part) for part in adds) > most:
            total = np.zeros(samples)
            for part, prior in zip(adds, priors, strict=True):
                total += generator.choice(part, size=samples, p=prior)
            return cls._sorted(total, np.full(samples, 1 / samples))
        sums, chances = np.zeros(1), np.ones(1)
        for part, prior in zip(adds, priors, strict=True):
            sums = (sums[:, None] + part).ravel()
            chances = (chances[:, None] * prior).ravel()
        return cls._sorted(sums, chances)

    @classmethod
    def _sorted(cls, sums: Floats, chances: Floats) -> SumLaw:
        order = np.argsort(sums, kind="stable")
        below = np.concatenate([[0.0], np.cumsum(chances[order])])
        return cls(sums[order], below / below[-1])

    def at_most(self, limits: Floats) -> Floats:
        """Return how likely it is that no more than each limit is added."""
        return np.asarray(self.below[np.searchsorted(self.sums, limits, side="right")])


def output_chances(law: SumLaw, sums: Floats, edges: Floats) -> Floats:
    """Return how likely each output is for each record.

    Parameters
    ----------
    law
        What the unknown columns add.
    sums
        What the known ones add up to, one number a record.
    edges
        Where sums are cut into outputs.

    Returns
    -------
    chances
        Array of shape (records, outputs).
    """
    below = law.at_most(edges - sums[:, None])
    ends = np.zeros((len(sums), 1)), np.ones((len(sums), 1))
    return np.diff(np.concatenate([ends[0], below, ends[1]], axis=1), axis=1)


def likeliest(prior: Floats, likelihood: Floats) -> NDArray[np.intp]:
    """Return the value with the largest product of share and likelihood for each record.

    Of two that are equally likely it is the one that the schema declares first. Where no value
    explains what was seen, the most frequent one is guessed.

    Parameters
    ----------
    prior
        The share of each value.
    likelihood
        How well each value explains what was seen, shape (records, values).
    """
    scores = prior * likelihood
    nothing = ~(scores > 0).any(axis=1)
    scores[nothing] = prior
    return np.asarray(np.argmax(scores, axis=1))
