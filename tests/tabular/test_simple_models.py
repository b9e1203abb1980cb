import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.tabular.simple_models import (
    DenseModel,
    ProductModel,
    SignedModel,
    clip_counts,
    probabilities,
    spread,
    sum_to,
)

SIZES = st.lists(st.integers(1, 5), min_size=1, max_size=8)


@settings(max_examples=60, deadline=None)
@given(SIZES, st.data())
def test_sums_and_factors_match_the_plain_arrays(sizes, data):
    generator = np.random.default_rng(0)
    cube = generator.random(sizes)
    keep = data.draw(st.lists(st.booleans(), min_size=len(sizes), max_size=len(sizes)))
    gone = tuple(axis for axis, kept in enumerate(keep) if not kept)
    held = cube.sum(axis=gone)
    np.testing.assert_allclose(sum_to(cube.ravel(), sizes, keep), held.ravel())
    factors = generator.random(held.shape)
    spread_out, shape = spread(factors.ravel(), sizes, keep)
    product = cube * factors.reshape([s if k else 1 for s, k in zip(sizes, keep, strict=True)])
    np.testing.assert_allclose((cube.reshape(shape) * spread_out).ravel(), product.ravel())


@settings(max_examples=60, deadline=None)
@given(SIZES, st.data())
def test_marginals_of_a_dense_table_are_its_sums_in_the_order_asked_for(sizes, data):
    cube = np.random.default_rng(1).dirichlet(np.ones(int(np.prod(sizes)))).reshape(sizes)
    model = DenseModel(tuple(sizes), cube)
    columns = data.draw(st.permutations(range(len(sizes))))
    asked = tuple(columns[: data.draw(st.integers(0, len(sizes)))])
    gone = tuple(axis for axis in range(len(sizes)) if axis not in asked)
    order = sorted(asked)
    wanted = np.transpose(cube.sum(axis=gone), [order.index(column) for column in asked])
    for _ in range(2):
        np.testing.assert_allclose(model.marginal(asked), wanted)


@pytest.mark.parametrize("dense", [False, True])
def test_rows_are_drawn_with_their_probabilities(dense):
    columns = [np.array([0.1, 0.9]), np.array([0.0, 0.5, 0.5]), np.ones(1)]
    product = ProductModel(columns)
    cells = product.marginal((0, 1, 2)).ravel()
    model = DenseModel(product.sizes, cells) if dense else product
    codes = model.draw(40_000, np.random.default_rng(3))
    assert codes.shape == (40_000, 3)
    seen = np.bincount(codes[:, 0] * 3 + codes[:, 1], minlength=6) / 40_000
    assert seen[cells == 0].sum() == 0
    # Six deviations of each share: a false alarm in less than a million.
    assert (np.abs(seen - cells) <= 6 * np.sqrt(cells / 40_000)).all()
    assert model.draw(0, np.random.default_rng(3)).shape == (0, 3)


def test_signed_tables_are_clipped_after_they_are_summed():
    counts = np.array([[5.0, -4.0], [-1.0, 10.0]])
    model = SignedModel((2, 2), counts.ravel(), 10.0)
    np.testing.assert_allclose(model.marginal((0,)), [0.1, 0.9])
    np.testing.assert_allclose(model.marginal((0, 1)), [[1 / 3, 0], [0, 2 / 3]])
    codes = model.draw(1000, np.random.default_rng(0))
    assert (codes[:, 0] == codes[:, 1]).all()


def test_repairs_without_mass_are_uniform():
    np.testing.assert_allclose(clip_counts(np.array([-1.0, -2.0]), 4.0), [2, 2])
    for total in (0.0, -3.0):
        np.testing.assert_allclose(probabilities(np.array([5.0, -2.0]), total), [0.5, 0.5])
    np.testing.assert_allclose(probabilities(np.array([3.0, 1.0, -2.0]), 3.0), [5 / 6, 1 / 6, 0])
