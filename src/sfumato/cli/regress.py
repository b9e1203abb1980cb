"""`sfumato regress`: from a private table to a model of one column by the others."""

from __future__ import annotations

import typer

from sfumato.cli import regress_evaluate, regress_fit, regress_predict
from sfumato.cli.exits import EPILOG

app = typer.Typer(
    help="Regressions: plan, rehearse and fit a model of one column by the others, and predict.",
    epilog=EPILOG,
    no_args_is_help=True,
)
app.command("plan", epilog=EPILOG)(regress_fit.plan)
app.command("rehearse", epilog=EPILOG)(regress_fit.rehearse)
app.command("fit", epilog=EPILOG)(regress_fit.fit)
app.command("predict", epilog=EPILOG)(regress_predict.predict)
app.command("evaluate", epilog=EPILOG)(regress_evaluate.evaluate)
