"""One model of the releases of several parties: public post-processing.

Statistics of disjoint sets of records add up, and so do their noises. Each party releases under its
own budget; what is promised to its people is what its own release promises.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add

import numpy as np

from sfumato.regression.bayesian import Statistics
from sfumato.regression.model import RegressionModel
from sfumato.regression.robust_estimator import STATISTICS, RobustEstimator
from sfumato.regression.robust_regression import RobustLinearRegression
from sfumato.regression.rows import RowRule

__all__ = ["merge_releases"]


def merge_releases(releases: Sequence[RegressionModel]) -> RegressionModel:
    """Return the model of the records of several parties, from their releases alone.

    Parameters
    ----------
    releases
        Releases by `RobustLinearRegression` with the same schema, target, clip and bound, and with
        response and features "declared", so that the parties' rows mean the same.

    Notes
    -----
    Privacy: nothing is spent; it is computed from what has been released.
    """
    if not releases:
        raise ValueError("the list of releases is empty; give the release of at least one party")
    parts = [_part(release) for release in releases]
    method, rule, estimator, _ = parts[0]
    columns = releases[0].public.schema.columns
    for release, (_, other, another, _) in zip(releases, parts, strict=True):
        alike = release.public.schema.columns == columns and _same(rule, other)
        if not alike or estimator.entry != another.entry:
            raise ValueError(
                "the rows of the parties differ; use the same schema, target, clip and bound, "
                "with response='declared' and features='declared'"
            )
    total = reduce(add, [statistics for *_, statistics in parts])
    fit = estimator.fit_weights(total)
    return method._model(releases[0].public, rule, fit, estimator)


def _part(
    release: RegressionModel,
) -> tuple[RobustLinearRegression, RowRule, RobustEstimator, Statistics]:
    """Return how a party's rows were made, and its noisy statistics."""
    origin = release.provenance
    method, public = origin.method, origin.public
    if not isinstance(method, RobustLinearRegression) or method.variant != "proved":
        raise ValueError("only releases of RobustLinearRegression can be merged")
    said = {entry.label: origin.transcript[entry.label] for entry in origin.transcript}
    setting = method.setting(public, said)
    estimator = method.chosen(public, setting)
    rule = method.rule(public, said, estimator)
    return method, rule, estimator, estimator.statistics(setting, said[STATISTICS])


def _same(one: RowRule, other: RowRule) -> bool:
    """Tell whether two rules make the same of every record of one schema."""
    facts = [
        (rule.shape, rule.radius, rule.response_centre, rule.response_bound, rule.design.columns)
        for rule in (one, other)
    ]
    return (
        facts[0] == facts[1]
        and np.array_equal(one.centre, other.centre)
        and np.array_equal(one.spread, other.spread)
    )
