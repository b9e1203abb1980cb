"""One value has one reading, whatever type the column around it came to have."""

from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.engines.arrow import from_arrow
from sfumato.engines.coding import Categories, Integers, Numbers
from sfumato.engines.errors import DataError
from sfumato.engines.reading import (
    NONE,
    UNREADABLE,
    UNSURE,
    Days,
    Floats,
    Names,
    Text,
    Truth,
    Wholes,
    absent,
    series_of,
    text_of,
)
from tests.data.neighbours import LENIENT

TEXTS = [
    (7, " 7"), (7.0, " 7"), (np.float32(0.5), " 0.5"), (1e-7, " 1e-07"),
    (2.0**53, " 9007199254740992.0"), (2**53, " 9007199254740992"), (True, " True"),
    (10**5000, " inf"), (-(10**5000), " -inf"), (np.bool_(False), " False"), ("7.0", "7.0"),
    (" a", " a"), (b"a", "a"), (b"\xff", UNREADABLE), (None, None), (float("nan"), None),
    (Decimal("NaN"), None), (Decimal("sNaN"), None), (Decimal("1.00"), " 1"),
    (Decimal("1E+3"), " 1000"), (Decimal("1E+999999"), " 1E+999999"),
    (np.datetime64("NaT", "D"), None), (np.datetime64("2020-01-01"), " 2020-01-01T00:00:00"),
    (np.datetime64("2020-01-01T00:00:00.123456789"), " 2020-01-01T00:00:00.123456"),
    (date(2020, 1, 1), " 2020-01-01"), (time(1, 2), " 01:02:00"),
    (np.timedelta64(3, "D"), UNREADABLE), (timedelta(1), UNREADABLE), (3 + 0j, " 3"),
    (3j, UNREADABLE), (object(), UNREADABLE), ("\ud800", UNREADABLE),
]  # fmt: skip


def test_every_value_has_one_text():
    for value, text in TEXTS:
        assert text_of(value) == text


#: Values that a column of each type may hold.
TYPED = {
    pl.Boolean: st.booleans(),
    pl.Int8: st.integers(-(2**7), 2**7 - 1),
    pl.UInt8: st.integers(0, 2**8 - 1),
    pl.Int32: st.integers(-(2**31), 2**31 - 1),
    pl.Int64: st.integers(-(2**63), 2**63 - 1) | st.integers(-9, 9),
    pl.UInt64: st.integers(0, 2**64 - 1) | st.sampled_from([2**53 + 1, 2**60]),
    pl.Float32: st.floats(width=32),
    pl.Float64: st.floats() | st.integers(-9, 9).map(float) | st.sampled_from([2.0**53, 1e18]),
    pl.Decimal(20, 4): st.decimals(-(10**6), 10**6, places=4),
    pl.Decimal(20, 0): st.integers(-(10**18), 10**18).map(Decimal),
    pl.String: st.text() | st.sampled_from(["1", "1.0", "TRUE", "2020-01-01T10:00", "nan", " a"]),
    pl.Date: st.dates(),
    pl.Datetime("ms"): st.datetimes().map(lambda d: d.replace(microsecond=0)),
    pl.Datetime("us"): st.datetimes(),
    pl.Datetime("ns"): st.datetimes(datetime(1700, 1, 1), datetime(2200, 1, 1)),
    pl.Time: st.times(),
    pl.Binary: st.binary(),
}


@pytest.mark.parametrize("kind", TYPED, ids=str)
@settings(max_examples=4, deadline=None, derandomize=True)
@given(data=st.data())
def test_the_quick_way_of_every_type_reads_what_the_text_of_each_value_says(kind, data):
    values = data.draw(st.lists(TYPED[kind] | st.none(), min_size=60, max_size=90))
    typed = pl.Series(values, dtype=kind)
    plain = series_of(typed.to_list())
    for reader in (Floats, Wholes, Days, Truth):
        quick, slow = reader.read(typed), reader.read(plain)
        for name in reader.__dataclass_fields__:
            assert np.array_equal(getattr(quick, name), getattr(slow, name)), (reader, name)
    assert np.array_equal(absent(typed), absent(plain))
    assert np.array_equal(Text.read(typed).missing, Text.read(plain).missing)
    for name, coding in LENIENT.items():
        quick, slow = coding.encode(typed), coding.encode(plain)
        assert [(f.wrong, f.rows.tolist()) for f in quick.faults] == [
            (f.wrong, f.rows.tolist()) for f in slow.faults
        ], name
        assert np.array_equal(quick.codes, slow.codes), name


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    number=st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(-1e15, 1e15, allow_nan=False),
    data=st.data(),
)
def test_a_number_is_the_same_however_it_is_stored(number, data):
    ways = [number, float(number), np.float64(number), str(number), f" {float(number)!r} "]
    ways += [f"{number:+}", np.longdouble(number), complex(number), Decimal(repr(number))]
    if float(number).is_integer():
        whole = int(number)
        ways += [whole, f"{whole}.000", f"{abs(whole):020}" if whole >= 0 else f"-{-whole:020}"]
    if number in (0, 1):
        ways += [bool(number), str(bool(number)), str(bool(number)).upper()]
    column = series_of(ways)
    assert set(Floats.read(column).values.tolist()) == {float(number)}
    assert len(set(Wholes.read(column).bits.tolist())) == 1
    assert len(set(Wholes.read(column).unreadable.tolist())) == 1
    name = data.draw(st.sampled_from([str(number), repr(float(number))]))
    assert set(Names(("a", name)).find(column)) == {1}


MOMENTS = st.datetimes(datetime(1700, 1, 1), datetime(2200, 1, 1))


@settings(max_examples=40, deadline=None, derandomize=True)
@given(moment=MOMENTS, shift=st.integers(-14 * 60, 14 * 60))
def test_a_moment_is_the_same_however_it_is_stored(moment, shift):
    zone = timezone(timedelta(minutes=shift))
    local = moment.replace(tzinfo=UTC).astimezone(zone)
    ways = [moment, np.datetime64(moment), moment.isoformat(), moment.isoformat(" ")]
    ways += [local, local.isoformat(), moment.isoformat() + "Z", moment.replace(tzinfo=UTC)]
    column = series_of(ways)
    days = (moment.date() - date(1970, 1, 1)).days
    assert set(Days.read(column).values.tolist()) == {days}
    assert set(Names((moment.isoformat(), "a")).find(column)) == {0}
    typed = [
        pl.Series([moment], dtype=pl.Datetime(unit)) for unit in ("us", "ns")
    ] + [pl.Series([local]), from_arrow(pa.array([moment], pa.timestamp("ns", "UTC")))]  # fmt: skip
    for series in typed:
        assert Names((moment.isoformat(), "a")).find(series).tolist() == [0]


@pytest.mark.parametrize(
    "text",
    [
        "2020-02-30", "2020-01-01T24:00", "2020-01-01 00:60", "2020-01-01T00:00:61", "2020-1-1",
        "0000-01-01", "10000-01-01", "2020-01-01 x", "2020-01-01T00:00+24:00",
        "0001-01-01T00:00+01:00", "9999-12-31T23:59-01:00", "٢٠٢٠-01-01",
        "2020-01-01T00:00:00.1234567890",
    ],
)  # fmt: skip
def test_text_that_is_no_moment_is_unreadable(text):
    assert Days.read(pl.Series([text])).unreadable.tolist() == [True]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_time_stamps_beyond_every_year_are_unreadable_and_raise_nothing(unit):
    ends = [-(2**63) + 1, 2**63 - 1, 0, None]
    column = from_arrow(pa.array(ends, pa.timestamp(unit)))
    found = Days.read(column)
    far = unit != "ns"
    assert found.unreadable.tolist() == [far, far, False, False]
    assert found.missing.tolist() == [False, False, False, True]
    assert Text.read(column).values.to_list()[2] == " 1970-01-01T00:00:00.000000"


def test_names_that_are_the_same_number_are_told_apart_by_exact_text_alone():
    names = Names(("1", "01", "2", "2020-01-01", "2020-01-01T00:00", str(2**60), "0" + str(2**60)))
    texts = ["1", "01", " 1", "1.0", "2.0", " 2", "2020-01-01", "2020-01-01 00:00:00"]
    found = names.find(pl.Series(texts))
    assert found.tolist() == [0, 1, UNSURE, UNSURE, 2, 2, 3, UNSURE]
    assert names.find(pl.Series([1, 2, 3])).tolist() == [UNSURE, 2, NONE]
    assert names.find(pl.Series([2**60])).tolist() == [UNSURE]
    assert names.find(series_of([1, "1", True])).tolist() == [UNSURE, 0, UNSURE]


def test_whole_numbers_beyond_doubles_are_refused_in_floating_point_only():
    names = Names((str(2**53 + 1), "a"))
    stored = series_of([2**53 + 1, 2**53, f"00{2**53 + 1}", f"{2**53 + 1}.0"])
    assert names.find(stored).tolist() == [0, NONE, 0, UNSURE]
    assert names.find(pl.Series([2.0**53, 1.0, float("inf")])).tolist() == [UNSURE, NONE, NONE]
    coding = Integers(low=2**53, high=2**53 + 5, outside="clamp")
    (fault,) = coding.encode(pl.Series([2.0**53, 5.0])).faults
    assert "floating point" in fault.wrong and fault.rows.tolist() == [0]
    # Where the domain ends before, it is outside whatever it was.
    near = Integers(low=0, high=5, outside="clamp")
    assert near.encode(pl.Series([2.0**60, -(2.0**60)])).codes.tolist() == [5, 0]


def test_a_refusal_for_want_of_exact_text_holds_whatever_is_declared_for_others():
    coding = Categories(values=("1.1", "1.10"), outside="other", missing="code")
    (fault,) = coding.encode(pl.Series([1.1, 2.0])).faults
    assert fault.rows.tolist() == [0]
    assert "Store the column as text" in fault.remedy
    assert coding.encode(pl.Series(["1.1", "1.10", "2", None])).codes.tolist() == [0, 1, 2, 3]


def test_declared_missing_values_are_the_same_number_too():
    with pytest.raises(ValueError, match="cannot be both a category and one of missing_values"):
        Categories(values=("1", "2"), missing_values=("1.0",))
    coding = Integers(low=0, high=5, missing="code", missing_values=("9", "1900-01-01"))
    found = coding.encode(series_of([9, 9.0, "09", date(1900, 1, 1), 1]))
    assert found.codes.tolist() == [6, 6, 6, 6, 1]


#: A value in each form that programs give it, and the names or missing values among which it is.
FAR = [10**20, 1e20, "1e20", "1e+20", "100000000000000000000", " 1.0E20", Decimal("1E20")]


def test_numbers_of_any_size_are_the_names_that_denote_them():
    names = Names(("1e20", "a", "-1e300"))
    assert names.find(series_of(FAR)).tolist() == [0] * len(FAR)
    assert names.find(pl.Series([1e20, 2.0, -1e300])).tolist() == [0, NONE, 2]
    assert names.find(pl.Series([10**20], dtype=pl.Int128)).tolist() == [0]
    # Beside the same number in digits, which is exact, a double may be either.
    both = Names(("1e20", str(10**20), str(2**60)))
    assert both.find(series_of(FAR)).tolist() == [UNSURE, UNSURE, 0, UNSURE, 1, UNSURE, UNSURE]
    assert both.find(pl.Series([10**20], dtype=pl.Int128)).tolist() == [UNSURE]
    assert both.find(pl.Series([2.0**60, 2.0**61])).tolist() == [UNSURE, NONE]


def test_missing_values_of_any_size_are_found_in_every_form_or_refused():
    coding = Numbers(edges=(0, 1, 1e30), missing="code", missing_values=(1e20, "1e+20", "999"))
    assert coding.encode(series_of([*FAR, 999.0, 1e17])).codes.tolist() == [2] * 8 + [1]
    # A whole number beyond 2**53 that was rounded may have been another.
    coding = Numbers(edges=(0, 1, 1e18), missing="code", missing_values=(10**16 - 1,))
    for column in ([10**16 - 1, 10**17], [str(10**16 - 1), "1e17"]):
        assert coding.encode(pl.Series(column)).codes.tolist() == [2, 1]
    assert coding.encode(pl.Series([1e17, None])).codes.tolist() == [1, 2]
    (fault,) = coding.encode(pl.Series([1e16, 5.0])).faults
    assert "floating point" in fault.wrong and fault.rows.tolist() == [0]


def test_a_number_is_never_exactly_a_name_that_begins_with_a_blank():
    names = Names(("1", " 1", " a", "a"))
    assert names.find(series_of([1, "1", " a", "a"])).tolist() == [UNSURE, 0, 2, 3]
    assert names.find(pl.Series([1])).tolist() == [UNSURE]


def test_no_category_is_written_as_a_missing_number_beside_text():
    with pytest.raises(ValueError, match="may be called 'nan'"):
        Categories(values=("nan", "x"), missing="code")
    assert Categories(values=("nan", "x")).encode(pl.Series(["nan"])).codes.tolist() == [0]


@pytest.mark.parametrize("unit", ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns"])
def test_a_time_stamp_of_any_resolution_is_its_moment_or_unreadable(unit):
    near, far = np.datetime64("2020-01-01T10:30", unit), np.datetime64(2**61 + 1, unit)
    found = Days.read(series_of([near]))
    assert found.values[0] == near.astype("M8[D]").astype(int) and not found.unreadable[0]
    # What NumPy would make of it in microseconds is some other day.
    assert Days.read(series_of([far])).unreadable[0] == (unit != "ns")


def test_a_time_of_day_keeps_the_fraction_of_its_second():
    times = [time(12), time(12, 0, 0, 1), time(12, 0, 0, 123000), None]
    texts = series_of(times).to_list()
    assert Text.read(pl.Series(times)).values.to_list() == texts
    assert Text.read(from_arrow(pa.array(times))).values.to_list() == texts


def no_text(kind):
    """Return an Arrow column of text whose bytes are no text."""
    ends = np.array([0, 1], dtype=np.int32).tobytes()
    column = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(ends), pa.py_buffer(b"\xff")]
    )
    if kind == "dictionary":
        return pa.DictionaryArray.from_arrays(pa.array([0]), column)
    return pa.ListArray.from_arrays(pa.array([0, 1]), column) if kind == "list" else column


@pytest.mark.parametrize("kind", ["plain", "dictionary", "list"])
def test_arrow_text_that_is_none_is_refused_and_reaches_no_library_that_trusts_it(kind):
    with pytest.raises(DataError, match="bytes that are not UTF-8"):
        from_arrow(no_text(kind))


DICTIONARIES = [
    pa.array([Decimal("1.5"), None], pa.decimal256(60, 2)),
    pa.array([2**61 + 1, None], pa.timestamp("s")),
    pa.array([1, None]),
    pa.array([b"1", None]),
    pa.array([True, None]),
    pa.array([], pa.float32()),
]


@pytest.mark.parametrize("values", DICTIONARIES, ids=lambda values: str(values.type))
def test_entries_of_an_arrow_dictionary_are_read_as_they_are_outside_one(values):
    entries = values.dictionary_encode()
    for column in (entries, pa.chunked_array([entries, entries.slice(1)])):
        plain = pa.chunked_array([values, *([values.slice(1)] if column is not entries else [])])
        found = Text.read(from_arrow(column)).values.to_list()
        assert found == Text.read(from_arrow(plain)).values.to_list()


def test_long_decimals_within_lists_are_unreadable_and_panic_nowhere():
    column = pa.array([[Decimal("1.5")], None], pa.list_(pa.decimal256(60, 2)))
    assert from_arrow(column).to_list() == [UNREADABLE, None]
