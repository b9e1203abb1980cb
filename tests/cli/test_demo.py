import json

import polars as pl
import pytest

import sfumato as sf
from sfumato.cli.demo.folder import MARK, prepare
from sfumato.cli.demo.population import MOST_VISITS, clinic
from sfumato.cli.exits import ExitCode, Refusal


def test_the_clinic_is_the_same_every_time_and_fits_its_schema():
    first, second = clinic(persons=400), clinic(persons=400)
    assert first.visits.equals(second.visits)
    table = sf.Table(first.visits, first.schema)
    assert table.public.unit == "person" and table.dropped_rows > 0


def test_the_clinic_has_the_relations_a_reader_expects():
    visits = clinic().visits
    assert visits.group_by("person").len()["len"].max() <= MOST_VISITS
    assert visits.filter((pl.col("age") < 16) & (pl.col("smoker") == "yes")).is_empty()

    def share(condition, diagnosis):
        chosen = visits.filter(condition)
        return chosen.filter(pl.col("diagnosis") == diagnosis).height / chosen.height

    old, young = pl.col("age") >= 60, pl.col("age") < 30
    assert share(old, "hypertension") > 3 * share(young, "hypertension")
    smokes = pl.col("smoker") == "yes"
    assert share(smokes, "respiratory") > 1.5 * share(~smokes, "respiratory")


def test_a_folder_that_the_demo_did_not_make_is_never_replaced(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work", encoding="utf-8")
    for force in (False, True):
        with pytest.raises(Refusal) as refusal:
            prepare(tmp_path, force=force)
        assert refusal.value.code is ExitCode.USAGE
    assert (tmp_path / "thesis.tex").exists()


def test_an_earlier_demo_is_replaced_only_by_force(tmp_path):
    root = tmp_path / "demo"
    prepare(root, force=False)
    (root / "old").touch()
    with pytest.raises(Refusal, match="--force"):
        prepare(root, force=False)
    prepare(root, force=True)
    assert (root / MARK).is_file() and not (root / "old").exists()


@pytest.mark.slow
def test_the_demo_goes_the_whole_way(run, tmp_path):
    told = run("demo", "--out", "d")
    assert told.code == 0
    assert "missing ε = 0.5" in told.out and "Open d/start-here.html" in told.out
    root = tmp_path / "d"
    for name in ("README.txt", "start-here.html", "report.html", "synthetic-visits.csv"):
        assert (root / name).stat().st_size > 0
    assert len(list((root / "pictures").glob("*.svg"))) == 8
    assert sf.verify(root / "release", ledger=sf.Ledger.open(root / "data/clinic.ledger")).passed
    page = (root / "start-here.html").read_text(encoding="utf-8")
    assert "<script" not in page and "clinic.ledger refuses" in page
    synthetic = pl.read_csv(root / "synthetic-visits.csv")
    assert "person" not in synthetic.columns and synthetic.height > 5_000
    again = run("demo", "--out", "d", "--force", "--json")
    assert again.code == 0 and json.loads(again.out)["verification"]["passed"]
