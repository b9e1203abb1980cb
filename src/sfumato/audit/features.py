"""Outputs as numbers: whatever a mechanism says becomes a row of features.

Every number and every word keeps the place where it stood, so that an arrangement tells as much as
a content. Nothing here decides whether a mechanism is private; it only gives a classifier something
to look at. What it cannot see, an audit cannot show: see docs/audit.md.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.privacy.transcript import Transcript

Floats = NDArray[np.float64]

#: The most telling columns are kept, of numbers and of words.
MOST_NUMBERS = 400
MOST_WORDS = 60
#: Whole numbers beyond this lose their last digits as floats; these are told apart.
EXACT = 2**53
LOW_BITS = 2**20
LARGEST = 1e300


@dataclass
class Flat:
    """An output taken apart: numbers by the place where they stood, and words with their counts."""

    numbers: dict[str, Floats] = field(default_factory=dict)
    words: Counter[str] = field(default_factory=Counter)

    def say(self, place: str, word: str) -> None:
        """Write down a word, at its place and anywhere."""
        self.words[f"{place}: {word}"] += 1
        self.words[word] += 1


def flatten(output: Any) -> Flat:
    """Return the numbers and the words of an output, each with its place."""
    flat = Flat()
    _walk("", output, flat)
    content = hashlib.sha256(repr(sorted(flat.words.items())).encode())
    for place in sorted(flat.numbers):
        content.update(place.encode())
        content.update(flat.numbers[place].tobytes())
    # Outputs that come again and again are told apart as wholes.
    flat.words[f"whole {content.hexdigest()[:16]}"] += 1
    return flat


def _walk(place: str, output: Any, flat: Flat) -> None:
    if isinstance(output, Transcript):
        for entry in output:
            flat.say(place, f"{entry.label} {entry.path} {entry.signature}")
            _walk(f"{place}/{entry.label}", list(entry.outputs), flat)
        flat.say(place, f"slices {output.slices}")
    elif isinstance(output, np.ndarray):
        flat.say(place, f"array of {output.dtype.kind}{output.shape}")
        if output.dtype.kind in "US" or any(isinstance(item, str) for item in output.flat[:1]):
            _walk(place, output.ravel().tolist(), flat)
        else:
            _numbers(place, output.ravel(), flat)
    elif isinstance(output, bool | np.bool_ | int | float | np.integer | np.floating | Fraction):
        flat.say(place, f"a {type(output).__name__}")
        _numbers(place, np.array([output], dtype=object), flat)
    elif isinstance(output, dict):
        flat.say(place, f"keys {[repr(key) for key in output]}")
        for key in output:
            _walk(f"{place}/{key!r}", output[key], flat)
    elif isinstance(output, list | tuple):
        flat.say(place, f"{type(output).__name__} of {len(output)}")
        for number, item in enumerate(output):
            _walk(f"{place}/{number}", item, flat)
    elif hasattr(output, "edges") and hasattr(output, "nodes"):
        # A graph of NetworkX: its nodes and its edges, in a fixed order.
        _walk(f"{place}/nodes", sorted(map(str, output.nodes)), flat)
        edges = sorted(tuple(sorted(map(str, edge))) for edge in output.edges)
        flat.numbers[f"{place}/number of edges"] = np.array([float(len(edges))])
        for edge in edges:
            flat.words[f"edge {edge}"] += 1
    elif hasattr(output, "columns") and hasattr(output, "shape"):
        if hasattr(output, "index"):
            flat.say(place, f"index {list(output.index)[:50]}")
        _walk(place, {str(name): list(output[name]) for name in output.columns}, flat)
    elif output is None or isinstance(output, str):
        flat.say(place, f"says {output!r}")
    else:
        raise TypeError(
            "an audited mechanism must return numbers, texts, arrays, frames, graphs, or lists "
            f"and dictionaries of them; got {type(output).__name__}"
        )


def _numbers(place: str, values: NDArray[Any], flat: Flat) -> None:
    """Write down numbers; what a float cannot hold is told apart besides."""
    if values.dtype.kind == "O":
        floats = np.array([_float(value) for value in values])
        if any(_inexact(value) for value in values):
            low = [_last_digits(value) if _inexact(value) else 0.0 for value in values]
            flat.numbers[f"{place} last digits"] = np.array(low)
    else:
        floats = values.astype(np.float64)
        if values.dtype.kind in "iu" and values.size and np.abs(floats).max() > EXACT:
            flat.numbers[f"{place} last digits"] = (values % LOW_BITS).astype(np.float64)
    strange = ~np.isfinite(floats) | ((floats == 0) & np.signbit(floats))
    for number in np.flatnonzero(strange):
        flat.say(f"{place}[{number}]", repr(float(floats[number])))
    flat.numbers[place] = np.clip(np.nan_to_num(floats), -LARGEST, LARGEST)


def _inexact(value: Any) -> bool:
    """Tell whether a float may lose digits of a number."""
    return isinstance(value, Fraction) or (isinstance(value, int) and abs(value) > EXACT)


def _last_digits(value: int | Fraction) -> float:
    """Return the last digits of a number before the point, and the first ones after it."""
    return float(int(Fraction(value) * LOW_BITS) % LOW_BITS**2)


def _float(value: Any) -> float:
    """Return a number as a float, the largest where it is too large."""
    try:
        return float(value)
    except OverflowError:
        return LARGEST if value > 0 else -LARGEST


class Encoder:
    """Turns outputs into rows of one width, with the columns that tell two sets apart best.

    Parameters
    ----------
    here, there
        Outputs on either data set from which the columns are chosen; others are not looked at.
    """

    def __init__(self, here: Sequence[Flat], there: Sequence[Flat]) -> None:
        sizes: dict[str, int] = {}
        for flat in (*here, *there):
            for place, numbers in flat.numbers.items():
                sizes[place] = max(sizes.get(place, 0), numbers.size)
        self._sizes = sizes
        self._kept: NDArray[np.int64] | None = None
        gaps = column_gaps(self._wide(here), self._wide(there))
        self._kept = np.sort(np.argsort(-gaps, kind="stable")[:MOST_NUMBERS])
        self.words = self._telling(here, there)

    @staticmethod
    def _telling(here: Sequence[Flat], there: Sequence[Flat]) -> list[str]:
        """Return the words whose counts differ most between the two sets."""
        counts: list[Counter[str]] = [Counter(), Counter()]
        for total, flats in zip(counts, (here, there), strict=True):
            for flat in flats:
                total.update(flat.words)
        gap = {
            word: abs(counts[0][word] / len(here) - counts[1][word] / len(there))
            for word in counts[0].keys() | counts[1].keys()
        }
        ranked = sorted(gap, key=lambda word: (-gap[word], word))
        return [word for word in ranked[:MOST_WORDS] if gap[word] > 0]

    def _wide(self, flats: Sequence[Flat]) -> Floats:
        """Return all numbers of outputs, place by place, cut to the columns that are kept."""
        table = np.zeros((len(flats), sum(self._sizes.values())))
        start = 0
        for place, size in self._sizes.items():
            for row, flat in enumerate(flats):
                numbers = flat.numbers.get(place)
                if numbers is not None:
                    table[row, start : start + min(size, numbers.size)] = numbers[:size]
            start += size
        return table if self._kept is None else table[:, self._kept]

    def rows(self, flats: Sequence[Flat]) -> Floats:
        """Return one row an output: numbers, counts of telling words, and of unknown ones."""
        words = np.zeros((len(flats), len(self.words) + 1))
        known = {word: number for number, word in enumerate(self.words)}
        for row, flat in enumerate(flats):
            for word, count in flat.words.items():
                words[row, known.get(word, len(self.words))] += count
        return np.concatenate([self._wide(flats), words], axis=1)


def column_gaps(here: Floats, there: Floats) -> Floats:
    """Return how far apart the laws of each column are: the largest gap of their distributions."""
    gaps = np.zeros(here.shape[1])
    for column in range(here.shape[1]):
        both = np.concatenate([here[:, column], there[:, column]])
        if both.min() == both.max():
            continue
        points = np.unique(np.quantile(both, np.linspace(0, 1, 21)))
        below = [
            np.searchsorted(np.sort(part[:, column]), points, side="right") / len(part)
            for part in (here, there)
        ]
        gaps[column] = np.abs(below[0] - below[1]).max()
    return gaps
