"""`sfumato points map`: the picture of a release of points. Reads the release alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.options import PICTURES, ReleaseArgument, refuse_unwritable
from sfumato.cli.pictures import save_picture
from sfumato.cli.releasing import rebuilt
from sfumato.cli.screen import JsonOption, answering

if TYPE_CHECKING:
    from sfumato.spatial.histogram import SpatialHistogram

#: What can be written, by the ending of its name.
ENDINGS = (*PICTURES, ".html", ".geojson")


def draw(
    release: ReleaseArgument,
    out: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            help="A picture (.svg, .png, .pdf), a page whose cells tell their counts (.html), or a "
            "layer for maps (.geojson).",
        ),
    ],
    as_json: JsonOption = False,
) -> None:
    """Draw where the points are, as far as the release tells. Reads no data, costs nothing."""
    with answering(as_json) as screen:
        from sfumato.spatial.histogram import SpatialHistogram

        refuse_unwritable(out, ENDINGS)
        made: SpatialHistogram = rebuilt(
            screen, release, SpatialHistogram, "only a release of points has a map"
        )
        with screen.working("drawing"):
            _write(made, out)
        document: dict[str, Any] = {"map": str(out), "cells": len(made.cells.counts)}
        screen.answer(document, lambda console: console.print(f"Drawn in {out}", soft_wrap=True))


def _write(made: SpatialHistogram, out: Path) -> None:
    """Write the map in the form that the ending of its name asks for."""
    ending = out.suffix.lower()
    if ending in PICTURES:
        save_picture(made.plot(), out)
    elif ending == ".html":
        from sfumato.report.map_page import map_page

        out.write_text(map_page(made), encoding="utf-8")
    else:
        from sfumato.spatial.geojson import geojson_bytes

        out.write_bytes(geojson_bytes(made.geojson()))
