"""Published privacy testers on outputs that benchmarks/auditors.py drew; nobody here wrote them.

    PEER/bin/python benchmarks/peers/audit_testers.py --outputs FOLDER --risk 0.001 \
        --testers jax_privacy privacy_estimates [--dp-auditorium CHECKOUT]

PEER is an environment of its own: `pip install jax-privacy==2.0.0 privacy-estimates==0.1.0.post1
scikit-learn`, and `etils` for DP-Auditorium, which is on no index: CHECKOUT is a clone of
github.com/google/differential-privacy. Its packages import TensorFlow when they are imported as
wholes, so that its two testers without TensorFlow are imported from their own files.

Each file of the folder holds the outputs of one method on two neighbouring data sets, `here` and
`there`, a row each, and the claimed `epsilon`. A gradient-boosted classifier of scikit-learn learns
on the first quarters to tell the two apart. The testers are given its scores of the other outputs
and decide. The risk is shared by the files and by the two directions, so that it is the
probability of any false alarm of one tester. A line of JSON is printed for each file and tester:
`bound` is a lower bound on ε for the first two testers, and on δ at the claimed ε for the two of
DP-Auditorium.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from types import ModuleType

import numpy as np

#: Bins of the histogram tester over the scores, which are probabilities.
BINS = 4
#: Of the kernel exp(−b (s − t)²) of the MMD tester: scores 0 and 1 count as wholly different.
BANDWIDTH = 10.0


def learn_scores(here, there):
    """Return the scores of the last three quarters of the outputs on either data set."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    quarter = len(here) // 4
    rows = np.concatenate([here[:quarter], there[:quarter]])
    side = np.repeat([0, 1], quarter)
    model = HistGradientBoostingClassifier(max_iter=60, min_samples_leaf=50, random_state=0)
    model.fit(rows, side)
    return [model.predict_proba(part[quarter:])[:, 1] for part in (here, there)]


def jax_privacy(here, there, epsilon, risk):
    """Bound ε by Clopper and Pearson's intervals at a threshold chosen on a half of the scores."""
    from jax_privacy.auditing import CanaryScoreAuditor, Split

    bounds = [
        CanaryScoreAuditor(likely, unlikely).epsilon_clopper_pearson(
            risk / 2, threshold_strategy=Split(seed=0)
        )
        for likely, unlikely in ((there, here), (-here, -there))
    ]
    return max(bounds), max(bounds) > epsilon


def privacy_estimates(here, there, epsilon, risk):
    """Bound ε from the errors of guessing the data set by the classifier."""
    from privacy_estimates import AttackResults, compute_eps_lo

    wrong_here, wrong_there = int((here > 0.5).sum()), int((there <= 0.5).sum())
    counts = AttackResults(
        FP=wrong_here, TN=len(here) - wrong_here, FN=wrong_there, TP=len(there) - wrong_there
    )
    bound = compute_eps_lo(count=counts, delta=0.0, alpha=risk, method="beta")
    return bound, bound > epsilon


def import_dp_auditorium(checkout):
    """Make the modules of a checkout importable one by one, without what its packages import."""
    root = Path(checkout) / "python" / "dp_auditorium" / "dp_auditorium"
    if not (root / "testers" / "mmd_tester.py").is_file():
        sys.exit(f"{checkout} is not a checkout of google/differential-privacy: no {root}")
    for name in ("", ".configs", ".testers"):
        package = ModuleType("dp_auditorium" + name)
        package.__path__ = [str(root / name[1:])]
        sys.modules[package.__name__] = package


def tried_both_ways(make_tester, here, there, epsilon, risk):
    """Return a tester's larger lower bound on δ at the claimed ε, and whether it rejects."""
    from dp_auditorium.configs.privacy_property import ApproximateDp

    tester = make_tester(ApproximateDp(epsilon=epsilon, delta=0.0))
    bounds = [
        float(tester.estimate_lower_bound(one, other, risk / 2))
        for one, other in ((here, there), (there, here))
    ]
    return max(bounds), tester.reject_property(max(bounds))


def dp_auditorium_histogram(here, there, epsilon, risk):
    from dp_auditorium.configs.property_tester_config import HistogramPropertyTesterConfig
    from dp_auditorium.testers.histogram_tester import HistogramTester

    def make(claim):
        return HistogramTester(
            HistogramPropertyTesterConfig(
                test_discrete_mechanism=False,
                histogram_size=BINS,
                min_value=0.0,
                max_value=1.0,
                approximate_dp=claim,
            )
        )

    return tried_both_ways(make, here, there, epsilon, risk)


def dp_auditorium_mmd(here, there, epsilon, risk):
    from dp_auditorium.configs.property_tester_config import Kernel, MMDPropertyTesterConfig
    from dp_auditorium.testers.mmd_tester import MMDPropertyTester

    def make(claim):
        return MMDPropertyTester(
            MMDPropertyTesterConfig(
                kernel=Kernel.KERNEL_RBF, bandwidth=BANDWIDTH, approximate_dp=claim
            )
        )

    return tried_both_ways(make, here, there, epsilon, risk)


TESTERS = {
    "jax_privacy": jax_privacy,
    "privacy_estimates": privacy_estimates,
    "dp_auditorium_histogram": dp_auditorium_histogram,
    "dp_auditorium_mmd": dp_auditorium_mmd,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--outputs", type=Path, required=True)
    parser.add_argument("--risk", type=float, required=True)
    parser.add_argument("--testers", nargs="+", choices=TESTERS, required=True)
    parser.add_argument("--dp-auditorium", metavar="CHECKOUT")
    given = parser.parse_args()
    if given.dp_auditorium is not None:
        import_dp_auditorium(given.dp_auditorium)
    paths = sorted(given.outputs.glob("*.npz"))
    for path in paths:
        with np.load(path) as file:
            epsilon = float(file["epsilon"])
            scores = learn_scores(file["here"], file["there"])
        for tester in given.testers:
            bound, rejected = TESTERS[tester](*scores, epsilon, given.risk / len(paths))
            line = {"subject": path.stem, "tester": tester, "outputs": len(scores[0])}
            print(
                json.dumps(line | {"bound": float(bound), "rejected": bool(rejected)}), flush=True
            )


if __name__ == "__main__":
    main()
