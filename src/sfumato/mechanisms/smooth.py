"""Noise scaled to a smooth bound on the local sensitivity.

A smooth bound is computed from the data and is private; here it is part of the *input*, beside the
value itself. Only ε, δ, the smoothness that follows from them and the grid are public. This module
may never put a bound, or a scale made from it, into a signature, an error or a log. Proof:
docs/proofs/smooth-sensitivity.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.smooth_calibration import (
    Calibration,
    cauchy_calibration,
    laplace_calibration,
)
from sfumato.noise.private_scale import cauchy_log_probability, perturb_cauchy, perturb_laplace
from sfumato.privacy.loss import ApproxDP, Loss, Measure, PureDP, convert
from sfumato.privacy.primitive import Change, Primitive, require_whole, require_wholes
from sfumato.privacy.rounding import log_up

__all__ = ["SmoothCauchy", "SmoothInput", "SmoothLaplace"]

_HALF = Fraction(1, 2)


class SmoothInput(NamedTuple):
    """A private value with its private smooth bound.

    Parameters
    ----------
    value
        The value, a rational number, or a tuple of them for several coordinates.
    bound
        The bound S: at least the L1 distance to the value of any neighbour, and within a factor
        e^β of that of any neighbour, as `smooth_maximum` returns it.
    """

    value: int | Fraction | tuple[int | Fraction, ...]
    bound: int | Fraction


@dataclass(frozen=True, kw_only=True)
class SmoothCauchy(Primitive):
    """Add noise of density ∝ 1/(1 + |z|^power), scaled to a smooth bound: pure ε, one number.

    Parameters
    ----------
    epsilon
        The pure loss.
    grid_exponent
        The public e; the output counts steps of 2^e.
    power
        2 is Cauchy noise; 3 has a finite mean, 4 a finite variance, and β is smaller for them.
    slide
        The share of ε that pays for moving the value; the rest pays for the change of the bound.

    Notes
    -----
    Privacy: moving the centre by at most S costs slide·ε, changing ln S by at most β costs the
    rest; rounding to the public grid is post-processing (docs/proofs/smooth-sensitivity.md).
    """

    kind: ClassVar[str] = "smooth Cauchy noise"

    epsilon: Fraction
    grid_exponent: int
    power: int = 2
    slide: Fraction = _HALF

    def __post_init__(self) -> None:
        super().__post_init__()
        # Constants that do not exist are refused when the primitive is built.
        _ = self.calibration

    @property
    def calibration(self) -> Calibration:
        """The smoothness asked of the bound and the factor from bound to scale."""
        return cauchy_calibration(self.epsilon, power=self.power, slide=self.slide)

    @property
    def beta(self) -> Fraction:
        """The smoothness that the bound must have."""
        return self.calibration.beta

    def cost(self, measure: Measure) -> Loss:
        """Return ε, or what ε-DP implies in another measure."""
        return convert(PureDP(self.epsilon), measure)

    def check(self, value: Any) -> None:
        """Raise unless the input is one rational number with its bound."""
        _check_input(value, None)

    def sample(self, value: SmoothInput) -> int:
        """Return the noisy value in steps of the grid."""
        scale = value.bound * self.calibration.factor
        return int(
            perturb_cauchy(  # type: ignore[arg-type]
                value.value, scale, grid_exponent=self.grid_exponent, gamma=self.power
            )
        )

    def check_output(self, output: Any) -> None:
        """Raise unless an output is a whole number."""
        require_whole(output)

    def log_probability(self, value: SmoothInput, output: int) -> float:
        """Return the log-probability of an output."""
        return cauchy_log_probability(
            output,
            value.value,
            value.bound * self.calibration.factor,
            grid_exponent=self.grid_exponent,
            gamma=self.power,
        )

    def change(self, value: SmoothInput, neighbour: SmoothInput) -> Change:
        """Measure the move of the value against both bounds, and of the bound against β."""
        return _smooth_change(value, neighbour, self.beta, symmetric=True)


@dataclass(frozen=True, kw_only=True)
class SmoothLaplace(Primitive):
    """Add independent Laplace noise, scaled to a smooth bound, to every coordinate: (ε, δ).

    Parameters
    ----------
    epsilon, delta
        The approximate loss.
    dimension
        The public number of coordinates.
    grid_exponent
        The public e; the output counts steps of 2^e.
    slide
        The share of ε that pays for moving the value.
    symmetric
        Whether the bound covers the change to every neighbour, added or removed. If only the larger
        bound of two neighbours covers it, β has to be smaller.

    Notes
    -----
    Privacy: docs/proofs/smooth-sensitivity.md, with the exact β of `laplace_beta`; rounding to the
    public grid is post-processing.
    """

    kind: ClassVar[str] = "smooth Laplace noise"

    epsilon: Fraction
    delta: Fraction
    dimension: int
    grid_exponent: int
    slide: Fraction = _HALF
    symmetric: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.calibration

    @property
    def calibration(self) -> Calibration:
        """The smoothness asked of the bound and the factor from bound to scale."""
        return laplace_calibration(
            self.epsilon, self.delta, self.dimension, slide=self.slide, symmetric=self.symmetric
        )

    @property
    def beta(self) -> Fraction:
        """The smoothness that the bound must have."""
        return self.calibration.beta

    def cost(self, measure: Measure) -> Loss:
        """Return (ε, δ); there is no pure and no zero-concentrated cost."""
        return convert(ApproxDP(self.epsilon, self.delta), measure)

    def check(self, value: Any) -> None:
        """Raise unless the input has the declared number of coordinates and a bound."""
        _check_input(value, self.dimension)

    def sample(self, value: SmoothInput) -> NDArray[np.object_]:
        """Return the noisy coordinates in steps of the grid, as integers of any size."""
        scale = value.bound * self.calibration.factor
        units = perturb_laplace(value.value, scale, grid_exponent=self.grid_exponent)
        return np.array(units, dtype=object)

    def check_output(self, output: Any) -> None:
        """Raise unless an output holds a whole number for each entry."""
        require_wholes(output, (self.dimension,))

    def log_probability(self, value: SmoothInput, output: Any) -> float:
        """Return the log-probability of an output."""
        step = Fraction(2) ** self.grid_exponent
        scale = value.bound * self.calibration.factor
        coordinates = value.value
        assert isinstance(coordinates, tuple)
        return math.fsum(
            _laplace_log_mass(int(units), Fraction(centre), Fraction(scale), step)
            for centre, units in zip(coordinates, output, strict=True)
        )

    def change(self, value: SmoothInput, neighbour: SmoothInput) -> Change:
        """Measure the L1 move of the value against the bounds, and of the bound against β."""
        return _smooth_change(value, neighbour, self.beta, symmetric=self.symmetric)


def _check_input(value: Any, dimension: int | None) -> None:
    """Raise unless the input is a `SmoothInput` of rational numbers with a positive bound."""
    if not isinstance(value, SmoothInput):
        raise ValueError("the input must be a SmoothInput(value, bound)")
    if (dimension is None) == isinstance(value.value, tuple):
        raise ValueError(
            "the value must be one rational number"
            if dimension is None
            else f"the value must be a tuple of {dimension} rational numbers"
        )
    numbers = value.value if isinstance(value.value, tuple) else (value.value,)
    if dimension is not None and len(numbers) != dimension:
        raise ValueError(f"the value must be a tuple of {dimension} rational numbers")
    if not all(_rational(number) for number in (*numbers, value.bound)):
        raise ValueError("the value and its bound must be ints or Fractions")
    if value.bound <= 0:
        # A smooth bound is positive on every data set; zero would mean no noise at all.
        raise ValueError("the bound must be positive")


def _rational(number: Any) -> bool:
    return isinstance(number, int | Fraction) and not isinstance(number, bool)


def _smooth_change(
    value: SmoothInput, neighbour: SmoothInput, beta: Fraction, *, symmetric: bool
) -> Change:
    """Return how much of what is allowed two inputs use: the worse of move/S and |ln S/S'|/β."""
    norm = "larger of L1 move over bound and log-ratio of bounds over β"
    first = value.value if isinstance(value.value, tuple) else (value.value,)
    second = neighbour.value if isinstance(neighbour.value, tuple) else (neighbour.value,)
    pairs = zip(first, second, strict=True)
    move = sum((abs(Fraction(a) - Fraction(b)) for a, b in pairs), Fraction(0))
    small, large = sorted((Fraction(value.bound), Fraction(neighbour.bound)))
    if large == 0:
        return Change(math.inf if move else 0.0, 1, norm)
    if small == 0:
        return Change(math.inf, 1, norm)
    moved = move / (small if symmetric else large)
    # The logarithm of 1 is exactly 0; only other ratios need rounding.
    dilated = log_up(large / small) / beta if large > small else Fraction(0)
    return Change(max(moved, dilated), 1, norm)


def _laplace_log_mass(units: int, centre: Fraction, scale: Fraction, step: Fraction) -> float:
    """Return the log-probability that centre + scale·Laplace is rounded to so many steps."""
    if scale == 0:
        return 0.0 if math.floor(centre / step + _HALF) == units else -math.inf
    low = float(((units - _HALF) * step - centre) / scale)
    high = float(((units + _HALF) * step - centre) / scale)
    if low < 0 < high:
        return math.log(-(math.expm1(low) + math.expm1(-high)) / 2)
    nearest = low if low >= 0 else -high
    return -nearest + math.log(-math.expm1(-float(step / scale)) / 2)
