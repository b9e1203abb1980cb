"""Designs beside each other, exactly: claims that hold, and the published ones that do not."""

import math

import numpy as np
import pytest
from benchmarks.local_central import (
    central_share_variance,
    smooth_laplace_error,
    smooth_share_variance,
    smooth_triangle_bound,
    triangle_sensitivity,
)

from sfumato.local import (
    HadamardResponse,
    LaplaceResponse,
    LocalHash,
    RandomizedResponse,
    SubsetSelection,
    UnaryEncoding,
    compare,
    guess_answers,
    posterior,
)
from sfumato.local.compare import loss_of_guesses, variance_of_shares
from sfumato.local.posterior import confusion, guesses

# Exact laws, which no version of a library can change: tested once.
pytestmark = pytest.mark.replay


def told(t, epsilon):
    return RandomizedResponse(epsilon=epsilon, answers=t)


def laplace(t, epsilon):
    return LaplaceResponse(epsilon=epsilon, answers=t)


@pytest.mark.parametrize(
    ("epsilon", "told_variance", "laplace_variance", "ratio"),
    [
        ("0.1", 99.917, 104.855, 1.049),
        ("0.5", 3.9177, 4.8594, 1.240),
        ("1", 0.92067, 1.36480, 1.482),
        ("2", 0.18102, 0.37566, 2.075),
        ("5", 0.006830, 0.046712, 6.840),
        ("10", 4.54e-5, 0.00340, 74.96),
    ],
)
def test_two_answers_told_or_with_laplace_noise(epsilon, told_variance, laplace_variance, ratio):
    first = variance_of_shares(told(2, epsilon), 1, of="sample").mean()
    second = variance_of_shares(laplace(2, epsilon), 1, of="sample").mean()
    assert (first, second) == pytest.approx((told_variance, laplace_variance), rel=1e-3)
    assert second / first == pytest.approx(ratio, rel=1e-3)
    a = math.exp(-float(epsilon) / 2)
    assert second / first == pytest.approx((2 - a) * (1 + a) ** 2 / (4 * a), rel=1e-6)
    # Averaging answers with raw Laplace noise is worse than telling them: 2/ε².
    assert first < 1 / float(epsilon) ** 2


@pytest.mark.parametrize(
    ("epsilon", "share", "told_error", "laplace_error"),
    [("1", 0.5, 0.39322, 0.42259), ("1", 0.1, 0.81986, 0.84432), ("2", 0.5, 0.20999, 0.30021)],
)
def test_guessing_a_single_bit(epsilon, share, told_error, laplace_error):
    prior = [1 - share, share]
    found = [
        loss_of_guesses(design, prior)[1] for design in (told(2, epsilon), laplace(2, epsilon))
    ]
    assert found == pytest.approx([told_error, laplace_error], abs=1e-5)


def test_telling_a_bit_is_never_worse_than_laplace_noise():
    for epsilon in np.linspace(0.1, 6, 12):
        one, other = told(2, epsilon).matrix, laplace(2, epsilon).matrix
        for share in np.linspace(0.02, 0.98, 13):
            prior = [1 - share, share]
            mine, theirs = (loss_of_guesses(matrix, prior) for matrix in (one, other))
            assert (mine <= theirs + 1e-12).all()


def test_the_likeliest_answer_errs_less_on_average_and_not_for_every_answer():
    design, prior = told(2, 1), [0.9, 0.1]
    drawn, best = (loss_of_guesses(design, prior, guess=how) for how in ("posterior", "map"))
    assert np.dot(prior, best) < np.dot(prior, drawn)
    assert best[1] == 1 and drawn[1] == pytest.approx(0.820, abs=5e-4)


@pytest.mark.parametrize(
    ("t", "epsilon", "told_variance", "laplace_variance", "ratio"),
    [
        (3, "0.1", 0.781, 57.9, 74),
        (3, "1", 0.00676, 0.0672, 9.9),
        (3, "5", 9.33e-4, 0.00194, 2.1),
        (6, "0.1", 1.887, 2674, 1417),
        (6, "0.5", 0.0588, 19.1, 325),
        (6, "1", 0.0113, 2.11, 187),
        (6, "2", 0.00211, 0.217, 103),
        (6, "5", 6.07e-4, 0.0111, 18),
    ],
)
def test_shares_of_several_answers(t, epsilon, told_variance, laplace_variance, ratio):
    best, worst = compare([RandomizedResponse, LaplaceResponse], t, epsilon, 248)
    assert (best.name, worst.name) == ("RandomizedResponse", "LaplaceResponse")
    assert best.average == pytest.approx(told_variance, rel=3e-3)
    assert worst.average == pytest.approx(laplace_variance, rel=5e-3)
    assert worst.average / best.average == pytest.approx(ratio, rel=0.02)


class TestTheorem11:
    """That telling beats Laplace noise for single answers of more than two kinds is false."""

    def test_the_inequality_of_the_traces_that_it_rests_on_is_true(self):
        for t in range(3, 16):
            for epsilon in (0.1, 0.5, 1, 2, 5):
                power = math.exp(epsilon)
                mine = t * power / (t - 1 + power)
                assert np.trace(told(t, epsilon).matrix) == pytest.approx(mine)
                theirs = t - (t - 1) * math.exp(-epsilon / (2 * (t - 1)))
                assert np.trace(laplace(t, epsilon).matrix) == pytest.approx(theirs)
                assert mine > theirs

    def test_the_end_of_a_scale_is_guessed_better_from_laplace_noise(self):
        mine, theirs = (loss_of_guesses(kind(6, "0.5"))[0] for kind in (told, laplace))
        assert (mine, theirs) == pytest.approx((0.82540, 0.82434), abs=1e-5)
        assert mine > theirs

    def test_the_squared_error_is_smaller_with_laplace_noise(self):
        best, worst = compare([RandomizedResponse, LaplaceResponse], 6, 1, loss="squared")
        assert (best.name, worst.name) == ("LaplaceResponse", "RandomizedResponse")
        assert (worst.average, best.average) == pytest.approx((5.544, 5.336), abs=1e-3)

    @pytest.mark.parametrize(
        ("epsilon", "mine", "theirs"), [(1, 0.792, 0.818), (2, 0.612, 0.784), (5, 0.064, 0.659)]
    )
    def test_what_is_true_on_average_for_equally_common_answers(self, epsilon, mine, theirs):
        best, worst = compare([RandomizedResponse, LaplaceResponse], 6, epsilon, loss="zero-one")
        assert best.name == "RandomizedResponse"
        assert (best.average, worst.average) == pytest.approx((mine, theirs), abs=6e-4)

    def test_and_not_even_that_for_many_answers_and_a_small_epsilon(self):
        found = compare([RandomizedResponse, LaplaceResponse], 15, "0.2", loss="zero-one")
        assert [item.name for item in found] == ["LaplaceResponse", "RandomizedResponse"]
        assert found[1].average - found[0].average == pytest.approx(4.6e-5, abs=3e-6)


def test_all_designs_are_compared_by_their_exact_shares():
    kinds = [RandomizedResponse, UnaryEncoding, SubsetSelection, LocalHash, HadamardResponse]
    found = {item.name: item.average for item in compare(kinds, 10, 1, 1, of="sample")}
    # With the shares' own term the break-even moves below 3e^ε + 2.
    assert found["RandomizedResponse"] == pytest.approx(4.10, abs=5e-3)
    assert found["UnaryEncoding"] == pytest.approx(3.78, abs=5e-3)
    assert min(found, key=found.get) == "SubsetSelection"
    assert found["LocalHash"] < found["UnaryEncoding"]


def test_all_reports_of_small_designs_are_listed_for_guessing():
    found = compare(
        [RandomizedResponse, UnaryEncoding, SubsetSelection, HadamardResponse],
        4,
        1,
        loss="zero-one",
    )
    assert all(0.5 < item.average < 0.75 for item in found)
    # The posterior of an ε-DP report is at most e^ε/(e^ε + 3) for any answer.
    for kind in (UnaryEncoding, SubsetSelection, HadamardResponse):
        errors = loss_of_guesses(kind(epsilon=1, answers=4), guess="map")
        assert errors.mean() >= 1 - math.e / (math.e + 3) - 1e-12
    with pytest.raises(ValueError, match="too many"):
        loss_of_guesses(LocalHash(epsilon=1, answers=4))
    with pytest.raises(ValueError, match="too many possible reports"):
        loss_of_guesses(UnaryEncoding(epsilon=1, answers=20))


def test_the_posterior_is_that_of_bayes():
    matrix = np.array([[0.8, 0.3], [0.2, 0.7]])
    after = posterior(matrix, [0.25, 0.75])
    np.testing.assert_allclose(after[0], [0.2 / 0.425, 0.225 / 0.425])
    assert after.sum(axis=1) == pytest.approx(1)
    assert guesses(matrix, [0.25, 0.75]).tolist() == [[0, 1], [0, 1]]
    np.testing.assert_allclose(confusion(matrix, how="map"), matrix)
    # A report that cannot come leaves the prior as it is.
    assert posterior(np.array([[1.0, 1.0], [0.0, 0.0]]))[1].tolist() == [0.5, 0.5]


def test_answers_are_guessed_one_by_one():
    matrix, rng = told(3, 3).matrix, np.random.default_rng(1)
    reports = np.array([0, 1, 2, 2])
    assert guess_answers(matrix, reports).tolist() == [0, 1, 2, 2]
    # 6 standard errors of 20,000 draws from the posterior.
    drawn = guess_answers(matrix, np.zeros(20_000, int), how="posterior", generator=rng)
    share = posterior(matrix)[0, 0]
    assert abs((drawn == 0).mean() - share) < 6 * math.sqrt(share * (1 - share) / 20_000)
    with pytest.raises(ValueError, match="from 0 to 2"):
        guess_answers(matrix, [3])


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(ValueError, match="n must be given"):
        compare([RandomizedResponse], 3, 1)
    with pytest.raises(ValueError, match="k and epsilon must be given"):
        compare([RandomizedResponse], n=10)
    with pytest.raises(ValueError, match="at least one design"):
        compare([], n=10)
    with pytest.raises(ValueError, match="prior must be 3 probabilities"):
        compare([RandomizedResponse], 3, 1, 10, prior=[0.5, 0.5])
    with pytest.raises(ValueError, match="loss must be one of"):
        compare([RandomizedResponse], 3, 1, loss="absolute")
    with pytest.raises(ValueError, match="how must be one of"):
        loss_of_guesses(told(3, 1), guess="best")
    by_name = compare({"mine": told(3, 1), "own": np.eye(3)}, n=10, of="sample")
    assert [item.name for item in by_name] == ["own", "mine"] and by_name[0].average == 0


def test_a_trusted_custodian_needs_far_less_noise():
    assert central_share_variance(6, 1, 248) == pytest.approx(8 / 248**2)
    assert central_share_variance(6, 1, 248) == pytest.approx(1.3e-4, rel=0.01)
    assert central_share_variance(2, 1, 248) == pytest.approx(2 / 248**2)
    assert central_share_variance(6, 1, 248, whole=True) < central_share_variance(6, 1, 248)
    assert smooth_share_variance(6, 1, 248, 1e-6) == 4 * central_share_variance(6, 1, 248)
    assert central_share_variance(1, 1, 248) == 0
    # At a small ε local collection is worse by a factor of about n/2.
    local = variance_of_shares(told(2, "0.01"), 1000, of="sample")[0]
    assert local / central_share_variance(2, 0.01, 1000) == pytest.approx(500, rel=1e-3)
    with pytest.raises(ValueError, match="epsilon must be positive"):
        central_share_variance(2, 0, 10)


def test_smooth_noise_on_triangles_by_brute_force_over_small_graphs():
    rng = np.random.default_rng(3)
    joined = np.triu(rng.random((6, 6)) < 0.4, 1).astype(int)
    joined = joined + joined.T
    epsilon, delta = 40.0, 0.01
    beta = epsilon / (4 * (6 + math.log(2 / delta)))
    common = joined @ joined
    best = 0.0
    for steps in range(13):
        for i in range(6):
            for j in range(i):
                alone = sum(joined[i, w] != joined[j, w] for w in range(6) if w not in (i, j))
                reach = min(common[i, j] + (steps + min(steps, alone)) // 2, 4)
                best = max(best, math.exp(-beta * steps) * 3 * reach)
    assert smooth_triangle_bound(joined, epsilon, delta) == pytest.approx(best)
    assert best < triangle_sensitivity(6) == 12
    assert smooth_laplace_error(best, epsilon) == pytest.approx(2 * best / 40)
    assert smooth_triangle_bound(np.zeros((2, 2)), 1, 0.1) == 0
