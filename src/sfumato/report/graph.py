"""The pages of releases about graphs: a number, the sorted degrees, a summary.

Everything here is a function of the release; nothing is compared with the private graph.
"""

from __future__ import annotations

import numpy as np

from sfumato.data.graph import GraphPublic
from sfumato.graph.degrees import DegreeRelease
from sfumato.graph.number import NumberRelease
from sfumato.graph.summary import SummaryRelease
from sfumato.privacy.release import Release
from sfumato.report.blocks import Block, Commands, Facts, Grid, Listing, Picture, Section, Text
from sfumato.report.drawing import inlined

#: The degrees at which the distribution is told.
QUANTILES = (("smallest", 0.0), ("a quarter", 0.25), ("half", 0.5), ("three quarters", 0.75),
             ("nine in ten", 0.9), ("99 in 100", 0.99), ("largest", 1.0))  # fmt: skip
#: Of more labels than this only the first are named.
MOST_LABELS = 40


def number_sections(release: NumberRelease) -> tuple[Section, ...]:
    """Return the sections for one number about a graph."""
    facts = Facts(_number_facts(release))
    picture = Picture(inlined("number", release.plot), f"About how many {release.what}.")
    words = Text(
        f"The {release.what} of the private graph were counted, and chance was added to the count: "
        "enough that nobody can tell from it whether any one edge is there. "
        + _trust(release)
        + " A number below zero, or above what is possible, is noise; the possible number nearest "
        "to it is told beside it."
    )
    command = Commands(("python -c \"import sfumato as sf; print(sf.load('THIS-FOLDER').value)\"",))
    return (
        Section("number", "The number", (words, facts, picture), "number.json"),
        Section("use", "How to use it", (command,), "number.json"),
        *declared(release),
    )


def degree_sections(release: DegreeRelease) -> tuple[Section, ...]:
    """Return the sections for sorted degrees."""
    return (_degrees(release, release), _use(), *declared(release))


def summary_sections(release: SummaryRelease) -> tuple[Section, ...]:
    """Return the sections for the summary of a graph."""
    facts = (
        *_number_facts(release.edges),
        *_number_facts(release.triangles),
        ("pairs that are joined", f"{release.density:.3%}"),
        ("joined among those with a common neighbour", f"{release.transitivity:.2%}"),
    )
    words = Text(
        "Counts of the private graph with chance added, and what follows from them. "
        f"Edges: {_trust(release.edges)} Triangles: {_trust(release.triangles)}"
    )
    counts = Section("counts", "The counts", (words, Facts(facts)), "summary.json")
    return (counts, _degrees(release.degree_release, release), _use(), *declared(release))


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
    return (
        "How much chance was needed follows the graph itself, so that it is as private as the "
        "graph and cannot be told."
    )


def _degrees(release: DegreeRelease, whole: DegreeRelease | SummaryRelease) -> Section:
    """Draw how many edges nodes have, and list the distribution."""
    words = Text(
        "How many edges the nodes have, put in order: which node has how many is left out, and "
        "cannot be found out. Chance was added to each degree; since they must be in order, most "
        "of it could be removed again."
    )
    nodes = len(release.degrees)
    blocks: list[Block] = [words, Picture(
        inlined("degrees", whole.plot),
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


def _use() -> Section:
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


def declared(release: Release) -> tuple[Section, ...]:
    """Say which nodes were declared, and that edges are what is protected."""
    public = release.provenance.public
    if not isinstance(public, GraphPublic):
        return ()
    facts = [("nodes", f"{public.nodes:,}")]
    if public.labels is not None:
        names = ", ".join(map(str, public.labels[:MOST_LABELS]))
        facts.append(("their names", names + (", …" if public.nodes > MOST_LABELS else "")))
    if public.named_by_edges:
        facts.append(("not protected", public.excludes))
        source = "The nodes were taken from the private data and declared public by the custodian"
    else:
        source = "The nodes were declared before the release"
    words = Text(
        f"{source}; who is joined to whom is private, and so is how many edges there are. What is "
        "protected is one edge: somebody with ten of them is protected ten times less."
    )
    return (Section("declared", "What was declared", (words, Facts(tuple(facts))), "public.json"),)
