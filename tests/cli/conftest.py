"""Runs the real entry point in this process and keeps its two streams apart."""

import json
import sys
from dataclasses import dataclass

import numpy as np
import pytest


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def document(self):
        """The one JSON document on the output."""
        return json.loads(self.out)


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("SFUMATO_KEY", raising=False)
    monkeypatch.setenv("COLUMNS", "200")

    def call(*words):
        from sfumato.cli.main import main

        monkeypatch.setattr(sys, "argv", ["sfumato", *map(str, words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ending:
            main()
        captured = capsys.readouterr()
        return Outcome(int(ending.value.code or 0), captured.out, captured.err)

    return call


SCHEMA = """\
[table]
unit = "person"
person = "who"
max_rows = 2
relation = "add_remove"
rows_about = 300

[columns.age]
kind = "number"
edges = [0, 20, 40, 60, 80]

[columns.sex]
kind = "category"
values = ["f", "m"]

[columns.town]
kind = "category"
values = ["Delft", "Leiden", "Gouda"]
"""


@pytest.fixture
def patients(tmp_path):
    """A small table of visits with its schema beside it."""
    generator = np.random.default_rng(5)
    lines = ["who,age,sex,town"]
    for _ in range(300):
        town = ("Delft", "Leiden", "Gouda")[generator.integers(3)]
        sex = "fm"[generator.integers(2)]
        lines.append(f"p{generator.integers(180)},{generator.integers(80)},{sex},{town}")
    path = tmp_path / "patients.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "patients.schema.toml").write_text(SCHEMA, encoding="utf-8")
    return path


@pytest.fixture
def ledger(run, tmp_path):
    path = tmp_path / "patients.ledger"
    assert run("ledger", "create", path, "--allow-epsilon", "3", "--unit", "person").code == 0
    return path


@pytest.fixture
def released(run, patients, ledger, tmp_path):
    out = tmp_path / "release"
    words = ("table", "release", patients, "--epsilon", "1", "--ledger", ledger, "--out", out)
    assert run(*words, "--method", "marginals", "--no-report").code == 0
    return out
