"""AdaSSP and boosted AdaSSP: their suites, how far one record moves them, and what they find."""

import math
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest

from sfumato import noise
from sfumato.data.schema import Schema
from sfumato.data.table import Table, TablePublic
from sfumato.mechanisms.normal_steps import NormalSteps
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import GDP, ApproxDP, PureDP
from sfumato.regression.adassp import AdaSSP, AdaSSPEstimator, solve_lifted
from sfumato.regression.boosted import BoostedAdaSSP, BoostedEstimator
from sfumato.regression.estimator import Setting
from sfumato.regression.moment_noise import MomentNoise, joint
from sfumato.regression.queries import weigh
from sfumato.regression.rows import ANSWER, ROW
from tests.method_suite import AuditSuite, MethodSuite
from tests.regression import made

DECLARED = {
    "target": "cost",
    "delta": "1e-3",
    "response": "declared",
    "features": "declared",
    "bound": 3,
}


class AdaSSPSuite(MethodSuite):
    name = "table.AdaSSP"
    options = DECLARED
    sampled = False

    def audited_public(self):
        return self.data().public

    def data(self):
        return made.table(made.made(40))

    def neighbours(self):
        return made.row_pairs()

    def fact(self, release):
        return release.weights


class TestAdaSSP(AdaSSPSuite):
    pass


def constant_alone():
    """Return a table whose rows are all the constant: its answers move furthest."""
    columns = {"cost": {"kind": "real", "low": -10, "high": 10, "bits": 8}}
    return TablePublic.of(Schema.from_dict(columns, relation="replace_one"), rows=6)


class TestAdaSSPUnderReplacement(AuditSuite):
    name = "table.AdaSSP"
    options = DECLARED

    def audited_public(self):
        return constant_alone()


class TestBoostedUnderReplacement(AdaSSPSuite):
    name = "table.BoostedAdaSSP"
    options: ClassVar[dict[str, Any]] = {**DECLARED, "rounds": 2}

    def audited_public(self):
        return constant_alone()

    def data(self):
        return made.table(made.made(40), relation="replace_one")

    def neighbours(self):
        return made.replaced_pairs()


class TestBoosted(AuditSuite):
    name = "table.BoostedAdaSSP"
    options: ClassVar[dict[str, Any]] = {**DECLARED, "rounds": 3}
    sampled = False

    def audited_public(self):
        return made.table(made.made(40), unit="person", person="who", max_rows=2).public


@pytest.mark.parametrize(
    ("a", "b", "wanted"), [(1, 1, "9/2"), (1, "3/10", "529/200"), (1, 3, 12), (1, 2, 8), (2, 4, 16)]
)
def test_how_far_a_replaced_record_moves_both_together(a, b, wanted):
    found = joint(Fraction(a), Fraction(b), Relation.REPLACE_ONE)
    assert found == Fraction(wanted)
    assert joint(Fraction(a), Fraction(b), Relation.ADD_REMOVE) == Fraction(a) + Fraction(b)


@pytest.mark.parametrize("rounds", [1, 3])
@pytest.mark.parametrize("balance", [0.3, 1.0, 2.0, 5.0])
def test_no_two_records_are_further_apart_and_some_are_just_as_far(balance, rounds):
    """Random records, and the two of the proof, at an angle whose cosine is −b/2a."""
    generator = np.random.default_rng(0)
    for relation in Relation:
        moments = MomentNoise.balance_weight(
            3, relation, bound=ANSWER, vectors=rounds, balance=balance
        )
        allowed = float(moments.squared_sensitivity)

        def placed(row, answers, moments=moments):
            x = np.trunc(row * ROW).astype(np.int64)
            matrix = weigh(np.outer(x, x)[moments.triangle], moments.matrix_weights)
            vectors = [weigh(x * int(r * ANSWER), moments.vector_weights) for r in answers]
            return np.concatenate([matrix, *vectors])

        largest = 0.0
        cosine = min(balance / 2, 1.0)
        turned = np.array([-cosine, math.sqrt(1 - cosine**2), 0.0])
        pairs = [(np.array([1.0, 0, 0]), [1] * rounds, turned, [1] * rounds)]
        for _ in range(300):
            rows = generator.normal(size=(2, 3))
            rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1)
            first, second = generator.uniform(-1, 1, (2, rounds))
            pairs.append((rows[0], first, rows[1], second))
        for one, answers, other, others in pairs:
            there = placed(other, others)
            if relation is Relation.ADD_REMOVE:
                there = np.zeros_like(there)
            apart = (placed(one, answers) - there).astype(object)
            largest = max(largest, float((apart * apart).sum()))
        assert 0.99 * allowed <= largest <= allowed


def test_a_matrix_comes_for_free_once_vectors_move_twice_as_far():
    with_matrix = joint(Fraction(1), Fraction(2), Relation.REPLACE_ONE)
    assert with_matrix == joint(Fraction(0), Fraction(2), Relation.REPLACE_ONE)


def test_published_constants_spend_less_than_they_state_up_to_large_epsilons():
    """Three Gaussians of σ = √ln(6/δ)/(ε/3), one record apart: what they compose to."""
    effective = {}
    for epsilon in (0.1, 1, 2, 40):
        sigma = math.sqrt(math.log(6e6)) / (epsilon / 3)
        loss = GDP(repr(3 / sigma**2)).approximate("1e-6")
        effective[epsilon] = float(loss.epsilon)
    assert effective[1] == pytest.approx(0.596, abs=5e-4)
    assert effective[2] == pytest.approx(1.256, abs=1e-3)
    assert effective[0.1] == pytest.approx(0.051, abs=5e-4)
    assert effective[40] == pytest.approx(44.1, abs=0.1)


def test_gaussian_losses_of_the_literature():
    for epsilon, mu in ((1, 0.2367), (2, 0.4483), (0.1, 0.0275)):
        found = GDP.within(ApproxDP(epsilon, "1e-6"))
        assert math.sqrt(found.mu_squared) == pytest.approx(mu, abs=6e-5)


@pytest.mark.parametrize(
    ("kind", "options"), [(AdaSSP, {"bound": 20}), (BoostedAdaSSP, {"residuals": 1})]
)
def test_much_budget_finds_the_weights(kind, options):
    rows = made.made(800, noise=0.3)
    method = kind(epsilon=10**6, delta="1e-6", target="cost", **options)
    with noise.seeded(1):
        release = method.release(made.table(rows, relation="replace_one"))
    costs = np.array([row[3] for row in rows])
    left = costs - release.predict(made.frame(rows))
    # The cost is 0.1 a year, 2 for smokers and −1 in the west, give or take 0.3.
    assert np.std(left) < 0.35


@pytest.mark.parametrize("kind", [AdaSSP, BoostedAdaSSP])
@pytest.mark.parametrize("epsilon", ["1e-6", 1000])
@pytest.mark.parametrize("rows", [[], [made.HIGHEST]])
def test_every_table_gives_finite_weights(kind, epsilon, rows):
    release = kind(epsilon=epsilon, delta="1e-6", target="cost").release(made.table(rows))
    assert np.isfinite(release.weights).all()
    assert np.isfinite(release.predict(made.frame([made.LOWEST]))).all()


def test_a_delta_is_asked_for_before_anything_is_spent():
    for kind in (AdaSSP, BoostedAdaSSP):
        with pytest.raises(ValueError, match="needs a delta, such as"):
            kind(epsilon=1, target="cost").release(made.table([]))
    pure = Setting(dimension=2, relation=Relation.ADD_REMOVE, limit=PureDP(1))
    for estimator in (AdaSSPEstimator(), BoostedEstimator()):
        with pytest.raises(ValueError, match="needs a delta"):
            estimator.check(pure)


def test_the_paper_variant_draws_more_noise_and_is_refused_where_it_would_spend_more():
    paper = {**DECLARED, "delta": "1e-6", "variant": "paper"}
    data = made.table(made.made(40))
    method = AdaSSP(epsilon=1, **paper)
    (step,) = [s for s in method.plan(data.public).steps if "sums" in s.what]
    # √ln(6/δ)/(ε/3).
    assert step.figures["margin"] == pytest.approx(11.85, rel=1e-3)
    tight = AdaSSP(epsilon=1, **{**paper, "variant": "tight"})
    (better,) = [s for s in tight.plan(data.public).steps if "sums" in s.what]
    assert better.figures["margin"] < 0.6 * step.figures["margin"]
    with noise.seeded(1):
        assert np.isfinite(method.release(data).weights).all()
    with pytest.raises(ValueError, match="exceeds this epsilon"):
        AdaSSP(epsilon=200, **paper).plan(data.public)
    with pytest.raises(ValueError, match="is for add/remove"):
        method.plan(made.table(made.made(4), relation="replace_one").public)


def test_an_indefinite_matrix_is_lifted_just_so_far():
    matrix = np.diag([-3.0, 1.0, 5.0])
    np.testing.assert_allclose(solve_lifted(matrix, np.ones(3), 2.0), [1 / 2, 1 / 6, 1 / 10])
    np.testing.assert_allclose(solve_lifted(np.diag([4.0, 5.0]), np.ones(2), 2.0), [1 / 4, 1 / 5])


def records(n, generator):
    """Return rows of length 1 and answers as a linear model has them, R² about 0.83."""
    x = generator.normal(size=(n, 10))
    weights = generator.normal(size=10)
    y = x @ weights + generator.normal(size=n) * np.linalg.norm(weights) * 0.4
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    return x, y - y.mean()


def test_rehearsals_are_as_good_as_releases():
    """Made-up rows, once as floats and once as a table: the same error within a third."""
    errors = {"float": [], "table": []}
    options = {"response": "declared", "features": "declared", "intercept": False}
    for seed in range(12):
        generator = np.random.default_rng(seed)
        x = generator.uniform(-1, 1, (600, 3))
        y = np.clip(x @ [0.5, -0.3, 0.2] + 0.1 * generator.normal(size=600), -1, 1)
        frame = pl.DataFrame({**{f"x{j}": x[:, j] for j in range(3)}, "y": y})
        schema = {name: {"kind": "real", "low": -1, "high": 1} for name in frame.columns}
        table = Table(frame, Schema.from_dict(schema, relation="replace_one"))
        method = BoostedAdaSSP(epsilon=1, delta="1e-6", target="y", rounds=3, **options)
        with noise.seeded(seed):
            release = method.release(table)
        estimator = method.estimator(table.public)
        rule = method.rule(table.public, {}, estimator)
        scaled = x / rule.spread / rule.radius
        long = np.maximum(np.linalg.norm(scaled, axis=1), 1)
        answers = np.clip(y / rule.response_bound, -1, 1)
        setting = method.setting(table.public, {})
        made_up = estimator.rehearse(setting, scaled / long[:, None], answers / long, generator)
        weights = (rule.to_design(table.public) @ made_up.weights)[:-1]
        errors["float"].append(np.square(weights - [0.5, -0.3, 0.2]).sum())
        errors["table"].append(np.square(release.weights - [0.5, -0.3, 0.2]).sum())
    ratio = np.sqrt(np.mean(errors["table"]) / np.mean(errors["float"]))
    # Root mean squares of 36 numbers each are within a third of one another but once in 10⁶.
    assert 0.5 < ratio < 2


def test_rounds_make_up_for_residuals_that_are_cut():
    """Boosted rounds explain at least 0.2 more of the answers than one cut at the same place."""
    setting = Setting(10, Relation.REPLACE_ONE, GDP.within(ApproxDP(1, "1e-6")), 500.0)
    boosted = BoostedEstimator(answer_bound=4.0)
    once = AdaSSPEstimator()
    found = {"boosted": [], "once": []}
    for seed in range(10):
        generator = np.random.default_rng(seed)
        x, y = records(500, generator)
        for name, estimator, cut in (("boosted", boosted, 4.0), ("once", once, 0.3)):
            scale = cut * y.std()
            fit = estimator.rehearse(setting, x, np.clip(y / scale, -1, 1), generator)
            left = y - scale * (x @ fit.weights)
            found[name].append(1 - (left @ left) / (y @ y))
    assert np.median(found["boosted"]) > np.median(found["once"]) + 0.2


def test_steps_share_one_price_and_cannot_be_repeated():
    steps = NormalSteps(lengths=(2, 1), squared_sensitivity=Fraction(4), mu_squared=Fraction(1, 4))
    assert steps.cost(GDP) == GDP("1/4") and steps.standard_deviation == pytest.approx(4)
    run = steps.start()
    with pytest.raises(ValueError, match="declared shape"):
        run.step(np.array([1], dtype=np.int64))
    run.step(np.array([0, 0], dtype=np.int64))
    run.step(np.array([0], dtype=np.int64))
    assert run.done
    with pytest.raises(ValueError, match="all steps of this run were taken"):
        run.step(np.array([0], dtype=np.int64))
    here = [np.array([0, 0]), np.array([1])]
    change = steps.change(here, [np.array([1, 0]), np.array([-1])])
    assert change.measured == 5 and not change.holds
    assert steps.change(here, here[:1]).measured == math.inf


def test_the_loss_of_steps_that_depend_on_one_another_is_that_of_one_normal_number():
    """Which coordinate the record moves in the second step is decided by the first answer.

    The log-likelihood ratio is normal with mean and variance μ²/2 and μ²; with 1,500 runs its mean
    and variance are within five standard errors but once in 10⁶.
    """
    steps = NormalSteps(
        lengths=(1, 2), squared_sensitivity=Fraction(2 * 1000**2), mu_squared=Fraction(1, 2)
    )
    ratios = []
    with noise.seeded(5):
        for _ in range(1500):
            run = steps.start()
            one = [np.array([0]), np.array([0, 0])]
            other = [np.array([1000]), np.array([0, 0])]
            said = [run.step(one[0])]
            other[1][int(said[0][0] > 500)] = 1000
            said.append(run.step(one[1]))
            here, there = (steps.log_probability(x, said) for x in (one, other))
            ratios.append(here - there)
    assert np.mean(ratios) == pytest.approx(0.25, abs=5 * math.sqrt(0.5 / 1500))
    assert np.var(ratios) == pytest.approx(0.5, abs=5 * 0.5 * math.sqrt(2 / 1500))


def test_a_matrix_is_lifted_to_a_floor_beside_which_it_is_huge():
    # The difference of two nearly equal numbers rounded to 0, and weights were no numbers.
    found = solve_lifted(np.diag([-5.0, 3.0]), np.ones(2), 1e-16)
    assert np.isfinite(found).all()
