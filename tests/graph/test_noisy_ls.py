"""Noise of the local sensitivity that was told with noise before."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from sfumato import noise
from sfumato.data.graph import GraphPublic
from sfumato.graph.ladders import local_sensitivities
from sfumato.graph.noisy_ls import NoisyCount, NoisyLocalSensitivity, NoisyLSInput
from sfumato.graph.queries import LocalSensitivity
from sfumato.graph.shapes import Shape
from sfumato.graph.subgraph_count import SubgraphCount
from sfumato.privacy.loss import ZCDP, ApproxDP, PureDP, Unpriced
from sfumato.privacy.record import record, replay
from tests.graph.graphs import all_graphs, crossed, engine, graph, toggled
from tests.graph.test_subgraph_count import CountSuite

SHAPES = [
    Shape("triangle", 3),
    Shape("star", 2),
    Shape("star", 3),
    Shape("clique", 3),
    Shape("clique", 4),
    Shape("k-triangle", 2),
    Shape("k-triangle", 3),
]


def primitive(shape, nodes, epsilon=1, delta="1/20", **options):
    return NoisyLocalSensitivity(
        epsilon=epsilon, delta=delta, nodes=nodes, shape=shape.name, size=shape.size, **options
    )


def hockey_stick(law, mine, theirs, epsilon):
    """Return the δ at ε between what is said of two inputs, from above.

    What is unlikely, a ten-thousandth in all, is counted as if it told everything.
    """
    numbers = list(law._exact(mine)), list(law._exact(theirs))

    def likely(said):
        """Return what may be said next, with its probabilities here and there."""
        place = len(said)
        scale = float(law.scales(said)[place])
        reach = math.ceil(11 * scale) + 2
        outputs = np.arange(numbers[0][place] - reach, numbers[0][place] + reach + 1)
        return outputs, *(
            math.tanh(0.5 / scale) * np.exp(-np.abs(outputs - exact[place]) / scale)
            for exact in numbers
        )

    def further(said, share, ratio):
        outputs, here, there = likely(said)
        lost = share * (1 - here.sum())
        if len(said) == law.steps - 1:
            return lost + share * np.maximum(here - math.exp(epsilon) * ratio * there, 0).sum()
        told = share * here > 1e-6
        lost += share * here[~told].sum()
        return lost + math.fsum(
            further([*said, int(output)], share * p, ratio * q / p)
            for output, p, q in zip(outputs[told], here[told], there[told], strict=True)
        )

    return further([], 1.0, 1.0)


#: Two-stars of neighbours on sixty nodes: the largest degree goes from 30 to 29.
NEIGHBOURS = NoisyLSInput(400, 40, 30), NoisyLSInput(360, 39, 29)


def worst(epsilon, declared=1):
    law = primitive(Shape("star", 2), 60, epsilon=declared)
    return max(hockey_stick(law, *turned, epsilon) for turned in (NEIGHBOURS, NEIGHBOURS[::-1]))


class TestTwoStars(CountSuite):
    """The suite; audits are of δ, which is computed from the law."""

    options = {"mechanism": "noisy-ls", "delta": "1/20", "shape": "star", "k": 2}  # noqa: RUF012

    def test_exact_replay_finds_nothing_and_comes_close_to_the_promise(self):
        assert 0 < worst(1) <= 1 / 20
        # Half of ε would not do.
        assert worst(0.5) > 1 / 20

    def test_exact_replay_finds_nothing_on_random_neighbours(self):
        for data, other in self.neighbours():
            counted = self.method()._several(data.public)
            inputs = [counted.query.answer(one) for one in (data, other)]
            for turned in (inputs, inputs[::-1]):
                assert hockey_stick(counted.primitive, *turned, 1) <= 1 / 20

    def test_exact_replay_fails_the_method_with_half_the_noise(self, monkeypatch):
        assert worst(1, declared=2) > 1 / 20

    def test_exact_replay_fails_the_method_with_half_the_sensitivity(self, monkeypatch):
        full = NoisyLocalSensitivity.told_change
        monkeypatch.setattr(
            NoisyLocalSensitivity, "told_change", lambda p, said: max(full(p, said) // 3, 1)
        )
        assert worst(1) > 1 / 20


def test_the_law_of_three_numbers_is_that_of_one_after_another():
    law = primitive(Shape("k-triangle", 2), 6)
    value, said = NoisyLSInput(12, 7, 3), np.array([5, 60, -3])
    scales = law.scales([5, 60])
    parts = [
        math.log(math.tanh(float(1 / scale) / 2)) - abs(there - here) / float(scale)
        for scale, here, there in zip(scales, (3, 7, 12), (5, 60, -3), strict=True)
    ]
    assert law.log_probability(value, said) == pytest.approx(sum(parts))
    raised = 5 + law._raise(Fraction(3))
    # Every new edge changes the local sensitivity by at most 4·a, up to the cap of 30.
    assert scales[1] == 3 * min(4 * min(raised, 4), law.cap)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_what_is_said_bounds_what_comes_next_on_all_graphs_of_four_nodes(shape):
    law = primitive(shape, 5)
    given = {edges: LocalSensitivity(shape).answer(graph(5, edges)) for edges in all_graphs(4)}
    for edges, mine in given.items():
        for other in toggled(4, edges):
            assert law.change(mine, given[other]).holds


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_local_sensitivity_is_that_of_all_pairs(shape):
    draw = np.random.default_rng(4)
    for share in (0, 0.4, 1):
        edges = frozenset(pair for pair in combinations(range(7), 2) if draw.random() < share)
        count = shape.count(engine(7, edges))
        change = max(abs(shape.count(engine(7, other)) - count) for other in toggled(7, edges))
        found = LocalSensitivity(shape).answer(graph(7, edges))
        assert (found.value, found.change) == (count, change)
    assert local_sensitivities(SHAPES[0], engine(3, []), rungs=1) == [0]


def test_the_printed_bound_for_three_triangles_is_refused_and_caught():
    nodes, edges, joining = crossed(3)
    shape = Shape("k-triangle", 3)
    for published in (True, False):
        law = primitive(shape, nodes, published=published)
        inputs = [NoisyCount(law).query.answer(graph(nodes, e)) for e in (edges, edges | {joining})]
        assert law.change(*inputs).holds is not published
    options = {"shape": "k-triangle", "k": 3, "mechanism": "noisy-ls", "delta": "1e-6"}
    with pytest.raises(ValueError, match="is not private"):
        SubgraphCount(epsilon=1, variant="published", **options)
    unproven = SubgraphCount(epsilon=1, variant="published", accept_unproven=True, **options)
    assert unproven.basis.value == "published"


def test_noise_is_moved_up_by_no_more_than_it_takes():
    law = primitive(SHAPES[5], 30, delta="1e-6")
    for scale in (Fraction(1, 50), Fraction(3), Fraction(1000)):
        raised, rate = law._raise(scale), float(1 / scale)

        def below(number, rate=rate):
            return math.exp(-rate * (number + 1)) / (1 + math.exp(-rate))

        assert below(raised) <= float(law.failure) * (1 + 1e-12)
        assert raised == 0 or below(raised - 1) > float(law.failure)


def test_it_costs_a_delta_and_tells_its_margin():
    data = graph(7, [pair for pair in combinations(range(7), 2) if sum(pair) % 3])
    method = SubgraphCount(epsilon=2, mechanism="noisy-ls", delta="1e-6")
    assert method.loss() == ApproxDP(2, "1e-6") == method.guarantee(data.public).loss
    assert "19 times in 20" in method.release(data).words()
    counted, truth = method._several(data.public), data.counts.triangles()
    given = counted.query.answer(data)
    with noise.seeded(1):
        said = [counted.primitive.sample(given) for _ in range(300)]
    released = [counted.number(one) for one in said]
    # At least 0.95 of them: 266 or fewer of 300 would be a chance below one in a million.
    assert sum(abs(one.value - truth) <= one.margin for one in released) > 266
    law = primitive(SHAPES[0], 5)
    for measure in (PureDP, ZCDP):
        with pytest.raises(Unpriced):
            law.cost(measure)


def test_the_same_question_is_asked_on_neighbours():
    data, other = graph(5, [(0, 1), (0, 2)]), graph(5, [(0, 1), (0, 2), (1, 2)])
    method = SubgraphCount(epsilon=1, mechanism="noisy-ls", delta="1e-6", shape="star", k=3)
    with noise.seeded(1):
        script = record(method, data)
    assert all(change.holds for _, change in script.changes(replay(method, other, script)))


@pytest.mark.parametrize("nodes", [0, 1, 2, 3, 7])
@pytest.mark.parametrize("shape", ["triangle", "star", "k-triangle"])
def test_every_graph_is_accepted(nodes, shape):
    everything = list(combinations(range(nodes), 2))
    for epsilon in ("1e-6", 1, 1000):
        for edges in ([], everything):
            method = SubgraphCount(
                epsilon=epsilon,
                shape=shape,
                k=None if shape == "triangle" else 3,
                mechanism="noisy-ls",
                delta="1e-9",
            )
            released = method.release(graph(nodes, edges))
            assert 0 <= released.possible <= released.largest


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"mechanism": "noisy-ls"}, "requires delta="),
        ({"mechanism": "ladder", "delta": "1e-6"}, "leave delta out"),
        ({"mechanism": "noisy-ls", "delta": 2}, "delta must be"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        SubgraphCount(epsilon=1, **options)


def test_what_does_not_fit_the_primitive_is_refused():
    with pytest.raises(ValueError, match="no noise is needed"):
        primitive(SHAPES[0], 2)
    with pytest.raises(ValueError, match="delta between"):
        primitive(SHAPES[0], 5, delta=0)
    with pytest.raises(ValueError, match="whole numbers"):
        primitive(SHAPES[0], 5).check(NoisyLSInput(1, 2, 3.5))
    large = SubgraphCount(epsilon="1/100", shape="clique", k=6, mechanism="noisy-ls", delta="1e-9")
    with pytest.raises(ValueError, match="use mechanism='ladder'"):
        large.plan(GraphPublic(nodes=100_000))
