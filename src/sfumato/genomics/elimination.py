"""Exact inference over binary variables: messages along a tree of eliminated variables.

All tables hold logarithms and have people as their first axis, so nothing underflows however many
sites are multiplied. The cost is exponential in the largest table that elimination makes, which
`calibrate` bounds before it computes anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

__all__ = ["Factor", "calibrate"]

Floats = NDArray[np.float64]
#: Variables of the largest table that is made.
WIDEST = 20
#: Numbers of a table that are held at once; more people are handled in parts.
MOST_NUMBERS = 2**22


@dataclass(frozen=True)
class Factor:
    """A table over some variables.

    Parameters
    ----------
    scope
        The variables, in increasing order.
    logs
        Logarithms: people, then one axis of length 2 for each variable.
    """

    scope: tuple[int, ...]
    logs: Floats

    def spread(self, scope: Sequence[int]) -> Floats:
        """Return the table with axes for all variables of a larger scope."""
        shape = [2 if variable in self.scope else 1 for variable in scope]
        return self.logs.reshape(len(self.logs), *shape)

    def keep(self, kept: Iterable[int]) -> Factor:
        """Return the table summed over all variables but some."""
        wanted = set(kept)
        logs = self.logs
        for place in reversed(range(len(self.scope))):
            if self.scope[place] not in wanted:
                logs = np.logaddexp.reduce(logs, axis=place + 1)
        return Factor(tuple(variable for variable in self.scope if variable in wanted), logs)


def multiply(factors: Sequence[Factor]) -> Factor:
    """Return the product of tables: the sum of their logarithms."""
    scope = tuple(sorted({variable for factor in factors for variable in factor.scope}))
    total = factors[0].spread(scope)
    for factor in factors[1:]:
        total = total + factor.spread(scope)
    full = np.broadcast_to(total, (len(total), *(2,) * len(scope)))
    return Factor(scope, full)


@dataclass
class _Bucket:
    """What is multiplied when a variable is eliminated."""

    variable: int
    own: list[Factor]
    children: list[int] = field(default_factory=list)
    up: Factor | None = None
    down: list[Factor] = field(default_factory=list)

    def message(self) -> Factor:
        """Return what the bucket sends on; it is made before anybody asks for it."""
        assert self.up is not None
        return self.up


def calibrate(single: Floats, shared: Sequence[Factor]) -> tuple[Floats, Floats]:
    """Return the log of the total weight and the posterior of each variable, for each person.

    Parameters
    ----------
    single
        The log weight of each variable by itself: people, variables, two values.
    shared
        Tables over several variables.
    """
    people, many = single.shape[:2]
    order, scopes = elimination_order(many, [factor.scope for factor in shared])
    widest = max((len(scope) for scope in scopes.values()), default=1)
    if widest > WIDEST:
        raise ValueError(
            f"exact inference needs a table over {widest} traits at once; at most {WIDEST} are "
            'possible: leave some traits out, or choose cpt="lemma7", which decouples the traits'
        )
    block = max(1, MOST_NUMBERS >> widest)
    evidence, posterior = np.empty(people), np.empty((people, many))
    for first in range(0, people, block):
        part = slice(first, first + block)
        factors = [Factor(factor.scope, factor.logs[part]) for factor in shared]
        evidence[part], posterior[part] = _calibrate(single[part], factors, order, scopes)
    return evidence, posterior


def elimination_order(
    many: int, scopes: Iterable[tuple[int, ...]]
) -> tuple[list[int], dict[int, tuple[int, ...]]]:
    """Return an order of elimination that keeps tables small, and the scope of each table.

    The variable with the fewest neighbours goes first; its neighbours become neighbours of one
    another.
    """
    neighbours: list[set[int]] = [set() for _ in range(many)]
    for scope in scopes:
        for variable in scope:
            neighbours[variable] |= set(scope) - {variable}
    left, order = set(range(many)), []
    tables: dict[int, tuple[int, ...]] = {}
    while left:
        first = min(left, key=lambda variable: (len(neighbours[variable]), variable))
        around = neighbours[first]
        tables[first] = tuple(sorted({first, *around}))
        for other in around:
            neighbours[other] |= around
            neighbours[other] -= {first, other}
        left.remove(first)
        order.append(first)
    return order, tables


def _calibrate(
    single: Floats,
    shared: Sequence[Factor],
    order: Sequence[int],
    scopes: dict[int, tuple[int, ...]],
) -> tuple[Floats, Floats]:
    """Send messages to the last variables and back."""
    rank = {variable: place for place, variable in enumerate(order)}
    buckets = {
        variable: _Bucket(variable, [Factor((variable,), single[:, variable])])
        for variable in order
    }
    for factor in shared:
        buckets[min(factor.scope, key=rank.__getitem__)].own.append(factor)
    evidence = np.zeros(len(single))
    for variable in order:
        bucket = buckets[variable]
        rest = [other for other in scopes[variable] if other != variable]
        bucket.up = multiply(
            [*bucket.own, *(buckets[child].message() for child in bucket.children)]
        ).keep(rest)
        if rest:
            buckets[min(rest, key=rank.__getitem__)].children.append(variable)
        else:
            evidence = evidence + bucket.up.logs
    posterior = np.empty(single.shape[:2])
    for variable in reversed(order):
        bucket = buckets[variable]
        messages = [(child, buckets[child].message()) for child in bucket.children]
        around = [*bucket.own, *bucket.down]
        belief = multiply([*around, *(message for _, message in messages)])
        logs = belief.keep((variable,)).logs
        with np.errstate(invalid="ignore"):
            posterior[:, variable] = np.exp(logs[:, 1] - np.logaddexp(logs[:, 0], logs[:, 1]))
        for child, _ in messages:
            others = [message for name, message in messages if name != child]
            wanted = [other for other in scopes[child] if other != child]
            buckets[child].down = [multiply([*around, *others]).keep(wanted)]
    return evidence, posterior
