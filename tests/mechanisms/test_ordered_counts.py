"""Sorted counts, hierarchies and wavelets: what they declare, and that repair helps."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import noise
from sfumato.mechanisms.count_noise import count_noise
from sfumato.mechanisms.hierarchy import Hierarchy
from sfumato.mechanisms.isotonic import repair_sorted_counts
from sfumato.mechanisms.laplace import GeometricNoise
from sfumato.mechanisms.privelet import generalised_sensitivity, haar, inverse_haar
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import ZCDP, ApproxDP, PureDP
from tests.mechanisms.opened import opened, transcript_of

counts_lists = st.lists(st.integers(0, 5), min_size=2, max_size=9)
TREE = Hierarchy(leaves=6, fan_out=2)
ADDED = Relation.ADD_REMOVE


def moved(query, counts, take, put):
    """The changes of a query when one record is put in, and when one is moved."""
    here = np.array(counts, dtype=np.int64)
    more = here.copy()
    more[put] += 1
    elsewhere = more.copy()
    elsewhere[take] -= 1
    added = query(more) - query(here)
    replaced = query(elsewhere) - query(here)
    return added, replaced


@pytest.mark.parametrize(
    ("query", "moves"),
    [
        (np.sort, lambda n: 1),
        (lambda x: Hierarchy(leaves=len(x), fan_out=3).sums(x), None),
        (haar, lambda n: 1 + (n - 1).bit_length()),
    ],
    ids=["sorted", "hierarchy", "privelet"],
)
@given(counts=counts_lists, data=st.data())
def test_declared_sensitivities_hold_under_both_relations(query, moves, counts, data):
    take, put = (data.draw(st.integers(0, len(counts) - 1)) for _ in range(2))
    limit = moves(len(counts)) if moves else Hierarchy(leaves=len(counts), fan_out=3).levels
    added, replaced = moved(query, counts, take, put)
    assert np.abs(added).sum() == limit
    assert (added**2).sum() == limit
    assert np.abs(replaced).sum() <= 2 * limit
    assert (replaced**2).sum() <= 2 * limit


@given(data=st.data())
def test_wavelets_in_two_dimensions_keep_the_replace_bound(data):
    table = np.zeros((4, 8), dtype=np.int64)
    take, put = (
        tuple(data.draw(st.integers(0, side - 1)) for side in table.shape) for _ in range(2)
    )
    table[take] -= 1
    table[put] += 1
    change = haar(table)
    assert np.abs(change).sum() <= 2 * 12
    assert (change**2).sum() <= 2 * 12


def measure_sorted(budget, counts):
    values = np.sort(np.asarray(counts))
    noise = count_noise(values.shape, budget.remaining, budget.relation)
    return budget.measure(noise, values, label="m")


@pytest.mark.parametrize(
    ("run", "moves", "shape"),
    [
        (measure_sorted, 1, [6]),
    ],
    ids=["sorted"],
)
class TestMeasurements:
    counts = (3, 0, 7, 2, 2, 9)

    def signature(self, run, limit, relation=Relation.ADD_REMOVE):
        budget = opened(limit, relation)
        with noise.seeded(1):
            run(budget, self.counts)
        assert budget.remaining == type(limit)(*([0] * len(limit.to_json().keys() - {"measure"})))
        return transcript_of(budget).entries[0].signature

    def test_pure_budgets_get_geometric_noise(self, run, moves, shape):
        assert self.signature(run, PureDP("1/2")) == {
            "kind": "geometric noise",
            "shape": shape,
            "sensitivity": str(moves),
            "epsilon": "1/2",
        }

    def test_concentrated_budgets_get_gaussian_noise(self, run, moves, shape):
        assert self.signature(run, ZCDP("1/8")) == {
            "kind": "discrete Gaussian noise",
            "shape": shape,
            "squared_sensitivity": str(moves),
            "rho": "1/8",
        }

    def test_replaced_records_count_twice(self, run, moves, shape):
        pure = self.signature(run, PureDP(1), Relation.REPLACE_ONE)
        assert pure["sensitivity"] == str(2 * moves)
        gaussian = self.signature(run, ZCDP(1), Relation.REPLACE_ONE)
        assert gaussian["squared_sensitivity"] == str(2 * moves)

    def test_a_delta_that_is_not_needed_is_left(self, run, moves, shape):
        budget = opened(ApproxDP(1, "1/100"))
        run(budget, self.counts)
        assert budget.remaining == ApproxDP(0, "1/100")


def test_halved_noise_is_caught_on_the_worst_pair():
    here, there = TREE.sums([0] * 6), TREE.sums([1, 0, 0, 0, 0, 0])
    for sensitivity, worst in ((4, 1.0), (2, 2.0)):
        primitive = GeometricNoise(
            shape=(12,), sensitivity=Fraction(sensitivity), epsilon=Fraction(1)
        )
        loss = primitive.log_probability(here, here) - primitive.log_probability(there, here)
        assert loss == pytest.approx(worst)


def mean_squared_errors(measure, repair, counts, trials, seed):
    raw, fixed = [], []
    with noise.seeded(seed):
        for _ in range(trials):
            noisy = measure(opened(PureDP(1)), counts)
            raw.append(noisy)
            fixed.append(repair(noisy))
    return np.array(raw), np.array(fixed)


def test_isotonic_regression_removes_most_of_the_noise_of_sorted_counts():
    # A constant sequence of 64: the expected error falls by more than ten times.
    counts = np.full(64, 50)
    raw, fixed = mean_squared_errors(measure_sorted, repair_sorted_counts, counts, 60, 1)
    assert ((fixed - counts) ** 2).mean() < ((raw - counts) ** 2).mean() / 10
    assert np.all(np.diff(fixed, axis=1) >= 0)
    assert np.all(fixed >= 0)


def test_repair_of_sorted_counts_keeps_public_bounds():
    assert repair_sorted_counts([-3, 5, 9, 20], largest=10).tolist() == [0, 5, 9, 10]


def test_inference_reaches_the_variance_of_least_squares():
    # Total of a range over half of 16 cells, 400 runs; the variance estimate is within 40 %.
    tree = Hierarchy(leaves=16, fan_out=4)
    counts = np.arange(16) * 3
    sums, added = tree.sums(counts), count_noise((tree.size,), PureDP(1), ADDED, moves=tree.levels)
    with noise.seeded(4):
        noisy = [added.sample(sums) for _ in range(400)]
    cells = np.array([tree.leaf_values(tree.infer(nodes)) for nodes in noisy])
    errors = cells[:, 2:10].sum(axis=1) - counts[2:10].sum()
    strategy = np.array([tree.sums(row) for row in np.eye(16, dtype=int)]).T
    query = np.zeros(16)
    query[2:10] = 1
    expected = added.standard_deviation**2 * query @ np.linalg.inv(strategy.T @ strategy) @ query
    assert np.mean(errors**2) == pytest.approx(expected, rel=0.4)


def test_wavelet_noise_on_a_long_range_is_far_below_that_of_cells():
    # 1024 cells: half of all cells have variance 2·512 by cells; Haar needs a small part of it.
    moves = generalised_sensitivity((1024,))
    added = count_noise((1024,), PureDP(1), ADDED, moves=moves)
    with noise.seeded(7):
        noisy = [added.sample(np.zeros(1024, dtype=np.int64)) for _ in range(200)]
    cells = np.array([inverse_haar(coefficients, (1024,)) for coefficients in noisy])
    assert np.mean(cells[:, :512].sum(axis=1) ** 2) < 2 * 512 / 4
