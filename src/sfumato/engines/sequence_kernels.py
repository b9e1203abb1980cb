"""The hot loops of counting in sequences, compiled by Numba.

Imported only when something is counted. All loops run over occurrences: places in the text of all
sequences, each with the number of the string of the frontier that it belongs to. They never
compare symbols in any order but that of their codes, so nothing depends on the order of sequences.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

__all__ = ["cut_text", "places", "sort_range", "split_back", "split_on", "tally", "tally_next"]


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def places(text: Any, end: int) -> Any:
    """Return every place of a symbol or an end; starts are left out."""
    count = 0
    for p in range(text.size):
        if text[p] <= end:
            count += 1
    found = np.empty(count, dtype=np.uint32)
    count = 0
    for p in range(text.size):
        if text[p] <= end:
            found[count] = p
            count += 1
    return found


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def cut_text(text: Any, starts: Any, shorter: Any) -> Any:
    """Return a text of which each sequence keeps so much that it fits its place in the new one.

    Parameters
    ----------
    text, starts
        The text, and where each sequence starts in it; lastly where the text ends.
    shorter
        Where each sequence starts in the new text; lastly where that one ends.
    """
    kept = np.empty(shorter[shorter.size - 1], dtype=text.dtype)
    for row in range(starts.size - 1):
        source = starts[row]
        for target in range(shorter[row], shorter[row + 1]):
            kept[target] = text[source]
            source += 1
    return kept


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def tally(nodes: Any, counts: Any) -> None:
    """Add to each node's count its occurrences."""
    for i in range(nodes.size):
        counts[nodes[i]] += 1


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def tally_next(text: Any, positions: Any, nodes: Any, counts: Any) -> None:
    """Add to each node's histogram the symbol at each of its occurrences."""
    for i in range(nodes.size):
        counts[nodes[i], text[positions[i]]] += 1


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def split_back(text: Any, positions: Any, nodes: Any, first: Any, depth: int, end: int) -> int:
    """Move every occurrence to the child its next symbol to the left leads to, in place.

    Parameters
    ----------
    text
        All sequences.
    positions, nodes
        Of each occurrence, where the symbol behind it is, and its node; overwritten from the
        front with the occurrences that are left.
    first
        The number of each node's first child; -1 for a node that is not split.
    depth
        How many symbols the contexts have so far.
    end
        The symbol of the end; a start is the child of this number.

    Returns
    -------
    count
        How many occurrences are left.
    """
    count = 0
    for i in range(nodes.size):
        child = first[nodes[i]]
        if child >= 0:
            before = min(np.int64(text[np.int64(positions[i]) - depth - 1]), end)
            nodes[count] = child + before
            positions[count] = positions[i]
            count += 1
    return count


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def split_on(text: Any, positions: Any, nodes: Any, first: Any, end: int) -> int:
    """Move every occurrence to the child its next symbol to the right leads to, in place.

    Parameters are those of `split_back`. An occurrence at the open end of a cut sequence has no
    next symbol and is left out.
    """
    count = 0
    for i in range(nodes.size):
        child = first[nodes[i]]
        place = np.int64(positions[i])
        if child >= 0 and place < text.size and text[place] <= end:
            nodes[count] = child + np.int64(text[place])
            positions[count] = place + 1
            count += 1
    return count


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _symbol_at(text: Any, place: Any, end: int) -> Any:
    """Return the symbol or end at a place, and one more than the end where there is none.

    Behind an open end comes the start of the next sequence, or nothing.
    """
    return np.int64(text[place]) if place < text.size else np.int64(end + 1)


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def sort_range(text: Any, positions: Any, depth: int, end: int) -> Any:
    """Sort occurrences by the symbol `depth` places on, those without one last, in place.

    Returns
    -------
    bounds
        Where each symbol's occurrences begin, then those of the end, then those of none, and
        lastly how many there are.
    """
    bounds = np.zeros(end + 3, dtype=np.int64)
    for i in range(positions.size):
        bounds[_symbol_at(text, np.int64(positions[i]) + depth, end) + 1] += 1
    for symbol in range(end + 2):
        bounds[symbol + 1] += bounds[symbol]
    free = bounds.copy()
    before = positions.copy()
    for i in range(before.size):
        symbol = _symbol_at(text, np.int64(before[i]) + depth, end)
        positions[free[symbol]] = before[i]
        free[symbol] += 1
    return bounds
