"""The hot loop of drawing sequences from a suffix model, compiled by Numba."""

from __future__ import annotations

from typing import Any

import numba

__all__ = ["generate_block"]


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def generate_block(
    children: Any,
    cumulative: Any,
    uniforms: Any,
    longest: int,
    history: Any,
    state: Any,
    symbols: Any,
    lengths: Any,
) -> int:
    """Draw symbols until the uniform numbers or the places for sequences are used up.

    Parameters
    ----------
    children
        The nodes' children, -1 where there is none.
    cumulative
        For each node the running sums of its probabilities.
    uniforms
        Uniform numbers in [0, 1), one for each symbol or end.
    longest
        A sequence of this many symbols is cut without drawing an end.
    history
        The last symbols of the sequence in progress, as a ring; at least as long as the tree deep.
    state
        How many symbols the sequence in progress has, and how many sequences are done; updated.
    symbols
        Where the drawn symbols go, one sequence after the other.
    lengths
        Where the lengths of the sequences go.

    Returns
    -------
    written
        How many symbols were written.
    """
    start = children.shape[1] - 1
    ring = history.size
    length, done = state[0], state[1]
    written, used = 0, 0
    while done < lengths.size:
        if length == longest:
            lengths[done] = length
            done += 1
            length = 0
            continue
        if used == uniforms.size:
            break
        node = 0
        for back in range(length + 1):
            symbol = start if back == length else history[(length - 1 - back) % ring]
            child = children[node, symbol]
            if child < 0:
                break
            node = child
        drawn = 0
        while drawn < start and cumulative[node, drawn] <= uniforms[used]:
            drawn += 1
        used += 1
        if drawn == start:
            lengths[done] = length
            done += 1
            length = 0
        else:
            history[length % ring] = drawn
            symbols[written] = drawn
            written += 1
            length += 1
    state[0], state[1] = length, done
    return written
