"""The choice of frequent values of an open domain: its law, its price, its draws."""

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product
from math import exp, sqrt

import numpy as np
import pytest
from scipy import stats

from sfumato import noise
from sfumato.mechanisms.partition_selection import FrequentValues, ValueCounts, is_presentable
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import ZCDP, ApproxDP, PureDP, Unpriced

REPLACE, ADD = Relation.REPLACE_ONE, Relation.ADD_REMOVE
#: (ε, reach): small ones, of which everything can be enumerated.
SMALL = [("1", 1), ("1/2", 2), ("1/2", 7), ("1/10", 10), ("1/10", 60), ("3", 5)]


def selection(epsilon, reach, relation=ADD, longest=20):
    return FrequentValues(
        epsilon=Fraction(epsilon), reach=reach, longest=longest, relation=relation
    )


def counts(**of):
    return ValueCounts(list(of), np.array(list(of.values()), dtype=np.int64))


def law(count, epsilon, reach):
    """The law of what is said of one value, None for nothing, written out from the definition."""
    with localcontext() as context:
        context.prec = 60
        rate = Decimal(epsilon.numerator) / Decimal(epsilon.denominator)
        weights = {x: (-rate * abs(x)).exp() for x in range(-reach, reach + 1)}
        whole = sum(weights.values())
        if count == 0:
            return {None: Decimal(1)}
        found = {count + x: w / whole for x, w in weights.items() if count + x > reach}
        return {**found, None: 1 - sum(found.values())}


def exceed(first, second, factor):
    """Σ max(0, P − factor·Q): the smallest δ for the ε of which the factor is the exponential."""
    return sum(max(Decimal(0), p - factor * second.get(y, Decimal(0))) for y, p in first.items())


def kept(count, epsilon, reach):
    return 1 - law(count, epsilon, reach)[None]


@pytest.mark.parametrize(("epsilon", "reach"), SMALL)
def test_a_value_is_kept_as_often_as_the_recursion_of_the_optimum_says(epsilon, reach):
    """Desfontaines and others (2022): no (ε, δ) mechanism keeps a value with a higher probability.

    π(0) = 0 and π(n+1) = min(e^ε·π(n) + δ, 1 − e^−ε·(1 − π(n) − δ), 1).
    """
    primitive, rate = selection(epsilon, reach), Fraction(epsilon)
    with localcontext() as context:
        context.prec = 60
        up = (Decimal(rate.numerator) / Decimal(rate.denominator)).exp()
        delta = law(10**3, rate, reach)[10**3 + reach]
        optimum = Decimal(0)
        for count in range(2 * reach + 4):
            assert abs(kept(count, rate, reach) - optimum) < Decimal("1e-50")
            assert primitive.keep_probability(count) == pytest.approx(float(optimum), abs=1e-12)
            dropped = primitive.drop_probability(count)
            assert dropped == pytest.approx(float(1 - optimum), abs=1e-12)
            optimum = min(up * optimum + delta, 1 - (1 - optimum - delta) / up, Decimal(1))
    assert float(optimum) == 1.0


@pytest.mark.parametrize(("epsilon", "reach"), SMALL)
def test_no_event_tells_one_record_more_apart_than_the_price_says(epsilon, reach):
    primitive, rate = selection(epsilon, reach), Fraction(epsilon)
    price = primitive.cost(ApproxDP)
    assert price.epsilon == rate
    with localcontext() as context:
        context.prec = 60
        factor = (Decimal(rate.numerator) / Decimal(rate.denominator)).exp()
        found = []
        for count in range(2 * reach + 3):
            one, more = (law(n, rate, reach) for n in (count, count + 1))
            found += [exceed(one, more, factor), exceed(more, one, factor)]
        largest = max(found)
    # Rounded up to twelve digits, and not more than that.
    assert largest <= Decimal(price.delta.numerator) / Decimal(price.delta.denominator)
    assert float(largest) == pytest.approx(float(price.delta), rel=1e-10)


@pytest.mark.parametrize(("epsilon", "reach"), SMALL[:4])
def test_no_event_tells_one_replaced_record_apart_more_than_the_price_says(epsilon, reach):
    primitive, rate = selection(epsilon, reach, REPLACE), Fraction(epsilon)
    price = primitive.cost(ApproxDP)
    assert price.epsilon == 2 * rate
    largest = Decimal(0)
    with localcontext() as context:
        context.prec = 40
        factor = (2 * Decimal(rate.numerator) / Decimal(rate.denominator)).exp()
        for a, b in ((1, 0), (1, reach), (reach + 1, reach), (2 * reach, 0)):
            laws = []
            for pair in ((a, b), (a - 1, b + 1)):
                first, second = (law(n, rate, reach).items() for n in pair)
                laws.append({(x, y): p * q for (x, p), (y, q) in product(first, second)})
            largest = max(largest, exceed(*laws, factor), exceed(*laws[::-1], factor))
    assert largest <= Decimal(price.delta.numerator) / Decimal(price.delta.denominator)
    # Twice the δ of one record is nearly needed: moving a lone record shows in two places.
    assert float(largest) > 0.5 * float(price.delta)


def test_a_group_of_records_in_one_value_is_within_the_group_price():
    epsilon, reach = Fraction(1, 2), 7
    primitive = selection(epsilon, reach)
    for size in (2, 3, 5):
        price = primitive.cost(ApproxDP).group(size)
        with localcontext() as context:
            context.prec = 40
            factor = (Decimal(size) / 2).exp()
            worst = max(
                max(exceed(one, more, factor), exceed(more, one, factor))
                for count in range(2 * reach + 3)
                for one, more in [(law(count, epsilon, reach), law(count + size, epsilon, reach))]
            )
        assert float(worst) <= float(price.delta)
        found = primitive.excess(counts(a=1), counts(a=1 + size))
        assert found <= float(price.delta)


def test_the_excess_of_two_inputs_is_that_of_the_law():
    epsilon, reach = Fraction(1, 2), 5
    primitive, factor = selection(epsilon, reach), Decimal("0.5").exp()
    for count in range(1, 12):
        exact = exceed(law(count, epsilon, reach), law(count + 1, epsilon, reach), factor)
        found = primitive.excess(counts(a=count), counts(a=count + 1))
        assert found == pytest.approx(float(exact), abs=1e-12)
    nothing = ValueCounts([], np.zeros(0, dtype=np.int64))
    assert primitive.excess(counts(a=1), nothing) == pytest.approx(float(primitive.delta))
    # A mutant that forgets to cut the noise off would lose no δ here: it says the unsayable.
    assert primitive.excess(counts(a=3, b=1), counts(a=3)) > 0


@pytest.mark.parametrize("relation", [ADD, REPLACE])
@pytest.mark.parametrize(("epsilon", "delta"), [("0.1", "1e-9"), ("1", "1e-6"), ("0.001", "0.2")])
def test_the_threshold_is_the_lowest_that_the_loss_pays_for(epsilon, delta, relation):
    limit = ApproxDP(epsilon, delta)
    primitive = FrequentValues.within(limit, 20, relation)
    assert primitive.cost(ApproxDP).fits(limit)
    lower = primitive.reach - 1
    if lower * primitive.epsilon >= 1:
        assert not selection(primitive.epsilon, lower, relation).cost(ApproxDP).fits(limit)
    else:
        # No shorter than the scale of the noise, whatever δ allows.
        assert primitive.reach == -(-1 // primitive.epsilon)


@pytest.mark.parametrize("measure", [PureDP, ZCDP])
def test_it_has_no_price_without_a_delta(measure):
    with pytest.raises(Unpriced, match="has no"):
        selection("1", 5).cost(measure)


@pytest.mark.parametrize("limit", [ApproxDP(1, 0), ApproxDP(0, "1e-9"), ApproxDP("1e-17", "1e-9")])
def test_a_loss_that_pays_for_nothing_is_refused(limit):
    with pytest.raises(Unpriced):
        FrequentValues.within(limit, 20, ADD)


@pytest.mark.parametrize(
    "bad", [{"epsilon": 0}, {"reach": 4}, {"reach": 2**60}, {"longest": 0}, {"reach": -1}]
)
def test_a_signature_that_cannot_be_meant_is_refused(bad):
    given = {"epsilon": Fraction(1, 5), "reach": 5, "longest": 20, "relation": ADD}
    with pytest.raises(ValueError, match="must be"):
        FrequentValues(**{**given, **bad})


def test_what_does_not_occur_is_never_said_and_what_is_certain_always():
    primitive = selection("1", 3)
    with noise.seeded(3):
        for _ in range(200):
            values, noisy = primitive.sample(counts(often=7, rare=1))
            assert values in (("often",), ("often", "rare"))
            primitive.check_output((values, noisy))
            assert np.isfinite(primitive.log_probability(counts(often=7, rare=1), (values, noisy)))
        empty = ValueCounts([], np.zeros(0, dtype=np.int64))
        assert primitive.sample(empty)[0] == ()


def test_the_order_of_the_values_shows_nowhere():
    primitive = selection("1", 3)
    names = [f"v{i}" for i in range(50)]
    with noise.seeded(1):
        values, _ = primitive.sample(ValueCounts(names[::-1], np.full(50, 9)))
    assert list(values) == sorted(names)


def test_the_probabilities_of_all_outputs_sum_to_one():
    primitive, here = selection("1/2", 3), counts(a=2, b=5)
    said = [None, *range(4, 9)]
    total = 0.0
    for a, b in product(said, said):
        listed = [(name, n) for name, n in (("a", a), ("b", b)) if n is not None]
        noisy = np.array([n for _, n in listed], dtype=np.int64)
        total += exp(primitive.log_probability(here, (tuple(n for n, _ in listed), noisy)))
    assert total == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("count", [1, 6, 10, 14, 19])
def test_draws_keep_a_value_with_its_probability_and_not_with_that_of_other_noise(count):
    many, primitive = 40_000, selection("1/5", 10)
    values = ValueCounts([f"{i:05d}" for i in range(many)], np.full(many, count))
    with noise.seeded(11):
        found = len(primitive.sample(values)[0]) / many
    chance = primitive.keep_probability(count)
    # Five standard deviations: a false alarm in 1.7 million.
    spread = sqrt(chance * (1 - chance) / many)
    assert abs(found - chance) <= 5 * spread
    other = selection("26/100", 10).keep_probability(count)
    assert count == 10 or abs(found - other) > 5 * spread


def test_noisy_counts_follow_the_truncated_law():
    many, reach = 50_000, 12
    primitive = selection("1/5", reach)
    values = ValueCounts([f"{i:05d}" for i in range(many)], np.full(many, 100))
    with noise.seeded(5):
        drawn = primitive.sample(values)[1] - 100
    expected = np.exp(-np.abs(np.arange(-reach, reach + 1)) / 5)
    seen = np.bincount(drawn + reach, minlength=2 * reach + 1)
    assert seen.size == 2 * reach + 1
    # A false alarm in a million, for the true law; that of other noise is far below.
    assert stats.chisquare(seen, many * expected / expected.sum()).pvalue > 1e-6
    wrong = np.exp(-np.abs(np.arange(-reach, reach + 1)) / 5 * 1.3)
    assert stats.chisquare(seen, many * wrong / wrong.sum()).pvalue < 1e-6


@pytest.mark.parametrize(
    "output",
    [
        None,
        ("a",),
        (("a",), np.array([6])),
        (("a", "b"), np.array([16])),
        (("b", "a"), np.array([16, 16])),
        (("a", "a"), np.array([16, 16])),
        ((" a",), np.array([16])),
        (("a\x1b[2J",), np.array([16])),
        (("\u202eevil",), np.array([16])),
        (("a" * 21,), np.array([16])),
        (("",), np.array([16])),
        ((7,), np.array([16])),
        (("a",), np.array([16.0])),
        (("a",), [16]),
        (["a"], np.array([16])),
    ],
)
def test_impossible_outputs_are_refused(output):
    with pytest.raises(ValueError, match=r"it is not|its (values|counts) must"):
        selection("1", 6).check_output(output)
    selection("1", 6).check_output((("a",), np.array([16])))


@pytest.mark.parametrize(
    "value",
    [
        np.zeros(2, dtype=np.int64),
        ValueCounts(["a"], np.array([1.0])),
        ValueCounts(["a"], np.array([1, 2])),
    ],
)
def test_inputs_of_another_type_are_refused(value):
    with pytest.raises(ValueError, match=r"values with counts|one count"):
        selection("1", 6).check(value)


@pytest.mark.parametrize("text", ["ok", "São Paulo", "a b", "日本", "x" * 20, "a\u200db", "=1+1"])
def test_plain_texts_are_presentable(text):
    assert is_presentable(text, 20)


@pytest.mark.parametrize(
    "text", ["", " a", "a ", "a\nb", "\x00", "a\x7f", "\u2028", "a\u202eb", "\ud800", "x" * 21]
)
def test_texts_that_command_a_terminal_or_are_too_long_are_not(text):
    assert not is_presentable(text, 20)
