"""`sfumato points query | map | evaluate`: counts in boxes, maps, and how good they are.

Only `evaluate` reads private data; what it shows is not private.
"""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.exits import ExitCode, Refusal
from sfumato.cli.options import (
    PICTURES,
    EngineChoice,
    EngineOption,
    OwnSchemaOption,
    ReleaseArgument,
    SeparatorOption,
    refuse_unwritable,
)
from sfumato.cli.points_schema import interval, read_declared, read_points_as
from sfumato.cli.releasing import load_release, show_comparison
from sfumato.cli.schema_files import read_list
from sfumato.cli.screen import JsonOption, answering, print_table, save_picture

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from rich.console import Console

    from sfumato.evaluate.points import PointsEvaluation
    from sfumato.spatial.histogram import SpatialHistogram

Box = tuple[tuple[float, float], ...]

#: What a map can be written as, by the ending of its name.
ENDINGS = (*PICTURES, ".html", ".geojson")
#: 19 times in 20 a weighted sum of Laplace variables is within this many standard deviations: the
#: most that any sum needs is what one variable alone needs, ln(20)/√2.
DEVIATIONS = math.log(20) / math.sqrt(2)


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
        margins = noise_margins(made, asked)
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
        pair if part.strip() == ":" else interval(part, "--box")
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


def noise_margins(made: SpatialHistogram, boxes: ArrayLike) -> list[float | None]:
    """Return the margin of the noise on the count of each box, `None` where it is not known.

    The count of a box adds up its share of every cell, so the variance of its noise is that of one
    cell times the sum of the squared shares. Margins are whole numbers, rounded up, because noise
    is.
    """
    import numpy as np

    asked = np.asarray(boxes, dtype=np.float64)
    if not _independent(made):
        return [None] * len(asked)
    cells = made.cells.boxes
    wide = cells[:, :, 1] - cells[:, :, 0]
    found: list[float | None] = []
    for box in asked:
        inside = np.minimum(cells[:, :, 1], box[:, 1]) - np.maximum(cells[:, :, 0], box[:, 0])
        shares = np.prod(np.clip(inside / wide, 0.0, 1.0), axis=1)
        deviation = made.deviation * math.sqrt(float(np.square(shares).sum()))
        found.append(float(math.ceil(DEVIATIONS * deviation)))
    return found


def _independent(made: SpatialHistogram) -> bool:
    """Tell whether every cell carries its own noise, all of one size, and nothing was repaired."""
    method = made.provenance.method
    leaves = method.name == "points.PrivTree" and method.parameters()["counts"] == "leaves"
    return leaves or method.name == "points.UniformGrid"


def draw_map(
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


def evaluate(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The private points: CSV (.gz, .xz) or Parquet.")
    ],
    release: ReleaseArgument,
    schema: OwnSchemaOption = None,
    queries: Annotated[
        int, typer.Option(help="The number of random boxes per size.", min=1)
    ] = 1000,
    engine: EngineOption = EngineChoice.AUTO,
    separator: SeparatorOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare a release with the private points. NOT PRIVATE: for the custodian's eyes only."""
    with answering(as_json) as screen:
        from sfumato.evaluate.points import evaluate as compare
        from sfumato.spatial.histogram import SpatialHistogram

        made: SpatialHistogram = load_release(
            screen, release, SpatialHistogram, "this comparison needs a release of points"
        )
        declared = made.public if schema is None else read_declared(schema)
        points = read_points_as(screen, file, declared, engine, separator)
        with screen.working("comparing"):
            outcome = compare(points, made, queries=queries)
        show_comparison(
            screen, outcome.to_json(), lambda console: _show_evaluation(console, outcome)
        )


def _show_evaluation(console: Console, outcome: PointsEvaluation) -> None:
    """Print how far a release is from the truth."""
    console.print(f"{outcome.points:,} points; {outcome.total:,.1f} in the release.")
    rows = []
    for item in outcome.boxes:
        figures = item.to_json()
        low, high = item.share
        rows.append(
            (
                f"{len(item.absolute):,} {item.size}",
                f"{100 * low:g} % to {100 * high:g} %",
                f"{figures['average_absolute_error']:,.2f} points",
                f"{100 * figures['average_relative_error']:.2f} %",
                f"{100 * figures['median_relative_error']:.2f} %",
            )
        )
    head = ("boxes", "share of the domain", "average error", "relative", "median")
    print_table(console, head, rows)
    console.print(
        "Relative errors are percentages of the true count, or of 0.1 % of all points if that is "
        "larger.",
        style="dim",
        soft_wrap=not console.is_terminal,
    )
