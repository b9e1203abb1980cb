"""LNPP and SBMF: eigenvectors with noise of a private scale, and eigenpairs of a stopped chain.

Wang, Wu and Wu, "Differential Privacy Preserving Spectral Graph Analysis", 2013 (Wang's
dissertation of 2015, chapter 4).

Printed for LNPP: noise of scale √n/(gap·ε) on an eigenvector is ε-DP. The gap is that of the
private graph, and two Laplace laws of different scales have an unbounded ratio. One edge among 3
nodes against a path: a loss of 23.6 at ε = 1 for an output 20 scales away. As a local bound √n/gap
fails as well, from 5 nodes on.

Printed for SBMF: eigenvalues with Gaussian noise of variance σ² cost k·σ³, and eigenvectors drawn
at the rate α cost α·k²·λ₁. Gaussian noise has no pure loss, the claim grows with the noise, α
follows the private λ₁, and the chain is stopped. One edge among 3 nodes against none: a loss of 104
at ε = 6 for an eigenvalue of 40σ; both losses grow without bound (docs/refuted.md: lnpp,
eigenvector, sbmf). `Spectrum` has what holds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato import noise
from sfumato.data.graph import GraphPublic
from sfumato.graph.eigen import lowdin, with_signs
from sfumato.graph.eigenvalue_noise import eigenvalue_noise
from sfumato.graph.lnpp import LNPP
from sfumato.graph.pair_spectrum import pure_epsilon
from sfumato.graph.sbmf import SBMF, SWEEPS
from sfumato.graph.spectral_mechanism import Finishing, SpectralParts
from sfumato.graph.spectral_queries import AdjacencyMatrix
from sfumato.mechanisms.bingham import GRID_BITS, MOST_DIMENSIONS
from sfumato.mechanisms.bingham_chain import random_frame, sweep
from sfumato.mechanisms.bingham_law import log_mean_exponential
from sfumato.mechanisms.laplace import check_integers, l1_distance
from sfumato.mechanisms.real import RealLaplace
from sfumato.noise.private_scale import perturb_gaussian
from sfumato.privacy.budget import Budget
from sfumato.privacy.loss import ApproxDP, Loss, Measure, PureDP, convert
from sfumato.privacy.plan import PlanStep
from sfumato.privacy.primitive import Change, Primitive, require_array, require_integers
from sfumato.privacy.program import Ask, Program
from sfumato.privacy.rounding import sqrt_up
from sfumato.published.queries import GapVector, PrintedEigenvector

__all__ = [
    "GapNoise",
    "LowRankChain",
    "PublishedLNPP",
    "PublishedSBMF",
    "published_eigenvalue_claim",
]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

#: The label of what the published SBMF says.
PAIRS = "eigenpairs"


@dataclass(frozen=True, kw_only=True)
class GapNoise(Primitive):
    """Add noise of scale √n/(gap·ε) to an eigenvector: what was printed, not ε-DP.

    Parameters
    ----------
    dimension
        The number of entries n.
    radius
        How many steps are in length 1.
    epsilon
        The loss that was claimed.

    Notes
    -----
    Privacy: none is promised. The scale follows the private gap, and two Laplace laws of different
    scales have an unbounded ratio (docs/proofs/spectrum.md).
    """

    kind: ClassVar[str] = "printed noise on an eigenvector"

    dimension: int
    radius: int
    epsilon: Fraction

    def cost(self, measure: Measure) -> Loss:
        """Return what was claimed."""
        return convert(PureDP(self.epsilon), measure)

    def check(self, value: Any) -> None:
        """Raise unless the input is a vector of the declared length with a positive scale."""
        if not isinstance(value, GapVector) or value.scale <= 0:
            raise ValueError("the input must be a GapVector(steps, scale)")
        check_integers(value.steps, (self.dimension,))

    def sample(self, value: GapVector) -> NDArray[Any]:
        """Return the vector plus noise of its own scale."""
        drawn = noise.discrete_laplace(self.dimension, scale=value.scale)
        return np.asarray(value.steps + drawn)

    def check_output(self, output: Any) -> None:
        """Raise unless an output is an array of integers of the declared shape."""
        require_integers(output, (self.dimension,))

    def log_probability(self, value: GapVector, output: NDArray[Any]) -> float:
        """Return the log-probability of an output."""
        rate = float(1 / value.scale)
        apart = l1_distance(value.steps, np.asarray(output, dtype=np.int64))
        return self.dimension * math.log(math.tanh(rate / 2)) - rate * float(apart)

    def change(self, value: GapVector, neighbour: GapVector) -> Change:
        """Measure the move of the vector in scales; two different scales are never close enough."""
        apart = l1_distance(value.steps, neighbour.steps)
        moved = apart / (min(value.scale, neighbour.scale) * self.epsilon)
        measured = math.inf if value.scale != neighbour.scale else moved
        return Change(measured, Fraction(1), "L1 over a scale that may not differ")

    def extremes(self, value: GapVector, neighbour: GapVector) -> list[Integers]:
        """Return the vectors, and one far out, where laws of different scales differ most."""
        far = math.ceil(20 * max(value.scale, neighbour.scale))
        return [value.steps.copy(), neighbour.steps.copy(), value.steps + far]


@dataclass(frozen=True, kw_only=True)
class PublishedLNPP(LNPP):
    """Noise on eigenvalues that holds, and noise on eigenvectors that follows private gaps."""

    @property
    def proved(self) -> bool:
        """Nothing is promised."""
        return False

    @property
    def _values(self) -> RealLaplace:
        return eigenvalue_noise(self.k, self._value_epsilon, sqrt_up(Fraction(2 * max(self.k, 1))))

    def _noise_words(self, deviation: float) -> str:
        """Return how wide the noise is, in words."""
        return "follows the private gaps between eigenvalues"

    def _ask_vector(self, nodes: int, budget: Budget, rank: int) -> Program[Integers]:
        """Ask for an eigenvector with noise of its private scale."""
        noise = GapNoise(dimension=nodes, radius=self._radius(nodes), epsilon=self._vector_epsilon)
        query = PrintedEigenvector(self.k, rank, noise.radius, noise.epsilon)
        steps: Integers = yield Ask(budget, noise, query, f"eigenvector {rank + 1}")
        return steps


def published_eigenvalue_claim(nodes: int, count: int) -> float:
    """Return the loss k·(2τ²/(2+τ²))^(3/2), τ² = nodes, that the paper claims for eigenvalues."""
    return float(count * (2 * nodes / (2 + nodes)) ** 1.5)


@dataclass(frozen=True, kw_only=True)
class LowRankChain(Primitive):
    """Say eigenvalues and eigenvectors as published: Z = αA in Hoff's model of low rank (2009).

    Parameters
    ----------
    nodes, count
        The number n of nodes, and the number k of eigenpairs.
    epsilon
        The loss that is claimed. What the eigenvalues are claimed to cost is taken off, and
        α = rest/(k²λ₁) with the private largest eigenvalue λ₁.
    sweeps
        How often eigenvalues and eigenvectors are drawn in turn.

    Notes
    -----
    Privacy: none as claimed. The eigenvalues carry Gaussian noise, which has no pure loss, and the
    claim grows with the noise; α is computed from the graph; the chain is stopped.
    """

    kind: ClassVar[str] = "SBMF as published"

    nodes: int
    count: int
    epsilon: Fraction
    sweeps: int

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.count <= self.nodes <= MOST_DIMENSIONS:
            raise ValueError(
                f"the published SBMF needs 1 to {MOST_DIMENSIONS} nodes and no more eigenpairs "
                f"than nodes; got {self.nodes} nodes and {self.count} eigenpairs"
            )
        claim = published_eigenvalue_claim(self.nodes, self.count)
        if self.epsilon <= claim:
            raise ValueError(
                f"the published SBMF claims {claim:.4g} for {self.count} eigenvalues of a graph "
                f"with {self.nodes} nodes alone; epsilon must be larger, got "
                f"{float(self.epsilon):.4g}"
            )

    @property
    def variance(self) -> float:
        """The variance 2τ²/(2+τ²) of an eigenvalue, τ² being the number of nodes."""
        return 2 * self.nodes / (2 + self.nodes)

    def cost(self, measure: Measure) -> Loss:
        """Return what is claimed."""
        return convert(PureDP(self.epsilon), measure)

    def check(self, value: Any) -> None:
        """Raise unless the input is an int64 matrix of the declared size."""
        check_integers(value, (self.nodes, self.nodes))

    def strength(self, value: Integers) -> float:
        """Return α, which is private; 0 where there are no edges."""
        largest = float(np.linalg.eigvalsh(value.astype(np.float64))[-1])
        rest = float(self.epsilon) - published_eigenvalue_claim(self.nodes, self.count)
        return rest / (self.count**2 * largest) if largest > 1e-9 else 0.0

    def sample(self, value: Integers) -> Integers:
        """Return the eigenvalues in the first row and the eigenvectors below, in grid steps."""
        alpha, scale = self.strength(value), Fraction(math.sqrt(self.variance))
        state = random_frame(self.nodes, self.count)
        values = np.zeros(self.count)
        for _ in range(self.sweeps):
            scores = np.einsum("ir,ij,jr->r", state, value.astype(np.float64), state)
            means = alpha * scores * self.variance / 2
            drawn = perturb_gaussian(means.tolist(), scale, grid_exponent=-GRID_BITS)
            values = np.array(drawn, dtype=np.float64) / 2.0**GRID_BITS
            weights = tuple(Fraction(alpha * item / 2) for item in values.tolist())
            sweep(state, value, weights)
        said = np.vstack([values, state])
        return np.rint(said * 2.0**GRID_BITS).astype(np.int64)

    def check_output(self, output: Any) -> None:
        """Raise unless an output is eigenvalues, and unit vectors below, on the grid."""
        require_array(output, np.int64, (self.nodes + 1, self.count))

    def log_probability(self, value: Integers, output: Integers) -> float:
        """Return the log-density of the law that the chain aims at; exact for one eigenpair.

        It is ∝ exp(Σ αλᵣ·uᵣᵀAuᵣ/2 − λᵣ²/2σ²); for several the constant is left out.
        """
        alpha, dense = self.strength(value), value.astype(np.float64)
        values = output[0] / 2.0**GRID_BITS
        vectors = output[1:] / np.linalg.norm(output[1:], axis=0)
        scores = np.einsum("ir,ij,jr->r", vectors, dense, vectors)
        exponent = alpha * values * scores / 2 - values**2 / (2 * self.variance)
        log_density = float(exponent.sum())
        if self.count == 1:
            log_density -= self._log_constant(alpha * np.linalg.eigvalsh(dense) / 2)
        return log_density

    def _log_constant(self, spectrum: Floats) -> float:
        """Return ln ∫ e^(−λ²/2σ²)·c(λK) dλ for the eigenvalues of K, by the trapezoidal rule."""
        deviation = math.sqrt(self.variance)
        reach = 12 * deviation + self.variance * float(np.abs(spectrum).max())
        places = np.linspace(-reach, reach, 401)
        terms = [
            log_mean_exponential(place * spectrum) - place**2 / (2 * self.variance)
            for place in places.tolist()
        ]
        return float(np.logaddexp.reduce(terms)) + math.log(float(places[1] - places[0]))

    def change(self, value: Integers, neighbour: Integers) -> Change:
        """Count the edges that two graphs do not share."""
        return Change(Fraction(int(np.abs(value - neighbour).sum()), 2), Fraction(1), "edges")

    def extremes(self, value: Integers, neighbour: Integers) -> list[Integers]:
        """Return far eigenvalues with eigenvectors along the pair of nodes that differs."""
        ends = np.argwhere(np.triu(value != neighbour))
        found = []
        for low, high in ends[:1].tolist():
            for sign in (1, -1):
                vectors = np.eye(self.nodes)[:, : self.count]
                order = [low, high, *(i for i in range(self.nodes) if i not in (low, high))]
                turned = np.zeros_like(vectors)
                turned[order] = vectors
                turned[[low, high], 0] = math.sqrt(0.5), sign * math.sqrt(0.5)
                if self.count > 1:
                    turned[[low, high], 1] = math.sqrt(0.5), -sign * math.sqrt(0.5)
                values = np.full((1, self.count), 40.0 * math.sqrt(self.variance))
                said = np.vstack([values, turned]) * 2.0**GRID_BITS
                found.append(np.rint(said).astype(np.int64))
        return found


@dataclass(frozen=True, kw_only=True)
class PublishedSBMF(SBMF):
    """Eigenpairs by the chain of the paper; `proved` is false for it."""

    def _chain_of_pairs(self, public: GraphPublic) -> LowRankChain:
        return LowRankChain(
            nodes=public.nodes, count=self.k, epsilon=pure_epsilon(self.limit), sweeps=SWEEPS
        )

    def check(self, public: GraphPublic, limit: Loss) -> None:
        """Raise where the graph is too large, or the loss less than the eigenvalues' claim."""
        super().check(public, limit)
        self._chain_of_pairs(public)

    def steps(self, public: GraphPublic, limit: Loss) -> tuple[PlanStep, ...]:
        """Return one line for all pairs."""
        epsilon = pure_epsilon(limit)
        loss = ApproxDP(epsilon, 0) if isinstance(limit, ApproxDP) else PureDP(epsilon)
        what = f"{self.k} eigenpairs as published; the claim does not hold"
        return (PlanStep(what=what, loss=loss, noise="unknown", error="unknown"),)

    def program(self, public: GraphPublic, budget: Budget) -> Program[Finishing]:
        """Ask for all pairs at once."""
        said = yield Ask(budget, self._chain_of_pairs(public), AdjacencyMatrix(), PAIRS)
        return lambda: _parts_of(said)


def _parts_of(said: Integers) -> SpectralParts:
    """Return the eigenpairs that were said, the largest value first."""
    pairs = np.asarray(said, dtype=np.float64) * 2.0**-GRID_BITS
    order = np.argsort(-pairs[0], kind="stable")
    vectors = with_signs(lowdin(pairs[1:, order]))
    note = "Made by the published algorithm, whose claim does not hold: nothing is promised."
    return SpectralParts(pairs[0, order], vectors, notes=(note,))
