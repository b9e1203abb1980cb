"""Probabilities as public whole numbers out of 2⁶⁴, certified to lie on the private side.

A client that randomises its own answer compares a random word of 64 bits with such a number, in
Python and in a browser alike. Where e^ε is in a probability it is rounded once, here, in integers
and towards more noise; the realised probability is then exactly the number out of 2⁶⁴, and every
law is computed from it and not from e^ε.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from sfumato.noise.expansions import GUARD_BITS, enclose_exponential

__all__ = ["WORD", "lies"]

#: How many words of 64 bits there are.
WORD = 1 << 64


@lru_cache(maxsize=256)
def lies(inside: int, outside: int, exponent: Fraction, *, bits: int = 64) -> int:
    """Return ⌈2ᵇ·o/(i·eˣ + o)⌉: the weight out of 2ᵇ of `o` outcomes that are eˣ less likely.

    If i outcomes share the rest of the 2ᵇ, none of them is more than eˣ as likely as one of the o.

    Parameters
    ----------
    inside, outside
        How many outcomes there are of the likelier and of the less likely kind, i ≥ 1 and o ≥ 0.
    exponent
        The x > 0 of eˣ.
    bits
        The b of 2ᵇ.
    """
    if outside == 0:
        return 0
    guard = GUARD_BITS
    while True:
        # o/(i·eˣ + o) = o·y/(i + o·y) grows with y = e⁻ˣ and is irrational: both ends of an
        # enclosure of y come to lie strictly between the same two whole numbers.
        size = bits + outside.bit_length() + guard
        low, high = (
            ((outside * y) << bits) // ((inside << size) + outside * y)
            for y in enclose_exponential(exponent, size)
        )
        if low == high:
            return low + 1
        guard *= 2
