"""The `size` argument that every sampler takes: a number, a tuple, or None for one plain value."""

from __future__ import annotations

import math
import operator
from typing import Any, TypeAlias

from numpy.typing import NDArray

Size: TypeAlias = int | tuple[int, ...] | None


def shape_of(size: object) -> tuple[int, ...]:
    """Return the shape that a size asks for; None asks for one value, hence for ().

    Parameters
    ----------
    size
        A non-negative integer, a tuple of them, or None.
    """
    if size is None:
        return ()
    parts = size if isinstance(size, tuple) else (size,)
    shape = tuple(_length(part) for part in parts)
    if any(length < 0 for length in shape):
        raise ValueError(f"size must not be negative; got {size}")
    return shape


def count_of(size: Size) -> int:
    """Return how many draws a size asks for.

    Parameters
    ----------
    size
        As `shape_of` takes it.
    """
    return math.prod(shape_of(size))


def shape_draws(draws: NDArray[Any], size: Size) -> Any:
    """Give a flat array of draws the shape that was asked for; one plain value for None.

    Parameters
    ----------
    draws
        A flat array of `count_of(size)` entries.
    size
        As `shape_of` takes it.
    """
    if size is None:
        value = draws[0]
        return value.item() if hasattr(value, "item") else value
    return draws.reshape(shape_of(size))


def _length(part: object) -> int:
    """Read one entry of a size."""
    if isinstance(part, bool) or not hasattr(part, "__index__"):
        raise TypeError(f"size is an int, a tuple of ints, or None; got {part!r}")
    return operator.index(part)
