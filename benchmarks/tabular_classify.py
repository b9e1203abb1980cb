"""The classification tasks of the PrivBayes paper, on the tables whose columns have names.

NOT PRIVATE: mistakes are counted on real rows. One split into 80 % for training and 20 % for
testing; on synthetic rows a linear support vector machine with hinge loss and C = 1. The paper
gives each of its four tasks a quarter of the budget where a method answers one task at a time;
"Single" gives the whole budget to each, four times as much in all.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import sfumato as sf
import tabular_data as data
from sfumato import noise
from sfumato.evaluate.classifiers import Classification, mistakes, train_and_test


@dataclass(frozen=True)
class Task:
    """A column to be told from all others, and its values that count as positive."""

    column: str
    positive: tuple[str, ...]


#: Some-college is not among them.
POST_SECONDARY = ("Assoc-acdm", "Assoc-voc", "Bachelors", "Doctorate", "Masters", "Prof-school")

TASKS = {
    "NLTCS": tuple(
        Task(column, ("1",))
        for column in ("getting about outside", "managing money", "bathing", "traveling")
    ),
    "Adult": (
        Task("sex", ("Female",)),
        Task("income", (">50K",)),
        Task("education", POST_SECONDARY),
        Task("marital-status", ("Never-married",)),
    ),
}


@dataclass(frozen=True)
class Rule:
    """A method that releases a classifier, with its share of the budget of four tasks."""

    label: str
    method: str
    share: float = 0.25
    options: dict[str, Any] = field(default_factory=dict)

    def __call__(self, epsilon: float, task: Task) -> Any:
        """Return the method for a task."""
        method = getattr(sf, self.method)
        loss = epsilon * self.share
        return method(epsilon=loss, target=task.column, positive=task.positive, **self.options)


COSTS = tuple(10.0**power for power in range(-3, 4))

DIRECT = (
    Rule("Majority, ε/4", "Majority"),
    Rule("PrivateERM, ε/4", "PrivateERM"),
    Rule("PrivateERM, as published, ε/4", "PrivateERM", options={"variant": "paper"}),
    Rule("PrivateERM (tune), ε/4", "PrivateERM", options={"tune": COSTS}),
    Rule("PrivateERM (Single), ε", "PrivateERM", share=1.0),
    Rule("PrivGene, ε/4", "PrivGene"),
)


@dataclass(frozen=True, eq=False)
class Split:
    """Rows for training and rows for testing, both as private tables."""

    train: sf.Table
    test: sf.Table

    @classmethod
    def of(cls, name: str) -> Split:
        """Return the one split that all methods are tried on; the number of rows is public."""
        rows = data.frame(name)
        order = noise.generator(20).permutation(len(rows))
        cut = round(0.8 * len(rows))
        parts = (rows[order[:cut]], rows[order[cut:]])
        return cls(*(sf.Table(part, data.schema(name, "replace_one")) for part in parts))

    def learnt(self, release: Any, task: Task) -> Classification:
        """Return the mistakes of a support vector machine that learnt from synthetic rows."""
        return train_and_test(
            self.train, release, target=task.column, positive=task.positive, test=self.test
        )

    def released(self, method: Any) -> float:
        """Return the mistakes of a classifier that a method releases."""
        return mistakes(self.test, method.release(self.train)).error
