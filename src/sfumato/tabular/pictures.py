"""Pictures of released tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.tabular.dependence import Join

if TYPE_CHECKING:
    from sfumato.tabular.noisy_tables import NoisyTables
    from sfumato.tabular.synthetic import SyntheticTable

#: More columns or values than this do not fit a picture that can be read.
MOST_COLUMNS = 12
MOST_VALUES = 24

INK, FILL, MARGIN = "#1d3557", "#a8c5da", "#c1121f"


def one_way_picture(release: NoisyTables | SyntheticTable, covered: Sequence[int]) -> Any:
    """Return a figure with a bar chart of each covered column and the margin of its noise."""
    import matplotlib as mpl

    # Names and values are text, even where they hold a dollar sign.
    with mpl.rc_context({"text.parse_math": False}):
        return _draw_network(release, covered)


def _draw_network(release: NoisyTables | SyntheticTable, covered: Sequence[int]) -> Any:
    from matplotlib.figure import Figure

    shown = covered[:MOST_COLUMNS]
    across = min(3, len(shown))
    down = -(-len(shown) // across)
    figure = Figure(figsize=(4.2 * across, 2.9 * down), layout="constrained")
    axes = np.atleast_1d(figure.subplots(down, across, squeeze=False)).ravel()
    for axis, column in zip(axes, shown, strict=False):
        _bars(axis, release, release.public.columns[column])
    for axis in axes[len(shown) :]:
        axis.set_visible(False)
    left = len(covered) - len(shown)
    note = f" (the first {len(shown)} of {len(covered)} columns)" if left else ""
    figure.suptitle(f"Released counts, with 95 % margins of the noise{note}", fontsize=11)
    return figure


def _bars(axis: Any, release: NoisyTables | SyntheticTable, name: str) -> None:
    """Draw the counts of one column."""
    frame = release.marginal([name])
    counts = frame[:, 1].to_numpy()[:MOST_VALUES]
    labels = [text if len(text) <= 14 else text[:13] + "…" for text in frame[:MOST_VALUES, 0]]
    # Without a margin of its own a column gets none drawn.
    margins = frame[:, 2].fill_null(0.0).to_numpy()[:MOST_VALUES]
    places = np.arange(len(counts))
    axis.bar(places, counts, color=FILL, edgecolor=INK, linewidth=0.6)
    low = np.minimum(margins, counts)
    axis.errorbar(
        places, counts, yerr=np.array([low, margins]), fmt="none", ecolor=MARGIN, capsize=2
    )
    axis.set_title(name, fontsize=10, color=INK)
    axis.set_xticks(places, labels, rotation=60 if len(labels) > 4 else 0, fontsize=7)
    axis.tick_params(axis="y", labelsize=7)
    axis.spines[["top", "right"]].set_visible(False)
    hidden = frame.height - len(counts)
    if hidden:
        axis.set_xlabel(f"and {hidden} more values", fontsize=7)


# The picture of a synthetic release: which columns the model joins, and how much they tell.
#
# Everything in it is a function of the released model.


Floats = NDArray[np.float64]

#: A network of more columns than this is drawn for those alone that tell most.
MOST_NODES = 40
#: How wide the strongest line is, and the weakest, in points.
WIDEST, THINNEST = 5.0, 0.5
#: Sizes in points: of names, of the room around them, and of the margin of the picture.
FONT, PADDING, GAP, EDGE = 9.0, 4.0, 5.0, 12.0
#: Lines of names that stand alone are this far apart, in points.
LINE = 26.0


def network_picture(release: SyntheticTable) -> Any:
    """Return a figure of the columns that the model joins, wider lines for those that tell more."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    nodes = _nodes(release)
    shown = [join for join in release.joins if join.first in nodes and join.second in nodes]
    with mpl.rc_context({"text.parse_math": False}):
        halves = _halves([_name(release, column) for column in nodes])
        spots = _spots(nodes, shown, halves)
        low, high = (spots - halves).min(axis=0) - EDGE, (spots + halves).max(axis=0) + EDGE
        title = _title(release, nodes, shown)
        # One point of data is one point of paper, so that lines can end where boxes begin.
        width = max(high[0] - low[0], 5.3 * len(title))
        middle, top = (low[0] + high[0]) / 2, high[1] + LINE
        figure = Figure(figsize=(width / 72, (top - low[1]) / 72))
        axis = figure.add_axes((0, 0, 1, 1))
        axis.set_axis_off()
        axis.set_xlim(middle - width / 2, middle + width / 2)
        axis.set_ylim(low[1], top)
        _draw(axis, release, nodes, shown, spots, halves)
        axis.text(middle, high[1] + 0.4 * LINE, title, ha="center", fontsize=10, color=INK)
    return figure


def _nodes(release: SyntheticTable) -> list[int]:
    """Return the columns that are drawn: all, or those of the most telling joins."""
    every = range(len(release.public.columns))
    ranked = dict.fromkeys(column for join in release.joins for column in (join.first, join.second))
    return sorted(list(dict.fromkeys([*ranked, *every]))[:MOST_NODES])


def _name(release: SyntheticTable, column: int) -> str:
    name = release.public.columns[column]
    return name if len(name) <= 20 else name[:19] + "…"


def _title(release: SyntheticTable, nodes: list[int], shown: list[Join]) -> str:
    """Say what the lines mean."""
    hidden = len(release.public.columns) - len(nodes)
    more = f"; {hidden} more columns are not drawn" if hidden else ""
    if not shown:
        return f"No column depends on another in the model{more}"
    if release.network.directed:
        lines = "An arrow leads to a column from one it depends on"
    else:
        lines = "A line joins columns that are kept together"
    return f"{lines}; the wider, the more they tell about each other{more}"


def _halves(names: list[str]) -> Floats:
    """Return half the width and half the height of the box around each name, in points."""
    from matplotlib.textpath import TextPath

    widths = [TextPath((0, 0), name, size=FONT).get_extents().width for name in names]
    wide = np.array([max(width, FONT) / 2 + PADDING for width in widths])
    return np.column_stack([wide, np.full(len(names), 0.6 * FONT + PADDING)])


def _spots(nodes: list[int], shown: list[Join], halves: Floats) -> Floats:
    """Return the centre of each name in points: joined ones as a network, others below it."""
    joined = {column for join in shown for column in (join.first, join.second)}
    inside = [i for i, column in enumerate(nodes) if column in joined]
    outside = [i for i, column in enumerate(nodes) if column not in joined]
    number = {nodes[i]: place for place, i in enumerate(inside)}
    edges = [(number[join.first], number[join.second]) for join in shown]
    side = 30.0 + 78.0 * len(inside) ** 0.5
    spots = np.zeros((len(nodes), 2))
    if inside:
        spread = places(len(inside), edges, _lengths(len(inside), edges))
        spots[inside] = separate_boxes(spread * (1.6 * side, side), halves[inside] + GAP)
    width = max(1.6 * side, 420.0)
    bottom = min((spots[i, 1] for i in inside), default=2 * LINE) - 2 * LINE
    spots[outside] = _rows(halves[outside, 0], width, bottom)
    return spots


def _rows(halves: Floats, width: float, bottom: float) -> Floats:
    """Return the centres of boxes set one after another, in lines of a width."""
    spots, left = np.zeros((len(halves), 2)), 0.0
    for i, half in enumerate(halves):
        if left > 0 and left + 2 * half > width:
            left, bottom = 0.0, bottom - LINE
        spots[i] = left + half, bottom
        left += 2 * half + 3 * GAP
    return spots


def _lengths(nodes: int, edges: Sequence[tuple[int, int]]) -> list[float]:
    """Return how long each edge is drawn: those that hold the network together are short."""
    group = list(range(nodes))

    def root(node: int) -> int:
        while group[node] != node:
            node = group[node]
        return node

    lengths = []
    for first, second in edges:
        ends = root(first), root(second)
        lengths.append(1.0 if ends[0] != ends[1] else 1.5)
        group[ends[0]] = ends[1]
    return lengths


def _draw(
    axis: Any,
    release: SyntheticTable,
    nodes: list[int],
    shown: list[Join],
    spots: Floats,
    halves: Floats,
) -> None:
    """Draw lines first and names over them; the strongest lines lie over the weak ones."""
    number = {column: place for place, column in enumerate(nodes)}
    most = max((join.information or 0.0 for join in shown), default=0.0) or 1.0
    directed = release.network.directed
    for join in reversed(shown):
        first, second = number[join.first], number[join.second]
        share = ((join.information or 0.0) / most) ** 0.5
        way = spots[second] - spots[first]
        axis.annotate(
            "", xy=spots[second], xytext=spots[first], annotation_clip=False,
            arrowprops={
                "arrowstyle": "-|>" if directed else "-",
                "linewidth": THINNEST + (WIDEST - THINNEST) * share,
                "color": INK, "alpha": 0.25 + 0.6 * share, "mutation_scale": 9 + 8 * share,
                "shrinkA": _inside(halves[first], way), "shrinkB": _inside(halves[second], way) + 2,
                "connectionstyle": "arc3,rad=0.06" if directed else "arc3",
            },
        )  # fmt: skip
    for column, spot in zip(nodes, spots, strict=True):
        box = {"boxstyle": f"round,pad={PADDING / FONT}", "facecolor": "white", "edgecolor": INK}
        axis.text(
            *spot, _name(release, column), ha="center", va="center", fontsize=FONT, color=INK,
            zorder=5, bbox={**box, "linewidth": 0.8},
        )  # fmt: skip


def _inside(half: Floats, way: Floats) -> float:
    """Return how much of a line from the centre of a box in some direction lies within it."""
    length = float(np.hypot(*way)) or 1.0
    steps = np.abs(way) / length
    return float(min(half[axis] / steps[axis] for axis in (0, 1) if steps[axis] > 1e-9))


# Where the nodes of a drawn network go.
#
# Nodes that are joined come close and all others keep their distance: the places minimise the
# stress of Kamada and Kawai (1989) by majorisation (Gansner, Koren and North, 2004); then boxes
# that overlap are pushed apart. The same network is always drawn alike.


#: Rounds of majorisation, and of pushing; pictures do not change visibly long before.
ROUNDS = 300


def places(nodes: int, edges: Sequence[tuple[int, int]], lengths: Sequence[float]) -> Floats:
    """Return a place for each node in a box of width and height one.

    Parameters
    ----------
    nodes
        How many nodes there are.
    edges
        The pairs that are joined.
    lengths
        How long each edge should be drawn, relative to the others.
    """
    if nodes <= 1:
        return np.full((nodes, 2), 0.5)
    wanted = _distances(nodes, edges, lengths)
    angles = 2 * np.pi * np.arange(nodes) / nodes
    found = wanted.max() / 2 * np.column_stack([np.cos(angles), np.sin(angles)])
    weights = np.where(wanted > 0, 1 / np.maximum(wanted, 1e-9) ** 2, 0.0)
    inverse = np.linalg.pinv(np.diag(weights.sum(axis=1)) - weights)
    for _ in range(ROUNDS):
        apart = np.linalg.norm(found[:, None] - found[None, :], axis=2)
        pull = np.where(apart > 1e-12, weights * wanted / np.maximum(apart, 1e-12), 0.0)
        found = inverse @ ((np.diag(pull.sum(axis=1)) - pull) @ found)
    return _in_box(found)


def _distances(nodes: int, edges: Sequence[tuple[int, int]], lengths: Sequence[float]) -> Floats:
    """Return how far apart each two nodes should be: the shortest way along the edges."""
    apart = np.full((nodes, nodes), np.inf)
    np.fill_diagonal(apart, 0.0)
    for (first, second), length in zip(edges, lengths, strict=True):
        apart[first, second] = apart[second, first] = min(apart[first, second], length)
    for middle in range(nodes):
        apart = np.minimum(apart, apart[:, middle, None] + apart[None, middle, :])
    known = apart[np.isfinite(apart)]
    # What nothing joins stands a little outside.
    return np.where(np.isfinite(apart), apart, 0.5 * known.max() + 1.0)


def _in_box(found: Floats) -> Floats:
    """Turn places so that the longer side lies flat, and scale them to a box."""
    centred = found - found.mean(axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    # A decomposition fixes its axes up to their signs; the first node decides.
    turned = centred @ axes.T
    turned *= np.where(turned[0] > 1e-9, -1.0, 1.0)
    spread = turned.max(axis=0) - turned.min(axis=0)
    # A network that is a mere line lies in the middle.
    low = np.where(spread > 1e-9, turned.min(axis=0), turned.min(axis=0) - 0.5)
    return np.asarray((turned - low) / np.where(spread > 1e-9, spread, 1.0))


def separate_boxes(spots: Floats, halves: Floats) -> Floats:
    """Return the centres of boxes moved as little as it takes until no two overlap.

    Parameters
    ----------
    spots
        The centres.
    halves
        Half the width and half the height of each box, and of the gap around it.
    """
    moved = spots.copy()
    room = halves[:, None] + halves[None, :]
    for _ in range(ROUNDS):
        apart = moved[:, None] - moved[None, :]
        over = np.where(np.all(np.abs(apart) < room, axis=2)[:, :, None], room - np.abs(apart), 0)
        over[np.diag_indices(len(moved))] = 0.0
        if over.max(initial=0.0) <= 1e-3:
            break
        # Along the axis of the smaller overlap; of two at one place the first goes left and down.
        side = np.argmin(over, axis=2)
        order = np.sign(np.arange(len(moved))[:, None] - np.arange(len(moved))[None, :])
        direction = np.where(np.abs(apart) > 1e-9, np.sign(apart), order[:, :, None])
        for axis in (0, 1):
            push = np.where(side == axis, over[:, :, axis] * direction[:, :, axis], 0.0)
            moved[:, axis] += 0.5 * push.sum(axis=1)
    return moved
