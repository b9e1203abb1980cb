"""A progress bar for work that takes more than a second, on a terminal only."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import sfumato
from sfumato.privacy.escaping import escape
from sfumato.privacy.progress import listening

if TYPE_CHECKING:
    from rich.console import Console

#: Seconds of silence before a bar appears.
PATIENCE = 1.0

#: Shown where numerical code is compiled, which data of some size need.
COMPILING = "Numerical code is compiled once on this machine, which takes up to 20 s."


class DelayedBar:
    """A bar that appears after a while and follows what it is told.

    Parameters
    ----------
    what
        What is being done, before the work itself says more.
    console
        The terminal.
    """

    def __init__(self, what: str, console: Console) -> None:
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        self._lock = threading.Lock()
        self._ended = False
        self._compiles_anew = not was_compiled()
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TimeElapsedColumn(),
            console=console,
            transient=True,
        )
        self._task = self._progress.add_task(what, total=None)
        self._timer = threading.Timer(PATIENCE, self._appear)
        self._timer.daemon = True

    def start(self) -> None:
        """Begin to wait."""
        self._timer.start()

    def _appear(self) -> None:
        with self._lock:
            if not self._ended:
                self._progress.start()
                self._mention_compiling()

    def _mention_compiling(self) -> None:
        """Say once why this run takes longer than the next, if Numba has begun to compile."""
        if self._compiles_anew and "numba" in sys.modules:
            self._compiles_anew = False
            self._progress.console.print(COMPILING, style="dim")

    def tell(self, what: str, done: int, total: int | None) -> None:
        """Follow the work; harmless before the bar has appeared."""
        self._progress.update(self._task, description=escape(what), completed=done, total=total)
        if self._progress.live.is_started:
            self._mention_compiling()

    def stop(self) -> None:
        """Make the bar vanish."""
        self._timer.cancel()
        with self._lock:
            self._ended = True
            self._progress.stop()


def was_compiled() -> bool:
    """Tell whether Numba has kept compiled code of this package on this machine."""
    kept = os.environ.get("NUMBA_CACHE_DIR") or Path(sfumato.__file__).parent
    return next(Path(kept).rglob("*.nbi"), None) is not None


@contextmanager
def show_progress(what: str, console: Console) -> Iterator[None]:
    """Show the progress of a block of work.

    Parameters
    ----------
    what
        What is being done.
    console
        Where to show it; nothing is shown where it is not a terminal.
    """
    if not console.is_terminal:
        yield
        return
    bar = DelayedBar(what, console)
    bar.start()
    try:
        with listening(bar.tell):
            yield
    finally:
        bar.stop()
