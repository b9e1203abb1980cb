import numpy as np
import pytest

from sfumato.local import (
    HadamardResponse,
    LocalHash,
    MeanResponse,
    RandomizedResponse,
    SubsetSelection,
    Tally,
    UnaryEncoding,
)

DESIGNS = [RandomizedResponse, UnaryEncoding, LocalHash, SubsetSelection, HadamardResponse]


@pytest.mark.parametrize("kind", DESIGNS)
def test_tallies_of_parts_add_up_and_go_through_plain_files(kind):
    design = kind(epsilon=1, answers=5)
    reports = design.perturb_all(np.arange(40) % 5)
    whole = Tally.empty(design).add(reports)
    parts = Tally.empty(design).add(reports[:13]) + Tally.empty(design).add(reports[13:])
    assert parts == whole and whole.reports == 40
    assert Tally.empty(design).add(reports.plain()) == whole
    assert Tally.from_json(whole.to_json()) == whole
    assert Tally.empty(design).add(iter(reports.plain())) == whole


def test_a_tally_does_not_change_under_its_owner():
    tally = Tally.empty(RandomizedResponse(epsilon=1, answers=["yes", "no"]))
    more = tally.add(["yes"])
    assert tally.reports == 0 and more.counts.tolist() == [1, 0]
    with pytest.raises(ValueError, match="read-only"):
        more.counts[0] = 5


def test_what_does_not_fit_is_refused():
    survey = RandomizedResponse(epsilon=1, answers=["yes", "no"])
    other = RandomizedResponse(epsilon=2, answers=["yes", "no"])
    with pytest.raises(ValueError, match="only tallies of the same design"):
        Tally.empty(survey) + Tally.empty(other)
    with pytest.raises(ValueError, match="one count for each of the 2 answers"):
        Tally(survey, np.zeros(3, dtype=np.int64), 0)
    with pytest.raises(ValueError, match="exceeds the number of reports"):
        Tally(survey, np.array([3, 0]), 2)
    with pytest.raises(ValueError, match="whole numbers"):
        Tally(survey, np.array([-1, 0]), 2)
    with pytest.raises(ValueError, match="'maybe' is not one of the answers"):
        Tally.empty(survey).add(["maybe"])
    with pytest.raises(ValueError, match="support 2 answers in all"):
        Tally(survey, np.array([2, 2]), 2)
    with pytest.raises(ValueError, match="put a single report into a list"):
        Tally.empty(RandomizedResponse(epsilon=1, answers=3)).add("012")
    with pytest.raises(ValueError, match="collects numbers"):
        Tally.empty(MeanResponse(epsilon=1, low=0, high=1))


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        ("counts", [1.5, 0.5], "whole numbers"),
        ("counts", [-1, 3], "of at least 0"),
        ("counts", [2], "must have 2 counts"),
        ("counts", [10**30, 0], "whole numbers"),
        ("reports", 2.0, "a whole number"),
        ("reports", 1, "exceeds the number of reports"),
    ],
)
def test_a_tally_of_a_file_is_checked(key, value, why):
    survey = RandomizedResponse(epsilon=1, answers=["yes", "no"])
    document = Tally.empty(survey).add(["yes", "yes"]).to_json()
    with pytest.raises(ValueError, match=why):
        Tally.from_json({**document, key: value})
    del document[key]
    with pytest.raises(ValueError, match="is incomplete"):
        Tally.from_json(document)
