"""What is promised, to whom, and on what ground.

A guarantee names a loss, the unit it protects, what counts as a neighbour, how much of one unit
was let in, what was taken as public, and its basis. It never claims a composition it has not been
told of.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Any

from sfumato.noise.exact import briefly
from sfumato.privacy.escaping import escape
from sfumato.privacy.loss import GDP, ZCDP, ApproxDP, Joint, Loss, Measure, PureDP, loss_from_json
from sfumato.privacy.notebook import show_facts
from sfumato.privacy.rounding import exp_up, round_up

__all__ = [
    "ZCDP",
    "ApproxDP",
    "Basis",
    "Guarantee",
    "Loss",
    "Measure",
    "PureDP",
    "Relation",
    "Unit",
]


#: From this ε on, the odds may change beyond all measure.
NO_PROTECTION = 30


def _up(value: Fraction, digits: int) -> str:
    """Return a figure as text with a few digits, rounded up."""
    shown = round_up(value, digits)
    return format(Decimal(shown.numerator) / Decimal(shown.denominator), "g")


class Unit(StrEnum):
    """Whose contribution a guarantee hides."""

    ROW = "row"
    PERSON = "person"
    POINT = "point"
    TOKEN = "token"
    RATING = "rating"
    USER = "user"
    EDGE = "edge"
    SEQUENCE = "sequence"
    PARTICIPANT = "participant"
    REPORT = "report"

    @classmethod
    def parse(cls, value: str) -> Unit:
        """Return the unit of that name, or say which there are."""
        try:
            return cls(value)
        except ValueError:
            allowed = ", ".join(cls)
            raise ValueError(f"unit must be one of {allowed}; got {briefly(value)}") from None


class Relation(StrEnum):
    """Which two data sets are neighbours."""

    ADD_REMOVE = "add_remove"
    REPLACE_ONE = "replace_one"

    @classmethod
    def parse(cls, value: str) -> Relation:
        """Return the relation of that name, or say which there are."""
        try:
            return cls(value)
        except ValueError:
            allowed = ", ".join(cls)
            raise ValueError(f"relation must be one of {allowed}; got {briefly(value)}") from None

    @property
    def words(self) -> str:
        """The relation in words."""
        return "added or removed" if self is Relation.ADD_REMOVE else "replaced by any other"


class Basis(StrEnum):
    """The ground on which a guarantee stands."""

    PROVED = "proved"
    PUBLISHED = "published"


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """A privacy statement that can be checked.

    Parameters
    ----------
    loss
        The headline figure, for one whole unit.
    also
        Other statements that hold as well (for a Gaussian release: ρ beside (ε, δ)).
    unit, relation
        The protected unit, and the neighbouring relation.
    contribution
        The most records used per unit.
    public
        What was assumed to be public, in words.
    excludes
        What is not protected although it follows from private data, in words: something public was
        taken from them. Empty where the promise covers every neighbour.
    basis
        `proved`, or `published` where a paper's proof does not hold.
    proof
        The page of docs/proofs that proves it.
    ledger
        The ledger entry in which the release was composed with others; `None` means that it was
        not composed with anything.
    caveat
        Why there is no guarantee at all (a rehearsal, or bits from a test seed); empty otherwise.
    """

    loss: Loss
    unit: Unit
    relation: Relation
    basis: Basis
    also: tuple[Loss, ...] = ()
    contribution: int = 1
    public: tuple[str, ...] = ()
    excludes: str = ""
    proof: str | None = None
    ledger: str | None = None
    caveat: str = ""

    @property
    def losses(self) -> tuple[Loss, ...]:
        """Every statement that holds, the headline first."""
        return (self.loss, *self.also)

    @property
    def private(self) -> bool:
        """Whether this is a privacy guarantee that may be relied on."""
        return self.basis is Basis.PROVED and not self.caveat

    def __str__(self) -> str:
        if self.caveat:
            return escape(f"no guarantee: {self.caveat}")
        composed = (
            f"composed in {self.ledger}" if self.ledger else "not composed with other releases"
        )
        also = "".join(f" (also {loss})" for loss in self.also)
        but = f", except for {self.excludes}" if self.excludes else ""
        # What is not proved must not read like a guarantee, not even in its first words.
        claimed = "" if self.basis is Basis.PROVED else "claimed, not proved: "
        proved = ", proved" if self.basis is Basis.PROVED else ""
        return escape(
            f"{claimed}{self.loss}{also} for any one {self.unit} {self.relation.words}{but}"
            f"{proved}, {composed}"
        )

    def __repr__(self) -> str:
        return f"<Guarantee: {self}>"

    def _repr_html_(self) -> str:
        facts = [("guarantee", self), ("in words", self.words()), ("proof", self.proof or "none")]
        return show_facts("privacy guarantee", facts)

    def words(self, *, checked: bool = True) -> str:
        """Return the promise in plain words, for a report or an ethics board.

        Parameters
        ----------
        checked
            Whether the ledger is known to hold the release; a verifier may not have it.
        """
        if self.caveat:
            return escape(f"This is not a private release: {self.caveat}. Do not publish it.")
        if self.basis is Basis.PUBLISHED:
            return (
                "This release reproduces a published method whose proof of privacy does not hold. "
                "It carries no privacy guarantee and must not be treated as private."
            )
        lines = [f"{self._odds()}."]
        if self.excludes:
            lines.append(
                f"It does not cover {self.excludes}; the guarantee holds only between data in "
                "which this is the same."
            )
        if self.contribution > 1:
            lines.append(
                f"At most {self.contribution} records of one {self.unit} were used; further ones "
                "were left out by a rule that does not depend on values."
            )
        if self.public:
            lines.append("Taken as public knowledge: " + "; ".join(self.public) + ".")
        lines.append(self._account(checked))
        return escape(" ".join(lines))

    def _account(self, checked: bool) -> str:
        """Return whether the loss is composed with that of other releases, as far as is known."""
        if not self.ledger:
            return "It was not composed with other releases of the same data: losses add up."
        if checked:
            return (
                f"It is booked as {self.ledger} and composed with all other releases of that "
                "ledger."
            )
        return (
            f"It states that it is booked as {self.ledger}; that was not checked, since the ledger "
            "was not given. Losses of other releases of the same data add up."
        )

    def _odds(self) -> str:
        """Return what can be learnt from the release, as a change of odds or of probabilities."""
        # An edge has no data; it is there or it is not.
        who = "one edge" if self.unit is Unit.EDGE else f"one {self.unit}'s data"
        change = f"Adding or removing {who}"
        if self.relation is Relation.REPLACE_ONE:
            change = f"Replacing {who} by any other"
        loss = self.loss
        if isinstance(loss, ZCDP | GDP | Joint):
            # A reader of ρ alone is owed a figure in odds; 1e-9 is far below one in any population.
            loss = loss.approximate("1e-9")
        # An "at most" is rounded up, never to the nearest.
        figure = _up(loss.epsilon, 4)
        if loss.epsilon <= NO_PROTECTION:
            factor = f"{_up(exp_up(loss.epsilon), 3)} (ε = {figure})"
        else:
            factor = f"e^{figure}, which is no protection in practice"
        if isinstance(loss, ApproxDP) and loss.delta:
            # (ε, δ) bounds probabilities of events, not the odds given one outcome.
            return (
                f"{change} changes the probability of any conclusion drawn from this release by at "
                f"most a factor of {factor} and an additional {_up(loss.delta, 2)}"
            )
        return (
            f"{change} changes the odds of any conclusion drawn from this release by at most a "
            f"factor of {factor}"
        )

    def composed_in(self, ledger: str) -> Guarantee:
        """Return the same guarantee, composed in the named ledger entry."""
        return replace(self, ledger=ledger)

    def with_caveat(self, caveat: str) -> Guarantee:
        """Return a copy without a guarantee, with the reason."""
        return replace(self, caveat=caveat)

    def to_json(self) -> dict[str, Any]:
        """Return a plain document."""
        return {
            "loss": self.loss.to_json(),
            "also": [loss.to_json() for loss in self.also],
            "unit": str(self.unit),
            "relation": str(self.relation),
            "contribution": self.contribution,
            "public": list(self.public),
            "excludes": self.excludes,
            "basis": str(self.basis),
            "proof": self.proof,
            "ledger": self.ledger,
            "caveat": self.caveat,
            "statement": str(self),
        }

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Guarantee:
        """Return the guarantee that `to_json` wrote."""
        return cls(
            loss=loss_from_json(document["loss"]),
            also=tuple(loss_from_json(loss) for loss in document["also"]),
            unit=Unit.parse(document["unit"]),
            relation=Relation.parse(document["relation"]),
            contribution=int(document["contribution"]),
            public=tuple(document["public"]),
            excludes=document["excludes"],
            basis=Basis(document["basis"]),
            proof=document["proof"],
            ledger=document["ledger"],
            caveat=document["caveat"],
        )
