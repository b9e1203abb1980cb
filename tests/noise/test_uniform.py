import numpy as np
import pytest

from sfumato import noise


@pytest.mark.parametrize("bound", [2, 3, 10, 64, 100])
def test_every_value_is_equally_likely(bound, yardstick, seeded_noise):
    draws = noise.uniform_integers(200_000, bound=bound)
    assert draws.dtype == np.int64
    assert yardstick.chi_square_fits(draws, dict.fromkeys(range(bound), 1 / bound))
    assert not yardstick.chi_square_fits(
        draws, dict.fromkeys(range(bound + max(1, bound // 10)), 1 / (bound + max(1, bound // 10)))
    )


@pytest.mark.parametrize("bound", [2**63, 2**63 - 1, 2**62 + 1, 2**63 + 1, 2**64, 10**40])
def test_large_bounds_are_uniform_too(bound, yardstick, seeded_noise):
    draws = noise.uniform_integers(20_000, bound=bound)
    assert draws.dtype == (np.int64 if bound <= 2**63 else np.object_)
    assert all(0 <= draw < bound for draw in draws.tolist())
    cells = np.array([draw * 20 // bound for draw in draws.tolist()])
    assert yardstick.chi_square_fits(cells, dict.fromkeys(range(20), 1 / 20))
    lowest = np.array([draw % 8 for draw in draws.tolist()])
    assert yardstick.chi_square_fits(lowest, dict.fromkeys(range(8), 1 / 8))


def test_shapes_and_plain_values(seeded_noise):
    assert noise.uniform_integers((2, 3), bound=5).shape == (2, 3)
    assert noise.uniform_integers((2, 3), bound=10**30).shape == (2, 3)
    assert noise.uniform_integers(0, bound=5).shape == (0,)
    assert type(noise.uniform_integers(bound=5)) is int
    assert type(noise.uniform_integers(bound=10**30)) is int
    assert noise.uniform_integers(4, bound=1).tolist() == [0, 0, 0, 0]


def test_seeded_draws_are_fixed_for_ever():
    with noise.seeded("uniform"):
        assert noise.uniform_integers(8, bound=1000).tolist() == [
            865,
            959,
            459,
            241,
            348,
            13,
            633,
            910,
        ]
        assert noise.uniform_integers(2, bound=10**30).tolist() == [
            546213497517956033333755669452,
            746796583427264704291697806666,
        ]


@pytest.mark.parametrize("bound", [0, -3])
def test_a_bound_must_be_positive(bound):
    with pytest.raises(ValueError, match="bound must be at least 1"):
        noise.uniform_integers(1, bound=bound)


@pytest.mark.parametrize("bound", [2.0, "3", True, None])
def test_a_bound_must_be_an_integer(bound):
    with pytest.raises(TypeError, match="bound must be an integer"):
        noise.uniform_integers(1, bound=bound)
