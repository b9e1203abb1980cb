"""What a report really costs, exactly and at every epsilon: at most what is declared."""

import itertools
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from sfumato import noise
from sfumato.local.multi_response import MultiResponse
from sfumato.local.randomized import RandomizedResponse
from sfumato.mechanisms.bit_response import RandomizedBits
from sfumato.mechanisms.local_hadamard import HadamardResponseLaw
from sfumato.mechanisms.local_hash import HashResponse
from sfumato.mechanisms.local_matrix import MatrixResponseLaw, laplace_columns, whole_columns
from sfumato.mechanisms.local_number import BitOfNumber, NumberResponse, PlaceOfNumber
from sfumato.mechanisms.local_response import LocalResponse
from sfumato.mechanisms.local_subset import SubsetResponse
from sfumato.mechanisms.local_unary import UnaryResponse
from sfumato.mechanisms.one_question import OneQuestion
from sfumato.mechanisms.pair_response import RandomizedPairs
from sfumato.mechanisms.randomized import Randomized
from sfumato.noise.expansions import logistic

EPSILONS = [
    Fraction(text)
    for text in ("1e-300", "1e-100", "1e-40", "1e-20", "3e-20", "1e-19", "2e-19", "1e-18", "1e-15",
                 "1e-9", "1e-3", "1", "30", "44.4", "45", "1e3", "1e15")
]  # fmt: skip


def laplace(answers, epsilon):
    weights = whole_columns(laplace_columns(answers, epsilon), epsilon)
    return MatrixResponseLaw(answers=answers, epsilon=epsilon, weights=weights)


RESPONSES = {
    "randomized": lambda k, e: Randomized(answers=k, epsilon=e),
    "unary": lambda k, e: UnaryResponse(answers=k, epsilon=e),
    "symmetric": lambda k, e: UnaryResponse(answers=k, epsilon=e, symmetric=True),
    "subset of one": lambda k, e: SubsetResponse(answers=k, epsilon=e, size=1),
    "subset of two": lambda k, e: SubsetResponse(answers=k, epsilon=e, size=min(2, k)),
    "hadamard": lambda k, e: HadamardResponseLaw(answers=k, epsilon=e),
    "hash": lambda k, e: HashResponse(answers=k, epsilon=e),
    "laplace": laplace,
    "bit": lambda k, e: BitOfNumber(answers=k, epsilon=e),
    "place": lambda k, e: PlaceOfNumber(answers=k, epsilon=e, window=3),
}


def reports(response):
    """Every report, or of too many those that tell two inputs apart."""
    inputs = range(response.inputs)
    if isinstance(response, HashResponse):
        return {response.telling(a, b) for a, b in itertools.permutations(inputs, 2)}
    return response.outputs()


def exact_ratio(response):
    """The largest ratio of the probabilities of one report for two inputs, by trying all."""
    worst = Fraction(1)
    for report in reports(response):
        shares = [response.probability(value, report) for value in range(response.inputs)]
        assert min(shares) > 0
        worst = max(worst, max(shares) / min(shares))
    return worst


def costs_no_more(ratio, epsilon):
    """Whether ln(ratio) ≤ ε, with 700 digits of another library."""
    with localcontext() as context:
        context.prec = 700
        logarithm = (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()
        return logarithm <= Decimal(epsilon.numerator) / Decimal(epsilon.denominator)


@pytest.mark.parametrize("kind", RESPONSES)
def test_no_report_costs_more_than_epsilon_at_any_epsilon(kind):
    made = 0
    for epsilon, answers in itertools.product(EPSILONS, (1, 2, 3, 5, 7)):
        try:
            response = RESPONSES[kind](answers, epsilon)
        except ValueError as refused:
            words = str(refused)
            assert epsilon < Fraction("1e-15") or "laplace" in kind, words
            assert (
                "epsilon is so small" in words
                or "epsilon is too small" in words
                or ("exceeds epsilon" in words)
            )
            continue
        made += 1
        worst = exact_ratio(response)
        assert costs_no_more(worst, epsilon), (epsilon, answers)
        told = [max(pair) / min(pair) for pair in response.contrasts()]
        assert max(told, default=Fraction(1)) == worst
    assert made >= 30


def test_the_repaired_fault_a_truth_that_is_rarer_than_a_lie_is_refused():
    for response in (Randomized, lambda **given: SubsetResponse(size=1, **given)):
        with pytest.raises(ValueError, match=r"epsilon is too small for 3 inputs.*larger epsilon"):
            response(answers=3, epsilon=Fraction("1e-20"))
    with pytest.raises(ValueError, match="too small"):
        OneQuestion(
            answers=(2, 3),
            responses=("randomised response",) * 2,
            set_sizes=(0, 0),
            epsilon=Fraction("1e-20"),
        )
    # Reached by parameters that a method allows: p of 10⁵ answers has few digits out of 2⁶⁴.
    with pytest.raises(ValueError, match="epsilon is"):
        Randomized(answers=10**5, epsilon=Fraction("1e-15"))


def test_every_response_is_tried():
    def below(kind):
        return {kind, *(found for child in kind.__subclasses__() for found in below(child))}

    concrete = {
        kind
        for kind in below(LocalResponse)
        if not kind.__abstractmethods__ and kind.__module__.startswith("sfumato.")
    }
    tried = {type(make(3, Fraction(1))) for make in RESPONSES.values()}
    assert tried == concrete and NumberResponse not in concrete


@pytest.mark.parametrize("epsilon", [Fraction("1e-300"), Fraction("1e-20"), Fraction(40)])
def test_bits_and_pairs_are_turned_over_with_the_declared_probability_itself(epsilon):
    """Their coins follow all digits of 1/(1 + e^ε), so that their odds are e^ε and no other."""
    digits = logistic(epsilon)
    with localcontext() as context:
        context.prec = 700
        exponent = Decimal(epsilon.numerator) / Decimal(epsilon.denominator)
        flip = 1 / (1 + exponent.exp())
        for count in (1, 64, 1500):
            low = Decimal(digits.prefix(count)) / Decimal(2) ** count
            assert low <= flip < low + Decimal(2) ** -count
    with noise.seeded(1):
        said = RandomizedBits(bits=200, epsilon=epsilon).sample(np.zeros(200, dtype=np.bool_))
        RandomizedPairs(nodes=20, epsilon=epsilon).sample(np.zeros(0, dtype=np.int64))
    # All 200 alike has a probability below 1e-15 where the coin is fair.
    assert said.any() != (epsilon == 40)


def test_methods_refuse_before_anybody_is_asked():
    answers = [str(number) for number in range(10**5)]
    with pytest.raises(ValueError, match="epsilon is"):
        RandomizedResponse(epsilon="1e-15", answers=answers)
    questions = {"one": answers, "two": ["no", "yes"]}
    several = MultiResponse(
        epsilon="1e-15", questions=questions, how="sample", design="RandomizedResponse"
    )
    with pytest.raises(ValueError, match="epsilon is"):
        several.plan(several.public)
