"""Make vectors.json: answers, random words, and the reports that they give.

Reports of single questions are drawn by the library itself; whole surveys, with permanent answers
and what they cost, by the Python client. Run it after a change of a law or of the survey format:

    python js/make_vectors.py
"""

from __future__ import annotations

import importlib.util
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from sfumato import noise
from sfumato.local.questionnaire import Questionnaire
from sfumato.local.survey import Item
from sfumato.local.survey_answers import plain_report
from sfumato.noise.choices import WordChoices

HERE = Path(__file__).parent
SEED = "js vectors"
FRUIT = ["apple", "pear", "plum", "fig", "quince"]
DRAWS = 12


def question(name: str, **entry: Any) -> dict[str, Any]:
    """Return a question as a questionnaire has it."""
    return {"name": name, **entry}


def questionnaire(share: str, epsilon: Any, *questions: dict[str, Any]) -> Questionnaire:
    """Return a questionnaire of some questions."""
    survey = {"name": f"vectors {share}", "epsilon": epsilon, "share": share}
    return Questionnaire.of({"survey": survey, "question": list(questions)})


class Tape:
    """Words that are remembered as they are read."""

    def __init__(self) -> None:
        self.words: list[str] = []

    def __call__(self) -> int:
        """Return the next word of the seeded stream."""
        word = int(noise.bits().words(1)[0])
        self.words.append(f"{word:016x}")
        return word


def client() -> Any:
    """Return the Python client, which is no part of the package."""
    path = HERE.parent / "client" / "sfumato_local.py"
    spec = importlib.util.spec_from_file_location("sfumato_local", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["sfumato_local"] = module
    spec.loader.exec_module(module)
    return module


def drawn(item: Item, answers: list[Any]) -> dict[str, Any]:
    """Return examples of one question."""
    draws = []
    for answer in answers:
        tape = Tape()
        value = item.number({item.name: answer})
        said = item.design.primitive.draw(value, WordChoices(tape))
        draws.append({"answer": answer, "words": tape.words, "report": plain_report(item, said)})
    return {"question": item.to_json(), "cost": item.design.realised_epsilon, "draws": draws}


def single_questions() -> list[dict[str, Any]]:
    """Return examples of every design, with few and with many answers."""
    many = [f"answer {number}" for number in range(130)]
    number = {"low": -10, "high": 30}
    asked = [
        *(
            question(f"{design} of {len(answers)}", answers=answers, design=design)
            for design in (
                "RandomizedResponse",
                "UnaryEncoding",
                "SubsetSelection",
                "HadamardResponse",
                "LocalHash",
                "LaplaceResponse",
            )
            for answers in (["no", "yes"], FRUIT, many)
            if not (design == "LaplaceResponse" and len(answers) > 5)
        ),
        question("a range", **number, bins=4, design="RandomizedResponse"),
        question("a bit", **number, mean=True, design="MeanResponse"),
        question("a place", **number, mean=True, design="PiecewiseMean"),
    ]
    examples = []
    for entry in asked:
        (item,) = questionnaire("split", "3/2", entry).survey().items
        if "answers" in entry:
            answers = [entry["answers"][place % len(entry["answers"])] for place in range(DRAWS)]
        else:
            answers = [-11.5, -10, -0.001, 0, 0.1, 7.25, 10, 19.99, 20, 29.9, 30, 1e9]
        examples.append(drawn(item, answers))
    return examples


def whole_surveys() -> list[dict[str, Any]]:
    """Return examples of surveys that one person answers several times."""
    fruit = question("fruit", answers=FRUIT, permanent=True)
    sleep = question("sleep", low=0, high=12, bins=6)
    age = question("age", low=0, high=100, mean=True, permanent=True, weight="1/2")
    waves = [
        {"fruit": "fig", "sleep": 7.5, "age": 41},
        {"fruit": "apple", "sleep": 2, "age": 42},
    ]
    examples = []
    module = client()
    for share, asked in (
        ("split", [fruit, sleep, age]),
        ("sample", [fruit, sleep, age]),
        ("joint", [{**fruit, "permanent": False}, sleep]),
    ):
        survey = questionnaire(share, 2, *asked).survey().to_json()
        with tempfile.TemporaryDirectory() as folder:
            someone = module.Respondent(Path(folder) / "memory.json", 100)
            told = []
            for answers in waves:
                tape = Tape()
                line = someone.answer(survey, answers, tape)
                told.append(
                    {
                        "answers": answers,
                        "words": tape.words,
                        "line": line,
                        "spent": someone.memory["spent"],
                    }
                )
        examples.append({"survey": survey, "allow": "100", "waves": told})
    return examples


def vectors() -> dict[str, Any]:
    """Return all examples."""
    with noise.seeded(SEED):
        return {"questions": single_questions(), "surveys": whole_surveys()}


if __name__ == "__main__":
    text = json.dumps(vectors(), ensure_ascii=False, indent=1)
    (HERE / "vectors.json").write_text(text + "\n", encoding="utf-8")
