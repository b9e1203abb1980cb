import json
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from sfumato.cli.exits import ExitCode
from sfumato.cli.methods import methods_for
from sfumato.cli.points import DEFAULT, POINTS
from sfumato.privacy.registry import command_name

AXES = ("--axis", "longitude=3:7", "--axis", "latitude=50:54")
SCHEMA = """\
[points]
unit = "person"
person = "who"
max_points = 2
rows_about = 500
geographic = true

[axes]
longitude = [3, 7]
latitude = [50, 54]
"""


@pytest.fixture
def checkins(tmp_path):
    """A few hundred points of a hundred people, with their schema beside."""
    generator = np.random.default_rng(4)
    lines = ["who,longitude,latitude"]
    for x, y in generator.normal((5, 52), 0.3, (400, 2)):
        lines.append(f"p{generator.integers(100)},{x:.4f},{y:.4f}")
    path = tmp_path / "checkins.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "checkins.schema.toml").write_text(SCHEMA, encoding="utf-8")
    return path


@pytest.fixture
def released(run, checkins):
    words = ("points", "release", checkins, "--epsilon", "1", "--method", "uniformgrid")
    told = run(*words, "--cells", "4", "--out", "o", "--no-report")
    assert told.code == 0
    return checkins.parent / "o"


def test_every_method_for_points_is_offered_and_the_default_is_one_of_them():
    assert DEFAULT in POINTS.methods.values()
    assert methods_for("points") == POINTS.methods
    assert command_name(DEFAULT) == "privtree"


def test_a_schema_is_declared_without_data_and_read_back(run, tmp_path):
    words = (
        "points", "schema", *AXES, "--geographic", "--unit", "person", "--person", "who",
        "--max-points", "2", "--rows-about", "500",
    )  # fmt: skip
    told = run(*words)
    assert told.code == 0
    document = run(*words, "--out", "x.toml", "--json").document
    assert document["written"] == "x.toml"
    assert (tmp_path / "x.toml").read_text() == told.out
    from sfumato.data.declarations import read_public

    declared = read_public(tmp_path / "x.toml", "points")
    assert declared.to_json() == document["schema"]
    assert declared.names == ("longitude", "latitude") and declared.contribution == 2
    again = run(*words, "--out", "x.toml")
    assert again.code == ExitCode.USAGE and "never overwritten" in again.err


def test_the_unit_has_to_be_said(run):
    told = run("points", "schema", *AXES)
    assert told.code == ExitCode.USAGE and "--unit" in told.err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--axis", "x=1"), "LOW:HIGH"),
        (("--axis", "x"), "NAME=LOW:HIGH"),
        (("--axis", "x=0:1", "--axis", "x=0:2"), "each name once"),
        (("--axis", "x=2:1"), "less than the upper"),
        (("--axis", "x=0:1", "--unit", "person"), "needs a bound"),
        (("--axis", "x=0:1", "--person", "who"), "goes with person"),
        (("--axis", "x=0:400", "--axis", "y=0:1", "--geographic"), "longitude"),
    ],
)
def test_a_declaration_that_cannot_be_is_refused(run, options, words):
    told = run("points", "schema", "--unit", "point", *options)
    assert told.code == ExitCode.USAGE and words in told.err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (SCHEMA.replace('unit = "person"\n', ""), "must state the unit"),
        (SCHEMA.replace("max_points", "max_point"), "'max_point'"),
        (SCHEMA.replace("[3, 7]", "[3]"), "[axes]"),
        (SCHEMA.replace("[points]", "[table]"), "this file describes table"),
        (SCHEMA + "[more]\nx = 1\n", "'more'"),
        ("[points", "Expected"),
    ],
)
def test_a_schema_file_that_is_wrong_is_an_error_of_the_data(run, checkins, text, words):
    (checkins.parent / "checkins.schema.toml").write_text(text, encoding="utf-8")
    told = run("points", "plan", checkins, "--epsilon", "1")
    assert told.code == ExitCode.DATA and words in told.err


def test_without_a_schema_the_way_to_one_is_told(run, checkins):
    (checkins.parent / "checkins.schema.toml").unlink()
    told = run("points", "plan", checkins, "--epsilon", "1")
    assert told.code == ExitCode.USAGE and "sfumato points schema" in told.err


def test_a_plan_and_a_rehearsal_read_the_schema_only(run, checkins):
    checkins.unlink()
    plan = run("points", "plan", checkins, "--epsilon", "1", "--json").document
    assert plan["plan"]["method"] == DEFAULT and plan["guarantee"]["unit"] == "person"
    made = run("points", "rehearse", checkins, "--epsilon", "1", "--rows", "20", "--json").document
    assert "rehearsal" in made["guarantee"]["caveat"] and made["cells"] >= 1


def test_a_plan_of_a_public_number_of_points_takes_the_declared_one(run, checkins):
    text = SCHEMA.replace("max_points = 2", 'max_points = 1\nrelation = "replace_one"')
    (checkins.parent / "checkins.schema.toml").write_text(text, encoding="utf-8")
    words = ("points", "plan", checkins, "--epsilon", "1", "--method", "uniformgrid", "--json")
    steps = run(*words).document["plan"]["steps"]
    assert len(steps) == 1


def test_a_release_is_booked_saved_reported_and_verified(run, checkins):
    book = checkins.parent / "checkins.ledger"
    assert run("ledger", "create", book, "--allow-epsilon", "2", "--unit", "person").code == 0
    words = ("points", "release", checkins, "--epsilon", "1", "--ledger", book)
    document = run(*words, "--out", "o", "--report", "--json").document
    assert document["kind"] == "spatial histogram" and document["method"] == DEFAULT
    assert document["left"] == {"measure": "pure", "epsilon": "1"}
    assert document["report"] == "o/report.html"
    page = (Path(__file__).parents[2] / "docs" / "points.md").read_text(encoding="utf-8")
    assert all(f"`{path.name}`" in page for path in (checkins.parent / "o").iterdir())
    assert run("verify", "o", "--ledger", book).code == 0
    assert run(*words, "--out", "p", "--epsilon", "2").code == ExitCode.BUDGET
    assert not (checkins.parent / "p").exists()
    rebound = run("ledger", "rebind", book, checkins, "--reason", "one point corrected")
    assert rebound.code == 0


def test_options_of_another_method_are_refused(run, checkins):
    words = ("points", "plan", checkins, "--epsilon", "1", "--method", "uniformgrid")
    told = run(*words, "--fan-out", "2")
    assert told.code == ExitCode.USAGE and "no parameter 'fan_out'" in told.err


def test_points_outside_the_bounds_are_named_by_row_and_never_shown(run, checkins):
    with checkins.open("a", encoding="utf-8") as file:
        file.write("p1,123.4567,52\n")
    told = run("points", "release", checkins, "--epsilon", "1", "--out", "o")
    assert told.code == ExitCode.DATA
    assert "401" in told.err and "123" not in told.err


@pytest.mark.parametrize("mark", [";", "\t"])
def test_another_separator_is_asked_for_where_the_header_holds_one(run, checkins, mark):
    checkins.write_text(checkins.read_text().replace(",", mark), encoding="utf-8")
    words = ("points", "release", checkins, "--epsilon", "1", "--out", "o", "--no-report")
    told = run(*words)
    assert told.code == ExitCode.DATA and "--separator" in told.err
    assert run(*words, "--separator", mark).code == 0


def test_boxes_are_counted_with_their_margins(run, released):
    words = ("points", "query", released, "--box", "4:6,51:53", "--box", ":,:", "--json")
    document = run(*words).document
    inner, whole = document["counts"]
    assert document["axes"] == ["longitude", "latitude"]
    assert whole["box"] == [[3, 7], [50, 54]]
    assert whole["count"] == pytest.approx(sf.load(released).total)
    # 4 and 16 whole cells: the margin grows with the square root.
    assert whole["margin"] == pytest.approx(2 * inner["margin"], abs=1)
    told = run("points", "query", released, "--box", "4:6,51:53")
    assert "19 times in 20" in told.out and "4 to 6" in told.out


def test_a_box_beyond_the_bounds_comes_with_a_note(run, released):
    words = ("points", "query", released, "--box", "4:6,51:53")
    inside = run(*words, "--box", "-inf:inf,51:53", "--json")
    assert inside.document["note"] is None and "outside" not in inside.err
    for box in ("6:9,51:53", "100:120,51:53"):
        beyond = run(*words, "--box", box)
        assert beyond.code == 0 and "beyond the declared bounds" in beyond.err
        assert "box 2" in run(*words, "--box", box, "--json").document["note"]


def test_a_file_of_boxes_is_counted(run, released, tmp_path):
    file = tmp_path / "boxes.csv"
    head = "longitude_from,longitude_to,latitude_from,latitude_to"
    file.write_text(f"{head}\n4,6,51,53\n3,7,50,54\n", encoding="utf-8")
    counts = run("points", "query", released, "--boxes", file, "--json").document["counts"]
    # The larger box adds up more noisy cells.
    assert len(counts) == 2 and counts[1]["margin"] >= counts[0]["margin"] > 0
    file.write_text(f"{head}\n4,six,51,53\n", encoding="utf-8")
    told = run("points", "query", released, "--boxes", file)
    assert told.code == ExitCode.DATA and "row 1" in told.err
    file.write_text("longitude_from\n4\n", encoding="utf-8")
    told = run("points", "query", released, "--boxes", file)
    assert told.code == ExitCode.DATA and "longitude_to" in told.err


@pytest.mark.parametrize(
    "box", [(), ("--box", "4:6"), ("--box", "4:6,a:b"), ("--box", "6:4,51:53")]
)
def test_a_box_that_is_none_is_refused(run, released, box):
    assert run("points", "query", released, *box).code == ExitCode.USAGE


def test_margins_are_not_made_up_where_counts_were_repaired(run, checkins):
    words = ("points", "release", checkins, "--epsilon", "1", "--no-report", "--out")
    assert run(*words, "p").code == 0
    (told,) = run("points", "query", "p", "--box", ":,:", "--json").document["counts"]
    assert told["margin"] is None
    assert run(*words, "q", "--counts", "leaves").code == 0
    (told,) = run("points", "query", "q", "--box", ":,:", "--json").document["counts"]
    assert told["margin"] > 0


@pytest.mark.parametrize("ending", ["svg", "png", "html", "geojson"])
def test_a_map_is_written_in_every_form(run, released, ending, tmp_path):
    out = tmp_path / f"map.{ending}"
    document = run("points", "map", released, "--out", out, "--json").document
    assert document == {"ok": True, "map": str(out), "cells": 16}
    content = out.read_bytes()
    if ending == "geojson":
        assert len(json.loads(content)["features"]) == 16
    elif ending == "html":
        assert content.count(b"<title>about ") == 16 and b"<script" not in content
    else:
        assert len(content) > 1000


def test_a_map_of_another_form_or_of_a_table_is_refused(run, released, tmp_path):
    told = run("points", "map", released, "--out", tmp_path / "map.doc")
    assert told.code == ExitCode.USAGE and ".geojson" in told.err
    told = run("sequences", "top", released)
    assert told.code == ExitCode.USAGE and "spatial histogram" in told.err


def test_an_evaluation_is_marked_as_not_private(run, checkins, released):
    told = run("points", "evaluate", checkins, released, "--queries", "50", "--json")
    assert told.code == 0 and "Not private" in told.err
    assert told.document["private"] is False
    assert [item["size"] for item in told.document["boxes"]] == ["small", "medium", "large"]
    shown = run("points", "evaluate", checkins, released, "--queries", "50")
    assert "Not private" in shown.out and "50 large" in shown.out
