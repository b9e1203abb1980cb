"""Names of methods and public parts, so that a saved release can be read again.

A name is resolved only if it was registered by code that is already trusted: the package's own
catalogue, or a class the user's program defined. A file can never cause an import of its choosing.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

_classes: dict[str, type[Any]] = {}
_places: dict[str, str] = {}


def register(name: str, thing: type[Any]) -> None:
    """Make a class known under its name; a name of the package's own catalogue stays its own."""
    place = _places.get(name)
    if place is not None and place != f"{thing.__module__}:{thing.__qualname__}":
        raise ValueError(f"{name!r} is the name of a class of sfumato; choose another")
    _classes[name] = thing


def register_place(name: str, place: str) -> None:
    """Make a class known by where it lives ('package.module:Class'), without importing it."""
    _places[name] = place


def find_published(place: str) -> Any:
    """Return what a paper printed ('module:name' of `sfumato.published`), imported at first use.

    That folder lies above the kinds of data: their methods name a published variant and never
    import one.
    """
    module, _, name = place.partition(":")
    return getattr(import_module(f"sfumato.published.{module}"), name)


def import_published() -> None:
    """Import all that papers printed: their primitives are known before a transcript is priced."""
    for module in sorted((Path(__file__).parent.parent / "published").glob("[a-z]*.py")):
        import_module(f"sfumato.published.{module.stem}")


def resolve(name: str) -> type[Any]:
    """Return the class of that name, or say that it is unknown."""
    if name not in _classes and name in _places:
        module, _, attribute = _places[name].partition(":")
        _classes[name] = getattr(import_module(module), attribute)
    if name not in _classes:
        raise ValueError(
            f"{name!r} is unknown to this version of sfumato; update it, or import the module that "
            "defines it first"
        )
    return _classes[name]


def command_name(method: str | type[Any]) -> str:
    """Return what the command line calls a method: `table.PrivBayes` is `privbayes`.

    Parameters
    ----------
    method
        The method's class, or its name in certificates.
    """
    name = method if isinstance(method, str) else method.__name__
    return name.rpartition(".")[2].lower()


def find_method(given: str, names: Iterable[str]) -> str:
    """Return the name in certificates of the method that somebody means.

    Case and hyphens do not matter: `privbayes`, `priv-bayes`, `PrivBayes` and `table.PrivBayes` are
    one method.

    Parameters
    ----------
    given
        How the method was called.
    names
        The names, as in certificates, of the methods there are to choose from.
    """
    from sfumato.privacy.arguments import suggest

    known = {command_name(name): name for name in names}
    plain = given.strip().lower().replace("-", "").replace("_", "")
    found = known.get(command_name(plain))
    if found is None or plain not in (found.lower(), command_name(found)):
        hint = suggest(command_name(plain), known)
        raise ValueError(f"there is no method {given!r}{hint or '.'} Methods: {', '.join(known)}")
    return found
