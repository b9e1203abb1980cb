"""Run the peers of tabular synthesis one after another and write what they cost and how far off.

    nice -n 19 python benchmarks/peers/tabular_queue.py --cache CACHE --peers ENVIRONMENTS

It needs nothing but NumPy and runs the peers with the interpreters of their own environments,
made with Python 3.11 as

    python -m venv ENVIRONMENTS/datasynthesizer
    ENVIRONMENTS/datasynthesizer/bin/pip install DataSynthesizer==0.1.13 "pandas<2.3" "numpy<2"
    python -m venv ENVIRONMENTS/smartnoise
    ENVIRONMENTS/smartnoise/bin/pip install smartnoise-synth==1.0.8

(with pandas 3 DataSynthesizer stops at a deprecation warning that it makes an error of; with NumPy
2 it evaluates names it does not know). The tables are CACHE/data/NAME.csv with
CACHE/data/NAME.domain.json, as `python benchmarks/tabular.py
export --cache CACHE` writes them. One process runs at a time, on one thread. Every run adds a line
to CACHE/results.jsonl and keeps its synthetic codes in CACHE/out; runs that are there already are
not repeated unless they failed, so the queue can be stopped and started. CPU seconds are what is
compared; wall seconds mean little on a busy machine.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import time
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

HERE = Path(__file__).resolve().parent
MEMORY = 14 * 2**30
CPU_SECONDS = 4 * 3600
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "JAX_PLATFORMS": "cpu",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}
WAYS = {"NLTCS": (2, 3, 4), "ACS": (2, 3, 4), "Adult": (2, 3), "BR2000": (2, 3)}
DELTA = 1e-9


class Run(NamedTuple):
    """One run of a peer."""

    peer: str
    data: str
    epsilon: float
    seed: int
    degree: int = 0

    @property
    def name(self) -> str:
        """What its files are called."""
        degree = f"-degree{self.degree}" if self.degree else ""
        return f"{self.peer}{degree}-{self.data}-{self.epsilon}-{self.seed}"


def wanted() -> list[Run]:
    """Return the runs, the most telling first."""
    runs = []
    for seed in (1, 2):
        for data in ("NLTCS", "Adult"):
            runs += [Run("MST", data, epsilon, seed) for epsilon in (0.1, 0.4, 1.6)]
        runs += [Run("AIM", "Adult", 0.1, seed, 3), Run("AIM", "NLTCS", 0.1, seed, 3)]
        for data in ("NLTCS", "Adult"):
            runs += [Run("DataSynthesizer", data, e, seed, 2) for e in (0.1, 0.4, 1.6)]
        for epsilon in (0.4, 1.6):
            runs += [Run("AIM", "NLTCS", epsilon, seed, 3), Run("AIM", "Adult", epsilon, seed, 3)]
    runs += [Run("AIM", "Adult", epsilon, 1, 2) for epsilon in (0.1, 0.4, 1.6)]
    return [*runs, *(Run("DataSynthesizer", data, 0.1, 1) for data in ("NLTCS", "Adult"))]


def command(run: Run, cache: Path, peers: Path, out: Path) -> list[str]:
    """Return the command line of a run."""
    own = run.peer == "DataSynthesizer"
    environment = peers / ("datasynthesizer" if own else "smartnoise")
    script = HERE / f"tabular_{environment.name}.py"
    words = [str(environment / "bin" / "python"), str(script)]
    words += ["--data", str(cache / "data" / f"{run.data}.csv")]
    words += ["--domain", str(cache / "data" / f"{run.data}.domain.json")]
    words += ["--epsilon", str(run.epsilon), "--delta", "0" if own else str(DELTA)]
    words += ["--seed", str(run.seed), "--out", str(out)]
    if not own:
        words += ["--method", run.peer.lower(), "--packaged", str(packaged(out))]
    if run.degree:
        words += ["--degree", str(run.degree)]
    return words


def packaged(out: Path) -> Path:
    """Return where the rows are that the package's own sampler made."""
    return out.with_suffix(".packaged.csv")


def read(path: Path, names: list[str]) -> np.ndarray:
    """Return the codes of a file, columns in the order of the domain."""
    with path.open() as file:
        header = file.readline().strip().split(",")
        rows = np.loadtxt(file, delimiter=",", dtype=float).astype(np.int64)
    return rows[:, [header.index(name) for name in names]]


def errors(true: np.ndarray, made: np.ndarray, sizes: list[int], ways: int) -> float:
    """Return the mean total variation distance over all tables of `ways` columns."""
    found = []
    for columns in combinations(range(len(sizes)), ways):
        shape = [sizes[column] for column in columns]
        tables = []
        for rows in (true, made):
            index = np.ravel_multi_index([rows[:, column] for column in columns], shape)
            tables.append(np.bincount(index, minlength=int(np.prod(shape))) / len(rows))
        found.append(0.5 * np.abs(tables[0] - tables[1]).sum())
    return float(np.mean(found))


def scores(run: Run, cache: Path, out: Path) -> dict[str, float]:
    """Return the errors of a run's synthetic codes."""
    domain = json.loads((cache / "data" / f"{run.data}.domain.json").read_text())
    true = read(cache / "data" / f"{run.data}.csv", list(domain))
    made = read(out, list(domain))
    return {str(w): errors(true, made, list(domain.values()), w) for w in WAYS[run.data]}


def limit() -> None:
    """Keep a peer from taking the whole machine."""
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))


def measure(run: Run, cache: Path, peers: Path) -> dict[str, Any]:
    """Run a peer and return what is to be written down."""
    out = cache / "out" / f"{run.name}.csv"
    out.parent.mkdir(parents=True, exist_ok=True)
    line: dict[str, Any] = {**run._asdict(), "delta": DELTA, "out": str(out)}
    if run.peer == "DataSynthesizer":
        line["delta"] = 0.0
    started = resource.getrusage(resource.RUSAGE_CHILDREN)
    with (cache / "queue.log").open("a") as log:
        log.write(f"\n{time.ctime()} {run.name}\n")
        log.flush()
        done = subprocess.run(
            command(run, cache, peers, out),
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            preexec_fn=limit,
            env={**os.environ, **ONE_THREAD},
        )
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    # With the start of the interpreter and its imports, which "cpu" leaves out.
    line["cpu_all"] = ended.ru_utime + ended.ru_stime - started.ru_utime - started.ru_stime
    if done.returncode:
        return {**line, "failed": f"exit {done.returncode}; see queue.log"}
    line.update(json.loads(done.stdout.strip().splitlines()[-1]))
    if packaged(out).exists():
        line["errors_packaged"] = scores(run, cache, packaged(out))
    return {**line, "errors": scores(run, cache, out)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--peers", type=Path, required=True)
    parser.add_argument("--only", nargs="*", help="only runs whose names hold one of these words")
    given = parser.parse_args()
    results = given.cache / "results.jsonl"
    lines = results.read_text().splitlines() if results.exists() else []
    keys = list(Run._fields)
    done = [line for line in map(json.loads, lines) if "errors" in line]
    there = {Run(*(line[key] for key in keys)) for line in done}
    for run in wanted():
        if run in there or not any(word in run.name for word in given.only or [""]):
            continue
        line = measure(run, given.cache, given.peers)
        with results.open("a") as file:
            file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
