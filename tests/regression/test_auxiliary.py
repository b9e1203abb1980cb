"""Made-up tables on which settings are chosen: what they are like, and that a choice is fair."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from sfumato import noise
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import GDP, PureDP
from sfumato.regression.adassp import AdaSSPEstimator
from sfumato.regression.estimator_choice import (
    KINDS,
    Candidate,
    Columns,
    Grid,
    MadeUp,
    Rehearsals,
    Situation,
    pick_interval,
    search,
)
from sfumato.regression.intervals import IntervalChoice
from sfumato.regression.knorm_regression import KNormEstimator
from sfumato.regression.linear_regression import RidgedKNormEstimator, noise_length
from sfumato.regression.preparation import LARGEST_SHARE, scale_share
from tests.regression import made

MIXED = Columns((1, 1, 2, 3), True)
SMALL = Grid((0.4, 2.0), (1.0,), ("weigh",))


def situation(records=500.0, limit=None, columns=MIXED, **options):
    facts = {"count": False, "response": "declared", "features": "declared", **options}
    return Situation(columns, Relation.REPLACE_ONE, limit or PureDP(1), records, **facts)


def test_columns_are_told_from_a_design():
    from sfumato.regression.knorm_regression import KNormRegression

    public = made.table(made.made(5)).public
    columns = Columns.of(public, KNormRegression(epsilon=1, target="cost").design(public))
    assert columns == Columns((3, 1, 2), True)
    assert columns.dimension == 6 and len(columns.profile) == 6
    assert columns.numbers.tolist() == [False, False, False, True, False, False]


@pytest.mark.parametrize("number", range(len(KINDS)))
def test_made_up_tables_stay_within_declared_bounds_and_can_be_told_as_they_say(number):
    table = MadeUp.draw(MIXED, 4000, number)
    assert np.abs(table.features).max() <= 1 and np.abs(table.answers).max() <= 1
    assert (table.features[:, 3:6].sum(axis=1) == 1).all() and (table.features[:, -1] == 1).all()
    weights = np.linalg.lstsq(table.features, table.answers, rcond=None)[0]
    left = np.var(table.answers - table.features @ weights) / np.var(table.answers)
    # Cutting the tails moves it a little.
    assert 1 - left == pytest.approx(KINDS[number][0], abs=0.12)


def test_without_an_intercept_columns_are_centred():
    table = MadeUp.draw(Columns((1, 1), False), 1000, 0)
    assert np.abs(table.features.mean(axis=0)).max() < 1e-9


def test_noise_is_scaled_to_fewer_records():
    large = situation(records=15_000.0)
    assert large.simulated == 1500
    assert large.setting.limit == PureDP(10)
    assert situation(records=15_000.0, limit=GDP("0.01")).setting.limit == GDP(1)
    paid = situation(response="paid", features="paid", count=True)
    # A fiftieth for the count, a tenth for the features, and what a real table pays for the target.
    target = scale_share(int(paid.records), 1, paid.limit, Relation.REPLACE_ONE)
    assert paid.setting.limit == PureDP(Fraction(88, 100) - min(target, LARGEST_SHARE))
    # A table of many features has records for each of them.
    wide = situation(records=90_000.0, columns=Columns((1,) * 129, True))
    assert wide.simulated == 1538 and replace(wide, columns=Columns((9,), False)).simulated == 1500


def test_intervals_are_picked_by_the_law_of_the_choice():
    values = np.linspace(-0.5, 0.1, 300)
    choice = IntervalChoice(PureDP(1), Relation.REPLACE_ONE)
    found = [pick_interval(choice, values, noise.generator(seed))[0] for seed in range(60)]
    # Of 60 seeded choices at ε = 1 on 300 values the middle is a tenth off on average.
    assert np.mean(found) == pytest.approx(-0.2, abs=0.1)


def test_more_budget_does_better_and_no_noise_best():
    candidate = Candidate(RidgedKNormEstimator(), 1.0, "weigh")
    scores = [
        Rehearsals(situation(limit=PureDP(epsilon)), "error", noise_length).score(
            candidate, range(6, 12)
        )
        for epsilon in (1, 10, 1000)
    ]
    assert scores == sorted(scores)
    assert scores[-1] <= Rehearsals(situation(), "error", noise_length).score_without_noise() + 0.05


def test_a_search_takes_the_best_and_is_the_same_every_time():
    families = tuple(
        Candidate(estimator, 1.0, "weigh")
        for estimator in (KNormEstimator(), RidgedKNormEstimator(), AdaSSPEstimator())
    )
    facts = situation(limit=GDP(4), records=300.0)
    found = [
        search(Rehearsals(facts, goal, noise_length), families, SMALL)
        for goal in ("error", "error")
    ]
    assert found[0] == found[1]
    for family in families:
        assert (
            search(Rehearsals(facts, "error", noise_length), (family,), SMALL).score
            <= found[0].score
        )


def test_order_is_judged_by_ranks():
    rehearsals = Rehearsals(situation(), "order", noise_length)
    truth = np.array([1.0, 2, 3, 4, 5]) / 10
    assert rehearsals._judge_guesses(np.array([2.0, 1, 4, 3, 5]), truth) == pytest.approx(0.8)
    assert rehearsals._judge_guesses(np.zeros(5), truth) == 0
