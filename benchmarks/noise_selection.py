"""Exact permute-and-flip over a million candidates against inexact NumPy exponentials and argmax.

Report noisy max with exponential noise has the law of permute-and-flip, so both columns draw from
the same distribution, one exactly and one in floats. Times are interleaved; ratios below 1 mean
that the exact sampler is faster. Run: python benchmarks/noise_selection.py [candidates] [rounds]
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sfumato import noise
from sfumato.noise.select import exponential, permute_and_flip


def shapes(size: int) -> dict[str, tuple[NDArray[np.generic], float]]:
    """Return twelve shapes of scores, each with a rate."""
    rng = noise.generator(7)
    normal = rng.normal(size=size)
    ramp = np.arange(size, dtype=np.float64)
    one = np.zeros(size)
    one[size // 3] = 100.0
    clusters = np.where(rng.random(size) < 1e-3, 10.0, 0.0) + rng.random(size)
    ties = np.minimum(normal, np.sort(normal)[-1000])
    return {
        "all equal": (np.zeros(size), 1.0),
        "one dominating": (one, 1.0),
        "linear ramp, sorted": (ramp, 1e-3),
        "linear ramp, shuffled": (rng.permutation(ramp), 1e-3),
        "gaussian, gaps ~1e-3": (normal, 1e-3),
        "gaussian, gaps ~1": (normal, 1.3),
        "gaussian, gaps ~50": (normal, 10.0),
        "heavy tail": (rng.standard_cauchy(size), 1.0),
        "two clusters": (clusters, 1.0),
        "ties at the maximum": (ties, 2.0),
        "integers -1000..1000": (rng.integers(-1000, 1001, size), 0.1),
        "integer counts": (rng.poisson(20.0, size), 0.5),
    }


def report_noisy_max(
    scores: NDArray[np.generic], rate: float, rng: np.random.Generator
) -> Callable[[], int]:
    def run() -> int:
        return int((scores * rate + rng.standard_exponential(scores.size)).argmax())

    return run


def seconds(run: Callable[[], int]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def compile_everything() -> None:
    """Make the compiler do its work before the clock starts."""
    for kind in (np.int64, np.float64):
        scores = np.zeros(1000, dtype=kind)
        scores[500] = 1000
        for rate in (1, 6):
            permute_and_flip(scores, rate=rate)
            exponential(scores, rate=rate)


def main(size: int, rounds: int) -> None:
    compile_everything()
    rng = noise.generator(11)
    print(f"{size} candidates, {rounds} rounds; milliseconds, mean (median)")
    print(f"{'scores':24}{'NumPy':>16}{'permute-and-flip':>20}{'ratio':>8}{'exponential':>16}")
    worst = 0.0
    for name, (scores, rate) in shapes(size).items():
        runs = (
            report_noisy_max(scores, rate, rng),
            lambda scores=scores, rate=rate: permute_and_flip(scores, rate=rate),
            lambda scores=scores, rate=rate: exponential(scores, rate=rate),
        )
        for run in runs:
            run()
        times = [[seconds(run) for run in runs] for _ in range(rounds)]
        columns = [[1e3 * row[i] for row in times] for i in range(3)]
        means = [statistics.fmean(column) for column in columns]
        medians = [statistics.median(column) for column in columns]
        cells = [f"{a:.2f} ({b:.2f})" for a, b in zip(means, medians, strict=True)]
        ratio = means[1] / means[0]
        worst = max(worst, ratio)
        print(f"{name:24}{cells[0]:>16}{cells[1]:>20}{ratio:>8.2f}{cells[2]:>16}")
    print(f"worst ratio of means: {worst:.2f} (required: at most 1, aimed at: 0.5)")


if __name__ == "__main__":
    arguments = [int(argument) for argument in sys.argv[1:]]
    main(*(arguments + [10**6, 15][len(arguments) :]))
