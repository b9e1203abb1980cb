"""The picture of a synthetic release: which columns the model joins, and how much they tell.

Everything in it is a function of the released model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.tabular.joined import Join
from sfumato.tabular.layout import places, separated
from sfumato.tabular.pictures import INK

if TYPE_CHECKING:
    from sfumato.tabular.synthetic import SyntheticTable

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
        spots[inside] = separated(spread * (1.6 * side, side), halves[inside] + GAP)
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
