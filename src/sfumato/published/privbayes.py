"""PrivBayes under add/remove: the number of rows told as it is.

Zhang, Cormode, Procopiuc, Srivastava and Xiao, "PrivBayes: Private Data Release via Bayesian
Networks", 2014 (Zhang's thesis of 2016, chapter 3).

Printed: PrivBayes is ε-DP (Theorem 3.1), neighbours being data sets of which one has a tuple more
(Definition 2.1). Its proof replaces a tuple and keeps the number of rows.

It fails because the number of rows sets the noise, the size of the network and the size of the
output. No row against one: the loss is infinite at ε = 1 (docs/refuted.md: privbayes). With a
public number of rows, under replace-one, the published variant holds and is booked as proved; under
add/remove `PrivBayes` measures the number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.laplace import check_integers
from sfumato.privacy.loss import Loss, Measure, zero
from sfumato.privacy.primitive import Change, Primitive, require_array

__all__ = ["DisclosedCount"]


@dataclass(frozen=True, kw_only=True)
class DisclosedCount(Primitive):
    """Tell a number as it is.

    Notes
    -----
    Privacy: none under add/remove. Its price is what the papers say, nothing; its declared
    change is 0, which an audit refutes on any two data sets of different sizes.
    """

    kind: ClassVar[str] = "disclosed count"

    def cost(self, measure: Measure) -> Loss:
        """Return nothing, as is claimed."""
        return zero(measure)

    def check(self, value: Any) -> None:
        """Raise unless the input is one int64 number."""
        check_integers(value, (1,))

    def sample(self, value: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number."""
        return value.copy()

    def check_output(self, output: Any) -> None:
        """Raise unless an output is one int64 number."""
        require_array(output, np.int64, (1,))

    def log_probability(self, value: NDArray[np.int64], output: NDArray[np.int64]) -> float:
        """Return 0 for the number itself and minus infinity for any other."""
        return 0.0 if np.array_equal(value, output) else -math.inf

    def change(self, value: NDArray[np.int64], neighbour: NDArray[np.int64]) -> Change:
        """Measure how far two numbers are apart; nothing is allowed."""
        apart = Fraction(int(np.abs(value - neighbour).sum()))
        return Change(apart, Fraction(0), "change of a disclosed count")
