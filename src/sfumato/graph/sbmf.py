"""Eigenvectors of a private graph drawn from Bingham's law: SBMF, made private.

Wang, Wu and Wu (PAKDD 2013) draw eigenvectors from the matrix Bingham law, an exponential mechanism
whose score is Σ λᵢ·uᵢᵀAuᵢ. Here the vectors are drawn one after another, each exactly, in the
complement of those already said. A Markov chain for all of them at once, and the paper's own
algorithm, are kept for comparison and promise nothing (docs/proofs/sbmf.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sfumato.data.graph import GraphPublic
from sfumato.graph.eigen import Floats, lowdin, with_signs
from sfumato.graph.eigenvalue_noise import (
    ask_eigenvalues,
    eigenvalue_noise,
    eigenvalue_step,
    repair_eigenvalues,
)
from sfumato.graph.pair_spectrum import pure_epsilon
from sfumato.graph.spectral_mechanism import Finishing, SpectralParts
from sfumato.graph.spectral_queries import AdjacencyForm, AdjacencyMatrix
from sfumato.mechanisms.bingham import LARGEST_RATE, MOST_DIMENSIONS, graph_rate
from sfumato.mechanisms.bingham_basis import whole_space
from sfumato.mechanisms.bingham_chain import BinghamChain, largest_move
from sfumato.mechanisms.real import RealLaplace
from sfumato.privacy.budget import Budget
from sfumato.privacy.loss import ApproxDP, Loss, PureDP
from sfumato.privacy.plan import PlanStep
from sfumato.privacy.program import Ask, Program

__all__ = ["SBMF"]

#: The share of the loss that tells the eigenvalues.
VALUE_SHARE = Fraction(1, 10)
#: How often the chain draws every vector.
SWEEPS = 100
#: The label of what a chain said.
VECTORS = "eigenvectors"
#: Weights of the chain are multiples of 2 to minus this.
WEIGHT_BITS = 60

GIBBS = (
    "The eigenvectors are the last state of a Markov chain. How far its law is from the one that "
    "would be private is not known, so an unknown delta comes on top: nothing is promised."
)


@dataclass(frozen=True, kw_only=True)
class SBMF:
    """Eigenvalues with noise, and eigenvectors from Bingham's law.

    Parameters
    ----------
    k
        How many eigenpairs; at most as many as there are nodes.
    limit
        The loss for one edge.
    variant
        `"proved"`: one vector after another, each drawn exactly and orthogonal to those before.
        `"gibbs"`: all at once by a Markov chain, which draws from nearly the right law and promises
        nothing.

    Notes
    -----
    Privacy: a tenth of ε tells the eigenvalues. The rest is shared equally by the vectors: at a
    unit vector u of the public subspace the score uᵀAu changes by 2|uₐuᵦ| ≤ 1 with one edge, so a
    density ∝ exp(ε′·uᵀAu/2) is ε′-DP; for the first vector the rate can be up to twice as large
    (docs/proofs/sbmf.md).
    """

    k: int
    limit: Loss
    variant: str = "proved"

    @property
    def proved(self) -> bool:
        """Whether the promise is proved."""
        return self.variant == "proved"

    @property
    def _epsilon(self) -> Fraction:
        """What the eigenvectors get together."""
        return pure_epsilon(self.limit) * (1 - VALUE_SHARE)

    @property
    def _vector_epsilon(self) -> Fraction:
        """What one eigenvector gets where they are drawn one after another."""
        return self._epsilon / max(self.k, 1)

    @property
    def _values(self) -> RealLaplace:
        return eigenvalue_noise(self.k, pure_epsilon(self.limit) * VALUE_SHARE)

    def check(self, public: GraphPublic, limit: Loss) -> None:
        """Raise where the graph is too large or the loss out of range."""
        if public.nodes > MOST_DIMENSIONS:
            raise ValueError(
                f"sbmf is for graphs of at most {MOST_DIMENSIONS} nodes; got {public.nodes:,}: use "
                "mechanism='response', which is also more accurate"
            )
        if self._epsilon > LARGEST_RATE:
            raise ValueError(
                f"epsilon must be at most {LARGEST_RATE:,} for sbmf; got "
                f"{float(pure_epsilon(limit)):,.6g}"
            )

    def steps(self, public: GraphPublic, limit: Loss) -> tuple[PlanStep, ...]:
        """Return a line for the eigenvalues and one for the eigenvectors."""

        def priced(epsilon: Fraction) -> Loss:
            return ApproxDP(epsilon, 0) if isinstance(limit, ApproxDP) else PureDP(epsilon)

        first = eigenvalue_step(self.k, self._values, priced(pure_epsilon(limit) * VALUE_SHARE))
        if self.k == 0:
            return (first,)
        words, rate = f"{self.k} eigenvectors, one after another", float(self._rates(public)[-1])
        if self.variant == "gibbs":
            words = f"{self.k} eigenvectors by a chain that is not exact"
            rate = float(self._epsilon / 2)
        least = public.nodes / (2 * rate)
        second = PlanStep(
            what=words,
            loss=priced(self._epsilon),
            noise="drawn from Bingham's law",
            error=f"a vector stands out if its eigenvalue is well above {least:,.4g}",
            figures={"margin": least},
        )
        return first, second

    def program(self, public: GraphPublic, budget: Budget) -> Program[Finishing]:
        """Ask for the eigenvalues, and for vectors one after another or all at once."""
        noisy = self._values.read((yield ask_eigenvalues(budget, self._values)))
        values = repair_eigenvalues(noisy, public.nodes)
        if self.k == 0:
            return lambda: SpectralParts(values, np.zeros((public.nodes, 0)))
        if self.variant == "gibbs":
            chain = self._chain(public, values)
            drawn = yield Ask(budget, chain, AdjacencyMatrix(), VECTORS)
            rates = np.array([float(item) for item in chain.weights])
            return lambda: self._parts(values, lowdin(np.asarray(drawn, np.float64)), rates)
        directions = []
        space = whole_space(public.nodes)
        for rank in range(self.k):
            primitive = space.primitive(self._vector_epsilon)
            said = yield Ask(budget, primitive, AdjacencyForm(space), f"eigenvector {rank + 1}")
            directions.append((space, said))
            if rank + 1 < self.k:
                space = space.without(said)

        def finish() -> SpectralParts:
            vectors = np.stack([space.vector(said) for space, said in directions], axis=1)
            return self._parts(values, vectors, self._rates(public))

        return finish

    def _parts(self, values: Floats, vectors: Floats, rates: Floats) -> SpectralParts:
        """Return values and vectors, and which of them stand out."""
        # A direction wins over all others if 2κλ exceeds their number.
        detectable = 2 * rates * values > len(vectors)
        return SpectralParts(values, with_signs(vectors), detectable, self._notes(detectable))

    def _chain(self, public: GraphPublic, values: Floats) -> BinghamChain:
        """Return the chain for noisy eigenvalues: weights ε·λ/2B, rounded towards zero."""
        told = tuple(Fraction(value) for value in values.tolist())
        bound = largest_move(told)
        # Without a positive or negative eigenvalue there is nothing to weigh: uniform vectors.
        factor = self._epsilon / (2 * bound) if bound else Fraction(0)
        fine = 1 << WEIGHT_BITS
        weights = tuple(Fraction(int(factor * value * fine), fine) for value in told)
        return BinghamChain(nodes=public.nodes, weights=weights, sweeps=SWEEPS)

    def _rates(self, public: GraphPublic) -> Floats:
        """Return the rate κ of each vector; the first is drawn in the whole space."""
        rates = np.full(self.k, float(self._vector_epsilon / 2))
        rates[:1] = float(graph_rate(public.nodes, self._vector_epsilon))
        return rates

    def _notes(self, detectable: NDArray[np.bool_]) -> tuple[str, ...]:
        """Return what a reader should know."""
        notes: tuple[str, ...] = () if self.variant == "proved" else (GIBBS,)
        lost = int((~detectable).sum())
        if lost:
            notes += (f"{lost} of the {self.k} vectors are expected to be mostly noise.",)
        return notes
