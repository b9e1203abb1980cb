"""Noise on the largest eigenvalues of a graph, without eigenvectors.

One edge moves all eigenvalues together by no more than 2, however large the graph is. They are
computed in floating point by a solver whose error is proved to be small on every run; the noise is
enlarged by what that error and rounding to a public grid can add (docs/proofs/spectrum.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sfumato.data.graph import GraphPublic
from sfumato.graph.eigen import CERTIFIED_ERROR, MOST_CERTIFIED_NODES, Floats
from sfumato.graph.pair_spectrum import pure_epsilon
from sfumato.graph.spectral_mechanism import Finishing, SpectralParts
from sfumato.graph.spectral_queries import LargestEigenvalues
from sfumato.mechanisms.isotonic import isotonic_regression
from sfumato.mechanisms.real import RealLaplace
from sfumato.privacy.budget import Budget
from sfumato.privacy.loss import Loss
from sfumato.privacy.plan import PlanStep
from sfumato.privacy.program import Ask, Program

__all__ = [
    "EigenvalueNoise",
    "ask_eigenvalues",
    "eigenvalue_noise",
    "eigenvalue_step",
    "repair_eigenvalues",
]

#: The label of the eigenvalues in transcripts.
EIGENVALUES = "eigenvalues"


def eigenvalue_noise(k: int, epsilon: Fraction, sensitivity: Fraction | None = None) -> RealLaplace:
    """Return the noise on the k largest eigenvalues that costs ε.

    Parameters
    ----------
    k
        How many.
    epsilon
        The loss for one edge.
    sensitivity
        The L1 distance of the true ones on neighbouring graphs: 2, or 1 for one of them.
    """
    true = Fraction(1 if k <= 1 else 2) if sensitivity is None else sensitivity
    return RealLaplace(shape=(k,), sensitivity=true + 2 * k * CERTIFIED_ERROR, epsilon=epsilon)


def ask_eigenvalues(budget: Budget, noise: RealLaplace) -> Ask:
    """Return the request for the largest eigenvalues, as many as the noise is for."""
    query = LargestEigenvalues(noise.shape[0], noise.exponent)
    return Ask(budget, noise.primitive(), query, EIGENVALUES)


def eigenvalue_step(k: int, noise: RealLaplace, loss: Loss) -> PlanStep:
    """Return the line of a plan for noisy eigenvalues."""
    primitive = noise.primitive()
    deviation = primitive.standard_deviation * 2.0**noise.exponent
    # The noise is wide in steps of the grid: the continuous law tells its margin.
    off = float(noise.sensitivity / noise.epsilon) * float(np.log(20))
    return PlanStep(
        what=f"the {k} largest eigenvalues",
        loss=loss,
        noise=f"± {deviation:.4g} (1 s.d.) on each",
        error=f"± {off:.4g}",
        figures={"margin": off},
    )


def repair_eigenvalues(noisy: Floats, nodes: int) -> Floats:
    """Return the closest eigenvalues that fall and that a graph of so many nodes can have."""
    falling = isotonic_regression(noisy, increasing=False)
    most = max(nodes - 1, 0)
    if len(falling):
        # The diagonal is zero, so that the eigenvalues add up to 0 and the largest is not below.
        falling[0] = max(falling[0], 0.0)
    return np.clip(falling, -most, most)


def require_certified(public: GraphPublic, what: str) -> None:
    """Raise where the graph is too large for a certified spectrum."""
    if public.nodes > MOST_CERTIFIED_NODES:
        raise ValueError(
            f"{what} is computed for at most {MOST_CERTIFIED_NODES:,} nodes, since all eigenvalues "
            f"are needed to bound their error; got {public.nodes:,}: use mechanism='response'"
        )


@dataclass(frozen=True, kw_only=True)
class EigenvalueNoise:
    """The largest eigenvalues with Laplace noise.

    Parameters
    ----------
    k, limit, variant
        How many, the loss for one edge, and the only variant.

    Notes
    -----
    Privacy: one edge changes the eigenvalues by at most 2 in L1, and the largest by at most 1; the
    noise has scale 2/ε, a little more for floating point (docs/proofs/spectrum.md).
    """

    k: int
    limit: Loss
    variant: str = "proved"

    proved = True

    @property
    def _noise(self) -> RealLaplace:
        return eigenvalue_noise(self.k, pure_epsilon(self.limit))

    def check(self, public: GraphPublic, limit: Loss) -> None:
        """Raise where the graph is too large."""
        require_certified(public, "noise on eigenvalues")

    def steps(self, public: GraphPublic, limit: Loss) -> tuple[PlanStep, ...]:
        """Return the one line of the plan."""
        return (eigenvalue_step(self.k, self._noise, limit),)

    def program(self, public: GraphPublic, budget: Budget) -> Program[Finishing]:
        """Ask for the eigenvalues; the closest possible ones to the noisy ones are released."""
        noisy = self._noise.read((yield ask_eigenvalues(budget, self._noise)))
        off = float(self._noise.sensitivity / self._noise.epsilon) * float(np.log(20))
        return lambda: SpectralParts(
            eigenvalues=repair_eigenvalues(noisy, public.nodes),
            notes=(f"Each eigenvalue is off by at most {off:.4g}, 19 times in 20.",),
        )
