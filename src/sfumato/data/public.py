"""What is public about private data: declared by the custodian, never peeked at.

A public part is a value: frozen, comparable, written to and read from plain documents. It may
never hold anything computed from the private part.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from sfumato.noise.exact import briefly
from sfumato.privacy.guarantee import Relation, Unit
from sfumato.privacy.notebook import show_facts

__all__ = ["MOST_RECORDS", "Public", "ShowsPublic", "check_count"]

MOST_RECORDS = 10**15
"""More records than this nobody has; what is computed from their number stays far below 2**63."""


@dataclass(frozen=True, kw_only=True)
class Public(ABC):
    """The public part of a private data set of any kind.

    Parameters
    ----------
    unit
        Whose contribution is protected.
    relation
        Which two data sets are neighbours.
    contribution
        How many records of one unit were let in at most.
    rows
        The number of records, where it is public: under replace-one. `None` otherwise.
    rows_about
        A public guess at the number of records, for plans. Never measured.
    """

    kind: ClassVar[str]
    #: How private data of this kind are made, from Python's objects and from a file.
    made_by: ClassVar[str] = ""
    read_by: ClassVar[str] = ""
    #: What a user calls the contribution.
    bound: ClassVar[str] = "contribution"
    _kinds: ClassVar[dict[str, type[Public]]] = {}

    unit: Unit
    relation: Relation
    contribution: int = 1
    rows: int | None = None
    rows_about: int | None = None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "kind" in cls.__dict__:
            Public._kinds[cls.kind] = cls

    def __post_init__(self) -> None:
        object.__setattr__(self, "unit", Unit.parse(self.unit))
        object.__setattr__(self, "relation", Relation.parse(self.relation))
        check_count(self.bound, self.contribution, least=1)
        for name in ("rows", "rows_about"):
            if getattr(self, name) is not None:
                check_count(name, getattr(self, name))
        if self.rows is not None and self.relation is not Relation.REPLACE_ONE:
            raise ValueError(
                "the number of rows is private under add/remove; declare rows_about for plans, "
                'or relation = "replace_one"'
            )
        if self.rows is not None and self.contribution > 1:
            raise ValueError(
                "the number of rows is public only if each unit has one row; got contribution = "
                f'{self.contribution}; use relation = "add_remove"'
            )

    @classmethod
    def example(cls, relation: Relation | None, max_rows: int | None) -> Public:
        """Return the public part of a small data set, for audits and tests.

        Parameters
        ----------
        relation
            What a neighbour is; `None` for the usual relation of this kind of data.
        max_rows
            How many records one person has at most; `None` where each record stands for itself.
        """
        raise NotImplementedError(f"data of the kind {cls.kind!r} declare no example")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.brief()})"

    def _repr_html_(self) -> str:
        return show_facts(f"public part of a private {self.kind}", self.facts())

    def brief(self) -> str:
        """Return what is public in one short line; a kind puts its own facts first."""
        rows = "" if self.rows is None else f", rows={self.rows}"
        return f"unit='{self.unit}', relation='{self.relation}'{rows}"

    def facts(self) -> list[tuple[str, object]]:
        """Return what is public, as names and values that may be shown."""
        facts: list[tuple[str, object]] = [("unit", self.unit), ("relation", self.relation)]
        if self.contribution > 1:
            facts.append((self.bound, self.contribution))
        for name in ("rows", "rows_about"):
            if getattr(self, name) is not None:
                facts.append((name, f"{getattr(self, name):,}"))
        return facts

    def assumptions(self) -> tuple[str, ...]:
        """Return what a guarantee takes as public knowledge, in words."""
        return () if self.rows is None else ("the number of records",)

    @property
    def excludes(self) -> str:
        """What no guarantee covers although it is private by rights, in words; mostly empty."""
        return ""

    @abstractmethod
    def _document(self) -> dict[str, Any]:
        """Return what this kind of data adds to the document."""

    @classmethod
    @abstractmethod
    def _from_document(cls, document: dict[str, Any]) -> Public:
        """Return the public part a document of this kind describes."""

    def to_json(self) -> dict[str, Any]:
        """Return a plain document."""
        return {
            "kind": self.kind,
            "unit": str(self.unit),
            "relation": str(self.relation),
            "contribution": self.contribution,
            "rows": self.rows,
            "rows_about": self.rows_about,
            **self._document(),
        }

    @staticmethod
    def from_json(document: dict[str, Any]) -> Public:
        """Return the public part that `to_json` wrote, of whatever kind it is."""
        kind = document.get("kind")
        if kind not in Public._kinds:
            known = ", ".join(sorted(Public._kinds))
            raise ValueError(f"kind of data must be one of {known}; got {kind!r}")
        return Public._kinds[kind]._from_document(document)


class ShowsPublic:
    """Private data whose `repr` holds public facts alone: no value, no number of records."""

    __slots__ = ()

    @property
    def public(self) -> Public:
        """What is public about the data."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.public.brief()})"

    def _repr_html_(self) -> str:
        return show_facts(f"private {self.public.kind}", self.public.facts())


def check_count(name: str, count: Any, *, least: int = 0) -> None:
    """Refuse a declared number of records that is none.

    Parameters
    ----------
    name
        What it is called where it was declared.
    count
        What was declared.
    least
        The least that is allowed.
    """
    if isinstance(count, bool) or not isinstance(count, int) or not least <= count <= MOST_RECORDS:
        raise ValueError(
            f"{name} must be a whole number from {least} to {MOST_RECORDS:,}; got {briefly(count)}"
        )
