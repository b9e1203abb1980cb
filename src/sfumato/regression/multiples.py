"""Parameters that multiply a natural size: a few times it, or a part of it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sfumato.privacy.parameters import Constraint, read_exact

__all__ = ["Multiple"]

#: Beyond this either way a multiple means nothing, and sizes would leave their range.
MOST = 1000


@dataclass(frozen=True)
class Multiple(Constraint):
    """A multiple of a natural size, kept as an exact fraction."""

    allowed = f"from 1/{MOST} to {MOST}"

    def parse(self, value: Any) -> Fraction:
        """Return the multiple as a fraction."""
        multiple = read_exact(value)
        if not Fraction(1, MOST) <= multiple <= MOST:
            raise ValueError
        return multiple
