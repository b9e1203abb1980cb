"""The examples in docstrings are true."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import sfumato

SOURCE = Path(sfumato.__file__).parent


@pytest.mark.parametrize(
    "name",
    [
        ".".join(("sfumato", *path.relative_to(SOURCE).with_suffix("").parts))
        for path in sorted(SOURCE.rglob("*.py"))
        if ">>> " in path.read_text(encoding="utf-8")
    ],
)
def test_examples_in_docstrings(name):
    assert doctest.testmod(import_module(name)).failed == 0
