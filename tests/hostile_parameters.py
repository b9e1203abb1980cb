"""Hostile values for every parameter of every method, and for everything that is declared.

A subject is something that is built from parameters: each method of the catalogue, found by itself
and on the small data that `sfumato audit` tries it on; each kind of data; losses and ledgers. Every
parameter in turn is replaced by every hostile value. Allowed is a refusal in words that names the
parameter, or soon a success; everything else is a finding. `tests/test_hostile_parameters.py`
tries a part, `benchmarks/parameters.py` everything, each in a process that may be killed.
"""

from __future__ import annotations

import re
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from sfumato import noise
from sfumato.audit import canonical_pairs
from sfumato.audit.subjects import subject_of
from sfumato.catalogue import METHODS
from sfumato.data.schema import Schema
from sfumato.data.table import TablePublic
from sfumato.local.questionnaire import Questionnaire
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.loss import ZCDP, ApproxDP, PureDP
from sfumato.privacy.method import Method
from sfumato.privacy.parameters import Flag
from sfumato.privacy.record import record
from sfumato.rehearsal import rehearse

VALUES: dict[str, Any] = {
    "inf": np.inf,
    "-inf": -np.inf,
    "nan": np.nan,
    "0": 0,
    "-1": -1,
    "-0.0": -0.0,
    "1e308": 1e308,
    "5e-324": 5e-324,
    "2**63": 2**63,
    "10**12": 10**12,
    "10**30": 10**30,
    "10**199": 10**199,
    "10**5000": 10**5000,
    "1/3": Fraction(1, 3),
    "1/10**199": Fraction(1, 10**199),
    "long 1/2": Fraction(10**3000 + 1, 2 * 10**3000),
    "1/10**5000": Fraction(1, 10**5000),
    "Decimal 0.5": Decimal("0.5"),
    "Decimal NaN": Decimal("NaN"),
    "Decimal sNaN": Decimal("sNaN"),
    "np.float64": np.float64(0.5),
    "np.int64": np.int64(3),
    "np.nan": np.float32("nan"),
    "np.True": np.True_,
    "True": True,
    "None": None,
    "empty text": "",
    "x": "x",
    "long text": "x" * 100_000,
    "long digits": "9" * 100_000,
    "surrogate": "\ud800",
    "NUL": "a\0b",
    "bytes": b"x",
    "[]": [],
    "[1]": [1],
    "[nan]": [np.nan],
    "[[]]": [[]],
    "nested": [[[[["x"]]]]],
    "()": (),
    "twice": ("age", "age"),
    "{}": {},
    "{x: nan}": {"x": np.nan},
    "{1: 1}": {1: 1},
    "{surrogate: []}": {"\ud800": ["a", "b"]},
    "{edges: 10**5000}": {"edges": 10**5000},
    "{edges: 10**30}": {"edges": 10**30},
    "0 to inf": (0, np.inf),
    "0 to 10**5000": (0, 10**5000),
    "0 to 10**30": (0, 10**30),
    "0 to 5e-324": (0, 5e-324),
    "twice a pair": (("age", "smokes"), ("smokes", "age")),
    "set": {"age"},
    "array": np.arange(3.0),
    "complex": 1j,
    "object": object(),
    "type": int,
}

#: What no parameter may be, nor hold: what is no finite number, cannot be written, or is no value.
NONSENSE = frozenset({
    "inf", "-inf", "nan", "np.nan", "Decimal NaN", "Decimal sNaN", "10**5000", "surrogate",
    "[nan]", "{x: nan}", "{surrogate: []}", "{edges: 10**5000}", "0 to inf", "0 to 10**5000",
    "bytes", "complex", "object", "type",
})  # fmt: skip
#: And what no parameter of a method may be: certificates state every digit.
HIDING = NONSENSE | {"long 1/2", "1/10**5000"}
#: Refusals repeat no more of a value than a person can read.
LONGEST_REFUSAL = 1000
RECORDS_ABOUT = (None, 1, 10**12)


@dataclass(frozen=True)
class Subject:
    """Something that is built from parameters.

    Parameters
    ----------
    name
        What it is called.
    given
        Good parameters.
    build
        Builds it.
    parameters
        Which parameters are replaced.
    use
        Goes on with what was built, as far as it costs nothing; yields the name of each step before
        it is made.
    flags
        Parameters that are true or false.
    nonsense
        Values that none of them may have.
    """

    name: str
    given: dict[str, Any]
    build: Callable[..., Any]
    parameters: tuple[str, ...]
    use: Callable[[Any], Iterator[str]]
    flags: tuple[str, ...] = ()
    nonsense: frozenset[str] = NONSENSE


def method_subjects() -> list[Subject]:
    """Return every method of the catalogue."""
    return [method_subject(name) for name in METHODS]


def method_subject(name: str) -> Subject:
    """Return a method of the catalogue, as `sfumato audit` tries it."""
    example = subject_of(name, epsilon="1")
    return of_example(name, example.method, example.public, example.questions)


def of_example(name: str, example: Any, given_public: Any, questions: Any = None) -> Subject:
    """Return a method as a subject.

    Parameters
    ----------
    name
        What the subject is called.
    example
        The method with good parameters.
    given_public
        The public part of small data.
    questions
        What an interactive method is asked.
    """
    kind: type[Method[Any, Any]] = type(example)
    given = {item.name: getattr(example, item.name) for item in fields(kind)}
    constraints = {item.name: item.metadata["constraint"] for item in fields(kind)}

    def use(method: Any) -> Iterator[str]:
        yield "from_parameters"
        assert kind.from_parameters(method.parameters()) == method, "another method is read back"
        # A client's method declares its own public part.
        public = getattr(method, "public", given_public)
        for about in RECORDS_ABOUT if hasattr(public, "make_synthetic") else ():
            yield f"plan for about {about} records"
            str(method.plan(_with_about(public, about)))
        yield "plan"
        str(method.plan(public))
        if questions is not None or not hasattr(public, "make_synthetic"):
            yield "measure"
            data = canonical_pairs(public)[0].here
            record(method, data, questions=questions)
            return
        for rows in (1, 30):
            yield f"rehearse {rows}"
            release = rehearse(method, public, rows=rows, generator=noise.generator(1))
            str(release.guarantee.words())

    return Subject(
        name,
        given,
        kind,
        tuple(given),
        use,
        flags=tuple(n for n, c in constraints.items() if isinstance(c, Flag)),
        nonsense=HIDING,
    )


def _with_about(public: Any, about: int | None) -> Any:
    """Return a public part with a guess at the number of records."""
    if isinstance(public, TablePublic):
        return TablePublic.of(replace(public.schema, rows_about=about))
    return replace(public, rows_about=about)


def _use_public(public: Any) -> Iterator[str]:
    yield "from_json"
    assert type(public).from_json(public.to_json()) == public, "another declaration is read back"
    yield "words"
    " ".join(public.assumptions())
    if hasattr(public, "make_synthetic"):
        yield "make up"
        public.make_synthetic(10, noise.generator(1))


def _declare(columns: dict[str, Any], **options: Any) -> Any:
    return TablePublic.of(Schema.from_dict(columns, **options))


#: What every column may declare.
SHARED = {"missing": "code", "missing_values": ["?"], "outside": "refuse"}


def _column(**options: Any) -> Any:
    return _declare({"age": options, "sex": ["f", "m"]})


#: A small declaration of each kind of column.
COLUMNS: dict[str, dict[str, Any]] = {
    "category": {"kind": "category", "values": ["a", "b"]},
    "integer": {"kind": "integer", "low": 0, "high": 5},
    "number": {"kind": "number", "low": 0, "high": 5, "bins": 3},
    "real": {"kind": "real", "low": 0, "high": 1, "bits": 6},
    "date": {"kind": "date", "low": "2020-01-01", "high": "2020-12-31", "bins": 4},
    "boolean": {"kind": "boolean"},
}


def declaration_subjects() -> list[Subject]:
    """Return everything that custodians and clients declare."""
    from sfumato.data.graph import Graph
    from sfumato.data.points import Points
    from sfumato.data.sequences import Sequences

    def public_of(kind: Any) -> Callable[..., Any]:
        return lambda **given: kind(**given).public

    table = {"columns": {"age": ["y", "o"]}, "rows_about": 9, "relation": "add_remove"}
    table |= {"unit": "person", "max_rows": 2, "person": "who"}
    points = {"values": [[0.5, 0.5]], "bounds": ((0, 1), (0, 1)), "names": ("x", "y")}
    points |= {"unit": "point", "relation": "add_remove", "rows_about": 9, "outside": "clamp"}
    points |= {"geographic": False}
    visits = {"values": [[0.5]], "bounds": ((0, 1),), "unit": "person", "max_points": 2}
    visits |= {"person": ["Ada"]}
    sequences = {"sequences": [["a"]], "alphabet": ("a", "b"), "unit": "person", "rows_about": 9}
    sequences |= {"relation": "add_remove", "person": ["Ada"], "max_sequences": 2}
    graph = {"edges": [(0, 1)], "nodes": 5, "rows_about": 9}
    found = [Subject("Schema", table, _declare, tuple(table), _use_public)]
    for name, kind, given, flags in (
        ("Points", Points, points, ("geographic",)),
        ("Points of persons", Points, visits, ()),
        ("Sequences", Sequences, sequences, ()),
        ("Graph", Graph, graph, ()),
    ):
        # The first are the private data.
        declared = tuple(name for name in tuple(given)[1:] if not name.startswith("person"))
        found.append(Subject(name, given, public_of(kind), declared, _use_public, flags=flags))
    for name, options in COLUMNS.items():
        given = {**options, **SHARED}
        found.append(Subject(f"column {name}", given, _column, tuple(given), _use_public))
    shorthand = {"age": (0, 5, 3)}
    found.append(
        Subject("column", shorthand, lambda age: _declare({"age": age}), ("age",), _use_public)
    )
    return [*found, *_questionnaires(), *_accounts()]


def _questionnaires() -> list[Subject]:
    survey = {"epsilon": "1", "name": "health", "share": "split", "respondents_about": 9}
    choice = {"name": "smokes", "ask": "Do you?", "answers": ["yes", "no"], "design": "auto"}
    choice |= {"weight": 1, "permanent": True}
    number = {"name": "age", "ask": "How old?", "low": 0, "high": 9, "bins": 3}
    mean = {"name": "age", "ask": "How old?", "low": 0, "high": 9, "mean": True}

    def use(written: Any) -> Iterator[str]:
        yield "survey"
        written.survey()

    def of_survey(**given: Any) -> Any:
        return Questionnaire.of({"survey": given, "question": [choice]})

    def of_question(**given: Any) -> Any:
        return Questionnaire.of({"survey": survey, "question": [given]})

    survey["tables"] = []
    return [
        Subject("questionnaire", survey, of_survey, tuple(survey), use),
        Subject("question of choices", choice, of_question, tuple(choice), use, ("permanent",)),
        Subject("question of a mean", mean, of_question, tuple(mean), use, ("mean",)),
        Subject("question of a number", number, of_question, tuple(number), use),
    ]


def _accounts() -> list[Subject]:
    def use_loss(loss: Any) -> Iterator[str]:
        yield "words"
        str(loss), loss.to_json(), hash(loss)
        yield "a group"
        _priced(lambda: loss.group(7), lambda: loss.per_unit(7), loss.replace_one)
        yield "ledger"
        _create(loss)

    def _create(allow: Any, **given: Any) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "a.ledger"
            ledger = Ledger.create(path, allow=allow, **{"unit": "row"} | given)
            return str(ledger.spent), str(ledger.remaining), str(Ledger.open(path))

    def use_ledger(shown: Any) -> Iterator[str]:
        yield from ()

    ledger = {"allow": PureDP(1), "unit": "row", "relation": "add_remove"}
    losses = {
        PureDP: {"epsilon": 1},
        ApproxDP: {"epsilon": 1, "delta": "1e-6"},
        ZCDP: {"rho": 1},
    }
    return [
        Subject("Ledger.create", ledger, _create, tuple(ledger), use_ledger),
        *(Subject(k.__name__, given, k, tuple(given), use_loss) for k, given in losses.items()),
    ]


def _priced(*conversions: Callable[[], Any]) -> None:
    """Convert a loss; that there is no statement is one."""
    for conversion in conversions:
        try:
            str(conversion())
        except ValueError as refusal:
            _check_words(str(refusal))


class Finding(Exception):
    """Something that is not allowed."""


@dataclass(frozen=True)
class Case:
    """One parameter of a subject with a hostile value."""

    subject: Subject
    parameter: str
    value: str

    @property
    def name(self) -> str:
        """What the case is called."""
        return f"{self.subject.name}({self.parameter}={self.value})"

    def given(self) -> dict[str, Any]:
        """Return all parameters, with the hostile value in its place."""
        name, within, _ = self.parameter.partition("[")
        old, value = self.subject.given[name], VALUES[self.value]
        return {**self.subject.given, name: _placed(old, value) if within else value}


def _placed(old: Any, value: Any) -> Any:
    """Return lists and mappings with a hostile value in the place of their first leaf."""
    if isinstance(old, tuple | list) and old:
        return [_placed(old[0], value), *old[1:]]
    if isinstance(old, dict) and old:
        first = next(iter(old))
        return {**old, first: _placed(old[first], value)}
    return value


def cases(subjects: list[Subject]) -> list[Case]:
    """Return every case of some subjects: each parameter, and what is within it."""
    found = []
    for subject in subjects:
        places = list(subject.parameters)
        places += [f"{p}[…]" for p in places if isinstance(subject.given[p], tuple | list | dict)]
        found += [Case(subject, place, value) for place in places for value in VALUES]
    return found


def try_case(case: Case) -> str:
    """Return how a case ended in one word, or raise `Finding`."""
    subject = case.subject
    stage = "build"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            built = subject.build(**case.given())
            _check_sense(case)
            for step in subject.use(built):
                stage = step
    except Finding:
        raise
    except (ValueError, TypeError) as refusal:
        words = str(refusal)
        _check_words(words, subject.parameters if stage == "build" else ())
        if stage.startswith(("rehearse 30", "make up", "measure")):
            raise Finding(f"refused only when data are used ({stage}): {words}") from refusal
        return f"refused: {stage.split(' ')[0]}"
    except BaseException as error:
        raise Finding(f"{stage}: {type(error).__name__}: {str(error)[:300]}") from error
    return "accepted"


def _check_words(words: str, parameters: tuple[str, ...] = ()) -> None:
    if len(words) > LONGEST_REFUSAL:
        raise Finding(f"a refusal of {len(words)} characters: {words[:80]}…")
    if "\ud800" in words or "\0" in words:
        raise Finding(f"a refusal that cannot be printed: {words!r}")
    # What is wrong with one of several is said of that one; two may not fit each other.
    names = "|".join(re.escape(name.rstrip("s")) for name in parameters)
    if not re.search(rf"\b({names})", words):
        raise Finding(f"a refusal that names no parameter: {words}")


def _check_sense(case: Case) -> None:
    """Find a value that may not be accepted."""
    # A list may hold labels, and true is the label of a boolean column.
    flag = case.parameter in case.subject.flags or case.parameter.endswith("]")
    if case.value in case.subject.nonsense or (case.value in ("True", "np.True") and not flag):
        raise Finding("nonsense is accepted")
