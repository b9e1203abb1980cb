"""The examples in the docstrings of this layer are true."""

import doctest
from importlib import import_module
from pkgutil import iter_modules

import pytest

import sfumato.mechanisms


@pytest.mark.parametrize(
    "name", [module.name for module in iter_modules(sfumato.mechanisms.__path__)]
)
def test_examples_in_docstrings(name):
    module = import_module(f"sfumato.mechanisms.{name}")
    assert doctest.testmod(module).failed == 0
