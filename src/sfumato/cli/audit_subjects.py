"""What an audit tries: every method of the catalogue, on small made-up data of its kind."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato import catalogue
from sfumato.cli.exits import ExitCode, Refusal
from sfumato.cli.options import RelationChoice

if TYPE_CHECKING:
    from sfumato.data.graph import GraphPublic
    from sfumato.data.points import PointsPublic
    from sfumato.data.sequences import SequencesPublic
    from sfumato.data.table import TablePublic
    from sfumato.privacy.method import AnyMethod

#: What is declared about the made-up data where no schema is given.
COLUMNS = {"smokes": ["no", "yes"], "age": ["young", "middle", "old"], "insured": ["no", "yes"]}
BOUNDS = ((0.0, 1.0), (0.0, 1.0))
ALPHABET = ("a", "b")
NODES = 5
#: The answers of the made-up survey.
ANSWERS = ("yes", "no", "no answer")
#: Their probabilities where the truth is said e times as often as each of the two others.
EVEN_LIES = (
    ("0.5761168847658291", "0.21194155761708547", "0.21194155761708547"),
    ("0.21194155761708547", "0.5761168847658291", "0.21194155761708547"),
    ("0.21194155761708547", "0.21194155761708547", "0.5761168847658291"),
)
#: Methods that guess the last value of the last column.
CLASSIFYING = (
    "table.FunctionalRegression",
    "table.Majority",
    "table.PrivateERM",
    "table.PrivGene",
)
#: The same for methods that explain a number: the last column is one.
NUMBERS = {"smokes": ["no", "yes"], "dose": {"kind": "real", "low": 0, "high": 1, "bits": 6}}
EXPLAINING = (
    "table.AdaSSP",
    "table.BoostedAdaSSP",
    "table.KNormRegression",
    "table.LinearRegression",
    "table.ObjectiveRegression",
    "table.RobustLinearRegression",
    "table.TukeyEM",
)
#: Parameters with which a method has something to choose on a few records, or stays small: what it
#: loses does not depend on them.
SMALL: dict[str, dict[str, Any]] = {
    "graph.SubgraphCount": {"shape": "star", "k": 2},
    "graph.GraphStatistic": {"expression": "edges ** 2"},
    "points.AdaptiveGrid": {"cells": 2},
    "points.DAWA": {"cells": 4},
    "points.HierarchicalGrid": {"branching": 2, "levels": 2},
    "points.PrivTree": {"levels": 2},
    "points.Privelet": {"cells": 4},
    "points.SimpleTree": {"levels": 3},
    "neighbours.EdgeResponse": {"nodes": NODES},
    "number.MeanResponse": {"steps": 16},
    "number.PiecewiseMean": {"steps": 16},
    "report.MatrixResponse": {"matrix_rows": EVEN_LIES},
    "sequences.NGram": {"grams": 2, "largest_limit": 8},
    "sequences.SuffixTree": {"levels": 2, "largest_limit": 8},
    "sequences.TopStrings": {"strings": 3, "largest_limit": 8},
    "table.AdaSSP": {"delta": "1e-6"},
    "table.BoostedAdaSSP": {"delta": "1e-6", "rounds": 2},
    "table.MWEM": {"rounds": 2},
    "table.PrivBayes": {"cells": 6},
    "table.PrivGene": {"rounds": 2, "population": 8, "parents": 2},
    "table.Synthesizer": {"rounds": 2},
    "table.TukeyEM": {"batches": 800},
}


def audited_name(name: str) -> str:
    """Return what the command calls a method: `table.PrivBayes` is `priv-bayes`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name.partition(".")[2]).lower()


#: Every method that can be audited: all of the catalogue, by their short names.
AUDITED = {audited_name(name): name for name in catalogue.METHODS}

if TYPE_CHECKING:

    class MethodName(StrEnum):
        """The methods that can be audited."""

else:
    MethodName = StrEnum(
        "MethodName", {name.upper().replace("-", "_"): name for name in sorted(AUDITED)}
    )


@dataclass(frozen=True)
class Subject:
    """What is audited.

    Parameters
    ----------
    method
        The method with its parameters.
    public
        The public part of the made-up data.
    questions
        What an interactive method is asked: questions that every canonical pair changes.
    """

    method: AnyMethod
    public: Any
    questions: list[dict[str, Any]] | None = None


def subject_of(
    short: str,
    *,
    epsilon: str,
    delta: str | None,
    relation: RelationChoice | None,
    max_rows: int | None,
    schema: Path | None,
) -> Subject:
    """Return the method that is meant and the public part of the data it is tried on.

    Parameters
    ----------
    short
        The short name of the method.
    epsilon, delta
        What it promises.
    relation, max_rows
        What a neighbour is, and how many records of one person there may be.
    schema
        A schema for the made-up data.
    """
    from sfumato.privacy.registry import resolve

    name = AUDITED[short]
    method = resolve(name)
    if delta is not None and "delta" not in {field.name for field in fields(method)}:
        raise Refusal(ExitCode.USAGE, f"{short} promises a pure epsilon; leave --delta out")
    if name.partition(".")[0] in ("number", "report"):
        return _survey(name, epsilon, relation, max_rows, schema)
    if name in ("record.MultiResponse", "respondent.SurveyAnswers"):
        return _records(name, epsilon, relation, max_rows, schema)
    kind = name.partition(".")[0]
    if schema is not None and (relation is not None or max_rows is not None):
        raise Refusal(
            ExitCode.USAGE, "the schema tells relation and max_rows: leave the options out"
        )
    told = (RelationChoice.ADD_REMOVE if relation is None else relation).value
    if schema is not None:
        public = _declared(kind, schema)
    elif name in (*EXPLAINING, "table.ManyResponses"):
        public = _small_table(told, max_rows, NUMBERS)
    else:
        public = _small(kind, told, max_rows)
    given: dict[str, Any] = {"epsilon": epsilon, **SMALL.get(name, {})}
    if delta is not None:
        given["delta"] = delta
    asked = None
    if name == "table.Questions":
        asked = _telling_questions(public)
        given["questions"] = len(asked)
    if name == "table.TableStatistic":
        given["expression"] = f"sum(counts({public.columns[-1]!r}) ** 2)"
    if name in EXPLAINING:
        given["target"] = public.columns[-1]
    if name == "table.ManyResponses":
        given["targets"] = [public.columns[-1]]
    if name in CLASSIFYING:
        target = public.columns[-1]
        given |= {"target": target, "positive": [public.labels(target)[-1]]}
    subject = Subject(method(**given), public, asked)
    subject.method.check(public)
    return subject


def _survey(
    name: str,
    epsilon: str,
    relation: RelationChoice | None,
    max_rows: int | None,
    schema: Path | None,
) -> Subject:
    """Return a survey of one answer, or one number, a person."""
    from sfumato.privacy.registry import resolve

    if schema is not None or max_rows is not None or relation is RelationChoice.ADD_REMOVE:
        raise Refusal(
            ExitCode.USAGE,
            f"{audited_name(name)} hides one answer, replaced by another: leave --schema, "
            "--max-rows and --relation out",
        )
    asked: dict[str, Any] = {"low": 0, "high": 1} if name.startswith("number.") else {}
    given = {"epsilon": epsilon, **(asked or {"answers": ANSWERS}), **SMALL.get(name, {})}
    survey = resolve(name)(**given)
    return Subject(survey, survey.public)


def _records(
    name: str,
    epsilon: str,
    relation: RelationChoice | None,
    max_rows: int | None,
    schema: Path | None,
) -> Subject:
    """Return a survey of several answers a person."""
    from sfumato.local.questionnaire import Questionnaire
    from sfumato.local.several import MultiResponse
    from sfumato.local.survey_answers import SurveyAnswers

    if schema is not None or max_rows is not None or relation is RelationChoice.ADD_REMOVE:
        raise Refusal(
            ExitCode.USAGE,
            f"{audited_name(name)} hides one person's answers, replaced by others: leave --schema, "
            "--max-rows and --relation out",
        )
    if name == "record.MultiResponse":
        survey = MultiResponse(epsilon=epsilon, questions=COLUMNS, how="split")
        return Subject(survey, survey.public)
    asked = [{"name": name, "ask": name, "answers": answers} for name, answers in COLUMNS.items()]
    written = Questionnaire.of({"survey": {"epsilon": epsilon}, "question": asked})
    answers = SurveyAnswers.to(written.survey().items)
    return Subject(answers, answers.public)


def _declared(kind: str, schema: Path) -> Any:
    """Return what a schema file declares about data of a kind."""
    match kind:
        case "points":
            from sfumato.cli import points_schema

            return points_schema.read_declared(schema)
        case "sequences":
            from sfumato.cli import sequences_schema

            return sequences_schema.read_declared(schema)
        case "graph" | "neighbours":
            raise Refusal(
                ExitCode.USAGE, "a graph has no schema, only its nodes: leave --schema out"
            )
        case _:
            from sfumato.cli.table_options import read_schema
            from sfumato.data.table import TablePublic

            return TablePublic.of(read_schema(schema))


def _small(kind: str, relation: str, most: int | None) -> Any:
    """Return what is public about small made-up data of a kind.

    Parameters
    ----------
    kind
        The kind of data.
    relation
        What a neighbour is.
    most
        How many records one person may have; `None` where each record stands for itself.
    """
    match kind:
        case "points":
            return _small_points(relation, most)
        case "sequences":
            return _small_sequences(relation, most)
        case "graph":
            return _small_graph(relation, most)
        case "neighbours":
            from sfumato.local.edge_response import NeighboursPublic

            return NeighboursPublic(_small_graph(relation, most).nodes, 0)
        case _:
            return _small_table(relation, most, COLUMNS)


def _small_table(relation: str, most: int | None, columns: dict[str, Any]) -> TablePublic:
    from sfumato.data.schema import Schema
    from sfumato.data.table import TablePublic

    if most is None:
        return TablePublic.of(Schema.from_dict(columns, relation=relation))
    return TablePublic.of(
        Schema.from_dict(columns, unit="person", person="who", max_rows=most, relation=relation)
    )


def _small_points(relation: str, most: int | None) -> PointsPublic:
    from sfumato.data.points import PointsPublic
    from sfumato.privacy.guarantee import Relation, Unit

    return PointsPublic(
        bounds=BOUNDS,
        unit=Unit.POINT if most is None else Unit.PERSON,
        person=None if most is None else "who",
        relation=Relation.parse(relation),
        contribution=most or 1,
    )


def _small_sequences(relation: str, most: int | None) -> SequencesPublic:
    from sfumato.data.sequences import SequencesPublic
    from sfumato.privacy.guarantee import Relation, Unit

    return SequencesPublic(
        alphabet=ALPHABET,
        unit=Unit.SEQUENCE if most is None else Unit.PERSON,
        relation=Relation.parse(relation),
        contribution=most or 1,
    )


def _small_graph(relation: str, most: int | None) -> GraphPublic:
    from sfumato.data.graph import GraphPublic

    if relation != RelationChoice.ADD_REMOVE.value or most is not None:
        raise Refusal(
            ExitCode.USAGE,
            "in a graph one edge is added or removed: leave --relation and --max-rows out",
        )
    return GraphPublic(nodes=NODES)


def _telling_questions(public: TablePublic) -> list[dict[str, Any]]:
    """Return two questions whose answers change, both, on every canonical pair of tables.

    Canonical pairs add rows of all first or of all last values, or replace the one by the other.
    """
    from sfumato.privacy.guarantee import Relation

    column = public.columns[0]
    labels = public.labels(column)
    if public.relation is Relation.REPLACE_ONE:
        return [{column: [labels[0]]}, {column: [labels[-1]]}]
    return [{}, {column: list(dict.fromkeys([labels[0], labels[-1]]))}]
