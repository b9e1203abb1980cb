"""Canonical bytes: one document, one way to write it."""

from __future__ import annotations

import json
from enum import StrEnum
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.privacy.canonical import canonical, digest

documents = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda children: (
        st.lists(children) | st.dictionaries(st.text(st.characters(codec="utf-8")), children)
    ),
    max_leaves=20,
)


def test_keys_are_sorted_and_there_are_no_spaces():
    assert canonical({"b": [1, 2.5, None], "a": {"z": True, "é": "ü"}}) == (
        '{"a":{"z":true,"é":"ü"},"b":[1,2.5,null]}'.encode()
    )


@given(documents)
def test_what_is_written_is_read_back_and_written_alike(document):
    content = canonical(document)
    assert json.loads(content) == document
    assert canonical(json.loads(content)) == content


def test_order_of_insertion_does_not_matter():
    assert canonical({"a": 1, "b": 2}) == canonical({"b": 2, "a": 1})


def test_integers_are_exact_and_floats_are_their_shortest_decimal():
    assert canonical(2**200) == str(2**200).encode()
    assert canonical(0.1) == b"0.1"
    assert canonical(np.float64(0.1)) == b"0.1"


def test_tuples_and_text_enums_are_written_plainly():
    class Colour(StrEnum):
        RED = "red"

    assert canonical((1, Colour.RED)) == b'[1,"red"]'


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (float("nan"), "the document is a float that is not finite"),
        ({"a": [0, float("inf")]}, r"the value at a\[1\] is a float that is not finite"),
        ({"a": {"b": Fraction(1, 3)}}, "the value at a.b is of type Fraction.*p/q"),
        ({"a": np.int64(3)}, "the value at a is of type int64"),
        ({1: "x"}, "the document has a key of type int; keys must be text"),
        ({"a": b"x"}, "the value at a is of type bytes"),
        ({"a": {1, 2}}, "the value at a is of type set"),
        ({"a": "\ud800"}, "the value at a holds half of a surrogate pair"),
        ({"\udfff": 1}, "a key holds half of a surrogate pair"),
    ],
)
def test_what_json_cannot_say_exactly_is_refused(document, message):
    with pytest.raises(ValueError, match=message):
        canonical(document)


def test_digest_is_sha256_in_hexadecimal():
    assert digest(b"abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
