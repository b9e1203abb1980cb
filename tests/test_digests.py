"""What every method releases under seeded bits is what tests/digests.json holds."""

from dataclasses import fields

import pytest

from sfumato.privacy.registry import resolve
from tests import everything
from tests.digest_cases import WAYS, cases, choices
from tests.record_digests import REFUSED, entries, read

# It runs all methods, and libraries of other versions compute other last digits.
pytestmark = pytest.mark.slow


def parts(line):
    """The digests of one entry by their names, files apart."""
    if line is None or line == REFUSED:
        return {"outcome": line}
    return {**line, **{f"file {name}": value for name, value in line["files"].items()}}


def differences(old, new):
    """Which entries differ, and in what."""
    found = {}
    for key in sorted({*old, *new}):
        one, other = parts(old.get(key)), parts(new.get(key))
        differing = [n for n in {**one, **other} if n != "files" and one.get(n) != other.get(n)]
        if differing:
            found[key] = differing
    return found


@pytest.mark.parametrize("name", WAYS)
def test_a_method_releases_what_it_released_when_the_table_was_made(name):
    short = name.partition(".")[2]
    recorded = {key: line for key, line in read().items() if key.partition("/")[0] == short}
    assert not differences(recorded, entries(name))


def test_the_table_holds_every_method_and_nothing_else():
    assert {f"{method.kind}.{method.__name__}" for method in everything.methods()} == set(WAYS)
    assert [*read()] == sorted(case.key for name in WAYS for case in cases(name))


def test_every_way_of_a_method_is_released_somewhere():
    released = {tuple(key.split("/")[:2]) for key, line in read().items() if line != REFUSED}
    assert released == {(name.partition(".")[2], label) for name in WAYS for label in WAYS[name]}


def test_every_choice_that_a_parameter_offers_is_tried():
    untried = [
        (name, item.name, choice)
        for name, ways in WAYS.items()
        for item in fields(resolve(name))
        for choice in choices(item)
        if choice not in [way.options.get(item.name, item.default) for way in ways.values()]
    ]
    assert not untried
