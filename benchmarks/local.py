"""Local collection: closed forms and tables, variances and speed beside two published packages.

    python benchmarks/local.py tables
    python benchmarks/local.py variance [--peer PEER/bin/python]
    python benchmarks/local.py speed --peer PEER/bin/python [--reports 10000000]

`tables` prints the closed forms: randomised response beside Laplace noise with a threshold, for two
answers and more, and the best design for many sizes. `variance` compares exact variances with those
of the p and q that pure-ldp 1.2.0 and multi-freq-ldpy 0.2.5 use, at equal epsilon; with `--peer`
their measured errors stand beside. `speed` makes and counts reports here, through the one door and
with its books, and by the peers, whose loops over reports are timed on fewer and taken in
proportion. Processor time is compared, because other work may share the machine.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from sfumato.local import (
    HadamardResponse,
    LaplaceResponse,
    LocalHash,
    RandomizedResponse,
    SubsetSelection,
    UnaryEncoding,
    best_design,
)

PEERS = [
    Path(__file__).parent / "peers" / f"local_{name}.py" for name in ("pure_ldp", "multi_freq")
]
ANSWERS = (2, 4, 10, 16, 64, 128, 512)
EPSILONS = (0.1, 0.5, 1.0, 2.0, 3.0, 5.0)
#: What the peers call each design.
CALLED = {
    "GRR": RandomizedResponse,
    "DE": RandomizedResponse,
    "OUE": UnaryEncoding,
    "SUE": lambda **given: UnaryEncoding(symmetric=True, **given),
    "OLH": LocalHash,
    "SS": SubsetSelection,
    "HR": HadamardResponse,
}


def published(protocol: str, k: int, epsilon: float) -> float:
    """Return n times the mean variance of a share, from the p and q that the peers use."""
    e = math.exp(epsilon)
    if protocol == "GRR":
        p, q = e / (e + k - 1), 1 / (e + k - 1)
    elif protocol == "OUE":
        p, q = 0.5, 1 / (e + 1)
    elif protocol == "SUE":
        p = math.exp(epsilon / 2) / (math.exp(epsilon / 2) + 1)
        q = 1 - p
    elif protocol == "OLH":
        g = round(e) + 1
        p, q = e / (e + g - 1), 1 / g
    else:
        d = max(1, round(k / (e + 1)))
        p = d * e / (d * e + k - d)
        q = (d - p) / (k - 1)
    return (p * (1 - p) + (k - 1) * q * (1 - q)) / (k * (p - q) ** 2)


def variance(peer: str | None) -> None:
    """Print how our variances compare, protocol by protocol and for the best of all."""
    names = ("GRR", "OUE", "SUE", "OLH", "SS")
    print("mean variance of a share, times reports; ours/theirs by protocol; best/best of theirs")
    print(f"{'k':>5} {'eps':>4} " + " ".join(f"{name:>9}" for name in names) + "   best  design")
    worst = 0.0
    for k in ANSWERS:
        for epsilon in EPSILONS:
            theirs = [published(name, k, epsilon) for name in names]
            ours = [
                CALLED[name](epsilon=epsilon, answers=k).variance(1 / k, 1).sample for name in names
            ]
            ratios = [mine / other for mine, other in zip(ours, theirs, strict=True)]
            chosen = best_design(k, epsilon).design
            best = chosen.variance(1 / k, 1).sample / min(theirs)
            worst = max(worst, best, *ratios)
            told = " ".join(f"{ratio:9.6f}" for ratio in ratios)
            print(f"{k:5} {epsilon:4} {told} {best:6.4f}  {type(chosen).__name__}")
    print(f"largest ratio: {worst:.9f}")
    if peer is None:
        return
    options = ("--answers", "16", "128", "--epsilons", "0.5", "1", "3", "--reports", "20000")
    print(
        "measured: n times the mean squared error of the peer; exact variance of ours, of the best"
    )
    for line in asked(peer, *options, "--hashed", "1000"):
        if line["error"] is None:
            continue
        k, epsilon = line["answers"], line["epsilon"]
        ours = CALLED[line["protocol"]](epsilon=epsilon, answers=k).variance(1 / k, 1).sample
        best = best_design(k, epsilon).design.variance(1 / k, 1).sample
        print(
            f"{line['peer']:>16} {line['protocol']:>4} {k:5} {epsilon:4} "
            f"{line['error'] * line['reports']:9.4f} {ours:9.4f} {best:9.4f}"
        )


def asked(peer: str, *options: str) -> list[dict]:
    """Return what the two peers measure."""
    lines = []
    for script in PEERS:
        found = subprocess.run(
            [peer, str(script), *options], check=True, capture_output=True, text=True
        )
        lines += [json.loads(line) for line in found.stdout.splitlines()]
    return lines


def timed(design, codes: np.ndarray) -> tuple[float, float]:
    """Return the seconds that making and counting all reports take, the best of three."""
    found = []
    for _ in range(3):
        start = time.process_time()
        reports = design.perturb_all(codes)
        middle = time.process_time()
        design.support(reports)
        found.append((middle - start, time.process_time() - middle))
        del reports
    return min(a for a, _ in found), min(b for _, b in found)


def speed(peer: str, many: int, k: int, epsilon: float) -> None:
    """Print how long so many reports take here and, in proportion, by the peers."""
    drawn = np.random.default_rng(1).geometric(0.1, many)
    codes = np.minimum(drawn - 1, k - 1)
    lines = asked(peer, "--answers", str(k), "--epsilons", str(epsilon), "--reports", "100000")
    print(f"{many:,} reports of {k} answers, epsilon {epsilon}: seconds to perturb and to count")
    ours: dict[str, tuple[float, float]] = {}
    for line in lines:
        name = line["protocol"]
        kind = "GRR" if name == "DE" else name
        if kind not in ours:
            design = CALLED[kind](epsilon=epsilon, answers=k)
            design.support(design.perturb_all(codes[:100]))  # compiled code is loaded once
            ours[kind] = timed(design, codes)
        here, there = ours[kind], (line["perturb"] * many, line["aggregate"] * many)
        print(
            f"{line['peer']:>16} {name:>4}  ours {here[0]:7.2f} {here[1]:7.3f}  theirs "
            f"{there[0]:8.1f} {there[1]:8.1f}  times {there[0] / here[0]:7.1f} "
            f"{there[1] / here[1]:8.1f}  together {sum(there) / sum(here):7.1f}",
            flush=True,
        )


def tables() -> None:
    """Print the closed forms for two answers and for several, and the best designs."""
    print("two answers: p of RR, p of Laplace, its true epsilon, n·Var of RR, of Laplace, ratio")
    for epsilon in (0.1, 0.5, 1, 2, 5, 10):
        told = RandomizedResponse(epsilon=epsilon, answers=2)
        laplace = LaplaceResponse(epsilon=epsilon, answers=2)
        mine = told.variance(0.5, 1).sample
        other = float(laplace.variances([0.5, 0.5], 1)[0][0])
        print(
            f"{epsilon:5} {float(told.p):.5f} {laplace.matrix[0, 0]:.5f} "
            f"{laplace.realised_epsilon:.4f} {mine:10.5f} {other:10.5f} {other / mine:7.3f}"
        )
    print(
        "t answers of equal shares, 248 people: mean population variance of RR, of Laplace, ratio"
    )
    for t, epsilon in ((3, 0.1), (3, 1), (3, 5), (6, 0.1), (6, 0.5), (6, 1), (6, 2), (6, 5)):
        shares = np.full(t, 1 / t)
        mine = RandomizedResponse(epsilon=epsilon, answers=t).variances(shares, 248)[1].mean()
        other = LaplaceResponse(epsilon=epsilon, answers=t).variances(shares, 248)[1].mean()
        print(f"{t:3} {epsilon:5} {mine:11.4g} {other:11.4g} {other / mine:8.1f}")
    print("the best design")
    for k in (2, 5, 10, 50, 200, 1000, 20_000):
        for epsilon in (0.5, 1, 2, 4):
            print("  " + best_design(k, epsilon, 1000).reason)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("speed", "variance", "tables"))
    parser.add_argument("--peer", help="the Python of an environment with both peers")
    parser.add_argument("--reports", type=int, default=10_000_000)
    parser.add_argument("--answers", type=int, default=64)
    parser.add_argument("--epsilon", type=float, default=1.0)
    options = parser.parse_args()
    if options.what == "tables":
        tables()
    elif options.what == "variance":
        variance(options.peer)
    elif options.peer is None:
        sys.exit("speed needs --peer: the Python of an environment with both peers")
    else:
        speed(options.peer, options.reports, options.answers, options.epsilon)


if __name__ == "__main__":
    main()
