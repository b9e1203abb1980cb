from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.data.schema import Schema
from sfumato.data.table import TablePublic
from sfumato.tabular.counting_method import TOTAL
from sfumato.tabular.fourier import COEFFICIENTS, Fourier
from sfumato.tabular.walsh import Coefficients, bits_of, transform
from tests.method_suite import MethodSuite
from tests.tabular import tables


class FourierSuite(MethodSuite):
    name = "table.Fourier"

    def audited_public(self):
        return self.data().public

    def data(self):
        return tables.table(tables.made(60))

    def neighbours(self):
        return tables.row_pairs()

    def fact(self, release):
        return np.concatenate([table.ravel() for table in release.tables])


class TestFourier(FourierSuite):
    sampled = False


class TestFourierOfOneColumn(FourierSuite):
    # Samples cannot see a loss that is spread thinly over many coefficients; here there is one.

    def audited_public(self):
        return tables.single(["x", "y"], 0).public


class TestFourierUnderReplacement(FourierSuite):
    sampled = False
    options = {"ways": 1, "repair": "clip"}  # noqa: RUF012

    def data(self):
        return tables.table(tables.made(60), relation="replace_one")

    def neighbours(self):
        return tables.replaced_pairs()


class TestGaussianFourier(FourierSuite):
    sampled = False
    options = {"delta": "1/100", "repair": "consistent"}  # noqa: RUF012


class TestGaussianFourierUnderReplacement(FourierSuite):
    sampled = False
    options = {"delta": "1/100", "ways": 3}  # noqa: RUF012

    def data(self):
        return tables.table(tables.made(60), relation="replace_one")

    def neighbours(self):
        return tables.replaced_pairs()


SIZES = st.lists(st.integers(1, 6), min_size=1, max_size=4)


def made_up(sizes, seed=0):
    """A table of random codes, as a cube of counts."""
    return np.random.default_rng(seed).poisson(3.0, sizes).astype(np.int64)


def summed(cube, columns):
    return cube.sum(axis=tuple(axis for axis in range(cube.ndim) if axis not in columns))


@settings(max_examples=60, deadline=None)
@given(SIZES, st.integers(1, 4))
def test_without_noise_every_marginal_comes_back_exactly(sizes, ways):
    ways = min(ways, len(sizes))
    layout = Coefficients(tuple(sizes), ways)
    cube = made_up(sizes)
    found = layout.of_tables([summed(cube, columns) for columns in layout.sets])
    sets = list(combinations(range(len(sizes)), ways))
    answers = layout.tables(sets, float(cube.sum()), found.astype(float))
    for columns, table in zip(sets, answers, strict=True):
        np.testing.assert_allclose(table, summed(cube, columns), atol=1e-9)


@settings(max_examples=40, deadline=None)
@given(SIZES, st.integers(1, 4))
def test_coefficients_are_the_signed_sums_of_their_definition(sizes, ways):
    layout = Coefficients(tuple(sizes), min(ways, len(sizes)))
    cube = made_up(sizes, seed=1)
    found = layout.of_tables([summed(cube, columns) for columns in layout.sets])
    assert found.dtype == np.int64 and found.shape == (layout.count,)
    wanted = []
    for columns in layout.sets:
        for pattern in product(*(range(1, 2 ** bits_of(sizes[c])) for c in columns)):
            total = 0
            for cell, count in np.ndenumerate(cube):
                overlap = sum(
                    (cell[c] & p).bit_count() for c, p in zip(columns, pattern, strict=True)
                )
                total += (-1) ** overlap * int(count)
            wanted.append(total)
    assert found.tolist() == wanted


def test_the_coefficient_of_no_bits_is_the_number_of_rows_and_parseval_holds():
    counts = made_up((64,), seed=2)[None, :]
    spectrum = transform(counts)
    assert spectrum[0, 0] == counts.sum()
    assert (spectrum**2).sum() == 64 * (counts**2).sum()
    np.testing.assert_array_equal(transform(spectrum), 64 * counts)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=4), st.integers(1, 4))
def test_the_number_of_changed_coefficients_is_found_by_trying_all_pairs(sizes, ways):
    layout = Coefficients(tuple(sizes), min(ways, len(sizes)))
    worst = 0
    first = np.zeros(sizes, dtype=np.int64)
    first[(0,) * len(sizes)] = 1
    before = layout.of_tables([summed(first, columns) for columns in layout.sets])
    for cell in np.ndindex(*sizes):
        other = np.zeros(sizes, dtype=np.int64)
        other[cell] = 1
        after = layout.of_tables([summed(other, columns) for columns in layout.sets])
        changed = np.abs(after - before)
        assert set(np.unique(changed)) <= {0, 2}
        worst = max(worst, int((changed > 0).sum()))
    assert layout.most_changed == worst


def test_binary_columns_have_the_published_number_of_coefficients():
    layout = Coefficients((2,) * 16, 3)
    assert layout.count == 16 + 120 + 560
    # Two records that differ everywhere change all coefficients of one and of three bits.
    assert layout.most_changed == 16 + 560
    assert len(layout.sets) == layout.number_of_sets


def test_many_kinds_of_columns_fall_back_to_the_simple_bound():
    layout = Coefficients(tuple(2**bits for bits in range(1, 16)) + (2,) * 4, 1)
    assert layout.most_changed == layout.count


def test_noise_has_the_scale_of_the_relation():
    public = TablePublic.of(Schema.from_dict({f"c{i}": [False, True] for i in range(4)}))
    noise = Fourier(epsilon=1, ways=2).coefficient_noise(public)
    assert noise.scale == Fraction(20, 19) * 10
    schema = Schema.from_dict({f"c{i}": [False, True] for i in range(4)}, relation="replace_one")
    replaced = TablePublic.of(schema, rows=9)
    # Records that differ in two or three columns: 3 coefficients of one bit and 3 of two, or
    # 2 and 4.
    assert Fourier(epsilon=1, ways=2).coefficient_noise(replaced).scale == 2 * 6
    gaussian = Fourier(epsilon=1, ways=2, delta="1e-6").coefficient_noise(replaced)
    assert gaussian.squared_sensitivity == 4 * 6
    assert gaussian.shape == (10,)


@pytest.mark.parametrize("repair", ["project", "clip", "consistent"])
def test_with_a_huge_budget_the_truth_comes_out(repair):
    data = tables.table(tables.made(500))
    release = Fourier(epsilon=10**7, ways=2, repair=repair).release(data)
    assert release.sets == ((0, 1), (0, 2), (1, 2))
    for columns, table in zip(release.sets, release.tables, strict=True):
        np.testing.assert_allclose(table, data.counts.marginals([columns])[0], atol=1e-4)
    assert release.sample(20).height == 20


def test_tables_have_no_negative_count_and_the_total_of_the_release():
    data = tables.table(tables.made(40), relation="replace_one")
    for repair in ("project", "clip", "consistent"):
        release = Fourier(epsilon="1/5", repair=repair).release(data)
        for table in release.tables:
            assert table.min() >= 0
            assert table.sum() == pytest.approx(40)
        assert release.words() and release.plot().axes


def test_too_many_coefficients_are_refused_before_anything_is_spent():
    values = [str(i) for i in range(256)]
    public = TablePublic.of(Schema.from_dict({f"c{i}": values for i in range(12)}))
    with pytest.raises(ValueError, match=r"ways = 2 of 12 columns needs 4,294,710 coefficients"):
        Fourier(epsilon=1).plan(public)
    binary = TablePublic.of(Schema.from_dict({f"c{i}": [False, True] for i in range(60)}))
    with pytest.raises(ValueError, match=r"gives .* tables; at most 20,000 are allowed"):
        Fourier(epsilon=1, ways=30).plan(binary)


def test_padding_is_told_in_the_plan():
    plan = Fourier(epsilon=1).plan(tables.table([]).public)
    assert any(note.startswith("colour: the size is no power of two") for note in plan.notes)


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
@pytest.mark.parametrize("values", [["x", "y"], ["x"]])
@pytest.mark.parametrize("repair", ["project", "clip", "consistent"])
def test_no_rows_one_row_one_column_one_value(relation, values, repair):
    for rows in (0, 1):
        data = tables.single(values, rows, relation=relation)
        release = Fourier(epsilon="1/10", repair=repair).release(data)
        assert np.isfinite(release.counts(["only"])).all()
        assert (TOTAL in release.transcript) == (relation == "add_remove")
        assert (COEFFICIENTS in release.transcript) == (len(values) > 1)


def test_margins_hold_nineteen_times_in_twenty():
    data = tables.table(tables.made(200), relation="replace_one")
    truth = data.counts.marginals([(1, 2)])[0]
    method = Fourier(epsilon=1)
    layout = method.layout(data.public)
    held = []
    for _ in range(60):
        release = method.release(data)
        known = release.transcript[COEFFICIENTS].astype(float)
        (table,) = layout.tables([(1, 2)], 200.0, known)
        held.append(np.abs(table - truth) <= release.cell_margin(2))
    # 480 cells, of which eight share a draw: a share below 0.88 is no accident.
    assert 0.88 < np.mean(held) < 0.995
