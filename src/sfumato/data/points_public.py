"""What is public about points: their bounds, their axes, and the grid they are counted on.

It may never be made from the points: bounds taken from the data would tell where the outermost
points lie.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import floor, isfinite, log2, ulp
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.public import Public
from sfumato.engines.coding import Generator
from sfumato.engines.intake import IntakeRules
from sfumato.engines.memory_points import MemoryPoints, MortonOrder, turns
from sfumato.engines.point_intake import Coordinates, TakenPoints
from sfumato.noise.exact import briefly
from sfumato.privacy.guarantee import Relation, Unit
from sfumato.privacy.notebook import list_some
from sfumato.privacy.parameters import Flag, Name, Names, OneOf, OrNone

if TYPE_CHECKING:
    from sfumato.data.points import Points

__all__ = ["MOST_DIMENSIONS", "PointsPublic"]

MOST_DIMENSIONS = 16
"""The most axes: a key has 64 bits, and each axis needs some."""

EARTH = ((-180.0, 180.0), (-90.0, 90.0))
"""Longitude and latitude in degrees."""

OUTSIDE = ("refuse", "clamp", "drop")


class AxisNames(Names):
    """A list of distinct names of axes."""

    allowed = "a list of distinct names, one per axis"

    def parse(self, value: Any) -> tuple[str, ...]:
        """Return the names as a tuple; they may come as an index of a frame."""
        listed = isinstance(value, Iterable) and not isinstance(value, str)
        return super().parse(tuple(value) if listed else value)


@dataclass(frozen=True, kw_only=True)
class PointsPublic(Public):
    """What is public about points.

    Parameters
    ----------
    bounds
        The least and greatest value of each axis, both included: declared, never measured.
    names
        What the axes are called; by default x, y, z, or longitude and latitude.
    geographic
        Whether the first axis is the longitude and the second the latitude, in degrees.
    outside
        What became of points outside the bounds: `"refuse"`: there were none; `"clamp"`: they were
        moved to the nearest bound; `"drop"`: they were left out.
    person
        The column that told whose point it is, where contributions are bounded.
    unit, relation, contribution, rows, rows_about
        As for every kind of data.
    """

    kind = "points"
    made_by = "sf.Points(array, bounds=[(low, high), …])"
    read_by = "sf.read_points(path, columns=[…], bounds=[(low, high), …])"
    __repr__ = Public.__repr__
    bound = "max_points"

    bounds: tuple[tuple[float, float], ...]
    names: tuple[str, ...] = ()
    geographic: bool = False
    outside: str = "refuse"
    person: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "bounds", _check_bounds(self.bounds))
        Flag()("geographic", self.geographic)
        names = self.names
        if isinstance(names, list | tuple) and not names:
            names = _default_names(self.dimensions, self.geographic)
        object.__setattr__(self, "names", _check_names(names, self.dimensions))
        if self.geographic:
            self._check_earth()
        OneOf(OUTSIDE)("outside", self.outside)
        if self.bits < min(8, 64 // self.dimensions):
            raise ValueError(
                "the bounds are too close together for double precision; subtract a public "
                "constant from the axis and declare bounds nearer to 0"
            )
        self._check_unit()

    @classmethod
    def example(cls, relation: Relation | None, max_rows: int | None) -> PointsPublic:
        """Return a unit square."""
        return cls(
            bounds=((0.0, 1.0), (0.0, 1.0)),
            unit=Unit.POINT if max_rows is None else Unit.PERSON,
            person=None if max_rows is None else "who",
            relation=relation or Relation.ADD_REMOVE,
            contribution=max_rows or 1,
        )

    def _check_earth(self) -> None:
        """Check that the first two axes are longitude and latitude."""
        if self.dimensions < 2:
            raise ValueError("geographic points need a longitude and a latitude; got one axis")
        first, second = (name.lower() for name in self.names[:2])
        if first.startswith("lat") or second.startswith(("lon", "lng")):
            raise ValueError(
                "geographic points need the longitude as first axis and the latitude as second; "
                f"got {self.names[0]!r} and {self.names[1]!r}; declare them in the other order"
            )
        for (low, high), (least, most), word in zip(
            self.bounds, EARTH, ("longitude", "latitude"), strict=False
        ):
            if low < least or high > most:
                raise ValueError(
                    f"the {word} must lie within {least:g} to {most:g} degrees; got {low:g} to "
                    f"{high:g}; the first axis is the longitude, the second the latitude"
                )

    def _check_unit(self) -> None:
        """Check that the unit, the person, the relation and the policy say one thing."""
        if self.unit not in (Unit.POINT, Unit.PERSON):
            raise ValueError(f'the unit of points must be "point" or "person"; got "{self.unit}"')
        OrNone(Name())("person", self.person)
        if (self.unit is Unit.PERSON) != (self.person is not None):
            raise ValueError('unit = "person" goes with person and max_points, and only with them')
        if self.unit is Unit.POINT and self.contribution != 1:
            raise ValueError('max_points needs unit = "person"')
        if self.relation is not Relation.REPLACE_ONE:
            return
        if self.contribution > 1:
            raise ValueError(
                "under replace-one the number of points is public, which needs one point per "
                f'person; got max_points = {self.contribution}; use relation = "add_remove"'
            )
        if self.outside == "drop":
            raise ValueError(
                "under replace-one the number of points is public, and dropping points would make "
                'it depend on where they lie; use outside = "clamp" or relation = "add_remove"'
            )

    @property
    def dimensions(self) -> int:
        """The number of axes."""
        return len(self.bounds)

    @property
    def bits(self) -> int:
        """How often each axis can be halved: 32, or less where 64 bits are shared by many axes."""
        # A step of the grid is never less than the distance of two doubles at the far bound.
        steps = [(b - a) / ulp(max(abs(a), abs(b))) for a, b in self.bounds]
        return min(32, 64 // self.dimensions, floor(log2(min(steps))))

    @property
    def axes(self) -> tuple[int, ...]:
        """Which axis each successive halving splits: all in turn."""
        return turns(self.dimensions, self.bits)

    @property
    def morton(self) -> MortonOrder:
        """How coordinates on the grid become keys."""
        return MortonOrder(self.dimensions, self.axes)

    @property
    def intake_rules(self) -> IntakeRules:
        """What is taken from a file or frame of points."""
        bits = self.bits
        codings = {
            name: Coordinates(low=low, high=high, bits=bits, outside=self.outside)
            for name, (low, high) in zip(self.names, self.bounds, strict=True)
        }
        most = None if self.person is None else self.contribution
        return IntakeRules(codings=codings, person=self.person, max_rows=most)

    def boxes(self, prefixes: NDArray[np.uint64], length: int) -> NDArray[np.float64]:
        """Return the cells named by prefixes of `length` halvings.

        Returns
        -------
        boxes
            Array of shape (cells, dimensions, 2): the lower and the upper edge on each axis. A
            cell holds its lower edges and not its upper ones, but for the bounds themselves.
        """
        splits = len(self.axes)
        if not 0 <= length <= splits:
            raise ValueError(f"a prefix must have 0 to {splits} halvings; got {length}")
        wanted = np.asarray(prefixes, dtype=np.uint64).reshape(-1)
        if length < 64 and (wanted >> np.uint64(length)).any():
            raise ValueError(f"a prefix of {length} halvings is less than 2**{length}")
        # A shift by all 64 bits has no meaning in C.
        keys = wanted << np.uint64(splits - length) if length else np.zeros_like(wanted)
        found = np.empty((len(wanted), self.dimensions, 2))
        low = self.morton.coordinates(keys)
        for axis, coding in enumerate(self.intake_rules.codings.values()):
            assert isinstance(coding, Coordinates)
            wide = 1 << (self.bits - self.axes[:length].count(axis))
            found[:, axis, 0] = coding.edge(low[axis])
            found[:, axis, 1] = coding.edge(low[axis] + np.uint64(wide))
        return found

    def make_synthetic(self, rows: int, generator: Generator) -> Points:
        """Return uniformly random points within the bounds, for rehearsals.

        Privacy: a function of what is public and of the generator.
        """
        from sfumato.data.points import Points

        if rows < 0:
            raise ValueError(f"rows must not be negative; got {rows}")
        columns = [
            np.asarray(generator.integers(np.zeros(rows, dtype=np.int64), 1 << self.bits))
            for _ in range(self.dimensions)
        ]
        points = MemoryPoints(np.stack(columns, axis=1), self.axes)
        # It goes by the same public facts, the number of rows included, however many it has.
        return Points._of(self, TakenPoints(points, 0))

    def brief(self) -> str:
        """Return the axes with their bounds, the unit and the relation."""
        return f"{{{self._axes()}}}, {super().brief()}"

    def facts(self) -> list[tuple[str, object]]:
        """Return the axes, and what is public about data of any kind."""
        outside = [] if self.outside == "refuse" else [("outside", self.outside)]
        return [("axes", self._axes()), *outside, *super().facts()]

    def _axes(self) -> str:
        """Return the axes with their bounds in one line."""
        pairs = zip(self.names, self.bounds, strict=True)
        return list_some(f"{name!r}: {low:g} to {high:g}" for name, (low, high) in pairs)

    def assumptions(self) -> tuple[str, ...]:
        """Return what a guarantee takes as public knowledge, in words."""
        names = ", ".join(self.names)
        words = [f"the declared bounds of {names}"]
        if self.outside == "clamp":
            words.append("that points outside the bounds were moved to the nearest bound")
        if self.outside == "drop":
            words.append("that points outside the bounds were left out")
        if self.person is not None:
            words.append(f"which points belong to one person is told by {self.person}")
        return (*words, *super().assumptions())

    def _document(self) -> dict[str, Any]:
        return {
            "bounds": [list(pair) for pair in self.bounds],
            "names": list(self.names),
            "geographic": self.geographic,
            "outside": self.outside,
            "person": self.person,
        }

    @classmethod
    def _from_document(cls, document: dict[str, Any]) -> PointsPublic:
        return cls(
            bounds=tuple((low, high) for low, high in document["bounds"]),
            names=tuple(document["names"]),
            geographic=document["geographic"],
            outside=document["outside"],
            person=document["person"],
            unit=document["unit"],
            relation=document["relation"],
            contribution=document["contribution"],
            rows=document["rows"],
            rows_about=document["rows_about"],
        )


def _check_bounds(bounds: Sequence[Sequence[float]]) -> tuple[tuple[float, float], ...]:
    """Return bounds as pairs of floats, or say what is wrong with them."""
    try:
        pairs = [tuple(pair) for pair in bounds]
    except TypeError:
        raise ValueError("bounds must be one pair (low, high) per axis") from None
    if not 1 <= len(pairs) <= MOST_DIMENSIONS:
        raise ValueError(f"points must have 1 to {MOST_DIMENSIONS} axes; got {len(pairs)} bounds")
    return tuple(_check_pair(number, pair) for number, pair in enumerate(pairs, start=1))


def _check_pair(number: int, pair: tuple[Any, ...]) -> tuple[float, float]:
    """Return the bounds of one axis as floats, or say what is wrong with them."""
    if len(pair) != 2 or any(isinstance(b, bool) or not isinstance(b, Real) for b in pair):
        raise ValueError(f"the bounds of axis {number} must be a pair of numbers (low, high)")
    try:
        # Adding 0.0 turns -0.0 into 0.0, so that equal bounds are written alike.
        low, high = float(pair[0]) + 0.0, float(pair[1]) + 0.0
    except OverflowError:
        raise ValueError(f"the bounds of axis {number} must be finite") from None
    if not isfinite(low) or not isfinite(high) or not isfinite(high - low):
        raise ValueError(f"the bounds of axis {number} must be finite, and so must their distance")
    if low >= high:
        raise ValueError(
            f"the lower bound of axis {number} must be less than the upper one; got {low!r} and "
            f"{high!r}"
        )
    return low, high


def _default_names(dimensions: int, geographic: bool) -> tuple[str, ...]:
    """Return names for axes that were given none."""
    plain = ("x", "y", "z") if dimensions <= 3 else [f"x{i + 1}" for i in range(dimensions)]
    first = ("longitude", "latitude") if geographic else ()
    return (*first, *plain[len(first) : dimensions])[:dimensions]


def _check_names(names: Any, dimensions: int) -> tuple[str, ...]:
    """Return the names of the axes, or say what is wrong with them."""
    found: tuple[str, ...] = AxisNames()("names", names)
    if len(found) != dimensions:
        raise ValueError(
            f"each of the {dimensions} axes needs a name of its own; got names {briefly(found)}"
        )
    return found
