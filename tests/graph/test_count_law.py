"""The law of a noisy count is a law, and its quantiles are its own."""

from itertools import combinations

import pytest

import sfumato as sf


@pytest.fixture(scope="module")
def graph():
    triangles = [pair for start in (0, 4, 6) for pair in combinations(range(start, start + 4), 2)]
    return sf.Graph(triangles, 12)


@pytest.mark.parametrize("mechanism", ["ladder", "smooth", "laplace"])
@pytest.mark.parametrize("epsilon", ["0.5", "3"])
def test_the_law_adds_up_and_knows_its_quantiles(mechanism, epsilon, graph):
    law = sf.SubgraphCount(epsilon=epsilon, mechanism=mechanism).law(graph)
    assert law.value == graph.counts.triangles()
    reach = law.quantile(0.999)
    chances = {d: law.probability(law.value + d) for d in range(-reach, reach + 1)}
    assert 0.995 < sum(chances.values()) < 1 + 1e-9
    assert all(chances[d] == pytest.approx(chances[-d]) for d in range(reach))
    for probability in (0.5, 0.95):
        most = law.quantile(probability)
        inside = sum(chances[d] for d in range(-most, most + 1))
        # Quantiles are rounded up, by one or two: they hold at least what they say.
        assert inside >= probability - 0.01
        assert sum(chances[d] for d in range(2 - most, most - 1)) <= probability + 0.01


def test_the_probability_of_one_number_keeps_its_digits_under_huge_noise():
    star = sf.Graph([(0, leaf) for leaf in range(1, 60)], 60)
    law = sf.SubgraphCount(epsilon=1, shape="star", k=30, mechanism="smooth").law(star)
    scale = int(law.given.bound * law.noise.calibration.factor)
    # The integral of 1/(1 + |z|³) is 4π/√27.
    peak = 27**0.5 / (4 * 3.141592653589793 * scale)
    assert law.probability(law.value) == pytest.approx(peak, rel=1e-6)
    assert law.probability(law.value + scale) == pytest.approx(peak / 2)


def test_a_count_that_cannot_differ_is_certain():
    law = sf.SubgraphCount(epsilon=1).law(sf.Graph([(0, 1)], 2))
    assert (law.probability(0), law.probability(1), law.quantile(0.95)) == (1.0, 0.0, 0)
