"""The colours of all pictures, and texts that fit into them."""

from __future__ import annotations

INK = "#23313d"
SOFT = "#6f7f8c"
FILL = "#9db8c7"
ACCENT = "#b4552d"
PALE = "#eef2f3"
#: From paper to deep water: the colours of heat maps.
SHADES = ("#f7f5ef", "#d5e0e3", "#9db8c7", "#5d87a1", "#2f5d7c", "#1f3d55")


def shorten(text: str, most: int = 18) -> str:
    """Return a text that fits under an axis."""
    return text if len(text) <= most else text[: most - 1] + "…"
