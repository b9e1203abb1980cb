"""Bayesian networks as models: marginals, draws, levels, bits."""

from itertools import combinations, permutations

import numpy as np
import pytest

from sfumato import noise
from sfumato.tabular import network_model
from sfumato.tabular.encoding import Encoding
from sfumato.tabular.model import Network, Part
from sfumato.tabular.network_model import Conditional, DecodedModel, DirectedModel

SIZES = (3, 4, 2, 5)
LEVELS = (
    (np.arange(3),),
    (np.arange(4), np.array([0, 0, 1, 1])),
    (np.arange(2),),
    (np.arange(5),),
)


def small_network():
    generator = np.random.default_rng(1)
    parts = [(1, ()), (0, ((1, 1),)), (3, ((0, 0), (1, 0))), (2, ((1, 1), (3, 0)))]
    conditionals = []
    for child, parents in parts:
        shape = [SIZES[child], *(int(LEVELS[c][level].max()) + 1 for c, level in parents)]
        counts = generator.integers(0, 9, shape).astype(np.float64)
        conditionals.append(Conditional.of(child, parents, counts))
    return DirectedModel(SIZES, conditionals, LEVELS)


def joint(model):
    """The whole distribution, by multiplying everything."""
    cells = np.ones(model.sizes)
    for code in np.ndindex(*model.sizes):
        for item in model.conditionals:
            at = [LEVELS[c][level][code[c]] for c, level in item.parents]
            cells[code] *= item.probabilities[(code[item.child], *at)]
    return cells


def test_marginals_are_those_of_the_product_of_all_tables():
    model = small_network()
    cells = joint(model)
    assert cells.sum() == pytest.approx(1)
    for size in range(5):
        for columns in combinations(range(4), size):
            gone = tuple(c for c in range(4) if c not in columns)
            np.testing.assert_allclose(model.marginal(columns), cells.sum(axis=gone), atol=1e-12)


def test_axes_come_in_the_order_asked_for():
    model = small_network()
    for columns in permutations((0, 2, 3)):
        expected = np.transpose(model.marginal((0, 2, 3)), [(0, 2, 3).index(c) for c in columns])
        np.testing.assert_allclose(model.marginal(columns), expected)


def test_rows_follow_the_distribution():
    model = small_network()
    rows = model.draw(200_000, noise.generator(3))
    assert rows.shape == (200_000, 4)
    for columns in combinations(range(4), 2):
        expected = model.marginal(columns)
        cells = rows[:, columns[0]] * SIZES[columns[1]] + rows[:, columns[1]]
        found = np.bincount(cells, minlength=expected.size) / len(rows)
        # Six standard deviations of a share of 200,000 rows.
        assert np.abs(found - expected.ravel()).max() < 6 * 0.5 / np.sqrt(200_000)


def test_the_same_generator_draws_the_same_rows_and_none_are_none():
    model = small_network()
    np.testing.assert_array_equal(
        model.draw(50, noise.generator(1)), model.draw(50, noise.generator(1))
    )
    assert model.draw(0, noise.generator(1)).shape == (0, 4)


def test_too_large_marginals_come_from_a_sample_that_stays_the_same(monkeypatch):
    model, again = small_network(), small_network()
    exact = model.marginal((0, 2))
    monkeypatch.setattr(network_model, "MOST_CELLS", 1)
    monkeypatch.setattr(network_model, "SAMPLE", 2**16)
    sampled = model.marginal((0, 2))
    np.testing.assert_array_equal(sampled, again.marginal((0, 2)))
    assert not np.array_equal(sampled, exact)
    assert np.abs(sampled - exact).max() < 6 * 0.5 / np.sqrt(network_model.SAMPLE)


def test_a_parent_cell_without_counts_gives_the_childs_own_distribution():
    counts = np.array([[3.0, 0.0], [1.0, 0.0]])
    assert Conditional.of(0, ((1, 0),), counts).probabilities.tolist() == [[0.75, 0.75], [0.25] * 2]
    flat = Conditional.of(0, ((1, 0),), counts, uniform=True)
    assert flat.probabilities.tolist() == [[0.75, 0.5], [0.25, 0.5]]
    nothing = Conditional.of(0, (), np.zeros(4))
    assert nothing.probabilities.tolist() == [0.25] * 4


def test_the_network_names_children_first_with_levels():
    assert small_network().network == Network(
        True,
        (
            Part((1,), (0,)),
            Part((0, 1), (0, 1)),
            Part((3, 0, 1), (0, 0, 0)),
            Part((2, 1, 3), (0, 1, 0)),
        ),
    )


def test_every_column_needs_a_distribution():
    with pytest.raises(ValueError, match="one distribution for each"):
        DirectedModel((2, 2), [Conditional(0, (), np.ones(2) / 2)], [[np.arange(2)]] * 2)


@pytest.mark.parametrize("name", ["binary", "gray"])
@pytest.mark.parametrize("sizes", [(4, 2, 8), (3, 5, 2), (6, 1, 7)])
def test_bits_are_decoded_given_that_all_are_valid(name, sizes):
    encoding = Encoding(name, [[np.arange(size)] for size in sizes])
    generator = np.random.default_rng(2)
    count = len(encoding.columns)
    conditionals = [
        Conditional.of(
            bit,
            tuple((other, 0) for other in range(max(0, bit - 2), bit)),
            generator.integers(1, 9, (2,) * (1 + min(bit, 2))).astype(np.float64),
        )
        for bit in range(count)
    ]
    bits = DirectedModel((2,) * count, conditionals, [[np.arange(2)]] * count)
    model = DecodedModel(encoding, bits)
    assert model.sizes == sizes
    # The truth: all combinations of bits, decoded, the invalid ones left out.
    every = np.array(list(np.ndindex(*(2,) * count)))
    weight = bits.marginal(tuple(range(count))).ravel()
    valid = encoding.valid(every)
    codes = encoding.decode(every[valid])
    truth = np.zeros(sizes)
    np.add.at(truth, tuple(codes.T), weight[valid])
    truth /= truth.sum()
    for columns in [(0,), (1,), (2, 0), (0, 1, 2)]:
        gone = tuple(c for c in range(3) if c not in columns)
        expected = np.transpose(truth.sum(axis=gone), np.argsort(np.argsort(columns)))
        np.testing.assert_allclose(model.marginal(columns), expected, atol=1e-12)
    rows = model.draw(20_000, noise.generator(1))
    assert (rows < np.array(sizes)).all()
    found = np.bincount(np.ravel_multi_index(tuple(rows.T), sizes), minlength=truth.size) / 2e4
    assert np.abs(found - truth.ravel()).max() < 6 * 0.5 / np.sqrt(20_000)
    assert model.draw(0, noise.generator(1)).shape == (0, 3)
    assert model.valid_share() == pytest.approx(weight[valid].sum(), abs=6 * 0.5 / 2**7)
