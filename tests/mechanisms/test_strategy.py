import numpy as np
import pytest

from sfumato.mechanisms.privelet import haar
from tests.mechanisms.strategy import (
    all_ranges,
    direct_error,
    expected_error,
    strategy_sensitivity,
)

HAAR = np.array([haar(row) for row in np.eye(4, dtype=int)]).T


def test_ten_ranges_over_four_cells_as_worked_in_the_survey():
    ranges = all_ranges(4)
    assert ranges.shape == (10, 4)
    assert ranges.sum(axis=0).tolist() == [4, 6, 6, 4]
    assert strategy_sensitivity(ranges) == 6
    assert strategy_sensitivity(HAAR) == 3
    assert direct_error(ranges, epsilon=1) == pytest.approx(720)
    assert expected_error(ranges, np.eye(4), epsilon=1) == pytest.approx(40)
    assert expected_error(ranges, HAAR, epsilon=1) == pytest.approx(108)


def test_wavelets_win_over_cells_only_on_large_domains():
    def ratio(cells):
        ranges = all_ranges(cells)
        strategy = np.array([haar(row) for row in np.eye(cells, dtype=int)]).T
        through_haar = expected_error(ranges, strategy, epsilon=1)
        return through_haar / expected_error(ranges, np.eye(cells), epsilon=1)

    assert ratio(4) == pytest.approx(108 / 40)
    assert ratio(16) > ratio(64) > ratio(128)


def test_error_falls_with_the_square_of_epsilon():
    ranges = all_ranges(6)
    half = expected_error(ranges, np.eye(6), epsilon=0.5)
    assert half == pytest.approx(4 * expected_error(ranges, np.eye(6), epsilon=1))


def test_a_strategy_that_cannot_answer_the_workload_is_refused():
    with pytest.raises(ValueError, match="does not determine"):
        expected_error(np.eye(3), np.ones((1, 3)), epsilon=1)


@pytest.mark.parametrize("epsilon", [0, -1.0, np.inf])
def test_a_senseless_epsilon_is_refused(epsilon):
    with pytest.raises(ValueError, match="epsilon must be positive"):
        direct_error(np.eye(2), epsilon=epsilon)


def test_no_cells_are_refused():
    with pytest.raises(ValueError, match="cells"):
        all_ranges(0)
