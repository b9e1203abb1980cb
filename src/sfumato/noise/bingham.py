"""Directions of density ∝ exp(κ·xᵀSx) on the unit sphere, exact on a public grid.

This is Bingham's law. A direction is proposed by a linear map of independent standard normal
numbers, which is the angular central Gaussian law (Tyler, 1987), and kept with a chance that turns
the one law into the other (Kent, Ganeiber and Mardia, 2018). Nothing here may round a random number
before the last comparison that it takes part in, and nothing here uses floating point.

*Law.* Let y = Mz for a nonsingular M and a standard normal z, and x = y/‖y‖. With respect to the
uniform law of the sphere, x has a density ∝ (xᵀΩx)^(−p/2), Ω = (MMᵀ)⁻¹, and xᵀΩx = ‖z‖²/‖y‖². For a
number b > 0 with κ·S + (b/2)·Ω ≤ μ (as symmetric matrices), ln t ≤ ln(p/b) + bt/p − 1 gives

    a(x) = κ·xᵀSx − μ + (p/2)·(1 + ln(b‖z‖²/(p‖y‖²))) ≤ 0,

so x may be kept with probability e^(a(x)): an exponential number E exceeds −a(x). What is kept has
density ∝ exp(κ·xᵀSx). Any M, b and μ that keep the inequality give the same law; they decide only
how often a proposal is thrown away. `Envelope` is such a triple, and its maker must have proved it.

*Precision.* z and E are real numbers with bits drawn on demand, in enclosures of integers; they are
refined until E > −a(x) is settled, and then until the rounding of every coordinate of x is. So the
answer is the rounding, to a grid known to all, of an exact draw: it costs ε = 0 and δ = 0.

Time depends on the form and on the draw.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.noise._lazy import Real, Tape, exponential, normal

__all__ = ["Envelope", "Form", "draw_direction"]

Integers = NDArray[np.object_]

#: Bits of the normal numbers in the first attempt.
FIRST_SIZE = 64


@dataclass(frozen=True)
class Form:
    """A quadratic form κ·xᵀSx with exact coefficients.

    Parameters
    ----------
    units
        S in units of 2^−bits: a symmetric array of Python integers.
    bits
        Binary digits after the point of S.
    rate
        κ ≥ 0.
    """

    units: Integers
    bits: int
    rate: Fraction

    @property
    def dimension(self) -> int:
        """The dimension p of the space."""
        return len(self.units)

    @cached_property
    def factor(self) -> Fraction:
        """κ in units of S."""
        return self.rate / (1 << self.bits)

    @cached_property
    def reach(self) -> int:
        """A bound on the spectral norm of S in its units: the largest sum of a row."""
        return int(np.abs(self.units).sum(axis=1).max())


@dataclass(frozen=True)
class Envelope:
    """A proposal M = V·diag(d) and a proven bound: κ·S + (b/2)·(MMᵀ)⁻¹ ≤ μ.

    Parameters
    ----------
    vectors
        V, an array of Python integers; the scale of M does not matter to the direction.
    stretches
        d, positive Python integers.
    exponent
        M in its true scale is V·diag(d)·2^−exponent.
    shape
        b > 0.
    top
        μ.
    """

    vectors: Integers
    stretches: Integers
    exponent: int
    shape: Fraction
    top: Fraction

    @cached_property
    def size(self) -> int:
        """A bound on the Frobenius norm of V·diag(d)."""
        squares = (self.vectors * self.vectors).sum(axis=0)
        return math.isqrt(int((squares * self.stretches * self.stretches).sum())) + 1


def draw_direction(form: Form, envelope: Envelope, *, grid_bits: int) -> list[int]:
    """Draw a direction of density ∝ exp(κ·xᵀSx) and round each coordinate to 2^−grid_bits.

    Parameters
    ----------
    form
        The private form.
    envelope
        A proposal with a proven bound for this form.
    grid_bits
        The public grid.

    Notes
    -----
    Privacy: what the exact law guarantees, e.g. 2κΔ-DP where xᵀSx changes by at most Δ between
    neighbours; proposal, bound and rounding cost nothing.
    """
    tape = Tape()
    while True:
        proposal = _Proposal(form, envelope, tape)
        if proposal.is_kept(exponential(tape)):
            return proposal.rounded(grid_bits)


@dataclass(frozen=True)
class _Centre:
    """A point z near the true one, its image y and how far off they may be, all in integers."""

    z: Integers
    y: Integers
    z_length: int
    y_length: int
    z_off: int
    y_off: int

    @property
    def is_near(self) -> bool:
        """Whether both points are known to a quarter of their length."""
        return self.z_length > 4 * self.z_off and self.y_length > 4 * self.y_off


class _Proposal:
    """One proposed direction, with bits yet to be drawn."""

    def __init__(self, form: Form, envelope: Envelope, tape: Tape) -> None:
        self._form = form
        self._envelope = envelope
        self._normals: list[Real] = [normal(tape) for _ in range(form.dimension)]
        self._size = FIRST_SIZE

    def is_kept(self, mark: Real) -> bool:
        """Tell whether an exponential number exceeds −a(x)."""
        while True:
            centre = self._centre()
            low, high = self._log_chance(centre)
            least, most = (Fraction(end, 1 << self._size) for end in mark.enclose(self._size))
            if least > -low:
                return True
            if most < -high:
                return False
            self._size *= 2

    def rounded(self, grid_bits: int) -> list[int]:
        """Return the direction in steps of the grid."""
        while True:
            settled = self._settle(self._centre(), grid_bits)
            if settled is not None:
                return settled
            self._size *= 2

    def _centre(self) -> _Centre:
        """Return the middles of the enclosures of z, and the image of that point.

        z is in units of 2^−(size + 1), of which each coordinate is off by one at most; so z is off
        by √p units at most, and y by √p times the Frobenius norm of the map.
        """
        while True:
            z = np.array([sum(part.enclose(self._size)) for part in self._normals], dtype=object)
            y = self._envelope.vectors @ (self._envelope.stretches * z)
            off = math.isqrt(len(z)) + 1
            centre = _Centre(z, y, _length(z), _length(y), off, off * self._envelope.size)
            if centre.is_near:
                return centre
            self._size *= 2

    def _log_chance(self, centre: _Centre) -> tuple[Fraction, Fraction]:
        """Enclose a(x), which is at most 0 at the true x."""
        form, envelope = self._form, self._envelope
        value, value_off = self._value(centre)
        ratio = (
            envelope.shape
            * Fraction(int((centre.z * centre.z).sum()), int((centre.y * centre.y).sum()))
            * Fraction(4) ** envelope.exponent
            / form.dimension
        )
        low, high = _log(ratio, self._size)
        # |ln‖z‖² − ln‖z₀‖²| ≤ 2q/(1 − q) for ‖z − z₀‖ ≤ q‖z₀‖, and the same for y.
        slack = sum(
            Fraction(2 * off, length - off)
            for off, length in (
                (centre.z_off, centre.z_length),
                (centre.y_off, centre.y_length),
            )
        )
        half = Fraction(form.dimension, 2)
        base = form.factor * value - envelope.top + half
        spread = form.factor * value_off + half * slack
        return base + half * low - spread, base + half * high + spread

    def _value(self, centre: _Centre) -> tuple[Fraction, Fraction]:
        """Return xᵀSx at the middle in units of S, and how far off it may be.

        |x − x₀| ≤ 2‖y − y₀‖/‖y₀‖, and xᵀSx moves by at most 2‖S‖ times that.
        """
        y = centre.y
        value = Fraction(int(y @ (self._form.units @ y)), int((y * y).sum()))
        return value, Fraction(4 * self._form.reach * centre.y_off, centre.y_length)

    def _settle(self, centre: _Centre, grid_bits: int) -> list[int] | None:
        """Return the rounded coordinates if every point of the enclosure is rounded to them."""
        extra = self._size
        whole = 1 << (grid_bits + extra)
        # ‖y₀‖ is off by one at most, x₀ by twice the share of y, and the quotient by one.
        slack = whole * (2 * centre.y_off + 1) // centre.y_length + 2
        half = 1 << (extra - 1)
        rounded = []
        for part in centre.y:
            middle = int(part) * whole // centre.y_length
            low = (middle - slack + half) >> extra
            if low != (middle + slack + half) >> extra:
                return None
            rounded.append(low)
        return rounded


def _length(vector: Integers) -> int:
    """Return the Euclidean norm of integers, rounded down."""
    return math.isqrt(int((vector * vector).sum()))


def _log(ratio: Fraction, bits: int) -> tuple[Fraction, Fraction]:
    """Enclose the logarithm of a positive fraction to about so many binary digits."""
    digits = bits // 3 + 10
    ends = []
    for rounding in (ROUND_FLOOR, ROUND_CEILING):
        context = Context(prec=digits, rounding=rounding, Emin=-(10**9), Emax=10**9)
        value = context.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))
        if value == 1:  # the logarithm is 0 exactly, and a step from there has a billion digits
            ends.append(Fraction(0))
            continue
        # Decimal.ln is correctly rounded (half even), so one step outward bounds it.
        log = context.ln(value)
        step = context.next_minus(log) if rounding == ROUND_FLOOR else context.next_plus(log)
        ends.append(Fraction(step))
    return ends[0], ends[1]
