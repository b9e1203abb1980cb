"""`sfumato points schema`: what is public about points, declared without reading any."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.exits import ExitCode, Refusal
from sfumato.cli.options import (
    EngineChoice,
    EngineOption,
    RelationChoice,
    RelationOption,
    RowsAboutOption,
    SchemaOption,
    SeparatorOption,
    WrittenSchemaOption,
    refuse_taken,
    schema_path,
)
from sfumato.cli.schema_files import (
    answer_with_schema,
    lines_of,
    read_document,
    refuse_others,
    section,
)
from sfumato.cli.screen import JsonOption, Screen, answering

if TYPE_CHECKING:
    from sfumato.data.points import Points, PointsPublic

#: What the section [points] of a schema file may hold.
FACTS = ("unit", "person", "max_points", "relation", "rows_about", "outside", "geographic")


class PointUnit(StrEnum):
    """Whose contribution is protected."""

    POINT = "point"
    PERSON = "person"


class OutsideChoice(StrEnum):
    """What becomes of points outside the bounds."""

    REFUSE = "refuse"
    CLAMP = "clamp"
    DROP = "drop"


def schema(
    axis: Annotated[
        list[str],
        typer.Option(
            metavar="NAME=LOW:HIGH",
            help="A column used as an axis, with bounds that are public knowledge; repeat for "
            "more. Give the longitude before the latitude.",
        ),
    ],
    unit: Annotated[
        PointUnit,
        typer.Option(
            help="Can one person have several points? No: point. Yes: person, with --person and "
            "--max-points."
        ),
    ],
    person: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="The column that identifies the person."),
    ] = None,
    max_points: Annotated[
        int | None,
        typer.Option(metavar="M", help="The most points used per person.", min=1),
    ] = None,
    geographic: Annotated[
        bool, typer.Option("--geographic", help="The first axes are longitude and latitude.")
    ] = False,
    outside: Annotated[
        OutsideChoice,
        typer.Option(
            help=("Points outside the bounds: refuse them, move them to the bounds, or drop them.")
        ),
    ] = OutsideChoice.REFUSE,
    relation: RelationOption = RelationChoice.ADD_REMOVE,
    rows_about: RowsAboutOption = None,
    out: WrittenSchemaOption = None,
    as_json: JsonOption = False,
) -> None:
    """Declare what is public about points. No data are read: bounds are declared, not found."""
    with answering(as_json) as screen:
        refuse_taken(out)
        declared = _public(
            axes=_axes(axis), unit=unit.value, person=person, max_points=max_points,
            geographic=geographic, outside=outside.value, relation=relation.value,
            rows_about=rows_about,
        )  # fmt: skip
        answer_with_schema(screen, declared, schema_text(declared), out)


def _axes(texts: list[str]) -> dict[str, tuple[float, float]]:
    """Return the axes of `--axis NAME=LOW:HIGH`, in order."""
    axes: dict[str, tuple[float, float]] = {}
    for text in texts:
        # A name may hold an equals sign; bounds do not.
        name, sign, bounds = text.rpartition("=")
        if not sign or not name or name in axes:
            raise Refusal(
                ExitCode.USAGE, "--axis takes NAME=LOW:HIGH, each name once, as in --axis x=0:10"
            )
        axes[name] = interval(bounds, "--axis")
    return axes


def interval(text: str, option: str) -> tuple[float, float]:
    """Return the two ends of a text such as `-180:180`.

    Parameters
    ----------
    text
        The ends, with a colon between them.
    option
        The option that they belong to, for errors.
    """
    parts = text.split(":")
    try:
        low, high = (float(part) for part in parts)
    except ValueError:
        raise Refusal(
            ExitCode.USAGE, f"{option}: an interval is written LOW:HIGH, as in -180:180"
        ) from None
    return low, high


def _public(
    *, axes: dict[str, tuple[float, float]], max_points: int | None, **facts: Any
) -> PointsPublic:
    """Return the public part that is declared, or say what does not fit."""
    from sfumato.data.points import PointsPublic

    if facts["unit"] == "person" and (facts["person"] is None or max_points is None):
        raise ValueError(
            'unit "person" needs a bound: set person to the column that identifies the person, '
            "and max_points to the most points used per person"
        )
    return PointsPublic(
        bounds=tuple(axes.values()),
        names=tuple(axes),
        contribution=1 if max_points is None else max_points,
        **facts,
    )


def schema_text(public: PointsPublic) -> str:
    """Return the text of a schema file."""
    person = public.person is not None
    facts = {
        "unit": str(public.unit),
        "person": public.person,
        "max_points": public.contribution if person else None,
        "relation": str(public.relation),
        "rows_about": public.rows_about,
        "outside": public.outside,
        "geographic": True if public.geographic else None,
    }
    axes = {name: list(pair) for name, pair in zip(public.names, public.bounds, strict=True)}
    return "\n".join([*lines_of("points", facts), "", *lines_of("axes", axes), ""])


def read_declared(path: Path) -> PointsPublic:
    """Return what a schema file declares about points."""
    document = read_document(path)
    facts = section(path, document, "points", FACTS)
    axes = document.get("axes")
    refuse_others(path, document, ("points", "axes"))
    if not isinstance(axes, dict) or not all(_is_pair(pair) for pair in axes.values()):
        raise Refusal(
            ExitCode.DATA,
            f"{path.name}: [axes] must give every axis its bounds, as in longitude = [-180, 180]",
        )
    if "unit" not in facts:
        raise Refusal(
            ExitCode.DATA,
            f"{path.name}: [points] must state the unit: can one person have several points? No: "
            'unit = "point". Yes: unit = "person", with person and max_points',
        )
    told: dict[str, Any] = {
        "person": None,
        "relation": "add_remove",
        "rows_about": None,
        "outside": "refuse",
        "geographic": False,
        "max_points": None,
        **facts,
    }
    try:
        return _public(axes={name: tuple(pair) for name, pair in axes.items()}, **told)
    except (TypeError, ValueError) as error:
        raise Refusal(ExitCode.DATA, f"{path.name}: {error}") from None


def _is_pair(pair: Any) -> bool:
    return (
        isinstance(pair, list)
        and len(pair) == 2
        and all(isinstance(end, int | float) and not isinstance(end, bool) for end in pair)
    )


@dataclass(frozen=True)
class SchemaOptions:
    """What is public about points."""

    schema: SchemaOption = None


@dataclass(frozen=True)
class ReadingOptions:
    """How private points are read."""

    engine: EngineOption = EngineChoice.AUTO
    separator: SeparatorOption = None


def read_public(screen: Screen, file: Path | None, options: SchemaOptions) -> PointsPublic:
    """Return what is public about points, from their schema alone.

    Where their number is public, a plan takes it to be what was declared.
    """
    declared = read_declared(schema_path(options.schema, file, kind="points"))
    if declared.relation.value == RelationChoice.REPLACE_ONE:
        return replace(declared, rows=declared.rows_about)
    return declared


def read_private(
    screen: Screen, file: Path, options: SchemaOptions, reading: ReadingOptions
) -> Points:
    """Read the private points."""
    declared = read_declared(schema_path(options.schema, file, kind="points"))
    return read_points_as(screen, file, declared, reading.engine, reading.separator)


def read_points_as(
    screen: Screen, file: Path, declared: PointsPublic, engine: EngineChoice, separator: str | None
) -> Points:
    """Read private points of which a schema or a release says what is public."""
    from sfumato.data.points import read_points

    bounded = declared.person is not None
    with screen.working(f"reading {file.name}"):
        return read_points(
            file,
            columns=declared.names,
            bounds=declared.bounds,
            engine=engine.value,
            separator=separator,
            person=declared.person,
            max_points=declared.contribution if bounded else None,
            unit=str(declared.unit),
            relation=str(declared.relation),
            rows_about=declared.rows_about,
            outside=declared.outside,
            geographic=declared.geographic,
        )
