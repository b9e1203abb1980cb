"""How far a release of sequences is from the private sequences it was made of.

NOT PRIVATE. Every figure here is computed from the private data without noise: it is for the
custodian's eyes, costs no budget because it may not leave the house, and is never part of a
release, a certificate or a report.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato import noise
from sfumato.data.alphabet import Symbol
from sfumato.data.sequences import Sequences, SequencesPublic
from sfumato.engines.counts import SequenceCounts
from sfumato.engines.memory_sequences import MemorySequences
from sfumato.evaluate.table import total_variation
from sfumato.evaluate.warning import WARNING
from sfumato.sections import Text
from sfumato.sequence.frequent_strings import FrequentStrings

__all__ = [
    "WARNING",
    "Frequent",
    "SequenceEvaluation",
    "Truncate",
    "evaluate_sequences",
    "length_distance",
    "precision",
    "strings_of",
    "top_strings",
]

String = tuple[Symbol, ...]


@dataclass(frozen=True)
class Frequent:
    """A string and how often it occurs, counting every place. Not private.

    Parameters
    ----------
    string
        Its symbols.
    count
        How often it occurs; several times in one sequence counts as often.
    """

    string: String
    count: int


def _top(engine: SequenceCounts, k: int) -> list[tuple[tuple[int, ...], int]]:
    """Return the k most frequent strings of any length, ties in the order of their codes.

    A string is never more frequent than what it extends, so the best string that is known and not
    yet given out is the best of all that are left.
    """
    suffixes = engine.suffixes()
    found: list[tuple[tuple[int, ...], int]] = []
    heap: list[tuple[int, tuple[int, ...]]]
    heap = [(-int(n), (x,)) for x, n in enumerate(suffixes.followers(())[:-1]) if n]
    heapify(heap)
    while heap and len(found) < k:
        count, string = heappop(heap)
        found.append((string, -count))
        for symbol, times in enumerate(suffixes.followers(string)[:-1]):
            if times:
                heappush(heap, (-int(times), (*string, symbol)))
    return found


def _words(public: SequencesPublic, engine: SequenceCounts, k: int) -> list[Frequent]:
    if k < 1:
        raise ValueError(f"k must be at least 1; got {k}")
    return [Frequent(public.labels(string), count) for string, count in _top(engine, k)]


def top_strings(data: Sequences, k: int) -> list[Frequent]:
    """Return the k most frequent strings of any length, exactly. Not private.

    Parameters
    ----------
    data
        The private sequences.
    k
        How many; fewer are returned where fewer occur. Ties are in the order of the alphabet.

    Notes
    -----
    Privacy: none. The result is for the custodian's eyes and must not be published.
    """
    return _words(data.public, data.counts, k)


class Truncate:
    """Exact answers from sequences that are cut to a length: what cutting alone costs. Not private.

    Parameters
    ----------
    data
        The private sequences.
    longest
        How many symbols of each are kept, the end counted as one; one that is cut has no end.

    Notes
    -----
    Privacy: none. It is the reference for methods that cut sequences, never a release.
    """

    def __init__(self, data: Sequences, longest: int) -> None:
        self.public = data.public
        self._engine = data.counts.cut(longest)

    def __repr__(self) -> str:
        return f"Truncate({self.public.symbols} symbols, not private)"

    def top(self, k: int) -> list[Frequent]:
        """Return the k most frequent strings of the cut sequences."""
        return _words(self.public, self._engine, k)

    def lengths(self) -> NDArray[np.int64]:
        """Return how many of the cut sequences have each number of symbols, from 0."""
        return _length_counts(self._engine)


def _length_counts(engine: MemorySequences) -> NDArray[np.int64]:
    """Return how many sequences have each number of symbols, from 0; ends are not counted."""
    starts = engine.starts
    if not engine.rows:
        return np.zeros(1, dtype=np.int64)
    closed = engine.text[starts[1:] - 1] == engine.alphabet
    return np.bincount(np.diff(starts) - 1 - closed).astype(np.int64)


def _count_lengths(sequences: Any) -> NDArray[np.int64]:
    """Return how many sequences of any kind have each number of symbols, from 0."""
    if isinstance(sequences, Sequences):
        return _length_counts(sequences.counts)
    if isinstance(sequences, Truncate):
        return sequences.lengths()
    lengths = np.fromiter((len(sequence) for sequence in sequences), dtype=np.int64)
    return np.bincount(lengths, minlength=1).astype(np.int64)


def length_distance(data: Sequences, other: Any) -> float:
    """Return the total variation distance of two distributions of lengths. Not private.

    Parameters
    ----------
    data
        The private sequences.
    other
        What they are compared with: synthetic sequences, as lists of symbols or texts; other
        private ones; or the same ones cut.

    Notes
    -----
    Privacy: none. The result is for the custodian's eyes and must not be published.
    """
    sides = [_count_lengths(data), _count_lengths(other)]
    most = max(map(len, sides))
    first, second = (np.pad(side, (0, most - len(side))) for side in sides)
    return total_variation(first, second)


def precision(truth: Iterable[Any], answer: Iterable[Any]) -> float:
    """Return which share of the true top strings is among those answered.

    Parameters
    ----------
    truth
        The strings that are most frequent in truth: `Frequent`, or tuples of symbols.
    answer
        As many strings of a release, tuples of symbols or texts of one-character symbols.
    """
    wanted, given = (
        {tuple(item.string) if hasattr(item, "string") else tuple(item) for item in side}
        for side in (truth, answer)
    )
    return len(wanted & given) / len(wanted) if wanted else 1.0


class Model(Protocol):
    """What is compared: something that names its top strings and draws sequences."""

    @property
    def public(self) -> SequencesPublic:
        """What is public about it."""

    def top(self, k: int) -> Any:
        """Return the k most frequent strings, each alone or with its estimate."""

    def sample(self, rows: int | None = None, *, generator: np.random.Generator) -> Any:
        """Return synthetic sequences."""


@dataclass(frozen=True)
class SequenceEvaluation:
    """A comparison of a release with the private sequences. Not private.

    Parameters
    ----------
    precisions
        For each k, which share of the true top k strings is among the top k of the release.
    length_distance
        The total variation distance of the lengths of sampled sequences from the true ones;
        `None` for a release from which none can be drawn.
    """

    precisions: dict[int, float]
    length_distance: float | None

    def to_json(self) -> dict[str, Any]:
        """Return a plain document, which says that it is not private."""
        return {
            "private": False,
            "warning": WARNING,
            "precision_of_top": {str(k): value for k, value in self.precisions.items()},
            "length_distance": self.length_distance,
        }

    def blocks(self) -> list[Text]:
        """Return the same for people."""
        lines = [
            f"Of the {number:,} most frequent strings, the release lists {100 * share:.1f} %."
            for number, share in self.precisions.items()
        ]
        if self.length_distance is not None:
            lines.append(
                f"Lengths of sequences: {100 * self.length_distance:.2f} % of the sequences would "
                "have to change their length to match the true distribution."
            )
        return [Text(line) for line in lines]


def evaluate_sequences(
    data: Sequences,
    release: Model | FrequentStrings,
    *,
    top: Sequence[int] = (50, 100, 200),
    rows: int | None = None,
    generator: np.random.Generator | None = None,
) -> SequenceEvaluation:
    """Compare a release with the private sequences, which are not cut. Not private.

    Parameters
    ----------
    data
        The private sequences, with their contributions bounded as for the release.
    release
        The release of them: a model, or a list of strings, from which nothing can be drawn.
    top
        For which k the top k strings are compared.
    rows
        How many sequences are sampled for their lengths; by default as many as there are.
    generator
        Draws them; by default always the same ones, so that two releases can be compared.

    Notes
    -----
    Privacy: none. The result is for the custodian's eyes and must not be published.
    """
    if data.public.alphabet != release.public.alphabet:
        raise ValueError(
            "the release has another alphabet; compare it with the sequences that it was made from"
        )
    most = max(top, default=1)
    listed = release.top() if isinstance(release, FrequentStrings) else release.top(most)
    truth, answer = top_strings(data, most), strings_of(listed)
    precisions = {k: precision(truth[:k], answer[:k]) for k in top}
    if isinstance(release, FrequentStrings):
        return SequenceEvaluation(precisions, None)
    generator = noise.generator(0) if generator is None else generator
    sampled = release.sample(data.counts.rows if rows is None else rows, generator=generator)
    return SequenceEvaluation(precisions, length_distance(data, sampled))


def strings_of(answers: Iterable[Any]) -> list[String]:
    """Return the strings of a release's answers, without their estimates where they have some."""
    return [tuple(item[0]) if isinstance(item[0], tuple) else tuple(item) for item in answers]
