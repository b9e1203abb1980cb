"""How plans, releases and evaluations are shown on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from sfumato.evaluate.classifiers import Mistakes
    from sfumato.evaluate.table import Evaluation
    from sfumato.privacy.plan import Plan

#: Tables shown one by one in an evaluation.
MOST_SHOWN = 20


def plan_document(plan: Plan) -> dict[str, Any]:
    """Return a plan with its guarantee, for programs."""
    return {"plan": plan.to_json(), "guarantee": plan.guarantee.to_json()}


def show_plan(console: Console, plan: Plan) -> None:
    """Print a plan: what is measured, what it costs, how good it will be."""
    from rich import box
    from rich.table import Table

    console.print(f"Plan of {plan.method}: {plan.guarantee}", soft_wrap=not console.is_terminal)
    if not console.is_terminal:
        # A file or a pipe gets every line whole.
        for line in str(plan).split("\n")[1:]:
            console.print(line, soft_wrap=True)
        return
    grid = Table("what", "loss", "noise", "expected error", box=box.SIMPLE_HEAD)
    for step in plan.steps:
        grid.add_row(step.what, str(step.loss), step.noise, step.error)
    console.print(grid)
    for note in plan.notes:
        console.print(note, style="dim")


def show_evaluation(console: Console, evaluation: Evaluation, warning: str) -> None:
    """Print how far a release is from the truth, with the label it must carry."""
    from rich import box
    from rich.table import Table

    console.print(warning, style="bold red", soft_wrap=not console.is_terminal)
    grid = Table("tables", "compared", "average distance", "furthest off", box=box.SIMPLE_HEAD)
    for summary in evaluation.summaries:
        average, worst = summary.average, summary.worst
        missing = f" ({summary.missing} not released)" if summary.missing else ""
        missing += f" ({summary.left_out} left out)" if summary.left_out else ""
        grid.add_row(
            summary.what,
            f"{len(summary.distances)}{missing}",
            "—" if average is None else f"{100 * average:.2f} %",
            "—" if worst is None else f"{worst.name}: {100 * worst.total_variation:.2f} %",
        )
    console.print(grid)
    for line in _further_lines(evaluation):
        console.print(line, soft_wrap=not console.is_terminal)
    console.print(
        "Total variation distance: the share of rows that would have to move for the released "
        "table to be the true one.",
        style="dim",
        soft_wrap=not console.is_terminal,
    )


def show_mistakes(console: Console, outcome: Mistakes, warning: str) -> None:
    """Print how often a released rule is wrong, with the label it must carry."""
    wrap = not console.is_terminal
    console.print(warning, style="bold red", soft_wrap=wrap)
    console.print(
        f"Predicting {outcome.target} for {outcome.rows:,} private rows: "
        f"{100 * outcome.error:.1f} % wrong, {100 * outcome.majority_error:.1f} % by guessing what "
        "is more frequent.",
        soft_wrap=wrap,
    )


def _further_lines(evaluation: Evaluation) -> list[str]:
    """Return the comparisons that are not of tables, one a line."""
    lines = []
    worst = evaluation.associations.worst
    if worst is not None:
        lines.append(
            "Dependence of two columns (Cramér's V): off by "
            f"{evaluation.associations.average_error:.3f} on average; most for "
            f"{' × '.join(worst.columns)}, {worst.released:.3f} instead of {worst.truth:.3f}."
        )
    ranges = evaluation.ranges
    if ranges is not None and ranges.average is not None and ranges.median is not None:
        lines.append(
            f"Counts of {len(ranges.queries):,} random ranges: off by {100 * ranges.average:.1f} % "
            f"on average (median {100 * ranges.median:.1f} %), as a percentage of the true count, "
            "or of a thousandth of all rows where that is more."
        )
    lines += [
        f"Predicting {item.target} for {item.rows:,} private rows: {100 * item.error:.1f} % wrong "
        f"when learnt from the release, {100 * item.private_error:.1f} % when learnt from the "
        f"private table, {100 * item.majority_error:.1f} % by guessing the most frequent value."
        for item in evaluation.classifications
    ]
    return lines
