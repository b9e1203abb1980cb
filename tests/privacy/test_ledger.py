"""The ledger's rules: what is booked, at which price, and what is refused."""

from __future__ import annotations

import hmac
import pickle
from fractions import Fraction

import pytest

from sfumato.noise.bits import seeded
from sfumato.privacy.guarantee import Basis, Guarantee, Relation, Unit
from sfumato.privacy.ledger import BudgetExceeded, Ledger, LedgerError
from sfumato.privacy.loss import ZCDP, ApproxDP, PureDP
from sfumato.privacy.rounding import exp_down, exp_up


def promise(loss, *also, unit="row", relation="add_remove", basis="proved", **facts):
    return Guarantee(
        loss=loss,
        also=also,
        unit=Unit(unit),
        relation=Relation(relation),
        basis=Basis(basis),
        **facts,
    )


def of(data):
    return lambda key: hmac.digest(key, data, "sha256")


def book(ledger, guarantee, *, data=b"patients", **facts):
    facts = {"kind": "release", "method": "Histogram", "parameters": {}, **facts}
    return ledger.book(guarantee, digest=None if data is None else of(data), **facts)


@pytest.fixture
def create(tmp_path):
    def make(allow, name="patients.ledger", **terms):
        return Ledger.create(tmp_path / name, allow=allow, **terms)

    return make


class TestTheAccount:
    def test_a_new_ledger_states_its_terms(self, create, tmp_path):
        ledger = create(PureDP(3), unit="person", relation="replace_one")
        assert ledger.path == tmp_path / "patients.ledger"
        assert ledger.name == "patients.ledger"
        assert ledger.allow == ledger.remaining == PureDP(3)
        assert ledger.spent == PureDP(0)
        assert ledger.unit is Unit.PERSON
        assert ledger.relation is Relation.REPLACE_ONE
        assert len(ledger.identity) == 32
        assert ledger.history() == []

    def test_two_ledgers_have_different_identities(self, create):
        assert create(PureDP(1)).identity != create(PureDP(1), "other.ledger").identity

    def test_an_entry_says_what_was_booked(self, create):
        ledger = create(PureDP(1))
        guarantee = promise(PureDP("0.25"), contribution=2, public=("the schema",), proof="x.md")
        entry = book(
            ledger,
            guarantee,
            kind="session",
            method="Marginals",
            parameters={"columns": ("a", "b")},
        )
        assert (entry.number, entry.kind, entry.method) == (1, "session", "Marginals")
        assert entry.parameters == {"columns": ["a", "b"]}
        assert entry.guarantee == guarantee
        assert entry.charged == PureDP("0.25")
        assert entry.status == "booked"
        assert entry.time.endswith("+00:00")
        assert entry.reference == "patients.ledger#1"
        assert entry.hash == ledger.head
        assert ledger.history() == Ledger.open(ledger.path).history() == [entry]
        assert ledger.spent == PureDP("0.25")
        assert ledger.remaining == PureDP("0.75")

    def test_an_entry_is_a_plain_document(self, create):
        entry = book(create(PureDP(1)), promise(PureDP("1/3")))
        document = entry.to_json()
        assert document["reference"] == "patients.ledger#1"
        assert document["charged"] == {"measure": "pure", "epsilon": "1/3"}
        assert Guarantee.from_json(document["guarantee"]) == entry.guarantee
        assert "patients.ledger#1" in str(entry)

    def test_entries_form_a_chain(self, create):
        ledger = create(PureDP(1))
        opening = ledger.head
        first, second = (book(ledger, promise(PureDP("0.1"))) for _ in range(2))
        assert first.previous == opening
        assert second.previous == first.hash
        assert [entry.number for entry in ledger.history()] == [1, 2]
        assert all(ledger.contains(mark) for mark in (opening, first.hash, second.hash))
        assert not ledger.contains("0" * 64)

    def test_ten_times_a_tenth_is_one_exactly(self, create):
        ledger = create(PureDP(1.0))
        for _ in range(10):
            book(ledger, promise(PureDP(0.1)))
        assert ledger.remaining == PureDP(0)
        with pytest.raises(BudgetExceeded, match="left nothing of the allowed"):
            book(ledger, promise(PureDP("1e-30")))

    def test_thirds_and_sevenths_add_up_exactly(self, create):
        ledger = create(PureDP(1))
        for part in ("1/3", "2/7", "8/21"):
            book(ledger, promise(PureDP(part)))
        assert ledger.spent == PureDP(1)

    def test_unlike_fractions_never_grow_beyond_what_a_file_can_hold(self, create):
        ledger = create(PureDP(1))
        exact = Fraction(0)
        for index in range(40):
            part = Fraction(1, 1000 * 7**index + index)
            exact += part
            book(ledger, promise(PureDP(part)))
        spent = ledger.spent.epsilon
        assert spent.denominator < 10**200
        assert exact <= spent <= exact * (1 + Fraction(1, 10**25))
        ledger.check()

    def test_other_processes_bookings_are_seen_at_once(self, create):
        here = create(PureDP(1))
        there = Ledger.open(here.path)
        book(there, promise(PureDP("0.9")))
        assert here.spent == PureDP("0.9")
        with pytest.raises(BudgetExceeded):
            book(here, promise(PureDP("0.2")))
        assert here.head == there.head

    def test_callers_cannot_change_an_entry_through_their_parameters(self, create):
        parameters = {"cells": [1]}
        entry = book(create(PureDP(1)), promise(PureDP(1)), parameters=parameters)
        parameters["cells"].append(2)
        assert entry.parameters == {"cells": [1]}


class TestEndings:
    @pytest.mark.parametrize("status", ["released", "aborted", "closed"])
    def test_an_ending_is_recorded_and_never_refunds(self, create, status):
        ledger = create(PureDP(1))
        first = book(ledger, promise(PureDP("0.25")))
        book(ledger, promise(PureDP("0.25")))
        ledger.finish(first, status=status, note="as planned")
        ended, open_still = Ledger.open(ledger.path).history()
        assert (ended.status, ended.note) == (status, "as planned")
        assert open_still.status == "booked"
        assert ended.hash == first.hash
        assert ledger.spent == PureDP("0.5")

    def test_an_entry_ends_once(self, create):
        ledger = create(PureDP(1))
        entry = book(ledger, promise(PureDP(1)))
        ledger.finish(entry, status="released")
        with pytest.raises(LedgerError, match=r"patients\.ledger#1 has already ended as rel"):
            ledger.finish(entry, status="aborted")

    def test_an_entry_of_another_ledger_is_refused(self, create):
        entry = book(create(PureDP(1)), promise(PureDP(1)))
        other = create(PureDP(1), "other.ledger")
        book(other, promise(PureDP(1)))
        with pytest.raises(LedgerError, match=r"patients\.ledger#1 is not an entry of"):
            other.finish(entry, status="released")

    def test_an_unknown_ending_is_refused(self, create):
        ledger = create(PureDP(1))
        entry = book(ledger, promise(PureDP(1)))
        with pytest.raises(LedgerError, match="one of released, aborted, closed; got 'refunded'"):
            ledger.finish(entry, status="refunded")
        with pytest.raises(LedgerError, match="a note is text; got int"):
            ledger.finish(entry, status="aborted", note=7)


class TestTheAllowance:
    def test_a_refusal_prints_asked_left_and_missing(self, create):
        ledger = create(PureDP(1))
        book(ledger, promise(PureDP("0.7")))
        before = ledger.head
        with pytest.raises(BudgetExceeded) as refusal:
            book(ledger, promise(PureDP("0.5")))
        assert str(refusal.value) == (
            "patients.ledger refuses: requested ε = 0.5; left ε = 0.3 of the allowed ε = 1; "
            "missing ε = 0.2. Nothing was booked. Lower the loss of this release to what "
            "is left, or do not release"
        )
        assert refusal.value.asked == PureDP("0.5")
        assert refusal.value.left == PureDP("0.3")
        assert refusal.value.missing == PureDP("0.2")
        assert isinstance(refusal.value, ValueError)
        assert ledger.head == before

    def test_a_refusal_says_what_was_converted(self, create):
        ledger = create(PureDP(1), relation="replace_one")
        with pytest.raises(
            BudgetExceeded, match=r"requested ε = 2 \(from ε = 1 for one row added or removed\)"
        ):
            book(ledger, promise(PureDP(1)))

    def test_a_refusal_for_delta_alone(self, create):
        ledger = create(ApproxDP(1, "1e-6"))
        with pytest.raises(BudgetExceeded) as refusal:
            book(ledger, promise(ApproxDP("0.5", "3e-6")))
        assert refusal.value.missing == ApproxDP(0, "2e-6")

    def test_deltas_that_reach_one_are_refused_as_any_other(self, create):
        ledger = create(ApproxDP(1, "0.9"))
        book(ledger, promise(ApproxDP("0.1", "0.8")))
        with pytest.raises(BudgetExceeded, match="missing"):
            book(ledger, promise(ApproxDP("0.1", "0.8")))

    def test_a_refused_booking_does_not_look_at_the_data(self, create):
        def never(key):
            raise AssertionError("the data were read")

        with pytest.raises(BudgetExceeded):
            create(PureDP(1)).book(
                promise(PureDP(2)), kind="release", method="M", parameters={}, digest=never
            )

    @pytest.mark.parametrize(
        ("allow", "message"),
        [
            (PureDP(0), "allow must be greater than 0; got ε = 0"),
            (ZCDP(0), "allow must be greater than 0; got ρ = 0"),
            (ApproxDP(0, "1e-6"), "allow must be greater than 0"),
            (ApproxDP(1, 0), r"delta 0; write PureDP\(epsilon\) for a ledger without a delta"),
            (1.0, r"allow must be a privacy loss such as PureDP\(1\).*got 1.0"),
        ],
    )
    def test_an_allowance_of_nothing_is_refused(self, create, tmp_path, allow, message):
        with pytest.raises(LedgerError, match=message):
            create(allow)
        assert list(tmp_path.iterdir()) == []

    def test_unknown_units_and_relations_are_refused(self, create, tmp_path):
        with pytest.raises(ValueError, match="unit must be one of row, person"):
            create(PureDP(1), unit="household")
        with pytest.raises(ValueError, match="relation must be one of add_remove, replace_one"):
            create(PureDP(1), relation="swap")
        assert list(tmp_path.iterdir()) == []

    def test_a_secret_never_comes_from_a_seed(self, create, tmp_path):
        with seeded(7), pytest.raises(LedgerError, match="may not come from the seeded source"):
            create(PureDP(1))
        assert list(tmp_path.iterdir()) == []


class TestMeasures:
    def test_a_pure_ledger_takes_a_pure_statement_wherever_it_stands(self, create):
        ledger = create(PureDP(2))
        assert book(ledger, promise(ZCDP("0.1"), PureDP(1))).charged == PureDP(1)
        assert book(ledger, promise(ApproxDP(1, 0))).charged == PureDP(1)

    @pytest.mark.parametrize("loss", [ZCDP("0.1"), ApproxDP(1, "1e-9")])
    def test_a_pure_ledger_refuses_the_rest(self, create, loss):
        with pytest.raises(
            LedgerError,
            match=r"sums pure losses.*cannot be converted to that measure.*leave delta .* out",
        ):
            book(create(PureDP(1)), promise(loss))

    def test_a_zcdp_ledger_sums_rho(self, create):
        ledger = create(ZCDP(1))
        assert book(ledger, promise(ZCDP("0.25"))).charged == ZCDP("0.25")
        assert book(ledger, promise(PureDP(1))).charged == ZCDP("0.5")
        assert book(ledger, promise(PureDP(1), ZCDP("0.125"))).charged == ZCDP("0.125")
        assert ledger.remaining == ZCDP("0.125")

    def test_a_zcdp_ledger_refuses_an_approximate_loss(self, create):
        with pytest.raises(LedgerError, match=r"sums zero-concentrated losses.*states a ρ"):
            book(create(ZCDP(1)), promise(ApproxDP(1, "1e-9")))

    def test_an_approximate_ledger_sums_both_figures(self, create):
        ledger = create(ApproxDP(3, "1e-6"))
        assert book(ledger, promise(ApproxDP(1, "4e-7"))).charged == ApproxDP(1, "4e-7")
        assert book(ledger, promise(PureDP(1))).charged == ApproxDP(1, 0)
        book(ledger, promise(ZCDP("0.1"), ApproxDP(1, "6e-7")))
        assert ledger.remaining == ApproxDP(0, 0)

    def test_an_approximate_ledger_refuses_rho_without_a_delta(self, create):
        with pytest.raises(LedgerError, match=r"sums approximate losses.*give the method a delta"):
            book(create(ApproxDP(1, "1e-6")), promise(ZCDP("0.001")))


class TestRelations:
    @pytest.mark.parametrize(
        ("allow", "loss", "charged"),
        [
            (PureDP(9), PureDP("0.3"), PureDP("0.6")),
            (ZCDP(9), ZCDP("0.3"), ZCDP("1.2")),
            (ZCDP(9), PureDP(1), ZCDP(2)),
            (ApproxDP(9, "0.1"), PureDP("0.3"), ApproxDP("0.6", 0)),
        ],
    )
    def test_add_remove_costs_more_in_a_replace_one_ledger(self, create, allow, loss, charged):
        ledger = create(allow, relation="replace_one")
        assert book(ledger, promise(loss)).charged == charged

    def test_delta_is_charged_with_its_factor_rounded_up(self, create):
        ledger = create(ApproxDP(9, "0.1"), relation="replace_one")
        charged = book(ledger, promise(ApproxDP(1, "1e-6"))).charged
        assert charged.epsilon == 2
        assert charged.delta >= (1 + exp_down(Fraction(1))) / 10**6
        assert charged.delta <= (1 + exp_up(Fraction(1))) / 10**6 * (1 + Fraction(1, 10**30))

    def test_a_delta_that_says_nothing_about_replacing_is_refused(self, create):
        ledger = create(ApproxDP(9, "0.99"), relation="replace_one")
        with pytest.raises(LedgerError, match="no guarantee for one row replaced"):
            book(ledger, promise(ApproxDP(3, "0.5")))

    def test_replace_one_is_booked_as_it_is_in_its_own_ledger(self, create):
        ledger = create(PureDP(1), relation="replace_one")
        assert book(ledger, promise(PureDP(1), relation="replace_one")).charged == PureDP(1)

    def test_replace_one_is_refused_by_an_add_remove_ledger(self, create):
        with pytest.raises(LedgerError, match=r"does not cover adding or removing; use a"):
            book(create(PureDP(9)), promise(PureDP(1), relation="replace_one"))


class TestRefusals:
    def test_a_published_guarantee_is_not_booked(self, create):
        ledger = create(PureDP(1))
        with pytest.raises(LedgerError, match="published method whose proof of privacy does not"):
            book(ledger, promise(PureDP(1), basis="published"))
        assert ledger.history() == []

    @pytest.mark.parametrize("caveat", ["this is a rehearsal", "the bits came from a test seed"])
    def test_a_guarantee_with_a_caveat_is_not_booked(self, create, caveat):
        with pytest.raises(LedgerError, match=f"no guarantee to book: {caveat}"):
            book(create(PureDP(1)), promise(PureDP(1), caveat=caveat))

    def test_rows_are_not_booked_where_persons_are_protected(self, create):
        with pytest.raises(LedgerError) as refusal:
            book(create(PureDP(1), unit="person"), promise(PureDP(1), unit="row"))
        assert str(refusal.value) == (
            "this ledger protects any one person, and the release any one row: one person may have "
            "many of them, so the charge would be too small. Declare which column names the person "
            "and how many rows of one are let in at most (or that there is one row a person): then "
            "the release protects the whole person"
        )

    @pytest.mark.parametrize(
        ("ours", "theirs"), [("row", "person"), ("user", "person"), ("edge", "row")]
    )
    def test_other_units_need_another_ledger(self, create, ours, theirs):
        with pytest.raises(
            LedgerError, match=f"unit '{ours}', or keep another ledger with unit='{theirs}'"
        ):
            book(create(PureDP(1), unit=ours), promise(PureDP(1), unit=theirs))

    def test_parameters_must_be_plain(self, create):
        with pytest.raises(LedgerError, match=r"parameters cannot be written.*epsilon is of type"):
            book(create(PureDP(1)), promise(PureDP(1)), parameters={"epsilon": Fraction(1, 3)})

    def test_names_must_be_given(self, create):
        ledger = create(PureDP(1))
        with pytest.raises(LedgerError, match="kind must be a name; got ''"):
            book(ledger, promise(PureDP(1)), kind="")
        with pytest.raises(LedgerError, match="method must be a name; got None"):
            book(ledger, promise(PureDP(1)), method=None)


class TestTheData:
    def test_the_first_booking_binds_and_other_data_are_refused(self, create):
        ledger = create(PureDP(1))
        book(ledger, promise(PureDP("0.1")))
        head = ledger.head
        with pytest.raises(LedgerError, match=r"not the data.*open its own ledger.*rebind"):
            book(ledger, promise(PureDP("0.1")), data=b"customers")
        assert ledger.head == head
        book(Ledger.open(ledger.path), promise(PureDP("0.1")))

    def test_changed_data_are_accepted_with_a_reason_and_the_spending_goes_on(self, create):
        ledger = create(PureDP(1))
        book(ledger, promise(PureDP("0.6")))
        ledger.rebind(of(b"corrected"), reason="two ages were mistyped")
        assert ledger.spent == PureDP("0.6")
        with pytest.raises(BudgetExceeded):
            book(ledger, promise(PureDP("0.6")), data=b"corrected")
        book(ledger, promise(PureDP("0.4")), data=b"corrected")
        with pytest.raises(LedgerError, match="not the data"):
            ledger.bind(of(b"patients"))
        reopened = Ledger.open(ledger.path)
        assert [binding.reason for binding in reopened.bindings()] == ["", "two ages were mistyped"]

    def test_a_reason_is_needed(self, create):
        with pytest.raises(LedgerError, match="reason must state why"):
            create(PureDP(1)).rebind(of(b"x"), reason=" ")

    def test_a_ledger_can_be_bound_before_anything_is_booked(self, create):
        ledger = create(PureDP(1))
        ledger.bind(of(b"patients"))
        ledger.bind(of(b"patients"))
        assert len(ledger.bindings()) == 1
        with pytest.raises(LedgerError, match="not the data"):
            book(ledger, promise(PureDP(1)), data=b"customers")
        book(ledger, promise(PureDP(1)))
        assert len(ledger.bindings()) == 1

    def test_unseen_data_are_booked_only_by_an_unbound_ledger(self, create):
        ledger = create(PureDP(1))
        book(ledger, promise(PureDP("0.1")), data=None)
        book(ledger, promise(PureDP("0.1")))
        with pytest.raises(LedgerError, match="has no digest of its data; pass the digest"):
            book(ledger, promise(PureDP("0.1")), data=None)

    def test_two_ledgers_fingerprint_the_same_data_differently(self, create):
        first, second = create(PureDP(1)), create(PureDP(1), "second.ledger")
        for ledger in (first, second):
            ledger.bind(lambda key: b"not keyed at all" * 2)
        assert first._account.fingerprint != second._account.fingerprint

    @pytest.mark.parametrize("value", [b"short", "text that is long enough", None])
    def test_a_digest_must_be_one(self, create, value):
        with pytest.raises(LedgerError, match="keyed digest of at least 16 bytes"):
            create(PureDP(1)).bind(lambda key: value)

    def test_an_error_of_the_digest_books_nothing(self, create):
        def unreadable(key):
            raise OSError("the file is gone")

        ledger = create(PureDP(1))
        with pytest.raises(OSError, match="the file is gone"):
            ledger.book(
                promise(PureDP(1)), kind="release", method="M", parameters={}, digest=unreadable
            )
        assert ledger.spent == PureDP(0)

    def test_the_secret_and_the_fingerprint_never_leave_the_ledger(self, create):
        ledger = create(PureDP(1))
        seen = []

        def digest(key):
            seen.append(key)
            return hmac.digest(key, b"patients", "sha256")

        entry = ledger.book(
            promise(PureDP("0.1")), kind="release", method="M", parameters={}, digest=digest
        )
        texts = [
            repr(ledger),
            repr(entry),
            str(entry),
            repr(ledger.history()),
            repr(ledger.bindings()),
        ]
        texts += [repr(entry.to_json()), repr(ledger._account), repr(pickle.dumps(ledger))]
        for attempt in (
            lambda: book(ledger, promise(PureDP(5))),
            lambda: ledger.bind(of(b"other")),
        ):
            with pytest.raises(ValueError) as refusal:  # noqa: PT011
                attempt()
            texts.append(repr(refusal.value))
        secret, fingerprint = seen[0], ledger._account.fingerprint
        assert len(secret) == 32
        for text in texts:
            assert secret.hex() not in text
            assert repr(secret)[2:-1] not in text
            assert fingerprint not in text


def test_a_ledger_can_be_sent_to_another_process(create):
    ledger = create(PureDP(1))
    book(ledger, promise(PureDP("0.5")))
    copy = pickle.loads(pickle.dumps(ledger))
    assert copy.identity == ledger.identity
    assert copy.spent == PureDP("0.5")


def test_a_ledger_is_found_again_after_the_working_folder_changed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ledger = Ledger.create("patients.ledger", allow=PureDP(1))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert ledger.spent == PureDP(0)
