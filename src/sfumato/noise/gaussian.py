"""Discrete Gaussian noise, exact for every rational variance.

Canonne, Kamath and Steinke, "The Discrete Gaussian for Differential Privacy" (NeurIPS 2020),
Algorithm 3: propose Y from the discrete Laplace of scale t = ⌊σ⌋ + 1 and accept it with probability
exp(−(|Y| − σ²/t)²/(2σ²)). The acceptance coins are exact (`bernoulli.throw_filtered_coins`).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import cast, overload

import numpy as np

from sfumato.noise.bernoulli import throw_filtered_coins
from sfumato.noise.bits import bits
from sfumato.noise.exact import Number, positive
from sfumato.noise.laplace import Integers, discrete_laplace
from sfumato.noise.sample_size import Size, count_of, shape_draws

#: Proposals made at a time at most, so that memory stays bounded.
_BATCH = 1 << 15

#: Stands for any larger 1/σ: beyond it every proposal but 0 has an exponent above 40 anyway.
_LARGEST_INVERSE = 2.0**400


@overload
def discrete_gaussian(size: None = None, *, variance: Number) -> int: ...
@overload
def discrete_gaussian(size: int | tuple[int, ...], *, variance: Number) -> Integers: ...
def discrete_gaussian(size: Size = None, *, variance: Number) -> int | Integers:
    """Draw integers with P(x) ∝ exp(−x²/(2·variance)), exactly.

    Parameters
    ----------
    size
        How many, or a shape; None for a single int.
    variance
        The parameter σ² (the variance itself is slightly smaller), any positive number, as
        `exact` reads it. Below 2¹⁰⁴ the array is int64, beyond it holds Python ints.

    Notes
    -----
    Privacy: added to an integer vector of L2 sensitivity Δ, it gives Δ²/(2σ²)-zCDP.
    """
    sigma_squared = positive(variance, "variance")
    count = count_of(size)
    parts: list[Integers] = []
    left = count
    while left > 0:
        parts.append(_propose_and_accept(min(left + left // 2 + 8, _BATCH), sigma_squared)[:left])
        left -= parts[-1].size
    draws = np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)
    return cast("int | Integers", shape_draws(draws, size))


def _propose_and_accept(count: int, sigma_squared: Fraction) -> Integers:
    """Propose `count` integers and return those that are accepted."""
    scale = math.isqrt(math.floor(sigma_squared)) + 1  # t = ⌊σ⌋ + 1
    centre = sigma_squared / scale
    proposed = discrete_laplace(count, scale=scale)

    def exponent(index: int) -> Fraction:
        return (abs(int(proposed[index])) - centre) ** 2 / (2 * sigma_squared)

    if proposed.dtype == np.int64:
        # σ²/t ≤ σ, so the distance from the centre in units of σ is right to 2⁻⁴⁶ where it is
        # below 9, and half its square to 2⁻⁴².
        distance = (np.abs(proposed) - float(centre)) * _inverse_root(sigma_squared)
        exponents = 0.5 * distance * distance
    else:
        exponents = np.array([float(min(exponent(index), Fraction(64))) for index in range(count)])
    return proposed[throw_filtered_coins(exponents, bits().words(count), exponent)]


def _inverse_root(sigma_squared: Fraction) -> float:
    """Return 1/σ as a float, or a stand-in that is large enough to mean the same."""
    if sigma_squared < Fraction(1, 2**800):
        return _LARGEST_INVERSE
    return math.sqrt(1 / sigma_squared)
