"""Model inversion: guess a sensitive column of a person from a released model.

NOT PRIVATE. An attack is tried on the private data, and what comes out is for the custodian's eyes.
It is never part of a release, a certificate or its report.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import noise
from sfumato.attacks.additive import Additive, additive
from sfumato.attacks.knowledge import Knowledge, Values, learnt, outputs_of
from sfumato.attacks.outcome import Inversion, InversionOutcome, Quality
from sfumato.data.table import Table, TablePublic, with_rows, without_columns
from sfumato.evaluate.classifiers import mistakes
from sfumato.evaluate.paired_counts import keep_released_columns
from sfumato.evaluate.regression import ClassErrors, evaluate
from sfumato.noise.exact import exact
from sfumato.privacy.loss import Number
from sfumato.regression.model import RegressionModel
from sfumato.tabular.classifier import Classifier

# The likeliest value of a sensitive column, given a model's output and a person's record.
#
# An attacker adds up the probability of all records that agree with what is known (Fredrikson,
# Lantz, Jha, Lin, Page and Ristenpart, 2014). A linear model sees a record through one sum, so
# that it is enough to know the law of what the unknown columns add to it.


#: Combinations of unknown values that are all tried; of more a sample is drawn.
MOST_COMBINATIONS = 2**16


@dataclass(frozen=True)
class SumLaw:
    """The law of what the columns that are not known add to a sum.

    Parameters
    ----------
    sums
        What they may add, in increasing order.
    below
        The probability of adding at most that much; one entry more, the first of which is 0.
    """

    sums: Floats
    below: Floats

    @classmethod
    def of(
        cls,
        adds: Sequence[Floats],
        priors: Sequence[Floats],
        *,
        most: int = MOST_COMBINATIONS,
        samples: int = 10_000,
        generator: np.random.Generator,
    ) -> SumLaw:
        """Return the law of a sum of independent columns.

        Parameters
        ----------
        adds, priors
            What each value of each unknown column adds, and how likely it is.
        most
            Up to so many combinations of values are all tried; of more a sample is drawn.
        samples
            The size of that sample.
        generator
            Draws them.
        """
        if prod(len(part) for part in adds) > most:
            total = np.zeros(samples)
            for part, prior in zip(adds, priors, strict=True):
                total += generator.choice(part, size=samples, p=prior)
            return cls._sorted(total, np.full(samples, 1 / samples))
        sums, chances = np.zeros(1), np.ones(1)
        for part, prior in zip(adds, priors, strict=True):
            sums = (sums[:, None] + part).ravel()
            chances = (chances[:, None] * prior).ravel()
        return cls._sorted(sums, chances)

    @classmethod
    def _sorted(cls, sums: Floats, chances: Floats) -> SumLaw:
        order = np.argsort(sums, kind="stable")
        below = np.concatenate([[0.0], np.cumsum(chances[order])])
        return cls(sums[order], below / below[-1])

    def at_most(self, limits: Floats) -> Floats:
        """Return how likely it is that no more than each limit is added."""
        return np.asarray(self.below[np.searchsorted(self.sums, limits, side="right")])


def output_chances(law: SumLaw, sums: Floats, edges: Floats) -> Floats:
    """Return how likely each output is for each record.

    Parameters
    ----------
    law
        What the unknown columns add.
    sums
        What the known ones add up to, one number a record.
    edges
        Where sums are cut into outputs.

    Returns
    -------
    chances
        Array of shape (records, outputs).
    """
    below = law.at_most(edges - sums[:, None])
    ends = np.zeros((len(sums), 1)), np.ones((len(sums), 1))
    return np.diff(np.concatenate([ends[0], below, ends[1]], axis=1), axis=1)


def likeliest(prior: Floats, likelihood: Floats) -> NDArray[np.intp]:
    """Return the value with the largest product of share and likelihood for each record.

    Of two that are equally likely it is the one that the schema declares first. Where no value
    explains what was seen, the most frequent one is guessed.

    Parameters
    ----------
    prior
        The share of each value.
    likelihood
        How well each value explains what was seen, shape (records, values).
    """
    scores = prior * likelihood
    nothing = ~(scores > 0).any(axis=1)
    scores[nothing] = prior
    return np.asarray(np.argmax(scores, axis=1))


__all__ = ["SOURCES", "ModelInversion"]

#: Where an attacker may have shares and errors from.
SOURCES = ("train", "public", "dp")


@dataclass(frozen=True, kw_only=True)
class ModelInversion:
    """Guess a sensitive column of each record from a model, the target and the other columns.

    Parameters
    ----------
    sensitive
        The column that is guessed.
    known
        The columns of a person that the attacker knows beside the target; by default all others.
    pi
        The source of the attacker's shares of values and of the model's errors: `"train"`, the
        private table itself, the worst case; `"public"`, a public table; `"dp"`, the private
        table with the noise of a private release.
    epsilon
        The privacy loss of that release, for `"dp"`.
    values, outputs
        The number of intervals for a sensitive column or a target of very many numbers.
    combinations
        The most combinations of unknown values that are all tried; of more, a sample is drawn.
    samples
        The size of that sample.

    Notes
    -----
    Privacy: none. What comes out is for the custodian's eyes and must not be published.
    """

    sensitive: str
    known: Sequence[str] | None = None
    pi: str = "train"
    epsilon: Number | None = None
    values: int = 10
    outputs: int = 10
    combinations: int = MOST_COMBINATIONS
    samples: int = 10_000

    def __post_init__(self) -> None:
        if self.pi not in SOURCES:
            allowed = ", ".join(map(repr, SOURCES))
            raise ValueError(f"pi must be one of {allowed}; got {self.pi!r}")
        if (self.pi == "dp") != (self.epsilon is not None):
            raise ValueError(
                "epsilon is the privacy loss of the released errors; give it with pi='dp' only"
            )
        if self.epsilon is not None and exact(self.epsilon) <= 0:
            raise ValueError(f"epsilon must be positive; got {self.epsilon}")
        for name, least in (("values", 2), ("outputs", 2), ("combinations", 1), ("samples", 1)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}; got {getattr(self, name)}")

    def run(
        self,
        table: Table,
        release: RegressionModel | Classifier,
        *,
        public: Table | None = None,
        others: Table | None = None,
        dropped: bool = True,
    ) -> InversionOutcome:
        """Try the attack on the records that a model was made of. Not private.

        Parameters
        ----------
        table
            The private table that the model was made of.
        release
            The model: a regression, or a classifier.
        public
            The public table that the attacker has counted in, for `pi="public"`.
        others
            Records that the model was not made of, on which the attack is tried as well.
        dropped
            Also make a model without the sensitive column, by the same method, to see how good it
            is. It is not booked and must not be published.
        """
        attacker = self.attacker(table, release, public=public)
        names = release.public.columns
        what, quality = _quality(table, release)
        without = None
        if dropped:
            _, without = _quality(*_without(table, release, self.sensitive))
        return InversionOutcome(
            sensitive=self.sensitive,
            target=release.target,
            values=attacker.sensitive.size,
            known=tuple(names[column] for column in attacker.known),
            unknown=tuple(names[item.column] for item in attacker.unknown),
            source=self.pi,
            quality=Quality(what, quality, without),
            guesses=attacker.tried(_keep_answered(table, release)),
            others=() if others is None else attacker.tried(_keep_answered(others, release)),
            parts=attacker.sensitive.labels if attacker.sensitive.cut else (),
            target_parts=_target_parts(attacker, release),
        )

    def guesses(
        self,
        table: Table,
        release: RegressionModel | Classifier,
        *,
        public: Table | None = None,
        errors: bool = True,
    ) -> NDArray[np.intp]:
        """Return the value that is guessed for each record with a target. Not private.

        Parameters
        ----------
        table, release, public
            As for `run`.
        errors
            Whether the attacker knows how often the model errs (the confusion matrix); one who
            does not takes it at its word.
        """
        attacker = self.attacker(table, release, public=public)
        return attacker.guesses(_keep_answered(table, release), errors=errors)

    def attacker(
        self,
        table: Table,
        release: RegressionModel | Classifier,
        *,
        public: Table | None = None,
    ) -> Attacker:
        """Return the attacker, who has learnt what `pi` says. Not private."""
        model = additive(release)
        if (self.pi == "public") != (public is not None):
            raise ValueError("pi='public' needs public=TABLE; leave public out otherwise")
        source = _keep_answered(table if public is None else public, release)
        sensitive, unknown = self._columns(release.public, model.target, tuple(model.tables))
        knowledge = learnt(
            model,
            source,
            sensitive,
            unknown,
            outputs=self.outputs,
            epsilon=None if self.epsilon is None else exact(self.epsilon),
        )
        law = SumLaw.of(
            [model.tables[item.column][item.middles] for item in unknown],
            [knowledge.priors[item.column] for item in unknown],
            most=self.combinations,
            samples=self.samples,
            generator=noise.generator(0),
        )
        return Attacker(model, knowledge, sensitive, unknown, law)

    def _columns(
        self, public: TablePublic, target: int, used: tuple[int, ...]
    ) -> tuple[Values, tuple[Values, ...]]:
        """Return the sensitive column, and those of the model that are not known either."""
        column = public.schema.index(self.sensitive)
        if column == target:
            raise ValueError(
                f"{self.sensitive!r} is the target of the model; choose another column"
            )
        known = set(range(len(public.columns)))
        if self.known is not None:
            known = set(public.schema.indices(tuple(self.known)))
            if column in known:
                raise ValueError(
                    f"{self.sensitive!r} is the sensitive column; leave it out of known"
                )
        hidden = [c for c in sorted(used) if c not in known and c != column]
        sensitive = Values.of(public, column, self.values)
        return sensitive, tuple(Values.of(public, c, self.values) for c in hidden)


def _keep_answered(table: Table, release: RegressionModel | Classifier) -> Table:
    """Return the records whose target is not missing. Private."""
    table = keep_released_columns(table, release)
    column = table.public.schema.index(release.target)
    coding = table.public.schema.columns[column].coding
    if isinstance(release, Classifier) or release.positive is not None:
        return table
    missing = table.counts.codes(column) >= coding.proper
    return with_rows(table, ~missing) if missing.any() else table


def _target_parts(attacker: Attacker, release: RegressionModel | Classifier) -> tuple[str, ...]:
    """Return what a target of numbers was cut into, in its own units."""
    if isinstance(release, Classifier) or release.positive is not None:
        return ()
    middle, half = release.half_range
    ends = [middle + half * edge for edge in (-1.0, *attacker.knowledge.edges.tolist(), 1.0)]
    return tuple(f"{low:.4g} to {high:.4g}" for low, high in pairwise(ends))


def _quality(table: Table, release: RegressionModel | Classifier) -> tuple[str, float]:
    """Return how good a model is on the records it was made of. Not private."""
    if isinstance(release, Classifier):
        return "accuracy", 1 - mistakes(table, release).error
    outcome = evaluate(table, release)
    if isinstance(outcome, ClassErrors):
        return "accuracy", 1 - outcome.error
    return "R²", outcome.explained


def _without(
    table: Table, release: RegressionModel | Classifier, column: str
) -> tuple[Table, RegressionModel | Classifier]:
    """Return the table without a column, and a model made of it in the same way. Not booked."""
    method = release.provenance.method
    parameters: dict[str, Any] = method.parameters()
    for name, value in parameters.items():
        # A method may name the column, say as one that gets more noise.
        if isinstance(value, list) and column in value:
            parameters[name] = [item for item in value if item != column] or None
    smaller = without_columns(table, (column,))
    made: RegressionModel | Classifier = type(method).from_parameters(parameters).release(smaller)
    return smaller, made


# Somebody with a model and figures about everybody, who guesses one column of single records.
#
# NOT PRIVATE where the records are.


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
