import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.engines import PointCounts
from sfumato.engines.memory_points import MemoryPoints, turns


def in_cell(point, axes, prefix, length) -> bool:
    """Walk down the tree as its definition says."""
    left = [axes.count(axis) for axis in range(len(point))]
    for step in range(length):
        axis = axes[step]
        left[axis] -= 1
        if (int(point[axis]) >> left[axis]) & 1 != (prefix >> (length - 1 - step)) & 1:
            return False
    return True


@settings(deadline=None)
@given(st.integers(1, 3), st.lists(st.integers(0, 2), max_size=9), st.integers(0, 40), st.data())
def test_cells_agree_with_walking_down_the_tree(dimensions, splits, rows, data):
    axes = tuple(axis % dimensions for axis in splits)
    generator = np.random.default_rng(data.draw(st.integers(0, 99)))
    high = [2 ** axes.count(axis) for axis in range(dimensions)]
    points = generator.integers(0, high, size=(rows, dimensions))
    engine = MemoryPoints(points, axes)
    length = data.draw(st.integers(0, len(axes)))
    prefixes = np.arange(2**length, dtype=np.uint64)
    expected = [
        sum(in_cell(point, axes, int(prefix), length) for point in points) for prefix in prefixes
    ]
    found = engine.cells(prefixes, length)
    assert found.tolist() == expected
    assert found.sum() == rows


def test_sixty_four_splits_fit():
    axes = turns(2)
    assert len(axes) == 64
    points = np.array([[2**32 - 1, 2**32 - 1], [0, 0], [2**32 - 1, 0]], dtype=np.uint64)
    engine = MemoryPoints(points, axes)
    assert engine.cells(np.array([2**64 - 1, 0], dtype=np.uint64), 64).tolist() == [1, 1]
    assert engine.cells(np.array([0, 1, 2, 3], dtype=np.uint64), 2).tolist() == [1, 0, 1, 1]
    assert isinstance(engine, PointCounts)


def test_points_off_the_grid_are_refused_without_their_place():
    with pytest.raises(ValueError, match="axis 1 is split 1 times") as caught:
        MemoryPoints(np.array([[0, 77]]), (0, 1))
    assert "77" not in str(caught.value)
    with pytest.raises(ValueError, match="less than"):
        MemoryPoints(np.array([[0, 0]]), (0, 1)).cells(np.array([4], dtype=np.uint64), 2)
