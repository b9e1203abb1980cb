"""Somebody with a model and figures about everybody, who guesses one column of single records.

NOT PRIVATE where the records are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.additive import Additive
from sfumato.attacks.guessing import SumLaw, likeliest, output_chances
from sfumato.attacks.knowledge import Knowledge, outputs_of
from sfumato.attacks.outcome import Inversion
from sfumato.attacks.values import Values
from sfumato.data.table import Table

__all__ = ["Attacker"]

Floats = NDArray[np.float64]
Places = NDArray[np.intp]

#: Records that are guessed at once.
BLOCK = 2**14


@dataclass(frozen=True)
class Attacker:
    """What an attacker has: a model, what is known about everybody, and what of one person.

    Parameters
    ----------
    model
        The model, as sums.
    knowledge
        Shares of values and errors of the model.
    sensitive
        The column that is guessed.
    unknown
        The columns of the model that are not known of a person either.
    law
        What the unknown columns add to a sum.
    """

    model: Additive
    knowledge: Knowledge
    sensitive: Values
    unknown: tuple[Values, ...]
    law: SumLaw

    @property
    def prior(self) -> Floats:
        """The share of each value of the sensitive column."""
        return self.knowledge.priors[self.sensitive.column]

    @property
    def known(self) -> tuple[int, ...]:
        """The columns of the model that are known of a person."""
        hidden = {self.sensitive.column, *(item.column for item in self.unknown)}
        return tuple(column for column in sorted(self.model.tables) if column not in hidden)

    def seen(self, table: Table) -> Places:
        """Return the true output of each record, which the attacker knows."""
        answers = self.model.answers[table.counts.codes(self.model.target)]
        return outputs_of(self.knowledge.edges, answers)

    def guesses(self, table: Table, *, errors: bool) -> Places:
        """Return the likeliest value of each record: argmax of p(z) · Σ π(y, ρ(x)) · Π p(x).

        Parameters
        ----------
        table
            The records; of their columns only the target and those that are known are looked at.
        errors
            Whether the attacker knows how often the model errs; one who does not takes it at its
            word, that the truth is what it predicts.
        """
        confusion = self.knowledge.confusion if errors else np.eye(self.knowledge.outputs)
        seen, found = self.seen(table), np.zeros(table.counts.rows, dtype=np.intp)
        for first in range(0, len(seen), BLOCK):
            part = slice(first, first + BLOCK)
            sums = self._known_sums(table, part)
            found[part] = likeliest(self.prior, self._likelihood(sums, confusion[seen[part]]))
        return found

    def _known_sums(self, table: Table, part: slice) -> Floats:
        """Return what the known columns of some records add up to."""
        counts = table.counts
        columns = [self.model.tables[c][counts.codes(c)[part]] for c in self.known]
        rows = len(range(*part.indices(counts.rows)))
        return sum(columns, np.full(rows, self.model.constant))

    def _likelihood(self, sums: Floats, truths: Floats) -> Floats:
        """Return how well each value explains the truth of each record.

        Parameters
        ----------
        sums
            What the known columns add up to.
        truths
            π of the truth of each record, for each output: shape (records, outputs).
        """
        sensitive = self.sensitive
        adds = self.model.tables.get(sensitive.column, np.zeros(len(sensitive.groups)))
        found = np.empty((len(sums), sensitive.size))
        for place, code in enumerate(sensitive.middles):
            chances = output_chances(self.law, sums + adds[code], self.knowledge.edges)
            found[:, place] = (chances * truths).sum(axis=1)
        return found

    def tried(self, table: Table) -> tuple[Inversion, ...]:
        """Return how often each way of guessing is right. Not private."""
        truth = self.sensitive.groups[table.counts.codes(self.sensitive.column)]
        frequent = np.full(len(truth), np.argmax(self.prior))
        ways = {
            "most frequent": frequent,
            "target alone": np.argmax(self.knowledge.joint, axis=0)[self.seen(table)],
            "model": self.guesses(table, errors=False),
            "model and errors": self.guesses(table, errors=True),
            # Its output says nothing about a column that it does not look at.
            "model without the column": frequent,
        }
        return tuple(
            Inversion(name, float(np.mean(guess == truth)) if truth.size else 0.0, len(truth))
            for name, guess in ways.items()
        )
