"""Outputs as numbers: whatever a mechanism says becomes a row of features.

Numbers stay numbers, words and shapes become one-hot columns. Nothing here decides whether a
mechanism is private; it only gives a classifier something to look at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.privacy.transcript import Transcript

Floats = NDArray[np.float64]

#: Outputs longer than this are cut, with their length, sum and extremes kept as features.
MOST_NUMBERS = 400
#: The most frequent words become columns of their own.
MOST_WORDS = 40


def flatten(output: Any) -> tuple[list[float], list[str]]:
    """Return the numbers and the words of an output, in a fixed order."""
    numbers: list[float] = []
    words: list[str] = []
    _walk(output, numbers, words)
    if len(numbers) > MOST_NUMBERS:
        array = np.array(numbers)
        tail = [float(array.size), array.sum(), array.min(), array.max()]
        numbers = [*numbers[:MOST_NUMBERS], *tail]
    words.append(f"{len(numbers)} numbers")
    return numbers, words


def _walk(output: Any, numbers: list[float], words: list[str]) -> None:
    if isinstance(output, Transcript):
        for entry in output:
            words.append(f"{entry.label} {entry.signature} {len(entry.outputs)}")
            _walk(entry.outputs, numbers, words)
        words.extend(str(cut) for cut in output.slices)
    elif isinstance(output, bool | np.bool_ | int | float | np.integer | np.floating | Fraction):
        numbers.append(_float(output))
    elif isinstance(output, np.ndarray):
        words.append(f"shape {output.shape}")
        numbers.extend(_float(item) for item in output.ravel())
    elif isinstance(output, dict):
        for key in sorted(output, key=str):
            words.append(f"key {key}")
            _walk(output[key], numbers, words)
    elif isinstance(output, list | tuple):
        words.append(f"length {len(output)}")
        for item in output:
            _walk(item, numbers, words)
    elif hasattr(output, "edges") and hasattr(output, "nodes"):
        # A graph of NetworkX: its nodes and its edges, in a fixed order.
        _walk(sorted(map(str, output.nodes)), numbers, words)
        _walk(sorted(str(tuple(sorted(map(str, edge)))) for edge in output.edges), numbers, words)
    elif hasattr(output, "columns") and hasattr(output, "shape"):
        _walk({str(name): list(output[name]) for name in output.columns}, numbers, words)
    elif output is None or isinstance(output, str):
        words.append(f"says {output}")
    else:
        raise TypeError(
            "an audited mechanism may say numbers, words, arrays, frames, graphs, and lists and "
            "dictionaries of them; "
            f"got {type(output).__name__}"
        )


def _float(value: Any) -> float:
    """Return a number as a finite float."""
    return float(np.nan_to_num(float(value), nan=0.0, posinf=1e300, neginf=-1e300))


class Encoder:
    """Turns outputs into rows of one width, learned from a first set of outputs.

    Parameters
    ----------
    outputs
        The flattened outputs from which the columns are learned.
    """

    def __init__(self, outputs: Sequence[tuple[list[float], list[str]]]) -> None:
        self.width = max(len(numbers) for numbers, _ in outputs)
        counts = Counter(word for _, words in outputs for word in set(words))
        # A word that everybody says tells nothing.
        telling = [word for word, count in counts.most_common() if count < len(outputs)]
        self.words = sorted(telling[:MOST_WORDS])

    def rows(self, outputs: Sequence[tuple[list[float], list[str]]]) -> Floats:
        """Return one row an output; an unknown word falls into a column of its own."""
        known = {word: self.width + number for number, word in enumerate(self.words)}
        table = np.zeros((len(outputs), self.width + len(self.words) + 1))
        for row, (numbers, words) in enumerate(outputs):
            table[row, : min(len(numbers), self.width)] = numbers[: self.width]
            for word in set(words):
                if word in known:
                    table[row, known[word]] = 1.0
            table[row, -1] = float(len(numbers))
        return table
