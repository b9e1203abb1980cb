"""One run of MST or AIM of smartnoise-synth 1.0.8, in an environment of its own.

    PEER/bin/python benchmarks/peers/tabular_smartnoise.py --method aim --degree 3 \
        --data codes.csv --domain domain.json --epsilon 0.1 --delta 1e-9 --seed 1 \
        --out out.csv --packaged packaged.csv

The synthesisers are called as their documentation says, with a transformer fitted to the public
domain and not to the rows, so that no budget goes into preprocessing. The workload of AIM is all
tables of `degree` columns with at most `max_cells` cells (its default, 10,000).

Rows are written twice. `--packaged` holds what `sample` of the package gives: mbi 1.1.0, which it
needs, fills each column by ranks in the order of the rows, so that columns with a common neighbour
in the model come out sorted alike, and tables that the model has right are wrong by up to half in
the rows. It would be no feat to be better than that, so `--out` holds independent rows of the
fitted model, ten times as many as there are, which leaves next to no error of sampling.

What their guarantee does not cover: the number of rows is used as it is, and noise is drawn at zero
and added in floating point. The seed fixes the choices and the rows; measurement noise comes from
OpenDP and is fresh in every run.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import resource
import sys
import time


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("data", "domain", "out", "packaged"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--method", choices=("mst", "aim"), required=True)
    parser.add_argument("--degree", type=int, default=2, help="of the workload of AIM")
    parser.add_argument("--epsilon", type=float, required=True)
    parser.add_argument("--delta", type=float, default=1e-9)
    parser.add_argument("--seed", type=int, required=True)
    given = parser.parse_args()

    import numpy as np
    import pandas as pd
    from snsynth.aim import AIMSynthesizer
    from snsynth.mst.mst import MSTSynthesizer
    from snsynth.transform.label import LabelTransformer
    from snsynth.transform.table import TableTransformer

    np.random.seed(given.seed)  # noqa: NPY002 - the generator the peer draws from
    with open(given.domain) as file:
        sizes = json.load(file)
    rows = pd.read_csv(given.data)[list(sizes)]
    every = {name: np.arange(max(sizes.values())) % size for name, size in sizes.items()}
    transformer = TableTransformer([LabelTransformer(nullable=False) for _ in sizes])
    transformer.fit(pd.DataFrame(every))
    assert transformer.cardinality == list(sizes.values())
    wall, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
    with contextlib.redirect_stdout(sys.stderr):
        if given.method == "mst":
            synthesizer = MSTSynthesizer(epsilon=given.epsilon, delta=given.delta)
        else:
            synthesizer = AIMSynthesizer(
                epsilon=given.epsilon, delta=given.delta, degree=given.degree
            )
        synthesizer.fit(rows, transformer=transformer, preprocessor_eps=0.0)
        synthetic = synthesizer.sample(len(rows))
    after, wall = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter() - wall
    synthetic.to_csv(given.packaged, index=False)
    model = type(synthesizer.synthesizer)
    model.synthetic_data = functools.partialmethod(model.synthetic_data, method="sample")
    synthesizer.sample(10 * len(rows)).to_csv(given.out, index=False)
    note = f"workload of degree {given.degree}" if given.method == "aim" else ""
    print(
        json.dumps(
            {
                "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
                "wall": wall,
                "memory_mib": after.ru_maxrss / 1024,
                "note": note,
            }
        )
    )


if __name__ == "__main__":
    main()
