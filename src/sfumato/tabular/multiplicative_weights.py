"""A table of weights that learns noisy marginals one after another.

Multiplicative weights (Hardt and Rothblum, 2010): a cell's weight is multiplied by the exponential
of how much more the measured marginal has in its place than the weights have. Public repair: it may
be given what a primitive said, never a private count.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

import numpy as np
from numpy.typing import NDArray

from sfumato.tabular.simple_models import DenseModel, Floats, spread, sum_to

__all__ = ["Learned", "Weights"]

#: Step of an update: the factor of a cell is exp(step · (measured − held)), both as shares. Up to 2
#: the squared distance to one marginal never grows (relative smoothness 1 with the entropy).
STEP = 2.0
#: Everything measured so far is gone through this often in a round, and twice in a large table.
PASSES, FEWEST_PASSES = 10, 2
#: From so many cells on there are fewer passes.
LARGE = 2**18


@dataclass(frozen=True)
class Learned:
    """A measured marginal: its columns, and its shares of the total, which noise may make negative.

    Parameters
    ----------
    columns
        Its columns, increasing.
    shares
        The noisy counts over the noisy total, flat.
    """

    columns: tuple[int, ...]
    shares: Floats


@dataclass
class Weights:
    """Probabilities of all cells, uniform at first.

    Parameters
    ----------
    sizes
        The domain size of each column.
    """

    sizes: tuple[int, ...]
    cells: Floats = field(init=False)
    learned: list[Learned] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        number = prod(self.sizes)
        self.cells = np.full(number, 1.0 / number)

    def model(self) -> DenseModel:
        """Return the weights as they are now."""
        return DenseModel(self.sizes, self.cells)

    def learn(self, columns: tuple[int, ...], shares: NDArray[np.float64]) -> None:
        """Take in one more measured marginal, and go through all of them again."""
        self.learned.append(Learned(columns, np.asarray(shares, dtype=np.float64).reshape(-1)))
        passes = min(PASSES, max(FEWEST_PASSES, PASSES * LARGE // self.cells.size))
        for _ in range(passes):
            for known in self.learned:
                self._update(known)

    def _update(self, known: Learned) -> None:
        """Multiply every cell by the factor of its place in a marginal; they sum to 1 again."""
        keep = [column in known.columns for column in range(len(self.sizes))]
        held = sum_to(self.cells, self.sizes, keep)
        # Shares of a tiny noisy total can be absurd; a factor of e^±30 has said all there is.
        factors = np.exp(np.clip(STEP * (known.shares - held), -30.0, 30.0))
        factors /= held @ factors
        spread_out, shape = spread(factors, self.sizes, keep)
        cube = self.cells.reshape(shape)
        cube *= spread_out
