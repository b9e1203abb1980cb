"""Privelet: the Haar wavelet transform of Xiao, Wang and Gehrke, in whole numbers.

The published transform keeps, for a node of the binary tree over 2^l cells, the coefficient
(mean of its left half − mean of its right half)/2 and, as base, the mean of all cells, and adds
Laplace noise of scale ρ/(ε·W) with the weight W = number of cells under the node (all cells for the
base). Multiplied by W, a coefficient becomes *sum of the left half − sum of the right half* and
the base becomes the *total*: whole numbers of whole counts, every one with noise of the same scale
ρ/ε, and each unit moves exactly 1 + l of them by ±1. So Privelet is nothing but the (exact,
integer) discrete Laplace mechanism on these sums and differences, with L1 sensitivity
ρ = Π(1 + log₂ m_i): no rounding anywhere before the noise.

The transform is public arithmetic; whoever transforms private counts must hand them to a primitive.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "generalised_sensitivity",
    "haar",
    "inverse_haar",
    "padded_shape",
    "privelet_weights",
]


def padded_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape with every axis raised to a power of two.

    Parameters
    ----------
    shape
        Public numbers of cells along each axis, at least 1 each.

    Examples
    --------
    >>> padded_shape((5, 8))
    (8, 8)
    """
    if not shape or any(axis < 1 for axis in shape):
        raise ValueError(f"shape must have at least one axis, each of at least 1 cell; got {shape}")
    return tuple(1 << (axis - 1).bit_length() for axis in shape)


def generalised_sensitivity(shape: tuple[int, ...]) -> int:
    """Return ρ = Π(1 + log₂ m_i): how many coefficients one unit moves, each by 1.

    Parameters
    ----------
    shape
        Public numbers of cells; each axis counts as its next power of two.

    Examples
    --------
    >>> generalised_sensitivity((1024, 1024)), generalised_sensitivity((32, 32, 32, 32))
    (121, 1296)
    """
    return math.prod(axis.bit_length() for axis in padded_shape(shape))


def privelet_weights(shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Return W, by which each published coefficient is multiplied to become a whole number.

    Parameters
    ----------
    shape
        Public numbers of cells; each axis counts as its next power of two.

    Examples
    --------
    >>> privelet_weights((8,)).tolist()
    [8, 8, 4, 4, 2, 2, 2, 2]
    """
    weights = np.ones((), dtype=np.int64)
    for axis in padded_shape(shape):
        weights = np.multiply.outer(weights, _axis_weights(axis))
    return weights


def haar(counts: ArrayLike) -> NDArray[np.int64]:
    """Return the whole-number Haar coefficients of a table of whole counts.

    Parameters
    ----------
    counts
        Integers, of any number of dimensions; axes are padded with zeros to powers of two.

    Notes
    -----
    Along an axis, index 0 holds the total, index 1 the left half minus the right half, indices
    2 and 3 the same for the two halves, and so on. Over several axes the transform is applied to
    one axis after another.

    Examples
    --------
    >>> haar([12, 24, 6, 7]).tolist()
    [49, 23, -12, -1]
    """
    table = np.asarray(counts)
    if table.ndim == 0 or not np.issubdtype(table.dtype, np.integer):
        raise ValueError("counts must be an array of integers with at least one axis")
    target = padded_shape(table.shape)
    padding = [(0, after - before) for before, after in zip(table.shape, target, strict=True)]
    coefficients = np.pad(table.astype(np.int64), padding)
    for axis in range(coefficients.ndim):
        moved = np.moveaxis(coefficients, axis, -1)
        coefficients = np.moveaxis(_forward(moved), -1, axis)
    return np.ascontiguousarray(coefficients)


def inverse_haar(
    coefficients: ArrayLike, shape: tuple[int, ...] | None = None
) -> NDArray[np.float64]:
    """Return the cells whose Haar coefficients are given.

    Parameters
    ----------
    coefficients
        Exact or noisy coefficients in the order of `haar`.
    shape
        The shape before padding; the padding is cut off.

    Examples
    --------
    >>> inverse_haar([49, 23, -12, -1]).tolist()
    [12.0, 24.0, 6.0, 7.0]
    """
    cells = np.asarray(coefficients, dtype=np.float64)
    if padded_shape(cells.shape) != cells.shape:
        raise ValueError(f"every axis must be a power of two; got the shape {cells.shape}")
    if shape is not None and padded_shape(shape) != cells.shape:
        raise ValueError(f"coefficients of {shape} have the shape {padded_shape(shape)}")
    for axis in range(cells.ndim):
        cells = np.moveaxis(_backward(np.moveaxis(cells, axis, -1)), -1, axis)
    if shape is not None:
        cells = cells[tuple(slice(length) for length in shape)]
    return np.ascontiguousarray(cells)


def _axis_weights(length: int) -> NDArray[np.int64]:
    """Return the weights along one axis: how many cells lie under the base or the node."""
    index = np.arange(length)
    level = np.array([max(int(i).bit_length() - 1, 0) for i in index])
    weights: NDArray[np.int64] = (length >> level).astype(np.int64)
    return weights


def _forward(cells: NDArray[np.int64]) -> NDArray[np.int64]:
    """Transform the last axis: sums move up the binary tree and leave their differences behind."""
    coefficients = np.empty_like(cells)
    sums = cells
    while sums.shape[-1] > 1:
        left, right = sums[..., 0::2], sums[..., 1::2]
        half = sums.shape[-1] // 2
        coefficients[..., half : 2 * half] = left - right
        sums = left + right
    coefficients[..., 0] = sums[..., 0]
    return coefficients


def _backward(coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
    """Undo `_forward`: a node's sum and difference give the sums of its halves."""
    sums = coefficients[..., :1]
    while sums.shape[-1] < coefficients.shape[-1]:
        half = sums.shape[-1]
        difference = coefficients[..., half : 2 * half]
        children = np.empty((*sums.shape[:-1], 2 * half))
        children[..., 0::2] = (sums + difference) / 2
        children[..., 1::2] = (sums - difference) / 2
        sums = children
    return sums
