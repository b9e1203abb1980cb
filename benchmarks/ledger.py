"""How long it takes to open a ledger, to check all of it, and to book in it, by its length.

    python benchmarks/ledger.py [entries …]

Every entry is booked and ended, so that there are twice as many events. A ledger of many entries is
written at once here, by the same code that writes single events; the last booking is a real one and
makes a checkpoint (entries are a multiple of 500). Times are medians, in a process that has
everything imported.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sfumato.privacy import ledger_store
from sfumato.privacy.guarantee import Basis, Guarantee, Relation, Unit
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.ledger_store import CHECKPOINT, Event
from sfumato.privacy.loss import PureDP

GUARANTEE = Guarantee(
    loss=PureDP("0.1"),
    unit=Unit.PERSON,
    relation=Relation.ADD_REMOVE,
    basis=Basis.PROVED,
    contribution=2,
    public=("the schema: 12 columns, their values and bins", "at most 2 rows of one person"),
    proof="marginals.md",
)
PARAMETERS = {"epsilon": "1/10", "delta": None, "repair": "consistent", "tables": None, "ways": 2}
TIME = "2026-11-16T00:00:00+00:00"


def book(ledger: Ledger) -> None:
    entry = ledger.book(
        GUARANTEE,
        kind="release",
        method="table.Marginals",
        parameters=PARAMETERS,
        digest=lambda key: b"the same data set" * 2,
    )
    ledger.finish(entry, status="released", note=f"transcript {'0' * 64}")


def contents(booked: dict[str, Any], entries: int) -> Any:
    """Return the contents of the events of further entries, like those of the one given."""
    for number in range(2, entries):
        yield {
            **booked,
            "entry": number,
            "spent": PureDP(f"{number}/10").to_json(),
            "time": TIME,
        }
        yield {
            "event": "finished",
            "entry": number,
            "status": "released",
            "note": f"transcript {'0' * 64}",
            "time": TIME,
        }


def long_ledger(path: Path, entries: int) -> Ledger:
    """Return a ledger of many entries with a checkpoint near its end."""
    ledger = Ledger.create(path, allow=PureDP(10**6), unit="person")
    book(ledger)
    first, last = ledger._store.events(1)
    body = {name: item for name, item in first.body.items() if name not in ("number", "previous")}
    with ledger._store._connection() as connection:
        connection.execute("BEGIN IMMEDIATE")
        for content in contents(body, entries):
            last = Event.after(last.number + 1, last.hash, content)
            ledger_store._insert(connection, last)
        connection.execute("COMMIT")
    ledger = Ledger.open(path)
    book(ledger)
    assert ledger._account.number % CHECKPOINT == 0
    return ledger


def median(work: Callable[[], object], times: int = 3) -> str:
    """Return the median of the seconds on the clock, and of those of the processor."""
    taken = []
    for _ in range(times):
        start = time.perf_counter(), time.process_time()
        work()
        taken.append((time.perf_counter() - start[0], time.process_time() - start[1]))
    clock, processor = map(statistics.median, zip(*taken, strict=True))
    return f"{clock:.3f} ({processor:.3f})"


def main() -> None:
    print(
        f"{'entries':>9} {'MB':>7} {'open s (CPU)':>16} {'check s (CPU)':>16} {'book s (CPU)':>16}"
    )
    for entries in [int(word) for word in sys.argv[1:]] or [1_000, 10_000, 100_000]:
        with tempfile.TemporaryDirectory() as folder:
            os.environ["XDG_CONFIG_HOME"] = folder
            ledger = long_ledger(Path(folder) / "patients.ledger", entries)
            opening = median(lambda: Ledger.open(ledger.path))  # noqa: B023
            checking = median(ledger.check)
            booking = median(lambda: book(ledger), times=20)  # noqa: B023
            size = ledger.path.stat().st_size / 1e6
            print(f"{entries:>9,} {size:>7.1f} {opening:>16} {checking:>16} {booking:>16}")


if __name__ == "__main__":
    main()
