import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.privacy.loss import (
    ZCDP,
    ApproxDP,
    PureDP,
    Unpriced,
    convert,
    loss_from_json,
    zero,
)
from sfumato.privacy.rounding import (
    exp_down,
    exp_up,
    log_down,
    log_up,
    round_down,
    round_up,
    sqrt_down,
    sqrt_up,
)

FRACTIONS = st.fractions(min_value=Fraction(1, 1000), max_value=20, max_denominator=10**6)


def test_ten_times_a_tenth_is_one():
    total = PureDP(0)
    for _ in range(10):
        total = total + PureDP(0.1)
    assert total == PureDP(1)


@pytest.mark.parametrize("bad", [-1, float("nan"), float("inf"), "x", None, True, 1j])
def test_a_loss_refuses_what_is_no_loss(bad):
    with pytest.raises(ValueError, match="epsilon must be"):
        PureDP(bad)
    with pytest.raises(ValueError, match="rho must be"):
        ZCDP(bad)


def test_delta_of_one_or_more_is_refused():
    with pytest.raises(ValueError, match="delta must be at least 0 and less than 1"):
        ApproxDP(1, 1)


@given(FRACTIONS)
def test_bounds_enclose_and_are_close(x):
    assert exp_down(x) < exp_up(x) and exp_up(x) / exp_down(x) < 1 + Fraction(1, 10**36)
    assert float(exp_down(x)) == pytest.approx(math.exp(x))
    assert log_down(x) <= log_up(x)
    assert sqrt_down(x) ** 2 <= x <= sqrt_up(x) ** 2
    assert round_down(x) <= x <= round_up(x)
    # e^x e^-x = 1 lies between the products of the bounds.
    assert exp_down(x) * exp_down(-x) <= 1 <= exp_up(x) * exp_up(-x)
    assert log_down(exp_down(x)) <= x <= log_up(exp_up(x))


@given(FRACTIONS, st.integers(1, 30))
def test_the_share_of_one_unit_grows_back_to_no_more_than_the_whole(epsilon, size):
    for loss in (PureDP(epsilon), ZCDP(epsilon), ApproxDP(epsilon, "1e-9")):
        assert loss.per_unit(size).group(size).fits(loss)


def test_group_and_replacement_by_hand():
    assert PureDP(1).group(3) == PureDP(3)
    assert ZCDP("1/2").group(3) == ZCDP("9/2")
    grouped = ApproxDP(1, "1e-6").group(3)
    assert grouped.epsilon == 3
    assert float(grouped.delta) == pytest.approx(1e-6 * (1 + math.e + math.e**2), rel=1e-12)
    assert PureDP(1).replace_one() == PureDP(2)
    assert ZCDP(1).replace_one() == ZCDP(4)
    replaced = ApproxDP(1, "1e-6").replace_one()
    assert float(replaced.delta) == pytest.approx(1e-6 * (1 + math.e), rel=1e-12)


def test_a_group_whose_delta_reaches_one_is_refused():
    with pytest.raises(Unpriced, match="reaches 1"):
        ApproxDP(1, "0.1").group(10)


def test_a_group_under_an_epsilon_too_large_or_too_small_for_the_closed_form():
    with pytest.raises(Unpriced, match=r"^ε = 1e\+06 bounds no group$"):
        ApproxDP(10**6, "1e-9").group(2)
    # e^ε − 1 rounds down to nothing; then every term is bounded by the last.
    found = ApproxDP("1e-60", "1e-9").group(2).delta
    assert 0 <= found - Fraction(2, 10**9) < Fraction(1, 10**30)


@pytest.mark.parametrize(("rho", "delta"), [(0.5, 1e-6), (0.01, 1e-9), (3, 1e-5), (1e-4, 1e-12)])
def test_zcdp_to_approximate_agrees_with_dp_accounting_and_is_never_below_it(rho, delta):
    dp = pytest.importorskip("dp_accounting")
    accountant = dp.rdp.RdpAccountant(orders=[1 + 10 ** (i / 200) for i in range(-400, 1200)])
    accountant.compose(dp.ZCDpEvent(rho))
    reference = accountant.get_epsilon(delta)
    ours = float(ZCDP(rho).approximate(delta).epsilon)
    assert ours == pytest.approx(reference, rel=1e-3)
    assert ours <= reference * (1 + 1e-9)
    # The simple bound rho + 2 sqrt(rho ln(1/delta)) is always weaker.
    assert ours <= rho + 2 * math.sqrt(rho * math.log(1 / delta))


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-9), (1, 1e-9), (10, 1e-6), (0.01, 1e-3)])
def test_the_rho_within_a_limit_implies_the_limit_and_is_nearly_the_largest(epsilon, delta):
    limit = ApproxDP(epsilon, delta)
    rho = ZCDP.within(limit)
    assert rho.approximate(delta).fits(ApproxDP(limit.epsilon * (1 + Fraction(1, 10**9)), delta))
    more = ZCDP(rho.rho * Fraction(1001, 1000))
    assert not more.approximate(delta).fits(limit)


def test_a_zero_concentrated_loss_and_a_delta_of_zero():
    with pytest.raises(Unpriced, match="give a delta > 0"):
        ZCDP.within(ApproxDP(1, 0))
    with pytest.raises(Unpriced, match="implies ε = 0, δ = 1e-300; raise delta"):
        ZCDP.within(ApproxDP(0, "1e-300"))
    assert not ZCDP("1e-9").implies(ApproxDP(100, 0))
    assert ZCDP(0).implies(ApproxDP(0, 0))
    assert ZCDP(0).approximate("1e-6") == ApproxDP(0, "1e-6")
    for bad in (0, 1):
        with pytest.raises(ValueError, match=f"greater than 0 and less than 1; got {bad}"):
            ZCDP(1).approximate(bad)


def test_conversions_that_do_not_exist_are_refused():
    with pytest.raises(Unpriced):
        convert(ZCDP(1), PureDP)
    with pytest.raises(Unpriced):
        convert(ApproxDP(1, "1e-6"), PureDP)
    with pytest.raises(Unpriced):
        convert(ApproxDP(1, "1e-6"), ZCDP)
    with pytest.raises(Unpriced):
        convert(ZCDP(1), ApproxDP)
    assert convert(PureDP(1), ZCDP) == ZCDP("1/2")
    assert convert(PureDP(1), ApproxDP) == ApproxDP(1, 0)
    assert convert(ApproxDP(1, 0), PureDP) == PureDP(1)


@pytest.mark.parametrize("loss", [PureDP("1/3"), ApproxDP("1/3", "1e-30"), ZCDP("2/7")])
def test_json_round_trip(loss):
    assert loss_from_json(loss.to_json()) == loss
    assert zero(type(loss)).fits(loss)


def test_directed_rounding_ends_even_at_the_extremes():
    assert log_up(Fraction(1)) == log_down(Fraction(1)) == 0
    near = Fraction(10**60 + 1, 10**60)
    assert log_down(near) == 0 < log_up(near)
    assert log_up(1 / near) == 0 > log_down(1 / near)
    assert exp_down(Fraction(-(10**10))) == 0 < exp_up(Fraction(-(10**10)))
    with pytest.raises(OverflowError, match="not computed"):
        exp_up(Fraction(10**7))


def test_extreme_figures_are_shown_and_converted():
    assert str(PureDP("1e400")) == "ε = 1e+400"
    assert str(PureDP("1/3")) == "ε ≈ 0.333333"
    assert ApproxDP("1e-45", "1e-9").group(3).delta >= Fraction(3, 10**9)
    assert ZCDP(1).approximate("1e-400").epsilon > 30
    assert ZCDP.within(ApproxDP(1, "1e-400")).rho > 0
    assert ZCDP.within(ApproxDP("1e-20", "1e-30")).rho > 0
    assert ZCDP.within(ApproxDP("1e400", "1e-9")).rho > 1
    assert convert(ApproxDP(1, 0), ZCDP) == ZCDP("1/2")


def test_losses_of_different_measures_do_not_add_up():
    with pytest.raises(TypeError, match="convert one of them first"):
        PureDP(1) + ZCDP(1)
