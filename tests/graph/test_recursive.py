"""The recursive mechanism: its two programs on small graphs, and the suite."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from sfumato import noise
from sfumato.data.graph import GraphPublic
from sfumato.graph import packing
from sfumato.graph.packing import (
    BEYOND,
    can_thin_within,
    copies_of,
    exact_packing,
    exact_thinning,
    pack,
)
from sfumato.graph.recursive import MOST_COPIES, RecursiveCount
from sfumato.graph.shapes import Shape
from sfumato.graph.subgraph_count import SubgraphCount
from tests.graph.graphs import all_graphs, engine, graph, toggled
from tests.graph.test_subgraph_count import CountSuite

SHAPES = [
    Shape("triangle", 3),
    Shape("star", 2),
    Shape("star", 3),
    Shape("clique", 4),
    Shape("k-triangle", 2),
]
#: Five nodes that all hang together but for two pairs.
DENSE = frozenset(combinations(range(5), 2)) - {(0, 1), (2, 3)}


@pytest.fixture(autouse=True)
def remembered(monkeypatch):
    """Audits ask about the same few graphs again and again."""
    for name in ("_packing_between", "_thinning_between"):
        known, original = {}, getattr(packing, name)

        def found(copies, limit, known=known, original=original):
            key = (copies.edges, copies.members.shape, copies.members.tobytes(), limit)
            if key not in known:
                known[key] = original(copies, limit)
            return known[key]

        monkeypatch.setattr(packing, name, found)


class TestTriangles(CountSuite):
    options = {"mechanism": "recursive"}  # noqa: RUF012
    random_neighbours = 10

    def pairs(self):
        return super().pairs()[:4]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_subgraphs_taken_one_by_one_are_as_many_as_counted(shape):
    draw = np.random.default_rng(3)
    for share in (0, 0.3, 0.8, 1):
        edges = [pair for pair in combinations(range(8), 2) if draw.random() < share]
        counts = engine(8, edges)
        copies = copies_of(shape, counts)
        assert len(copies.members) == shape.count(counts)
        assert len({tuple(sorted(row)) for row in copies.members.tolist()}) == len(copies.members)
        assert copies.loads.sum() == copies.members.size


@pytest.mark.parametrize("shape", SHAPES[:2] + SHAPES[4:], ids=str)
def test_one_edge_changes_a_packing_by_its_limit_and_a_thinning_by_one(shape):
    """All graphs of four nodes, and those around a dense one of five, in exact arithmetic."""
    around = [DENSE, *toggled(5, DENSE)] if shape == SHAPES[0] else []
    for nodes, graphs in ((4, list(all_graphs(4))), (5, around)):
        found = {
            edges: [
                (exact_packing(copies, limit), exact_thinning(copies, limit))
                for limit in (1, 2)
                for copies in [copies_of(shape, engine(nodes, edges))]
            ]
            for edges in graphs
        }
        for less in graphs:
            for more in set(toggled(nodes, less)) & set(graphs):
                if len(more) > len(less):
                    for limit, here, there in zip((1, 2), found[less], found[more], strict=True):
                        assert 0 <= there[0] - here[0] <= limit
                        assert 0 <= there[1] - here[1] <= 1


def test_the_programs_by_hand():
    """Three triangles on one edge, and nothing else."""
    book = copies_of(
        SHAPES[0], engine(5, [(0, 1), *((end, far) for end in (0, 1) for far in (2, 3, 4))])
    )
    assert exact_packing(book, 1) == 1 and exact_packing(book, 2) == 2
    assert exact_packing(book, 3) == 3
    # A part z of the edge leaves 1 − z of each: 3(1 − z) ≤ limit.
    assert exact_thinning(book, 1) == Fraction(2, 3) and exact_thinning(book, 2) == Fraction(1, 3)
    assert exact_thinning(book, 3) == 0


def test_what_a_solver_proposes_encloses_the_exact_value_and_decides():
    draw = np.random.default_rng(5)
    for shape in SHAPES:
        edges = [pair for pair in combinations(range(6), 2) if draw.random() < 0.6]
        copies = copies_of(shape, engine(6, edges))
        if not 0 < len(copies.members) <= 30:
            continue
        for limit in (1, 3):
            packing_value = exact_packing(copies, limit)
            low, high = packing._packing_between(copies, limit)
            assert low <= packing_value <= high and high - low < Fraction(1, 10**4)
            step = Fraction(limit, 64)
            assert pack(copies, limit, step) == (packing_value / step + Fraction(1, 2)).__floor__()
            thinning = exact_thinning(copies, limit)
            low, high = packing._thinning_between(copies, limit)
            assert low <= thinning <= high and high - low < Fraction(1, 10**4)
            for most in (thinning, thinning - Fraction(1, 10**9), thinning + Fraction(1, 10**9)):
                assert can_thin_within(copies, limit, most) is (thinning <= most)


@pytest.mark.parametrize("answer", ["nothing", "nonsense", "no number", "without end"])
def test_a_solver_that_fails_changes_nothing(monkeypatch, answer):
    copies = copies_of(SHAPES[0], engine(5, DENSE))
    value, thinning = exact_packing(copies, 1), exact_thinning(copies, 1)
    many = len(copies.members)
    off = {"nothing": 0.0, "nonsense": 7.5, "no number": np.nan, "without end": np.inf}[answer]
    monkeypatch.setattr(
        packing, "_propose_packing", lambda *_: (np.full(many, off), np.full(copies.edges, -off))
    )
    monkeypatch.setattr(
        packing,
        "_propose_thinning",
        lambda *_: (np.full(copies.edges, -off), np.full(copies.edges, off), np.full(many, off)),
    )
    assert pack(copies, 1, Fraction(1, 1000)) == round(1000 * value)
    assert can_thin_within(copies, 1, thinning)
    assert not can_thin_within(copies, 1, thinning - Fraction(1, 10**6))


def test_the_step_is_the_first_that_is_reached():
    count = RecursiveCount(SHAPES[0], 5, Fraction(1))
    for edges in (frozenset(), DENSE, frozenset(combinations(range(5), 2))):
        copies = copies_of(SHAPES[0], engine(5, edges))
        reached = [
            exact_thinning(copies, count.scale.limit(step)) <= step + BEYOND for step in range(12)
        ]
        assert count.scale.first_step(copies) == reached.index(True)


def test_complete_graphs_are_taken_apart_and_decided_without_fractions(monkeypatch):
    """Large cliques are few though smaller ones are many; 187/8 is what D is at a limit of 28."""

    def never(*_):
        raise AssertionError("fractions would take for ever here")

    monkeypatch.setattr(packing, "exact_thinning", never)
    complete = engine(34, combinations(range(34), 2))
    assert len(copies_of(Shape("clique", 33), complete).members) == 34
    copies = copies_of(SHAPES[0], complete)
    count = RecursiveCount(SHAPES[0], 34, Fraction("0.72"))
    assert count.scale.limit(23) == 28 and count.scale.limit(22) < 28
    assert count.scale.first_step(copies) == 23


def test_limits_rise_and_stay_within_the_cap():
    count = RecursiveCount(SHAPES[0], 9, Fraction(3))
    limits = [count.scale.limit(step, Fraction(1, 2)) for step in range(-(10**6), 10**6, 99_991)]
    assert limits[0] == 1 and limits[-1] == count.scale.cap == 7 and limits == sorted(limits)
    assert [count.scale.limit(step) for step in range(5)] == [1, 2, 4, 7, 7]


def test_it_is_off_by_noise_and_by_what_the_limit_cuts():
    """The mean of 20 releases is within 5.2 standard errors of one that is never too high."""
    data = graph(7, [pair for pair in combinations(range(7), 2) if sum(pair) % 3])
    truth = data.counts.triangles()
    method = SubgraphCount(epsilon=3, mechanism="recursive")
    with noise.seeded(2):
        values = np.array([method.release(data).value for _ in range(20)])
    assert values.mean() < truth + 5.2 * values.std(ddof=1) / np.sqrt(20)
    assert "too low" in method.release(data).words() or method.release(data).margin > 0


def test_what_the_limit_cuts_is_in_the_expected_error():
    """Six triangles on one edge, which may count for two of them at this epsilon."""
    data = graph(8, [(0, 1), *((end, far) for end in (0, 1) for far in range(2, 8))])
    method = SubgraphCount(epsilon="1/2", mechanism="recursive")
    law = method.law(data)
    assert law.value < 6
    assert method.expected_error(data, 0.95) == 6 - law.value + law.quantile(0.95)


def test_graphs_that_could_have_too_many_are_refused_before_anything_is_spent():
    method = SubgraphCount(epsilon=1, mechanism="recursive")
    method.plan(GraphPublic(nodes=34))
    with pytest.raises(ValueError, match=f"at most {MOST_COPIES:,} subgraphs"):
        method.plan(GraphPublic(nodes=40))


@pytest.mark.parametrize("nodes", [0, 1, 2, 3, 5])
def test_every_graph_is_accepted(nodes):
    everything = list(combinations(range(nodes), 2))
    for epsilon in ("1e-6", 1, 1000):
        for edges in ([], everything):
            method = SubgraphCount(epsilon=epsilon, mechanism="recursive")
            released = method.release(graph(nodes, edges))
            assert 0 <= released.possible <= released.largest
