"""What a caller hands in: used where its meaning is clear, otherwise answered with what to write.

Nothing here looks at a private value or guesses what is public. A message names types, parameters
and plain numbers; it never shows what a data frame or an array holds.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import MISSING, fields
from difflib import get_close_matches
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from sfumato import noise
from sfumato.noise.exact import briefly, exact
from sfumato.privacy import registry
from sfumato.privacy.parameters import Whole

if TYPE_CHECKING:
    from sfumato.privacy.ledger import Ledger

T = TypeVar("T")

#: What `ledger=` may be; a path is opened.
LedgerLike: TypeAlias = "Ledger | str | os.PathLike[str] | None"

#: Libraries whose objects are called by the library's name as well.
_LIBRARIES = {"pandas": "pandas", "polars": "Polars", "pyarrow": "PyArrow", "numpy": "NumPy"}


def suggest(given: object, known: Iterable[str], *, cutoff: float = 0.6) -> str:
    """Return `; did you mean 'cells'?` for a near miss, else nothing."""
    near = get_close_matches(str(given), list(known), n=1, cutoff=cutoff)
    return f"; did you mean {near[0]!r}?" if near else ""


def check_parameters(cls: type[Any], given: tuple[Any, ...], named: Iterable[str]) -> None:
    """Raise `TypeError` with what to write, unless a method can be made from these arguments.

    Parameters
    ----------
    cls
        The class of the method, a dataclass with keyword-only fields.
    given
        The arguments without a name; there must be none.
    named
        The names of the others.
    """
    declared = [item for item in fields(cls) if item.init]
    names = [item.name for item in declared]
    named = list(named)
    listed = f"Its parameters are {', '.join(names)}"
    for name in named:
        if name not in names:
            now = getattr(cls, "former_names", {}).get(name)
            hint = f"; it is now called {now!r}." if now else suggest(name, names)
            raise TypeError(f"{cls.__name__} has no parameter {name!r}{hint or '.'} {listed}")
    if given:
        raise TypeError(
            f"the parameters of {cls.__name__} must be given by name: write "
            f"{cls.__name__}({names[0]}={_repeat_number(given[0])}). {listed}"
        )
    for item in declared:
        needed = item.default is MISSING and item.default_factory is MISSING
        if needed and item.name not in named:
            raise TypeError(
                f"{cls.__name__} needs {item.name}, {_meaning(item)}: there is no default; write "
                f"{cls.__name__}({item.name}=…)"
            )


def _repeat_number(given: Any) -> str:
    """Return a number as it was given, and a gap for anything else: it might be data."""
    try:
        exact(given)
    except (TypeError, ValueError):
        return "…"
    return briefly(given)


def _meaning(item: Any) -> str:
    """Return what a parameter is, to follow its name."""
    if item.name == "epsilon":
        return "the privacy loss for one unit of the data"
    constraint = item.metadata.get("constraint")
    return "a parameter" if constraint is None else str(constraint.allowed)


def is_public(given: Any) -> bool:
    """Tell whether something is the public part of data."""
    # The class is asked: a frame or a named tuple may have columns of these names.
    kind = type(given)
    return callable(getattr(kind, "assumptions", None)) and isinstance(
        getattr(kind, "kind", None), str
    )


def is_private(given: Any) -> bool:
    """Tell whether something is private data with its public part."""
    # A data frame may have columns of these names.
    return is_public(getattr(given, "public", None)) and hasattr(given, "digest")


def find_public(given: Any, *, kind: str | None = None, verb: str = "plan") -> Any:
    """Return the public part of what was given: itself, or that of data, a schema or a release.

    Parameters
    ----------
    given
        A public part, or something that has one.
    kind
        The kind of data that is expected, for the message.
    verb
        What was called, for the message.
    """
    if is_public(given):
        return given
    public = getattr(given, "public", None)
    if is_public(public):
        return public
    raise TypeError(
        f"{verb} needs private data or their public part; got {name_type(given)}. "
        f"{_advice(given, kind, verb)}"
    )


def require_private(given: Any, *, kind: str, verb: str) -> None:
    """Raise `TypeError` with what to write unless something is private data.

    Parameters
    ----------
    given
        What was given.
    kind
        The kind of data that the method is for.
    verb
        What was called.
    """
    if is_private(given):
        return
    if is_public(given):
        raise TypeError(
            f"{verb} needs the private data; got their public part, which holds no records. Write "
            f"{verb}(data), or sf.rehearse(method, public) for a rehearsal on synthetic data"
        )
    raise TypeError(
        f"{verb} needs private data; got {name_type(given)}. {_advice(given, kind, verb)}"
    )


def _advice(given: Any, kind: str | None, verb: str) -> str:
    """Say how private data of a kind are made of what was given."""
    try:
        public: Any = registry.resolve(f"public.{kind}")
    except ValueError:
        public = None
    made = getattr(public, "made_by", "")
    if not made:
        return "Declare the public part of the data first"
    call = public.read_by if isinstance(given, str | os.PathLike) else made
    return (
        f"Write {verb}({call}): what is public must be declared and is never inferred from the data"
    )


def name_type(given: Any) -> str:
    """Return the type of something in words, such as `a pandas DataFrame`; never its value."""
    kind = type(given)
    if given is None:
        return "None"
    library = _LIBRARIES.get(kind.__module__.partition(".")[0])
    name = f"{library} {kind.__name__}" if library else kind.__name__
    return f"an {name}" if name[0] in "aeiouAEIOU" else f"a {name}"


def open_ledger(given: Any) -> Ledger | None:
    """Return a ledger that was given as such or as the path of its file; None stays None.

    Raises
    ------
    LedgerError
        If there is no ledger at that path, or it is damaged.
    """
    from sfumato.privacy.ledger import Ledger

    if given is None or isinstance(given, Ledger):
        return given
    if isinstance(given, str | os.PathLike):
        return Ledger.open(given)
    raise TypeError(
        f"ledger must be a ledger or the path of its file; got {name_type(given)}. Write "
        "ledger=sf.Ledger.open(path), or sf.Ledger.create(path, allow=sf.PureDP(…)) for a new one"
    )


def takes_public(function: Callable[..., T]) -> Callable[..., T]:
    """Let a method's function of a public part take private data too, of which it sees no more."""

    @wraps(function)
    def taking(self: Any, public: Any, *rest: Any, **options: Any) -> T:
        found = find_public(public, kind=self.kind, verb=function.__name__)
        return function(self, found, *rest, **options)

    return taking


def read_names(given: Any) -> tuple[str, ...]:
    """Return names of columns; a single one may stand without brackets."""
    return (given,) if isinstance(given, str) else tuple(given)


def choose_generator(
    seed: int | None, generator: np.random.Generator | None = None
) -> np.random.Generator:
    """Return the generator for post-processing that was asked for with `seed=` or `generator=`.

    Parameters
    ----------
    seed
        A whole number of at least 0, for a sample that can be drawn again.
    generator
        A NumPy generator in place of a seed. Without either, bits are fresh.
    """
    if seed is None and generator is None:
        return noise.generator()
    if seed is not None and generator is not None:
        raise TypeError("seed and generator cannot be combined; give one of them")
    if generator is not None:
        if not hasattr(generator, "bit_generator"):
            raise TypeError(
                f"generator must be a NumPy generator; got {name_type(generator)}. Write seed=1 "
                "for a sample that can be drawn again"
            )
        return generator
    return noise.generator(Whole(0)("seed", seed))
