"""Pictures of a release of a graph beside the private graph it was made of.

NOT PRIVATE. They show the private graph without noise, and how sensitive it is: they are for the
custodian's eyes, say so on their face, and are never part of a release, a certificate or a report.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.graph import Graph
from sfumato.graph.count_law import CountLaw
from sfumato.graph.degrees import DegreeRelease, logarithmic
from sfumato.graph.number import NumberRelease
from sfumato.graph.shapes import Shape
from sfumato.graph.subgraph_count import SubgraphCount
from sfumato.graph.summary import SummaryRelease

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
    raise ValueError(f"there is no picture of {release.kind} beside the truth")


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
        raise ValueError("the noise of this count is beyond floating point; it cannot be drawn")
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
