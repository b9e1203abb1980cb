"""Questions: counting questions about a table, asked one after another."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Any, ClassVar

import numpy as np

from sfumato.data.table import Table, TablePublic
from sfumato.data.table_queries import Accepted
from sfumato.mechanisms.count_noise import margin
from sfumato.mechanisms.laplace import GeometricNoise
from sfumato.privacy.budget import Budget
from sfumato.privacy.figures import figure
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import PureDP
from sfumato.privacy.method import InteractiveMethod
from sfumato.privacy.parameters import Whole, parameter
from sfumato.privacy.plan import Plan, PlanStep
from sfumato.privacy.program import Ask, Program
from sfumato.privacy.release import Release
from sfumato.privacy.session import question_label
from sfumato.privacy.transcript import Transcript
from sfumato.sections import Section
from sfumato.tabular.counting_method import MOST_CELLS

#: A question becomes, for each column it names, the codes it accepts.
Question = dict[str, list[int]]


@dataclass(frozen=True)
class Answer:
    """A noisy count.

    Parameters
    ----------
    count
        How many rows fit, with noise.
    margin
        19 times in 20 the noise is no larger.
    """

    count: int
    margin: float

    def __str__(self) -> str:
        return f"{self.count:,} ± {self.margin:,.4g}"


class Answers(Release):
    """All questions of a session with their answers."""

    kind = "answers"

    def __init__(self, answers: list[tuple[str, Answer]]) -> None:
        self.answers = answers

    def files(self) -> dict[str, bytes]:
        """Return the questions and answers as CSV."""
        import io

        import polars as pl

        frame = pl.DataFrame(
            [
                (text, str(answer.count), float(figure(answer.margin)))
                for text, answer in self.answers
            ],
            schema={"question": pl.String, "count": pl.String, "margin": pl.Float64},
            orient="row",
        )
        buffer = io.BytesIO()
        frame.write_csv(buffer)
        return {"answers.csv": buffer.getvalue()}

    def words(self) -> str:
        """Return what this release is, in plain words."""
        return (
            f"Answers to {len(self.answers)} counting questions, each with noise added so that no "
            "single contribution changes them by much."
        )

    def sections(self) -> tuple[Section, ...]:
        """Return what its page shows."""
        from sfumato.tabular.pages import answers_sections

        return answers_sections(self)

    def plot(self) -> Any:
        """Return a figure of the answers with their margins."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(6, 1 + 0.4 * max(len(self.answers), 1)), layout="constrained")
        axis = figure.subplots()
        places = np.arange(len(self.answers))
        counts = [answer.count for _, answer in self.answers]
        margins = [answer.margin for _, answer in self.answers]
        axis.errorbar(counts, places, xerr=margins, fmt="o", capsize=3)
        axis.set_yticks(places, [text[:60] for text, _ in self.answers], fontsize=7)
        axis.invert_yaxis()
        axis.set_xlabel("rows, with 95 % margins of the noise")
        return figure


@dataclass(frozen=True, kw_only=True)
class Questions(InteractiveMethod[Table, Answers]):
    """Answer counting queries one at a time within a fixed total budget.

    Parameters
    ----------
    epsilon
        Total privacy loss of all answers, for one unit of the table (row or person).
    questions
        Maximum number of queries. Each gets the same share of epsilon.

    Notes
    -----
    Privacy: each answer is a count with sensitivity 1 (under replace-one too: one row leaves the
    count or enters it) and geometric noise of scale questions/ε; answers compose by addition
    (docs/proofs/marginals.md).

    Examples
    --------
    >>> with Questions(epsilon=1, questions=10).open(table, ledger) as session:  # doctest: +SKIP
    ...     session.ask({"sex": "f", "age": ["[60, 70)", "[70, 80)"]})
    """

    kind: ClassVar[str] = "table"
    proof: ClassVar[str] = "marginals.md"
    example: ClassVar[dict[str, Any]] = {"questions": 2}
    small: ClassVar[str] = "one number per question, at most 10,000"

    questions: int = parameter(Whole(1, 10_000), 20)

    @classmethod
    def example_questions(cls, public: TablePublic) -> list[dict[str, Any]]:
        """Return two questions whose answers change, both, on every canonical pair of tables.

        Canonical pairs add rows of all first or of all last values, or replace the one by the
        other.
        """
        column = public.columns[0]
        labels = public.labels(column)
        if public.relation is Relation.REPLACE_ONE:
            return [{column: [labels[0]]}, {column: [labels[-1]]}]
        return [{}, {column: list(dict.fromkeys([labels[0], labels[-1]]))}]

    def _noise(self, public: TablePublic) -> GeometricNoise:
        limit, _ = self.record_budget(public)
        assert isinstance(limit, PureDP)
        # One count changes by at most one under either relation.
        epsilon = limit.epsilon / self.questions
        return GeometricNoise(shape=(1,), sensitivity=Fraction(1), epsilon=epsilon)

    def plan(self, public: TablePublic) -> Plan:
        """Return the noise on each answer."""
        self.check(public)
        noise = self._noise(public)
        step = PlanStep(
            what=f"{self.questions} counting questions",
            loss=self.working_loss(),
            noise=f"± {noise.standard_deviation:,.4g} (1 s.d.) on each answer",
            error=f"± {margin(noise):,.4g} per answer",
            figures={"standard_deviation": noise.standard_deviation, "margin": margin(noise)},
        )
        return Plan(method=self.name, guarantee=self.guarantee(public), steps=(step,))

    def parse_question(self, public: TablePublic, question: Any) -> Question:
        """Return, for each column of a question, the codes it accepts."""
        if not isinstance(question, Mapping):
            raise ValueError(
                "a question must be a dictionary of columns and accepted values, such as "
                "{'sex': 'f'}"
            )
        parsed: Question = {}
        for name, wanted in question.items():
            public.schema.index(name)
            labels = public.labels(name)
            if not isinstance(wanted, str | list | tuple | set | frozenset):
                raise ValueError(f"column {name!r}: give a value, or a list of values, as text")
            accepted = [wanted] if isinstance(wanted, str) else list(wanted)
            unknown = [value for value in accepted if value not in labels]
            if unknown or not accepted:
                raise ValueError(
                    f"column {name!r} has the values "
                    f"{', '.join(labels[:20])}{' …' if len(labels) > 20 else ''}; got {unknown!r}"
                )
            parsed[name] = sorted({labels.index(value) for value in accepted})
        cells = prod(public.domain[name] for name in parsed)
        if cells > MOST_CELLS:
            raise ValueError(
                f"the question spans {cells:,} combinations of values; at most {MOST_CELLS:,} are "
                "allowed; name fewer columns"
            )
        return dict(sorted(parsed.items()))

    def used_columns(self, public: TablePublic, transcript: Transcript) -> tuple[str, ...]:
        """Return the columns that some question named."""
        named = [json.loads(entry.label.partition(" ")[2]) for entry in transcript]
        return tuple(sorted({name for question in named for name in question}))

    def asked(self, public: TablePublic, parsed: Question) -> Any:
        """Return a question with the values that its codes stand for."""
        return {
            name: [public.labels(name)[code] for code in codes] for name, codes in parsed.items()
        }

    def answer(
        self, public: TablePublic, budget: Budget, question: Question, number: int
    ) -> Program[Answer]:
        """Ask for the count of the rows that fit."""
        noise = self._noise(public)
        share = budget.take(Fraction(1, self.questions), f"question {number}")
        columns = public.schema.indices(list(question))
        query = Accepted(tuple(columns), tuple(map(tuple, question.values())))
        noisy = yield Ask(share, noise, query, question_label(number, question))
        return Answer(int(noisy[0]), margin(noise))

    def collect(
        self, public: TablePublic, questions: Sequence[Question], answers: Sequence[Answer]
    ) -> Answers:
        """Return all questions with their answers."""
        texts = [_in_words(public, number, asked) for number, asked in enumerate(questions)]
        return Answers(list(zip(texts, answers, strict=True)))


def _in_words(public: TablePublic, number: int, question: Question) -> str:
    """Return a question as people read it: the columns and the values it accepts."""
    parts = []
    for name, codes in question.items():
        values = " or ".join(public.labels(name)[code] for code in codes)
        parts.append(f"{name} is {values}")
    return (
        f"{number + 1}. rows where {', and '.join(parts)}" if parts else f"{number + 1}. all rows"
    )
