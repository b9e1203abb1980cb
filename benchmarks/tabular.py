"""Tabular synthesis on the tables of the papers: accuracy, diagnostics, speed, scale and peers.

    SFUMATO_DATA=… python benchmarks/tabular.py SECTION [--quick] [--data NLTCS Adult] [--runs 10]

Run by hand. The sections:

accuracy     the default synthesiser, PrivBayes and the product of noisy histograms beside the
             published PrivBayes, in both relations: mean total variation of all α-way marginals
published    the published algorithm with every score and encoding, and the baselines, beside
             reference measurements
diagnostics  what a network knows (Σ I), the usefulness threshold θ, error by overlap with the
             network, and support vector machines trained on synthetic rows
speed        load + model + answers at ε = 0.1 beside the seconds of the paper
scale        a million rows in memory; ten million in a Parquet file, counted by DuckDB
wide         200 columns, and a column of 10,000 values; see benchmarks/tabular_wide.py
peers        MST, AIM and DataSynthesizer at the same ε, from the cache of their runs
export       write the tables for the peers into the cache
zoo          every method on the tables of benchmarks/tabular_zoo.py; see
             benchmarks/tabular_zoo_runs.py for its own options
judges       synthetic rows before SDMetrics, SynthEval and Anonymeter, beside baselines; see
             benchmarks/tabular_judges.py for its own options

Peers run in environments of their own, hours long: see benchmarks/peers/tabular_queue.py, which
fills the cache that `--cache` names. Nothing of the data is written anywhere else.
"""

from __future__ import annotations

import argparse
import functools
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

import sfumato as sf
import tabular_classify as classify
import tabular_data as data
import tabular_judges as judges
import tabular_reference as reference
import tabular_wide as wide
import tabular_zoo_runs as zoo_runs
from sfumato import noise
from tabular_measures import Truth, counted, drawn, sets_of
from tabular_zoo import ZooError

BOTH = ("replace_one", "add_remove")
DELTA = 1e-9
#: The word by which this file calls itself in a fresh process.
ONE_FILE = "one-large-file"
#: Git leaves this folder alone.
CACHE = Path(__file__).resolve().parents[1] / ".benchmarks" / "tabular"
PUBLISHED = {"variant": "published", "accept_unproven": True}


@dataclass(frozen=True)
class Recipe:
    """A method as it stands in a table of results.

    Parameters
    ----------
    label
        Its name in the table, and in the reference.
    method
        The public name of its class.
    options
        Its parameters besides epsilon.
    relation
        What neighbours are.
    counts
        Whether it is asked for counts instead of rows.
    per_ways
        Whether marginals of one number of columns are released at a time.
    most_degree
        The largest degree of a published network, which its authors capped for its run time.
    """

    label: str
    method: str
    options: dict[str, Any] = field(default_factory=dict)
    relation: str = "add_remove"
    counts: bool = False
    per_ways: bool = False
    most_degree: int | None = None

    @property
    def there(self) -> bool:
        """Whether the method is part of the package."""
        return self.method in sf.__all__

    def __call__(self, epsilon: float, ways: int) -> Any:
        """Return the method."""
        more: dict[str, Any] = {"ways": ways} if self.per_ways else {}
        if self.most_degree is not None:
            rows, columns = {6: (21574, 16), 4: (47461, 23)}[self.most_degree]
            if useful_degree(rows, columns, epsilon) > self.most_degree:
                more["degree"] = self.most_degree
        return getattr(sf, self.method)(epsilon=epsilon, **self.options, **more)


def useful_degree(rows: int, columns: int, epsilon: float, theta: float = 3) -> int:
    """Return the degree that the published rule chooses for binary columns."""
    useful = [
        degree
        for degree in range(1, columns)
        if rows * epsilon >= theta * (columns - degree) * 2 ** (degree + 3)
    ]
    return max(useful, default=0)


def published_recipes(name: str) -> list[Recipe]:
    """Return the published variants of PrivBayes for a table."""
    binary = data.DATASETS[name].binary
    make = functools.partial(Recipe, method="PrivBayes", relation="replace_one")
    if binary:
        return [
            make(
                f"PrivBayes-{score}",
                options={**PUBLISHED, "score": score, "encoding": "binary"},
                most_degree=6 if name == "NLTCS" else 4,
            )
            for score in "FRI"
        ]
    return [
        make("Hierarchical-R", options={**PUBLISHED, "score": "R", "encoding": "hierarchical"}),
        make("Vanilla-R", options={**PUBLISHED, "score": "R", "encoding": "vanilla"}),
        make("Vanilla-I", options={**PUBLISHED, "score": "I", "encoding": "vanilla"}),
        make("Binary-F", options={**PUBLISHED, "score": "F", "encoding": "binary"}),
        make("Gray-F", options={**PUBLISHED, "score": "F", "encoding": "gray"}),
    ]


def baseline_recipes(name: str) -> list[Recipe]:
    """Return the baselines of the paper, and the one it left out, as published."""
    make = functools.partial(Recipe, relation="replace_one")
    found = [
        make("Laplace", "Marginals", {"repair": "clip"}, counts=True, per_ways=True),
        make("Independent", "Independent", {"split": "equal", "repair": "clip"}),
    ]
    if data.DATASETS[name].binary:
        found += [
            make("Fourier", "Fourier", {"repair": "clip"}, counts=True, per_ways=True),
            make("Contingency, clip table", "Contingency", {"repair": "table"}),
        ]
    if name == "NLTCS":
        found.append(
            make("Contingency, clip marginal", "Contingency", {"repair": "marginal"}, counts=True)
        )
    return found


def accuracy_recipes(name: str) -> list[Recipe]:
    """Return what the default is held against: its parts and the published PrivBayes."""
    return [
        *(
            Recipe(f"{method}, {relation}", method, relation=relation)
            for relation in BOTH
            for method in ("Synthesizer", "PrivBayes", "Independent")
        ),
        published_recipes(name)[0],
    ]


@dataclass(frozen=True)
class Setting:
    """What was asked for on the command line."""

    names: tuple[str, ...]
    runs: int
    epsilons: tuple[float, ...]
    methods: tuple[str, ...]
    cache: Path
    log: Path | None
    quick: bool

    def chosen(self, recipes: Iterable[Recipe]) -> list[Recipe]:
        """Return the recipes that are asked for and there; say which are not."""
        found = []
        for recipe in recipes:
            if self.methods and not any(part in recipe.label for part in self.methods):
                continue
            if recipe.there:
                found.append(recipe)
            else:
                print(f"  {recipe.label}: sf.{recipe.method} is not there yet, skipped")
        return found

    def note(self, **facts: Any) -> None:
        """Write one run to the log, if there is one."""
        if self.log is not None:
            with self.log.open("a") as file:
                file.write(json.dumps(facts) + "\n")


@functools.cache
def truth(name: str, relation: str) -> Truth:
    """Return a table with its true marginals."""
    return Truth(data.load(name, relation))


def distances(recipe: Recipe, name: str, epsilon: float, ways: int) -> NDArray[np.float64]:
    """Release once and return the distance of every marginal."""
    true = truth(name, recipe.relation)
    release = recipe(epsilon, ways).release(true.table)
    if recipe.counts:
        return true.of_counts(release, ways)
    return true.of_codes(drawn(release, true.rows), ways)


def errors(recipe: Recipe, name: str, epsilon: float) -> tuple[float, ...]:
    """Return the mean distance for either number of ways, from one release where it serves both."""
    ways = data.DATASETS[name].ways
    if recipe.counts:
        return tuple(float(distances(recipe, name, epsilon, w).mean()) for w in ways)
    true = truth(name, recipe.relation)
    codes = drawn(recipe(epsilon, ways[0]).release(true.table), true.rows)
    return tuple(float(true.of_codes(codes, w).mean()) for w in ways)


Curve = dict[float, NDArray[np.float64]]


def measured(setting: Setting, recipe: Recipe, name: str) -> Curve:
    """Return for each epsilon the errors of all runs, shape (runs, 2)."""
    curve = {}
    for epsilon in setting.epsilons:
        rows = []
        for run in range(setting.runs):
            start = time.process_time()
            rows.append(errors(recipe, name, epsilon))
            setting.note(
                data=name, method=recipe.label, relation=recipe.relation, epsilon=epsilon,
                run=run, errors=rows[-1], cpu=time.process_time() - start,
            )  # fmt: skip
        curve[epsilon] = np.array(rows)
    return curve


def cell(values: Iterable[float]) -> str:
    """Return two errors as `.152/.199`."""
    return "/".join(f"{value:.3f}".lstrip("0") or "0" for value in values)


def line(label: str, cells: Iterable[str], width: int = 12) -> None:
    """Print one line of a table."""
    print(f"  {label:42}" + "".join(f"{text:>{width}}" for text in cells), flush=True)


def head(setting: Setting, name: str) -> None:
    """Print the head of a table of errors."""
    ways = data.DATASETS[name].ways
    print(f"\n{name}: Q{ways[0]}/Q{ways[1]}, mean total variation, {setting.runs} runs")
    line("epsilon", map(str, setting.epsilons))


def show(label: str, curve: Curve) -> None:
    """Print means, and the deviation over runs where there are several."""
    line(label, [cell(rows.mean(axis=0)) for rows in curve.values()])
    if len(next(iter(curve.values()))) > 1:
        line("  ± over runs", [cell(rows.std(axis=0, ddof=1)) for rows in curve.values()])


def known(setting: Setting, name: str, label: str) -> Curve | None:
    """Return the reference curve of a method, if there is one."""
    row = reference.ERRORS[name].get(label)
    if row is None:
        return None
    curve = dict(zip(reference.EPSILONS, row, strict=True))
    return {e: np.array([curve[e]]) for e in setting.epsilons if e in curve}


def ratios(label: str, other: Curve, own: Curve) -> None:
    """Print how many times larger the other's errors are."""
    line(label, [cell(other[e].mean(axis=0) / own[e].mean(axis=0)) for e in own if e in other])


def accuracy(setting: Setting) -> None:
    """Compare the default with its parts and with the published algorithm."""
    for name in setting.names:
        head(setting, name)
        curves: dict[str, Curve] = {}
        for recipe in setting.chosen(accuracy_recipes(name)):
            curves[recipe.label] = measured(setting, recipe, name)
            show(recipe.label, curves[recipe.label])
        label = published_recipes(name)[0].label
        table = known(setting, name, label)
        if table is not None:
            show(f"reference {label}", table)
        published = curves.get(label, table)
        for relation in BOTH:
            own = curves.get(f"Synthesizer, {relation}")
            if own is None:
                continue
            if published is not None and relation == "replace_one":
                ratios(f"{label} ÷ Synthesizer, {relation}", published, own)
            parts = [c for k, c in curves.items() if k.endswith(relation) and c is not own]
            if parts:
                best = {e: min((c[e] for c in parts), key=np.mean) for e in own}
                ratios(f"best part ÷ Synthesizer, {relation}", best, own)


def published(setting: Setting) -> None:
    """Compare the published algorithm and the baselines with reference measurements."""
    for name in setting.names:
        head(setting, name)
        uniform = [truth(name, "replace_one").uniform(w) for w in data.DATASETS[name].ways]
        print(f"  uniform {cell(uniform)} (reference {cell(reference.UNIFORM[name])})")
        for recipe in setting.chosen([*published_recipes(name), *baseline_recipes(name)]):
            curve = measured(setting, recipe, name)
            show(recipe.label, curve)
            table = known(setting, name, recipe.label)
            if table is not None:
                show("  reference", table)
                ratios("  ours ÷ reference", curve, table)


def diagnostics(setting: Setting) -> None:
    """Show what networks know, the threshold, the overlap and the classifiers."""
    for name in setting.names:
        informations(setting, name)
        overlaps(setting, name)
        classifications(setting, name)
    if "NLTCS" in setting.names:
        thresholds(setting)


def informations(setting: Setting, name: str) -> None:
    """Print Σ I of the published networks, beside the reference."""
    print(f"\n{name}: Σ I(child; parents) in the data, bits, {setting.runs} runs")
    line("epsilon", map(str, setting.epsilons))
    for recipe in setting.chosen(published_recipes(name)):
        if not data.DATASETS[name].binary and recipe.label.endswith("F"):
            continue  # its children are bits, not columns
        true = truth(name, recipe.relation)
        sums = [
            np.mean(
                [
                    true.information(recipe(epsilon, 2).release(true.table))
                    for _ in range(setting.runs)
                ]
            )
            for epsilon in setting.epsilons
        ]
        line(recipe.label, [f"{value:.2f}" for value in sums])
        table = reference.INFORMATION.get(name, {}).get(recipe.label)
        if table is not None:
            by = dict(zip(reference.EPSILONS, table, strict=True))
            line("  reference", [f"{by[e]:.2f}" for e in setting.epsilons if e in by])


def overlaps(setting: Setting, name: str) -> None:
    """Print the error of marginals by how many of their columns some table of the model holds."""
    ways = data.DATASETS[name].ways[-1]
    print(f"\n{name}: Q{ways} error by overlap with the network (number of marginals)")
    recipes = [*published_recipes(name)[:1], Recipe("Synthesizer", "Synthesizer")]
    for recipe in setting.chosen(recipes):
        true = truth(name, recipe.relation)
        for epsilon in setting.epsilons:
            release = recipe(epsilon, ways).release(true.table)
            found = true.of_codes(drawn(release, true.rows), ways)
            groups = true.by_overlap(found, release, ways)
            words = ", ".join(f"{k}: {error:.3f} ({n})" for k, (n, error) in groups.items())
            line(f"{recipe.label}, ε = {epsilon}", [words])


def thresholds(setting: Setting) -> None:
    """Print the error on NLTCS for a range of usefulness thresholds."""
    print(f"\nNLTCS: Q3/Q4 by θ, PrivBayes-R, half for the network, clipped, {setting.runs} runs")
    line("epsilon", map(str, setting.epsilons))
    # The published variant pins θ to 3; this is the same algorithm with tight sensitivities.
    same = {"score": "R", "encoding": "binary", "network_share": 0.5, "repair": "clip"}
    for theta in (0.5, 1, 2, 3, 4, 6, 8, 12):
        recipe = Recipe(f"θ = {theta}", "PrivBayes", {**same, "theta": theta}, "replace_one")
        for chosen in setting.chosen([recipe]):
            curve = measured(setting, chosen, "NLTCS")
            line(chosen.label, [cell(rows.mean(axis=0)) for rows in curve.values()])


def classifications(setting: Setting, name: str) -> None:
    """Print misclassification on real rows: trained on synthetic rows, and released directly."""
    if name not in classify.TASKS:
        print(f"\n{name}: no classification, since the names of its columns were not published")
        return
    split = classify.Split.of(name)
    epsilons = [epsilon for epsilon in (0.1, 0.4, 1.6) if epsilon in setting.epsilons]
    print(f"\n{name}: misclassification of {split.test.counts.rows:,} rows, {setting.runs} runs")
    line("task", ["majority", "real rows", *(f"ε = {epsilon}" for epsilon in epsilons)])
    general = published_recipes(name)[1 if data.DATASETS[name].binary else 0]
    default = Recipe("Synthesizer", "Synthesizer", relation="replace_one")
    made = {
        recipe.label: [
            [recipe(epsilon, 2).release(split.train) for _ in range(setting.runs)]
            for epsilon in epsilons
        ]
        for recipe in setting.chosen([general, default])
    }
    direct = [rule for rule in classify.DIRECT if rule.method in sf.__all__]
    for task in classify.TASKS[name]:
        first, second, *rest = reference.CLASSIFICATION[name, task.column]
        by_epsilon = dict(zip((0.1, 0.4, 1.6), rest, strict=True))
        known_row = [first, second, *(by_epsilon[epsilon] for epsilon in epsilons)]
        line(f"{task.column}: reference PrivBayes-R", [f"{n:.3f}" for n in known_row])
        for label, by in made.items():
            found = [[split.learnt(release, task) for release in runs] for runs in by]
            fixed = (found[0][0].majority_error, found[0][0].private_error)
            means = [np.mean([one.error for one in runs]) for runs in found]
            line(f"  {label}", [f"{n:.3f}" for n in (*fixed, *means)])
        for rule in direct:
            means = [
                np.mean([split.released(rule(epsilon, task)) for _ in range(setting.runs)])
                for epsilon in epsilons
            ]
            line(f"  {rule.label}", ["", "", *(f"{n:.3f}" for n in means)])


def speed(setting: Setting) -> None:
    """Time load, model and answers beside the published seconds."""
    print("\nCPU seconds at ε = 0.1: load + model + all α-way answers; published ÷ ours; wall")
    line("table, α", ["published", "load", "model", "answers", "sum", "ratio", "wall"], 10)
    own = [
        Recipe(f"{method}, {relation}", method, {}, relation)
        for method in ("PrivBayes", "Synthesizer")
        for relation in BOTH
    ]
    with tempfile.TemporaryDirectory() as place:
        for name in setting.names:
            path = Path(place) / f"{name}.csv"
            data.frame(name).write_csv(path)
            for chosen in setting.chosen([*own, *published_recipes(name)[:1]]):
                timed(chosen, name, path)
    heavy_scores(setting)


def timed(recipe: Recipe, name: str, path: Path) -> None:
    """Print the CPU times of one method on one table, and its wall time; compiled code is warm."""
    recipe(0.1, 2).release(data.load(name, recipe.relation))
    for ways, limit in zip((2, 3, 4), reference.SECONDS[name], strict=True):
        wall, marks = time.perf_counter(), [time.process_time()]
        table = sf.read_table(path, data.schema(name, recipe.relation))
        marks.append(time.process_time())
        release = recipe(0.1, ways).release(table)
        marks.append(time.process_time())
        codes = drawn(release, table.counts.rows)
        counted(codes, table.public.sizes).marginals(sets_of(len(table.public.sizes), ways))
        marks.append(time.process_time())
        parts = np.diff(marks)
        total = float(parts.sum())
        cells = [f"{limit:.1f}", *(f"{part:.2f}" for part in parts), f"{total:.2f}"]
        cells += [f"{limit / total:.0f}×", f"{time.perf_counter() - wall:.2f}"]
        line(f"{name} Q{ways}, {recipe.label}", cells, 10)


def heavy_scores(setting: Setting) -> None:
    """Time the score F with high degrees, which took the authors hours and forty minutes."""
    for name, degree in (("NLTCS", 6), ("ACS", 4)):
        base = published_recipes(name)[0]
        # A loss that makes the degree useful; the number of scores depends on the degree alone.
        options = {**base.options, "degree": degree}
        recipe = Recipe(f"F, degree {degree}", base.method, options, base.relation)
        if name not in setting.names:
            continue
        for chosen in setting.chosen([recipe]):
            start = time.process_time()
            release = chosen(1.6, 2).release(data.load(name, chosen.relation))
            most = max(len(part.columns) for part in release.network.parts) - 1
            took = time.process_time() - start
            line(f"{name}, F, degree {most}", [f"{took:.1f} s", "required: 60 s"], 16)


def resampled(rows: int, path: Path) -> None:
    """Write rows of Adult, drawn with replacement, as a Parquet file, a million at a time."""
    import pyarrow.parquet as parquet

    generator = noise.generator(rows)
    frame = data.frame("Adult")
    writer = None
    for first in range(0, rows, 10**6):
        part = frame[generator.integers(0, len(frame), min(10**6, rows - first))].to_arrow()
        writer = writer or parquet.ParquetWriter(path, part.schema)
        writer.write_table(part)
    if writer is not None:
        writer.close()


def scale(setting: Setting) -> None:
    """Release from large files in fresh processes, for honest peaks of memory."""
    large = [(10**5, "duckdb")] if setting.quick else [(10**7, "duckdb")]
    methods = setting.chosen([Recipe(name, name) for name in ("Synthesizer", "PrivBayes")])
    print("\nrows of Adult drawn with replacement, 15 columns, ε = 1, fresh process")
    line("rows, engine", ["file MiB", "load s", "release s", "sample s", "CPU s", "peak MiB"])
    with tempfile.TemporaryDirectory() as place:
        for rows, engine in [(10**6, "memory"), *large]:
            path = Path(place) / f"{rows}.parquet"
            resampled(rows, path)
            for recipe in methods:
                words = [sys.executable, __file__, ONE_FILE, str(path), engine, recipe.method]
                done = subprocess.run(words, capture_output=True, text=True, check=True)
                found = json.loads(done.stdout.splitlines()[-1])
                cells = [f"{path.stat().st_size / 2**20:.0f}"]
                cells += [f"{found[key]:.1f}" for key in ("load", "release", "sample", "cpu")]
                line(f"{rows:,}, {engine}, {recipe.label}", [*cells, f"{found['peak']:.0f}"])
    print("  required: a million rows in 60 s and 2048 MiB; ten million without loading them")


def one_large_file(path: str, engine: str, method: str) -> None:
    """Release from one file and print times and the peak of memory."""
    marks = [time.perf_counter()]
    table = sf.read_table(path, data.schema("Adult"), engine=engine)
    marks.append(time.perf_counter())
    release = getattr(sf, method)(epsilon=1.0).release(table)
    marks.append(time.perf_counter())
    release.sample(100_000)
    marks.append(time.perf_counter())
    parts = dict(zip(("load", "release", "sample"), np.diff(marks).tolist(), strict=True))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({**parts, "cpu": time.process_time(), "peak": peak}))


def own_run(name: str, epsilon: float, delta: float | None) -> tuple[tuple[float, ...], float]:
    """Return the errors of one run of ours, and its CPU seconds for release and rows."""
    true = truth(name, "add_remove")
    more: dict[str, Any] = {} if delta is None else {"delta": delta}
    start = time.process_time()
    release = sf.Synthesizer(epsilon=epsilon, **more).release(true.table)
    codes = drawn(release, true.rows)
    took = time.process_time() - start
    return tuple(float(true.of_codes(codes, w).mean()) for w in peer_ways(name)), took


def peer_ways(name: str) -> tuple[int, ...]:
    """Return the numbers of ways in which peers are compared."""
    return {"NLTCS": (3, 4)}.get(name, (2, 3))


def peer_runs(cache: Path) -> dict[tuple[str, float, str], list[dict[str, Any]]]:
    """Return the runs of the cache by table, epsilon and peer."""
    path = cache / "results.jsonl"
    found: dict[tuple[str, float, str], list[dict[str, Any]]] = {}
    for text in path.read_text().splitlines() if path.exists() else []:
        run = json.loads(text)
        degree = f", degree {run['degree']}" if run["degree"] else ""
        key = (run["data"], run["epsilon"], f"{run['peer']}{degree}")
        found.setdefault(key, []).append(run)
    return found


def peers(setting: Setting) -> None:
    """Compare with the peers of the cache, at the same epsilon, and say what every ratio is.

    Ratios are against rows drawn independently from the peer's model; "as packaged" are the rows
    of its own sampler, which has a fault (benchmarks/peers/tabular_smartnoise.py).
    """
    runs = peer_runs(setting.cache)
    if not runs:
        print(f"no peers' runs in {setting.cache}; see benchmarks/peers/tabular_queue.py")
        return
    if "Synthesizer" not in sf.__all__:
        print("  sf.Synthesizer is not there yet: peers alone")
    for name, epsilon in sorted({key[:2] for key in runs}):
        if name not in setting.names:
            continue
        ways = peer_ways(name)
        print(f"\n{name}, ε = {epsilon}: Q{ways[0]}/Q{ways[1]} and CPU seconds")
        line(
            "",
            [
                "error",
                "as packaged",
                "CPU s",
                *("÷ pure", "CPU ÷ pure", "÷ zCDP", "CPU ÷ zCDP"),
                "runs",
            ],
        )
        own = peers_own(setting, name, epsilon)
        for key in sorted(runs):
            if key[:2] == (name, epsilon):
                peer_line(key[2], runs[key], ways, own)


Own = dict[str, tuple[NDArray[np.float64], float]]


def peers_own(setting: Setting, name: str, epsilon: float) -> Own:
    """Measure and print our own runs, pure and with the peers' delta."""
    if "Synthesizer" not in sf.__all__:
        return {}
    own: Own = {}
    for label, delta in (("pure", None), ("zCDP", DELTA)):
        own_run(name, epsilon, delta)  # compiled code is warm
        found = [own_run(name, epsilon, delta) for _ in range(setting.runs)]
        for run, (error, took) in enumerate(found):
            setting.note(
                data=name, method=f"Synthesizer {label}", epsilon=epsilon, run=run,
                errors=error, cpu=took,
            )  # fmt: skip
        own[label] = (
            np.mean([f[0] for f in found], axis=0),
            float(np.mean([f[1] for f in found])),
        )
        words = [cell(own[label][0]), "", f"{own[label][1]:.2f}", *[""] * 4, str(len(found))]
        line(f"Synthesizer, {label}", words)
    return own


def peer_line(label: str, found: list[dict[str, Any]], ways: tuple[int, ...], own: Own) -> None:
    """Print one peer: its errors and seconds, and how many times ours they are."""
    done = [run for run in found if "errors" in run]
    if not done:
        line(label, [found[0]["failed"]])
        return
    error = np.mean([[run["errors"][str(w)] for w in ways] for run in done], axis=0)
    rows = [run.get("errors_packaged", run["errors"]) for run in done]
    packaged = np.mean([[row[str(w)] for w in ways] for row in rows], axis=0)
    took = float(np.mean([run["cpu"] for run in done]))
    words = [cell(error), cell(packaged), f"{took:.1f}"]
    for mine in ("pure", "zCDP"):
        if mine in own:
            ratio = error / own[mine][0]
            words += ["/".join(f"{r:.2f}" for r in ratio), f"{took / own[mine][1]:.0f}×"]
        else:
            words += ["", ""]
    line(label, [*words, str(len(done))])


def export(setting: Setting) -> None:
    """Write the tables for the peers."""
    for name in setting.names:
        for path in data.write_for_peers(name, data.load(name), setting.cache / "data"):
            print(path)


SECTIONS: dict[str, Callable[[Setting], None]] = {
    "accuracy": accuracy,
    "published": published,
    "diagnostics": diagnostics,
    "speed": speed,
    "scale": scale,
    "peers": peers,
    "export": export,
}


#: Sections with options of their own.
OWN_OPTIONS = {"zoo": zoo_runs.main, "judges": judges.main, "wide": wide.main}


def asked() -> tuple[Callable[[Setting], None], Setting]:
    """Return the section and the setting of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("section", choices=SECTIONS)
    parser.add_argument("--quick", action="store_true", help="2 runs, 3 epsilons, smaller files")
    parser.add_argument("--runs", type=int, help="releases in every cell (10)")
    parser.add_argument("--data", nargs="*", choices=data.DATASETS, default=list(data.DATASETS))
    parser.add_argument("--epsilon", nargs="*", type=float, help="the six of the paper")
    parser.add_argument("--methods", nargs="*", default=[], help="only labels with these words")
    parser.add_argument("--cache", type=Path, default=CACHE, help="the peers' folder")
    parser.add_argument("--log", type=Path, help="write every run as a line of JSON")
    given = parser.parse_args()
    few = (0.1, 0.4, 1.6)
    epsilons = given.epsilon or (few if given.quick else reference.EPSILONS)
    setting = Setting(
        names=tuple(given.data),
        runs=given.runs or (2 if given.quick else 10),
        epsilons=tuple(epsilons),
        methods=tuple(given.methods),
        cache=given.cache,
        log=given.log,
        quick=given.quick,
    )
    return SECTIONS[given.section], setting


def main() -> None:
    if sys.argv[1:2] == [ONE_FILE]:
        one_large_file(*sys.argv[2:])
        return
    if (own := OWN_OPTIONS.get(sys.argv[1] if sys.argv[1:] else "")) is not None:
        try:
            own(sys.argv[2:])
        except ZooError as failure:
            sys.exit(str(failure))
        return
    section, setting = asked()
    if data.folder() is None:
        sys.exit(
            "SFUMATO_DATA does not name a folder with tabular/*.csv.xz: nothing to measure on; "
            "set it to the folder of the data sets"
        )
    pl.Config.set_tbl_rows(20)
    section(setting)


if __name__ == "__main__":
    main()
