"""Queries about tables: weights, views, and what an engine keeps for those that follow."""

import gc
import weakref

import numpy as np
import pytest

from sfumato.data.table_queries import Accepted, Marginal, Seen, View, see_through
from sfumato.engines.memory import CodeTable
from sfumato.privacy.program import FINISH, Ask, answer_together
from tests.tabular import tables


@pytest.fixture
def table():
    return tables.table(tables.made(80))


def test_marginals_have_their_shape_or_are_flat(table):
    whole, flat, rows = answer_together(
        [Marginal((0, 2)), Marginal((0, 2), flat=True), Marginal(())], table
    )
    assert whole.shape == (3, 2) and flat.tolist() == whole.ravel().tolist()
    assert rows.tolist() == [80]


def test_what_is_accepted_counts_by_its_weight(table):
    counts = Marginal((0, 1)).answer(table)
    query = Accepted((0, 1), ((0, 2), (1, 2, 3)), (5, 0, -1))
    expected = sum(
        weight * int(counts[colour, size])
        for colour in (0, 2)
        for size, weight in ((1, 5), (2, 0), (3, -1))
    )
    assert query.answer(table).tolist() == [expected]
    assert Accepted((), ()).answer(table).tolist() == [80]


def halves():
    """Sizes in two halves, and the colours as they are."""
    return View(((1, np.array([0, 0, 1, 1])), (0, None)))


def test_a_view_is_asked_like_a_table(table):
    fine = Marginal((1, 0)).answer(table)
    coarse = np.stack([fine[:2].sum(axis=0), fine[2:].sum(axis=0)])
    view = halves()
    queries = [Seen(view, Marginal((0, 1))), Seen(view, Accepted((0,), ((1,),)))]
    seen, upper = answer_together(queries, table)
    assert seen.tolist() == coarse.tolist() and upper.tolist() == [coarse[1].sum()]
    # A view of a view.
    again = Seen(view, Seen(View(((0, None),)), Marginal((0,))))
    assert again.answer(table).tolist() == coarse.sum(axis=1).tolist()


def test_a_program_is_seen_through_a_view_whatever_it_asks():
    def inner():
        first = yield Ask(None, None, Marginal((0,)), "one")
        both = yield [Ask(None, None, Marginal((1,)), "two")]
        yield FINISH
        return first, both

    view = halves()
    program = see_through(view, inner())
    asked = next(program)
    assert asked.query == Seen(view, Marginal((0,))) and asked.label == "one"
    (second,) = program.send("noisy")
    assert second.query == Seen(view, Marginal((1,)))
    assert program.send(["more"]) is FINISH
    with pytest.raises(StopIteration) as end:
        next(program)
    assert end.value.value == ("noisy", ["more"])


class Key:
    """A public key."""


def test_an_engine_counts_once_for_a_key_and_forgets_with_it():
    engine = CodeTable([np.zeros(5, dtype=np.uint8)], [1])
    key, times = Key(), []

    def count():
        times.append(1)
        return np.arange(3)

    kept = weakref.ref(engine.recall(key, count))
    assert engine.recall(key, count) is kept() and times == [1]
    engine.recall(Key(), count)
    assert times == [1, 1]
    del key
    gc.collect()
    assert kept() is None
    assert engine.recode([(0, None)]).recall(Key(), lambda: 7) == 7
