"""The notebooks of the examples run from the first cell to the last, one for each kind of data."""

import ast
import json
import re
import sys
import tempfile
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))


def read_notebook(path):
    """Return the cells of a notebook that is valid (nbformat 4.5) and holds no outputs."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert set(notebook) == {"cells", "metadata", "nbformat", "nbformat_minor"}
    for cell in notebook["cells"]:
        assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", cell["id"])
        assert all(isinstance(line, str) for line in cell["source"])
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [] and cell["execution_count"] is None, "strip the outputs"
            assert set(cell) == {
                "cell_type", "execution_count", "id", "metadata", "outputs", "source",
            }  # fmt: skip
        else:
            assert cell["cell_type"] == "markdown"
            assert set(cell) == {"cell_type", "id", "metadata", "source"}
    names = [cell["id"] for cell in notebook["cells"]]
    assert len(set(names)) == len(names)
    return notebook["cells"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    # Jupyter shows the value of an expression, so its text must exist.
    monkeypatch.setattr(sys, "displayhook", repr)
    names = {"__name__": "__main__"}
    for cell in read_notebook(path):
        if cell["cell_type"] == "code":
            body = ast.parse("".join(cell["source"])).body
            exec(compile(ast.Interactive(body), f"{path.name}, {cell['id']}", "single"), names)
    assert names["folder"].is_relative_to(tmp_path) and any(names["folder"].iterdir())


def test_every_kind_of_data_has_a_notebook():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = project["tool"]["importlinter"]["contracts"]
    (kinds,) = (layer for layer in contract["layers"] if "tabular" in layer)
    assert {path.stem for path in NOTEBOOKS} == set(kinds.split(" | "))
