import numpy as np
import pytest

from sfumato.mechanisms.choose import Choose
from sfumato.sequence.top_strings import TopStrings
from tests.sequence import made
from tests.sequence.suites import ReplacedSuite, SequenceAuditSuite, SequenceSuite, check_persons


class TopAudit(SequenceAuditSuite):
    def halve_sensitivity(self, monkeypatch):
        original = Choose.__post_init__

        def halved(primitive):
            original(primitive)
            object.__setattr__(primitive, "sensitivity", primitive.sensitivity / 2)

        monkeypatch.setattr(Choose, "__post_init__", halved)


class TopSuite(TopAudit, SequenceSuite):
    options = {"longest": 4, "strings": 3}  # noqa: RUF012

    def fact(self, release):
        # As numbers: every string's code in base 3, its symbols counted from 1.
        return np.array(
            [int("".join("12"["ab".index(s)] for s in text), 3) for text in release.top()]
        )

    def test_the_same_bits_give_the_same_release(self):
        from sfumato import noise

        facts = []
        for seed in range(8):
            for _ in range(2):
                with noise.seeded(seed):
                    facts.append(tuple(self.fact(self.method().release(self.data()))))
        assert facts[::2] == facts[1::2]
        # A few strings of two symbols are often the same, but not always.
        assert len(set(facts)) > 1


class TestTopStrings(TopSuite):
    name = "sequences.TopStrings"


class TestOneTopString(TopAudit):
    name = "sequences.TopStrings"
    options = {"longest": 4, "strings": 1}  # noqa: RUF012


class TestTopStringsUnderReplacement(TopSuite, ReplacedSuite):
    name = "sequences.TopStrings"
    # One string, and sequences of which a replaced one moves both counts by all it can.
    options = {"longest": 2, "strings": 1}  # noqa: RUF012

    def data(self):
        return made.sequences(made.made(6), relation="replace_one")


def test_the_loss_for_a_whole_person_is_within_epsilon():
    check_persons(TopStrings(epsilon=1, longest=4, strings=2))


def test_with_a_huge_budget_the_most_frequent_strings_come_out():
    data = made.sequences(made.EXAMPLE, "AB")
    release = TopStrings(epsilon=10**6, longest=9, strings=5).release(data)
    assert release.top(2) == [("A",), ("B",)]
    assert set(release.top(4)[2:]) == {("A", "A"), ("A", "B")}
    assert release.top()[4] == ("A", "A", "B")
    with pytest.raises(ValueError, match="from 1 to the 5 strings"):
        release.top(6)


def test_choices_are_monotone_only_where_sequences_are_added():
    for relation, monotone in (("add_remove", True), ("replace_one", False)):
        data = made.sequences(made.made(9), relation=relation)
        release = TopStrings(epsilon=1, longest=4, strings=2).release(data)
        for entry in release.transcript:
            assert entry.signature["monotone"] is monotone
            assert entry.signature["sensitivity"] == "4"
            assert entry.signature["epsilon"] == "1/2"


def test_a_longer_list_over_one_symbol_goes_on_and_on():
    release = TopStrings(epsilon=1, longest=2, strings=4).release(made.sequences(["a"], "a"))
    assert release.top() == [("a",) * k for k in (1, 2, 3, 4)]
    assert release.plot().axes and "4 strings" in release.words()


def test_a_list_that_may_hold_rare_strings_says_so():
    data = made.sequences(["ab"], "ab", unit="person", person=["kim"], max_sequences=3)
    method = TopStrings(epsilon=1, longest=4, strings=3)
    words = method.release(data).words()
    assert "rare or do not occur" in words and "not released" in words
    assert "the first 3 sequences" in words and "first 4 symbols" in words
    (step,), (note,) = method.plan(data.public).steps, method.plan(data.public).notes
    assert f"less than {step.figures['margin']:,.4g} apart" in note and "No counts" in note


def test_too_many_candidates_are_refused_before_anything_is_spent():
    from sfumato.data.sequences import SequencesPublic

    public = SequencesPublic(alphabet=tuple(range(5000)), unit="sequence", relation="add_remove")
    with pytest.raises(ValueError, match="choose fewer strings"):
        TopStrings(epsilon=1, strings=1000).plan(public)
