"""A count in which no edge counts for more than a limit that was chosen privately before.

The recursive mechanism in its linear-programming form, for small graphs, at pure ε: first how many
steps up a public scale of limits the graph asks for, with geometric noise; then the largest packing
of subgraphs at that limit, which one edge changes by at most the limit. The count is never too high
but for noise, and too low where the limit cuts. Proof: docs/proofs/recursive.md. Chen and Zhou,
*Recursive Mechanism: Towards Node Differential Privacy and Unrestricted Joins*, SIGMOD 2013.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sfumato.data.graph import Graph, GraphPublic
from sfumato.graph.copies import Copies, copies_of
from sfumato.graph.count_law import CountLaw
from sfumato.graph.margins import margin
from sfumato.graph.number import NumberRelease
from sfumato.graph.packing import packed, thinned_within
from sfumato.graph.shapes import Shape
from sfumato.mechanisms.laplace import GeometricNoise
from sfumato.privacy.budget import Budget
from sfumato.privacy.loss import Loss, PureDP
from sfumato.privacy.plan import PlanStep
from sfumato.privacy.rounding import exp_up, log_up
from sfumato.privacy.transcript import Transcript

__all__ = ["MOST_COPIES", "RecursiveCount"]

#: The labels of what is said, in transcripts.
LIMIT, COUNT = "limit", "count"
#: Shapes are taken apart where no graph on so many nodes has more subgraphs than this.
MOST_COPIES = 6_000
#: The count is taken in steps of the limit over this.
STEPS = 1024
#: The limit is taken so much higher, as a logarithm, than the noisy step says.
HIGHER = Fraction(1, 2)
#: A step is reached if what must be taken away is at most its number plus this. Its denominator is
#: a large prime, so that programs whose solutions have small ones are decided without fractions.
BEYOND = Fraction(383, 1021)


@dataclass(frozen=True)
class RecursiveCount:
    """A count released by the recursive mechanism.

    Parameters
    ----------
    shape
        What is counted.
    nodes
        The public number of nodes.
    epsilon
        The pure loss, half for the limit and half for the count.
    """

    shape: Shape
    nodes: int
    epsilon: Fraction

    @staticmethod
    def require(shape: Shape, public: GraphPublic) -> None:
        """Refuse where there could be too many subgraphs. Public."""
        most = shape.largest(public.nodes)
        if most > MOST_COPIES:
            raise ValueError(
                f"the recursive mechanism weighs subgraphs one by one, {MOST_COPIES:,} at most; "
                f"a graph on {public.nodes} nodes may have {most:,} {shape.words}; use the ladder"
            )

    @property
    def _half(self) -> Fraction:
        return self.epsilon / 2

    @property
    def growth(self) -> Fraction:
        """β: how much the logarithm of the limit grows from step to step. Public."""
        return self.epsilon / 5

    @property
    def cap(self) -> int:
        """The largest limit: in no graph is an edge in more subgraphs. Public."""
        return self.shape.global_sensitivity(self.nodes)

    @property
    def _steps_noise(self) -> GeometricNoise:
        return GeometricNoise(shape=(1,), sensitivity=Fraction(1), epsilon=self._half)

    @property
    def _count_noise(self) -> GeometricNoise:
        return GeometricNoise(shape=(1,), sensitivity=Fraction(STEPS), epsilon=self._half)

    def limit_at(self, step: int, higher: Fraction = Fraction(0)) -> int:
        """Return the limit of a step, ⌈e^(β·step + higher)⌉ from 1 to the cap. Public."""
        exponent = self.growth * step + higher
        if exponent <= 0:
            return 1
        if exponent > log_up(Fraction(self.cap)):
            return self.cap
        return min(math.ceil(exp_up(exponent)), self.cap)

    def step_of(self, copies: Copies) -> int:
        """Return the first step that the graph reaches. Private; one edge changes it by 1.

        A step is reached if edges worth its number, taken away in parts, leave no edge in more
        subgraphs than its limit.
        """
        # All edges taken away leave nothing, and so does a limit that no edge exceeds.
        low, high = -1, copies.edges
        while high - low > 1:
            middle = (low + high) // 2
            reached = thinned_within(copies, self.limit_at(middle), middle + BEYOND)
            low, high = (low, middle) if reached else (middle, high)
        return high

    def plan_steps(self, whole: Loss) -> tuple[PlanStep, ...]:
        """Return what is planned: half of the whole loss for each step."""
        loss = whole.share(Fraction(1, 2))
        return (
            PlanStep(
                what="how many subgraphs an edge may count for",
                loss=loss,
                noise=f"± {self._steps_noise.standard_deviation:.4g} (1 s.d.) steps",
                error=f"the limit grows by e^{float(self.growth):.4g} from step to step",
            ),
            PlanStep(
                what=f"the number of {self.shape.words}, counted so",
                loss=loss,
                noise="geometric, by that limit",
                error="follows the graph; the release will tell its noise, not what was cut",
            ),
        )

    def measure(self, data: Graph, budget: Budget) -> None:
        """Choose the limit, count, and pay."""
        copies = copies_of(self.shape, data.counts)
        loss = PureDP(self._half)
        step = np.array([self.step_of(copies)], dtype=np.int64)
        said = budget.take(loss, LIMIT).measure(self._steps_noise, step, label=LIMIT)
        limit = self.limit_at(int(said[0]), HIGHER)
        count = np.array([packed(copies, limit, Fraction(limit, STEPS))], dtype=np.int64)
        budget.take(loss, COUNT).measure(self._count_noise, count, label=COUNT)

    def number(self, transcript: Transcript) -> NumberRelease:
        """Return the release: its noise is public, what the limit cut off is not."""
        limit = self.limit_at(int(transcript[LIMIT][0]), HIGHER)
        steps = int(transcript[COUNT][0])
        cut = f"No edge counts for more than {limit:,} of them, so it may be too low."
        return NumberRelease(
            self.shape.words,
            math.floor(Fraction(steps * limit, STEPS) + Fraction(1, 2)),
            margin=(margin(self._count_noise) + 1) * limit / STEPS,
            largest=self.shape.largest(self.nodes),
            note="" if limit == self.cap else cut,
        )

    def law(self, data: Graph) -> CountLaw:
        """Return the law of the count around what the limit leaves. Not private."""
        copies = copies_of(self.shape, data.counts)
        limit = self.limit_at(self.step_of(copies), HIGHER)
        count = packed(copies, limit, Fraction(1))
        noise = GeometricNoise(shape=(1,), sensitivity=Fraction(limit), epsilon=self._half)
        return CountLaw(noise, np.array([count], dtype=np.int64))

    def expected_error(self, data: Graph, probability: float) -> int:
        """Return how far off it is at most, had the first step no noise. Not private.

        Parameters
        ----------
        data
            The private graph.
        probability
            One half gives the median of the noise; what the limit cuts is added.
        """
        law = self.law(data)
        return self.shape.count(data.counts) - law.value + law.quantile(probability)
