"""What is derived from methods and proof pages is up to date, and a new method is found."""

import os
import shutil
import subprocess
import sys

import pytest

from tests.everything import ROOT, derive

pytestmark = pytest.mark.slow  # It imports everything.

METHOD = '''"""A method that somebody adds."""

from dataclasses import dataclass
from typing import ClassVar

from sfumato.tabular.histogram import Histogram


@dataclass(frozen=True, kw_only=True)
class OddMiddle(Histogram):
    """Release a median."""

    proof: ClassVar[str] = "odd-middle.md"
'''
PAGE = """---
summary: the middle of some records
proves:
  - src/sfumato/tabular/odd_middle.py
stamp: none
---
# An odd middle
"""
USE = """
import sfumato as sf
from sfumato.audit.subjects import subject_of
from sfumato.privacy.registry import resolve

assert "OddMiddle" in sf.__all__ and "OddMiddle" in dir(sf)
assert resolve("table.OddMiddle") is sf.OddMiddle
print(sf.OddMiddle.__module__, subject_of("odd-middle", epsilon="1").method)
"""


def test_nothing_that_is_derived_is_out_of_date():
    stale = [str(path.relative_to(ROOT)) for path in derive().find_stale()]
    assert not stale, f"run make derive: {stale}"


@pytest.fixture
def copy(tmp_path):
    """Return a copy of what the script reads and writes."""
    for folder in ("src", "docs"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    for file in ("pyproject.toml", "mkdocs.yml"):
        shutil.copy(ROOT / file, tmp_path)
    return tmp_path


def run(folder, *words):
    """Run Python in a copy, with the package of the copy."""
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder / "src")},
        capture_output=True,
        text=True,
    )


def test_a_method_that_is_added_is_found_and_one_that_moves_is_followed(copy):
    module = copy / "src" / "sfumato" / "tabular" / "odd_middle.py"
    module.write_text(METHOD)
    (copy / "docs" / "proofs" / "odd-middle.md").write_text(PAGE)
    told = run(copy, "docs/derive.py", "--check")
    assert told.returncode == 1
    assert "src/sfumato/places.py is out of date: run make derive" in told.stdout
    assert run(copy, "docs/derive.py").returncode == 0

    def line(path, words):
        return [line for line in (copy / path).read_text().splitlines() if words in line]

    assert line("src/sfumato/__init__.pyi", "import OddMiddle")
    assert "Release a median." in line("docs/reference.md", "`sf.OddMiddle(epsilon=…")[0]
    assert line("docs/proofs/index.md", "[An odd middle](odd-middle.md)") == [
        "| [An odd middle](odd-middle.md) | the middle of some records | `OddMiddle` |"
    ]
    assert line("mkdocs.yml", '"An odd middle": proofs/odd-middle.md')
    used = run(copy, "-c", USE)
    assert used.stdout.startswith("sfumato.tabular.odd_middle OddMiddle("), used.stderr

    module.rename(module.with_name("median.py"))
    assert run(copy, "docs/derive.py").returncode == 0
    assert run(copy, "-c", USE).stdout.startswith("sfumato.tabular.median OddMiddle(")


def test_a_page_without_the_two_comments_is_refused(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Words alone")
    with pytest.raises(ValueError, match="two comments"):
        derive().replace_derived(page, [])


def test_a_line_of_imports_that_is_too_long_is_broken():
    names = {f"Method{number:02}": "sfumato.room:Method" for number in range(12)}
    lines = derive().write_stub(names).splitlines()
    assert lines[1:4] == ["from sfumato.room import (", "    Method00,", "    Method01,"]
    assert max(map(len, lines)) <= 100
