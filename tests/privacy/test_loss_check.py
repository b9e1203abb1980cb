"""Books that do not add up are refused, whatever a transcript states."""

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import pytest

from sfumato.mechanisms.laplace import GeometricNoise
from sfumato.privacy.loss import GDP, ZCDP, ApproxDP, Joint, PureDP
from sfumato.privacy.loss_check import BooksDoNotAdd, check_accounts, check_headline
from sfumato.privacy.primitive import price_of
from sfumato.privacy.transcript import Entry, Slice, Transcript
from tests.privacy.toy import TallyPublic

NOISE = GeometricNoise(shape=(3,), sensitivity=Fraction(1), epsilon=Fraction(1, 2))
HALF = PureDP("1/2").to_json()


def method(headline, working):
    """A method that states one loss and counts in another."""
    return SimpleNamespace(name="m", loss=lambda: headline, budget_loss=lambda _: working)


@pytest.mark.parametrize(
    ("headline", "working", "found"),
    [
        (ApproxDP(1, "1e-6"), ZCDP(1), "states ε = 1, δ = 1e-06 but may spend ρ = 1"),
        (ApproxDP(1, "1e-6"), GDP(1), "states ε = 1, δ = 1e-06 but may spend μ² = 1"),
        # No noise whose loss has tails is pure, whatever ε is stated.
        (ApproxDP(100, 0), ZCDP("1e-6"), "states ε = 100, δ = 0 but may spend ρ = 1e-06"),
        (PureDP(100), ZCDP("1e-6"), "states ε = 100 but counts ρ = 1e-06"),
        (
            ApproxDP(1, "1e-6"),
            Joint(ApproxDP(1, "1e-6"), ZCDP("1e-9")),
            "states ε = 1, δ = 1e-06 but may spend (ε = 1, δ = 1e-06) and ρ = 1e-09",
        ),
        (ApproxDP(1, "1e-6"), PureDP(2), "states ε = 1, δ = 1e-06 but may spend ε = 2, δ = 0"),
    ],
)
def test_a_headline_that_does_not_follow_from_what_is_counted_is_refused(headline, working, found):
    with pytest.raises(BooksDoNotAdd) as caught:
        check_headline(method(headline, working), TallyPublic(3))
    assert str(caught.value) == f"m {found}"


@pytest.mark.parametrize("measure", [ZCDP, GDP])
def test_the_largest_loss_within_a_headline_may_be_counted(measure):
    headline = ApproxDP(1, "1e-6")
    check_headline(method(headline, measure.within(headline)), TallyPublic(3))


def entry(*path):
    """A measurement that costs one half, paid from a slice."""
    return Entry("x", path, NOISE.signature(), HALF, ())


@pytest.mark.parametrize(
    ("slices", "entries", "found"),
    [
        ([Slice(("a", "b"), HALF, False)], [], "the slice a/b was cut from nothing"),
        ([Slice((), HALF, False)], [], "the slice  was cut from nothing"),
        ([Slice(("a",), HALF, True)] * 2, [], "the slice a was cut from nothing"),
        ([], [entry("a")], "something was paid from the slice a, not cut"),
        (
            [Slice((name,), HALF, False) for name in "abc"],
            [],
            "the whole spends ε = 0.5 where ε = 0 is left",
        ),
        (
            [Slice(("a",), ZCDP(1).to_json(), False)],
            [],
            "the whole spends ρ = 1 where ε = 1 is left",
        ),
        (
            [Slice(("a",), HALF, True)],
            [entry()],
            "the whole spends ε = 0.5 where ε = 0 is left",
        ),
        (
            [],
            [replace(entry(), cost=PureDP("1/4").to_json())],
            "'x' was charged another price than its own",
        ),
    ],
)
def test_slices_and_costs_that_do_not_add_up_are_refused(slices, entries, found):
    transcript = Transcript(tuple(entries), tuple(slices))
    with pytest.raises(BooksDoNotAdd) as caught:
        check_accounts(transcript, PureDP(1), TallyPublic(3))
    assert str(caught.value) == found


def test_a_price_is_computed_from_a_signature_of_this_version_alone():
    assert price_of(NOISE.signature(), PureDP) == PureDP("1/2")
    with pytest.raises(ValueError, match="the primitive 'magic' is unknown to this version"):
        price_of({"kind": "magic"}, PureDP)
    for strange in ({**NOISE.signature(), "more": 1}, {"kind": NOISE.kind}):
        with pytest.raises(ValueError, match="has other fields in this version"):
            price_of(strange, PureDP)
