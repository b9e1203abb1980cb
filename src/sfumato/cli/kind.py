"""A kind of data on the command line: one description, from which its commands are derived.

`sfumato KIND plan | rehearse | release | evaluate` are the same commands for every kind; what
differs is how its public part and its private file are read, what is compared, and a few options.
Whatever can be refused is refused before anything is spent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from inspect import Parameter, Signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from sfumato.cli.exits import EPILOG, ExitCode, Refusal
from sfumato.cli.methods import (
    MethodCommand,
    choose_method,
    method_choices,
    methods_command,
)
from sfumato.cli.options import (
    PICTURES,
    EpsilonOption,
    KeyOption,
    LedgerOption,
    OutOption,
    RehearsalOption,
    ReleaseArgument,
    ReportOption,
    RowsOption,
    refuse_unwritable,
)
from sfumato.cli.releasing import (
    load_release,
    open_ledger,
    run_rehearsal,
    run_release,
    show_comparison,
    show_plan,
    usable_key,
)
from sfumato.cli.schemas import read_schema
from sfumato.cli.screen import JsonOption, Screen, answering, print_blocks, save_picture

if TYPE_CHECKING:
    from rich.console import Console

    from sfumato.privacy.method import AnyMethod

#: Values of options by their names.
Values = dict[str, Any]


@dataclass(frozen=True)
class NoOptions:
    """No options."""


def _keep(values: Values, public: Any, method: str) -> Values:
    """Take values as they are."""
    return values


@dataclass(frozen=True, kw_only=True)
class MethodChoice:
    """How options choose a method and its parameters.

    Parameters
    ----------
    default
        Returns the method that is used where none is named, given the values of `parameters` that
        were typed.
    parameters
        Parameters that have an option of their own form, as fields with Typer's annotations; all
        others are derived from the method.
    read
        Turns typed values of these, by name, into parameters, given what is public and the method.
    """

    default: Callable[[Mapping[str, Any]], str]
    parameters: type = NoOptions
    read: Callable[[Values, Any, str], Values] = _keep


@dataclass(frozen=True, kw_only=True)
class Kind:
    """What the command line must know of a kind of data.

    Parameters
    ----------
    name
        Its group of commands.
    methods
        The methods that it offers, short name to name in the catalogue.
    method_help
        What `--method` chooses.
    choice
        How options choose a method.
    options
        Options that say what is public, as fields with Typer's annotations.
    reading
        Options with which the private file is read, besides.
    file
        What the private file is.
    unread
        What a plan takes of the file.
    read_public
        Returns the public part, given the screen, the file and `options`.
    read_private
        Reads the file, given the screen, the file, `options` and `reading`.
    help
        What `plan`, `rehearse` and `release` do.
    verb
        What releasing is called.
    rows
        The option of a rehearsal that says how many records are synthesised.
    figures
        Shows people what of a release stands below its words, if anything does.
    """

    name: str
    methods: Mapping[str, str]
    method_help: str
    choice: MethodChoice
    options: type
    reading: type = NoOptions
    file: str
    unread: str
    read_public: Callable[[Screen, Path | None, Any], Any]
    read_private: Callable[[Screen, Path, Any, Any], Any]
    help: tuple[str, str, str]
    verb: str = "release"
    rows: Any = RowsOption
    figures: Callable[[Console, Any], None] | None = None

    @property
    def reserved(self) -> frozenset[str]:
        """The names of options that are no parameters of methods, in any command of the kind."""
        own = {"file", "method", "rows", "out", "ledger", "key", "report", "as_json", "json"}
        own |= {item.name for options in (self.options, self.reading) for item in fields(options)}
        return frozenset(own)


@dataclass(frozen=True)
class Order:
    """A derived command.

    Parameters
    ----------
    kind, choice
        The kind of data, and how the method is chosen.
    run
        Runs it, given itself, the screen and the values of its options.
    signature
        Its options, but for those of the method.
    help
        What it does.
    """

    kind: Kind
    choice: MethodChoice
    run: Callable[[Order, Screen, Values], None]
    signature: list[Parameter] = field(repr=False)
    help: str

    def command(self, derived: list[Parameter] | None = None) -> Callable[..., None]:
        """Return a function with the options of the command, and with derived ones."""

        def call(**values: Any) -> None:
            with answering(values.pop("as_json")) as screen:
                self.run(self, screen, values)

        call.__signature__ = Signature([*self.signature, *(derived or ())])  # type: ignore[attr-defined]
        call.__doc__ = self.help
        return call

    def choose(self, public: Any, values: Values) -> AnyMethod:
        """Return the method that options stand for, checked against what is public."""
        typed = {
            item.name: values[item.name]
            for item in fields(self.choice.parameters)
            if values[item.name] not in (None, [])
        }
        name = self.method_name(values.get("method"), typed)
        return choose_method(
            public,
            name,
            group=self.kind.name,
            epsilon=values["epsilon"],
            typed=self.choice.read(typed, public, name),
            derived=values,
        )

    def method_name(self, named: str | None, typed: Mapping[str, Any]) -> str:
        """Return the method that is meant, as the catalogue calls it."""
        return self.choice.default(typed) if named is None else self.kind.methods[named]


def add_commands(app: typer.Typer, kind: Kind) -> None:
    """Add `plan`, `rehearse`, `release` and `methods` of a kind to its group."""
    maybe = Annotated[Path | None, typer.Argument(metavar="[FILE]", help=kind.unread)]
    choices: Any = method_choices(kind.methods)
    option = typer.Option(help=kind.method_help, case_sensitive=False)
    named: Any = Annotated[choices | None, option]
    public = [
        _option("epsilon", EpsilonOption),
        _option("file", maybe, None),
        *_options(kind.options),
        _option("method", named, None),
        *_options(kind.choice.parameters),
    ]
    rehearsed = [_option("rows", kind.rows, None), _option("out", RehearsalOption, None)]
    for verb, run, further, words in (
        ("plan", _plan, [], kind.help[0]),
        ("rehearse", _rehearse, rehearsed, kind.help[1]),
    ):
        signature = [*public, *further, _option("as_json", JsonOption, False)]
        _add(app, verb, Order(kind, kind.choice, run, signature, words))
    add_release(app, kind, kind.verb, kind.choice, kind.help[2], [_option("method", named, None)])
    app.command("methods", epilog=EPILOG)(methods_command(kind))


def add_release(
    app: typer.Typer,
    kind: Kind,
    verb: str,
    choice: MethodChoice,
    words: str,
    further: list[Parameter] | None = None,
) -> None:
    """Add a command that spends: the release of a kind, or of one method under a name of its own.

    Parameters
    ----------
    app, kind, verb
        The group, the kind of data, and what the command is called.
    choice
        How its method is chosen.
    words
        What it does.
    further
        Further options.
    """
    file = Annotated[Path, typer.Argument(metavar="FILE", help=kind.file)]
    signature = [
        _option("file", file),
        _option("epsilon", EpsilonOption),
        _option("out", OutOption),
        *_options(kind.options),
        *(further or ()),
        *_options(choice.parameters),
        _option("ledger", LedgerOption, None),
        _option("key", KeyOption, None),
        _option("report", ReportOption, False),
        *_options(kind.reading),
        _option("as_json", JsonOption, False),
    ]
    _add(app, verb, Order(kind, choice, _release, signature, words))


def _add(app: typer.Typer, verb: str, order: Order) -> None:
    """Add a derived command to a group."""
    taking = type("OrderCommand", (MethodCommand,), {"order": order})
    app.command(verb, cls=taking, epilog=EPILOG, help=order.help)(order.command())


def _option(name: str, annotation: Any, default: Any = Parameter.empty) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


def _options(declared: type) -> list[Parameter]:
    """Return the fields of a class of options as parameters of a command."""
    hints = get_type_hints(declared, include_extras=True)
    return [
        _option(
            item.name,
            hints[item.name],
            Parameter.empty if item.default is MISSING else item.default,
        )
        for item in fields(declared)
    ]


def take_options(declared: type, values: Values) -> Any:
    """Return the values of a class of options."""
    return declared(**{item.name: values[item.name] for item in fields(declared)})


def _plan(order: Order, screen: Screen, values: Values) -> None:
    """Show what a release would cost and how good it would be."""
    kind = order.kind
    public = kind.read_public(screen, values["file"], take_options(kind.options, values))
    show_plan(screen, order.choose(public, values), public)


def _rehearse(order: Order, screen: Screen, values: Values) -> None:
    """Run a whole release on synthetic data."""
    kind = order.kind
    public = kind.read_public(screen, values["file"], take_options(kind.options, values))
    run_rehearsal(
        screen, order.choose(public, values), public,
        rows=values["rows"], out=values["out"], figures=kind.figures,
    )  # fmt: skip


def _release(order: Order, screen: Screen, values: Values) -> None:
    """Book the loss and release the data."""
    kind = order.kind
    signing = usable_key(values["key"])
    book = open_ledger(screen, values["ledger"])
    options, reading = take_options(kind.options, values), take_options(kind.reading, values)
    data = kind.read_private(screen, values["file"], options, reading)
    run_release(
        screen, order.choose(data.public, values), data,
        out=values["out"], book=book, signing=signing, report=values["report"],
        figures=kind.figures,
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """How releases of a kind are compared with the private data that they were made of.

    Parameters
    ----------
    help
        What the command does.
    data
        The kind of data that a release must be of.
    releases
        Returns the classes of releases that can be compared.
    needs
        What such a release is needed for, to begin a refusal with.
    options
        What is compared, as fields with Typer's annotations: a `schema` instead of the release's
        own and a `picture` mean the same for every kind.
    reading, read
        The options with which the private file is read, and what reads it, given the screen, the
        file, what is public about it and these options.
    compare
        Compares data and a release, given `options`; the outcome has `to_json` and `blocks`.
    draw
        Draws the picture of data, a release and the outcome.
    compare_rows
        Compares the rows of the file with those of a release in their own units, given the file,
        the schema, the release, `options` and `reading`; `None` where that does not apply. The
        outcome also has `save_page`, for the file that the option `out` names.
    """

    help: str
    data: str
    releases: Callable[[], tuple[type[Any], ...]]
    needs: str
    options: type = NoOptions
    reading: type
    read: Callable[[Screen, Path, Any, Any], Any]
    compare: Callable[[Any, Any, Any], Any]
    draw: Callable[[Any, Any, Any], Any] | None = None
    compare_rows: Callable[[Path, Any, Any, Any, Any], Any] | None = None


def add_evaluation(
    app: typer.Typer, kind: Kind, evaluation: Evaluation, verb: str = "evaluate"
) -> None:
    """Add a command that compares a release with private data. What it shows is not private."""

    def evaluate(**values: Any) -> None:
        with answering(values.pop("as_json")) as screen:
            _evaluate(screen, kind, evaluation, values)

    evaluate.__signature__ = Signature(  # type: ignore[attr-defined]
        [
            _option("file", Annotated[Path, typer.Argument(metavar="FILE", help=kind.file)]),
            _option("release", ReleaseArgument),
            *_options(evaluation.options),
            *_options(evaluation.reading),
            _option("as_json", JsonOption, False),
        ]
    )
    app.command(verb, epilog=EPILOG, help=evaluation.help)(evaluate)


def _evaluate(screen: Screen, kind: Kind, evaluation: Evaluation, values: Values) -> None:
    """Compare a release with private data and answer with what was found."""
    options = take_options(evaluation.options, values)
    schema, picture, page = values.get("schema"), values.get("picture"), values.get("out")
    refuse_unwritable(picture, PICTURES, option="--picture")
    if page is not None:
        from sfumato.report.comparison import refuse_release_folder

        refuse_unwritable(page, (".html",))
        refuse_release_folder(page)
    release = load_release(screen, values["release"], evaluation.releases(), evaluation.needs)
    public = release.provenance.public
    if public.kind != evaluation.data:
        where = f"{values['release']} is of {public.kind}"
        raise Refusal(ExitCode.USAGE, f"{evaluation.needs}; {where}")
    if schema is not None:
        public = read_schema(schema, public.kind)
    reading = take_options(evaluation.reading, values)
    data = evaluation.read(screen, values["file"], public, reading)
    with screen.working("comparing"):
        outcome = evaluation.compare(data, release, options)
        if picture is not None and evaluation.draw is not None:
            save_picture(evaluation.draw(data, release, outcome), picture)
        rows = None
        if evaluation.compare_rows is not None:
            rows = evaluation.compare_rows(values["file"], public.schema, release, options, reading)
            if rows is not None and page is not None:
                rows.save_page(page)
    document = outcome.to_json()
    if evaluation.draw is not None:
        document["picture"] = None if picture is None else str(picture)
    # A comparison that is not of synthetic rows counts its rows under that name.
    if evaluation.compare_rows is not None and "rows" not in document:
        document["rows"] = None if rows is None else rows.to_json()
        document["page"] = None if page is None else str(page)

    def show(console: Console) -> None:
        print_blocks(console, outcome.blocks())
        if rows is not None:
            print_blocks(console, rows.blocks())
        for what, path in (("Picture", picture), ("Page", page)):
            if path is not None:
                console.print(f"{what} (not private): {path}", soft_wrap=True)

    show_comparison(screen, document, show)
