"""What constraints allow: masks over the codes of columns, or over bins of them.

The same masks check private rows when they are read, enter models as structural zeros, and check
every synthetic row. They are public; nothing here may look at data beyond one row at a time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import lcm, prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.engines.coding import Generator, Ladder

if TYPE_CHECKING:
    from sfumato.data.schema import Column

__all__ = ["MOST_CELLS", "Allowed", "Followers", "Forbidden", "Orders", "Part", "Rules"]

Codes = NDArray[Any]
#: The codes of several columns: an array each, or the rows of one.
Rows = Sequence[Codes] | Codes
Mask = NDArray[np.bool_]

#: A table of this many cells is the largest that is looked at as a whole.
MOST_CELLS = 2**22
#: So many codes are tried in the search for a row that satisfies all constraints.
MOST_TRIES = 5_000
#: Values within bins are drawn again so often before those out of order are moved.
REDRAWS = 20
#: Bins follow the stretches that constraints make of a column up to so many.
MOST_SEGMENTS = 8
#: Values are compared as whole numbers below this; such as are written as doubles, below that.
LARGEST, MOST_UNITS = 2**62, 2**51


class Part(ABC):
    """Which combinations of codes of some columns one constraint allows."""

    columns: tuple[int, ...]

    @property
    @abstractmethod
    def sizes(self) -> tuple[int, ...]:
        """The number of codes of each column."""

    @abstractmethod
    def allows(self, codes: Rows) -> Mask:
        """Return which rows it allows, given the codes of its columns."""

    @abstractmethod
    def see(self, groups: Sequence[Codes | None]) -> Part:
        """Return what it allows of bins: those of which some codes are allowed together.

        Parameters
        ----------
        groups
            The bin of each code of each column; `None` where codes stay as they are.
        """

    @abstractmethod
    def pull(self, codes: Sequence[Codes | None]) -> Part:
        """Return the same over columns from which its own follow.

        Parameters
        ----------
        codes
            For each column its code for each code of the other; `None` where it stays as it is.
        """

    @abstractmethod
    def support(self, live: Sequence[Mask]) -> list[Mask]:
        """Return which live codes of each column it allows with some live codes of the others.

        Parameters
        ----------
        live
            Which codes of each column can still occur.
        """

    @property
    def cells(self) -> int:
        """The number of combinations."""
        return prod(self.sizes)

    def mask(self) -> Mask:
        """Return which combinations it allows, one axis a column."""
        return self.allows(np.ix_(*map(np.arange, self.sizes)))


@dataclass(frozen=True, eq=False)
class Forbidden(Part):
    """A combination that cannot occur: all columns within their values."""

    columns: tuple[int, ...]
    inside: tuple[Mask, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of codes of each column."""
        return tuple(map(len, self.inside))

    def allows(self, codes: Rows) -> Mask:
        """Return which rows have a value outside the combination."""
        there: Any = True
        for inside, one in zip(self.inside, codes, strict=True):
            there = there & inside[one]
        return ~np.asarray(there, dtype=np.bool_)

    def see(self, groups: Sequence[Codes | None]) -> Forbidden:
        """Return the bins that lie wholly within the combination."""
        return replace(
            self,
            inside=tuple(
                inside if bins is None else np.bincount(bins, ~inside) == 0
                for inside, bins in zip(self.inside, groups, strict=True)
            ),
        )

    def pull(self, codes: Sequence[Codes | None]) -> Forbidden:
        """Return the combination over other columns."""
        pairs = zip(self.inside, codes, strict=True)
        return replace(self, inside=tuple(i if c is None else i[c] for i, c in pairs))

    def support(self, live: Sequence[Mask]) -> list[Mask]:
        """Return the live codes; without the combination's own where no other column avoids it."""
        pairs = list(zip(live, self.inside, strict=True))
        avoids = [bool((codes & ~inside).any()) for codes, inside in pairs]
        return [
            codes if any(avoids[:axis] + avoids[axis + 1 :]) else codes & ~inside
            for axis, (codes, inside) in enumerate(pairs)
        ]


@dataclass(frozen=True, eq=False)
class Below(Part):
    """Two columns in order: the least value of the first is at most the largest of the second."""

    columns: tuple[int, ...]
    least: NDArray[np.int64]
    largest: NDArray[np.int64]

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of codes of each column."""
        return (len(self.least), len(self.largest))

    def allows(self, codes: Rows) -> Mask:
        """Return which rows can have their values in order."""
        return np.asarray(self.least[codes[0]] <= self.largest[codes[1]])

    def see(self, groups: Sequence[Codes | None]) -> Below:
        """Return which bins can have their values in order."""
        least, largest = self.least, self.largest
        if groups[0] is not None:
            least = np.full(int(groups[0].max()) + 1, LARGEST)
            np.minimum.at(least, groups[0], self.least)
        if groups[1] is not None:
            largest = np.full(int(groups[1].max()) + 1, -LARGEST)
            np.maximum.at(largest, groups[1], self.largest)
        return replace(self, least=least, largest=largest)

    def pull(self, codes: Sequence[Codes | None]) -> Below:
        """Return the order of other columns."""
        ends = zip((self.least, self.largest), codes, strict=True)
        least, largest = (end if one is None else end[one] for end, one in ends)
        return replace(self, least=least, largest=largest)

    def support(self, live: Sequence[Mask]) -> list[Mask]:
        """Return the live codes within the ends of the other column's."""
        low, high = live
        most = self.largest.max(where=high, initial=-LARGEST - 1)
        fewest = self.least.min(where=low, initial=LARGEST + 1)
        return [low & (self.least <= most), high & (self.largest >= fewest)]


@dataclass(frozen=True, eq=False)
class Allowed(Part):
    """A table of the combinations that are allowed."""

    columns: tuple[int, ...]
    table: Mask

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of codes of each column."""
        return self.table.shape

    def allows(self, codes: Rows) -> Mask:
        """Return which rows are in an allowed cell."""
        return np.asarray(self.table[tuple(codes)])

    def see(self, groups: Sequence[Codes | None]) -> Allowed:
        """Return the cells of bins that hold an allowed one."""
        table = self.table
        for axis, bins in enumerate(groups):
            if bins is not None:
                shape = list(table.shape)
                shape[axis] = int(bins.max()) + 1
                merged = np.zeros(shape, dtype=np.bool_)
                place: Any = (*(slice(None),) * axis, bins)
                np.logical_or.at(merged, place, table)
                table = merged
        return replace(self, table=table)

    def pull(self, codes: Sequence[Codes | None]) -> Allowed:
        """Return the table over other columns."""
        table = self.table
        for axis, one in enumerate(codes):
            table = table if one is None else np.take(table, one, axis=axis)
        return replace(self, table=table)

    def support(self, live: Sequence[Mask]) -> list[Mask]:
        """Return the live codes that have a cell with live codes of the others."""
        places = [np.flatnonzero(codes) for codes in live]
        table = self.table[np.ix_(*places)]
        found = [np.zeros_like(codes) for codes in live]
        for axis, codes in enumerate(found):
            others = tuple(other for other in range(table.ndim) if other != axis)
            codes[places[axis]] = table.any(axis=others)
        return found


@dataclass(frozen=True, eq=False)
class Orders:
    """All orders of a table, for values within bins.

    Values are compared as whole numbers: multiples of what divides all steps.

    Parameters
    ----------
    edges
        Pairs of columns and whether values must differ, in an order in which columns can be
        settled from the smallest on.
    ladders
        The values of each column.
    unit
        How many whole numbers make 1.
    """

    edges: tuple[tuple[int, int, bool], ...]
    ladders: Mapping[int, Ladder]
    sizes: Mapping[int, int]
    unit: int

    @classmethod
    def of(cls, strict: Mapping[tuple[int, int], bool], columns: Sequence[Column]) -> Orders:
        """Return the orders of pairs of columns; an error says what cannot be compared.

        Parameters
        ----------
        strict
            Whether values must differ, for each pair: the column of smaller values first.
        columns
            All columns.
        """
        ladders = {c: _ladder_of(columns[c]) for c in {n for pair in strict for n in pair}}
        for low, high in strict:
            if ladders[low].scale != ladders[high].scale:
                raise ValueError(
                    f"{columns[low].name} is a {ladders[low].scale} and {columns[high].name} a "
                    f"{ladders[high].scale}; declare both columns of an order as the same kind"
                )
        unit = lcm(*(f.denominator for one in ladders.values() for f in (one.start, one.step)))
        orders = cls(
            _sort_edges(strict, columns), ladders, {c: columns[c].size for c in ladders}, unit
        )
        for number, ladder in ladders.items():
            ends = (int(ladder.firsts[0]), int(ladder.lasts[-1]))
            first, step = orders._scaled(number)
            # Numbers with decimals are written as doubles: different ones must stay different.
            most = MOST_UNITS if ladder.scale == "number" and unit > 1 else LARGEST
            if max(abs(first) + step * abs(end) for end in ends) >= most:
                raise ValueError(
                    f"{columns[number].name} has steps too fine to be compared with others; "
                    "declare columns of an order in steps of the same kind"
                )
        return orders

    @cached_property
    def within_bins(self) -> bool:
        """Whether some code holds several values: those of three columns may be in no order then,
        though each two of them can be.
        """
        return any((one.firsts < one.lasts).any() for one in self.ladders.values())

    def _scaled(self, column: int) -> tuple[int, int]:
        """Return the value of rung 0 and the step of a column, as whole numbers."""
        ladder = self.ladders[column]
        return int(ladder.start * self.unit), int(ladder.step * self.unit)

    def _value(self, column: int, rungs: Codes) -> NDArray[np.int64]:
        """Return the values of rungs of a column, as whole numbers."""
        first, step = self._scaled(column)
        return np.asarray(first + step * rungs, dtype=np.int64)

    def compare(self, low: int, high: int) -> Below:
        """Return which codes of two columns can hold values in order."""
        (strict,) = (differ for *pair, differ in self.edges if pair == [low, high])
        least = np.full(self.sizes[low], -LARGEST)
        largest = np.full(self.sizes[high], LARGEST)
        first, last = self.ladders[low].firsts, self.ladders[high].lasts
        least[: len(first)] = self._value(low, first) + strict
        largest[: len(last)] = self._value(high, last)
        return Below((low, high), least, largest)

    def _bound(
        self, codes: Rows | Mapping[int, Codes]
    ) -> tuple[dict[int, Codes], dict[int, Codes], dict[int, Mask]]:
        """Return the first and the last rung that each value may have, and which are present."""
        there = {c: codes[c] < len(one.firsts) for c, one in self.ladders.items()}
        proper = {c: np.where(there[c], codes[c], 0) for c in self.ladders}
        first = {c: one.firsts[proper[c]] for c, one in self.ladders.items()}
        last = {c: one.lasts[proper[c]] for c, one in self.ladders.items()}
        for low, high, strict in reversed(self.edges):
            start, step = self._scaled(low)
            most = (self._value(high, last[high]) - strict - start) // step
            last[low] = np.where(there[low] & there[high], np.minimum(last[low], most), last[low])
        return first, last, there

    def allows(self, codes: Rows) -> Mask:
        """Return which rows can have their values in order."""
        return self.can_be({column: codes[column] for column in self.ladders})

    def can_be(self, codes: Mapping[int, Codes]) -> Mask:
        """Return which rows can have the values of some columns in order, whatever the others are.

        Parameters
        ----------
        codes
            The codes of each of these columns; arrays that go with each other.
        """
        if len(codes) < len(self.ladders):
            edges = tuple(edge for edge in self.edges if {*edge[:2]} <= set(codes))
            ladders = {c: one for c, one in self.ladders.items() if c in codes}
            return replace(self, edges=edges, ladders=ladders).can_be(codes)
        first, last, _ = self._bound(codes)
        fit: Mask = np.ones(1, dtype=np.bool_)
        for column in codes:
            fit = fit & (first[column] <= last[column])
        return fit

    def draw(self, codes: Rows, generator: Generator) -> dict[int, NDArray[np.int64]]:
        """Return a rung for each code, such that values are in order.

        Values are uniform within their bins and drawn again where they are out of order. Those that
        still are after `REDRAWS` draws are lowered, or raised, as little as is needed.
        """
        first, last, there = self._bound(codes)
        highest = {c: one.lasts[np.where(there[c], codes[c], 0)] for c, one in self.ladders.items()}
        rungs = {c: np.empty(len(codes[c]), dtype=np.int64) for c in self.ladders}
        rows: Any = slice(None)
        for _ in range(REDRAWS):
            for c, values in rungs.items():
                values[rows] = generator.integers(first[c][rows], highest[c][rows], endpoint=True)
            rows = np.flatnonzero(self._violated(rungs, there))
            if not rows.size:
                return rungs
        for c in rungs:
            rungs[c][rows] = np.minimum(rungs[c], last[c])[rows]
        for low, high, strict in self.edges:
            start, step = self._scaled(high)
            least = -((start - strict - self._value(low, rungs[low])) // step)
            both = there[low] & there[high]
            rungs[high] = np.where(both, np.maximum(rungs[high], least), rungs[high])
        return rungs

    def _violated(self, rungs: Mapping[int, Codes], there: Mapping[int, Mask]) -> Mask:
        """Return which rows have values out of order."""
        wrong = [
            there[low]
            & there[high]
            & (self._value(low, rungs[low]) + strict > self._value(high, rungs[high]))
            for low, high, strict in self.edges
        ]
        return np.asarray(np.logical_or.reduce(wrong))


def _ladder_of(column: Column) -> Ladder:
    ladder = column.coding.ladder()
    if ladder is not None:
        return ladder
    remedy = "declare its decimals" if column.coding.kind == "number" else "leave it out"
    raise ValueError(
        f"column {column.name!r} has no values in equal steps below 2**53, which an order needs; "
        f"{remedy}"
    )


def _sort_edges(
    strict: Mapping[tuple[int, int], bool], columns: Sequence[Column]
) -> tuple[tuple[int, int, bool], ...]:
    """Return pairs by their first columns, each of which comes after all that are below it."""
    left = {column for pair in strict for column in pair}
    edges: list[tuple[int, int, bool]] = []
    while left:
        ready = [c for c in sorted(left) if not any(h == c and lo in left for lo, h in strict)]
        if not ready:
            names = ", ".join(columns[c].name for c in sorted(left))
            raise ValueError(f"the orders of {names} go in a circle; remove one of them")
        for column in ready:
            edges += [
                (low, high, differ) for (low, high), differ in strict.items() if low == column
            ]
        left -= set(ready)
    return tuple(edges)


@dataclass(frozen=True, eq=False)
class Rules:
    """All constraints of a table over its codes, or over bins of them. Public.

    Parameters
    ----------
    sizes
        The number of codes, or bins, of each column.
    parts
        What is allowed.
    orders
        The orders of values within codes; `None` where there are none, or over bins.
    followers
        The columns that follow from another, by number: the other, and the code for each of its.
    known
        The codes of a row that satisfies all constraints, where one was found before.
    """

    sizes: tuple[int, ...]
    parts: tuple[Part, ...] = ()
    orders: Orders | None = None
    followers: Mapping[int, tuple[int, NDArray[np.int64]]] | None = None
    known: NDArray[np.int64] | None = None

    def __bool__(self) -> bool:
        return bool(self.parts)

    @cached_property
    def columns(self) -> tuple[int, ...]:
        """The columns of all constraints."""
        return tuple(sorted({column for part in self.parts for column in part.columns}))

    @cached_property
    def components(self) -> tuple[tuple[int, ...], ...]:
        """The columns that hang together through constraints."""
        found: list[set[int]] = []
        for part in self.parts:
            joined = set(part.columns)
            for other in [other for other in found if other & joined]:
                joined |= other
                found.remove(other)
            found.append(joined)
        return tuple(tuple(sorted(one)) for one in found)

    def allows(self, codes: Rows) -> Mask:
        """Return which rows satisfy all constraints, given the codes of all columns."""
        legal = np.ones(len(codes[0]), dtype=np.bool_)
        for part in self.parts:
            legal &= part.allows([codes[column] for column in part.columns])
        return legal if self.orders is None else legal & self.orders.allows(codes)

    def see(self, groups: Mapping[int, Codes]) -> Rules:
        """Return what is allowed of bins of codes.

        Parameters
        ----------
        groups
            The bin of each code, for each column that has bins.
        """
        sizes = tuple(
            int(groups[c].max()) + 1 if c in groups else size for c, size in enumerate(self.sizes)
        )
        parts = tuple(part.see([groups.get(c) for c in part.columns]) for part in self.parts)
        known = None if self.example is None else self.example.copy()
        for column, bins in groups.items():
            if known is not None:
                known[column] = bins[known[column]]
        return Rules(sizes, parts, known=known)

    def segments(self, column: int) -> NDArray[np.int64]:
        """Return stretches of a column's codes of which constraints treat all codes alike.

        Where there are many such stretches, or none but the whole, all codes are in one.
        """
        changes = np.zeros(self.sizes[column] - 1, dtype=np.bool_)
        for part in self.parts:
            if column not in part.columns:
                continue
            axis = part.columns.index(column)
            if isinstance(part, Forbidden):
                changes |= np.diff(part.inside[axis])
            elif isinstance(part, Allowed):
                others = tuple(a for a in range(part.table.ndim) if a != axis)
                changes |= np.diff(part.table, axis=axis).any(axis=others)
        found = np.concatenate([[0], np.cumsum(changes)])
        return np.zeros_like(found) if found[-1] >= MOST_SEGMENTS else found

    def even(self, columns: Sequence[int]) -> NDArray[np.float64]:
        """Return the shares of some columns if all allowed rows are alike.

        Where constraints hang together in too large a table, each is looked at by itself.
        """
        shares: NDArray[np.float64] = np.ones([self.sizes[column] for column in columns])
        for together in self.components:
            parts = [part for part in self.parts if set(part.columns) <= set(together)]
            few = prod(self.sizes[column] for column in together) <= MOST_CELLS
            for some in [parts] if few else [[part] for part in parts]:
                held = tuple(sorted({column for part in some for column in part.columns}))
                if not set(held) & set(columns) or any(p.cells > MOST_CELLS for p in some):
                    continue
                gone = tuple(axis for axis, column in enumerate(held) if column not in columns)
                table = self.joint(held, some).sum(axis=gone)
                kept = [column for column in held if column in columns]
                wanted = [column for column in columns if column in kept]
                table = np.transpose(table, [kept.index(column) for column in wanted])
                shares *= table.reshape([self.sizes[c] if c in kept else 1 for c in columns])
        shares *= self.joint(columns)
        return np.asarray(shares / shares.sum())

    def joint(self, columns: Sequence[int], parts: Sequence[Part] | None = None) -> Mask:
        """Return which combinations of columns all constraints among them allow."""
        within = [p for p in self.parts if set(p.columns) <= set(columns)]
        axes = np.ix_(*(np.arange(self.sizes[column]) for column in columns))
        table = np.ones([self.sizes[column] for column in columns], dtype=np.bool_)
        for part in within if parts is None else parts:
            table &= part.allows([axes[columns.index(column)] for column in part.columns])
        if parts is None and self.orders is not None:
            # Each pair of columns may be in order where all of them together cannot.
            ordered = [column for column in columns if column in self.orders.ladders]
            if len(ordered) > 2:
                table &= self.orders.can_be({c: axes[columns.index(c)] for c in ordered})
        return table

    @cached_property
    def example(self) -> NDArray[np.int64] | None:
        """The codes of a row that satisfies all constraints; `None` if none was found."""
        if self.known is not None:
            return self.known
        row = np.zeros(len(self.sizes), dtype=np.int64)
        tries = [MOST_TRIES]
        for together in self.components:
            if not self._settle(row, list(together), [], tries):
                return None
        return row

    def _settle(self, row: Codes, left: list[int], done: list[int], tries: list[int]) -> bool:
        """Settle the codes of columns that hang together, those with the fewest codes left first.

        After each code, all codes are left out that no constraint by itself allows any more.
        """
        edges = () if self.orders is None else self.orders.edges
        # In an order, the columns of smaller values first: they leave room for the others.
        rank = {c: place for place, c in enumerate(c for edge in edges[::-1] for c in edge[1::-1])}
        left = sorted(left, key=lambda c: -rank.get(c, -1))
        live = self._narrow({c: np.ones(self.sizes[c], dtype=np.bool_) for c in left}, left)
        # For each settled column: its codes that are still to be tried, and what was live before.
        stack: list[tuple[int, Iterator[int], dict[int, Mask]]] = []
        while live is not None or stack:
            if live is not None:
                if len(done) == len(left):
                    return True
                settled = set(done)
                counts = {c: np.count_nonzero(live[c]) for c in left if c not in settled}
                column = min(counts, key=counts.__getitem__)
                codes = self._within_orders(row, done, column, np.flatnonzero(live[column]))
                # Long orders take longer to look at.
                tries[0] -= len(edges) // 100
                done.append(column)
                stack.append((column, iter(codes.tolist()), live))
            column, to_try, before = stack[-1]
            code = next(to_try, None)
            if code is None:
                done.pop()
                stack.pop()
                live = None
                continue
            tries[0] -= 1
            if tries[0] < 0:
                return False
            row[column] = code
            live = self._narrow({**before, column: np.arange(self.sizes[column]) == code}, [column])
        return False

    def _narrow(self, live: Mapping[int, Mask], changed: Sequence[int]) -> dict[int, Mask] | None:
        """Return the codes that can still occur; `None` if a column has none."""
        live, waiting = dict(live), dict.fromkeys(changed)
        while waiting:
            column = next(iter(waiting))
            del waiting[column]
            for part in self._parts_of[column]:
                found = part.support([live[c] for c in part.columns])
                for c, codes in zip(part.columns, found, strict=True):
                    if not codes.any():
                        return None
                    if codes is not live[c] and not np.array_equal(codes, live[c]):
                        live[c] = codes
                        waiting[c] = None
        return live

    @cached_property
    def _parts_of(self) -> dict[int, list[Part]]:
        """The constraints of each column."""
        found: dict[int, list[Part]] = {}
        for part in self.parts:
            for column in part.columns:
                found.setdefault(column, []).append(part)
        return found

    def _within_orders(self, row: Codes, done: Sequence[int], column: int, codes: Codes) -> Codes:
        """Return the codes of a column whose values can be in order with all that are settled."""
        if self.orders is None or column not in self.orders.ladders or not self.orders.within_bins:
            return codes
        rows = {c: row[c, None] for c in done if c in self.orders.ladders} | {column: codes}
        return codes[self.orders.can_be(rows)]

    def without_followers(self, stay: Sequence[int] = ()) -> tuple[Rules, Followers] | None:
        """Return the constraints of the columns that remain once others follow from them.

        Parameters
        ----------
        stay
            The columns that remain in any case.
        """
        chosen = {c: one for c, one in (self.followers or {}).items() if c not in stay}
        if not chosen:
            return None
        sources: dict[int, tuple[int, NDArray[np.int64]]] = {}
        for column in chosen:
            source, codes = chosen[column]
            while source in chosen:
                above, more = chosen[source]
                source, codes = above, codes[more]
            sources[column] = source, codes
        kept = tuple(c for c in range(len(self.sizes)) if c not in sources)
        parts: list[Part] = []
        for part in self.parts:
            pulled = part.pull([sources[c][1] if c in sources else None for c in part.columns])
            named = [kept.index(sources[c][0] if c in sources else c) for c in part.columns]
            parts += _merge_axes(pulled, named)
        sizes = tuple(self.sizes[column] for column in kept)
        followers = Followers(kept, sources, {column: self.sizes[column] for column in sources})
        known = None if self.example is None else self.example[list(kept)]
        return Rules(sizes, tuple(parts), self._renumber_orders(kept), known=known), followers

    def _renumber_orders(self, kept: tuple[int, ...]) -> Orders | None:
        """Return the orders, whose columns all remain, by new numbers."""
        if self.orders is None:
            return None
        old, new = self.orders, kept.index
        return Orders(
            tuple((new(low), new(high), strict) for low, high, strict in old.edges),
            {new(column): ladder for column, ladder in old.ladders.items()},
            {new(column): size for column, size in old.sizes.items()},
            old.unit,
        )


@dataclass(frozen=True, eq=False)
class Followers:
    """Columns that follow from others, and those that remain.

    Parameters
    ----------
    kept
        The numbers of the columns that remain.
    sources
        For each other column, the one that it follows from and its code for each of that one's.
    sizes
        The number of codes of each other column.
    """

    kept: tuple[int, ...]
    sources: Mapping[int, tuple[int, NDArray[np.int64]]]
    sizes: Mapping[int, int]


def _merge_axes(part: Part, columns: Sequence[int]) -> list[Part]:
    """Return a part over other columns, of which some may be the same."""
    if len(set(columns)) == len(columns):
        return [replace(part, columns=tuple(columns))]  # type: ignore[type-var]
    distinct = tuple(dict.fromkeys(columns))
    if isinstance(part, Forbidden):
        # Stays a product, however many combinations there are.
        masks = zip(columns, part.inside, strict=True)
        inside = {column: np.ones(1, dtype=np.bool_) for column in distinct}
        for column, mask in masks:
            inside[column] = inside[column] & mask
        never = not all(mask.any() for mask in inside.values())
        return [] if never else [Forbidden(distinct, tuple(inside.values()))]
    sizes = [part.sizes[columns.index(column)] for column in distinct]
    axes = dict(zip(distinct, np.ix_(*map(np.arange, sizes)), strict=True))
    table = part.allows([axes[column] for column in columns])
    # A column and what follows from it are always in agreement.
    return [] if table.all() else [Allowed(distinct, np.broadcast_to(table, sizes))]
