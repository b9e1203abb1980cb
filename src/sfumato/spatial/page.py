"""The page of a spatial histogram: its map, how to use it, its cells, what its files hold.

Everything here is a function of the release; nothing is compared with the private data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.sections import Block, Commands, Facts, Grid, Listing, Picture, Section, Text

if TYPE_CHECKING:
    from sfumato.spatial.histogram import SpatialHistogram

#: How many cells are listed.
MOST_LINES = 12


def histogram_sections(release: SpatialHistogram) -> tuple[Section, ...]:
    """Return the sections for a release of points."""
    return (_map(release), _use(release), _cells(release), _codebook(release), _declared(release))


def _map(release: SpatialHistogram) -> Section:
    """Draw where the points are, and say in plain words what the picture is."""
    names = release.public.names
    what = "on a map" if release.public.geographic else f"by {' and '.join(names[:2])}"
    words = (
        f"This shows {what} where the points of the private data lie, as far as the release "
        "shows. The domain was divided into cells, the points in each cell were counted, and "
        f"noise was added to every count, so that no one {release.public.unit} changes the "
        "picture by much. Dense regions are darker. The distribution within a cell is not known, "
        "so it has one colour; a cell that is nearly empty may be empty in reality, and vice "
        "versa."
    )
    picture = Picture(
        "map",
        release.plot,
        f"How crowded the {len(release.cells.counts):,} cells of the release are.",
    )
    return Section("map", "Where the points are", (Text(words), picture), "cells.csv")


def _use(release: SpatialHistogram) -> Section:
    """Say what the counts are good for, and what they are not."""
    points = [
        "The release gives the number of points in any box: sums of cells are better, relative to "
        "their size, than single cells, because the noise of many cells cancels in part.",
        "points.csv holds synthetic points with the released counts, for programs that need "
        "points. None of them is the position of a person, and further points can be sampled "
        "without further privacy loss.",
        "Detail smaller than a cell is not in the release: two places within one cell cannot be "
        "distinguished.",
    ]
    if _below_zero(release):
        points.append(
            "Where a count is below zero, that is noise on a cell with few points or none. It is "
            "left as it is, so that sums stay right on average; by itself it stands for zero."
        )
    whole = ",".join(":" for _ in release.public.names)
    commands = (
        f"sfumato points query THIS-FOLDER --box {whole}",
        "sfumato points map THIS-FOLDER --out map.html",
        "python -c \"import sfumato as sf; print(sf.load('THIS-FOLDER').sample(1000))\"",
    )
    blocks: tuple[Block, ...] = (Listing(tuple(points)), Commands(commands))
    return Section("use", "How to use it", blocks, "cells.csv, points.csv")


def _below_zero(release: SpatialHistogram) -> bool:
    """Tell whether a released count is below zero; some methods repair that."""
    return bool((release.cells.counts < 0).any())


def _cells(release: SpatialHistogram) -> Section:
    """Say how many cells there are and how large, and list the most crowded ones."""
    boxes, counts = release.cells.boxes, release.cells.counts
    sides = boxes[:, :, 1] - boxes[:, :, 0]
    pairs = [
        ("cells", f"{len(counts):,}"),
        ("points that were used", f"about {release.total:,.0f}"),
        ("noise on a cell", f"± {release.deviation:,.4g} (one standard deviation)"),
    ]
    for axis, name in enumerate(release.public.names):
        low, high = float(sides[:, axis].min()), float(sides[:, axis].max())
        spans = f"{low:.4g}" if np.isclose(low, high) else f"{low:.4g} to {high:.4g}"
        pairs.append((f"a cell spans, in {name}", spans))
    order = np.argsort(-counts, kind="stable")[:MOST_LINES]
    rows = tuple(
        (*(f"{low:.6g} to {high:.6g}" for low, high in boxes[cell]), f"{counts[cell]:,.1f}")
        for cell in order
    )
    number = len(release.public.names)
    blocks: tuple[Block, ...] = (
        Facts(tuple(pairs)),
        Text("The cells with the largest counts:"),
        Grid((*release.public.names, "count"), rows, numbers=(number,)),
    )
    return Section("cells", "The cells", blocks, "cells.csv, transcript.json")


def _codebook(release: SpatialHistogram) -> Section:
    """Say what the columns of the files mean."""
    names = release.public.names
    rows = [
        ("cells.csv", ", ".join(f"{name}_from, {name}_to" for name in names), "edges of a cell"),
        ("cells.csv", "count", f"its noisy count{'; may be below zero' * _below_zero(release)}"),
        ("points.csv", ", ".join(names), "synthetic points with these counts"),
    ]
    if "cells.geojson" in release.files():
        rows.append(("cells.geojson", "count, per_km2", "the cells as a layer for maps"))
    grid = Grid(("file", "columns", "meaning"), tuple(rows))
    return Section("codebook", "What the files hold", (grid,), "cells.csv, points.csv")


def _declared(release: SpatialHistogram) -> Section:
    """List the axes and their bounds, which were declared before the release."""
    public = release.public
    outside = {
        "refuse": "there were none",
        "clamp": "were moved to the nearest bound",
        "drop": "were left out",
    }
    rows = tuple(
        (name, f"{low:g}", f"{high:g}")
        for name, (low, high) in zip(public.names, public.bounds, strict=True)
    )
    facts = [
        ("points outside", outside[public.outside]),
        ("longitude and latitude", "yes" if public.geographic else "no"),
    ]
    if public.person is not None:
        facts.append(("points of one person", f"at most {public.contribution} were used"))
    blocks: tuple[Block, ...] = (
        Text(
            "These bounds were declared before the release, from public knowledge. They were not "
            "found in the data: where the outermost points lie is private."
        ),
        Grid(("axis", "from", "to"), rows, numbers=(1, 2)),
        Facts(tuple(facts)),
    )
    return Section("declared", "What was declared about the points", blocks, "public.json")
