"""Faults at every step of a booking and a save, and what is left afterwards.

Run with the shim loaded:

    LD_PRELOAD=shim.so python -m tests.faults.harness SCENARIO MODE [STRIDE] [SEED] [MUTANT]

For every point of the scenario a child is forked that runs it with one fault; then the parent looks
at what is left, as the custodian would: it opens the ledger, checks it, recovers what is
recoverable, verifies what is saved, and books once more. The answer is one JSON document: how many
points there were, what became of each, and what is wrong, which must be nothing. A mutant is the
program without one of its precautions: then something must be wrong.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from sfumato.cli.reserve import reserve_folder
from sfumato.privacy import door, durable, unsaved
from sfumato.privacy.ledger import Ledger, LedgerError
from sfumato.privacy.loss import PureDP
from sfumato.privacy.saved import verify
from sfumato.privacy.unsaved import PAID_FOR
from tests.faults.power import Disk, read_trace
from tests.privacy.toy import Asker, NoisyTally, Tally, TallyPublic

OFF, COUNT, KILL, TEAR, FULL, TRACE = range(6)
MODES = {"kill": KILL, "tear": TEAR, "full": FULL}

DATA = Tally([0, 0, 1, 3, 3, 3], TallyPublic(4))
SHIM = ctypes.CDLL(None)

Tell = Callable[[str], None]


def arm(mode: int, target: int, root: Path, log: int = -1) -> None:
    SHIM.fault_arm(mode, ctypes.c_long(target), os.fsencode(root), log)


def release_into_a_claimed_folder(root: Path, tell: Tell) -> None:
    """Release as the command line does it."""
    with reserve_folder(root / "out") as room:
        ledger = Ledger.open(root / "x.ledger")
        made = door.release(NoisyTally(epsilon=1), DATA, ledger, reserve=room)
        tell("returned")
        made.save(root / "out")
    tell("saved")


def release_into_a_new_folder(root: Path, tell: Tell) -> None:
    """Release as a program does it."""
    made = NoisyTally(epsilon=1).release(DATA, ledger=Ledger.open(root / "x.ledger"))
    tell("returned")
    made.save(root / "deep" / "out")
    tell("saved")


def session(root: Path, tell: Tell) -> None:
    """Ask two questions, and save the answers."""
    with Asker(epsilon=1).open(DATA, ledger=Ledger.open(root / "x.ledger")) as opened:
        for question in (0, 3):
            opened.ask(question)
            tell("returned")
        made = opened.close()
    made.save(root / "out")
    tell("saved")


def create(root: Path, tell: Tell) -> None:
    """Make a ledger."""
    Ledger.create(root / "new.ledger", allow=PureDP(1), unit="row")
    tell("made")


SCENARIOS = {
    "release": release_into_a_claimed_folder,
    "new-folder": release_into_a_new_folder,
    "session": session,
    "create": create,
}


def prepare(root: Path) -> None:
    """Make a ledger with a booking of its own, and the folders around it."""
    (root / "config").mkdir(parents=True)
    os.environ["XDG_CONFIG_HOME"] = str(root / "config")
    ledger = Ledger.create(root / "x.ledger", allow=PureDP(100), unit="row")
    NoisyTally(epsilon=1).release(DATA, ledger=ledger).save(root / "first")


def run_child(
    work: Callable[[Tell], None], place: Callable[[], int] | None = None
) -> tuple[int, list[str]]:
    """Run something in a forked child; return how it ended and what it said before.

    What it says comes after the place at which it said so, where that is asked for.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        code = 70
        try:
            os.close(reader)
            signal.alarm(60)

            def tell(text: str) -> None:
                said = text if place is None else f"{place()} {text}"
                os.write(writer, said.encode() + b"\0")

            warnings.simplefilter("ignore")
            watched = Tally.counts

            def counts(self):  # type: ignore[no-untyped-def]
                if self is DATA:
                    tell("measured")
                return watched(self)

            kept = door.Booking.keep

            def keep(self, *arguments):  # type: ignore[no-untyped-def]
                kept(self, *arguments)
                if self.kept is not None:
                    tell("kept")

            Tally.counts, door.Booking.keep = counts, keep  # type: ignore[method-assign]
            try:
                work(tell)
                code = 0
            except Exception as error:
                notes = [note for note in getattr(error, "__notes__", ()) if PAID_FOR in note]
                tell("error " + " ".join([type(error).__name__, str(error), *notes]))
                code = 1
        finally:
            os._exit(code)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        said = pipe.read().decode().split("\0")[:-1]
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), said


def points_of(scenario: Callable[[Path, Tell], None], root: Path) -> int:
    """Return how many points a scenario has; none of them fails."""
    reader, writer = os.pipe()

    def work(tell: Tell) -> None:
        arm(COUNT, 0, root)
        scenario(root, tell)
        points = SHIM.fault_points()
        arm(OFF, 0, root)
        os.write(writer, str(points).encode())

    code, said = run_child(work)
    assert code == 0, said
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        return int(pipe.read())


def look(root: Path, said: list[str], out: Path) -> str:
    """Look at what is left after a fault, and return what became of it; raise if it is wrong."""
    ledger = Ledger.open(root / "x.ledger")
    ledger.check()
    history = ledger.history()
    assert len(history) in (1, 2), "entries were lost or made up"
    if "measured" in said:
        assert len(history) == 2, "UNDER-BOOKED: data were measured, and nothing is booked"
    outcome = settle(root, ledger, said, out) if len(history) == 2 else "nothing booked"
    if outcome == "nothing booked":
        assert "measured" not in said and not ledger.unsaved()
    # The ledger goes on, and there is nothing in the way.
    again = root / "again"
    NoisyTally(epsilon=1).release(DATA, ledger=ledger).save(again)
    assert verify(again, ledger=ledger).passed
    assert not (root / "x.ledger-unsaved").exists(), "something was left behind"
    return outcome


def settle(root: Path, ledger: Ledger, said: list[str], out: Path) -> str:
    """Return what became of a booked release, after finishing it as the custodian would."""
    saved = (out / "certificate.json").exists()
    if saved:
        checked = verify(out, ledger=ledger)
        # What is saved under a name and was ended in the ledger is a whole release.
        assert checked.passed, str(checked)
    if "saved" in said:
        assert saved, "LOST: it was reported as saved"
    if ledger.unsaved():
        recovered = root / "recovered"
        made = ledger.recover(2)
        assert len(made.counts) >= said.count("returned"), "LOST: an answer that was given"
        made.save(recovered)
        checked = verify(recovered, ledger=ledger)
        assert checked.passed, str(checked)
        if saved:
            same = (out / "transcript.json").read_bytes()
            assert (recovered / "transcript.json").read_bytes() == same
        return "saved and kept" if saved else "recovered"
    if saved:
        return "saved"
    assert "kept" not in said and "returned" not in said, "LOST: it was kept, and is not there"
    with contextlib.suppress(LedgerError):
        ledger.recover(2)
        raise AssertionError("there was something to recover after all")
    return "spent without a result"


def look_at_making(root: Path, said: list[str]) -> str:
    """Look at what is left where a ledger was being made."""
    path = root / "new.ledger"
    if "made" in said:
        assert path.exists(), "LOST: the ledger was made"
    if path.exists():
        assert Ledger.open(path).spent == PureDP(0)
        return "made"
    assert Ledger.create(path, allow=PureDP(1), unit="row").spent == PureDP(0)
    return "not made"


def fresh(folder: Path, root: Path) -> None:
    """Put a copy of the prepared folder in place, at the same path each time."""
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(folder, root)


def inspected(name: str, root: Path, said: list[str]) -> str:
    out = root / "deep" / "out" if name == "new-folder" else root / "out"
    return look_at_making(root, said) if name == "create" else look(root, said, out)


def inject(name: str, mode: str, stride: int, home: Path) -> dict[str, object]:
    """Run a scenario with a fault at every point, or at every `stride`-th."""
    scenario, root, prepared = SCENARIOS[name], home / "root", home / "prepared"
    prepare(root)
    shutil.copytree(root, prepared)
    points = points_of(scenario, root)
    outcomes: Counter[str] = Counter()
    wrong: list[str] = []
    for point in range(1, points + 1, stride):
        fresh(prepared, root)

        def work(tell: Tell, point: int = point) -> None:
            arm(MODES[mode], point, root)
            try:
                scenario(root, tell)
            finally:
                arm(OFF, 0, root)

        code, said = run_child(work)
        try:
            expected = {"kill": (-signal.SIGKILL,), "tear": (-signal.SIGKILL, 0), "full": (0, 1)}
            assert code in expected[mode], f"it ended with {code}"
            outcome = inspected(name, root, said)
            if mode == "full" and outcome == "recovered":
                assert any(PAID_FOR in text for text in said), "nobody said how to recover it"
            outcomes[outcome] += 1
        except Exception as error:
            outcomes["wrong"] += 1
            wrong.append(f"{mode} at {point}: {type(error).__name__}: {error}; said {said}")
    return {"points": points, "tried": sum(outcomes.values()), "outcomes": outcomes, "wrong": wrong}


def cut_power(name: str, stride: int, seed: int, home: Path) -> dict[str, object]:
    """Cut the power after every change, or every `stride`-th, and lose parts of the unsynced."""
    scenario, root, prepared = SCENARIOS[name], home / "root", home / "prepared"
    prepare(root)
    shutil.copytree(root, prepared)
    fresh(prepared, root)
    disk = Disk(root)
    log = home / "trace"
    marks: list[tuple[int, str]] = []

    def work(tell: Tell) -> None:
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT, 0o600)
        arm(TRACE, 0, root, descriptor)

        scenario(root, tell)
        arm(OFF, 0, root)

    # What was said is put in its place among the changes.
    code, said = run_child(work, place=lambda: log.stat().st_size if log.exists() else 0)
    assert code == 0, said
    for text in said:
        where, _, mark = text.partition(" ")
        marks.append((int(where), mark))
    changes = read_trace(log.read_bytes())
    choice = random.Random(seed)
    outcomes: Counter[str] = Counter()
    wrong: list[str] = []
    place = 0
    for number, change in enumerate(changes, 1):
        disk.apply(change)
        place += change.length
        if number % stride:
            continue
        told = [mark for mark_place, mark in marks if mark_place <= place]
        for share in (0.0, 1.0, 0.5, 0.5, 0.8, 0.2):
            shutil.rmtree(root, ignore_errors=True)
            disk.after_a_cut(root, choice, share)
            try:
                outcomes[inspected(name, root, told)] += 1
            except Exception as error:
                outcomes["wrong"] += 1
                wrong.append(
                    f"cut after change {number} ({change.what} {change.first}), {share}: "
                    f"{type(error).__name__}: {error}; told {told}"
                )
    return {
        "points": len(changes),
        "tried": sum(outcomes.values()),
        "outcomes": outcomes,
        "wrong": wrong,
    }


def _keep_nothing(self: object, *arguments: object) -> None:
    """Keep no transcript."""


def _sync_nothing(folder: Path) -> None:
    """Leave names to the disk."""


def _name_first(self: unsaved.Reserve, *arguments: object) -> unsaved.UnsavedRelease:
    """Keep a transcript without syncing it."""
    real, os.fsync = os.fsync, lambda descriptor: None
    try:
        return _real_keep(self, *arguments)  # type: ignore[arg-type]
    finally:
        os.fsync = real


_real_keep = unsaved.Reserve.keep

#: A precaution that is left out: where it is taken, under which name, and what is done instead.
MUTANTS = {
    "nothing kept": (door.Booking, "keep", _keep_nothing),
    "names not synced": (unsaved, "sync_folder", _sync_nothing),
    "content not synced": (unsaved.Reserve, "keep", _name_first),
    "saved names not synced": (durable, "sync_folder", _sync_nothing),
}


def main() -> None:
    name, mode, *rest = sys.argv[1:]
    stride, seed, mutant = [*rest, *("1", "0", "")[len(rest) :]]
    assert hasattr(SHIM, "fault_arm"), "the shim is not loaded"
    if mutant:
        setattr(*MUTANTS[mutant])
    memory = Path("/dev/shm")
    # In memory a sync takes no time, and it is the processes that are killed, not the machine.
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        home = Path(folder)
        if mode == "power":
            answer = cut_power(name, int(stride), int(seed), home)
        else:
            answer = inject(name, mode, int(stride), home)
    print(json.dumps({"scenario": name, "mode": mode, **answer}))


if __name__ == "__main__":
    main()
