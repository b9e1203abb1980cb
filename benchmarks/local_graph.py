"""Graphs by randomised response: how far counts are off, with what was published beside.

    python benchmarks/local_graph.py table [--repeats 20]
    python benchmarks/local_graph.py speed [--nodes 10000]

The table is that of a small-world graph of 185 people and 684 edges. `RR` and `LM` are counts of
one graph that is put together with the *true* number of edges, as it was published (no guarantee);
`RR m̂` is the same with the estimated number, `unbiased` what sfumato tells. The central baselines
have a trusted custodian: Laplace noise by global sensitivity, and by smooth sensitivity.
"""

from __future__ import annotations

import argparse
import math
import time
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sfumato import noise
from sfumato.local.graph_collection import laplace_epsilon
from sfumato.local.pair_estimates import PairEstimates
from sfumato.mechanisms.pair_response import RandomizedPairs, pair_positions
from sfumato.published.randomized_response import count_triangles

NODES, EDGES, NEAR, REWIRED = 185, 684, 8, 0.19
EPSILONS = ("0.5", "1", "2", "3", "5", "8")
DELTA = 0.01

Floats = NDArray[np.float64]


def small_world(seed: int = 1) -> NDArray[np.int64]:
    """Return the edges of a rewired ring, cut down to the wanted number."""
    generator = np.random.default_rng(seed)
    edges: set[tuple[int, int]] = set()
    for node in range(NODES):
        for step in range(1, NEAR // 2 + 1):
            other = (node + step) % NODES
            if generator.random() < REWIRED:
                other = int(generator.integers(NODES))
            if other != node:
                edges.add((min(node, other), max(node, other)))
    listed = np.array(sorted(edges), dtype=np.int64)
    kept = generator.choice(len(listed), size=EDGES, replace=False)
    return listed[np.sort(kept)]


def off(found: Floats, truth: Floats) -> float:
    """Return by how much a node's count is off, on average over the nodes."""
    return float(np.abs(found - truth).mean())


def smooth_bound(pairs: NDArray[np.int64], epsilon: float) -> float:
    """Return the smooth sensitivity of all nodes' triangles, for one edge."""
    joined = np.zeros((NODES, NODES))
    joined[pairs[:, 0], pairs[:, 1]] = joined[pairs[:, 1], pairs[:, 0]] = 1
    common = joined @ joined
    degrees = joined.sum(axis=1)
    single = degrees[:, None] + degrees[None, :] - 2 * common - 2 * joined
    upper = np.triu_indices(NODES, 1)
    common, single = common[upper], single[upper]
    beta = epsilon / (4 * (NODES + math.log(2 / DELTA)))
    best = 0.0
    for away in range(2 * NODES):
        grown = np.minimum(common + (away + np.minimum(away, single)) // 2, NODES - 2)
        best = max(best, math.exp(-beta * away) * 3 * float(grown.max()))
    return best


def errors(pairs: NDArray[np.int64], epsilon: Fraction, repeats: int) -> dict[str, float]:
    """Return the average errors of one ε, in the order of the table's columns."""
    degrees, triangles = count_triangles(pairs, NODES)
    positions = np.sort(pair_positions(pairs, NODES))
    generator = np.random.default_rng(2)
    sums: dict[str, float] = {}

    def add(name: str, value: float) -> None:
        sums[name] = sums.get(name, 0.0) + value / repeats

    for _ in range(repeats):
        for name, own in (("RR", epsilon), ("LM", laplace_epsilon(epsilon))):
            primitive = RandomizedPairs(nodes=NODES, epsilon=own)
            told = PairEstimates(primitive, primitive.sample(positions))
            known = count_triangles(told.reconstruct(generator, edges=EDGES), NODES)
            add(f"deg {name}", off(known[0], degrees))
            add(f"tri {name}", off(known[1], triangles))
            if name == "RR":
                own_counts = count_triangles(told.reconstruct(generator), NODES)
                add("deg RR m̂", off(own_counts[0], degrees))
                add("tri RR m̂", off(own_counts[1], triangles))
                add("deg unbiased", off(told.degrees.values, degrees))
                add("tri unbiased", off(told.triangles().values, triangles))
    size = float(epsilon)
    sums["deg LM-global"] = 2 / size
    sums["tri LM-global"] = 3 * (NODES - 2) / size
    sums["tri LM-smooth"] = 2 * smooth_bound(pairs, size) / size
    sums["tri always 0"] = float(triangles.mean())
    return sums


def claims(rows: dict[str, dict[str, float]]) -> list[tuple[str, bool]]:
    """Return what is expected of the table, and whether it holds."""
    five = rows["5"]
    central = [min(row["tri LM-global"], row["tri LM-smooth"]) for row in rows.values()]
    local = [max(row["tri RR"], row["tri LM"]) for row in rows.values()]
    return [
        ("at ε = 5 RR is better than LM, degrees", five["deg RR"] < five["deg LM"]),
        ("at ε = 5 RR is better than LM, triangles", five["tri RR"] < five["tri LM"]),
        ("triangles: RR and LM below central noise", all(map(lambda a, b: a < b, local, central))),
        (
            "degrees at ε = 2, 3, 5: LM-global below RR",
            all(rows[e]["deg LM-global"] < rows[e]["deg RR"] for e in ("2", "3", "5")),
        ),
        ("degrees: RR ≤ LM + 0.1", all(r["deg RR"] <= r["deg LM"] + 0.1 for r in rows.values())),
    ]


def table(repeats: int) -> None:
    pairs = small_world()
    _, triangles = count_triangles(pairs, NODES)
    print(f"{NODES} nodes, {len(pairs)} edges, {triangles.mean():.1f} triangles at a node")
    rows = {}
    with noise.seeded(1):
        for epsilon in EPSILONS:
            rows[epsilon] = errors(pairs, Fraction(epsilon), repeats)
    names = [
        "deg RR", "deg LM", "deg RR m̂", "deg unbiased", "deg LM-global",
        "tri RR", "tri LM", "tri RR m̂", "tri unbiased", "tri LM-global", "tri LM-smooth",
        "tri always 0",
    ]  # fmt: skip
    print("| ε | " + " | ".join(names) + " |")
    print("|---" * (len(names) + 1) + "|")
    for epsilon, row in rows.items():
        print(f"| {epsilon} | " + " | ".join(f"{row[name]:.3g}" for name in names) + " |")
    for claim, holds in claims(rows):
        print(f"{'holds ' if holds else 'FAILS '} {claim}")


def speed(nodes: int) -> None:
    primitive = RandomizedPairs(nodes=nodes, epsilon=Fraction(2))
    positions = np.arange(0, primitive.size, max(1, primitive.size // (10 * nodes)))
    start = time.perf_counter()
    told = PairEstimates(primitive, primitive.sample(positions.astype(np.int64)))
    drawn = time.perf_counter()
    degrees = told.degrees
    stars = told.stars(3)
    counted_at = time.perf_counter()
    triangles = told.triangles()
    end = time.perf_counter()
    print(f"{nodes:,} nodes: {primitive.size:,} pairs drawn in {drawn - start:.2f} s,")
    print(f"degrees and stars in {counted_at - drawn:.2f} s, triangles in {end - counted_at:.2f} s")
    print(f"edges {told.edges.value:,.0f} ± {told.edges.deviation:,.0f} (true {len(positions):,})")
    print(f"triangles {triangles.total.value:,.0f} ± {triangles.total.deviation:,.0f}")
    assert len(degrees.values) == len(stars.values) == nodes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="what", required=True)
    commands.add_parser("table").add_argument("--repeats", type=int, default=20)
    commands.add_parser("speed").add_argument("--nodes", type=int, default=10_000)
    given = parser.parse_args()
    if given.what == "table":
        table(given.repeats)
    else:
        speed(given.nodes)


if __name__ == "__main__":
    main()
