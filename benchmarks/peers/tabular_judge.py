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

Figures = dict[str, float]


def judge_sdmetrics(frames: dict[str, Any], kinds: dict[str, str], given: Any) -> Figures:
    """Return the scores of the quality report."""
    from sdmetrics.reports.single_table import QualityReport

    types = {"number": "numerical", "category": "categorical"}
    metadata = {"columns": {name: {"sdtype": types[kind]} for name, kind in kinds.items()}}
    report = QualityReport()
    report.generate(frames["real"], frames["synthetic"], metadata, verbose=False)
    properties = report.get_properties().set_index("Property")["Score"]
    return {"score": report.get_score(), **{k.lower(): v for k, v in properties.items()}}


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
    return figures


def judge_anonymeter(frames: dict[str, Any], kinds: dict[str, str], given: Any) -> Figures:
    """Return the three risks, and the worst inference."""
    import numpy as np
    from anonymeter.evaluators import InferenceEvaluator, LinkabilityEvaluator, SinglingOutEvaluator

    warnings.simplefilter("ignore")
    # Rows to attack are chosen by `DataFrame.sample`, which draws from NumPy's global generator.
    np.random.seed(given.seed)  # noqa: NPY002
    sides = {"ori": frames["real"], "syn": frames["synthetic"], "control": frames["control"]}
    names = list(kinds)
    figures = {}
    for mode, label in (("univariate", "one column"), ("multivariate", "three columns")):
        judge = SinglingOutEvaluator(
            **sides, n_attacks=given.attacks, max_attempts=50_000, seed=given.seed
        )
        figures[f"singling out, {label}"] = judge.evaluate(mode=mode).risk().value
    halves = (names[::2], names[1::2])
    judge = LinkabilityEvaluator(**sides, aux_cols=halves, n_attacks=given.attacks)
    figures["linkability"] = judge.evaluate(n_jobs=1).risk().value
    risks = [
        InferenceEvaluator(
            **sides,
            aux_cols=[name for name in names if name != secret],
            secret=secret,
            regression=kinds[secret] == "number",
            n_attacks=given.attacks,
        )
        .evaluate(n_jobs=1)
        .risk()
        .value
        for secret in names[:: given.every]
    ]
    return {**figures, "inference, mean": float(np.mean(risks)), "inference, worst": max(risks)}


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
    figures = {name: float(value) for name, value in found.items()}
    memory = after.ru_maxrss / 1024
    print(json.dumps({"figures": figures, "cpu": cpu, "wall": wall, "memory_mib": memory}))


if __name__ == "__main__":
    main()
