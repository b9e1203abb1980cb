"""`sfumato graph degrees`: how many neighbours the nodes of a graph have, without their names."""

from __future__ import annotations

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


def degrees(
    file: FileArgument,
    epsilon: EpsilonOption,
    nodes: NodesOption,
    out: OutOption,
    further: SetOption = None,
    ledger: LedgerOption = None,
    key: KeyOption = None,
    report: ReportOption = True,
    columns: ColumnsOption = None,
    comment: CommentOption = "#",
    skip_lines: SkipLinesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Release the degrees of all nodes, sorted: how many nodes have how many neighbours."""
    with answering(as_json) as screen:
        spend(
            screen,
            lambda public: chosen(
                public, "graph.DegreeSequence", epsilon=epsilon, further=further
            ),
            file=file, nodes=nodes, layout=Layout(columns, comment, skip_lines),
            out=out, ledger=ledger, key=key, report=report,
        )  # fmt: skip
