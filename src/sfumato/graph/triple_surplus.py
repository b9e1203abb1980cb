"""How many more triples of nodes a graph has than wanted, as a table that rewiring keeps.

Post-processing: nothing here may see a private value.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.graph.dk_series import Triples

__all__ = ["surplus"]

Integers = NDArray[np.int64]


def surplus(have: Triples, wanted: Triples, degrees: Integers) -> tuple[Integers, Integers]:
    """Return keys of kinds of triples, and how many more there are of each than wanted.

    Parameters
    ----------
    have, wanted
        The two counts.
    degrees
        The degrees that the graph has, rising; kinds with any other are left out.
    """
    from sfumato.graph.edge_set_kernels import counted

    keys, counts = [], []
    for triples, sign in ((have, 1), (wanted, -1)):
        for rows, numbers, base in (
            (triples.wedge_degrees, triples.wedges, 0),
            (triples.triangle_degrees, triples.triangles, len(degrees)),
        ):
            known = np.isin(rows, degrees).all(axis=1)
            kinds = np.searchsorted(degrees, rows[known])
            key = ((base + kinds[:, 0]) * len(degrees) + kinds[:, 1]) * len(degrees) + kinds[:, 2]
            keys.append(key.astype(np.int64))
            counts.append(sign * numbers[known])
    table: tuple[Integers, Integers] = counted(np.concatenate(keys), np.concatenate(counts))
    return table
