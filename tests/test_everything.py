"""Every method and every primitive is known to catalogue, suite, proofs, audit and mutants."""

from dataclasses import dataclass
from typing import ClassVar

import pytest

from sfumato.mechanisms.laplace import GeometricNoise
from sfumato.privacy.method import Method
from sfumato.privacy.primitive import Primitive
from sfumato.privacy.program import Query
from sfumato.tabular.histogram import Histogram
from tests import everything
from tests.primitive_cases import CASES, UNPROVED


@pytest.mark.slow  # It imports everything.
def test_every_method_has_catalogue_suite_proof_audit_and_mutants():
    found = {method.__name__: everything.method_faults(method) for method in everything.methods()}
    assert not {name: faults for name, faults in found.items() if faults}
    assert len(found) > 50


@pytest.mark.slow  # It imports everything.
def test_every_primitive_has_price_proof_case_and_mutant():
    found = {kind.__name__: everything.primitive_faults(kind) for kind in everything.primitives()}
    assert not {name: faults for name, faults in found.items() if faults}
    assert len(found) > 30


@dataclass(frozen=True, kw_only=True)
class PlantedMethod(Histogram):
    """A method that nobody registered."""

    proof: ClassVar[str] = "planted.md"

    def program(self, public, budget):
        """Ask nothing."""


@dataclass(frozen=True, kw_only=True)
class PlantedPrimitive(GeometricNoise):
    """A primitive that nobody registered."""

    kind: ClassVar[str] = "planted noise"


@dataclass(frozen=True, kw_only=True)
class NamelessPrimitive(GeometricNoise):
    """A primitive that is priced as another."""


@pytest.mark.slow  # It imports everything.
def test_a_planted_method_is_found_and_lacks_everything():
    assert PlantedMethod in everything.concrete(Method, package=__name__)
    faults = " ".join(everything.method_faults(PlantedMethod))
    for lacking in ("catalogue", "audit subject", "proof page", "measuring", "no suite", "mutant"):
        assert lacking in faults


@pytest.mark.slow  # It imports everything.
def test_a_method_on_the_page_of_another_is_found():
    @dataclass(frozen=True, kw_only=True)
    class Borrowed(Histogram):
        """It names a page that does not prove it."""

    assert "a proof page that does not list it" in everything.method_faults(Borrowed)


@pytest.mark.slow  # It imports everything.
def test_a_planted_primitive_is_found_and_lacks_everything():
    assert PlantedPrimitive in everything.concrete(Primitive, package=__name__)
    faults = " ".join(everything.primitive_faults(PlantedPrimitive))
    for lacking in ("proof page", "word on its privacy", "mutant"):
        assert lacking in faults
    assert "price" in " ".join(everything.primitive_faults(NamelessPrimitive))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.primitive.kind)
def test_a_primitive_keeps_its_price_and_half_the_price_is_caught(case):
    assert case.primitive.change(case.here, case.there).holds
    price, loss = case.price(), case.loss()
    assert loss <= price * (1 + 1e-9)
    # The mutant: the same law for half the price, as if half of the noise were missing.
    assert loss > price / 2


@pytest.mark.parametrize("case", UNPROVED, ids=lambda case: case.primitive.kind)
def test_what_is_not_proved_exceeds_what_it_claims(case):
    assert case.loss() > case.price()


@pytest.mark.slow  # It imports everything.
def test_queries_are_in_rooms_of_their_own():
    """A program is beside no code that sees data: it could reach it by name."""
    found = everything.concrete(Query)
    homes = {kind.__module__ for kind in found}
    assert len(found) > 40 and all(name.endswith("queries") for name in homes), homes
