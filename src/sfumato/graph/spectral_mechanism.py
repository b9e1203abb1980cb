"""What a private spectrum is made by: one mechanism, with a plan and a program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from sfumato.data.graph import GraphPublic
from sfumato.graph.eigen import SymmetricOperator
from sfumato.privacy.budget import Budget
from sfumato.privacy.loss import Loss
from sfumato.privacy.plan import PlanStep
from sfumato.privacy.program import Program
from sfumato.privacy.registry import find_published

__all__ = ["Finishing", "SpectralMechanism", "SpectralParts", "mechanism_of", "variants_of"]

Floats = NDArray[np.float64]

#: Mechanism → where it lives, and its variants, the first of which is the default. A mechanism is
#: a class that is called with `k` (never more than there are nodes), `limit` (the loss for one
#: edge, pure or approximate) and `variant`.
MECHANISMS: dict[str, tuple[str, tuple[str, ...]]] = {
    "response": ("sfumato.graph.pair_spectrum:ResponseSpectrum", ("proved",)),
    "laplace": ("sfumato.graph.pair_spectrum:LaplaceSpectrum", ("proved",)),
    "eigenvalues": ("sfumato.graph.eigenvalue_noise:EigenvalueNoise", ("proved",)),
    "lnpp": ("sfumato.graph.lnpp:LNPP", ("proved", "global", "ptr", "published")),
    "sbmf": ("sfumato.graph.sbmf:SBMF", ("proved", "gibbs", "published")),
}
#: Mechanism → the class of its variant `"published"`, which is called in the same way.
PUBLISHED = {"lnpp": "spectral_analysis:PublishedLNPP", "sbmf": "spectral_analysis:PublishedSBMF"}


@dataclass(frozen=True)
class SpectralParts:
    """What a mechanism found, all of it public.

    Parameters
    ----------
    eigenvalues
        The k largest eigenvalues as far as they are known, from the largest.
    eigenvectors
        An array of shape (nodes, k) with orthonormal columns; `None` where there are none.
    detectable
        For each of them whether it stands out from the noise, where that can be told.
    notes
        What a reader should know, in sentences.
    observed
        The eigenvalues of the noisy matrix before their bias was removed, where there are any.
    edges
        The number of edges as far as it follows from what was said, where it does.
    matrix
        Makes the noisy matrix whose eigenpairs these are, `observed` with them, where there is one.
    """

    eigenvalues: Floats
    eigenvectors: Floats | None = None
    detectable: NDArray[np.bool_] | None = None
    notes: tuple[str, ...] = ()
    observed: Floats | None = None
    edges: float | None = None
    matrix: Callable[[], SymmetricOperator] | None = None


#: The post-processing that is left when all is asked; it may be long, and runs once.
Finishing = Callable[[], SpectralParts]


class SpectralMechanism(Protocol):
    """One way to a private spectrum; a frozen dataclass of `k`, `limit` and `variant`."""

    @property
    def proved(self) -> bool:
        """Whether the promise is proved; what is not is refused by ledgers."""

    def check(self, public: GraphPublic, limit: Loss) -> None:
        """Raise `ValueError` where it does not fit what is public or the loss."""

    def steps(self, public: GraphPublic, limit: Loss) -> tuple[PlanStep, ...]:
        """Return the lines of a plan; their losses add up to no more than the limit."""

    def program(self, public: GraphPublic, budget: Budget) -> Program[Finishing]:
        """Ask through the budget, and return what makes the spectrum of the answers."""


def variants_of(mechanism: str) -> tuple[str, ...]:
    """Return the variants of a mechanism, the default first."""
    return MECHANISMS[mechanism][1]


def mechanism_of(mechanism: str, *, k: int, limit: Loss, variant: str) -> SpectralMechanism:
    """Return a mechanism by its name.

    Parameters
    ----------
    mechanism
        Its name in `MECHANISMS`.
    k
        How many eigenvalues; at most as many as there are nodes.
    limit
        The loss for one edge.
    variant
        One of its variants.
    """
    place, variants = MECHANISMS[mechanism]
    if variant not in variants:
        words = " or ".join(repr(name) for name in variants)
        raise ValueError(f"variant of the mechanism {mechanism!r} must be {words}; got {variant!r}")
    module, _, name = place.partition(":")
    kind: Any = (
        find_published(PUBLISHED[mechanism])
        if variant == "published"
        else getattr(import_module(module), name)
    )
    return cast(SpectralMechanism, kind(k=k, limit=limit, variant=variant))
