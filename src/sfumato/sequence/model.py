"""The release of a model of sequences: frequencies, frequent strings, samples, predictions."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.data.alphabet import Symbol
from sfumato.data.frames import ToFrame
from sfumato.data.sequences import SequencesPublic
from sfumato.privacy.arguments import choose_generator
from sfumato.privacy.release import Release
from sfumato.sections import Section
from sfumato.sequence.files import DECIMALS, csv, describe_used, string_text
from sfumato.sequence.generation import LONGER, generate
from sfumato.sequence.suffix_model import SuffixModel

if TYPE_CHECKING:
    import polars as pl

__all__ = ["SequenceModel"]

#: How many strings the published list has.
PUBLISHED = 100
#: More sequences than this are not drawn unless that many are asked for.
MOST_ROWS = 10**7
#: The most symbols of a drawn sequence where the length limit is large.
LARGEST_SAMPLED = 10_000


class SequenceModel(Release, ToFrame):
    """A Markov model of sequences, of contexts of different lengths.

    Parameters
    ----------
    public
        What is public about the sequences.
    model
        The model.
    limit
        The length limit: how many symbols of a sequence were used at most.
    deviation
        The standard deviation of the noise on one count.
    origin
        What it was made from, in words.
    """

    kind = "sequence model"

    def __init__(
        self,
        public: SequencesPublic,
        model: SuffixModel,
        *,
        limit: int,
        deviation: float,
        origin: str,
    ) -> None:
        self.public = public
        self.model = model
        self.limit = limit
        self.deviation = deviation
        self.origin = origin

    @property
    def total(self) -> float:
        """The number of sequences, as far as the release tells."""
        return float(self.model.sequences if self.public.rows is None else self.public.rows)

    def frequency(self, string: Iterable[Symbol]) -> float:
        """Return about how often a string of symbols occurs, counting every place.

        Parameters
        ----------
        string
            A list of symbols, or a text where every symbol is one character.
        """
        return self.model.count(self.public.codes(string))

    def top(self, k: int, length: int | None = None) -> list[tuple[tuple[Symbol, ...], float]]:
        """Return the most frequent strings and their counts, exactly those of the model.

        Parameters
        ----------
        k
            How many, at most 100,000; there may be fewer that occur at all.
        length
            If given, only strings of that many symbols.
        """
        found = most_frequent(self.model, k, length)
        return [(self.public.labels(string), count) for string, count in found]

    def predict(self, prefix: Iterable[Symbol]) -> dict[Symbol | None, float]:
        """Return how likely each symbol comes next; `None` stands for the end of the sequence.

        Parameters
        ----------
        prefix
            The sequence from its start, as a list of symbols, or a text where every symbol is one
            character; it may be empty.
        """
        context = (self.public.symbols, *self.public.codes(prefix))
        chances = self.model.after(context).tolist()
        return dict(zip([*self.public.alphabet, None], chances, strict=True))

    def sample(
        self,
        rows: int | None = None,
        *,
        seed: int | None = None,
        generator: np.random.Generator | None = None,
        longest: int | None = None,
    ) -> list[list[Symbol]]:
        """Return synthetic sequences.

        Parameters
        ----------
        rows
            How many; by default as many as the release counts.
        seed
            A whole number, for sequences that can be drawn again; fresh otherwise.
        generator
            A NumPy generator in place of a seed.
        longest
            A sequence of this many symbols is cut; by default ten times the length limit, and
            10,000 at most unless the limit is more.

        Notes
        -----
        Privacy: post-processing of the release; it costs nothing, however often it is done.
        """
        if rows is None:
            rows = round(self.total)
            if rows > MOST_ROWS:
                raise ValueError(
                    f"the release estimates {rows:,} sequences; pass rows=… to choose how many to "
                    "draw"
                )
        if rows < 0:
            raise ValueError(f"rows must not be negative; got {rows}")
        longest = self._longest() if longest is None else longest
        if longest < 0:
            raise ValueError(f"longest must not be negative; got {longest}")
        generator = choose_generator(seed, generator)
        symbols, lengths = generate(self.model, rows, longest, generator)
        labels = np.array([*self.public.alphabet, None], dtype=object)[symbols].tolist()
        edges = [0, *np.cumsum(lengths).tolist()]
        return [labels[begin:end] for begin, end in pairwise(edges)]

    def _longest(self) -> int:
        return max(min(LONGER * self.limit, LARGEST_SAMPLED), self.limit)

    def to_polars(self) -> pl.DataFrame:
        """Return the contexts and the counts of what follows them as a Polars frame."""
        import polars as pl

        public, model = self.public, self.model
        texts = [string_text(public, context) for context in model.contexts()]
        names = [f"next {label}" for label in public.alphabet]
        columns = [
            pl.Series("context", texts, pl.String),
            *(pl.Series(name, model.histograms[:, j]) for j, name in enumerate([*names, "end"])),
        ]
        return pl.DataFrame(columns)

    def files(self) -> dict[str, bytes]:
        """Return the contexts with what follows them, and the most frequent strings, as CSV."""
        return {"contexts.csv": self._contexts, "top.csv": self._top}

    @cached_property
    def _contexts(self) -> bytes:
        return csv(self.to_polars())

    @cached_property
    def _top(self) -> bytes:
        import polars as pl

        found = most_frequent(self.model, PUBLISHED)
        # Of two strings that are as frequent, the digits that are not written decide nothing.
        found.sort(key=lambda item: (-round(item[1], DECIMALS), len(item[0]), item[0]))
        columns = [
            pl.Series("string", [string_text(self.public, s) for s, _ in found], pl.String),
            pl.Series("symbols", [len(string) for string, _ in found], pl.Int64),
            pl.Series("count", [count for _, count in found], pl.Float64),
        ]
        return csv(pl.DataFrame(columns))

    def words(self) -> str:
        """Return what this release is, in a few plain sentences."""
        contexts = self.model.nodes
        return (
            f"A model of sequences over {self.public.symbols:,} symbols, made from a noisy "
            f"{self.origin}: for {contexts:,} context{'s' * (contexts > 1)} of up to "
            f"{self.model.depth} symbols it gives the probabilities of the next symbol. "
            f"{describe_used(self.public, self.limit)} Noise was added to every count (standard "
            f"deviation {self.deviation:,.4g}), so that no one {self.public.unit} changes it by "
            "much. Frequencies of strings and synthetic sequences are computed from the model; "
            f"long strings that no context covers are extrapolated. About {self.total:,.0f} "
            "sequences in all."
        )

    def summary(self) -> dict[str, Any]:
        """Return the total, the limit and the size of the model, for programs."""
        return {
            "total": round(self.total, 3),
            "limit": self.limit,
            "contexts": self.model.nodes,
            "standard_deviation": self.deviation,
        }

    def sections(self) -> tuple[Section, ...]:
        """Return what its page shows."""
        from sfumato.sequence.pages import model_sections

        return model_sections(self)

    def plot(self) -> Any:
        """Return a figure of the weightiest contexts and what follows them."""
        from sfumato.sequence.tree_picture import tree_picture

        return tree_picture(self)


# The most frequent strings of a model, exactly, by best-first search.
#
# A string is at most as frequent as its beginning, so that the most frequent string that was not
# yet given is always in the heap. For strings of one length the heap goes by how frequent the best
# extension to that length is, which a dynamic programme over the contexts tells. It looks at the
# public model only.


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
        raise ValueError(f"length must be at least 1; got {length}")
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
        heap = _trim_heap(heap, count - given)


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
        heap = _trim_heap(heap, count - given)


def _trim_heap(heap: list[Entry], wanted: int) -> list[Entry]:
    """Return the heap without what can no longer be given: every entry stands for a string."""
    # A sorted list is a heap.
    return heap if len(heap) <= 4 * wanted + 1000 else heapq.nsmallest(wanted, heap)


def _too_much(asked: str) -> ValueError:
    return ValueError(f"the search for {asked} is too large; request fewer or shorter strings")


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
