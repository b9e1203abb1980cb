"""Several orthonormal directions at once, by a Markov chain: for comparison, not for privacy.

The chain aims at the matrix Bingham law, ∝ exp(Σ cᵣ·uᵣᵀAuᵣ) over orthonormal u₁ … uₖ, which the
exponential mechanism asks for. It draws each direction from its exact conditional law in turn, a
fixed number of times. The law of the last state is only near the aim, and nobody has bounded how
near for the worst graph: the δ that this adds is unknown. So what is said here rests on no proof,
and a method that uses it must say so.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.bingham import GRID_BITS, MOST_DIMENSIONS
from sfumato.mechanisms.bingham_envelope import find_envelope
from sfumato.mechanisms.bingham_law import log_mean_exponential
from sfumato.mechanisms.laplace import check_integers
from sfumato.noise.bingham import Form, draw_direction
from sfumato.noise.private_scale import perturb_gaussian
from sfumato.privacy.loss import Loss, Measure, PureDP, convert
from sfumato.privacy.primitive import Change, Primitive, require_within

__all__ = ["BinghamChain", "largest_move", "random_frame", "sweep"]

Floats = NDArray[np.float64]
Integers64 = NDArray[np.int64]

#: Bits of the basis of the complement in which one direction is drawn.
BASIS_BITS = 26


def largest_move(weights: tuple[Fraction, ...]) -> Fraction:
    """Return B = sup |Σ cᵣ·uᵣᵀDuᵣ| over orthonormal uᵣ, D being one edge.

    D has the eigenvalues 1 and −1 and else 0, so that the best is to give 1 to the largest positive
    weight and −1 to the smallest negative one (Ky Fan, 1949).

    Parameters
    ----------
    weights
        The c₁ … cₖ.
    """
    return max(Fraction(0), *weights) + max(Fraction(0), *(-weight for weight in weights))


@dataclass(frozen=True, kw_only=True)
class BinghamChain(Primitive):
    """Say orthonormal vectors of a law near the density ∝ exp(Σ cᵣ·uᵣᵀAuᵣ).

    Parameters
    ----------
    nodes
        The public number of nodes, at most 512.
    weights
        The factors c₁ … cₖ, public, k ≤ nodes.
    sweeps
        How often each direction is drawn.

    Notes
    -----
    Privacy: an exact draw would be 2B(c)-DP, which is the price that is booked; a chain that is
    stopped is not an exact draw, and the δ by which it fails is unknown. Not proved.
    """

    kind: ClassVar[str] = "Bingham chain"

    nodes: int
    weights: tuple[Fraction, ...]
    sweeps: int

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= len(self.weights) <= self.nodes <= MOST_DIMENSIONS:
            raise ValueError(
                f"a chain needs 1 to {MOST_DIMENSIONS} nodes and no more weights than nodes; got "
                f"{self.nodes} nodes and {len(self.weights)} weights"
            )
        if self.sweeps < 1:
            raise ValueError(f"sweeps must be at least 1; got {self.sweeps}")

    def cost(self, measure: Measure) -> Loss:
        """Return 2B(c), what the law would cost that the chain aims at."""
        return convert(PureDP(2 * largest_move(self.weights)), measure)

    def check(self, value: Any) -> None:
        """Raise unless the input is an int64 matrix of the declared size."""
        check_integers(value, (self.nodes, self.nodes))

    def sample(self, value: Integers64) -> Integers64:
        """Return the last state of the chain, in whole steps of the grid."""
        state = random_frame(self.nodes, len(self.weights))
        for _ in range(self.sweeps):
            sweep(state, value, self.weights)
        return np.rint(state * 2.0**GRID_BITS).astype(np.int64)

    def check_output(self, output: Any) -> None:
        """Raise unless an output is unit vectors on the grid."""
        require_within(output, (self.nodes, len(self.weights)), 2**GRID_BITS)

    def log_probability(self, value: Integers64, output: Integers64) -> float:
        """Return Σ cᵣ·uᵣᵀAuᵣ, for one direction with its normalising constant.

        For several directions the constant has no closed form and is left out: ratios between two
        inputs can be off by B(c) in either direction.
        """
        vectors = output / np.linalg.norm(output, axis=0)
        scores = np.einsum("ir,ij,jr->r", vectors, value.astype(np.float64), vectors)
        weights = [float(weight) for weight in self.weights]
        log_density = sum(w * s for w, s in zip(weights, scores.tolist(), strict=True))
        if len(weights) == 1:
            values = np.asarray(np.linalg.eigvalsh(value.astype(np.float64)), dtype=np.float64)
            log_density -= log_mean_exponential(values * weights[0])
        return float(log_density)

    def change(self, value: Integers64, neighbour: Integers64) -> Change:
        """Count the edges that two graphs do not share."""
        return Change(Fraction(int(np.abs(value - neighbour).sum()), 2), Fraction(1), "edges")


def random_frame(nodes: int, count: int) -> Floats:
    """Return orthonormal columns that point anywhere with equal chances."""
    drawn = perturb_gaussian([0] * (nodes * count), 1, grid_exponent=-GRID_BITS)
    columns = np.array(drawn, dtype=np.float64).reshape(nodes, count)
    return np.asarray(np.linalg.qr(columns)[0], dtype=np.float64)


def sweep(state: Floats, adjacency: Integers64, weights: tuple[Fraction, ...]) -> None:
    """Draw each column anew from its conditional law, given the others."""
    for place, weight in enumerate(weights):
        others = np.delete(state, place, axis=1)
        basis = np.linalg.qr(others, mode="complete")[0][:, others.shape[1] :]
        rounded = np.rint(basis * 2.0**BASIS_BITS).astype(np.int64)
        units = rounded.T @ (adjacency @ rounded)
        signed = units if weight >= 0 else -units
        form = Form(signed.astype(object), 2 * BASIS_BITS, abs(weight))
        drawn = np.array(
            draw_direction(form, find_envelope(form), grid_bits=GRID_BITS), dtype=float
        )
        state[:, place] = basis @ (drawn / np.linalg.norm(drawn))
