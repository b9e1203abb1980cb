"""The release of a statistic that was computed from noisy units."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from sfumato.mechanisms.expression.estimate import Estimate
from sfumato.privacy.canonical import canonical
from sfumato.privacy.figures import figure
from sfumato.privacy.release import Release
from sfumato.sections import Section

__all__ = ["StatisticRelease"]


class StatisticRelease(Release):
    """A statistic with its error, and the noisy units it was computed from.

    Parameters
    ----------
    expression
        The formula.
    estimate
        Its value, standard error and bias.
    measured
        The noisy value of each unit, by its text.
    entries
        What the entries of a vector are called.
    following
        Whether some noise follows the data, so that its scale is private.
    estimated
        Whether the scale of such noise was paid for, so that the standard error is an estimate.
    evaluate
        Estimates another formula from the same units.
    """

    kind = "statistic"

    def __init__(
        self,
        expression: str,
        estimate: Estimate,
        measured: Mapping[str, Any],
        *,
        entries: tuple[str, ...] = (),
        following: bool,
        estimated: bool = False,
        evaluate: Callable[[str], Estimate],
    ) -> None:
        self.expression = expression
        self.estimate = estimate
        self.measured = dict(measured)
        self.entries = entries
        self.following = following
        self.estimated = estimated
        self._evaluate = evaluate

    @property
    def value(self) -> Any:
        """The estimate: a float, or an array."""
        return self.estimate.value

    @property
    def standard_error(self) -> Any | None:
        """Its standard error; `None` where the scale of a noise is private, noisy where paid."""
        return self.estimate.standard_error

    @property
    def bias(self) -> Any | None:
        """Its mean error: 0, or by the delta method; `None` where it is not known."""
        return self.estimate.bias

    def also(self, expression: str) -> Estimate:
        """Return another statistic of the same units, which costs nothing further.

        Parameters
        ----------
        expression
            A formula in which no other unit appears.
        """
        return self._evaluate(expression)

    def files(self) -> dict[str, bytes]:
        """Return the statistic and its units as JSON; the entries of a vector as CSV."""
        document: dict[str, Any] = {"expression": self.expression}
        if self.estimated:
            document["standard_error_is"] = "a noisy estimate"
        files = {}
        figures = {
            "value": self.value,
            "standard_error": self.standard_error,
            "bias": self.bias,
        }
        if np.ndim(self.value):
            files["entries.csv"] = _table(self.entries, figures)
        else:
            document |= {name: _text(figure) for name, figure in figures.items()}
        document["measured"] = {
            name: [_text(entry) for entry in value] if np.ndim(value) else _text(value)
            for name, value in self.measured.items()
        }
        return {"statistic.json": canonical(document) + b"\n", **files}

    def words(self) -> str:
        """Return the statistic in a sentence."""
        if np.ndim(self.value):
            head = f"{self.expression}: one number for each of {len(self.value)} entries"
        else:
            head = f"{self.expression} is about {self.value:,.6g}"
        if self.standard_error is None:
            why = "the scale of its noise depends on the data, so it is private"
            return f"{head} ({why if self.following else 'its standard error is not released'})."
        error = float(np.median(self.standard_error))
        many = ", in the middle" if np.ndim(self.value) else ""
        noisy = ", itself a noisy estimate" if self.estimated else ""
        text = f"{head} ± {error:,.4g} (one standard error{many}{noisy})"
        if self.bias is not None and np.any(self.bias):
            text += f"; its bias is about {float(np.median(self.bias)):,.4g}"
        return f"{text}."

    def summary(self) -> dict[str, Any]:
        """Return the value with its error; of a vector, which is in a file, its length."""
        if self.entries:
            return {"expression": self.expression, "entries": len(self.entries)}
        return {
            "expression": self.expression,
            "value": self.value,
            "standard_error": self.standard_error,
            "bias": self.bias,
        }

    def sections(self) -> tuple[Section, ...]:
        """Return what its page shows."""
        from sfumato.sections.statistic import statistic_sections

        return statistic_sections(self)

    def plot(self) -> Any:
        """Return a figure: the number with its standard error, or all entries in order of size."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(5, 1.6 if not np.ndim(self.value) else 3), layout="constrained")
        axis = figure.subplots()
        if np.ndim(self.value):
            axis.plot(np.sort(self.value)[::-1], color="#4c72b0")
            axis.set_xlabel("entries, the largest first")
            axis.set_ylabel(self.expression)
        else:
            error = None if self.standard_error is None else [self.standard_error]
            axis.barh([""], [self.value], xerr=error, color="#4c72b0")
            axis.set_xlabel(self.expression)
        axis.spines[["top", "right"]].set_visible(False)
        return figure


def _text(value: Any) -> str | None:
    """Return a number as text; whole numbers of any size as they are."""
    if value is None:
        return None
    if isinstance(value, int | np.integer):
        return str(int(value))
    return figure(value)


def _table(entries: tuple[str, ...], figures: dict[str, Any]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    known = {name: figure for name, figure in figures.items() if figure is not None}
    writer.writerow(["entry", *known])
    for place, name in enumerate(entries):
        writer.writerow([name, *(_text(figure[place]) for figure in known.values())])
    return text.getvalue().encode()
