"""Synthetic graphs and private spectra: what they keep, beside what was published, and how fast.

    SFUMATO_DATA=… python benchmarks/graph_synthesis.py SECTION [--data ca-GrQc …] [--draws 3]

Run by hand. The sections:

accuracy  every model on every metric: the graph itself, graphs of its exact dK-1 and dK-2 and of a
          fitted Kronecker model, and private ones at several ε, with what was published below
goals     the few figures that must be reached, each with its verdict
spectra   captured subspace, cosines, E_Λ, E_U and γ of all mechanisms at equal ε
speed     DP-2K on email-Enron from beginning to end, rewiring steps a second, and the spectrum of a
          graph of 20,000 nodes by randomised response
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from graph_synthesis_reference import (
    GRQC_COSINES,
    KNOWN,
    METRICS,
    POLBOOKS_GAMMA,
    PUBLISHED,
    SPECTRA,
)
from sfumato.data.graph import Graph, read_graph
from sfumato.evaluate.graph_metrics import assortativity, graph_metrics
from sfumato.evaluate.spectrum import compare_spectrum, true_spectrum
from sfumato.graph.clustered import ClusteredGraph
from sfumato.graph.dk_graph import DKGraph
from sfumato.graph.dk_series import degrees_of, joint_degrees
from sfumato.graph.joint_degrees import joint_graph
from sfumato.graph.kronecker_graph import (
    Features,
    KroneckerGraph,
    KroneckerModel,
    fit_initiator,
    power_of,
)
from sfumato.graph.rewiring import rewire, toward_triangles
from sfumato.graph.spectrum import Spectrum
from sfumato.graph.stub_matching import match_graph

GRAPHS = ("polbooks", "ca-GrQc", "as20000102", "email-Enron")
#: What a model keeps of a graph: given the private graph and a generator, its pairs and nodes.
Drawing = Callable[[Graph, np.random.Generator], tuple[Any, int]]
HEADS = ("nodes", "edges", "degree", "assort.", "clust.", "path", "diam.", "λ1", "triangles",
         "transit.", "modul.")  # fmt: skip
#: δ of the models whose noise follows the graph, as published.
DELTA = "0.01"
#: Up to so many nodes paths are walked from all of them, and beyond from so many.
MOST_PATHS, SOURCES = 10_000, 300
#: Of graphs of more edges only sizes are told.
MOST_EDGES = 600_000


def loaded(name: str) -> Graph:
    """Return a graph of the data folder, whose nodes are those that its edges name."""
    folder = os.environ.get("SFUMATO_DATA")
    if not folder:
        raise SystemExit("set SFUMATO_DATA to the folder that holds graphs/")
    return read_graph(Path(folder) / "graphs" / f"{name}.txt.xz", "named")


def line(label: str, cells: Iterable[str], width: int = 11, first: int = 28) -> None:
    """Print one line of a table."""
    print(f"  {label:<{first}}" + "".join(f"{cell:>{width}}" for cell in cells), flush=True)


def shown(row: Iterable[float | None]) -> list[str]:
    """Return metrics as they are read."""
    cells = []
    for value in row:
        if value is None or not np.isfinite(value):
            cells.append("–")
        elif value == round(value) and abs(value) < 1e12:
            cells.append(f"{value:,.0f}")
        else:
            digits = 4 if abs(value) < 10 else 2 if abs(value) < 1000 else 0
            cells.append(f"{value:,.{digits}f}")
    return cells


def exact_one(graph: Graph, generator: np.random.Generator) -> tuple[Any, int]:
    """Draw a graph with the true degrees. Not private."""
    nodes = graph.public.nodes
    return match_graph(degrees_of(graph.counts.pairs(), nodes), generator), nodes


def exact_two(graph: Graph, generator: np.random.Generator) -> tuple[Any, int]:
    """Draw a graph with the true joint degrees. Not private."""
    nodes = graph.public.nodes
    return joint_graph(joint_degrees(graph.counts.pairs(), nodes), nodes, generator), nodes


def fitted(graph: Graph, generator: np.random.Generator) -> tuple[Any, int]:
    """Draw from the Kronecker model of the true counts, on a power of two of nodes. Not private."""
    degrees = graph.counts.degrees().astype(np.float64)
    paths = degrees * (degrees - 1) / 2
    features = Features(
        float(graph.counts.edges),
        float(paths.sum()),
        float((paths * (degrees - 2) / 3).sum()),
        float(graph.counts.triangles()),
    )
    nodes = 1 << power_of(graph.public.nodes)
    return KroneckerModel(nodes, fit_initiator(features, nodes)).draw(generator), nodes


def released(method: Any) -> Drawing:
    """Return what draws a graph from a release by a method."""

    def draw(graph: Graph, generator: np.random.Generator) -> tuple[Any, int]:
        drawn = method.release(graph).sample(generator=generator)
        return drawn.pairs, drawn.nodes

    return draw


def models(name: str) -> Iterator[tuple[str, Drawing, str | None, tuple[str, str] | None]]:
    """Yield each model with what was published of it and what is known of the corrected one."""
    yield "Kronecker fit", fitted, "SKG", None
    yield "1K, exact", exact_one, "1k", None
    yield "2K, exact", exact_two, "2k", None
    for text in ("20", "2", "0.2"):
        short = text.removeprefix("0")
        yield f"DP-1K sorted, ε = {text}", released(DKGraph(epsilon=text, order=1)), \
            f"1k({short})", ("sorted", text)  # fmt: skip
    yield "DP-1K histogram, ε = 2", released(DKGraph(epsilon=2, order=1, mechanism="histogram")), \
        "1k(2)", None  # fmt: skip
    for text in ("20", "2", "0.2"):
        short = text.removeprefix("0")
        yield f"DP-2K grouped, ε = {text}", released(DKGraph(epsilon=text, order=2)), \
            f"2k({short})", ("grouped", text)  # fmt: skip
    cap = 40 if name == "polbooks" else 128
    for text in ("2000", "200"):
        method = DKGraph(epsilon=text, order=2, mechanism="smooth", delta=DELTA, cap=cap)
        yield f"DP-2K smooth, ε = {text}", released(method), f"2k({text})", ("smooth", text)
    for text in ("20", "2", "0.2"):
        yield f"clustered, ε = {text}", released(ClusteredGraph(epsilon=text)), None, None
    for text in ("20", "2", "0.2"):
        yield f"Kronecker, ε = {text}", released(KroneckerGraph(epsilon=text)), None, None
    unproven = {"variant": "published", "accept_unproven": True}
    for text in ("2", "0.2"):
        yield (
            f"published DP-1K, ε = {text}",
            released(DKGraph(epsilon=text, order=1, **unproven)),
            f"1k({text.removeprefix('0')})",
            None,
        )
    for text in ("200", "20"):
        yield (
            f"published DP-2K, ε = {text}",
            released(DKGraph(epsilon=text, order=2, delta=DELTA, **unproven)),
            f"2k({text})",
            None,
        )


def measured(pairs: Any, nodes: int) -> list[float | None]:
    """Return the metrics of a graph in the order of the published tables."""
    if len(pairs) > MOST_EDGES:
        degree = 2 * len(pairs) / max(len(np.unique(pairs)), 1)
        return [float(len(np.unique(pairs))), float(len(pairs)), degree, *[None] * 8]
    # Paths of large graphs are walked from some of the nodes.
    found = graph_metrics(
        pairs, nodes, isolated=False, eigenvalues=1,
        sources=None if nodes <= MOST_PATHS else SOURCES,
    )  # fmt: skip
    return [
        float(found.joined_nodes),
        float(found.edges),
        found.mean_degree,
        found.assortativity,
        found.clustering,
        found.paths.length,
        float(found.paths.diameter),
        found.largest_eigenvalue,
        float(found.triangles),
        found.transitivity,
        found.modularity,
    ]


def accuracy(names: list[str], draws: int, seed: int) -> None:
    """Print every model on every metric, and what was published below."""
    for name in names:
        graph = loaded(name)
        print(f"{name}: means of {draws} releases; below them what was published")
        line("", HEADS)
        truth = measured(graph.counts.pairs(), graph.public.nodes)
        line("the graph itself", shown(truth))
        _below(name, "Orig", None)
        found: dict[str, list[float | None]] = {}
        for label, draw, published, known in models(name):
            generator = np.random.default_rng(seed)
            try:
                rows = [measured(*draw(graph, generator)) for _ in range(draws)]
            except ValueError as refusal:
                print(f"  {label:<28}refused: {refusal}")
                continue
            found[label] = _means(rows)
            line(label, shown(found[label]))
            _below(name, published, known)
        _duel(truth, found)


def _means(rows: list[list[float | None]]) -> list[float | None]:
    """Return the mean of each metric; that of one that nobody has is none."""
    means: list[float | None] = []
    for column in zip(*rows, strict=True):
        known = [value for value in column if value is not None]
        means.append(float(np.mean(known)) if known else None)
    return means


def _below(name: str, published: str | None, known: tuple[str, str] | None) -> None:
    """Print what is known of a model: published rows, and corrected ones that were tried before."""
    row = PUBLISHED.get(name, {}).get(published or "")
    if row is not None:
        line("    published", shown(row))
    if known is not None and (name, *known) in KNOWN:
        edges, mixing, triangles = KNOWN[name, known[0], known[1]]
        cells: list[float | None] = [None] * len(METRICS)
        for metric, value in (
            ("edges", edges),
            ("assortativity", mixing),
            ("triangles", triangles),
        ):
            cells[METRICS.index(metric)] = value
        line("    known of the corrected", shown(cells))


def _duel(truth: list[float | None], found: dict[str, list[float | None]]) -> None:
    """Print relative errors at equal ε, and on how many metrics each model is the closest."""
    for text in ("20", "2", "0.2"):
        rivals = [
            f"{name}, ε = {text}"
            for name in ("DP-1K sorted", "DP-2K grouped", "clustered", "Kronecker")
            if f"{name}, ε = {text}" in found
        ]
        if len(rivals) < 2:
            continue
        errors = {label: _errors(truth, found[label]) for label in rivals}
        best = [
            min(rivals, key=lambda label, at=at: np.nan_to_num(errors[label][at], nan=np.inf))
            for at in range(len(METRICS))
        ]
        print(f"  relative error at ε = {text}, and on how many metrics the model is closest")
        line("", [*HEADS, "closest"])
        for label in rivals:
            cells = ["–" if np.isnan(off) else f"{off:.1%}" for off in errors[label]]
            usable = [
                one for one, at in zip(best, range(len(METRICS)), strict=True)
                if not np.isnan(errors[one][at])
            ]  # fmt: skip
            line(label, [*cells, str(usable.count(label))])
        dk = [label for label in rivals if not label.startswith("Kronecker")]
        if len(dk) < len(rivals):
            lost = [
                HEADS[at] for at in range(len(METRICS))
                if not np.isnan(errors[rivals[-1]][at])
                and min(errors[label][at] for label in dk) > errors[rivals[-1]][at]
            ]  # fmt: skip
            print(f"  Kronecker is closer than all of ours on: {', '.join(lost) or 'nothing'}")


def _errors(truth: list[float | None], row: list[float | None]) -> list[float]:
    """Return how far each metric is off, as a share of the truth."""
    return [
        float("nan") if true is None or value is None else abs(value - true) / max(abs(true), 1e-9)
        for true, value in zip(truth, row, strict=True)
    ]


def goals(seed: int) -> None:
    """Print the figures that must be reached, over ten releases each."""
    generator = np.random.default_rng(seed)
    line("", ["worst of 10", "allowed", "verdict"], 14, 46)

    def verdict(label: str, worst: float, allowed: float, form: str) -> None:
        told = "reached" if worst <= allowed else "MISSED"
        line(label, [format(worst, form), format(allowed, form), told], 14, 46)

    graph = loaded("ca-GrQc")
    truth = assortativity(graph.counts) or 0.0
    off = []
    for _ in range(10):
        drawn = DKGraph(epsilon=2, order=2).release(graph).sample(generator=generator)
        off.append(abs((assortativity(drawn.counts) or 0.0) - truth))
    verdict("ca-GrQc, DP-2K at ε = 2, assortativity", max(off), 0.06, ".4f")
    for name in ("as20000102", "email-Enron"):
        graph = loaded(name)
        edges = [
            DKGraph(epsilon="0.2", order=1).release(graph).sample(generator=generator).edges
            for _ in range(10)
        ]
        worst = max(abs(count / graph.counts.edges - 1) for count in edges)
        verdict(f"{name}, DP-1K at ε = 0.2, edges", worst, 0.06, ".2%")


def mechanisms(epsilon: str) -> dict[str, Any]:
    """Return the spectra that are compared at equal ε."""
    unproven = {"variant": "published", "accept_unproven": True}
    return {
        "response": Spectrum(epsilon=epsilon),
        "laplace": Spectrum(epsilon=epsilon, mechanism="laplace"),
        "lnpp global": Spectrum(epsilon=epsilon, mechanism="lnpp", variant="global"),
        "lnpp ptr": Spectrum(epsilon=epsilon, mechanism="lnpp", variant="ptr", delta="1e-6"),
        "lnpp published": Spectrum(epsilon=epsilon, mechanism="lnpp", **unproven),
        "sbmf": Spectrum(epsilon=epsilon, mechanism="sbmf"),
        "sbmf gibbs": Spectrum(
            epsilon=epsilon, mechanism="sbmf", variant="gibbs", accept_unproven=True
        ),
        "eigenvalues alone": Spectrum(epsilon=epsilon, mechanism="eigenvalues"),
    }


def spectra(
    names: list[str], epsilons: list[str] | None, repeats: int | None, chosen: list[str] | None
) -> None:
    """Print what each mechanism captures of the true spectrum, mean of several releases."""
    for name in names:
        graph = loaded(name)
        truth = true_spectrum(graph, 5)
        many = repeats or (20 if name == "polbooks" else 2)
        told = ", ".join(f"{value:.4f}" for value in truth.eigenvalues)
        print(f"{name}: true eigenvalues {told}; means of {many}, of sampled ones fewer")
        for text in epsilons or ["1", "2", "4", "8"]:
            line(f"ε = {text}", ["captured", "known", "E_Λ", "E_U", "γ", "known", "cosines"])
            for label, method in mechanisms(text).items():
                if chosen is not None and label not in chosen:
                    continue
                slow = label.startswith("sbmf")
                count = max(1, many // 10) if slow else many
                _spectrum_line(graph, truth, name, text, label, method, count)


def _spectrum_line(
    graph: Graph, truth: Any, name: str, text: str, label: str, method: Any, many: int
) -> None:
    """Print the means of one mechanism at one ε."""
    begin = time.process_time()
    try:
        outcomes = [compare_spectrum(graph, method.release(graph), truth) for _ in range(many)]
    except ValueError as refusal:
        print(f"  {label:<28}refused: {refusal}")
        return
    seconds = (time.process_time() - begin) / many
    known = SPECTRA.get(text, {}).get(label) if name == "polbooks" else None
    values = np.mean([outcome.value_distance for outcome in outcomes])
    if outcomes[0].cosines is None:
        line(label, ["–", "–", f"{values:.3f}", "–", "–", "–"])
        return
    drawn = [o.reconstruction.distance for o in outcomes if o.reconstruction is not None]
    cosines = np.mean([outcome.cosines for outcome in outcomes], axis=0)
    line(
        label,
        [
            f"{np.mean([outcome.captured for outcome in outcomes]):.3f}",
            "–" if known is None else f"{known[0]:.2f}",
            f"{values:.3f}",
            f"{np.mean([outcome.vector_distance for outcome in outcomes]):.3f}",
            f"{np.mean(drawn):.2f}" if drawn else "–",
            "–" if known is None else f"{known[1]:.1f}",
            "  " + " ".join(f"{cosine:.2f}" for cosine in cosines) + f"   {seconds:.2f} s each",
        ],
    )
    if name == "ca-GrQc" and label == "response" and text in GRQC_COSINES:
        line("    known", [*["–"] * 6, "  " + " ".join(f"{c:.2f}" for c in GRQC_COSINES[text])])
    if name == "polbooks" and label == "response":
        line("    γ of the truth, and by chance", [*["–"] * 4, *map(str, POLBOOKS_GAMMA)])


def speed(seed: int) -> None:
    """Time DP-2K from beginning to end, rewiring, and a large spectrum."""
    generator = np.random.default_rng(seed)
    line("processor seconds", ["first", "again", "allowed"])
    method = DKGraph(epsilon=2, order=2)
    times = []
    for _ in range(2):
        begin = time.process_time()
        with tempfile.TemporaryDirectory() as folder:
            method.release(loaded("email-Enron")).save(Path(folder) / "release")
        times.append(time.process_time() - begin)
    line("DP-2K, email-Enron, end to end", [*(f"{t:.2f}" for t in times), "10"])
    for name in ("ca-GrQc", "email-Enron"):
        _rewiring(name, generator)
    _large_spectrum(generator)


def _rewiring(name: str, generator: np.random.Generator) -> None:
    """Print how many exchanges a second are proposed."""
    graph = loaded(name)
    pairs, nodes = graph.counts.pairs(), graph.public.nodes
    steps = 4_000_000
    runs: dict[str, Callable[[int], Any]] = {
        "keeping degrees": lambda many: rewire(pairs, nodes, generator, steps=many),
        "keeping joint degrees": lambda many: rewire(
            pairs, nodes, generator, steps=many, keep="joint"
        ),
        # More than there can be: all steps are taken.
        "towards more triangles": lambda many: toward_triangles(
            pairs, nodes, 1e12, generator, steps=many
        ),
    }
    for label, run in runs.items():
        run(1000)
        many = steps if "triangles" not in label else steps // 4
        begin = time.process_time()
        run(many)
        seconds = time.process_time() - begin
        line(f"{name}, {label}", [f"{many / seconds / 1e6:.2f} million steps a second"], 32, 42)


def _large_spectrum(generator: np.random.Generator) -> None:
    """Release the spectrum of a graph of 20,000 nodes whose matrix is never written out."""
    nodes, edges = 20_000, 200_000
    weights = (1 + np.arange(nodes)) ** -0.5
    ends = generator.choice(nodes, size=(edges, 2), p=weights / weights.sum())
    graph = Graph(ends[ends[:, 0] != ends[:, 1]], nodes)
    for text in ("2", "4", "6"):
        begin, start = time.process_time(), time.perf_counter()
        release = Spectrum(epsilon=text).release(graph)
        took = time.process_time() - begin, time.perf_counter() - start
        outcome = compare_spectrum(graph, release)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        line(
            f"20,000 nodes, ε = {text}",
            [
                f"{took[0]:.2f} s",
                f"{took[1]:.2f} s clock",
                f"{peak:.2f} GiB",
                f"captured {outcome.captured:.3f}",
            ],
            16,
        )
    print(f"  {graph.counts.edges:,} edges; a dense matrix of floats would take 2.98 GiB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("section", choices=["accuracy", "goals", "spectra", "speed"])
    parser.add_argument("--data", nargs="*", default=None, help="some of the graphs")
    parser.add_argument("--draws", type=int, default=3, help="releases of each model")
    parser.add_argument("--epsilon", nargs="*", default=None, help="the ε of the spectra")
    parser.add_argument("--repeats", type=int, default=None, help="releases of each spectrum")
    parser.add_argument("--only", nargs="*", default=None, help="some of the mechanisms")
    parser.add_argument("--seed", type=int, default=1, help="what drawing begins with")
    given = parser.parse_args()
    if given.section == "accuracy":
        accuracy(given.data or list(GRAPHS), given.draws, given.seed)
    elif given.section == "goals":
        goals(given.seed)
    elif given.section == "spectra":
        spectra(given.data or ["polbooks", "ca-GrQc"], given.epsilon, given.repeats, given.only)
    else:
        speed(given.seed)


if __name__ == "__main__":
    main()
