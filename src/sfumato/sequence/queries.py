"""What programs may ask of sequences: the vocabulary of their queries.

A tree that grows is public and only ever grows; a query names a level of it. How far an engine has
walked down a tree is private: it is kept by the engine, as long as the tree lives.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from sfumato.data.sequences import Sequences
from sfumato.engines.counts import ContextWalk, Integers64, Suffixes
from sfumato.mechanisms.privtree import Frontier, FrontierQuery
from sfumato.privacy.program import Query
from sfumato.sequence.context_tree import ContextTree, GramTree

__all__ = [
    "CandidateCounts",
    "Candidates",
    "ContextFrontier",
    "Followers",
    "GramCounts",
    "LengthSurplus",
]

Bits = NDArray[np.bool_]
String = tuple[int, ...]


def _refuse_return(walked: int, asked: int) -> None:
    """Raise where an engine has gone further than it is asked to: it does not go back."""
    if walked > asked:
        raise ValueError(f"step {walked} of a walk was taken; step {asked} is asked for too late")


@dataclass(frozen=True)
class LengthSurplus(Query):
    """By how much more sequences than a share of all are at most so long.

    Parameters
    ----------
    longest
        The length c; the end is counted as one symbol.
    share
        The share a/b. The answer is the whole number b·#{length ≤ c} − a·n.
    """

    longest: int
    share: Fraction

    def answer(self, data: Sequences) -> int:
        """Return the number."""
        at_most = data.counts.lengths(np.array([self.longest], dtype=np.int64))[0]
        return self.share.denominator * int(at_most) - self.share.numerator * data.counts.rows


class _ContextLevels:
    """The histograms of all levels of a tree of contexts, as far as it was walked. Private."""

    def __init__(self, walk: ContextWalk) -> None:
        self._walk = walk
        self._levels = [walk.histograms()]

    def level(self, tree: ContextTree, level: int) -> Integers64:
        """Return the histograms of all contexts of a level."""
        for split in islice(tree.levels, len(self._levels) - 1, level):
            self._walk.descend(split)
            self._levels.append(self._walk.histograms())
        return self._levels[level]


def _context_levels(data: Sequences, tree: ContextTree, limit: int) -> _ContextLevels:
    counts = data.counts
    return counts.recall(tree, lambda: _ContextLevels(counts.cut(limit).contexts()))


@dataclass(frozen=True, eq=False)
class ContextFrontier(FrontierQuery):
    """The contexts of one level of a growing tree, each with a score.

    The score is how often something else than the most frequent symbol follows.

    Parameters
    ----------
    tree
        The tree, of which nothing below the level is looked at.
    limit
        Of every sequence the first so many symbols are looked at.
    level
        The level.
    askable
        Which contexts of the level may be split.
    above
        For each of them, its parent's place in the frontier before.
    """

    tree: ContextTree
    limit: int
    level: int
    askable: Bits
    above: NDArray[np.intp]

    @classmethod
    def of(cls, tree: ContextTree, limit: int) -> ContextFrontier:
        """Return the query for the open level of a tree."""
        return cls(tree, limit, len(tree.levels), tree.askable, tree.parents)

    @property
    def parents(self) -> NDArray[np.intp]:
        """For each context that may be split, its parent's place in the frontier before."""
        return self.above

    def answer(self, data: Sequences) -> Frontier:
        """Return the scores."""
        levels = _context_levels(data, self.tree, self.limit)
        asked = levels.level(self.tree, self.level)[self.askable]
        return Frontier(self.above, asked.sum(axis=1) - asked.max(axis=1, initial=0))

    def descend(self, split: Bits) -> ContextFrontier:
        """Split contexts of the tree, and return the query for their children."""
        self.tree.descend(split)
        return self.of(self.tree, self.limit)


@dataclass(frozen=True, eq=False)
class Followers(Query):
    """How often each symbol, and lastly the end, follows some contexts of a tree.

    Parameters
    ----------
    tree
        The tree.
    limit
        Of every sequence the first so many symbols are looked at.
    nodes
        Which contexts, for each level that has any.
    """

    tree: ContextTree
    limit: int
    nodes: Mapping[int, Bits]

    @property
    def shape(self) -> tuple[int, int]:
        """The number of contexts, and of what may follow."""
        return sum(int(chosen.sum()) for chosen in self.nodes.values()), self.tree.fan_out

    def answer(self, data: Sequences) -> Integers64:
        """Return one histogram a row, level by level."""
        levels = _context_levels(data, self.tree, self.limit)
        parts = [levels.level(self.tree, level)[chosen] for level, chosen in self.nodes.items()]
        return np.concatenate(parts)


@dataclass(frozen=True, eq=False)
class GramCounts(Query):
    """How often each string of one level of a tree of n-grams occurs.

    Parameters
    ----------
    tree
        The tree, of which nothing below the level is looked at.
    limit
        Of every sequence the first so many symbols are looked at.
    level
        The level, which is the length of its strings; levels are asked for in their order.
    """

    tree: GramTree
    limit: int
    level: int

    def answer(self, data: Sequences) -> Integers64:
        """Return the counts."""
        counts = data.counts
        walk = counts.recall(self.tree, lambda: counts.cut(self.limit).grams())
        _refuse_return(walk.depth, self.level)
        for expand in islice(self.tree.levels, walk.depth, self.level):
            walk.descend(expand)
        return walk.counts()


class Candidates:
    """The strings that may be chosen next: public, as they follow from what was chosen.

    Parameters
    ----------
    alphabet
        The number of symbols. The first candidates are the single symbols.
    """

    def __init__(self, alphabet: int) -> None:
        self.alphabet = alphabet
        self.strings: list[String] = [(symbol,) for symbol in range(alphabet)]
        #: What was chosen, and where it stood among the candidates.
        self.chosen: list[tuple[int, String]] = []

    def take(self, place: int) -> None:
        """Replace a candidate by its extensions, which come last."""
        string = self.strings.pop(place)
        self.strings += [(*string, symbol) for symbol in range(self.alphabet)]
        self.chosen.append((place, string))


class _CandidateCounts:
    """How often the candidates occur, after some choices. Private."""

    def __init__(self, suffixes: Suffixes) -> None:
        self._suffixes = suffixes
        self._counts = self._extensions(())
        self._taken = 0

    def _extensions(self, string: String) -> Integers64:
        return np.asarray(self._suffixes.followers(string)[:-1], dtype=np.int64)

    def after(self, candidates: Candidates, choices: int) -> Integers64:
        """Return the counts of all candidates after so many choices."""
        _refuse_return(self._taken, choices)
        for place, string in islice(candidates.chosen, self._taken, choices):
            left = np.delete(self._counts, place)
            self._counts = np.concatenate([left, self._extensions(string)])
            self._taken += 1
        return self._counts


@dataclass(frozen=True, eq=False)
class CandidateCounts(Query):
    """How often each string occurs that may be chosen next.

    Parameters
    ----------
    candidates
        The strings, of which no later choice is looked at.
    limit
        Of every sequence the first so many symbols are looked at.
    choices
        How many choices were made before; questions are asked in their order.
    """

    candidates: Candidates
    limit: int
    choices: int

    def answer(self, data: Sequences) -> Integers64:
        """Return the counts."""
        counts = data.counts
        known = counts.recall(
            self.candidates, lambda: _CandidateCounts(counts.cut(self.limit).suffixes())
        )
        return known.after(self.candidates, self.choices)
