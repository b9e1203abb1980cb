"""The private table and its public part.

A table is checked and encoded when it is built, before any door, for the custodian's eyes. From
then on nothing but its codes is kept, nothing of them is shown, and only counting engines see
them.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from sfumato.data.allowed import Rules
from sfumato.data.frames import columns_of, is_relation, names_of, require_order, to_backend
from sfumato.data.public import Public, ShowsPublic
from sfumato.data.schema import Schema, list_sizes
from sfumato.engines.coding import Categories, Discover, Generator
from sfumato.engines.counts import Listed
from sfumato.engines.files import TableFile
from sfumato.engines.intake import IntakeRules, Taken, take
from sfumato.engines.memory import CodeTable, code_type
from sfumato.engines.texts import CODE, FIRST, LACKING, Texts
from sfumato.privacy.forks import refuse_broken_fork
from sfumato.privacy.guarantee import Relation, Unit

__all__ = ["Table", "TablePublic", "read_table"]

DIGEST_BLOCK = 2**24

#: The values of a synthetic column whose values nobody listed, frequent ones first.
MADE_UP = tuple(f"value {number:02d}" for number in range(1, 25))


@dataclass(frozen=True, kw_only=True)
class TablePublic(Public):
    """What is public about a table.

    Parameters
    ----------
    schema
        The declared columns and their domains.
    unit, relation, contribution, rows_about
        As the schema says.
    rows
        The number of rows, only under replace-one.
    """

    kind = "table"
    made_by = "sf.Table(frame, schema)"
    read_by = "sf.read_table(path, schema)"
    __repr__ = Public.__repr__

    schema: Schema
    #: The constraints of columns that are seen through bins or without some; else of the schema.
    seen_rules: Rules | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        schema = self.schema
        declared = (schema.unit, schema.relation, schema.max_rows, schema.rows_about)
        if declared != (self.unit, self.relation, self.contribution, self.rows_about):
            raise ValueError(
                "unit, relation, contribution and rows_about must equal those of the schema"
            )
        if self.seen_rules is not None and self.seen_rules.sizes != schema.sizes:
            raise ValueError("constraints must be over the codes of the columns")

    @classmethod
    def of(cls, schema: Schema, rows: int | None = None) -> TablePublic:
        """Return the public part of tables with this schema."""
        schema.require_confirmed()
        # What a draft did not take up is no part of the table, and nobody else's business.
        schema = replace(schema, left_out=())
        assert schema.unit is not None
        return cls(
            schema=schema,
            unit=schema.unit,
            relation=schema.relation,
            contribution=schema.max_rows,
            rows_about=schema.rows_about,
            rows=rows,
        )

    @classmethod
    def example(
        cls,
        relation: Relation | None,
        max_rows: int | None,
        columns: Mapping[str, Any] | None = None,
    ) -> TablePublic:
        """Return three columns of few values, or those that are given as `Schema.from_dict` takes.

        Parameters
        ----------
        relation, max_rows
            As for every kind of data.
        columns
            The columns.
        """
        declared = columns or {
            "smokes": ["no", "yes"],
            "age": ["young", "middle", "old"],
            "insured": ["no", "yes"],
        }
        return cls.of(
            Schema.from_dict(
                declared,
                unit="row" if max_rows is None else "person",
                person=None if max_rows is None else "who",
                max_rows=max_rows or 1,
                relation=relation or Relation.ADD_REMOVE,
            )
        )

    def only(self, names: Sequence[str]) -> TablePublic:
        """Return what is public about some of the columns."""
        return TablePublic.of(self.schema.only(names), self.rows)

    def brief(self) -> str:
        """Return the columns and their sizes, the unit and the relation."""
        return f"{{{list_sizes(self.schema)}}}, {super().brief()}"

    def facts(self) -> list[tuple[str, object]]:
        """Return the columns, and what is public about data of any kind."""
        return [("columns", list_sizes(self.schema)), *super().facts()]

    def assumptions(self) -> tuple[str, ...]:
        """Return what a guarantee takes as public knowledge, in words."""
        words = ["the names of the columns and the declared domain of each"]
        if self.schema.inferred:
            names = ", ".join(self.schema.inferred)
            words.append(
                f"for {names}: domains inferred from the data and confirmed as public by the "
                "custodian"
            )
        if self.schema.person is not None:
            words.append(f"which rows belong to one person is told by column {self.schema.person}")
        elif self.unit is Unit.PERSON:
            words.append("that no person has more than one row (declared, not checked)")
        if self.schema.constraints:
            listed = "; ".join(constraint.words() for constraint in self.schema.constraints)
            words.append(f"the declared constraints: {listed}")
        return (*words, *super().assumptions())

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self.schema.names

    @property
    def sizes(self) -> tuple[int, ...]:
        """The domain size of each column."""
        return self.schema.sizes

    @property
    def domain(self) -> dict[str, int]:
        """The domain size of each column, by name."""
        return dict(zip(self.columns, self.sizes, strict=True))

    @property
    def rules(self) -> Rules:
        """What constraints allow, over the codes of the columns."""
        return self.schema.rules if self.seen_rules is None else self.seen_rules

    @property
    def undiscovered(self) -> tuple[int, ...]:
        """The numbers of the columns whose values nobody listed and are still to be found."""
        columns = enumerate(self.schema.columns)
        return tuple(n for n, column in columns if isinstance(column.coding, Discover))

    def labels(self, column: str) -> tuple[str, ...]:
        """Return what each code of a column stands for, in words."""
        return self.schema[column].coding.labels

    def frame(
        self,
        codes: NDArray[Any] | Sequence[NDArray[Any]],
        generator: Generator,
        backend: str = "polars",
    ) -> Any:
        """Return synthetic codes as a frame of the custodian's own columns and types.

        Parameters
        ----------
        codes
            Array of shape (rows, columns), or one array for each column.
        generator
            Spreads numbers and dates evenly within their bins.
        backend
            `"polars"`, `"pandas"` or `"pyarrow"`.

        Notes
        -----
        Privacy: a function of the codes it is given and of what is public.
        """
        import polars as pl

        parts = list(codes.T) if isinstance(codes, np.ndarray) else list(codes)
        if len(parts) != len(self.columns):
            raise ValueError(f"there are {len(self.columns)} columns; got codes for {len(parts)}")
        orders = self.rules.orders
        # Values within bins that are in an order are drawn together.
        drawn = {} if orders is None else orders.draw(parts, generator)
        series = [
            (
                pl.select(
                    pl.when(pl.Series(part < column.coding.proper)).then(
                        column.coding.climb(drawn[number])
                    )
                ).to_series()
                if number in drawn
                else column.coding.decode(part, generator)
            ).alias(column.name)
            for number, (column, part) in enumerate(zip(self.schema.columns, parts, strict=True))
        ]
        return to_backend(pl.DataFrame(series), backend)

    def make_synthetic(self, rows: int, generator: Generator) -> Table:
        """Return a table of the same shape with uniformly random codes, for rehearsals.

        Privacy: a function of what is public and of the generator.
        """
        if rows < 0:
            raise ValueError(f"rows must not be negative; got {rows}")
        texts = {number: Texts(MADE_UP) for number in self.undiscovered}
        columns = [
            draw_texts(rows, size, generator)
            if number in texts
            else np.asarray(generator.integers(np.zeros(rows, dtype=np.int64), size)).astype(
                code_type(size)
            )
            for number, size in enumerate(self.sizes)
        ]
        table = Table._of(self.schema, Taken(CodeTable(columns, self.sizes, texts=texts), 0))
        # It goes by the same public facts, the number of rows included, however many it has.
        object.__setattr__(table, "_public", self)
        return table

    def _document(self) -> dict[str, Any]:
        return {"schema": self.schema.to_json()}

    @classmethod
    def _from_document(cls, document: dict[str, Any]) -> TablePublic:
        return cls.of(Schema.from_json(document["schema"]), document["rows"])


class Table(ShowsPublic):
    """A private table.

    Parameters
    ----------
    frame
        A pandas, Polars or PyArrow frame, or a DuckDB relation. Columns that are not in the
        schema are not read. If the schema names a person, the first `max_rows` rows of each
        person are used, so the rows need a fixed order: a Polars LazyFrame or a DuckDB relation
        is refused then, since a query may give its rows in another order on each run.
    schema
        The declaration of the table: a `Schema`, a dictionary as for `Schema.from_dict`, or the
        path of a schema file.
    fine_grid
        Read numbers on a fine grid between the declared bounds instead of in the declared bins,
        as a regression needs them. To a ledger it is the same table.

    Raises
    ------
    DataError
        If a value is outside its column's domain, or if the order of rows matters and is
        not fixed. All problems are collected; each states column and row, never by value.
    """

    __slots__ = ("_coarse", "_dropped", "_public", "_table")

    _coarse: Table | None
    _dropped: int
    _public: TablePublic
    _table: CodeTable

    def __init__(
        self,
        frame: Any,
        schema: Schema | Mapping[str, Any] | str | Path,
        *,
        fine_grid: bool = False,
    ) -> None:
        refuse_broken_fork()
        declared = Schema.of(schema)
        declared.require_confirmed()
        rules = declared.intake_rules
        if rules.person is not None:
            require_order(frame)
        rules.check_names(names_of(frame))
        if is_relation(frame):
            from sfumato.engines.duckdb import take_relation

            self._fill_with_grid(declared, lambda wanted: take_relation(frame, wanted), fine_grid)
        else:
            columns = columns_of(frame, rules.needed)
            self._fill_with_grid(declared, lambda wanted: take(columns, wanted), fine_grid)

    def _fill_with_grid(
        self, schema: Schema, taking: Callable[[IntakeRules], Taken], fine_grid: bool
    ) -> None:
        """Take a table in as it is declared, or on a fine grid and as declared beside it."""
        fine = schema.use_fine_grid() if fine_grid else schema
        self._fill(fine, taking(fine.intake_rules))
        if fine != schema:
            object.__setattr__(self, "_coarse", Table._of(schema, taking(schema.intake_rules)))

    @classmethod
    def _of(cls, schema: Schema, taken: Taken) -> Table:
        table = cls.__new__(cls)
        table._fill(schema, taken)
        return table

    def _fill(self, schema: Schema, taken: Taken) -> None:
        rows = taken.table.rows if schema.relation is Relation.REPLACE_ONE else None
        object.__setattr__(self, "_coarse", None)
        object.__setattr__(self, "_table", taken.table)
        object.__setattr__(self, "_dropped", taken.dropped)
        object.__setattr__(self, "_public", TablePublic.of(schema, rows))

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a table cannot be changed; build a new one")

    def __reduce__(self) -> NoReturn:
        raise TypeError("a private table cannot be pickled; save a release of it instead")

    @property
    def public(self) -> TablePublic:
        """What is public about it."""
        return self._public

    def only(self, names: Sequence[str]) -> Table:
        """Return a view of some of the columns; to a ledger it is the same table."""
        public = self._public.only(names)
        kept = [(column, None) for column in self._public.schema.indices(public.columns)]
        view = Table.__new__(Table)
        object.__setattr__(view, "_coarse", self)
        object.__setattr__(view, "_table", self._table.recode(kept))
        object.__setattr__(view, "_dropped", self._dropped)
        object.__setattr__(view, "_public", public)
        return view

    def see_values(self, schema: Schema) -> Table:
        """Return a view in which open columns have the values that another schema lists.

        To a ledger it is the same table.

        Parameters
        ----------
        schema
            The same columns, with the values that were found in those that nobody listed.
        """
        listed = {
            number: Listed(tuple(map(str, coding.values)))
            for number in self._public.undiscovered
            if isinstance(coding := schema.columns[number].coding, Categories)
        }
        columns = [(n, listed.get(n)) for n in range(len(schema.columns))]
        view = Table.__new__(Table)
        object.__setattr__(view, "_coarse", self)
        object.__setattr__(view, "_table", self._table.recode(columns))
        object.__setattr__(view, "_dropped", self._dropped)
        object.__setattr__(view, "_public", TablePublic.of(schema, self._public.rows))
        return view

    @property
    def counts(self) -> CodeTable:
        """The engine that counts in it. Private."""
        return self._table

    @property
    def dropped_rows(self) -> int:
        """How many rows the contribution bound left out. For the custodian's eyes only."""
        return self._dropped

    def digest(self, key: bytes) -> bytes:
        """Return HMAC-SHA256 of the schema and all codes, which binds a ledger to the table.

        Without the key it reveals nothing about the data, not even whether a guess is right.
        """
        if self._coarse is not None:
            # A ledger knows a table by all that was declared of it, on whatever grid it is read and
            # whichever columns of it are looked at.
            return self._coarse.digest(key)
        if len(key) < 16:
            raise ValueError(f"the key must have at least 16 bytes; got {len(key)}")
        code = hmac.new(key, digestmod=hashlib.sha256)
        # A guess at the number of rows, a taxonomy, constraints, or what a draft left out say
        # nothing about the data: with others it is the same table.
        schema = self._public.schema
        columns = [replace(c, coding=c.coding.without_taxonomy()) for c in schema.columns]
        plain = replace(
            schema, columns=tuple(columns), rows_about=None, left_out=(), constraints=()
        )
        declared = plain.canonical()
        code.update(f"sfumato table 1 {len(declared)} {self._table.rows} ".encode())
        code.update(declared)
        for number in range(len(self._table.sizes)):
            codes, texts = self._table.kept(number)
            if texts is not None:
                listed = json.dumps(texts.values).encode()
                code.update(f"{len(listed)} ".encode() + listed)
            for first in range(0, len(codes), DIGEST_BLOCK):
                block = codes[first : first + DIGEST_BLOCK]
                code.update(block.astype(block.dtype.newbyteorder("<"), copy=False).tobytes())
        return code.digest()


def read_table(
    path: str | Path,
    schema: Schema | Mapping[str, Any] | str | Path,
    *,
    engine: str = "auto",
    separator: str | None = None,
    fine_grid: bool = False,
) -> Table:
    """Read a private table from a CSV file (plain, .gz or .xz) or a Parquet file.

    Parameters
    ----------
    path
        The file.
    schema
        As for `Table`.
    engine
        `"memory"`, `"duckdb"` for files larger than memory, or `"auto"`, which chooses by
        `rows_about` and the number of columns. The codes are the same.
    separator
        The separator of a CSV file; a comma unless the name ends in .tsv.
    fine_grid
        As for `Table`.

    Raises
    ------
    DataError
        As for `Table`, and for a CSV file that is not strictly one: a row with too few or too
        many fields, a stray quote, mixed line ends, or text that is not UTF-8.
    """
    refuse_broken_fork()
    declared = Schema.of(schema)
    declared.require_confirmed()
    file = TableFile(Path(path), separator)
    rules = declared.intake_rules
    chosen = file.choose_engine(engine, declared.rows_about, len(rules.needed))
    rules.check_names(file.names())
    table = Table.__new__(Table)
    if chosen == "duckdb":
        from sfumato.engines.duckdb import take_file

        table._fill_with_grid(declared, lambda wanted: take_file(file, wanted), fine_grid)
    else:
        columns = file.read(rules.needed)
        table._fill_with_grid(declared, lambda wanted: take(columns, wanted), fine_grid)
    return table


# A private table without some of its columns or rows. As private as the table itself.


def without_columns(table: Table, names: Sequence[str]) -> Table:
    """Return the same rows without some columns.

    Parameters
    ----------
    table
        The private table.
    names
        The columns that are left out; at least one must remain.
    """
    schema = table.public.schema
    gone = set(schema.indices(tuple(names)))
    kept = [number for number in range(len(schema.columns)) if number not in gone]
    return _copy_table(table, schema.without(tuple(gone)), kept, slice(None))


def with_rows(table: Table, kept: NDArray[np.bool_]) -> Table:
    """Return some of the rows.

    Parameters
    ----------
    table
        The private table.
    kept
        Which rows are kept.
    """
    schema = table.public.schema
    return _copy_table(table, schema, list(range(len(schema.columns))), kept)


def _copy_table(
    table: Table, schema: Schema, columns: list[int], rows: NDArray[np.bool_] | slice
) -> Table:
    """Return some columns and rows of a table."""
    kept = [table.counts.kept(number) for number in columns]
    texts = {number: texts for number, (_, texts) in enumerate(kept) if texts is not None}
    codes = CodeTable([codes[rows] for codes, _ in kept], schema.sizes, texts=texts)
    return Table._of(schema, Taken(codes, table.dropped_rows))


def draw_texts(rows: int, size: int, generator: Generator) -> NDArray[Any]:
    """Return the codes of synthetic texts, the first ones the most frequent, some missing.

    Parameters
    ----------
    rows
        How many.
    size
        The declared size of the column, which is 2 where missing values have a code.
    generator
        What draws them.
    """
    place = np.asarray(generator.random(rows)) ** 2 * len(MADE_UP)
    codes = FIRST + place.astype(np.int64)
    lacking = np.asarray(generator.random(rows)) < (0.05 if size > 1 else 0.0)
    return np.where(lacking, LACKING, codes).astype(CODE)
