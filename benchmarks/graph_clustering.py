"""Clustering coefficients of all nodes, and of one: published orderings, with correct noise.

Wang, Wu, Zhu and Xiang, *Preserving Differential Privacy in Complex Network Statistics*, compare
noise on the coefficients (direct) with noise on triangles and degrees (divide and conquer). Their
ε is that of one node: the vector costs nodes·ε, and at δ = 0.01. Their tables have too little
noise: Laplace of scale b/√2, and for the table of many graphs half of that. What can be compared
are orderings; and for one graph figures with the right scale. Those of the direct method were made
with the published sensitivity, the largest degree (81 on ca-GrQc), ours with the proved one (61);
and our triangles and degrees are whole numbers, so that noise of a scale far below 1/2 vanishes.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterable
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from graph_data import GENERATED, KNOWN_TRIANGLES, generated, loaded
from sfumato.data.graph import Graph
from sfumato.graph.statistic import GraphStatistic
from sfumato.graph.unit_queries import ClusteringAt, NodeClustering
from sfumato.mechanisms.expression.estimate import estimate

EPSILONS = ("0.01", "0.1", "1", "10")
DELTA = "0.01"
DIRECT = "node_clustering"
DIVIDED = "share(node_triangles, choose2(degrees))"
#: Published mean errors, direct and divided, at the four ε: with too little noise.
PUBLISHED = {
    "ER1": ((0.4920, 0.2499, 0.0438, 0.0055), (0.0753, 0.0016, 4.08e-5, 4.07e-6)),
    "ER2": ((0.4947, 0.3402, 0.0793, 0.0096), (0.0281, 2.56e-4, 2.58e-5, 2.57e-6)),
    "ER3": ((0.4968, 0.4697, 0.2832, 0.0393), (0.0013, 1.27e-4, 1.26e-5, 1.27e-6)),
    "WS1": ((0.4730, 0.2633, 0.0423, 0.0049), (0.0472, 0.0011, 5.78e-5, 5.81e-6)),
    "WS2": ((0.4844, 0.2522, 0.0455, 0.0047), (0.0904, 0.0010, 9.09e-5, 9.10e-6)),
    "WS3": ((0.4830, 0.2881, 0.0424, 0.0042), (0.0721, 0.0015, 1.55e-4, 1.54e-5)),
    "WS4": ((0.4864, 0.3729, 0.0823, 0.0083), (0.0162, 7.55e-4, 7.55e-5, 7.57e-6)),
    "WS5": ((0.4967, 0.4682, 0.2769, 0.0382), (0.0015, 1.54e-4, 1.55e-5, 1.55e-6)),
    "BA1": ((0.4856, 0.3389, 0.0754, 0.0102), (0.1270, 0.0042, 4.26e-4, 4.53e-5)),
    "BA2": ((0.4890, 0.4005, 0.1274, 0.0164), (0.0189, 0.0019, 1.93e-4, 1.93e-5)),
    "BA3": ((0.4969, 0.4739, 0.3071, 0.0499), (0.0033, 3.28e-4, 3.29e-5, 3.30e-6)),
    "BA4": ((0.1899, 0.0623, 0.0094, 0.0011), (0.1377, 0.0141, 5.51e-4, 5.48e-5)),
    "BA5": ((0.2136, 0.1110, 0.0182, 0.0023), (0.1433, 0.0180, 0.0025, 2.45e-4)),
    "BA6": ((0.2473, 0.1634, 0.0334, 0.0043), (0.1573, 0.0370, 0.0057, 5.86e-4)),
    "BA7": ((0.4792, 0.4357, 0.2012, 0.0284), (0.2297, 0.1813, 0.0550, 0.0063)),
    "polbooks": ((0.4968, 0.4263, 0.1492, 0.0163), (0.4860, 0.3442, 0.0438, 0.0045)),
    "polblogs": ((0.4025, 0.3537, 0.1392, 0.0161), (0.2808, 0.1118, 0.0336, 0.0040)),
    "ca-GrQc": ((0.3257, 0.1043, 0.0118, 0.0012), (0.2971, 0.1069, 0.0145, 0.0015)),
}
#: ca-GrQc with the right scale and post-processing that does not look at the graph.
CORRECT = ((0.464, 0.173, 0.0207, 0.0021), (0.325, 0.141, 0.0227, 0.0022))
#: The node of degree 81 of ca-GrQc, right scale: direct, over wedges, over its degree.
ONE_NODE = {
    "clustering(v)": (0.496, 0.481, 0.0475, 0.0049),
    "share(triangles(v), wedges(v))": (0.366, 0.368, 0.0911, 0.0087),
    "share(triangles(v), choose2(degree(v)))": (0.460, 0.408, 0.0807, 0.0078),
}
#: Where the gain is a hundred times or more, and along which denser graphs follow one another.
DENSE = ("ER1", "ER2", "ER3", "WS1", "WS2", "WS3", "WS4", "WS5", "BA1", "BA2", "BA3")
DENSER = (("ER1", "ER2", "ER3"), ("WS3", "WS4", "WS5"), ("BA1", "BA2", "BA3"))
SPARSE = ("polbooks", "polblogs", "BA4", "BA5", "BA6", "BA7")

Table = dict[str, tuple[list[float], list[float]]]


def line(label: str, cells: Iterable[str], width: int = 11) -> None:
    """Print one line of a table."""
    print(f"  {label:<34}" + "".join(f"{cell:>{width}}" for cell in cells), flush=True)


def graph_of(name: str) -> Graph:
    """Return a graph of the tables; of polblogs its largest component."""
    if name in GENERATED:
        return generated(name)
    data = loaded(name)
    if name != "polblogs":
        return data
    pairs, nodes = data.counts.pairs(), data.public.nodes
    matrix = csr_array((np.ones(len(pairs)), pairs.T), shape=(nodes, nodes))
    _, member = connected_components(matrix, directed=False)
    kept = np.flatnonzero(member == np.bincount(member).argmax())
    place = np.full(nodes, -1)
    place[kept] = np.arange(len(kept))
    inside = place[pairs]
    return Graph(inside[(inside >= 0).all(axis=1)], len(kept))


def vector_error(data: Graph, expression: str, epsilon: str, truth: Any) -> float:
    """Return the mean error over nodes, of several releases where there are few nodes."""
    many = max(1, 1000 // data.public.nodes)
    return sum(_one_error(data, expression, epsilon, truth) for _ in range(many)) / many


def _one_error(data: Graph, expression: str, epsilon: str, truth: Any) -> float:
    total = Fraction(epsilon) * data.public.nodes
    method = GraphStatistic(epsilon=total, delta=DELTA, expression=expression, between=(0, 1))
    release = method.release(data)
    value = np.array(release.value)
    if expression == DIVIDED:
        # A node that seems to have fewer than two neighbours has no coefficient.
        value[np.rint(release.measured["degrees"]) < 2] = 0
    return float(np.abs(value - truth).mean())


def vectors(names: list[str]) -> Table:
    """Print the errors of the vector of coefficients, graph by graph."""
    print("All nodes; mean |error|, in all nodes·ε, δ = 0.01")
    line("", [f"ε = {text}" for text in EPSILONS])
    found: Table = {}
    for name in names:
        begin = time.perf_counter()
        data = graph_of(name)
        truth = np.array([float(value) for value in NodeClustering().answer(data)])
        rows = tuple(
            [vector_error(data, expression, text, truth) for text in EPSILONS]
            for expression in (DIRECT, DIVIDED)
        )
        found[name] = (rows[0], rows[1])
        print(
            f"{name}: {data.public.nodes:,} nodes, {data.counts.edges:,} edges, "
            f"mean {truth.mean():.4f}, {data.counts.triangles():,} triangles"
            + (f" (published {KNOWN_TRIANGLES[name]:,})" if name in KNOWN_TRIANGLES else "")
            + f", {time.perf_counter() - begin:.0f} s"
        )
        for label, own, told in zip(("direct", "divided"), rows, PUBLISHED[name], strict=True):
            line(f"{label}", [f"{value:.3g}" for value in own])
            line(f"{label}, published (less noise)", [f"{value:.3g}" for value in told])
            if name == "ca-GrQc":
                right = CORRECT[label == "divided"]
                line(f"{label}, right scale", [f"{value:.3g}" for value in right])
    return found


def drawn(method: GraphStatistic, data: Graph, repeats: int) -> Any:
    """Return the values of many releases, the graph being looked at once."""
    plans = method._plans(data.public)
    given = {plan.unit: plan.unit.statistic.given(data, plan.primitive) for plan in plans}
    noises = {plan.unit: plan.noise for plan in plans}
    term = method._term(data.public, method.expression)
    found = []
    for _ in range(repeats):
        values = {
            plan.unit: plan.unit.statistic.read(
                plan.primitive, plan.primitive.sample(given[plan.unit])
            )
            for plan in plans
        }
        found.append(estimate(term, values, noises, between=(0.0, 1.0)).value)
    return np.array(found)


def one_node(repeats: int) -> dict[str, list[float]]:
    """Print the errors for one node of ca-GrQc."""
    data = loaded("ca-GrQc")
    node = int(data.counts.degrees().argmax())
    truth = float(ClusteringAt(node).answer(data))
    print(
        f"One node of ca-GrQc, degree {data.counts.degrees().max()}, {repeats} releases, δ = 0.01"
    )
    line("", [f"ε = {text}" for text in EPSILONS])
    found = {}
    label = data.public.label(node)
    for expression, told in ONE_NODE.items():
        rows = []
        for text in EPSILONS:
            method = GraphStatistic(
                epsilon=text, delta=DELTA, expression=expression, node=label, mechanism="smooth",
                between=(0, 1),
            )  # fmt: skip
            values = drawn(method, data, repeats)
            rows.append(float(np.abs(values - truth).mean()))
        found[expression] = rows
        line(expression, [f"{value:.3g}" for value in rows])
        line("  right scale", [f"{value:.3g}" for value in told])
    return found


def orderings(table: Table, single: dict[str, list[float]]) -> None:
    """Say which of the published orderings hold."""

    def say(number: str, words: str, broken: list[str]) -> None:
        print(
            f"  ({number}) {words}: " + ("holds" if not broken else "NOT at " + ", ".join(broken))
        )

    # On ca-GrQc the two are told apart by another table, where they are equal within a tenth.
    graphs = {name: rows for name, rows in table.items() if name != "ca-GrQc"}
    print("Orderings; within a twentieth counts as equal, as at ε = 0.01 noise fills the range.")
    print("At ε ≥ 1 whole triangles and degrees are often said exactly, which no real noise is.")
    say("i", f"divided below direct, {len(graphs)} graphs, every ε",
        [f"{name} ε = {text}" for name, rows in graphs.items()
         for text, a, b in zip(EPSILONS, *rows, strict=True) if b > 1.05 * a])  # fmt: skip
    say("ii", "a hundred times or more on ER, WS, BA1-3 at ε ≥ 1",
        [f"{name} ε = {text}: {a / b:.0f}" for name, rows in graphs.items() if name in DENSE
         for text, a, b in list(zip(EPSILONS, *rows, strict=True))[2:] if a < 100 * b])  # fmt: skip
    broken = []
    for line_of in DENSER:
        if not set(line_of) <= set(graphs):
            continue
        for place, text in enumerate(EPSILONS):
            direct = [graphs[name][0][place] for name in line_of]
            divided = [graphs[name][1][place] for name in line_of]
            if any(more < 0.95 * less for less, more in pairwise(direct)):
                broken.append(f"direct {line_of[0]} to {line_of[-1]} ε = {text}")
            if any(more > 1.05 * less for less, more in pairwise(divided)):
                broken.append(f"divided {line_of[0]} to {line_of[-1]} ε = {text}")
    say("iii", "direct worsens, divided improves with density", broken)
    gains = {
        name: [a / b if b else math.inf for a, b in zip(*graphs[name], strict=True)]
        for name in SPARSE if name in graphs
    }  # fmt: skip
    say(
        "iv",
        "a smaller gain on sparse graphs (published: up to about 20): below 40 for ε ≤ 1",
        [f"{name} ({max(row[:3]):.0f})" for name, row in gains.items() if max(row[:3]) > 40],
    )
    for name, row in gains.items():
        line(f"   gain on {name}", [f"{gain:.2f}" for gain in row])
    if single:
        direct, wedges, degree = single.values()
        broken = [f"ε = {text}" for text, a, b in zip(EPSILONS, direct, degree, strict=True)
                  if (Fraction(text) < 1) != (b < a)]  # fmt: skip
        broken += [f"degree above wedges at ε = {text}"
                   for text, b, c in list(zip(EPSILONS, wedges, degree, strict=True))[2:]
                   if c > b]  # fmt: skip
        say("v", "one node: divided wins for ε ≤ 0.1, direct for ε ≥ 1, by degree below by wedges",
            broken)  # fmt: skip


def clustering(names: list[str] | None, repeats: int) -> None:
    """Print all tables and which orderings hold."""
    table = vectors(names or list(PUBLISHED))
    single = one_node(repeats) if names is None or "ca-GrQc" in names else {}
    orderings(table, single)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="*", default=None, help="some of the graphs")
    parser.add_argument("--repeats", type=int, default=1000, help="releases about one node")
    given = parser.parse_args()
    clustering(given.data, given.repeats)


if __name__ == "__main__":
    main()
