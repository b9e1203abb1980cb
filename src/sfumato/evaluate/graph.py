"""How far a release of a graph is from the private graph it was made of.

NOT PRIVATE. Every figure here is computed from the private edges without noise: it is for the
custodian's eyes, costs no budget because it may not leave the house, and is never part of a
release, a certificate or a report.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.graph import Dropped, Graph
from sfumato.evaluate.spectrum import compare_spectrum
from sfumato.evaluate.synthetic_graph import compare
from sfumato.evaluate.warning import WARNING
from sfumato.graph.degrees import DegreeRelease
from sfumato.graph.number import NumberRelease
from sfumato.graph.shapes import Shape
from sfumato.graph.spectrum_release import SpectrumRelease
from sfumato.graph.statistic import GraphStatistic
from sfumato.graph.subgraph_count import SubgraphCount
from sfumato.graph.summary import SummaryRelease
from sfumato.graph.synthetic import SyntheticGraph
from sfumato.graph.units import graph_vocabulary
from sfumato.mechanisms.expression.estimate import plain_value
from sfumato.mechanisms.expression.polynomials import number
from sfumato.mechanisms.expression.reading import read_formula
from sfumato.mechanisms.expression.release import StatisticRelease
from sfumato.sections import Text

__all__ = ["COMPARED", "WARNING", "Comparison", "GraphEvaluation", "evaluate_graph"]

#: The releases whose numbers are compared one by one; synthetic graphs and spectra are compared by
#: `compare` and `compare_spectrum`, and here by the numbers of these that have a truth.
COMPARED = (DegreeRelease, NumberRelease, StatisticRelease, SummaryRelease)
DEGREES = "degrees, sorted"
#: Whole numbers up to here are exact in floating point.
WHOLE = 2**53


@dataclass(frozen=True)
class Comparison:
    """Released numbers beside the truth. Not private.

    Parameters
    ----------
    what
        What was released.
    truth, released
        The true and the released numbers: one, or one for each node or entry.
    expected
        What the error of half of such releases, and of 19 in 20, does not exceed; `None` where it
        is not known.
    """

    what: str
    truth: NDArray[np.float64]
    released: NDArray[np.float64]
    expected: tuple[int, int] | None = None

    @property
    def errors(self) -> NDArray[np.float64]:
        """How far each number is off."""
        return np.asarray(np.abs(self.released - self.truth), dtype=np.float64)

    def to_json(self) -> dict[str, Any]:
        """Return a plain document."""
        single = len(self.truth) == 1
        errors = self.errors
        return {
            "what": self.what,
            "numbers": len(errors),
            "truth": float(self.truth[0]) if single else None,
            "released": float(self.released[0]) if single else None,
            "average_error": float(errors.mean()) if len(errors) else None,
            "largest_error": float(errors.max()) if len(errors) else None,
            "expected_median": None if self.expected is None else self.expected[0],
            "expected_95": None if self.expected is None else self.expected[1],
        }

    def lines(self) -> list[str]:
        """Return the same for people."""
        errors = self.errors
        if len(errors) == 0:
            return [f"{self.what}: nothing to compare."]
        if len(errors) > 1:
            return [
                f"{self.what}: {len(errors):,} numbers, off by {errors.mean():,.4g} on average and "
                f"by {errors.max():,.4g} at most."
            ]
        lines = [
            f"{self.what}: {_words(self.released[0])} was released, {_words(self.truth[0])} is the "
            f"truth; off by {_words(errors[0])}."
        ]
        if self.expected is not None:
            lines.append(
                f"Half of all such releases are off by {self.expected[0]:,} or less, 19 in 20 by "
                f"{self.expected[1]:,} or less."
            )
        return lines


def _words(value: float) -> str:
    """Return a number as it is read: whole ones in full, unless they are huge."""
    return f"{value:,.0f}" if value == round(value) and abs(value) < WHOLE else f"{value:,.6g}"


@dataclass(frozen=True)
class GraphEvaluation:
    """A release of a graph beside the truth. Not private.

    Parameters
    ----------
    comparisons
        One for each thing that was released.
    dropped
        What of the edges was left out when they were read.
    """

    comparisons: tuple[Comparison, ...]
    dropped: Dropped

    def to_json(self) -> dict[str, Any]:
        """Return a plain document, which says that it is not private."""
        return {
            "private": False,
            "warning": WARNING,
            "comparisons": [item.to_json() for item in self.comparisons],
            "loops": self.dropped.loops,
            "repeated": self.dropped.repeated,
        }

    def blocks(self) -> list[Text]:
        """Return the same for people."""
        left_out = (
            f"Left out when the edges were read: {self.dropped.loops:,} loops and "
            f"{self.dropped.repeated:,} repetitions."
        )
        lines = [line for item in self.comparisons for line in item.lines()]
        return [Text(line) for line in (*lines, left_out)]


def evaluate_graph(data: Graph, release: Any) -> GraphEvaluation:
    """Compare a release with the private graph. Not private.

    Parameters
    ----------
    data
        The private graph.
    release
        The release of it.
    """
    return GraphEvaluation(tuple(_comparisons(data, release)), data.dropped)


def _comparisons(data: Graph, release: Any) -> list[Comparison]:
    method, graph = release.provenance.method, data.counts
    if isinstance(release, NumberRelease) and isinstance(method, SubgraphCount):
        shape = Shape(method.shape, 3 if method.k is None else method.k)
        expected = (method.expected_error(data), method.expected_error(data, 0.95))
        return [_compare_value(release.what, shape.count(graph), release.value, expected)]
    if isinstance(release, StatisticRelease) and isinstance(method, GraphStatistic):
        return [_compare_value(release.expression, _formula(data, method), release.value)]
    if isinstance(release, DegreeRelease):
        return [_compare_value(DEGREES, np.sort(graph.degrees()), release.degrees)]
    if isinstance(release, SummaryRelease):
        return [
            _compare_value("edges", graph.edges, release.edges.value),
            _compare_value("triangles", graph.triangles(), release.triangles.value),
            _compare_value(DEGREES, np.sort(graph.degrees()), release.degrees),
        ]
    if isinstance(release, SyntheticGraph):
        return [
            _compare_value(what, truth, drawn)
            for what, truth, drawn in compare(data, release).rows()
            if truth is not None and drawn is not None
        ]
    if isinstance(release, SpectrumRelease):
        return _spectra(data, release)
    raise ValueError(
        f"a release of {release.kind} by {method.name} cannot be compared with a graph"
    )


def _compare_value(
    what: str, truth: Any, released: Any, expected: tuple[int, int] | None = None
) -> Comparison:
    return Comparison(what, _floats(truth), _floats(released), expected)


def _spectra(data: Graph, release: SpectrumRelease) -> list[Comparison]:
    """Return the eigenvalues, and how close eigenvectors come to what is possible."""
    found = compare_spectrum(data, release)
    made = [_compare_value("eigenvalues", found.truth.eigenvalues, found.released)]
    if found.cosines is not None and found.captured is not None:
        made.append(_compare_value("cosines of the eigenvectors", [1.0] * release.k, found.cosines))
        made.append(_compare_value("captured part of their subspace", 1.0, found.captured))
    if found.reconstruction is not None:
        best, reached = found.reconstruction.best, found.reconstruction.distance
        made.append(_compare_value("distance of the graph drawn from it", best, reached))
    return made


def _floats(values: Any) -> NDArray[np.float64]:
    """Return numbers of any size and kind in floating point."""
    entries = np.atleast_1d(np.asarray(values, dtype=object))
    return np.array([number(entry) for entry in entries.tolist()], dtype=np.float64)


def _formula(data: Graph, method: GraphStatistic) -> Any:
    """Return the true value of a formula."""
    names = graph_vocabulary(data.public, node=method.node, groups=method.groups, approximate=True)
    term = read_formula(method.expression, names)
    values = {}
    for unit in term.units:
        counted = _floats(unit.statistic.count.answer(data))
        values[unit] = counted[0] if unit.entries is None else counted
    return plain_value(term, values, floor=float(method.floor))
