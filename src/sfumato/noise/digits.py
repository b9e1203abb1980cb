"""Tables of certified binary digits, and the loop that feeds tables and random words to kernels.

A table only ever grows; what a sampler returns does not depend on how long it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.noise.bits import Words, bits
from sfumato.noise.expansions import Expansion

#: Digits in a new table. A coin needs more than this once in 2¹²⁸ throws, and then gets them.
FIRST_DIGITS = 128


class DigitTable:
    """The binary digits of several probabilities, as the masks that kernels compare words with.

    Parameters
    ----------
    expansions
        One for each row.

    Attributes
    ----------
    masks
        One row for each expansion: all ones where a digit is 1, all zeros where it is 0.
    """

    __slots__ = ("_expansions", "masks")

    def __init__(self, expansions: Sequence[Expansion]) -> None:
        self._expansions = tuple(expansions)
        self.masks = self._make(self._bounded(FIRST_DIGITS))

    def ends_after(self, count: int) -> bool:
        """Tell whether all digits behind the first `count` are 0.

        Parameters
        ----------
        count
            How many digits.
        """
        return all(
            expansion.length is not None and expansion.length <= count
            for expansion in self._expansions
        )

    def extend(self) -> None:
        """Double the number of digits."""
        self.masks = self._make(self._bounded(2 * self.masks.shape[1] + 1))

    def _bounded(self, count: int) -> int:
        """Leave out digits behind the end of every expansion."""
        lengths = [expansion.length for expansion in self._expansions]
        known = [length for length in lengths if length is not None]
        return min(count, max(known)) if len(known) == len(lengths) else count

    def _make(self, count: int) -> Words:
        """Write out the first `count` digits of every expansion."""
        masks = np.zeros((len(self._expansions), count), dtype=np.uint64)
        for row, expansion in zip(masks, self._expansions, strict=True):
            digits = bin(expansion.prefix(count) | 1 << count)[3:]
            row[[index for index, digit in enumerate(digits) if digit == "1"]] = ~np.uint64(0)
        return masks


def play(
    kernel: Callable[..., tuple[int, int, int]], table: DigitTable, out: NDArray[Any], *options: int
) -> None:
    """Let a kernel fill `out`, giving it more random words or more digits when it asks for them.

    Parameters
    ----------
    kernel
        Called as kernel(tape, masks, ends, out, done, *options); returns a status, the number of
        words used, and how much of `out` is done.
    table
        The digits of the probabilities.
    out
        The flat array to fill.
    options
        What else the kernel takes.
    """
    from sfumato.noise._kernels import DONE, NEED_DIGITS, NEED_WORDS

    if out.size == 0:
        return
    done, minimum = 0, 1
    with bits() as source:
        while done < out.size:
            tape = source.unread(minimum)
            masks = table.masks  # another thread may replace it by a longer one
            ends = table.ends_after(masks.shape[1])
            status, used, done = kernel(tape, masks, ends, out, done, *options)
            source.consume(used)
            if status == NEED_WORDS:
                minimum = tape.size - used + 1
            elif status == NEED_DIGITS:
                table.extend()
            elif status != DONE:
                raise OverflowError(
                    "a draw does not fit into 64 bits, an event of probability below 1e-800; "
                    "draw again or use a smaller scale"
                )
