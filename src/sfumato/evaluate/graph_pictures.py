"""Pictures of a release of a graph beside the private graph it was made of.

NOT PRIVATE. They show the private graph without noise, and how sensitive it is: they are for the
custodian's eyes, say so on their face, and are never part of a release, a certificate or a report.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import noise
from sfumato.data.graph import Graph
from sfumato.engines.memory_graph import MemoryGraph
from sfumato.evaluate.graph_metrics import clustering_of_nodes, communities
from sfumato.evaluate.synthetic_graph import GraphComparison, published_graph
from sfumato.graph.count_law import CountLaw
from sfumato.graph.degrees import DegreeRelease, logarithmic
from sfumato.graph.dk_series import joint_degrees
from sfumato.graph.number import NumberRelease
from sfumato.graph.sampled import SampledGraph
from sfumato.graph.shapes import Shape
from sfumato.graph.subgraph_count import SubgraphCount
from sfumato.graph.summary import SummaryRelease
from sfumato.graph.synthetic import SyntheticGraph

__all__ = ["DRAWN", "draw_degrees", "draw_law", "picture"]

INK, SOFT = "#23313d", "#6f7f8c"
TRUTH, RELEASED = "#23313d", "#b4552d"
LIKELY, USUAL, RARE = "#5d87a1", "#9db8c7", "#d5e0e3"
LABEL = "NOT PRIVATE: for the custodian's eyes"
#: The releases that have such a picture.
DRAWN = (DegreeRelease, NumberRelease, SummaryRelease)
#: At how many places on either side of the truth a law is computed.
PLACES = 240
#: Errors beyond this cannot be drawn.
LARGEST = 10**300


def picture(data: Graph, release: Any) -> Any:
    """Return a figure of a release beside the truth. Not private.

    Parameters
    ----------
    data
        The private graph.
    release
        The release of it: a count, degrees or a summary.
    """
    method = release.provenance.method
    if isinstance(release, NumberRelease) and isinstance(method, SubgraphCount):
        shape = Shape(method.shape, 3 if method.k is None else method.k)
        return draw_law(method.law(data), release, shape.count(data.counts))
    if isinstance(release, DegreeRelease):
        return draw_degrees(data.counts.degrees(), release.degrees)
    if isinstance(release, SummaryRelease):
        return draw_degrees(data.counts.degrees(), release.degree_release.degrees)
    raise ValueError(f"a release of kind {release.kind} cannot be drawn beside the truth")


def draw_law(law: CountLaw, release: NumberRelease, truth: int) -> Any:
    """Draw what a release of a count could have said, and what it did say. Not private.

    Parameters
    ----------
    law
        How likely each number was.
    release
        The number that was released.
    truth
        The true count. The law is around less than that where edges that count for too much were
        cut before noise was added.
    """
    half, most = law.quantile(0.5), law.quantile(0.95)
    reach = max(int(1.25 * most), 3)
    said = release.value - law.value
    if reach > LARGEST:
        raise ValueError(
            "the noise of this count is too large for floating point and cannot be drawn"
        )
    figure, axis = _canvas(3.4)
    distances = _places(reach)
    chances = np.array([law.probability(law.value + distance) for distance in distances])
    offsets = np.array([-distance for distance in distances[:0:-1]] + distances, dtype=np.float64)
    heights = np.concatenate([chances[:0:-1], chances])
    shades = ((reach, RARE), (most, USUAL), (half, LIKELY))
    for width, shade in shades:
        inside = np.abs(offsets) <= width
        steps = np.append(offsets[inside] - 0.5, offsets[inside][-1] + 0.5)
        axis.stairs(heights[inside], steps, fill=True, color=shade, linewidth=0)
    if truth - law.value <= reach:
        axis.axvline(truth - law.value, color=TRUTH, linewidth=1.2)
    if abs(said) <= reach:
        axis.axvline(said, color=RELEASED, linewidth=1.6, linestyle=(0, (4, 2)))
    axis.set_xlim(-reach, reach)
    axis.set_ylim(bottom=0)
    axis.set_yticks([])
    axis.set_ylabel("how likely")
    axis.set_xlabel(release.what)
    # Drawn by its distance from the truth: a count may have more digits than a float.
    axis.xaxis.set_major_formatter(lambda distance, _: _figure(law.value + round(distance)))
    axis.xaxis.set_major_locator(_whole_ticks())
    beyond = "" if abs(said) <= reach else ", outside the picture"
    around = _figure(law.value)
    _legend(
        axis,
        (TRUTH, f"the truth, {_figure(truth)}"),
        (RELEASED, f"what was released, {_figure(release.value)}{beyond}"),
        (LIKELY, f"half of all releases, {around} ± {_figure(half)}"),
        (USUAL, f"19 in 20 of them, {around} ± {_figure(most)}"),
    )
    return figure


def draw_degrees(truth: NDArray[np.int64], released: NDArray[np.float64]) -> Any:
    """Draw the true and the released distribution of degrees. Not private.

    Parameters
    ----------
    truth, released
        The degrees, in any order.
    """
    figure, axis = _canvas(3.8)
    for degrees, colour, style, width in (
        (truth, TRUTH, "-", 1.2),
        (released, RELEASED, (0, (4, 2)), 1.6),
    ):
        shown = np.rint(degrees[degrees >= 0.5])
        seen, counts = np.unique(shown, return_counts=True)
        shares = counts[::-1].cumsum()[::-1] / max(len(degrees), 1)
        # Every share holds for all smaller degrees above the one before; the first, from 1 on.
        seen, shares = np.append(1.0, seen), np.append(shares[:1], shares)
        axis.step(
            seen[: len(shares)], shares, where="pre", color=colour, linestyle=style, linewidth=width
        )
    if max(truth.max(initial=0), released.max(initial=0)) >= 0.5:
        logarithmic(axis)
    else:
        axis.text(0.5, 0.5, "no node has an edge", ha="center", transform=axis.transAxes)
        axis.set_xticks([])
        axis.set_yticks([])
    axis.set_xlabel("edges of a node, at least")
    axis.set_ylabel("share of the nodes")
    _legend(axis, (TRUTH, "the truth"), (RELEASED, "what was released"))
    return figure


def _canvas(height: float) -> tuple[Any, Any]:
    """Return a figure that says what it is, and its axis."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.6, height), layout="constrained")
    axis = figure.subplots()
    axis.spines[["top", "right"]].set_visible(False)
    figure.suptitle(LABEL, x=0.99, ha="right", fontsize=9, fontweight="bold", color=RELEASED)
    return figure, axis


def _places(reach: int) -> list[int]:
    """Return distances from the truth, from 0 to the reach: all of them, or evenly many."""
    if reach <= PLACES:
        return list(range(reach + 1))
    return [reach * place // PLACES for place in range(PLACES + 1)]


def _legend(axis: Any, *entries: tuple[str, str]) -> None:
    """Explain the colours above the picture."""
    from matplotlib.patches import Patch

    axis.legend(
        handles=[Patch(color=colour, label=label) for colour, label in entries],
        loc="lower left", bbox_to_anchor=(0, 1.0), ncols=2, frameon=False, fontsize=8.5,
        borderaxespad=0.2, handlelength=1.2,
    )  # fmt: skip


def _figure(number: int) -> str:
    """Return a whole number as it is read: huge ones by their first digits."""
    return f"{number:,}" if abs(number) < 10**9 else f"{Decimal(number):.3e}"


def _whole_ticks() -> Any:
    """Return a rule for ticks at whole numbers, few enough to be read."""
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(nbins=5, integer=True)


# Pictures of a synthetic graph beside the private graph it was made of.
#
# NOT PRIVATE. They show the private graph without noise: they are for the custodian's eyes, say so
# on their face, and are never part of a release, a certificate or a report.


Floats = NDArray[np.float64]

#: Graphs of up to this many nodes with an edge are drawn node by node.
LAID_OUT = 400
#: Communities are told apart by these, the largest first; the rest share the last.
COLOURS = ("#5d87a1", "#c98b5b", "#7a9b6d", "#a96c8e", "#b9a44c", "#7f7fb0", "#8a8f94")
#: Rounds of the layout.
ROUNDS = 120
NAMES = ("the private graph", "the synthetic graph")


def draw_comparison(
    data: Graph, synthetic: SyntheticGraph | SampledGraph, comparison: GraphComparison
) -> Any:
    """Draw a synthetic graph beside the private one. Not private.

    Above, both distributions of degrees, clustering by degree and the largest eigenvalues. Below,
    small graphs node by node, coloured by community, and large ones by which degrees they join.

    Parameters
    ----------
    data
        The private graph.
    synthetic
        The release or the graph that was compared with it.
    comparison
        What `compare` found.
    """
    from matplotlib.figure import Figure

    sides = (data.counts, published_graph(synthetic).counts)
    figure = Figure(figsize=(10.2, 7.6), layout="constrained")
    figure.suptitle(LABEL, x=0.99, ha="right", fontsize=9, fontweight="bold", color=RELEASED)
    grid = figure.add_gridspec(2, 6, height_ratios=(1, 1.25))
    above = [figure.add_subplot(grid[0, place : place + 2]) for place in (0, 2, 4)]
    below = [figure.add_subplot(grid[1, place : place + 3]) for place in (0, 3)]
    _draw_degrees(above[0], sides)
    _draw_clustering(above[1], sides)
    _draw_spectrum(above[2], comparison)
    for axis in above:
        axis.spines[["top", "right"]].set_visible(False)
    if max(int((side.degrees() > 0).sum()) for side in sides) <= LAID_OUT:
        for axis, side, name in zip(below, sides, NAMES, strict=True):
            _draw_nodes(axis, side, name)
    else:
        _draw_joint_degrees(figure, below, sides)
    return figure


def _draw_degrees(axis: Any, sides: tuple[MemoryGraph, MemoryGraph]) -> None:
    """Draw which share of the nodes has at least so many edges."""
    for side, colour, style, name in zip(sides, (TRUTH, RELEASED), ("-", "--"), NAMES, strict=True):
        degrees = side.degrees()
        seen, counts = np.unique(degrees[degrees > 0], return_counts=True)
        shares = counts[::-1].cumsum()[::-1] / max(len(degrees), 1)
        axis.step(seen, shares, where="pre", color=colour, linestyle=style, label=name)
    if any(side.edges for side in sides):
        logarithmic(axis)
    axis.set_xlabel("edges of a node, at least")
    axis.set_ylabel("share of the nodes")
    axis.legend(frameon=False, fontsize=8.5)


def _draw_clustering(axis: Any, sides: tuple[MemoryGraph, MemoryGraph]) -> None:
    """Draw the average clustering of the nodes of about a degree."""
    for side, colour, mark in zip(sides, (TRUTH, RELEASED), ("o-", "s--"), strict=True):
        degrees, shares = side.degrees(), clustering_of_nodes(side)
        degrees, shares = degrees[degrees > 1], shares[degrees > 1]
        if len(degrees) == 0:
            continue
        # Groups a quarter of a power of two wide: single degrees are noise.
        group = np.floor(4 * np.log2(degrees)).astype(np.int64)
        _, where = np.unique(group, return_inverse=True)
        many = np.bincount(where)
        centres = np.bincount(where, weights=degrees) / many
        axis.plot(
            centres, np.bincount(where, weights=shares) / many, mark, color=colour, markersize=3
        )
    if any(side.degrees().max(initial=0) > 1 for side in sides):
        axis.set_xscale("log")
        _plain(axis.xaxis)
    axis.set_ylim(-0.02, 1.02)
    axis.set_xlabel("edges of a node")
    axis.set_ylabel("clustering")


def _draw_spectrum(axis: Any, comparison: GraphComparison) -> None:
    """Draw the largest eigenvalues by their rank."""
    metrics = (comparison.original, comparison.synthetic)
    for side, colour, mark in zip(metrics, (TRUTH, RELEASED), ("o", "x"), strict=True):
        ranks = np.arange(1, len(side.spectrum) + 1)
        axis.plot(ranks, side.spectrum, mark, color=colour)
        if len(ranks) <= 12:
            axis.set_xticks(ranks)
    axis.set_ylim(bottom=min(0.0, *(min(side.spectrum, default=0.0) for side in metrics)))
    axis.set_xlabel("rank")
    axis.set_ylabel("eigenvalue")


def _draw_nodes(axis: Any, graph: MemoryGraph, name: str) -> None:
    """Draw the nodes that have an edge, close to their neighbours, coloured by community."""
    from matplotlib.collections import LineCollection

    present = np.flatnonzero(graph.degrees())
    small = MemoryGraph(np.searchsorted(present, graph.pairs()), nodes=len(present))
    places = _layout(small)
    group = communities(small)
    order = np.argsort(-np.bincount(group, minlength=1), kind="stable")
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    colours = [COLOURS[min(int(rank[one]), len(COLOURS) - 1)] for one in group]
    lines = LineCollection(list(places[small.pairs()]), colors="#9aa3ab", linewidths=0.4, alpha=0.5)
    axis.add_collection(lines)
    size = max(6.0, min(40.0, 3000 / max(len(present), 1)))
    axis.scatter(*places.T, s=size, c=colours, edgecolors="white", linewidths=0.3, zorder=2)
    axis.set_aspect("equal")
    axis.set_axis_off()
    axis.set_title(f"{name}: {graph.nodes:,} nodes, {graph.edges:,} edges", fontsize=9.5)


def _layout(graph: MemoryGraph) -> Floats:
    """Return a place for each node: neighbours draw together, all push apart.

    Fruchterman & Reingold, "Graph drawing by force-directed placement" (1991), with a little
    gravity that keeps parts together; the same graph is always drawn alike.
    """
    nodes = graph.nodes
    places: Floats = noise.generator(nodes).standard_normal((nodes, 2))
    if nodes == 0:
        return places
    joined = graph.adjacency.toarray().astype(np.float64)
    apart = 1 / np.sqrt(nodes)
    for turn in range(ROUNDS):
        towards = places[:, None, :] - places[None, :, :]
        lengths = np.maximum(np.sqrt((towards**2).sum(axis=2)), 1e-6)
        push = apart**2 / lengths**2 - joined * lengths / apart
        force = (towards * push[:, :, None]).sum(axis=1) - places * 0.6
        step = np.maximum(np.sqrt((force**2).sum(axis=1, keepdims=True)), 1e-9)
        places = places + force / step * np.minimum(step, 0.2 * (1 - turn / ROUNDS))
    return places


def _draw_joint_degrees(figure: Any, axes: list[Any], sides: tuple[Any, Any]) -> None:
    """Draw how many edges join nodes of which degrees, in groups of alike ones."""
    from matplotlib.colors import LogNorm

    most = max(int(side.degrees().max(initial=1)) for side in sides)
    # Whole degrees a third of a power of two apart, one by one at first.
    edges = np.unique(np.floor(2 ** (np.arange(3 * int(most).bit_length() + 1) / 3)))
    bins = len(edges) - 1
    tables = []
    for side in sides:
        joint = joint_degrees(side.pairs(), side.nodes)
        places = [np.searchsorted(edges, ends, "right") - 1 for ends in (joint.low, joint.high)]
        table = np.zeros((bins, bins))
        np.add.at(table, (places[0], places[1]), joint.edges)
        np.add.at(table, (places[1], places[0]), joint.edges)
        tables.append(table / max(float(table.sum()), 1.0))
    least = min(float(table[table > 0].min(initial=1.0)) for table in tables)
    largest = max(float(table.max()) for table in tables)
    norm = LogNorm(vmin=least, vmax=max(largest, 2 * least))
    for axis, table, side, name in zip(axes, tables, sides, NAMES, strict=True):
        shown = np.where(table > 0, table, np.nan)
        drawn = axis.pcolormesh(edges, edges, shown.T, norm=norm, cmap="GnBu", shading="flat")
        axis.set_xscale("log")
        axis.set_yscale("log")
        _plain(axis.xaxis)
        _plain(axis.yaxis)
        axis.set_aspect("equal")
        axis.set_xlabel("degree at one end of an edge")
        axis.set_title(f"{name}: {side.nodes:,} nodes, {side.edges:,} edges", fontsize=9.5)
    axes[0].set_ylabel("degree at the other end")
    bar = figure.colorbar(drawn, ax=axes, shrink=0.8)
    bar.ax.yaxis.set_major_formatter(lambda share, _: f"{100 * share:.10g} %")
    bar.set_label("share of the edges")


def _plain(line: Any) -> None:
    """Write the powers of ten of a logarithmic axis as they are read."""
    from matplotlib.ticker import NullFormatter

    line.set_major_formatter(lambda degree, _: f"{degree:,.10g}")
    line.set_minor_formatter(NullFormatter())
