"""Statistics of graphs written as formulas."""

import json
import math
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pytest

from sfumato import noise
from sfumato.audit import Pair, canonical_pairs, examine
from sfumato.data.graph import Graph, GraphPublic
from sfumato.graph.statistic import GraphStatistic
from sfumato.mechanisms.ladder import LadderNoise
from sfumato.mechanisms.laplace import GeometricNoise
from sfumato.mechanisms.smooth import SmoothCauchy, SmoothLaplace
from sfumato.privacy.door import rebuild_from_transcript
from sfumato.privacy.loss import ApproxDP, PureDP
from sfumato.privacy.loss_check import check_accounts
from sfumato.privacy.record import record, replay
from tests.graph.graphs import graph
from tests.method_suite import MethodSuite

#: Five nodes, degrees 2, 3, 3, 3, 1, two triangles, ten wedges.
EDGES = {(0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (3, 4)}
STAR = {(0, 1), (0, 2), (0, 3), (0, 4)}
EVERYTHING = {(i, j) for j in range(5) for i in range(j)}
GROUPS = [0, 0, 0, 1, 1]


class Suite(MethodSuite):
    name = "graph.GraphStatistic"

    def data(self):
        return graph(5, EDGES)

    def audited_public(self):
        return GraphPublic(nodes=5)

    def neighbours(self):
        return [
            (graph(5, EDGES), graph(5, EDGES - {(1, 2)})),
            (graph(5, set()), graph(5, {(0, 1)})),
            (graph(5, STAR), graph(5, STAR | {(1, 2)})),
            (graph(5, EVERYTHING), graph(5, EVERYTHING - {(0, 1)})),
        ]

    def fact(self, release):
        # What was measured as well: a share may be cut to 0 or 1 again and again.
        parts = [release.value, *release.measured.values()]
        return np.concatenate([np.atleast_1d(part).astype(float) for part in parts])


class TestModularity(Suite):
    options: ClassVar = {"expression": "modularity", "groups": GROUPS, "between": (-0.5, 1)}


class TestModularityOfManyGroups(Suite):
    options: ClassVar = {"expression": "modularity", "groups": [0, 0, 1, 2, 3], "between": (-1, 1)}
    sampled = False


class TestDegreeOverEdges(Suite):
    options: ClassVar = {"expression": "degree(v) / edges", "node": 0}
    sampled = False


class Following(Suite):
    """Units whose noise follows the graph: there is no margin to plan, and other noise to halve."""

    sampled = False

    def test_more_budget_never_means_more_noise(self):
        steps = self.method().plan(self.data().public).steps
        assert all("margin" not in step.figures for step in steps if "follows" in step.error)

    def halve_noise(self, monkeypatch):
        super().halve_noise(monkeypatch)
        monkeypatch.setattr(LadderNoise, "rate", property(lambda p: p.epsilon))

    def halve_sensitivity(self, monkeypatch):
        super().halve_sensitivity(monkeypatch)
        monkeypatch.setattr(
            LadderNoise, "_widths", lambda p, value: tuple(w // 2 for w in value.rungs)
        )


class TestTransitivity(Following):
    options: ClassVar = {"expression": "transitivity"}


class TestVertexClustering(Following):
    options: ClassVar = {"expression": "share(triangles(v), choose2(degree(v)))", "node": 0}


def released(expression, data=None, *, epsilon=10**4, seed=1, **options):
    with noise.seeded(seed):
        chosen = GraphStatistic(epsilon=epsilon, expression=expression, **options)
        return chosen.release(graph(5, EDGES) if data is None else data)


@pytest.mark.parametrize(
    ("expression", "options", "value"),
    [
        ("transitivity", {}, 0.6),
        ("3 * triangles / wedges", {}, 0.6),
        ("mean_degree", {}, 12 / 5),
        ("2 * edges / nodes", {}, 12 / 5),
        ("density", {}, 0.6),
        ("triangles(v) / choose2(degree(v))", {"node": 1}, 2 / 3),
        ("share(triangles(v), wedges(v))", {"node": 3}, 1 / 3),
        ("modularity", {"groups": GROUPS}, 4 / 6 - (8 / 12) ** 2 - (4 / 12) ** 2),
        ("modularity", {"groups": [0, 0, 1, 2, 3]}, 1 / 6 - (25 + 9 + 9 + 1) / 144),
        ("block(0, 1) / edges", {"groups": GROUPS}, 2 / 6),
        ("sum(degrees ** 2) / sum(degrees)", {}, 32 / 12),
        ("stars(3) + cliques(3) + k_triangles(2)", {}, 3 + 2 + 1),
    ],
)
def test_with_a_huge_budget_the_truth_comes_out(expression, options, value):
    assert released(expression, **options).value == pytest.approx(value, rel=1e-6)


def test_vectors_come_out_too():
    found = released("share(node_triangles, choose2(degrees))", delta="1e-6")
    np.testing.assert_allclose(found.value, [1, 2 / 3, 2 / 3, 1 / 3, 0], atol=1e-3)
    direct = released("node_clustering", delta="1e-6")
    np.testing.assert_allclose(direct.value, [1, 2 / 3, 2 / 3, 1 / 3, 0], atol=0.01)
    smooth = released("clustering(2)", delta="1e-6", mechanism="smooth")
    assert smooth.value == pytest.approx(2 / 3, abs=0.01)
    assert released("clustering(2)").value == pytest.approx(2 / 3, abs=0.01)
    assert released("mean_clustering").value == pytest.approx(8 / 15, abs=0.01)


def test_a_unit_that_appears_twice_is_measured_once_with_the_whole_budget():
    method = GraphStatistic(epsilon=1, expression="edges * (edges - 1) / (2 * edges + 1)")
    (step,) = method.plan(GraphPublic(nodes=5)).steps
    assert step.loss == PureDP(1)
    release = method.release(graph(5, EDGES))
    assert [entry.label for entry in release.transcript] == ["edges"]


def test_which_noise_a_unit_gets_is_decided_by_public_facts():
    def kinds(expression, **options):
        method = GraphStatistic(**{"epsilon": 1, **options}, expression=expression)
        return [type(plan.primitive) for plan in method._plans(GraphPublic(nodes=9))]

    assert kinds("triangles / edges") == [LadderNoise, GeometricNoise]
    assert kinds("triangles / edges", mechanism="smooth") == [SmoothCauchy, GeometricNoise]
    assert kinds("triangles / edges", mechanism="smooth", delta="1e-6") == [
        SmoothLaplace,
        GeometricNoise,
    ]
    assert kinds("clustering(1)") == [LadderNoise]
    assert kinds("clustering(1) / clustering(2)", epsilon=12) == [SmoothCauchy] * 2
    assert kinds("clustering(1)", mechanism="smooth") == [SmoothCauchy]
    assert kinds("clustering(1)", mechanism="smooth", delta="1e-6") == [SmoothLaplace]
    assert kinds("triangles + sum(node_triangles)", delta="1e-6") == [LadderNoise, SmoothLaplace]


def test_only_smooth_laplace_noise_takes_a_part_of_delta():
    method = GraphStatistic(
        epsilon=3, delta="1e-6", expression="mean(share(node_triangles, choose2(degrees))) + edges"
    )
    plan = method.plan(GraphPublic(nodes=5))
    assert [step.loss for step in plan.steps] == [
        ApproxDP(1, "1e-6"),
        ApproxDP(1, 0),
        ApproxDP(1, 0),
    ]
    release = method.release(graph(5, EDGES))
    check_accounts(release.transcript, method.working_loss(), GraphPublic(nodes=5))


@pytest.mark.parametrize(
    "options",
    [
        {"expression": "share(node_triangles, choose2(degrees))", "delta": "1e-4"},
        {"expression": "node_clustering", "delta": "1e-4"},
        {"expression": "clustering(1) + mean_clustering", "delta": "1e-4", "mechanism": "smooth"},
        {"expression": "clustering(1) + mean_clustering", "mechanism": "smooth"},
        {"expression": "clustering(1) + mean_clustering"},
        {"expression": "triangles(1) + wedges", "mechanism": "smooth"},
    ],
)
def test_smooth_bounds_keep_what_they_declare_on_neighbours(options):
    method = GraphStatistic(epsilon=1, **options)
    for here, there in Suite().neighbours():
        for one, other in ((here, there), (there, here)):
            with noise.seeded(1):
                script = record(method, one)
            mirror = replay(method, other, script)
            assert all(change.holds for _, change in script.changes(mirror))


def test_replay_prices_a_step_with_a_delta_and_looks_at_the_others_exactly():
    method = GraphStatistic(epsilon=1, delta="1e-4", expression="sum(node_triangles) / edges")
    here, there = graph(5, EDGES), graph(5, EDGES - {(1, 2)})
    findings = examine(method, Pair("an edge", here, there), seeds=(1, 2))
    assert findings.passed and findings.largest == pytest.approx(1)
    # Without a triangle to lose, only the smooth bound of the vector may differ.
    same = examine(method, Pair("nothing", here, here), seeds=(1,))
    assert same.passed and same.largest == 0


def test_replay_refutes_too_little_noise_beside_a_step_with_a_delta(monkeypatch):
    Suite().halve_noise(monkeypatch)
    method = GraphStatistic(epsilon=1, delta="1e-4", expression="sum(node_triangles) / edges")
    pair = Pair("an edge", graph(5, EDGES), graph(5, EDGES - {(1, 2)}))
    assert examine(method, pair, seeds=(1, 2)).largest == pytest.approx(1.5)


@pytest.mark.parametrize("expression", ["clustering(0)", "mean_clustering", "wedges(0)"])
def test_the_loss_of_every_transcript_stays_within_epsilon(expression):
    method = GraphStatistic(epsilon=1, expression=expression)
    found = [examine(method, pair, seeds=(1, 2)) for pair in canonical_pairs(GraphPublic(nodes=5))]
    assert all(findings.passed for findings in found)
    assert max(findings.largest for findings in found) > 0.3


def test_the_budget_follows_weights_or_guesses():
    public = GraphPublic(nodes=5)

    def losses(**options):
        plan = GraphStatistic(epsilon=1, expression="edges + 8 * degree(0)", **options).plan(public)
        return [step.loss.epsilon for step in plan.steps]

    assert losses() == [Fraction(1, 2)] * 2
    assert losses(split={"edges": 1, "degree(0)": 3}) == [Fraction(1, 4), Fraction(3, 4)]
    guess = {"edges": 6, "degree(0)": 2}
    assert losses(split="optimal", guess=guess) == [Fraction(1, 5), Fraction(4, 5)]


def test_other_statistics_of_the_same_units_are_free():
    release = released("triangles / edges", epsilon=1)
    assert release.also("edges / nodes").value == pytest.approx(release.measured["edges"] / 5)
    assert release.also("density").standard_error > 0
    with pytest.raises(
        ValueError, match="wedges was not measured; measured units: triangles, edges"
    ):
        release.also("transitivity")


def test_the_standard_error_is_told_only_where_the_scale_of_the_noise_is_public():
    told, untold = released("mean_degree", epsilon=1), released("transitivity", epsilon=1)
    assert told.standard_error == pytest.approx(2 / 5 / (math.sqrt(2) * math.sinh(0.5)))
    assert untold.standard_error is None and "so it is private" in untold.words()
    assert "no standard error" in str(untold.plan)


def test_estimates_of_a_power_are_right_on_average():
    # The mean of 400 estimates of m² = 36: 5.2 standard errors are one in 5 million.
    method = GraphStatistic(epsilon=1, expression="edges ** 2")
    data = graph(5, EDGES)
    with noise.seeded(3):
        scripts = [record(method, data) for _ in range(400)]
    values = np.array(
        [
            rebuild_from_transcript(method, data.public, script.transcript).value
            for script in scripts
        ]
    )
    assert abs(values.mean() - 36) < 5.2 * values.std(ddof=1) / math.sqrt(len(values))


@pytest.mark.parametrize("epsilon", ["1e-6", 1, 1000])
@pytest.mark.parametrize("nodes", [1, 2, 3])
def test_small_graphs_and_any_budget(nodes, epsilon):
    for expression in (
        "transitivity + density + mean_degree",
        "triangles(0) / choose2(degree(0))",
        "mean(degrees) + clustering(0) + mean_clustering",
        "stars(3) / cliques(4) + k_triangles(2) + wedges(0)",
        "modularity",
    ):
        groups = [0] * nodes
        found = released(expression, graph(nodes, set()), epsilon=epsilon, groups=groups)
        assert np.isfinite(found.value)
    for expression in ("node_triangles / degrees", "node_clustering"):
        options = {"delta": "1e-6"} if nodes > 2 else {}
        assert released(expression, graph(nodes, set()), epsilon=epsilon, **options).value.shape


def test_a_graph_without_nodes():
    for expression in ("transitivity", "density", "mean_degree"):
        assert np.isfinite(released(expression, graph(0, set()), epsilon=1).value)


def test_groups_by_node_need_no_order():
    """Names are in sorted order, so that a list in the order of a declaration would mislead."""
    data = Graph([("zoe", "ann"), ("ann", 7)], ["zoe", "ann", 7])
    groups = {"zoe": "red", "ann": "blue", 7: "green"}
    listed = ["green", "blue", "red"]  # 7, ann, zoe
    for given in (groups, list(groups.items()), listed):
        for between, edges in (("'red', 'blue'", 1), ("'green', 'blue'", 1), ("'red', 'green'", 0)):
            assert released(f"block({between})", data, groups=given).value == edges
    method = GraphStatistic(epsilon=1, expression="modularity", groups=groups)
    assert GraphStatistic.from_parameters(method.parameters()) == method
    assert method == GraphStatistic(
        epsilon=1, expression="modularity", groups=dict(reversed(groups.items()))
    )
    for wrong, words in (
        ({"zoe": 1, "ann": 1}, "each of the 3 nodes"),
        ({**groups, "bob": 1}, "not declared: 'bob'"),
    ):
        with pytest.raises(ValueError, match=words):
            released("modularity", data, groups=wrong)
    for wrong in ([("zoe", 1, 2)], [("zoe", 1), "ann"], [("zoe", 1), ("zoe", 2)]):
        with pytest.raises(ValueError, match="groups must be"):
            GraphStatistic(epsilon=1, expression="modularity", groups=wrong)


def test_nodes_and_groups_are_called_by_their_names():
    data = Graph([("Ada", "Ben"), ("Ben", "Cleo")], ["Ada", "Ben", "Cleo"])
    assert released("degree('Ben')", data).value == 2
    assert released("degree(v)", data, node="Ben").value == 2
    assert released("block('red', 'blue')", data, groups=["red", "blue", "blue"]).value == 1
    vector = released("degrees / 1", data)
    assert vector.files()["entries.csv"].splitlines()[1] == b"Ada,1,0,0"


def test_entries_are_called_by_what_they_run_over_however_many_they_are():
    # Three nodes, and three cells of the table of two groups.
    data = Graph([("Ada", "Ben"), ("Ben", "Cleo")], ["Ada", "Ben", "Cleo"])
    options = {"groups": ["red", "blue", "blue"]}
    assert released("blocks / edges", data, **options).entries == ("0", "1", "2")
    for over_nodes in ("degrees", "2 * degrees / sum(blocks)", "sqrt(degrees) + edges"):
        assert released(over_nodes, data, **options).entries == ("Ada", "Ben", "Cleo")
    assert released("sum(degrees)", data).entries == ()


def test_modularity_of_many_groups_is_quick_and_right():
    # 400 groups of two: pairs are joined, and each group is joined to the next.
    nodes = 800
    edges = {(i, i + 1) for i in range(nodes - 1)}
    groups = [node // 2 for node in range(nodes)]
    found = released("modularity", graph(nodes, edges), groups=groups)
    degrees = np.array([3, *[4] * 398, 3])
    truth = 400 / 799 - (degrees**2).sum() / (4 * 799**2)
    assert found.value == pytest.approx(truth, rel=1e-6)
    assert set(found.measured) == {"group_ends"}
    # One edge more or less matters little among 799; noise of ε = 1 in 800 numbers stays small.
    noisy = released("modularity", graph(nodes, edges), groups=groups, epsilon=1)
    assert 0 < noisy.standard_error < 0.2


def test_files_say_the_statistic_and_its_units():
    release = released("edges / degree(1)")
    document = json.loads(release.files()["statistic.json"])
    assert document["measured"] == {"degree(1)": "3", "edges": "6"}
    assert document["value"] == "2"
    files = release.files()
    assert release.agrees(files)
    assert not release.agrees({"statistic.json": files["statistic.json"].replace(b'"2"', b'"2.1"')})
    assert not release.agrees({"statistic.json": b"{"}) and not release.agrees({})


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"expression": "nodes + 1"}, "has no unit to measure"),
        ({"expression": "degree(7)"}, "a number from 0 to 4; got 7"),
        ({"expression": "degree(v)"}, "the formula uses v; pass node="),
        ({"expression": "modularity"}, "must give the public group"),
        ({"expression": "modularity", "groups": [0, 1]}, "each of the 5 nodes"),
        ({"expression": "block(0, 7)", "groups": GROUPS}, "the groups are 0, 1"),
        ({"expression": "node_triangles"}, "pass delta="),
        ({"expression": "edges", "delta": "1e-6"}, "leave delta out"),
        (
            {"expression": "edges + wedges", "split": {"edges": 1}},
            "a weight for each of edges, wedges",
        ),
        ({"expression": "edges", "split": "optimal", "guess": {"m": 1}}, "no value for edges"),
        ({"expression": "stars(1)"}, "at least 2; got 1"),
        ({"expression": "edges(1)"}, "takes no arguments"),
        ({"expression": "sqrt"}, "unknown name 'sqrt'"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_spent(options, says):
    with pytest.raises(ValueError, match=says):
        GraphStatistic(epsilon=1, **options).plan(GraphPublic(nodes=5))


@pytest.mark.parametrize(
    "options",
    [
        {"expression": 3},
        {"expression": "edges", "split": "best"},
        {"expression": "edges", "split": {"edges": 0}},
        {"expression": "edges", "split": "optimal"},
        {"expression": "edges", "guess": {"edges": 1}},
        {"expression": "edges", "between": (1, 0)},
        {"expression": "edges", "floor": 0},
        {"expression": "edges", "node": 1.5},
        {"expression": "edges", "groups": "abc"},
        {"expression": "edges", "delta": 2},
    ],
)
def test_bad_parameters_are_refused(options):
    with pytest.raises(ValueError, match=r"must be"):
        GraphStatistic(epsilon=1, **options)
