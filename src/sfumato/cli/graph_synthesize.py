"""`sfumato graph synthesize | sample`: made-up graphs that resemble a private one."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.exits import ExitCode, Refusal
from sfumato.cli.graph_data import (
    ColumnsOption,
    CommentOption,
    FileArgument,
    Layout,
    NodesOption,
    SkipLinesOption,
)
from sfumato.cli.graph_release import spend
from sfumato.cli.methods import SetOption, chosen
from sfumato.cli.options import (
    EpsilonOption,
    KeyOption,
    LedgerOption,
    OutOption,
    ReleaseArgument,
    ReportOption,
    refuse_unwritable,
)
from sfumato.cli.releasing import rebuilt
from sfumato.cli.screen import JsonOption, answering

if TYPE_CHECKING:
    from rich.console import Console

#: What a drawn graph can be written as, by the ending of its name; `sfumato.graph.sampled` knows
#: the same.
GRAPHS = (".csv", ".txt", ".tsv", ".parquet", ".graphml")


class KeepChoice(StrEnum):
    """What of a graph its synthetic likeness keeps."""

    DEGREES = "degrees"
    MIXING = "mixing"
    CLUSTERING = "clustering"
    TRIPLES = "triples"
    KRONECKER = "kronecker"


#: What is kept → the method that keeps it, and its parameters.
KEPT: dict[KeepChoice, tuple[str, dict[str, Any]]] = {
    KeepChoice.DEGREES: ("graph.DKGraph", {"order": 1}),
    KeepChoice.MIXING: ("graph.DKGraph", {"order": 2}),
    KeepChoice.CLUSTERING: ("graph.ClusteredGraph", {}),
    KeepChoice.TRIPLES: ("graph.DKGraph", {"order": 3}),
    KeepChoice.KRONECKER: ("graph.KroneckerGraph", {}),
}


def synthesize(
    file: FileArgument,
    epsilon: EpsilonOption,
    nodes: NodesOption,
    out: OutOption,
    keep: Annotated[
        KeepChoice,
        typer.Option(
            help="What is kept: degrees, how many edges nodes have; mixing, also whether those "
            "with many are joined to those with many; clustering, degrees and how many triangles "
            "there are; triples, all shapes of three nodes, which needs --delta and a huge "
            "epsilon; kronecker, a model of three numbers."
        ),
    ] = KeepChoice.MIXING,
    delta: Annotated[
        str | None,
        typer.Option(metavar="NUMBER", help="Needed where the noise follows the graph."),
    ] = None,
    further: SetOption = None,
    ledger: LedgerOption = None,
    key: KeyOption = None,
    report: ReportOption = True,
    columns: ColumnsOption = None,
    comment: CommentOption = "#",
    skip_lines: SkipLinesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Release a model of the graph, and a made-up graph drawn from it."""
    with answering(as_json) as screen:
        name, parameters = KEPT[keep]
        given = parameters | ({} if delta is None else {"delta": delta})
        spend(
            screen,
            lambda public: chosen(public, name, epsilon=epsilon, further=further, given=given),
            file=file, nodes=nodes, layout=Layout(columns, comment, skip_lines),
            out=out, ledger=ledger, key=key, report=report,
        )  # fmt: skip


def sample(
    release: ReleaseArgument,
    out: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            help="The graph to write: .csv or .parquet with the columns source and target, .txt "
            "or .tsv with two nodes a line, or .graphml. Of several graphs each gets a number.",
        ),
    ],
    graphs: Annotated[int, typer.Option(help="How many graphs to draw.", min=1)] = 1,
    seed: Annotated[
        int | None, typer.Option(help="A seed, to draw the same graphs again.", min=0)
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Draw further made-up graphs from a release. Reads no data, costs nothing, however often."""
    with answering(as_json) as screen:
        from sfumato import noise
        from sfumato.graph.synthetic import SyntheticGraph

        refuse_unwritable(out, GRAPHS)
        places = _places(out, graphs)
        made: SyntheticGraph = rebuilt(
            screen, release, SyntheticGraph, "only a synthetic graph can be drawn from"
        )
        generator = noise.generator(seed)
        written = []
        with screen.working("drawing"):
            for place in places:
                drawn = made.sample(generator=generator)
                drawn.write(place)
                written.append({"file": str(place), "nodes": drawn.nodes, "edges": drawn.edges})

        def show(console: Console) -> None:
            for item in written:
                console.print(
                    f"{item['edges']:,} edges between {item['nodes']:,} nodes are in "
                    f"{item['file']}",
                    soft_wrap=True,
                )

        screen.answer({"graphs": written}, show)


def _places(out: Path, graphs: int) -> list[Path]:
    """Return the files of the graphs, none of which may be there."""
    places = [out]
    if graphs > 1:
        width = len(str(graphs))
        places = [
            out.with_name(f"{out.stem}-{number:0{width}}{out.suffix}")
            for number in range(1, graphs + 1)
        ]
    taken = next((place for place in places if place.exists()), None)
    if taken is not None:
        raise Refusal(ExitCode.USAGE, f"{taken} exists; choose another file with --out")
    return places
