"""Linear regression beside its peers, on the tables of the literature.

    SFUMATO_DATA=… python benchmarks/regression.py SECTION [--runs 10] [--peer PYTHON]

Run by hand. The sections:

protocol     the synthetic protocol (500 records, ten features, fifty folds): rank correlation of
             the default, of AdaSSP and of boosted AdaSSP, with the protocol's own preprocessing,
             which is not private, and with everything paid for
tables       California housing, wages, earnings and diabetes: explained variance beside AdaSSP with
             its usual constants, AdaSSP counted tightly, the fit without noise, and diffprivlib
drugs        GDSC drug response (log IC50 of 53 drugs by ten tissues), 100 to 800 cell lines
classes      Adult: accuracy of whether somebody earns more than 50,000 dollars
zoo          the default beside the other linear regressions of the package on real problems that
             nobody shaped it on (`regression_zoo`), and every cell that breaks one of two laws:
             not behind a sibling by more than 5 % of 1 − R², and no worse with more budget
speed        a million records with fifty columns in a Parquet file, in one pass

`--peer` is a Python interpreter that has diffprivlib 0.6.6 and scikit-learn 1.6. Settings are
chosen on made-up tables alone, before any of these is looked at.
"""

from __future__ import annotations

import argparse
import math
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

import regression_data as data
import regression_zoo as zoo
import sfumato as sf
from sfumato.evaluate.regression import concordance, spearman

Floats = NDArray[np.float64]

EPSILONS = (0.1, 0.2, 0.5, 1, 2, 5, 10)
PROTOCOL = (0.1, 0.5, 1, 2, 10)
#: Published, and what is to be reached: pure, and with the delta.
ROBUST = (0.197, 0.631, 0.812, 0.868, 0.884)
GOALS = {"pure": (0.351, 0.827, 0.878, 0.892, 0.900), "delta": (0.41, 0.81, 0.885, 0.90, 0.907)}
DELTA = 1e-6
PEER = Path(__file__).resolve().parent / "peers" / "regression_diffprivlib.py"


def explained(guesses: Floats, truth: Floats) -> float:
    """Return R², 1 less the share of the variance that is left."""
    return float(1 - np.mean((guesses - truth) ** 2) / np.var(truth))


def mean_and_error(values: list[float]) -> str:
    """Return a mean and its standard error."""
    return f"{np.mean(values):.3f} ± {np.std(values, ddof=1) / math.sqrt(len(values)):.3f}"


def framed(features: Floats, answers: Floats | None = None) -> pl.DataFrame:
    """Return features, and answers, as a frame."""
    columns = {f"x{number}": column for number, column in enumerate(features.T)}
    return pl.DataFrame(columns if answers is None else {**columns, "y": answers})


def columns(many: int, half: float, answer: float) -> dict[str, Any]:
    """Return the declaration of features and answers that lie evenly around 0."""
    found = {f"x{number}": data.number(-half, half) for number in range(many)}
    return {**found, "y": data.number(-answer, answer)}


def ours(name: str, epsilon: float, delta: float | None, **options: Any) -> Any:
    """Return a method by its name."""
    return getattr(sf, name)(epsilon=epsilon, delta=delta, target="y", **options)


def protocol(runs: int) -> None:
    """Print the rank correlations of the synthetic protocol."""
    folds = [data.fold(number) for number in range(min(5 * runs, 50))]
    plain = [fold.prepared() for fold in folds]
    without = [
        spearman(f.test_features @ np.linalg.lstsq(f.features, f.answers, rcond=None)[0],
                 f.test_answers)
        for f in plain
    ]  # fmt: skip
    print(f"without noise {mean_and_error(without)}; robust as published {ROBUST}")
    given = {"response": "declared", "features": "declared", "intercept": False}
    for name, what in (("pure", None), ("delta", DELTA)):
        print(f"{name}: to reach {GOALS[name]}")
        best = {"goal": "order"}
        ways = [("LinearRegression", {**best, **given}, plain, "own preprocessing")]
        if what is not None:
            ways += [("AdaSSP", given, plain, "own preprocessing")]
            ways += [("BoostedAdaSSP", given, plain, "own preprocessing")]
        ways += [("LinearRegression", best, folds, "everything paid, n public")]
        ways += [("LinearRegression", best, folds, "everything paid, n too")]
        for method, options, kept, words in ways:
            cells = []
            for epsilon in PROTOCOL:
                model = ours(method, epsilon, what, **options)
                found = [protocol_score(model, fold, kept is plain, words) for fold in kept]
                cells.append(mean_and_error(found))
            print(f"  {method:<18}{words:<28}" + "  ".join(cells), flush=True)


def protocol_score(model: Any, fold: data.Fold, prepared: bool, words: str) -> float:
    """Return the rank correlation of one fold."""
    if prepared:
        # The protocol scales by the private standard deviation, as its authors did.
        declared = columns(10, 1.0, 3 * float(fold.answers.std()))
    else:
        declared = columns(10, 5.0, 15.0)
    counted = "n too" in words
    schema = sf.Schema.from_dict(
        declared,
        relation="add_remove" if counted else "replace_one",
        rows_about=500 if counted else None,
    )
    release = model.release(sf.Table(framed(fold.features, fold.answers), schema))
    return spearman(release.predict(framed(fold.test_features)), fold.test_answers)


def usual_adassp(low: Floats, high: Floats, epsilon: float, seed: int) -> Callable[..., Floats]:
    """Return AdaSSP with its usual constants, ε/3 and δ/3 for each of three parts (Wang, 2018).

    In floating point, for comparison only; features and answers are scaled by public bounds.
    """
    generator = np.random.default_rng(seed)

    def fit(features: Floats, answers: Floats, bounds: tuple[float, float]) -> Floats:
        middle, half = (low + high) / 2, (high - low) / 2
        width = math.sqrt(len(low) + 1)
        x = np.column_stack([(np.clip(features, low, high) - middle) / half, np.ones(len(answers))])
        x /= width
        centre, reach = sum(bounds) / 2, (bounds[1] - bounds[0]) / 2
        y = (np.clip(answers, *bounds) - centre) / reach
        size, third = x.shape[1], epsilon / 3
        constant = math.log(6 / DELTA)
        spread = math.sqrt(constant) / third
        eta = math.sqrt(size * constant * math.log(2 * size**2 / 0.05)) / third
        matrix = x.T @ x
        least = float(np.linalg.eigvalsh(matrix)[0])
        floor = max(least + spread * generator.standard_normal() - constant / third, 0.0)
        noise = generator.standard_normal((size, size))
        matrix = matrix + spread * (np.triu(noise) + np.triu(noise, 1).T)
        matrix += max(0.0, eta - floor) * np.eye(size)
        weights = np.linalg.solve(matrix, x.T @ y + spread * generator.standard_normal(size))
        slope = reach * weights[:-1] / width / half
        return np.append(slope, centre + reach * weights[-1] / width - slope @ middle)

    return fit


class Notes:
    """Where scores on one split are written down.

    Parameters
    ----------
    scores
        By method and epsilon.
    truth
        The targets of the split.
    """

    def __init__(self, scores: dict[str, dict[float, list[float]]], truth: Floats) -> None:
        self.scores, self.truth = scores, truth

    def __call__(self, method: str, epsilon: float, guesses: Floats) -> None:
        """Write down how good guesses are."""
        found = self.scores.setdefault(method, {}).setdefault(epsilon, [])
        found.append(explained(guesses, self.truth))


def tables(runs: int, peer: str | None, names: list[str]) -> None:
    """Print explained variance on the tables, medians over random splits."""
    for name in names:
        dataset = data.DATASETS[name]
        declared = dataset.columns[dataset.target]
        bounds = (declared["low"], declared["high"])
        scores: dict[str, dict[float, list[float]]] = {}
        whole = []
        for run, (learn, test) in enumerate(data.splits(len(dataset.frame), runs)):
            rows, tested = dataset.frame[learn], dataset.frame[test]
            table = sf.Table(rows, dataset.schema("replace_one"))
            x, low, high, y = dataset.plain(rows)
            other, _, _, truth = dataset.plain(tested)
            one, two = (np.column_stack([part, np.ones(len(part))]) for part in (x, other))
            whole.append(explained(np.clip(two @ np.linalg.lstsq(one, y, rcond=None)[0], *bounds),
                                   truth))  # fmt: skip

            note = Notes(scores, truth)
            for epsilon in EPSILONS:
                for method, delta in METHODS:
                    model = getattr(sf, method)(epsilon=epsilon, delta=delta, target=dataset.target)
                    note(f"{method}{' δ' if delta else ''}", epsilon,
                         model.release(table).predict(tested))  # fmt: skip
                weights = usual_adassp(low, high, epsilon, run)(x, y, bounds)
                note("AdaSSP usual δ", epsilon, np.clip(two @ weights, *bounds))
            if peer is not None:
                found = from_peer(peer, x, y, other, low, high, bounds, run, classes=False)
                for epsilon in EPSILONS:
                    for guesses in found[f"{epsilon:g}"]:
                        note("diffprivlib", epsilon, guesses)
        print(f"{name}, {len(learn):,} records; without noise {np.median(whole):.4f}")
        print(f"  {'ε':<24}" + "".join(f"{epsilon:>9g}" for epsilon in EPSILONS))
        for method, by_epsilon in scores.items():
            cells = [f"{np.median(by_epsilon[epsilon]):>9.4f}" for epsilon in EPSILONS]
            print(f"  {method:<24}" + "".join(cells), flush=True)


METHODS = (("LinearRegression", None), ("LinearRegression", DELTA), ("AdaSSP", DELTA))


def from_peer(
    peer: str, x: Floats, y: Floats, test: Floats, low: Floats, high: Floats,
    bounds: tuple[float, float], seed: int, *, classes: bool,
) -> dict[str, Floats]:  # fmt: skip
    """Return what diffprivlib predicts, by epsilon."""
    with tempfile.TemporaryDirectory() as place:
        fold, out = Path(place, "fold.npz"), Path(place, "out.npz")
        np.savez(fold, features=x, answers=y, test=test, low=low, high=high,
                 answer_low=bounds[0], answer_high=bounds[1], classes=classes)  # fmt: skip
        command = [peer, str(PEER), "--data", str(fold), "--out", str(out), "--seed", str(seed)]
        command += ["--epsilons", *map(str, EPSILONS)]
        subprocess.run(command, check=True, capture_output=True)
        with np.load(out) as found:
            return dict(found)


def drugs(runs: int) -> None:
    """Print rank correlations and concordance on GDSC, means over drugs and folds."""
    sizes = (100, 200, 400, 800)
    declared = {name: data.number(0, 1) for name in data.TISSUES}
    for epsilon, delta in ((1, None), (2, None), (1, DELTA), (2, DELTA)):
        for size in sizes:
            found: list[float] = []
            concordant: list[float] = []
            without: list[float] = []
            for run in range(runs):
                for drug in data.DRUGS:
                    x, y = data.drug_responses(drug)
                    rows = data.order(run, len(y))
                    # A cell line without a response is a record of zeros: it stays in the table.
                    test, learn = rows[:100], rows[100 : 100 + size]
                    schema = sf.Schema.from_dict(
                        {
                            **dict.fromkeys(declared, bool),
                            "y": {**data.number(-10, 10), "missing": "code"},
                        },
                        relation="replace_one",
                    )
                    frame = tissue_frame(x[learn], y[learn])
                    model = ours("LinearRegression", epsilon, delta, goal="order")
                    release = model.release(sf.Table(frame, schema))
                    seen = ~np.isnan(y[test])
                    guesses = release.predict(tissue_frame(x[test][seen]))
                    found.append(spearman(guesses, y[test][seen]))
                    # Larger means more sensitive: both are negated.
                    deviation = float(np.nanstd(y, ddof=1))
                    concordant.append(concordance(-guesses, -y[test][seen], deviation))
                    had = learn[~np.isnan(y[learn])]
                    ridge = x[had].T @ x[had] + np.eye(x.shape[1])
                    centre = y[had].mean()
                    plain = np.linalg.solve(ridge, x[had].T @ (y[had] - centre))
                    without.append(spearman(x[test][seen] @ plain, y[test][seen]))
            print(
                f"ε = {epsilon}{' δ' if delta else ''}, n = {size}: "
                f"{mean_and_error(found)}, concordance {mean_and_error(concordant)}; without noise "
                f"{np.mean(without):.3f}",
                flush=True,
            )


def tissue_frame(x: Floats, y: Floats | None = None) -> pl.DataFrame:
    """Return tissues as yes and no, and responses, of which some are missing."""
    found = {name: column > 0.5 for name, column in zip(data.TISSUES, x.T, strict=True)}
    if y is None:
        return pl.DataFrame(found)
    return pl.DataFrame({**found, "y": pl.Series(y).fill_nan(None)})


def classes(runs: int, peer: str | None) -> None:
    """Print the accuracy on Adult of a linear model of the class, cut in the middle."""
    dataset = data.DATASETS["Adult"]
    scores: dict[str, dict[float, list[float]]] = {}
    for run, (learn, test) in enumerate(data.splits(len(dataset.frame), runs)):
        as_number = (pl.col("income") == ">50K").cast(pl.Float64).alias("income")
        rows, tested = dataset.frame[learn], dataset.frame[test]
        declared = {**dataset.columns, "income": data.number(0, 1)}
        table = sf.Table(
            rows.with_columns(as_number), sf.Schema.from_dict(declared, relation="replace_one")
        )
        truth = dataset.answers(tested)
        for epsilon in EPSILONS:
            for delta in (None, DELTA):
                model = sf.LinearRegression(
                    epsilon=epsilon, delta=delta, target="income", response="declared", bound=3
                )
                guesses = model.release(table).predict(tested) > 0.5
                scores.setdefault(f"LinearRegression{' δ' if delta else ''}", {}).setdefault(
                    epsilon, []
                ).append(float(np.mean(guesses == truth)))
        if peer is not None:
            x, low, high, y = dataset.plain(rows)
            other = dataset.plain(tested)[0]
            found = from_peer(peer, x, y, other, low, high, (0, 1), run, classes=True)
            for epsilon in EPSILONS:
                scores.setdefault("diffprivlib logistic", {}).setdefault(epsilon, []).extend(
                    float(np.mean(guesses == truth)) for guesses in found[f"{epsilon:g}"]
                )
    print(f"  {'ε':<24}" + "".join(f"{epsilon:>9g}" for epsilon in EPSILONS))
    for method, by_epsilon in scores.items():
        cells = [f"{np.median(by_epsilon[epsilon]):>9.4f}" for epsilon in EPSILONS]
        print(f"  {method:<24}" + "".join(cells), flush=True)


def speed(_: int) -> None:
    """Time a million records with fifty columns from a Parquet file."""
    rows, many = 1_000_000, 50
    generator = np.random.default_rng(1)
    x = generator.standard_normal((rows, many))
    y = x @ generator.standard_normal(many) / math.sqrt(many) + generator.standard_normal(rows)
    with tempfile.TemporaryDirectory() as place:
        file = Path(place, "large.parquet")
        framed(x, y).write_parquet(file)
        del x, y
        schema = sf.Schema.from_dict(columns(many, 4, 6), relation="replace_one")
        for engine in ("duckdb", "memory"):
            for delta in (None, DELTA):
                model = ours("LinearRegression", 1, delta)
                began = time.perf_counter()
                table = sf.read_table(file, schema, engine=engine)
                read = time.perf_counter()
                release = model.release(table)
                done = time.perf_counter()
                print(
                    f"{engine}{' δ' if delta else ''}: read {read - began:.2f} s, fit "
                    f"{done - read:.2f} s, together {done - began:.2f} s "
                    f"({len(release.weights)} weights, most memory "
                    f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB)",
                    flush=True,
                )


def main() -> None:
    """Run one section."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    sections = ["protocol", "tables", "drugs", "classes", "zoo", "speed"]
    parser.add_argument("section", choices=sections)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--peer")
    parser.add_argument(
        "--data", nargs="+", default=["California", "CPS wages", "CPS earnings", "diabetes"]
    )
    parser.add_argument("--half", choices=["choose", "report"], default="choose")
    parser.add_argument("--problems", nargs="+", help="problems of the zoo, instead of a half")
    parser.add_argument("--epsilons", nargs="+", type=float, default=list(zoo.EPSILONS))
    parser.add_argument("--siblings", nargs="*", default=list(zoo.SIBLINGS))
    parser.add_argument("--kept", type=Path, help="a file of results, which is read and added to")
    given = parser.parse_args()
    if given.section == "tables":
        tables(given.runs, given.peer, given.data)
    elif given.section == "zoo":
        problems = given.problems or zoo.names(given.half)
        zoo.print_laws(problems, tuple(given.epsilons), given.runs, given.kept, given.siblings)
    elif given.section == "classes":
        classes(given.runs, given.peer)
    else:
        {"protocol": protocol, "drugs": drugs, "speed": speed}[given.section](given.runs)


if __name__ == "__main__":
    sys.exit(main())
