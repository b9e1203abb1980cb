"""Random graphs with given degrees.

Post-processing: nothing here may see a private value.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.graph.degree_repair import is_graphical
from sfumato.graph.rewiring import ordered_pairs, rewire

__all__ = ["match_graph", "realise_graph"]

Integers = NDArray[np.int64]

#: How many exchanges are proposed for each edge of a graph that was built by rule.
MIXING = 20


def match_graph(degrees: ArrayLike, generator: np.random.Generator) -> Integers:
    """Return a random graph with exactly these degrees.

    Stubs are joined at random, and those that would be loops or second edges are spread over other
    edges. Where that fails, the graph of Havel and Hakimi is rewired at random instead.

    Parameters
    ----------
    degrees
        The degree of each node; a simple graph must be able to have them (see `degree_repair`).
    generator
        Where random numbers come from.

    Examples
    --------
    >>> match_graph([2, 2, 2, 3, 3], np.random.default_rng(1)).shape
    (6, 2)
    """
    from sfumato.graph.matching_kernels import match_stubs

    values = np.asarray(degrees, dtype=np.int64)
    if not is_graphical(values):
        raise ValueError("no simple graph has these degrees; repair them with graphical() first")
    starts = np.append(0, np.cumsum(values)).astype(np.int64)
    complete, left, right = match_stubs(starts, generator)
    if complete:
        return ordered_pairs(left, right)
    pairs = realise_graph(values)
    return rewire(pairs, len(values), generator, steps=MIXING * len(pairs))


def realise_graph(degrees: Integers) -> Integers:
    """Return one graph with these degrees, always the same, by the rule of Havel and Hakimi."""
    from sfumato.graph.matching_kernels import realise_degrees

    order = np.argsort(-degrees, kind="stable").astype(np.int64)
    return ordered_pairs(*realise_degrees(order, degrees))
