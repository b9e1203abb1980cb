"""Constraints: what is known to hold in every row of a table, and what every release keeps.

A constraint is declared and public, like a domain: a combination that cannot occur, an order of
columns, or a column that determines another. Here a declaration is read and becomes masks over
codes (`sfumato.data.allowed`). Nothing here may look at data.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from math import ceil, floor, isfinite, prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.allowed import MOST_CELLS, MOST_TRIES, Allowed, Forbidden, Orders, Part, Rules
from sfumato.engines.coding import OTHER, Coding, Numbers
from sfumato.engines.coding.base import read_number
from sfumato.engines.coding.ranges import EPOCH
from sfumato.engines.coding.steps import SECOND
from sfumato.engines.intake import RowCheck
from sfumato.noise.exact import briefly, exact
from sfumato.privacy.arguments import suggest
from sfumato.privacy.parameters import OneOf

if TYPE_CHECKING:
    from sfumato.data.schema import Column

__all__ = [
    "Constraint",
    "Determined",
    "Impossible",
    "Ordered",
    "compile_rules",
    "read_constraints",
    "row_checks",
]

Mask = NDArray[np.bool_]

#: A condition in words names so many values.
MOST_NAMED = 5
MIDNIGHT = datetime(1970, 1, 1, tzinfo=UTC)
#: How a condition names its bounds: at least, more than, at most, less than.
BOUNDS = {"from": "from", "above": "above", "to": "up to", "below": "below"}
#: The most columns of an order, constraints of a schema, and combinations or pairs of all of them.
MOST_IN_ORDER, MOST_CONSTRAINTS, MOST_PARTS = 64, 1000, 10_000


def find_column(columns: Sequence[Column], name: Any) -> int:
    """Return the number of a column that a constraint names."""
    names = [column.name for column in columns]
    if name not in names:
        raise ValueError(f"there is no column {briefly(name)}{suggest(name, names)}")
    return names.index(name)


@dataclass(frozen=True)
class Condition:
    """Some values of a column.

    Parameters
    ----------
    values
        The values, or with `excluded` all but these. Dates are texts.
    excluded
        Whether the values are those that are left out.
    bounds
        In place of values: bounds, each with what it is called.
    """

    values: tuple[Any, ...] = ()
    excluded: bool = False
    bounds: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def read(cls, given: Any) -> Condition:
        """Return the condition that a value, a list of values or a table of bounds stands for."""
        if not isinstance(given, Mapping):
            return cls(_read_values(given))
        if set(given) == {"not"}:
            return cls(_read_values(given["not"]), excluded=True)
        known = (*BOUNDS, "not")
        for key in given:
            if key not in BOUNDS:
                raise ValueError(
                    f"a condition may have {', '.join(known)}; got {briefly(key)}"
                    f"{suggest(key, known)}"
                )
        if not given or {"from", "above"} <= set(given) or {"to", "below"} <= set(given):
            raise ValueError("a condition needs from or above, to or below, or one of each")
        return cls(bounds=tuple((key, _read_value(given[key])) for key in BOUNDS if key in given))

    def to_json(self) -> Any:
        """Return a plain document."""
        if self.bounds:
            return dict(self.bounds)
        values = self.values[0] if len(self.values) == 1 else list(self.values)
        return {"not": values} if self.excluded else values

    def words(self, name: str) -> str:
        """Return the condition on a column in words."""
        if self.bounds:
            return f"{name} {' and '.join(f'{BOUNDS[key]} {end}' for key, end in self.bounds)}"
        shown = [_name_of(value) for value in self.values[:MOST_NAMED]]
        if len(self.values) > MOST_NAMED:
            shown.append(f"{len(self.values) - MOST_NAMED:,} more")
        return f"{name} {'other than' if self.excluded else '='} {' or '.join(shown)}"

    def select(self, column: Column) -> Mask:
        """Return which codes of a column meet the condition."""
        coding = column.coding
        try:
            if self.bounds:
                return _select_between(coding, self.bounds)
            chosen = np.zeros(coding.size, dtype=np.bool_)
            for value in self.values:
                chosen |= _select_value(coding, value)
        except ValueError as failure:
            raise ValueError(f"column {column.name!r}: {failure}") from None
        if self.excluded:
            # A value that was not declared is another one; a missing value is none.
            there = np.ones(coding.size, dtype=np.bool_)
            there[coding.proper :] = [label == OTHER for label in coding.reserved_labels]
            chosen = there & ~chosen
        return chosen


def _read_values(given: Any) -> tuple[Any, ...]:
    values = given if isinstance(given, list | tuple) else [given]
    if not values:
        raise ValueError("a condition must name one or more values")
    return tuple(_read_value(value) for value in values)


def _read_value(value: Any) -> Any:
    """Return a declared value as documents hold it."""
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, date):
        return value.isoformat()
    if not isinstance(value, str | int | float) or (
        isinstance(value, float) and not isfinite(value)
    ):
        raise ValueError(f"a value must be a text, a number, a date or a bool; got {value!r}")
    return value


def _name_of(value: Any) -> str:
    """Return what a value is called in labels."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _select_value(coding: Coding, value: Any) -> Mask:
    """Return the codes of one value."""
    name = _name_of(value)
    if name in coding.reserved_labels:
        chosen = np.zeros(coding.size, dtype=np.bool_)
        chosen[coding.proper + coding.reserved_labels.index(name)] = True
        return chosen
    if coding.kind in ("category", "boolean"):
        if name not in coding.labels:
            raise ValueError(f"there is no value {briefly(value)}{suggest(name, coding.labels)}")
        return np.asarray(np.arange(coding.size) == coding.labels.index(name))
    return _select_between(coding, (("from", value), ("to", value)))


def _select_between(coding: Coding, bounds: tuple[tuple[str, Any], ...]) -> Mask:
    """Return the codes of all values within bounds; a bin that a bound cuts is refused."""
    inside = touched = np.ones(coding.proper, dtype=np.bool_)
    ladder = coding.ladder()
    for key, end in bounds:
        if ladder is not None:
            place = (_read_end(ladder.scale, end) - ladder.start) / ladder.step
            if key in ("from", "above"):
                first = ceil(place) if key == "from" else floor(place) + 1
                within, near = ladder.firsts >= first, ladder.lasts >= first
            else:
                last = floor(place) if key == "to" else ceil(place) - 1
                within, near = ladder.lasts <= last, ladder.firsts <= last
        elif isinstance(coding, Numbers):
            edges, bound = np.array(coding.edges), float(_read_end("number", end))
            lower, upper = edges[:-1], edges[1:]
            # The last bin holds its upper end.
            reached = (upper == bound) & (np.arange(len(upper)) == len(upper) - 1)
            within, near = {
                "from": (lower >= bound, (upper > bound) | reached),
                "above": (lower > bound, upper > bound),
                "to": (upper <= bound, lower <= bound),
                "below": ((upper <= bound) & ~reached, lower < bound),
            }[key]
        else:
            raise ValueError(f"{key} needs a column of numbers or dates, with bounds below 2**53")
        inside, touched = inside & within, touched & near
    cut = np.flatnonzero(touched & ~inside)
    if cut.size:
        raise ValueError(
            f"a bound of the constraint lies within the bin {coding.label(int(cut[0]))}; declare "
            "the column with an edge there, or with a code for each value"
        )
    return np.concatenate([inside, np.zeros(coding.size - coding.proper, dtype=np.bool_)])


def _read_end(scale: str, value: Any) -> Fraction:
    """Return a bound as a number, as days or as seconds."""
    try:
        if isinstance(value, bool):
            raise TypeError
        if scale == "date":
            return Fraction((date.fromisoformat(value) - EPOCH).days)
        if scale == "datetime":
            moment = datetime.fromisoformat(value)
            plain = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
            return Fraction((plain - MIDNIGHT) // timedelta(microseconds=1), SECOND)
        # Keys of tables are texts.
        return read_number("a bound", exact(value) if isinstance(value, str) else value)
    except (TypeError, ValueError):
        raise ValueError(f"a bound must be a {scale}; got {briefly(value)}") from None


@dataclass(frozen=True, kw_only=True)
class Constraint(ABC):
    """What is known to hold in every row.

    Parameters
    ----------
    violations
        `"refuse"`: private data with a row that violates it are an error. `"keep"`: such a row is
        counted as it is. Synthetic rows never violate it.
    """

    violations: str = "refuse"

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The columns it is about."""

    @abstractmethod
    def words(self) -> str:
        """Return it in words."""

    @abstractmethod
    def _document(self) -> dict[str, Any]:
        """Return its own part of a document."""

    @abstractmethod
    def parts(self, columns: Sequence[Column]) -> list[Part]:
        """Return what it allows, over the codes of columns; an error says what is wrong."""

    def to_json(self) -> dict[str, Any]:
        """Return a plain document."""
        more = {} if self.violations == "refuse" else {"violations": self.violations}
        return {**self._document(), **more}


@dataclass(frozen=True, kw_only=True)
class Impossible(Constraint):
    """A combination of values that no row has.

    Parameters
    ----------
    conditions
        For each column, its values in the combination.
    """

    conditions: tuple[tuple[str, Condition], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the combination."""
        return tuple(name for name, _ in self.conditions)

    def words(self) -> str:
        """Return it in words."""
        return f"never {' with '.join(one.words(name) for name, one in self.conditions)}"

    def _document(self) -> dict[str, Any]:
        return {"impossible": {name: one.to_json() for name, one in self.conditions}}

    def parts(self, columns: Sequence[Column]) -> list[Part]:
        """Return the forbidden combination."""
        numbers = tuple(find_column(columns, name) for name in self.names)
        inside = tuple(
            condition.select(columns[number])
            for number, (_, condition) in zip(numbers, self.conditions, strict=True)
        )
        return [Forbidden(numbers, inside)]


@dataclass(frozen=True, kw_only=True)
class Ordered(Constraint):
    """Columns whose values do not fall, or rise, from each to the next; missing ones aside.

    Parameters
    ----------
    columns
        Two or more columns, the one of smaller values first.
    strict
        Whether values must differ.
    """

    columns: tuple[str, ...]
    strict: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return self.columns

    def words(self) -> str:
        """Return it in words."""
        return (" < " if self.strict else " ≤ ").join(self.columns)

    def _document(self) -> dict[str, Any]:
        return {"order": list(self.columns), **({"strict": True} if self.strict else {})}

    def parts(self, columns: Sequence[Column]) -> list[Part]:
        """Return which pairs of codes hold values in order."""
        orders = Orders.of(_pairs_in_order([self], columns), columns)
        return [orders.compare(low, high) for low, high, _ in orders.edges]


@dataclass(frozen=True, kw_only=True)
class Determined(Constraint):
    """A column whose value follows from that of another.

    Parameters
    ----------
    source, target
        The column that determines, and the one that is determined.
    groups
        For each value of the target, the values of the source that it goes with.
    listed
        Whether it is written value by value, as `map`.
    """

    source: str
    target: str
    groups: tuple[tuple[Any, Condition], ...]
    listed: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Both columns."""
        return (self.source, self.target)

    def words(self) -> str:
        """Return it in words."""
        return f"{self.source} determines {self.target}"

    def _document(self) -> dict[str, Any]:
        if self.listed:
            pairs = {_name_of(one.values[0]): value for value, one in self.groups}
            return {"determines": {self.source: self.target}, "map": pairs}
        groups = {_name_of(value): condition.to_json() for value, condition in self.groups}
        return {"determines": {self.source: self.target}, "groups": groups}

    def follow(self, columns: Sequence[Column]) -> NDArray[np.int64]:
        """Return for each code of the source the code of the target that it goes with."""
        source, target = (columns[find_column(columns, name)] for name in self.names)
        codes = np.full(source.size, -1, dtype=np.int64)
        for value, condition in self.groups:
            meant = np.flatnonzero(Condition((value,)).select(target))
            if meant.size != 1:
                raise ValueError(f"there is no value {briefly(value)} of {self.target}")
            chosen = condition.select(source)
            twice = np.flatnonzero(chosen & (codes >= 0) & (codes != meant[0]))
            if twice.size:
                name = source.coding.labels[twice[0]]
                raise ValueError(f"{self.source} = {name} determines two values of {self.target}")
            codes[chosen] = meant[0]
        for place, name in enumerate(source.coding.reserved_labels, start=source.coding.proper):
            if codes[place] < 0 and name in target.coding.reserved_labels:
                codes[place] = target.coding.labels.index(name)
        left = np.flatnonzero(codes < 0)
        if left.size:
            name = source.coding.labels[left[0]]
            raise ValueError(
                f"it is not declared what {self.source} = {name} determines"
                + (f", and {left.size - 1:,} more values" if left.size > 1 else "")
            )
        return codes

    def parts(self, columns: Sequence[Column]) -> list[Part]:
        """Return which pairs of codes go together."""
        numbers = tuple(find_column(columns, name) for name in self.names)
        sizes = [columns[number].size for number in numbers]
        if numbers[0] == numbers[1]:
            raise ValueError("a column cannot determine itself")
        if prod(sizes) > MOST_CELLS:
            raise ValueError(
                f"{self.words()}: the columns have {prod(sizes):,} pairs of values; at most "
                f"{MOST_CELLS:,} are allowed; declare fewer values"
            )
        allowed = self.follow(columns)[:, None] == np.arange(sizes[1])
        return [Allowed(numbers, allowed)]


def read_constraints(documents: Any) -> tuple[Constraint, ...]:
    """Return the constraints that a list of tables describes, or say what is wrong with one."""
    if isinstance(documents, Mapping) or not isinstance(documents, list | tuple):
        raise ValueError(
            "constraints must be a list of tables, each begun with [[constraints]] in a file; got "
            f"{briefly(documents)}"
        )
    if len(documents) > MOST_CONSTRAINTS:
        raise ValueError(
            f"at most {MOST_CONSTRAINTS:,} constraints are allowed; got {len(documents):,}; join "
            "impossible combinations that differ in the values of one column"
        )
    found = []
    for number, document in enumerate(documents, start=1):
        try:
            found.append(
                document if isinstance(document, Constraint) else _read_constraint(document)
            )
        except ValueError as failure:
            raise ValueError(f"constraint {number}: {failure}") from None
    return tuple(found)


#: The three forms, and what may stand beside each.
FORMS = {"impossible": (), "order": ("strict",), "determines": ("map", "groups")}


def _read_constraint(document: Any) -> Constraint:
    if not isinstance(document, Mapping):
        raise ValueError("it must be a table, such as {order = ['admitted', 'discharged']}")
    forms = [form for form in FORMS if form in document]
    if len(forms) != 1:
        given = next((key for key in document if key not in FORMS), "")
        raise ValueError(
            f"it must have one of {', '.join(FORMS)}{'' if forms else suggest(given, FORMS)}"
        )
    (form,) = forms
    known = (form, *FORMS[form], "violations")
    strange = [key for key in document if key not in known]
    if strange:
        raise ValueError(
            f"{form} may go with {', '.join(known[1:])}; got {briefly(strange[0])}"
            f"{suggest(strange[0], known)}"
        )
    options = {"violations": document.get("violations", "refuse")}
    OneOf(("refuse", "keep"))("violations", options["violations"])
    body = document[form]
    if form == "order":
        strict = document.get("strict", False)
        if (
            not isinstance(body, list | tuple)
            or len(body) < 2
            or len(set(map(str, body))) < len(body)
            or not isinstance(strict, bool)
        ):
            raise ValueError(
                "order must be a list of two or more different columns, the smaller first, and "
                "strict true or false"
            )
        if len(body) > MOST_IN_ORDER:
            raise ValueError(
                f"an order may have at most {MOST_IN_ORDER} columns; got {len(body):,}; declare "
                "several orders, each beginning with the last column of the one before"
            )
        return Ordered(columns=tuple(map(str, body)), strict=strict, **options)
    if not isinstance(body, Mapping) or not body or not all(isinstance(n, str) for n in body):
        raise ValueError(f"{form} must be a table with columns as keys, which are texts")
    if form == "impossible":
        # Documents are written with sorted keys, and read again they must say the same.
        conditions = tuple((name, Condition.read(body[name])) for name in sorted(body))
        return Impossible(conditions=conditions, **options)
    return _read_determined(document, options)


def _read_determined(document: Mapping[str, Any], options: dict[str, Any]) -> Determined:
    pairs, groups = document.get("map"), document.get("groups")
    given = groups if pairs is None else pairs
    if len(document["determines"]) != 1 or (pairs is None) == (groups is None):
        raise ValueError(
            "determines must be one pair of columns, such as {city = 'region'}, with map (values "
            "of the first as keys) or groups (values of the second as keys)"
        )
    if not isinstance(given, Mapping) or not given:
        raise ValueError("map and groups must be tables with values as keys")
    values = {_name_of(_read_value(key)): one for key, one in given.items()}
    if len(values) < len(given):
        raise ValueError("map and groups must have each value once as a key; got one twice")
    named = [(name, values[name]) for name in sorted(values)]
    if pairs is None:
        entries = tuple((name, Condition.read(one)) for name, one in named)
    else:
        entries = tuple((_read_value(one), Condition((name,))) for name, one in named)
    ((source, target),) = document["determines"].items()
    listed = pairs is not None
    return Determined(source=source, target=str(target), groups=entries, listed=listed, **options)


def compile_rules(columns: Sequence[Column], constraints: Sequence[Constraint]) -> Rules:
    """Return what the constraints of a schema allow, or say what is wrong with one.

    Parameters
    ----------
    columns
        The columns of the schema.
    constraints
        Its constraints.
    """
    parts: list[Part] = []
    for number, constraint in enumerate(constraints, start=1):
        try:
            for name in constraint.names:
                if columns[find_column(columns, name)].coding.is_open:
                    raise ValueError(
                        f"the values of column {name!r} are not declared; list them to use the "
                        "column in a constraint"
                    )
            parts += constraint.parts(columns)
            if len(parts) > MOST_PARTS:
                raise ValueError(
                    f"all constraints to this one have more than {MOST_PARTS:,} combinations and "
                    "pairs of columns in order; declare orders of fewer columns"
                )
        except ValueError as failure:
            raise ValueError(f"constraint {number}: {failure}") from None
    orders = Orders.of(_pairs_in_order(constraints, columns), columns)
    rules = Rules(
        tuple(column.size for column in columns),
        tuple(parts),
        orders if orders.edges else None,
        _find_followers(columns, constraints, orders.ladders),
    )
    if rules.example is None:
        raise ValueError(
            "no row that satisfies all constraints was found: they contradict each other, or are "
            f"too many for a search of {MOST_TRIES:,} steps; remove or change some"
        )
    return rules


def _pairs_in_order(
    constraints: Iterable[Constraint], columns: Sequence[Column]
) -> dict[tuple[int, int], bool]:
    """Return the pairs of columns that are in order, and whether their values must differ."""
    strict: dict[tuple[int, int], bool] = {}
    for constraint in constraints:
        if isinstance(constraint, Ordered):
            numbers = [find_column(columns, name) for name in constraint.columns]
            for place, low in enumerate(numbers):
                # The first and the third are in order too, whether or not the second is missing.
                for high in numbers[place + 1 :]:
                    strict[low, high] = strict.get((low, high), False) or constraint.strict
    return strict


def _find_followers(
    columns: Sequence[Column], constraints: Sequence[Constraint], ordered: Mapping[int, Any]
) -> dict[int, tuple[int, NDArray[np.int64]]]:
    """Return the columns that can be left out and filled in again, and from which."""
    found: dict[int, tuple[int, NDArray[np.int64]]] = {}
    for constraint in constraints:
        if not isinstance(constraint, Determined):
            continue
        source, target = (find_column(columns, name) for name in constraint.names)
        above = source
        while above in found:
            above = found[above][0]
        if target not in found and target not in ordered and above != target:
            found[target] = source, constraint.follow(columns)
    return found


def row_checks(
    columns: Sequence[Column], constraints: Sequence[Constraint]
) -> tuple[RowCheck, ...]:
    """Return the checks of private rows: those of constraints that refuse violations."""
    return tuple(
        RowCheck(constraint.words(), part.columns, part.allows)
        for constraint in constraints
        if constraint.violations == "refuse"
        for part in constraint.parts(columns)
    )
