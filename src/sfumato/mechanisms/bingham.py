"""A direction drawn by how well it fits a private quadratic form: the vector Bingham law.

The exponential mechanism with the score xᵀSx over the unit sphere: density ∝ exp(κ·xᵀSx), S a
symmetric matrix of exact numbers, such as the adjacency matrix of a graph. The draw is exact and
rounded to a public grid at the end, which is post-processing (docs/proofs/sbmf.md). No Markov chain
and no floating point decides anything here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.bingham_envelope import MOST_DIMENSIONS, find_envelope
from sfumato.mechanisms.bingham_law import log_mean_exponential
from sfumato.mechanisms.laplace import check_integers
from sfumato.noise.bingham import Form, draw_direction
from sfumato.privacy.loss import ZCDP, Loss, Measure, PureDP, convert
from sfumato.privacy.primitive import Change, Primitive, require_within
from sfumato.privacy.rounding import sqrt_up

__all__ = [
    "GRID_BITS",
    "LARGEST_RATE",
    "MOST_DIMENSIONS",
    "BinghamDirection",
    "constant_move",
    "graph_rate",
]

Floats = NDArray[np.float64]
Integers64 = NDArray[np.int64]

#: Coordinates are said in steps of 2 to minus this.
GRID_BITS = 20
#: Beyond this the certified bound is too loose to draw in reasonable time.
LARGEST_RATE = 10**6
#: The rate for a graph is found to so many binary digits.
RATE_BITS = 40


@dataclass(frozen=True, kw_only=True)
class BinghamDirection(Primitive):
    """Say a unit vector of density ∝ exp(κ·xᵀSx) with κ = ε/2Δ.

    Parameters
    ----------
    dimension
        The public dimension p of the space, at most 512.
    bits
        The input is S in units of 2^−bits.
    sensitivity
        A bound Δ on how much xᵀSx changes between neighbours at any unit vector x: on the spectral
        norm of the difference.
    epsilon
        The loss.
    adjacency
        Whether S is the adjacency matrix of a simple graph and neighbours differ in one edge: the
        normalising constant then moves by less than Δ = 1, and the rate may be larger.

    Notes
    -----
    Privacy: the exponent changes by at most κΔ = ε/2 and so does the log of the normalising
    constant: ε-DP; the logarithm of the ratio of two laws varies by at most 2κΔ over the sphere,
    so it is (κΔ)²/2-zCDP too. For a graph the constant moves by κβ at most, and κ(1 + β) = ε. The
    exact direction is rounded to multiples of 2⁻²⁰, whatever the input is (docs/proofs/sbmf.md).

    The time is for forms of a size κ‖S‖ up to about 2³⁶, which no graph comes near; beyond, nearly
    every proposal is thrown away.
    """

    kind: ClassVar[str] = "Bingham direction"

    dimension: int
    bits: int = 0
    sensitivity: Fraction
    epsilon: Fraction
    adjacency: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if type(self.dimension) is not int or not 1 <= self.dimension <= MOST_DIMENSIONS:
            raise ValueError(
                f"dimension must be a whole number from 1 to {MOST_DIMENSIONS}; got "
                f"{self.dimension!r}"
            )
        if type(self.bits) is not int or self.bits < 0:
            raise ValueError(f"bits must be a whole number and not negative; got {self.bits!r}")
        if self.sensitivity <= 0 or self.epsilon <= 0:
            raise ValueError("sensitivity and epsilon must be positive")
        if self.adjacency and (self.bits or self.sensitivity != 1):
            raise ValueError("an adjacency matrix is made of 0 and 1 and has sensitivity 1")
        if self.epsilon > 2 * LARGEST_RATE * self.sensitivity:
            raise ValueError(
                f"epsilon must be at most {2 * LARGEST_RATE} times the sensitivity; got "
                f"{float(self.epsilon):.6g}"
            )

    @property
    def rate(self) -> Fraction:
        """The factor κ of the form in the exponent."""
        if self.adjacency:
            return graph_rate(self.dimension, self.epsilon)
        return self.epsilon / (2 * self.sensitivity)

    def cost(self, measure: Measure) -> Loss:
        """Return ε, or (κΔ)²/2 under zCDP."""
        if measure is ZCDP:
            return ZCDP((self.rate * self.sensitivity) ** 2 / 2)
        return convert(PureDP(self.epsilon), measure)

    def check(self, value: Any) -> None:
        """Raise unless the input is a symmetric int64 matrix of the declared size."""
        check_integers(value, (self.dimension, self.dimension))
        if not np.array_equal(value, value.T):
            raise ValueError("the input of a Bingham direction must be a symmetric matrix")
        if self.adjacency and (value.diagonal().any() or not np.isin(value, (0, 1)).all()):
            raise ValueError("the input must be the adjacency matrix of a simple graph")

    def sample(self, value: Integers64) -> Integers64:
        """Return the direction in whole steps of the grid."""
        form = Form(value.astype(object), self.bits, self.rate)
        drawn = draw_direction(form, find_envelope(form), grid_bits=GRID_BITS)
        return np.array(drawn, dtype=np.int64)

    def read(self, output: Integers64) -> Floats:
        """Return the unit vector that a transcript's output stands for."""
        direction = np.asarray(output, dtype=np.float64)
        return np.asarray(direction / np.linalg.norm(direction))

    def check_output(self, output: Any) -> None:
        """Raise unless an output is the direction of a unit vector on the grid."""
        require_within(output, (self.dimension,), 2**GRID_BITS)

    def log_probability(self, value: Integers64, output: Integers64) -> float:
        """Return the log-density at the said direction, times a step of the grid for each degree.

        How much of the sphere a cell of the grid holds depends on the cell alone, so it does not
        show in ratios; these are bounded by the same ε as the exact ones.
        """
        p, x, form = self.dimension, self.read(output), self._float_form(value)
        log_area = math.log(2) + p / 2 * math.log(math.pi) - math.lgamma(p / 2)
        log_density = float(x @ form @ x) - log_mean_exponential(_eigenvalues(form))
        return log_density - log_area - (p - 1) * GRID_BITS * math.log(2)

    def change(self, value: Integers64, neighbour: Integers64) -> Change:
        """Measure the spectral norm of the difference of two inputs, or count edges."""
        if self.adjacency:
            edges = Fraction(int(np.abs(value - neighbour).sum()), 2)
            return Change(edges, Fraction(1), "edges")
        apart = float(np.abs(self._apart(value, neighbour)[0]).max())
        # Eigenvalues are floats, known up to their own rounding.
        return Change(apart * (1 - 1e-12), float(self.sensitivity), "spectral norm")

    def concentrated_loss(self, value: Integers64, neighbour: Integers64) -> float:
        """Return range²/8, the range being that of the log-ratio over the sphere."""
        moved = self._apart(value, neighbour)[0]
        return (float(self.rate) * float(moved.max() - moved.min())) ** 2 / 8

    def extremes(self, value: Integers64, neighbour: Integers64) -> list[Integers64]:
        """Return the directions in which the two forms differ most, either way."""
        moved, directions = self._apart(value, neighbour)
        places = {int(moved.argmax()), int(moved.argmin())}
        return [
            np.rint(directions[:, place] * 2.0**GRID_BITS).astype(np.int64)
            for place in sorted(places)
        ]

    def _apart(self, value: Integers64, neighbour: Integers64) -> tuple[Floats, Floats]:
        """Return the eigenvalues and eigenvectors of the difference of two inputs."""
        found = np.linalg.eigh((value - neighbour) * 2.0**-self.bits)
        return found.eigenvalues, found.eigenvectors

    def _float_form(self, value: Integers64) -> Floats:
        """Return κS in floats."""
        return np.asarray(value * (2.0**-self.bits * float(self.rate)))


def constant_move(nodes: int, rate: Fraction) -> Fraction:
    """Return β: one edge more raises the log of the constant by at most κβ, for every graph.

    Parameters
    ----------
    nodes
        The number n of nodes.
    rate
        The rate κ.
    """
    root = sqrt_up(Fraction(nodes - 1))
    once = 2 * rate / nodes * (Fraction(1, 2) + root)
    twice = 2 * rate / nodes**2 * (1 + 4 * rate * (nodes - 1))
    return min(Fraction(1), once, twice)


@lru_cache(maxsize=64)
def graph_rate(nodes: int, epsilon: Fraction) -> Fraction:
    """Return about the largest rate κ with κ(1 + β) ≤ ε for a graph of so many nodes.

    Parameters
    ----------
    nodes
        The number of nodes.
    epsilon
        The loss.
    """
    # In units of ε/2⁴⁰, from ε/2, which β ≤ 1 always allows.
    low, high = 1 << (RATE_BITS - 1), 1 << RATE_BITS
    while high - low > 1:
        middle = (low + high) // 2
        rate = epsilon * Fraction(middle, 1 << RATE_BITS)
        if rate * (1 + constant_move(nodes, rate)) <= epsilon:
            low = middle
        else:
            high = middle
    return epsilon * Fraction(low, 1 << RATE_BITS)


def _eigenvalues(form: Floats) -> Floats:
    """Return the eigenvalues of a symmetric matrix, from the smallest."""
    return np.asarray(np.linalg.eigvalsh(form), dtype=np.float64)
