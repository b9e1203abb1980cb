import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from sfumato.mechanisms.privelet import (
    generalised_sensitivity,
    haar,
    inverse_haar,
    padded_shape,
    privelet_weights,
)

tables = arrays(np.int64, array_shapes(max_dims=3, max_side=6), elements=st.integers(0, 10**6))


@given(tables)
def test_the_inverse_restores_every_count_exactly(table):
    np.testing.assert_array_equal(inverse_haar(haar(table), table.shape), table)


@given(array_shapes(max_dims=3, max_side=6), st.data())
def test_one_unit_moves_rho_coefficients_by_one_each(shape, data):
    cell = tuple(data.draw(st.integers(0, side - 1)) for side in shape)
    unit = np.zeros(shape, dtype=np.int64)
    unit[cell] = 1
    moved = haar(unit)
    assert np.abs(moved).sum() == generalised_sensitivity(shape)
    assert set(np.unique(moved)) <= {-1, 0, 1}


@pytest.mark.parametrize(
    ("shape", "rho"), [((4,), 3), ((1024, 1024), 121), ((32, 32, 32, 32), 1296), ((1,), 1)]
)
def test_generalised_sensitivity(shape, rho):
    assert generalised_sensitivity(shape) == rho


def published_haar(cells):
    """Half the difference of the means of the halves, recursively; the base is the mean."""
    cells = np.asarray(cells, dtype=float)
    out = np.empty_like(cells)
    out[0] = cells.mean()
    nodes, index = [cells], 1
    while nodes[0].size > 1:
        children = []
        for node in nodes:
            half = node.size // 2
            out[index] = (node[:half].mean() - node[half:].mean()) / 2
            index += 1
            children += [node[:half], node[half:]]
        nodes = children
    return out


@given(st.lists(st.integers(0, 1000), min_size=16, max_size=16))
def test_whole_coefficients_are_the_published_ones_times_their_weights(counts):
    weights = privelet_weights((16,))
    np.testing.assert_allclose(haar(counts), published_haar(counts) * weights, atol=1e-9)


def test_published_coefficients_weighted_in_two_dimensions():
    table = np.random.default_rng(0).integers(0, 50, size=(4, 8))
    rows = np.apply_along_axis(published_haar, 1, table.astype(float))
    both = np.apply_along_axis(published_haar, 0, rows)
    np.testing.assert_allclose(haar(table), both * privelet_weights((4, 8)), atol=1e-9)


def test_the_range_of_two_inner_cells_has_a_plus_where_the_thesis_prints_a_minus():
    total, _, first, second = haar([12, 24, 6, 7])
    assert total / 2 - first / 2 + second / 2 == 24 + 6
    assert total / 2 - first / 2 - second / 2 == 31


def test_axes_are_padded_with_public_zeros():
    assert padded_shape((5, 1, 8)) == (8, 1, 8)
    assert haar([1, 2, 3]).tolist() == haar([1, 2, 3, 0]).tolist()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: haar([0.5, 1.0]), "integers"),
        (lambda: haar(3), "at least one axis"),
        (lambda: inverse_haar([1.0, 2.0, 3.0]), "power of two"),
        (lambda: inverse_haar([1.0, 2.0], (3,)), "shape"),
        (lambda: padded_shape((0,)), "at least 1 cell"),
    ],
)
def test_bad_arguments_are_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()
