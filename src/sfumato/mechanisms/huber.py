"""The Huber hinge loss, and the minimiser of its regularised sum to any precision asked for.

The loss of a linear classifier w on a signed example u (its features times its sign) is ℓ(w·u) with

    ℓ(z) = 0 for z > 1 + h,  (1 + h − z)²/4h for |1 − z| ≤ h,  1 − z for z < 1 − h.

Features are whole multiples of 2⁻¹⁶ and h is a half, a quarter, …, so that the gradient of the
objective at a point of a binary grid is a rational number, which is computed exactly: floating
point proposes a minimiser, integers certify it. Nothing here draws, and nothing here is released.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers64 = NDArray[np.int64]

#: Features are multiples of 2 to minus this.
FEATURE_BITS = 16
#: Up to so many entries the features are held as a full matrix, which is quicker.
DENSE = 2**18
#: A float proposal that promises no larger gain, relative to the objective, is good enough.
LITTLE = 1e-15
#: A float proposal is improved at most so often before exact steps take over.
MOST_STEPS = 60


def huber(margin: Floats, width: float) -> Floats:
    """Return the loss at each margin z.

    Parameters
    ----------
    margin
        The margins.
    width
        The half-width h of the quadratic piece.
    """
    inside = (1 + width - margin) ** 2 / (4 * width)
    return np.where(margin > 1 + width, 0.0, np.where(margin < 1 - width, 1.0 - margin, inside))


def huber_slope(margin: Floats, width: float) -> Floats:
    """Return −ℓ′ at each margin z: (1 + h − z)/2h, cut to between 0 and 1."""
    return np.clip((1 + width - margin) / (2 * width), 0.0, 1.0)


@dataclass(frozen=True)
class Examples:
    """Signed examples, the equal ones together: the private input of a fit.

    Parameters
    ----------
    places
        For each distinct example the numbers of its features, shape (examples, entries).
    values
        Their values in units of 2⁻¹⁶, the sign of the example included; int64, the same shape.
    weights
        How many records each distinct example stands for.
    dimension
        How many features there are. Public.
    """

    places: NDArray[np.intp]
    values: Integers64
    weights: Integers64
    dimension: int

    @cached_property
    def matrix(self) -> Any:
        """The values as a matrix of int64, full or sparse by its size."""
        from scipy import sparse

        count, entries = self.values.shape
        if count * self.dimension <= DENSE:
            full = np.zeros((count, self.dimension), dtype=np.int64)
            np.add.at(full, (np.arange(count)[:, None], self.places), self.values)
            return full
        starts = np.arange(0, count * entries + 1, entries)
        shape = (count, self.dimension)
        return sparse.csr_array((self.values.ravel(), self.places.ravel(), starts), shape=shape)

    @cached_property
    def scaled(self) -> Any:
        """The matrix in floats, as the features are meant; exact."""
        return self.matrix * 2.0**-FEATURE_BITS

    def rows(self) -> Integers64:
        """Return the matrix in full."""
        matrix = self.matrix
        full: Integers64 = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
        return full

    def distinct(self) -> Integers64:
        """Return what tells examples apart, a row each."""
        return self.rows()

    def longest(self) -> int:
        """Return the largest squared Euclidean norm of an example, in units of 2⁻³²."""
        matrix = self.matrix
        squares = matrix * matrix if isinstance(matrix, np.ndarray) else matrix.multiply(matrix)
        return int(squares.sum(axis=1).max()) if len(self.weights) else 0


@dataclass(frozen=True)
class Objective:
    """Σ ℓ(w·u) + Λ‖w‖²/2 + b·w.

    Parameters
    ----------
    examples
        The signed examples.
    strength
        Λ > 0.
    width
        h, one over a power of two, at most ½.
    linear
        b as exact numbers.
    """

    examples: Examples
    strength: Fraction
    width: Fraction
    linear: tuple[Fraction, ...]

    @property
    def smoothness(self) -> int:
        """The largest second derivative c = 1/2h of the loss."""
        return int(1 / (2 * self.width))

    @cached_property
    def lipschitz(self) -> Fraction:
        """A bound L on how fast the gradient changes: Λ + c·n, examples being at most 1 long."""
        return self.strength + self.smoothness * int(self.examples.weights.sum())

    def gradient(self, units: list[int], bits: int) -> list[Fraction]:
        """Return the exact gradient at w = units·2^−bits."""
        slopes = self._slopes(units, bits)
        drawn = _exact_product(self.examples, slopes)
        step, small = Fraction(1, 2**bits), Fraction(1, 2 ** (bits + 2 * FEATURE_BITS))
        return [
            self.strength * unit * step - pull * small + shift
            for unit, pull, shift in zip(units, drawn, self.linear, strict=True)
        ]

    def _slopes(self, units: list[int], bits: int) -> NDArray[np.object_]:
        """Return −ℓ′ for each example in units of 2^−(bits + 16), exactly."""
        scale = bits + FEATURE_BITS
        margins = exact_margins(self.examples, units)
        c = self.smoothness
        # (1 + h − z)/2h = c·(1 − z) + ½, since h = 1/2c.
        slopes = c * ((1 << scale) - margins) + (1 << (scale - 1))
        return np.asarray(np.clip(slopes, 0, 1 << scale))

    def _float_slopes(self, margins: Floats) -> Floats:
        """Return −ℓ′ for each example in floats."""
        return huber_slope(margins, float(self.width))

    def _float_losses(self, margins: Floats) -> Floats:
        """Return ℓ for each example in floats."""
        return huber(margins, float(self.width))

    def _find_curved(self, margins: Floats) -> NDArray[np.bool_]:
        """Return which examples lie on the curved piece of the loss."""
        return np.asarray(np.abs(1 - margins) <= float(self.width))

    def float_gradient(self, w: Floats) -> Floats:
        """Return the gradient at w in floats."""
        matrix, weights = self.examples.scaled, self.examples.weights
        slopes = self._float_slopes(matrix @ w)
        return np.asarray(
            float(self.strength) * w - matrix.T @ (weights * slopes) + self._float_linear
        )

    def value(self, w: Floats) -> float:
        """Return the objective at w in floats."""
        losses = self._float_losses(self.examples.scaled @ w)
        ridge = float(self.strength) * float(w @ w) / 2
        return float(self.examples.weights @ losses) + ridge + float(self._float_linear @ w)

    def hessian(self, w: Floats) -> Floats:
        """Return the second derivative at w, in floats: Λ + c·Σ u uᵀ over the curved pieces."""
        matrix = self.examples.scaled
        curved = self._find_curved(matrix @ w)
        part, weights = matrix[curved], self.examples.weights[curved] * float(self.smoothness)
        if isinstance(part, np.ndarray):
            square = part.T @ (part * weights[:, None])
        else:
            square = (part.T @ part.multiply(weights[:, None])).toarray()
        return np.asarray(square + float(self.strength) * np.eye(self.examples.dimension))

    @cached_property
    def _float_linear(self) -> Floats:
        return np.array([float(item) for item in self.linear])


def minimise(objective: Objective, tolerance: Fraction) -> tuple[list[int], int]:
    """Return a point, as units and bits, at which the exact gradient is at most `tolerance` long.

    Parameters
    ----------
    objective
        What is minimised; strongly convex.
    tolerance
        The largest Euclidean norm of the gradient; positive.

    Notes
    -----
    It ends on every input. An exact step is taken if it shortens the exact gradient by a fixed
    share; otherwise a step of −gradient/L, which shortens it by the factor 1 − Λ/L but for the
    rounding to the grid, and the grid is so fine that half of that is left
    (docs/proofs/objective-perturbation.md).
    """
    bits = _fine_enough(objective, tolerance)
    units = _to_units(proposal(objective), bits)
    gradient = objective.gradient(units, bits)
    while (length := _squared_norm(gradient)) > tolerance * tolerance:
        units, gradient = _shorter(objective, units, gradient, length, bits)
    return units, bits


def _shorter(
    objective: Objective,
    units: list[int],
    gradient: list[Fraction],
    length: Fraction,
    bits: int,
) -> tuple[list[int], list[Fraction]]:
    """Return a point with a shorter gradient: by a Newton step if it serves, else downhill."""
    step = _newton(objective, _to_floats(units, bits), [float(item) for item in gradient])
    # Where the piece is flat a step can be as much too long as L is larger than Λ.
    halvings = int(objective.lipschitz / objective.strength).bit_length() + 1
    for shorter in range(halvings if step is not None else 0):
        assert step is not None
        moved = [a + b for a, b in zip(units, _to_units(step / 2.0**shorter, bits), strict=True)]
        there = objective.gradient(moved, bits)
        # A quarter of the share that a quadratic piece would give.
        if _squared_norm(there) < length * (1 - Fraction(1, 4 * 2**shorter)) ** 2:
            return moved, there
    scale = Fraction(2**bits) / objective.lipschitz
    moved = [a - round(item * scale) for a, item in zip(units, gradient, strict=True)]
    return moved, objective.gradient(moved, bits)


def _fine_enough(objective: Objective, tolerance: Fraction) -> int:
    """Return bits of a grid on which rounding a gradient step spoils at most half of its gain.

    Rounding moves the gradient by at most L·√p·2^−(bits+1), which must be at most Λ/2L·tolerance.
    """
    root = math.isqrt(objective.examples.dimension) + 1
    ratio = objective.lipschitz**2 * root / (objective.strength * tolerance)
    return max(int(ratio).bit_length(), 1)


def proposal(objective: Objective) -> Floats:
    """Return a minimiser as floats find it, by Newton's method with shortened steps."""
    w = np.zeros(objective.examples.dimension)
    value = objective.value(w)
    for _ in range(MOST_STEPS):
        gradient = objective.float_gradient(w)
        step = _newton(objective, w, gradient)
        if step is None or -float(gradient @ step) <= LITTLE * abs(value):
            return w
        for _ in range(30):
            there = objective.value(w + step)
            if there <= value + 1e-4 * float(gradient @ step):
                break
            step = step / 2
        else:
            # No descent that floats can see.
            return w
        w, value = w + step, there
    return w


def _newton(objective: Objective, w: Floats, gradient: Any) -> Floats | None:
    """Return the Newton step, or None where floats cannot tell one."""
    try:
        step = -np.linalg.solve(objective.hessian(w), np.asarray(gradient))
    except np.linalg.LinAlgError:
        return None
    return step if np.isfinite(step).all() else None


def exact_margins(examples: Examples, units: list[int]) -> NDArray[np.object_]:
    """Return the products of the matrix with a vector of integers of any size, exactly."""
    limb = 30
    size = max((abs(unit).bit_length() for unit in units), default=0)
    total = np.zeros(len(examples.weights), dtype=object)
    for low in range(0, size + 1, limb):
        # Digits of the magnitude, with the sign; 2^30 · 2^16 · √p fits in 63 bits.
        digits = [((abs(u) >> low) & (2**limb - 1)) * (1 if u >= 0 else -1) for u in units]
        product = examples.matrix @ np.array(digits, dtype=np.int64)
        total = total + product.astype(object) * (1 << low)
    return total


def _exact_product(examples: Examples, slopes: NDArray[np.object_]) -> list[int]:
    """Return Σ weight · slope · example as exact integers."""
    sizes = np.abs(slopes)
    weights = np.where(slopes < 0, -1, 1) * examples.weights
    # n · 2^limb · 2^16 fits in 63 bits.
    limb = 46 - int(examples.weights.sum()).bit_length()
    size = max((int(slope).bit_length() for slope in sizes), default=0)
    total = np.zeros(examples.dimension, dtype=object)
    for low in range(0, size, limb):
        digits = ((sizes >> low) & (2**limb - 1)).astype(np.int64)
        product = examples.matrix.T @ (weights * digits)
        total = total + product.astype(object) * (1 << low)
    return [int(item) for item in total]


def _to_units(w: Floats, bits: int) -> list[int]:
    """Return floats rounded to the grid of 2^−bits."""
    return [round(Fraction(item) * 2**bits) for item in w.tolist()]


def _to_floats(units: list[int], bits: int) -> Floats:
    """Return a point of the grid in floats."""
    return np.array([float(Fraction(unit, 2**bits)) for unit in units])


def _squared_norm(vector: list[Fraction]) -> Fraction:
    """Return the exact squared Euclidean norm."""
    return sum((item * item for item in vector), Fraction(0))
