"""What a model expects of sets of columns, part by part."""

import numpy as np
import pytest

from sfumato.mechanisms.graphical import Measured, fit
from sfumato.tabular.candidates import Pool
from sfumato.tabular.part_estimates import estimate_shares

SIZES = (3, 2, 4, 5, 2, 3)
#: Columns 0 and 3 depend on each other, and so do 1, 2 and 5; column 4 stands alone.
JOINED = ((0, 3), (1, 2), (2, 5), (4,))
SETS = ((0, 1), (0, 3), (1, 2, 5), (0, 1, 3), (0, 1, 2, 3, 4), (1, 5), (2, 4))


@pytest.fixture
def model():
    generator = np.random.default_rng(1)
    measured = []
    for columns in JOINED:
        shape = tuple(SIZES[column] for column in columns)
        counts = generator.dirichlet(np.ones(int(np.prod(shape)))).reshape(shape) * 1000
        measured.append(Measured(columns, counts, 1.0))
    return fit(SIZES, measured, 1000.0)


def test_parts_are_the_columns_that_depend_on_each_other(model):
    parts = model.parts.tolist()
    assert parts[0] == parts[3]
    assert parts[1] == parts[2] == parts[5]
    assert len(set(parts)) == 3


def test_each_column_is_what_its_marginal_says(model):
    for column, shares in enumerate(model.one_way()):
        np.testing.assert_allclose(shares, model.marginal((column,)), atol=1e-12)


def test_independent_columns_are_multiplied_exactly(model):
    pool = Pool(((0, 1), (0, 4), (1, 3, 4), (2, 4)), SIZES)
    # Nothing is drawn for them.
    shares = estimate_shares(pool, model, 0, np.random.default_rng(2))
    for number, columns in enumerate(pool.sets):
        own = shares[pool.starts[number] : pool.starts[number + 1]]
        np.testing.assert_allclose(own, model.marginal(columns).reshape(-1), atol=1e-12)


def test_sets_across_parts_are_close_to_the_model(model):
    pool = Pool(SETS, SIZES)
    shares = estimate_shares(pool, model, 100_000, np.random.default_rng(3))
    for number, columns in enumerate(pool.sets):
        own = shares[pool.starts[number] : pool.starts[number + 1]]
        # The deviation of a cell of 100,000 rows is at most 0.0016; six of them.
        np.testing.assert_allclose(own, model.marginal(columns).reshape(-1), atol=0.0095)
        assert own.sum() == pytest.approx(1)


def test_only_the_parts_of_some_columns_are_drawn(model):
    codes = model.draw(200, np.random.default_rng(4), [3])
    assert codes[:, [0, 3]].any(axis=0).all()
    assert not codes[:, [1, 2, 4, 5]].any()
