"""What is said when data cannot be read.

A message names the field, the row, what is allowed and the remedy. It never contains a value of
the data, and neither does any exception it is chained to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from sfumato.privacy.escaping import escape

__all__ = ["DataError", "Problem", "importing", "without_values"]

Result = TypeVar("Result")

SHOWN = 10
"""How many problems one error lists."""


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One thing that is wrong with the data, in words that hold no value of it.

    Parameters
    ----------
    wrong
        What is wrong, and what would be right.
    remedy
        What the custodian can do about it.
    field
        The column, if one column is to blame.
    row
        The first data row it happens in, counted from 1 without the header.
    more
        In how many further rows of the same column it happens.
    """

    wrong: str
    remedy: str
    field: str | None = None
    row: int | None = None
    more: int = 0

    def __str__(self) -> str:
        where = "" if self.field is None else f"column {self.field!r}"
        if self.row is not None:
            where += f"{', ' if where else ''}row {self.row}"
            if self.more:
                where += f" and {self.more} more"
        return f"{where}{': ' if where else ''}{self.wrong}. {self.remedy}"


class DataError(ValueError):
    """Data or a schema that cannot be used, with every reason found.

    For the custodian's eyes: it tells in which rows the problems are, though never their values.
    """

    def __init__(self, problems: Problem | Iterable[Problem]) -> None:
        found = (problems,) if isinstance(problems, Problem) else tuple(problems)
        self.problems: tuple[Problem, ...] = found
        lines = [escape(str(problem)) for problem in found[:SHOWN]]
        if len(found) > SHOWN:
            lines.append(f"and {len(found) - SHOWN} more problems")
        several = f"{len(found)} problems:\n  - " + "\n  - ".join(lines)
        super().__init__(lines[0] if len(lines) == 1 else several)


def without_values(
    action: Callable[[], Result],
    failures: type[Exception] | tuple[type[Exception], ...],
    problem: Callable[[], Problem],
) -> Result:
    """Run an action of a library that puts private values into its exceptions.

    The failure is replaced outside its `except` block, so that the original is reachable neither
    as cause nor as context of what is raised. `problem` is asked for only then.
    """
    try:
        return action()
    except failures:
        pass
    except BaseException as failure:
        # Damaged input can make the Rust code of Polars panic, which is no `Exception`.
        if type(failure).__name__ != "PanicException":
            raise
    raise DataError(problem())


@contextmanager
def importing(module: str, extra: str) -> Iterator[None]:
    """Turn a missing optional library into the name of the extra that installs it."""
    try:
        yield
    except ImportError as failure:
        raise ImportError(
            f"{module} is needed for this and is not installed; "
            f"install it with: pip install 'sfumato[{extra}]'"
        ) from failure
