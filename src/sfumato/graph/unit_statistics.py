"""Unit statistics of graphs whose noise follows the graph: what is measured, and how.

That the noise follows the graph is a fact about the statistic, never about the graph. What `given`
returns is private and goes to a primitive only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.data.graph import Graph
from sfumato.engines.counts import GraphCounts
from sfumato.graph.ladders import last_rung
from sfumato.mechanisms.expression.noises import HiddenNoise, Noise
from sfumato.mechanisms.ladder import LadderInput, LadderNoise
from sfumato.mechanisms.smooth import SmoothCauchy, SmoothInput, SmoothLaplace
from sfumato.mechanisms.smooth_calibration import smooth_maximum

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
        The number, or the list of numbers, exact. Private.
    bounds
        U(0), U(1), …, so many of them at most. Private.
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

    count: Callable[[GraphCounts], Any]
    bounds: Callable[[GraphCounts, int], list[int] | list[Fraction]]
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
            return LadderNoise(epsilon=epsilon, cap=self._steps(self.cap))
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

    def _steps(self, width: int | Fraction) -> int:
        """Return how many steps of the grid a change can be, at most."""
        return math.ceil(Fraction(width) / Fraction(2) ** self._grid)

    def given(self, data: Graph, primitive: Any) -> Any:
        """Return the value with its ladder or smooth bound. Private."""
        graph = data.counts
        if isinstance(primitive, LadderNoise):
            value = Fraction(0 if self.cap == 0 else self.count(graph))
            steps = math.floor(value / Fraction(2) ** self._grid + Fraction(1, 2))
            return LadderInput(steps, self._rungs(graph, primitive))
        bound = self._smooth_bound(graph, primitive.beta)
        exact = self.count(graph)
        if isinstance(primitive, SmoothLaplace):
            exact = tuple(exact) if self.entries is not None else (exact,)
        return SmoothInput(exact, bound)

    def _rungs(self, graph: GraphCounts, primitive: LadderNoise) -> tuple[int, ...]:
        if self.cap == 0:
            return ()
        # Two steps for each node reach the cap of any of these statistics.
        most = min(last_rung(primitive.epsilon, primitive.cap), 2 * graph.nodes + 1)
        return tuple(self._steps(width) for width in self.bounds(graph, most))

    def _smooth_bound(self, graph: GraphCounts, beta: Fraction) -> Fraction:
        """Return S = max_s e^(−βs)·U(s)."""
        # Beyond this distance even the cap is worth less than the first term can be.
        horizon = min(math.ceil(180 / beta), 2 * graph.nodes + 1)
        widths = self.bounds(graph, horizon)
        return smooth_maximum(
            lambda s: widths[s] if s < len(widths) else self.cap, beta, self.cap, horizon=horizon
        )

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
