from itertools import combinations

import numpy as np
import pytest

from sfumato.mechanisms.consistency import Family, consistent, consistent_counts, marginalise

SIZES = (3, 2, 4)
SETS = ((0, 1), (0, 2), (1, 2), (2,))


def family(variances=None):
    return Family(SETS, SIZES, variances or (1.0,) * len(SETS))


def noisy(seed=0, scale=5.0, total=100):
    generator = np.random.default_rng(seed)
    joint = generator.multinomial(total, np.ones(24) / 24).reshape(SIZES).astype(float)
    tables = []
    for columns in SETS:
        gone = tuple(axis for axis in range(3) if axis not in columns)
        table = joint.sum(axis=gone)
        tables.append(table + generator.normal(0, scale, table.shape))
    return tables


def design_matrix():
    """Return the matrix that maps a joint table to all marginals, one below the other."""
    cells = np.indices(SIZES).reshape(3, -1).T
    rows = []
    for columns in SETS:
        shape = [SIZES[column] for column in columns]
        for values in np.ndindex(*shape):
            rows.append([tuple(cell[list(columns)]) == values for cell in cells])
    return np.array(rows, dtype=float)


@pytest.mark.parametrize("variances", [None, (1.0, 4.0, 0.25, 9.0)])
def test_the_closed_form_is_generalised_least_squares(variances):
    tables = noisy()
    weights = np.concatenate(
        [
            np.full(table.size, 1 / variance)
            for table, variance in zip(tables, variances or (1.0,) * 4, strict=True)
        ]
    )
    stacked = np.concatenate([table.ravel() for table in tables])
    matrix = design_matrix()
    root = np.sqrt(weights)
    joint, *_ = np.linalg.lstsq(matrix * root[:, None], stacked * root, rcond=None)
    ours = np.concatenate([t.ravel() for t in consistent(family(variances), tables)])
    np.testing.assert_allclose(ours, matrix @ joint, atol=1e-9)


def test_consistent_tables_are_left_alone():
    clean = consistent(family(), noisy())
    again = consistent(family(), clean)
    for one, other in zip(clean, again, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-10)


@pytest.mark.parametrize("scale", [0.1, 5.0, 80.0])
def test_counts_are_consistent_and_not_negative(scale):
    tables = consistent_counts(family(), noisy(scale=scale))
    assert min(table.min() for table in tables) >= 0
    for (i, one), (j, other) in combinations(enumerate(SETS), 2):
        shared = tuple(sorted(set(one) & set(other)))
        np.testing.assert_allclose(
            marginalise(tables[i], one, shared), marginalise(tables[j], other, shared), atol=1e-6
        )


def test_the_total_is_the_least_squares_one_and_is_not_pushed_up_by_clipping():
    tables = noisy(scale=20)
    expected = float(family().interactions(tables)[()])
    assert consistent_counts(family(), tables)[0].sum() == pytest.approx(expected)
    assert consistent_counts(family(), tables, total=77.0)[2].sum() == pytest.approx(77)


def test_repair_comes_closer_to_the_truth_on_average():
    before = after = 0.0
    for seed in range(40):
        truth = noisy(seed, scale=0.0)
        tables = noisy(seed, scale=6.0)
        repaired = consistent_counts(family(), tables)
        before += sum(((t - u) ** 2).sum() for t, u in zip(tables, truth, strict=True))
        after += sum(((t - u) ** 2).sum() for t, u in zip(repaired, truth, strict=True))
    assert after < 0.75 * before


def test_a_negative_total_gives_empty_tables():
    tables = [table - 500 for table in noisy()]
    assert all((table == 0).all() for table in consistent_counts(family(), tables))


def test_columns_must_be_increasing():
    with pytest.raises(ValueError, match="increasing"):
        Family(((1, 0),), SIZES, (1.0,))
