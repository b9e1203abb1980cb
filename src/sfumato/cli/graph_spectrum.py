"""`sfumato graph spectrum`: the largest eigenvalues of a graph, and where they come from."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

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
from sfumato.cli.options import EpsilonOption, KeyOption, LedgerOption, OutOption, ReportOption
from sfumato.cli.screen import JsonOption, answering


class MechanismChoice(StrEnum):
    """How a spectrum is made private."""

    AUTO = "auto"
    RESPONSE = "response"
    LAPLACE = "laplace"
    EIGENVALUES = "eigenvalues"
    LNPP = "lnpp"
    SBMF = "sbmf"


def spectrum(
    file: FileArgument,
    epsilon: EpsilonOption,
    nodes: NodesOption,
    out: OutOption,
    k: Annotated[
        int | None,
        typer.Option("--k", "-k", help="How many eigenvalues, from the largest.", min=1),
    ] = None,
    mechanism: Annotated[
        MechanismChoice,
        typer.Option(
            help="response: every pair of nodes answers by chance; laplace: noise on every pair; "
            "eigenvalues: they alone, with very little noise; lnpp and sbmf: noisy or sampled "
            "eigenvectors, to compare with."
        ),
    ] = MechanismChoice.AUTO,
    delta: Annotated[
        str | None,
        typer.Option(metavar="NUMBER", help="Needed where gaps between eigenvalues are tested."),
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
    """Release the largest eigenvalues of the graph and their eigenvectors."""
    with answering(as_json) as screen:
        told: dict[str, Any] = {"mechanism": mechanism.value, "k": k, "delta": delta}
        given = {name: value for name, value in told.items() if value is not None}
        spend(
            screen,
            lambda public: chosen(
                public, "graph.Spectrum", epsilon=epsilon, further=further, given=given
            ),
            file=file, nodes=nodes, layout=Layout(columns, comment, skip_lines),
            out=out, ledger=ledger, key=key, report=report,
        )  # fmt: skip
