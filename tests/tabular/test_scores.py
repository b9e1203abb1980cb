"""Scores: against enumeration and exact arithmetic, and their sensitivities by brute force."""

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product
from math import comb, log2

import numpy as np
import pytest

from sfumato.tabular import score_kernels
from sfumato.tabular.scores import SHIFT, STEPS, Assignment, Independence, Information

#: The table of Zhang's thesis whose scores are worked out there.
EXAMPLE = np.array([[[6, 0, 0, 0], [1, 1, 1, 1]]])


def information(table):
    """I in bits."""
    joint = table / table.sum()
    plain = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    return float(sum(p * log2(p / q) for p, q in zip(joint.flat, plain.flat, strict=True) if p))


def independence(table):
    """n·R as a fraction."""
    total = int(table.sum())
    counts = [[Fraction(int(c)) for c in row] for row in table]
    down, across = (
        [sum(row) for row in counts],
        [sum(column) for column in zip(*counts, strict=True)],
    )
    cells = product(range(len(down)), range(len(across)))
    return sum(abs(counts[i][j] - down[i] * across[j] / total) for i, j in cells) / 2


def assignment(table):
    """2n·F by trying every assignment of columns to rows."""
    total = table.sum()
    lack = []
    for rows in product([0, 1], repeat=table.shape[1]):
        mine = np.array(rows)
        held = [table[0, mine == 0].sum(), table[1, mine == 1].sum()]
        lack.append(sum(max(total - 2 * one, 0) for one in held))
    return -min(lack)


def all_tables(rows, columns, total):
    """Every table of a shape with a total."""
    cells = rows * columns
    bars = np.array(
        [c for c in product(range(total + 1), repeat=cells - 1) if sum(c) <= total], dtype=np.int64
    )
    last = total - bars.sum(axis=1, keepdims=True)
    tables = np.concatenate([bars, last], axis=1).reshape(-1, rows, columns)
    assert len(tables) == comb(total + cells - 1, cells - 1)
    return tables


def widest_change(score, rows, columns, total, *, replace):
    """The largest change of a score over all tables and all neighbours, in rows."""
    tables = all_tables(rows, columns, total)
    here = score(tables)
    found = 0
    for enters in range(rows * columns):
        more = tables.copy().reshape(len(tables), -1)
        more[:, enters] += 1
        if not replace:
            found = max(found, int(np.abs(score(more.reshape(tables.shape)) - here).max()))
            continue
        for leaves in range(rows * columns):
            other = more.copy()
            other[:, leaves] -= 1
            there = other.min(axis=1) >= 0
            moved = score(other[there].reshape(-1, rows, columns)) - here[there]
            found = max(found, int(np.abs(moved).max()))
    return found / score.steps


def test_the_example_of_the_thesis():
    assert Assignment()(EXAMPLE)[0] / 20 == pytest.approx(-0.2)
    assert Independence()(EXAMPLE)[0] == (STEPS * 36) // 10
    assert Information()(EXAMPLE)[0] / STEPS == pytest.approx(5.567796494, abs=0.01)


def test_maximum_joint_distributions_have_full_information_and_no_lack():
    for rows in ([[5, 0, 0], [0, 5, 0]], [[0, 2, 3], [5, 0, 0]]):
        table = np.array([rows])
        assert Assignment()(table)[0] == 0
        assert information(table[0]) == pytest.approx(1)


def test_score_f_matches_enumeration_on_three_thousand_tables():
    generator = np.random.default_rng(1)
    for columns in (2, 4, 8):
        scale = generator.choice([2, 5, 40], (1000, 1, 1))
        tables = (generator.random((1000, 2, columns)) * scale).astype(np.int64)
        expected = [assignment(table) for table in tables[:: 8 if columns == 8 else 1]]
        np.testing.assert_array_equal(Assignment()(tables)[:: 8 if columns == 8 else 1], expected)


def test_listing_sums_and_an_axis_of_sums_agree():
    generator = np.random.default_rng(2)
    for columns in (1, 2, 5, 8, 16):
        for largest in (2, 6, 90):
            for table in generator.integers(0, largest, (20, 2, columns)):
                parts = score_kernels._order_columns(table)
                assert score_kernels._least_by_listing(*parts) == score_kernels._least_by_axis(
                    *parts
                )


def test_an_axis_of_sums_matches_the_definition_where_columns_are_many():
    generator = np.random.default_rng(3)
    for table in generator.integers(0, 4, (20, 2, 32)):
        total = int(table.sum())
        best = {0: 0}
        for one, other in table.T.tolist():
            grown: dict[int, int] = {}
            for a, b in best.items():
                for key, value in ((a + one, b), (a, b + other)):
                    grown[key] = max(grown.get(key, 0), value)
            best = grown
        lack = min(max(total - 2 * a, 0) + max(total - 2 * b, 0) for a, b in best.items())
        assert Assignment()(table[None])[0] == -lack


def test_score_r_is_rounded_down_exactly():
    generator = np.random.default_rng(4)
    tables = generator.multinomial(997, np.ones(12) / 12, 200).reshape(200, 3, 4)
    expected = [int(STEPS * independence(table)) for table in tables]
    np.testing.assert_array_equal(Independence()(tables), expected)


def test_score_r_of_very_many_rows_does_not_overflow():
    table = np.array([[[2**33, 1], [0, 2**33]]])
    assert Independence()(table)[0] == int(STEPS * independence(table[0]))
    small = np.array([[[2**29, 1], [7, 2**30]]])
    assert Independence()(small)[0] == int(STEPS * independence(small[0]))


def test_logarithms_are_never_too_large_and_less_than_a_step_too_small():
    generator = np.random.default_rng(5)
    counts = np.concatenate([np.arange(70), generator.integers(0, 2**31, 300), [2**31 - 1, 2**40]])
    scaled = score_kernels.scaled_logarithms(counts, SHIFT)
    with localcontext(prec=60):
        for count, found in zip(counts.tolist(), scaled.tolist(), strict=True):
            bits = Decimal(count).ln() / Decimal(2).ln() if count else 0
            # Sixty digits leave a little beyond a whole logarithm.
            short = STEPS * count * bits - found
            assert Decimal("-1e-30") < short < 1 + Decimal(count) / 2**40


def test_score_i_is_within_its_roundings():
    generator = np.random.default_rng(6)
    tables = generator.multinomial(5000, np.ones(12) / 12, 50).reshape(50, 3, 4)
    for found, table in zip(Information()(tables), tables, strict=True):
        assert abs(found - STEPS * 5000 * information(table)) < 20


def test_no_rows_and_one_row_have_no_dependence():
    for table in (np.zeros((1, 2, 3), dtype=np.int64), np.zeros((2, 2, 4), dtype=np.int64)):
        assert Independence()(table)[0] == 0
        assert Information()(table)[0] == 0
        assert Assignment()(table)[0] == 0
    one = np.zeros((1, 2, 3), dtype=np.int64)
    one[0, 1, 2] = 1
    assert Independence()(one)[0] == Information()(one)[0] == 0
    assert Assignment()(one)[0] == -1


def test_a_constant_child_has_no_dependence_and_half_the_lack():
    table = np.array([[[3, 5, 2, 0], [0, 0, 0, 0]]])
    assert Independence()(table)[0] == Information()(table)[0] == 0
    assert Assignment()(table)[0] == -10


def test_an_empty_batch_has_no_scores():
    for score in (Assignment(), Independence(), Information()):
        assert score(np.zeros((0, 2, 4), dtype=np.int64)).shape == (0,)


def test_score_f_refuses_a_child_of_three_values():
    with pytest.raises(ValueError, match="two values"):
        Assignment()(np.zeros((1, 3, 2), dtype=np.int64))


@pytest.mark.parametrize("replace", [False, True])
def test_the_sensitivity_of_f_is_one_row_and_is_attained(replace):
    rows = 8 if replace else None
    assert widest_change(Assignment(), 2, 2, 8, replace=replace) == 1
    assert Assignment().sensitivity(rows, 2) / Assignment.steps == 1


def test_the_sensitivity_of_r_with_two_values_is_attained():
    # From seven rows to eight, and between eight and eight: 2(1 − 1/8).
    assert widest_change(Independence(), 2, 2, 7, replace=False) == 1.75
    assert widest_change(Independence(), 2, 2, 8, replace=True) == 1.75
    assert Independence().sensitivity(8, 2) == Fraction(7, 4) * STEPS
    assert Independence().sensitivity(None, 2) == 2 * STEPS


@pytest.mark.parametrize(("columns", "total"), [(3, 4), (2, 6)])
def test_the_declared_sensitivities_hold_on_all_small_tables(columns, total):
    for score in (Independence(), Information()):
        for replace in (False, True):
            if not replace and score.letter == "I":
                score = Information(most_rows=total + 1)
            found = widest_change(score, 3, columns, total, replace=replace)
            declared = score.sensitivity(total if replace else None, min(3, columns))
            assert found * score.steps <= declared


def test_the_sensitivity_of_i_is_attained_up_to_rounding():
    # max |ΔI| = 0.543564 on 2 × 2 tables of eight rows.
    found = widest_change(Information(), 2, 2, 8, replace=True)
    assert found == pytest.approx(8 * 0.543564, abs=0.02)
    assert found * STEPS <= Information().sensitivity(8, 2) <= found * STEPS + 20


def test_the_sensitivity_of_i_with_three_values_is_attained_up_to_rounding():
    found = widest_change(Information(), 3, 3, 3, replace=True)
    declared = Information().sensitivity(3, 3)
    assert found * STEPS <= declared <= found * STEPS + 20
    # The closed form for five rows: max |ΔI| = 1.101955.
    assert Information().sensitivity(5, 3) / STEPS == pytest.approx(5 * 1.101955, abs=0.03)


def test_a_capped_score_i_keeps_its_sensitivity_beyond_the_cap():
    score = Information(most_rows=4)
    for total in range(8):
        found = widest_change(score, 2, 2, total, replace=False)
        assert found * STEPS <= score.sensitivity(None, 2)


def test_score_i_without_a_cap_has_no_sensitivity_under_add_remove():
    with pytest.raises(ValueError, match="most_rows"):
        Information().sensitivity(None, 2)
    with pytest.raises(ValueError, match="most_rows must be"):
        Information(most_rows=1)


def test_sensitivities_of_the_literature():
    for rows, binary, general in (
        (10, 0.46899559, 0.75244228),
        (1000, 0.01140776, 0.02081696),
        (45222, 3.7388e-4, 7.0353e-4),
    ):
        assert Information().sensitivity(rows, 2) / STEPS / rows == pytest.approx(binary, rel=0.01)
        assert Information().sensitivity(rows, 3) / STEPS / rows == pytest.approx(general, rel=0.01)
        assert Independence().sensitivity(rows, 3) == 3 * STEPS


def test_one_record_changes_the_distance_from_independence_by_a_matrix_of_rank_one():
    generator = np.random.default_rng(7)
    for _ in range(50):
        counts = generator.integers(0, 9, (4, 5)).astype(np.float64)
        total = counts.sum()
        child, parent = generator.integers(0, 4), generator.integers(0, 5)
        more = counts.copy()
        more[child, parent] += 1
        before = counts - np.outer(counts.sum(axis=1), counts.sum(axis=0)) / total
        after = more - np.outer(more.sum(axis=1), more.sum(axis=0)) / (total + 1)
        left = np.eye(4)[child] - counts.sum(axis=1) / total
        right = np.eye(5)[parent] - counts.sum(axis=0) / total
        expected = total / (total + 1) * np.outer(left, right)
        np.testing.assert_allclose(after - before, expected, atol=1e-12)


def test_replacing_a_record_can_change_r_by_nearly_three_rows():
    size, total = 300, 10**4
    counts = np.zeros((3, 3), dtype=np.int64)
    counts[1, 1] = counts[2, 0] = counts[0, 2] = size
    counts[2, 2] = 1
    counts[0, 0] = total - 3 * size - 1
    moved = counts.copy()
    moved[2, 2], moved[1, 1] = 0, size + 1
    apart = abs(independence(moved) - independence(counts))
    assert float(apart) == pytest.approx(2.8197, abs=1e-4)
    assert apart * STEPS <= Independence().sensitivity(total, 3)
