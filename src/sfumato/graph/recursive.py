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

from sfumato.data.graph import Graph, GraphPublic
from sfumato.graph.count_law import CountLaw
from sfumato.graph.number import NumberRelease
from sfumato.graph.packing import LimitScale
from sfumato.graph.queries import LimitStep, PackedSubgraphs
from sfumato.graph.shapes import Shape
from sfumato.mechanisms.count_noise import margin
from sfumato.mechanisms.laplace import GeometricNoise
from sfumato.privacy.budget import Budget
from sfumato.privacy.loss import Loss, PureDP
from sfumato.privacy.plan import PlanStep
from sfumato.privacy.program import Ask, Program

__all__ = ["MOST_COPIES", "RecursiveCount"]

#: The labels of what is said, in transcripts.
LIMIT, COUNT = "limit", "count"
#: Shapes are taken apart where no graph on so many nodes has more subgraphs than this.
MOST_COPIES = 6_000
#: The count is taken in steps of the limit over this.
STEPS = 1024
#: The limit is taken so much higher, as a logarithm, than the noisy step says.
HIGHER = Fraction(1, 2)


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
                f"mechanism='recursive' allows at most {MOST_COPIES:,} subgraphs; a graph of "
                f"{public.nodes} nodes may have {most:,} {shape.words}; use mechanism='ladder'"
            )

    @property
    def _half(self) -> Fraction:
        return self.epsilon / 2

    @property
    def scale(self) -> LimitScale:
        """The limits that are chosen from. Public."""
        return LimitScale(self.epsilon / 5, self.shape.global_sensitivity(self.nodes))

    @property
    def _steps_noise(self) -> GeometricNoise:
        return GeometricNoise(shape=(1,), sensitivity=Fraction(1), epsilon=self._half)

    @property
    def _count_noise(self) -> GeometricNoise:
        return GeometricNoise(shape=(1,), sensitivity=Fraction(STEPS), epsilon=self._half)

    def plan_steps(self, whole: Loss) -> tuple[PlanStep, ...]:
        """Return what is planned: half of the whole loss for each step."""
        loss = whole.share(Fraction(1, 2))
        return (
            PlanStep(
                what="how many subgraphs an edge may count for",
                loss=loss,
                noise=f"± {self._steps_noise.standard_deviation:.4g} (1 s.d.) steps",
                error=f"the limit grows by e^{float(self.scale.growth):.4g} from step to step",
            ),
            PlanStep(
                what=f"the number of {self.shape.words}, counted so",
                loss=loss,
                noise="geometric, by that limit",
                error="depends on the graph; the release states its noise, not what was cut",
            ),
        )

    def program(self, budget: Budget) -> Program[NumberRelease]:
        """Choose the limit, and count: the noise is public, what the limit cut off is not."""
        loss = PureDP(self._half)
        step = LimitStep(self.shape, self.scale)
        said = yield Ask(budget.take(loss, LIMIT), self._steps_noise, step, LIMIT)
        limit = self.scale.limit(int(said[0]), HIGHER)
        count = PackedSubgraphs(self.shape, limit, Fraction(limit, STEPS))
        steps = yield Ask(budget.take(loss, COUNT), self._count_noise, count, COUNT)
        cut = f"No edge counts for more than {limit:,} of them, so it may be too low."
        return NumberRelease(
            self.shape.words,
            math.floor(Fraction(int(steps[0]) * limit, STEPS) + Fraction(1, 2)),
            margin=(margin(self._count_noise) + 1) * limit / STEPS,
            largest=self.shape.largest(self.nodes),
            note="" if limit == self.scale.cap else cut,
        )

    def law(self, data: Graph) -> CountLaw:
        """Return the law of the count around what the limit leaves. Not private."""
        (step,) = LimitStep(self.shape, self.scale).answer(data)
        limit = self.scale.limit(int(step), HIGHER)
        noise = GeometricNoise(shape=(1,), sensitivity=Fraction(limit), epsilon=self._half)
        return CountLaw(noise, PackedSubgraphs(self.shape, limit, Fraction(1)).answer(data))

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
