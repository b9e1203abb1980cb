"""A graphical model fitted to noisy tables, as a model that rows are drawn from.

It is made of released figures alone; whatever is computed from it is free.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.graphical import GraphicalModel
from sfumato.tabular.model import Network, Part

__all__ = ["FittedModel"]

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
