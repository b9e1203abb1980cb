"""Every concrete method and primitive of `src/`, found by itself, and what each must have.

Nothing is listed by hand: all modules are imported and the subclasses walked. So a method or
primitive that somebody adds and registers nowhere is found and complained about.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from sfumato.audit import canonical_pairs
from sfumato.audit.subjects import subject_of
from sfumato.catalogue import METHODS
from sfumato.privacy.method import InteractiveMethod, LocalMethod, Method
from sfumato.privacy.primitive import Primitive, StatefulPrimitive, _kinds
from sfumato.privacy.registry import resolve
from tests import primitive_cases
from tests.method_suite import AuditSuite

ROOT = Path(__file__).parent.parent

#: Mutants, and the tests of the suite that plant them in the method and see them caught.
MUTANTS = {
    "half the noise": (
        "test_exact_replay_fails_the_method_with_half_the_noise",
        "test_samples_refute_the_method_with_half_the_noise_drawn",
    ),
    "half the sensitivity": ("test_exact_replay_fails_the_method_with_half_the_sensitivity",),
}


def _script(path: str) -> ModuleType:
    """Return a script of the documentation as a module."""
    place = ROOT / "docs" / path
    spec = importlib.util.spec_from_file_location(place.stem, place)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # Dataclasses look their module up there.
    spec.loader.exec_module(module)
    return module


@cache
def stamps() -> ModuleType:
    """Return docs/proofs/stamp.py."""
    return _script("proofs/stamp.py")


@cache
def derive() -> ModuleType:
    """Return docs/derive.py, which finds all classes of the package."""
    return _script("derive.py")


@cache
def import_everything() -> None:
    """Import all modules of the package, and all test modules that hold a suite."""
    derive().import_package()
    for path in (ROOT / "tests").rglob("test_*.py"):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        if "Suite" in path.read_text() and name not in sys.modules:
            importlib.import_module(name)


def concrete(*bases: Any, package: str = "sfumato.") -> list[Any]:
    """Return all concrete subclasses that the package defines."""
    import_everything()
    found: list[Any] = derive().find_concrete(*bases, package=package)
    return found


def methods() -> list[Any]:
    """Return every concrete method."""
    return concrete(Method, InteractiveMethod, LocalMethod)


def primitives() -> list[Any]:
    """Return every concrete primitive."""
    return concrete(Primitive, StatefulPrimitive)


def suites() -> list[Any]:
    """Return every suite that pytest runs."""
    import_everything()
    return [kind for kind in derive().find_below(AuditSuite) if kind.__name__.startswith("Test")]


def _file(kind: Any) -> str:
    """Return the file that defines a class, as proof pages name it."""
    return "src/" + kind.__module__.replace(".", "/") + ".py"


def _measuring(method: Any) -> set[str]:
    """Return the files that define how a method measures, and the method itself."""
    names = ("program", "answer")
    owners = {kind for kind in method.__mro__ for name in names if name in vars(kind)}
    return {_file(kind) for kind in {*owners, method}}


def _audited(name: str) -> bool:
    """Tell whether `sfumato audit` has something to try the method on."""
    return name in METHODS and bool(canonical_pairs(subject_of(name, epsilon="1").public))


def method_faults(method: Any) -> list[str]:
    """Return what a method lacks; an empty list if it has everything."""
    name = f"{method.kind}.{method.__name__}"
    faults = []
    if name not in METHODS or resolve(name) is not method:
        faults.append("no entry in the catalogue: run make derive")
    if not _audited(name):
        faults.append("no audit subject")
    page = ROOT / "docs" / "proofs" / getattr(method, "proof", "none")
    if page not in stamps().pages():
        faults.append("no proof page")
    elif _file(method) not in stamps().read(page)[0]:
        faults.append("a proof page that does not list it")
    if not _measuring(method) <= stamps().covered():
        faults.append("a way of measuring that is on no proof page")
    own = [suite for suite in suites() if suite.name == name]
    if not own:
        faults.append("no suite")
    if not any(suite.sampled for suite in own):
        faults.append("no suite that draws samples")
    # A suite that overrides the test does not count: it may skip it.
    for mutant, tests in MUTANTS.items():
        if not any(getattr(suite, t) is getattr(AuditSuite, t) for suite in own for t in tests):
            faults.append(f"no mutant with {mutant}")
    return faults


def primitive_faults(primitive: Any) -> list[str]:
    """Return what a primitive lacks; an empty list if it has everything."""
    faults = []
    if _kinds.get(getattr(primitive, "kind", "")) is not primitive:
        faults.append("no kind of its own, by which accounts find its price")
    if _file(primitive) not in stamps().covered():
        faults.append("no proof page that lists it")
    words = primitive.__doc__ or ""
    if "Privacy:" not in words:
        faults.append("no word on its privacy")
    proved = _kinds_of(primitive_cases.CASES)
    unproved = _kinds_of(primitive_cases.UNPROVED) | {primitive_cases.STOPPED_CHAIN}
    if primitive not in proved | unproved:
        faults.append("no case with a mutant in tests/primitive_cases.py")
    if primitive in unproved and not any(word in words for word in ("Privacy: none", "Not proved")):
        faults.append("no warning that it is not private")
    return faults


def _kinds_of(cases: Iterable[primitive_cases.Case]) -> set[type]:
    return {type(case.primitive) for case in cases}
