"""Drawing with Matplotlib into markup that stands inside a page, needing nothing from outside.

The same release gives the same bytes. Texts stay texts: they can be searched, copied and read
aloud, and no text is taken for a formula.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from typing import Any

INK = "#23313d"
SOFT = "#6f7f8c"
FILL = "#9db8c7"
ACCENT = "#b4552d"
PALE = "#eef2f3"
#: From paper to deep water: the colours of heat maps.
SHADES = ("#f7f5ef", "#d5e0e3", "#9db8c7", "#5d87a1", "#2f5d7c", "#1f3d55")

_STYLE: dict[str, Any] = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.family": "sans-serif",
    "font.size": 9.0,
    "axes.edgecolor": SOFT,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
}


def shortened(text: str, most: int = 18) -> str:
    """Return a text that fits under an axis."""
    return text if len(text) <= most else text[: most - 1] + "…"


def drawn(name: str, size: tuple[float, float], draw: Callable[[Any], None]) -> str:
    """Return an inline SVG of what `draw` paints on a figure.

    Parameters
    ----------
    name
        A name that no other picture of the page has: it keeps their inner references apart.
    size
        Width and height in inches.
    draw
        Called with an empty figure.
    """
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context({**_STYLE, "svg.hashsalt": name}):
        figure = Figure(figsize=size, layout="constrained")
        draw(figure)
        return _inline(figure)


def inlined(name: str, make: Callable[[], Any]) -> str:
    """Return an inline SVG of a figure that `make` draws by itself."""
    import matplotlib

    own = {"svg.hashsalt": name, "svg.fonttype": "none", "text.parse_math": False}
    with matplotlib.rc_context({**own, "axes.facecolor": "none", "savefig.facecolor": "none"}):
        return _inline(make())


def _inline(figure: Any) -> str:
    """Return a figure as markup: no prolog, no size in points, no date."""
    buffer = io.StringIO()
    with warnings.catch_warnings():
        # Texts are drawn by the reader's fonts: what Matplotlib's own font lacks does not matter.
        warnings.filterwarnings("ignore", "Glyph .* missing from")
        # Said by Matplotlib before 3.11 of scripts that it does not join letter by letter.
        warnings.filterwarnings("ignore", "Matplotlib currently does not support")
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    body = text[text.index("<svg") :]
    opening, rest = body.split(">", 1)
    kept = " ".join(part for part in _attributes(opening) if not part.startswith(("width", "hei")))
    # As large as it was drawn, so that all texts have one size; smaller only on a narrow screen.
    kept += f' style="max-width: {96 * figure.get_figwidth():.0f}px"'
    # Matplotlib has escaped the texts; nothing else in it comes from the release.
    return f'<svg {kept} role="img" aria-hidden="true">{rest}'


def _attributes(opening: str) -> list[str]:
    """Return the attributes of an opening tag, each with its value."""
    inner = opening.removeprefix("<svg").strip().replace("\n", " ")
    parts, current = [], ""
    for piece in inner.split(" "):
        current = f"{current} {piece}".strip()
        if current.count('"') == 2:
            parts.append(current)
            current = ""
    return parts
