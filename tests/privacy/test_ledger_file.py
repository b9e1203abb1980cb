"""The ledger's file: durable, private to its owner, and telling of every change."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import resource
import shutil
import signal
import sqlite3
import stat
import tempfile
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from sfumato.privacy import ledger_store, ledger_witness
from sfumato.privacy.canonical import canonical, digest
from sfumato.privacy.guarantee import Basis, Guarantee, Relation, Unit
from sfumato.privacy.ledger import BudgetExceeded, Ledger, LedgerError
from sfumato.privacy.ledger_store import APPLICATION, FORMAT, Store
from sfumato.privacy.loss import ZCDP, ApproxDP, PureDP

# Forked children of these tests use SQLite and nothing that other threads hold.
pytestmark = pytest.mark.filterwarnings("ignore:This process.*multi-threaded:DeprecationWarning")

TENTH = Guarantee(
    loss=PureDP("0.1"), unit=Unit.ROW, relation=Relation.ADD_REMOVE, basis=Basis.PROVED
)


def book(ledger, **parameters):
    return ledger.book(
        TENTH,
        kind="release",
        method="Histogram",
        parameters=parameters,
        digest=lambda key: b"the same data set" * 2,
    )


@pytest.fixture
def ledger(tmp_path):
    made = Ledger.create(tmp_path / "patients.ledger", allow=PureDP(100))
    for _ in range(3):
        book(made)
    made.finish(made.history()[0], status="released")
    return made


@contextlib.contextmanager
def raw(ledger):
    """Open the file as somebody who tampers with it."""
    with contextlib.closing(sqlite3.connect(ledger.path, isolation_level=None)) as connection:
        yield connection


def unguard(connection):
    for trigger in ("event_update", "event_delete"):
        connection.execute(f"DROP TRIGGER {trigger}")


def rewrite(ledger, number, spoil, *, relink=True):
    """Change an event as somebody does who gives every later one a new link and a new hash."""
    with raw(ledger) as connection:
        unguard(connection)
        rows = connection.execute("SELECT number, body FROM event ORDER BY number").fetchall()
        previous = None
        for place, text in rows[number:]:
            body = json.loads(text)
            if place == number:
                spoil(body)
            elif relink:
                body["previous"] = previous
            content = canonical(body)
            previous = digest(content)
            connection.execute(
                "UPDATE event SET body = ?, hash = ? WHERE number = ?",
                (content.decode(), previous, place),
            )


def refused(ledger, message):
    for look in (ledger.check, lambda: Ledger.open(ledger.path)):
        with pytest.raises(LedgerError, match=message):
            look()


class TestMaking:
    @pytest.mark.parametrize("umask", [0o000, 0o022, 0o277])
    def test_the_file_is_for_its_owner_alone_whatever_the_umask(self, tmp_path, umask):
        before = os.umask(umask)
        try:
            ledger = Ledger.create(tmp_path / "patients.ledger", allow=PureDP(1))
        finally:
            os.umask(before)
        assert stat.S_IMODE(ledger.path.stat().st_mode) == 0o600

    def test_it_is_one_file_that_tools_recognise(self, ledger, tmp_path):
        assert list(tmp_path.iterdir()) == [ledger.path]
        with raw(ledger) as connection:
            assert connection.execute("PRAGMA application_id").fetchone() == (APPLICATION,)
            assert connection.execute("PRAGMA user_version").fetchone() == (FORMAT,)
            assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)

    def test_every_connection_is_as_durable_as_sqlite_can_be(self, ledger):
        with ledger._store._connection() as connection:
            assert connection.execute("PRAGMA synchronous").fetchone() == (3,)
            assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)

    def test_a_write_ahead_log_is_turned_back_into_a_rollback_journal(self, ledger):
        with raw(ledger) as connection:
            assert connection.execute("PRAGMA journal_mode = WAL").fetchone() == ("wal",)
        book(ledger)
        with raw(ledger) as connection:
            assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)

    def test_an_existing_file_is_never_overwritten(self, ledger):
        content = ledger.path.read_bytes()
        with pytest.raises(LedgerError, match="exists, and a ledger is never overwritten"):
            Ledger.create(ledger.path, allow=PureDP(1))
        assert ledger.path.read_bytes() == content

    def test_a_missing_folder_is_named(self, tmp_path):
        with pytest.raises(LedgerError, match=r"cannot be created: No such file or directory"):
            Ledger.create(tmp_path / "no" / "patients.ledger", allow=PureDP(1))

    def test_a_failed_making_leaves_nothing_in_the_way(self, tmp_path, monkeypatch):
        def fail(connection, event):
            raise sqlite3.OperationalError("no luck")

        monkeypatch.setattr(ledger_store, "_insert", fail)
        with pytest.raises(LedgerError, match="no luck"):
            Ledger.create(tmp_path / "patients.ledger", allow=PureDP(1))
        assert list(tmp_path.iterdir()) == []

    def test_a_drive_without_links_keeps_ledgers_and_overwrites_none(self, tmp_path, monkeypatch):
        def fail(*names):
            raise OSError(errno.EPERM, os.strerror(errno.EPERM))

        monkeypatch.setattr(os, "link", fail)
        ledger = Ledger.create(tmp_path / "patients.ledger", allow=PureDP(1))
        book(ledger)
        assert Ledger.open(ledger.path).spent == PureDP("0.1")
        assert stat.S_IMODE(ledger.path.stat().st_mode) == 0o600
        assert list(tmp_path.iterdir()) == [ledger.path]
        with pytest.raises(LedgerError, match="exists, and a ledger is never overwritten"):
            ledger_store._publish(tmp_path / "draft", ledger.path)
        book(ledger)

    def test_a_name_that_is_too_long_is_refused_in_words(self, tmp_path):
        path = tmp_path / ("x" * 300)
        with pytest.raises(LedgerError, match=r"cannot be created: File name too long$"):
            Ledger.create(path, allow=PureDP(1))
        with pytest.raises(LedgerError, match=r"be opened: File name too long; nothing was boo"):
            Ledger.open(path)

    @pytest.mark.parametrize("name", ["my patients?#%20.ledger", "Übung 1.ledger"])
    def test_any_file_name_will_do(self, tmp_path, name):
        ledger = Ledger.create(tmp_path / name, allow=PureDP(1))
        assert book(ledger).reference == f"{name}#1"
        assert [path.name for path in tmp_path.iterdir()] == [name]

    @pytest.mark.skipif(os.name != "posix", reason="names are bytes on POSIX only")
    def test_a_name_that_is_not_utf8_is_told_as_text(self, tmp_path):
        path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/pati\xffents.ledger"))
        ledger = Ledger.create(path, allow=PureDP(1))
        entry = book(ledger)
        assert ledger.name == "pati?ents.ledger" and entry.reference == "pati?ents.ledger#1"
        canonical(entry.to_json())
        assert Ledger.open(path).history() == [entry]
        with pytest.raises(BudgetExceeded) as refusal:
            ledger.book(
                replace(TENTH, loss=PureDP(2)), kind="release", method="x", parameters={},
                digest=None,
            )  # fmt: skip
        str(refusal.value).encode()


class TestOpening:
    def test_a_missing_file_is_not_made(self, tmp_path):
        with pytest.raises(LedgerError, match=r"there is no ledger at .*make one with Ledger.cre"):
            Ledger.open(tmp_path / "patients.ledger")
        assert list(tmp_path.iterdir()) == []

    def test_an_empty_file_is_not_taken_for_a_new_ledger(self, tmp_path):
        (tmp_path / "patients.ledger").touch()
        with pytest.raises(LedgerError, match=r"is an empty file.*from a backup; if not"):
            Ledger.open(tmp_path / "patients.ledger")

    def test_another_file_is_not_a_ledger(self, tmp_path):
        path = tmp_path / "patients.csv"
        path.write_text("age,sex\n" * 1000)
        with pytest.raises(LedgerError, match="is not a ledger: it is not an SQLite file"):
            Ledger.open(path)

    def test_a_folder_is_not_a_ledger(self, tmp_path):
        with pytest.raises(LedgerError, match="cannot be opened"):
            Ledger.open(tmp_path)

    def test_another_sqlite_file_is_not_a_ledger(self, tmp_path):
        path = tmp_path / "other.db"
        with contextlib.closing(sqlite3.connect(path)) as connection:
            connection.execute("CREATE TABLE t (x)")
        with pytest.raises(LedgerError, match="an SQLite file, but not a ledger of sfumato"):
            Ledger.open(path)

    def test_a_newer_format_is_refused(self, ledger):
        with raw(ledger) as connection:
            connection.execute(f"PRAGMA user_version = {FORMAT + 1}")
        refused(ledger, rf"newer version of sfumato \(format {FORMAT + 1}.*update sfumato")
        with pytest.raises(LedgerError, match="newer version"):
            book(ledger)

    def test_the_format_of_before_the_first_release_is_refused(self, ledger):
        with raw(ledger) as connection:
            connection.execute("PRAGMA user_version = 1")
        refused(ledger, rf"is a ledger of format 1, and this version reads format {FORMAT} only")

    def test_a_truncated_file_is_damaged(self, ledger):
        size = ledger.path.stat().st_size
        os.truncate(ledger.path, size // 2 // 4096 * 4096)
        refused(ledger, "damaged or was edited")

    def test_overwritten_pages_are_damage(self, ledger):
        with open(ledger.path, "r+b") as file:
            file.seek(4096)
            file.write(b"\xff" * 8192)
        refused(ledger, "damaged or was edited.*restored from a backup")


class TestTampering:
    def test_the_file_itself_refuses_changes_made_by_mistake(self, ledger):
        with raw(ledger) as connection:
            for statement in ("DELETE FROM event", "UPDATE event SET body = '{}'"):
                with pytest.raises(sqlite3.IntegrityError, match="a ledger is append-only"):
                    connection.execute(statement)
        ledger.check()

    @pytest.mark.parametrize("number", range(5))
    def test_one_changed_character_is_found_wherever_it_is(self, ledger, number):
        with raw(ledger) as connection:
            unguard(connection)
            ((body,),) = connection.execute("SELECT body FROM event WHERE number = ?", (number,))
            for place in range(0, len(body), 37):
                other = "0" if body[place] != "0" else "1"
                changed = body[:place] + other + body[place + 1 :]
                connection.execute("UPDATE event SET body = ? WHERE number = ?", (changed, number))
                refused(ledger, f"event {number} (does not match its hash|cannot be read)")
            connection.execute("UPDATE event SET body = ? WHERE number = ?", (body, number))
        ledger.check()

    def test_a_changed_allowance_is_found(self, ledger):
        with raw(ledger) as connection:
            unguard(connection)
            connection.execute("UPDATE event SET body = replace(body, '100', '999')")
        refused(ledger, "event 0 does not match its hash")

    def test_a_change_with_its_own_hash_renewed_breaks_the_next_link(self, ledger):
        with raw(ledger) as connection:
            unguard(connection)
            ((text,),) = connection.execute("SELECT body FROM event WHERE number = 1")
            content = canonical({**json.loads(text), "method": "Another"})
            connection.execute(
                "UPDATE event SET body = ?, hash = ? WHERE number = 1",
                (content.decode(), digest(content)),
            )
        refused(ledger, "event 2 does not follow event 1")

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"charged": {"measure": "pure", "epsilon": "0"}}, "less was charged"),
            ({"charged": {"measure": "pure", "epsilon": "1"}}, "the sum is wrong"),
            ({"charged": {"measure": "pure", "epsilon": "101"}}, "more was booked than is allowed"),
            ({"entry": 7}, "not numbered in order"),
            ({"data": None}, "booked for other data"),
            ({"event": "refunded"}, "cannot be right"),
            ({"guarantee": None}, "cannot be right"),
            ({"event": "finished", "status": "released", "note": "", "entry": 1}, "ends once"),
        ],
    )
    def test_a_well_linked_event_must_still_add_up(self, ledger, changes, message):
        with raw(ledger) as connection:
            unguard(connection)
            ((text,),) = connection.execute("SELECT body FROM event WHERE number = 3")
            content = canonical({**json.loads(text), **changes})
            connection.execute("DELETE FROM event WHERE number > 3")
            if changes.get("event") == "finished":
                again = {**json.loads(content), "number": 4, "previous": digest(content)}
                connection.execute(
                    "INSERT INTO event VALUES (4, ?, ?)",
                    (canonical(again).decode(), digest(canonical(again))),
                )
            connection.execute(
                "UPDATE event SET body = ?, hash = ? WHERE number = 3",
                (content.decode(), digest(content)),
            )
        refused(ledger, message)

    def test_a_chain_rewritten_to_charge_less_is_found(self, ledger):
        def cheaper(body):
            charged = {"measure": "pure", "epsilon": "1/1000"}
            body.update(charged=charged, spent={"measure": "pure", "epsilon": "201/1000"})

        rewrite(ledger, 3, cheaper)
        refused(ledger, "event 3 cannot be right: less was charged than its guarantee costs")

    @pytest.mark.parametrize(
        ("allow", "relation"),
        [
            (PureDP(10), "replace_one"),
            (ApproxDP(10, "1e-6"), "add_remove"),
            (ApproxDP(10, "1e-6"), "replace_one"),
            (ZCDP(10), "replace_one"),
        ],
    )
    def test_converted_charges_are_recomputed_alike(self, tmp_path, allow, relation):
        ledger = Ledger.create(tmp_path / "patients.ledger", allow=allow, relation=relation)
        for _ in range(3):
            book(ledger)
        ledger.check()
        assert len(Ledger.open(ledger.path).history()) == 3

    def test_a_charge_that_was_rounded_up_still_covers_its_guarantee(self, tmp_path):
        ledger = Ledger.create(tmp_path / "patients.ledger", allow=PureDP(100))
        for prime in (10**31 + 33, 10**33 + 91, 10**37 + 43):
            odd = replace(TENTH, loss=PureDP(Fraction(1, prime)))
            ledger.book(odd, kind="release", method="Histogram", parameters={}, digest=None)
        assert ledger.history()[-1].charged.epsilon > ledger.history()[-1].guarantee.loss.epsilon
        ledger.check()

    @pytest.mark.parametrize(
        "spoil",
        [
            lambda body: body["charged"].update(epsilon="1/0"),
            lambda body: body["charged"].update(epsilon="1e999999999"),
            lambda body: body["charged"].update(epsilon="-1/10"),
            lambda body: body["charged"].update(epsilon=0.1),
            lambda body: body["charged"].pop("epsilon"),
            lambda body: body["charged"].update(measure="none"),
            lambda body: body["spent"].update(epsilon="1/0"),
            lambda body: body["guarantee"]["loss"].update(epsilon="1/0"),
            lambda body: body["guarantee"]["also"].append({"measure": "pure", "epsilon": "1/0"}),
            lambda body: body["guarantee"].update(also="x"),
            lambda body: body["guarantee"].update(public="the schema"),
            lambda body: body["guarantee"].update(contribution="1"),
            lambda body: body["guarantee"].update(unit=["row"]),
            lambda body: body["guarantee"].update(unit="person"),
            lambda body: body["guarantee"].update(caveat=None),
            lambda body: body["guarantee"].update(caveat="a rehearsal"),
            lambda body: body["guarantee"].update(proof=7),
            lambda body: body.pop("guarantee"),
            lambda body: body.update(charged="1/10"),
            lambda body: body.update(time=7),
            lambda body: body.update(time="yesterday"),
            lambda body: body.update(time="2026-01-01T00:00:00"),
            lambda body: body.pop("time"),
            lambda body: body.update(parameters=["age"]),
            lambda body: body.update(kind=None),
            lambda body: body.update(method=7),
            lambda body: body.update(entry=True),
            lambda body: body.update(entry="2"),
            lambda body: body.update(data=7),
            lambda body: body.update(event=["booked"]),
            lambda body: body.pop("event"),
        ],
    )
    def test_a_rewritten_booking_is_read_with_suspicion(self, ledger, spoil):
        rewrite(ledger, 2, spoil)
        refused(ledger, "event 2 cannot be right")

    @pytest.mark.parametrize(
        "spoil",
        [
            lambda body: body["terms"]["allow"].update(epsilon="1/0"),
            lambda body: body["terms"]["allow"].update(epsilon="1e999999999"),
            lambda body: body["terms"].update(unit=7),
            lambda body: body.update(terms=None),
            lambda body: body.update(time=None),
            lambda body: body.update(identity=7),
            lambda body: body.update(secret=None),
            lambda body: body["spent"].update(epsilon="1"),
            lambda body: body.pop("spent"),
        ],
    )
    def test_a_rewritten_beginning_is_read_with_suspicion(self, ledger, spoil):
        rewrite(ledger, 0, spoil)
        refused(ledger, "the first event cannot be read")

    @pytest.mark.parametrize(
        "spoil",
        [
            lambda body: body.update(entry=1.0),
            lambda body: body.update(entry=9),
            lambda body: body.update(note=None),
            lambda body: body.update(status=["released"]),
            lambda body: body.update(event="bound", data=None, reason="a correction"),
            lambda body: body.update(event="bound", data="x", reason=None),
            lambda body: body.update(event="bound", data="x", reason="a correction", time=0),
        ],
    )
    def test_a_rewritten_end_or_binding_is_read_with_suspicion(self, ledger, spoil):
        rewrite(ledger, 4, spoil)
        refused(ledger, "event 4 cannot be right")

    @pytest.mark.parametrize("number", range(5))
    @pytest.mark.parametrize("previous", [None, 7])
    def test_an_event_without_a_link_is_found(self, ledger, number, previous):
        rewrite(ledger, number, lambda body: body.update(previous=previous), relink=False)
        refused(ledger, f"event {number} names no event before it")

    def test_an_event_whose_link_was_taken_out_is_found(self, ledger):
        rewrite(ledger, 2, lambda body: body.pop("previous"), relink=False)
        refused(ledger, "event 2 cannot be read")

    def test_a_removed_event_is_found(self, ledger):
        with raw(ledger) as connection:
            unguard(connection)
            connection.execute("DELETE FROM event WHERE number = 2")
        refused(ledger, "event 3 does not follow event 1")

    def test_an_emptied_ledger_is_found(self, ledger):
        with raw(ledger) as connection:
            unguard(connection)
            connection.execute("DELETE FROM event")
        refused(ledger, "event 0 is missing")

    def test_a_removed_table_is_found(self, ledger):
        with raw(ledger) as connection:
            connection.execute("DROP TABLE event")
        refused(ledger, "no such table: event")

    def test_text_that_is_none_is_found(self, ledger):
        with raw(ledger) as connection:
            unguard(connection)
            connection.execute("UPDATE event SET body = CAST(x'ff00ff' AS TEXT) WHERE number = 2")
        refused(ledger, "damaged")

    @pytest.mark.parametrize("body", [b"{}", "[]", "7", '{"number":2}', "{" * 10_000])
    def test_a_body_of_another_shape_is_found(self, ledger, body):
        with raw(ledger) as connection:
            unguard(connection)
            connection.execute("UPDATE event SET body = ? WHERE number = 2", (body,))
        refused(ledger, "event 2")

    @pytest.mark.parametrize("statement", ["UPDATE secret SET value = x'00'", "DELETE FROM secret"])
    def test_an_exchanged_secret_is_found(self, ledger, statement):
        with raw(ledger) as connection:
            connection.execute(statement)
        refused(ledger, "its secret (was exchanged|is missing)")

    def test_a_cut_off_end_is_found_by_a_certificate_and_by_whoever_saw_it(self, ledger):
        certified = book(ledger).hash
        head = ledger.head
        assert ledger.contains(certified)
        with raw(ledger) as connection:
            unguard(connection)
            connection.execute("DELETE FROM event WHERE hash = ?", (certified,))
        with pytest.raises(LedgerError, match=r"is older than the one that was last used"):
            Ledger.open(ledger.path)
        ledger_witness.forget(ledger.path)
        shortened = Ledger.open(ledger.path)
        assert not shortened.contains(certified)
        assert shortened.head != head
        for look in (ledger.check, ledger.history, lambda: book(ledger)):
            with pytest.raises(LedgerError, match=r"event 5 is missing"):
                look()

    def test_an_older_copy_in_its_place_is_found_by_whoever_saw_it(self, ledger, tmp_path):
        shutil.copy(ledger.path, tmp_path / "backup")
        book(ledger, what="first")
        os.replace(tmp_path / "backup", ledger.path)
        ledger_witness.forget(ledger.path)
        book(Ledger.open(ledger.path), what="second")
        for look in (ledger.check, ledger.history, lambda: book(ledger)):
            with pytest.raises(LedgerError, match="event 5 is not the one seen before"):
                look()


class TestCheckpoints:
    @pytest.fixture(autouse=True)
    def _often(self, monkeypatch):
        monkeypatch.setattr(ledger_store, "CHECKPOINT", 4)

    @pytest.fixture
    def ledger(self, tmp_path):
        made = Ledger.create(tmp_path / "patients.ledger", allow=PureDP(100))
        for number in range(9):
            entry = book(made, number=number)
            if number % 3:
                made.finish(entry, status="released")
        return made

    def test_a_ledger_is_the_same_with_and_without(self, ledger):
        state = Ledger.open(ledger.path)
        with raw(ledger) as connection:
            ((number,),) = connection.execute("SELECT number FROM checkpoint")
            connection.execute("DELETE FROM checkpoint")
        assert number == 12
        bare = Ledger.open(ledger.path)
        assert bare._account == state._account
        assert bare.history() == state.history() == ledger.history()

    def test_only_events_after_the_checkpoint_are_read(self, ledger, monkeypatch):
        read = []
        parsed = Store._parse_event

        def counted(self, number, *row):
            read.append(number)
            return parsed(self, number, *row)

        monkeypatch.setattr(Store, "_parse_event", counted)
        Ledger.open(ledger.path)
        assert read == [0, 12, 13, 14, 15]

    @pytest.mark.parametrize("number", [0, 1, 7, 12, 13])
    def test_a_changed_event_is_found_by_opening_also_before_the_checkpoint(self, ledger, number):
        with raw(ledger) as connection:
            unguard(connection)
            connection.execute(
                "UPDATE event SET body = replace(body, '2', '3') WHERE number = ?", (number,)
            )
        refused(ledger, f"event {number} (does not match its hash|cannot be read)")

    def test_a_rewritten_chain_is_found_by_opening(self, ledger):
        rewrite(ledger, 2, lambda body: body.update(note="another"))
        refused(ledger, "its events are not those that its checkpoint was made of")

    @pytest.mark.parametrize("statement", [
        "UPDATE checkpoint SET body = replace(body, '4/5', '1/5')",
        "UPDATE checkpoint SET body = '{}'",
        "UPDATE checkpoint SET body = 'x'",
        "UPDATE checkpoint SET number = 11",
        "UPDATE checkpoint SET hash = 'x'",
        "INSERT INTO checkpoint VALUES (1, '{}', '')",
    ])  # fmt: skip
    def test_a_changed_checkpoint_is_found(self, ledger, statement):
        with raw(ledger) as connection:
            connection.execute(statement)
        refused(ledger, "checkpoint")

    @pytest.mark.parametrize(
        "forged",
        [
            {"spent": {"measure": "pure", "epsilon": "1/10"}},
            {"bookings": 3},
            {"pending": []},
            {"data": None},
        ],
    )
    def test_a_forged_checkpoint_is_found_by_a_check(self, ledger, forged):
        with raw(ledger) as connection:
            ((text,),) = connection.execute("SELECT body FROM checkpoint")
            content = canonical({**json.loads(text), **forged})
            connection.execute(
                "UPDATE checkpoint SET body = ?, hash = ?", (content.decode(), digest(content))
            )
        with pytest.raises(LedgerError, match=r"not what its events add up to|other data|sum is"):
            ledger.check()

    def test_a_changed_event_stops_the_next_checkpoint(self, ledger):
        with raw(ledger) as connection:
            unguard(connection)
            connection.execute("UPDATE event SET body = replace(body, '2', '3') WHERE number = 3")
        before = ledger.bookings
        with pytest.raises(LedgerError, match="event 3 does not match its hash"):
            book(ledger)  # The sixteenth event.
        assert ledger.bookings == before

    def test_ending_an_entry_from_before_the_checkpoint(self, ledger):
        first = ledger.history()[0]
        again = Ledger.open(ledger.path)
        again.finish(first, status="aborted")
        assert again.history()[0].status == "aborted"
        with pytest.raises(LedgerError, match="has already ended as aborted"):
            again.finish(first, status="released")
        with pytest.raises(LedgerError, match="is not an entry of"):
            again.finish(replace(first, hash="0" * 64), status="released")


def test_a_flipped_byte_anywhere_is_refused_in_words_or_does_no_harm(ledger, tmp_path):
    whole = ledger.path.read_bytes()
    spent, history = ledger.spent, ledger.history()
    refusals = 0
    for place in range(0, len(whole), 61):
        spoilt = bytearray(whole)
        spoilt[place] ^= 0x80
        path = tmp_path / "spoilt.ledger"
        path.write_bytes(spoilt)
        try:
            found = Ledger.open(path)
            found.check()
        except LedgerError:
            refusals += 1
            continue
        # Room that SQLite does not use, or a trigger's text.
        assert found.spent == spent
        assert [entry.hash for entry in found.history()] == [entry.hash for entry in history]
    assert refusals > 20


class Faulty(sqlite3.Connection):
    """A connection on a disk that fails when it is told to commit."""

    commits = True

    def execute(self, sql, *arguments):
        if sql == "COMMIT" and self.commits:
            super().execute(sql)
        if sql == "COMMIT":
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorcode = sqlite3.SQLITE_IOERR
            raise error
        return super().execute(sql, *arguments)


class Lost(Faulty):
    """A connection on a disk that fails before it commits."""

    commits = False


class Narrow(sqlite3.Connection):
    """A connection on a disk without room."""

    def execute(self, sql, *arguments):
        if sql == "BEGIN IMMEDIATE":
            (pages,) = super().execute("PRAGMA page_count").fetchone()
            super().execute(f"PRAGMA max_page_count = {pages}")
        return super().execute(sql, *arguments)


def connect_with(monkeypatch, factory):
    def connect(self):
        return sqlite3.connect(
            f"{self.path.as_uri()}?mode=rw",
            uri=True,
            timeout=0.1,
            isolation_level=None,
            factory=factory,
        )

    monkeypatch.setattr(Store, "_connect", connect)


def in_child(function):
    """Run a function in a forked child and return the text it returned."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writer, str(function()).encode())
        except BaseException as error:
            os.write(writer, f"{type(error).__name__}: {error}".encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        text = pipe.read().decode()
    os.waitpid(child, 0)
    return text


class TestFailingDisks:
    def test_a_commit_that_failed_and_wrote_nothing_books_nothing(self, ledger, monkeypatch):
        before = ledger.head
        with monkeypatch.context() as patch:
            connect_with(patch, Lost)
            with pytest.raises(
                LedgerError, match=r"cannot be read or written .*nothing was booked"
            ):
                book(ledger)
        assert ledger.head == before
        assert book(ledger).number == 4

    def test_a_commit_that_failed_after_writing_says_that_it_may_be_booked(
        self, ledger, monkeypatch
    ):
        with monkeypatch.context() as patch:
            connect_with(patch, Faulty)
            with pytest.raises(LedgerError, match=r"MAY HAVE BEEN BOOKED.*Count it as spent"):
                book(ledger)
        assert len(ledger.history()) == 4
        assert Ledger.open(ledger.path).spent == PureDP("0.4")

    def test_a_full_disk_books_nothing(self, ledger, monkeypatch):
        before = ledger.head
        with monkeypatch.context() as patch:
            connect_with(patch, Narrow)
            with pytest.raises(
                LedgerError, match=r"the disk of the ledger .* is full.*nothing was booked"
            ):
                book(ledger, text="long" * 10_000)
        assert ledger.head == before
        ledger.check()

    def test_a_file_that_may_not_grow_books_nothing(self, ledger):
        def attempt():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            limit = ledger.path.stat().st_size
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            return book(ledger, text="long" * 10_000)

        before = ledger.head
        answer = in_child(attempt)
        assert answer.startswith("LedgerError: ")
        assert "nothing was booked" in answer
        assert ledger.head == before
        ledger.check()

    def test_a_read_only_ledger_can_be_read_but_not_booked(self):
        folder = Path(tempfile.mkdtemp(prefix="sfumato-read-only-"))
        try:
            ledger = Ledger.create(folder / "patients.ledger", allow=PureDP(1))
            book(ledger)
            ledger.path.chmod(0o444)
            folder.chmod(0o555)

            def attempt():
                if os.geteuid() == 0:  # Modes do not bind the superuser.
                    os.setuid(65534)
                assert Ledger.open(ledger.path).spent == PureDP("0.1")
                return book(ledger)

            answer = in_child(attempt)
            assert answer.startswith("LedgerError: ")
            assert "is read-only; make the file and its folder writable" in answer
            assert ledger.spent == PureDP("0.1")
        finally:
            folder.chmod(0o700)
            shutil.rmtree(folder)

    def test_a_ledger_of_somebody_else_cannot_be_opened(self):
        folder = Path(tempfile.mkdtemp(prefix="sfumato-private-"))
        try:
            ledger = Ledger.create(folder / "patients.ledger", allow=PureDP(1))
            ledger.path.chmod(0o000)
            folder.chmod(0o555)

            def attempt():
                if os.geteuid() == 0:
                    os.setuid(65534)
                return Ledger.open(ledger.path)

            assert "must be readable and writable" in in_child(attempt)
        finally:
            folder.chmod(0o700)
            shutil.rmtree(folder)


class TestBusyFiles:
    @pytest.fixture(autouse=True)
    def _impatient(self, monkeypatch):
        monkeypatch.setattr(ledger_store, "PATIENCE", 0.2)

    def test_a_ledger_that_stays_locked_is_given_up_clearly(self, ledger):
        with raw(ledger) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(
                LedgerError, match=r"is locked by other processes.*nothing was booked"
            ):
                book(ledger)
            assert ledger.spent == PureDP("0.3")
        assert book(ledger).number == 4

    def test_a_reader_that_never_ends_keeps_a_booking_out_without_trace(self, ledger):
        before = ledger.head
        with raw(ledger) as other:
            other.execute("BEGIN")
            other.execute("SELECT count(*) FROM event").fetchone()
            with pytest.raises(
                LedgerError, match=r"is locked by other processes.*nothing was booked"
            ):
                book(ledger)
        assert ledger.head == before
        assert book(ledger).number == 4
