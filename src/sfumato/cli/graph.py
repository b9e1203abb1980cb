"""`sfumato graph`: from private edges between public nodes to statistics and synthetic graphs.

`count`, `degrees`, `stats`, `synthesize` and `spectrum` are `release` with one method each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli import graph_data
from sfumato.cli.exits import EPILOG, ExitCode, Refusal
from sfumato.cli.kind import (
    Evaluation,
    Kind,
    MethodChoice,
    add_commands,
    add_evaluation,
    add_release,
)
from sfumato.cli.methods import methods_for
from sfumato.cli.options import ReleaseArgument, refuse_unwritable
from sfumato.cli.releasing import load_release
from sfumato.cli.schemas import read_list
from sfumato.cli.screen import JsonOption, answering

if TYPE_CHECKING:
    from rich.console import Console

    from sfumato.data.graph import Graph
    from sfumato.data.graph_public import GraphPublic
    from sfumato.graph.synthetic import SyntheticGraph

#: The method that is used unless another is named.
DEFAULT = "graph.SubgraphCount"
#: What a drawn graph can be written as, by the ending of its name; `sfumato.graph.sampled` knows
#: the same.
GRAPHS = (".csv", ".txt", ".tsv", ".parquet", ".graphml")

app = typer.Typer(
    help="Graphs: plan, rehearse, release and evaluate statistics and synthetic graphs that hide "
    "any one edge.",
    epilog=EPILOG,
    no_args_is_help=True,
)

GRAPH = Kind(
    name="graph",
    methods=methods_for("graph"),
    method_help="The release method; subgraphcount by default.",
    choice=MethodChoice(default=lambda typed: DEFAULT),
    options=graph_data.GraphOptions,
    file="The private edges, two nodes per line: plain text, .gz or .xz.",
    unread="The private edges; they are read only to find the nodes of --nodes named.",
    read_public=graph_data.read_public,
    read_private=graph_data.read_private,
    help=(
        "Show the privacy loss and the expected error of a release. Reads the nodes only.",
        "Run the whole release on synthetic edges. Free: it reads the nodes only.",
        "Release a statistic of the graph: book the loss, add noise, certify and save it.",
    ),
    rows=Annotated[
        int | None, typer.Option(help="The number of synthetic edges; 1,000 by default.", min=0)
    ],
)


class ShapeChoice(StrEnum):
    """What can be counted."""

    TRIANGLE = "triangle"
    STAR = "star"
    CLIQUE = "clique"
    K_TRIANGLE = "k-triangle"


@dataclass(frozen=True, kw_only=True)
class CountParameters:
    """Which subgraphs are counted."""

    shape: Annotated[
        ShapeChoice,
        typer.Option(
            help="Triangles; stars, a node with k neighbours; cliques, k nodes all joined; or "
            "k-triangles, k triangles on one edge."
        ),
    ] = ShapeChoice.TRIANGLE
    k: Annotated[
        int | None,
        typer.Option("--k", "-k", help="The size of a star, a clique or a k-triangle.", min=2),
    ] = None


@dataclass(frozen=True, kw_only=True)
class StatsParameters:
    """Which statistic is released."""

    expression: Annotated[
        str,
        typer.Option(
            metavar="FORMULA",
            help="What is released, such as '3 * triangles / wedges', 'density' or "
            "'triangles(v) / choose2(degree(v))'.",
        ),
    ]
    node: Annotated[
        str | None, typer.Option(metavar="NODE", help="The node that v stands for in the formula.")
    ] = None
    groups: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A public file with a node and its group on each line, for blocks and modularity.",
        ),
    ] = None
    delta: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER",
            help="Needed for statistics with one number per node whose noise depends on the graph.",
        ),
    ] = None


class KeepChoice(StrEnum):
    """What of a graph its synthetic likeness keeps."""

    DEGREES = "degrees"
    MIXING = "mixing"
    CLUSTERING = "clustering"
    TRIPLES = "triples"
    KRONECKER = "kronecker"


#: What is kept → the method that keeps it, and its parameters.
KEPT: dict[str, tuple[str, dict[str, Any]]] = {
    KeepChoice.DEGREES: ("graph.DKGraph", {"order": 1}),
    KeepChoice.MIXING: ("graph.DKGraph", {"order": 2}),
    KeepChoice.CLUSTERING: ("graph.ClusteredGraph", {}),
    KeepChoice.TRIPLES: ("graph.DKGraph", {"order": 3}),
    KeepChoice.KRONECKER: ("graph.KroneckerGraph", {}),
}


@dataclass(frozen=True, kw_only=True)
class SynthesizeParameters:
    """What a synthetic graph keeps."""

    keep: Annotated[
        KeepChoice,
        typer.Option(
            help="The structure that is kept: degrees, the degree distribution; mixing, also "
            "which degrees are joined by edges; clustering, degrees and the number of "
            "triangles; triples, all shapes of three nodes, which needs --delta and a huge "
            "epsilon; kronecker, a model of three numbers."
        ),
    ] = KeepChoice.MIXING
    delta: Annotated[
        str | None,
        typer.Option(metavar="NUMBER", help="Needed by models whose noise depends on the graph."),
    ] = None


class MechanismChoice(StrEnum):
    """How a spectrum is made private."""

    AUTO = "auto"
    RESPONSE = "response"
    LAPLACE = "laplace"
    EIGENVALUES = "eigenvalues"
    LNPP = "lnpp"
    SBMF = "sbmf"


@dataclass(frozen=True, kw_only=True)
class SpectrumParameters:
    """Which part of a spectrum is released, and how."""

    k: Annotated[
        int | None,
        typer.Option("--k", "-k", help="The number of eigenvalues, from the largest.", min=1),
    ] = None
    mechanism: Annotated[
        MechanismChoice,
        typer.Option(
            help="response: randomised response for every pair of nodes; laplace: noise on every "
            "pair; eigenvalues: these alone, with very little noise; lnpp and sbmf: noisy or "
            "sampled eigenvectors, for comparison."
        ),
    ] = MechanismChoice.AUTO
    delta: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER", help="Needed by mechanisms that test the gaps between eigenvalues."
        ),
    ] = None


def _kept(typed: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the method that keeps what is asked for, and its parameters."""
    return KEPT.get(typed.get("keep", KeepChoice.MIXING), KEPT[KeepChoice.MIXING])


def _read_kept(typed: dict[str, Any], public: GraphPublic, method: str) -> dict[str, Any]:
    further = {name: value for name, value in typed.items() if name != "keep"}
    return _kept(typed)[1] | further


def _read_stats(typed: dict[str, Any], public: GraphPublic, method: str) -> dict[str, Any]:
    """Return the parameters of a statistic, with groups from a file."""
    given = dict(typed)
    node = given.get("node", "")
    # A whole number, if it is written as one, or a text.
    if node.isascii() and node.isdecimal() and str(int(node)) == node:
        given["node"] = int(node)
    if "groups" in given:
        given["groups"] = _read_groups(given["groups"], public)
    return given


def _read_groups(path: Path, public: GraphPublic) -> list[int | str]:
    """Return the group of each node, in order, from a public file that names both."""
    found: dict[str, str] = {}
    places = {public.label(place) for place in range(public.nodes)}
    for number, line in enumerate(read_list(path).splitlines(), start=1):
        if not line.strip():
            continue
        mark = next((mark for mark in ",;\t" if mark in line), None)  # names may hold blanks
        parts = [part.strip() for part in line.split(mark)]
        if len(parts) != 2:
            raise Refusal(
                ExitCode.DATA,
                (
                    f"{path.name}, line {number}: each line must hold a node and its group, and "
                    "nothing else"
                ),
            )
        if parts[0] not in places or parts[0] in found:
            why = (
                "is listed twice; list it once"
                if parts[0] in found
                else "is not among the declared nodes"
            )
            raise Refusal(ExitCode.DATA, f"{path.name}, line {number}: the node {parts[0]!r} {why}")
        found[parts[0]] = parts[1]
    missing = [label for label in map(public.label, range(public.nodes)) if label not in found]
    if missing:
        raise Refusal(
            ExitCode.DATA,
            f"{path.name}: {len(missing)} nodes have no group, the first of them {missing[0]!r}",
        )
    return [found[public.label(place)] for place in range(public.nodes)]


add_release(
    app, GRAPH, "count",
    MethodChoice(default=lambda typed: "graph.SubgraphCount", parameters=CountParameters),
    "Release the number of subgraphs of a shape, with noise that hides any one edge.",
)  # fmt: skip
add_release(
    app, GRAPH, "degrees",
    MethodChoice(default=lambda typed: "graph.DegreeSequence"),
    "Release the sorted degrees of all nodes: how many nodes have how many neighbours.",
)  # fmt: skip
add_release(
    app, GRAPH, "stats",
    MethodChoice(
        default=lambda typed: "graph.GraphStatistic", parameters=StatsParameters, read=_read_stats
    ),
    "Release a statistic that is written as a formula; its parts share epsilon.",
)  # fmt: skip
add_release(
    app, GRAPH, "synthesize",
    MethodChoice(
        default=lambda typed: _kept(typed)[0], parameters=SynthesizeParameters, read=_read_kept
    ),
    "Release a model of the graph, and a synthetic graph drawn from it.",
)  # fmt: skip


@app.command(epilog=EPILOG)
def sample(
    release: ReleaseArgument,
    out: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            help="The graph to write: .csv or .parquet with the columns source and target, .txt "
            "or .tsv with two nodes per line, or .graphml. With several graphs, each file "
            "gets a number.",
        ),
    ],
    graphs: Annotated[int, typer.Option(help="The number of graphs to draw.", min=1)] = 1,
    seed: Annotated[
        int | None, typer.Option(help="A seed that makes the graphs repeatable.", min=0)
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Draw further synthetic graphs from a release. Reads no data and costs no privacy."""
    with answering(as_json) as screen:
        from sfumato import noise
        from sfumato.graph.synthetic import SyntheticGraph

        refuse_unwritable(out, GRAPHS)
        places = _places(out, graphs)
        made: SyntheticGraph = load_release(
            screen,
            release,
            SyntheticGraph,
            "graphs can be drawn only from the release of a synthetic graph",
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


add_release(
    app, GRAPH, "spectrum",
    MethodChoice(default=lambda typed: "graph.Spectrum", parameters=SpectrumParameters),
    "Release the largest eigenvalues of the graph and their eigenvectors.",
)  # fmt: skip
add_commands(app, GRAPH)


@dataclass(frozen=True)
class Drawn:
    """How numbers are drawn beside the truth."""

    picture: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Draw the range of possible releases around the true count, or both degree "
            "distributions, as .svg, .png or .pdf. Not private.",
        ),
    ] = None


@dataclass(frozen=True)
class DrawnWhole:
    """How a graph or a spectrum is drawn beside the private one."""

    picture: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Draw both side by side, as .svg, .png or .pdf. Not private.",
        ),
    ] = None


def _numbers() -> tuple[type[Any], ...]:
    from sfumato.evaluate.graph import COMPARED

    return COMPARED


def _compare_numbers(graph: Graph, made: Any, options: Any) -> Any:
    from sfumato.evaluate.graph import evaluate_graph

    return evaluate_graph(graph, made)


def _draw_numbers(graph: Graph, made: Any, outcome: Any) -> Any:
    from sfumato.evaluate.graph_pictures import picture

    return picture(graph, made)


def _wholes() -> tuple[type[Any], ...]:
    from sfumato.graph.spectrum_release import SpectrumRelease
    from sfumato.graph.synthetic import SyntheticGraph

    return (SyntheticGraph, SpectrumRelease)


def _compare_wholes(graph: Graph, made: Any, options: Any) -> Any:
    from sfumato.evaluate import spectrum, synthetic_graph
    from sfumato.graph.synthetic import SyntheticGraph

    if isinstance(made, SyntheticGraph):
        return synthetic_graph.compare(graph, made)
    return spectrum.compare_spectrum(graph, made)


def _draw_wholes(graph: Graph, made: Any, outcome: Any) -> Any:
    from sfumato.evaluate.graph_pictures import draw_comparison
    from sfumato.evaluate.spectrum import SpectrumComparison, draw_spectrum

    if isinstance(outcome, SpectrumComparison):
        return draw_spectrum(outcome)
    return draw_comparison(graph, made, outcome)


add_evaluation(
    app,
    GRAPH,
    Evaluation(
        help="Compare a release with the private graph. NOT PRIVATE: for the custodian's eyes "
        "only.",
        data="graph",
        releases=_numbers,
        needs="only releases of numbers about a graph are compared here (synthetic graphs and "
        "spectra by `sfumato graph compare`)",
        options=Drawn,
        reading=graph_data.Layout,
        read=graph_data.read_known,
        compare=_compare_numbers,
        draw=_draw_numbers,
    ),
)
add_evaluation(
    app,
    GRAPH,
    Evaluation(
        help="Compare a synthetic graph or a spectrum with the private graph. NOT PRIVATE.",
        data="graph",
        releases=_wholes,
        needs="only synthetic graphs and spectra are compared as a whole (numbers about a graph "
        "by `sfumato graph evaluate`)",
        options=DrawnWhole,
        reading=graph_data.Layout,
        read=graph_data.read_known,
        compare=_compare_wholes,
        draw=_draw_wholes,
    ),
    verb="compare",
)
