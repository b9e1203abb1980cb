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
    from sfumato.privacy.release import Release


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
        rehearsed(screen, recipe, public, rows=rows, out=out, facts=facts)


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
            out=out, book=book, signing=signing, report=report, facts=facts,
        )  # fmt: skip


def facts(made: Release) -> dict[str, Any]:
    """Return what only a regression can tell: what each column adds, in its own units."""
    from sfumato.regression.model import RegressionModel

    if not isinstance(made, RegressionModel):
        return {}
    coefficients = [
        {"column": column, "value": value, "adds": adds}
        for (column, value), adds in made.coef.items()
    ]
    return {"target": made.target, "coefficients": coefficients}
