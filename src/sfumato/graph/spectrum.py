"""The largest eigenvalues and eigenvectors of a private graph."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import comb
from typing import ClassVar

from sfumato.data.graph import Graph, GraphPublic
from sfumato.graph.number import EDGES, edge_noise, edge_step
from sfumato.graph.queries import EdgeCount
from sfumato.graph.spectral_mechanism import (
    MECHANISMS,
    SpectralMechanism,
    mechanism_of,
    variants_of,
)
from sfumato.graph.spectrum_release import SpectrumRelease
from sfumato.mechanisms.pair_response import GAPS_FROM
from sfumato.privacy.budget import Budget
from sfumato.privacy.guarantee import Basis, Guarantee
from sfumato.privacy.loss import ApproxDP, Loss, Number, PureDP
from sfumato.privacy.method import Method
from sfumato.privacy.parameters import DELTA, SHARE, Flag, OneOf, OrNone, Whole, parameter
from sfumato.privacy.plan import Plan, Size
from sfumato.privacy.program import FINISH, Ask, Program

__all__ = ["Spectrum"]

#: What the mechanisms do, in a few words.
WORDS = {
    "response": "from a graph told by randomised response",
    "laplace": "from an adjacency matrix with noise on every entry",
    "eigenvalues": "noise on the eigenvalues themselves",
    "lnpp": "noise on eigenvalues and eigenvectors",
    "sbmf": "eigenvectors drawn from Bingham's law",
}
#: Where they are proved.
PAGES = {
    "response": "edge-response.md",
    "laplace": "spectrum.md",
    "eigenvalues": "spectrum.md",
    "lnpp": "spectrum.md",
    "sbmf": "sbmf.md",
}
#: Those that say or compute something for every pair of nodes.
PAIRED = {"response": ("pairs of nodes",), "laplace": ("noisy pairs",), "sbmf": ("noisy pairs",)}
VARIANTS = ("proved", "global", "ptr", "gibbs", "published")


@dataclass(frozen=True, kw_only=True)
class Spectrum(Method[Graph, SpectrumRelease]):
    """Release the largest eigenvalues of a graph and their eigenvectors.

    Parameters
    ----------
    epsilon
        Privacy loss for one edge.
    k
        Number of eigenvalues, the algebraically largest first; at most the number of nodes.
    mechanism
        `"response"` (the choice of `"auto"`): randomised response on every pair of nodes, then an
        ordinary eigendecomposition. `"laplace"`: Laplace noise on every pair. `"eigenvalues"`:
        noise on the eigenvalues only. `"lnpp"`: noise on eigenvalues and eigenvectors. `"sbmf"`:
        eigenvectors drawn from Bingham distributions.
    variant
        For `"lnpp"`: `"global"` (the same as `"proved"` without a delta) or `"ptr"`,
        propose-test-release on the gaps between eigenvalues, which requires a delta. For `"sbmf"`:
        `"gibbs"`, whose sampler is not exact. `"published"`: the algorithm as printed, which is not
        private.
    delta
        For `"ptr"`: the δ of the (ε, δ) guarantee.
    edge_share
        Share of ε for the number of edges, which `reconstruction` uses; none by default.
        `"response"` and `"laplace"` give an estimate of that number without it.
    accept_unproven
        Must be true for variants whose privacy proof fails or is incomplete.

    Notes
    -----
    Privacy: one edge is one pair of nodes, which randomised response flips with probability 1/(1 +
    e^ε); everything else is post-processing (docs/proofs/edge-response.md; for the other mechanisms
    docs/proofs/spectrum.md and docs/proofs/sbmf.md).
    """

    kind: ClassVar[str] = "graph"
    proof: ClassVar[str] = "edge-response.md"

    k: int = parameter(Whole(1), 5)
    mechanism: str = parameter(OneOf(("auto", *MECHANISMS)), "auto")
    variant: str = parameter(OneOf(VARIANTS), "proved")
    delta: Number | None = parameter(OrNone(DELTA), None)
    edge_share: Number | None = parameter(OrNone(SHARE), None)
    accept_unproven: bool = parameter(Flag(), False)

    def __post_init__(self) -> None:
        super().__post_init__()
        allowed = variants_of(self._chosen)
        if self.variant not in allowed:
            words = " or ".join(repr(name) for name in allowed)
            raise ValueError(
                f"variant of the mechanism {self._chosen!r} must be {words}; got {self.variant!r}"
            )
        if self.delta is not None and self._chosen != "lnpp":
            raise ValueError(f"mechanism {self._chosen!r} has a pure privacy loss; leave delta out")
        if self._variant == "ptr" and self.delta is None:
            raise ValueError("variant='ptr' has an (epsilon, delta) guarantee; pass delta=…")
        if self.delta is not None and self._variant != "ptr":
            raise ValueError(f"variant={self.variant!r} has a pure privacy loss; leave delta out")
        if not self._mechanism(1).proved and not self.accept_unproven:
            raise ValueError(
                f"variant={self.variant!r} of {self._chosen} is not proved to be private; use "
                "variant='proved', or set accept_unproven=True for a comparison without a privacy "
                "guarantee"
            )

    @property
    def _chosen(self) -> str:
        return "response" if self.mechanism == "auto" else self.mechanism

    @property
    def _variant(self) -> str:
        """The variant, `"proved"` told apart by whether there is a δ."""
        if self._chosen == "lnpp" and self.variant == "proved":
            return "global" if self.delta is None else "ptr"
        return self.variant

    @property
    def basis(self) -> Basis:
        """Proved, but for what was published or is not sampled exactly."""
        return Basis.PROVED if self._mechanism(1).proved else Basis.PUBLISHED

    def guarantee(self, public: GraphPublic) -> Guarantee:
        """Return what a release will promise, with the page that proves this mechanism."""
        return replace(super().guarantee(public), proof=PAGES[self._chosen])

    def loss(self) -> Loss:
        """Return ε, or (ε, δ)."""
        return PureDP(self.epsilon) if self.delta is None else ApproxDP(self.epsilon, self.delta)

    def _mechanism(self, nodes: int) -> SpectralMechanism:
        return mechanism_of(
            self._chosen,
            k=min(self.k, nodes),
            limit=self._spectral_loss(self.loss()),
            variant=self._variant,
        )

    def _spectral_loss(self, limit: Loss) -> Loss:
        """Return what is left for the spectrum once the edges are counted."""
        if self.edge_share is None:
            return limit
        rest = 1 - Fraction(self.edge_share)
        if isinstance(limit, ApproxDP):
            return ApproxDP(limit.epsilon * rest, limit.delta)
        return limit.share(rest)

    def _edge_loss(self) -> Loss | None:
        """Return what counts the edges, if they are counted."""
        if self.edge_share is None:
            return None
        epsilon = Fraction(self.epsilon) * Fraction(self.edge_share)
        return PureDP(epsilon) if self.delta is None else ApproxDP(epsilon, 0)

    def trial(self) -> Spectrum:
        """Return the method for fewer eigenpairs, and without noise where that alters no form."""
        if self._chosen == "sbmf":
            # Two directions are the two ways in which directions are drawn.
            return replace(self, k=min(self.k, 2))
        if self._chosen != "response":
            return self
        # What is said is written in the same form, and a solver finds its way sooner.
        epsilon = Fraction(self.epsilon)
        clear = epsilon if epsilon < GAPS_FROM else max(epsilon, Fraction(40))
        return replace(self, k=1, epsilon=clear)

    def check(self, public: GraphPublic) -> None:
        """Raise where the graph is too large for the mechanism."""
        super().check(public)
        self._mechanism(public.nodes).check(public, self._spectral_loss(self.loss()))

    def plan(self, public: GraphPublic) -> Plan:
        """Return the plan."""
        self.check(public)
        steps = self._mechanism(public.nodes).steps(public, self._spectral_loss(self.loss()))
        counting = self._edge_loss()
        if counting is not None:
            steps = (*steps, edge_step(counting))
        return Plan(
            method=self.name,
            guarantee=self.guarantee(public),
            steps=steps,
            sizes=(
                *(Size(comb(public.nodes, 2), what) for what in PAIRED.get(self._chosen, ())),
                Size(public.nodes * min(self.k, public.nodes), "eigenvector entries"),
            ),
        )

    def program(self, public: GraphPublic, budget: Budget) -> Program[SpectrumRelease]:
        """Ask for the spectrum, and for the number of edges where it has a share."""
        mechanism, counting = self._mechanism(public.nodes), self._edge_loss()
        edges: int | None = None
        if counting is None:
            finish = yield from mechanism.program(public, budget)
        else:
            spectral = budget.take(self._spectral_loss(budget.limit), "spectrum")
            finish = yield from mechanism.program(public, spectral)
            noisy = yield Ask(budget, edge_noise(counting), EdgeCount(), EDGES)
            edges = int(noisy[0])
        yield FINISH
        return SpectrumRelease(public, finish(), how=WORDS[self._chosen], edges=edges)
