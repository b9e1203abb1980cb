import math

import pytest

from sfumato.privacy.guarantee import Basis, Guarantee, Relation, Unit
from sfumato.privacy.loss import ZCDP, ApproxDP, PureDP


def guarantee(loss=None, **options):
    return Guarantee(
        loss=loss or PureDP(1),
        unit=options.pop("unit", Unit.PERSON),
        relation=options.pop("relation", Relation.ADD_REMOVE),
        basis=options.pop("basis", Basis.PROVED),
        **options,
    )


def test_words_give_the_odds_rounded_up():
    # e^0.2 = 1.2214…, so 1.22 would be too little.
    assert "at most a factor of 1.23 (ε = 0.2)" in guarantee(PureDP(0.2)).words()
    assert float("1.23") > math.exp(0.2)


@pytest.mark.parametrize("epsilon", [31, 1e6, 1e300])
def test_a_huge_epsilon_is_called_what_it_is(epsilon):
    assert "no protection in practice" in guarantee(PureDP(epsilon)).words()


def test_words_tell_the_chance_of_failure():
    assert "and an additional 1e-9" in guarantee(ApproxDP(1, "1e-9")).words()


def test_rho_is_translated_into_odds():
    assert "at most a factor of" in guarantee(ZCDP("1/100")).words()


def test_words_tell_what_is_left_out_and_how_many_records_count():
    made = guarantee(excludes="the number of edges", contribution=4, public=("the schema",))
    assert str(made).count("except for the number of edges") == 1
    words = made.words()
    assert "It does not cover the number of edges; the guarantee holds only between data" in words
    assert "At most 4 records of one person were used" in words
    assert "Taken as public knowledge: the schema." in words
    assert "does not cover" not in guarantee().words()


def test_what_is_not_private_says_so():
    assert "must not be treated as private" in guarantee(basis=Basis.PUBLISHED).words()
    assert "Do not publish" in guarantee(caveat="it is a rehearsal").words()
    assert not guarantee(basis=Basis.PUBLISHED).private
    assert str(guarantee(caveat="it is a rehearsal")).startswith("no guarantee")


@pytest.mark.parametrize(
    "made",
    [
        guarantee(),
        guarantee(ApproxDP(1, "1e-9"), also=(ZCDP("1/70"),), contribution=4),
        guarantee(public=("a", "b"), proof="x.md", ledger="l#1", relation=Relation.REPLACE_ONE),
    ],
)
def test_json_round_trip(made):
    assert Guarantee.from_json(made.to_json()) == made


def test_unknown_units_and_relations_are_refused_with_what_there_is():
    with pytest.raises(ValueError, match="unit must be one of row, person, point"):
        Unit.parse("household")
    with pytest.raises(ValueError, match="relation must be one of add_remove, replace_one"):
        Relation.parse("swap")
