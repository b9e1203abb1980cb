"""How plans, releases and evaluations are shown on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

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
        console.print(str(plan).partition("\n")[2], soft_wrap=True)
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
        grid.add_row(
            summary.what,
            f"{len(summary.distances)}{missing}",
            "—" if average is None else f"{100 * average:.2f} %",
            "—" if worst is None else f"{worst.name}: {100 * worst.total_variation:.2f} %",
        )
    console.print(grid)
    console.print(
        "Total variation distance: the share of rows that would have to move for the released "
        "table to be the true one.",
        style="dim",
        soft_wrap=not console.is_terminal,
    )
