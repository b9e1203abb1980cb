"""One client's own answer, as private data with a public list of possible answers."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from typing import Any, ClassVar

from sfumato.privacy.guarantee import Relation, Unit


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
            listed = ", ".join(public.answers[:20])
            more = " …" if len(public.answers) > 20 else ""
            raise ValueError(
                f"the answer must be one of {listed}{more}; what was given is not shown because it "
                "is private"
            )
        self._number = public.answers.index(answer)
        self.public = public

    def __repr__(self) -> str:
        return f"OwnAnswer(one of {len(self.public.answers)})"

    @property
    def number(self) -> int:
        """The number of the answer. Private."""
        return self._number

    def digest(self, key: bytes) -> bytes:
        """Return a keyed hash of the answer, which binds a client's ledger to it."""
        text = f"{len(self.public.answers)} {self._number}".encode()
        return hmac.new(key, text, hashlib.sha256).digest()
