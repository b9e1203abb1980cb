"""Linear programs in fractions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from sfumato.mechanisms.exact_simplex import exact_maximum


def test_small_programs():
    assert exact_maximum([], [], []) == 0
    assert exact_maximum([3], [{0: 2}], [7]) == Fraction(21, 2)
    assert exact_maximum([-1, -2], [{0: 1}], [5]) == 0
    # Two of three pairs, by halves.
    assert exact_maximum([1, 1, 1], [{0: 1, 1: 1}, {1: 1, 2: 1}, {0: 1, 2: 1}], [1, 1, 1]) == 1.5


def test_a_program_on_which_careless_pivots_never_end():
    """Beale's example, whose optimum is 1/20."""
    rows = [
        {0: Fraction(1, 4), 1: -60, 2: Fraction(-1, 25), 3: 9},
        {0: Fraction(1, 2), 1: -90, 2: Fraction(-1, 50), 3: 3},
        {2: 1},
    ]
    objective = [Fraction(3, 4), -150, Fraction(1, 50), -6]
    assert exact_maximum(objective, rows, [0, 0, 1]) == Fraction(1, 20)


def test_what_cannot_be_solved_is_refused():
    with pytest.raises(ValueError, match="no largest value"):
        exact_maximum([1], [{0: -1}], [1])
    with pytest.raises(ValueError, match="negative"):
        exact_maximum([1], [{0: 1}], [-1])


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32))
def test_it_agrees_with_a_solver_in_floating_point(seed):
    draw = np.random.default_rng(seed)
    rows, columns = draw.integers(1, 6, 2)
    matrix = draw.integers(0, 4, (rows, columns))
    # A last row keeps the program bounded.
    matrix = np.vstack([matrix, np.ones(columns, dtype=np.int64)])
    limits, objective = draw.integers(0, 9, rows + 1), draw.integers(-3, 5, columns)
    told = linprog(-objective, A_ub=matrix, b_ub=limits, bounds=(0, None))
    found = exact_maximum(
        objective.tolist(),
        [dict(enumerate(row)) for row in matrix.tolist()],
        limits.tolist(),
    )
    assert float(found) == pytest.approx(-told.fun, abs=1e-7)
