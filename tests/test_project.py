"""What the project states twice agrees: versions, Python versions, checks."""

import json
import re
import tomllib
from importlib.metadata import version
from pathlib import Path

import sfumato
from tests.coverage_by_folder import format_table, sum_by_folder

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_the_version_is_stated_once():
    assert "version" in PROJECT["project"]["dynamic"]
    assert PROJECT["tool"]["hatch"]["version"] == {"path": "src/sfumato/__init__.py"}
    # The installed version is written into certificates; `make` installs again when it changes.
    assert version("sfumato") == sfumato.__version__
    client = json.loads((ROOT / "js" / "package.json").read_text(encoding="utf-8"))
    assert client["version"] == sfumato.__version__


def test_hosted_ci_runs_both_commands_on_every_declared_python():
    text = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    classifiers = " ".join(PROJECT["project"]["classifiers"])
    declared = re.findall(r"Python :: (3\.\d+)", classifiers)
    (matrix,) = re.findall(r"python: \[(.+)\]", text)
    assert re.findall(r'"(3\.\d+)"', matrix) == declared
    assert PROJECT["project"]["requires-python"] == f">={declared[0]}"
    assert re.findall(r"run: (make \w+)", text) == ["make demo", "make test"]


def test_coverage_is_summed_by_folder_and_rounded_down():
    def figures(statements, executed):
        return {
            "summary": {
                "num_statements": statements,
                "covered_lines": executed,
                "num_branches": 4,
                "covered_branches": 1,
                "excluded_lines": 2,
                "percent_covered_display": "50",
            }
        }

    files = {
        "src/sfumato/__init__.py": figures(3, 3),
        "src/sfumato/noise/bits.py": figures(1_000, 1_000),
        "src/sfumato/noise/deep/er.py": figures(1_000, 999),
    }
    lines = format_table(sum_by_folder(files)).splitlines()
    assert lines[2:] == [
        "| (top) | 3 | 100.0 % | 4 | 25.0 % | 2 |",
        "| noise | 2,000 | 99.9 % | 8 | 25.0 % | 4 |",
        "| total | 2,003 | 99.9 % | 12 | 25.0 % | 6 |",
    ]
