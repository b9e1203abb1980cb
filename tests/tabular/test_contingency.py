from math import prod

import numpy as np
import pytest

from sfumato import noise
from sfumato.data.schema import Schema
from sfumato.data.table import TablePublic
from sfumato.privacy.record import record
from sfumato.tabular.contingency import TABLE, Contingency
from sfumato.tabular.counting_method import TOTAL
from tests.method_suite import MethodSuite
from tests.tabular import tables


class ContingencySuite(MethodSuite):
    name = "table.Contingency"

    def audited_public(self):
        return self.data().public

    def data(self):
        return tables.table(tables.made(60))

    def neighbours(self):
        return tables.row_pairs()

    def fact(self, release):
        return release.model.cells


class TestContingency(ContingencySuite):
    pass


class TestContingencyUnderReplacement(ContingencySuite):
    sampled = False
    options = {"repair": "marginal"}  # noqa: RUF012

    def data(self):
        return tables.table(tables.made(60), relation="replace_one")

    def neighbours(self):
        return tables.replaced_pairs()


class TestGaussianContingency(ContingencySuite):
    sampled = False
    options = {"delta": "1/100", "repair": "table"}  # noqa: RUF012


def test_the_noise_on_a_cell_has_the_scale_of_the_relation():
    added = record(Contingency(epsilon=1), tables.table([]))
    assert [float(step.primitive.scale) for step in added] == [20, pytest.approx(20 / 19)]
    replaced = tables.table(tables.made(5), relation="replace_one")
    (cells,) = record(Contingency(epsilon=1), replaced)
    assert cells.primitive.scale == 2


@pytest.mark.parametrize("clip", ["project", "table", "marginal"])
def test_with_a_huge_budget_the_table_comes_out(clip):
    data = tables.table(tables.made(500))
    release = Contingency(epsilon=10**6, repair=clip).release(data)
    truth = data.counts.marginals([(0, 1, 2)])[0]
    np.testing.assert_allclose(release.counts(list(data.public.columns)), truth, atol=1e-6)


def test_each_order_of_clipping_does_what_it_says():
    data = tables.table(tables.made(60), relation="replace_one")
    found = {}
    for clip in ("project", "table", "marginal"):
        with noise.seeded(2):
            found[clip] = Contingency(epsilon="1/5", repair=clip).release(data)
    noisy = found["table"].transcript[TABLE].astype(float)
    assert (noisy < 0).any()
    kept = np.maximum(noisy, 0)
    np.testing.assert_allclose(found["table"].model.cells, kept / kept.sum())
    names = list(data.public.columns)
    sums = np.maximum(noisy.reshape(data.public.sizes).sum(axis=(1, 2)), 0)
    np.testing.assert_allclose(found["marginal"].counts(names[:1]), 60 * sums / sums.sum())
    # The projection is no further from the noisy cells than the clipped table, or any other.
    far = {clip: ((60 * found[clip].model.cells - noisy) ** 2).sum() for clip in found}
    assert far["project"] <= far["table"]
    assert found["project"].model.cells.min() >= 0


def test_rows_can_be_drawn_where_marginals_are_clipped_one_by_one():
    release = Contingency(epsilon=1, repair="marginal").release(tables.table(tables.made(60)))
    assert len(release.sample(50)) == 50


def test_a_table_that_is_too_large_is_refused_before_anything_is_spent():
    public = TablePublic.of(Schema.from_dict({f"c{i}": [False, True] for i in range(26)}))
    with pytest.raises(ValueError, match="67,108,864 combinations of values; at most 33,554,432"):
        Contingency(epsilon=1).check(public)


def test_many_columns_of_one_value_do_no_harm():
    import polars as pl

    from sfumato.data.table import Table

    names = [f"c{i}" for i in range(70)]
    frame = pl.DataFrame({name: ["x"] * 3 for name in names})
    columns = {name: ["x", "y"] if name == "c7" else ["x"] for name in names}
    release = Contingency(epsilon=1).release(Table(frame, columns))
    assert prod(release.public.sizes) == 2
    assert release.counts(["c7", "c69"]).shape == (2, 1)


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
@pytest.mark.parametrize("values", [["x", "y"], ["x"]])
@pytest.mark.parametrize("clip", ["project", "table", "marginal"])
def test_no_rows_one_row_one_column_one_value(relation, values, clip):
    for rows in (0, 1):
        data = tables.single(values, rows, relation=relation)
        release = Contingency(epsilon="1/10", repair=clip).release(data)
        assert release.counts(["only"]).sum() == pytest.approx(release.total)
        assert (TOTAL in release.transcript) == (relation == "add_remove")


def test_the_plan_knows_the_error_of_small_marginals():
    public = tables.table([], rows_about=10_000).public
    step = Contingency(epsilon=1).plan(public).steps[-1]
    errors = [step.figures[f"total_variation_{ways}_way"] for ways in (1, 2, 3)]
    assert errors == sorted(errors)
    draws = []
    with noise.seeded(5):
        data = tables.table([])
        for _ in range(60):
            noisy = noise.discrete_laplace(24, scale=float(1 / 0.95)).reshape(3, 4, 2)
            draws.append(np.abs(noisy.sum(axis=(0, 2))).sum() / 2 / 10_000)
    assert data.public.sizes == (3, 4, 2)
    # Half the sum over four cells of six variances each; the mean of 60 draws is within 25 %.
    assert errors[0] == pytest.approx(np.mean(draws), rel=0.25)
