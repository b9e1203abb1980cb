"""The matrix mechanism's arithmetic: what a strategy of measurements costs a workload of queries.

Everything here is a function of public matrices; nothing may depend on data.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["all_ranges", "direct_error", "expected_error", "strategy_sensitivity"]


def all_ranges(cells: int) -> NDArray[np.float64]:
    """Return the workload of all cells·(cells+1)/2 ranges, one row each.

    Parameters
    ----------
    cells
        The number of cells, at least 1.

    Examples
    --------
    >>> all_ranges(4).sum(axis=0).tolist()
    [4.0, 6.0, 6.0, 4.0]
    """
    if cells < 1:
        raise ValueError(f"cells must be at least 1; got {cells!r}")
    low, high = np.triu_indices(cells)
    index = np.arange(cells)
    inside = (index >= low[:, None]) & (index <= high[:, None])
    return inside.astype(np.float64)


def strategy_sensitivity(strategy: ArrayLike) -> float:
    """Return the L1 sensitivity of the queries in a matrix: its greatest absolute column sum.

    Parameters
    ----------
    strategy
        One row a query, one column a cell; a unit adds 1 to one cell.
    """
    return float(np.abs(np.asarray(strategy, dtype=np.float64)).sum(axis=0).max())


def direct_error(workload: ArrayLike, *, epsilon: float) -> float:
    """Return the total expected squared error of a workload answered with noise on each answer.

    Parameters
    ----------
    workload
        The queries to be answered, one a row.
    epsilon
        The privacy loss of the measurement.

    Examples
    --------
    >>> direct_error(all_ranges(4), epsilon=1)
    720.0
    """
    queries = np.asarray(workload, dtype=np.float64)
    return float(2 * len(queries) * (strategy_sensitivity(queries) / _positive(epsilon)) ** 2)


def expected_error(workload: ArrayLike, strategy: ArrayLike, *, epsilon: float) -> float:
    """Return the total expected squared error of a workload answered through a strategy.

    Parameters
    ----------
    workload
        The queries to be answered, one a row.
    strategy
        The queries measured with Laplace noise; the workload must lie in their row space.
    epsilon
        The privacy loss of the measurement.

    Notes
    -----
    (2/ε²)·‖A‖₁²·‖W A⁺‖_F² (Li, Hay, Rastogi, Miklau and McGregor, 2010). For all ten ranges over
    four cells at ε = 1: 40 through the cells and 108 through Haar coefficients, against 720 for
    noise on the ranges themselves (`direct_error`).

    Examples
    --------
    >>> round(expected_error(all_ranges(4), np.eye(4), epsilon=1), 6)
    40.0
    """
    queries = np.asarray(workload, dtype=np.float64)
    measured = np.asarray(strategy, dtype=np.float64)
    through = queries @ np.linalg.pinv(measured)
    if not np.allclose(through @ measured, queries):
        raise ValueError("the strategy does not determine every query of the workload")
    scale = strategy_sensitivity(measured) / _positive(epsilon)
    return float(2 * scale**2 * np.sum(through**2))


def _positive(epsilon: float) -> float:
    """Return epsilon, or say what is allowed."""
    if not (np.isfinite(epsilon) and epsilon > 0):
        raise ValueError(f"epsilon must be positive and finite; got {epsilon!r}")
    return float(epsilon)
