"""Every primitive takes its declared inputs, says its declared outputs, and refuses all others.

Whoever verifies a transcript trusts `check_output`: nothing but what the primitive can say may
pass, and whatever does not pass is refused by `ValueError` or `TypeError`, never in another way.
"""

from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from sfumato import noise
from sfumato.mechanisms.bingham_chain import BinghamChain
from sfumato.mechanisms.normal_steps import NormalSteps
from sfumato.privacy.primitive import Primitive, StatefulPrimitive
from sfumato.privacy.transcript import settle_output
from tests.primitive_cases import CASES

# Exact laws, which no version of a library can change: tested once.
pytestmark = pytest.mark.replay

#: What no primitive takes and none says: settled outputs hold nothing but such values.
STRANGE = [
    None,
    "text",
    2**2000,
    0.5,
    float("nan"),
    True,
    Fraction(1, 3),
    (),
    (1, 2, 3, 4, 5, 6, 7),
    ("a", None),
    np.zeros((2, 3, 4, 5), dtype=np.int64),
    np.full(7, 255, dtype=np.uint8),
    np.full(3, np.nan),
    np.array([], dtype=np.float64),
    np.array([2**2000, -(2**2000)], dtype=object),
    np.array(2**62),
]

ONE_SHOT = [case for case in CASES if isinstance(case.primitive, Primitive)]
STEPPED = [case for case in CASES if isinstance(case.primitive, StatefulPrimitive)]


def kind(case):
    return case.primitive.kind


def refuses(check, value):
    """Tell whether a check refuses a value in one of the two ways that its callers expect."""
    try:
        check(value)
    except (ValueError, TypeError):
        return True
    return False


@pytest.mark.parametrize("case", ONE_SHOT, ids=kind)
def test_a_primitive_says_what_it_declares(case):
    for side in (case.here, case.there):
        case.primitive.check(side)
        with noise.seeded(5):
            output = settle_output(case.primitive.sample(side))
        case.primitive.check_output(output)
        # Another output may be impossible; what was drawn is not.
        assert case.primitive.log_probability(side, output) > -np.inf


@pytest.mark.parametrize("case", ONE_SHOT, ids=kind)
def test_a_primitive_refuses_what_it_cannot_take_or_say(case):
    taken = [value for value in STRANGE if not refuses(case.primitive.check, value)]
    said = [value for value in STRANGE if not refuses(case.primitive.check_output, value)]
    assert not taken and not said


@pytest.mark.parametrize("case", STEPPED, ids=kind)
def test_a_run_says_what_its_primitive_declares_and_refuses_all_else(case):
    primitive, said = case.primitive, []
    with noise.seeded(5):
        run = primitive.start()
        for value in case.here:
            if run.done:
                break
            primitive.check(value)
            output = settle_output(run.step(value))
            primitive.check_output(value, said, output)
            wrong = [
                strange
                for strange in STRANGE
                if type(strange) is not type(output)
                and not refuses(partial(primitive.check_output, value, said), strange)
            ]
            assert not wrong
            said.append(output)
            assert run.done == primitive.is_stopped(said)
    assert said and primitive.log_probability(case.here[: len(said)], said) > -np.inf
    assert all(refuses(primitive.check, value) for value in (None, "text", 0.5, (1, 2)))


@pytest.mark.parametrize(
    ("name", "changes", "found"),
    [
        ("geometric noise", {"epsilon": 0}, "sensitivity and epsilon must be positive"),
        ("geometric noise", {"sensitivity": -1}, "sensitivity and epsilon must be positive"),
        ("discrete Gaussian noise", {"rho": 0}, "squared_sensitivity and rho must be positive"),
        ("normal noise", {"mu_squared": 0}, "squared_sensitivity and mu_squared must be posit"),
        ("normal noise in steps", {"lengths": ()}, "there must be at least one step"),
        ("normal noise in steps", {"lengths": (1, 0)}, "every vector must have an entry"),
        ("normal noise in steps", {"mu_squared": 0}, "squared_sensitivity and mu_squared must"),
        ("deep point", {"points": 0}, "points, dimension, bound and moved must be whole"),
        ("deep point", {"bound": 2**60}, "bound must be at most .*; got 1152921504606846976"),
        ("deep point", {"delta": 1}, "delta and test_share shares of 1"),
        ("above threshold", {"positives": 0}, "at least 1; got 1 and 0"),
        ("above threshold", {"epsilon": 0}, "epsilon must be positive and finite; got Fraction"),
        ("above threshold", {"threshold": 2**70}, "threshold must be at most"),
        ("above threshold", {"share": 1}, "share must be greater than 0 and less than 1; got"),
        ("randomised bits", {"bits": -1}, "the number of bits not negative"),
        ("randomised response", {"epsilon": 0}, "epsilon must be positive"),
        ("randomised response", {"answers": 0}, "there must be an answer"),
        ("subset response", {"size": 4}, "a set has from 1 to 3 answers; got 4"),
        ("place of a number", {"window": 0}, "a window has at least one place"),
        ("matrix response", {"weights": ((1,),)}, "2 answers need as many columns of as many"),
        ("matrix response", {"weights": ((1, 1), (1, 1))}, r"positive and add up to 2\^64"),
        (
            "matrix response",
            {"weights": ((1, 2**64 - 1), (2**64 - 1, 1))},
            r"differ by a factor of more than e\^epsilon",
        ),
        ("one question of several", {"epsilon": 0}, "epsilon must be positive"),
        ("one question of several", {"answers": ()}, "every question needs a number of answers"),
        ("one question of several", {"set_sizes": (0,)}, "every question needs a number of ans"),
        (
            "one question of several",
            {"responses": ("randomised response", "shouting")},
            "'shouting' is not a response; there are randomised response, ",
        ),
        ("one question of several", {"answers": (2, 0)}, "there must be an answer"),
    ],
)
def test_parameters_that_no_primitive_has_are_refused(name, changes, found):
    (primitive,) = {case.primitive for case in CASES if case.primitive.kind == name}
    with pytest.raises(ValueError, match=found):
        replace(primitive, **changes)


def test_a_chain_needs_nodes_weights_and_sweeps():
    chain = BinghamChain(nodes=3, weights=(Fraction(1),), sweeps=2)
    for changes in ({"nodes": 0}, {"weights": ()}, {"weights": (Fraction(1),) * 4}):
        with pytest.raises(ValueError, match="no more weights than nodes; got"):
            replace(chain, **changes)
    with pytest.raises(ValueError, match="sweeps must be at least 1; got 0"):
        replace(chain, sweeps=0)


def test_a_run_of_normal_steps_has_as_many_as_were_declared():
    primitive = NormalSteps(lengths=(1, 2), squared_sensitivity=1, mu_squared=4)
    assert primitive.standard_deviation == 0.5
    run, (one, two) = primitive.start(), (np.zeros(1, np.int64), np.zeros(2, np.int64))
    with pytest.raises(ValueError, match="shape"):
        run.step(two)
    run.step(one)
    assert not run.done
    run.step(two)
    assert run.done
    with pytest.raises(ValueError, match="all steps of this run were taken"):
        run.step(two)
    assert primitive.log_probability([one], [one, two]) == -np.inf
    assert primitive.log_probability([one, two, two], [one, two, two]) == -np.inf
    assert primitive.change([one], [one, two]).measured == np.inf
    moved = primitive.change([one, two], [one + 2, two + 1])
    assert (moved.measured, moved.allowed, moved.holds_for(2)) == (6, 1, False)
