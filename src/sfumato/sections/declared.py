"""What was declared about the data: sections that releases of different methods share."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from sfumato.sections import Block, Facts, Grid, Section, Text

if TYPE_CHECKING:
    from sfumato.data.graph_public import GraphPublic
    from sfumato.data.table import TablePublic
    from sfumato.engines.coding import Coding

#: Up to so many values of a column are all told.
FEW = 4
#: Of more nodes than this only the first are named.
MOST_NAMES = 40
#: More combinations than this are told by their order of magnitude.
MOST_CELLS = 10**15


def declared_columns(public: TablePublic) -> Section:
    """List what was declared about each column, and what had been read off the data first."""
    rows = []
    for column in public.schema.columns:
        inferred = ", ".join(column.inferred) or "—"
        values = _values(column.coding)
        many = "not listed" if column.coding.is_open else f"{column.size:,}"
        rows.append((column.name, column.coding.kind, many, values, inferred))
    cells = prod(public.sizes)
    listed = not any(column.coding.is_open for column in public.schema.columns)
    many = f"{cells:,}" if cells < MOST_CELLS else f"about 10^{len(str(cells)) - 1}"
    blocks: tuple[Block, ...] = (
        Text(
            "These columns and their possible values were declared before the release. Whatever is "
            "marked as inferred was first read off the data and then confirmed by the custodian as "
            "public knowledge; the guarantee does not cover it."
        ),
        Grid(
            ("column", "kind", "values", "which", "inferred from the data"),
            tuple(rows),
            numbers=(2,),
        ),
        *((Text(f"Together they span {many} combinations of values."),) if listed else ()),
        *_constraints(public),
    )
    return Section("declared", "What was declared about the columns", blocks, "public.json, schema")


def _constraints(public: TablePublic) -> tuple[Block, ...]:
    """List the declared constraints, and what is done with rows that violate one."""
    declared = public.schema.constraints
    if not declared:
        return ()
    what = {"refuse": "no such row was accepted", "keep": "such rows were counted as they are"}
    rows = tuple((one.words(), what[one.violations]) for one in declared)
    words = "These constraints were declared too. Released rows and tables satisfy all of them."
    return (Text(words), Grid(("constraint", "private rows that violate it"), rows))


def _values(coding: Coding) -> str:
    """Return the values of a column in words: a few, or the first and the last of many."""
    if coding.kind == "real" or coding.is_open:
        return coding.allowed
    if coding.size <= FEW:
        return ", ".join(coding.labels)
    first, second, last = coding.label(0), coding.label(1), coding.label(coding.proper - 1)
    return f"{first}, {second} … {last}"


def declared_nodes(public: GraphPublic) -> Section:
    """Say which nodes were declared, and that edges are what is protected."""
    facts = [("nodes", f"{public.nodes:,}")]
    if public.labels is not None:
        names = ", ".join(map(str, public.labels[:MOST_NAMES]))
        facts.append(("their names", names + (", …" if public.nodes > MOST_NAMES else "")))
    if public.named_by_edges:
        facts.append(("not protected", public.excludes))
        source = "The nodes were taken from the private data and declared public by the custodian"
    else:
        source = "The nodes were declared before the release"
    words = Text(
        f"{source}; who is joined to whom is private, and so is how many edges there are. What is "
        "protected is one edge: somebody with ten of them is protected ten times less."
    )
    return Section("declared", "What was declared", (words, Facts(tuple(facts))), "public.json")


def declared_sections(public: Any) -> tuple[Section, ...]:
    """Return what was declared about data of the kinds that formulas are about."""
    match public.kind:
        case "table":
            return (declared_columns(public),)
        case "graph":
            return (declared_nodes(public),)
    return ()
