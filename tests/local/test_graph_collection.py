"""Graphs by randomised response: exact means and variances, the suite, and what was published."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from sfumato import noise
from sfumato.audit import canonical_pairs, examine, random_pair
from sfumato.data.graph import GraphPublic
from sfumato.local.edge_response import EdgeResponse, NeighboursPublic
from sfumato.local.graph_collection import GraphCollection, laplace_epsilon
from sfumato.local.pair_estimates import PairEstimates, _star_noise
from sfumato.mechanisms.bit_response import RandomizedBits
from sfumato.mechanisms.pair_response import RandomizedPairs, pair_positions
from sfumato.privacy.ledger import Ledger, LedgerError
from sfumato.privacy.loss import PureDP
from sfumato.privacy.primitive import Change
from sfumato.published.randomized_response import count_triangles
from tests.graph.graphs import graph
from tests.method_suite import AuditSuite, MethodSuite

EDGES = [(0, 1), (0, 2), (1, 2), (2, 3)]
EVERYTHING = frozenset(itertools.combinations(range(6), 2))


class CollectionAudit(AuditSuite):
    """The audit, on graphs of four nodes."""

    name = "graph.GraphCollection"
    random_neighbours = 25

    def audited_public(self):
        return GraphPublic(nodes=4)

    def halve_noise(self, monkeypatch):
        law, drawn = RandomizedPairs.log_probability, RandomizedPairs.sample
        monkeypatch.setattr(RandomizedPairs, "log_probability", lambda p, x, y: law(twice(p), x, y))
        monkeypatch.setattr(RandomizedPairs, "sample", lambda p, x: drawn(twice(p), x))

    def halve_drawn_noise(self, monkeypatch):
        drawn = RandomizedPairs.sample
        monkeypatch.setattr(RandomizedPairs, "sample", lambda p, x: drawn(twice(p), x))

    def halve_sensitivity(self, monkeypatch):
        measured = RandomizedPairs.change
        monkeypatch.setattr(
            RandomizedPairs,
            "change",
            lambda p, x, y: Change(measured(p, x, y).measured, Fraction(1, 2), "half"),
        )


class TestEdgeResponse(AuditSuite):
    """One person's own part, as a client perturbs it."""

    name = "neighbours.EdgeResponse"
    options = {"nodes": 4}  # noqa: RUF012

    def audited_public(self):
        return NeighboursPublic(4, 0)

    def halve_noise(self, monkeypatch):
        law = RandomizedBits.log_probability
        monkeypatch.setattr(RandomizedBits, "log_probability", lambda p, x, y: law(twice(p), x, y))

    def halve_drawn_noise(self, monkeypatch):
        drawn = RandomizedBits.sample
        monkeypatch.setattr(RandomizedBits, "sample", lambda p, x: drawn(twice(p), x))

    def halve_sensitivity(self, monkeypatch):
        measured = RandomizedBits.change
        monkeypatch.setattr(
            RandomizedBits,
            "change",
            lambda p, x, y: Change(measured(p, x, y).measured, Fraction(1, 2), "half"),
        )


def test_neighbouring_lists_differ_in_one_edge_that_this_node_tells():
    public = NeighboursPublic(5, 2)
    pairs = canonical_pairs(public)
    pairs += [random_pair(public, np.random.default_rng(seed)) for seed in range(20)]
    assert all((pair.here.input != pair.there.input).sum() == 1 for pair in pairs)
    with pytest.raises(ValueError, match="has no neighbour to compare with"):
        canonical_pairs(NeighboursPublic(5, 4))


def twice(primitive):
    return replace(primitive, epsilon=2 * primitive.epsilon)


class TestGraphCollection(CollectionAudit, MethodSuite):
    def data(self):
        return graph(6, EVERYTHING - {(0, 1), (2, 5), (3, 4)})

    def neighbours(self):
        return [
            (graph(6, []), graph(6, [(0, 1)])),
            (graph(6, EVERYTHING), graph(6, EVERYTHING - {(2, 4)})),
        ]

    def fact(self, release):
        return np.concatenate([release.degrees.values, release.triangles.values])


class TestRoundedLaplace(CollectionAudit):
    options = {"mechanism": "laplace"}  # noqa: RUF012
    sampled = False


def every_output(primitive, truth):
    """Return all noisy graphs with their exact probabilities."""
    for bits in itertools.product((0, 1), repeat=primitive.size):
        output = primitive.encode(np.flatnonzero(bits).astype(np.int64))
        yield output, math.exp(primitive.log_probability(truth, output))


@pytest.fixture(scope="module")
def exhausted():
    """Every estimate on every noisy graph of four nodes, with its probability."""
    primitive = RandomizedPairs(nodes=4, epsilon=Fraction(3, 2))
    truth = np.sort(pair_positions(np.array(EDGES), 4))
    chances, rows, variances = [], [], []
    for output, chance in every_output(primitive, truth):
        told = PairEstimates(primitive, output)
        kinds = (told.triangles(), told.stars(2), told.stars(3))
        chances.append(chance)
        rows.append(
            [
                told.edges.value,
                *told.degrees.values,
                *(figure for kind in kinds for figure in (*kind.values, kind.total.value)),
            ]
        )
        variances.append(told._triples()[1].sum())
    return primitive, np.array(chances), np.array(rows), np.array(variances)


def true_counts():
    joined = np.zeros((4, 4))
    low, high = np.array(EDGES).T
    joined[low, high] = joined[high, low] = 1
    degrees = joined.sum(axis=1)
    common = joined @ joined
    np.fill_diagonal(common, 0)
    return joined, degrees, common


def test_every_count_is_unbiased_over_all_noisy_graphs(exhausted):
    _, chances, rows, common_squares = exhausted
    joined, degrees, common = true_counts()
    triangles = np.diag(joined @ joined @ joined) / 2
    stars = [np.array([math.comb(int(d), k) for d in degrees]) for k in (2, 3)]
    truth = [4, *degrees, *triangles, triangles.sum() / 3]
    truth += [figure for star in stars for figure in (*star, star.sum())]
    np.testing.assert_allclose(chances @ rows, truth, atol=1e-12)
    assert chances.sum() == pytest.approx(1)
    # What the variance of triangles is estimated from is unbiased, too.
    assert chances @ common_squares == pytest.approx((common**2).sum())


def test_variances_are_those_of_the_closed_forms(exhausted):
    primitive, chances, rows, _ = exhausted
    means = chances @ rows
    found = chances @ (rows - means) ** 2
    _, degrees, common = true_counts()
    s = PairEstimates(primitive, primitive.encode(np.zeros(0, np.int64))).deviation ** 2
    assert s == pytest.approx(math.exp(1.5) / (math.exp(1.5) - 1) ** 2)
    each = s * ((common**2).sum(axis=1) + degrees * (degrees - 1) / 2)
    each += s**2 * ((4 - degrees) + 2 * degrees) + s**3 * 3
    whole = s * (common**2).sum() / 2 + s**2 * 4 * 2 + s**3 * 4
    expected = [6 * s, *[3 * s] * 4, *each, whole]
    for k in (2, 3):
        star = sum(s**noisy * _star_noise(degrees, 3, k, noisy) for noisy in range(1, k + 1))
        told = PairEstimates(
            RandomizedPairs(nodes=4, epsilon=Fraction(1000)),
            RandomizedPairs(nodes=4, epsilon=Fraction(1000)).encode(
                np.sort(pair_positions(np.array(EDGES), 4))
            ),
        )
        # With next to no noise the plugged-in degrees are the true ones.
        expected += [*star, star.sum() + 2 * s * told._common_stars(degrees, k)]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_the_matrix_gives_the_same_triangles_and_degrees():
    primitive = RandomizedPairs(nodes=40, epsilon=Fraction(2))
    with noise.seeded(1):
        told = PairEstimates(primitive, primitive.sample(np.arange(0, primitive.size, 3)))
    matrix = told.adjacency()
    np.testing.assert_allclose(np.diag(matrix @ matrix @ matrix) / 2, told.triangles().values)
    np.testing.assert_allclose(matrix.sum(axis=1), told.degrees.values)
    np.testing.assert_allclose(
        ((matrix.sum(axis=1) ** 2) - (matrix**2).sum(axis=1)) / 2, told.stars(2).values
    )


def test_lists_of_neighbours_become_the_graph_that_was_said():
    survey = EdgeResponse(epsilon=1000, nodes=5)
    lists = [[1, 2], [0, 2], [0, 1, 3], [2], []]
    reports = [survey.perturb((node, known)) for node, known in enumerate(lists)]
    assert reports[4] == {"node": 4, "bits": ""}
    told = survey.gather_reports(reversed(reports))
    assert sorted(map(tuple, told.pairs.tolist())) == EDGES
    with pytest.raises(ValueError, match="1 nodes did not report; the first is node 0"):
        survey.gather_reports(reports[1:])
    with pytest.raises(ValueError, match="reported twice"):
        survey.gather_reports([*reports, reports[0]])
    with pytest.raises(ValueError, match="not hexadecimal"):
        survey.gather_reports([{"node": 0, "bits": "zz"}])
    with pytest.raises(ValueError, match="in 1 bytes"):
        survey.gather_reports([{"node": 0, "bits": ""}])


def test_a_list_is_refused_without_being_shown():
    survey = EdgeResponse(epsilon=1, nodes=5)
    with pytest.raises(ValueError, match="is private") as refused:
        survey.perturb((0, [17]))
    assert "17" not in str(refused.value)
    with pytest.raises(ValueError, match="own neighbour"):
        survey.perturb((2, [2]))
    with pytest.raises(ValueError, match="from 0 to 4"):
        survey.perturb((5, []))


def test_one_edge_costs_epsilon_in_the_ledger_of_one_of_its_ends(tmp_path):
    survey = EdgeResponse(epsilon="1/2", nodes=5)
    ledger = Ledger.create(tmp_path / "own.ledger", allow=PureDP(1), unit="edge")
    survey.perturb((0, [1]), ledger)
    assert ledger.spent == PureDP("1/2")


def test_the_law_of_a_list_is_exact_and_costs_epsilon():
    primitive = RandomizedBits(bits=3, epsilon=Fraction(2))
    lists = [np.array(bits, dtype=bool) for bits in itertools.product((0, 1), repeat=3)]
    for value in lists:
        total = sum(math.exp(primitive.log_probability(value, said)) for said in lists)
        assert total == pytest.approx(1)
        for bit in range(3):
            other = value ^ (np.arange(3) == bit)
            losses = [
                primitive.log_probability(value, said) - primitive.log_probability(other, said)
                for said in lists
            ]
            assert max(losses) == pytest.approx(2) and min(losses) == pytest.approx(-2)


def test_lists_are_drawn_by_their_law():
    primitive = RandomizedBits(bits=4000, epsilon=Fraction(1))
    value = np.zeros(4000, dtype=bool)
    with noise.seeded(3):
        turned = sum(int(primitive.sample(value).sum()) for _ in range(20))
    # 80,000 coins of 1/(1 + e): 6 standard errors have a false-alarm rate below 1e-8.
    q = 1 / (1 + math.e)
    assert abs(turned - 80_000 * q) < 6 * math.sqrt(80_000 * q * (1 - q))


@pytest.mark.parametrize("nodes", [0, 1, 2, 3])
@pytest.mark.parametrize("epsilon", ["1e-6", 1, 1000])
def test_every_graph_is_accepted(nodes, epsilon):
    for edges in ([], list(itertools.combinations(range(nodes), 2))):
        release = GraphCollection(epsilon=epsilon).release(graph(nodes, edges))
        assert len(release.degrees.values) == nodes
        assert release.words() and release.plot().axes and release.agrees(release.files())
        if epsilon == 1000:
            assert release.edges.value == len(edges)


def test_a_reconstructed_graph_has_as_many_edges_as_are_wanted():
    primitive = RandomizedPairs(nodes=30, epsilon=Fraction(2))
    with noise.seeded(5):
        told = PairEstimates(primitive, primitive.sample(np.arange(60, dtype=np.int64)))
    generator = noise.generator(1)
    for wanted in (0, 60, primitive.size):
        pairs = told.reconstruct(generator, edges=wanted)
        assert len(np.unique(pairs, axis=0)) == len(pairs) == wanted
        assert (pairs[:, 0] < pairs[:, 1]).all()
    assert len(told.reconstruct(generator)) == told.possible_edges
    degrees, _ = count_triangles(told.reconstruct(generator, edges=60), 30)
    assert degrees.sum() == 120


def test_the_published_variant_promises_nothing_and_is_refused_by_ledgers(tmp_path):
    with pytest.raises(ValueError, match="not private"):
        GraphCollection(epsilon=1, variant="published")
    method = GraphCollection(epsilon=1, variant="published", accept_unproven=True)
    release = method.release(graph(6, EVERYTHING))
    assert release.edges.value == 15
    assert "no privacy guarantee" in release.guarantee.words()
    ledger = Ledger.create(tmp_path / "a.ledger", allow=PureDP(5), unit="edge")
    with pytest.raises(LedgerError, match="proof of privacy does not hold"):
        method.release(graph(6, EVERYTHING), ledger=ledger)


def test_an_audit_refutes_the_published_variant():
    method = GraphCollection(epsilon=1, variant="published", accept_unproven=True)
    pair = canonical_pairs(GraphPublic(nodes=4))[0]
    assert not examine(method, pair).passed


@pytest.mark.parametrize("epsilon", ["1e-6", "0.5", 1, 5, 100])
def test_what_rounded_laplace_noise_really_costs(epsilon):
    epsilon = Fraction(epsilon)
    lower = laplace_epsilon(epsilon)
    assert 0 < lower <= epsilon
    half = float(epsilon) / 2
    assert float(lower) == pytest.approx(half + math.log(2 - math.exp(-half)), rel=1e-5)
    if epsilon == 1:
        assert float(lower) == pytest.approx(0.8318, abs=5e-5)


def test_the_figures_of_a_network_of_185_people():
    """Standard deviations at ε = 1, 3 and 5 of a degree and of a count of noise alone."""
    for epsilon, degree, triangles in ((1, 13.0, 115), (3, 3.19, 1.68), (5, 1.12, 0.073)):
        primitive = RandomizedPairs(nodes=185, epsilon=Fraction(epsilon))
        told = PairEstimates(primitive, primitive.encode(np.zeros(0, np.int64)))
        assert told.degrees.deviations[0] == pytest.approx(degree, rel=0.005)
        alone = told.deviation**3 * math.sqrt(math.comb(184, 2))
        assert alone == pytest.approx(triangles, rel=0.01)
    assert math.sqrt(17020 * math.e) / (math.e - 1) == pytest.approx(125, abs=0.5)


@pytest.mark.parametrize("bad", [None, [], "x", {"node": True, "bits": "00"}, {"node": 0}])
def test_a_report_that_is_none_is_refused_with_its_number(bad):
    survey = EdgeResponse(epsilon=1, nodes=3)
    good = [survey.perturb((node, [])) for node in range(3)]
    with pytest.raises(ValueError, match="report 2: a report must hold a node"):
        survey.gather_reports([good[0], bad, good[2]])


@pytest.mark.parametrize("bad", [1.9, "1", True, 3, -1])
def test_a_neighbour_is_a_whole_number(bad):
    with pytest.raises(
        ValueError, match="a neighbour must be a whole number from 0 to 2"
    ) as caught:
        EdgeResponse(epsilon=1, nodes=3).perturb((0, [bad]))
    assert "1.9" not in str(caught.value)
