"""A private regression, from a table to a page."""

# %% [markdown]
# # A private regression, from a table to a page
#
# Run it cell by cell in an editor that knows `# %%`, or whole: `python examples/regression.py`.
# The people are made up, so that the truth is known: blood pressure rises by 0.5 a year of age and
# by 8 for smokers. Everything is written into a folder, by default a new one, told at the end.

# %%
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

import sfumato as sf
from sfumato.attacks import ModelInversion
from sfumato.evaluate.regression import evaluate
from sfumato.report.model_inversion import save_inversion

folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
generator = np.random.default_rng(1)


def people(rows: int) -> pl.DataFrame:
    """Return made-up patients."""
    age, smokes = generator.uniform(18, 90, rows), generator.random(rows) < 0.3
    pressure = 100 + 0.5 * age + 8 * smokes + generator.normal(0, 8, rows)
    return pl.DataFrame({"age": age, "smokes": smokes, "pressure": pressure})


# %% [markdown]
# ## What is public
#
# The bounds of each column are common knowledge; nothing is read off the data. Bins are for counts:
# `finely=True` reads the numbers themselves.

# %%
schema = sf.Schema.from_dict(
    {"age": (0, 120, 12), "smokes": bool, "pressure": {"kind": "number", "low": 50, "high": 250,
                                                       "bins": 20, "outside": "clamp"}},
    rows_about=10_000,
)  # fmt: skip
patients = sf.Table(people(10_000), schema, finely=True)
ledger = sf.Ledger.create(folder / "patients.ledger", allow=sf.PureDP(2), unit="row")

# %% [markdown]
# ## Plan, then release
#
# The plan is free. The release books ε = 1 before it looks at the data.

# %%
method = sf.LinearRegression(epsilon=1, target="pressure")
print(method.plan(patients.public))

# %%
model = method.release(patients, ledger=ledger)
print(model)
for (column, value), adds in model.coef.items():
    print(f"{' '.join(filter(None, (column, value))):14} {adds:8.2f}")

# %% [markdown]
# ## Predict
#
# Predictions use the release and nothing else: they are free, however many.

# %%
new = pl.DataFrame({"age": [30.0, 50.0, 70.0], "smokes": [False, True, True]})
print(new.with_columns(pressure=pl.Series(model.predict(new)).round(1)))

# %% [markdown]
# ## For the custodian alone
#
# How good the model is, and whether smoking can be guessed through it, is computed from the private
# data without noise: it must not be published.

# %%
errors = evaluate(patients, model)
print(f"off by {errors.error:.2f}, without noise by {errors.private_error:.2f}")
outcome = ModelInversion(sensitive="smokes").run(
    patients, model, others=sf.Table(people(10_000), schema, finely=True)
)
print(outcome.words())
save_inversion(outcome, folder / "attack.html")

# %% [markdown]
# ## Publish
#
# The folder holds the weights, the transcript, the certificate and a page; anybody can check it.

# %%
model.save(folder / "model")
sf.save_report(folder / "model")
check = sf.verify(folder / "model")
print(f"checked: {check.passed}; left in the ledger: {ledger.remaining}")
print(f"everything is in {folder}")
