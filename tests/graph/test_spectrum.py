"""Spectra: the suite for every mechanism, refusals, the printed LNPP refuted, figures of graphs."""

import math
import os
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from sfumato import noise
from sfumato.audit import Pair, examine
from sfumato.data.graph import GraphPublic, read_graph
from sfumato.graph import eigen, lnpp
from sfumato.graph.eigen import SymmetricOperator, cosines, largest_eigenpairs
from sfumato.graph.lnpp import LNPP
from sfumato.graph.pair_matrix import centre_response
from sfumato.graph.pair_spectrum import correct_bias, noise_edge
from sfumato.graph.spectral_mechanism import SpectralParts, mechanism_of
from sfumato.graph.spectrum import Spectrum
from sfumato.graph.spectrum_release import SpectrumRelease
from sfumato.mechanisms.pair_response import RandomizedPairs, pair_positions
from sfumato.mechanisms.signed_vector import SignedVector
from sfumato.privacy import door
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.loss import ApproxDP, PureDP
from sfumato.privacy.primitive import Change
from sfumato.privacy.record import record, replay
from sfumato.published.queries import printed_scale
from tests.graph.graphs import graph
from tests.method_suite import AuditSuite, MethodSuite

EVERYTHING = frozenset(combinations(range(6), 2))
CHAIN = frozenset((node, node + 1) for node in range(5))
EVERY_MECHANISM = [
    {"mechanism": "response"},
    {"mechanism": "laplace"},
    {"mechanism": "eigenvalues"},
    {"mechanism": "lnpp"},
    {"mechanism": "lnpp", "delta": "1/1000000"},
    {"mechanism": "lnpp", "variant": "published", "accept_unproven": True},
]


def two_cliques(size, links=()):
    """Two cliques of one size, nodes 0 … size−1 and the others, and pairs that join them."""
    inside = [
        pair for pair in combinations(range(2 * size), 2) if pair[0] // size == pair[1] // size
    ]
    return graph(2 * size, [*inside, *links])


class SpectrumAudit(AuditSuite):
    """The audit, on graphs of five nodes."""

    name = "graph.Spectrum"
    sampled = False
    random_neighbours = 25

    def audited_public(self):
        return GraphPublic(nodes=5)

    def halve_noise(self, monkeypatch):
        super().halve_noise(monkeypatch)
        law, drawn = RandomizedPairs.log_probability, RandomizedPairs.sample
        monkeypatch.setattr(
            RandomizedPairs, "log_probability", lambda p, value, said: law(twice(p), value, said)
        )
        monkeypatch.setattr(RandomizedPairs, "sample", lambda p, value: drawn(twice(p), value))

    def halve_drawn_noise(self, monkeypatch):
        super().halve_drawn_noise(monkeypatch)
        drawn = RandomizedPairs.sample
        monkeypatch.setattr(RandomizedPairs, "sample", lambda p, value: drawn(twice(p), value))

    def halve_sensitivity(self, monkeypatch):
        super().halve_sensitivity(monkeypatch)
        measured = RandomizedPairs.change

        def half(primitive, value, neighbour):
            return Change(measured(primitive, value, neighbour).measured, Fraction(1, 2), "half")

        monkeypatch.setattr(RandomizedPairs, "change", half)


def twice(primitive):
    return replace(primitive, epsilon=2 * primitive.epsilon)


class SpectrumSuite(SpectrumAudit, MethodSuite):
    """The whole suite, on graphs of six nodes."""

    def data(self):
        return graph(6, EVERYTHING - {(0, 1), (2, 5), (3, 4)})

    def neighbours(self):
        return [
            (graph(6, []), graph(6, [(0, 1)])),
            (graph(6, CHAIN), graph(6, CHAIN | {(0, 5)})),
            (graph(6, EVERYTHING), graph(6, EVERYTHING - {(2, 4)})),
        ]

    def fact(self, release):
        parts = [release.eigenvalues]
        if release.parts.eigenvectors is not None:
            parts.append(release.eigenvectors.ravel())
        return np.concatenate(parts)


class TestResponse(SpectrumSuite):
    options = {"k": 3}  # noqa: RUF012
    sampled = True


class TestLaplace(SpectrumAudit):
    options = {"mechanism": "laplace"}  # noqa: RUF012


class TestEigenvalues(SpectrumSuite):
    # All five of the audited graphs: the largest and the smallest move by 1 each.
    options = {"mechanism": "eigenvalues"}  # noqa: RUF012


class TestEdgesCounted(SpectrumAudit):
    options = {"edge_share": "1/5"}  # noqa: RUF012


@pytest.mark.parametrize("options", EVERY_MECHANISM)
@pytest.mark.parametrize("nodes", [0, 1, 2, 6])
def test_every_graph_is_taken(nodes, options):
    """Empty and complete, more eigenvalues asked for than nodes, tiny and huge ε."""
    for edges in ([], list(combinations(range(nodes), 2))):
        for epsilon in ("1/1000000", 1, 1000):
            method = Spectrum(epsilon=epsilon, k=9, **options)
            made = method.release(graph(nodes, edges))
            assert len(made.eigenvalues) == nodes
            assert np.isfinite(made.eigenvalues).all()
            assert made.agrees(made.files()) and made.words()
    if made.parts.eigenvectors is not None:
        inner = made.eigenvectors.T @ made.eigenvectors
        np.testing.assert_allclose(inner, np.eye(nodes), atol=1e-9)
        assert made.clusters(2).shape == (nodes,)
        assert made.reconstruction(len(edges) // 2).shape == (len(edges) // 2, 2)


@pytest.mark.parametrize("mechanism", ["response", "laplace", "eigenvalues", "lnpp"])
def test_a_huge_epsilon_tells_the_truth(mechanism):
    data = two_cliques(4, [(0, 4)])
    true = np.linalg.eigvalsh(data.counts.adjacency.toarray().astype(float))[::-1]
    made = Spectrum(epsilon=10**6, k=8, mechanism=mechanism).release(data)
    np.testing.assert_allclose(made.eigenvalues, true, atol=1e-2)
    if mechanism != "eigenvalues":
        pairs = made.reconstruction(data.counts.edges)
        np.testing.assert_array_equal(pairs, data.counts.pairs())
        np.testing.assert_array_equal(made.clusters(2), [0] * 4 + [1] * 4)


@pytest.mark.parametrize("epsilon", [Fraction(1), Fraction(4)])
def test_the_product_is_that_of_the_matrix_written_out(epsilon):
    nodes = 301
    primitive = RandomizedPairs(nodes=nodes, epsilon=epsilon)
    said = primitive.sample(np.arange(0, primitive.size, 11, dtype=np.int64))
    full = np.zeros((nodes, nodes))
    upper = np.zeros(primitive.size)
    upper[primitive.positions(said)] = 1
    full[np.triu_indices(nodes, 1)] = upper
    full += full.T
    full -= primitive.flip * (1 - np.eye(nodes))
    matrix = centre_response(primitive, said)
    for seed in range(3):
        vector = np.random.default_rng(seed).standard_normal(nodes)
        np.testing.assert_allclose(matrix.apply(vector), full @ vector, atol=1e-10)


def test_noise_on_all_entries_is_unbiased():
    """One eigenvalue well above the noise is told within 5 standard deviations of an entry."""
    nodes, deviation = 150, 0.5
    direction = np.ones(nodes) / math.sqrt(nodes)
    generator = np.random.default_rng(8)
    for true in (10.0, -10.0, 40.0):
        upper = np.triu(generator.standard_normal((nodes, nodes)) * deviation, 1)
        full = true * np.outer(direction, direction) + upper + upper.T
        ends = np.linalg.eigvalsh(full)
        seen = ends[-1] if true > 0 else ends[0]
        assert abs(correct_bias(np.array([seen]), nodes, deviation)[0] - true) < 5 * deviation
        assert abs(seen) > noise_edge(nodes, deviation)
    bulk = np.abs(np.linalg.eigvalsh(upper + upper.T)).max()
    assert bulk < noise_edge(nodes, deviation) * 1.02
    np.testing.assert_allclose(correct_bias(np.array([3.0, -1.0]), nodes, deviation), [1.5, -0.5])


def test_what_drowns_in_noise_is_said_to():
    made = Spectrum(epsilon="1/10", k=3).release(graph(40, [(0, 1)]))
    assert not made.detectable.all()
    assert "stand" in made.words() and "mostly noise" in made.words()
    assert made.subspace.shape[1] == made.detectable.sum()


def test_the_number_of_edges_follows_from_what_was_said_or_is_paid_for():
    data = two_cliques(10)
    with noise.seeded(2):
        free = Spectrum(epsilon=3).release(data)
        paid = Spectrum(epsilon=30, mechanism="lnpp", edge_share="1/2").release(data)
        alone = Spectrum(epsilon=3, mechanism="lnpp").release(data)
    # Of 190 pairs, each with a variance of 0.055: 90 edges ± 5.5 · 3.3.
    assert abs(free.edges - 90) < 18 and abs(paid.edges - 90) <= 2
    assert len(free.reconstruction()) == round(free.edges)
    assert alone.edges is None
    with pytest.raises(ValueError, match="pass edges=…, or release the spectrum with edge_share"):
        alone.reconstruction()
    with pytest.raises(ValueError, match="between 0 and 190"):
        free.reconstruction(191)
    with pytest.raises(ValueError, match="at least 1"):
        free.clusters(0)
    bare = Spectrum(epsilon=1, mechanism="eigenvalues").release(data)
    with pytest.raises(ValueError, match="only eigenvalues were released"):
        bare.clusters(2)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"k": 0}, "k must be a whole number of at least 1"),
        ({"mechanism": "best"}, "mechanism must be one of"),
        ({"variant": "ptr"}, "variant of the mechanism 'response' must be 'proved'"),
        ({"mechanism": "lnpp", "variant": "gibbs"}, "must be 'proved' or 'global' or 'ptr'"),
        ({"delta": "1/100"}, "has a pure privacy loss; leave delta out"),
        ({"mechanism": "lnpp", "variant": "ptr"}, "pass delta="),
        ({"mechanism": "lnpp", "variant": "global", "delta": "0.1"}, "leave delta out"),
        ({"mechanism": "lnpp", "variant": "published"}, "not proved to be private"),
        ({"edge_share": 1}, "edge_share must be greater than 0 and less than 1"),
    ],
)
def test_bad_parameters_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        Spectrum(epsilon=1, **options)


@pytest.mark.parametrize(
    ("options", "nodes", "words"),
    [
        ({"mechanism": "laplace"}, 4_001, "at most 4,000 nodes"),
        ({"mechanism": "eigenvalues"}, 6_001, "at most 6,000 nodes"),
        ({"mechanism": "lnpp"}, 6_001, "at most 6,000 nodes"),
        ({"k": 300}, 7_000, "k must be at most 200"),
        ({}, 100_000, "use a larger epsilon or fewer nodes"),
    ],
)
def test_graphs_that_are_too_large_are_refused_before_anything_is_spent(options, nodes, words):
    with pytest.raises(ValueError, match=words):
        Spectrum(epsilon=1, **options).plan(GraphPublic(nodes=nodes))


def test_each_mechanism_names_the_page_that_proves_it():
    public = GraphPublic(nodes=5)
    pages = [Spectrum(epsilon=1, **given).guarantee(public).proof for given in EVERY_MECHANISM[:3]]
    assert pages == ["edge-response.md", "spectrum.md", "spectrum.md"]
    with pytest.raises(ValueError, match="must be 'proved'; got 'other'"):
        mechanism_of("laplace", k=1, limit=PureDP(1), variant="other")


# --- LNPP -----------------------------------------------------------------------------------------

#: Two graphs of six nodes whose first gaps are √2 and √2 − 1.
FAR_GAPS = Pair("gaps apart", graph(6, [(0, 2), (0, 5)]), graph(6, [(0, 2), (0, 5), (1, 3)]))


def lnpp_pairs():
    cliques = two_cliques(5)
    return [
        FAR_GAPS,
        Pair("two cliques", cliques, two_cliques(5, [(0, 5)])),
        Pair("a large gap", graph(12, combinations(range(12), 2)), _without(12, (0, 1))),
        Pair("empty", graph(4, []), graph(4, [(1, 2)])),
    ]


def _without(nodes, edge):
    return graph(nodes, [pair for pair in combinations(range(nodes), 2) if pair != edge])


@pytest.mark.parametrize("pair", lnpp_pairs(), ids=lambda pair: pair.name)
def test_global_lnpp_keeps_its_promise_on_replay(pair):
    findings = examine(Spectrum(epsilon=20, k=3, mechanism="lnpp"), pair, seeds=(1, 2))
    assert findings.passed, findings
    assert findings.largest > 0


def test_the_bound_on_vectors_is_nearly_attained_and_half_of_the_noise_is_found(monkeypatch):
    """A square and a chain that a chord makes stronger than it: the first vector moves over."""
    square = {(0, 1), (1, 2), (2, 3), (0, 3)}
    chain = {(4, 5), (5, 6), (6, 7)}
    pair = Pair("moves", graph(8, square | chain), graph(8, square | chain | {(4, 6)}))
    method = Spectrum(epsilon=100, k=1, mechanism="lnpp")
    findings = examine(method, pair, seeds=(1,))
    assert findings.passed and findings.largest > 85
    monkeypatch.setattr(SignedVector, "scale", property(lambda p: p.sensitivity / (2 * p.epsilon)))
    assert not examine(method, pair, seeds=(1,)).passed


def test_the_printed_lnpp_is_refuted_by_replay_and_refused_by_ledgers(tmp_path):
    method = Spectrum(epsilon=5, k=1, mechanism="lnpp", variant="published", accept_unproven=True)
    findings = examine(method, FAR_GAPS, seeds=(1, 2))
    assert not findings.passed
    assert findings.largest > 5 * 4
    assert any("may not differ" in fault for fault in findings.faults)
    proved = Spectrum(epsilon=5, k=1, mechanism="lnpp")
    assert examine(proved, FAR_GAPS, seeds=(1, 2)).passed
    ledger = Ledger.create(tmp_path / "a.ledger", allow=PureDP(9), unit="edge")
    with pytest.raises(ValueError, match="prov"):
        method.release(FAR_GAPS.here, ledger=ledger)
    assert ledger.spent == PureDP(0)
    assert not method.release(FAR_GAPS.here).guarantee.private


def test_the_printed_scale_is_that_of_the_paper_and_never_infinite():
    assert printed_scale(4, 1000, Fraction(2), 5.0) == 200
    for gap in (0.0, 1e-9):
        assert printed_scale(4, 1000, Fraction(2), gap) == 1024 * 1000


def ptr(delta="1/1000000", k=1, epsilon=400):
    return LNPP(k=k, limit=ApproxDP(epsilon, delta), variant="ptr")


def test_a_tested_gap_is_hardly_ever_too_large():
    """P(ĝ > gap) ≤ δ = 0.1: of 2000 tests no more than 200 and 5.5 standard deviations."""
    mechanism = ptr(delta="1/10", epsilon=4)
    primitive = mechanism._gap_noise().primitive()
    truth = 5.0
    units = round(truth / 2.0 ** mechanism._gap_noise().exponent)
    with noise.seeded(6):
        said = units + noise.discrete_laplace(2000, scale=primitive.scale)
    over = sum(mechanism._sure_gap(int(one)) > truth for one in said)
    assert over <= 200 + 5.5 * math.sqrt(180)
    # And it is not far below either: the calibration wastes little.
    assert over >= 200 - 5.5 * math.sqrt(180)


def test_a_large_gap_lowers_the_noise_and_a_small_one_does_not():
    mechanism = ptr()
    whole = mechanism._whole(50, mechanism._vector_epsilon * (1 - lnpp.TEST_SHARE))
    step = 2.0 ** mechanism._gap_noise().exponent
    wide = mechanism._test_gap(50, np.array([int(40 / step)]))
    assert wide.delta == Fraction(1, 10**6)
    # √n·√2/(ĝ − 1) against √(2n), ĝ a little below 40.
    assert 1 / 39.5 < wide.sensitivity / whole.sensitivity < 1 / 35
    for gap in (-5, 0, 2.9):
        assert mechanism._test_gap(50, np.array([int(gap / step)])) == whole


def test_ptr_stays_within_its_books_and_its_bounds():
    method = Spectrum(epsilon=600, k=2, mechanism="lnpp", delta="1/1000000")
    complete, neighbour = graph(12, combinations(range(12), 2)), _without(12, (0, 1))
    for seed in range(3):
        with noise.seeded(seed):
            script = record(method, complete)
        vectors = [step for step in script if isinstance(step.primitive, SignedVector)]
        # The first gap is 12; the others are 0.
        assert [step.primitive.delta > 0 for step in vectors] == [True, False]
        for step, change in script.changes(replay(method, neighbour, script)):
            assert change.holds, step.label
    made = method.release(complete)
    assert made.guarantee.loss == ApproxDP(600, Fraction(1, 10**6))
    true = np.ones(12) / math.sqrt(12)
    assert abs(made.eigenvectors[:, 0] @ true) > 0.8


def test_entries_of_one_vector_stay_within_the_radius():
    for nodes in (1, 2, 50):
        for vector in (np.ones(nodes) / math.sqrt(nodes), np.eye(nodes)[0] * (1 + 2.0**-31)):
            steps = eigen.in_steps(vector, 2**20)
            assert sum(int(entry) ** 2 for entry in steps) <= 2**40


# --- releases -------------------------------------------------------------------------------------


def release_of(values, vectors, **parts):
    public = GraphPublic(nodes=len(vectors), labels=tuple(f"n,{i}" for i in range(len(vectors))))
    return SpectrumRelease(
        public, SpectralParts(np.array(values, dtype=float), vectors, **parts), how="somehow"
    )


def _with_nan(content):
    """Return a table whose last figure is no number."""
    return content[: content.rstrip().rfind(b",") + 1] + b"nan\n"


def test_published_files_agree_up_to_rounding_signs_and_mixed_vectors():
    vectors = np.linalg.qr(np.random.default_rng(1).standard_normal((6, 3)))[0]
    observed = np.array([4.0, 2.0, 2.0])
    made = release_of([4.0, 2.0, 2.0], vectors.copy(), observed=observed)
    turned = vectors.copy()
    turned[:, 0] *= -1
    turned[:, 1:] = turned[:, 1:] @ np.array([[0.6, 0.8], [-0.8, 0.6]])
    same = release_of([4.0 + 1e-9, 2.0, 2.0], turned, observed=observed)
    assert made.agrees(same.files()) and same.agrees(made.files())
    swapped = release_of([4.0, 2.0, 2.0], vectors[:, [1, 0, 2]].copy(), observed=observed)
    other = release_of([4.0, 2.1, 2.0], vectors.copy(), observed=observed)
    assert not made.agrees(swapped.files()) and not made.agrees(other.files())
    files = made.files()
    for name, content in (
        ("eigenvalues.csv", b"number\n"),
        ("eigenvectors.csv", files["eigenvectors.csv"].replace(b"n,0", b"n,9")),
        ("eigenvectors.csv", files["eigenvectors.csv"].replace(b"0.", b"x.")),
        ("eigenvectors.csv", files["eigenvectors.csv"].replace(b"v1", b"v7")),
        ("eigenvectors.csv", _with_nan(files["eigenvectors.csv"])),
        ("eigenvalues.csv", files["eigenvalues.csv"].replace(b"4,", b"nan,")),
    ):
        assert not made.agrees({**files, name: content})
    assert not made.agrees({"eigenvalues.csv": files["eigenvalues.csv"]})


def test_vectors_that_were_said_one_by_one_may_not_be_mixed():
    """Repaired eigenvalues are often the same; what was said of their vectors is not."""
    vectors = np.linalg.qr(np.random.default_rng(1).standard_normal((6, 2)))[0]
    made = release_of([2.0, 2.0], vectors.copy())
    assert made.agrees(release_of([2.0, 2.0], -vectors).files())
    assert not made.agrees(release_of([2.0, 2.0], vectors[:, ::-1].copy()).files())


@pytest.mark.parametrize("shape", ["empty", "matching", "star"])
def test_a_graph_told_without_noise_is_rebuilt_as_it_was(shape, monkeypatch):
    """Eigenvalues of high multiplicity, by the iterative solver: the same vectors each time."""
    monkeypatch.setattr(eigen, "DENSE_ROWS", 20)
    edges = {
        "empty": [],
        "matching": [(node, node + 1) for node in range(0, 90, 2)],
        "star": [(0, node) for node in range(1, 90)],
    }[shape]
    made = [Spectrum(epsilon=10_000).release(graph(90, edges)) for _ in range(2)]
    assert made[0].agrees(made[1].files())
    true = np.linalg.eigvalsh(graph(90, edges).counts.adjacency.toarray().astype(float))[::-1]
    np.testing.assert_allclose(made[0].eigenvalues, true[:5], atol=1e-9)


@pytest.mark.parametrize("mechanism", ["response", "laplace"])
def test_any_eigenvectors_of_a_multiple_eigenvalue_will_do(mechanism, monkeypatch):
    """Two of the six pairs of a matching: which of them a solver finds is a matter of chance."""
    data = graph(12, [(node, node + 1) for node in range(0, 12, 2)])
    method = Spectrum(epsilon=10_000, k=2, mechanism=mechanism)
    made = method.release(data)

    def rebuilt(first, second):
        vectors = np.zeros((12, 2))
        vectors[first, 0] = vectors[second, 1] = math.sqrt(0.5)
        monkeypatch.setattr(eigen, "_dense", lambda matrix, k: (np.ones(2), vectors))
        return door.rebuild_from_transcript(method, made.public, made.transcript).files()

    for first in ([0, 1], [10, 11]):
        assert made.agrees(rebuilt(first, [2, 3]))
    # No eigenvectors, or one of them twice.
    assert not made.agrees(rebuilt([0, 2], [4, 5])) and not made.agrees(rebuilt([0, 1], [0, 1]))


def test_pictures_are_drawn_with_and_without_vectors():
    data = two_cliques(4)
    assert len(Spectrum(epsilon=4, k=3).release(data).plot().axes) == 2
    assert len(Spectrum(epsilon=4, k=1).release(data).plot().axes) == 1
    assert len(Spectrum(epsilon=4, mechanism="eigenvalues").release(data).plot().axes) == 1


# --- known graphs ---------------------------------------------------------------------------------


@pytest.fixture
def known():
    folder = Path(os.environ.get("SFUMATO_DATA", "/nowhere")) / "graphs"
    if not folder.exists():
        pytest.skip("the graphs are not at hand: SFUMATO_DATA/graphs")
    return lambda name: read_graph(folder / f"{name}.txt.xz", sf.data.graph.NAMED)


def truth_of(data, k=5):
    matrix = data.counts.adjacency.astype(np.float64)
    return largest_eigenpairs(
        SymmetricOperator(data.public.nodes, lambda vector: matrix @ vector), k
    )


def test_response_captures_the_subspace_of_polbooks(known):
    data = known("polbooks")
    values, vectors = truth_of(data)
    np.testing.assert_allclose(values[:3], [11.9326, 11.6197, 6.1098], atol=5e-5)
    pairs = pair_positions(data.counts.pairs(), 105)
    parts, distances = [], []
    for seed in range(6):
        with noise.seeded(seed):
            made = Spectrum(epsilon=4).release(data)
        parts.append(made.captured(vectors))
        guessed = pair_positions(made.reconstruction(len(pairs)), 105)
        distances.append(math.sqrt(2 * len(np.setxor1d(pairs, guessed))))
    # 0.865 on average over many runs, with a standard deviation of 0.06; chance is 0.05.
    assert np.mean(parts) >= 0.82
    assert np.mean(distances) == pytest.approx(25.5, abs=0.5)


def test_response_finds_the_eigenvectors_of_a_collaboration_graph(known):
    data = known("ca-GrQc")
    values, vectors = truth_of(data)
    with noise.seeded(4):
        made = Spectrum(epsilon=4).release(data)
    # The fourth and the fifth eigenvalue are close, and their vectors mix.
    assert (cosines(vectors, made.eigenvectors)[:3] >= [0.96, 0.94, 0.93]).all()
    assert made.captured(vectors) > 0.84
    assert np.abs(made.eigenvalues - values).sum() < 3
    assert np.abs(made.observed - values).sum() > 12
    assert made.detectable.all()
    # The whole noisy graph of 14 million pairs, in a third of a megabyte.
    assert len(made.transcript.to_files()["transcript.npz"]) < 400_000


def test_a_small_dense_limit_changes_nothing(monkeypatch):
    data = two_cliques(30, [(0, 31), (5, 40)])
    made = []
    for limit in (600, 10):
        monkeypatch.setattr(eigen, "DENSE_ROWS", limit)
        with noise.seeded(1):
            made.append(Spectrum(epsilon=4, k=2).release(data))
    assert made[0].agrees(made[1].files())
