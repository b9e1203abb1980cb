"""Subgraph counts: the suite for every shape, refusals, and the published figures of six graphs."""

import math
import os
from fractions import Fraction
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from sfumato import noise
from sfumato.audit import Pair
from sfumato.data.graph import Graph, GraphPublic, read_graph
from sfumato.graph.ladders import ladder, last_rung, local_sensitivities
from sfumato.graph.shapes import Shape
from sfumato.graph.subgraph_count import SubgraphCount
from sfumato.mechanisms.ladder import LadderInput, LadderNoise, ladder_quantile
from sfumato.mechanisms.smooth import SmoothCauchy, SmoothInput
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.loss import PureDP
from sfumato.privacy.record import record, replay
from tests.graph.graphs import crossed, graph
from tests.method_suite import AuditSuite, MethodSuite

EVERYTHING = frozenset(combinations(range(6), 2))
FAN = frozenset((end, node) for end in (0, 1) for node in range(2, 6))
#: The graphs of five nodes whose neighbours differ most: for 3-stars, cliques and 3-triangles, and
#: 2-triangles.
TELLING = [
    ([(0, 1), (0, 3), (1, 2)], (0, 4)),
    ([(0, 1), (0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (1, 4), (2, 3)], (2, 4)),
    ([(0, 1), (0, 2), (0, 3), (1, 2)], (1, 3)),
]


class CountAudit(AuditSuite):
    """The audit, on graphs of five nodes."""

    name = "graph.SubgraphCount"
    sampled = False

    def audited_public(self):
        return GraphPublic(nodes=5)

    def pairs(self):
        # The first is sampled: two nodes with all others in common, without and with their edge.
        pairs = sorted(super().pairs(), key=lambda pair: "in common" not in pair.name)
        return pairs + [
            Pair("telling", graph(5, edges), graph(5, [*edges, edge])) for edges, edge in TELLING
        ]

    def halve_noise(self, monkeypatch):
        super().halve_noise(monkeypatch)
        monkeypatch.setattr(LadderNoise, "rate", property(lambda p: p.epsilon))
        original = SmoothCauchy.log_probability

        def sharper(primitive, value, output):
            return original(primitive, SmoothInput(value.value, value.bound / 2), output)

        monkeypatch.setattr(SmoothCauchy, "log_probability", sharper)
        drawn = SmoothCauchy.sample
        monkeypatch.setattr(
            SmoothCauchy,
            "sample",
            lambda p, value: drawn(p, SmoothInput(value.value, value.bound / 2)),
        )

    def halve_drawn_noise(self, monkeypatch):
        super().halve_drawn_noise(monkeypatch)
        drawn = LadderNoise.sample

        def narrower(primitive, value):
            # A third of every width, so that the counts of neighbours hardly overlap.
            thin = LadderInput(value.value, tuple(width // 3 for width in value.rungs))
            return drawn(LadderNoise(epsilon=4 * primitive.epsilon, cap=primitive.cap), thin)

        monkeypatch.setattr(LadderNoise, "sample", narrower)

    def halve_sensitivity(self, monkeypatch):
        super().halve_sensitivity(monkeypatch)
        for kind in (LadderInput, SmoothInput):
            original = kind.__new__

            def halved(cls, value, second, original=original):
                if isinstance(second, tuple):
                    return original(cls, value, tuple(width // 2 for width in second))
                return original(cls, value, second / 2)

            monkeypatch.setattr(kind, "__new__", halved)


class CountSuite(CountAudit, MethodSuite):
    """The whole suite, on graphs of six nodes."""

    def data(self):
        return graph(6, EVERYTHING - {(0, 1), (2, 5), (3, 4)})

    def neighbours(self):
        star = frozenset((0, node) for node in range(1, 6))
        return [
            (graph(6, []), graph(6, [(0, 1)])),
            (graph(6, FAN), graph(6, FAN | {(0, 1)})),
            (graph(6, FAN), graph(6, FAN | {(2, 3)})),
            (graph(6, star), graph(6, star - {(0, 5)})),
            (graph(6, EVERYTHING), graph(6, EVERYTHING - {(2, 4)})),
        ]

    def fact(self, release):
        return np.array([release.value], dtype=object)

    def test_more_budget_never_means_more_noise(self):
        # How large the noise is follows the graph: the custodian compares.
        errors = [
            self.method(epsilon=epsilon).expected_error(self.data(), 0.9)
            for epsilon in ("1/10", 1, 10)
        ]
        assert all(less >= more for less, more in pairwise(errors))


class TestTriangles(CountSuite):
    options = {"mechanism": "ladder"}  # noqa: RUF012
    sampled = True


class TestSmoothTriangles(CountSuite):
    options = {"mechanism": "smooth"}  # noqa: RUF012


class TestLaplaceTriangles(CountAudit):
    options = {"mechanism": "laplace"}  # noqa: RUF012


class TestStars(CountSuite):
    options = {"mechanism": "ladder", "shape": "star", "k": 3}  # noqa: RUF012


class TestSmoothStars(CountAudit):
    options = {"mechanism": "smooth", "shape": "star", "k": 2}  # noqa: RUF012


class TestCliques(CountSuite):
    options = {"shape": "clique", "k": 4}  # noqa: RUF012


class TestPaperCliques(CountAudit):
    options = {"shape": "clique", "k": 4, "rungs": "paper"}  # noqa: RUF012


class TestTwoTriangles(CountAudit):
    options = {"shape": "k-triangle", "k": 2}  # noqa: RUF012


class TestThreeTriangles(CountSuite):
    options = {"shape": "k-triangle", "k": 3}  # noqa: RUF012


SHAPES = [
    {},
    {"shape": "star", "k": 2},
    {"shape": "star", "k": 40},
    {"shape": "clique", "k": 4},
    {"shape": "clique", "k": 9},
    {"shape": "k-triangle", "k": 2},
    {"shape": "k-triangle", "k": 3},
]


@pytest.mark.parametrize("options", SHAPES, ids=str)
@pytest.mark.parametrize("nodes", [0, 1, 2, 3, 4, 7])
def test_every_graph_is_accepted(options, nodes):
    everything = list(combinations(range(nodes), 2))
    for epsilon in ("1e-6", 1, 1000):
        for edges in ([], everything):
            method = SubgraphCount(epsilon=epsilon, **options)
            release = method.release(graph(nodes, edges))
            assert isinstance(release.value, int)
            assert 0 <= release.possible <= release.largest


@pytest.mark.parametrize("options", SHAPES, ids=str)
def test_with_a_huge_epsilon_the_truth_comes_out(options):
    data = graph(7, [edge for edge in combinations(range(7), 2) if edge != (0, 6)])
    method = SubgraphCount(epsilon=5000, mechanism="ladder", **options)
    assert method.release(data).value == method._shape.count(data.counts)


def test_tiny_epsilon_on_many_nodes_needs_no_endless_ladder():
    data = graph(3000, [(0, 1), (1, 2), (0, 2)])
    for options in ({"mechanism": "ladder"}, {"mechanism": "smooth"}, {"shape": "clique", "k": 4}):
        released = SubgraphCount(epsilon="1e-6", **options).release(data)
        assert 0 <= released.possible <= released.largest


def test_the_expected_error_holds_half_of_the_time():
    """Of 400 draws 200 ± 49 are within the median: a false alarm once in a million times."""
    data = graph(9, [edge for edge in combinations(range(9), 2) if sum(edge) % 3])
    truth = data.counts.triangles()
    for mechanism in ("ladder", "smooth", "laplace"):
        method = SubgraphCount(epsilon="1/2", mechanism=mechanism)
        primitive = method._primitive(data.public)
        given, error = method._query(primitive).answer(data), method.expected_error(data)
        with noise.seeded(7):
            said = np.array([int(np.ravel(primitive.sample(given))[0]) for _ in range(400)])
        # The noise is whole numbers, so that the median itself has some probability.
        assert np.sum(np.abs(said - truth) < error) < 249
        assert np.sum(np.abs(said - truth) <= error + 1) > 151


def test_the_mechanism_is_chosen_from_public_facts():
    small, large = GraphPublic(nodes=2_000), GraphPublic(nodes=40_000)
    assert SubgraphCount(epsilon="0.1").chosen(small) == "smooth"
    assert SubgraphCount(epsilon="0.1").chosen(large) == "smooth"
    assert SubgraphCount(epsilon="0.1", shape="clique", k=4).chosen(small) == "ladder"
    assert SubgraphCount(epsilon="0.1", shape="clique", k=3).chosen(small) == "smooth"
    assert SubgraphCount(epsilon=1, mechanism="laplace").chosen(small) == "laplace"


@pytest.mark.parametrize(
    ("epsilon", "slide"), [("0.1", Fraction(3, 4)), ("0.4", Fraction(17, 20)), (1, Fraction(9, 10))]
)
def test_less_is_paid_for_the_bound_the_larger_epsilon_and_graph_are(epsilon, slide):
    primitive = SubgraphCount(epsilon=epsilon)._primitive(GraphPublic(nodes=2_500))
    assert (primitive.power, primitive.slide) == (3, slide)


@pytest.mark.parametrize(
    ("shape", "k"), [("triangle", None), ("star", 2), ("star", 3), ("clique", 4), ("k-triangle", 2)]
)
def test_plain_noise_is_chosen_where_it_is_less_on_a_graph_without_edges(shape, k):
    empty = Graph(np.zeros((0, 2), dtype=np.int64), 60)
    for epsilon, plain in (("1/100", True), ("1/5", False)):
        given = {"epsilon": epsilon, "shape": shape, "k": k}
        assert (SubgraphCount(**given).chosen(empty.public) == "laplace") == plain
        own = "ladder" if shape in ("clique", "k-triangle") else "smooth"
        error, other = (
            SubgraphCount(mechanism=mechanism, **given).expected_error(empty)
            for mechanism in ("laplace", own)
        )
        assert (error < other) == plain
    assert SubgraphCount(epsilon="1/100", rungs="paper").chosen(empty.public) == "smooth"


def test_plain_noise_that_64_bits_do_not_hold_is_not_chosen():
    public = GraphPublic(nodes=60)
    assert SubgraphCount(epsilon="1e-9", shape="star", k=6).chosen(public) == "smooth"


def test_published_smooth_noise_spends_a_third():
    public = GraphPublic(nodes=50)
    published = SubgraphCount(epsilon=1, mechanism="smooth", variant="published")
    calibration = published._primitive(public).calibration
    assert (calibration.factor, calibration.beta) == (6, Fraction(1, 6))
    assert published.basis.value == "proved"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"shape": "star"}, "needs its size"),
        ({"shape": "star", "k": 1}, "k"),
        ({"shape": "clique", "k": 2}, "at least 3"),
        ({"shape": "triangle", "k": 4}, "leave k out"),
        ({"shape": "square", "k": 4}, "shape must be"),
        ({"shape": "clique", "k": 4, "mechanism": "smooth"}, "use mechanism='ladder'"),
        ({"mechanism": "magic"}, "mechanism must be"),
        ({"shape": "k-triangle", "k": 3, "variant": "published"}, "is not private"),
        ({"shape": "k-triangle", "k": 5, "variant": "published"}, "is not private"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        SubgraphCount(epsilon=1, **options)


def test_plain_noise_that_would_not_fit_is_refused_before_anything_is_spent(tmp_path):
    public = GraphPublic(nodes=100_000)
    method = SubgraphCount(epsilon="1/100", shape="clique", k=6, mechanism="laplace")
    with pytest.raises(ValueError, match="use mechanism='ladder'"):
        method.plan(public)


def test_the_published_ladder_is_refused_by_the_ledger_and_caught_by_replay(tmp_path):
    nodes, edges, joining = crossed(3)
    here, there = graph(nodes, edges), graph(nodes, edges | {joining})
    options = {"shape": "k-triangle", "k": 3, "mechanism": "ladder"}
    method = SubgraphCount(epsilon=1, variant="published", accept_unproven=True, **options)
    ledger = Ledger.create(tmp_path / "a.ledger", allow=PureDP(5), unit="edge")
    with pytest.raises(ValueError, match="prov"):
        method.release(here, ledger=ledger)
    assert ledger.spent == PureDP(0)
    assert not method.release(here).guarantee.private
    for variant, holds in ((method, False), (SubgraphCount(epsilon=1, **options), True)):
        with noise.seeded(1):
            script = record(variant, here)
        changes = [change for _, change in script.changes(replay(variant, there, script))]
        assert all(change.holds for change in changes) is holds


def test_published_ladders_that_hold_are_the_same_as_ours():
    """For k = 2 and k ≥ 6 the repaired bound is the printed one."""
    data = graph(9, [edge for edge in combinations(range(9), 2) if edge != (0, 1)])
    for size in (2, 6):
        shape = Shape("k-triangle", size)
        printed = ladder(shape, data.counts, rungs=20, published=True)
        assert printed == ladder(shape, data.counts, rungs=20)
        published = SubgraphCount(epsilon=1, shape="k-triangle", k=size, variant="published")
        assert published.basis.value == "proved"


def test_rungs_beyond_what_floats_divide_exactly_are_exact():
    """Of 5-cliques on 200 000 nodes the last rungs have 51 bits, times three while dividing."""
    shape, nodes = Shape("clique", 5), 200_000
    # Nodes 0 and 1 are joined to nobody but each other's neighbours: all other pairs have less.
    data = graph(nodes, [(end, node) for end in (0, 1) for node in range(2, 8)])
    widths = ladder(shape, data.counts, rungs=400_000)
    # 0 and 1 share six nodes, without an edge between them, and have no half-joined ones.
    for t in (0, 1, 2, 1001, 300_003, len(widths) - 2):
        common = 6 + t // 2
        extra = common - 2 if t % 2 else 0
        assert widths[t] == math.comb(common, 3) - math.comb(6, 3) + extra


def test_a_release_tells_its_margin_only_where_that_is_public():
    data = graph(6, FAN)
    plain = SubgraphCount(epsilon=1, mechanism="laplace").release(data)
    assert "19 times in 20" in plain.words() and "margin" in plain.files()["number.json"].decode()
    steep = SubgraphCount(epsilon=1, mechanism="ladder").release(data)
    assert (
        "so it is private" in steep.words()
        and "margin" not in steep.files()["number.json"].decode()
    )
    assert not steep.agrees({"number.json": b"{"}) and not steep.agrees({})
    assert "private" in str(SubgraphCount(epsilon=1).plan(data.public))


SNAP = {
    "ca-GrQc": {
        "edges": 14_484,
        "counts": {"triangle": 48_260, "star": 2_482_738, "clique": 329_297,
                   "k-triangle": 2_041_499},
        "changes": {"triangle": 61, "star": 6_163, "clique": 1_027, "k-triangle": 5_978},
        "first": {"triangle": [61, 62, 63], "star": [6163, 6243, 6324],
                  "clique": [1027, 1088, 1150], "k-triangle": [5978, 6222, 6470]},
        "ladder": {"triangle": (0.0608, 0.0012), "star": (0.157, 0.0023), "clique": (0.84, 0.003),
                   "k-triangle": (0.541, 0.0028)},
        "smooth": {"triangle": (0.178, 0.0047), "star": (0.408, 0.0093)},
    },
    "ca-HepTh": {
        "edges": 25_973,
        "counts": {"triangle": 28_339, "star": 2_098_335, "clique": 65_592, "k-triangle": 429_013},
        "changes": {"triangle": 34, "star": 3_850, "clique": 435, "k-triangle": 2_205},
        "first": {},
        "ladder": {"triangle": (0.0759, 0.0011), "star": (0.149, 0.0017), "clique": (3.45, 0.0064),
                   "k-triangle": (2.08, 0.0049)},
        "smooth": {"triangle": (0.208, 0.0045), "star": (0.407, 0.0069)},
    },
}  # fmt: skip
SIZES = {"triangle": 3, "star": 3, "clique": 4, "k-triangle": 2}


@pytest.fixture(scope="module", params=SNAP)
def snap(request):
    folder = os.environ.get("SFUMATO_DATA")
    path = Path(folder or "", "graphs", f"{request.param}.txt.xz")
    if not folder or not path.is_file():
        pytest.skip("SFUMATO_DATA does not name a folder with the SNAP graphs")
    return read_graph(path, "named"), SNAP[request.param]


@pytest.mark.parametrize("name", SIZES)
def test_counts_and_exact_median_errors_of_real_graphs(snap, name):
    data, told = snap
    shape, engine = Shape(name, SIZES[name]), data.counts
    count, cap = shape.count(engine), shape.global_sensitivity(engine.nodes)
    assert (engine.edges, count) == (told["edges"], told["counts"][name])
    for epsilon, at in ((Fraction("0.05"), 0), (Fraction("1.6"), 1)):
        widths = ladder(shape, engine, rungs=last_rung(epsilon, cap), paper=True)
        assert widths[0] == told["changes"][name]
        assert list(widths[:3]) == told["first"].get(name, list(widths[:3]))
        off = ladder_quantile(LadderInput(count, widths), 0.5, epsilon=epsilon, cap=cap) / count
        # The figures are told with two to four digits.
        assert off == pytest.approx(told["ladder"][name][at], rel=0.05)
        if name in told["smooth"]:
            rungs = local_sensitivities(shape, engine, rungs=2 * engine.nodes)
            rate = float(epsilon) / 6
            bound = max(width * math.exp(-rate * t) for t, width in enumerate(rungs))
            assert bound / rate / count == pytest.approx(told["smooth"][name][at], rel=0.02)


def test_the_default_is_as_good_as_ladder_and_smooth_noise_on_real_graphs(snap):
    data, _ = snap
    for shape, k in (("triangle", None), ("star", 3)):
        for epsilon in ("0.05", "0.1", "0.2", "0.4", "0.8", "1.6"):
            method = SubgraphCount(epsilon=epsilon, shape=shape, k=k)
            error = method.expected_error(data)
            others = [
                SubgraphCount(epsilon=epsilon, shape=shape, k=k, mechanism="ladder"),
                SubgraphCount(
                    epsilon=epsilon, shape=shape, k=k, mechanism="smooth", variant="published"
                ),
            ]
            assert all(error <= other.expected_error(data) for other in others)
            tail = method.expected_error(data, 0.95)
            assert all(tail <= other.expected_error(data, 0.95) for other in others)


def test_the_public_names_are_there():
    assert sf.SubgraphCount is SubgraphCount and sf.read_graph is read_graph


@pytest.mark.parametrize(("shape", "k"), [("clique", 502), ("k-triangle", 500)])
def test_shapes_beyond_floating_point_are_refused_by_what_is_public(shape, k):
    """Whether floats overflow must not depend on the graph."""
    public = GraphPublic(nodes=1200)
    with pytest.raises(ValueError, match=r"choose a smaller k"):
        sf.SubgraphCount(epsilon=1, shape=shape, k=k).plan(public)
    name = {"clique": "cliques", "k-triangle": "k_triangles"}[shape]
    with pytest.raises(ValueError, match=r"choose a smaller k"):
        sf.GraphStatistic(epsilon=1, expression=f"{name}({k})").plan(public)
    sf.SubgraphCount(epsilon=1, shape="star", k=k).plan(public)
