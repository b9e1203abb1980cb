"""dK-1: how many edges nodes have, measured as a sorted sequence or as a histogram.

Proof: docs/proofs/dk-graphs.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sfumato.data.graph import GraphPublic
from sfumato.graph.degree_repair import Repaired, closest, graphical, round_keeping_sum, shares
from sfumato.graph.degree_sequence import DEGREES, ask_degrees, degree_noise, degree_step
from sfumato.graph.dk_parts import MOST_BINS, combine_estimates, noise_of
from sfumato.graph.models import DegreeModel
from sfumato.graph.number import EDGES, ask_edges, edge_noise, edge_step
from sfumato.graph.queries import DegreeCounts
from sfumato.graph.synthetic import SyntheticGraph
from sfumato.mechanisms.count_noise import margin
from sfumato.mechanisms.isotonic import isotonic_regression
from sfumato.mechanisms.laplace import GeometricNoise
from sfumato.privacy.budget import Budget
from sfumato.privacy.loss import Loss
from sfumato.privacy.plan import PlanStep
from sfumato.privacy.program import FINISH, Ask, Program

__all__ = ["DegreeHistogram", "SortedPart"]

Integers = NDArray[np.int64]

#: The label of the histogram in transcripts.
HISTOGRAM = "histogram"
#: Means of sorted degrees are told in parts of this many to the whole.
UNIT = 1024
#: About so many ends of edges are made up by empty bins that pass for occupied ones.
PHANTOMS = 10


@dataclass(frozen=True)
class SortedPart:
    """The sorted degrees, and the number of edges, which noise on all degrees would drown.

    Parameters
    ----------
    loss
        What may be spent, for one edge.
    share
        The share of it that is for the degrees; the rest counts the edges.
    """

    loss: Loss
    share: Fraction

    @property
    def _losses(self) -> tuple[Loss, Loss]:
        """What the degrees and the number of edges may spend."""
        return self.loss.share(self.share), self.loss.share(1 - self.share)

    def check(self, public: GraphPublic) -> None:
        """Accept every graph."""

    def steps(self, public: GraphPublic) -> tuple[PlanStep, ...]:
        """Return the lines of the plan."""
        degrees, edges = self._losses
        return degree_step(public, degrees, degrees), edge_step(edges)

    def ask(self, public: GraphPublic, budget: Budget) -> Program[tuple[Integers, int]]:
        """Ask for the sorted degrees and the number of edges, and return both with their noise."""
        degrees, edges = self._losses
        noisy = yield ask_degrees(public, budget.take(degrees, DEGREES))
        counted = yield ask_edges(budget.take(edges, EDGES))
        return noisy, int(counted[0])

    def repair(self, public: GraphPublic, noisy: Integers, counted: int) -> Repaired:
        """Return degrees that a graph can have, close to the noisy ones.

        They rise, lie between 0 and n − 1 and add up to twice the number of edges, which is told
        by both measurements, each weighed by its noise.
        """
        rising = isotonic_regression(noisy)
        edges = self._edges(public, noisy, counted)
        # Far below 0 or above n − 1 it makes no difference how far.
        units = np.rint(np.clip(rising, -3 * public.nodes, 3 * public.nodes) * UNIT)
        most = max(public.nodes - 1, 0)
        parts = closest(units.astype(np.int64), most * UNIT, 2 * edges * UNIT)
        found = graphical(np.clip(round_keeping_sum(parts, UNIT), 0, most))
        return Repaired(found.degrees, float(np.abs(found.degrees - rising).sum()))

    def _edges(self, public: GraphPublic, noisy: Integers, counted: int) -> int:
        degrees, edges = self._losses
        total = float(noisy.sum(dtype=np.float64)) / 2
        deviation = degree_noise(public, degrees).standard_deviation
        spread = deviation * math.sqrt(max(public.nodes, 1)) / 2
        direct = float(counted), edge_noise(edges).standard_deviation
        return combine_estimates([direct, (total, spread)], public)

    def program(self, public: GraphPublic, budget: Budget) -> Program[SyntheticGraph]:
        """Ask, and return graphs with these degrees."""
        noisy, counted = yield from self.ask(public, budget)
        yield FINISH
        found = self.repair(public, noisy, counted)
        return SyntheticGraph(public, DegreeModel(found.degrees), moved=found.moved)


@dataclass(frozen=True)
class DegreeHistogram:
    """How many nodes have each degree up to a public one, all bins with noise, and the edges.

    Parameters
    ----------
    loss
        What may be spent, for one edge.
    share
        The share of it that is for the histogram; the rest counts the edges.
    cap
        Nodes of more edges are counted as having so many; `None` for as many as there can be.
    """

    loss: Loss
    share: Fraction
    cap: int | None

    @property
    def _losses(self) -> tuple[Loss, Loss]:
        """What the histogram and the number of edges may spend."""
        return self.loss.share(self.share), self.loss.share(1 - self.share)

    def check(self, public: GraphPublic) -> None:
        """Refuse more bins than are measured."""
        if self.cap is not None and self._bins(public) > MOST_BINS:
            raise ValueError(
                f"cap = {self.cap} needs {self._bins(public):,} bins; at most {MOST_BINS:,} are "
                "allowed; choose a smaller cap"
            )

    def _bins(self, public: GraphPublic) -> int:
        most = max(public.nodes - 1, 0)
        return min(most, MOST_BINS - 1 if self.cap is None else self.cap) + 1

    def _noise(self, public: GraphPublic) -> GeometricNoise:
        # Two nodes leave a bin and enter another.
        return noise_of(self._losses[0], (self._bins(public),), 4)

    def steps(self, public: GraphPublic) -> tuple[PlanStep, ...]:
        """Return the lines of the plan."""
        noise = self._noise(public)
        histogram = PlanStep(
            what=f"how many nodes have each degree, 0 to {self._bins(public) - 1:,}",
            loss=self._losses[0],
            noise=f"± {noise.standard_deviation:.4g} (1 s.d.) on each",
            error=f"± {margin(noise):,.4g}; rare degrees are lost in the noise",
            figures={"margin": margin(noise)},
        )
        return histogram, edge_step(self._losses[1])

    def program(self, public: GraphPublic, budget: Budget) -> Program[SyntheticGraph]:
        """Ask for all bins, the empty ones too, and the edges; return graphs with these degrees.

        Bins that are likely empty count as empty. Nodes that are then left over share the ends of
        edges that are left over.
        """
        histogram, edges = self._losses
        noisy: Integers = yield Ask(
            budget.take(histogram, HISTOGRAM),
            self._noise(public),
            DegreeCounts(self._bins(public)),
            HISTOGRAM,
        )
        counted = yield ask_edges(budget.take(edges, EDGES))
        yield FINISH
        direct = float(counted[0]), edge_noise(edges).standard_deviation
        ends = 2 * combine_estimates([direct], public)
        nodes = self._likely(public, noisy)
        known = np.repeat(np.arange(len(nodes)), nodes)
        rest = public.nodes - len(known)
        shared = shares(np.ones(rest, dtype=np.int64), max(ends - int(known.sum()), 0))
        degrees = closest(np.append(known, shared), max(public.nodes - 1, 0), ends)
        found = graphical(degrees)
        said = np.bincount(found.degrees, minlength=len(noisy))
        moved = float(np.abs(said[: len(noisy)] - noisy).sum() + said[len(noisy) :].sum())
        return SyntheticGraph(public, DegreeModel(found.degrees), moved=moved)

    def _likely(self, public: GraphPublic, noisy: Integers) -> Integers:
        """Return how many nodes likely have each degree, no more than there are in all."""
        # An empty bin of degree k exceeds scale·ln(bins·(k + 1)/2f) with a probability of about
        # f/(bins·(k + 1)): about f ends of edges are made up, times what stands in such a bin.
        scale, places = float(self._noise(public).scale), np.arange(1, len(noisy) + 1)
        least = scale * np.log(np.maximum(len(noisy) * places / (2 * PHANTOMS), 1))
        likely = np.where(noisy > least, np.minimum(noisy, public.nodes), 0)
        return likely if likely.sum() <= public.nodes else shares(likely, public.nodes)
