"""`sfumato points plan | rehearse | release`: before, without, and with spending."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.cli.methods import SetOption
from sfumato.cli.options import (
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
from sfumato.cli.points_methods import (
    FileArgument,
    MaybeFileArgument,
    MethodOption,
    chosen_method,
)
from sfumato.cli.points_schema import read_declared, read_private, read_public
from sfumato.cli.releasing import opened_ledger, planned, rehearsed, released, usable_key
from sfumato.cli.screen import JsonOption, answering

if TYPE_CHECKING:
    from sfumato.spatial.histogram import SpatialHistogram


def plan(
    epsilon: EpsilonOption,
    file: MaybeFileArgument = None,
    schema: SchemaOption = None,
    method: MethodOption = None,
    further: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what a release would cost and how good it would be. Reads the schema only."""
    with answering(as_json) as screen:
        public = read_public(schema, file)
        recipe = chosen_method(public, method=method, epsilon=epsilon, further=further)
        planned(screen, recipe, public)


def rehearse(
    epsilon: EpsilonOption,
    file: MaybeFileArgument = None,
    schema: SchemaOption = None,
    method: MethodOption = None,
    further: SetOption = None,
    rows: MadeUpOption = None,
    out: RehearsalOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run the whole release on made-up points. Free: no private data are read."""
    with answering(as_json) as screen:
        public = read_public(schema, file)
        recipe = chosen_method(public, method=method, epsilon=epsilon, further=further)
        rehearsed(screen, recipe, public, rows=rows, out=out, facts=_facts)


def release(
    file: FileArgument,
    epsilon: EpsilonOption,
    out: OutOption,
    schema: SchemaOption = None,
    method: MethodOption = None,
    further: SetOption = None,
    ledger: LedgerOption = None,
    key: KeyOption = None,
    report: ReportOption = True,
    engine: EngineOption = EngineChoice.AUTO,
    separator: SeparatorOption = None,
    as_json: JsonOption = False,
) -> None:
    """Release the points: book the loss, add noise, certify and save cells with counts."""
    with answering(as_json) as screen:
        # Whatever can be refused is refused before anything is spent.
        signing = usable_key(key)
        book = opened_ledger(screen, ledger)
        declared = read_declared(schema_path(schema, file, kind="points"))
        points = read_private(screen, file, declared, engine, separator)
        recipe = chosen_method(points.public, method=method, epsilon=epsilon, further=further)
        released(
            screen, recipe, points,
            out=out, book=book, signing=signing, report=report, facts=_facts,
        )  # fmt: skip


def _facts(made: SpatialHistogram) -> dict[str, Any]:
    """Return what only a release of points can tell."""
    return {
        "total": round(made.total, 3),
        "cells": len(made.cells.counts),
        "points": made.points,
        "standard_deviation": made.deviation,
    }
