"""`sfumato points query`: about how many points lie in a box. Reads a release alone."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.exits import ExitCode, Refusal
from sfumato.cli.options import ReleaseArgument
from sfumato.cli.points_schema import interval
from sfumato.cli.releasing import rebuilt
from sfumato.cli.schema_files import read_list
from sfumato.cli.screen import JsonOption, answering

if TYPE_CHECKING:
    from rich.console import Console

    from sfumato.spatial.histogram import SpatialHistogram

Box = tuple[tuple[float, float], ...]


def query(
    release: ReleaseArgument,
    box: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LOW:HIGH,…",
            help="A box, one interval for each axis, as in 4.3:4.5,52:52.2; a colon alone stands "
            "for the whole axis. Repeat for more.",
        ),
    ] = None,
    boxes: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A CSV file of boxes, with the columns NAME_from and NAME_to for each axis.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Count the points in boxes, with the margin of the noise where it is known. Costs nothing."""
    with answering(as_json) as screen:
        from sfumato.cli.points_margins import margins as noise_margins
        from sfumato.spatial.histogram import SpatialHistogram

        made: SpatialHistogram = rebuilt(
            screen, release, SpatialHistogram, "only a release of points can be asked for boxes"
        )
        asked = [_parsed(text, made) for text in box or ()]
        if boxes is not None:
            asked += _read(boxes, made)
        if not asked:
            raise Refusal(ExitCode.USAGE, "name a box with --box, or a file of boxes with --boxes")
        counts = made.count(asked).tolist()
        margins = noise_margins(made, asked)
        outside = _outside(made, asked)
        if outside:
            screen.note(f"Note: {outside}")
        screen.answer(
            {**_document(made, asked, counts, margins), "note": outside},
            lambda console: _show(console, made, asked, counts, margins),
        )


def _parsed(text: str, made: SpatialHistogram) -> Box:
    """Return the box of a text such as `4.3:4.5,52:52.2`."""
    names = made.public.names
    parts = text.split(",")
    if len(parts) != len(names):
        raise Refusal(
            ExitCode.USAGE,
            f"--box: a box has one interval LOW:HIGH for each axis, {', '.join(names)}; "
            f"got {len(parts)}",
        )
    return tuple(
        pair if part.strip() == ":" else interval(part, "--box")
        for part, pair in zip(parts, made.public.bounds, strict=True)
    )


def _read(path: Path, made: SpatialHistogram) -> list[Box]:
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
        f"{which} beyond the declared bounds ({declared}), and outside the declared bounds nothing "
        "was counted: what is told is the count of the part within"
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
    from rich import box as boxes
    from rich.table import Table

    grid = Table(box=boxes.SIMPLE_HEAD)
    for name in made.public.names:
        grid.add_column(name)
    grid.add_column("count", justify="right")
    grid.add_column("noise", justify="right")
    for item, count, margin in zip(asked, counts, margins, strict=True):
        ends = [f"{low:g} to {high:g}" for low, high in item]
        noise = "—" if margin is None else f"± {margin:,.4g}"
        grid.add_row(*ends, f"{count:,.1f}", noise)
    console.print(grid)
    even = "Within a cell of the release points are taken to be spread evenly."
    words = (
        f"The noise on the count of one cell has a standard deviation of about "
        f"{made.deviation:,.4g}; that of a sum is not known exactly, because counts were made to "
        f"agree with each other. {even}"
    )
    if any(margin is not None for margin in margins):
        words = f"19 times in 20 the noise on a count is no larger than is said. {even}"
    console.print(words, style="dim", soft_wrap=not console.is_terminal)
