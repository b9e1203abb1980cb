"""Several questions of one person, with the loss of the whole record told.

Answering every question at ε each costs the sum. So the total is what is given here, and it is
shared: each question gets a part of ε (split), or one question gets all of it (sample), or all
answers together are one answer out of all combinations (joint). Which is best is a matter of
arithmetic on public figures; no answer is looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import exp, prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from sfumato.local.choice import LONG
from sfumato.local.client_data import OwnRecord, OwnRecords, Questions, RecordPublic, RecordsPublic
from sfumato.local.design import Design
from sfumato.local.law import PureLaw
from sfumato.local.local_hash import LocalHash
from sfumato.local.queries import Own, OwnCombination, OwnPart
from sfumato.local.randomized import RandomizedResponse
from sfumato.local.record_reports import RecordReports
from sfumato.local.reports import Reports
from sfumato.local.subset import SubsetSelection, best_size
from sfumato.local.unary import UnaryEncoding
from sfumato.mechanisms.one_question import OneQuestion
from sfumato.noise.exact import exact
from sfumato.privacy import door
from sfumato.privacy.arguments import LedgerLike
from sfumato.privacy.budget import Budget
from sfumato.privacy.loss import PureDP
from sfumato.privacy.method import LocalMethod
from sfumato.privacy.parameters import Constraint, Flag, OneOf, is_list, parameter, read_text
from sfumato.privacy.plan import Plan, PlanStep
from sfumato.privacy.program import Ask, Program

__all__ = ["MultiResponse"]

KINDS: dict[str, type[Design]] = {
    "RandomizedResponse": RandomizedResponse,
    "UnaryEncoding": UnaryEncoding,
    "SubsetSelection": SubsetSelection,
    "LocalHash": LocalHash,
}


@dataclass(frozen=True)
class QuestionList(Constraint):
    """Named questions with their possible answers."""

    allowed = "a non-empty mapping of names of questions to lists of distinct answers"

    def parse(self, value: Any) -> Questions:
        """Return the questions as pairs of a name and its answers."""
        pairs = list(value.items()) if isinstance(value, Mapping) else list(value)
        found = tuple((read_text(name), _answers(answers)) for name, answers in pairs)
        names = [name for name, _ in found]
        if not found:
            raise TypeError
        if len(set(names)) != len(names) or any("*" in name for name in names):
            raise ValueError
        return found


def _answers(value: Any) -> tuple[str, ...]:
    """Return the answers of one question."""
    if not is_list(value):
        raise TypeError
    answers = tuple(read_text(answer) for answer in value)
    if not answers or len(set(answers)) != len(answers):
        raise ValueError
    return answers


@dataclass(frozen=True, kw_only=True)
class MultiResponse(LocalMethod[OwnRecord | OwnRecords, Any]):
    """Collect the answers to several questions from each person, under one total privacy loss.

    Parameters
    ----------
    epsilon
        Privacy loss for replacing all answers of one person by any others.
    questions
        A dictionary from the name of each question to its possible answers.
    how
        `"split"`: every answer is randomised with an equal part of epsilon. `"sample"`: each person
        answers one question, chosen uniformly, with all of epsilon. `"joint"`: the combination of
        all answers is randomised as one answer. `"auto"`: the one with the smallest mean variance
        for equally common answers.
    tables
        Whether tables of several questions are needed, besides the shares of each question. They
        cannot be estimated with `"sample"`; with `"split"` only if a report is itself an answer.
    design
        How an answer is randomised: `"RandomizedResponse"`, `"UnaryEncoding"`, `"SubsetSelection"`,
        `"LocalHash"`, or `"best"`, the best of these for the number of answers.

    Notes
    -----
    Privacy: the losses of the questions add up to ε (split), or the choice of the question does not
    depend on the answers (sample), or there is one ε-DP report (joint); ε-DP for the whole record
    in each case (docs/proofs/local-records.md).

    Examples
    --------
    >>> survey = MultiResponse(
    ...     epsilon=2, questions={"smokes": ["yes", "no"], "age": ["young", "old"]}, how="split"
    ... )
    >>> sorted(survey.perturb({"smokes": "no", "age": "old"}))
    ['age', 'smokes']
    """

    kind: ClassVar[str] = "record"
    proof: ClassVar[str] = "local-records.md"
    example: ClassVar[dict[str, Any]] = {
        "questions": {
            "smokes": ["no", "yes"],
            "age": ["young", "middle", "old"],
            "insured": ["no", "yes"],
        },
        "how": "split",
    }
    small: ClassVar[str] = "one report per question"

    questions: Any = parameter(QuestionList())
    how: str = parameter(OneOf(("auto", "split", "sample", "joint")), "auto")
    tables: Any = parameter(Flag(), False)
    design: str = parameter(OneOf(("best", *KINDS)), "best")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.how == "joint" and prod(self.public.sizes) > MOST_COMBINATIONS:
            raise ValueError(
                f"how='joint' allows at most {MOST_COMBINATIONS:,} combinations of answers; got "
                f"{prod(self.public.sizes):,}"
            )
        if self.how in ("auto", "joint") and self.design == "LocalHash":
            raise ValueError(
                "LocalHash does not support how='joint' or 'auto', as the variance of sums over "
                "combinations is not known; use another design, or how='split' or 'sample'"
            )
        if self.how == "sample" and self.tables:
            raise ValueError(
                "how='sample' collects one answer per person, so tables of several questions "
                "cannot be estimated; use how='split' or 'joint'"
            )

    @property
    def public(self) -> RecordPublic:
        """What is public about each record."""
        return RecordPublic(self.questions)

    @cached_property
    def sharing(self) -> str:
        """How epsilon is shared: `"split"`, `"sample"` or `"joint"`."""
        if self.how != "auto":
            return self.how
        return best_sharing(self.public.sizes, self._epsilon, tables=self.tables)

    @property
    def _epsilon(self) -> Fraction:
        loss = self.loss()
        assert isinstance(loss, PureDP)
        return loss.epsilon

    @cached_property
    def parts(self) -> dict[str, Design]:
        """The design of each part of a report, by its name: a question, or all joined by `*`."""
        share = Fraction(1, len(self.questions)) if self.sharing == "split" else Fraction(1)
        named = dict(self.questions)
        if self.sharing == "joint":
            named = {"*".join(named): tuple(map(str, range(prod(self.public.sizes))))}
        return {name: self._make_design(share, answers) for name, answers in named.items()}

    def _make_design(self, share: Fraction, answers: tuple[str, ...]) -> Design:
        """Return the design of one part."""
        epsilon = self._epsilon * share
        if self.design != "best":
            kind = KINDS[self.design]
        elif self.tables and self.sharing == "split":
            # Only reports that are answers can be counted together.
            kind = RandomizedResponse
        else:
            kind = KINDS[best_kind(len(answers), epsilon, sums=self.sharing == "joint")]
        return kind(epsilon=epsilon, answers=answers)

    def own(self, value: Any) -> OwnRecord | OwnRecords:
        """Return one client's answers, or the numbers of many clients' answers, as private data."""
        if isinstance(value, np.ndarray):
            return OwnRecords(value, self.questions)
        return OwnRecord(value, self.public)

    def _one_question(self) -> OneQuestion:
        """Return what tells one question of several."""
        primitives = [design.primitive for design in self.parts.values()]
        return OneQuestion(
            answers=self.public.sizes,
            responses=tuple(primitive.kind for primitive in primitives),
            set_sizes=tuple(getattr(primitive, "size", 0) for primitive in primitives),
            epsilon=self._epsilon,
        )

    def plan(self, public: RecordPublic) -> Plan:
        """Return what each part of a report costs, and how it is randomised."""
        self.check(public)
        steps = [
            PlanStep(
                what=f"one report of {name}",
                loss=design.loss(),
                noise=design.plan(design.public).steps[0].noise,
                error="see estimate: it depends on how many report",
                figures={"truth": float(design.p), "other": float(design.q)},
            )
            for name, design in self.parts.items()
        ]
        if self.sharing == "sample":
            steps = [
                PlanStep(
                    what=f"one report of one of {len(steps)} questions, chosen evenly",
                    loss=self.loss(),
                    noise="; ".join(f"{s.what.partition(' of ')[2]}: {s.noise}" for s in steps),
                    error="see estimate: it depends on how many report",
                    figures={},
                )
            ]
        return Plan(method=self.name, guarantee=self.guarantee(public), steps=tuple(steps))

    def program(self, public: RecordPublic, budget: Budget) -> Program[Any]:
        """Ask for the reports of one client, or of many."""
        names = list(self.parts)
        if self.sharing == "sample":
            chosen, *said = yield Ask(budget, self._one_question(), Own(), "report")
            names = names if isinstance(public, RecordsPublic) else [names[chosen]]
        elif self.sharing == "joint":
            (design,) = self.parts.values()
            query = OwnCombination(self.public.sizes)
            said = [(yield Ask(budget, design.primitive, query, "report"))]
        else:
            slices, designs = budget.split(names), self.parts.values()
            said = yield [
                Ask(part, design.primitive, OwnPart(place), name)
                for place, (part, design, name) in enumerate(
                    zip(slices, designs, names, strict=True)
                )
            ]
        told = {name: (self.parts[name], one) for name, one in zip(names, said, strict=True)}
        if isinstance(public, RecordsPublic):
            reports = {name: Reports(design, rows) for name, (design, rows) in told.items()}
            return RecordReports(self, public.clients, reports)
        return {name: design._plain([one])[0] for name, (design, one) in told.items()}

    def perturb_all(self, codes: ArrayLike, ledger: LedgerLike = None) -> RecordReports:
        """Return the reports of many clients, drawn independently.

        Parameters
        ----------
        codes
            The numbers of the answers, a row for each client and a column for each question.
        ledger
            Where the loss is booked; it is epsilon for each client.
        """
        reports: RecordReports = door.perturb(self, np.asarray(codes), ledger)
        return reports


# How a total loss is best shared among questions: arithmetic on public figures only.
#
# Plans are compared where all answers are equally common. The probabilities here are rounded to
# doubles; they choose a design, whose own probabilities are exact.


#: The most combinations of answers that are collected as one answer.
MOST_COMBINATIONS = 1 << 16
#: Beyond this ε all designs tell the truth as far as doubles can see.
_LARGE = 300.0


def _laws(k: int, epsilon: Fraction | float) -> dict[str, PureLaw]:
    """Return the law of each kind of design, the one that is preferred first."""
    lie = Fraction(exp(-min(float(epsilon), _LARGE)))
    truth = 1 / (1 + (k - 1) * lie)
    laws = {"RandomizedResponse": PureLaw(k, truth, lie * truth, Fraction(0), Fraction(0))}
    if k > 2:
        # Local hashing has the same p and q; its reports do not grow with k.
        p, q = Fraction(1, 2), lie / (1 + lie)
        laws["UnaryEncoding"] = PureLaw(k, p, q, p * q, q * q)
    if 2 < k <= LONG and (d := best_size(k, exact(min(float(epsilon), _LARGE)))) > 1:
        p = d / (d + (k - d) * lie)
        both = p * (d - 1) * (d - 2) + (1 - p) * d * (d - 1)
        pairs = p * (d - 1) / (k - 1), both / ((k - 1) * (k - 2))
        laws["SubsetSelection"] = PureLaw(k, p, (d - p) / (k - 1), *pairs)
    return laws


def _spread(law: PureLaw) -> float:
    """Return n times the variance of a share in the population, answers equally common."""
    return float(law.spread(np.array([1 / law.k]), population=True)[0])


def _best(k: int, epsilon: Fraction | float) -> tuple[str, PureLaw]:
    """Return the kind of design with the smallest variance, and its law."""
    return min(_laws(k, epsilon).items(), key=lambda item: _spread(item[1]))


def best_kind(k: int, epsilon: Fraction | float, *, sums: bool = False) -> str:
    """Return which design has the smallest variance for k equally common answers.

    Parameters
    ----------
    k
        How many answers there are.
    epsilon
        The loss.
    sums
        Whether sums of shares are wanted, whose variance is not known for local hashing.
    """
    kind = _best(k, epsilon)[0]
    return "LocalHash" if kind == "UnaryEncoding" and k > LONG and not sums else kind


def mean_variances(
    sizes: Sequence[int], epsilon: Fraction | float, *, tables: bool = False
) -> dict[str, float]:
    """Return n times the mean variance in the population for each way to share epsilon.

    Parameters
    ----------
    sizes
        How many answers each question has.
    epsilon
        The total loss for one record.
    tables
        Whether the cells of the table of all questions count, or each question's shares.
    """
    total, many, cells = float(epsilon), len(sizes), prod(sizes)
    found: dict[str, float] = {}
    if tables:
        found["split"] = _split_table(sizes, total / many)
        if cells <= MOST_COMBINATIONS:
            found["joint"] = _spread(_best(cells, total)[1])
        return found
    weights = np.array(sizes) / sum(sizes)
    found["split"] = float(weights @ [_spread(_best(k, total / many)[1]) for k in sizes])
    # Each question is told by one in `many` of those who report.
    found["sample"] = many * float(weights @ [_spread(_best(k, total)[1]) for k in sizes])
    if cells <= MOST_COMBINATIONS:
        law = _best(cells, total)[1]
        found["joint"] = float(weights @ [_joint_margin(law, k) for k in sizes])
    return found


def _split_table(sizes: Sequence[int], epsilon: float) -> float:
    """Return n times the variance of one cell, every question with randomised response."""
    cells = prod(sizes)
    product = 1.0
    for k in sizes:
        law = _laws(k, epsilon)["RandomizedResponse"]
        q = float(law.q)
        product *= ((1 - q) ** 2 + (k - 1) * q**2) / law.gap**2 if k > 1 else 1.0
    return product / cells - 1 / cells**2


def _joint_margin(law: PureLaw, k: int) -> float:
    """Return n times the variance of one of a question's k shares, summed over combinations."""
    members = np.zeros(law.k)
    members[: law.k // k] = 1.0
    return law.spread_along(members, np.full(law.k, 1 / law.k), population=True)


def best_sharing(sizes: Sequence[int], epsilon: Fraction | float, *, tables: bool = False) -> str:
    """Return the way to share epsilon that has the smallest mean variance.

    Parameters
    ----------
    sizes, epsilon, tables
        As for `mean_variances`.
    """
    found = mean_variances(sizes, epsilon, tables=tables)
    return min(found, key=lambda how: found[how])
