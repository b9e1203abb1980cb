"""Columns whose values nobody listed: found with a part of (ε, δ), by every method for tables."""

import json
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest

import sfumato as sf
from sfumato import noise
from sfumato.audit import canonical_pairs
from sfumato.audit.replaying import examine
from sfumato.data.table import TablePublic
from sfumato.data.table_queries import DiscoverableValues
from sfumato.engines.coding import Categories, Discover
from sfumato.evaluate.table import evaluate
from sfumato.mechanisms.partition_selection import FrequentValues
from sfumato.privacy import door
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import ZCDP, ApproxDP, Joint
from sfumato.privacy.loss_check import check_accounts
from sfumato.privacy.record import record
from sfumato.tabular.discovery import discovery_loss, rest_of
from tests import everything

OPEN = {"kind": "category", "values": "discover"}
RARE = ["Ulan Bator"] * 2
TOWNS = ["Rome"] * 900 + ["007"] * 800 + ["Oslo"] * 700 + RARE
#: Generous, so that few rows suffice: 29 of them are always more than twice the threshold.
METHOD = {"epsilon": 4, "delta": "1e-3", "discover_share": Fraction(1, 2)}


def schema(**options):
    columns = {"town": OPEN, "rich": ["no", "yes"]}
    return sf.Schema.from_dict({**columns, **options.pop("columns", {})}, **options)


def table(towns=TOWNS, **options):
    rich = ["yes" if i % 3 else "no" for i in range(len(towns))]
    frame = pl.DataFrame({"town": pl.Series(towns, dtype=pl.String), "rich": rich})
    return sf.Table(frame, schema(**options))


def marginals(**options):
    return sf.Marginals(**{**METHOD, "ways": 1, **options})


def methods():
    """Every method that takes a table, and the parameters of its example."""
    found = [
        m for m in everything.methods() if m.kind == "table" and m.__module__.find("publi") < 0
    ]
    return sorted(found, key=lambda method: method.__name__)


def test_frequent_values_are_found_and_the_rest_is_other():
    release = marginals().release(table())
    assert release.public.labels("town") == ("007", "Oslo", "Rome", "(other)")
    (found,) = release.discovered
    assert found.values == ("007", "Oslo", "Rome") and found.surplus == 0
    np.testing.assert_allclose(found.counts, [800, 700, 900], atol=found.selection.reach)
    counts = release.counts(["town"])
    np.testing.assert_allclose(counts, [800, 700, 900, 2], atol=40)
    # Nothing that only a few have is anywhere in what is published.
    assert not any(b"Ulan" in content for content in release.files().values())
    assert "The values of town were not declared: 3 frequent values were found" in release.words()


def test_a_release_is_rebuilt_from_its_transcript_and_a_changed_value_is_seen(tmp_path):
    marginals().release(table()).save(tmp_path / "release")
    assert sf.verify(tmp_path / "release").passed
    loaded = sf.load(tmp_path / "release")
    assert loaded.public.labels("town") == ("007", "Oslo", "Rome", "(other)")
    # The declaration stays what it was: the values are an outcome.
    assert loaded.provenance.public.undiscovered == (0,)
    assert (
        json.loads((tmp_path / "release/public.json").read_text())["schema"]["columns"]["town"][
            "values"
        ]
        == "discover"
    )
    from sfumato.privacy.door import rebuild_from_transcript
    from sfumato.privacy.program import DoesNotFollow
    from sfumato.privacy.transcript import Transcript

    document = loaded.transcript.to_files()
    for new in ("(other)", "a\\u001bb", " Rome", "0"):
        changed = document["transcript.json"].replace(b'"Rome"', f'"{new}"'.encode())
        with pytest.raises((DoesNotFollow, ValueError)):
            rebuild_from_transcript(
                loaded.provenance.method,
                loaded.provenance.public,
                Transcript.from_files({**document, "transcript.json": changed}),
            )


def test_a_method_without_delta_refuses_before_anything_is_booked(tmp_path):
    ledger = sf.Ledger.create(tmp_path / "ledger", allow=sf.ApproxDP(9, "1e-2"), unit="row")
    method = sf.Marginals(epsilon=1)
    for refused in (
        lambda: method.release(table(), ledger),
        lambda: method.plan(table().public),
        lambda: sf.rehearse(method, table().public),
    ):
        with pytest.raises(ValueError, match=r"'town'.*needs a delta.*list the values"):
            refused()
    assert ledger.spent.epsilon == 0
    # A column that is not used needs nothing.
    release = sf.Marginals(epsilon=1, tables=[["rich"]]).release(table(), ledger)
    assert release.public.columns == ("rich",)
    assert isinstance(release.guarantee.loss, sf.PureDP)


def test_the_loss_is_what_was_asked_for_and_all_of_it_is_accounted():
    data, method = table(), marginals()
    release = method.release(data)
    assert release.guarantee.loss == ApproxDP(4, "1e-3") and release.guarantee.also == ()
    joint = method.budget_loss(data.public)
    assert isinstance(joint, Joint) and joint.implies(ApproxDP(4, "1e-3"))
    assert joint.with_delta == discovery_loss(method) == ApproxDP(2, "5e-4")
    assert joint.concentrated == ZCDP.within(ApproxDP(2, "5e-4")) == rest_of(method).working_loss()
    check_accounts(release.transcript, joint, data.public)
    less = Joint(ApproxDP("1.999", "5e-4"), joint.concentrated)
    with pytest.raises(ValueError, match="spends"):
        check_accounts(release.transcript, less, data.public)
    assert [cut.path for cut in release.transcript.slices][:2] == [
        ("discovery",),
        ("discovery", "values of town"),
    ]


def test_a_column_that_is_not_used_is_not_asked_about():
    data = table()
    method = sf.Marginals(**METHOD, tables=[["rich"]])
    recording = record(method, data)
    assert [step.label for step in recording] == ["rich"]
    assert method.budget_loss(data.public) == method.working_loss()


@pytest.mark.slow
@pytest.mark.parametrize("method", methods(), ids=lambda method: method.__name__)
def test_every_method_finds_values_or_refuses_the_column(method):
    public = table().public
    if not method.discovers:
        # The formula of the example names the first column that it can use.
        only = public.only(["town"])
        with pytest.raises(ValueError, match="cannot find the values of 'town'"):
            method.example_method(4, only).check(only)
        return
    release = method.example_method(
        **{"public": public, **METHOD},
        **({"columns": None} if method is sf.Histogram else {}),
    ).release(table())
    assert "Rome" in release.public.labels("town")


@pytest.mark.parametrize("towns", [[], ["Rome"], ["Rome"] * 3])
def test_where_nothing_is_found_all_is_other(towns):
    with noise.seeded(1):
        release = sf.Independent(epsilon=1, delta="1e-9").release(table(towns))
    assert release.public.labels("town") == ("(other)",)
    assert set(release.sample(10)["town"]) == {"(other)"}


def test_missing_values_stay_missing():
    options = {"columns": {"town": {**OPEN, "missing": "code", "missing_values": ["?"]}}}
    release = marginals().release(table([*TOWNS, *[None] * 300, *["?"] * 200], **options))
    assert release.public.labels("town")[-2:] == ("(other)", "(missing)")
    np.testing.assert_allclose(release.counts(["town"])[-1], 500, atol=40)


def test_at_most_so_many_values_are_kept_and_the_most_frequent():
    options = {"columns": {"town": {**OPEN, "most": 2}}}
    (found,) = marginals().release(table(**options)).discovered
    assert found.values == ("007", "Rome") and found.surplus == 1


def test_two_open_columns_share_what_finding_values_costs():
    frame = pl.DataFrame({"town": TOWNS, "job": [t[::-1] for t in TOWNS]})
    data = sf.Table(frame, {"town": "discover", "job": "discover"})
    release = marginals(ways=2).release(data)
    costs = [e.cost for e in release.transcript if e.label.startswith("values of")]
    assert [cost["epsilon"] for cost in costs] == ["1", "1"]
    assert release.public.sizes == (4, 4)


def test_a_column_called_like_a_label_is_told_apart():
    frame = pl.DataFrame({"town": TOWNS, "values of town": TOWNS})
    data = sf.Table(
        frame, {"town": "discover", "values of town": [*TOWNS[:1], "007", "Oslo", RARE[0]]}
    )
    release = sf.Marginals(**METHOD, ways=1).release(data)
    assert release.public.sizes == (4, 4)


def test_values_found_in_bins_of_other_columns():
    frame = pl.DataFrame({"town": TOWNS, "age": [i % 100 for i in range(len(TOWNS))]})
    data = sf.Table(frame, {"town": "discover", "age": (0, 99)})
    release = sf.Independent(**METHOD, binner="quantile", bins=4).release(data)
    assert release.public.sizes == (4, 100)
    assert set(release.sample(50)["town"]) <= {"Rome", "007", "Oslo", "(other)"}


def test_evaluation_sees_the_table_through_the_values_that_were_found():
    data = table()
    release = sf.Independent(**METHOD).release(data)
    assert evaluate(data, release).by_ways[0].worst.total_variation < 0.05


def test_the_plan_says_what_is_found_and_what_is_not():
    plan = sf.Marginals(epsilon=1, delta="1e-9").plan(schema(rows_about=100_000).public)
    first = plan.steps[0]
    assert first.what == "the values of town" and first.loss == ApproxDP("1/10", "1/2000000000")
    assert "unlikely to be found" in first.error and "rows" in first.error
    selection = FrequentValues.within(ApproxDP("1/10", "1/2000000000"), 200, Relation.ADD_REMOVE)
    seldom, often = (int(first.figures[name]) for name in ("seldom", "often"))
    assert selection.keep_probability(seldom - 1) < 0.05 <= selection.keep_probability(seldom)
    assert selection.keep_probability(often - 1) < 0.95 <= selection.keep_probability(often)
    assert (
        sum((s.loss.rho for s in plan.steps[1:]), Fraction(0))
        <= ZCDP.within(ApproxDP("9/10", "1/2000000000")).rho
    )
    persons = schema(unit="person", person="who", max_rows=1).public
    assert "persons" in sf.Marginals(epsilon=1, delta="1e-9").plan(persons).steps[0].error


def test_a_check_assumes_the_most_values_that_may_be_found():
    wide = {f"c{i}": {**OPEN, "most": 10_000} for i in range(2)}
    public = sf.Schema.from_dict(wide).public
    with pytest.raises(ValueError, match="cells"):
        sf.Histogram(epsilon=1, delta="1e-9").check(public)


@pytest.mark.parametrize("rows", [0, 1, 5000])
def test_a_rehearsal_makes_values_up(rows):
    with noise.seeded(2):
        release = sf.rehearse(sf.Independent(**METHOD), table().public, rows=rows)
    found = release.discovered[0].values
    assert all(value.startswith("value ") for value in found) and bool(found) == (rows > 1)


RELATIONS = [
    {},
    {"relation": "replace_one"},
    {"unit": "person", "person": "who", "max_rows": 3},
]


@pytest.mark.parametrize("options", RELATIONS, ids=["rows", "replaced", "persons"])
def test_replay_finds_nothing_on_neighbours_and_finds_half_the_price(options, monkeypatch):
    public = TablePublic.of(schema(**options))
    method = marginals()
    found = [examine(method, pair, seeds=range(3)) for pair in canonical_pairs(public)]
    assert all(findings.passed for findings in found), found
    assert max(findings.largest for findings in found) > 0.6
    price = FrequentValues.cost
    monkeypatch.setattr(
        FrequentValues, "cost", lambda self, measure: price(self, measure).share(Fraction(1, 2))
    )
    monkeypatch.setattr(
        FrequentValues,
        "within",
        classmethod(
            lambda cls, limit, longest, relation: cls(
                epsilon=limit.epsilon * (1 if relation is Relation.REPLACE_ONE else 2),
                reach=20,
                longest=longest,
                relation=relation,
            )
        ),
    )
    broken = [examine(method, pair, seeds=range(1)) for pair in canonical_pairs(public)]
    assert any(not findings.passed for findings in broken)


def test_replay_sees_a_delta_that_is_too_large(monkeypatch):
    """The keep-probability of a lone value is compared with δ, exactly."""
    public = table().public
    monkeypatch.setattr(
        FrequentValues, "delta", property(lambda self: Fraction(1, 10**5)), raising=True
    )
    monkeypatch.setattr(
        FrequentValues,
        "within",
        classmethod(
            lambda cls, limit, longest, relation: cls(
                epsilon=limit.epsilon, reach=2, longest=longest, relation=relation
            )
        ),
    )
    found = [examine(marginals(), pair, seeds=range(1)) for pair in canonical_pairs(public)]
    assert any("loss" in fault for findings in found for fault in findings.faults)


@pytest.mark.parametrize(
    "bad",
    [
        {"values": "Discover"},
        {"values": "discover", "longest": 0},
        {"values": "discover", "most": 1.5},
        {"values": "discover", "taxonomy": [["a"]]},
        {"values": "discover", "outside": "refuse"},
        {"values": "discover", "bins": 3},
    ],
)
def test_bad_declarations_are_refused(bad):
    with pytest.raises(ValueError, match="column 'town'"):
        sf.Schema.from_dict({"town": {"kind": "category", **bad}})


def test_a_schema_file_keeps_the_declaration(tmp_path):
    declared = sf.Schema.from_dict(
        {"town": {**OPEN, "longest": 30, "most": 7, "missing": "code"}, "job": "discover"}
    )
    declared.write(tmp_path / "s.toml")
    assert 'values = "discover"' in (tmp_path / "s.toml").read_text()
    assert sf.Schema.read(tmp_path / "s.toml") == declared
    assert declared["job"].coding == Discover()
    assert declared["town"].coding.labels == ("(other)", "(missing)")


def test_a_draft_proposes_to_find_texts_that_repeat_and_leaves_names_out():
    frame = pl.DataFrame(
        {
            "town": [f"town {i % 80}" for i in range(1000)],
            "name": [f"name {i}" for i in range(1000)],
            "sex": ["f", "m"] * 500,
        }
    )
    draft = sf.Schema.draft(frame)
    assert isinstance(draft["town"].coding, Discover) and draft.left_out == ("name",)
    from sfumato.data.toml import write_schema

    line = next(x for x in write_schema(draft).splitlines() if "discover" in x)
    assert "too many to list" in line and "delta" in line
    assert isinstance(draft["sex"].coding, Categories)


def test_a_page_shows_found_values_and_runs_none_of_them(tmp_path):
    towns = [*TOWNS, *["<script>alert(1)</script>"] * 600, *["\x1b[2Jgone"] * 600]
    release = marginals().release(table(towns))
    assert "<script>alert(1)</script>" in release.discovered[0].values
    assert not any("gone" in value for value in release.discovered[0].values)
    from sfumato.report.page import save_report

    release.save(tmp_path / "r")
    page = save_report(sf.load(tmp_path / "r"), tmp_path / "page.html")
    text = (page if hasattr(page, "read_text") else tmp_path / "page.html").read_text()
    assert "Values that were found" in text
    assert "<script>alert(1)" not in text and "&lt;script&gt;" in text
    assert "\x1b" not in text


def test_a_release_warns_of_found_values_that_a_spreadsheet_may_run(tmp_path):
    risky = ['=HYPERLINK("x")', "@x", "-x"]
    towns = [*TOWNS, *(text for text in [*risky, "-5"] for _ in range(600))]
    release = marginals().release(table(towns))
    assert {*risky, "-5"} < set(release.discovered[0].values)
    assert "3 of them begin with =, +, - or @" in release.words()
    assert "spreadsheet" not in marginals().release(table()).words()
    # The texts themselves are read back exactly.
    release.save(tmp_path / "r")
    assert "3 of them begin with" in " ".join((tmp_path / "r/README.txt").read_text().split())
    written = pl.read_csv(tmp_path / "r/codebook.csv")["value"]
    assert {*risky, "-5"} < set(written)


@pytest.mark.parametrize(
    "method", [m for m in methods() if m.discovers], ids=lambda method: method.__name__
)
def test_room_is_reserved_for_the_most_values_that_may_be_found(method):
    names = [f"{i:02}".ljust(60, "x") for i in range(100)]
    data = table(names * 200, columns={"town": {**OPEN, "most": 100, "longest": 60}})
    made = method.example_method(
        **{"public": data.public, **METHOD},
        **({"columns": None} if method is sf.Histogram else {}),
    )
    room = door.try_out(door.prepare(made, data.public)).transcript
    release = made.release(data)
    assert len(release.discovered[0].values) == 100
    assert sum(map(len, release.transcript.to_files().values())) <= door._GROWTH * room


def test_only_the_engine_knows_what_occurs():
    data = table()
    assert data.counts.sizes == (1, 2) == data.public.sizes
    assert "Ulan" not in repr(data) + repr(data.counts) + repr(data.public)
    found = DiscoverableValues(0).answer(data)
    assert found.as_dict() == {"Rome": 900, "007": 800, "Oslo": 700, "Ulan Bator": 2}
    with pytest.raises(ValueError, match="not one whose values"):
        DiscoverableValues(1).answer(data)


@pytest.mark.parametrize(
    "moment",
    [
        np.datetime64("20000-01-01"),
        np.datetime64("-0005", "Y"),
        np.datetime64("20000-01-01T00:00:00.000001"),
        np.datetime64("2000-01-01"),
    ],
)
def test_moments_of_any_year_are_refused_in_open_columns(moment):
    """How they are written depends on the unit of their array, and so on other records."""
    schema = sf.Schema.from_dict({"t": "discover"})
    with pytest.raises(ValueError, match="not text"):
        sf.Table(pd.DataFrame({"t": pd.Series([moment, "x"], dtype=object)}), schema)
