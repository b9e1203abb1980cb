"""Releases of sequences on msnbc: accuracy beside the reference, and speed.

    SFUMATO_DATA=… python benchmarks/sequence.py SECTION [--runs 6] [--epsilons 1.6] [--methods M]

Run by hand. The sections:

accuracy     precision of the top 50, 100 and 200 strings against those of the sequences as they
             are, and total variation of the lengths of sampled sequences, for the suffix tree and
             its baselines, beside the reference and what cutting alone costs
speed        seconds of CPU and peak memory of reading, releasing, searching and sampling

Every run is kept in a file of JSON lines under `.benchmarks`, so that a long comparison goes on
where it was stopped; `--fresh` starts again. The figures are computed from the private sequences
and are not private; msnbc is public.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import sequence_data as data
import sfumato as sf
from sfumato import noise
from sfumato.evaluate.sequences import (
    Frequent,
    Truncate,
    length_distance,
    precision,
    strings_of,
    top_strings,
)

#: Git leaves this folder alone.
CACHE = Path(__file__).resolve().parents[1] / ".benchmarks" / "sequence"


@dataclass(frozen=True)
class Recipe:
    """A method as it stands in a table of results.

    Parameters
    ----------
    label
        Its name in the table.
    method
        The public name of its class.
    options
        Its parameters besides epsilon.
    reference
        With which figures it is compared, if with any.
    per_top
        Whether it answers one k at a time and draws no sequences.
    """

    label: str
    method: str
    options: dict[str, Any] = field(default_factory=dict)
    reference: str | None = None
    per_top: bool = False

    def methods(self, epsilon: float) -> list[Any]:
        """Return the method, or for each k the method that answers it."""
        make = getattr(sf, self.method)
        if self.per_top:
            return [make(epsilon=epsilon, strings=k, **self.options) for k in data.TOPS]
        return [make(epsilon=epsilon, **self.options)]


CUT = {"longest": data.LONGEST}

#: As published: the printed noise, and negative counts set to 0.
PAPER = {**CUT, "variant": "paper", "repair": "clip"}

RECIPES = (
    Recipe("SuffixTree", "SuffixTree", reference="PrivTree"),
    Recipe("SuffixTree, 20", "SuffixTree", CUT, reference="PrivTree"),
    Recipe("SuffixTree, paper", "SuffixTree", PAPER, reference="PrivTree"),
    Recipe("NGram, 20", "NGram", CUT),
    Recipe("TopStrings, 20", "TopStrings", CUT, reference="EM", per_top=True),
)


class Runs:
    """The runs that are kept in a file, one JSON object a line.

    Parameters
    ----------
    path
        The file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        lines = path.read_text().splitlines() if path.exists() else []
        self._found = [json.loads(line) for line in lines]

    def of(self, label: str, epsilon: float) -> list[dict[str, Any]]:
        """Return the runs of one method at one epsilon."""
        return [r for r in self._found if r["label"] == label and r["epsilon"] == epsilon]

    def add(self, run: dict[str, Any]) -> None:
        """Keep one run more."""
        self._found.append(run)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a") as file:
            file.write(json.dumps(run) + "\n")


def one_run(recipe: Recipe, epsilon: float, truth: list[Frequent]) -> dict[str, Any]:
    """Release once and return what came of it."""
    sequences = data.msnbc()
    start = time.process_time()
    releases = [method.release(sequences) for method in recipe.methods(epsilon)]
    took = time.process_time() - start
    run: dict[str, Any] = {"label": recipe.label, "epsilon": epsilon, "seconds": took}
    if recipe.per_top:
        answers = [strings_of(r.top(k)) for r, k in zip(releases, data.TOPS, strict=True)]
    else:
        best = strings_of(releases[0].top(max(data.TOPS)))
        answers = [best[:k] for k in data.TOPS]
        sampled = releases[0].sample(sequences.counts.rows, generator=noise.generator())
        run["lengths"] = length_distance(sequences, sampled)
        run["nodes"] = releases[0].model.nodes
    run["precisions"] = [
        precision(truth[:k], answer) for k, answer in zip(data.TOPS, answers, strict=True)
    ]
    return run


def filled(
    recipe: Recipe, epsilon: float, runs: Runs, count: int, truth: list[Frequent]
) -> list[dict[str, Any]]:
    """Return so many runs, those that are missing made now."""
    while len(runs.of(recipe.label, epsilon)) < count:
        runs.add(one_run(recipe, epsilon, truth))
    return runs.of(recipe.label, epsilon)


def cells(recipe: Recipe, epsilon: float, found: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the figures of one line of the table."""
    means = np.mean([run["precisions"] for run in found], axis=0)
    deviation = np.std([run["precisions"] for run in found], axis=0, ddof=int(len(found) > 1))
    place = data.EPSILONS.index(epsilon) if epsilon in data.EPSILONS else None
    compared = recipe.reference is not None and place is not None
    for number, mean in enumerate(means):
        yield f"{mean:.3f} ±{deviation[number]:.3f}"
        yield f"×{mean / data.REFERENCE[recipe.reference][place][number]:.2f}" if compared else ""
    if "lengths" in found[0]:
        distance = np.mean([run["lengths"] for run in found])
        yield f"{distance:.4f}"
        lengths = data.REFERENCE_LENGTHS.get(recipe.reference or "")
        yield f"×{distance / lengths[place]:.2f}" if lengths and place is not None else ""
    else:
        yield from ("", "")
    nodes = [run["nodes"] for run in found if run.get("nodes")]
    yield f"{np.mean(nodes):,.0f}" if nodes else ""
    yield f"{np.mean([run['seconds'] for run in found]):.1f}"


def line(label: str, values: list[str]) -> None:
    """Print one line of a table."""
    widths = (14, 7) * len(data.TOPS) + (8, 7, 9, 7)
    print(f"  {label:<18}" + "".join(f"{v:>{w}}" for v, w in zip(values, widths, strict=True)))


def truncate_line(truth: list[Frequent]) -> list[float]:
    """Print what cutting alone costs, and return its precisions."""
    cut = Truncate(data.msnbc(), data.LONGEST)
    best = cut.top(max(data.TOPS))
    found = [precision(truth[:k], best[:k]) for k in data.TOPS]
    parts = [text for value in found for text in (f"{value:.3f}", "")]
    distance = length_distance(data.msnbc(), cut)
    line("Truncate, 20", [*parts, f"{distance:.4f}", "", "", ""])
    if not np.allclose([*found, distance], [*data.TRUNCATE[0], data.TRUNCATE[1]], atol=5e-5):
        print("    differs from the reference, which is exact: the sequences are others")
    return found


def accuracy(setting: argparse.Namespace) -> None:
    """Print precision and lengths of every method at every epsilon, beside the reference."""
    runs = Runs(setting.cache / "accuracy.jsonl")
    truth = top_strings(data.msnbc(), max(data.TOPS))
    chosen = [r for r in RECIPES if not setting.methods or r.method in setting.methods]
    print(f"precision of the top strings and total variation of lengths, {setting.runs} runs")
    print("× is the mean beside the reference: more is better for precision, less for lengths")
    heads = [text for k in data.TOPS for text in (f"top {k}", "ref")]
    for epsilon in setting.epsilons:
        print(f"\nε = {epsilon}")
        line("", [*heads, "lengths", "ref", "nodes", "CPU s"])
        truncate_line(truth)
        means = {}
        for recipe in chosen:
            found = filled(recipe, epsilon, runs, setting.runs, truth)
            line(recipe.label, list(cells(recipe, epsilon, found)))
            sys.stdout.flush()
            means[recipe.label] = np.mean([run["precisions"] for run in found], axis=0)
        verdict(means)


def verdict(means: dict[str, Any]) -> None:
    """Say whether the suffix tree is ahead of its baselines with the same length limit."""
    own = means.get("SuffixTree, 20")
    for label in ("NGram, 20", "TopStrings, 20"):
        if own is not None and label in means:
            ahead = ", ".join(f"{a - b:+.3f}" for a, b in zip(own, means[label], strict=True))
            word = "ahead of" if (own > means[label]).all() else "NOT everywhere ahead of"
            print(f"    SuffixTree, 20 is {word} {label}: {ahead}")


ONE_PROCESS = "one-process"


def speed(setting: argparse.Namespace) -> None:
    """Print seconds and memory, each method in a process of its own."""
    print("seconds of CPU, and seconds that passed; the first use also compiles if never done")
    for recipe in RECIPES:
        if not setting.methods or recipe.method in setting.methods:
            command = [sys.executable, __file__, ONE_PROCESS, "--methods", recipe.label]
            subprocess.run(command, check=True)


def one_process(setting: argparse.Namespace) -> None:
    """Time one method from reading to sampling."""
    recipe = next(r for r in RECIPES if r.label == setting.methods[0])

    def timed(action: Any) -> tuple[Any, str]:
        cpu, wall = time.process_time(), time.perf_counter()
        result = action()
        return result, f"{time.process_time() - cpu:7.2f} {time.perf_counter() - wall:7.2f}"

    sequences, reading = timed(data.msnbc)
    method = recipe.methods(1.6)[-1]
    release, fitting = timed(lambda: method.release(sequences))
    _, searching = timed(lambda: release.top(max(data.TOPS)))
    sampling = f"{'':15}"
    if not recipe.per_top:
        rows = sequences.counts.rows
        _, sampling = timed(lambda: release.sample(rows, generator=noise.generator(1)))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"  {recipe.label:<18} read {reading}   release {fitting}   top 200 {searching}   "
        f"sample {sampling}   peak {peak:,.0f} MiB",
        flush=True,
    )


SECTIONS = {"accuracy": accuracy, "speed": speed, ONE_PROCESS: one_process}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("section", choices=sorted(SECTIONS))
    parser.add_argument("--runs", type=int, default=6, help="runs of each method at each epsilon")
    parser.add_argument("--epsilons", type=float, nargs="+", default=list(data.EPSILONS))
    parser.add_argument("--methods", nargs="+", default=[], help="public names; all by default")
    parser.add_argument("--cache", type=Path, default=CACHE)
    parser.add_argument("--fresh", action="store_true", help="forget the runs that were kept")
    setting = parser.parse_args()
    if setting.fresh:
        (setting.cache / "accuracy.jsonl").unlink(missing_ok=True)
    SECTIONS[setting.section](setting)


if __name__ == "__main__":
    main()
