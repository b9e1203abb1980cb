"""Shares from counts of reports: closed forms, variances, intervals, and what is refused."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from sfumato.local import (
    HadamardResponse,
    LaplaceResponse,
    LocalHash,
    RandomizedResponse,
    SubsetSelection,
    Tally,
    UnaryEncoding,
    estimate,
    likeliest_of_reports,
)
from sfumato.local.estimation import shares_of_counts, supports_of
from sfumato.local.law import MatrixLaw, PureLaw, check_matrix, law_of
from sfumato.local.simplex import expectation_step, likeliest, on_simplex

SIX = np.array([0.30, 0.27, 0.20, 0.12, 0.07, 0.04])


def response(k, ratio):
    """The law of randomised response with e^ε = ratio, exactly."""
    ratio = Fraction(ratio)
    return PureLaw(k, ratio / (ratio + k - 1), 1 / (ratio + k - 1), Fraction(0), Fraction(0))


def matrix_of(law):
    p, q = float(law.p), float(law.q)
    return np.full((law.k, law.k), q) + (p - q) * np.eye(law.k)


def test_two_answers_told_truly_three_times_in_four():
    shares = shares_of_counts(response(2, 3), [600, 400], 1000)
    assert shares.estimates == pytest.approx([0.7, 0.3])
    assert shares.variances() == pytest.approx([9.6096e-4] * 2, rel=1e-4)
    # The two printed forms of the variance are the same.
    p, share = 0.75, 0.3
    printed = (share * (1 - share) + 1 / (16 * (p - 0.5) ** 2) - 0.25) / 999
    assert shares.variances()[1] == pytest.approx(printed, rel=1e-12)
    assert shares.variances()[1] == pytest.approx(0.4 * 0.6 / (999 * (2 * p - 1) ** 2), rel=1e-12)


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1, 2, 5])
def test_two_answers_cost_the_sample_one_over_four_sinh_squared(epsilon):
    law = law_of(RandomizedResponse(epsilon=epsilon, answers=2))
    expected = 1 / (4 * math.sinh(epsilon / 2) ** 2)
    for share in (0.0, 0.3, 1.0):
        at = np.array([share, 1 - share])
        assert law.spread(at, population=False) == pytest.approx([expected] * 2, rel=1e-12)
        extra = share * (1 - share)
        assert law.spread(at, population=True) == pytest.approx([expected + extra] * 2, rel=1e-12)


def test_the_general_two_by_two_matrix():
    matrix = np.array([[0.8, 0.3], [0.2, 0.7]])
    shares = shares_of_counts(MatrixLaw(matrix), [550, 450], 1000)
    assert shares.estimates[1] == pytest.approx((0.45 - 0.2) / 0.5)
    assert shares.variances()[1] == pytest.approx(0.45 * 0.55 / (999 * 0.5**2))


def test_three_answers_with_their_dispersion():
    law = response(3, 4)
    assert (law.p, law.q) == (Fraction(2, 3), Fraction(1, 6))
    shares = shares_of_counts(law, [50, 30, 20], 100)
    assert shares.estimates == pytest.approx([0.66667, 0.26667, 0.06667], abs=1e-5)
    assert shares.variances() == pytest.approx([0.0101010, 0.0084848, 0.0064646], abs=1e-7)
    inverse = np.linalg.inv(matrix_of(law))
    assert np.diag(inverse) == pytest.approx([5 / 3] * 3)
    reported = np.array([0.5, 0.3, 0.2])
    middle = np.diag(reported) - np.outer(reported, reported)
    dispersion = inverse @ middle @ inverse.T / 99
    assert np.diag(dispersion) == pytest.approx(shares.variances())
    off = [dispersion[0, 1], dispersion[0, 2], dispersion[1, 2]]
    assert off == pytest.approx([-0.0060606, -0.0040404, -0.0024242], abs=1e-7)
    assert dispersion.sum(axis=0) == pytest.approx(0, abs=1e-12)
    for gradient in np.random.default_rng(1).normal(size=(5, 3)):
        along = shares.variance_along(gradient, shares.unbiased)
        assert along == pytest.approx(gradient @ dispersion @ gradient)


@pytest.mark.parametrize("t", [2, 3, 6, 11])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "5"])
def test_many_answers_have_the_closed_form_and_the_matrix_agrees(t, epsilon):
    law = law_of(RandomizedResponse(epsilon=epsilon, answers=t))
    dense = MatrixLaw(matrix_of(law))
    held = np.random.default_rng(t).dirichlet(np.ones(t))
    power = math.exp(float(epsilon))
    sample = (power + t - 2) / (power - 1) ** 2 + held * (t - 2) / (power - 1)
    assert law.spread(held, population=False) == pytest.approx(sample, rel=1e-9)
    for population, extra in ((False, 0), (True, held * (1 - held))):
        assert law.spread(held, population=population) == pytest.approx(sample + extra, rel=1e-9)
        assert dense.spread(held, population=population) == pytest.approx(sample + extra, rel=1e-6)


def test_the_closed_form_for_248_people_and_six_answers():
    law = law_of(RandomizedResponse(epsilon=1, answers=6))
    held = np.array([74, 62, 50, 25, 25, 12]) / 248
    expected = [0.01198, 0.01152, 0.01107, 0.01012, 0.01012, 0.00963]
    assert law.spread(held, population=False) / 248 == pytest.approx(expected, abs=6e-6)


@pytest.mark.parametrize(
    "kind", [RandomizedResponse, UnaryEncoding, SubsetSelection, HadamardResponse]
)
def test_the_variance_of_every_design_is_that_of_all_its_reports(kind):
    """Moments over all reports there can be, by their exact probabilities."""
    design = kind(epsilon=1, answers=5)
    law, primitive = law_of(design), design.primitive
    reports = list(primitive.outputs())
    chances = np.array([[float(primitive.probability(x, y)) for x in range(5)] for y in reports])
    supports = supports_of(design, primitive.rows(reports)).astype(float)
    held = np.array([0.4, 0.3, 0.2, 0.1, 0.0])
    assert supports.T @ chances @ held == pytest.approx(law.reported_shares(held))
    influence = (supports - float(law.q)) / law.gap
    assert influence.T @ chances == pytest.approx(np.eye(5), abs=1e-12)
    second = (influence**2).T @ chances @ held
    assert law.spread(held, population=True) == pytest.approx(second - held**2)
    assert law.spread(held, population=False) == pytest.approx(second - held)
    gradient = np.array([3.0, -1.0, 0.5, 0.0, 2.0])
    if design.pairs is None:
        with pytest.raises(ValueError, match="depends on the answers"):
            law.spread_along(gradient, held, population=True)
        return
    along = influence @ gradient
    whole = (along**2) @ chances @ held
    expected = whole - (held @ gradient) ** 2
    assert law.spread_along(gradient, held, population=True) == pytest.approx(expected)
    expected = whole - held @ gradient**2
    assert law.spread_along(gradient, held, population=False) == pytest.approx(expected)


def drawn_counts(rng, matrix, codes, repeats):
    """Counts of reports of fixed clients, drawn from the columns of a matrix."""
    held = np.bincount(codes, minlength=matrix.shape[1])
    return sum(
        rng.multinomial(many, matrix[:, answer], size=repeats) for answer, many in enumerate(held)
    )


def test_estimates_are_unbiased_and_vary_as_they_say_for_the_sample_and_the_population():
    # 24 statements of 6 standard errors each: a false alarm has a probability below 24·2e-9.
    rng, n, repeats = np.random.default_rng(7), 248, 20_000
    law = law_of(RandomizedResponse(epsilon=1, answers=6))
    matrix = matrix_of(law)
    codes = np.repeat(np.arange(6), [74, 62, 50, 25, 25, 12])
    held = np.bincount(codes) / n
    for population in (False, True):
        if population:
            counts = rng.multinomial(n, matrix @ held, size=repeats)
        else:
            counts = drawn_counts(rng, matrix, codes, repeats)
        found = (counts / n - float(law.q)) / law.gap
        variance = law.spread(held, population=population) / n
        off = (found.mean(axis=0) - held) / np.sqrt(variance / repeats)
        assert abs(off).max() < 6
        # Near-normal estimates: a variance has the relative standard error √(2/repeats).
        ratio = found.var(axis=0) / variance
        assert abs(ratio - 1).max() < 6 * math.sqrt(2.1 / repeats)
        # And the same test rejects a variance that is off by a tenth.
        assert abs(ratio * 1.1 - 1).max() > 6 * math.sqrt(2.1 / repeats)


@pytest.mark.parametrize("of", ["sample", "population"])
@pytest.mark.parametrize("kind", [RandomizedResponse, UnaryEncoding, LaplaceResponse])
def test_intervals_cover_as_often_as_they_say(kind, of):
    rng, n, repeats = np.random.default_rng(3), 3000, 1500
    design = kind(epsilon=2, answers=3)
    law = law_of(design)
    held = np.array([0.5, 0.3, 0.2])
    if isinstance(law, MatrixLaw):
        chances = law.matrix
    elif law.exclusive:
        chances = matrix_of(law)
    else:
        chances = None
    covered = np.zeros(3)
    together = 0
    for _ in range(repeats):
        exact = rng.multinomial(n, held) if of == "population" else (held * n).astype(int)
        if chances is None:
            mine = rng.binomial(exact, float(law.p))
            counts = mine + rng.binomial(n - exact, float(law.q))
        else:
            counts = sum(rng.multinomial(m, chances[:, v]) for v, m in enumerate(exact))
        shares = shares_of_counts(law, counts, n)
        low, high = shares.intervals(0.95, of=of).T
        covered += (low <= held) & (held <= high)
        low, high = shares.intervals(0.95, of=of, simultaneous=True).T
        together += bool(((low <= held) & (held <= high)).all())
    # 6 standard errors of a coin (false alarms below 1e-6), and 0.004 as shares are not normal.
    slack = 6 * math.sqrt(0.95 * 0.05 / repeats) + 0.004
    assert abs(covered / repeats - 0.95).max() < slack
    assert together / repeats > 0.95 - slack


def test_shares_sum_to_one_and_follow_a_renaming_of_answers():
    law = response(4, 3)
    counts = np.array([70, 20, 9, 1])
    shares = shares_of_counts(law, counts, 100)
    assert shares.estimates.sum() == pytest.approx(1) and shares.estimates.min() < 0
    order = [2, 0, 3, 1]
    assert shares_of_counts(law, counts[order], 100).estimates == pytest.approx(
        shares.estimates[order]
    )
    laplace = law_of(LaplaceResponse(epsilon=1, answers=4))
    here = shares_of_counts(laplace, counts, 100).estimates
    assert shares_of_counts(laplace, counts[order], 100).estimates != pytest.approx(here[order])


def test_the_variance_falls_as_epsilon_rises():
    held = SIX
    found = [
        law_of(RandomizedResponse(epsilon=e, answers=6)).spread(held, population=False)
        for e in ("0.1", "0.5", "1", "2", "5")
    ]
    assert all((more < less).all() for less, more in pairwise(found))


def test_projection_is_the_closest_point_and_never_further_from_the_truth():
    rng = np.random.default_rng(5)
    for _ in range(50):
        truth = rng.dirichlet(np.ones(5))
        noisy = truth + rng.normal(size=5)
        found = on_simplex(noisy)
        assert found.min() >= 0 and found.sum() == pytest.approx(1)
        assert np.linalg.norm(found - truth) <= np.linalg.norm(noisy - truth) + 1e-12
        others = rng.dirichlet(np.ones(5), size=50)
        assert np.linalg.norm(found - noisy) <= np.linalg.norm(others - noisy, axis=1).min()
        raised = on_simplex(noisy, floor=0.01)
        assert raised.min() >= 0.01 - 1e-12 and raised.sum() == pytest.approx(1)
    assert on_simplex(np.array([5.0, 0.0]), floor=0.9) == pytest.approx([0.5, 0.5])


def test_the_likeliest_shares_of_randomised_response_are_those_that_steps_climb_to():
    rng = np.random.default_rng(8)
    for k in (2, 3, 6):
        law = response(k, 2)
        for counts in (rng.multinomial(40, rng.dirichlet(np.ones(k))) for _ in range(10)):
            found = likeliest(law, counts)
            assert found.min() >= 0 and found.sum() == pytest.approx(1)
            _, pull = expectation_step(matrix_of(law), found, counts / 40)
            # Concave: nothing more than n·(pull − 1) is missing.
            assert pull <= 1 + 1e-9
            assert likeliest(MatrixLaw(matrix_of(law)), counts) == pytest.approx(found, abs=2e-3)


def test_the_likeliest_shares_of_a_matrix_are_certified():
    law = law_of(LaplaceResponse(epsilon=1, answers=6))
    counts = np.random.default_rng(2).multinomial(248, law.matrix @ SIX)
    found = likeliest(law, counts)
    _, pull = expectation_step(law.matrix, found, counts / 248)
    assert 248 * (pull - 1) <= 1e-6 and found.min() >= 0


@pytest.mark.parametrize("kind", [UnaryEncoding, SubsetSelection, LocalHash, HadamardResponse])
def test_the_likeliest_shares_from_supports_need_the_reports_themselves(kind):
    options = {"size": 2} if kind is SubsetSelection else {}
    design = kind(epsilon=4, answers=4, **options)
    codes = np.repeat(np.arange(4), [600, 300, 100, 0])
    reports = design.perturb_all(codes)
    tally = Tally.empty(design).add(reports)
    assert supports_of(design, reports.rows).sum(axis=0).tolist() == tally.counts.tolist()
    with pytest.raises(ValueError, match="likeliest_of_reports"):
        estimate(tally, "em")
    found = likeliest_of_reports(design, reports)
    assert found.estimates.min() >= 0 and found.estimates.sum() == pytest.approx(1)
    # Unseeded: with ε = 4 and 1,000 people shares are off by 0.02 or so; 0.25 is 10 of those.
    assert abs(found.estimates - [0.6, 0.3, 0.1, 0]).max() < 0.25
    assert likeliest_of_reports(design, []).reports == 0


def test_no_reports_one_report_one_answer():
    survey = RandomizedResponse(epsilon=1, answers=["yes", "no"])
    nothing = estimate(Tally.empty(survey))
    assert np.isnan(nothing.estimates).all() and np.isnan(nothing.variances("sample")).all()
    assert nothing.intervals().tolist() == [[0, 1], [0, 1]]
    one = estimate(Tally.empty(survey).add(["yes"]))
    assert np.isnan(one.variances()).all() and np.isfinite(one.variances("sample")).all()
    assert one.intervals().shape == (2, 2)
    only = RandomizedResponse(epsilon=1, answers=["only"])
    constant = estimate(Tally.empty(only).add(["only"] * 3), "em")
    assert constant.estimates.tolist() == [1] and constant.variances().tolist() == [0]
    assert constant.intervals().tolist() == [[1, 1]]


def test_what_tells_nothing_is_refused():
    with pytest.raises(ValueError, match="nothing can be estimated"):
        shares_of_counts(response(3, 1), [1, 2, 3], 6)
    with pytest.raises(ValueError, match="nothing can be estimated"):
        shares_of_counts(MatrixLaw(np.full((3, 3), 1 / 3)), [1, 2, 3], 6)
    with pytest.raises(ValueError, match="estimator must be one of"):
        shares_of_counts(response(3, 2), [1, 2, 3], 6, estimator="magic")
    shares = shares_of_counts(response(3, 2), [1, 2, 3], 6)
    with pytest.raises(ValueError, match="of must be one of"):
        shares.variances("world")
    with pytest.raises(ValueError, match="level must be"):
        shares.intervals(1.5)
    for bad, words in (
        ([[0.5, 0.5], [0.5, 0.4]], "column 1 sums to 0.9"),
        ([[1.5, 0.5], [-0.5, 0.5]], "must not have negative entries"),
        ([1.0], "rows"),
    ):
        with pytest.raises(ValueError, match=words):
            check_matrix(bad)


def test_the_table_of_shares_is_plain():
    survey = RandomizedResponse(epsilon=2, answers=["never", "often"])
    shares = estimate(Tally(survey, np.array([700, 300]), 1000), "project")
    frame = shares.to_frame(0.9)
    assert frame.columns == [
        "answer",
        "share",
        "low",
        "high",
        "count",
        "sample_deviation",
        "population_deviation",
    ]
    assert frame["answer"].to_list() == ["never", "often"]
    assert (frame["low"] < frame["share"]).all() and (frame["share"] < frame["high"]).all()
    assert frame["count"].sum() == pytest.approx(1000)
    assert (frame["sample_deviation"] < frame["population_deviation"]).all()
    assert shares["never"] == pytest.approx(frame["share"][0])
    assert [line.answer for line in shares.lines()] == ["never", "often"]
    with pytest.raises(KeyError, match="'rarely' is not one of the answers"):
        shares["rarely"]
    wider = shares.intervals(simultaneous=True)
    each = shares.intervals()
    assert (wider[:, 0] <= each[:, 0]).all() and (wider[:, 1] >= each[:, 1]).all()


def test_a_hundred_thousand_answers_are_estimated_in_linear_time():
    design = LocalHash(epsilon=1, answers=100_000)
    counts = np.random.default_rng(1).integers(2000, 3000, 100_000)
    shares = estimate(Tally(design, counts, 10_000), "project")
    assert shares.intervals(simultaneous=True).shape == (100_000, 2)
    assert shares.estimates.sum() == pytest.approx(1)
