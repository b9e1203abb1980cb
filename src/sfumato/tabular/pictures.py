"""Pictures of released tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

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
        return _drawn(release, covered)


def _drawn(release: NoisyTables | SyntheticTable, covered: Sequence[int]) -> Any:
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
