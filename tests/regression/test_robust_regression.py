"""Robust linear regression: its suites, what leaks as published, and what it is good for."""

from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest

from sfumato import noise
from sfumato.data.schema import Schema
from sfumato.data.table import Table, TablePublic
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.loss import PureDP
from sfumato.privacy.record import record, replay
from sfumato.regression.merged import merge_releases
from sfumato.regression.robust_regression import RobustLinearRegression
from tests.method_suite import AuditSuite, MethodSuite
from tests.regression import made

GIVEN = {"target": "cost", "clip": 1, "bound": 1, "moment_shares": ["0.3", "0.6", "0.1"]}
DECLARED = {**GIVEN, "response": "declared", "features": "declared"}


class RobustSuite(MethodSuite):
    name = "table.RobustLinearRegression"
    options = DECLARED
    sampled = False
    random_neighbours = 25

    def audited_public(self):
        return self.data().public

    def data(self):
        return made.table(made.made(40))

    def neighbours(self):
        return made.row_pairs()

    def fact(self, release):
        return release.transcript["statistics"]


class TestRobust(RobustSuite):
    pass


def constant_alone():
    """Return a table whose rows are all the constant: its answers move furthest."""
    columns = {"cost": {"kind": "real", "low": -10, "high": 10, "bits": 8}}
    return TablePublic.of(Schema.from_dict(columns, relation="replace_one"), rows=6)


class TestRobustUnderReplacement(RobustSuite):
    def audited_public(self):
        return constant_alone()

    def data(self):
        return made.table(made.made(40), relation="replace_one")

    def neighbours(self):
        return made.replaced_pairs()


class TestConstantAlone(AuditSuite):
    """One feature and three statistics, of which samples see everything."""

    name = "table.RobustLinearRegression"
    # The quickest fit: what is audited is what was said.
    options: ClassVar[dict[str, Any]] = {**DECLARED, "engine": "fixed"}
    random_neighbours = 50

    def audited_public(self):
        return constant_alone()


def numbers(rows, seed=1, relation="replace_one"):
    """Return a table of two numbers that explain a third, and its frame."""
    generator = np.random.default_rng(seed)
    a, b = generator.normal(size=(2, rows))
    y = 2 * a - b + generator.normal(size=rows)
    frame = pl.DataFrame({"a": a, "b": b, "y": y}).with_columns(pl.all().clip(-10, 10))
    bounds = {"a": 3, "b": 3, "y": 10}
    schema = {n: {"kind": "real", "low": -e, "high": e} for n, e in bounds.items()}
    frame = frame.with_columns(pl.col("a", "b").clip(-3, 3))
    return Table(frame, Schema.from_dict(schema, relation=relation)), frame


@pytest.mark.parametrize("options", [{}, {"rows": "unit"}, {"rows": "weigh"}], ids=str)
def test_a_model_with_intervals_that_cover(options):
    data, frame = numbers(3000)
    method = RobustLinearRegression(epsilon=5, target="y", **options)
    with noise.seeded(1):
        release = method.release(data)
    predicted, y = release.predict(frame), frame["y"].to_numpy()
    # The model explains five sixths of the variance at best.
    assert 1 - ((y - predicted) ** 2).mean() / y.var() > (0.5 if options else 0.75)
    found = release.interval(frame, level=0.95)
    assert ((found.low <= y) & (y <= found.high)).mean() > (0.85 if options else 0.92)
    assert "intervals" in release.words() or release.about


@pytest.mark.parametrize("engine", ["gibbs", "fixed"])
def test_other_fits_have_no_intervals(engine):
    data, frame = numbers(2000)
    method = RobustLinearRegression(epsilon=5, target="y", engine=engine, clip=1, bound=2)
    with noise.seeded(2):
        release = method.release(data)
    assert np.corrcoef(release.predict(frame), frame["y"])[0, 1] > 0.85
    with pytest.raises(ValueError, match="gives no intervals"):
        release.interval(frame)


def test_tight_calibration_has_less_noise_than_the_published_one():
    data, _ = numbers(50)
    shares = ["0.35", "0.6", "0.05"]
    for relation, ratio in (("replace_one", 0.6036), ("add_remove", 0.525)):
        data, _ = numbers(50, relation=relation)
        options = {"epsilon": 1, "target": "y", "clip": 1, "bound": 1, "intercept": False}
        options |= {"response": "declared", "features": "declared"}
        seed = RobustLinearRegression(**options, moment_shares=shares, calibration="seed")
        # The same proportion of the parts, told directly.
        whole = 0.35 / 2 + 0.6 / 2 + 0.05
        tight = RobustLinearRegression(**options, moment_shares=["1/3", "4/7", "2/21"])
        assert whole == pytest.approx(0.525)
        wide, narrow = (
            method.chosen(data.public, setting)
            .box(setting)
            .scales(method.chosen(data.public, setting).noise(setting))
            for method in (seed, tight)
            for setting in [method.setting(data.public, {"count": np.array([50])})]
        )
        assert np.array(narrow) / np.array(wide) == pytest.approx([ratio] * 3, rel=0.05)


def test_several_parties_make_one_model():
    parts = [numbers(1500, seed=seed) for seed in (1, 2, 3)]
    options = {"target": "y", "response": "declared", "features": "declared"}
    options |= {"clip": 1, "bound": 2, "moment_shares": ["0.4", "0.5", "0.1"]}
    releases = []
    for seed, (data, _) in enumerate(parts):
        with noise.seeded(seed):
            releases.append(RobustLinearRegression(epsilon=2, **options).release(data))
    together = merge_releases(releases)
    frame = pl.concat([part for _, part in parts])
    y = frame["y"].to_numpy()

    def error(model):
        return ((y - model.predict(frame)) ** 2).mean()

    assert error(together) < np.mean([error(release) for release in releases])
    assert together.covariance is not None
    with pytest.raises(ValueError, match="list of releases is empty"):
        merge_releases([])
    with noise.seeded(4):
        other = RobustLinearRegression(epsilon=2, **{**options, "bound": 3}).release(parts[0][0])
    with pytest.raises(ValueError, match="rows of the parties differ"):
        merge_releases([releases[0], other])


def test_tables_at_the_edge_have_a_finite_model():
    empty = made.table([])
    one = made.table(made.made(1))
    constant = made.table([made.LOWEST] * 20)
    for data in (empty, one, constant):
        for epsilon in ("1e-6", 1, 1000):
            release = RobustLinearRegression(epsilon=epsilon, **GIVEN).release(data)
            assert np.isfinite(release.weights).all()
    only = Schema.from_dict({"y": {"kind": "real", "low": 0, "high": 1}})
    frame = pl.DataFrame({"y": [0.5, 0.7]})
    release = RobustLinearRegression(epsilon=1, target="y").release(Table(frame, only))
    assert np.isfinite(release.predict(frame)).all()


PUBLISHED = {"target": "y", "variant": "published", "accept_unproven": True}


def test_the_published_pipeline_promises_nothing_and_no_ledger_books_it(tmp_path):
    with pytest.raises(ValueError, match="not private"):
        RobustLinearRegression(epsilon=1, target="y", variant="published")
    data, frame = numbers(800)
    method = RobustLinearRegression(epsilon=2, intercept=False, **PUBLISHED)
    ledger = Ledger.create(tmp_path / "a.ledger", allow=PureDP(5), unit="row")
    with pytest.raises(ValueError, match=r"no ledger|not proved|published|guarantee"):
        method.release(data, ledger=ledger)
    assert ledger.spent == PureDP(0)
    with noise.seeded(1):
        release = method.release(data)
    assert not release.guarantee.private
    assert np.corrcoef(release.predict(frame), frame["y"])[0, 1] > 0.7
    assert "not private" in release.words()
    assert method.plan(data.public).steps


def test_equal_answers_get_no_noise_as_published_and_are_told_apart():
    schema = Schema.from_dict(
        {n: {"kind": "real", "low": -1, "high": 1, "bits": 8} for n in "ay"}, relation="replace_one"
    )

    def table(answers):
        return Table(pl.DataFrame({"a": [0.1, 0.9, -0.5, 0.3], "y": answers}), schema)

    here, there = table([0.0] * 4), table([0.0] * 3 + [1.0])
    method = RobustLinearRegression(epsilon=1, intercept=False, **PUBLISHED)
    with noise.seeded(1):
        script = record(method, here)
    noisy, _ = script.transcript["statistics"]
    assert noisy[1:].tolist() == [0, 0]
    mirror = replay(method, there, script)
    assert any(not change.holds for _, change in script.changes(mirror))
    # Thresholds that are public keep what is declared on the same two tables.
    proved = RobustLinearRegression(
        epsilon=1, target="y", clip=1, bound=1, response="declared", features="declared"
    )
    with noise.seeded(1):
        script = record(proved, here)
    mirror = replay(proved, there, script)
    assert all(change.holds for _, change in script.changes(mirror))
    assert abs(script.loss_against(mirror)) <= 1 + 1e-9


def test_with_a_delta_the_noise_is_that_of_the_pure_loss_that_fits():
    data, frame = numbers(500)
    release = RobustLinearRegression(epsilon=2, delta="1e-6", **{**GIVEN, "target": "y"}).release(
        data
    )
    assert np.isfinite(release.predict(frame)).all()


def test_what_does_not_fit_is_refused():
    for options, words in (
        ({"moment_shares": ["0.5", "0.5", "0.5"]}, "three numbers of at least 1e-6"),
        ({"clip": 0}, "clip must be"),
        ({"engine": "advi"}, "engine must be"),
        ({**PUBLISHED, "delta": "1e-6"}, "leave delta out"),
    ):
        with pytest.raises(ValueError, match=words):
            RobustLinearRegression(**{"epsilon": 1, "target": "y", **options})


def test_the_budget_that_is_not_needed_for_published_scales_stays_unspent():
    data, _ = numbers(30)
    method = RobustLinearRegression(epsilon=1, target="y", calibration="seed", clip=1, bound=1)
    release = method.release(data)
    (entry,) = [entry for entry in release.transcript if entry.label == "statistics"]
    assert float(PureDP(entry.signature["epsilon"]).epsilon) < 0.62
