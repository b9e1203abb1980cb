"""How far one record can move the coefficients of a regression's objective: public arithmetic.

The bounds are proved on docs/proofs/functional-mechanism.md and hold for features that are kept in
whole units. Everything here is a function of how many columns there are of which kind.
"""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.privacy.guarantee import Relation

__all__ = ["Columns"]


@dataclass(frozen=True)
class Columns:
    """How many columns explain, by kind.

    Parameters
    ----------
    singles
        Columns with one feature from −1 to 1.
    blocks
        Columns with several features, of which a record has one.
    constants
        1 with an intercept, else 0.
    """

    singles: int
    blocks: int
    constants: int

    def linear(self, relation: Relation) -> int:
        """Return the most by which one record moves Σ (y − xᵀω)² in L1, over its monomials."""
        whole = self.singles + self.blocks + self.constants
        added = whole**2 + 2 * whole
        if relation is Relation.ADD_REMOVE:
            return added
        # The response is one more column from −1 to 1.
        return min(2 * added, self._replaced(self.singles + 1))

    def logistic(self, relation: Relation) -> int:
        """Return eight times the most by which one record moves Σ (xᵀω)²/8 + (½ − y)·xᵀω."""
        whole = self.singles + self.blocks + self.constants
        added = whole**2 + 4 * whole
        if relation is Relation.ADD_REMOVE:
            return added
        # The linear part counts as much as two more columns from −1 to 1 would.
        return min(2 * added, self._replaced(self.singles + 2))

    def _replaced(self, singles: int) -> int:
        """Return (s + c)² + 4b(s + c) + 2b² for s single columns, b blocks and c constants."""
        plain = singles + self.constants
        return plain**2 + 4 * self.blocks * plain + 2 * self.blocks**2
