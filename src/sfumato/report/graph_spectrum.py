"""The page of a private spectrum: eigenvalues, nodes in their eigenvectors, what it is good for.

Everything here is a function of the release; nothing is compared with the private graph.
"""

from __future__ import annotations

import numpy as np

from sfumato.graph.spectrum_release import SpectrumRelease
from sfumato.report.blocks import Block, Commands, Facts, Grid, Listing, Picture, Section, Text
from sfumato.report.drawing import inlined
from sfumato.report.graph import declared

#: How many eigenvalues are listed.
MOST_LISTED = 30
#: Into how many groups the example puts the nodes.
GROUPS = 2


def sections(release: SpectrumRelease) -> tuple[Section, ...]:
    """Return the sections for a spectrum."""
    return (_spectrum(release), _use(release), _files(release), *declared(release))


def _spectrum(release: SpectrumRelease) -> Section:
    """Draw and list the eigenvalues, and tell which of them are more than noise."""
    words = (
        "A graph is a table of who is joined to whom; its largest eigenvalues tell how strongly "
        "the graph holds together in its densest parts, and their eigenvectors which nodes make "
        f"them up. They were found {_how(release)}"
    )
    blocks: list[Block] = [Text(words)]
    if release.k:
        blocks.append(Picture(inlined("spectrum", release.plot), _caption(release)))
        blocks.append(_grid(release))
    if release.edges is not None:
        blocks.append(Facts((("edges, about", f"{release.edges:,.0f}"),)))
    blocks += [Text(note) for note in release.notes]
    return Section("spectrum", "The spectrum", tuple(blocks), _source(release))


def _how(release: SpectrumRelease) -> str:
    words = f"with chance added ({release.how})."
    if release.detectable is None:
        return words
    return (
        f"{words} How much noise there is is public, so that the bias it causes could be removed, "
        "and so that it can be told what stands out from it."
    )


def _caption(release: SpectrumRelease) -> str:
    caption = "The eigenvalues, from the largest"
    if release.detectable is not None:
        caption += "; pale ones are lost in noise"
    if release.parts.eigenvectors is not None and release.k > 1:
        caption += ". Beside them every node, placed by its entries in the first two eigenvectors"
    return caption + "."


def _grid(release: SpectrumRelease) -> Grid:
    """List eigenvalues, before and after their bias was removed."""
    head = ["", "eigenvalue"]
    if release.observed is not None:
        head.append("before its bias was removed")
    if release.detectable is not None:
        head.append("stands out from the noise")
    rows = []
    for place in range(min(release.k, MOST_LISTED)):
        row = [str(place + 1), f"{release.eigenvalues[place]:,.4g}"]
        if release.observed is not None:
            row.append(f"{release.observed[place]:,.4g}")
        if release.detectable is not None:
            row.append("yes" if release.detectable[place] else "no")
        rows.append(tuple(row))
    numbers = tuple(range(2 if release.observed is None else 3))
    return Grid(tuple(head), tuple(rows), numbers=numbers)


def _use(release: SpectrumRelease) -> Section:
    """Say what a spectrum is good for, and what it is not."""
    points = ["Eigenvalues tell how dense the densest parts are, and how many there are."]
    commands = ["import sfumato as sf; s = sf.load('THIS-FOLDER'); print(s.eigenvalues)"]
    if release.parts.eigenvectors is not None:
        points += [
            "Nodes with alike entries in the eigenvectors are joined to alike nodes: groups of "
            "them can be found at no further cost.",
            "Where eigenvalues are close to each other their eigenvectors are mixed; what they "
            "span together can be trusted, the single one cannot.",
        ]
        commands.append(
            f"import sfumato as sf; s = sf.load('THIS-FOLDER'); print(s.clusters({GROUPS}))"
        )
    if release.detectable is not None and not np.all(release.detectable):
        points.append("What does not stand out from the noise is noise: do not read it.")
    lines = tuple(f'python -c "{command}"' for command in commands)
    blocks: tuple[Block, ...] = (Listing(tuple(points)), Commands(lines))
    return Section("use", "How to use it", blocks, _source(release))


def _files(release: SpectrumRelease) -> Section:
    """Say what the files hold."""
    rows = [
        ("eigenvalues.csv", "number, eigenvalue", "the eigenvalues, from the largest"),
        ("eigenvalues.csv", "observed, detectable", "before unbiasing; above the noise or not"),
    ]
    if release.parts.eigenvectors is not None:
        rows.append(("eigenvectors.csv", "node, v1, v2, …", "the entries of each node"))
    grid = Grid(("file", "columns", "meaning"), tuple(rows))
    return Section("codebook", "What the files hold", (grid,), _source(release))


def _source(release: SpectrumRelease) -> str:
    only = release.parts.eigenvectors is None
    return "eigenvalues.csv" if only else "eigenvalues.csv, eigenvectors.csv"
