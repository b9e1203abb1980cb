import hashlib
from fractions import Fraction
from importlib import import_module
from itertools import product
from math import prod

import numpy as np
import pytest

from sfumato import noise
from sfumato.noise import _kernels, laplace
from sfumato.noise.digits import play

SCALES = ["1/4", "1", "10", "123.4", "1000"]


def _digest(draws):
    return hashlib.sha256(draws.astype("<i8").tobytes()).hexdigest()[:16]


def _laplace_cumulative(scale):
    q = np.exp(-1 / scale)

    def cumulative(x):
        tail = np.exp(-np.abs(np.where(x < 0, x, x + 1)) / scale) / (1 + q)
        return np.where(x < 0, tail, 1 - tail)

    return cumulative


def _laplace_probabilities(scale, reach):
    p = np.tanh(0.5 / scale) * np.exp(-np.abs(np.arange(-reach, reach + 1)) / scale)
    return dict(zip(range(-reach, reach + 1), p.tolist(), strict=True))


@pytest.mark.parametrize("q", [Fraction(1, 3), Fraction(9, 10), Fraction(999, 1000)])
@pytest.mark.parametrize("planes", [0, 1, 3, 5])
def test_independent_binary_digits_and_a_tail_make_a_geometric_exactly(q, planes):
    digit = [q ** (2**i) / (1 + q ** (2**i)) for i in range(planes)]
    tail = q ** (2**planes)
    for bits, laps in product(product((0, 1), repeat=planes), range(3)):
        g = sum(bit << i for i, bit in enumerate(bits)) + (laps << planes)
        p = prod(
            (p if bit else 1 - p for p, bit in zip(digit, bits, strict=True)), start=Fraction(1)
        )
        assert p * tail**laps * (1 - tail) == (1 - q) * q**g


@pytest.mark.parametrize("q", [Fraction(1, 3), Fraction(9, 10)])
def test_zero_sign_and_geometric_make_a_two_sided_geometric_exactly(q):
    zero = (1 - q) / (1 + q)
    assert zero == 1 - 2 * (q / (1 + q))  # what the first row of the table holds, as 2/(1 + eˣ)
    for x in range(1, 20):
        assert (1 - zero) / 2 * (1 - q) * q ** (x - 1) == zero * q**x


@pytest.mark.parametrize("scale", ["1e-9", "1/4", "1", "10", "1000", 2**52])
def test_the_table_holds_the_digits_of_those_probabilities(scale):
    scale = Fraction(scale)
    planes = laplace.digit_planes(scale)
    assert 2**planes >= 5 * scale
    assert planes == 0 or 2 ** (planes - 1) < 5 * scale
    masks = laplace._table(scale).masks
    assert masks.shape[0] == planes + 2
    weights = 0.5 ** np.arange(1, 65)
    values = ((masks[:, :64] != 0) * weights).sum(axis=1)
    x = float(1 / scale)
    with np.errstate(over="ignore"):
        expected = [2 / (1 + np.exp(x)), np.exp(-(2.0**planes) * x)]
        expected += [1 / (1 + np.exp(2.0**i * x)) for i in range(planes)]
    np.testing.assert_allclose(values, expected, rtol=1e-9, atol=1e-18)


def _value(planes, word, place):
    return sum((planes[i][word] >> place & 1) << i for i in range(len(planes)))


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize(("scale", "width"), [("1/4", 3), ("1", 64), ("10", 5), ("300", 2)])
def test_the_kernel_assembles_the_coins_it_throws(scale, width, signed):
    table = laplace._table(Fraction(scale))
    planes = table.masks.shape[0] - 2
    tape = noise.Bits("assemble").words(60_000)
    out = np.empty(64 * width, dtype=np.int64)
    status, _used, done = _kernels.geometric(tape, table.masks, False, out, 0, signed, width)
    assert (status, done) == (_kernels.DONE, out.size)

    position = width if signed else 0
    thrown = []
    order = [0] * signed + list(range(2, planes + 2)) + [1]
    for row in order:
        heads, lanes = np.empty(width, np.uint64), np.empty(width, np.uint64)
        position, status = _kernels.throw(tape, position, table.masks[row], False, heads, lanes)
        assert status == _kernels.DONE
        thrown.append(heads.tolist())
    nonzero = thrown.pop(0) if signed else None
    tails = thrown.pop()
    for word in range(width):
        for place in range(64):
            g = _value(thrown, word, place)
            draw = int(out[(place % 8) * 8 * width + 8 * word + place // 8])
            if signed and not nonzero[word] >> place & 1:
                assert draw == 0
                continue
            if signed:
                assert (draw < 0) == bool(int(tape[word]) >> place & 1)
                draw = abs(draw) - 1
            assert draw % (1 << planes) == g
            assert (draw >> planes > 0) == bool(tails[word] >> place & 1)


@pytest.mark.parametrize("scale", SCALES)
def test_discrete_laplace_has_the_law_it_names_and_no_other_scale(scale, yardstick, seeded_noise):
    draws = noise.discrete_laplace(200_000, scale=scale)
    truth = float(Fraction(scale))
    assert yardstick.cumulative_fits(draws, _laplace_cumulative(truth))
    assert not yardstick.cumulative_fits(draws, _laplace_cumulative(0.9 * truth))
    assert not yardstick.cumulative_fits(draws, _laplace_cumulative(1.1 * truth))
    reach = 8 * max(1, round(truth))
    assert yardstick.chi_square_fits(draws, _laplace_probabilities(truth, reach))
    assert not yardstick.chi_square_fits(draws, _laplace_probabilities(0.9 * truth, reach))
    assert not yardstick.chi_square_fits(draws, _laplace_probabilities(1.1 * truth, reach))


@pytest.mark.parametrize("scale", ["1/4", "1", "50"])
def test_geometric_has_the_law_it_names_and_no_other_scale(scale, yardstick, seeded_noise):
    draws = noise.geometric(200_000, scale=scale)
    truth = float(Fraction(scale))

    def cumulative_of(s):
        return lambda g: np.where(g < 0, 0.0, 1 - np.exp(-(g + 1) / s))

    assert draws.min() == 0
    assert yardstick.cumulative_fits(draws, cumulative_of(truth))
    assert not yardstick.cumulative_fits(draws, cumulative_of(0.9 * truth))
    assert not yardstick.cumulative_fits(draws, cumulative_of(1.1 * truth))
    p = {g: float((1 - np.exp(-1 / truth)) * np.exp(-g / truth)) for g in range(400)}
    assert yardstick.chi_square_fits(draws, p)


def test_the_tail_beyond_the_drawn_digits_has_the_right_weight(yardstick, seeded_noise):
    draws = np.abs(noise.discrete_laplace(2_000_000, scale=3))
    planes = laplace.digit_planes(Fraction(3))
    for laps in (1, 2):
        edge = laps << planes
        beyond = int((draws > edge).sum())
        p = 2 * np.exp(-(edge + 1) / 3) / (1 + np.exp(-1 / 3))
        assert yardstick.frequency_fits(beyond, draws.size, p)


def test_places_within_a_block_are_alike_and_independent(yardstick, seeded_noise):
    draws = noise.discrete_laplace((2000, 4096), scale=1)
    zero = float(np.tanh(0.5))
    zeros = draws == 0
    for place in range(0, 4096, 97):
        assert yardstick.frequency_fits(int(zeros[:, place].sum()), 2000, zero)
    for distance in (1, 8, 64, 512):
        pairs = int((zeros[:, :-distance] & zeros[:, distance:]).sum())
        assert yardstick.frequency_fits(pairs, 2000 * (4096 - distance), zero**2)


def test_a_tiny_scale_gives_zeros_and_a_huge_one_fits(yardstick, seeded_noise):
    assert not noise.discrete_laplace(100_000, scale=1e-9).any()
    assert not noise.discrete_laplace(1000, scale="1e-4000").any()
    assert not noise.geometric(1000, scale=Fraction(1, 10**30)).any()
    for scale in (10**15, 2**52):
        draws = noise.discrete_laplace(100_000, scale=scale)
        assert yardstick.cumulative_fits(draws, _laplace_cumulative(float(scale)))
        assert not yardstick.cumulative_fits(draws, _laplace_cumulative(0.9 * scale))
        parity = draws & 1
        assert yardstick.frequency_fits(int(parity.sum()), draws.size, 0.5)


def test_a_draw_that_does_not_fit_raises_instead_of_wrapping():
    table = laplace._table(Fraction(2**52))
    tape = np.zeros(1_000_000, dtype=np.uint64)  # the lowest random numbers there are: all heads
    out = np.empty(1, dtype=np.int64)
    status, used, done = _kernels.geometric(tape, table.masks, False, out, 0, False, 1)
    assert (status, used, done) == (_kernels.OVERFLOW, 0, 0)
    with noise.seeded(1), pytest.raises(OverflowError, match="does not fit"):
        play(lambda *_: (_kernels.OVERFLOW, 0, 0), table, out)


@pytest.mark.parametrize("scale", [2**52 + 1, 10**18, Fraction(10**40, 3)], ids=float)
def test_scales_beyond_int64_have_the_right_law_in_python_integers(scale, yardstick, seeded_noise):
    draws = noise.discrete_laplace(50_000, scale=scale)
    assert draws.dtype == object
    assert all(type(draw) is int for draw in draws.tolist())
    for factor, fits in ((1, True), (Fraction(9, 10), False), (Fraction(11, 10), False)):
        cells = np.array([draw * 1000 // (scale * factor) for draw in draws.tolist()], np.int64)
        assert yardstick.cumulative_fits(cells, _continuous_cumulative) is fits
    for place in (0, 1, 5):
        ones = sum(draw >> place & 1 for draw in draws.tolist())
        assert yardstick.frequency_fits(ones, draws.size, 0.5)
    draws = noise.geometric(50_000, scale=scale)
    cells = np.array([draw * 1000 // scale for draw in draws.tolist()], dtype=np.int64)
    assert yardstick.cumulative_fits(cells, lambda g: 1 - np.exp(-np.maximum(g + 1, 0) / 1000))
    assert type(noise.discrete_laplace(scale=scale)) is int


def _continuous_cumulative(cell):
    """The chance that a Laplace of scale 1000 lies below the upper end of a cell."""
    x = cell + 1
    tail = 0.5 * np.exp(-np.abs(x) / 1000)
    return np.where(x < 0, tail, 1 - tail)


def test_low_coins_and_high_geometric_agree_with_the_digits_of_a_small_scale(
    monkeypatch, yardstick, seeded_noise
):
    monkeypatch.setattr(laplace, "LARGEST_INT64_SCALE", 2)
    draws = noise.discrete_laplace(100_000, scale=10).astype(np.int64)
    assert yardstick.chi_square_fits(draws, _laplace_probabilities(10, 80))
    assert not yardstick.chi_square_fits(draws, _laplace_probabilities(11, 80))


@pytest.mark.parametrize("block_words", [37, 1000, 1 << 15])
def test_the_size_of_the_buffer_changes_nothing(monkeypatch, block_words):
    def draw():
        with noise.seeded("buffer"):
            return np.concatenate(
                [
                    noise.discrete_laplace(n, scale=s)
                    for n, s in [(10_000, 2), (1, 1), (4097, 20), (65, "1/7")]
                ]
            )

    expected = draw()
    monkeypatch.setattr(import_module("sfumato.noise.bits"), "BLOCK_WORDS", block_words)
    assert (draw() == expected).all()


@pytest.mark.parametrize("first_digits", [1, 8])
def test_a_short_table_of_digits_changes_nothing(monkeypatch, first_digits):
    with noise.seeded("digits"):
        expected = noise.discrete_laplace(9000, scale="7/2")
    monkeypatch.setattr("sfumato.noise.digits.FIRST_DIGITS", first_digits)
    laplace._table.cache_clear()
    try:
        with noise.seeded("digits"):
            assert (noise.discrete_laplace(9000, scale="7/2") == expected).all()
        assert laplace._table(Fraction(7, 2)).masks.shape[1] > first_digits
    finally:
        laplace._table.cache_clear()


def test_seeded_draws_are_fixed_for_ever():
    with noise.seeded(2024):
        assert noise.discrete_laplace(12, scale=1).tolist() == [
            -1,
            0,
            -1,
            -1,
            -2,
            0,
            -1,
            -1,
            2,
            -1,
            2,
            1,
        ]
        assert [noise.discrete_laplace(scale=10) for _ in range(6)] == [7, -21, -6, 3, 0, -22]
        digests = [_digest(noise.discrete_laplace(10_000, scale=s)) for s in (1, 10, 1000, 10**15)]
        digests.append(_digest(noise.geometric(10_000, scale="22/7")))
    assert digests == [
        "1ca151074e506946",
        "375dedc6aa0697af",
        "f7cfe91987e5c80e",
        "482b514b5f732ecc",
        "525c70cd4a4bd831",
    ]


def test_shapes_and_plain_values(seeded_noise):
    assert type(noise.discrete_laplace(scale=3)) is int
    assert type(noise.geometric(scale=3)) is int
    assert noise.discrete_laplace(0, scale=3).shape == (0,)
    draws = noise.discrete_laplace((3, 0, 2), scale=3)
    assert (draws.shape, draws.dtype) == ((3, 0, 2), np.int64)
    assert noise.discrete_laplace((70, 70), scale=3).shape == (70, 70)


def test_equal_scales_written_differently_give_equal_noise():
    draws = []
    for scale in (0.1, "0.1", "1/10", Fraction(1, 10), np.float32(0.1)):
        with noise.seeded(3):
            draws.append(noise.discrete_laplace(50_000, scale=scale).tolist())
    assert all(draw == draws[0] for draw in draws)


@pytest.mark.parametrize("sampler", [noise.discrete_laplace, noise.geometric])
@pytest.mark.parametrize("scale", [0, -1, "0", float("nan"), float("inf")])
def test_bad_scales_are_refused_before_a_bit_is_drawn(sampler, scale):
    with noise.seeded(1) as source:
        with pytest.raises(ValueError, match="scale"):
            sampler(3, scale=scale)
        assert source.words(1) == noise.Bits(1).words(1)


def test_threads_draw_at_the_same_time_without_sharing_noise():
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(4) as pool:
        parts = list(pool.map(lambda _: noise.discrete_laplace(50_000, scale=10**12), range(8)))
    draws = np.concatenate(parts)
    assert np.unique(draws).size > draws.size - 5
