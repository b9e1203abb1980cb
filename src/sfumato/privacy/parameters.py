"""Declared parameters: each with a constraint, from which its error text is made.

A constraint parses what a user gave into the one form the method works with; parsing a parsed
value, or its plain text from a file, gives the same value again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from fractions import Fraction
from typing import Any

from sfumato.noise.exact import briefly, exact


def decimal_hint(value: Any) -> str:
    """Return what to add to an error about a text that is no number, such as `0,5`."""
    if not isinstance(value, str):
        return ""
    try:
        exact(value)
    except ValueError:
        return "; it must be a number with a decimal point, as in 0.5"
    return ""


#: Numbers closer to their bounds, or larger than its inverse, are lost in floating point.
CLOSEST = Fraction(1, 10**100)


class Extreme(ValueError):
    """A number that is allowed and that nothing can be computed with; says what can be."""


#: No numerator or denominator is larger: words state few digits, and nothing may hide in others.
LONGEST = 10**200


def read_exact(value: Any) -> Fraction:
    """Return a number as an exact fraction of a length that people can read."""
    number = exact(value)
    if max(abs(number.numerator), number.denominator) > LONGEST:
        raise Extreme("written with at most 200 digits")
    return number


def read_text(value: Any) -> str:
    """Return a text that is not empty and that files can hold."""
    if not isinstance(value, str) or not value:
        raise TypeError
    # A lone surrogate has no UTF-8; the error is a `ValueError`.
    value.encode()
    return value


def is_list(value: Any) -> bool:
    """Tell whether a value lists others in an order; text and bytes are one value."""
    return isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray)


def _listed(value: Any) -> Sequence[Any]:
    """Return a list as it is and a text as a list of one; nothing else is a list."""
    if isinstance(value, str):
        return (value,)
    if not is_list(value):
        raise TypeError
    items: Sequence[Any] = value
    return items


class Constraint(ABC):
    """What a parameter may be."""

    @property
    @abstractmethod
    def allowed(self) -> str:
        """What is allowed, to follow the words 'must be'."""

    @abstractmethod
    def parse(self, value: Any) -> Any:
        """Return the parsed value, or raise `ValueError` or `TypeError`."""

    def __call__(self, name: str, value: Any) -> Any:
        """Return the parsed value, or say what is allowed."""
        try:
            return self.parse(value)
        except Extreme as limit:
            raise ValueError(
                f"{name} must be {self.allowed}, {limit}; got {briefly(value)}"
            ) from None
        except (TypeError, ValueError):
            hint = decimal_hint(value) if isinstance(self, Positive | Between) else ""
            raise ValueError(f"{name} must be {self.allowed}; got {briefly(value)}{hint}") from None


@dataclass(frozen=True)
class Positive(Constraint):
    """A positive finite number, kept as an exact fraction."""

    allowed = "positive and finite"

    def parse(self, value: Any) -> Fraction:
        """Return the number as a fraction."""
        number = read_exact(value)
        if number <= 0:
            raise ValueError
        if not CLOSEST <= number <= 1 / CLOSEST:
            raise Extreme("from 1e-100 to 1e100")
        return number


#: An ε beyond these is a slip of the pen; noise of such a scale leaves the floats and 64 bits.
SMALLEST_EPSILON, LARGEST_EPSILON = Fraction(1, 10**15), Fraction(10**15)


@dataclass(frozen=True)
class Epsilon(Positive):
    """The ε of a method: a positive number of a size that noise can be drawn for."""

    def __call__(self, name: str, value: Any) -> Fraction:
        """Return the number as a fraction, or say what is allowed."""
        number: Fraction = super().__call__(name, value)
        if not SMALLEST_EPSILON <= number <= LARGEST_EPSILON:
            raise ValueError(f"{name} must be from 1e-15 to 1e15; got {briefly(value)}")
        return number


@dataclass(frozen=True)
class Between(Constraint):
    """A number strictly between two bounds, kept as an exact fraction."""

    low: Fraction
    high: Fraction
    closest: Fraction = CLOSEST

    @property
    def allowed(self) -> str:
        """What is allowed."""
        return f"greater than {self.low} and less than {self.high}"

    def parse(self, value: Any) -> Fraction:
        """Return the number as a fraction."""
        number = read_exact(value)
        if not self.low < number < self.high:
            raise ValueError
        if min(number - self.low, self.high - number) < self.closest:
            raise Extreme(f"by {float(self.closest):g} or more")
        return number


#: A smaller share of a small ε would leave 64 bits, as a smaller ε does.
SHARE = Between(Fraction(0), Fraction(1), Fraction(1, 10**6))
DELTA = Between(Fraction(0), Fraction(1))


#: Larger whole numbers are a slip of the pen; what is computed from them would leave 64 bits.
LARGEST_WHOLE = 2**53


@dataclass(frozen=True)
class Whole(Constraint):
    """A whole number within bounds; without an upper one it goes to 2**53."""

    low: int
    high: int | None = None

    @property
    def allowed(self) -> str:
        """What is allowed."""
        if self.high is None:
            return f"a whole number of at least {self.low}"
        return f"a whole number from {self.low} to {self.high}"

    def parse(self, value: Any) -> int:
        """Return the number as an int."""
        number = exact(value)
        if number.denominator != 1 or number < self.low:
            raise ValueError
        if number > LARGEST_WHOLE:
            raise Extreme("and at most 2**53")
        if self.high is not None and number > self.high:
            raise ValueError
        return int(number)


@dataclass(frozen=True)
class OneOf(Constraint):
    """One of a few words.

    Parameters
    ----------
    options
        The words.
    former
        What words were before, and what they are now: saved releases may have either.
    """

    options: tuple[str, ...]
    former: Mapping[str, str] = field(default_factory=dict)

    @property
    def allowed(self) -> str:
        """What is allowed."""
        return "one of " + ", ".join(repr(option) for option in self.options)

    def parse(self, value: Any) -> str:
        """Return the word."""
        if value not in self.options:
            raise ValueError
        return str(value)

    def __call__(self, name: str, value: Any) -> Any:
        """Return the word, or say what is allowed, and what a former word is called now."""
        try:
            return super().__call__(name, value)
        except ValueError as error:
            if not isinstance(value, str) or value not in self.former:
                raise
            raise ValueError(f"{error}; write {name}={self.former[value]!r}") from None


@dataclass(frozen=True)
class Flag(Constraint):
    """True or False."""

    allowed = "True or False"

    def parse(self, value: Any) -> bool:
        """Return the flag."""
        if value is not True and value is not False:
            raise ValueError
        return bool(value)


@dataclass(frozen=True)
class Text(Constraint):
    """Any text."""

    allowed = "a text that is not empty and that UTF-8 can hold"

    def parse(self, value: Any) -> str:
        """Return the text."""
        return read_text(value)


@dataclass(frozen=True)
class Names(Constraint):
    """A list of distinct column names; one name may stand for a list of one."""

    allowed = "a non-empty list of distinct column names"

    def parse(self, value: Any) -> tuple[str, ...]:
        """Return the names as a tuple."""
        names = tuple(read_text(name) for name in _listed(value))
        if not names or len(set(names)) != len(names):
            raise ValueError
        return names


@dataclass(frozen=True)
class Name(Constraint):
    """The name of one column."""

    allowed = "the name of a column"

    def parse(self, value: Any) -> str:
        """Return the name."""
        return read_text(value)


@dataclass(frozen=True)
class Labels(Constraint):
    """A list of distinct values of a column, as their labels; one text may stand for a list."""

    allowed = "a non-empty list of distinct values of the target, such as ['yes']"

    def parse(self, value: Any) -> tuple[str, ...]:
        """Return the labels as a tuple of text."""
        labels = tuple(_label(item) for item in _listed(value))
        if not labels or len(set(labels)) != len(labels):
            raise ValueError
        return labels


def _label(value: Any) -> str:
    """Return one value as the label that a schema shows."""
    if isinstance(value, str):
        return read_text(value)
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, int | float):
        raise TypeError
    # Nothing that is not finite is a category.
    read_exact(value)
    return str(value)


@dataclass(frozen=True)
class NameSets(Constraint):
    """A list of distinct sets of column names; one name stands for a set, or a list, of one."""

    allowed = (
        "a non-empty list of distinct sets of column names, such as [('age', 'sex'), ('age',)]"
    )

    def parse(self, value: Any) -> tuple[tuple[str, ...], ...]:
        """Return the sets as a tuple of tuples."""
        sets = tuple(Names().parse(item) for item in _listed(value))
        if not sets or len({frozenset(item) for item in sets}) != len(sets):
            raise ValueError
        return sets


@dataclass(frozen=True)
class OrNone(Constraint):
    """Something, or None for the default."""

    inner: Constraint

    @property
    def allowed(self) -> str:
        """What is allowed."""
        return f"{self.inner.allowed}, or None"

    def parse(self, value: Any) -> Any:
        """Return the parsed value, or None."""
        return None if value is None else self.inner.parse(value)


def parameter(constraint: Constraint, default: Any = MISSING) -> Any:
    """Declare a parameter of a method with its constraint."""
    if default is MISSING:
        return field(metadata={"constraint": constraint})
    return field(default=default, metadata={"constraint": constraint})


def parse_parameters(instance: Any) -> None:
    """Parse every declared parameter of a frozen dataclass, in place, while it is being built."""
    for item in fields(instance):
        constraint = item.metadata.get("constraint")
        if constraint is None:
            raise TypeError(f"{type(instance).__name__}.{item.name} declares no constraint")
        value = constraint(item.name, getattr(instance, item.name))
        object.__setattr__(instance, item.name, value)


def read_parameters(names: Sequence[str], document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a document, refusing any that is unknown."""
    unknown = sorted(set(document) - set(names))
    if unknown:
        raise ValueError(f"unknown parameter {unknown[0]!r}; there are {', '.join(names)}")
    return dict(document)


def rename_former(method: type[Any], document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a document with the names and words that they have now.

    Parameters
    ----------
    method
        The class of the method, with `former_names`; the constraints of its fields have the former
        words.
    document
        The parameters. One that is there under both names keeps both, and so is refused as unknown.
    """
    names = method.former_names
    present = {
        names[name] if name in names and names[name] not in document else name: value
        for name, value in document.items()
    }
    for item in fields(method):
        former = getattr(item.metadata["constraint"], "former", {})
        value = present.get(item.name)
        if isinstance(value, str) and value in former:
            present[item.name] = former[value]
    return present
