import polars as pl
import pytest

import sfumato as sf

from .test_page import outline, words


@pytest.fixture(scope="module")
def strange():
    frame = pl.DataFrame(
        {
            "<b>age</b>": [10.0, 20.0, 30.0, 40.0] * 60,
            "group": ["a & b", "$x^{$", "<script>"] * 80,
            "left": [True, False] * 120,
            "size": [1.5, 2.5, 3.5] * 80,
        }
    )
    schema = {
        "<b>age</b>": {"kind": "real", "low": 0, "high": 50},
        "group": ["a & b", "$x^{$", "<script>"],
        "left": bool,
        "size": {"kind": "real", "low": 0, "high": 5},
    }
    return sf.Table(frame, sf.Schema.from_dict(schema))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"target": "size"}, ("between 0 and 5", "each 1 more", "true instead of false")),
        ({"target": "size", "categories": "places"}, ("each place further",)),
        ({"target": "left", "positive": ["true"]}, ("whether left is true", "log of the odds")),
    ],
)
def test_a_page_of_a_regression(options, told, strange, tmp_path):
    release = sf.FunctionalRegression(epsilon=5, **options).release(strange)
    release.save(tmp_path / "o")
    page = sf.save_report(tmp_path / "o").read_text(encoding="utf-8")
    text = words(page)
    headings = ("The model", "How a prediction is computed", "How to use it", "What was declared")
    for heading in (*headings, *told, "<b>age</b>", "(constant)"):
        assert heading in text
    assert not {"b", "script"} & set(outline(page).tags)
    assert "regress predict" in text and "attack inversion" in text


def test_of_very_many_coefficients_the_largest_are_listed():
    values = [f"v{number}" for number in range(100)]
    frame = pl.DataFrame({"kind": values, "y": [number / 100 for number in range(100)]})
    schema = {"kind": values, "y": {"kind": "real", "low": 0, "high": 1}}
    table = sf.Table(frame, sf.Schema.from_dict(schema))
    release = sf.FunctionalRegression(epsilon=1, target="y").release(table)
    grid = next(block for block in release.sections()[0].blocks if block.form == "grid")
    assert len(grid.rows) == 62 and grid.rows[-1][0] == "and 40 more"


def test_a_page_says_how_sure_single_figures_are(strange):
    def told(release):
        blocks = release.sections()[0].blocks
        grid = next(block for block in blocks if block.form == "grid")
        return " ".join(block.words for block in blocks if block.form == "text"), grid.rows

    words_told, rows = told(sf.FunctionalRegression(epsilon=5, target="size").release(strange))
    assert "does not tell how sure single figures are" in words_told
    assert "mostly noise" in words_told and "±" not in str(rows)
    careful = sf.RobustLinearRegression(epsilon=5, target="size").release(strange)
    words_told, rows = told(careful)
    assert "drawn towards 0" in words_told and "LinearRegression" in words_told
    assert all("±" in row[2] for row in rows if "declared first" not in row[1])
