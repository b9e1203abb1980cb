"""The release of the degrees of a graph, sorted: how many nodes have how many edges, without names.

Everything here is a function of the noisy sequence.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.frames import ToFrame
from sfumato.privacy.release import Release
from sfumato.sections import Section

if TYPE_CHECKING:
    import polars as pl

__all__ = ["DegreeRelease", "degree_files", "degree_picture", "logarithmic"]

INK, FILL = "#1d3557", "#4c72b0"


class DegreeRelease(Release, ToFrame):
    """The degrees of all nodes, from the smallest, which node has which being left out.

    Parameters
    ----------
    degrees
        The repaired noisy degrees: they never fall, and lie between 0 and the number of other
        nodes. They need not be whole numbers.
    margin
        The 95 % margin of the noise on one degree before the repair, which makes it smaller.
    """

    kind = "degree sequence"

    def __init__(self, degrees: NDArray[np.float64], *, margin: float) -> None:
        degrees.flags.writeable = False
        self.degrees = degrees
        self.margin = margin

    @property
    def histogram(self) -> NDArray[np.int64]:
        """How many nodes have degree 0, 1, 2, …, the degrees rounded."""
        return np.bincount(np.rint(self.degrees).astype(np.int64)).astype(np.int64)

    @property
    def mean(self) -> float:
        """The average degree; 0 without nodes."""
        return float(self.degrees.mean()) if len(self.degrees) else 0.0

    def share_of_at_least(self, degrees: Sequence[float]) -> NDArray[np.float64]:
        """Return which share of the nodes has at least a degree, for each of several."""
        reached = len(self.degrees) - np.searchsorted(np.rint(self.degrees), degrees)
        return np.asarray(reached / max(len(self.degrees), 1), dtype=np.float64)

    def to_polars(self) -> pl.DataFrame:
        """Return how many nodes have each degree, rounded, as a Polars frame."""
        import polars as pl

        nodes = self.histogram
        (degrees,) = np.nonzero(nodes)
        return pl.DataFrame({"degree": degrees, "nodes": nodes[degrees]})

    def files(self) -> dict[str, bytes]:
        """Return the sequence in runs, and the histogram, as two small tables."""
        return degree_files(self.degrees)

    def words(self) -> str:
        """Return the degrees in a sentence."""
        nodes = len(self.degrees)
        if nodes == 0:
            return "The graph has no nodes, and so no degrees."
        middle, largest = np.rint(self.degrees[[nodes // 2, -1]])
        return (
            f"The degrees of {nodes:,} nodes, sorted: {self.mean:,.3g} on average, half of them "
            f"about {middle:,.0f} or less, the largest about {largest:,.0f}. Noise was added to "
            f"each degree (± {self.margin:,.4g}, 19 times in 20), and most of it removed again by "
            "putting them in order."
        )

    def summary(self) -> dict[str, Any]:
        """Return how many nodes have 0, 1, 2, … neighbours, for programs."""
        return {
            "nodes": len(self.degrees),
            "mean": self.mean,
            "histogram": self.histogram.tolist(),
            "margin": self.margin,
        }

    def sections(self) -> tuple[Section, ...]:
        """Return what its page shows."""
        from sfumato.graph.pages import degree_sections

        return degree_sections(self)

    def plot(self) -> Any:
        """Return a figure: which share of the nodes has at least so many edges."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(5.5, 3.6), layout="constrained")
        degree_picture(figure.subplots(), self)
        return figure


def degree_files(degrees: NDArray[np.float64]) -> dict[str, bytes]:
    """Return the two tables of a sorted degree sequence."""
    starts = np.flatnonzero(np.append(True, degrees[1:] != degrees[:-1])[: len(degrees)])
    lengths = np.diff(np.append(starts, len(degrees)))
    runs = ["degree,nodes"]
    runs += [f"{degrees[at]:.6f},{many}" for at, many in zip(starts, lengths, strict=True)]
    counts = np.bincount(np.rint(degrees).astype(np.int64))
    bars = ["degree,nodes", *(f"{degree},{many}" for degree, many in enumerate(counts) if many)]
    return {
        "degrees.csv": "\n".join(runs).encode() + b"\n",
        "histogram.csv": "\n".join(bars).encode() + b"\n",
    }


def degree_picture(axis: Any, release: DegreeRelease) -> None:
    """Draw the share of nodes with at least so many edges, both axes logarithmic."""
    axis.spines[["top", "right"]].set_visible(False)
    axis.set_xlabel("edges of a node, at least")
    axis.set_ylabel("share of the nodes")
    seen = np.flatnonzero(release.histogram[1:]) + 1
    if len(seen) == 0:
        axis.text(0.5, 0.5, "no node has an edge", ha="center", transform=axis.transAxes)
        return
    shares = release.share_of_at_least(seen.tolist())
    axis.step(seen, shares, where="pre", color=FILL)
    axis.plot(seen, shares, ".", color=INK, markersize=3)
    logarithmic(axis)


def logarithmic(axis: Any) -> None:
    """Make both axes logarithmic, with degrees and shares as they are read beside them."""
    from matplotlib.ticker import NullFormatter

    axis.set_xscale("log")
    axis.set_yscale("log")
    # Powers of ten would be set as formulas, which a page does not read.
    axis.xaxis.set_major_formatter(lambda degree, _: f"{degree:,.10g}")
    axis.yaxis.set_major_formatter(lambda share, _: f"{100 * share:.10g} %")
    for side in (axis.xaxis, axis.yaxis):
        side.set_minor_formatter(NullFormatter())
