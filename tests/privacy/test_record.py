import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import pytest

from sfumato import noise
from sfumato.mechanisms.laplace import GeometricNoise
from sfumato.mechanisms.sparse_vector import AboveThreshold
from sfumato.privacy.program import Ask, Start, Step
from sfumato.privacy.record import Diverged, Said, record, replay
from tests.privacy import toy
from tests.privacy.toy import NoisyTally, Tally, TallyPublic

PUBLIC = TallyPublic(3)
DATA = Tally([0, 1, 1], PUBLIC)
MORE = Tally([0, 1, 1, 2], PUBLIC)


@pytest.fixture(autouse=True)
def _seeded():
    with noise.seeded(11):
        yield


def test_the_exact_loss_of_a_transcript_is_within_epsilon_both_ways():
    method = NoisyTally(epsilon=1)
    losses = []
    for _ in range(200):
        here = record(method, DATA)
        there = replay(method, MORE, here)
        losses.append(here.loss_against(there))
    assert max(map(abs, losses)) <= 1 + 1e-12
    # Geometric noise attains its bound, so the check could have failed.
    assert max(losses) == pytest.approx(1) and min(losses) == pytest.approx(-1)


def test_inputs_keep_the_declared_distance():
    method = NoisyTally(epsilon=1)
    here = record(method, DATA)
    ((step, change),) = here.changes(replay(method, MORE, here))
    assert (step.label, change.norm, change.measured, change.holds) == ("counts", "L1", 1, True)


def test_a_wrong_declaration_is_found():
    method = toy.HalfNoise(epsilon=1)
    here = record(method, DATA)
    there = replay(method, MORE, here)
    ((_, change),) = here.changes(there)
    assert not change.holds
    assert abs(here.loss_against(there)) == pytest.approx(2)


def test_control_flow_that_depends_on_the_data_is_found():
    method = toy.Peeker(epsilon=1)
    with pytest.raises(Diverged, match="on the neighbour"):
        replay(method, MORE, record(method, DATA))


def test_a_method_that_swallows_the_divergence_is_found():
    public_counts = np.zeros(3, dtype=np.int64)

    @dataclass(frozen=True, kw_only=True)
    class Swallower(NoisyTally):
        def program(self, public, budget):
            noise = GeometricNoise(shape=(3,), sensitivity=Fraction(1), epsilon=Fraction(1, 4))
            yield Ask(budget, noise, toy.LeakingCounts(), "leak")
            many = toy.BACK_ROOM["data"].codes.size >= 4
            first, second = ("hi", "lo") if many else ("lo", "hi")
            try:
                budget.measure(noise, public_counts, label=first)
            except BaseException:
                budget.measure(noise, public_counts, label=second)

    method = Swallower(epsilon=1)
    with pytest.raises(Diverged):
        replay(method, MORE, record(method, DATA))


def test_a_slice_whose_name_depends_on_the_data_is_found():
    method = toy.SlicePeeker(epsilon=1)
    with pytest.raises(Diverged):
        replay(method, MORE, record(method, DATA))


def test_a_published_field_that_a_primitive_does_not_compare_is_found():
    @dataclass(frozen=True, kw_only=True)
    class Chatty(GeometricNoise):
        remark: int = field(default=0, compare=False)

    @dataclass(frozen=True, kw_only=True)
    class Chatterbox(NoisyTally):
        def program(self, public, budget):
            half = {"shape": (3,), "sensitivity": Fraction(1), "epsilon": Fraction(1, 2)}
            yield Ask(budget, GeometricNoise(**half), toy.LeakingCounts(), "leak")
            noise = Chatty(**half, remark=toy.BACK_ROOM["data"].codes.size)
            yield Ask(budget, noise, toy.TallyCounts(), "counts")

    method = Chatterbox(epsilon=1)
    with pytest.raises(Diverged):
        replay(method, MORE, record(method, DATA))


def test_replay_says_what_was_said():
    method = NoisyTally(epsilon=1)
    here = record(method, DATA)
    there = replay(method, MORE, here)
    np.testing.assert_array_equal(here[0].outputs[0], there[0].outputs[0])
    assert math.isfinite(here[0].log_probability())


def test_an_output_is_forced_where_the_same_is_asked_and_nowhere_else():
    method = NoisyTally(epsilon=1)
    (step,) = record(method, DATA)
    forced = np.array([7, -7, 10**6])
    said = Said(step.label, step.path, step.primitive, forced)
    (told,) = record(method, DATA, said=[said])
    np.testing.assert_array_equal(told.outputs[0], forced)
    (other,) = record(NoisyTally(epsilon=2), DATA, said=[said])
    assert not np.array_equal(other.outputs[0], forced)


def test_a_further_question_that_the_data_decide_is_found():
    @dataclass(frozen=True, kw_only=True)
    class Curious(NoisyTally):
        def program(self, public, budget):
            noise = GeometricNoise(shape=(3,), sensitivity=Fraction(1), epsilon=Fraction(1, 2))
            yield Ask(budget, noise, toy.LeakingCounts(), "first")
            if toy.BACK_ROOM["data"].codes.size > 3:
                yield Ask(budget, noise, toy.TallyCounts(), "second")

    method = Curious(epsilon=1)
    with pytest.raises(Diverged, match=r"^the neighbour asks for 'second', never asked before$"):
        replay(method, MORE, record(method, DATA))


def test_a_session_is_recorded_and_replayed_with_its_questions():
    method, questions = toy.Asker(epsilon=1), [2, 0, 2]
    here = record(method, DATA, questions=questions)
    there = replay(method, MORE, here, questions=questions)
    assert [step.label for step in here] == ["0 2", "1 0", "2 2"]
    moved = [change.measured for _, change in here.changes(there)]
    # A value 2 was added: each of the two questions about it may cost a quarter.
    assert moved == [1, 0, 1]
    assert abs(here.loss_against(there)) <= 0.5 + 1e-12


def test_a_run_of_many_steps_is_recorded_with_its_loss_and_its_change():
    primitive = AboveThreshold(threshold=3, sensitivity=1, positives=1, epsilon=Fraction(1, 2))

    @dataclass(frozen=True)
    class Size(toy.TallyCounts):
        def answer(self, data):
            return int(data.codes.size)

    @dataclass(frozen=True, kw_only=True)
    class Watcher(NoisyTally):
        def program(self, public, budget):
            run = yield Start(budget, primitive, "large")
            for _ in range(3):
                if not run.done:
                    yield Step(run, Size())

    method = Watcher(epsilon=1)
    here = record(method, DATA)
    there = replay(method, MORE, here)
    (step,), (other,) = here, there
    assert step.inputs == [3] * len(step.outputs) and other.inputs == [4] * len(step.outputs)
    ((_, change),) = here.changes(there)
    assert change.measured == 1 and change.holds
    loss = primitive.log_probability(step.inputs, step.outputs)
    loss -= primitive.log_probability(other.inputs, step.outputs)
    assert here.loss_against(there) == pytest.approx(loss) and 0 < abs(loss) <= 0.5
