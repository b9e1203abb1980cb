from fractions import Fraction

import numpy as np
import pytest

from sfumato import noise
from sfumato.data.schema import Schema
from sfumato.data.table import TablePublic
from sfumato.tabular.independent import Independent
from tests.method_suite import MethodSuite
from tests.tabular import tables


class IndependentSuite(MethodSuite):
    name = "table.Independent"

    def audited_public(self):
        return self.data().public

    def data(self):
        return tables.table(tables.made(60))

    def neighbours(self):
        return tables.row_pairs()

    def fact(self, release):
        return np.concatenate([column.ravel() for column in release.model.columns])


class TestIndependent(IndependentSuite):
    pass


class TestIndependentUnderReplacement(IndependentSuite):
    sampled = False
    options = {"split": "equal", "repair": "clip"}  # noqa: RUF012

    def data(self):
        return tables.table(tables.made(60), relation="replace_one")

    def neighbours(self):
        return tables.replaced_pairs()


class TestGaussianIndependent(IndependentSuite):
    sampled = False
    options = {"delta": "1/100"}  # noqa: RUF012


def public(**options):
    columns = {"a": [False, True], "b": [str(i) for i in range(8)], "c": ["only"]}
    return TablePublic.of(Schema.from_dict(columns, **options))


def test_scales_are_inverse_to_the_roots_of_the_sizes():
    scales = [float(noise.scale) for noise in Independent(epsilon=1).noises(public())]
    # √2 to √8 is one to two: shares of 1/3 and 2/3, and nothing for a column of one value.
    np.testing.assert_allclose(scales, [3, 1.5], rtol=1e-3)
    plain = Independent(epsilon=1, split="equal").noises(public())
    assert [noise.scale for noise in plain] == [2, 2]


def test_gaussian_shares_grow_with_the_size_to_two_thirds():
    shares = Independent(epsilon=1, delta="1e-6").shares(public())
    np.testing.assert_allclose(float(shares[1] / shares[0]), 4 ** (2 / 3), rtol=1e-3)
    assert sum(shares) == 1


@pytest.mark.parametrize("delta", [None, "1e-6"])
def test_no_other_split_expects_less_error(delta):
    method = Independent(epsilon=1, delta=delta)
    sizes = np.array([2.0, 8.0])
    power = 1 if delta is None else 0.5
    ours = np.array([float(share) for share in method.shares(public())])
    others = np.linspace(0.01, 0.99, 99)
    expected = sizes[0] / others**power + sizes[1] / (1 - others) ** power
    assert (sizes / ours**power).sum() <= expected.min() * (1 + 1e-6)


def test_with_a_huge_budget_the_histograms_come_out():
    data = tables.table(tables.made(500))
    release = Independent(epsilon=10**6).release(data)
    for number, name in enumerate(data.public.columns):
        truth = data.counts.marginals([(number,)])[0]
        np.testing.assert_allclose(release.counts([name]), truth, atol=1e-6)
    joint = release.counts(["colour", "left"])
    product = np.outer(release.counts(["colour"]), release.counts(["left"])) / 500
    np.testing.assert_allclose(joint, product)


def test_rows_follow_the_histograms():
    release = Independent(epsilon=100).release(tables.table(tables.made(500)))
    frame = release.sample(20_000, generator=noise.generator(1))
    share = (frame["colour"] == "red").mean()
    wanted = release.counts(["colour"])[0] / release.total
    # Five deviations of a share of 20 000 rows: a false alarm in less than a million.
    assert abs(share - wanted) < 5 * np.sqrt(0.25 / 20_000)


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
@pytest.mark.parametrize("values", [["x", "y"], ["x"]])
@pytest.mark.parametrize("rows", [0, 1])
def test_no_rows_one_row_one_column_one_value(relation, values, rows):
    data = tables.single(values, rows, relation=relation)
    for repair in ("project", "clip"):
        release = Independent(epsilon="1/10", repair=repair).release(data)
        assert release.counts(["only"]).sum() == pytest.approx(release.total)


def test_the_total_weighs_histograms_by_their_precision():
    data = tables.table(tables.made(200))
    with noise.seeded(3):
        release = Independent(epsilon=1).release(data)
    weights, totals = [], []
    for name, spread in zip(
        data.public.columns, Independent(epsilon=1).noises(data.public), strict=True
    ):
        weights.append(1 / (spread.standard_deviation**2 * spread.shape[0]))
        totals.append(release.transcript[name].sum())
    assert release.total == pytest.approx(np.average(totals, weights=weights))


def test_shares_are_exact():
    assert sum(Independent(epsilon=1).shares(tables.table([]).public)) == Fraction(1)
