"""How well a score distinguishes people of a group from others: curve, area, advantage.

NOT PRIVATE where the people are real.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.attacks.outcome import USUAL
from sfumato.evaluate.regression import area_under_curve

__all__ = ["ALARMS", "Detection"]

#: Rates of false alarms at which the share of people found is stated.
ALARMS = (0.01, 0.05)


@dataclass(frozen=True)
class Detection:
    """How well a score detects the people of a group. Not private.

    Parameters
    ----------
    area
        The area under the curve: how often a random member has a higher score than a random other
        person. One half is guessing.
    advantage
        The share of members found minus the share of others accused, at the threshold that is best
        on one half of the people and tried on the other half. Zero is guessing.
    found
        The share of members found at each rate of false alarms of `ALARMS`.
    members, others
        The number of people of either kind.
    false, true
        The curve: the shares of others and of members above each threshold.
    """

    area: float
    advantage: float
    found: tuple[float, ...]
    members: int
    others: int
    false: NDArray[np.float64] = field(repr=False, compare=False)
    true: NDArray[np.float64] = field(repr=False, compare=False)

    @classmethod
    def of(cls, members: ArrayLike, others: ArrayLike) -> Detection:
        """Return how well scores distinguish two groups.

        Parameters
        ----------
        members, others
            The scores of the people in the group, and of people who are not.
        """
        inside, outside = (np.asarray(group, dtype=np.float64) for group in (members, others))
        for name, scores in (("members", inside), ("others", outside)):
            if scores.ndim != 1 or len(scores) < 2 or np.isnan(scores).any():
                raise ValueError(f"at least two {name} with a score are needed")
        truth = np.repeat([True, False], [len(inside), len(outside)])
        false, true = _curve(inside, outside)
        halves = [(slice(0, None, 2), slice(1, None, 2)), (slice(1, None, 2), slice(0, None, 2))]
        gains = [_gain(inside, outside, learn, test) for learn, test in halves]
        return cls(
            area=area_under_curve(np.concatenate([inside, outside]), truth),
            advantage=float(np.mean(gains)),
            found=tuple(_found(inside, outside, alarm) for alarm in ALARMS),
            members=len(inside),
            others=len(outside),
            false=false,
            true=true,
        )

    @property
    def area_margin(self) -> float:
        """How far the area may be off by chance, 19 times in 20 (Hanley and McNeil, 1982)."""
        area = self.area
        members, others = area / (2 - area) - area**2, 2 * area**2 / (1 + area) - area**2
        spread = area * (1 - area) + (self.members - 1) * members + (self.others - 1) * others
        return USUAL * sqrt(max(spread, 0.0) / (self.members * self.others))

    @property
    def advantage_margin(self) -> float:
        """How far the advantage may be off by chance, 19 times in 20, at most."""
        return USUAL * sqrt(0.25 / self.members + 0.25 / self.others)

    @property
    def beats_guessing(self) -> bool:
        """Whether the area differs from one half by more than chance."""
        # Under guessing the area has this standard error, ties apart.
        chance = sqrt((self.members + self.others + 1) / (12 * self.members * self.others))
        return self.area - 0.5 > USUAL * chance

    def to_json(self) -> dict[str, Any]:
        """Return a plain document."""
        return {
            "area": self.area,
            "area_margin": self.area_margin,
            "advantage": self.advantage,
            "advantage_margin": self.advantage_margin,
            "found": {str(alarm): share for alarm, share in zip(ALARMS, self.found, strict=True)},
            "members": self.members,
            "others": self.others,
        }


def _curve(
    inside: NDArray[np.float64], outside: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the shares of others and of members at or above each score, from none to all."""
    thresholds = np.unique(np.concatenate([inside, outside]))[::-1]
    shares = [
        np.concatenate([[0.0], 1 - np.searchsorted(np.sort(group), thresholds) / len(group)])
        for group in (outside, inside)
    ]
    return shares[0], shares[1]


def _gain(
    inside: NDArray[np.float64], outside: NDArray[np.float64], learn: slice, test: slice
) -> float:
    """Return the advantage on some people of the threshold that is best on others."""
    thresholds = np.unique(np.concatenate([inside[learn], outside[learn]]))
    above = [1 - np.searchsorted(np.sort(group[learn]), thresholds) / len(group[learn])
             for group in (inside, outside)]  # fmt: skip
    place = int(np.argmax(above[0] - above[1]))
    best = thresholds[max(place - 1, 0) : place + 1].mean()
    return float(np.mean(inside[test] >= best) - np.mean(outside[test] >= best))


def _found(inside: NDArray[np.float64], outside: NDArray[np.float64], alarm: float) -> float:
    """Return the share of members above a threshold that at most a share of others exceeds."""
    threshold = np.quantile(outside, 1 - alarm, method="higher")
    return float(np.mean(inside > threshold))
