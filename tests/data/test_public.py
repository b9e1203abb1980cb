"""Declared numbers of records: whole, finite, and of a size that can be computed with."""

import pytest

import sfumato as sf
from sfumato.data.points import PointsPublic
from sfumato.data.public import MOST_RECORDS
from sfumato.data.sequences import SequencesPublic

HOPELESS = [float("inf"), float("nan"), -1, 10**30, 1.5, True, "40", MOST_RECORDS + 1]


def points(**facts):
    return PointsPublic(bounds=((0, 1),), unit="point", relation="add_remove", **facts)


def sequences(**facts):
    return SequencesPublic(alphabet=("a",), unit="sequence", relation="add_remove", **facts)


def schema(**facts):
    return sf.Schema.from_dict({"a": ["x", "y"]}, **facts)


@pytest.mark.parametrize("value", HOPELESS, ids=str)
@pytest.mark.parametrize("declare", [points, sequences, schema])
def test_no_hopeless_number_of_records_is_declared(declare, value):
    with pytest.raises(ValueError, match=r"rows_about must be a whole number from 0 to 1,000,000,"):
        declare(rows_about=value)


@pytest.mark.parametrize("value", [float("inf"), 0, 10**30, True, 2.0], ids=str)
def test_no_hopeless_bound_is_declared(value):
    axes = {"bounds": ((0, 1),), "relation": "add_remove"}
    with pytest.raises(ValueError, match="max_points must be a whole number from 1 to 1,000"):
        PointsPublic(unit="person", person="who", contribution=value, **axes)
    with pytest.raises(ValueError, match="max_sequences must be a whole number from 1 to 1,000"):
        SequencesPublic(alphabet=("a",), unit="person", contribution=value, relation="add_remove")
    with pytest.raises(ValueError, match="max_rows must be a whole number from 1 to 1,000"):
        schema(unit="person", person="who", max_rows=value)


def test_grids_of_the_most_records_are_planned_at_once():
    public = PointsPublic(
        bounds=((0, 1), (0, 1)), unit="point", relation="add_remove", rows_about=MOST_RECORDS
    )
    for method in (sf.UniformGrid, sf.AdaptiveGrid, sf.PrivTree):
        assert method(epsilon=1).plan(public).steps


@pytest.mark.parametrize("value", ["inf", "nan", float("inf"), 10**30, 2**53 + 1], ids=str)
def test_whole_parameters_stay_within_64_bits(value):
    with pytest.raises(ValueError, match="ways must be a whole number of at least 1"):
        sf.Marginals(epsilon=1, ways=value)
    with pytest.raises(ValueError, match="cells must be a whole number of at least 1"):
        sf.UniformGrid(epsilon=1, cells=value)
    if isinstance(value, int):
        with pytest.raises(ValueError, match=r"of at least 1, and at most 2\*\*53; got"):
            sf.Marginals(epsilon=1, ways=value)


@pytest.mark.parametrize("value", ["1e-3999", "1e-101", "1e101", "1e3999", "inf", "nan"])
def test_shares_and_scales_stay_within_floating_point(value):
    with pytest.raises(ValueError, match="theta must be positive and finite"):
        sf.PrivBayes(epsilon=1, theta=value)
    with pytest.raises(ValueError, match="selection_share must be greater than 0 and less than 1"):
        sf.MWEM(epsilon=1, selection_share=value)
    if value == "1e-101":
        with pytest.raises(ValueError, match=r"less than 1, by 1e-06 or more; got '1e-101'"):
            sf.MWEM(epsilon=1, selection_share=value)
