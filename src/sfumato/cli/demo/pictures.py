"""Pictures of the demo: the release beside the truth, which is known because it is synthetic."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.table import Table
from sfumato.report.drawing import draw_svg
from sfumato.sections.drawing import ACCENT, FILL, INK, PALE, shorten
from sfumato.tabular.noisy_tables import NoisyTables


def truth(table: Table, columns: tuple[str, ...]) -> NDArray[np.int64]:
    """Return the true counts of synthetic data."""
    (counts,) = table.counts.marginals([table.public.schema.indices(columns)])
    return counts


def one_column(table: Table, release: NoisyTables, name: str) -> Callable[[Any], None]:
    """Return a drawing of one column: bars are released, dots are true."""

    def draw(figure: Any) -> None:
        axis = figure.subplots()
        released = release.marginal([name])
        counts, margins = released["count"].to_numpy(), released["margin"].to_numpy()
        places = np.arange(released.height)
        axis.bar(
            places, counts, yerr=np.array([np.minimum(margins, counts), margins]),
            color=FILL, ecolor=INK, error_kw={"elinewidth": 0.9, "capsize": 2},
        )  # fmt: skip
        axis.plot(places, truth(table, (name,)), "o", color=ACCENT, markersize=4)
        texts = [shorten(text, 12) for text in released[name]]
        turned = sum(map(len, texts)) > 24
        axis.set_xticks(
            places, texts, rotation=40 if turned else 0, ha="right" if turned else "center"
        )
        axis.set_title(name, loc="left", fontsize=10.5, fontweight="bold", color=INK)

    return draw


def share_by_age(
    table: Table, release: NoisyTables, column: str, value: str, title: str
) -> Callable[[Any], None]:
    """Return a drawing of one share by age: the line is released, the dots are true."""

    def draw(figure: Any) -> None:
        code = release.public.labels(column).index(value)
        pair = ("age", column)
        released, true = release.counts(pair), truth(table, pair)
        sums = released.sum(axis=1)
        places = np.arange(len(sums))
        size = float(release.marginal(list(pair))["margin"][0])
        share = released[:, code] / np.maximum(sums, 1e-9)
        spread = np.minimum(size / np.maximum(sums, 1e-9), 1.0)
        axis = figure.subplots()
        low, high = np.maximum(share - spread, 0), np.minimum(share + spread, 1)
        axis.fill_between(places, low, high, color=FILL, alpha=0.5, linewidth=0)
        axis.plot(places, share, color=INK, linewidth=1.3, label="released")
        exact = true[:, code] / np.maximum(true.sum(axis=1), 1)
        axis.plot(places, exact, "o", color=ACCENT, markersize=4.5, label="true")
        axis.set_xticks(places, release.public.labels("age"), rotation=40, ha="right")
        ticks = [tick for tick in axis.get_yticks() if 0 <= tick <= 1]
        axis.set_yticks(ticks, [f"{tick:.0%}" for tick in ticks])
        axis.set_ylim(bottom=0)
        axis.grid(color=PALE, linewidth=0.8)
        axis.set_title(title, loc="left", fontsize=10.5, fontweight="bold", color=INK)
        axis.legend(frameon=False, fontsize=8)

    return draw


def save(path: Path, name: str, size: tuple[float, float], draw: Callable[[Any], None]) -> str:
    """Save a drawing as an SVG file and return it for a page."""
    inline = draw_svg(name, size, draw)
    path.write_text(inline, encoding="utf-8")
    return inline
