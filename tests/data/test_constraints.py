"""Constraints are declared in a few words, checked when they are, and read back as they were."""

import json
from datetime import date, datetime
from itertools import combinations

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.data.allowed import Orders, Rules
from sfumato.data.constraints import read_constraints
from sfumato.data.table import TablePublic
from sfumato.engines.errors import DataError

COLUMNS = {
    "ward": ["paediatrics", "surgery", "maternity"],
    "age": (0, 99),
    "pregnant": bool,
    "admitted": (date(2020, 1, 1), date(2020, 12, 31), 12),
    "discharged": (date(2020, 1, 1), date(2020, 12, 31)),
    "city": ["Bonn", "Köln", "München"],
    "region": ["NRW", "Bayern"],
}
CHILDREN = {"impossible": {"ward": "paediatrics", "age": {"from": 18}}}
STAY = {"order": ["admitted", "discharged"]}
REGIONS = {
    "determines": {"city": "region"},
    "map": {"Bonn": "NRW", "Köln": "NRW", "München": "Bayern"},
}
ALL = [CHILDREN, STAY, REGIONS]


def schema(*constraints, columns=COLUMNS, **options):
    return sf.Schema.from_dict(columns, constraints=list(constraints), **options)


def rows(*changes):
    row = {
        "ward": "surgery",
        "age": 40,
        "pregnant": False,
        "admitted": date(2020, 3, 5),
        "discharged": date(2020, 3, 9),
        "city": "Bonn",
        "region": "NRW",
    }
    return pl.DataFrame([{**row, **change} for change in changes])


def test_a_schema_is_written_to_a_file_and_read_back(tmp_path):
    declared = schema(*ALL, {**CHILDREN, "violations": "keep"}, {**STAY, "strict": True})
    declared.write(tmp_path / "x.schema.toml")
    assert sf.Schema.read(tmp_path / "x.schema.toml") == declared
    assert "[[constraints]]" in (tmp_path / "x.schema.toml").read_text()


def test_a_statistician_writes_it_in_toml(tmp_path):
    path = tmp_path / "x.schema.toml"
    schema().write(path)
    path.write_text(
        path.read_text()
        + """
[[constraints]]
impossible = {ward = "paediatrics", age = {from = 18}}

[[constraints]]
order = ["admitted", "discharged"]

[[constraints]]
determines = {city = "region"}
groups = {NRW = ["Bonn", "Köln"], Bayern = "München"}

[[constraints]]
impossible = {discharged = {below = 2020-01-03}}
"""
    )
    read = sf.Schema.read(path)
    assert [one.words() for one in read.constraints] == [
        "never age from 18 with ward = paediatrics",
        "admitted ≤ discharged",
        "city determines region",
        "never discharged below 2020-01-03",
    ]


def test_a_document_with_sorted_keys_says_the_same():
    declared = schema(*ALL)
    text = json.dumps(declared.to_json(), sort_keys=True)
    assert sf.Schema.from_json(json.loads(text)) == declared
    assert TablePublic.of(declared).to_json()["schema"]["constraints"] == ALL


def test_a_schema_without_constraints_is_written_as_before():
    assert "constraints" not in schema().to_json()


@pytest.mark.parametrize(
    ("constraint", "message"),
    [
        ({"order": ["admited", "discharged"]}, "no column 'admited'; did you mean 'admitted'"),
        ({"impossible": {"ward": "pediatrics"}}, "'pediatrics'; did you mean 'paediatrics'"),
        ({"imposible": {"age": 3}}, "did you mean 'impossible'"),
        ({"impossible": {"age": {"form": 3}}}, "got 'form'; did you mean 'from'"),
        ({"impossible": {"age": {"from": 3, "above": 4}}}, "from or above"),
        ({"impossible": {}}, "columns as keys"),
        ({"impossible": {"age": []}}, "one or more values"),
        ({"impossible": {"ward": {"from": 3}}}, "needs a column of numbers or dates"),
        ({"impossible": {"admitted": {"from": "2020-01-15"}}}, "within the bin 2020-01-01 to"),
        ({"impossible": {"discharged": {"from": "soon"}}}, "must be a date; got 'soon'"),
        ({"order": ["age", "admitted"]}, "same kind"),
        ({"order": ["ward", "age"]}, "'ward' has no values in equal steps"),
        ({"order": ["age"]}, "two or more different columns"),
        ({"order": ["age", "age"]}, "two or more different columns"),
        ({**STAY, "stric": True}, "did you mean 'strict'"),
        ({**STAY, "violations": "ignore"}, "violations must be"),
        ({"determines": {"city": "region"}}, "with map"),
        ({"determines": {"city": "region"}, "map": {"Bonn": "NRW"}}, "what city = Köln determines"),
        ({**REGIONS, "map": {**REGIONS["map"], "Bon": "NRW"}}, "did you mean 'Bonn'"),
        ({**REGIONS, "map": {**REGIONS["map"], "Bonn": "Berlin"}}, "no value 'Berlin'"),
        (
            {"determines": {"age": "region"}, "groups": {"NRW": {"to": 9}, "Bayern": {"from": 9}}},
            "age = 9 determines two values",
        ),
        ("order", "must be a table"),
        ({"impossible": {"price": {"from": "1e10000000"}}}, "must be a number"),
        ({"impossible": {"price": {"from": "1e400"}}}, "must be a number"),
        ({"impossible": {3: "x", "age": 4}}, "which are texts"),
        ({"determines": {"age": "city"}, "groups": {1: 1, "1": 2}}, "each value once"),
        ({"order": [f"c{number}" for number in range(65)]}, "at most 64 columns; got 65"),
    ],
)
def test_a_bad_declaration_is_refused_with_a_remedy(constraint, message):
    columns = {**COLUMNS, "price": (0.0, 9.0, 3)}
    with pytest.raises(ValueError, match="constraint 1: ") as failure:
        schema(constraint, columns=columns)
    assert message in str(failure.value)


@pytest.mark.parametrize(
    "constraints",
    [
        [{"impossible": {"age": {"from": 0}}}],
        [
            {"order": ["admitted", "discharged"], "strict": True},
            {"impossible": {"discharged": {"above": "2020-01-01"}}},
        ],
        [{"impossible": {"pregnant": True}}, {"impossible": {"pregnant": False}}],
    ],
)
def test_constraints_that_no_row_satisfies_are_refused(constraints):
    with pytest.raises(ValueError, match="contradict each other"):
        schema(*constraints)


def test_a_row_is_found_where_few_satisfy_all_constraints():
    draw = np.random.default_rng(0)
    columns = {f"x{number}": bool for number in range(60)}
    never = [
        {"impossible": {f"x{n}": bool(draw.integers(2)) for n in draw.choice(60, 3, replace=False)}}
        for _ in range(200)
    ]
    rules = schema(*never, columns=columns).rules
    assert rules.allows(rules.example[:, None]).all()


def test_a_row_is_found_where_bins_leave_one_order():
    columns = {f"c{number}": (0, 19, 10) for number in range(20)}
    rules = schema({"order": list(columns)[::-1], "strict": True}, columns=columns).rules
    assert list(rules.example) == [n // 2 for n in reversed(range(20))]


def test_the_search_finds_a_row_if_and_only_if_there_is_one():
    draw = np.random.default_rng(1)
    columns = {"a": (0, 5, 3), "b": (0, 5, 2), "c": (0, 5), "d": ["x", "y"], "e": ["u", "v"]}
    there = []
    for _ in range(100):
        names = [list(columns)[number] for number in draw.permutation(3)]
        known = [{"order": names, "strict": True}]
        for _ in range(12):
            pair = {"d": str(draw.choice(["x", "y"])), "e": str(draw.choice(["u", "v"]))}
            known.append({"impossible": {"c": {"not": int(draw.integers(6))}, **pair}})
        made = read_constraints(known)
        plain = schema(columns=columns).columns
        parts = [part for one in made for part in one.parts(plain)]
        orders = Orders.of(dict.fromkeys(combinations(map("abc".index, names), 2), True), plain)
        rules = Rules(tuple(column.size for column in plain), tuple(parts), orders)
        cells = np.indices(rules.sizes).reshape(len(rules.sizes), -1)
        there.append(bool(rules.allows(cells).any()))
        assert (rules.example is not None) == there[-1]
        assert not there[-1] or rules.allows(rules.example[:, None]).all()
    assert 10 < sum(there) < 90


def test_more_constraints_than_can_be_kept_are_refused(monkeypatch):
    with pytest.raises(ValueError, match=r"at most 1,000 constraints are allowed; got 1,001"):
        schema(*[CHILDREN] * 1001)
    monkeypatch.setattr("sfumato.data.constraints.MOST_PARTS", 5)
    columns = dict.fromkeys("abc", (0, 3))
    with pytest.raises(ValueError, match=r"constraint 2: .* more than 5 .* fewer columns"):
        schema(*[{"order": list(columns)}] * 2, columns=columns)


def test_many_columns_may_hang_together():
    columns = {f"c{number}": bool for number in range(1000)}
    chain = [{"impossible": {f"c{n}": False, f"c{n + 1}": True}} for n in range(999)]
    assert schema(*chain, {"impossible": {"c999": False}}, columns=columns).rules.example.all()


def test_orders_in_a_circle_are_refused():
    columns = dict.fromkeys("abc", (0, 9))
    with pytest.raises(ValueError, match="circle"):
        schema({"order": ["a", "b", "c"]}, {"order": ["c", "a"]}, columns=columns)


def test_a_constraint_that_nothing_violates_is_fine():
    assert schema({"impossible": {"age": {"from": 200}}}).rules


def test_open_columns_and_continuous_ones_are_refused_where_they_cannot_be_checked():
    with pytest.raises(ValueError, match="not declared; list them"):
        schema({"impossible": {"a": "x", "b": 1}}, columns={"a": "discover", "b": (0, 3)})
    with pytest.raises(ValueError, match="declare its decimals"):
        schema({"order": ["a", "b"]}, columns={"a": (0.0, 1.0, 4), "b": (0.0, 1.0, 4)})
    columns = {"a": (0.0, 1.0, 4), "b": ["x", "y"]}
    schema({"impossible": {"a": {"from": 0.25, "below": 0.75}, "b": "x"}}, columns=columns)
    with pytest.raises(ValueError, match="within the bin"):
        schema({"impossible": {"a": {"from": 0.3}, "b": "x"}}, columns=columns)


def test_values_of_all_kinds_are_bounds():
    columns = {
        "time": {"kind": "datetime", "low": "2020-01-01T00:00:00", "high": "2020-01-02T00:00:00"},
        "price": {"kind": "number", "low": 0, "high": 2, "decimals": 1},
        "code": [1, 2, 3],
        "flag": bool,
    }
    declared = schema(
        {"impossible": {"time": {"below": datetime(2020, 1, 1, 12)}, "flag": True}},
        {"impossible": {"price": {"above": 0.3, "to": 0.5}, "code": [1, 2]}},
        {"impossible": {"price": np.float64(1.5), "flag": {"not": False}}},
        columns=columns,
    )
    time, price, single = (part.inside for part in declared.rules.parts)
    # Conditions are sorted by the names of their columns.
    assert list(time[0]) == [False, True]
    assert time[1].sum() == 720
    assert list(np.flatnonzero(price[1])) == [4, 5]
    assert list(price[0]) == [True, True, False]
    assert list(np.flatnonzero(single[1])) == [15]


def test_missing_values_are_in_any_order_and_determine_missing_ones():
    columns = {
        "a": {"kind": "integer", "low": 0, "high": 3, "missing": "code"},
        "b": {"kind": "integer", "low": 0, "high": 3, "missing": "code"},
        "big": {"kind": "category", "values": ["no", "yes"], "missing": "code"},
    }
    declared = schema(
        {"order": ["a", "b"]},
        {"determines": {"a": "big"}, "groups": {"no": {"to": 1}, "yes": {"above": 1}}},
        columns=columns,
    )
    codes = np.array([[4, 0, 2], [3, 4, 1], [3, 0, 1], [4, 1, 0]]).T
    assert list(declared.rules.allows(codes)) == [True, True, False, False]


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_rows_that_violate_a_constraint_are_refused_by_number_and_without_values(engine, tmp_path):
    good, bad = {}, {"ward": "paediatrics", "age": 71}
    late = {"discharged": date(2020, 1, 7)}
    rows(good, bad, good, late, bad).write_csv(tmp_path / "x.csv")
    with pytest.raises(DataError) as failure:
        sf.read_table(tmp_path / "x.csv", schema(*ALL), engine=engine)
    first, second = failure.value.problems
    assert (first.row, first.more, second.row, second.more) == (2, 1, 4, 0)
    assert "never age from 18 with ward = paediatrics" in first.wrong
    assert "71" not in str(failure.value)
    assert "2020-01-07" not in str(failure.value)
    kept = [{**one, "violations": "keep"} for one in ALL]
    table = sf.read_table(tmp_path / "x.csv", schema(*kept), engine=engine)
    assert table.counts.rows == 5


def test_a_row_that_cannot_be_read_is_not_said_to_violate_anything():
    with pytest.raises(DataError) as failure:
        sf.Table(rows({"ward": "x-ray", "age": 30}), schema(CHILDREN))
    assert [problem.field for problem in failure.value.problems] == ["ward"]


def test_bins_are_compared_by_what_they_can_hold():
    # Both days are in the first bin of admissions, and only the codes are checked.
    sf.Table(rows({"admitted": date(2020, 1, 9), "discharged": date(2020, 1, 5)}), schema(STAY))


def test_constraints_change_neither_the_ledgers_table_nor_its_codes():
    plain, bound = (sf.Table(rows({}, {}), schema(*some)) for some in ([], ALL))
    assert plain.digest(b"k" * 16) == bound.digest(b"k" * 16)


def test_a_view_keeps_the_constraints_of_its_columns():
    view = schema(*ALL).only(["city", "region", "age"])
    assert [one.words() for one in view.constraints] == ["city determines region"]


def test_drawn_values_within_bins_are_in_order():
    columns = {
        "a": (0, 100, 4),
        "b": {"kind": "number", "low": 0, "high": 100, "step": 7},
        "c": {"kind": "number", "low": -20, "high": 90, "bins": 3, "decimals": 1},
        "d": {"kind": "integer", "low": 0, "high": 99, "digits": 4, "bins": 3},
    }
    public = TablePublic.of(
        schema({"order": ["c", "a", "b"], "strict": True}, {"order": ["c", "d"]}, columns=columns)
    )
    generator = np.random.default_rng(0)
    codes = np.stack([generator.integers(0, size, 20_000) for size in public.sizes], axis=1)
    legal = codes[public.rules.allows(codes.T)]
    drawn = public.frame(legal, generator)
    assert len(drawn) > 2000
    assert (drawn["c"] < drawn["a"]).all()
    assert (drawn["a"] < drawn["b"]).all()
    assert (drawn["c"] <= drawn["d"].cast(pl.Int64)).all()
    # Each value is still in the bin that it was drawn for.
    again = sf.Table(drawn, schema(columns=columns)).counts
    for number in range(4):
        np.testing.assert_array_equal(again.kept(number)[0], legal[:, number])


def test_a_bound_at_the_closed_end_of_the_last_bin_is_told_from_one_beyond_it():
    columns = {"a": {"kind": "number", "edges": [0, 50, 100]}, "b": ["x", "y"]}

    def declare(condition):
        return sf.Schema.from_dict(
            columns, constraints=[{"impossible": {"a": condition, "b": "y"}}]
        )

    with pytest.raises(ValueError, match="lies within the bin"):
        declare({"from": 50, "below": 100})
    with pytest.raises(ValueError, match="lies within the bin"):
        declare({"from": 100})
    assert not declare({"from": 50, "to": 100}).rules.allows(np.array([[1], [1]])).any()


def test_all_other_values_include_those_that_were_not_declared():
    city = {"kind": "category", "values": ["P", "Q"], "outside": "other", "missing": "code"}
    never = {"impossible": {"city": {"not": "P"}, "capital": True}}
    schema = sf.Schema.from_dict({"city": city, "capital": bool}, constraints=[never])
    codes = np.array([[0, 1, 2, 3], [1, 1, 1, 1]])
    assert schema.rules.allows(codes).tolist() == [True, False, False, True]


def test_a_condition_of_many_values_is_named_briefly():
    values = [f"v{number}" for number in range(3000)]
    never = {"impossible": {"a": values[:2999], "b": "y"}}
    schema = sf.Schema.from_dict({"a": values, "b": ["x", "y"]}, constraints=[never])
    assert "or 2,994 more" in schema.constraints[0].words()


def test_a_combination_of_many_columns_stays_a_product_where_one_follows_from_another():
    names = [f"c{number}" for number in range(5)]
    values = [f"v{number}" for number in range(300)]
    constraints = [
        {"determines": {"c0": "c1"}, "map": {value: value for value in values}},
        {"impossible": dict.fromkeys(names, values[:150])},
    ]
    rules = sf.Schema.from_dict(dict.fromkeys(names, values), constraints=constraints).rules
    left, _ = rules.without_followers()
    assert not left.allows(np.zeros((4, 1), dtype=np.int64)).any()
    assert left.allows(np.full((4, 1), 200)).all()


def test_counts_of_what_no_row_can_have_are_zero():
    columns = {key: {"kind": "integer", "low": 0, "high": 11, "bins": 6} for key in "abc"}
    schema = sf.Schema.from_dict(columns, constraints=[{"order": ["a", "b", "c"], "strict": True}])
    even = schema.rules.even((0, 1, 2))
    # A bin holds two values: three different ones do not fit.
    assert not any(even[(code,) * 3] for code in range(6)) and even[0, 0, 1] > 0
    wide = {key: {"kind": "integer", "low": 0, "high": 2999} for key in "ab"}
    large = sf.Schema.from_dict(wide, constraints=[{"order": ["a", "b"], "strict": True}])
    assert not np.tril(large.rules.even((0, 1))).any()
