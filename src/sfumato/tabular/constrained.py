"""Constraints in synthetic tables: rows that satisfy them, and columns that follow from others.

Everything here is a function of what is public and of released figures. A model knows as many
constraints as fit into it; whatever it draws is checked, and rows that violate a constraint are
drawn again or repaired, so that no release depends on a model to keep one. A column that follows
from another is not measured: it is left out before a method begins and filled in at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, wraps
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato import noise
from sfumato.data.allowed import Followers, Rules
from sfumato.data.table import TablePublic
from sfumato.data.table_queries import View, see_through
from sfumato.mechanisms.graphical.elimination import TooLarge
from sfumato.mechanisms.graphical.fitting import Zeros
from sfumato.mechanisms.graphical.junction import junction_tree
from sfumato.privacy.plan import Plan
from sfumato.privacy.program import Program
from sfumato.tabular.model import Model, Network, Part
from sfumato.tabular.simple_models import spread

if TYPE_CHECKING:
    from sfumato.privacy.budget import Budget
    from sfumato.tabular.counting_method import TableMethod
    from sfumato.tabular.synthetic import SyntheticTable

__all__ = [
    "FilledModel",
    "LegalModel",
    "draw_legal",
    "fill_in_check",
    "fill_in_plan",
    "fill_in_program",
    "leave_out",
    "legal_cells",
    "structural_zeros",
]

Floats = NDArray[np.float64]

#: Rows that violate a constraint are drawn again so often before they are repaired.
REDRAWS = 20
#: The most cells of one structural zero's table, and of all cliques that they make.
MOST_ZERO_CELLS, MOST_CLIQUE_CELLS = 2**14, 2**16
#: The most cells of a table that is conditioned on all constraints.
MOST_CELLS = 2**22
#: Rows of the sample that answers where that is not enough.
SAMPLE = 2**18


def structural_zeros(rules: Rules) -> list[Zeros]:
    """Return the constraints that fit into a graphical model, small ones first.

    Parameters
    ----------
    rules
        The constraints, over the codes or bins of the model.
    """
    zeros: list[Zeros] = []
    for part in sorted(rules.parts, key=lambda part: (part.cells, part.columns)):
        if part.cells > MOST_ZERO_CELLS or (mask := part.mask()).all():
            continue
        joined = [*(columns for columns, _ in zeros), part.columns]
        if junction_tree(rules.sizes, joined).cells <= MOST_CLIQUE_CELLS + sum(rules.sizes):
            zeros.append((part.columns, mask))
    return zeros


def legal_cells(rules: Rules) -> NDArray[np.bool_]:
    """Return which combinations of the codes of all columns are allowed, flat."""
    held = rules.columns
    keep = [column in held for column in range(len(rules.sizes))]
    whole, shape = spread(rules.joint(held).astype(np.float64).ravel(), rules.sizes, keep)
    return np.asarray(np.broadcast_to(whole, shape) > 0).ravel()


def draw_legal(
    draw: Callable[[int, np.random.Generator], NDArray[np.int64]],
    rules: Rules,
    rows: int,
    generator: np.random.Generator,
) -> NDArray[np.int64]:
    """Return the codes of rows that satisfy all constraints, shape (rows, columns).

    Parameters
    ----------
    draw
        Draws so many rows that may violate them.
    rules
        The constraints.
    rows
        How many rows.
    generator
        The caller's generator.

    Notes
    -----
    Rows that violate one are drawn again. One that still does after `REDRAWS` draws keeps its other
    columns, and takes those of the constraints from a row that satisfies them.
    """
    codes = np.array(draw(rows, generator), dtype=np.int64)
    wrong = np.flatnonzero(~rules.allows(codes.T))
    for _ in range(REDRAWS):
        if not wrong.size:
            return codes
        codes[wrong] = draw(wrong.size, generator)
        wrong = wrong[~rules.allows(codes[wrong].T)]
    if wrong.size:
        right = np.setdiff1d(np.arange(rows), wrong)
        held = np.array(rules.columns)
        if right.size:
            taken = codes[right[generator.integers(0, right.size, wrong.size)]][:, held]
        else:
            assert rules.example is not None
            taken = np.broadcast_to(rules.example[held], (wrong.size, held.size))
        codes[np.ix_(wrong, held)] = taken
    return codes


@dataclass(frozen=True, eq=False)
class LegalModel:
    """A model given that all constraints are satisfied.

    Parameters
    ----------
    inside
        A model that may not know them all.
    rules
        The constraints.
    """

    inside: Model
    rules: Rules

    @property
    def sizes(self) -> tuple[int, ...]:
        """The domain size of each column."""
        return self.inside.sizes

    @property
    def network(self) -> Network:
        """Which columns the model joins."""
        return self.inside.network

    def draw(self, rows: int, generator: np.random.Generator) -> NDArray[np.int64]:
        """Return the codes of some rows, shape (rows, columns)."""
        return draw_legal(self.inside.draw, self.rules, rows, generator)

    @cached_property
    def _knows_all(self) -> bool:
        """Whether the model inside gives no weight to what is forbidden."""
        if any(part.cells > MOST_CELLS for part in self.rules.parts):
            return False
        if self.rules.orders is not None and len(self.rules.orders.edges) > 1:
            # Pairs of columns may be in order where all of them together cannot.
            return False
        try:
            return not any(
                self.inside.marginal(part.columns)[~part.mask()].any() for part in self.rules.parts
            )
        except TooLarge:
            return False

    def marginal(self, columns: tuple[int, ...]) -> Floats:
        """Return the probabilities of all combinations of some columns, axes in the order given.

        They are those of the model inside given that all constraints hold; where that needs too
        large a table, those of a large sample that is always the same.
        """
        if self._knows_all:
            return self.inside.marginal(columns)
        more = tuple(column for column in self.rules.columns if column not in columns)
        wanted = (*columns, *more)
        if prod(self.sizes[column] for column in wanted) <= MOST_CELLS:
            try:
                table = self.inside.marginal(wanted) * self.rules.joint(wanted)
            except TooLarge:
                return self._sample_marginal(columns)
            table = table.sum(axis=tuple(range(len(columns), len(wanted))))
            if table.sum() > 0:
                return np.asarray(table / table.sum())
        return self._sample_marginal(columns)

    def _sample_marginal(self, columns: tuple[int, ...]) -> Floats:
        shape = tuple(self.sizes[column] for column in columns)
        cells = np.ravel_multi_index([self._sample[:, column] for column in columns], shape)
        counts = np.bincount(np.asarray(cells), minlength=prod(shape))
        return np.asarray(counts.reshape(shape) / SAMPLE)

    @cached_property
    def _sample(self) -> NDArray[np.int64]:
        """The codes of many rows, always the same."""
        return self.draw(SAMPLE, noise.generator(SAMPLE))


# Columns that follow from others.


@dataclass(frozen=True, eq=False)
class FilledModel:
    """A model of all columns, made of one of those from which the others follow.

    Parameters
    ----------
    inside
        The model of the columns that were not left out.
    followers
        Which columns follow from which.
    """

    inside: Model
    followers: Followers

    @property
    def sizes(self) -> tuple[int, ...]:
        """The domain size of each column."""
        known = dict(zip(self.followers.kept, self.inside.sizes, strict=True))
        known |= {c: self.followers.sizes[c] for c in self.followers.sources}
        return tuple(known[column] for column in range(len(known)))

    @property
    def network(self) -> Network:
        """Which columns the model joins: each that was left out with the one it follows from."""
        inside, kept = self.inside.network, self.followers.kept
        parts = [replace(p, columns=tuple(kept[c] for c in p.columns)) for p in inside.parts]
        parts += [Part((c, source), (0, 0)) for c, (source, _) in self.followers.sources.items()]
        return Network(inside.directed, tuple(parts))

    def draw(self, rows: int, generator: np.random.Generator) -> NDArray[np.int64]:
        """Return the codes of some rows, shape (rows, columns)."""
        codes = np.empty((rows, len(self.sizes)), dtype=np.int64)
        codes[:, self.followers.kept] = self.inside.draw(rows, generator)
        for column, (source, follows) in self.followers.sources.items():
            codes[:, column] = follows[codes[:, source]]
        return codes

    def marginal(self, columns: tuple[int, ...]) -> Floats:
        """Return the probabilities of all combinations of some columns, axes in the order given."""
        sources, kept = self.followers.sources, self.followers.kept
        known = tuple(dict.fromkeys(sources[c][0] if c in sources else c for c in columns))
        table = self.inside.marginal(tuple(kept.index(column) for column in known))
        if known == columns:
            return table
        axes = dict(zip(known, np.ix_(*map(np.arange, table.shape)), strict=True))
        shape = tuple(self.sizes[column] for column in columns)
        places = [sources[c][1][axes[sources[c][0]]] if c in sources else axes[c] for c in columns]
        cells = np.ravel_multi_index(np.broadcast_arrays(*places), shape)
        sums = np.bincount(np.ravel(cells), table.ravel(), prod(shape))
        return np.asarray(sums, dtype=np.float64).reshape(shape)


def _texts_in(value: Any) -> Iterator[str]:
    """Yield the texts within a parameter."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts_in(item)


def leave_out(
    method: TableMethod[Any], public: TablePublic
) -> tuple[TablePublic, Followers | None]:
    """Return the public part without columns that follow from others, and which these are.

    A column that a parameter of the method names is measured all the same, and so is one that
    follows from a column of which bins are counted: its own counts tell it better.

    Parameters
    ----------
    method
        The method.
    public
        What is public about the table.
    """
    rules = getattr(public, "rules", None)
    if not method.fills_in or not rules or not rules.followers:
        return public, None
    named = {text for item in fields(method) for text in _texts_in(getattr(method, item.name))}
    stay = [number for number, name in enumerate(public.columns) if name in named]
    binned = method.columns_to_bin(public) if hasattr(method, "columns_to_bin") else ()
    stay += [column for column, (source, _) in rules.followers.items() if source in binned]
    found = rules.without_followers(stay)
    if found is None:
        return public, None
    left, followers = found
    schema = public.schema.without(tuple(followers.sources))
    return replace(public, schema=schema, seen_rules=left), followers


def fill_in_check(check: Callable[[Any, TablePublic], None]) -> Callable[[Any, TablePublic], None]:
    """Check a method against the columns that it measures."""

    @wraps(check)
    def checked(self: TableMethod[Any], public: TablePublic) -> None:
        return check(self, leave_out(self, public)[0])

    return checked


def fill_in_plan(plan: Callable[[Any, TablePublic], Plan]) -> Callable[[Any, TablePublic], Plan]:
    """Plan for the columns that are measured, and say which constraints are kept."""

    @wraps(plan)
    def planned(self: TableMethod[Any], public: TablePublic) -> Plan:
        seen, followers = leave_out(self, public)
        made = plan(self, seen)
        if followers is not None:
            made = replace(made, guarantee=self.guarantee(public))
        if not public.rules or public.seen_rules is not None:
            return made
        listed = "; ".join(constraint.words() for constraint in public.schema.constraints)
        note = f"The release satisfies the declared constraints, at no privacy loss: {listed}."
        return replace(made, notes=(*made.notes, note, *_say_followers(public, followers)))

    return planned


def fill_in_program(
    program: Callable[[Any, TablePublic, Budget], Program[Any]],
) -> Callable[[Any, TablePublic, Budget], Program[Any]]:
    """Run a program on the columns that are measured, and fill in the others."""

    @wraps(program)
    def whole(self: TableMethod[Any], public: TablePublic, budget: Budget) -> Program[Any]:
        seen, followers = leave_out(self, public)
        if followers is None:
            return (yield from program(self, public, budget))
        view = View(tuple((column, None) for column in followers.kept))
        release = yield from see_through(view, program(self, seen, budget))
        return _fill_in(release, public, followers)

    return whole


def _fill_in(release: SyntheticTable, public: TablePublic, followers: Followers) -> SyntheticTable:
    """Return a release with the columns that follow from others."""
    from sfumato.tabular.synthetic import SyntheticTable

    # The values of open columns are found by now.
    known = {column.name: column for column in release.public.schema.columns}
    columns = tuple(known.get(column.name, column) for column in public.schema.columns)
    public = replace(public, schema=replace(public.schema, columns=columns))
    tables = [
        replace(table, columns=tuple(followers.kept[column] for column in table.columns))
        for table in release.tables
    ]
    notes = (*release.notes, *_say_followers(public, followers))
    filled = SyntheticTable(
        public, FilledModel(release.model, followers), release.total, tables, notes
    )
    filled.discovered = release.discovered
    return filled


def _say_followers(public: TablePublic, followers: Followers | None) -> tuple[str, ...]:
    """Say which columns are not measured."""
    if followers is None:
        return ()
    names = public.columns
    sources: Mapping[int, Any] = followers.sources
    pairs: Sequence[str] = [f"{names[c]} from {names[sources[c][0]]}" for c in sources]
    return (
        f"Columns that follow from another are not measured but filled in: {', '.join(pairs)}.",
    )
