import pytest

from sfumato.local import (
    HadamardResponse,
    LocalHash,
    RandomizedResponse,
    SubsetSelection,
    UnaryEncoding,
    best_design,
)


@pytest.mark.parametrize(
    ("k", "epsilon", "kind"),
    [
        (2, 1, RandomizedResponse),
        (3, 0.1, RandomizedResponse),
        (10, 1, SubsetSelection),
        (10, 2, RandomizedResponse),
        (64, 1, SubsetSelection),
        (64, 4, RandomizedResponse),
        (20_000, 1, LocalHash),
    ],
)
def test_the_design_of_least_variance_is_chosen(k, epsilon, kind):
    choice = best_design(k, epsilon, 1000)
    assert type(choice.design) is kind and kind.__name__ in choice.reason
    assert min(choice.deviations.values()) == pytest.approx(
        choice.deviations[kind.__name__], rel=1e-3
    )


def test_no_design_beats_the_chosen_one_by_more_than_a_thousandth():
    kinds = (RandomizedResponse, UnaryEncoding, LocalHash, HadamardResponse, SubsetSelection)
    for k in (2, 5, 17, 100):
        for epsilon in (0.2, 1, 3):
            chosen = best_design(k, epsilon).design.variance(1 / k, 1).sample
            others = [kind(epsilon=epsilon, answers=k).variance(1 / k, 1).sample for kind in kinds]
            assert chosen <= min(others) * 1.001


def test_a_survey_of_names_keeps_them():
    choice = best_design(["red", "green", "blue"], 1, goal="largest variance")
    assert choice.design.answers == ("red", "green", "blue")
    with pytest.raises(ValueError, match="goal must be"):
        best_design(3, 1, goal="least")
