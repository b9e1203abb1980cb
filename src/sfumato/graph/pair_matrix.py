"""The matrix that a noisy graph stands for, as a product with vectors and never written out.

Public: it is made of what randomised response said.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from sfumato.graph.eigen import Floats, SymmetricOperator
from sfumato.mechanisms.pair_response import RandomizedPairs, pairs_at

__all__ = ["centre_response"]

#: Bytes of a row that are multiplied at a time: their tables stay in the nearest cache.
BLOCK = 16


def centre_response(said: RandomizedPairs, output: NDArray[np.uint8]) -> SymmetricOperator:
    """Return A′ − p(J − I) for the noisy graph A′ that was said, whose mean is (1 − 2p)·A.

    Parameters
    ----------
    said
        The primitive, which knows p.
    output
        What it said.
    """
    said.require_output(output)
    product = _rows_product(said, output) if said.gaps else _bits_product(said, output)
    flip = said.flip

    def apply(vector: Floats) -> Floats:
        dense = np.ascontiguousarray(vector, dtype=np.float64)
        return np.asarray(product(dense) - flip * (dense.sum() - dense), dtype=np.float64)

    return SymmetricOperator(said.nodes, apply)


def _rows_product(said: RandomizedPairs, output: NDArray[np.uint8]) -> Any:
    """Return the product with the noisy graph, held as rows of neighbours."""
    from sfumato.engines.graph_kernels import adjacency_rows

    low, high = pairs_at(said.positions(output), said.nodes).T
    starts, neighbours = adjacency_rows(low, high, said.nodes)
    return lambda vector: row_sums(starts, neighbours, vector)


def _bits_product(said: RandomizedPairs, output: NDArray[np.uint8]) -> Any:
    """Return the product with the noisy graph, held as one bit for each ordered pair."""
    bits = square_of(output, said.nodes, -(-said.nodes // (8 * BLOCK)))
    return lambda vector: bit_product(bits, vector)


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def row_sums(starts: Any, neighbours: Any, vector: Any) -> Any:
    """Return for each node the sum of a vector over its neighbours."""
    sums = np.zeros(len(starts) - 1)
    for node in range(len(sums)):
        total = 0.0
        for place in range(starts[node], starts[node + 1]):
            total += vector[neighbours[place]]
        sums[node] = total
    return sums


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def square_of(packed: Any, nodes: int, blocks: int) -> Any:
    """Return the symmetric bit matrix of the pairs in a line, a few bytes of every row together."""
    square = np.zeros((blocks, nodes, BLOCK), dtype=np.uint8)
    position = 0
    for low in range(nodes):
        for high in range(low + 1, nodes):
            if packed[position >> 3] >> (position & 7) & 1:
                square[high >> 7, low, (high >> 3) & 15] |= np.uint8(1 << (high & 7))
                square[low >> 7, high, (low >> 3) & 15] |= np.uint8(1 << (low & 7))
            position += 1
    return square


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def bit_product(square: Any, vector: Any) -> Any:
    """Return the product of a bit matrix with a vector.

    For each byte of a row the sum of the entries that its eight bits choose is looked up.
    """
    blocks, nodes, width = square.shape
    product = np.zeros(nodes)
    tables = np.zeros((width, 256))
    for block in range(blocks):
        for byte in range(width):
            for bit in range(8):
                place = (block * width + byte) * 8 + bit
                entry = vector[place] if place < nodes else 0.0
                # The sums with this bit are those without it and the entry.
                for lower in range(1 << bit):
                    tables[byte, lower | 1 << bit] = tables[byte, lower] + entry
        for node in range(nodes):
            total = 0.0
            for byte in range(width):
                total += tables[byte, square[block, node, byte]]
            product[node] += total
    return product
