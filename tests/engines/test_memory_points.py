import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.engines import PointCounts, point_intake
from sfumato.engines.memory_points import MemoryPoints, MortonOrder, turns
from sfumato.engines.point_intake import sort_keys


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


@pytest.mark.parametrize("dimensions", range(1, 17))
def test_the_morton_order_keeps_every_bit_of_every_axis(dimensions):
    bits = min(32, 64 // dimensions)
    morton = MortonOrder(dimensions, turns(dimensions, bits))
    grid = np.random.default_rng(dimensions).integers(0, 2**bits, (dimensions, 300))
    grid[:, 0], grid[:, 1] = 0, 2**bits - 1
    keys = morton.keys(list(grid))
    assert (morton.coordinates(keys) == grid.astype(np.uint64)).all()
    assert keys[0] == 0
    assert int(keys[1]) == 2 ** (dimensions * bits) - 1


@settings(deadline=None, max_examples=50)
@given(st.integers(1, 4), st.integers(0, 60), st.data())
def test_a_grid_of_any_shape_is_counted_by_exact_division(dimensions, rows, data):
    bits = data.draw(st.integers(1, min(32, 64 // dimensions)))
    shape = tuple(data.draw(st.integers(1, 9)) for _ in range(dimensions))
    generator = np.random.default_rng(data.draw(st.integers(0, 99)))
    points = generator.integers(0, 2**bits, (rows, dimensions))
    engine = MemoryPoints(points, turns(dimensions, bits))
    expected = np.zeros(shape, dtype=np.int64)
    for point in points.tolist():
        cell = tuple((x * m) // 2**bits for x, m in zip(point, shape, strict=True))
        expected[cell] += 1
    found = engine.histogram(shape)
    assert found.dtype == np.int64
    assert (found == expected).all()


@settings(deadline=None, max_examples=50)
@given(st.integers(1, 3), st.integers(0, 60), st.data())
def test_grids_within_a_grid_are_counted_by_exact_division(dimensions, rows, data):
    bits = data.draw(st.integers(1, min(32, 64 // dimensions)))
    shape = tuple(data.draw(st.integers(1, 4)) for _ in range(dimensions))
    generator = np.random.default_rng(data.draw(st.integers(0, 99)))
    points = generator.integers(0, 2**bits, (rows, dimensions))
    inner = generator.integers(1, 5, shape)
    blocks = {cell: np.zeros((inner[cell],) * dimensions, dtype=int) for cell in np.ndindex(shape)}
    for point in points.tolist():
        cell = tuple((x * m) >> bits for x, m in zip(point, shape, strict=True))
        parts = int(inner[cell])
        within = tuple(
            (x * m * parts >> bits) - c * parts for x, m, c in zip(point, shape, cell, strict=True)
        )
        blocks[cell][within] += 1
    found = MemoryPoints(points, turns(dimensions, bits)).count_nested(shape, inner)
    assert found.tolist() == np.concatenate([b.reshape(-1) for b in blocks.values()]).tolist()


def test_a_histogram_agrees_with_numpy_where_edges_are_exact():
    points = np.random.default_rng(1).integers(0, 2**32, (20_000, 2))
    expected, _, _ = np.histogram2d(*points.T, bins=64, range=[[0, 2**32]] * 2)
    assert (MemoryPoints(points, turns(2)).histogram((64, 64)) == expected).all()


@pytest.mark.parametrize(
    ("shape", "words"),
    [((2,), "each of 2 axes"), ((0, 3), "1 or more"), ((2**20, 2**20), "fewer on each axis")],
)
def test_grids_that_cannot_be_counted_are_refused(shape, words):
    engine = MemoryPoints(np.zeros((1, 2), dtype=np.int64), turns(2))
    with pytest.raises(ValueError, match=words):
        engine.histogram(shape)


@pytest.mark.parametrize("inner", [np.zeros((1, 1), dtype=int), np.ones((2, 1)), 2**28])
def test_inner_grids_that_cannot_be_counted_are_refused(inner):
    engine = MemoryPoints(np.zeros((1, 2), dtype=np.int64), turns(2))
    with pytest.raises(ValueError, match=r"whole number from 1|fewer on each axis"):
        engine.count_nested((1, 1), np.full((1, 1), inner) if isinstance(inner, int) else inner)


def test_keys_cannot_be_written_to():
    engine = MemoryPoints(np.zeros((3, 2), dtype=np.int64), turns(2))
    with pytest.raises(ValueError, match="read-only"):
        engine.keys[0] = 1
    with pytest.raises(ValueError, match="WRITEABLE"):
        engine.keys.flags.writeable = True


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 3), max_size=40), max_size=8),
    st.sampled_from([1, 4, 16]),
    st.sampled_from([1, 2, 5, 32]),
)
def test_keys_are_sorted_in_pieces_of_any_length(chunks, run, spacing):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(point_intake, "RUN", run)
        patch.setattr(point_intake, "SPACING", spacing)
        found = sort_keys(np.array(chunk, dtype=np.uint64) for chunk in chunks)
    assert found.tolist() == sorted(key for chunk in chunks for key in chunk)


def test_no_piece_is_much_longer_than_a_run_however_skewed_the_keys_are(monkeypatch):
    monkeypatch.setattr(point_intake, "RUN", 1000)
    monkeypatch.setattr(point_intake, "SPACING", 10)
    lengths = []
    write = point_intake.KeyFile.write
    monkeypatch.setattr(
        point_intake.KeyFile, "write", lambda f, keys: (lengths.append(len(keys)), write(f, keys))
    )
    generator = np.random.default_rng(3)
    skewed = (2.0 ** generator.uniform(0, 60, 9_000)).astype(np.uint64)
    equal = np.full(9_000, 2**40, dtype=np.uint64)
    keys = generator.permutation(np.concatenate([skewed, equal]))
    found = sort_keys([keys])
    assert (found == np.sort(keys)).all()
    assert not found.flags.writeable
    assert max(lengths) <= 1000 + 18 * 10


def test_keys_of_a_file_stay_in_the_file():
    morton = MortonOrder(2, turns(2))
    points = np.random.default_rng(4).integers(0, 2**32, (5000, 2))
    keys = sort_keys([morton.keys(list(points.T))])
    engine = MemoryPoints.of_keys(keys, morton)
    assert np.shares_memory(engine.keys, keys)
    memory = MemoryPoints(points, turns(2))
    assert not np.shares_memory(MemoryPoints.of_keys(memory.keys, morton).keys, memory.keys)
    assert (engine.histogram((9, 7)) == memory.histogram((9, 7))).all()
    assert (engine.cells(np.arange(64), 6) == memory.cells(np.arange(64), 6)).all()
    with pytest.raises(ValueError, match="read-only"):
        engine.keys[0] = 1
