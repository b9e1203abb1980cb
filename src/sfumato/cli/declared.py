"""Private data of any kind, read as their schema file says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.cli.exits import ExitCode, Refusal
from sfumato.cli.schema_files import kind_of

if TYPE_CHECKING:
    from sfumato.cli.graph_data import Layout
    from sfumato.cli.options import EngineChoice
    from sfumato.cli.screen import Screen
    from sfumato.privacy.guarantee import Unit


@dataclass(frozen=True)
class Declared:
    """What a schema declares, and how data are read by it.

    Parameters
    ----------
    unit
        Whose contribution is protected; `None` in a draft that does not say.
    read
        Reads a file, given where to show progress, the file, the engine, the separator and the
        number of lines to skip.
    """

    unit: Unit | None
    read: Callable[[Screen, Path, EngineChoice, str | None, int], Any]


def declared_data(schema: Path) -> Declared:
    """Return how data are read by a schema file, of whatever kind it is."""
    match kind_of(schema):
        case "points":
            return _points(schema)
        case "sequences":
            return _sequences(schema)
        case _:
            return _table(schema)


def _table(schema: Path) -> Declared:
    from sfumato.cli import table_options

    declared = table_options.read_schema(schema)

    def read(
        screen: Screen, file: Path, engine: EngineChoice, separator: str | None, skip_lines: int
    ) -> Any:
        _refuse_skipping(skip_lines)
        return table_options.read_private(screen, file, declared, engine, separator)

    return Declared(declared.unit, read)


def _points(schema: Path) -> Declared:
    from sfumato.cli import points_schema

    declared = points_schema.read_declared(schema)

    def read(
        screen: Screen, file: Path, engine: EngineChoice, separator: str | None, skip_lines: int
    ) -> Any:
        _refuse_skipping(skip_lines)
        return points_schema.read_private(screen, file, declared, engine, separator)

    return Declared(declared.unit, read)


def _sequences(schema: Path) -> Declared:
    from sfumato.cli import sequences_schema

    declared = sequences_schema.read_declared(schema)

    def read(
        screen: Screen, file: Path, engine: EngineChoice, separator: str | None, skip_lines: int
    ) -> Any:
        return sequences_schema.read_private(screen, file, declared, separator, skip_lines)

    return Declared(declared.unit, read)


def declared_graph(nodes: str, layout: Layout) -> Declared:
    """Return how a graph is read, which has no schema but its nodes.

    Parameters
    ----------
    nodes
        What `--nodes` of `sfumato graph` said.
    layout
        How the edges are written.
    """
    from sfumato.cli import graph_data
    from sfumato.privacy.guarantee import Unit

    def read(
        screen: Screen, file: Path, engine: EngineChoice, separator: str | None, skip_lines: int
    ) -> Any:
        return graph_data.read_private(screen, file, nodes, layout)

    return Declared(Unit.EDGE, read)


def _refuse_skipping(skip_lines: int) -> None:
    if skip_lines:
        raise Refusal(ExitCode.USAGE, "--skip-lines is for files of sequences and graphs")
