"""Parameters of formulas, and what the release of a formula says of itself."""

import json
from fractions import Fraction

import numpy as np
import pytest

from sfumato.mechanisms.expression.estimate import Estimate
from sfumato.mechanisms.expression.noises import EstimatedNoise
from sfumato.mechanisms.expression.parameters import Figures, Formula, Groups, Name, Range, Split
from sfumato.mechanisms.expression.release import StatisticRelease

FORMULA = "a formula such as '3 * triangles / wedges'"
NAME = "a name or a whole number"
GROUPS = "the public group of each node: a dictionary by node, or a list in the nodes' order"
SPLIT = "'equal', 'optimal', or positive weights such as {'triangles': 10, 'edges': 1}"
NUMBERS = "numbers by unit, such as {'triangles': 10, 'wedges': 1}"
RANGE = "two numbers, the smaller first"


@pytest.mark.parametrize(
    ("constraint", "value", "parsed"),
    [
        (Formula(), " triangles ", "triangles"),
        (Name(), np.int64(3), 3),
        (Name(), "ada", "ada"),
        (Groups(), ["a", 2, "a"], ("a", 2, "a")),
        (Groups(), np.array([1, 0]), (1, 0)),
        (Groups(), {2: "b", 1: "a"}, ((1, "a"), (2, "b"))),
        (Groups(), [[2, "b"], [1, "a"]], ((1, "a"), (2, "b"))),
        (Split(), "equal", "equal"),
        (Split(), {"edges": "0.1"}, (("edges", Fraction(1, 10)),)),
        (Figures(positive=False), {"edges": -2}, (("edges", Fraction(-2)),)),
        (Range(), [0, "1.5"], (Fraction(0), Fraction(3, 2))),
    ],
)
def test_a_value_is_parsed_and_parsing_it_again_changes_nothing(constraint, value, parsed):
    assert constraint("x", value) == parsed
    assert constraint("x", constraint("x", value)) == parsed


@pytest.mark.parametrize(
    ("constraint", "value", "message"),
    [
        (Formula(), "  ", f"{FORMULA}; got '  '"),
        (Name(), True, f"{NAME}; got True"),
        (Name(), 1.5, f"{NAME}; got 1.5"),
        (Name(), 2**63, f"{NAME}; got {2**63}"),
        (Groups(), "ab", f"{GROUPS}; got 'ab'"),
        (Groups(), [], f"{GROUPS}; got []"),
        (Groups(), [(1, "a", "b")], f"{GROUPS}; got [(1, 'a', 'b')]"),
        (Groups(), [(1, "a"), (1, "b")], f"{GROUPS}; got [(1, 'a'), (1, 'b')]"),
        # Not the node b in the group c.
        (Groups(), [(1, "a"), "bc"], f"{GROUPS}; got [(1, 'a'), 'bc']"),
        (Split(), "halves", f"{SPLIT}; got 'halves'"),
        (Split(), {"edges": 0}, f"{SPLIT}; got {{'edges': 0}}"),
        (Split(), {}, f"{SPLIT}; got {{}}"),
        (Split(), [("a", 1), ("a", 2)], f"{SPLIT}; got [('a', 1), ('a', 2)]"),
        (Figures(positive=False), {}, f"{NUMBERS}; got {{}}"),
        (Figures(positive=True), {"a": -1}, f"positive {NUMBERS}; got {{'a': -1}}"),
        (Range(), "01", f"{RANGE}; got '01'"),
        (Range(), [1, 1], f"{RANGE}; got [1, 1]"),
        (Range(), [1], f"{RANGE}; got [1]"),
    ],
)
def test_a_refusal_says_what_is_allowed_and_what_was_given(constraint, value, message):
    with pytest.raises(ValueError, match=r"^x must be ") as caught:
        constraint("x", value)
    assert str(caught.value) == f"x must be {message}"


def statistic(value, error=None, bias=None, entries=(), **options):
    return StatisticRelease(
        "triangles / wedges",
        Estimate(value=value, standard_error=error, bias=bias),
        {"triangles": 10**20, "wedges": np.array([1.5, 2.5])},
        entries=entries,
        following=options.pop("following", False),
        evaluate=lambda text: text.upper(),
        **options,
    )


VECTOR = {
    "value": np.array([3.0, 1.0]),
    "error": np.array([0.5, 0.25]),
    "bias": None,
    "entries": ("ada", "bob"),
}


@pytest.mark.parametrize(
    ("release", "words"),
    [
        (statistic(1234.5, 2.0, 0.0), "is about 1,234.5 ± 2 (one standard error)."),
        (
            statistic(0.5, 0.1, 0.01, estimated=True),
            "is about 0.5 ± 0.1 (one standard error, itself a noisy estimate); its bias is about "
            "0.01.",
        ),
        (statistic(0.5), "is about 0.5 (its standard error is not released)."),
        (
            statistic(0.5, following=True),
            "is about 0.5 (the scale of its noise depends on the data, so it is private).",
        ),
    ],
)
def test_a_number_is_told_in_a_sentence(release, words):
    assert release.words() == f"triangles / wedges {words}"
    assert release.summary() == {
        "expression": "triangles / wedges",
        "value": release.value,
        "standard_error": release.standard_error,
        "bias": release.bias,
    }
    assert release.also("wedges") == "WEDGES"
    (axis,) = release.plot().axes
    assert (
        axis.get_xlabel() == "triangles / wedges" and axis.patches[0].get_width() == release.value
    )
    document = json.loads(release.files()["statistic.json"])
    assert document["measured"] == {"triangles": str(10**20), "wedges": ["1.5", "2.5"]}
    assert ("standard_error_is" in document) == release.estimated


def test_a_vector_is_told_by_its_entries():
    release = statistic(**VECTOR)
    head = "triangles / wedges: one number for each of 2 entries"
    assert release.words() == f"{head} ± 0.375 (one standard error, in the middle)."
    assert release.summary() == {"expression": "triangles / wedges", "entries": 2}
    assert release.files()["entries.csv"] == b"entry,value,standard_error\nada,3,0.5\nbob,1,0.25\n"
    (axis,) = release.plot().axes
    assert axis.lines[0].get_ydata().tolist() == [3.0, 1.0]


def test_moments_of_noise_whose_scale_was_estimated():
    found = EstimatedNoise(spread=Fraction(9), highest=3, fair=True)
    assert found.variance == 18
    # E[Z²] = 2b² for Laplace noise of scale b, so f(x) = x² is corrected by 2b².
    assert found.unbiased_power(1) == {1: 1} and found.unbiased_power(2) == {2: 1, 0: -18}
    assert found.moments(3) == [1, 0, 18, 0]
    assert found.unbiased_power(4) is None and found.moments(4) is None
    # E[Z⁴] = 24b⁴.
    assert EstimatedNoise(spread=Fraction(9), highest=None, fair=True).moments(4)[4] == 24 * 81
