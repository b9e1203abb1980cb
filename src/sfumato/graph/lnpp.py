"""LNPP: Laplace noise on eigenvalues and on eigenvectors, which are then made orthonormal.

Wang, Wu and Wu, *Differential Privacy Preserving Spectral Graph Analysis* (2013), scale the noise
on an eigenvector to the private gap between its eigenvalue and the next ones. That is not private.
Here the noise is scaled to the distance of any two unit vectors, or to a bound that a private test
of the gap allows (docs/proofs/spectrum.md). What was printed is in
`sfumato.published.spectral_analysis`, for comparison.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sfumato.data.graph import GraphPublic
from sfumato.graph.eigen import CERTIFIED_ERROR, lowdin
from sfumato.graph.eigenvalue_noise import (
    ask_eigenvalues,
    eigenvalue_noise,
    eigenvalue_step,
    repair_eigenvalues,
    require_certified,
)
from sfumato.graph.pair_spectrum import pure_epsilon
from sfumato.graph.spectral_mechanism import Finishing, SpectralParts
from sfumato.graph.spectral_queries import EigenvalueGap, Eigenvector
from sfumato.mechanisms.real import RealLaplace
from sfumato.mechanisms.signed_vector import SignedVector, any_two_directions
from sfumato.privacy.budget import Budget
from sfumato.privacy.loss import ApproxDP, Loss, PureDP
from sfumato.privacy.plan import PlanStep
from sfumato.privacy.program import Ask, Program
from sfumato.privacy.rounding import log_up, sqrt_up

__all__ = ["LNPP"]

#: The share of ε that the eigenvalues get, and of an eigenvector's part that tests its gap.
VALUE_SHARE, TEST_SHARE = Fraction(1, 10), Fraction(1, 4)
#: Entries of size 1/√n are at least 2 to this many steps of the grid.
PRECISION = 12
#: A tested gap below this is not used: the vectors of neighbours might not be well defined.
LEAST_GAP = 3


@dataclass(frozen=True, kw_only=True)
class LNPP:
    """Noise on eigenvalues and eigenvectors.

    Parameters
    ----------
    k, limit
        How many eigenpairs, and the loss for one edge.
    variant
        `"global"` or `"ptr"`.

    Notes
    -----
    Privacy: a tenth of ε is for the eigenvalues, of which one edge moves all together by at most 2;
    the rest is shared among the eigenvectors. Any two unit vectors are within √(2n) in L1, up to
    sign. For `"ptr"` the gap is tested first: it changes by at most 2, and a vector turns by no
    more than 1/(gap − 1) (docs/proofs/spectrum.md).
    """

    k: int
    limit: Loss
    variant: str = "global"

    @property
    def proved(self) -> bool:
        """Both variants."""
        return True

    @property
    def _value_epsilon(self) -> Fraction:
        return pure_epsilon(self.limit) * VALUE_SHARE

    @property
    def _vector_epsilon(self) -> Fraction:
        """What one eigenvector gets, the test of its gap included."""
        return pure_epsilon(self.limit) * (1 - VALUE_SHARE) / max(self.k, 1)

    @property
    def _values(self) -> RealLaplace:
        return eigenvalue_noise(self.k, self._value_epsilon)

    def _radius(self, nodes: int) -> int:
        """Return how many steps of the grid are in length 1."""
        epsilon = self._vector_epsilon
        # For a large ε the grid is finer, so that noise stays wide in steps.
        finer = epsilon.numerator.bit_length() - epsilon.denominator.bit_length() + 8
        return int(2 ** (PRECISION + (nodes.bit_length() + 1) // 2 + min(max(finer, 0), 30)))

    def check(self, public: GraphPublic, limit: Loss) -> None:
        """Raise where the graph is too large."""
        require_certified(public, "noise on eigenvectors")

    def steps(self, public: GraphPublic, limit: Loss) -> tuple[PlanStep, ...]:
        """Return a line for the eigenvalues and one for the eigenvectors."""
        vectors = self._vector_epsilon * self.k
        values: Loss = PureDP(self._value_epsilon)
        rest: Loss = PureDP(vectors)
        if isinstance(limit, ApproxDP):
            values, rest = ApproxDP(self._value_epsilon, 0), ApproxDP(vectors, limit.delta)
        first = eigenvalue_step(self.k, self._values, values)
        if self.k == 0:
            return (first,)
        whole = self._whole(public.nodes, self._vector_epsilon)
        deviation = math.sqrt(2) * float(whole.scale) / whole.radius
        second = PlanStep(
            what=f"{self.k} eigenvectors of {public.nodes:,} entries",
            loss=rest,
            noise=self._noise_words(deviation),
            error=f"cosine with the true one about {1 / math.hypot(1, _length(whole)):.2g}",
            figures={"margin": deviation},
        )
        return first, second

    def _noise_words(self, deviation: float) -> str:
        """Return how wide the noise on entries is, in words."""
        words = f"± {deviation:.4g} (1 s.d.) on each entry"
        return f"{words}, less where gaps are large" if self.variant == "ptr" else words

    def _whole(self, nodes: int, epsilon: Fraction) -> SignedVector:
        """Return the noise that hides any unit vector among all others."""
        radius = self._radius(nodes)
        return SignedVector(
            dimension=nodes,
            radius=radius,
            sensitivity=any_two_directions(nodes, radius),
            epsilon=epsilon,
        )

    def _gap_noise(self) -> RealLaplace:
        return RealLaplace(
            shape=(1,),
            sensitivity=2 + 4 * CERTIFIED_ERROR,
            epsilon=self._vector_epsilon * TEST_SHARE,
        )

    def _test_gap(self, nodes: int, said: NDArray[np.int64]) -> SignedVector:
        """Return the noise that a tested gap allows.

        Parameters
        ----------
        nodes
            The number of entries.
        said
            The noisy gap, in steps of its grid.
        """
        assert isinstance(self.limit, ApproxDP)
        epsilon = self._vector_epsilon * (1 - TEST_SHARE)
        whole = self._whole(nodes, epsilon)
        gap = self._sure_gap(int(said[0]))
        if gap <= LEAST_GAP:
            return whole
        # Davis and Kahan, and what floating point adds to each of the two vectors.
        turned = sqrt_up(Fraction(2)) / (gap - 1) + 3 * CERTIFIED_ERROR
        steps = math.ceil(sqrt_up(Fraction(nodes)) * turned * whole.radius) + nodes
        if steps >= whole.sensitivity:
            return whole
        return SignedVector(
            dimension=nodes,
            radius=whole.radius,
            sensitivity=Fraction(steps),
            epsilon=epsilon,
            delta=self.limit.delta / self.k,
        )

    def _sure_gap(self, said: int) -> Fraction:
        """Return a number that is above the true gap with probability δ/k at most."""
        assert isinstance(self.limit, ApproxDP)
        noise = self._gap_noise()
        failing = self.limit.delta / self.k
        # P(X > t) ≤ e^(−t/scale)/2 for a whole t ≥ 0.
        most = max(0, math.ceil(noise.primitive().scale * log_up(1 / (2 * failing))))
        # A step for rounding to the grid, and the error of two computed eigenvalues.
        return Fraction(said - most - 1) * Fraction(2) ** noise.exponent - 2 * CERTIFIED_ERROR

    def program(self, public: GraphPublic, budget: Budget) -> Program[Finishing]:
        """Ask for the eigenvalues and, one after another, for the eigenvectors.

        The closest orthonormal vectors to the noisy ones are released.
        """
        noisy = self._values.read((yield ask_eigenvalues(budget, self._values)))
        columns = []
        for rank in range(self.k):
            steps = yield from self._ask_vector(public.nodes, budget, rank)
            columns.append(np.asarray(steps, dtype=np.float64) / self._radius(public.nodes))
        vectors = np.stack(columns, axis=1) if columns else np.zeros((public.nodes, 0))
        return lambda: SpectralParts(
            eigenvalues=repair_eigenvalues(noisy, public.nodes),
            eigenvectors=lowdin(vectors),
            notes=("Noise was added to every entry of every eigenvector.",),
        )

    def _ask_vector(self, nodes: int, budget: Budget, rank: int) -> Program[NDArray[np.int64]]:
        """Ask for an eigenvector, after a test of its gap where there is one."""
        if self.variant == "ptr":
            test = self._gap_noise()
            gap = EigenvalueGap(self.k, rank, test.exponent)
            said = yield Ask(budget, test.primitive(), gap, f"gap {rank + 1}")
            noise = self._test_gap(nodes, said)
        else:
            noise = self._whole(nodes, self._vector_epsilon)
        query = Eigenvector(self.k, rank, noise.radius)
        steps: NDArray[np.int64] = yield Ask(budget, noise, query, f"eigenvector {rank + 1}")
        return steps


def _length(noise: SignedVector) -> float:
    """Return the usual length of the noise, in lengths of the vector."""
    return math.sqrt(2 * noise.dimension) * float(noise.scale) / noise.radius
