"""Pictures of columns and pairs show what is most frequent, and say what they leave out."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.data.table import TablePublic
from sfumato.report.drawing import picture_svg
from sfumato.tabular.pages import MOST_VALUES, column_picture, pair_picture
from sfumato.tabular.synthetic import NoisyTable, SyntheticTable
from tests.tabular.fixed import FixedModel


def release(counts, deviation=1.0):
    """A synthetic table of one column or two, with these counts."""
    counts = np.asarray(counts, dtype=np.float64)
    names = ["land", "sea"][: counts.ndim]
    schema = sf.Schema.from_dict(
        {
            name: [f"{name}-{number:02}" for number in range(size)]
            for name, size in zip(names, counts.shape, strict=True)
        }
    )
    measured = [NoisyTable("t", (0,), (0,), counts.shape[0], deviation)]
    return SyntheticTable(TablePublic.of(schema), FixedModel(counts), counts.sum(), measured)


def test_a_last_value_that_dominates_is_drawn_and_named():
    counts = np.arange(41.0, -1.0, -1.0)
    counts[-1] = 9000
    picture = column_picture(release(counts), "land")
    assert "most often land-41, about 9,000 rows" in picture.caption
    assert "the 11 least frequent values are drawn as one bar" in picture.caption
    assert "files" not in picture.caption
    svg = picture_svg(picture)
    drawn = [number for number in range(42) if f"land-{number:02}" in svg]
    # The most frequent ones in the order of the schema, then a bar for all others.
    assert drawn == [*range(MOST_VALUES - 2), 41]
    places = [svg.index(f"land-{number:02}") for number in drawn]
    assert places == sorted(places) and svg.index("(11 others)") > places[-1]


@pytest.mark.parametrize("size", [1, MOST_VALUES])
def test_as_many_values_as_fit_are_all_drawn(size):
    picture = column_picture(release(np.ones(size)), "land")
    svg = picture_svg(picture)
    assert "others" not in svg and "one bar" not in picture.caption
    assert all(f"land-{number:02}" in svg for number in range(size))


@pytest.mark.parametrize(
    ("faint", "words"),
    [(0, "of land."), (1, "1 line with too few rows to tell from noise is left blank."),
     (2, "2 lines with too few rows to tell from noise are left blank.")],
)  # fmt: skip
def test_lines_left_blank_are_counted(faint, words):
    counts = np.full((4, 2), 500.0)
    counts[:faint] = 0.1
    assert pair_picture(release(counts), (0, 1)).caption.endswith(words)
