"""A method: a recipe with public parameters, run through the one door.

A method implements `plan` and one `program`, which asks and never holds data
(`sfumato.privacy.program`). No method has a default epsilon or opens a budget.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, Self, TypeVar

from sfumato.privacy import door, registry
from sfumato.privacy.arguments import check_parameters, takes_public
from sfumato.privacy.guarantee import Basis, Guarantee, Relation, Unit
from sfumato.privacy.loss import Joint, Loss, Number, PureDP
from sfumato.privacy.loss_check import record_limit
from sfumato.privacy.parameters import (
    Epsilon,
    parameter,
    parse_parameters,
    read_parameters,
    rename_former,
)
from sfumato.privacy.plan import Plan
from sfumato.privacy.primitive import plain
from sfumato.privacy.program import DoesNotFollow, Program
from sfumato.privacy.release import Release
from sfumato.privacy.transcript import Transcript

if TYPE_CHECKING:
    from sfumato.privacy.arguments import LedgerLike
    from sfumato.privacy.budget import Budget
    from sfumato.privacy.session import Session


class Public(Protocol):
    """The public part of a data set: declared, never peeked at."""

    kind: ClassVar[str]

    @property
    def unit(self) -> Unit:
        """Whose contribution is hidden."""

    @property
    def relation(self) -> Relation:
        """What a neighbour is."""

    @property
    def contribution(self) -> int:
        """How many records of one unit are let in at most."""

    def assumptions(self) -> tuple[str, ...]:
        """Return what is taken as public, in words."""

    def to_json(self) -> dict[str, Any]:
        """Return a plain document."""

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Self:
        """Return the public part that `to_json` wrote."""


class PrivateData(Protocol):
    """A private data set with its public part apart."""

    @property
    def public(self) -> Any:
        """The public part."""

    def digest(self, key: bytes) -> bytes:
        """Return a keyed hash of the whole data set."""


DataT = TypeVar("DataT", bound=PrivateData)
ReleaseT = TypeVar("ReleaseT", bound=Release)


@dataclass(frozen=True, kw_only=True)
class Method(ABC, Generic[DataT, ReleaseT]):
    """A recipe that turns private data into a release.

    A concrete class is the only place that declares a method: its kind of data, its proof page and
    an example. Public names, the registry, the reference, the site and audits are derived from it
    (`make derive`).

    Parameters
    ----------
    epsilon
        The privacy loss for one unit of the data; there is no default.
    """

    kind: ClassVar[str]
    proof: ClassVar[str]
    #: Parameters with which the method has something to do on a few records. What it loses does not
    #: depend on them: audits and tests run with them.
    example: ClassVar[dict[str, Any]] = {}
    #: Why releases are small whatever is declared; empty where plans state their sizes.
    small: ClassVar[str] = ""

    #: Whether it finds the values of columns that nobody listed, or refuses such columns.
    discovers: ClassVar[bool] = False

    #: What parameters were called before → what they are called; saved releases may say either.
    former_names: ClassVar[dict[str, str]] = {}

    epsilon: Number = parameter(Epsilon())

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "kind" in cls.__dict__ or hasattr(cls, "kind"):
            registry.register(f"{cls.kind}.{cls.__name__}", cls)
        for name in {"plan", "guarantee"} & set(vars(cls)):
            setattr(cls, name, takes_public(vars(cls)[name]))

    def __new__(cls, *given: Any, **parameters: Any) -> Self:
        """Answer a call that cannot be meant before the dataclass does, with what to write."""
        check_parameters(cls, given, parameters)
        return super().__new__(cls)

    def __getnewargs_ex__(self) -> tuple[tuple[()], dict[str, Any]]:
        # Copies and pickles make the object anew, and a method is never made without epsilon.
        return (), {item.name: getattr(self, item.name) for item in fields(self)}

    def __post_init__(self) -> None:
        parse_parameters(self)

    @property
    def name(self) -> str:
        """The name under which certificates and ledgers know this method."""
        return f"{self.kind}.{type(self).__name__}"

    @property
    def basis(self) -> Basis:
        """The ground of the guarantee."""
        return Basis.PROVED

    def parameters(self) -> dict[str, Any]:
        """Return all parameters as a plain document."""
        return {item.name: plain(getattr(self, item.name)) for item in fields(self)}

    @classmethod
    def from_parameters(cls, document: dict[str, Any]) -> Self:
        """Return the method with the parameters that `parameters` wrote, now or earlier."""
        present = rename_former(cls, document)
        return cls(**read_parameters([item.name for item in fields(cls)], present))

    @classmethod
    def example_public(cls, relation: Relation | None = None, max_rows: int | None = None) -> Any:
        """Return the public part of a small data set that the method can be tried on.

        Parameters
        ----------
        relation
            What a neighbour is; `None` for the usual relation of this kind of data.
        max_rows
            How many records one person has at most; `None` where each record stands for itself.
        """
        return registry.resolve(f"public.{cls.kind}").example(relation, max_rows)

    @classmethod
    def example_method(cls, epsilon: Number, public: Any, **more: Any) -> Self:
        """Return the method with its example of parameters, for data with this public part.

        Parameters
        ----------
        epsilon
            The privacy loss.
        public
            The public part of the data.
        more
            Further parameters, which go before those of the example.
        """
        return cls(epsilon=epsilon, **{**cls.example, **more})

    def loss(self) -> Loss:
        """Return the headline loss for one unit."""
        return PureDP(self.epsilon)

    def working_loss(self) -> Loss:
        """Return the loss for one unit in the measure in which the budget is counted."""
        return self.loss()

    def budget_loss(self, public: Any) -> Loss:
        """Return the loss for one unit in the measure in which the budget of these data counts."""
        return self.working_loss()

    def record_budget(self, public: Any) -> tuple[Loss, Relation]:
        """Return the loss for one record, and its relation, in which the budget is opened."""
        return record_limit(self.working_loss(), public)

    @takes_public
    def guarantee(self, public: Any) -> Guarantee:
        """Return what a release of data with this public part will promise."""
        headline, working = self.loss(), self.budget_loss(public)
        return Guarantee(
            loss=headline,
            # A joint loss is a way of counting, which nobody else can go on from.
            also=() if working == headline or isinstance(working, Joint) else (working,),
            unit=public.unit,
            relation=public.relation,
            contribution=public.contribution,
            public=public.assumptions(),
            # Only data of which something public was taken from the private part have this.
            excludes=getattr(public, "excludes", ""),
            basis=self.basis,
            proof=self.proof,
        )

    def check(self, public: Any) -> None:
        """Raise `ValueError` where the parameters do not fit the public part; costs nothing."""
        if public.kind != self.kind:
            raise ValueError(
                f"{type(self).__name__} needs data of kind {self.kind!r}; got {public.kind!r}"
            )
        # Only tables have this.
        unlisted = () if self.discovers else getattr(public, "undiscovered", ())
        names = self.uses(public) if unlisted else None
        used = [public.columns[n] for n in unlisted if names is None or public.columns[n] in names]
        if used:
            raise ValueError(
                f"{type(self).__name__} cannot find the values of {', '.join(map(repr, used))}, "
                'declared with values = "discover"; list the values in the schema, or remove the '
                "column from it"
            )

    def uses(self, public: Any) -> tuple[str, ...] | None:
        """Return the columns that a release looks at, `None` for all; others are not published."""
        return None

    def trial(self) -> Self:
        """Return a method that goes through the same steps, sooner: it is tried before booking."""
        return self

    def trials(self, public: Any) -> list[tuple[Method[Any, Any], Any]]:
        """Return what is tried before booking: methods, each with a public part.

        The sizes of all trials together are reserved for the release.
        """
        return [(self.trial(), public)]

    @abstractmethod
    def plan(self, public: Any) -> Plan:
        """Return the privacy loss and the expected error of a release, before anything is spent."""

    @abstractmethod
    def program(self, public: Any, budget: Budget) -> Program[ReleaseT]:
        """Ask for what the release needs, one request after another, and return the release.

        Parameters
        ----------
        public
            The public part of the data.
        budget
            What the requests may spend, for one record.
        """

    def program_of(self, public: Any, budget: Budget, transcript: Transcript) -> Program[ReleaseT]:
        """Return the program that made a transcript: for most methods, the only one they have."""
        return self.program(public, budget)

    def release(self, data: DataT, ledger: LedgerLike = None) -> ReleaseT:
        """Release the data once.

        Parameters
        ----------
        data
            The private data.
        ledger
            The account in which the loss is booked before the data are touched, or the path of its
            file. Without one the guarantee states that it was not composed with other releases.
        """
        release: ReleaseT = door.release(self, data, ledger)
        return release


@dataclass(frozen=True, kw_only=True)
class InteractiveMethod(Method[DataT, ReleaseT]):
    """A method that answers questions one after another inside one booked total."""

    @abstractmethod
    def answer(self, public: Any, budget: Budget, question: Any, number: int) -> Program[Any]:
        """Make one request for a question, labelled by `question_label`, and return the answer.

        It is paid from a slice of its own, whose size does not depend on what is left: a question
        is answered on the transcript without those before it.

        Parameters
        ----------
        public
            The public part of the data.
        budget
            The budget of the session.
        question
            What `parse_question` returned.
        number
            How many questions were answered before.
        """

    @abstractmethod
    def collect(self, public: Any, questions: Sequence[Any], answers: Sequence[Any]) -> ReleaseT:
        """Return the release of a session: its questions with their answers."""

    @classmethod
    def example_questions(cls, public: Any) -> list[Any]:
        """Return questions whose answers change, all of them, on every canonical pair of data."""
        raise NotImplementedError(f"{cls.__name__} declares no example of questions")

    @abstractmethod
    def parse_question(self, public: Any, question: Any) -> Any:
        """Return a well-formed question, or raise `ValueError` before anything is spent."""

    def used_columns(self, public: Any, transcript: Transcript) -> tuple[str, ...] | None:
        """Return the columns that the questions of a session named, `None` for all."""
        return None

    def asked(self, public: Any, parsed: Any) -> Any:
        """Return the question that `parse_question` reads as this, from the label of an answer."""
        return parsed

    def program(self, public: Any, budget: Budget) -> Program[ReleaseT]:
        """Refuse: what is asked is not known before."""
        raise TypeError(f"{type(self).__name__} answers questions; call open, then ask")

    def program_of(self, public: Any, budget: Budget, transcript: Transcript) -> Program[ReleaseT]:
        """Ask the questions of a session again, read from the labels of its answers."""
        from sfumato.privacy.session import question_label

        questions, answers = [], []
        for number, entry in enumerate(transcript):
            question = self.asked(public, json.loads(entry.label.partition(" ")[2]))
            parsed = self.parse_question(public, question)
            if question_label(number, parsed) != entry.label:
                raise DoesNotFollow(f"{entry.label!r} is not the label of question {number}")
            questions.append(parsed)
            answers.append((yield from self.answer(public, budget, parsed, number)))
        return self.collect(public, questions, answers)

    def release(self, data: DataT, ledger: LedgerLike = None) -> ReleaseT:
        """Refuse: a session is opened, asked and closed."""
        raise TypeError(f"{type(self).__name__} answers questions; call open, then ask")

    def open(self, data: DataT, ledger: LedgerLike = None) -> Session:
        """Open a session; its whole loss is booked now, whatever is asked later."""
        return door.open_session(self, data, ledger)


@dataclass(frozen=True, kw_only=True)
class LocalMethod(Method[DataT, ReleaseT]):
    """A method that runs on the client's side: one value in, one randomised report out."""

    @classmethod
    def example_public(cls, relation: Relation | None = None, max_rows: int | None = None) -> Any:
        """Return the public part that the example itself declares: one report, replaced."""
        if relation is Relation.ADD_REMOVE or max_rows is not None:
            raise ValueError(
                f"{cls.__name__} hides one answer of a client, replaced by another: leave relation "
                "and max_rows out"
            )
        # How much is lost does not decide what is asked.
        example: Any = cls.example_method(1, None)
        return example.public

    def perturb(self, value: Any, ledger: LedgerLike = None) -> Any:
        """Return a randomised report of one's own value."""
        return door.perturb(self, value, ledger)

    @abstractmethod
    def own(self, value: Any) -> DataT:
        """Return one client's value as private data, or raise `ValueError`."""


AnyMethod = Method[Any, Any]
