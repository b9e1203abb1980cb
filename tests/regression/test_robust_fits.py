"""Fits from sufficient statistics: worked numbers, repairs, traps, and the published fit."""

import math

import numpy as np
import pytest
from benchmarks import regression_baselines as baselines
from benchmarks.regression_search import published_search

from sfumato.evaluate.regression import (
    concordance,
    concordance_weight,
    r_squared,
    spearman,
    weighted_concordance,
)
from sfumato.privacy.guarantee import Relation
from sfumato.published.queries import normalised
from sfumato.published.robust_regression import advi_compat
from sfumato.regression.bayesian import (
    Statistics,
    fit_with_fixed_precisions,
    gibbs,
    noise_ridge,
    repair_matrix,
)
from sfumato.regression.robust_estimator import Clipped, gain, noise_aware, second_moment
from sfumato.regression.robust_statistics import Parts
from sfumato.regression.robust_thresholds import best_thresholds, laplace_scales

X = np.array([[1, 2], [-3, 0.5], [0.2, -0.1]])
Y = np.array([1, -2, 0.5])


def test_the_worked_example_of_clipped_rows_and_fixed_precisions():
    found = Statistics.of(np.clip(X, -1, 1), np.clip(Y, -1, 1))
    assert found.xx == pytest.approx(np.array([[2.04, 0.48], [0.48, 1.26]]))
    assert found.xy == pytest.approx([2.10, 0.45])
    assert found.yy == pytest.approx(2.25)
    fit = fit_with_fixed_precisions(found)
    assert fit.mean == pytest.approx([0.68222892, 0.05421687], abs=1e-8)
    assert X @ fit.mean == pytest.approx([0.79066265, -2.01957831, 0.13102410], abs=1e-8)
    # A strong prior leaves the direction of the products.
    strong = fit_with_fixed_precisions(found, prior=1e9).mean
    assert strong / strong[0] == pytest.approx(found.xy / found.xy[0], abs=1e-6)
    with pytest.raises(ValueError, match="precisions must be positive"):
        fit_with_fixed_precisions(found, noise=0)


def test_statistics_of_parts_add_up_and_so_do_the_variances_of_their_noise():
    whole = Statistics.of(X, Y)
    parts = Statistics.of(X[:1], Y[:1]) + Statistics.of(X[1:], Y[1:])
    assert parts.xx == pytest.approx(whole.xx, abs=1e-12)
    assert parts.xy == pytest.approx(whole.xy, abs=1e-12)
    assert (parts.yy, parts.records) == (pytest.approx(whole.yy), 3)
    one = Statistics(whole.xx, whole.xy, whole.yy, 3, (1.0, 2.0, 3.0))
    four = one + one + one + one
    assert four.scales == pytest.approx((2.0, 4.0, 6.0))


def test_the_repair_is_the_nearest_matrix_without_negative_eigenvalues():
    bent = np.array([[1, -0.9, 0], [-0.9, 1, 0.6], [0, 0.6, -0.5]])
    wanted = [[1.0328, -0.8354, -0.1418], [-0.8354, 1.1273, 0.3205], [-0.1418, 0.3205, 0.1133]]
    found = repair_matrix(bent)
    assert found == pytest.approx(np.array(wanted), abs=1e-4)
    assert repair_matrix(found) == pytest.approx(found, abs=1e-12)
    good = np.array([[2.0, 1], [1, 2]])
    assert (repair_matrix(good) == good).all()
    assert repair_matrix(np.array([[2.0, 1 + 1e-12], [1, 2]])) == pytest.approx(good)


def test_rows_are_normalised_as_published():
    found = normalised(np.array([[1.0, 2], [3, 4], [5, 9]]))
    wanted = [[-0.5547, -0.8321], [0, -1], [0.4472, 0.8944]]
    assert found == pytest.approx(np.array(wanted), abs=1e-4)
    assert found.std(ddof=1) == pytest.approx(0.7507, abs=1e-4)
    # A row of zeros, a constant column and no rows at all stay as they are.
    assert normalised(np.ones((3, 2))).tolist() == [[0, 0]] * 3
    assert normalised(np.zeros((0, 2))).shape == (0, 2)


def test_metrics_of_worked_examples():
    assert spearman([1, 2, 3, 4, 5], [2, 1, 4, 3, 5]) == pytest.approx(0.8)
    assert spearman([1, 1, 1], [1, 2, 3]) == 0
    assert spearman([1, 1, 2], [1, 2, 3]) == pytest.approx(math.sqrt(0.75))
    assert concordance([1, 2, 3], [1, 2, 3], 1) == pytest.approx(0.8139501, abs=1e-7)
    assert concordance([3, 2, 1], [1, 2, 3], 1) == pytest.approx(0.1860499, abs=1e-7)
    assert concordance([1, 1, 1], [1, 2, 3], 1) == 0.5
    # A missing answer is left out.
    assert concordance([1, 2, 9, 3], [1, 2, math.nan, 3], 1) == pytest.approx(0.8139501, abs=1e-7)
    assert r_squared([1, 2, 3], [1, 2, 3]) == 1
    assert r_squared([2, 2, 2], [1, 2, 3]) == 0
    assert weighted_concordance([0.5, 0.8], [1, 3]) == pytest.approx(0.725)
    weight = concordance_weight(np.arange(20.0), 1.0, np.random.default_rng(0), permutations=100)
    assert weight > 3
    with pytest.raises(ValueError, match="predictions"):
        spearman([1, 2], [1])
    with pytest.raises(ValueError, match="deviation must be positive"):
        concordance([1, 2], [1, 2], 0)


def rows(n, p, generator):
    x = generator.normal(size=(n, p))
    weights = generator.normal(size=p)
    return x, x @ weights + generator.normal(size=n), weights


def test_gibbs_agrees_with_least_squares_where_there_is_no_noise():
    x, y, _ = rows(2000, 4, np.random.default_rng(1))
    wanted = np.linalg.lstsq(x, y, rcond=None)[0]
    fit = gibbs(noise_ridge(Statistics.of(x, y)), np.random.default_rng(2))
    assert fit.mean == pytest.approx(wanted, abs=0.01)
    assert fit.deviation == pytest.approx(1, abs=0.06)
    assert np.sqrt(np.diag(fit.covariance)) == pytest.approx([1 / math.sqrt(2000)] * 4, rel=0.2)


def clipped_noisy(x, y, thresholds, epsilon, generator, split):
    """Return clipped statistics with noise that costs epsilon."""
    p = x.shape[1]
    true = Statistics.of(np.clip(x / thresholds[0], -1, 1), np.clip(y / thresholds[1], -1, 1))
    scales = laplace_scales(p, split, epsilon, Relation.REPLACE_ONE)
    upper = np.triu(generator.laplace(0, scales[0], (p, p)))
    return Statistics(
        true.xx + upper + np.triu(upper, 1).T,
        true.xy + generator.laplace(0, scales[1], p),
        true.yy + generator.laplace(0, scales[2]),
        len(y),
        scales,
    )


SPLIT = Parts.of("0.33", "0.57", "0.1")


def test_learning_the_precision_of_raw_noisy_statistics_explains_the_noise():
    """The trap that the ridge is for: λ grows, the prior is switched off, and the order is lost."""
    generator = np.random.default_rng(3)
    naive, ridged = [], []
    for _ in range(12):
        x, y, weights = rows(500, 10, generator)
        found = clipped_noisy(x, y, (0.3, 1), 1, generator, SPLIT)
        both = np.block([[found.xx, found.xy[:, None]], [found.xy[None], np.array([[found.yy]])]])
        both = repair_matrix(both)
        raw = Statistics(both[:-1, :-1], both[:-1, -1], float(both[-1, -1]), found.records)
        naive.append(spearman(x @ gibbs(raw, generator).mean, x @ weights))
        ridged.append(spearman(x @ gibbs(noise_ridge(found), generator).mean, x @ weights))
    assert np.mean(ridged) > np.mean(naive) + 0.1


def test_without_noise_and_clipping_the_noise_aware_fit_is_least_squares():
    x, y, _ = rows(4000, 4, np.random.default_rng(4))
    spread = y.std()
    found = Statistics.of(np.clip(x / 6, -1, 1), np.clip(y / spread / 6, -1, 1))
    fit = noise_aware(found, Clipped(6.0, 6.0))
    wanted = np.linalg.lstsq(x, y, rcond=None)[0]
    assert fit.mean * spread == pytest.approx(wanted, abs=0.05)
    assert fit.deviation * 6 * spread == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize("epsilon", [0.5, 2, 10])
def test_intervals_of_the_noise_aware_fit_cover(epsilon):
    """Weights drawn anew: 95 % intervals of weights and answers hold about as often as they say.

    Out of 240 weights fewer than 85 % would be a chance below 1e-6 were they exact.
    """
    generator = np.random.default_rng(5)
    weights_held, answers_held = [], []
    for _ in range(40):
        x, y, weights = rows(500, 6, generator)
        thresholds = (0.6, 1.0 * y.std())
        found = clipped_noisy(x, y, thresholds, epsilon, generator, SPLIT)
        fit = noise_aware(found, Clipped(0.6, 1.0))
        turn = thresholds[1] / thresholds[0]
        off = np.abs(fit.mean * turn - weights) / np.sqrt(np.diag(fit.covariance)) / turn
        weights_held.append((off < 1.96).mean())
        new = generator.normal(size=(100, 6))
        scaled = new / thresholds[0]
        spread = np.sqrt(((scaled @ fit.covariance) * scaled).sum(axis=1) + fit.deviation**2)
        left = new @ weights + generator.normal(size=100) - scaled @ fit.mean * thresholds[1]
        answers_held.append((np.abs(left) < 1.96 * spread * thresholds[1]).mean())
    assert np.mean(weights_held) > 0.85
    assert np.mean(answers_held) > 0.9


def test_noise_without_end_leaves_finite_weights_near_zero():
    found = Statistics(-np.eye(3) * 1e9, np.ones(3) * 1e8, -1e9, 1, (1e9, 1e9, 1e9))
    fit = noise_aware(found, Clipped(1.0, 1.0))
    assert np.isfinite(fit.mean).all() and np.isfinite(fit.covariance).all()
    assert np.abs(fit.mean).max() < 1
    assert np.isfinite(gibbs(noise_ridge(found), np.random.default_rng(0)).mean).all()


def test_duplicated_and_constant_columns_have_a_fit():
    x, y, _ = rows(300, 2, np.random.default_rng(6))
    twice = np.column_stack([x, x[:, :1], np.zeros(300)])
    found = Statistics.of(np.clip(twice, -1, 1), np.clip(y, -1, 1))
    for fit in (
        noise_aware(found, Clipped(1.0, 0.5)),
        gibbs(noise_ridge(found), np.random.default_rng(0)),
        fit_with_fixed_precisions(found),
    ):
        assert np.isfinite(fit.mean).all()


def test_what_clipping_does_to_normal_numbers():
    generator = np.random.default_rng(7)
    draws = generator.normal(size=(200_000, 2))
    y = 0.6 * draws[:, 0] + 0.8 * draws[:, 1]
    for spread in (0.3, 1.0, 4.0):
        clipped = np.clip(spread * y, -1, 1)
        assert (clipped**2).mean() == pytest.approx(float(second_moment(spread)), rel=0.01)
        product = (draws[:, 0] * clipped).mean() / spread
        assert product == pytest.approx(0.6 * float(gain(spread)), rel=0.03)


def test_the_published_fit_stops_before_it_converges():
    """The least-squares weight is 9, and no step moves further than 0.001/√10 once it is steady."""
    x = np.random.default_rng(8).normal(size=(200, 1))
    found = [Statistics.of(x, 9 * x[:, 0])]
    (early,) = advi_compat(found, np.random.default_rng(0), steps=2000)
    assert 0.3 < early[0] < 2000 * 1e-3 / math.sqrt(10) + 0.2
    again = advi_compat(found, np.random.default_rng(0), steps=2000)
    assert again[0, 0] == early[0]


def test_the_published_search_gives_the_published_thresholds():
    # Others of the published table, which take longer: (500, 10, 1) → (0.1, 0.5),
    # (500, 10, 2) → (0.1, 0.3), (800, 10, 2) → (0.1, 0.6), (500, 5, 2) → (0.1, 0.8).
    assert published_search(100, 10, 2, np.random.RandomState(42)) == (0.1, 0.3)


def test_the_search_for_thresholds_is_remembered_and_wider_with_more_data():
    few = best_thresholds(500, 6, 0.5, Relation.REPLACE_ONE)
    assert few is best_thresholds(510, 6, 0.5, Relation.REPLACE_ONE)
    many = best_thresholds(100_000, 6, 0.5, Relation.REPLACE_ONE)
    assert many.answers > few.answers
    assert few.rows < 1


def test_the_baselines_of_the_paper_are_themselves():
    generator = np.random.default_rng(9)
    x, y, _ = rows(400, 3, generator)
    x = normalised(x)
    y = y / np.abs(y).max()
    wanted = np.linalg.lstsq(x, y, rcond=None)[0]
    huge = 1e9
    assert baselines.perturbed_statistics(x, y, huge, generator) == pytest.approx(wanted, abs=0.02)
    assert baselines.functional(x, y, huge, generator)[:3] == pytest.approx(wanted, abs=0.02)
    weights = baselines.output_perturbation(x, y, huge, generator, bound=1.0)
    assert np.linalg.norm(weights) <= 1 + 1e-6
    assert spearman(x @ weights, x @ wanted) > 0.99


def test_precisions_that_are_given_fit_a_matrix_of_hardly_any_rank():
    # Noise of an absurd size made the sum of prior and matrix singular in floats.
    statistics = Statistics(np.full((3, 3), 1e30), np.full(3, 1e30), 1e30, 10.0)
    found = fit_with_fixed_precisions(statistics)
    assert np.isfinite(found.mean).all() and np.isfinite(found.covariance).all()
