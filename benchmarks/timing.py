"""Which draws take a time that depends on the private value? Measured on pairs of values.

Run `python benchmarks/timing.py`, by hand. On each line one draw is timed on two private values,
call by call and in random order, so that whatever else the machine does falls on both. Shown are
both medians, the probability that a call on the second value takes longer than one on the first
(1/2 if time tells nothing; Mann and Whitney), and its z. A |z| above 4.5 is called a dependence: by
chance alone it happens once in 150,000 lines.

The second table asks the other question: does the time tell the noise that was drawn? It shows
Spearman's rank correlation of a call's time with the size of its noise.

Nothing found here is a surprise that voids a guarantee: guarantees are for what is published, and
docs/known-vulnerabilities.md says what a stopwatch may learn.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from sfumato import noise
from sfumato.data.schema import Schema
from sfumato.data.table import Table, TablePublic
from sfumato.mechanisms.gaussian import GaussianNoise
from sfumato.mechanisms.laplace import GeometricNoise
from sfumato.mechanisms.randomized import Randomized
from sfumato.mechanisms.sparse_vector import AboveThreshold

#: Beyond this many standard errors, time is said to depend on the value.
ALARM = 4.5
CANDIDATES = 1000

Draw = Callable[[Any], Any]


@dataclass(frozen=True)
class Case:
    """One draw on two private values.

    Parameters
    ----------
    draw
        What is drawn, in words.
    values
        How the two values differ, in words.
    run
        Draws on a value.
    here, there
        The two values.
    """

    draw: str
    values: str
    run: Draw
    here: Any
    there: Any


def integer_noise() -> list[Case]:
    """Noise on whole numbers, and coins: the value is added after the draw."""
    one = {"shape": (1,)}
    laplace = GeometricNoise(**one, sensitivity=Fraction(1), epsilon=Fraction(1)).sample
    gaussian = GaussianNoise(**one, squared_sensitivity=Fraction(1), rho=Fraction(1, 2)).sample
    answer = Randomized(answers=3, epsilon=Fraction(1)).sample
    threshold = AboveThreshold(threshold=100, sensitivity=1, positives=1, epsilon=Fraction(1))

    def count(number: int) -> NDArray[np.int64]:
        return np.array([number], dtype=np.int64)

    return [
        Case("discrete Laplace", "0, 1", laplace, count(0), count(1)),
        Case("discrete Laplace", "0, 2^50", laplace, count(0), count(2**50)),
        Case("discrete Gaussian", "0, 1", gaussian, count(0), count(1)),
        Case("discrete Gaussian", "0, 2^50", gaussian, count(0), count(2**50)),
        Case("randomised response", "first answer, last", answer, 0, 2),
        Case(
            "sparse vector, one step", "far below, far above",
            lambda value: threshold.start().step(value), -(10**6), 10**6,
        ),
    ]  # fmt: skip


def selection() -> list[Case]:
    """Choices among scores: gaps decide how many coins are flipped, and how long each takes."""
    level = np.zeros(CANDIDATES, dtype=np.int64)
    laws: dict[str, Draw] = {
        "permute-and-flip": lambda scores: noise.permute_and_flip(scores, rate=Fraction(1, 2)),
        "exponential mechanism": lambda scores: noise.exponential(scores, rate=Fraction(1, 2)),
        "top 10": lambda scores: noise.top_k(scores, 10, rate=Fraction(1, 20)),
    }
    cases = []
    for law, run in laws.items():
        for lead in (1, 20, 1000):
            other = level.copy()
            other[CANDIDATES // 2] = lead
            cases.append(Case(law, f"all equal, one leads by {lead}", run, level, other))
    return cases


def real_noise() -> list[Case]:
    """Noise on real numbers: digits are drawn until the rounding of value and noise is settled."""
    grid = -20
    laws: dict[str, Callable[[Any, Any], Any]] = {
        "generalised Cauchy": lambda v, s: noise.perturb_cauchy(v, s, grid_exponent=grid, gamma=4),
        "real Laplace": lambda v, s: noise.perturb_laplace(v, s, grid_exponent=grid),
        "real Gaussian": lambda v, s: noise.perturb_gaussian(v, s, grid_exponent=grid),
    }
    one, more = Fraction(1), Fraction(11, 10)
    pairs = [
        ("value 0, 1", (0.0, one), (1.0, one)),
        ("value 0, 123456.789", (0.0, one), (123456.789, one)),
        ("scale 1, 1.1", (1.0, one), (1.0, more)),
        ("scale 1, 1100", (1.0, one), (1.0, 1000 * more)),
        ("scale 1, 0", (1.0, one), (1.0, 0 * one)),
    ]
    cases = [
        Case(law, words, lambda value, add=add: add(*value), here, there)
        for law, add in laws.items()
        for words, here, there in pairs
    ]

    def knorm(value: list[float]) -> Any:
        return noise.perturb_knorm(value, 1, grid_exponent=grid)

    zero = [0.0, 0.0, 0.0]
    return [
        *cases,
        Case("K-norm, 3 numbers", "all 0, one 1", knorm, zero, [1.0, 0.0, 0.0]),
        Case("K-norm, 3 numbers", "all 0, all 123456.789", knorm, zero, [123456.789] * 3),
    ]


def counting() -> list[Case]:
    """Counting itself, which no noise hides from a stopwatch."""
    public = TablePublic.of(Schema.from_dict({"sex": ["f", "m"], "age": (0, 9)}))

    def table(rows: int) -> Table:
        return public.make_synthetic(rows, noise.generator(rows))

    def count(data: Table) -> Any:
        return data.counts.marginals([(0, 1)])

    thousand = table(1000)
    return [
        Case("counting", "1000 rows, 1001", count, thousand, table(1001)),
        Case("counting", "1000 rows, 10,000", count, thousand, table(10_000)),
    ]


def measured(case: Case, calls: int, generator: np.random.Generator) -> tuple[Any, Any]:
    """Return the nanoseconds of calls on either value, made in random order."""
    order = generator.permutation(np.repeat([0, 1], calls))
    times: tuple[list[int], list[int]] = ([], [])
    values = (case.here, case.there)
    for _ in range(20):
        case.run(case.here)
        case.run(case.there)
    for which in order:
        value = values[which]
        start = time.perf_counter_ns()
        case.run(value)
        times[which].append(time.perf_counter_ns() - start)
    return np.array(times[0]), np.array(times[1])


def compared(case: Case, calls: int, generator: np.random.Generator) -> bool:
    """Print one line of the first table and tell whether time depends on the value."""
    here, there = measured(case, calls, generator)
    statistic, _ = stats.mannwhitneyu(there, here)
    longer = statistic / (here.size * there.size)
    error = np.sqrt((2 * calls + 1) / (12 * calls * calls))
    z = (longer - 0.5) / error
    depends = bool(abs(z) > ALARM)
    print(
        f"{case.draw:24}{case.values:32}{np.median(here) / 1e3:>9.2f}{np.median(there) / 1e3:>9.2f}"
        f"{longer:>9.3f}{z:>9.1f}  {'DEPENDS' if depends else 'no dependence seen'}",
        flush=True,
    )
    return depends


def told(draw: str, run: Callable[[], float], calls: int) -> None:
    """Print how far the time of a call tells the size of its noise."""
    sizes, times = np.empty(calls), np.empty(calls)
    for number in range(calls):
        start = time.perf_counter_ns()
        drawn = run()
        times[number] = time.perf_counter_ns() - start
        sizes[number] = abs(drawn)
    correlation, _ = stats.spearmanr(sizes, times)
    z = correlation * np.sqrt(calls - 1)
    verdict = "TELLS" if abs(z) > ALARM else "nothing seen"
    print(f"{draw:24}{np.median(times) / 1e3:>9.2f}{correlation:>13.3f}{z:>9.1f}  {verdict}")


def draws() -> dict[str, Callable[[], float]]:
    """Draws of single numbers, without any private value."""
    grid = {"grid_exponent": -20}
    return {
        "discrete Laplace, 1": lambda: noise.discrete_laplace(scale=1),
        "discrete Laplace, 1000": lambda: noise.discrete_laplace(scale=1000),
        "discrete Gaussian, 1": lambda: noise.discrete_gaussian(variance=1),
        "discrete Gaussian, 10^6": lambda: noise.discrete_gaussian(variance=10**6),
        "generalised Cauchy": lambda: noise.perturb_cauchy(0, 1, gamma=4, **grid),
        "real Laplace": lambda: noise.perturb_laplace(0, 1, **grid),
        "real Gaussian": lambda: noise.perturb_gaussian(0, 1, **grid),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=4000, help="calls on each value")
    calls = parser.parse_args().calls
    generator = noise.generator(5)
    cases = [*integer_noise(), *selection(), *real_noise(), *counting()]
    gc.disable()
    print(f"{calls} calls on each value; medians in microseconds")
    print(f"{'draw':24}{'values':32}{'first':>9}{'second':>9}{'longer':>9}{'z':>9}  verdict")
    found = [case for case in cases if compared(case, calls, generator)]
    print(f"{len(found)} of {len(cases)} depend on the private value\n")
    print(f"{2 * calls} calls; does the time tell the noise?")
    print(f"{'draw':24}{'median':>9}{'correlation':>13}{'z':>9}  verdict")
    for name, run in draws().items():
        run()
        told(name, run, 2 * calls)


if __name__ == "__main__":
    main()
