"""The methods for sequences."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.methods import choices, chosen, offered, short_name

if TYPE_CHECKING:
    from sfumato.data.sequences import SequencesPublic
    from sfumato.privacy.method import AnyMethod

#: The method that is used unless another is named.
DEFAULT = "sequences.SuffixTree"
OFFERED = offered("sequences")

if TYPE_CHECKING:

    class MethodChoice(StrEnum):
        """The methods for sequences."""

else:
    MethodChoice = choices(OFFERED)

MethodOption = Annotated[
    MethodChoice | None,
    typer.Option(help=f"How the sequences are released; {short_name(DEFAULT)} by default."),
]


def chosen_method(
    public: SequencesPublic, *, method: MethodChoice | None, epsilon: str, further: list[str] | None
) -> AnyMethod:
    """Return the method that the options stand for, checked against what is public."""
    name = DEFAULT if method is None else OFFERED[method.value]
    return chosen(public, name, epsilon=epsilon, further=further)
