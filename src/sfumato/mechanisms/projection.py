"""Euclidean projection of noisy numbers onto sets that the truth is known to lie in.

This is public repair: it may be given what a primitive returned, never a private value.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["norm_sub", "project_box", "project_simplex"]


def project_simplex(
    values: ArrayLike, total: float, weights: ArrayLike | None = None
) -> NDArray[np.float64]:
    """Return the closest non-negative array that sums to `total`.

    Parameters
    ----------
    values
        The noisy numbers, of any shape; they are projected as one vector.
    total
        The sum of the result, at least 0.
    weights
        Positive weights w of the squared distance Σ w·(x − values)²; all one by default.

    Notes
    -----
    The solution is x = max(values − τ/w, 0) for the τ that meets the total. With the breakpoints
    w·values sorted, τ is found exactly (Held, Wolfe and Crowder, 1974; Duchi, Shalev-Shwartz,
    Singer and Chandra, 2008, for w = 1).

    Examples
    --------
    >>> project_simplex([3.0, 1.0, -2.0], 3).tolist()
    [2.5, 0.5, 0.0]
    """
    noisy = _check_values(values)
    if not (np.isfinite(total) and total >= 0):
        raise ValueError(f"total must be at least 0 and finite; got {total!r}")
    if noisy.size == 0:
        if total:
            raise ValueError(f"an empty array cannot sum to {total!r}")
        return noisy.copy()
    flat = noisy.ravel()
    inverse = np.ones_like(flat) if weights is None else _inverse_weights(weights, noisy.shape)
    breakpoints = flat / inverse
    order = np.argsort(-breakpoints, kind="stable")
    # With the k largest breakpoints active, τ_k makes their sum the total; the true active set is
    # the largest k whose own breakpoint still lies above τ_k.
    threshold = (np.cumsum(flat[order]) - total) / np.cumsum(inverse[order])
    active = np.flatnonzero(breakpoints[order] > threshold)
    if active.size == 0:
        # Only a total of 0 (or one lost in the rounding of large values) leaves nobody active.
        return _everything_on(noisy.shape, int(order[0]), float(total))
    projected: NDArray[np.float64] = np.maximum(flat - threshold[active[-1]] * inverse, 0.0)
    return projected.reshape(noisy.shape)


def norm_sub(values: ArrayLike, total: float) -> NDArray[np.float64]:
    """Return `values` with negatives set to 0 and the rest shifted equally to sum to `total`.

    Parameters
    ----------
    values
        The noisy numbers, of any shape.
    total
        The sum of the result, at least 0.

    Notes
    -----
    Repeating "drop the negatives, spread the difference over the others" until nothing changes
    (Wang, Lopuhaä-Zwakenberg, Li, Skoric and Li, 2020) ends at the Euclidean projection onto the
    simplex; it is computed as such.

    Examples
    --------
    >>> norm_sub([5.0, 2.0, -1.0], 4).tolist()
    [3.5, 0.5, 0.0]
    """
    return project_simplex(values, total)


def project_box(
    values: ArrayLike, lower: ArrayLike, upper: ArrayLike, total: float | None = None
) -> NDArray[np.float64]:
    """Return the closest array within bounds, and with the given total if there is one.

    Parameters
    ----------
    values
        The noisy numbers, of any shape.
    lower, upper
        Finite bounds, numbers or arrays that broadcast to the shape of `values`.
    total
        The sum of the result; it must lie between the sums of the bounds.

    Notes
    -----
    With a total the solution is clip(values − τ, lower, upper); the sum falls piecewise linearly
    in τ and its knots are values − lower and values − upper, so that τ is found exactly by
    sorting.

    Examples
    --------
    >>> project_box([3.0, 1.0, -2.0], 0, 2).tolist()
    [2.0, 1.0, 0.0]
    >>> project_box([3.0, 1.0, -2.0], 0, 2, total=4).tolist()
    [2.0, 2.0, 0.0]
    """
    noisy = _check_values(values)
    low = np.broadcast_to(np.asarray(lower, dtype=np.float64), noisy.shape)
    high = np.broadcast_to(np.asarray(upper, dtype=np.float64), noisy.shape)
    if not np.all((low <= high) & np.isfinite(low) & np.isfinite(high)):
        raise ValueError("bounds must be finite, and lower must not exceed upper")
    if total is None:
        return np.clip(noisy, low, high)
    least, most = float(low.sum()), float(high.sum())
    if not least <= total <= most:
        raise ValueError(
            f"total must lie between the sums of the bounds, {least} and {most}; got {total!r}"
        )
    if noisy.size == 0:
        return noisy.copy()
    shift = _box_shift(noisy.ravel(), low.ravel(), high.ravel(), float(total))
    return np.clip(noisy - shift, low, high)


def _box_shift(
    values: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64], total: float
) -> float:
    """Return the τ at which clip(values − τ, low, high) sums to the total."""
    knots = np.concatenate([values - high, values - low])
    # Passing values − high a coordinate starts to fall; passing values − low it rests again.
    slopes = np.concatenate([-np.ones_like(values), np.ones_like(values)])
    order = np.argsort(knots, kind="stable")
    knots = knots[order]
    slope = np.cumsum(slopes[order])
    falls = np.concatenate([[0.0], np.cumsum(slope[:-1] * np.diff(knots))])
    sums = high.sum() + falls
    reached = int(np.searchsorted(-sums, -total, side="left"))
    if reached == 0:
        return float(knots[0])
    if reached == knots.size:
        return float(knots[-1])
    before = reached - 1
    return float(knots[before] + (total - sums[before]) / slope[before])


def _check_values(values: ArrayLike) -> NDArray[np.float64]:
    """Return the values as floats, or refuse what is not finite."""
    noisy = np.asarray(values, dtype=np.float64)
    if not np.all(np.isfinite(noisy)):
        raise ValueError("values must be finite")
    return noisy


def _inverse_weights(weights: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return 1/weights as a flat array, or say what is allowed."""
    weight = np.asarray(weights, dtype=np.float64)
    if weight.shape != shape:
        raise ValueError(f"weights must have the shape of values, {shape}; got {weight.shape}")
    if not np.all((weight > 0) & np.isfinite(weight)):
        raise ValueError("weights must be positive and finite")
    inverse: NDArray[np.float64] = 1.0 / weight.ravel()
    return inverse


def _everything_on(shape: tuple[int, ...], index: int, total: float) -> NDArray[np.float64]:
    """Return an array that holds the total in one place."""
    single = np.zeros(shape)
    single.ravel()[index] = total
    return single
