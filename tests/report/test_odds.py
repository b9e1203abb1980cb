import math

import pytest

from sfumato.privacy.guarantee import Basis, Guarantee, Relation, Unit
from sfumato.privacy.loss import ZCDP, PureDP
from sfumato.report.drawing import picture_svg
from sfumato.report.odds import (
    belief_bounds,
    best_power,
    odds_blocks,
    percent_down,
    percent_up,
)


@pytest.mark.parametrize("prior", [0.0, 0.01, 0.3, 0.5, 0.99, 1.0])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0, 800.0])
def test_a_belief_moves_by_a_factor_of_the_odds(prior, epsilon):
    low, high = belief_bounds(prior, epsilon)
    assert 0 <= low <= prior <= high <= 1
    if 0 < prior < 1 and epsilon < 100:
        odds = prior / (1 - prior)
        assert high / (1 - high) == pytest.approx(odds * math.exp(epsilon))
        assert low / (1 - low) == pytest.approx(odds / math.exp(epsilon))


def test_no_loss_moves_no_belief():
    assert belief_bounds(0.2, 0.0) == pytest.approx((0.2, 0.2))


def test_the_best_test_meets_both_bounds_of_differential_privacy():
    epsilon, delta = 1.0, 0.01
    for alarm in (0.0, 0.05, 0.2, 0.5, 0.9):
        power = best_power(alarm, epsilon, delta)
        assert power <= math.exp(epsilon) * alarm + delta + 1e-12
        assert 1 - alarm <= math.exp(epsilon) * (1 - power) + delta + 1e-12
    assert best_power(0.3, 0.0, 0.0) == pytest.approx(0.3)


def test_percentages_are_rounded_outward():
    assert percent_up(0.73106) == "73.2 %"
    assert percent_down(0.73106) == "73.1 %"
    assert percent_up(0.0000101) == "0.002 %"
    assert percent_up(0.5) == percent_down(0.5) == "50.0 %"
    assert percent_up(0.99999) == "100.0 %"


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("contribution", [1, 3])
@pytest.mark.parametrize("loss", [PureDP(1), ZCDP("0.1")])
def test_every_guarantee_can_be_explained(relation, contribution, loss):
    guarantee = Guarantee(
        loss=loss,
        unit=Unit.PERSON,
        relation=relation,
        basis=Basis.PROVED,
        contribution=contribution,
    )
    intro, beside = odds_blocks(guarantee)
    assert "one person" in intro.words
    assert picture_svg(beside.picture).startswith("<svg")
    assert len(beside.grid.rows) == 5
