"""Simulate genotypes with msprime, in an environment of its own (pip install msprime numpy).

    python benchmarks/peers/genomics_msprime.py PEOPLE OUT.npy [--length 2e7] [--seed 1]

A chromosome of a population of constant size 10,000, with the mutation and recombination rates of
people. Sites of two alleles whose rarer one has a frequency of at least 5 % are written, as int8 of
shape (sites, people): copies of the derived allele.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import msprime
import numpy as np


def simulate(people: int, length: float, seed: int) -> np.ndarray:
    """Return copies of the derived allele at the common sites."""
    ancestry = msprime.sim_ancestry(
        people,
        sequence_length=length,
        recombination_rate=1e-8,
        population_size=10_000,
        random_seed=seed,
    )
    mutated = msprime.sim_mutations(
        ancestry, rate=1.25e-8, model=msprime.BinaryMutationModel(), random_seed=seed
    )
    rows = []
    for variant in mutated.variants():
        copies = variant.genotypes.reshape(-1, 2).sum(axis=1)
        share = copies.mean() / 2
        if 0.05 <= share <= 0.95:
            rows.append(copies.astype(np.int8))
    return np.array(rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("people", type=int)
    parser.add_argument("out", type=Path)
    parser.add_argument("--length", type=float, default=2e7)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    calls = simulate(given.people, given.length, given.seed)
    np.save(given.out, calls)
    print(f"{calls.shape[0]:,} sites of {calls.shape[1]:,} people")
