"""One run of dpmm 0.1.9, opendp[mbi] 0.16.0, dpsynth 0.3.0 or MargNet, in its own environment.

    PEER/bin/python benchmarks/peers/tabular_mbi.py --package opendp --method aim --degree 3 \
        --data codes.csv --domain domain.json --epsilon 1 --delta 1e-9 --out out.csv

dpmm is called by its models, which take codes and a domain, with its defaults; its PrivBayes is not
run, because its choice of parents spends more than it says. opendp is called by its context, with
cuts between the codes, so that every column has just the codes of its domain, and with its
defaults; without delta the guarantee is pure, with it a zero-concentrated one that implies
(epsilon, delta). dpsynth is called by its discrete mechanisms, with its defaults and with the rho
that (epsilon, delta) allows. MargNet is called likewise, without its preprocessing, on the
processor, and with the settings of its authors for Adult; its networks have no other defaults. All
but opendp sample as packaged; of opendp rows are independent ones of the model, since the other way
of mbi 1.1.0, which it needs, has a fault (tabular_smartnoise.py).

What their guarantees do not cover: noise of all but opendp is drawn and added in floating point;
dpmm uses the number of rows as it is and draws noise at zero.

The scripts of MST and AIM beside mbi 2 are not run: they call it as it was before its version 2.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
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


def run_dpsynth(given: argparse.Namespace, sizes: dict[str, int]) -> Any:
    """Return synthetic codes of dpsynth, as a frame of pandas."""
    import dpsynth.discrete_mechanisms as mechanisms
    import mbi
    import numpy as np
    import pandas as pd

    frame = pd.read_csv(given.data)
    codes = {name: frame[name].to_numpy() for name in sizes}
    rows = mbi.Dataset(codes, mbi.Domain.fromdict(sizes))
    workload = list(itertools.combinations(sizes, given.degree))
    inner = {
        "mst": mechanisms.MSTConfig(),
        "aim": mechanisms.AIMConfig(workload),
        "aim-gdp": mechanisms.AIMGDPConfig(workload),
        "swift": mechanisms.SWIFTConfig(workload),
    }[given.method]
    config = mechanisms.DiscreteConfig(inner)
    # Its own search for rho begins at 0, where mechanisms of Gaussian noise alone divide by it.
    gaussian = given.method in ("aim-gdp", "swift")
    rho = (gaussian_zcdp if gaussian else zcdp)(given.epsilon, given.delta)
    mechanism = config.configure(zcdp_rho=rho)
    np.random.seed(given.seed)  # noqa: NPY002 - the generator that rows are drawn from
    found = mechanism(np.random.default_rng(given.seed), rows)
    # In random order, since the first rows are those that are judged.
    return pd.DataFrame(found.synthetic_data.to_dict()).sample(frac=1)


def run_margnet(given: argparse.Namespace, sizes: dict[str, int]) -> Any:
    """Return synthetic codes of MargNet, as a frame of pandas."""
    import numpy as np
    import pandas as pd
    import torch
    from method.MargDL.main import MargDLGen

    np.random.seed(given.seed)  # noqa: NPY002 - the generator the peer draws from
    torch.manual_seed(given.seed)
    # It asks how much memory of a graphics card it took, also where there is none.
    torch.cuda.reset_peak_memory_stats = torch.cuda.max_memory_allocated = lambda **_: 0
    rows = pd.read_csv(given.data)[list(sizes)]
    train = {"selection_iterations": 200, "final_iterations": 200, "lr": 0.001, "batch_size": 512}
    config = {"train": train, "model_params": {"d_layers": [256, 256], "dropout": 0.0}}
    options = dict.fromkeys(("iter", "lr", "batch", "test", "resample"))
    words = argparse.Namespace(**options)
    generator = MargDLGen(words, rows, sizes, "cpu", config, ".", "gan")
    generator.fit_adaptive(zcdp(given.epsilon, given.delta))
    return pd.DataFrame(generator.model.sample(len(rows)), columns=list(sizes))


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


def gaussian_zcdp(epsilon: float, delta: float) -> float:
    """Return the largest rho of Gaussian noise that is (epsilon, delta) (Balle and Wang 2018)."""
    low, high = 0.0, epsilon + 1
    for _ in range(60):
        middle = (low + high) / 2
        ratio, half = epsilon / math.sqrt(2 * middle), math.sqrt(2 * middle) / 2
        tails = [math.erfc((ratio + side * half) / math.sqrt(2)) / 2 for side in (-1, 1)]
        fits = tails[0] - math.exp(epsilon) * tails[1] <= delta
        low, high = (middle, high) if fits else (low, middle)
    return low


RUNS = {
    "dpmm": run_dpmm,
    "opendp": run_opendp,
    "dpsynth": run_dpsynth,
    "margnet": run_margnet,
}
METHODS = ("mst", "aim", "aim-gdp", "swift", "margnet")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("data", "domain", "out"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--package", choices=RUNS, required=True)
    parser.add_argument("--method", choices=METHODS, required=True)
    parser.add_argument("--degree", type=int, default=2, help="of the workload of AIM")
    parser.add_argument("--epsilon", type=float, required=True)
    parser.add_argument("--delta", type=float, default=0.0, help="0: pure, opendp only")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with open(given.domain) as file:
        sizes = json.load(file)
    wall, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
    with contextlib.redirect_stdout(sys.stderr):
        synthetic = RUNS[given.package](given, sizes)
    after, wall = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter() - wall
    if given.package == "opendp":
        synthetic.write_csv(given.out)
    else:
        synthetic.to_csv(given.out, index=False)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(json.dumps({"cpu": cpu, "wall": wall, "memory_mib": after.ru_maxrss / 1024, "note": ""}))


if __name__ == "__main__":
    main()
