"""Measures of shares: worked numbers, gradients, biases, and where the delta method breaks."""

import math
from fractions import Fraction

import numpy as np
import pytest

from sfumato.local import (
    RandomizedResponse,
    Tally,
    UnaryEncoding,
    chi_squared,
    correlation,
    entropy,
    estimate,
    g_squared,
    log_odds_ratio,
    mutual_information,
    odds_ratio,
)
from sfumato.local.axes import AxisLaws, FlatLaw
from sfumato.local.contingency import table_of_counts
from sfumato.local.estimation import shares_of_counts
from sfumato.local.law import MatrixLaw, PureLaw
from sfumato.local.record_reports import SummedLaw

TABLE = np.array([[0.2, 0.1, 0.1], [0.1, 0.2, 0.3]])


def response(k, ratio):
    ratio = Fraction(ratio)
    return PureLaw(k, ratio / (ratio + k - 1), 1 / (ratio + k - 1), Fraction(0), Fraction(0))


def matrix_of(law):
    p, q = float(law.p), float(law.q)
    return np.full((law.k, law.k), q) + (p - q) * np.eye(law.k)


THIRDS = AxisLaws((response(2, 3), response(3, 3)))


def exact_table(law, shares, n):
    """The table of reports that are exactly as expected."""
    return table_of_counts(law, law.reported_shares(shares) * n, n)


def test_the_entropy_of_the_worked_example():
    measure = entropy(shares_of_counts(response(3, 4), [50, 30, 20], 100))
    assert measure.value == pytest.approx(1.158939, abs=1e-6)
    assert measure.variance == pytest.approx(0.0648745, abs=1e-7)
    assert not measure.reliable and "2 of 3 shares" in measure.doubts[0]
    low, high = measure.interval()
    assert high - low == pytest.approx(2 * 1.959964 * math.sqrt(0.0648745), rel=1e-5)


def test_the_bias_of_entropy_is_that_of_its_curvature():
    shares = shares_of_counts(response(3, 4), [50000, 30000, 20000], 100_000)
    spread = shares.law.spread(shares.estimates, population=True) / 100_000
    expected = -(spread / shares.estimates).sum() / (2 * math.log(2))
    assert entropy(shares).bias == pytest.approx(expected, rel=1e-4)


def test_chi_squared_of_the_worked_table():
    table = exact_table(THIRDS, TABLE, 100)
    assert THIRDS.reported_shares(TABLE).ravel() == pytest.approx(
        [0.16, 0.14, 0.15, 0.16, 0.18, 0.21]
    )
    measure = chi_squared(table)
    assert measure.value == pytest.approx(13.19444, abs=1e-5)
    # The worked numbers have n in the denominator, ours n − 1.
    assert measure.variance * 99 / 100 == pytest.approx(1385.49, abs=0.01)
    sure = exact_table(AxisLaws((response(2, 10**15), response(3, 10**15))), TABLE, 100)
    assert chi_squared(sure).variance * 99 / 100 == pytest.approx(47.47, abs=0.01)
    # The bias does not shrink with n: simulations found about 50.
    assert measure.bias == pytest.approx(53.59, abs=0.01)
    assert chi_squared(exact_table(THIRDS, TABLE, 10**6)).bias == pytest.approx(53.59, abs=0.01)


def test_the_gradient_of_chi_squared_is_the_worked_one(monkeypatch):
    seen = []
    monkeypatch.setattr(
        "sfumato.local.measures.measure_of",
        lambda name, shares, value, gradient: seen.append(gradient(TABLE)),
    )
    chi_squared(exact_table(THIRDS, TABLE, 100))
    expected = [[83.9120, -54.9769, -104.1667], [-127.3148, 11.5741, 31.8287]]
    np.testing.assert_allclose(seen[0], expected, atol=1e-4)


@pytest.mark.parametrize("measure", [chi_squared, g_squared, mutual_information, correlation])
def test_gradients_agree_with_differences_along_the_simplex(measure, monkeypatch):
    seen = {}
    monkeypatch.setattr(
        "sfumato.local.measures.measure_of",
        lambda name, shares, value, gradient: seen.update(value=value, gradient=gradient),
    )
    measure(exact_table(THIRDS, TABLE, 100))
    rng = np.random.default_rng(4)
    for _ in range(10):
        way = rng.normal(size=(2, 3))
        way -= way.mean()
        step = 1e-6
        rise = seen["value"](TABLE + step * way) - seen["value"](TABLE - step * way)
        along = float((seen["gradient"](TABLE) * way).sum())
        assert rise / (2 * step) == pytest.approx(along, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("of", ["sample", "population"])
def test_the_fast_form_is_the_quadratic_form_of_the_dispersion(of):
    n = 1000
    laws = (
        response(2, 3),
        MatrixLaw(np.array([[0.7, 0.2, 0.1], [0.2, 0.6, 0.2], [0.1, 0.2, 0.7]])),
    )
    axes = AxisLaws(laws)
    table = exact_table(axes, TABLE, n)
    kronecker = np.kron(matrix_of(laws[0]), laws[1].matrix)
    reported = kronecker @ TABLE.ravel()
    np.testing.assert_allclose(axes.reported_shares(TABLE).ravel(), reported)
    np.testing.assert_allclose(table.estimates, TABLE, atol=1e-12)
    inverse = np.linalg.inv(kronecker)
    whole = inverse @ np.diag(reported) @ inverse.T
    flat = TABLE.ravel()
    if of == "population":
        dispersion = (whole - np.outer(flat, flat)) / (n - 1)
    else:
        dispersion = (whole - np.diag(flat)) / n
    np.testing.assert_allclose(table.variances(of).ravel(), np.diag(dispersion))
    for gradient in np.random.default_rng(2).normal(size=(5, 2, 3)):
        along = table.variance_along(gradient, TABLE, of)
        assert along == pytest.approx(gradient.ravel() @ dispersion @ gradient.ravel())


def test_axis_by_axis_is_the_inverse_of_the_kronecker_product():
    laws = (response(2, 2), response(3, 4), response(2, 5))
    counts = np.random.default_rng(1).integers(0, 50, (2, 3, 2))
    n = int(counts.sum())
    dense = np.kron(np.kron(*map(matrix_of, laws[:2])), matrix_of(laws[2]))
    expected = np.linalg.solve(dense, counts.ravel() / n)
    table = table_of_counts(AxisLaws(laws), counts.ravel(), n)
    np.testing.assert_allclose(table.unbiased.ravel(), expected)
    squares = np.linalg.inv(dense) ** 2 @ (counts.ravel() / n)
    np.testing.assert_allclose(
        table.variances().ravel(), (squares - expected**2) / (n - 1), rtol=1e-9
    )
    # Cells are in C order: the last question runs fastest.
    assert table.to_frame()["question 3"].to_list()[:3] == ["0", "1", "0"]


@pytest.mark.parametrize(
    ("epsilon", "split", "joint", "each"),
    [(1, 0.421, 0.0279, 0.0204), (2, 0.0204, 0.00308, 0.00130), (5, 6.6e-4, 2.7e-4, 2.3e-4)],
)
def test_six_by_three_answers_of_248_people(epsilon, split, joint, each):
    """Two questions at half of epsilon, all combinations at epsilon, and twice epsilon in all."""
    even = np.full((6, 3), 1 / 18)

    def law(k, size):
        return response(k, Fraction(math.exp(size)))

    def variance(law):
        return law.spread(even, population=True).mean() / 248

    found = [
        variance(AxisLaws((law(6, epsilon / 2), law(3, epsilon / 2)))),
        variance(FlatLaw(law(18, epsilon), (6, 3))),
        variance(AxisLaws((law(6, epsilon), law(3, epsilon)))),
    ]
    assert found == pytest.approx([split, joint, each], rel=0.02)


def test_sums_over_combinations_vary_as_the_sums_of_the_whole_table():
    p, q = Fraction(1, 2), Fraction(1, 5)
    held = np.random.default_rng(6).dirichlet(np.ones(12)).reshape(2, 3, 2)
    unary, told = PureLaw(12, p, q, p * q, q * q), response(12, 5)
    for law in (unary, told):
        for kept in ((1,), (2, 0), (0, 1, 2)):
            summed = SummedLaw(law, (2, 3, 2), kept)
            away = tuple(axis for axis in range(3) if axis not in kept)
            ordered = sorted(kept)
            order = [ordered.index(axis) for axis in kept]
            shares = np.transpose(held.sum(axis=away), order)
            np.testing.assert_allclose(summed.shares(law.reported_shares(held.ravel())), shares)
            for population in (True, False):
                expected = np.empty(shares.shape)
                for cell in np.ndindex(*shares.shape):
                    member = np.zeros((2, 3, 2))
                    place = [slice(None)] * 3
                    for axis, code in zip(kept, cell, strict=True):
                        place[axis] = code
                    member[tuple(place)] = 1
                    expected[cell] = law.spread_along(
                        member.ravel(), held.ravel(), population=population
                    )
                np.testing.assert_allclose(
                    summed.spread(shares, population=population), expected, rtol=1e-9
                )


def test_odds_and_correlation_of_a_two_by_two_table():
    axes = AxisLaws((response(2, 50), response(2, 50)))
    table = exact_table(axes, np.array([[0.4, 0.1], [0.2, 0.3]]), 10_000)
    ratio, log_ratio = odds_ratio(table), log_odds_ratio(table)
    assert ratio.value == pytest.approx(6) and log_ratio.value == pytest.approx(math.log(6))
    assert ratio.variance == pytest.approx(36 * log_ratio.variance)
    phi = correlation(table)
    assert phi.value == pytest.approx((0.4 * 0.3 - 0.1 * 0.2) / math.sqrt(0.5 * 0.5 * 0.6 * 0.4))
    # φ² is χ²/n; so are the variances, by the chain rule.
    chi = chi_squared(table)
    assert chi.value == pytest.approx(10_000 * phi.value**2)
    assert chi.variance == pytest.approx((2 * 10_000 * phi.value) ** 2 * phi.variance)
    information = mutual_information(table)
    assert g_squared(table).value == pytest.approx(2e4 * math.log(2) * information.value)
    assert all(m.reliable for m in (ratio, log_ratio, phi, chi, information))
    moved = correlation(table, rows=[10, 20], columns=[-1, 5])
    assert moved.value == pytest.approx(phi.value)
    with pytest.raises(ValueError, match="must not all be the same number"):
        correlation(table, rows=[1, 1])
    with pytest.raises(ValueError, match="two answers each"):
        odds_ratio(exact_table(THIRDS, TABLE, 100))
    with pytest.raises(ValueError, match="table of two questions"):
        chi_squared(shares_of_counts(response(3, 4), [50, 30, 20], 100))


def test_delta_standard_deviations_are_those_of_repeated_surveys():
    # 6 standard errors of a variance (√(2/repeats), with room for curvature) and of a mean.
    rng, n, repeats = np.random.default_rng(11), 20_000, 600
    axes = AxisLaws((response(2, 9), response(3, 9)))
    reported = axes.reported_shares(TABLE).ravel()
    expected = chi_squared(exact_table(axes, TABLE, n)), correlation(exact_table(axes, TABLE, n))
    found = np.array(
        [
            [
                measure(table_of_counts(axes, counts, n)).value
                for measure in (chi_squared, correlation)
            ]
            for counts in rng.multinomial(n, reported, size=repeats)
        ]
    )
    for place, measure in enumerate(expected):
        deviation = math.sqrt(measure.variance)
        off = found[:, place].mean() - measure.value - measure.bias
        assert abs(off) < 6 * deviation / math.sqrt(repeats)
        assert abs(found[:, place].std() / deviation - 1) < 6 / math.sqrt(2 * repeats) + 0.02


def test_shares_below_zero_are_moved_and_said_to_be_doubtful():
    shares = shares_of_counts(response(3, 2), [60, 35, 5], 100)
    assert shares.unbiased.min() < 0
    measure = entropy(shares)
    assert math.isfinite(measure.value) and math.isfinite(measure.variance)
    assert "moved onto the simplex" in measure.doubts[0] and not measure.reliable
    empty = entropy(shares_of_counts(response(3, 2), [0, 0, 0], 0))
    assert math.isnan(empty.value) and empty.doubts == ("there are no reports",)
    one = entropy(shares_of_counts(response(3, 2), [1, 0, 0], 1))
    assert math.isnan(one.variance) and "one report tells no variance" in one.doubts


def test_unary_reports_have_an_entropy_and_its_deviation_too():
    design = UnaryEncoding(epsilon=3, answers=3)
    # Reports as expected of shares 1/2, 1/3, 1/6.
    shares, n = np.array([1 / 2, 1 / 3, 1 / 6]), 60_000
    counts = np.round((float(design.q) + float(design.p - design.q) * shares) * n).astype(np.int64)
    found = entropy(estimate(Tally(design, counts, n)))
    told = RandomizedResponse(epsilon=3, answers=3)
    same = np.round((float(told.q) + float(told.p - told.q) * shares) * n).astype(np.int64)
    beside = entropy(estimate(Tally(told, same, int(same.sum()))))
    assert found.value == pytest.approx(1.459148, abs=1e-3) == beside.value
    assert found.reliable and found.bias < 0
    assert beside.variance < found.variance < 4 * beside.variance
