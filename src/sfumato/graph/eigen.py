"""Eigenvalues and eigenvectors of symmetric matrices, the algebraically largest first.

The same matrix gives the same answer: solvers start from a fixed vector, and every eigenvector has
a fixed sign. `certified_spectrum` looks at a private graph: what it returns is private, within a
public distance of the truth, and it may never be published without noise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import noise
from sfumato.mechanisms.pair_response import pair_positions, pairs_at

__all__ = [
    "CERTIFIED_ERROR",
    "MOST_CERTIFIED_NODES",
    "MOST_PAIRS",
    "CertifiedSpectrum",
    "SymmetricOperator",
    "captured_share",
    "certified_distance",
    "certified_spectrum",
    "cosines",
    "largest_eigenpairs",
    "lowdin",
    "require_solvable",
]

Floats = NDArray[np.float64]

#: Up to this many rows a matrix is written out and solved whole.
DENSE_ROWS = 600
#: The most eigenpairs that are looked for one by one, and the most rows where more are wanted.
MOST_PAIRS, MOST_DENSE_ROWS = 200, 6_000
#: Relative accuracy of the iterative solver: what is published is the same from any solver.
ACCURACY = 1e-13
#: The seed of the vector from which the iterative solver starts.
START = 20151113
#: How much is added to the diagonal at most, so that the iterative solver meets no exact zeros.
UNEVEN = 1e-10

#: Computed eigenvalues of a graph are within this of the true ones, and so is the length of
#: A·v − λ·v for every computed pair.
CERTIFIED_ERROR = Fraction(1, 2**13)
#: The most nodes for which that is certified.
MOST_CERTIFIED_NODES = 6_000
#: Vectors are scaled by this before they are cut to whole steps, and so stay within the radius.
INSIDE = 1 - 2.0**-29


@dataclass(frozen=True)
class SymmetricOperator:
    """A symmetric matrix that is known by what it does to a vector.

    Parameters
    ----------
    rows
        The number of rows.
    apply
        A function from a vector to its product with the matrix.
    """

    rows: int
    apply: Callable[[Floats], Floats]


def require_solvable(rows: int, k: int) -> None:
    """Raise where so many eigenpairs of so large a matrix are not computed."""
    if k > MOST_PAIRS and rows > MOST_DENSE_ROWS:
        raise ValueError(f"k must be at most {MOST_PAIRS} for a graph of {rows:,} nodes; got {k}")


def largest_eigenpairs(matrix: SymmetricOperator, k: int) -> tuple[Floats, Floats]:
    """Return the k largest eigenvalues, from the largest, and their eigenvectors as columns.

    Parameters
    ----------
    matrix
        The matrix. Public, or private in the hands of who pays for what comes of it.
    k
        How many; at most the number of rows.
    """
    if k == 0:
        return np.zeros(0), np.zeros((matrix.rows, 0))
    require_solvable(matrix.rows, k)
    if matrix.rows <= DENSE_ROWS or k > MOST_PAIRS:
        values, vectors = _dense(matrix, k)
    else:
        values, vectors = _solve_by_lanczos(matrix, k)
    order = np.argsort(-values, kind="stable")
    return values[order], with_signs(vectors[:, order])


def _dense(matrix: SymmetricOperator, k: int) -> tuple[Floats, Floats]:
    """Write the matrix out and solve it whole."""
    from scipy.linalg import eigh

    rows = matrix.rows
    full = np.empty((rows, rows))
    unit = np.zeros(rows)
    for place in range(rows):
        unit[place] = 1.0
        full[:, place] = matrix.apply(unit)
        unit[place] = 0.0
    values, vectors = eigh(full, subset_by_index=(rows - k, rows - 1))
    return values, vectors


def _solve_by_lanczos(matrix: SymmetricOperator, k: int) -> tuple[Floats, Floats]:
    """Solve by the implicitly restarted Lanczos method, with more vectors if it does not settle."""
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

    rows = matrix.rows

    generator = noise.generator(START)
    start = generator.standard_normal(rows)
    # The solver breaks down on a matrix of zeros, and where vectors are eigenvectors to the last
    # digit it goes on with random ones of its own, others each time.
    shift = 1 + UNEVEN * generator.random(rows)

    def shifted(vector: Floats) -> Floats:
        flat = vector.ravel()
        return matrix.apply(flat) + shift * flat

    operator = LinearOperator((rows, rows), matvec=shifted, dtype=np.float64)
    kept = min(max(4 * k, 40), rows)
    while True:
        try:
            values, vectors = eigsh(
                operator, k, which="LA", v0=start, ncv=kept, tol=ACCURACY, maxiter=1000
            )
            return values - 1, vectors
        except ArpackNoConvergence:
            if kept == rows:
                raise
            kept = min(4 * kept, rows)


def with_signs(vectors: Floats) -> Floats:
    """Return columns whose largest entry, the first of those of one size, is positive."""
    if vectors.size == 0:
        return vectors
    sizes = np.abs(vectors)
    # Entries that differ by rounding alone count as one size.
    first = (sizes >= sizes.max(axis=0) * (1 - 1e-6)).argmax(axis=0)
    signs = np.where(vectors[first, np.arange(vectors.shape[1])] < 0, -1.0, 1.0)
    return np.asarray(vectors * signs, dtype=np.float64)


@dataclass(frozen=True)
class CertifiedSpectrum:
    """All eigenvalues, from the largest, and eigenvectors of a private graph. Private.

    Parameters
    ----------
    values
        Each is within `CERTIFIED_ERROR` of the true one of its rank.
    vectors
        Columns; ‖A·v − λ·v‖ is at most `CERTIFIED_ERROR`, and ‖v‖ within 2^−30 of 1.
    """

    values: Floats
    vectors: Floats

    def gap(self, rank: int) -> float:
        """Return how far the eigenvalue of a rank is from those next to it; 0 if it is alone."""
        differences = self.values[:-1] - self.values[1:]
        near = differences[max(rank - 1, 0) : rank + 1]
        return float(near.min()) if len(near) else 0.0


def certified_spectrum(graph: Any) -> CertifiedSpectrum:
    """Return the spectrum of a private graph, computed by LAPACK and then proved to be close.

    Parameters
    ----------
    graph
        A `MemoryGraph` of at most `MOST_CERTIFIED_NODES` nodes.

    Notes
    -----
    The proof is docs/proofs/spectrum.md: residuals and inner products of what LAPACK returned are
    computed, the rounding of that computation is bounded from above, and the eigenvalues are moved
    by no more than these bounds say.
    """
    from scipy.linalg import LinAlgError, eigh

    nodes = graph.nodes
    if nodes == 0:
        return CertifiedSpectrum(np.zeros(0), np.zeros((0, 0)))
    matrix = np.asarray(graph.adjacency.toarray(), dtype=np.float64)
    for driver in ("evd", "evr", "ev"):
        try:
            values, vectors = eigh(matrix, driver=driver)
        except LinAlgError:
            continue
        if certified_distance(matrix, values, vectors) <= CERTIFIED_ERROR:
            return CertifiedSpectrum(values[::-1].copy(), with_signs(vectors[:, ::-1]))
    raise ArithmeticError("no eigensolver came close enough to the truth")


def certified_distance(matrix: Floats, values: Floats, vectors: Floats) -> float:
    """Return a proved bound on the error of computed eigenvalues and on every residual.

    Parameters
    ----------
    matrix
        A symmetric matrix of 0 and 1.
    values, vectors
        What a solver returned for it: all eigenvalues, sorted, and its eigenvectors as columns.
    """
    rows = len(matrix)
    if not (np.isfinite(values).all() and np.isfinite(vectors).all()):
        return float("inf")
    if (values[1:] < values[:-1]).any():
        return float("inf")
    # γ: an inner product of so many terms is off by at most this times that of the sizes, in
    # whatever order it is summed up.
    unit = 2.0**-53
    rounding = (rows + 4) * unit / (1 - (rows + 4) * unit)
    length = float(np.linalg.norm(vectors)) * (1 + 1e-6)
    largest = float(np.abs(values).max())
    # The norm of A is at most its largest row sum.
    norm = float(matrix.sum(axis=1).max())
    size = float(np.sqrt(matrix.sum())) * (1 + 1e-6)
    residual = float(np.linalg.norm(matrix @ vectors - vectors * values)) * (1 + 1e-6)
    residual += rounding * (size + largest) * length
    inner = vectors.T @ vectors
    inner[np.diag_indices(rows)] -= 1
    slant = float(np.linalg.norm(inner)) * (1 + 1e-6) + rounding * (length**2 + 1)
    # A length is an inner product of its own, whose rounding is far less than that of all of them.
    stretch = float(np.abs(np.diagonal(inner)).max()) * (1 + 1e-6) + 3 * rounding
    if slant >= 1 or stretch >= 2.0**-30:
        return float("inf")
    # The last term: differences of eigenvalues are rounded, too.
    return float((residual + (norm + largest) * slant) * (1 + 1e-6) + unit * largest)


def in_steps(vector: Floats, radius: int) -> NDArray[np.int64]:
    """Return a vector of length 1 in whole steps, cut towards 0, so that it is not longer."""
    return np.trunc(vector * (INSIDE * radius)).astype(np.int64)


def lowdin(columns: Floats) -> Floats:
    """Return the orthonormal columns that are closest to given ones, scaled to length 1 each.

    Parameters
    ----------
    columns
        An array of shape (rows, k), k ≤ rows. Public. Where columns depend on one another, tiny
        fixed vectors are added until they do not.
    """
    lengths = np.linalg.norm(columns, axis=0)
    scaled = columns / np.where(lengths > 0, lengths, 1.0)
    left, sizes, right = np.linalg.svd(scaled, full_matrices=False)
    if len(sizes) and sizes[-1] < 1e-12:
        jitter = noise.generator(START).standard_normal(columns.shape)
        left, _, right = np.linalg.svd(
            scaled + 1e-6 * jitter / np.sqrt(len(columns)), full_matrices=False
        )
    return np.asarray(left @ right, dtype=np.float64)


def captured_share(vectors: Floats, others: Floats) -> float:
    """Return which part of a subspace another holds: ‖UᵀV‖²_F over the dimension of the first.

    Parameters
    ----------
    vectors, others
        Orthonormal columns.
    """
    return float(np.sum((vectors.T @ others) ** 2) / max(int(vectors.shape[1]), 1))


def cosines(vectors: Floats, others: Floats) -> Floats:
    """Return |cos| of the angle between each column and the same column of another array."""
    return np.asarray(np.abs((vectors * others).sum(axis=0)), dtype=np.float64)


# The pairs of nodes that a low-rank matrix joins most strongly, without writing it out.
#
# Public: the matrix is made of released eigenpairs.


#: Entries of the matrix that are looked at together.
ENTRIES = 1 << 22


def strongest_pairs(vectors: Floats, weights: Floats, many: int) -> NDArray[np.int64]:
    """Return the pairs of the largest entries above the diagonal of V·diag(w)·Vᵀ, in order.

    Parameters
    ----------
    vectors, weights
        A row of coordinates for each node, and the weight of each coordinate.
    many
        How many pairs; of equal entries the first ones are taken.
    """
    nodes = len(vectors)
    if many == 0 or nodes < 2:
        return np.zeros((0, 2), dtype=np.int64)
    scaled = vectors * weights
    best, places, least = np.zeros(0), np.zeros(0, dtype=np.int64), -np.inf
    row = 0
    while row < nodes - 1:
        rows = max(1, min(ENTRIES // nodes, nodes - 1 - row))
        block = scaled[row : row + rows] @ vectors[row:].T
        # On and below the diagonal there are no pairs.
        block[:, :rows][np.tril_indices(rows)] = -np.inf
        # Entries like the least of those kept come later, and are not taken.
        low, high = np.nonzero(block > least)
        found = pair_positions(np.stack([row + low, row + high], axis=1), nodes)
        best, places = _largest(
            np.concatenate([best, block[low, high]]), np.concatenate([places, found]), many
        )
        least = best.min() if len(best) == many else -np.inf
        row += rows
    return pairs_at(np.sort(places), nodes)


def _largest(
    values: Floats, places: NDArray[np.int64], many: int
) -> tuple[Floats, NDArray[np.int64]]:
    """Return the largest values and their places, in the order they stood in."""
    if len(values) <= many:
        return values, places
    least = np.partition(values, len(values) - many)[len(values) - many]
    above = values > least
    level = np.flatnonzero(values == least)[: many - int(above.sum())]
    above[level] = True
    return values[above], places[above]
