"""What formulas ask: the exact value of each unit statistic, whatever the kind of data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.mechanisms.expression.scale import ScaleNoise
from sfumato.mechanisms.expression.terms import Unit
from sfumato.privacy.primitive import Primitive
from sfumato.privacy.program import Query

__all__ = ["UnitQuery"]


@dataclass(frozen=True)
class UnitQuery(Query):
    """The exact value of a unit as its primitive takes it, or the scale of its noise.

    Parameters
    ----------
    unit
        The unit.
    primitive
        What measures it.
    scale
        For the scale: how it is told.
    """

    unit: Unit
    primitive: Primitive
    scale: ScaleNoise | None = None

    def answer(self, data: Any) -> Any:
        """Return the value, or the logarithm of its smooth bound in steps."""
        return self.answer_all([self], data)[0]

    @classmethod
    def answer_all(cls, queries: Sequence[UnitQuery], data: Any) -> list[Any]:
        """Evaluate each unit once, for its value and its scale."""
        values = {
            unit: unit.statistic.given(data, primitive)
            for unit, primitive in {query.unit: query.primitive for query in queries}.items()
        }
        return [
            values[query.unit]
            if query.scale is None
            else query.scale.given(values[query.unit].bound)
            for query in queries
        ]
