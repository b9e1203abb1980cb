"""Fits of diffprivlib 0.6.6, in an environment of its own with scikit-learn 1.6.

    PEER/bin/python benchmarks/peers/regression_diffprivlib.py --data fold.npz \
        --epsilons 0.1 1 10 --draws 3 --out predictions.npz

`fold.npz` holds `features`, `answers`, `test`, the public bounds `low`, `high`, `answer_low`,
`answer_high`, and `classes` (whether the answers are classes). Predictions of every draw are
written under the name of their epsilon, and scored elsewhere like everybody's. Nothing of its
algorithms is changed: LinearRegression with an intercept, LogisticRegression with the length of a
row bounded by the public bounds, after both were stretched to 0 … 1.

What its guarantee does not cover, so that a comparison at the same epsilon flatters it: the
sensitivity of a square is taken from the lower bound alone, so features with a lower bound of 0 get
no noise on their squares; noise is drawn in floating point.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings

import numpy as np


def linear(data, epsilon, seed):
    """Return the predictions of a linear regression."""
    from diffprivlib.models import LinearRegression

    low, high = float(data["answer_low"]), float(data["answer_high"])
    model = LinearRegression(
        epsilon=epsilon,
        bounds_X=(data["low"], data["high"]),
        bounds_y=(low, high),
        random_state=seed,
    )
    model.fit(data["features"], data["answers"])
    return np.clip(model.predict(data["test"]), low, high)


def logistic(data, epsilon, seed):
    """Return the classes that a logistic regression takes records to be of."""
    from diffprivlib.models import LogisticRegression

    width = data["high"] - data["low"]

    def stretched(rows):
        return (np.clip(rows, data["low"], data["high"]) - data["low"]) / width

    model = LogisticRegression(
        epsilon=epsilon, data_norm=float(np.sqrt(len(width))), random_state=seed, max_iter=1000
    )
    model.fit(stretched(data["features"]), data["answers"])
    return model.predict(stretched(data["test"]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--epsilons", type=float, nargs="+", required=True)
    parser.add_argument("--draws", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    data = np.load(given.data)
    fit = logistic if bool(data["classes"]) else linear
    began = time.process_time()
    found = {
        f"{epsilon:g}": np.array(
            [fit(data, epsilon, 1000 * given.seed + draw) for draw in range(given.draws)]
        )
        for epsilon in given.epsilons
    }
    np.savez(given.out, **found)
    print(json.dumps({"cpu": time.process_time() - began}))


if __name__ == "__main__":
    main()
