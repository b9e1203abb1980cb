"""One person's side of surveys: permanent answers, and what all of it cost that person.

What was said before is kept in a file of the person's own. A permanent question is answered once:
later the same report is sent again whatever the answer is by then, so that it costs nothing and
tells nothing, not even that the answer changed. The file is written before a report leaves.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfumato.local.survey import Item, Survey
from sfumato.local.survey_answers import SurveyAnswers
from sfumato.local.wire import line_of
from sfumato.noise.choices import WordChoices
from sfumato.privacy.ledger import Ledger

__all__ = ["Respondent"]

#: The format of the file.
MEMORY = "sfumato memory 1"


class Respondent:
    """One person who answers surveys.

    Parameters
    ----------
    memory
        The file of what was said before, for this person alone; it is made where there is none. It
        holds reports, not answers. Whoever loses it answers anew, and pays anew.
    ledger
        The person's own account, with `unit="person"` and `relation="replace_one"`. Without one
        nobody keeps the sum.
    """

    def __init__(self, memory: str | Path, ledger: Ledger | None = None) -> None:
        self.path = Path(memory)
        self.ledger = ledger

    def __repr__(self) -> str:
        return f"Respondent({str(self.path)!r})"

    def answer(self, survey: Survey, answers: Mapping[str, Any]) -> str:
        """Return the line to send: a report for each question that is asked of this person.

        Parameters
        ----------
        survey
            The survey.
        answers
            An answer for each question. They leave this function only randomised.
        """
        memory = self._memory()
        asked = self._asked(survey, memory)
        fresh = tuple(
            item for item in asked if not (item.permanent and item.identity in memory["reports"])
        )
        drawn = SurveyAnswers.to(fresh).perturb(answers, self.ledger) if fresh else {}
        kept: dict[str, Any] = memory["reports"]
        kept |= {item.identity: drawn[item.name] for item in fresh if item.permanent}
        self._keep(memory)
        said = {
            item.name: drawn[item.name] if item.name in drawn else kept[item.identity]
            for item in asked
        }
        return line_of(survey.identity, said)

    def cost(self, survey: Survey) -> Any:
        """Return what answering a survey would cost this person now."""
        memory = self._memory()
        asked = self._asked(survey, memory)
        return sum(
            item.epsilon
            for item in asked
            if not (item.permanent and item.identity in memory["reports"])
        )

    def _asked(self, survey: Survey, memory: dict[str, Any]) -> tuple[Item, ...]:
        """Return the items that this person answers: all, or the one chance chose for good."""
        if survey.share != "sample":
            return survey.items
        chosen: dict[str, str] = memory["chosen"]
        if survey.identity not in chosen:
            place = WordChoices().uniform(len(survey.items))
            chosen[survey.identity] = survey.items[place].name
            # Kept at once: a choice that is made anew would ask another question.
            self._keep(memory)
        return (survey.item(chosen[survey.identity]),)

    def _memory(self) -> dict[str, Any]:
        if not self.path.exists():
            return {"format": MEMORY, "chosen": {}, "reports": {}}
        try:
            memory = json.loads(self.path.read_text(encoding="utf-8"))
        except ValueError:
            memory = None
        if not isinstance(memory, dict) or memory.get("format") != MEMORY:
            raise ValueError(f"{self.path} does not hold what a respondent remembers ({MEMORY})")
        return memory

    def _keep(self, memory: dict[str, Any]) -> None:
        """Write the file whole or not at all, for its owner's eyes alone."""
        draft = self.path.with_name(self.path.name + ".new")
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(memory, file, ensure_ascii=False)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, self.path)
