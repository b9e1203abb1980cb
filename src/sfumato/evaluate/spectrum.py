"""How far a released spectrum is from that of the private graph it was made of.

NOT PRIVATE. Every figure here is computed from the private edges without noise: it is for the
custodian's eyes, costs no budget because it may not leave the house, and is never part of a
release, a certificate or a report.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.graph import Graph
from sfumato.evaluate.warning import WARNING
from sfumato.graph.eigen import (
    SymmetricOperator,
    captured_share,
    cosines,
    largest_eigenpairs,
    strongest_pairs,
)
from sfumato.graph.spectrum_release import SpectrumRelease
from sfumato.sections import Grid, Text

__all__ = ["SpectrumComparison", "Truth", "compare_spectrum", "draw_spectrum", "true_spectrum"]

Floats = NDArray[np.float64]

#: Of more nodes than this no graph is reconstructed: every pair of them would be looked at.
MOST_RECONSTRUCTED = 10_000


@dataclass(frozen=True)
class Truth:
    """The spectrum of the private graph. Private.

    Parameters
    ----------
    eigenvalues, eigenvectors
        The largest eigenvalues, from the largest, and their eigenvectors as columns.
    drawn
        As many edges as there are, those that the eigenpairs join most strongly; `None` where the
        graph is too large to try.
    """

    eigenvalues: Floats
    eigenvectors: Floats
    drawn: NDArray[np.int64] | None


@dataclass(frozen=True)
class Reconstruction:
    """How many entries of the adjacency matrix a low-rank approximation gets wrong. Not private.

    Parameters
    ----------
    distance
        γ, the Frobenius distance to the graph of as many edges, those with the largest entries.
    best
        The same for the true eigenpairs.
    chance
        The same, on average, for edges that are drawn blindly.
    """

    distance: float
    best: float
    chance: float


@dataclass(frozen=True)
class SpectrumComparison:
    """A released spectrum beside the true one. Not private.

    Parameters
    ----------
    truth
        The true spectrum.
    released
        The released eigenvalues.
    cosines
        |cos| of the angle between each released eigenvector and the true one of its rank; `None`
        where no eigenvectors were released.
    captured
        Which part of the true subspace the released one holds, from 0 to 1.
    vector_distance
        E_U, the largest sum of absolute differences in a column, its sign chosen well.
    reconstruction
        How well the graph can be drawn from it; `None` where the graph is too large to try.
    """

    truth: Truth
    released: Floats
    cosines: Floats | None
    captured: float | None
    vector_distance: float | None
    reconstruction: Reconstruction | None

    @property
    def value_distance(self) -> float:
        """E_Λ, the sum of absolute differences of the eigenvalues."""
        return float(np.abs(self.released - self.truth.eigenvalues).sum())

    def to_json(self) -> dict[str, Any]:
        """Return a plain document, which says that it is not private."""
        drawn = self.reconstruction
        return {
            "private": False,
            "warning": WARNING,
            "eigenvalues": self.truth.eigenvalues.tolist(),
            "released": self.released.tolist(),
            "cosines": None if self.cosines is None else self.cosines.tolist(),
            "captured": self.captured,
            "value_distance": self.value_distance,
            "vector_distance": self.vector_distance,
            "reconstruction": None if drawn is None else drawn.distance,
            "best_reconstruction": None if drawn is None else drawn.best,
            "chance_reconstruction": None if drawn is None else drawn.chance,
        }

    def blocks(self) -> list[Text | Grid]:
        """Return the same for people."""
        turned, drawn = self.cosines, self.reconstruction
        head = ("", "eigenvalue", "released", *(() if turned is None else ("cosine",)))
        rows = []
        for place, (truth, told) in enumerate(
            zip(self.truth.eigenvalues, self.released, strict=True)
        ):
            cells = (str(place + 1), f"{truth:,.4g}", f"{told:,.4g}")
            rows.append((*cells, *(() if turned is None else (f"{turned[place]:.3f}",))))
        lines = [f"Eigenvalues are off by {self.value_distance:,.4g} in all."]
        if self.captured is not None:
            lines.append(
                f"The release captures {self.captured:.1%} of the space of the true eigenvectors."
            )
        if drawn is not None:
            lines.append(
                f"A graph drawn from it is at distance {drawn.distance:.4g} from the private one; "
                f"{drawn.best:.4g} from the true eigenvectors, {drawn.chance:.4g} by chance."
            )
        return [Grid(head, tuple(rows), tuple(range(len(head)))), *map(Text, lines)]


def true_spectrum(data: Graph, k: int) -> Truth:
    """Return the largest eigenvalues of a private graph and their eigenvectors. Not private.

    Parameters
    ----------
    data
        The private graph.
    k
        How many.
    """
    matrix = data.counts.adjacency.astype(np.float64)
    operator = SymmetricOperator(data.public.nodes, lambda vector: matrix @ vector)
    values, vectors = largest_eigenpairs(operator, min(k, data.public.nodes))
    small = 2 <= data.public.nodes <= MOST_RECONSTRUCTED
    drawn = strongest_pairs(vectors, values, data.counts.edges) if small else None
    return Truth(values, vectors, drawn)


def compare_spectrum(
    data: Graph, release: SpectrumRelease, truth: Truth | None = None
) -> SpectrumComparison:
    """Compare a released spectrum with that of the private graph. Not private.

    Parameters
    ----------
    data
        The private graph.
    release
        The release of its spectrum.
    truth
        The true spectrum of as many eigenvalues, where it is known already.
    """
    true = true_spectrum(data, release.k) if truth is None else truth
    if release.parts.eigenvectors is None:
        return SpectrumComparison(true, release.eigenvalues, None, None, None, None)
    vectors = release.eigenvectors
    signs = np.where((vectors * true.eigenvectors).sum(axis=0) < 0, -1.0, 1.0)
    apart = np.abs(vectors * signs - true.eigenvectors).sum(axis=0)
    return SpectrumComparison(
        true,
        release.eigenvalues,
        cosines(true.eigenvectors, vectors),
        captured_share(true.eigenvectors, vectors),
        float(apart.max(initial=0.0)),
        _reconstruction(data, release, true),
    )


def _reconstruction(data: Graph, release: SpectrumRelease, true: Truth) -> Reconstruction | None:
    """Draw as many edges as there are from either spectrum, and count those that are wrong."""
    nodes, edges = data.public.nodes, data.counts.edges
    if true.drawn is None:
        return None
    pairs = data.counts.pairs()
    keys = pairs[:, 0] * nodes + pairs[:, 1]

    def distance(drawn: NDArray[np.int64]) -> float:
        wrong = edges - int(np.isin(drawn[:, 0] * nodes + drawn[:, 1], keys).sum())
        # A wrong edge is one that is missing and one too many, and each stands twice.
        return float(np.sqrt(4 * wrong))

    chance = float(np.sqrt(4 * edges * (1 - edges / (nodes * (nodes - 1) / 2))))
    return Reconstruction(distance(release.reconstruction(edges)), distance(true.drawn), chance)


def draw_spectrum(comparison: SpectrumComparison) -> Any:
    """Draw both lists of eigenvalues, and how far eigenvectors were turned. Not private.

    Parameters
    ----------
    comparison
        A released spectrum beside the true one.
    """
    from matplotlib.figure import Figure

    turned = comparison.cosines
    figure = Figure(figsize=(6.6 if turned is None else 8.4, 3.6), layout="constrained")
    figure.suptitle(
        "NOT PRIVATE: for the custodian's eyes",
        x=0.99, ha="right", fontsize=9, fontweight="bold", color="#b4552d",
    )  # fmt: skip
    axes = figure.subplots(1, 1 if turned is None else 2, squeeze=False)[0]
    ranks = np.arange(1, len(comparison.released) + 1)
    left = axes[0]
    left.plot(ranks, comparison.truth.eigenvalues, "o", color="#23313d", label="the truth")
    left.plot(
        ranks, comparison.released, "x", color="#b4552d", markersize=7, label="what was released"
    )
    left.set_ylabel("eigenvalue")
    left.legend(frameon=False, fontsize=8.5)
    if turned is not None:
        right = axes[1]
        right.bar(ranks, turned, color="#5d87a1")
        right.set_ylim(0, 1)
        right.set_ylabel("cosine of released and true eigenvector")
    for axis in axes:
        axis.set_xlabel("rank")
        if len(ranks) <= 20:
            axis.set_xticks(ranks)
        axis.spines[["top", "right"]].set_visible(False)
    return figure
