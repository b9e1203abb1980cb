"""Reports of several questions, kept small and counted.

Everything here is post-processing of reports that are already private.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.local.axes import AxisLaws
from sfumato.local.contingency import ShareTable, table_of_counts
from sfumato.local.estimation import Estimator, estimate
from sfumato.local.law import Floats, MatrixLaw, PureLaw, law_of
from sfumato.local.reports import Reports
from sfumato.local.shares import Shares
from sfumato.local.simplex import on_simplex
from sfumato.local.tally import Tally, whole_counts
from sfumato.privacy.registry import resolve

if TYPE_CHECKING:
    from sfumato.local.multi_response import MultiResponse

__all__ = ["RecordReports", "RecordTally"]


@dataclass(frozen=True, eq=False)
class RecordReports:
    """Reports of many clients on several questions.

    Parameters
    ----------
    method
        How they were made.
    clients
        How many clients reported.
    parts
        The reports of each part, by its name. Unless one question of several is told, every part
        has a report of every client, in the same order.
    """

    method: MultiResponse | Any
    clients: int
    parts: Mapping[str, Reports]

    def __len__(self) -> int:
        return self.clients

    def __repr__(self) -> str:
        return f"RecordReports({self.clients:,} clients, {self.method.sharing!r})"

    @classmethod
    def encode(cls, method: Any, reports: Iterable[Mapping[str, Any]]) -> RecordReports:
        """Return plain reports as compact ones, or raise `ValueError` where one is malformed.

        Parameters
        ----------
        method
            How they were made.
        reports
            What `perturb` returned on the clients: a mapping of parts to reports each.
        """
        given = list(reports)
        wanted = 1 if method.sharing == "sample" else len(method.parts)
        for number, report in enumerate(given):
            known = isinstance(report, Mapping) and set(report) <= set(method.parts)
            if not known or len(report) != wanted:
                raise ValueError(
                    f"report {number} must name {'one' if wanted == 1 else 'all'} of "
                    f"{', '.join(method.parts)}"
                )
        parts = {
            name: design.encode([report[name] for report in given if name in report])
            for name, design in method.parts.items()
        }
        return cls(method, len(given), parts)


@dataclass(frozen=True, eq=False)
class RecordTally:
    """Reports of several questions, counted: constant room, mergeable.

    Parameters
    ----------
    method
        How the reports were made.
    parts
        The tally of each part, by its name.
    tables
        How many clients reported each combination of answers, for the sets of questions that are
        counted together.
    clients
        How many clients reported.
    """

    method: MultiResponse | Any
    parts: Mapping[str, Tally]
    tables: Mapping[tuple[str, ...], NDArray[np.int64]]
    clients: int

    def __repr__(self) -> str:
        return f"RecordTally({', '.join(map(repr, self.parts))}, {self.clients} clients)"

    @classmethod
    def empty(cls, method: Any, tables: Sequence[Sequence[str]] = ()) -> RecordTally:
        """Return the tally of no reports.

        Parameters
        ----------
        method
            How reports are made.
        tables
            Sets of questions that are counted together. Only independent reports that are answers
            need it; a joint report tells every table anyway.
        """
        sizes = {name: len(answers) for name, answers in method.questions}
        counted = {}
        for names in tables:
            _require_table(method, names)
            if method.sharing == "split":
                shape = tuple(sizes[name] for name in names)
                counted[tuple(names)] = np.zeros(shape, dtype=np.int64)
        parts = {name: Tally.empty(design) for name, design in method.parts.items()}
        return cls(method, parts, counted, 0)

    def add(self, reports: RecordReports | Iterable[Mapping[str, Any]]) -> RecordTally:
        """Return the tally with more reports in it.

        Parameters
        ----------
        reports
            What `perturb_all` returned, or a list of what `perturb` did.
        """
        if not isinstance(reports, RecordReports):
            reports = RecordReports.encode(self.method, reports)
        elif reports.method != self.method:
            raise ValueError("the reports were made by another method")
        parts = {name: tally.add(reports.parts[name]) for name, tally in self.parts.items()}
        tables = {
            names: counts + _together([reports.parts[name].rows for name in names], counts.shape)
            for names, counts in self.tables.items()
        }
        return replace(self, parts=parts, tables=tables, clients=self.clients + len(reports))

    def __add__(self, other: RecordTally) -> RecordTally:
        """Return the tally of both."""
        if not isinstance(other, RecordTally):
            return NotImplemented
        if self.method != other.method or set(self.tables) != set(other.tables):
            raise ValueError("only tallies of the same method with the same tables can be added")
        return replace(
            self,
            parts={name: tally + other.parts[name] for name, tally in self.parts.items()},
            tables={names: counts + other.tables[names] for names, counts in self.tables.items()},
            clients=self.clients + other.clients,
        )

    def shares(self, question: str, estimator: Estimator = "inverse") -> Shares:
        """Return the shares of one question's answers.

        Parameters
        ----------
        question
            The question.
        estimator
            As for `estimate`. Sums over the combinations of joint reports are unbiased or
            projected.
        """
        answers = dict(self.method.questions)
        if question not in answers:
            raise ValueError(
                f"{question!r} is not a question; the questions are {', '.join(answers)}"
            )
        if self.method.sharing != "joint":
            return estimate(self.parts[question], estimator)
        if estimator == "em":
            raise ValueError("for joint reports use estimator='inverse' or 'project'")
        law, unbiased, clients = self._summed([question])
        found = on_simplex(unbiased) if estimator == "project" and clients else unbiased
        return Shares(answers[question], found, unbiased, clients, law, estimator)

    def table(self, names: Sequence[str], *, project: bool = False) -> ShareTable:
        """Return the shares of all combinations of some questions' answers.

        Parameters
        ----------
        names
            The questions, one axis each.
        project
            Whether to return the closest shares that are not negative and sum to 1.
        """
        _require_table(self.method, names)
        answers = dict(self.method.questions)
        asked = {name: answers[name] for name in names}
        if self.method.sharing == "joint":
            law, unbiased, clients = self._summed(names)
            found = on_simplex(unbiased) if project and clients else unbiased
            how = "project" if project else "inverse"
            return ShareTable(asked, found, unbiased, clients, law, how)
        counts = self.tables.get(tuple(names))
        if counts is None:
            raise ValueError(
                f"the questions {', '.join(names)} were not counted together; name them in "
                "RecordTally.empty(method, tables=[...]) before reports are added"
            )
        laws = tuple(law_of(self.method.parts[name]) for name in names)
        return table_of_counts(AxisLaws(laws), counts, self.clients, asked, project=project)

    def _summed(self, names: Sequence[str]) -> tuple[SummedLaw, Floats, int]:
        """Return sums over the other questions of joint reports, their law, and the clients."""
        (tally,) = self.parts.values()
        order = [name for name, _ in self.method.questions]
        kept = tuple(order.index(name) for name in names)
        whole = law_of(tally.design)
        assert isinstance(whole, PureLaw)
        law = SummedLaw(whole, self.method.public.sizes, kept)
        if not tally.reports:
            return law, np.full(law.shape, np.nan), 0
        return law, law.shares(tally.counts / tally.reports), tally.reports

    def to_json(self) -> dict[str, Any]:
        """Return a plain document."""
        return {
            "method": self.method.name,
            "parameters": self.method.parameters(),
            "parts": {
                name: {"counts": tally.counts.tolist(), "reports": tally.reports}
                for name, tally in self.parts.items()
            },
            "tables": [[list(names), counts.tolist()] for names, counts in self.tables.items()],
            "clients": self.clients,
        }

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> RecordTally:
        """Return the tally that `to_json` wrote."""
        method: Any = resolve(document["method"]).from_parameters(document["parameters"])
        parts = {}
        for name, design in method.parts.items():
            part = document["parts"][name]
            counts = whole_counts(part["counts"], (len(design.answers),))
            parts[name] = Tally(design, counts, part["reports"])
        sizes = {name: len(answers) for name, answers in method.questions}
        tables = {}
        for names, counts in document["tables"]:
            _require_table(method, names)
            tables[tuple(names)] = whole_counts(counts, tuple(sizes[name] for name in names))
        clients = document["clients"]
        if type(clients) is not int or any(table.sum() != clients for table in tables.values()):
            raise ValueError("each table of a tally must count every client once")
        told = [tally.reports for tally in parts.values()]
        if sum(told) != clients if method.sharing == "sample" else set(told) != {clients}:
            raise ValueError(
                "the number of reports of the tally does not match its number of clients"
            )
        return cls(method, parts, tables, clients)


def _require_table(method: Any, names: Sequence[str]) -> None:
    """Raise unless a table of some questions can be made from reports of a method."""
    known = [name for name, _ in method.questions]
    strange = [name for name in names if name not in known]
    if strange or not names or len(set(names)) != len(names):
        raise ValueError(f"a table needs distinct questions out of {', '.join(known)}")
    if method.sharing == "sample":
        raise ValueError(
            "each person reported one answer, so tables of several questions cannot be estimated; "
            "use how='split' or 'joint'"
        )
    if method.sharing == "split":
        laws = [law_of(method.parts[name]) for name in names]
        if not all(isinstance(law, MatrixLaw) or law.exclusive for law in laws):
            raise ValueError(
                "only reports that are themselves answers can be counted in tables; use tables=True"
            )


def _together(rows: Sequence[NDArray[Any]], shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Return how many clients reported each combination of answers."""
    codes = np.ravel_multi_index(tuple(part.astype(np.intp) for part in rows), shape)
    return np.bincount(codes, minlength=int(np.prod(shape))).astype(np.int64).reshape(shape)


# The law of sums over some questions of reports on all combinations of answers at once.
#
# Post-processing. In a pure law nothing but whether a combination belongs to a sum matters, so
# that the variances of sums need the shares of the sums only, not those of single combinations.


@dataclass(frozen=True)
class SummedLaw:
    """Reports on all combinations, summed over all questions but some.

    Parameters
    ----------
    law
        The law over all combinations, the last question running fastest.
    whole
        How many answers each question has.
    kept
        Which questions are kept, in the order of the axes wanted.
    """

    law: PureLaw
    whole: tuple[int, ...]
    kept: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the sums."""
        return tuple(self.whole[axis] for axis in self.kept)

    @property
    def _members(self) -> int:
        """How many combinations each sum is over."""
        return prod(self.whole) // prod(self.shape)

    def _sorted(self, table: Floats) -> Floats:
        """Return a table with its axes in the order of the questions."""
        return np.asarray(np.transpose(table.reshape(self.shape), np.argsort(self.kept)))

    def _lift_to_combinations(self, table: Floats) -> Floats:
        """Return for each combination, flat, the entry of its sum."""
        beside = tuple(axis for axis in range(len(self.whole)) if axis not in self.kept)
        return np.broadcast_to(np.expand_dims(self._sorted(table), beside), self.whole).ravel()

    def shares(self, reported: Floats) -> Floats:
        """Return the unbiased sums for the shares of reports that support each combination."""
        table = self.law.shares(reported.ravel()).reshape(self.whole)
        away = tuple(axis for axis in range(len(self.whole)) if axis not in self.kept)
        order = sorted(self.kept)
        summed = table.sum(axis=away)
        return np.asarray(np.transpose(summed, [order.index(axis) for axis in self.kept]))

    def reported_shares(self, shares: Floats) -> Floats:
        """Return which share of reports is expected to support each combination, spread evenly."""
        return self.law.reported_shares(self._lift_to_combinations(shares) / self._members).reshape(
            self.whole
        )

    def spread(self, shares: Floats, *, population: bool) -> Floats:
        """Return n times the variance of each sum."""
        law, m = self.law, self._members
        if law.true_pair is None or law.other_pair is None:
            # A sum has a variance only where pairs of supports have a law: say so there.
            law.spread_along(np.zeros(law.k), np.zeros(law.k), population=population)
        if law.k == 1:
            return np.zeros(self.shape)
        p, q = float(law.p), float(law.q)
        with_true, without = float(law.true_pair or 0), float(law.other_pair or 0)
        # The number of supported members of a sum: its moments where the truth is one, or not.
        inside = np.array([p + q * (m - 1), p + q * (m - 1)])
        inside[1] += 2 * with_true * (m - 1) + without * (m - 1) * (m - 2)
        outside = np.array([q * m, q * m + without * m * (m - 1)])
        mean, second = (
            shares * inside[moment] + (1 - shares) * outside[moment] for moment in (0, 1)
        )
        if population:
            return np.asarray((second - mean**2) / law.gap**2)
        squares = shares * inside[0] ** 2 + (1 - shares) * outside[0] ** 2
        return np.asarray((second - squares) / law.gap**2)

    def spread_beside(self, shares: Floats) -> Floats:
        """Return n times the variance of each sum where nobody is in it, whatever the others do."""
        return self.spread(np.zeros(self.shape), population=False)

    def spread_sure(self) -> Floats:
        """Return n times the variance of each sum where all are in it."""
        return self.spread(np.ones(self.shape), population=False)

    def weight(self) -> Floats:
        """Return the weight of one combination, the least by which a report moves a sum."""
        return np.full(self.shape, 1 / self.law.gap)

    def spread_along(self, gradient: Floats, shares: Floats, *, population: bool) -> float:
        """Return n times the variance of Σ gradient·sum."""
        lifted = self._lift_to_combinations(shares) / self._members
        return self.law.spread_along(
            self._lift_to_combinations(gradient), lifted, population=population
        )
