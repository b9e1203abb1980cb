"""Many responses at once: its suite, exact sums, and what it finds."""

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato import noise
from sfumato.audit import Pair, canonical_pairs
from sfumato.privacy.guarantee import Relation
from sfumato.regression.knorm_regression import CROSS, SQUARE
from sfumato.regression.many_responses import ManyResponses, squared_sensitivity
from sfumato.regression.response_rows import ManyRows
from sfumato.regression.rows import ANSWER, ROW
from tests.method_suite import MethodSuite

NUMBER = {"kind": "real", "low": -1, "high": 1, "bits": 6}
COLUMNS = {"age": NUMBER, "left": bool, "first": NUMBER, "second": {**NUMBER, "missing": "code"}}
TYPES = {"age": pl.Float64, "left": pl.Boolean, "first": pl.Float64, "second": pl.Float64}
FAR = (1.0, True, 1.0, 1.0)
#: The same features, answers turned over.
TURNED = (1.0, True, -1.0, -1.0)


def table(rows, **options):
    frame = pl.DataFrame(rows, schema=TYPES, orient="row")
    return sf.Table(frame, sf.Schema.from_dict(COLUMNS, **options))


def some(rows, seed=0):
    generator = np.random.default_rng(seed)
    ages, left = generator.uniform(-1, 1, rows), generator.random(rows) < 0.5
    first = np.clip(0.6 * ages + 0.1 * generator.normal(size=rows), -1, 1)
    second = np.clip(0.3 * left - 0.3 * ages + 0.1 * generator.normal(size=rows), -1, 1)
    return [
        (float(a), bool(b), float(c), float(d))
        for a, b, c, d in zip(ages, left, first, second, strict=True)
    ]


BOTH = {"targets": ["first", "second"]}
PAID = {**BOTH, "features": "paid"}


class ManySuite(MethodSuite):
    name = "table.ManyResponses"
    options = BOTH
    sampled = False

    def audited_public(self):
        return self.data().public

    def data(self):
        return table(some(30))

    def neighbours(self):
        rows = some(20)
        return [
            (table([]), table([FAR])),
            (table(rows), table([*rows, (0.5, False, -1.0, None)])),
            (table(rows), table(rows[1:])),
        ]

    def pairs(self):
        # Canonical pairs are full of missing responses, which move nothing.
        pairs = canonical_pairs(self.audited_public())[:1]
        return pairs + [Pair(f"{k}", *pair) for k, pair in enumerate(self.neighbours())]

    def fact(self, release):
        return release.weights


class TestPure(ManySuite):
    pass


class TestReplaced(ManySuite):
    options = PAID

    def data(self):
        return table(some(30), relation="replace_one")

    def neighbours(self):
        rows, options = some(20), {"relation": "replace_one"}
        return [
            (table([FAR] * 3, **options), table([FAR, FAR, TURNED], **options)),
            (table(rows, **options), table([FAR, *rows[1:]], **options)),
            (table(rows, **options), table([(0.0, True, 0.0, None), *rows[1:]], **options)),
        ]


def rows_of(data, **options):
    method = ManyResponses(epsilon=1, targets=["first", "second"], **options)
    return method, ManyRows(method.rules(data.public, {}), method._length, data)


def test_sums_are_exact_and_rows_are_short():
    data = table(some(5000))
    _, rows = rows_of(data)
    blocks = list(rows.blocks())
    x, y = (np.concatenate([part[k] for part in blocks], axis=1).astype(object) for k in (0, 1))
    assert (x * x).sum(axis=0).max() <= ROW**2 and (y * y).sum(axis=0).max() <= ANSWER**2
    xx, xy = rows.sums()
    assert (xx.astype(object) == x @ x.T).all() and (xy.astype(object) == x @ y.T).all()


def test_a_missing_response_counts_as_zero_and_the_others_stay():
    _, rows = rows_of(table([(0.5, True, 0.5, None)]))
    ((x, y),) = rows.blocks()
    assert x[0, 0] > 0 and y[0, 0] > 0 and y[1, 0] == 0


def test_no_two_records_are_further_apart_than_the_bound_says():
    generator = np.random.default_rng(1)
    bounds = {relation: float(squared_sensitivity(relation)) for relation in Relation}
    i, j = np.triu_indices(3)
    scale = np.where(i == j, SQUARE, CROSS)

    def moved(x, y):
        return np.concatenate([np.outer(x, x)[i, j] * scale, CROSS * np.outer(x, y).ravel()])

    def unit(size):
        drawn = generator.normal(size=size)
        return drawn / np.linalg.norm(drawn)

    farthest = 0.0
    for _ in range(3000):
        x, y = unit(3), unit(4)
        other = unit(3) * generator.choice([0.0, 1.0]) if generator.random() < 0.5 else x
        there = generator.choice([-1.0, 1.0]) * (y if generator.random() < 0.7 else unit(4))
        here = moved(x, y) * ROW**2
        assert here @ here <= bounds[Relation.ADD_REMOVE]
        apart = here - moved(other, there) * ROW**2
        farthest = max(farthest, float(apart @ apart) / bounds[Relation.REPLACE_ONE])
    assert 0.95 <= farthest <= 1 + 1e-9


@pytest.mark.parametrize("delta", [None, 1e-6])
def test_all_models_are_found(delta):
    data = table(some(20_000))
    with noise.seeded(5):
        release = ManyResponses(epsilon=20, delta=delta, targets=["first", "second"]).release(data)
    frame = pl.DataFrame({"age": [0.5, -0.5], "left": [True, False]})
    told = release.predict(frame)
    assert told["first"].to_list() == pytest.approx([0.3, -0.3], abs=0.1)
    assert told["second"].to_list() == pytest.approx([0.15, 0.15], abs=0.1)
    assert release["first"].coef["age", ""] == pytest.approx(0.6, abs=0.15)
    with pytest.raises(KeyError, match="no target 'third'"):
        release["third"]


def test_what_does_not_fit_is_refused():
    data = table(some(5))
    for targets, words in ((["nobody"], "no column 'nobody'"), (["left"], "numbers or dates")):
        with pytest.raises(ValueError, match=words):
            ManyResponses(epsilon=1, targets=targets).release(data)
    many = ManyResponses(epsilon=1, targets=[f"t{number}" for number in range(2**16 + 1)])
    with pytest.raises(ValueError, match="at most 65,536 columns; got 65,537"):
        many.check(data.public)
