import gzip
import json
import lzma
import pickle

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato import noise
from sfumato.audit.neighbours import canonical_pairs, random_pair
from sfumato.data.public import Public
from sfumato.data.sequences import SequencesPublic

KEY = bytes(range(32))


def listed(data) -> list[list]:
    """Return sequences as lists of symbols."""
    engine = data.counts
    parts = np.split(engine.text, engine.starts[1:-1])
    return [list(data.public.labels(part[1:-1])) for part in parts] if engine.rows else []


LISTS = [["a", "b"], [], ["b"]]


@pytest.mark.parametrize(
    "given",
    [
        LISTS,
        tuple(map(tuple, LISTS)),
        ["ab", "", "b"],
        [["a", "b"], "", ("b",)],
        np.array(["ab", "", "b"]),
        np.array([["a", "b"], [], ["b"]], dtype=object),
        [np.array(["a", "b"]), np.array([]), pl.Series(["b"])],
        pl.Series(LISTS),
        pl.Series(["ab", "", "b"]),
        pl.Series(["ab", "", "b"], dtype=pl.Categorical),
        pl.Series(LISTS, dtype=pl.List(pl.Categorical)),
        (s for s in LISTS),
    ],
)
def test_lists_texts_arrays_and_columns_are_the_same_sequences(given):
    data = sf.Sequences(given, ["a", "b"])
    assert listed(data) == LISTS
    assert data.public.alphabet == ("a", "b")


def test_pandas_and_pyarrow_columns():
    pa = pytest.importorskip("pyarrow")
    pd = pytest.importorskip("pandas")
    array = pa.array(LISTS)
    frame = pd.DataFrame({"s": LISTS})
    columns = [
        array,
        pa.chunked_array([array]),
        pa.array(LISTS, type=pa.large_list(pa.large_string())),
        frame["s"],
        pd.Series(array, dtype=pd.ArrowDtype(array.type)),
        pd.Series(["ab", "", "b"]),
    ]
    for column in columns:
        assert listed(sf.Sequences(column, "ab")) == LISTS


@pytest.mark.parametrize(
    "given",
    [
        [[3, -7], [10**15], [3, 3]],
        pl.Series([[3, -7], [10**15], [3, 3]]),
        [np.array([3, -7]), np.array([10**15]), np.array([3, 3], dtype=np.uint64)],
        [[np.int64(3), -7], range(10**15, 10**15 + 1), [3, np.uint8(3)]],
    ],
)
def test_whole_numbers_stay_whole_numbers(given):
    data = sf.Sequences(given, [3, -7, 10**15])
    assert listed(data) == [[3, -7], [10**15], [3, 3]]
    assert data.public.code(-7) == 1
    assert data.public.label(2) == 10**15


def test_an_array_has_one_sequence_a_row():
    assert listed(sf.Sequences(np.array([[1, 2], [2, 2]]), [1, 2])) == [[1, 2], [2, 2]]
    assert listed(sf.Sequences(np.zeros((3, 0), dtype=int), [1])) == [[], [], []]
    assert listed(sf.Sequences(np.array([["x", "y"]]), ["x", "y"])) == [["x", "y"]]
    assert listed(sf.Sequences([], "ab")) == []
    assert listed(sf.Sequences(pl.Series([], dtype=pl.List(pl.Int8)), [1])) == []


BIG = 2**63


@pytest.mark.parametrize(
    ("given", "alphabet", "words"),
    [
        ([["a"], ["a", "z"], ["z", "z"]], "ab", "row 2 and 1 more: .* not in the alphabet"),
        (["ab", "azq"], "ab", "row 2: .* not in the alphabet"),
        (["a\ud800"], "ab", "row 1: .* not in the alphabet"),
        (pl.Series([["a"], ["secret"]]), "ab", "row 2: .* not in the alphabet"),
        ([[1], [10**40]], [1], "row 2: .* not in the alphabet"),
        (pl.Series([[1, BIG]], dtype=pl.List(pl.UInt64)), [1, -5], "not in the alphabet"),
        (np.array([[BIG]], dtype=np.uint64), [-BIG], "not in the alphabet"),
        ([[1], [None]], [1], "row 2: .* missing value"),
        ([["a"], [float("nan")]], "a", "row 2: .* missing value"),
        (pl.Series([["a", None]]), "a", "row 1: .* missing value"),
        (pl.Series([[1, None]]), [0, 1], "row 1: .* missing value"),
        ([[1], [[1]]], [1], "row 2: .* list where a symbol"),
        (pl.Series([[[1]]]), [1], "list where a symbol"),
        ([[np.array([1])]], [1], "list where a symbol"),
        ([["1"]], [1], "not of the alphabet's type, whole numbers"),
        ([[1]], ["1"], "not of the alphabet's type, text"),
        (pl.Series([["1"]]), [1], "not of the alphabet's type"),
        (pl.Series([[1]]), ["1"], "not of the alphabet's type"),
        ([[True]], [1], "not of the alphabet's type"),
        (pl.Series([[True]]), [1], "not of the alphabet's type"),
        ([[1.0]], [1], "not of the alphabet's type"),
        (np.array([[1.0]]), [1], "not of the alphabet's type"),
        (np.array([[1]]), ["1"], "not of the alphabet's type"),
        ([[b"a"]], "a", "not of the alphabet's type"),
        ([["a"], None], "a", "row 2: the sequence is missing"),
        (pl.Series([["a"], None]), "a", "row 2: the sequence is missing"),
        ([["a"], float("nan")], "a", "row 2: the sequence is missing"),
        ([1, 2], [1, 2], "row 1 and 1 more: a sequence must be a list; this is a single value"),
        (np.array([1, 2]), [1, 2], "this is a single value"),
        (pl.Series([1, 2]), [1, 2], "this is a single value"),
        ([{"a": 1}], "a", "this is a single value"),
        ([b"a"], "a", "this is a single value"),
        ([np.zeros((2, 2), dtype=int)], [0], "this is a single value"),
        (["one two"], ["one", "two"], "only if every symbol of the alphabet is one character"),
        (["1"], [1], "only if every symbol of the alphabet is one character"),
        ("abba", "ab", "one text or a path"),
        (pl.DataFrame({"s": [["a"]]}), "a", "one column of lists"),
        (pl.LazyFrame({"s": [["a"]]}), "a", "one column of lists"),
        ({"a": 1}, "a", "list of lists"),
        ({"a"}, "a", "list of lists"),
        (7, [7], "list of lists"),
        (np.zeros((2, 2, 2), dtype=int), [0], "2 axes; got 3"),
    ],
)
def test_what_cannot_be_read_is_named_by_its_number_and_never_by_its_value(given, alphabet, words):
    with pytest.raises(sf.DataError, match=words) as caught:
        sf.Sequences(given, alphabet)
    for value in ("secret", "'z'", "9223372036854775808", "e+"):
        assert value not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


ATOMS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary()
    | st.dates()
    | st.sampled_from(
        [np.nan, np.int8(1), np.str_("a"), np.datetime64("NaT", "D"), np.array(1), object]
    )
)
THINGS = st.recursive(
    ATOMS,
    lambda inner: (
        st.lists(inner)
        | st.tuples(inner)
        | st.dictionaries(st.text(), inner)
        | st.sets(st.integers())
    ),
    max_leaves=12,
)


@settings(deadline=None)
@given(THINGS, st.sampled_from(["ab", ["one", "two"], [0, 1]]))
def test_whatever_is_given_is_read_or_refused_with_a_data_error(given, alphabet):
    try:
        data = sf.Sequences(given, alphabet)
    except sf.DataError as refused:
        assert refused.problems  # noqa: PT017
    else:
        assert len(listed(data)) == data.counts.rows


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.binary(max_size=40) | st.text("ab ,\n\r\t\x00é", max_size=40).map(str.encode),
    st.sampled_from([None, ",", "a"]),
    st.integers(0, 2),
    st.booleans(),
)
def test_whatever_a_file_holds_is_read_as_its_lines_say(tmp_path, text, separator, skip, leading):
    path = tmp_path / "s"
    path.write_bytes(text)
    whose = {"unit": "person", "person": "first", "max_sequences": 99} if leading else {}
    try:
        data = sf.read_sequences(path, "bé", separator=separator, skip_lines=skip, **whose)
    except sf.DataError:
        return
    lines = text.removeprefix(b"\xef\xbb\xbf").decode().split("\n")[skip:]
    lines = lines[:-1] if lines[-1] == "" else lines
    fields = [
        [f.strip(" \t") for f in line.strip(" \t\r").split(separator)] if line.strip() else []
        for line in lines
    ]
    assert listed(data) == [line[1:] if leading else line for line in fields]


def test_all_problems_are_collected():
    with pytest.raises(sf.DataError) as caught:
        sf.Sequences([["a", "q"], None, [["a"]], ["q", None]], "ab")
    assert [(p.row, p.more) for p in caught.value.problems] == [(1, 1), (2, 0), (3, 0), (4, 0)]


@pytest.mark.parametrize(
    ("alphabet", "words"),
    [
        ([], "1 to"),
        ("", "1 to"),
        (["a", "b", "a"], "'a' is listed twice"),
        ([1, "1"], "all text or all whole numbers"),
        ([True], "got bool"),
        ([1.5], "got float"),
        ([None], "got NoneType"),
        ([["a"]], "got list"),
        ([""], "must be text that is not empty"),
        (["a\n"], "no line break"),
        (["\ud800"], "UTF-8"),
        ([2**63], "64 bits"),
        ({"a", "b"}, "fixed order"),
        ({"a": 1}, "fixed order"),
        (3, "fixed order"),
        (None, "fixed order"),
    ],
)
def test_an_alphabet_that_is_none_is_refused(alphabet, words):
    with pytest.raises(ValueError, match=words):
        sf.Sequences([], alphabet)


def test_alphabets_of_arrays_columns_and_ranges():
    for alphabet in (np.array([1, 2]), range(1, 3), pl.Series([1, 2]), (1, 2)):
        assert sf.Sequences([[1, 2]], alphabet).public.alphabet == (1, 2)


# Persons


def test_the_first_sequences_of_each_person_are_kept_in_order():
    given = ["a", "b", "aa", "bb", "ab"]
    whose = ["x", "y", " x ", "x", "y"]
    for person in (whose, np.array(whose), pl.Series(whose)):
        data = sf.Sequences(given, "ab", unit="person", person=person, max_sequences=2)
        assert listed(data) == [["a"], ["b"], ["a", "a"], ["a", "b"]]
        assert data.dropped_sequences == 1
    assert data.public.contribution == 2
    assert "which sequences belong to one person" in " ".join(data.public.assumptions())
    none = sf.Sequences([], "ab", unit="person", person=[], max_sequences=2)
    assert none.counts.rows == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"unit": "person"}, "needs person"),
        ({"unit": "person", "person": [1, 2]}, "needs person"),
        ({"person": [1, 2], "max_sequences": 1}, 'need unit = "person"'),
        ({"unit": "person", "person": [1, 2], "max_sequences": 0}, "from 1"),
        ({"unit": "person", "person": [1, 2], "max_sequences": 1.5}, "from 1"),
        ({"unit": "person", "person": [1], "max_sequences": 1}, "one identifier per sequence"),
        (
            {"unit": "person", "person": [1, None], "max_sequences": 1},
            "has no identifier of its person",
        ),
        ({"unit": "person", "person": "xy", "max_sequences": 1}, "list of identifiers"),
        (
            {"unit": "person", "person": [1, 2], "max_sequences": 2, "relation": "replace_one"},
            "public only if each unit has one",
        ),
        ({"unit": "row"}, "sequence or person"),
        ({"unit": "flock"}, "must be one of"),
        ({"relation": "near"}, "must be one of"),
        ({"rows_about": -1}, "rows_about"),
        ({"rows_about": 1.5}, "rows_about"),
    ],
)
def test_declarations_that_do_not_fit_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        sf.Sequences(["a", "b"], "ab", **options)


# Files


def written(tmp_path, name, text) -> str:
    path = tmp_path / name
    data = text if isinstance(text, bytes) else text.encode()
    pack = {".gz": gzip.compress, ".xz": lzma.compress}.get(path.suffix, bytes)
    path.write_bytes(pack(data))
    return str(path)


@pytest.mark.parametrize("name", ["s.txt", "s.seq.gz", "s.seq.xz"])
@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("one two\n\ntwo\n", {}),
        ("one two\n\ntwo", {}),
        ("  one \t two  \n \t \ntwo \n", {}),
        ("one two\r\n\r\ntwo\r\n", {}),
        (b"\xef\xbb\xbfone two\n\ntwo\n", {}),
        ("% head\n\none two\n\ntwo\n", {"skip_lines": 2}),
        ("one,two\n\ntwo\n", {"separator": ","}),
        ("one , two\r\n\t\r\ntwo\r\n", {"separator": ","}),
        ("one\ttwo\n\ntwo\n", {"separator": "\t"}),
    ],
)
def test_a_file_has_one_sequence_a_line(tmp_path, name, text, options):
    data = sf.read_sequences(written(tmp_path, name, text), ["one", "two"], **options)
    assert listed(data) == [["one", "two"], [], ["two"]]


def test_symbols_of_files_may_be_numbers_and_any_text(tmp_path):
    path = written(tmp_path, "s", "-1 12\n12")
    assert listed(sf.read_sequences(path, [12, -1])) == [[-1, 12], [12]]
    path = written(tmp_path, "t", "été|on air|x\non air")
    data = sf.read_sequences(path, ["on air", "x", "été"], separator="|")
    assert listed(data) == [["été", "on air", "x"], ["on air"]]
    many = [f"page-{number}" for number in range(3000)]
    data = sf.read_sequences(written(tmp_path, "u", " ".join(many)), many)
    assert listed(data) == [many]


def test_the_first_field_of_a_line_may_name_the_person(tmp_path):
    path = written(tmp_path, "s", "kim a b\nkim\njo b\nkim a a\n")
    data = sf.read_sequences(path, "ab", unit="person", person="first", max_sequences=2)
    assert listed(data) == [["a", "b"], [], ["b"]]
    assert data.dropped_sequences == 1
    with pytest.raises(sf.DataError, match="line 2: the line has no identifier of its person"):
        sf.read_sequences(
            written(tmp_path, "t", "kim a\n\n"),
            "ab",
            unit="person",
            person="first",
            max_sequences=1,
        )
    again = sf.read_sequences(
        written(tmp_path, "u", "a b\n\nb\na a\n"),
        "ab",
        unit="person",
        person=["kim", "kim", "jo", "kim"],
        max_sequences=2,
    )
    assert listed(again) == listed(data)


def test_lines_that_all_begin_with_a_symbol_name_nobody(tmp_path):
    options = {"unit": "person", "person": "first", "max_sequences": 2}
    with pytest.raises(sf.DataError, match=r"every line .* begins with a symbol.* identifier"):
        sf.read_sequences(written(tmp_path, "s", "a b\nb\na a\n"), "ab", **options)
    data = sf.read_sequences(written(tmp_path, "t", "a b\nkim\na a\n"), "ab", **options)
    assert listed(data) == [["b"], [], ["a"]]


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("a\nz\n", {}, "only if it is public knowledge. Check --separator, --skip-lines"),
        ("head\na\nb secret\nsecret\n", {"skip_lines": 1}, "line 3 and 1 more: .* alphabet"),
        ("a b\n01\n", {}, "line 2: .* not in the alphabet"),
        ("a,,b\na\n", {"separator": ","}, "line 1: a symbol is empty"),
        ("a\nb,\n", {"separator": ","}, "line 2: a symbol is empty"),
        (",,,,,,,,\n", {"separator": ","}, "line 1: a symbol is empty"),
        ("a,b\n", {}, "not in the alphabet"),
        (b"a\n\xffsecret\n", {}, "line 2 of .* is not text in UTF-8"),
        ("a\rb\n", {}, "LF or CRLF"),
        ("", {}, "is empty"),
        ("a\nb\n", {"skip_lines": 9}, "skip_lines = 9"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_by_its_line(tmp_path, text, options, words):
    path = written(tmp_path, "s.seq", text)
    with pytest.raises(sf.DataError, match=words) as caught:
        sf.read_sequences(path, "ab", **options)
    assert "secret" not in str(caught.value)
    assert caught.value.__context__ is None


def test_a_file_that_is_not_what_its_name_says_is_refused(tmp_path):
    for name in ("s.gz", "s.xz"):
        path = tmp_path / name
        path.write_bytes(b"secret a b\n")
        with pytest.raises(sf.DataError, match="cannot be unpacked"):
            sf.read_sequences(path, "ab")
    with pytest.raises(FileNotFoundError, match="no file"):
        sf.read_sequences(tmp_path / "absent", "ab")
    path = written(tmp_path, "s", "a\n")
    for separator in ("", ",,", " ", "é", "\n"):
        with pytest.raises(ValueError, match="separator"):
            sf.read_sequences(path, "ab", separator=separator)
    with pytest.raises(ValueError, match="'on air' cannot occur"):
        sf.read_sequences(path, ["on air"])
    with pytest.raises(ValueError, match="skip_lines"):
        sf.read_sequences(path, "ab", skip_lines=-1)


def test_a_file_of_nothing_but_its_head_has_no_sequences(tmp_path):
    assert sf.read_sequences(written(tmp_path, "s", "head\n"), "ab", skip_lines=1).counts.rows == 0


# The private object and its public part


def test_only_public_facts_are_shown():
    data = sf.Sequences(["ab", "b"] * 7, "ab")
    assert repr(data) == "Sequences(2 symbols, unit='sequence', relation='add_remove')"
    assert data.public.rows is None
    counted = sf.Sequences(["ab", "b"] * 7, "ab", relation="replace_one", rows_about=10)
    assert counted.public.rows == 14
    assert "rows=14" in repr(counted)
    assert "the number of records" in counted.public.assumptions()


def test_sequences_do_not_change_and_are_not_pickled():
    data = sf.Sequences(["ab"], "ab")
    with pytest.raises(AttributeError, match="cannot be changed"):
        data._public = None
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(data)


def test_the_public_part_is_written_and_read_back():
    for data in (
        sf.Sequences([[3]], [3, 5], relation="replace_one", rows_about=5),
        sf.Sequences(["é"], "é", unit="person", person=[1], max_sequences=4),
    ):
        document = json.loads(json.dumps(data.public.to_json()))
        assert Public.from_json(document) == data.public


def test_strings_of_symbols_and_of_codes():
    public = sf.Sequences([], ["one", "two"]).public
    assert public.symbols == 2
    assert public.codes(["two", "one"]) == (1, 0)
    assert public.labels((1, 0)) == ("two", "one")
    with pytest.raises(ValueError, match="list of symbols"):
        public.codes("one")
    with pytest.raises(ValueError, match="'three' is not in the alphabet"):
        public.code("three")
    with pytest.raises(ValueError, match="0 to 1"):
        public.label(2)
    assert sf.Sequences([], "ab").public.codes("ba") == (1, 0)
    assert sf.Sequences([], [5, 6]).public.code(np.int64(6)) == 1
    with pytest.raises(ValueError, match="not in the alphabet"):
        sf.Sequences([], [0, 1]).public.code(True)


def test_a_digest_depends_on_the_key_the_order_and_where_sequences_end():
    def digest(sequences, key=KEY, alphabet="ab", **options):
        return sf.Sequences(sequences, alphabet, **options).digest(key)

    base = digest(["ab", "b"])
    assert base == digest([["a", "b"], ["b"]]) == digest(["ab", "b"], rows_about=7)
    others = [
        digest(["ab", "b"], key=bytes(32)),
        digest(["b", "ab"]),
        digest(["a", "bb"]),
        digest(["ab", "b", ""]),
        digest(["ab", "b"], alphabet="abc"),
        digest(["ab", "b"], relation="replace_one"),
    ]
    assert len({base, *others}) == 7
    with pytest.raises(ValueError, match="16 bytes"):
        digest([], key=b"short")


def test_made_up_sequences_have_the_declared_symbols_and_a_public_mean_length():
    for relation in ("add_remove", "replace_one"):
        public = sf.Sequences(["ab"], "abc", relation=relation).public
        data = public.make_synthetic(20_000, noise.generator(1))
        assert data.public == public
        symbols = np.bincount(data.counts.text, minlength=5)
        assert data.counts.rows == symbols[3] == symbols[4] == 20_000
        # Seven standard errors of the mean of 20,000 geometric lengths with variance 30.
        assert abs(symbols[:3].sum() / 20_000 - 5) < 0.28
        assert public.make_synthetic(0, noise.generator(1)).counts.rows == 0
    with pytest.raises(ValueError, match="negative"):
        public.make_synthetic(-1, noise.generator(1))


# Neighbours


def publics() -> list[SequencesPublic]:
    one = {"unit": "person", "person": [1]}
    return [
        sf.Sequences(["a"], "abc").public,
        sf.Sequences(["a"], "a").public,
        sf.Sequences(["a"], "abc", relation="replace_one").public,
        sf.Sequences(["a"], "abc", max_sequences=3, **one).public,
        sf.Sequences(["a"], "abc", max_sequences=1, relation="replace_one", **one).public,
    ]


@pytest.mark.parametrize("public", publics(), ids=lambda p: f"{p.relation}-{p.contribution}")
def test_neighbouring_sequences_differ_in_one_unit(public):
    generator = noise.generator(2)
    pairs = [*canonical_pairs(public), *(random_pair(public, generator) for _ in range(20))]
    for pair in pairs:
        here, there = (sorted(listed(side)) for side in (pair.here, pair.there))
        shared = list(there)
        gone = [s for s in here if not (s in shared and shared.remove(s) is None)]
        if public.relation == "replace_one":
            assert len(gone) == len(shared) <= 1
            assert pair.here.public == pair.there.public
        else:
            assert not gone
            assert 1 <= len(shared) <= public.contribution
    moved = [
        abs(len(p.here.counts.text) - len(p.there.counts.text)) for p in canonical_pairs(public)
    ]
    assert max(moved) >= 39 * public.contribution


@pytest.mark.parametrize("kind", [np.uint64, np.int32, np.uint8, object])
def test_arrays_of_different_types_are_read_one_by_one(kind):
    """One more sequence, of whatever type, leaves the others as they are."""
    alphabet = [1, 2**53, 2**53 + 1]
    here = [np.array([2**53 + 1] * 2)] * 3
    other = np.array([1 if np.dtype(kind).itemsize < 8 else 2**53], dtype=kind)
    counts = [
        sf.Sequences(given, alphabet).counts.ngrams([[0], [1], [2]])
        for given in (here, [*here, other])
    ]
    assert counts[0].tolist() == [0, 0, 6]
    assert (counts[1] - counts[0]).tolist() in ([1, 0, 0], [0, 1, 0])
