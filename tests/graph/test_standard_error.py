"""A standard error that is paid for, where the size of the noise follows the graph."""

import json
import math
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pytest

from sfumato import noise
from sfumato.audit import examine
from sfumato.data.graph import GraphPublic
from sfumato.graph.statistic import GraphStatistic
from sfumato.mechanisms.expression.estimate import estimate
from sfumato.mechanisms.expression.noises import EstimatedNoise, KnownNoise
from sfumato.mechanisms.expression.polynomials import polynomial_of, remove_bias, variance
from sfumato.mechanisms.expression.scale import STEPS, ScaleNoise
from sfumato.mechanisms.expression.terms import Item, Unit
from sfumato.mechanisms.laplace import GeometricNoise
from sfumato.mechanisms.smooth import SmoothCauchy, SmoothInput, SmoothLaplace
from sfumato.privacy.loss import ApproxDP, PureDP
from sfumato.privacy.record import record, replay
from tests.graph.graphs import graph
from tests.graph.test_statistic import EDGES, Suite

LAPLACE = SmoothLaplace(epsilon=1, delta="1e-6", dimension=1, grid_exponent=-40)
CAUCHY = SmoothCauchy(epsilon="4/5", grid_exponent=-40, power=4, slide="3/4")


class TestTriangles(Suite):
    """The whole suite, with smooth noise and its scale."""

    options: ClassVar = {"expression": "triangles", "standard_error": True}
    sampled = False
    random_neighbours = 20

    def pairs(self):
        return [pair for pair in super().pairs() if "in common" in pair.name]

    def test_exact_replay_finds_nothing_and_comes_close_to_the_promise(self):
        """On so small a graph the count moves by its bound and the bound stays, or nearly so."""
        found = [examine(self.method(), pair, seeds=(1, 2)) for pair in self.pairs()]
        assert all(findings.passed for findings in found)
        # Three quarters of four fifths pay for the move, in the limit of the worst output.
        assert 0.59 <= max(findings.largest for findings in found) <= 1

    def test_more_budget_never_means_more_noise(self):
        public = self.data().public
        for epsilon in ("1/10", 1, 10):
            steps = self.method(epsilon=epsilon).plan(public).steps
            # The noise on the logarithm is β/ε, and β is a twelfth of what is left of ε.
            assert "a factor of e^± 0.4714" in steps[1].noise

    def halve_noise(self, monkeypatch):
        super().halve_noise(monkeypatch)
        original = SmoothCauchy.log_probability

        def sharper(primitive, value, output):
            return original(primitive, SmoothInput(value.value, value.bound / 2), output)

        monkeypatch.setattr(SmoothCauchy, "log_probability", sharper)
        drawn = SmoothCauchy.sample
        monkeypatch.setattr(
            SmoothCauchy,
            "sample",
            lambda p, value: drawn(p, SmoothInput(value.value, value.bound / 2)),
        )

    def halve_sensitivity(self, monkeypatch):
        super().halve_sensitivity(monkeypatch)
        original = SmoothInput.__new__
        monkeypatch.setattr(
            SmoothInput, "__new__", lambda cls, value, bound: original(cls, value, bound / 2)
        )


def released(expression, data=None, *, epsilon=1, seed=1, **options):
    with noise.seeded(seed):
        method = GraphStatistic(
            epsilon=epsilon, expression=expression, standard_error=True, **options
        )
        return method.release(graph(5, EDGES) if data is None else data)


@pytest.mark.parametrize("smooth", [LAPLACE, CAUCHY], ids=str)
def test_the_logarithm_of_a_smooth_bound_moves_by_beta_at_most(smooth):
    scale = ScaleNoise(smooth, Fraction(1, 5))
    assert scale.primitive.sensitivity == STEPS
    bounds = [Fraction(1), Fraction(7, 3), Fraction(10**300), Fraction(1, 2**256)]
    for bound in bounds:
        here = int(scale.given(bound)[0])
        assert here * float(scale.step) == pytest.approx(
            math.log(bound.numerator) - math.log(bound.denominator), abs=1e-6
        )
        # The largest neighbour's bound that is allowed, rounded down a little.
        for part in (0, Fraction(1, 3), 1):
            factor = Fraction(math.exp(float(smooth.beta * part))) * (1 - Fraction(1, 10**15))
            assert abs(int(scale.given(bound * factor)[0]) - here) <= STEPS


@pytest.mark.parametrize("smooth", [LAPLACE, CAUCHY], ids=str)
def test_the_square_of_the_scale_is_right_on_average(smooth):
    """Exactly: the sum over all noise of the estimate times its probability."""
    scale = ScaleNoise(smooth, Fraction(1, 5))
    assert scale.spread == pytest.approx(float(smooth.beta) * 5)
    bound = Fraction(37, 5)
    here = int(scale.given(bound)[0])
    rate, step = float(scale.epsilon) / STEPS, float(scale.step)
    # Too fine a grid to be summed: every thousandth number stands for its neighbours.
    places = np.arange(-40_000, 40_001) * 4096
    weights = np.exp(-rate * np.abs(places))
    weights /= weights.sum()
    estimates = np.array([1.0, math.exp(2 * step * 4096)])
    first = float(scale.read([here]).variance)
    mean = first * float(np.sum(weights * np.exp(2 * step * places)))
    truth = (float(bound * smooth.calibration.factor)) ** 2
    truth *= 2 if isinstance(smooth, SmoothLaplace) else 1
    assert mean == pytest.approx(truth, rel=2e-3)
    told = [float(scale.read([here + shift]).variance) for shift in (0, 4096)]
    assert told[1] / told[0] == pytest.approx(estimates[1])
    assert scale.read([here]).fair


def test_a_scale_told_too_coarsely_is_not_called_fair():
    told = ScaleNoise(CAUCHY, Fraction(1, 20)).read([0])
    assert not told.fair and told.variance == pytest.approx(float(CAUCHY.calibration.factor) ** 2)


def test_powers_are_corrected_by_the_estimated_scale():
    laplace = EstimatedNoise(Fraction(3), highest=None, fair=True)
    assert laplace.unbiased_power(1) == {1: 1}
    assert laplace.unbiased_power(3) == {3: 1, 1: -18}
    assert laplace.moments(4) == [1, 0, 6, 0, 24 * 9]
    other = EstimatedNoise(Fraction(3), highest=2, fair=True)
    assert other.unbiased_power(2) == {2: 1, 0: -6}
    assert other.unbiased_power(3) is None and other.moments(3) is None
    unit = Unit("u")
    square = polynomial_of(unit**2)
    assert remove_bias(square, {unit: other}) == remove_bias(square, {unit: laplace})
    # The square of noise without a fourth moment has no variance.
    assert variance(remove_bias(square, {unit: other}), {unit: other}) is None
    assert variance(polynomial_of(unit), {unit: other}) == {(): 6}


def test_what_is_right_on_average_and_what_is_not():
    unit, vector = Unit("u"), Unit("w", 3)
    fair = EstimatedNoise(Fraction(2), highest=None, fair=True)
    coarse = EstimatedNoise(Fraction(2), highest=None, fair=False)
    values = {unit: 10, vector: np.array([4.0, 5.0, 6.0])}

    def bias(term, law):
        return estimate(term, values, {unit: law, vector: law}).bias

    assert bias(unit, fair) == bias(unit, coarse) == bias(unit**2, fair) == 0
    # Not exact, so it is told by the delta method: half of f″·variance less what was taken off.
    assert bias(unit**2, coarse) == pytest.approx(0)
    product = Item(vector, 0) ** 2 * Item(vector, 1) ** 2
    assert bias(product, fair) != 0
    mixed = estimate(unit * vector, values, {unit: fair, vector: KnownNoise(Fraction(1))})
    assert mixed.standard_error.shape == (3,)


def test_estimates_of_a_square_are_right_on_average():
    """The mean of 600 estimates of 2² = 4: 5.2 standard errors are one in 5 million."""
    data = graph(5, EDGES)
    method = GraphStatistic(
        epsilon=4, delta="1e-4", expression="triangles ** 2", standard_error=True
    )
    (plan,) = method._plans(data.public)
    term = method._term(data.public, method.expression)
    given = plan.unit.statistic.given(data, plan.primitive)
    found = []
    with noise.seeded(3):
        for _ in range(600):
            value = plan.unit.statistic.read(plan.primitive, plan.primitive.sample(given))
            told = plan.scale.read(plan.scale.primitive.sample(plan.scale.given(given.bound)))
            found.append(estimate(term, {plan.unit: value}, {plan.unit: told}).value)
    assert abs(np.mean(found) - 4) < 5.2 * np.std(found, ddof=1) / math.sqrt(len(found))
    # Uncorrected it would be off by the variance, 2b² of the true scale: it matters.
    scale = float(given.bound * plan.primitive.calibration.factor)
    assert 2 * scale**2 > 1


@pytest.mark.parametrize(
    "options",
    [
        {"expression": "3 * triangles / wedges"},
        {"expression": "clustering(1) + mean_clustering"},
        {"expression": "triangles * edges", "delta": "1e-4"},
        {"expression": "share(node_triangles, choose2(degrees))", "delta": "1e-4"},
    ],
)
def test_it_is_told_and_keeps_what_it_declares_on_neighbours(options):
    method = GraphStatistic(epsilon=1, standard_error=True, **options)
    for here, there in Suite().neighbours()[:2]:
        with noise.seeded(1):
            script = record(method, here)
        assert all(change.holds for _, change in script.changes(replay(method, there, script)))
    release = released(options["expression"], delta=options.get("delta"))
    assert np.all(release.standard_error > 0) and "itself a noisy estimate" in release.words()
    assert json.loads(release.files()["statistic.json"])["standard_error_is"] == "a noisy estimate"


def test_a_fifth_of_what_follows_the_graph_is_spent_on_it():
    public = GraphPublic(nodes=50)
    plan = GraphStatistic(epsilon=2, expression="triangles / edges", standard_error=True).plan(
        public
    )
    told = {step.what: step.loss for step in plan.steps}
    assert told == {
        "triangles": PureDP("4/5"),
        "scale of triangles": PureDP("1/5"),
        "edges": PureDP(1),
    }
    approximate = GraphStatistic(
        epsilon=2, delta="1e-6", expression="triangles", standard_error=True
    ).plan(public)
    assert [step.loss for step in approximate.steps] == [
        ApproxDP("8/5", "1e-6"),
        ApproxDP("2/5", 0),
    ]
    assert "an estimate" in str(plan)


def test_only_the_scale_is_told_beside_the_units():
    method = GraphStatistic(epsilon=1, expression="triangles + wedges", standard_error=True)
    with noise.seeded(1):
        script = record(method, graph(5, EDGES))
    kinds = {step.label: type(step.primitive) for step in script}
    assert kinds == {
        "triangles": SmoothCauchy,
        "scale of triangles": GeometricNoise,
        "wedges": SmoothCauchy,
        "scale of wedges": GeometricNoise,
    }


@pytest.mark.parametrize("epsilon", ["1e-6", 1000])
@pytest.mark.parametrize("nodes", [3, 4])
def test_small_graphs_and_any_budget(nodes, epsilon):
    for edges in (set(), {(0, 1), (1, 2), (0, 2)}):
        found = released("triangles ** 2 + wedges", graph(nodes, edges), epsilon=epsilon)
        assert np.isfinite(found.value) and np.isfinite(found.standard_error)


def test_it_is_refused_where_it_is_told_anyway():
    for nodes, expression in ((5, "edges ** 2"), (2, "triangles")):
        method = GraphStatistic(epsilon=1, expression=expression, standard_error=True)
        with pytest.raises(ValueError, match="includes its standard error anyway"):
            method.plan(GraphPublic(nodes=nodes))


@pytest.mark.parametrize("epsilon", ["1e-15", "1e-12", 1000, "1e12"])
def test_every_graph_is_accepted_at_every_epsilon(epsilon):
    """Where a step of the logarithm is next to nothing there are more than 64 bits of them."""
    for edges in ([], [(0, 1)], EDGES):
        release = GraphStatistic(
            epsilon=epsilon, expression="triangles", standard_error=True
        ).release(graph(20, edges))
        assert release.standard_error >= 0
