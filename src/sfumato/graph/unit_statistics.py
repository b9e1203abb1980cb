"""Unit statistics of graphs whose noise follows the graph: what is measured, and how.

That the noise follows the graph is a fact about the statistic, never about the graph.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.data.graph import Graph
from sfumato.graph.ladders import last_rung
from sfumato.graph.unit_queries import BoundedQuery, LadderValue, SmoothValue
from sfumato.mechanisms.expression.noises import HiddenNoise, Noise
from sfumato.mechanisms.ladder import LadderNoise
from sfumato.mechanisms.smooth import SmoothCauchy, SmoothLaplace
from sfumato.privacy.program import Query

__all__ = ["FollowingStatistic"]


#: Whole numbers are said as they are; fractions in steps of 2 to this power.
FINE_GRID = -40


#: On a fine grid a ladder is off by half its first rung, however large ε is. With rungs of one
#: width its mean error is the smaller one up to about this ε, and beyond that of noise on a smooth
#: bound whose density falls with the fourth power, which has a mean and a variance.
LADDER_UP_TO = Fraction(29, 5)


#: Where the scale is told, its logarithm has to change by little: more of ε pays for the move.
FINITE_SLIDE = Fraction(3, 4)


@dataclass(frozen=True)
class FollowingStatistic:
    """A statistic whose noise follows the graph's own sensitivity: a ladder or a smooth bound.

    Parameters
    ----------
    count
        What is asked: a number, or a list of numbers, with bounds on its change.
    cap
        The global sensitivity, in the L1 norm. Public.
    entries
        The number of entries of a vector; `None` for one number.
    whole
        Whether the numbers and the bounds are whole.
    ladder
        Whether a ladder is used; it is for one number, and for a fraction up to some ε only.
    approximate
        Whether a smooth bound gets Laplace noise, which costs δ, or Cauchy noise.
    usual
        A public guess at U(0), for sharing a budget.
    finite
        Whether the noise needs a finite variance, so that a scale that is told says something:
        then there is no ladder, and numbers are said in fine steps even where they are whole.
    """

    count: BoundedQuery
    cap: int | Fraction
    entries: int | None = None
    whole: bool = True
    ladder: bool = True
    approximate: bool = False
    usual: float = 1.0
    finite: bool = False

    @property
    def needs_delta(self) -> bool:
        """Whether Laplace noise is scaled to a smooth bound."""
        return self.approximate and self.cap > 0

    @property
    def spread(self) -> float:
        """About twice the usual local sensitivity, as for ladders and smooth bounds."""
        return 2 * self.usual

    @property
    def _grid(self) -> int:
        return 0 if self.whole and not self.finite else FINE_GRID

    def primitive(
        self, epsilon: Fraction, delta: Fraction | None
    ) -> LadderNoise | SmoothCauchy | SmoothLaplace:
        """Return ladder noise, Laplace noise if there is a δ, or Cauchy noise."""
        climbs = self.ladder and not self.finite and (self.whole or epsilon <= LADDER_UP_TO)
        if self.cap == 0 or climbs:
            # Without an edge to add or remove nothing changes, and nothing is hidden.
            # How many steps of the grid a change can be, at most.
            steps = math.ceil(Fraction(self.cap) / Fraction(2) ** self._grid)
            return LadderNoise(epsilon=epsilon, cap=steps)
        if delta is None:
            if self.finite:
                return SmoothCauchy(
                    epsilon=epsilon, grid_exponent=self._grid, power=4, slide=FINITE_SLIDE
                )
            power = 4 if self.ladder else 2
            return SmoothCauchy(epsilon=epsilon, grid_exponent=self._grid, power=power)
        return SmoothLaplace(
            epsilon=epsilon, delta=delta, dimension=self.entries or 1, grid_exponent=self._grid
        )

    def query(self, primitive: LadderNoise | SmoothCauchy | SmoothLaplace) -> Query:
        """Return what the primitive looks at: the value with its ladder or smooth bound."""
        if isinstance(primitive, LadderNoise):
            return LadderValue(self.count, self._grid, last_rung(primitive.epsilon, primitive.cap))
        several = isinstance(primitive, SmoothLaplace)
        return SmoothValue(self.count, primitive.beta, self.cap, several)

    def given(self, data: Graph, primitive: Any) -> Any:
        """Return the exact answer to that. Private."""
        return self.query(primitive).answer(data)

    def read(self, primitive: Any, said: Any) -> Any:
        """Return the noisy number or array."""
        if self.entries is not None and isinstance(primitive, LadderNoise):
            # Without an edge to add or remove, a vector is the same for all graphs: nothing.
            return np.zeros(self.entries)
        step = Fraction(2) ** self._grid
        if not isinstance(primitive, SmoothLaplace):
            return int(said) if self._grid == 0 else int(said) * step
        numbers = [int(entry) * step for entry in said]
        return numbers[0] if self.entries is None else np.array([float(n) for n in numbers])

    def noise(self, primitive: Any) -> Noise:
        """Return that the scale is private; all but Cauchy noise has the mean 0."""
        return HiddenNoise(centred=not isinstance(primitive, SmoothCauchy) or primitive.power > 2)
