"""The ways a privacy loss is stated: pure, approximate, zero-concentrated, Gaussian, or jointly.

All figures are exact fractions; a float is read as its shortest decimal, so that ten times 0.1 is
1. A conversion may only weaken a statement: it is rounded outward, and refused where no bound
exists.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Self, TypeAlias

from sfumato.noise.exact import briefly, exact, writable
from sfumato.privacy.normal_tail import exceeding, log_tail
from sfumato.privacy.rounding import (
    exp_down,
    exp_up,
    log_down,
    log_up,
    round_down,
    round_up,
    sqrt_down,
    sqrt_up,
)

Number: TypeAlias = int | float | str | Fraction


class Unpriced(ValueError):
    """A loss has no finite statement in the measure that was asked for."""


def show_figure(symbol: str, value: Fraction) -> str:
    """Return a figure as people read it: `ε = 0.5`, or `ε ≈ 0.333333` where that is not all."""
    if value == 0 or Fraction(1, 10**300) < value < 10**300:
        text = f"{float(value):.6g}"
    else:
        decimal = Decimal(value.numerator) / Decimal(value.denominator)
        text = format(decimal.normalize(), ".6g")
    return f"{symbol} {'=' if Fraction(text) == value else '≈'} {text}"


def fraction_text(value: Fraction) -> str:
    """Return the exact text of a fraction, for files."""
    return str(value)


def _check_figure(name: str, value: object, *, below_one: bool = False) -> Fraction:
    """Return a figure of a loss as a fraction, or say what is allowed."""
    allowed = "at least 0 and less than 1" if below_one else "at least 0 and finite"
    try:
        figure = writable(exact(value))
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name} must be a number {allowed}, with a decimal point as in 0.5; got "
            f"{briefly(value)}"
        ) from error
    if figure < 0 or (below_one and figure >= 1):
        raise ValueError(f"{name} must be {allowed}; got {briefly(value)}")
    return figure


@dataclass(frozen=True)
class PureDP:
    """A pure loss: any one unit changes the probability of any outcome by at most e^epsilon.

    Parameters
    ----------
    epsilon
        The bound ε; a float is read as its shortest decimal.
    """

    epsilon: Fraction
    name: ClassVar[str] = "pure"

    def __init__(self, epsilon: Number) -> None:
        object.__setattr__(self, "epsilon", _check_figure("epsilon", epsilon))

    def __str__(self) -> str:
        return show_figure("ε", self.epsilon)

    def __add__(self, other: PureDP) -> PureDP:
        _same(self, other)
        return PureDP(self.epsilon + other.epsilon)

    def __sub__(self, other: PureDP) -> PureDP:
        _same(self, other)
        return PureDP(self.epsilon - other.epsilon)

    def share(self, part: Fraction) -> PureDP:
        """Return the given part of this loss."""
        return PureDP(self.epsilon * part)

    def fits(self, limit: PureDP) -> bool:
        """Tell whether this loss is within the limit."""
        return self.epsilon <= limit.epsilon

    def group(self, size: int) -> PureDP:
        """Return what holds for `size` units at once: size·ε."""
        return PureDP(self.epsilon * size)

    def per_unit(self, size: int) -> PureDP:
        """Return the largest loss whose group of `size` stays within this one."""
        return PureDP(self.epsilon / size)

    def replace_one(self) -> PureDP:
        """Return what an add/remove statement implies for replacing one unit: 2ε."""
        return PureDP(self.epsilon * 2)

    def to_json(self) -> dict[str, str]:
        """Return the exact figures, for files."""
        return {"measure": self.name, "epsilon": fraction_text(self.epsilon)}


@dataclass(frozen=True)
class ApproxDP:
    """An approximate loss: ε-DP but for a failure of probability at most delta.

    Parameters
    ----------
    epsilon
        The bound ε.
    delta
        The bound δ; it should be far below one over the number of units.
    """

    epsilon: Fraction
    delta: Fraction
    name: ClassVar[str] = "approximate"

    def __init__(self, epsilon: Number, delta: Number) -> None:
        object.__setattr__(self, "epsilon", _check_figure("epsilon", epsilon))
        object.__setattr__(self, "delta", _check_figure("delta", delta, below_one=True))

    def __str__(self) -> str:
        return f"{show_figure('ε', self.epsilon)}, {show_figure('δ', self.delta)}"

    def __add__(self, other: ApproxDP) -> ApproxDP:
        _same(self, other)
        return ApproxDP(self.epsilon + other.epsilon, self.delta + other.delta)

    def __sub__(self, other: ApproxDP) -> ApproxDP:
        _same(self, other)
        return ApproxDP(self.epsilon - other.epsilon, self.delta - other.delta)

    def share(self, part: Fraction) -> ApproxDP:
        """Return the given part of both figures."""
        return ApproxDP(self.epsilon * part, self.delta * part)

    def fits(self, limit: ApproxDP) -> bool:
        """Tell whether both figures are within the limit."""
        return self.epsilon <= limit.epsilon and self.delta <= limit.delta

    def _group_factor(self, epsilon: Fraction, size: int) -> Fraction:
        """Return an upper bound on 1 + e^ε + … + e^{(size−1)ε}."""
        if size == 1:
            return Fraction(1)
        if epsilon * size > 10**6:
            raise Unpriced(f"ε = {float(min(epsilon, Fraction(10**300))):.3g} bounds no group")
        # Every term is at most the last one.
        simple = size * exp_up(epsilon * (size - 1))
        below = exp_down(epsilon) - 1
        # The closed form is tighter, unless ε is too small for it to be computed.
        return min(simple, (exp_up(epsilon * size) - 1) / below) if below > 0 else simple

    def group(self, size: int) -> ApproxDP:
        """Return what holds for `size` units at once: (size·ε, δ·Σ e^{iε})."""
        delta = self.delta * self._group_factor(self.epsilon, size)
        if delta >= 1:
            raise Unpriced(
                f"({self}) gives no guarantee for {size:,} units at once: the delta of the group "
                "reaches 1; lower delta, epsilon or the contribution bound"
            )
        return ApproxDP(self.epsilon * size, delta)

    def per_unit(self, size: int) -> ApproxDP:
        """Return the largest loss whose group of `size` stays within this one."""
        epsilon = self.epsilon / size
        return ApproxDP(epsilon, self.delta / self._group_factor(epsilon, size))

    def replace_one(self) -> ApproxDP:
        """Return what an add/remove statement implies for replacing one unit: (2ε, (1+e^ε)δ)."""
        return self.group(2)

    def to_json(self) -> dict[str, str]:
        """Return the exact figures, for files."""
        return {
            "measure": self.name,
            "epsilon": fraction_text(self.epsilon),
            "delta": fraction_text(self.delta),
        }


@dataclass(frozen=True)
class ZCDP:
    """A zero-concentrated loss: Rényi divergence of every order α at most rho·α.

    Parameters
    ----------
    rho
        The bound ρ (Bun and Steinke, 2016).
    """

    rho: Fraction
    name: ClassVar[str] = "zero-concentrated"

    def __init__(self, rho: Number) -> None:
        object.__setattr__(self, "rho", _check_figure("rho", rho))

    def __str__(self) -> str:
        return show_figure("ρ", self.rho)

    def __add__(self, other: ZCDP) -> ZCDP:
        _same(self, other)
        return ZCDP(self.rho + other.rho)

    def __sub__(self, other: ZCDP) -> ZCDP:
        _same(self, other)
        return ZCDP(self.rho - other.rho)

    def share(self, part: Fraction) -> ZCDP:
        """Return the given part of this loss."""
        return ZCDP(self.rho * part)

    def fits(self, limit: ZCDP) -> bool:
        """Tell whether this loss is within the limit."""
        return self.rho <= limit.rho

    def group(self, size: int) -> ZCDP:
        """Return what holds for `size` units at once: size²·ρ."""
        return ZCDP(self.rho * size * size)

    def per_unit(self, size: int) -> ZCDP:
        """Return the largest loss whose group of `size` stays within this one."""
        return ZCDP(self.rho / (size * size))

    def replace_one(self) -> ZCDP:
        """Return what an add/remove statement implies for replacing one unit: 4ρ."""
        return ZCDP(self.rho * 4)

    def to_json(self) -> dict[str, str]:
        """Return the exact figures, for files."""
        return {"measure": self.name, "rho": fraction_text(self.rho)}

    @classmethod
    def within(cls, limit: ApproxDP) -> Self:
        """Return the largest ρ, rounded down, that implies the (ε, δ) statement.

        Every order α > 1 gives a valid ρ; the best one is searched in floating point and its bound
        is then computed with directed rounding (Canonne, Kamath and Steinke, 2020, Proposition 12).
        """
        if limit.delta == 0:
            raise Unpriced("a zero-concentrated loss implies no pure (ε, 0) loss; give a delta > 0")
        best = Fraction(0)
        for order in _orders(
            lambda a: -_rho_at(_float(limit.epsilon), _float(log_down(limit.delta)), a)
        ):
            rho = (
                limit.epsilon
                - log_up(1 - 1 / order)
                + (log_down(limit.delta) + log_down(order)) / (order - 1)
            ) / order
            best = max(best, rho)
        if best <= 0:
            raise Unpriced(f"no zero-concentrated loss was found that implies {limit}; raise delta")
        found = cls(round_down(best))
        # The other direction searches anew and may end a hair higher: give way until both agree.
        while not found.implies(limit):
            found = cls(round_down(found.rho * (1 - Fraction(1, 10**11))))
        return found

    def approximate(self, delta: Number) -> ApproxDP:
        """Return the smallest ε, rounded up, such that (ε, delta)-DP follows."""
        failure = exact(delta)
        if not 0 < failure < 1:
            raise ValueError(f"delta must be greater than 0 and less than 1; got {delta!r}")
        if self.rho == 0:
            return ApproxDP(0, failure)
        return ApproxDP(round_up(self._epsilon_up(failure)), failure)

    def implies(self, limit: ApproxDP) -> bool:
        """Tell whether this loss implies an (ε, δ) statement; nothing is rounded to digits."""
        if self.rho == 0 or limit.delta == 0:
            return self.rho == 0
        return self._epsilon_up(limit.delta) <= limit.epsilon

    def _epsilon_up(self, failure: Fraction) -> Fraction:
        """Return an upper bound on the smallest ε at a given δ."""
        epsilons = [
            order * self.rho
            + log_up(1 - 1 / order)
            - (log_down(failure) + log_down(order)) / (order - 1)
            for order in _orders(
                lambda a: _epsilon_at(_float(self.rho), _float(log_down(failure)), a)
            )
        ]
        return max(min(epsilons), Fraction(0))


@dataclass(frozen=True)
class GDP:
    """A Gaussian loss: no test tells two neighbours apart better than N(0, 1) from N(μ, 1).

    It is tighter than a zero-concentrated loss where all noise is Gaussian, and only used to count
    within one release: what is stated and booked follows from it.

    Parameters
    ----------
    mu_squared
        The bound μ², which adds up (Dong, Roth and Su, 2022).
    """

    mu_squared: Fraction
    name: ClassVar[str] = "Gaussian"

    def __init__(self, mu_squared: Number) -> None:
        object.__setattr__(self, "mu_squared", _check_figure("mu_squared", mu_squared))

    def __str__(self) -> str:
        return show_figure("μ²", self.mu_squared)

    def __add__(self, other: GDP) -> GDP:
        _same(self, other)
        return GDP(self.mu_squared + other.mu_squared)

    def __sub__(self, other: GDP) -> GDP:
        _same(self, other)
        return GDP(self.mu_squared - other.mu_squared)

    def share(self, part: Fraction) -> GDP:
        """Return the given part of this loss."""
        return GDP(self.mu_squared * part)

    def fits(self, limit: GDP) -> bool:
        """Tell whether this loss is within the limit."""
        return self.mu_squared <= limit.mu_squared

    def group(self, size: int) -> GDP:
        """Return what holds for `size` units at once: size·μ."""
        return GDP(self.mu_squared * size * size)

    def per_unit(self, size: int) -> GDP:
        """Return the largest loss whose group of `size` stays within this one."""
        return GDP(self.mu_squared / (size * size))

    def replace_one(self) -> GDP:
        """Return what an add/remove statement implies for replacing one unit: 2μ."""
        return GDP(self.mu_squared * 4)

    def to_json(self) -> dict[str, str]:
        """Return the exact figures, for files."""
        return {"measure": self.name, "mu_squared": fraction_text(self.mu_squared)}

    @classmethod
    def within(cls, limit: ApproxDP) -> Self:
        """Return the largest μ², rounded down, that implies the (ε, δ) statement."""
        if limit.delta == 0:
            raise Unpriced("a Gaussian loss implies no pure (ε, 0) loss; give a delta > 0")
        mu = _largest(lambda mu: exceeding(limit.epsilon, mu) <= limit.delta)
        return cls(round_down(mu * mu))

    def implies(self, limit: ApproxDP) -> bool:
        """Tell whether this loss implies an (ε, δ) statement."""
        if self.mu_squared == 0:
            return True
        return exceeding(limit.epsilon, sqrt_up(self.mu_squared)) <= limit.delta

    def approximate(self, delta: Number) -> ApproxDP:
        """Return the smallest ε, rounded up, such that (ε, delta)-DP follows."""
        failure = exact(delta)
        if not 0 < failure < 1:
            raise ValueError(f"delta must be greater than 0 and less than 1; got {delta!r}")
        mu = sqrt_up(self.mu_squared)
        if mu == 0 or exceeding(Fraction(0), mu) <= failure:
            return ApproxDP(0, failure)
        inverse = _largest(lambda inverse: exceeding(1 / inverse, mu) <= failure)
        return ApproxDP(round_up(1 / inverse), failure)


@dataclass(frozen=True)
class Joint:
    """An approximate loss and a zero-concentrated one, each spent by steps of its own.

    It is only used to count within one release, of which some steps have a δ of their own and the
    others add up best in zCDP: what is stated and booked follows from it.

    Parameters
    ----------
    with_delta
        What the steps with a δ may spend together.
    concentrated
        What all other steps may spend together.
    """

    with_delta: ApproxDP
    concentrated: ZCDP
    name: ClassVar[str] = "joint"

    def __str__(self) -> str:
        return f"({self.with_delta}) and {self.concentrated}"

    def __add__(self, other: Joint) -> Joint:
        _same(self, other)
        return Joint(self.with_delta + other.with_delta, self.concentrated + other.concentrated)

    def __sub__(self, other: Joint) -> Joint:
        _same(self, other)
        return Joint(self.with_delta - other.with_delta, self.concentrated - other.concentrated)

    def share(self, part: Fraction) -> Joint:
        """Return the given part of both losses."""
        return Joint(self.with_delta.share(part), self.concentrated.share(part))

    def fits(self, limit: Joint) -> bool:
        """Tell whether both losses are within the limit."""
        return self.with_delta.fits(limit.with_delta) and self.concentrated.fits(limit.concentrated)

    def group(self, size: int) -> Joint:
        """Return what holds for `size` units at once, of each loss."""
        return Joint(self.with_delta.group(size), self.concentrated.group(size))

    def per_unit(self, size: int) -> Joint:
        """Return the largest loss whose group of `size` stays within this one."""
        return Joint(self.with_delta.per_unit(size), self.concentrated.per_unit(size))

    def replace_one(self) -> Joint:
        """Return what an add/remove statement implies for replacing one unit."""
        return self.group(2)

    def to_json(self) -> dict[str, str]:
        """Return the exact figures, for files."""
        figures = {**self.with_delta.to_json(), **self.concentrated.to_json()}
        return {**figures, "measure": self.name}

    @classmethod
    def of(cls, loss: Loss) -> Joint:
        """Return one of the two losses as a joint loss, with nothing of the other."""
        if isinstance(loss, Joint):
            return loss
        if isinstance(loss, ApproxDP):
            return cls(loss, ZCDP(0))
        if isinstance(loss, ZCDP):
            return cls(ApproxDP(0, 0), loss)
        raise Unpriced(f"a {loss.name} loss is no part of a joint one")

    def approximate(self, delta: Number) -> ApproxDP:
        """Return the smallest ε, rounded up, such that (ε, delta)-DP follows."""
        left = exact(delta) - self.with_delta.delta
        rest = self.concentrated.approximate(left)
        return ApproxDP(self.with_delta.epsilon + rest.epsilon, delta)

    def implies(self, limit: ApproxDP) -> bool:
        """Tell whether this loss implies an (ε, δ) statement: what is left implies the rest."""
        if not self.with_delta.fits(limit):
            return False
        left = limit - self.with_delta
        return self.concentrated.rho == 0 or (left.delta > 0 and self.concentrated.implies(left))


#: Of less no pure loss is told: forty digits would not.
SMALLEST_GAUSSIAN = Fraction(1, 10**50)
#: e to minus this is as good as nothing, and has few digits.
TINY = Fraction(200)


def _largest(holds: Callable[[Fraction], bool]) -> Fraction:
    """Return nearly the largest positive number for which something holds that fails above it."""
    low, high = Fraction(1), Fraction(2)
    if holds(low):
        while holds(high):
            low, high = high, high * high
    else:
        high, low = low, Fraction(1, 2)
        while not holds(low):
            high, low = low, low * low
    # Halving the ratio, then the difference: 44 steps leave a relative 2⁻⁴⁰ or less.
    while high > 2 * low:
        middle = round_down(sqrt_down(low * high))
        low, high = (middle, high) if holds(middle) else (low, middle)
    for _ in range(44):
        middle = round_down((low + high) / 2, 16)
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


@lru_cache(maxsize=512)
def _gaussian_of_pure(epsilon: Fraction) -> Fraction:
    """Return an upper bound on the μ² that ε-DP implies.

    The trade-off of ε-DP has its corner at (1/(1 + e^ε), 1/(1 + e^ε)); where that of N(μ, 1) passes
    below it, it is below everywhere, being convex: Φ(−μ/2) ≤ 1/(1 + e^ε).
    """
    if epsilon == 0:
        return Fraction(0)
    # −ln(1 + e^ε) = −ε − ln(1 + e^−ε), from below.
    corner = -epsilon - log_up(1 + exp_up(-min(epsilon, TINY)))
    inverse = _largest(lambda inverse: log_tail(1 / inverse / 2)[1] <= corner)
    return round_up(1 / inverse / inverse)


@lru_cache(maxsize=512)
def pure_within(loss: Loss) -> Fraction:
    """Return the largest pure ε, rounded down, that costs no more than a loss in its own measure.

    Parameters
    ----------
    loss
        What may be spent: pure, zero-concentrated or Gaussian, or approximate.
    """
    if isinstance(loss, PureDP | ApproxDP):
        return loss.epsilon
    if isinstance(loss, Joint):
        raise Unpriced(f"{loss} is spent through slices of one of its two measures")
    if isinstance(loss, ZCDP):
        return round_down(sqrt_down(2 * loss.rho))
    if loss.mu_squared < SMALLEST_GAUSSIAN:
        raise Unpriced(f"nothing is left to spend of {loss}; fewer records of one unit leave more")
    # ε = ln(Φ(μ/2)/Φ(−μ/2)) and Φ(μ/2) = 1 − Φ(−μ/2).
    log_low = log_tail(sqrt_down(loss.mu_squared) / 2)[1]
    found = round_down(log_down(1 - exp_up(max(log_low, -TINY))) - log_low)
    while _gaussian_of_pure(found) > loss.mu_squared:
        found = round_down(found * (1 - Fraction(1, 10**11)))
    return found


Loss: TypeAlias = PureDP | ApproxDP | ZCDP | GDP | Joint
Measure: TypeAlias = type[PureDP] | type[ApproxDP] | type[ZCDP] | type[GDP] | type[Joint]


def _float(value: Fraction) -> float:
    """Return a float near a figure, for searching only."""
    return float(min(value, Fraction(10**300)))


def _same(first: Loss, second: object) -> None:
    """Raise unless both losses are stated in one measure."""
    if type(first) is not type(second):
        raise TypeError(
            f"a {first.name} loss and a {getattr(second, 'name', type(second).__name__)} loss "
            "cannot be added; convert one of them first"
        )


def _epsilon_at(rho: float, log_delta: float, order: float) -> float:
    return order * rho + math.log1p(-1 / order) - (log_delta + math.log(order)) / (order - 1)


def _rho_at(epsilon: float, log_delta: float, order: float) -> float:
    return (epsilon - math.log1p(-1 / order) + (log_delta + math.log(order)) / (order - 1)) / order


def _orders(cost: Any) -> list[Fraction]:
    """Return a few orders α > 1 around the least cost; any of them gives a valid bound."""
    # Golden-section search over ln(α − 1); the cost has one valley on this range.
    low, high = -12.0, 690.0
    golden = (math.sqrt(5) - 1) / 2
    left, right = high - golden * (high - low), low + golden * (high - low)
    at_left, at_right = cost(1 + math.exp(left)), cost(1 + math.exp(right))
    for _ in range(120):
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - golden * (high - low)
            at_left = cost(1 + math.exp(left))
        else:
            low, left, at_left = left, right, at_right
            right = low + golden * (high - low)
            at_right = cost(1 + math.exp(right))
    return [1 + Fraction(repr(math.exp((low + high) / 2)))]


def convert(loss: Loss, measure: Measure) -> Loss:
    """Return what `loss` implies in another measure, or raise `Unpriced`.

    Parameters
    ----------
    loss
        The statement that holds.
    measure
        `PureDP`, `ApproxDP`, `ZCDP` or `GDP`.
    """
    if isinstance(loss, measure):
        return loss
    if measure is Joint:
        raise Unpriced("a joint loss is spent through slices of one of its two measures")
    if isinstance(loss, ApproxDP) and loss.delta == 0:
        loss = PureDP(loss.epsilon)
        return convert(loss, measure)
    if isinstance(loss, PureDP):
        if measure is ApproxDP:
            return ApproxDP(loss.epsilon, 0)
        if measure is GDP:
            return GDP(_gaussian_of_pure(loss.epsilon))
        # ε-DP implies ε²/2-zCDP (Bun and Steinke, 2016, Proposition 1.4).
        return ZCDP(loss.epsilon**2 / 2)
    if isinstance(loss, GDP) and measure is ZCDP:
        # N(0, 1) and N(μ, 1) have Rényi divergence αμ²/2, which no processing raises.
        return ZCDP(loss.mu_squared / 2)
    raise Unpriced(f"a loss of {loss} ({loss.name}) implies no {measure.name} loss")


def zero(measure: Measure) -> Loss:
    """Return the loss of doing nothing."""
    if measure is Joint:
        return Joint(ApproxDP(0, 0), ZCDP(0))
    if measure is ApproxDP:
        return ApproxDP(0, 0)
    return measure(0)  # type: ignore[call-arg, arg-type]


def loss_from_json(document: dict[str, Any]) -> Loss:
    """Return the loss that `to_json` wrote."""
    name = document.get("measure")
    if name == PureDP.name:
        return PureDP(exact(document["epsilon"]))
    if name == ApproxDP.name:
        return ApproxDP(exact(document["epsilon"]), exact(document["delta"]))
    if name == ZCDP.name:
        return ZCDP(exact(document["rho"]))
    if name == GDP.name:
        return GDP(exact(document["mu_squared"]))
    if name == Joint.name:
        approximate = ApproxDP(exact(document["epsilon"]), exact(document["delta"]))
        return Joint(approximate, ZCDP(exact(document["rho"])))
    raise ValueError(f"unknown measure of privacy loss {name!r}")
