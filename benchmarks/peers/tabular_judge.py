"""One verdict of SDMetrics 0.32.0, SynthEval 1.7.3 or Anonymeter 1.1.0, each in its environment.

    PEER/bin/python benchmarks/peers/tabular_judge.py --judge sdmetrics \
        --real real.csv --synthetic synthetic.csv --control control.csv --columns columns.json

Rows are in the users' own values. `columns.json` names each column "number" or "category", in the
order of the files; the judges are told so and infer nothing. Control rows are real ones that
nothing was made from. The last line is JSON: the figures, and seconds.

sdmetrics   the quality report; 1 is best
syntheval   the preset fast_eval, in SynthEval's own normalised values; 1 is best. The target of its
            classifier is the last column of two values.
anonymeter  risks above those of control rows; 0 is best. Three attacks of `--attacks` guesses each:
            singling out by one column and by three, linking the even columns to the odd ones, and
            inferring each secret from all other columns. Secrets are every `--every`-th column.
            Half the width of Anonymeter's 95 % interval stands beside each risk.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import resource
import sys
import time
import warnings
from typing import Any

#: Figures, and half the width of an interval where the judge gives one.
Figures = dict[str, tuple[float, float | None]]


def judge_sdmetrics(frames: dict[str, Any], kinds: dict[str, str], given: Any) -> Figures:
    """Return the scores of the quality report."""
    from sdmetrics.reports.single_table import QualityReport

    types = {"number": "numerical", "category": "categorical"}
    metadata = {"columns": {name: {"sdtype": types[kind]} for name, kind in kinds.items()}}
    report = QualityReport()
    report.generate(frames["real"], frames["synthetic"], metadata, verbose=False)
    properties = report.get_properties().set_index("Property")["Score"]
    found = {"score": report.get_score(), **{k.lower(): v for k, v in properties.items()}}
    return {name: (value, None) for name, value in found.items()}


def judge_syntheval(frames: dict[str, Any], kinds: dict[str, str], given: Any) -> Figures:
    """Return the normalised figures of the preset."""
    from syntheval import SynthEval

    categories = [name for name, kind in kinds.items() if kind == "category"]
    two = [name for name in categories if frames["real"][name].nunique() == 2]
    judge = SynthEval(
        frames["real"],
        holdout_dataframe=frames["control"],
        cat_cols=categories,
        verbose=False,
        enable_plots=False,
        console="off",
        show_warnings=False,
    )
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        found = judge.evaluate(
            frames["synthetic"],
            analysis_target=two[-1] if two else None,
            presets_file="fast_eval",
        )
    # A measure that fails is left out with a printed line; a missing figure must not pass unseen.
    if "failed to run" in said.getvalue():
        raise SystemExit(said.getvalue().strip().splitlines()[-1])
    figures = dict(zip(found["metric"], found["n_val"], strict=True))
    for part, name in (("u", "utility"), ("p", "privacy")):
        figures[name] = found.loc[found["dim"] == part, "n_val"].mean()
    return {name: (value, None) for name, value in figures.items()}


def judge_anonymeter(frames: dict[str, Any], kinds: dict[str, str], given: Any) -> Figures:
    """Return the three risks, and the worst inference."""
    import numpy as np
    from anonymeter.evaluators import InferenceEvaluator, LinkabilityEvaluator, SinglingOutEvaluator
    from anonymeter.stats.confidence import residual_success

    warnings.simplefilter("ignore")
    # Rows to attack are chosen by `DataFrame.sample`, which draws from NumPy's global generator.
    np.random.seed(given.seed)  # noqa: NPY002
    sides = {"ori": frames["real"], "syn": frames["synthetic"], "control": frames["control"]}
    names = list(kinds)
    figures: Figures = {}

    def risk(judge: Any) -> tuple[float, float]:
        # Without its bounds 0 and 1, which cut the interval off.
        results = judge.results()
        found = residual_success(results.attack_rate, results.control_rate)
        return max(found.value, 0.0), found.error

    for mode, label in (("univariate", "one column"), ("multivariate", "three columns")):
        judge = SinglingOutEvaluator(
            **sides, n_attacks=given.attacks, max_attempts=50_000, seed=given.seed
        )
        figures[f"singling out, {label}"] = risk(judge.evaluate(mode=mode))
    halves = (names[::2], names[1::2])
    judge = LinkabilityEvaluator(**sides, aux_cols=halves, n_attacks=given.attacks)
    figures["linkability"] = risk(judge.evaluate(n_jobs=1))
    risks = [
        risk(
            InferenceEvaluator(
                **sides,
                aux_cols=[name for name in names if name != secret],
                secret=secret,
                regression=kinds[secret] == "number",
                n_attacks=given.attacks,
            ).evaluate(n_jobs=1)
        )
        for secret in names[:: given.every]
    ]
    values, errors = np.array(risks).T
    figures["inference, mean"] = (values.mean(), np.sqrt((errors**2).sum()) / len(errors))
    return {**figures, "inference, worst": max(risks)}


JUDGES = {
    "sdmetrics": judge_sdmetrics,
    "syntheval": judge_syntheval,
    "anonymeter": judge_anonymeter,
}


def read(path: str, kinds: dict[str, str]) -> Any:
    """Return rows as a frame of pandas: categories are texts as they are, numbers are floats."""
    import pandas as pd

    frame = pd.read_csv(path, dtype=str, keep_default_na=False)[list(kinds)]
    for name, kind in kinds.items():
        frame[name] = pd.to_numeric(frame[name]) if kind == "number" else frame[name].astype(object)
    return frame


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--judge", choices=JUDGES, required=True)
    for name in ("real", "synthetic", "control", "columns"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--attacks", type=int, default=500)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with open(given.columns) as file:
        kinds = json.load(file)
    frames = {name: read(getattr(given, name), kinds) for name in ("real", "synthetic", "control")}
    wall, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
    with contextlib.redirect_stdout(sys.stderr):
        found = JUDGES[given.judge](frames, kinds, given)
    after, wall = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter() - wall
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(
        json.dumps(
            {
                "figures": {name: float(value) for name, (value, _) in found.items()},
                "errors": {name: float(e) for name, (_, e) in found.items() if e is not None},
                "cpu": cpu,
                "wall": wall,
                "memory_mib": after.ru_maxrss / 1024,
            }
        )
    )


if __name__ == "__main__":
    main()
