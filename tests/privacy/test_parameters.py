"""What each constraint parses, and the words of its refusal."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import pytest

from sfumato.privacy.parameters import (
    DELTA,
    SHARE,
    Epsilon,
    Flag,
    Labels,
    Names,
    NameSets,
    OneOf,
    OrNone,
    Positive,
    Text,
    Whole,
    parameter,
    parse_parameters,
    read_parameters,
    rename_former,
)


@pytest.mark.parametrize(
    ("constraint", "value", "parsed"),
    [
        (Positive(), "0.1", Fraction(1, 10)),
        (Epsilon(), 1e15, Fraction(10**15)),
        (SHARE, 0.5, Fraction(1, 2)),
        (Whole(1, 3), "3", 3),
        (Whole(1), 2**53, 2**53),
        (OneOf(("a", "b")), "b", "b"),
        (Flag(), False, False),
        (Names(), "age", ("age",)),
        (Names(), ["sex", "age"], ("sex", "age")),
        (Labels(), "yes", ("yes",)),
        (Labels(), [True, 3, 1.5, "b"], ("true", "3", "1.5", "b")),
        (NameSets(), ["age", ("sex", "age")], (("age",), ("sex", "age"))),
        (OrNone(Whole(1)), None, None),
        (OrNone(Whole(1)), 2, 2),
    ],
)
def test_a_value_is_parsed_and_parsing_it_again_changes_nothing(constraint, value, parsed):
    assert constraint("size", value) == parsed
    assert constraint("size", constraint("size", value)) == parsed


POSITIVE = "positive and finite"
NAMES = "a non-empty list of distinct column names"
LABELS = "a non-empty list of distinct values of the target, such as ['yes']"
SETS = "a non-empty list of distinct sets of column names, such as [('age', 'sex'), ('age',)]"
DECIMAL = "; it must be a number with a decimal point, as in 0.5"


@pytest.mark.parametrize(
    ("constraint", "value", "message"),
    [
        (Positive(), -1, f"{POSITIVE}; got -1"),
        # A text that is a number of the wrong size needs no advice on how numbers are written.
        (Positive(), "-0.5", f"{POSITIVE}; got '-0.5'"),
        (Positive(), "0,5", f"{POSITIVE}; got '0,5'{DECIMAL}"),
        (Positive(), 1e-101, f"{POSITIVE}, from 1e-100 to 1e100; got 1e-101"),
        (Positive(), 1e101, f"{POSITIVE}, from 1e-100 to 1e100; got 1e+101"),
        (Epsilon(), 1e-16, "from 1e-15 to 1e15; got 1e-16"),
        (Epsilon(), "1e16", "from 1e-15 to 1e15; got '1e16'"),
        (DELTA, 1, "greater than 0 and less than 1; got 1"),
        (DELTA, "0,1", f"greater than 0 and less than 1; got '0,1'{DECIMAL}"),
        (SHARE, 1e-7, "greater than 0 and less than 1, by 1e-06 or more; got 1e-07"),
        (Whole(1), 0, "a whole number of at least 1; got 0"),
        (Whole(1), 1.5, "a whole number of at least 1; got 1.5"),
        (Whole(1), 2**53 + 1, f"a whole number of at least 1, and at most 2**53; got {2**53 + 1}"),
        (Whole(1, 3), 4, "a whole number from 1 to 3; got 4"),
        (OneOf(("a", "b")), "c", "one of 'a', 'b'; got 'c'"),
        (Flag(), 1, "True or False; got 1"),
        (Text(), "", "a text that is not empty and that UTF-8 can hold; got ''"),
        (Names(), 5, f"{NAMES}; got 5"),
        (Names(), [], f"{NAMES}; got []"),
        (Names(), ["age", "age"], f"{NAMES}; got ['age', 'age']"),
        (Labels(), [], f"{LABELS}; got []"),
        (Labels(), ["1", 1], f"{LABELS}; got ['1', 1]"),
        (Labels(), [None], f"{LABELS}; got [None]"),
        (Labels(), [float("inf")], f"{LABELS}; got [inf]"),
        (NameSets(), [("a", "b"), ("b", "a")], f"{SETS}; got [('a', 'b'), ('b', 'a')]"),
        (OrNone(Whole(1)), 0, "a whole number of at least 1, or None; got 0"),
    ],
)
def test_a_refusal_says_what_is_allowed_and_what_was_given(constraint, value, message):
    with pytest.raises(ValueError, match=r"^size must be ") as caught:
        constraint("size", value)
    assert str(caught.value) == f"size must be {message}"


def test_every_parameter_declares_a_constraint():
    @dataclass(frozen=True)
    class Careless:
        size: int = 1

    with pytest.raises(TypeError, match=r"^Careless\.size declares no constraint$"):
        parse_parameters(Careless())


def test_parameters_of_a_document_are_known_under_one_name():
    assert read_parameters(("epsilon", "cells"), {"cells": 3}) == {"cells": 3}
    with pytest.raises(ValueError, match=r"^unknown parameter 'grid'; there are epsilon, cells$"):
        read_parameters(("epsilon", "cells"), {"grid": 3, "cells": 3})


@dataclass(frozen=True)
class Renamed:
    """A class of parameters of which one had another name, and one another word."""

    former_names: ClassVar[dict[str, str]] = {"grid": "cells"}

    cells: int = parameter(Whole(1), 1)
    variant: str = parameter(OneOf(("paper",), former={"published": "paper"}), "paper")


def test_former_names_and_words_of_a_document_are_those_of_today():
    assert rename_former(Renamed, {"grid": 3}) == {"cells": 3}
    assert rename_former(Renamed, {"variant": "published"}) == {"variant": "paper"}
    # Under both names at once neither is taken for the other.
    assert rename_former(Renamed, {"grid": 3, "cells": 4}) == {"grid": 3, "cells": 4}
