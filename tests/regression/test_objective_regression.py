"""Regression by objective perturbation: its suite, its primitive, and that it explains."""

import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, optimize

from sfumato import noise
from sfumato.audit import sample_loss
from sfumato.data.schema import Schema
from sfumato.data.table import Table, TablePublic
from sfumato.mechanisms import objective as objective_module
from sfumato.mechanisms.huber import Examples, minimise
from sfumato.mechanisms.objective import ObjectivePerturbation
from sfumato.mechanisms.residual import (
    Answered,
    ResidualObjective,
    ResidualPerturbation,
    residual_calibrated,
)
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import PureDP
from sfumato.regression.objective_regression import ObjectiveEstimator, ObjectiveRegression
from sfumato.regression.rows import ROW
from tests.method_suite import MethodSuite
from tests.tabular import tables

ONE, HALF = Fraction(1), Fraction(1, 2)
# Nothing but the fit is paid for, so that replay sees all of the loss in it.
FIT_ALONE = {"target": "size", "response": "declared", "features": "declared"}

DOSE_ALONE = {**FIT_ALONE, "target": "dose"}


class ObjectiveSuite(MethodSuite):
    name = "table.ObjectiveRegression"
    options = FIT_ALONE
    sampled = False

    def audited_public(self):
        return self.data().public

    def data(self):
        return tables.table(tables.made(40))

    def neighbours(self):
        return tables.row_pairs()

    def fact(self, release):
        return release.transcript["weights"]

    def halve_noise(self, monkeypatch):
        super().halve_noise(monkeypatch)
        monkeypatch.setattr(
            ObjectivePerturbation, "scale", property(lambda p: p.reach / p.noise / 2)
        )

    def halve_drawn_noise(self, monkeypatch):
        super().halve_drawn_noise(monkeypatch)
        true = objective_module.perturb_knorm
        monkeypatch.setattr(
            objective_module,
            "perturb_knorm",
            lambda values, scale, *, grid_exponent: true(
                values, scale / 2, grid_exponent=grid_exponent
            ),
        )

    def halve_sensitivity(self, monkeypatch):
        # Rows of length 2 where 1 is declared.
        super().halve_sensitivity(monkeypatch)
        monkeypatch.setattr("sfumato.regression.rows.ROW", 2 * ROW)


class TestAddRemove(ObjectiveSuite):
    pass


class TestReplaceOne(ObjectiveSuite):
    def data(self):
        return tables.table(tables.made(40), relation="replace_one")

    def neighbours(self):
        return tables.replaced_pairs()


class TestConstantAlone(ObjectiveSuite):
    """One column: the linear term is a single Laplace number, of which samples see everything."""

    options = DOSE_ALONE
    sampled = True
    random_neighbours = 30

    def data(self):
        real = {"kind": "real", "low": 0, "high": 1, "bits": 4}
        return Table(pl.DataFrame({"dose": [0.5, 0.1, 0.9]}), Schema.from_dict({"dose": real}))

    def neighbours(self):
        return []

    def test_samples_do_not_refute_the_method(self):
        # Confidence 1 − 1e-6: the false-alarm rate of this test.
        pair = self.pairs()[0]
        result = sample_loss(self.method(), pair, trials=200, confidence=1 - 1e-6, seed=1)
        assert not result.refuted, str(result)

    def test_samples_refute_the_method_with_half_the_noise_drawn(self, monkeypatch):
        self.halve_drawn_noise(monkeypatch)
        result = sample_loss(
            self.method(epsilon=2), self.pairs()[0], trials=400, confidence=0.99, seed=1
        )
        assert result.refuted, str(result)


def answered(rows, answers):
    """Records given as floats."""
    values = np.round(np.array(rows, dtype=float) * 2**16).astype(np.int64)
    return Answered.of(values, np.round(np.array(answers) * 2**16).astype(np.int64))


def some(count, dimension, seed=0):
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(count, dimension))
    rows /= 1.0001 * np.linalg.norm(rows, axis=1, keepdims=True)
    return answered(rows, np.clip(rows @ np.arange(1, dimension + 1) / 4, -1, 1))


class TestMinimiser:
    @pytest.mark.parametrize("width", [1, "1/2", "1/16"])
    def test_it_finds_what_scipy_finds(self, width):
        objective = ResidualObjective(
            some(60, 3), Fraction(1, 2), Fraction(width), (ONE, -HALF, Fraction(5))
        )
        units, bits = minimise(objective, Fraction(1, 10**20))
        found = np.array([float(Fraction(unit, 2**bits)) for unit in units])
        known = optimize.minimize(
            objective.value, np.zeros(3), jac=objective.float_gradient, method="BFGS", tol=1e-10
        )
        np.testing.assert_allclose(found, known.x, atol=1e-5)

    @settings(max_examples=20, deadline=None)
    @given(st.lists(st.integers(-(2**70), 2**70), min_size=3, max_size=3))
    def test_the_exact_gradient_is_the_rational_one(self, units):
        data, bits, h = some(9, 3, seed=4), 60, Fraction(1, 4)
        objective = ResidualObjective(data, Fraction(7, 3), h, (ONE, HALF, Fraction(-5)))
        w = [Fraction(unit, 2**bits) for unit in units]
        expected = [objective.strength * w[j] + objective.linear[j] for j in range(3)]
        for row, answer in zip(data.rows(), data.answers, strict=True):
            x = [Fraction(int(value), 2**16) for value in row]
            residual = Fraction(int(answer), 2**16) - sum(
                (a * b for a, b in zip(w, x, strict=True)), Fraction(0)
            )
            slope = max(min(residual / h, ONE), -ONE)
            expected = [total - slope * x[j] for j, total in enumerate(expected)]
        assert objective.gradient(units, bits) == expected


class TestPrimitive:
    def one(self, relation=Relation.ADD_REMOVE, **options):
        given_ = {"width": HALF, "curvature": Fraction(1, 8), **options}
        return residual_calibrated(1, ONE, relation, **given_)

    def test_it_costs_what_it_was_made_for(self):
        for relation in Relation:
            for curvature in ("1/16", "1/2"):
                primitive = self.one(relation, curvature=Fraction(curvature))
                price = primitive.cost(PureDP).epsilon
                assert 1 - Fraction(1, 10**6) < price <= 1

    def test_the_density_in_one_dimension_integrates_to_one(self):
        primitive, data = self.one(), answered([[1.0], [-0.5]], [0.5, 1.0])
        step = 2.0**primitive.exponent

        def density(w):
            return math.exp(primitive.log_probability(data, np.array([round(w / step)]))) / step

        kinks = [0.0, 0.5 - 0.5, 0.5 + 0.5, -1.0, -3.0]
        total = sum(
            integrate.quad(density, low, high, points=[p for p in kinks if low < p < high])[0]
            for low, high in ((-60, -5), (-5, 5), (5, 60))
        )
        assert total == pytest.approx(1, abs=1e-4)

    @settings(max_examples=60, deadline=None)
    @given(st.integers(0, 2**32), st.sampled_from(list(Relation)), st.sampled_from(["1", "1/8"]))
    def test_no_weights_tell_neighbours_apart_by_more_than_the_price(self, seed, relation, width):
        generator = np.random.default_rng(seed)
        primitive = residual_calibrated(
            2, ONE, relation, width=Fraction(width), curvature=Fraction(1, 4)
        )
        here = some(4, 2, seed)
        rows, answers = here.rows().copy(), here.answers.copy()
        if relation is Relation.REPLACE_ONE:
            rows[0], answers[0] = -rows[0], generator.integers(-(2**16), 2**16)
        else:
            rows, answers = rows[1:], answers[1:]
        there = Answered.of(rows, answers)
        assert primitive.change(here, there).measured == 1
        outputs = [*primitive.extremes(here, there), *primitive.extremes(there, here)]
        outputs += list(generator.integers(-(2**26), 2**26, (20, 2)).astype(object))
        for output in outputs:
            loss = primitive.log_probability(here, output) - primitive.log_probability(
                there, output
            )
            assert abs(loss) <= 1 + 1e-9

    def test_longer_rows_than_declared_are_told(self):
        primitive = self.one()
        assert primitive.change(answered([[2.0]], [0]), answered([[1.0]], [0])).measured == math.inf

    def test_an_input_without_answers_is_refused(self):
        bare = Examples(
            np.zeros((1, 1), dtype=np.intp), np.ones((1, 1), dtype=np.int64), np.ones(1, int), 1
        )
        with pytest.raises(ValueError, match="must be records"):
            self.one().check(bare)

    @pytest.mark.parametrize("width", ["2", "1/3", "0"])
    def test_widths_are_powers_of_a_half(self, width):
        with pytest.raises(ValueError, match="width must be"):
            ResidualPerturbation(
                dimension=1,
                strength=ONE,
                width=Fraction(width),
                noise=ONE,
                settling=ONE,
                relation=Relation.ADD_REMOVE,
            )


def test_it_explains_a_table_with_correlated_columns():
    # Seeded; the fit without noise has R² = .9.
    generator = np.random.default_rng(1)
    a = generator.normal(0, 1, 4000)
    b = 0.8 * a + 0.6 * generator.normal(0, 1, 4000)
    y = 3 * a - 2 * b + generator.normal(0, 0.6, 4000)
    frame = pl.DataFrame({"a": a, "b": b, "y": y})
    real = {"kind": "real", "low": -5, "high": 5, "outside": "clamp"}
    schema = Schema.from_dict({"a": real, "b": real, "y": {**real, "low": -20, "high": 20}})
    with noise.seeded(3):
        model = ObjectiveRegression(epsilon=1, target="y").release(Table(frame, schema))
    told = model.predict(frame)
    assert 1 - np.var(y - told) / np.var(y) > 0.8


@pytest.mark.parametrize(
    ("residual", "width", "answers"), [(0.5, "1/8", 4), (0.3, "1/16", 4.8), (6, "1", 6)]
)
def test_residuals_are_bounded_more_narrowly_than_answers(residual, width, answers):
    estimator = ObjectiveEstimator(residual_bound=residual)
    assert estimator.width == Fraction(width)
    assert estimator.answer_bound == pytest.approx(answers)


def test_settings_are_checked_when_the_method_is_made():
    for options in ({"residual_bound": 0}, {"curvature": 0}, {"curvature": 1}):
        with pytest.raises(ValueError, match="must be"):
            ObjectiveRegression(epsilon=1, target="size", **options)


def test_an_epsilon_too_small_for_any_fit_is_refused_before_it_is_paid():
    public = TablePublic.of(tables.schema())
    with pytest.raises(ValueError, match="at least 1e-12"):
        ObjectiveRegression(epsilon="1e-14", target="size").check(public)


@pytest.mark.parametrize(
    ("epsilon", "curvature"), [("250", "1/8"), ("40", "9/10"), ("1e12", "1/8")]
)
def test_the_search_ends_soon_at_an_absurd_epsilon_on_few_records(epsilon, curvature):
    # It ran for ever where the ridge fell to a billionth of the curvature.
    primitive = residual_calibrated(
        2,
        Fraction(epsilon),
        Relation.ADD_REMOVE,
        width=Fraction(1, 8),
        curvature=Fraction(curvature),
    )
    for seed in range(12):
        with noise.seeded(seed):
            assert len(primitive.sample(some(3, 2, seed))) == 2
