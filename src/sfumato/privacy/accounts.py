"""Checking the books of a transcript: every slice within its limit, every cost within its slice.

This needs no data: an auditor runs it on a saved release.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from sfumato.privacy.door import record_limit
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import Loss, loss_from_json, zero
from sfumato.privacy.transcript import Transcript


class BooksDoNotAdd(ValueError):
    """The costs written in a transcript exceed what was booked."""


def check_accounts(transcript: Transcript, working_loss: Loss, public: Any) -> None:
    """Raise `BooksDoNotAdd` unless all costs of a transcript add up to at most `working_loss`.

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
    limits: dict[tuple[str, ...], Loss] = {(): limit}
    relations: dict[tuple[str, ...], Relation] = {(): relation}
    spent: dict[tuple[str, ...], Loss] = defaultdict(lambda: zero(type(limit)))
    for cut in transcript.slices:
        above = cut.path[:-1]
        if above not in limits or cut.path in limits:
            raise BooksDoNotAdd(f"the slice {'/'.join(cut.path)} was cut from nothing")
        own = loss_from_json(cut.limit)
        if cut.part:
            # Parts share one price; under replace-one a record may leave one and enter another.
            shared = limits[above]
            share = shared if relations[above] is Relation.ADD_REMOVE else shared.per_unit(2)
            _within(own, share, cut.path)
            spent[above] = shared
            relations[cut.path] = Relation.ADD_REMOVE
        else:
            _spend(spent, limits, above, own)
            relations[cut.path] = relations[above]
        limits[cut.path] = own
    for entry in transcript:
        if entry.path not in limits:
            raise BooksDoNotAdd(f"{entry.label!r} was paid from no slice")
        _spend(spent, limits, entry.path, loss_from_json(entry.cost))


def _spend(
    spent: dict[tuple[str, ...], Loss],
    limits: dict[tuple[str, ...], Loss],
    path: tuple[str, ...],
    cost: Loss,
) -> None:
    """Add a cost to what a slice has spent, or raise where it does not fit."""
    left = limits[path] - spent[path]  # type: ignore[operator]
    _within(cost, left, path)
    spent[path] = spent[path] + cost  # type: ignore[operator]


def _within(spent: Loss, limit: Loss, path: tuple[str, ...]) -> None:
    if type(spent) is not type(limit) or not spent.fits(limit):  # type: ignore[arg-type]
        raise BooksDoNotAdd(f"{'/'.join(path) or 'the whole'} spends {spent} where {limit} is left")
