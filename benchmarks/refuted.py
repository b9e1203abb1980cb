"""Printed claims that do not hold, each on its smallest known counterexample (docs/refuted.md).

    python benchmarks/refuted.py [name …]

Nothing is estimated: losses are exact, by replay of the published variant or from the law of what
it says; sensitivities are found by trying all graphs or all corners; integrals are computed to ten
digits. `tests/published/test_refuted.py` compares every number with the page.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise, product
from typing import Any

import numpy as np
import polars as pl
from scipy.integrate import quad
from scipy.special import exp1, expi

from sfumato.audit import Pair
from sfumato.audit.replaying import examine
from sfumato.data.genotypes import Genotypes
from sfumato.data.graph import Graph
from sfumato.data.schema import Schema
from sfumato.data.table import Table
from sfumato.genomics.top_snps import TopSNPs
from sfumato.graph.dk_graph import DKGraph
from sfumato.graph.ladders import ladder, last_rung
from sfumato.graph.shapes import Shape
from sfumato.graph.spectrum import Spectrum
from sfumato.local import LaplaceResponse, RandomizedResponse
from sfumato.local.compare import loss_of_guesses
from sfumato.local.graph_collection import GraphCollection
from sfumato.mechanisms.ladder import LadderInput, LadderNoise
from sfumato.privacy.loss import ApproxDP
from sfumato.published.degree_correlation import OccupiedBins
from sfumato.published.queries import OccupiedJointDegrees
from sfumato.regression.robust_regression import RobustLinearRegression
from sfumato.tabular.privbayes import PrivBayes

Edges = frozenset[tuple[int, int]]
PUBLISHED: dict[str, Any] = {"variant": "published", "accept_unproven": True}
#: Columns of two real numbers.
REALS = {name: {"kind": "real", "low": -1, "high": 1, "bits": 8} for name in "xy"}
#: The works, as the page names them.
WANG = "Wang 2015"
PAKDD = "Wang, Wu and Wu 2013"
ZHANG = "Zhang 2016"
ZHU = "Zhu 2014"
NIEMINEN = "Nieminen 2017"


@dataclass(frozen=True)
class Exhibit:
    """A printed claim with what refutes it.

    Parameters
    ----------
    name
        What it is called here and on the page.
    where
        The work, and the place in it.
    claim
        What was printed.
    pair
        The counterexample.
    bounded
        What the claim bounds.
    measure
        Returns what the claim allows, and what is reached.
    """

    name: str
    where: str
    claim: str
    pair: str
    bounded: str
    measure: Callable[[], tuple[float, float]]


EXHIBITS: dict[str, Exhibit] = {}


def exhibit(
    name: str, where: str, claim: str, pair: str, bounded: str = "loss"
) -> Callable[[Callable[[], tuple[float, float]]], Callable[[], tuple[float, float]]]:
    """Enter a function that measures a claim in the list."""

    def enter(measure: Callable[[], tuple[float, float]]) -> Callable[[], tuple[float, float]]:
        EXHIBITS[name] = Exhibit(name, where, claim, pair, bounded, measure)
        return measure

    return enter


def number(value: float) -> str:
    """Return a number as the page writes it."""
    return "∞" if math.isinf(value) else f"{value:,.6g}"


# Graphs, and what is counted on them, written out so that nothing rests on the library.


def graph(nodes: int, *edges: tuple[int, int]) -> Graph:
    """Return a private graph."""
    return Graph(list(edges), nodes=nodes)


def replayed(method: Any, here: Any, there: Any) -> float:
    """Return the largest exact loss that replay finds between two neighbours."""
    return examine(method, Pair("the counterexample", here, there), seeds=(1, 2)).largest


def adjacency(nodes: int, edges: Edges) -> np.ndarray:
    """Return a graph as a matrix."""
    found = np.zeros((nodes, nodes), dtype=int)
    for low, high in edges:
        found[low, high] = found[high, low] = 1
    return found


def distance(one: Counter[Any], other: Counter[Any]) -> float:
    """Return how far two counts are apart, in L1."""
    return float(sum(abs(one[key] - other[key]) for key in {*one, *other}))


def wedges(nodes: int, edges: Edges) -> Counter[Any]:
    """Return N₃: the wedges centred at each node."""
    degrees = adjacency(nodes, edges).sum(axis=0).tolist()
    return Counter({node: math.comb(degree, 2) for node, degree in enumerate(degrees)})


def clustering(nodes: int, edges: Edges) -> Counter[Any]:
    """Return C: of the pairs of neighbours of each node, the share that is joined."""
    joined = adjacency(nodes, edges)
    degrees, triangles = joined.sum(axis=0), np.diag(joined @ joined @ joined) / 2
    return Counter(
        {
            node: triangles[node] / math.comb(degree, 2) if degree > 1 else 0
            for node, degree in enumerate(degrees.tolist())
        }
    )


def joint_degrees(nodes: int, edges: Edges) -> Counter[Any]:
    """Return P₂: the edges by the degrees of their ends."""
    degrees = adjacency(nodes, edges).sum(axis=0).tolist()
    return Counter(tuple(sorted((degrees[low], degrees[high]))) for low, high in edges)


def triples(nodes: int, edges: Edges) -> Counter[Any]:
    """Return P₃: triangles by their degrees, wedges by those of centre and ends."""
    joined = adjacency(nodes, edges)
    degrees = joined.sum(axis=0).tolist()
    found: Counter[Any] = Counter()
    for three in combinations(range(nodes), 3):
        sides = [pair for pair in combinations(three, 2) if joined[pair]]
        if len(sides) == 3:
            found["triangle", *sorted(degrees[node] for node in three)] += 1
        elif len(sides) == 2:
            (centre,) = set(sides[0]) & set(sides[1])
            ends = sorted(degrees[node] for node in three if node != centre)
            found["wedge", degrees[centre], *ends] += 1
    return found


def deletion(count: Callable[[int, Edges], Counter[Any]], nodes: int, edges: Edges) -> float:
    """Return the local sensitivity as it is defined there: the most that one deletion changes."""
    whole = count(nodes, edges)
    return max((distance(whole, count(nodes, edges - {edge})) for edge in edges), default=0.0)


def within_one(count: Callable[[int, Edges], Counter[Any]], nodes: int, edges: Edges) -> float:
    """Return the local sensitivity at distance 1."""
    flipped = (edges ^ {pair} for pair in combinations(range(nodes), 2))
    return max(deletion(count, nodes, near) for near in (edges, *flipped))


def half_built(nodes: int, edges: Edges, low: int, high: int) -> int:
    """Return b as printed: the sum of a_ik ⊕ a_kj over all k, i and j among them."""
    joined = adjacency(nodes, edges)
    return int((joined[low] ^ joined[high]).sum())


def common_within(nodes: int, edges: Edges, distance: int) -> int:
    """Return the printed largest c_ij(s)."""
    joined = adjacency(nodes, edges)
    return max(
        min(
            int(joined[low] @ joined[high])
            + (distance + min(distance, half_built(nodes, edges, low, high))) // 2,
            nodes - 2,
        )
        for low, high in combinations(range(nodes), 2)
    )


TWO_EDGES: Edges = frozenset({(0, 1), (2, 3)})
TRIANGLE: Edges = frozenset({(0, 1), (0, 2), (1, 2)})


# Wang, chapter 2: statistics of graphs.


@exhibit(
    "smooth-laplace",
    f"{WANG}, Theorem 3 with Result 2",
    "Laplace noise of scale 2S/ε, S smooth with β = ε/(2 ln(2/δ)), is (ε, δ)-DP for every ε > 0",
    "triangles through the middle node of a path of 3 nodes, and after its ends are joined; "
    "ε = 10, δ = 0.01",
    "δ",
)
def smooth_laplace() -> tuple[float, float]:
    epsilon, delta = 10.0, 0.01
    beta = epsilon / (2 * math.log(2 / delta))
    # The path: LS is 0 by the formula, and 1 from distance 1 on. The triangle: 1 at once.
    path, triangle = math.exp(-beta), 1.0

    def density(value: float, centre: float, smooth: float) -> float:
        scale = 2 * smooth / epsilon
        return math.exp(-abs(value - centre) / scale) / (2 * scale)

    def excess(value: float) -> float:
        other = math.exp(epsilon) * density(value, 0, path)
        return max(density(value, 1, triangle) - other, 0.0)

    pieces = np.linspace(-8, 10, 361)
    reached = sum(quad(excess, low, high)[0] for low, high in pairwise(pieces))
    return delta, reached


@exhibit(
    "ratio",
    f"{WANG}, Lemma 3",
    "the quotient of two values with Laplace noise is an unbiased estimate of their quotient",
    "3/5 with noise of scale 1 on the 5",
    "mean",
)
def ratio() -> tuple[float, float]:
    # The mean of 1/(b + Laplace) does not exist; this is its principal value times 3.
    value = 5.0
    inverse = (math.exp(-value) * expi(value) + math.exp(value) * exp1(value)) / 2
    return 3 / value, float(3 * inverse)


@exhibit(
    "square",
    f"{WANG}, Lemma 4",
    "with Laplace noise of scale b, d̃(d̃ − 1)/2 − b²/2 is an unbiased estimate of d(d − 1)/2",
    "d = 10, b = 2",
    "mean",
)
def square() -> tuple[float, float]:
    degree, scale = 10.0, 2.0

    def estimate(added: float) -> float:
        noisy = degree + added
        return (noisy * (noisy - 1) - scale**2) / 2 * math.exp(-abs(added) / scale) / (2 * scale)

    mean = quad(estimate, -200, 0, limit=200)[0] + quad(estimate, 0, 200, limit=200)[0]
    return degree * (degree - 1) / 2, mean


@exhibit(
    "half-triangles",
    f"{WANG}, Results 2–4",
    "with b_ij summed over all nodes, c_ij(s) is smooth: c(2) here is at most c(3) there",
    "4 nodes: one edge, and none",
    "smooth bound",
)
def half_triangles() -> tuple[float, float]:
    one: Edges = frozenset({(0, 1)})
    return common_within(4, frozenset(), 3), common_within(4, one, 2)


@exhibit(
    "wedges",
    f"{WANG}, Result 4",
    "at distance s the wedges of all nodes change by at most d₁ + d₂ − 2 + ⌊(s + min(s, b))/2⌋",
    "4 nodes, 2 separate edges, s = 1",
    "sensitivity",
)
def wedge_vector() -> tuple[float, float]:
    printed = max(
        1 + 1 - 2 + (1 + min(1, half_built(4, TWO_EDGES, low, high))) // 2
        for low, high in combinations(range(4), 2)
    )
    return printed, within_one(wedges, 4, TWO_EDGES)


@exhibit(
    "clustering",
    f"{WANG}, Result 3",
    "one edge changes the vector of clustering coefficients by at most the largest degree",
    "a triangle, and a path of 3 nodes",
    "sensitivity",
)
def clustering_vector() -> tuple[float, float]:
    return 2, deletion(clustering, 3, TRIANGLE)


# Wang, chapter 3: synthetic graphs.


@exhibit(
    "dp-1k",
    f"{WANG}, Algorithm 2 and Claim 1, as run",
    "noise on the numbers of nodes of each degree that occurs is ε-DP",
    "2 nodes: joined, and not",
)
def dp_1k() -> tuple[float, float]:
    method = DKGraph(epsilon=1, order=1, **PUBLISHED)
    return 1, replayed(method, graph(2, (0, 1)), graph(2))


@exhibit(
    "dp-2k",
    f"{WANG}, Algorithm 3, as run",
    "smooth noise on the numbers of edges between any two degrees that occur is (ε, δ)-DP",
    "2 nodes: joined, and not; ε = 1, δ = 0.01",
    "δ",
)
def dp_2k() -> tuple[float, float]:
    loss = ApproxDP(1, "0.01")
    law = OccupiedBins(nodes=2, degrees=2, epsilon=loss.epsilon, delta=loss.delta)
    here, there = map(OccupiedJointDegrees(loss).answer, (graph(2, (0, 1)), graph(2)))
    said = law.sample(here)
    # All outputs name the same bins, so all are impossible on the other graph if one is.
    impossible = law.log_probability(there, said) == -math.inf
    return float(loss.delta), 1.0 if impossible else math.nan


@exhibit(
    "joint-degrees",
    f"{WANG}, Claim 2",
    "at distance s the joint degrees change by at most 2(d₁ + d₂) − 3 + 2s",
    "4 nodes, 2 separate edges, s = 1",
    "sensitivity",
)
def joint_degree_bound() -> tuple[float, float]:
    return 2 * (1 + 1) - 3 + 2, within_one(joint_degrees, 4, TWO_EDGES)


@exhibit(
    "triples",
    f"{WANG}, Claim 3",
    "one edge changes the triples by degree by at most 3(n − 2)²/2 + 2(n − 2)",
    "7 nodes: the complete graph, and without one edge",
    "sensitivity",
)
def triple_cap() -> tuple[float, float]:
    whole = frozenset(combinations(range(7), 2))
    return 1.5 * 25 + 10, distance(triples(7, whole), triples(7, whole - {(0, 1)}))


@exhibit(
    "triples-local",
    f"{WANG}, Claim 3",
    "the local sensitivity of the triples is |S₁| + 2|S₂| + 2(Σ(d − 1) − edges inside)",
    "a star with 3 leaves, and without one of its edges",
    "sensitivity",
)
def triple_local() -> tuple[float, float]:
    star = frozenset({(0, 1), (0, 2), (0, 3)})
    # S₁ of an edge holds the 2 other leaves, of degree 1; S₂ is empty.
    return 2 + 0 + 2 * 0, deletion(triples, 4, star)


# Wang, chapter 4, and Wang, Wu and Wu: spectra.


@exhibit(
    "lnpp",
    f"{PAKDD}, Algorithm 1; {WANG}, Algorithm 4",
    "noise of scale √n/(gap·ε) on an eigenvector is ε-DP, the gap being that of the graph",
    "3 nodes: one edge, and a path; an output 20 scales away",
)
def lnpp() -> tuple[float, float]:
    method = Spectrum(epsilon=1, k=1, mechanism="lnpp", **PUBLISHED)
    return 1, replayed(method, graph(3, (0, 1)), graph(3, (0, 1), (1, 2)))


@exhibit(
    "eigenvector",
    f"{PAKDD}, Result 2; {WANG}, Result 6",
    "one edge moves the eigenvector of λᵢ by at most √n/gapᵢ in L1",
    "5 nodes, edges 01 03 04 12 and then also 34; the third eigenvector",
    "sensitivity",
)
def eigenvector() -> tuple[float, float]:
    edges: Edges = frozenset({(0, 1), (0, 3), (0, 4), (1, 2)})
    found = []
    for own in (edges, edges | {(3, 4)}):
        values, vectors = np.linalg.eigh(adjacency(5, own).astype(float))
        found.append((values[::-1], vectors[:, ::-1][:, 2]))
    values, vector = found[0]
    gap = min(values[1] - values[2], values[2] - values[3])
    other = found[1][1]
    moved = min(np.abs(vector - other).sum(), np.abs(vector + other).sum())
    return math.sqrt(5) / float(gap), float(moved)


@exhibit(
    "sbmf",
    f"{PAKDD}, Claims 1 and 2; {WANG}, Claims 4 and 5",
    "eigenvalues with Gaussian noise of variance σ² cost k·σ³, so all costs ε = 6",
    "3 nodes: one edge, and none; an eigenvalue of 40σ",
)
def sbmf() -> tuple[float, float]:
    method = Spectrum(epsilon=6, k=1, mechanism="sbmf", **PUBLISHED)
    return 6, replayed(method, graph(3, (0, 1)), graph(3))


# Wang, chapter 6: regression.


@exhibit(
    "sensitive-share",
    f"{WANG}, Result 7",
    "of d inputs, the k sensitive ones have the share β₂ = k/d of the sensitivity",
    "linear regression, d = 2, k = 1",
    "β₂",
)
def sensitive_share() -> tuple[float, float]:
    largest = 0.0
    for first, second, answer in product((-1, 0, 1), repeat=3):
        # The coefficients of ω₁, ω₁² and ω₁ω₂; the second input is not sensitive.
        sensitive = abs(2 * answer * first) + first**2 + abs(2 * first * second)
        largest = max(largest, sensitive)
    return 1 / 2, 2 * largest / (2 * (2**2 + 2 * 2))


# Wang, chapter 7: collection.


@exhibit(
    "graph-collection",
    f"{WANG}, section 7.6.4",
    "a graph rebuilt with as many edges as there are, from randomised response, is ε-DP",
    "2 nodes: joined, and not",
)
def graph_collection() -> tuple[float, float]:
    method = GraphCollection(epsilon=1, **PUBLISHED)
    return 1, replayed(method, graph(2, (0, 1)), graph(2))


@exhibit(
    "both-ends",
    f"{WANG}, section 7.6.4",
    "every client reports each entry of its row by randomised response, and an edge costs ε",
    "2 nodes: joined, and not",
)
def both_ends() -> tuple[float, float]:
    kept = math.e / (1 + math.e)
    # A_ij and A_ji are told by two clients.
    return 1, 2 * math.log(kept / (1 - kept))


@exhibit(
    "response-beats-laplace",
    f"{WANG}, Theorem 11",
    "a single answer is guessed better from randomised response than from rounded Laplace noise",
    "6 answers, equally likely, ε = 0.5, the first is true",
    "error",
)
def response_beats_laplace() -> tuple[float, float]:
    response = loss_of_guesses(RandomizedResponse(epsilon="0.5", answers=6))
    laplace = loss_of_guesses(LaplaceResponse(epsilon="0.5", answers=6))
    return float(laplace[0]), float(response[0])


@exhibit(
    "gwas-selection",
    f"{WANG}, section 5.5, as run",
    "frequencies of the K listed sites with noise of scale 2K/(εn) are ε-DP",
    "3 cases and 3 controls; one case decides which of two sites is ahead",
)
def gwas_selection() -> tuple[float, float]:
    def study(last: tuple[int, int]) -> Genotypes:
        calls = [(2, 0), (0, 2), last, (0, 0), (0, 0), (0, 0)]
        sizes = {"relation": "replace_one", "groups": "public"}
        return Genotypes(calls, ["case"] * 3 + ["control"] * 3, **sizes)

    method = TopSNPs(epsilon=1, count=1, **PUBLISHED)
    return 1, replayed(method, study((2, 0)), study((0, 2)))


# Zhang.


@exhibit(
    "privbayes",
    f"{ZHANG}, Theorem 3.1 under Definition 2.1",
    "PrivBayes is ε-DP for one tuple inserted",
    "no row, and one row",
)
def privbayes() -> tuple[float, float]:
    schema = Schema.from_dict({name: [False, True] for name in "abc"})
    method = PrivBayes(epsilon=1, **PUBLISHED)
    row = pl.DataFrame({name: [True] for name in "abc"})
    return 1, replayed(method, Table(row, schema), Table(row.clear(), schema))


@exhibit(
    "length-limit",
    f"{ZHANG}, section 4.5.2, as run",
    "counts with noise of scale l/ε are ε-DP, l being the 95 % quantile of the lengths",
    "19 sequences of length 1 and one of length 2, and one more of length 2; "
    "an output 20 scales away",
)
def length_limit() -> tuple[float, float]:
    def scale(short: int, long: int) -> float:
        return 1.0 if short >= 0.95 * (short + long) else 2.0

    narrow, wide = scale(19, 1), scale(19, 2)
    # A count that the new sequence does not change.
    off = 20 * wide
    return 1, math.log(narrow / wide) + off / narrow - off / wide


def crossed(size: int) -> tuple[int, Edges, tuple[int, int]]:
    """Return the graph on which the printed ladder fails, and the edge that shows it.

    Nodes 2 and 3 are common neighbours of 0 and 1, and each of the four pairs between them has
    fresh common neighbours of its own: two, or three for k = 5.
    """
    edges, following = {(0, 2), (1, 2), (0, 3), (1, 3)}, 4
    for pair in ((0, 2), (1, 2), (0, 3), (1, 3)):
        for _ in range(3 if size == 5 else 2):
            edges |= {(end, following) for end in pair}
            following += 1
    return following, frozenset(edges), (2, 3)


def k_triangle_ladders(size: int, epsilon: Fraction) -> tuple[LadderNoise, list[LadderInput]]:
    """Return the law, and its inputs on both graphs, with the printed ladder."""
    nodes, edges, joining = crossed(size)
    shape = Shape("k-triangle", size)
    noise = LadderNoise(epsilon=epsilon, cap=shape.global_sensitivity(nodes))
    inputs = []
    for own in (edges, edges | {joining}):
        counts = graph(nodes, *own).counts
        rungs = last_rung(epsilon, noise.cap)
        inputs.append(
            LadderInput(shape.count(counts), ladder(shape, counts, rungs=rungs, published=True))
        )
    return noise, inputs


@exhibit(
    "3-triangles",
    f"{ZHANG}, Lemma 5.5 and Theorem 5.7",
    "the ladder of k-triangles gives ε-DP for every k",
    "12 nodes and 20 edges, and one edge more (below); k = 3, ε = 0.1",
)
def three_triangles() -> tuple[float, float]:
    noise, (here, there) = k_triangle_ladders(3, Fraction(1, 10))
    losses = (
        noise.log_probability(here, said) - noise.log_probability(there, said)
        for said in range(-3000, 3000)
    )
    return 0.1, max(map(abs, losses))


def rung_bound(size: int) -> tuple[float, float]:
    """Return the printed bound on the neighbour's sensitivity, and what it is."""
    _, (here, there) = k_triangle_ladders(size, Fraction(1))
    return here.rungs[1], there.rungs[0]


@exhibit(
    "4-triangles",
    f"{ZHANG}, Lemma 5.5 and Theorem 5.7",
    "one edge raises the local sensitivity of k-triangles by at most U(a)",
    "12 nodes and 20 edges, and one edge more (below); k = 4",
    "sensitivity",
)
def four_triangles() -> tuple[float, float]:
    return rung_bound(4)


@exhibit(
    "5-triangles",
    f"{ZHANG}, Lemma 5.5 and Theorem 5.7",
    "one edge raises the local sensitivity of k-triangles by at most U(a)",
    "16 nodes and 28 edges, and one edge more (below); k = 5",
    "sensitivity",
)
def five_triangles() -> tuple[float, float]:
    return rung_bound(5)


def above(margin: float) -> float:
    """Return the probability that Laplace noise of scale 2 is above a margin."""
    tail = math.exp(-abs(margin) / 2) / 2
    return tail if margin >= 0 else 1 - tail


def answers(counts: list[int], said: list[int], threshold: int, last: float = 40.0) -> float:
    """Return how likely bits are where threshold and counts have Laplace noise of scale 2.

    Parameters
    ----------
    counts, said
        The exact counts, and for each whether it was said to be above.
    threshold
        The exact threshold.
    last
        The largest noisy threshold, less the exact one.
    """

    def joint(drawn: float) -> float:
        likely = math.exp(-abs(drawn) / 2) / 4
        for count, bit in zip(counts, said, strict=True):
            up = above(threshold + drawn - count)
            likely *= up if bit else 1 - up
        return likely

    corners = sorted({-160.0, last, 0.0, *(float(count - threshold) for count in counts)})
    corners = [corner for corner in corners if corner <= last]
    return sum(
        quad(joint, low, high, epsabs=0, epsrel=1e-11, limit=300)[0]
        for low, high in pairwise(corners)
    )


@exhibit(
    "sparse-bits",
    f"Lee and Clifton 2014, as {ZHANG} states it (Statement 4.1) and refutes it",
    "bits for any number of queries, with noise of scale 2/ε on threshold and counts, are ε-DP",
    "{a, b, b} and {b, b}, threshold 1: 3 times “how many a”, said to be above, 3 times "
    "“how many b”, said to be below",
)
def sparse_bits() -> tuple[float, float]:
    said = [1, 1, 1, 0, 0, 0]
    return 1, math.log(answers([1, 1, 1, 2, 2, 2], said, 1) / answers([0, 0, 0, 2, 2, 2], said, 1))


@exhibit(
    "sparse-values",
    f"Hardt 2011, as {ZHANG} states it (Algorithm A.1) and refutes it",
    "the first noisy count above the noisy threshold may be said, and all is ε-DP",
    "{a, b} and {a, a, b}, threshold 0: 3 times “how many a”, said to be below, then 1 for "
    "“how many b”",
)
def sparse_values() -> tuple[float, float]:
    # The said value 1 has the same density in both; the noisy threshold is below it.
    said = [0, 0, 0]
    return 1, math.log(answers([1] * 3, said, 0, last=1.0) / answers([2] * 3, said, 0, last=1.0))


@exhibit(
    "sparse-signs",
    f"{ZHANG}, Lemma 4.5, read for any queries of sensitivity 1",
    "bits up to the first above, with noise of scale 2/ε on threshold and counts, are ε-DP",
    "threshold 0: 2 queries that rise from 0 to 1, said to be below, then one that falls from 1 "
    "to 0, said to be above",
)
def sparse_signs() -> tuple[float, float]:
    said = [0, 0, 1]
    return 1, math.log(answers([0, 0, 1], said, 0) / answers([1, 1, 0], said, 0))


# Zhu.


@exhibit(
    "wavelet-range",
    f"{ZHU}, section 2.2.2, above Table 2.4",
    "x₂ + x₃ = ½f₁ − ½f₃ − ½f₄",
    "x = (12, 24, 6, 7)",
    "x₂ + x₃",
)
def wavelet_range() -> tuple[float, float]:
    x = (12, 24, 6, 7)
    return x[1] + x[2], (sum(x) - (x[0] - x[1]) - (x[2] - x[3])) / 2


# Nieminen.


@exhibit(
    "robust-regression",
    f"{NIEMINEN}, sections 3.4–3.6",
    "statistics of clipped rows with Laplace noise are ε-DP, also when means and thresholds are "
    "those of the data",
    "2 rows, the same but for one response: (0, 0), and (0, 1)",
)
def robust_regression() -> tuple[float, float]:
    schema = Schema.from_dict(REALS, relation="replace_one")
    here, there = (
        Table(pl.DataFrame({"x": [0.5, -0.5], "y": responses}), schema)
        for responses in ([0.0, 0.0], [0.0, 1.0])
    )
    method = RobustLinearRegression(epsilon=1, target="y", intercept=False, **PUBLISHED)
    return 1, replayed(method, here, there)


@exhibit(
    "output-perturbation",
    f"{NIEMINEN}, section 3.8.2, as run",
    "ridge weights of length at most 1 plus noise of mean length 20d/(λnε), λ² = d/(nε), are ε-DP",
    "101 rows with x = 1 and y = 0, but for one response: −10⁶, and 10⁶",
)
def output_perturbation() -> tuple[float, float]:
    rows, epsilon, far = 101, 1.0, 1e6
    ridge = math.sqrt(1 / (rows * epsilon))
    scale = 20 / (ridge * rows * epsilon)
    low, high = (min(max(y / rows / (1 + ridge), -1), 1) for y in (-far, far))
    # With one feature the noise is Laplace noise of this scale.
    return epsilon, (high - low) / scale


def show(item: Exhibit) -> None:
    """Print one exhibit."""
    allowed, reached = item.measure()
    print(f"{item.name}: {item.where}")
    print(f"  claimed   {item.claim}")
    print(f"  tried     {item.pair}")
    print(f"  {item.bounded:<9} {number(allowed)} claimed, {number(reached)} reached\n")


def main(names: list[str]) -> int:
    """Show the exhibits that are named, or all."""
    unknown = [name for name in names if name not in EXHIBITS]
    if unknown:
        print(f"no exhibit {unknown[0]!r}; there are: {', '.join(EXHIBITS)}")
        return 2
    for name in names or EXHIBITS:
        show(EXHIBITS[name])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
