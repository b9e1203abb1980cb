"""`sfumato collect`: a survey in which nobody tells the truth for certain, from plan to report."""

from __future__ import annotations

import typer

from sfumato.cli import collect_plan, collect_report, collect_reports
from sfumato.cli.exits import EPILOG

app = typer.Typer(
    help="Surveys by randomised response: plan, perturb, aggregate and report.",
    epilog=EPILOG,
    no_args_is_help=True,
)
app.command("plan", epilog=EPILOG)(collect_plan.plan)
app.command("perturb", epilog=EPILOG)(collect_reports.perturb)
app.command("aggregate", epilog=EPILOG)(collect_reports.aggregate)
app.command("report", epilog=EPILOG)(collect_report.report)
