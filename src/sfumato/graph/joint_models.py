"""Models that keep joint degrees, and aim at triples.

Everything here is public, and made of whole numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from sfumato.graph.dk_series import JointDegrees, Triples
from sfumato.graph.joint_degrees import joint_graph
from sfumato.graph.models import rewiring_steps
from sfumato.graph.rewiring import toward_triples
from sfumato.graph.sampled import Pairs

__all__ = ["JointModel", "TripleModel"]


def _joint_document(joint: JointDegrees) -> list[list[int]]:
    rows: list[list[int]] = np.stack(joint, axis=1).tolist()
    return rows


def _joint_from(rows: list[list[int]]) -> JointDegrees:
    return JointDegrees(*np.array(rows, dtype=np.int64).reshape(-1, 3).T.copy())


@dataclass(frozen=True, eq=False)
class JointModel:
    """Graphs in which given numbers of edges join nodes of given degrees.

    Parameters
    ----------
    joint
        Joint degrees that a simple graph can have.
    size
        How many nodes there are, those without edges among them.
    exact
        False is the published construction, which loses a few edges.
    """

    kind: ClassVar[str] = "joint degrees"
    named: ClassVar[bool] = False

    joint: JointDegrees
    size: int
    exact: bool = True

    @property
    def nodes(self) -> int:
        """How many nodes there are."""
        return self.size

    def draw(self, generator: np.random.Generator) -> Pairs:
        """Return the edges of a graph with these joint degrees."""
        return joint_graph(self.joint, self.size, generator, exact=self.exact)

    def document(self) -> dict[str, Any]:
        """Return the model as a plain document: rows of two degrees and a number of edges."""
        return {"joint": _joint_document(self.joint), "nodes": self.size, "exact": self.exact}

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Self:
        """Return the model that `document` wrote."""
        return cls(_joint_from(document["joint"]), int(document["nodes"]), bool(document["exact"]))

    def words(self) -> str:
        """Return what the model keeps."""
        return (
            "It keeps how many edges join nodes of few and of many edges, degree by degree "
            f"({len(self.joint.edges):,} pairs of degrees occur); everything else is random."
        )


@dataclass(frozen=True, eq=False)
class TripleModel:
    """Graphs with given joint degrees, rewired towards given wedges and triangles.

    Parameters
    ----------
    base
        The joint degrees, which are kept.
    target
        How many wedges and triangles of each kind are aimed at.
    """

    kind: ClassVar[str] = "joint degrees and triples"
    named: ClassVar[bool] = False

    base: JointModel
    target: Triples

    @property
    def nodes(self) -> int:
        """How many nodes there are."""
        return self.base.size

    def draw(self, generator: np.random.Generator) -> Pairs:
        """Return the edges of a graph with these joint degrees, close to the triples."""
        pairs = self.base.draw(generator)
        steps = rewiring_steps(np.bincount(pairs.ravel()))
        return toward_triples(pairs, self.nodes, self.target, generator, steps=steps)

    def document(self) -> dict[str, Any]:
        """Return the model as a plain document."""
        wedges = np.column_stack([self.target.wedge_degrees, self.target.wedges])
        triangles = np.column_stack([self.target.triangle_degrees, self.target.triangles])
        return {
            **self.base.document(),
            "wedges": wedges.tolist(),
            "triangles": triangles.tolist(),
        }

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Self:
        """Return the model that `document` wrote."""
        tables = [
            np.array(document[name], dtype=np.int64).reshape(-1, 4)
            for name in ("wedges", "triangles")
        ]
        parts = [part for table in tables for part in (table[:, :3], table[:, 3])]
        return cls(JointModel.from_document(document), Triples(*parts))

    def words(self) -> str:
        """Return what the model keeps."""
        return (
            f"{self.base.words()} It was then rewired towards noisy numbers of wedges and "
            "triangles by the degrees of their nodes. This is experimental: at a loss that "
            "protects anybody, the noise on them is larger than most of the numbers."
        )
