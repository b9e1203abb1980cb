"""A small kind of data and a few methods on it, good and bad, to test the door with."""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from sfumato.mechanisms.laplace import GeometricNoise
from sfumato.privacy import registry
from sfumato.privacy.budget import Budget
from sfumato.privacy.guarantee import Relation, Unit
from sfumato.privacy.loss import PureDP
from sfumato.privacy.method import InteractiveMethod, Method
from sfumato.privacy.parameters import Whole, parameter
from sfumato.privacy.plan import Plan, PlanStep
from sfumato.privacy.program import FINISH, Ask, Program, Query
from sfumato.privacy.release import Release
from sfumato.privacy.session import question_label


@dataclass(frozen=True)
class TallyPublic:
    kind: ClassVar[str] = "tally"
    values: int
    unit: Unit = Unit.ROW
    relation: Relation = Relation.ADD_REMOVE
    contribution: int = 1

    def assumptions(self) -> tuple[str, ...]:
        return (f"the {self.values} values",)

    def to_json(self) -> dict[str, Any]:
        return {
            "values": self.values,
            "unit": str(self.unit),
            "relation": str(self.relation),
            "contribution": self.contribution,
        }

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> TallyPublic:
        return cls(
            document["values"],
            Unit(document["unit"]),
            Relation(document["relation"]),
            document["contribution"],
        )

    def make_synthetic(self, rows: int, generator: np.random.Generator) -> Tally:
        return Tally(generator.integers(0, self.values, rows), self)


registry.register("public.tally", TallyPublic)


class Tally:
    def __init__(self, codes: Any, public: TallyPublic) -> None:
        self.codes = np.asarray(codes, dtype=np.int64)
        self.public = public

    def counts(self) -> np.ndarray:
        return np.bincount(self.codes, minlength=self.public.values).astype(np.int64)

    def digest(self, key: bytes) -> bytes:
        return hmac.digest(key, self.codes.tobytes(), "sha256")


@dataclass(frozen=True)
class TallyCounts(Query):
    """How often each value occurs."""

    def answer(self, data: Tally) -> np.ndarray:
        return data.counts()


@dataclass(frozen=True)
class OneCount(Query):
    """How often one value occurs."""

    value: int

    def answer(self, data: Tally) -> np.ndarray:
        return data.counts()[self.value : self.value + 1]


class TallyRelease(Release):
    kind = "tally"

    def __init__(self, counts: Any) -> None:
        self.counts = np.asarray(counts)

    def files(self) -> dict[str, bytes]:
        return {"counts.csv": "\n".join(map(str, self.counts.tolist())).encode()}

    def agrees(self, files: dict[str, bytes]) -> bool:
        return files == self.files()

    def words(self) -> str:
        return "Counts."

    def plot(self) -> Any:
        return None


@dataclass(frozen=True, kw_only=True)
class NoisyTally(Method[Tally, TallyRelease]):
    kind: ClassVar[str] = "tally"
    proof: ClassVar[str] = "noisy-counts.md"

    def plan(self, public: TallyPublic) -> Plan:
        return Plan(
            method=self.name,
            guarantee=self.guarantee(public),
            steps=(PlanStep(what="counts", loss=self.loss(), noise="-", error="-"),),
        )

    def _noise(self, public: TallyPublic, budget: Budget) -> GeometricNoise:
        sensitivity = 1 if budget.relation is Relation.ADD_REMOVE else 2
        return GeometricNoise(
            shape=(public.values,),
            sensitivity=Fraction(sensitivity),
            epsilon=budget.remaining.epsilon,
        )

    def program(self, public: TallyPublic, budget: Budget) -> Program[TallyRelease]:
        counts = yield Ask(budget, self._noise(public, budget), TallyCounts(), "counts")
        return TallyRelease(counts)


#: What queries that break the rules put aside.
BACK_ROOM: dict[str, Any] = {}


@dataclass(frozen=True)
class LeakingCounts(TallyCounts):
    """Put the data aside while they are counted, where a program could find them."""

    def answer(self, data: Tally) -> np.ndarray:
        BACK_ROOM["data"] = data
        return data.counts()


@dataclass(frozen=True)
class HidingCounts(TallyCounts):
    """Hide the true counts on the method."""

    method: Any

    def answer(self, data: Tally) -> np.ndarray:
        object.__setattr__(self.method, "hidden", data.counts())
        return data.counts()


@dataclass(frozen=True)
class ScribblingCounts(TallyCounts):
    """Write the number of rows into the method's parameters and into the public part."""

    method: Any

    def answer(self, data: Tally) -> np.ndarray:
        counts = data.counts()
        object.__setattr__(self.method, "note", int(data.codes.size))
        object.__setattr__(data.public, "values", 4)
        object.__setattr__(data.public, "contribution", int(data.codes.size))
        object.__setattr__(data.public, "contribution", 1)
        return counts


@dataclass(frozen=True)
class BreakingCounts(TallyCounts):
    """Break down with a private value in the message, but not on one made-up row."""

    def answer(self, data: Tally) -> np.ndarray:
        if data.codes.size > 1:
            raise KeyError(f"secret {data.codes.tolist()}")
        return data.counts()


@dataclass(frozen=True, kw_only=True)
class Smuggler(NoisyTally):
    """Hides the true counts on itself while it measures, and publishes them."""

    def program(self, public: TallyPublic, budget: Budget) -> Program[TallyRelease]:
        yield Ask(budget, self._noise(public, budget), HidingCounts(self), "counts")
        yield FINISH
        return TallyRelease(self.hidden)


@dataclass(frozen=True, kw_only=True)
class BackRoom(NoisyTally):
    """Hides the true counts in a module variable, and publishes them."""

    def program(self, public: TallyPublic, budget: Budget) -> Program[TallyRelease]:
        counts = yield Ask(budget, self._noise(public, budget), LeakingCounts(), "counts")
        return TallyRelease(BACK_ROOM["data"].counts() if BACK_ROOM else counts)


@dataclass(frozen=True, kw_only=True)
class Scribbler(NoisyTally):
    """Writes the true counts into its own parameters and into the public part."""

    note: int = parameter(Whole(0), 1)

    def program(self, public: TallyPublic, budget: Budget) -> Program[TallyRelease]:
        counts = yield Ask(budget, self._noise(public, budget), ScribblingCounts(self), "counts")
        return TallyRelease(counts)


@dataclass(frozen=True, kw_only=True)
class Understater(NoisyTally):
    """States less than it may spend."""

    def working_loss(self) -> PureDP:
        return PureDP(100)


@dataclass(frozen=True, kw_only=True)
class SlicePeeker(NoisyTally):
    """Publishes the number of rows in the name of a slice."""

    def program(self, public: TallyPublic, budget: Budget) -> Program[TallyRelease]:
        part = budget.take("1/2", "first")
        counts = yield Ask(part, self._noise(public, part), LeakingCounts(), "counts")
        budget.take("1/2", f"slice {BACK_ROOM['data'].codes.size}")
        return TallyRelease(counts)


@dataclass(frozen=True, kw_only=True)
class Spendthrift(NoisyTally):
    """Measures twice with the whole budget, but not on one made-up row."""

    def program(self, public: TallyPublic, budget: Budget) -> Program[TallyRelease]:
        noise = self._noise(public, budget)
        counts = yield Ask(budget, noise, LeakingCounts(), "counts")
        if BACK_ROOM["data"].codes.size > 1:
            yield Ask(budget, noise, TallyCounts(), "again")
        return TallyRelease(counts)


@dataclass(frozen=True, kw_only=True)
class Clumsy(NoisyTally):
    """Breaks down with a private value in its message, but not on one made-up row."""

    def program(self, public: TallyPublic, budget: Budget) -> Program[TallyRelease]:
        counts = yield Ask(budget, self._noise(public, budget), BreakingCounts(), "counts")
        return TallyRelease(counts)


@dataclass(frozen=True, kw_only=True)
class Peeker(NoisyTally):
    """Lets the data decide how much noise there is."""

    def program(self, public: TallyPublic, budget: Budget) -> Program[TallyRelease]:
        first = budget.take("1/2", "first")
        yield Ask(first, self._noise(public, first), LeakingCounts(), "first")
        share = Fraction(1, 4) if BACK_ROOM["data"].codes.size > 3 else Fraction(1, 2)
        part = budget.take(share, "part")
        counts = yield Ask(part, self._noise(public, part), TallyCounts(), "counts")
        return TallyRelease(counts)


@dataclass(frozen=True, kw_only=True)
class HalfNoise(NoisyTally):
    """Declares half the sensitivity."""

    def _noise(self, public: TallyPublic, budget: Budget) -> GeometricNoise:
        return GeometricNoise(
            shape=(public.values,),
            sensitivity=Fraction(1, 2),
            epsilon=budget.remaining.epsilon,
        )


@dataclass(frozen=True, kw_only=True)
class Asker(InteractiveMethod[Tally, TallyRelease]):
    """Answers how often a value occurs; four questions."""

    kind: ClassVar[str] = "tally"
    proof: ClassVar[str] = "noisy-counts.md"

    def plan(self, public: TallyPublic) -> Plan:
        return Plan(method=self.name, guarantee=self.guarantee(public), steps=())

    def parse_question(self, public: TallyPublic, question: Any) -> int:
        if not 0 <= question < public.values:
            raise ValueError("no such value")
        return int(question)

    def answer(
        self, public: TallyPublic, budget: Budget, question: int, number: int
    ) -> Program[int]:
        share = budget.take(Fraction(1, 4), str(number))
        noise = GeometricNoise(shape=(1,), sensitivity=Fraction(1), epsilon=share.remaining.epsilon)
        label = question_label(number, question)
        noisy = yield Ask(share, noise, self._query(question), label)
        return int(noisy[0])

    def _query(self, question: int) -> OneCount:
        return OneCount(question)

    def collect(self, public: TallyPublic, questions: Any, answers: Any) -> TallyRelease:
        return TallyRelease(answers)


@dataclass(frozen=True)
class HidingCount(OneCount):
    """Hide the true counts on the method."""

    method: Any

    def answer(self, data: Tally) -> np.ndarray:
        object.__setattr__(self.method, "seen", data.counts())
        return super().answer(data)


@dataclass(frozen=True, kw_only=True)
class PeekingAsker(Asker):
    """Keeps the true counts for its answer."""

    def _query(self, question: int) -> OneCount:
        return HidingCount(question, self)

    def answer(
        self, public: TallyPublic, budget: Budget, question: int, number: int
    ) -> Program[int]:
        yield from super().answer(public, budget, question, number)
        yield FINISH
        return int(self.seen[question])
