"""A released regression: weights of features, and the same in the columns' own units.

A model is made of public values alone; what it says about a record is computed from that record and
the weights.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.frames import ToFrame, columns_of, names_of
from sfumato.data.table import TablePublic
from sfumato.data.weights import WEIGHTS, WeightTable
from sfumato.engines.coding import MISSING, OTHER, Dates
from sfumato.engines.intake import IntakeRules, take
from sfumato.privacy.figures import round_figures
from sfumato.privacy.release import Release
from sfumato.regression.design import INTERCEPT, UNORDERED, Design, centres
from sfumato.regression.rows import fine_values, is_number
from sfumato.sections import Section

if TYPE_CHECKING:
    import polars as pl

__all__ = ["OFFSET", "Interval", "RegressionModel"]

Floats = NDArray[np.float64]

#: What is added to every sum is called, in a model without a feature that every record has.
OFFSET = "(offset)"
#: How many coefficients a sentence names.
MOST_TOLD = 6


@dataclass(frozen=True, eq=False)
class Interval:
    """Where the target of each row lies, with a given probability.

    Parameters
    ----------
    low, high
        The ends, one of each for each row.
    """

    low: Floats
    high: Floats


class RegressionModel(Release, ToFrame):
    """A linear model of one column by the others, or a logistic one of two classes.

    Parameters
    ----------
    public
        What is public about the table.
    design
        How records become features.
    weights
        The weight of each feature, for features and responses from −1 to 1.
    positive
        For a logistic model, the values of the target that it tells from the others.
    offset
        What is added to every sum; with an intercept it becomes part of its weight.
    covariance
        How uncertain the weights, and last the offset, are: noise and sample; None where the
        method does not know.
    deviation
        The standard deviation of what the model leaves of a response; None where not known.
    about
        How the weights were found, in a sentence.
    """

    kind = "regression model"

    def __init__(
        self,
        public: TablePublic,
        design: Design,
        weights: Floats,
        *,
        positive: tuple[str, ...] | None = None,
        offset: float = 0.0,
        covariance: Floats | None = None,
        deviation: float | None = None,
        about: str = "",
    ) -> None:
        self.public = public
        self.design = design
        self.weights = np.array(weights, dtype=np.float64)
        if design.intercept:
            self.weights[-1] += offset
            offset = 0.0
        self.weights.setflags(write=False)
        self.offset = float(offset)
        self.positive = positive
        self.covariance = covariance
        self.deviation = deviation
        self.about = about

    @property
    def target(self) -> str:
        """The name of the column that is explained."""
        return self.public.columns[self.design.response.column]

    @property
    def coef(self) -> dict[tuple[str, str], float]:
        """What is added to the target, in the columns' own units, by column and value.

        Notes
        -----
        For a column of numbers it is what one more of its own unit adds (a year, a euro; a day
        for dates), for one of categories what each of them adds instead of the first that was
        declared; of two only the second is named. The constant is under `("(intercept)", "")`.
        The target is in its own unit; in a logistic model it is the logarithm of the odds.
        """
        return own_units(self.public, self.design, self.weights, self.offset, self.half_range)

    @cached_property
    def coefficients(self) -> Coefficients:
        """The same with the standard deviation of each, where the method knows it."""

        def told(both: Floats) -> dict[tuple[str, str], float]:
            weights, offset = both[:-1], float(both[-1])
            return own_units(self.public, self.design, weights, offset, self.half_range)

        return Coefficients.of(told, np.append(self.weights, self.offset), self.covariance)

    @property
    def half_range(self) -> tuple[float, float]:
        """What a sum of 0 stands for, and what a sum of 1 adds to it."""
        if self.positive is not None:
            return 0.0, 1.0
        response = self.design.response
        return response.low / 2 + response.high / 2, response.high / 2 - response.low / 2

    def predict(self, frame: Any) -> NDArray[Any]:
        """Return what the model takes the target of each row to be.

        Parameters
        ----------
        frame
            A pandas, Polars or PyArrow frame with the columns of the schema; the target is not
            needed and not looked at.

        Returns
        -------
        predictions
            Numbers within the declared bounds; for a logistic model, whether a row is positive.
        """
        scores = self._scores(frame)
        if self.positive is not None:
            return np.asarray(scores > 0)
        response = self.design.response
        place = (np.clip(scores, -1, 1) + 1) / 2
        return np.asarray(response.low * (1 - place) + response.high * place)

    def probability(self, frame: Any) -> Floats:
        """Return how likely a logistic model takes each row to be positive.

        The mechanism fits a quadratic stand-in for the logistic loss, so probabilities far from
        one half are less sure than they say; the order of the rows is what can be relied on.
        """
        if self.positive is None:
            raise ValueError("probability is for logistic models; use predict")
        return np.asarray(0.5 + 0.5 * np.tanh(self._scores(frame) / 2))

    def interval(self, frame: Any, level: float = 0.95) -> Interval:
        """Return where the target of each row lies, with a probability of about `level`.

        Parameters
        ----------
        frame
            As for `predict`.
        level
            The probability, between 0 and 1.

        Raises
        ------
        ValueError
            If the method that made this model does not know how sure it is.
        """
        if self.covariance is None or self.deviation is None:
            raise ValueError(
                "the method of this model gives no intervals; use RobustLinearRegression with "
                "engine='noise_aware'"
            )
        if not 0 < level < 1:
            raise ValueError(f"level must lie between 0 and 1; got {level!r}")
        features = self._features(frame)
        wide = np.column_stack([features, np.ones(len(features))])
        variances = np.einsum("ij,jk,ik->i", wide, self.covariance, wide)
        spread = np.sqrt(np.maximum(variances, 0.0) + self.deviation**2)
        reach = NormalDist().inv_cdf((1 + level) / 2) * spread
        scores = features @ self.weights + self.offset
        middle, half = self.half_range
        ends = (middle + half * np.clip(scores + side * reach, -1, 1) for side in (-1, 1))
        return Interval(*ends)

    def _scores(self, frame: Any) -> Floats:
        """Return xᵀω for each row."""
        return np.asarray(self._features(frame) @ self.weights + self.offset)

    def _features(self, frame: Any) -> Floats:
        """Return the features of each row, from −1 to 1."""
        schema = self.public.schema
        columns = [schema.columns[column] for column in self.design.columns]
        if not columns:
            rows = len(next(iter(columns_of(frame).values()), ()))
            return fine_features(self.public, self.design, [], rows)
        rules = IntakeRules(codings={column.name: column.coding for column in columns})
        rules.check_names(names_of(frame))
        table = take(columns_of(frame, rules.needed), rules).table
        codes = [table.codes(number) for number in range(len(columns))]
        return fine_features(self.public, self.design, codes, table.rows)

    @property
    def _table(self) -> WeightTable:
        names, weights = self.design.names(self.public), self.weights
        if self.offset:
            names, weights = [*names, (OFFSET, "")], np.append(weights, self.offset)
        return WeightTable(names, weights)

    def to_polars(self) -> pl.DataFrame:
        """Return the coefficients in the columns' own units as a Polars frame."""
        return self.coefficients.frame()

    def files(self) -> dict[str, bytes]:
        """Return the weights in one CSV file, and in another what they add in own units."""
        return {**self._table.files(), COEFFICIENTS: self.coefficients.written()}

    def per(self, column: str, value: str) -> str:
        """Return what a coefficient is for: one more of a unit, or a value instead of another."""
        if column == INTERCEPT:
            return "every record"
        coding = self.public.schema[column].coding
        if value and not isinstance(coding, UNORDERED) and coding.size > 2:
            # Not against 0: what a record without a number has in place of the number's part.
            return f"{value}, in place of number × figure"
        if value:
            first = coding.labels[0]
            return f"{value} (declared first)" if value == first else f"{value} instead of {first}"
        if isinstance(coding, Dates):
            return "each day later"
        if isinstance(coding, UNORDERED):
            return "each place further in the declared list"
        return "each 1 more"

    def how_sure(self) -> str:
        """Return how far single figures can be relied on, in plain sentences."""
        rare = f"{OTHER} and {MISSING} or a rare category"
        if self.covariance is None:
            return (
                "This method does not tell how sure single figures are. Figures of values that few "
                f"records have, such as {rare}, are mostly noise, however large they are: do not "
                "read them as effects."
            )
        return (
            "What stands after ± is one standard deviation, of noise and sample together; a figure "
            "that is smaller than twice its ± may be nothing. Figures are drawn towards 0 where "
            "there is much noise, which ± does not count: a true effect may be larger, with few "
            "records twice as large. Intervals are about predictions, and hold the truth somewhat "
            "less often than they say where noise is large. Where effects matter more than "
            "intervals, LinearRegression is the better method."
        )

    def words(self) -> str:
        """Return what this release is, in a few plain sentences."""
        count = len(self.design.factors)
        what = self.target
        if self.positive is not None:
            what = f"whether {self.target} is {' or '.join(self.positive[:4])}"
        response = self.design.response
        end = (
            f"A sum beyond {response.low:g} or {response.high:g} counts as that bound."
            if self.positive is None
            else "The sum is the logarithm of the odds: above 0 it means yes."
        )
        return (
            f"A model that predicts {what} from {count} column{'s' * (count != 1)}. {self.about} "
            f"It adds up, in the units of the columns: {self._sum()}. {end} All figures are in "
            f"{COEFFICIENTS}; {WEIGHTS} has the same for columns scaled to the range from −1 "
            "(lower bound) to 1 (upper bound)."
        )

    def _sum(self) -> str:
        """Return the constant and what a few columns add, in words."""
        adds = self.coef
        parts = [f"{adds.pop((INTERCEPT, '')):,.5g} for every record"]
        for (column, value), figure in list(adds.items())[:MOST_TOLD]:
            parts.append(f"{figure:+,.4g} for {column}, {self.per(column, value)}")
        if len(adds) > MOST_TOLD:
            parts.append(f"and so on for {len(adds) - MOST_TOLD:,} more")
        return "; ".join(parts)

    def summary(self) -> dict[str, Any]:
        """Return what each column adds, in its own units, for programs."""
        found = self.coefficients
        sure = [None] * len(found.names) if found.deviations is None else found.deviations.tolist()
        coefficients = [
            {"column": column, "value": value, "adds": adds, "standard_deviation": deviation}
            for (column, value), adds, deviation in zip(
                found.names, found.adds.tolist(), sure, strict=True
            )
        ]
        return {"target": self.target, "coefficients": coefficients}

    def sections(self) -> tuple[Section, ...]:
        """Return what its page shows."""
        from sfumato.regression.page import model_sections

        return model_sections(self)

    def plot(self) -> Any:
        """Return a figure of the largest weights."""
        return self._table.picture(f"weight towards {self.target}")


# From features between −1 and 1 to the columns' own units: public arithmetic on weights.


def fine_features(
    public: TablePublic, design: Design, codes: list[NDArray[Any]], rows: int
) -> Floats:
    """Return the features of records from −1 to 1, as fine as the columns are declared.

    Parameters
    ----------
    public, design
        What is public about the table, and which features records have.
    codes
        The codes of the columns that explain, one array each.
    rows
        How many records there are.
    """
    found = np.zeros((rows, design.dimension))
    every, first = np.arange(rows), 0
    for factor, column in zip(design.factors, codes, strict=True):
        values = fine_values(public, factor)
        where = first if factor.single else first + factor.places[column]
        found[every, where] = values[column]
        first += len(factor.names)
    if design.intercept:
        found[:, -1] = 1.0
    return found


def own_units(
    public: TablePublic,
    design: Design,
    weights: Floats,
    offset: float,
    target: tuple[float, float],
) -> dict[tuple[str, str], float]:
    """Return what columns add to the target in their own units, and the constant.

    Parameters
    ----------
    public, design
        What is public about the table, and which features records have.
    weights, offset
        Of features from −1 to 1.
    target
        What a sum of 0 stands for, and what a sum of 1 adds to it.
    """
    middle, half = target
    found: dict[tuple[str, str], float] = {}
    constant, first = float(offset), 0
    for factor in design.factors:
        coding = public.schema.columns[factor.column].coding
        name, parts = public.columns[factor.column], weights[first : first + len(factor.names)]
        if is_number(coding):
            # A feature is (v − middle of the bounds)/half of their width.
            _, low, high = centres(coding)
            width, centre = high / 2 - low / 2, low / 2 + high / 2
            found[name, ""] = float(half * (parts[0] / width))
            back = float(parts[0] * (centre / width))
            constant -= back
            for label, part in zip(factor.names[1:], parts[1:], strict=True):
                found[name, label] = float(half * (part + back))
        elif factor.single and isinstance(coding, UNORDERED) and coding.size > 2:
            # Places in a declared list: what one place further adds.
            found[name, ""] = float(half * parts[0] * 2 / (coding.size - 1))
            constant -= float(parts[0])
        elif factor.single:
            # The second of two values against the first.
            found[name, factor.names[0]] = float(half * 2 * parts[0])
            constant -= float(parts[0])
        else:
            # Each against the first that is declared, which adds nothing.
            for label, part in zip(factor.names, parts, strict=True):
                found[name, label] = float(half * (part - parts[0]))
            constant += float(parts[0])
        first += len(factor.names)
    if design.intercept:
        constant += float(weights[-1])
    found[INTERCEPT, ""] = middle + half * constant
    return found


# What columns add to a prediction in their own units: worked out, written, told.
#
# Coefficients are public arithmetic on released weights; nothing here sees a record.


Names = tuple[str, str]

#: What the file of coefficients is called.
COEFFICIENTS = "coefficients.csv"


@dataclass(frozen=True, eq=False)
class Coefficients:
    """What each column and value adds to a prediction, and how sure that is.

    Parameters
    ----------
    names
        The column and the value that each coefficient stands for.
    adds
        What it adds, in the units of the target for one unit of the column.
    deviations
        The standard deviation of each, of noise and sample together; None where not known.
    sizes
        How large each of them could be with such weights: rounding errors are in proportion.
    """

    names: tuple[Names, ...]
    adds: Floats
    deviations: Floats | None
    sizes: Floats

    @classmethod
    def of(
        cls, told: Callable[[Floats], dict[Names, float]], weights: Floats, spread: Floats | None
    ) -> Coefficients:
        """Return the coefficients of a model.

        Parameters
        ----------
        told
            What the weights, with the offset last, amount to in own units: an affine map.
        weights
            The weights, with the offset last.
        spread
            Their covariance, None where not known.
        """
        found, none = told(weights), told(np.zeros_like(weights))
        base = np.array(list(none.values()))
        columns = [np.array(list(told(one).values())) - base for one in np.eye(weights.size)]
        matrix = np.column_stack(columns)
        deviations = None
        if spread is not None:
            variances = np.einsum("ij,jk,ik->i", matrix, spread, matrix)
            deviations = np.sqrt(np.maximum(variances, 0.0))
        largest = np.abs(weights).max(initial=0.0)
        sizes = np.abs(matrix).sum(axis=1) * largest + np.abs(base)
        return cls(tuple(found), np.array(list(found.values())), deviations, sizes)

    def frame(self) -> pl.DataFrame:
        """Return the coefficients as a Polars frame."""
        import polars as pl

        held = {
            "column": [column for column, _ in self.names],
            "value": [value for _, value in self.names],
            "adds": self.adds,
        }
        if self.deviations is not None:
            held["standard_deviation"] = self.deviations
        types = {"column": pl.String, "value": pl.String}
        return pl.DataFrame(held, schema_overrides=types)

    def written(self) -> bytes:
        """Return the coefficients as a CSV file, without digits that depend on the platform."""
        import polars as pl

        kept = [pl.Series("adds", round_figures(self.adds, self.sizes))]
        if self.deviations is not None:
            # A square root near 0 is as rough as the root of the rounding.
            largest = self.deviations.max(initial=0.0)
            kept.append(pl.Series("standard_deviation", round_figures(self.deviations, largest, 5)))
        buffer = io.BytesIO()
        self.frame().with_columns(kept).write_csv(buffer)
        return buffer.getvalue()
