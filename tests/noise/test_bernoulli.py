import hashlib
from fractions import Fraction
from importlib import import_module

import numpy as np
import pytest

from sfumato import noise
from sfumato.noise import _kernels
from sfumato.noise import digits as digits_module
from sfumato.noise.bernoulli import below, decide
from sfumato.noise.digits import DigitTable
from sfumato.noise.expansions import Expansion, exponential, rational

ONES = 2**64 - 1


def _reference_coins(tape, expansion, words):
    """Throw coins one bit at a time, reading the tape in the order that `_kernels` documents."""
    tape = iter(tape)
    heads = []
    for start in range(0, words, _kernels.WIDTH):
        width = min(_kernels.WIDTH, words - start)
        read = [[next(tape) for _ in range(width)] for _ in range(_kernels.COMMON_ROUNDS)]
        block = [_Lanes(expansion, [row[w] for row in read]) for w in range(width)]
        for first in range(0, width, _kernels.SHARING):
            group = block[first : first + _kernels.SHARING]
            open_places = [place for lanes in group for place in lanes.open]
            shared = len(set(open_places)) == len(open_places)
            for part in [group] if shared else [[lanes] for lanes in group]:
                while any(lanes.open for lanes in part):
                    word = next(tape)
                    for lanes in part:
                        lanes.read(word)
        heads += [lanes.heads() for lanes in block]
    return heads


class _Lanes:
    """The 64 coins of one word."""

    def __init__(self, expansion, words):
        self.expansion, self.open, self.result, self.count = expansion, set(range(64)), set(), 0
        for word in words:
            self.read(word)

    def read(self, word):
        self.count += 1
        digit = self.expansion.prefix(self.count) & 1
        for place in list(self.open):
            bit = word >> place & 1
            if bit != digit:
                self.open.remove(place)
                if bit < digit:
                    self.result.add(place)

    def heads(self):
        return sum(1 << place for place in self.result)


@pytest.mark.parametrize("words", [1, 3, 64, 131])
@pytest.mark.parametrize(
    "expansion",
    [rational(Fraction(1, 3)), rational(Fraction(1, 1000)), exponential(Fraction(1, 50))],
)
def test_the_kernel_agrees_with_a_coin_thrown_bit_by_bit(words, expansion):
    tape = noise.Bits("tape").words(3000)
    out = np.zeros(words, dtype=np.uint64)
    table = DigitTable([expansion])
    status, _used, done = _kernels.coins(tape, table.masks, False, out, 0)
    assert (status, done) == (_kernels.DONE, words)
    assert out.tolist() == _reference_coins(tape.tolist(), expansion, words)


def test_a_terminating_expansion_reads_no_further_than_its_end():
    tape = noise.Bits("tape").words(64)
    out = np.zeros(1, dtype=np.uint64)
    table = DigitTable([rational(Fraction(1, 2))])
    status, used, _ = _kernels.coins(tape, table.masks, True, out, 0)
    assert (status, used) == (_kernels.DONE, 1)
    assert int(out[0]) == ONES ^ int(tape[0])


@pytest.mark.parametrize("p", ["1/3", "1/2", "3/4", 0.001, 0.999, "1/1000003"])
def test_rational_coins_are_fair_to_their_probability(p, yardstick, seeded_noise):
    throws = 400_000
    heads = int(noise.bernoulli(throws, probability=p).sum())
    truth = float(noise.exact(p))
    assert yardstick.frequency_fits(heads, throws, truth)
    if truth > 0.01:
        assert not yardstick.frequency_fits(heads, throws, truth * 0.9)
        assert not yardstick.frequency_fits(heads, throws, min(truth * 1.1, 0.9999999))


@pytest.mark.parametrize("x", ["1/100", "1", 0.7, 5, "22/7"])
def test_exponential_coins_are_fair_to_their_probability(x, yardstick, seeded_noise):
    throws = 400_000
    heads = int(noise.bernoulli_exp(throws, exponent=x).sum())
    exponent = float(noise.exact(x))
    assert yardstick.frequency_fits(heads, throws, float(np.exp(-exponent)))
    assert not yardstick.frequency_fits(heads, throws, float(np.exp(-1.1 * exponent)))
    assert not yardstick.frequency_fits(heads, throws, float(np.exp(-0.9 * exponent)))


def test_lanes_that_share_random_words_are_independent(yardstick, seeded_noise):
    words = 40_000
    coins = noise.bernoulli(words * 64, probability="1/3").reshape(words // 4, 4, 64)
    for first, second in [(0, 1), (1, 3), (2, 3)]:
        both = int((coins[:, first] & coins[:, second]).sum())
        assert yardstick.frequency_fits(both, words // 4 * 64, 1 / 9)
    neighbours = int((coins[:, :, :-1] & coins[:, :, 1:]).sum())
    assert yardstick.frequency_fits(neighbours, words * 63, 1 / 9)


def test_certain_coins_need_no_bits(seeded_noise):
    before = seeded_noise.unread(1)[0].copy()
    assert noise.bernoulli(3, probability=1).all()
    assert not noise.bernoulli(3, probability=0).any()
    assert noise.bernoulli(probability=1) is True
    assert noise.bernoulli(probability=0) is False
    assert noise.bernoulli_exp(exponent=0) is True
    assert noise.bernoulli_exp((2, 2), exponent="0").all()
    assert seeded_noise.words(1)[0] == before


def test_an_astronomic_exponent_is_never_heads(seeded_noise):
    assert not noise.bernoulli_exp(10_000, exponent=10**12).any()


def test_shapes_are_those_asked_for(seeded_noise):
    assert type(noise.bernoulli(probability=0.5)) is bool
    assert noise.bernoulli(0, probability=0.5).shape == (0,)
    coins = noise.bernoulli((3, 5), probability=0.5)
    assert (coins.shape, coins.dtype) == ((3, 5), np.bool_)


@pytest.mark.parametrize("p", [-0.1, 1.1, "nan", float("inf")])
def test_impossible_probabilities_are_refused(p):
    with pytest.raises(ValueError, match="probability"):
        noise.bernoulli(1, probability=p)


@pytest.mark.parametrize("size", [-1, (2, -1)])
def test_negative_sizes_are_refused(size):
    with pytest.raises(ValueError, match="size"):
        noise.bernoulli(size, probability="1/3")


@pytest.mark.parametrize("size", [1.5, True, "3", (1, 2.0)])
def test_sizes_that_are_not_integers_are_refused(size):
    with pytest.raises(TypeError, match="size"):
        noise.bernoulli(size, probability="1/3")


def test_a_negative_exponent_is_refused():
    with pytest.raises(ValueError, match="exponent must not be negative"):
        noise.bernoulli_exp(1, exponent=-1)


@pytest.mark.parametrize("first_digits", [1, 3, 7])
def test_a_short_table_of_digits_changes_nothing(monkeypatch, first_digits):
    with noise.seeded("digits"):
        expected = noise.bernoulli_exp(10_000, exponent="5/4")
    monkeypatch.setattr(digits_module, "FIRST_DIGITS", first_digits)
    table = DigitTable([exponential(Fraction(5, 4))])
    monkeypatch.setattr(
        import_module("sfumato.noise.bernoulli"), "_exponential_table", lambda x: table
    )
    with noise.seeded("digits"):
        assert (noise.bernoulli_exp(10_000, exponent="5/4") == expected).all()
    assert table.masks.shape[1] > first_digits


def test_coins_of_different_probabilities_are_each_fair(yardstick, seeded_noise):
    numerators = np.array([0, 1, 7, 10, 35, 400])
    heads = noise.bernoulli_exp_array(np.tile(numerators, (50_000, 1)), denominator=10).sum(axis=0)
    assert heads[0] == 50_000
    assert heads[-1] == 0
    for count, numerator in zip(heads[1:-1], numerators[1:-1], strict=True):
        assert yardstick.frequency_fits(int(count), 50_000, float(np.exp(-numerator / 10)))
        assert not yardstick.frequency_fits(int(count), 50_000, float(np.exp(-numerator / 8)))


@pytest.mark.parametrize("margin", [2.0**-20, 0.5, 1.0])
def test_the_integers_decide_as_the_filter_does(monkeypatch, margin):
    numerators = np.arange(2000)
    with noise.seeded("filter"):
        expected = noise.bernoulli_exp_array(numerators, denominator=333)
    monkeypatch.setattr(import_module("sfumato.noise.bernoulli"), "FILTER_MARGIN", margin)
    with noise.seeded("filter"):
        assert (noise.bernoulli_exp_array(numerators, denominator=333) == expected).all()


def test_huge_integers_take_the_same_coins_as_small_ones():
    numerators = np.arange(3000)
    factor = 3**700
    big = np.array([int(n) * factor for n in numerators], dtype=object)
    with noise.seeded("huge"):
        expected = noise.bernoulli_exp_array(numerators, denominator=700)
    with noise.seeded("huge"):
        assert (noise.bernoulli_exp_array(big, denominator=700 * factor) == expected).all()
    with noise.seeded("huge"):
        assert not noise.bernoulli_exp_array(big[1:] * factor, denominator=1).any()


def test_the_filter_never_decides_wrongly_next_to_the_threshold():
    generator = noise.generator(11)
    for numerator in generator.integers(1, 45_000, size=300):
        x = Fraction(int(numerator), 1000)
        threshold = exponential(x).prefix(64)
        offsets = [threshold >> shift for shift in range(10, 64)]
        words = [threshold + sign * o for o in offsets for sign in (-1, 1)]
        words = [word for word in words if 0 <= word <= ONES and word != threshold]
        outcome = np.empty(len(words), dtype=np.uint8)
        exponents = np.full(len(words), float(x))
        _kernels.filter_coins(exponents, np.array(words, np.uint64), 2.0**-40, outcome)
        for word, decided in zip(words, outcome.tolist(), strict=True):
            assert decided in (_kernels.UNDECIDED, word < threshold)
        if threshold > 2**50:  # 20 words at a relative distance of 2**-10 to 2**-19
            assert (outcome[:20] != _kernels.UNDECIDED).all()


def test_a_draw_that_agrees_with_sixty_four_digits_goes_on_to_the_next():
    target = 0x0123456789ABCDEF
    with noise.seeded("below") as source:
        following = int(source.unread(1)[0])
        for offset, expected in ((1, True), (-1, False)):
            digits = target << 64 | (following + offset)

            def enclose(bits, digits=digits):
                whole = digits << 1000 | 1
                return whole >> (1128 - bits), whole >> (1128 - bits)

            assert below(target, Expansion(enclose)) is expected
            following = int(source.unread(1)[0])


def test_an_exponent_of_zero_is_always_heads():
    assert decide(ONES, Fraction(0))


def test_bad_arrays_of_exponents_are_refused():
    with pytest.raises(ValueError, match="denominator must be positive"):
        noise.bernoulli_exp_array(np.array([1]), denominator=0)
    with pytest.raises(ValueError, match="must not be negative"):
        noise.bernoulli_exp_array(np.array([1, -1]), denominator=3)
    with pytest.raises(TypeError, match="must be integers"):
        noise.bernoulli_exp_array(np.array([1.0]), denominator=3)
    with pytest.raises(TypeError, match="must be integers"):
        noise.bernoulli_exp_array(np.array([1, 1.5], dtype=object), denominator=3)


def test_seeded_coins_are_fixed_for_ever():
    with noise.seeded(2024):
        coins = [
            np.packbits(noise.bernoulli(5000, probability="1/3")),
            np.packbits(noise.bernoulli_exp(5000, exponent="1/3")),
            np.packbits(noise.bernoulli_exp_array(np.arange(5000), denominator=2000)),
        ]
    digests = [hashlib.sha256(part.tobytes()).hexdigest()[:16] for part in coins]
    assert digests == ["ea484f329e6634b5", "b2462d0d0e2277cf", "e27a99c3cbad7c0a"]
