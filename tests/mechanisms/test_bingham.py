"""Directions from Bingham's law: the law, the exactness of the draw, and its price."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import special, stats

from sfumato import noise
from sfumato.mechanisms import bingham_envelope
from sfumato.mechanisms.bingham import (
    GRID_BITS,
    LARGEST_RATE,
    BinghamDirection,
    constant_move,
    graph_rate,
)
from sfumato.mechanisms.bingham_basis import Complement, whole_space
from sfumato.mechanisms.bingham_chain import BinghamChain, largest_move, random_frame
from sfumato.mechanisms.bingham_envelope import find_envelope
from sfumato.mechanisms.bingham_law import log_mean_exponential
from sfumato.noise import bingham as exact_bingham
from sfumato.noise._lazy import Tape
from sfumato.noise.bingham import Envelope, Form, draw_direction
from sfumato.privacy.loss import ZCDP, ApproxDP, PureDP
from sfumato.privacy.primitive import price_of
from sfumato.published.spectral_analysis import LowRankChain, published_eigenvalue_claim

STEP = 2.0**-GRID_BITS
#: The normal quantile of a two-sided alarm of 1e-7.
FAR = 5.33


def form_of(matrix, rate=1, bits=0):
    return Form(np.asarray(matrix, dtype=np.int64).astype(object), bits, Fraction(rate))


def drawn(form, count, *, envelope=None, seed=1):
    envelope = envelope or find_envelope(form)
    with noise.seeded(seed):
        found = [draw_direction(form, envelope, grid_bits=GRID_BITS) for _ in range(count)]
    return np.array(found) * STEP


def graph(nodes, edges):
    matrix = np.zeros((nodes, nodes), dtype=np.int64)
    for low, high in edges:
        matrix[low, high] = matrix[high, low] = 1
    return matrix


def moments(values):
    """Return mean and variance of each xᵢ²: derivatives of ln c by the eigenvalues."""
    step, found = 1e-3, []
    for place in range(len(values)):
        moved = np.eye(len(values))[place] * step
        low, middle, high = (log_mean_exponential(values + t * moved) for t in (-1, 0, 1))
        found.append(((high - low) / (2 * step), (high - 2 * middle + low) / step**2))
    return np.array(found).T


class TestLaw:
    @pytest.mark.parametrize("p", [1, 2, 3, 20, 300])
    @pytest.mark.parametrize("k", [0.0, 0.5, 30.0, 200.0, -50.0])
    def test_one_eigenvalue_gives_kummers_function(self, p, k):
        orders = np.arange(3000.0)

        def logs(a, b, x):
            rising = special.gammaln(a + orders) - special.gammaln(a)
            falling = special.gammaln(b + orders) - special.gammaln(b)
            powers = np.where(orders > 0, orders * math.log(x), 0) if x else -1e9 * orders
            return special.logsumexp(rising - falling + powers - special.gammaln(orders + 1))

        # 1F1(1/2; p/2; k), by Kummer's transformation where k is negative.
        if k >= 0:
            expected = logs(0.5, p / 2, k)
        else:
            expected = k + (logs((p - 1) / 2, p / 2, -k) if p > 1 else 0)
        values = np.append(k, np.zeros(p - 1))
        assert log_mean_exponential(values) == pytest.approx(expected, abs=1e-11)

    def test_two_dimensions_give_a_bessel_function(self):
        for rate in (1e-3, 1.0, 50.0, 1e5):
            found = log_mean_exponential(np.array([rate, -rate]))
            assert found == pytest.approx(math.log(special.ive(0, rate)) + rate, rel=1e-12)

    def test_adding_a_constant_adds_it(self):
        values = np.array([4.0, 1.0, -2.0, 0.5])
        base = log_mean_exponential(values)
        for constant in (-1e3, 0.1, 1e6):
            moved = log_mean_exponential(values + constant)
            assert moved == pytest.approx(base + constant, abs=1e-9)

    def test_large_eigenvalues_do_not_overflow(self):
        # Laplace's approximation Γ(p/2)·e^k/(Γ(1/2)·k^((p−1)/2)) is right to p²/k.
        for p, k in ((4, 1e4), (30, 1e8)):
            found = log_mean_exponential(np.append(k, np.zeros(p - 1)))
            expected = k + math.lgamma(p / 2) - math.lgamma(0.5) - (p - 1) / 2 * math.log(k)
            assert found == pytest.approx(expected, abs=p * p / k)

    def test_moments_of_the_worked_example(self):
        mean, _ = moments(np.array([3.0, 1.0, 0.0]))
        # By quadrature over the sphere.
        assert mean == pytest.approx([0.574556, 0.246742, 0.178702], abs=1e-6)
        assert mean.sum() == pytest.approx(1, abs=1e-6)


class TestDraws:
    def test_the_worked_example_follows_its_moments_and_its_acceptance(self, monkeypatch):
        # Each |z| < 5.33: a false alarm in 1e-7 for each; the law of twice the rate is rejected.
        form = form_of(np.diag([3, 1, 0]))
        proposals = 0
        original = exact_bingham._Proposal.__init__

        def counted(*arguments):
            nonlocal proposals
            proposals += 1
            original(*arguments)

        monkeypatch.setattr(exact_bingham._Proposal, "__init__", counted)
        squares = drawn(form, 1000) ** 2
        for factor, accepted in ((1, True), (2, False), (Fraction(1, 2), False)):
            mean, variance = moments(np.array([3.0, 1.0, 0.0]) * float(factor))
            scores = (squares.mean(axis=0) - mean) / np.sqrt(variance / len(squares))
            assert (np.abs(scores).max() < FAR) == accepted
        share = 1000 / proposals
        assert share == pytest.approx(0.84, abs=0.002 + FAR * math.sqrt(0.84 * 0.16 / proposals))

    def test_without_a_form_the_direction_is_uniform(self):
        # Kolmogorov–Smirnov at 1e-7.
        draws = drawn(form_of(np.zeros((4, 4))), 800)
        for place in range(4):
            found = stats.kstest(draws[:, place] ** 2, stats.beta(0.5, 1.5).cdf)
            assert found.pvalue > 1e-7
        assert abs((draws > 0).mean() - 0.5) < FAR * 0.5 / math.sqrt(draws.size)

    def test_angles_in_the_plane_follow_von_mises(self):
        # Twice the angle of density ∝ exp(κ·cos 2θ) is von Mises with κ; the test is at 1e-7.
        draws = drawn(form_of([[0, 1], [1, 0]], rate=2), 500)
        angles = np.angle((draws[:, 0] + 1j * draws[:, 1]) ** 2 / 1j)
        assert stats.kstest(angles, stats.vonmises(2).cdf).pvalue > 1e-7
        assert stats.kstest(angles, stats.vonmises(8).cdf).pvalue < 1e-7

    def test_a_poor_proposal_costs_time_and_not_the_law(self):
        form = form_of(np.diag([3, 1, 0]))
        whole = np.eye(3, dtype=np.int64).astype(object)
        plain = Envelope(whole, np.ones(3, dtype=object), 0, Fraction(3), Fraction(9, 2))
        squares = drawn(form, 600, envelope=plain) ** 2
        mean, variance = moments(np.array([3.0, 1.0, 0.0]))
        assert np.abs((squares.mean(axis=0) - mean) / np.sqrt(variance / 600)).max() < FAR

    def test_adding_a_constant_to_the_form_changes_no_draw(self):
        generator = np.random.default_rng(3)
        matrix = generator.integers(-3, 4, (5, 5))
        matrix = matrix + matrix.T
        shifted = matrix + 7 * np.eye(5, dtype=np.int64)
        one = drawn(form_of(matrix, Fraction(1, 3)), 40)
        other = drawn(form_of(shifted, Fraction(1, 3)), 40)
        # The proposals differ in the last digits, which the grid does not see; signs of
        # eigenvectors may turn, so squares are compared by their sum with the form.
        values = [np.einsum("ni,ij,nj->n", draws, matrix, draws) for draws in (one, other)]
        assert stats.ks_2samp(*values).pvalue > 1e-7

    def test_a_concentrated_form_neither_overflows_nor_spreads(self):
        draws = drawn(form_of(np.diag([10_000, 0, 0, 0])), 50)
        assert np.abs(draws[:, 0]).min() > 0.99
        # The other coordinates are about normal with variance 1/(2·10⁴).
        total = (draws[:, 1:] ** 2).sum() * 2e4
        assert stats.chi2(150).ppf(5e-8) * 0.99 < total < stats.chi2(150).isf(5e-8)

    def test_how_many_bits_are_looked_at_first_does_not_matter(self, monkeypatch):
        form = form_of(graph(5, [(0, 1), (1, 2), (3, 4)]), 2)
        expected = drawn(form, 30)
        monkeypatch.setattr(exact_bingham, "FIRST_SIZE", 2)
        assert np.array_equal(drawn(form, 30), expected)

    def test_a_proposal_that_cannot_be_settled_draws_more_bits(self, monkeypatch):
        # On a grid of 2⁻²⁰⁰ the first 64 bits never suffice.
        form = form_of(np.diag([2, 1, 0]))
        with noise.seeded(5):
            fine = draw_direction(form, find_envelope(form), grid_bits=200)
        assert abs(sum(part * part for part in fine) - (1 << 400)) < 1 << 203

    def test_logarithms_are_enclosed(self):
        for ratio in (Fraction(1), Fraction(2, 3), Fraction(10**30 + 1, 10**30), Fraction(3) ** 90):
            least, most = exact_bingham._log(ratio, 500)
            for bits in (2, 20, 64):
                low, high = exact_bingham._log(ratio, bits)
                assert low <= least <= most <= high
            assert most - least <= Fraction(1, 1 << 450)

    def test_one_dimension_is_a_fair_sign(self):
        draws = drawn(form_of([[5]]), 400)[:, 0]
        assert set(draws.tolist()) == {1.0, -1.0}
        assert abs(draws.sum()) < FAR * 20

    @pytest.mark.parametrize(("rate", "stretches"), [(0, (9, 3, 1)), (10_000, (1, 1, 1))])
    def test_few_bits_enclose_what_many_bits_find(self, rate, stretches):
        # Without a form only the logarithm is uncertain, with a strong one hardly anything else.
        form = form_of([[0, 1, 0], [1, 0, 1], [0, 1, 0]], rate)
        whole = np.eye(3, dtype=np.int64).astype(object)
        envelope = Envelope(whole, np.array(stretches, dtype=object), 0, Fraction(3), Fraction(0))
        settled = 0
        with noise.seeded(11):
            for _ in range(40):
                proposal = exact_bingham._Proposal(form, envelope, Tape())
                coarse = []
                for size in (4, 8, 16, 32):
                    proposal._size = size
                    centre = proposal._centre()
                    found = proposal._settle(centre, 3)
                    coarse.append((proposal._log_chance(centre), found))
                proposal._size = 300
                centre = proposal._centre()
                least, most = proposal._log_chance(centre)
                rounded = proposal._settle(centre, 3)
                for (low, high), found in coarse:
                    assert low <= most and least <= high
                    assert found in (None, rounded)
                    settled += found is not None
        assert settled > 40


class TestEnvelope:
    @pytest.mark.parametrize("rate", [Fraction(1, 10**6), 1, 1000])
    @pytest.mark.parametrize("kind", ["random", "empty", "complete", "path", "fractions"])
    def test_the_bound_holds_and_is_tight(self, kind, rate):
        generator = np.random.default_rng(1)
        loose = np.triu(generator.integers(0, 2, (12, 12)), 1)
        wide = generator.integers(-(2**52), 2**52, (12, 12)) // 2
        matrices = {
            "random": loose + loose.T,
            "empty": np.zeros((12, 12)),
            "complete": 1 - np.eye(12),
            "path": np.eye(12, k=1) + np.eye(12, k=-1),
            "fractions": wide + wide.T,
        }
        form = form_of(matrices[kind], rate, 52 if kind == "fractions" else 0)
        envelope = find_envelope(form)
        stretched = envelope.vectors * envelope.stretches
        proposal = np.ldexp(stretched.astype(np.float64), -envelope.exponent)
        whole = form.units.astype(np.float64) * float(form.factor)
        inverse = np.linalg.inv(proposal @ proposal.T)
        largest = np.linalg.eigvalsh(whole + float(envelope.shape) / 2 * inverse)[-1]
        slack = float(envelope.top) - largest
        assert -1e-9 * (1 + abs(largest)) < slack < 1e-6 * (1 + abs(largest))

    def test_a_bound_that_is_too_small_is_not_proved(self):
        form = form_of(graph(6, [(0, 1), (1, 2), (2, 3)]))
        good = find_envelope(form)
        vectors = good.vectors.astype(np.int64)
        proof = bingham_envelope._Certificate(form, vectors, good.stretches, good.shape)
        assert proof.proves(good.top)
        assert not proof.proves(good.top - Fraction(1, 10**6))
        # Vectors that are not independent are never proved to serve.
        vectors[:, 1] = vectors[:, 0]
        broken = bingham_envelope._Certificate(form, vectors, good.stretches, good.shape)
        assert not any(broken.proves(good.top * 10**power) for power in range(12))

    def test_products_in_pieces_are_exact(self):
        generator = np.random.default_rng(2)
        left = generator.integers(-(2**62), 2**62, (7, 9))
        right = generator.integers(-(2**62), 2**62, (9, 5))
        pieces = [bingham_envelope._pieces(side) for side in (left, right)]
        found = bingham_envelope._join_pieces(bingham_envelope._product(*pieces))
        assert np.array_equal(found, left.astype(object) @ right.astype(object))

    def test_the_log_chance_is_never_positive(self, monkeypatch):
        tops = []
        original = exact_bingham._Proposal._log_chance

        def watched(proposal, centre):
            found = original(proposal, centre)
            tops.append(found)
            return found

        monkeypatch.setattr(exact_bingham._Proposal, "_log_chance", watched)
        drawn(form_of(graph(4, [(0, 1), (2, 3)]), 3), 100)
        assert all(low <= 0 and high <= Fraction(1, 2**50) for low, high in tops)


def direction(nodes, epsilon=1, sensitivity=1):
    return BinghamDirection(dimension=nodes, sensitivity=sensitivity, epsilon=epsilon)


def worst_ratio(primitive, here, there):
    return max(
        abs(primitive.log_probability(here, said) - primitive.log_probability(there, said))
        for said in primitive.extremes(here, there)
    )


class TestPrimitive:
    def test_the_worst_loss_on_two_nodes_is_what_the_bessel_function_says(self):
        here, there = graph(2, [(0, 1)]), graph(2, [])
        for epsilon in (0.1, 1, 20):
            expected = epsilon / 2 + math.log(special.iv(0, epsilon / 2))
            assert worst_ratio(direction(2, epsilon), here, there) == pytest.approx(expected)

    def test_no_pair_of_neighbours_with_four_nodes_loses_more_than_epsilon(self):
        pairs = list(itertools.combinations(range(4), 2))
        largest = 0.0
        for chosen in itertools.product((0, 1), repeat=5):
            edges = [pair for pair, kept in zip(pairs[1:], chosen, strict=True) if kept]
            here, there = graph(4, edges), graph(4, [*edges, pairs[0]])
            loss = worst_ratio(direction(4, 2), here, there)
            largest = max(largest, loss)
        assert 1 < largest <= 2

    def test_with_a_large_epsilon_the_loss_comes_close_to_it(self):
        here, there = graph(3, [(0, 1)]), graph(3, [])
        assert 0.95 < worst_ratio(direction(3, 400), here, there) / 400 <= 1

    def test_half_the_sensitivity_is_noticed(self):
        change = direction(3, sensitivity=Fraction(1, 2)).change(graph(3, [(0, 1)]), graph(3, []))
        assert not change.holds
        assert direction(3).change(graph(3, [(0, 1)]), graph(3, [])).holds
        assert direction(3).change(graph(3, []), graph(3, [])).measured == 0

    def test_the_renyi_divergence_is_within_an_eighth_of_epsilon_squared(self):
        here, there = graph(2, [(0, 1)]), graph(2, [])
        angles = np.linspace(0, 2 * np.pi, 200, endpoint=False)
        points = np.rint(np.array([np.cos(angles), np.sin(angles)]).T / STEP).astype(np.int64)
        for epsilon in (0.5, 3):
            primitive = direction(2, epsilon)
            one, other = (
                np.array([primitive.log_probability(side, point) for point in points])
                for side in (here, there)
            )
            one, other = one - np.logaddexp.reduce(one), other - np.logaddexp.reduce(other)
            for order in (1.5, 2, 10):
                divergence = np.logaddexp.reduce(order * one + (1 - order) * other) / (order - 1)
                assert 0 < divergence <= order * epsilon**2 / 8

    def test_cost_in_each_measure(self):
        assert direction(3).cost(PureDP) == PureDP(1)
        assert direction(3).cost(ApproxDP) == ApproxDP(1, 0)
        assert direction(3).cost(ZCDP) == ZCDP("1/8")

    def test_samples_are_int64_and_near_the_sphere(self):
        primitive = direction(6, 5)
        value = graph(6, [(0, 1), (1, 2)])
        primitive.check(value)
        with noise.seeded(1):
            said = primitive.sample(value)
        assert said.dtype == np.int64 and said.shape == (6,)
        assert np.linalg.norm(said * STEP) == pytest.approx(1, abs=1e-5)
        assert np.linalg.norm(primitive.read(said)) == pytest.approx(1)

    def test_cells_of_the_plane_carry_about_the_whole_law(self):
        # The arc is four sides long for the grid's step; a coarse sum stands for the cells.
        primitive, value = direction(2, 3), graph(2, [(0, 1)])
        angles = np.linspace(0, 2 * np.pi, 200, endpoint=False)
        total = sum(
            math.exp(primitive.log_probability(value, np.rint(point).astype(np.int64)))
            for point in np.array([np.cos(angles), np.sin(angles)]).T / STEP
        )
        assert total / STEP * 2 * np.pi / 200 == pytest.approx(1, abs=1e-4)

    @pytest.mark.parametrize(
        "bad", [[[0]], np.zeros((2, 2)), np.zeros((3, 3), np.int64), np.array([[0, 1], [0, 0]])]
    )
    def test_inputs_of_another_shape_or_type_are_refused(self, bad):
        with pytest.raises(ValueError, match="input"):
            direction(2).check(bad)

    def test_bad_figures_are_refused(self):
        for dimension in (0, 513, 2.0, True):
            with pytest.raises(ValueError, match="from 1 to 512"):
                direction(dimension)
        with pytest.raises(ValueError, match="positive"):
            direction(2, 0)
        with pytest.raises(ValueError, match="at most 2000000 times"):
            direction(2, 3 * LARGEST_RATE)
        for bits in (-1, 1.5):
            with pytest.raises(ValueError, match="bits"):
                BinghamDirection(dimension=2, bits=bits, sensitivity=1, epsilon=1)


def neighbours_with(nodes):
    """Yield every graph in which two given nodes are not joined, and the one in which they are."""
    pairs = list(itertools.combinations(range(nodes), 2))
    for chosen in itertools.product((0, 1), repeat=len(pairs) - 1):
        edges = [pair for pair, kept in zip(pairs[1:], chosen, strict=True) if kept]
        yield graph(nodes, edges), graph(nodes, [*edges, pairs[0]])


class TestGraphs:
    @pytest.mark.parametrize("nodes", [2, 3, 4])
    def test_an_edge_raises_the_constant_by_no_more_than_the_bound(self, nodes):
        for here, there in neighbours_with(nodes):
            spectra = [np.linalg.eigvalsh(side.astype(float)) for side in (here, there)]
            for rate in (Fraction(1, 100), Fraction(1, 4), 1, 5, 100):
                low, high = (log_mean_exponential(values * float(rate)) for values in spectra)
                bound = float(constant_move(nodes, Fraction(rate)) * rate)
                assert -1e-9 <= high - low <= bound + 1e-9

    def test_the_bound_holds_on_larger_graphs_that_are_hard(self):
        # Two nodes with common neighbours, a clique short of an edge, an edge in an empty graph.
        nodes = 40
        shared = [(end, node) for end in (0, 1) for node in range(2, nodes)]
        clique = [pair for pair in itertools.combinations(range(12), 2) if pair != (0, 1)]
        for edges in (shared, clique, []):
            spectra = [
                np.linalg.eigvalsh(graph(nodes, [*edges, *more]).astype(float))
                for more in ([], [(0, 1)])
            ]
            for rate in (Fraction(1, 4), 1, 2, 4, 20):
                low, high = (log_mean_exponential(values * float(rate)) for values in spectra)
                assert 0 <= high - low <= float(constant_move(nodes, Fraction(rate)) * rate) + 1e-9

    def test_the_bound_is_the_least_of_three(self):
        # With 101 nodes √(n − 1) = 10: 2κ(1 + 400κ)/101², then 2κ(1/2 + 10)/101, then 1.
        expected = {Fraction(1, 2): 201 / 10201, 1: 802 / 10201, 4: 84 / 101, 5: 1}
        for rate, bound in expected.items():
            assert float(constant_move(101, Fraction(rate))) == pytest.approx(bound)

    def test_the_rate_of_a_graph_is_between_half_of_epsilon_and_epsilon(self):
        for nodes, epsilon in itertools.product((1, 2, 50, 512), (Fraction(1, 10**6), 1, 10, 5000)):
            rate = graph_rate(nodes, Fraction(epsilon))
            assert Fraction(epsilon) / 2 <= rate <= epsilon
            assert rate * (1 + constant_move(nodes, rate)) <= epsilon
        assert float(graph_rate(105, Fraction(1))) == pytest.approx(0.937, abs=1e-3)
        assert graph_rate(105, Fraction(50)) == 25

    @pytest.mark.parametrize("epsilon", [Fraction(1, 10), 1, 6])
    def test_no_pair_of_neighbours_loses_more_than_epsilon(self, epsilon):
        primitive = BinghamDirection(dimension=4, sensitivity=1, epsilon=epsilon, adjacency=True)
        losses = [worst_ratio(primitive, *pair) for pair in neighbours_with(4)]
        assert 0.5 * float(epsilon) < max(losses) <= float(epsilon)
        for pair in neighbours_with(4):
            assert primitive.change(*pair).measured == 1

    def test_what_is_not_a_graph_is_refused(self):
        primitive = BinghamDirection(dimension=2, sensitivity=1, epsilon=1, adjacency=True)
        for bad in ([[1, 0], [0, 0]], [[0, 2], [2, 0]], [[0, -1], [-1, 0]]):
            with pytest.raises(ValueError, match="the adjacency matrix of a simple graph"):
                primitive.check(np.array(bad))
        with pytest.raises(ValueError, match="made of 0 and 1"):
            BinghamDirection(dimension=2, sensitivity=2, epsilon=1, adjacency=True)

    def test_under_zcdp_the_rate_counts(self):
        primitive = BinghamDirection(dimension=105, sensitivity=1, epsilon=1, adjacency=True)
        assert primitive.cost(PureDP) == PureDP(1)
        assert primitive.cost(ZCDP).rho == primitive.rate**2 / 2


class TestBasis:
    def test_what_is_left_is_orthogonal_to_what_was_said(self):
        space, vectors = whole_space(7), []
        with noise.seeded(2):
            for _ in range(7):
                said = space.primitive(Fraction(3)).sample(space.form(graph(7, [(0, 1)])))
                vectors.append(space.vector(said))
                if space.dimension > 1:
                    space = space.without(said)
        found = np.array(vectors)
        assert found @ found.T == pytest.approx(np.eye(7), abs=1e-14)

    def test_a_direction_along_an_axis_leaves_the_others(self):
        for sign in (1, -1):
            space = whole_space(3).without(np.array([sign << GRID_BITS, 0, 0]))
            assert np.array_equal(space.columns[0], [0, 0])
            assert space.sensitivity == 1

    def test_no_edge_moves_the_form_by_more_than_the_sensitivity(self):
        with noise.seeded(4):
            said = direction(6).sample(graph(6, []))
        space = whole_space(6).without(said)
        assert abs(space.sensitivity - 1) < Fraction(1, 10**6)
        primitive = space.primitive(Fraction(1))
        base = space.form(graph(6, []))
        for pair in itertools.combinations(range(6), 2):
            assert primitive.change(base, space.form(graph(6, [pair]))).holds

    def test_a_basis_that_is_far_from_orthogonal_is_more_sensitive(self):
        # Columns (1, 0, 0) and (3/5, 4/5, 0): the largest row sum of the products is 8/5.
        one = 1 << 60
        columns = [[one, 3 * one // 5], [0, 4 * one // 5], [0, 0]]
        space = Complement(np.array(columns, dtype=object))
        assert float(space.sensitivity) == pytest.approx(1.6, abs=1e-6)
        gram = np.ldexp((space._rounded.T @ space._rounded).astype(float), -52)
        assert float(space.sensitivity) >= np.linalg.eigvalsh(gram)[-1]
        primitive, base = space.primitive(Fraction(1)), space.form(graph(3, []))
        change = primitive.change(base, space.form(graph(3, [(0, 1)])))
        assert 1 < change.measured <= change.allowed

    def test_the_next_direction_follows_the_law_in_what_is_left(self):
        # In a plane xᵀSx = m + (gap/2)·cos 2(θ − θ₀): von Mises with rate·gap/2; at 1e-7.
        value = graph(3, [(0, 1), (1, 2)])
        space = whole_space(3).without(np.array([3 << 18, -(1 << 19), 1 << 18]))
        primitive, form = space.primitive(Fraction(12)), space.form(value)
        values, turned = np.linalg.eigh(form * 2.0**-52)
        strength = float(primitive.rate) * (values[1] - values[0]) / 2
        draws = drawn(form_of(form, primitive.rate, 52), 400) @ turned
        angles = np.angle((draws[:, 1] + 1j * draws[:, 0]) ** 2)
        assert stats.kstest(angles, stats.vonmises(strength).cdf).pvalue > 1e-7
        assert stats.kstest(angles, stats.vonmises(strength / 3).cdf).pvalue < 1e-7


class TestChain:
    def test_one_edge_never_moves_the_score_by_more_than_the_bound(self):
        generator = np.random.default_rng(5)
        edge = graph(5, [(1, 3)])
        for weights in ((3, 2, 1), (3, -1, -2), (-1, -2, -4), (0, 0, 0), (2, 2, -2)):
            bound = float(largest_move(tuple(map(Fraction, weights))))
            best = 0.0
            for _ in range(300):
                frame = np.linalg.qr(generator.standard_normal((5, 3)))[0]
                best = max(best, abs(np.einsum("ir,ij,jr,r->", frame, edge, frame, weights)))
            assert best <= bound + 1e-12
            # Ky Fan's choice of vectors attains it.
            high, low = np.zeros(5), np.zeros(5)
            high[[1, 3]], low[[1, 3]] = math.sqrt(0.5), [math.sqrt(0.5), -math.sqrt(0.5)]
            attained = max(0, *weights) * high @ edge @ high
            attained += min(0, *weights) * low @ edge @ low
            assert attained == pytest.approx(bound)

    def test_one_vector_is_drawn_exactly_by_a_single_sweep(self):
        # Von Mises again, at 1e-7.
        chain = BinghamChain(nodes=2, weights=(Fraction(2),), sweeps=1)
        with noise.seeded(6):
            draws = np.array([chain.sample(graph(2, [(0, 1)]))[:, 0] for _ in range(200)]) * STEP
        angles = np.angle((draws[:, 0] + 1j * draws[:, 1]) ** 2 / 1j)
        assert stats.kstest(angles, stats.vonmises(2).cdf).pvalue > 1e-7
        assert chain.cost(PureDP) == PureDP(4)

    def test_a_chain_that_is_stopped_can_be_far_from_its_aim(self):
        # Under the law aimed at the first vector is nearly the top eigenvector, always. The chain
        # turns the plane of the first two only slowly, and has not come round after five sweeps.
        value = graph(5, [(0, 1), (1, 2), (2, 0), (3, 4)])
        chain = BinghamChain(nodes=5, weights=(Fraction(900), Fraction(300)), sweeps=5)
        with noise.seeded(7):
            said = chain.sample(value)
        top = np.linalg.eigh(value)[1][:, [-1, -2]]
        assert abs(said[:, 0] @ top[:, 0]) * STEP < 0.5
        best = chain.log_probability(value, np.rint(top / STEP).astype(np.int64))
        assert best == pytest.approx(2100) and chain.log_probability(value, said) < best - 100

    def test_prices_are_computed_anew_from_signatures(self):
        for primitive in (
            direction(3, Fraction(1, 7), Fraction(10**9 + 1, 10**9)),
            BinghamChain(nodes=4, weights=(Fraction(5, 3), Fraction(-1, 7)), sweeps=3),
            LowRankChain(nodes=4, count=1, epsilon=Fraction(9), sweeps=3),
        ):
            assert price_of(primitive.signature(), PureDP) == primitive.cost(PureDP)

    def test_random_frames_are_orthonormal(self):
        with noise.seeded(1):
            frame = random_frame(6, 3)
        assert frame.T @ frame == pytest.approx(np.eye(3))


class TestPublished:
    def test_the_published_claim_is_exceeded(self):
        # One edge more or less on three nodes: the exact joint law of (λ, u) is known, and at an
        # eigenvalue that is likely on one side the loss is larger than was claimed.
        claim = published_eigenvalue_claim(3, 1)
        primitive = LowRankChain(nodes=3, count=1, epsilon=Fraction(5), sweeps=1)
        here, there = graph(3, [(0, 1)]), graph(3, [])
        assert float(primitive.epsilon) - claim > 3
        losses = [
            primitive.log_probability(here, said) - primitive.log_probability(there, said)
            for said in primitive.extremes(here, there)
        ]
        assert max(np.abs(losses)) > 3 * float(primitive.epsilon)

    def test_what_exceeds_it_is_not_rare(self):
        # P(loss > ε) under the first graph, by numerical integration over λ and the angle of u.
        primitive = LowRankChain(nodes=2, count=1, epsilon=Fraction(12), sweeps=1)
        here, there = graph(2, [(0, 1)]), graph(2, [])
        values = np.linspace(-20, 20, 81)
        angles = np.linspace(0, np.pi, 40, endpoint=False)
        failed = total = 0.0
        for value, angle in itertools.product(values, angles):
            said = np.array([[value], [math.cos(angle)], [math.sin(angle)]]) / STEP
            density, other = _densities(primitive, here, there, said)
            total += math.exp(density)
            if density - other > 12:
                failed += math.exp(density)
        assert failed / total == pytest.approx(0.765, abs=0.05)

    def test_the_claim_grows_with_the_noise(self):
        # More nodes mean a larger variance of the eigenvalues and, absurdly, a larger claim.
        claims = [published_eigenvalue_claim(nodes, 5) for nodes in (2, 10, 147)]
        assert claims == sorted(claims)
        assert claims[-1] == pytest.approx(13.86, abs=0.01)

    def test_an_epsilon_below_the_claim_for_eigenvalues_is_refused(self):
        with pytest.raises(ValueError, match=r"claims 13\.86"):
            LowRankChain(nodes=147, count=5, epsilon=Fraction(10), sweeps=1)

    def test_it_draws(self):
        primitive = LowRankChain(nodes=4, count=2, epsilon=Fraction(40), sweeps=2)
        with noise.seeded(8):
            said = primitive.sample(graph(4, [(0, 1), (1, 2)]))
        assert said.shape == (5, 2)
        assert np.linalg.norm(said[1:] * STEP, axis=0) == pytest.approx([1, 1], abs=1e-5)


_constants = {}


def _densities(primitive, here, there, said):
    """Return both log-densities, with the constants computed once."""
    found = []
    for side in (here, there):
        key = side.tobytes()
        if key not in _constants:
            spectrum = primitive.strength(side) * np.linalg.eigvalsh(side.astype(float)) / 2
            _constants[key] = primitive._log_constant(spectrum)
        alpha = primitive.strength(side)
        value, vector = said[0, 0] * STEP, said[1:, 0] * STEP
        exponent = alpha * value * (vector @ side @ vector) / 2
        found.append(exponent - value**2 / (2 * primitive.variance) - _constants[key])
    return found
