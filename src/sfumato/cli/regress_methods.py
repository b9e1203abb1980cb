"""The methods that release a regression, and the options that say of what.

Nothing is imported but the catalogue until a method is chosen, so that help stays instant.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato import catalogue
from sfumato.cli.exits import ExitCode, Refusal
from sfumato.cli.methods import choices, chosen, short_name
from sfumato.cli.options import refuse_extreme

if TYPE_CHECKING:
    from sfumato.data.table import TablePublic
    from sfumato.privacy.method import AnyMethod

#: Where regressions live in the package.
PLACE = "sfumato.regression."
#: These release something else than one model.
BESIDES = ("table.ManyResponses",)
#: The method for classes, where none is named.
LOGISTIC = "table.FunctionalRegression"
#: The method for numbers, where none is named; of these the first that there is.
DEFAULTS = ("table.LinearRegression", LOGISTIC)

REGRESSIONS = tuple(
    name for name, place in sorted(catalogue.METHODS.items()) if place.startswith(PLACE)
)
OFFERED = {short_name(name): name for name in REGRESSIONS if name not in BESIDES}
DEFAULT = next(name for name in DEFAULTS if name in catalogue.METHODS)

if TYPE_CHECKING:

    class MethodChoice(StrEnum):
        """The methods that release a regression."""

else:
    MethodChoice = choices(OFFERED)

MethodOption = Annotated[
    MethodChoice | None,
    typer.Option(
        help=f"How the model is made; {short_name(DEFAULT)} by default, and "
        f"{short_name(LOGISTIC)} with --positive.",
        case_sensitive=False,
    ),
]
TargetOption = Annotated[
    str, typer.Option(metavar="NAME", help="The column that is explained by the others.")
]
PositiveOption = Annotated[
    list[str] | None,
    typer.Option(
        "--positive",
        metavar="VALUE",
        help="A value of the target that is told from the others, which makes the model logistic; "
        "repeat for more.",
    ),
]


def chosen_method(
    public: TablePublic,
    *,
    method: MethodChoice | None,
    epsilon: str,
    delta: str | None,
    target: str,
    positive: list[str] | None,
    further: list[str] | None,
) -> AnyMethod:
    """Return the method that the options stand for, checked against what is public."""
    refuse_extreme(delta=delta)
    unnamed = LOGISTIC if positive else DEFAULT
    name = unnamed if method is None else OFFERED[method.value]
    positive = _as_read(public, target, positive or [])
    options: dict[str, Any] = {"target": target, "delta": delta, "positive": positive or None}
    given = {option: value for option, value in options.items() if value is not None}
    return chosen(public, name, epsilon=epsilon, further=further, given=given)


def _as_read(public: TablePublic, target: str, positive: list[str]) -> list[str]:
    """Return values as the schema reads them: yes, 1 and t of a true/false column are `true`."""
    import polars as pl

    from sfumato.engines.coding import Booleans
    from sfumato.engines.reading import Truth

    if not positive or target not in public.columns:
        return positive
    coding = public.schema[target].coding
    if not isinstance(coding, Booleans):
        return positive
    truth = Truth.read(pl.Series(positive, dtype=pl.String))
    strange = [word for word, bad in zip(positive, truth.unreadable, strict=True) if bad]
    if strange:
        raise Refusal(
            ExitCode.USAGE,
            f"{target!r} is true or false (yes and 1 are read as true, no and 0 as false); "
            f"--positive {strange[0]!r} is neither",
        )
    return [coding.label(int(value)) for value in truth.values]
