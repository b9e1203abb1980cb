"""Majority, PrivateERM and PrivGene: their suites, and what is special to each."""

import numpy as np
import polars as pl
import pytest

from sfumato import noise
from sfumato.audit import Pair, sample_loss
from sfumato.audit.table_pairs import table_of
from sfumato.data.schema import Schema
from sfumato.data.table import Table, TablePublic
from sfumato.mechanisms import objective
from sfumato.mechanisms.choose import Choose, ChooseSeveral
from sfumato.mechanisms.objective import ObjectivePerturbation
from sfumato.privacy.record import record, replay
from sfumato.tabular.classifier import FeatureMap, Task, direction
from sfumato.tabular.majority import Majority
from sfumato.tabular.private_erm import PrivateERM
from sfumato.tabular.privgene import PrivGene
from sfumato.tabular.queries import Labelled, Records, RuleScores, parts_of
from tests.method_suite import MethodSuite
from tests.tabular import tables

LEFT = {"target": "left", "positive": ["true"]}


def flipped(public, copies):
    """Many equal records, and one of them with the other sign: every rule errs on just one."""
    first = [0] * len(public.sizes)
    other = [*first[:-1], public.sizes[-1] - 1]
    rows = [first] * copies
    if public.relation == "replace_one":
        return Pair(
            "one flipped", table_of(public, [first, *rows]), table_of(public, [other, *rows])
        )
    return Pair("one of another sign", table_of(public, rows), table_of(public, [other, *rows]))


class ClassifierSuite(MethodSuite):
    options = LEFT
    # A fit is certified in exact arithmetic, which takes its time.
    random_neighbours = 20

    def audited_public(self):
        return self.data().public

    def data(self):
        return tables.table(tables.made(60))

    def neighbours(self):
        return tables.row_pairs()

    def fact(self, release):
        return release.weights


class TestMajority(ClassifierSuite):
    name = "table.Majority"
    random_neighbours = 200

    def fact(self, release):
        return release.transcript["positive minus negative"]


class TestMajorityUnderReplacement(TestMajority):
    sampled = False

    def data(self):
        return tables.table(tables.made(60), relation="replace_one")

    def neighbours(self):
        return tables.replaced_pairs()


class ERMSuite(ClassifierSuite):
    """The suite with few draws, which are slow, and with the noise of its own primitive."""

    name = "table.PrivateERM"
    sampled = False

    def pairs(self):
        return [*super().pairs()[:2], flipped(self.audited_public(), 1)]

    def halve_noise(self, monkeypatch):
        monkeypatch.setattr(
            ObjectivePerturbation, "scale", property(lambda p: p.reach / p.noise / 2)
        )

    def halve_drawn_noise(self, monkeypatch):
        true = objective.perturb_knorm
        monkeypatch.setattr(
            objective,
            "perturb_knorm",
            lambda values, scale, *, grid_exponent: true(
                values, scale / 2, grid_exponent=grid_exponent
            ),
        )

    def halve_sensitivity(self, monkeypatch):
        # Examples of length 2 where 1 is declared.
        unit = FeatureMap.unit.fget
        monkeypatch.setattr(FeatureMap, "unit", property(lambda features: 2 * unit(features)))


class TestPrivateERM(ERMSuite):
    pass


class TestPrivateERMUnderReplacement(ERMSuite):
    def data(self):
        return tables.table(tables.made(60), relation="replace_one")

    def neighbours(self):
        return tables.replaced_pairs()


class TestPrivateERMOfTheBiasAlone(ERMSuite):
    """One column: the linear term is a single Laplace number, of which samples see everything."""

    sampled = True

    def data(self):
        schema = Schema.from_dict({"left": bool})
        return Table(pl.DataFrame({"left": [True, False, True]}), schema)

    def neighbours(self):
        return []

    def test_samples_do_not_refute_the_method(self):
        # Confidence 1 − 1e-6: the false-alarm rate of this test.
        pair = self.pairs()[0]
        result = sample_loss(self.method(), pair, trials=200, confidence=1 - 1e-6, seed=1)
        assert not result.refuted, str(result)

    def test_samples_refute_the_method_with_half_the_noise_drawn(self, monkeypatch):
        self.halve_drawn_noise(monkeypatch)
        result = sample_loss(
            self.method(epsilon=2), self.pairs()[0], trials=400, confidence=0.99, seed=1
        )
        assert result.refuted, str(result)


class TestTunedPrivateERM(ERMSuite):
    options = {**LEFT, "tune": [1, "1/100"]}  # noqa: RUF012


class TestTunedPrivateERMUnderReplacement(ERMSuite):
    options = {**LEFT, "tune": [1, "1/100"]}  # noqa: RUF012

    def data(self):
        return tables.table(tables.made(60), relation="replace_one")

    def neighbours(self):
        return []

    def test_a_replaced_record_moves_two_copies_at_most_and_loses_epsilon_at_most(self):
        method = self.method()
        for here, there in tables.replaced_pairs():
            with noise.seeded(1):
                script = record(method, here)
            mirror = replay(method, there, script)
            assert all(change.holds_for(2) for _, change in script.changes(mirror))
            assert sum(change.measured for _, change in script.changes(mirror)) <= 2
            assert abs(script.loss_against(mirror)) <= 1


class GeneSuite(ClassifierSuite):
    name = "table.PrivGene"
    sampled = False
    options = {**LEFT, "rounds": 2, "population": 8, "parents": 2}  # noqa: RUF012

    def pairs(self):
        return [*super().pairs()[:2], flipped(self.audited_public(), 20)]

    def halve_noise(self, monkeypatch):
        for kind in (Choose, ChooseSeveral):
            true = kind.rate.fget
            monkeypatch.setattr(kind, "rate", property(lambda p, true=true: 2 * true(p)))

    def halve_drawn_noise(self, monkeypatch):
        choose, several = noise.permute_and_flip, noise.top_k
        monkeypatch.setattr(
            noise, "permute_and_flip", lambda scores, *, rate: choose(scores, rate=2 * rate)
        )
        monkeypatch.setattr(
            noise, "top_k", lambda scores, k, *, rate: several(scores, k, rate=2 * rate)
        )

    def halve_sensitivity(self, monkeypatch):
        for kind in (Choose, ChooseSeveral):
            original = kind.__post_init__

            def halved(primitive, original=original):
                original(primitive)
                object.__setattr__(primitive, "sensitivity", primitive.sensitivity / 2)

            monkeypatch.setattr(kind, "__post_init__", halved)


class TestPrivGene(GeneSuite):
    pass


class TestPrivGeneUnderReplacement(GeneSuite):
    def data(self):
        return tables.table(tables.made(60), relation="replace_one")

    def neighbours(self):
        return tables.replaced_pairs()


class TestPrivGeneOfOneRound(GeneSuite):
    """One choice among few: samples see everything."""

    sampled = True
    options = {**LEFT, "rounds": 1, "population": 12, "parents": 2}  # noqa: RUF012

    def neighbours(self):
        return []

    def fact(self, release):
        # Several candidates may have the same number of mistakes; their numbers differ.
        return np.array([release.transcript["winner"]])

    def test_samples_refute_the_method_with_half_the_noise_drawn(self, monkeypatch):
        self.halve_drawn_noise(monkeypatch)
        result = sample_loss(
            self.method(epsilon=3), self.pairs()[0], trials=600, confidence=0.99, seed=1
        )
        assert result.refuted, str(result)


def learnable(rows, **options):
    """A table whose target is told by another column, but for one record in ten."""
    generator = np.random.default_rng(rows)
    red = generator.random(rows) < 0.5
    left = red ^ (generator.random(rows) < 0.1)
    frame = pl.DataFrame(
        {
            "colour": np.where(red, "red", "green"),
            "size": generator.integers(0, 40, rows),
            "left": left,
        }
    )
    return Table(frame, tables.schema(**options)), frame


@pytest.mark.parametrize(
    ("method", "worst"),
    [
        (PrivateERM(epsilon=50, **LEFT), 0.13),
        (PrivateERM(epsilon=50, **LEFT, tune=["0.001", 1]), 0.13),
        (PrivateERM(epsilon=50, **LEFT, variant="paper"), 0.13),
        (PrivGene(epsilon=50, **LEFT), 0.13),
        (Majority(epsilon=50, **LEFT), 0.6),
    ],
)
def test_with_a_large_epsilon_the_rule_is_learnt(method, worst):
    table, frame = learnable(2000)
    with noise.seeded(3):
        release = method.release(table)
    wrong = release.predict(frame) != frame["left"].to_numpy()
    assert wrong.mean() <= worst
    # The target is not needed.
    assert (release.predict(frame.drop("left").to_pandas()) == release.predict(frame)).all()


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
@pytest.mark.parametrize(
    "columns",
    [
        {"left": bool},
        {"left": ["only"]},
        {"x": ["only"], "left": bool},
        {"x": (0, 10, 5), "left": [0, 1, 2]},
    ],
)
@pytest.mark.parametrize("rows", [0, 1, 2])
def test_every_table_is_taken(columns, rows, relation):
    schema = Schema.from_dict(columns, relation=relation)
    table = TablePublic.of(schema).make_synthetic(rows, noise.generator(1))
    positive = [table.public.labels("left")[-1]]
    for method in (
        Majority(epsilon=1, target="left", positive=positive),
        PrivateERM(epsilon=1, target="left", positive=positive),
        PrivateERM(epsilon=1, target="left", positive=positive, tune=[1, 2]),
        PrivGene(epsilon=1, target="left", positive=positive, rounds=2, population=4, parents=2),
    ):
        release = method.release(table)
        frame = table.public.make_synthetic(3, noise.generator(2))
        codes = [frame.counts.codes(column) for column in release.task.features.columns]
        decided = release.decide(np.stack(codes, axis=1) if codes else np.zeros((3, 0), dtype=int))
        assert decided.shape == (3,)


@pytest.mark.parametrize("epsilon", ["1e-9", "1e6"])
def test_extreme_epsilons_work(epsilon):
    table, _ = learnable(200)
    assert np.isfinite(PrivateERM(epsilon=epsilon, **LEFT).release(table).weights).all()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"target": "nothing"}, "there is no column 'nothing'"),
        (
            {"positive": ["up"]},
            "positive must hold values of 'left'; got 'up'; the values are 'false'",
        ),
        ({"positive": []}, "positive must be a non-empty list"),
        ({"cost": 0}, "cost must be from 1e-6 to 1e6; got 0"),
        ({"tune": [1]}, "tune must be a list of two or more distinct costs"),
        ({"variant": "best"}, "variant must be one of"),
        ({"epsilon": "1e-13"}, "epsilon must be at least 1e-12"),
    ],
)
def test_what_cannot_be_is_refused_with_what_is_allowed(options, text):
    table, _ = learnable(20)
    with pytest.raises(ValueError, match=text):
        PrivateERM(**{"epsilon": 1, **LEFT, **options}).release(table)


def test_more_parents_than_candidates_are_refused():
    table, _ = learnable(20)
    with pytest.raises(ValueError, match="parents must be at most the population of 5; got 9"):
        PrivGene(epsilon=1, **LEFT, population=5, parents=9).release(table)


def test_costs_that_come_to_the_same_are_tried_once():
    table, _ = learnable(20)
    method = PrivateERM(epsilon="0.1", **LEFT, tune=["0.001", "0.1", 1, 10])
    assert list(method.fits(table.public)) == ["C = 1/1000", "C = 1/10"]
    assert method.release(table).transcript["choice"] in (0, 1)


def test_a_part_without_the_new_record_is_handed_the_very_same_input():
    method = PrivateERM(epsilon=1, **LEFT, tune=["0.001", 1])
    rows = tables.made(40)
    here, there = tables.table(rows), tables.table([*rows, (99, "blue", 40, True)])
    records = Records(method.task(here.public), 3)
    changed = 0
    for one, other in zip(records.of(here), records.of(there), strict=True):
        same = all(
            np.array_equal(getattr(one, name), getattr(other, name))
            for name in ("places", "values", "weights")
        )
        changed += not same
    assert changed == 1


class TestFeatures:
    COLUMNS = {  # noqa: RUF012
        "sex": ["f", "m"],
        "age": {"kind": "number", "low": 0, "high": 100, "bins": 5, "missing": "code"},
        "town": ["a", "b", "c"],
        "always": ["same"],
        "left": bool,
    }

    def task(self):
        public = TablePublic.of(Schema.from_dict(self.COLUMNS))
        return public, Task.of(public, "left", ["true"])

    def test_two_values_are_one_feature_an_order_one_and_categories_one_each(self):
        public, task = self.task()
        names = task.features.names(public)
        assert names == [
            ("sex", "m"), ("age", "age"), ("age", "(missing)"),
            ("town", "a"), ("town", "b"), ("town", "c"), ("(always)", ""),
        ]  # fmt: skip

    def test_no_record_is_longer_than_one_and_most_are_nearly_so(self):
        public, task = self.task()
        table = public.make_synthetic(500, noise.generator(4))
        examples = Labelled(Records(task)).answer(table)
        squares = (examples.rows().astype(object) ** 2).sum(axis=1)
        assert max(squares) <= 2**32
        assert max(squares) > 0.999 * 2**32

    def test_the_sign_of_an_example_is_that_of_its_target(self):
        public, task = self.task()
        table = table_of(public, [[0, 5, 1, 0, 1], [0, 5, 1, 0, 0]])
        rows = Labelled(Records(task)).answer(table).rows()
        np.testing.assert_array_equal(rows[0], -rows[1])
        assert rows[1][-1] > 0

    def test_mistakes_are_those_of_the_released_rule(self):
        table, frame = learnable(300)
        release = PrivateERM(epsilon=5, **LEFT).release(table)
        wrong = release.predict(frame) != frame["left"].to_numpy()
        scores = RuleScores(Records(release.task), direction(release.weights)[:, None])
        assert scores.answer(table).tolist() == [-wrong.sum()]


class TestParts:
    def test_every_copy_is_in_one_part_and_one_record_more_is_one_copy_more(self):
        generator = np.random.default_rng(1)
        codes = np.array([(i, j) for i in range(4) for j in range(3)], dtype=np.uint32)
        counts = generator.integers(0, 50, len(codes))
        shares = parts_of(codes, counts, 5)
        np.testing.assert_array_equal(shares.sum(axis=1), counts)
        for place in range(len(codes)):
            more = counts.copy()
            more[place] += 1
            moved = parts_of(codes, more, 5) - shares
            assert moved.sum() == 1 and (moved >= 0).all()
            assert moved[place].sum() == 1

    def test_parts_do_not_depend_on_blocks(self, monkeypatch):
        codes, counts = np.array([[1], [2], [3]]), np.array([7, 0, 90])
        whole = parts_of(codes, counts, 3)
        monkeypatch.setattr("sfumato.tabular.queries.BLOCK", 5)
        np.testing.assert_array_equal(parts_of(codes, counts, 3), whole)

    def test_parts_are_about_equal(self):
        # 70 000 copies on 7 parts: each within 6 deviations of 10 000, false alarm below 1e-7.
        shares = parts_of(np.arange(7000)[:, None], np.full(7000, 10), 7).sum(axis=0)
        assert np.abs(shares - 10_000).max() < 6 * np.sqrt(10_000)
