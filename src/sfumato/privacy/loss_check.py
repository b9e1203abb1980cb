"""The books of a release: what one record may cost, and whether every cost adds up to it.

Checking needs no data: the door does it before a release is handed out, and an auditor does it
again on a saved one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import (
    GDP,
    ZCDP,
    ApproxDP,
    Joint,
    Loss,
    Measure,
    Unpriced,
    convert,
    loss_from_json,
    zero,
)
from sfumato.privacy.primitive import price_of
from sfumato.privacy.transcript import Transcript

if TYPE_CHECKING:
    from sfumato.privacy.method import AnyMethod

Path = tuple[str, ...]


class BooksDoNotAdd(ValueError):
    """The costs written in a transcript exceed what was booked."""


def record_limit(loss: Loss, public: Any) -> tuple[Loss, Relation]:
    """Return the loss for one record, and its relation, that give `loss` for one unit.

    A unit of up to m records is a group of m: pure losses scale by m, zCDP by m². Replacing a unit
    of several records by another removes up to m records and adds up to m.
    """
    size = public.contribution
    if size > 1 and public.relation is Relation.REPLACE_ONE:
        return loss.per_unit(2 * size), Relation.ADD_REMOVE
    return loss.per_unit(size), public.relation


def check_headline(method: AnyMethod, public: Any) -> None:
    """Raise `BooksDoNotAdd` unless the loss the budget counts in implies the one stated.

    Parameters
    ----------
    method
        The method.
    public
        The public part of its data, on which the measure may depend.
    """
    headline, working = method.loss(), method.budget_loss(public)
    if isinstance(headline, ApproxDP) and isinstance(working, ZCDP | GDP | Joint):
        if not working.implies(headline):
            raise BooksDoNotAdd(f"{method.name} states {headline} but may spend {working}")
        return
    try:
        implied = convert(working, type(headline))
    except Unpriced as error:
        raise BooksDoNotAdd(f"{method.name} states {headline} but counts {working}") from error
    if not implied.fits(headline):  # type: ignore[arg-type]
        raise BooksDoNotAdd(f"{method.name} states {headline} but may spend {implied}")


def check_accounts(transcript: Transcript, working_loss: Loss, public: Any) -> None:
    """Raise `BooksDoNotAdd` unless all costs of a transcript add up to at most `working_loss`.

    Every cost is computed again from the primitive's public signature.

    Parameters
    ----------
    transcript
        What was said, and the slices that paid for it.
    working_loss
        The loss for one unit that was booked.
    public
        The public part, with the unit's contribution bound and relation.
    """
    limit, relation = record_limit(working_loss, public)
    books = _Books(limit, relation)
    for cut in transcript.slices:
        if cut.part:
            books.cut_part(cut.path, loss_from_json(cut.limit))
        else:
            books.cut(cut.path, loss_from_json(cut.limit))
    for entry in transcript:
        cost = loss_from_json(entry.cost)
        if price_of(entry.signature, books.measure_at(entry.path)) != cost:
            raise BooksDoNotAdd(f"{entry.label!r} was charged another price than its own")
        books.spend(entry.path, cost)


class _Books:
    """Slices, what each may spend, and what each has spent."""

    def __init__(self, limit: Loss, relation: Relation) -> None:
        self._limits: dict[Path, Loss] = {(): limit}
        self._relations: dict[Path, Relation] = {(): relation}
        self._spent: dict[Path, Loss] = {}
        self._parted: set[Path] = set()

    def _above(self, path: Path) -> Path:
        above = path[:-1]
        if not path or above not in self._limits or path in self._limits:
            raise BooksDoNotAdd(f"the slice {'/'.join(path)} was cut from nothing")
        return above

    def cut(self, path: Path, limit: Loss) -> None:
        """Write down a sequential slice."""
        above = self._above(path)
        joint = isinstance(self._limits[above], Joint) and isinstance(limit, ApproxDP | ZCDP)
        self.spend(above, Joint.of(limit) if joint else limit)
        self._limits[path], self._relations[path] = limit, self._relations[above]

    def cut_part(self, path: Path, limit: Loss) -> None:
        """Write down one of several parallel parts, which share the whole slice above them."""
        above = self._above(path)
        whole = self._limits[above]
        if above not in self._parted:
            # The first part takes the whole; whatever else was or will be paid there is too much.
            self.spend(above, whole)
            self._parted.add(above)
        replaced = self._relations[above] is Relation.REPLACE_ONE
        _within(limit, whole.per_unit(2) if replaced else whole, path)
        self._limits[path], self._relations[path] = limit, Relation.ADD_REMOVE

    def measure_at(self, path: Path) -> Measure:
        """Return the measure in which a slice counts."""
        if path not in self._limits:
            raise BooksDoNotAdd(f"something was paid from the slice {'/'.join(path)}, not cut")
        return type(self._limits[path])

    def spend(self, path: Path, cost: Loss) -> None:
        """Add a cost to what a slice has spent, or raise where it does not fit."""
        spent = self._spent.get(path, zero(self.measure_at(path)))
        left = self._limits[path] - spent  # type: ignore[operator]
        _within(cost, left, path)
        self._spent[path] = spent + cost  # type: ignore[operator]


def _within(cost: Loss, left: Loss, path: Path) -> None:
    if type(cost) is not type(left) or not cost.fits(left):  # type: ignore[arg-type]
        where = "/".join(path) or "the whole"
        raise BooksDoNotAdd(f"{where} spends {cost} where {left} is left")
