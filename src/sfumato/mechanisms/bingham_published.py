"""SBMF as it was published: kept to be compared with and refuted, never for privacy.

Wang, Wu and Wu (PAKDD 2013) draw eigenvalues and eigenvectors in turn from a model of low rank and
claim a pure loss for it. The claim does not hold (docs/proofs/sbmf.md); ledgers refuse what is made
here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.bingham import GRID_BITS, MOST_DIMENSIONS
from sfumato.mechanisms.bingham_chain import random_frame, sweep
from sfumato.mechanisms.bingham_law import log_mean_exponential
from sfumato.mechanisms.laplace import check_integers
from sfumato.noise.heavy import perturb_gaussian
from sfumato.privacy.loss import Loss, Measure, PureDP, convert
from sfumato.privacy.primitive import Change, Primitive, require_array

__all__ = ["PublishedSBMF", "published_eigenvalue_claim"]

Floats = NDArray[np.float64]
Integers64 = NDArray[np.int64]


def published_eigenvalue_claim(nodes: int, count: int) -> float:
    """Return the loss k·(2τ²/(2+τ²))^(3/2), τ² = nodes, that the paper claims for eigenvalues."""
    return float(count * (2 * nodes / (2 + nodes)) ** 1.5)


@dataclass(frozen=True, kw_only=True)
class PublishedSBMF(Primitive):
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

    def strength(self, value: Integers64) -> float:
        """Return α, which is private; 0 where there are no edges."""
        largest = float(np.linalg.eigvalsh(value.astype(np.float64))[-1])
        rest = float(self.epsilon) - published_eigenvalue_claim(self.nodes, self.count)
        return rest / (self.count**2 * largest) if largest > 1e-9 else 0.0

    def sample(self, value: Integers64) -> Integers64:
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

    def log_probability(self, value: Integers64, output: Integers64) -> float:
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

    def change(self, value: Integers64, neighbour: Integers64) -> Change:
        """Count the edges that two graphs do not share."""
        return Change(Fraction(int(np.abs(value - neighbour).sum()), 2), Fraction(1), "edges")

    def extremes(self, value: Integers64, neighbour: Integers64) -> list[Integers64]:
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
