"""Ladder noise: its law, its price, and that widths which are no ladder are caught."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from sfumato import noise
from sfumato.mechanisms import ladder as module
from sfumato.mechanisms.ladder import LadderInput, LadderNoise, ladder_quantile
from sfumato.noise.bits import bits
from sfumato.privacy.loss import ZCDP, PureDP

ONE = Fraction(1)


def masses(primitive, given, reach):
    outputs = range(given.value - reach, given.value + reach + 1)
    return {k: math.exp(primitive.log_probability(given, k)) for k in outputs}


# The 5-node graph with edges ia, aj, ib: no triangle, LS(g, t) = 1, 2, 2, 3, 3, … (n − 2 = 3).
WORKED = LadderInput(0, (1, 2, 2))
# Two logarithms of two: x = e^(−ε/2) is one half.
HALVING = Fraction(2 * math.log(2))


def test_the_worked_example():
    primitive = LadderNoise(epsilon=HALVING, cap=3)
    law = masses(primitive, WORKED, 60)
    assert law[0] == pytest.approx(0.235294, abs=1e-6)
    assert law[1] == law[-1] == pytest.approx(0.117647, abs=1e-6)
    rungs = [law[0], 2 * law[1], 4 * law[2], 4 * law[4]]
    assert law[2] == law[3] != law[4]
    assert rungs == pytest.approx([0.235294, 0.235294, 0.235294, 0.117647], abs=1e-6)
    assert sum(law.values()) == pytest.approx(1, abs=1e-5)


@settings(max_examples=15)
@given(
    st.lists(st.integers(0, 6), max_size=6),
    st.integers(1, 6),
    st.fractions(Fraction(1, 2), 4, max_denominator=5),
)
def test_probabilities_sum_to_one(widths, cap, epsilon):
    primitive = LadderNoise(epsilon=epsilon, cap=cap)
    law = masses(primitive, LadderInput(5, tuple(widths)), 900)
    assert math.fsum(law.values()) == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("by_integers", [False, True])
def test_samples_follow_the_law(monkeypatch, by_integers):
    if by_integers:
        # Floats may decide nothing: every rung is found in integers.
        monkeypatch.setattr(module, "_MARGIN", 1.0)
    primitive = LadderNoise(epsilon=Fraction(7, 10), cap=4)
    given = LadderInput(-3, (1, 0, 2, 4))
    trials = 4_000 if by_integers else 20_000
    with noise.seeded(5):
        drawn = np.array([primitive.sample(given) for _ in range(trials)])
    law = masses(primitive, given, 12)
    seen = np.array([(drawn == k).sum() for k in law] + [(np.abs(drawn + 3) > 12).sum()])
    expected = trials * np.array([*law.values(), 1 - sum(law.values())])
    # χ² at a false-alarm rate of 1e-7.
    statistic = ((seen - expected) ** 2 / expected).sum()
    assert stats.chi2.sf(statistic, len(expected) - 1) > 1e-7


def test_enclosures_hold_the_truth():
    widths, cap, rate = (3, 0, 10**25, 7), 10**26, Fraction(3, 7)
    below, above = module._enclose_weights(widths, cap, rate, 256)
    weights, largest = module._float_weights(widths, cap, float(rate))
    cumulative = np.cumsum(weights) * math.exp(largest)
    for low, high, middle in zip(below, above, cumulative, strict=True):
        assert low <= high
        assert low / 2**256 == pytest.approx(middle, rel=1e-12)
        assert (high - low) / 2**256 <= 1e-40 * middle


@pytest.mark.parametrize("border", range(3))
def test_a_uniform_number_on_a_border_is_decided_by_its_further_bits(border):
    widths, cap, rate = (1, 2, 3), 5, Fraction(1, 2)
    with localcontext(prec=80):
        falling = [(-Decimal(rung) / 2).exp() for rung in range(5)]
        weights = [falling[0], *(2 * w * x for w, x in zip(widths, falling[1:4], strict=True))]
        weights.append(2 * cap * falling[4] / (1 - falling[1]))
        place = sum(weights[: border + 1]) / sum(weights) * 2**64
    word, rest = int(place), place % 1
    found = set()
    for seed in range(40):
        with noise.seeded(seed):
            further = int(bits().words(1)[0])
        with noise.seeded(seed):
            rung = module._decide_rung(widths, cap, rate, word)
        assert rung == (border if further < rest * 2**64 else border + 1)
        found.add(rung)
    # Both rungs of the border are among them, so that a wrong side would have been seen.
    assert found == {border, border + 1}


@settings(max_examples=60)
@given(st.data())
def test_ladders_lose_at_most_epsilon(data):
    """Two neighbours with widths that obey the two conditions, drawn from the far end inward."""
    cap = data.draw(st.integers(1, 6))
    ladders = [[cap], [cap]]
    for _ in range(data.draw(st.integers(1, 5))):
        # I_t(g') ≤ I_{t+1}(g), and the other way round.
        ends = [ladders[1][0], ladders[0][0]]
        ladders = [
            [data.draw(st.integers(0, end)), *rungs]
            for end, rungs in zip(ends, ladders, strict=True)
        ]
    reach = min(ladders[0][0], ladders[1][0])
    here = LadderInput(10, tuple(ladders[0]))
    there = LadderInput(10 + data.draw(st.integers(-reach, reach)), tuple(ladders[1]))
    epsilon = data.draw(st.fractions(Fraction(1, 10), 3, max_denominator=10))
    primitive = LadderNoise(epsilon=epsilon, cap=cap)
    assert primitive.change(here, there).measured <= 1
    for k in range(-40, 61):
        loss = primitive.log_probability(here, k) - primitive.log_probability(there, k)
        assert abs(loss) <= float(epsilon) * (1 + 1e-9)


def test_widths_that_are_no_ladder_are_caught():
    primitive = LadderNoise(epsilon=ONE, cap=100)
    here = LadderInput(0, (4, 11, 20))
    # I₀ = 12 of the neighbour exceeds I₁ = 11: an integer moves by two rungs.
    there = LadderInput(4, (12, 30, 40))
    assert primitive.change(here, there).measured == 2
    assert not primitive.change(here, there).holds
    jumped = LadderInput(9, (4, 11, 20))
    assert not primitive.change(here, jumped).holds


def test_extremes_attain_the_largest_loss():
    primitive = LadderNoise(epsilon=ONE, cap=9)
    here, there = LadderInput(0, (1, 2, 4)), LadderInput(1, (2, 3, 5))

    def loss(k):
        return primitive.log_probability(here, k) - primitive.log_probability(there, k)

    found = [loss(k) for k in primitive.extremes(here, there)]
    everywhere = [loss(k) for k in range(-60, 61)]
    assert max(map(abs, found)) == pytest.approx(max(map(abs, everywhere)))


def test_a_statistic_that_cannot_change_is_said_as_it_is():
    primitive = LadderNoise(epsilon=ONE, cap=0)
    given = LadderInput(7, ())
    assert primitive.sample(given) == 7
    assert primitive.log_probability(given, 7) == 0
    assert primitive.log_probability(given, 8) == -math.inf
    assert primitive.extremes(given, given) == [7]
    assert primitive.change(given, given).holds
    assert not primitive.change(given, LadderInput(8, ())).holds
    assert ladder_quantile(given, 0.5, epsilon=ONE, cap=0) == 0
    # Where the first rung holds most of the probability, the median error is nothing.
    assert ladder_quantile(WORKED, 0.5, epsilon=Fraction(20), cap=3) == 0


@pytest.mark.parametrize("epsilon", ["1e-9", "1e-3", "50", "1e6"])
def test_extreme_budgets_and_widths(epsilon):
    primitive = LadderNoise(epsilon=Fraction(epsilon), cap=10**30)
    given = LadderInput(10**20, (10, 10**10, 10**25))
    with noise.seeded(2):
        drawn = [primitive.sample(given) for _ in range(20)]
    assert all(type(k) is int for k in drawn)
    assert all(math.isfinite(primitive.log_probability(given, k)) for k in drawn)
    if epsilon == "1e6":
        assert set(drawn) == {10**20}


def test_widths_are_cut_to_the_public_range():
    primitive = LadderNoise(epsilon=ONE, cap=5)
    wild, tame = LadderInput(0, (-3, 9, 2)), LadderInput(0, (0, 5, 2))
    for k in range(-20, 21):
        assert primitive.log_probability(wild, k) == primitive.log_probability(tame, k)


@pytest.mark.parametrize("probability", [0.2, 0.5, 0.8, 0.95, 0.999])
def test_quantiles_are_those_of_the_law(probability):
    epsilon, cap = Fraction(1, 2), 6
    given = LadderInput(0, (1, 3, 0, 5))
    law = masses(LadderNoise(epsilon=epsilon, cap=cap), given, 400)
    found = ladder_quantile(given, probability, epsilon=epsilon, cap=cap)
    within = sum(mass for k, mass in law.items() if abs(k) <= found)
    closer = sum(mass for k, mass in law.items() if abs(k) < found)
    assert closer - 1e-9 <= probability <= within + 1e-9


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="epsilon"):
        LadderNoise(epsilon=Fraction(0), cap=1)
    for cap in (-1, 1.5, True):
        with pytest.raises(ValueError, match="cap"):
            LadderNoise(epsilon=ONE, cap=cap)
    primitive = LadderNoise(epsilon=ONE, cap=1)
    for value in (3, LadderInput(1.0, ()), LadderInput(1, (0.5,))):
        with pytest.raises(ValueError, match="whole"):
            primitive.check(value)
    with pytest.raises(ValueError, match="probability"):
        ladder_quantile(WORKED, 1.0, epsilon=ONE, cap=3)


def test_it_costs_epsilon_in_every_measure():
    primitive = LadderNoise(epsilon=Fraction(1, 2), cap=3)
    assert primitive.cost(PureDP) == PureDP(Fraction(1, 2))
    assert primitive.cost(ZCDP) == ZCDP(Fraction(1, 8))


@given(st.data())
def test_change_is_the_largest_move_over_all_integers(data):
    """However far apart the values are, and however unlike the ladders."""
    cap = data.draw(st.integers(1, 5))
    widths = st.lists(st.integers(0, cap), max_size=6).map(tuple)
    here = LadderInput(0, data.draw(widths))
    there = LadderInput(data.draw(st.integers(-70, 70)), data.draw(widths))
    primitive = LadderNoise(epsilon=ONE, cap=cap)
    ladders = [module._Ladder(side.value, side.rungs, cap) for side in (here, there)]
    everywhere = max(abs(ladders[0].rung(k) - ladders[1].rung(k)) for k in range(-250, 251))
    assert primitive.change(here, there).measured == everywhere
