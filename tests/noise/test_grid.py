"""The grid: exact rounding, the sensitivity it costs, and noise in whole steps."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.noise.bits import seeded
from sfumato.noise.grid import (
    LARGEST_UNITS,
    GridValues,
    _add,
    grid_for,
    grid_gaussian,
    grid_laplace,
    rounded_l1_sensitivity,
    rounded_l2_sensitivity_squared,
    to_units,
)


def nearest(value: Fraction, exponent: int) -> int:
    return math.floor(value / Fraction(2) ** exponent + Fraction(1, 2))


@given(st.floats(-1e12, 1e12), st.integers(-20, 50))
def test_floats_are_rounded_as_the_rationals_they_are(value, exponent):
    assert to_units(value, exponent=exponent) == nearest(Fraction(value), exponent)


@given(st.integers(-(2**63), 2**63 - 1), st.integers(1, 62))
def test_integers_are_rounded_to_coarse_grids(value, exponent):
    assert to_units(np.array([value]), exponent=exponent)[0] == nearest(Fraction(value), exponent)


@given(st.integers(-(2**40), 2**40), st.integers(-20, 0))
def test_integers_lie_on_fine_grids(value, exponent):
    assert to_units(np.array([value]), exponent=exponent)[0] == value << -exponent


@given(st.fractions(min_value=-(10**6), max_value=10**6), st.integers(-30, 30))
def test_fractions_are_rounded_exactly(value, exponent):
    assert to_units(np.array([value]), exponent=exponent)[0] == nearest(value, exponent)


def test_ties_go_upward_and_neighbours_of_ties_do_not():
    below, above = math.nextafter(0.5, 0), math.nextafter(-0.5, -1)
    values = [0.5, 1.5, -0.5, -1.5, below, above, -0.0, 5e-324, -5e-324, 2.0**52 + 1]
    assert to_units(values, exponent=0).tolist() == [1, 2, 0, -1, 0, -1, 0, 0, 0, 2**52 + 1]
    assert to_units([5e-324], exponent=1023).tolist() == [0]
    assert to_units(np.zeros((2, 3), dtype=np.float32), exponent=-3).shape == (2, 3)
    assert to_units(np.array([2**64 - 1], dtype=np.uint64), exponent=4).tolist() == [2**60]


@pytest.mark.parametrize(
    ("values", "exponent"),
    [([1e300], 0), ([2.0**62 * 1.5], 0), ([1.0], -1074), ([2**62 + 1], 0), ([-(2**50)], -20)],
)
def test_overflow_is_refused_before_a_bit_is_drawn(values, exponent):
    for release in (
        lambda: grid_laplace(values, scale=Fraction(2) ** exponent, exponent=exponent),
        lambda: grid_gaussian(values, variance=Fraction(4) ** exponent, exponent=exponent),
        lambda: to_units([Fraction(value) for value in values], exponent=exponent),
    ):
        with seeded(1) as source:
            with pytest.raises(ValueError, match=r"beyond 2\^62 steps of the grid"):
                release()
            word = int(source.words(1)[0])
        with seeded(1) as source:
            assert int(source.words(1)[0]) == word


def test_values_that_are_no_numbers_are_refused():
    for values in ([math.nan], [math.inf]):
        with pytest.raises(ValueError, match="finite"):
            to_units(values, exponent=0)
    with pytest.raises(ValueError, match="floats, integers or Fractions"):
        to_units(["12345"], exponent=0)
    with pytest.raises(ValueError, match="exponent of a grid"):
        to_units([1.0], exponent=2000)


@given(
    st.lists(st.tuples(st.fractions(-9, 9), st.fractions(-3, 3)), min_size=1, max_size=4),
    st.integers(-3, 2),
)
def test_no_pair_exceeds_the_rounded_sensitivities(pairs, exponent):
    before = np.array([value for value, _ in pairs])
    after = np.array([value + change for value, change in pairs])
    moved = to_units(after, exponent=exponent) - to_units(before, exponent=exponent)
    changes = [change for _, change in pairs]
    dimension = len(pairs)
    assert np.abs(moved).sum() <= rounded_l1_sensitivity(
        sum(map(abs, changes)), dimension=dimension, exponent=exponent
    )
    assert (moved**2).sum() <= rounded_l2_sensitivity_squared(
        sum(change**2 for change in changes), dimension=dimension, exponent=exponent
    )


@pytest.mark.parametrize("dimension", [1, 2, 5])
@pytest.mark.parametrize("sensitivity", [Fraction(1, 100), 1, Fraction(5, 2), 7])
def test_the_l1_bound_is_attained(sensitivity, dimension):
    tiny = Fraction(1, 10**9)
    changes = [tiny] * (dimension - 1) + [sensitivity - tiny * (dimension - 1)]
    before = [Fraction(1, 2) - min(change, tiny) / 2 for change in changes]
    after = [a + b for a, b in zip(before, changes, strict=True)]
    moved = to_units(np.array(after), exponent=0) - to_units(np.array(before), exponent=0)
    assert moved.sum() == rounded_l1_sensitivity(sensitivity, dimension=dimension, exponent=0)


def test_the_l2_bound_holds_for_all_small_vectors_and_is_attained_where_said():
    for dimension, square in itertools.product((1, 2, 3), (Fraction(1, 2), 1, 2, 3, 4, 5, 9, 13)):
        bound = rounded_l2_sensitivity_squared(square, dimension=dimension, exponent=0)
        best = max(
            sum((m + 1) ** 2 for m in steps)
            for steps in itertools.product(range(5), repeat=dimension)
            if sum(m * m for m in steps) < square
        )
        assert best <= bound
        q = math.ceil(square) - 1
        if q <= dimension or (
            q % dimension == 0 and math.isqrt(q // dimension) ** 2 == q // dimension
        ):
            assert best == bound


def test_sensitivities_are_counted_in_steps():
    assert rounded_l1_sensitivity(1, dimension=1, exponent=-20) == 2**20
    assert rounded_l1_sensitivity(0.1, dimension=1, exponent=-3) == 1
    assert rounded_l1_sensitivity(3, dimension=4, exponent=1) == 5
    assert rounded_l1_sensitivity(0, dimension=4, exponent=1) == 0
    assert rounded_l2_sensitivity_squared(0, dimension=4, exponent=1) == 0
    assert rounded_l2_sensitivity_squared(1, dimension=1, exponent=0) == 1
    assert rounded_l2_sensitivity_squared(1, dimension=3, exponent=-2) == 15 + 2 * 6 + 3


@pytest.mark.parametrize("sensitivity", [rounded_l1_sensitivity, rounded_l2_sensitivity_squared])
def test_bad_sensitivities_are_refused(sensitivity):
    with pytest.raises(ValueError, match="sensitivity must not be negative; got -1"):
        sensitivity(-1, dimension=1, exponent=0)
    for dimension in (0, -1, 1.5, True):
        with pytest.raises(ValueError, match="dimension must be a positive integer"):
            sensitivity(1, dimension=dimension, exponent=0)


@given(st.fractions(min_value=Fraction(1, 10**9), max_value=10**9), st.integers(0, 40))
def test_the_grid_has_enough_steps_in_the_scale_and_not_twice_as_many(scale, precision):
    step = Fraction(2) ** grid_for(scale, precision=precision)
    assert 2**precision <= scale / step < 2 ** (precision + 1)


def test_bad_grids_are_refused():
    with pytest.raises(ValueError, match="scale must be positive"):
        grid_for(0)
    for precision in (-1, 41, True, 1.0):
        with pytest.raises(ValueError, match="precision"):
            grid_for(1, precision=precision)


def test_laplace_on_a_grid_has_its_law(yardstick):
    values = np.full(40_000, 0.7)
    exponent, scale = -2, 1.5
    with seeded(11):
        release = grid_laplace(values, scale=scale, exponent=exponent)
    draws = release.units - nearest(Fraction(0.7), exponent)

    def law(steps: float) -> dict[int, float]:
        q = math.exp(-1 / steps)
        return {k: (1 - q) / (1 + q) * q ** abs(k) for k in range(-40, 41)}

    assert yardstick.chi_square_fits(draws, law(6.0))
    assert not yardstick.chi_square_fits(draws, law(6.6))
    assert not yardstick.chi_square_fits(draws, law(5.4))
    assert np.array_equal(release.to_float(), release.units * 0.25)


def test_gaussian_on_a_grid_has_its_law(yardstick):
    values = np.full(30_000, -3.1)
    with seeded(12):
        release = grid_gaussian(values, variance=Fraction(9, 4), exponent=-1)
    draws = release.units - nearest(Fraction(-3.1), -1)

    def law(sigma: float) -> dict[int, float]:
        weights = {k: math.exp(-k * k / (2 * sigma**2)) for k in range(-40, 41)}
        return {k: weight / sum(weights.values()) for k, weight in weights.items()}

    assert yardstick.chi_square_fits(draws, law(3.0))
    assert not yardstick.chi_square_fits(draws, law(3.3))
    assert not yardstick.chi_square_fits(draws, law(2.7))


def test_every_answer_is_a_whole_number_of_steps_whatever_the_value():
    """Floating-point Laplace fails this: which floats it can return depends on the value."""
    with seeded(13):
        releases = [
            grid_laplace(np.full(500, value), scale=1, exponent=grid_for(1)).to_float()
            for value in (0.0, 0.1, 1 / 3)
        ]
    for answers in releases:
        assert np.array_equal(np.ldexp(answers, 20), np.rint(np.ldexp(answers, 20)))


def test_sums_that_overflow_are_cut_at_the_ends():
    ends = np.iinfo(np.int64)
    units = np.array([LARGEST_UNITS, -LARGEST_UNITS, LARGEST_UNITS, 0, 5])
    noise = np.array([ends.max, ends.min, ends.min, ends.min, -7])
    expected = [ends.max, ends.min, ends.min + LARGEST_UNITS, ends.min, -2]
    assert _add(units, noise).tolist() == expected


def test_shapes_are_kept_and_scalars_work():
    with seeded(1):
        table = grid_laplace(np.zeros((3, 4)), scale=2, exponent=-10)
        single = grid_gaussian(0.5, variance=2, exponent=-10)
    assert isinstance(table, GridValues)
    assert table.units.shape == (3, 4)
    assert table.units.dtype == np.int64
    assert single.units.shape == ()
