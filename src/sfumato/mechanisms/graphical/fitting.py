"""Fitting a graphical model to noisy tables: least squares over all distributions on a tree.

Public repair: a function of noisy tables that are already public. Of all distributions that explain
them best, weighted by their noise, it is the one of largest entropy (McKenna, Sheldon and Miklau,
2019).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.graphical.junction import JunctionTree, junction_tree
from sfumato.mechanisms.graphical.layout import Layout, cell_map, layout_of, running
from sfumato.mechanisms.graphical.model import GraphicalModel
from sfumato.mechanisms.projection import project_simplex

__all__ = ["Measured", "Zeros", "fit", "total_of"]

#: Structural zeros: some columns, and which combinations of their codes can occur.
Zeros = tuple[tuple[int, ...], NDArray[np.bool_]]

#: Fitting ends when five steps in a row lower the loss by less than this share.
TOLERANCE = 1e-4
#: A value that a noisy table tells nothing of starts at this share, from which it can still grow.
FLOOR = 1e-4
#: The log-potential of what cannot occur. Its exponential is 0, however far a fit moves it.
FORBIDDEN = -1e6


@dataclass(frozen=True)
class Measured:
    """A noisy table of counts.

    Parameters
    ----------
    columns
        Its columns.
    values
        Noisy counts, one axis a column.
    deviation
        The standard deviation of the noise on a cell.
    recodings
        For each axis what each code of its column becomes in this table, or `None` for itself;
        empty if that holds for all.
    """

    columns: tuple[int, ...]
    values: NDArray[np.float64]
    deviation: float
    recodings: tuple[NDArray[Any] | None, ...] = field(default=())


def total_of(measured: Sequence[Measured]) -> float:
    """Return the number of rows that noisy tables tell together, at least 1.

    It is the mean of their sums, weighted by the inverse of their variances.
    """
    weights = [
        1.0 / (item.values.size * _floor_deviation(item.deviation) ** 2) for item in measured
    ]
    sums = [float(item.values.sum()) for item in measured]
    return max(float(np.average(sums, weights=weights)), 1.0)


def _floor_deviation(deviation: float) -> float:
    # A huge epsilon leaves no noise at all.
    return max(deviation, 1e-6)


def fit(
    sizes: Sequence[int],
    measured: Sequence[Measured],
    total: float,
    *,
    iterations: int = 500,
    start: GraphicalModel | None = None,
    tree: JunctionTree | None = None,
    zeros: Sequence[Zeros] = (),
) -> GraphicalModel:
    """Return the graphical model that explains noisy tables best.

    Parameters
    ----------
    sizes
        The domain size of each column.
    measured
        The noisy tables.
    total
        The number of rows that counts are shares of.
    iterations
        The most steps that are taken.
    start
        A model of fewer tables to start from.
    tree
        The junction tree, if it is already known.
    zeros
        What cannot occur: the model gives it no weight.
    """
    if tree is None:
        joined = [item.columns for item in measured]
        tree = junction_tree(sizes, [*joined, *(columns for columns, _ in zeros)])
    layout = layout_of(tree)
    forbidden = _forbid(tree, layout, zeros)
    potential = forbidden.copy()
    if start is None:
        _begin(tree, measured, total, layout, potential)
    else:
        _carry(start, tree, layout, potential)
    tables = _tables(tree, measured, total)
    from sfumato.mechanisms.graphical.kernels import descend

    belief, taken, _ = descend(potential, *layout.arrays, *tables, iterations, TOLERANCE, 1.0)
    if taken < 0:
        # What a smaller model had learned leaves nothing possible in the larger one: start anew,
        # from columns that are alike, which always is a distribution.
        potential[:] = forbidden
        belief, _, _ = descend(potential, *layout.arrays, *tables, iterations, TOLERANCE, 1.0)
    return _model(tree, layout, belief, potential)


def _model(
    tree: JunctionTree, layout: Layout, belief: NDArray[Any], potential: NDArray[Any]
) -> GraphicalModel:
    pieces = list(zip(layout.starts[:-1], layout.starts[1:], tree.cliques, strict=True))
    return GraphicalModel(
        tree,
        [belief[low:high].reshape(tree.shape(clique)) for low, high, clique in pieces],
        [potential[low:high].reshape(tree.shape(clique)) for low, high, clique in pieces],
    )


def _begin(
    tree: JunctionTree,
    measured: Sequence[Measured],
    total: float,
    layout: Layout,
    potential: NDArray[Any],
) -> None:
    """Start from independent columns, each as the table that tells it best says."""
    for column, size in enumerate(tree.sizes):
        told = [(item, item.columns.index(column)) for item in measured if column in item.columns]
        plain = [(i, axis) for i, axis in told if not i.recodings or i.recodings[axis] is None]
        if not plain:
            continue
        item, axis = min(
            plain, key=lambda pair: (pair[0].deviation ** 2 * pair[0].values.size, pair[0].columns)
        )
        others = tuple(number for number in range(item.values.ndim) if number != axis)
        shares = project_simplex(item.values.sum(axis=others), total) / total
        holder = tree.holder((column,))
        assert holder is not None
        where = cell_map(tree.sizes, tree.cliques[holder], (column,), (size,))
        low, high = layout.starts[holder], layout.starts[holder + 1]
        potential[low:high] += np.log(np.maximum(shares, FLOOR))[where]


def _forbid(tree: JunctionTree, layout: Layout, zeros: Sequence[Zeros]) -> NDArray[Any]:
    """Return potentials that leave no weight to what cannot occur."""
    potential = np.zeros(tree.cells)
    for columns, possible in zeros:
        holder = tree.holder(columns)
        if holder is None:
            raise ValueError(f"no clique holds the columns {columns}")
        where = cell_map(tree.sizes, tree.cliques[holder], columns, possible.shape)
        low, high = layout.starts[holder], layout.starts[holder + 1]
        potential[low:high][~possible.reshape(-1)[where]] = FORBIDDEN
    return potential


def _carry(
    start: GraphicalModel, tree: JunctionTree, layout: Layout, potential: NDArray[Any]
) -> None:
    """Put the potentials of a smaller model into the cliques of a larger one that hold them."""
    for clique, table in zip(start.cliques, start.potentials, strict=True):
        holder = tree.holder(clique)
        if holder is None:
            # Cliques of a triangulation need not survive a larger one; those start anew.
            continue
        low, high = layout.starts[holder], layout.starts[holder + 1]
        where = cell_map(tree.sizes, tree.cliques[holder], clique, table.shape)
        potential[low:high] += table.reshape(-1)[where]


def _tables(
    tree: JunctionTree, measured: Sequence[Measured], total: float
) -> tuple[NDArray[Any], ...]:
    """Return the tables as the kernels take them: shares, weights, maps."""
    holders, maps, targets, weights = [], [], [], []
    for item in measured:
        holder = tree.holder(item.columns)
        if holder is None:
            raise ValueError(f"no clique holds the columns {item.columns}")
        holders.append(holder)
        shape = item.values.shape
        maps.append(cell_map(tree.sizes, tree.cliques[holder], item.columns, shape, item.recodings))
        targets.append(item.values.reshape(-1) / total)
        weights.append(_floor_deviation(item.deviation) ** -2.0)
    largest = max(weights)
    return (
        np.asarray(holders, dtype=np.int64),
        running([prod(item.values.shape) for item in measured]),
        np.concatenate(maps),
        running([part.size for part in maps])[:-1],
        np.concatenate(targets),
        np.asarray(weights) / largest,
    )
