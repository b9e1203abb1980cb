"""How many triangles, stars, cliques or k-triangles a graph has.

The noise follows the graph's own sensitivity: by a smooth bound with generalised Cauchy noise for
triangles and stars, by a ladder for other shapes; where few nodes and a small ε leave nothing to
gain by that, plain noise is less. Which of them is taken is decided by the shape, the number of
nodes and ε, never by the graph. Two others, which take
several steps and can tell how large their noise was, are taken if asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from sfumato.data.graph import Graph, GraphPublic
from sfumato.graph.count_law import CountLaw
from sfumato.graph.ladders import last_rung
from sfumato.graph.noisy_ls import NoisyCount, NoisyLocalSensitivity
from sfumato.graph.number import NumberRelease
from sfumato.graph.queries import SmoothSubgraphs, SubgraphLadder, Subgraphs
from sfumato.graph.recursive import RecursiveCount
from sfumato.graph.shapes import SHAPES, Shape
from sfumato.mechanisms.count_noise import margin
from sfumato.mechanisms.ladder import LadderNoise
from sfumato.mechanisms.laplace import GeometricNoise
from sfumato.mechanisms.smooth import SmoothCauchy
from sfumato.privacy.budget import Budget
from sfumato.privacy.guarantee import Basis
from sfumato.privacy.loss import ApproxDP, Loss, Number, PureDP
from sfumato.privacy.method import Method
from sfumato.privacy.parameters import DELTA, Flag, OneOf, OrNone, Whole, parameter
from sfumato.privacy.plan import Plan, PlanStep
from sfumato.privacy.program import Ask, Program, Query

__all__ = ["SubgraphCount"]

#: The label of the count in transcripts.
COUNT = "count"
MECHANISMS = ("auto", "ladder", "smooth", "laplace", "noisy-ls", "recursive")
#: Plain noise is drawn in 64 bits; its scale stays below this.
LARGEST_SCALE = 2**52
#: Smooth noise has the density ∝ 1/(1 + |z|³). On a graph whose smooth bound is its sensitivity,
#: its median error is 3 % above that of Cauchy noise, and its mean error and the one that it
#: exceeds once in twenty times are four fifths of those of a ladder; the mean error of Cauchy noise
#: is infinite.
POWER = 3
#: The share of ε that pays for moving the count; the rest pays for the change of its smooth bound.
#: The larger ε times the usual number of common neighbours, about the root of the number of nodes,
#: the less that needs: this share below this product, and the largest above all of them.
SLIDES = ((10, Fraction(3, 4)), (50, Fraction(17, 20)))
LARGEST_SLIDE = Fraction(9, 10)
#: Plain noise is the smaller one on any graph while ε times the number of nodes n is below this.
#: The sensitivity of a graph without edges grows the least: that of triangles by 1/2 with every
#: edge. So the median error of a ladder, whose rungs weigh e^(−ε/2) of the one before, is at least
#: 2.8/ε², that of smooth noise 2.0/ε², and that of plain noise n·ln 2/ε. Other shapes are alike.
PLAIN_BELOW = {"ladder": Fraction(4), "smooth": Fraction(3)}


@dataclass(frozen=True, kw_only=True)
class SubgraphCount(Method[Graph, NumberRelease]):
    """Release the number of subgraphs of a given shape.

    Parameters
    ----------
    epsilon
        Privacy loss for one edge.
    shape
        `"triangle"`, `"star"` (a node with k neighbours), `"clique"` (k pairwise adjacent nodes) or
        `"k-triangle"` (k triangles that share an edge).
    k
        The size of a star, clique or k-triangle.
    mechanism
        `"ladder"`: the ladder mechanism. `"smooth"`: heavy-tailed noise scaled to the smooth
        sensitivity; triangles and stars only. `"laplace"`: noise scaled to the global sensitivity.
        `"noisy-ls"`: noise scaled to a noisy local sensitivity; requires delta, and the release
        includes its error margin. `"recursive"`: the contribution of each edge is limited, and the
        limit is chosen privately; small graphs only. `"auto"`: one of the first three.
    delta
        For `"noisy-ls"` only: the probability that the noise is too small. It should be far below 1
        divided by the number of edges.
    rungs
        Ladder for cliques: `"tight"`, or the wider one of the `"paper"`.
    variant
        `"published"`: the k-triangle ladder as printed, whose proof fails for k = 3, 4 and 5, or
        smooth noise with the printed constants, which use only a third of ε.
    accept_unproven
        Must be true for a published ladder whose proof fails.

    Notes
    -----
    Privacy: between neighbours a count changes by at most its ladder or smooth bound; both are
    proved for one edge added or removed (docs/proofs/subgraph-counts.md).
    """

    kind: ClassVar[str] = "graph"
    proof: ClassVar[str] = "subgraph-counts.md"
    example: ClassVar[dict[str, Any]] = {"shape": "star", "k": 2}
    small: ClassVar[str] = "one number"

    shape: str = parameter(OneOf(SHAPES), "triangle")
    k: int | None = parameter(OrNone(Whole(2)), None)
    mechanism: str = parameter(OneOf(MECHANISMS), "auto")
    delta: Number | None = parameter(OrNone(DELTA), None)
    rungs: str = parameter(OneOf(("tight", "paper")), "tight")
    variant: str = parameter(OneOf(("proved", "published")), "proved")
    accept_unproven: bool = parameter(Flag(), False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.k is None and self.shape != "triangle":
            raise ValueError(f"a {self.shape} needs its size; pass k=…")
        shape = self._shape
        if self.mechanism == "smooth" and not self._exact:
            raise ValueError(
                "mechanism='smooth' is for triangles and stars, whose local sensitivity is known "
                f"at every distance; use mechanism='ladder' for {shape.words}"
            )
        if (self.mechanism == "noisy-ls") != (self.delta is not None):
            raise ValueError(
                "mechanism='noisy-ls' requires delta=…, the probability that its noise is too "
                "small; the other mechanisms have a pure privacy loss, so leave delta out for them"
            )
        if not self._proved and not self.accept_unproven:
            raise ValueError(
                f"the published bound for {shape.words} is not private; use variant='proved', or "
                "set accept_unproven=True for a comparison without a privacy guarantee"
            )

    @property
    def _shape(self) -> Shape:
        return Shape(self.shape, 3 if self.k is None else self.k)

    @property
    def _exact(self) -> bool:
        """Whether LS(g, t) itself is known."""
        return self.shape in ("triangle", "star") or self._shape == Shape("clique", 3)

    @property
    def _proved(self) -> bool:
        return not (
            self.variant == "published" and self.shape == "k-triangle" and self.k in (3, 4, 5)
        )

    @property
    def basis(self) -> Basis:
        """Proved, but for the printed ladder of k-triangles."""
        return Basis.PROVED if self._proved else Basis.PUBLISHED

    def loss(self) -> Loss:
        """Return ε, or (ε, δ)."""
        return PureDP(self.epsilon) if self.delta is None else ApproxDP(self.epsilon, self.delta)

    def chosen(self, public: GraphPublic) -> str:
        """Return which mechanism is used, from public facts."""
        if self.mechanism != "auto":
            return self.mechanism
        epsilon = self._epsilon(public)
        own = "smooth" if self._exact else "ladder"
        # A ladder or constants of a paper were asked for by name.
        as_printed = self.rungs == "paper" or self.variant == "published"
        cap = self._shape.global_sensitivity(public.nodes)
        few = epsilon * public.nodes < PLAIN_BELOW[own] and cap / epsilon <= LARGEST_SCALE
        return "laplace" if few and not as_printed else own

    def check(self, public: GraphPublic) -> None:
        """Raise for shapes too large to count, and where plain noise would not fit 64 bits."""
        super().check(public)
        self._shape.require_countable(public.nodes)
        if self.chosen(public) == "laplace":
            cap = self._shape.global_sensitivity(public.nodes)
            if cap / self._epsilon(public) > LARGEST_SCALE:
                raise ValueError(
                    f"{self._shape.words} on {public.nodes} nodes have a global sensitivity of "
                    f"about 2**{cap.bit_length()}: noise of that scale would hide the count; use "
                    "mechanism='ladder'"
                )
        elif self.chosen(public) == "noisy-ls":
            NoisyCount.require(self._shape, public, self._epsilon(public))
        elif self.chosen(public) == "recursive":
            RecursiveCount.require(self._shape, public)

    def _epsilon(self, public: GraphPublic) -> Fraction:
        limit, _ = self.record_budget(public)
        assert isinstance(limit, PureDP | ApproxDP)
        return limit.epsilon

    def _several(self, public: GraphPublic) -> NoisyCount | RecursiveCount | None:
        """Return the mechanism that takes several steps; `None` if one primitive does all."""
        shape, epsilon = self._shape, self._epsilon(public)
        if shape.global_sensitivity(public.nodes) == 0:
            return None
        if self.mechanism == "recursive":
            return RecursiveCount(shape, public.nodes, epsilon)
        if self.mechanism != "noisy-ls":
            return None
        limit, _ = self.record_budget(public)
        assert isinstance(limit, ApproxDP)
        return NoisyCount(
            NoisyLocalSensitivity(
                epsilon=epsilon,
                delta=limit.delta,
                nodes=public.nodes,
                shape=shape.name,
                size=shape.size,
                published=self.variant == "published",
            )
        )

    def _primitive(self, public: GraphPublic) -> LadderNoise | SmoothCauchy | GeometricNoise:
        epsilon = self._epsilon(public)
        cap = self._shape.global_sensitivity(public.nodes)
        chosen = self.chosen(public)
        if chosen == "ladder" or cap == 0:
            return LadderNoise(epsilon=epsilon, cap=cap)
        if chosen == "laplace":
            return GeometricNoise(shape=(1,), sensitivity=Fraction(cap), epsilon=epsilon)
        if self.variant == "published":
            # Factor 6/ε and β = ε/6 are what a third of ε asks for with equal shares.
            return SmoothCauchy(epsilon=epsilon / 3, grid_exponent=0, slide=Fraction(1, 2))
        strength = epsilon**2 * public.nodes
        slide = next((share for most, share in SLIDES if strength < most**2), LARGEST_SLIDE)
        return SmoothCauchy(epsilon=epsilon, grid_exponent=0, power=POWER, slide=slide)

    def plan(self, public: GraphPublic) -> Plan:
        """Return the plan; how large the noise is follows the graph and cannot be told before."""
        self.check(public)
        several = self._several(public)
        steps = (self._step(public),) if several is None else several.plan_steps(self.loss())
        return Plan(method=self.name, guarantee=self.guarantee(public), steps=steps)

    def _step(self, public: GraphPublic) -> PlanStep:
        """Return what is planned where one primitive does all."""
        primitive, shape = self._primitive(public), self._shape
        if isinstance(primitive, GeometricNoise):
            off = margin(primitive)
            noise = f"± {primitive.standard_deviation:.4g} (1 s.d.)"
            error, figures = f"± {off:,.4g}", {"margin": off}
        else:
            noise, figures = "ladder", {}
            if isinstance(primitive, SmoothCauchy):
                noise = "smooth, Cauchy" if primitive.power == 2 else "smooth, heavy-tailed"
            error = (
                "depends on the graph, so it is private; expected_error shows it to the custodian"
            )
        return PlanStep(
            what=f"the number of {shape.words}",
            loss=self.loss(),
            noise=noise,
            error=error,
            figures=figures,
        )

    def _query(self, primitive: LadderNoise | SmoothCauchy | GeometricNoise) -> Query:
        """Return what the one primitive looks at."""
        if isinstance(primitive, GeometricNoise):
            return Subgraphs(self._shape)
        if isinstance(primitive, SmoothCauchy):
            return SmoothSubgraphs(self._shape, primitive.beta)
        return SubgraphLadder(
            self._shape,
            rungs=last_rung(primitive.epsilon, primitive.cap),
            paper=self.rungs == "paper",
            published=self.variant == "published",
        )

    def program(self, public: GraphPublic, budget: Budget) -> Program[NumberRelease]:
        """Ask for the count, in one step or in several."""
        several = self._several(public)
        if several is not None:
            return (yield from several.program(budget))
        primitive = self._primitive(public)
        # An answer through a printed ladder that is not private may not pass for another.
        label = COUNT if self._proved else f"{COUNT} as published"
        said = yield Ask(budget, primitive, self._query(primitive), label)
        plain = isinstance(primitive, GeometricNoise)
        return NumberRelease(
            self._shape.words,
            int(said[0]) if plain else int(said),
            margin=margin(primitive) if isinstance(primitive, GeometricNoise) else None,
            largest=self._shape.largest(public.nodes),
        )

    def expected_error(self, data: Graph, probability: float = 0.5) -> int:
        """Return how far off the release will be at most, with a probability. NOT private.

        Parameters
        ----------
        data
            The private graph.
        probability
            One half gives the median error.

        Notes
        -----
        The figure follows the graph: it is for the custodian's eyes and may not be published. Where
        several steps are taken, it is that of the last, had the noise before it been zero.
        """
        several = self._several(data.public)
        if isinstance(several, RecursiveCount):
            return several.expected_error(data, probability)
        return self.law(data).quantile(probability)

    def law(self, data: Graph) -> CountLaw:
        """Return what a release could say, and how likely each of it is. NOT private.

        Parameters
        ----------
        data
            The private graph.

        Notes
        -----
        Where several steps are taken, it is that of the last, had the noise before it been zero;
        the recursive mechanism's is around what its limit leaves.
        """
        several = self._several(data.public)
        if several is not None:
            return several.law(data)
        primitive = self._primitive(data.public)
        return CountLaw(primitive, self._query(primitive).answer(data))
