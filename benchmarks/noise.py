"""How fast is exact noise? Discrete Laplace beside NumPy's float Laplace and OpenDP's exact one.

Run `python benchmarks/noise.py`. Everything is drawn by one thread, in turns, in one run, and the
best of several turns counts, so that the ratios hold on a busy machine too. The exit code is 1 when
a goal is missed. (Selection has its own page: `benchmarks/noise_selection.py`.)

OpenDP lives in an environment of its own (`--opendp-venv`, by default `/tmp/venv-opendp`), which
this script makes and fills from the package index when it is missing; `--without-opendp` leaves it
out, and the table then says so.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable
from pathlib import Path

import numpy as np

from sfumato import noise

SCALES = (1, 10, 1000)
NUMPY_GOALS = {1: 2.5, 10: 2.0, 1000: 1.5}
OPENDP_GOAL = 200.0
OPENDP_SAMPLES = 50_000

OPENDP_PROGRAM = """
import json, sys, time
import opendp.prelude as dp
dp.enable_features("contrib")
samples, scales = int(sys.argv[1]), json.loads(sys.argv[2])
seconds = {}
for scale in scales:
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    laplace = dp.m.make_laplace(*space, scale=float(scale))
    zeros = [0] * samples
    laplace(zeros[:100])
    turns = []
    for _ in range(3):
        start = time.perf_counter()
        laplace(zeros)
        turns.append(time.perf_counter() - start)
    seconds[scale] = min(turns)
print(json.dumps(seconds))
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=10_000_000)
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument(
        "--opendp-venv", type=Path, default=Path(tempfile.gettempdir()) / "venv-opendp"
    )
    parser.add_argument("--without-opendp", action="store_true")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON as well")
    options = parser.parse_args()

    laplace = laplace_beside_numpy(options.samples, options.turns)
    opendp = None if options.without_opendp else opendp_rates(options.opendp_venv)
    met = print_laplace(laplace, opendp)
    others = other_samplers(options.samples // 10, options.turns)
    print_others(others)
    if options.json:
        print(json.dumps({"laplace": laplace, "opendp": opendp, "others": others}))
    return 0 if met else 1


def best(turns: int, *jobs: Callable[[], object]) -> list[float]:
    """Return the least seconds of each job, the jobs taking turns."""
    for job in jobs:
        job()  # compile, and touch the memory once
    seconds = [float("inf")] * len(jobs)
    for _ in range(turns):
        for index, job in enumerate(jobs):
            start = time.perf_counter()
            job()
            seconds[index] = min(seconds[index], time.perf_counter() - start)
    return seconds


def laplace_beside_numpy(samples: int, turns: int) -> dict[int, dict[str, float]]:
    """Return samples a second of the exact discrete Laplace and of NumPy's float Laplace."""
    generator = np.random.Generator(np.random.PCG64(1))
    rates = {}
    for scale in SCALES:
        ours, numpy = best(
            turns,
            lambda scale=scale: noise.discrete_laplace(samples, scale=scale),
            lambda scale=scale: generator.laplace(0.0, scale, samples),
        )
        rates[scale] = {"sfumato": samples / ours, "numpy": samples / numpy}
    return rates


def opendp_rates(directory: Path) -> dict[int, float] | None:
    """Return samples a second of OpenDP's integer Laplace, None when it cannot be had."""
    python = directory / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    try:
        if not python.exists():
            print(f"installing OpenDP into {directory} …", flush=True)
            venv.create(directory, with_pip=True)
        if subprocess.run([python, "-c", "import opendp"], capture_output=True).returncode:
            command = [python, "-m", "pip", "install", "--quiet", "opendp", "numpy"]
            subprocess.run(command, check=True)
        command = [python, "-c", OPENDP_PROGRAM, str(OPENDP_SAMPLES), json.dumps(SCALES)]
        answer = subprocess.run(command, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"OpenDP is missing: {error}")
        print(getattr(error, "stderr", None) or "")
        return None
    seconds = json.loads(answer.stdout)
    return {int(scale): OPENDP_SAMPLES / spent for scale, spent in seconds.items()}


def print_laplace(rates: dict[int, dict[str, float]], opendp: dict[int, float] | None) -> bool:
    """Print the table of ratios and return whether every goal that could be checked was met."""
    print("\nDiscrete Laplace, exact, one thread: millions a second, and how many times faster")
    print(f"{'scale':>6} {'sfumato':>9} {'numpy':>8} {'ratio':>7} {'goal':>6} ", end="")
    print(f"{'opendp':>9} {'ratio':>8} {'goal':>6}")
    met = True
    for scale, rate in rates.items():
        ratio = rate["sfumato"] / rate["numpy"]
        met &= ratio >= NUMPY_GOALS[scale]
        print(f"{scale:>6} {rate['sfumato'] / 1e6:>9.1f} {rate['numpy'] / 1e6:>8.1f} ", end="")
        print(f"{ratio:>6.2f}x {NUMPY_GOALS[scale]:>5.1f}x ", end="")
        if opendp is None:
            print("  missing, not compared")
            continue
        peer = rate["sfumato"] / opendp[scale]
        met &= peer >= OPENDP_GOAL
        print(f"{opendp[scale] / 1e6:>9.3f} {peer:>7.0f}x {OPENDP_GOAL:>5.0f}x")
    print("all goals met" if met else "A GOAL IS MISSED", end="")
    print(" (OpenDP was not compared)\n" if opendp is None else "\n")
    return met


def other_samplers(samples: int, turns: int) -> dict[str, float]:
    """Return samples a second of the other exact samplers."""
    exponents = np.arange(samples) % 5000
    jobs: dict[str, Callable[[], object]] = {
        "random words": lambda: noise.bits().words(samples),
        "bernoulli 1/3": lambda: noise.bernoulli(samples, probability="1/3"),
        "bernoulli exp(-1)": lambda: noise.bernoulli_exp(samples, exponent=1),
        "bernoulli exp(-x), many x": lambda: noise.bernoulli_exp_array(exponents, denominator=1000),
        "uniform below 10": lambda: noise.uniform_integers(samples, bound=10),
        "geometric, scale 10": lambda: noise.geometric(samples, scale=10),
        "discrete gaussian, sd 1": lambda: noise.discrete_gaussian(samples, variance=1),
        "discrete gaussian, sd 1000": lambda: noise.discrete_gaussian(samples, variance=10**6),
    }
    return dict(zip(jobs, [samples / s for s in best(turns, *jobs.values())], strict=True))


def print_others(rates: dict[str, float]) -> None:
    """Print how fast the other samplers are."""
    print("Other exact samplers: millions a second")
    for name, rate in rates.items():
        print(f"{name:>28} {rate / 1e6:>8.1f}")


if __name__ == "__main__":
    sys.exit(main())
