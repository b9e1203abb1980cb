"""TukeyEM: its suites, the deep point by enumeration, batches, and what it finds."""

import math
from collections import Counter
from fractions import Fraction
from itertools import product
from typing import Any, ClassVar

import numpy as np
import pytest

from sfumato import noise
from sfumato.data.schema import Schema
from sfumato.data.table import TablePublic
from sfumato.mechanisms.deep_point import DeepPoint, NestedBoxes, choose_level
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import GDP, ApproxDP, PureDP, Unpriced
from sfumato.regression.batches import GRID, deal_rows, to_grid
from sfumato.regression.estimator import Setting
from sfumato.regression.tukey import FAILED, TukeyEM, TukeyEstimator
from tests.method_suite import AuditSuite, MethodSuite
from tests.regression import made

# Exact laws, which no version of a library can change: tested once.
pytestmark = pytest.mark.replay

DECLARED = {"target": "cost", "response": "declared", "features": "declared"}


class DeepNoise:
    """A deep point loses half of its promise where all models but one are alike."""

    def halve_noise(self, monkeypatch):
        """Make the choice follow the depth four times as closely."""
        true = DeepPoint.rate.fget
        monkeypatch.setattr(DeepPoint, "rate", property(lambda p: true(p) * 4))

    def halve_sensitivity(self, monkeypatch):
        """Make the primitive declare that no model moves."""
        true = DeepPoint.change

        def less(primitive, value, neighbour):
            change = true(primitive, value, neighbour)
            return type(change)(change.measured, 0, change.norm)

        monkeypatch.setattr(DeepPoint, "change", less)


class TestTukeyEM(DeepNoise, MethodSuite):
    name = "table.TukeyEM"
    options: ClassVar[dict[str, Any]] = {**DECLARED, "delta": "1e-1", "batches": 150}
    sampled = False
    random_neighbours = 10

    def audited_public(self):
        return made.table([]).public

    def pairs(self):
        # The others add a record whose target is missing, a row of zeros that changes nothing.
        return super().pairs()[2:3]

    def data(self):
        return made.table(made.made(3000))

    def neighbours(self):
        return made.row_pairs()

    def fact(self, release):
        # The noisy count besides: where the test fails, all weights are 0.
        return np.append(release.weights, release.transcript["count"])

    @pytest.mark.skip(reason="what has a δ loses its price; the law is enumerated below")
    def test_exact_replay_fails_the_method_with_half_the_noise(self, monkeypatch):
        """Replay takes the price of a primitive with a δ for its loss."""


class TestPureUnderReplacement(DeepNoise, AuditSuite):
    name = "table.TukeyEM"
    options: ClassVar[dict[str, Any]] = {**DECLARED, "batches": 200}
    sampled = False
    random_neighbours = 5

    def audited_public(self):
        columns = {"cost": {"kind": "real", "low": -10, "high": 10, "bits": 8}}
        return TablePublic.of(Schema.from_dict(columns, relation="replace_one"), rows=6)

    def test_exact_replay_finds_nothing_and_comes_close_to_the_promise(self):
        # One record among empty batches moves a few depths by 1: far from the worst case, which is
        # enumerated below.
        from sfumato.audit import examine

        for pair in self.pairs():
            assert examine(self.method(), pair, seeds=(0,)).passed

    @pytest.mark.skip(reason="far from the worst case; the law is enumerated below")
    def test_exact_replay_fails_the_method_with_half_the_noise(self, monkeypatch):
        """Nothing that a replay of this data could see."""


def law(primitive, points):
    """Return the probability of every output."""
    ends = range(-primitive.bound, primitive.bound + 1)
    found = {
        y: math.exp(primitive.log_probability(points, np.array(y)))
        for y in product(ends, repeat=primitive.dimension)
    }
    return {**found, None: math.exp(primitive.log_probability(points, None))}


def worst(primitive, pairs):
    """Return the largest P(E) − e^ε·Q(E) over pairs and events, either way round."""
    factor, found = math.exp(primitive.epsilon), 0.0
    for one, other in pairs:
        for p, q in ((one, other), (other, one)):
            found = max(found, math.fsum(max(p[y] - factor * q[y], 0.0) for y in p))
    return found


def close_points(primitive, generator, many):
    """Return pairs of neighbouring inputs, most of them packed closely."""
    pairs = []
    for _ in range(many):
        width = int(generator.integers(0, primitive.bound + 1))
        points = generator.integers(-width, width + 1, (primitive.points, primitive.dimension))
        other = points.copy()
        moved = generator.choice(primitive.points, primitive.moved, replace=False)
        ends = generator.choice([-primitive.bound, 0, primitive.bound], other[moved].shape)
        other[moved] = ends
        pairs.append((points.astype(np.int64), other.astype(np.int64)))
    return pairs


CASES = [
    {"points": 9, "dimension": 1, "bound": 3, "moved": 1, "epsilon": 4, "delta": "0.2"},
    {"points": 16, "dimension": 1, "bound": 4, "moved": 1, "epsilon": 6, "delta": "0.05"},
    {"points": 12, "dimension": 2, "bound": 2, "moved": 1, "epsilon": 8, "delta": "0.1"},
    {"points": 24, "dimension": 1, "bound": 3, "moved": 2, "epsilon": 8, "delta": "0.1"},
    {"points": 7, "dimension": 2, "bound": 2, "moved": 1, "epsilon": 1, "delta": 0},
    {"points": 8, "dimension": 1, "bound": 4, "moved": 2, "epsilon": 2, "delta": 0},
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_no_event_tells_neighbours_apart_by_more_than_epsilon_and_delta(case):
    primitive = DeepPoint(**{**case, "delta": Fraction(case["delta"])})
    generator = np.random.default_rng(1)
    pairs = close_points(primitive, generator, 25)
    laws = [(law(primitive, one), law(primitive, other)) for one, other in pairs]
    for one, other in laws:
        assert math.fsum(one.values()) == pytest.approx(1)
        assert math.fsum(other.values()) == pytest.approx(1)
    assert worst(primitive, laws) <= float(primitive.delta) + 1e-12
    if primitive.tested:
        # The test says both yes and no among these inputs, or nothing would be shown.
        passing = [1 - one[None] for one, _ in laws]
        assert max(passing) > 0.5 and min(passing) < float(primitive.delta) * 1.01


def test_the_enumeration_sees_a_choice_that_follows_depth_too_closely(monkeypatch):
    primitive = DeepPoint(**CASES[4])
    true = DeepPoint.rate.fget
    monkeypatch.setattr(DeepPoint, "rate", property(lambda p: true(p) * 2))
    pairs = close_points(primitive, np.random.default_rng(1), 25)
    laws = [(law(primitive, one), law(primitive, other)) for one, other in pairs]
    assert worst(primitive, laws) > 0.01


@pytest.mark.parametrize(
    "mutant",
    [{"distance": lambda p, boxes: 10**6}, {"threshold": 0}],
    ids=["distance", "threshold"],
)
def test_the_enumeration_sees_a_test_that_lets_everything_pass(mutant, monkeypatch):
    small = {"points": 4, "dimension": 1, "bound": 3, "moved": 1, "epsilon": 1}
    primitive = DeepPoint(**small, delta=Fraction(1, 100))
    pairs = close_points(primitive, np.random.default_rng(1), 25)
    assert worst(primitive, [(law(primitive, x), law(primitive, y)) for x, y in pairs]) <= 0.01
    for name, value in mutant.items():
        monkeypatch.setattr(DeepPoint, name, value)
    fresh = DeepPoint(**small, delta=Fraction(1, 100))
    assert worst(fresh, [(law(fresh, x), law(fresh, y)) for x, y in pairs]) > 0.05


def test_draws_follow_the_law():
    """Chi-squared over 25 outputs and none: above 75 once in 10⁶ draws."""
    primitive = DeepPoint(**{**CASES[2], "delta": Fraction("0.1")})
    points = np.random.default_rng(4).integers(-1, 2, (12, 2)).astype(np.int64)
    wanted = law(primitive, points)
    with noise.seeded(2):
        drawn = [primitive.sample(points) for _ in range(800)]
    seen = Counter(None if y is None else tuple(y.tolist()) for y in drawn)
    rare = [y for y, share in wanted.items() if share < 0.003]
    groups = [([y], wanted[y]) for y in wanted if y not in rare]
    groups.append((rare, sum(wanted[y] for y in rare)))
    squares = 0.0
    for outputs, share in groups:
        if share > 0:
            many = sum(seen[y] for y in outputs)
            squares += (many - 800 * share) ** 2 / (800 * share)
    assert squares < 75
    assert sum(seen.values()) == 800


def test_boxes_hold_what_depth_says_and_shells_are_drawn_evenly():
    generator = np.random.default_rng(0)
    for _ in range(30):
        shape = (int(generator.integers(1, 8)), int(generator.integers(1, 3)))
        points = generator.integers(-4, 5, shape).astype(np.int64)
        boxes, kept = NestedBoxes(points, 3), np.clip(points, -3, 3)
        depths = {}
        for y in product(range(-3, 4), repeat=shape[1]):
            below, above = (kept <= np.array(y)).sum(axis=0), (kept >= np.array(y)).sum(axis=0)
            depths[y] = int(min(below.min(), above.min()))
            assert boxes.depth(np.array(y)) == depths[y]
        assert boxes.deepest == max(depths.values())
        for level in range(-1, boxes.deepest + 2):
            assert boxes.volume(level) == sum(depth >= level for depth in depths.values())
        for level, many in enumerate(boxes.shells(0)):
            assert many == sum(depth == level for depth in depths.values())
    with noise.seeded(1):
        assert all(
            depths[tuple(boxes.draw(boxes.deepest).tolist())] == boxes.deepest for _ in "abc"
        )


def test_levels_of_any_size_are_chosen_exactly():
    """Of 600 draws each level gets its share within five standard errors: once in 10⁶ not."""
    weights, rate = [3 * 2**200, 0, 2**200, 2**199], Fraction(1, 2)
    exact = np.array([3, 0, 1 * math.e, 0.5 * math.exp(1.5)])
    exact /= exact.sum()
    with noise.seeded(3):
        drawn = np.bincount([choose_level(weights, rate) for _ in range(600)], minlength=4)
        assert choose_level([1, 0, 1], Fraction(10**12)) == 2
        assert choose_level([2**2000, *[1] * 300], Fraction(1, 10)) == 0
    assert (np.abs(drawn - 600 * exact) <= 5 * np.sqrt(600 * exact * (1 - exact))).all()


def test_the_test_needs_as_many_steps_as_the_literature_says():
    """ln(1/2δ)/(ε/2) steps: 27 at ε = 1 and 14 at ε = 2 with δ = 1e-6, m/4 − 1 of which there are.

    Against 109 and 57 batches.
    """
    for epsilon, needed in ((1, 27), (2, 14)):
        limit = ApproxDP(epsilon, "1e-6")
        deep = TukeyEstimator(batches=1000).noise(Setting(1, Relation.ADD_REMOVE, limit))
        assert deep.threshold == needed
        assert deep.scale == Fraction(2, epsilon)
        setting = Setting(1, Relation.ADD_REMOVE, limit, 10**5)
        TukeyEstimator(batches=4 * (needed + 1)).check(setting)
        with pytest.raises(ValueError, match=f"at least {4 * (needed + 1)} batches"):
            TukeyEstimator(batches=4 * needed).check(setting)


def test_one_row_more_changes_one_batch_wherever_it_stands():
    generator = np.random.default_rng(0)
    for many in (0, 1, 40):
        rows = generator.integers(-1, 2, (many, 2)).astype(np.int16)
        for place in (0, many // 2, many):
            row = generator.integers(-1, 2, (1, 2)).astype(np.int16)
            more = np.concatenate([rows[:place], row, rows[place:]])
            here, there = (
                Counter((*r.tolist(), b) for r, b in zip(t, deal_rows(t, 7), strict=True))
                for t in (rows, more)
            )
            assert (here - there).total() == 0 and (there - here).total() == 1


def test_equal_rows_go_to_different_batches_and_few_words_collide(monkeypatch):
    rows = np.zeros((3000, 3), dtype=np.int16)
    counts = np.bincount(deal_rows(rows, 30), minlength=30)
    # Each batch gets 100 ± 10 rows; within six standard deviations but once in 10⁶.
    assert (np.abs(counts - 100) < 60).all()
    from sfumato.regression import batch_kernels

    mixed = np.random.default_rng(0).integers(-1, 2, (200, 2)).astype(np.int16)
    # All rows share one word: their numbers decide, and one more still changes one batch.
    monkeypatch.setattr(batch_kernels, "keys", lambda rows, found: found.fill(5))
    here, there = (
        Counter((*r.tolist(), b) for r, b in zip(t, deal_rows(t, 7), strict=True))
        for t in (mixed[:-1], mixed[::-1])
    )
    assert (here - there).total() == 0 and (there - here).total() == 1


def test_many_records_give_the_weights_and_few_are_refused_or_said_to_fail():
    rows = made.made(12_000, noise=0.5)
    data = made.table(rows, rows_about=12_000)
    costs = np.array([row[3] for row in rows])
    for delta in ("1e-6", None):
        method = TukeyEM(epsilon=2, delta=delta, **DECLARED)
        with noise.seeded(1):
            release = method.release(data)
        assert np.std(costs - release.predict(made.frame(rows))) < 0.8
    few = made.table(made.made(100), rows_about=100)
    with pytest.raises(ValueError, match="TukeyEM needs at least"):
        TukeyEM(epsilon=1, delta="1e-6", **DECLARED).release(few)
    # How many there are is private here, so that nothing can be refused.
    release = TukeyEM(epsilon=1, delta="1e-6", **DECLARED).release(made.table(made.made(100)))
    assert FAILED in release.words() and not release.weights.any()


def test_weights_on_the_grid():
    found = to_grid(np.array([0.5, np.nan, np.inf, -1e9, 1 / GRID]))
    assert found.tolist() == [GRID // 2, 0, 2**20, -(2**20), 1]


def test_a_deep_point_with_a_delta_has_no_gaussian_loss():
    deep = DeepPoint(**{**CASES[0], "delta": Fraction("0.2")})
    assert deep.cost(ApproxDP) == ApproxDP(4, "0.2")
    with pytest.raises(Unpriced):
        deep.cost(GDP)
    pure = DeepPoint(**CASES[4])
    assert pure.cost(PureDP) == PureDP(1) and isinstance(pure.cost(GDP), GDP)
