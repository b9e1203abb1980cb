"""Reports of pure-ldp 1.2.0, in an environment of its own (with xxhash below 4, scikit-learn,
statsmodels).

    PEER/bin/python benchmarks/peers/local_pure_ldp.py --answers 64 --epsilons 1 --reports 20000

Prints one JSON line for each protocol: its p and q where it has them, the seconds that one report
takes to be made and to be counted, and the mean squared error of its shares, which it does not
clip. Its loops are over reports, so that times grow in proportion. Nothing of its protocols is
changed.
"""

from __future__ import annotations

import argparse
import json
import math
import time

import numpy as np
from pure_ldp.frequency_oracles.direct_encoding import DEClient, DEServer
from pure_ldp.frequency_oracles.hadamard_response import (
    HadamardResponseClient,
    HadamardResponseServer,
)
from pure_ldp.frequency_oracles.local_hashing import LHClient, LHServer
from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer


def protocols(k: int, epsilon: float) -> dict:
    """Return for each protocol its client, its server, p and q."""
    e = math.exp(epsilon)
    half = math.exp(epsilon / 2) / (math.exp(epsilon / 2) + 1)
    g = round(e) + 1
    mapped = {"index_mapper": lambda value: value}
    hadamard = HadamardResponseServer(epsilon, k, **mapped)
    return {
        "DE": (
            DEClient(epsilon, k, **mapped),
            DEServer(epsilon, k, **mapped),
            e / (e + k - 1),
            1 / (e + k - 1),
        ),
        "OUE": (
            UEClient(epsilon, k, use_oue=True, **mapped),
            UEServer(epsilon, k, use_oue=True, **mapped),
            0.5,
            1 / (e + 1),
        ),
        "SUE": (
            UEClient(epsilon, k, use_oue=False, **mapped),
            UEServer(epsilon, k, use_oue=False, **mapped),
            half,
            1 - half,
        ),
        "OLH": (
            LHClient(epsilon, k, use_olh=True, **mapped),
            LHServer(epsilon, k, use_olh=True, **mapped),
            e / (e + g - 1),
            1 / g,
        ),
        "HR": (
            HadamardResponseClient(epsilon, k, hadamard.get_hash_funcs(), **mapped),
            hadamard,
            None,
            None,
        ),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--answers", type=int, nargs="+", default=[64])
    parser.add_argument("--epsilons", type=float, nargs="+", default=[1.0])
    parser.add_argument("--reports", type=int, default=20_000)
    parser.add_argument("--hashed", type=int, default=500, help="reports that OLH counts")
    options = parser.parse_args()
    for k in options.answers:
        for epsilon in options.epsilons:
            for name, (client, server, p, q) in protocols(k, epsilon).items():
                many = options.hashed if name == "OLH" else options.reports
                values = np.minimum(
                    np.random.default_rng().geometric(0.1, many) - 1, k - 1
                ).tolist()
                start = time.process_time()
                reports = [client.privatise(value) for value in values]
                middle = time.process_time()
                for report in reports:
                    server.aggregate(report)
                shares = [server.estimate(v, suppress_warnings=True) / many for v in range(k)]
                end = time.process_time()
                truth = np.bincount(values, minlength=k) / many
                line = {
                    "peer": "pure-ldp",
                    "protocol": name,
                    "answers": k,
                    "epsilon": epsilon,
                    "p": p,
                    "q": q,
                    "perturb": (middle - start) / many,
                    "aggregate": (end - middle) / many,
                    "reports": many,
                    "error": float(((np.array(shares) - truth) ** 2).mean()),
                }
                print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
