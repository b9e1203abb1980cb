"""What is paid for before a fit: intervals, counts, shares, and leaks that replay catches."""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest

from sfumato import noise
from sfumato.audit import Pair, examine
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import GDP, PureDP
from sfumato.regression import knorm_regression
from sfumato.regression.intervals import (
    IntervalChoice,
    Shells,
    Tails,
    candidates,
    count_farthest,
    needed_loss,
)
from sfumato.regression.knorm_regression import KNormRegression
from sfumato.regression.linear_regression import LinearRegression
from sfumato.regression.preparation import (
    COUNT,
    FEATURE_TAILS,
    FEATURES,
    RESPONSE,
    RESPONSE_TAILS,
    feature_label,
    widening,
)
from sfumato.regression.queries import RowSums
from tests.regression import made


def chosen(values, epsilon, relation=Relation.ADD_REMOVE, seed=0):
    """Return the middle and half the width of the interval that is chosen for some numbers."""
    places = -1 + (2 * np.arange(2**14) + 1) / 2**14
    codes = np.clip(((np.asarray(values) + 1) / 2 * 2**14).astype(int), 0, 2**14 - 1)
    choice = IntervalChoice(PureDP(epsilon), relation)
    scores = choice.scores(np.bincount(codes, minlength=2**14), places)
    with noise.seeded(seed):
        return choice.read(choice.primitive.sample(scores))


def count_shells(shells, counts, places):
    """Return how many records lie in each shell of one column."""
    return count_farthest([shells], [shells.numbers(np.repeat(places, counts))], counts.sum())


def test_intervals_lie_within_the_bounds_at_all_widths():
    low, high, alike = candidates()
    assert low.min() == -1 and high.max() <= 1 + 1e-12
    assert (high - low).max() == 2 and (high - low).min() == pytest.approx(2**-9)
    assert alike[0] == 1 and alike.size < 20_000


@pytest.mark.parametrize(("middle", "spread"), [(0, 0.3), (0.5, 0.02), (-0.8, 0.005)])
def test_a_normal_column_is_found_with_its_standard_deviation(middle, spread):
    values = np.random.default_rng(1).normal(middle, spread, 20_000)
    for seed in range(3):
        centre, half = chosen(values, "0.1", seed=seed)
        assert abs(centre - middle) < 0.5 * spread
        assert 0.6 * spread < half < 1.6 * spread


def test_without_records_or_budget_the_widest_interval_is_likely():
    """No interval is likelier than the widest; none is certain."""
    choice = IntervalChoice(PureDP("0.01"), Relation.ADD_REMOVE)
    primitive = choice.primitive
    scores = choice.scores(np.zeros(8, dtype=np.int64), np.linspace(-1, 1, 8))
    logs = np.array([primitive.log_probability(scores, i) for i in range(0, scores.size, 97)])
    assert primitive.log_probability(scores, 0) > logs[1:].max()
    assert IntervalChoice(PureDP("1e-17"), Relation.ADD_REMOVE).scores(
        np.zeros(8, dtype=np.int64), np.linspace(-1, 1, 8)
    ).min() >= -(2**61)


def test_no_record_moves_a_score_further_than_declared():
    places = np.linspace(-1, 1, 5)
    generator = np.random.default_rng(2)
    furthest = dict.fromkeys(Relation, 0)
    for _ in range(20):
        counts = generator.integers(0, 4, 5)
        for relation in Relation:
            choice = IntervalChoice(PureDP(1), relation)
            here = choice.scores(counts, places)
            added = [counts + unit for unit in np.eye(5, dtype=np.int64)]
            others = added
            if relation is Relation.REPLACE_ONE:
                # A record without a number takes the place of one with it, or the other way round.
                others = [*added, *(a - u for a in added for u in np.eye(5, dtype=np.int64))]
            for other in others:
                if other.min() >= 0:
                    moved = np.abs(choice.scores(other, places) - here).max()
                    furthest[relation] = max(furthest[relation], int(moved))
    assert furthest == {Relation.ADD_REMOVE: 2, Relation.REPLACE_ONE: 3}


@pytest.mark.parametrize(
    ("values", "width"),
    [
        (np.zeros(3000), 2**-9),
        (np.repeat([-1, -0.99, -0.98, 0], [1000, 900, 800, 300]), 0.03),
        (np.exp(np.random.default_rng(3).normal(-4, 1, 3000)) - 1, 0.04),
    ],
    ids=["all alike", "a third at a bound", "a long tail"],
)
def test_columns_with_spikes_and_tails_are_found_as_well(values, width):
    """Of 50 choices at the least loss none is four times too wide; once in 1,000 would be all."""
    epsilon = Fraction(needed_loss(Relation.ADD_REMOVE) / len(values)).limit_denominator(10**6)
    halves = [chosen(np.clip(values, -1, 1), epsilon, seed=seed)[1] for seed in range(50)]
    assert max(halves) < 4 * width


def test_shells_hold_each_record_once_and_tails_end_where_few_lie_beyond():
    shells = Shells(0.0, 0.1)
    places = np.array([-1.0, -0.3, -0.01, 0.02, 0.06, 0.21, 1.0])
    counts = np.array([1, 2, 9, 9, 4, 3, 1])
    found = count_shells(shells, counts, places)
    assert found.sum() == 1 + 2 + 4 + 3 + 1 and found[0] == 4
    assert shells.ends.tolist() == pytest.approx([0.5, 0.5 * 2**0.5, 1, 2**0.5, 2, 8**0.5, 4, 8])
    tails = Tails(shells.ends, found.astype(float), 0.0)
    assert tails.reach(2.0, 29.0) == pytest.approx(4.0)
    assert tails.reach(7.0, 29.0) == pytest.approx(2**0.5 / 2)
    # Two records at the bounds lie in the last shell: nothing is beyond its end.
    assert tails.reach(0.0, 29.0) == pytest.approx(16.0)
    # What noise may have made does not count as somebody; a tail that is seen goes on.
    assert Tails(shells.ends, found.astype(float), 9.0).reach(0.0, 29.0) == 0.5
    slow = np.array([300.0, 300, 300, 300, 200, 200, 400, 250])
    assert Tails(shells.ends, slow, 90.0).reach(1.0, 5000.0) == pytest.approx(16.0)


def test_a_long_tail_widens_a_feature_and_a_normal_one_does_not():
    generator = np.random.default_rng(4)
    for values, wider in ((generator.normal(0, 0.02, 9000), False),
                          (np.exp(generator.normal(-5, 1.5, 9000)) - 1, True)):  # fmt: skip
        middle, half = chosen(np.clip(values, -1, 1), "0.1")
        shells = Shells(middle, half, coarse=True)
        order = np.sort(np.clip(values, -1, 1))
        counts = count_shells(shells, np.ones(9000, dtype=np.int64), order).astype(float)
        tails = Tails(shells.ends, counts, 5.0)
        found = widening(tails, 9000.0, 300.0, 3.0)
        assert found > 2 if wider else 1 <= found < 1.6
        # With less noise fewer rows are shortened.
        assert widening(tails, 9000.0, 30.0, 3.0) >= found


def test_a_record_counts_in_the_two_columns_in_which_it_is_farthest_out():
    shells = [Shells(0.0, 0.1, True), Shells(0.2, 0.05, True), Shells(-0.5, 0.3, True)]
    values = np.clip(np.random.default_rng(5).standard_t(1, (300, 3)) / 10, -1, 1)
    numbers = [one.numbers(column) for one, column in zip(shells, values.T, strict=True)]
    starts = np.cumsum([0, *(one.ends.size for one in shells)])
    expected = np.zeros(starts[-1], dtype=np.int64)
    for record in zip(*numbers, strict=True):
        for column in sorted(range(3), key=lambda column: -record[column])[:2]:
            if record[column]:
                expected[starts[column] + record[column] - 1] += 1
    assert count_farthest(shells, numbers, 300).tolist() == expected.tolist()
    one_more = [np.append(number, 1) for number in numbers]
    moved = count_farthest(shells, one_more, 301) - expected
    assert moved.sum() == 2 and moved.max() == 1 and moved.min() == 0


def test_a_column_is_scaled_by_its_root_mean_square_at_least():
    # One record in ten is 16 to 32 spreads out: the mean square is 1 + 0.1·16·32.
    ends = 2.0 ** np.arange(1, 8)
    counts = np.array([0.0, 0, 0, 1000, 0, 0, 0])
    assert Tails(ends, counts, 1.0).mean_square(10_000.0) == pytest.approx(1 + 0.1 * 16 * 32)
    assert widening(Tails(ends, counts, 1.0), 10_000.0, 5000.0, 9.0) >= 52.2**0.5
    assert Tails(ends, -counts, 1.0).mean_square(10_000.0) == 1
    # Noise that is far larger than the table leads no further than to the bounds.
    assert Tails(ends, 1e15 * counts, 1.0).mean_square(1.0) == 1 + 2 * 128.0**2


def test_the_default_pays_for_tails_where_it_pays_for_scales():
    public = made.table([], rows_about=100_000).public
    preparation = LinearRegression(epsilon=1, target="cost").preparation(public)
    names = {COUNT, RESPONSE, FEATURES, RESPONSE_TAILS, FEATURE_TAILS}
    assert preparation.shares.keys() == names and sum(preparation.shares.values()) < 1
    assert preparation.response_tails({}) is None
    said = {COUNT: np.array([50]), RESPONSE: 5}
    many = Shells(*preparation.choice(RESPONSE).read(5)).ends.size
    tails = preparation.response_tails({**said, RESPONSE_TAILS: np.zeros(many)})
    assert tails.reach(0.0, 50.0) == tails.ends[0] and tails.deviation > 0


def test_shares_add_up_and_follow_what_is_public():
    public, known = made.table([]).public, made.table(made.made(9), relation="replace_one").public
    method = KNormRegression(epsilon=1, target="cost")
    assert method.preparation(public).shares.keys() == {COUNT, RESPONSE}
    assert method.preparation(known).shares.keys() == {RESPONSE}
    paid = replace(method, features="paid").preparation(public)
    assert paid.shares.keys() == {COUNT, RESPONSE, FEATURES}
    assert sum(paid.shares.values()) + paid.rest == 1
    assert paid.choice(FEATURES).limit == PureDP(Fraction(1, 10))
    about = made.table([], rows_about=100_000).public
    assert method.preparation(about).features == "paid"
    assert replace(method, epsilon="0.001").preparation(about).features == "declared"


def test_a_rule_is_made_of_what_was_said():
    public = made.table([]).public
    method = KNormRegression(epsilon=1, target="cost", features="paid", bound=2)
    preparation = method.preparation(public)
    low, high, _ = candidates()
    said = {COUNT: np.array([50]), RESPONSE: 5, feature_label(3): 77}
    rule = method.rule(public, said, method.estimator(public))
    assert rule.centre[3] == pytest.approx((low[77] + high[77]) / 2)
    assert rule.spread[3] == pytest.approx((high[77] - low[77]) / 2)
    assert rule.spread[[0, 1, 2, 4, 5]].tolist() == [1.0] * 5
    assert rule.response_centre == pytest.approx((low[5] + high[5]) / 2)
    assert rule.response_bound == pytest.approx(
        min(high[5] - low[5], 1 + abs(rule.response_centre))
    )
    assert preparation.records(said) == 50.0
    assert preparation.records({COUNT: np.array([-4])}) == 1.0
    assert preparation.records({}) is None


def test_a_gaussian_budget_pays_for_everything():
    from sfumato.privacy.loss_check import check_accounts

    class Delta(KNormRegression):
        """K-norm noise from a Gaussian slice."""

        def __post_init__(self):
            object.__setattr__(self, "delta", None)
            super().__post_init__()
            object.__setattr__(self, "delta", Fraction(1, 10**6))

    method = Delta(epsilon=1, target="cost", features="paid")
    data = made.table(made.made(30))
    assert isinstance(method.working_loss(), GDP)
    release = method.release(data)
    check_accounts(release.transcript, method.working_loss(), data.public)
    assert "δ" in str(release.guarantee)


@dataclass(frozen=True, eq=False, kw_only=True)
class CentredByPrivateMeans(RowSums):
    """The leak of many published pipelines: columns are centred by their exact means."""

    def sums(self, data):
        rule = self.rule
        tables = rule.values(data.public)
        means = np.array(rule.centre)
        if data.counts.rows:
            column = rule.design.columns.index(1)
            codes = data.counts.codes(1)
            means[3] = np.clip(tables[column][codes].mean() * rule.radius * rule.spread[3], -1, 1)
        return RowSums.sums(replace(self, rule=replace(rule, centre=means)), data)


@dataclass(frozen=True, eq=False, kw_only=True)
class BoundOffTheData(RowSums):
    """The other leak: answers are cut at the largest that occurs, and scaled by it."""

    def sums(self, data):
        rule = self.rule
        answers = rule.answers(data.public)[data.counts.codes(rule.design.response.column)]
        largest = max(float(np.nanmax(np.abs(answers), initial=0.0)), 2.0**-8)
        rule = replace(rule, response_bound=largest * rule.response_bound)
        return RowSums.sums(replace(self, rule=rule), data)


@pytest.mark.replay
@pytest.mark.parametrize(
    ("mutant", "row"),
    [
        (CentredByPrivateMeans, ("north", 5.0, False, -10.0)),
        (BoundOffTheData, ("north", 45.0, False, 0.5)),
    ],
)
@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_replay_catches_preprocessing_that_is_not_paid_for(mutant, row, relation, monkeypatch):
    low = [row] * 12
    there = [*low[relation == "replace_one" :], made.HIGHEST]
    pair = Pair(
        "one far off", made.table(low, relation=relation), made.table(there, relation=relation)
    )
    options = {"target": "cost", "response": "declared", "features": "declared", "bound": 3}
    method = KNormRegression(epsilon=1, **options)
    assert examine(method, pair, seeds=(1, 2)).passed
    monkeypatch.setattr(knorm_regression, "RowSums", mutant)
    found = examine(method, pair, seeds=(1, 2))
    assert any("'sums' (K-norm noise): inputs are" in fault for fault in found.faults)
    assert found.largest > 1
