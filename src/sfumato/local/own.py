"""Clients' own answers, as private data with a public list of possible answers.

One client holds one answer. Where many clients are simulated, or a custodian randomises answers
that were collected before, each of them still makes one report of its own.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.privacy.guarantee import Relation, Unit

__all__ = [
    "AnswerPublic",
    "AnswersPublic",
    "OwnAnswer",
    "OwnAnswers",
    "own_client",
]

#: Answers that an error lists at most.
_LISTED = 20


def own_client(key: bytes) -> bytes:
    """Return a keyed hash that is the same for everything one client ever answers.

    A client's own ledger is bound to the client. Were it bound to an answer, it would refuse the
    next report or not according to the answers, and a report that is missing would tell of them.

    Parameters
    ----------
    key
        The secret of the ledger.
    """
    return hmac.new(key, b"sfumato client", hashlib.sha256).digest()


@dataclass(frozen=True)
class AnswerPublic:
    """What is public about one answer: which answers there are.

    Parameters
    ----------
    answers
        The possible answers.
    """

    kind: ClassVar[str] = "report"

    answers: tuple[str, ...]
    unit: Unit = Unit.REPORT
    relation: Relation = Relation.REPLACE_ONE
    contribution: int = 1

    def assumptions(self) -> tuple[str, ...]:
        """Return what is taken as public, in words."""
        return (f"the {len(self.answers)} possible answers", "that this client reported")

    def to_json(self) -> dict[str, Any]:
        """Return a plain document."""
        return {"answers": list(self.answers)}

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> AnswerPublic:
        """Return the public part that `to_json` wrote."""
        return cls(tuple(document["answers"]))


@dataclass(frozen=True)
class AnswersPublic(AnswerPublic):
    """What is public about the answers of many clients: which there are, and how many reported.

    Parameters
    ----------
    answers
        The possible answers.
    clients
        How many clients report, once each.
    """

    clients: int = 0

    def assumptions(self) -> tuple[str, ...]:
        """Return what is taken as public, in words."""
        return (f"the {len(self.answers)} possible answers", f"that {self.clients:,} reported")

    def to_json(self) -> dict[str, Any]:
        """Return a plain document."""
        return {"answers": list(self.answers), "clients": self.clients}

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> AnswersPublic:
        """Return the public part that `to_json` wrote."""
        return cls(tuple(document["answers"]), clients=document["clients"])


class OwnAnswer:
    """One client's own answer.

    Parameters
    ----------
    answer
        The answer, one of the public ones.
    public
        Which answers there are.
    """

    __slots__ = ("_number", "public")

    def __init__(self, answer: str, public: AnswerPublic) -> None:
        if answer not in public.answers:
            listed = ", ".join(public.answers[:_LISTED])
            more = " …" if len(public.answers) > _LISTED else ""
            raise ValueError(
                f"the answer must be one of {listed}{more}; what was given is not shown because it "
                "is private"
            )
        self._number = public.answers.index(answer)
        self.public = public

    def __repr__(self) -> str:
        return f"OwnAnswer(one of {len(self.public.answers)})"

    @property
    def input(self) -> int:
        """The number of the answer. Private."""
        return self._number

    def digest(self, key: bytes) -> bytes:
        """Return a keyed hash that binds a ledger to this client, whatever the answer is."""
        return own_client(key)


class OwnAnswers:
    """The answers of many clients, one each.

    Parameters
    ----------
    codes
        The number of each client's answer, from 0.
    answers
        Which answers there are.
    """

    __slots__ = ("_codes", "public")

    def __init__(self, codes: ArrayLike, answers: tuple[str, ...]) -> None:
        self._codes = whole_numbers(codes, len(answers))
        self.public = AnswersPublic(answers, clients=self._codes.size)

    def __repr__(self) -> str:
        return f"OwnAnswers({self.public.clients:,} clients)"

    @property
    def input(self) -> NDArray[np.int64]:
        """The numbers of the answers. Private."""
        return self._codes

    def digest(self, key: bytes) -> bytes:
        """Return a keyed hash of the answers, which binds a ledger to them."""
        head = f"{len(self.public.answers)} of {self._codes.size} clients ".encode()
        return hmac.new(key, head + self._codes.tobytes(), hashlib.sha256).digest()


def whole_numbers(codes: ArrayLike, bound: int) -> NDArray[np.int64]:
    """Return clients' whole numbers below a bound, one each, or refuse them without showing any.

    Parameters
    ----------
    codes
        The numbers.
    bound
        The number they are all below.
    """
    given = np.asarray(codes)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise ValueError("a line of whole numbers is needed, one for each client")
    numbers = given.astype(np.int64, copy=False)
    # One look at all of them: read without a sign, a negative number is beyond every bound.
    if numbers.size and numbers.view(np.uint64).max() >= bound:
        raise ValueError(
            f"every client's number must be from 0 to {bound - 1}; what was given is not shown "
            "because it is private"
        )
    return np.ascontiguousarray(numbers)
