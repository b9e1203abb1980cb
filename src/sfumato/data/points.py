"""Private points in a box.

Points are checked and put on a public grid when they are taken in, before any door, for the
custodian's eyes. From then on nothing but their sorted keys is kept, nothing of them is shown, and
only counting engines see them.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from sfumato.data.frames import column_of, columns_of, is_relation, names_of, require_order
from sfumato.data.points_public import AxisNames, PointsPublic
from sfumato.data.public import ShowsPublic
from sfumato.engines.errors import DataError, Problem
from sfumato.engines.files import TableFile
from sfumato.engines.memory_points import MemoryPoints
from sfumato.engines.point_intake import TakenPoints, stream_points, take_points
from sfumato.privacy.arguments import read_names
from sfumato.privacy.canonical import canonical
from sfumato.privacy.forks import refuse_broken_fork
from sfumato.privacy.guarantee import Relation

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Points", "PointsPublic", "read_points"]

DIGEST_BLOCK = 2**21

Bounds = Sequence[Sequence[float]]


class Points(ShowsPublic):
    """Private points in a box of one dimension or more.

    Parameters
    ----------
    values
        An array of shape (points, axes), or a pandas, Polars or PyArrow frame or a DuckDB relation
        whose columns `names` are the axes.
    bounds
        The least and the greatest value per axis, both included. They are public: declare
        them from public knowledge, never from the data.
    names
        The names of the axes; for a frame, its columns.
    unit
        The protected unit: `"point"`, or `"person"` with up to `max_points` points.
    relation
        `"add_remove"`, or `"replace_one"` where the number of points is public.
    person
        For unit `"person"`: the person of each point, as an array or a column of the frame.
    max_points
        For unit `"person"`: the most points used per person, the first ones in order.
    rows_about
        A public estimate of the number of points, for plans.
    outside
        The rule for points outside the bounds: `"refuse"`: an error; `"clamp"`: they are moved
        to the nearest bound; `"drop"`: they are left out. The rule is public.
    geographic
        Whether the first axis is the longitude and the second the latitude, in degrees.

    Raises
    ------
    DataError
        If a value is missing, is not a number, or lies outside bounds that refuse. All problems are
        collected; each states axis and row, never the value.
    """

    __slots__ = ("_dropped", "_points", "_public")

    _dropped: int
    _points: MemoryPoints
    _public: PointsPublic

    def __init__(
        self,
        values: Any,
        bounds: Bounds,
        *,
        names: Sequence[str] | None = None,
        unit: str = "point",
        relation: str = "add_remove",
        person: Any = None,
        max_points: int | None = None,
        rows_about: int | None = None,
        outside: str = "refuse",
        geographic: bool = False,
    ) -> None:
        refuse_broken_fork()
        _check_source(values)
        if names is not None:
            names = AxisNames()("names", names)
        elif not is_array(values):
            own = person if isinstance(person, str) else None
            names = [name for name in names_of(values) if name != own]
        public = _declare_public(
            bounds,
            names=names,
            unit=unit,
            relation=relation,
            person=_person_name(person, names),
            max_points=max_points,
            rows_about=rows_about,
            outside=outside,
            geographic=geographic,
        )
        taken = _take_in(values, person, public)
        self._fill(_with_rows(public, taken), taken)

    @classmethod
    def _of(cls, public: PointsPublic, taken: TakenPoints) -> Points:
        points = cls.__new__(cls)
        points._fill(public, taken)
        return points

    def _fill(self, public: PointsPublic, taken: TakenPoints) -> None:
        object.__setattr__(self, "_points", taken.points)
        object.__setattr__(self, "_dropped", taken.dropped)
        object.__setattr__(self, "_public", public)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("points cannot be changed; build new ones")

    def __reduce__(self) -> NoReturn:
        raise TypeError("private points cannot be pickled; save a release of them instead")

    @property
    def public(self) -> PointsPublic:
        """What is public about them."""
        return self._public

    @property
    def counts(self) -> MemoryPoints:
        """The engine that counts in them. Private."""
        return self._points

    @property
    def dropped_points(self) -> int:
        """How many points the bounds and the contribution bound left out. For the custodian."""
        return self._dropped

    def digest(self, key: bytes) -> bytes:
        """Return HMAC-SHA256 of what is declared and of all points, which binds a ledger to them.

        Without the key it reveals nothing about the points, not even whether a guess is right. It
        does not depend on their order.
        """
        if len(key) < 16:
            raise ValueError(f"the key must have at least 16 bytes; got {len(key)}")
        code = hmac.new(key, digestmod=hashlib.sha256)
        # A guess at the number of points says nothing about them.
        declared = canonical(replace(self._public, rows_about=None).to_json())
        code.update(f"sfumato points 1 {len(declared)} {self._points.rows} ".encode())
        code.update(declared)
        for block in self._points.blocks(DIGEST_BLOCK):
            code.update(block.astype(block.dtype.newbyteorder("<"), copy=False).tobytes())
        return code.digest()


def read_points(
    path: str | Path,
    *,
    columns: str | Sequence[str],
    bounds: Bounds,
    engine: str = "auto",
    separator: str | None = None,
    person: str | None = None,
    max_points: int | None = None,
    unit: str = "point",
    relation: str = "add_remove",
    rows_about: int | None = None,
    outside: str = "refuse",
    geographic: bool = False,
) -> Points:
    """Read private points from a CSV file (plain, .gz or .xz) or a Parquet file.

    Parameters
    ----------
    path
        The file.
    columns
        The columns that are the axes.
    bounds
        As for `Points`.
    engine
        `"memory"`, `"duckdb"` for files larger than memory, or `"auto"`, which chooses by
        `rows_about` and the number of columns. The points are the same. DuckDB keeps 8 bytes
        per point in the folder for temporary files, and as much again while it sorts them.
    separator
        The separator of a CSV file; a comma unless the name ends in .tsv.
    person
        For unit `"person"`: the column that identifies the person.
    max_points, unit, relation, rows_about, outside, geographic
        As for `Points`.

    Raises
    ------
    DataError
        As for `Points`, and for a CSV file that is not strictly one.
    """
    refuse_broken_fork()
    public = _declare_public(
        bounds,
        names=columns,
        unit=unit,
        relation=relation,
        person=person,
        max_points=max_points,
        rows_about=rows_about,
        outside=outside,
        geographic=geographic,
    )
    file = TableFile(Path(path), separator)
    rules = public.intake_rules
    chosen = file.choose_engine(engine, rows_about, len(rules.needed))
    rules.check_names(file.names())
    if chosen == "duckdb":
        from sfumato.engines.duckdb import Folder, file_chunks

        with Folder() as folder, file_chunks(file, rules.needed, folder) as chunks:
            taken = stream_points(chunks, rules, public.morton, folder)
    else:
        taken = take_points(file.read(rules.needed), rules, public.morton)
    return Points._of(_with_rows(public, taken), taken)


def _declare_public(
    bounds: Bounds,
    *,
    names: str | Sequence[str] | None,
    person: str | None,
    max_points: int | None,
    **options: Any,
) -> PointsPublic:
    """Return the public part that the arguments declare."""
    if (person is None) != (max_points is None):
        raise ValueError('person and max_points need each other, and unit = "person"')
    return PointsPublic(
        bounds=bounds,  # type: ignore[arg-type]
        names=() if names is None else read_names(names),
        person=person,
        contribution=1 if max_points is None else max_points,
        **options,
    )


def _with_rows(public: PointsPublic, taken: TakenPoints) -> PointsPublic:
    """Return the public part with the number of points where it is public."""
    replaced = public.relation is Relation.REPLACE_ONE
    return replace(public, rows=taken.points.rows) if replaced else public


def _take_in(values: Any, person: Any, public: PointsPublic) -> TakenPoints:
    """Take in an array, a frame or a relation."""
    rules, morton = public.intake_rules, public.morton
    if is_array(values):
        columns = array_columns(values, public.names)
        return take_points(_with_person(columns, person, public), rules, morton)
    if person is not None:
        require_order(values)
    apart = person is not None and not isinstance(person, str)
    wanted = list(public.names) if apart else rules.needed
    present = [name for name in names_of(values) if name in wanted]
    rules.check_names([*present, str(public.person)] if apart else present)
    if is_relation(values):
        from sfumato.engines.duckdb import Folder, relation_chunks

        with Folder() as folder:
            return stream_points(relation_chunks(values, wanted), rules, morton, folder)
    columns = columns_of(values, wanted)
    return take_points(_with_person(columns, person, public) if apart else columns, rules, morton)


def _person_name(person: Any, names: Sequence[str] | None) -> str | None:
    """Return what the column of persons is called; one that came as an array has no name yet."""
    if person is None or isinstance(person, str):
        return person
    name = "person"
    while name in (names or ()):
        name += "_"
    return name


def _with_person(
    columns: dict[str, pl.Series], person: Any, public: PointsPublic
) -> Mapping[str, pl.Series]:
    """Return the columns with whose each point is, where that came as an array."""
    if person is None:
        return columns
    rows = len(next(iter(columns.values())))
    return {**columns, str(public.person): person_column(person, rows)}


def _check_source(values: Any) -> None:
    """Refuse what is neither an array nor a frame."""
    if isinstance(values, str | bytes | Path):
        raise DataError(
            Problem(
                wrong="points need an array or a frame; got a path",
                remedy="Read a file with read_points(path, columns=…, bounds=…).",
            )
        )
    if not is_array(values) and not any(
        hasattr(values, name) for name in ("collect_schema", "column_names", "columns")
    ):
        raise TypeError(
            "points need an array of shape (points, axes), a pandas, Polars or PyArrow frame or "
            f"a DuckDB relation; got {type(values).__name__}"
        )


# From arrays of any type to plain columns of coordinates.
#
# Nothing is guessed and nothing raises on a value: what cannot be read as a number is left for the
# coding of its axis to report by row.


def is_array(values: Any) -> bool:
    """Return whether values are an array or nested lists, and not a frame."""
    return isinstance(values, np.ndarray | list | tuple)


def array_columns(values: Any, names: Sequence[str]) -> dict[str, pl.Series]:
    """Return the columns of an array of shape (points, axes) by the names of its axes.

    Parameters
    ----------
    values
        An array or nested lists. For one axis the shape may be (points,); an empty list stands
        for no points.
    names
        The names of the axes.
    """
    array = _array(values)
    if array.ndim == 1 and (len(names) == 1 or len(array) == 0):
        array = array.reshape(len(array), len(names))
    if array.ndim != 2 or array.shape[1] != len(names):
        raise DataError(
            Problem(
                wrong=f"the array must have shape (points, {len(names)}), one column per axis; "
                f"it has {array.ndim} dimensions"
                + (f" and {array.shape[1]} columns" if array.ndim == 2 else ""),
                remedy="Give as many columns as bounds.",
            )
        )
    return {name: column_of(array[:, axis]) for axis, name in enumerate(names)}


def person_column(persons: Any, rows: int) -> pl.Series:
    """Return whose each point is, as a column."""
    listed = persons if hasattr(persons, "__len__") else list(persons)
    if getattr(listed, "ndim", 1) != 1 or len(listed) != rows:
        raise DataError(
            Problem(
                wrong="person must hold one identifier per point",
                remedy="Give an array as long as the points.",
            )
        )
    return column_of(listed)


def _array(values: Any) -> NDArray[Any]:
    """Return an array of whatever type fits, without a value in any exception."""
    if isinstance(values, np.ndarray):
        return values
    try:
        array = np.asarray(values)
        # Plain numbers have one type whatever the others are; where they would not, a type
        # inferred from all records would change how each of them is read.
        return array if _plain_floats(values) else np.asarray(values, dtype=object)
    except (ValueError, TypeError, OverflowError):
        pass
    raise DataError(
        Problem(
            wrong="the lists have different lengths",
            remedy="Give each point as many coordinates as there are bounds.",
        )
    )


def _plain_floats(values: Any) -> bool:
    """Tell whether lists hold Python's own floats and small whole numbers and nothing else."""
    for item in values:
        if isinstance(item, list | tuple):
            if not _plain_floats(item):
                return False
        elif type(item) is not float and not (type(item) is int and abs(item) < 2**53):
            return False
    return True
