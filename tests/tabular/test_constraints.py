"""Every release keeps every declared constraint exactly, and models learn from them."""

import io
from datetime import date, timedelta
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato import noise
from sfumato.data.allowed import Rules
from sfumato.data.constraints import Determined, Ordered
from sfumato.data.table import TablePublic
from sfumato.mechanisms.consistency import Family, consistent_counts
from sfumato.mechanisms.graphical import Measured, fit
from sfumato.tabular import constrained
from sfumato.tabular.binned_model import BinnedModel, Bins
from sfumato.tabular.constrained import FilledModel, LegalModel, draw_legal, leave_out
from sfumato.tabular.simple_models import ProductModel

FIRST, LAST = date(2020, 1, 1), date(2020, 12, 31)
HOSPITAL = {
    "ward": ["paediatrics", "surgery", "maternity"],
    "age": (0, 99),
    "sex": ["f", "m"],
    "pregnant": bool,
    "admitted": (FIRST, LAST),
    "discharged": (FIRST, LAST),
    "city": ["Bonn", "Köln", "München"],
    "region": ["NRW", "Bayern"],
    "group": ["child", "adult"],
}
KNOWN = [
    {"impossible": {"ward": "paediatrics", "age": {"from": 18}}},
    {"impossible": {"sex": "m", "pregnant": True}},
    {"impossible": {"ward": "maternity", "sex": {"not": "f"}}},
    {"order": ["admitted", "discharged"]},
    {"determines": {"city": "region"}, "map": {"Bonn": "NRW", "Köln": "NRW", "München": "Bayern"}},
    {"determines": {"age": "group"}, "groups": {"child": {"to": 17}, "adult": {"from": 18}}},
]


def patients(rows, seed=1):
    """Stays in a hospital that satisfy all constraints."""
    draw = np.random.default_rng(seed)
    grown = np.minimum(99, 18 + draw.gamma(3, 12, rows)).astype(int)
    age = np.where(draw.random(rows) < 0.3, draw.integers(0, 18, rows), grown)
    ward = np.where(draw.random(rows) < 0.5, "surgery", "maternity")
    ward = np.where(age < 18, "paediatrics", ward)
    sex = np.where(ward == "maternity", "f", np.where(draw.random(rows) < 0.5, "f", "m"))
    admitted = draw.integers(0, 330, rows)
    left = np.minimum(admitted + draw.geometric(0.2, rows), 365)
    city = draw.choice(HOSPITAL["city"], rows)
    return pl.DataFrame(
        {
            "ward": ward,
            "age": age,
            "sex": sex,
            "pregnant": ward == "maternity",
            "admitted": [FIRST + timedelta(int(day)) for day in admitted],
            "discharged": [FIRST + timedelta(int(day)) for day in left],
            "city": city,
            "region": np.where(city == "München", "Bayern", "NRW"),
            "group": np.where(age < 18, "child", "adult"),
        }
    )


def schema(known=KNOWN, columns=HOSPITAL, **options):
    return sf.Schema.from_dict(columns, constraints=known, rows_about=3000, **options)


def violated(frame, declared):
    """The constraints that some row violates, looked at by value and by the declaration alone."""
    found = []
    for constraint in declared.constraints:
        if isinstance(constraint, Ordered):
            values = [frame[name].to_physical() for name in constraint.columns]
            pairs = pairwise(values)
            bad = [(a >= b if constraint.strict else a > b).any() for a, b in pairs]
        elif isinstance(constraint, Determined):
            source = frame[constraint.source].to_list()
            expected = {
                row: value
                for value, condition in constraint.groups
                for row in set(source)
                if _meets(row, condition)
            }
            told = frame[constraint.target].to_list()
            bad = [any(_text(expected[s]) != _text(t) for s, t in zip(source, told, strict=True))]
        else:
            there = [
                [_meets(value, condition) for value in frame[name].to_list()]
                for name, condition in constraint.conditions
            ]
            bad = [any(map(all, zip(*there, strict=True)))]
        if any(bad):
            found.append(constraint.words())
    return found


def _text(value):
    return str(value).lower() if isinstance(value, bool) else str(value)


def _meets(value, condition):
    if not condition.bounds:
        return (_text(value) in map(_text, condition.values)) != condition.excluded
    ends = dict(condition.bounds)
    shown = value.isoformat() if isinstance(value, date) else value
    return (
        shown >= ends.get("from", shown)
        and shown <= ends.get("to", shown)
        and not ("above" in ends and shown <= ends["above"])
        and not ("below" in ends and shown >= ends["below"])
    )


METHODS = {
    "Synthesizer": sf.Synthesizer(epsilon=1),
    "Synthesizer, declared": sf.Synthesizer(epsilon=1, binner="declared", delta=1e-9),
    "Independent": sf.Independent(epsilon=1),
    "PrivBayes": sf.PrivBayes(epsilon=1),
    "PrivBayes, graphical": sf.PrivBayes(epsilon=1, repair="graphical"),
    "MST": sf.MST(epsilon=1),
    "AIM": sf.AIM(epsilon=1, rounds=4),
}


@pytest.mark.parametrize("name", METHODS)
def test_rows_keep_all_constraints_and_the_release_is_verified(name, tmp_path):
    declared = schema()
    table = sf.Table(patients(3000), declared)
    with noise.seeded(3):
        release = METHODS[name].release(table)
    assert violated(release.published, declared) == []
    assert violated(release.sample(5000, seed=1), declared) == []
    assert release.counts(["ward", "age"])[0, 18:].max() == 0
    assert np.count_nonzero(release.counts(["city", "region"])) == 3
    one, two = release.counts(["discharged"]), release.counts(["admitted", "discharged"])
    np.testing.assert_allclose(two.sum(axis=0), one, atol=1e-6)
    assert not two[np.tril_indices(366, -1)].any()
    release.save(tmp_path / "release")
    assert sf.verify(tmp_path / "release")
    words = " ".join((tmp_path / "release" / "README.txt").read_text().split())
    assert "admitted ≤ discharged" in words
    assert release.alone == ()
    written = (tmp_path / "release" / "synthetic.csv").read_bytes()
    assert violated(pl.read_csv(io.BytesIO(written), try_parse_dates=True), declared) == []


SMALL = {"a": (0, 3), "b": (0, 4), "c": ["x", "y", "z"], "d": [False, True], "e": (0, 40, 4)}


@st.composite
def declarations(draw):
    """A small schema with some constraints, of which many are refused as contradictory."""
    conditions = {
        "a": st.one_of(st.integers(0, 3), st.fixed_dictionaries({"from": st.integers(1, 3)})),
        "b": st.one_of(st.integers(0, 4), st.fixed_dictionaries({"to": st.integers(0, 3)})),
        "c": st.one_of(
            st.sampled_from("xyz"), st.fixed_dictionaries({"not": st.sampled_from("xyz")})
        ),
        "d": st.booleans(),
        "e": st.sampled_from([{"from": 10}, {"below": 30}, {"from": 20, "to": 29}]),
    }
    impossible = st.lists(
        st.sampled_from(sorted(conditions)), min_size=1, max_size=3, unique=True
    ).flatmap(lambda names: st.fixed_dictionaries({name: conditions[name] for name in names}))
    order = st.permutations(["a", "b", "e"]).map(lambda names: names[:2])
    values = st.lists(st.sampled_from("xyz"), min_size=4, max_size=4)
    found = st.one_of(
        impossible.map(lambda one: {"impossible": one}),
        st.tuples(order, st.booleans()).map(lambda one: {"order": one[0], "strict": one[1]}),
        values.map(
            lambda one: {"determines": {"a": "c"}, "map": dict(zip(range(4), one, strict=True))}
        ),
        values.map(
            lambda one: {
                "determines": {"c": "d"},
                "map": {"x": one[0] == "x", "y": one[1] == "x", "z": one[2] == "x"},
            }
        ),
    )
    return draw(st.lists(found, min_size=1, max_size=4))


SMALL_METHODS = [
    sf.Synthesizer(epsilon=1, rounds=2),
    sf.Independent(epsilon=1),
    sf.Contingency(epsilon=1),
    sf.Contingency(epsilon=1, repair="marginal"),
    sf.MWEM(epsilon=1, rounds=2, ways=2),
    sf.PrivBayes(epsilon=1),
    sf.PrivBayes(epsilon=1, encoding="binary"),
    sf.MST(epsilon=1),
    sf.AIM(epsilon=1, rounds=2),
    sf.Marginals(epsilon=1, ways=2),
    sf.Histogram(epsilon=1),
]


@pytest.mark.parametrize("method", SMALL_METHODS, ids=repr)
@example(known=[{"impossible": {"c": "x", "d": True}}, {"impossible": {"a": 0}}], seed=0)
@example(known=[{"order": ["a", "b"], "strict": True}, {"impossible": {"e": {"from": 10}}}], seed=0)
@example(known=[{"order": ["e", "b"], "strict": False}], seed=1022)  # a table without any row
@given(known=declarations(), seed=st.integers(0, 2**16))
@settings(max_examples=8, suppress_health_check=list(HealthCheck))
def test_random_constraints_are_kept_by_every_method(method, known, seed):
    try:
        declared = schema(known, SMALL)
    except ValueError:
        return
    # The private rows may violate what was declared, and are uniform.
    table = declared.public.make_synthetic(60, np.random.default_rng(seed))
    with noise.seeded(seed):
        release = method.release(table)
    assert violated(release.sample(200, seed=seed), declared) == []
    names = list(SMALL)
    for pair in [(one, two) for one in names for two in names if one < two]:
        try:
            counts = release.counts(pair)
        except ValueError:  # a table that was not released
            continue
        even = declared.rules.even(declared.indices(pair))
        assert not counts[even == 0].any()
        assert (counts >= 0).all()


def test_tables_of_counts_agree_although_some_cells_cannot_occur():
    columns = {"a": (0, 5), "b": (0, 5), "c": ["x", "y"]}
    declared = schema(
        [{"order": ["a", "b"]}, {"impossible": {"b": {"from": 3}, "c": "y"}}], columns
    )
    draw = np.random.default_rng(2)
    low, high = np.sort(draw.integers(0, 6, (2, 4000)), axis=0)
    rows = pl.DataFrame({"a": low, "b": high, "c": np.where(high >= 3, "x", "y")})
    with noise.seeded(4):
        release = sf.Marginals(epsilon=1, ways=2).release(sf.Table(rows, declared))
    first, second, third = release.tables
    assert not first[np.tril_indices(6, -1)].any()
    assert not third[3:, 1].any()
    for one, other in [
        (first.sum(1), second.sum(1)),
        (first.sum(0), third.sum(1)),
        (second.sum(0), third.sum(0)),
    ]:
        np.testing.assert_allclose(one, other, atol=1e-4 * release.total)


def test_a_family_with_cells_that_cannot_occur_is_projected_onto_the_others():
    family = Family(((0, 1),), (2, 2), (1.0,))
    even = [np.array([[1.0, 1.0], [0.0, 1.0]]) / 3]
    (table,) = consistent_counts(family, [np.array([[10.0, 20.0], [8.0, -4.0]])], 30.0, even)
    assert table[1, 0] == 0
    assert table.sum() == pytest.approx(30)
    assert table[0, 1] > table[0, 0] > table[1, 1] == pytest.approx(0, abs=1e-5)


def test_a_fitted_model_gives_no_weight_to_structural_zeros_and_keeps_its_columns():
    columns = [np.array([0.5, 0.3, 0.2]), np.array([0.3, 0.3, 0.4])]
    measured = [Measured((c,), 1000 * shares, 1.0) for c, shares in enumerate(columns)]
    possible = np.triu(np.ones((3, 3), dtype=bool))
    model = fit((3, 3), measured, 1000.0, zeros=[((0, 1), possible)])
    joint = model.marginal((0, 1))
    assert not joint[~possible].any()
    np.testing.assert_allclose(joint.sum(axis=1), columns[0], atol=5e-3)
    np.testing.assert_allclose(joint.sum(axis=0), columns[1], atol=5e-3)
    again = fit((3, 3), measured, 1000.0, start=model, zeros=[((0, 1), possible)])
    assert not again.marginal((0, 1))[~possible].any()


def test_codes_within_bins_keep_their_order_and_the_columns_their_shares():
    declared = schema([{"order": ["a", "b"]}], {"a": (0, 99), "b": (0, 99)})
    groups = np.arange(100) // 10
    weights = np.random.default_rng(1).random(100)
    bins = {0: Bins(groups, 100), 1: Bins(groups, 100, weights)}
    inside = LegalModel(
        ProductModel([np.full(10, 0.1), np.arange(1, 11) / 55]),
        declared.rules.see({0: groups, 1: groups}),
    )
    model = BinnedModel(inside, bins, declared.rules)
    joint = model.marginal((1, 0))
    assert not joint[np.triu_indices(100, 1)].any()
    np.testing.assert_allclose(joint.sum(axis=0), model.marginal((0,)))
    np.testing.assert_allclose(joint.sum(), 1)
    merged = joint.reshape(10, 10, 10, 10).sum(axis=(1, 3))
    np.testing.assert_allclose(merged, inside.marginal((1, 0)), atol=1e-12)
    codes = model.draw(50_000, np.random.default_rng(3))
    assert declared.rules.allows(codes.T).all()
    drawn = np.histogram2d(codes[:, 1], codes[:, 0], bins=10, range=[[0, 100]] * 2)[0] / 50_000
    np.testing.assert_allclose(drawn, merged, atol=0.01)


def test_a_model_that_never_satisfies_a_constraint_is_repaired():
    rules = schema([{"impossible": {"a": {"below": 3}}}], {"a": (0, 3), "b": (0, 1)}).rules

    def draw(rows, generator):
        return np.stack([np.zeros(rows, dtype=int), generator.integers(0, 2, rows)], axis=1)

    codes = draw_legal(draw, rules, 100, np.random.default_rng(0))
    assert (codes[:, 0] == 3).all()
    assert set(codes[:, 1]) == {0, 1}
    model = LegalModel(ProductModel([np.array([0.9, 0.1, 0.0, 0.0]), np.array([0.5, 0.5])]), rules)
    np.testing.assert_allclose(model.marginal((0,)), [0, 0, 0, 1])


def test_marginals_of_a_large_model_are_those_of_its_rows(monkeypatch):
    monkeypatch.setattr(constrained, "MOST_CELLS", 4)
    rules = schema([{"order": ["a", "b"]}], {"a": (0, 3), "b": (0, 3)}).rules
    model = LegalModel(ProductModel([np.full(4, 0.25)] * 2), rules)
    table = model.marginal((0, 1))
    assert not table[np.tril_indices(4, -1)].any()
    np.testing.assert_allclose(table[np.triu_indices(4)], 0.1, atol=0.01)


def test_a_column_that_follows_from_another_costs_nothing():
    plain, known = schema([]), schema()
    counted = [step.what for step in sf.Synthesizer(epsilon=1).plan(known.public).steps]
    assert any("city" in what for what in counted)
    assert not any("region" in what for what in counted)
    # In bins an age does not tell the group exactly, and so the group is measured.
    assert any("group" in what for what in counted)
    plan = sf.Independent(epsilon=1, binner="declared").plan(known.public)
    before = sf.Independent(epsilon=1, binner="declared").plan(plain.public)
    assert (
        plan.steps[0].figures["standard_deviation"] < before.steps[0].figures["standard_deviation"]
    )
    assert any("at no privacy loss: never age from 18" in note for note in plan.notes)
    assert any("region from city, group from age" in note for note in plan.notes)


def test_a_column_that_a_parameter_names_is_measured():
    public = schema().public
    method = sf.Synthesizer(epsilon=1, focus=[("region", "sex")], binner="declared")
    seen, followers = leave_out(method, public)
    assert "region" in seen.columns
    assert "group" not in seen.columns
    assert list(followers.sources) == [8]
    table = sf.Table(patients(1000), schema())
    release = sf.Synthesizer(epsilon=1, focus=[("region", "sex")]).release(table)
    assert violated(release.published, schema()) == []


def test_bins_keep_to_what_constraints_tell_apart():
    rules = schema().rules
    (cut,) = np.flatnonzero(np.diff(rules.segments(1)))
    assert cut == 17
    assert not rules.segments(4).any()
    many = [{"impossible": {"age": list(range(0, 99, 9)), "sex": "m"}}]
    assert not schema(many).rules.segments(1).any()
    table = sf.Table(patients(2000), schema())
    for binner in ("auto", "uniform", "quantile", "privtree"):
        with noise.seeded(1):
            release = sf.Independent(epsilon=1, binner=binner).release(table)
        groups = release.model.inside.inside.inside.bins[1].groups
        assert groups[17] != groups[18], binner
        assert violated(release.published, schema()) == []


def test_columns_that_follow_are_counted_through_their_sources():
    known = [
        {"determines": {"a": "b"}, "map": {"0": 0, "1": 0, "2": 1}},
        {"determines": {"b": "c"}, "map": {"0": "x", "1": "y"}},
        {"impossible": {"c": "y", "d": True}},
    ]
    rules = schema(known, {"a": (0, 2), "b": (0, 1), "c": ["x", "y"], "d": bool}).rules
    left, followers = rules.without_followers()
    assert (followers.kept, left.sizes) == ((0, 3), (3, 2))
    (part,) = left.parts
    np.testing.assert_array_equal(part.mask(), [[True, True], [True, True], [True, False]])
    shares = [np.array([0.2, 0.3, 0.5]), np.array([0.4, 0.6])]
    model = FilledModel(ProductModel(shares), followers)
    np.testing.assert_allclose(model.marginal((2, 3)), np.outer([0.5, 0.5], shares[1]))
    np.testing.assert_allclose(model.marginal((1, 0)), [[0.2, 0.3, 0], [0, 0, 0.5]])
    assert model.sizes == (3, 2, 2, 2)


def test_open_columns_are_found_beside_columns_that_follow():
    columns = {"city": HOSPITAL["city"], "region": HOSPITAL["region"], "street": "discover"}
    declared = schema([KNOWN[4]], columns)
    rows = patients(3000).select("city", "region", street=pl.lit("Ringstraße"))
    with noise.seeded(1):
        release = sf.Synthesizer(epsilon=3, delta=1e-6).release(sf.Table(rows, declared))
    assert release.public.labels("street") == ("Ringstraße", "(other)")
    assert violated(release.published, declared) == []


def test_a_table_too_large_for_elimination_is_answered_by_a_sample():
    class Large(ProductModel):
        def marginal(self, columns):
            raise constrained.TooLarge("too large")

    rules = schema([{"order": ["a", "b"]}], {"a": (0, 9), "b": (0, 9)}).rules
    groups = np.arange(10) // 5
    binned = BinnedModel(
        Large([np.array([0.5, 0.5])] * 2), dict.fromkeys((0, 1), Bins(groups, 10)), rules
    )
    model = LegalModel(binned, rules)
    assert rules.allows(model.draw(2000, np.random.default_rng(0)).T).all()
    assert not model.marginal((0, 1))[np.tril_indices(10, -1)].any()


def test_with_a_delta_noise_is_chosen_for_the_columns_that_are_measured():
    columns = {f"c{i}": ["x", "y"] for i in range(12)}
    known = [{"determines": {"c0": f"c{i}"}, "map": {"x": "y", "y": "x"}} for i in range(1, 12)]
    declared = schema(known, columns)
    table = declared.public.make_synthetic(50, np.random.default_rng(0))
    release = sf.Synthesizer(epsilon=1, delta=1e-9).release(table)
    assert violated(release.published, declared) == []


def test_constraints_lower_the_error_of_tables_they_are_about():
    declared, plain = schema(), schema([])
    rows = patients(3000)
    truth = sf.Table(rows, plain)
    errors = {}
    for name, one in {"with": declared, "without": plain}.items():
        distances = []
        for seed in range(3):
            with noise.seeded(seed):
                release = sf.Synthesizer(epsilon=0.5).release(sf.Table(rows, one))
            for pair in [("ward", "age"), ("sex", "pregnant"), ("city", "region"), ("ward", "sex")]:
                (table,) = truth.counts.marginals([plain.indices(pair)])
                counts = release.counts(pair)
                distances.append(np.abs(table / 3000 - counts / counts.sum()).sum() / 2)
        errors[name] = float(np.mean(distances))
    assert errors["with"] < 0.9 * errors["without"]


def test_evaluation_counts_violations():
    from sfumato.evaluate.rows import compare_rows

    rows, declared = patients(800), schema()
    release = sf.Independent(epsilon=1).release(sf.Table(rows, declared))
    outcome = compare_rows(rows, release, schema=declared)
    assert set(dict(outcome.violations).values()) == {0}
    assert outcome.to_json()["violations"]["admitted ≤ discharged"] == 0
    swapped = rows.rename({"admitted": "discharged", "discharged": "admitted"})
    worse = dict(compare_rows(rows, swapped, schema=declared).violations)
    assert worse["admitted ≤ discharged"] == (rows["admitted"] < rows["discharged"]).sum() > 0


def test_no_constraints_change_nothing():
    assert not Rules((2, 3))
    public = TablePublic.of(schema([]))
    assert leave_out(sf.Synthesizer(epsilon=1), public) == (public, None)
    assert public.rules.orders is None


@pytest.mark.parametrize("missing", [{}, {"missing": "code"}], ids=["known", "missing"])
@pytest.mark.parametrize(
    "method",
    [
        sf.Contingency(epsilon=5, delta="1e-6"),
        sf.MWEM(epsilon=5, delta="1e-6"),
        sf.PrivBayes(epsilon=5, delta="1e-6"),
        sf.Synthesizer(epsilon=5, delta="1e-6"),
    ],
    ids=lambda method: type(method).__name__,
)
def test_a_column_may_follow_from_another_beside_one_whose_values_are_found(method, missing):
    schema = sf.Schema.from_dict(
        {
            "job": {"kind": "category", "values": "discover", **missing},
            "city": ["A", "B", "C"],
            "region": ["N", "S"],
            "sex": ["f", "m"],
        },
        constraints=[
            {"determines": {"city": "region"}, "map": {"A": "N", "B": "N", "C": "S"}},
            {"impossible": {"sex": "m", "city": "B"}},
        ],
    )
    frame = pl.DataFrame(
        {
            "job": ["nurse", "porter"] * 500,
            "city": ["A", "A", "B", "C"] * 250,
            "region": ["N", "N", "N", "S"] * 250,
            "sex": ["f", "m", "f", "m"] * 250,
        }
    )
    with noise.seeded(3):
        release = method.release(sf.Table(frame, schema))
    counts = release.marginal(["job", "city"])
    assert {"nurse", "porter"} <= set(counts["job"])
    drawn = release.sample(200, seed=1)
    assert drawn.filter((pl.col("region") == "S") != (pl.col("city") == "C")).height == 0


def test_a_legal_row_is_handed_down_to_fewer_columns_and_to_bins():
    cities = [f"v{number}" for number in range(400)]
    flags = {f"x{number}": bool for number in range(16)}
    never = [{"impossible": {"half": half, name: False}} for half in "AB" for name in flags]
    groups = {"A": cities[:200], "B": cities[200:]}
    schema = sf.Schema.from_dict(
        {"half": ["A", "B"], **flags, "city": cities},
        constraints=[{"determines": {"city": "half"}, "groups": groups}, *never],
    )
    left, _ = schema.rules.without_followers()
    seen = left.see({left.sizes.index(400): np.arange(400) // 100})
    for rules in (left, seen):
        assert rules.example is not None
        assert rules.allows(rules.example[:, None]).all()
