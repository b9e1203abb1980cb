"""One run of MST or AIM of dpmm 0.1.9 or opendp[mbi] 0.16.0, each in an environment of its own.

    PEER/bin/python benchmarks/peers/tabular_mbi.py --package opendp --method aim --degree 3 \
        --data codes.csv --domain domain.json --epsilon 1 --delta 1e-9 --out out.csv

dpmm is called by its models, which take codes and a domain, with its defaults; its PrivBayes is not
run, because its choice of parents spends more than it says. opendp is called by its context, with
cuts between the codes, so that every column has just the codes of its domain, and with its
defaults; without delta the guarantee is pure, with it a zero-concentrated one that implies
(epsilon, delta). dpmm samples as packaged; of opendp rows are independent ones of the model, since
the other way of mbi 1.1.0, which it needs, has a fault (tabular_smartnoise.py).

What the guarantee of dpmm does not cover: the number of rows is used as it is, and noise is drawn
at zero and added in floating point.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import resource
import sys
import time
from typing import Any


def run_dpmm(given: argparse.Namespace, sizes: dict[str, int]) -> Any:
    """Return synthetic codes of dpmm, as a frame of pandas."""
    import numpy as np
    import pandas as pd
    from dpmm.models.aim import AIMGM
    from dpmm.models.mst import MSTGM

    rows = pd.read_csv(given.data)[list(sizes)]
    state = np.random.RandomState(given.seed)
    budget = {"epsilon": given.epsilon, "delta": given.delta, "domain": sizes}
    more = {"random_state": state, "n_jobs": 1}
    if given.method == "mst":
        model = MSTGM(**budget, **more)
    else:
        model = AIMGM(**budget, **more, degree=given.degree)
    model.fit(rows)
    return model.generate(n_records=len(rows))


def run_opendp(given: argparse.Namespace, sizes: dict[str, int]) -> Any:
    """Return synthetic codes of opendp, as a frame of Polars."""
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib")
    rows = pl.read_csv(given.data).select(list(sizes))
    loss = {"rho": zcdp(given.epsilon, given.delta)} if given.delta else {"epsilon": given.epsilon}
    context = dp.Context.compositor(
        data=rows.lazy(),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(**loss),
        split_evenly_over=1,
    )
    algorithm = dp.mbi.MST() if given.method == "mst" else dp.mbi.AIM(queries=given.degree)
    cuts = {name: list(range(size - 1)) for name, size in sizes.items()}
    table = context.query().contingency_table(cuts=cuts, algorithm=algorithm).release()
    return table.synthesize(len(rows), method="sample")


def zcdp(epsilon: float, delta: float) -> float:
    """Return the largest rho that implies (epsilon, delta) (Canonne, Kamath and Steinke 2020)."""

    def implied(rho: float) -> float:
        # The least of a bound that holds for every alpha above 1, on a fine grid.
        logs = []
        for step in range(3_000):
            more = 10 ** (step / 500 - 2)
            value = more * ((1 + more) * rho - epsilon) - (1 + more) * math.log1p(1 / more)
            logs.append(value - math.log(more))
        return math.exp(min(min(logs), 0.0))

    low, high = 0.0, epsilon + 1
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if implied(middle) <= delta else (low, middle)
    return low


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("data", "domain", "out"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--package", choices=("dpmm", "opendp"), required=True)
    parser.add_argument("--method", choices=("mst", "aim"), required=True)
    parser.add_argument("--degree", type=int, default=2, help="of the workload of AIM")
    parser.add_argument("--epsilon", type=float, required=True)
    parser.add_argument("--delta", type=float, default=0.0, help="0: pure, opendp only")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with open(given.domain) as file:
        sizes = json.load(file)
    run = run_dpmm if given.package == "dpmm" else run_opendp
    wall, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
    with contextlib.redirect_stdout(sys.stderr):
        synthetic = run(given, sizes)
    after, wall = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter() - wall
    if given.package == "dpmm":
        synthetic.to_csv(given.out, index=False)
    else:
        synthetic.write_csv(given.out)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(json.dumps({"cpu": cpu, "wall": wall, "memory_mib": after.ru_maxrss / 1024, "note": ""}))


if __name__ == "__main__":
    main()
