"""Robust private linear regression on the published synthetic protocol: its figures, and ours.

    python benchmarks/regression_robust.py PART    (see --help)

`epsilon` and `records` are the two published figures (Spearman's correlation over 50 folds), with
the published variational fit and noise, and below the same statistics with the tight calibration
and other fits. Rows of the protocol are prepared with private means, as published; `private` is the
whole pipeline with nothing but public bounds and paid choices.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable

import numpy as np
import polars as pl
from numpy.typing import NDArray

import regression_baselines as baselines
import sfumato as sf
from regression_data import DRUGS, drug_responses, fold, normalised, order, synthetic
from regression_search import published_search
from sfumato.evaluate.regression import r_squared, spearman
from sfumato.privacy.guarantee import Relation
from sfumato.published.queries import published_scales
from sfumato.published.robust_regression import PUBLISHED_THRESHOLDS, advi_compat
from sfumato.regression.bayesian import Statistics, fit_with_fixed_precisions, gibbs, noise_ridge
from sfumato.regression.robust_estimator import Clipped, noise_aware
from sfumato.regression.robust_statistics import Parts, published_split
from sfumato.regression.robust_thresholds import (
    PUBLISHED_SHARES,
    Thresholds,
    best_thresholds,
    laplace_scales,
)

Floats = NDArray[np.float64]
Scales = tuple[float, float, float]

FOLDS = 50
FEATURES = 10
#: Published means over the folds, at 500 records by ε and at ε = 2 by records.
BY_EPSILON = (0.108, 0.251, 0.620, 0.815, 0.869, 0.883, 0.882)
BY_RECORDS = (0.560, 0.730, 0.820, 0.852, 0.869, 0.876, 0.878, 0.877)
#: Published thresholds at ε = 2 for 100 to 800 records.
ANSWERS_BY_RECORDS = (0.3, 0.2, 0.3, 0.3, 0.3, 0.4, 0.5, 0.6)
SPLIT = published_split(PUBLISHED_SHARES)


class Problem:
    """One fold, clipped, in thresholds.

    Parameters
    ----------
    number, records
        Which fold, and how many of its records are private.
    rows, answers
        Thresholds in standard deviations.
    public
        Whether ten public records are added, as published.
    """

    def __init__(
        self, number: int, records: int, rows: float, answers: float, *, public: bool
    ) -> None:
        drawn = fold(number, records).prepared()
        self.test = drawn.test_features, drawn.test_answers
        self.entry = rows * float(drawn.features.std(ddof=1))
        self.bound = answers * float(drawn.answers.std(ddof=1))
        self.true = self._clipped(drawn.features, drawn.answers)
        if public:
            x, y = synthetic()
            known = order(number, len(y))[900:910]
            self.true += self._clipped(normalised(x[known]), y[known] - y[known].mean())
        self.generator = np.random.default_rng([number, records])

    def _clipped(self, x: Floats, y: Floats) -> Statistics:
        rows = np.clip(x / self.entry, -1, 1)
        return Statistics.of(rows, np.clip(y / self.bound, -1, 1))

    def noisy(self, scales: Scales) -> Statistics:
        """Return the statistics with noise of these scales."""
        p, draw = FEATURES, self.generator.laplace
        upper = np.triu(draw(0.0, scales[0], (p, p)))
        return Statistics(
            self.true.xx + upper + np.triu(upper, 1).T,
            self.true.xy + draw(0.0, scales[1], p),
            self.true.yy + draw(0.0, scales[2]),
            self.true.records,
            scales,
        )

    def unscaled(self, found: Statistics) -> Statistics:
        """Return statistics in the units of the fold, in which the published priors are."""
        e, b = self.entry, self.bound
        return Statistics(
            found.xx * e * e, found.xy * e * b, found.yy * b * b, found.records, found.scales
        )

    def score(self, weights: Floats) -> float:
        """Return Spearman's correlation on the test records."""
        return spearman(self.test[0] @ weights, self.test[1])


def published_fit(
    records: int, epsilon: float, thresholds: tuple[float, float], *, steps: int = 5000
) -> list[float]:
    """Return the scores of the published algorithm over the folds."""
    problems = [Problem(k, records, *thresholds, public=True) for k in range(FOLDS)]
    scales = published_scales(FEATURES, 1, 1, PUBLISHED_SHARES, epsilon)
    noisy = [problem.unscaled(problem.noisy(scales)) for problem in problems]
    weights = advi_compat(noisy, np.random.default_rng(0), steps=steps)
    return [p.score(w) for p, w in zip(problems, weights, strict=True)]


def without_noise(records: int, thresholds: tuple[float, float]) -> list[float]:
    """Return the same without noise."""
    problems = [Problem(k, records, *thresholds, public=True) for k in range(FOLDS)]
    weights = advi_compat([p.unscaled(p.true) for p in problems], np.random.default_rng(0))
    return [p.score(w) for p, w in zip(problems, weights, strict=True)]


def ours(
    records: int, epsilon: float, engine: str, thresholds: tuple[float, float], split: Parts
) -> list[tuple[float, float]]:
    """Return Spearman and R² of a fit of tightly calibrated statistics over the folds."""
    scales = laplace_scales(FEATURES, split, epsilon, Relation.REPLACE_ONE)
    found = []
    for number in range(FOLDS):
        problem = Problem(number, records, *thresholds, public=False)
        noisy = problem.noisy(scales)
        turn = problem.bound / problem.entry
        match engine:
            case "gibbs":
                weights = gibbs(noise_ridge(noisy), np.random.default_rng(number)).mean
            case "fixed":
                # In the units of the fold, where the prior says something.
                weights = fit_with_fixed_precisions(problem.unscaled(noisy)).mean / turn
            case _:
                weights = noise_aware(noisy, Clipped(*thresholds)).mean
        x, y = problem.test
        found.append((problem.score(weights), r_squared(x @ weights * turn, y)))
    return found


def shown(values: list[float]) -> str:
    """Return a mean and its standard error."""
    return f"{np.mean(values):.3f} ± {np.std(values, ddof=1) / math.sqrt(len(values)):.3f}"


def by_epsilon() -> None:
    """Print the first figure: 500 records, by ε."""
    print("500 records; mean over 50 folds ± standard error; published below each")
    for (epsilon, thresholds), known in zip(PUBLISHED_THRESHOLDS.items(), BY_EPSILON, strict=True):
        line = [f"ε={epsilon:<4}", f"as published {shown(published_fit(500, epsilon, thresholds))}"]
        line.append(f"({known})")
        line.append(f"clipped, no noise {shown(without_noise(500, thresholds))}")
        print("  ".join(line), flush=True)
    print("tight calibration; Spearman / median R²")
    for epsilon, thresholds in PUBLISHED_THRESHOLDS.items():
        line = [f"ε={epsilon:<4}"]
        chosen = best_thresholds(500, FEATURES, epsilon, Relation.REPLACE_ONE)
        best = (chosen.rows, chosen.answers)
        for name, engine, at, split in (
            ("published ω, Gibbs", "gibbs", thresholds, SPLIT),
            ("our ω, Gibbs", "gibbs", best, chosen.split),
            ("our ω, noise-aware", "aware", best, chosen.split),
            ("published ω, λ = 1", "fixed", thresholds, SPLIT),
        ):
            found = ours(500, epsilon, engine, at, split)
            squares = float(np.median([square for _, square in found]))
            line.append(f"{name}: {shown([s for s, _ in found])} / {squares:.2f}")
        print("  ".join(line), f" at ω = {best}", flush=True)


def by_records() -> None:
    """Print the second figure: ε = 2, by the number of records."""
    for records, answers, known in zip(
        range(100, 900, 100), ANSWERS_BY_RECORDS, BY_RECORDS, strict=True
    ):
        found = published_fit(records, 2, (0.1, answers))
        print(f"n={records}  as published {shown(found)}  ({known})", flush=True)


def by_steps() -> None:
    """Print what becomes of the published fit when it goes on."""
    for steps in (1000, 5000, 20_000, 60_000):
        found = published_fit(500, 2, PUBLISHED_THRESHOLDS[2.0], steps=steps)
        print(f"{steps:>6} steps: {shown(found)}", flush=True)


def coverage() -> None:
    """Print how often 95 % intervals hold: weights and answers drawn anew, 200 times."""
    for records, p in ((500, 10), (2000, 5)):
        for epsilon in (0.1, 0.5, 1, 2, 5, 10):
            chosen = best_thresholds(records, p, epsilon, Relation.REPLACE_ONE)
            held = [_covered(k, records, p, epsilon, chosen) for k in range(200)]
            weights, answers, half = np.mean(held, axis=0)
            print(
                f"n={records} p={p} ε={epsilon:<4} weights {weights:.3f}  answers {answers:.3f}  "
                f"answers at 50 %: {half:.3f}  ω = {chosen.rows}, {chosen.answers}",
                flush=True,
            )


def _covered(
    number: int, records: int, p: int, epsilon: float, chosen: Thresholds
) -> tuple[float, float, float]:
    generator = np.random.default_rng([7, number])
    x = generator.normal(size=(records, p))
    weights = generator.normal(size=p)
    y = x @ weights + generator.normal(size=records)
    entry, bound = chosen.rows, chosen.answers * float(y.std())
    true = Statistics.of(np.clip(x / entry, -1, 1), np.clip(y / bound, -1, 1))
    scales = laplace_scales(p, chosen.split, epsilon, Relation.REPLACE_ONE)
    upper = np.triu(generator.laplace(0, scales[0], (p, p)))
    noisy = Statistics(
        true.xx + upper + np.triu(upper, 1).T,
        true.xy + generator.laplace(0, scales[1], p),
        true.yy + generator.laplace(0, scales[2]),
        records,
        scales,
    )
    fit = noise_aware(noisy, Clipped(entry, chosen.answers))
    turn = bound / entry
    off = np.abs(fit.mean * turn - weights) / (np.sqrt(np.diag(fit.covariance)) * turn)
    new = generator.normal(size=(200, p))
    spread = np.sqrt(
        ((new @ fit.covariance) * new).sum(axis=1) * turn**2 + (fit.deviation * bound) ** 2
    )
    left = np.abs(new @ weights + generator.normal(size=200) - new @ fit.mean * turn) / spread
    return float((off < 1.96).mean()), float((left < 1.96).mean()), float((left < 0.6745).mean())


def private() -> None:
    """Print the whole pipeline with public bounds: ±5 for features, ±20 for the response."""
    names = [f"x{j}" for j in range(FEATURES)]
    columns = {n: {"kind": "real", "low": -5, "high": 5, "outside": "clamp"} for n in names}
    columns["y"] = {"kind": "real", "low": -20, "high": 20, "outside": "clamp"}
    schema = sf.Schema.from_dict(columns, relation="replace_one")
    for options in ({}, {"response": "declared"}, {"rows": "unit", "intercept": False}):
        for epsilon in (0.1, 0.5, 1, 2, 10):
            scores = []
            for number in range(20):
                drawn = fold(number, 500)
                frame = pl.DataFrame(drawn.features, schema=names)
                frame = frame.with_columns(pl.Series("y", drawn.answers))
                method = sf.RobustLinearRegression(epsilon=epsilon, target="y", **options)
                release = method.release(sf.Table(frame, schema))
                test = pl.DataFrame(drawn.test_features, schema=names)
                scores.append(spearman(release.predict(test), drawn.test_answers))
            print(f"{options}  ε={epsilon:<4} {shown(scores)}", flush=True)


def thresholds() -> None:
    """Print the published search beside what was published."""
    for n, p, epsilon, known in (
        (500, 10, 2, (0.1, 0.3)),
        (500, 10, 1, (0.1, 0.5)),
        (100, 10, 2, (0.1, 0.3)),
        (800, 10, 2, (0.1, 0.6)),
        (500, 5, 2, (0.1, 0.8)),
    ):
        found = published_search(n, p, epsilon, np.random.RandomState(42))
        print(f"n={n} p={p} ε={epsilon}: {found}, published {known}", flush=True)


def compared() -> None:
    """Print the paper's other baselines at 500 records: PLR, OPLR (repaired) and FMLR."""
    for epsilon in (0.5, 1, 2, 10):
        scores: dict[str, list[float]] = {"PLR": [], "OPLR": [], "FMLR": []}
        for number in range(FOLDS):
            drawn, generator = fold(number, 500).prepared(), np.random.default_rng(number)
            x, y = drawn.features, drawn.answers
            size = float(np.abs(y).max())
            for name, weights in (
                ("PLR", baselines.perturbed_statistics(x, y, epsilon, generator)),
                ("OPLR", baselines.output_perturbation(x, y, epsilon, generator, bound=size)),
                ("FMLR", baselines.functional(x, y / size, epsilon, generator)[:-1]),
            ):
                scores[name].append(spearman(drawn.test_features @ weights, drawn.test_answers))
        print(f"ε={epsilon:<4}", {name: shown(found) for name, found in scores.items()}, flush=True)


def drugs() -> None:
    """Print drug responses: 53 drugs, 4 folds, tissues as features, ten public records."""
    for records in (100, 400, 800):
        for epsilon, answers in ((1.0, 0.2), (2.0, 0.4)):
            scores: dict[str, list[float]] = {"as published": [], "tight, published fit": []}
            scores |= {"tight, Gibbs": [], "tight, noise-aware": []}
            for number in range(4):
                _drug_fold(number, records, epsilon, (0.1, answers), scores)
            means = {name: f"{np.mean(found):.3f}" for name, found in scores.items()}
            print(f"n={records} ε={epsilon}", means, flush=True)


def _drug_fold(
    number: int,
    records: int,
    epsilon: float,
    thresholds: tuple[float, float],
    scores: dict[str, list[float]],
) -> None:
    """Add the scores of one fold of all drugs."""
    wide = published_scales(FEATURES, 1, 1, PUBLISHED_SHARES, epsilon)
    tight = laplace_scales(FEATURES, SPLIT, epsilon, Relation.REPLACE_ONE)
    generator = np.random.default_rng([number, records])
    loose, close, tests = [], [], []
    for drug in DRUGS:
        x, y = drug_responses(drug)
        rows = order(number, len(y))
        parts = []
        for part in (rows[:100], rows[100 : 100 + records], rows[-10:]):
            part = part[~np.isnan(y[part])]
            centred = x[part] - x[part].mean(axis=0)
            lengths = np.linalg.norm(centred, axis=1, keepdims=True)
            parts.append((centred / np.where(lengths > 0, lengths, 1), y[part] - y[part].mean()))
        entry = thresholds[0] * float(parts[1][0].std(ddof=1))
        bound = thresholds[1] * float(parts[1][1].std(ddof=1))
        true = [
            Statistics.of(np.clip(a / entry, -1, 1), np.clip(b / bound, -1, 1))
            for a, b in parts[1:]
        ]
        for scales, kept in ((wide, loose), (tight, close)):
            upper = np.triu(generator.laplace(0, scales[0], (FEATURES, FEATURES)))
            kept.append(
                true[0]
                + true[1]
                + Statistics(
                    upper + np.triu(upper, 1).T,
                    generator.laplace(0, scales[1], FEATURES),
                    float(generator.laplace(0, scales[2])),
                    0,
                    scales,
                )
            )
        tests.append((*parts[0], entry, bound))
    units = [
        [
            Statistics(s.xx * e * e, s.xy * e * b, s.yy * b * b, s.records)
            for s, (_, _, e, b) in zip(kept, tests, strict=True)
        ]
        for kept in (loose, close)
    ]
    fits = {
        "as published": advi_compat(units[0], generator),
        "tight, published fit": advi_compat(units[1], generator),
        "tight, Gibbs": [gibbs(noise_ridge(found), generator).mean for found in close],
        "tight, noise-aware": [noise_aware(found, Clipped(*thresholds)).mean for found in close],
    }
    for name, weights in fits.items():
        for w, (a, b, _, _) in zip(weights, tests, strict=True):
            scores[name].append(spearman(a @ w, b))


PARTS: dict[str, Callable[[], None]] = {
    "epsilon": by_epsilon,
    "records": by_records,
    "steps": by_steps,
    "coverage": coverage,
    "private": private,
    "thresholds": thresholds,
    "baselines": compared,
    "drugs": drugs,
}


def main() -> None:
    """Run one part of the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=PARTS)
    started = time.perf_counter()
    PARTS[parser.parse_args().part]()
    print(f"{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
