"""The page of a regression: what each column adds, in its own units, and what that is good for.

Everything here is a function of the release; nothing is compared with the private data.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.data.table import TablePublic
from sfumato.engines.coding import Booleans, Categories, Dates
from sfumato.regression.design import INTERCEPT
from sfumato.regression.model import RegressionModel
from sfumato.report.blocks import Block, Commands, Facts, Grid, Listing, Picture, Section, Text
from sfumato.report.declared import declared
from sfumato.report.drawing import ACCENT, FILL, INK, drawn, shortened

#: How many coefficients are listed and drawn, those that matter most.
MOST_LISTED, MOST_DRAWN = 60, 20


def sections(release: RegressionModel) -> tuple[Section, ...]:
    """Return the sections for a regression."""
    return (_model(release), _example(release), _use(release), _files(), declared(release.public))


def _model(release: RegressionModel) -> Section:
    """Tell what each column adds to the prediction."""
    blocks: list[Block] = [
        Text(
            f"The model predicts {_target(release)} by a sum: a constant, and what each column of "
            "a record adds. Chance was added to all of it while it was fitted, so that a small "
            "figure may be nothing but noise. " + release.about
        ),
        Facts(_figures(release)),
        _coefficients(release),
    ]
    reach = _reach(release)
    if reach:
        many = min(len(reach), MOST_DRAWN)
        caption = (
            "How far each column can move the prediction, from its lowest to its highest value "
            "that was declared; the longer a bar, the more the column matters to the model. "
            "Dark: upwards with the column's number, or with the category that is named."
        )
        size = (6.0, 0.9 + 0.24 * many)
        blocks.append(Picture(drawn("model", size, lambda f: _bars(f, release, reach)), caption))
    return Section("model", "The model", tuple(blocks), "weights.csv")


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
    rows = [("(constant)", "every record", f"{constant:,.5g}")]
    kept = set(order[:MOST_LISTED])
    rows += [
        (column, _per(release, column, value), f"{adds[column, value]:+,.4g}")
        for column, value in adds
        if (column, value) in kept
    ]
    if len(order) > MOST_LISTED:
        rows.append((f"and {len(order) - MOST_LISTED:,} more", "in weights.csv", ""))
    head = "adds to the log of the odds" if release.positive is not None else "adds"
    return Grid(("column", "for", head), tuple(rows), numbers=(2,))


def _per(release: RegressionModel, column: str, value: str) -> str:
    """Say what a coefficient is for: one more of a unit, or a value."""
    coding = release.public.schema[column].coding
    if value:
        other = f" instead of {coding.labels[0]}" if _two(release.public, column) else ""
        return f"{value}{other}"
    if isinstance(coding, Dates):
        return "each day later"
    if isinstance(coding, Categories | Booleans):
        return "each place further in the declared list"
    return "each 1 more"


def _two(public: TablePublic, column: str) -> bool:
    return public.schema[column].size == 2


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


def _reach(release: RegressionModel) -> list[tuple[str, float]]:
    """Return how far each coefficient moves the prediction, the furthest first."""
    found = [
        (" = ".join(filter(None, name)), _moved(release, name, adds))
        for name, adds in release.coef.items()
        if name[0] != INTERCEPT
    ]
    return sorted(found, key=lambda item: -abs(item[1]))


def _bars(figure: Any, release: RegressionModel, reach: list[tuple[str, float]]) -> None:
    """Draw how far columns move the prediction."""
    axis = figure.subplots()
    shown = reach[:MOST_DRAWN][::-1]
    sizes = np.array([moved for _, moved in shown])
    colours = [INK if moved > 0 else ACCENT for moved in sizes]
    axis.barh(range(len(shown)), sizes, color=colours, height=0.7)
    axis.set_yticks(range(len(shown)), [shortened(name, 32) for name, _ in shown])
    axis.axvline(0, color=FILL, linewidth=0.8)
    what = "log of the odds" if release.positive is not None else shortened(release.target, 40)
    axis.set_xlabel(f"moves {what} by up to")


def _example(release: RegressionModel) -> Section:
    """Show the sum for one record that nobody has."""
    blocks = (
        Text(
            "A prediction is worked out by hand like this: begin with the constant; for each "
            "column of numbers add its figure times the number itself; for each column of "
            "categories add the figure of the category."
        ),
        Text(
            "Above 0 the model says yes; the probability is 1/(1 + e^−sum), and far from one half "
            "it is less sure than it says."
            if release.positive is not None
            else "A sum beyond the declared bounds of the target counts as the bound."
        ),
    )
    return Section("sum", "How a prediction comes about", blocks, "weights.csv")


def _use(release: RegressionModel) -> Section:
    """Say what the model is good for, and what it is not."""
    points = [
        "Use it to predict the target of new records of the same kind, and to see which columns "
        "matter. It says what goes together, not what causes what.",
        "Columns that say nearly the same share their weight in a way that noise decides: look at "
        "them together.",
        "How far off predictions are is not told here, because that would have to be counted in "
        "the private data. The custodian can see it with sfumato regress evaluate, and should not "
        "publish it.",
        "What a model says about everybody it also says about those who are not in the data. It "
        "does not hide what is true of a group; sfumato attack inversion shows what that means for "
        "a column.",
    ]
    if release.covariance is not None:
        points.insert(1, "It knows how sure it is: --level 0.95 adds intervals to predictions.")
    commands = (
        "sfumato regress predict THIS-FOLDER new-rows.csv --out predicted.csv",
        "python -c \"import sfumato as sf; print(sf.load('THIS-FOLDER').coef)\"",
    )
    return Section(
        "use", "How to use it", (Listing(tuple(points)), Commands(commands)), "weights.csv"
    )


def _files() -> Section:
    """Say what the files hold."""
    rows = (
        (
            "weights.csv",
            "column, value, weight",
            "the weight of each feature, for columns that are stretched to −1 … 1",
        ),
    )
    grid = Grid(("file", "columns", "meaning"), rows)
    return Section("codebook", "What the files hold", (grid,), "weights.csv")
