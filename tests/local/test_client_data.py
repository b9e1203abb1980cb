"""A client's own ledger is the client's: what it refuses never depends on an answer."""

import numpy as np
import pytest

from sfumato.local import MeanResponse, RandomizedResponse
from sfumato.local.edge_response import EdgeResponse
from sfumato.local.multi_response import MultiResponse
from sfumato.privacy.ledger import BudgetExceeded, Ledger, LedgerError
from sfumato.privacy.loss import PureDP


@pytest.fixture
def own(tmp_path):
    return Ledger.create(
        tmp_path / "own.ledger", allow=PureDP(6), unit="report", relation="replace_one"
    )


@pytest.mark.parametrize("second", ["neg", "pos"])
@pytest.mark.parametrize("first", ["no", "yes"])
def test_a_second_report_goes_through_whatever_the_answers_are(own, first, second):
    RandomizedResponse(epsilon=1, answers=["no", "yes"]).perturb(first, own)
    RandomizedResponse(epsilon=1, answers=["neg", "pos"]).perturb(second, own)
    assert own.spent == PureDP(2)


def test_one_ledger_keeps_all_that_a_client_ever_tells(own):
    record = MultiResponse(epsilon=1, questions={"a": ["x", "y"], "b": ["x", "y"]}, how="split")
    number = MeanResponse(epsilon=1, low=0, high=1)
    for answer, value in (("x", 0.1), ("y", 0.9)):
        RandomizedResponse(epsilon=1, answers=["x", "y"]).perturb(answer, own)
        record.perturb({"a": answer, "b": "x"}, own)
        number.perturb(value, own)
    assert own.spent == PureDP(6)
    for value in (0.1, 0.9):
        with pytest.raises(BudgetExceeded):
            number.perturb(value, own)


def test_a_list_of_neighbours_may_change(tmp_path):
    ledger = Ledger.create(
        tmp_path / "own.ledger", allow=PureDP(2), unit="edge", relation="add_remove"
    )
    graph = EdgeResponse(epsilon=1, nodes=3)
    graph.perturb((0, [1]), ledger)
    graph.perturb((0, [2]), ledger)
    assert ledger.spent == PureDP(2)


def test_a_custodian_s_ledger_is_bound_to_the_data(own):
    design = RandomizedResponse(epsilon=1, answers=["no", "yes"])
    design.perturb_all(np.array([0, 1, 1]), own)
    with pytest.raises(LedgerError):
        design.perturb_all(np.array([0, 1, 0]), own)


def test_a_custodian_s_ledger_is_bound_to_the_numbers(own):
    design = MeanResponse(epsilon=1, low=0, high=1)
    design.perturb_all(np.array([0.1, 0.2]), own)
    with pytest.raises(LedgerError):
        design.perturb_all(np.array([0.1, 0.9]), own)
