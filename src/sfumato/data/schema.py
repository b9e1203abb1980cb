"""What a custodian declares about a table before anything is read from it.

A schema is public. It says whose privacy is at stake (can one person have several rows?), which
columns are used, and what values each may have. What was drafted from the data is marked as such
for good, and a draft is good for nothing until the custodian has confirmed it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.data.allowed import Rules
from sfumato.data.constraints import Constraint, compile_rules, read_constraints, row_checks
from sfumato.data.public import check_count
from sfumato.engines.coding import (
    DISCOVER,
    Booleans,
    Categories,
    Coding,
    Dates,
    Discover,
    Integers,
    Numbers,
    Reals,
    coding_from_json,
)
from sfumato.engines.errors import DataError, Problem
from sfumato.engines.intake import IntakeRules
from sfumato.noise.exact import briefly
from sfumato.privacy.escaping import escape
from sfumato.privacy.guarantee import Relation, Unit
from sfumato.privacy.notebook import list_some, show_table
from sfumato.privacy.parameters import Name, OrNone, Text

if TYPE_CHECKING:
    from sfumato.data.table import TablePublic

__all__ = ["Column", "Schema", "list_sizes"]

#: The values of a column with more codes than this are not listed in a notebook.
MOST_LABELS = 1000


@dataclass(frozen=True)
class Column:
    """One column of a schema.

    Parameters
    ----------
    name
        Its name in the table.
    coding
        What values it may have and how they are coded.
    inferred
        Which parts of the declaration were read off the data, such as `("low", "high")`.
    """

    name: str
    coding: Coding
    inferred: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """The number of its codes."""
        return self.coding.size

    def to_json(self) -> dict[str, Any]:
        """Return a plain document, without the name."""
        marks = {"inferred": list(self.inferred)} if self.inferred else {}
        return {**self.coding.to_json(), **marks}

    @classmethod
    def from_json(cls, name: str, document: Mapping[str, Any]) -> Column:
        """Return the column a document describes; an error names the column."""
        if not isinstance(document, Mapping):
            raise ValueError(f"column {name!r}: needs a kind and a domain")
        options = dict(document)
        inferred = _texts(f"column {name!r}: inferred", options.pop("inferred", []))
        try:
            return cls(name, coding_from_json(options), inferred)
        except ValueError as failure:
            raise ValueError(f"column {name!r}: {failure}") from None


@dataclass(frozen=True, kw_only=True)
class Schema:
    """The public declaration of a table.

    Parameters
    ----------
    columns
        The columns that are used, in order. Other columns of the table are not read.
    unit
        `"row"` if no person has more than one row or rows are what is protected, `"person"` if a
        person may have several. `None` in a draft: not yet answered.
    person
        The column that identifies the person, compared as text without surrounding blanks; not
        released unless it is also among the columns.
    max_rows
        The most rows used per person: the first ones in the table's order.
    relation
        `"add_remove"`, or `"replace_one"`, which makes the number of rows public.
    rows_about
        A public estimate of the number of rows, for plans.
    confirmed
        `False` in a draft whose inferred parts the custodian has not yet confirmed.
    left_out
        Columns that a draft left out.
    constraints
        What is known to hold in every row; synthetic rows always satisfy it.
    """

    columns: tuple[Column, ...]
    unit: Unit | None = Unit.ROW
    person: str | None = None
    max_rows: int = 1
    relation: Relation = Relation.ADD_REMOVE
    rows_about: int | None = None
    confirmed: bool = True
    left_out: tuple[str, ...] = field(default=())
    constraints: tuple[Constraint, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        object.__setattr__(self, "relation", Relation.parse(self.relation))
        if self.unit is not None:
            object.__setattr__(self, "unit", Unit.parse(self.unit))
        names = [column.name for column in self.columns]
        if not names or len(set(names)) != len(names):
            raise ValueError("a schema must have one or more columns with distinct names")
        for name in names:
            # It may be empty, as in the first column of many files.
            Text()("the name of a column", name or "_")
        if self.rows_about is not None:
            check_count("rows_about", self.rows_about)
        if not isinstance(self.confirmed, bool):
            raise ValueError(f"confirmed must be true or false; got {briefly(self.confirmed)}")
        self._check_unit()
        object.__setattr__(self, "constraints", read_constraints(self.constraints))
        self.rules  # noqa: B018 - checks that the constraints fit the columns and each other

    def _check_unit(self) -> None:
        """Check that the unit, the person and the bound say one thing."""
        if self.unit is None:
            if self.confirmed:
                raise ValueError(
                    "the schema does not state whether one person can have several rows: set "
                    'unit to "row" (no), or to "person" with person and max_rows (yes)'
                )
            return
        if self.unit not in (Unit.ROW, Unit.PERSON):
            raise ValueError(f'the unit of a table must be "row" or "person"; got "{self.unit}"')
        check_count("max_rows", self.max_rows, least=1)
        OrNone(Name())("person", self.person)
        if self.unit is Unit.ROW and (self.person is not None or self.max_rows != 1):
            raise ValueError('person and max_rows need unit = "person"')
        if self.max_rows > 1 and self.person is None:
            raise ValueError(
                f"max_rows = {self.max_rows} needs person, the column that identifies the person"
            )
        if self.max_rows > 1 and self.relation is Relation.REPLACE_ONE:
            raise ValueError(
                "replace_one makes the number of rows public, which needs one row per person; "
                'use relation = "add_remove", or max_rows = 1'
            )

    @classmethod
    def from_dict(
        cls,
        columns: Mapping[str, Any],
        *,
        unit: str = Unit.ROW,
        person: str | None = None,
        max_rows: int = 1,
        relation: str = Relation.ADD_REMOVE,
        rows_about: int | None = None,
        constraints: Sequence[Any] = (),
    ) -> Schema:
        """Return a schema from Python values.

        Parameters
        ----------
        columns
            For each column: a list of categories, `"discover"` for categories that nobody can
            list, `(low, high, bins)`, `(low, high)` for whole numbers with a code each, `bool`, a
            dictionary as in a schema file, or a coding.
        unit, person, max_rows, relation, rows_about
            As in the class.
        constraints
            Dictionaries as in a schema file, such as `{"order": ["admitted", "discharged"]}`.
        """
        if not isinstance(columns, Mapping):
            raise ValueError(
                "columns must be a dictionary from names to domains, such as "
                f"{{'sex': ['f', 'm']}}; got {briefly(columns)}"
            )
        return cls(
            columns=tuple(Column(str(n), coding_of(n, short)) for n, short in columns.items()),
            unit=Unit.parse(unit),
            person=person,
            max_rows=max_rows,
            relation=Relation.parse(relation),
            rows_about=rows_about,
            constraints=read_constraints(constraints),
        )

    @classmethod
    def of(cls, source: Schema | Mapping[str, Any] | str | Path) -> Schema:
        """Return a schema given as such, as a dictionary of columns or as a file."""
        if isinstance(source, Schema):
            return source
        return cls.from_dict(source) if isinstance(source, Mapping) else cls.read(source)

    @classmethod
    def read(cls, path: str | Path) -> Schema:
        """Return the schema of a TOML file."""
        from sfumato.data.toml import read

        return read(Path(path))

    def write(self, path: str | Path) -> None:
        """Write the schema as a TOML file, with marks at what was inferred and is still open."""
        from sfumato.data.toml import write_schema

        Path(path).write_text(write_schema(self), encoding="utf-8")

    @classmethod
    def draft(cls, source: Any, *, separator: str | None = None) -> Schema:
        """Return a draft made from a frame, a DuckDB relation or a file, to be confirmed.

        It reads the data, so it is for the custodian's eyes: everything it found is marked as
        inferred, and no table can be built with it until it is confirmed. It reads all of them
        into memory, and refuses a file of more than about 2 GiB. The separator is what stands
        between two fields of a CSV file.
        """
        from sfumato.data.draft import draft

        return draft(source, separator)

    def confirm(
        self,
        *,
        unit: str,
        person: str | None = None,
        max_rows: int = 1,
        relation: str | None = None,
        rows_about: int | None = None,
    ) -> Schema:
        """Return the schema as confirmed by the custodian; what was inferred stays marked."""
        return replace(
            self,
            unit=Unit.parse(unit),
            person=person,
            max_rows=max_rows,
            relation=self.relation if relation is None else Relation.parse(relation),
            rows_about=self.rows_about if rows_about is None else rows_about,
            confirmed=True,
        )

    def use_fine_grid(self) -> Schema:
        """Return the same declaration with numbers on a fine grid instead of in bins.

        Bins are for counting; a regression needs the numbers themselves. The bounds, what is done
        with values outside them and with missing ones, and everything else stay as declared.
        """
        columns = tuple(
            column
            if (fine := finer(column.coding)) is column.coding
            else Column(column.name, fine, finer_marks(column.inferred))
            for column in self.columns
        )
        # Numbers on a grid are not released row by row; bounds of constraints need not be on it.
        return replace(self, columns=columns, constraints=())

    def require_confirmed(self) -> None:
        """Refuse a draft, and say how it becomes a schema."""
        if self.confirmed:
            return
        marked = ", ".join(self.inferred) or "none"
        raise DataError(
            Problem(
                wrong="the schema is a draft made from the data and is not confirmed "
                f"(inferred columns: {marked})",
                remedy="Check that every inferred domain is public knowledge, answer whether one "
                "person can have several rows, and set confirmed = true in the file "
                "(or call schema.confirm(unit=…)).",
            )
        )

    def __repr__(self) -> str:
        draft = "" if self.confirmed else ", a draft that is not confirmed"
        person = "" if self.person is None else f", person={escape(self.person)!r}"
        bound = "" if self.max_rows == 1 else f", max_rows={self.max_rows}"
        return (
            f"Schema({{{list_sizes(self)}}}, unit='{self.unit}'{person}{bound}, "
            f"relation='{self.relation}'{draft})"
        )

    def _repr_html_(self) -> str:
        rows = (
            (
                column.name,
                column.coding.kind,
                f"{column.size:,}",
                # A fine grid has a label for each of millions of codes; what a draft read off the
                # data is private until it is confirmed.
                list_some(column.coding.labels)
                if column.size <= MOST_LABELS and (self.confirmed or not column.inferred)
                else "",
                "inferred" if column.inferred else "declared",
            )
            for column in self.columns
        )
        return show_table(repr(self), ("column", "kind", "codes", "values", "domain"), rows)

    @property
    def public(self) -> TablePublic:
        """The public part of tables with this schema, for plans and rehearsals before any data."""
        from sfumato.data.table import TablePublic

        return TablePublic.of(self)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The domain size of each column."""
        return tuple(column.size for column in self.columns)

    @property
    def inferred(self) -> dict[str, tuple[str, ...]]:
        """What was inferred from the data, by column, to be recorded in certificates."""
        return {column.name: column.inferred for column in self.columns if column.inferred}

    @property
    def intake_rules(self) -> IntakeRules:
        """What an engine takes from a table by this schema."""
        codings = {column.name: column.coding for column in self.columns}
        bound = self.max_rows if self.person is not None else None
        checks = row_checks(self.columns, self.constraints)
        return IntakeRules(codings=codings, person=self.person, max_rows=bound, checks=checks)

    @cached_property
    def rules(self) -> Rules:
        """The constraints over the codes of the columns."""
        return compile_rules(self.columns, self.constraints)

    def index(self, name: str) -> int:
        """Return the number of a column."""
        if name not in self.names:
            known = ", ".join(repr(known) for known in self.names)
            raise ValueError(f"there is no column {briefly(name)}; the columns are {known}")
        return self.names.index(name)

    def indices(self, names: Sequence[str]) -> tuple[int, ...]:
        """Return the numbers of several columns."""
        return tuple(self.index(name) for name in names)

    def __getitem__(self, name: str) -> Column:
        return self.columns[self.index(name)]

    def only(self, names: Sequence[str]) -> Schema:
        """Return the schema of some of the columns, in the same order.

        A schema has at least one column: where none is named, the first stays.
        """
        wanted = set(self.indices(names)) or {0}
        return replace(
            self.without([n for n in range(len(self.columns)) if n not in wanted]), left_out=()
        )

    def without(self, numbers: Sequence[int]) -> Schema:
        """Return the schema without some columns, and without the constraints that need them."""
        kept = tuple(column for n, column in enumerate(self.columns) if n not in numbers)
        names = {column.name for column in kept}
        held = tuple(one for one in self.constraints if names.issuperset(one.names))
        return replace(self, columns=kept, constraints=held)

    def to_json(self) -> dict[str, Any]:
        """Return a plain document."""
        return {
            "table": {
                "unit": None if self.unit is None else str(self.unit),
                "person": self.person,
                "max_rows": self.max_rows,
                "relation": str(self.relation),
                "rows_about": self.rows_about,
                "confirmed": self.confirmed,
                "left_out": list(self.left_out),
            },
            "columns": {column.name: column.to_json() for column in self.columns},
            # Documents are written with sorted keys, which would lose the order of the columns.
            "order": list(self.names),
            # Schemas without any are written as they were before there were any.
            **(
                {"constraints": [c.to_json() for c in self.constraints]} if self.constraints else {}
            ),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Schema:
        """Return the schema a document describes, or say what is wrong with it."""
        extra = sorted(set(document) - {"table", "columns", "order", "constraints"})
        if extra or not isinstance(document.get("columns"), Mapping):
            raise ValueError(
                "a schema must have the sections [table], [columns.NAME] and [[constraints]] only"
                + (f"; got {', '.join(extra)}" if extra else "")
            )
        table = document.get("table", {})
        if not isinstance(table, Mapping):
            raise ValueError('[table] must be a section, with lines such as unit = "row"')
        table = dict(table)
        known = ("unit", "person", "max_rows", "relation", "rows_about", "confirmed", "left_out")
        strange = sorted(set(table) - set(known))
        if strange:
            raise ValueError(f"[table] may hold {', '.join(known)}; got {', '.join(strange)}")
        if table.get("unit") == "":
            table["unit"] = None
        table.setdefault("unit", None)
        table["left_out"] = _texts("left_out", table.get("left_out", []))
        columns = document["columns"]
        order = list(document.get("order", columns))
        if sorted(order) != sorted(columns):
            raise ValueError("order must list every column once")
        return cls(
            columns=tuple(Column.from_json(n, columns[n]) for n in order),
            constraints=document.get("constraints", ()),
            **table,
        )

    def canonical(self) -> bytes:
        """Return the schema as bytes that are equal exactly when schemas are."""
        return json.dumps(self.to_json(), sort_keys=True, ensure_ascii=True).encode("ascii")


def list_sizes(schema: Schema) -> str:
    """Return the columns with their sizes in one line."""
    return list_some(f"{column.name!r}: {column.size}" for column in schema.columns)


def _texts(name: str, given: Any) -> tuple[str, ...]:
    """Return a list of texts, or say that it is none."""
    if not isinstance(given, list | tuple) or not all(isinstance(text, str) for text in given):
        raise ValueError(f"{name} must be a list of texts; got {briefly(given)}")
    return tuple(given)


# Columns of numbers as a model needs them: on a fine grid rather than in bins.
#
# Bins are for counting. A schema that declares them serves a regression too, once each column of
# numbers is read between the same bounds and by the same rules, but on the finest grid. Only
# what is declared is looked at.


#: Whole numbers and days have a code each up to so many; more are put on a grid.
MOST_CODES = 2**16


def finer(coding: Coding) -> Coding:
    """Return a column of numbers or dates without bins; any other column as it is."""
    if isinstance(coding, Numbers) and coding.proper > 1:
        return _grid(coding, coding.edges[0], coding.edges[-1])
    if isinstance(coding, Integers) and coding.bins is not None and coding.bins > 1:
        if coding.high - coding.low < MOST_CODES:
            return replace(coding, bins=None)
        return _grid(coding, float(coding.low), float(coding.high))
    if isinstance(coding, Dates) and coding.bins is not None and coding.bins > 1:
        return replace(coding, bins=None)
    return coding


def finer_marks(marks: tuple[str, ...]) -> tuple[str, ...]:
    """Return which parts of a finer column were read off the data."""
    whole = {"edges": ("low", "high"), "bins": (), "decimals": ()}
    found = [name for mark in marks for name in whole.get(mark, (mark,))]
    return tuple(dict.fromkeys(found))


def _grid(coding: Coding, low: float, high: float) -> Coding:
    """Return a grid between two bounds; bounds too close together for one stay as they are."""
    try:
        return Reals(
            low=low,
            high=high,
            missing=coding.missing,
            missing_values=coding.missing_values,
            outside=coding.outside,
        )
    except ValueError:
        return coding


# The short way to write a column's domain in Python.


def coding_of(name: str, short: Any) -> Coding:
    """Return the coding that a short form stands for; an error names the column.

    Parameters
    ----------
    name
        The column, for the error message.
    short
        `["f", "m"]`: categories. `"discover"`: categories that nobody can list, of which the
        frequent ones are found privately. `(0, 120, 16)`: sixteen bins of equal width, whole
        numbers out if the bounds are whole and the bins wide enough. `(0, 9)` or `range(10)`: whole
        numbers, a code each. `(date, date, 12)`: twelve bins of days. `bool`. A dictionary as in a
        schema file. A coding.
    """
    try:
        return _coding(short)
    except (ValueError, OverflowError) as failure:
        raise ValueError(f"column {name!r}: {failure}") from None


def _coding(short: Any) -> Coding:
    if isinstance(short, Coding):
        return short
    if short is bool:
        return Booleans()
    if isinstance(short, str) and short == DISCOVER:
        return Discover()
    if isinstance(short, Mapping):
        return coding_from_json(dict(short))
    if isinstance(short, range):
        if short.step != 1 or not short:
            raise ValueError("a range must have step 1 and not be empty")
        return Integers(low=short[0], high=short[-1])
    if isinstance(short, list):
        return _categories(short)
    if isinstance(short, tuple) and len(short) in (2, 3):
        return _bounds(*short)
    raise ValueError(
        'a domain must be a list of categories, "discover", (low, high, bins), (low, high) for '
        f"whole numbers, bool, a dictionary or a coding; got {type(short).__name__}"
    )


def _categories(values: list[Any]) -> Coding:
    """Return categories, or true and false."""
    if values and all(isinstance(value, bool) for value in values):
        if len(set(values)) == len(values) == 2:
            return Booleans()
        raise ValueError("declare a boolean column as bool")
    return Categories(values=tuple(_plain(value) for value in values))


def _plain(value: Any) -> Any:
    """Return a NumPy scalar as Python's own."""
    return value.item() if hasattr(value, "item") else value


def _bounds(low: Any, high: Any, bins: Any = None) -> Coding:
    """Return bins between two bounds."""
    low, high, bins = _plain(low), _plain(high), _plain(bins)
    if isinstance(low, date) and isinstance(high, date):
        return Dates(low=low, high=high, bins=bins)
    if (
        isinstance(low, bool)
        or not isinstance(low, int | float)
        or not isinstance(high, int | float)
    ):
        raise ValueError(
            "bounds must be two numbers or two dates; write categories as a list, not a tuple"
        )
    if bins is None:
        if isinstance(low, int) and isinstance(high, int):
            return Integers(low=low, high=high)
        raise ValueError("numbers need a number of bins: write (low, high, bins)")
    if type(bins) is not int:
        raise ValueError("the number of bins must be a whole number")
    whole = isinstance(low, int) and isinstance(high, int) and high - low >= bins
    return Numbers.equal(low, high, bins, decimals=0 if whole and high < 2**53 else None)
