"""What a synthetic table is drawn from: a distribution over the codes of its columns.

A model is made of released figures alone. It is public, and whatever is computed from it is free.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.graphical import GraphicalModel

__all__ = ["Model", "Network", "Part"]


@dataclass(frozen=True)
class Part:
    """One table of a model: a column given its parents, or several columns together.

    Parameters
    ----------
    columns
        The columns the table holds; in a directed network the child comes first.
    levels
        For each of them the level of its taxonomy at which the table holds it; 0 is the column
        as it is declared.
    """

    columns: tuple[int, ...]
    levels: tuple[int, ...]


@dataclass(frozen=True)
class Network:
    """Which columns a model joins.

    Parameters
    ----------
    directed
        Whether every part is a child with its parents, in an order in which rows can be drawn;
        otherwise every part is a set of columns that is held together.
    parts
        The tables.
    """

    directed: bool
    parts: tuple[Part, ...]


class Model(Protocol):
    """A distribution over rows of codes."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """The domain size of each column, in the order of the schema."""

    @property
    def network(self) -> Network:
        """Which columns it joins."""

    def marginal(self, columns: tuple[int, ...]) -> NDArray[np.float64]:
        """Return the probabilities of all combinations of some columns, axes in the order given."""

    def draw(self, rows: int, generator: np.random.Generator) -> NDArray[np.int64]:
        """Return the codes of some rows, shape (rows, columns)."""


# A graphical model fitted to noisy tables, as a model that rows are drawn from.
#
# It is made of released figures alone; whatever is computed from it is free.


Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A graphical model as a model of columns.

    Parameters
    ----------
    graph
        The graphical model.
    """

    graph: GraphicalModel

    @property
    def sizes(self) -> tuple[int, ...]:
        """The domain size of each column."""
        return tuple(self.graph.sizes)

    @property
    def network(self) -> Network:
        """Which columns it holds together."""
        return Network(
            False, tuple(Part(clique, (0,) * len(clique)) for clique in self.graph.cliques)
        )

    def marginal(self, columns: tuple[int, ...]) -> Floats:
        """Return the probabilities of all combinations of some columns, axes in the order given."""
        return self.graph.marginal(columns)

    def draw(self, rows: int, generator: np.random.Generator) -> NDArray[np.int64]:
        """Return the codes of some rows, shape (rows, columns)."""
        return self.graph.draw(rows, generator)
