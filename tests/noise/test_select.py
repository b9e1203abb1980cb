"""The laws of private selection, against closed forms; every statistical test errs once in 10^6."""

from __future__ import annotations

import decimal
import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from sfumato import compiling
from sfumato.noise import _select_kernels, select
from sfumato.noise.bits import seeded
from sfumato.noise.expansions import enclose_exponential
from sfumato.noise.select import Candidates, exponential, permute_and_flip, shuffle, top_k

FALSE_ALARM = 1e-6
DRAWS = 6_000


def coins(scores: Sequence[float], rate: float) -> list[float]:
    best = max(scores)
    return [math.exp(rate * (score - best)) for score in scores]


def permute_and_flip_law(scores: Sequence[float], rate: float) -> list[float]:
    """P(i) = p_i · E[1/(1 + heads among the others)], by the law of the number of heads."""
    p = coins(scores, rate)
    law = []
    for i in range(len(p)):
        heads = np.array([1.0])
        for j in range(len(p)):
            if j != i:
                heads = np.convolve(heads, [1 - p[j], p[j]])
        law.append(p[i] * float(heads @ (1 / np.arange(1, heads.size + 1))))
    return law


def permute_and_flip_law_by_permutations(scores: Sequence[float], rate: float) -> list[float]:
    p = coins(scores, rate)
    law = [0.0] * len(p)
    for order in itertools.permutations(range(len(p))):
        reached = 1.0 / math.factorial(len(p))
        for i in order:
            law[i] += reached * p[i]
            reached *= 1 - p[i]
    return law


def exponential_law(scores: Sequence[float], rate: float) -> list[float]:
    p = coins(scores, rate)
    return [q / sum(p) for q in p]


def top_two_law(scores: Sequence[float], rate: float) -> dict[tuple[int, int], float]:
    p = coins(scores, rate)
    total = sum(p)
    return {
        (i, j): p[i] / total * p[j] / (total - p[i])
        for i, j in itertools.permutations(range(len(p)), 2)
    }


def p_value(counts: Sequence[int], law: Sequence[float]) -> float:
    """Chi-square, with cells of small expectation thrown together."""
    counts, expected = np.asarray(counts), np.asarray(law) * np.sum(counts)
    small = expected < 10
    if small.any():
        counts = np.append(counts[~small], counts[small].sum())
        expected = np.append(expected[~small], expected[small].sum())
        if expected[-1] < 10:
            counts[0], expected[0] = counts[0] + counts[-1], expected[0] + expected[-1]
            counts, expected = counts[:-1], expected[:-1]
    return float(stats.chisquare(counts, expected * counts.sum() / expected.sum()).pvalue)


def tally(draw: Callable[[], int], size: int, draws: int = DRAWS) -> np.ndarray:
    with seeded(2024):
        return np.bincount([draw() for _ in range(draws)], minlength=size)


def assert_law(
    counts: np.ndarray, law: Callable[[Sequence[float], float], list[float]], scores, rate
) -> None:
    """Accept the law of every candidate; reject wrong rates, with equal scores thrown together."""
    assert p_value(counts, law(scores, rate)) > FALSE_ALARM
    _, groups = np.unique(scores, return_inverse=True)
    together = np.bincount(groups, weights=counts)
    for wrong in (0.9, 1.1):
        wrong_law = np.bincount(groups, weights=law(scores, rate * wrong))
        assert p_value(together, wrong_law) < FALSE_ALARM


SCORES = [
    pytest.param([-4] * 5 + [0] + [-3] * 8 + [-4] * 15 + [-2] * 2, id="integers"),
    pytest.param([-2.5] * 6 + [0.25] + [-3.1] * 20 + [-1.5], id="floats"),
]


def test_two_closed_forms_of_permute_and_flip_agree():
    scores = [0.0, -0.3, -1.0, -1.0, -2.5]
    assert permute_and_flip_law(scores, 1.3) == pytest.approx(
        permute_and_flip_law_by_permutations(scores, 1.3), abs=1e-12
    )


@pytest.mark.parametrize("visited", [256, 1, 20])
@pytest.mark.parametrize("scores", SCORES)
def test_permute_and_flip_has_its_law_however_many_are_visited_first(scores, visited, monkeypatch):
    monkeypatch.setattr(select, "VISITED", visited)
    array = np.array(scores)
    rate = 1
    counts = tally(lambda: permute_and_flip(array, rate=rate), len(scores))
    assert_law(counts, permute_and_flip_law, scores, rate)


def test_a_visited_coin_that_came_up_tails_is_never_flipped_again(monkeypatch):
    monkeypatch.setattr(select, "VISITED", 1)
    scores = [0.0, -0.7, -0.7]
    counts = tally(lambda: permute_and_flip(np.array(scores), rate=1), 3)
    assert p_value(counts, permute_and_flip_law(scores, 1)) > FALSE_ALARM
    p = math.exp(-0.7)
    flipped_again = (1 - p) * p * (1 / 2 - p / 3) / 3  # what each of the two would gain
    law = permute_and_flip_law(scores, 1)
    wrong = [law[0] - 2 * flipped_again, law[1] + flipped_again, law[2] + flipped_again]
    assert p_value(counts, wrong) < FALSE_ALARM


def test_permute_and_flip_has_its_law_over_many_blocks_of_shared_words():
    scores = np.concatenate([np.zeros(1), np.full(6000, -8.0), np.full(2000, -30.5)])
    rate = 1
    p, deep = math.exp(-8.0), math.exp(-30.5)
    # P(best) = E[1/(1+N)] with N binomial; the 2000 others are heads with probability < 1e-9.
    best = (1 - (1 - p) ** 6001) / (6001 * p)
    assert 2000 * deep < 1e-9
    wins = tally(lambda: int(permute_and_flip(scores, rate=rate) == 0), 2, draws=3000)[1]
    assert stats.binomtest(int(wins), 3000, best).pvalue > FALSE_ALARM
    wrong = math.exp(-8.0 * 0.9)
    assert (
        stats.binomtest(int(wins), 3000, (1 - (1 - wrong) ** 6001) / (6001 * wrong)).pvalue
        < FALSE_ALARM
    )


def test_shallow_and_deep_blocks_keep_the_law(monkeypatch):
    monkeypatch.setattr(select, "VISITED", 1)
    levels = {0.0: 1, -1.0: 2, -2.5: 5, -4.0: 40, -6.0: 200, -7.5: 100}
    scores = np.concatenate([np.full(count, level) for level, count in levels.items()])
    scores = scores[np.random.default_rng(5).permutation(scores.size)]
    names = list(levels)
    which = {i: names.index(float(score)) for i, score in enumerate(scores)}
    counts = tally(lambda: which[permute_and_flip(scores, rate=1)], len(names))

    def grouped(rate: float) -> list[float]:
        pairs = [(math.exp(rate * level), count) for level, count in levels.items()]
        law = []
        for p, count in pairs:
            heads = np.array([1.0])
            for q, others in pairs:
                trials = others - (p == q)
                heads = np.convolve(heads, stats.binom.pmf(np.arange(trials + 1), trials, q))
            law.append(count * p * float(heads @ (1 / np.arange(1, heads.size + 1))))
        return law

    assert sum(grouped(1.0)) == pytest.approx(1)
    assert p_value(counts, grouped(1.0)) > FALSE_ALARM
    assert p_value(counts, grouped(1.1)) < FALSE_ALARM
    assert p_value(counts, grouped(0.9)) < FALSE_ALARM


@pytest.mark.parametrize("scores", SCORES)
def test_exponential_has_its_law(scores):
    array = np.array(scores)
    counts = tally(lambda: exponential(array, rate=1), len(scores))
    assert_law(counts, exponential_law, scores, 1)


@pytest.mark.parametrize(
    ("window", "deepest", "sorting"), [(255, 65535, 8), (255, 65535, 0), (2, 65535, 8), (2, 3, 0)]
)
def test_top_k_has_its_law_with_any_cap_window_and_search(window, deepest, sorting, monkeypatch):
    monkeypatch.setattr(select, "WINDOW", window)
    monkeypatch.setattr(select, "DEEPEST_LEVEL", deepest)
    monkeypatch.setattr(select, "DRAWS_WORTH_SORTING", sorting)
    scores = np.array([0.0, -1.0, -2.0, -3.5, -3.5])
    with seeded(5):
        pairs = [tuple(top_k(scores, 2, rate=1).tolist()) for _ in range(DRAWS)]
    law = top_two_law(scores.tolist(), 1.0)
    counts = [pairs.count(pair) for pair in law]
    assert sum(counts) == DRAWS
    assert p_value(counts, list(law.values())) > FALSE_ALARM
    for wrong in (0.9, 1.1):
        assert p_value(counts, list(top_two_law(scores.tolist(), wrong).values())) < FALSE_ALARM


def test_top_k_of_all_is_a_permutation_even_when_scores_are_far_apart():
    scores = np.array([0, 10**6, -(10**9), 2**62, -(2**62)])
    with seeded(1):
        assert top_k(scores, 5, rate=1).tolist() == [3, 1, 0, 2, 4]
        many = top_k(np.arange(3000.0), 3000, rate=Fraction(1, 10))
    assert sorted(many.tolist()) == list(range(3000))
    assert many.dtype == np.int64


@pytest.mark.parametrize("choose", [permute_and_flip, exponential])
def test_the_slow_path_gives_the_same_answers_from_the_same_tape(choose, monkeypatch):
    rng = np.random.default_rng(3)
    arrays = [rng.normal(size=700) * 3, rng.integers(-40, 0, size=700), np.zeros(5)]
    monkeypatch.setattr(select, "VISITED", 20)

    def answers() -> list[int]:
        with seeded(77):
            return [choose(array, rate=Fraction(1, 2)) for array in arrays for _ in range(8)]

    fast = answers()
    asked = []

    def undecided(self, indices, zeros, words):
        asked.append(indices.size)
        return np.full(indices.size, _select_kernels.UNDECIDED, dtype=np.uint8)

    monkeypatch.setattr(Candidates, "_filter", undecided)
    assert answers() == fast
    assert sum(asked) >= 24


def test_the_filter_only_certifies_what_is_true():
    rng = np.random.default_rng(9)
    scores = np.concatenate([-rng.exponential(10.0, 150), -(2.0 ** rng.uniform(-60, 6, 150))])
    candidates = Candidates.of(np.append(scores, 0.0), Fraction(7, 3))
    decided = 0
    for index in range(300):
        gap = candidates.gap(index)
        deepest = int(gap / Fraction(7, 10))
        for zeros in {0, deepest // 2, deepest}:
            low, _ = enclose_exponential(gap, zeros + 64)
            near = [low + offset for offset in (-(1 << 22), -9, -1, 0, 1, 9, 1 << 22)]
            words = [w for w in [*near, 0, 2**64 - 1, int(rng.integers(2**63))] if 0 <= w < 2**64]
            outcomes = candidates._filter(
                np.full(len(words), index),
                np.full(len(words), zeros),
                np.array(words, dtype=np.uint64),
            )
            low, high = enclose_exponential(gap, zeros + 80)
            for word, outcome in zip(words, outcomes, strict=True):
                if outcome == _select_kernels.HEAD:
                    assert (word + 1) << 16 <= low
                elif outcome == _select_kernels.TAIL:
                    assert word << 16 >= high
                decided += int(outcome != _select_kernels.UNDECIDED)
    assert decided > 1000


@pytest.mark.parametrize(
    "scores",
    [
        np.array([0.0, -1.0, -1e-3, -5e-324, -1e300, -700.1]),
        np.array([1.7e308, -1.7e308, 0.0]),
        np.array([2**63 - 1, -(2**63), 0, 2**63 - 2, 2**62]),
    ],
)
@pytest.mark.parametrize("rate", [Fraction(1, 3), Fraction(10**6), Fraction(1, 10**320), 10**320])
def test_levels_never_exceed_the_gap_in_bits(scores, rate):
    candidates = Candidates.of(scores, rate)
    levels = np.empty(scores.size, dtype=np.uint16)
    counts = np.zeros(1000, dtype=np.int64)
    _select_kernels.count_levels(
        candidates.scores, candidates.top, candidates.rate_in_bits, levels, counts
    )
    ln2_above = Fraction(6931471805599453095, 10**19)
    two_roundings = (1 + Fraction(1, 2**53)) ** 2
    assert Fraction(candidates.rate_in_bits) * two_roundings * ln2_above <= rate
    for index, level in enumerate(levels.tolist()):
        assert level * ln2_above <= candidates.gap(index) or level == 0
        assert level == 999 or level + 1 > candidates.gap(index) * Fraction(1442695040, 10**9)
    assert counts.sum() == scores.size


def test_an_undecided_coin_draws_more_bits(monkeypatch):
    gap, zeros = Fraction(5, 2), 3
    low, _ = enclose_exponential(gap, zeros + 64)
    with seeded(4) as source:
        select._settle_exactly(gap, zeros, low)
        after = int(source.words(1)[0])
    with seeded(4) as source:
        assert int(source.words(2)[1]) == after


def test_first_places_of_a_shuffle_are_uniform():
    with seeded(8):
        pairs = [tuple(shuffle(5, 3).tolist()) for _ in range(DRAWS)]
    orders = list(itertools.permutations(range(5), 3))
    counts = [pairs.count(order) for order in orders]
    assert sum(counts) == DRAWS
    assert p_value(counts, [1 / len(orders)] * len(orders)) > FALSE_ALARM
    with seeded(8):
        assert sorted(shuffle(256, 256).tolist()) == list(range(256))


CHOOSERS = [permute_and_flip, exponential]


@pytest.mark.parametrize("choose", CHOOSERS)
def test_rate_zero_is_uniform(choose):
    counts = tally(lambda: choose(np.array([5, -(10**6), 3, 2**62]), rate=0), 4, draws=2500)
    assert p_value(counts, [0.25] * 4) > FALSE_ALARM


@pytest.mark.parametrize("choose", CHOOSERS)
def test_equal_scores_are_equally_likely(choose):
    counts = tally(lambda: choose(np.full(7, -3.25), rate=100), 7, draws=2500)
    assert p_value(counts, [1 / 7] * 7) > FALSE_ALARM


@pytest.mark.parametrize("choose", CHOOSERS)
def test_extreme_scores_and_rates(choose):
    with seeded(6):
        assert choose(np.array([-7]), rate=3) == 0
        assert choose(np.array([-(2**63), 2**63 - 1]), rate=1) == 1
        assert choose(np.array([-1.7e308, 1.7e308]), rate=Fraction(1, 10**300)) == 1
        assert choose(np.array([0.0, 5e-324]), rate=10**330) == 1
        assert choose(np.array([2**63 - 2, 2**63 - 1]), rate=10**400) == 1
        assert choose(np.array([3, 1, 2], dtype=np.uint8), rate=1000) == 0
        assert choose([0.5, 1.5], rate="1000") == 1


@pytest.mark.parametrize("choose", CHOOSERS)
def test_denormal_gaps_count_as_the_numbers_they_are(choose):
    scores = np.array([0.0, 5e-324])
    rate = Fraction(1) / Fraction(5e-324)  # the gap is exactly 1
    counts = tally(lambda: choose(scores, rate=rate), 2, draws=2500)
    law = permute_and_flip_law if choose is permute_and_flip else exponential_law
    assert p_value(counts, law([0.0, 1.0], 1.0)) > FALSE_ALARM


@pytest.mark.parametrize("choose", CHOOSERS)
def test_a_distance_beyond_the_largest_float_keeps_the_law(choose):
    scores = np.array([1.7e308, -1.7e308, -1.7e308, -1.7e308])
    rate = Fraction(1, 2) / Fraction(1.7e308)  # the gap is exactly 1, and the distance overflows
    counts = tally(lambda: choose(scores, rate=rate), 4, draws=2500)
    law = permute_and_flip_law if choose is permute_and_flip else exponential_law
    assert p_value(counts, law([1.0, 0.0, 0.0, 0.0], 1.0)) > FALSE_ALARM


@pytest.mark.parametrize("choose", [*CHOOSERS, lambda scores, rate: top_k(scores, 1, rate=rate)])
@pytest.mark.parametrize(
    ("scores", "rate", "message"),
    [
        ([], 1, "at least one"),
        ([[1, 2]], 1, "one-dimensional"),
        ([1.0, math.nan], 1, "finite"),
        ([1.0, math.inf], 1, "finite"),
        ([1.0, -math.inf], 1, "finite"),
        ([1j], 1, "integers or float64"),
        ([True], 1, "integers or float64"),
        (np.array([2**64 - 1], dtype=np.uint64), 1, "int64"),
        ([1, 2], -1, "rate must not be negative"),
        ([1, 2], math.nan, "rate"),
    ],
)
def test_bad_arguments_are_refused_before_a_bit_is_drawn(choose, scores, rate, message):
    with seeded(1) as source:
        with pytest.raises(ValueError, match=message):
            choose(scores, rate=rate)
        word = int(source.words(1)[0])
    with seeded(1) as source:
        assert int(source.words(1)[0]) == word


@pytest.mark.parametrize("k", [0, 4, -1, True, 1.0])
def test_top_k_refuses_a_k_that_is_no_number_of_candidates(k):
    with pytest.raises(ValueError, match="k must be an integer from 1 to the number of candidates"):
        top_k([1, 2, 3], k, rate=1)


def test_the_same_seed_gives_the_same_choices():
    scores = np.random.default_rng(1).normal(size=20_000)

    def run() -> list[int]:
        with seeded("again"):
            return [permute_and_flip(scores, rate=3), exponential(scores, rate=3)]

    assert run() == run()


def test_the_constants_and_the_exponential_of_the_kernels_are_as_close_as_the_proof_says():
    """docs/proofs/selection.md, Lemmas K1 and K2: against certified enclosures."""
    with decimal.localcontext(prec=60):
        ln2 = decimal.Decimal(2).ln()
        exact_ln2 = Fraction(ln2)
        assert Fraction(1) / exact_ln2 > select._LOG2_E_BELOW > Fraction(14426950408889633, 10**16)
    assert abs(Fraction(_select_kernels._LN2) / exact_ln2 - 1) < Fraction(1, 2**54)
    high, low = Fraction(_select_kernels._LN2_HIGH), Fraction(_select_kernels._LN2_LOW)
    # 87 is the largest multiple that is taken; the high part leaves room for it.
    assert float(87 * high) == 87 * high and abs(high + low - exact_ln2) * 87 < Fraction(1, 2**79)
    generator = np.random.default_rng(11)
    halves = [(n + 0.5) * math.log(2) for n in range(86)]
    near = [math.nextafter(x, side) for x in halves for side in (0, 99)]
    for x in [0.0, 2.0**-1074, 60.0, *halves, *near, *generator.uniform(0, 60, 1500).tolist()]:
        found = Fraction(_select_kernels._exp_of_minus(x))
        below, above = enclose_exponential(Fraction(x), 200) if x else (2**200, 2**200)
        error = max(found * 2**200 / below - 1, 1 - found * 2**200 / above)
        assert error < Fraction(1, 2**48)


@pytest.mark.parametrize("steps", [0, 10**12], ids=["compiled", "interpreted"])
@pytest.mark.parametrize("gap", [90_850, 90_851, 90_852, 10**6, 2**40])
def test_candidates_far_below_the_best_do_not_stop_a_draw(steps, gap, monkeypatch):
    """Levels are kept in 16 bits; a draw must end for every score, or its end would tell of it."""
    monkeypatch.setattr(compiling, "INTERPRETED_STEPS", steps)
    assert exponential(np.array([0, -gap]), rate=Fraction(1, 2)) == 0
    assert set(top_k(np.array([0, -gap, 1]), 2, rate=Fraction(1, 2))) == {0, 2}
