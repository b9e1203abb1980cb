"""Exact noise: the only randomness in the library.

Every sampler here returns draws whose law is exactly the one it names. Floating point may settle a
draw by an outward-rounded interval; where it cannot, integers decide. Compiled code is loaded when
many draws are made, never by the import.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sfumato.noise.bernoulli import bernoulli, bernoulli_exp, bernoulli_exp_array
from sfumato.noise.bits import Bits, bits, generator, seeded
from sfumato.noise.exact import Number, exact
from sfumato.noise.gaussian import discrete_gaussian
from sfumato.noise.laplace import discrete_laplace, geometric
from sfumato.noise.sample_size import Size
from sfumato.noise.uniform import uniform_integers

if TYPE_CHECKING:
    from sfumato.noise.grid import (
        GridValues,
        grid_for,
        grid_gaussian,
        grid_laplace,
        rounded_l1_sensitivity,
        rounded_l2_sensitivity_squared,
        to_units,
    )
    from sfumato.noise.knorm import perturb_knorm
    from sfumato.noise.private_scale import (
        cauchy_log_probability,
        dilation_rate,
        perturb_cauchy,
        perturb_gaussian,
        perturb_laplace,
        slide_rate,
    )
    from sfumato.noise.select import exponential, permute_and_flip, top_k

__all__ = [
    "Bits",
    "GridValues",
    "Number",
    "Size",
    "bernoulli",
    "bernoulli_exp",
    "bernoulli_exp_array",
    "bits",
    "cauchy_log_probability",
    "dilation_rate",
    "discrete_gaussian",
    "discrete_laplace",
    "exact",
    "exponential",
    "generator",
    "geometric",
    "grid_for",
    "grid_gaussian",
    "grid_laplace",
    "permute_and_flip",
    "perturb_cauchy",
    "perturb_gaussian",
    "perturb_knorm",
    "perturb_laplace",
    "rounded_l1_sensitivity",
    "rounded_l2_sensitivity_squared",
    "seeded",
    "slide_rate",
    "to_units",
    "top_k",
    "uniform_integers",
]

#: Names loaded when they are first asked for, and the modules they come from.
_LATER = {
    "GridValues": "grid",
    "grid_for": "grid",
    "grid_gaussian": "grid",
    "grid_laplace": "grid",
    "rounded_l1_sensitivity": "grid",
    "rounded_l2_sensitivity_squared": "grid",
    "to_units": "grid",
    "cauchy_log_probability": "private_scale",
    "dilation_rate": "private_scale",
    "perturb_cauchy": "private_scale",
    "perturb_gaussian": "private_scale",
    "perturb_laplace": "private_scale",
    "slide_rate": "private_scale",
    "perturb_knorm": "knorm",
    "exponential": "select",
    "permute_and_flip": "select",
    "top_k": "select",
}


def __getattr__(name: str) -> Any:
    """Load a sampler that `import sfumato.noise` left for later."""
    module = _LATER.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the loaded names and those that are loaded later."""
    return sorted({*globals(), *__all__})
