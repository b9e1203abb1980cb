"""The sparse vector technique: its law, its price, and that its broken kin are caught."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from sfumato import noise
from sfumato.mechanisms.sparse_vector import AboveThreshold, threshold_share
from sfumato.privacy.loss import ZCDP, ApproxDP, PureDP
from tests.mechanisms import broken
from tests.mechanisms.opened import opened, transcript_of

ONE, HALF = Fraction(1), Fraction(1, 2)


def primitive(kind=AboveThreshold, **options):
    settings = {"threshold": 0, "sensitivity": 1, "positives": 1, "epsilon": ONE, **options}
    return kind(**settings)


def transcripts(run, length):
    """All answers that a run of so many queries can give, with its stop rule."""

    def extend(said):
        if len(said) == length or sum(said) == run.positives:
            yield said
            return
        for answer in (False, True):
            yield from extend((*said, answer))

    return list(extend(()))


def loss(run, values, neighbours, said):
    ours = run.log_probability(values[: len(said)], said)
    return ours - run.log_probability(neighbours[: len(said)], said)


@settings(max_examples=25)
@given(
    st.lists(st.integers(-5, 5), min_size=4, max_size=4),
    st.integers(1, 3),
    st.booleans(),
    st.fractions(Fraction(1, 5), 3, max_denominator=7),
)
def test_probabilities_of_all_transcripts_sum_to_one(values, positives, monotone, epsilon):
    run = primitive(positives=positives, monotone=monotone, epsilon=epsilon)
    total = sum(
        math.exp(run.log_probability(values[: len(said)], said)) for said in transcripts(run, 4)
    )
    assert total == pytest.approx(1, abs=1e-12)


def test_log_probability_equals_a_long_naive_sum():
    run = primitive(positives=2, epsilon=HALF, threshold=2)
    values, said = [0, 3, 1, 5], [False, True, False, True]
    hidden = np.arange(-3000, 3001)
    total = np.tanh(0.5 / float(run.threshold_scale)) * np.exp(
        -np.abs(hidden) / float(run.threshold_scale)
    )
    support = np.arange(-3000, 3001)
    scale = float(run.query_scale)
    law = np.tanh(0.5 / scale) * np.exp(-np.abs(support) / scale)
    tails = np.concatenate([np.cumsum(law[::-1])[::-1], [0.0]])
    for value, answer in zip(values, said, strict=True):
        least = np.clip(2 + hidden - value + 3000, 0, 6001)
        total = total * (tails[least] if answer else 1 - tails[least])
    assert run.log_probability(values, said) == pytest.approx(math.log(total.sum()), abs=1e-9)


def test_impossible_transcripts_have_probability_zero():
    run = primitive(positives=1)
    assert run.log_probability([0, 0], [True, False]) == -math.inf
    assert run.log_probability([0, 0], [True, True]) == -math.inf
    assert run.log_probability([0], [True, True]) == -math.inf
    assert run.log_probability([], []) == pytest.approx(0, abs=1e-12)


def test_samples_follow_the_log_probability():
    # Chi-square at 1e-7 over all transcripts of three queries; a scale 10 % off is rejected.
    run = primitive(positives=2, epsilon=Fraction(2), threshold=1)
    values, trials = [0, 2, 1], 60_000
    seen = dict.fromkeys(transcripts(run, 3), 0)
    with noise.seeded(11):
        hidden = noise.discrete_laplace(trials, scale=run.threshold_scale)
        fresh = noise.discrete_laplace((trials, 3), scale=run.query_scale)
        bits = np.array(values) + fresh >= 1 + hidden[:, None]
    for row in bits.tolist():
        said = ()
        for answer in row:
            said = (*said, answer)
            if sum(said) == 2:
                break
        seen[said] += 1
    for factor, accepted in ((1, True), (Fraction(9, 10), False), (Fraction(11, 10), False)):
        other = primitive(positives=2, epsilon=Fraction(2) / factor, threshold=1)
        expected = [
            trials * math.exp(other.log_probability(values[: len(said)], said)) for said in seen
        ]
        p_value = stats.chisquare(list(seen.values()), expected, sum_check=False).pvalue
        assert (p_value > 1e-7) == accepted


def test_a_real_run_follows_the_log_probability_and_stops():
    # Chi-square at 1e-7 on runs of the primitive itself.
    run, values, trials = primitive(epsilon=Fraction(2)), [-1, 1, 0], 3_000
    seen = dict.fromkeys(transcripts(run, 3), 0)
    with noise.seeded(5):
        for _ in range(trials):
            going, said = run.start(), ()
            while not going.done and len(said) < 3:
                said = (*said, going.step(values[len(said)]))
            seen[said] += 1
            if sum(said):
                assert going.done
                with pytest.raises(RuntimeError, match="stopped"):
                    going.step(0)
    expected = [trials * math.exp(run.log_probability(values[: len(said)], said)) for said in seen]
    assert stats.chisquare(list(seen.values()), expected, sum_check=False).pvalue > 1e-7


def neighbours_of(values, monotone):
    moves = [(0, 1), (0, -1)] if monotone else [(-1, 0, 1)]
    for choice in moves:
        for move in itertools.product(choice, repeat=len(values)):
            yield [value + step for value, step in zip(values, move, strict=True)]


@pytest.mark.parametrize("monotone", [True, False])
@pytest.mark.parametrize("positives", [1, 2])
def test_no_neighbour_and_transcript_loses_more_than_epsilon(monotone, positives):
    run = primitive(positives=positives, monotone=monotone)
    worst = 0.0
    for values in ([0, 0, 0], [-3, -3, 2]):
        for neighbour in neighbours_of(values, monotone):
            assert run.change(values, neighbour).holds
            for said in transcripts(run, 3):
                worst = max(worst, abs(loss(run, values, neighbour, said)))
    assert 0.3 < worst <= 1 + 1e-9


def extreme(run, negatives):
    """Many negatives that rise and one positive that falls (or stays, if monotone)."""
    said = [False] * negatives + [True]
    values = [-3] * len(said)
    raised = [-2] * negatives + [-3 if run.monotone else -4]
    return loss(run, values, raised, said)


@pytest.mark.parametrize("monotone", [True, False])
@pytest.mark.parametrize("positives", [1, 2, 5])
def test_the_price_is_tight(monotone, positives):
    run = primitive(monotone=monotone, positives=positives, share=HALF)
    said = ([False] * 200 + [True]) * positives
    values = [-3] * len(said)
    # Monotone: every count of the neighbour is at least ours, and those said below are larger.
    raised = [-3 if answer and monotone else -4 if answer else -2 for answer in said]
    worst = loss(run, values, raised, said)
    assert 0.99 < worst <= 1 + 1e-9


@pytest.mark.parametrize(
    ("mutant", "monotone"),
    [
        (broken.HalfQueryNoise, True),
        (broken.HalfQueryNoise, False),
        (broken.HalfThresholdNoise, True),
        (broken.HalfThresholdNoise, False),
        (broken.MonotoneNoiseForAll, False),
    ],
)
def test_too_little_noise_exceeds_the_price(mutant, monotone):
    assert extreme(primitive(mutant, monotone=monotone, share=HALF), 200) > 1.4


def test_a_run_that_never_stops_exceeds_the_price():
    run = primitive(broken.NeverStops, share=HALF, monotone=True)
    said = [False] * 60 + [True] * 8
    values, raised = [-3] * 68, [-2] * 60 + [-3] * 8
    assert loss(run, values, raised, said) > 2


def test_monotone_queries_need_both_directions_checked():
    run = primitive(monotone=True)
    assert run.change([0, 0], [1, 1]).holds
    assert not run.change([0, 0], [1, -1]).holds
    assert not run.change([0], [2]).holds
    assert not run.change([0], [0, 0]).holds
    assert primitive().change([0, 0], [1, -1]).holds


class TestContinuousVariantsOfTheLiterature:
    """Quadrature with real Laplace noise of scale 2, which is claimed to be 1-DP."""

    @pytest.mark.parametrize(
        ("queries", "first", "second"),
        [
            (2, 0.4062, 0.4142),
            (4, 0.8412, 0.8630),
            (8, 1.7474, 1.7985),
            (16, 3.6215, 3.7261),
            (64, 15.2707, 15.5828),
        ],
    )
    def test_binary_svt_loses_without_bound(self, queries, first, second):
        half = queries // 2
        said = [True] * half + [False] * half

        def probability(of_a, of_b):
            answers = [of_a] * half + [of_b] * half
            return broken.binary_svt_log_probability(answers, said, threshold=1, scale=2)

        one, two, three = probability(1, 1), probability(1, 2), probability(0, 2)
        assert one - two == pytest.approx(first, abs=5e-5)
        assert two - three == pytest.approx(second, abs=5e-5)

    def test_vanilla_svt_loses_half_a_unit_with_every_query(self):
        def density(of_a, of_b):
            answers = [of_a] * 8 + [of_b]
            return broken.vanilla_svt_log_density(answers, 1, threshold=0, scale=2, positives=1)

        assert density(1, 1) - density(2, 0) == pytest.approx(4.5, abs=1e-9)
        assert density(1, 1) - density(2, 1) == pytest.approx(4.0, abs=1e-9)

    @pytest.mark.parametrize(
        ("negatives", "move", "expected"), [(20, 0, 1.0), (5, -1, 1.4375), (20, -1, 1.5)]
    )
    def test_corrected_svt_holds_for_monotone_queries_only(self, negatives, move, expected):
        # One unit of noise scale 2 on the threshold and on every query, and one positive.
        def probability(below, above):
            said = [False] * negatives + [True]
            answers = [below] * negatives + [above]
            return broken.binary_svt_log_probability(answers, said, threshold=0, scale=2)

        ratio = probability(0, 1) - probability(1, 1 + move)
        assert ratio == pytest.approx(expected, abs=2e-4)


def test_shares_add_up_exactly_and_follow_the_best_ratio():
    for positives, monotone in itertools.product((1, 3, 50), (True, False)):
        run = primitive(positives=positives, monotone=monotone, epsilon=Fraction(1, 3))
        first = run.sensitivity / run.threshold_scale
        steps = positives * (1 if monotone else 2)
        second = steps * run.sensitivity / run.query_scale
        assert first + second == Fraction(1, 3)
        assert float(second / first) == pytest.approx(steps ** (2 / 3), rel=0.02)
    assert 0 < threshold_share(10**9, monotone=False) <= Fraction(1, 1000)


def test_cost_in_each_measure():
    assert primitive().cost(PureDP) == PureDP(1)
    assert primitive().cost(ApproxDP) == ApproxDP(1, 0)
    assert primitive().cost(ZCDP) == ZCDP("1/2")


def test_the_signature_is_public_and_complete():
    assert primitive().signature() == {
        "kind": "above threshold",
        "threshold": 0,
        "sensitivity": 1,
        "positives": 1,
        "epsilon": "1",
        "monotone": False,
        "share": str(threshold_share(1, monotone=False)),
    }


def test_the_hidden_noise_does_not_show():
    assert repr(primitive(positives=3).start()) == "AboveThresholdRun(3 positives left)"


@pytest.mark.parametrize("value", [1.5, True, "3", None])
def test_answers_that_are_not_whole_numbers_are_refused(value):
    with pytest.raises(ValueError, match="answer"):
        primitive().check(value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"sensitivity": 0}, "sensitivity"),
        ({"positives": 0}, "positives"),
        ({"epsilon": Fraction(0)}, "epsilon"),
        ({"share": ONE}, "share"),
        ({"threshold": 2**60}, "threshold"),
    ],
)
def test_bad_signatures_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        primitive(**options)


def test_a_budget_pays_once_for_all_steps_and_keeps_the_answers():
    budget = opened(PureDP(1))
    with noise.seeded(2):
        steps = budget.start(primitive(threshold=5, positives=2), label="which")
        answers = []
        while not steps.done and len(answers) < 400:
            answers.append(steps.step(20 if len(answers) % 50 == 49 else -40))
    assert budget.remaining == PureDP(0)
    assert sum(answers) == 2
    assert steps.done
    (entry,) = transcript_of(budget).entries
    assert list(entry.outputs) == answers
    with pytest.raises(RuntimeError, match="stopped"):
        steps.step(0)


def test_the_stop_cannot_be_jumped_over():
    run = primitive(threshold=0, positives=1, epsilon=Fraction(1000)).start()

    class Nested(int):
        def __int__(self):
            if not run.done:
                run.step(10**6)
            return 10**6

    with pytest.raises(RuntimeError, match="has stopped"):
        run.step(Nested())
    assert run.done


def test_a_private_early_stop_is_seen_by_replay():
    from dataclasses import dataclass

    from sfumato.privacy.program import Query, Start, Step
    from sfumato.privacy.record import Diverged, record, replay
    from tests.privacy import toy
    from tests.privacy.toy import NoisyTally, Tally, TallyPublic

    @dataclass(frozen=True)
    class Below(Query):
        def answer(self, data):
            toy.BACK_ROOM["data"] = data
            return -(10**6)

    @dataclass(frozen=True, kw_only=True)
    class Quitter(NoisyTally):
        def program(self, public, budget):
            quiet = primitive(positives=1, epsilon=budget.limit.epsilon)
            run = yield Start(budget, quiet, "run")
            yield Step(run, Below())
            for _ in range(toy.BACK_ROOM["data"].codes.size):
                if run.done:
                    break
                yield Step(run, Below())

    method = Quitter(epsilon=1)
    few, more = (Tally([0] * n, TallyPublic(3)) for n in (3, 4))
    for here, there in ((few, more), (more, few)):
        with noise.seeded(1):
            script = record(method, here)
        with pytest.raises(Diverged):
            replay(method, there, script)
