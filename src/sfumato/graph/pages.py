"""The pages of releases about graphs: numbers, degrees, summaries, synthetic graphs, spectra.

Everything here is a function of the release; nothing is compared with the private graph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.sections import Block, Commands, Facts, Grid, Listing, Picture, Section, Text
from sfumato.sections.declared import declared_sections

if TYPE_CHECKING:
    from sfumato.graph.degrees import DegreeRelease
    from sfumato.graph.number import NumberRelease
    from sfumato.graph.spectrum_release import SpectrumRelease
    from sfumato.graph.summary import SummaryRelease
    from sfumato.graph.synthetic import SyntheticGraph

#: The degrees at which the distribution is told.
QUANTILES = (("smallest", 0.0), ("a quarter", 0.25), ("half", 0.5), ("three quarters", 0.75),
             ("nine in ten", 0.9), ("99 in 100", 0.99), ("largest", 1.0))  # fmt: skip
#: How many eigenvalues are listed.
MOST_LISTED = 30
#: Into how many groups the example puts the nodes.
GROUPS = 2


def number_sections(release: NumberRelease) -> tuple[Section, ...]:
    """Return the sections for one number about a graph."""
    facts = Facts(_number_facts(release))
    picture = Picture("number", release.plot, f"About how many {release.what}.")
    words = Text(
        f"The {release.what} of the private graph were counted, and noise was added to the count, "
        "so that it does not reveal whether any one edge is present. "
        + _trust(release)
        + " A number below zero, or above what is possible, is noise; the nearest possible number "
        "is given beside it."
    )
    command = Commands(("python -c \"import sfumato as sf; print(sf.load('THIS-FOLDER').value)\"",))
    return (
        Section("number", "The number", (words, facts, picture), "number.json"),
        Section("use", "How to use it", (command,), "number.json"),
        *declared_sections(release.provenance.public),
    )


def degree_sections(release: DegreeRelease) -> tuple[Section, ...]:
    """Return the sections for sorted degrees."""
    return (
        _degrees(release, release),
        _use_degrees(),
        *declared_sections(release.provenance.public),
    )


def summary_sections(release: SummaryRelease) -> tuple[Section, ...]:
    """Return the sections for the summary of a graph."""
    facts = (
        *_number_facts(release.edges),
        *_number_facts(release.triangles),
        ("pairs that are joined", f"{release.density:.3%}"),
        ("joined among those with a common neighbour", f"{release.transitivity:.2%}"),
    )
    words = Text(
        "Noisy counts of the private graph, and figures derived from them. Edges: "
        f"{_trust(release.edges)} Triangles: {_trust(release.triangles)}"
    )
    counts = Section("counts", "The counts", (words, Facts(facts)), "summary.json")
    return (
        counts,
        _degrees(release.degree_release, release),
        _use_degrees(),
        *declared_sections(release.provenance.public),
    )


def _number_facts(release: NumberRelease) -> tuple[tuple[str, str], ...]:
    facts = [(release.what, f"{release.value:,}")]
    if release.possible != release.value:
        facts.append((f"{release.what}, nearest possible", f"{release.possible:,}"))
    if release.margin is not None:
        facts.append((f"margin of the {release.what}", f"± {release.margin:,.4g}"))
    return tuple(facts)


def _trust(release: NumberRelease) -> str:
    """Say how far off a number may be, as far as that is public."""
    if release.margin is not None:
        return f"19 times in 20 the noise is no larger than {release.margin:,.4g}."
    return "The scale of the noise depends on the graph, so it is private and not released."


def _degrees(release: DegreeRelease, whole: DegreeRelease | SummaryRelease) -> Section:
    """Draw how many edges nodes have, and list the distribution."""
    words = Text(
        "The degrees of the nodes in sorted order: which node has which degree is not released. "
        "Noise was added to each degree; most of it could be removed again because the degrees "
        "must be sorted."
    )
    nodes = len(release.degrees)
    blocks: list[Block] = [words, Picture(
        "degrees",
        whole.plot,
        "Which share of the nodes has at least so many edges; both axes are logarithmic.",
    )]  # fmt: skip
    if nodes:
        places = [min(int(np.ceil(share * nodes)), nodes - 1) for _, share in QUANTILES]
        rows = tuple(
            (name, f"{release.degrees[at]:,.1f}")
            for (name, _), at in zip(QUANTILES, places, strict=True)
        )
        blocks.append(Grid(("of the nodes", "edges, at most about"), rows, numbers=(1,)))
        facts = (
            ("nodes", f"{nodes:,}"),
            ("edges of a node, on average", f"{release.mean:,.3g}"),
            ("noise on one degree", f"± {release.margin:,.4g}, before they were put in order"),
        )
        blocks.append(Facts(facts))
    return Section("degrees", "The degrees", tuple(blocks), "degrees.csv, histogram.csv")


def _use_degrees() -> Section:
    """Say what the files hold and what the degrees are good for."""
    rows = (
        ("degrees.csv", "degree, nodes", "the sorted degrees, in runs of equal ones"),
        ("histogram.csv", "degree, nodes", "how many nodes have each degree, rounded"),
    )
    points = (
        "Shares of nodes and averages are good; the degree of a single place in the order, above "
        "all the very largest, is less certain.",
        "The degrees need not belong to a graph exactly: their sum may be odd.",
    )
    blocks: tuple[Block, ...] = (Listing(points), Grid(("file", "columns", "meaning"), rows))
    return Section("use", "How to use it", blocks, "degrees.csv, histogram.csv")


def synthetic_sections(release: SyntheticGraph) -> tuple[Section, ...]:
    """Return the sections for a synthetic graph."""
    return (
        _graph(release),
        _use_graph(release),
        _graph_files(),
        *declared_sections(release.provenance.public),
    )


def _graph(release: SyntheticGraph) -> Section:
    """Tell what was kept, and the figures of the graph that is published."""
    words = Text(
        "This graph is synthetic. Statistics of the private graph were measured with noise, and "
        "the graph was sampled from a model that was fitted to them; it has nothing else in "
        "common with the private graph. " + release.model.words()
    )
    blocks: list[Block] = [words, Facts(_graph_figures(release))]
    blocks.append(
        Picture(
            "graph",
            release.plot,
            "Which share of the nodes of the published graph has at least so many edges; both axes "
            "are logarithmic.",
        )
    )
    blocks += [Text(note) for note in release.notes]
    return Section("graph", "The graph", tuple(blocks), "edges.csv, model.json")


def _graph_figures(release: SyntheticGraph) -> tuple[tuple[str, str], ...]:
    """Return what can be counted in the published graph."""
    graph, degrees = release.graph, release.graph.degrees
    some, largest = int((degrees > 0).sum()), int(degrees.max(initial=0))
    triangles = graph.counts.triangles()
    wedges = int((degrees * (degrees - 1) // 2).sum())
    facts = [
        ("nodes", f"{graph.nodes:,}, of which {some:,} have an edge"),
        ("edges", f"{graph.edges:,}"),
        ("edges of a node", f"{2 * graph.edges / max(graph.nodes, 1):,.3g} on average, "
         f"{largest:,} at most"),
        ("triangles", f"{triangles:,}"),
        ("joined among those with a common neighbour", f"{3 * triangles / max(wedges, 1):.2%}"),
    ]  # fmt: skip
    if release.moved is not None:
        facts.append(("moved, so that there is such a graph", f"{release.moved:,.4g} in all"))
    return tuple(facts)


def _use_graph(release: SyntheticGraph) -> Section:
    """Say what the graph is good for, and what it is not."""
    points = [
        "Use it where a graph is needed to try a program or to teach, and for what it keeps. A "
        "finding about anything else, such as who is central or which communities there are, is a "
        "finding about this graph only.",
        "More graphs can be sampled from the same release without further privacy loss: "
        "differences between them are random, and only what they have in common follows from the "
        "release.",
        "That two nodes are joined here does not mean that they are joined in the private graph.",
    ]
    if release.model.named:
        points.append(
            "Nodes have the names of the private nodes: the number of edges of each was measured "
            "approximately, but not to whom they lead."
        )
    else:
        points.append(
            "Its nodes do not correspond to private nodes: node 7 here is not node 7 of "
            "the private graph."
        )
    commands = (
        "sfumato graph sample THIS-FOLDER --graphs 10 --out drawn.csv",
        "python -c \"import sfumato as sf; print(sf.load('THIS-FOLDER').sample().to_frame())\"",
    )
    blocks: tuple[Block, ...] = (Listing(tuple(points)), Commands(commands))
    return Section("use", "How to use it", blocks, "edges.csv, model.json")


def _graph_files() -> Section:
    """Say what the files hold."""
    rows = (
        ("edges.csv", "source, target", "the edges of one graph; nodes without an edge are absent"),
        ("model.json", "", "the noisy numbers, repaired, from which graphs are drawn"),
    )
    grid = Grid(("file", "columns", "meaning"), rows)
    return Section("codebook", "What the files hold", (grid,), "edges.csv, model.json")


def spectrum_sections(release: SpectrumRelease) -> tuple[Section, ...]:
    """Return the sections for a spectrum."""
    return (
        _spectrum(release),
        _use_spectrum(release),
        _spectrum_files(release),
        *declared_sections(release.provenance.public),
    )


def _spectrum(release: SpectrumRelease) -> Section:
    """Draw and list the eigenvalues, and tell which of them are more than noise."""
    words = (
        "The largest eigenvalues of the adjacency matrix show how dense the densest parts of the "
        "graph are, and the eigenvectors which nodes belong to them. They were computed "
        f"{_how(release)}"
    )
    blocks: list[Block] = [Text(words)]
    if release.k:
        blocks.append(Picture("spectrum", release.plot, _caption(release)))
        blocks.append(_grid(release))
    if release.edges is not None:
        blocks.append(Facts((("edges, about", f"{release.edges:,.0f}"),)))
    blocks += [Text(note) for note in release.notes]
    return Section("spectrum", "The spectrum", tuple(blocks), _spectrum_source(release))


def _how(release: SpectrumRelease) -> str:
    words = f"with noise added ({release.how})."
    if release.detectable is None:
        return words
    return (
        f"{words} The scale of the noise is public, so its bias was removed and eigenvalues that "
        "exceed it are marked."
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


def _use_spectrum(release: SpectrumRelease) -> Section:
    """Say what a spectrum is good for, and what it is not."""
    points = ["Eigenvalues show the density and the number of the densest parts."]
    commands = ["import sfumato as sf; s = sf.load('THIS-FOLDER'); print(s.eigenvalues)"]
    if release.parts.eigenvectors is not None:
        points += [
            "Nodes with alike entries in the eigenvectors are joined to alike nodes: groups of "
            "them can be computed without further privacy loss.",
            "Where eigenvalues are close to each other their eigenvectors are mixed; what they "
            "span together is reliable, a single one is not.",
        ]
        commands.append(
            f"import sfumato as sf; s = sf.load('THIS-FOLDER'); print(s.clusters({GROUPS}))"
        )
    if release.detectable is not None and not np.all(release.detectable):
        points.append("Eigenvalues that do not exceed the noise should be ignored.")
    lines = tuple(f'python -c "{command}"' for command in commands)
    blocks: tuple[Block, ...] = (Listing(tuple(points)), Commands(lines))
    return Section("use", "How to use it", blocks, _spectrum_source(release))


def _spectrum_files(release: SpectrumRelease) -> Section:
    """Say what the files hold."""
    rows = [
        ("eigenvalues.csv", "number, eigenvalue", "the eigenvalues, from the largest"),
        ("eigenvalues.csv", "observed, detectable", "before unbiasing; above the noise or not"),
    ]
    if release.parts.eigenvectors is not None:
        rows.append(("eigenvectors.csv", "node, v1, v2, …", "the entries of each node"))
    grid = Grid(("file", "columns", "meaning"), tuple(rows))
    return Section("codebook", "What the files hold", (grid,), _spectrum_source(release))


def _spectrum_source(release: SpectrumRelease) -> str:
    only = release.parts.eigenvectors is None
    return "eigenvalues.csv" if only else "eigenvalues.csv, eigenvectors.csv"
