import polars as pl
import pytest

import sfumato as sf


@pytest.fixture
def table():
    frame = pl.DataFrame(
        {
            "age": [3, 14, 15, 27, 33, 38] * 40,
            "group": ["<script>alert(1)</script>", "a & b", "$x^{$"] * 80,
        }
    )
    schema = sf.Schema.from_dict(
        {"age": (0, 40, 4), "group": ["<script>alert(1)</script>", "a & b", "$x^{$"]},
        rows_about=240,
    )
    return sf.Table(frame, schema)


@pytest.fixture
def saved(table, tmp_path):
    release = sf.Marginals(epsilon=1).release(table)
    release.save(tmp_path / "release")
    return tmp_path / "release"
