"""The rows of two tables in the units of their columns, and groups in which both can be counted.

NOT PRIVATE where it reads the private table; whoever uses it says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.frames import columns_of, names_of, require_order
from sfumato.data.schema import Schema
from sfumato.engines.coding import Coding
from sfumato.engines.coding.base import MISSING
from sfumato.engines.files import TableFile
from sfumato.engines.intake import Intake, IntakeRules, within_bound
from sfumato.engines.memory import code_type
from sfumato.engines.reading import Days, Floats, Moments
from sfumato.evaluate.ranges import ORDERED

__all__ = ["Groups", "Rows", "group_column", "read_rows", "show_value"]

#: Columns are counted in about this many groups, as NIST's SDNist does with numbers.
MOST_GROUPS = 20
#: The kinds of ordered columns that are no moments.
NUMBERS = ("number", "integer")
DAY = 86_400_000_000
"""A day in microseconds, the unit of moments."""


@dataclass(frozen=True)
class Rows:
    """The rows of a table.

    Parameters
    ----------
    codes
        The codes of each column.
    values
        The values of each ordered column, NaN where there is none: numbers, or microseconds since
        1970. `None` for categories.
    """

    codes: tuple[NDArray[Any], ...]
    values: tuple[NDArray[np.float64] | None, ...]

    def __len__(self) -> int:
        return len(self.codes[0])


@dataclass(frozen=True)
class Groups:
    """The values of a column in groups, on both sides.

    Parameters
    ----------
    labels
        What each group holds.
    truth, released
        The group of each row.
    """

    labels: tuple[str, ...]
    truth: NDArray[Any]
    released: NDArray[Any]


def read_rows(source: Any, schema: Schema, *, bounded: bool, separator: str | None = None) -> Rows:
    """Read a table with its values, which are kept as they are.

    Parameters
    ----------
    source
        A frame, or the path of a file.
    schema
        The declaration of its columns.
    bounded
        Whether contributions are bounded as the schema declares.
    separator
        The separator of a CSV file.
    """
    rules = schema.intake_rules if bounded else IntakeRules(codings=schema.intake_rules.codings)
    if isinstance(source, str | Path):
        file = TableFile(Path(source), separator)
        rules.check_names(file.names())
        columns = file.read(rules.needed)
    else:
        if rules.person is not None:
            require_order(source)
        rules.check_names(names_of(source))
        columns = columns_of(source, rules.needed)
    intake = Intake(rules)
    codes, persons = intake.encode(columns)
    intake.finish()
    kept: Any = slice(None)
    if persons is not None and rules.max_rows is not None:
        kept = within_bound(persons, rules.max_rows)
    values = [
        _read_values(coding, columns[name], found)
        for (name, coding), found in zip(rules.codings.items(), codes, strict=True)
    ]
    return Rows(
        tuple(found[kept] for found in codes),
        tuple(None if found is None else found[kept] for found in values),
    )


def _read_values(coding: Coding, series: Any, codes: NDArray[Any]) -> NDArray[np.float64] | None:
    """Return the values of an ordered column; those that are missing or infinite are NaN."""
    if coding.kind not in ORDERED:
        return None
    if coding.kind in NUMBERS:
        values = Floats.read(series).values
    elif coding.kind == "date":
        values = Days.read(series).values.astype(np.float64) * DAY
    else:
        values = Moments.read(series).values.astype(np.float64)
    missing = codes == coding.size - 1 if coding.missing == "code" else np.zeros(len(codes), bool)
    return np.where(missing | ~np.isfinite(values), np.nan, values)


def show_value(value: float | None, coding: Coding) -> str:
    """Return a value of a column as a person writes it."""
    if value is None:
        return "—"
    if coding.kind not in NUMBERS:
        moment = np.datetime64(round(value), "us")
        return str(moment.astype("datetime64[D]" if coding.kind == "date" else "datetime64[s]"))
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def group_column(coding: Coding, truth: Rows, released: Rows, column: int) -> Groups:
    """Return a column in groups: numbers by true quantiles, categories by their true frequency."""
    values = truth.values[column], released.values[column]
    if values[0] is not None and values[1] is not None:
        labels, sides = _group_numbers(coding, values[0], values[1])
    else:
        labels, sides = _group_codes(coding, truth.codes[column], released.codes[column])
    # Groups that nobody is in are not drawn.
    used, places = np.unique(np.concatenate(sides), return_inverse=True)
    places = places.astype(code_type(max(len(used), 1)))
    kept = tuple(labels[number] for number in used.tolist()) or ("none",)
    return Groups(kept, places[: len(truth)], places[len(truth) :])


def _group_numbers(
    coding: Coding, truth: NDArray[np.float64], released: NDArray[np.float64]
) -> tuple[list[str], list[NDArray[Any]]]:
    """Cut numbers at the quantiles of the truth; a value of many rows is a group of its own."""
    known = truth[~np.isnan(truth)]
    cuts = np.zeros(0)
    if known.size:
        distinct, counts = np.unique(known, return_counts=True)
        atoms = distinct[counts >= known.size / MOST_GROUPS]
        shares = np.arange(1, MOST_GROUPS) / MOST_GROUPS
        quantiles = np.quantile(known, shares, method="inverted_cdf")
        cuts = np.unique(np.concatenate([quantiles, atoms, np.nextafter(atoms, -np.inf)]))
    sides = [
        np.where(np.isnan(side), len(cuts) + 1, np.searchsorted(cuts, side, side="left"))
        for side in (truth, released)
    ]
    return [*_label_cuts(coding, cuts), MISSING], sides


def _label_cuts(coding: Coding, cuts: NDArray[np.float64]) -> list[str]:
    """Return what lies up to each cut, and beyond the last one."""
    if not cuts.size:
        return ["all"]
    shown = [show_value(cut, coding) for cut in cuts.tolist()]
    single = (np.nextafter(cuts[1:], -np.inf) == cuts[:-1]).tolist()
    inner = [
        high if alone else f"{low} – {high}"
        for low, high, alone in zip(shown, shown[1:], single, strict=False)
    ]
    return [f"≤ {shown[0]}", *inner, f"> {shown[-1]}"]


def _group_codes(
    coding: Coding, truth: NDArray[Any], released: NDArray[Any]
) -> tuple[list[str], list[NDArray[Any]]]:
    """Keep the most frequent true values of a category apart and merge the others."""
    counts = np.bincount(truth, minlength=coding.size)
    groups = np.arange(coding.size)
    labels = list(coding.labels)
    if coding.size > MOST_GROUPS:
        often = np.argsort(-counts, kind="stable")[: MOST_GROUPS - 1]
        groups = np.full(coding.size, MOST_GROUPS - 1)
        groups[often] = np.arange(len(often))
        labels = [*(labels[code] for code in often.tolist()), "all other values"]
    return labels, [groups[truth], groups[released]]
