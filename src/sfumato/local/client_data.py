"""Clients' own answers, as private data with a public list of possible answers.

One client holds one answer. Where many clients are simulated, or a custodian randomises answers
that were collected before, each of them still makes one report of its own.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.noise.exact import exact
from sfumato.privacy.guarantee import Relation, Unit
from sfumato.privacy.parameters import CLOSEST, Constraint, Extreme, read_exact

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
        raise ValueError("a one-dimensional array of whole numbers is needed, one per client")
    numbers = given.astype(np.int64, copy=False)
    # One look at all of them: read without a sign, a negative number is beyond every bound.
    if numbers.size and numbers.view(np.uint64).max() >= bound:
        raise ValueError(
            f"every client's number must be from 0 to {bound - 1}; what was given is not shown "
            "because it is private"
        )
    return np.ascontiguousarray(numbers)


# Clients' own numbers, as private data with public bounds, read on a public grid.


@dataclass(frozen=True)
class Bound(Constraint):
    """A finite number, kept as an exact fraction."""

    allowed = "a finite number"

    def parse(self, value: Any) -> Fraction:
        """Return the number as a fraction."""
        number = read_exact(value)
        if abs(number) > 1 / CLOSEST:
            raise Extreme("from -1e100 to 1e100")
        return number


@dataclass(frozen=True)
class NumberPublic:
    """What is public about clients' numbers: their bounds, the grid they are read on, how many.

    Parameters
    ----------
    low, high
        The declared bounds; a number beyond them is read as the nearer one.
    steps
        How many steps the grid between them has.
    clients
        How many clients report, once each.
    """

    kind: ClassVar[str] = "number"

    low: Fraction
    high: Fraction
    steps: int
    clients: int = 1
    unit: Unit = Unit.REPORT
    relation: Relation = Relation.REPLACE_ONE
    contribution: int = 1

    def assumptions(self) -> tuple[str, ...]:
        """Return what is taken as public, in words."""
        return (f"the bounds {self.low} and {self.high}", f"that {self.clients:,} reported")

    def to_json(self) -> dict[str, Any]:
        """Return a plain document."""
        return {
            "low": str(self.low),
            "high": str(self.high),
            "steps": self.steps,
            "clients": self.clients,
        }

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> NumberPublic:
        """Return the public part that `to_json` wrote."""
        low, high = Fraction(document["low"]), Fraction(document["high"])
        return cls(low, high, document["steps"], document["clients"])


class OwnNumber:
    """One client's own number, or the numbers of many clients, one each.

    Parameters
    ----------
    value
        A number, or an array with one for each client.
    public
        The bounds and the grid.
    """

    __slots__ = ("_step", "public")

    def __init__(self, value: Any, public: NumberPublic) -> None:
        many = isinstance(value, np.ndarray)
        self._step: int | NDArray[np.int64] = (
            steps_of(value, public) if many else step_of(value, public)
        )
        self.public = replace(public, clients=len(value)) if many else public

    def __repr__(self) -> str:
        return f"OwnNumber(from {self.public.low} to {self.public.high})"

    @property
    def input(self) -> int | NDArray[np.int64]:
        """The step of the grid that is nearest to the number. Private."""
        return self._step

    def digest(self, key: bytes) -> bytes:
        """Return a keyed hash that binds a ledger: to one client, or to the numbers of many."""
        if not isinstance(self._step, np.ndarray):
            return own_client(key)
        public = self.public
        head = f"{public.low} {public.high} {public.steps} {public.clients} ".encode()
        return hmac.new(key, head + self._step.tobytes(), hashlib.sha256).digest()


def step_of(value: Any, public: NumberPublic) -> int:
    """Return the step of a grid that is nearest to one number, in exact arithmetic.

    Parameters
    ----------
    value
        The number.
    public
        The bounds and the grid.
    """
    number = None
    with suppress(TypeError, ValueError):
        number = exact(value)
    if number is None:
        # Raised outside the handler: the error of `exact` repeats the private number.
        raise ValueError(
            "a finite number is needed; what was given is not shown because it is private"
        )
    inside = min(max(number, public.low), public.high)
    return round((inside - public.low) / (public.high - public.low) * public.steps)


def steps_of(values: NDArray[Any], public: NumberPublic) -> NDArray[np.int64]:
    """Return the steps of a grid that are nearest to many numbers, up to rounding of floats.

    Each client's step is a function of its own number alone.

    Parameters
    ----------
    values
        The numbers.
    public
        The bounds and the grid.
    """
    if values.ndim != 1 or values.dtype.kind not in "iuf" or not np.isfinite(values).all():
        raise ValueError("a one-dimensional array of finite numbers is needed, one per client")
    low, high = float(public.low), float(public.high)
    shares = (np.clip(values.astype(np.float64), low, high) - low) / (high - low)
    return np.clip(np.rint(shares * public.steps), 0, public.steps).astype(np.int64)


# One client's own answers to several questions, as private data with public questions.
#
# Nothing here is shown: errors tell which answers there are, never which one was given.


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
                "a record must be a dictionary with one answer for each of the questions "
                f"{', '.join(names)}"
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
                f"whole numbers are needed, one row per client and {len(sizes)} columns"
            )
        if given.size and not ((given >= 0) & (given < sizes)).all():
            raise ValueError(
                "every number must be the number of an answer; what was given is not shown "
                "because it is private"
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
