"""Methods by their short names, as the catalogue lists them, and their parameters.

Nothing is imported but the catalogue until a method is chosen, so that help stays instant. A method
that the catalogue learns of is offered at once.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato import catalogue
from sfumato.cli.exits import ExitCode, Refusal
from sfumato.cli.options import refuse_extreme

if TYPE_CHECKING:
    from sfumato.privacy.method import AnyMethod

SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Another parameter of the method, as the reference names it; repeat for more.",
    ),
]


#: Parameters without a default that have an option of their own.
OWN_OPTIONS = ("columns", "positive", "tables", "target")


def short_name(name: str) -> str:
    """Return what the command line calls a method: `table.PrivBayes` is `privbayes`."""
    return name.partition(".")[2].lower()


def offered(kind: str, *, besides: tuple[str, ...] = ()) -> dict[str, str]:
    """Return the methods for a kind of data, short name to name in the catalogue.

    Parameters
    ----------
    kind
        The kind of data, as names in the catalogue begin with it.
    besides
        Those that are not offered.
    """
    return {
        short_name(name): name
        for name in sorted(catalogue.METHODS)
        if name.startswith(f"{kind}.") and name not in besides
    }


def choices(methods: Mapping[str, str]) -> Any:
    """Return the short names of methods as something that an option can be."""
    return StrEnum("MethodChoice", {name.upper(): name for name in methods})


def chosen(
    public: Any,
    name: str,
    *,
    epsilon: str,
    further: list[str] | None,
    given: Mapping[str, Any] | None = None,
) -> AnyMethod:
    """Return a method with its parameters, checked against what is public.

    Parameters
    ----------
    public
        What is public about the data.
    name
        The name of the method in the catalogue.
    epsilon
        The privacy loss, as it was typed.
    further
        What `--set` said.
    given
        What options of their own said.
    """
    refuse_extreme(epsilon=epsilon)
    recipe = _made(name, {"epsilon": epsilon, **(given or {})}, further or [])
    recipe.check(public)
    return recipe


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
        flag = f"--{missing[0]}" if missing[0] in OWN_OPTIONS else f"--set {missing[0]}=…"
        raise Refusal(
            ExitCode.USAGE, f"--method {short_name(name)} needs {flag}; it has no default"
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
