"""Inner loops that are interpreted while there is little to do, and compiled by Numba afterwards.

Loading Numba takes most of a second and compiling a loop another, more than a small release takes
in all. A kernel is therefore interpreted until the steps that it was asked for add up. Both ways
must agree in every bit, so that which one is taken shows in the time alone: a kernel uses wrapping
64-bit integers, and IEEE additions, multiplications, divisions and square roots in a fixed order.
It never uses NumPy's sum of floats, which adds in an order of its own.

A kernel that uses the exponential of the C library, which a compiler may replace on some machines,
is `repeatable`: each call is judged by itself, so that a program that is run on its transcript
comes to the same numbers as on the data.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, update_wrapper
from types import FunctionType
from typing import Any

import numpy as np

__all__ = ["INTERPRETED_STEPS", "Kernel", "compiled", "uncounted"]

#: Steps of each kernel that a process interprets; they take about a quarter of a second.
INTERPRETED_STEPS = 1_000_000

#: Steps up to which a call of a repeatable kernel is interpreted.
REPEATED_STEPS = 100_000


class Kernel:
    """A function that can be interpreted and compiled.

    Parameters
    ----------
    function
        The function.
    steps
        Returns about how many steps a call takes, given its arguments.
    interpreted
        What is run where it is not compiled.
    make
        Compiles a function.
    repeatable
        Whether equal calls are always run in the same way.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        steps: Callable[..., int],
        interpreted: Callable[..., Any],
        make: Callable[[Callable[..., Any]], Any],
        repeatable: bool,
    ) -> None:
        update_wrapper(self, function)
        self.source = function
        self.interpreted = interpreted
        self._steps = steps
        self._make = make
        self._repeatable = repeatable
        self._taken = 0

    @cached_property
    def compiled(self) -> Any:
        """What compiled code calls."""
        return self._make(self.source)

    def __call__(self, *arguments: Any) -> Any:
        """Run the function in the way that is expected to take less time."""
        if self._steps is uncounted:
            return self.interpreted(*arguments)
        if not self._is_small(arguments):
            return self.compiled(*arguments)
        # Compiled numbers wrap and overflow silently.
        with np.errstate(all="ignore"):
            return self.interpreted(*arguments)

    def _is_small(self, arguments: tuple[Any, ...]) -> bool:
        """Tell whether a call is interpreted."""
        if self._repeatable:
            return self._steps(*arguments) <= REPEATED_STEPS
        if self._taken <= INTERPRETED_STEPS:
            self._taken += self._steps(*arguments)
        return self._taken <= INTERPRETED_STEPS


def compiled(
    steps: Callable[..., int],
    *,
    interpreted: Callable[..., Any] | None = None,
    make: Callable[[Callable[..., Any]], Any] | None = None,
    repeatable: bool = False,
    **options: Any,
) -> Callable[[Callable[..., Any]], Kernel]:
    """Return a decorator that makes a function a kernel.

    Parameters
    ----------
    steps
        Returns about how many steps a call takes, given its arguments; a step that is interpreted
        takes a quarter of a microsecond.
    interpreted
        The same in operations on whole arrays, if the function itself is slow to interpret.
    make
        Compiles a function; by default Numba does.
    repeatable
        Whether equal calls are always run in the same way, whatever was called before.
    options
        Further options for Numba.
    """

    def compile_function(function: Callable[..., Any]) -> Any:
        import numba

        return numba.njit(cache=True, nogil=True, **options)(_resolve_kernels(function))

    def make_kernel(function: Callable[..., Any]) -> Kernel:
        return Kernel(
            function, steps, interpreted or function, make or compile_function, repeatable
        )

    return make_kernel


def uncounted(*_: Any) -> int:
    """Return the steps of a kernel that only kernels call: its callers have counted them."""
    return 0


def _resolve_kernels(function: Any) -> FunctionType:
    """Return a function that sees the compiled form of each kernel that it calls."""
    seen = dict(function.__globals__)
    for name in function.__code__.co_names:
        if isinstance(seen.get(name), Kernel):
            seen[name] = seen[name].compiled
    return FunctionType(function.__code__, seen, function.__name__, function.__defaults__)
