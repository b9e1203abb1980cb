"""One client's own answers to several questions, as private data with public questions.

Nothing here is shown: errors tell which answers there are, never which one was given.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.local.own import AnswerPublic, OwnAnswer, own_client
from sfumato.privacy.guarantee import Relation, Unit

__all__ = ["OwnRecord", "OwnRecords", "RecordPublic", "RecordsPublic"]

Questions = tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True)
class RecordPublic:
    """What is public about one client's answers: the questions and their possible answers.

    Parameters
    ----------
    questions
        The name and the possible answers of each question.
    """

    kind: ClassVar[str] = "record"

    questions: Questions
    unit: Unit = Unit.REPORT
    relation: Relation = Relation.REPLACE_ONE
    contribution: int = 1

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many answers each question has."""
        return tuple(len(answers) for _, answers in self.questions)

    def assumptions(self) -> tuple[str, ...]:
        """Return what is taken as public, in words."""
        return (
            f"the {len(self.questions)} questions and their possible answers",
            "that this client reported",
        )

    def to_json(self) -> dict[str, Any]:
        """Return a plain document."""
        return {"questions": [[name, list(answers)] for name, answers in self.questions]}

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> RecordPublic:
        """Return the public part that `to_json` wrote."""
        return cls(_questions(document))


@dataclass(frozen=True)
class RecordsPublic(RecordPublic):
    """What is public about the answers of many clients: the questions, and how many reported.

    Parameters
    ----------
    questions
        The name and the possible answers of each question.
    clients
        How many clients report, once each.
    """

    clients: int = 0

    def assumptions(self) -> tuple[str, ...]:
        """Return what is taken as public, in words."""
        return (super().assumptions()[0], f"that {self.clients:,} reported")

    def to_json(self) -> dict[str, Any]:
        """Return a plain document."""
        return {**super().to_json(), "clients": self.clients}

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> RecordsPublic:
        """Return the public part that `to_json` wrote."""
        return cls(_questions(document), clients=document["clients"])


def _questions(document: dict[str, Any]) -> Questions:
    """Return the questions of a document."""
    return tuple((name, tuple(answers)) for name, answers in document["questions"])


class OwnRecord:
    """One client's own answers.

    Parameters
    ----------
    answers
        The answer to each question, by its name.
    public
        Which questions and answers there are.
    """

    __slots__ = ("_numbers", "public")

    def __init__(self, answers: Mapping[str, str], public: RecordPublic) -> None:
        names = [name for name, _ in public.questions]
        if not isinstance(answers, Mapping) or set(answers) != set(names):
            raise ValueError(
                f"a record has one answer for each of the questions {', '.join(names)}, by name"
            )
        self._numbers = tuple(
            OwnAnswer(answers[name], AnswerPublic(options)).input
            for name, options in public.questions
        )
        self.public = public

    def __repr__(self) -> str:
        return f"OwnRecord({len(self.public.questions)} questions)"

    @property
    def input(self) -> tuple[int, ...]:
        """The number of each answer. Private."""
        return self._numbers

    def digest(self, key: bytes) -> bytes:
        """Return a keyed hash that binds a ledger to this client, whatever the answers are."""
        return own_client(key)


class OwnRecords:
    """The answers of many clients to several questions.

    Parameters
    ----------
    codes
        The numbers of the answers, a row for each client and a column for each question.
    questions
        The name and the possible answers of each question.
    """

    __slots__ = ("_codes", "public")

    def __init__(self, codes: ArrayLike, questions: Questions) -> None:
        given = np.asarray(codes)
        sizes = np.array([len(answers) for _, answers in questions])
        if given.ndim != 2 or given.shape[1] != len(sizes) or given.dtype.kind not in "iu":
            raise ValueError(
                f"whole numbers are needed, a row for each client and {len(sizes)} columns"
            )
        if given.size and not ((given >= 0) & (given < sizes)).all():
            raise ValueError(
                "every number must be that of an answer; what was given is not shown because it "
                "is private"
            )
        self._codes = np.ascontiguousarray(given, dtype=np.int64)
        self.public = RecordsPublic(questions, clients=len(given))

    def __repr__(self) -> str:
        return f"OwnRecords({self.public.clients:,} clients)"

    @property
    def input(self) -> NDArray[np.int64]:
        """The numbers of the answers. Private."""
        return self._codes

    def digest(self, key: bytes) -> bytes:
        """Return a keyed hash of the answers, which binds a ledger to them."""
        head = f"{self.public.sizes} {self.public.clients} ".encode()
        return hmac.new(key, head + self._codes.tobytes(), hashlib.sha256).digest()
