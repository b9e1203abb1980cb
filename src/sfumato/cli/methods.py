"""Methods by their short names, and their parameters as options, both derived from their classes.

Nothing is imported but the catalogue until a method is chosen, so that help stays instant. A method
that the catalogue learns of is offered at once, with all its parameters.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from inspect import Parameter
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NoReturn

import typer
from typer.core import TyperCommand

from sfumato import catalogue
from sfumato.cli.exits import ExitCode, Refusal
from sfumato.cli.options import refuse_extreme
from sfumato.cli.screen import JsonOption, answering, print_table
from sfumato.privacy.registry import command_name

if TYPE_CHECKING:
    from rich.console import Console

    from sfumato.cli.kind import Kind, Order
    from sfumato.privacy.method import AnyMethod

#: What the names of derived options begin with among the values of a command.
DERIVED = "parameter_"


def methods_for(kind: str, *, besides: Collection[str] = ()) -> dict[str, str]:
    """Return the methods for a kind of data, short name to name in the catalogue.

    Parameters
    ----------
    kind
        The kind of data, as names in the catalogue begin with it.
    besides
        Those that are not offered.
    """
    return {
        command_name(name): name
        for name in sorted(catalogue.METHODS)
        if name.startswith(f"{kind}.") and name not in besides
    }


def method_choices(methods: Mapping[str, str]) -> Any:
    """Return the short names of methods as something that an option can be."""
    return StrEnum("MethodChoice", {name.upper(): name for name in methods})


def choose_method(
    public: Any,
    name: str,
    *,
    group: str,
    epsilon: str,
    typed: Mapping[str, Any],
    derived: Mapping[str, Any],
) -> AnyMethod:
    """Return a method with its parameters, checked against what is public.

    Parameters
    ----------
    public
        What is public about the data.
    name
        The name of the method in the catalogue.
    group
        The group of commands, for errors.
    epsilon
        The privacy loss, as it was typed.
    typed
        Parameters that have options of their own form.
    derived
        The values of a command, among them those of derived options.
    """
    from sfumato.privacy.registry import resolve

    options = {"epsilon": epsilon, **typed} | {
        key.removeprefix(DERIVED): _value(value)
        for key, value in derived.items()
        if key.startswith(DERIVED) and value is not None
    }
    refuse_extreme(epsilon=epsilon, delta=options.get("delta"))
    method = resolve(name)
    unknown = [key for key in options if key not in {item.name for item in fields(method)}]
    if unknown:
        raise Refusal(
            ExitCode.USAGE,
            f"{_flag(unknown[0])} does not apply to --method {command_name(name)}; "
            f"`sfumato {group} methods {command_name(name)}` lists its parameters",
        )
    missing = [item.name for item in fields(method) if _required(item) and item.name not in options]
    if missing:
        raise Refusal(
            ExitCode.USAGE,
            f"--method {command_name(name)} needs {_flag(missing[0])}; it has no default",
        )
    chosen: AnyMethod = method(**options)
    chosen.check(public)
    return chosen


def _flag(name: str, reserved: Collection[str] = ()) -> str:
    """Return the option of a parameter, with a prefix where a command has one of that name."""
    if name == "tables":
        # Repeated, once for each table.
        return "--table"
    return f"--{'method-' if name in reserved else ''}{name.replace('_', '-')}"


def _required(item: Any) -> bool:
    """Tell whether a parameter has no default."""
    from dataclasses import MISSING

    return item.default is MISSING and item.default_factory is MISSING


def _value(value: Any) -> Any:
    """Return a value as it is written: null, a JSON list, or a text or number.

    Numbers stay as they are typed: exact, and read by the parameter's own rule.
    """
    if value == "null":
        return None
    if isinstance(value, str) and value.startswith("["):
        try:
            return json.loads(value)
        except ValueError:
            raise Refusal(ExitCode.USAGE, 'a list must be JSON, as in \'["a", "b"]\'') from None
    return value


@dataclass(frozen=True)
class ParameterFacts:
    """What is known of a parameter from the class of its method.

    Parameters
    ----------
    name, option
        What it is called, and how it is given on the command line.
    allowed, default, required
        What it may be, and what it is if it is not given.
    flag
        Whether it is true or false.
    about
        What it does.
    """

    name: str
    option: str
    allowed: str
    default: Any
    required: bool
    flag: bool
    about: str

    @property
    def metavar(self) -> str:
        """What stands for a value in help."""
        words = re.findall("'([^']*)'", self.allowed) if self.allowed.startswith("one of") else []
        return "|".join(words) or "VALUE"

    def to_json(self) -> dict[str, Any]:
        """Return a plain document."""
        return {
            "name": self.name,
            "option": self.option,
            "allowed": self.allowed,
            "required": self.required,
            "default": self.default,
            "description": self.about,
        }


def parameters_of(name: str, reserved: Collection[str]) -> list[ParameterFacts]:
    """Return the parameters of a method, from its fields, constraints and docstrings.

    Parameters
    ----------
    name
        The name of the method in the catalogue.
    reserved
        Names of options that mean something else.
    """
    from sfumato.privacy.parameters import Flag, OrNone
    from sfumato.privacy.primitive import plain
    from sfumato.privacy.registry import resolve

    method = resolve(name)
    told: dict[str, str] = {}
    for base in reversed(method.__mro__):
        told |= _parameter_texts(vars(base).get("__doc__") or "")
    found = []
    for item in fields(method):
        rule = item.metadata["constraint"]
        rule = rule.inner if isinstance(rule, OrNone) else rule
        found.append(
            ParameterFacts(
                item.name,
                _flag(item.name, reserved),
                rule.allowed,
                None if _required(item) else plain(item.default),
                _required(item),
                isinstance(rule, Flag),
                told.get(item.name, ""),
            )
        )
    return found


def _parameter_texts(docstring: str) -> dict[str, str]:
    """Return what the section of a docstring on parameters says of each."""
    text = inspect.cleandoc(docstring)
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n-+$|\Z)", text, re.M | re.S)
    parts = re.split(r"^(\S.*)\n", section[1] if section else "", flags=re.MULTILINE)
    return {
        name.strip(): _plain_words(about)
        for names, about in zip(parts[1::2], parts[2::2], strict=True)
        for name in names.split(",")
    }


def _summary(name: str) -> str:
    """Return what a method does in one sentence: the beginning of its docstring."""
    from sfumato.privacy.registry import resolve

    return _plain_words(inspect.cleandoc(resolve(name).__doc__ or "").partition("\n\n")[0])


def _plain_words(text: str) -> str:
    """Return a text of a docstring without its line breaks and marks of code."""
    return " ".join(re.sub(r'`"?|"?`', "", text).split())


class MethodCommand(TyperCommand):
    """A command that takes the parameters of its method as options, once the method is known.

    The method is imported only where an option is not one of the command's own, and for help and
    completion where it is named.
    """

    order: ClassVar[Order]

    def make_context(
        self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any
    ) -> Any:
        """Read the command line, with the options of the method that it names."""
        resilient = bool(extra.get("resilient_parsing"))
        typed, unknown = self._scan(args)
        named = typed.get("method", "").lower() or None
        group, methods = self.order.kind.name, self.order.kind.methods
        if named is not None and named not in methods and not resilient:
            self._fail(info_name, parent, _unknown_method(group, typed["method"], methods))
        shown = resilient or {"--help", "-h"} & set(args)
        if not unknown and not (shown and named in methods):
            return super().make_context(info_name, args, parent, **extra)
        command = self._with_parameters(named if named in methods else None, typed)
        if not resilient:
            words = [word for option in command.params for word in _words(option)]
            wrong = next((word for word in unknown if word not in words), None)
            if wrong is not None:
                from sfumato.privacy.arguments import suggest

                short = command_name(self._method(named, typed))
                lists = f"; `sfumato {group} methods {short}` lists its parameters"
                # All options begin alike, so they look nearer to each other than they are.
                near = suggest(wrong, words, cutoff=0.7) or lists
                parameter = wrong[2:].replace("-", "_")
                self._fail(info_name, parent, f"{short} has no parameter {parameter!r}{near}")
        return command.make_context(info_name, args, parent, **extra)

    def _scan(self, args: list[str]) -> tuple[dict[str, str], list[str]]:
        """Return the values of the command's own options, as typed, and the options it lacks."""
        known: dict[str, Any] = {word: option for option in self.params for word in _words(option)}
        typed, unknown = {}, []
        rest = iter(args)
        for word in rest:
            if word == "--":
                break
            name, sign, value = word.partition("=")
            option = known.get(name)
            if option is not None:
                typed[str(option.name)] = value if sign or option.is_flag else next(rest, "")
            elif name.startswith("--") and name != "--help":
                unknown.append(name)
        return typed, unknown

    def _method(self, named: str | None, typed: Mapping[str, str]) -> str:
        own = {item.name for item in fields(self.order.choice.parameters)}
        given = {name: value for name, value in typed.items() if name in own}
        return self.order.method_name(named, given)

    def _with_parameters(self, named: str | None, typed: Mapping[str, str]) -> TyperCommand:
        """Return this command with an option for every parameter of its method."""
        name = self._method(named, typed)
        own = {"epsilon", *(item.name for item in fields(self.order.choice.parameters))}
        derived = [
            _derived_option(facts, command_name(name))
            for facts in parameters_of(name, self.order.kind.reserved)
            if facts.name not in own
        ]
        app = typer.Typer(
            add_completion=False, rich_markup_mode="rich", pretty_exceptions_enable=False
        )
        app.command(self.name, epilog=self.epilog, help=self.help)(self.order.command(derived))
        command: Any = typer.main.get_command(app)
        return command  # type: ignore[no-any-return]

    def _fail(self, info_name: str | None, parent: Any, message: str) -> NoReturn:
        """Refuse a command line, with the usage of this command."""
        super().make_context(info_name, [], parent, resilient_parsing=True).fail(message)


def _words(option: Any) -> Iterator[str]:
    """Return how an option is typed."""
    return (word for word in (*option.opts, *option.secondary_opts) if word.startswith("-"))


def _unknown_method(group: str, name: str, methods: Collection[str]) -> str:
    """Return what to say of a method that a kind does not have."""
    from sfumato.privacy.arguments import suggest

    lists = f"; `sfumato {group} methods` lists them"
    return f"{group} has no method {name!r}{suggest(name.lower(), methods) or lists}"


def _derived_option(facts: ParameterFacts, method: str) -> Parameter:
    """Return the option of a parameter of a method."""
    from rich.markup import escape

    flag = f"{facts.option}/--no-{facts.option[2:]}" if facts.flag else facts.option
    option = typer.Option(
        flag,
        metavar=None if facts.flag else escape(facts.metavar),
        help=escape(facts.about),
        rich_help_panel=f"Parameters of {method}",
        show_default=False,
    )
    annotation = Annotated[bool | None if facts.flag else str | None, option]  # type: ignore[valid-type]
    return Parameter(
        DERIVED + facts.name, Parameter.KEYWORD_ONLY, annotation=annotation, default=None
    )


def methods_command(kind: Kind) -> Callable[..., None]:
    """Return the command that lists the methods of a kind, or the parameters of one."""

    def methods(
        name: Annotated[
            str | None,
            typer.Argument(metavar="[METHOD]", help="List the parameters of this method."),
        ] = None,
        as_json: JsonOption = False,
    ) -> None:
        """List the methods, or the parameters of one method with what is allowed."""
        with answering(as_json) as screen:
            if name is None:
                found = {short: _summary(full) for short, full in kind.methods.items()}
                document: dict[str, Any] = {
                    "methods": [{"name": short, "summary": text} for short, text in found.items()]
                }
                rows = list(found.items())
                screen.answer(
                    document, lambda console: print_table(console, ("method", "what it does"), rows)
                )
                return
            if name.lower() not in kind.methods:
                raise Refusal(ExitCode.USAGE, _unknown_method(kind.name, name, kind.methods))
            full = kind.methods[name.lower()]
            own = parameters_of(full, kind.reserved)
            document = {
                "method": full,
                "summary": _summary(full),
                "parameters": [facts.to_json() for facts in own],
            }
            screen.answer(document, lambda console: _show_parameters(console, full, own))

    return methods


def _show_parameters(console: Console, name: str, own: list[ParameterFacts]) -> None:
    """Print a method and its parameters."""
    wrap = not console.is_terminal
    console.print(f"{command_name(name)}: {_summary(name)}", soft_wrap=wrap)
    for facts in own:
        console.print()
        flag = f"{facts.option}, --no-{facts.option[2:]}" if facts.flag else facts.option
        default = "" if facts.default is None else f"; {facts.default} by default"
        default = "; required" if facts.required else default
        allowed = "a switch" if facts.flag else facts.allowed
        console.print(f"{flag}  ({allowed}{default})", style="bold", soft_wrap=wrap)
        if facts.about:
            console.print(f"  {facts.about}", soft_wrap=wrap)
