"""Drawing with Matplotlib into markup that stands inside a page, needing nothing from outside.

The same release gives the same bytes. Texts stay texts: they can be searched, copied and read
aloud, and no text is taken for a formula.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from typing import Any

from sfumato.sections import Picture
from sfumato.sections.drawing import INK, SOFT

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


def draw_svg(name: str, size: tuple[float, float], draw: Callable[[Any], None]) -> str:
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


def picture_svg(picture: Picture) -> str:
    """Return a picture of a page as inline SVG."""
    if picture.size is None:
        return figure_svg(picture.name, picture.draw)
    return draw_svg(picture.name, picture.size, picture.draw)


def figure_svg(name: str, make: Callable[[], Any]) -> str:
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
