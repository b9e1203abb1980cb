"""A release in a forked child: it works, or it is refused at once with the remedy."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

#: Runs in a fresh interpreter: forking the one of the tests, which has threads, proves nothing.
PROGRAM = """
import os, signal, warnings
warnings.simplefilter("ignore")  # Polars and Python warn of forks
import numpy as np, polars as pl, sfumato as sf
from pathlib import Path

folder = Path({folder!r})
schema = sf.Schema.from_dict({{"a": ["x", "y"], "b": ["0", "1"]}})
frame = pl.DataFrame({{"a": ["x", "y"] * 50, "b": ["0", "1"] * 50}})
method = sf.Marginals(epsilon=1)

def fork(work):
    child = os.fork()
    if child == 0:
        code = 1
        signal.alarm(60)  # A child that hangs must not outlive the test.
        try:
            work()
            code = 0
        except RuntimeError as error:
            assert "get_context('spawn')" in str(error), error
            code = 3
        except BaseException:
            import traceback
            traceback.print_exc()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

{work}
"""
REFUSED = """
table = sf.Table(frame, schema)
frame.write_csv(folder / "t.csv")
(folder / "s.txt").write_text("a b\\n")
(folder / "g.txt").write_text("0 1\\n")
(folder / "p.csv").write_text("x,y\\n0,1\\n")
ledger = sf.Ledger.create(folder / "t.ledger", allow=sf.PureDP(2))
graph = sf.Graph([(0, 1)], nodes=3)
release = method.release(table)
release.save(folder / "o")
box = [(0, 1), (0, 1)]
tries = [
    lambda: method.release(table, ledger=ledger),
    lambda: sf.DegreeSequence(epsilon=1).release(graph, ledger=ledger),
    lambda: sf.rehearse(method, table.public),
    lambda: sf.Table(frame, schema),
    lambda: sf.read_table(folder / "t.csv", schema=schema),
    lambda: sf.Points(np.zeros((2, 2)), bounds=box),
    lambda: sf.read_points(folder / "p.csv", columns=["x", "y"], bounds=box),
    lambda: sf.Sequences([["a"]], alphabet=["a", "b"]),
    lambda: sf.read_sequences(folder / "s.txt", alphabet=["a", "b"]),
    lambda: sf.Graph([(0, 1)], nodes=3),
    lambda: sf.read_graph(folder / "g.txt", nodes=3),
    lambda: sf.verify(folder / "o"),
    lambda: release.save(folder / "again"),
]
codes = [fork(work) for work in tries]
assert codes == [3] * len(tries), codes
# A grandchild has the same copy of Polars.
assert fork(lambda: os._exit(fork(tries[0]))) == 3
assert not ledger.history() and not (folder / "again").exists()
method.release(table, ledger=ledger)  # the parent goes on
"""
WORKS = """
ledger = sf.Ledger.create(folder / "t.ledger", allow=sf.PureDP(2))
assert fork(lambda: method.release(sf.Table(frame, schema), ledger=ledger)) == 0
assert len(sf.Ledger.open(folder / "t.ledger").history()) == 1
"""
SPAWNED = """
import multiprocessing

def work():
    method.release(sf.Table(frame, schema))

if __name__ == "__main__":
    work()
    child = multiprocessing.get_context("spawn").Process(target=work)
    child.start()
    child.join(60)
    assert child.exitcode == 0, child.exitcode
"""


def run(work, folder):
    """Run a program with a limit on its time: a child that hangs fails the test."""
    place = folder / "program.py"
    place.write_text(PROGRAM.format(folder=str(folder), work=work), encoding="utf-8")
    subprocess.run([sys.executable, str(place)], check=True, timeout=100)


def test_a_fork_after_polars_was_used_refuses_before_anything_is_read_or_booked(tmp_path):
    run(REFUSED, tmp_path)


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="needs the names of threads")
def test_a_fork_before_polars_is_used_releases_as_usual(tmp_path):
    run(WORKS, tmp_path)


def test_the_remedy_that_is_named_works(tmp_path):
    run(SPAWNED, tmp_path)


def test_where_threads_have_no_names_polars_counts_as_started(tmp_path, monkeypatch):
    import polars  # noqa: F401

    from sfumato.privacy import forks

    monkeypatch.setattr(forks, "_TASKS", tmp_path / "none")
    assert forks._pool_runs()
    # A thread that has just ended, one whose name is no text, and one of Polars.
    monkeypatch.setattr(forks, "_TASKS", tmp_path)
    (tmp_path / "1").mkdir()
    (tmp_path / "2").mkdir()
    (tmp_path / "2" / "comm").write_bytes(b"\xff\n")
    assert not forks._pool_runs()
    (tmp_path / "1" / "comm").write_text("polars-0\n")
    assert forks._pool_runs()
