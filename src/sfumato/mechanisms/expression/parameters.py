"""Parameters of methods that release formulas."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.privacy.parameters import Constraint, OneOf, is_list, read_exact, read_text

__all__ = ["Figures", "Formula", "Groups", "Name", "Range", "Split"]

SPLITS = ("equal", "optimal")


@dataclass(frozen=True)
class Formula(Constraint):
    """A text."""

    allowed = "a formula such as '3 * triangles / wedges'"

    def parse(self, value: Any) -> str:
        """Return the text."""
        return read_text(read_text(value).strip())


@dataclass(frozen=True)
class Name(Constraint):
    """A name or a number."""

    allowed = "a name or a whole number"

    def parse(self, value: Any) -> int | str:
        """Return the name."""
        if isinstance(value, bool) or not isinstance(value, int | str | np.integer):
            raise TypeError
        if isinstance(value, str):
            return read_text(value)
        if not -(2**63) <= value < 2**63:
            raise ValueError
        return int(value)


@dataclass(frozen=True)
class Groups(Constraint):
    """A group for each node."""

    allowed = "the public group of each node: a dictionary by node, or a list in the nodes' order"

    def parse(self, value: Any) -> tuple[Any, ...]:
        """Return the groups in order, or pairs of a node and its group."""
        if not isinstance(value, Mapping | np.ndarray) and not is_list(value):
            raise TypeError
        listed = list(value.items() if isinstance(value, Mapping) else value)
        if not listed:
            raise ValueError
        paired = {isinstance(item, list | tuple) for item in listed}
        if paired == {False}:
            return tuple(Name().parse(group) for group in listed)
        if len(paired) > 1:
            # A name of two letters would be read as a node and its group.
            raise TypeError
        pairs = [tuple(map(Name().parse, item)) for item in listed]
        if any(len(pair) != 2 for pair in pairs) or len({node for node, _ in pairs}) != len(pairs):
            raise ValueError
        # In an order of their own, so that equal dictionaries are written alike.
        return tuple(sorted(pairs, key=lambda pair: str(pair[0])))


@dataclass(frozen=True)
class Figures(Constraint):
    """A number for each unit."""

    positive: bool

    @property
    def allowed(self) -> str:
        """What is allowed."""
        kind = "positive numbers" if self.positive else "numbers"
        return f"{kind} by unit, such as {{'triangles': 10, 'wedges': 1}}"

    def parse(self, value: Any) -> tuple[tuple[str, Fraction], ...]:
        """Return the figures as pairs."""
        pairs = value.items() if isinstance(value, Mapping) else value
        found = tuple((read_text(name), read_exact(figure)) for name, figure in pairs)
        if self.positive and any(figure <= 0 for _, figure in found):
            raise ValueError
        if not found or len(dict(found)) != len(found):
            raise ValueError
        return found


@dataclass(frozen=True)
class Split(Constraint):
    """How the budget is shared."""

    allowed = "'equal', 'optimal', or positive weights such as {'triangles': 10, 'edges': 1}"

    def parse(self, value: Any) -> str | tuple[tuple[str, Fraction], ...]:
        """Return the word or the weights."""
        if isinstance(value, str):
            return OneOf(SPLITS).parse(value)
        return Figures(positive=True).parse(value)


@dataclass(frozen=True)
class Range(Constraint):
    """Two numbers."""

    allowed = "two numbers, the smaller first"

    def parse(self, value: Any) -> tuple[Fraction, Fraction]:
        """Return them as fractions."""
        if not is_list(value):
            raise TypeError
        low, high = (read_exact(end) for end in value)
        if low >= high:
            raise ValueError
        return low, high
