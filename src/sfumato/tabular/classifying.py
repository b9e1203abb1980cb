"""What all methods share that release a classifier: a target, and which of its values to find."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from sfumato.data.table import Table, TablePublic
from sfumato.privacy.loss import Number
from sfumato.privacy.method import Method
from sfumato.privacy.parameters import Labels, Name, parameter
from sfumato.tabular.classifier import Classifier
from sfumato.tabular.features import Task


@dataclass(frozen=True, kw_only=True)
class ClassifyingMethod(Method[Table, Classifier]):
    """Release a rule that guesses one column from the others.

    Parameters
    ----------
    epsilon
        Privacy loss for one unit of the table.
    target
        The column that is guessed.
    positive
        The values of it that count as positive; the others count as negative.
    """

    kind: ClassVar[str] = "table"

    target: str = parameter(Name())
    positive: Any = parameter(Labels())

    @classmethod
    def example_method(cls, epsilon: Number, public: TablePublic, **more: Any) -> Self:
        """Return a rule that finds the last value of the last column."""
        target = public.columns[-1]
        told = {"target": target, "positive": [public.labels(target)[-1]]}
        return super().example_method(epsilon, public, **told, **more)

    def task(self, public: TablePublic) -> Task:
        """Return what is told apart by what."""
        return Task.of(public, self.target, self.positive)

    def check(self, public: TablePublic) -> None:
        """Raise where the target or a value of it is unknown."""
        super().check(public)
        self.task(public)
