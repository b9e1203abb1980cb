"""`sfumato points`: from private points to a map of noisy counts."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.exits import EPILOG, ExitCode, Refusal
from sfumato.cli.kind import Evaluation, Kind, MethodChoice, add_commands, add_evaluation
from sfumato.cli.methods import methods_for
from sfumato.cli.options import (
    PICTURES,
    EngineChoice,
    EngineOption,
    OwnSchemaOption,
    RelationChoice,
    RelationOption,
    ReleaseArgument,
    RowsAboutOption,
    SeparatorOption,
    WrittenSchemaOption,
    refuse_unwritable,
)
from sfumato.cli.releasing import load_release
from sfumato.cli.schemas import (
    BySchema,
    SchemaOptions,
    answer_with_schema,
    read_list,
    refuse_taken,
)
from sfumato.cli.screen import JsonOption, answering, print_table, save_picture

if TYPE_CHECKING:
    from rich.console import Console

    from sfumato.data.points import Points, PointsPublic
    from sfumato.spatial.histogram import SpatialHistogram

Box = tuple[tuple[float, float], ...]

#: The method that is used unless another is named.
DEFAULT = "points.PrivTree"
#: What a map can be written as, by the ending of its name.
ENDINGS = (*PICTURES, ".html", ".geojson")

app = typer.Typer(
    help="Points: declare a schema, plan, rehearse, release, query, draw and evaluate.",
    epilog=EPILOG,
    no_args_is_help=True,
)


class PointUnit(StrEnum):
    """Whose contribution is protected."""

    POINT = "point"
    PERSON = "person"


class OutsideChoice(StrEnum):
    """What becomes of points outside the bounds."""

    REFUSE = "refuse"
    CLAMP = "clamp"
    DROP = "drop"


@app.command(epilog=EPILOG)
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
        from sfumato.data.declarations import declare_points, write_points

        refuse_taken(out)
        declared = declare_points(
            axes=_axes(axis), unit=unit.value, person=person, max_points=max_points,
            geographic=geographic, outside=outside.value, relation=relation.value,
            rows_about=rows_about,
        )  # fmt: skip
        answer_with_schema(screen, declared, write_points(declared), out)


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
        axes[name] = _interval(bounds, "--axis")
    return axes


def _interval(text: str, option: str) -> tuple[float, float]:
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


@dataclass(frozen=True)
class ReadingOptions:
    """How private points are read."""

    engine: EngineOption = EngineChoice.AUTO
    separator: SeparatorOption = None


def _read_file(file: Path, public: PointsPublic, reading: ReadingOptions) -> Points:
    """Read private points."""
    from sfumato.data.points import read_points

    return read_points(
        file,
        columns=public.names,
        bounds=public.bounds,
        engine=reading.engine.value,
        separator=reading.separator,
        person=public.person,
        max_points=public.contribution if public.person is not None else None,
        unit=str(public.unit),
        relation=str(public.relation),
        rows_about=public.rows_about,
        outside=public.outside,
        geographic=public.geographic,
    )


BY_SCHEMA = BySchema("points", _read_file)
POINTS = Kind(
    name="points",
    methods=methods_for("points"),
    method_help="The release method; privtree by default.",
    choice=MethodChoice(default=lambda typed: DEFAULT),
    options=SchemaOptions,
    reading=ReadingOptions,
    file="The private points: CSV (.gz, .xz) or Parquet.",
    unread="The private points; not read: only the schema beside the file is.",
    read_public=BY_SCHEMA.read_public,
    read_private=BY_SCHEMA.read_private,
    help=(
        "Show the privacy loss and the expected error of a release. Reads the schema only.",
        "Run the whole release on synthetic points. Free: no private data are read.",
        "Release the points: book the loss, add noise, certify and save cells with counts.",
    ),
)
add_commands(app, POINTS)


@app.command(epilog=EPILOG)
def query(
    release: ReleaseArgument,
    box: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LOW:HIGH,…",
            help="A box, with one interval per axis, as in 4.3:4.5,52:52.2; a colon alone is the "
            "whole axis. Repeat for more.",
        ),
    ] = None,
    boxes: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A CSV file of boxes, with the columns NAME_from and NAME_to per axis.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Count the points in boxes, with the margin of noise where it is known. Costs no privacy."""
    with answering(as_json) as screen:
        from sfumato.spatial.histogram import SpatialHistogram

        made: SpatialHistogram = load_release(
            screen, release, SpatialHistogram, "counts in boxes need a release of points"
        )
        asked = [_parse_box(text, made) for text in box or ()]
        if boxes is not None:
            asked += _read_boxes(boxes, made)
        if not asked:
            raise Refusal(ExitCode.USAGE, "give a box with --box, or a file of boxes with --boxes")
        counts = made.count(asked).tolist()
        margins = made.margins(asked)
        outside = _outside(made, asked)
        if outside:
            screen.note(f"Note: {outside}")
        screen.answer(
            {**_document(made, asked, counts, margins), "note": outside},
            lambda console: _show(console, made, asked, counts, margins),
        )


def _parse_box(text: str, made: SpatialHistogram) -> Box:
    """Return the box of a text such as `4.3:4.5,52:52.2`."""
    names = made.public.names
    parts = text.split(",")
    if len(parts) != len(names):
        raise Refusal(
            ExitCode.USAGE,
            f"--box needs one interval LOW:HIGH per axis, {', '.join(names)}; got {len(parts)}",
        )
    return tuple(
        pair if part.strip() == ":" else _interval(part, "--box")
        for part, pair in zip(parts, made.public.bounds, strict=True)
    )


def _read_boxes(path: Path, made: SpatialHistogram) -> list[Box]:
    """Return the boxes of a CSV file; as cells.csv names its columns."""
    ends = [(f"{name}_from", f"{name}_to") for name in made.public.names]
    needed = [column for pair in ends for column in pair]
    try:
        rows = list(csv.DictReader(io.StringIO(read_list(path), newline="")))
    except csv.Error as error:
        raise Refusal(ExitCode.DATA, f"{path.name} is not a CSV file: {error}") from None
    found = []
    for number, row in enumerate(rows, start=1):
        missing = [column for column in needed if row.get(column) is None]
        if missing:
            raise Refusal(
                ExitCode.DATA,
                f"{path.name}, row {number}: there is no {missing[0]}; a file of boxes has the "
                f"columns {', '.join(needed)}",
            )
        try:
            found.append(tuple((float(row[low]), float(row[high])) for low, high in ends))
        except ValueError:
            raise Refusal(
                ExitCode.DATA, f"{path.name}, row {number}: an edge of the box is not a number"
            ) from None
    return found


def _outside(made: SpatialHistogram, asked: list[Box]) -> str | None:
    """Return what to say of boxes that go beyond the bounds; an open end does not ask for that."""
    bounds = made.public.bounds
    beyond = [
        str(number)
        for number, box in enumerate(asked, start=1)
        if any(
            (math.isfinite(low) and low < least) or (math.isfinite(high) and high > most)
            for (low, high), (least, most) in zip(box, bounds, strict=True)
        )
    ]
    if not beyond:
        return None
    declared = ", ".join(
        f"{name} {low:g} to {high:g}"
        for name, (low, high) in zip(made.public.names, bounds, strict=True)
    )
    which = f"box {beyond[0]} goes"
    if len(beyond) > 1:
        which = f"{len(beyond)} boxes, the first of them box {beyond[0]}, go"
    return (
        f"{which} beyond the declared bounds ({declared}): only the part within the bounds is "
        "counted"
    )


def _document(
    made: SpatialHistogram, asked: list[Box], counts: list[float], margins: list[float | None]
) -> dict[str, Any]:
    return {
        "axes": list(made.public.names),
        "counts": [
            {
                "box": [[_plain(end) for end in pair] for pair in box],
                "count": count,
                "margin": margin,
            }
            for box, count, margin in zip(asked, counts, margins, strict=True)
        ],
    }


def _plain(end: float) -> float | None:
    """Return an end of an interval for programs; JSON has no infinite numbers."""
    return end if math.isfinite(end) else None


def _show(
    console: Console,
    made: SpatialHistogram,
    asked: list[Box],
    counts: list[float],
    margins: list[float | None],
) -> None:
    """Print the boxes with their counts."""
    rows = []
    for item, count, margin in zip(asked, counts, margins, strict=True):
        ends = [f"{low:g} to {high:g}" for low, high in item]
        noise = "—" if margin is None else f"± {margin:,.4g}"
        rows.append((*ends, f"{count:,.1f}", noise))
    axes = len(made.public.names)
    head = (*made.public.names, "count", "noise")
    print_table(console, head, rows, right=(axes, axes + 1))
    even = "Within a cell of the release, points are assumed to be spread evenly."
    words = (
        "The noise on the count of one cell has a standard deviation of about "
        f"{made.deviation:,.4g}; the error of a sum is not known exactly, because the counts were "
        f"made consistent. {even}"
    )
    if any(margin is not None for margin in margins):
        words = f"The noise on a count is within the stated margin 19 times in 20. {even}"
    console.print(words, style="dim", soft_wrap=not console.is_terminal)


@app.command("map", epilog=EPILOG)
def draw(
    release: ReleaseArgument,
    out: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            help="A picture (.svg, .png, .pdf), a page that shows the count of each cell (.html), "
            "or a layer for maps (.geojson).",
        ),
    ],
    as_json: JsonOption = False,
) -> None:
    """Draw where the points are, by the release. Reads no data and costs no privacy."""
    with answering(as_json) as screen:
        from sfumato.spatial.histogram import SpatialHistogram

        refuse_unwritable(out, ENDINGS)
        made: SpatialHistogram = load_release(
            screen, release, SpatialHistogram, "a map needs a release of points"
        )
        with screen.working("drawing"):
            _write_map(made, out)
        document: dict[str, Any] = {"map": str(out), "cells": len(made.cells.counts)}
        screen.answer(document, lambda console: console.print(f"Drawn in {out}", soft_wrap=True))


def _write_map(made: SpatialHistogram, out: Path) -> None:
    """Write the map in the form that the ending of its name asks for."""
    ending = out.suffix.lower()
    if ending in PICTURES:
        save_picture(made.plot(), out)
    elif ending == ".html":
        from sfumato.report.map_page import map_page

        out.write_text(map_page(made), encoding="utf-8")
    else:
        from sfumato.spatial.files import geojson_bytes

        out.write_bytes(geojson_bytes(made.geojson()))


@dataclass(frozen=True)
class Compared:
    """What of a release is compared with the private points."""

    schema: OwnSchemaOption = None
    queries: Annotated[int, typer.Option(help="The number of random boxes per size.", min=1)] = 1000


def _histograms() -> tuple[type[Any], ...]:
    from sfumato.spatial.histogram import SpatialHistogram

    return (SpatialHistogram,)


def _compare(points: Points, made: SpatialHistogram, options: Compared) -> Any:
    from sfumato.evaluate.points import evaluate

    return evaluate(points, made, queries=options.queries)


EVALUATION = Evaluation(
    help="Compare a release with the private points. NOT PRIVATE: for the custodian's eyes only.",
    data="points",
    releases=_histograms,
    needs="this comparison needs a release of points",
    options=Compared,
    reading=ReadingOptions,
    read=BY_SCHEMA.read_known,
    compare=_compare,
)
add_evaluation(app, POINTS, EVALUATION)
