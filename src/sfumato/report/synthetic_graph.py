"""The page of a synthetic graph: its picture, its figures, what its files hold.

Everything here is a function of the release; nothing is compared with the private graph.
"""

from __future__ import annotations

from sfumato.graph.synthetic import SyntheticGraph
from sfumato.report.blocks import Block, Commands, Facts, Grid, Listing, Picture, Section, Text
from sfumato.report.drawing import inlined
from sfumato.report.graph import declared


def sections(release: SyntheticGraph) -> tuple[Section, ...]:
    """Return the sections for a synthetic graph."""
    return (_graph(release), _use(release), _files(), *declared(release))


def _graph(release: SyntheticGraph) -> Section:
    """Tell what was kept, and the figures of the graph that is published."""
    words = Text(
        "This graph is made up. Numbers about the private graph were counted, chance was added to "
        "them, and the graph was drawn from a model that comes as near to these numbers as it can; "
        "it has nothing else in common with the private one. " + release.model.words()
    )
    blocks: list[Block] = [words, Facts(_figures(release))]
    blocks.append(
        Picture(
            inlined("graph", release.plot),
            "Which share of the nodes of the published graph has at least so many edges; both axes "
            "are logarithmic.",
        )
    )
    blocks += [Text(note) for note in release.notes]
    return Section("graph", "The graph", tuple(blocks), "edges.csv, model.json")


def _figures(release: SyntheticGraph) -> tuple[tuple[str, str], ...]:
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


def _use(release: SyntheticGraph) -> Section:
    """Say what the graph is good for, and what it is not."""
    points = [
        "Use it where a graph is needed to try a program or to teach, and for what it keeps. A "
        "finding about anything else, such as who is central or which communities there are, is a "
        "finding about a made-up graph.",
        "More graphs can be drawn from the same release, at no further cost: what differs between "
        "them is not known from the release, what they agree on is.",
        "That two nodes are joined here does not mean that they are joined in the private graph.",
    ]
    if release.model.named:
        points.append(
            "Nodes have the names of those they stand for: about how many edges each has was "
            "measured, but not to whom."
        )
    else:
        points.append("Its nodes stand for nobody: number 7 here is not node 7 of the private one.")
    commands = (
        "sfumato graph sample THIS-FOLDER --graphs 10 --out drawn.csv",
        "python -c \"import sfumato as sf; print(sf.load('THIS-FOLDER').sample().to_frame())\"",
    )
    blocks: tuple[Block, ...] = (Listing(tuple(points)), Commands(commands))
    return Section("use", "How to use it", blocks, "edges.csv, model.json")


def _files() -> Section:
    """Say what the files hold."""
    rows = (
        ("edges.csv", "source, target", "the edges of one graph; nodes without an edge are absent"),
        ("model.json", "", "the noisy numbers, repaired, from which graphs are drawn"),
    )
    grid = Grid(("file", "columns", "meaning"), rows)
    return Section("codebook", "What the files hold", (grid,), "edges.csv, model.json")
