import io
import time

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


def test_short_work_shows_nothing():
    assert work(terminal(), 0.0) == ""


def test_nothing_is_shown_where_there_is_no_terminal(monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    assert work(Console(file=io.StringIO(), force_terminal=False), 0.1) == ""
