"""`sfumato regress plan | rehearse | fit`: before, without, and with spending."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.cli.methods import SetOption
from sfumato.cli.options import (
    DeltaOption,
    EngineChoice,
    EngineOption,
    EpsilonOption,
    KeyOption,
    LedgerOption,
    MadeUpOption,
    OutOption,
    RehearsalOption,
    ReportOption,
    SchemaOption,
    SeparatorOption,
    schema_path,
)
from sfumato.cli.regress_methods import MethodOption, PositiveOption, TargetOption, chosen_method
from sfumato.cli.releasing import opened_ledger, planned, rehearsed, released, usable_key
from sfumato.cli.screen import JsonOption, answering
from sfumato.cli.table_options import (
    FileArgument,
    MaybeFileArgument,
    read_private,
    read_public,
    read_schema,
)

if TYPE_CHECKING:
    from rich.console import Console

    from sfumato.privacy.release import Release

#: How many coefficients are printed.
MOST_PRINTED = 30


def plan(
    epsilon: EpsilonOption,
    target: TargetOption,
    file: MaybeFileArgument = None,
    schema: SchemaOption = None,
    delta: DeltaOption = None,
    method: MethodOption = None,
    positive: PositiveOption = None,
    further: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what a model would cost and how much noise it takes. Reads the schema only."""
    with answering(as_json) as screen:
        public = read_public(schema, file, finely=True)
        recipe = chosen_method(
            public,
            method=method, epsilon=epsilon, delta=delta, target=target, positive=positive,
            further=further,
        )  # fmt: skip
        planned(screen, recipe, public)


def rehearse(
    epsilon: EpsilonOption,
    target: TargetOption,
    file: MaybeFileArgument = None,
    schema: SchemaOption = None,
    delta: DeltaOption = None,
    method: MethodOption = None,
    positive: PositiveOption = None,
    further: SetOption = None,
    rows: MadeUpOption = None,
    out: RehearsalOption = None,
    as_json: JsonOption = False,
) -> None:
    """Fit a model to made-up data of the same shape. Free: no private data are read."""
    with answering(as_json) as screen:
        public = read_public(schema, file, finely=True)
        recipe = chosen_method(
            public,
            method=method, epsilon=epsilon, delta=delta, target=target, positive=positive,
            further=further,
        )  # fmt: skip
        rehearsed(screen, recipe, public, rows=rows, out=out, facts=facts, figures=figures)


def fit(
    file: FileArgument,
    epsilon: EpsilonOption,
    target: TargetOption,
    out: OutOption,
    schema: SchemaOption = None,
    delta: DeltaOption = None,
    method: MethodOption = None,
    positive: PositiveOption = None,
    further: SetOption = None,
    ledger: LedgerOption = None,
    key: KeyOption = None,
    report: ReportOption = True,
    engine: EngineOption = EngineChoice.AUTO,
    separator: SeparatorOption = None,
    as_json: JsonOption = False,
) -> None:
    """Release a regression of one column by the others: book the loss, fit with noise, save."""
    with answering(as_json) as screen:
        # Whatever can be refused is refused before anything is spent.
        signing = usable_key(key)
        book = opened_ledger(screen, ledger)
        declared = read_schema(schema_path(schema, file, kind="table"))
        table = read_private(screen, file, declared, engine, separator, finely=True)
        recipe = chosen_method(
            table.public,
            method=method, epsilon=epsilon, delta=delta, target=target, positive=positive,
            further=further,
        )  # fmt: skip
        released(
            screen, recipe, table,
            out=out, book=book, signing=signing, report=report, facts=facts, figures=figures,
        )  # fmt: skip


def facts(made: Release) -> dict[str, Any]:
    """Return what only a regression can tell: what each column adds, in its own units."""
    from sfumato.regression.model import RegressionModel

    if not isinstance(made, RegressionModel):
        return {}
    told = made.coefficients
    sure = [None] * len(told.names) if told.deviations is None else told.deviations.tolist()
    coefficients = [
        {"column": column, "value": value, "adds": adds, "standard_deviation": deviation}
        for (column, value), adds, deviation in zip(
            told.names, told.adds.tolist(), sure, strict=True
        )
    ]
    return {"target": made.target, "coefficients": coefficients}


def figures(console: Console, made: Release) -> None:
    """Print what each column adds, in its own units."""
    import numpy as np
    from rich import box
    from rich.table import Table

    from sfumato.regression.model import RegressionModel

    if not isinstance(made, RegressionModel):
        return
    told = made.coefficients
    grid = Table(box=box.SIMPLE_HEAD)
    grid.add_column("column")
    grid.add_column("for")
    grid.add_column(f"adds to {made.target}" if made.positive is None else "adds to the log odds")
    # The constant is told last; a reader begins with it.
    deviations = np.zeros(len(told.names)) if told.deviations is None else told.deviations
    order = [len(told.names) - 1, *range(len(told.names) - 1)]
    for place in order[:MOST_PRINTED]:
        column, value = told.names[place]
        # The first category of a column adds nothing, for sure.
        sure = f" ± {deviations[place]:,.2g}" if deviations[place] else ""
        grid.add_row(column, made.per(column, value), f"{told.adds[place]:+,.4g}{sure}")
    console.print(grid)
    if len(told.names) > MOST_PRINTED:
        console.print(f"{len(told.names) - MOST_PRINTED:,} more are in coefficients.csv.")
    console.print(made.how_sure(), soft_wrap=not console.is_terminal)
