"""A picture of an audit: the outputs on either data set, and the event that tells them apart most.

It shows outputs on synthetic data. It may never be drawn from an audit of private data.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.audit.sampling import AuditResult
from sfumato.audit.verdict import Audit

Floats = NDArray[np.float64]

INK = "#23313d"
SOFT = "#6f7f8c"
FIRST = "#b4552d"
SECOND = "#2f5d7c"
PAPER = "#fbfaf6"
EVENT = "#f1e3c6"

_STYLE: dict[str, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "audit",
    "text.parse_math": False,
    "font.family": "sans-serif",
    "font.size": 9.0,
    "axes.edgecolor": SOFT,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.facecolor": PAPER,
    "figure.facecolor": PAPER,
    "savefig.facecolor": PAPER,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}

#: Scores with at most this many values get a bar for each; others are put into bins.
MOST_VALUES = 24
BINS = 48
#: Scores closer than this are one: a loss computed twice may differ in its last digits.
DIGITS = 9


def draw_audit(result: Audit | AuditResult) -> Any:
    """Return a Matplotlib figure of the two output distributions with the chosen event shaded.

    Parameters
    ----------
    result
        What an audit showed; of several pairs the one that shows most is drawn.
    """
    if isinstance(result, Audit):
        result = result.telling.sampled
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(7.2, 4.3), layout="constrained")
        axis = figure.subplots()
        scores = [np.round(one, DIGITS) for one in result.scores]
        threshold = round(result.event.threshold, DIGITS)
        values = np.unique(np.concatenate(scores))
        if values.size <= MOST_VALUES:
            _bars(axis, scores, values, threshold)
        else:
            _steps(axis, scores, threshold)
        _label(axis, result)
        figure.suptitle(_title(result), x=0.015, ha="left", fontsize=11.5, fontweight="bold")
    return figure


def check_picture(path: str | Path) -> None:
    """Raise `ValueError` unless a picture can be written under this name."""
    target = Path(path)
    if target.suffix.lower() not in (".svg", ".png"):
        raise ValueError(f"a picture must be a .svg or .png file; got {target.name}")
    if not target.parent.is_dir():
        raise ValueError(f"there is no folder {target.parent} for the picture")


def save_picture(result: Audit | AuditResult, path: str | Path) -> Path:
    """Write the figure as an SVG or PNG file; the same audit gives the same SVG.

    Parameters
    ----------
    result
        What an audit showed.
    path
        A file name that ends in `.svg` or `.png`.
    """
    import matplotlib

    check_picture(path)
    target = Path(path)
    form = target.suffix.lower().removeprefix(".")
    figure = draw_audit(result)
    buffer = io.BytesIO()
    nothing = {"Date": None, "Creator": None} if form == "svg" else {"Software": None}
    with matplotlib.rc_context(_STYLE):
        figure.savefig(buffer, format=form, metadata=nothing, dpi=160)
    target.write_bytes(buffer.getvalue())
    return target


def _bars(axis: Any, scores: list[Floats], values: Floats, threshold: float) -> None:
    """Draw a pair of bars for every value that a score took, at even distances."""
    places = np.arange(values.size)
    inside = values >= threshold
    if inside.any():
        _shade(axis, float(places[inside][0]) - 0.5, values.size - 0.5)
    for one, shift, colour in zip(scores, (-0.2, 0.2), (FIRST, SECOND), strict=True):
        shares = np.array([np.mean(one == value) for value in values])
        bars = axis.bar(places + shift, shares, width=0.38, color=colour, zorder=2)
        for bar, within in zip(bars, inside, strict=True):
            bar.set_alpha(0.95 if within else 0.4)
    axis.set_xlim(-0.5, values.size - 0.5)
    every = -(-values.size // 12)
    texts = [f"{value:.4g}".replace("-", "−") for value in values[::every]]
    axis.set_xticks(places[::every], texts)


def _steps(axis: Any, scores: list[Floats], threshold: float) -> None:
    """Draw two histograms over the same bins, one of whose edges is the threshold."""
    both = np.concatenate(scores)
    # Far tails would squeeze everything else; what lies there is counted in the outermost bins.
    low, high = np.quantile(both, [0.005, 0.995])
    low, high = min(low, threshold), max(high, threshold)
    width = (high - low) / BINS or 1.0
    below, above = np.ceil((threshold - low) / width), np.ceil((high - threshold) / width)
    edges = threshold + width * np.arange(-max(below, 1), max(above, 1) + 1)
    _shade(axis, threshold, float(edges[-1]))
    for one, colour in zip(scores, (FIRST, SECOND), strict=True):
        # The threshold belongs to the event; a bin holds its left edge.
        numbers = np.clip(np.searchsorted(edges, one, side="right") - 1, 0, edges.size - 2)
        shares = np.bincount(numbers, minlength=edges.size - 1) / one.size
        axis.stairs(shares, edges, color=colour, fill=True, alpha=0.28, zorder=2)
        axis.stairs(shares, edges, color=colour, linewidth=1.4, zorder=3)
    axis.set_xlim(edges[0], edges[-1])


def _shade(axis: Any, start: float, end: float) -> None:
    """Shade the event and mark where it begins."""
    axis.axvspan(start, end, color=EVENT, linewidth=0, zorder=0)
    axis.axvline(start, color=INK, linewidth=1.0, linestyle=(0, (4, 3)), zorder=1)


def _label(axis: Any, result: AuditResult) -> None:
    """Say what is drawn and what the event shows."""
    from matplotlib.patches import Patch

    percent = f"{100 * result.confidence:.6g} %"
    handles = [
        Patch(color=FIRST, alpha=0.8, label=f"one data set: P(event) ≥ p = {result.p:.4f}"),
        Patch(color=SECOND, alpha=0.8, label=f"its neighbour: P(event) ≤ q = {result.q:.4f}"),
        Patch(facecolor=EVENT, edgecolor=SOFT, linewidth=0.6, label=_event_words(result)),
    ]
    axis.legend(
        handles=handles, loc="lower left", bbox_to_anchor=(0, 1.0), ncols=1, frameon=False,
        borderaxespad=0.2, handlelength=1.2, fontsize=8.5,
    )  # fmt: skip
    axis.text(
        1.0, 1.03, f"ε̂ = {max(result.bound, 0.0):.3f}", transform=axis.transAxes, ha="right",
        va="bottom", fontsize=19, color=FIRST if result.refuted else INK,
    )  # fmt: skip
    axis.text(
        1.0, 1.17, f"at {percent}, {result.claimed} promised", transform=axis.transAxes,
        ha="right", va="bottom", fontsize=8.5, color=SOFT,
    )  # fmt: skip
    axis.set_xlabel(f"score of an output: {result.event.score}")
    axis.set_ylabel(f"share of {result.scores[0].size:,} test outputs")
    axis.set_ylim(bottom=0)
    axis.grid(axis="y", color="#e4e2da", linewidth=0.7, zorder=0)
    axis.set_axisbelow(True)


def _event_words(result: AuditResult) -> str:
    ratio = "(p − δ)/q" if getattr(result.claimed, "delta", 0) else "p/q"
    return f"the event, score ≥ {result.event.threshold:.4g}:  ε̂ = ln {ratio}"


def _title(result: AuditResult) -> str:
    verdict = "REFUTED" if result.refuted else "not refuted"
    return f"{result.pair}: {verdict}"
