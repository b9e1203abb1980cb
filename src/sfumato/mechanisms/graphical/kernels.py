"""The inner loops of inference: belief propagation and mirror descent over flat arrays.

Every clique is a stretch of one flat array. A map says for each cell of a clique to which cell of
a separator, or of a measured table, it belongs. Nothing private comes here.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np

from sfumato.compiling import compiled, uncounted

__all__ = ["descend", "propagate"]


def _propagate_arrays(
    potential: Any,
    starts: Any,
    parents: Any,
    separator_starts: Any,
    child_map: Any,
    parent_map: Any,
    parent_map_starts: Any,
    belief: Any,
    upward: Any,
    downward: Any,
) -> bool:
    """Do as `propagate`, a clique at a time. `bincount` adds in the order of the cells."""
    bounds = list(pairwise(starts.tolist()))
    for first, last in bounds:
        scaled = potential[first:last] - potential[first:last].max()
        belief[first:last] = [math.exp(value) for value in scaled.tolist()]

    def relate(clique: int) -> tuple[Any, Any, Any, Any, int]:
        """Return a clique, its parent, their maps to the separator, and its cells."""
        (first, last), (above, end) = bounds[clique], bounds[parents[clique]]
        shift = parent_map_starts[clique]
        cells = separator_starts[clique + 1] - separator_starts[clique]
        return (
            belief[first:last], belief[above:end],
            child_map[first:last], parent_map[shift : shift + end - above], cells,
        )  # fmt: skip

    for clique in range(len(bounds) - 1, 0, -1):
        below, above, own, others, cells = relate(clique)
        message = np.bincount(own, below, cells)
        largest = message.max()
        if not largest > 1e-290:
            return False
        above *= (message / largest)[others]
    root = belief[slice(*bounds[0])]
    total = _add_up(root)
    if not total > 0.0:
        return False
    root /= total
    for clique in range(1, len(bounds)):
        below, above, own, others, cells = relate(clique)
        wanted, there = np.bincount(others, above, cells), np.bincount(own, below, cells)
        below *= np.divide(wanted, there, out=np.zeros(cells), where=there > 0)[own]
    return True


def _add_up(numbers: Any) -> Any:
    """Return the sum of some numbers, added in their order."""
    return np.add.accumulate(numbers)[-1]


@compiled(uncounted, interpreted=_propagate_arrays)
def propagate(
    potential: Any,
    starts: Any,
    parents: Any,
    separator_starts: Any,
    child_map: Any,
    parent_map: Any,
    parent_map_starts: Any,
    belief: Any,
    upward: Any,
    downward: Any,
) -> bool:
    """Turn log-potentials into the marginal probabilities of every clique.

    Hugin's two passes: messages to the root, then back (Lauritzen and Spiegelhalter, 1988).
    Every clique and message is scaled to its largest value, so nothing overflows; what underflows
    is a share below 1e-300 of its clique. Returns whether anything is left: potentials that
    contradict each other may leave nothing.
    """
    cliques = parents.size
    for clique in range(cliques):
        first, last = starts[clique], starts[clique + 1]
        largest = potential[first]
        for cell in range(first, last):
            largest = max(largest, potential[cell])
        for cell in range(first, last):
            belief[cell] = math.exp(potential[cell] - largest)
    for clique in range(cliques - 1, 0, -1):
        first, last = starts[clique], starts[clique + 1]
        low, high = separator_starts[clique], separator_starts[clique + 1]
        for place in range(low, high):
            upward[place] = 0.0
        for cell in range(first, last):
            upward[low + child_map[cell]] += belief[cell]
        largest = 0.0
        for place in range(low, high):
            largest = max(largest, upward[place])
        # A message of nothing, or of next to nothing, tells that potentials contradict each other.
        if not largest > 1e-290:
            return False
        for place in range(low, high):
            upward[place] /= largest
        above = parents[clique]
        shift = parent_map_starts[clique] - starts[above]
        for cell in range(starts[above], starts[above + 1]):
            belief[cell] *= upward[low + parent_map[shift + cell]]
    total = 0.0
    for cell in range(starts[0], starts[1]):
        total += belief[cell]
    if not total > 0.0:
        return False
    for cell in range(starts[0], starts[1]):
        belief[cell] /= total
    for clique in range(1, cliques):
        low, high = separator_starts[clique], separator_starts[clique + 1]
        for place in range(low, high):
            downward[place] = 0.0
        above = parents[clique]
        shift = parent_map_starts[clique] - starts[above]
        for cell in range(starts[above], starts[above + 1]):
            downward[low + parent_map[shift + cell]] += belief[cell]
        first, last = starts[clique], starts[clique + 1]
        # The clique's own sum over each separator cell, for an exact division.
        for place in range(low, high):
            upward[place] = 0.0
        for cell in range(first, last):
            upward[low + child_map[cell]] += belief[cell]
        for place in range(low, high):
            upward[place] = downward[place] / upward[place] if upward[place] > 0 else 0.0
        for cell in range(first, last):
            belief[cell] *= upward[low + child_map[cell]]
    return True


def _loss_and_slope_arrays(
    belief: Any,
    starts: Any,
    holders: Any,
    table_starts: Any,
    table_map: Any,
    table_map_starts: Any,
    targets: Any,
    weights: Any,
    answers: Any,
    slope: Any,
) -> float:
    """Do as `loss_and_slope`, a table at a time."""
    slope[:] = 0.0
    loss = [np.zeros(1)]
    for table, holder in enumerate(holders):
        low, high = table_starts[table], table_starts[table + 1]
        first, last = starts[holder], starts[holder + 1]
        shift, weight = table_map_starts[table], weights[table]
        places = table_map[shift : shift + last - first]
        apart = np.bincount(places, belief[first:last], high - low) - targets[low:high]
        loss.append(0.5 * weight * apart * apart)
        slope[first:last] += (weight * apart)[places]
    return float(_add_up(np.concatenate(loss)))


@compiled(uncounted, interpreted=_loss_and_slope_arrays)
def loss_and_slope(
    belief: Any,
    starts: Any,
    holders: Any,
    table_starts: Any,
    table_map: Any,
    table_map_starts: Any,
    targets: Any,
    weights: Any,
    answers: Any,
    slope: Any,
) -> float:
    """Return ½ Σ weight·(answer − target)², and its slope for each cell of each clique."""
    for cell in range(slope.size):
        slope[cell] = 0.0
    loss = 0.0
    for table in range(holders.size):
        low, high = table_starts[table], table_starts[table + 1]
        for place in range(low, high):
            answers[place] = 0.0
        first, last = starts[holders[table]], starts[holders[table] + 1]
        shift = table_map_starts[table] - first
        for cell in range(first, last):
            answers[low + table_map[shift + cell]] += belief[cell]
        weight = weights[table]
        for place in range(low, high):
            apart = answers[place] - targets[place]
            loss += 0.5 * weight * apart * apart
            answers[place] = weight * apart
        for cell in range(first, last):
            slope[cell] += answers[low + table_map[shift + cell]]
    return loss


def _count_steps(potential: Any, *arguments: Any) -> Any:
    """Return about how many steps `descend` takes, if it takes all its iterations."""
    table_map, iterations = arguments[8], arguments[-3]
    starts, holders = arguments[0], arguments[6]
    calls = 25 * starts.size + 12 * holders.size
    return int(iterations) * (calls + (16 * potential.size + table_map.size) // 64)


@compiled(_count_steps, repeatable=True)
def descend(
    potential: Any,
    starts: Any,
    parents: Any,
    separator_starts: Any,
    child_map: Any,
    parent_map: Any,
    parent_map_starts: Any,
    holders: Any,
    table_starts: Any,
    table_map: Any,
    table_map_starts: Any,
    targets: Any,
    weights: Any,
    iterations: int,
    tolerance: float,
    step: float,
) -> tuple[Any, int, float]:
    """Lower the loss by mirror descent with a line search, in place (McKenna and others, 2019).

    Returns the marginal probabilities, the number of iterations taken and the last step. The number
    is −1 if there is no distribution to start from.
    """
    cells = potential.size
    belief, trial_belief = np.empty(cells), np.empty(cells)
    trial, slope, trial_slope = np.empty(cells), np.empty(cells), np.empty(cells)
    upward, downward = np.empty(separator_starts[-1]), np.empty(separator_starts[-1])
    answers = np.empty(targets.size)
    possible = propagate(
        potential, starts, parents, separator_starts, child_map, parent_map, parent_map_starts,
        belief, upward, downward,
    )  # fmt: skip
    if not possible:
        return belief, -1, step
    loss = loss_and_slope(
        belief, starts, holders, table_starts, table_map, table_map_starts, targets, weights,
        answers, slope,
    )  # fmt: skip
    # Nesterov's momentum on the potentials, begun anew whenever the loss rises (O'Donoghue and
    # Candès, 2015).
    taken, slow, momentum = 0, 0, 1.0
    ahead = potential.copy()
    kept = potential.copy()
    while taken < iterations and slow < 5:
        taken += 1
        trial[:] = ahead - step * slope
        larger = 0.5 + math.sqrt(0.25 + momentum * momentum)
        push = (momentum - 1.0) / larger
        ahead[:] = trial + push * (trial - potential)
        possible = propagate(
            ahead, starts, parents, separator_starts, child_map, parent_map, parent_map_starts,
            trial_belief, upward, downward,
        )  # fmt: skip
        trial_loss = loss_and_slope(
            trial_belief, starts, holders, table_starts, table_map, table_map_starts, targets,
            weights, answers, trial_slope,
        )  # fmt: skip
        if possible and trial_loss <= loss:
            slow = slow + 1 if loss - trial_loss <= tolerance * loss else 0
            potential[:] = trial
            kept[:] = ahead
            belief, trial_belief = trial_belief, belief
            slope, trial_slope = trial_slope, slope
            loss, momentum = trial_loss, larger
            step *= 1.05
        elif momentum > 1.0:
            momentum = 1.0
            ahead[:] = kept
            potential[:] = kept
        else:
            step *= 0.5
            ahead[:] = kept
            potential[:] = kept
            if step < 1e-12:
                break
    potential[:] = kept
    return belief, taken, step
