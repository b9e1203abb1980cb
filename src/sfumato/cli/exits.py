"""What the exit codes mean, and which error gets which.

A message reaches the screen only if this package wrote it: the message of another library may hold
a private value, so of any other error only its type and its place are shown.
"""

from __future__ import annotations

import traceback
from dataclasses import dataclass, field, replace
from enum import IntEnum
from pathlib import Path
from typing import Any

import typer

PACKAGE = Path(__file__).resolve().parent.parent


class ExitCode(IntEnum):
    """How a command ended."""

    OK = 0
    UNEXPECTED = 1
    USAGE = 2
    DATA = 3
    BUDGET = 4
    VERIFICATION = 5
    LEDGER = 6
    FILE = 7
    REFUTED = 8
    INTERRUPTED = 130


MEANINGS = {
    ExitCode.OK: "success",
    ExitCode.UNEXPECTED: "unexpected error",
    ExitCode.USAGE: "wrong option, parameter or path",
    ExitCode.DATA: "the data or their schema cannot be used",
    ExitCode.BUDGET: "the ledger refused: not enough budget is left",
    ExitCode.VERIFICATION: "verification failed, or this is not a release",
    ExitCode.LEDGER: "the ledger cannot be used for this",
    ExitCode.FILE: "a file cannot be read or written",
    ExitCode.REFUTED: "a privacy guarantee was refuted",
    ExitCode.INTERRUPTED: "interrupted",
}

#: Shown at the end of every help page.
EPILOG = "Exit codes: " + "; ".join(f"{int(code)} {words}" for code, words in MEANINGS.items())


class Refusal(Exception):
    """A command cannot do what it was asked to, for a reason it can name."""

    def __init__(self, code: ExitCode, message: str) -> None:
        self.code = code
        super().__init__(message)


@dataclass(frozen=True)
class Failure:
    """How an error is shown: an exit code, a message without any private value, and figures."""

    code: ExitCode
    message: str
    figures: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the document that stands on the output of a failed command."""
        error = {"code": int(self.code), "kind": self.code.name.lower(), "message": self.message}
        return {"ok": False, "error": {**error, **self.figures}}


def explain(error: BaseException) -> Failure:
    """Return how an error is told and with which code the command ends."""
    from sfumato.privacy.unsaved import PAID_FOR

    failure = _failure(error)
    # What else this package has written on an error: what was paid for, and how to get it.
    notes = [note for note in getattr(error, "__notes__", ()) if note.startswith(PAID_FOR)]
    return replace(failure, message=". ".join([failure.message, *notes]))


def _failure(error: BaseException) -> Failure:
    """Return how an error is told, without its notes."""
    from sfumato.engines.errors import DataError
    from sfumato.privacy.budget import SliceExceeded
    from sfumato.privacy.ledger import BudgetExceeded, LedgerError
    from sfumato.privacy.saved import NotARelease
    from sfumato.report.page import UnsoundRelease

    message = str(error)
    match error:
        case Refusal():
            return Failure(error.code, message)
        case KeyboardInterrupt() | typer.Abort():
            return Failure(ExitCode.INTERRUPTED, "interrupted; what was booked stays booked")
        case BudgetExceeded():
            sums = {"asked": error.asked, "left": error.left, "missing": error.missing}
            return Failure(
                ExitCode.BUDGET, message, {name: loss.to_json() for name, loss in sums.items()}
            )
        case SliceExceeded():
            return Failure(ExitCode.BUDGET, message)
        case LedgerError():
            return Failure(ExitCode.LEDGER, message)
        case DataError():
            return Failure(ExitCode.DATA, message)
        case NotARelease() | UnsoundRelease():
            return Failure(ExitCode.VERIFICATION, message)
        case FileNotFoundError() | FileExistsError() | NotADirectoryError() | IsADirectoryError():
            return Failure(ExitCode.USAGE, _file_words(error))
        case OSError():
            return Failure(ExitCode.FILE, _file_words(error))
        case ValueError() | ImportError() if _ours(error):
            return Failure(ExitCode.USAGE, message)
        case RuntimeError() if _ours(error):
            return Failure(ExitCode.UNEXPECTED, message)
    return Failure(ExitCode.UNEXPECTED, _withheld(error))


def _file_words(error: OSError) -> str:
    """Return what the system says of a file: its name and the reason."""
    if error.strerror is None:
        return str(error)
    return f"{error.filename or 'a file'}: {error.strerror}"


def _ours(error: BaseException) -> bool:
    """Tell whether this package itself raised an error, so that its words can be trusted."""
    frames = traceback.extract_tb(error.__traceback__)
    return bool(frames) and Path(frames[-1].filename).resolve().is_relative_to(PACKAGE)


def _withheld(error: BaseException) -> str:
    """Return the kind and the place of an error whose words may hold a private value."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return (
        f"unexpected {type(error).__name__}{place}; its message is withheld because it may hold "
        "private values. Set SFUMATO_TRACEBACK=1 to see it on this screen"
    )
