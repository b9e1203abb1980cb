"""Real numbers drawn digit by digit: the coins of docs/proofs/real-numbers.md, exactly."""

import math
from fractions import Fraction

import pytest
from scipy import integrate, stats

from sfumato import noise
from sfumato.noise import _lazy
from sfumato.noise.private_scale import _Cauchy


class OutOfBits(Exception):
    """A procedure asked for more bits than it was given."""


class Script:
    """A tape of given bits, one a word."""

    def __init__(self, given):
        self.given = given
        self.read = 0

    def word(self):
        if self.read == len(self.given):
            raise OutOfBits
        self.read += 1
        return self.given[self.read - 1]

    def coin(self):
        return bool(self.word() & 1)


def bracket(procedure, monkeypatch, longest=18):
    """Return bounds on the probability that a procedure says True, over all tapes of fair bits.

    Every tape is followed until the procedure has decided; those that are undecided after the
    longest tape count for neither side. There is no randomness and no rounding.
    """
    monkeypatch.setattr(_lazy, "WIDTH", 1)
    sure = unknown = Fraction(0)
    open_tapes = [()]
    while open_tapes:
        tape = open_tapes.pop()
        try:
            said = procedure(Script(tape))
        except OutOfBits:
            if len(tape) == longest:
                unknown += Fraction(1, 2**longest)
            else:
                open_tapes += [(*tape, 0), (*tape, 1)]
            continue
        if said:
            sure += Fraction(1, 2 ** len(tape))
    return sure, sure + unknown


def mean(density):
    return integrate.quad(density, 0, 1)[0]


@pytest.mark.parametrize(
    ("procedure", "probability"),
    [
        (_lazy._survives_half, math.exp(-0.5)),
        (lambda tape: _lazy._survives(_lazy.Uniform(tape), tape), 1 - math.exp(-1)),
        (
            lambda tape: _lazy._survives_square(_lazy.Uniform(tape), tape),
            mean(lambda x: math.exp(-x * x / 2)),
        ),
        (lambda tape: _lazy.Uniform(tape).is_below(_lazy.Uniform(tape)), 0.5),
    ],
    ids=["half", "falling run", "square", "comparison"],
)
def test_coins_have_their_law_over_all_tapes(procedure, probability, monkeypatch):
    low, high = bracket(procedure, monkeypatch)
    assert low <= probability <= high
    assert high - low < 0.16
    # A law that is off by a tenth either way is outside.
    assert not low <= 0.85 * probability <= high
    assert not low <= 1.2 * probability <= high


@pytest.mark.parametrize("width", [1, 2, 64])
@pytest.mark.parametrize(
    ("draw", "law"),
    [
        (_lazy.exponential, stats.expon()),
        (_lazy.laplace, stats.laplace()),
        (_lazy.normal, stats.norm()),
        (lambda tape: _Cauchy(Fraction(2), tape), stats.cauchy()),
    ],
    ids=["exponential", "laplace", "normal", "cauchy"],
)
def test_samples_have_their_law_with_words_of_any_width(draw, law, width, monkeypatch):
    monkeypatch.setattr(_lazy, "WIDTH", width)
    with noise.seeded(7):
        tape = _lazy.Tape()
        drawn = [sum(draw(tape).enclose(40)) / 2 / 2**40 for _ in range(3000)]
    # Kolmogorov and Smirnov, at a false-alarm rate of 1e-7. (Scales off by 10 % are rejected with
    # more draws in test_heavy.py and test_knorm.py.)
    assert stats.kstest(drawn, law.cdf).pvalue > 1e-7
    assert stats.kstest([1.5 * x for x in drawn], law.cdf).pvalue < 1e-7


def test_an_enclosure_holds_all_later_ones():
    with noise.seeded(9):
        tape = _lazy.Tape()
        for draw in (_lazy.normal, lambda tape: _Cauchy(Fraction(3), tape)):
            for _ in range(50):
                number = draw(tape)
                low, high = number.enclose(8)
                for size in (16, 64, 200):
                    finer = number.enclose(size)
                    assert low << (size - 8) <= finer[0] <= finer[1] <= high << (size - 8)
