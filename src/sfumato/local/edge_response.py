"""One person's own part of a graph: whom they know, told by randomised response.

Of every pair of people one reports, the one with the lower number, so that no edge is told twice.
The collector puts the reports together and never sees a true list.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.data.graph_public import GraphPublic
from sfumato.local.client_data import own_client
from sfumato.local.pair_estimates import PairEstimates
from sfumato.local.queries import Own
from sfumato.mechanisms.bit_response import RandomizedBits
from sfumato.mechanisms.pair_response import RandomizedPairs
from sfumato.privacy.budget import Budget
from sfumato.privacy.guarantee import Relation, Unit
from sfumato.privacy.loss import Number, PureDP
from sfumato.privacy.method import LocalMethod
from sfumato.privacy.parameters import Whole, parameter
from sfumato.privacy.plan import Plan, PlanStep
from sfumato.privacy.program import Ask, Program

__all__ = ["EdgeResponse", "NeighboursPublic", "OwnNeighbours"]

#: The label of a report in transcripts.
REPORT = "report"


@dataclass(frozen=True)
class NeighboursPublic:
    """What is public about one person's list: who it is, and of how many nodes.

    Parameters
    ----------
    nodes
        How many nodes the graph has.
    node
        The number of this one.
    """

    kind: ClassVar[str] = "neighbours"

    nodes: int
    node: int
    unit: Unit = Unit.EDGE
    relation: Relation = Relation.ADD_REMOVE
    contribution: int = 1

    @property
    def told(self) -> int:
        """How many pairs this node reports: those with a higher number."""
        return self.nodes - 1 - self.node

    def assumptions(self) -> tuple[str, ...]:
        """Return what is taken as public, in words."""
        return (
            f"the {self.nodes} nodes, and that of two nodes the one with the lower number reports",
        )

    def to_json(self) -> dict[str, Any]:
        """Return a plain document."""
        return {"nodes": self.nodes, "node": self.node}

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> NeighboursPublic:
        """Return the public part that `to_json` wrote."""
        return cls(int(document["nodes"]), int(document["node"]))


class OwnNeighbours:
    """One person's own list of neighbours.

    Parameters
    ----------
    neighbours
        The numbers of the nodes that this one is joined to; those with a lower number report the
        pair themselves, and it is left out here.
    public
        Who this is.
    """

    __slots__ = ("_bits", "public")

    def __init__(self, neighbours: Iterable[int], public: NeighboursPublic) -> None:
        given = list(neighbours)
        whole = all(
            isinstance(number, int | np.integer)
            and not isinstance(number, bool)
            and 0 <= number < public.nodes
            for number in given
        )
        if not whole:
            raise ValueError(
                f"a neighbour must be a whole number from 0 to {public.nodes - 1}; what was given "
                "is not shown because it is private"
            )
        numbers = np.array(sorted(set(given)), dtype=np.int64)
        if (numbers == public.node).any():
            raise ValueError("a node must not be its own neighbour")
        bits = np.zeros(public.told, dtype=np.bool_)
        bits[numbers[numbers > public.node] - public.node - 1] = True
        self._bits = bits
        self.public = public

    def __repr__(self) -> str:
        return f"OwnNeighbours(node {self.public.node} of {self.public.nodes})"

    @property
    def input(self) -> NDArray[np.bool_]:
        """Whether this node is joined to each one with a higher number. Private."""
        return self._bits

    def digest(self, key: bytes) -> bytes:
        """Return a keyed hash that binds a ledger to this person, whoever the neighbours are."""
        return own_client(key)


@dataclass(frozen=True, kw_only=True)
class EdgeResponse(LocalMethod[OwnNeighbours, Any]):
    """Collect a graph from its members by randomised response; true edges are never sent.

    Parameters
    ----------
    epsilon
        Privacy loss for one edge. The loss for a whole list of neighbours is up to (nodes − 1)·ε.
    nodes
        Number of people. Each person has a public number, starting from 0.

    Notes
    -----
    Privacy: every pair is reported once, by the node with the lower number, truthfully with
    probability e^ε/(1 + e^ε); one edge changes one bit of one report
    (docs/proofs/graph-collection.md).

    Examples
    --------
    >>> survey = EdgeResponse(epsilon=3, nodes=4)
    >>> lists = [[1, 2], [0, 2], [0, 1, 3], [2]]
    >>> reports = [survey.perturb((node, known)) for node, known in enumerate(lists)]
    >>> estimates = survey.gather_reports(reports)
    >>> round(estimates.edges.deviation, 3)
    0.575
    """

    kind: ClassVar[str] = "neighbours"
    proof: ClassVar[str] = "graph-collection.md"
    small: ClassVar[str] = "one person's pairs, a bit each"

    nodes: int = parameter(Whole(1))

    @classmethod
    def example_public(
        cls, relation: Relation | None = None, max_rows: int | None = None
    ) -> NeighboursPublic:
        """Return the first node of a small graph."""
        return NeighboursPublic(GraphPublic.example(relation, max_rows).nodes, 0)

    @classmethod
    def example_method(cls, epsilon: Number, public: NeighboursPublic, **more: Any) -> Self:
        """Return the method for as many nodes as there are."""
        return super().example_method(epsilon, public, nodes=public.nodes, **more)

    def own(self, value: tuple[int, Iterable[int]]) -> OwnNeighbours:
        """Return one person's number and neighbours as private data."""
        node, neighbours = value
        if type(node) is not int or not 0 <= node < self.nodes:
            raise ValueError(
                f"the number of a node must be from 0 to {self.nodes - 1}; got {node!r}"
            )
        return OwnNeighbours(neighbours, NeighboursPublic(self.nodes, node))

    @cached_property
    def primitive(self) -> RandomizedPairs:
        """The law of all reports together."""
        return RandomizedPairs(nodes=self.nodes, epsilon=self._epsilon)

    @property
    def _epsilon(self) -> Fraction:
        loss = self.loss()
        assert isinstance(loss, PureDP)
        return loss.epsilon

    def check(self, public: NeighboursPublic) -> None:
        """Raise where the list is of another graph."""
        super().check(public)
        if public.nodes != self.nodes:
            raise ValueError(
                f"the list of neighbours is for {public.nodes} nodes; this method has nodes = "
                f"{self.nodes}"
            )

    def plan(self, public: NeighboursPublic) -> Plan:
        """Return how often the truth is told, and how well the edges will be counted."""
        self.check(public)
        flip = self.primitive.flip
        edges = PairEstimates(self.primitive, self.primitive.encode(np.zeros(0, np.int64))).edges
        step = PlanStep(
            what=f"{public.told} pairs of node {public.node}",
            loss=self.loss(),
            noise=f"each is reported falsely with probability {flip:.3g}",
            error=f"the edges of the graph to ± {edges.deviation:,.4g} (1 s.d.)",
            figures={"flip": flip, "deviation": edges.deviation},
        )
        return Plan(method=self.name, guarantee=self.guarantee(public), steps=(step,))

    def program(self, public: NeighboursPublic, budget: Budget) -> Program[dict[str, Any]]:
        """Ask for the bits of one person's list."""
        primitive = RandomizedBits(bits=public.told, epsilon=self._epsilon)
        said = yield Ask(budget, primitive, Own(), REPORT)
        return {"node": public.node, "bits": np.packbits(said, bitorder="little").tobytes().hex()}

    def gather_reports(self, reports: Iterable[dict[str, Any]]) -> PairEstimates:
        """Return what all reports together tell of the graph.

        Parameters
        ----------
        reports
            What `perturb` returned for each node, in any order.

        Notes
        -----
        Privacy: post-processing of reports that are already private.
        """
        rows: dict[int, NDArray[np.int64]] = {}
        for number, report in enumerate(reports, start=1):
            try:
                node, bits = self._read(report)
            except ValueError as error:
                raise ValueError(f"report {number}: {error}") from None
            if node in rows:
                raise ValueError(f"node {node} reported twice; give one report per node")
            rows[node] = bits
        missing = sorted(set(range(self.nodes)) - set(rows))
        if missing:
            raise ValueError(
                f"{len(missing):,} nodes did not report; the first is node {missing[0]}"
            )
        starts = _row_starts(self.nodes)
        found = [starts[node] + rows[node] for node in range(self.nodes)]
        primitive = self.primitive
        return PairEstimates(primitive, primitive.encode(np.concatenate(found)))

    def _read(self, report: Any) -> tuple[int, NDArray[np.int64]]:
        """Return the number of a report's node, and the places of its ones."""
        found = report if isinstance(report, dict) else {}
        node, text = found.get("node"), found.get("bits")
        if type(node) is not int or not 0 <= node < self.nodes or not isinstance(text, str):
            raise ValueError("a report must hold a node and the bits of its pairs")
        told = NeighboursPublic(self.nodes, node).told
        try:
            packed = np.frombuffer(bytes.fromhex(text), dtype=np.uint8)
        except ValueError:
            raise ValueError(f"the bits of node {node} are not hexadecimal") from None
        if len(packed) != -(-told // 8):
            raise ValueError(
                f"the report of node {node} must have {told} pairs in {-(-told // 8)} bytes"
            )
        return node, np.flatnonzero(np.unpackbits(packed, count=told, bitorder="little"))


def _row_starts(nodes: int) -> NDArray[np.int64]:
    """Return where the pairs of each node begin in the line of all pairs."""
    told = np.arange(nodes - 1, -1, -1, dtype=np.int64)
    return np.cumsum(told) - told
