"""One run of DataSynthesizer 0.1.13, in an environment of its own.

    PEER/bin/python benchmarks/peers/tabular_datasynthesizer.py \
        --data codes.csv --domain domain.json --epsilon 0.1 --seed 1 --out synthetic.csv

Correlated attribute mode with the degree it chooses by itself (k=0) or one that is given, and the
public domain given as the domain of its categories. By itself it chooses degrees that take hours
on sixteen binary columns. Nothing of its algorithm is changed; its process pool is replaced by a
loop in this process, so that CPU time can be compared and no time goes into pickling.

What its guarantee does not cover, so that a comparison at the same epsilon flatters it: the
description file holds the noisy one-way histograms for a further whole epsilon (2 epsilon in all);
the degree is chosen for epsilon 0.1 whatever epsilon is; counts are noised for add/remove while
scores are for replace-one; the number of rows, which columns are binary and the shapes of tables
are read from the rows; noise is drawn in floating point from a generator with a default seed.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import sys
import tempfile
import time


class Serial:
    """A pool of this one process."""

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        return None

    def map(self, function, tasks):
        """Do one task after the other."""
        return [function(task) for task in tasks]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("data", "domain", "out"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--epsilon", type=float, required=True)
    parser.add_argument("--delta", type=float, default=0.0, help="not used: pure epsilon")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--degree", type=int, default=0, help="0: as it chooses by itself")
    given = parser.parse_args()

    from DataSynthesizer.DataDescriber import DataDescriber
    from DataSynthesizer.DataGenerator import DataGenerator
    from DataSynthesizer.lib import PrivBayes

    PrivBayes.Pool = Serial
    with open(given.domain) as file:
        sizes = json.load(file)
    with open(given.data) as file:
        rows = sum(1 for _ in file) - 1
    wall, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
    with tempfile.TemporaryDirectory() as place, contextlib.redirect_stdout(sys.stderr):
        domain, description = os.path.join(place, "domain"), os.path.join(place, "description")
        with open(domain, "w") as file:
            json.dump({name: list(range(size)) for name, size in sizes.items()}, file)
        describer = DataDescriber(category_threshold=max(sizes.values()))
        describer.describe_dataset_in_correlated_attribute_mode(
            dataset_file=given.data,
            k=given.degree,
            epsilon=given.epsilon,
            attribute_to_datatype=dict.fromkeys(sizes, "Integer"),
            attribute_to_is_categorical=dict.fromkeys(sizes, True),
            attribute_to_is_candidate_key=dict.fromkeys(sizes, False),
            categorical_attribute_domain_file=domain,
            seed=given.seed,
        )
        describer.save_dataset_description_to_file(description)
        generator = DataGenerator()
        generator.generate_dataset_in_correlated_attribute_mode(rows, description, seed=given.seed)
        generator.encoded_dataset[list(sizes)].to_csv(given.out, index=False)
    after = resource.getrusage(resource.RUSAGE_SELF)
    degree = max(len(parents) for _, parents in describer.bayesian_network)
    print(
        json.dumps(
            {
                "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
                "wall": time.perf_counter() - wall,
                "memory_mib": after.ru_maxrss / 1024,
                "note": f"degree {degree}",
            }
        )
    )


if __name__ == "__main__":
    main()
