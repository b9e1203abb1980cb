"""The hot loop of the distance to significance (docs/proofs/top-snps.md)."""

from __future__ import annotations

from typing import Any

from sfumato.compiling import compiled, uncounted

__all__ = ["association_distances"]


@compiled(uncounted)
def _reach(changes: int, far: int, middle: int) -> int:
    """Return by how many copies some people can move a count in one direction.

    Parameters
    ----------
    changes
        How many people change.
    far, middle
        How many people can move it by two copies, and by one.
    """
    two = min(changes, far)
    return 2 * two + min(changes - two, middle)


@compiled(uncounted)
def _is_significant(cases: int, controls: int, own: int, other: int, critical: Any) -> bool:
    """Tell whether cases have so many more copies, in proportion, that the test is significant."""
    significant: bool = controls * own - cases * other >= critical[own + other]
    return significant


@compiled(uncounted)
def _can_reach(changes: int, up: Any, down: Any, state: Any, critical: Any) -> bool:
    """Tell whether so many changes make a site significant in one direction.

    Parameters
    ----------
    changes
        How many participants change.
    up
        How many of the group that gains copies can gain two, and one.
    down
        How many of the other group can lose two, and one.
    state
        The sizes of the gaining and of the other group, and their copies.
    critical
        From which difference on a site is significant, by its copies in both groups.
    """
    gaining, losing, own, other = state
    two_up, one_up = up
    two_down, one_down = down
    # The best way to share the changes is where one of the two stops to gain as fast: the test is
    # convex along each straight piece between these.
    for number in range(6):
        if number == 0:
            first = 0
        elif number == 1:
            first = changes
        elif number == 2:
            first = two_up
        elif number == 3:
            first = two_up + one_up
        elif number == 4:
            first = changes - two_down
        else:
            first = changes - two_down - one_down
        first = max(0, min(changes, first))
        more = own + _reach(first, two_up, one_up)
        less = other - _reach(changes - first, two_down, one_down)
        if _is_significant(gaining, losing, more, less, critical):
            return True
    return False


@compiled(uncounted)
def _can_lose(changes: int, down: Any, up: Any, state: Any, critical: Any) -> bool:
    """Tell whether so many changes undo the significance of a site in one direction."""
    leading, trailing, own, other = state
    two_down, one_down = down
    two_up, one_up = up
    for first in range(changes + 1):
        less = own - _reach(first, two_down, one_down)
        more = other + _reach(changes - first, two_up, one_up)
        if not _is_significant(leading, trailing, less, more, critical):
            return True
    return False


@compiled(uncounted)
def _score(own: Any, other: Any, leading: int, trailing: int, critical: Any) -> int:
    """Return the score of one direction: the first group has relatively more copies."""
    state = (leading, trailing, own[1] + 2 * own[2], other[1] + 2 * other[2])
    most = leading + trailing
    if _is_significant(leading, trailing, state[2], state[3], critical):
        down, up = (own[2], own[1]), (other[0], other[1])
        low, high = 1, most
        while low < high:
            middle = (low + high) // 2
            if _can_lose(middle, down, up, state, critical):
                high = middle
            else:
                low = middle + 1
        return low - 1
    up, down = (own[0], own[1]), (other[2], other[1])
    if not _can_reach(most, up, down, state, critical):
        # No table of this size is significant: one step beyond the farthest.
        return -most - 1
    low, high = 1, most
    while low < high:
        middle = (low + high) // 2
        if _can_reach(middle, up, down, state, critical):
            high = middle
        else:
            low = middle + 1
    return -low


@compiled(lambda cases, controls, critical, scores: scores.size * 400)
def association_distances(cases: Any, controls: Any, critical: Any, scores: Any) -> None:
    """Set the score of every site: its distance to the border of significance.

    Parameters
    ----------
    cases, controls
        Participants with 0, 1 and 2 copies, of shape (sites, 3).
    critical
        From `critical_differences`.
    scores
        Is set: k − 1 where k changes undo significance, −k where k changes reach it.
    """
    for site in range(scores.size):
        many = cases[site, 0] + cases[site, 1] + cases[site, 2]
        others = controls[site, 0] + controls[site, 1] + controls[site, 2]
        more = _score(cases[site], controls[site], many, others, critical)
        less = _score(controls[site], cases[site], others, many, critical)
        scores[site] = max(more, less)
