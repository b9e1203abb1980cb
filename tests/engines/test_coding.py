"""Every value of every type gets the code that was declared for it, or is refused by row."""

import time
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.engines.coding import (
    Booleans,
    Categories,
    Coding,
    Dates,
    Integers,
    Numbers,
    Reals,
    Steps,
    coding_from_json,
)
from sfumato.engines.reading import series_of


def codes(coding: Coding, values: list, dtype=None) -> list[int]:
    encoded = coding.encode(pl.Series(values, dtype=dtype))
    assert not encoded.faults
    return encoded.codes.tolist()


def refused(coding: Coding, values: list, dtype=None) -> dict[str, list[int]]:
    encoded = coding.encode(pl.Series(values, dtype=dtype))
    return {fault.wrong: fault.rows.tolist() for fault in encoded.faults}


def test_bins_are_closed_below_and_open_above_but_for_the_last():
    coding = Numbers(edges=(0, 1, 2, 4))
    assert codes(coding, [0.0, 0.5, 1.0, 1.999, 2.0, 4.0, -0.0]) == [0, 0, 1, 1, 2, 2, 0]


def test_equal_bins_have_the_nearest_double_to_the_exact_edge():
    edges = Numbers.equal(0, 1, 10).edges
    assert edges == tuple(float(Fraction(i, 10)) for i in range(11))
    assert codes(Numbers.equal(0, 1, 10), [0.1, 0.3, 0.7, 0.1 + 0.2]) == [1, 3, 7, 3]


@given(
    st.floats(-1e6, 1e6),
    st.floats(1e-3, 1e6),
    st.integers(1, 50),
    st.lists(st.floats(0, 1), min_size=1, max_size=20),
)
def test_bins_agree_with_a_scan_of_the_edges(low, width, bins, shares):
    coding = Numbers.equal(low, low + width, bins)
    edges = coding.edges
    values = [min(max(edges[0] + s * (edges[-1] - edges[0]), edges[0]), edges[-1]) for s in shares]
    values += list(edges)
    expected = [min(sum(v >= e for e in edges) - 1, bins - 1) for v in values]
    assert codes(coding, values) == expected


def test_not_a_number_is_missing_and_infinity_is_outside():
    coding = Numbers.equal(0, 1, 2)
    found = refused(coding, [0.2, float("nan"), None, float("inf"), float("-inf")])
    assert found == {
        "the value is missing": [1, 2],
        "the value is outside the domain (from 0 to 1)": [3, 4],
    }


def test_clamping_counts_infinity_as_the_bound_and_missing_has_the_last_code():
    coding = Numbers.equal(0, 1, 2, outside="clamp", missing="code")
    values = [float("-inf"), -3.0, 0.5, 9.0, float("inf"), float("nan"), None]
    assert codes(coding, values) == [0, 0, 1, 1, 1, 2, 2]
    assert coding.size == 3


@pytest.mark.parametrize(
    ("text", "number"),
    [(" 7 ", 7.0), ("+7", 7.0), ("7.", 7.0), (".5e1", 5.0), ("1E1", 10.0), ("-0", 0.0)],
)
def test_numbers_are_read_from_text(text, number):
    coding = Numbers.equal(0, 16, 16)
    assert codes(coding, [text]) == codes(coding, [number])


@pytest.mark.parametrize("text", ["1,5", "1_000", "0x10", "7 8", "--1", "1e", "٣x", "yes"])
def test_text_that_is_no_number_is_unreadable(text):
    assert list(refused(Numbers.equal(0, 16, 16), [text])) == ["the value is not a number"]


def test_infinite_text_is_outside_and_missing_words_are_missing():
    coding = Numbers.equal(0, 1, 2, outside="clamp", missing="code")
    assert codes(coding, ["inf", "-Infinity", "NA", "", "nan", None]) == [1, 0, 2, 2, 2, 2]


@pytest.mark.parametrize(
    ("coding", "values", "expected"),
    [
        (Numbers.equal(0, 9, 3, missing="code", missing_values=("?", 999)),
         ["1", " ? ", "999", "999.0", "8"], [0, 3, 3, 3, 2]),
        (Numbers.equal(0, 9, 3, missing="code", missing_values=(-9,)), [-9.0, 4.0], [3, 1]),
        (Integers(low=0, high=3, missing="code", missing_values=("99",)), [99, 2], [4, 2]),
        (Categories(values=("f", "m"), missing="code", missing_values=("-",)),
         ["-", "m", None], [2, 1, 2]),
        (Booleans(missing="code", missing_values=("unknown",)), ["unknown", "yes"], [2, 1]),
    ],
)  # fmt: skip
def test_declared_words_and_numbers_mean_missing(coding, values, expected):
    assert codes(coding, values) == expected
    assert coding_from_json(coding.to_json()) == coding


def test_missing_values_are_refused_where_missing_is():
    coding = Numbers.equal(0, 9, 3, missing_values=("?",))
    assert refused(coding, ["1", "?"]) == {"the value is missing": [1]}


@pytest.mark.parametrize("wrong", [(None,), (True,), "?", ["?"]])
def test_missing_values_are_texts_and_numbers(wrong):
    with pytest.raises(ValueError, match="missing_values must be a list"):
        Numbers.equal(0, 9, 3, missing_values=wrong)


def test_no_category_means_missing():
    with pytest.raises(ValueError, match="cannot be both a category and one of missing_values"):
        Categories(values=("f", "?"), missing_values=("?",))


def test_decimals_and_booleans_are_numbers():
    coding = Numbers.equal(0, 2, 2)
    assert codes(coding, [Decimal("0.5"), Decimal("1.5")]) == [0, 1]
    assert codes(coding, [True, False]) == [1, 0]


def test_integers_of_all_64_bits_are_told_apart():
    top = 2**64 - 1
    coding = Integers(low=top - 3, high=top)
    assert codes(coding, [top, top - 3], pl.UInt64) == [3, 0]
    assert codes(coding, [str(top), str(top - 1)]) == [3, 2]
    assert refused(coding, [-1, -4], pl.Int64)  # the same bits, but negative
    assert refused(coding, [str(2**64), "-1"])
    low = Integers(low=-(2**63), high=-(2**63) + 1)
    assert codes(low, [-(2**63), -(2**63) + 1], pl.Int64) == [0, 1]
    assert refused(low, [2**63], pl.UInt64)
    assert codes(Integers(low=0, high=10, outside="clamp"), [str(10**30), str(-(10**30))]) == [
        10,
        0,
    ]


def test_whole_floats_are_whole_numbers_and_others_are_not():
    coding = Integers(low=0, high=5, missing="code")
    assert codes(coding, [0.0, 5.0, float("nan"), -0.0]) == [0, 5, 6, 0]
    assert codes(coding, ["3.0", "+4", " 5 "]) == [3, 4, 5]
    assert list(refused(coding, [1.5])) == ["the value is not a whole number"]
    assert refused(coding, [float("inf"), 1e300])


@given(st.integers(-50, 50), st.integers(0, 60), st.data())
def test_integer_bins_differ_by_at_most_one_in_size(low, span, data):
    bins = data.draw(st.integers(1, span + 1))
    coding = Integers(low=low, high=low + span, bins=bins)
    found = codes(coding, list(range(low, low + span + 1)))
    sizes = np.bincount(found, minlength=bins)
    assert found == sorted(found)
    assert sizes.max() - sizes.min() <= 1


def test_categories_are_compared_exactly_then_without_blanks():
    coding = Categories(values=("a", " a", "NA"), missing="code", outside="other")
    assert codes(coding, ["a", " a", " a ", "NA", "", "NaN", None, "b"]) == [0, 1, 0, 2, 4, 4, 4, 3]


def test_categories_of_text_meet_columns_of_numbers_and_of_categories():
    coding = Categories(values=("1", "2"))
    assert codes(coding, [1, 2], pl.Int8) == [0, 1]
    assert codes(coding, [1.0, 2.0]) == [0, 1]
    assert codes(coding, ["1", "2"], pl.Categorical) == [0, 1]
    assert codes(coding, [b"1", b"2"]) == [0, 1]
    assert codes(Categories(values=("True", "False")), [True, False]) == [0, 1]


def test_categories_of_whole_numbers():
    coding = Categories(values=(5, -1, 2**62), outside="other")
    assert codes(coding, [5, -1, 2**62, 7]) == [0, 1, 2, 3]
    assert codes(coding, ["5", "-1", "x"]) == [0, 1, 3]
    assert codes(coding, [5.0, -1.0, 2.5]) == [0, 1, 3]
    assert codes(Categories(values=(2**64 - 1, 0)), [2**64 - 1, 0], pl.UInt64) == [0, 1]
    assert refused(Categories(values=(2**64 - 1, 0)), [-1], pl.Int64)


def test_booleans_are_understood_in_many_words():
    assert codes(Booleans(), ["Yes", "no", "TRUE", "f", "1", "0"]) == [1, 0, 1, 0, 1, 0]
    assert codes(Booleans(), [1.0, 0.0]) == [1, 0]
    assert codes(Booleans(missing="code"), [True, None]) == [1, 2]
    assert refused(Booleans(), [2])
    assert refused(Booleans(), ["maybe"])


def test_dates_are_read_from_dates_times_and_text():
    coding = Dates(low=date(2020, 1, 1), high=date(2020, 12, 31), bins=12, missing="code")
    same = [
        codes(coding, [date(2020, 7, 4), None]),
        codes(coding, [datetime(2020, 7, 4, 23, 59), None]),
        codes(coding, ["2020-07-04", ""]),
        codes(coding, ["2020-07-04T23:59:00", "NA"]),
    ]
    assert all(found == same[0] for found in same)
    assert same[0][1] == 12
    assert refused(coding, ["2020-02-30"])
    assert refused(coding, ["04/07/2020"])
    assert refused(coding, [date(2021, 1, 1)])
    assert refused(coding, [3])


def test_a_time_with_a_zone_counts_as_its_day_in_utc():
    coding = Dates(low=date(2020, 1, 1), high=date(2020, 1, 9))
    late = pl.Series([datetime(2020, 1, 2, 1)]).dt.replace_time_zone("Europe/Berlin")
    assert coding.encode(late).codes.tolist() == [
        0 if late.dt.convert_time_zone("UTC").dt.day()[0] == 1 else 1
    ]


def test_mixed_objects_are_read_as_text():
    class Odd:
        pass

    mixed = series_of([1, "1", 1.0, True, None, float("nan"), Decimal("1"), Odd(), 2**70, b"\xff"])
    assert mixed.to_list()[:7] == [" 1", "1", " 1", " True", None, None, " 1"]
    found = Integers(low=0, high=3, missing="code").encode(mixed)
    assert {f.wrong: f.rows.tolist() for f in found.faults} == {
        "the value is not a whole number": [7, 9],
        "the value is outside the domain (a whole number from 0 to 3)": [8],
    }


@pytest.mark.parametrize(
    "values",
    [pl.Series([[1], [2]]), pl.Series([{"a": 1}, None]), pl.Series([b"\xff", b"x"])],
    ids=["lists", "structs", "bytes"],
)
@pytest.mark.parametrize(
    "coding",
    [
        Numbers.equal(0, 1, 2),
        Reals(low=0, high=1),
        Integers(low=0, high=1),
        Categories(values=("a",)),
        Categories(values=(1,)),
        Booleans(),
        Dates(low=date(2020, 1, 1), high=date(2020, 1, 2)),
    ],
    ids=lambda coding: type(coding).__name__,
)
def test_parsing_is_total_for_types_that_make_no_sense(coding, values):
    assert coding.encode(values).faults


CODINGS = [
    Categories(values=("f", "m"), missing="code", outside="other"),
    Categories(values=(3, 1, 2**64 - 1)),
    Booleans(missing="code"),
    Numbers.equal(0, 1, 7, missing="code"),
    Reals(low=-1.5, high=2.5, bits=6, missing="code"),
    Reals(low=0, high=1e6, bits=5, outside="clamp"),
    Numbers(edges=(-1.5, 0.1, 0.3, 1e9)),
    Numbers.equal(0, 120, 16, decimals=0),
    Numbers.equal(0, 1, 10, decimals=2),
    Integers(low=-3, high=9, bins=5, missing="code"),
    Integers(low=2**63, high=2**64 - 1, bins=3),
    Integers(low=-(2**63), high=2**63 - 1, bins=3),
    Dates(low=date(1960, 2, 3), high=date(2024, 2, 29), bins=9, outside="clamp"),
]


@pytest.mark.parametrize("coding", CODINGS, ids=lambda coding: coding.kind)
def test_decoding_then_encoding_gives_the_codes_back(coding):
    wanted = np.repeat(np.arange(coding.size), 200)
    values = coding.decode(wanted, np.random.default_rng(1))
    encoded = coding.encode(values)
    assert not encoded.faults
    assert encoded.codes.tolist() == wanted.tolist()


@pytest.mark.parametrize("coding", CODINGS, ids=lambda coding: coding.kind)
def test_a_coding_survives_its_document_and_names_every_code(coding):
    again = coding_from_json(coding.to_json())
    assert again == coding
    assert hash(again) == hash(coding)
    assert len(coding.labels) == len(set(coding.labels)) == coding.size


def test_no_category_is_called_like_the_code_of_a_policy():
    with pytest.raises(ValueError, match=r"called '\(missing\)'.*another name.*\"refuse\""):
        Categories(values=("a", "(missing)"), missing="code")
    with pytest.raises(ValueError, match=r"called '\(other\)'.*another name.*\"refuse\""):
        Categories(values=("(other)",), outside="other")
    free = Categories(values=("(missing)", "(other)"))
    assert free.labels == ("(missing)", "(other)")
    assert len(set(Categories(values=("(other)",), missing="code").labels)) == 2


@given(st.floats(-1e300, 1e300), st.integers(1, 4), st.sampled_from(["refuse", "code"]))
def test_bins_as_narrow_as_can_be_are_told_apart_by_their_labels(low, bins, missing):
    edges = [low + 0.0]
    for _ in range(bins):
        edges.append(float(np.nextafter(edges[-1], np.inf)))
    coding = Numbers(edges=tuple(edges), missing=missing)
    assert len(set(coding.labels)) == coding.size


def test_labels_of_bins_have_no_more_digits_than_they_need():
    assert Numbers.equal(0, 0.3, 3).labels == ("[0, 0.1)", "[0.1, 0.2)", "[0.2, 0.3]")
    assert (
        Numbers(edges=(0.3, 0.1 + 0.2, 1)).labels[0] == "[0.29999999999999999, 0.30000000000000004)"
    )


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"kind": "colour"},
        {"kind": "number", "low": 0},
        {"kind": "number", "edges": [0]},
        {"kind": "real", "low": 0, "high": 0},
        {"kind": "real", "low": 0, "high": float("inf")},
        {"kind": "real", "low": 0, "high": 1, "bits": 33},
        {"kind": "real", "low": 1e16, "high": 1e16 + 64, "bits": 16},
        {"kind": "number", "edges": [0, 0]},
        {"kind": "number", "edges": [0, float("inf")]},
        {"kind": "number", "low": 0, "high": 1, "bins": 10, "decimals": 0},
        {"kind": "number", "low": 0, "high": 1, "bins": 2, "outside": "other"},
        {"kind": "category", "values": []},
        {"kind": "category", "values": ["a", "a"]},
        {"kind": "category", "values": ["a", 1]},
        {"kind": "category", "values": [0.5]},
        {"kind": "category", "values": ["a"], "outside": "clamp"},
        {"kind": "category", "values": ["a"], "missing": "maybe"},
        {"kind": "integer", "low": 3, "high": 2},
        {"kind": "integer", "low": 0, "high": 2**64},
        {"kind": "integer", "low": 0, "high": 3, "bins": 9},
        {"kind": "date", "low": "2020-01-01", "high": "2019-01-01"},
        {"kind": "boolean", "low": 0},
    ],
    ids=str,
)
def test_a_wrong_document_is_refused_with_a_reason(document):
    with pytest.raises(ValueError, match=r"\w+ \w+"):
        coding_from_json(document)


def test_codes_take_the_smallest_type():
    assert Integers(low=0, high=255).encode(pl.Series([1])).codes.dtype == np.uint8
    assert Integers(low=0, high=256).encode(pl.Series([1])).codes.dtype == np.uint16
    assert Integers(low=0, high=65536).encode(pl.Series([1])).codes.dtype == np.uint32


@pytest.mark.parametrize("coding", CODINGS, ids=lambda coding: coding.kind)
def test_an_empty_column_of_any_type_has_no_codes(coding):
    for dtype in (pl.String, pl.Float64, pl.Int8, pl.Null, pl.Boolean, pl.Date):
        assert len(coding.encode(pl.Series([], dtype=dtype)).codes) == 0


def levels(coding: Coding) -> list[list[int]]:
    assert coding.level_sizes == tuple(max(level) + 1 for level in map(list, coding.levels))
    return [level.tolist() for level in coding.levels]


def test_bins_are_joined_in_pairs_down_to_two():
    assert Numbers.equal(0, 1, 16).level_sizes == (16, 8, 4, 2)
    assert Integers(low=3, high=14).level_sizes == (12, 6, 3, 2)
    assert Dates(low=date(2020, 1, 1), high=date(2020, 1, 17)).level_sizes == (17, 9, 5, 3, 2)
    assert levels(Integers(low=0, high=4)) == [[0, 1, 2, 3, 4], [0, 0, 1, 1, 2], [0, 0, 0, 0, 1]]
    assert levels(Integers(low=0, high=2)) == [[0, 1, 2], [0, 0, 1]]
    assert levels(Integers(low=0, high=1)) == [[0, 1]]
    assert levels(Integers(low=7, high=7)) == [[0]]
    assert levels(Booleans()) == [[0, 1]]


def test_missing_and_other_stay_alone_at_every_level():
    assert levels(Integers(low=0, high=3, missing="code")) == [[0, 1, 2, 3, 4], [0, 0, 1, 1, 2]]
    grouped = Categories(
        values=("a", "b", "c"), taxonomy=(("a", "c"),), missing="code", outside="other"
    )
    assert grouped.labels == ("a", "b", "c", "(other)", "(missing)")
    assert levels(grouped) == [[0, 1, 2, 3, 4], [0, 1, 0, 2, 3]]


@pytest.mark.parametrize(
    ("taxonomy", "expected"),
    [
        (None, []),
        # One level; a value alone in a group, or in none, stays alone.
        ((("a", "b"), ("c", "d"), ("e",)), [[0, 0, 1, 1, 2]]),
        ((("a", "b"), ("c", "d"), "e"), [[0, 0, 1, 1, 2]]),
        ((("a", "b"), ("c", "d")), [[0, 0, 1, 1, 2]]),
        # Groups are numbered by their first value, in whatever order they are written.
        ((("d", "c"), ("b", "a")), [[0, 0, 1, 1, 2]]),
        ((("a", "e"),), [[0, 1, 2, 3, 0]]),
        # Branches of unequal depth.
        (((("a", "b"), "c"), ("d", "e")), [[0, 0, 1, 2, 2], [0, 0, 0, 1, 1]]),
        ((("a", ("b", ("c", "d"))), "e"), [[0, 1, 2, 2, 3], [0, 1, 1, 1, 2], [0, 0, 0, 0, 1]]),
        # All values in one group are no level.
        (((("a", "b"), ("c", "d", "e")),), [[0, 0, 1, 1, 1]]),
        ((((("a",), "b"),), "c"), [[0, 0, 1, 2, 3]]),
    ],
)
def test_a_taxonomy_joins_the_values_of_its_groups_level_by_level(taxonomy, expected):
    coding = Categories(values=tuple("abcde"), taxonomy=taxonomy)
    assert levels(coding) == [[0, 1, 2, 3, 4], *expected]
    assert coding_from_json(coding.to_json()) == coding
    assert hash(coding_from_json(coding.to_json())) == hash(coding)


def test_whole_numbers_that_are_names_have_taxonomies_too():
    coding = coding_from_json(
        {"kind": "category", "values": [10, 20, 30], "taxonomy": [[30, 10], 20]}
    )
    assert levels(coding)[1] == [0, 1, 0]


@pytest.mark.parametrize(
    ("taxonomy", "message"),
    [
        ([["a", "x"]], "holds 'x', which is not among the values; add it"),
        ([["a", 1]], "holds 1, which is not among the values"),
        ([["a", {"b": 1}]], "which is not among the values"),
        ([["a", "b"], ["b", "c"]], "holds 'b' twice; list it once"),
        ([["a", "b"], []], "an empty group"),
        ([], "an empty group"),
        ("ab", "a taxonomy must be a list of groups.*got str"),
        (["a", "b"], "must group some of the values"),
        ([["a", "b", "c"]], "must group some of the values, and not only all"),
        ([["a"], ["b"], ["c"]], "must group some of the values"),
    ],
)
def test_a_taxonomy_that_is_none_says_what_to_do(taxonomy, message):
    with pytest.raises(ValueError, match=message):
        coding_from_json({"kind": "category", "values": ["a", "b", "c"], "taxonomy": taxonomy})


def test_a_taxonomy_is_not_nested_without_end():
    deep: list = ["a", "b"]
    for _ in range(100):
        deep = [deep]
    with pytest.raises(ValueError, match="nested more than 64 deep"):
        coding_from_json({"kind": "category", "values": ["a", "b", "c"], "taxonomy": deep})


def test_only_categories_declare_a_taxonomy():
    with pytest.raises(ValueError, match=r"cannot be described by .*taxonomy"):
        coding_from_json({"kind": "integer", "low": 0, "high": 3, "taxonomy": [[0, 1]]})


@given(
    st.recursive(st.just(None), lambda inner: st.lists(inner, min_size=1, max_size=4)), st.data()
)
def test_every_level_joins_groups_of_the_level_before(shape, data):
    count = 0

    def numbered(tree):
        nonlocal count
        if tree is None:
            count += 1
            return count - 1
        return tuple(map(numbered, tree))

    tree = numbered([[shape, None], None])
    order = data.draw(st.permutations(range(count)))
    coding = Categories(values=tuple(order), taxonomy=tree)
    assert len(coding.levels) > 1
    assert all(2 <= coarse < fine for fine, coarse in pairwise(coding.level_sizes))
    for fine, coarse in pairwise(coding.levels):
        assert len(set(zip(fine.tolist(), coarse.tolist(), strict=True))) == len(set(fine.tolist()))
        assert list(dict.fromkeys(coarse.tolist())) == list(range(max(coarse) + 1))


def test_a_long_column_of_few_texts_is_read_as_each_of_its_rows_would_be():
    texts = ["1", " 2 ", None, "", "x", "7", "2", "NA", "1.0", "1e400", "-3"]
    long = pl.Series(texts * 40, dtype=pl.String)
    codings = [
        Categories(values=(1, 2)),
        Categories(values=("1", "x", "NA"), missing="code"),
        Numbers(edges=(0, 1, 2, 4), outside="clamp"),
        Integers(low=0, high=3, bins=2),
        Booleans(),
        Dates(low=date(2000, 1, 1), high=date(2001, 1, 1), bins=4),
    ]
    for coding in codings:
        whole = coding.encode(long)
        parts = [coding.encode(long[row : row + 1]) for row in range(len(long))]
        assert whole.codes.tolist() == [part.codes[0] for part in parts]
        wrong = {row: part.faults[0].wrong for row, part in enumerate(parts) if part.faults}
        assert {r: f.wrong for f in whole.faults for r in f.rows.tolist()} == wrong


@given(
    st.integers(-(2**63), 2**63 - 1),
    st.integers(0, 2**63 - 1) | st.integers(0, 10**6),
    st.integers(1, 5000),
)
def test_bins_of_any_range_begin_where_exact_arithmetic_says(low, span, bins):
    high = min(low + span, 2**63 - 1)
    count = high - low + 1
    bins = min(bins, count)
    coding = Integers(low=low, high=high, bins=bins)
    starts = [int(start) for start in coding._starts]
    assert starts == [number * count // bins for number in range(bins)]


def test_labels_of_many_bins_are_those_of_each():
    for coding in (Numbers.equal(0.1, 0.7, 1000), Numbers.equal(-3, 9, 1, missing="code")):
        assert coding.labels[: coding.proper] == tuple(map(coding.label, range(coding.proper)))


def test_many_bins_are_declared_and_named_in_no_time():
    begun = time.process_time()
    coding = Numbers.equal(0, 1, 250_000)
    assert coding.edges[1] == 4e-06 and len(coding.labels) == 250_000
    assert Integers(low=0, high=2**24 - 1).proper == 2**24
    assert time.process_time() - begun < 4


@pytest.mark.parametrize("kind", [[], {}, 3, None, "nothing"], ids=str)
def test_a_kind_that_is_none_is_named(kind):
    with pytest.raises(ValueError, match="kind must be one of category, boolean"):
        coding_from_json({"kind": kind})


# Numbers in steps, moments, and numbers with leading zeros.


def test_numbers_in_steps_count_as_the_nearest_and_come_back_exactly():
    coding = Steps(low=-0.5, high=2, step=0.05)
    assert coding.proper == 51 and coding.landmarks == (0, 10, 50)
    found = coding.encode(pl.Series(["-0.5", "0", "0.1", "0.149", "0.15", "2"]))
    assert found.codes.tolist() == [0, 10, 12, 13, 13, 50] and not found.faults
    every = np.arange(coding.proper)
    drawn = coding.decode(every, np.random.default_rng(0))
    assert drawn.to_list() == [round(-0.5 + 0.05 * code, 2) for code in every]
    assert coding.encode(drawn).codes.tolist() == every.tolist()
    assert coding_from_json(coding.to_json()) == coding
    (fault,) = coding.encode(pl.Series([2.01, 1.0])).faults
    assert fault.rows.tolist() == [0] and "from -0.5 to 2" in fault.wrong


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ({"low": 0, "high": 1}, "low, high and decimals"),
        ({"low": 0, "high": 1, "decimals": 12}, "decimals must be 0 to 9"),
        ({"low": 1, "high": 0, "step": 1}, "low must be less than high"),
        ({"low": 0, "high": 1, "step": 0}, "step must be positive"),
        ({"low": 0, "high": 1e9, "step": 1}, "at most 16,777,216 steps"),
        ({"low": 2**60, "high": 2**60 + 2**12, "step": 0.5}, "more digits"),
    ],
)
def test_steps_that_make_no_domain_are_refused(document, reason):
    with pytest.raises(ValueError, match=reason):
        coding_from_json({"kind": "number", **document})


def test_decimals_are_steps_unless_there_are_bins():
    priced = coding_from_json({"kind": "number", "low": 0, "high": 9, "decimals": 2})
    assert priced == Steps(low=0, high=9, step=0.01)
    binned = coding_from_json({"kind": "number", "low": 0, "high": 9, "decimals": 2, "bins": 3})
    assert isinstance(binned, Numbers)


def test_moments_are_read_in_utc_and_keep_their_step():
    coding = coding_from_json(
        {
            "kind": "datetime",
            "low": "2024-01-01T00:00:00",
            "high": "2024-01-01T23:45:00",
            "step": 900,
        }
    )
    assert coding.proper == 96
    texts = ["2024-01-01T00:14:59", "2024-01-01T01:00:00+01:00", "2024-01-01 23:45:00"]
    assert coding.encode(pl.Series(texts)).codes.tolist() == [0, 0, 95]
    drawn = coding.decode(np.array([0, 95]), np.random.default_rng(0))
    assert drawn.to_list() == [datetime(2024, 1, 1), datetime(2024, 1, 1, 23, 45)]
    assert coding.label(95) == "2024-01-01T23:45:00"
    assert coding_from_json(coding.to_json()) == coding
    with pytest.raises(ValueError, match="YYYY-MM-DDTHH:MM:SS"):
        coding_from_json({"kind": "datetime", "low": "noon", "high": "2024-01-01T00:00:00"})


def test_leading_zeros_are_kept():
    coding = Integers(low=0, high=999, digits=3)
    assert coding.encode(pl.Series(["007", "7", "120"])).codes.tolist() == [7, 7, 120]
    assert coding.decode(np.array([7, 120]), np.random.default_rng(0)).to_list() == ["007", "120"]
    assert coding.label(7) == "007" and coding_from_json(coding.to_json()) == coding
    with pytest.raises(ValueError, match="digits"):
        Integers(low=0, high=1000, digits=3)
