"""The data sets on which the two laws of defaults are tried: points, sequences and graphs.

Points: the arrays of DPBench and the sets of `spatial_data`, whole (at most 300,000 points) and at
3,000 points, and the first 2, 3 and 4 columns of real numbers of the tables of `tabular_zoo` that
have at least 500 rows. Sequences: msnbc at several sizes, the letters of film titles, the teams of
baseball players, the destinations of aircraft, the winds of a day, clicks, genotypes, and the
attributes of mushrooms and chess positions in their order. Graphs: those of the data folder.

DOMAINS OF ZOO TABLES ARE READ OFF THE FILES, as `tabular_zoo` does. The half of a data set follows
from the CRC-32 of the name before the comma, so all sizes of one set are in one half.
"""

from __future__ import annotations

import functools
import lzma
import os
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

import sequence_data
import sfumato as sf
import spatial_data
import tabular_zoo

__all__ = ["GRAPHS", "half", "load_points", "load_sequences", "point_sets", "sequence_sets"]

#: Points are drawn from larger sets.
MOST_POINTS, FEW_POINTS, LEAST_POINTS = 300_000, 3_000, 500
SEED = 20260101

GRAPHS = (
    "karate", "polbooks", "netscience", "polblogs", "facebook_combined", "power", "ca-GrQc",
    "as20000102", "wiki-Vote", "p2p-Gnutella06", "ca-HepTh", "ca-HepPh", "ca-AstroPh",
    "ca-CondMat", "email-Enron",
)  # fmt: skip


def half(name: str) -> str:
    """Return the half of a data set, which all its sizes share."""
    return tabular_zoo.half(name.split(",")[0])


def _folder() -> Path:
    folder = os.environ.get("SFUMATO_DATA")
    if folder is None:
        raise SystemExit("set SFUMATO_DATA to the folder of the benchmark data")
    return Path(folder)


# Points.


@functools.cache
def _lines() -> dict[str, NDArray[np.int64]]:
    """Return the one-dimensional arrays of DPBench."""
    with np.load(_folder() / "spatial" / "dpbench_1d.npz") as arrays:
        return {name: arrays[name] for name in arrays.files}


@functools.cache
def _numbers(name: str) -> list[str]:
    """Return the columns of a zoo table that hold real numbers, in the order of the file."""
    entry = tabular_zoo.TABLES[name]
    rows = tabular_zoo.frame(name)
    many = tabular_zoo.FEW_VALUES
    return [
        c
        for c in rows.columns
        if rows[c].dtype.is_numeric() and c not in entry.codes and rows[c].n_unique() > many
    ]


def point_sets(part: str) -> list[str]:
    """Return the names of all sets of points of a half."""
    own = [*_lines(), *spatial_data.DATASETS]
    found = [f"{name}{size}" for name in own if half(name) == part for size in ("", ", 3000")]
    for name in tabular_zoo.names(part):
        if name not in tabular_zoo.PAPERS:
            columns = len(_numbers(name))
            found += [f"{name}, {axes} columns" for axes in (2, 3, 4) if axes <= columns]
    return found


def load_points(name: str) -> tuple[sf.Points, NDArray[np.float64], list[tuple[float, float]]]:
    """Return private points, their values and bounds; at least 500, at most 300,000."""
    base, _, more = name.partition(", ")
    draw = np.random.default_rng(SEED)
    if more.endswith("columns"):
        rows = tabular_zoo.frame(base).select(_numbers(base)[: int(more.split()[0])]).drop_nulls()
        values = rows.to_numpy().astype(np.float64)
        bounds = [(float(v.min()), float(v.max())) for v in values.T]
    elif base in _lines():
        counts = _lines()[base]
        places = draw.choice(counts.size, MOST_POINTS, p=counts / counts.sum())
        if counts.sum() <= MOST_POINTS:
            places = np.repeat(np.arange(counts.size), counts)
        values = ((places + draw.random(places.size)) / counts.size)[:, None]
        bounds = [(0.0, 1.0)]
    else:
        values, bounds = spatial_data.values(base), spatial_data.bounds(base)
    most = FEW_POINTS if more == str(FEW_POINTS) else MOST_POINTS
    values = values[draw.permutation(len(values))[:most]]
    if len(values) < LEAST_POINTS:
        raise tabular_zoo.ZooError(f"{name} has {len(values)} points")
    return sf.Points(values, bounds, rows_about=len(values)), values, bounds


# Sequences.


def _items(file: str) -> list[list[str]]:
    with lzma.open(_folder() / "itemsets" / f"{file}.dat.xz", "rt") as lines:
        return [line.split() for line in lines]


def _raw(name: str) -> pl.DataFrame:
    """Return a table of the zoo with the columns that identify and name things."""
    entry = tabular_zoo.TABLES[name]
    content = tabular_zoo.unpack(tabular_zoo.read_member(entry), entry.file)
    return pl.read_csv(content, infer_schema_length=None, null_values=list(tabular_zoo.MISSING))


def _titles() -> list[list[str]]:
    return [
        [c if c.isascii() and c.isalpha() else " " for c in title.lower()]
        for title in _raw("movies")["title"].cast(pl.String)
    ]


def _grouped(rows: pl.DataFrame, by: list[str], column: str) -> list[list[str]]:
    kept = rows.drop_nulls([*by, column]).group_by(by, maintain_order=True)
    found: list[list[str]] = kept.agg(pl.col(column).cast(pl.String))[column].to_list()
    return found


def _winds() -> list[list[str]]:
    rows = _raw("weather").with_columns((pl.col("wind_dir") // 45).cast(pl.Int64).alias("wind"))
    return _grouped(rows, ["origin", "month", "day"], "wind")


def _genotypes() -> list[list[str]]:
    with lzma.open(_folder() / "genomics" / "snpstats_chr10_geno.npy.xz") as packed:
        genotypes = np.load(packed)
    if genotypes.shape[0] > genotypes.shape[1]:
        genotypes = genotypes.T
    return [[str(int(x)) for x in row] for row in genotypes[:, :40]]


_SEQUENCES: dict[str, Any] = {
    "titles": _titles,
    "careers": lambda: _grouped(_raw("baseball"), ["id"], "team"),
    "aircraft": lambda: _grouped(_raw("flights"), ["tailnum", "month"], "dest"),
    "winds": _winds,
    "clicks": lambda: _items("bms-webview-1"),
    "mushroom": lambda: _items("mushroom"),
    "chess": lambda: _items("chess"),
    "genotypes": _genotypes,
}


def sequence_sets(part: str) -> list[str]:
    """Return the names of all sets of sequences of a half."""
    found = [name for name in _SEQUENCES if half(name) == part]
    # One set alone has a million sequences: its sizes are data sets of their own.
    sizes = ("msnbc 1000", "msnbc 10000", "msnbc 100000", "msnbc")
    return found + [name for name in sizes if half(name) == part]


def load_sequences(name: str) -> sf.Sequences:
    """Return private sequences; the alphabet is that of the file."""
    if name.startswith("msnbc"):
        whole = sequence_data.msnbc()
        if name == "msnbc":
            return whole
        engine = whole.counts
        draw = np.random.default_rng(SEED).permutation(engine.rows)[: int(name.split()[1])]
        starts = engine.starts
        rows = [
            (engine.text[starts[i] + 1 : starts[i + 1] - 1] + 1).tolist() for i in np.sort(draw)
        ]
        return sf.Sequences(rows, range(1, 18))
    rows = _SEQUENCES[name]()
    return sf.Sequences(rows, sorted({symbol for row in rows for symbol in row}))
