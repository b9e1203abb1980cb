"""Which columns of a model go together, and how much they tell about each other.

Everything here is a function of the released model.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import prod

from sfumato.tabular.model import Model, Network
from sfumato.tabular.tree import mutual_information

__all__ = ["Join", "joins", "pairs_of"]

#: The two-way table of a pair with more cells than this is not worked out for a picture.
MOST_CELLS = 2**22


@dataclass(frozen=True)
class Join:
    """Two columns that a part of the model holds together.

    Parameters
    ----------
    first, second
        The columns; in a directed network the second is drawn given the first.
    information
        What they tell about each other in the model, in nats; `None` where it was too large a
        table to work out.
    """

    first: int
    second: int
    information: float | None


def pairs_of(network: Network) -> list[tuple[int, int]]:
    """Return the pairs of columns that some part holds together, each once, in order.

    In a directed network they are (parent, child); in any other, increasing.
    """
    found: dict[tuple[int, int], None] = {}
    for part in network.parts:
        # Two levels or bits of one column are still one column.
        columns = list(dict.fromkeys(part.columns))
        if network.directed:
            found.update({(parent, columns[0]): None for parent in columns[1:]})
        else:
            found.update(dict.fromkeys(combinations(sorted(columns), 2)))
    return list(found)


def joins(model: Model) -> tuple[Join, ...]:
    """Return the pairs of columns that a model holds together, the most telling first."""
    found = []
    for pair in pairs_of(model.network):
        small = prod(model.sizes[column] for column in pair) <= MOST_CELLS
        told = mutual_information(model.marginal(pair)) if small else None
        found.append(Join(*pair, None if told is None else max(told, 0.0)))
    ranked = sorted(found, key=lambda item: (-(item.information or 0.0), item.first, item.second))
    return tuple(ranked)
