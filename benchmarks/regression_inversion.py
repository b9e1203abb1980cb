"""Model inversion on Adult: how accurate a regression is, and how well it gives a column away.

NOT PRIVATE: attacks are tried on real rows. The 30,162 complete training rows of Adult, all columns
but fnlwgt; the target is whether income is above 50K and the sensitive column is whether somebody
is married (Married-civ-spouse). Logistic regression by the functional mechanism without a constant,
a category counted by its place in alphabetical order; five-fold cross-validation, in which the
attacker knows all other columns and has the errors of the model from the training folds.

`first published` stands for the noise of the chapter that proposed the split between sensitive and
other columns, which is larger than it need be; as its scale is proportional to 1/ε, it is our noise
at a smaller ε.

    python benchmarks/regression_inversion.py [--draws 4] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import sfumato as sf
import tabular_data as data
from sfumato import noise
from sfumato.attacks import ModelInversion
from sfumato.data.table import Table, without_columns

FOLDS = 5
TRAINING = 32_561
#: Columns that explain.
D = 13
BOUNDS = {
    "age": (17, 90),
    "education-num": (1, 16),
    "capital-gain": (0, 99_999),
    "capital-loss": (0, 4356),
    "hours-per-week": (1, 99),
}
#: What one record moves the coefficients by, as first published and exactly: d²/4 + 3d, (d + 2)²/8.
PUBLISHED, EXACT = Fraction(D * D, 4) + 3 * D, Fraction((D + 2) ** 2, 8)


@dataclass(frozen=True)
class Setting:
    """One row of the table.

    Parameters
    ----------
    label
        As it is printed.
    epsilon
        The loss that gives this noise with exact bounds.
    ratio
        The noise on other columns' coefficients as a share of that on the sensitive one's.
    drop
        Whether the sensitive column is left out.
    ridge
        Whether curvature is added before the minimum is looked for.
    """

    label: str
    epsilon: Fraction
    ratio: Fraction = Fraction(1)
    drop: bool = False
    ridge: bool = True

    def method(self) -> Any:
        """Return the method."""
        guarded = {} if self.drop else {"sensitive": ["married"], "ratio": self.ratio}
        return sf.FunctionalRegression(
            epsilon=self.epsilon, target="income", positive=[">50K"], categories="places",
            intercept=False, add_ridge=self.ridge, **guarded,
        )  # fmt: skip


def first_published(label: str, epsilon: Fraction, ratio: Fraction, **options: Any) -> Setting:
    """Return the noise as first published: scales Δ/ε and Δ/(ratio·ε)."""
    weighed = ((1 - ratio) * (D - 1 + 2) ** 2 + ratio * (D + 2) ** 2) / 8
    return Setting(label, weighed * epsilon / PUBLISHED, ratio, **options)


def settings() -> Iterator[Setting]:
    """Yield the rows of the table."""
    one = Fraction(1)
    yield Setting("no noise", Fraction(10**9), ridge=False)
    yield Setting("no noise, dropped", Fraction(10**9), drop=True, ridge=False)
    for text in ("0.05", "0.1", "0.5", "1", "5"):
        yield first_published(f"first published ε={text}", Fraction(text), one)
    for text in ("0.05", "0.1", "0.5", "1", "5"):
        label = f"first published ε={text}, no ridge"
        yield first_published(label, Fraction(text), one, ridge=False)
    for text in ("0.1", "0.5", "1", "5"):
        yield Setting(f"exact ε={text}", Fraction(text))
    for text in ("5", "1", "0.5", "0.25", "0.1", "0.05"):
        ratio = Fraction(text) / 5
        yield first_published(f"first published εn=5 εs={text}", Fraction(5), ratio)
    for text in ("5", "1", "0.5", "0.25", "0.1", "0.05"):
        label, ratio = f"first published εn=5 εs={text}, no ridge", Fraction(text) / 5
        yield first_published(label, Fraction(5), ratio, ridge=False)
    yield Setting("exact ε=5 γ=0.01", Fraction(5), Fraction(1, 100))
    for text in ("1", "5"):
        yield Setting(f"exact ε={text}, dropped", Fraction(text), drop=True)


def rows() -> pl.DataFrame:
    """Return the complete training rows, married or not."""
    folder = data.folder()
    if folder is None:
        raise FileNotFoundError("set SFUMATO_DATA to the folder that holds tabular/*.csv.xz")
    import lzma

    with lzma.open(folder / "adult_uci.csv.xz") as file:
        frame = pl.read_csv(file.read()).head(TRAINING)
    whole = frame.filter(~pl.any_horizontal(pl.all().cast(pl.String) == "?"))
    married = pl.col("marital-status") == "Married-civ-spouse"
    return whole.with_columns(married=married).drop("fnlwgt", "marital-status")


def schema() -> sf.Schema:
    """Return what is declared of each column."""
    columns: dict[str, Any] = {}
    for name, values in data.categories("Adult").items():
        if name in BOUNDS:
            columns[name] = BOUNDS[name]
        elif name == "marital-status":
            columns["married"] = bool
        elif values is not None:
            columns[name] = sorted(value for value in values if value != "?")
    return sf.Schema.from_dict(columns, relation="replace_one")


def folds() -> Iterator[tuple[Table, Table]]:
    """Yield the training and the test rows of each fold."""
    frame, declared = rows(), schema()
    fold = noise.generator(0).permutation(len(frame)) % FOLDS
    for number in range(FOLDS):
        mask = pl.Series(fold == number)
        yield Table(frame.filter(~mask), declared), Table(frame.filter(mask), declared)


def measured(setting: Setting, train: Table, test: Table) -> dict[str, float]:
    """Return the accuracy of one fit, and how often each way of guessing is right."""
    if setting.drop:
        seen, judged = without_columns(train, ["married"]), without_columns(test, ["married"])
    else:
        seen, judged = train, test
    model = setting.method().release(seen)
    found = {"accuracy": accuracy(model, judged)}
    if setting.drop:
        # A model that does not look at the column says nothing about it.
        return {**found, "inversion": _chance(train, test)}
    attack = ModelInversion(sensitive="married").attacker(train, model)
    for item in attack.tried(test):
        found[item.name] = item.right
    found["inversion"] = found["model and errors"]
    return found


def accuracy(model: Any, table: Table) -> float:
    """Return how often a model is right."""
    from sfumato.attacks.additive import additive

    sums = additive(model)
    truth = sums.answers[table.counts.codes(sums.target)] > 0
    return float(np.mean((sums.sums(table) > 0) == truth))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--draws", type=int, default=4, help="fits of each fold")
    parser.add_argument("--json", type=Path, default=None)
    parser.add_argument("--only", default="", help="rows whose label holds this text")
    options = parser.parse_args()
    if not os.environ.get("SFUMATO_DATA"):
        sys.exit("set SFUMATO_DATA to the folder that holds tabular/*.csv.xz")
    parts = list(folds())
    print(f"{'setting':42s} accuracy inversion  by model  by target  by chance", flush=True)
    document = []
    for setting in settings():
        if options.only not in setting.label:
            continue
        draws = 1 if setting.label.startswith("no noise") else options.draws
        found = [measured(setting, *part) for part in parts for _ in range(draws)]
        mean = {name: float(np.mean([item[name] for item in found])) for name in found[0]}
        error = {
            name: float(np.std([item[name] for item in found]) / np.sqrt(len(found)))
            for name in found[0]
        }
        chance = float(np.mean([_chance(*part) for part in parts]))
        print(
            f"{setting.label:42s} {mean['accuracy']:.3f}    {mean['inversion']:.3f}"
            f"      {mean.get('model', chance):.3f}     {mean.get('target alone', chance):.3f}"
            f"      {chance:.3f}",
            flush=True,
        )
        document.append({"setting": setting.label, "mean": mean, "error": error})
    if options.json is not None:
        options.json.write_text(json.dumps(document, indent=2) + "\n")


def _chance(train: Table, test: Table) -> float:
    column = train.public.schema.index("married")
    most = np.argmax(np.bincount(train.counts.codes(column)))
    return float(np.mean(test.counts.codes(column) == most))


if __name__ == "__main__":
    main()
