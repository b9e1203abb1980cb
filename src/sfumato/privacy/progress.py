"""Progress of long work, told to whoever listens (the command line does).

Progress goes to the custodian's screen only; it is never part of a release.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias, TypeVar

T = TypeVar("T")
Listener: TypeAlias = Callable[[str, int, int | None], None]

_listener: ContextVar[Listener | None] = ContextVar("progress", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Send progress to `listener(what, done, total)` within this block."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def track(items: Iterable[T], what: str) -> Iterator[T]:
    """Yield the items and tell how far we are."""
    listener = _listener.get()
    total = len(items) if isinstance(items, Sized) else None
    for done, item in enumerate(items):
        if listener:
            listener(what, done, total)
        yield item
    if listener:
        listener(what, total or 0, total)
