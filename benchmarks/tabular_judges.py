"""Synthetic rows before judges nobody here wrote: SDMetrics, SynthEval and Anonymeter.

    SFUMATO_DATA=… SFUMATO_PEERS=… python benchmarks/tabular.py judges [--judges anonymeter]
        [--tables adult insurance cps1988] [--rows Synthesizer shuffled] [--runs 1] [--limit 300]
        [--print]

A score means little by itself, so releases stand beside rows whose worth is known: the true columns
shuffled independently, which have lost all dependence; 1, 5 and 20 % of the true rows, which give
those away; and a copy of the true rows. Where a judge rates shuffled columns more highly than
releases, a line says so.

A fifth of the rows is kept apart as a control: nothing is made from it, and Anonymeter measures
what attacks on the others gain over attacks on these. All rows are in their own values. Numbers of
more than 32 values are declared by bounds and decimals; for AIM and MST, which find no bins, in 32
bins of equal width. As everywhere in the zoo, domains are read off the files.

SDMetrics sees all rows. SynthEval and Anonymeter are slow and see the number of rows that their
tables give: so many of the true rows, of which the baselines are made, and as many of a release
that was made from all. For SynthEval, which needs as many, parts are drawn with replacement up to
that.

Every verdict is a line of `judges.jsonl` in the zoo's folder, and those that are there are not
repeated: those of releases if the source of the package is the same, unless `--any-source` keeps
them. Releases are seeded, so that each judge sees the same one. A verdict that takes more than
`--limit` seconds of CPU is written down as failed.

Judges need environments of their own in the folder that SFUMATO_PEERS names, made with Python 3.11:

    for each of  sdmetrics==0.32.0   syntheval==1.7.3   "anonymeter==1.1.0" "numpy<1.27"
    python -m venv $SFUMATO_PEERS/NAME
    $SFUMATO_PEERS/NAME/bin/pip install …
"""

from __future__ import annotations

import argparse
import json
import tempfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

import sfumato as sf
import tabular_zoo as zoo
import tabular_zoo_runs as runs
from sfumato import noise

#: Two tables of the half on which constants were chosen, and Adult.
TABLES = ("adult", "insurance", "cps1988")
#: One row in so many is kept apart.
CONTROL = 5
BINS = 32
PARTS = (1, 5, 20)
SHUFFLED = "columns shuffled"
COPY = "copy"
SCRIPT = runs.SCRIPTS / "tabular_judge.py"


@dataclass(frozen=True)
class Judge:
    """Another package's verdict on synthetic rows.

    Parameters
    ----------
    name
        Of its environment.
    title
        Of its table.
    best
        `max` where larger figures are better, `min` where they are risks.
    rows
        How many rows it sees; `None` for all.
    equal
        Whether it needs as many synthetic rows as true ones.
    options
        Further words for its script.
    """

    name: str
    title: str
    best: Callable[[float, float], float]
    rows: int | None = None
    equal: bool = False
    options: tuple[str, ...] = ()


JUDGES = {
    judge.name: judge
    for judge in (
        Judge("sdmetrics", "SDMetrics 0.32.0, quality report, 1 is best", max),
        Judge(
            "syntheval",
            "SynthEval 1.7.3, fast_eval, normalised, 1 is best",
            max,
            rows=4_000,
            equal=True,
        ),
        Judge(
            "anonymeter",
            "Anonymeter 1.1.0, risk above that of control rows, 0 is best",
            min,
            rows=10_000,
            options=("--attacks", "500", "--every", "4"),
        ),
    )
}


class Release(NamedTuple):
    """A release that is judged."""

    method: str
    epsilon: float
    delta: float | None = None

    @property
    def label(self) -> str:
        """Return its name in the tables."""
        return f"{self.method} ε = {self.epsilon:g}{'' if self.delta is None else ' δ'}"

    @property
    def binned(self) -> bool:
        """Whether numbers must be declared in bins."""
        return self.method in ("AIM", "MST")

    def draw(self, table: sf.Table, rows: int, run: int) -> pl.DataFrame:
        """Return synthetic rows, the same for every judge."""
        more = {} if self.delta is None else {"delta": self.delta}
        with noise.seeded(zlib.crc32(f"{self.label} {run}".encode())):
            release = getattr(sf, self.method)(epsilon=self.epsilon, **more).release(table)
        return pl.DataFrame(release.sample(rows, seed=run))


RELEASES = {
    release.label: release
    for release in (
        *(
            Release("Synthesizer", epsilon, delta)
            for delta in runs.LOSSES.values()
            for epsilon in (0.1, 1.0, 3.0)
        ),
        *(Release(method, 1.0) for method in ("AIM", "MST", "PrivBayes", "Independent")),
    )
}
BASELINES = (SHUFFLED, *(f"{part} % of the rows" for part in PARTS), COPY)
LABELS = (*RELEASES, *BASELINES)


class Case:
    """A table with its control, as the methods and the judges are given it.

    Parameters
    ----------
    name
        Of the table in the zoo.
    """

    def __init__(self, name: str) -> None:
        frame, columns = zoo.declare(zoo.frame(name), zoo.TABLES[name].codes)
        order = noise.generator(0).permutation(len(frame))
        frame = frame.select(list(columns))[order]
        kept = len(frame) // CONTROL
        self.control, self.rows = frame[:kept], frame[kept:]
        self._drawn: dict[tuple[str, int], pl.DataFrame] = {}
        self.kinds = {column: domain["kind"] for column, domain in columns.items()}
        self.tables = {
            binned: sf.Table(
                self.rows,
                sf.Schema.from_dict(
                    {c: declare_values(frame[c], d, binned) for c, d in columns.items()},
                    rows_about=len(self.rows),
                ),
            )
            for binned in (False, True)
        }

    def seen(self, judge: Judge) -> pl.DataFrame:
        """Return the true rows that a judge sees."""
        return self.rows if judge.rows is None else self.rows.head(judge.rows)

    def draw(self, label: str, judge: Judge, run: int) -> pl.DataFrame:
        """Return the rows that are judged."""
        rows = self.seen(judge)
        if (release := RELEASES.get(label)) is not None:
            if (label, run) not in self._drawn:
                table = self.tables[release.binned]
                self._drawn[label, run] = release.draw(table, len(self.rows), run)
            return self._drawn[label, run].head(len(rows))
        generator = noise.generator(run)
        if label == SHUFFLED:
            return rows.select(s[generator.permutation(len(rows))] for s in rows)
        if label == COPY:
            return rows
        part = PARTS[BASELINES.index(label) - 1]
        kept = generator.choice(len(rows), -(-len(rows) * part // 100), replace=False)
        return rows[generator.choice(kept, len(rows)) if judge.equal else kept]


def declare_values(series: pl.Series, domain: dict[str, Any], binned: bool) -> dict[str, Any]:
    """Return the declaration of a column whose numbers have bounds and decimals.

    NOT PRIVATE: both are those of the rows.
    """
    if domain["kind"] != "number":
        return domain
    values = series.drop_nulls().to_numpy()
    decimals = next((d for d in range(6) if np.array_equal(np.round(values, d), values)), 6)
    rest = {key: value for key, value in domain.items() if key != "edges"}
    low, high = float(values.min()), float(values.max())
    return {
        **rest,
        "low": low,
        "high": high,
        "decimals": decimals,
        **({"bins": BINS} if binned else {}),
    }


class Log:
    """The verdicts that there are, one line of JSON each.

    Parameters
    ----------
    path
        The file; lines are added to it, never changed.
    any_source
        Whether verdicts on releases count that another source of the package made.
    """

    def __init__(self, path: Path, any_source: bool) -> None:
        self.path = path
        self.verdicts: dict[tuple[str, str, str, int], dict[str, Any]] = {}
        for text in path.read_text().splitlines() if path.exists() else []:
            line = json.loads(text)
            if any_source or line["label"] in BASELINES or line["source"] == runs.source()[1]:
                self._keep(line)

    def _keep(self, line: dict[str, Any]) -> None:
        self.verdicts[line["judge"], line["table"], line["label"], line["run"]] = line

    def add(self, judge: str, table: str, label: str, run: int, facts: dict[str, Any]) -> None:
        """Write one verdict down."""
        commit, source = runs.source()
        head = {"judge": judge, "table": table, "label": label, "run": run}
        line = {**head, "commit": commit, "source": source, **facts}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            file.write(json.dumps(line) + "\n")
        self._keep(line)

    def means(self, judge: str, table: str, label: str, what: str) -> dict[str, float]:
        """Return the mean figures or errors of all runs; empty where there are none."""
        found = [
            line[what]
            for (*head, _), line in self.verdicts.items()
            if head == [judge, table, label] and what in line
        ]
        names = found[0] if found else {}
        return {name: float(np.mean([each[name] for each in found])) for name in names}


def ask(case: Case, judge: Judge, label: str, run: int, limit: float) -> dict[str, Any]:
    """Return the verdict of a judge, or why there is none."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        try:
            with runs.cpu_limit(limit):
                synthetic = case.draw(label, judge, run)
            sides = {"real": case.seen(judge), "synthetic": synthetic, "control": case.control}
            words: list[Any] = [runs.find_interpreter(judge.name), SCRIPT, "--judge", judge.name]
            for side, rows in sides.items():
                rows.head(judge.rows or len(rows)).write_csv(folder / f"{side}.csv")
                words += [f"--{side}", folder / f"{side}.csv"]
            (folder / "columns.json").write_text(json.dumps(case.kinds))
            words += ["--columns", folder / "columns.json", "--seed", run, *judge.options]
            return runs.run_peer(words, limit, folder)
        except TimeoutError:
            return {"failed": "time"}
        except ValueError as failure:
            return {"failed": str(failure)}


def run_all(given: argparse.Namespace, log: Log) -> None:
    """Ask for the verdicts that are missing, table by table."""
    for name in given.tables:
        todo = [
            (judge, label, run)
            for judge in given.judges
            for run in range(given.runs)
            for label in given.labels
            if (judge, name, label, run) not in log.verdicts
        ]
        case = Case(name) if todo else None
        for judge, label, run in todo:
            assert case is not None
            facts = ask(case, JUDGES[judge], label, run, given.limit)
            log.add(judge, name, label, run, facts)
            said = facts.get("failed") or f"{facts['cpu']:.0f} s"
            print(f"  {judge:12}{name:12}{label:24}{said}", flush=True)


def short(number: float) -> str:
    """Return a number as `.152`."""
    return f"{number:.3f}".replace("0.", ".", 1)


def show(log: Log, judge: Judge, table: str, labels: Sequence[str]) -> None:
    """Print the verdicts of one judge on one table, and what it thinks of shuffled columns."""
    found, errors = (
        {label: log.means(judge.name, table, label, what) for label in labels}
        for what in ("figures", "errors")
    )
    found = {label: figures for label, figures in found.items() if figures}
    if not found:
        return
    names = list(next(iter(found.values())))
    seen = f"{judge.rows:,} rows" if judge.rows else "all rows"
    print(f"\n{judge.title}: {table}, {seen}\n")
    print(f"| | {' | '.join(names)} |\n|---|{'---|' * len(names)}")
    for label, figures in found.items():
        cells = [
            short(figures[name])
            + (f" ± {short(error)}" if (error := errors[label].get(name)) else "")
            for name in names
        ]
        print(f"| {label} | {' | '.join(cells)} |")
    if SHUFFLED not in found:
        return
    shuffled = found[SHUFFLED]
    for name in names:
        behind = [
            label
            for label, figures in found.items()
            if label != SHUFFLED
            and figures[name] != shuffled[name]
            and judge.best(figures[name], shuffled[name]) == shuffled[name]
        ]
        if behind:
            print(f"- {name}: shuffled columns are ahead of {len(behind)}: {', '.join(behind)}.")


def main(words: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="tabular.py judges",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--judges", nargs="*", choices=JUDGES, default=list(JUDGES))
    parser.add_argument("--tables", nargs="*", choices=zoo.TABLES, default=list(TABLES))
    parser.add_argument("--rows", nargs="*", default=[], help="only labels with these words")
    parser.add_argument("--runs", type=int, default=1, help="releases of each kind")
    parser.add_argument("--limit", type=float, default=300.0, help="CPU seconds of each step")
    parser.add_argument("--any-source", action="store_true", help="keep what other sources made")
    parser.add_argument("--print", action="store_true", help="only the tables of what is there")
    given = parser.parse_args(words)
    given.labels = [
        label for label in LABELS if not given.rows or any(word in label for word in given.rows)
    ]
    log = Log(zoo.place() / "judges.jsonl", given.any_source)
    if not given.print:
        for judge in given.judges:
            runs.find_interpreter(judge)
        run_all(given, log)
    for judge in given.judges:
        for name in given.tables:
            show(log, JUDGES[judge], name, given.labels)
