"""Histograms of points: accuracy of range counts, speed and scale.

    SFUMATO_DATA=… python benchmarks/spatial.py SECTION [--quick] [--data road GeoNames] [--runs 5]

Run by hand. The sections:

accuracy   mean relative error (to 0.1 % of all points where a true count is less) and mean absolute
           error of random boxes that cover 0.01–0.1 % (small), 0.1–1 % (medium) and 1–10 % (large)
           of the domain, for every method and data set, and each method's ratio to PrivTree
speed      1.6 million points: taking them in, releasing them and 10^5 boxes beside
           `numpy.histogram2d` at 1024 × 1024
scale      100 million points in a Parquet file, through DuckDB, in a fresh process

Every release of `accuracy` is a line of JSON in the folder that `--cache` names, so that a long run
can go on where it stopped and other runs can be added to it. Nothing else is written anywhere.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sfumato as sf
import spatial_data as data
from spatial_queries import BANDS, errors, random_boxes, true_counts

EPSILONS = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
OURS = "PrivTree"
METHODS = (
    OURS,
    "UniformGrid",
    "AdaptiveGrid",
    "HierarchicalGrid",
    "SimpleTree",
    "Privelet",
    "DAWA",
)
#: Git leaves this folder alone.
CACHE = Path(__file__).resolve().parents[1] / ".benchmarks" / "spatial"
#: The word by which this file calls itself in a fresh process.
ONE_FILE = "one-large-file"


@dataclass(frozen=True)
class Setting:
    """What is measured."""

    names: tuple[str, ...]
    methods: tuple[str, ...]
    epsilons: tuple[float, ...]
    runs: int
    queries: int
    relation: str
    cache: Path
    quick: bool


def line(label: str, cells: Iterable[str], width: int = 11) -> None:
    """Print one line of a table."""
    print(f"  {label:<32}" + "".join(f"{cell:>{width}}" for cell in cells), flush=True)


# Accuracy.

#: What one release is known by.
Key = tuple[str, str, float, int]


def known(setting: Setting) -> dict[Key, dict[str, Any]]:
    """Return the releases that the cache holds, for the same queries and relation."""
    path = setting.cache / "accuracy.jsonl"
    found = {}
    for text in path.read_text().splitlines() if path.exists() else []:
        one = json.loads(text)
        if (one["queries"], one["relation"]) == (setting.queries, setting.relation):
            found[one["data"], one["method"], one["epsilon"], one["run"]] = one
    return found


def note(setting: Setting, found: dict[Key, dict[str, Any]], one: dict[str, Any]) -> None:
    """Add a release to the cache."""
    setting.cache.mkdir(parents=True, exist_ok=True)
    with (setting.cache / "accuracy.jsonl").open("a") as file:
        file.write(json.dumps(one) + "\n")
    found[one["data"], one["method"], one["epsilon"], one["run"]] = one


@dataclass(frozen=True)
class Queries:
    """The boxes of the three query sets, and their true counts."""

    boxes: NDArray[np.float64]
    truth: NDArray[np.int64]

    @classmethod
    def of(cls, name: str, count: int) -> Queries:
        """Return the queries of a data set: the same ones in every run."""
        generator = np.random.default_rng(count)
        bounds = data.bounds(name)
        boxes = np.concatenate([random_boxes(bounds, band, count, generator) for band in BANDS])
        return cls(boxes, true_counts(data.values(name), boxes))


def fits(method: str, epsilon: float, public: Any) -> bool:
    """Return whether a method takes points of so many dimensions."""
    try:
        getattr(sf, method)(epsilon=epsilon).check(public)
    except ValueError:
        return False
    return True


def released(method: str, epsilon: float, points: sf.Points, queries: Queries) -> dict[str, Any]:
    """Release once and return the errors of every query set."""
    start = time.process_time()
    release = getattr(sf, method)(epsilon=epsilon).release(points)
    seconds = time.process_time() - start
    answers = release.count(queries.boxes)
    each = len(queries.boxes) // len(BANDS)
    found: dict[str, Any] = {"seconds": seconds}
    for number, band in enumerate(BANDS):
        part = slice(number * each, (number + 1) * each)
        found[band] = errors(answers[part], queries.truth[part], points.counts.rows)
    return found


def measure(setting: Setting, name: str, found: dict[Key, dict[str, Any]]) -> None:
    """Make every release of a data set that the cache does not hold."""
    missing = [
        (method, epsilon, run)
        for run in range(setting.runs)
        for epsilon in setting.epsilons
        for method in setting.methods
        if (name, method, epsilon, run) not in found
    ]
    if not missing:
        return
    points = data.load(name, setting.relation)
    usable = {
        method for method in setting.methods if fits(method, setting.epsilons[0], points.public)
    }
    queries = Queries.of(name, setting.queries)
    for method, epsilon, run in missing:
        if method in usable:
            facts = {"data": name, "method": method, "epsilon": epsilon, "run": run}
            more = {"queries": setting.queries, "relation": setting.relation}
            note(setting, found, {**facts, **more, **released(method, epsilon, points, queries)})


def averages(
    setting: Setting, found: dict[Key, dict[str, Any]], name: str, method: str, band: str
) -> NDArray[np.float64] | None:
    """Return the mean errors of a method at every epsilon: rows relative and absolute."""
    cells = []
    for epsilon in setting.epsilons:
        runs = [found.get((name, method, epsilon, run)) for run in range(setting.runs)]
        there = [one[band] for one in runs if one is not None]
        if not there:
            return None
        cells.append(np.mean(there, axis=0))
    return np.array(cells).T


def accuracy(setting: Setting) -> None:
    """Print the errors of every method, and their ratios to PrivTree's."""
    found = known(setting)
    ratios: dict[tuple[str, int], list[float]] = {}
    for name in setting.names:
        measure(setting, name, found)
        for band in BANDS:
            show(setting, found, name, band, ratios)
    summary(setting, ratios)


def show(
    setting: Setting,
    found: dict[Key, dict[str, Any]],
    name: str,
    band: str,
    ratios: dict[tuple[str, int], list[float]],
) -> None:
    """Print one table: methods down, epsilons across, relative and absolute errors."""
    own = averages(setting, found, name, OURS, band)
    head = f"{name}, {band} boxes, {setting.runs} runs, {setting.queries} queries"
    for number, word in enumerate(("relative", "absolute")):
        print(f"\n{head}: mean {word} error (ratio to {OURS})")
        line("epsilon", [f"{epsilon:g}" for epsilon in setting.epsilons], 17)
        for method in setting.methods:
            mean = averages(setting, found, name, method, band)
            if mean is None:
                line(method, ["—"] * len(setting.epsilons), 17)
                continue
            if own is None:
                line(method, [f"{m:.4g}" for m in mean[number]], 17)
                continue
            shares = mean[number] / own[number]
            cells = [f"{m:.4g} ({r:.2f})" for m, r in zip(mean[number], shares, strict=True)]
            line(method, cells, 17)
            if method != OURS:
                ratios.setdefault((method, number), []).extend(shares.tolist())


def summary(setting: Setting, ratios: dict[tuple[str, int], list[float]]) -> None:
    """Print in how many cells PrivTree is ahead of each method."""
    print(f"\nratio to {OURS} over all data sets, query sets and epsilons")
    words = ["cells", "ahead", "median", "least", "most"]
    for number, word in enumerate(("relative", "absolute")):
        line(f"{word} error", words)
        together: list[float] = []
        for method in setting.methods:
            found = ratios.get((method, number), [])
            together += found
            if found:
                line(method, stretch(found))
        if together:
            line("all", stretch(together))


def stretch(found: list[float]) -> list[str]:
    """Return how many ratios there are, how many are above one, and their range."""
    ahead = sum(ratio > 1 for ratio in found) / len(found)
    middle = [f"{x:.2f}" for x in (np.median(found), min(found), max(found))]
    return [str(len(found)), f"{ahead:.1%}", *middle]


# Speed.


def timed(action: Callable[[], Any], times: int = 3) -> tuple[Any, float, float]:
    """Return the result of an action and its least seconds of CPU and of the clock."""
    spent = []
    for _ in range(times):
        start, tick = time.process_time(), time.perf_counter()
        result = action()
        spent.append((time.process_time() - start, time.perf_counter() - tick))
    return result, min(cpu for cpu, _ in spent), min(clock for _, clock in spent)


def speed(setting: Setting) -> None:
    """Time every step on the road-like points, after a first release that compiles."""
    values, bounds = data.values("road"), data.bounds("road")
    small = sf.Points(values[:1000], bounds)
    generator = np.random.default_rng(1)
    boxes = np.concatenate([random_boxes(bounds, b, 33_334, generator) for b in BANDS])[:100_000]
    _, cpu, clock = timed(lambda: np.histogram2d(*values.T, bins=1024, range=bounds))
    print(f"\n{len(values):,} road-like points, best of 3: seconds of CPU (of the clock)")
    line("numpy.histogram2d 1024²", [f"{cpu:.3f} ({clock:.3f})"], 17)
    base = cpu
    points, cpu, clock = timed(lambda: sf.Points(values, bounds))
    line("taking points in", [f"{cpu:.3f} ({clock:.3f})"], 17)
    _, cpu, clock = timed(lambda: points.counts.histogram((1024, 1024)))
    line("counts.histogram 1024²", [f"{cpu:.3f} ({clock:.3f})"], 17)
    columns = [f"ε = {epsilon:g}" for epsilon in setting.epsilons]
    line("", [f"{word}{more}" for word in columns for more in ("", " boxes")], 17)
    for method in setting.methods:
        cells, shares = [], []
        for epsilon in setting.epsilons:
            recipe = getattr(sf, method)(epsilon=epsilon)
            recipe.release(small).count(boxes[:10])
            release, cpu, clock = timed(lambda recipe=recipe: recipe.release(points))
            cells.append(f"{cpu:.3f} ({clock:.3f})")
            shares.append(cpu / base)
            _, cpu, clock = timed(lambda release=release: release.count(boxes))
            cells.append(f"{cpu:.3f} ({clock:.3f})")
        line(f"{method} ≤ {max(shares):.1f} × numpy", cells, 17)
    print("  required: a release under 1 s and 5 × numpy; 100,000 boxes under 1 s")


# Scale.


def write_large(path: Path, points: int) -> None:
    """Write road-like points as a Parquet file, a few million at a time."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    writer = None
    for number, first in enumerate(range(0, points, 4_000_000)):
        part = data.road(min(4_000_000, points - first), seed=number)
        table = pa.table({"x": part[:, 0], "y": part[:, 1]})
        writer = writer or parquet.ParquetWriter(path, table.schema)
        writer.write_table(table, row_group_size=500_000)
    if writer is not None:
        writer.close()


def scale(setting: Setting) -> None:
    """Release from a large file in a fresh process, for an honest peak of memory."""
    points = 10**6 if setting.quick else 10**8
    print(f"\n{points:,} road-like points in a Parquet file, ε = 1, fresh process")
    line("engine, method", ["file MiB", "load s", "release s", "boxes s", "CPU s", "peak MiB"])
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "points.parquet"
        write_large(path, points)
        for method in setting.methods:
            words = [sys.executable, __file__, ONE_FILE, str(path), "duckdb", method]
            done = subprocess.run(words, capture_output=True, text=True, check=True)
            found = json.loads(done.stdout.splitlines()[-1])
            cells = [f"{path.stat().st_size / 2**20:.0f}"]
            cells += [f"{found[key]:.1f}" for key in ("load", "release", "boxes", "cpu")]
            line(f"duckdb, {method}", [*cells, f"{found['peak']:.0f}"])
            print(
                f"    {found['cells']:,} cells; peak while reading {found['read']:.0f} MiB; held "
                f"beside mapped files after reading {found['before']:.0f} MiB, after the release "
                f"{found['after']:.0f} MiB"
            )


def one_large_file(path: str, engine: str, method: str) -> None:
    """Release from one file and print times and the peak of memory."""
    marks = [time.perf_counter()]
    points = sf.read_points(path, columns=["x", "y"], bounds=data.UNIT, engine=engine)
    marks.append(time.perf_counter())
    more = {"read": peak(), "before": anonymous()}
    release = getattr(sf, method)(epsilon=1.0).release(points)
    marks.append(time.perf_counter())
    more |= {"after": anonymous(), "cells": len(release.cells.counts)}
    release.count(random_boxes(data.UNIT, "medium", 100_000, np.random.default_rng(1)))
    marks.append(time.perf_counter())
    parts = dict(zip(("load", "release", "boxes"), np.diff(marks).tolist(), strict=True))
    more |= {"cpu": time.process_time(), "peak": peak()}
    print(json.dumps({**parts, **more}))


def peak() -> float:
    """Return the most memory this process has held, in MiB, mapped files included."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def anonymous() -> float:
    """Return the memory this process holds now that no file stands behind, in MiB."""
    text = Path("/proc/self/status").read_text()
    words = next(one for one in text.splitlines() if one.startswith("RssAnon"))
    return int(words.split()[1]) / 1024


SECTIONS = {"accuracy": accuracy, "speed": speed, "scale": scale}


def asked() -> tuple[Callable[[Setting], None], Setting]:
    """Return the section and the setting of the command line."""
    there = [method for method in METHODS if method in sf.__all__]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("section", choices=SECTIONS)
    parser.add_argument("--quick", action="store_true", help="2 runs, 2 epsilons, 200 queries")
    parser.add_argument("--runs", type=int, help="releases in every cell (10)")
    parser.add_argument("--queries", type=int, help="boxes in every query set (1000)")
    parser.add_argument("--data", nargs="*", choices=data.DATASETS, default=list(data.DATASETS))
    parser.add_argument("--epsilon", nargs="*", type=float, help="the six of the paper")
    parser.add_argument("--methods", nargs="*", choices=there, default=there)
    parser.add_argument("--relation", default="add_remove")
    parser.add_argument("--cache", type=Path, default=CACHE, help="where releases are noted")
    given = parser.parse_args()
    few = {"speed": (0.2, 1.6)}.get(given.section, (0.1, 0.8) if given.quick else EPSILONS)
    setting = Setting(
        names=tuple(given.data),
        methods=tuple(given.methods),
        epsilons=tuple(given.epsilon or few),
        runs=given.runs or (2 if given.quick else 10),
        queries=given.queries or (200 if given.quick else 1000),
        relation=given.relation,
        cache=given.cache,
        quick=given.quick,
    )
    return SECTIONS[given.section], setting


def main() -> None:
    if sys.argv[1:2] == [ONE_FILE]:
        one_large_file(*sys.argv[2:])
        return
    section, setting = asked()
    if data.folder() is None:
        sys.exit(
            "SFUMATO_DATA does not name a folder with spatial/*: nothing to measure on; set it to "
            "the folder of the data sets"
        )
    section(setting)


if __name__ == "__main__":
    main()
