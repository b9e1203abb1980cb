"""A count with noise as wide as its own local sensitivity, which is released with noise before it.

What bounds the change of the local sensitivity (the most common neighbours of two nodes, or the
largest degree) is told with noise and moved up; then the local sensitivity itself, likewise; then
the count with noise of that scale. The scale is public afterwards, and so is the error. The price
is δ: the probability that one of the two was not moved up enough. Proof:
docs/proofs/subgraph-counts.md. Karwa, Raskhodnikova, Smith and Yaroslavtsev, *Private Analysis of
Graph Structure*, VLDB 2011, have the idea, for k-triangles.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato import noise
from sfumato.data.graph import Graph, GraphPublic
from sfumato.graph.count_law import CountLaw
from sfumato.graph.ladders import k_triangle_growth
from sfumato.graph.number import NumberRelease
from sfumato.graph.queries import LocalSensitivity, NoisyLSInput
from sfumato.graph.shapes import Shape
from sfumato.mechanisms.count_noise import margin
from sfumato.mechanisms.laplace import LARGEST_INPUT, GeometricNoise
from sfumato.privacy.budget import Budget
from sfumato.privacy.loss import ApproxDP, Loss, Measure, convert
from sfumato.privacy.plan import PlanStep
from sfumato.privacy.primitive import Change, Primitive, require_array
from sfumato.privacy.program import Ask, Program
from sfumato.privacy.rounding import exp_down, log_down

__all__ = ["NoisyCount", "NoisyLSInput", "NoisyLocalSensitivity"]

#: The label of what is said, in transcripts.
COUNT = "count"
#: Noise is drawn in 64 bits; its scale stays below this.
LARGEST_SCALE = 2**52


@dataclass(frozen=True, kw_only=True)
class NoisyLocalSensitivity(Primitive):
    """Say a bound on the change of the local sensitivity, the latter, and a count, in turn.

    Parameters
    ----------
    epsilon, delta
        The approximate loss.
    nodes
        The public number of nodes.
    shape, size
        What is counted.
    published
        For k-triangles: the printed bound, which fails for k = 3, 4 and 5.

    Notes
    -----
    Privacy: except with probability δ what was said before bounds the change of what is said next,
    and each costs an equal part of ε (docs/proofs/subgraph-counts.md).
    """

    kind: ClassVar[str] = "noisy local sensitivity"

    epsilon: Fraction
    delta: Fraction
    nodes: int
    shape: str
    size: int
    published: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.epsilon <= 0 or not 0 < self.delta < 1:
            raise ValueError("epsilon must be positive, and delta between 0 and 1")
        if self.cap == 0:
            raise ValueError(
                "the count is the same for all graphs of this size, so no noise is needed"
            )

    @property
    def counted(self) -> Shape:
        """What is counted."""
        return Shape(self.shape, self.size)

    @property
    def cap(self) -> int:
        """The global sensitivity."""
        return self.counted.global_sensitivity(self.nodes)

    @property
    def steady(self) -> bool:
        """Whether one edge changes the local sensitivity by at most 1 in every graph."""
        return self.counted in (Shape("triangle", 3), Shape("clique", 3), Shape("star", 2))

    @property
    def steps(self) -> int:
        """How many numbers are said."""
        return 2 if self.steady else 3

    @property
    def part(self) -> Fraction:
        """The part of ε that each number costs."""
        return self.epsilon / self.steps

    @property
    def failure(self) -> Fraction:
        """The part of δ for each number but the count."""
        return self.delta / (self.steps - 1)

    def growth(self, reach: int) -> int:
        """Return by how much one edge changes the local sensitivity of a graph of this reach."""
        if self.shape == "star":
            return comb(reach, self.size - 2)
        if self.shape == "k-triangle":
            return k_triangle_growth(reach, self.size, published=self.published)
        return comb(reach, self.size - 3)

    def cost(self, measure: Measure) -> Loss:
        """Return (ε, δ); there is no pure and no zero-concentrated cost."""
        return convert(ApproxDP(self.epsilon, self.delta), measure)

    def check(self, value: Any) -> None:
        """Raise unless the input holds three whole numbers."""
        whole = isinstance(value, NoisyLSInput) and all(type(part) is int for part in value)
        if not whole:
            raise ValueError("the input is a NoisyLSInput of whole numbers")

    def sample(self, value: NoisyLSInput) -> NDArray[np.int64]:
        """Return the numbers with their noise; nothing is moved up yet."""
        said: list[int] = []
        for exact in self._exact(value):
            scale = self.scales(said)[len(said)]
            said.append(exact + int(noise.discrete_laplace((1,), scale=scale)[0]))
        return np.array(said, dtype=np.int64)

    def check_output(self, output: Any) -> None:
        """Raise unless an output is an int64 number for each step."""
        require_array(output, np.int64, (self.steps,))

    def log_probability(self, value: NoisyLSInput, output: NDArray[np.int64]) -> float:
        """Return the log-probability of an output: three discrete Laplace laws in turn."""
        said = [int(entry) for entry in output]
        scales = self.scales(said[:-1])
        return math.fsum(
            math.log(math.tanh(float(1 / scale) / 2)) - float(abs(exact - entry) / scale)
            for exact, entry, scale in zip(self._exact(value), said, scales, strict=True)
        )

    def change(self, value: NoisyLSInput, neighbour: NoisyLSInput) -> Change:
        """Measure every number against what the one before it allows, the largest part of all."""
        parts = [_part(value.value - neighbour.value, min(value.change, neighbour.change))]
        reach = min(value.reach, neighbour.reach)
        parts.append(_part(value.change - neighbour.change, self.growth(reach)))
        if not self.steady:
            parts.append(_part(value.reach - neighbour.reach, 1))
        return Change(max(parts), 1, "part of what is allowed")

    def scales(self, said: list[int]) -> list[Fraction]:
        """Return the scale of the noise of each number up to the one that comes next. Public.

        Parameters
        ----------
        said
            The noisy numbers that were said so far.
        """
        found: list[Fraction] = []
        if not self.steady:
            found.append(1 / self.part)
        if len(said) >= len(found):
            found.append(self._growth_scale(said))
        if len(said) >= self.steps - 1:
            found.append(self.told_change(said) / self.part)
        return found

    def _growth_scale(self, said: list[int]) -> Fraction:
        if self.steady:
            return 1 / self.part
        raised = said[0] + self._raise(1 / self.part)
        most = self.nodes - (1 if self.shape == "star" else 2)
        allowed = self.growth(min(max(raised, 0), most))
        # Where nothing can change 1 is enough, and noise needs some scale.
        return Fraction(min(max(allowed, 1), self.cap)) / self.part

    def told_change(self, said: list[int]) -> int:
        """Return the bound on the change of the count, from the noisy numbers. Public."""
        scale = self._growth_scale(said)
        raised = said[self.steps - 2] + self._raise(scale)
        return min(max(raised, 1), self.cap)

    def _raise(self, scale: Fraction) -> int:
        """Return the least c with P(Z < −c) ≤ δ′ for noise of a scale, rounded up."""
        # P(Z ≤ −c − 1) = q^(c+1)/(1 + q) with q = e^(−1/scale).
        room = self.failure * (1 + exp_down(-1 / scale))
        return max(math.ceil(-log_down(room) * scale) - 1, 0)

    def _exact(self, value: NoisyLSInput) -> Iterator[int]:
        """Yield the numbers in the order in which they are said. Private."""
        if not self.steady:
            yield value.reach
        yield min(value.change, LARGEST_INPUT)
        yield min(value.value, LARGEST_INPUT)


def _part(change: int, allowed: int) -> Fraction | float:
    if change == 0:
        return 0.0
    return Fraction(abs(change), allowed) if allowed else math.inf


@dataclass(frozen=True)
class NoisyCount:
    """A count released by its noisy local sensitivity.

    Parameters
    ----------
    primitive
        What is paid.
    """

    primitive: NoisyLocalSensitivity

    @staticmethod
    def require(shape: Shape, public: GraphPublic, epsilon: Fraction) -> None:
        """Refuse where noise of the global sensitivity would not fit 64 bits. Public."""
        cap = shape.global_sensitivity(public.nodes)
        if 3 * cap / epsilon > LARGEST_SCALE:
            raise ValueError(
                f"{shape.words} on {public.nodes} nodes have a global sensitivity of about "
                f"2**{cap.bit_length()}: noise of that scale does not fit 64 bits; use "
                "mechanism='ladder'"
            )

    def plan_steps(self, loss: Loss) -> tuple[PlanStep, ...]:
        """Return what is planned: one step, whose noise is known once it is taken."""
        return (
            PlanStep(
                what=f"the number of {self.primitive.counted.words}, after its local sensitivity",
                loss=loss,
                noise="noisy local sensitivity",
                error="depends on the graph; the release states it",
            ),
        )

    @property
    def query(self) -> LocalSensitivity:
        """What is asked."""
        return LocalSensitivity(self.primitive.counted)

    def program(self, budget: Budget) -> Program[NumberRelease]:
        """Ask for the count, after what bounds its noise."""
        return self.number((yield Ask(budget, self.primitive, self.query, COUNT)))

    def _last(self, said: list[int]) -> GeometricNoise:
        """Return the noise on the count, whose scale was told. Public."""
        change = Fraction(self.primitive.told_change(said))
        return GeometricNoise(shape=(1,), sensitivity=change, epsilon=self.primitive.part)

    def number(self, output: NDArray[np.int64]) -> NumberRelease:
        """Return the release of what the primitive said; its margin is public."""
        said = [int(entry) for entry in output]
        shape = self.primitive.counted
        return NumberRelease(
            shape.words,
            said[-1],
            margin=margin(self._last(said[:-1])),
            largest=shape.largest(self.primitive.nodes),
        )

    def law(self, data: Graph) -> CountLaw:
        """Return the law of the count where the noise of the steps before it is 0. Not private."""
        given = self.query.answer(data)
        before = [given.change] if self.primitive.steady else [given.reach, given.change]
        count = np.array([min(given.value, LARGEST_INPUT)], dtype=np.int64)
        return CountLaw(self._last(before), count)
