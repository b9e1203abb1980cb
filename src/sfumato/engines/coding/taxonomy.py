"""Taxonomies: how the values of a column are grouped, and the groups grouped again.

A taxonomy is a tree written as nested lists: a list is a group, anything else a value. It is
public and declared, never learnt from the data. A group of one is that one, and a value that
stands in no group stays alone, so branches may differ in depth.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Taxonomy", "check_taxonomy", "generalisations"]

Taxonomy = tuple[Any, ...]
"""Values and groups, each group a tuple of the same kind."""

DEEPEST = 64
"""The most groups that may be nested in each other."""


def check_taxonomy(taxonomy: Any, values: tuple[str, ...] | tuple[int, ...]) -> None:
    """Say what is wrong with the taxonomy of some values."""
    if not isinstance(taxonomy, tuple):
        raise ValueError(
            'a taxonomy must be a list of groups, such as [["a", "b"], ["c", "d"]], and groups '
            f"may hold groups; got {type(taxonomy).__name__}"
        )
    known, seen = set(values), set()
    for value in _leaves(taxonomy, 1):
        if type(value) not in (str, int) or value not in known:
            raise ValueError(
                f"the taxonomy holds {value!r}, which is not among the values; add it to values "
                "or remove it from the taxonomy"
            )
        if value in seen:
            raise ValueError(f"the taxonomy holds {value!r} twice; list it once")
        seen.add(value)
    if not generalisations(taxonomy, values):
        raise ValueError(
            "the taxonomy must group some of the values, and not only all of them: a list of "
            'groups such as [["a", "b"], ["c", "d"]]; leave it out if there is nothing to group'
        )


def _leaves(group: Taxonomy, depth: int) -> list[Any]:
    """Return the values of a group, also those of the groups in it."""
    if not group:
        raise ValueError("the taxonomy has an empty group; fill or remove it")
    if depth > DEEPEST:
        raise ValueError(f"the taxonomy is nested more than {DEEPEST} deep; use fewer levels")
    values: list[Any] = []
    for member in group:
        values += _leaves(member, depth + 1) if isinstance(member, tuple) else [member]
    return values


def generalisations(
    taxonomy: Taxonomy, values: tuple[str, ...] | tuple[int, ...]
) -> list[NDArray[np.intp]]:
    """Return the group of each value at level 1 and up, groups in the order of their values.

    At level i every value is joined with the others of the largest group around it that holds at
    most i levels of groups. All values together are not a level.
    """
    numbers = {value: number for number, value in enumerate(values)}
    named = set(_leaves(taxonomy, 1))
    whole = (*taxonomy, *(value for value in values if value not in named))
    nodes: list[tuple[int, list[int]]] = []
    highest, _ = _heights(whole, numbers, nodes)
    levels: list[NDArray[np.intp]] = []
    for level in range(1, highest):
        first = np.arange(len(values), dtype=np.intp)
        for height, members in sorted(nodes, key=lambda node: node[0]):
            if height <= level:
                first[members] = min(members)
        levels.append(np.unique(first, return_inverse=True)[1].astype(np.intp))
    return levels


def _heights(
    member: Any, numbers: dict[Any, int], nodes: list[tuple[int, list[int]]]
) -> tuple[int, list[int]]:
    """Note the height and the codes of every group below a member; return its own."""
    if not isinstance(member, tuple):
        return 0, [numbers[member]]
    below = [_heights(inner, numbers, nodes) for inner in member]
    if len(below) == 1:
        return below[0]
    node = (1 + max(height for height, _ in below), [code for _, codes in below for code in codes])
    nodes.append(node)
    return node
