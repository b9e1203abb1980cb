"""Reports of multi-freq-ldpy 0.2.5, in an environment of its own (with xxhash below 4).

    PEER/bin/python benchmarks/peers/local_multi_freq.py --answers 64 --epsilons 1 --reports 20000

Prints one JSON line for each protocol: the p and q of its papers, the seconds that one report takes
to be made and to be counted, and the mean squared error of the unclipped shares. Its loops are over
reports, so that times grow in proportion. Nothing of its protocols is changed; its estimates are
clipped and normalised, so that the shares are computed here from its own counts.
"""

from __future__ import annotations

import argparse
import json
import math
import time

import numpy as np
from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_MI, GRR_Client
from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Aggregator_MI, LH_Client
from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Aggregator_MI, SS_Client
from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_MI, UE_Client


def protocols(k: int, epsilon: float) -> dict:
    """Return for each protocol its client, its aggregator, p, q, and how support is counted."""
    e = math.exp(epsilon)
    size = int(max(1, np.rint(k / (e + 1))))
    inside = size * e / (size * e + k - size)
    beside = ((size - 1) * size * e + (k - size) * size) / ((k - 1) * (size * e + k - size))
    g = round(e) + 1
    half = math.exp(epsilon / 2) / (math.exp(epsilon / 2) + 1)
    return {
        "GRR": (
            lambda v: GRR_Client(v, k, epsilon),
            lambda r: GRR_Aggregator_MI(r, k, epsilon),
            e / (e + k - 1),
            1 / (e + k - 1),
            lambda r: np.bincount(r, minlength=k),
        ),
        "OUE": (
            lambda v: UE_Client(v, k, epsilon, True),
            lambda r: UE_Aggregator_MI(r, epsilon, True),
            0.5,
            1 / (e + 1),
            sum,
        ),
        "SUE": (
            lambda v: UE_Client(v, k, epsilon, False),
            lambda r: UE_Aggregator_MI(r, epsilon, False),
            half,
            1 - half,
            sum,
        ),
        "SS": (
            lambda v: SS_Client(v, k, epsilon),
            lambda r: SS_Aggregator_MI(r, k, epsilon),
            inside,
            beside,
            lambda r: np.bincount(np.concatenate(r), minlength=k),
        ),
        "OLH": (
            lambda v: LH_Client(v, k, epsilon),
            lambda r: LH_Aggregator_MI(r, k, epsilon),
            e / (e + g - 1),
            1 / g,
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
            for name, (client, server, p, q, support) in protocols(k, epsilon).items():
                many = options.hashed if name == "OLH" else options.reports
                values = np.minimum(
                    np.random.default_rng().geometric(0.1, many) - 1, k - 1
                ).tolist()
                client(0), server([client(0), client(1)])
                start = time.process_time()
                reports = [client(value) for value in values]
                middle = time.process_time()
                server(reports)
                end = time.process_time()
                error = None
                if support is not None:
                    shares = (np.asarray(support(reports)) / many - q) / (p - q)
                    truth = np.bincount(values, minlength=k) / many
                    error = float(((shares - truth) ** 2).mean())
                line = {
                    "peer": "multi-freq-ldpy",
                    "protocol": name,
                    "answers": k,
                    "epsilon": epsilon,
                    "p": p,
                    "q": q,
                    "perturb": (middle - start) / many,
                    "aggregate": (end - middle) / many,
                    "reports": many,
                    "error": error,
                }
                print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
