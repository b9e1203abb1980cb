"""The most frequent strings of a model, exactly, by best-first search.

A string is at most as frequent as its beginning, so that the most frequent string that was not yet
given is always in the heap. For strings of one length the heap goes by how frequent the best
extension to that length is, which a dynamic programme over the contexts tells. It looks at the
public model only.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.sequence.suffix_model import SuffixModel

__all__ = ["MOST_STRINGS", "most_frequent"]

#: The most strings that are looked for.
MOST_STRINGS = 100_000
#: The most symbols that all strings of an answer have together.
MOST_SYMBOLS = 20_000_000
#: The most steps of a search for strings of one length: strings × symbols × length², and those of
#: its dynamic programme: contexts × symbols × length.
MOST_STEPS = 2 * 10**9

String = tuple[int, ...]
Entry = TypeVar("Entry", bound=tuple[Any, ...])


def most_frequent(
    model: SuffixModel, count: int, length: int | None = None
) -> list[tuple[String, float]]:
    """Return the most frequent strings of symbols and their counts, most frequent first.

    Parameters
    ----------
    model
        The model; an extension of a string is never more frequent than the string.
    count
        How many strings, at most 100,000. Strings that never occur are left out, so that there may
        be fewer.
    length
        If given, only strings of that many symbols.
    """
    if not 1 <= count <= MOST_STRINGS:
        raise ValueError(
            f"the number of strings must be at least 1 and at most {MOST_STRINGS:,}; got {count:,}"
        )
    if length is None:
        return list(_strings(model, count))
    if length < 1:
        raise ValueError(f"a string has at least one symbol; got length = {length}")
    found = list(_strings_of(model, count, length))
    # The search goes by products in another order, which may differ in the last digit.
    return sorted(found, key=lambda item: (-item[1], item[0]))


def _strings(model: SuffixModel, count: int) -> Iterator[tuple[String, float]]:
    """Yield strings from the most frequent on; equally frequent ones in the order of symbols."""
    heap: list[tuple[float, String]] = [
        (-float(model.symbols[symbol]), (symbol,)) for symbol in range(model.alphabet)
    ]
    heapq.heapify(heap)
    written = 0
    for given in range(count):
        if not heap or heap[0][0] >= 0:
            return
        negated, string = heapq.heappop(heap)
        yield string, -negated
        written += len(string)
        if written > MOST_SYMBOLS:
            raise _too_much("strings as long as these")
        chances = model.after(string)[:-1]
        for symbol in np.flatnonzero(chances > 0).tolist():
            heapq.heappush(heap, (negated * float(chances[symbol]), (*string, symbol)))
        heap = _trimmed(heap, count - given)


def _strings_of(model: SuffixModel, count: int, length: int) -> Iterator[tuple[String, float]]:
    """Yield strings of one length, the most frequent first but for rounding."""
    asked = f"strings of {length:,} symbols"
    if count * length * max(length, 64) * model.alphabet > MOST_STEPS:
        raise _too_much(asked)
    nodes, steps = _automaton(model)
    if length * steps.size > MOST_STEPS or length * len(steps) > MOST_SYMBOLS:
        raise _too_much(asked)
    chances = model.probabilities[nodes, :-1]
    best = _best_extensions(chances, steps, length)
    # Entries: less the count of the best extension, the string, its state, its own count.
    heap: list[tuple[float, String, int, float]] = []
    for symbol in range(model.alphabet):
        state, own = int(steps[0, symbol]), float(model.symbols[symbol])
        heap.append((-own * float(best[length - 1, state]), (symbol,), state, own))
    heapq.heapify(heap)
    given = 0
    while heap and heap[0][0] < 0 and given < count:
        negated, string, state, own = heapq.heappop(heap)
        left = length - len(string)
        if not left:
            given += 1
            yield string, own
            continue
        # The ratio is exactly 1 for the best extension, so that ties are followed to their end.
        ratios = chances[state] * best[left - 1, steps[state]] / best[left, state]
        for symbol in np.flatnonzero(ratios > 0).tolist():
            longer, after = (*string, symbol), int(steps[state, symbol])
            bound = negated * float(ratios[symbol])
            heapq.heappush(heap, (bound, longer, after, own * float(chances[state, symbol])))
        heap = _trimmed(heap, count - given)


def _trimmed(heap: list[Entry], wanted: int) -> list[Entry]:
    """Return the heap without what can no longer be given: every entry stands for a string."""
    # A sorted list is a heap.
    return heap if len(heap) <= 4 * wanted + 1000 else heapq.nsmallest(wanted, heap)


def _too_much(asked: str) -> ValueError:
    return ValueError(f"{asked} are too many to search for; ask for fewer or shorter strings")


def _automaton(model: SuffixModel) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return for each state the node of its context, and the state after each symbol.

    A state is a part of a context; the one of a string is its longest suffix that is a state, and
    the longest context that the string ends with is a suffix of that. State 0 is empty.
    """
    parts: set[String] = {()} | {
        context[:end]
        for context in model.contexts()
        if model.alphabet not in context
        for end in range(1, len(context) + 1)
    }
    ordered = sorted(parts, key=lambda part: (len(part), part))
    number = {part: place for place, part in enumerate(ordered)}
    longer: list[list[int]] = [[] for _ in ordered]
    for place, part in enumerate(ordered[1:], start=1):
        longer[number[part[:-1]]].append(place)
    steps = np.zeros((len(ordered), model.alphabet), dtype=np.int64)
    for place, part in enumerate(ordered):
        # Without its first symbol it is a part, too, and was settled before.
        if part:
            steps[place] = steps[number[part[1:]]]
        for successor in longer[place]:
            steps[place, ordered[successor][-1]] = successor
    return np.array([model.node(part) for part in ordered], dtype=np.int64), steps


def _best_extensions(
    chances: NDArray[np.float64], steps: NDArray[np.int64], length: int
) -> NDArray[np.float64]:
    """Return the greatest probability of extensions by 0 to length - 1 symbols, for each state."""
    best = np.ones((length, len(steps)))
    for more in range(1, length):
        best[more] = (chances * best[more - 1, steps]).max(axis=1)
    return best
