"""The methods for tables, and the options that name tables of counts and classes.

Nothing is imported but the catalogue until a method is chosen, so that help stays instant.
"""

from __future__ import annotations

from enum import StrEnum
from itertools import combinations
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato import catalogue
from sfumato.cli.exits import ExitCode, Refusal
from sfumato.cli.methods import choices, chosen, offered, short_name
from sfumato.cli.options import refuse_extreme
from sfumato.cli.regress_methods import REGRESSIONS
from sfumato.cli.table_names import names_in

if TYPE_CHECKING:
    from sfumato.data.table import TablePublic
    from sfumato.privacy.method import AnyMethod

#: These answer questions or make regressions, and have commands of their own.
ELSEWHERE = ("table.Questions", *REGRESSIONS)
#: The method that is used unless another is named; of these the first that there is.
DEFAULTS = ("table.Synthesizer", "table.Marginals")
#: What naming tables or columns means, unless a method is named.
COUNTING = "table.Marginals"

OFFERED = offered("table", besides=ELSEWHERE)
DEFAULT = next(name for name in DEFAULTS if name in catalogue.METHODS)

if TYPE_CHECKING:

    class MethodChoice(StrEnum):
        """The methods for tables."""

else:
    MethodChoice = choices(OFFERED)


MethodOption = Annotated[
    MethodChoice | None,
    typer.Option(
        help=f"How the table is released; {short_name(DEFAULT)} unless --table, --ways or "
        f"--columns name tables of counts, which means {short_name(COUNTING)}."
    ),
]


def chosen_method(
    public: TablePublic,
    *,
    method: MethodChoice | None,
    epsilon: str,
    delta: str | None = None,
    tables: list[str] | None = None,
    ways: int | None = None,
    columns: str | None = None,
    target: str | None = None,
    positive: list[str] | None = None,
    further: list[str] | None = None,
) -> AnyMethod:
    """Return the method that the options stand for, checked against what is public."""
    refuse_extreme(delta=delta)
    counting = bool(tables) or ways is not None or columns is not None
    unnamed = COUNTING if counting else DEFAULT
    name = unnamed if method is None else OFFERED[method.value]
    options: dict[str, Any] = {
        "delta": delta,
        "tables": [names_in(text) for text in tables] if tables else None,
        "ways": ways,
        "columns": None if columns is None else names_in(columns),
        "target": target,
        "positive": positive or None,
    }
    given = {option: value for option, value in options.items() if value is not None}
    if name == COUNTING:
        given = _named_tables(public, given)
    return chosen(public, name, epsilon=epsilon, further=further, given=given)


def _named_tables(public: TablePublic, given: dict[str, Any]) -> dict[str, Any]:
    """Return the tables of counts that options name, or how many columns each is to have."""
    if "tables" in given:
        if "ways" in given or "columns" in given:
            raise Refusal(ExitCode.USAGE, "name the tables with --table, or all with --ways")
        return given
    if "columns" not in given:
        return given
    names, ways = given.pop("columns"), given.pop("ways", 2)
    public.schema.indices(names)
    size = max(1, min(ways, len(names)))
    return {**given, "tables": list(combinations(names, size))}
