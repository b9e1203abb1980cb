"""The spectrum of a noisy adjacency matrix: every pair of nodes gets noise of its own.

All eigenpairs follow from one noisy matrix, so that nothing has to be shared among them. Noise that
is independent from entry to entry moves the large eigenvalues of a matrix by a known amount, which
is taken off again (docs/proofs/edge-response.md, docs/proofs/spectrum.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import comb

import numpy as np
from numpy.typing import NDArray

from sfumato.data.graph import GraphPublic
from sfumato.graph.eigen import Floats, SymmetricOperator, largest_eigenpairs, require_solvable
from sfumato.graph.spectral_mechanism import Finishing, SpectralParts
from sfumato.graph.spectral_queries import JoinedPairs, PairIndicators
from sfumato.mechanisms.laplace import GeometricNoise
from sfumato.mechanisms.pair_response import RandomizedPairs, ones_in
from sfumato.privacy.budget import Budget
from sfumato.privacy.loss import ApproxDP, Loss, PureDP
from sfumato.privacy.plan import PlanStep
from sfumato.privacy.program import Ask, Program

__all__ = ["LaplaceSpectrum", "ResponseSpectrum", "correct_bias", "noise_edge"]

#: The label of the noisy matrix in transcripts.
PAIRS = "pairs"
#: The most nodes of a matrix with noise on every entry.
MOST_LAPLACE_NODES = 4_000
#: One time in a hundred the largest eigenvalue of pure noise is beyond 2σ√n by more than this
#: times σ·n^(−1/6) (the law of Tracy and Widom for real symmetric matrices).
TRACY_WIDOM = 2.0234
#: Noise that gives no larger eigenvalues than this is none.
SILENT = 1e-9


def pure_epsilon(limit: Loss) -> Fraction:
    """Return the ε of a loss that no δ is taken from."""
    assert isinstance(limit, PureDP | ApproxDP)
    return limit.epsilon


def noise_edge(nodes: int, deviation: float) -> float:
    """Return what an eigenvalue of pure noise exceeds one time in a hundred.

    Parameters
    ----------
    nodes
        The number of rows n.
    deviation
        The standard deviation σ of the noise on an entry.
    """
    beyond = TRACY_WIDOM / math.pow(max(nodes, 1), 1 / 6)
    return deviation * (2 * math.sqrt(nodes) + beyond)


def correct_bias(observed: Floats, nodes: int, deviation: float) -> Floats:
    """Return the eigenvalues λ that noise most likely moved to the observed ones, λ + nσ²/λ.

    Parameters
    ----------
    observed
        The eigenvalues y of the noisy matrix.
    nodes, deviation
        As for `noise_edge`. Of a y within ±2σ√n nothing can be told; y/2 is returned.
    """
    sizes = np.abs(observed)
    room = np.maximum(sizes**2 - 4 * nodes * deviation**2, 0.0)
    return np.asarray(np.sign(observed) * (sizes + np.sqrt(room)) / 2, dtype=np.float64)


def _parts(
    make: Callable[[], SymmetricOperator], k: int, deviation: float, contrast: float, edges: float
) -> SpectralParts:
    """Return the eigenpairs of a noisy matrix, which is `contrast` times the true one and noise."""
    matrix = make()
    nodes = matrix.rows
    observed, vectors = largest_eigenpairs(matrix, k)

    def scaled() -> SymmetricOperator:
        # Made anew where it is asked for: it can be far larger than what was said.
        again = make()
        return SymmetricOperator(nodes, lambda vector: again.apply(vector) / contrast)

    edge = noise_edge(nodes, deviation)
    detectable = (np.abs(observed) > edge) | (edge < SILENT)
    notes: tuple[str, ...] = ()
    if edge >= SILENT:
        notes += (
            f"Eigenvalues of the graph above about {deviation * math.sqrt(nodes) / contrast:,.4g} "
            "stand out from the noise, which makes them look larger; by how much is known and has "
            "been taken off.",
        )
    if not detectable.all():
        notes += ("What does not stand out, values and vectors, is mostly noise.",)
    return SpectralParts(
        eigenvalues=correct_bias(observed, nodes, deviation) / contrast,
        eigenvectors=vectors,
        detectable=detectable,
        notes=notes,
        observed=observed / contrast,
        edges=edges,
        matrix=scaled,
    )


def _step(public: GraphPublic, loss: Loss, what: str, noise: str, deviation: float) -> PlanStep:
    """Return the line of a plan for a noisy matrix whose entries have a standard deviation."""
    least = deviation * math.sqrt(public.nodes)
    return PlanStep(
        what=what,
        loss=loss,
        noise=noise,
        error=f"eigenvalues above about {least:,.4g} stand out from the noise",
        figures={"margin": least, "deviation": deviation},
    )


@dataclass(frozen=True, kw_only=True)
class ResponseSpectrum:
    """The spectrum of a graph of which every pair was told by randomised response.

    Parameters
    ----------
    k
        How many eigenpairs.
    limit
        The loss for one edge.
    variant
        There is one only.

    Notes
    -----
    Privacy: the noisy graph is ε-DP for one edge; all else follows from it
    (docs/proofs/edge-response.md).
    """

    k: int
    limit: Loss
    variant: str = "proved"

    proved = True

    def _primitive(self, public: GraphPublic) -> RandomizedPairs:
        return RandomizedPairs(nodes=public.nodes, epsilon=pure_epsilon(self.limit))

    def check(self, public: GraphPublic, limit: Loss) -> None:
        """Raise where there are too many pairs or eigenpairs."""
        self._primitive(public).require_feasible()
        require_solvable(public.nodes, self.k)

    def steps(self, public: GraphPublic, limit: Loss) -> tuple[PlanStep, ...]:
        """Return the one line of the plan."""
        pairs = self._primitive(public)
        return (
            _step(
                public,
                limit,
                f"all {pairs.size:,} pairs of {public.nodes:,} nodes: joined or not",
                f"each turned over with probability {pairs.flip:.4g}",
                math.sqrt(pairs.flip * (1 - pairs.flip)) / pairs.contrast,
            ),
        )

    def program(self, public: GraphPublic, budget: Budget) -> Program[Finishing]:
        """Ask for a noisy graph; its eigenpairs are found with its mean taken off."""
        pairs = self._primitive(public)
        output = yield Ask(budget, pairs, JoinedPairs(), PAIRS)

        def finish() -> SpectralParts:
            # Numba is loaded when something is built, never by an import.
            from sfumato.graph.pair_matrix import centre_response

            said = ones_in(output) if not pairs.gaps else len(pairs.positions(output))
            return _parts(
                lambda: centre_response(pairs, output),
                self.k,
                math.sqrt(pairs.flip * (1 - pairs.flip)),
                pairs.contrast,
                (said - pairs.flip * pairs.size) / pairs.contrast,
            )

        return finish


@dataclass(frozen=True, kw_only=True)
class LaplaceSpectrum:
    """The spectrum of an adjacency matrix with geometric noise on every pair.

    Parameters
    ----------
    k, limit, variant
        As for `ResponseSpectrum`.

    Notes
    -----
    Privacy: one edge changes one entry by 1, so geometric noise of scale 1/ε on every pair is ε-DP
    (docs/proofs/spectrum.md). It has twice the variance of randomised response.
    """

    k: int
    limit: Loss
    variant: str = "proved"

    proved = True

    def _primitive(self, public: GraphPublic) -> GeometricNoise:
        return GeometricNoise(
            shape=(comb(public.nodes, 2),),
            sensitivity=Fraction(1),
            epsilon=pure_epsilon(self.limit),
        )

    def check(self, public: GraphPublic, limit: Loss) -> None:
        """Raise where the matrix is too large to be written out."""
        if public.nodes > MOST_LAPLACE_NODES:
            raise ValueError(
                f"mechanism='laplace' is for at most {MOST_LAPLACE_NODES:,} nodes; got "
                f"{public.nodes:,}: use mechanism='response', which is also more accurate"
            )
        require_solvable(public.nodes, self.k)

    def steps(self, public: GraphPublic, limit: Loss) -> tuple[PlanStep, ...]:
        """Return the one line of the plan."""
        primitive = self._primitive(public)
        deviation = primitive.standard_deviation
        return (
            _step(
                public,
                limit,
                f"all {comb(public.nodes, 2):,} pairs of {public.nodes:,} nodes: joined or not",
                f"± {deviation:.4g} (1 s.d.) on each",
                deviation,
            ),
        )

    def program(self, public: GraphPublic, budget: Budget) -> Program[Finishing]:
        """Ask for every pair with noise."""
        primitive = self._primitive(public)
        output = yield Ask(budget, primitive, PairIndicators(), PAIRS)

        def make() -> SymmetricOperator:
            full = symmetric(output.astype(np.float64), public.nodes)
            return SymmetricOperator(public.nodes, lambda vector: full @ vector)

        edges = float(output.sum(dtype=np.float64))
        return lambda: _parts(make, self.k, primitive.standard_deviation, 1.0, edges)


def symmetric(entries: Floats, nodes: int) -> NDArray[np.float64]:
    """Return the symmetric matrix of the entries above its diagonal, which is 0."""
    full = np.zeros((nodes, nodes))
    full[np.triu_indices(nodes, 1)] = entries
    return full + full.T
