"""Eigenvalues: solvers against each other, the certificate, the bounds of the proofs."""

import itertools

import numpy as np
import pytest

from sfumato.graph import eigen
from sfumato.graph.eigen import (
    CERTIFIED_ERROR,
    CertifiedSpectrum,
    SymmetricOperator,
    captured_share,
    certified_distance,
    certified_spectrum,
    cosines,
    largest_eigenpairs,
    lowdin,
    require_solvable,
    strongest_pairs,
)
from sfumato.graph.spectrum_release import group_rows, k_means
from tests.graph.graphs import engine


def symmetric(rows, seed):
    full = np.random.default_rng(seed).standard_normal((rows, rows))
    return full + full.T


def operator(matrix):
    return SymmetricOperator(len(matrix), lambda vector: matrix @ vector)


def adjacency(nodes):
    """The adjacency matrices of all graphs on so many nodes, and the pairs that number them."""
    pairs = list(itertools.combinations(range(nodes), 2))
    stack = np.zeros((2 ** len(pairs), nodes, nodes))
    for place, (low, high) in enumerate(pairs):
        joined = np.arange(len(stack)) >> place & 1
        stack[:, low, high] = stack[:, high, low] = joined
    return stack, len(pairs)


@pytest.mark.parametrize("rows", [1, 2, 9, 70])
def test_both_solvers_find_the_algebraically_largest(rows, monkeypatch):
    monkeypatch.setattr(eigen, "DENSE_ROWS", 20)
    matrix = symmetric(rows, 3) - 5 * np.eye(rows)
    k = min(rows, 4)
    values, vectors = largest_eigenpairs(operator(matrix), k)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(matrix)[::-1][:k], atol=1e-8)
    np.testing.assert_allclose(matrix @ vectors, vectors * values, atol=1e-6)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(k), atol=1e-9)
    again = largest_eigenpairs(operator(matrix), k)
    np.testing.assert_array_equal(again[1], vectors)
    assert (vectors[np.abs(vectors).argmax(axis=0), np.arange(k)] > 0).all()


def test_matrices_of_zeros_and_multiple_eigenvalues_are_solved(monkeypatch):
    monkeypatch.setattr(eigen, "DENSE_ROWS", 20)
    for matrix in (np.zeros((70, 70)), -3 * np.eye(70), np.kron(np.eye(10), np.ones((7, 7)))):
        values, vectors = largest_eigenpairs(operator(matrix), 5)
        np.testing.assert_allclose(values, np.linalg.eigvalsh(matrix)[::-1][:5], atol=1e-9)
        np.testing.assert_allclose(vectors.T @ vectors, np.eye(5), atol=1e-9)


def test_a_solver_that_does_not_settle_gets_more_vectors(monkeypatch):
    from scipy.sparse.linalg import ArpackNoConvergence

    asked = []

    def stubborn(matrix, k, *, ncv, **options):
        asked.append(ncv)
        if len(asked) < 3:
            raise ArpackNoConvergence("no", np.zeros(0), np.zeros((0, 0)))
        return np.ones(k), np.eye(170)[:, :k]

    monkeypatch.setattr(eigen, "DENSE_ROWS", 20)
    monkeypatch.setattr("scipy.sparse.linalg.eigsh", stubborn)
    eigen.largest_eigenpairs(operator(np.eye(170)), 2)
    assert asked == [40, 160, 170]


def test_too_many_eigenpairs_of_a_large_matrix_are_refused():
    require_solvable(6_000, 6_000)
    require_solvable(10**6, 200)
    with pytest.raises(ValueError, match="k must be at most 200"):
        require_solvable(6_001, 201)


def test_one_edge_moves_all_eigenvalues_by_two_and_each_by_one_at_most():
    """All graphs of five nodes and all their neighbours."""
    stack, pairs = adjacency(5)
    values = np.linalg.eigvalsh(stack)
    most = 0.0
    for place in range(pairs):
        change = np.abs(values - values[np.arange(len(stack)) ^ 1 << place])
        assert change.max() <= 1 + 1e-12
        most = max(most, float(change.sum(axis=1).max()))
    assert most == pytest.approx(2, abs=1e-9)


def test_a_gap_changes_by_two_at_most_and_a_vector_by_what_the_gap_says():
    """All graphs of five nodes: the lemmas on which tested gaps rest."""
    stack, pairs = adjacency(5)
    values, vectors = np.linalg.eigh(stack)
    steps = np.diff(values, axis=1)
    for rank in range(5):
        near = steps[:, max(rank - 1, 0) : rank + 1].min(axis=1)
        for place in range(pairs):
            other = np.arange(len(stack)) ^ 1 << place
            assert (np.abs(near - near[other]) <= 2 + 1e-9).all()
            wide = near > 2 + 1e-9
            cosine = np.abs((vectors[:, :, rank] * vectors[other][:, :, rank]).sum(axis=1))
            distance = np.sqrt(np.maximum(2 - 2 * cosine, 0))
            assert (distance[wide] <= np.sqrt(2) / (near[wide] - 1) + 1e-9).all()


@pytest.mark.parametrize("nodes", [0, 1, 2, 60])
def test_a_spectrum_is_certified(nodes):
    edges = [pair for pair in itertools.combinations(range(nodes), 2) if sum(pair) % 3]
    spectrum = certified_spectrum(engine(nodes, edges))
    full = engine(nodes, edges).adjacency.toarray().astype(float)
    np.testing.assert_allclose(spectrum.values, np.linalg.eigvalsh(full)[::-1], atol=1e-9)
    np.testing.assert_allclose(
        full @ spectrum.vectors, spectrum.vectors * spectrum.values, atol=1e-8
    )


def test_the_certificate_of_the_largest_graphs_leaves_room():
    """Of a complete graph the bound is largest: at 6,000 nodes it must stay below what is told."""
    bounds = []
    for nodes in (100, 200):
        full = np.ones((nodes, nodes)) - np.eye(nodes)
        bounds.append(certified_distance(full, *np.linalg.eigh(full)))
    # It grows with the cube of the number of nodes at most.
    assert bounds[1] * 30**3 < CERTIFIED_ERROR
    assert bounds[0] < bounds[1]


class Unit(np.ndarray):
    """The identity, which is multiplied at once."""

    def __matmul__(self, other):
        return np.array(other)

    def __rmatmul__(self, other):
        return np.array(other)


def test_large_graphs_are_certified_at_all():
    """What rounding may add to all inner products together is no bound on a single length."""
    nodes = 2_900
    exact = np.eye(nodes).view(Unit)
    assert certified_distance(np.zeros((nodes, nodes)), np.zeros(nodes), exact) == 0


def test_lengths_and_the_order_of_eigenvalues_are_part_of_the_certificate():
    full = np.ones((4, 4)) - np.eye(4)
    values, vectors = np.linalg.eigh(full)
    assert certified_distance(full, values, vectors) < 1e-9
    # An empty graph has no residual, however long the vectors are.
    empty = np.zeros((4, 4))
    assert certified_distance(empty, np.zeros(4), np.eye(4)) == 0
    assert certified_distance(empty, np.zeros(4), np.eye(4) * (1 + 2.0**-30)) == float("inf")
    assert certified_distance(full, values[::-1], vectors[:, ::-1]) == float("inf")


def test_the_certificate_is_never_below_the_true_error():
    full = np.ones((30, 30)) - np.eye(30)
    values, vectors = np.linalg.eigh(full)
    for shift in (1e-3, 1e-6):
        moved = values.copy()
        moved[-1] += shift
        assert certified_distance(full, moved, vectors) >= shift
        bent = vectors.copy()
        bent[:, 0] *= 1 + shift
        assert certified_distance(full, values, bent) >= shift
    assert certified_distance(full, values * np.nan, vectors) == float("inf")
    # A solver that returns one pair twice has small residuals, and is found out all the same.
    twice = vectors.copy()
    twice[:, 1] = twice[:, 0]
    assert certified_distance(full, values, twice) == float("inf")


def test_a_solver_that_is_far_off_is_passed_over(monkeypatch):
    import scipy.linalg

    solve, asked = scipy.linalg.eigh, []

    def poor(matrix, *, driver):
        asked.append(driver)
        values, vectors = solve(matrix, driver=driver)
        if driver == "evd":
            raise scipy.linalg.LinAlgError("did not converge")
        return (values + 0.01, vectors) if driver == "evr" else (values, vectors)

    monkeypatch.setattr(scipy.linalg, "eigh", poor)
    graph = engine(4, [(0, 1), (1, 2)])
    assert certified_spectrum(graph).values[0] == pytest.approx(2**0.5)
    assert asked == ["evd", "evr", "ev"]
    monkeypatch.setattr(eigen, "certified_distance", lambda *_: 1.0)
    with pytest.raises(ArithmeticError, match="close enough"):
        certified_spectrum(graph)


def test_gaps_are_those_to_the_next_eigenvalues():
    spectrum = CertifiedSpectrum(np.array([5.0, 3.0, 2.5]), np.eye(3))
    assert [spectrum.gap(rank) for rank in range(3)] == [2.0, 0.5, 0.5]
    assert CertifiedSpectrum(np.zeros(1), np.eye(1)).gap(0) == 0


def test_lowdin_gives_the_closest_orthonormal_columns():
    made = lowdin(np.array([[1, 0.5], [0, 1], [0.2, 0]]))
    told = [[0.95112, 0.23931], [-0.22396, 0.96970], [0.21262, -0.04911]]
    np.testing.assert_allclose(made, told, atol=5e-6)
    orthonormal = np.linalg.qr(symmetric(6, 1))[0][:, :3]
    np.testing.assert_allclose(lowdin(orthonormal * [1, 7, 0.01]), orthonormal, atol=1e-12)


@pytest.mark.parametrize("columns", [np.zeros((4, 2)), np.ones((4, 3)), np.zeros((3, 0))])
def test_lowdin_takes_columns_that_depend_on_one_another(columns):
    made = lowdin(columns)
    np.testing.assert_allclose(made.T @ made, np.eye(columns.shape[1]), atol=1e-9)
    np.testing.assert_array_equal(made, lowdin(columns))


def test_captured_parts_and_cosines():
    basis = np.eye(4)
    assert captured_share(basis[:, :2], basis[:, 1:3]) == 0.5
    turned = basis[:, :2] @ np.array([[0.6, 0.8], [-0.8, 0.6]])
    assert captured_share(basis[:, :2], turned) == pytest.approx(1)
    np.testing.assert_allclose(cosines(basis[:, :2], -turned), [0.6, 0.6])


def test_strongest_pairs_are_those_of_the_matrix_written_out(monkeypatch):
    vectors = np.random.default_rng(2).standard_normal((23, 3))
    weights = np.array([2.0, -1.0, 0.5])
    full = (vectors * weights) @ vectors.T
    low, high = np.triu_indices(23, 1)
    order = np.argsort(-full[low, high], kind="stable")
    for entries in (1, 60, 1 << 20):
        monkeypatch.setattr("sfumato.graph.eigen.ENTRIES", entries)
        for many in (0, 1, 40, 253):
            chosen = np.sort(order[:many])
            made = strongest_pairs(vectors, weights, many)
            np.testing.assert_array_equal(made, np.stack([low[chosen], high[chosen]], axis=1))
    # Of equal entries the first.
    np.testing.assert_array_equal(
        strongest_pairs(np.ones((4, 1)), np.ones(1), 4), [[0, 1], [0, 2], [0, 3], [1, 2]]
    )


def test_groups_are_found_by_direction_and_numbered_by_size():
    generator = np.random.default_rng(5)
    truth = np.repeat([2, 0, 1], [20, 40, 30])
    rows = np.eye(3)[truth] + 0.05 * generator.standard_normal((90, 3))
    rows *= generator.uniform(0.1, 5, (90, 1))
    np.testing.assert_array_equal(group_rows(rows, 3), truth)
    np.testing.assert_array_equal(group_rows(rows, 3), group_rows(rows, 3))
    assert set(group_rows(np.ones((5, 2)), 3)) == {0}
    assert group_rows(np.zeros((4, 0)), 2).tolist() == [0, 0, 0, 0]
    assert len(k_means(np.array([[1.0], [2.0]]), 2)) == 2
