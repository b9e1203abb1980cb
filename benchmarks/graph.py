"""Counts in graphs: the six SNAP graphs of the Ladder paper, exact errors, speed and scale.

    SFUMATO_DATA=… python benchmarks/graph.py SECTION [--data ca-GrQc …] [--igraph PYTHON]

Run by hand. The sections:

counts   triangles, 3-stars, 4-cliques and 2-triangles beside what is known of the graphs
errors   median relative errors, exact, without sampling: ladder (paper's and tight), smooth noise
         with the published constants, with equal shares and with ours, plain noise, the default
tails    the error that is exceeded once in twenty times, over that of the ladder
speed    a whole ladder release of triangles and of 4-cliques beside igraph, which is run by the
         Python interpreter that `--igraph` names
scale    a power-law graph of 5 million edges and a largest degree of about 5,000
clustering  clustering coefficients of all nodes and of one (`graph_clustering.py`)
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from graph_clustering import clustering
from graph_data import loaded
from sfumato.data.graph import Graph, GraphPublic
from sfumato.engines.memory_graph import MemoryGraph
from sfumato.graph.count_law import CountLaw
from sfumato.graph.ladders import ladder, last_rung, local_sensitivities
from sfumato.graph.shapes import Shape
from sfumato.graph.subgraph_count import SubgraphCount
from sfumato.mechanisms.ladder import LadderInput, ladder_quantile
from sfumato.mechanisms.smooth import SmoothCauchy, SmoothInput

SECTIONS = ("counts", "errors", "tails", "speed", "scale", "clustering")
EPSILONS = ("0.05", "0.1", "0.2", "0.4", "0.8", "1.6")
SHAPES = (Shape("triangle", 3), Shape("star", 3), Shape("clique", 4), Shape("k-triangle", 2))
#: Nodes, edges and the four counts.
KNOWN = {
    "ca-AstroPh": (18_772, 198_050, 1_351_441, 545_677_552, 9_580_415, 72_355_715),
    "ca-HepPh": (12_008, 118_489, 3_358_499, 1_276_966_999, 150_281_372, 936_890_335),
    "ca-HepTh": (9_877, 25_973, 28_339, 2_098_335, 65_592, 429_013),
    "ca-CondMat": (23_133, 93_439, 173_361, 37_115_060, 294_008, 2_349_650),
    "email-Enron": (36_692, 183_831, 727_044, 4_909_606_844, 2_341_639, 36_528_276),
    "ca-GrQc": (5_242, 14_484, 48_260, 2_482_738, 329_297, 2_041_499),
}
#: The median relative errors of the paper's ladder that are known, at the six ε.
LADDER = {
    ("ca-AstroPh", "triangle"): (0.0083, 0.00387, 0.00186, 0.00092, 0.00046, 0.00024),
    ("ca-AstroPh", "star"): (0.0126, 0.0059, 0.0029, 0.0014, 0.00071, 0.00036),
    ("ca-AstroPh", "clique"): (0.102, 0.0281, 0.0093, 0.0036, 0.0016, 0.00075),
    ("ca-AstroPh", "k-triangle"): (0.0731, 0.0261, 0.0109, 0.005, 0.0024, 0.0012),
    ("ca-HepPh", "triangle"): (0.0041, 0.002, 0.00096, 0.00047, 0.00024, 0.00012),
    ("ca-HepPh", "star"): (0.0058, 0.0027, 0.0013, 0.00066, 0.00033, 0.00017),
    ("ca-HepPh", "clique"): (0.0125, 0.0048, 0.0021, 0.00096, 0.00047, 0.00023),
    ("ca-HepPh", "k-triangle"): (0.0109, 0.0046, 0.0021, 0.00099, 0.00049, 0.00025),
    ("ca-HepTh", "triangle"): (0.0759, 0.0268, 0.011, 0.0049, 0.0023, 0.0011),
    ("ca-HepTh", "star"): (0.149, 0.042, 0.016, 0.0071, 0.0034, 0.0017),
    ("ca-HepTh", "clique"): (3.45, 0.553, 0.122, 0.0374, 0.0145, 0.0064),
    ("ca-HepTh", "k-triangle"): (2.08, 0.342, 0.080, 0.0265, 0.0107, 0.0049),
    ("ca-CondMat", "triangle"): (0.0334, 0.0151, 0.0071, 0.0034, 0.0017, 0.00086),
    ("ca-CondMat", "star"): (0.0656, 0.0291, 0.0138, 0.0067, 0.0034, 0.0017),
    ("ca-CondMat", "clique"): (1.72, 0.378, 0.0955, 0.0286, 0.0103, 0.0041),
    ("ca-CondMat", "k-triangle"): (0.908, 0.243, 0.083, 0.0335, 0.015, 0.0073),
    ("email-Enron", "triangle"): (0.0181, 0.0085, 0.0041, 0.002, 0.001, 0.00053),
    ("email-Enron", "star"): (0.0111, 0.0054, 0.0027, 0.0014, 0.00068, 0.00035),
    ("email-Enron", "clique"): (0.489, 0.133, 0.043, 0.0167, 0.0072, 0.0034),
    ("email-Enron", "k-triangle"): (0.183, 0.068, 0.029, 0.0133, 0.0065, 0.0032),
    ("ca-GrQc", "triangle"): (0.0608, 0.0248, 0.0107, 0.0049, 0.0023, 0.0012),
    ("ca-GrQc", "star"): (0.157, 0.051, 0.0206, 0.0094, 0.0046, 0.0023),
    ("ca-GrQc", "clique"): (0.84, 0.165, 0.044, 0.0156, 0.0064, 0.003),
    ("ca-GrQc", "k-triangle"): (0.541, 0.115, 0.034, 0.0132, 0.0058, 0.0028),
}


def line(label: str, cells: Iterable[str], width: int = 11) -> None:
    """Print one line of a table."""
    print(f"  {label:<30}" + "".join(f"{cell:>{width}}" for cell in cells), flush=True)


def timed(run: Callable[[], Any], repeats: int = 3) -> float:
    """Return the seconds of processor time of the fastest run, which others do not lengthen."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times)


def counts(names: list[str]) -> None:
    """Print the counts and whether they are the known ones."""
    line("graph", ["nodes", "edges", *(shape.words for shape in SHAPES), ""], 15)
    for name in names:
        graph = loaded(name).counts
        found = (graph.nodes, graph.edges, *(shape.count(graph) for shape in SHAPES))
        verdict = "as known" if found == KNOWN[name] else f"NOT {KNOWN[name]}"
        line(name, [*(f"{number:,}" for number in found), verdict], 15)


def laws(graph: MemoryGraph, shape: Shape, name: str) -> dict[str, list[tuple[float, float]]]:
    """Return for each mechanism its median and 95 % error at every ε, over the count."""
    count, cap = shape.count(graph), shape.global_sensitivity(graph.nodes)
    exact = shape.name in ("triangle", "star")
    widths = local_sensitivities(shape, graph, rungs=2 * graph.nodes) if exact else []
    growth = np.array([float(width) for width in widths])
    found: dict[str, list[tuple[float, float]]] = {}

    def smooth(noise: SmoothCauchy) -> tuple[float, float]:
        decay = np.exp(-float(noise.beta) * np.arange(len(growth)))
        law = CountLaw(noise, SmoothInput(count, Fraction(float((growth * decay).max()))))
        return law.quantile(0.5) / count, law.quantile(0.95) / count

    for text in EPSILONS:
        epsilon = Fraction(text)
        for label, paper in (("ladder (paper)", True), ("ladder (tight)", False)):
            if label == "ladder (tight)" and shape.name != "clique":
                continue
            widths = ladder(shape, graph, rungs=last_rung(epsilon, cap), paper=paper)
            given = LadderInput(count, widths)
            off = tuple(
                ladder_quantile(given, share, epsilon=epsilon, cap=cap) / count
                for share in (0.5, 0.95)
            )
            found.setdefault(label, []).append((off[0], off[1]))
        if exact:
            size = None if shape.name == "triangle" else shape.size
            own = SubgraphCount(epsilon=text, shape=shape.name, k=size, mechanism="smooth")
            ours = own._primitive(GraphPublic(nodes=graph.nodes))
            equal = SmoothCauchy(epsilon=epsilon, grid_exponent=0)
            # The published constants are those of a third of ε with equal shares.
            third = SmoothCauchy(epsilon=epsilon / 3, grid_exponent=0)
            found.setdefault("smooth (published)", []).append(smooth(third))
            found.setdefault("smooth (ε/2, ε/2)", []).append(smooth(equal))
            found.setdefault("smooth (ours)", []).append(smooth(ours))
        plain = cap / float(epsilon) / count
        found.setdefault("plain", []).append((plain * math.log(2), plain * math.log(20)))
    found["default"] = _default(found, shape, graph.nodes)
    return found


def _default(
    found: dict[str, list[tuple[float, float]]], shape: Shape, nodes: int
) -> list[tuple[float, float]]:
    """Return the errors of what the method would choose."""
    size = None if shape.name == "triangle" else shape.size
    ladders = found.get("ladder (tight)", found["ladder (paper)"])
    rows = []
    for place, text in enumerate(EPSILONS):
        method = SubgraphCount(epsilon=text, shape=shape.name, k=size)
        smooth = method.chosen(GraphPublic(nodes=nodes)) == "smooth"
        rows.append(found["smooth (ours)"][place] if smooth else ladders[place])
    return rows


def errors(names: list[str], *, tails: bool) -> None:
    """Print exact errors; and where the default is not the best."""
    worse = []
    for name in names:
        graph = loaded(name).counts
        for shape in SHAPES:
            print(f"{name}, {shape.words}")
            line("", [f"ε = {text}" for text in EPSILONS])
            found = laws(graph, shape, name)
            base = found["ladder (paper)"]
            for label, rows in found.items():
                if tails:
                    cells = [f"{row[1] / own[1]:.2f}" for row, own in zip(rows, base, strict=True)]
                else:
                    cells = [f"{row[0]:.4g}" for row in rows]
                line(label, cells)
            known = LADDER[name, shape.name]
            far = max(abs(row[0] / told - 1) for row, told in zip(base, known, strict=True))
            line("known ladder, largest difference", [f"{far:.1%}"])
            for place, text in enumerate(EPSILONS):
                others = {k: v[place][0] for k, v in found.items() if k in _RIVALS}
                best = min(others, key=lambda key: others[key])
                ratio = found["default"][place][0] / others[best]
                if ratio > 1:
                    worse.append(f"{name}, {shape.words}, ε = {text}: {best} by {ratio:.3f}")
    print(f"the default is worse in the median at {len(worse)} points", *worse, sep="\n  ")


_RIVALS = ("ladder (paper)", "ladder (tight)", "smooth (published)", "smooth (ε/2, ε/2)", "plain")


def speed(names: list[str], igraph: str | None) -> None:
    """Time whole releases beside igraph."""
    for name in names:
        data = loaded(name)
        pairs, public = data.counts.pairs(), data.public

        def fresh(pairs: Any = pairs, public: Any = public) -> Graph:
            return Graph._of(public, MemoryGraph(pairs, nodes=public.nodes))

        print(f"{name}: {public.nodes:,} nodes, {len(pairs):,} edges")
        line("processor seconds", ["fastest of 5"])
        methods = {
            "triangles, ladder": SubgraphCount(epsilon=1, mechanism="ladder"),
            "triangles, default": SubgraphCount(epsilon=1),
            "4-cliques, ladder": SubgraphCount(epsilon=1, shape="clique", k=4),
            "2-triangles, ladder": SubgraphCount(epsilon=1, shape="k-triangle", k=2),
        }
        line("taking the edges in", [f"{timed(fresh, 5):.4f}"])
        for label, method in methods.items():
            method.release(fresh())
            # What an engine has found it keeps: every release gets a new one, made beforehand.
            ready = [fresh() for _ in range(5)]
            line(label, [f"{timed(lambda m=method, r=ready: m.release(r.pop()), 5):.4f}"])
        plain = [fresh() for _ in range(5)]
        line(
            "4-cliques, plain count", [f"{timed(lambda r=plain: r.pop().counts.cliques(4), 5):.4f}"]
        )
        if igraph is not None:
            for label, seconds in _igraph(igraph, pairs, public.nodes).items():
                line(f"igraph {label}", [f"{seconds:.4f}" if label != "version" else seconds])


def _igraph(python: str, pairs: Any, nodes: int) -> dict[str, Any]:
    script = Path(__file__).parent / "peers" / "graph_igraph.py"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "edges.txt"
        np.savetxt(path, pairs, fmt="%d")
        command = [python, str(script), str(path), str(nodes), "5"]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def power_law(nodes: int, edges: int, largest: int, generator: Any) -> Any:
    """Return random edges with expected degrees that fall as a power, the largest as given."""
    # Degree of rank i: largest · (1 + i/s)^(−0.75), s chosen so that they add up to 2·edges.
    low, high, ranks = 1e-6, 1e9, np.arange(nodes)
    for _ in range(200):
        middle = math.sqrt(low * high)
        total = (largest * (1 + ranks / middle) ** -0.75).sum()
        low, high = (middle, high) if total < 2 * edges else (low, middle)
    weights = (1 + ranks / low) ** -0.75
    ends = np.searchsorted(np.cumsum(weights) / weights.sum(), generator.random((2, edges)))
    pairs = np.minimum(ends, nodes - 1).T
    return pairs[pairs[:, 0] != pairs[:, 1]]


def scale() -> None:
    """Release triangles of a graph of 5 million edges."""
    nodes, edges = 1_000_000, 5_000_000
    pairs = power_law(nodes, int(edges * 1.02), 5_000, np.random.default_rng(1))
    begin = time.process_time()
    data = Graph(pairs, nodes)
    taken = time.process_time() - begin
    largest = int(data.counts.degrees().max())
    print(f"{nodes:,} nodes, {data.counts.edges:,} edges, largest degree {largest:,}")
    line("", ["processor", "clock"], 16)
    line("taking the edges in", [f"{taken:.2f} s"], 16)
    for label, method in {
        "triangles, ladder": SubgraphCount(epsilon=1, mechanism="ladder"),
        "4-cliques, ladder": SubgraphCount(epsilon=1, shape="clique", k=4),
        "2-triangles, ladder": SubgraphCount(epsilon=1, shape="k-triangle", k=2),
    }.items():
        fresh = Graph._of(data.public, MemoryGraph(data.counts.pairs(), nodes=nodes))
        begin, start = time.process_time(), time.perf_counter()
        method.release(fresh)
        ends = (time.process_time() - begin, time.perf_counter() - start)
        line(label, [f"{seconds:.2f} s" for seconds in ends], 16)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"largest memory: {peak:.2f} GiB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("section", choices=SECTIONS)
    parser.add_argument("--data", nargs="*", default=None, help="some of the graphs")
    parser.add_argument("--igraph", help="a Python interpreter that has igraph")
    parser.add_argument("--repeats", type=int, default=1000, help="releases about one node")
    given = parser.parse_args()
    names = given.data or list(KNOWN)
    if given.section == "counts":
        counts(names)
    elif given.section == "speed":
        speed(given.data or ["email-Enron", "ca-AstroPh"], given.igraph)
    elif given.section == "scale":
        scale()
    elif given.section == "clustering":
        clustering(given.data, given.repeats)
    else:
        errors(names, tails=given.section == "tails")


if __name__ == "__main__":
    main()
