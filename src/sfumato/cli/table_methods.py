"""The methods for tables by their short names, as the catalogue lists them, and their options.

Nothing is imported but the catalogue until a method is chosen, so that help stays instant. A method
that the catalogue learns of is offered here at once.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import StrEnum
from itertools import combinations
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato import catalogue
from sfumato.cli.exits import ExitCode, Refusal
from sfumato.cli.table_names import names_in, refuse_extreme

if TYPE_CHECKING:
    from sfumato.data.table import TablePublic
    from sfumato.privacy.method import AnyMethod

#: These answer questions, and have a command of their own.
ASKED = ("table.Questions",)
#: The method that is used unless another is named; of these the first that there is.
DEFAULTS = ("table.Synthesizer", "table.Marginals")
#: What naming tables or columns means, unless a method is named.
COUNTING = "table.Marginals"


def short_name(name: str) -> str:
    """Return what the command line calls a method: `table.PrivBayes` is `privbayes`."""
    return name.partition(".")[2].lower()


OFFERED = {
    short_name(name): name
    for name in sorted(catalogue.METHODS)
    if name.startswith("table.") and name not in ASKED
}
DEFAULT = next(name for name in DEFAULTS if name in catalogue.METHODS)

if TYPE_CHECKING:

    class MethodChoice(StrEnum):
        """The methods for tables."""

else:
    MethodChoice = StrEnum("MethodChoice", {name.upper(): name for name in OFFERED})


MethodOption = Annotated[
    MethodChoice | None,
    typer.Option(
        help=f"How the table is released; {short_name(DEFAULT)} unless --table, --ways or "
        f"--columns name tables of counts, which means {short_name(COUNTING)}."
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Another parameter of the method, as the reference names it; repeat for more.",
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
    refuse_extreme(epsilon=epsilon, delta=delta)
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
    chosen = _made(name, {"epsilon": epsilon, **given}, further or [])
    chosen.check(public)
    return chosen


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


def _made(name: str, given: Mapping[str, Any], further: list[str]) -> AnyMethod:
    """Return a method with its parameters; whatever it does not take is refused."""
    from dataclasses import fields

    from sfumato.privacy.registry import resolve

    kind = resolve(name)
    known = [item.name for item in fields(kind)]
    options = {**given, **_further(further, given)}
    unknown = [option for option in options if option not in known]
    if unknown:
        flag = "--table" if unknown[0] == "tables" else f"--{unknown[0]}"
        flag = f"--set {unknown[0]}=…" if unknown[0] not in given else flag
        raise Refusal(
            ExitCode.USAGE,
            f"{flag} does not go with --method {short_name(name)}, whose parameters are "
            f"{', '.join(known)}",
        )
    missing = [item.name for item in fields(kind) if _required(item) and item.name not in options]
    if missing:
        raise Refusal(
            ExitCode.USAGE, f"--method {short_name(name)} needs --{missing[0]}; it has no default"
        )
    made: AnyMethod = kind(**options)
    return made


def _required(item: Any) -> bool:
    """Tell whether a parameter has no default."""
    from dataclasses import MISSING

    return item.default is MISSING and item.default_factory is MISSING


def _further(texts: list[str], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of `--set NAME=VALUE`, each at most once and nowhere else."""
    found: dict[str, Any] = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not name.isidentifier():
            raise Refusal(ExitCode.USAGE, "--set takes NAME=VALUE, as in --set degree=2")
        if name in found or name in given:
            raise Refusal(ExitCode.USAGE, f"{name} is given twice")
        found[name] = _value(value)
    return found


def _value(text: str) -> Any:
    """Return a value as it is written: true, false, null, a JSON list, or a text or number."""
    if text in ("true", "false", "null") or text.startswith("["):
        try:
            return json.loads(text)
        except ValueError:
            raise Refusal(ExitCode.USAGE, "a list is written as in --set 'names=[\"a\"]'") from None
    # Numbers stay as they are typed: exact, and read by the parameter's own rule.
    return text
