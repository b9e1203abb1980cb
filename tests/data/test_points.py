"""Points take any array or frame, show nothing private, and bound what one person can change."""

import copy
import pickle
from dataclasses import replace
from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato import noise
from sfumato.audit import canonical_pairs
from sfumato.audit.neighbours import random_pair
from sfumato.data import DataError, Public
from sfumato.data.points import Points, PointsPublic, read_points
from sfumato.engines import duckdb as duckdb_module
from sfumato.engines import point_intake

UNIT = [(0.0, 1.0), (0.0, 1.0)]
SECRET = 0.471147114711
KEY = b"k" * 32


def keys(points: Points) -> list[int]:
    return points.counts.keys.tolist()


def places(points: Points) -> list[list[float]]:
    """Return the lower edges of the smallest cells of all points, sorted."""
    splits = len(points.public.axes)
    return sorted(points.public.boxes(points.counts.keys, splits)[:, :, 0].tolist())


# What is taken, and where it is put.


def test_points_lie_in_half_open_cells_and_the_upper_bound_belongs_to_the_last():
    values = [[0, 0], [0.5, 0.5], [np.nextafter(0.5, 0), 0.5], [1, 1], [1, 0]]
    counts = Points(values, UNIT).counts
    assert counts.cells(np.arange(4), 2).tolist() == [1, 1, 1, 2]
    assert counts.histogram((2, 2)).tolist() == [[1, 1], [1, 2]]
    assert counts.rows == 5


@settings(deadline=None, max_examples=50)
@given(st.integers(1, 8), st.integers(0, 30), st.data())
def test_every_point_lies_in_the_box_of_its_own_cell(dimensions, rows, data):
    low = st.floats(-1e6, 1e6)
    bounds = []
    for _ in range(dimensions):
        start = data.draw(low)
        bounds.append((start, start + data.draw(st.floats(1.0, 1e9))))
    generator = np.random.default_rng(data.draw(st.integers(0, 99)))
    edges = np.array(bounds)
    share = generator.choice([0.0, 1.0, 0.5, 0.25, 0.7123, 0.1], (rows, dimensions))
    values = np.clip(edges[:, 0] + share * (edges[:, 1] - edges[:, 0]), edges[:, 0], edges[:, 1])
    points = Points(values, bounds)
    length = data.draw(st.integers(0, len(points.public.axes)))
    for value in values:
        key = np.array(keys(Points([value], bounds)), dtype=np.uint64)
        splits = len(points.public.axes)
        prefix = key >> np.uint64(splits - length) if length else key * np.uint64(0)
        box = points.public.boxes(prefix, length)[0]
        # The doubles nearest to the edges of a cell may be off by the rounding of one product.
        near = 4 * np.spacing(np.abs(edges).max(axis=1))
        assert (value >= box[:, 0] - near).all()
        assert (value <= box[:, 1] + near).all()
        assert points.counts.cells(prefix, length)[0] >= 1


@pytest.mark.parametrize("dimensions", [1, 2, 3, 8, 16])
def test_the_boxes_of_a_level_tile_the_bounds(dimensions):
    public = Points(np.zeros((0, dimensions)), [(-2.0, 3.0)] * dimensions).public
    length = min(10, len(public.axes))
    boxes = public.boxes(np.arange(2**length), length)
    volumes = (boxes[:, :, 1] - boxes[:, :, 0]).prod(axis=1)
    assert volumes.sum() == pytest.approx(5.0**dimensions)
    assert (volumes > 0).all()
    assert boxes[:, :, 0].min() == -2.0
    assert boxes[:, :, 1].max() == 3.0
    whole = public.boxes(np.array([0]), 0)[0].tolist()
    assert whole == [[-2.0, 3.0]] * dimensions


def test_the_smallest_cells_have_a_volume_wherever_the_bounds_lie():
    for bounds in (
        [(1.7e9, 1.7e9 + 60.0)],
        [(0.0, 1e-310)],
        [(-8e307, 8e307)],
        [(1e15, 1e15 + 999)],
    ):
        public = Points([], bounds).public
        last = np.array([2 ** len(public.axes) - 1, 0], dtype=np.uint64)
        boxes = public.boxes(last, len(public.axes))
        assert (boxes[:, :, 1] > boxes[:, :, 0]).all()
        assert 8 <= public.bits <= 32


def sources():
    data = {"x": [0.25, 0.5, 1.0], "other": ["a", "b", "c"], "y": [0.0, 0.75, 1.0]}
    polars = pl.DataFrame(data)
    yield "polars", polars
    yield "lazy", polars.lazy()
    yield "pandas", pd.DataFrame(data)
    yield "arrow", pa.table(data)
    yield "strings", polars.with_columns(pl.all().cast(pl.String))
    yield "decimals", pd.DataFrame({**data, "x": [Decimal("0.25"), 0.5, "1"]}, dtype=object)
    yield "floats", pd.DataFrame(data).astype({"x": np.float32, "y": np.float16})


@pytest.mark.parametrize("source", [s for _, s in sources()], ids=[n for n, _ in sources()])
def test_every_frame_gives_the_same_points(source):
    expected = Points([[0.25, 0.0], [0.5, 0.75], [1.0, 1.0]], UNIT)
    assert keys(Points(source, UNIT, names=["x", "y"])) == keys(expected)


def test_a_relation_of_duckdb_is_streamed():
    duckdb = pytest.importorskip("duckdb")
    relation = duckdb.sql("SELECT i / 7.0 AS x, i / 14.0 AS y FROM range(8) t(i)")
    expected = Points([[i / 7, i / 14] for i in range(8)], UNIT)
    assert keys(Points(relation, UNIT)) == keys(expected)


@pytest.mark.parametrize(
    "values",
    [
        np.array([[0, 1], [1, 1]]),
        np.array([[0, 1], [1, 1]], dtype=np.uint8),
        np.array([[False, True], [True, True]]),
        np.array([[0, 1], [1, 1]], dtype=np.float16),
        np.array([[0, 1], [1, 1]], dtype=np.longdouble),
        np.array([["0", "1.0"], ["1e0", " 1"]]),
        np.array([["0", 1], [1.0, Decimal(1)]], dtype=object),
        np.asfortranarray([[0.0, 1.0], [1.0, 1.0]]),
        np.array([[0.0, 9.0, 1.0], [1.0, 9.0, 1.0]])[:, ::2],
        np.ma.masked_array([[0.0, 1.0], [1.0, 1.0]]),
        [(0, 1), (1, 1)],
        ((0, 1), [1, 1]),
    ],
)
def test_every_array_gives_the_same_points(values):
    assert places(Points(values, UNIT)) == places(Points([[0.0, 1.0], [1.0, 1.0]], UNIT))


def test_no_points_and_one_axis():
    for nothing in ([], np.zeros((0, 2)), np.zeros(0), pl.DataFrame({"x": [], "y": []})):
        points = Points(nothing, UNIT)
        assert points.counts.rows == 0
        assert points.counts.cells(np.arange(4), 2).tolist() == [0] * 4
        assert points.counts.histogram((3, 5)).sum() == 0
    line = Points([0.0, 0.3, 1.0], [(0, 1)])
    assert line.public.bits == 32
    assert line.counts.cells(np.arange(4), 2).tolist() == [1, 1, 0, 1]


# What is refused, by row and never by value.


def mistakes():
    good = [0.5, 0.5]
    yield "nan", [good, [np.nan, 0.5]], "missing"
    yield "none", [good, [None, 0.5]], "missing"
    yield "masked", np.ma.masked_array([good, good], [[0, 0], [1, 0]]), "missing"
    yield "text", [good, ["high", 0.5]], "not a number"
    yield "complex", [good, [0.5j, 0.5]], "not a number"
    yield "null", pl.DataFrame({"x": [0.5, None], "y": good}), "missing"
    yield "dates", pl.DataFrame({"x": [date(2020, 1, 1)] * 2, "y": good}), "not a number"
    yield "infinite", [good, [np.inf, 0.5]], "outside the bounds"
    yield "minus infinite", [good, [-np.inf, 0.5]], "outside the bounds"
    yield "huge", [good, [10**400, 0.5]], "outside the bounds"
    yield "huge integer", np.array([[0, 0], [2**62, 0]]), "outside the bounds"
    yield "above", [good, [1 + SECRET, 0.5]], "outside the bounds"
    yield "below", [good, [-SECRET, 0.5]], "outside the bounds"


@pytest.mark.parametrize(("_", "values", "words"), list(mistakes()))
def test_a_value_without_a_place_is_named_by_axis_and_row(_, values, words):
    with pytest.raises(DataError, match=words) as caught:
        Points(values, UNIT)
    problem = next(p for p in caught.value.problems if words in p.wrong)
    assert problem.field == "x"
    assert problem.row in (1, 2)
    assert "4711" not in str(caught.value)
    assert "high" not in str(caught.value)
    assert "0000" not in str(caught.value)


def test_all_mistakes_are_counted():
    values = np.full((50, 2), 0.5)
    values[[3, 7, 9], 0] = 2.0
    values[4, 1] = np.nan
    with pytest.raises(DataError) as caught:
        Points(values, UNIT)
    found = {(p.field, p.row, p.more) for p in caught.value.problems}
    assert found == {("x", 4, 2), ("y", 5, 0)}


@pytest.mark.parametrize(
    "values",
    [
        np.zeros((3, 3)),
        np.zeros((3, 1)),
        np.zeros(3),
        np.zeros((2, 2, 2)),
        np.array(0.5),
        np.zeros((0, 3)),
        [[0.1, 0.2], [0.3]],
        np.zeros((2, 2), dtype=[("a", float)]),
    ],
)
def test_arrays_of_another_shape_are_refused(values):
    with pytest.raises(DataError):
        Points(values, UNIT)


@pytest.mark.parametrize("values", [5, None, {"x": [1]}, object()])
def test_what_is_no_data_is_refused(values):
    with pytest.raises(TypeError, match="array of shape"):
        Points(values, UNIT)


def test_a_path_is_refused_with_the_right_function():
    with pytest.raises(DataError, match="read_points"):
        Points("points.csv", UNIT)


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        ([], "1 to 16 axes"),
        ([(0, 1)] * 17, "1 to 16 axes"),
        ([(0, 0)], "less than the upper"),
        ([(1, 0)], "less than the upper"),
        ([(0, np.inf)], "finite"),
        ([(np.nan, 1)], "finite"),
        ([(-1.7e308, 1.7e308)], "distance"),
        ([(0, 10**400)], "finite"),
        ([(0, 1, 2)], "pair of numbers"),
        ([("0", "1")], "pair of numbers"),
        ([(False, True)], "pair of numbers"),
        ([(0, 1j)], "pair of numbers"),
        ([0, 1], "one pair"),
        (None, "one pair"),
        ([(1e16, 1e16 + 4)], "double precision"),
    ],
)
def test_bounds_that_make_no_box_are_refused(bounds, words):
    with pytest.raises(ValueError, match=words):
        Points([], bounds)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"names": ["x"]}, "name of its own"),
        ({"names": ["x", "x"]}, "names must be a list of distinct names, one per axis"),
        ({"names": ["x", ""]}, "names must be a list"),
        ({"names": "xy"}, "name of its own"),
        ({"unit": "row"}, '"point" or "person"'),
        ({"unit": "person"}, "person and max_points"),
        ({"person": [1]}, "need each other"),
        ({"max_points": 2}, "need each other"),
        ({"person": [1], "max_points": 2}, 'unit = "person"'),
        ({"unit": "person", "person": [1], "max_points": 0}, "from 1"),
        ({"unit": "person", "person": [1], "max_points": 1.5}, "whole number"),
        (
            {"unit": "person", "person": [1], "max_points": 2, "relation": "replace_one"},
            "one point per person",
        ),
        ({"relation": "swap"}, "relation"),
        ({"outside": "wrap"}, "outside must be"),
        ({"outside": "drop", "relation": "replace_one"}, "depend on where they lie"),
        ({"rows_about": -1}, "from 0"),
    ],
)
def test_declarations_that_contradict_themselves_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        Points([[0.5, 0.5]], UNIT, **options)


def test_a_frame_without_a_needed_column_is_refused():
    frame = pl.DataFrame({"x": [0.5], "z": [0.5]})
    with pytest.raises(DataError, match="no such column"):
        Points(frame, UNIT, names=["x", "y"])


# Points outside the bounds, by a public rule.


def test_points_outside_are_clamped_or_dropped_as_declared():
    values = [[0.5, 0.5], [2.0, 0.5], [0.5, -np.inf], [-1.0, 9.0]]
    clamped = Points(values, UNIT, outside="clamp")
    assert places(clamped) == places(Points([[0.5, 0.5], [1, 0.5], [0.5, 0], [0, 1]], UNIT))
    assert clamped.dropped_points == 0
    dropped = Points(values, UNIT, outside="drop")
    assert places(dropped) == [[0.5, 0.5]]
    assert dropped.dropped_points == 3
    assert "moved to the nearest bound" in " ".join(clamped.public.assumptions())
    assert "left out" in " ".join(dropped.public.assumptions())


def test_missing_values_are_refused_even_where_points_outside_are_dropped():
    with pytest.raises(DataError, match="missing"):
        Points([[2.0, np.nan]], UNIT, outside="drop")


def test_the_earth_has_its_bounds():
    points = Points([[-180, -90], [180, 90]], [(-180, 180), (-90, 90)], geographic=True)
    assert points.public.names == ("longitude", "latitude")
    for bounds in ([(-90, 90), (-180, 180)], [(-181, 0), (0, 1)]):
        with pytest.raises(ValueError, match="first axis is the longitude"):
            Points([], bounds, geographic=True)
    with pytest.raises(ValueError, match="one axis"):
        Points([], [(0, 1)], geographic=True)
    assert Points([], [(0, 1)] * 3, geographic=True).public.names == ("longitude", "latitude", "z")


@pytest.mark.parametrize("names", [("Latitude", "Longitude"), ("lat", "y"), ("x", "LNG")])
def test_a_latitude_may_not_come_first(names):
    with pytest.raises(ValueError, match="need the longitude as first axis"):
        Points([], [(0, 1)] * 2, names=names, geographic=True)
    assert Points([], [(0, 1)] * 2, names=names).public.names == names


# Persons.


def test_the_first_points_of_each_person_in_order_are_kept():
    values = [[i / 10, 0.5] for i in range(10)]
    persons = ["a", "b", "a", "a", "b", "c", "a", "b", "b", "c"]
    bounded = Points(values, UNIT, unit="person", person=persons, max_points=2)
    kept = [values[i] for i in (0, 1, 2, 4, 5, 9)]
    assert keys(bounded) == keys(Points(kept, UNIT))
    assert bounded.dropped_points == 4
    assert bounded.public.contribution == 2
    frame = pl.DataFrame({"x": [v[0] for v in values], "y": 0.5, "who": persons})
    same = Points(frame, UNIT, unit="person", person="who", max_points=2)
    assert keys(same) == keys(bounded)
    assert "who" in " ".join(same.public.assumptions())
    apart = Points(frame, UNIT, names=["x", "y"], unit="person", person=persons, max_points=2)
    assert keys(apart) == keys(bounded)


def test_dropped_points_do_not_count_as_a_persons_first():
    values = [[2.0, 0.5], [0.1, 0.5], [0.2, 0.5]]
    options = {"unit": "person", "person": [7, 7, 7], "max_points": 1}
    points = Points(values, UNIT, outside="drop", **options)
    assert keys(points) == keys(Points(values[1:2], UNIT))
    assert points.dropped_points == 2


def test_points_without_a_person_and_persons_without_points_are_refused():
    values = [[0.5, 0.5], [0.5, 0.5]]
    with pytest.raises(DataError, match="no identifier of its person") as caught:
        Points(values, UNIT, unit="person", person=["a", None], max_points=1)
    assert caught.value.problems[0].row == 2
    for persons in (["a"], "a", [["a", "b"]]):
        with pytest.raises(DataError, match="one identifier per point"):
            Points(values, UNIT, unit="person", person=persons, max_points=1)


def test_the_first_rows_of_a_lazy_frame_are_refused():
    frame = pl.DataFrame({"x": [0.5], "y": [0.5], "who": [1]}).lazy()
    with pytest.raises(DataError, match="fixed order"):
        Points(frame, UNIT, unit="person", person="who", max_points=1)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(0, 4), max_size=20), st.integers(1, 4), st.integers(0, 4))
def test_without_one_person_at_most_max_points_change(persons, most, gone):
    values = np.random.default_rng(len(persons)).random((len(persons), 2))
    there = Points(values, UNIT, unit="person", person=persons, max_points=most)
    rest = [i for i, person in enumerate(persons) if person != gone]
    here = Points(
        values[rest].reshape(-1, 2),
        UNIT,
        unit="person",
        person=[persons[i] for i in rest],
        max_points=most,
    )
    fewer = set(keys(here))
    assert fewer <= set(keys(there))
    assert there.counts.rows - here.counts.rows == min(most, persons.count(gone))


# What they show.


def test_points_show_nothing_private_and_do_not_change():
    points = Points([[SECRET, 0.5]] * 3, UNIT)
    shown = repr(points) + str(points.public) + str(points.public.to_json()) + repr(points.counts)
    assert "4711" not in shown
    assert "rows=3" not in shown
    assert points.public.rows is None
    with pytest.raises(AttributeError):
        points.public = None
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(TypeError, match="cannot be pickled"):
            pickle.dumps(points, protocol)
        with pytest.raises(TypeError, match="cannot be pickled"):
            pickle.dumps(points.counts, protocol)
    with pytest.raises(TypeError):
        copy.deepcopy(points)


def test_the_number_of_points_is_public_under_replace_one_only():
    points = Points([[0.5, 0.5]] * 3, UNIT, relation="replace_one")
    assert points.public.rows == 3
    assert "rows=3" in repr(points)
    assert "the number of records" in points.public.assumptions()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"relation": "replace_one"},
        {"unit": "person", "person": ["a"], "max_points": 4, "outside": "drop"},
        {"rows_about": 7, "geographic": True, "names": ["lon", "lat"]},
    ],
)
def test_the_public_part_is_written_and_read(options):
    public = Points([[0.1, 0.2]], [(-0.0, 0.3), (0.0, 0.7)], **options).public
    assert Public.from_json(public.to_json()) == public
    assert type(public).from_json(public.to_json()).boxes(np.arange(2), 1).shape == (2, 2, 2)


def test_the_digest_tells_points_and_declarations_apart_but_not_their_order():
    points = Points([[0.1, 0.2], [0.3, 0.4]], UNIT)
    digest = points.digest(KEY)
    assert digest == Points([[0.3, 0.4], [0.1, 0.2]], UNIT, rows_about=5).digest(KEY)
    others = [
        points.digest(b"l" * 32),
        Points([[0.1, 0.2], [0.3, 0.5]], UNIT).digest(KEY),
        Points([[0.1, 0.2]], UNIT).digest(KEY),
        Points([[0.1, 0.2], [0.3, 0.4]], UNIT, outside="clamp").digest(KEY),
        Points([[0.1, 0.2], [0.3, 0.4]], [(0, 1), (0, 2)]).digest(KEY),
    ]
    assert digest not in others
    with pytest.raises(ValueError, match="16 bytes"):
        points.digest(b"short")


def test_made_up_points_go_by_the_same_public_part():
    for options in ({}, {"relation": "replace_one"}):
        public = Points([[0.1] * 3] * 5, [(0, 1)] * 3, **options).public
        made = public.make_synthetic(4000, noise.generator(3))
        assert made.public == public
        assert made.counts.rows == 4000
        # Binomial with mean 500 and deviation 21 in each octant: 6 deviations, 2e-9 each.
        assert abs(made.counts.histogram((2, 2, 2)) - 500).max() < 126
    with pytest.raises(ValueError, match="negative"):
        public.make_synthetic(-1, noise.generator(3))


# Files.


def write_both(folder, frame):
    frame.write_csv(folder / "t.csv")
    frame.write_parquet(folder / "t.parquet", row_group_size=700)
    return folder / "t.csv", folder / "t.parquet"


def test_files_give_the_same_points_in_memory_and_by_duckdb(tmp_path, monkeypatch):
    monkeypatch.setattr(duckdb_module, "CHUNK", 2048)
    monkeypatch.setattr(point_intake, "RUN", 1500)
    monkeypatch.setattr(point_intake, "SPACING", 100)
    generator = np.random.default_rng(5)
    size = 9000
    frame = pl.DataFrame(
        {
            "lat": generator.uniform(-95, 95, size),
            "lon": generator.normal(0, 60, size),
            "who": generator.integers(0, 3000, size),
        }
    )
    earth = [(-180, 180), (-90, 90)]
    for options in (
        {"outside": "clamp", "relation": "replace_one"},
        {"outside": "drop"},
        {"outside": "drop", "unit": "person", "person": "who", "max_points": 2},
    ):
        expected = Points(frame, earth, names=["lon", "lat"], geographic=True, **options)
        for path in write_both(tmp_path, frame):
            for engine in ("memory", "duckdb", "auto"):
                found = read_points(
                    path,
                    columns=["lon", "lat"],
                    bounds=earth,
                    geographic=True,
                    engine=engine,
                    **options,
                )
                assert keys(found) == keys(expected)
                assert found.dropped_points == expected.dropped_points
                assert found.public == expected.public
                assert found.digest(KEY) == expected.digest(KEY)
                assert (found.counts.histogram((7, 5)) == expected.counts.histogram((7, 5))).all()


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_files_with_mistakes_are_refused_by_row(tmp_path, engine):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n0.5,0.5\n0.5,\n7.4711,0.5\nhigh,0.5\n")
    with pytest.raises(DataError) as caught:
        read_points(path, columns=["x", "y"], bounds=UNIT, engine=engine)
    found = {(p.field, p.row) for p in caught.value.problems}
    assert found == {("y", 2), ("x", 3), ("x", 4)}
    assert "4711" not in str(caught.value)
    with pytest.raises(DataError, match="no such column"):
        read_points(path, columns=["x", "z"], bounds=UNIT, engine=engine)
    with pytest.raises(ValueError, match="engine must be"):
        read_points(path, columns=["x", "y"], bounds=UNIT, engine="pandas")
    path.write_text("x,y\n")
    assert read_points(path, columns=["x", "y"], bounds=UNIT, engine=engine).counts.rows == 0


# Neighbours.


def unit_apart(here, there, most):
    """Return whether one data set is the other and at most so many points."""
    fewer, more = sorted((keys(here), keys(there)), key=len)
    rest = list(more)
    for key in fewer:
        rest.remove(key)
    return len(rest) <= most


@pytest.mark.parametrize("dimensions", [1, 2, 5])
def test_canonical_and_random_pairs_are_neighbours(dimensions):
    generator = np.random.default_rng(1)
    bounds = [(0, 1)] * dimensions
    for most in (1, 3):
        person = {} if most == 1 else {"unit": "person", "person": [], "max_points": most}
        public = Points(np.zeros((0, dimensions)), bounds, **person).public
        pairs = [*canonical_pairs(public), *(random_pair(public, generator) for _ in range(20))]
        assert all(unit_apart(pair.here, pair.there, most) for pair in pairs)
        assert max(abs(p.there.counts.rows - p.here.counts.rows) for p in pairs) == most
    public = Points(np.zeros((0, dimensions)), bounds, relation="replace_one").public
    pairs = [*canonical_pairs(public), *(random_pair(public, generator) for _ in range(20))]
    for pair in pairs:
        assert pair.here.public.rows == pair.there.public.rows == pair.here.counts.rows
        shared = list(keys(pair.there))
        missing = [key for key in keys(pair.here) if key not in shared or shared.remove(key)]
        assert len(missing) <= 1


def test_points_are_among_the_public_names():
    assert sf.Points is Points
    assert sf.read_points is read_points
    public = sf.Points([[0.1, 0.1]], UNIT).public
    assert isinstance(public, PointsPublic)
    assert replace(public, rows_about=3).rows_about == 3


MIXED = st.one_of(
    st.integers(2**53 - 2, 2**53 + 2),
    st.integers(2**63 - 2, 2**63 + 2),
    st.sampled_from(
        [-1, 0.5, 1, True, "1", "a", np.float32(0.1), np.uint64(2**63), Decimal("0.1")]
    ),
)


@settings(deadline=None)
@given(st.lists(MIXED, max_size=12), MIXED, st.integers(1, 3))
def test_identifiers_of_any_types_are_told_apart_one_by_one(persons, other, most):
    """One more person, of whatever type, adds their own points and changes no other's."""

    def kept(identifiers):
        values = np.full((len(identifiers), 2), 0.25)
        return Points(values, UNIT, unit="person", person=identifiers, max_points=most).counts.rows

    here, there = kept(persons), kept([*persons, *[other] * most])
    assert here <= there <= here + most


@settings(deadline=None)
@given(
    st.lists(st.sampled_from([0.1, 1, "0.1", np.float32(0.1), Decimal("0.3"), 0.7])),
    st.sampled_from(["0.05", 0.05, np.float32(0.7), Decimal("0.3"), np.float16(0.1), 1]),
)
def test_coordinates_of_any_types_are_read_one_by_one(values, other):
    """One more point leaves every other where it is."""
    bounds = [(0.0, 1.0000001)]
    here = Points([[value] for value in values], bounds)
    there = Points([*([value] for value in values), [other]], bounds)
    left = keys(there)
    for key in keys(here):
        left.remove(key)
    assert len(left) == 1


def test_persons_beside_a_frame_need_no_names():
    frame = pl.DataFrame({"x": [0.1, 0.2, 0.3], "y": [0.1, 0.2, 0.3]})
    person = np.array([1, 1, 2])
    points = Points(frame, UNIT, unit="person", person=person, max_points=1)
    assert points.public.names == ("x", "y")
    assert points.counts.rows == 2
