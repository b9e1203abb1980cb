"""`sfumato table ask`: counting questions, one after another, inside one booked total."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.exits import ExitCode, Refusal
from sfumato.cli.options import (
    EngineChoice,
    EngineOption,
    EpsilonOption,
    ReportOption,
    SchemaOption,
    SeparatorOption,
    refuse_extreme,
)
from sfumato.cli.releasing import add_report, open_ledger, usable_key
from sfumato.cli.reserve import reserve_folder
from sfumato.cli.schemas import SchemaOptions
from sfumato.cli.screen import JsonOption, Screen, answering
from sfumato.cli.table_schema import TABLES, FileArgument, ReadingOptions

if TYPE_CHECKING:
    from sfumato.data.table import TablePublic
    from sfumato.privacy.session import Session
    from sfumato.tabular.questions import Answers, Questions

#: How many questions a session at the prompt may have unless it is said otherwise.
AT_THE_PROMPT = 20


def ask(
    file: FileArgument,
    epsilon: EpsilonOption,
    question: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXT",
            help="A counting question such as 'sex = f; age = [60, 70) | [70, 80)'; repeat for "
            "more. By default questions are entered at a prompt.",
        ),
    ] = None,
    questions: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="The most questions answered; each gets an equal share of the privacy loss.",
        ),
    ] = None,
    schema: SchemaOption = None,
    ledger: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="The ledger, where the loss of all questions is booked at the start.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Save all answers as a release.")
    ] = None,
    key: Annotated[
        Path | None, typer.Option(metavar="PATH", help="The private key that signs what is saved.")
    ] = None,
    report: ReportOption = False,
    engine: EngineOption = EngineChoice.AUTO,
    separator: SeparatorOption = None,
    as_json: JsonOption = False,
) -> None:
    """Count the rows that match a question. The whole epsilon is booked before the first one."""
    with answering(as_json) as screen:
        from sfumato.tabular.questions import Questions

        if as_json and not question:
            raise Refusal(ExitCode.USAGE, "with --json, give the questions with --question")
        refuse_extreme(epsilon=epsilon)
        signing = usable_key(key) if out is not None else None
        book = open_ledger(screen, ledger)
        reading = ReadingOptions(engine, separator)
        table = TABLES.read_private(screen, file, SchemaOptions(schema), reading)
        number = questions if questions is not None else len(question or ()) or AT_THE_PROMPT
        method = Questions(epsilon=epsilon, questions=number)
        # What cannot be answered is refused before anything is spent.
        ready = _ready(method, table.public, question or [])
        with reserve_folder(out):
            with method.open(table, book) as session:
                asked = ready if question else _prompt(screen, method, table.public)
                _answer(screen, session, asked)
                answers: Answers = session.close()
            if out is not None:
                answers.save(out, key=signing)
        if out is not None and report:
            add_report(screen, out)
        screen.answer(_document(answers, out), lambda console: None)


def parse(text: str) -> dict[str, list[str]]:
    """Return the columns and accepted values of a question written on one line.

    Parameters
    ----------
    text
        `sex = f; age = [60, 70) | [70, 80)`, or the same as a JSON object.
    """
    if text.lstrip().startswith("{"):
        return _parse_json(text)
    parsed: dict[str, list[str]] = {}
    for part in filter(None, (piece.strip() for piece in text.split(";"))):
        name, equals, values = part.partition("=")
        if not equals or name.strip() in parsed:
            raise ValueError(
                "a question must list each column once with its accepted values, as in: sex = f; "
                "age = [60, 70) | [70, 80)"
            )
        parsed[name.strip()] = [value.strip() for value in values.split("|")]
    return parsed


def _parse_json(text: str) -> dict[str, list[str]]:
    try:
        document = json.loads(text)
    except ValueError:
        raise ValueError("a question that begins with { must be a JSON object") from None
    parsed = {name: [v] if isinstance(v, str) else v for name, v in document.items()}
    for values in parsed.values():
        if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            raise ValueError(
                'in a JSON question each column needs a text or a list, as in {"sex": ["f"]}'
            )
    return parsed


def _ready(method: Questions, public: TablePublic, texts: list[str]) -> list[dict[str, list[str]]]:
    """Return questions that can be answered, or refuse all of them."""
    method.check(public)
    if len(texts) > method.questions:
        raise Refusal(
            ExitCode.USAGE,
            f"{len(texts)} questions were given; at most {method.questions} are allowed",
        )
    ready = [parse(text) for text in texts]
    for item in ready:
        method.parse_question(public, item)
    return ready


def _prompt(
    screen: Screen, method: Questions, public: TablePublic
) -> Iterator[dict[str, list[str]]]:
    """Yield questions from the terminal until an empty line, or until none is left."""
    screen.note(f"Columns: {', '.join(public.columns)}. An empty line ends the session.")
    number = 1
    while number <= method.questions:
        text = typer.prompt(f"question {number} of {method.questions}", default="", err=True)
        if not text.strip():
            return
        try:
            wanted = parse(text)
            method.parse_question(public, wanted)
        except ValueError as error:
            screen.note(f"{error}; nothing was spent", style="red")
            continue
        yield wanted
        number += 1


def _answer(screen: Screen, session: Session, asked: Any) -> None:
    """Ask and show each answer as it comes."""
    for wanted in asked:
        given = session.ask(wanted)
        if not screen.as_json:
            words = "; ".join(f"{name} = {' | '.join(vs)}" for name, vs in wanted.items())
            screen.out.print(f"{given}   {words or 'all rows'}", soft_wrap=True)


def _document(answers: Answers, out: Path | None) -> dict[str, Any]:
    return {
        "release": None if out is None else str(out),
        "guarantee": answers.guarantee.to_json(),
        "ledger": answers.provenance.ledger,
        "answers": [
            {"question": text, "count": answer.count, "margin": answer.margin}
            for text, answer in answers.answers
        ],
    }
