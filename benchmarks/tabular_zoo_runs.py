"""Every method on every table of the zoo: runs that can be stopped and resumed, and their summary.

    SFUMATO_DATA=… python benchmarks/tabular.py zoo [--half report] [--tables adult flights]
        [--epsilons .1 1] [--losses pure delta] [--relations add_remove] [--methods Synthesizer AIM]
        [--runs 2] [--most-runs 20] [--limit 120] [--fresh] [--print]

The error of a run is the mean total variation distance between n synthetic rows and the table, over
all marginals of two columns, and of three, of more than 200 a fixed random choice. Every run is a
line of `runs.jsonl` in the zoo's folder. Runs that are there are not repeated: those of
`Synthesizer` if the source of the package is the same, those of other methods from any source,
unless `--fresh` asks for their own. A run that takes more than `--limit` seconds of CPU is written
down as failed, and larger epsilons of that method are then left out for that table.

Two runs leave much to chance: where both are histograms of the same columns, the ratio of the
default to another method is often 1.1 after two runs and 1.00 after twenty. With `--most-runs` a
cell is run again, the default and the best other method alike, as long as its ratio is within two
standard errors of 1.02 or of 1.1, the figures that the summary counts by.

A cell of the summary is a table, an epsilon, a loss and a relation. The default stands against the
best other method in the cell, peers included, and, apart from them, against the best fixed number
of its own rounds. The best of several noisy means is too small by a few per cent, so a ratio of 1
is better than it looks.

Peers run only when `--methods` names them, take minutes (`--limit 1800`), and need environments of
their own in the folder that SFUMATO_PEERS names, made with Python 3.11 as

    python -m venv $SFUMATO_PEERS/opendp
    $SFUMATO_PEERS/opendp/bin/pip install "opendp[mbi]==0.16.0" pandas
    python -m venv $SFUMATO_PEERS/dpmm
    $SFUMATO_PEERS/dpmm/bin/pip install dpmm==0.1.9
    python -m venv $SFUMATO_PEERS/smartnoise
    $SFUMATO_PEERS/smartnoise/bin/pip install smartnoise-synth==1.0.8

dpsynth 0.3.0 is in no registry: $SFUMATO_PEERS/dpsynth is an environment of Python 3.12 where it is
installed as its own page says, with the packages mbi 2.0.0, jax 0.11.0, dp-accounting 0.6.0 and
etils, which it imports without saying so. MargNet is a repository of scripts: in
$SFUMATO_PEERS/margnet Python finds torch 2.14.1, scikit-learn, networkx, tomli and its folder.

A peer is given the codes of the table and its domain, and the first n of its synthetic rows are
judged like ours. All of them mean add/remove; only opendp has a pure guarantee. Their seconds are
with what they compile in every run.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import resource
import secrets
import signal
import subprocess
import tempfile
import time
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

import sfumato as sf
import tabular_data as data
import tabular_zoo as zoo
from sfumato.privacy.guarantee import Relation
from tabular_measures import Truth, drawn

EPSILONS = (0.1, 0.4, 1.0, 1.6, 3.0)
LOSSES = {"pure": None, "delta": 1e-9}
WAYS = (2, 3)
#: A cell counts as best if the default is behind by at most this factor, and as near if by that.
LIMITS = (1.02, 1.1)
MOST_SETS = 200
#: Tables of at most this many columns have a workload of three-way tables for the peers' AIM.
FEW_COLUMNS = 16
DEFAULT = "Synthesizer"
#: The methods of every other package that can be named.
PEERS = {
    "opendp": ("MST", "AIM"),
    "dpmm": ("MST", "AIM"),
    "smartnoise": ("MST", "AIM"),
    "dpsynth": ("MST", "AIM", "AIM-GDP", "SWIFT"),
    "margnet": ("MargNet",),
}
SCRIPTS = Path(__file__).resolve().parent / "peers"
PEER_MEMORY = 12 * 2**30
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "POLARS_MAX_THREADS": "1",
    "JAX_PLATFORMS": "cpu",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}
Codes = NDArray[np.int64]


class Cell(NamedTuple):
    """What methods are compared in."""

    table: str
    epsilon: float
    delta: float | None
    relation: str

    def __str__(self) -> str:
        loss = "pure" if self.delta is None else "δ"
        relation = "" if self.relation == Relation.ADD_REMOVE else f" {self.relation}"
        return f"{self.table} ε = {self.epsilon:g} {loss}{relation}"


@dataclass(frozen=True)
class Contender:
    """A method of the package with its parameters besides the budget."""

    label: str
    method: str
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def own(self) -> bool:
        """Whether its runs hold for one source of the package alone."""
        return self.method == DEFAULT

    def release(self, table: sf.Table, epsilon: float, delta: float | None) -> Any:
        """Release once."""
        more = {} if delta is None else {"delta": delta}
        return getattr(sf, self.method)(epsilon=epsilon, **more, **self.options).release(table)

    def takes(self, cell: Cell) -> bool:
        """Whether it can promise what the cell asks for."""
        return True

    def draw(self, truth: Truth, cell: Cell, limit: float) -> tuple[Codes, float]:
        """Return the codes of synthetic rows, and the seconds of CPU they took."""
        start = time.process_time()
        with cpu_limit(limit):
            codes = drawn(self.release(truth.table, cell.epsilon, cell.delta), truth.rows)
        return codes, time.process_time() - start


@dataclass(frozen=True)
class Peer(Contender):
    """A method of another package, run by the interpreter of its own environment."""

    package: str = ""

    @property
    def own(self) -> bool:
        """Whether its runs hold for one source of the package alone."""
        return False

    def takes(self, cell: Cell) -> bool:
        """Whether it can promise what the cell asks for."""
        pure = cell.delta is None and self.package != "opendp"
        return cell.relation == Relation.ADD_REMOVE and not pure

    def draw(self, truth: Truth, cell: Cell, limit: float) -> tuple[Codes, float]:
        """Return the codes of synthetic rows, and the seconds of CPU they took."""
        place = zoo.place().absolute() / "peers"
        table, domain = data.write_for_peers(cell.table, truth.table, place)
        degree = 3 if len(truth.sizes) <= FEW_COLUMNS else 2
        script = "tabular_smartnoise.py" if self.package == "smartnoise" else "tabular_mbi.py"
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "rows.csv"
            words: list[Any] = [find_interpreter(self.package), SCRIPTS / script]
            words += ["--data", table, "--domain", domain, "--out", out, "--degree", degree]
            words += ["--epsilon", cell.epsilon, "--delta", cell.delta or 0]
            words += ["--seed", secrets.randbelow(2**31), "--method", self.method.lower()]
            packaged = ["--packaged", Path(folder) / "packaged.csv"]
            words += packaged if self.package == "smartnoise" else ["--package", self.package]
            facts = run_peer(words, limit, Path(folder))
            rows = pl.read_csv(out, n_rows=truth.rows)
        return rows.select(f"c{i}" for i in range(len(truth.sizes))).to_numpy(), facts["cpu"]


def find_interpreter(package: str) -> Path:
    """Return the interpreter of a peer's environment."""
    found = Path(os.environ.get("SFUMATO_PEERS", "")).absolute() / package / "bin" / "python"
    if not found.exists():
        raise zoo.ZooError(
            f"no interpreter for {package}; set SFUMATO_PEERS to the folder of the peers' "
            "environments (tabular.py zoo --help, tabular.py judges --help)"
        )
    return found


def run_peer(words: Sequence[Any], limit: float, folder: Path) -> dict[str, Any]:
    """Run a peer's script within so many seconds of CPU, and return what its last line says.

    Parameters
    ----------
    words
        The interpreter, the script and its arguments; paths are absolute.
    limit
        The seconds.
    folder
        Where it runs: some peers leave files there.
    """
    done = subprocess.run(
        [str(word) for word in words],
        capture_output=True,
        text=True,
        env={**os.environ, **ONE_THREAD},
        cwd=folder,
        preexec_fn=functools.partial(limit_peer, limit),
    )
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        raise TimeoutError
    if done.returncode:
        raise ValueError((done.stderr.strip().splitlines() or ["no reason"])[-1][:200])
    facts: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return facts


def limit_peer(seconds: float) -> None:
    """Keep a peer from taking the whole machine."""
    resource.setrlimit(resource.RLIMIT_CPU, (ceil(seconds), ceil(seconds) + 5))
    resource.setrlimit(resource.RLIMIT_DATA, (PEER_MEMORY, PEER_MEMORY))


CONTENDERS = {
    contender.label: contender
    for contender in (
        Contender(DEFAULT, DEFAULT),
        *(Contender(f"rounds={n}", DEFAULT, {"rounds": n}) for n in (0, 4, 8, 16)),
        *(Contender(name, name) for name in ("Independent", "MST", "PrivBayes", "MWEM", "AIM")),
        *(
            Peer(f"{package} {name}", name, package=package)
            for package, names in PEERS.items()
            for name in names
        ),
    )
}
OURS = [label for label, contender in CONTENDERS.items() if not isinstance(contender, Peer)]


@functools.cache
def source() -> tuple[str, str]:
    """Return the commit, and an identity of the package's files, changed or not."""
    root = Path(sf.__file__).resolve().parent

    def git(*words: str) -> str:
        done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True)
        return done.stdout.strip()

    commit, tree = git("rev-parse", "--short", "HEAD"), git("rev-parse", "--short", "HEAD:./")
    changes = git("diff", "HEAD", "--", ".")
    return commit, f"{tree}+{zlib.crc32(changes.encode()):08x}" if changes else tree


class Log:
    """The runs that were done, one line of JSON each.

    Parameters
    ----------
    path
        The file; lines are added to it, never changed.
    fresh
        Whether runs of other methods count only where the source of the package is the same.
    """

    def __init__(self, path: Path, fresh: bool) -> None:
        self.path = path
        self.runs: dict[Cell, dict[str, list[dict[str, Any]]]]
        self.runs = defaultdict(lambda: defaultdict(list))
        #: The least epsilon at which a method was out of time, by cell without its epsilon.
        self.slow: dict[tuple[Cell, str], float] = {}
        for text in path.read_text().splitlines() if path.exists() else []:
            run = json.loads(text)
            contender = CONTENDERS.get(run["method"])
            if contender is None or self._holds(run, contender, fresh):
                self._keep(run)

    def _holds(self, run: dict[str, Any], contender: Contender, fresh: bool) -> bool:
        """Whether a run is one of the method as it is now."""
        same = run["source"] == source()[1] or not (contender.own or fresh)
        return same and run["options"] == contender.options

    def _keep(self, run: dict[str, Any]) -> None:
        cell = Cell(run["table"], run["epsilon"], run["delta"], run["relation"])
        self.runs[cell][run["method"]].append(run)
        if run.get("failed") == "time":
            key = cell._replace(epsilon=0.0), run["method"]
            self.slow[key] = min(cell.epsilon, self.slow.get(key, cell.epsilon))

    def add(self, cell: Cell, contender: Contender, **facts: Any) -> None:
        """Write one run down."""
        commit, tree = source()
        run = {
            **cell._asdict(),
            "method": contender.label,
            "options": contender.options,
            "commit": commit,
            "source": tree,
            **facts,
        }
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            file.write(json.dumps(run) + "\n")
        self._keep(run)

    def failed(self, cell: Cell, label: str) -> bool:
        """Whether a method failed in a cell or, out of time, for a smaller epsilon."""
        slow = self.slow.get((cell._replace(epsilon=0.0), label), cell.epsilon + 1)
        return cell.epsilon >= slow or any("failed" in run for run in self.runs[cell][label])

    def errors(self, cell: Cell) -> dict[str, np.ndarray]:
        """Return the mean errors of every method in a cell: two-way, three-way and their mean."""
        found = {}
        for label, runs in self.runs[cell].items():
            done = [run["errors"] for run in runs if "errors" in run]
            if done:
                ways = np.mean([[error[str(w)] for w in WAYS] for error in done], axis=0)
                found[label] = np.append(ways, ways.mean())
        return found

    def spread(self, cell: Cell) -> dict[str, tuple[float, float]]:
        """Return the mean over runs of two- and three-way error, and its standard error.

        Methods of a single run are left out.
        """
        found = {}
        for label, runs in self.runs[cell].items():
            done = [np.mean(list(run["errors"].values())) for run in runs if "errors" in run]
            if len(done) > 1:
                error = float(np.std(done, ddof=1) / np.sqrt(len(done)))
                found[label] = float(np.mean(done)), error
        return found

    def seconds(self, cell: Cell, label: str) -> float | None:
        """Return the mean CPU seconds of a method in a cell."""
        done = [run["cpu"] for run in self.runs[cell][label] if "errors" in run]
        return float(np.mean(done)) if done else None


@contextmanager
def cpu_limit(seconds: float) -> Iterator[None]:
    """Raise `TimeoutError` after so many seconds of CPU."""

    def stop(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def measure(truth: Truth, cell: Cell, contender: Contender, limit: float) -> dict[str, Any]:
    """Release once and return the errors and the seconds, or why there are none."""
    wall = time.perf_counter()
    try:
        codes, cpu = contender.draw(truth, cell, limit)
    except TimeoutError:
        return {"failed": "time", "cpu": limit}
    except ValueError as failure:
        # The domain is too large for the method, or a peer stopped.
        return {"failed": str(failure)}
    seconds = time.perf_counter() - wall
    errors = {str(ways): float(truth.of_codes(codes, ways).mean()) for ways in WAYS}
    return {"errors": errors, "seconds": seconds, "cpu": cpu}


def run_all(given: argparse.Namespace, log: Log) -> None:
    """Do the runs that are missing, table by table."""
    warm_up(given.methods)
    for name in given.tables:
        for relation in given.relations:
            cells = [
                Cell(name, epsilon, LOSSES[loss], relation)
                for loss in given.losses
                for epsilon in sorted(given.epsilons)
            ]
            todo = [
                (cell, CONTENDERS[label])
                for cell in cells
                for label in given.methods
                if CONTENDERS[label].takes(cell) and len(log.runs[cell][label]) < given.runs
            ]
            missing = any(not log.failed(cell, contender.label) for cell, contender in todo)
            if not missing and not given.most_runs:
                continue
            try:
                truth = Truth(zoo.load(name, relation), MOST_SETS)
            except zoo.ZooError as failure:
                print(f"{name}: {failure}")
                continue
            for cell, contender in todo:
                while len(log.runs[cell][contender.label]) < given.runs:
                    if log.failed(cell, contender.label):
                        break
                    run_once(truth, cell, contender, given.limit, log)
            for cell in cells:
                settle(truth, cell, given, log)


def run_once(truth: Truth, cell: Cell, contender: Contender, limit: float, log: Log) -> None:
    """Release once, write it down and print it."""
    facts = measure(truth, cell, contender, limit)
    log.add(cell, contender, **facts)
    show_run(cell, contender.label, facts)


def settle(truth: Truth, cell: Cell, given: argparse.Namespace, log: Log) -> None:
    """Run the default and the best other method again while chance decides which limit they keep.

    The best other method is found anew after each run: one that led by luck falls back.
    """
    while True:
        found = log.spread(cell)
        others = rivals(found, fixed=False)
        if DEFAULT not in found or not others:
            return
        best = min(others, key=lambda label: others[label][0])
        (own, own_error), (other, other_error) = found[DEFAULT], found[best]
        ratio, error = own / other, own / other * np.hypot(own_error / own, other_error / other)
        if min(abs(ratio - limit) for limit in LIMITS) > 2 * error:
            return
        fewer = [label for label in (DEFAULT, best) if len(log.runs[cell][label]) < given.most_runs]
        if not fewer or any(label not in CONTENDERS for label in fewer):
            return
        for label in fewer:
            run_once(truth, cell, CONTENDERS[label], given.limit, log)
            if log.failed(cell, label):
                return


def warm_up(methods: Sequence[str]) -> None:
    """Release once from a small table, so that no run is charged for compiling."""
    sizes = {f"c{size}": size for size in range(2, 9)}
    rows = pl.DataFrame({name: np.arange(1000) // size % size for name, size in sizes.items()})
    columns = {name: list(range(size)) for name, size in sizes.items()}
    table = sf.Table(rows, sf.Schema.from_dict(columns, rows_about=1000))
    for label in set(methods).intersection(OURS):
        for delta in LOSSES.values():
            drawn(CONTENDERS[label].release(table, 1.0, delta), 1000)


def show_run(cell: Cell, label: str, facts: dict[str, Any]) -> None:
    """Print one run."""
    if "errors" in facts:
        words = " / ".join(f"{error:.4f}" for error in facts["errors"].values())
        words += f"   {facts['cpu']:.2f} s"
    else:
        words = facts["failed"][:60]
    print(f"  {cell!s:44}{label:16}{words}", flush=True)


def summarise(log: Log, cells: Sequence[Cell]) -> None:
    """Print how the default stands against the others, and where it is behind."""
    errors = {cell: log.errors(cell) for cell in cells}
    errors = {cell: found for cell, found in errors.items() if DEFAULT in found}
    print(f"\n{len(errors)} cells of {len({cell.table for cell in errors})} tables")
    for title, fixed in (("the best other method", False), ("the best fixed rounds", True)):
        for index, name in enumerate(("two-way", "three-way", "mean")):
            ratios = compare(errors, index, fixed)
            if not ratios:
                continue
            print(f"\n{DEFAULT} ÷ {title}, {name} error")
            show_ratios("all", list(ratios.values()))
            if index < 2:
                continue
            for epsilon in sorted({cell.epsilon for cell in ratios}):
                for delta in sorted({cell.delta for cell in ratios}, key=str):
                    part = [
                        ratio
                        for cell, ratio in ratios.items()
                        if (cell.epsilon, cell.delta) == (epsilon, delta)
                    ]
                    loss = "δ" if delta else "pure"
                    show_ratios(f"ε = {epsilon:g} {loss}", part)
    show_behind(errors)
    show_laws(errors)
    show_seconds(log, list(errors))


Errors = dict[Cell, dict[str, np.ndarray]]
Measure = TypeVar("Measure")


def rivals(found: dict[str, Measure], fixed: bool) -> dict[str, Measure]:
    """Return what the default stands against in a cell."""
    return {
        label: error
        for label, error in found.items()
        if label != DEFAULT and label.startswith("rounds=") == fixed
    }


def compare(errors: Errors, index: int, fixed: bool) -> dict[Cell, float]:
    """Return the ratio of the default to the best of the others in each cell."""
    return {
        cell: float(found[DEFAULT][index] / min(error[index] for error in others.values()))
        for cell, found in errors.items()
        if (others := rivals(found, fixed))
    }


def show_ratios(label: str, ratios: Sequence[float]) -> None:
    """Print the distribution of ratios."""
    if ratios:
        median, most = np.quantile(ratios, [0.5, 0.95])
        best, near = (np.mean(np.array(ratios) <= limit) for limit in LIMITS)
        print(
            f"  {label:18}median {median:.2f}   95 % {most:.2f}   worst {max(ratios):.2f}   "
            f"best within 2 %: {best:.0%}, within 10 %: {near:.0%}   of {len(ratios)}"
        )


def show_behind(errors: Errors) -> None:
    """Print the cells where another method is ahead by more than a tenth."""
    lines = []
    for cell, found in errors.items():
        others = rivals(found, fixed=False)
        for index, ways in enumerate(WAYS):
            if not others:
                continue
            label = min(others, key=lambda label: others[label][index])
            own, best = found[DEFAULT][index], others[label][index]
            if own > 1.1 * best:
                lines.append((own / best, f"{cell!s:44}{ways}-way {own:.4f}, {label} {best:.4f}"))
    print(f"\nbehind by more than 10 %: {len(lines)}")
    for ratio, text in sorted(lines, reverse=True):
        print(f"  {ratio:5.2f}  {text}")


def show_laws(errors: Errors) -> None:
    """Print where the default gets worse with more budget, or with delta, by more than 5 %."""
    lines = []
    for cell, found in errors.items():
        own = found[DEFAULT][2]
        for other, error in errors.items():
            less = other.epsilon < cell.epsilon and other._replace(epsilon=cell.epsilon) == cell
            pure = cell.delta is not None and other == cell._replace(delta=None)
            if (less or pure) and own > 1.05 * error[DEFAULT][2]:
                lines.append(f"  {cell}: {own:.4f}; {other}: {error[DEFAULT][2]:.4f}")
    print(f"\nworse with more budget, or with δ, by more than 5 %: {len(lines)}")
    print("\n".join(lines))


def show_seconds(log: Log, cells: Sequence[Cell]) -> None:
    """Print the CPU seconds of every method, and how many times the default's they are."""
    seconds: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for cell in cells:
        own = log.seconds(cell, DEFAULT)
        for label in list(log.runs[cell]):
            took = log.seconds(cell, label)
            if own and took:
                seconds[label].append((took, took / own))
    print(f"\nCPU seconds: median, largest, median of the ratio to {DEFAULT}, cells")
    for label, found in sorted(seconds.items()):
        each, ratio = np.array(found).T
        print(
            f"  {label:24}{np.median(each):10.2f}{each.max():10.1f}{np.median(ratio):10.1f}"
            f"{len(found):8}"
        )


def main(words: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="tabular.py zoo",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--half", choices=zoo.HALVES, help="default: both")
    parser.add_argument("--tables", nargs="*", choices=zoo.TABLES, help="default: the half")
    parser.add_argument("--epsilons", nargs="*", type=float, default=EPSILONS)
    parser.add_argument("--losses", nargs="*", choices=LOSSES, default=list(LOSSES))
    parser.add_argument("--relations", nargs="*", choices=list(Relation), default=["add_remove"])
    parser.add_argument("--methods", nargs="*", choices=CONTENDERS, default=OURS)
    parser.add_argument("--runs", type=int, default=2, help="releases in every cell")
    parser.add_argument("--most-runs", type=int, default=0, help="in cells that chance decides")
    parser.add_argument("--limit", type=float, default=120.0, help="CPU seconds of a release")
    parser.add_argument("--fresh", action="store_true", help="others' runs of this source only")
    parser.add_argument("--print", action="store_true", help="only the summary of what is there")
    given = parser.parse_args(words)
    for contender in map(CONTENDERS.__getitem__, given.methods):
        if isinstance(contender, Peer):
            find_interpreter(contender.package)
    given.tables = [
        name for name in given.tables or zoo.names() if given.half in (None, zoo.half(name))
    ]
    log = Log(zoo.place() / "runs.jsonl", given.fresh)
    if not given.print:
        run_all(given, log)
    wanted = [
        Cell(name, epsilon, LOSSES[loss], relation)
        for name in given.tables
        for relation in given.relations
        for loss in given.losses
        for epsilon in given.epsilons
    ]
    summarise(log, wanted)
