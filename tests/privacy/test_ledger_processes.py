"""The ledger among processes: killed at any instant, racing, forked, threaded."""

from __future__ import annotations

import os
import random
import signal
import threading
import time

import pytest

from sfumato.privacy import ledger_store
from sfumato.privacy.guarantee import Basis, Guarantee, Relation, Unit
from sfumato.privacy.ledger import BudgetExceeded, Ledger, LedgerError
from sfumato.privacy.loss import PureDP

# Forked children of these tests use SQLite and nothing that other threads hold.
pytestmark = [
    pytest.mark.filterwarnings("ignore:This process.*multi-threaded:DeprecationWarning"),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
]

TENTH = Guarantee(
    loss=PureDP("0.1"), unit=Unit.ROW, relation=Relation.ADD_REMOVE, basis=Basis.PROVED
)


def book(ledger):
    return ledger.book(
        TENTH,
        kind="release",
        method="Histogram",
        parameters={},
        digest=lambda key: b"the same data set" * 2,
    )


def spawn(work):
    """Start a forked child that runs `work` and leaves with the code it returns."""
    child = os.fork()
    if child == 0:
        code = 255
        signal.alarm(60)  # A child that hangs is a failure too.
        try:
            code = work() or 0
        finally:
            os._exit(code)
    return child


def exit_code(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.fixture
def create(tmp_path):
    def make(allow):
        return Ledger.create(tmp_path / "patients.ledger", allow=PureDP(allow))

    return make


def book_for_ever(ledger, writer):
    """Book again and again, reporting each booking once it has returned."""
    while True:
        book(ledger)
        os.write(writer, b".")


def test_a_process_killed_at_any_instant_never_makes_the_ledger_forget(create):
    ledger = create(10**6)
    start = time.perf_counter()
    reported = len([book(ledger) for _ in range(5)])
    pace = (time.perf_counter() - start) / reported
    moments = random.Random(2016)
    together, rounds, journals = 4, 75, 0
    for turn in range(1, rounds + 1):
        reader, writer = os.pipe()
        children = [spawn(lambda: book_for_ever(ledger, writer)) for _ in range(together)]  # noqa: B023
        os.close(writer)
        if turn % 2:  # Otherwise they may die before their first booking.
            reported += len(os.read(reader, 1))
        for child in children:
            time.sleep(moments.uniform(0, 1.5 * pace))
            os.kill(child, signal.SIGKILL)
        assert [exit_code(child) for child in children] == [-signal.SIGKILL] * together
        with os.fdopen(reader, "rb") as pipe:
            reported += len(pipe.read())
        journals += os.path.exists(f"{ledger.path}-journal")
        reopened = Ledger.open(ledger.path)
        booked = len(reopened.history())
        # Each killed child may have booked once without living to tell.
        assert reported <= booked <= reported + together * turn
        assert reopened.spent == ledger.spent == PureDP("0.1").group(booked)
    ledger.check()
    # The test had teeth: some kills hit a transaction half done.
    assert journals > 0


@pytest.mark.parametrize("moment", ["before the commit", "after the commit"])
def test_a_kill_next_to_the_commit(create, monkeypatch, moment):
    ledger = create(1)
    book(ledger)

    def die(*_):
        os.kill(os.getpid(), signal.SIGKILL)

    def insert_and_die(connection, event):
        insert(connection, event)
        die()

    insert = ledger_store._insert
    if moment == "before the commit":
        monkeypatch.setattr(ledger_store, "_insert", insert_and_die)
    else:
        monkeypatch.setattr(
            Ledger, "_follow_events", once_then(Ledger._follow_events, die, calls=2)
        )
    assert exit_code(spawn(lambda: book(ledger) and 0)) == -signal.SIGKILL
    monkeypatch.undo()
    expected = 1 if moment == "before the commit" else 2
    assert len(Ledger.open(ledger.path).history()) == expected
    assert book(ledger).number == expected + 1


def once_then(function, other, *, calls):
    """Return a function that works `calls` times, and then does something else."""
    left = [calls]

    def replaced(*arguments):
        left[0] -= 1
        return function(*arguments) if left[0] >= 0 else other()

    return replaced


def test_a_kill_while_a_ledger_is_made_leaves_a_clear_state(tmp_path, monkeypatch):
    path = tmp_path / "patients.ledger"
    insert = ledger_store._insert

    def insert_and_die(connection, event):
        insert(connection, event)
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(ledger_store, "_insert", insert_and_die)
    child = spawn(lambda: Ledger.create(path, allow=PureDP(1)) and 0)
    assert exit_code(child) == -signal.SIGKILL
    monkeypatch.undo()
    # A ledger appears whole or not at all: nothing stands in the way.
    assert not path.exists()
    assert Ledger.create(path, allow=PureDP(1)).spent == PureDP(0)


def test_processes_racing_for_the_last_of_the_budget_never_overspend(create):
    ledger = create("1.05")
    reader, writer = os.pipe()

    def race():
        os.close(writer)
        os.read(reader, 1)  # All start when the pipe is closed.
        won = 0
        for _ in range(3):
            try:
                book(ledger)
                won += 1
            except BudgetExceeded:
                break
        return won

    children = [spawn(race) for _ in range(8)]
    os.close(writer)
    wins = [exit_code(child) for child in children]
    os.close(reader)
    assert sum(wins) == 10
    assert ledger.spent == PureDP(1)
    assert ledger.remaining == PureDP("0.05")
    assert [entry.number for entry in ledger.history()] == list(range(1, 11))
    ledger.check()


def test_processes_racing_to_make_a_ledger_make_one(tmp_path):
    path = tmp_path / "patients.ledger"

    def make():
        try:
            Ledger.create(path, allow=PureDP(1))
        except LedgerError as error:
            return 1 if "never overwritten" in str(error) else 2
        return 0

    codes = [exit_code(child) for child in [spawn(make) for _ in range(6)]]
    assert sorted(codes) == [0, 1, 1, 1, 1, 1]
    assert Ledger.open(path).spent == PureDP(0)


def test_threads_sharing_a_ledger_never_overspend(create):
    ledger = create(1)
    outcomes = []

    def race():
        for _ in range(3):
            try:
                outcomes.append(book(ledger).number)
            except BudgetExceeded:
                outcomes.append(None)

    threads = [threading.Thread(target=race) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(number for number in outcomes if number) == list(range(1, 11))
    assert outcomes.count(None) == 8
    assert ledger.spent == PureDP(1)


def test_a_fork_amid_a_booking_harms_neither_side(create):
    ledger = create(1000)
    stop = threading.Event()
    here = []

    def keep_booking():
        while not stop.is_set():
            here.append(book(ledger).hash)
            time.sleep(0.002)

    thread = threading.Thread(target=keep_booking)
    thread.start()
    children = []
    for _ in range(10):
        time.sleep(0.005)
        children.append(spawn(lambda: book(ledger) and 0))
    codes = [exit_code(child) for child in children]
    stop.set()
    thread.join()
    assert codes == [0] * 10
    assert len(ledger.history()) == len(here) + 10
    assert {entry.hash for entry in ledger.history()} >= set(here)
    ledger.check()
