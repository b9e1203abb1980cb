"""Rehearsals: a full release on synthetic data of the same shape, at no privacy loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.noise.exact import briefly
from sfumato.privacy import door
from sfumato.privacy.arguments import choose_generator, find_public

if TYPE_CHECKING:
    from sfumato.privacy.method import AnyMethod

#: Records that a rehearsal generates where the number of records is not declared.
ROWS = 1000
#: The most records that it generates: as many as a large machine holds.
MOST_ROWS = 10**9


def rehearse(
    method: AnyMethod,
    public: Any,
    *,
    rows: int | None = None,
    seed: int | None = None,
    generator: np.random.Generator | None = None,
) -> Any:
    """Return a release of synthetic data with the same public part.

    Parameters
    ----------
    method
        The method that would be released.
    public
        The public part of the data, or the data, of which only the public part is used.
    rows
        The number of synthetic records; by default what the public part declares, else 1,000.
    seed
        A whole number, for synthetic data that can be made again; fresh otherwise.
    generator
        A NumPy generator in place of a seed.

    Notes
    -----
    Privacy: no private data are touched and nothing is booked; the release is marked as a
    rehearsal.
    """
    generator = choose_generator(seed, generator)
    public = find_public(public, kind=method.kind, verb="rehearse")
    if not hasattr(public, "make_synthetic"):
        raise TypeError(
            f"data of kind {public.kind!r} cannot be rehearsed: no synthetic data can be made"
        )
    declared = public.rows if public.rows is not None else public.rows_about
    count = rows if rows is not None else declared if declared is not None else ROWS
    if isinstance(count, bool) or not isinstance(count, int | np.integer):
        raise ValueError(f"rows must be a whole number; got {briefly(count)}")
    if not 0 <= count <= MOST_ROWS:
        raise ValueError(
            f"rows must be from 0 to {MOST_ROWS:,}, the most that a rehearsal generates in "
            f"memory; got {briefly(count)}; pass rows=… for a rehearsal with fewer records"
        )
    return door.rehearse(method, public, rows=int(count), generator=generator)
