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
from sfumato.privacy.release import Release
from sfumato.privacy.session import question_label
from sfumato.privacy.transcript import Transcript


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

    def made_up(self, rows: int, generator: np.random.Generator) -> Tally:
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

    def _measure(self, data: Tally, budget: Budget) -> None:
        budget.measure(self._noise(data.public, budget), data.counts(), label="counts")

    def _build(self, public: TallyPublic, transcript: Transcript) -> TallyRelease:
        return TallyRelease(transcript["counts"])


@dataclass(frozen=True, kw_only=True)
class Smuggler(NoisyTally):
    """Hides the true counts on itself while it measures, and publishes them."""

    def _measure(self, data: Tally, budget: Budget) -> None:
        super()._measure(data, budget)
        object.__setattr__(self, "hidden", data.counts())

    def _build(self, public: TallyPublic, transcript: Transcript) -> TallyRelease:
        return TallyRelease(self.hidden)


BACK_ROOM: dict[str, Any] = {}


@dataclass(frozen=True, kw_only=True)
class BackRoom(NoisyTally):
    """Hides the true counts in a module variable, and publishes them."""

    def _measure(self, data: Tally, budget: Budget) -> None:
        super()._measure(data, budget)
        BACK_ROOM["counts"] = data.counts()

    def _build(self, public: TallyPublic, transcript: Transcript) -> TallyRelease:
        return TallyRelease(BACK_ROOM.get("counts", transcript["counts"]))


@dataclass(frozen=True, kw_only=True)
class Scribbler(NoisyTally):
    """Writes the true counts into its own parameters and into the public part."""

    note: int = parameter(Whole(0), 1)

    def _measure(self, data: Tally, budget: Budget) -> None:
        super()._measure(data, budget)
        object.__setattr__(self, "note", int(data.codes.size))
        object.__setattr__(data.public, "values", 4)
        object.__setattr__(data.public, "contribution", int(data.codes.size))
        object.__setattr__(data.public, "contribution", 1)


@dataclass(frozen=True, kw_only=True)
class Understater(NoisyTally):
    """States less than it may spend."""

    def working_loss(self) -> PureDP:
        return PureDP(100)


@dataclass(frozen=True, kw_only=True)
class SlicePeeker(NoisyTally):
    """Publishes the number of rows in the name of a slice."""

    def _measure(self, data: Tally, budget: Budget) -> None:
        part = budget.take("1/2", f"slice {data.codes.size}")
        noise = GeometricNoise(
            shape=(data.public.values,), sensitivity=Fraction(1), epsilon=Fraction(1, 2)
        )
        budget.measure(noise, data.counts(), label="counts")
        assert part.limit


@dataclass(frozen=True, kw_only=True)
class Spendthrift(NoisyTally):
    """Measures twice with the whole budget, but not on one made-up row."""

    def _measure(self, data: Tally, budget: Budget) -> None:
        noise = self._noise(data.public, budget)
        budget.measure(noise, data.counts(), label="counts")
        if data.codes.size > 1:
            budget.measure(noise, data.counts(), label="again")


@dataclass(frozen=True, kw_only=True)
class Clumsy(NoisyTally):
    """Breaks down with a private value in its message, but not on one made-up row."""

    def _measure(self, data: Tally, budget: Budget) -> None:
        super()._measure(data, budget)
        if data.codes.size > 1:
            raise KeyError(f"secret {data.codes.tolist()}")


@dataclass(frozen=True, kw_only=True)
class Peeker(NoisyTally):
    """Lets the data decide how much noise there is."""

    def _measure(self, data: Tally, budget: Budget) -> None:
        share = Fraction(1, 2) if data.codes.size > 3 else Fraction(1)
        half = budget.take(share, "part")
        half.measure(self._noise(data.public, half), data.counts(), label="counts")


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

    def _ask(self, data: Tally, budget: Budget, question: int, number: int) -> None:
        share = budget.take(Fraction(1, 4), str(number))
        noise = GeometricNoise(shape=(1,), sensitivity=Fraction(1), epsilon=share.remaining.epsilon)
        counts = data.counts()[question : question + 1]
        share.measure(noise, counts, label=question_label(number, question))

    def _answer(
        self, public: TallyPublic, transcript: Transcript, question: int, number: int
    ) -> int:
        return int(transcript[question_label(number, question)][0])

    def _build(self, public: TallyPublic, transcript: Transcript) -> TallyRelease:
        return TallyRelease([int(entry.outputs[0][0]) for entry in transcript])


@dataclass(frozen=True, kw_only=True)
class PeekingAsker(Asker):
    """Keeps the true counts for its answer."""

    def _ask(self, data: Tally, budget: Budget, question: int, number: int) -> None:
        super()._ask(data, budget, question, number)
        object.__setattr__(self, "seen", data.counts())

    def _answer(
        self, public: TallyPublic, transcript: Transcript, question: int, number: int
    ) -> int:
        return int(self.seen[question])
