"""What methods share that release a tree of cells: its fan-out, and how many cells it gets."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.data.points import PointsPublic
from sfumato.mechanisms.privtree import MOST_NODES

__all__ = ["cells_about", "check_fan_out", "halvings_of"]

#: Children of a node come from at most so many halvings, however many axes there are.
MOST_HALVINGS = 8


def halvings_of(fan_out: int | None, public: PointsPublic) -> int:
    """Return how many halvings lead from a cell to its children: one of each axis by default."""
    if fan_out is None:
        return min(public.dimensions, MOST_HALVINGS)
    return fan_out.bit_length() - 1


def check_fan_out(fan_out: int | None, public: PointsPublic) -> None:
    """Raise unless the fan-out is a power of two that halves no axis twice at one level."""
    halvings = halvings_of(fan_out, public)
    if fan_out is not None and (fan_out != 1 << halvings or halvings > public.dimensions):
        allowed = [1 << j for j in range(1, min(public.dimensions, MOST_HALVINGS) + 1)]
        raise ValueError(
            f"fan_out must be one of {', '.join(map(str, allowed))} for points of "
            f"{public.dimensions} dimension{'s' * (public.dimensions != 1)}; got {fan_out}"
        )


def cells_about(fan_out: int, needed: Sequence[float], points: int) -> int:
    """Return about how many cells a tree gets, as far as the number of points is declared.

    Parameters
    ----------
    fan_out
        How many children a cell has.
    needed
        For every level that may be split, how many points a cell needs for it; where that is less
        than none, all are split.
    points
        How many points there are; 0 where nothing is declared.
    """
    cells = level = 1
    for least in needed:
        split = level if least < 0 else min(level, int(points / max(least, 1)))
        level = fan_out * split
        cells += level
        if not split or cells >= MOST_NODES:
            break
    return min(cells, MOST_NODES)
