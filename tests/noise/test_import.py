import subprocess
import sys

import pytest

from sfumato import noise


def test_importing_the_noise_loads_no_compiler():
    program = "import sys, sfumato.noise; print(sorted({'numba', 'scipy'} & set(sys.modules)))"
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert result.stdout.strip() == "[]"


@pytest.mark.parametrize("name", noise.__all__)
def test_every_public_name_can_be_loaded_and_is_listed(name):
    assert getattr(noise, name) is not None
    assert name in dir(noise)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'gumbel'"):
        noise.gumbel  # noqa: B018
