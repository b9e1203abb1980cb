"""A synthetic clinic, with a truth that is known.

Everything here is drawn from a fixed seed, so it is public: the demo may compare a release with
it, which nobody may do in public with real data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato import noise
from sfumato.data.schema import Schema

if TYPE_CHECKING:
    import polars as pl

SEED = 1503
PERSONS = 8_000
MOST_VISITS = 6
#: How many visits of one person the release uses.
MAX_ROWS = 2

SEXES = ("female", "male")
AREAS = ("Harbour", "Old Town", "Northside", "Riverside", "Hillcrest", "Station", "Meadows")
DIAGNOSES = ("check-up", "infection", "injury", "respiratory", "hypertension", "diabetes")

#: The tables that the demo releases: what somebody who studies the clinic asks first.
TABLES = (
    ("age", "sex"),
    ("age", "smoker"),
    ("age", "diagnosis"),
    ("smoker", "diagnosis"),
    ("age", "systolic"),
    ("area", "diagnosis"),
)


@dataclass(frozen=True)
class Clinic:
    """The synthetic visits and what is declared about them.

    Parameters
    ----------
    visits
        One row a visit, several for some persons.
    schema
        Its confirmed schema.
    """

    visits: pl.DataFrame
    schema: Schema


def schema() -> Schema:
    """Return what the custodian of the clinic declares."""
    return Schema.from_dict(
        {
            "age": (0, 100, 10),
            "sex": list(SEXES),
            "smoker": ["no", "yes"],
            "area": list(AREAS),
            "diagnosis": list(DIAGNOSES),
            "systolic": (80, 200, 12),
        },
        unit="person",
        person="person",
        max_rows=MAX_ROWS,
        rows_about=13_000,
    )


def clinic(persons: int = PERSONS, seed: int = SEED) -> Clinic:
    """Return the synthetic clinic; the same seed gives the same clinic."""
    import polars as pl

    generator = noise.generator(seed)
    age, female, smoker, area = _people(persons, generator)
    wanted = 1 + generator.poisson(0.25 + age / 60.0)
    whose = np.repeat(np.arange(persons), np.minimum(wanted, MOST_VISITS))
    generator.shuffle(whose)
    diagnosis = _diagnoses(age[whose], smoker[whose], area[whose], generator)
    systolic = _pressure(age[whose], smoker[whose], diagnosis, generator)
    frame = pl.DataFrame(
        {
            "person": [f"P{number:05d}" for number in whose],
            "age": age[whose],
            "sex": np.where(female, *SEXES)[whose],
            "smoker": np.where(smoker, "yes", "no")[whose],
            "area": np.array(AREAS)[area[whose]],
            "diagnosis": np.array(DIAGNOSES)[diagnosis],
            "systolic": systolic,
        }
    )
    return Clinic(frame, schema())


def _people(persons: int, generator: Any) -> tuple[NDArray[Any], ...]:
    """Return ages, sexes, smoking and areas of the persons, each in its relation to the others."""
    young = generator.random(persons) < 0.35
    age = np.where(
        young, generator.normal(17, 11, persons), generator.normal(56, 18, persons)
    ).clip(0, 99)
    age = age.astype(np.int64)
    female = generator.random(persons) < 0.49 + age / 1200.0
    area = generator.choice(len(AREAS), persons, p=(0.21, 0.17, 0.15, 0.14, 0.12, 0.12, 0.09))
    chance = 0.34 - 0.0022 * np.abs(age - 42) - 0.06 * female + 0.05 * (area == 0)
    smoker = (generator.random(persons) < chance) & (age >= 16)
    return age, female, smoker, area


def _diagnoses(
    age: NDArray[Any], smoker: NDArray[Any], area: NDArray[Any], generator: Any
) -> NDArray[np.int64]:
    """Draw one diagnosis a visit: hypertension comes with age, respiratory trouble with smoke."""
    older = np.maximum(age - 35, 0) / 30.0
    weights = np.column_stack(
        [
            np.full(age.size, 1.1),
            1.0 + 1.1 * (age < 15),
            0.8 + 0.5 * (age < 30) + 0.3 * (area == 5),
            0.45 + 1.1 * smoker + 0.25 * (area == 0),
            0.12 + 1.15 * older,
            0.10 + 0.55 * older,
        ]
    )
    steps = np.cumsum(weights / weights.sum(axis=1, keepdims=True), axis=1)
    drawn = (generator.random(age.size)[:, None] > steps).sum(axis=1)
    return np.asarray(np.minimum(drawn, len(DIAGNOSES) - 1), dtype=np.int64)


def _pressure(
    age: NDArray[Any], smoker: NDArray[Any], diagnosis: NDArray[np.int64], generator: Any
) -> NDArray[np.int64]:
    """Draw a systolic blood pressure a visit, in mmHg."""
    high = diagnosis == DIAGNOSES.index("hypertension")
    mean = 104 + 0.38 * age + 4 * smoker + 17 * high
    return np.asarray(np.round(generator.normal(mean, 11)).clip(80, 199), dtype=np.int64)
