"""A skip that nobody stated fails the run; the guard is shown to fail what it must."""

import re
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from tests.skips import ALLOWED, is_allowed

ROOT = Path(__file__).parent.parent
#: What each package of the extras is imported as, where its name does not say so.
MODULES = {"bed-reader": "bed_reader", "dp-accounting": "dp_accounting", "scikit-learn": "sklearn"}
PLANTED = """
import os
import pytest

def test_passes():
    pass

def test_wants_a_package():
    pytest.importorskip("a_package_that_is_not_there")

@pytest.mark.skip(reason="no time")
def test_marked():
    pass

@pytest.fixture
def missing():
    pytest.skip("not here")

def test_fixture(missing):
    pass

def test_data():
    pytest.skip("SFUMATO_DATA names no folder")

@pytest.mark.skipif(True, reason="nothing is read-only to root")
def test_root():
    pass

@pytest.mark.xfail(reason="a wish", strict=True)
def test_wish():
    assert False
"""


def test_a_planted_skip_fails_the_run(tmp_path):
    (tmp_path / "test_planted.py").write_text(PLANTED)
    (tmp_path / "test_module.py").write_text('import pytest\npytest.importorskip("no_such")\n')
    (tmp_path / "conftest.py").write_text(f"import sys\nsys.path.insert(0, {str(ROOT)!r})\n")
    words = ("-p", "tests.conftest", "-q", "-rA", "-p", "no:cacheprovider", "--rootdir", tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *map(str, words), "test_planted.py", "test_module.py",
         "--continue-on-collection-errors"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    failed = set(re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE))
    planted = ("wants_a_package", "marked", "fixture")
    assert {f"test_planted.py::test_{name}" for name in planted} <= failed
    assert "test_module.py" in failed and len(failed) == 4
    assert done.returncode == 1 and re.search(r"1 passed, 2 skipped, 1 xfailed", done.stdout)
    assert "pip install -e '.[dev]'" in done.stdout


def test_a_reason_is_stated_or_it_is_none():
    assert not is_allowed("could not import 'networkx': No module named 'networkx'")
    assert not is_allowed("unconditional skip") and not is_allowed("")
    assert all(ALLOWED.values())


def test_every_stated_reason_is_still_given():
    texts = [path.read_text() for path in (ROOT / "tests").rglob("*.py") if path.name != "skips.py"]
    for pattern in ALLOWED:
        assert any(re.search(pattern, text) for text in texts), pattern


def test_the_dev_extra_installs_every_optional_library_that_is_tested():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    included = set(re.search(r"sfumato\[(.*)\]", extras["dev"][0])[1].split(","))
    # The documentation is built apart.
    assert included == set(extras) - {"dev", "docs"}
    for extra in included:
        for needed in extras[extra]:
            name = re.match(r"[\w-]+", needed)[0]
            import_module(MODULES.get(name, name))


@pytest.mark.parametrize("package", ["networkx", "igraph"])
def test_the_oldest_version_is_pinned_as_declared(package):
    pins = (ROOT / "oldest.txt").read_text()
    (pinned,) = re.findall(rf"^{package}==(\S+)$", pins, re.MULTILINE)
    project = (ROOT / "pyproject.toml").read_text()
    assert f'"{package}>={pinned}"' in project
