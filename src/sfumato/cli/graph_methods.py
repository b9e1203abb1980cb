"""The methods for graphs."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.exits import ExitCode, Refusal
from sfumato.cli.methods import choices, chosen, offered, short_name

if TYPE_CHECKING:
    from sfumato.data.graph_public import GraphPublic
    from sfumato.privacy.method import AnyMethod

#: The method that is used unless another is named.
DEFAULT = "graph.SubgraphCount"
#: The method that releases a formula.
FORMULA = "graph.GraphStatistic"
OFFERED = offered("graph")

if TYPE_CHECKING:

    class MethodChoice(StrEnum):
        """The methods for graphs."""

else:
    MethodChoice = choices(OFFERED)

MethodOption = Annotated[
    MethodChoice | None,
    typer.Option(
        help=f"What is released of the graph; {short_name(DEFAULT)} by default.",
        case_sensitive=False,
    ),
]


def chosen_method(
    public: GraphPublic, *, method: MethodChoice | None, epsilon: str, further: list[str] | None
) -> AnyMethod:
    """Return the method that the options stand for, checked against what is public."""
    name = DEFAULT if method is None else OFFERED[method.value]
    if name == FORMULA and not any(text.startswith("expression=") for text in further or []):
        raise Refusal(
            ExitCode.USAGE,
            f"--method {short_name(FORMULA)} needs a formula, as in --set "
            "'expression=3 * triangles / wedges'",
        )
    return chosen(public, name, epsilon=epsilon, further=further)
