"""Private bins for skewed number columns: error of range queries on the declared fine scale.

    SFUMATO_DATA=… python benchmarks/binning.py [--runs 5] [--method Synthesizer] [--data Adult]

Run by hand. Number columns are declared in 1,024 fine bins, or one for each whole number. The rows
of a table of results are what the method does with them:

declared   nothing: it models the fine bins
uniform    16 bins of equal width, as a custodian would have declared them
quantile   16 bins of about equally many rows, for a tenth of the budget
privtree   up to 32 bins that follow the rows, for a tenth of the budget

Asked is how many rows fall into a range of one column (1 way), and into a range of one column and
one category of another (2 ways). Half of the ranges end at values of random rows, half at random
fine bins. The error is the mean absolute one, in per cent of all rows.
"""

from __future__ import annotations

import argparse
import lzma
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

import sfumato as sf
from sfumato import noise

BINNERS = ("declared", "uniform", "quantile", "privtree")
EPSILONS = ("0.1", "0.2", "0.4", "0.8", "1.6")
RANGES = 400

#: Columns and their public domains, from the codebooks of the surveys.
TABLES: dict[str, tuple[str, dict[str, Any], tuple[str, ...]]] = {
    "Adult": (
        "tabular/adult_uci.csv.xz",
        {
            "age": (17, 90),
            "fnlwgt": (0, 1_500_000, 1024),
            "capital-gain": (0, 100_000, 1024),
            "capital-loss": (0, 5_000, 1024),
            "hours-per-week": (1, 99),
            "sex": ["Female", "Male"],
            "income": ["<=50K", ">50K"],
        },
        ("sex", "income"),
    ),
    "CPS": (
        "regression/cps1988.csv.xz",
        {
            "wage": (0, 20_000, 1024),
            "experience": (-4, 67),
            "education": (0, 18),
            "ethnicity": ["afam", "cauc"],
            "parttime": ["no", "yes"],
            "region": ["midwest", "northeast", "south", "west"],
        },
        ("ethnicity", "parttime", "region"),
    ),
    # Nothing was tuned on this one; the defaults were chosen on the two above.
    "Earnings": (
        "regression/cps_sw8.csv.xz",
        {
            "earnings": (0, 100, 1024),
            "age": (16, 99),
            "education": (0, 20),
            "gender": ["female", "male"],
            "region": ["Midwest", "Northeast", "South", "West"],
        },
        ("gender", "region"),
    ),
}

Asked = list[tuple[int, int, int, int | None, int]]


def table_of(name: str) -> sf.Table:
    """Return a table in fine bins; numbers outside their bounds are cut to them."""
    file, columns, _ = TABLES[name]
    place = os.environ.get("SFUMATO_DATA")
    if place is None:
        raise SystemExit("set SFUMATO_DATA to the folder that holds tabular/ and regression/")
    with lzma.open(Path(place) / file) as opened:
        rows = pl.read_csv(opened.read())
    whole = [name for name, domain in columns.items() if len(domain) == 2 and type(domain) is tuple]
    rows = rows.with_columns(pl.col(whole).cast(pl.Int64))
    text = [pl.col(name).str.strip_chars(". ") for name in columns if rows[name].dtype == pl.String]
    return sf.Table(rows.with_columns(text), sf.Schema.from_dict(columns))


def questions(table: sf.Table, categories: tuple[str, ...]) -> Asked:
    """Return ranges of one column, with one category of another or without."""
    generator = noise.generator(1)
    sizes, names = table.public.sizes, table.public.columns
    numbers = [c for c, name in enumerate(names) if name not in categories]
    found: Asked = []
    for number in range(RANGES):
        column = numbers[number % len(numbers)]
        if number % 2:
            codes = table.counts.codes(column)
            ends = codes[generator.integers(0, len(codes), 2)]
        else:
            ends = generator.integers(0, sizes[column], 2)
        low, high = sorted(int(end) for end in ends)
        other = names.index(categories[number % len(categories)])
        value = int(generator.integers(0, sizes[other]))
        found += [(column, low, high + 1, None, 0), (column, low, high + 1, other, value)]
    return found


def answers(asked: Asked, counts: Any) -> NDArray[np.float64]:
    """Return the answers, given what returns the counts of some columns."""
    tables: dict[tuple[int, ...], NDArray[Any]] = {}
    found = []
    for column, low, high, other, value in asked:
        key = (column,) if other is None else (column, other)
        if key not in tables:
            tables[key] = counts(key)
        part = tables[key][low:high]
        found.append(float(part.sum() if other is None else part[:, value].sum()))
    return np.array(found)


def errors(
    table: sf.Table, asked: Asked, method: Any, runs: int, first: int = 0
) -> tuple[float, float, float, float]:
    """Return the mean error of 1-way and 2-way ranges in per cent, the bins, and the seconds."""
    truth = answers(asked, lambda key: table.counts.marginals([key])[0])
    two = np.array([other is not None for *_, other, _ in asked])
    names, rows = table.public.columns, table.counts.rows
    apart, bins, started = [], [], time.perf_counter()
    for seed in range(first, first + runs):
        with noise.seeded(seed):
            release = method.release(table)
        model = release.model
        sizes = [b.number for b in model.bins.values()] if hasattr(model, "bins") else [0]
        bins.append(float(np.mean(sizes)))
        said = answers(asked, lambda key: release.counts([names[c] for c in key]))  # noqa: B023
        apart.append(np.abs(said - truth) / rows * 100)
    mean = np.mean(apart, axis=0)
    spent = (time.perf_counter() - started) / runs
    return float(mean[~two].mean()), float(mean[two].mean()), float(np.mean(bins)), spent


def main() -> None:
    """Print one table of results for each table and method."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--method", nargs="*", default=["Independent", "Synthesizer"])
    parser.add_argument("--data", nargs="*", default=list(TABLES))
    parser.add_argument("--bins", type=int, help="the same number for every binner")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    given = parser.parse_args()
    for name in given.data:
        table = table_of(name)
        asked = questions(table, TABLES[name][2])
        for kind in given.method:
            print(f"\n{name}, {table.counts.rows:,} rows, {kind}: error in % of rows")
            print(f"{'':10}" + "".join(f"{'ε = ' + epsilon:>24}" for epsilon in EPSILONS))
            print(f"{'':10}" + f"{'1 way  2 ways  bins':>24}" * len(EPSILONS))
            for binner in BINNERS:
                cells, seconds = [], 0.0
                for epsilon in EPSILONS:
                    method = getattr(sf, kind)(epsilon=epsilon, binner=binner, bins=given.bins)
                    one, two, bins, spent = errors(table, asked, method, given.runs, given.first)
                    cells.append(f"{one:>9.3f} {two:>7.3f} {bins:>5.0f} ")
                    seconds = max(seconds, spent)
                print(f"{binner:10}" + " ".join(cells) + f"  {seconds:.1f} s")


if __name__ == "__main__":
    main()
