"""Noise on tables of counts: which primitive, how much, and what a reader should expect of it."""

from __future__ import annotations

import math
from fractions import Fraction

from sfumato.mechanisms.gaussian import GaussianNoise
from sfumato.mechanisms.laplace import GeometricNoise
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import ZCDP, Loss, PureDP

CountNoise = GeometricNoise | GaussianNoise


def count_noise(shape: tuple[int, ...], loss: Loss, relation: Relation) -> CountNoise:
    """Return the noise for one table of counts in which every record falls into one cell.

    Under add/remove one record changes one cell by one; under replace-one it changes two cells by
    one each: L1 sensitivity 2 and squared L2 sensitivity 2 (docs/proofs/marginals.md).

    Parameters
    ----------
    shape
        The shape of the table.
    loss
        The whole slice: pure for geometric noise, zero-concentrated for Gaussian noise.
    relation
        What a neighbour is.
    """
    cells = 1 if relation is Relation.ADD_REMOVE else 2
    if isinstance(loss, PureDP):
        return GeometricNoise(shape=shape, sensitivity=Fraction(cells), epsilon=loss.epsilon)
    if isinstance(loss, ZCDP):
        return GaussianNoise(shape=shape, squared_sensitivity=Fraction(cells), rho=loss.rho)
    raise TypeError("counts are measured from a pure or a zero-concentrated slice")


def margin(noise: CountNoise, cells: int = 1) -> float:
    """Return the 95 % margin of a sum of noisy cells: 19 sums in 20 are off by no more.

    Parameters
    ----------
    noise
        The noise on each cell.
    cells
        How many cells are added up.
    """
    if cells == 1 and isinstance(noise, GeometricNoise):
        # P(|X| > t) = 2q^(t+1)/(1+q) for a whole number t.
        rate = float(1 / noise.scale)
        return float(max(0, math.ceil(math.log(40 / (1 + math.exp(-rate))) / rate - 1)))
    return 1.959963984540054 * noise.standard_deviation * math.sqrt(cells)
