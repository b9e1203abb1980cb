"""What an engine keeps for queries to come, on the side of the data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

__all__ = ["Recalling"]

State = TypeVar("State")


class Recalling:
    """An engine that finds what it kept by a public key, which whoever asks holds."""

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()

    def recall(self, key: object, make: Callable[[], State]) -> State:
        """Return what is kept for a public key as long as the key lives, made at first. Private."""
        if key not in self._kept:
            self._kept[key] = make()
        state: State = self._kept[key]
        return state
