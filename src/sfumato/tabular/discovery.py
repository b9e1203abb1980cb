"""Columns whose values nobody listed: the frequent ones are found first, and are public from then.

A part of (ε, δ) pays for private partition selection in each such column; the rest is the (ε, δ)
of the same method, which then goes its usual way over a table with the values found, and "other".
Which columns these are follows from the schema alone. This module may never let anything but the
output of the selection decide what the values are (docs/proofs/partition-selection.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import wraps
from typing import TYPE_CHECKING, Any

from sfumato.data.table import TablePublic
from sfumato.data.table_queries import DiscoverableValues, View, see_through
from sfumato.engines.coding import OTHER, Coding, Discover
from sfumato.engines.counts import Listed
from sfumato.mechanisms.partition_selection import FrequentValues
from sfumato.noise.exact import exact
from sfumato.privacy.guarantee import Unit
from sfumato.privacy.loss import ApproxDP, Joint, Loss
from sfumato.privacy.loss_check import record_limit
from sfumato.privacy.plan import Plan, PlanStep
from sfumato.privacy.program import Ask, Program
from sfumato.tabular.found_values import FoundValues

if TYPE_CHECKING:
    from sfumato.privacy.budget import Budget
    from sfumato.tabular.counting_method import TableMethod

__all__ = [
    "discover_in_check",
    "discover_in_plan",
    "discover_in_program",
    "joint_loss",
    "try_most_values",
]

#: The part of δ that pays for finding values; noise hangs on the logarithm of δ alone.
DELTA_SHARE = Fraction(1, 2)
#: How many found values a plan assumes, where enough rows are declared.
EXPECTED = 30


def find_open(method: TableMethod[Any], public: Any) -> tuple[int, ...]:
    """Return the columns that a method uses and whose values are still to be found."""
    numbers: tuple[int, ...] = getattr(public, "undiscovered", ())
    names = method.uses(public) if numbers else None
    return tuple(n for n in numbers if names is None or public.columns[n] in names)


def discovery_loss(method: TableMethod[Any]) -> ApproxDP:
    """Return what finding the values of all columns may cost one unit."""
    limit = method.loss()
    assert isinstance(limit, ApproxDP)
    return ApproxDP(limit.epsilon * exact(method.discover_share), limit.delta * DELTA_SHARE)


def rest_of(method: TableMethod[Any]) -> TableMethod[Any]:
    """Return the same method with what finding the values leaves of ε and δ."""
    limit = method.loss()
    assert isinstance(limit, ApproxDP)
    left = limit - discovery_loss(method)
    # A joint loss has no pure part.
    more = {"noise": "gaussian"} if hasattr(method, "noise") else {}
    return replace(method, epsilon=left.epsilon, delta=left.delta, **more)


def joint_loss(method: TableMethod[Any], public: Any) -> Loss:
    """Return the loss for one unit, in the measure in which the budget of these data counts."""
    # Without a delta the check refuses.
    if method.delta is None or not find_open(method, public):
        return method.counted_loss(public)
    return Joint.of(discovery_loss(method)) + Joint.of(rest_of(method).counted_loss(public))


def list_columns(public: TablePublic, values: Mapping[int, tuple[str, ...]]) -> TablePublic:
    """Return what is public once some columns have the values that were found in them."""
    columns = list(public.schema.columns)
    for number, found in values.items():
        coding = columns[number].coding
        assert isinstance(coding, Discover)
        columns[number] = replace(columns[number], coding=coding.list_values(found))
    schema, rules = replace(public.schema, columns=tuple(columns)), public.seen_rules
    if rules is not None:
        # No constraint is about such a column, but it has more codes now.
        rules = replace(rules, sizes=schema.sizes)
    return replace(public, schema=schema, seen_rules=rules)


def list_placeholders(public: TablePublic, numbers: Mapping[int, int]) -> TablePublic:
    """Return what will be public if so many values are found in each column."""
    names = {n: tuple(f"value {i + 1}" for i in range(many)) for n, many in numbers.items()}
    return list_columns(public, names)


def try_most_values(
    method: TableMethod[Any], public: TablePublic
) -> list[tuple[TableMethod[Any], TablePublic]]:
    """Return the rest of a method with the most and longest values that may be found.

    A trial on one record finds no values; both together are about as large as a release may become.
    """
    numbers = find_open(method, public)
    if not numbers:
        return []
    names = {
        number: tuple(str(place).ljust(coding.longest, "x") for place in range(coding.most))
        for number, coding in codings_of(public, numbers).items()
    }
    return [(rest_of(method).trial(), list_columns(public, names))]


def codings_of(public: TablePublic, numbers: Sequence[int]) -> dict[int, Discover]:
    """Return the codings of columns whose values are still to be found."""
    codings: dict[int, Coding] = {n: public.schema.columns[n].coding for n in numbers}
    return {n: coding for n, coding in codings.items() if isinstance(coding, Discover)}


def find_values(
    budget: Budget, public: TablePublic, numbers: Sequence[int]
) -> Program[dict[int, FoundValues]]:
    """Ask for the frequent values of open columns, and return them.

    Parameters
    ----------
    budget
        The slice that pays for all of them, of an approximate loss for one record.
    public
        What is public before.
    numbers
        The columns.
    """
    codings = codings_of(public, numbers)
    labels = [label_of(public.columns, public.columns[number]) for number in codings]
    slices = budget.split(labels)
    asks = []
    for (number, coding), label, part in zip(codings.items(), labels, slices, strict=True):
        limit = part.limit
        assert isinstance(limit, ApproxDP)
        selection = FrequentValues.within(limit, coding.longest, part.relation)
        asks.append(Ask(part, selection, DiscoverableValues(number), label))
    said = yield asks
    found = {}
    for (number, coding), ask, output in zip(codings.items(), asks, said, strict=True):
        assert isinstance(ask.primitive, FrequentValues)
        found[number] = FoundValues.of(public.columns[number], coding, ask.primitive, output)
    return found


def label_of(names: Sequence[str], column: str) -> str:
    """Return the label of a column's values; methods label tables by names of columns."""
    begin = "values"
    while any(name.startswith(begin) for name in names):
        begin = f"({begin})"
    return f"{begin} of {column}"


# What a method for tables does with such columns, before it goes its usual way. Each function here
# takes one of its functions and returns that function for all tables.

Check = Callable[[Any, TablePublic], None]
Planner = Callable[[Any, TablePublic], Plan]
Programmer = Callable[[Any, TablePublic, "Budget"], Program[Any]]


def discover_in_check(check: Check) -> Check:
    """Check a method against the most values that may be found, before anything is spent."""

    @wraps(check)
    def checked(self: TableMethod[Any], public: TablePublic) -> None:
        numbers = getattr(public, "undiscovered", ())
        if not numbers:
            return check(self, public)
        used = find_open(self, public)
        if used and self.delta is None:
            named = ", ".join(repr(public.columns[number]) for number in used)
            raise ValueError(
                f"{named}: finding the values of a column needs a delta, such as delta = 1e-9; "
                "give one, list the values in the schema, or remove the column from it"
            )
        selections = select_from(self, public, used) if used else {}
        assert len(selections) == len(used)
        most = {number: coding.most for number, coding in codings_of(public, numbers).items()}
        return check(rest_of(self) if used else self, list_placeholders(public, most))

    return checked


def discover_in_plan(plan: Planner) -> Planner:
    """Plan the discovery, and then the release of a table with some values found."""

    @wraps(plan)
    def planned(self: TableMethod[Any], public: TablePublic) -> Plan:
        numbers = getattr(public, "undiscovered", ())
        if not numbers:
            return plan(self, public)
        self.check(public)
        used = find_open(self, public)
        selections = select_from(self, public, used)
        expected = {
            number: expect_values(public, coding, selections.get(number))
            for number, coding in codings_of(public, numbers).items()
        }
        made = plan(rest_of(self) if used else self, list_placeholders(public, expected))
        if not used:
            return made
        each = discovery_loss(self).share(Fraction(1, len(used)))
        steps = [discovery_step(public, number, each, selections[number]) for number in used]
        many = ", ".join(f"{expected[number]} for {public.columns[number]}" for number in used)
        note = (
            f"The number of values found is not known in advance; the other lines assume {many}. "
            f"All other values count as {OTHER}."
        )
        return replace(
            made,
            guarantee=self.guarantee(public),
            steps=(*steps, *made.steps),
            notes=(note, *made.notes),
            # Its own note on room is already among the notes.
            sizes=(),
        )

    return planned


def discover_in_program(program: Programmer) -> Programmer:
    """Find the values of open columns first, and run a program on the table with these values."""

    @wraps(program)
    def whole(self: TableMethod[Any], public: TablePublic, budget: Budget) -> Program[Any]:
        used = find_open(self, public)
        if not used:
            return (yield from program(self, public, budget))
        limit, _ = record_limit(discovery_loss(self), public)
        found = yield from find_values(budget.take(limit, "discovery"), public, used)
        values = {number: known.values for number, known in found.items()}
        seen, rest = list_columns(public, values), rest_of(self)
        view = View(
            tuple((c, Listed(values[c]) if c in values else None) for c in range(len(public.sizes)))
        )
        part = budget.take(rest.record_budget(seen)[0], "table")
        release = yield from see_through(view, program(rest, seen, part))
        release.discovered = tuple(found.values())
        return release

    return whole


def select_from(
    method: TableMethod[Any], public: TablePublic, used: Sequence[int]
) -> dict[int, FrequentValues]:
    """Return the selection of each column that a method uses, as its program will make it."""
    if not used:
        return {}
    limit, relation = record_limit(discovery_loss(method), public)
    assert isinstance(limit, ApproxDP)
    each = limit.share(Fraction(1, len(used)))
    return {
        number: FrequentValues.within(each, coding.longest, relation)
        for number, coding in codings_of(public, used).items()
    }


def expect_values(public: TablePublic, coding: Discover, selection: FrequentValues | None) -> int:
    """Return how many found values a plan assumes."""
    about = public.rows if public.rows is not None else public.rows_about
    if selection is None or about is None:
        return min(EXPECTED, coding.most)
    return max(1, min(EXPECTED, coding.most, about // (selection.reach + 1)))


def discovery_step(
    public: TablePublic, number: int, loss: ApproxDP, selection: FrequentValues
) -> PlanStep:
    """Return the line about the values of one column."""
    seldom, often = (find_count(selection, Fraction(part, 20)) for part in (1, 19))
    held = "persons" if public.unit is Unit.PERSON and public.contribution == 1 else "rows"
    return PlanStep(
        what=f"the values of {public.columns[number]}",
        loss=loss,
        noise=f"partition selection, threshold {selection.reach:,} {held}",
        error=f"a value of fewer than about {seldom:,} {held} is unlikely to be found; one of "
        f"{often:,} is found 19 times in 20",
        figures={
            "threshold": float(selection.reach),
            "seldom": float(seldom),
            "often": float(often),
        },
    )


def find_count(selection: FrequentValues, chance: Fraction) -> int:
    """Return the smallest count of which a value is found with at least some probability."""
    low, high = 0, 2 * selection.reach + 1
    while high - low > 1:
        middle = (low + high) // 2
        enough = selection.keep_probability(middle) >= chance
        low, high = (low, middle) if enough else (middle, high)
    return high
