"""The terms of a formula: numbers, unit statistics, and what joins them.

A term is public: it says what is computed, never from which values. Vectors are joined entry by
entry, a number with every entry. A denominator is taken to be positive.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

__all__ = [
    "FUNCTIONS",
    "Constant",
    "Function",
    "Item",
    "Power",
    "Product",
    "Ratio",
    "Sum",
    "Term",
    "Total",
    "Unit",
    "choose",
]

#: Functions of one number that a formula may use; each is defined everywhere, as `jets` says.
FUNCTIONS = ("abs", "exp", "log", "sqrt")
#: The largest power.
LARGEST_POWER = 8


class Term:
    """A part of a formula; terms are joined with + − * / and **."""

    @property
    def parts(self) -> tuple[Term, ...]:
        """The terms this one is made of."""
        return ()

    @cached_property
    def length(self) -> int | None:
        """The number of entries of a vector; `None` for one number."""
        lengths = {part.length for part in self.parts} - {None}
        if len(lengths) > 1:
            raise ValueError(
                "vectors in one operation must have the same length; got "
                + " and ".join(str(length) for length in sorted(n for n in lengths if n))
            )
        return next(iter(lengths), None)

    def walk(self) -> Iterator[Term]:
        """Yield this term and all terms inside it, from left to right."""
        waiting: list[Term] = [self]
        while waiting:
            term = waiting.pop()
            yield term
            waiting.extend(reversed(term.parts))

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        """The unit statistics, each once, in the order in which they appear."""
        return tuple(dict.fromkeys(term for term in self.walk() if isinstance(term, Unit)))

    def __add__(self, other: Any) -> Term:
        return Sum(self, _term(other))

    def __radd__(self, other: Any) -> Term:
        return Sum(_term(other), self)

    def __sub__(self, other: Any) -> Term:
        return Sum(self, -_term(other))

    def __rsub__(self, other: Any) -> Term:
        return Sum(_term(other), -self)

    def __neg__(self) -> Term:
        return Product(Constant(Fraction(-1)), self)

    def __mul__(self, other: Any) -> Term:
        return Product(self, _term(other))

    def __rmul__(self, other: Any) -> Term:
        return Product(_term(other), self)

    def __truediv__(self, other: Any) -> Term:
        divisor = _term(other)
        if isinstance(divisor, Constant):
            if divisor.value == 0:
                raise ValueError("a formula must not divide by 0")
            return Product(Constant(1 / divisor.value), self)
        return Ratio(self, divisor)

    def __rtruediv__(self, other: Any) -> Term:
        return _term(other) / self

    def __pow__(self, exponent: Any) -> Term:
        return Power(self, exponent)


def _term(value: Any) -> Term:
    return value if isinstance(value, Term) else Constant(Fraction(value))


@dataclass(frozen=True)
class Constant(Term):
    """A public number."""

    value: Fraction


@dataclass(frozen=True)
class Unit(Term):
    """A unit statistic, measured once however often it appears.

    Parameters
    ----------
    text
        What it is called, with its arguments.
    entries
        The number of entries of a vector; `None` for one number.
    statistic
        What the data kind knows about it.
    """

    text: str
    entries: int | None = None
    statistic: Any = field(default=None, compare=False, repr=False)

    @cached_property
    def length(self) -> int | None:
        """The number of entries."""
        return self.entries


@dataclass(frozen=True)
class _Pair(Term):
    left: Term
    right: Term

    def __post_init__(self) -> None:
        # Vectors of different lengths are refused when the term is made.
        _ = self.length

    @property
    def parts(self) -> tuple[Term, ...]:
        """The two terms."""
        return self.left, self.right


@dataclass(frozen=True)
class Sum(_Pair):
    """left + right."""


@dataclass(frozen=True)
class Product(_Pair):
    """left · right."""


@dataclass(frozen=True)
class Ratio(_Pair):
    """left / right, the denominator at least the floor.

    Parameters
    ----------
    share
        Whether it is a share: moved into 0 to 1, and 0 where the denominator is below the floor.
    """

    share: bool = False


@dataclass(frozen=True)
class _Single(Term):
    of: Term

    @property
    def parts(self) -> tuple[Term, ...]:
        """The inner term."""
        return (self.of,)


@dataclass(frozen=True)
class Power(_Single):
    """A whole power."""

    exponent: int

    def __post_init__(self) -> None:
        if type(self.exponent) is not int or not 0 <= self.exponent <= LARGEST_POWER:
            raise ValueError(
                f"a power must be a whole number from 0 to {LARGEST_POWER}; got {self.exponent!r}"
            )


@dataclass(frozen=True)
class Function(_Single):
    """A function of each entry."""

    name: str

    def __post_init__(self) -> None:
        if self.name not in FUNCTIONS:
            raise ValueError(f"a function must be one of {', '.join(FUNCTIONS)}; got {self.name!r}")


@dataclass(frozen=True)
class _OfVector(_Single):
    def __post_init__(self) -> None:
        if self.of.length is None:
            raise ValueError("a vector is needed here; the term is a single number")

    @cached_property
    def length(self) -> None:
        """A number."""
        return None


@dataclass(frozen=True)
class Total(_OfVector):
    """The sum of the entries of a vector."""


@dataclass(frozen=True)
class Item(_OfVector):
    """One entry of a vector unit."""

    index: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.of, Unit):
            raise ValueError("an index needs a vector unit, not a formula")
        assert self.of.entries is not None
        if not 0 <= self.index < self.of.entries:
            raise ValueError(f"entries are numbered 0 to {self.of.entries - 1}; got {self.index}")


def choose(term: Term, size: int) -> Term:
    """Return the polynomial x·(x − 1)·…·(x − size + 1)/size!.

    Parameters
    ----------
    term
        What is chosen from.
    size
        How many are chosen.
    """
    product, divisor = term, 1
    for step in range(1, size):
        product, divisor = product * (term - step), divisor * (step + 1)
    return product / divisor
