import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.mechanisms.hierarchy import Hierarchy, average_range_variance, optimal_fan_out
from tests.mechanisms.strategy import all_ranges, expected_error

shapes = st.tuples(st.integers(1, 30), st.integers(2, 6))


def matrix(tree):
    """The strategy matrix: one row a node, one column a leaf."""
    return np.array([tree.sums(row) for row in np.eye(tree.leaves, dtype=int)]).T


def hay_formula(measured, fan_out, height):
    """The two passes of Hay et al. for a full tree, written node by node."""
    levels, start = [], 0
    for level in range(height + 1):
        width = fan_out**level
        levels.append(np.array(measured[start : start + width], dtype=float))
        start += width
    upward = [level.copy() for level in levels]
    for level in range(height - 1, -1, -1):
        size = height - level + 1
        for v in range(fan_out**level):
            below = upward[level + 1][v * fan_out : (v + 1) * fan_out].sum()
            own = fan_out**size - fan_out ** (size - 1)
            rest = fan_out ** (size - 1) - 1
            upward[level][v] = (own * levels[level][v] + rest * below) / (fan_out**size - 1)
    final = [upward[0]]
    for level in range(1, height + 1):
        row = upward[level].copy()
        for v in range(fan_out ** (level - 1)):
            block = slice(v * fan_out, (v + 1) * fan_out)
            row[block] += (final[-1][v] - upward[level][block].sum()) / fan_out
        final.append(row)
    return np.concatenate(final)


@given(shapes, st.integers(0, 2**32 - 1))
def test_inference_equals_ordinary_least_squares(shape, seed):
    tree = Hierarchy(leaves=shape[0], fan_out=shape[1])
    measured = np.random.default_rng(seed).normal(size=tree.size) * 10
    strategy = matrix(tree)
    cells = np.linalg.lstsq(strategy, measured, rcond=None)[0]
    np.testing.assert_allclose(tree.infer(measured), strategy @ cells, atol=1e-8)


@given(shapes, st.integers(0, 2**32 - 1))
def test_inference_with_level_variances_equals_weighted_least_squares(shape, seed):
    tree = Hierarchy(leaves=shape[0], fan_out=shape[1])
    generator = np.random.default_rng(seed)
    measured = generator.normal(size=tree.size)
    variances = generator.uniform(0.2, 5, size=tree.levels)
    weights = np.repeat(1 / np.sqrt(variances), tree.widths)
    strategy = matrix(tree)
    cells = np.linalg.lstsq(strategy * weights[:, None], measured * weights, rcond=None)[0]
    np.testing.assert_allclose(tree.infer(measured, variances), strategy @ cells, atol=1e-8)


@pytest.mark.parametrize(("fan_out", "height"), [(2, 1), (2, 4), (3, 3), (8, 2)])
def test_inference_equals_the_two_passes_of_hay_on_full_trees(fan_out, height):
    tree = Hierarchy(leaves=fan_out**height, fan_out=fan_out)
    measured = np.random.default_rng(1).normal(size=tree.size)
    np.testing.assert_allclose(tree.infer(measured), hay_formula(measured, fan_out, height))


def test_an_unmeasured_level_has_no_influence():
    tree = Hierarchy(leaves=4, fan_out=2)
    measured = np.array([1e6, 3.0, 7.0, 1.0, 2.0, 3.0, 4.0])
    without_root = tree.infer(measured, [np.inf, 1, 1])
    assert without_root[0] == pytest.approx(without_root[1:3].sum())
    measured[0] = -5.0
    np.testing.assert_allclose(tree.infer(measured, [np.inf, 1, 1]), without_root)


@given(shapes, st.data())
def test_inference_leaves_true_sums_alone_and_is_consistent(shape, data):
    tree = Hierarchy(leaves=shape[0], fan_out=shape[1])
    counts = data.draw(st.lists(st.integers(0, 1000), min_size=tree.leaves, max_size=tree.leaves))
    sums = tree.sums(counts)
    np.testing.assert_allclose(tree.infer(sums), sums, atol=1e-8)
    noisy = tree.infer(sums + np.arange(tree.size) % 7)
    np.testing.assert_allclose(tree.split(noisy)[0], tree.leaf_values(noisy).sum())


@given(shapes)
def test_one_unit_is_counted_once_a_level(shape):
    tree = Hierarchy(leaves=shape[0], fan_out=shape[1])
    assert np.all(matrix(tree).sum(axis=0) == tree.levels)
    assert tree.fan_out**tree.height >= tree.leaves
    assert tree.height == 0 or tree.fan_out ** (tree.height - 1) < tree.leaves


def test_ranges_are_answered_from_consistent_leaves():
    tree = Hierarchy(leaves=5, fan_out=2)
    counts = np.array([3, 1, 4, 1, 5])
    consistent = tree.infer(tree.sums(counts))
    lows, highs = np.array([0, 1, 4, 2]), np.array([5, 3, 5, 2])
    answers = tree.range_sums(consistent, lows, highs)
    np.testing.assert_allclose(answers, [14, 5, 5, 0], atol=1e-12)


@pytest.mark.parametrize(("leaves", "fan_out"), [(16, 2), (16, 4), (27, 3), (8, 8)])
def test_average_range_variance_equals_the_matrix_mechanism(leaves, fan_out):
    tree = Hierarchy(leaves=leaves, fan_out=fan_out)
    ranges = all_ranges(leaves)
    expected = expected_error(ranges, matrix(tree), epsilon=1) / len(ranges)
    assert average_range_variance(leaves, fan_out) == pytest.approx(expected)


def test_padding_only_ever_overestimates_the_variance():
    tree = Hierarchy(leaves=21, fan_out=4)
    ranges = all_ranges(21)
    expected = expected_error(ranges, matrix(tree), epsilon=1) / len(ranges)
    assert expected <= average_range_variance(21, 4) <= 1.3 * expected


def test_the_best_fan_out_is_far_better_than_a_binary_tree():
    assert optimal_fan_out(4096) == 8
    assert optimal_fan_out(65536) == 16
    assert average_range_variance(65536, 16) < average_range_variance(65536, 2) / 2


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Hierarchy(leaves=0, fan_out=2), "leaves"),
        (lambda: Hierarchy(leaves=3, fan_out=1), "fan_out"),
        (lambda: Hierarchy(leaves=3, fan_out=2).sums([1, 2]), "3 integers"),
        (lambda: Hierarchy(leaves=2, fan_out=2).sums([1.5, 2.0]), "2 integers"),
        (lambda: Hierarchy(leaves=2, fan_out=2).infer([1, 2]), "shape"),
        (lambda: Hierarchy(leaves=2, fan_out=2).infer([1, 2, 3], [1]), "2 levels"),
        (lambda: Hierarchy(leaves=2, fan_out=2).infer([1, 2, 3], [1, np.inf]), "finite"),
        (lambda: Hierarchy(leaves=2, fan_out=2).range_sums([2, 1, 1], 0, 3), "low <= high"),
    ],
)
def test_bad_arguments_are_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()
