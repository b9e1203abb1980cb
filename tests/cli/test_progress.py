import io
import sys
import time

import pytest
from rich.console import Console

from sfumato.cli import progress
from sfumato.privacy.progress import track


def terminal():
    return Console(file=io.StringIO(), force_terminal=True, width=80)


def work(console, seconds):
    with progress.show_progress("working", console):
        for _ in track(range(4), "adding <noise> [bold]"):
            time.sleep(seconds / 4)
    return console.file.getvalue()


def test_long_work_shows_a_bar_with_its_words(monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.05)
    assert "adding <noise> [bold]" in work(terminal(), 0.4)


def test_short_work_shows_nothing(monkeypatch):
    assert work(terminal(), 0.0) == ""


def test_nothing_is_shown_where_there_is_no_terminal(monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    assert work(Console(file=io.StringIO(), force_terminal=False), 0.1) == ""


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("loaded", [False, True])
def test_a_wait_for_the_compiler_is_explained(kept, loaded, monkeypatch, tmp_path):
    monkeypatch.setattr(progress, "PATIENCE", 0.05)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    if kept:
        (tmp_path / "noise").mkdir()
        (tmp_path / "noise" / "_kernels.throw-64.py311.nbi").touch()
    if loaded:
        monkeypatch.setitem(sys.modules, "numba", object())
    else:
        monkeypatch.delitem(sys.modules, "numba", raising=False)
    assert ("compiled once" in work(terminal(), 0.4)) is (loaded and not kept)
