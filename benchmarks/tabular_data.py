"""The four tables of the PrivBayes papers, read from the folder that SFUMATO_DATA names.

Nothing here is shipped: the extracts of NLTCS, ACS and BR2000 have owners, so the benchmark reads
them where they lie and says so where they do not. Domains are written down here or in the file of
domains that lies beside the tables, and never read off the rows.

Adult is the 45,222 complete cases of the UCI file, training and test rows together, with sixteen
bins of equal width for the numeric columns except education-num, which has its sixteen values. The
public copy with ready-made bins is not used: its codes are in the order of strings ("0", "1",
"10", …) and it leaves out empty bins. Both give the same errors to a hundredth (the average two-way
table is at 0.074 from the product of its margins in either).
"""

from __future__ import annotations

import functools
import json
import lzma
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

import sfumato as sf

__all__ = ["DATASETS", "Dataset", "folder", "load", "taxonomies", "write_for_peers"]

NLTCS = (
    "eating", "getting in/out of bed", "getting around inside", "dressing", "bathing",
    "using toilet", "heavy house work", "light house work", "laundry", "cooking",
    "grocery shopping", "getting about outside", "traveling", "managing money",
    "taking medicine", "telephoning",
)  # fmt: skip

#: The numeric columns of Adult with their bounds; the others are categories.
ADULT_BINS = {
    "age": (17, 90, 16),
    "fnlwgt": (12285, 1490400, 16),
    "education-num": (1, 16),
    "capital-gain": (0, 99999, 16),
    "capital-loss": (0, 4356, 16),
    "hours-per-week": (1, 99, 16),
}

#: The columns of BR2000; numbers are their greatest code, and the numeric ones have 16 bins.
BR2000 = (1, 6, 21, 9, 15, 1, 1, 1, 1, 3, 15, 1, 15, 1)
BR2000_NUMERIC = (4, 10, 12)


@dataclass(frozen=True)
class Dataset:
    """One table, its queries and its reference.

    Parameters
    ----------
    name
        As in the tables of results.
    file
        Under `tabular/` of the data folder.
    ways
        The numbers of columns whose marginals are asked for.
    binary
        Whether every column has two values.
    """

    name: str
    file: str
    ways: tuple[int, int]
    binary: bool


DATASETS = {
    data.name: data
    for data in (
        Dataset("NLTCS", "nltcs.csv.xz", (3, 4), True),
        Dataset("ACS", "acs.csv.xz", (3, 4), True),
        Dataset("Adult", "adult_uci.csv.xz", (2, 3), False),
        Dataset("BR2000", "br2000.csv.xz", (2, 3), False),
    )
}


def folder() -> Path | None:
    """Return the folder of the tables, or `None` where there is none."""
    named = os.environ.get("SFUMATO_DATA")
    path = Path(named) / "tabular" if named else None
    return path if path is not None and path.is_dir() else None


@functools.cache
def frame(name: str) -> pl.DataFrame:
    """Return the rows of a table as they are in its file; of Adult only the complete ones."""
    place = folder()
    if place is None:
        raise FileNotFoundError("set SFUMATO_DATA to the folder that holds tabular/*.csv.xz")
    with lzma.open(place / DATASETS[name].file) as file:
        rows = pl.read_csv(file.read())
    if name == "Adult":
        rows = rows.filter(~pl.any_horizontal(pl.all().cast(pl.String) == "?"))
    return rows


@functools.cache
def _domains() -> dict[str, Any]:
    place = folder()
    assert place is not None
    with lzma.open(place / "privmrf_domains.json.xz") as file:
        found: dict[str, Any] = json.load(file)
    return found


def _tree(node: dict[str, Any], values: dict[str, Any]) -> list[Any]:
    """Return a tree of the JSON file as nested lists of a column's own values."""
    leaves = [values[str(value)] for value in node["value_list"]]
    return [*leaves, *(_tree(child, values) for child in node["node_list"])]


def taxonomies(name: str) -> dict[str, list[Any]]:
    """Return the trees of the categories of Adult and BR2000, by column, as nested lists.

    Columns without a tree are not named, nor are columns of numbers: their tree halves the bins.
    """
    if DATASETS[name].binary:
        return {}
    hierarchy = _domains()[name.lower()]["hierarchy"]
    return {
        column: _tree(node, {str(value): value for value in values})
        for node, (column, values) in zip(hierarchy, categories(name).items(), strict=True)
        if values is not None and node["node_list"]
    }


def categories(name: str) -> dict[str, list[Any] | None]:
    """Return the categories of each column in the order of their codes; `None` for numbers."""
    if name == "NLTCS":
        return {column: [0, 1] for column in NLTCS}
    if name == "ACS":
        return {str(number): [0, 1] for number in range(23)}
    if name == "BR2000":
        return {
            str(number): None if number in BR2000_NUMERIC else list(range(last + 1))
            for number, last in enumerate(BR2000)
        }
    labels = _domains()["adult"]["int_to_str"]
    return {
        column: None if column in ADULT_BINS else [label[str(i)] for i in range(len(label))]
        for column, label in zip(frame("Adult").columns, labels, strict=True)
    }


def schema(name: str, relation: str = "add_remove") -> sf.Schema:
    """Return the schema of a table in either relation."""
    columns: dict[str, Any] = {}
    trees = taxonomies(name)
    for column, values in categories(name).items():
        if values is None:
            columns[column] = ADULT_BINS[column] if name == "Adult" else (0, 15)
        elif column in trees:
            tree = trees[column]
            columns[column] = {"kind": "category", "values": values, "taxonomy": tree}
        else:
            columns[column] = values
    return sf.Schema.from_dict(columns, relation=relation, rows_about=len(frame(name)))


@functools.cache
def load(name: str, relation: str = "add_remove") -> sf.Table:
    """Return a table in either relation."""
    return sf.Table(frame(name), schema(name, relation))


def codes(table: sf.Table) -> NDArray[np.int64]:
    """Return the codes of a table, shape (rows, columns)."""
    counts = table.counts
    columns = [np.asarray(counts.codes(i), dtype=np.int64) for i in range(len(counts.sizes))]
    return np.stack(columns, axis=1)


def write_for_peers(name: str, table: sf.Table, place: Path) -> tuple[Path, Path]:
    """Write a table's codes and its domain where a peer's own interpreter can read them."""
    place.mkdir(parents=True, exist_ok=True)
    names = [f"c{i}" for i in range(len(table.public.sizes))]
    data, domain = place / f"{name}.csv", place / f"{name}.domain.json"
    pl.DataFrame(codes(table), schema=names, orient="row").write_csv(data)
    domain.write_text(json.dumps(dict(zip(names, table.public.sizes, strict=True))))
    return data, domain
