"""The two laws of the defaults of points, sequences and graphs.

    SFUMATO_DATA=… python benchmarks/laws.py points [--half report] [--runs 10] [--data NAME …]

Run by hand. A default may (1) not be behind another method of this package with the same budget by
more than 5 % on any data set, and (2) its error must fall with ε, within the noise of the runs. The
kinds:

points      PrivTree against all other methods for points: mean relative error (to 0.1 % of all
            points where a true count is less) and mean absolute error over n, of random boxes that
            cover 0.01–0.1 %, 0.1–1 % and 1–10 % of the domain
sequences   SuffixTree against NGram and TopStrings: the share of the top 50 and 100 strings that is
            missed, and the total variation of k-grams (k = 1, 2, 3) and of lengths of sampled
            sequences
graph       SubgraphCount against its own variants and GraphStatistic: the error that is exceeded
            once in two and once in twenty times, over the count, exact where a law is known

For every measure it prints in how many cells (data set, ε) the default is within 5 % of its best
sibling, the worst cells, and what violates either law beyond twice (law 1) or three times (law 2)
the standard error of the difference. Data sets are split by the CRC-32 of their names
(`laws_data`): choose on one half, report the other.

Every run is a line of JSON in `.benchmarks/laws`, under the word that `--tag` gives it, so that
runs before and after a change can be compared and a long run goes on where it stopped.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import laws_data as data
import sfumato as sf
from graph_data import loaded
from sfumato.evaluate.sequences import length_distance, precision, strings_of, top_strings
from sfumato.evaluate.table import total_variation
from spatial_queries import BANDS, errors, random_boxes, true_counts
from tabular_zoo import HALVES, ZooError

EPSILONS = (0.05, 0.1, 0.4, 1.0, 3.0)
CACHE = Path(__file__).resolve().parents[1] / ".benchmarks" / "laws"
#: A default may be behind by this much.
LAW = 1.05
QUERIES = 500
#: More sequences than this are not sampled for a comparison.
MOST_SAMPLED = 100_000
TOPS = (50, 100)
#: Statistics without an exact law are drawn this often.
DRAWN = 60

#: Data set, ε, method → one dictionary of errors a run.
Runs = dict[tuple[str, float, str], list[dict[str, float]]]
Errors = dict[str, float]


# Points.


class Points:
    """PrivTree and its siblings on boxes of three sizes."""

    default = "PrivTree"
    siblings = ("UniformGrid", "AdaptiveGrid", "HierarchicalGrid", "SimpleTree", "Privelet", "DAWA")
    runs = 10
    names = staticmethod(data.point_sets)

    def __init__(self, name: str) -> None:
        self.points, values, bounds = data.load_points(name)
        draw = np.random.default_rng(QUERIES)
        self.boxes = np.concatenate([random_boxes(bounds, b, QUERIES, draw) for b in BANDS])
        self.truth = true_counts(values, self.boxes)

    def measure(self, method: str, epsilon: float) -> Errors:
        """Release once and return the errors of every set of boxes."""
        answers = getattr(sf, method)(epsilon=epsilon).release(self.points).count(self.boxes)
        found, n = {}, self.points.counts.rows
        for number, band in enumerate(BANDS):
            part = slice(number * QUERIES, (number + 1) * QUERIES)
            relative, absolute = errors(answers[part], self.truth[part], n)
            found |= {f"relative, {band}": relative, f"absolute, {band}": absolute / n}
        return found


# Sequences.


def count_grams(rows: list[NDArray[np.int64]], symbols: int, k: int) -> dict[int, int]:
    """Return how often each string of k codes occurs, the end of a sequence counted as a symbol."""
    text = np.concatenate([np.append(row, [symbols] * k) for row in rows])
    codes = np.zeros(text.size - k + 1, dtype=np.int64)
    for place in range(k):
        codes = codes * (symbols + 1) + text[place : place + codes.size]
    # Strings that begin after an end belong to no sequence.
    kept = text[: codes.size] != symbols
    values, counts = np.unique(codes[kept], return_counts=True)
    return dict(zip(values.tolist(), counts.tolist(), strict=True))


class Sequences:
    """SuffixTree and its siblings."""

    default = "SuffixTree"
    siblings = ("NGram", "TopStrings")
    runs = 4
    names = staticmethod(data.sequence_sets)

    def __init__(self, name: str) -> None:
        self.sequences = data.load_sequences(name)
        engine = self.sequences.counts
        self.truth = top_strings(self.sequences, max(TOPS))
        rows = [engine.text[a + 1 : b - 1] for a, b in pairwise(engine.starts)]
        self.grams = [count_grams(rows, engine.alphabet, k) for k in (1, 2, 3)]

    def measure(self, method: str, epsilon: float) -> Errors:
        """Release once, for TopStrings once for every k, and return all errors."""
        if method == "TopStrings":
            lists = [
                sf.TopStrings(epsilon=epsilon, strings=k).release(self.sequences) for k in TOPS
            ]
            return {
                f"missed of top {k}": 1 - precision(self.truth[:k], one.top(k))
                for k, one in zip(TOPS, lists, strict=True)
            }
        release = getattr(sf, method)(epsilon=epsilon).release(self.sequences)
        best = strings_of(release.top(max(TOPS)))
        found = {f"missed of top {k}": 1 - precision(self.truth[:k], best[:k]) for k in TOPS}
        rows = min(self.sequences.counts.rows, MOST_SAMPLED)
        sampled = release.sample(rows, seed=1)
        found["lengths"] = length_distance(self.sequences, sampled)
        public = self.sequences.public
        coded = [np.array(public.codes(row), dtype=np.int64) for row in sampled]
        for k, truth in enumerate(self.grams, 1):
            own = count_grams(coded, public.symbols, k)
            keys = sorted(truth.keys() | own.keys())
            sides = [np.array([side.get(key, 0) for key in keys]) for side in (truth, own)]
            found[f"{k}-grams"] = total_variation(*sides) if own else 1.0
        return found


# Graphs.

SHAPES = {
    "triangle": {"shape": "triangle"},
    "2-star": {"shape": "star", "k": 2},
    "3-star": {"shape": "star", "k": 3},
    "4-clique": {"shape": "clique", "k": 4},
    "2-triangle": {"shape": "k-triangle", "k": 2},
}
UNITS = {
    "triangle": ("triangles",),
    "2-star": ("stars(2)", "wedges", "sum(choose2(degrees))"),
    "3-star": ("stars(3)", "sum(choose3(degrees))"),
    "4-clique": ("cliques(4)",),
    "2-triangle": ("k_triangles(2)",),
}


class Graph:
    """SubgraphCount, its variants and formulas for the same number."""

    default = "auto"
    siblings = ("ladder", "ladder, paper", "smooth", "smooth, published", "laplace", "recursive")
    runs = 1

    @staticmethod
    def names(part: str) -> list[str]:
        """Return graphs and shapes."""
        found = [name for name in data.GRAPHS if data.half(name) == part]
        return [f"{name}, {shape}" for name in found for shape in SHAPES]

    def __init__(self, name: str) -> None:
        graph, self.shape = name.split(", ")
        self.graph = loaded(graph)
        law = sf.SubgraphCount(epsilon=1, **SHAPES[self.shape])
        self.count = law._shape.count(self.graph.counts)
        if not self.count:
            raise ZooError(f"{graph} has no {self.shape}")
        self.siblings = (*self.siblings, *UNITS[self.shape])

    def measure(self, method: str, epsilon: float) -> Errors:
        """Return the errors of the law, or of draws where there is none."""
        if method in UNITS[self.shape]:
            statistic = sf.GraphStatistic(epsilon=epsilon, expression=method)
            drawn = [float(statistic.release(self.graph).value) for _ in range(DRAWN)]
            off = np.abs(np.array(drawn) - self.count) / self.count
            return {"median": float(np.median(off)), "drawn": 1.0}
        mechanism, _, more = method.partition(", ")
        options = {"paper": {"rungs": "paper"}, "published": {"variant": "published"}}.get(more, {})
        one = sf.SubgraphCount(
            epsilon=epsilon, mechanism=mechanism, **SHAPES[self.shape], **options
        )
        one.check(self.graph.public)
        off = {"median": one.expected_error(self.graph) / self.count}
        return off | {"1 in 20": one.expected_error(self.graph, 0.95) / self.count}


KINDS: dict[str, Any] = {"points": Points, "sequences": Sequences, "graph": Graph}


# Runs and their cache.


def fill(kind: Any, names: list[str], given: argparse.Namespace) -> Runs:
    """Return the runs of these data sets, those that are missing made now."""
    path = CACHE / f"{given.kind}-{given.tag}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    found: Runs = defaultdict(list)
    for text in path.read_text().splitlines() if path.exists() else []:
        one = json.loads(text)
        found[one["data"], one["epsilon"], one["method"]].append(one["errors"])
    runs = given.runs or kind.runs
    with path.open("a") as file:
        for name in names:
            for one in _missing(kind, name, found, runs, given):
                file.write(json.dumps(one) + "\n")
                file.flush()
                found[one["data"], one["epsilon"], one["method"]].append(one["errors"])
    return found


def _missing(
    kind: Any, name: str, found: Runs, runs: int, given: argparse.Namespace
) -> Iterator[dict[str, Any]]:
    """Make the runs of one data set that are not there."""
    wanted = [kind.default] if given.own else [kind.default, *kind.siblings]
    if all(len(found[name, e, m]) >= runs for e in EPSILONS for m in wanted):
        return
    try:
        case, start = kind(name), time.process_time()
    except ZooError as reason:
        print(f"  left out: {reason}", flush=True)
        return
    for method in [kind.default] if given.own else [kind.default, *case.siblings]:
        for epsilon in EPSILONS:
            for _ in range(runs - len(found[name, epsilon, method])):
                try:
                    measured = case.measure(method, epsilon)
                except ValueError:
                    # The method does not take such data.
                    break
                facts = {"data": name, "epsilon": epsilon, "method": method}
                yield {**facts, "errors": measured}
    print(f"  {name}: {time.process_time() - start:.1f} s of CPU", file=sys.stderr, flush=True)


# The laws.


def average(runs: list[Errors], measure: str) -> tuple[float, float] | None:
    """Return the mean of a measure and its standard error; that of a single exact run is 0."""
    values = [run[measure] for run in runs if measure in run]
    if not values:
        return None
    spread = np.std(values, ddof=1) / math.sqrt(len(values)) if len(values) > 1 else 0.0
    if "drawn" in runs[0]:
        # The deviation of a median of Laplace noise is about its median over 0.69·√draws.
        spread = values[0] / 0.69 / math.sqrt(DRAWN)
    return float(np.mean(values)), float(spread)


def judge(kind: Any, names: list[str], found: Runs, *, worst: int) -> None:
    """Print how far the default is behind its best sibling, and what violates a law."""
    measures = dict.fromkeys(m for runs in found.values() for run in runs for m in run)
    measures.pop("drawn", None)
    methods = dict.fromkeys(method for name, _, method in found if name in names)
    methods.pop(kind.default, None)
    for measure in measures:
        cells, rising = [], []
        for name in names:
            before = None
            for epsilon in EPSILONS:
                own = average(found.get((name, epsilon, kind.default), []), measure)
                if own is None:
                    continue
                if before is not None:
                    noise = math.hypot(own[1], before[1])
                    if own[0] > before[0] + 3 * noise and own[0] > 1.01 * before[0]:
                        rising.append(f"{name}, ε = {epsilon:g}: {before[0]:.4g} → {own[0]:.4g}")
                before = own
                others = {
                    m: a
                    for m in methods
                    if (a := average(found.get((name, epsilon, m), []), measure)) is not None
                }
                if others:
                    best = min(others, key=lambda m: others[m][0])
                    cells.append((name, epsilon, own, best, others[best]))
        show(measure, cells, rising, worst)


def show(measure: str, cells: list[Any], rising: list[str], worst: int) -> None:
    """Print the cells of one measure."""
    if not cells:
        return
    # A cell in which both are exact counts as even.
    ratios = [(own[0] + 1e-12) / (other[0] + 1e-12) for _, _, own, _, other in cells]
    behind = []
    for ratio, cell in zip(ratios, cells, strict=True):
        _, _, own, _, other = cell
        if own[0] - LAW * other[0] > 2 * math.hypot(own[1], LAW * other[1]):
            behind.append((ratio, cell))
    inside = sum(ratio <= LAW for ratio in ratios)
    print(
        f"\n{measure}: {len(cells)} cells, geometric mean of default over best sibling "
        f"{math.exp(np.mean(np.log(ratios))):.3f}, within 5 % in {inside / len(cells):.1%}; "
        f"law 1 is violated beyond noise in {len(behind)}, law 2 in {len(rising)}"
    )
    for ratio, (name, epsilon, own, best, other) in sorted(behind, reverse=True)[:worst]:
        print(
            f"  {name:28}ε = {epsilon:<5g}{own[0]:>10.4g} ±{own[1]:.1g}  {best} "
            f"{other[0]:.4g} ±{other[1]:.1g}  ×{ratio:.2f}"
        )
    for text in rising[:worst]:
        print(f"  rises: {text}")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--half", choices=HALVES, default="choose")
    parser.add_argument("--runs", type=int, help="runs in every cell (10, sequences 4)")
    parser.add_argument("--data", nargs="+", help="some of the data sets")
    parser.add_argument("--tag", default="now", help="the name of this state of the code")
    parser.add_argument("--own", action="store_true", help="run the default alone")
    parser.add_argument("--siblings", help="the tag whose runs of siblings are compared with")
    parser.add_argument("--worst", type=int, default=40, help="cells shown for each measure")
    given = parser.parse_args()
    kind = KINDS[given.kind]
    names = given.data or kind.names(given.half)
    found = fill(kind, names, given)
    if given.siblings:
        path = CACHE / f"{given.kind}-{given.siblings}.jsonl"
        for one in map(json.loads, path.read_text().splitlines()):
            if one["method"] != kind.default:
                found[one["data"], one["epsilon"], one["method"]].append(one["errors"])
    print(f"{given.kind}, {given.half} half, {len(names)} data sets, tag {given.tag}")
    judge(kind, names, found, worst=given.worst)


if __name__ == "__main__":
    main()
