"""Mechanisms that are known to be broken, kept to show that our checks notice.

`BinarySVT` and `VanillaSVT` are published variants of the sparse vector technique whose proofs are
wrong (Lyu, Su and Li, 2017; Zhang, Xiao and Xie, 2016); the others are our own with one mistake.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np

from sfumato.mechanisms.sparse_vector import AboveThreshold


def laplace_density(x, scale):
    return np.exp(-np.abs(x) / scale) / (2 * scale)


def laplace_survival(x, scale):
    return np.where(x >= 0, 0.5 * np.exp(-np.abs(x) / scale), 1 - 0.5 * np.exp(-np.abs(x) / scale))


def integrate(function, breaks, reach=120.0):
    """Integrate a function that is smooth between the breaks, by Gauss and Legendre."""
    nodes, weights = np.polynomial.legendre.leggauss(160)
    edges = sorted({-reach, *map(float, breaks), reach})
    total = 0.0
    for low, high in pairwise(edges):
        x = low + (high - low) * (nodes + 1) / 2
        total += float(np.dot(weights, function(x))) * (high - low) / 2
    return total


def binary_svt_log_probability(answers, outputs, *, threshold, scale):
    """BinarySVT: one threshold noise, the same scale for every query, no limit on positives."""

    def integrand(x):
        product = laplace_density(x, scale)
        for answer, output in zip(answers, outputs, strict=True):
            above = laplace_survival(threshold + x - answer, scale)
            product = product * (above if output else 1 - above)
        return product

    return np.log(integrate(integrand, {0, *(answer - threshold for answer in answers)}))


def vanilla_svt_log_density(answers, value, *, threshold, scale, positives):
    """VanillaSVT: all answers but the last stay below; the last is released as the noisy value."""
    query_scale = positives * scale

    def integrand(x):
        product = laplace_density(x, scale) * laplace_density(value - answers[-1], query_scale)
        for answer in answers[:-1]:
            product = product * (1 - laplace_survival(threshold + x - answer, query_scale))
        return np.where(threshold + x < value, product, 0.0)

    breaks = {0, value - threshold, *(answer - threshold for answer in answers)}
    return np.log(integrate(integrand, breaks))


@dataclass(frozen=True, kw_only=True)
class HalfQueryNoise(AboveThreshold):
    """Half of the query noise that the proof asks for."""

    @property
    def query_scale(self):
        return super().query_scale / 2


@dataclass(frozen=True, kw_only=True)
class HalfThresholdNoise(AboveThreshold):
    """Half of the threshold noise that the proof asks for."""

    @property
    def threshold_scale(self):
        return super().threshold_scale / 2


@dataclass(frozen=True, kw_only=True)
class NeverStops(AboveThreshold):
    """The counter is never incremented: the query noise is that of one positive only."""

    def _possible(self, outputs):
        return True


@dataclass(frozen=True, kw_only=True)
class MonotoneNoiseForAll(AboveThreshold):
    """The query noise of monotone queries, used for queries that move both ways."""

    @property
    def query_scale(self) -> Fraction:
        return super().query_scale / 2
