"""A zoo of regression problems, on which the default is compared with the methods beside it.

    SFUMATO_DATA=… python benchmarks/regression.py zoo [--half report] [--runs 10] [--kept FILE]

The tables are those of `tabular_zoo` and lie where it says. A problem is a table, a target and the
columns that explain it; records that lack one of them are left out.

BOUNDS ARE READ OFF THE FILES and rounded outwards to one digit of the range; a custodian declares
them from public knowledge. Every method gets the same ones. Numbers of at most 12 different values
are categories.

A problem belongs to the half that `tabular_zoo` gives its table: rules are chosen on one half, and
figures reported from the other.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

import regression_data as data
import sfumato as sf
import tabular_zoo as zoo

__all__ = [
    "BEHIND",
    "EPSILONS",
    "PROBLEMS",
    "SIBLINGS",
    "Cell",
    "Problem",
    "names",
    "print_laws",
    "run_cells",
]

Floats = NDArray[np.float64]

EPSILONS = (0.1, 0.4, 1, 3, 5, 10)
DELTA = 1e-9
DEFAULT = "LinearRegression"
#: The other linear regressions of the package; whether they work without a delta, and with one.
SIBLINGS = {
    "ObjectiveRegression": (True, True),
    "KNormRegression": (True, False),
    "FunctionalRegression": (True, False),
    "RobustLinearRegression": (True, False),
    "AdaSSP": (False, True),
    "BoostedAdaSSP": (False, True),
    "TukeyEM": (False, True),
}
#: So much more of the variance may be left than by another method: the first law.
BEHIND = 1.05
#: A model that does worse than this counts as this in means.
WORST = -9.0
#: Numbers with at most so many values are categories; texts with more are left out.
FEW, MOST = 12, 25


@dataclass(frozen=True)
class Problem:
    """A table and the column of it that is explained.

    Parameters
    ----------
    table
        Its name in the zoo of tables.
    target
        The column that is explained.
    without
        Columns that say the same as the target, or are missing in most records.
    only
        The columns that explain; by default all others.
    """

    table: str
    target: str
    without: tuple[str, ...] = ()
    only: tuple[str, ...] = ()

    @functools.cached_property
    def rows(self) -> tuple[pl.DataFrame, dict[str, Any]]:
        """The records, and the declaration of their columns. NOT PRIVATE."""
        rows = zoo.frame(self.table)
        kept = [c for c in self.only or rows.columns if c not in (*self.without, self.target)]
        rows = rows.select([*kept, self.target]).drop_nulls()
        declared: dict[str, Any] = {}
        for name in rows.columns:
            values = rows[name].unique()
            codes = name in zoo.TABLES[self.table].codes or not values.dtype.is_numeric()
            if name != self.target and (codes or len(values) <= FEW):
                if 1 < len(values) <= MOST:
                    rows = rows.with_columns(pl.col(name).cast(pl.String))
                    declared[name] = rows[name].unique().sort().to_list()
                continue
            rows = rows.with_columns(pl.col(name).cast(pl.Float64))
            declared[name] = data.number(*outwards(rows[name].to_numpy()))
        return rows.select(list(declared)), declared

    def without_noise(self, learn: Any, test: Any) -> float:
        """Return R² of least squares, in the target's own units."""
        rows, declared = self.rows
        dataset = data.Dataset(self.table, None, declared, self.target)
        (x, _, _, y), (other, _, _, truth) = (dataset.plain(rows[part]) for part in (learn, test))
        one, two = (np.column_stack([part, np.ones(len(part))]) for part in (x, other))
        bounds = declared[self.target]
        guesses = two @ np.linalg.lstsq(one, y, rcond=None)[0]
        return explained(np.clip(guesses, bounds["low"], bounds["high"]), truth)


def outwards(values: Floats) -> tuple[float, float]:
    """Return the ends of numbers, rounded outwards to the first digit of their range."""
    low, high = float(values.min()), float(values.max())
    step = 10.0 ** math.floor(math.log10(high - low))
    return math.floor(low / step) * step, math.ceil(high / step) * step


def explained(guesses: Floats, truth: Floats) -> float:
    """Return R², 1 less the share of the variance that is left."""
    return float(1 - np.mean((guesses - truth) ** 2) / np.var(truth))


PROBLEMS = {
    problem.table: problem
    for problem in (
        Problem("california", "MedHouseVal"),
        Problem("cps1988", "wage"),
        Problem("earnings", "earnings"),
        Problem("penguins", "body_mass_g"),
        Problem("weather", "temp", without=("wind_gust", "day", "wind_dir")),
        Problem("scorecard", "earnings_med", without=("state_abbr",)),
        Problem("401k", "nettfa", without=("incsq", "agesq")),
        Problem("census", "lweekinc", without=("puma", "state")),
        Problem(
            "fertility",
            "children",
            only=("age", "electric", "radio", "tv", "bicycle", "educ", "usemeth", "urban",
                  "evermarr", "spirit", "protest", "catholic"),
        ),
        Problem("randhie", "mdvis"),
        Problem("births", "bweight", without=("lbweight", "mbsmoke_", "mmarried_", "fbaby_",
                                              "prenatal1_", "mage2")),
        Problem("bikes", "bikers", without=("casual", "registered", "day", "hr")),
        Problem("movies", "rating", without=("budget", "mpaa")),
        Problem("insurance", "whrswk"),
        Problem("vietnam", "lnhhexp", without=("commune",)),
        Problem("doctors", "docvis", without=("edlevel1", "edlevel2", "edlevel3", "edlevel4")),
        Problem("psid", "earnings"),
        Problem("star", "tmathssk", without=("schidkn",)),
        Problem(
            "warfarin",
            "Therapeutic Dose of Warfarin",
            only=("Gender", "Race", "Age", "Height (cm)", "Weight (kg)", "Amiodarone (Cordarone)",
                  "Aspirin", "INR on Reported Therapeutic Dose of Warfarin"),
        ),
        Problem("diamonds", "price"),
        Problem("txhousing", "volume", without=("city", "median")),
        Problem("gapminder", "lifeExp"),
        Problem("nhefs", "sbp", only=("sex", "age", "race", "school", "ht", "wt71", "dbp",
                                      "smokeintensity", "exercise", "active", "diabetes")),
        Problem("labsup", "labinc", without=("agesq", "faminc", "worked")),
        Problem("cps91", "earns", without=("union", "husunion", "hrwage", "lwage", "expersq",
                                           "inlf", "faminc")),
        Problem("murders", "murders", without=("murdrate", "execrate", "statefips", "countyfips",
                                               "arrestrate")),
        Problem("meps", "drugexp", without=("ldrugexp", "age2", "linc")),
        Problem("wages", "wage", without=("logwage",)),
        Problem("fifa", "value_eur", only=("overall", "potential", "wage_eur", "age", "height_cm",
                                           "weight_kg", "skill_dribbling", "movement_reactions",
                                           "power_strength", "mentality_aggression")),
        Problem("baseball", "r", only=("year", "lg", "g", "ab", "h", "X2b", "X3b", "hr", "sb",
                                       "bb")),
        Problem("chains", "futime", without=("creatinine", "chapter", "death")),
        Problem("injury", "durat", without=("ldurat", "lprewage", "lage", "ltotmed", "injdes",
                                            "highlpre")),
        Problem("abortion", "ir", without=("lnr", "fa", "fip", "t")),
        Problem("happiness", "prestige", only=("year", "educ", "babies", "preteen", "teens",
                                               "region", "happy", "black", "female")),
        Problem("default", "balance"),
        Problem("german", "credit_amount"),
    )
}  # fmt: skip


def names(half: str | None = None) -> list[str]:
    """Return the problems of a half, or all of them."""
    return [name for name in PROBLEMS if half in (None, zoo.half(name))]


@dataclass(frozen=True, order=True)
class Cell:
    """One method on one problem with one budget.

    Parameters
    ----------
    problem, method, epsilon, delta
        Which; a delta of 0 is none.
    """

    problem: str
    method: str
    epsilon: float
    delta: float


def cells(problems: Iterable[str], methods: Iterable[str], epsilons: Iterable[float]) -> list[Cell]:
    """Return all cells of some problems and methods, pure and with a delta."""
    return [
        Cell(problem, method, epsilon, delta)
        for problem in problems
        for method in methods
        for delta in (0.0, DELTA)
        if method == DEFAULT or SIBLINGS[method][delta > 0]
        for epsilon in epsilons
    ]


def run_cells(wanted: list[Cell], runs: int, kept: Path | None) -> dict[Cell, list[float]]:
    """Return R² on the test part of each cell and run; what a file has is not run again."""
    found: dict[Cell, list[float]] = {}
    for line in kept.read_text().splitlines() if kept is not None and kept.exists() else ():
        cell, scores = json.loads(line)
        found.setdefault(Cell(*cell), []).extend(scores)
    for cell in wanted:
        done = len(found.get(cell, []))
        if done < runs:
            scores = list(_run(cell, done, runs))
            found.setdefault(cell, []).extend(scores)
            if kept is not None:
                fields = [cell.problem, cell.method, cell.epsilon, cell.delta]
                with kept.open("a") as file:
                    file.write(json.dumps([fields, scores]) + "\n")
    return {cell: found[cell][:runs] for cell in wanted}


@functools.lru_cache(maxsize=16)
def _table(problem: str, run: int) -> tuple[sf.Table, pl.DataFrame, Floats]:
    rows, declared = PROBLEMS[problem].rows
    learn, test = data.splits(len(rows), run + 1)[run]
    # What a custodian would say: the first two digits.
    digits = 10 ** max(len(str(len(learn))) - 2, 0)
    schema = sf.Schema.from_dict(declared, rows_about=round(len(learn) / digits) * digits)
    truth = rows[test][PROBLEMS[problem].target].to_numpy()
    return sf.Table(rows[learn], schema), rows[test], truth


def _run(cell: Cell, first: int, last: int) -> Iterator[float]:
    options: dict[str, Any] = {"delta": cell.delta} if cell.delta else {}
    target = PROBLEMS[cell.problem].target
    method = getattr(sf, cell.method)(epsilon=cell.epsilon, target=target, **options)
    for run in range(first, last):
        table, test, truth = _table(cell.problem, run)
        try:
            guesses = method.release(table).predict(test)
        except ValueError:
            # Refused in public, before anything is spent: no model.
            guesses = np.full(len(truth), math.inf)
        yield explained(guesses, truth)


@dataclass(frozen=True)
class Summary:
    """The share of the variance that a cell leaves: its mean, and the standard error of that.

    Parameters
    ----------
    left, error
        The mean and its standard error.
    """

    left: float
    error: float

    @classmethod
    def of(cls, scores: list[float]) -> Summary:
        """Return the summary of R²; a model that is worse than `WORST` counts as that."""
        left = np.minimum(1 - np.array(scores), 1 - WORST)
        spread = float(left.std(ddof=1)) if len(left) > 1 else 0.0
        return cls(float(left.mean()), spread / math.sqrt(len(left)))


def print_laws(problems: list[str], epsilons: tuple[float, ...], runs: int, kept: Path | None,
               siblings: list[str]) -> None:  # fmt: skip
    """Print R² of the default beside the best sibling, and every cell that breaks a law."""
    broken: list[str] = []
    cells_seen = 0
    for problem in problems:
        rows = PROBLEMS[problem].rows[0]
        learn, test = data.splits(len(rows), 1)[0]
        without = PROBLEMS[problem].without_noise(learn, test)
        print(f"{problem}: {len(learn):,} records, least squares {without:.3f}")
        found = run_cells(cells([problem], [DEFAULT, *siblings], epsilons), runs, kept)
        summaries = {cell: Summary.of(scores) for cell, scores in found.items()}
        for delta in (0.0, DELTA):
            words, before = [], None
            for epsilon in epsilons:
                cells_seen += 1
                mine = summaries[Cell(problem, DEFAULT, epsilon, delta)]
                where = f"{problem} ε = {epsilon:g}{' δ' if delta else ''}"
                others = {
                    cell.method: summary
                    for cell, summary in summaries.items()
                    if (cell.epsilon, cell.delta) == (epsilon, delta) and cell.method != DEFAULT
                }
                words.append(f"{1 - mine.left:.3f}")
                if others:
                    best = min(others, key=lambda name: others[name].left)
                    words[-1] += f" ({1 - others[best].left:.3f} {best[:3]})"
                    if mine.left > BEHIND * others[best].left:
                        ratio = mine.left / others[best].left
                        broken.append(f"{where}: {ratio:.2f} times what {best} leaves")
                if before is not None and _clearly(mine, before[1]):
                    broken.append(f"{where}: worse than with ε = {before[0]:g}")
                before = epsilon, mine
                pure = summaries[Cell(problem, DEFAULT, epsilon, 0.0)]
                if delta and _clearly(mine, pure):
                    broken.append(f"{where}: worse than without a delta")
            print(f"  {'δ' if delta else 'pure':6}" + "  ".join(f"{word:>18}" for word in words),
                  flush=True)  # fmt: skip
    print(f"{cells_seen} cells, {len(broken)} violations")
    for line in broken:
        print(f"  {line}")


def _clearly(mine: Summary, other: Summary) -> bool:
    """Tell whether more is left than by another, beyond the noise of the runs."""
    return mine.left > other.left + 2 * math.hypot(mine.error, other.error) + 0.002
