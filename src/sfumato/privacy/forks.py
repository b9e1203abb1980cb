"""Forked processes: a child without the threads of Polars refuses, instead of waiting for ever.

`os.fork` copies a process with one of its threads only. Polars keeps a pool of threads from its
first use on; in a forked child the pool is still there and nobody works in it, so that the first
question to Polars is never answered. Whatever reads data or spends budget asks here first.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

__all__ = ["refuse_broken_fork"]

_TASKS = Path("/proc/self/task")
#: How Polars names the threads of its pool.
_WORKER = re.compile(r"polars-\d+\s*")

_pool_at_fork = False
_broken = False


def refuse_broken_fork() -> None:
    """Raise in a process that was forked off one whose Polars had threads."""
    if _broken:
        raise RuntimeError(
            "this process was forked from one that had used Polars. A fork does not copy the "
            "threads of Polars, so reading or releasing data here would hang. Nothing was read "
            "or booked. Use the spawn start method, multiprocessing.get_context('spawn'), and "
            "read the data in the child"
        )


def _pool_runs() -> bool:
    """Tell whether Polars has started its threads in this process."""
    if "polars" not in sys.modules:
        return False
    if not _TASKS.is_dir():
        # Other systems do not tell the names of threads.
        return True
    return any(map(_is_worker, _TASKS.iterdir()))


def _is_worker(task: Path) -> bool:
    try:
        return _WORKER.fullmatch((task / "comm").read_text(encoding="utf-8")) is not None
    except (OSError, UnicodeDecodeError):
        # The thread has just ended, or it has a name that is none of Polars'.
        return False


def _look() -> None:
    global _pool_at_fork
    _pool_at_fork = _pool_runs()


def _mark() -> None:
    global _broken
    # A child of a broken child is broken as well, though its parent has no threads.
    _broken = _broken or _pool_at_fork


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_look, after_in_child=_mark)
