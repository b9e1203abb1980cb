"""The arithmetic of a model inversion: worked examples, and brute force over all records."""

from itertools import product

import numpy as np
import pytest

from sfumato.attacks.model_inversion import SumLaw, likeliest, output_chances

NOTHING = SumLaw.of([], [], generator=np.random.default_rng(0))


def test_the_worked_example_of_the_literature():
    prior = np.array([0.534, 0.466])
    # Rows: what is true; columns: what is predicted. Value 0 makes the model say no, value 1 yes.
    confusion = np.array([[0.85, 0.30], [0.15, 0.70]])
    sums, edges = np.array([-1.0, 1.0]), np.zeros(1)
    chances = np.stack([output_chances(NOTHING, sums[[z, z]], edges) for z in (0, 1)], axis=1)
    likelihood = np.einsum("yk,yzk->yz", confusion, chances)
    assert prior * likelihood[1] == pytest.approx([0.0801, 0.3262], abs=1e-4)
    assert prior * likelihood[0] == pytest.approx([0.4539, 0.1398], abs=1e-4)
    assert likeliest(prior, likelihood).tolist() == [0, 1]


def test_of_equals_the_first_is_guessed_and_without_any_clue_the_most_frequent():
    prior = np.array([0.2, 0.4, 0.4])
    assert likeliest(prior, np.ones((1, 3))).tolist() == [1]
    assert likeliest(prior, np.zeros((2, 3))).tolist() == [1, 1]
    assert likeliest(np.ones(1), np.full((3, 1), 0.5)).tolist() == [0, 0, 0]


def test_a_sum_on_an_edge_is_below_it():
    edges = np.array([-0.5, 0.0, 0.5])
    chances = output_chances(NOTHING, np.array([-1.0, -0.5, 0.0, 0.1, 0.5, 0.6]), edges)
    assert chances.argmax(axis=1).tolist() == [0, 0, 1, 2, 2, 3]


def law(most):
    draw = np.random.default_rng(3)
    adds = [draw.normal(size=size) for size in (2, 3, 5)]
    priors = [draw.dirichlet(np.ones(size)) for size in (2, 3, 5)]
    made = SumLaw.of(adds, priors, most=most, samples=40_000, generator=np.random.default_rng(4))
    return made, adds, priors


def test_all_combinations_of_unknown_columns_are_added_up():
    made, adds, priors = law(30)
    for limit in np.linspace(-4, 4, 17):
        wanted = sum(
            np.prod([prior[value] for prior, value in zip(priors, values, strict=True)])
            for values in product(range(2), range(3), range(5))
            if sum(add[value] for add, value in zip(adds, values, strict=True)) <= limit
        )
        assert made.at_most(np.array(limit)) == pytest.approx(wanted)


def test_a_sample_of_combinations_comes_close_to_all_of_them():
    every, sample = law(30)[0], law(29)[0]
    limits = np.linspace(-4, 4, 33)
    # By the inequality of Dvoretzky, Kiefer and Wolfowitz, off by more than 0.015 with a
    # probability of less than 4e-8 at 40,000 draws.
    assert np.abs(every.at_most(limits) - sample.at_most(limits)).max() < 0.015
