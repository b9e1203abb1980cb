"""Clients' own numbers, as private data with public bounds, read on a public grid."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.local.own import own_client
from sfumato.noise.exact import exact
from sfumato.privacy.guarantee import Relation, Unit
from sfumato.privacy.parameters import CLOSEST, Constraint, Extreme, read_exact

__all__ = ["Bound", "NumberPublic", "OwnNumber", "step_of"]


@dataclass(frozen=True)
class Bound(Constraint):
    """A finite number, kept as an exact fraction."""

    allowed = "a finite number"

    def parse(self, value: Any) -> Fraction:
        """Return the number as a fraction."""
        number = read_exact(value)
        if abs(number) > 1 / CLOSEST:
            raise Extreme("from -1e100 to 1e100")
        return number


@dataclass(frozen=True)
class NumberPublic:
    """What is public about clients' numbers: their bounds, the grid they are read on, how many.

    Parameters
    ----------
    low, high
        The declared bounds; a number beyond them is read as the nearer one.
    steps
        How many steps the grid between them has.
    clients
        How many clients report, once each.
    """

    kind: ClassVar[str] = "number"

    low: Fraction
    high: Fraction
    steps: int
    clients: int = 1
    unit: Unit = Unit.REPORT
    relation: Relation = Relation.REPLACE_ONE
    contribution: int = 1

    def assumptions(self) -> tuple[str, ...]:
        """Return what is taken as public, in words."""
        return (f"the bounds {self.low} and {self.high}", f"that {self.clients:,} reported")

    def to_json(self) -> dict[str, Any]:
        """Return a plain document."""
        return {
            "low": str(self.low),
            "high": str(self.high),
            "steps": self.steps,
            "clients": self.clients,
        }

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> NumberPublic:
        """Return the public part that `to_json` wrote."""
        low, high = Fraction(document["low"]), Fraction(document["high"])
        return cls(low, high, document["steps"], document["clients"])


class OwnNumber:
    """One client's own number, or the numbers of many clients, one each.

    Parameters
    ----------
    value
        A number, or an array with one for each client.
    public
        The bounds and the grid.
    """

    __slots__ = ("_step", "public")

    def __init__(self, value: Any, public: NumberPublic) -> None:
        many = isinstance(value, np.ndarray)
        self._step: int | NDArray[np.int64] = (
            steps_of(value, public) if many else step_of(value, public)
        )
        self.public = replace(public, clients=len(value)) if many else public

    def __repr__(self) -> str:
        return f"OwnNumber(from {self.public.low} to {self.public.high})"

    @property
    def input(self) -> int | NDArray[np.int64]:
        """The step of the grid that is nearest to the number. Private."""
        return self._step

    def digest(self, key: bytes) -> bytes:
        """Return a keyed hash that binds a ledger: to one client, or to the numbers of many."""
        if not isinstance(self._step, np.ndarray):
            return own_client(key)
        public = self.public
        head = f"{public.low} {public.high} {public.steps} {public.clients} ".encode()
        return hmac.new(key, head + self._step.tobytes(), hashlib.sha256).digest()


def step_of(value: Any, public: NumberPublic) -> int:
    """Return the step of a grid that is nearest to one number, in exact arithmetic.

    Parameters
    ----------
    value
        The number.
    public
        The bounds and the grid.
    """
    try:
        number = exact(value)
    except (TypeError, ValueError):
        raise ValueError(
            "a finite number is needed; what was given is not shown because it is private"
        ) from None
    inside = min(max(number, public.low), public.high)
    return round((inside - public.low) / (public.high - public.low) * public.steps)


def steps_of(values: NDArray[Any], public: NumberPublic) -> NDArray[np.int64]:
    """Return the steps of a grid that are nearest to many numbers, up to rounding of floats.

    Each client's step is a function of its own number alone.

    Parameters
    ----------
    values
        The numbers.
    public
        The bounds and the grid.
    """
    if values.ndim != 1 or values.dtype.kind not in "iuf" or not np.isfinite(values).all():
        raise ValueError("a line of finite numbers is needed, one for each client")
    low, high = float(public.low), float(public.high)
    shares = (np.clip(values.astype(np.float64), low, high) - low) / (high - low)
    return np.clip(np.rint(shares * public.steps), 0, public.steps).astype(np.int64)
