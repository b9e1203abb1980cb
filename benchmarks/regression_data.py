"""The tables of the regression benchmark, their declared bounds, and the folds of the literature.

Nothing here is shipped: tables are read from the folder that SFUMATO_DATA names, diabetes comes
with scikit-learn. Bounds are what everybody knows about such a column (a week's wage, a latitude in
California, a cholesterol value), never what the rows say; values outside them are clamped.

The synthetic protocol is that of A. Nieminen, Differentially private robust linear regression
(Helsinki, 2017): 1,000 records, ten features, fifty folds of 100 test records, bit by bit. Its
preprocessing (centring, rows of length one) looks at the private records; it is kept apart, in
`Fold`, so that a private pipeline can be measured beside it.
"""

from __future__ import annotations

import functools
import lzma
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

import sfumato as sf

__all__ = ["DATASETS", "DRUGS", "TISSUES", "Dataset", "Fold", "drug_responses", "fold", "splits"]

Floats = NDArray[np.float64]


def number(low: float, high: float) -> dict[str, Any]:
    """Return the declaration of a column of numbers; what lies outside is clamped."""
    return {"kind": "real", "low": low, "high": high, "outside": "clamp"}


REGIONS = ["northeast", "midwest", "south", "west"]

CALIFORNIA = {
    "MedInc": number(0, 15),  # tens of thousands of dollars, the median of a block
    "HouseAge": number(0, 60),
    "AveRooms": number(0, 20),
    "AveBedrms": number(0, 5),
    "Population": number(0, 10_000),
    "AveOccup": number(0, 10),
    "Latitude": number(32, 42.5),
    "Longitude": number(-125, -114),
    "MedHouseVal": number(0, 6),  # hundreds of thousands of dollars, in 1990
}
WAGES = {
    "wage": number(0, 5_000),  # dollars a week, in 1988
    "education": number(0, 20),
    "experience": number(0, 60),
    "ethnicity": ["cauc", "afam"],
    "smsa": ["no", "yes"],
    "region": REGIONS,
    "parttime": ["no", "yes"],
}
EARNINGS = {
    "earnings": number(0, 100),  # dollars an hour, in 2004
    "gender": ["female", "male"],
    "age": number(16, 80),
    "region": [region.capitalize() for region in REGIONS],
    "education": number(0, 20),
}
DIABETES = {
    "age": number(18, 90),
    "sex": [1, 2],
    "bmi": number(15, 50),
    "bp": number(50, 150),
    "s1": number(50, 350),  # cholesterol, mg/dl
    "s2": number(0, 250),  # of low density
    "s3": number(10, 120),  # of high density
    "s4": number(0, 10),  # their ratio
    "s5": number(2, 7),  # logarithm of triglycerides
    "s6": number(40, 200),  # glucose, mg/dl
    "target": number(0, 400),
}
ADULT = {
    "age": number(16, 90),
    "workclass": ["Private", "Self-emp-not-inc", "Self-emp-inc", "Federal-gov", "Local-gov",
                  "State-gov", "Without-pay", "Never-worked"],
    "education-num": number(1, 16),
    "marital-status": ["Married-civ-spouse", "Divorced", "Never-married", "Separated", "Widowed",
                       "Married-spouse-absent", "Married-AF-spouse"],
    "race": ["White", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other", "Black"],
    "sex": ["Female", "Male"],
    "capital-gain": number(0, 20_000),
    "capital-loss": number(0, 5_000),
    "hours-per-week": number(0, 99),
    "income": ["<=50K", ">50K"],
}  # fmt: skip


@dataclass(frozen=True)
class Dataset:
    """One table with its declaration.

    Parameters
    ----------
    name
        As in the tables of results.
    file
        Where it lies in the data folder; `None` where scikit-learn has it.
    columns
        The declared columns, as for `Schema.from_dict`.
    target
        The column that is explained.
    """

    name: str
    file: str | None
    columns: dict[str, Any]
    target: str

    @property
    def explaining(self) -> list[str]:
        """The columns that explain."""
        return [name for name in self.columns if name != self.target]

    def schema(self, relation: str, rows_about: int | None = None) -> sf.Schema:
        """Return the schema."""
        return sf.Schema.from_dict(self.columns, relation=relation, rows_about=rows_about)

    @functools.cached_property
    def frame(self) -> pl.DataFrame:
        """The rows, those of Adult without the ones that lack a value."""
        if self.file is None:
            from sklearn.datasets import load_diabetes

            found = load_diabetes(scaled=False)
            rows = pl.DataFrame(found.data, schema=list(found.feature_names))
            return rows.with_columns(
                pl.col("sex").cast(pl.Int64), pl.Series("target", found.target)
            ).select(list(self.columns))
        rows = read(self.file)
        if "income" in self.columns:
            rows = rows.filter(~pl.any_horizontal(pl.col(pl.String) == "?"))
        return rows.select(list(self.columns))

    def plain(self, frame: pl.DataFrame) -> tuple[Floats, Floats, Floats, Floats]:
        """Return features, their public bounds, and responses, for software that wants numbers.

        Categories give one feature of 0 and 1 each, but for the first one.
        """
        parts, low, high = [], [], []
        for name in self.explaining:
            declared = self.columns[name]
            if isinstance(declared, dict):
                parts.append(frame[name].cast(pl.Float64).to_numpy())
                low.append(declared["low"])
                high.append(declared["high"])
                continue
            for value in declared[1:]:
                parts.append((frame[name] == value).cast(pl.Float64).to_numpy())
                low.append(0.0)
                high.append(1.0)
        return np.column_stack(parts), np.array(low), np.array(high), self.answers(frame)

    def answers(self, frame: pl.DataFrame) -> Floats:
        """Return the responses as numbers, classes as 0 and 1."""
        column = frame[self.target]
        if isinstance(self.columns[self.target], list):
            return (column == self.columns[self.target][1]).cast(pl.Float64).to_numpy()
        return column.cast(pl.Float64).to_numpy()


DATASETS = {
    data.name: data
    for data in (
        Dataset("California", "regression/california_housing.csv.xz", CALIFORNIA, "MedHouseVal"),
        Dataset("CPS wages", "regression/cps1988.csv.xz", WAGES, "wage"),
        Dataset("CPS earnings", "regression/cps_sw8.csv.xz", EARNINGS, "earnings"),
        Dataset("diabetes", None, DIABETES, "target"),
        Dataset("Adult", "tabular/adult_uci.csv.xz", ADULT, "income"),
    )
}


@functools.cache
def read(file: str) -> pl.DataFrame:
    """Return the rows of one file of the data folder."""
    folder = os.environ.get("SFUMATO_DATA")
    if folder is None:
        raise SystemExit("set SFUMATO_DATA to the folder of the benchmark data")
    with lzma.open(Path(folder, file)) as opened:
        return pl.read_csv(opened.read(), infer_schema_length=None)


def splits(rows: int, runs: int) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Return the rows to learn from and those to test on: four fifths and one fifth, at random."""
    found = []
    for run in range(runs):
        # The first two hundred splits were looked at while methods were built.
        order = np.random.default_rng(200 + run).permutation(rows)
        found.append((order[rows // 5 :], order[: rows // 5]))
    return found


@dataclass(frozen=True)
class Fold:
    """One fold of the synthetic protocol.

    Parameters
    ----------
    features, answers
        The records to learn from, as drawn.
    test_features, test_answers
        The records to test on, as drawn.
    """

    features: Floats
    answers: Floats
    test_features: Floats
    test_answers: Floats

    def prepared(self) -> Fold:
        """Return the fold after the protocol's own preprocessing, which is not private."""
        return Fold(
            normalised(self.features),
            self.answers - self.answers.mean(),
            normalised(self.test_features),
            self.test_answers - self.test_answers.mean(),
        )


def normalised(features: Floats) -> Floats:
    """Return features centred, and rows of length one."""
    centred = features - features.mean(axis=0)
    return np.asarray(centred / np.linalg.norm(centred, axis=1, keepdims=True))


@functools.cache
def synthetic() -> tuple[Floats, Floats]:
    """Return the 1,000 records of the protocol."""
    generator = np.random.RandomState(42)
    features = generator.normal(0, 1, (1000, 10))
    weights = generator.normal(0, 1, 10)
    return features, generator.normal(features @ weights, 1)


def order(number: int, rows: int) -> NDArray[np.intp]:
    """Return the order of the rows in one fold of the protocol."""
    first = np.random.RandomState(number)
    second = np.random.RandomState(int(first.rand() * 5000))
    return second.permutation(rows)


def fold(number: int, private: int = 500) -> Fold:
    """Return one of the fifty folds: the first 100 records test, the next ones are learnt from."""
    features, answers = synthetic()
    rows = order(number, len(answers))
    test, learn = rows[:100], rows[100 : 100 + private]
    return Fold(features[learn], answers[learn], features[test], answers[test])


#: The ten tissues with the most cell lines in the GDSC: known to everybody in the field.
TISSUES = (
    "lung_NSCLC", "leukemia", "aero_dig_tract", "lymphoma", "lung_SCLC",
    "skin", "nervous_system", "breast", "large_intestine", "ovary",
)  # fmt: skip
#: Every fifth of the 265 drugs.
DRUGS = range(0, 265, 5)


def drug_responses(drug: int) -> tuple[Floats, Floats]:
    """Return the tissues of the cell lines that were tried with a drug, and their log IC50."""
    responses = read("genomics/gdsc_v17_ic50.csv.xz")
    tissues = read("genomics/gdsc_v17_features.csv.xz")["TISSUE_FACTOR"]
    answers = responses[:, 1 + drug].cast(pl.Float64).to_numpy()
    features = np.column_stack([(tissues == name).cast(pl.Float64) for name in TISSUES])
    return features, answers
