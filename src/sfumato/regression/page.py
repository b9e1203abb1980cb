"""The page of a regression: what each column adds, in its own units, and what that is good for.

Everything here is a function of the release; nothing is compared with the private data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.engines.coding import MISSING, OTHER, Booleans, Categories
from sfumato.regression.design import INTERCEPT
from sfumato.regression.model import COEFFICIENTS
from sfumato.sections import Block, Commands, Facts, Grid, Listing, Picture, Section, Text
from sfumato.sections.declared import declared_columns
from sfumato.sections.drawing import ACCENT, FILL, INK, shorten

if TYPE_CHECKING:
    from sfumato.regression.model import RegressionModel

#: How many coefficients are listed and drawn, those that matter most.
MOST_LISTED, MOST_DRAWN = 60, 20


def model_sections(release: RegressionModel) -> tuple[Section, ...]:
    """Return the sections for a regression."""
    return (
        _model(release),
        _example(release),
        _use(release),
        _files(),
        declared_columns(release.public),
    )


def _model(release: RegressionModel) -> Section:
    """Tell what each column adds to the prediction."""
    blocks: list[Block] = [
        Text(
            f"The model predicts {_target(release)} by a sum: a constant, and what each column of "
            "a record adds. Noise was added during fitting, so a small figure may be noise only. "
            + release.about
        ),
        Text(release.how_sure()),
        Facts(_figures(release)),
        _coefficients(release),
    ]
    reach = _reach(release)
    if reach:
        many = min(len(reach), MOST_DRAWN)
        size = (6.0, 0.9 + 0.24 * many)
        caption = _caption(release)
        blocks.append(Picture("model", lambda f: _bars(f, release, reach), caption, size))
    return Section("model", "The model", tuple(blocks), COEFFICIENTS)


def _caption(release: RegressionModel) -> str:
    rare = "A long bar may be noise where few records have the value. "
    lines = "Lines reach two standard deviations to either side. "
    return (
        "How far each figure can move the prediction, from the lowest to the highest value that "
        "was declared. Dark: upwards with the column's number, or with the category that is named. "
        f"{rare if release.covariance is None else lines}{OTHER} and {MISSING} are not drawn."
    )


def _target(release: RegressionModel) -> str:
    if release.positive is None:
        return release.target
    return f"whether {release.target} is {' or '.join(release.positive[:4])}"


def _figures(release: RegressionModel) -> tuple[tuple[str, str], ...]:
    response, facts = release.design.response, [("target", _target(release))]
    if release.positive is None:
        facts.append(("predictions lie between", f"{response.low:,.6g} and {response.high:,.6g}"))
    facts.append(("columns that explain it", f"{len(release.design.factors):,}"))
    if release.deviation is not None:
        _, half = release.half_range
        facts.append(("what is left unexplained", f"± {half * release.deviation:,.4g} (1 s.d.)"))
    return tuple(facts)


def _coefficients(release: RegressionModel) -> Grid:
    """List what each column adds, in its own units."""
    adds = release.coef
    constant = adds.pop((INTERCEPT, ""))
    order = sorted(adds, key=lambda name: -abs(_moved(release, name, adds[name])))
    sure = _deviations(release)
    rows = [("(constant)", "every record", f"{constant:,.5g}{_either_side(sure, (INTERCEPT, ''))}")]
    kept = set(order[:MOST_LISTED])
    rows += [
        (
            column,
            release.per(column, value),
            f"{adds[column, value]:+,.4g}{_either_side(sure, (column, value))}",
        )
        for column, value in adds
        if (column, value) in kept
    ]
    if len(order) > MOST_LISTED:
        rows.append((f"and {len(order) - MOST_LISTED:,} more", "in coefficients.csv", ""))
    head = "adds to the log of the odds" if release.positive is not None else "adds"
    return Grid(("column", "for", head), tuple(rows), numbers=(2,))


def _deviations(release: RegressionModel) -> dict[tuple[str, str], float]:
    """Return how sure each figure is; empty where that is not known."""
    known = release.coefficients
    if known.deviations is None:
        return {}
    return dict(zip(known.names, known.deviations.tolist(), strict=True))


def _either_side(sure: dict[tuple[str, str], float], name: tuple[str, str]) -> str:
    # The first category of a column adds nothing, for sure.
    return f" ± {sure[name]:,.2g}" if sure.get(name) else ""


def _moved(release: RegressionModel, name: tuple[str, str], adds: float) -> float:
    """Return by how much a coefficient moves predictions over its column's declared range."""
    column, value = name
    coding = release.public.schema[column].coding
    if value or coding.size == 2:
        return adds
    return adds * _span(release, column)


def _span(release: RegressionModel, column: str) -> float:
    """Return how wide the declared range of a column of numbers is, in its own units."""
    from sfumato.regression.design import centres

    coding = release.public.schema[column].coding
    if isinstance(coding, Categories | Booleans):
        return float(coding.size - 1)
    _, low, high = centres(coding)
    return high - low


def _reach(release: RegressionModel) -> list[tuple[str, float, float]]:
    """Return how far each figure moves the prediction and how sure that is, the furthest first."""
    sure = _deviations(release)
    found = [
        (
            " = ".join(filter(None, name)),
            _moved(release, name, adds),
            abs(_moved(release, name, sure.get(name, 0.0))),
        )
        for name, adds in release.coef.items()
        if name[0] != INTERCEPT and name[1] not in (OTHER, MISSING)
    ]
    return sorted(found, key=lambda item: -abs(item[1]))


def _bars(figure: Any, release: RegressionModel, reach: list[tuple[str, float, float]]) -> None:
    """Draw how far columns move the prediction."""
    axis = figure.subplots()
    shown = reach[:MOST_DRAWN][::-1]
    sizes = np.array([moved for _, moved, _ in shown])
    colours = [INK if moved > 0 else ACCENT for moved in sizes]
    lines = [2 * deviation for _, _, deviation in shown] if _deviations(release) else None
    axis.barh(range(len(shown)), sizes, xerr=lines, color=colours, height=0.7, ecolor=FILL)
    axis.set_yticks(range(len(shown)), [shorten(name, 32) for name, _, _ in shown])
    axis.axvline(0, color=FILL, linewidth=0.8)
    what = "log of the odds" if release.positive is not None else shorten(release.target, 40)
    axis.set_xlabel(f"moves {what} by up to")


def _example(release: RegressionModel) -> Section:
    """Show the sum for one record that nobody has."""
    blocks = (
        Text(
            "A prediction is computed by hand as follows: begin with the constant; for each "
            "column of numbers add its figure times the number itself; for each column of "
            "categories add the figure of the category, and nothing for the first one declared."
        ),
        Text(
            "Above 0 the prediction is yes; the probability is 1/(1 + e^−sum), and far from one "
            "half it is less certain than it states."
            if release.positive is not None
            else "A sum beyond the declared bounds of the target counts as the bound."
        ),
    )
    return Section("sum", "How a prediction is computed", blocks, COEFFICIENTS)


def _use(release: RegressionModel) -> Section:
    """Say what the model is good for, and what it is not."""
    points = [
        "Use it to predict the target of new records of the same kind, and to see what is "
        "associated with it, in columns for which many records have a value. It shows "
        "associations, not causes.",
        "Columns that are nearly the same share their weight as the noise decides: consider them "
        "together.",
        "The error of predictions is not given here, because it would have to be measured in the "
        "private data. The custodian can compute it with sfumato regress evaluate, and should not "
        "publish it.",
        "The model applies equally to people who are not in the data. It does not hide properties "
        "of a group; sfumato attack inversion shows the consequence for a column.",
    ]
    if release.covariance is not None:
        points.insert(1, "It includes its uncertainty: --level 0.95 adds intervals to predictions.")
    commands = (
        "sfumato regress predict THIS-FOLDER new-rows.csv --out predicted.csv",
        "python -c \"import sfumato as sf; print(sf.load('THIS-FOLDER').coef)\"",
    )
    return Section(
        "use", "How to use it", (Listing(tuple(points)), Commands(commands)), COEFFICIENTS
    )


def _files() -> Section:
    """Say what the files hold."""
    rows = (
        (
            COEFFICIENTS,
            "column, value, adds, standard_deviation (where known)",
            "what one more of a number adds, or a category instead of the first declared",
        ),
        (
            "weights.csv",
            "column, value, weight",
            "the weight of each feature, for columns scaled to −1 … 1",
        ),
    )
    grid = Grid(("file", "columns", "meaning"), rows)
    return Section("codebook", "What the files hold", (grid,), COEFFICIENTS)
