"""`sfumato table network`: which columns the model of a synthetic release joins."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.options import PICTURES, ReleaseArgument, refuse_unwritable
from sfumato.cli.releasing import load_release
from sfumato.cli.screen import JsonOption, answering, print_table, save_picture

if TYPE_CHECKING:
    from rich.console import Console

    from sfumato.tabular.synthetic import SyntheticTable

#: Parts, and pairs, shown one by one.
MOST_SHOWN = 60


def network(
    release: ReleaseArgument,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw the network, as .svg, .png or .pdf."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show which columns a synthetic release joins, and how much they tell. Reads no data."""
    with answering(as_json) as screen:
        refuse_unwritable(out, PICTURES)
        from sfumato.tabular.synthetic import SyntheticTable

        made: SyntheticTable = load_release(
            screen, release, SyntheticTable, "a network needs a release of a synthetic table"
        )
        if out is not None:
            save_picture(made.plot(), out)
        screen.answer(_document(made, out), lambda console: _show(console, made, out))


def _document(made: SyntheticTable, out: Path | None) -> dict[str, Any]:
    """Return the network for programs."""
    names = made.public.columns
    return {
        "directed": made.network.directed,
        "parts": [
            {"columns": [names[column] for column in part.columns], "levels": list(part.levels)}
            for part in made.network.parts
        ],
        "together": [
            {"columns": [names[column] for column in part.columns], "levels": list(part.levels)}
            for part in made.together
        ],
        "alone": [names[column] for column in made.alone],
        "pairs": [
            {"columns": [names[join.first], names[join.second]], "information": join.information}
            for join in made.joins
        ],
        "picture": None if out is None else str(out),
    }


def _show(console: Console, made: SyntheticTable, out: Path | None) -> None:
    """Print what is kept together, what stands alone, then the pairs that tell most."""
    directed, found, names = made.network.directed, made.joins, made.public.columns
    _show_parts(console, made)
    if made.alone:
        listed = ", ".join(names[column] for column in made.alone)
        console.print(f"Independent of all others: {listed}", soft_wrap=True)
    if found:
        head = ("given", "column") if directed else ("column", "column")
        rows = [
            (
                names[join.first],
                names[join.second],
                "—" if join.information is None else f"{join.information:.3f}",
            )
            for join in found[:MOST_SHOWN]
        ]
        print_table(console, (*head, "mutual information (nats)"), rows)
        if len(found) > MOST_SHOWN:
            console.print(f"{len(found) - MOST_SHOWN} more pairs have less mutual information.")
    if out is not None:
        console.print(f"Drawn in {out}", soft_wrap=True)


def _show_parts(console: Console, made: SyntheticTable) -> None:
    """Print the columns that go with others, in the order in which they are drawn if any."""
    from sfumato.tabular.synthetic import part_words

    directed = made.network.directed
    # The first column of an order has no parents, but others depend on it.
    parts = made.together
    if directed:
        parts = tuple(part for part in made.network.parts if part.columns[0] not in made.alone)
    if not parts:
        return
    console.print("Drawn in this order:" if directed else "Modelled jointly:")
    for part in parts[:MOST_SHOWN]:
        words = part_words(made.public, part.columns, part.levels, directed=directed)
        console.print(f"  {words}", soft_wrap=True)
    if len(parts) > MOST_SHOWN:
        console.print(f"  and {len(parts) - MOST_SHOWN} more (--json lists them)")
