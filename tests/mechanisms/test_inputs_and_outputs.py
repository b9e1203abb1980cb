"""Every primitive takes its declared inputs, says its declared outputs, and refuses all others.

Whoever verifies a transcript trusts `check_output`: nothing but what the primitive can say may
pass, and whatever does not pass is refused by `ValueError` or `TypeError`, never in another way.
"""

from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from sfumato import noise
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
