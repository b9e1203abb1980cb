"""The methods for points, and the arguments that their commands share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.methods import choices, chosen, offered, short_name

if TYPE_CHECKING:
    from sfumato.data.points import PointsPublic
    from sfumato.privacy.method import AnyMethod

#: The method that is used unless another is named.
DEFAULT = "points.PrivTree"
OFFERED = offered("points")

if TYPE_CHECKING:

    class MethodChoice(StrEnum):
        """The methods for points."""

else:
    MethodChoice = choices(OFFERED)

MethodOption = Annotated[
    MethodChoice | None,
    typer.Option(help=f"How the points are released; {short_name(DEFAULT)} by default."),
]
FileArgument = Annotated[
    Path, typer.Argument(metavar="FILE", help="The private points: CSV (.gz, .xz) or Parquet.")
]
MaybeFileArgument = Annotated[
    Path | None,
    typer.Argument(
        metavar="[FILE]", help="The private points; they are not read, only their schema beside is."
    ),
]


def chosen_method(
    public: PointsPublic, *, method: MethodChoice | None, epsilon: str, further: list[str] | None
) -> AnyMethod:
    """Return the method that the options stand for, checked against what is public."""
    name = DEFAULT if method is None else OFFERED[method.value]
    return chosen(public, name, epsilon=epsilon, further=further)
