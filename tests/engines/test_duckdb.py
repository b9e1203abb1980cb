"""DuckDB and memory give the same answers, and neither says a private value."""

import gc
import gzip
import io
import lzma
import math
import time
from datetime import date
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sfumato.engines import DataError, grammar
from sfumato.engines import duckdb as duckdb_module
from sfumato.engines.coding import Booleans, Categories, Dates, Integers, Numbers
from sfumato.engines.duckdb import take_file, take_relation
from sfumato.engines.files import TableFile
from sfumato.engines.intake import IntakeRules, Taken, take

SECRET = "canary-4711"

CODINGS = {
    "number": Numbers(edges=(-1.0, 0.0, 0.1, 0.3, 1.0), missing="code", outside="clamp"),
    "whole": Integers(low=-5, high=2**64 - 1 - 2**63, bins=4, missing="code", outside="clamp"),
    "name": Categories(values=("a", "b b", "é", "NA"), missing="code", outside="other"),
    "flag": Booleans(missing="code"),
    "day": Dates(
        low=date(2000, 1, 1), high=date(2000, 12, 31), bins=7, missing="code", outside="clamp"
    ),
}

NUMBERS = [0.0, -0.0, 0.1, 0.3, math.nan, math.inf, -math.inf, 1.0, -1.0, 0.1 + 0.2, 5e-324, None]
WHOLES = [-5, -6, 0, 2**62, 2**63 - 1, -(2**63), None]
NAMES = ["a", " a", "b b", "é", "NA", "x", "", '"', "a,b", "a\nb", "0", "\t", "'", None]

numbers, wholes, names = (st.sampled_from(values) for values in (NUMBERS, WHOLES, NAMES))
flags = st.none() | st.booleans()
days = st.none() | st.dates(date(1999, 12, 1), date(2001, 2, 1))
rows = st.lists(
    st.tuples(numbers, wholes, names, flags, days, st.sampled_from("pqrstuvw ")), max_size=60
)


def frame_of(values: list) -> pl.DataFrame:
    return pl.DataFrame(
        values,
        schema={
            "number": pl.Float64,
            "whole": pl.Int64,
            "name": pl.String,
            "flag": pl.Boolean,
            "day": pl.Date,
            "person": pl.String,
        },
        orient="row",
    ).with_columns(person=pl.col("person").str.replace(" ", "s"))


def codes(taken: Taken) -> list[list[int]]:
    return [taken.table.codes(c).tolist() for c in range(len(taken.table.sizes))]


def assert_same(one: Taken, two: Taken) -> None:
    assert codes(one) == codes(two)
    assert one.dropped == two.dropped
    pairs = [(0, 1), (2, 0), (3, 4), ()]
    coarse = [(c, coding.levels[-1]) for c, coding in enumerate(CODINGS.values())]
    for left, right in zip(
        [*one.table.marginals(pairs), *one.table.recode(coarse).marginals(pairs)],
        [*two.table.marginals(pairs), *two.table.recode(coarse).marginals(pairs)],
        strict=True,
    ):
        assert np.array_equal(left, right)


RULES = [IntakeRules(codings=CODINGS), IntakeRules(codings=CODINGS, person="person", max_rows=2)]


def assert_files_agree(folder: Path, values: list, rules: IntakeRules) -> None:
    frame = frame_of(values)
    table, text = folder / "t.parquet", folder / "t.csv"
    frame.write_parquet(table)
    frame.write_csv(text)
    direct = take({name: frame[name] for name in rules.needed}, rules)
    for path in (table, text):
        file = TableFile(path)
        memory = take(file.read(rules.needed), rules)
        assert_same(memory, take_file(file, rules))
        if path is table:
            assert_same(memory, direct)


@pytest.mark.parametrize("rules", RULES, ids=["rows", "persons"])
def test_every_nasty_value_gets_the_same_code_from_every_source(tmp_path, rules):
    length = 12 * 7 * 13
    day = [None, date(1999, 12, 31), date(2000, 1, 1), date(2000, 12, 31), date(2001, 1, 1)]
    values = [
        (
            NUMBERS[i % 12],
            WHOLES[i % 7],
            NAMES[i % 14],
            [True, False, None][i % 3],
            day[i % 5],
            f"p{i // 3}",
        )
        for i in range(length)
    ]
    assert_files_agree(tmp_path, values, rules)


@settings(
    max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(values=rows, rules=st.sampled_from(RULES))
def test_files_give_the_same_codes_in_memory_and_by_duckdb(tmp_path, values, rules):
    assert_files_agree(tmp_path, values, rules)


def test_many_chunks_keep_their_order_and_their_bound(tmp_path, monkeypatch):
    monkeypatch.setattr(duckdb_module, "CHUNK", 2048)
    generator = np.random.default_rng(2)
    size = 50_000
    frame = pl.DataFrame(
        {
            "number": generator.uniform(-1, 1, size),
            "person": generator.integers(0, 9000, size),
        }
    )
    frame.write_parquet(tmp_path / "t.parquet", row_group_size=7000)
    frame.write_csv(tmp_path / "t.csv")
    rules = IntakeRules(codings={"number": CODINGS["number"]}, person="person", max_rows=3)
    memory = take(frame.to_dict(), rules)
    assert memory.dropped > 0
    for name in ("t.parquet", "t.csv"):
        other = take_file(TableFile(tmp_path / name), rules)
        assert codes(memory) == codes(other)
        assert memory.dropped == other.dropped


def test_compressed_files_and_odd_paths(tmp_path):
    text = "number,extra\n0.2,x\n,y\n\n0.9,\n"
    folder = tmp_path / "it's [odd] *"
    folder.mkdir()
    (folder / "a.csv").write_text(text)
    with lzma.open(folder / "a.csv.xz", "wt") as file:
        file.write(text)
    with gzip.open(folder / "a.csv.gz", "wt") as file:
        file.write(text)
    rules = IntakeRules(codings={"number": CODINGS["number"]})
    for name in ("a.csv", "a.csv.xz", "a.csv.gz"):
        file = TableFile(folder / name)
        assert codes(take(file.read(["number"]), rules)) == [[2, 4, 3]]
        assert codes(take_file(file, rules)) == [[2, 4, 3]]


@pytest.mark.parametrize(
    "text",
    [
        "number\n0.2\n\n0.3\n",
        'number,x\r\n0.2,"a\r\nb"\r\n0.3,1\r\n',
        "\ufeffnumber,x\n0.2,1\n",
        "number,x,x\n0.2,1,2\n",
        'number,x\n"0.2",""\n"","b"\n"","a"\n',
        "number,x\n",
        "number,x\n0.2,1",
        '"number",x\n 0.2 ,1\n',
    ],
)
def test_odd_csv_files_are_read_alike(tmp_path, text):
    path = tmp_path / "odd.csv"
    path.write_bytes(text.encode())
    rules = IntakeRules(codings={"number": CODINGS["number"]})
    file = TableFile(path)
    assert codes(take(file.read(["number"]), rules)) == codes(take_file(file, rules))


STRAY = {
    "quote at the end": 'number,x\n0.2,1\n0.3,a"\n',
    "quote inside": 'number,x\n0.2,1\n0.3,5" pipe\n',
    "two quotes inside": 'number,x\n0.2,1\n0.3,a"b"\n',
    "text after the quotes": 'number,x\n0.2,1\n0.3,"a"b\n',
    "blank after the quotes": 'number,x\n0.2,1\n0.3,"a" \n',
    "blank before the quotes": 'number,x\n0.2,1\n0.3, "a"\n',
    "empty quotes after a blank": 'number,x\n0.2,1\n0.3, ""\n',
    "open quote": 'number,x\n0.2,1\n0.3,"a\n0.4,1\n',
    "open quote at the end": 'number,x\n0.2,1\n0.3,"',
    "only quotes": 'number,x\n0.2,1\n""\n',
    "one field too many": "number,x\n0.2,1\n0.3,1,\n",
    "one too few": "number,x\n0.2,1\n0.3\n",
    "one too few at the end": "number,x\n0.2,1\n0.3",
    "mixed line ends": "number,x\n0.2,1\n0.3,1\r\n",
    "mixed the other way": "number,x\r\n0.2,1\r\n0.3,1\n",
    "old line end": "number,x\n0.2,1\n0.3,1\r0.4,1\n",
    "return at the end": "number,x\n0.2,1\n0.3,1\r",
    "no value at all": "number,x\n0.2,1\n,\n",
    "no value in quotes": 'number,x\n0.2,1\n"",\n',
}


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
@pytest.mark.parametrize("fault", STRAY)
def test_mistakes_in_csv_files_are_refused_alike_and_by_line(tmp_path, engine, fault):
    path = tmp_path / "stray.csv"
    path.write_bytes(STRAY[fault].encode())
    rules = IntakeRules(codings={"number": CODINGS["number"]})
    file = TableFile(path)
    with pytest.raises(DataError, match="cannot be read as CSV at line 3"):
        take_file(file, rules) if engine == "duckdb" else file.read(["number"])


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.text(alphabet='a", \n\r', max_size=8) | st.text(alphabet='a",', max_size=12),
    st.sampled_from(["\n", "\r\n"]),
)
def test_whatever_is_written_both_engines_read_the_same_or_refuse(tmp_path, body, end):
    path = tmp_path / "any.csv"
    path.write_bytes(end.join(["x,y", "b,b", body]).encode())
    file = TableFile(path)
    letters = Categories(values=("a", "b", " ", '"', ","), missing="code", outside="other")
    rules = IntakeRules(codings={"x": letters, "y": letters})

    def outcome(action):
        try:
            return codes(action())
        except DataError as failure:
            return str(failure)

    assert outcome(lambda: take(file.read(["x", "y"]), rules)) == outcome(
        lambda: take_file(file, rules)
    )


def test_a_mistake_is_found_across_the_blocks_of_a_scan(monkeypatch):
    text = b'\xef\xbb\xbf"x",y\r\n"a ""quoted""\r\nword",1\r\n\r\n1,"b"'
    for block in range(1, len(text) + 1):
        monkeypatch.setattr(grammar, "BLOCK", block)
        assert grammar.first_bad_line(io.BytesIO(text), ",") is None
        assert grammar.first_bad_line(io.BytesIO(text + b"x"), ",") == 5
        assert grammar.first_bad_line(io.BytesIO(text + b'\r\n2,"b\r\n'), ",") == 6
    assert grammar.first_bad_line(io.BytesIO(b""), ",") is None


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
@pytest.mark.parametrize("packer", [gzip, lzma])
def test_a_damaged_archive_is_refused_in_words(tmp_path, engine, packer):
    path = tmp_path / f"t.csv.{'gz' if packer is gzip else 'xz'}"
    lines = "".join(f"0.{i * i}\n" for i in range(20_000))
    packed = bytearray(packer.compress(f"number\n{lines}".encode()))
    packed[len(packed) // 2 :] = b"\xff" * 40
    path.write_bytes(packed)
    rules = IntakeRules(codings={"number": CODINGS["number"]})
    file = TableFile(path)
    with pytest.raises(DataError, match="cannot be read as a CSV file"):
        take_file(file, rules) if engine == "duckdb" else file.read(["number"])


def chain(error: BaseException) -> str:
    """Everything that an exception and the ones behind it say."""
    text, seen = "", set()
    todo: list[BaseException | None] = [error]
    while todo:
        one = todo.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        text += f"{one!s} {one!r} {one.args!r}"
        todo += [one.__cause__, one.__context__]
    return text


@pytest.mark.parametrize(
    "text",
    [
        f"number\n0.1\n{SECRET}\n",
        f"number\n0.1\n{SECRET},{SECRET}\n",
        f'number\n0.1\n"{SECRET}\n',
        f"number,x,y\n0.1,1,2\n{SECRET},1\n",
        f'number,x,y\n0.1,1,2\n"0.1",1,\n{SECRET},1\n',
        f"number\n{SECRET}\xff\n",
    ],
    ids=["bad number", "too many fields", "open quote", "short row", "short too", "not UTF-8"],
)
@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_no_error_of_a_file_contains_a_value(tmp_path, text, engine):
    path = tmp_path / "bad.csv"
    path.write_bytes(text.encode("latin-1"))
    rules = IntakeRules(codings={"number": Numbers.equal(0, 1, 2)})
    file = TableFile(path)
    with pytest.raises(DataError) as caught:
        take_file(file, rules) if engine == "duckdb" else take(file.read(["number"]), rules)
    assert SECRET not in chain(caught.value)
    assert "row 2" in str(caught.value) or "line" in str(caught.value)


def test_no_error_of_a_query_contains_a_value():
    import duckdb

    query = f"SELECT CAST(x AS DOUBLE) AS number FROM (VALUES ('{SECRET}')) t(x)"
    with pytest.raises(DataError) as caught:
        take_relation(duckdb.sql(query), IntakeRules(codings={"number": Numbers.equal(0, 1, 2)}))
    assert SECRET not in chain(caught.value)


def test_a_query_has_no_first_rows_of_a_person():
    import duckdb

    rules = IntakeRules(codings={"number": CODINGS["number"]}, person="person", max_rows=1)
    with pytest.raises(ValueError, match="no fixed order"):
        take_relation(duckdb.sql("SELECT 0.1 AS number, 'ann' AS person"), rules)


def test_a_relation_gives_the_same_codes_as_its_rows():
    import duckdb

    relation = duckdb.sql(
        "SELECT * FROM (VALUES (0.1::DOUBLE, 5::HUGEINT), ('nan'::DOUBLE, NULL), (NULL, -7)) "
        "t(number, whole)"
    )
    rules = IntakeRules(codings={name: CODINGS[name] for name in ("number", "whole")})
    rows = pl.DataFrame({"number": [0.1, math.nan, None], "whole": [5, None, -7]})
    assert codes(take_relation(relation, rules)) == codes(take(rows.to_dict(), rules))


def test_a_decimal_column_is_read_alike(tmp_path):
    frame = pl.DataFrame({"number": ["0.10", "0.30", None]}).cast(pl.Decimal(10, 2))
    frame.write_parquet(tmp_path / "d.parquet")
    file = TableFile(tmp_path / "d.parquet")
    rules = IntakeRules(codings={"number": CODINGS["number"]})
    assert codes(take_file(file, rules)) == codes(take(file.read(["number"]), rules)) == [[2, 3, 4]]


def test_unsigned_numbers_beyond_63_bits_are_read_alike(tmp_path):
    top = 2**64 - 1
    frame = pl.DataFrame({"n": pl.Series([top, top - 1, 2**63], dtype=pl.UInt64)})
    frame.write_parquet(tmp_path / "u.parquet")
    frame.write_csv(tmp_path / "u.csv")
    rules = IntakeRules(codings={"n": Integers(low=2**63, high=top, bins=2**10)})
    for name in ("u.parquet", "u.csv"):
        file = TableFile(tmp_path / name)
        assert codes(take_file(file, rules)) == codes(take(file.read(["n"]), rules))


def test_times_with_a_zone_are_read_alike(tmp_path):
    times = pl.datetime_range(
        pl.datetime(2000, 1, 1), pl.datetime(2000, 1, 4), "5h", time_zone="Asia/Tokyo", eager=True
    )
    pl.DataFrame({"day": times}).write_parquet(tmp_path / "z.parquet")
    file = TableFile(tmp_path / "z.parquet")
    rules = IntakeRules(codings={"day": Dates(low=date(1999, 12, 30), high=date(2000, 1, 9))})
    assert codes(take_file(file, rules)) == codes(take(file.read(["day"]), rules))


def test_the_snapshot_outlives_the_file_and_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setattr(duckdb_module.tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    path = tmp_path / "t.csv"
    path.write_text("number,person\n0.2,ann\n0.9,ann\n")
    rules = IntakeRules(codings={"number": CODINGS["number"]}, person="person", max_rows=1)
    taken = take_file(TableFile(path), rules)
    path.unlink()
    kept = [p for p in (tmp_path / "temporary").rglob("*") if p.is_file()]
    assert [p.suffix for p in kept] == [".codes"]
    assert all(p.stat().st_mode & 0o077 == 0 or p.parent.stat().st_mode & 0o077 == 0 for p in kept)
    assert codes(taken) == [[2]]
    del taken
    gc.collect()
    assert list(Path(tmp_path / "temporary").iterdir()) == []


def wide_file(tmp_path, columns):
    place = tmp_path / f"wide{columns}.csv"
    names = ",".join(f"c{number}" for number in range(columns))
    cells = ",".join("1" for _ in range(columns))
    place.write_text(f"number,x,{names}\n" + f"0.2,1,{cells}\n" * 3)
    return TableFile(place)


@pytest.mark.parametrize("wished", ["memory", "duckdb"])
def test_time_grows_with_unused_columns_no_faster_than_they_do(tmp_path, wished):
    def seconds(columns):
        file = wide_file(tmp_path, columns)
        rules = IntakeRules(
            codings={"number": Numbers(edges=(0.0, 1.0)), "x": Integers(low=0, high=9)}
        )
        begun = time.process_time()
        rules.check_names(file.names())
        if wished == "duckdb":
            taken = take_file(file, rules)
        else:
            taken = take(file.read(rules.needed), rules)
        assert taken.table.rows == 3
        return time.process_time() - begun

    seconds(100)
    few, many = seconds(2_000), seconds(16_000)
    # Quadratic time would take 64 times as long.
    assert many < 24 * max(few, 0.1), (few, many)


def test_nothing_of_a_file_stays_on_disk_when_it_is_refused(tmp_path, monkeypatch):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    place = tmp_path / "secret.csv.xz"
    place.write_bytes(lzma.compress(b"number,x\nsecret,1\n"))
    rules = IntakeRules(codings={"number": Numbers(edges=(0.0, 1.0)), "x": Integers(low=0, high=9)})
    # The error is kept, as in a notebook, and with it everything its frames hold.
    with pytest.raises(DataError) as refusal:
        take_file(TableFile(place), rules)
    assert refusal.value.problems and list(temporary.rglob("*")) == []


def test_an_unpacked_copy_goes_when_it_was_read(tmp_path, monkeypatch):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    place = tmp_path / "good.csv.xz"
    place.write_bytes(lzma.compress(b"number,x\n0.5,1\n"))
    rules = IntakeRules(codings={"number": Numbers(edges=(0.0, 1.0)), "x": Integers(low=0, high=9)})
    taken = take_file(TableFile(place), rules)
    assert taken.table.rows == 1
    assert [file.suffix for file in temporary.rglob("*") if file.is_file()] == [".codes"] * 2
