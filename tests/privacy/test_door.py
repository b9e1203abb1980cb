import contextlib
import copy
import os
import threading

import numpy as np
import pytest

from sfumato import noise
from sfumato.privacy import door
from sfumato.privacy.budget import BudgetClosed, SeededDraw, SliceExceeded
from sfumato.privacy.guarantee import Relation, Unit
from sfumato.privacy.ledger import BudgetExceeded, Ledger
from sfumato.privacy.loss import PureDP
from sfumato.privacy.program import FINISH, Ask, DoesNotFollow
from sfumato.privacy.saved import load, verify
from tests.privacy import toy
from tests.privacy.toy import Asker, NoisyTally, Tally, TallyPublic

PUBLIC = TallyPublic(4)


@pytest.fixture
def data():
    return Tally([0, 0, 1, 3, 3, 3], PUBLIC)


@pytest.fixture
def ledger(tmp_path):
    return Ledger.create(tmp_path / "tally.ledger", allow=PureDP(1), unit="row")


def test_a_release_is_booked_before_it_is_made(data, ledger):
    release = NoisyTally(epsilon=0.4).release(data, ledger=ledger)
    assert release.counts.shape == (4,)
    assert ledger.spent == PureDP("0.4")
    assert "composed in tally.ledger#1" in str(release.guarantee)
    assert [entry.status for entry in ledger.history()] == ["released"]


def test_without_a_ledger_the_guarantee_says_so(data):
    assert "not composed" in str(NoisyTally(epsilon=1).release(data).guarantee)


def test_a_refused_spend_says_what_was_asked_what_is_left_and_what_is_missing(data, ledger):
    NoisyTally(epsilon=0.7).release(data, ledger=ledger)
    with pytest.raises(BudgetExceeded, match=r"0\.5.*0\.3.*0\.2"):
        NoisyTally(epsilon=0.5).release(data, ledger=ledger)
    assert ledger.spent == PureDP("0.7")


def test_there_is_no_default_epsilon():
    with pytest.raises(TypeError, match="epsilon"):
        NoisyTally()


@pytest.mark.parametrize("bad", [0, -1.0, float("inf"), float("nan"), "one", None, True])
def test_a_bad_epsilon_is_refused_with_words(bad):
    with pytest.raises(ValueError, match="epsilon must be positive and finite; got"):
        NoisyTally(epsilon=bad)


def test_what_a_method_hides_on_itself_does_not_reach_the_release(data):
    with pytest.raises(AttributeError, match="hidden"):
        toy.Smuggler(epsilon=1).release(data)


def test_what_a_method_writes_into_its_parameters_or_facts_does_not_reach_the_release(data):
    release = toy.Scribbler(epsilon=1).release(data)
    assert release.provenance.method.parameters() == {"epsilon": "1", "note": 1}
    assert release.provenance.public == PUBLIC


def test_a_method_that_states_less_than_it_may_spend_is_refused(data, ledger):
    with pytest.raises(ValueError, match="states ε = 1 but may spend ε = 100"):
        toy.Understater(epsilon=1).release(data, ledger=ledger)
    assert ledger.history() == []


def test_a_release_that_is_no_function_of_its_transcript_fails_verification(data, tmp_path):
    release = toy.BackRoom(epsilon=0.01).release(data)
    release.save(tmp_path / "out")
    toy.BACK_ROOM.clear()
    outcome = verify(tmp_path / "out")
    assert not outcome.passed
    assert "not what the transcript gives" in str(outcome)


def test_a_method_that_overspends_is_stopped_and_its_booking_stays(data, ledger):
    with pytest.raises(door.MeasurementFailed, match="SliceExceeded"):
        toy.Spendthrift(epsilon=0.5).release(data, ledger=ledger)
    assert ledger.spent == PureDP("0.5")
    assert [entry.status for entry in ledger.history()] == ["aborted"]


def test_a_breakdown_tells_no_private_value_and_leaves_the_ledger_right(data, ledger):
    with pytest.raises(door.MeasurementFailed) as caught:
        toy.Clumsy(epsilon=0.5).release(data, ledger=ledger)
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None and caught.value.__context__ is None
    assert "stays booked" in str(caught.value)
    assert ledger.spent == PureDP("0.5")
    assert [entry.status for entry in ledger.history()] == ["aborted"]


def test_seeded_bits_make_no_private_release(data, ledger):
    with noise.seeded(1):
        release = NoisyTally(epsilon=1).release(data)
        assert "not a private release" in release.guarantee.words()
        assert not release.guarantee.private
        with pytest.raises(ValueError, match="seeded"):
            NoisyTally(epsilon=1).release(data, ledger=ledger)
    assert ledger.spent == PureDP(0)


def test_a_rehearsal_costs_nothing_and_says_what_it_is():
    generator = noise.generator(5)
    release = door.rehearse(NoisyTally(epsilon=1), PUBLIC, rows=50, generator=generator)
    assert "rehearsal" in release.guarantee.words()
    assert release.counts.shape == (4,)


def test_a_unit_of_several_records_gets_its_share_of_noise():
    public = TallyPublic(4, unit=Unit.PERSON, contribution=5)
    release = NoisyTally(epsilon=1).release(Tally([0, 1], public))
    assert release.transcript.entries[0].signature["epsilon"] == "1/5"
    assert release.guarantee.loss == PureDP(1)
    assert "At most 5 records of one person" in release.guarantee.words()


def test_replacing_a_unit_of_several_records_counts_both_ways():
    public = TallyPublic(4, unit=Unit.PERSON, contribution=5, relation=Relation.REPLACE_ONE)
    release = NoisyTally(epsilon=1).release(Tally([0, 1], public))
    assert release.transcript.entries[0].signature["epsilon"] == "1/10"
    assert release.transcript.entries[0].signature["sensitivity"] == "1"


def test_a_method_refuses_data_of_another_kind(data):
    class Other:
        kind = "sequence"

    with pytest.raises(ValueError, match="needs data of kind 'tally'"):
        NoisyTally(epsilon=1).check(Other())


def test_what_breaks_on_made_up_data_breaks_before_it_costs(data, ledger, monkeypatch):
    def broken(self):
        raise OSError("cannot be written")

    monkeypatch.setattr(toy.TallyRelease, "files", broken)
    with pytest.raises(OSError, match="cannot be written"):
        NoisyTally(epsilon=0.5).release(data, ledger=ledger)
    assert ledger.history() == []


@pytest.mark.parametrize("kind", [SliceExceeded, BudgetClosed, SeededDraw, SystemExit])
def test_only_the_books_own_refusals_are_repeated(data, ledger, monkeypatch, kind):
    def loud(self, data):
        raise kind(f"secret {data.codes}")

    session = Asker(epsilon=1).open(data)
    monkeypatch.setattr(toy.OneCount, "answer", loud)
    with pytest.raises(door.MeasurementFailed) as caught:
        session.ask(0)
    assert "secret" not in str(caught.value) and caught.value.__context__ is None


def test_a_release_survives_a_ledger_that_cannot_be_told(data, ledger, monkeypatch):
    def full(self, entry, *, status, note=""):
        raise OSError("disk full")

    monkeypatch.setattr(Ledger, "finish", full)
    with pytest.raises(OSError, match="disk full") as caught:
        NoisyTally(epsilon=0.5).release(data, ledger=ledger)
    assert caught.value.release.counts.shape == (4,)


def test_the_name_of_one_of_our_methods_cannot_be_taken():
    with pytest.raises(ValueError, match=r"'table\.Histogram' is the name of a class of sfumato"):
        type("Histogram", (NoisyTally,), {"kind": "table"})


class TestSession:
    def test_the_total_is_booked_when_it_opens(self, data, ledger):
        with Asker(epsilon=0.8).open(data, ledger=ledger) as session:
            assert ledger.spent == PureDP("0.8")
            assert isinstance(session.ask(0), int)
            release = session.close()
        assert len(release.counts) == 1
        assert [entry.status for entry in ledger.history()] == ["closed"]

    def test_questions_stop_when_the_total_is_spent(self, data):
        session = Asker(epsilon=1).open(data)
        for _ in range(4):
            session.ask(3)
        with pytest.raises(SliceExceeded, match="asks for"):
            session.ask(3)

    def test_a_bad_question_costs_nothing(self, data):
        session = Asker(epsilon=1).open(data)
        with pytest.raises(ValueError, match="no such value"):
            session.ask(9)
        assert session.remaining == PureDP(1)

    def test_a_closed_session_answers_nothing(self, data):
        session = Asker(epsilon=1).open(data)
        session.close()
        with pytest.raises(BudgetClosed):
            session.ask(0)

    def test_threads_get_no_more_answers_than_were_paid(self, data):
        session = Asker(epsilon=1).open(data)
        answers = []

        def ask():
            with contextlib.suppress(SliceExceeded):
                answers.append(session.ask(1))

        threads = [threading.Thread(target=ask) for _ in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(answers) == 4
        assert len(session.close().counts) == 4

    def test_a_forked_session_answers_nothing(self, data):
        session = Asker(epsilon=1).open(data)
        child = os.fork()
        if child == 0:
            try:
                session.ask(1)
                os._exit(1)
            except BudgetClosed:
                os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert isinstance(session.ask(1), int)

    def test_seeded_answers_are_marked_whenever_they_were_drawn(self, data, ledger):
        session = Asker(epsilon=1).open(data)
        with noise.seeded(1):
            session.ask(0)
        assert not session.close().guarantee.private
        booked = Asker(epsilon=1).open(data, ledger=ledger)
        with noise.seeded(1), pytest.raises(RuntimeError, match="seeded"):
            booked.ask(0)
        assert booked.close().guarantee.private

    def test_a_breakdown_holds_no_private_value_and_the_session_goes_on(self, data, monkeypatch):
        session = Asker(epsilon=1).open(data)
        first = session.ask(0)

        def broken(self, data):
            raise ValueError(f"secret {data.codes}")

        with monkeypatch.context() as patch:
            patch.setattr(toy.OneCount, "answer", broken)
            with pytest.raises(door.MeasurementFailed) as caught:
                session.ask(1)
        assert "secret" not in str(caught.value) and caught.value.__context__ is None
        second = session.ask(2)
        assert session.close().counts.tolist() == [first, second]

    def test_a_session_cannot_be_copied(self, data):
        session = Asker(epsilon=1).open(data)
        with pytest.raises(TypeError, match="cannot be copied"):
            copy.copy(session)

    def test_an_answer_comes_from_a_fresh_copy_of_the_method(self, data):
        session = toy.PeekingAsker(epsilon=1).open(data)
        with pytest.raises(AttributeError, match="seen"):
            session.ask(0)

    def test_reopening_pays_again(self, data, ledger):
        Asker(epsilon=0.5).open(data, ledger=ledger).close()
        Asker(epsilon=0.5).open(data, ledger=ledger).close()
        assert ledger.spent == PureDP(1)

    def test_a_session_release_can_be_saved_and_verified(self, data, tmp_path):
        session = Asker(epsilon=1).open(data)
        answer = session.ask(3)
        session.close().save(tmp_path / "out")
        assert load(tmp_path / "out").counts.tolist() == [answer]
        assert verify(tmp_path / "out").passed


def test_interrupting_a_release_leaves_it_booked(data, ledger, monkeypatch):
    def interrupted(self, data):
        if data.codes.size > 1:
            raise KeyboardInterrupt
        return data.counts()

    monkeypatch.setattr(toy.TallyCounts, "answer", interrupted)
    with pytest.raises(KeyboardInterrupt):
        NoisyTally(epsilon=0.5).release(data, ledger=ledger)
    assert ledger.spent == PureDP("0.5")
    assert ledger.history()[0].status == "aborted"


def test_the_release_holds_nothing_of_the_data(data):
    release = NoisyTally(epsilon=1).release(data)
    held = [value for value in vars(release).values() if isinstance(value, np.ndarray)]
    assert all(not np.shares_memory(value, data.codes) for value in held)


def test_a_program_that_asks_after_it_said_that_nothing_more_comes_makes_no_release(data):
    class Afterthought(NoisyTally):
        def program(self, public, budget):
            half, rest = budget.split(["half", "rest"])
            yield Ask(half, self._noise(public, half), toy.TallyCounts(), "counts")
            yield FINISH
            more = yield Ask(rest, self._noise(public, rest), toy.TallyCounts(), "more")
            return toy.TallyRelease(more)

    with pytest.raises(DoesNotFollow, match="measures 'more', which the transcript lacks"):
        Afterthought(epsilon=1).release(data)
