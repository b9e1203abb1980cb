"""What constraints are worth: the error of `Synthesizer` on Adult with and without them.

    SFUMATO_DATA=… python benchmarks/constraints.py [--runs 3] [--epsilon 0.1 1]

Known without the data: the years of education follow from the degree, a husband is male and a wife
female, and both are married. Three of 45,222 rows violate this and are counted as they are. Errors
are the mean total variation of all two-way tables, and of those that constraints are about.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from itertools import combinations

import numpy as np

import sfumato as sf
from sfumato import noise
from sfumato.data.constraints import read_constraints
from tabular_data import frame, load
from tabular_data import schema as declare

YEARS = (
    "Preschool", "1st-4th", "5th-6th", "7th-8th", "9th", "10th", "11th", "12th", "HS-grad",
    "Some-college", "Assoc-voc", "Assoc-acdm", "Bachelors", "Masters", "Prof-school", "Doctorate",
)  # fmt: skip
MARRIED = ["Married-civ-spouse", "Married-AF-spouse"]
KNOWN = [
    {
        "determines": {"education": "education-num"},
        "map": {degree: years for years, degree in enumerate(YEARS, start=1)},
    },
    {"impossible": {"relationship": "Husband", "sex": "Female"}},
    {"impossible": {"relationship": "Wife", "sex": "Male"}},
    {"impossible": {"relationship": ["Husband", "Wife"], "marital-status": {"not": MARRIED}}},
]


def compare(epsilon: float, runs: int) -> None:
    """Print both errors for one budget."""
    table, rows, schema = load("Adult"), frame("Adult"), declare("Adult")
    known = read_constraints([{**one, "violations": "keep"} for one in KNOWN])
    pairs = list(combinations(range(len(schema.columns)), 2))
    about = {pair for one in known for pair in combinations(sorted(schema.indices(one.names)), 2)}
    truth = [counts / counts.sum() for counts in table.counts.marginals(pairs)]
    for name, constraints in (("without", ()), ("with", known)):
        bound = sf.Table(rows, replace(schema, constraints=constraints))
        errors, wrong = [], 0
        for seed in range(runs):
            with noise.seeded(seed):
                release = sf.Synthesizer(epsilon=epsilon).release(bound)
            shares = [release.model.marginal(pair) for pair in pairs]
            errors.append([np.abs(a - b).sum() / 2 for a, b in zip(truth, shares, strict=True)])
            codes = [c.astype(np.int64) for c in release.published_codes.T]
            rules = replace(schema, constraints=known).rules
            wrong += int((~rules.allows(codes)).sum())
        mean = np.mean(errors, axis=0)
        touched = np.mean([error for pair, error in zip(pairs, mean, strict=True) if pair in about])
        print(
            f"epsilon {epsilon:g}, {name} constraints: two-way error {mean.mean():.4f}, of their "
            f"own tables {touched:.4f}, rows that violate one {wrong / runs:,.0f}",
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.1, 1.0])
    chosen = parser.parse_args()
    for epsilon in chosen.epsilon:
        compare(epsilon, chosen.runs)
