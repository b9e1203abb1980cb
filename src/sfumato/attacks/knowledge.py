"""What an attacker is taken to know beside the model and one person's record.

The shares of the values, which outputs of the model go with which truths, and which values go with
which truths. Told exactly, they are as private as the data they come from: whoever publishes them
beside a model has made a second release.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sfumato import noise
from sfumato.attacks.additive import Additive
from sfumato.data.table import Table, TablePublic
from sfumato.engines.coding import MISSING, OTHER, Booleans, Categories, Coding, Numbers, Reals
from sfumato.privacy.guarantee import Relation

__all__ = ["Knowledge", "learnt", "outputs_of"]

Floats = NDArray[np.float64]
Integers64 = NDArray[np.int64]
#: Takes counts, returns what the attacker has of them.
Telling = Callable[[Integers64], Integers64]


@dataclass(frozen=True)
class Knowledge:
    """What an attacker knows about everybody.

    Parameters
    ----------
    priors
        For each column, the share of each of its values.
    confusion
        π: of the records with an output (columns), the share of each truth (rows).
    joint
        The share of records with each value of the sensitive column (rows) and truth (columns).
    edges
        Where sums of the model are cut into outputs: output k is above k of them.
    """

    priors: Mapping[int, Floats]
    confusion: Floats
    joint: Floats
    edges: Floats

    @property
    def outputs(self) -> int:
        """How many outputs are told apart."""
        return len(self.edges) + 1


def outputs_of(edges: Floats, sums: Floats) -> NDArray[np.intp]:
    """Return which output each sum is; one on an edge is below it."""
    return np.searchsorted(edges, sums, side="left")


def learnt(
    model: Additive,
    table: Table,
    sensitive: Values,
    unknown: Sequence[Values],
    *,
    outputs: int,
    epsilon: Fraction | None = None,
) -> Knowledge:
    """Return what an attacker learns from a table. Not private unless the table is public.

    Parameters
    ----------
    model
        The model that is attacked.
    table
        The table that the attacker's figures were counted in.
    sensitive, unknown
        The column that is guessed, and those that are not known of a person either.
    outputs
        Into how many parts the numbers of a target are cut.
    epsilon
        Count with the noise that a private release of all these figures would need, as a model of
        an attacker who has no more than that.
    """
    told = _exactly if epsilon is None else _with_noise(table, 2 + 1 + len(unknown), epsilon)
    truths = model.answers[table.counts.codes(model.target)]
    edges = _edges(model, truths if epsilon is None else model.answers, outputs)
    many = len(edges) + 1
    truth, output = outputs_of(edges, truths), outputs_of(edges, model.sums(table))
    values = sensitive.groups[table.counts.codes(sensitive.column)]
    columns = {item.column: item for item in (sensitive, *unknown)}
    priors = {
        column: _shares(told(_count_places(item.groups[table.counts.codes(column)], item.size)))
        for column, item in columns.items()
    }
    errors = told(_count_places(truth * many + output, many * many)).reshape(many, many)
    joint = told(_count_places(values * many + truth, sensitive.size * many))
    return Knowledge(
        priors=priors,
        confusion=np.apply_along_axis(_shares, 0, errors),
        joint=_shares(joint).reshape(sensitive.size, many),
        edges=edges,
    )


def _edges(model: Additive, truths: Floats, outputs: int) -> Floats:
    """Return where sums are cut: between classes at 0, among numbers so that parts are alike."""
    if model.classes:
        return np.zeros(1)
    shares = np.arange(1, outputs) / outputs
    return np.unique(np.quantile(truths, shares)) if truths.size else np.zeros(0)


def _count_places(places: NDArray[np.intp], size: int) -> Integers64:
    return np.bincount(places, minlength=size).astype(np.int64)


def _shares(counts: Integers64) -> Floats:
    """Return counts as shares; where nothing was counted, all alike."""
    kept = np.maximum(counts, 0).astype(np.float64)
    total = kept.sum()
    return np.asarray(kept / total if total > 0 else np.full(len(kept), 1 / max(len(kept), 1)))


def _exactly(counts: Integers64) -> Integers64:
    return counts


def _with_noise(table: Table, tables: int, epsilon: Fraction) -> Telling:
    """Return how counts are told with the noise of a release of so many tables of counts."""
    public = table.public
    moved = 2 if public.relation is Relation.REPLACE_ONE else 1
    scale = Fraction(tables * moved * public.contribution) / epsilon

    def told(counts: Integers64) -> Integers64:
        return counts + noise.discrete_laplace(counts.shape, scale=scale)

    return told


# The values of a column that an attack tells apart: its own, or a few groups of very many.
#
# Values are declared by the schema: which there are is public.


Places = NDArray[np.intp]


@dataclass(frozen=True)
class Values:
    """The values of one column, very many of them in groups of neighbours.

    Parameters
    ----------
    column
        The number of the column in the schema.
    groups
        Which value each code counts as.
    middles
        The code that stands for each value.
    labels
        What each value is called.
    """

    column: int
    groups: Places
    middles: Places
    labels: tuple[str, ...]

    @property
    def size(self) -> int:
        """How many values there are."""
        return len(self.labels)

    @property
    def cut(self) -> bool:
        """Whether neighbours were put together."""
        return self.size < len(self.groups)

    @classmethod
    def of(cls, public: TablePublic, column: int, most: int) -> Values:
        """Return the values of a column.

        Parameters
        ----------
        public
            What is public about the table.
        column
            The number of the column.
        most
            Of more ordered values than this, neighbours are put together into so many groups.
        """
        coding = public.schema.columns[column].coding
        if coding.proper <= most or isinstance(coding, Booleans | Categories):
            every = np.arange(coding.size, dtype=np.intp)
            return cls(column, every, every, coding.labels)
        # Group g begins at code ⌈g·proper/most⌉.
        proper = (np.arange(coding.proper, dtype=np.int64) * most // coding.proper).astype(np.intp)
        firsts = np.searchsorted(proper, np.arange(most + 1))
        extra = np.arange(coding.proper, coding.size, dtype=np.intp)
        groups = np.concatenate([proper, most + extra - coding.proper])
        middles = np.concatenate([(firsts[:-1] + firsts[1:] - 1) // 2, extra])
        labels = [_label(coding, a, b - 1) for a, b in pairwise(firsts.tolist())]
        labels += [OTHER] * (coding.outside == "other") + [MISSING] * (coding.missing == "code")
        return cls(column, groups, middles.astype(np.intp), tuple(labels))


def _label(coding: Coding, first: int, last: int) -> str:
    """Return what the codes from one to another are called together."""
    if isinstance(coding, Reals):
        low, high = coding.edge(np.array([first, last + 1])).tolist()
        return f"{low:.4g} to {high:.4g}"
    if isinstance(coding, Numbers):
        return f"{coding.edges[first]:.4g} to {coding.edges[last + 1]:.4g}"
    begin, end = coding.label(int(first)), coding.label(int(last))
    return f"{begin.split(' to ')[0]} to {end.split(' to ')[-1]}"
