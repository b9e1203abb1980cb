"""Stochastic Kronecker graphs as a model that synthetic graphs are drawn from.

What they expect is in `kronecker_moments`, the one that fits given counts in `kronecker_fit`, and
their law in `kronecker_draws`. Everything here is public.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.graph.kronecker_draws import kronecker_pairs
from sfumato.graph.kronecker_fit import fit_initiator
from sfumato.graph.kronecker_moments import Features, Initiator, expected_features, power_of

__all__ = [
    "Features",
    "Initiator",
    "KroneckerModel",
    "expected_features",
    "fit_initiator",
    "kronecker_pairs",
    "power_of",
]


@dataclass(frozen=True)
class KroneckerModel:
    """Stochastic Kronecker graphs on public nodes, as a model that synthetic graphs are drawn from.

    Parameters
    ----------
    nodes
        The number of public nodes, at most those of the initiator.
    initiator
        The initiator.
    """

    nodes: int
    initiator: Initiator

    kind: ClassVar[str] = "stochastic Kronecker"
    named: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not 0 <= self.nodes <= self.initiator.nodes:
            raise ValueError(
                f"an initiator of power {self.initiator.power} has {self.initiator.nodes} nodes; "
                f"got {self.nodes}"
            )

    @property
    def expected(self) -> Features:
        """The expected counts of a graph that is drawn."""
        return expected_features(self.initiator, self.nodes)

    def draw(self, generator: np.random.Generator) -> NDArray[np.int64]:
        """Return the edges of one graph."""
        return kronecker_pairs(self.initiator, generator, self.nodes)

    def document(self) -> dict[str, Any]:
        """Return a plain document."""
        made = self.initiator
        return {
            "nodes": self.nodes,
            "power": made.power,
            "initiator": [made.a, made.b, made.c],
        }

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> KroneckerModel:
        """Return the model that a document tells."""
        a, b, c = document["initiator"]
        return cls(document["nodes"], Initiator(a, b, c, document["power"]))

    def words(self) -> str:
        """Return the model in a few sentences."""
        made, expected = self.initiator, self.expected
        return (
            "Graphs are drawn from a stochastic Kronecker model: every pair of nodes is joined on "
            f"its own, with a product of {made.power} factors taken from the matrix "
            f"({made.a:.3f}, {made.b:.3f}; {made.b:.3f}, {made.c:.3f}). Such graphs have "
            f"about {expected.edges:,.0f} edges and {expected.triangles:,.0f} triangles on average."
        )
