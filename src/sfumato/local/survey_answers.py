"""One respondent's answers to the questions of a survey, randomised together through one door.

The loss of all reports is booked before the first is drawn, in the respondent's own ledger if there
is one. The ledger belongs to the person, whatever they answer: its data set is the person.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from sfumato.local.queries import OwnPart
from sfumato.local.survey import Item
from sfumato.noise.exact import briefly
from sfumato.privacy.budget import Budget
from sfumato.privacy.canonical import canonical
from sfumato.privacy.guarantee import Relation, Unit
from sfumato.privacy.loss import Number, PureDP
from sfumato.privacy.method import LocalMethod
from sfumato.privacy.parameters import Constraint, parameter
from sfumato.privacy.plan import Plan, PlanStep
from sfumato.privacy.program import Ask, Program

__all__ = ["OwnRespondent", "RespondentPublic", "SurveyAnswers"]


@dataclass(frozen=True)
class RespondentPublic:
    """What is public about one person's answers: which questions are answered.

    Parameters
    ----------
    names
        The questions.
    sizes
        How many different answers each has.
    """

    kind: ClassVar[str] = "respondent"

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    unit: Unit = Unit.PERSON
    relation: Relation = Relation.REPLACE_ONE
    contribution: int = 1

    def assumptions(self) -> tuple[str, ...]:
        """Return what is taken as public, in words."""
        return (f"the {len(self.names)} questions and their answers", "that this person reported")

    def to_json(self) -> dict[str, Any]:
        """Return a plain document."""
        return {"names": list(self.names), "sizes": list(self.sizes)}

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> RespondentPublic:
        """Return the public part that `to_json` wrote."""
        return cls(tuple(document["names"]), tuple(document["sizes"]))


class OwnRespondent:
    """One person's own answers.

    Parameters
    ----------
    numbers
        The numbers of the answers, in the order of the questions.
    public
        The questions.
    """

    __slots__ = ("_numbers", "public")

    def __init__(self, numbers: Iterable[int], public: RespondentPublic) -> None:
        self._numbers = tuple(numbers)
        self.public = public

    def __repr__(self) -> str:
        return f"OwnRespondent({len(self.public.names)} questions)"

    @property
    def input(self) -> tuple[int, ...]:
        """The numbers of the answers. Private."""
        return self._numbers

    def digest(self, key: bytes) -> bytes:
        """Return a keyed hash that is the same for all answers of this person, now and later."""
        return hmac.new(key, b"sfumato respondent", hashlib.sha256).digest()


@dataclass(frozen=True)
class Documents(Constraint):
    """The items of a survey, as the text of their documents: so they say the same everywhere."""

    allowed = "the items of a survey, at least one"

    def parse(self, value: Any) -> tuple[str, ...]:
        """Return the documents as texts."""
        texts = tuple(
            canonical(item.to_json()).decode() if isinstance(item, Item) else item for item in value
        )
        if not texts or not all(isinstance(text, str) for text in texts):
            raise TypeError
        return texts


def _read_item(text: str) -> Item:
    """Return the item that a document describes, or say that it describes none."""
    try:
        return Item.from_json(dict(json.loads(text)))
    except ValueError as failure:
        raise ValueError(f"items must be items of a survey: {failure}") from None
    except (KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        raise ValueError(f"items must be items of a survey; got {briefly(text)}") from None


@dataclass(frozen=True, kw_only=True)
class SurveyAnswers(LocalMethod[OwnRespondent, Any]):
    """Randomise the answers of one person to several questions of a survey.

    Parameters
    ----------
    epsilon
        Total privacy loss of all answers: the sum of the losses of the reports.
    items
        The questions of the survey that are answered.

    Notes
    -----
    Privacy: each report is drawn independently, and the losses add up; a permanent report is drawn
    once and repeated afterwards (docs/proofs/permanent-answers.md).
    """

    kind: ClassVar[str] = "respondent"
    proof: ClassVar[str] = "permanent-answers.md"
    small: ClassVar[str] = "one report per question"

    items: Any = parameter(Documents())

    @classmethod
    def example_method(cls, epsilon: Number, public: Any, **more: Any) -> SurveyAnswers:
        """Return the answers to a questionnaire of three questions, whose reports share epsilon."""
        from sfumato.local.multi_response import MultiResponse
        from sfumato.local.questionnaire import Questionnaire

        questions = MultiResponse.example["questions"].items()
        asked = [{"name": name, "ask": name, "answers": answers} for name, answers in questions]
        written = Questionnaire.of({"survey": {"epsilon": epsilon}, "question": asked})
        return cls.to(written.survey().items)

    def __post_init__(self) -> None:
        super().__post_init__()
        total = sum((item.epsilon for item in self.asked), Fraction(0))
        if total != Fraction(self.epsilon):
            raise ValueError(
                f"epsilon must be the total privacy loss of the reports, {total}; got "
                f"{self.epsilon}"
            )

    @classmethod
    def to(cls, items: tuple[Item, ...]) -> SurveyAnswers:
        """Return the method for some items of a survey, with what they cost."""
        return cls(epsilon=sum((item.epsilon for item in items), Fraction(0)), items=items)

    @property
    def asked(self) -> tuple[Item, ...]:
        """The items, read from their documents."""
        return tuple(_read_item(text) for text in self.items)

    @property
    def public(self) -> RespondentPublic:
        """What is public about everybody who answers."""
        asked = self.asked
        return RespondentPublic(
            tuple(item.name for item in asked),
            tuple(item.design.primitive.inputs for item in asked),
        )

    def own(self, value: Mapping[str, Any]) -> OwnRespondent:
        """Return a person's answers as private data."""
        return OwnRespondent((item.number(value) for item in self.asked), self.public)

    def check(self, public: RespondentPublic) -> None:
        """Raise where other questions were answered."""
        super().check(public)
        if public != self.public:
            raise ValueError("the answers are for other questions than those of the survey")

    def plan(self, public: RespondentPublic) -> Plan:
        """Return what each report costs."""
        self.check(public)
        steps = tuple(
            PlanStep(
                what=item.name,
                loss=PureDP(item.epsilon),
                noise=item.design.plan(item.design.public).steps[0].noise,
                error="it depends on how many report",
            )
            for item in self.asked
        )
        return Plan(method=self.name, guarantee=self.guarantee(public), steps=steps)

    def program(self, public: RespondentPublic, budget: Budget) -> Program[dict[str, Any]]:
        """Ask for the reports, each paid by itself."""
        asked = self.asked
        said = yield [
            Ask(
                budget.take(PureDP(item.epsilon), item.name),
                item.design.primitive,
                OwnPart(place),
                item.name,
            )
            for place, item in enumerate(asked)
        ]
        return {item.name: plain_report(item, one) for item, one in zip(asked, said, strict=True)}


def plain_report(item: Item, said: Any) -> Any:
    """Return what a primitive said as it goes over the wire."""
    (report,) = item.design.decode(item.design.primitive.rows([said]))
    return report
