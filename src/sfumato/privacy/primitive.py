"""A primitive: the only kind of thing that may look at private values and speak.

A primitive is a frozen dataclass whose fields are its *public* signature. It declares what it
costs in each measure, how far apart its inputs may be on neighbouring data, and the probability of
what it says. Private calibration (a smooth bound, a ladder) belongs to the input, never to the
signature.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from types import UnionType
from typing import Any, ClassVar, Protocol, Union, get_args, get_origin, get_type_hints

import numpy as np

from sfumato.noise.exact import exact
from sfumato.privacy.loss import ZCDP, Loss, Measure


@dataclass(frozen=True)
class Change:
    """How far two inputs of a primitive are apart, and how far they may be.

    Parameters
    ----------
    measured
        The distance found between the two inputs.
    allowed
        The distance the primitive declares for neighbouring data.
    norm
        The name of the distance, for people.
    power
        How the distance grows with the number of records that change: 2 for a squared norm.
    """

    measured: Fraction | float
    allowed: Fraction | float
    norm: str
    power: int = 1

    @property
    def holds(self) -> bool:
        """Whether the declaration is kept for one record."""
        return self.holds_for(1)

    def holds_for(self, records: int) -> bool:
        """Tell whether the declaration is kept for a unit of several records."""
        return bool(self.measured <= self.allowed * records**self.power)


def plain(value: Any) -> Any:
    """Return a public value as JSON knows it; fractions become exact text."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    raise TypeError(f"a public signature may not hold a {type(value).__name__}")


#: No primitive says a whole number of more bits than this.
LONGEST_WHOLE = 1024


def require_whole(output: Any, low: int | None = None, high: int | None = None) -> None:
    """Raise unless an output is a whole number of the declared range."""
    if type(output) is not int or output.bit_length() > LONGEST_WHOLE:
        raise ValueError(f"it is not a whole number of at most {LONGEST_WHOLE} bits")
    if (low is not None and output < low) or (high is not None and output > high):
        raise ValueError(f"it is not a whole number from {low} to {high}")


def require_wholes(output: Any, shape: tuple[int, ...]) -> None:
    """Raise unless an output is an array of whole numbers of any size, of the declared shape."""
    require_array(output, np.object_, shape)
    for item in output.ravel():
        require_whole(item)


def require_array(output: Any, kind: type[np.generic], shape: tuple[int, ...]) -> None:
    """Raise unless an output is an array of the declared type and shape."""
    if not isinstance(output, np.ndarray) or output.dtype != kind or output.shape != shape:
        raise ValueError(f"it is not an array of the type {kind.__name__} and the shape {shape}")


def require_integers(output: Any, shape: tuple[int, ...], *, wide: bool = True) -> None:
    """Raise unless an output is an array of integers: of 64 bits, or of any where noise is wide."""
    if getattr(output, "dtype", None) == np.object_:
        if not wide:
            raise ValueError("whole numbers of 64 bits must be in an array of them")
        require_wholes(output, shape)
    else:
        require_array(output, np.int64, shape)


def require_within(output: Any, shape: tuple[int, ...], bound: int) -> None:
    """Raise unless an output is an array of 64-bit integers of at most the declared size."""
    require_array(output, np.int64, shape)
    # Not by their absolute values: the least integer has none.
    if output.min(initial=0) < -bound or output.max(initial=0) > bound:
        raise ValueError(f"its entries must be at most {bound} in size")


_kinds: dict[str, type[_Signed]] = {}

#: The types of a class's fields; finding them takes longer than one client's whole report.
_hints = lru_cache(maxsize=256)(get_type_hints)


def price_of(signature: dict[str, Any], measure: Measure) -> Loss:
    """Return what the primitive of a public signature costs, computed anew.

    Parameters
    ----------
    signature
        What `signature()` wrote.
    measure
        The measure in which the budget counts.
    """
    kind = _kinds.get(str(signature.get("kind")))
    if kind is None:
        raise ValueError(f"the primitive {signature.get('kind')!r} is unknown to this version")
    hints = _hints(kind)
    if signature.keys() - {"kind"} != {item.name for item in fields(kind)}:
        raise ValueError(
            f"the signature of {kind.kind!r} has other fields in this version; verify the release "
            "with the version that wrote it"
        )
    given = {
        name: _read_typed(value, hints[name]) for name, value in signature.items() if name != "kind"
    }
    return kind(**given).cost(measure)


def _read_typed(value: Any, hint: Any) -> Any:
    """Return a plain value as the type that a field declares."""
    if hint is int:
        return value
    if hint is Fraction:
        return exact(value)
    if hint is float or (isinstance(hint, type) and issubclass(hint, Enum)):
        return hint(value)
    if get_origin(hint) is tuple:
        inner = get_args(hint)[0]
        return tuple(_read_typed(item, inner) for item in value)
    if get_origin(hint) in (Union, UnionType):
        # An optional field: None, or the other type.
        (inner,) = (item for item in get_args(hint) if item is not type(None))
        return None if value is None else _read_typed(value, inner)
    return value


@dataclass(frozen=True, kw_only=True)
class _Signed(ABC):
    """What one-shot and stateful primitives share: a public signature and a price."""

    kind: ClassVar[str]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "kind" in cls.__dict__:
            _kinds[cls.kind] = cls

    def __post_init__(self) -> None:
        """Turn figures into exact fractions; a subclass that checks more calls this first."""
        for item in fields(self):
            if item.type == "Fraction":
                object.__setattr__(self, item.name, exact(getattr(self, item.name)))

    @abstractmethod
    def cost(self, measure: Measure) -> Loss:
        """Return an upper bound on the loss in the given measure, or raise `Unpriced`."""

    def signature(self) -> dict[str, Any]:
        """Return the public signature as a plain document."""
        return {
            "kind": self.kind,
            **{field.name: plain(getattr(self, field.name)) for field in fields(self)},
        }


@dataclass(frozen=True, kw_only=True)
class Primitive(_Signed):
    """A mechanism that takes one private input and says one thing."""

    @abstractmethod
    def check(self, value: Any) -> None:
        """Raise `ValueError` unless the input has the declared type and shape."""

    @abstractmethod
    def sample(self, value: Any) -> Any:
        """Draw an output for a private input, with bits from `sfumato.noise`."""

    def check_output(self, output: Any) -> None:
        """Raise `ValueError` unless this is something the primitive may say, whatever the data.

        Type, shape and range are those that the signature gives; whoever verifies a transcript
        asks. A primitive whose outputs are never saved in a release need not answer.
        """
        raise ValueError(f"{self.kind} does not declare its possible outputs")

    @abstractmethod
    def log_probability(self, value: Any, output: Any) -> float:
        """Return the log-probability of saying `output` on the input `value`."""

    @abstractmethod
    def change(self, value: Any, neighbour: Any) -> Change:
        """Measure how far two inputs are apart against what is declared."""

    def concentrated_loss(self, value: Any, neighbour: Any) -> float:
        """Return the ρ that two inputs really cost, as far as it is known in closed form.

        By default the price scales with the square of the measured distance; a primitive that
        knows better says so, from its law and not from its price.
        """
        change = self.change(value, neighbour)
        price = self.cost(ZCDP)
        assert isinstance(price, ZCDP)
        ratio = float(change.measured) / float(change.allowed)
        return float(float(price.rho) * ratio ** (2 / change.power))

    def extremes(self, value: Any, neighbour: Any) -> Sequence[Any]:
        """Return outputs that tell two inputs apart best, for an auditor to force."""
        return ()


class Run(Protocol):
    """One run of a stateful primitive, with its hidden state inside."""

    @property
    def done(self) -> bool:
        """Whether the run has stopped and takes no further step."""

    def step(self, value: Any) -> Any:
        """Take one private input and return one public output."""


@dataclass(frozen=True, kw_only=True)
class StatefulPrimitive(_Signed):
    """A mechanism with hidden state: one slice of budget, many steps."""

    @abstractmethod
    def check(self, value: Any) -> None:
        """Raise `ValueError` unless one step's input has the declared type and shape."""

    @abstractmethod
    def start(self) -> Run:
        """Draw the hidden state and return a run."""

    @abstractmethod
    def check_output(self, value: Any, before: Sequence[Any], output: Any) -> None:
        """Raise `ValueError` unless a step may say this.

        Parameters
        ----------
        value
            An input of the step, of which the type and the shape are used alone.
        before
            What was said before.
        output
            What is said.
        """

    @abstractmethod
    def is_stopped(self, outputs: Sequence[Any]) -> bool:
        """Tell whether a run takes no further step after these outputs."""

    @abstractmethod
    def log_probability(self, values: Sequence[Any], outputs: Sequence[Any]) -> float:
        """Return the log-probability of all steps, the hidden state integrated out."""

    @abstractmethod
    def change(self, values: Sequence[Any], neighbours: Sequence[Any]) -> Change:
        """Measure how far two sequences of inputs are apart against what is declared."""

    def concentrated_loss(self, values: Sequence[Any], neighbours: Sequence[Any]) -> float:
        """Return the ρ that two sequences of inputs really cost, as far as it is known.

        By default there is no closed form: where inputs differ at all, it is the whole price.
        """
        price = self.cost(ZCDP)
        assert isinstance(price, ZCDP)
        return float(price.rho) if values != neighbours else 0.0
