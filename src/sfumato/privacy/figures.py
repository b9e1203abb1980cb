"""How computed figures are published: with few digits, so that a platform's last ones do not show.

What is written has one form for one value, and no room for more: two texts of a figure differ by
one unit of the last written place at most, and rarely.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["DIGITS", "figure", "round_figures", "shorten_figures"]

#: How many significant digits a computed figure is published with.
DIGITS = 9


def figure(value: float, digits: int = DIGITS) -> str:
    """Return a figure as text, with so many significant digits at most."""
    # Adding 0 turns a negative zero into a positive one.
    return f"{float(value) + 0.0:.{digits}g}"


def round_figures(
    values: ArrayLike, size: ArrayLike, digits: int = DIGITS - 1
) -> NDArray[np.float64]:
    """Return figures rounded to so many digits of a common size.

    Parameters
    ----------
    values
        The figures.
    size
        How large they are at most, or what their rounding errors are proportional to: one number,
        or one for each.
    digits
        How many digits of that size are kept.
    """
    size = np.asarray(size, dtype=np.float64)
    places = digits - 1 - np.floor(np.log10(np.where(size > 0, size, 1.0))).astype(np.int64)
    many = np.broadcast_to(places, np.shape(values)).ravel().tolist()
    kept = [round(x, n) + 0.0 for x, n in zip(np.ravel(values).tolist(), many, strict=True)]
    return np.array(kept, dtype=np.float64).reshape(np.shape(values))


def shorten_figures(document: Any) -> Any:
    """Return a plain document with every float rounded to the digits that are published."""
    if isinstance(document, float):
        return float(figure(document))
    if isinstance(document, dict):
        return {name: shorten_figures(item) for name, item in document.items()}
    if isinstance(document, list | tuple):
        return [shorten_figures(item) for item in document]
    return document
