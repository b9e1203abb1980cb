"""What a ledger allows, and what a guarantee costs under it.

A charge is what the guarantee implies in the ledger's own measure and relation, for the ledger's
own unit. It may only be rounded up. What no theorem covers is refused and never guessed.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, Self

from sfumato.noise.exact import briefly
from sfumato.privacy.guarantee import Basis, Guarantee, Relation, Unit
from sfumato.privacy.ledger_store import LedgerError
from sfumato.privacy.loss import (
    GDP,
    ZCDP,
    ApproxDP,
    Loss,
    Measure,
    PureDP,
    Unpriced,
    convert,
    loss_from_json,
)
from sfumato.privacy.rounding import round_up

_WHOLE = (Unit.PERSON, Unit.USER, Unit.PARTICIPANT)
_LONGEST_DENOMINATOR = 10**60
_DIGITS = 30


class BudgetExceeded(ValueError):
    """The requested loss exceeds what is left in the ledger; nothing was booked.

    Parameters
    ----------
    where
        The name of the ledger.
    asked, left, allowed
        The losses, in the ledger's measure and relation.
    source
        What the charge was converted from, in words; empty where nothing was converted.
    """

    def __init__(
        self, where: str, *, asked: Loss, left: Loss, allowed: Loss, source: str = ""
    ) -> None:
        self.asked = asked
        self.left = left
        self.missing = _combine_losses(asked, left, lambda ask, have: max(ask - have, Fraction(0)))
        converted = f" (from {source})" if source else ""
        have = left if any(_figures(left)) else "nothing"
        super().__init__(
            f"{where} refuses: requested {asked}{converted}; left {have} of the allowed {allowed}; "
            f"missing {self.missing}. Nothing was booked. Lower the loss of this release to what "
            "is left, or do not release"
        )


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What a ledger was opened for; it never changes.

    Parameters
    ----------
    allow
        The loss that all releases together may reach.
    unit, relation
        Whose contribution is protected, and what a neighbour is.
    """

    allow: Loss
    unit: Unit
    relation: Relation

    def __post_init__(self) -> None:
        if not isinstance(self.allow, PureDP | ApproxDP | ZCDP):
            raise LedgerError(
                "allow must be a privacy loss such as PureDP(1), ZCDP(0.1) or ApproxDP(1, 1e-9); "
                f"got {briefly(self.allow)}"
            )
        if isinstance(self.allow, ApproxDP) and self.allow.delta == 0:
            raise LedgerError(
                "allow has delta 0; write PureDP(epsilon) for a ledger without a delta"
            )
        if not all(_figures(self.allow)):
            raise LedgerError(f"allow must be greater than 0; got {self.allow}")

    def charge(self, guarantee: Guarantee) -> Loss:
        """Return what a guarantee costs in this ledger, or refuse.

        Privacy: a pure ε is (ε, 0) and ε²/2-zCDP (Bun and Steinke, 2016, Proposition 1.4); a
        statement for one unit added or removed implies 2ε, (2ε, (1+e^ε)δ) or 4ρ for one replaced,
        by group privacy over the removal and the addition. The converse does not hold.
        """
        _refuse_unfounded(guarantee)
        self._refuse_other_unit(guarantee.unit)
        loss = self._state_in_measure(guarantee)
        if guarantee.relation is self.relation:
            return loss
        if self.relation is Relation.ADD_REMOVE:
            raise LedgerError(
                f"this ledger protects any one {self.unit} added or removed, and the release any "
                "one replaced, which does not cover adding or removing; use a method that "
                "guarantees add_remove, or keep a ledger with relation='replace_one'"
            )
        try:
            return loss.replace_one()
        except Unpriced as error:
            raise LedgerError(
                f"the release has no guarantee for one {self.unit} replaced: {error}"
            ) from error

    def settle(self, charge: Loss, spent: Loss) -> Loss:
        """Return the charge to book on top of what is spent: exact, unless the sum grows too long.

        Denominators multiply as unlike fractions are added. Where the sum of some figure would
        become unwieldy, that figure of the charge is rounded up in its thirtieth digit.
        """

        def rounded(figure: Fraction, before: Fraction) -> Fraction:
            short = (figure + before).denominator <= _LONGEST_DENOMINATOR
            return figure if short else round_up(figure, _DIGITS)

        return _combine_losses(charge, spent, rounded)

    def left(self, spent: Loss) -> Loss:
        """Return what may still be spent."""
        return _combine_losses(self.allow, spent, lambda allowed, used: allowed - used)

    def total(self, spent: Loss, charge: Loss) -> Loss:
        """Return what is spent after a charge that fits.

        Privacy: the sum of the losses bounds releases chosen adaptively, in each of the three
        measures: stopping at a fixed sum is a valid filter (Rogers, Roth, Ullman and Vadhan, 2016,
        for (ε, δ); Feldman and Zrnic, 2021, for ρ), for interleaved sessions too (Haney et al.,
        2023).
        """
        return _combine_losses(spent, charge, lambda used, more: used + more)

    def fits(self, charge: Loss, spent: Loss) -> bool:
        """Tell whether a charge stays within what is left, in every figure."""
        figures = zip(_figures(charge), _figures(self.left(spent)), strict=True)
        return all(more <= have for more, have in figures)

    def covers(self, charged: Loss, cost: Loss) -> bool:
        """Tell whether what was charged is no less than a cost, in every figure."""
        figures = zip(_figures(charged), _figures(cost), strict=True)
        return all(paid >= due for paid, due in figures)

    def source(self, guarantee: Guarantee, charge: Loss) -> str:
        """Return what a charge was converted from, in words; empty where nothing was converted."""
        if charge in guarantee.losses and guarantee.relation is self.relation:
            return ""
        return f"{guarantee.loss} for one {guarantee.unit} {guarantee.relation.words}"

    def to_json(self) -> dict[str, Any]:
        """Return a plain document."""
        return {
            "allow": self.allow.to_json(),
            "unit": str(self.unit),
            "relation": str(self.relation),
        }

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Self:
        """Return the terms that `to_json` wrote."""
        return cls(
            allow=loss_from_json(document["allow"]),
            unit=Unit.parse(document["unit"]),
            relation=Relation.parse(document["relation"]),
        )

    def _state_in_measure(self, guarantee: Guarantee) -> Loss:
        """Return a statement of the guarantee in the ledger's measure: its own, or a converted."""
        measure: Measure = type(self.allow)
        # A statement made in the ledger's measure comes first; it is the tighter one.
        for loss in sorted(guarantee.losses, key=lambda loss: not isinstance(loss, measure)):
            try:
                return convert(loss, measure)
            except Unpriced:
                continue
        # A Gaussian loss is how a release counts within; no ledger sums it.
        stated = " and ".join(str(loss) for loss in guarantee.losses if not isinstance(loss, GDP))
        raise LedgerError(
            f"this ledger sums {_MEASURES[measure]}, and {stated} cannot be converted to that "
            f"measure; {_TAKES[measure]}"
        )

    def _refuse_other_unit(self, unit: Unit) -> None:
        """Raise unless the guarantee protects the ledger's unit."""
        if unit is self.unit:
            return
        difference = f"this ledger protects any one {self.unit}, and the release any one {unit}"
        if self.unit in _WHOLE and unit not in _WHOLE:
            remedy = (
                f"one {self.unit} may have many of them, so the charge would be too small. Declare "
                f"which column names the {self.unit} and how many {unit}s of one are let in at "
                f"most (or that there is one {unit} a {self.unit}): then the release protects the "
                f"whole {self.unit}"
            )
        else:
            remedy = (
                "losses for different units do not add up. Release with the unit "
                f"{str(self.unit)!r}, or keep another ledger with unit={str(unit)!r}"
            )
        raise LedgerError(f"{difference}: {remedy}")


_MEASURES: dict[Measure, str] = {
    PureDP: "pure losses (ε)",
    ApproxDP: "approximate losses (ε, δ)",
    ZCDP: "zero-concentrated losses (ρ)",
}
_NAMES = {measure: tuple(item.name for item in fields(measure)) for measure in (*_MEASURES, GDP)}
_TAKES: dict[Measure, str] = {
    PureDP: "leave delta (--delta) out, which gives Laplace or geometric noise, or keep a ledger "
    "that allows a delta (sfumato ledger create … --allow-delta) or a ρ",
    ApproxDP: "give the method a delta, or keep a ledger that allows ZCDP",
    ZCDP: "use a method that states a ρ or a pure ε, or keep a ledger that allows ApproxDP",
}


def _refuse_unfounded(guarantee: Guarantee) -> None:
    """Raise for a guarantee that is none."""
    if guarantee.caveat:
        raise LedgerError(
            f"there is no guarantee to book: {guarantee.caveat}. A ledger books real releases only"
        )
    if guarantee.basis is not Basis.PROVED:
        raise LedgerError(
            "this variant reproduces a published method whose proof of privacy does not hold, so "
            "it cannot be booked; use the proved variant, which is the default"
        )


def _figures(loss: Loss) -> tuple[Fraction, ...]:
    """Return the figures of a loss: (ε), (ε, δ) or (ρ)."""
    # As astuple does, without the copies: a long ledger asks for millions of them.
    return tuple([getattr(loss, name) for name in _NAMES[type(loss)]])


def _combine_losses(first: Loss, second: Loss, rule: Any) -> Loss:
    """Return the loss whose figures follow from those of two others of the same measure."""
    figures = map(rule, _figures(first), _figures(second))
    return type(first)(*figures)
