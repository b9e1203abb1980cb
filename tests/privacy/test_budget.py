import copy
import os
import pickle
import threading
from fractions import Fraction

import numpy as np
import pytest

from sfumato.mechanisms.gaussian import GaussianNoise
from sfumato.mechanisms.laplace import GeometricNoise
from sfumato.noise import seeded
from sfumato.privacy.budget import (
    _KEY,
    Budget,
    BudgetClosed,
    Sampler,
    SeededDraw,
    SliceExceeded,
    _Account,
)
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import GDP, ZCDP, ApproxDP, Joint, PureDP, Unpriced, loss_from_json
from sfumato.privacy.loss_check import BooksDoNotAdd, check_accounts
from sfumato.privacy.transcript import Entry, Slice, Transcript
from tests.privacy.toy import TallyPublic


def opened(limit, relation=Relation.ADD_REMOVE):
    account = _Account(limit, relation, Sampler(), booked=False)
    return Budget(account=account, path=(), key=_KEY)


def noise(epsilon, sensitivity=1):
    return GeometricNoise(shape=(1,), sensitivity=Fraction(sensitivity), epsilon=Fraction(epsilon))


ZERO = np.zeros(1, dtype=np.int64)


def test_a_budget_cannot_be_made_outside_the_door():
    with pytest.raises(PermissionError, match="cannot be opened directly"):
        Budget(account=opened(PureDP(1))._account, path=(), key=object())


def test_ten_tenths_fit_and_an_eleventh_is_refused_before_it_draws():
    budget = opened(PureDP(1))
    for i in range(10):
        budget.measure(noise("1/10"), ZERO, label=str(i))
    assert budget.remaining == PureDP(0)
    with pytest.raises(SliceExceeded, match="asks for"):
        budget.measure(noise("1/10"), ZERO, label="one more")
    assert len(budget._account.transcript()) == 10


def test_slices_are_charged_whole_when_cut():
    budget = opened(PureDP(1))
    half = budget.take("1/2", "half")
    assert budget.remaining == PureDP("1/2")
    with pytest.raises(SliceExceeded):
        half.measure(noise("3/5"), ZERO, label="x")
    with pytest.raises(SliceExceeded):
        budget.take("3/5", "too much")


def test_split_by_weight_uses_the_whole():
    budget = opened(PureDP(1))
    parts = budget.split(["a", "b"], [1, 2])
    assert [part.limit for part in parts] == [PureDP("1/3"), PureDP("2/3")]
    assert budget.remaining == PureDP(0)


@pytest.mark.parametrize("bad", [0, -1, 2, float("nan")])
def test_a_share_is_between_zero_and_one(bad):
    with pytest.raises(ValueError, match=r"share|number"):
        opened(PureDP(1)).take(bad, "x")


def test_parallel_parts_cost_the_maximum_under_add_remove():
    budget = opened(PureDP(1))
    parts = budget.parallel(["a", "b", "c"], name="cells")
    assert all(part.limit == PureDP(1) for part in parts)
    assert budget.remaining == PureDP(0)


@pytest.mark.parametrize(
    ("limit", "each"),
    [(PureDP(1), PureDP("1/2")), (ZCDP(1), ZCDP("1/4"))],
)
def test_parallel_parts_hold_a_group_of_two_under_replace_one(limit, each):
    parts = opened(limit, Relation.REPLACE_ONE).parallel(["a", "b"], name="cells")
    assert all(part.limit == each for part in parts)
    # Inside a part neighbours add or remove a record, and primitives are priced for that.
    assert all(part.relation is Relation.ADD_REMOVE for part in parts)


def test_parallel_approximate_parts_under_replace_one_grow_back_to_the_whole():
    limit = ApproxDP(1, "1e-6")
    parts = opened(limit, Relation.REPLACE_ONE).parallel(["a", "b"], name="cells")
    assert parts[0].limit.replace_one().fits(limit)


def test_parallel_parts_have_names_of_their_own():
    with pytest.raises(ValueError, match=r"^two parallel parts of 'years' carry one name$"):
        opened(PureDP(1)).parallel(["2001", "2001"], name="years")


def test_a_budget_shows_what_is_spent_and_of_what():
    budget = opened(PureDP(1))
    part = budget.take("1/2", "half")
    part.measure(noise("1/4"), ZERO, label="x")
    assert repr(budget) == "Budget('whole': ε = 0.5 of ε = 1 spent)"
    assert repr(part) == "Budget('half': ε = 0.25 of ε = 0.5 spent)"


def test_gaussian_noise_has_no_price_in_a_pure_budget():
    primitive = GaussianNoise(shape=(1,), squared_sensitivity=Fraction(1), rho=Fraction(1, 2))
    with pytest.raises(Unpriced):
        opened(PureDP(1)).measure(primitive, ZERO, label="x")


def test_labels_and_slices_are_unique():
    budget = opened(PureDP(1))
    budget.measure(noise("1/10"), ZERO, label="x")
    with pytest.raises(ValueError, match="label"):
        budget.measure(noise("1/10"), ZERO, label="x")
    budget.take("1/10", "s")
    with pytest.raises(ValueError, match="slices"):
        budget.take("1/10", "s")


def test_nothing_is_drawn_after_the_door_is_closed():
    budget = opened(PureDP(1))
    budget._account.close()
    with pytest.raises(BudgetClosed):
        budget.measure(noise("1/10"), ZERO, label="x")


def test_outputs_cannot_be_changed_through_what_the_primitive_returned():
    budget = opened(PureDP(1))
    output = budget.measure(noise("1/10"), ZERO, label="x")
    with pytest.raises(ValueError, match="read-only"):
        output[0] = 7


def test_handles_are_not_copied_pickled_or_changed():
    budget = opened(PureDP(1))
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="cannot be copied or pickled"):
            attempt(budget)
    with pytest.raises(AttributeError):
        budget.limit = PureDP(100)


def test_threads_cannot_overspend_together():
    budget = opened(PureDP(1))
    refused = []

    def spend(number):
        try:
            budget.measure(noise("1/10"), ZERO, label=str(number))
        except SliceExceeded:
            refused.append(number)

    threads = [threading.Thread(target=spend, args=(number,)) for number in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(budget._account.transcript()) == 10 and len(refused) == 30


def test_a_budget_does_not_work_in_another_process():
    budget = opened(PureDP(1))
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            budget.measure(noise("1/10"), ZERO, label="x")
            os.write(writer, b"drawn")
        except BudgetClosed:
            os.write(writer, b"refused")
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reader, 100) == b"refused"
    budget.measure(noise("1/10"), ZERO, label="x")


def test_seeded_bits_are_noted_when_they_are_drawn_and_refused_where_booked():
    budget = opened(PureDP(1))
    budget.measure(noise("1/10"), ZERO, label="x")
    assert budget._account.transcript().marks == ()
    with seeded(1):
        budget.measure(noise("1/10"), ZERO, label="y")
    assert budget._account.transcript().marks == ("seeded",)
    account = _Account(PureDP(1), Relation.ADD_REMOVE, Sampler(), booked=True)
    booked = Budget(account=account, path=(), key=_KEY)
    with seeded(1), pytest.raises(SeededDraw):
        booked.measure(noise("1/10"), ZERO, label="x")
    assert booked.remaining == PureDP(1)


def test_an_interrupted_draw_leaves_nothing_to_publish_and_stays_paid(monkeypatch):
    budget = opened(PureDP(1))

    def interrupted(self, value):
        raise KeyboardInterrupt

    monkeypatch.setattr(GeometricNoise, "sample", interrupted)
    with pytest.raises(KeyboardInterrupt):
        budget.measure(noise("1/10"), ZERO, label="x")
    assert len(budget._account.transcript()) == 0
    assert budget.remaining == PureDP("9/10")


class TestBooks:
    def transcript(self, relation=Relation.ADD_REMOVE):
        budget = opened(PureDP(1), relation)
        first = budget.take("1/4", "first")
        first.measure(noise("1/4"), ZERO, label="a")
        for part in budget.parallel(["x", "y"], "3/4", name="cells"):
            part.measure(noise(part.limit.epsilon), ZERO, label=part.path[-1])
        return budget._account.transcript()

    @pytest.mark.parametrize("relation", list(Relation))
    def test_an_honest_transcript_adds_up(self, relation):
        transcript = Transcript.from_files(self.transcript(relation).to_files())
        check_accounts(transcript, PureDP(1), TallyPublic(3, relation=relation))

    def test_a_part_does_not_reset_the_books(self):
        cost = PureDP(1).to_json()
        entries = tuple(
            Entry(label, (label,), noise(1).signature(), cost, (0,)) for label in ("s", "p", "q")
        )
        slices = (Slice(("s",), cost, False), Slice(("p",), cost, True), Slice(("q",), cost, True))
        with pytest.raises(BooksDoNotAdd):
            check_accounts(Transcript(entries, slices), PureDP(1), TallyPublic(3))
        check_accounts(Transcript(entries[1:], slices[1:]), PureDP(1), TallyPublic(3))
        after = Entry("after", (), noise(1).signature(), cost, (0,))
        books = Transcript((*entries[1:], after), slices[1:])
        with pytest.raises(BooksDoNotAdd):
            check_accounts(books, PureDP(1), TallyPublic(3))

    def test_a_price_is_computed_again_from_the_signature(self):
        entry = Entry("x", (), noise(1000).signature(), PureDP(1).to_json(), (0,))
        with pytest.raises(BooksDoNotAdd, match="another price"):
            check_accounts(Transcript((entry,)), PureDP(1), TallyPublic(3))
        unknown = Entry("x", (), {"kind": "magic"}, PureDP(1).to_json(), (0,))
        with pytest.raises(ValueError, match="unknown"):
            check_accounts(Transcript((unknown,)), PureDP(1), TallyPublic(3))

    def test_a_larger_spend_than_booked_is_found(self):
        with pytest.raises(BooksDoNotAdd):
            check_accounts(self.transcript(), PureDP("99/100"), TallyPublic(3))

    def test_parallel_parts_priced_for_add_remove_do_not_add_up_under_replace_one(self):
        public = TallyPublic(3, relation=Relation.REPLACE_ONE)
        with pytest.raises(BooksDoNotAdd):
            check_accounts(self.transcript(), PureDP(1), public)

    def test_a_unit_of_several_records_needs_a_larger_booking(self):
        with pytest.raises(BooksDoNotAdd):
            check_accounts(self.transcript(), PureDP(1), TallyPublic(3, contribution=2))
        check_accounts(self.transcript(), PureDP(2), TallyPublic(3, contribution=2))


class TestJointLosses:
    """Steps with a δ of their own beside steps that add up in zCDP."""

    LIMIT = Joint(ApproxDP(1, "1e-6"), ZCDP("1/2"))

    def test_either_measure_is_spent_by_itself(self):
        budget = opened(self.LIMIT)
        part = budget.take(ApproxDP(1, "1e-6"), "with a delta")
        assert part.limit == ApproxDP(1, "1e-6")
        assert budget.remaining == Joint(ApproxDP(0, 0), ZCDP("1/2"))
        rest = budget.take(ZCDP("1/2"), "the rest")
        rest.measure(noise("1/2"), ZERO, label="a count")
        assert rest.remaining == ZCDP("3/8")
        for more in (ApproxDP("1e-9", 0), ApproxDP(0, "1e-9"), ZCDP("1e-9")):
            with pytest.raises(SliceExceeded):
                budget.take(more, f"one more {more}")

    def test_a_share_of_both_is_a_joint_slice(self):
        half = opened(self.LIMIT).take("1/2", "half")
        assert half.limit == Joint(ApproxDP("1/2", "5e-7"), ZCDP("1/4"))

    @pytest.mark.parametrize("loss", [PureDP("1/2"), GDP("1/2")])
    def test_no_other_measure_is_a_part_of_it(self, loss):
        with pytest.raises((ValueError, TypeError)):
            opened(self.LIMIT).take(loss, "part")

    def test_nothing_is_measured_without_saying_in_which_measure(self):
        with pytest.raises(Unpriced):
            opened(self.LIMIT).measure(noise("1/2"), ZERO, label="a count")

    def test_what_it_implies(self):
        rho = ZCDP.within(ApproxDP(1, "1e-6"))
        joint = Joint(ApproxDP("1/2", "1e-7"), rho)
        assert joint.implies(ApproxDP("3/2", "11e-7"))
        for less in (ApproxDP("1.499", "11e-7"), ApproxDP("3/2", "1.09e-6"), ApproxDP(2, "1e-7")):
            assert not joint.implies(less)
        assert joint.approximate("11e-7").epsilon <= Fraction(3, 2)
        assert joint.per_unit(3).group(3).fits(joint)
        assert loss_from_json(joint.to_json()) == joint

    def test_accounts_are_added_in_each_measure(self):
        budget = opened(self.LIMIT)
        budget.take(ApproxDP("1/2", "1e-7"), "first")
        second = budget.take(ZCDP("1/2"), "second")
        second.measure(noise(1), ZERO, label="a count")
        transcript = budget._account.transcript()
        check_accounts(transcript, self.LIMIT, TallyPublic(3))
        for less in (
            Joint(ApproxDP("1/3", "1e-6"), ZCDP("1/2")),
            Joint(ApproxDP(1, "1e-8"), ZCDP("1/2")),
            Joint(ApproxDP(1, "1e-6"), ZCDP("1/3")),
            ApproxDP(1, "1e-6"),
        ):
            with pytest.raises(BooksDoNotAdd):
                check_accounts(transcript, less, TallyPublic(3))
