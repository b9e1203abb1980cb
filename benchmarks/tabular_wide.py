"""Wide tables and large columns: CPU seconds and memory of each piece of a release.

    SFUMATO_DATA=… SFUMATO_ZOO=… python benchmarks/tabular.py wide [TABLE …] [--epsilon 1]

The tables:

made     200 columns × 50,000 rows: 100 of two values, 60 of 3 to 12 values, 30 numbers in 16 to 32
         declared bins, 10 numbers by bounds and steps alone. Six factors that nobody sees make the
         columns depend on each other.
joined   200 columns × 50,000 rows of real tables of the choosing half side by side, which are
         independent of each other: protein, and others whose rows are repeated.
large    a column of 10,000 values and eight others × 100,000 rows.

Each command runs in a fresh process, with and without a delta. The pieces are timed in one process,
where compiled code is warm. With --aim, AIM of this package runs beside the default on the table
"insurance" of the zoo.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import sfumato as sf
import tabular_zoo as zoo
from sfumato import noise
from sfumato.privacy.door import prepare, try_out

__all__ = ["main"]

ROWS, LARGE_ROWS = 50_000, 100_000
DELTAS = (None, "1e-9")
#: Real tables of the choosing half, one beside the other until there are 200 columns.
JOINED = ("protein", "moods", "ccdrug")
COLUMNS = 200
#: Where AIM is timed.
MIDDLE = "insurance"

#: The command, which says at its end what it took. The peak that the operating system gives for a
#: child may be that of its parent; this one is its own.
PROGRAM = """
import json, sys, time
from sfumato.cli.main import main
try:
    main()
finally:
    with open("/proc/self/status") as status:
        (peak,) = [int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM")]
    print(json.dumps([time.process_time(), peak]), file=sys.stderr)
"""

Made = tuple[pl.DataFrame, dict[str, Any]]


def make_wide() -> Made:
    """Return a table of 200 columns that depend on each other through hidden factors."""
    generator = noise.generator(1)
    factors = generator.normal(size=(ROWS, 6))
    frame: dict[str, Any] = {}
    columns: dict[str, Any] = {}
    for number in range(COLUMNS):
        first, second = generator.choice(6, 2, replace=False)
        hidden = factors[:, first] + generator.uniform(-1, 1) * factors[:, second]
        hidden += generator.normal(size=ROWS) * generator.uniform(0.3, 2)
        ranks = hidden.argsort().argsort() / ROWS
        name = f"c{number:03}"
        if number < 160:
            size = 2 if number < 100 else int(generator.integers(3, 13))
            ends = np.sort(generator.dirichlet(np.full(size, 2.0)).cumsum()[:-1])
            frame[name] = np.searchsorted(ends, ranks).astype(str)
            columns[name] = [str(value) for value in range(size)]
        elif number < 190:
            frame[name] = hidden
            columns[name] = (-8.0, 8.0, int(generator.integers(16, 33)))
        else:
            spent = np.where(ranks < 0.4, 0.0, np.exp(hidden + 5))
            frame[name] = np.minimum(spent, 100_000).round()
            columns[name] = {"kind": "number", "low": 0, "high": 100_000, "step": 1}
        if name in columns and isinstance(columns[name], tuple):
            low, high, bins = columns[name]
            columns[name] = {"kind": "number", "low": low, "high": high, "bins": bins}
            columns[name]["outside"] = "clamp"
    return pl.DataFrame(frame), columns


def join_tables() -> Made:
    """Return columns of real tables side by side, the rows of smaller ones repeated."""
    parts: list[pl.Series] = []
    for number, name in enumerate(JOINED):
        rows = zoo.frame(name)
        taken = rows[noise.generator(number).integers(0, len(rows), ROWS)]
        parts += [taken[column].alias(f"{name} {column}") for column in rows.columns]
    codes = tuple(f"{name} {code}" for name in JOINED for code in zoo.TABLES[name].codes)
    rows, columns = zoo.declare(pl.DataFrame(parts), codes)
    kept = list(columns)[:COLUMNS]
    return rows.select(kept), {column: columns[column] for column in kept}


def make_large() -> Made:
    """Return a table with one column of 10,000 values, on which others depend."""
    generator = noise.generator(2)
    shares = 1 / np.arange(1, 10_001)
    place = generator.choice(10_000, LARGE_ROWS, p=shares / shares.sum())
    frame: dict[str, Any] = {"place": [f"p{code:04}" for code in place]}
    columns: dict[str, Any] = {"place": [f"p{code:04}" for code in range(10_000)]}
    hidden = generator.normal(size=10_000)[place]
    for number, size in enumerate((2, 2, 3, 5, 8, 12, 20, 32)):
        ranks = (hidden + generator.normal(size=LARGE_ROWS)).argsort().argsort() / LARGE_ROWS
        frame[f"c{number}"] = (ranks * size).astype(int).astype(str)
        columns[f"c{number}"] = [str(value) for value in range(size)]
    return pl.DataFrame(frame), columns


TABLES: dict[str, Callable[[], Made]] = {
    "made": make_wide,
    "joined": join_tables,
    "large": make_large,
}


def command(path: Path, epsilon: str, delta: str | None, out: Path) -> tuple[float, float]:
    """Return the CPU seconds and the peak MiB of the whole command, in a fresh process."""
    words = [sys.executable, "-c", PROGRAM, "table", "release", str(path), "--out", str(out)]
    words += ["--epsilon", epsilon, *(["--delta", delta] if delta else [])]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)} failed:\n{done.stdout}{done.stderr}")
    seconds, peak = json.loads(done.stderr.splitlines()[-1])
    return seconds, peak


def time_pieces(path: Path, epsilon: str, delta: str | None) -> dict[str, float]:
    """Return the CPU seconds of reading, plan, trial, release, rows, saving and verification."""
    more = {} if delta is None else {"delta": delta}
    method = sf.Synthesizer(epsilon=epsilon, **more)
    marks = [time.process_time()]
    names: list[str] = []

    def mark(name: str) -> None:
        names.append(name)
        marks.append(time.process_time())

    table = sf.read_table(path, schema=path.with_suffix(".schema.toml"))
    mark("read")
    method.plan(table.public)
    mark("plan")
    try_out(prepare(method, table.public))
    mark("trial")
    release = method.release(table)
    mark("release")
    release.sample(table.counts.rows)
    mark("rows")
    with tempfile.TemporaryDirectory() as place:
        release.save(Path(place) / "out")
        mark("save")
        sf.verify(Path(place) / "out")
        mark("verify")
    return dict(zip(names, np.diff(marks).tolist(), strict=True))


def print_table(name: str, epsilon: str, pieces: bool) -> None:
    """Print the seconds of one table."""
    frame, columns = TABLES[name]()
    schema = sf.Schema.from_dict(columns, rows_about=len(frame))
    print(f"\n{name}: {frame.width} columns, {len(frame):,} rows, ε = {epsilon}; CPU seconds")
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / f"{name}.csv"
        frame.write_csv(path)
        schema.write(path.with_suffix(".schema.toml"))
        for delta in DELTAS:
            label = "pure" if delta is None else f"δ = {delta}"
            seconds, peak = command(path, epsilon, delta, Path(place) / f"out {label}")
            print(f"  {label:10} whole command {seconds:6.1f} s, peak {peak:,.0f} MiB", flush=True)
            if pieces:
                found = time_pieces(path, epsilon, delta)
                words = ", ".join(f"{piece} {took:.2f}" for piece, took in found.items())
                print(f"  {'':10} {words}", flush=True)


def time_aim(epsilon: str) -> None:
    """Print the seconds of AIM and of the default on a table of middle size."""
    table = zoo.load(MIDDLE)
    print(f"\n{MIDDLE}: {len(table.public.sizes)} columns, {table.counts.rows:,} rows, δ = 1e-9")
    took = {}
    for kind in ("Synthesizer", "AIM"):
        method = getattr(sf, kind)(epsilon=epsilon, delta="1e-9")
        if kind == "Synthesizer":
            method.release(table)  # compiled code is warm
        start = time.process_time()
        method.release(table)
        took[kind] = time.process_time() - start
        print(f"  {kind:12} {took[kind]:7.1f} CPU s", flush=True)
    print(f"  AIM takes {took['AIM'] / took['Synthesizer']:.0f} times as long")


def main(words: list[str]) -> None:
    """Print the seconds of the tables that are asked for."""
    parser = argparse.ArgumentParser(description="Time wide tables and large columns.")
    parser.add_argument("tables", nargs="*", choices=[[], *TABLES])
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--pieces", action="store_true", help="also time each piece")
    parser.add_argument("--aim", action="store_true", help="time AIM instead")
    given = parser.parse_args(words)
    if given.aim:
        time_aim(given.epsilon)
        return
    for name in given.tables or TABLES:
        print_table(name, given.epsilon, given.pieces)
